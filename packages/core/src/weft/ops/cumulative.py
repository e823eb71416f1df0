"""Running sums, products and extremes along a dimension, and differences."""

from __future__ import annotations

import math
from typing import Any

from weft._dtypes.dtypes import finfo, int64
from weft._engine.fast_paths import FastPath
from weft._engine.tensor import TensorBase, local
from weft._interception.transforms import is_wrapped, values_at_hand, values_known
from weft._tensor.base import Tensor
from weft._tensor.layout import in_order
from weft._tensor.named_results import named
from weft.ops._declare import composite, op
from weft.ops._geometry import wrap_dim
from weft.ops._numerics import is_numpy, scan
from weft.ops.joining import cat, stack
from weft.ops.pointwise import conj, log_of_sum
from weft.ops.reductions import summable
from weft.types import DType


@op(
    "cumsum",
    "cumsum_",
    out="dtype",
    result="same",
    compute_dtype="float32",
    vmap="along_dims",
    fast_path=FastPath(),
    linear="input",
)
def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """The sums of all elements up to each one, along a dimension.

    Parameters
    ----------
    input : Tensor
    dim : int
    dtype : dtype, optional
        Convert before summing. Integers and bool are summed as int64 unless it is given.

    Examples
    --------
    >>> weft.cumsum(weft.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    return cumsum.op(summable(input, dtype), wrap_dim("cumsum", dim, input.ndim))


@cumsum.kernel
def _(xp, input, dim):
    if input.ndim and dim == input.ndim - 1 and input.shape[-1] >= 256 and input.dtype.char in "fd" and is_numpy(xp):
        return running_sum(xp, input)
    return in_order(xp, accumulated("cumsum", xp, input, dim)) if input.ndim else input.copy()


@cumsum.onnx
def _(graph, input, dim):
    return graph.CumSum(input, graph.scalar(dim)) if input.ndim else graph.Identity(input)


def accumulated(method: str, xp: Any, input: Any, dim: int) -> Any:
    """A running sum or product, in double precision and rounded once, as PyTorch's are."""
    wide = xp.result_type(input.dtype, xp.float64) if input.dtype.kind in "fc" else input.dtype
    return getattr(input, method)(dim, wide).astype(input.dtype, copy=False)


BLOCK = 32  # elements; 16 and 64 are as fast


def running_sum(xp: Any, input: Any) -> Any:
    """Sums along the last dim, in blocks of which all are advanced at once: ten times as fast as in double precision.

    What comes before each block is summed in double precision.
    """
    whole = input.shape[-1] // BLOCK * BLOCK
    made = xp.array(input, order="C")
    blocks = made[..., :whole].reshape(*input.shape[:-1], whole // BLOCK, BLOCK)  # a view
    for place in range(1, BLOCK):
        blocks[..., place] += blocks[..., place - 1]
    blocks[..., 1:, :] += accumulated("cumsum", xp, blocks[..., :-1, -1], -1)[..., None]
    if whole < input.shape[-1]:
        made[..., whole] += made[..., whole - 1]
        made[..., whole:] = xp.cumsum(made[..., whole:], axis=-1)
    return made


@cumsum.gradient("input")
def _(grad, dim):
    return reversed_cumsum(grad, dim)


def reversed_cumsum(tensor: Any, dim: int) -> Any:
    """The sums of all elements from each one on."""
    if not tensor.ndim:
        return tensor
    return cumsum.op(tensor.flip(dim), dim).flip(dim)


@op(
    "cumprod",
    "cumprod_",
    out="dtype",
    result="same",
    compute_dtype="float32",
    vmap="along_dims",
    fast_path=FastPath(),
)
def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """The products of all elements up to each one, along a dimension.

    Parameters
    ----------
    input : Tensor
    dim : int
    dtype : dtype, optional
        Convert before multiplying. Integers and bool are multiplied as int64 unless it is given.

    Examples
    --------
    >>> weft.cumprod(weft.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """
    return cumprod.op(summable(input, dtype), wrap_dim("cumprod", dim, input.ndim))


@cumprod.kernel
def _(xp, input, dim):
    return in_order(xp, accumulated("cumprod", xp, input, dim)) if input.ndim else input.copy()


@cumprod.gradient("input")
def _(grad, input, output, dim):
    if not input.ndim:
        return grad
    if input.is_meta or (can_be_read(input) and not (input == 0).any()):
        return reversed_cumsum(grad * conj(output), dim) / conj(input)
    if local.grad_enabled or is_wrapped(input):
        return cumprod_gradient_with_zeros(grad, input, dim)
    return cumprod_gradient_about_zeros(grad, input, output, dim)


@cumprod.onnx
def _(graph, input, dim):
    """Of all prefixes: ONNX has no product that goes on."""
    if not input.ndim:
        return graph.Identity(input)
    products = graph.reduce("ReduceProd", graph.prefixes(input, dim, 1), [-1], False)
    return graph.last_to(products, dim, input.ndim)


def can_be_read(input: Any) -> bool:
    """Whether the gradient of `cumprod` may ask if there are zeros: not of a batch.

    On a device that is worth a wait only for the gradient that has a gradient of its own, which costs a product for
    each element if there are.
    """
    return values_known(input) if local.grad_enabled else values_at_hand(input)


def cumprod_gradient_about_zeros(grad: Any, input: Any, output: Any, dim: int) -> Any:
    """The gradient's values where there are zeros, in time that grows with the size.

    Before the first zero all later products are 0. Of itself the products without it are the derivatives; behind it
    there are none.
    """
    zero = input == 0
    count = zero.to(int64).cumsum(dim)
    before, first = count == 0, zero & (count == 1)
    by_quotient = reversed_cumsum((grad * conj(output)).masked_fill(~before, 0), dim)
    by_quotient = by_quotient / conj(input.masked_fill(~before, 1))
    others = cumprod.op(input.masked_fill(first, 1), dim)
    by_others = reversed_cumsum((grad * conj(others)).masked_fill(before, 0), dim)
    return by_others.masked_fill(~first, 0) + by_quotient.masked_fill(~before, 0)


def cumprod_gradient_with_zeros(grad: Any, input: Any, dim: int) -> Any:
    """For each element the sum over later products of the product without it."""
    size = input.shape[dim]
    columns = []
    for place in range(size):
        others = input.clone()
        others.select(dim, place).fill_(1)
        products = cumprod.op(others, dim).narrow(dim, place, size - place)
        columns.append((grad.narrow(dim, place, size - place) * conj(products)).sum(dim))
    return stack(columns, dim)


@op(
    "logcumsumexp",
    out="exact shared",
    result="same",
    compute_dtype="float32",
    dtypes="float complex",
    vmap="along_dims",
)
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the running sum of exponentials along a dimension, without overflow.

    Parameters
    ----------
    input : Tensor of floating-point or complex dtype
    dim : int

    Examples
    --------
    >>> weft.logcumsumexp(weft.tensor([100.0, 100.0]), 0)
    tensor([100.0000, 100.6931])
    """
    return logcumsumexp.op(input, wrap_dim("logcumsumexp", dim, input.ndim))


@logcumsumexp.kernel
def _(xp, input, dim):
    if not input.ndim:
        return input.copy()
    if input.dtype.kind != "c":
        return in_order(xp, scan(xp, xp.logaddexp, input, dim))
    made = xp.array(input, order="C")
    made[made.real == -xp.inf] = -xp.inf  # nothing was there to have an angle
    if not is_numpy(xp):
        summed = scan(xp, lambda before, after, out: xp.copyto(out, log_of_sum(xp, before, after)), made, dim)
        return on_their_branches(xp, made, summed, dim)
    lines = xp.moveaxis(made, dim, 0)  # a view
    for place in range(1, lines.shape[0]):
        lines[place] = log_of_sum(xp, lines[place - 1], lines[place])
    return made


@logcumsumexp.onnx
def _(graph, input, dim):
    if not input.ndim:
        return graph.Identity(input)
    sums = graph.reduce("ReduceLogSumExp", graph.prefixes(input, dim, -math.inf), [-1], False)
    return graph.last_to(sums, dim, input.ndim)


def on_their_branches(xp: Any, input: Any, summed: Any, dim: int) -> Any:
    """Logarithms of running sums with the imaginary parts that adding one element after the other gives.

    A scan finds them up to whole turns. `log_of_sum` stays within a quarter of a turn of its larger argument, which is
    the new element or the sum before it.
    """
    values, found = xp.moveaxis(input, dim, 0), xp.moveaxis(summed, dim, 0)
    begins = xp.ones(found.shape, bool)  # where the new element is the larger one
    begins[1:] = values.real[1:] > found.real[:-1]
    near = xp.concatenate([values[:1], found[:-1]]).imag
    turns = xp.rint((xp.where(begins, values.imag, near) - found.imag) / (2 * math.pi))
    turns = xp.where(xp.isfinite(turns), turns, 0)
    sums = xp.cumsum(xp.where(begins, 0, turns), axis=0)
    place = xp.arange(len(found)).reshape(-1, *[1] * (found.ndim - 1))
    start = scan(xp, xp.maximum, xp.where(begins, place, 0), 0)
    found.imag += (2 * math.pi) * (xp.take_along_axis(turns - sums, start, axis=0) + sums)
    return summed


@logcumsumexp.gradient("input")
def _(grad, input, output, dim):
    if not input.ndim:
        return grad
    if input._key.is_complex:
        size = conj(grad).masked_fill(grad == 0, 1).log().masked_fill(grad == 0, finfo(grad._key.dtype).min)
        return conj((reversed_logcumsumexp(size - output, dim) + input).exp())
    # exp(input_i) * sum over j >= i of grad_j * exp(-output_j), with the signs of grad apart to stay in logarithms
    # of positive numbers. The lowest number stands for log(0): infinities would make this gradient's own gradient nan.
    lowest = finfo(grad._key.dtype).min
    size = grad.abs().masked_fill(grad == 0, 1).log()
    up = (reversed_logcumsumexp(size.masked_fill(grad <= 0, lowest) - output, dim) + input).exp()
    down = (reversed_logcumsumexp(size.masked_fill(grad >= 0, lowest) - output, dim) + input).exp()
    return up - down


def reversed_logcumsumexp(tensor: Any, dim: int) -> Any:
    return logcumsumexp.op(tensor.flip(dim), dim).flip(dim)


def running(name: str, pick: str) -> Any:
    pair = named(name, "values indices")

    def function(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        if input._key.is_complex:
            raise NotImplementedError(
                f"{name}: not implemented for '{input._key.dtype.scalar_type_name}', which has no order"
            )
        if not input.ndim and isinstance(dim, int) and dim not in (-1, 0):
            raise IndexError(f"{name}: Expected reduction dim -1 or 0 for scalar but got {dim}")
        return pair(*declared.op(input, wrap_dim(name, dim, input.ndim)))

    function.__name__ = function.__qualname__ = name
    which = "largest" if pick == "maximum" else "smallest"
    function.__doc__ = f"""The {which} element up to each one along a dimension, and where it is.

    Parameters
    ----------
    input : Tensor of real dtype
    dim : int

    Returns
    -------
    named tuple (values, indices) of Tensor
        Of equal elements, the position of the last.

    Examples
    --------
    >>> weft.{name}(weft.tensor([2, 3, 1]), 0).values
    tensor([{"2, 3, 3" if pick == "maximum" else "2, 2, 1"}])
    """
    declared = op(name, out="exact", compute_dtype="float32", vmap="along_dims")(function)

    @declared.kernel
    def _(xp, input, dim):
        if not input.ndim:
            return input.copy(), xp.zeros((), xp.int64)
        input = in_order(xp, input)
        values = scan(xp, getattr(xp, pick), input, dim)
        place = xp.arange(input.shape[dim]).reshape([-1 if d == dim else 1 for d in range(input.ndim)])
        new = (input == values) | ((input != input) & (values != values))
        return values, scan(xp, xp.maximum, xp.where(new, place, 0), dim)

    @declared.onnx
    def _(graph, input, dim):
        """Of all prefixes, whose last extreme is found."""
        if not input.ndim:
            return [graph.Identity(input), graph.scalar(0)]
        largest, element = pick == "maximum", input.dtype
        if not input.dtype.is_floating_point:  # the fill is outside of what narrow integers reach
            input = graph.cast(input, int64)
        rows = graph.prefixes(input, dim, graph.lowest(input) if largest else graph.highest(input))
        values = graph.reduce("ReduceMax" if largest else "ReduceMin", rows, [-1], False)
        places = graph.emit("ArgMax" if largest else "ArgMin", rows, axis=-1, keepdims=0, select_last_index=1)
        return [graph.last_to(each, dim, input.ndim) for each in (graph.cast(values, element), places)]

    @declared.gradient("input")
    def _(grad, later_outputs, input_shape, dim):
        if not input_shape:
            return grad
        return grad.new_zeros(input_shape).scatter_add(dim, later_outputs[0], grad)

    return declared


cummax = running("cummax", "maximum")
cummin = running("cummin", "minimum")


@composite("diff", out=True)
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences of neighbours along a dimension, n times over.

    Parameters
    ----------
    input : Tensor
    n : int
    dim : int
    prepend, append : Tensor, optional
        Put before and behind input first; of its shape, but for any size along ``dim``.

    Returns
    -------
    Tensor, shorter by n along ``dim``; of bool, where neighbours differ.

    Raises
    ------
    RuntimeError
        If input has no dimensions, n is negative, or a shape does not fit.

    Examples
    --------
    >>> x = weft.tensor([1, 4, 9, 16])
    >>> weft.diff(x)
    tensor([3, 5, 7])
    >>> weft.diff(x, n=2)
    tensor([2, 2])
    """
    if not input.ndim:
        raise RuntimeError("diff: diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"diff: order must be non-negative but got {n}")
    dim = wrap_dim("diff", dim, input.ndim)
    for end in (prepend, append):
        if end is None:
            continue
        if end.ndim != input.ndim:
            raise RuntimeError(
                "diff: diff expects prepend or append to be the same dimension as input; got "
                f"{end.ndim} and {input.ndim} dimensions"
            )
        for each, size in enumerate(input.shape):
            if each != dim and end.shape[each] != size:
                raise RuntimeError(
                    "diff: diff expects the shape of tensor to prepend or append to match that of input except along "
                    f"the differencing dimension; input.size({each}) = {size}, but got tensor.size({each}) = "
                    f"{end.shape[each]}"
                )
    if n == 0:
        return input.clone()
    parts = [each for each in (prepend, input, append) if each is not None]
    input = cat(parts, dim) if len(parts) > 1 else input
    for _ in range(n if n < input.shape[dim] else input.shape[dim]):
        size = input.shape[dim]
        after, before = input.narrow(dim, 1, size - 1), input.narrow(dim, 0, size - 1)
        input = after.logical_xor(before) if input.dtype.name == "bool" else after - before
    return input


def spacing(name: str, y: Any, x: Any, dx: Any, dim: int) -> tuple[Any, int]:
    """The distances between samples: a number or a tensor that broadcasts along dim."""
    if y.dtype.name == "bool":
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported; convert with .float()")
    dim = wrap_dim(name, dim, y.ndim)
    if x is None:
        if dx is not None and (isinstance(dx, bool) or not isinstance(dx, (int, float))):
            raise RuntimeError(f"{name}: Currently, we only support dx as a real number; got {dx!r}")
        return (1 if dx is None else dx), dim
    if dx is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments: x and dx; x has the distances")
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(
                f"{name}: There must be one `x` value for each sample point; got {x.shape[0]} and {y.shape[dim]}"
            )
        x = x.reshape([-1 if d == dim else 1 for d in range(y.ndim)])
    return diff(x, dim=dim if x.ndim == y.ndim else dim - y.ndim), dim


@composite()
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule.

    Parameters
    ----------
    y : Tensor, shape (..., n)
        The values at the sample points.
    x : Tensor, shape (n,) or broadcastable with y, optional
        The sample points.
    dx : float, default 1
        Their distance, if ``x`` is not given.
    dim : int

    Raises
    ------
    RuntimeError
        If y is bool, or x has another size.
    TypeError
        If both ``x`` and ``dx`` are given.

    Examples
    --------
    >>> y = weft.tensor([1.0, 2.0, 3.0])
    >>> weft.trapezoid(y)
    tensor(4.)
    >>> weft.trapezoid(y, weft.tensor([0.0, 1.0, 3.0]))
    tensor(6.5000)
    """
    steps, dim = spacing("trapezoid", y, x, dx, dim)
    size = y.shape[dim]
    if not size:
        return y.sum(dim)
    if not isinstance(steps, TensorBase):
        return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, size - 1)) * 0.5) * steps
    pairs = y.narrow(dim, 1, size - 1) + y.narrow(dim, 0, size - 1)
    return (pairs * steps).sum(dim) / 2


trapz = trapezoid


@composite()
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The running integral along a dimension by the trapezoidal rule.

    Parameters
    ----------
    y : Tensor, shape (..., n)
        The values at the sample points.
    x : Tensor, shape (n,) or broadcastable with y, optional
        The sample points.
    dx : float, default 1
        Their distance, if ``x`` is not given.
    dim : int

    Returns
    -------
    Tensor, shape (..., n - 1): the integral up to the second point, and so on.

    Examples
    --------
    >>> weft.cumulative_trapezoid(weft.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    steps, dim = spacing("cumulative_trapezoid", y, x, dx, dim)
    size = max(y.shape[dim], 1)
    pairs = y[(slice(None),) * dim + (slice(1, None),)] + y.narrow(dim, 0, size - 1)
    if not isinstance(steps, TensorBase):
        return (pairs * (steps / 2)).cumsum(dim)  # of integers too: their product with the step would wrap around
    return (pairs * steps).cumsum(dim) / 2
