"""Conversions to half precision, against NumPy."""

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
