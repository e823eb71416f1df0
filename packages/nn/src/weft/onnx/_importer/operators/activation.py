"""Activation functions, softmax and its kin."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import weft
import weft.nn.functional as F
from weft.onnx._importer.operators._common import normalized_axes
from weft.onnx._importer.registry import operator

UNARY: dict[str, Callable[..., Any]] = {
    "HardSwish": F.hardswish,
    "Mish": F.mish,
    "Relu": weft.relu,
    "Softplus": F.softplus,
    "Softsign": F.softsign,
}


def declare_unary(name: str, function: Callable[..., Any]) -> None:
    """Declare an operator that is a function of one tensor."""

    @operator(name)
    def run(x: Any) -> Any:
        return function(x)


for name, function in UNARY.items():
    declare_unary(name, function)


@operator("Elu")
def elu(x: Any, *, alpha: float = 1.0) -> Any:
    return F.elu(x, alpha)


@operator("Celu")
def celu(x: Any, *, alpha: float = 1.0) -> Any:
    return F.celu(x, alpha)


@operator("Selu", since=6)
def selu(x: Any, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Any:
    return weft.where(x > 0, gamma * x, (gamma * alpha) * weft.expm1(x.clamp(max=0)))


@operator("Selu")
def selu_1(x: Any, *, alpha: float = 1.6732, gamma: float = 1.0507) -> Any:
    return selu(x, alpha=alpha, gamma=gamma)


@operator("LeakyRelu")
def leaky_relu(x: Any, *, alpha: float = 0.01) -> Any:
    return F.leaky_relu(x, alpha)


@operator("ThresholdedRelu")
def thresholded_relu(x: Any, *, alpha: float = 1.0) -> Any:
    return weft.where(x > alpha, x, 0)


@operator("PRelu")
def prelu(x: Any, slope: Any) -> Any:
    if slope.ndim == 1 and x.ndim > 1 and slope.shape[0] == x.shape[1] != x.shape[-1]:  # before opset 7: by channel
        slope = slope.reshape([-1, *[1] * (x.ndim - 2)])
    return weft.where(x < 0, slope * x, x)


@operator("HardSigmoid")
def hard_sigmoid(x: Any, *, alpha: float = 0.2, beta: float = 0.5) -> Any:
    return (alpha * x + beta).clamp(0, 1)


@operator("Gelu")
def gelu(x: Any, *, approximate: str = "none") -> Any:
    return F.gelu(x, approximate=approximate)


@operator("Shrink")
def shrink(input: Any, *, bias: float = 0.0, lambd: float = 0.5) -> Any:
    zero = weft.zeros_like(input)
    shrunk = weft.where(input < -lambd, input + bias, weft.where(input > lambd, input - bias, zero))
    return shrunk.to(input.dtype)


@operator("Swish")
def swish(x: Any, *, alpha: float = 1.0) -> Any:
    return x * weft.sigmoid(alpha * x)


@operator("SwiGLU")
def swiglu(a: Any, b: Any, *, alpha: float = 1.0) -> Any:
    if a.shape != b.shape:
        raise ValueError(f"SwiGLU: the gate's shape {tuple(a.shape)} is not the input's, {tuple(b.shape)}")
    return swish(a, alpha=alpha) * b


def declare_softmax(name: str, function: Callable[..., Any]) -> None:
    """Declare a function along one axis; before opset 13 it was along all axes from one on."""

    @operator(name, since=13)
    def run(input: Any, *, axis: int = -1) -> Any:
        return function(input, axis)

    @operator(name)
    def run_flattened(input: Any, *, axis: int = 1) -> Any:
        first = normalized_axes(axis, input.ndim, name)[0] if axis != input.ndim else axis
        rows = math.prod(input.shape[:first])
        return function(input.reshape(rows, -1) if input.numel() else input, -1).reshape(input.shape)


def hardmax(input: Any, axis: int) -> Any:
    """1 at the first of the largest, 0 elsewhere."""
    largest = input.argmax(axis, keepdim=True)
    return weft.zeros_like(input).scatter(axis, largest, weft.ones_like(input))


declare_softmax("Softmax", F.softmax)
declare_softmax("LogSoftmax", F.log_softmax)
declare_softmax("Hardmax", hardmax)
