"""By which observers a layer is quantized."""

from __future__ import annotations

from typing import Any, NamedTuple

import weft
from weft.ao.quantization.fake_quantize import (
    FusedMovingAvgObsFakeQuantize,
    default_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
)
from weft.ao.quantization.histogram import HistogramObserver
from weft.ao.quantization.observer import (
    MovingAverageMinMaxObserver,
    PlaceholderObserver,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)

__all__ = [
    "QConfig",
    "QConfigAny",
    "default_dynamic_qconfig",
    "default_per_channel_qconfig",
    "default_per_channel_qat_qconfig",
    "default_qat_qconfig",
    "default_qconfig",
    "get_default_qat_qconfig",
    "get_default_qconfig",
    "per_channel_dynamic_qconfig",
]


class QConfig(NamedTuple):
    """What observes a layer's activations and its weight.

    Attributes
    ----------
    activation, weight : callable
        Make an observer: a class, or what its ``with_args`` returns.

    Examples
    --------
    >>> from weft.ao.quantization import MinMaxObserver, QConfig, default_per_channel_weight_observer
    >>> qconfig = QConfig(MinMaxObserver.with_args(reduce_range=True), default_per_channel_weight_observer)
    >>> qconfig.activation().quant_max
    127
    """

    activation: Any
    weight: Any


QConfigAny = QConfig | None

default_qconfig = QConfig(activation=default_observer, weight=default_weight_observer)
default_per_channel_qconfig = QConfig(activation=default_observer, weight=default_per_channel_weight_observer)

_by_range = PlaceholderObserver.with_args(dtype=weft.quint8, quant_min=0, quant_max=255, is_dynamic=True)
default_dynamic_qconfig = QConfig(activation=_by_range, weight=default_weight_observer)
per_channel_dynamic_qconfig = QConfig(activation=_by_range, weight=default_per_channel_weight_observer)
default_qat_qconfig = QConfig(activation=default_fake_quant, weight=default_weight_fake_quant)
default_per_channel_qat_qconfig = QConfig(default_fake_quant, default_per_channel_weight_fake_quant)


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """Return the observers that suit a kind of processor.

    Parameters
    ----------
    backend : {"x86", "fbgemm", "onednn", "qnnpack"}
        ``"x86"`` and ``"fbgemm"``: activations of 7 bits, so that no sum of two products overflows on processors
        without VNNI, and a scale for each channel of the weight. ``"onednn"``: the same with 8 bits, for processors
        that have it. ``"qnnpack"``: 8 bits, and one scale for all of the weight.
    version : int, default 0
        PyTorch's; there is only this one.

    Raises
    ------
    ValueError
        If there is no such backend.

    Examples
    --------
    >>> from weft.ao.quantization import get_default_qconfig
    >>> get_default_qconfig("x86").activation().reduce_range
    True
    """
    activation = HistogramObserver.with_args(reduce_range=backend in ("x86", "fbgemm"))
    weights = {
        "x86": default_per_channel_weight_observer,
        "fbgemm": default_per_channel_weight_observer,
        "onednn": default_per_channel_weight_observer,
        "qnnpack": default_weight_observer,
    }
    if backend not in weights or version != 0:
        raise ValueError(
            f"get_default_qconfig: expected one of {[*weights]} and version 0, got {backend!r} and version {version}"
        )
    return QConfig(activation, weights[backend])


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """Return what rounds in training, for a kind of processor.

    Parameters
    ----------
    backend : {"x86", "fbgemm", "onednn", "qnnpack"}
        As for `get_default_qconfig`.
    version : {0, 1}
        PyTorch's; both are the same here.

    Raises
    ------
    ValueError
        If there is no such backend.

    Examples
    --------
    >>> weft.ao.quantization.get_default_qat_qconfig().activation().quant_max
    127
    """
    if backend not in ("x86", "fbgemm", "onednn", "qnnpack") or version not in (0, 1):
        raise ValueError(
            "get_default_qat_qconfig: expected x86, fbgemm, onednn or qnnpack and version 0 or 1, got "
            f"{backend!r} and version {version}"
        )
    activation = FusedMovingAvgObsFakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, reduce_range=backend in ("x86", "fbgemm")
    )
    weight = default_fused_wt_fake_quant if backend == "qnnpack" else default_fused_per_channel_wt_fake_quant
    return QConfig(activation, weight)
