"""The compiled loops of batch norm give what NumPy's kernels give, in all layouts."""

import numpy as np
import pytest

from weft.backend_cpu import compiled, libraries
from weft.nn.functional import normalization as declared

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")

SHAPES = [(4, 3, 7, 5), (2, 70, 3, 3), (150, 5), (3, 70), (2, 3, 90), (2, 3, 4, 5, 6), (1, 2, 1, 2)]
LAYOUTS = {
    "contiguous": lambda x: x,
    "channels last": lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1),
    "sliced": lambda x: np.repeat(x, 2, -1)[..., ::2],
}


@pytest.fixture(scope="module")
def batch_norm():
    """The family of kernels."""
    from weft.backend_cpu.compiled.kernels import batch_norm

    return batch_norm


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def generic(op, *args):
    """What the op's NumPy kernel gives."""
    return op.declaration.generic(np, *args)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("dtype", "atol"), [("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_and_its_gradients_are_numpys(shape, layout, dtype, atol, affine, batch_norm):
    input, grad = (random(*shape) * 3 + 50).astype(dtype), random(*shape).astype(dtype)
    weight, bias = (random(shape[1]).astype(dtype), random(shape[1], 1)[:, 0].astype(dtype)) if affine else (None, None)
    scale, shift = (weight, bias)
    found = batch_norm.batch_norm_training(None)(layout(input), scale, shift, 1e-5)
    exact = generic(declared.batch_norm_training, input.astype(float), scale, shift, 1e-5)
    for ours, theirs in zip(found, exact):
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-5 if dtype == "float32" else 1e-12, atol=20 * atol)
    statistics = [each.astype(dtype) for each in exact[1:]]
    found = batch_norm.batch_norm_gradient(None)(layout(grad), layout(input), weight, *statistics, 1e-5)
    exact = generic(declared.batch_norm_gradient, grad.astype(float), input.astype(float), weight, *exact[1:], 1e-5)
    for ours, theirs in zip(found, exact):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=100 * atol)


def test_nan_stays_in_its_channel(batch_norm):
    input = random(4, 3, 7, 5).astype("float32")
    input[0, 1, 0, 0] = np.nan
    result, mean, _ = batch_norm.batch_norm_training(None)(input, None, None, 1e-5)
    assert np.isnan(result[:, 1]).all() and not np.isnan(result[:, ::2]).any()
    assert np.isnan(mean).tolist() == [False, True, False]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_given_statistics_scale_and_shift_each_channel(shape, layout, batch_norm):
    input, scale, shift = random(*shape), random(shape[1]), random(shape[1], 1)[:, 0]
    for summand in (shift, None):
        found = batch_norm.channel_affine(None)(layout(input), scale, summand)
        np.testing.assert_allclose(found, generic(declared.channel_affine, input, scale, summand), atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("affine", [True, False])
def test_given_statistics_normalize_as_numpys_do(layout, affine, batch_norm):
    input, mean, variance = random(4, 70, 3, 5), random(70), random(70, 2)[:, 1] ** 2
    weight, bias = (random(70, 1)[:, 0], random(70, 3)[:, 2]) if affine else (None, None)
    found = batch_norm.normalized(None)(layout(input), mean, variance, weight, bias, 1e-5)
    exact = generic(declared.normalized, input, mean, variance, weight, bias, 1e-5)
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12)
