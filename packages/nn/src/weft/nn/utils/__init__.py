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

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "summary",
    "vector_to_parameters",
    "weight_norm",
]

# Rarely wanted, and made of layers, which are imported after this module: loaded when first asked for.
_HOMES = {
    "convert_conv2d_weight_memory_format": "memory_format",
    "convert_conv3d_weight_memory_format": "memory_format",
    "fuse_conv_bn_eval": "fusion",
    "fuse_conv_bn_weights": "fusion",
    "fuse_linear_bn_eval": "fusion",
    "fuse_linear_bn_weights": "fusion",
    "remove_spectral_norm": "spectral_norm_hook",
    "remove_weight_norm": "weight_norm_hook",
    "spectral_norm": "spectral_norm_hook",
    "summary": "model_summary",
    "weight_norm": "weight_norm_hook",
}


def __getattr__(name: str) -> Any:
    if name in ("fusion", "memory_format", "parametrizations", "parametrize", "prune", "stateless"):
        return importlib.import_module(f"weft.nn.utils.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(f"weft.nn.utils.{_HOMES[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
