"""Layers with weights of 8 bits, whose inputs and outputs are rounded to integers of 8 bits.

They take and give floats: between rounding and its inverse lies what an integer kernel computes, and onnxruntime puts
one there when it reads such a file. weft computes it in floats.
"""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor, nn
from weft.ao.decomposed import dequantize, quantize
from weft.ao.nn import intrinsic, qat
from weft.nn import functional as F
from weft.nn.convolution import _PlainConv
from weft.nn.module import Module

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear", "MaxPool2d"]

MaxPool2d = nn.MaxPool2d  # which gives integers as it finds them
INTEGERS = {weft.qint8: weft.int8, weft.quint8: weft.uint8}


class _Quantized(Module):
    """A layer whose weight is of int8, bias of int32, input and output of 8 bits.

    Attributes
    ----------
    weight : Tensor of int8
    weight_scale : Tensor of float32, shape () or (out_channels,)
    bias : Tensor of int32, shape (out_channels,), or None
        In units of the product of the input's and the weight's scales, as sums of products are.
    input_scale, scale : Tensor of float32, shape ()
    input_zero_point, zero_point : Tensor of uint8 or int8, shape ()
        Those of the output are ``scale`` and ``zero_point``.
    """

    weight: Tensor
    weight_scale: Tensor
    bias: Tensor | None
    bias_scale: Tensor
    input_scale: Tensor
    input_zero_point: Tensor
    scale: Tensor
    zero_point: Tensor

    def __init__(self, layer: Any, relu: bool) -> None:
        Module.__init__(self)
        self.layer = layer
        self.relu = relu
        self.training = False

    @classmethod
    def from_observed(cls, module: Any) -> _Quantized:
        """Return the layer with the scales that a module's observers chose.

        Parameters
        ----------
        module : Module
            That `weft.ao.quantization.prepare` has prepared, after calibration.
        """
        relu = isinstance(module, nn.Sequential)
        made = cls(module[0] if relu else module, relu)
        made._set_activation("input_", module.activation_pre_process)
        made._set_activation("", module.activation_post_process)
        made._set_weight(getattr(made.layer, "weight_fake_quant", None) or module.qconfig.weight())
        del made.layer
        return made

    def _set_activation(self, prefix: str, observer: Any) -> None:
        scale, zero_point = observer.calculate_qparams()
        dtype = INTEGERS.get(observer.dtype, observer.dtype)
        self.register_buffer(f"{prefix}scale", scale.reshape(()).to(weft.float32))
        self.register_buffer(f"{prefix}zero_point", zero_point.reshape(()).to(dtype))

    def _set_weight(self, observer: Any) -> None:
        weight, bias = self.layer.weight.detach(), self.layer.bias
        observer(weight)
        scale, zero_point = observer.calculate_qparams()
        if INTEGERS.get(observer.dtype, observer.dtype) is not weft.int8 or bool(zero_point.any()):
            raise ValueError(
                f"convert: weights are quantized to qint8, symmetrically; {type(observer).__name__} has "
                f"{observer.dtype} and {observer.qscheme}"
            )
        self.axis = 0 if observer.qscheme is weft.per_channel_symmetric else None
        scale = scale.to(weft.float32).reshape(-1 if self.axis == 0 else ())
        zeros = weft.zeros_like(scale, dtype=weft.int8)
        rounded = quantize.op(weight, scale, zeros, self.axis).clamp(observer.quant_min, observer.quant_max)
        self.register_buffer("weight", rounded)
        self.register_buffer("weight_scale", scale)
        # Sums of products of integers are in these units, and so is the bias, which is added to them.
        self.register_buffer("bias_scale", scale * self.input_scale)
        self.register_buffer("bias", None if bias is None else self._rounded_bias(bias.detach()))

    def _rounded_bias(self, bias: Tensor) -> Tensor:
        largest = 2**31 - 128  # float32's last number below 2**31
        return (bias.double() / self.bias_scale.double()).round().clamp(-largest, largest).to(weft.int32)

    def forward(self, input: Tensor) -> Tensor:
        """Compute the layer on rounded numbers, and round the result."""
        weight = dequantize.op(self.weight, self.weight_scale, None, self.axis)
        bias = None if self.bias is None else dequantize.op(self.bias, self.bias_scale, None, self.axis)
        result = self._compute(rounded(input, self.input_scale, self.input_zero_point), weight, bias)
        return rounded(result.relu() if self.relu else result, self.scale, self.zero_point)

    def _compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        raise NotImplementedError

    def extra_repr(self) -> str:
        shape = "x".join(map(str, self.weight.shape))
        return f"{shape}, scale={self.scale.item():.6g}, zero_point={self.zero_point.item()}, relu={self.relu}"


def rounded(input: Tensor, scale: Tensor, zero_point: Tensor) -> Tensor:
    """Round numbers to what integers stand for."""
    return dequantize.op(quantize.op(input, scale, zero_point, None), scale, zero_point, None)


class Linear(_Quantized):
    """`weft.nn.Linear` with a weight of int8."""

    def _compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return F.linear(input, weight, bias)


class _QuantizedConv(_Quantized, _PlainConv):  # type: ignore[misc]  # its weight and bias are buffers
    function: Any

    def __init__(self, layer: Any, relu: bool) -> None:
        super().__init__(layer, relu)
        padding = ("padding", "padding_mode", "_reversed_padding_repeated_twice")
        for name in ("kernel_size", "stride", "dilation", "groups", *padding):
            setattr(self, name, getattr(layer, name))

    def _compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        input, padding = self._padded(input)
        return type(self).function(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_QuantizedConv):
    """`weft.nn.Conv1d` with a weight of int8."""

    _spatial_axes = 1
    function = F.conv1d


class Conv2d(_QuantizedConv):
    """`weft.nn.Conv2d` with a weight of int8."""

    _spatial_axes = 2
    function = F.conv2d


class Conv3d(_QuantizedConv):
    """`weft.nn.Conv3d` with a weight of int8."""

    _spatial_axes = 3
    function = F.conv3d


LAYERS: dict[type[Module], type[_Quantized]] = {
    nn.Linear: Linear,
    nn.Conv1d: Conv1d,
    nn.Conv2d: Conv2d,
    nn.Conv3d: Conv3d,
    qat.Linear: Linear,
    qat.Conv1d: Conv1d,
    qat.Conv2d: Conv2d,
    qat.Conv3d: Conv3d,
    intrinsic.LinearReLU: Linear,
    intrinsic.ConvReLU1d: Conv1d,
    intrinsic.ConvReLU2d: Conv2d,
    intrinsic.ConvReLU3d: Conv3d,
}
