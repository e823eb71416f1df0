"""The compiled functions agree with the ops' own kernels, on all layouts and at the ends of their ranges."""

import math

import numpy as np
import pytest

import weft
from weft.backend_cpu import compiled, libraries
from weft.ops._registry import registry
from weft.ops.gamma_functions import polygamma_op

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")

RANDOM = np.random.default_rng(0)
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 30.0, -30.0, 1e30]

ONE = (
    "sign sgn angle frac exp2 erf erfc erfinv lgamma digamma sin cos nan_to_num "
    "special.erfcx special.ndtr special.log_ndtr special.entr i0 special.i0e special.i1 special.i1e rad2deg"
).split()
TWO = "copysign nextafter hypot logaddexp logaddexp2 xlogy special.xlog1py fmod remainder floor_divide".split()


def named(name):
    found = weft
    for part in name.split("."):
        found = getattr(found, part)
    return found


def own_kernel(name):
    """The op's kernel on NumPy."""
    generic = named(name).op.declaration.generic
    return getattr(np, generic) if isinstance(generic, str) else lambda *args: generic(np, *args)


def numbers(element, size=3000):
    wide = 10.0 ** RANDOM.uniform(-20, 20, size) * RANDOM.choice([-1, 1], size)
    return np.concatenate([EDGES, RANDOM.normal(size=size) * 2, RANDOM.uniform(-20, 20, size), wide]).astype(element)


def assert_close(found, expected, within):
    """Equal but for so many units in the last place, of the number or of 1, if it is near a zero of the function."""
    assert found.dtype == expected.dtype
    unit = np.finfo(found.dtype).eps
    np.testing.assert_allclose(found, expected, rtol=within * unit, atol=within * unit / 4)


@pytest.mark.parametrize("element", ["float16", "bfloat16"])
def test_the_neighbours_of_halves_are_halves(element):
    x = weft.linspace(-3, 3, 9000).to(getattr(weft, element))
    above, below = weft.nextafter(x, weft.full_like(x, 4)), weft.nextafter(x, weft.full_like(x, -4))
    assert bool((below < x).all()) and bool((x < above).all())
    assert weft.equal(weft.nextafter(above, below), x)


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("name", ONE)
def test_a_function_of_one_number_is_that_of_its_own_kernel(name, element):
    x = numbers(element)
    extra = (None, *[limit * float(np.finfo(element).max) for limit in (1, -1)]) if name == "nan_to_num" else ()
    with np.errstate(all="ignore"):
        expected = own_kernel(name)(x, *extra)
    within = 2000 if name in ("lgamma", "digamma") and element == "float64" else 16  # beside zeros and poles
    assert_close(named(name)(weft.from_numpy(x)).numpy(), expected.astype(element), within)
    columns = weft.from_numpy(np.ascontiguousarray(x.reshape(4, -1).T))
    assert_close(named(name)(columns.t()).numpy(), expected.astype(element).reshape(4, -1), within)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sines_of_large_angles_are_right_to_two_units_in_the_last_place(name):
    near = np.arange(-5000, 5000) * (math.pi / 2)  # where the result is next to nothing, or to one
    x = np.concatenate([near, RANDOM.uniform(-1e9, 1e9, 5000), 10 ** RANDOM.uniform(-40, 38, 5000)]).astype("float32")
    expected = getattr(np, name)(x.astype("float64"))
    found = getattr(weft, name)(weft.from_numpy(x)).numpy()
    assert (np.abs(found - expected) <= 2 * np.spacing(np.abs(expected).astype("float32"))).all()


@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize("name", TWO)
def test_a_function_of_two_numbers_is_that_of_its_own_kernel(name, element):
    x = numbers(element)
    near = (x * RANDOM.integers(1, 9, x.size) / 3).astype(element)
    for y in (RANDOM.permutation(x), near, x[:1]):
        with np.errstate(all="ignore"):
            expected = own_kernel(name)(x, y).astype(element)
        found = named(name)(weft.from_numpy(x), weft.from_numpy(y)).numpy()
        assert_close(found, expected, 16)


@pytest.mark.parametrize("element", ["int32", "int64"])
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_integers_are_divided_exactly(name, element):
    limits = np.iinfo(element)
    x = RANDOM.integers(limits.min, limits.max, 3000, dtype=element) >> RANDOM.integers(0, limits.bits - 1, 3000)
    x = np.concatenate([x, [limits.min, limits.max, limits.min, limits.max, 0, -1]]).astype(element)
    y = RANDOM.permutation(x)
    y[y == 0] = 1
    y[-6:] = [-1, -1, limits.min, limits.min, limits.max, limits.max]
    function = {"floor_divide": np.floor_divide, "remainder": np.remainder, "fmod": np.fmod}[name]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(named(name)(weft.from_numpy(x), weft.from_numpy(y)).numpy(), function(x, y))
        np.testing.assert_array_equal(named(name)(weft.from_numpy(x), 7).numpy(), function(x, np.asarray(7, element)))


def test_integers_are_divided_towards_zero():
    x, y = RANDOM.integers(-(1 << 62), 1 << 62, 3000), RANDOM.integers(1, 1000, 3000) * RANDOM.choice([-1, 1], 3000)
    found = weft.div(weft.from_numpy(x), weft.from_numpy(y), rounding_mode="trunc").tolist()
    assert found == [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x.tolist(), y.tolist())]


def test_an_integer_is_not_divided_by_zero():
    x = weft.ones(3000, dtype=weft.int64)
    for function in (weft.floor_divide, weft.remainder, weft.fmod):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            function(x, x * 0)


@pytest.mark.parametrize("element", ["int32", "int64"])
def test_bits_that_are_shifted_out_are_gone(element):
    x = RANDOM.integers(-1000, 1000, 3000).astype(element)
    bits = x.itemsize * 8
    by = RANDOM.integers(-3, bits + 3, 3000).astype(element)
    gone = (by < 0) | (by >= bits)
    kept = np.where(gone, 0, by).astype(element)
    left, right = (
        f(weft.from_numpy(x), weft.from_numpy(by)) for f in (weft.bitwise_left_shift, weft.bitwise_right_shift)
    )
    np.testing.assert_array_equal(left.numpy(), np.where(gone, 0, x << kept))
    np.testing.assert_array_equal(right.numpy(), np.where(gone, np.where(x < 0, -1, 0), x >> kept))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_polygamma_is_that_of_its_own_kernel(n):
    x = numbers("float32")
    with np.errstate(all="ignore"):
        expected = polygamma_op.declaration.generic(np, x, n)
    assert_close(weft.polygamma(n, weft.from_numpy(x)).numpy(), expected, 16)


def test_bfloat16_is_computed_in_float32():
    x = weft.from_numpy(numbers("float32")).bfloat16()
    assert weft.equal(weft.erfc(x).nan_to_num(), weft.erfc(x.float()).bfloat16().nan_to_num())
    assert weft.equal(weft.lgamma(x).nan_to_num(), weft.lgamma(x.float()).bfloat16().nan_to_num())


@pytest.mark.parametrize("element", ["float32", "float64"])
def test_complex_numbers_have_their_parts(element):
    x, y = numbers(element), RANDOM.permutation(numbers(element))
    found = weft.complex(weft.from_numpy(x), weft.from_numpy(y)).numpy()
    np.testing.assert_array_equal(found.real, x)
    np.testing.assert_array_equal(found.imag, y)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sines_of_float32_are_right_beside_right_angles_and_beyond_the_formula(name):
    random = np.random.default_rng(0)
    angles = np.concatenate([np.arange(-2000, 2000) * np.pi / 2, np.arange(60_000, 65_000) * np.pi / 2])
    edges = [0.0, -0.0, np.inf, np.nan, 1e-40, 99_999.0, 1e5, 3e7, 1e30]
    x = np.concatenate([angles, random.uniform(-1e5, 1e5, 9000), edges]).astype(np.float32)
    with np.errstate(invalid="ignore"):
        exact = getattr(np, name)(x.astype(float))
    for found in (getattr(weft.from_numpy(x), name)(), getattr(weft.from_numpy(np.repeat(x, 2)[::2]), name)()):
        np.testing.assert_allclose(found.numpy(), exact, rtol=2.5e-7, atol=0)
    in_place = weft.from_numpy(x.copy())
    getattr(in_place, f"{name}_")()
    assert np.array_equal(in_place.numpy(), found.numpy(), equal_nan=True)
    assert np.signbit(weft.from_numpy(x[-9:]).sin().numpy())[:2].tolist() == [False, True]


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64], ids=str)
def test_every_function_of_large_arrays_writes_into_its_own(dtype):
    names = [name for name in dir(weft.Tensor) if name.endswith("_") and not name.startswith("_")]
    x, written = weft.rand(3000, dtype=dtype).mul_(0.9).add_(0.05), 0
    x[7] = 1e6  # beyond some formulas, which leave it to NumPy
    for name in names:
        compute = getattr(weft.Tensor, name.removesuffix("_"), None)
        declaration = registry.get(f"core::{name.removesuffix('_')}")
        if compute is None or declaration is None or not declaration.is_ufunc or len(declaration.arguments) != 1:
            continue
        if 2 not in declaration.dtypes:  # floating-point numbers
            continue
        expected, place = compute(x), x.clone()
        if expected.dtype is dtype:
            assert getattr(place, name)() is place
            weft.testing.assert_close(place, expected, equal_nan=True)
            written += 1
    assert written > 20
