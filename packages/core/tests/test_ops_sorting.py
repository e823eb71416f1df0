"""Order: the quick paths give what the plain ones give."""

import numpy as np
import pytest

import weft


@pytest.mark.parametrize("descending", [False, True])
def test_equal_elements_stay_in_their_order(descending):
    x = weft.tensor([[2, 1, 2, 1], [4, 3, 2, 1]])
    expected = [[0, 2, 1, 3], [0, 1, 2, 3]] if descending else [[1, 3, 0, 2], [3, 2, 1, 0]]
    assert weft.sort(x, descending=descending, stable=True).indices.tolist() == expected


def test_nan_counts_as_largest():
    x = weft.tensor([1.0, float("nan"), 3.0])
    assert weft.argsort(x).tolist() == [0, 2, 1]
    assert weft.topk(x, 1).indices.tolist() == [1]


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [0, 1, 5, 40])
def test_topk_is_the_beginning_of_sort(dim, largest, k):
    x = weft.from_numpy(np.random.default_rng(0).standard_normal((50, 60)))
    found, whole = weft.topk(x, k, dim, largest), weft.sort(x, dim, descending=largest)
    assert weft.equal(found.values, whole.values.narrow(dim, 0, k))
    assert weft.equal(found.indices, whole.indices.narrow(dim, 0, k))


def test_kthvalue_owns_its_memory():
    values = weft.kthvalue(weft.rand(100, 100), 3).values
    assert values.untyped_storage().nbytes() == 400
