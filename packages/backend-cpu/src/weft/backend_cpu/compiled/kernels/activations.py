"""Activation functions and their gradients: formulas of an element, the gradient that comes to it, and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.elementwise import run_elementwise, scalar_function
from weft.backend_cpu.compiled.codegen.mathematics import between, erf, exp, expm1, function, like, sigmoid, softplus
from weft.backend_cpu.compiled.kernels.pointwise import REAL, elementwise_kernel, run_of
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel

EXP = 3  # simple operations that an exponential counts as, where work is handed out

SQRT_HALF = math.sqrt(0.5)
INVERSE_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
TANH_SCALE, TANH_CUBIC = math.sqrt(2 / math.pi), 0.044715

activation = partial(elementwise_kernel, min_size=MIN_SIZE_FUSED, order=-1)  # the result lies in memory as the input

# Pieces of straight lines

activation("core::relu", lambda x: like(x, 0.0) if x < 0 else x, bitwise=True)
activation("nn::threshold", lambda x, limit, value: value if x <= limit else x, bitwise=True)
activation("core::threshold_backward", lambda grad, x, limit: like(x, 0.0) if x <= limit else grad, bitwise=True)
activation("nn::hardtanh", lambda x, low, high: between(x, low, high), bitwise=True)
activation(
    "nn::hardtanh_backward", lambda grad, x, low, high: grad if x > low and x < high else like(x, 0.0), bitwise=True
)
activation("nn::leaky_relu", lambda x, slope: x if x > 0 else x * slope, bitwise=True)
activation("nn::leaky_relu_backward", lambda grad, x, slope: grad if x > 0 else grad * slope, bitwise=True)
activation("nn::prelu_backward", lambda grad, x, slope: grad if x > 0 else grad * slope, order=0)


@register_kernel("nn::prelu", dtypes=REAL, min_size=MIN_SIZE_FUSED, halves=True, bitwise=True)
def prelu_kernel(generic: Any) -> Any:
    key = scalar_function("nn::prelu", lambda x, slope: x if x > 0 else x * slope)
    by_slopes = run_of(key, 2, generic)

    def run(x: Any, slope: Any) -> Any:
        numbers = type(x) is float or type(slope) is float
        if not numbers and slope.size == 1 and slope.ndim <= x.ndim and slope.dtype == x.dtype:  # one is a number, too
            slope = float(slope.item())
        return by_slopes(x, slope)

    return run


def shrunk(x, limit, towards_zero):
    step = limit if towards_zero else like(x, 0.0)
    inside = x if x != x else like(x, 0.0)
    return x - step if x > limit else x + step if x < -limit else inside


activation("nn::shrink", shrunk)
activation("nn::shrink_backward", lambda grad, x, limit: grad if x < -limit or x > limit else like(x, 0.0))


activation("nn::hardsigmoid", lambda x: between(x + like(x, 3.0), like(x, 0.0), like(x, 6.0)) / like(x, 6.0))
activation("nn::hardsigmoid_backward", lambda grad, x: grad / like(x, 6.0) if x > -3 and x < 3 else like(x, 0.0))
activation("nn::hardswish", lambda x: x * between(x + like(x, 3.0), like(x, 0.0), like(x, 6.0)) / like(x, 6.0))


def hardswish_backward(grad, x):
    below = like(x, 0.0) if x <= -3 else grad * (x / like(x, 3.0) + like(x, 0.5))
    return grad if x >= 3 else below


activation("nn::hardswish_backward", hardswish_backward)

activation("nn::softsign", lambda x: x / (like(x, 1.0) + abs(x)))
activation(
    "nn::softsign_backward", lambda grad, x: grad / ((like(x, 1.0) + abs(x)) * (like(x, 1.0) + abs(x))) + (x - x)
)

# Gradients by the result

activation("core::tanh_backward", lambda grad, result: grad * (like(result, 1.0) - result * result))
activation("core::sigmoid_backward", lambda grad, result: grad * ((like(result, 1.0) - result) * result))


# GELU: by tanh too, where (1 + tanh(u)) / 2 is sigmoid(2 u)


def gelu(x):
    return like(x, 0.5) * x * (like(x, 1.0) + erf(x * like(x, SQRT_HALF)))


def gelu_backward(grad, x):
    below = like(x, 0.5) * (like(x, 1.0) + erf(x * like(x, SQRT_HALF)))
    density = like(x, INVERSE_SQRT_2PI) * exp(like(x, -0.5) * x * x)
    return grad * (below + x * density)


def gelu_tanh(x):
    return x * sigmoid(like(x, 2 * TANH_SCALE) * (x + like(x, TANH_CUBIC) * x * x * x))


def gelu_tanh_backward(grad, x):
    power = exp(like(x, -2 * TANH_SCALE) * abs(x + like(x, TANH_CUBIC) * x * x * x))
    more = like(x, 1.0) / (like(x, 1.0) + power)
    less = power * more  # 1 - more, without loss of precision
    slope = like(x, 2 * TANH_SCALE) * (like(x, 1.0) + like(x, 3 * TANH_CUBIC) * x * x)
    return grad * ((more if x > 0 else less) + x * more * less * slope)


def kernel_by_mode(name: str, formulas: dict[str, Callable[..., Any]]) -> None:
    """Register the kernel of an op whose last argument says which of several formulas it is."""
    keys = {way: scalar_function(f"{name} {way}", formula) for way, formula in formulas.items()}

    @register_kernel(name, dtypes=REAL, min_size=MIN_SIZE_FUSED, halves=True)
    def make(generic: Any) -> Any:
        def made_of(way: str, key: str) -> Any:
            count = formulas[way].__code__.co_argcount
            return run_of(key, count, lambda *args: generic(*args, way), cost=EXP, order=-1)

        runs = {way: made_of(way, key) for way, key in keys.items()}
        return lambda *args: runs[args[-1]](*args[:-1])


kernel_by_mode("nn::gelu", {"none": gelu, "tanh": gelu_tanh})
kernel_by_mode("nn::gelu_backward", {"none": gelu_backward, "tanh": gelu_tanh_backward})


# Exponential ones


def silu_backward(grad, x):
    gate = sigmoid(x)
    return grad * (gate * (like(x, 1.0) + x * (like(x, 1.0) - gate)))


activation("nn::silu", lambda x: x / (like(x, 1.0) + exp(-x)), cost=EXP)
activation("nn::silu_backward", silu_backward, cost=EXP)


def elu(x, alpha, scale, input_scale):
    return x * scale if x > 0 else expm1(x * input_scale) * (alpha * scale)


def elu_backward(grad, x, alpha, scale, input_scale):
    return grad * (scale if x > 0 else exp(x * input_scale) * (alpha * scale * input_scale))


activation("nn::elu", elu, cost=EXP)
activation("nn::elu_backward", elu_backward, cost=EXP)


def softplus_of(x, beta, limit):
    scaled = x * beta
    return x if scaled > limit else softplus(scaled) / beta


@function
def gate(x):
    """The sigmoid, also where it is as small as numbers can be: there ``1 / (1 + exp(-x))`` is 0."""
    power = exp(-abs(x))
    return (power if x < 0 else like(x, 1.0)) / (like(x, 1.0) + power)


def softplus_backward(grad, x, beta, limit):
    scaled = x * beta
    return grad if scaled > limit else grad * gate(scaled)


activation("nn::softplus", softplus_of, cost=2 * EXP)
activation("nn::softplus_backward", softplus_backward, cost=EXP)
activation("nn::logsigmoid", lambda x: like(x, 0.0) - softplus(-x), cost=2 * EXP)
activation("nn::logsigmoid_backward", lambda grad, x: grad * gate(-x), cost=EXP)


def mish(x):
    power = exp(like(x, 20.0) if x > 20 else x)
    above = power * (power + like(x, 2.0))  # tanh(softplus(x)) is above / (above + 2)
    return x * (above / (above + like(x, 2.0)))


def mish_backward(grad, x):
    power = exp(like(x, 20.0) if x > 20 else x)
    above = power * (power + like(x, 2.0))
    squashed = above / (above + like(x, 2.0))
    gate = power / (like(x, 1.0) + power)
    return grad * (squashed + x * gate * (like(x, 1.0) - squashed * squashed))


activation("nn::mish", mish, cost=EXP)
activation("nn::mish_backward", mish_backward, cost=EXP)


# GLU: values in one half of a dimension, gates in the other


def halves_of(x: Any, dim: int) -> tuple[Any, Any]:
    """The two halves of a dimension, as views."""
    half = x.shape[dim] // 2
    lead = (slice(None),) * dim
    return x[(*lead, slice(half))], x[(*lead, slice(half, None))]


@register_kernel("nn::glu", dtypes=REAL, min_size=MIN_SIZE_FUSED, halves=True)
def glu_kernel(generic: Any) -> Any:
    key = scalar_function("glu", lambda value, gate: value * sigmoid(gate))

    def run(x: Any, dim: int) -> Any:
        made = run_elementwise(key, halves_of(x, dim), x.dtype, EXP)
        return generic(x, dim) if made is None else made

    return run


@register_kernel("nn::glu_backward", dtypes=REAL, min_size=MIN_SIZE_FUSED, halves=True)
def glu_backward_kernel(generic: Any) -> Any:
    of_value = scalar_function("glu_backward value", lambda grad, gate: grad * sigmoid(gate))
    of_gate = scalar_function("glu_backward gate", of_the_gate)

    def run(grad: Any, x: Any, dim: int) -> Any:
        (value, gate), made = halves_of(x, dim), np.empty(x.shape, x.dtype)
        first, second = halves_of(made, dim)
        if run_elementwise(of_value, (grad, gate), x.dtype, EXP, first) is None:
            return generic(grad, x, dim)
        if run_elementwise(of_gate, (grad, value, gate), x.dtype, EXP, second) is None:
            return generic(grad, x, dim)
        return made

    return run


def of_the_gate(grad, value, gate):
    passed = sigmoid(gate)
    return grad * passed * (like(gate, 1.0) - passed) * value
