"""Sparse matrices whose rows or columns are compressed: the layouts CSR and CSC, and BSR and BSC of blocks.

Along the compressed dimension a matrix keeps where the entries of each row (or column) begin, the *compressed indices*;
for each entry it keeps its place along the other dimension, the *plain indices*.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import weft
from weft._tensor.base import Tensor
from weft._tensor.layout import layout as Layout
from weft._tensor.layout import sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from weft._tensor.size import Size
from weft._tensor.values_wrapper import Functions, ValuesWrapper, alias, implements_in, wrapper_of
from weft.sparse._invariants import check_compressed, settled_size

__all__ = [
    "CompressedTensor",
    "implements",
    "made",
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
]

ROW_LAYOUTS = (sparse_csr, sparse_bsr)
BLOCK_LAYOUTS = (sparse_bsr, sparse_bsc)
COMPRESSED = (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)
OPPOSITE = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}
KIND = {sparse_csr: "SparseCsr", sparse_csc: "SparseCsc", sparse_bsr: "SparseBsr", sparse_bsc: "SparseBsc"}

FUNCTIONS: Functions = {}  # what compressed tensors have in place of Tensor's functions, by name
implements = implements_in(FUNCTIONS)


class CompressedTensor(ValuesWrapper):
    """A sparse tensor of the layout ``sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``.

    Its shape is (*batch, rows, columns, *dense). Each matrix of a batch has the same number of entries. Gradients go
    to the values that it was made of, and through products, conversions and what keeps zeros zero.

    Examples
    --------
    >>> x = weft.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 4.0], (2, 3))
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    >>> x @ weft.ones(3, 1)
    tensor([[3.],
            [4.]])
    """

    _functions = FUNCTIONS
    _described = (
        "sparse compressed tensors (layouts weft.sparse_csr, sparse_csc, sparse_bsr, sparse_bsc); take to_dense() or "
        "to_sparse_coo() of the tensor, or its values()"
    )
    _precedence = 1
    _sparse_compressed: Any
    _sparse_plain: Any
    _sparse_layout: Any

    @property
    def is_sparse(self) -> bool:
        """False: that asks for the layout ``sparse_coo``."""
        return False

    @property
    def is_sparse_csr(self) -> bool:
        """Whether the layout is ``weft.sparse_csr``."""
        return self._sparse_layout is sparse_csr

    @property
    def layout(self) -> Any:
        """``weft.sparse_csr``, ``weft.sparse_csc``, ``weft.sparse_bsr`` or ``weft.sparse_bsc``."""
        return self._sparse_layout

    def _expect(self, name: str, layouts: Any, described: str) -> None:
        if self._sparse_layout not in layouts:
            raise RuntimeError(
                f"{name} expected sparse {described} tensor layout but got {KIND[self._sparse_layout]}; convert "
                "it with to_sparse(layout=...)"
            )

    def crow_indices(self) -> Any:
        """Where the entries of each row begin, of shape (*batch, rows + 1).

        Raises
        ------
        RuntimeError
            If columns are compressed.
        """
        self._expect("crow_indices", ROW_LAYOUTS, "row compressed")
        return self._sparse_compressed

    def col_indices(self) -> Any:
        """The column of each entry, of shape (*batch, nnz).

        Raises
        ------
        RuntimeError
            If columns are compressed.
        """
        self._expect("col_indices", ROW_LAYOUTS, "row compressed")
        return self._sparse_plain

    def ccol_indices(self) -> Any:
        """Where the entries of each column begin, of shape (*batch, columns + 1).

        Raises
        ------
        RuntimeError
            If rows are compressed.
        """
        self._expect("ccol_indices", (sparse_csc, sparse_bsc), "column compressed")
        return self._sparse_compressed

    def row_indices(self) -> Any:
        """The row of each entry, of shape (*batch, nnz).

        Raises
        ------
        RuntimeError
            If rows are compressed.
        """
        self._expect("row_indices", (sparse_csc, sparse_bsc), "column compressed")
        return self._sparse_plain

    def values(self) -> Any:
        """The entries, of shape (*batch, nnz, *dense), or (*batch, nnz, *blocksize, *dense) where they are blocks."""
        return self._inner_values

    def _nnz(self) -> int:
        return int(self._sparse_plain.shape[-1])

    def sparse_dim(self) -> int:
        """2: rows and columns."""
        return 2

    def dense_dim(self) -> int:
        """How many dimensions each element has."""
        return self.ndim - self._sparse_plain.ndim - 1

    @property
    def _blocksize(self) -> tuple[int, int]:
        """The shape of a block; (1, 1) where entries are elements."""
        if self._sparse_layout not in BLOCK_LAYOUTS:
            return (1, 1)
        batch = self._sparse_plain.ndim
        height, width = self._inner_values.shape[batch : batch + 2]
        return int(height), int(width)

    def with_values(self, values: Any) -> Any:
        """Other values at the same places; their dense dimensions may be others."""
        return made(self._sparse_compressed, self._sparse_plain, values, self.shape, self._sparse_layout)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return remade, (
            self._sparse_compressed,
            self._sparse_plain,
            self._inner_values.detach(),
            tuple(self.shape),
            self._sparse_layout,
            self.requires_grad,
        )

    def __setitem__(self, index: Any, value: Any) -> None:  # type: ignore[override]
        raise TypeError("__setitem__: Cannot assign to a sparse tensor; take to_dense(), or make it anew")

    def __repr__(self) -> str:  # type: ignore[override]
        return import_module("weft.sparse._printing").compressed_repr(self)  # type: ignore[no-any-return]

    __str__ = __repr__


def made(compressed: Any, plain: Any, values: Any, size: Any, layout: Any) -> Any:
    """A compressed tensor of checked parts."""
    load_functions()
    result = wrapper_of(CompressedTensor, values, size)
    result._sparse_compressed, result._sparse_plain, result._sparse_layout = compressed, plain, layout
    return result


def zeros(layout: Any, size: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    """A CSR or CSC tensor without entries.

    Raises
    ------
    RuntimeError
        If the size has no rows and columns.
    """
    if len(size) < 2:
        raise RuntimeError(f"zeros: layout {layout} needs at least 2 dimensions, got size {tuple(size)}")
    groups, major = tuple(size[:-2]), size[-2] if layout in ROW_LAYOUTS else size[-1]
    compressed = weft.zeros((*groups, major + 1), dtype=weft.int64, device=device)
    plain = weft.zeros((*groups, 0), dtype=weft.int64, device=device)
    values = weft.zeros((*groups, 0), dtype=dtype, device=device, requires_grad=requires_grad)
    return made(compressed, plain, values, size, layout)


def remade(compressed: Any, plain: Any, values: Any, size: Any, layout: Any, requires_grad: bool) -> Any:
    """What pickle makes again."""
    check_compressed(compressed, plain, values, tuple(size), layout)
    return made(compressed, plain, values.requires_grad_(requires_grad), size, layout)


@cache
def load_functions() -> None:
    """Import the modules that fill `FUNCTIONS`, which stand on this one."""
    for name in ("_compressed_functions", "_compressed_products"):
        import_module(f"weft.sparse.{name}")


# Constructors


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """Make a sparse tensor whose rows or columns are compressed, of the ``layout`` that says which.

    Parameters
    ----------
    compressed_indices : Tensor or sequence of int, shape (*batch, rows + 1)
        Where the entries of each row (for ``sparse_csc`` and ``sparse_bsc``: of each column) begin, and at last the
        number of entries; int32 or int64. For blocks, rows of blocks.
    plain_indices : Tensor or sequence of int, shape (*batch, nnz)
        The column (or row) of each entry, ascending within a row (or column).
    values : Tensor or sequence, shape (*batch, nnz, *dense), of blocks (*batch, nnz, *blocksize, *dense)
    size : sequence of int, optional
        (*batch, rows, columns, *dense). Default: just large enough.
    dtype, device : optional
        Default: those of the values.
    layout : layout
        ``weft.sparse_csr``, ``weft.sparse_csc``, ``weft.sparse_bsr`` or ``weft.sparse_bsc``.
    requires_grad : bool
    pin_memory, check_invariants
        Accepted and not used: the parts are always checked.

    Raises
    ------
    RuntimeError
        If the parts do not make a tensor of the layout.

    Examples
    --------
    >>> weft.sparse_compressed_tensor([0, 1, 2], [1, 0], [5.0, 6.0], layout=weft.sparse_csc).to_dense()
    tensor([[0., 6.],
            [5., 0.]])
    """
    if type(layout) is not Layout or layout not in COMPRESSED:
        raise RuntimeError(
            "sparse_compressed_tensor: expected sparse compressed tensor layout (weft.sparse_csr, sparse_csc, "
            f"sparse_bsr or sparse_bsc) but got {layout}"
        )
    values = values.detach() if requires_grad and isinstance(values, Tensor) else values
    values = weft.as_tensor(values, dtype=dtype, device=device)
    compressed, plain = (
        weft.as_tensor(each, device=values.device).detach() for each in (compressed_indices, plain_indices)
    )
    size = settled_size(compressed, plain, values, layout) if size is None else Size(size)
    check_compressed(compressed, plain, values, tuple(size), layout)
    return made(compressed, plain, values.requires_grad_() if requires_grad else alias(values), size, layout)


def construct(fixed: Any, args: tuple[Any, Any, Any], size: Any, layout: Any, **options: Any) -> Any:
    """`sparse_compressed_tensor` for the constructor of one layout.

    Raises
    ------
    RuntimeError
        If another layout is asked for.
    """
    if layout not in (None, fixed):
        raise RuntimeError(f"{fixed.name}_tensor: expected layout weft.{fixed.name} or none, but got {layout}")
    compressed, plain, values = args
    return sparse_compressed_tensor(compressed, plain, values, size, layout=fixed, **options)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """Make a sparse tensor whose rows are compressed (layout ``sparse_csr``).

    Parameters
    ----------
    crow_indices : Tensor or sequence of int, shape (*batch, rows + 1)
        Where the entries of each row begin, and at last the number of entries; int32 or int64.
    col_indices : Tensor or sequence of int, shape (*batch, nnz)
        The column of each entry, ascending within a row.
    values : Tensor or sequence, shape (*batch, nnz, *dense)
    size : sequence of int, optional
        (*batch, rows, columns, *dense). Default: just large enough.
    dtype, layout, device, pin_memory, requires_grad, check_invariants
        See `sparse_compressed_tensor`.

    Raises
    ------
    RuntimeError
        If the parts do not make a tensor of the layout.

    Examples
    --------
    >>> weft.sparse_csr_tensor([0, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0]).to_dense()
    tensor([[1., 0., 2.],
            [0., 3., 0.]])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return construct(sparse_csr, (crow_indices, col_indices, values), size, layout, **options)


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """Make a sparse tensor whose columns are compressed (layout ``sparse_csc``).

    Parameters
    ----------
    ccol_indices : Tensor or sequence of int, shape (*batch, columns + 1)
        Where the entries of each column begin, and at last the number of entries; int32 or int64.
    row_indices : Tensor or sequence of int, shape (*batch, nnz)
        The row of each entry, ascending within a column.
    values : Tensor or sequence, shape (*batch, nnz, *dense)
    size : sequence of int, optional
        (*batch, rows, columns, *dense). Default: just large enough.
    dtype, layout, device, pin_memory, requires_grad, check_invariants
        See `sparse_compressed_tensor`.

    Raises
    ------
    RuntimeError
        If the parts do not make a tensor of the layout.

    Examples
    --------
    >>> weft.sparse_csc_tensor([0, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0]).to_dense()
    tensor([[1., 0.],
            [0., 3.],
            [2., 0.]])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return construct(sparse_csc, (ccol_indices, row_indices, values), size, layout, **options)


def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """Make a sparse tensor of blocks, whose rows of blocks are compressed (layout ``sparse_bsr``).

    Parameters
    ----------
    crow_indices : Tensor or sequence of int, shape (*batch, rows + 1)
        Where the blocks of each row begin, and at last the number of blocks; int32 or int64.
    col_indices : Tensor or sequence of int, shape (*batch, nnz)
        The column of each block, ascending within a row.
    values : Tensor or sequence, shape (*batch, nnz, *blocksize, *dense)
    size : sequence of int, optional
        (*batch, rows, columns, *dense). Default: just large enough.
    dtype, layout, device, pin_memory, requires_grad, check_invariants
        See `sparse_compressed_tensor`.

    Raises
    ------
    RuntimeError
        If the parts do not make a tensor of the layout.

    Examples
    --------
    >>> weft.sparse_bsr_tensor([0, 1, 2], [1, 0], [[[1, 2]], [[3, 4]]]).to_dense()
    tensor([[0, 0, 1, 2],
            [3, 4, 0, 0]])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return construct(sparse_bsr, (crow_indices, col_indices, values), size, layout, **options)


def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """Make a sparse tensor of blocks, whose columns of blocks are compressed (layout ``sparse_bsc``).

    Parameters
    ----------
    ccol_indices : Tensor or sequence of int, shape (*batch, columns + 1)
        Where the blocks of each column begin, and at last the number of blocks; int32 or int64.
    row_indices : Tensor or sequence of int, shape (*batch, nnz)
        The row of each block, ascending within a column.
    values : Tensor or sequence, shape (*batch, nnz, *blocksize, *dense)
    size : sequence of int, optional
        (*batch, rows, columns, *dense). Default: just large enough.
    dtype, layout, device, pin_memory, requires_grad, check_invariants
        See `sparse_compressed_tensor`.

    Raises
    ------
    RuntimeError
        If the parts do not make a tensor of the layout.

    Examples
    --------
    >>> weft.sparse_bsc_tensor([0, 1, 2], [1, 0], [[[1, 2]], [[3, 4]]]).to_dense()
    tensor([[0, 0, 3, 4],
            [1, 2, 0, 0]])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return construct(sparse_bsc, (ccol_indices, row_indices, values), size, layout, **options)
