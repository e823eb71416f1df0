"""Shape rules of ``numpy.linalg`` and ``numpy.fft``."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy
from numpy.linalg import LinAlgError

from weft._meta.array import MetaArray, laid_out, normal_axes
from weft._meta.functions import result_type, rule
from weft._meta.layout import broadcast_shape, order_of_copy

# Of matrices ---------------------------------------------------------------------------------------------------------


def floating(*arrays: Any) -> Any:
    """The dtype in which a decomposition is computed."""
    found = result_type(*arrays)
    return found if found.kind in "fc" else numpy.dtype("float64")


def real_of(dtype: Any) -> Any:
    """The dtype of a number's parts."""
    return numpy.empty(0, dtype).real.dtype


def complex_of(dtype: Any) -> Any:
    """The complex dtype of the same precision."""
    return numpy.result_type(dtype, numpy.complex64)


def square(array: Any) -> None:
    """Square matrices.

    Raises
    ------
    LinAlgError
        If they are not.
    """
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")


@rule("linalg.inv", "linalg.cholesky", "linalg.matrix_power", "linalg.expm")
def same(array: Any, *args: Any, **options: Any) -> Any:
    """A matrix of the same size."""
    square(array)
    return MetaArray(array.shape, floating(array))


@rule("linalg.pinv")
def pinv(array: Any, *args: Any, **options: Any) -> Any:
    """The pseudo-inverse."""
    return MetaArray((*array.shape[:-2], array.shape[-1], array.shape[-2]), floating(array))


@rule("linalg.det")
def det(array: Any) -> Any:
    """The determinant."""
    square(array)
    return MetaArray(array.shape[:-2], floating(array))


SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")
EigResult = namedtuple("EigResult", "eigenvalues eigenvectors")
QRResult = namedtuple("QRResult", "Q R")
SVDResult = namedtuple("SVDResult", "U S Vh")


@rule("linalg.slogdet")
def slogdet(array: Any) -> Any:
    """The determinant's sign and logarithm."""
    square(array)
    dtype = floating(array)
    return SlogdetResult(MetaArray(array.shape[:-2], dtype), MetaArray(array.shape[:-2], real_of(dtype)))


@rule("linalg.solve")
def solve(a: Any, b: Any) -> Any:
    """Solutions of linear systems."""
    square(a)
    dtype = floating(a, b)
    if b.ndim == 1:
        return MetaArray(a.shape[:-1], dtype)
    return MetaArray((*broadcast_shape(a.shape[:-2], b.shape[:-2]), a.shape[-1], b.shape[-1]), dtype)


@rule("linalg.eigh")
def eigh(array: Any, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices."""
    square(array)
    dtype = floating(array)
    return EigResult(MetaArray(array.shape[:-1], real_of(dtype)), MetaArray(array.shape, dtype))


@rule("linalg.eigvalsh")
def eigvalsh(array: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of Hermitian matrices."""
    return eigh(array)[0]


@rule("linalg.eig")
def eig(array: Any) -> Any:
    """Eigenvalues and eigenvectors, which are complex (NumPy's are real where all are)."""
    square(array)
    dtype = complex_of(floating(array))
    return EigResult(MetaArray(array.shape[:-1], dtype), MetaArray(array.shape, dtype))


@rule("linalg.eigvals")
def eigvals(array: Any) -> Any:
    """Eigenvalues, which are complex."""
    return eig(array)[0]


@rule("linalg.svd")
def svd(array: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """The singular value decomposition."""
    *batch, rows, columns = array.shape
    dtype, least = floating(array), min(rows, columns)
    values = MetaArray((*batch, least), real_of(dtype))
    if not compute_uv:
        return values
    left, right = (rows, columns) if full_matrices else (least, least)
    return SVDResult(MetaArray((*batch, rows, left), dtype), values, MetaArray((*batch, right, columns), dtype))


@rule("linalg.svdvals")
def svdvals(array: Any) -> Any:
    """Singular values."""
    return svd(array, compute_uv=False)


@rule("linalg.qr")
def qr(array: Any, mode: str = "reduced") -> Any:
    """The QR decomposition."""
    *batch, rows, columns = array.shape
    dtype, least = floating(array), min(rows, columns)
    inner = rows if mode == "complete" else least
    upper = MetaArray((*batch, inner, columns), dtype)
    if mode == "r":
        return upper
    if mode == "raw":
        return MetaArray((*batch, columns, rows), dtype), MetaArray((*batch, least), dtype)
    return QRResult(MetaArray((*batch, rows, inner), dtype), upper)


@rule("linalg.norm")
def norm(array: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """A norm along dimensions."""
    dims = tuple(range(array.ndim)) if axis is None else normal_axes(axis, array.ndim)
    shape = [1 if dim in dims else size for dim, size in enumerate(array.shape) if keepdims or dim not in dims]
    return MetaArray(tuple(shape), real_of(floating(array)))


@rule("linalg.matrix_rank")
def matrix_rank(array: Any, *args: Any, **options: Any) -> Any:
    """The rank."""
    return MetaArray(array.shape[:-2], numpy.dtype("int64"))


# Fourier transforms --------------------------------------------------------------------------------------------------


def transform(real_input: bool, real_output: bool) -> Callable[..., Any]:
    """A transform along several dimensions, the last of which has half of a real one's frequencies."""

    def function(array: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
        if axes is None:
            axes = range(-len(s), 0) if s is not None else range(-array.ndim, 0)
        dims = normal_axes(tuple(axes), array.ndim)
        sizes = [array.shape[dim] for dim in dims] if s is None else list(s)
        if real_output and s is None and sizes:
            sizes[-1] = 2 * (sizes[-1] - 1)
        shape = list(array.shape)
        for dim, size in zip(dims, sizes):
            shape[dim] = array.shape[dim] if size is None or size == -1 else size
        if real_input and dims:
            shape[dims[-1]] = shape[dims[-1]] // 2 + 1
        dtype = complex_of(array.dtype if array.dtype.kind in "fc" else numpy.float64)
        order = order_of_copy(array.shape, array.strides, array.itemsize)
        return laid_out(tuple(shape), real_of(dtype) if real_output else dtype, order)

    return function


def along_one(several: Callable[..., Any]) -> Callable[..., Any]:
    """The same along one dimension."""

    def function(array: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        return several(array, None if n is None else (n,), (axis,))

    return function


for _name, _real_input, _real_output in (("fft", False, False), ("rfft", True, False), ("irfft", False, True)):
    _several = transform(_real_input, _real_output)
    for _each in (_name,) if _real_input or _real_output else (_name, f"i{_name}"):
        rule(f"fft.{_each}n", f"fft.{_each}2")(_several)
        rule(f"fft.{_each}")(along_one(_several))
