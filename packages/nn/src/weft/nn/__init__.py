"""Neural networks: modules, their parameters, and the functions that they are made of."""

from __future__ import annotations

import importlib
import types

from weft.nn import functional, init, utils
from weft.nn.activation import *
from weft.nn.adaptive import *
from weft.nn.containers import *
from weft.nn.convolution import *
from weft.nn.distance import *
from weft.nn.dropout import *
from weft.nn.flatten import *
from weft.nn.fold import *
from weft.nn.functional.loss import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from weft.nn.lazy import *
from weft.nn.linear import *
from weft.nn.loss import *
from weft.nn.module import Module as Module
from weft.nn.module import factory_kwargs as factory_kwargs
from weft.nn.multihead_attention import *
from weft.nn.normalization import *
from weft.nn.padding import *
from weft.nn.parallel import DataParallel as DataParallel
from weft.nn.parameter import Buffer as Buffer
from weft.nn.parameter import Parameter as Parameter
from weft.nn.parameter import UninitializedBuffer as UninitializedBuffer
from weft.nn.parameter import UninitializedParameter as UninitializedParameter
from weft.nn.pixelshuffle import *
from weft.nn.pooling import *
from weft.nn.rnn import *
from weft.nn.sparse import *
from weft.nn.transformer import *
from weft.nn.upsampling import *

__all__ = ["functional", "init", "utils", *[name for name, value in globals().items() if callable(value)]]


def __getattr__(name: str) -> types.ModuleType:
    if name in ("attention", "common_types", "grad", "modules", "quantized"):  # when a program first asks for them
        return importlib.import_module(f"weft.nn.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
