"""Loops of which several vectors are computed at once give what others do, whatever is left over."""

import numpy as np
import pytest

from weft.backend_cpu import compiled, libraries

pytestmark = pytest.mark.skipif(compiled not in libraries.available() or not compiled.has_numba(), reason="needs Numba")


@pytest.fixture(scope="module")
def roots():
    from numba import njit

    from weft.backend_cpu.compiled.codegen.vectors import SeveralVectors

    @njit(error_model="numpy", pipeline_class=SeveralVectors)
    def roots(x, y):
        for i in range(np.uintp(x.size)):
            y[i] = np.sqrt(x[i]) + x[i] * x[i]

    return roots


@pytest.mark.parametrize("size", [0, 1, 15, 16, 63, 64, 65, 127, 1000])
def test_no_element_is_left_out(roots, size):
    x, y = np.arange(size, dtype=np.float32), np.full(size + 1, -1, np.float32)
    roots(x, y)
    np.testing.assert_allclose(y[:size], np.sqrt(x) + x * x, rtol=1e-6)
    assert y[size] == -1
