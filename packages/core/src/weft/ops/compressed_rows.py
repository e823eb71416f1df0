"""Ops of compressed rows: products with dense matrices, by SciPy's kernels where it is installed."""

from __future__ import annotations

from typing import Any

import weft
from weft._tensor.base import Tensor
from weft.backend import scientific
from weft.ops._batching import one_by_one
from weft.ops._declare import op
from weft.ops._numerics import is_numpy
from weft.ops._scatter import combine_at

__all__ = ["csr_matmul"]

IN_SCIPY = "?bBhHiIlLqQfdFD"  # the dtypes that its kernels have, by NumPy's letters


def compressed_matrix(xp: Any, crow: Any, col: Any, values: Any, columns: int) -> Any:
    """SciPy's matrix of these parts; None where there is none of them, and on a device."""
    if not is_numpy(xp) or values.dtype.char not in IN_SCIPY:
        return None
    try:
        library = scientific(xp, "sparse", "csr_matmul")
    except (ImportError, NotImplementedError):
        return None
    return library.csr_matrix((values, col, crow), shape=(crow.shape[0] - 1, columns))


def repeated_rows(xp: Any, crow: Any, entries: int) -> Any:
    """The row of each entry."""
    if is_numpy(xp):
        return xp.repeat(xp.arange(crow.shape[0] - 1), xp.diff(crow))
    return xp.searchsorted(crow[1:], xp.arange(entries), side="right")  # without waiting for the counts


def rows_of(crow: Tensor, col: Tensor) -> Tensor:
    """The row of each entry, as a tensor."""
    counts = crow.diff().to(weft.int64)
    return weft.arange(crow.shape[0] - 1, device=crow.device).repeat_interleave(counts, output_size=col.shape[0])


@op(
    tensors="values crow col other",
    dtypes="bool int float complex",
    compute_dtype="float32",
    name="csr_matmul",
    linear="values | other",
)
def csr_matmul(values: Tensor, crow: Tensor, col: Tensor, other: Tensor, columns: int, transposed: bool) -> Tensor:
    """Product of a matrix of compressed rows, or of its transpose, and a dense matrix.

    Parameters
    ----------
    values : Tensor, shape (nnz,)
    crow : Tensor of int, shape (rows + 1,)
    col : Tensor of int, shape (nnz,)
    other : Tensor of the values' dtype, shape (columns, p), or (rows, p) for the transpose
    columns : int
    transposed : bool
    """
    return csr_matmul.op(values, crow, col, other, columns, transposed)


@csr_matmul.kernel
def _(xp, values, crow, col, other, columns, transposed):
    matrix = compressed_matrix(xp, crow, col, values, columns)
    if matrix is not None:
        return xp.ascontiguousarray((matrix.T if transposed else matrix) @ other)
    rows = repeated_rows(xp, crow, col.shape[0])
    target, source = (col, rows) if transposed else (rows, col)
    result = xp.zeros((columns if transposed else crow.shape[0] - 1, other.shape[1]), other.dtype)
    combine_at(xp, xp.add, result, (target, slice(None)), values[:, None] * other[source])
    return result


@csr_matmul.gradient("values other")
def _(grad, values, crow, col, other, columns, transposed):
    rows = rows_of(crow, col)
    target, source = (col, rows) if transposed else (rows, col)
    of_values = (grad.index_select(0, target) * other.conj().index_select(0, source)).sum(-1)
    return of_values, csr_matmul.op(values.conj(), crow, col, grad, columns, not transposed)


@csr_matmul.vmap
def _(batch):
    if any(batch.flags[:3]):
        return one_by_one(batch)
    values, crow, col, other, columns, transposed = batch.args
    wide = other.movedim(0, 1)  # (k, batch, p): the columns of all examples side by side
    found = csr_matmul.op(values, crow, col, wide.reshape(wide.shape[0], -1), columns, transposed)
    return found.reshape(found.shape[0], *wide.shape[1:]).movedim(1, 0)


@op(tensors="values crow col other", dtypes="float complex", compute_dtype="float32", name="csr_solve")
def csr_solve(values: Tensor, crow: Tensor, col: Tensor, other: Tensor, transposed: bool) -> Tensor:
    """The solution x of ``A @ x = other`` (or of that with the transpose) for a matrix A of compressed rows."""
    return csr_solve.op(values, crow, col, other, transposed)


@csr_solve.kernel
def _(xp, values, crow, col, other, transposed):
    matrix = compressed_matrix(xp, crow, col, values, other.shape[0])
    if matrix is not None:
        columns = matrix.T.copy() if transposed else matrix.tocsc()  # memory of its own: it is sorted in place
        return scientific(xp, "sparse.linalg", "csr_solve").splu(columns).solve(other)
    dense = xp.zeros((other.shape[0],) * 2, values.dtype)
    dense[repeated_rows(xp, crow, col.shape[0]), col] = values
    return xp.linalg.solve(dense.T if transposed else dense, other)


@csr_solve.gradient("values other")
def _(grad, values, crow, col, transposed, output):
    rows = rows_of(crow, col)
    of_other = csr_solve.op(values.conj(), crow, col, grad, not transposed)
    left, right = (of_other, output.conj()) if not transposed else (output.conj(), of_other)
    return -left.index_select(0, rows) * right.index_select(0, col), of_other
