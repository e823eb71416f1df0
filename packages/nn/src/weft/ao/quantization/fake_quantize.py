"""Modules that round tensors as quantization would, so that a model is trained with its errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import weft
from weft import Tensor, tensor, uint8
from weft.ao import fake_quantize
from weft.ao.quantization.observer import (
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    Prepared,
)
from weft.nn.module import Module

__all__ = [
    "FakeQuantize",
    "FakeQuantizeBase",
    "FusedMovingAvgObsFakeQuantize",
    "default_fake_quant",
    "default_fused_act_fake_quant",
    "default_fused_per_channel_wt_fake_quant",
    "default_fused_wt_fake_quant",
    "default_per_channel_weight_fake_quant",
    "default_weight_fake_quant",
    "disable_fake_quant",
    "disable_observer",
    "enable_fake_quant",
    "enable_observer",
]


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


class FakeQuantize(FakeQuantizeBase):
    """Rounds what it is given to integers and back, by the range that its observer has seen.

    Gradients go through as if nothing was rounded, but to numbers outside of the range (arXiv:1806.08342, section 3).

    Parameters
    ----------
    observer : class or callable, default MovingAverageMinMaxObserver
    quant_min, quant_max : int, optional
        The smallest and the largest integer; default: the observer's.
    is_dynamic : bool
        Whether each tensor has a scale of its own.
    **observer_kwargs
        Arguments of the observer.

    Attributes
    ----------
    activation_post_process : ObserverBase
    scale, zero_point : Tensor, shape (1,) or (channels,)

    Examples
    --------
    >>> fake = weft.ao.quantization.FakeQuantize(quant_min=0, quant_max=3)
    >>> fake(weft.tensor([0.0, 0.4, 0.6, 3.0]))
    tensor([0., 0., 1., 3.])
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        limits = {"quant_min": quant_min, "quant_max": quant_max}
        if is_dynamic:
            observer_kwargs |= {"is_dynamic": True}
        given = {name: limit for name, limit in limits.items() if limit is not None}
        self.activation_post_process = observer(**observer_kwargs, **given)
        self.quant_min: int = self.activation_post_process.quant_min
        self.quant_max: int = self.activation_post_process.quant_max
        self.dtype, self.qscheme = self.activation_post_process.dtype, self.activation_post_process.qscheme
        self.ch_axis: int = getattr(self.activation_post_process, "ch_axis", -1)
        self.is_dynamic = is_dynamic
        self.is_per_channel = self.ch_axis >= 0
        self.register_buffer("scale", tensor([1.0]))
        self.register_buffer("zero_point", tensor([0], dtype=weft.int32))

    @property
    def min_val(self) -> Tensor:
        """The smallest number that the observer goes by."""
        found: Tensor = self.activation_post_process.min_val
        return found

    @property
    def max_val(self) -> Tensor:
        """The largest number that the observer goes by."""
        found: Tensor = self.activation_post_process.max_val
        return found

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return the scale and the zero point that the observer chooses."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Tensor) -> Tensor:
        """Return the tensor, rounded if that is on; look at it first if that is on."""
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            self.scale, self.zero_point = self.calculate_qparams()
        if self.fake_quant_enabled[0] == 0:
            return X
        along = [-1 if dim == self.ch_axis else 1 for dim in range(X.ndim)] if self.is_per_channel else []
        scale, zero_point = self.scale.reshape(along), self.zero_point.reshape(along)
        made: Tensor = fake_quantize.FakeQuantize.apply(X, scale, zero_point, self.quant_min, self.quant_max)
        return made

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"quant_min={self.quant_min}, quant_max={self.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any) -> None:
        for name in ("scale", "zero_point"):  # whose lengths follow from what was seen
            if f"{prefix}{name}" in state_dict:
                setattr(self, name, weft.empty_like(state_dict[f"{prefix}{name}"]))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """`FakeQuantize` by a moving average, under the name that PyTorch has for its fused kernel."""


_ACTIVATION = {"observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255, "dtype": weft.quint8}
_WEIGHT = {"quant_min": -128, "quant_max": 127, "dtype": weft.qint8}
_OF_ALL = {**_WEIGHT, "observer": MovingAverageMinMaxObserver, "qscheme": weft.per_tensor_symmetric}
_OF_CHANNELS = {
    **_WEIGHT,
    "observer": MovingAveragePerChannelMinMaxObserver,
    "qscheme": weft.per_channel_symmetric,
    "ch_axis": 0,
}
default_fake_quant = FakeQuantize.with_args(**_ACTIVATION, qscheme=weft.per_tensor_affine, reduce_range=True)
default_weight_fake_quant = FakeQuantize.with_args(**_OF_ALL, reduce_range=False)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(**_OF_CHANNELS, reduce_range=False)
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_ACTIVATION)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_OF_ALL)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_OF_CHANNELS)


def enable_fake_quant(mod: Module) -> None:
    """Let a module round, if it is one that does: ``model.apply(enable_fake_quant)``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_fake_quant()


def disable_fake_quant(mod: Module) -> None:
    """Let a module not round."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_fake_quant()


def enable_observer(mod: Module) -> None:
    """Let a module that rounds look at what it is given."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_observer()


def disable_observer(mod: Module) -> None:
    """Let a module that rounds keep its scale: ``model.apply(disable_observer)`` in the last epochs."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_observer()
