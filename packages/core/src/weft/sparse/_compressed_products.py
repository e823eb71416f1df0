"""Products of compressed tensors with dense, compressed and COO ones."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft._dtypes.dtypes import int64
from weft._tensor.layout import sparse_csr
from weft.ops.compressed_rows import csr_matmul, csr_solve
from weft.sparse._compressed import BLOCK_LAYOUTS, CompressedTensor, implements
from weft.sparse._conversions import compress, coo_from_rows, coordinates, elements, to_coo, to_layout
from weft.sparse._tensor import SparseTensor
from weft.sparse._tensor import made as made_coo

__all__ = ["dense_product", "product_reduced", "sampled_addmm", "sparse_product", "spsolve"]


def is_sparse(input: Any) -> bool:
    return isinstance(input, (CompressedTensor, SparseTensor))


def rows_of(input: Any) -> tuple[Any, Any, Any, bool]:
    """A matrix as compressed rows: of the matrix itself, or (True) of its transpose."""
    if isinstance(input, SparseTensor):
        return (*coo_from_rows(input), False)
    if input.layout in BLOCK_LAYOUTS:
        input = to_layout(to_coo(input), sparse_csr)
    return input._sparse_compressed, input._sparse_plain, input._inner_values, input.layout is not sparse_csr


def check_product(name: str, input: Any, other: Any) -> None:
    """Refuse matrices that do not fit together.

    Raises
    ------
    RuntimeError
        If they are no matrices, or sizes or dtypes differ.
    """
    fit = input.ndim == 2 and 1 <= other.ndim <= 2 and input.shape[1] == other.shape[0]
    if not fit or any(is_sparse(each) and each.dense_dim() for each in (input, other)):
        raise RuntimeError(
            f"{name}: a sparse matrix times a matrix or vector: got {tuple(input.shape)} and {tuple(other.shape)}; the "
            "columns of the first have to be the rows of the second"
        )
    if input.dtype is not other.dtype:
        raise RuntimeError(
            f"{name}: expected both operands to have the same dtype, but got {input.dtype}, {other.dtype}"
        )


def dense_product(name: str, input: Any, other: Any) -> Any:
    """A sparse matrix times a dense matrix or vector."""
    check_product(name, input, other)
    crow, col, values, transposed = rows_of(input)
    columns = input.shape[0] if transposed else input.shape[1]
    matrix = other[:, None] if other.ndim == 1 else other
    result = csr_matmul.op(values, crow, col, matrix, int(columns), transposed)
    return result[:, 0] if other.ndim == 1 else result


def paired(input: Any, other: Any) -> tuple[Any, Any, Any]:
    """The terms of a product of sparse matrices: their rows, columns and values, in no order."""
    (row, inner), values = elements_of(input)
    crow, col, theirs, transposed = rows_of(other)
    if transposed:
        crow, col, theirs, _ = rows_of(to_layout(other, sparse_csr))
    begin, counts = crow.to(int64)[inner], crow.diff().to(int64)[inner]
    mine = weft.arange(len(inner), device=inner.device).repeat_interleave(counts)
    within = weft.arange(len(mine), device=inner.device) - (counts.cumsum(0) - counts)[mine]
    place = begin[mine] + within
    return row[mine], col.to(int64)[place], values[mine] * theirs[place]


def elements_of(input: Any) -> tuple[Any, Any]:
    return (input._sparse_indices, input._inner_values) if isinstance(input, SparseTensor) else elements(input)


def sparse_product(name: str, input: Any, other: Any) -> Any:
    """A sparse matrix times a sparse one, as coordinates: an element where any term is, whatever their sum."""
    check_product(name, input, other)
    row, column, terms = paired(input, other)
    return made_coo(weft.stack([row, column]), terms, (input.shape[0], other.shape[1]), False).coalesce()


@implements("mm matmul mv __matmul__ __rmatmul__")
def product(input: Any, other: Any, *, out: Any = None) -> Any:
    """Matrix product: dense if one operand is dense, otherwise coordinates of two of those, and CSR of others."""
    if input.ndim > 2 or other.ndim > 2:
        return batched_product(input, other)
    if is_sparse(input) and is_sparse(other):
        found = sparse_product("mm", input, other)
        if isinstance(input, CompressedTensor) or isinstance(other, CompressedTensor):
            found = to_layout(found, sparse_csr)
    elif is_sparse(input):
        found = dense_product("mm", input, other)
    elif input.ndim == 1:
        found = dense_product("mm", other.transpose(0, 1), input)
    else:
        found = dense_product("mm", other.transpose(0, 1), input.transpose(0, 1)).transpose(0, 1)
    return found if out is None else out.copy_(found)


def one_matrix(input: Any) -> Any:
    """A batch of sparse matrices as the blocks on the diagonal of one."""
    if input.layout in BLOCK_LAYOUTS:
        raise RuntimeError("bmm: batches of block matrices are not there; take to_sparse_coo() or to_dense() first")
    row, column = coordinates(input)
    total, nnz = math.prod(row.shape[:-1]), row.shape[-1]
    rows, columns = input.shape[-2:]
    group = weft.arange(total, device=row.device)[:, None]
    row = (row.reshape(total, nnz) + group * rows).reshape(1, -1)
    column = (column.reshape(total, nnz) + group * columns).reshape(1, -1)
    sides = (total * rows, total * columns)
    return compress((), sparse_csr, sides, sides, row, column, input._inner_values.reshape(1, -1))


@implements("bmm")
def batched_product(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Products of the matrices of a batch, one by one: sparse ones with dense ones."""
    if is_sparse(input) and is_sparse(mat2):
        raise RuntimeError("bmm: batches of sparse matrices times sparse ones are not there; take to_dense() of one")
    if not is_sparse(input):
        found = batched_product(mat2.transpose(-2, -1), input.transpose(-2, -1)).transpose(-2, -1)
        return found if out is None else out.copy_(found)
    groups = tuple(input.shape[:-2])
    if mat2.ndim == 2 or input.ndim == 2:
        mat2 = mat2.expand(*groups, *mat2.shape[-2:]) if mat2.ndim == 2 else mat2
        if input.ndim == 2:  # one sparse matrix with each of many: their columns side by side
            flat = mat2.movedim(-2, 0)
            found = dense_product("matmul", input, flat.reshape(flat.shape[0], -1))
            return found.reshape(input.shape[0], *flat.shape[1:]).movedim(0, -2)
    if groups != tuple(mat2.shape[:-2]) or input.shape[-1] != mat2.shape[-2] or input.dense_dim():
        raise RuntimeError(f"bmm: sizes do not fit: got {tuple(input.shape)} and {tuple(mat2.shape)}")
    found = dense_product("bmm", one_matrix(input), mat2.reshape(-1, mat2.shape[-1]))
    found = found.reshape(*groups, input.shape[-2], mat2.shape[-1])
    return found if out is None else out.copy_(found)


@implements("addmm")
def product_added(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)``: dense if the input is."""
    found = scaled(product(mat1, mat2), alpha)
    if is_sparse(found) and not is_sparse(input):
        found = found.to_dense()
    if beta != 0:  # with 0, nan and infinities of the input have no part
        found = scaled(input, beta) + found
    return found if out is None else out.copy_(found)


@implements("addmv")
def vector_product_added(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    found = scaled(product(mat, vec), alpha)
    return found if beta == 0 else scaled(input, beta) + found


def scaled(input: Any, factor: Any) -> Any:
    return input if factor == 1 else input * factor


@implements("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``, where input or weight is sparse."""
    rows = input if is_sparse(input) or input.ndim <= 2 else input.reshape(-1, input.shape[-1])
    found = product(rows, weight.transpose(0, 1))
    found = found if rows is input else found.reshape(*input.shape[:-1], -1)
    return found if bias is None else found + bias


def sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)`` at the places where a CSR tensor has entries, and nowhere else.

    Parameters
    ----------
    input : Tensor of layout ``sparse_csr``, shape (*batch, m, n)
    mat1 : Tensor, shape (*batch, m, k)
    mat2 : Tensor, shape (*batch, k, n)
    beta, alpha : number
    out : Tensor of layout ``sparse_csr``, optional

    Returns
    -------
    Tensor of layout ``sparse_csr``, with the entries of ``input``

    Raises
    ------
    RuntimeError
        If the input is no CSR tensor, the others are not dense, or sizes or dtypes do not fit.

    Examples
    --------
    >>> pattern = weft.tensor([[1.0, 0.0], [0.0, 1.0]]).to_sparse_csr()
    >>> weft.sparse.sampled_addmm(pattern, weft.full((2, 3), 2.0), weft.ones(3, 2)).to_dense()
    tensor([[7., 0.],
            [0., 7.]])
    """
    check_sampled(input, mat1, mat2)
    row, column = coordinates(input)
    total, nnz = math.prod(row.shape[:-1]), row.shape[-1]
    group = weft.arange(total, device=row.device)[:, None].expand(total, nnz)
    row, column = row.reshape(total, nnz), column.reshape(total, nnz)
    inner = mat1.shape[-1]
    first = mat1.reshape(total, -1, inner)[group, row]
    second = mat2.transpose(-2, -1).reshape(total, -1, inner)[group, column]
    found = scaled((first * second).sum(-1).reshape(input._inner_values.shape), alpha)
    values = found if beta == 0 else scaled(input._inner_values, beta) + found
    result = input.with_values(values)
    return result if out is None else out.copy_(result)


def check_sampled(input: Any, mat1: Any, mat2: Any) -> None:
    """Refuse what `sampled_addmm` does not take."""
    if not isinstance(input, CompressedTensor) or input.layout is not sparse_csr:
        raise RuntimeError(f"sampled_addmm: Expected self to have sparse csr layout, but got {input.layout}")
    for name, each in (("mat1", mat1), ("mat2", mat2)):
        if is_sparse(each):
            raise RuntimeError(f"sampled_addmm: Expected {name} to have strided layout, but got {each.layout}")
        if each.dtype is not input.dtype:
            raise RuntimeError(
                f"sampled_addmm: Expected {name} and self to have the same dtype, but got {each.dtype} and "
                f"{input.dtype}"
            )
    wanted = (*input.shape[:-1], mat1.shape[-1]), (*input.shape[:-2], mat1.shape[-1], input.shape[-1])
    if (tuple(mat1.shape), tuple(mat2.shape)) != wanted:
        raise RuntimeError(
            f"sampled_addmm: sizes do not fit: self has {tuple(input.shape)}, mat1 {tuple(mat1.shape)} and mat2 "
            f"{tuple(mat2.shape)}"
        )


def product_reduced(input: Any, other: Any, reduce: str) -> Any:
    """The terms of a product of a CSR and a dense matrix, reduced otherwise than by their sum."""
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"sparse.mm: reduce type of {reduce} has not been enabled; take sum, mean, amax or amin")
    if not isinstance(input, CompressedTensor) or input.layout is not sparse_csr or is_sparse(other):
        raise RuntimeError(f"sparse.mm: reduce takes a CSR and a dense tensor, got {input.layout}, {other.layout}")
    check_product("sparse.mm", input, other)
    counts = input._sparse_compressed.diff()[:, None]
    if reduce in ("sum", "mean"):
        found = dense_product("sparse.mm", input, other)
        return found if reduce == "sum" else found / counts.clamp_min(1)
    row, column = coordinates(input)
    terms = input._inner_values[:, None] * other.index_select(0, column)
    chosen = first_extremes(terms.detach(), row, input.shape[0], reduce)
    found = terms.gather(0, chosen.clamp_max(len(terms) - 1)) if len(terms) else other.new_zeros(chosen.shape)
    return weft.where(counts > 0, found, 0)


def first_extremes(terms: Any, row: Any, rows: int, reduce: str) -> Any:
    """Which term is the first of the largest (or least) of its row, in each column; of none, one that is not there."""
    places = row[:, None].expand(terms.shape)
    extremes = terms.new_zeros((rows, terms.shape[1])).scatter_reduce(0, places, terms, reduce, include_self=False)
    number = weft.arange(len(terms), device=terms.device)[:, None].expand(terms.shape)
    number = weft.where(terms == extremes[row], number, len(terms))
    return weft.full_like(extremes, len(terms), dtype=number.dtype).scatter_reduce(0, places, number, "amin")


# Solving


@implements("triangular_solve")
def triangular_solved(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """Solve a triangular system whose matrix is sparse: by its dense form, row by row as BLAS does it."""
    matrix = A.to_dense() if is_sparse(A) else A
    found = weft.triangular_solve(input, matrix, upper, transpose, unitriangular)
    return type(found)(found[0], A.clone())


def spsolve(input: Any, other: Any, *, left: bool = True) -> Any:
    """Solve ``input @ x = other`` for x, where the matrix is CSR.

    Parameters
    ----------
    input : Tensor of layout ``sparse_csr``, shape (n, n)
    other : Tensor, shape (n,)
    left : bool
        False is not supported.

    Returns
    -------
    Tensor, shape (n,)

    Raises
    ------
    ValueError or RuntimeError
        If the matrix is no square CSR tensor, does not fit the vector, or is singular.

    Notes
    -----
    SciPy's sparse LU where it is installed, and otherwise a dense solution.

    Examples
    --------
    >>> matrix = weft.tensor([[2.0, 0.0], [1.0, 1.0]]).to_sparse_csr()
    >>> weft.sparse.spsolve(matrix, weft.tensor([2.0, 3.0]))
    tensor([1., 2.])
    """
    if not isinstance(input, CompressedTensor) or input.layout is not sparse_csr:
        raise ValueError(f"spsolve: expected a CSR tensor as the matrix, but got layout {input.layout}")
    if not left:
        raise RuntimeError("spsolve: only left=True is supported; solve with the transpose instead")
    if input.ndim != 2 or input.shape[0] != input.shape[1] or tuple(other.shape) != (input.shape[0],):
        raise ValueError(
            f"spsolve: expected a square matrix and a vector of its size, got {tuple(input.shape)} and "
            f"{tuple(other.shape)}"
        )
    return csr_solve.op(input._inner_values, input._sparse_compressed, input._sparse_plain, other, False)
