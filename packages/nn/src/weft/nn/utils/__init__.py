"""Tools for training: gradients and parameters of a whole model at once, and parametrized weights."""

from __future__ import annotations

import importlib
from typing import Any

from weft.nn.utils import rnn
from weft.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from weft.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from weft.nn.utils.init import skip_init

# Rarely wanted, and made of layers, which are imported after this module: loaded when first asked for.
_MODULES = ("parametrizations", "parametrize", "prune", "stateless")
_NAMES = {
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
    "model_summary": "summary",
    "spectral_norm_hook": "remove_spectral_norm spectral_norm",
    "weight_norm_hook": "remove_weight_norm weight_norm",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "skip_init",
    "vector_to_parameters",
    *_HOMES,
    *_MODULES,
]


def __getattr__(name: str) -> Any:
    if name in _MODULES or name in _NAMES:
        return importlib.import_module(f"weft.nn.utils.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(f"weft.nn.utils.{_HOMES[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
