"""Ops that are no declared kernels, as functions of NumPy alone: creation, conversions, writes to views.

Their sources go into programs that run without weft (`_kernel_sources`): nothing of weft may be used here. Each is
called with the named arguments of its op, and with the dtype of the result where that is not asked for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy


def flat_size(*size: Any) -> tuple[int, ...]:
    """Sizes that come one by one, or in a sequence."""
    given = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return tuple(int(each) for each in given)


def zeros(size: Any, dtype: Any) -> Any:
    return numpy.zeros(flat_size(*size), dtype)


def ones(size: Any, dtype: Any) -> Any:
    return numpy.ones(flat_size(*size), dtype)


def full(size: Any, fill_value: Any, dtype: Any) -> Any:
    return numpy.full(flat_size(size), fill_value, dtype)


def zeros_like(input: Any, dtype: Any) -> Any:
    return numpy.zeros(input.shape, dtype)


def ones_like(input: Any, dtype: Any) -> Any:
    return numpy.ones(input.shape, dtype)


def full_like(input: Any, fill_value: Any, dtype: Any) -> Any:
    return numpy.full(input.shape, fill_value, dtype)


def new_zeros(self: Any, size: Any, dtype: Any) -> Any:
    return numpy.zeros(flat_size(*size), dtype)


def new_ones(self: Any, size: Any, dtype: Any) -> Any:
    return numpy.ones(flat_size(*size), dtype)


def new_full(self: Any, size: Any, fill_value: Any, dtype: Any) -> Any:
    return numpy.full(flat_size(size), fill_value, dtype)


def empty_strided(size: Any, dtype: Any, stride: Any = ()) -> Any:
    return numpy.zeros(flat_size(size), dtype)


def scalar_tensor(s: Any, dtype: Any) -> Any:
    return numpy.array(s, dtype)


def tensor(data: Any, dtype: Any) -> Any:
    return numpy.array(data, dtype)


def eye(n: int, dtype: Any, m: int | None = None) -> Any:
    return numpy.eye(n, m, dtype=dtype)


def arange(dtype: Any, start: Any = 0, end: Any = None, step: Any = 1) -> Any:
    """Numbers from ``start`` to before ``end``: computed in 64 bits, and rounded to the dtype."""
    if end is None:
        start, end = 0, start
    wide = numpy.int64 if numpy.dtype(dtype).kind in "iub" else numpy.float64
    count = max(math.ceil((end - start) / step), 0)
    return (numpy.arange(count, dtype=wide) * step + start).astype(dtype, copy=False)


def linspace(start: Any, end: Any, steps: int, dtype: Any) -> Any:
    """Evenly spaced numbers, computed from the nearer end."""
    number = numpy.float32 if dtype == numpy.float32 else numpy.float64
    first, last = float(number(start)), float(number(end))
    step = float(number((last - first) / (steps - 1))) if steps > 1 else 0.0
    place = numpy.arange(steps)
    values = numpy.where(place < steps // 2, first + place * step, last - (steps - 1 - place) * step)
    if steps == 1:
        values[0] = first
    return (numpy.trunc(values) if numpy.dtype(dtype).kind in "iub" else values).astype(dtype)


def tril_indices(row: int, col: int, dtype: Any, offset: int = 0) -> Any:
    return numpy.stack(numpy.tril_indices(row, offset, col)).astype(dtype)


def triu_indices(row: int, col: int, dtype: Any, offset: int = 0) -> Any:
    return numpy.stack(numpy.triu_indices(row, offset, col)).astype(dtype)


def convert(input: Any, dtype: Any) -> Any:
    """The elements in another dtype; of complex numbers their real parts."""
    if input.dtype.kind == "c" and numpy.dtype(dtype).kind not in "bc":
        input = input.real
    return input.astype(dtype)


def transfer(input: Any) -> Any:
    return input


def view(input: Any, shape: Any) -> Any:
    """An array of another shape; a copy where it lies otherwise in memory than what weft's kernels gave."""
    return input.reshape(shape)


def view_dtype(input: Any, dtype: Any) -> Any:
    return numpy.ascontiguousarray(input).view(dtype)


def view_as_complex(input: Any) -> Any:
    made = numpy.empty(input.shape[:-1], numpy.result_type(input.dtype, numpy.complex64))
    made.real, made.imag = input[..., 0], input[..., 1]
    return made


def view_as_real(input: Any) -> Any:
    return numpy.stack([input.real, input.imag], -1)


def fill(input: Any, value: Any) -> Any:
    return numpy.full(input.shape, value, input.dtype)


def conj(input: Any) -> Any:
    return numpy.conjugate(input)


def neg_view(input: Any) -> Any:
    return numpy.negative(input)


def clone_like(source: Any, model: Any) -> Any:
    return source.copy()


def embedded(input: Any, shape: Any, view: Any, args: Any) -> Any:
    """Zeros of a shape, with an array in the place of a view of them."""
    whole = numpy.zeros(shape, input.dtype)
    view(whole, *args)[...] = input
    return whole


def setitem(input: Any, source: Any, key: Any) -> Any:
    """A copy of an array with other values at a key."""
    made = input.copy()
    made[key] = source
    return made


def checked(name: str, value: Any, dtype: Any, shape: tuple[int | None, ...]) -> Any:
    """An input of a program, as an array.

    Raises
    ------
    TypeError
        If it is of another dtype.
    ValueError
        If it has another shape; None is any size.
    """
    array = numpy.asarray(value)
    if array.dtype != dtype:
        raise TypeError(f"{name} must have dtype {dtype}, got {array.dtype}; convert it with .astype({dtype.name!r})")
    if array.ndim != len(shape) or any(have != want is not None for have, want in zip(array.shape, shape)):
        wanted = ", ".join("any" if each is None else str(each) for each in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got {array.shape}")
    return array


def computed_in(kernel: Any, source: str, compute: str, places: tuple[Any, ...] = ()) -> Any:
    """A kernel that computes in another dtype than that of its arrays, and rounds once.

    Parameters
    ----------
    kernel : callable
    source, compute : str
        The dtype of its arrays, and that in which they are computed.
    places : tuple
        For each result the argument whose dtype it is given; None leaves it. Without any, all are rounded.
    """

    def widened(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)([widened(each) for each in value])
        return value.astype(compute) if getattr(value, "dtype", None) == source else value

    def rounded(value: Any, like: Any) -> Any:
        narrow = getattr(value, "dtype", None) == compute and (like is None or like.dtype == source)
        return value.astype(source) if narrow else value

    def computed(*args: Any) -> Any:
        found = kernel(*[widened(each) for each in args])
        results = found if isinstance(found, (list, tuple)) else (found,)
        if places:
            pairs = zip(results, places)
            results = [each if place is None else rounded(each, args[place]) for each, place in pairs]
        else:
            results = [rounded(each, None) for each in results]
        return tuple(results) if isinstance(found, (list, tuple)) else results[0]

    return computed


def widened_integers(kernel: Any, source: str, compute: str) -> Any:
    """A kernel of floats, for arrays of integers."""

    def computed(*args: Any) -> Any:
        return kernel(*[each.astype(compute) if getattr(each, "dtype", None) == source else each for each in args])

    return computed
