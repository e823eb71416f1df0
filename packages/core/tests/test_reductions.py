"""Sums, extremes and other reductions over dimensions."""

import functools
import math
import operator
import struct

import numpy as np
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


SUMS = {  # each with how its result follows from that of a sum of n numbers 0.1
    "sum": (weft.sum, lambda n: 0.1 * n),
    "mean": (weft.mean, lambda n: 0.1),
    "nansum": (weft.nansum, lambda n: 0.1 * n),
    "logsumexp": (weft.logsumexp, lambda n: 0.1 + math.log(n)),
    "norm": (lambda x, dim: weft.linalg.vector_norm(x, 2, dim), lambda n: 0.1 * n**0.5),
    "norm of order 1": (lambda x, dim: weft.linalg.vector_norm(x, 1, dim), lambda n: 0.1 * n),
    "norm of order 3": (lambda x, dim: weft.linalg.vector_norm(x, 3, dim), lambda n: 0.1 * n ** (1 / 3)),
    "var of values and their negative": (
        lambda x, dim: weft.var(weft.cat([x, -x], dim if type(dim) is int else dim[0]), dim, correction=0),
        lambda n: 0.01,
    ),
}
PLACES = {
    "tall": ((1 << 18, 3), 0, lambda x: x),
    "one column": ((1 << 18, 1), 0, lambda x: x),
    "wide, transposed": ((3, 1 << 18), 1, lambda x: x.T.contiguous().T),
    "every second": ((1 << 18, 4), 0, lambda x: x[:, ::2]),
    "around a dimension": ((1 << 9, 3, 1 << 9, 2), (0, 2), lambda x: x),
    "all, with gaps": ((1 << 18, 4), (0, 1), lambda x: x[:, :3]),
    "all, permuted": ((1 << 9, 3, 1 << 9), (0, 1, 2), lambda x: x.permute(2, 0, 1)),
    "an odd number of long rows": ((4099, 301), 0, lambda x: x),
    "one row again and again": ((1 << 18, 3), 0, lambda x: x[:1].expand(x.shape)),
    "one element again and again": ((1 << 18, 3), 0, lambda x: x[0, 0].expand(x.shape)),
    "all, one column again and again": ((1 << 9, 1 << 9), (0, 1), lambda x: x[:, :1].expand(x.shape)),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("case", SUMS.values(), ids=SUMS)
def test_sums_of_many_numbers_keep_their_digits_wherever_these_are(case, place):
    (compute, expected), (shape, dim, layout) = case, place
    x = layout(weft.full(shape, 0.1))
    count = math.prod(x.shape[d] for d in ((dim,) if isinstance(dim, int) else dim))
    np.testing.assert_allclose(compute(x, dim).numpy(), expected(count), rtol=5e-6)


@pytest.mark.parametrize("dtype", [weft.bfloat16, weft.float16, weft.complex64], ids=str)
def test_sums_of_many_halves_and_complex_numbers_keep_their_digits(dtype):
    x = weft.full((1 << 16, 3), 0.125, dtype=dtype)
    assert (x.sum(0, dtype=weft.complex64) == 1 << 13).all()
    assert (x.mean(0) == 0.125).all()
    assert ((x * 1j if dtype.is_complex else x).sum(0).abs() == 1 << 13).all()


def test_infinite_complex_numbers_that_are_repeated_stay_infinite():
    x = weft.tensor([complex("inf"), 1 - 2j]).expand(1000, 2)
    assert x.sum(0).tolist() == [complex("inf"), 1000 - 2000j]


def test_gradients_that_were_broadcast_keep_their_digits():
    bias = weft.zeros(3, requires_grad=True)
    (weft.full((1 << 18, 3), 0.1) * (bias + weft.zeros(1 << 18, 3))).sum().backward()
    np.testing.assert_allclose(bias.grad.numpy(), 0.1 * (1 << 18), rtol=5e-6)


@pytest.mark.parametrize("dim", [(0, 1), [0]])
def test_prod_takes_one_dimension_at_a_time(dim):
    for call in (weft.prod, weft.Tensor.prod):
        with pytest.raises(TypeError, match="one dimension at a time"):
            call(weft.ones(2, 2), dim)
        with pytest.raises(TypeError, match="one dimension at a time"):
            call(weft.ones(2, 2), dim=dim)


@pytest.mark.parametrize("name", ["sum", "mean", "nansum", "nanmean", "prod"])
def test_reductions_take_pythons_number_types_for_dtypes(name):
    x = weft.tensor([1.0, 2.0])
    assert getattr(weft, name)(x, dtype=float).dtype is weft.float64
    out = weft.zeros((), dtype=weft.float64)
    assert getattr(weft, name)(x, dtype=float, out=out) is out
