"""Neural networks: modules, their parameters, and the functions that they are made of."""

from __future__ import annotations

import importlib
from typing import Any

from weft.nn import (
    activation,
    adaptive,
    containers,
    convolution,
    distance,
    dropout,
    flatten,
    fold,
    functional,
    init,
    lazy,
    linear,
    loss,
    multihead_attention,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
    utils,
)
from weft.nn.activation import *
from weft.nn.adaptive import *
from weft.nn.containers import *
from weft.nn.convolution import *
from weft.nn.distance import *
from weft.nn.dropout import *
from weft.nn.flatten import *
from weft.nn.fold import *
from weft.nn.functional.loss import LinearCrossEntropyOptions
from weft.nn.lazy import *
from weft.nn.linear import *
from weft.nn.loss import *
from weft.nn.module import Module, factory_kwargs
from weft.nn.multihead_attention import *
from weft.nn.normalization import *
from weft.nn.padding import *
from weft.nn.parallel import DataParallel
from weft.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from weft.nn.pixelshuffle import *
from weft.nn.pooling import *
from weft.nn.rnn import *
from weft.nn.sparse import *
from weft.nn.transformer import *
from weft.nn.upsampling import *

__all__ = [
    *activation.__all__,
    *adaptive.__all__,
    *containers.__all__,
    *convolution.__all__,
    *distance.__all__,
    *dropout.__all__,
    *flatten.__all__,
    *fold.__all__,
    *lazy.__all__,
    *linear.__all__,
    *loss.__all__,
    *multihead_attention.__all__,
    *normalization.__all__,
    *padding.__all__,
    *pixelshuffle.__all__,
    *pooling.__all__,
    *rnn.__all__,
    *sparse.__all__,
    *transformer.__all__,
    *upsampling.__all__,
    "Buffer",
    "DataParallel",
    "LinearCrossEntropyOptions",
    "Module",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "factory_kwargs",
    "functional",
    "init",
    "utils",
]


def __getattr__(name: str) -> Any:
    if name in ("attention", "common_types", "grad", "modules"):  # when a program first asks for them
        return importlib.import_module(f"weft.nn.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
