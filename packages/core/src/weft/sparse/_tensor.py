"""Tensors of which only some elements are kept, each with its coordinates (the layout ``sparse_coo``).

It is a subclass that overrides ``__torch_function__``, and defining one puts a check on every public function: so this
module is imported when the first sparse tensor is made.
"""

from __future__ import annotations

import builtins
import math
from functools import cache
from importlib import import_module
from typing import Any

import weft
from weft._dtypes.dtypes import int64
from weft._tensor.base import Tensor
from weft._tensor.layout import sparse_coo
from weft._tensor.values_wrapper import Functions, ValuesWrapper, alias, implements_in, wrapper_of
from weft.ops._positions import in_range, waits

__all__ = ["SparseTensor", "expect_sparse", "implements", "made", "sparse_coo_tensor", "to_sparse"]

FUNCTIONS: Functions = {}  # what sparse tensors have in place of Tensor's functions, by name
implements = implements_in(FUNCTIONS)


class SparseTensor(ValuesWrapper):
    """A tensor that keeps coordinates and values; every other element is zero.

    Coordinates may repeat: the element is then the sum of their values. `coalesce` adds them up and sorts.
    Gradients go to the values that it was made of, and through products and `to_dense`.

    Examples
    --------
    >>> x = weft.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    >>> x @ weft.ones(3, 1)
    tensor([[3.],
            [4.]])
    """

    _functions = FUNCTIONS
    _described = "sparse tensors (layout weft.sparse_coo); take to_dense() of the tensor, or its values()"
    _sparse_indices: Any
    _sparse_coalesced: bool

    @property
    def is_sparse(self) -> bool:
        """True."""
        return True

    @property
    def layout(self) -> Any:
        """``weft.sparse_coo``."""
        return sparse_coo

    def indices(self) -> Any:
        """The coordinates, of shape (sparse dimensions, number of values).

        Raises
        ------
        RuntimeError
            Unless the tensor is coalesced.
        """
        self._expect_coalesced("indices")
        return self._sparse_indices

    def values(self) -> Any:
        """The values.

        Raises
        ------
        RuntimeError
            Unless the tensor is coalesced.
        """
        self._expect_coalesced("values")
        return self._inner_values

    def _expect_coalesced(self, name: str) -> None:
        if not self._sparse_coalesced:
            raise RuntimeError(
                f"{name}: Cannot get {name} on an uncoalesced tensor, please call .coalesce() first, or use _{name}()"
            )

    def _indices(self) -> Any:
        return self._sparse_indices

    def _values(self) -> Any:
        return self._inner_values

    def _nnz(self) -> int:
        return int(self._sparse_indices.shape[1])

    def is_coalesced(self) -> bool:
        """Whether each coordinate is there once, in order."""
        return self._sparse_coalesced

    def _coalesced_(self, coalesced: bool) -> Any:
        """Say that each coordinate is there once, in order, or take that back; what is said is not checked."""
        self._sparse_coalesced = coalesced
        return self

    def sparse_dim(self) -> int:
        """How many dimensions have coordinates."""
        return int(self._sparse_indices.shape[0])

    def dense_dim(self) -> int:
        """How many dimensions each value has."""
        return self.ndim - self.sparse_dim()

    def coalesce(self) -> Any:
        """The same tensor with each coordinate once, in order."""
        if self._sparse_coalesced:
            return self
        sizes = tuple(self.shape)[: self.sparse_dim()]
        flat, place = weft.unique(flat_indices(self._sparse_indices, sizes), return_inverse=True)
        values = self._inner_values
        sums = values.new_zeros((flat.shape[0], *values.shape[1:])).index_add(0, place, values)
        return made(unflat_indices(flat, sizes), sums, self.shape, True)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
        """All elements, in a strided tensor."""
        sizes = tuple(self.shape)[: self.sparse_dim()]
        values = self._inner_values
        flat = values.new_zeros((math.prod(sizes), *values.shape[1:]))
        dense = flat.index_add(0, flat_indices(self._sparse_indices, sizes), values).reshape(tuple(self.shape))
        return dense if dtype is None else dense.to(dtype)

    def to_sparse(  # type: ignore[override]
        self, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None
    ) -> Any:
        """The same elements in another sparse layout; by default the tensor itself.

        Raises
        ------
        RuntimeError
            If other dimensions are to be sparse, or the layout does not have such tensors.
        """
        if sparse_dim not in (None, self.sparse_dim()):
            raise RuntimeError(
                f"to_sparse: the tensor has {self.sparse_dim()} sparse dimensions and layout {self.layout}; got "
                f"sparse_dim={sparse_dim}; take to_dense() first"
            )
        convert = import_module("weft.sparse._conversions").to_layout
        return convert(self, sparse_coo if layout is None else layout, blocksize, dense_dim)

    def to_sparse_coo(self) -> Any:
        """The tensor itself."""
        return self

    def with_values(self, values: Any) -> Any:
        """Other values at the same coordinates."""
        return made(self._sparse_indices, values, self.shape, self._sparse_coalesced)

    def __reduce_ex__(self, protocol: Any) -> Any:
        parts = (self._sparse_indices, self._inner_values, tuple(self.shape), self._sparse_coalesced)
        return made, parts

    def __setitem__(self, index: Any, value: Any) -> None:  # type: ignore[override]
        raise TypeError("__setitem__: Cannot assign to a sparse tensor; take to_dense(), or make it anew")

    def __repr__(self) -> str:  # type: ignore[override]
        return import_module("weft.sparse._printing").coo_repr(self)  # type: ignore[no-any-return]

    __str__ = __repr__


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:
    """Make a tensor of coordinates and values; every other element is zero.

    Parameters
    ----------
    indices : Tensor or nested sequence of int, of shape (dimensions, number of values)
    values : Tensor or sequence, of shape (number of values, ...)
        What follows the first dimension is dense.
    size : sequence of int, optional
        Default: just large enough.
    dtype : dtype, optional
        Default: that of the values.
    device : device or str, optional
    requires_grad : bool
    is_coalesced : bool, optional
        Say that the indices are sorted and none stands twice.
    layout, pin_memory, check_invariants
        Accepted and not used: the layout is ``weft.sparse_coo``, and indices are always checked.

    Raises
    ------
    RuntimeError
        If indices and values differ in number, or an index is outside of ``size``.

    Examples
    --------
    >>> weft.sparse_coo_tensor([[0, 2]], [1.0, 5.0]).to_dense()
    tensor([1., 0., 5.])
    """
    if values is None or (size is None and not isinstance(indices, Tensor) and isinstance(indices, weft.Size)):
        if indices is None and size is None:
            raise TypeError("sparse_coo_tensor: missing indices and values, or a size")
        shape = tuple(size if indices is None else indices)  # only a size: no element is there
        values = weft.zeros(0, dtype=dtype, device=device)
        found = made(weft.zeros((len(shape), 0), dtype=int64, device=device), values, shape, True)
        return found.requires_grad_() if requires_grad else found
    values = weft.as_tensor(values, dtype=dtype, device=device).detach() if requires_grad else values
    values = weft.as_tensor(values, dtype=dtype, device=device)
    indices = weft.as_tensor(indices, device=values.device).to(int64)
    check_parts(indices, values)
    if size is None:
        largest = indices.max(1).values + 1 if indices.shape[1] else indices.new_zeros(indices.shape[0], dtype=int64)
        size = (*largest.tolist(), *values.shape[1:])
    check_size(indices, values, tuple(size))
    values = values.requires_grad_() if requires_grad else alias(values)
    return made(indices, values, tuple(size), builtins.bool(is_coalesced))


def check_parts(indices: Any, values: Any) -> None:
    """Refuse coordinates and values that do not belong together.

    Raises
    ------
    RuntimeError
        If there are more of the one than of the other, or indices is no matrix.
    """
    if indices.ndim != 2:
        raise RuntimeError(f"sparse_coo_tensor: indices must be sparse_dim x nnz, but got: {tuple(indices.shape)}")
    if not values.ndim or values.shape[0] != indices.shape[1]:
        raise RuntimeError(
            f"sparse_coo_tensor: indices and values must have the same nnz, but got nnz from indices: "
            f"{indices.shape[1]}, values of shape: {tuple(values.shape)}"
        )


def check_size(indices: Any, values: Any, size: tuple[int, ...]) -> None:
    """Refuse coordinates outside of the size.

    Raises
    ------
    RuntimeError
        If there are any, or dimensions are too many or too few.
    """
    dims = indices.shape[0]
    if len(size) != dims + values.ndim - 1 or size[dims:] != tuple(values.shape[1:]):
        raise RuntimeError(
            f"sparse_coo_tensor: size {size} does not fit {dims} sparse dimensions and values of shape "
            f"{tuple(values.shape)}: wanted {dims} sizes followed by {tuple(values.shape[1:])}"
        )
    if waits(indices):
        for dim, (row, sparse_size) in enumerate(zip(indices, size)):
            in_range("sparse_coo_tensor", row, sparse_size, dim)
    elif indices.shape[1] and dims:
        bounds = weft.tensor(size[:dims], device=indices.device)[:, None]
        if builtins.bool(((indices < 0) | (indices >= bounds)).any()):
            raise RuntimeError(
                f"sparse_coo_tensor: found an index outside of size {size}: indices go from "
                f"{indices.min(1).values.tolist()} to {indices.max(1).values.tolist()}"
            )


def made(indices: Any, values: Any, size: Any, coalesced: bool) -> Any:
    """A sparse tensor of checked parts. Its own array is a single zero, expanded: size, dtype and device are right."""
    load_functions()
    result = wrapper_of(SparseTensor, values, size)
    result._sparse_indices, result._sparse_coalesced = indices, coalesced
    return result


def to_sparse(input: Any, sparse_dim: int | None = None) -> Any:
    """The elements of a dense tensor that are not zero; with ``sparse_dim``, coordinates for the first dimensions."""
    dims = input.ndim if sparse_dim is None else sparse_dim
    if not 0 <= dims <= input.ndim or (dims == 0 and input.ndim):
        raise RuntimeError(
            f"to_sparse: sparse_dim argument must be in [{min(1, input.ndim)},{input.ndim}] range, but {dims} is given"
        )
    there = input.detach() != 0
    indices = (there.flatten(dims).any(-1) if dims < input.ndim else there).nonzero().t().contiguous()
    values = input[tuple(indices)] if input.ndim else input.expand(indices.shape[1]).clone()
    return made(indices, values, input.shape, True)


def expect_sparse(name: str, *operands: Any) -> None:
    """Raise ValueError unless one of the operands has coordinates."""
    if not any(isinstance(each, SparseTensor) for each in operands):
        layouts = ", ".join(str(getattr(each, "layout", type(each).__name__)) for each in operands)
        raise ValueError(f"{name}: expected a sparse tensor (weft.sparse_coo), but got {layouts}; see to_sparse()")


def flat_indices(indices: Any, sizes: tuple[int, ...]) -> Any:
    """One number for each coordinate: the place in row-major order."""
    flat = indices.new_zeros(indices.shape[1])
    for row, size in zip(indices, sizes):
        flat = flat * size + row
    return flat


def unflat_indices(flat: Any, sizes: tuple[int, ...]) -> Any:
    rows = []
    for size in reversed(sizes):
        rows.append(flat % size)
        flat = flat // size
    return weft.stack(rows[::-1]) if rows else flat.new_zeros((0, flat.shape[0]))


@cache
def load_functions() -> None:
    """Import the modules that fill `FUNCTIONS`, which stand on this one."""
    for name in ("_functions", "_conversions", "_products", "_reductions"):
        import_module(f"weft.sparse.{name}")
