"""Statistics of several variables, histograms, and derivatives by differences."""

from __future__ import annotations

import builtins
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from weft._dtypes.dtypes import bool_, float64, get_default_dtype, int64, uint8
from weft._engine.tensor import TensorBase
from weft._errors import warn_caller
from weft._tensor.base import Tensor
from weft._tensor.named_results import named
from weft.ops._declare import composite
from weft.ops._geometry import elements, wrap_dims
from weft.ops._positions import in_range
from weft.ops.creation import from_host, linspace
from weft.ops.joining import cat
from weft.ops.sorting import counts, searchsorted
from weft.ops.views import complex
from weft.types import Number

# Covariance


def check_weights(argument: str, weights: Any, count: int, whole: bool) -> None:
    """Weights of observations are a vector with one number for each, none negative."""
    if weights.ndim > 1:
        raise RuntimeError(f"cov: expected {argument} to have one or fewer dimensions but got {weights.ndim} dims")
    if (weights.dtype.category == 1) is not whole or weights.dtype.category not in (1, 2):
        kind = "integral" if whole else "floating point"
        raise RuntimeError(f"cov: expected {argument} to have {kind} dtype but got {argument} with {weights.dtype}")
    if weights.numel() != count:
        raise RuntimeError(
            f"cov: expected {argument} to have the same numel as there are observations in the input, got "
            f"{weights.numel()} and {count}"
        )
    if builtins.bool((weights < 0).any()):
        raise RuntimeError(f"cov: {argument} cannot be negative")


@composite("cov")
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of variables: one in each row, one observation in each column.

    Parameters
    ----------
    input : Tensor, shape (variables, observations) or (observations,)
    correction : int
        Taken off the number of observations in the divisor.
    fweights : Tensor of integers, shape (observations,), optional
        How often each observation counts.
    aweights : Tensor of floating-point dtype, shape (observations,), optional
        How much each observation counts.

    Returns
    -------
    Tensor, shape (variables, variables), or () for one variable

    Raises
    ------
    RuntimeError
        If weights are negative, of another shape, or add up to 0.

    Examples
    --------
    >>> weft.cov(weft.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(f"cov: expected input to have two or fewer dimensions but got an input with {input.ndim}")
    if input.dtype is bool_:
        raise RuntimeError("cov: bool dtype is not supported for input; convert with .float()")
    table = input.reshape(1, -1) if input.ndim < 2 else input
    if not table._key.is_differentiable:
        table = table.to(get_default_dtype())
    count = table.shape[1]
    weights: Any = None
    if fweights is not None:
        check_weights("fweights", fweights, count, True)
        weights = fweights
    if aweights is not None:
        check_weights("aweights", aweights, count, False)
        weights = aweights if weights is None else weights * aweights
    total = count if weights is None else weights.sum()
    if weights is not None and count and builtins.bool(total == 0):
        raise RuntimeError("cov: weights sum to zero, can't be normalized")
    scaled = table if weights is None else table * weights
    centred = table - (scaled.sum(1, keepdim=True) / total if count else table.sum(1, keepdim=True))
    if aweights is None or correction == 0:
        free = total - correction
    else:
        free = total - correction * (weights * aweights).sum() / total
    if builtins.bool(free <= 0):
        warn_caller(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations."
        )
    free = free.clamp(min=0) if isinstance(free, Tensor) else builtins.max(free, 0)
    product = (centred if weights is None else centred * weights) @ centred.mT.conj()
    return (product / free).squeeze()


@composite("corrcoef")
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables: one in each row, one observation in each column."""
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got {input.ndim} dimensions"
        )
    c = cov(input)
    if not c.ndim:
        return c / c
    deviation = c.diagonal().real.sqrt() if c.is_complex() else c.diagonal().sqrt()
    c = c / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if c.is_complex():
        return complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))
    return c.clamp(-1, 1)


# Histograms


def outer_edges(name: str, column: Any, limits: Any) -> tuple[float, float]:
    """The first and last edge: those given, or the least and the largest element."""
    if limits is not None:
        if len(limits) != 2:
            raise RuntimeError(f"{name}: range should have 2 elements, but got {len(limits)}")
        low, high = (float(each) for each in limits)
    elif column.numel():
        low, high = float(column.min()), float(column.max())
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name}: range [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"{name}: min should not exceed max, but got min {low} max {high}")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def edges_of(name: str, column: Any, bins: Any, limits: Any) -> Any:
    """The edges of the bins: a tensor that was given, or so many bins of equal width."""
    if isinstance(bins, TensorBase):
        if bins.ndim != 1:  # type: ignore[attr-defined]
            raise RuntimeError(f"{name}: bins tensor should have one dimension, but got {bins.ndim}")  # type: ignore[attr-defined]
        if bins._key.dtype is not column.dtype:
            raise RuntimeError(
                f"{name}: input and bins should have the same dtype; got {column.dtype}, {bins._key.dtype}"
            )
        return bins.detach().clone()  # type: ignore[attr-defined]
    if bins <= 0:
        raise RuntimeError(f"{name}: bins must be > 0, but got {bins}")
    low, high = outer_edges(name, column, limits)
    return linspace(low, high, bins + 1, dtype=column.dtype, device=column.device)


def binned(name: str, points: Any, edges: list[Any], weight: Any, density: bool) -> Any:
    """How many points (rows), or how much weight, lies in each cell between edges."""
    if not points.dtype.is_floating_point:
        raise NotImplementedError(
            f"{name}: not implemented for '{points.dtype.scalar_type_name}'; convert with .float()"
        )
    if weight is not None and weight.dtype is not points.dtype:
        raise RuntimeError(f"{name}: expected weight to have dtype {points.dtype}, but got {weight.dtype}")
    shape = [each.numel() - 1 for each in edges]
    inside = points.new_full((points.shape[0],), True, dtype=bool_)
    place = points.new_zeros((points.shape[0],), dtype=int64)
    for number, limits in enumerate(edges):
        column = points.select(1, number).contiguous()
        inside = inside & (column >= limits[0]) & (column <= limits[-1])
        at = (searchsorted(limits, column, right=True) - 1).clamp(0, builtins.max(shape[number] - 1, 0))
        place = place * shape[number] + at
    heavy = None if weight is None else weight.reshape(-1)[inside].to(float64)
    found = counts.op(place[inside], heavy, math.prod(shape)).reshape(shape).to(points.dtype)
    if density:
        found = found / found.sum()
        for number, limits in enumerate(edges):
            widths = limits[1:] - limits[:-1]
            found = found / widths.reshape([-1 if d == number else 1 for d in range(len(shape))])
    return found


@composite("histogram", out="exact", data_dependent=True)
def histogram(
    input: Tensor,
    bins: int | Tensor,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """How many elements lie between neighbouring edges, and the edges.

    Parameters
    ----------
    input : Tensor of floating-point dtype
    bins : int or Tensor, shape (bins + 1,)
        How many of equal width, or the edges in increasing order. The last bin has both its edges.
    range : (float, float), optional
        The outer edges, if ``bins`` is a number. Default: the least and the largest element.
    weight : Tensor of input's shape and dtype, optional
        How much each element counts.
    density : bool
        Scale so that the integral over all bins is 1.

    Returns
    -------
    named tuple (hist, bin_edges) of Tensor, shapes (bins,) and (bins + 1,)

    Raises
    ------
    RuntimeError
        If a shape or dtype does not fit, there is no bin, or the range is not finite.

    Examples
    --------
    >>> hist, edges = weft.histogram(weft.tensor([1.0, 2.0, 1.0, 4.0]), bins=2, range=(0, 4))
    >>> hist
    tensor([2., 2.])
    >>> edges
    tensor([0., 2., 4.])
    """
    if weight is not None and weight.shape != input.shape:
        raise RuntimeError(
            f"histogram: if weight tensor is provided it should have the same shape as the input tensor, got "
            f"{list(weight.shape)} and {list(input.shape)}"
        )
    flat = input.detach().reshape(-1)
    edges = edges_of("histogram", flat, bins, range)
    hist = binned("histogram", flat.reshape(-1, 1), [edges], weight, density)
    return named("histogram", "hist bin_edges")(hist, edges)


@composite(data_dependent=True)
def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """`histogram` of points in several dimensions.

    Parameters
    ----------
    input : Tensor of floating-point dtype, shape (..., N)
    bins : int, N ints, or N Tensors
        How many of equal width along each dimension, or the edges.
    range : sequence of 2 N float, optional
        The outer edges, those of the first dimension first. Default: the least and the largest coordinates.
    weight : Tensor, shape (...), optional
        How much each point counts.
    density : bool
        Scale so that the integral over all bins is 1.

    Returns
    -------
    named tuple (hist, bin_edges), the edges as a tuple of N Tensors.

    Raises
    ------
    RuntimeError
        If input has fewer than two dimensions, or bins or range have another length.

    Examples
    --------
    >>> points = weft.tensor([[0.0, 0.0], [1.0, 1.0], [0.2, 0.9]])
    >>> weft.histogramdd(points, bins=2).hist
    tensor([[1., 1.],
            [0., 1.]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"histogramdd: input tensor should have at least 2 dimensions, but got {input.ndim}")
    size = input.shape[-1]
    each_bins: list[Any] = [bins] * size if isinstance(bins, int) else list(bins)
    if len(each_bins) != size:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input. Expected "
            f"{size} sequences of bin edges for a {size}-dimensional histogram but got {len(each_bins)}"
        )
    if range is not None and len(range) != 2 * size:
        raise RuntimeError(f"histogramdd: for a {size}-dimensional histogram range should have {2 * size} elements")
    points = input.detach().reshape(math.prod(input.shape[:-1]), size)
    edges = [
        edges_of("histogramdd", points.select(1, d), each, None if range is None else range[2 * d : 2 * d + 2])
        for d, each in enumerate(each_bins)
    ]
    hist = binned("histogramdd", points, edges, weight, density)
    return named("histogramdd", "hist bin_edges")(hist, tuple(edges))


# Choices and positions


@composite()
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, in order, one in a row.

    Parameters
    ----------
    input : Tensor, shape (n,)
    r : int
    with_replacement : bool
        An element may be chosen several times.

    Returns
    -------
    Tensor, shape (choices, r)

    Raises
    ------
    RuntimeError
        If input is no vector, or r is negative.

    Examples
    --------
    >>> weft.combinations(weft.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.ndim != 1:
        raise RuntimeError(f"combinations: Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    size = input.numel()
    choices: Iterator[tuple[int, ...]]
    if with_replacement:
        many = math.comb(size + r - 1, r) if size else 0
        choices = itertools.combinations_with_replacement(range(size), r)
    else:
        many = math.comb(size, r)
        choices = itertools.combinations(range(size), r)
    elements("combinations", (many, r), 8)
    places = itertools.chain.from_iterable(choices)
    try:
        chosen = numpy.fromiter(places, numpy.int64, many * r).reshape(many, r)
    except MemoryError as error:
        raise RuntimeError(f"combinations: not enough memory for {many} choices of {r} elements") from error
    return input[from_host(chosen, input.device)]


@composite()
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The positions along each dimension of a shape that positions in its flattened form stand for.

    Parameters
    ----------
    indices : Tensor of integers
        Positions in row-major order.
    shape : int or sequence of int

    Returns
    -------
    tuple of Tensor of int64, one for each dimension, of the shape of indices

    Raises
    ------
    ValueError
        If an index is outside of the shape.

    Examples
    --------
    >>> weft.unravel_index(weft.tensor(5), (2, 3))
    (tensor(1), tensor(2))
    """
    if indices.dtype.category != 1:
        raise TypeError(f"unravel_index: expected 'indices' to be integer dtype, but got {indices.dtype}")
    if isinstance(shape, TensorBase) or not (isinstance(shape, Sequence) or hasattr(shape, "__index__")):
        raise TypeError(f"unravel_index: expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes: Any = shape if isinstance(shape, Sequence) else [shape]
    for each in sizes:
        if not hasattr(each, "__index__"):
            raise TypeError(f"unravel_index: expected 'shape' sequence to only contain ints, but got {type(each)}")
    if any(each < 0 for each in sizes):
        raise ValueError(f"unravel_index: 'shape' cannot have negative values, but got {tuple(sizes)}")
    in_range("unravel_index", indices, math.prod(sizes), 0, ValueError)
    places, rest = [], indices.to(int64)
    for size in reversed(sizes):
        places.append(rest.remainder(size) if size else rest)
        rest = rest.floor_divide(size) if size else rest
    return tuple(reversed(places))


# Derivatives by differences


@composite()
def gradient(
    input: Tensor,
    *,
    spacing: Number | Sequence[Number] | Sequence[Tensor] | None = 1,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """The derivative of sampled values along dimensions, by differences of second order.

    Parameters
    ----------
    input : Tensor
    spacing : number, sequence of numbers, or sequence of Tensor
        The distance of samples, for all dimensions or for each; or the coordinates along each.
    dim : int or sequence of int, optional
        Default: all.
    edge_order : 1 or 2
        The order at the first and last sample.

    Returns
    -------
    tuple of Tensor, one for each dimension.

    Raises
    ------
    RuntimeError
        If a dimension has fewer than ``edge_order + 1`` samples, or ``spacing`` another length than ``dim``.

    Examples
    --------
    >>> x = weft.tensor([0.0, 1.0, 4.0, 9.0])
    >>> weft.gradient(x)
    (tensor([1., 2., 4., 5.]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2. Got {edge_order}")
    dims = wrap_dims("gradient", dim, input.ndim)
    if input.dtype is uint8:
        raise RuntimeError("torch.gradient does not support uint8 input; convert it with .float()")
    if isinstance(spacing, (tuple, list)):
        steps = list(spacing)
        for each in steps:
            if isinstance(each, TensorBase) and each._array.ndim != 1:
                raise RuntimeError(
                    "torch.gradient expected each element of spacing to have one dimension, but got an element with "
                    f"{each._array.ndim} dimensions"
                )
            if isinstance(each, TensorBase) and each._key.device != input.device:
                raise RuntimeError(
                    "torch.gradient expected each tensor to be on the same device, but got input on "
                    f"{input.device} and spacing on {each._key.device}"
                )
        if len(steps) != len(dims):
            raise RuntimeError(
                f"torch.gradient expected spacing to be unspecified, a scalar or a list of length {len(dims)}, but got "
                f"{len(steps)}"
            )
    else:
        steps = [1 if spacing is None else spacing] * len(dims)
    for each in dims:
        if input.shape[each] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(slope_along(input, d, step, edge_order) for d, step in zip(dims, steps))


def slope_along(input: Any, dim: int, step: Any, edge_order: int) -> Any:
    """The derivative along one dimension: weighted neighbours inside, one-sided differences at the ends."""
    size = input.shape[dim]

    def at(start: int, count: int) -> Any:
        return input.narrow(dim, start, count)

    if not isinstance(step, TensorBase) or not step._array.ndim:
        return even_slope(input / step, dim, edge_order)
    gaps = step[1:] - step[:-1]  # type: ignore[index]
    gaps = gaps.reshape([-1 if d == dim else 1 for d in range(input.ndim)])
    a, b = gaps.narrow(dim, 0, size - 2), gaps.narrow(dim, 1, size - 2)
    first, second = gaps.narrow(dim, 0, 1), gaps.narrow(dim, builtins.min(1, size - 2), 1)
    last, before = gaps.narrow(dim, size - 2, 1), gaps.narrow(dim, builtins.max(size - 3, 0), 1)
    inside = (
        at(0, size - 2) * (-b / (a * (a + b)))
        + at(1, size - 2) * ((b - a) / (a * b))
        + at(2, size - 2) * (a / (b * (a + b)))
    )
    if edge_order == 1:
        left, right = (at(1, 1) - at(0, 1)) / first, (at(size - 1, 1) - at(size - 2, 1)) / last
    else:
        both = first + second
        left = (
            at(0, 1) * (-(2 * first + second) / (first * both))
            + at(1, 1) * (both / (first * second))
            + at(2, 1) * (-first / (second * both))
        )
        both = before + last
        right = (
            at(size - 3, 1) * (last / (before * both))
            + at(size - 2, 1) * (-both / (last * before))
            + at(size - 1, 1) * ((2 * last + before) / (last * both))
        )
    return cat([left, inside, right], dim)


def even_slope(scaled: Any, dim: int, edge_order: int) -> Any:
    """The derivative of samples at distance 1.

    The sample in the middle is no part of it: 0 times an infinite one would be nan.
    """
    size = scaled.shape[dim]

    def at(start: int, count: int = 1) -> Any:
        return scaled.narrow(dim, start, count)

    if edge_order == 1:
        left, right = at(1) - at(0), at(size - 1) - at(size - 2)
    else:
        left = -1.5 * at(0) + 2 * at(1) - 0.5 * at(2)
        right = 1.5 * at(size - 1) - 2 * at(size - 2) + 0.5 * at(size - 3)
    return cat([left, (at(2, size - 2) - at(0, size - 2)) / 2, right], dim)
