"""Activation functions."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Tensor
from weft.library import formulas
from weft.library.checks import warn_caller, wrap_dim
from weft.library.declare import composite, in_half_precision, op
from weft.library.fast_paths import AlongDim, FastPath, OneOf
from weft.library.formulas import clip, erf, exp, expm1, log1pexp, maximum, minimum, where
from weft.nn.functional._common import check_floating, inplace_or_not, require_flags, require_numbers
from weft.ops.activation import relu as core_relu
from weft.ops.activation import threshold_backward
from weft.ops.creation import factor, fitting
from weft.ops.pointwise import conj
from weft.ops.pointwise import sigmoid as core_sigmoid
from weft.ops.pointwise import tanh as core_tanh
from weft.ops.softmax import log_softmax as core_log_softmax
from weft.ops.softmax import log_softmax_op, softmax_op
from weft.ops.softmax import softmax as core_softmax
from weft.random import default_generator_of

# Gradients of smooth functions are one op each, which computes them in blocks and a backend may have in one pass.
BACKWARD: Any = {
    "tensors": "output_grad input",
    "result": "same",
    "compute_dtype": "float32",
    "dtypes": "float",
    "namespace": "nn",
    "vmap": "elementwise",
}

SQRT_HALF = math.sqrt(0.5)
INVERSE_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
TANH_SCALE, TANH_CUBIC = math.sqrt(2 / math.pi), 0.044715


def set_backward(forward: Any, backward: Any) -> None:
    """Let an op be the gradient of another one: linear in that of the output, it is its own gradient there."""
    needs = " ".join(["grad", *backward.declaration.arguments[1:]])
    forward.gradient("input", needs)(backward.op)
    backward.gradient("output_grad", needs)(backward.op)


@composite(fast_path=FastPath(core_relu.op))
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``, element by element.

    Parameters
    ----------
    input : Tensor
    inplace : bool
        Whether to write into the input.

    Examples
    --------
    >>> weft.nn.functional.relu(weft.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    return weft.relu(input) if not inplace else input.relu_()


def relu_(input: Tensor) -> Tensor:
    """In-place variant of `relu`.

    Examples
    --------
    >>> x = weft.tensor([-1.0, 2.0])
    >>> weft.nn.functional.relu_(x) is x, x
    (True, tensor([0., 2.]))
    """
    return input.relu_()


# GELU: x times the normal distribution function, or an approximation of it by tanh.


@op(
    out=True,
    result="same",
    compute_dtype="float32",
    dtypes="float",
    namespace="nn",
    vmap="elementwise",
    fast_path=OneOf("none", "tanh"),
)
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


@gelu.formula
def _(input, approximate):
    if approximate == "tanh":  # where (1 + tanh(u)) / 2 is sigmoid(2 u)
        return input * formulas.sigmoid(2 * TANH_SCALE * (input + TANH_CUBIC * input * input * input))
    return 0.5 * input * (1 + erf(input * SQRT_HALF))


@gelu.onnx
def _(graph, input, approximate):
    if graph.opset >= 20:
        return graph.Gelu(input, approximate=approximate)
    return graph.formula(gelu.declaration, input, approximate)


@op(**BACKWARD)
def gelu_backward(output_grad: Tensor, input: Tensor, approximate: str) -> Tensor:
    """A gradient times the derivative of `gelu`."""
    return gelu_backward.op(output_grad, input, approximate)


@gelu_backward.formula
def _(output_grad, input, approximate):
    if approximate == "none":
        below = 0.5 * (1 + erf(input * SQRT_HALF))
        density = INVERSE_SQRT_2PI * exp(-0.5 * input * input)
        return output_grad * (below + input * density)
    power = exp(-2 * TANH_SCALE * abs(input + TANH_CUBIC * input * input * input))
    more = 1 / (1 + power)
    less = power * more  # 1 - more, without loss of precision
    slope = 2 * TANH_SCALE * (1 + 3 * TANH_CUBIC * input * input)
    return output_grad * (where(input > 0, more, less) + input * more * less * slope)


set_backward(gelu, gelu_backward)


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


def chosen_dim(name: str, input: Tensor, dim: int | None) -> int:
    """The dimension, or what it was before it had to be given."""
    if dim is not None:
        return dim
    warn_caller(
        f"{name}: Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
        "argument."
    )
    return 0 if input.ndim in (0, 1, 3) else 1


@composite(fast_path=AlongDim(softmax_op.op))
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: weft.dtype | None = None) -> Tensor:
    """``exp(input)`` divided by its sum along a dimension; see `weft.softmax`.

    Parameters
    ----------
    input : Tensor
    dim : int
        Along which the result sums to 1. None, which is deprecated, means 0 for 0, 1 and 3 dimensions, else 1.
    dtype : dtype, optional
        Convert before computing.

    Examples
    --------
    >>> weft.nn.functional.softmax(weft.tensor([1.0, 2.0, 3.0]), dim=-1)
    tensor([0.0900, 0.2447, 0.6652])
    """
    return core_softmax(input, chosen_dim("softmax", input, dim), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: weft.dtype | None = None) -> Tensor:
    """The softmax of the negated input.

    Parameters
    ----------
    input : Tensor
    dim : int
        Along which the result sums to 1. None, which is deprecated, means 0 for 0, 1 and 3 dimensions, else 1.
    dtype : dtype, optional
        Convert before computing.

    Examples
    --------
    >>> weft.nn.functional.softmin(weft.tensor([1.0, 2.0, 3.0]), dim=-1)
    tensor([0.6652, 0.2447, 0.0900])
    """
    return core_softmax(-input, chosen_dim("softmin", input, dim), dtype=dtype)


@composite(fast_path=AlongDim(log_softmax_op.op))
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: weft.dtype | None = None) -> Tensor:
    """The logarithm of `softmax`, computed without loss of precision.

    Parameters
    ----------
    input : Tensor
    dim : int
        Along which the probabilities sum to 1. None, which is deprecated, means 0 for 0, 1 and 3 dimensions, else 1.
    dtype : dtype, optional
        Convert before computing.

    Examples
    --------
    >>> weft.nn.functional.log_softmax(weft.tensor([0.0, 1000.0]), dim=-1)
    tensor([-1000.,     0.])
    """
    return core_log_softmax(input, chosen_dim("log_softmax", input, dim), dtype=dtype)


def gumbel_softmax(
    logits: Tensor, tau: float | Tensor = 1, hard: bool = False, eps: float | Tensor = 1e-10, dim: int = -1
) -> Tensor:
    """Samples of the relaxed categorical distribution with these logits.

    Parameters
    ----------
    logits : Tensor
        Unnormalized logarithms of probabilities.
    tau : float
        Temperature: the lower, the closer to one-hot.
    hard : bool
        Return one-hot vectors that have the gradient of the soft samples.
    eps : float
        Not used.
    dim : int

    References
    ----------
    arXiv:1611.01144.

    Examples
    --------
    >>> sample = weft.nn.functional.gumbel_softmax(weft.zeros(4, 3), hard=True)
    >>> sample.sum(-1), (sample == 1).sum()
    (tensor([1., 1., 1., 1.]), tensor(4))
    """
    gumbels = -weft.empty_like(logits.detach()).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return weft.zeros_like(soft.detach()).scatter(dim, index, 1.0) - soft.detach() + soft


def factor_of(name: str, number: Any, input: Tensor) -> Any:
    """A number that floating-point elements are combined with, if their dtype has it."""
    return factor(name, number, input._key.dtype) if input._key.is_real_float else number


# Pieces of straight lines


@op(result="same", compute_dtype="native", dtypes="int float", namespace="nn", name="threshold", vmap="elementwise")
def threshold_op(input: Tensor, threshold: float, value: float) -> Tensor:
    """A value where the input is not above a threshold."""
    return threshold_op.op(input, threshold, value)


@threshold_op.formula
def _(input, threshold, value):
    return where(input <= threshold, value, input)


@threshold_op.gradient("input")
def _(grad, input, threshold):
    return threshold_backward.op(grad, input, threshold)


def threshold_and_value(input: Tensor, threshold: float, value: float) -> tuple[float, float]:
    """The numbers that `threshold` takes, as the dtype of its input has them."""
    require_numbers("threshold", threshold=threshold, value=value)
    element = input._key.dtype
    return factor("threshold", threshold, element), fitting("threshold", value, element)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Each element above ``threshold`` as it is, the others replaced by ``value``.

    Parameters
    ----------
    input : Tensor
    threshold, value : float
    inplace : bool
        Whether to write into the input.

    Examples
    --------
    >>> weft.nn.functional.threshold(weft.tensor([0.5, 1.0, 1.5]), 1.0, 20.0)
    tensor([20.0000, 20.0000,  1.5000])
    """
    threshold, value = threshold_and_value(input, threshold, value)
    return inplace_or_not(threshold_op.op, "threshold_", input, inplace, threshold, value)


def threshold_(input: Tensor, threshold_value: float, value: float) -> Tensor:
    """In-place variant of `threshold`.

    Parameters
    ----------
    input : Tensor
    threshold_value, value : float

    Examples
    --------
    >>> x = weft.tensor([0.5, 1.5])
    >>> _ = weft.nn.functional.threshold_(x, 1.0, 20.0)
    >>> x
    tensor([20.0000,  1.5000])
    """
    return threshold(input, threshold_value, value, True)


@op(result="same", compute_dtype="native", dtypes="int float", namespace="nn", name="hardtanh", vmap="elementwise")
def hardtanh_op(input: Tensor, low: float, high: float) -> Tensor:
    """Each element moved into [low, high]."""
    return hardtanh_op.op(input, low, high)


@hardtanh_op.formula
def _(input, low, high):
    return clip(input, low, high)


@op(**BACKWARD)
def hardtanh_backward(output_grad: Tensor, input: Tensor, low: float, high: float) -> Tensor:
    """A gradient where the input is inside of the limits, and 0 elsewhere."""
    return hardtanh_backward.op(output_grad, input, low, high)


@hardtanh_backward.formula
def _(output_grad, input, low, high):
    return where((input > low) & (input < high), output_grad, 0)  # at nan it is 0, as in PyTorch's vector loops


set_backward(hardtanh_op, hardtanh_backward)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Each element moved into [min_val, max_val]; the gradient is 0 outside and at the limits.

    Parameters
    ----------
    input : Tensor
    min_val, max_val : float
    inplace : bool
        Whether to write into the input.

    Raises
    ------
    ValueError
        If min_val is above max_val.

    Examples
    --------
    >>> weft.nn.functional.hardtanh(weft.tensor([-3.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val cannot be greater than max_val, got {min_val} and {max_val}")
    element = input._key.dtype
    if min_val < 0 and element.category < 2 and not element.is_signed:
        raise RuntimeError(f"hardtanh: cannot do hardtanh on an unsigned type with negative limits, got {min_val}")
    min_val, max_val = fitting("hardtanh", min_val, element), fitting("hardtanh", max_val, element)
    return inplace_or_not(hardtanh_op.op, "hardtanh_", input, inplace, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place variant of `hardtanh`.

    Parameters
    ----------
    input : Tensor
    min_val, max_val : float

    Examples
    --------
    >>> x = weft.tensor([-3.0, 0.5, 3.0])
    >>> _ = weft.nn.functional.hardtanh_(x, 0.0, 2.0)
    >>> x
    tensor([0.0000, 0.5000, 2.0000])
    """
    return hardtanh(input, min_val, max_val, True)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``.

    Parameters
    ----------
    input : Tensor
    inplace : bool
        Whether to write into the input.

    Examples
    --------
    >>> weft.nn.functional.relu6(weft.tensor([-1.0, 3.0, 9.0]))
    tensor([0., 3., 6.])
    """
    return inplace_or_not(hardtanh_op.op, "relu6_", input, inplace, 0, 6)


@op(result="same", compute_dtype="float32", dtypes="float", namespace="nn", name="leaky_relu", vmap="elementwise")
def leaky_relu_op(input: Tensor, slope: float) -> Tensor:
    """Negative elements times a slope."""
    return leaky_relu_op.op(input, slope)


@leaky_relu_op.formula
def _(input, slope):
    return where(input > 0, input, input * slope)


@leaky_relu_op.kernel
def _(xp, input, slope):
    if 0 < slope <= 1:
        return xp.maximum(input, input * slope)
    return xp.where(input > 0, input, input * slope)


@leaky_relu_op.onnx
def _(graph, input, slope):
    return graph.LeakyRelu(input, alpha=slope)


@op(**BACKWARD)
def leaky_relu_backward(output_grad: Tensor, input: Tensor, slope: float) -> Tensor:
    """A gradient, times a slope where the input is not positive."""
    return leaky_relu_backward.op(output_grad, input, slope)


@leaky_relu_backward.formula
def _(output_grad, input, slope):
    return where(input > 0, output_grad, output_grad * slope)


set_backward(leaky_relu_op, leaky_relu_backward)


@composite(fast_path=FastPath(leaky_relu_op.op, takes="input negative_slope"))
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` where it is positive, else ``negative_slope * x``.

    Parameters
    ----------
    input : Tensor
    negative_slope : float
    inplace : bool
        Whether to write into the input.

    Examples
    --------
    >>> weft.nn.functional.leaky_relu(weft.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    slope = factor_of("leaky_relu", negative_slope, input)
    return inplace_or_not(leaky_relu_op.op, "leaky_relu_", input, inplace, slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place variant of `leaky_relu`.

    Parameters
    ----------
    input : Tensor
    negative_slope : float

    Examples
    --------
    >>> x = weft.tensor([-1.0, 2.0])
    >>> _ = weft.nn.functional.leaky_relu_(x, 0.1)
    >>> x
    tensor([-0.1000,  2.0000])
    """
    return leaky_relu(input, negative_slope, True)


@in_half_precision
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``x`` where it is positive, else ``weight * x``, with one weight for all or one for each channel.

    Parameters
    ----------
    input : Tensor, shape (N, C, ...)
    weight : Tensor, shape (1,) or (C,)

    Raises
    ------
    RuntimeError
        If the number of weights fits neither.

    References
    ----------
    arXiv:1502.01852.

    Examples
    --------
    >>> weft.nn.functional.prelu(weft.tensor([[-1.0, -1.0]]), weft.tensor([0.1, 0.5]))
    tensor([[-0.1000, -0.5000]])
    """
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}; the input has "
            f"shape {list(input.shape)}"
        )
    if weight.numel() != 1:
        if input.ndim == 0:
            raise RuntimeError(f"prelu: Not allow zero-dim input tensor. It takes one weight, got {weight.numel()}")
        channels = input.shape[1] if input.ndim > 1 else 1
        if weight.numel() != channels:
            raise RuntimeError(
                "prelu: Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}; got input {list(input.shape)}"
            )
    if weight.dtype is not input.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}")
    shape = [1] * input.ndim
    if input.ndim > 1:
        shape[1] = weight.numel()
    elif input.ndim:
        shape[0] = weight.numel()
    return prelu_op.op(input, weight.reshape(shape))


PRELU: Any = {**BACKWARD, "promotes": True}  # the slopes are broadcast


@op(**{**PRELU, "tensors": "input weight"}, name="prelu")
def prelu_op(input: Tensor, weight: Tensor) -> Tensor:
    """Elements that are not positive times slopes."""
    return prelu_op.op(input, weight)


@prelu_op.formula
def _(input, weight):
    return where(input > 0, input, weight * input)


@prelu_op.gradient("weight")
def _(grad, input):
    return (grad * input).masked_fill(input > 0, 0)


@prelu_op.onnx
def _(graph, input, weight):
    return graph.PRelu(input, weight)


@op(**{**PRELU, "tensors": "output_grad input weight"})
def prelu_backward(output_grad: Tensor, input: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """A gradient, times slopes where the input is not positive."""
    return prelu_backward.op(output_grad, input, weight)


@prelu_backward.formula
def _(output_grad, input, weight):
    return where(input > 0, output_grad, weight * output_grad)


set_backward(prelu_op, prelu_backward)


@prelu_backward.gradient("input")
def _(grad):
    return None


@prelu_backward.gradient("weight")
def _(grad, output_grad, input):
    return (grad * output_grad).masked_fill(input > 0, 0)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """`leaky_relu` with a slope drawn from [lower, upper] for each element; in evaluation with the middle one.

    Parameters
    ----------
    input : Tensor
    lower, upper : float
    training : bool
    inplace : bool
        Whether to write into the input.

    References
    ----------
    arXiv:1505.00853.

    Examples
    --------
    >>> weft.nn.functional.rrelu(weft.tensor([-1.0, 2.0]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    if lower > upper:
        raise RuntimeError(
            f"rrelu: Lower bound should be less than or equal to the upper bound, got {lower} and {upper}"
        )
    require_flags("rrelu", training=training)
    if not training:
        return inplace_or_not(leaky_relu_op.op, "rrelu_", input, inplace, (lower + upper) / 2)
    return inplace_or_not(random_slopes, "rrelu_", input, inplace, lower, upper)


def random_slopes(input: Tensor, lower: float, upper: float) -> Tensor:
    """Elements that are not positive times random slopes."""
    if input.is_meta:
        return input * weft.ones_like(input.detach())
    negative = input.detach() <= 0
    if default_generator_of(input.device).is_counter_based:  # one for each element, wherever the negative ones are
        return input * weft.where(negative, weft.empty_like(input.detach()).uniform_(lower, upper), 1)
    drawn = input.new_empty(int(negative.sum()), dtype=weft.float64).uniform_(lower, upper)
    slopes = weft.ones_like(input.detach()).masked_scatter(negative, drawn.to(input.dtype))
    return input * slopes


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """In-place variant of `rrelu`.

    Parameters
    ----------
    input : Tensor
    lower, upper : float
    training : bool

    Examples
    --------
    >>> x = weft.tensor([-1.0, 2.0])
    >>> _ = weft.nn.functional.rrelu_(x, 0.1, 0.3)
    >>> x
    tensor([-0.2000,  2.0000])
    """
    return rrelu(input, lower, upper, training, True)


@op(result="same", compute_dtype="float32", dtypes="float", namespace="nn", name="shrink", vmap="elementwise")
def shrink_op(input: Tensor, lambd: float, towards_zero: bool) -> Tensor:
    """0 for elements in [-lambd, lambd]; the others as they are, or moved towards 0 by lambd."""
    return shrink_op.op(input, lambd, towards_zero)


@shrink_op.formula
def _(input, lambd, towards_zero):
    if not towards_zero:
        return where((input >= -lambd) & (input <= lambd), 0, input)
    return where(input < -lambd, input + lambd, where(input > lambd, input - lambd, input * 0))


@shrink_op.gradient("input")
def _(grad, input, lambd):
    return shrink_backward.op(grad, input, rounded(lambd, input))


@op(**BACKWARD)
def shrink_backward(output_grad: Tensor, input: Tensor, lambd: float) -> Tensor:
    """A gradient where the input is outside of [-lambd, lambd], and 0 inside."""
    return shrink_backward.op(output_grad, input, lambd)


@shrink_backward.formula
def _(output_grad, input, lambd):
    return where((input < -lambd) | (input > lambd), output_grad, 0)


@shrink_backward.gradient("output_grad")
def _(grad, input, lambd):
    return shrink_backward.op(grad, input, lambd)


@composite(out=True)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 for elements in [-lambd, lambd]; the others as they are.

    Parameters
    ----------
    input : Tensor
    lambd : float

    Examples
    --------
    >>> weft.nn.functional.hardshrink(weft.tensor([-1.0, 0.3, 0.8]))
    tensor([-1.0000,  0.0000,  0.8000])
    """
    if input._key.is_real_float:
        lambd = rounded(fitting("hardshrink", lambd, input._key.dtype), input)
    return shrink_op.op(input, lambd, False)


def rounded(number: float, input: Tensor) -> float:
    """A number as a tensor's dtype has it: halves are computed in float32, and compared with what they can be."""
    return float(weft.tensor(number, dtype=input._key.dtype)) if input.dtype.is_half else number


@composite(out=True)
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 for elements in [-lambd, lambd]; the others moved towards 0 by ``lambd``.

    Parameters
    ----------
    input : Tensor
    lambd : float
        At least 0.

    Raises
    ------
    RuntimeError
        If ``lambd`` is negative.

    Examples
    --------
    >>> weft.nn.functional.softshrink(weft.tensor([-1.0, 0.3, 0.8]))
    tensor([-0.5000,  0.0000,  0.3000])
    """
    require_numbers("softshrink", lambd=lambd)
    if lambd < 0:
        raise RuntimeError(
            f"softshrink: lambda must be in range [0, {weft.finfo(input._key.dtype).max:g}] for input dtype "
            f"{input._key.dtype.scalar_type_name}, but found {lambd}"
            if input._key.is_real_float
            else f"softshrink: lambda must be greater or equal to 0, but found to be {lambd}."
        )
    if input._key.is_real_float and not lambd <= weft.finfo(input._key.dtype).max:
        raise RuntimeError(
            f"softshrink: lambda must be in range [0, {weft.finfo(input._key.dtype).max:g}] for input dtype "
            f"{input._key.dtype.scalar_type_name}, but found {lambd}"
        )
    return shrink_op.op(input, lambd, True)


Tensor.hardshrink = hardshrink  # type: ignore[method-assign]  # the stub has it already


@op(result="same", compute_dtype="float32", dtypes="float", namespace="nn", name="hardsigmoid", vmap="elementwise")
def hardsigmoid_op(input: Tensor) -> Tensor:
    """``relu6(x + 3) / 6``."""
    return hardsigmoid_op.op(input)


@hardsigmoid_op.formula
def _(input):
    return clip(input + 3, 0, 6) / 6


@hardsigmoid_op.onnx
def _(graph, input):
    return graph.HardSigmoid(input, alpha=1 / 6, beta=0.5)


@op(**BACKWARD)
def hardsigmoid_backward(output_grad: Tensor, input: Tensor) -> Tensor:
    """A gradient times the derivative of `hardsigmoid`."""
    return hardsigmoid_backward.op(output_grad, input)


@hardsigmoid_backward.formula
def _(output_grad, input):
    return where((input > -3) & (input < 3), output_grad / 6, 0)


set_backward(hardsigmoid_op, hardsigmoid_backward)


@composite(fast_path=FastPath(hardsigmoid_op.op))
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(x + 3) / 6``, a sigmoid of straight lines.

    Parameters
    ----------
    input : Tensor
    inplace : bool
        Whether to write into the input.

    Examples
    --------
    >>> weft.nn.functional.hardsigmoid(weft.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return inplace_or_not(hardsigmoid_op.op, "hardsigmoid_", input, inplace)


@op(result="same", compute_dtype="float32", dtypes="float", namespace="nn", name="hardswish", vmap="elementwise")
def hardswish_op(input: Tensor) -> Tensor:
    """``x * relu6(x + 3) / 6``."""
    return hardswish_op.op(input)


@hardswish_op.formula
def _(input):
    return input * clip(input + 3, 0, 6) / 6


@hardswish_op.onnx
def _(graph, input):
    return graph.HardSwish(input)


@op(**BACKWARD)
def hardswish_backward(output_grad: Tensor, input: Tensor) -> Tensor:
    """A gradient times the derivative of `hardswish`."""
    return hardswish_backward.op(output_grad, input)


@hardswish_backward.formula
def _(output_grad, input):
    below = where(input <= -3, 0, output_grad * (input / 3 + 0.5))
    return where(input >= 3, output_grad, below)


set_backward(hardswish_op, hardswish_backward)


@hardswish_backward.gradient("input")
def _(grad, output_grad, input):
    return (grad * output_grad / 3).masked_fill((input <= -3) | (input >= 3), 0)


@composite(fast_path=FastPath(hardswish_op.op))
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * relu6(x + 3) / 6``.

    Parameters
    ----------
    input : Tensor
    inplace : bool
        Whether to write into the input.

    References
    ----------
    arXiv:1905.02244.

    Examples
    --------
    >>> weft.nn.functional.hardswish(weft.tensor([-4.0, 1.0, 4.0]))
    tensor([-0.0000,  0.6667,  4.0000])
    """
    return inplace_or_not(hardswish_op.op, "hardswish_", input, inplace)


# Exponential ones


@op(result="same", compute_dtype="float32", dtypes="float", namespace="nn", name="elu", vmap="elementwise")
def elu_op(input: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    """``scale * x`` where x is positive, else ``scale * alpha * (exp(input_scale * x) - 1)``."""
    return elu_op.op(input, alpha, scale, input_scale)


@elu_op.formula
def _(input, alpha, scale, input_scale):
    negative = expm1(minimum(0, input) * input_scale) * (alpha * scale)
    return where(input <= 0, negative, input * scale)


@elu_op.kernel  # without a choice between numbers where that can be
def _(xp, input, alpha, scale, input_scale):
    if alpha == scale == input_scale == 1:
        return xp.maximum(xp.expm1(xp.minimum(0, input)), input)  # in this order -0.0 stays
    negative = xp.expm1(xp.minimum(0, input) * input_scale) * (alpha * scale)
    return xp.where(input > 0, input * scale, negative)


@elu_op.onnx
def _(graph, input, alpha, scale, input_scale):
    result = graph.Elu(input if input_scale == 1 else graph.Mul(input, input_scale), alpha=alpha)
    if input_scale != 1:
        result = graph.where(graph.Less(input, 0.0), result, input)
    return result if scale == 1 else graph.Mul(result, scale)


@op(**BACKWARD)
def elu_backward(output_grad: Tensor, input: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    """A gradient times the derivative of `elu`."""
    return elu_backward.op(output_grad, input, alpha, scale, input_scale)


@elu_backward.formula
def _(output_grad, input, alpha, scale, input_scale):
    slope = exp(minimum(0, input) * input_scale) * (alpha * scale * input_scale)
    return output_grad * where(input > 0, scale, slope)


set_backward(elu_op, elu_backward)


@elu_backward.gradient("input")
def _(grad, output_grad, input, alpha, scale, input_scale):
    bend = (input.clamp(max=0) * input_scale).exp() * (alpha * scale * input_scale * input_scale)
    return (grad * output_grad * bend).masked_fill(input > 0, 0)


@composite(fast_path=FastPath(elu_op.op, takes="input alpha", constants=(1.0, 1.0)))
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``.

    Parameters
    ----------
    input : Tensor
    alpha : float
        Minus the limit at minus infinity.
    inplace : bool
        Whether to write into the input.

    References
    ----------
    arXiv:1511.07289.

    Examples
    --------
    >>> weft.nn.functional.elu(weft.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return inplace_or_not(elu_op.op, "elu_", input, inplace, factor_of("elu", alpha, input), 1.0, 1.0)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place variant of `elu`.

    Parameters
    ----------
    input : Tensor
    alpha : float

    Examples
    --------
    >>> x = weft.tensor([-1.0, 2.0])
    >>> _ = weft.nn.functional.elu_(x)
    >>> x
    tensor([-0.6321,  2.0000])
    """
    return elu(input, alpha, True)


SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@composite(fast_path=FastPath(elu_op.op, takes="input", constants=(SELU_ALPHA, SELU_SCALE, 1.0)))
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the two constants that keep mean 0 and variance 1 from layer to layer.

    Parameters
    ----------
    input : Tensor
    inplace : bool
        Whether to write into the input.

    References
    ----------
    arXiv:1706.02515.

    Examples
    --------
    >>> weft.nn.functional.selu(weft.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return inplace_or_not(elu_op.op, "selu_", input, inplace, SELU_ALPHA, SELU_SCALE, 1.0)


def selu_(input: Tensor) -> Tensor:
    """In-place variant of `selu`.

    Examples
    --------
    >>> weft.nn.functional.selu_(weft.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return selu(input, True)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where it is positive, else ``alpha * (exp(x / alpha) - 1)``: smooth at 0 for every ``alpha``.

    Parameters
    ----------
    input : Tensor
    alpha : float
        Minus the limit at minus infinity; not 0.
    inplace : bool
        Whether to write into the input.

    References
    ----------
    arXiv:1704.07483.

    Examples
    --------
    >>> weft.nn.functional.celu(weft.tensor([-1.0, 2.0]), 2.0)
    tensor([-0.7869,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("celu: ZeroDivisionError: alpha cannot be 0 for CELU")
    alpha = factor_of("celu", alpha, input)
    return inplace_or_not(elu_op.op, "celu_", input, inplace, alpha, 1.0, 1.0 / alpha)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place variant of `celu`.

    Parameters
    ----------
    input : Tensor
    alpha : float

    Examples
    --------
    >>> x = weft.tensor([-1.0, 2.0])
    >>> _ = weft.nn.functional.celu_(x)
    >>> x
    tensor([-0.6321,  2.0000])
    """
    return celu(input, alpha, True)


@op(result="same", compute_dtype="float32", dtypes="float", namespace="nn", name="softplus", vmap="elementwise")
def softplus_op(input: Tensor, beta: float, threshold: float) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``."""
    return softplus_op.op(input, beta, threshold)


@softplus_op.formula
def _(input, beta, threshold):
    scaled = input * beta
    return where(scaled > threshold, input, (maximum(0, scaled) + log1pexp(-abs(scaled))) / beta)


SAME_FROM = 18  # float32 does not tell `softplus` of this or more from the number itself, than which none is smaller


@softplus_op.kernel
def _(xp, input, beta, threshold):
    if beta == 1:
        found = xp.asarray(xp.log1p(xp.exp(xp.minimum(input, threshold))))
        if threshold >= SAME_FROM and input.dtype.itemsize == 4:
            return xp.asarray(xp.maximum(found, input))
        xp.copyto(found, input, where=input > threshold)
        return found
    scaled = input * input.dtype.type(beta)
    return xp.where(scaled > threshold, input, xp.log1p(xp.exp(xp.minimum(scaled, threshold))) / input.dtype.type(beta))


@op(**BACKWARD)
def softplus_backward(output_grad: Tensor, input: Tensor, beta: float, threshold: float) -> Tensor:
    """A gradient times the derivative of `softplus`."""
    return softplus_backward.op(output_grad, input, beta, threshold)


@softplus_backward.formula
def _(output_grad, input, beta, threshold):
    scaled = input * beta
    return where(scaled > threshold, output_grad, output_grad * gate(scaled))


def gate(x: Any) -> Any:
    """The sigmoid in a formula, also where it is as small as numbers can be: there ``1 / (1 + exp(-x))`` is 0."""
    power = exp(-abs(x))
    return where(x < 0, power, 1) / (1 + power)


set_backward(softplus_op, softplus_backward)


@softplus_backward.gradient("input")
def _(grad, output_grad, input, beta, threshold):
    gate = (input * beta).sigmoid()
    return (grad * output_grad * gate * (1 - gate) * beta).masked_fill(input * beta > threshold, 0)


@composite(out=True, fast_path=FastPath(softplus_op.op))
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, a smooth `relu`.

    Parameters
    ----------
    input : Tensor
    beta : float
    threshold : float
        Where ``beta * x`` is above it, x itself.

    Examples
    --------
    >>> weft.nn.functional.softplus(weft.tensor([-1.0, 0.0, 30.0]))
    tensor([ 0.3133,  0.6931, 30.0000])
    """
    require_numbers("softplus", beta=beta, threshold=threshold)
    beta, threshold = factor_of("softplus", beta, input), factor_of("softplus", threshold, input)
    return softplus_op.op(input, beta, threshold)


@op(result="same", compute_dtype="float32", dtypes="float", namespace="nn", name="logsigmoid", vmap="elementwise")
def logsigmoid_op(input: Tensor) -> Tensor:
    """The logarithm of the sigmoid."""
    return logsigmoid_op.op(input)


@logsigmoid_op.formula
def _(input):
    return minimum(0, input) - log1pexp(-abs(input))


@op(**BACKWARD)
def logsigmoid_backward(output_grad: Tensor, input: Tensor) -> Tensor:
    """A gradient times the derivative of `logsigmoid`."""
    return logsigmoid_backward.op(output_grad, input)


@logsigmoid_backward.formula
def _(output_grad, input):
    return output_grad * gate(-input)


set_backward(logsigmoid_op, logsigmoid_backward)


@logsigmoid_backward.gradient("input")
def _(grad, output_grad, input):
    gate = input.sigmoid()
    return -grad * output_grad * gate * (1 - gate)


@composite(out=True, fast_path=FastPath(logsigmoid_op.op))
def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of the sigmoid, computed without loss of precision.

    Examples
    --------
    >>> weft.nn.functional.logsigmoid(weft.tensor([-1000.0, 0.0]))
    tensor([-1.0000e+03, -6.9315e-01])
    """
    return logsigmoid_op.op(input)


@op(result="same", compute_dtype="float32", dtypes="float complex", namespace="nn", name="silu", vmap="elementwise")
def silu_op(input: Tensor) -> Tensor:
    """``x * sigmoid(x)``."""
    return silu_op.op(input)


@silu_op.formula
def _(input):
    return input / (1 + exp(-input))


@silu_op.gradient("input")
def _(grad, input):
    if not input._key.is_complex:
        return silu_backward.op(grad, input)
    gate = input.sigmoid()
    return grad * conj(gate * (1 + input * (1 - gate)))


@op(**BACKWARD)
def silu_backward(output_grad: Tensor, input: Tensor) -> Tensor:
    """A gradient times the derivative of `silu`."""
    return silu_backward.op(output_grad, input)


@silu_backward.formula
def _(output_grad, input):
    gate = formulas.sigmoid(input)
    return output_grad * (gate * (1 + input * (1 - gate)))


@silu_backward.gradient("output_grad")
def _(grad, input):
    return silu_backward.op(grad, input)


@silu_backward.gradient("input")
def _(grad, output_grad, input):
    gate = input.sigmoid()
    return grad * output_grad * gate * (1 - gate) * (2 + input * (1 - 2 * gate))


@composite(fast_path=FastPath(silu_op.op))
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``, also called swish.

    Parameters
    ----------
    input : Tensor
    inplace : bool
        Whether to write into the input.

    References
    ----------
    arXiv:1702.03118, arXiv:1710.05941.

    Examples
    --------
    >>> weft.nn.functional.silu(weft.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """
    return inplace_or_not(silu_op.op, "silu_", input, inplace)


@op(result="same", compute_dtype="float32", dtypes="float", namespace="nn", name="mish", vmap="elementwise")
def mish_op(input: Tensor) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return mish_op.op(input)


@mish_op.formula
def _(input):
    power = exp(minimum(20, input))
    above = power * (power + 2)  # tanh(softplus(x)) is above / (above + 2)
    return input * (above / (above + 2))


@mish_op.onnx
def _(graph, input):
    return graph.Mish(input)


@op(**BACKWARD)
def mish_backward(output_grad: Tensor, input: Tensor) -> Tensor:
    """A gradient times the derivative of `mish`."""
    return mish_backward.op(output_grad, input)


@mish_backward.formula
def _(output_grad, input):
    power = exp(minimum(20, input))
    above = power * (power + 2)
    squashed = above / (above + 2)
    gate = power / (1 + power)
    return output_grad * (squashed + input * gate * (1 - squashed * squashed))


set_backward(mish_op, mish_backward)


@mish_backward.gradient("input")
def _(grad, output_grad, input):
    squashed, gate = softplus_op.op(input, 1.0, 20.0).tanh(), input.sigmoid()
    slope = gate * (1 - squashed * squashed)
    return grad * output_grad * slope * (2 + input * (1 - gate - 2 * squashed * gate))


@composite(fast_path=FastPath(mish_op.op))
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``.

    Parameters
    ----------
    input : Tensor
    inplace : bool
        Whether to write into the input.

    References
    ----------
    arXiv:1908.08681.

    Examples
    --------
    >>> weft.nn.functional.mish(weft.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.3034,  0.0000,  1.9440])
    """
    return inplace_or_not(mish_op.op, "mish_", input, inplace)


# Compositions


@composite(fast_path=FastPath(core_sigmoid.op))
def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``.

    Examples
    --------
    >>> weft.nn.functional.sigmoid(weft.tensor([-1.0, 0.0, 1.0]))
    tensor([0.2689, 0.5000, 0.7311])
    """
    return input.sigmoid()


@composite(fast_path=FastPath(core_tanh.op))
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent.

    Examples
    --------
    >>> weft.nn.functional.tanh(weft.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.7616,  0.0000,  0.7616])
    """
    return input.tanh()


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``.

    Examples
    --------
    >>> weft.nn.functional.tanhshrink(weft.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2384,  0.0000,  0.2384])
    """
    return input - input.tanh()


@op(
    result="same",
    compute_dtype="float32",
    dtypes="float",
    namespace="nn",
    name="softsign",
    vmap="elementwise",
    onnx="Softsign",
)
def softsign_op(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""
    return softsign_op.op(input)


@softsign_op.formula
def _(input):
    return input / (1 + abs(input))


@op(**BACKWARD)
def softsign_backward(output_grad: Tensor, input: Tensor) -> Tensor:
    """A gradient times the derivative of `softsign`."""
    return softsign_backward.op(output_grad, input)


@softsign_backward.formula
def _(output_grad, input):
    below = 1 + abs(input)
    return output_grad / (below * below) + (input - input)  # nan at infinity, as the quotient's derivative in PyTorch


set_backward(softsign_op, softsign_backward)


@softsign_backward.gradient("input")
def _(grad, output_grad, input):
    return -2 * grad * output_grad * input.sgn() / (input.abs() + 1) ** 3


@composite(fast_path=FastPath(softsign_op.op))
def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``.

    Examples
    --------
    >>> weft.nn.functional.softsign(weft.tensor([-1.0, 0.0, 3.0]))
    tensor([-0.5000,  0.0000,  0.7500])
    """
    if not input._key.is_real_float:
        return input / (input.abs() + 1)
    return softsign_op.op(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of dimension ``dim`` times the sigmoid of the second.

    Parameters
    ----------
    input : Tensor
    dim : int

    Raises
    ------
    RuntimeError
        If the input has no dimension, or an odd size there.

    References
    ----------
    arXiv:1612.08083.

    Examples
    --------
    >>> weft.nn.functional.glu(weft.tensor([3.0, 4.0, 0.0, 1.0]))
    tensor([1.5000, 2.9242])
    """
    if input.ndim == 0:
        raise RuntimeError("glu: glu does not support 0-dimensional tensors")
    check_floating("glu", input)
    size = input.shape[wrap_dim("glu", dim, input.ndim)]
    if size % 2:
        raise RuntimeError(f"glu: Halving dimension must be even, but dimension {dim} is size {size}")
    return glu_op.op(input, wrap_dim("glu", dim, input.ndim))


@op(result="same", compute_dtype="float32", dtypes="float", namespace="nn", name="glu", vmap="along_dims")
def glu_op(input: Tensor, dim: int) -> Tensor:
    """The first half of a dimension times the sigmoid of the second."""
    return glu_op.op(input, dim)


@glu_op.kernel
def _(xp, input, dim):
    value, gate = xp.split(input, 2, dim)
    result = xp.exp(-gate)
    result += 1
    return xp.divide(value, result, out=result)


@glu_op.gradient("input")
def _(grad, input, dim):
    return glu_backward.op(grad, input, dim)


@glu_op.onnx
def _(graph, input, dim):
    value, gate = graph.Split(input, outputs=2, axis=dim, num_outputs=2)
    return graph.Mul(value, graph.Sigmoid(gate))


@op(
    tensors="output_grad input",
    result="same",
    compute_dtype="float32",
    dtypes="float",
    namespace="nn",
    name="glu_backward",
    vmap="along_dims",
)
def glu_backward(output_grad: Tensor, input: Tensor, dim: int) -> Tensor:
    """The gradient of `glu` with respect to its input."""
    return glu_backward.op(output_grad, input, dim)


@glu_backward.kernel
def _(xp, output_grad, input, dim):
    value, gate = xp.split(input, 2, dim)
    share = 1 / (1 + xp.exp(-gate))
    by_value = output_grad * share
    share -= 1
    share *= by_value
    share *= -value
    return xp.concatenate([by_value, share], axis=dim)


@glu_backward.gradient("output_grad input")
def _(grad, output_grad, input, dim):
    by_value, by_gate = grad.chunk(2, dim)
    value, gate = input.chunk(2, dim)
    share = gate.sigmoid()
    slope = share * (1 - share)
    bend = by_value * slope + by_gate * value * slope * (1 - 2 * share)
    by_input = weft.cat([by_gate * output_grad * slope, bend * output_grad], dim)
    return by_value * share + by_gate * value * slope, by_input
