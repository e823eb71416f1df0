"""Automatic differentiation: backward and grad, modes, custom functions, hooks and checks."""

from importlib import import_module
from typing import Any

from weft.autograd import graph as graph
from weft.autograd._backward import _calculate_shape as _calculate_shape
from weft.autograd._backward import backward as backward
from weft.autograd._backward import grad as grad
from weft.autograd._nodes import SavedTensor as SavedTensor
from weft.autograd.anomaly_mode import detect_anomaly as detect_anomaly
from weft.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from weft.autograd.anomaly_mode import set_detect_anomaly as set_detect_anomaly
from weft.autograd.function import Function as Function
from weft.autograd.function import FunctionCtx as FunctionCtx
from weft.autograd.grad_mode import _force_original_view_tracking as _force_original_view_tracking
from weft.autograd.grad_mode import _unsafe_preserve_version_counter as _unsafe_preserve_version_counter
from weft.autograd.grad_mode import enable_grad as enable_grad
from weft.autograd.grad_mode import inference_mode as inference_mode
from weft.autograd.grad_mode import is_multithreading_enabled as is_multithreading_enabled
from weft.autograd.grad_mode import is_view_replay_enabled as is_view_replay_enabled
from weft.autograd.grad_mode import no_grad as no_grad
from weft.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from weft.autograd.grad_mode import set_multithreading_enabled as set_multithreading_enabled
from weft.autograd.gradcheck import GradcheckError as GradcheckError
from weft.autograd.gradcheck import gradcheck as gradcheck
from weft.autograd.gradcheck import gradgradcheck as gradgradcheck
from weft.autograd.variable import Variable as Variable

__all__ = [
    "Function",
    "FunctionCtx",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "GradcheckError",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_enabled",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


_PROFILER = {"kineto_available": "kineto_available", "_profiler_enabled": "profiler_enabled"}


def __getattr__(name: str) -> Any:
    if name in _PROFILER:
        return getattr(import_module("weft.autograd.profiler"), _PROFILER[name])
    if name not in ("_functions", "forward_ad", "functional", "profiler", "profiler_util"):
        raise AttributeError(f"module 'weft.autograd' has no attribute {name!r}")
    return import_module(f"weft.autograd.{name}")  # with the first use: few programs have one
