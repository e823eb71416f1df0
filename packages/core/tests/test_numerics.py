"""What kernels are written with where an array library lacks what NumPy has."""

from types import SimpleNamespace

import numpy
import pytest

from weft.ops._numerics import fold, peaks, scan, select


class Elementwise:
    """A ufunc of a library that has no ``reduce`` and no ``accumulate`` of it, and no ``where``."""

    def __init__(self, ufunc):
        self.ufunc = ufunc

    def __call__(self, first, second, out=None):
        return self.ufunc(first, second, out=out)


def extreme(ufunc):
    def function(input, axis=None, keepdims=False):
        return ufunc.reduce(input, axis=axis, keepdims=keepdims)

    return function


UFUNCS = ("maximum", "minimum", "logaddexp", "bitwise_xor", "bitwise_and", "bitwise_or")
BARE = SimpleNamespace(
    **{name: Elementwise(getattr(numpy, name)) for name in UFUNCS},
    **{name: getattr(numpy, name) for name in ("moveaxis", "empty", "ascontiguousarray", "full", "inf")},
    max=extreme(numpy.maximum),
    min=extreme(numpy.minimum),
)
NAMESPACES = {"numpy": numpy, "bare": BARE}


class Foreign(numpy.ndarray):
    """An array that is not NumPy's own."""


@pytest.fixture(params=NAMESPACES)
def xp(request):
    return NAMESPACES[request.param]


def values(name, shape):
    generator = numpy.random.default_rng(7)
    if name.startswith("bitwise"):
        return generator.integers(-100, 100, shape)
    return generator.normal(size=shape).astype("float32")


SHAPES = [((1,), 0), ((5,), 0), ((8,), -1), ((0,), 0), ((3, 0), 0), ((7, 3), 0), ((3, 7), 1), ((2, 33, 3), 1)]


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_scan_agrees_with_the_ufuncs_accumulate(xp, name, shape, axis):
    input = values(name, shape)
    before = input.copy()
    found = scan(xp, getattr(xp, name), input, axis)
    expected = getattr(numpy, name).accumulate(input, axis=axis)
    numpy.testing.assert_allclose(found, expected, rtol=1e-6)
    numpy.testing.assert_array_equal(input, before)
    assert found.flags.c_contiguous and not numpy.may_share_memory(found, input)
    assert found.dtype == expected.dtype


def test_scan_keeps_nan_and_infinities(xp):
    input = numpy.array([-numpy.inf, 1.0, numpy.nan, 2.0, numpy.inf])
    numpy.testing.assert_array_equal(scan(xp, xp.maximum, input, 0), [-numpy.inf, 1, *[numpy.nan] * 3])


def test_scan_of_a_strided_array(xp):
    input = values("maximum", (6, 8))[::2, ::-3]
    numpy.testing.assert_array_equal(scan(xp, xp.maximum, input, 1), numpy.maximum.accumulate(input, axis=1))


def test_scan_takes_the_earlier_elements_first():
    def second(before, after, out):
        out[...] = before

    numpy.testing.assert_array_equal(scan(BARE, second, numpy.arange(9), 0), numpy.zeros(9))


FOLDED = [
    ((1,), 0),
    ((5,), None),
    ((8,), -1),
    ((7, 3), 0),
    ((3, 7), 1),
    ((2, 33, 3), (0, 1)),
    ((2, 3, 5), None),
    ((), None),
]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["bitwise_xor", "bitwise_and", "bitwise_or"])
@pytest.mark.parametrize(("shape", "axis"), [*FOLDED, ((0, 3), 1), ((2, 3, 5), (2, 0))], ids=str)
def test_fold_agrees_with_the_ufuncs_reduce(xp, name, shape, axis, keepdims):
    input = values(name, shape)
    before = numpy.array(input)
    found = fold(xp, getattr(xp, name), numpy.asarray(input), axis, keepdims)
    numpy.testing.assert_array_equal(found, getattr(numpy, name).reduce(input, axis=axis, keepdims=keepdims))
    numpy.testing.assert_array_equal(input, before)


@pytest.mark.parametrize("least", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((3, 4), 0), ((3, 4), -1), ((3, 4), (0, 1)), ((3, 4), None), ((0, 4), 0), ((0, 4), 1), ((0,), None)],
)
def test_peaks_are_infinite_where_there_are_none(xp, shape, axis, least):
    input = values("maximum", shape)
    ufunc, first = (numpy.minimum, numpy.inf) if least else (numpy.maximum, -numpy.inf)
    expected = ufunc.reduce(input, axis=axis, keepdims=True, initial=first)
    found = peaks(xp, input.view(Foreign) if xp is BARE else input, axis, least)
    numpy.testing.assert_array_equal(found, expected)
    assert found.dtype == input.dtype


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex64"])
def test_a_choice_has_the_dtype_that_is_asked_for(dtype):
    class Widening:
        """Makes int64 of small integers, as some libraries' where does of what it has no loop for."""

        def where(self, condition, first, second):
            return numpy.where(condition, first, second).astype(numpy.result_type(numpy.asarray(second), "int64"))

    condition, second = numpy.array([True, False]), numpy.array([0, 1], dtype)
    for xp in (numpy, Widening()):
        found = select(xp, condition, second[1:], second, second.dtype)
        assert found.dtype == dtype and found.tolist() == [1, 1]
