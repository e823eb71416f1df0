"""Triangles of matrices, against NumPy."""

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries

pytestmark = pytest.mark.skipif(
    not any(library.__name__.endswith("compiled") for library in libraries.available()), reason="needs Numba"
)


@pytest.mark.parametrize("diagonal", [-500, -3, 0, 2, 500])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_are_numpys(name, diagonal):
    x = np.random.default_rng(0).standard_normal((3, 60, 70))
    assert (getattr(weft.from_numpy(x), name)(diagonal).numpy() == getattr(np, name)(x, diagonal)).all()
