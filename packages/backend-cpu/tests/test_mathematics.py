"""The compiled functions of one number are right to a few units in the last place, at the ends of their range too."""

import math

import numpy as np
import pytest

from weft.backend_cpu import compiled, libraries

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")

EDGES = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 88.7, 88.8, -87.4, -103.0, -104.5, 1e-8]
EXACT = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(0, x),
    "erf": np.vectorize(math.erf, otypes=[float]),
}


def numbers():
    random = np.random.default_rng(0)
    wide = random.uniform(-80, 80, 2000)
    return np.concatenate([EDGES, random.normal(size=2000) * 2, wide, 10.0 ** random.uniform(-30, 30, 500)])


@pytest.mark.parametrize("name", EXACT)
def test_a_function_is_right_within_five_units_in_the_last_place(name):
    import numba

    from weft.backend_cpu.compiled.codegen import mathematics

    function = getattr(mathematics, name)
    apply = numba.vectorize(["float32(float32)"])(lambda value: function(value))
    x = numbers().astype(np.float32)
    with np.errstate(all="ignore"):
        found = apply(x)
        exact = EXACT[name](x.astype(float))
        rounded = exact.astype(np.float32)
    assert (np.isnan(found) == np.isnan(rounded)).all()
    same = (found == rounded) | np.isnan(rounded)
    least = np.float32(2e-38) if name == "sigmoid" else np.float32(1e-45)  # 1 / (1 + exp(-x)), as PyTorch has it
    error = np.abs(found[~same] - exact[~same])
    assert (error <= 5 * np.maximum(np.spacing(np.abs(rounded[~same])), least)).all()
    assert (np.signbit(found) == np.signbit(rounded))[x == 0].all()
