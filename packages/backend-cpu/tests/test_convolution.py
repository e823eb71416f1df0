"""Depthwise convolutions in compiled loops are those of NumPy, with their gradients."""

import numpy as np
import pytest

from weft.backend_cpu import compiled, libraries
from weft.nn.functional import convolution as declared

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")

CASES = [  # input, weight, stride, padding, dilation, groups
    ((3, 6, 200), (6, 1, 5), (1,), (2,), (1,), 6),
    ((3, 4, 12, 11), (8, 1, 3, 2), (1, 1), (1, 0), (2, 1), 4),
    ((3, 6, 12, 11), (6, 1, 3, 3), (1, 1), (3, 0), (1, 1), 6),
    ((6, 6, 12, 11), (6, 1, 3, 3), (2, 3), (1, 1), (1, 2), 6),
    ((2, 3, 6, 7, 8), (6, 1, 3, 2, 3), (2, 1, 1), (0, 1, 1), (1, 1, 1), 3),
    ((2, 6, 6, 7, 8), (6, 1, 3, 2, 3), (1, 1, 1), (1, 1, 1), (1, 2, 1), 6),
]


def none(*args):
    """What stands in for NumPy's kernel where the compiled one has to be used."""
    raise AssertionError("fell back on NumPy")


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("swapped", [False, True], ids=["contiguous", "images and channels swapped"])
def test_a_depthwise_convolution_and_its_gradients_are_those_of_numpy(case, swapped):
    from weft.backend_cpu.compiled.kernels import convolution

    shape, weight_shape, *geometry = case
    rng = np.random.default_rng(0)
    input, weight = rng.standard_normal(shape), rng.standard_normal(weight_shape)
    bias = rng.standard_normal(weight_shape[0])
    expected = declared.convolve(np, input, weight, bias, *geometry)
    grad = rng.standard_normal(expected.shape)
    if swapped:
        input, grad = (np.ascontiguousarray(each.swapaxes(0, 1)).swapaxes(0, 1) for each in (input, grad))
    found = convolution.convolution(none)(input, weight, bias, *geometry)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    found = convolution.input_gradient(none)(grad, weight, shape, *geometry)
    np.testing.assert_allclose(found, declared.input_gradient(np, grad, weight, shape, *geometry), atol=1e-12)
    found = convolution.weight_gradient(none)(grad, input, weight_shape, *geometry)
    np.testing.assert_allclose(found, declared.weight_gradient(np, grad, input, weight_shape, *geometry), atol=1e-12)


def test_a_transposed_convolution_may_be_larger_than_its_windows_reach():
    from weft.backend_cpu.compiled.kernels import convolution

    grad, weight = np.ones((4, 4, 6, 6)), np.ones((4, 1, 3, 3))
    args = grad, weight, (4, 4, 14, 14), (2, 2), (0, 0), (1, 1), 4
    found = convolution.input_gradient(none)(*args)
    np.testing.assert_allclose(found, declared.input_gradient(np, *args))
    assert not found[..., 13].any()


def test_other_convolutions_are_left_to_others():
    from weft.backend_cpu.compiled.kernels import convolution

    input, weight = np.ones((2, 4, 20, 20)), np.ones((4, 2, 3, 3))
    run = convolution.convolution(lambda *args: "generic")
    assert run(input, weight, None, (1, 1), (0, 0), (1, 1), 2) == "generic"
