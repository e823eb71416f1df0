"""Half precision and triangles, against NumPy."""

import math

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries

pytestmark = pytest.mark.skipif(
    not any(library.__name__.endswith("compiled") for library in libraries.available()), reason="needs Numba"
)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_conversions_round_to_the_nearest_and_back_without_loss(name):
    values = np.random.default_rng(0).standard_normal(20_000).astype("float32")
    values[:8] = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-7, 6.1e-5, 3e38]
    half = getattr(weft, name)
    with np.errstate(over="ignore"):
        expected = values.astype(half.numpy)
    made = weft.from_numpy(values).to(half)
    np.testing.assert_array_equal(made.float().numpy(), expected.astype("float32"))
    assert math.copysign(1, made[4].item()) == -1


@pytest.mark.parametrize("diagonal", [-500, -3, 0, 2, 500])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_are_numpys(name, diagonal):
    x = np.random.default_rng(0).standard_normal((3, 60, 70))
    assert (getattr(weft.from_numpy(x), name)(diagonal).numpy() == getattr(np, name)(x, diagonal)).all()


@pytest.mark.parametrize("shape", [(9000, 3), (300, 128), (257, 65), (70, 4, 80)])
def test_sums_over_the_first_dimension(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    expected = x.astype("float64").sum(0)
    np.testing.assert_allclose(weft.from_numpy(x).sum(0).numpy(), expected, rtol=1e-5, atol=1e-4)
