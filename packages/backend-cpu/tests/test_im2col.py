"""Convolutions of few elements as one product are those of the kernels that they stand before."""

import numpy as np
import pytest

from weft.backend_cpu import im2col
from weft.nn.functional import convolution as declared

CASES = [  # input, weight, stride, padding, dilation
    ((1, 3, 8, 8), (4, 3, 3, 3), (1, 1), (0, 0), (1, 1)),
    ((3, 2, 5, 6), (4, 2, 2, 3), (2, 1), (1, 2), (1, 2)),
    ((2, 3, 9), (1, 3, 4), (3,), (2,), (2,)),
    ((2, 1, 3, 4, 5), (2, 1, 2, 2, 2), (1, 2, 1), (0, 1, 1), (1, 1, 2)),
    ((1, 2, 3, 3), (2, 2, 1, 1), (2, 2), (0, 0), (1, 1)),
]


def refuse(*args):
    """Stands for the kernel that must not be asked."""
    raise AssertionError("left to the other kernel")


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_small_convolution_is_that_of_numpy(case, has_bias, dtype):
    shape, weight_shape, *geometry = case
    rng = np.random.default_rng(0)
    input, weight = (rng.standard_normal(each).astype(dtype) for each in (shape, weight_shape))
    bias = rng.standard_normal(weight_shape[0]).astype(dtype) if has_bias else None
    found = im2col.convolving(refuse).small(input, weight, bias, *geometry, 1)
    expected = declared.convolve(np, input, weight, bias, *geometry, 1)
    assert found.dtype == dtype and found.flags.c_contiguous
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_what_is_large_or_in_groups_or_in_another_order_is_left_to_the_other_kernel():
    def other(*args):
        return "other"

    small = im2col.convolving(other).small
    once = (1, 1), (0, 0), (1, 1)
    image, weight = np.ones((1, 2, 8, 8)), np.ones((2, 2, 3, 3))
    assert small(np.ones((9, 2, 8, 8)), weight, None, *once, 1) == "other"
    assert small(image, np.ones((2, 1, 3, 3)), None, *once, 2) == "other"
    assert small(image.swapaxes(2, 3), weight, None, *once, 1) == "other"
    assert small(image.astype(np.complex64), weight, None, *once, 1) == "other"
