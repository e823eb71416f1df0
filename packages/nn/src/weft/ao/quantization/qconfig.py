"""By which observers a layer is quantized."""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.ao.quantization.histogram import HistogramObserver
from weft.ao.quantization.observer import (
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)

__all__ = ["QConfig", "QConfigAny", "default_per_channel_qconfig", "default_qconfig", "get_default_qconfig"]


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
