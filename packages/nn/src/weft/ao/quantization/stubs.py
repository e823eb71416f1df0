"""Where a model that might be quantized would convert its tensors: modules that return them."""

from __future__ import annotations

from typing import Any

from weft import Tensor
from weft.nn.module import Module

__all__ = ["DeQuantStub", "QuantStub"]


class QuantStub(Module):
    """Before the layers that would be quantized: returns its tensor.

    Parameters
    ----------
    qconfig : object, optional
        Kept: how to quantize.
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """Return the tensor."""
        return x


class DeQuantStub(QuantStub):
    """Behind the layers that would be quantized: returns its tensor."""
