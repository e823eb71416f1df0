"""Embeddings and one-hot vectors."""

import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.nn import functional as F


def table():
    return weft.arange(12.0, dtype=weft.float64).reshape(4, 3).requires_grad_()


def test_embedding_takes_rows_and_sums_the_gradients_of_equal_indices():
    weight = table()
    rows = F.embedding(weft.tensor([[1, 1], [3, 0]]), weight)
    assert rows[:, :, 0].tolist() == [[3.0, 3.0], [9.0, 0.0]]
    rows.sum().backward()
    assert weight.grad[:, 0].tolist() == [1.0, 2.0, 0.0, 1.0]


def test_the_padding_row_gets_no_gradient():
    weight = table()
    F.embedding(weft.tensor([0, 1]), weight, padding_idx=-3).sum().backward()
    assert weight.grad[:, 0].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_gradients_can_be_divided_by_frequency():
    weight = table()
    F.embedding(weft.tensor([2, 2, 0]), weight, scale_grad_by_freq=True).sum().backward()
    assert weight.grad[:, 0].tolist() == [1.0, 0.0, 1.0, 0.0]


def test_max_norm_shrinks_the_rows_that_are_used_in_place():
    weight = weft.tensor([[3.0, 4.0], [6.0, 8.0]])
    assert F.embedding(weft.tensor([0]), weight, max_norm=1.0)[0].tolist() == pytest.approx([0.6, 0.8])
    assert weight.tolist()[1] == [6.0, 8.0]


def test_embedding_of_no_index_is_empty_and_has_a_zero_gradient():
    weight = table()
    result = F.embedding(weft.zeros(0, dtype=weft.int64), weight)
    assert result.shape == (0, 3)
    result.sum().backward()
    assert weight.grad.sum() == 0


@pytest.mark.parametrize(
    ("mode", "first"), [("sum", [9.0, 11.0, 13.0]), ("mean", [4.5, 5.5, 6.5]), ("max", [9.0, 10.0, 11.0])]
)
def test_embedding_bag_reduces_each_bag(mode, first):
    result = F.embedding_bag(weft.tensor([0, 3, 1]), table(), weft.tensor([0, 2, 3]), mode=mode)
    assert result.tolist() == [first, [3.0, 4.0, 5.0], [0.0, 0.0, 0.0]]


def test_embedding_bag_weighs_leaves_out_padding_and_takes_a_last_offset():
    indices, offsets = weft.tensor([0, 3, 1]), weft.tensor([0, 2, 3])
    weighted = F.embedding_bag(
        indices, table(), offsets, mode="sum", include_last_offset=True, padding_idx=0,
        per_sample_weights=weft.tensor([1.0, 2.0, 3.0], dtype=weft.float64),
    )  # fmt: skip
    assert weighted.tolist() == [[18.0, 20.0, 22.0], [9.0, 12.0, 15.0]]


def test_embeddings_have_first_and_second_derivatives():
    weight, indices = table(), weft.tensor([[1, 1], [3, 0]])
    for function in (
        lambda w: F.embedding(indices, w, padding_idx=2).square(),
        lambda w: F.embedding_bag(indices, w).square(),
    ):
        assert gradcheck(function, (weight,))
        assert gradgradcheck(function, (weight,))


def test_one_hot_counts_the_classes_if_it_must():
    assert F.one_hot(weft.tensor([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert F.one_hot(weft.tensor([[1]]), 2).shape == (1, 1, 2)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: F.embedding(weft.tensor([4]), table()), IndexError, "embedding.*4.*size 4"),
        (lambda: F.embedding(weft.tensor([-1]), table()), IndexError, "embedding.*-1"),
        (lambda: F.embedding(weft.ones(2), table()), RuntimeError, "embedding.*Long, Int.*Float"),
        (lambda: F.embedding(weft.tensor([0]), table(), padding_idx=4), AssertionError, "Padding_idx"),
        (lambda: F.embedding_bag(weft.tensor([0]), table()), ValueError, "embedding_bag.*offsets"),
        (lambda: F.embedding_bag(weft.tensor([0]), table(), weft.tensor([1])), RuntimeError, "embedding_bag.*offsets"),
        (lambda: F.one_hot(weft.tensor([3]), 2), RuntimeError, "one_hot.*3.*2"),
        (lambda: F.one_hot(weft.tensor([-3])), RuntimeError, "one_hot.*-3"),
    ],
)
def test_wrong_call_is_explained(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("mode", [None, "sum", "mean"])
def test_sparse_gradients_have_indices_and_values_of_their_own(mode):
    weight = weft.ones(3, 2, dtype=weft.float64, requires_grad=True)
    indices, grad = weft.tensor([0, 1, 2]), weft.ones(3, 2, dtype=weft.float64)
    if mode is None:
        F.embedding(indices, weight, sparse=True).backward(grad)
    else:
        F.embedding_bag(indices, weight, weft.arange(3), sparse=True, mode=mode).backward(grad)
    indices.zero_()  # as a loop does that reuses its batch
    grad.zero_()
    assert weight.grad.to_dense().tolist() == [[1.0, 1.0]] * 3


def test_shrinking_rows_keeps_their_tangents():
    from weft.autograd import forward_ad

    weight, index = weft.full((4, 2), 3.0), weft.tensor([[0, 1], [2, 2]])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(weight, weft.ones(4, 2))
        found = forward_ad.unpack_dual(F.embedding(index, dual, max_norm=1.0))
    assert found.tangent.tolist() == weft.ones(2, 2, 2).tolist()
    weft.testing.assert_close(found.primal.norm(dim=-1), weft.ones(2, 2))


@pytest.mark.parametrize("shape", [(0, 0), (3, 0)])
def test_sparse_gradients_of_empty_tables_are_empty(shape):
    weight = weft.zeros(shape, requires_grad=True)
    index = weft.zeros(shape[0] // 2, dtype=weft.int64)
    F.embedding(index, weight, sparse=True).sum().backward()
    assert weight.grad.is_sparse and weight.grad.shape == shape
