"""Pointwise arithmetic and elementary functions, each with its gradient."""

from __future__ import annotations

import builtins
import functools
import math
from types import NoneType
from typing import Any

import numpy

from weft._dtypes.dtypes import INTEGER, complex128, dtype, finfo, float64, get_default_dtype, int64, result_dtype
from weft._engine import gradients
from weft._engine.dispatch import inplace_operator
from weft._engine.fast_paths import FastPath
from weft._engine.functions import Clamp
from weft._engine.tensor import TensorBase, state
from weft._tensor.base import Tensor, add_members
from weft._tensor.named_results import named
from weft.ops import _expressions as formulas
from weft.ops._declare import composite, fit_number, number_in, op, pointwise, wrap_around
from weft.ops._geometry import require_tensors
from weft.ops._numerics import array_of, is_numpy
from weft.ops.creation import factor, fitting, zeros_like
from weft.types import Number, Scalar

REAL = "bool int float"
NUMBERS = "int float complex"
LN2, LN10 = math.log(2), math.log(10)


def conj(value: Any) -> Any:
    """The conjugate of a tensor or number; a real one is itself."""
    if isinstance(value, Tensor):
        return value.conj() if value._key.is_complex else value
    return value.conjugate()


@pointwise("__add__ __radd__", "__iadd__", kernel="add", allow_scalars=True, name="add", onnx="Add")
def plus(input, other):
    """The sum of each pair of elements, as ``input + other`` computes it."""


plus.gradient("input", needs="grad")(gradients.unchanged)
plus.gradient("other", needs="grad")(gradients.unchanged)


@composite("add", "add_", out=True, inplace_op=plus)
def add(input: Tensor | Scalar, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
    """``input + alpha * other``, element by element.

    Parameters
    ----------
    input, other : Tensor or number, broadcastable to each other
    alpha : number
        Multiplies ``other``; an integer unless the result is floating or complex.

    Examples
    --------
    >>> weft.add(weft.tensor([1.0, 2.0]), weft.tensor([10.0, 20.0]), alpha=0.5)
    tensor([ 6., 12.])
    """
    fused = fused_dtype("add", input, other, alpha)
    if fused is not None:
        return run_alike(plus_scaled, input, other, in_range("add", alpha, fused))
    return plus(input, scaled("add", input, other, alpha))


@op(tensors="input other", promotes=True, result="same", compute_dtype="float32", name="add_scaled", vmap="elementwise")
def plus_scaled(input: Tensor | Scalar, other: Tensor | Scalar, alpha: Scalar) -> Tensor:
    """``input + alpha * other``, rounded once for half precision."""
    return plus_scaled.op(input, other, alpha)


@plus_scaled.kernel
def _(xp, input, other, alpha):
    return input + other * alpha


@plus_scaled.gradient("input")
def _(grad):
    return grad


@plus_scaled.gradient("other")
def _(grad, alpha):
    return grad * alpha


@plus_scaled.onnx
def _(graph, input, other, alpha):
    return graph.Add(input, graph.Mul(other, alpha))


plus_scaled.declaration.label = "AddBackward0"
plus_scaled.declaration.scalars = dict.fromkeys(("input", "other", "alpha"), "rounded")


def run_alike(function: Any, *args: Any) -> Any:
    """An op that promotes its arguments; of floating-point tensors of one kind and numbers, as they are."""
    key = args[0]._key if isinstance(args[0], TensorBase) else None
    if key is None or not key.fast_path or not key.is_real_float or state.intercepting:
        return function.op(*args)
    for each in args:
        if each._key is not key if isinstance(each, TensorBase) else type(each) not in (float, int, NoneType):
            return function.op(*args)
    return function.op.execute(args)


def fused_dtype(name: str, input: Any, other: Any, alpha: Any) -> dtype | None:
    """The dtype of a sum with ``alpha`` that is one op, with a number that is not 1; None if it is none.

    Such are those of floating-point tensors of one dtype, and all in half precision, where products are not rounded.
    """
    if type(alpha) not in (int, float) or alpha == 1:
        return None
    some = input if isinstance(input, TensorBase) else other
    if not isinstance(some, TensorBase):
        return None
    if isinstance(other, TensorBase) and other._key is some._key:
        return some._key.dtype if some._key.is_real_float else None
    common = result_dtype((input, other), name)
    return common if common.is_half else None


def scaled(name: str, input: Any, other: Any, alpha: Any) -> Any:
    """``alpha * other``, if that does not change the category of the result's dtype."""
    if type(alpha) is int and alpha == 1:
        return other
    common = result_dtype((input, other), name)
    if isinstance(alpha, TensorBase):
        if alpha._array.ndim:
            raise TypeError(f"{name}(): argument 'alpha' must be Number, not a {alpha._array.ndim}-D Tensor")
        alpha = number_in(name, alpha, "alpha")
    check_factor(name, "alpha", alpha, common)
    if common.name == "bool":
        alpha = fit_number(name, alpha, common)
        return other * alpha if isinstance(other, TensorBase) else bool(other and alpha)
    if not isinstance(other, TensorBase):
        product = fit_number(name, other, common) * in_range(name, alpha, common)
        return wrap_around(product, common) if common.category == INTEGER else product
    if isinstance(other, TensorBase) and other._key.dtype is not common:
        other = other.to(common)  # type: ignore[attr-defined]  # else the product would be rounded to a narrower one
    return other * in_range(name, alpha, common)


def check_factor(name: str, argument: str, value: Any, element: dtype) -> None:
    """A factor does not change the category of a result's dtype.

    Raises
    ------
    RuntimeError
        If it would.
    """
    if isinstance(value, bool) and element.name != "bool":
        raise RuntimeError(f"{name}: Boolean {argument} only supported for Boolean results; got a result of {element}")
    if isinstance(value, float) and element.category < 2:
        raise RuntimeError(
            f"{name}: For integral input tensors, argument {argument} must not be a floating point number"
        )
    if isinstance(value, complex) and element.category < 3:
        raise RuntimeError(f"{name}: For non-complex input tensors, argument {argument} must not be a complex number")


def in_range(name: str, value: Any, element: Any) -> Any:
    """A number that a dtype has, as most are seen to be at once.

    Raises
    ------
    RuntimeError
        If it is too large, or complex where the dtype is real.
    """
    if type(value) in (int, float) and -127 <= value <= 127:
        return value
    return fitting(name, value, element)


@pointwise(
    "mul multiply __mul__ __rmul__",
    "mul_ multiply_ __imul__",
    kernel="multiply",
    allow_scalars=True,
    scalars="float32",
    onnx="Mul",
)
def mul(input, other):
    """The product of each pair of elements.

    Parameters
    ----------
    input, other : Tensor or number, broadcastable to each other

    Examples
    --------
    >>> weft.mul(weft.tensor([[1.0], [2.0]]), weft.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """


mul.gradient("input", needs="grad other")(gradients.product)
mul.gradient("other", needs="grad input")(gradients.product)


# The difference, quotients and remainders


@pointwise(
    "__sub__ __rsub__",
    "__isub__",
    kernel="subtract",
    dtypes=NUMBERS,
    strict=True,
    allow_scalars=True,
    error_type=RuntimeError,
    name="sub",
    error_hint="Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
    "operator instead. Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert "
    "a mask, use the `~` or `logical_not()` operator instead.",
    onnx="Sub",
)
def minus(input, other):
    """The difference of each pair of elements, as ``input - other`` computes it."""


minus.gradient("input", needs="grad")(gradients.unchanged)


@minus.gradient("other")
def _(grad):
    return -grad


multiply = mul


@composite("sub subtract", "sub_ subtract_", out=True, inplace_op=minus)
def sub(input: Tensor | Scalar, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
    """``input - alpha * other``, element by element.

    Parameters
    ----------
    input, other : Tensor or number, broadcastable to each other
    alpha : number
        Multiplies ``other``; an integer unless the result is floating or complex.

    Raises
    ------
    RuntimeError
        For bool tensors.

    Examples
    --------
    >>> weft.sub(weft.tensor([5.0, 7.0]), 2)
    tensor([3., 5.])
    """
    if type(alpha) is not int or alpha != 1:  # else `minus` looks itself
        minus.declaration.check_operands([input, other])
    fused = fused_dtype("sub", input, other, alpha)
    if fused is not None:
        return run_alike(plus_scaled, input, other, -in_range("sub", alpha, fused))
    return minus(input, scaled("sub", input, other, alpha))


subtract = sub


@composite()
def rsub(input: Tensor, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
    """``other - alpha * input``, element by element.

    Parameters
    ----------
    input : Tensor
    other : Tensor or number, broadcastable with input
    alpha : number
        Multiplies ``input``; an integer unless the result is floating or complex.

    Examples
    --------
    >>> weft.rsub(weft.tensor([0.25, 0.5]), 1)
    tensor([0.7500, 0.5000])
    """
    require_tensors("rsub", input=input)
    minus.declaration.check_operands([input, other])
    return minus(other, scaled("rsub", other, input, alpha))


@pointwise(
    "true_divide __truediv__ __rtruediv__",
    "__itruediv__ true_divide_",
    kernel="true_divide",
    result="float",
    allow_scalars=True,
    scalars="float32",
    name="div",
    onnx="Div",
)
def true_divide(input, other):
    """The quotient of each pair of elements; integers are divided as floating-point numbers.

    Parameters
    ----------
    input, other : Tensor or number, broadcastable to each other

    Examples
    --------
    >>> weft.true_divide(weft.tensor([3, 4]), 2)
    tensor([1.5000, 2.0000])
    """


@true_divide.gradient("input")
def _(grad, other):
    return grad / conj(other)


@true_divide.gradient("other")
def _(grad, input, other):
    return -grad * conj(input / other / other)  # of the quotient again: programs write to what a division returns


true_divide.is_public = True  # although its op has another name


def _divided_by(self: Tensor, other: Tensor | Scalar) -> Tensor:
    """``other / self`` of a number, as PyTorch rounds it: in about a quarter of cases not as a division would.

    Overrides see ``Tensor.__rdiv__``, the name that Python 2 had for ``__rtruediv__``.
    """
    return self.reciprocal() * other


add_members(__rdiv__=_divided_by)


@composite("div divide", "div_ divide_", out=True, inplace_op=true_divide)
def div(input: Tensor | Scalar, other: Tensor | Scalar, *, rounding_mode: str | None = None) -> Tensor:
    """The quotient of each pair of elements.

    Parameters
    ----------
    input, other : Tensor or number, broadcastable to each other
    rounding_mode : None, "trunc" or "floor"
        None divides as `true_divide`; the others round towards zero or down and keep integers.

    Raises
    ------
    RuntimeError
        For another rounding mode, or an integer divided by 0.

    Examples
    --------
    >>> x = weft.tensor([-7, 7])
    >>> weft.div(x, 2, rounding_mode="trunc")
    tensor([-3,  3])
    >>> weft.div(x, 2, rounding_mode="floor")
    tensor([-4,  3])
    """
    if rounding_mode is None:
        return true_divide(input, other)
    if rounding_mode == "trunc":
        if are_halves(input, other):  # whose quotient is rounded to the dtype before
            input, other = true_divide(input, other), 1
        return divide_trunc(input, other)
    if rounding_mode == "floor":
        return divide_floor(input, other)
    raise RuntimeError(
        f"div: div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}"
    )


divide = div


def are_halves(input: Any, other: Any) -> bool:
    """Whether both are tensors of one half precision, neither of which stands for a number."""
    if not isinstance(input, Tensor) or not isinstance(other, Tensor) or not (input.ndim and other.ndim):
        return False
    return input._key.dtype is other._key.dtype and input._key.dtype.is_half


def refuse_zero(name: str, xp: Any, input: Any, other: Any) -> None:
    """Integers have no infinity: dividing one by 0 is an error, where it is seen without waiting for a device.

    Raises
    ------
    RuntimeError
        If integers are divided and the divisor holds 0.
    """
    kind = input.dtype.kind if hasattr(input, "dtype") else other.dtype.kind
    if kind not in "iu":
        return
    if type(other) is numpy.ndarray:
        refused = not other.all() and xp.size(input)
    else:
        refused = not hasattr(other, "dtype") and other == 0 and input.size
    if refused:
        raise RuntimeError(
            f"{name}: ZeroDivisionError: an integer was divided by 0; divide floating-point tensors instead"
        )


def rounded_down(xp: Any, input: Any, other: Any) -> Any:
    """The quotient of each pair of elements, rounded down."""
    refuse_zero("floor_divide", xp, input, other)
    element = input.dtype if hasattr(input, "dtype") else other.dtype
    if element.kind in "iub":
        return xp.floor_divide(input, other)
    if not is_numpy(xp):
        return exact_quotient(xp, input, other)
    quotient = xp.floor_divide(input, other)
    zero = other == 0
    if xp.any(zero):  # NumPy gives nan where the divisor is 0
        quotient = xp.where(zero, xp.true_divide(input, other), quotient)
    return quotient


def exact_quotient(xp: Any, input: Any, other: Any) -> Any:
    """`rounded_down` of floats by the exact remainder: the rounded quotient of 1 and 0.1 is 10, above the exact one."""
    ratio, rest = xp.true_divide(input, other), xp.fmod(input, other)
    quotient = (input - rest) / other
    quotient = xp.where((rest != 0) & ((other < 0) != (rest < 0)), quotient - 1, quotient)
    down = xp.floor(quotient)
    down = xp.where(quotient - down > 0.5, down + 1, down)
    return xp.where((down == 0) & (ratio == ratio), xp.copysign(down, ratio), xp.where(other == 0, ratio, down))


def exact_remainder(xp: Any, input: Any, other: Any) -> Any:
    """The remainder with the divisor's sign, where a library has that of C, which is exact, and a rounded one."""
    rest = xp.fmod(input, other)
    return xp.where((rest != 0) & ((other < 0) != (rest < 0)), rest + other, rest)


@pointwise(
    "floor_divide __floordiv__ __rfloordiv__",
    "floor_divide_ __ifloordiv__",
    dtypes="int float",
    allow_scalars=True,
    scalars="float32",
    gradient="refused",
)
def floor_divide(xp, input, other):
    """The quotient of each pair of elements, rounded down.

    It cannot be differentiated; ``div(..., rounding_mode="floor")`` can, with gradients of 0.

    Parameters
    ----------
    input, other : Tensor or number of real dtype, broadcastable to each other

    Raises
    ------
    RuntimeError
        If an integer is divided by 0.

    Examples
    --------
    >>> weft.floor_divide(weft.tensor([-7.0, 7.0]), 2)
    tensor([-4.,  3.])
    """
    return rounded_down(xp, input, other)


@floor_divide.onnx
def _(graph, input, other):
    return graph.floored(input, other)


@pointwise(dtypes="int float", allow_scalars=True, scalars="float32", name="div_floor")
def divide_floor(xp, input, other):
    """The quotient of each pair of elements, rounded down, with gradients of 0."""
    return rounded_down(xp, input, other)


@divide_floor.gradient("input")
def _(grad):
    return zeros_like(grad)


@divide_floor.gradient("other")
def _(grad):
    return zeros_like(grad)


@divide_floor.onnx
def _(graph, input, other):
    return graph.floored(input, other)


@pointwise(dtypes="int float", allow_scalars=True, scalars="float32", name="div_trunc")
def divide_trunc(xp, input, other):
    """The quotient of each pair of elements, rounded towards zero."""
    refuse_zero("div", xp, input, other)
    element = input.dtype if hasattr(input, "dtype") else other.dtype
    if element.kind not in "iub":
        return xp.trunc(xp.true_divide(input, other))
    quotient = xp.floor_divide(input, other)
    exact = quotient * other == input
    return xp.where((quotient < 0) & ~exact, quotient + 1, quotient).astype(quotient.dtype)


divide_floor.declaration.label = divide_trunc.declaration.label = "DivBackward2"


@divide_trunc.gradient("input")
def _(grad):
    return zeros_like(grad)


@divide_trunc.gradient("other")
def _(grad):
    return zeros_like(grad)


@divide_trunc.onnx
def _(graph, input, other):
    quotient = graph.Div(input, other)
    return truncated(graph, quotient) if graph.is_floating(input, other) else quotient


@pointwise("remainder __mod__ __rmod__", "remainder_ __imod__", dtypes="int float")
def remainder(xp, input, other):
    """The remainder of the division rounded down: it has the divisor's sign.

    Parameters
    ----------
    input, other : Tensor or number of real dtype, broadcastable to each other

    Raises
    ------
    RuntimeError
        If an integer is divided by 0.

    Examples
    --------
    >>> weft.remainder(weft.tensor([-7, 7]), 3)
    tensor([2, 1])
    """
    refuse_zero("remainder", xp, input, other)
    element = input.dtype if hasattr(input, "dtype") else other.dtype
    if element.kind not in "iub" and not is_numpy(xp):
        return exact_remainder(xp, input, other)
    result = xp.remainder(input, other)
    if result.dtype.kind == "f":  # a remainder of 0 has the dividend's sign
        return xp.where(result == 0, xp.copysign(result, input), result)
    return result


@remainder.gradient("input")
def _(grad):
    return grad


@remainder.gradient("other")
def _(grad, input, other):
    return -grad * divide_floor(input, other)


@remainder.onnx
def _(graph, input, other):
    if not graph.is_floating(input, other):
        return graph.Mod(input, other)
    rest = graph.Mod(input, other, fmod=1)  # has the sign of input
    zero = graph.value(0, rest)
    differs = graph.Xor(graph.Less(rest, zero), graph.Less(other, zero))
    other_side = graph.And(graph.Not(graph.Equal(rest, zero)), differs)
    return graph.where(other_side, graph.Add(rest, other), rest)


@pointwise("fmod", "fmod_", dtypes="int float", numbers="other")
def fmod(xp, input, other):
    """The remainder of the division rounded towards zero: it has the dividend's sign.

    Parameters
    ----------
    input : Tensor of real dtype
    other : Tensor or number, broadcastable with input

    Raises
    ------
    RuntimeError
        If an integer is divided by 0.

    Examples
    --------
    >>> weft.fmod(weft.tensor([-7, 7]), 3)
    tensor([-1,  1])
    """
    refuse_zero("fmod", xp, input, other)
    if input.dtype.kind not in "iu" or is_numpy(xp):
        return xp.fmod(input, other)
    rest = xp.remainder(input, other)  # CuPy's fmod rounds integers to float64
    return xp.where((rest != 0) & ((input < 0) != (other < 0)), rest - other, rest).astype(input.dtype)


@fmod.gradient("input")
def _(grad):
    return grad


@fmod.gradient("other")
def _(grad, input, other):
    return -grad * divide_trunc(input, other)


@fmod.onnx
def _(graph, input, other):
    return graph.Mod(input, other, fmod=1)


# Signs and parts


@pointwise(
    "neg negative __neg__",
    "neg_ negative_",
    kernel="negative",
    dtypes=NUMBERS,
    error_type=RuntimeError,
    out="exact",
    error_hint="Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
    "the `~` or `logical_not()` operator instead.",
    onnx="Neg",
)
def neg(input):
    """The negative of each element."""


@neg.gradient("input")
def _(grad):
    return -grad


negative = neg


@composite("positive __pos__")
def positive(input: Tensor) -> Tensor:
    """The tensor itself.

    Raises
    ------
    RuntimeError
        For bool.
    """
    if input.dtype.name == "bool":
        raise RuntimeError("positive: The `+` operator, on a bool tensor is not supported.")
    return input


@pointwise(
    "abs absolute __abs__", "abs_ absolute_", kernel="absolute", result="real", dtypes=f"{NUMBERS} float8", onnx="Abs"
)
def abs(input):
    """The absolute value of each element; real for complex input."""


@abs.gradient("input")
def _(grad, input):
    return grad * input.sgn()


absolute = abs


def refuse_complex(method: Any) -> Any:
    """The method, which cannot write absolute values, which are real, into complex numbers."""

    @functools.wraps(method)
    def real_only(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if self._key.dtype.is_complex:
            raise RuntimeError(f"{method.__name__}: In-place abs is not supported for complex tensors; use abs()")
        written: Tensor = method(self, *args, **kwargs)
        return written

    return real_only


add_members(abs_=refuse_complex(Tensor.abs_), absolute_=refuse_complex(Tensor.absolute_))


def real_sign(xp: Any, input: Any) -> Any:
    """The sign of real numbers; that of nan is 0."""
    if input.dtype.kind == "u":
        return (input != 0).astype(input.dtype)
    return xp.subtract(input > 0, input < 0, dtype=xp.int8).astype(input.dtype)


@pointwise(
    "sign",
    "sign_",
    dtypes=REAL,
    out="exact",
    error_hint="Unlike NumPy, weft.sign is not intended to support complex numbers. Please use weft.sgn instead",
)
def sign(xp, input):
    """-1, 0 or 1, by the sign of each element."""
    return input.copy() if input.dtype.kind == "b" else real_sign(xp, input)


@sign.gradient("input")
def _(grad):
    return zeros_like(grad)  # not grad * 0, which an infinite gradient makes nan


@sign.onnx
def _(graph, input):
    return graph.Sign(input)


@pointwise("sgn", "sgn_", out="exact")
def sgn(xp, input):
    """Each element divided by its absolute value; 0 stays 0."""
    if input.dtype.kind == "b":
        return input.copy()
    if input.dtype.kind != "c":
        return real_sign(xp, input)
    size = xp.absolute(input)
    return xp.where(size == 0, 0, input / xp.where(size == 0, 1, size)).astype(input.dtype)


@sgn.gradient("input")
def _(grad, input, output):
    if not input.is_complex():
        return zeros_like(grad)
    size = input.abs()
    flat = (grad - output * (grad.conj() * output).real) / size.masked_fill(size == 0, 1)
    return flat.masked_fill(size == 0, 0)


@sgn.onnx
def _(graph, input):
    return graph.Sign(input)


@pointwise("_conj_copy", dtypes="int float complex", kernel="conjugate", name="conj_physical")
def conj_copy(input):
    """The complex conjugate of each element, in new memory."""


@conj_copy.gradient("input")
def _(grad):
    return grad.conj()


@op("angle", result="real", compute_dtype="float32", out=True, vmap="elementwise")
def angle(input: Tensor) -> Tensor:
    """The angle of each element as a complex number: pi for negative real ones."""
    return angle.op(input if input._key.is_differentiable else input.to(get_default_dtype()))


@angle.kernel
def _(xp, input):
    if input.dtype.kind != "c":
        return xp.where(input != input, input, xp.where(input < 0, xp.pi, 0.0)).astype(input.dtype)
    return xp.angle(input)


@angle.gradient("input")
def _(grad, input):
    if not input.is_complex():
        return zeros_like(grad)
    size = input.abs()
    slope = grad * (input / size / size) * 1j
    return slope.masked_fill(size == 0, 0)


@angle.onnx
def _(graph, input):
    turned = graph.where(graph.Less(input, 0.0), graph.value(math.pi, input), graph.value(0.0, input))
    return graph.where(graph.IsNaN(input), input, turned)


@pointwise("reciprocal", "reciprocal_", result="float", onnx="Reciprocal")
def reciprocal(xp, input):
    """1 divided by each element."""
    return xp.divide(1, input) if input.dtype.kind == "c" else xp.reciprocal(input)  # which has nan of 0j


@reciprocal.gradient("input")
def _(grad, output):
    return -grad * conj(output * output)


@pointwise(kernel="square", name="square", dtypes="int float complex")
def squared(input):
    """The square of each element."""


@squared.gradient("input")
def _(grad, input):
    return grad * conj(input * 2)


@squared.onnx
def _(graph, input):
    return graph.Mul(input, input)


@composite("square", "square_", out=True)
def square(input: Tensor) -> Tensor:
    """The square of each element; bool becomes int64."""
    return squared(input if input._key.dtype.category else input.to(int64))


# Powers and roots


@pointwise("__pow__ __rpow__", "__ipow__", dtypes=NUMBERS, scalars="checked", name="pow", onnx="Pow")
def power(xp, input, exponent):
    """Each element raised to a power, as ``input ** exponent`` computes it."""
    array = input if hasattr(input, "dtype") else exponent
    if array.dtype.kind in "iu":
        return integer_power(xp, input, exponent, array.dtype)
    if array.dtype.kind == "c":
        return complex_power(xp, input, exponent)
    if type(exponent) is float and exponent.is_integer() and is_numpy(xp) and exponent not in (-1.0, 0.0, 1.0, 2.0):
        return whole_power(xp, input, exponent)
    return xp.power(input, exponent)


def whole_power(xp: Any, base: Any, exponent: float) -> Any:
    """Powers by a whole number: NumPy takes twenty times as long for negative elements as for their absolute values."""
    if exponent == 3.0:
        return base * base * base
    result = xp.power(xp.abs(base), exponent)
    return xp.copysign(result, base) if exponent % 2 else result


def number_log(value: Any) -> Any:
    """The logarithm of a number as tensors have it: -inf of 0, nan of a negative one."""
    if value == 0:
        return -math.inf
    if isinstance(value, builtins.complex):
        import cmath  # a shared library, which few programs need

        return cmath.log(value)
    return math.log(value) if value > 0 else math.nan


def complex_power(xp: Any, base: Any, exponent: Any) -> Any:
    """Complex powers: those of roots and squares to the last digit; negative ones of 0 are infinite."""
    if not hasattr(exponent, "dtype") and exponent in (0.5, -0.5, -1, 2, -2):
        size = builtins.abs(exponent)
        value = base if size == 1 else xp.sqrt(base) if size == 0.5 else xp.square(base)
        return value if exponent.real > 0 else xp.divide(1, value)
    result = xp.power(base, exponent)
    vanishing = (base == 0) & (exponent.real < 0)
    if is_numpy(xp) and not vanishing.any():
        return result
    # NumPy has nan, whose absolute value is not infinite.
    return xp.where(vanishing, result.dtype.type(builtins.complex(math.inf, math.nan)), result)


def integer_power(xp: Any, base: Any, exponent: Any, element: Any) -> Any:
    """Integer powers; with a negative exponent 1 and -1 stay and everything else is 0."""
    if not hasattr(exponent, "dtype"):
        if exponent < 0:
            raise RuntimeError(
                "pow: Integers to negative integer powers are not allowed; convert to floating point first"
            )
        return xp.power(base, array_of(xp, exponent, element))
    base = array_of(xp, base, element)
    negative = exponent < 0
    result = xp.power(base, xp.where(negative, 0, exponent).astype(element))
    if is_numpy(xp) and not xp.any(negative):
        return result
    inverse = xp.where(base == 1, 1, xp.where(base == -1, 1 - 2 * (exponent % 2), 0))
    return xp.where(negative, inverse, result).astype(element)


@power.gradient("input")
def _(grad, input, exponent):
    if not isinstance(exponent, TensorBase):
        if exponent == 0:
            return zeros_like(grad)
        return grad * conj(exponent * (input if exponent == 2 else input ** (exponent - 1)))
    slope = exponent * input ** (exponent - 1)
    return (grad * conj(slope)).masked_fill(exponent == 0, 0)


@power.gradient("exponent")
def _(grad, input, exponent, output):
    log = input.log() if isinstance(input, Tensor) else number_log(input)
    settled = exponent >= 0 if not exponent.is_complex() else exponent.real >= 0
    return (grad * conj(output * log)).masked_fill((input == 0) & settled, 0)


@composite("pow", "pow_", out=True)
def pow(input: Tensor | Scalar, exponent: Tensor | Scalar) -> Tensor:
    """Each element of ``input`` raised to the power of the element of ``exponent``.

    Parameters
    ----------
    input, exponent : Tensor or number (not both numbers), broadcastable to each other

    Examples
    --------
    >>> weft.pow(weft.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    >>> weft.pow(2, weft.tensor([1.0, 2.0, 3.0]))
    tensor([2., 4., 8.])
    """
    return power(input, exponent)


@composite("float_power", out="exact")
def float_power(input: Tensor | Scalar, exponent: Tensor | Scalar) -> Tensor:
    """`pow` in float64, or complex128 if one of the two is complex.

    Parameters
    ----------
    input, exponent : Tensor or number (not both numbers), broadcastable to each other

    Examples
    --------
    >>> weft.float_power(weft.tensor([2, 3]), -1)
    tensor([0.5000, 0.3333], dtype=weft.float64)
    """
    wide = widest(input, exponent)
    cast = [each.to(wide) if isinstance(each, TensorBase) else each for each in (input, exponent)]
    return power(*cast)


def widest(*values: Any) -> Any:
    """complex128 if a tensor or number is complex, else float64."""
    return complex128 if any(result_dtype((value,)).is_complex for value in values) else float64


@composite("float_power_")
def _float_power_in_place(self: Tensor, exponent: Tensor | Scalar) -> Tensor:
    """In-place variant of `weft.float_power`, for tensors of the dtype that it computes in."""
    wide = widest(self, exponent)
    if self.dtype is not wide:
        raise RuntimeError(
            f"float_power_: the base given to float_power_ has dtype {self.dtype.scalar_type_name} but the "
            "operation's result "
            f"requires dtype {wide.scalar_type_name}; convert with .to({wide})"
        )
    return self.pow_(exponent.to(wide) if isinstance(exponent, TensorBase) else exponent)


@pointwise("sqrt", "sqrt_", kernel="sqrt", result="float", onnx="Sqrt")
def sqrt(input):
    """The square root of each element; nan for negative real ones."""


@sqrt.gradient("input")
def _(grad, output):
    return grad / conj(2 * output)


@pointwise("rsqrt", "rsqrt_", result="float")
def rsqrt(xp, input):
    """1 divided by the square root of each element."""
    return 1 / xp.sqrt(input)


@rsqrt.gradient("input")
def _(grad, output):
    return -0.5 * grad * conj(output * output * output)


@rsqrt.onnx
def _(graph, input):
    return graph.Reciprocal(graph.Sqrt(graph.floating(input)))


@pointwise("hypot", "hypot_", kernel="hypot", dtypes="float", numbers="")
def hypot(input, other):
    """The length of the hypotenuse for each pair of legs, without overflow.

    Parameters
    ----------
    input, other : Tensor of floating-point dtype, broadcastable to each other

    Examples
    --------
    >>> weft.hypot(weft.tensor([3.0]), weft.tensor([4.0]))
    tensor([5.])
    """


@hypot.gradient("input")
def _(grad, input, output):
    return grad * (input / output)


@hypot.gradient("other")
def _(grad, other, output):
    return grad * (other / output)


@hypot.onnx
def _(graph, input, other):
    return graph.Sqrt(graph.Add(graph.Mul(input, input), graph.Mul(other, other)))


# Exponentials and logarithms


@pointwise("exp", "exp_", kernel="exp", result="float", onnx="Exp")
def exp(input):
    """The exponential of each element."""


@exp.gradient("input")
def _(grad, output):
    return grad * conj(output)


@pointwise("exp2", "exp2_", result="float")
def exp2(xp, input):
    """2 raised to the power of each element."""
    return xp.power(2, input) if input.dtype.kind == "c" else xp.exp2(input)


@exp2.gradient("input")
def _(grad, output):
    return grad * conj(output) * LN2


@exp2.onnx
def _(graph, input):
    input = graph.floating(input)
    return graph.Pow(graph.value(2.0, input), input)


@pointwise("expm1", "expm1_", kernel="expm1", result="float")
def expm1(input):
    """The exponential of each element, minus 1, exact near 0."""


@expm1.gradient("input")
def _(grad, output):
    return grad * conj(output + 1)


@expm1.onnx
def _(graph, input):
    return graph.expm1(graph.floating(input))


@pointwise("log", "log_", kernel="log", result="float", onnx="Log")
def log(input):
    """The natural logarithm of each element."""


@log.gradient("input")
def _(grad, input):
    return grad / conj(input)


@pointwise("log2", "log2_", kernel="log2", result="float")
def log2(input):
    """The logarithm to base 2 of each element."""


@log2.gradient("input")
def _(grad, input):
    return grad / conj(input * LN2)


@log2.onnx
def _(graph, input):
    return graph.Div(graph.Log(graph.floating(input)), math.log(2))


@pointwise("log10", "log10_", kernel="log10", result="float")
def log10(input):
    """The logarithm to base 10 of each element."""


@log10.gradient("input")
def _(grad, input):
    return grad / conj(input * LN10)


@log10.onnx
def _(graph, input):
    return graph.Div(graph.Log(graph.floating(input)), math.log(10))


@pointwise("log1p", "log1p_", kernel="log1p", result="float")
def log1p(input):
    """The natural logarithm of 1 plus each element, exact near 0."""


@log1p.onnx
def _(graph, input):
    return graph.log1p(graph.floating(input))


def log_of_one_more(xp: Any, input: Any) -> Any:
    """``log(1 + input)`` of complex numbers, to full precision also where ``abs(1 + input)`` is close to 1.

    There its logarithm is that of ``1 + x * (2 + x) + y * y``, in double precision. NumPy's `log1p` adds 1 first.
    """
    x, y = (xp.asarray(part, xp.float64) for part in (input.real, input.imag))
    near = (xp.absolute(x) < 2) & (xp.absolute(y) < 2)
    a, b = xp.where(near, x, 0), xp.where(near, y, 0)
    (a_high, a_low), (b_high, b_low) = exact_square(xp, a), exact_square(xp, b)
    terms = [2 * a, a_high, b_high]
    total, lost = terms[0], a_low + b_low
    for each in terms[1:]:
        total, error = exact_sum(total, each)
        lost = lost + error
    more = total + lost
    size = xp.where(near & (more > -0.5), 0.5 * xp.log1p(xp.maximum(more, -0.5)), xp.log(xp.hypot(1 + x, y)))
    made = xp.empty(input.shape, input.dtype)
    made.real, made.imag = size, xp.arctan2(y, 1 + x)
    return made


def exact_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """A sum, and what it lacks (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def exact_square(xp: Any, x: Any) -> tuple[Any, Any]:
    """A square in double precision, and what it lacks (Dekker)."""
    shifted = x * 134217729.0  # 2**27 + 1: it leaves the upper half of the digits
    high = shifted - (shifted - x)
    low = x - high
    square = x * x
    return square, ((high * high - square) + 2 * high * low) + low * low


log1p.declaration.complex_kernel = log_of_one_more


@log1p.gradient("input")
def _(grad, input):
    return grad / conj(input + 1)


# Trigonometric and hyperbolic functions


@pointwise("sin", "sin_", kernel="sin", result="float", onnx="Sin")
def sin(input):
    """The sine of each element, in radians."""


@sin.gradient("input")
def _(grad, input):
    return grad * conj(input.cos())


@pointwise("cos", "cos_", kernel="cos", result="float", onnx="Cos")
def cos(input):
    """The cosine of each element, in radians."""


@cos.gradient("input")
def _(grad, input):
    return -grad * conj(input.sin())


@pointwise("tan", "tan_", kernel="tan", result="float", onnx="Tan")
def tan(input):
    """The tangent of each element, in radians."""


@tan.gradient("input")
def _(grad, output):
    return grad * conj(1 + output * output)


@pointwise("asin arcsin", "asin_ arcsin_", kernel="arcsin", result="float", onnx="Asin")
def asin(input):
    """The angle whose sine is each element, in radians."""


@asin.gradient("input")
def _(grad, input):
    return grad / conj((1 - input * input).sqrt())


@pointwise("acos arccos", "acos_ arccos_", kernel="arccos", result="float", onnx="Acos")
def acos(input):
    """The angle whose cosine is each element, in radians."""


@acos.gradient("input")
def _(grad, input):
    return -grad / conj((1 - input * input).sqrt())


@pointwise("atan arctan", "atan_ arctan_", kernel="arctan", result="float", onnx="Atan")
def atan(input):
    """The angle whose tangent is each element, in radians."""


@atan.gradient("input")
def _(grad, input):
    return grad / conj(1 + input * input)


@pointwise("sinh", "sinh_", kernel="sinh", result="float", onnx="Sinh")
def sinh(input):
    """The hyperbolic sine of each element."""


@sinh.gradient("input")
def _(grad, input):
    return grad * conj(input.cosh())


@pointwise("cosh", "cosh_", kernel="cosh", result="float", onnx="Cosh")
def cosh(input):
    """The hyperbolic cosine of each element."""


@cosh.gradient("input")
def _(grad, input):
    return grad * conj(input.sinh())


@pointwise("tanh", "tanh_", kernel="tanh", result="float", onnx="Tanh")
def tanh(input):
    """The hyperbolic tangent of each element."""


@tanh.gradient("input")
def _(grad, output):
    return grad * conj(1 - output * output) if output._key.is_complex else tanh_backward.op(grad, output)


@op(
    tensors="output_grad result",
    result="same",
    compute_dtype="float32",
    dtypes="float",
    name="tanh_backward",
    vmap="elementwise",
)
def tanh_backward(output_grad: Tensor, result: Tensor) -> Tensor:
    """A gradient times the derivative of `tanh` where that is ``result``."""
    return tanh_backward.op(output_grad, result)


@tanh_backward.formula
def _(output_grad, result):
    return output_grad * (1 - result * result)


@tanh_backward.gradient("output_grad")
def _(grad, result):
    return tanh_backward.op(grad, result)


@tanh_backward.gradient("result")
def _(grad, output_grad, result):
    return grad * output_grad * result * -2


@pointwise("asinh arcsinh", "asinh_ arcsinh_", kernel="arcsinh", result="float", onnx="Asinh")
def asinh(input):
    """The inverse hyperbolic sine of each element."""


@asinh.gradient("input")
def _(grad, input):
    return grad / conj((input * input + 1).sqrt())


@pointwise("acosh arccosh", "acosh_ arccosh_", kernel="arccosh", result="float", onnx="Acosh")
def acosh(input):
    """The inverse hyperbolic cosine of each element."""


@acosh.gradient("input")
def _(grad, input):
    return grad / conj((input - 1).sqrt() * (input + 1).sqrt())


@pointwise("atanh arctanh", "atanh_ arctanh_", kernel="arctanh", result="float", onnx="Atanh")
def atanh(input):
    """The inverse hyperbolic tangent of each element."""


@atanh.gradient("input")
def _(grad, input):
    return grad / conj(1 - input * input)


arcsin, arccos, arctan, arcsinh, arccosh, arctanh = asin, acos, atan, asinh, acosh, atanh


@pointwise("atan2 arctan2", "atan2_ arctan2_", kernel="arctan2", result="float", dtypes=REAL, numbers="")
def atan2(input, other):
    """The angle of the point (other, input) from the x axis, in radians, in (-pi, pi].

    Parameters
    ----------
    input : Tensor of real dtype
        The y coordinates.
    other : Tensor of real dtype, broadcastable with input
        The x coordinates.

    Examples
    --------
    >>> weft.atan2(weft.tensor([1.0, -1.0]), weft.tensor([-1.0, -1.0]))
    tensor([ 2.3562, -2.3562])
    """


@atan2.gradient("input")
def _(grad, input, other):
    return grad * away_from_zero(other, input, other)


@atan2.gradient("other")
def _(grad, input, other):
    return grad * away_from_zero(-input, input, other)


@atan2.onnx
def _(graph, input, other):
    input, other = graph.floating(input), graph.floating(other)
    angle = graph.Atan(graph.Div(input, other))
    half_turn = graph.where(graph.Less(input, 0.0), graph.value(-math.pi, input), graph.value(math.pi, input))
    angle = graph.where(graph.Less(other, 0.0), graph.Add(angle, half_turn), angle)
    at_origin = graph.And(graph.Equal(input, 0.0), graph.Equal(other, 0.0))
    return graph.where(at_origin, graph.value(0.0, input), angle)


def away_from_zero(number: Any, input: Any, other: Any) -> Any:
    """``number / (input ** 2 + other ** 2)``, and 0 where both are 0."""
    return (number / (input * input + other * other)).masked_fill((input == 0) & (other == 0), 0)


arctan2 = atan2


@pointwise("sinc", "sinc_", kernel="sinc", result="float")
def sinc(input):
    """``sin(pi x) / (pi x)`` of each element x; 1 at 0."""


@sinc.gradient("input")
def _(grad, input):
    angle = input * math.pi
    size = angle * input  # 0 for numbers near 0 too
    slope = (angle * angle.cos() - angle.sin()) / size
    return (grad * conj(slope)).masked_fill(size == 0, 0)


@sinc.onnx
def _(graph, input):
    angle = graph.Mul(graph.floating(input), math.pi)
    is_zero = graph.Equal(angle, 0.0)
    one = graph.value(1.0, angle)
    return graph.where(is_zero, one, graph.Div(graph.Sin(angle), graph.where(is_zero, one, angle)))


@pointwise(
    "deg2rad",
    "deg2rad_",
    formula=True,
    result="float",
    dtypes=REAL,
    error_type=RuntimeError,
    error_hint="deg2rad is not supported for complex tensors",
)
def deg2rad(input):
    """Degrees to radians."""
    return input * (math.pi / 180)


@deg2rad.gradient("input")
def _(grad):
    return grad * (math.pi / 180)


@pointwise(
    "rad2deg",
    "rad2deg_",
    formula=True,
    result="float",
    dtypes=REAL,
    error_type=RuntimeError,
    error_hint="rad2deg is not supported for complex tensors",
)
def rad2deg(input):
    """Radians to degrees."""
    return input * (180 / math.pi)


@rad2deg.gradient("input")
def _(grad):
    return grad * (180 / math.pi)


@pointwise("sigmoid", "sigmoid_", result="float", onnx="Sigmoid")
def sigmoid(xp, input):
    """``1 / (1 + exp(-x))`` of each element x."""
    powers = xp.asarray(xp.exp(-input))
    powers += 1
    return xp.divide(1, powers, powers) if powers.dtype.kind == "c" else xp.reciprocal(powers, powers)


@sigmoid.gradient("input")
def _(grad, output):
    return grad * conj(output * (1 - output)) if output._key.is_complex else sigmoid_backward.op(grad, output)


@op(
    tensors="output_grad result",
    result="same",
    compute_dtype="float32",
    dtypes="float",
    name="sigmoid_backward",
    vmap="elementwise",
)
def sigmoid_backward(output_grad: Tensor, result: Tensor) -> Tensor:
    """A gradient times the derivative of `sigmoid` where that is ``result``."""
    return sigmoid_backward.op(output_grad, result)


@sigmoid_backward.formula
def _(output_grad, result):
    return output_grad * ((1 - result) * result)


@sigmoid_backward.gradient("output_grad")
def _(grad, result):
    return sigmoid_backward.op(grad, result)


@sigmoid_backward.gradient("result")
def _(grad, output_grad, result):
    return grad * output_grad * (1 - 2 * result)


@op("logit", "logit_", result="float", compute_dtype="float32", dtypes=REAL, out=True, vmap="elementwise")
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """The logarithm of the odds ``x / (1 - x)``: the inverse of `sigmoid`.

    Parameters
    ----------
    input : Tensor of real dtype
        Probabilities. Outside of [0, 1] the result is nan.
    eps : float, optional
        Clamp to [eps, 1 - eps] first.

    Examples
    --------
    >>> weft.logit(weft.tensor([0.5, 1.0]))
    tensor([0., inf])
    >>> weft.logit(weft.tensor([0.5, 1.0]), eps=0.01)
    tensor([0.0000, 4.5951])
    """
    return logit.op(input, None if eps is None else float(eps))


@logit.kernel
def _(xp, input, eps):
    if eps is not None:
        input = xp.clip(input, eps, 1 - eps)
    return xp.log(input / (1 - input))


@logit.gradient("input")
def _(grad, input, eps):
    slope = grad / (input * (1 - input))
    if eps is None:
        return slope.masked_fill((input < 0) | (input > 1), math.nan)
    return slope.masked_fill((input < eps) | (input > 1 - eps), 0)


@logit.onnx
def _(graph, input, eps):
    input = graph.floating(input)
    if eps is not None:
        input = graph.Clip(input, eps, 1 - eps)
    return graph.Log(graph.Div(input, graph.Sub(1.0, input)))


def log_of_sum(xp: Any, input: Any, other: Any) -> Any:
    """``log(exp(input) + exp(other))`` of complex numbers: the one with the larger real part is taken out."""
    swap = (other.real > input.real) | (input.real != input.real)
    large, small = xp.where(swap, other, input), xp.where(swap, input, other)
    same = (small.real == large.real) & xp.isinf(large.real)  # the difference would be nan
    rest = xp.exp(xp.where(same, 0, small - large))
    found = xp.where(same & (large.real < 0), input, large + log_of_one_more(xp, rest))
    return xp.where(xp.isnan(input) | xp.isnan(other), complex(math.nan, math.nan), found).astype(input.dtype)


@pointwise("logaddexp", dtypes="float complex", numbers="")
def logaddexp(xp, input, other):
    """``log(exp(input) + exp(other))`` without overflow.

    Parameters
    ----------
    input, other : Tensor of floating-point or complex dtype, broadcastable to each other
        Logarithms, of probabilities for example.

    Examples
    --------
    >>> weft.logaddexp(weft.tensor([-1000.0]), weft.tensor([-1000.0]))
    tensor([-999.3068])
    """
    return log_of_sum(xp, input, other) if input.dtype.kind == "c" else xp.logaddexp(input, other)


@logaddexp.gradient("input")
def _(grad, input, other):
    return grad / conj(1 + (other - input).exp())


@logaddexp.gradient("other")
def _(grad, input, other):
    return grad / conj(1 + (input - other).exp())


@logaddexp.onnx
def _(graph, input, other):
    distance = graph.where(graph.Equal(input, other), graph.value(0.0, input), graph.Abs(graph.Sub(input, other)))
    return graph.Add(graph.Max(input, other), graph.log1p(graph.Exp(graph.Neg(distance))))


@pointwise("logaddexp2", kernel="logaddexp2", dtypes="float", numbers="")
def logaddexp2(input, other):
    """``log2(2 ** input + 2 ** other)`` without overflow.

    Parameters
    ----------
    input, other : Tensor of floating-point dtype, broadcastable to each other
        Logarithms to base 2.

    Examples
    --------
    >>> weft.logaddexp2(weft.tensor([-1000.0]), weft.tensor([-1000.0]))
    tensor([-999.])
    """


@logaddexp2.gradient("input")
def _(grad, input, other):
    return grad / (1 + (other - input).exp2())


@logaddexp2.gradient("other")
def _(grad, input, other):
    return grad / (1 + (input - other).exp2())


@logaddexp2.onnx
def _(graph, input, other):
    distance = graph.where(graph.Equal(input, other), graph.value(0.0, input), graph.Abs(graph.Sub(input, other)))
    power = graph.Pow(graph.value(2.0, input), graph.Neg(distance))
    return graph.Add(graph.Max(input, other), graph.Div(graph.log1p(power), math.log(2)))


@pointwise("xlogy", "xlogy_", formula=True, result="float", dtypes=REAL)
def xlogy(input, other):
    """``input * log(other)``, 0 where input is 0 (and other is no nan).

    Parameters
    ----------
    input, other : Tensor or number (not both numbers) of real dtype, broadcastable to each other

    Examples
    --------
    >>> weft.xlogy(weft.tensor([0.0, 2.0]), weft.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    return formulas.where((input == 0) & (other == other), 0, input * formulas.log(other))


@xlogy.gradient("input")
def _(grad, input, other):
    return xlogy(grad, other).masked_fill((input == 0) & (other <= 0), 0)


@xlogy.gradient("other")
def _(grad, input, other):
    return grad * input / other


# Rounding


@pointwise("floor", "floor_", dtypes="int float", out="exact", error_hint="floor is not supported for complex inputs")
def floor(xp, input):
    """The largest integer not above each element."""
    return input.copy() if input.dtype.kind in "iu" else xp.floor(input)


@floor.gradient("input")
def _(grad):
    return zeros_like(grad)


@floor.onnx
def _(graph, input):
    return graph.Floor(input) if graph.is_floating(input) else graph.Identity(input)


@pointwise("ceil", "ceil_", dtypes="int float", out="exact", error_hint="ceil is not supported for complex inputs")
def ceil(xp, input):
    """The smallest integer not below each element."""
    return input.copy() if input.dtype.kind in "iu" else xp.ceil(input)


@ceil.gradient("input")
def _(grad):
    return zeros_like(grad)


@ceil.onnx
def _(graph, input):
    return graph.Ceil(input) if graph.is_floating(input) else graph.Identity(input)


@pointwise(
    "trunc fix", "trunc_ fix_", dtypes="int float", out="exact", error_hint="trunc is not supported for complex inputs"
)
def trunc(xp, input):
    """Each element without its fraction."""
    return input.copy() if input.dtype.kind in "iu" else xp.trunc(input)


@trunc.gradient("input")
def _(grad):
    return zeros_like(grad)


@trunc.onnx
def truncated(graph, input):
    if not graph.is_floating(input):
        return graph.Identity(input)
    return graph.Mul(graph.Sign(input), graph.Floor(graph.Abs(input)))


fix = trunc


@op(
    "round",
    "round_",
    result="same",
    compute_dtype="float32",
    dtypes="int float",
    out="exact shared",
    vmap="elementwise",
)
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Each element rounded to the nearest value with so many decimals; halves to even.

    Parameters
    ----------
    input : Tensor of integers or floating-point dtype
    decimals : int
        Negative: to tens, hundreds and so on.

    Raises
    ------
    NotImplementedError
        For integers with ``decimals``.

    Examples
    --------
    >>> weft.round(weft.tensor([0.5, 1.5, 2.345]))
    tensor([0., 2., 2.])
    >>> weft.round(weft.tensor([1234.567]), decimals=-2)
    tensor([1200.])
    """
    if decimals and input.dtype.category < 2:
        raise NotImplementedError(
            f"round: not implemented for '{input.dtype.scalar_type_name}' with decimals; use decimals=0"
        )
    return round.op(input, decimals)


@round.kernel
def _(xp, input, decimals):
    if input.dtype.kind in "iu":
        return input.copy()
    if decimals == 0:
        return xp.rint(input)
    scale = 10.0 ** builtins.abs(decimals)
    return xp.rint(input * scale) / scale if decimals > 0 else xp.rint(input / scale) * scale


@round.gradient("input")
def _(grad):
    return zeros_like(grad)


@round.onnx
def _(graph, input, decimals):
    if not graph.is_floating(input):
        return graph.Identity(input)
    if decimals == 0:
        return graph.Round(input)
    scale = 10.0 ** builtins.abs(decimals)
    if decimals > 0:
        return graph.Div(graph.Round(graph.Mul(input, scale)), scale)
    return graph.Mul(graph.Round(graph.Div(input, scale)), scale)


def _rounded(self: Tensor, digits: int = 0) -> Tensor:
    """``round(tensor, digits)``, as Python calls it."""
    result: Tensor = round(self, decimals=digits)
    return result


add_members(__round__=_rounded)


@pointwise("frac", "frac_", dtypes="float", out="exact")
def frac(xp, input):
    """The fraction of each element, with its sign."""
    return input - xp.trunc(input)


@frac.gradient("input")
def _(grad):
    return grad


@frac.onnx
def _(graph, input):
    return graph.Sub(input, truncated(graph, input))


# Larger, smaller, between


@pointwise("maximum", kernel="maximum", dtypes=REAL, numbers="", error_type=RuntimeError, onnx="Max")
def maximum(input, other):
    """The larger of each pair of elements; nan if one is nan.

    Parameters
    ----------
    input, other : Tensor of real dtype, broadcastable to each other

    Examples
    --------
    >>> weft.maximum(weft.tensor([1.0, 5.0]), weft.tensor([3.0, float("nan")]))
    tensor([3., nan])
    """


@maximum.gradient("input")
def _(grad, input, other):
    return (grad / 2).where(input == other, grad).masked_fill(input < other, 0)


@maximum.gradient("other")
def _(grad, input, other):
    return (grad / 2).where(input == other, grad).masked_fill(other < input, 0)


@pointwise("minimum", kernel="minimum", dtypes=REAL, numbers="", error_type=RuntimeError, onnx="Min")
def minimum(input, other):
    """The smaller of each pair of elements; nan if one is nan.

    Parameters
    ----------
    input, other : Tensor of real dtype, broadcastable to each other

    Examples
    --------
    >>> weft.minimum(weft.tensor([1.0, 5.0]), weft.tensor([3.0, float("nan")]))
    tensor([1., nan])
    """


@minimum.gradient("input")
def _(grad, input, other):
    return (grad / 2).where(input == other, grad).masked_fill(input > other, 0)


@minimum.gradient("other")
def _(grad, input, other):
    return (grad / 2).where(input == other, grad).masked_fill(other > input, 0)


@pointwise("fmax", kernel="fmax", dtypes=REAL, numbers="", error_type=RuntimeError)
def fmax(input, other):
    """The larger of each pair of elements; the other one if one is nan.

    Parameters
    ----------
    input, other : Tensor of real dtype, broadcastable to each other

    Examples
    --------
    >>> weft.fmax(weft.tensor([1.0, 5.0]), weft.tensor([3.0, float("nan")]))
    tensor([3., 5.])
    """


@fmax.gradient("input")
def _(grad, input, other):
    return grad.masked_fill(~((input >= other) | (other != other)), 0)


@fmax.gradient("other")
def _(grad, input, other):
    return grad.masked_fill((input >= other) | (other != other), 0)


@fmax.onnx
def _(graph, input, other):
    largest = graph.where(graph.is_nan(other), input, graph.Max(input, other))
    return graph.where(graph.is_nan(input), other, largest)


@pointwise("fmin", kernel="fmin", dtypes=REAL, numbers="", error_type=RuntimeError)
def fmin(input, other):
    """The smaller of each pair of elements; the other one if one is nan.

    Parameters
    ----------
    input, other : Tensor of real dtype, broadcastable to each other

    Examples
    --------
    >>> weft.fmin(weft.tensor([1.0, 5.0]), weft.tensor([3.0, float("nan")]))
    tensor([1., 5.])
    """


@fmin.gradient("input")
def _(grad, input, other):
    return grad.masked_fill(~((input <= other) | (other != other)), 0)


@fmin.gradient("other")
def _(grad, input, other):
    return grad.masked_fill((input <= other) | (other != other), 0)


@fmin.onnx
def _(graph, input, other):
    smallest = graph.where(graph.is_nan(other), input, graph.Min(input, other))
    return graph.where(graph.is_nan(input), other, smallest)


@op(
    tensors="input min max",
    promotes=True,
    result="same",
    compute_dtype="float32",
    dtypes=REAL,
    name="clamp",
    vmap="elementwise",
)
def clamped(input: Tensor, min: Tensor | Number | None, max: Tensor | Number | None) -> Tensor:
    """Each element moved into [min, max]."""
    return clamped.op(input, min, max)


@clamped.kernel
def _(xp, input, min, max):
    if min is not None:
        input = xp.maximum(input, min)
    return input if max is None else xp.minimum(input, max)


@clamped.gradient("input")
def _(grad, input, min, max):
    if min is None:
        inside = input <= max
    else:
        inside = input >= min if max is None else (input >= min) & (input <= max)
    return grad.masked_fill(~inside, 0)


@clamped.gradient("min")
def _(grad, input, min, max):
    chosen = input < min if max is None else (input < min) & (min < max)
    return grad.masked_fill(~chosen, 0)


@clamped.gradient("max")
def _(grad, input, min, max):
    chosen = input > max if min is None else (input > max) | (max < min)
    return grad.masked_fill(~chosen, 0)


@clamped.onnx
def _(graph, input, min, max):
    if builtins.any(getattr(each, "shape", ()) for each in (min, max)):
        input = input if min is None else graph.Max(input, min)
        return input if max is None else graph.Min(input, max)
    return graph.Clip(input, min, max)


@composite("clamp clip", "clamp_ clip_", out=True, fast_path=Clamp(clamped.op))
def clamp(input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
    """Each element moved into [min, max].

    Parameters
    ----------
    input : Tensor of real dtype
    min, max : Tensor or number, optional
        At least one of them. Where min is above max, max wins.

    Raises
    ------
    RuntimeError
        If neither limit is given.

    Examples
    --------
    >>> weft.clamp(weft.tensor([-2.0, 0.5, 3.0]), min=-1, max=1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None; pass a number or a Tensor")
    if isinstance(min, TensorBase) != isinstance(max, TensorBase) and min is not None and max is not None:
        min, max = as_number("clamp", min), as_number("clamp", max)
    return run_alike(clamped, input, limit("clamp", input, min), limit("clamp", input, max))


def as_number(name: str, value: Any) -> Any:
    """A limit beside one that is a number.

    Raises
    ------
    TypeError
        If it is a tensor with dimensions, or with a gradient.
    """
    if not isinstance(value, TensorBase):
        return value
    if value._array.ndim or value._requires_grad:
        raise TypeError(f"{name}(): min and max must both be numbers or both be Tensors")
    return value.item()  # type: ignore[attr-defined]


def limit(name: str, input: Any, value: Any) -> Any:
    """A limit that is no number, or one that the dtype of the result has."""
    if value is None or isinstance(value, (TensorBase, builtins.complex)):
        return value
    return in_range(name, value, result_dtype((input, value), name))


clip = clamp


@composite("clamp_min", "clamp_min_", out=True)
def clamp_min(input: Tensor, min: Tensor | Number) -> Tensor:
    """Each element, but at least ``min``.

    Parameters
    ----------
    input : Tensor of real dtype
    min : Tensor or number, broadcastable with input

    Examples
    --------
    >>> weft.clamp_min(weft.tensor([-2.0, 0.5]), 0)
    tensor([0.0000, 0.5000])
    """
    require_tensors("clamp_min", input=input)
    return clamp(input, limit("clamp_min", input, min))


@composite("clamp_max", "clamp_max_", out=True)
def clamp_max(input: Tensor, max: Tensor | Number) -> Tensor:
    """Each element, but at most ``max``.

    Parameters
    ----------
    input : Tensor of real dtype
    max : Tensor or number, broadcastable with input

    Examples
    --------
    >>> weft.clamp_max(weft.tensor([-2.0, 0.5]), 0)
    tensor([-2.,  0.])
    """
    require_tensors("clamp_max", input=input)
    return clamp(input, None, limit("clamp_max", input, max))


@op(
    "nan_to_num",
    "nan_to_num_",
    result="same",
    compute_dtype="float32",
    out="exact shared",
    vmap="elementwise",
)
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Replace nan and infinities.

    Parameters
    ----------
    input : Tensor
    nan : float, default 0
    posinf, neginf : float, optional
        Default: the largest and the smallest finite number of the dtype.

    Examples
    --------
    >>> x = weft.tensor([float("nan"), float("inf"), 1.0])
    >>> weft.nan_to_num(x, posinf=100)
    tensor([  0., 100.,   1.])
    """
    if input._key.is_differentiable:
        largest = finfo(input.dtype.to_real()).max  # of this dtype, whatever the kernel computes in
        posinf = largest if posinf is None else posinf
        neginf = -largest if neginf is None else neginf
    return nan_to_num.op(input, nan, posinf, neginf)


@nan_to_num.kernel
def _(xp, input, nan, posinf, neginf):
    return xp.nan_to_num(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


@nan_to_num.gradient("input")
def _(grad, input):
    return grad.masked_fill(input.isnan() | input.isinf(), 0)


@nan_to_num.onnx
def _(graph, input, nan, posinf, neginf):
    if not graph.is_floating(input):
        return graph.Identity(input)
    limits = numpy.finfo(input.dtype.numpy)
    for found, value in (
        (graph.IsNaN(input), 0.0 if nan is None else nan),
        (graph.IsInf(input, detect_negative=0), float(limits.max) if posinf is None else posinf),
        (graph.IsInf(input, detect_positive=0), float(limits.min) if neginf is None else neginf),
    ):
        input = graph.where(found, graph.value(value, input), input)
    return input


# Sums of products


@op(
    tensors="input end weight",
    promotes=True,
    result="same",
    compute_dtype="float32",
    dtypes="float complex",
    name="lerp",
    vmap="elementwise",
)
def interpolated(input: Tensor, end: Tensor, weight: Tensor | Scalar) -> Tensor:
    """``input + weight * (end - input)``."""
    return interpolated.op(input, end, weight)


@interpolated.kernel
def _(xp, input, end, weight):
    if isinstance(weight, (int, float, builtins.complex)):
        if builtins.abs(weight) < 0.5:
            return input + (end - input) * weight
        return end - (end - input) * (1 - weight)
    near = xp.absolute(weight) < 0.5
    return xp.where(near, input + weight * (end - input), end - (end - input) * (1 - weight)).astype(input.dtype)


@interpolated.gradient("input")
def _(grad, weight):
    return grad * conj(1 - weight)


@interpolated.gradient("end")
def _(grad, weight):
    return grad * conj(weight)


@interpolated.gradient("weight")
def _(grad, input, end):
    return grad * conj(end - input)


@interpolated.onnx
def _(graph, input, end, weight):
    distance, weight = graph.Sub(end, input), graph.value(weight, input)
    from_start = graph.Add(input, graph.Mul(distance, weight))
    from_end = graph.Sub(end, graph.Mul(distance, graph.Sub(1.0, weight)))
    return graph.where(graph.Less(graph.Abs(weight), 0.5), from_start, from_end)


@composite("lerp", "lerp_", out=True, fast_path=FastPath(interpolated.op))
def lerp(input: Tensor, end: Tensor, weight: Tensor | Scalar) -> Tensor:
    """The point between ``input`` (weight 0) and ``end`` (weight 1), element by element.

    Parameters
    ----------
    input, end : Tensor of floating-point or complex dtype, broadcastable to each other
    weight : Tensor or number, broadcastable with them

    Raises
    ------
    RuntimeError
        If the tensors differ in dtype.

    Examples
    --------
    >>> weft.lerp(weft.tensor([0.0, 10.0]), weft.tensor([4.0, 20.0]), 0.25)
    tensor([ 1.0000, 12.5000])
    """
    require_tensors("lerp", input=input, end=end)
    if isinstance(weight, TensorBase) and not weight._array.ndim and weight._key.is_real_float:
        weight = weight.to(input.dtype)
    if input.dtype.category < 2:
        raise NotImplementedError(f"lerp: not implemented for '{input.dtype.scalar_type_name}'; convert with .float()")
    for what, each in (("end", end), ("weight", weight)):
        if isinstance(each, TensorBase) and each.dtype is not input.dtype:
            raise RuntimeError(
                f"lerp: expected dtype {input.dtype.scalar_type_name.lower()} for `{what}` but got dtype "
                f"{each.dtype.scalar_type_name.lower()}"
            )
    if not isinstance(weight, TensorBase):
        weight = factor("lerp", weight, input._key.dtype)
    return run_alike(interpolated, input, end, weight)


@op(
    tensors="input tensor1 tensor2",
    promotes=True,
    result="same",
    compute_dtype="float32",
    dtypes=NUMBERS,
    name="addcmul",
    vmap="elementwise",
)
def plus_scaled_product(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
    return plus_scaled_product.op(input, tensor1, tensor2, value)


@plus_scaled_product.kernel
def _(xp, input, tensor1, tensor2, value):
    product = xp.multiply(tensor1, tensor2)
    return input + (product if value == 1 else product * product.dtype.type(value))


@plus_scaled_product.gradient("input")
def _(grad):
    return grad


@plus_scaled_product.gradient("tensor1")
def _(grad, tensor2, value):
    return grad * conj(tensor2 * value)


@plus_scaled_product.gradient("tensor2")
def _(grad, tensor1, value):
    return grad * conj(tensor1 * value)


@plus_scaled_product.onnx
def _(graph, input, tensor1, tensor2, value):
    return graph.Add(input, graph.Mul(graph.Mul(tensor1, tensor2), value))


@composite("addcmul", "addcmul_", out=True, fast_path=FastPath(plus_scaled_product.op))
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``.

    Parameters
    ----------
    input, tensor1, tensor2 : Tensor, broadcastable to each other
    value : number
        An integer unless the result is floating or complex.

    Examples
    --------
    >>> weft.addcmul(weft.tensor([1.0]), weft.tensor([2.0]), weft.tensor([3.0]), value=0.5)
    tensor([4.])
    """
    require_tensors("addcmul", input=input, tensor1=tensor1, tensor2=tensor2)
    common = result_dtype((input, tensor1, tensor2))
    return run_alike(plus_scaled_product, input, tensor1, tensor2, scalar_of("addcmul", value, common))


@op(
    tensors="input tensor1 tensor2",
    promotes=True,
    result="same",
    compute_dtype="float32",
    dtypes="float complex",
    name="addcdiv",
    vmap="elementwise",
)
def plus_scaled_quotient(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar) -> Tensor:
    """``input + value * tensor1 / tensor2``."""
    return plus_scaled_quotient.op(input, tensor1, tensor2, value)


@plus_scaled_quotient.kernel
def _(xp, input, tensor1, tensor2, value):
    return input + (tensor1 if value == 1 else tensor1 * tensor1.dtype.type(value)) / tensor2


@plus_scaled_quotient.gradient("input")
def _(grad):
    return grad


@plus_scaled_quotient.gradient("tensor1")
def _(grad, tensor2, value):
    return grad * conj(value / tensor2)


@plus_scaled_quotient.gradient("tensor2")
def _(grad, tensor1, tensor2, value):
    return -grad * conj(value * tensor1 / (tensor2 * tensor2))


@plus_scaled_quotient.onnx
def _(graph, input, tensor1, tensor2, value):
    return graph.Add(input, graph.Mul(graph.Div(tensor1, tensor2), value))


@composite("addcdiv", "addcdiv_", out=True, fast_path=FastPath(plus_scaled_quotient.op))
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``.

    Parameters
    ----------
    input, tensor1, tensor2 : Tensor, broadcastable to each other
    value : number

    Raises
    ------
    RuntimeError
        If both quotient tensors are of integers: choose `true_divide` or `div` with a rounding mode.

    Examples
    --------
    >>> weft.addcdiv(weft.tensor([1.0]), weft.tensor([3.0]), weft.tensor([2.0]), value=2)
    tensor([4.])
    """
    require_tensors("addcdiv", input=input, tensor1=tensor1, tensor2=tensor2)
    if result_dtype((tensor1, tensor2)).category < 2:
        raise RuntimeError(
            "addcdiv: Integer division with addcdiv is no longer supported. Use input + value * "
            "weft.true_divide(tensor1, tensor2), or weft.div with rounding_mode='trunc' for the earlier behavior"
        )
    common = result_dtype((input, tensor1, tensor2))
    return run_alike(plus_scaled_quotient, input, tensor1, tensor2, scalar_of("addcdiv", value, common))


def scalar_of(name: str, value: Any, element: Any) -> Any:
    """A number (or 0-d tensor) that multiplies tensors of a dtype."""
    value = number_in(name, value) if isinstance(value, TensorBase) else value
    return factor(name, value, element)


# Mantissa and exponent


@op(dtypes="float", compute_dtype="float32", name="frexp", vmap="elementwise")
def mantissa_exponent(input: Tensor) -> tuple[Tensor, Tensor]:
    """``input`` as ``mantissa * 2 ** exponent`` with a mantissa in [0.5, 1)."""
    return mantissa_exponent.op(input)


@mantissa_exponent.kernel
def _(xp, input):
    mantissa, exponent = xp.frexp(input)
    return mantissa, exponent.astype(xp.int32)


@mantissa_exponent.gradient("input")
def _(grad, outputs):
    return grad / (2.0 ** outputs[1]).to(grad.dtype)


@composite("frexp", out="exact")
def frexp(input: Tensor) -> tuple[Tensor, Tensor]:
    """Each element as ``mantissa * 2 ** exponent``, with a mantissa whose size is in [0.5, 1).

    Returns
    -------
    named tuple (mantissa, exponent), the exponent as int32.
    """
    if not input._key.is_real_float:
        raise RuntimeError(f"weft.frexp() only supports floating-point dtypes; got {input.dtype}")
    return named("frexp", "mantissa exponent")(*mantissa_exponent.op(input))


@op(
    tensors="input exponent",
    result="same",
    compute_dtype="float32",
    dtypes="float",
    name="ldexp",
    vmap="elementwise",
    linear="input",
)
def scaled_by_power(input: Tensor, exponent: Tensor) -> Tensor:
    """``input * 2 ** exponent`` with integer exponents, exactly."""
    return scaled_by_power.op(input, exponent)


@scaled_by_power.kernel
def _(xp, input, exponent):
    return xp.ldexp(input, xp.clip(exponent, -9999, 9999).astype(xp.int32))


@scaled_by_power.gradient("input")
def _(grad, exponent):
    return scaled_by_power.op(grad, exponent)


@scaled_by_power.onnx
def _(graph, input, exponent):
    power = graph.cast(exponent, input.dtype)
    return graph.Mul(input, graph.Pow(graph.value(2.0, input), power))


@composite("ldexp", "ldexp_", out=True)
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2 ** other``, element by element.

    Parameters
    ----------
    input, other : Tensor, broadcastable to each other

    Returns
    -------
    Tensor; exact and of input's dtype where that is floating and ``other`` is of integers.

    Examples
    --------
    >>> weft.ldexp(weft.tensor([0.75]), weft.tensor([1, 4]))
    tensor([ 1.5000, 12.0000])
    """
    require_tensors("ldexp", input=input, other=other)
    if input._key.is_real_float and other.dtype.category == 1:
        return scaled_by_power(input, other)
    if input._key.is_complex and other.dtype.category == 1:
        other = other.to(input.dtype.to_real())
    return mul(input, power(2.0, other))


def accumulated(target: Any, other: Any) -> Any:
    """A gradient to which another was added in place; a new one where a dense one meets a sparse one."""
    return target + other if target.is_sparse and not other.is_sparse else target.add_(other)


state.plus = plus
state.add_ = accumulated
state.add_inplace = inplace_operator(plus.op, "add_")
