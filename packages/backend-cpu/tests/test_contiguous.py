"""Elementwise kernels on contiguous and broadcast layouts, which need no plan, against NumPy's functions."""

import numpy as np
import pytest

import weft
from weft.backend_cpu import compiled, libraries

if compiled not in libraries.available():
    pytest.skip("needs Numba", allow_module_level=True)
from weft.backend_cpu.compiled.codegen import contiguous, elementwise

RANDOM = np.random.default_rng(0)


def array(shape, element="float32"):
    return np.array(RANDOM.standard_normal(shape) * 8).astype(element)


def unreachable(args):
    raise AssertionError(f"no layout has been found for {[getattr(each, 'shape', each) for each in args]}")


def kernel(name, formula, element=None, fallback=unreachable, operands=list):
    key = elementwise.scalar_function(f"test::{name}", formula)
    return contiguous.contiguous_kernel(key, formula.__code__.co_argcount, element, 1, operands, fallback)


@pytest.mark.parametrize("element", ["float32", "float64", "int32"])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((300, 70), (300, 70)),
        ((70, 300), (300,)),
        ((70, 300), (1, 300)),
        ((70, 300), (70, 1)),
        ((2, 3, 40, 40), (3, 1, 1)),
        ((2, 3, 40, 40), (2, 3, 1, 1)),
        ((2, 3, 40, 40), (3, 40, 40)),
        ((2, 3, 40, 40), (1, 3, 40, 1)),
        ((2, 1, 40, 40), (1, 40, 40)),
        ((40, 40), ()),
        ((40, 40), (1, 1)),
        ((100_000,), (1,)),
        ((), ()),
    ],
)
def test_a_second_operand_is_repeated(left, right, element):
    subtract = kernel("sub", lambda a, b: a - b)
    a, b = array(left, element), array(right, element)
    np.testing.assert_array_equal(subtract(a, b), np.asarray(a - b), strict=True)
    written, before = a.copy(), a.copy()
    assert subtract(written, b, written) is written
    np.testing.assert_array_equal(written, before - b)


def test_arrays_without_gaps_that_lie_alike_are_one_line():
    subtract = kernel("sub", lambda a, b: a - b)
    a, b = (array((4, 6, 10, 5)).transpose(0, 3, 1, 2) for _ in range(2))
    made = subtract(a, b)
    assert made.strides == a.strides
    np.testing.assert_array_equal(made, a - b)


def test_numbers_stand_before_and_behind():
    subtract, mix = kernel("sub", lambda a, b: a - b), kernel("mix", lambda a, b, c, s: a + s * (b - c))
    a, b, c = (array((50, 50), "float64") for _ in range(3))
    np.testing.assert_array_equal(subtract(a, 2.5), a - 2.5)
    np.testing.assert_array_equal(subtract(2.5, a), 2.5 - a)
    np.testing.assert_allclose(mix(a, b, c, 0.25), a + 0.25 * (b - c))


def test_dtypes_differ_between_operands_and_result():
    choose = kernel("where", lambda a, b, c: b if a else c)
    less = kernel("lt", lambda a, b: a < b, np.dtype(bool))
    a, b = array((50, 50)), array((50, 50))
    np.testing.assert_array_equal(less(a, b), a < b, strict=True)
    np.testing.assert_array_equal(choose(a > 0, a, b), np.where(a > 0, a, b), strict=True)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (array((40, 40)), array((2, 40, 40))),  # the result is larger
        (array((40, 1)), array((1, 40))),
        (array((40, 40)), array((40, 40)).T),
        (array((40, 80))[:, ::2], array((40, 80))[:, ::2]),
        (array((40, 40))[::-1], array((40, 40))[::-1]),
        (np.broadcast_to(array((40,)), (40, 40)), array((40, 40))),
        (array((9_000, 3)), array((3,))),  # lines so short that a plan does better
        (array((0, 40)), array((0, 40))),
        (array((40, 40)), array((40, 40), "float64")),
    ],
    ids=range(9),
)
def test_other_layouts_are_left_to_the_fallback(a, b):
    subtract = kernel("sub", lambda a, b: a - b, fallback=len)
    subtract(array((4, 4)), array((4, 4)))  # from now on it takes float32
    assert subtract(a, b) == 2


def test_an_array_that_may_not_be_written_or_is_read_later_is_left_to_the_fallback():
    subtract, memory = kernel("sub", lambda a, b: a - b, fallback=len), array((2000,))
    for out, b in ((memory[1:], memory[:-1]), (memory[:-1], memory[1:]), (memory[:1600].reshape(40, 40), memory[:40])):
        assert subtract(out, b, out) == 3
    apart = memory[:1000].copy(), memory[1000:].copy()
    out = memory[:1000]
    assert subtract(out, memory[1000:], out) is out
    np.testing.assert_array_equal(memory[:1000], apart[0] - apart[1])
    memory.setflags(write=False)
    assert subtract(memory, memory, memory) == 3


def test_what_an_operation_does_not_take_is_never_launched():
    times = kernel("mul", lambda a, b: a * b, fallback=len, operands=lambda given: None)
    assert times(array((4, 4)), array((4, 4))) == 2
    assert times(array((4, 4)), array((4, 4))) == 2


@pytest.mark.parametrize("element", ["float16", "bfloat16"])
def test_halves_are_compared_with_a_number_as_they_have_it(element):
    x = weft.full((100, 100), 0.1).to(getattr(weft, element))
    assert not (x > 0.5).any()
    assert (x == 0.1).all()
    assert (x >= 0.1).all()


@pytest.mark.parametrize("element", ["bool", "uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize("other", ["bool", "float32", "float64", "int64"])
@pytest.mark.parametrize("shape", [(5000,), (70, 80)])
def test_operands_of_other_item_sizes_may_have_the_same_strides_in_bytes(shape, other, element):
    def alternative(args):
        return np.where(args[0] > 0, args[1], args[2])

    choose = kernel("choose", lambda a, b, c: b if a > 0 else c, None, alternative)
    for step in (1, 2, 3, 4, 5, 8, 16):
        lies = array((*shape[:-1], shape[-1] * step), element)[..., ::step]
        for second in (array(shape, other), array((*shape[:-1], shape[-1] * step), other)[..., ::step]):
            third = array(shape, other)
            for first in (lies, lies.T.copy().T, lies[..., ::-1]):
                np.testing.assert_array_equal(choose(first, second, third), alternative((first, second, third)))
