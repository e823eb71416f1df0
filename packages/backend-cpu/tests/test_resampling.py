"""The compiled loops of resampling give what NumPy's kernel gives, for all layouts, sizes and weights."""

import numpy as np
import pytest

from weft.backend_cpu import compiled, libraries
from weft.library.resampling import Taps
from weft.nn.functional import grids
from weft.nn.functional import resampling as declared

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")


@pytest.fixture(scope="module")
def resampling():
    """The family of kernels."""
    from weft.backend_cpu.compiled.kernels import resampling

    return resampling


def generic(op):
    """The op's NumPy kernel."""
    return lambda *args: op.declaration.generic(np, *args)


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def taps(size, out, count, missing=True):
    """Neighbours with random weights, of which some have fewer than others."""
    rng = np.random.default_rng(size + 100 * out)
    first = np.arange(out) * size // out
    rows = first + np.arange(count)[:, None]
    if missing:
        rows = np.where(np.arange(count)[:, None] > rng.integers(-1, count, out), size, rows)
    rows = np.where(rows >= size, size if missing else size - 1, rows)
    return Taps(size, rows, rng.standard_normal((count, out)).astype(np.float32))


LAYOUTS = {
    "contiguous": lambda x: x,
    "channels last": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1),
    "sliced": lambda x: np.repeat(x, 2, -1)[..., ::2],
}
SHAPES = [  # of the input, and the result's spatial sizes; None leaves one as it is
    ((2, 3, 300), (700,)),
    ((2, 3, 300), (70,)),
    ((2, 3, 20, 30), (40, 61)),
    ((2, 3, 60, 70), (19, 31)),
    ((2, 20, 20, 30), (40, 50)),
    ((1, 1, 90, 100), (300, 120)),
    ((2, 3, 33, 35), (None, 50)),
    ((2, 3, 33, 35), (50, None)),
    ((2, 3, 6, 11, 12), (9, 5, 20)),
    ((2, 17, 6, 11, 12), (3, None, 20)),
]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("shape, out", SHAPES, ids=str)
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("missing", [False, True], ids=["all", "some"])
def test_sums_are_numpys(shape, out, count, missing, layout, resampling):
    input = layout(random(*shape))
    chosen = tuple(None if o is None else taps(n, o, count, missing) for n, o in zip(shape[2:], out))
    found = resampling.weighted_sums(input, chosen)
    np.testing.assert_allclose(found, declared.weighted_sums(np, input, chosen), atol=2e-5)
    back = tuple(None if each is None else each.transposed for each in chosen)
    again = resampling.weighted_sums(found, back)
    np.testing.assert_allclose(again, declared.weighted_sums(np, found, back), atol=2e-4)
    assert again.shape == shape


def test_what_stands_for_none_is_no_product_with_zero(resampling):
    input = np.full((1, 2, 40, 40), np.inf, np.float32)
    drawn = taps(40, 30, 3)
    each = Taps(40, drawn.rows, abs(drawn.weights))
    found = resampling.weighted_sums(input, (each, each))
    expected = declared.weighted_sums(np, input, (each, each))
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))


def test_float64_is_computed_in_float64(resampling):
    input = random(2, 3, 30, 30).astype(np.float64)
    rows = np.stack([np.arange(60) // 2, np.minimum(np.arange(60) // 2 + 1, 29)])
    each = Taps(30, rows, np.full((2, 60), 1 / 3))
    found = resampling.weighted_sums(input, (each, each))
    np.testing.assert_allclose(found, declared.weighted_sums(np, input, (each, each)), atol=1e-14)
    assert found.dtype == np.float64


IMAGES = [((2, 3, 13, 11), (17, 19)), ((2, 20, 8, 8), (8, 9)), ((2, 3, 7, 8, 9), (5, 6, 11)), ((1, 2, 1, 5), (30, 40))]


@pytest.mark.parametrize("shape, out", IMAGES, ids=str)
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True], ids=["edges", "centres"])
def test_samples_and_their_gradients_are_numpys(shape, out, mode, padding, align, resampling):
    if mode == "bicubic" and len(out) == 3:
        pytest.skip("bicubic is for images")
    input, grid = random(*shape), (random(shape[0], *out, len(out)) * 0.8).astype(np.float32)
    grid[0, 0, 0], grid[0, 0, 1] = np.nan, 50
    options, orders = (mode, padding, align), (0,) * len(out)
    grad = random(*shape[:2], *out)
    calls = [
        (resampling.sample, grids.sample, (input, grid)),
        (resampling.sample_input_gradient, grids.sample_input_gradient, (grad, grid, shape)),
        (resampling.sample_grid_gradient, grids.sample_grid_gradient, (grad, input, grid)),
    ]
    for kernel, op, args in calls:
        with np.errstate(invalid="ignore"):
            expected = generic(op)(*args, options, orders)
        found = kernel(generic(op))(*args, options, orders)
        np.testing.assert_allclose(found, expected, atol=1e-2, rtol=1e-3)


def test_pixels_outside_are_no_products_with_zero(resampling):
    input = np.full((1, 2, 40, 40), np.inf, np.float32)
    grid = np.full((1, 30, 30, 2), 5, np.float32)
    found = resampling.sample(None)(input, grid, ("bilinear", "zeros", False), (0, 0))
    np.testing.assert_array_equal(found, np.zeros((1, 2, 30, 30)))


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("size", [(70, 40), (300, 20), (131, 90), (50, 180), (9, 400)], ids=str)
def test_bytes_are_numpys(mode, antialias, size, resampling):
    """Also of crops, and of channels that are innermost in memory."""
    image = np.random.default_rng(0).integers(0, 256, (2, 131, 180, 3), dtype=np.uint8).transpose(0, 3, 1, 2)
    expected = generic(declared.resample)
    for input in (np.ascontiguousarray(image), image, np.ascontiguousarray(image)[:, 1:, 5:105, 3:170]):
        options = (size, mode, (None, None), False, antialias, False)
        found = resampling.resample_bytes(expected)(input, *options)
        np.testing.assert_array_equal(found, expected(input, *options))
