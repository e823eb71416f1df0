"""Compiled layer, RMS and group norm and their gradients give what NumPy's kernels give."""

import numpy as np
import pytest

import weft
import weft.nn
from weft.backend_cpu import compiled, libraries
from weft.ops._registry import registry

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")


def kernels(name, element=weft.float32):
    def generic(*args):
        return registry[name].generic(np, *args)

    return generic, libraries.kernel(name, element, generic).large


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def wide(args):
    return [each.astype(float) if isinstance(each, np.ndarray) else each for each in args]


def assert_same(name, *args):
    generic, kernel = kernels(name)
    for ours, theirs in zip(kernel(*args), generic(*wide(args)), strict=True):
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(("shape", "count"), [((3, 5), 1), ((2, 4, 70), 2), ((40, 33), 1), ((7,), 1), ((2, 1), 1)])
def test_layer_and_rms_norm_are_numpys(shape, count, affine):
    input, grad = random(*shape) * 3 + 2, random(*shape)
    weight, bias = (random(*shape[-count:]), random(*shape[-count:]) + 1) if affine else (None, None)
    assert_same("nn::layer_norm", input, weight, bias, count, 1e-5)
    _, mean, inverse = kernels("nn::layer_norm")[0](input, weight, bias, count, 1e-5)
    assert_same("nn::layer_norm_gradient", grad, input, weight, mean, inverse, count)
    assert_same("nn::rms_norm", input, weight, count, 1e-5)
    assert_same(
        "nn::rms_norm_gradient", grad, input, weight, kernels("nn::rms_norm")[0](input, weight, count, 1e-5)[1], count
    )


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(("shape", "groups"), [((3, 6, 5, 7), 2), ((2, 4, 40), 4), ((2, 4, 9), 1), ((5, 6), 3)])
def test_group_norm_is_numpys(shape, groups, affine):
    input, grad = random(*shape) * 3 + 2, random(*shape)
    weight, bias = (random(shape[1]), random(shape[1]) + 1) if affine else (None, None)
    assert_same("nn::group_norm", input, weight, bias, groups, 1e-5)
    _, mean, inverse = kernels("nn::group_norm")[0](input, weight, bias, groups, 1e-5)
    assert_same("nn::group_norm_gradient", grad, input, weight, mean, inverse, groups)


def test_strided_inputs_and_gradients_that_are_expanded_are_taken():
    input, grad = random(8, 6).T * 2, np.broadcast_to(np.float32(2), (6, 8))
    assert_same("nn::layer_norm", input, None, None, 1, 1e-5)
    _, mean, inverse = kernels("nn::layer_norm")[0](input, None, None, 1, 1e-5)
    assert_same("nn::layer_norm_gradient", grad, input, None, mean, inverse, 1)
