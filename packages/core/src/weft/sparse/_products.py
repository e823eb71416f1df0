"""Products of sparse matrices."""

from __future__ import annotations

from typing import Any

import weft
from weft.sparse._compressed import FUNCTIONS as COMPRESSED_FUNCTIONS
from weft.sparse._compressed_products import dense_product, sparse_product
from weft.sparse._tensor import FUNCTIONS, SparseTensor, expect_sparse, implements, made

__all__ = ["dsmm", "hspmm", "smm", "spmm", "sspaddmm"]


@implements("mm matmul mv __matmul__ __rmatmul__")
def product(input: Any, other: Any, *, out: Any = None) -> Any:
    """Matrix product with sparse operands; with one of them the result is dense, with two it is sparse."""
    if not isinstance(input, SparseTensor):
        if input.ndim == 1:
            return dense_product("mm", other.t(), input)
        return dense_product("mm", other.t(), input.t()).t()
    if isinstance(other, SparseTensor):
        return sparse_product("mm", input, other)
    return dense_product("mm", input, other)


@implements("bmm")
def batched_product(input: Any, mat2: Any) -> Any:
    """Products of sparse matrices, one for each index of the first dimension, with dense ones."""
    if not isinstance(input, SparseTensor):
        return batched_product(mat2.transpose(1, 2), input.transpose(1, 2)).transpose(1, 2)
    if isinstance(mat2, SparseTensor) or input.sparse_dim() != 3 or mat2.ndim != 3:
        raise RuntimeError("bmm: expected a sparse tensor of 3 dimensions and a dense one")
    if input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(f"bmm: sizes do not fit: got {tuple(input.shape)} and {tuple(mat2.shape)}")
    batch, rows, columns = input._sparse_indices
    terms = input._inner_values[:, None] * mat2[batch, columns]
    result = mat2.new_zeros((input.shape[0] * input.shape[1], mat2.shape[2]))
    result = result.index_add(0, batch * input.shape[1] + rows, terms)
    return result.reshape(input.shape[0], input.shape[1], mat2.shape[2])


FUNCTIONS.update({name: COMPRESSED_FUNCTIONS[name] for name in ("addmm", "addmv", "linear")})


def spmm(input: Any, mat2: Any) -> Any:
    """Product of two matrices, of which one may be sparse.

    Parameters
    ----------
    input : Tensor, shape (n, m)
    mat2 : Tensor, shape (m, p)

    Examples
    --------
    >>> weft.spmm(weft.eye(2).to_sparse(), weft.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 2.],
            [3., 4.]])
    """
    return weft.mm(input, mat2)


dsmm = spmm  # by the name that it had first


@implements("smm")
def smm(input: Any, mat2: Any) -> Any:
    """Product of a sparse and a dense matrix, as a sparse one.

    Parameters
    ----------
    input : Tensor, sparse, shape (n, m)
    mat2 : Tensor, shape (m, p)

    Returns
    -------
    Tensor, sparse, shape (n, p)

    Examples
    --------
    >>> weft.smm(weft.eye(2).to_sparse(), weft.tensor([[1.0, 2.0], [3.0, 4.0]])).is_sparse
    True
    """
    found = hspmm(input, mat2)
    rows, columns = found._sparse_indices[0], weft.arange(mat2.shape[1], device=mat2.device)
    indices = weft.stack([rows.repeat_interleave(len(columns)), columns.repeat(len(rows))])
    return made(indices, found._inner_values.reshape(-1), found.shape, True)


def hspmm(mat1: Any, mat2: Any) -> Any:
    """Product of a sparse and a dense matrix whose rows alone are sparse: one for each row of ``mat1`` that has values.

    Parameters
    ----------
    mat1 : Tensor, sparse, shape (n, m)
    mat2 : Tensor, shape (m, p)

    Returns
    -------
    Tensor, shape (n, p), with one sparse and one dense dimension

    Examples
    --------
    >>> product = weft.hspmm(weft.tensor([[0.0, 0.0], [0.0, 2.0]]).to_sparse(), weft.ones(2, 3))
    >>> product.indices(), product.values()
    (tensor([[1]]), tensor([[2., 2., 2.]]))
    """
    expect_sparse("hspmm, smm", mat1)
    rows = mat1._sparse_indices[0].unique()
    return made(rows[None], product(mat1, mat2)[rows], (mat1.shape[0], mat2.shape[1]), True)


@implements("sspaddmm")
def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)``, as a sparse matrix.

    Parameters
    ----------
    input : Tensor, sparse, shape (n, p)
    mat1 : Tensor, sparse, shape (n, m)
    mat2 : Tensor, shape (m, p)
    beta, alpha : number

    Examples
    --------
    >>> eye = weft.eye(2).to_sparse()
    >>> weft.sspaddmm(eye, eye, 2 * weft.eye(2), beta=10).to_dense()
    tensor([[12.,  0.],
            [ 0., 12.]])
    """
    expect_sparse("sspaddmm", input)
    return input * beta + smm(mat1, mat2) * alpha
