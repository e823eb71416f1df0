"""Formulas: one function of an element gives the kernel of arrays, of every layout, dtype and shape."""

import math

import numpy as np
import pytest

import weft
from weft import Tensor
from weft.library import op, pointwise
from weft.library.formulas import Formula, exp, expm1, formula_of, log1pexp, maximum, minimum, sigmoid, where
from weft.ops._formula_kernels import BLOCK, MIN_BLOCKED

SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, -1e-40, 3e38, -3e38, 1.0, -1.0]


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def formula(function, arrays="x", choices="", broadcasts=False):
    return Formula(f"test::{function.__name__}", function, arrays.split(), choices.split(), broadcasts)


def capped(x, limit, scale):
    return where((x > limit) | (x != x), x, expm1(minimum(0, x) * scale) * (2 * scale))


def by_numpy(x, limit, scale):
    return np.where((x > limit) | (x != x), x, np.expm1(np.minimum(0, x) * scale) * x.dtype.type(2 * scale))


def numbers(size, dtype="float32"):
    values = 3 * np.random.default_rng(0).normal(size=size)
    values.flat[: len(SPECIAL)] = SPECIAL[: values.size]
    return values.astype(dtype)


def same(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("scale", [1, 0.7])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("size", [11, 100, MIN_BLOCKED, BLOCK + 1, 3 * BLOCK + 7])
def test_the_kernel_computes_what_numpy_does(size, dtype, scale):
    x = numbers(size, dtype)
    kernel = formula(capped).kernel(np, x.dtype)
    same(kernel(x, 0.0, scale), by_numpy(x, 0.0, scale))


@pytest.mark.parametrize("size", [600, 6000, 60000])
def test_results_lie_in_memory_as_the_last_array(size):
    function = formula(lambda grad, x: where(x > 0, grad, 0) * exp(x), "grad x")
    grad, x = numbers((3, 4, 5, size // 60)), numbers((3, 4, 5, size // 60))
    expected = function(np, grad, x)
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (0, 3, 1, 2)):
        last = x.transpose(order).copy().transpose(np.argsort(order))
        found = function(np, grad, last)
        assert found.strides == last.strides
        np.testing.assert_array_equal(found, expected)
    apart = x[..., ::2]
    np.testing.assert_array_equal(function(np, grad[..., ::2], apart), expected[..., ::2])


def test_arrays_without_dimensions_and_empty_ones_are_taken():
    function = formula(lambda x: maximum(x, 0) + log1pexp(-abs(x)))
    assert function(np, np.array(0.0, np.float32)) == np.float32(math.log(2))
    assert function(np, np.empty((0, 3), np.float32)).shape == (0, 3)


def test_shapes_are_broadcast_and_numbers_taken_where_the_op_does_so():
    function = formula(lambda x, weight: where(x > 0, x, weight * x), "x weight", broadcasts=True)
    x, weight = numbers((4, 5)), numbers(5)
    expected = np.where(x > 0, x, weight * x)
    np.testing.assert_array_equal(function(np, x, weight), expected)
    np.testing.assert_array_equal(function(np, x, 0.5), np.where(x > 0, x, np.float32(0.5) * x))


def test_a_formula_of_numbers_is_a_number():
    assert capped(2.0, 0.0, 1.0) == 2.0
    assert math.isclose(capped(-1.0, 0.0, 1.0), 2 * math.expm1(-1))
    assert sigmoid(0.0) == 0.5


def test_numbers_of_either_zero_are_told_apart():
    kernel = formula(lambda x, value: where(x > 0, x, value)).kernel(np, np.dtype("float32"))
    x = np.full(3, -1, np.float32)
    assert not np.signbit(kernel(x, 0.0)).any()
    assert np.signbit(kernel(x, -0.0)).all()


def test_a_number_that_a_half_does_not_have_is_compared_in_float32():
    kernel = formula(lambda x, limit: where(x <= limit, 0, x)).kernel(np, np.dtype("float16"))
    x = np.array([0.1], np.float16)  # 0.09998, which is what 0.1 is rounded to
    assert kernel(x, 0.1) == 0
    assert kernel(x, 0.09997) == x


def test_a_choice_is_made_in_python():
    function = formula(lambda x, kind, scale: x * scale if kind == "linear" else exp(x) * scale, choices="kind")
    x = numbers(50)[11:]
    np.testing.assert_array_equal(function(np, x, "linear", 2.0), 2 * x)
    np.testing.assert_array_equal(function(np, x, "exponential", 2.0), 2 * np.exp(x))
    assert [step.function for step in function.program(("linear",)).steps] == ["multiply"]


def test_a_result_that_is_an_argument_is_a_copy():
    x = numbers(20)
    found = formula(lambda x, scale: x * scale)(np, x, 1)
    np.testing.assert_array_equal(found, x)
    assert not np.shares_memory(found, x)


def test_what_compiled_code_computes_alike_is_known():
    assert formula(lambda x: maximum(0, x) / 3).is_exact
    assert not formula(lambda x: x * 3 + 1).is_exact  # a product and a sum may be rounded once
    assert not formula(lambda x: exp(x)).is_exact


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x if x > 0 else -x, "write where"),
        (lambda x: np.arctan(x), "has no 'arctan'"),
        (lambda x: 1.0, "no value for each element"),
    ],
)
def test_what_no_formula_can_be_is_said(function, message):
    with pytest.raises(TypeError, match=message):
        formula(function)(np, np.ones(3, np.float32))


def test_conditions_are_of_elements():
    with pytest.raises(TypeError, match="numbers alone"):
        formula(lambda x, limit: where(limit > 1, x, 0))(np, np.ones(3, np.float32), 2.0)


def test_arrays_come_first():
    with pytest.raises(TypeError, match="arrays first"):
        formula(lambda scale, x: x * scale)


@pytest.fixture(scope="module")
def decay():
    @op(result="same", dtypes="float", compute_dtype="float32", vmap="elementwise", namespace="formulas")
    def decay(input: Tensor, rate: float) -> Tensor:
        """``input * exp(-rate * |input|)``."""
        return decay.op(input, rate)

    @decay.formula
    def _(input, rate):
        return input * exp(-rate * abs(input))

    return decay


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16, weft.bfloat16], ids=str)
def test_an_op_is_declared_with_a_formula(decay, dtype):
    x = weft.linspace(-3, 3, 1000).to(dtype)
    wide = x.float() if dtype.is_half else x
    weft.testing.assert_close(decay(x, 0.5), (wide * (-0.5 * wide.abs()).exp()).to(dtype))
    assert formula_of("formulas::decay").parameters == ("input", "rate")


def test_a_kernel_of_its_own_takes_the_place_of_the_formulas(decay):
    @decay.kernel
    def _(xp, input, rate):
        return xp.zeros_like(input)

    key = weft.ones(3)._key  # without what the backend compiles of the formula
    kernel, _ = decay.declaration.prepare(key, own=False)
    assert kernel(np.ones(3, np.float32), 1.0).tolist() == [0, 0, 0]
    assert formula_of("formulas::decay") is not None


def test_a_pointwise_op_is_its_formula():
    @pointwise(result="float", dtypes="int float", formula=True, gradient=None, namespace="formulas")
    def below(input, other):
        """``input / (1 + |other|)``."""
        return input / (1 + abs(other))

    assert below(weft.tensor([1, 2]), weft.tensor([[1.0], [3.0]])).tolist() == [[0.5, 1.0], [0.25, 0.5]]
    assert below(weft.tensor([1.0, 2.0]), 1).tolist() == [0.5, 1.0]
    assert formula_of("core::add") is None and formula_of("formulas::none") is None
