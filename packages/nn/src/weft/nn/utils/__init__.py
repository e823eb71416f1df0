"""Tools for training: gradients and parameters of a whole model at once."""

from __future__ import annotations

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
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "skip_init",
    "vector_to_parameters",
]
