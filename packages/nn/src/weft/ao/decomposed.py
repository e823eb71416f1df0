"""Rounding to integers of few bits and back, as ops: the arithmetic of ONNX's QuantizeLinear and DequantizeLinear.

PyTorch has them as ``torch.ops.quantized_decomposed``. The integers are tensors of int8 or uint8, and their scale is an
argument; `weft.quantize_per_tensor` makes tensors that have both.
"""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.library.declare import op

__all__ = ["dequantize_per_channel", "dequantize_per_tensor", "quantize_per_channel", "quantize_per_tensor"]


def quantize_per_tensor(
    input: Tensor,
    scale: float | Tensor,
    zero_point: int | Tensor,
    quant_min: int,
    quant_max: int,
    dtype: weft.dtype,
) -> Tensor:
    """Round to integers: ``input / scale``, to the nearest, to even at a half, plus the zero point.

    Parameters
    ----------
    input : Tensor, shape (*)
    scale : float or Tensor of one element
    zero_point : int or Tensor of one element
        Which integer stands for 0.
    quant_min, quant_max : int
        What is outside becomes one of these.
    dtype : dtype
        int8, uint8, int16, uint16 or int32.

    Returns
    -------
    Tensor, shape (*), of ``dtype``

    Examples
    --------
    >>> from weft.ao.decomposed import quantize_per_tensor
    >>> quantize_per_tensor(weft.tensor([-1.0, 0.25, 0.75, 9.0]), 0.5, 10, 0, 127, weft.uint8)
    tensor([  8,  10,  12,  28], dtype=weft.uint8)
    """
    scale, zero_point = _scalar(scale, input, weft.float32), _scalar(zero_point, input, dtype)
    return _limited(quantize.op(input, scale, zero_point, None), quant_min, quant_max)


def dequantize_per_tensor(
    input: Tensor,
    scale: float | Tensor,
    zero_point: int | Tensor,
    quant_min: int,
    quant_max: int,
    dtype: weft.dtype,
) -> Tensor:
    """Return the numbers that integers stand for: ``(input - zero_point) * scale``.

    Parameters
    ----------
    input : Tensor, shape (*), of ``dtype``
    scale : float or Tensor of one element
    zero_point : int or Tensor of one element
    quant_min, quant_max : int
        Not used; PyTorch's signature has them.
    dtype : dtype

    Returns
    -------
    Tensor, shape (*), of float32

    Examples
    --------
    >>> from weft.ao.decomposed import dequantize_per_tensor
    >>> dequantize_per_tensor(weft.tensor([8, 10, 28], dtype=weft.uint8), 0.5, 10, 0, 127, weft.uint8)
    tensor([-1.,  0.,  9.])
    """
    return dequantize.op(input, _scalar(scale, input, weft.float32), _scalar(zero_point, input, dtype), None)


def quantize_per_channel(
    input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, quant_min: int, quant_max: int, dtype: weft.dtype
) -> Tensor:
    """`quantize_per_tensor` with a scale and a zero point for each place along an axis.

    Parameters
    ----------
    input : Tensor, shape (*)
    scales, zero_points : Tensor, shape (input.shape[axis],)
    axis : int
    quant_min, quant_max : int
    dtype : dtype

    Returns
    -------
    Tensor, shape (*), of ``dtype``

    Examples
    --------
    >>> from weft.ao.decomposed import quantize_per_channel
    >>> scales, zeros = weft.tensor([1.0, 0.1]), weft.zeros(2, dtype=weft.int32)
    >>> quantize_per_channel(weft.ones(2, 1), scales, zeros, 0, -128, 127, weft.int8)
    tensor([[ 1],
            [10]], dtype=weft.int8)
    """
    axis = _axis("quantize_per_channel", input, scales, zero_points, axis)
    rounded = quantize.op(input, scales.to(weft.float32), zero_points.to(dtype), axis)
    return _limited(rounded, quant_min, quant_max)


def dequantize_per_channel(
    input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, quant_min: int, quant_max: int, dtype: weft.dtype
) -> Tensor:
    """`dequantize_per_tensor` with a scale and a zero point for each place along an axis.

    Parameters
    ----------
    input : Tensor, shape (*), of ``dtype``
    scales, zero_points : Tensor, shape (input.shape[axis],)
    axis : int
    quant_min, quant_max : int
        Not used.
    dtype : dtype

    Returns
    -------
    Tensor, shape (*), of float32

    Examples
    --------
    >>> from weft.ao.decomposed import dequantize_per_channel
    >>> scales, zeros = weft.tensor([1.0, 0.1]), weft.zeros(2, dtype=weft.int32)
    >>> dequantize_per_channel(weft.tensor([[1], [10]], dtype=weft.int8), scales, zeros, 0, -128, 127, weft.int8)
    tensor([[1.],
            [1.]])
    """
    axis = _axis("dequantize_per_channel", input, scales, zero_points, axis)
    return dequantize.op(input, scales.to(weft.float32), zero_points.to(dtype), axis)


def _scalar(value: float | Tensor, input: Tensor, dtype: weft.dtype) -> Tensor:
    if isinstance(value, Tensor):
        return value.reshape(()).to(dtype)
    return weft.tensor(value, dtype=dtype, device=input.device)


def _axis(name: str, input: Tensor, scales: Tensor, zero_points: Tensor, axis: int) -> int:
    axis = weft.library.wrap_dim(name, axis, input.ndim)
    wanted = input.shape[axis : axis + 1]
    if scales.shape != wanted or zero_points.shape != wanted:
        raise RuntimeError(
            f"{name}: input of shape {list(input.shape)} has {wanted[0]} channels along axis {axis}; got scales of "
            f"shape {list(scales.shape)} and zero_points of shape {list(zero_points.shape)}"
        )
    return axis


def _limited(rounded: Tensor, quant_min: int, quant_max: int) -> Tensor:
    """Narrow to fewer integers than the dtype has: its own limits are the op's."""
    info = weft.iinfo(rounded.dtype)
    if quant_min <= info.min and quant_max >= info.max:
        return rounded
    return rounded.clamp(quant_min, quant_max)


@op(tensors="input scale zero_point", dtypes="float", gradient=None, namespace="quantized_decomposed")
def quantize(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int | None) -> Tensor:
    """Round to integers of the zero point's dtype, by one scale or by one for each place along an axis."""
    return quantize.op(input, scale, zero_point, axis)


@quantize.kernel
def _(xp: Any, input: Any, scale: Any, zero_point: Any, axis: int | None) -> Any:
    along = () if axis is None else (-1,) + (1,) * (input.ndim - 1 - axis)
    limits = xp.iinfo(zero_point.dtype)
    # Divided, not multiplied by 1 / scale: the last bit decides at a half, and ONNX divides.
    rounded = xp.rint(input.astype(xp.float32) / scale.reshape(along)) + zero_point.reshape(along).astype(xp.float32)
    return xp.clip(rounded, limits.min, limits.max).astype(zero_point.dtype)


@op(tensors="input scale zero_point", dtypes="int", gradient=None, namespace="quantized_decomposed")
def dequantize(input: Tensor, scale: Tensor, zero_point: Tensor | None, axis: int | None) -> Tensor:
    """Return the numbers that integers stand for, in the scale's dtype; without a zero point it is 0."""
    return dequantize.op(input, scale, zero_point, axis)


@dequantize.kernel
def _(xp: Any, input: Any, scale: Any, zero_point: Any, axis: int | None) -> Any:
    along = () if axis is None else (-1,) + (1,) * (input.ndim - 1 - axis)
    steps = input.astype(xp.int32)
    if zero_point is not None:
        steps = steps - zero_point.reshape(along).astype(xp.int32)
    return steps.astype(scale.dtype) * scale.reshape(along)


@quantize.onnx
def _(graph: Any, input: Any, scale: Any, zero_point: Any, axis: int | None) -> Any:
    return graph.emit("QuantizeLinear", input, scale, zero_point, axis=axis, dtype=zero_point.dtype)


@dequantize.onnx
def _(graph: Any, input: Any, scale: Any, zero_point: Any, axis: int | None) -> Any:
    if zero_point is None and input.dtype is not weft.int32:  # onnxruntime's integer kernels want one
        zero_point = graph.constant([0] * scale.shape[0] if scale.ndim else 0, dtype=input.dtype)
    return graph.emit("DequantizeLinear", input, scale, zero_point, axis=axis, dtype=scale.dtype)
