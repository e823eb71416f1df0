"""Layers that are trained with the errors that rounding their weights to 8 bits makes.

`weft.ao.quantization.prepare_qat` puts them in the place of a model's layers.
"""

from __future__ import annotations

from typing import Any

from weft import Tensor, nn
from weft.nn import functional as F
from weft.nn.module import Module

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]


class _Trained(Module):
    """A layer whose weight goes through ``weight_fake_quant`` before it is used."""

    weight_fake_quant: Any

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the layer with the parameters of another, which stay the same objects.

        Parameters
        ----------
        mod : Module
            A layer with a ``qconfig``, whose ``weight`` rounds.
        use_precomputed_fake_quant : bool
            PyTorch's; not here.

        Raises
        ------
        ValueError
            If it has no ``qconfig``.
        """
        if getattr(mod, "qconfig", None) is None:
            raise ValueError(f"{cls.__name__}.from_float: the layer has no qconfig, which says how it is rounded")
        made = cls.__new__(cls)
        made.__dict__.update(mod.__dict__)
        for name in ("_parameters", "_buffers", "_modules"):
            made.__dict__[name] = dict(mod.__dict__[name])
        made.weight_fake_quant = mod.qconfig.weight().to(mod.weight.device)
        return made

    def _rounded_weight(self) -> Tensor:
        found: Tensor = self.weight_fake_quant(self.weight)
        return found


class Linear(_Trained, nn.Linear):
    """`weft.nn.Linear` with a rounded weight."""

    def forward(self, input: Tensor) -> Tensor:
        """Compute the layer with the rounded weight."""
        return F.linear(input, self._rounded_weight(), self.bias)


class _TrainedConv(_Trained):
    function: Any

    def forward(self, input: Tensor) -> Tensor:
        """Compute the layer with the rounded weight."""
        layer: Any = self
        input, padding = layer._padded(input)
        result: Tensor = type(self).function(
            input, self._rounded_weight(), layer.bias, layer.stride, padding, layer.dilation, layer.groups
        )
        return result


class Conv1d(_TrainedConv, nn.Conv1d):
    """`weft.nn.Conv1d` with a rounded weight."""

    function = F.conv1d


class Conv2d(_TrainedConv, nn.Conv2d):
    """`weft.nn.Conv2d` with a rounded weight."""

    function = F.conv2d


class Conv3d(_TrainedConv, nn.Conv3d):
    """`weft.nn.Conv3d` with a rounded weight."""

    function = F.conv3d


QAT_LAYERS: dict[type[Module], type[_Trained]] = {
    nn.Linear: Linear,
    nn.Conv1d: Conv1d,
    nn.Conv2d: Conv2d,
    nn.Conv3d: Conv3d,
}
