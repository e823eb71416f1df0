"""The extension for linear algebra: decompositions, solutions and norms of batches of matrices."""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

import weft
import weft.linalg as by_torch
from weft import Tensor, dtype
from weft.array_api._promotion import promoted
from weft.array_api.linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from weft.array_api.statistical import sum

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The lower (or upper) triangular factor of positive definite matrices."""
    return by_torch.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors with three elements along an axis; the other axes broadcast."""
    first, second = promoted(x1, x2)
    ndim = builtins.max(first.ndim, second.ndim)
    first, second = (each.reshape((1,) * (ndim - each.ndim) + tuple(each.shape)) for each in (first, second))
    return by_torch.cross(first, second, dim=axis)


def det(x: Tensor, /) -> Tensor:
    """The determinants of square matrices."""
    return by_torch.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """A view of the diagonals of matrices; a positive ``offset`` is above the main one."""
    return by_torch.diagonal(x, offset=offset)


def eigh(x: Tensor, /) -> EighResult:
    """Eigenvalues, in ascending order, and eigenvectors of symmetric or Hermitian matrices."""
    return EighResult(*by_torch.eigh(x))


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues, in ascending order, of symmetric or Hermitian matrices."""
    return by_torch.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """The inverses of square matrices."""
    return by_torch.inv(x)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Norms of matrices; `weft.linalg.matrix_norm` has the orders."""
    return by_torch.matrix_norm(x, ord, keepdim=keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Square matrices multiplied by themselves; of a negative ``n`` their inverses."""
    return by_torch.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are larger than the largest times ``rtol`` (by default eps times the larger size)."""
    return by_torch.matrix_rank(x, rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of each element of one vector with each of the other."""
    return weft.outer(*promoted(x1, x2))


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The Moore-Penrose inverse; singular values up to the largest times ``rtol`` count as 0."""
    return by_torch.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> QRResult:
    """Orthonormal columns and an upper triangular matrix whose product is ``x``; mode "complete": a square Q."""
    return QRResult(*by_torch.qr(x, mode))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """The sign of determinants and the logarithm of their absolute value."""
    return SlogdetResult(*by_torch.slogdet(x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solution ``X`` of ``x1 X = x2``.

    Parameters
    ----------
    x1 : Tensor, shape (..., M, M)
    x2 : Tensor, shape (M,) or (..., M, K)
        A vector only if it has one dimension, where PyTorch may see a batch of vectors.
    """
    matrices, right = promoted(x1, x2)
    if right.ndim == 1:
        return by_torch.solve(matrices, right.unsqueeze(-1)).squeeze(-1)
    more = (1,) * (matrices.ndim - right.ndim)  # then PyTorch sees matrices, too
    return by_torch.solve(matrices, right.reshape(more + tuple(right.shape)))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular values in descending order, between matrices with orthonormal columns (U) and rows (Vh)."""
    return SVDResult(*by_torch.svd(x, full_matrices=full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values in descending order."""
    return by_torch.svdvals(x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: dtype | None = None) -> Tensor:
    """The sums of the diagonals of matrices."""
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """The norm of vectors along some axes, or of all elements; `weft.linalg.vector_norm` has the orders."""
    if axis == ():  # of one element each, where PyTorch takes all
        return by_torch.vector_norm(x.unsqueeze(-1), ord, -1)
    return by_torch.vector_norm(x, ord, axis, keepdims)
