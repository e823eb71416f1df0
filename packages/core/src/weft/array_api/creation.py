"""Arrays from shapes, ranges and other data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

import weft
from weft import Tensor, dtype, get_default_dtype
from weft.array_api._promotion import result_type

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

Shape = int | Sequence[int]


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: dtype | None = None,
    device: Any = None,
) -> Tensor:
    """The numbers from ``start`` (or 0) to before ``stop``; none where ``step`` leads away from it."""
    if stop is None:
        start, stop = 0, start
    if dtype is None:
        whole = all(isinstance(each, int) for each in (start, stop, step))
        dtype = weft.int64 if whole else get_default_dtype()
    if (stop - start) * step <= 0:
        return weft.empty(0, dtype=dtype, device=device)
    return weft.arange(start, stop, step, dtype=dtype, device=device)


def asarray(obj: Any, /, *, dtype: dtype | None = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """An object as a tensor, sharing its memory where it can.

    Parameters
    ----------
    obj : Tensor, NumPy array, object with DLPack or a buffer, number or nested sequence of numbers and tensors
    dtype : dtype, optional
    device : device or str, optional
    copy : bool, optional
        True: always copy. False: raise where a copy is needed. Default: where needed.

    Raises
    ------
    ValueError
        If ``copy`` is False and the memory cannot be shared.
    """
    if copy is None and isinstance(obj, numpy.ndarray) and not is_shareable(obj):
        obj = obj.astype(obj.dtype.newbyteorder("="))
    return weft.asarray(obj, dtype=dtype, device=device, copy=copy)


def is_shareable(array: numpy.ndarray[Any, Any]) -> bool:
    """Whether a tensor can have the memory of a NumPy array: in reverse order, for one, it cannot."""
    steps = zip(array.strides, array.shape)
    return array.dtype.isnative and all(step % array.itemsize == 0 and (step >= 0 or size < 2) for step, size in steps)


def empty(shape: Shape, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """A tensor of a shape with any values."""
    return weft.empty(shape, dtype=dtype, device=device)


def zeros(shape: Shape, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """A tensor of zeros."""
    return weft.zeros(shape, dtype=dtype, device=device)


def ones(shape: Shape, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """A tensor of ones."""
    return weft.ones(shape, dtype=dtype, device=device)


def full(shape: Shape, fill_value: complex, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """A tensor of one value, by default of the value's kind."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    return weft.full(sizes, fill_value, dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """A tensor with any values, of the shape of ``x`` and by default its dtype and device."""
    return weft.empty_like(x, dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """A tensor of zeros, of the shape of ``x`` and by default its dtype and device."""
    return weft.zeros_like(x, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """A tensor of ones, of the shape of ``x`` and by default its dtype and device."""
    return weft.ones_like(x, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: complex, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """A tensor of one value, of the shape of ``x`` and by default its dtype and device."""
    return weft.full_like(x, fill_value, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: dtype | None = None,
    device: Any = None,
) -> Tensor:
    """A matrix with ones on its ``k``-th diagonal (above the main one where positive) and zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    k = max(-n_rows, min(k, n_cols))  # beyond it there is no diagonal, and perhaps no int64
    rows, columns = weft.arange(n_rows, device=device), weft.arange(n_cols, device=device)
    return (rows[:, None] + k == columns).to(get_default_dtype() if dtype is None else dtype)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares the memory of another library's array."""
    return weft.from_dlpack(x, device=device, copy=copy)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """``num`` numbers at equal distances from ``start`` to ``stop``, which is the last one if ``endpoint``."""
    if dtype is None:
        number = result_type(start, stop)
        dtype = number if number.is_complex else get_default_dtype()
    points = weft.linspace(start, stop, num if endpoint else num + 1, dtype=dtype, device=device)
    return points if endpoint else points[:num]


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Coordinate matrices of one-dimensional coordinates.

    Parameters
    ----------
    *arrays : Tensor, one-dimensional and of one dtype
    indexing : {"xy", "ij"}
        "ij": the first array runs along the first dimension; "xy": along the second, as in a picture.
    """
    return list(weft.meshgrid(*arrays, indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with zeros above their ``k``-th diagonal."""
    return weft.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with zeros below their ``k``-th diagonal."""
    return weft.triu(x, k)
