"""Softmax, its logarithm, and norms."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from weft._dtypes.dtypes import check_bits, dtype
from weft._engine.dimensions import Norm
from weft._engine.fast_paths import FastPath
from weft._lazy import lazy
from weft._tensor.base import Tensor, add_members
from weft._tensor.layout import in_order
from weft.autograd.grad_mode import no_grad
from weft.ops._declare import composite, op
from weft.ops._geometry import wrap_dim, wrap_dims
from weft.ops._numerics import peaks
from weft.ops.creation import zeros_like
from weft.ops.reductions import axes, reduce, spread, total
from weft.types import DType


def exponentials(xp: Any, input: Any, dim: int) -> Any:
    """``exp(input - max)`` along a dim, in memory of its own."""
    shifted = input - peaks(xp, input, dim)
    return xp.exp(shifted, shifted)


@op(name="softmax", result="same", compute_dtype="float32", dtypes="float", vmap="along_dims")
def softmax_op(input: Tensor, dim: int) -> Tensor:
    """``exp(input) / exp(input).sum(dim)``."""
    return softmax_op.op(input, dim)


@softmax_op.kernel
def _(xp, input, dim):
    if not input.ndim:
        return xp.asarray(xp.exp(input - input))  # 1, but nan of what is not finite
    powers = exponentials(xp, in_order(xp, input), dim)
    powers /= total(xp, powers, (dim,), True)
    return powers


@softmax_op.onnx
def _(graph, input, dim):
    return graph.Softmax(input, axis=dim) if input.ndim else graph.full_like(input, 1.0)


@softmax_op.gradient("input")
def _(grad, output, dim):
    return softmax_backward.op(grad, output, dim)


@op(
    tensors="output_grad result",
    name="softmax_backward",
    result="same",
    compute_dtype="float32",
    dtypes="float",
    vmap="along_dims",
)
def softmax_backward(output_grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of `softmax` with respect to its input, by its result."""
    return softmax_backward.op(output_grad, result, dim)


@softmax_backward.kernel
def _(xp, output_grad, result, dim):
    if not result.ndim:
        return xp.asarray(output_grad * result * (1 - result))
    product = in_order(xp, output_grad * result)
    product -= result * total(xp, product, (dim,), True)
    return product


@softmax_backward.gradient("output_grad")
def _(grad, result, dim):
    return softmax_backward.op(grad, result, dim)


@softmax_backward.gradient("result")
def _(grad, output_grad, result, dim):
    slope = (output_grad * result).sum(dim, keepdim=True)
    return grad * (output_grad - slope) - output_grad * (grad * result).sum(dim, keepdim=True)


@op(name="log_softmax", result="same", compute_dtype="float32", dtypes="float", vmap="along_dims")
def log_softmax_op(input: Tensor, dim: int) -> Tensor:
    """The logarithm of `softmax`."""
    return log_softmax_op.op(input, dim)


@log_softmax_op.kernel
def _(xp, input, dim):
    if not input.ndim:
        return xp.asarray(input - input)
    input = in_order(xp, input)
    shifted = input - peaks(xp, input, dim)
    shifted -= xp.log(total(xp, xp.exp(shifted), (dim,), True))
    return shifted


@log_softmax_op.gradient("input")
def _(grad, output, dim):
    return log_softmax_backward.op(grad, output, dim)


@log_softmax_op.onnx
def _(graph, input, dim):
    return graph.LogSoftmax(input, axis=dim) if input.ndim else graph.full_like(input, 0.0)


@op(
    tensors="output_grad result",
    name="log_softmax_backward",
    result="same",
    compute_dtype="float32",
    dtypes="float",
    vmap="along_dims",
)
def log_softmax_backward(output_grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of `log_softmax` with respect to its input, by its result."""
    return log_softmax_backward.op(output_grad, result, dim)


@log_softmax_backward.kernel
def _(xp, output_grad, result, dim):
    if not result.ndim:
        return xp.asarray(output_grad - output_grad * xp.exp(result))
    powers = xp.exp(in_order(xp, result))
    powers *= total(xp, output_grad, (dim,), True)
    return xp.subtract(output_grad, powers, out=powers)


@log_softmax_backward.gradient("output_grad")
def _(grad, result, dim):
    return grad - (grad * result.exp()).sum(dim, keepdim=True)


@log_softmax_backward.gradient("result")
def _(grad, output_grad, result, dim):
    return -grad * result.exp() * output_grad.sum(dim, keepdim=True)


def normalizing(name: str, input: Any, dim: int, dtype: Any, declared: Any) -> Any:
    if dtype is not None:
        input = input.to(dtype)
    return declared.op(input, wrap_dim(name, dim, input.ndim))


@composite("softmax", out="exact shared", fast_path=FastPath(softmax_op.op))
def softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """``exp(input)`` divided by its sum along a dimension, without overflow.

    Parameters
    ----------
    input : Tensor of floating-point dtype
    dim : int
        Along it the results sum to 1.
    dtype : dtype, optional
        Convert first.

    Examples
    --------
    >>> weft.softmax(weft.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return normalizing("softmax", input, dim, dtype, softmax_op)


@composite("log_softmax", out="exact shared", fast_path=FastPath(log_softmax_op.op))
def log_softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """The logarithm of `softmax`, accurate where that is close to 0.

    Parameters
    ----------
    input : Tensor of floating-point dtype
    dim : int
        Along it the exponentials of the results sum to 1.
    dtype : dtype, optional
        Convert first.

    Examples
    --------
    >>> weft.log_softmax(weft.tensor([0.0, 1000.0]), dim=0)
    tensor([-1000.,     0.])
    """
    return normalizing("log_softmax", input, dim, dtype, log_softmax_op)


@composite()
def _safe_softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """`softmax`, with zeros in place of nan where all elements along the dimension are minus infinity.

    Examples
    --------
    >>> weft._safe_softmax(weft.full((2,), -float("inf")), 0)
    tensor([0., 0.])
    """
    nothing = input.isneginf().all(wrap_dim("_safe_softmax", dim, input.ndim), keepdim=True)
    return softmax(input.masked_fill(nothing, 0), dim, dtype).masked_fill(nothing, 0)


@composite()
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: dtype) -> Tensor:
    """The gradient of `softmax` with respect to its input.

    Parameters
    ----------
    grad_output, output : Tensor
        The gradient with respect to the result, and the result.
    dim : int
    input_dtype : dtype
        That of the input: the gradient's own, or float16 of a result in float32.
    """
    if grad_output.dtype is not input_dtype and (grad_output.dtype.name, input_dtype.name) != ("float32", "float16"):
        raise RuntimeError(
            "_softmax_backward_data: expected input and grad types to match, or input to be at::Half and grad to be "
            f"at::Float; got {input_dtype} and {grad_output.dtype}"
        )
    if grad_output.dtype is not output.dtype or grad_output._array.shape != output._array.shape:
        raise RuntimeError(
            "_softmax_backward_data: Expected argument #1 'grad_output' to have the size and dtype of argument #2 "
            f"'output', got {list(grad_output.shape)} {grad_output.dtype} and {list(output.shape)} {output.dtype}"
        )
    if not grad_output.dtype.is_floating_point:
        raise NotImplementedError(
            f"_softmax_backward_data: not implemented for '{output.dtype.scalar_type_name}'; use .float()"
        )
    half = grad_output.dtype.is_half
    grad, result = (each.float() if half else each for each in (grad_output, output))
    product = grad * result
    return (product - result * product.sum(wrap_dim("softmax", dim, grad.ndim), keepdim=True)).to(input_dtype)


# Norms


@op(name="vector_norm", result="real", compute_dtype="float32", dtypes="float complex", vmap="along_dims")
def vector_norm(input: Tensor, ord: float, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    """The p-norm of the elements over some dims."""
    return vector_norm.op(input, ord, dim, keepdim)


@vector_norm.kernel
def _(xp, input, ord, dim, keepdim):
    axis = axes(input, dim)
    if ord == 2 and input.dtype.kind != "c":
        return xp.sqrt(reduce("sum", xp.asarray(input * input), axis, keepdim))
    size = xp.asarray(xp.absolute(input))
    if math.isinf(ord):
        return reduce("max" if ord > 0 else "min", size, axis, keepdim)
    if ord == 0:
        return xp.sum(size != 0, axis=axis, keepdims=keepdim).astype(size.dtype)
    if ord == 1:
        return reduce("sum", size, axis, keepdim)
    return reduce("sum", size**ord, axis, keepdim) ** size.dtype.type(1 / ord)


@vector_norm.gradient("input")
def _(grad, input, output, ord, dim, keepdim):
    shape = input._array.shape
    if ord == 0:
        return zeros_like(input)
    if ord == 2:  # what is the same for all elements of a norm is computed once
        return input * spread(grad / output.masked_fill(output == 0, 1), shape, dim, keepdim)
    whole, length = spread(grad, shape, dim, keepdim), spread(output, shape, dim, keepdim)
    if ord == 1:
        return whole * input.sgn()
    none = length == 0
    some = length.masked_fill(none, 1)  # a divisor, for which also this gradient's own gradient is finite
    size = input.abs()
    if math.isinf(ord):
        most = size == length
        share = most.to(size.dtype)
        return input.sgn() * (whole / share.sum(dim if shape else None, keepdim=True) * share)
    if ord < 1:
        slope = input.sgn() * size.pow(ord - 1).masked_fill(size == 0, 0)
        return slope * (whole * some.pow(1 - ord)).masked_fill(none, 0)
    if ord < 2:
        slope = input.sgn() * size.pow(ord - 1)
        return slope * (whole / some.pow(ord - 1)).masked_fill(none, 0)
    return input * size.pow(ord - 2) * (whole / some.pow(ord - 1)).masked_fill(none, 0)


@vector_norm.onnx
def _(graph, input, ord, dim, keepdim):
    dims = () if not input.ndim else range(input.ndim) if dim is None else dim
    size = graph.Abs(input)
    if ord == 2:
        return graph.Sqrt(graph.reduce("ReduceSum", graph.Mul(input, input), dims, keepdim))
    if math.isinf(ord):
        return graph.reduce("ReduceMax" if ord > 0 else "ReduceMin", size, dims, keepdim)
    if ord == 0:
        return graph.reduce("ReduceSum", graph.cast(graph.truth(input), input.dtype), dims, keepdim)
    if ord == 1:
        return graph.reduce("ReduceSum", size, dims, keepdim)
    return graph.Pow(graph.reduce("ReduceSum", graph.Pow(size, ord), dims, keepdim), 1 / ord)


@composite(
    "norm",
    out="exact",
    fast_path=Norm(vector_norm.op, takes="input p dim keepdim"),
    scalars="p",
)
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    """The p-norm over some dimensions, or over all.

    Parameters
    ----------
    input : Tensor of floating-point or complex dtype
    p : float, "fro" or "nuc"
        ``"fro"`` and None are 2; infinite: the largest (or smallest) size; 0: how many are not 0; ``"nuc"``: the
        sum of the singular values of matrices.
    dim : int or sequence of int, optional
        Default: all elements as one vector; for ``"nuc"`` the last two dimensions.
    keepdim : bool
        Keep the reduced dimensions, with size 1.
    dtype : dtype, optional
        Convert first.

    Raises
    ------
    RuntimeError
        For bool and integers.

    Examples
    --------
    >>> x = weft.tensor([3.0, -4.0])
    >>> weft.norm(x), weft.norm(x, p=1), weft.norm(x, p=float("inf"))
    (tensor(5.), tensor(7.), tensor(4.))
    """
    if dtype is not None:
        input = input.to(dtype)
    if not input._key.is_differentiable:
        raise RuntimeError(
            f"norm: linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{input.dtype.scalar_type_name}"
        )
    if p == "nuc":
        return lazy("nuclear_norm")(input, dim, keepdim)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm: order {p!r} is not supported; p is a number, 'fro' or 'nuc'")
    power = exponent("norm", 2 if p is None or p == "fro" else p)
    dims = wrap_dims("norm", None if dim == () or dim == [] else dim, input.ndim)
    require_elements("norm", input, power, dims)
    return vector_norm.op(input, power, dims, keepdim)


def require_elements(name: str, input: Any, power: float, dims: Sequence[int]) -> None:
    """A norm of no elements is 0, where it is a sum of powers; others have no such value.

    Raises
    ------
    RuntimeError
        For the other ones, along a dim without elements.
    """
    if not input.numel() and (power < 0 or power == math.inf) and any(input.shape[dim] == 0 for dim in dims):
        raise RuntimeError(
            f"{name} cannot compute the {power} norm on an empty tensor because the operation does not have an identity"
        )


def exponent(name: str, value: Any) -> float:
    """The order of a norm.

    Raises
    ------
    OverflowError
        For an integer that has more than 64 bits.
    """
    if isinstance(value, int):
        check_bits(name, value)
    return float(value)


@composite()
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of ``input - other``.

    Parameters
    ----------
    input, other : Tensor, broadcastable
    p : float
        The order, see `norm`.

    Examples
    --------
    >>> weft.dist(weft.tensor([1.0, 2.0]), weft.tensor([4.0, 6.0]))
    tensor(5.)
    """
    return norm(input - other, p)


add_members(dist=dist)


@composite("renorm", "renorm_", out="exact shared")
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Scale down each slice along a dimension whose p-norm exceeds ``maxnorm``.

    Parameters
    ----------
    input : Tensor of two or more dimensions
    p : float
        The order of the norm, above 0.
    dim : int
        ``input.select(dim, i)`` are the slices.
    maxnorm : float

    Raises
    ------
    RuntimeError
        If p is not positive, maxnorm is negative, or input has fewer dimensions.

    Examples
    --------
    >>> weft.renorm(weft.tensor([[3.0, 4.0], [0.3, 0.4]]), p=2, dim=0, maxnorm=1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    order = exponent("renorm", p)
    if order <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported; got p={p}")
    if not maxnorm >= 0:  # nan is not
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    dim = wrap_dim("renorm", dim, input.ndim)
    rest = tuple(d for d in builtins.range(input.ndim) if d != dim)
    with no_grad():
        is_long = vector_norm.op(input, order, rest, True) > maxnorm
    long = input.where(is_long, input.new_ones(()))  # the rest keep their gradients, whatever their norm is
    scale = maxnorm / (vector_norm.op(long, order, rest, True) + 1e-7)
    return (long * scale.to(input.dtype)).where(is_long, input)
