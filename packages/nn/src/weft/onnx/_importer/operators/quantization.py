"""Quantized numbers: to them, from them, and products of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
from weft.onnx._importer.operators._common import is_narrow, to_dtype
from weft.onnx._importer.operators.convolution import conv
from weft.onnx._importer.operators.elementwise import saturated
from weft.onnx._importer.reading import dtype_of, narrow_dtype, tensor_from_numpy
from weft.onnx._importer.registry import operator


def along(value: Any, x: Any, axis: int, block_size: int) -> Any:
    """A scale or zero point lined up with what it is for: one number, one for each position of an axis or block."""
    if value is None or value.ndim == 0 or (value.numel() == 1 and value.ndim < 2):
        return value if value is None else value.reshape(())
    axis %= x.ndim
    if block_size:
        return value.repeat_interleave(block_size, axis).narrow(axis, 0, x.shape[axis])
    shape = [1] * x.ndim
    shape[axis] = -1
    return value.reshape(shape)


@operator("QuantizeLinear", frozen="y_scale y_zero_point")
def quantize_linear(
    x: Any,
    y_scale: Any,
    y_zero_point: Any = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Any:
    narrow = narrow_dtype(output_dtype)
    dtype = weft.uint8 if not output_dtype else dtype_of(output_dtype) if narrow is None else narrow
    dtype = dtype if y_zero_point is None else y_zero_point.dtype
    y_zero_point = widened(y_zero_point)
    computed = dtype_of(precision) if precision else y_scale.dtype
    scale = along(y_scale, x, axis, block_size)
    quotient = x.to(computed) / scale.to(computed)
    return quantized(quotient, along(y_zero_point, x, axis, block_size), dtype, bool(saturate))


def quantized(quotient: Any, zero_point: Any, dtype: Any, saturate: bool = True) -> Any:
    """Numbers in units of the scale, rounded (halves to even), moved and limited."""
    if isinstance(dtype, np.dtype):
        return narrowed(quotient, zero_point, dtype)
    if dtype.is_floating_point:
        moved = quotient if zero_point is None else quotient + zero_point.to(quotient.dtype)
        return saturated(moved, dtype) if saturate else moved.to(dtype)
    limits = weft.iinfo(dtype)
    rounded = quotient.float().round()
    if zero_point is not None:
        rounded = rounded + zero_point.float()
    return rounded.clamp(limits.min, limits.max).to(dtype)


def widened(value: Any) -> Any:
    """Narrow numbers as a tensor; anything else as it is."""
    return tensor_from_numpy(value.astype(np.float32)) if is_narrow(value) else value


def narrowed(quotient: Any, zero_point: Any, dtype: Any) -> Any:
    """Numbers as an array of a narrow dtype, rounded, moved and limited."""
    import ml_dtypes

    numbers = quotient.detach().cpu().float().numpy()
    is_float = np.dtype(dtype).name.startswith("float")
    limits: Any = (ml_dtypes.finfo if is_float else ml_dtypes.iinfo)(dtype)
    numbers = numbers if is_float else numbers.round()
    numbers = numbers if zero_point is None else numbers + zero_point.cpu().numpy()
    return numbers.clip(float(limits.min), float(limits.max)).astype(dtype)


@operator("DequantizeLinear", frozen="x x_scale x_zero_point")
def dequantize_linear(
    x: Any, x_scale: Any, x_zero_point: Any = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0
) -> Any:
    dtype = dtype_of(output_dtype) if output_dtype else x_scale.dtype
    x, x_zero_point = widened(x), widened(x_zero_point)
    scale, zero_point = along(x_scale, x, axis, block_size), along(x_zero_point, x, axis, block_size)
    if x.dtype == weft.int32:
        numbers = x if zero_point is None else x - zero_point
        return to_dtype(numbers.to(dtype) * scale.to(dtype), dtype)
    numbers = x.float() if zero_point is None else x.float() - zero_point.float()
    return to_dtype(numbers.to(dtype) * scale.to(dtype), dtype)


@operator("DynamicQuantizeLinear")
def dynamic_quantize_linear(x: Any) -> Any:
    low, high = x.amin().clamp(max=0), x.amax().clamp(min=0)
    scale = (high - low) / 255
    scale = weft.where(scale == 0, 1, scale)
    zero_point = (-low / scale).round().clamp(0, 255).to(weft.uint8)
    return quantized(x / scale, zero_point, weft.uint8), scale, zero_point


def moved(x: Any, zero_point: Any, axis: int) -> Any:
    """Integers less their zero point, in float64, which holds every product of a row of any length in use."""
    numbers = x.double()
    if zero_point is None:
        return numbers
    zero_point = zero_point.double()
    if zero_point.ndim == 1 and zero_point.numel() > 1:
        shape = [1] * x.ndim
        shape[axis] = -1
        zero_point = zero_point.reshape(shape)
    elif zero_point.numel() == 1:
        zero_point = zero_point.reshape(())
    return numbers - zero_point


@operator("MatMulInteger", frozen="a_zero_point b_zero_point")
def matmul_integer(a: Any, b: Any, a_zero_point: Any = None, b_zero_point: Any = None) -> Any:
    return weft.matmul(moved(a, a_zero_point, a.ndim - 2), moved(b, b_zero_point, b.ndim - 1)).to(weft.int32)


@operator("ConvInteger", frozen="x_zero_point w_zero_point")
def conv_integer(
    x: Any,
    w: Any,
    x_zero_point: Any = None,
    w_zero_point: Any = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Any:
    geometry = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "pads": pads, "strides": strides}
    return conv(moved(x, x_zero_point, 1), moved(w, w_zero_point, 0), **geometry).to(weft.int32)


@operator("QLinearMatMul", frozen="a_scale a_zero_point b_scale b_zero_point y_scale y_zero_point")
def qlinear_matmul(
    a: Any, a_scale: Any, a_zero_point: Any, b: Any, b_scale: Any, b_zero_point: Any, y_scale: Any, y_zero_point: Any
) -> Any:
    sums = weft.matmul(moved(a, a_zero_point, a.ndim - 2), moved(b, b_zero_point, b.ndim - 1))
    scale = column_of(a_scale, a).double() * b_scale.double() / y_scale.double()
    return quantized(sums * scale, y_zero_point, y_zero_point.dtype)


def column_of(scale: Any, a: Any) -> Any:
    """The scales of rows, lined up with them."""
    return scale[..., None] if scale.ndim and scale.numel() > 1 else scale


@operator("QLinearConv", frozen="x_scale x_zero_point w_scale w_zero_point y_scale y_zero_point b")
def qlinear_conv(
    x: Any,
    x_scale: Any,
    x_zero_point: Any,
    w: Any,
    w_scale: Any,
    w_zero_point: Any,
    y_scale: Any,
    y_zero_point: Any,
    b: Any = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Any:
    geometry = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "pads": pads, "strides": strides}
    bias = None if b is None else b.double()
    sums = conv(moved(x, x_zero_point, 1), moved(w, w_zero_point, 0), bias, **geometry)
    scale = x_scale.double() * w_scale.double() / y_scale.double()
    scale = scale.reshape([-1, *[1] * (x.ndim - 2)]) if scale.numel() > 1 else scale.reshape(())
    return quantized(sums * scale, y_zero_point, y_zero_point.dtype)
