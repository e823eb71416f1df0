"""Sums, extremes and other reductions over dimensions."""

import functools
import math
import operator
import struct

import pytest

import weft


def test_the_hash_is_the_exclusive_or_of_the_64_bit_forms():
    bits = [struct.unpack("<Q", struct.pack("<d", value))[0] for value in (1.5, -2.0, 0.25)]
    assert weft.hash_tensor(weft.tensor([1.5, -2.0, 0.25])).item() == functools.reduce(operator.xor, bits)
    assert weft.hash_tensor(weft.tensor([[1, 2], [4, -1]]), 1).tolist() == [3, (4 ^ -1) % 2**64]


def test_the_hash_of_no_elements_is_refused():
    with pytest.raises(RuntimeError, match=r"hash_tensor.*: Expected reduction dim to be specified"):
        weft.hash_tensor(weft.empty(0))
    with pytest.raises(IndexError, match=r"hash_tensor.*: Expected reduction dim 0 to have non-zero size"):
        weft.hash_tensor(weft.empty(0, 2), 0)


def test_all_and_any_over_no_dims_reduce_nothing():
    x = weft.tensor([[0.0, 1.0]])
    assert x.all(dim=()).tolist() == [[False, True]]
    assert x.any([], keepdim=True).tolist() == [[False, True]]


def test_a_sum_to_the_same_size_is_the_tensor_itself():
    x = weft.ones(2, dtype=weft.bool)
    assert x.sum_to_size(2) is x
    assert x.sum_to_size(1).tolist() == [2]


def test_the_median_of_no_integers_is_the_smallest_integer():
    assert weft.empty(0, dtype=weft.int64).median().item() == -(2**63)


def test_a_mean_of_numbers_only_has_a_floating_dtype():
    with pytest.raises(RuntimeError, match=r"nanmean.*: dtype must be"):
        weft.nanmean(weft.ones(2), dtype=weft.int64)


def gradient_of(function, values):
    x = weft.tensor(values, requires_grad=True)
    function(x).backward()
    return x.grad.tolist()


def test_equal_elements_share_the_gradient_of_a_median_or_extreme():
    assert gradient_of(lambda x: x.median(), [1.0, 1.0, 2.0]) == [0.5, 0.5, 0.0]
    assert gradient_of(lambda x: x.nanmedian(), [1.0, float("nan"), 1.0, 3.0]) == [0.5, 0.0, 0.5, 0.0]
    assert gradient_of(lambda x: x.max(), [float("nan"), 1.0]) == [1.0, 0.0]


def test_the_gradient_of_a_mean_of_no_numbers_is_nan():
    assert all(math.isnan(each) for each in gradient_of(lambda x: x.nanmean(), [float("nan")] * 2))


@pytest.mark.parametrize("call", [
    lambda x: x.sum(True), lambda x: x.unsqueeze(False), lambda x: x.view(True, 6), lambda x: x.softmax(True),
])  # fmt: skip
def test_a_truth_value_is_no_dim_and_no_size(call):
    with pytest.raises(TypeError, match=r"not bool|found bool"):
        call(weft.ones(2, 3))


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_bool_has_no_median(name):
    with pytest.raises(NotImplementedError, match=f"{name}: not implemented for 'Bool'"):
        getattr(weft, name)(weft.tensor([True, False]))
