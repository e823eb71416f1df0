"""The methods by which dense tensors become sparse ones, and those of sparse, nested or quantized tensors alone."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from weft._dtypes.dtypes import float32
from weft._tensor.base import Tensor
from weft._tensor.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from weft._tensor.memory import method
from weft.types import Layout


def to_layout(self: Any, layout: Any, blocksize: Any, dense_dim: int | None, name: str) -> Any:
    """The tensor in a sparse layout."""
    return importlib.import_module("weft.sparse._conversions").to_layout(self, layout, blocksize, dense_dim, name)


@method
def to_sparse(
    self: Any,
    sparse_dim: int | None = None,
    *,
    layout: Layout | None = None,
    blocksize: int | Sequence[int] | None = None,
    dense_dim: int | None = None,
) -> Tensor:
    """A sparse tensor of the elements that are not zero.

    Parameters
    ----------
    sparse_dim : int, optional
        How many of the first dimensions have coordinates. Default: all.
    layout : layout, optional
        Default: ``weft.sparse_coo``.
    blocksize : int or pair of int, optional
        The shape of blocks, for ``weft.sparse_bsr`` and ``weft.sparse_bsc``.
    dense_dim : int, optional
        How many of the last dimensions stay dense, for the compressed layouts.

    Raises
    ------
    RuntimeError
        If arguments do not fit the layout.

    Examples
    --------
    >>> weft.tensor([0.0, 5.0]).to_sparse().values()
    tensor([5.])
    """
    if layout is strided and sparse_dim is None and blocksize is None and dense_dim is None:
        return self
    if layout in (None, sparse_coo) and blocksize is None and dense_dim is None:
        return importlib.import_module("weft.sparse._tensor").to_sparse(self, sparse_dim)
    if sparse_dim is not None or (blocksize is not None and layout is None):
        raise RuntimeError(
            f"to_sparse: pass sparse_dim alone, or layout with blocksize and dense_dim; got sparse_dim={sparse_dim}, "
            f"layout={layout}, blocksize={blocksize}, dense_dim={dense_dim}"
        )
    return to_layout(self, layout or sparse_coo, blocksize, dense_dim, "to_sparse")


@method
def to_sparse_coo(self: Any) -> Tensor:
    """A sparse tensor of coordinates and values, the same as `to_sparse`."""
    return self.to_sparse()  # type: ignore[no-any-return]


@method
def to_sparse_csr(self: Any, dense_dim: int | None = None) -> Tensor:
    """A sparse tensor of compressed rows: see `weft.sparse_csr_tensor`.

    Parameters
    ----------
    dense_dim : int, optional
        How many of the last dimensions stay dense. The dimensions before rows and columns are batches.

    Raises
    ------
    RuntimeError
        If the matrices of a batch have different numbers of elements.

    Examples
    --------
    >>> weft.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csr().col_indices()
    tensor([1, 0])
    """
    return to_layout(self, sparse_csr, None, dense_dim, "to_sparse_csr")  # type: ignore[no-any-return]


@method
def to_sparse_csc(self: Any, dense_dim: int | None = None) -> Tensor:
    """A sparse tensor of compressed columns: see `weft.sparse_csc_tensor` and `to_sparse_csr`."""
    return to_layout(self, sparse_csc, None, dense_dim, "to_sparse_csc")  # type: ignore[no-any-return]


@method
def to_sparse_bsr(self: Any, blocksize: int | Sequence[int], dense_dim: int | None = None) -> Tensor:
    """A sparse tensor of compressed rows of blocks: see `weft.sparse_bsr_tensor` and `to_sparse_csr`.

    Parameters
    ----------
    blocksize : int or pair of int
        The shape of a block; rows and columns have to be multiples of it.
    dense_dim : int, optional

    Examples
    --------
    >>> weft.eye(4).to_sparse_bsr((2, 2)).values().shape
    weft.Size([2, 2, 2])
    """
    return to_layout(self, sparse_bsr, blocksize, dense_dim, "to_sparse_bsr")  # type: ignore[no-any-return]


@method
def to_sparse_bsc(self: Any, blocksize: int | Sequence[int], dense_dim: int | None = None) -> Tensor:
    """A sparse tensor of compressed columns of blocks: see `weft.sparse_bsc_tensor` and `to_sparse_bsr`.

    Parameters
    ----------
    blocksize : int or pair of int
        The shape of a block; rows and columns have to be multiples of it.
    dense_dim : int, optional

    Examples
    --------
    >>> weft.eye(4).to_sparse_bsc((2, 2)).row_indices()
    tensor([0, 1])
    """
    return to_layout(self, sparse_bsc, blocksize, dense_dim, "to_sparse_bsc")  # type: ignore[no-any-return]


@method
def sparse_mask(self: Any, mask: Tensor) -> Tensor:
    """The elements at the coordinates of a sparse tensor of the same size, as a sparse tensor."""
    if mask.is_sparse:
        return importlib.import_module("weft.sparse._functions").masked(self, mask)  # type: ignore[no-any-return]
    return importlib.import_module("weft.sparse._compressed_functions").masked(self, mask)  # type: ignore[no-any-return]


@method
def sparse_dim(self: Any) -> int:
    """0: no dimension is sparse."""
    return 0


@method
def dense_dim(self: Any) -> int:
    """The number of dimensions: all are dense."""
    return int(self._array.ndim)


# Of other layouts alone ---------------------------------------------------------------------------------

ROWS, COLUMNS, COORDINATES = "sparse row compressed", "sparse column compressed", "sparse coordinate"


def refuse(self: Any, name: str, wanted: str) -> Any:
    """Say which layout a method is for.

    Raises
    ------
    RuntimeError
        Always.
    """
    raise RuntimeError(
        f"{name} expected {wanted} tensor layout but got {self.layout}; take to_sparse() of the tensor, with layout="
    )


@method
def crow_indices(self: Any) -> Tensor:
    """Where the entries of each row begin: of tensors with compressed rows (see `weft.sparse_csr_tensor`)."""
    return refuse(self, "crow_indices", ROWS)  # type: ignore[no-any-return]


@method
def col_indices(self: Any) -> Tensor:
    """The column of each entry: of tensors with compressed rows (see `weft.sparse_csr_tensor`)."""
    return refuse(self, "col_indices", ROWS)  # type: ignore[no-any-return]


@method
def ccol_indices(self: Any) -> Tensor:
    """Where the entries of each column begin: of tensors with compressed columns (see `weft.sparse_csc_tensor`)."""
    return refuse(self, "ccol_indices", COLUMNS)  # type: ignore[no-any-return]


@method
def row_indices(self: Any) -> Tensor:
    """The row of each entry: of tensors with compressed columns (see `weft.sparse_csc_tensor`)."""
    return refuse(self, "row_indices", COLUMNS)  # type: ignore[no-any-return]


@method
def values(self: Any) -> Tensor:
    """The elements that a sparse tensor keeps, or the components of a nested one, in one tensor."""
    return refuse(self, "values", "sparse or nested")  # type: ignore[no-any-return]


@method
def indices(self: Any) -> Tensor:
    """The coordinates of a sparse tensor (see `weft.sparse_coo_tensor`)."""
    return refuse(self, "indices", COORDINATES)  # type: ignore[no-any-return]


@method
def coalesce(self: Any) -> Tensor:
    """The sparse tensor with each coordinate once, in order (see `weft.sparse_coo_tensor`)."""
    return refuse(self, "coalesce", COORDINATES)  # type: ignore[no-any-return]


@method
def is_coalesced(self: Any) -> bool:
    """Whether a sparse tensor has each coordinate once, in order (see `weft.sparse_coo_tensor`)."""
    return refuse(self, "is_coalesced", COORDINATES)  # type: ignore[no-any-return]


@method
def smm(self: Any, mat2: Tensor) -> Tensor:
    """Product of a sparse matrix and a dense one, as a sparse matrix: see `weft.smm`."""
    return refuse(self, "smm", COORDINATES)  # type: ignore[no-any-return]


@method
def sspaddmm(self: Any, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * self + alpha * (mat1 @ mat2)`` as a sparse matrix: see `weft.sspaddmm`."""
    return refuse(self, "sspaddmm", COORDINATES)  # type: ignore[no-any-return]


@method
def sparse_resize_(self: Any, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a sparse tensor another size, in place, that holds all its elements.

    Parameters
    ----------
    size : sequence of int
    sparse_dim, dense_dim : int
        How many dimensions have coordinates, and how many do not.

    Examples
    --------
    >>> weft.eye(2).to_sparse().sparse_resize_((2, 3), 2, 0).shape
    weft.Size([2, 3])
    """
    return refuse(self, "sparse_resize_", COORDINATES)  # type: ignore[no-any-return]


@method
def sparse_resize_and_clear_(self: Any, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a sparse tensor another size, in place, and no elements.

    Parameters
    ----------
    size : sequence of int
    sparse_dim, dense_dim : int
        How many dimensions have coordinates, and how many do not.

    Examples
    --------
    >>> weft.eye(2).to_sparse().sparse_resize_and_clear_((3,), 1, 0).to_dense()
    tensor([0., 0., 0.])
    """
    return refuse(self, "sparse_resize_and_clear_", COORDINATES)  # type: ignore[no-any-return]


@method
def resize_as_sparse_(self: Any, the_template: Tensor) -> Tensor:
    """Give a sparse tensor, in place, the size of another one, and no elements."""
    return refuse(self, "resize_as_sparse_", COORDINATES)  # type: ignore[no-any-return]


@method
def to_padded_tensor(self: Any, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
    """The components of a nested tensor in a dense one, with padding behind shorter ones.

    Parameters
    ----------
    padding : number
    output_size : sequence of int, optional
        Default: just large enough.

    Raises
    ------
    RuntimeError
        If a component is larger than ``output_size``; of any tensor that is not nested.

    Examples
    --------
    >>> weft.nested.nested_tensor([weft.ones(1), weft.ones(2)]).to_padded_tensor(0.0)
    tensor([[1., 0.],
            [1., 1.]])
    """
    return refuse(self, "to_padded_tensor", "nested")  # type: ignore[no-any-return]


# Of quantized tensors alone ------------------------------------------------------------------------------


def refuse_unquantized(name: str) -> Any:
    """Say that a method is for quantized tensors.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError(f"{name}: expected a quantized tensor; weft.quantize_per_tensor() makes one")


@method
def dequantize(self: Any) -> Tensor:
    """The numbers of a quantized tensor (see `weft.quantize_per_tensor`); any other tensor in float32."""
    return self.to(float32)  # type: ignore[no-any-return]


@method
def int_repr(self: Any) -> Tensor:
    """A copy of the integers of a quantized tensor (see `weft.quantize_per_tensor`)."""
    return refuse_unquantized("int_repr")  # type: ignore[no-any-return]


@method
def q_scale(self: Any) -> float:
    """The scale of a quantized tensor (see `weft.quantize_per_tensor`)."""
    return refuse_unquantized("q_scale")  # type: ignore[no-any-return]


@method
def q_zero_point(self: Any) -> int:
    """Which integer stands for 0 in a quantized tensor (see `weft.quantize_per_tensor`)."""
    return refuse_unquantized("q_zero_point")  # type: ignore[no-any-return]


@method
def qscheme(self: Any) -> Any:
    """How the integers of a quantized tensor stand for numbers (see `weft.quantize_per_tensor`)."""
    return refuse_unquantized("qscheme")
