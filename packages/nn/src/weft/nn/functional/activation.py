"""Activation functions."""

from __future__ import annotations

import math
import warnings
from typing import Any

import weft
from weft import Tensor
from weft.nn.functional._common import inplace_or_not
from weft.ops._declare import op
from weft.ops.softmax import log_softmax as core_log_softmax
from weft.ops.softmax import softmax as core_softmax
from weft.ops.special import erf_array, in_blocks

__all__ = ["gelu", "log_softmax", "relu", "relu_", "softmax"]

SQRT_HALF = math.sqrt(0.5)
INVERSE_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
TANH_SCALE, TANH_CUBIC = math.sqrt(2 / math.pi), 0.044715


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``, element by element; with ``inplace`` written into the input."""
    return weft.relu(input) if not inplace else input.relu_()


def relu_(input: Tensor) -> Tensor:
    """In-place variant of `relu`."""
    return input.relu_()


# GELU: x times the normal distribution function, or an approximation of it by tanh.


@op(result="same", half="float32", accepts="float", namespace="nn")
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Each element times the probability that a standard normal number is below it.

    Parameters
    ----------
    input : Tensor
    approximate : "none" or "tanh"
        "tanh" is ``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))``.

    References
    ----------
    arXiv:1606.08415.

    Examples
    --------
    >>> gelu(weft.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"gelu: approximate argument must be either none or tanh, got {approximate!r}")
    return gelu.op(input, approximate)


@gelu.kernel
def _(xp, input, approximate):
    if approximate == "tanh":
        return in_blocks(xp, lambda x: 0.5 * x * (1 + xp.tanh(tanh_argument(x))), input)

    def block(x: Any) -> Any:
        result = erf_array(xp, x * SQRT_HALF)
        result += 1
        result *= x
        result *= 0.5
        return result

    return in_blocks(xp, block, input)


def tanh_argument(x: Any) -> Any:
    return TANH_SCALE * (x + TANH_CUBIC * (x * x * x))


@gelu.gradient("input")
def _(grad, input, approximate):
    return gelu_backward.op(grad, input, approximate)


@op(tensors="output_grad input", result="same", half="float32", accepts="float", namespace="nn")
def gelu_backward(output_grad, input, approximate):
    """A gradient times the derivative of `gelu`."""
    return gelu_backward.op(output_grad, input, approximate)


@gelu_backward.kernel
def _(xp, output_grad, input, approximate):
    def exact(grad: Any, x: Any) -> Any:
        density = xp.exp(-0.5 * x * x)
        density *= INVERSE_SQRT_2PI
        density *= x
        below = erf_array(xp, x * SQRT_HALF)
        below += 1
        below *= 0.5
        below += density
        below *= grad
        return below

    def by_tanh(grad: Any, x: Any) -> Any:
        t = xp.tanh(tanh_argument(x))
        slope = TANH_SCALE * (1 + 3 * TANH_CUBIC * (x * x))
        return grad * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)

    if output_grad.shape != input.shape or not output_grad.flags.c_contiguous:
        output_grad = xp.ascontiguousarray(output_grad)
    return in_blocks(xp, by_tanh if approximate == "tanh" else exact, output_grad, input)


@gelu_backward.gradient("output_grad")
def _(grad, input, approximate):
    return gelu_backward.op(grad, input, approximate)


@gelu_backward.gradient("input")
def _(grad, output_grad, input, approximate):
    x = input
    if approximate == "none":
        density = (-0.5 * x * x).exp() * INVERSE_SQRT_2PI
        return grad * output_grad * density * (2 - x * x)
    t = (TANH_SCALE * (x + TANH_CUBIC * x * x * x)).tanh()
    slope = TANH_SCALE * (1 + 3 * TANH_CUBIC * x * x)
    bend = 6 * TANH_SCALE * TANH_CUBIC * x
    rest = 1 - t * t
    return grad * output_grad * rest * (slope + 0.5 * x * (bend - 2 * t * slope * slope))


# Softmax and its relatives


def chosen_dim(name: str, input: Tensor, dim: int | None, stacklevel: int) -> int:
    """The dimension, or what it was before it had to be given."""
    if dim is not None:
        return dim
    warnings.warn(
        f"{name}: Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
        "argument.",
        stacklevel=stacklevel,
    )
    return 0 if input.ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``exp(input)`` divided by its sum along a dimension; see `weft.softmax`."""
    return core_softmax(input, chosen_dim("softmax", input, dim, _stacklevel), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The softmax of the negated input."""
    return core_softmax(-input, chosen_dim("softmin", input, dim, _stacklevel), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, computed without loss of precision."""
    return core_log_softmax(input, chosen_dim("log_softmax", input, dim, _stacklevel), dtype=dtype)
