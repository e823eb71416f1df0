"""A function of numbers over arrays side by side replaces the first of them, as far as it is asked to."""

import numpy as np
import pytest

from weft.backend_cpu import compiled, libraries

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")


@pytest.fixture(scope="module")
def turn():
    from weft.backend_cpu.compiled.codegen.mathematics import function
    from weft.backend_cpu.compiled.codegen.parallel import launcher
    from weft.backend_cpu.compiled.codegen.simd_loop import simd_loop

    @function
    def turned(x, y, weight):
        return weight * x - y, weight * y + x

    @launcher
    def call(x, y, weight, size):
        simd_loop(turned, (x, y, weight), np.uintp(size))

    return call


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0, 1, 16, 100])
def test_the_first_elements_of_the_first_arrays_are_replaced(turn, size, dtype):
    x, y, weight = np.random.default_rng(size).standard_normal((3, 104)).astype(dtype)
    before = x.copy(), y.copy(), weight.copy()
    turn(x, y, weight, size)
    for found, old, new in zip((x, y), before, (before[2] * before[0] - before[1], before[2] * before[1] + before[0])):
        np.testing.assert_allclose(found[:size], new[:size], rtol=1e-5, atol=1e-6)
        assert np.array_equal(found[size:], old[size:])
    assert np.array_equal(weight, before[2])
