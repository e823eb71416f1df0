"""The ops of `views` with results in new memory, and copies in which a view is overwritten."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from weft._docstrings import section
from weft._tensor.base import Tensor
from weft._tensor.layout import is_strided
from weft.ops import views
from weft.ops._declare import composite
from weft.ops._geometry import as_shape, wrap_dim
from weft.ops.creation import contiguous_copy, empty
from weft.types import Device, DType, Layout


def copying(view: Any, name: str, example: str = "", methods: str = "") -> Any:
    """The function that makes a view, followed by a copy; its parameters are the view's."""

    def function(*args: Any, **kwargs: Any) -> Any:
        made = view(*args, **kwargs)
        if isinstance(made, (tuple, list)):
            return tuple(contiguous_copy.op(each) for each in made)
        return contiguous_copy.op(made)

    function.__wrapped__ = view  # type: ignore[attr-defined]  # what inspect.signature shows
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{view.__name__.removeprefix('_')}`, in new memory.{section(view, 'Parameters')}"
    if example:
        function.__doc__ += f"\n\nExamples\n--------\n{example}"
    return composite(methods, out="exact")(function)


alias_copy = copying(views.alias, "alias_copy")
as_strided_copy = copying(
    views.as_strided,
    "as_strided_copy",
    ">>> weft.as_strided_copy(weft.arange(4), (2, 2), (1, 1))\ntensor([[0, 1],\n        [1, 2]])",
)
detach_copy = copying(views.detach, "detach_copy")
diagonal_copy = copying(
    views.diagonal, "diagonal_copy", ">>> weft.diagonal_copy(weft.arange(4).view(2, 2))\ntensor([0, 3])"
)
expand_copy = copying(views.expand, "expand_copy", ">>> weft.expand_copy(weft.tensor([1]), (3,))\ntensor([1, 1, 1])")
permute_copy = copying(
    views.permute, "permute_copy", ">>> weft.permute_copy(weft.zeros(2, 3), (1, 0)).stride()\n(2, 1)"
)
select_copy = copying(
    views.select, "select_copy", ">>> weft.select_copy(weft.arange(4).view(2, 2), 0, 1)\ntensor([2, 3])"
)
split_copy = copying(
    views._split, "split_copy", ">>> weft.split_copy(weft.arange(3), 2)\n(tensor([0, 1]), tensor([2]))"
)
split_with_sizes_copy = copying(
    views.split_with_sizes,
    "split_with_sizes_copy",
    ">>> weft.split_with_sizes_copy(weft.arange(3), [1, 2])\n(tensor([0]), tensor([1, 2]))",
)
squeeze_copy = copying(
    views.squeeze, "squeeze_copy", ">>> weft.squeeze_copy(weft.zeros(1, 2, 1), 0).shape\nweft.Size([2, 1])"
)
t_copy = copying(views.t, "t_copy")
transpose_copy = copying(
    views.transpose, "transpose_copy", ">>> weft.transpose_copy(weft.zeros(2, 3), 0, 1).stride()\n(2, 1)"
)
unbind_copy = copying(views.unbind, "unbind_copy", ">>> weft.unbind_copy(weft.arange(2))\n(tensor(0), tensor(1))")
unfold_copy = copying(
    views.unfold, "unfold_copy", ">>> weft.unfold_copy(weft.arange(3), 0, 2, 1)\ntensor([[0, 1],\n        [1, 2]])"
)
unsqueeze_copy = copying(
    views.unsqueeze, "unsqueeze_copy", ">>> weft.unsqueeze_copy(weft.zeros(3), 0).shape\nweft.Size([1, 3])"
)
view_as_complex_copy = copying(views.view_as_complex, "view_as_complex_copy")
view_as_real_copy = copying(views.view_as_real, "view_as_real_copy")


@composite("narrow_copy", out="exact")
def narrow_copy(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """`narrow`, in new memory.

    Parameters
    ----------
    input : Tensor, of at least one dimension
    dim : int
    start : int or 0-d Tensor of int
        Negative ones count from the end.
    length : int

    Examples
    --------
    >>> weft.narrow_copy(weft.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    if input.ndim and operator.index(dim) >= input.ndim:  # unlike `narrow`, no IndexError
        raise RuntimeError(
            "narrow_copy: Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false. dim is "
            f"{dim}, of {input.ndim} dimensions"
        )
    if length < 0 and not isinstance(start, Tensor):
        size = input.shape[dim]
        raise RuntimeError(f"narrow_copy: start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return contiguous_copy.op(views.narrow(input, dim, start, length))


@composite(out="exact")
def view_copy(input: Tensor, size: Sequence[int] | DType | None = None, *, dtype: DType | None = None) -> Tensor:
    """`Tensor.view` to a shape or a dtype, in new memory.

    Parameters
    ----------
    input : Tensor
    size : sequence of int
        The shape; one size may be -1, and follows from the others.
    dtype : dtype, optional
        In place of a shape.

    Examples
    --------
    >>> weft.view_copy(weft.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return contiguous_copy.op(views.view(input, size=size, dtype=dtype) if dtype else views.view(input, size))


@composite(out="exact")
def slice_copy(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Copy every ``step``-th position from ``start`` to before ``end`` along a dimension.

    Parameters
    ----------
    input : Tensor, of at least one dimension
    dim : int
    start, end : int, optional
        As in Python's slices: negative ones count from the end.
    step : int
        Positive.

    Examples
    --------
    >>> weft.slice_copy(weft.arange(5), start=1, step=2)
    tensor([1, 3])
    """
    return contiguous_copy.op(sliced("slice_copy", input, dim, start, end, step))


@composite()
def _slice(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Every ``step``-th position from ``start`` to before ``end`` along a dimension, a view; see `weft.ops.aten`."""
    return sliced("slice", input, dim, start, end, step)


def sliced(name: str, input: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    """A slice along a dimension, with the rules of Python's own slices."""
    if not input.ndim:
        raise IndexError(f"{name}: cannot be applied to a 0-dim tensor; reshape(1) it first")
    if operator.index(step) <= 0:
        raise RuntimeError(f"{name}: slice step must be positive; got {step}. Use flip() for reverse order")
    dim = wrap_dim(name, dim, input.ndim)
    first, last, _ = slice(start, end, step).indices(input._array.shape[dim])
    return views.slice_dim.op(input, dim, first, max(first, last), step)


# A copy with a view overwritten


def overwritten(name: str, whole: Any, target: Any, src: Any) -> Any:
    """The copy ``whole`` with ``src`` written into its view ``target``."""
    if target._array.shape != src._array.shape:
        raise RuntimeError(
            f"{name}: expected src to have a size equal to the slice of self. src size = {list(src._array.shape)}, "
            f"slice size = {list(target._array.shape)}"
        )
    target.copy_(src)
    return whole


@composite("select_scatter")
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Copy ``input`` and replace one position along a dimension.

    Parameters
    ----------
    input : Tensor
    src : Tensor
        Of the shape of ``input.select(dim, index)``.
    dim, index : int

    Raises
    ------
    RuntimeError
        If ``src`` has another shape.

    Examples
    --------
    >>> weft.select_scatter(weft.zeros(2, 2), weft.tensor([1.0, 2.0]), 0, 1)
    tensor([[0., 0.],
            [1., 2.]])
    """
    whole = input.clone()
    return overwritten("select_scatter", whole, views.select(whole, dim, index), src)


@composite("slice_scatter", out="exact")
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """Copy ``input`` and replace a slice along a dimension.

    Parameters
    ----------
    input : Tensor, of at least one dimension
    src : Tensor
        Of the shape of the slice.
    dim : int
    start, end : int, optional
        As in Python's slices: negative ones count from the end.
    step : int
        Positive.

    Raises
    ------
    RuntimeError
        If ``src`` has another shape.

    Examples
    --------
    >>> weft.slice_scatter(weft.zeros(4), weft.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    whole = input.clone()
    return overwritten("slice_scatter", whole, sliced("slice_scatter", whole, dim, start, end, step), src)


@composite("diagonal_scatter")
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Copy ``input`` and replace a diagonal.

    Parameters
    ----------
    input : Tensor, of at least two dimensions
    src : Tensor
        Of the shape of ``input.diagonal(offset, dim1, dim2)``.
    offset : int
        Which diagonal: 0 the main one, positive ones above it.
    dim1, dim2 : int
        The rows and the columns.

    Raises
    ------
    RuntimeError
        If ``src`` has another shape.

    Examples
    --------
    >>> weft.diagonal_scatter(weft.zeros(2, 2), weft.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    whole = input.clone()
    return overwritten("diagonal_scatter", whole, views.diagonal(whole, offset, dim1, dim2), src)


@composite("as_strided_scatter")
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: int | Sequence[int],
    stride: int | Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    """Copy ``input``, with the memory around it, and replace the view that `as_strided` makes.

    Parameters
    ----------
    input : Tensor
    src : Tensor, shape ``size``
    size, stride : int or sequence of int
    storage_offset : int, optional
        See `as_strided`.

    Raises
    ------
    RuntimeError
        If ``src`` has another shape, or an element would lie outside the storage.

    Examples
    --------
    >>> weft.as_strided_scatter(weft.zeros(4), weft.ones(2), (2,), (2,), 1)
    tensor([0., 1., 0., 1.])
    """
    first = input.storage_offset()
    count = input.untyped_storage().nbytes() // input.itemsize
    memory = views.as_strided(input, (count,), (1,), 0).clone()
    whole = memory.as_strided(input.shape, input.stride(), first)
    target = whole.as_strided(size, stride, first if storage_offset is None else storage_offset)
    return overwritten("as_strided_scatter", whole, target, src)


# Pieces that may be written to


@composite("unsafe_split_with_sizes")
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """`split`, in pieces that may be written to, since each has a history of its own.

    Parameters
    ----------
    input : Tensor, of at least one dimension
    split_sizes : sequence of int
    dim : int

    Examples
    --------
    >>> weft.unsafe_split_with_sizes(weft.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    return separated(input, views.split(input, split_sizes, dim), dim)


@composite("unsafe_split")
def unsafe_split(input: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """`split`, in pieces that may be written to, since each has a history of its own.

    Parameters
    ----------
    input : Tensor, of at least one dimension
    split_size : int or sequence of int
    dim : int

    Examples
    --------
    >>> weft.unsafe_split(weft.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    return separated(input, views.split(input, split_size, dim), dim)


@composite("unsafe_chunk")
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`chunk`, in pieces that may be written to, since each has a history of its own.

    Parameters
    ----------
    input : Tensor, of at least one dimension
    chunks : int
    dim : int

    Examples
    --------
    >>> weft.unsafe_chunk(weft.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    return separated(input, views.chunk(input, chunks, dim), dim)


def separated(whole: Any, pieces: Sequence[Any], dim: int) -> tuple[Any, ...]:
    """The pieces again, each as a tensor by itself, that does not know of the memory that it shares."""
    made, start = [], 0
    for piece in pieces:
        size = piece.shape[dim]
        part = views.narrow(whole, dim, start, size)
        part._view_base = part._version_counter = None
        made.append(part)
        start += size
    return tuple(made)


@composite()
def empty_permuted(
    size: int | Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
) -> Tensor:
    """Make a tensor that is dense in memory in the order of ``physical_layout``, without setting its elements.

    Parameters
    ----------
    size : int or sequence of int
    physical_layout : sequence of int
        The dimensions, the one whose neighbours are farthest apart first.
    dtype : dtype, optional
        Default: `get_default_dtype`.
    device : device, str or int, optional
        Default: `get_default_device`.
    requires_grad : bool
        Whether operations on the result are recorded.
    layout : layout, optional
        Only ``weft.strided``.

    Raises
    ------
    RuntimeError
        If a dimension is missing from ``physical_layout`` or repeated.

    Examples
    --------
    >>> weft.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    if layout is not None:
        is_strided("empty_permuted", layout)
    shape = as_shape("empty_permuted", (size,))
    if len(physical_layout) != len(shape):
        raise RuntimeError(
            f"empty_permuted: Number of dimensions in size does not match the length of the physical_layout; got size "
            f"{list(shape)} and physical_layout {list(physical_layout)}"
        )
    for dim in physical_layout:
        if not 0 <= dim < len(shape):
            raise RuntimeError(f"empty_permuted: Dimension out of range (expected to be under {len(shape)}, got {dim})")
    if len(set(physical_layout)) != len(shape):
        raise RuntimeError(f"empty_permuted: Duplicate dim not allowed in physical_layout {list(physical_layout)}")
    made = empty([shape[dim] for dim in physical_layout], dtype=dtype, device=device)
    made = made.permute([list(physical_layout).index(dim) for dim in range(len(shape))]).detach()
    return made.requires_grad_() if requires_grad else made
