"""Special functions, windows and evenly spaced numbers on the device: the CPU's values, without a wait or an upload."""

import math
from functools import partial

import pytest

import weft
from weft.testing import assert_close

POINTS = [-20.5, -3.7, -1.0, -0.3, -0.0, 0.0, 1e-9, 0.45, 1.0, 2.2, 12.0, 300.0, math.inf, -math.inf, math.nan]
UNARY = [
    *("erf", "erfc", "erfinv", "lgamma", "digamma", "i0"),
    *(f"special.{name}" for name in ("erfcx", "ndtr", "ndtri", "log_ndtr", "i0e", "i1", "i1e", "entr", "airy_ai")),
    *(f"special.{name}" for name in ("bessel_j0", "bessel_y1", "spherical_bessel_j0", "modified_bessel_k0")),
    *(f"special.scaled_modified_bessel_k{order}" for order in (0, 1)),
]
SPACED = {
    "arange": lambda **options: weft.arange(7, **options),
    "linspace": lambda **options: weft.linspace(-1, 2, 7, **options),
    "logspace": lambda **options: weft.logspace(-1, 2, 7, **options),
    "hann_window": lambda **options: weft.hann_window(9, **options),
    "kaiser_window": lambda **options: weft.kaiser_window(9, **options),
    "gaussian": lambda **options: weft.signal.windows.gaussian(9, **options),
    "cosine": lambda **options: weft.signal.windows.cosine(9, **options),
    "exponential": lambda **options: weft.signal.windows.exponential(9, **options),
    "nuttall": lambda **options: weft.signal.windows.nuttall(9, **options),
}


def found(name):
    module, _, function = name.rpartition(".")
    return getattr(weft.special if module else weft, function)


@pytest.fixture
def events():
    """What is waited for and sent by a call."""
    cupy_stand_in = pytest.importorskip("cupy_stand_in")

    def run(call):
        call()  # what is kept on the device is sent once
        with cupy_stand_in.record() as log:
            call()
        return [event for event in log if event.kind in ("wait", "upload")]

    return run


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16], ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_special_functions_agree(name, dtype, on_stand_in, events):
    x, function = weft.tensor(POINTS, dtype=dtype), found(name)
    there = x.cuda()
    assert events(lambda: function(there)) == []
    here = function(x)
    rtol = {weft.float32: 1e-4, weft.float64: 1e-12, weft.bfloat16: 1e-2}[dtype]
    assert_close(function(there).cpu(), here, rtol=rtol, atol=rtol * 1e-2, equal_nan=True)
    assert function(there).dtype == here.dtype


@pytest.mark.parametrize("n", [0, 1, 2, 5, 40])
def test_polygamma_agrees(n, on_stand_in, events):
    x = weft.tensor(POINTS[1:12], dtype=weft.float64)
    there = x.cuda()
    assert_close(weft.polygamma(n, there).cpu(), weft.polygamma(n, x), rtol=1e-8, atol=0, equal_nan=True)
    assert events(lambda: weft.polygamma(n, there)) == []


POLYNOMIALS = ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]
POLYNOMIALS += [f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"]


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16], ids=str)
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_degrees_on_the_device_agree(name, dtype, on_stand_in, events):
    function, x = getattr(weft.special, name), weft.tensor(POINTS, dtype=dtype).unsqueeze(1)
    n = weft.tensor([-1, 0, 1, 2, 3, 7, 20, 128, 129, 600], dtype=weft.int64)
    numbers = ((x, degree) for degree in n.tolist())
    for points, degrees in ((x, n), (x.mT, n.unsqueeze(1)), (x.expand(-1, len(n)), n), (0.3, n), *numbers):
        given = [each.cuda() if isinstance(each, weft.Tensor) else each for each in (points, degrees)]
        here, there = function(points, degrees), function(*given)
        rtol = {weft.float32: 1e-3, weft.float64: 1e-9, weft.bfloat16: 1e-2}[here.dtype]
        atol = 1e-11 if here.dtype == weft.float64 else 3e-4  # 600 times an angle, twice rounded
        assert_close(there.cpu(), here, rtol=rtol, atol=atol, equal_nan=True)
        assert events(partial(function, *given)) == []


def test_a_degree_of_too_many_steps_is_reported():
    x, n = weft.tensor([0.5, 1.0], device="cuda"), weft.tensor([100_001, 10**12], device="cuda")
    assert weft.special.legendre_polynomial_p(x[1:], n[1:]).item() == 1  # needs no step
    with pytest.raises(RuntimeError, match="legendre_polynomial_p: a degree takes more than 100000 steps"):
        weft.special.legendre_polynomial_p(x, n).cpu()


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64], ids=str)
@pytest.mark.parametrize("name", SPACED)
def test_windows_and_spaced_numbers_are_computed_there(name, dtype, on_stand_in, events):
    make = SPACED[name]
    assert_close(make(dtype=dtype, device="cuda").cpu(), make(dtype=dtype), rtol=1e-7, atol=1e-15)
    assert events(lambda: make(dtype=dtype, device="cuda")) == []


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_integers_divided_by_zero_raise_no_error_there(name, on_stand_in, events):
    x, y = weft.tensor([7, -7], device="cuda"), weft.tensor([0, 2], device="cuda")
    assert events(lambda: getattr(weft, name)(x, y)) == []
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        getattr(weft, name)(x, 0)
