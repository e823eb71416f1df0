"""Activation functions and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.backend import BySize
from weft.backend_cpu.compiled.mathematics import between, erf, exp, expm1, like, sigmoid, softplus
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel
from weft.backend_cpu.libraries import FEW, serves

EXP = 3  # simple operations that an exponential counts as, where work is handed out
REAL = "float32 float64"

SQRT_HALF = math.sqrt(0.5)
INVERSE_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
TANH_SCALE, TANH_CUBIC = math.sqrt(2 / math.pi), 0.044715


def elementwise(launch: Any, arrays: Any, numbers: Any = ()) -> Any:
    """The result of a kernel of equally shaped arrays, laid out as the last of them; None if that has gaps."""
    last = arrays[-1]
    if any(each.shape != last.shape for each in arrays):
        return None
    if last.flags.c_contiguous:
        result = np.empty(last.shape, last.dtype)
        launch(*[each.reshape(-1) for each in arrays], result.reshape(-1), *numbers)
        return result
    order = sorted(range(last.ndim), key=lambda dim: -last.strides[dim])
    if not last.transpose(order).flags.c_contiguous:
        return None
    return elementwise(launch, [each.transpose(order) for each in arrays], numbers).transpose(np.argsort(order))


def serve(name: str, launch: Any, count: int = 1, dtypes: str = REAL) -> None:
    """Serve an op whose kernel takes ``count`` arrays, and then numbers."""

    @serves(name, dtypes)
    def make(generic: Any) -> Any:
        def run(*args: Any) -> Any:
            result = elementwise(launch, args[:count], [float(each) for each in args[count:]])
            return generic(*args) if result is None else result

        return BySize(generic, run, FEW)


# Pieces of straight lines


@loop
def relu_loop(x, y, lo, hi):
    for i in range(lo, hi):
        y[i] = x[i] if x[i] > 0 or x[i] != x[i] else 0


@launcher
def relu(x, y):
    parallel(relu_loop, (x, y), x.size, x.size)


@loop
def threshold_loop(x, y, limit, value, lo, hi):
    for i in range(lo, hi):
        y[i] = like(x[i], value) if x[i] <= like(x[i], limit) else x[i]


@launcher
def threshold(x, y, limit, value):
    parallel(threshold_loop, (x, y, limit, value), x.size, x.size)


@loop
def threshold_backward_loop(grad, x, y, limit, lo, hi):
    for i in range(lo, hi):
        y[i] = 0 if x[i] <= like(x[i], limit) else grad[i]


@launcher
def threshold_backward(grad, x, y, limit):
    parallel(threshold_backward_loop, (grad, x, y, limit), x.size, x.size)


serve("core::relu", relu)
serve("nn::threshold", threshold)
serve("core::threshold_backward", threshold_backward, 2)


@loop
def hardtanh_loop(x, y, low, high, lo, hi):
    for i in range(lo, hi):
        y[i] = between(x[i], like(x[i], low), like(x[i], high))


@launcher
def hardtanh(x, y, low, high):
    parallel(hardtanh_loop, (x, y, low, high), x.size, x.size)


@loop
def hardtanh_backward_loop(grad, x, y, low, high, lo, hi):
    for i in range(lo, hi):
        y[i] = 0 if x[i] <= like(x[i], low) or x[i] >= like(x[i], high) else grad[i]


@launcher
def hardtanh_backward(grad, x, y, low, high):
    parallel(hardtanh_backward_loop, (grad, x, y, low, high), x.size, x.size)


serve("nn::hardtanh", hardtanh)
serve("nn::hardtanh_backward", hardtanh_backward, 2)


@loop
def leaky_relu_loop(x, y, slope, lo, hi):
    for i in range(lo, hi):
        y[i] = x[i] if x[i] > 0 else x[i] * like(x[i], slope)


@launcher
def leaky_relu(x, y, slope):
    parallel(leaky_relu_loop, (x, y, slope), x.size, x.size)


@loop
def leaky_relu_backward_loop(grad, x, y, slope, lo, hi):
    for i in range(lo, hi):
        y[i] = grad[i] if x[i] > 0 else grad[i] * like(x[i], slope)


@launcher
def leaky_relu_backward(grad, x, y, slope):
    parallel(leaky_relu_backward_loop, (grad, x, y, slope), x.size, x.size)


serve("nn::leaky_relu", leaky_relu)
serve("nn::leaky_relu_backward", leaky_relu_backward, 2)


@loop
def shrink_loop(x, y, limit, step, lo, hi):
    for i in range(lo, hi):
        v = x[i]
        inside = v if v != v else like(v, 0.0)
        below = v + like(v, step) if v < like(v, -limit) else inside
        y[i] = v - like(v, step) if v > like(v, limit) else below


@launcher
def shrink(x, y, limit, step):
    parallel(shrink_loop, (x, y, limit, step), x.size, x.size)


@loop
def shrink_backward_loop(grad, x, y, limit, lo, hi):
    for i in range(lo, hi):
        y[i] = 0 if x[i] >= like(x[i], -limit) and x[i] <= like(x[i], limit) else grad[i]


@launcher
def shrink_backward(grad, x, y, limit):
    parallel(shrink_backward_loop, (grad, x, y, limit), x.size, x.size)


@serves("nn::shrink", REAL)
def shrink_kernel(generic: Any) -> Any:
    def run(x: Any, lambd: float, towards_zero: bool) -> Any:
        result = elementwise(shrink, (x,), (float(lambd), float(lambd) if towards_zero else 0.0))
        return generic(x, lambd, towards_zero) if result is None else result

    return BySize(generic, run, FEW)


serve("nn::shrink_backward", shrink_backward, 2)


@loop
def hardsigmoid_loop(x, y, lo, hi):
    for i in range(lo, hi):
        v = x[i]
        y[i] = between(v + like(v, 3.0), like(v, 0.0), like(v, 6.0)) / like(v, 6.0)


@launcher
def hardsigmoid(x, y):
    parallel(hardsigmoid_loop, (x, y), x.size, x.size)


@loop
def hardsigmoid_backward_loop(grad, x, y, lo, hi):
    for i in range(lo, hi):
        y[i] = 0 if x[i] <= -3 or x[i] >= 3 else grad[i] / like(x[i], 6.0)


@launcher
def hardsigmoid_backward(grad, x, y):
    parallel(hardsigmoid_backward_loop, (grad, x, y), x.size, x.size)


serve("nn::hardsigmoid", hardsigmoid)
serve("nn::hardsigmoid_backward", hardsigmoid_backward, 2)


@loop
def hardswish_loop(x, y, lo, hi):
    for i in range(lo, hi):
        v = x[i]
        y[i] = v * between(v + like(v, 3.0), like(v, 0.0), like(v, 6.0)) / like(v, 6.0)


@launcher
def hardswish(x, y):
    parallel(hardswish_loop, (x, y), x.size, x.size)


@loop
def hardswish_backward_loop(grad, x, y, lo, hi):
    for i in range(lo, hi):
        v = x[i]
        inner = like(v, 0.0) if v <= -3 else grad[i] * (v / like(v, 3.0) + like(v, 0.5))
        y[i] = grad[i] if v >= 3 else inner


@launcher
def hardswish_backward(grad, x, y):
    parallel(hardswish_backward_loop, (grad, x, y), x.size, x.size)


serve("nn::hardswish", hardswish)
serve("nn::hardswish_backward", hardswish_backward, 2)


# Gradients by the result


@loop
def tanh_backward_loop(grad, result, y, lo, hi):
    for i in range(lo, hi):
        y[i] = grad[i] * (like(result[i], 1.0) - result[i] * result[i])


@launcher
def tanh_backward(grad, result, y):
    parallel(tanh_backward_loop, (grad, result, y), y.size, y.size)


@loop
def sigmoid_backward_loop(grad, result, y, lo, hi):
    for i in range(lo, hi):
        y[i] = grad[i] * ((like(result[i], 1.0) - result[i]) * result[i])


@launcher
def sigmoid_backward(grad, result, y):
    parallel(sigmoid_backward_loop, (grad, result, y), y.size, y.size)


serve("core::tanh_backward", tanh_backward, 2)
serve("core::sigmoid_backward", sigmoid_backward, 2)


# GELU: by erf in float32; by tanh, where (1 + tanh(u)) / 2 is sigmoid(2 u)


@loop
def gelu_loop(x, y, lo, hi):
    for i in range(lo, hi):
        v = x[i]
        y[i] = like(v, 0.5) * v * (like(v, 1.0) + erf(v * like(v, SQRT_HALF)))


@launcher
def gelu(x, y):
    parallel(gelu_loop, (x, y), x.size, EXP * x.size)


@loop
def gelu_backward_loop(grad, x, y, lo, hi):
    for i in range(lo, hi):
        v = x[i]
        below = like(v, 0.5) * (like(v, 1.0) + erf(v * like(v, SQRT_HALF)))
        density = like(v, INVERSE_SQRT_2PI) * exp(like(v, -0.5) * v * v)
        y[i] = grad[i] * (below + v * density)


@launcher
def gelu_backward(grad, x, y):
    parallel(gelu_backward_loop, (grad, x, y), x.size, 2 * EXP * x.size)


@loop
def gelu_tanh_loop(x, y, lo, hi):
    for i in range(lo, hi):
        v = x[i]
        y[i] = v * sigmoid(like(v, 2 * TANH_SCALE) * (v + like(v, TANH_CUBIC) * v * v * v))


@launcher
def gelu_tanh(x, y):
    parallel(gelu_tanh_loop, (x, y), x.size, EXP * x.size)


@loop
def gelu_tanh_backward_loop(grad, x, y, lo, hi):
    for i in range(lo, hi):
        v = x[i]
        power = exp(like(v, -2 * TANH_SCALE) * abs(v + like(v, TANH_CUBIC) * v * v * v))
        more = like(v, 1.0) / (like(v, 1.0) + power)
        less = power * more  # 1 - more, without loss of precision
        slope = like(v, 2 * TANH_SCALE) * (like(v, 1.0) + like(v, 3 * TANH_CUBIC) * v * v)
        y[i] = grad[i] * ((more if v > 0 else less) + v * more * less * slope)


@launcher
def gelu_tanh_backward(grad, x, y):
    parallel(gelu_tanh_backward_loop, (grad, x, y), x.size, EXP * x.size)


def gelu_maker(exact: Any, by_tanh: Any) -> Any:
    """The maker of a kernel for both ways; `erf` is there in float32 alone."""

    def make(generic: Any) -> Any:
        def run(*args: Any) -> Any:
            *arrays, approximate = args
            launch = by_tanh if approximate == "tanh" else exact if arrays[0].dtype == np.float32 else None
            result = None if launch is None else elementwise(launch, arrays)
            return generic(*args) if result is None else result

        return BySize(generic, run, FEW)

    return make


serves("nn::gelu", REAL)(gelu_maker(gelu, gelu_tanh))
serves("nn::gelu_backward", REAL)(gelu_maker(gelu_backward, gelu_tanh_backward))


# Exponential ones


@loop
def silu_loop(x, y, lo, hi):
    for i in range(lo, hi):
        y[i] = x[i] / (like(x[i], 1.0) + exp(-x[i]))


@launcher
def silu(x, y):
    parallel(silu_loop, (x, y), x.size, EXP * x.size)


@loop
def silu_backward_loop(grad, x, y, lo, hi):
    for i in range(lo, hi):
        v = x[i]
        gate = sigmoid(v)
        y[i] = grad[i] * (gate * (like(v, 1.0) + v * (like(v, 1.0) - gate)))


@launcher
def silu_backward(grad, x, y):
    parallel(silu_backward_loop, (grad, x, y), x.size, EXP * x.size)


serve("nn::silu", silu)
serve("nn::silu_backward", silu_backward, 2)


@loop
def elu_loop(x, y, alpha, scale, input_scale, lo, hi):
    for i in range(lo, hi):
        v = x[i]
        y[i] = v * like(v, scale) if v > 0 else expm1(v * like(v, input_scale)) * like(v, alpha * scale)


@launcher
def elu(x, y, alpha, scale, input_scale):
    parallel(elu_loop, (x, y, alpha, scale, input_scale), x.size, EXP * x.size)


@loop
def elu_backward_loop(grad, x, y, alpha, scale, input_scale, lo, hi):
    for i in range(lo, hi):
        v = x[i]
        slope = exp(v * like(v, input_scale)) * like(v, alpha * scale * input_scale)
        y[i] = grad[i] * (like(v, scale) if v > 0 else slope)


@launcher
def elu_backward(grad, x, y, alpha, scale, input_scale):
    parallel(elu_backward_loop, (grad, x, y, alpha, scale, input_scale), x.size, EXP * x.size)


serve("nn::elu", elu)
serve("nn::elu_backward", elu_backward, 2)


@loop
def softplus_loop(x, y, beta, limit, lo, hi):
    for i in range(lo, hi):
        scaled = x[i] * like(x[i], beta)
        y[i] = x[i] if scaled > like(x[i], limit) else softplus(scaled) / like(x[i], beta)


@launcher
def softplus_of(x, y, beta, limit):
    parallel(softplus_loop, (x, y, beta, limit), x.size, 2 * EXP * x.size)


@loop
def softplus_backward_loop(grad, x, y, beta, limit, lo, hi):
    for i in range(lo, hi):
        scaled = x[i] * like(x[i], beta)
        y[i] = grad[i] if scaled > like(x[i], limit) else grad[i] * sigmoid(scaled)


@launcher
def softplus_backward(grad, x, y, beta, limit):
    parallel(softplus_backward_loop, (grad, x, y, beta, limit), x.size, EXP * x.size)


serve("nn::softplus", softplus_of)
serve("nn::softplus_backward", softplus_backward, 2)


@loop
def logsigmoid_loop(x, y, lo, hi):
    for i in range(lo, hi):
        y[i] = -softplus(-x[i])


@launcher
def logsigmoid(x, y):
    parallel(logsigmoid_loop, (x, y), x.size, 2 * EXP * x.size)


@loop
def logsigmoid_backward_loop(grad, x, y, lo, hi):
    for i in range(lo, hi):
        y[i] = grad[i] * sigmoid(-x[i])


@launcher
def logsigmoid_backward(grad, x, y):
    parallel(logsigmoid_backward_loop, (grad, x, y), x.size, EXP * x.size)


serve("nn::logsigmoid", logsigmoid)
serve("nn::logsigmoid_backward", logsigmoid_backward, 2)


@loop
def mish_loop(x, y, lo, hi):
    for i in range(lo, hi):
        v = x[i]
        power = exp(like(v, 20.0) if v > 20 else v)
        above = power * (power + like(v, 2.0))  # tanh(softplus(v)) is above / (above + 2)
        y[i] = v * (above / (above + like(v, 2.0)))


@launcher
def mish(x, y):
    parallel(mish_loop, (x, y), x.size, EXP * x.size)


@loop
def mish_backward_loop(grad, x, y, lo, hi):
    for i in range(lo, hi):
        v = x[i]
        power = exp(like(v, 20.0) if v > 20 else v)
        above = power * (power + like(v, 2.0))
        squashed = above / (above + like(v, 2.0))
        gate = power / (like(v, 1.0) + power)
        y[i] = grad[i] * (squashed + v * gate * (like(v, 1.0) - squashed * squashed))


@launcher
def mish_backward(grad, x, y):
    parallel(mish_backward_loop, (grad, x, y), x.size, EXP * x.size)


serve("nn::mish", mish)
serve("nn::mish_backward", mish_backward, 2)


# GLU: blocks of two rows, (values, gates)


@loop
def glu_blocks(x, y, lo, hi):
    for block in range(lo, hi):
        value, gate, result = x[block, 0], x[block, 1], y[block]
        for i in range(result.size):
            result[i] = value[i] * sigmoid(gate[i])


@launcher
def glu(x, y):
    parallel(glu_blocks, (x, y), x.shape[0], EXP * y.size)


@loop
def glu_backward_blocks(grad, x, y, lo, hi):
    for block in range(lo, hi):
        for i in range(grad.shape[1]):
            y[block, 0, i] = grad[block, i] * sigmoid(x[block, 1, i])
        for i in range(grad.shape[1]):
            gate = sigmoid(x[block, 1, i])
            y[block, 1, i] = grad[block, i] * gate * (like(gate, 1.0) - gate) * x[block, 0, i]


@launcher
def glu_backward(grad, x, y):
    parallel(glu_backward_blocks, (grad, x, y), x.shape[0], EXP * x.size)


@serves("nn::glu", REAL)
def glu_kernel(generic: Any) -> Any:
    def run(x: Any, dim: int) -> Any:
        shape = (*x.shape[:dim], x.shape[dim] // 2, *x.shape[dim + 1 :])
        result = np.empty(shape, x.dtype)
        if not result.size:
            return result
        halves = math.prod(shape[dim:])
        glu(np.ascontiguousarray(x).reshape(-1, 2, halves), result.reshape(-1, halves))
        return result

    return BySize(generic, run, FEW)


@serves("nn::glu_backward", REAL)
def glu_backward_kernel(generic: Any) -> Any:
    def run(grad: Any, x: Any, dim: int) -> Any:
        result = np.empty(x.shape, x.dtype)
        if not result.size:
            return result
        halves = math.prod(x.shape[dim:]) // 2
        rows = np.ascontiguousarray(grad).reshape(-1, halves), np.ascontiguousarray(x).reshape(-1, 2, halves)
        glu_backward(*rows, result.reshape(-1, 2, halves))
        return result

    return BySize(generic, run, FEW)
