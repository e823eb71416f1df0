"""Layers with weights of 8 bits, whose inputs are rounded by the range that each of them has; outputs are floats.

As in `weft.ao.nn.quantized`, the arithmetic between is that of floats. Nothing is to be calibrated.
"""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor, nn
from weft.ao.decomposed import dequantize, quantize
from weft.ao.nn import intrinsic
from weft.ao.nn.quantized.modules import rounded
from weft.nn.module import Module
from weft.nn.utils.rnn import PackedSequence

__all__ = [
    "DYNAMIC_LAYERS",
    "GRU",
    "LSTM",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "GRUCell",
    "LSTMCell",
    "Linear",
    "RNNCell",
]


def rounded_by_range(input: Tensor) -> Tensor:
    """Round numbers to 256 values between their smallest and their largest, of which one is 0."""
    zero = weft.zeros((), dtype=weft.float32, device=input.device)
    flat = weft.cat([input.reshape(-1), zero.reshape(1)])
    low, high = flat.amin(), flat.amax()
    scale = ((high - low) / 255).clamp(min=weft.finfo(weft.float32).tiny)
    zero_point = (-low / scale).round().clamp(0, 255).to(weft.uint8)
    return rounded(input, scale, zero_point)


class _Dynamic(Module):
    """A layer that reads its weights from buffers of int8.

    Attributes
    ----------
    <weight>_int8 : Tensor of int8
        Of each weight, by the name that it has in the layer, where reading it gives floats.
    <weight>_scale : Tensor of float32, shape () or (rows,)
    """

    @classmethod
    def from_float(cls, mod: Any) -> Any:
        """Return the layer with rounded weights.

        Parameters
        ----------
        mod : Module
            The layer, whose ``qconfig.weight`` chooses the scales.
        """
        layer = mod[0] if isinstance(mod, nn.Sequential) else mod
        made = cls.__new__(cls)
        Module.__init__(made)
        for name, value in vars(layer).items():
            if name not in ("_parameters", "_buffers", "_modules", "qconfig"):
                made.__dict__[name] = value
        made.training = False
        made.__dict__["relu"] = isinstance(mod, nn.Sequential)
        for name, parameter in layer.named_parameters(recurse=False):
            if name.startswith("weight"):
                made._hold(name, parameter.detach(), mod.qconfig.weight())
            else:
                made.register_parameter(name, parameter)
        for name in layer._parameters.keys() - {each for each, _ in layer.named_parameters(recurse=False)}:
            made.register_parameter(name, None)
        return made

    def _hold(self, name: str, weight: Tensor, observer: Any) -> None:
        observer(weight)
        scale, zero_point = observer.calculate_qparams()
        if bool(zero_point.any()):
            raise ValueError(f"quantize_dynamic: weights are rounded symmetrically; got {type(observer).__name__}")
        axis = 0 if observer.qscheme is weft.per_channel_symmetric else None
        scale = scale.to(weft.float32).reshape(-1 if axis == 0 else ())
        integers = quantize.op(weight, scale, weft.zeros_like(scale, dtype=weft.int8), axis)
        self.register_buffer(f"{name}_int8", integers.clamp(observer.quant_min, observer.quant_max))
        self.register_buffer(f"{name}_scale", scale)

    def __getattr__(self, name: str) -> Any:
        integers = self.__dict__.get("_buffers", {}).get(f"{name}_int8")
        if integers is None:
            return super().__getattr__(name)
        scale: Any = self._buffers[f"{name}_scale"]
        return dequantize.op(integers, scale, None, 0 if scale.ndim else None)

    def forward(self, input: Any, *state: Any) -> Any:
        """Run the layer on the rounded input."""
        if isinstance(input, PackedSequence):
            input = input._replace(data=rounded_by_range(input.data))
        else:
            input = rounded_by_range(input)
        result = super().forward(input, *state)  # type: ignore[misc]  # the layer's, which comes after this class
        return result.relu() if self.__dict__["relu"] else result

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, dtype=weft.qint8"


class Linear(_Dynamic, nn.Linear):
    """`weft.nn.Linear` with a weight of int8."""


class Conv1d(_Dynamic, nn.Conv1d):
    """`weft.nn.Conv1d` with a weight of int8."""


class Conv2d(_Dynamic, nn.Conv2d):
    """`weft.nn.Conv2d` with a weight of int8."""


class Conv3d(_Dynamic, nn.Conv3d):
    """`weft.nn.Conv3d` with a weight of int8."""


class LSTM(_Dynamic, nn.LSTM):
    """`weft.nn.LSTM` with weights of int8; its states are floats."""


class GRU(_Dynamic, nn.GRU):
    """`weft.nn.GRU` with weights of int8; its states are floats."""


class LSTMCell(_Dynamic, nn.LSTMCell):
    """`weft.nn.LSTMCell` with weights of int8."""


class GRUCell(_Dynamic, nn.GRUCell):
    """`weft.nn.GRUCell` with weights of int8."""


class RNNCell(_Dynamic, nn.RNNCell):
    """`weft.nn.RNNCell` with weights of int8."""


DYNAMIC_LAYERS: dict[type[Module], type[_Dynamic]] = {
    nn.Linear: Linear,
    nn.Conv1d: Conv1d,
    nn.Conv2d: Conv2d,
    nn.Conv3d: Conv3d,
    intrinsic.LinearReLU: Linear,
    intrinsic.ConvReLU1d: Conv1d,
    intrinsic.ConvReLU2d: Conv2d,
    intrinsic.ConvReLU3d: Conv3d,
    nn.LSTM: LSTM,
    nn.GRU: GRU,
    nn.LSTMCell: LSTMCell,
    nn.GRUCell: GRUCell,
    nn.RNNCell: RNNCell,
}
