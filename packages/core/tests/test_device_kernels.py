"""Kernels on a device's namespace: no value is read, and no number is sent."""

import math
from types import SimpleNamespace

import numpy
import pytest

from weft.ops import _numerics, gamma_functions, orthogonal_polynomials, pointwise
from weft.ops import error_functions as errors
from weft.ops._numerics import array_of, constant, is_numpy, pieces


class Device:
    """NumPy's functions as a device's namespace: no value is read, and nothing comes from the host."""

    ndarray = type("DeviceArray", (), {})

    def __getattr__(self, name):
        if name in ("all", "any", "nonzero"):
            raise AssertionError(f"waits in {name}")
        if name in ("array", "asarray"):
            return self.from_array
        return getattr(numpy, name)

    # What CuPy computes otherwise than NumPy.

    def floor_divide(self, x, y):
        return numpy.floor_divide(x, y) if numpy.result_type(x, y).kind in "iu" else numpy.floor(x / y)

    def remainder(self, x, y):
        assert numpy.result_type(x, y).kind in "iu", "rounded"
        return numpy.remainder(x, y)

    def fmod(self, x, y):
        assert numpy.result_type(x, y).kind == "f", "rounded"
        return numpy.fmod(x, y)

    def from_array(self, value, dtype=None):
        assert isinstance(value, numpy.ndarray), f"sends {value!r}"
        return value if dtype is None else value.astype(dtype)


@pytest.fixture
def device(monkeypatch):
    xp = Device()
    backend = SimpleNamespace(index=0, sent=[])
    backend.current_device = lambda: backend.index
    backend.constant = lambda array, index: backend.sent.append(index) or array
    monkeypatch.setattr(_numerics, "owners_of", lambda namespace: [backend])
    xp.backend = backend
    return xp


def branches(x):
    return (x < 0, lambda v: -v), (x >= 0, numpy.sqrt), (x == 4, lambda v: v * 0 + 7)


def test_pieces_on_a_device_agree_and_wait_for_nothing(device):
    x = numpy.array([-2.0, 0.0, 4.0, 9.0, math.nan])
    with numpy.errstate(invalid="ignore"):
        there = pieces(device, x, *branches(x))
    numpy.testing.assert_array_equal(there, pieces(numpy, x, *branches(x)))
    numpy.testing.assert_array_equal(there, [2, 0, 7, 3, math.nan])


@pytest.mark.parametrize("xp", [numpy, Device()], ids=["host", "device"])
def test_pieces_take_several_arrays(xp):
    x, y = numpy.array([1.0, 2.0]), numpy.array([10.0, 20.0])
    result = pieces(xp, (x, y), (x < 2, numpy.add), (x >= 2, numpy.multiply))
    assert result.tolist() == [11, 40]


def test_constants_are_sent_once_to_each_device(device):
    sent = device.backend.sent
    values = (1.5, 2.5)
    first = constant(device, values, numpy.float32)
    assert constant(device, (1.5, 2.5), numpy.float32) is first and sent == [0]
    assert first.dtype == numpy.float32 and first.tolist() == [1.5, 2.5]
    assert constant(device, values, numpy.float64).dtype == numpy.float64 and sent == [0, 0]
    device.backend.index = 1
    constant(device, values, numpy.float32)
    assert sent == [0, 0, 1]


def steps(count):
    return numpy.arange(count)


def test_tables_are_kept_by_their_function_and_its_arguments(device):
    assert constant(device, steps, None, 3) is constant(device, steps, None, 3)
    assert constant(device, steps, numpy.int8, 4).dtype == numpy.int8
    assert device.backend.sent == [0, 0]


def test_constants_on_the_host_cannot_be_written_to():
    table = constant(numpy, steps, None, 5)
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 1


def test_numbers_are_filled_in_on_a_device(device):
    assert array_of(device, 2, numpy.float32).dtype == numpy.float32
    assert not is_numpy(device) and is_numpy(numpy)


@pytest.fixture(autouse=True)
def quiet():
    with numpy.errstate(all="ignore"):
        yield


POINTS = numpy.array([-700.5, -30.0, -3.7, -2.0, -1.0, -0.3, -0.0, 0.0, 1e-9, 0.45, 1.0, 1.6, 2.2, 5.0, 12.0, 300.0])
UNBOUNDED = numpy.concatenate([POINTS, [math.inf, -math.inf, math.nan]])
SPECIAL = {
    "lgamma": (gamma_functions.lgamma_array, UNBOUNDED),
    "digamma": (gamma_functions.digamma_array, UNBOUNDED),
    "trigamma": (gamma_functions.trigamma_array, UNBOUNDED),
    "erf": (errors.erf_double, UNBOUNDED),
    "erfc": (errors.erfc_array, UNBOUNDED),
    "erfcx": (errors.erfcx_array, UNBOUNDED),
    "log_ndtr": (errors.log_ndtr_array, UNBOUNDED),
    "ndtri": (errors.ndtri_array, numpy.array([0, 1e-300, 0.01, 0.07, 0.5, 0.8, 0.99, 1, 1.5, -0.5, math.nan])),
    "erfinv": (errors.erfinv_array, numpy.array([-1.5, -1, -0.999, -0.5, 0, 0.1, 0.9, 1, math.nan])),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_agree(device, name):
    function, x = SPECIAL[name]
    numpy.testing.assert_array_equal(function(device, x), function(numpy, x))


def test_zeta_agrees(device):
    s, q = numpy.meshgrid([-1.0, 0.5, 1.0, 1.1, 2.0, 3.0, 7.5, 12.0, 55.0, 300.0, 1e6], UNBOUNDED)
    there = gamma_functions.zeta_array(device, s, q)
    numpy.testing.assert_array_equal(there, gamma_functions.zeta_array(numpy, s, q))


DEGREES = [-1, 0, 1, 2, 7, 9, 30, 201]
POLYNOMIALS = [
    orthogonal_polynomials.chebyshev_t,
    orthogonal_polynomials.chebyshev_u,
    orthogonal_polynomials.chebyshev_v,
    orthogonal_polynomials.chebyshev_w,
    orthogonal_polynomials.laguerre,
    orthogonal_polynomials.legendre,
]


@pytest.mark.parametrize("function", POLYNOMIALS, ids=lambda function: function.__name__)
def test_polynomials_of_one_degree_agree(device, function):
    x = numpy.array([-1.4, -1.0001, -1.0, -0.99, -0.2, 0.0, 0.5, 1.0, 1.01, 2.0, math.nan])
    for degree in DEGREES:
        here = orthogonal_polynomials.evaluated(numpy, function, "polynomial", x, degree)
        there = orthogonal_polynomials.evaluated(device, function, "polynomial", x, degree)
        numpy.testing.assert_allclose(there, here, rtol=1e-10, atol=1e-12, err_msg=str(degree))


@pytest.mark.parametrize("function", POLYNOMIALS[:4], ids=lambda function: function.__name__)
def test_chebyshev_polynomials_of_each_points_degree_agree(device, function):
    x, degree = numpy.meshgrid([-1.4, -1.0, -0.2, 0.0, 0.5, 1.0, 1.01], DEGREES)
    device.max = None  # the largest degree is not asked for
    there = orthogonal_polynomials.evaluated(device, function, "polynomial", x, degree)
    numpy.testing.assert_allclose(
        there, orthogonal_polynomials.evaluated(numpy, function, "polynomial", x, degree), rtol=1e-10, atol=1e-12
    )


INTEGERS = numpy.array([-7, -6, 0, 5, 2**60 + 3, -(2**62)])
FLOATS = numpy.array([1.0, -1.0, 0.3, 5.3, -7.5, 0.0, -0.0, 6.0, math.inf, math.nan])
DIVISORS = {"i": numpy.array([3, -3, 7, 2, 10, 2**40 + 1]), "f": [0.1, -0.1, 2.0, -2.0, 0.0, math.inf, -math.inf]}


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "divide_trunc"])
@pytest.mark.parametrize("kind", "if")
def test_quotients_and_remainders_are_exact_on_libraries_with_those_of_c(device, name, kind):
    x, y = numpy.meshgrid(INTEGERS if kind == "i" else FLOATS, DIVISORS[kind])
    kernel = getattr(pointwise, name).declaration.generic
    here, there = kernel(numpy, x, y), kernel(device, x, y)
    numpy.testing.assert_array_equal(there, here)
    numpy.testing.assert_array_equal(numpy.signbit(there), numpy.signbit(here))


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "divide_trunc"])
def test_a_number_that_is_zero_divides_no_integers(device, name):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        getattr(pointwise, name).declaration.generic(device, INTEGERS, 0)


def test_powers_of_integers_agree(device):
    base, exponent = numpy.meshgrid([-3, -1, 0, 1, 2], [-2, -1, 0, 1, 3])
    kernel = pointwise.power.declaration.generic
    for x, y in ((base, exponent), (2, exponent), (base, 3)):
        numpy.testing.assert_array_equal(kernel(device, x, y), kernel(numpy, x, y))


def test_negative_powers_of_complex_zero_are_infinite(device):
    kernel = pointwise.power.declaration.generic
    x, y = numpy.meshgrid(numpy.array([0, 1j, 2 - 1j]), numpy.array([-1.5, 0, 2 + 1j]))
    numpy.testing.assert_array_equal(kernel(device, x, y), kernel(numpy, x, y))
    assert numpy.isinf(abs(kernel(device, x, -3)[0, 0]))
