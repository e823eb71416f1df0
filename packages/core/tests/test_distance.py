"""Distances and similarities of vectors."""

import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck


def test_cdist_is_the_norm_of_each_difference():
    a, b = weft.tensor([[0.0, 0.0], [3.0, 4.0]]), weft.tensor([[3.0, 4.0], [0.0, 1.0], [6.0, 8.0]])
    assert weft.cdist(a, b).flatten().tolist() == pytest.approx([5.0, 1.0, 10.0, 0.0, 18**0.5, 5.0])
    assert weft.cdist(a, b, p=1.0)[0].tolist() == [7.0, 1.0, 14.0]
    assert weft.cdist(a, b, p=float("inf"))[0].tolist() == [4.0, 1.0, 8.0]
    assert weft.cdist(a, b, p=0.0)[0].tolist() == [2.0, 1.0, 2.0]


def test_euclidean_distances_of_many_vectors_by_a_product_agree_with_differences():
    a, b = weft.randn(40, 3, dtype=weft.float64) + 100, weft.randn(30, 3, dtype=weft.float64) + 100
    assert weft.allclose(weft.cdist(a, b), (a.unsqueeze(1) - b).norm(dim=-1))


def test_pdist_has_the_upper_triangle_of_cdist():
    x = weft.randn(5, 3, dtype=weft.float64)
    rows, columns = weft.triu_indices(5, 5, 1)
    assert weft.allclose(weft.pdist(x), weft.cdist(x, x)[rows, columns])
    assert weft.pdist(weft.zeros(1, 3)).shape == (0,)


def test_cosine_similarity_of_a_zero_vector_is_0():
    a, b = weft.tensor([[1.0, 1.0], [0.0, 0.0]]), weft.tensor([[2.0, 0.0], [1.0, 0.0]])
    assert weft.cosine_similarity(a, b).tolist() == pytest.approx([0.5**0.5, 0.0])


def test_pairwise_distance_keeps_a_dimension_if_asked():
    assert weft.pairwise_distance(weft.zeros(2, 3), weft.zeros(2, 3), eps=2.0, keepdim=True).shape == (2, 1)


def test_distances_have_first_and_second_derivatives():
    a, b = (weft.randn(3, 2, dtype=weft.float64, requires_grad=True) for _ in range(2))
    for function in (weft.cdist, weft.pairwise_distance, weft.cosine_similarity):
        assert gradcheck(function, (a, b))
        assert gradgradcheck(function, (a, b))


def test_the_distance_of_equal_vectors_has_gradient_0():
    a = weft.ones(2, 3, requires_grad=True)
    weft.cdist(a, weft.ones(1, 3)).sum().backward()
    assert a.grad.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: weft.cdist(weft.ones(2, 3), weft.ones(2, 4)), "cdist.*3.*4"),
        (lambda: weft.cdist(weft.ones(3), weft.ones(2, 3)), r"cdist.*\[3\]"),
        (lambda: weft.pdist(weft.ones(3)), r"pdist.*\[3\]"),
        (lambda: weft.cosine_similarity(weft.tensor([1]), weft.tensor([1]), 0), "cosine_similarity.*int64"),
    ],
)
def test_wrong_call_is_explained(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()
