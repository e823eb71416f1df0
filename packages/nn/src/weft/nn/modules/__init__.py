"""The layers under PyTorch's paths, such as ``modules.batchnorm``, for programs that import by them.

Each path is a module of its own only in `sys.modules`: it has the public and private names of the files listed here.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from weft.nn._types import expanded

_HOMES = {
    "activation": ("activation", "multihead_attention"),
    "adaptive": ("adaptive",),
    "batchnorm": ("normalization", "lazy"),
    "channelshuffle": ("pixelshuffle",),
    "container": ("containers",),
    "conv": ("convolution", "lazy"),
    "distance": ("distance",),
    "dropout": ("dropout",),
    "flatten": ("flatten",),
    "fold": ("fold",),
    "instancenorm": ("normalization", "lazy"),
    "lazy": ("lazy",),
    "linear": ("linear", "lazy"),
    "loss": ("loss",),
    "module": ("module", "_module.state_dict", "_module.hooks"),
    "normalization": ("normalization",),
    "padding": ("padding",),
    "pixelshuffle": ("pixelshuffle",),
    "pooling": ("pooling",),
    "rnn": ("rnn",),
    "sparse": ("sparse",),
    "transformer": ("transformer",),
    "upsampling": ("upsampling",),
}


def _joined(path: str, homes: tuple[str, ...]) -> ModuleType:
    """Return a module with the names of all ``homes``, and register it under ``path``."""
    made = ModuleType(f"{__name__}.{path}", f"The names of {', '.join(f'weft.nn.{home}' for home in homes)}.")
    for home in homes:
        names = vars(importlib.import_module(f"weft.nn.{home}"))
        made.__dict__.update({name: value for name, value in names.items() if not name.startswith("__")})
    sys.modules[made.__name__] = made
    return made


def _tuple_maker(count: int) -> Any:
    def repeated(value: Any) -> tuple[Any, ...]:
        return expanded(value, count)

    return repeated


def _utils() -> ModuleType:
    made = _joined("utils", ())
    makers = {"_single": 1, "_pair": 2, "_triple": 3, "_quadruple": 4}
    made.__dict__.update({name: _tuple_maker(count) for name, count in makers.items()}, _ntuple=_tuple_maker)
    return made


for _path, _files in _HOMES.items():
    globals()[_path] = _joined(_path, _files)
utils = _utils()


def __getattr__(name: str) -> Any:
    layers = importlib.import_module("weft.nn")
    if name.startswith("__") or name not in layers.__all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(layers, name)
