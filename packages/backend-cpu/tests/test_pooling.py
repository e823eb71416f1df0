"""The compiled loops of pooling give what NumPy's kernels give, for all windows, layouts and special values."""

import numpy as np
import pytest

from weft.backend_cpu import compiled, libraries
from weft.nn.functional import pooling as declared

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")


@pytest.fixture(scope="module")
def pooling():
    """The family of kernels."""
    from weft.backend_cpu.compiled.kernels import pooling

    return pooling


def generic(op):
    """The op's NumPy kernel."""
    return lambda *args: op.declaration.generic(np, *args)


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


LAYOUTS = {
    "contiguous": lambda x: x,
    "channels last": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1),
    "sliced": lambda x: np.repeat(x, 2, -1)[..., ::2],
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)

# input, kernel, stride, padding, dilation
WINDOWS = [
    ((2, 3, 8, 26), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((2, 3, 9, 41), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((2, 3, 9, 20), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((2, 3, 9, 9), (3, 2), (3, 1), (1, 0), (1, 1)),
    ((2, 3, 12, 12), (3, 3), (1, 2), (1, 0), (2, 3)),
    ((2, 3, 40), (2,), (2,), (0,), (1,)),
    ((2, 3, 40), (9,), (5,), (4,), (1,)),
    ((2, 3, 4, 5, 6), (2, 2, 3), (2, 1, 2), (1, 0, 1), (1, 1, 1)),
    ((1, 1, 1, 1), (1, 1), (1, 1), (0, 0), (1, 1)),
    ((2, 3, 7, 7), (7, 7), (7, 7), (0, 0), (1, 1)),
]
windows = pytest.mark.parametrize("case", WINDOWS, ids=str)


def out_of(shape, kernel, stride, padding, dilation):
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(shape[2:], kernel, stride, padding, dilation)
    )


@layouts
@windows
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_maxima_and_their_places_are_numpys(case, layout, dtype, pooling):
    shape, *geometry = case
    input = layout(random(*shape).astype(dtype))
    run = pooling.max_pool_with_indices(None)
    values, index = run(input, *geometry, out_of(*case))
    expected = generic(declared.max_pool_with_indices)(input, *geometry, out_of(*case))
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(index, expected[1])
    assert values.dtype == dtype


@layouts
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_of_equal_elements_the_first_is_taken_and_nan_is_the_greatest(stride, layout, pooling):
    input = np.round(random(2, 3, 8, 40))
    input[0, 0, :3, ::5] = np.nan
    input[0, 1, 3] = np.inf
    input[1, 0] = -np.inf
    input[1, 1, ::2] = -0.0
    case = (input.shape, (3, 3), (stride, stride), (1, 1), (1, 1))
    args = (layout(input), *case[1:], out_of(*case))
    found = pooling.max_pool_with_indices(None)(*args)
    expected = generic(declared.max_pool_with_indices)(*args)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@layouts
@windows
def test_the_gradient_of_maxima_goes_to_their_places(case, layout, pooling):
    shape, *geometry = case
    out = out_of(*case)
    _, index = generic(declared.max_pool_with_indices)(random(*shape), *geometry, out)
    grad = random(*shape[:2], *out)
    found = pooling.max_pool_gradient(None)(layout(grad), layout(index), shape)
    np.testing.assert_allclose(found, generic(declared.spread_to_places)(grad, index, shape), atol=1e-6)


def test_a_place_outside_of_the_input_is_left_out(pooling):
    index = np.array([[[0, 7, -1]]])
    found = pooling.max_pool_gradient(None)(np.ones((1, 1, 3), np.float32), index, (1, 1, 4))
    np.testing.assert_array_equal(found, [[[1, 0, 0, 0]]])


AVERAGED = [(shape, *rest) for shape, *rest, dilation in WINDOWS if max(dilation) == 1]


@layouts
@pytest.mark.parametrize("case", AVERAGED, ids=str)
@pytest.mark.parametrize("options", [(True, None), (False, None), (True, 5), (False, -3)], ids=str)
def test_means_and_their_gradients_are_numpys(case, options, layout, pooling):
    shape, kernel, stride, padding = case
    out = out_of(*case, (1,) * len(kernel))
    input = random(*shape)
    args = (kernel, stride, padding, out, options)
    found = pooling.avg_pool(None)(layout(input), *args)
    np.testing.assert_allclose(found, generic(declared.avg_pool)(input, *args), atol=1e-6)
    run = pooling.avg_pool_gradient(None)
    grad = random(*shape[:2], *out)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "MIN_SIZE_FUSED", 0)
        found = run(layout(grad), shape, *args)
    np.testing.assert_allclose(found, generic(declared.avg_pool_gradient)(grad, shape, *args), atol=1e-6)


def test_windows_that_end_outside_divide_by_what_they_have(pooling):
    input, out = random(1, 1, 5, 5), (3, 3)
    args = ((2, 2), (2, 2), (0, 0), out, (True, None))
    found = pooling.avg_pool(None)(input, *args)
    np.testing.assert_allclose(found, generic(declared.avg_pool)(input, *args), atol=1e-6)
    np.testing.assert_allclose(found[0, 0, 2, 2], input[0, 0, 4, 4])


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_gradient_of_few_large_windows_is_computed_by_the_loops(size, pooling):
    def refused(*args):
        raise AssertionError("NumPy's kernel ran")

    shape, out, window = (2, 3, 32, 32), (size, size), (32 // size, 32 // size)
    grad = random(2, 3, *out)
    assert grad.size < 512 <= 2 * 3 * 32 * 32
    geometry = (shape, window, window, (0, 0), out, (True, None))
    found = pooling.avg_pool_gradient(refused)(grad, *geometry)
    np.testing.assert_allclose(found, np.kron(grad, np.ones(window)) / (window[0] * window[1]), rtol=1e-6)
