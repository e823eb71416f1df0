"""Random tensors to try ops with."""

from __future__ import annotations

import math
import warnings
from typing import Any

import weft


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """Make a tensor of uniformly distributed values.

    Parameters
    ----------
    *shape : int, or one sequence of them
    dtype, device
        Of the result.
    low, high : float
        Values are from [low, high). By default [-9, 9) for floating-point and complex, [-9, 10) for signed
        integers, [0, 10) for uint8 and [0, 2) for bool. Floating-point ones may be the same, with a warning.
    requires_grad : bool
    noncontiguous : bool
        Leave a gap after each element of the last dimension.
    exclude_zero : bool
        Replace zeros by the smallest positive number, or 1.
    memory_format
        Of the result; not together with ``noncontiguous``.

    Raises
    ------
    ValueError
        If ``low`` is not less than ``high``, or both ``noncontiguous`` and ``memory_format`` are given.

    Examples
    --------
    >>> make_tensor(2, 3, dtype=weft.float32, device="cpu").shape
    weft.Size([2, 3])
    """
    size = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "make_tensor: The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"make_tensor: `requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    low, high = _bounds(dtype, low, high)
    if low != low or high != high:
        raise ValueError(f"make_tensor: `low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low == high and (dtype.is_floating_point or dtype.is_complex):
        warnings.warn(
            f"make_tensor: Passing `low==high` is deprecated, and both are {low}; fill a tensor with weft.full instead",
            FutureWarning,
            stacklevel=2,
        )
    elif not low < high:
        raise ValueError(f"make_tensor: `low` must be less than `high`, but got {low} >= {high}")
    low, high = _supported(dtype, low, high)
    drawn = (*size[:-1], 2 * size[-1]) if noncontiguous and size else size
    made = _draw(drawn, dtype, device, low, high)
    if exclude_zero:
        smallest = weft.finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
        made[made == 0] = smallest
    if noncontiguous and size:
        made = made[..., ::2]
    if memory_format is not None:
        made = made.contiguous(memory_format=memory_format)
    return made.requires_grad_() if requires_grad else made


def _bounds(dtype: Any, low: float | None, high: float | None) -> tuple[float, float]:
    if dtype == weft.bool:
        lowest, highest = 0, 2
    elif dtype.is_floating_point or dtype.is_complex:
        lowest, highest = -9, 9
    else:
        lowest, highest = -9 if dtype.is_signed else 0, 10
    return (lowest if low is None else low), (highest if high is None else high)


def _supported(dtype: Any, low: float, high: float) -> tuple[float, float]:
    """The part of an interval that a dtype of integers or booleans has."""
    if dtype.is_floating_point or dtype.is_complex:
        return low, high
    limits = None if dtype == weft.bool else weft.iinfo(dtype)
    first, end = (0, 2) if limits is None else (limits.min, limits.max + 1)
    if high <= first or low >= end:
        raise ValueError(
            f"make_tensor: The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only "
            f"supports [{first}, {end})"
        )
    return max(low, first), min(high, end)


def _draw(size: tuple[int, ...], dtype: Any, device: Any, low: float, high: float) -> Any:
    if dtype.is_complex:
        real = weft.float32 if dtype == weft.complex64 else weft.float64
        parts = _draw((*size, 2), real, device, low, high)
        return weft.view_as_complex(parts)
    if dtype.is_floating_point:
        return (weft.rand(size, device=device) * (high - low) + low).to(dtype)
    return weft.randint(math.floor(low), math.ceil(high), size, device=device).to(dtype)
