"""Sums, means and extremes of nested tensors, over all elements, over the ragged dimension or over others."""

from __future__ import annotations

import builtins
import math
from typing import Any

import weft
from weft.nested._jagged import component_lengths, component_numbers, implements, packed
from weft.nested._pointwise import to_padded
from weft.ops._geometry import wrap_dims

__all__: list[str] = []


def dims_of(name: str, input: Any, dim: Any) -> list[int]:
    """The dimensions to reduce.

    Raises
    ------
    RuntimeError
        For the batch dimension without the ragged one, and for the ragged one together with others.
    """
    dims = sorted(wrap_dims(name, (dim,) if isinstance(dim, int) else dim, input.ndim))
    ragged = input._ragged_idx
    if 0 in dims and ragged not in dims:
        raise RuntimeError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested "
            "tensors"
        )
    if (
        ragged in dims
        and any(each not in (0, ragged) for each in dims)
        and dims[: ragged + 1] != [0, *dims[1 : ragged + 1]]
    ):
        raise RuntimeError(
            f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors"
        )
    return dims


def over_ragged_sum(input: Any) -> Any:
    """The sum of each component along the ragged dimension: (batch, the other dimensions)."""
    input = packed(input)
    values = input._inner_values.movedim(input._ragged_idx - 1, 0)
    totals = values.new_zeros((len(input), *values.shape[1:]))
    return totals.index_add(0, component_numbers(input), values)


def kept(result: Any, dims: list[int], keepdim: bool) -> Any:
    for dim in dims if keepdim else ():
        result = result.unsqueeze(dim)
    return result


def reduced(name: str, input: Any, dim: Any, keepdim: bool, of_ragged: Any, **options: Any) -> Any:
    """A reduction by its name; that of the ragged dimension alone is given."""
    if dim is None or dim == ():
        return getattr(packed(input)._inner_values, name)(**options)
    dims = dims_of(name, input, dim)
    ragged = input._ragged_idx
    if dims == [ragged]:
        return kept(of_ragged(input), dims, keepdim)
    if 0 in dims:
        inner = tuple(each - 1 for each in dims[1:])
        return kept(getattr(packed(input)._inner_values, name)(inner, **options), dims, keepdim)
    inner = tuple(each - 1 for each in dims)
    values = getattr(input._inner_values, name)(inner if len(inner) > 1 else inner[0], keepdim=keepdim, **options)
    gone = 0 if keepdim else builtins.sum(each < ragged for each in dims)
    return input.with_parts(values, ragged - gone)


@implements("sum")
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dtype is not None:
        input = input.to(dtype)
    elif not (input.is_floating_point() or input.is_complex()):
        input = input.to(weft.int64)
    return reduced("sum", input, dim, keepdim, over_ragged_sum)


@implements("mean")
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    input = input if dtype is None else input.to(dtype)

    def of_ragged(input: Any) -> Any:
        totals = over_ragged_sum(input)
        counts = component_lengths(input).to(totals.dtype)
        return totals / counts.reshape(-1, *[1] * (totals.ndim - 1))

    return reduced("mean", input, dim, keepdim, of_ragged)


def lowest(dtype: Any) -> Any:
    return -math.inf if dtype.is_floating_point else False if dtype is weft.bool else weft.iinfo(dtype).min


def highest(dtype: Any) -> Any:
    return math.inf if dtype.is_floating_point else True if dtype is weft.bool else weft.iinfo(dtype).max


def of_padded(name: str, padding: Any) -> Any:
    """A reduction that runs on the padded form, where padding does not change it."""

    def function(input: Any, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
        fill = padding(input.dtype) if callable(padding) else padding

        def of_ragged(input: Any) -> Any:
            return getattr(to_padded(input, fill), name)(input._ragged_idx, **options)

        return reduced(name, input, dim, keepdim, of_ragged, **options)

    return function


for name, padding in (("amax", lowest), ("amin", highest), ("prod", 1), ("all", True), ("any", False)):
    implements(name)(of_padded(name, padding))


def extreme(name: str, padding: Any) -> Any:
    """``max`` and ``min``: of all elements, of two tensors, or values and indices along a dimension."""

    def function(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return getattr(packed(input)._inner_values, name)()
        if not isinstance(dim, int):
            return getattr(weft, f"{name}imum")(input, dim)
        (place,) = dims_of(name, input, dim)
        if place == input._ragged_idx:
            return getattr(to_padded(input, padding(input.dtype)), name)(place, keepdim)
        found = getattr(input._inner_values, name)(place - 1, keepdim)
        gone = place < input._ragged_idx and not keepdim
        return type(found)(*(input.with_parts(each, input._ragged_idx - gone) for each in found))

    return function


def arg_extreme(name: str, padding: Any) -> Any:
    def function(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return getattr(packed(input)._inner_values, name)()
        (place,) = dims_of(name, input, dim)
        if place == input._ragged_idx:
            return getattr(to_padded(input, padding(input.dtype)), name)(place, keepdim)
        gone = place < input._ragged_idx and not keepdim
        return input.with_parts(getattr(input._inner_values, name)(place - 1, keepdim), input._ragged_idx - gone)

    return function


implements("max")(extreme("max", lowest))
implements("min")(extreme("min", highest))
implements("argmax")(arg_extreme("argmax", lowest))
implements("argmin")(arg_extreme("argmin", highest))
