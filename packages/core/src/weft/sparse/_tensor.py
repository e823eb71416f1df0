"""Tensors of which only some elements are kept, each with its coordinates (the layout ``sparse_coo``).

It is a subclass that overrides ``__torch_function__``, and defining one puts a check on every public function: so this
module is imported when the first sparse tensor is made.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import weft
from weft._dtypes.dtypes import int64
from weft._interception.torch_function import flatten, unmasked
from weft._tensor.base import Tensor
from weft._tensor.layout import sparse_coo
from weft._tensor.subclasses import as_subclass

__all__ = ["SparseTensor", "expect_sparse", "implements", "made", "sparse_coo_tensor", "to_sparse"]

QUERIES = frozenset(
    """
    __hash__ __len__ dim element_size get_device is_complex is_contiguous is_floating_point is_signed is_tensor
    ndimension nelement numel size
    """.split()
)
FUNCTIONS: dict[str, Callable[..., Any]] = {}  # what sparse tensors have in place of Tensor's functions, by name


def implements(names: str) -> Callable[[Any], Any]:
    """Declare what sparse tensors do for functions and methods of these names."""

    def declare(function: Any) -> Any:
        FUNCTIONS.update(dict.fromkeys(names.split(), function))
        return function

    return declare


class SparseTensor(Tensor):
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

    _sparse_indices: Any
    _sparse_values: Any
    _sparse_coalesced: bool

    @property
    def is_sparse(self) -> bool:
        """True."""
        return True

    @property
    def layout(self) -> Any:
        """``weft.sparse_coo``."""
        return sparse_coo

    @property
    def requires_grad(self) -> Any:
        """Whether the values require a gradient."""
        return self._sparse_values.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: Any) -> None:
        self._sparse_values.requires_grad = value

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
        return self._sparse_values

    def _expect_coalesced(self, name: str) -> None:
        if not self._sparse_coalesced:
            raise RuntimeError(
                f"{name}: Cannot get {name} on an uncoalesced tensor, please call .coalesce() first, or use _{name}()"
            )

    def _indices(self) -> Any:
        return self._sparse_indices

    def _values(self) -> Any:
        return self._sparse_values

    def _nnz(self) -> int:
        return int(self._sparse_indices.shape[1])

    def is_coalesced(self) -> bool:
        """Whether each coordinate is there once, in order."""
        return self._sparse_coalesced

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
        values = self._sparse_values
        sums = values.new_zeros((flat.shape[0], *values.shape[1:])).index_add(0, place, values)
        return made(unflat_indices(flat, sizes), sums, self.shape, True)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
        """All elements, in a strided tensor."""
        sizes = tuple(self.shape)[: self.sparse_dim()]
        values = self._sparse_values
        flat = values.new_zeros((math.prod(sizes), *values.shape[1:]))
        dense = flat.index_add(0, flat_indices(self._sparse_indices, sizes), values).reshape(tuple(self.shape))
        return dense if dtype is None else dense.to(dtype)

    def to_sparse(  # type: ignore[override]
        self, sparse_dim: int | None = None, *, layout: Any = None
    ) -> Any:
        """The tensor itself.

        Raises
        ------
        RuntimeError
            If other dimensions are to be sparse, or another layout is asked for.
        """
        if sparse_dim not in (None, self.sparse_dim()) or layout not in (None, sparse_coo):
            raise RuntimeError(
                f"to_sparse: the tensor has {self.sparse_dim()} sparse dimensions and layout weft.sparse_coo; got "
                f"sparse_dim={sparse_dim}, layout={layout}; take to_dense() first"
            )
        return self

    def to_sparse_coo(self) -> Any:
        """The tensor itself."""
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Let the values require a gradient."""
        self._sparse_values.requires_grad_(requires_grad)
        return self

    def with_values(self, values: Any) -> Any:
        """Other values at the same coordinates."""
        return made(self._sparse_indices, values, self.shape, self._sparse_coalesced)

    @property
    def grad(self) -> Any:
        """The gradient of the values, as a sparse tensor of their coordinates."""
        grad = self._sparse_values.grad
        return None if grad is None else self.with_values(grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._sparse_values.grad = None if value is None else value._values()

    @property
    def data(self) -> Any:
        """The same coordinates and values without history."""
        return made(self._sparse_indices, self._sparse_values.detach(), self.shape, self._sparse_coalesced)

    @data.setter
    def data(self, value: Any) -> None:
        expect_sparse("data", value)
        self._array = value._array
        self._sparse_indices, self._sparse_values = value._sparse_indices, value._sparse_values
        self._sparse_coalesced = value._sparse_coalesced

    def __reduce_ex__(self, protocol: Any) -> Any:
        parts = (self._sparse_indices, self._sparse_values, tuple(self.shape), self._sparse_coalesced)
        return made, parts

    def __setitem__(self, index: Any, value: Any) -> None:  # type: ignore[override]
        raise TypeError("__setitem__: Cannot assign to a sparse tensor; take to_dense(), or make it anew")

    def __deepcopy__(self, memo: Any) -> Any:
        return made(self._sparse_indices.clone(), self._sparse_values.clone(), self.shape, self._sparse_coalesced)

    def __repr__(self) -> str:  # type: ignore[override]
        def shown(name: str, part: Any) -> str:
            margin = " " * len(f"tensor({name}=")
            return f"{name}=" + repr(part.detach()).replace("\n", f"\n{margin}")

        history = ", requires_grad=True" if self.requires_grad else ""
        return (
            f"tensor({shown('indices', self._sparse_indices)},\n       {shown('values', self._sparse_values)},\n"
            f"       size={tuple(self.shape)}, nnz={self._nnz()}, layout=weft.sparse_coo{history})"
        )

    __str__ = __repr__

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = func.__name__, kwargs or {}
        if name in QUERIES:
            return unmasked(flatten(args), func, args, kwargs)
        found = FUNCTIONS.get(name)
        if found is not None:
            return found(*args, **kwargs)
        raise NotImplementedError(
            f"{name}: is not there for sparse tensors (layout weft.sparse_coo); take to_dense() of the tensor, or its "
            "values()"
        )


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
        largest = indices.max(1).values + 1 if indices.shape[1] else weft.zeros(indices.shape[0], dtype=int64)
        size = (*largest.tolist(), *values.shape[1:])
    check_size(indices, values, tuple(size))
    return made(indices, values.requires_grad_() if requires_grad else values, tuple(size), builtins.bool(is_coalesced))


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
    if indices.shape[1] and dims:
        bounds = weft.tensor(size[:dims], device=indices.device)[:, None]
        if builtins.bool(((indices < 0) | (indices >= bounds)).any()):
            raise RuntimeError(
                f"sparse_coo_tensor: found an index outside of size {size}: indices go from "
                f"{indices.min(1).values.tolist()} to {indices.max(1).values.tolist()}"
            )


def made(indices: Any, values: Any, size: Any, coalesced: bool) -> Any:
    """A sparse tensor of checked parts. Its own array is a single zero, expanded: size, dtype and device are right."""
    load_functions()
    result: Any = as_subclass(values.detach().new_zeros(()).expand(tuple(size)), SparseTensor)
    result._sparse_indices, result._sparse_values, result._sparse_coalesced = indices, values, coalesced
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
    return made(indices, input[tuple(indices)], input.shape, True)


def expect_sparse(name: str, *operands: Any) -> None:
    """Raise ValueError unless one of the operands is sparse."""
    if not any(isinstance(each, SparseTensor) for each in operands):
        raise ValueError(f"{name}: expected a sparse tensor (weft.sparse_coo), but got strided ones; see to_sparse()")


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
    for name in ("_functions", "_products", "_reductions"):
        import_module(f"weft.sparse.{name}")
