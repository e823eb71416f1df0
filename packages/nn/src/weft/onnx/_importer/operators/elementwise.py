"""Operators on each element: arithmetic, comparison, logic, bits, casts."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

import weft
from weft.onnx._importer.operators._common import is_narrow, is_text, legacy_broadcast, to_dtype
from weft.onnx._importer.reading import dtype_of, narrow_dtype, tensor_from_numpy
from weft.onnx._importer.registry import operator

TEXT = 8  # onnx.TensorProto.STRING

UNARY: dict[str, Callable[..., Any]] = {
    "Abs": weft.abs,
    "Acos": weft.acos,
    "Acosh": weft.acosh,
    "Asin": weft.asin,
    "Asinh": weft.asinh,
    "Atan": weft.atan,
    "Atanh": weft.atanh,
    "BitwiseNot": weft.bitwise_not,
    "Ceil": weft.ceil,
    "Cos": weft.cos,
    "Cosh": weft.cosh,
    "Erf": weft.erf,
    "Exp": weft.exp,
    "Floor": weft.floor,
    "IsNaN": weft.isnan,
    "Log": weft.log,
    "Neg": weft.neg,
    "Not": weft.logical_not,
    "Reciprocal": weft.reciprocal,
    "Round": weft.round,  # halves to even, as in ONNX
    "Sigmoid": weft.sigmoid,
    "Sign": weft.sign,
    "Sin": weft.sin,
    "Sinh": weft.sinh,
    "Sqrt": weft.sqrt,
    "Tan": weft.tan,
    "Tanh": weft.tanh,
}
# Both operands are of one dtype, so that weft's promotion has nothing to do.
BINARY: dict[str, Callable[..., Any]] = {
    "Add": weft.add,
    "And": weft.logical_and,
    "BitwiseAnd": weft.bitwise_and,
    "BitwiseOr": weft.bitwise_or,
    "BitwiseXor": weft.bitwise_xor,
    "Greater": weft.gt,
    "GreaterOrEqual": weft.ge,
    "Less": weft.lt,
    "LessOrEqual": weft.le,
    "Mul": weft.mul,
    "Or": weft.logical_or,
    "Sub": weft.sub,
    "Xor": weft.logical_xor,
}


def declare_unary(name: str, function: Callable[..., Any]) -> None:
    """Declare an operator that is a function of one tensor."""

    @operator(name)
    def run(input: Any) -> Any:
        return function(input)


def declare_binary(name: str, function: Callable[..., Any]) -> None:
    """Declare an operator of two tensors; before opset 7 the second was broadcast from an axis on."""

    @operator(name, since=7)
    def run(a: Any, b: Any) -> Any:
        return function(a, b)

    @operator(name)
    def run_legacy(a: Any, b: Any, *, axis: int | None = None, broadcast: int = 0) -> Any:
        return function(a, legacy_broadcast(a, b, axis))


for unary in UNARY.items():
    declare_unary(*unary)
for binary in BINARY.items():
    declare_binary(*binary)


@operator("Identity")
def identity(input: Any) -> Any:
    return input


@operator("Div")
def div(a: Any, b: Any, *, axis: int | None = None, broadcast: int = 0) -> Any:
    b = legacy_broadcast(a, b, axis)
    return weft.div(a, b) if a.dtype.is_floating_point else weft.div(a, b, rounding_mode="trunc")


@operator("Pow")
def pow(base: Any, exponent: Any, *, axis: int | None = None, broadcast: int = 0) -> Any:
    exponent = legacy_broadcast(base, exponent, axis)
    if exponent.dtype == base.dtype:
        return weft.pow(base, exponent)
    if not base.dtype.is_floating_point and exponent.dtype.is_floating_point:  # the base's dtype is the result's
        return weft.pow(base.double(), exponent.double()).to(base.dtype)
    return weft.pow(base, exponent.to(base.dtype))


@operator("Mod")
def mod(a: Any, b: Any, *, fmod: int = 0) -> Any:
    return weft.fmod(a, b) if fmod else weft.remainder(a, b)


@operator("Equal")
def equal(a: Any, b: Any, *, axis: int | None = None, broadcast: int = 0) -> Any:
    if is_text(a):
        return weft.from_numpy(np.asarray(a == b, dtype=bool))
    return weft.eq(a, legacy_broadcast(a, b, axis))


@operator("BitShift")
def bit_shift(x: Any, y: Any, *, direction: str) -> Any:
    bits = 8 * x.dtype.itemsize
    shift = weft.bitwise_left_shift if direction == "LEFT" else weft.bitwise_right_shift
    shifted = shift(x, y.clamp(max=bits - 1))
    if direction == "RIGHT" and x.dtype.is_signed:  # of a negative number the sign is left
        return shifted
    return weft.where(y < bits, shifted, weft.zeros_like(x))


@operator("Max")
def maximum(*inputs: Any) -> Any:
    return reduce(weft.maximum, inputs)


@operator("Min")
def minimum(*inputs: Any) -> Any:
    return reduce(weft.minimum, inputs)


@operator("Sum")
def sum_of(*inputs: Any) -> Any:
    return reduce(weft.add, inputs)


@operator("Mean")
def mean_of(*inputs: Any) -> Any:
    return reduce(weft.add, inputs) / len(inputs)


@operator("Where")
def where(condition: Any, x: Any, y: Any) -> Any:
    if is_text(x):
        return np.where(condition.cpu().numpy(), x, y)
    return weft.where(condition, x, y)


@operator("Clip", frozen="min max")
def clip(input: Any, min: Any = None, max: Any = None) -> Any:
    if min is not None:  # the larger bound wins where they cross
        input = weft.maximum(input, bound(min, input))
    return input if max is None else weft.minimum(input, bound(max, input))


def bound(value: Any, input: Any) -> Any:
    """A bound as a tensor; before opset 11 it was an attribute."""
    return value if isinstance(value, weft.Tensor) else weft.tensor(value, dtype=input.dtype, device=input.device)


@operator("IsInf")
def is_inf(x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    if detect_negative and detect_positive:
        return weft.isinf(x)
    if not detect_negative and not detect_positive:
        return weft.zeros_like(x, dtype=weft.bool)
    return weft.isposinf(x) if detect_positive else weft.isneginf(x)


@operator("Cast")
def cast(input: Any, *, to: Any, saturate: int = 1, round_mode: str = "up") -> Any:
    if isinstance(to, str):  # before opset 6 by name
        from onnx import TensorProto

        to = TensorProto.DataType.Value(to)
    if to == TEXT:
        return as_text(input)
    narrow = narrow_dtype(to)
    return converted(input, dtype_of(to) if narrow is None else narrow, bool(saturate), round_mode)


@operator("CastLike", frozen="target_type")
def cast_like(input: Any, target_type: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    if is_text(target_type):
        return as_text(input)
    return converted(input, target_type.dtype, bool(saturate), round_mode)


def converted(input: Any, dtype: Any, saturate: bool, round_mode: str = "up") -> Any:
    """A tensor, or an array of texts or narrow numbers, in a dtype, which may be NumPy's narrow one."""
    if is_narrow(input):
        input = tensor_from_numpy(input.astype(np.float32))
    if isinstance(dtype, np.dtype):
        return input.detach().cpu().float().numpy().astype(dtype)
    if is_text(input):
        numbers = np.array([float(each) for each in input.ravel()], np.float64)
        if not dtype.is_floating_point:
            numbers = np.array([int(float(each)) for each in input.ravel()], np.int64)
        return tensor_from_numpy(numbers.reshape(input.shape)).to(dtype)
    if not dtype.is_floating_point or dtype.itemsize > 1 or input.dtype == dtype:
        return to_dtype(input, dtype)
    if dtype == weft.float8_e8m0fnu:
        return power_of_two(input.float(), round_mode)
    if saturate:
        return saturated(input, dtype)
    if dtype == weft.float8_e4m3fn:  # it has no infinity; half a step above the largest there is none to round to
        input = weft.where(input.float().abs() > 464, math.nan, input.float())
    return input.to(dtype)


def power_of_two(input: Any, round_mode: str) -> Any:
    """Positive numbers as powers of two, in eight bits of exponent alone."""
    mantissa, exponent = weft.frexp(input)  # from 0.5 to 1: two to the exponent is the power above
    above = {"up": mantissa > 0.5, "nearest": mantissa >= 0.75, "down": mantissa > 1}[round_mode]
    power = weft.where(above, exponent, exponent - 1).clamp(-127, 127)
    power = weft.where(input == 0, -127, power)  # there is no zero
    return weft.where(input.isfinite(), weft.exp2(power.float()), input).to(weft.float8_e8m0fnu)


def saturated(input: Any, dtype: Any) -> Any:
    """A tensor in a type of 8 bits, where numbers that are too large become the largest."""
    largest = weft.finfo(dtype).max
    limited = input.float().clamp(-largest, largest)
    has_infinity = dtype in (weft.float8_e5m2,)
    return weft.where(input.isnan(), input.float(), limited).to(dtype) if not has_infinity else limited.to(dtype)


def as_text(input: Any) -> Any:
    """The texts of a tensor's numbers, as C's shortest form has them."""
    if is_text(input):
        return input
    values = input.detach().cpu()
    if values.dtype in (weft.float16, weft.bfloat16):
        values = values.float()
    texts = [text(each) for each in values.numpy().ravel()]
    return np.array([*texts, None], dtype=object)[:-1].reshape(tuple(input.shape))


def text(number: Any) -> str:
    """A number's text."""
    if isinstance(number, np.floating):
        if math.isnan(number):
            return "NaN"
        if math.isinf(number):
            return "INF" if number > 0 else "-INF"
    return str(number)


@operator("BitCast")
def bit_cast(input: Any, *, to: int) -> Any:
    dtype = dtype_of(to)
    if dtype.itemsize != input.dtype.itemsize:
        raise ValueError(f"BitCast: from {input.dtype} to {dtype}, which has another size")
    return input.view(dtype)
