"""Modules that round tensors as quantization would, so that a model is trained with its errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

from weft import Tensor, tensor, uint8
from weft.ao.quantization.observer import Prepared
from weft.nn.module import Module

__all__ = ["FakeQuantizeBase"]


class FakeQuantizeBase(ABC, Module):
    """What all such modules are: whether they round and whether they observe are buffers, saved with the model."""

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", tensor([1], dtype=uint8))
        self.register_buffer("observer_enabled", tensor([1], dtype=uint8))

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Return the tensor, rounded if that is on."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return the scale and the zero point."""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round, or not."""
        self.fake_quant_enabled[0] = int(enabled)

    def disable_fake_quant(self) -> None:
        """Do not round."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Observe, or not."""
        self.observer_enabled[0] = int(enabled)

    def disable_observer(self) -> None:
        """Do not observe."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> Prepared:
        """Return the class with some of its arguments."""
        return Prepared(partial(cls, **kwargs))
