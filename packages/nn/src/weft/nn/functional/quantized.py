"""Convolutions of 8-bit integers, which quantized models are made of, as `weft._int_mm` is for their matrix products.

PyTorch convolves integers in their own dtype, where sums of 8-bit ones go around; its quantized tensors hide sums in
32 bits, and a scale for each channel that makes floats of them. Here both are functions of plain tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft import Tensor, float32, int8, int32, uint8
from weft.library.declare import op
from weft.nn.functional._common import for_axes
from weft.nn.functional.convolution import convolve, is_batched, with_geometry

__all__ = ["_int_conv1d", "_int_conv2d", "_int_conv3d"]


def integer_convolution(count: int) -> Any:
    """The op ``_int_conv<count>d``."""
    name = f"_int_conv{count}d"
    shapes = f"((1, 1, {'1, ' * (count - 1)}3), (1, 1, {'1, ' * (count - 1)}2))"

    @for_axes(name, count, shapes=shapes)
    def function(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | str = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        *,
        scale: Tensor | None = None,
    ) -> Tensor:
        """Convolve integers of 8 bits, (N, C, {spatial}), with kernels, exactly: the sums are those of int32.

        Parameters
        ----------
        input : Tensor, shape (N, in_channels, {spatial}) or (in_channels, {spatial}), of int8 or uint8
        weight : Tensor, shape (out_channels, in_channels / groups, *kernel_size), of int8
        bias : Tensor, shape (out_channels,), optional
            Of int32; of float32 if there is a ``scale``.
        stride, padding, dilation, groups
            Those of `conv{count}d`.
        scale : Tensor, shape () or (out_channels,), of float32, optional
            The result is ``sums * scale + bias`` in float32: with the scale of the input times those of the weight's
            channels it is what the quantized tensors stand for.

        Returns
        -------
        Tensor, of int32; with a ``scale`` of float32.

        Raises
        ------
        RuntimeError
            If shapes, channels or dtypes do not fit together.

        Examples
        --------
        >>> input, weight = (weft.full(shape, 100, dtype=weft.int8) for shape in {shapes})
        >>> weft._int_conv{count}d(input, weight).flatten()
        tensor([20000, 20000], dtype=weft.int32)
        >>> weft._int_conv{count}d(input, weight, scale=weft.tensor(0.5)).flatten()
        tensor([10000., 10000.])
        """
        check_dtypes(name, input, weight, bias, scale)
        batched = is_batched(name, count, input, weight)
        if not batched:
            input = input.unsqueeze(0)
        input, *geometry = with_geometry(name, count, input, weight, bias, stride, padding, dilation, groups)
        if scale is not None:
            scale = for_each_channel(name, scale, weight.shape[0])
        result = declared.op(input, weight, bias, scale, *geometry)
        return result if batched else result.squeeze(0)

    declared = op(
        tensors="input weight bias scale", dtypes="int", gradient=None, namespace="nn", name=name.removeprefix("_")
    )(function)
    declared.kernel(convolve_bytes)
    return declared


def check_dtypes(name: str, input: Any, weight: Any, bias: Any, scale: Any) -> None:
    """Integers of 8 bits, and a bias in the dtype of the result."""
    wanted = {"input": (input, (int8, uint8)), "weight": (weight, (int8,)), "scale": (scale, (float32,))}
    wanted["bias"] = bias, (int32 if scale is None else float32,)
    for argument, (tensor, dtypes) in wanted.items():
        if tensor is None and argument in ("bias", "scale"):
            continue
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name}: {argument} must be a Tensor, got {type(tensor).__name__}")
        if tensor.dtype not in dtypes:
            names = " or ".join(str(each) for each in dtypes)
            raise RuntimeError(
                f"{name}: {argument} must be {names}, got {tensor.dtype}. Convert it with .to({dtypes[0]})"
            )


def for_each_channel(name: str, scale: Tensor, out_channels: int) -> Tensor:
    """The scale as a vector."""
    if scale.ndim > 1 or scale.numel() not in (1, out_channels):
        raise RuntimeError(
            f"{name}: scale must be one number, or one for each of the {out_channels} output channels, got shape "
            f"{list(scale.shape)}"
        )
    return scale.expand(out_channels)


def convolve_bytes(xp: Any, input: Any, weight: Any, bias: Any, scale: Any, *geometry: Any) -> Any:
    """The sums, and what the scale makes of them."""
    wide = input.astype(xp.int32), weight.astype(xp.int32)
    if scale is None:
        return convolve(xp, *wide, bias, *geometry)
    along = (-1, *(1,) * (input.ndim - 2))
    result = convolve(xp, *wide, None, *geometry).astype(xp.float32)
    result *= scale.reshape(along)
    if bias is not None:
        result += bias.reshape(along)
    return result


_int_conv1d = integer_convolution(1)
_int_conv2d = integer_convolution(2)
_int_conv3d = integer_convolution(3)
