"""Compiled softmax, its logarithm and their gradients give what NumPy's kernels give, along each dimension."""

import numpy as np
import pytest

import weft
from weft.backend_cpu import compiled, libraries
from weft.ops._registry import registry

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")

NAMES = ["core::softmax", "core::log_softmax", "core::softmax_backward", "core::log_softmax_backward"]


def kernels(name):
    def generic(*args):
        return registry[name].generic(np, *args)

    return generic, libraries.kernel(name, weft.float32, generic).large


def operands(name, shape):
    random = np.random.default_rng(2)
    arrays = [(random.normal(size=shape) * 3).astype("float32")]
    return [random.normal(size=shape).astype("float32"), *arrays] if name.endswith("backward") else arrays


@pytest.mark.parametrize("shape", [(5,), (3, 1), (4, 33), (2, 5, 1100), (2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_softmax_is_numpys_along_each_dimension(name, shape):
    generic, kernel = kernels(name)
    for dim in range(len(shape)):
        arrays = operands(name, shape)
        exact = generic(*[each.astype(float) for each in arrays], dim)
        np.testing.assert_allclose(kernel(*arrays, dim), exact, rtol=5e-5, atol=2e-6)


@pytest.mark.parametrize("dim", [0, 1])
def test_rows_without_a_number_are_nan_and_others_stay(dim):
    _, kernel = kernels("core::softmax")
    array = np.zeros((3, 40), np.float32)
    array[0], array[1, 3], array[2, 0] = -np.inf, np.nan, 1000.0
    array = array if dim == 1 else np.ascontiguousarray(array.T)
    found = kernel(array, dim)
    rows = found if dim == 1 else found.T
    assert np.isnan(rows[:2]).all()
    assert rows[2, 0] == 1 and (rows[2, 1:] == 0).all()


def test_transposed_and_empty_arrays_are_taken():
    generic, kernel = kernels("core::softmax")
    array = operands("core::softmax", (6, 9))[0].T
    np.testing.assert_allclose(kernel(array, 1), generic(array, 1), rtol=1e-6)
    assert kernel(np.empty((0, 3), np.float32), 1).shape == (0, 3)


@pytest.mark.parametrize("shape", [(3, 1000), (60, 10), (600, 5), (1, 2000)], ids=str)
@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16, weft.float16], ids=str)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_a_gradient_that_is_expanded_is_read_at_its_own_strides(name, dtype, shape):
    x = weft.randn(shape).to(dtype).requires_grad_()
    compute = getattr(weft, name)
    for one in (weft.tensor(0.5, dtype=dtype), weft.randn(shape[0], 1).to(dtype), weft.randn(shape[1]).to(dtype)):
        for grad in (one.expand(shape), one.expand(shape).t().contiguous().t()):
            (found,) = weft.autograd.grad(compute(x, -1), x, grad)
            (expected,) = weft.autograd.grad(compute(x, -1), x, grad.contiguous())
            weft.testing.assert_close(found, expected)
            assert found.isfinite().all()
