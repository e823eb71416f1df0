"""Instructions of AVX-512 give what the arithmetic does that they stand for, in vectors and in what is left of them."""

import math

import numpy as np
import pytest

from weft.backend_cpu import compiled, libraries

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")

SMALL = {"float32": 1e-45, "float64": 5e-324}


def run(formula, *arrays):
    """The results of a formula in a loop, and the loop's machine code."""
    import numba

    from weft.backend_cpu.compiled.codegen.instructions import HAS_INSTRUCTIONS
    from weft.backend_cpu.compiled.codegen.parallel import OPTIONS
    from weft.backend_cpu.compiled.codegen.vectors import WideVectors

    if not HAS_INSTRUCTIONS:
        pytest.skip("needs a processor with AVX-512")
    function = numba.njit(formula)

    @numba.njit(**{**OPTIONS, "cache": False}, pipeline_class=WideVectors)
    def loop(result, x, y):
        for i in range(result.size):
            result[i] = function(x[i], y[i])

    result = np.empty_like(arrays[0])
    loop(result, arrays[0], arrays[-1])
    return result, "".join(loop.inspect_asm().values())


@pytest.mark.parametrize("size", [1, 7, 16, 77])
@pytest.mark.parametrize("dtype", SMALL)
def test_a_number_times_a_power_of_two_is_rounded_once(dtype, size):
    from weft.backend_cpu.compiled.codegen.instructions import times_power

    most = np.finfo(dtype).maxexp
    x = np.linspace(0.5, 2, size, dtype=dtype)
    powers = np.linspace(-most - 60, most + 2, size).round().astype(dtype)
    result, code = run(lambda x, y: times_power(x, y), x, powers)
    assert ("vscalefps" if dtype == "float32" else "vscalefpd") in code
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_array_equal(result, np.ldexp(x, powers.astype(int)))


@pytest.mark.parametrize("size", [10, 41])
@pytest.mark.parametrize("dtype", SMALL)
def test_a_number_is_its_rest_times_its_power(dtype, size):
    from weft.backend_cpu.compiled.codegen.instructions import power_in, rest_of

    least = SMALL[dtype]
    x = np.resize(np.array([least, 3 * least, 1.0, 1.9999999, 2.0, 5e20, 0.0, -0.0, math.inf, math.nan], dtype), size)
    powers, _ = run(lambda x, y: power_in(x), x)
    rests, _ = run(lambda x, y: rest_of(x), x)
    finite = (x > 0) & (x < math.inf)
    exponents = np.frexp(x.astype(float))[1] - 1.0
    np.testing.assert_array_equal(powers[finite], exponents[finite])
    np.testing.assert_array_equal(rests[finite], np.ldexp(x.astype(float), -exponents.astype(int))[finite])
    assert powers[6:9].tolist() == [-math.inf, -math.inf, math.inf]
    assert rests[6:9].tolist() == [1, 1, 1]
    assert np.isnan([powers[9], rests[9], *run(lambda x, y: rest_of(x), -x[:5])[0]]).all()
