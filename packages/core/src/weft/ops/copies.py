"""The ops of `views` with results in new memory, and copies in which a view is overwritten."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from weft._tensor.layout import is_strided
from weft.ops import views
from weft.ops._declare import composite
from weft.ops._geometry import as_shape, wrap_dim
from weft.ops.creation import contiguous_copy


def copying(view: Any, name: str, methods: str = "") -> Any:
    """The function that makes a view, followed by a copy."""

    def function(*args: Any, **kwargs: Any) -> Any:
        made = view(*args, **kwargs)
        if isinstance(made, (tuple, list)):
            return tuple(contiguous_copy.op(each) for each in made)
        return contiguous_copy.op(made)

    function.__wrapped__ = view  # type: ignore[attr-defined]  # what inspect.signature shows
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{view.__name__}`, in new memory."
    return composite(methods, out="exact")(function)


alias_copy = copying(views.alias, "alias_copy")
as_strided_copy = copying(views.as_strided, "as_strided_copy")
detach_copy = copying(views.detach, "detach_copy")
diagonal_copy = copying(views.diagonal, "diagonal_copy")
expand_copy = copying(views.expand, "expand_copy")
permute_copy = copying(views.permute, "permute_copy")
select_copy = copying(views.select, "select_copy")
split_copy = copying(views._split, "split_copy")
split_with_sizes_copy = copying(views.split_with_sizes, "split_with_sizes_copy")
squeeze_copy = copying(views.squeeze, "squeeze_copy")
t_copy = copying(views.t, "t_copy")
transpose_copy = copying(views.transpose, "transpose_copy")
unbind_copy = copying(views.unbind, "unbind_copy")
unfold_copy = copying(views.unfold, "unfold_copy")
unsqueeze_copy = copying(views.unsqueeze, "unsqueeze_copy")
view_as_complex_copy = copying(views.view_as_complex, "view_as_complex_copy")
view_as_real_copy = copying(views.view_as_real, "view_as_real_copy")


@composite("narrow_copy", out="exact")
def narrow_copy(input, dim, start, length):
    """`narrow`, in new memory."""
    if input.ndim and operator.index(dim) >= input.ndim:  # unlike `narrow`, no IndexError
        raise RuntimeError(f"narrow_copy: Expected dim ({dim}) to be less than the number of dimensions {input.ndim}")
    return contiguous_copy.op(views.narrow(input, dim, start, length))


@composite(out="exact")
def view_copy(input, size=None, *, dtype=None):
    """`Tensor.view` to a shape or a dtype, in new memory."""
    return contiguous_copy.op(views.view(input, size=size, dtype=dtype) if dtype else views.view(input, size))


@composite(out="exact")
def slice_copy(input, dim=0, start=None, end=None, step=1):
    """Every ``step``-th position from ``start`` to before ``end`` along a dimension, in new memory."""
    return contiguous_copy.op(sliced("slice_copy", input, dim, start, end, step))


@composite()
def _slice(input, dim=0, start=None, end=None, step=1):
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


@composite("select_scatter", out="exact")
def select_scatter(input, src, dim, index):
    """A copy of ``input`` with one position along a dimension replaced."""
    whole = input.clone()
    return overwritten("select_scatter", whole, views.select(whole, dim, index), src)


@composite("slice_scatter", out="exact")
def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """A copy of ``input`` with a slice along a dimension replaced."""
    whole = input.clone()
    return overwritten("slice_scatter", whole, sliced("slice_scatter", whole, dim, start, end, step), src)


@composite("diagonal_scatter", out="exact")
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """A copy of ``input`` with a diagonal replaced."""
    whole = input.clone()
    return overwritten("diagonal_scatter", whole, views.diagonal(whole, offset, dim1, dim2), src)


@composite("as_strided_scatter", out="exact")
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """A copy of ``input``, and of the memory around it, in which the view that `as_strided` makes holds ``src``."""
    first = input.storage_offset()
    count = input.untyped_storage().nbytes() // input.itemsize
    memory = views.as_strided(input, (count,), (1,), 0).clone()
    whole = memory.as_strided(input.shape, input.stride(), first)
    target = whole.as_strided(size, stride, first if storage_offset is None else storage_offset)
    return overwritten("as_strided_scatter", whole, target, src)


# Pieces that may be written to


@composite("unsafe_split_with_sizes")
def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """`split`, in pieces that may be written to, since each has a history of its own."""
    return separated(input, views.split(input, split_sizes, dim), dim)


@composite("unsafe_split")
def unsafe_split(input, split_size, dim=0):
    """`split`, in pieces that may be written to, since each has a history of its own."""
    return separated(input, views.split(input, split_size, dim), dim)


@composite("unsafe_chunk")
def unsafe_chunk(input, chunks, dim=0):
    """`chunk`, in pieces that may be written to, since each has a history of its own."""
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
def empty_permuted(size, physical_layout, *, dtype=None, device=None, requires_grad=False, layout=None):
    """An uninitialised tensor that is dense in memory with its dimensions in the order of ``physical_layout``."""
    if layout is not None:
        is_strided("empty_permuted", layout)
    from weft.ops.creation import empty

    shape = as_shape("empty_permuted", (size,))
    if sorted(physical_layout) != list(range(len(shape))):
        raise RuntimeError(
            f"empty_permuted: Number of dimensions in size does not match the length of the physical_layout, or a "
            f"dimension is missing or repeated; got size {list(shape)} and physical_layout {list(physical_layout)}"
        )
    made = empty([shape[dim] for dim in physical_layout], dtype=dtype, device=device)
    made = made.permute([list(physical_layout).index(dim) for dim in range(len(shape))]).detach()
    return made.requires_grad_() if requires_grad else made
