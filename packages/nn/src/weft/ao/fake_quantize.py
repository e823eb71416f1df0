"""Rounding to what integers of few bits stand for, with a gradient: for training with quantization's errors."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.autograd import Function

__all__ = ["fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"]


class FakeQuantize(Function):
    """Round to integers and back. The gradient is that of the identity, and 0 where numbers are outside."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Tensor:
        steps = (input * scale.reciprocal()).round() + zero_point
        inside = (steps >= low) & (steps <= high)
        ctx.save_for_backward(inside)
        steps = steps.clamp(low, high)
        return ((steps.where(steps == steps, low) - zero_point) * scale).to(input.dtype)  # nan is the lowest integer

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (inside,) = ctx.saved_tensors
        return grads[0] * inside, None, None, None, None


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: float | Tensor, zero_point: int | Tensor, quant_min: int, quant_max: int
) -> Tensor:
    """``(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale``.

    Parameters
    ----------
    input : Tensor, shape (*)
    scale : float or Tensor of one element
    zero_point : int or Tensor of one element
        Which integer stands for 0.
    quant_min, quant_max : int
        The smallest and largest integer.

    Returns
    -------
    Tensor, shape (*)
        Its gradient is that of the identity, and 0 where the integer was outside.

    Raises
    ------
    RuntimeError
        If the limits are in the wrong order, or the zero point, as an int, is not between them.

    Examples
    --------
    >>> weft.fake_quantize_per_tensor_affine(weft.tensor([-1.0, 0.3, 0.8, 9.0]), 0.5, 0, -8, 7)
    tensor([-1.0000,  0.5000,  1.0000,  3.5000])
    """
    name = "fake_quantize_per_tensor_affine"
    check_limits(name, input, quant_min, quant_max)
    if not isinstance(zero_point, Tensor):
        check_zero_points(name, [zero_point], quant_min, quant_max)
    found = [one_element(name, each, input) for each in (scale, zero_point)]
    result: Tensor = FakeQuantize.apply(input, *found, quant_min, quant_max)
    return result


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each index of a dimension.

    Parameters
    ----------
    input : Tensor, shape (..., C, ...)
    scale : Tensor, shape (C,), float32 or bfloat16
    zero_point : Tensor, shape (C,), int32, float32 or float16
    axis : int
        The dimension of the channels.
    quant_min, quant_max : int

    Returns
    -------
    Tensor, the shape of ``input``

    Raises
    ------
    RuntimeError
        If shapes, dtypes, limits or zero points do not fit.

    Examples
    --------
    >>> x, scales = weft.tensor([[0.3, 0.8], [0.3, 0.8]]), weft.tensor([0.5, 0.25])
    >>> weft.fake_quantize_per_channel_affine(x, scales, weft.zeros(2, dtype=weft.int32), 0, -8, 7)
    tensor([[0.5000, 1.0000],
            [0.2500, 0.7500]])
    """
    name = "fake_quantize_per_channel_affine"
    if scale.dtype not in (weft.float32, weft.bfloat16):
        raise RuntimeError(f"{name}: Scale must be Float or BFloat16, found {scale.dtype.scalar_type_name}")
    if zero_point.dtype not in (weft.int32, weft.float32, weft.float16):
        found = zero_point.dtype.scalar_type_name
        raise RuntimeError(f"{name}: Zero-point must be Int32, Float or Half, found {found}")
    for words, each in (("scale", scale), ("zero point", zero_point)):
        if each.ndim != 1:
            raise RuntimeError(f"{name}: {words} should be a 1-D tensor, got shape {list(each.shape)}")
    if scale.shape != zero_point.shape:
        raise RuntimeError(
            f"{name}: scale and zero-point need to have the same dimensions, got {list(scale.shape)} and "
            f"{list(zero_point.shape)}"
        )
    axis = weft.library.wrap_dim(name, axis, input.ndim)
    if scale.shape[0] != input.shape[axis]:
        raise RuntimeError(
            f"{name}: dimensions of scale and zero-point are not consistent with input tensor: {scale.shape[0]} for "
            f"{input.shape[axis]} channels along axis {axis} of {list(input.shape)}"
        )
    check_limits(name, input, quant_min, quant_max)
    if not zero_point.dtype.is_floating_point and input.device.type == "cpu":  # elsewhere to look would be to wait
        check_zero_points(name, zero_point.tolist(), quant_min, quant_max)
    along = [-1 if dim == axis else 1 for dim in range(input.ndim)]
    result: Tensor = FakeQuantize.apply(input, scale.reshape(along), zero_point.reshape(along), quant_min, quant_max)
    return result


def one_element(name: str, value: float | Tensor, input: Tensor) -> Tensor:
    """A scale or zero point as a tensor without dimensions."""
    if not isinstance(value, Tensor):
        return weft.tensor(value, dtype=weft.float32 if isinstance(value, float) else weft.int32, device=input.device)
    if value.numel() != 1:
        raise RuntimeError(f"{name}: a Tensor with {value.numel()} elements cannot be converted to Scalar")
    return value.reshape(())


def check_limits(name: str, input: Tensor, quant_min: int, quant_max: int) -> None:
    """There are integers between the limits, and the input is of floats."""
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f'{name}: "{name}" not implemented for {input.dtype.scalar_type_name!r}')
    if quant_min > quant_max:
        raise RuntimeError(
            f"{name}: `quant_min` should be less than or equal to `quant_max`, got {quant_min} and {quant_max}"
        )


def check_zero_points(name: str, points: list[int], quant_min: int, quant_max: int) -> None:
    """Zero is one of the numbers that integers stand for."""
    for each in points:
        if not quant_min <= each <= quant_max:
            raise RuntimeError(
                f"{name}: `zero_point` must be between `quant_min` and `quant_max`: got {each}, not in "
                f"[{quant_min}, {quant_max}]"
            )
