"""Ops whose result shares the memory of their input, with another shape."""

from __future__ import annotations

import builtins
import itertools
import math
from collections.abc import Sequence
from operator import setitem
from types import EllipsisType
from typing import Any, SupportsIndex

import numpy

from weft import _display_name
from weft._devices.devices import key_of, on_device_of
from weft._dtypes.dtypes import BY_NUMPY, element_type, int64
from weft._dtypes.dtypes import dtype as dtype_class
from weft._engine.dimensions import Flatten
from weft._engine.dispatch import Op, apply_view_fn, make
from weft._engine.methods import expanded
from weft._engine.methods import ops as methods_ops
from weft._engine.unresolved import CONJUGATE, NEGATIVE, Unresolved, memory_of
from weft._settings import warn_caller_once
from weft._tensor.base import Tensor, add_members
from weft._tensor.conjugation import bits_of, refuse_bits
from weft._tensor.held_storages import let_go
from weft._tensor.layout import channels_last, channels_last_3d, order_of, preserve_format, suggests_channels_last
from weft.ops._batching import Batch, rule_for
from weft.ops._declare import ALL_DTYPES, composite, op
from weft.ops._geometry import (
    addressable,
    as_shape,
    check_index,
    elements,
    integer,
    integers,
    one_by_one,
    require_tensors,
    with_strides,
    wrap_dim,
    wrap_dims,
)
from weft.ops._inplace import bump, view_inplace
from weft.ops._positions import waits
from weft.ops._registry import registry
from weft.ops.creation import arange, from_host, zeros_like
from weft.storage import address, whole_memory
from weft.types import DType, MemoryFormat, Scalar


@op("detach", view=True, gradient=None, vmap="elementwise", onnx="Identity")
def detach(input: Tensor) -> Tensor:
    """Return a view that autograd takes for a new leaf, which does not require grad.

    Examples
    --------
    >>> x = weft.ones(2, requires_grad=True)
    >>> (x * 2).detach().requires_grad
    False
    """
    return detach.op(input)


@detach.kernel
def _(xp, input):
    return input.view()


@op(view=True, name="alias", vmap="elementwise", onnx="Identity")
def alias(input: Tensor) -> Tensor:
    """The same tensor as another view, through which gradients flow."""
    return alias.op(input)


@alias.kernel
def _(xp, input):
    return input.view()


@alias.gradient("input")
def _(grad):
    return grad


@op("view", view=True)
def view(
    input: Tensor, *args: int | Sequence[int] | DType, size: Sequence[int] | None = None, dtype: DType | None = None
) -> Tensor:
    """View a tensor's memory with another shape; with a dtype, its bytes as another dtype.

    Parameters
    ----------
    input : Tensor
    size : int, ..., or a sequence of them
        The shape; one size may be -1, and follows from the others.
    dtype : dtype, optional
        In place of a shape. Where its elements are larger or smaller, the last dimension shrinks or grows.

    Raises
    ------
    RuntimeError
        If the number of elements differs, or the strides do not allow it without a copy: use `reshape` then.

    Examples
    --------
    >>> x = weft.zeros(4)
    >>> x.view(2, -1)[0, 0] = 1
    >>> x
    tensor([1., 0., 0., 0.])
    >>> weft.ones(1).view(weft.int32)
    tensor([1065353216], dtype=weft.int32)
    """
    element = element_type("view", args[0] if len(args) == 1 and isinstance(args[0], (dtype_class, type)) else dtype)
    if element is not None:
        return view_dtype(input, element)
    shape = one_by_one("view", args, size, "size")
    return view.op(input, infer_shape("view", integers("view", shape), input.numel()))


@view.kernel
def _(xp, input, shape):
    if not can_view(input, shape):
        raise RuntimeError(
            "view: view size is not compatible with input tensor's size and stride (at least one dimension spans "
            f"across two contiguous subspaces): {list(input.shape)} as {list(shape)}. Use .reshape(...) instead."
        )
    return input.reshape(shape)


@view.onnx
def _(graph, input, shape):
    return graph.reshape(input, shape)


@view.gradient("input")
def _(grad, input_shape):
    return grad.reshape(input_shape)


@view.vmap
def _(batch):
    input, shape = batch.args
    return view.op(input, (batch.size, *shape))


def infer_shape(name: str, shape: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The shape with its -1 filled in.

    Raises
    ------
    RuntimeError
        If the shape does not hold ``count`` elements.
    """
    unknown = [dim for dim, size in enumerate(shape) if size == -1]
    if any(size < -1 for size in shape):
        raise RuntimeError(f"{name}: invalid shape dimension {min(shape)} in {list(shape)}")
    if len(unknown) > 1:
        raise RuntimeError(f"{name}: only one dimension can be inferred; got {list(shape)}")
    known = math.prod(size for size in shape if size != -1)
    if unknown:
        if known == 0:
            raise RuntimeError(
                f"{name}: cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
                "dimension size -1 can be any value and is ambiguous"
                if count == 0
                else f"{name}: shape '{list(shape)}' is invalid for input of size {count}"
            )
        if count % known == 0:
            return tuple(count // known if size == -1 else size for size in shape)
    elif known == count:
        return shape
    raise RuntimeError(f"{name}: shape '{list(shape)}' is invalid for input of size {count}")


@composite("reshape")
def reshape(input: Tensor, *args: int | Sequence[int], shape: Sequence[int] | None = None) -> Tensor:
    """Change the shape: a view where the strides allow it, else a copy.

    Parameters
    ----------
    input : Tensor
    shape : int, ..., or a sequence of them
        One size may be -1, and follows from the others.

    Raises
    ------
    RuntimeError
        If the number of elements differs.

    Examples
    --------
    >>> weft.arange(6).reshape(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    shape = infer_shape("reshape", integers("reshape", one_by_one("reshape", args, shape, "shape")), input.numel())
    if can_view(input._array, shape):
        return view.op(input, shape)
    made = view.op(input.contiguous(), shape)
    if not made._key.wrapped:
        made._view_base = made._version_counter = None  # nobody else has the copy that it is a view of
    return made


def can_view(array: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array can have another shape (of as many elements) without a copy.

    Dimensions that lie evenly in memory form blocks; the new dimensions must fill one block after the other.
    """
    if array.flags.c_contiguous:
        return True
    blocks: list[list[int]] = []  # number of elements and stride, the innermost first
    for size, stride in zip(reversed(array.shape), reversed(array.strides)):
        if size == 1:
            continue
        if blocks and stride == blocks[-1][0] * blocks[-1][1]:
            blocks[-1][0] *= size
        else:
            blocks.append([size, stride])
    wanted = (size for size in reversed(shape) if size != 1)
    for count, _ in blocks:
        while count > 1:
            size = next(wanted)
            if count % size:
                return False
            count //= size
    return True


@op(view=True, name="view_dtype", gradient=None)
def view_dtype(input: Tensor, dtype: dtype_class) -> Tensor:
    """The same bytes read as another dtype.

    Raises
    ------
    RuntimeError
        If the element sizes differ and the last dimension cannot be divided or has gaps.
    """
    refuse_bits(
        input,
        "view: torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype; "
        "call resolve_conj() first",
        "view: torch.Tensor.view is not supported for tensors with negative bit set when converting to a different "
        "dtype; call resolve_neg() first",
    )
    have, want = input.dtype.itemsize, dtype.itemsize
    if have != want:
        if not input.ndim:
            raise RuntimeError(f"view: self.dim() cannot be 0 {named_views(input.dtype, dtype)}")
        if input.stride(-1) != 1:
            raise RuntimeError(f"view: self.stride(-1) must be 1 {named_views(input.dtype, dtype)}")
        if input.shape[-1] * have % want:
            raise RuntimeError(
                f"view: self.size(-1) must be divisible by {want // have} {named_views(input.dtype, dtype)}, but got "
                f"{input.shape[-1]}"
            )
        if want > have:
            refuse_uneven(input, dtype, want // have)
    return view_dtype.op(input, dtype)


def named_views(have: Any, want: Any) -> str:
    return f"to view {have.scalar_type_name} as {want.scalar_type_name} (different element sizes)"


def refuse_uneven(input: Any, dtype: Any, times: int) -> None:
    """Elements that are read as fewer and larger ones begin where larger ones may.

    Raises
    ------
    RuntimeError
        If they begin elsewhere in their storage.
    """
    if input.storage_offset() % times:
        raise RuntimeError(
            f"view: self.storage_offset() must be divisible by {times} {named_views(input.dtype, dtype)}, but got "
            f"{input.storage_offset()}"
        )
    for dim, step in enumerate(input.stride()[:-1]):
        if step % times and input.shape[dim] > 1:
            raise RuntimeError(
                f"view: self.stride({dim}) must be divisible by {times} {named_views(input.dtype, dtype)}, but got "
                f"{step}"
            )


@view_dtype.kernel
def _(xp, input, dtype):
    return input.view(dtype.numpy)


@view_dtype.vmap
def _(batch):
    if not batch.rank() and batch.args[0].dtype.itemsize != batch.args[1].itemsize:
        raise RuntimeError("view: self.dim() cannot be 0 to view a dtype as one of another size")
    return view_dtype.op(*batch.args)


@composite("view_as")
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """View a tensor with the shape of another, see `Tensor.view`.

    Parameters
    ----------
    input : Tensor
    other : Tensor
        Only its shape matters.

    Examples
    --------
    >>> weft.arange(4).view_as(weft.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return view.op(input, infer_shape("view_as", other._array.shape, input.numel()))


@composite("reshape_as")
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Change the shape to that of another tensor, see `reshape`.

    Parameters
    ----------
    input : Tensor
    other : Tensor
        Only its shape matters.

    Examples
    --------
    >>> weft.arange(4).reshape_as(weft.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return reshape(input, other._array.shape)


@composite("expand_as")
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Expand a tensor to the shape of another, see `Tensor.expand`.

    Parameters
    ----------
    input : Tensor
    other : Tensor
        Only its shape matters.

    Examples
    --------
    >>> weft.tensor([1, 2]).expand_as(weft.zeros(2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(input, other._array.shape)


@op("transpose swapdims", inplace="transpose_ swapdims_", view=True)
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions: a view.

    Parameters
    ----------
    input : Tensor
    dim0, dim1 : int

    Examples
    --------
    >>> weft.zeros(2, 3, 4).transpose(0, -1).shape
    weft.Size([4, 3, 2])
    """
    ndim = input._array.ndim
    return transpose.op(input, wrap_dim("transpose", dim0, ndim), wrap_dim("transpose", dim1, ndim))


@transpose.kernel
def _(xp, input, dim0, dim1):
    return xp.swapaxes(input, dim0, dim1) if input.ndim else input.view()


@transpose.gradient("input")
def _(grad, dim0, dim1):
    return grad.transpose(dim0, dim1)


@transpose.vmap
def _(batch):
    input, dim0, dim1 = batch.args
    return transpose.op(input, dim0 + 1, dim1 + 1) if batch.rank() else alias.op(input)


@transpose.onnx
def _(graph, input, dim0, dim1):
    order = list(range(input.ndim))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return graph.Transpose(input, perm=order)


@op("permute", view=True)
def permute(input: Tensor, *args: int | Sequence[int], dims: Sequence[int] | None = None) -> Tensor:
    """Reorder the dimensions: a view.

    Parameters
    ----------
    input : Tensor
    dims : int, ..., or a sequence of them
        Which dimension of the input comes first, second and so on; each once.

    Raises
    ------
    RuntimeError
        If a dimension is missing or repeated.

    Examples
    --------
    >>> weft.zeros(2, 3, 4).permute(2, 0, 1).shape
    weft.Size([4, 2, 3])
    """
    order = integers("permute", one_by_one("permute", args, dims, "dims"), "dims")
    if len(order) != input.ndim:
        raise RuntimeError(
            "permute: permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
            f"desired ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(order)}"
        )
    wrapped = tuple(wrap_dim("permute", dim, input.ndim) for dim in order)
    if len(set(wrapped)) < len(wrapped):
        raise RuntimeError(f"permute(): duplicate dims are not allowed; got {order}")
    return permute.op(input, wrapped)


@permute.kernel
def _(xp, input, dims):
    return xp.transpose(input, dims)


@permute.gradient("input")
def _(grad, dims):
    inverse = [0] * len(dims)
    for place, dim in enumerate(dims):
        inverse[dim] = place
    return grad.permute(inverse)


@permute.vmap
def _(batch):
    input, dims = batch.args
    return permute.op(input, (0, *[dim + 1 for dim in dims]))


@permute.onnx
def _(graph, input, dims):
    return graph.Transpose(input, perm=list(dims))


@op("expand", view=True)
def expand(
    input: Tensor, *args: int | Sequence[int], size: Sequence[int] | None = None, implicit: bool = False
) -> Tensor:
    """Repeat dimensions of size 1 without copying: a view; -1 leaves a size as it is.

    All repetitions are the same memory: clone the result before writing to it.

    Parameters
    ----------
    input : Tensor
    size : int, ..., or a sequence of them
        May begin with more dimensions than the input has.
    implicit : bool
        Has no effect.

    Raises
    ------
    RuntimeError
        If a dimension to be repeated has another size than 1.

    Examples
    --------
    >>> weft.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    sizes = integers("expand", one_by_one("expand", args, size, "size"))
    shape = input._array.shape
    lead = len(sizes) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(sizes)}: {list(sizes)}) must be greater or equal to the "
            "number of "
            f"dimensions in the tensor ({len(shape)}: {list(shape)}); squeeze() or sum() it first"
        )
    full = []
    for dim, wanted in enumerate(sizes):
        have = shape[dim - lead] if dim >= lead else None
        if wanted == -1:
            if have is None:
                raise RuntimeError(
                    f"expand: the expanded size -1 isn't allowed in a leading, non-existing dimension {dim}"
                )
            wanted = have
        elif have not in (None, 1, wanted) or wanted < 0:
            raise RuntimeError(
                f"expand: The expanded size of the tensor ({wanted}) must match the existing size ({have}) at "
                f"non-singleton dimension {dim}. Target sizes: {list(sizes)}. Tensor sizes: {list(shape)}"
            )
        full.append(wanted)
    elements("expand", full, input._key.dtype.itemsize)
    return expand.op(input, tuple(full))


@expand.kernel
def _(xp, input, size):
    taken = expanded(input, size)
    if taken is not None:
        return taken
    strides = (0,) * (len(size) - input.ndim) + tuple(
        stride if have == want else 0
        for stride, have, want in zip(input.strides, input.shape, size[len(size) - input.ndim :])
    )
    return with_strides(xp, input, size, strides)


@expand.gradient("input")
def _(grad, input_shape):
    return grad.sum_to_size(input_shape)


@expand.vmap
def _(batch):
    input, size = batch.args
    new = len(size) - batch.rank()
    whole = (slice(None),) if not new else (slice(None), *(None,) * new)
    return expand.op(basic.op(input, (*whole, ...)), (batch.size, *size))


@expand.onnx
def _(graph, input, size):
    return graph.Expand(input, graph.sizes(size)) if size else graph.Identity(input)


@composite(out=False)
def broadcast_to(input: Tensor, *args: int | Sequence[int], size: Sequence[int] | None = None) -> Tensor:
    """Broadcast a tensor to a shape: a view, as `Tensor.expand` gives it.

    Parameters
    ----------
    input : Tensor
    size : int, ..., or a sequence of them

    Examples
    --------
    >>> weft.broadcast_to(weft.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(input, *one_by_one("broadcast_to", args, size, "size"))


add_members(broadcast_to=broadcast_to)


@op("squeeze", inplace="squeeze_", view=True)
def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Remove dimensions of size 1, all or those among ``dim``: a view.

    Parameters
    ----------
    input : Tensor
    dim : int or sequence of int, optional
        Dimensions of another size stay.

    Examples
    --------
    >>> x = weft.zeros(1, 3, 1)
    >>> x.squeeze().shape, x.squeeze(0).shape, x.squeeze(1).shape
    (weft.Size([3]), weft.Size([3, 1]), weft.Size([1, 3, 1]))
    """
    shape = input._array.shape
    dims = wrap_dims("squeeze", dim, len(shape)) if shape or dim is None else ()
    if not shape and dim is not None:
        wrap_dims("squeeze", dim, 0)
    return squeeze.op(input, tuple(d for d in dims if shape[d] == 1))


@squeeze.kernel
def _(xp, input, dim):
    return xp.squeeze(input, axis=dim) if dim else input.view()


@squeeze.gradient("input")
def _(grad, input_shape):
    return grad.reshape(input_shape)


@squeeze.vmap
def _(batch):
    input, dim = batch.args
    return squeeze.op(input, tuple(each + 1 for each in dim))


@squeeze.onnx
def _(graph, input, dim):
    return graph.Squeeze(input, graph.sizes(dim)) if dim else graph.Identity(input)


@op("unsqueeze", inplace="unsqueeze_", view=True)
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Insert a dimension of size 1 in front of ``dim``: a view.

    Parameters
    ----------
    input : Tensor
    dim : int
        From ``-input.ndim - 1`` to ``input.ndim``; -1 adds the dimension at the end.

    Examples
    --------
    >>> weft.zeros(3).unsqueeze(0).shape, weft.zeros(3).unsqueeze(-1).shape
    (weft.Size([1, 3]), weft.Size([3, 1]))
    """
    return unsqueeze.op(input, wrap_dim("unsqueeze", dim, input._array.ndim + 1))


@unsqueeze.kernel
def _(xp, input, dim):
    shape = input.shape
    return input.reshape((*shape[:dim], 1, *shape[dim:]))  # a third of what expand_dims takes


@unsqueeze.gradient("input")
def _(grad, dim):
    return grad.squeeze(dim)


@unsqueeze.vmap
def _(batch):
    input, dim = batch.args
    return unsqueeze.op(input, dim + 1)


@unsqueeze.onnx
def _(graph, input, dim):
    return graph.Unsqueeze(input, graph.sizes([dim]))


@composite("flatten", fast_path=Flatten(takes="input start_dim end_dim", dtypes="any"))
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the dimensions from ``start_dim`` to ``end_dim`` into one.

    Parameters
    ----------
    input : Tensor
    start_dim, end_dim : int
        The first and the last of them; by default all dimensions become one.

    Raises
    ------
    RuntimeError
        If ``start_dim`` comes after ``end_dim``.

    Examples
    --------
    >>> weft.zeros(2, 3, 4).flatten(1).shape
    weft.Size([2, 12])
    """
    shape = input._array.shape
    start, end = wrap_dim("flatten", start_dim, len(shape)), wrap_dim("flatten", end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, 1)
    if start == end:
        return input
    return reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@composite("ravel")
def ravel(input: Tensor) -> Tensor:
    """Flatten a tensor to one dimension: a view where the strides allow it, else a copy.

    Examples
    --------
    >>> weft.tensor([[1, 2], [3, 4]]).ravel()
    tensor([1, 2, 3, 4])
    """
    return view.op(input.contiguous(), (input.numel(),))


@composite("unflatten")
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Divide one dimension into several.

    Parameters
    ----------
    input : Tensor
    dim : int
    sizes : sequence of int
        Their product is the size of the dimension; one may be -1, and follows from the others.

    Raises
    ------
    RuntimeError
        If the sizes do not multiply to that of the dimension.

    Examples
    --------
    >>> weft.zeros(2, 12).unflatten(1, (3, -1)).shape
    weft.Size([2, 3, 4])
    """
    shape = input._array.shape
    if not isinstance(dim, int):
        raise TypeError(f"unflatten(): argument 'dim' (position 1) must be int, not {type(dim).__name__}")
    dim = wrap_dim("unflatten", dim, len(shape))
    if not shape:
        raise RuntimeError(f"unflatten: Dimension specified as {dim} but tensor has no dimensions")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    wanted = integers("unflatten", (sizes,) if isinstance(sizes, (tuple, list)) else sizes)
    known = math.prod(each for each in wanted if each != -1)
    if wanted.count(-1) < 2 and (shape[dim] % known if -1 in wanted and known else known != shape[dim]) and known:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(wanted)} don't multiply up to the size of dim {dim} ({shape[dim]}) in "
            f"the input tensor of shape {list(shape)}"
        )
    inner = infer_shape("unflatten", wanted, shape[dim])
    return reshape(input, (*shape[:dim], *inner, *shape[dim + 1 :]))


def moved_dims(what: str, dims: Any, ndim: int) -> tuple[int, ...]:
    wrapped = tuple(wrap_dim("movedim", dim, ndim) for dim in (dims if isinstance(dims, (tuple, list)) else (dims,)))
    if len(set(wrapped)) < len(wrapped):
        raise RuntimeError(f"movedim: repeated dim in `{what}` ({list(dims)})")
    return wrapped


@composite("movedim moveaxis")
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Move dimensions to other places; the others keep their order.

    Parameters
    ----------
    input : Tensor
    source : int or sequence of int
        The dimensions to move.
    destination : int or sequence of int
        The place of each of them in the result.

    Raises
    ------
    RuntimeError
        If the two differ in number, or one repeats a dimension.

    Examples
    --------
    >>> weft.zeros(8, 32, 32, 3).movedim(-1, 1).shape
    weft.Size([8, 3, 32, 32])
    """

    def as_list(dims: Any) -> list[Any]:
        return list(dims) if isinstance(dims, (tuple, list)) else [dims]

    ndim = input.ndim
    sources, destinations = moved_dims("source", source, ndim), moved_dims("destination", destination, ndim)
    if len(sources) != len(destinations):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({as_list(source)} dims) should contain the same "
            f"number of dims as destination ({as_list(destination)} dims)"
        )
    if not ndim:
        return alias(input)
    order: list[Any] = [None] * ndim
    for origin, place in zip(sources, destinations):
        order[place] = origin
    rest = iter(d for d in range(ndim) if d not in sources)
    return permute.op(input, tuple(next(rest) if d is None else d for d in order))


moveaxis = movedim
swapdims = transpose


@composite("swapaxes", inplace="swapaxes_", view=True)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two dimensions: a view, see `transpose`.

    Parameters
    ----------
    input : Tensor
    axis0, axis1 : int

    Examples
    --------
    >>> weft.zeros(2, 3).swapaxes(0, 1).shape
    weft.Size([3, 2])
    """
    return transpose(input, axis0, axis1)


@composite("t", inplace="t_", view=True)
def t(input: Tensor) -> Tensor:
    """Transpose a matrix: a view; a vector stays as it is.

    Examples
    --------
    >>> weft.tensor([[1, 2], [3, 4]]).t()
    tensor([[1, 3],
            [2, 4]])
    """
    if input.ndim > 2 and input.is_sparse:
        raise RuntimeError(
            f"t: t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {input.sparse_dim()} sparse and "
            f"{input.dense_dim()} dense dimensions; use transpose()"
        )
    if input.ndim > 2:
        raise RuntimeError(
            f"t: t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D; use .mT or permute()"
        )
    return transpose.op(input, 0, 1) if input.ndim == 2 else alias(input)


@composite("adjoint")
def adjoint(input: Tensor) -> Tensor:
    """Return the conjugate transpose of a matrix or a batch of matrices: a view.

    Examples
    --------
    >>> weft.tensor([[1j, 2.0]]).adjoint()
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    if not input.ndim:
        warn_caller_once("adjoint() is deprecated on 0-D tensors. Consider using x.conj().")
        return input
    if input.ndim < 2:
        raise RuntimeError(
            f"adjoint: tensor.adjoint() is only supported on matrices or batches of matrices. Got {input.ndim}-D "
            "tensor."
        )
    return input.mT.conj()


def _reversed(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    if self._array.ndim == 2 and self._key.fast_views:
        return self.permute(1, 0)
    if not self._array.ndim:
        warn_caller_once("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
    elif self._array.ndim != 2:
        warn_caller_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
            "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
        )
    return permute.op(self, tuple(range(self.ndim))[::-1])


def _matrix_transposed(self: Tensor) -> Tensor:
    """The last two dimensions exchanged."""
    if not self.ndim:
        warn_caller_once("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.")
        return self
    if self.ndim < 2:
        raise RuntimeError(
            f"mT: tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor."
        )
    return transpose.op(self, self.ndim - 2, self.ndim - 1)


def _hermitian(self: Tensor) -> Tensor:
    """The transposed conjugate of a matrix."""
    if self.ndim not in (0, 2):
        raise RuntimeError(f"H: tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.")
    if not self.ndim:
        warn_caller_once("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
        return self.conj()
    return self.mT.conj()


add_members(T=property(_reversed), mT=property(_matrix_transposed), H=property(_hermitian), mH=property(adjoint))


@op("select", view=True)
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Select one position along a dimension, which is removed: a view.

    Parameters
    ----------
    input : Tensor, of at least one dimension
    dim : int
    index : int
        Negative ones count from the end.

    Raises
    ------
    IndexError
        If the position is outside the dimension.

    Examples
    --------
    >>> weft.select(weft.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    shape = input._array.shape
    if not shape:
        raise IndexError("select: select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim("select", dim, len(shape))
    return select.op(input, dim, check_index("select", integer("select", index, "index"), shape[dim], dim))


@select.kernel
def _(xp, input, dim, index):
    return input[(slice(None),) * dim + (index, ...)]


@select.gradient("input")
def _(grad, input_shape, dim, index):
    return view_scatter_zeros(grad, input_shape, select.op, (dim, index))


@select.vmap
def _(batch):
    input, dim, index = batch.args
    return select.op(input, dim + 1, index)


@select.onnx
def _(graph, input, dim, index):
    return graph.pick(input, dim, index)


def view_scatter_zeros(grad: Any, shape: tuple[int, ...], of: Op, args: tuple[Any, ...]) -> Any:
    """Zeros of a shape, in which a view has the values of a gradient."""
    return embed.op(grad, shape, of.name, args)


@op(name="embed", dtypes=ALL_DTYPES, linear="input")
def embed(input: Tensor, shape: tuple[int, ...], of: str, args: tuple[Any, ...]) -> Tensor:
    """Zeros of a shape, in which the view that an op of this name makes holds ``input``."""
    return embed.op(input, shape, of, args)


@embed.kernel
def _(xp, input, shape, of, args):
    whole = xp.zeros(shape, input.dtype)
    registry[of].generic(xp, whole, *args)[...] = input
    return whole


def basic_embed(input: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of a shape with a smaller tensor in the corner where all positions are 0."""
    return embed.op(input, shape, basic.op.name, (tuple(slice(n) for n in input._array.shape),))


@embed.gradient("input")
def _(grad, of, args):
    return registry[of].op(grad, *args)


@embed.vmap
def _(batch):
    input, shape, of, args = batch.args
    whole = input.new_zeros((batch.size, *shape))
    inner = Batch(registry[of], [whole, *args], [True, *[False] * len(args)], batch.level)
    rule_for(registry[of])(inner).copy_(input)
    return whole


@op(view=True, name="slice")
def slice_dim(input: Tensor, dim: int, start: int, stop: int, step: int) -> Tensor:
    """Every ``step``-th position from ``start`` to before ``stop`` along a dimension."""
    return slice_dim.op(input, dim, start, stop, step)


@slice_dim.kernel
def _(xp, input, dim, start, stop, step):
    return input[(slice(None),) * dim + (slice(start, stop, step),)]


@slice_dim.gradient("input")
def _(grad, input_shape, dim, start, stop, step):
    return view_scatter_zeros(grad, input_shape, slice_dim.op, (dim, start, stop, step))


@slice_dim.vmap
def _(batch):
    input, dim, start, stop, step = batch.args
    return slice_dim.op(input, dim + 1, start, stop, step)


@slice_dim.onnx
def _(graph, input, dim, start, stop, step):
    return graph.Identity(graph.slice(input, dim, start, stop, step))


@composite("narrow")
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """Select ``length`` positions from ``start`` on along a dimension: a view.

    Parameters
    ----------
    input : Tensor, of at least one dimension
    dim : int
    start : int or 0-d Tensor of int
        Negative ones count from the end.
    length : int

    Raises
    ------
    RuntimeError
        If the range leaves the dimension.

    Examples
    --------
    >>> weft.narrow(weft.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError("narrow: narrow() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim("narrow", dim, len(shape))
    if isinstance(start, Tensor):
        if start.ndim or start.dtype.category != 1:
            raise RuntimeError(
                f"narrow: start must be an 0-dim integral Tensor. Got {start.dtype}, of {start.ndim} dimensions"
            )
        start = int(start.item())
    start = integer("narrow", start, "start")
    size = shape[dim]
    if not -size <= start <= size:
        raise IndexError(f"narrow: start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start += size if start < 0 else 0
    if length < 0:
        raise RuntimeError(f"narrow(): length must be non-negative. Got {length}")
    if start + length > size:
        raise RuntimeError(f"narrow: start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice_dim.op(input, dim, start, start + length, 1)


@op("diagonal", view=True)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return the diagonal of two dimensions as the last dimension: a view.

    Parameters
    ----------
    input : Tensor, of at least two dimensions
    offset : int
        Positive: a diagonal above the main one (further along ``dim2``); negative: one below.
    dim1, dim2 : int
        The rows and the columns.

    Examples
    --------
    >>> x = weft.arange(9).view(3, 3)
    >>> x.diagonal(), x.diagonal(1)
    (tensor([0, 4, 8]), tensor([1, 5]))
    """
    ndim = input.ndim
    first, second = wrap_dim("diagonal", dim1, ndim), wrap_dim("diagonal", dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal: diagonal dimensions cannot be identical {dim1}, {dim2}")
    return diagonal.op(input, offset, first, second)


@diagonal.kernel
def _(xp, input, offset, dim1, dim2):
    shape, strides = input.shape, input.strides
    rows, columns = shape[dim1], shape[dim2]
    size = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    rest = [d for d in range(input.ndim) if d not in (dim1, dim2)]
    start: list[Any] = [slice(None)] * input.ndim
    if size:
        start[dim2 if offset >= 0 else dim1] = slice(abs(offset), None)
    return with_strides(
        xp,
        input[tuple(start)],
        (*[shape[d] for d in rest], size),
        (*[strides[d] for d in rest], strides[dim1] + strides[dim2]),
    )


@diagonal.gradient("input")
def _(grad, input_shape, offset, dim1, dim2):
    return view_scatter_zeros(grad, input_shape, diagonal.op, (offset, dim1, dim2))


@diagonal.vmap
def _(batch):
    input, offset, dim1, dim2 = batch.args
    return diagonal.op(input, offset, dim1 + 1, dim2 + 1)


@diagonal.onnx
def _(graph, input, offset, dim1, dim2):
    """Of the elements of all rows in one, each that stands a row and one more behind the last."""
    order = [*(each for each in range(input.ndim) if each not in (dim1, dim2)), dim1, dim2]
    turned = graph.slice(graph.Transpose(input, perm=order), -1 if offset >= 0 else -2, abs(offset), None)
    rows, columns = (graph.size(turned, dim) for dim in (-2, -1))
    sizes = [graph.shape_of(turned, 0, -2)] if input.ndim > 2 else []
    flat = graph.Reshape(turned, graph.Concat(*sizes, graph.Mul(rows, columns), axis=0), allowzero=1)
    step = graph.Add(columns, 1)
    places = graph.range(0, graph.Mul(graph.Min(rows, columns), step), step)
    return graph.Gather(flat, places, axis=input.ndim - 2)


@op("unfold", view=True)
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return sliding windows of ``size`` positions, ``step`` apart, along a dimension: a view.

    Parameters
    ----------
    input : Tensor
    dimension : int
    size, step : int
        In positions; the last window ends within the dimension.

    Returns
    -------
    Tensor
        ``dimension`` counts the windows, ``(L - size) // step + 1`` of them; the last dimension has their positions.

    Raises
    ------
    RuntimeError
        If the dimension is smaller than ``size``, or ``step`` is not positive.

    Examples
    --------
    >>> weft.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    shape = input._array.shape
    dim = wrap_dim("unfold", dimension, len(shape))
    size, step = integer("unfold", size, "size"), integer("unfold", step, "step")
    have = shape[dim] if shape else 1
    if size < 0:
        raise RuntimeError(f"unfold: size is {size} but must be >= 0")
    if size > have:
        raise RuntimeError(f"unfold: maximum size for tensor at dimension {dim} is {have} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"unfold: step is {step} but must be > 0")
    return unfold.op(input, dim, size, min(step, have + 1))  # further than the end is the same


@unfold.kernel
def _(xp, input, dim, size, step):
    if not input.ndim:
        return with_strides(xp, input, (size,), (input.itemsize,))
    shape, strides = list(input.shape), list(input.strides)
    shape[dim] = (shape[dim] - size) // step + 1
    strides[dim] *= step
    return with_strides(xp, input, (*shape, size), (*strides, input.strides[dim]))


@unfold.gradient("input")
def _(grad, input_shape, dim, size, step):
    return unfold_backward(grad, input_shape, dim, size, step)


@unfold.vmap
def _(batch):
    input, dim, size, step = batch.args
    return unfold.op(input, dim + 1, size, step) if batch.rank() else unsqueeze.op(input, 1)[:, :size]


@unfold.onnx
def _(graph, input, dim, size, step):
    if not input.ndim:
        return graph.Reshape(input, graph.sizes([1]))
    starts = graph.range(0, graph.Sub(graph.size(input, dim), size - 1), step)
    places = graph.Add(graph.Unsqueeze(starts, graph.sizes([1])), graph.range(0, size))
    order = [each for each in range(input.ndim + 1) if each != dim + 1]
    return graph.Transpose(graph.Gather(input, places, axis=dim), perm=[*order, dim + 1])


@op(name="unfold_backward", linear="input")
def unfold_backward(grad: Tensor, shape: tuple[int, ...], dim: int, size: int, step: int) -> Tensor:
    """The sum of windows at the places that they come from."""
    return unfold_backward.op(grad, shape, dim, size, step)


@unfold_backward.kernel
def _(xp, input, shape, dim, size, step):
    whole = xp.zeros(shape, xp.float32 if BY_NUMPY[input.dtype].is_half else input.dtype)  # sums of many
    if not shape:
        return (whole + (input[0] if size else 0)).astype(input.dtype)
    windows = input.shape[dim]
    for offset in range(size):  # a window holds few positions, and there are many windows
        place = (slice(None),) * dim + (slice(offset, offset + (windows - 1) * step + 1, step),)
        whole[place] += input[..., offset]
    return whole if whole.dtype == input.dtype else whole.astype(input.dtype)


@unfold_backward.gradient("input")
def _(grad, dim, size, step):
    return unfold.op(grad, dim, size, step)


@unfold_backward.vmap
def _(batch):
    input, shape, dim, size, step = batch.args
    if not shape:
        return input.sum(1)
    return unfold_backward.op(input, (batch.size, *shape), dim + 1, size, step)


@op("as_strided", inplace="as_strided_", view=True)
def as_strided(
    input: Tensor, size: int | Sequence[int], stride: int | Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """View a tensor's storage with any sizes and strides, counted in elements.

    Parameters
    ----------
    input : Tensor
    size : int or sequence of int
    stride : int or sequence of int
        How far apart in memory neighbours along each dimension are.
    storage_offset : int, optional
        Where in the storage the first element is; default: where the input's is.

    Raises
    ------
    RuntimeError
        For negative strides, or if an element would lie outside the storage.

    Examples
    --------
    >>> weft.arange(4).as_strided((2, 2), (1, 1), 1)
    tensor([[1, 2],
            [2, 3]])
    """
    size, stride = integers("as_strided", (size,)), integers("as_strided", (stride,))
    if len(size) != len(stride):
        raise RuntimeError(f"as_strided: mismatch in length of strides and shape: {list(stride)} and {list(size)}")
    if any(each < 0 for each in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    elements("as_strided", size, input.itemsize)
    offset = input.storage_offset() if storage_offset is None else storage_offset
    end = offset + sum((n - 1) * s for n, s in zip(size, stride)) + 1 if math.prod(size) else 0
    available, itemsize = input.untyped_storage().nbytes(), input.itemsize
    if offset < 0 or end * itemsize > available:
        raise RuntimeError(
            f"as_strided: setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and "
            f"itemsize {itemsize} requiring a storage size of {end * itemsize} are out of bounds for storage of size "
            f"{available}"
        )
    return as_strided.op(input, size, stride, offset - input.storage_offset(), tuple(input.stride()))


@as_strided.kernel
def _(xp, input, size, stride, first, own_stride):
    flat = whole_memory(input)
    item = input.dtype.itemsize
    begin = first * item + (address(input) - address(flat) if input.size else 0)
    count = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if math.prod(size) else 0
    start = flat[begin : begin + count * item].view(input.dtype)
    return with_strides(xp, start, size, tuple(each * item for each in stride))


@as_strided.gradient("input")
def _(grad, input_shape, size, stride, first, own_stride):
    return as_strided_backward(grad, input_shape, size, stride, first, own_stride)


@as_strided.forward
def _(input_tangent, size, stride, first, own_stride):
    own = storage_positions(input_tangent.shape, own_stride, 0)
    wanted = storage_positions(size, stride, first)
    low, high = (pick(numpy.concatenate([own, wanted, [0]])) for pick in (numpy.min, numpy.max))
    if input_tangent.stride() == own_stride and low == 0 and high == own.max(initial=0):
        return as_strided.op(input_tangent, size, stride, first, own_stride)  # its memory is laid out as the input's
    places = input_tangent.new_zeros(int(high - low) + 1)  # elements outside of the input are constants
    taken = positions_tensor(input_tangent.shape, own_stride, -int(low), places)
    places = places.index_put((taken,), input_tangent.reshape(-1))
    return places[positions_tensor(size, stride, first - int(low), places)].reshape(size)


@as_strided.vmap
def _(batch):
    input, size, stride, first, own_stride = batch.args
    apart = input.stride(0)
    reach, own = (
        sum((n - 1) * step for n, step in zip(sizes, steps))
        for sizes, steps in ((size, stride), (input.shape[1:], own_stride))
    )
    if math.prod(size) and (first < 0 or first + reach > own):
        raise RuntimeError(
            f"as_strided: vmap: result = tensor.as_strided({list(size)}, {list(stride)}, {first}) can access memory "
            f"outside of `tensor`. `result` can access some memory in range [{first}, {first + reach}], but `tensor` "
            f"can only access some memory in range [0, {own}]. This is not supported inside of vmap: the rest belongs "
            "to other examples"
        )
    return as_strided.op(input, (batch.size, *size), (apart, *stride), first, (apart, *own_stride))


def as_strided_backward(grad: Any, shape: Any, size: Any, stride: Any, first: int, strides: Any) -> Any:
    """Gradients summed at the places in memory that they come from, read back through the input's own strides.

    ``first`` is where the view begins, counted from the input's first element.
    """
    reach = max(
        first + sum((n - 1) * s for n, s in zip(size, stride)),
        sum((n - 1) * s for n, s in zip(shape, strides)),
        0,
    )
    low = min(0, first)
    taken = positions_tensor(size, stride, first - low, grad)
    places = grad.new_zeros(reach + 1 - low).index_put((taken,), grad.reshape(-1), accumulate=True)
    own = positions_tensor(shape, strides, -low, grad)
    if share_places(shape, strides):
        count = own.new_zeros(reach + 1 - low).index_put((own,), own.new_ones(()), accumulate=True)
        places = places / count.clamp(min=1).to(grad.dtype)
    return places[own].reshape(shape)


def share_places(shape: Any, strides: Any) -> bool:
    """Whether elements of a tensor with these strides may lie at one place in memory."""
    reach = 0
    for stride, size in sorted((stride, size) for size, stride in zip(shape, strides) if size > 1):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def storage_positions(size: Any, stride: Any, offset: int) -> numpy.ndarray:
    """Where the elements of a view are, counted from its storage's first."""
    grid = numpy.full((), offset, numpy.int64)
    for n, s in zip(size, stride):
        grid = grid[..., None] + numpy.arange(n) * s
    return grid.reshape(-1)


def positions_tensor(size: Any, stride: Any, offset: int, like: Any) -> Any:
    """`storage_positions` as a tensor, computed on the device of another."""
    if not waits(like):
        return from_host(storage_positions(size, stride, offset), like.device)
    grid = like.new_full((), offset, dtype=int64)
    for n, s in zip(size, stride):
        grid = grid.unsqueeze(-1) + arange(n, device=like.device) * s
    return grid.reshape(-1)


# Complex numbers and their parts


@op(view=True, name="real", vmap="elementwise")
def real_part(input: Tensor) -> Tensor:
    """The real parts of a complex tensor, sharing memory."""
    return real_part.op(input)


@real_part.kernel
def _(xp, input):
    return input.real


@real_part.gradient("input")
def _(grad):
    return complex_op.op(grad, zeros_like(grad))


@op(view=True, name="imag", vmap="elementwise")
def imaginary_part(input: Tensor) -> Tensor:
    """Return the imaginary parts of a complex tensor: a view."""
    return imaginary_part.op(input)


@imaginary_part.kernel
def _(xp, input):
    return input.imag


@imaginary_part.gradient("input")
def _(grad):
    return complex_op.op(zeros_like(grad), grad)


@op(tensors="real imag", name="complex", vmap="elementwise", linear="real imag")
def complex_op(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers from their parts."""
    return complex_op.op(real, imag)


@complex_op.kernel
def _(xp, real, imag):
    real, imag = xp.broadcast_arrays(real, imag)
    made = xp.empty(real.shape, xp.result_type(real, xp.complex64))
    made.real, made.imag = real, imag
    return made


@complex_op.gradient("real")
def _(grad):
    return real(grad)


@complex_op.gradient("imag")
def _(grad):
    return imag(grad)


@composite(out="exact")
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Make complex numbers from their real and imaginary parts.

    Parameters
    ----------
    real, imag : Tensor of float32 or float64
        Of one dtype; broadcast to one shape.

    Raises
    ------
    RuntimeError
        If the two are not of one floating-point dtype.

    Examples
    --------
    >>> weft.complex(weft.tensor([1.0, 2.0]), weft.tensor(-1.0))
    tensor([1.-1.j, 2.-1.j])
    """
    require_tensors("complex", real=real, imag=imag)
    check_parts("complex", real.dtype, imag.dtype)
    return complex_op.op(real, imag)


def check_parts(name: str, first: Any, second: Any) -> None:
    """The dtypes of which complex numbers are made: float32 or float64, both the same.

    Raises
    ------
    RuntimeError
        If they are others.
    """
    if not {first.name, second.name} <= {"float32", "float64"}:
        raise RuntimeError(
            f"{name}: Expected both inputs to be Half, Float or Double tensors but got {first.scalar_type_name} and "
            f"{second.scalar_type_name}; weft has no complex numbers of Half"
        )
    if first is not second:
        raise RuntimeError(
            f"{name}: Expected object of scalar type {first.scalar_type_name} but got scalar type "
            f"{second.scalar_type_name} for second argument"
        )


@composite(out="exact", autocast="float32")
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Make complex numbers from their absolute values and angles: ``abs * exp(i * angle)``.

    Parameters
    ----------
    abs, angle : Tensor of float32 or float64
        Of one dtype; broadcast to one shape. Angles are in radians.

    Raises
    ------
    RuntimeError
        If the two are not of one floating-point dtype.

    Examples
    --------
    >>> weft.polar(weft.tensor(2.0), weft.tensor(0.0))
    tensor(2.+0.j)
    """
    require_tensors("polar", abs=abs, angle=angle)
    check_parts("polar", abs.dtype, angle.dtype)
    return complex_op.op(abs * angle.cos(), abs * angle.sin())


@composite()
def real(input: Tensor) -> Tensor:
    """Return the real parts: a view; a real tensor is returned itself.

    Examples
    --------
    >>> weft.real(weft.tensor([1 + 2j]))
    tensor([1.])
    """
    return real_part.op(input) if input._key.is_complex else input


@composite()
def imag(input: Tensor) -> Tensor:
    """Return the imaginary parts of a complex tensor: a view.

    Raises
    ------
    RuntimeError
        For a real tensor.

    Examples
    --------
    >>> weft.imag(weft.tensor([1 + 2j]))
    tensor([2.])
    """
    if not input._key.is_complex:
        raise RuntimeError(f"imag: imag is not implemented for tensors with non-complex dtypes; got {input.dtype}")
    return imaginary_part.op(input)


def _set_real(self: Tensor, value: Tensor | Scalar) -> None:
    real(self).copy_(value)


def _set_imag(self: Tensor, value: Tensor | Scalar) -> None:
    imag(self).copy_(value)


add_members(real=property(real, _set_real), imag=property(imag, _set_imag))


@op(view=True, name="conj", vmap="elementwise")
def conjugate_view(input: Tensor) -> Tensor:
    """The complex conjugate, sharing memory."""
    return conjugate_view.op(input)


@conjugate_view.kernel
def _(xp, input):
    return Unresolved(input, CONJUGATE)


@conjugate_view.gradient("input")
def _(grad):
    return grad.conj()


@op("_neg_view", view=True, name="neg_view", vmap="elementwise")
def _neg_view(input: Tensor) -> Tensor:
    """The negative, sharing memory: what is written to it is written with the other sign."""
    if input._key.dtype.category < 1:
        raise RuntimeError("neg_view: the negative of a bool tensor is not defined; use logical_not()")
    return _neg_view.op(input)


@_neg_view.kernel
def _(xp, input):
    return Unresolved(input, NEGATIVE)


@_neg_view.gradient("input")
def _(grad):
    return -grad


@composite("conj _conj")
def conj(input: Tensor) -> Tensor:
    """Return the complex conjugate: a view; a real tensor is returned itself.

    Nothing is computed until the values are asked for: the result is a view with the conjugate bit set
    (`Tensor.is_conj`), and what is written to it is written to ``input``, conjugated.

    Examples
    --------
    >>> x = weft.tensor([1 + 2j])
    >>> x.conj()[0] = 5 - 1j
    >>> x
    tensor([5.+1.j])
    """
    return conjugate_view.op(input) if input._key.is_complex else input


@composite("conj_physical _conj_physical", "conj_physical_", out="exact")
def conj_physical(input: Tensor) -> Tensor:
    """Compute the complex conjugate in new memory; a real tensor is returned itself.

    Examples
    --------
    >>> weft.conj_physical(weft.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return input._conj_copy() if input._key.is_complex else input


_conj, _conj_physical = conj, conj_physical


@composite("resolve_conj")
def resolve_conj(input: Tensor) -> Tensor:
    """A copy with the values in memory, if the conjugate bit is set; else the tensor itself.

    Examples
    --------
    >>> x = weft.tensor([1 + 2j]).conj()
    >>> x.is_conj(), x.resolve_conj().is_conj()
    (True, False)
    """
    return input.clone() if bits_of(input) & CONJUGATE else input


@composite("resolve_neg")
def resolve_neg(input: Tensor) -> Tensor:
    """A copy with the values in memory, if the negative bit is set; else the tensor itself.

    Examples
    --------
    >>> x = weft.tensor([1 + 2j]).conj().imag
    >>> x.is_neg(), x.resolve_neg().is_neg()
    (True, False)
    """
    return input.clone() if bits_of(input) & NEGATIVE else input


@composite("is_conj")
def is_conj(input: Tensor) -> bool:
    """Whether the tensor is a view whose values are the conjugates of what is in memory.

    Examples
    --------
    >>> weft.tensor([1 + 2j]).conj().is_conj()
    True
    """
    return builtins.bool(bits_of(input) & CONJUGATE)


@composite("is_neg")
def is_neg(input: Tensor) -> bool:
    """Whether the tensor is a view whose values are the negatives of what is in memory.

    Examples
    --------
    >>> weft.tensor([1 + 2j]).conj().imag.is_neg()
    True
    """
    return builtins.bool(bits_of(input) & NEGATIVE)


@op(view=True, vmap="elementwise")
def view_as_real(input: Tensor) -> Tensor:
    """View a complex tensor as a real one with a last dimension of size 2.

    Examples
    --------
    >>> weft.view_as_real(weft.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if not input._key.is_complex:
        raise RuntimeError(f"view_as_real is only supported for complex tensors; got {input.dtype}")
    refuse_bits(
        input,
        "view_as_real: view_as_real doesn't work on unresolved conjugated tensors. Call resolve_conj() first; what is "
        "written to the copy does not reach this tensor then.",
        "",
    )
    return view_as_real.op(input)


@view_as_real.kernel
def _(xp, input):
    part = input.real.dtype
    return xp.lib.stride_tricks.as_strided(input.real, (*input.shape, 2), (*input.strides, part.itemsize))


@view_as_real.gradient("input")
def _(grad):
    return complex_op.op(grad.select(-1, 0), grad.select(-1, 1))


@op(view=True, vmap="elementwise", autocast="float32")
def view_as_complex(input: Tensor) -> Tensor:
    """View a real tensor whose last dimension has size 2 as a complex one.

    Examples
    --------
    >>> weft.view_as_complex(weft.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError(
            f"view_as_complex is only supported for half, float and double tensors, but got a tensor of {input.dtype}"
        )
    if not input.ndim:
        raise RuntimeError("view_as_complex: Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError(f"view_as_complex: Tensor must have a last dimension of size 2; got {list(input.shape)}")
    if input.stride(-1) != 1:
        raise RuntimeError(
            f"view_as_complex: Tensor must have a last dimension with stride 1; got strides {input.stride()}"
        )
    if any(n > 1 and each % 2 for each, n in zip(input.stride()[:-1], input.shape)):
        raise RuntimeError(
            "view_as_complex: Tensor must have a stride divisible by 2 for all but last dimension; got strides "
            f"{input.stride()}"
        )
    if input.storage_offset() % 2:
        raise RuntimeError(
            "view_as_complex: Tensor must have a storage_offset divisible by 2, since complex numbers lie at even "
            f"places; got {input.storage_offset()}. Call clone() first"
        )
    return view_as_complex.op(input)


@view_as_complex.kernel
def _(xp, input):
    wide = xp.result_type(input.dtype, xp.complex64)
    start = input.view(wide) if input.size else xp.empty((*input.shape[:-1], 1), wide)
    return start[..., 0]


@view_as_complex.gradient("input")
def _(grad):
    return view_as_real(grad.resolve_conj())


# x[...] with numbers, slices, None and Ellipsis: a view


@op(view=True, name="getitem")
def basic(input: Tensor, key: tuple[int | slice | EllipsisType | None, ...]) -> Tensor:
    """The view that NumPy's basic indexing gives; the key is complete and checked."""
    return basic.op(input, key)


@basic.kernel
def _(xp, input, key):
    return input[key]


@basic.gradient("input")
def _(grad, input_shape, key):
    return embed.op(grad, input_shape, basic.op.name, (key,))


@basic.vmap
def _(batch):
    input, key = batch.args
    return basic.op(input, (slice(None), *key))


@basic.onnx
def taken_nodes(graph, input, key):
    """Each entry looks at a dimension of what is there then: integers take it away, and None adds one."""
    taken = sum(each is not None and each is not Ellipsis for each in key)
    found, axis = input, 0
    for each in key:
        if each is Ellipsis:
            axis += input.ndim - taken
        elif each is None:
            found = graph.Unsqueeze(found, graph.sizes([axis]))
            axis += 1
        elif isinstance(each, slice):
            found = graph.slice(found, axis, each.start, each.stop, each.step)
            axis += 1
        else:
            found = graph.pick(found, axis, each)
    return graph.Identity(input) if found is input else found


# Several views at once


@op(view=True, name="split")
def split_sizes(input: Tensor, sizes: tuple[int, ...], dim: int) -> tuple[Tensor, ...]:
    """Pieces of the given sizes along a dimension."""
    return split_sizes.op(input, sizes, dim)


@split_sizes.kernel
def _(xp, input, sizes, dim):
    pieces, start = [], 0
    for size in sizes:
        pieces.append(input[(slice(None),) * dim + (slice(start, start + size),)])
        start += size
    return pieces


@split_sizes.gradient("input")
def _(grads, input_shape, sizes, dim):
    like = next(grad for grad in grads if grad is not None)
    full = [
        like.new_zeros((*input_shape[:dim], size, *input_shape[dim + 1 :])) if grad is None else grad
        for grad, size in zip(grads, sizes)
    ]
    return registry["core::cat"].function(full, dim)


@split_sizes.vmap
def _(batch):
    input, sizes, dim = batch.args
    return split_sizes.op(input, sizes, dim + 1)


@split_sizes.onnx
def _(graph, input, sizes, dim):
    made = graph.Split(input, graph.sizes(sizes), outputs=len(sizes), axis=dim)
    return [made] if len(sizes) == 1 else made


@composite()
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into pieces of equal size (the last may be smaller), or of the sizes given.

    Parameters
    ----------
    tensor : Tensor, of at least one dimension
    split_size_or_sections : int or sequence of int
        The size of each piece, or a list of all sizes.
    dim : int

    Returns
    -------
    tuple of Tensor
        Views of the tensor.

    Raises
    ------
    RuntimeError
        If the sizes do not add up to the dimension's, or the size is negative.

    Examples
    --------
    >>> weft.split(weft.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    >>> weft.split(weft.arange(5), [1, 4])
    (tensor([0]), tensor([1, 2, 3, 4]))
    """
    if not tensor.ndim:
        raise RuntimeError("split: split expects at least a 1-dimensional tensor")
    dim = wrap_dim("split", dim, tensor.ndim)
    total = tensor._array.shape[dim]
    if isinstance(split_size_or_sections, (tuple, list)):
        sizes = integers("split", split_size_or_sections, "split_size_or_sections")
        if sum(sizes) != total or any(each < 0 for each in sizes):
            raise RuntimeError(
                f"split: split_with_sizes expects split_sizes to sum exactly to {total} (input tensor's size at "
                "dimension "
                f"{dim}), but got split_sizes={list(sizes)}"
            )
        return split_sizes.op(tensor, sizes, dim)
    size = integer("split", split_size_or_sections, "split_size_or_sections")
    if size < 0:
        raise RuntimeError(f"split: split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and total:
        raise RuntimeError(f"split: split_size can only be 0 if dimension size is 0, but got dimension size of {total}")
    return split_sizes.op(tensor, even_sizes(total, size), dim)


def even_sizes(total: int, size: int) -> tuple[int, ...]:
    """As many pieces of a size as there are, and what is left; at least one."""
    whole, rest = divmod(total, size) if size else (0, 0)
    return (size,) * whole + ((rest,) if rest or not whole else ())


@composite("split_with_sizes")
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into pieces of the sizes given, see `split`.

    Parameters
    ----------
    input : Tensor, of at least one dimension
    split_sizes : sequence of int
        They add up to the size of the dimension.
    dim : int

    Examples
    --------
    >>> weft.split_with_sizes(weft.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    return split(input, split_sizes, dim)


@composite("split")
def _split(input: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into pieces of equal size, or of the sizes given, see `weft.split`.

    Parameters
    ----------
    input : Tensor, of at least one dimension
    split_size : int or sequence of int
    dim : int

    Examples
    --------
    >>> weft.arange(5).split(3)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    return split(input, split_size, dim)


@composite("chunk")
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into at most ``chunks`` pieces of equal size (the last may be smaller).

    There are fewer where rounding up the size of a piece leaves nothing for the last ones; `tensor_split` always
    gives the number asked for.

    Parameters
    ----------
    input : Tensor, of at least one dimension
    chunks : int
    dim : int

    Examples
    --------
    >>> [len(each) for each in weft.arange(5).chunk(2)], [len(each) for each in weft.arange(5).chunk(4)]
    ([3, 2], [2, 2, 1])
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError("chunk: chunk expects at least a 1-dimensional tensor")
    chunks = integer("chunk", chunks, "chunks")
    if chunks <= 0:
        raise RuntimeError(f"chunk: chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = wrap_dim("chunk", dim, len(shape))
    size = (shape[dim] + chunks - 1) // chunks
    return split_sizes.op(input, even_sizes(shape[dim], size) if size else (0,) * chunks, dim)


TENSOR_BYTES = 512  # of a tensor, besides its elements


def parts_asked_for(name: str, *given: Any) -> Any:
    """Where to split: PyTorch has a name for a number of sections, and one for indices.

    Raises
    ------
    TypeError
        If there is none, or more than one.
    """
    said = [each for each in given if each is not None]
    if len(said) != 1:
        raise TypeError(f"{name}(): takes sections (a number) or indices (a tuple), got {len(said)} of them")
    return said[0]


@composite("tensor_split")
def tensor_split(
    input: Tensor,
    indices_or_sections: int | Sequence[int] | Tensor | None = None,
    dim: int = 0,
    *,
    sections: int | None = None,
    indices: Sequence[int] | None = None,
    tensor_indices_or_sections: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Split a tensor into a number of pieces of nearly equal size, or before the given indices.

    Parameters
    ----------
    input : Tensor, of at least one dimension
    indices_or_sections : int, sequence of int, or Tensor of int64
        A number of pieces, or where each but the first begins.
    dim : int
    sections, indices, tensor_indices_or_sections : optional
        Other names for ``indices_or_sections``: as an int, as a sequence, as a tensor.

    Raises
    ------
    RuntimeError
        If the number of pieces is not positive.

    Examples
    --------
    >>> weft.tensor_split(weft.arange(5), 3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    >>> weft.tensor_split(weft.arange(5), (1, 3))
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    indices_or_sections = parts_asked_for(
        "tensor_split", indices_or_sections, sections, indices, tensor_indices_or_sections
    )
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim("tensor_split", dim, input.ndim)
    total = input._array.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dtype is not int64 or indices_or_sections.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional "
                f"tensor of int64, but got {indices_or_sections.dtype} of shape {list(indices_or_sections.shape)}"
            )
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, (tuple, list)):
        ends = [slice(0, total).indices(total)[1] if each is None else each for each in indices_or_sections]
        bounds = [0, *ends, total]
        return tuple(
            slice_dim.op(input, dim, *slice(start, stop).indices(total)[:2], 1)
            if index
            else slice_dim.op(input, dim, 0, slice(0, stop).indices(total)[1], 1)
            for index, (start, stop) in enumerate(itertools.pairwise(bounds))
        )
    if not isinstance(indices_or_sections, SupportsIndex):
        raise TypeError(
            "tensor_split() received an invalid combination of arguments - got (Tensor, "
            f"{type(indices_or_sections).__name__}): argument 'indices_or_sections' must be int, a sequence of ints, "
            f"or a Tensor, not {type(indices_or_sections).__name__}"
        )
    sections = integer("tensor_split", indices_or_sections, "indices_or_sections")
    if sections <= 0:
        raise RuntimeError(f"tensor_split: number of sections must be larger than 0, got {sections}")
    addressable("tensor_split", (sections,), TENSOR_BYTES)
    small, larger = divmod(total, sections)
    starts = [at * small + min(at, larger) for at in range(sections + 1)]
    return tuple(slice_dim.op(input, dim, start, stop, 1) for start, stop in itertools.pairwise(starts))


def along(name: str, dim: Any, least: int, described: str, example: str) -> Any:
    """`tensor_split` along a fixed dimension."""

    def function(
        input: Tensor,
        indices_or_sections: int | Sequence[int] | None = None,
        *,
        sections: int | None = None,
        indices: Sequence[int] | None = None,
    ) -> tuple[Tensor, ...]:
        indices_or_sections = parts_asked_for(name, indices_or_sections, sections, indices)
        if input.ndim < least:
            raise RuntimeError(
                f"{name}: {_display_name.name}.{name} requires a tensor with at least {least} dimension, but got a "
                f"tensor with {input.ndim} dimensions!"
            )
        where = dim(input.ndim)
        if isinstance(indices_or_sections, int):
            if indices_or_sections <= 0 or input.shape[where] % indices_or_sections:
                raise RuntimeError(
                    f"{name}: {_display_name.name}.{name} attempted to split along dimension {where}, but the size of "
                    f"the dimension {input.shape[where]} is not divisible by the split_size {indices_or_sections}!"
                )
        return tensor_split(input, indices_or_sections, where)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = ALONG_DOC.format(dim=described, example=example)
    return composite(name)(function)


ALONG_DOC = """Split into equal parts, or before given indices, along {dim}.

Parameters
----------
input : Tensor
indices_or_sections : int or sequence of int
    A number of parts of equal size, or where each part but the first begins.
sections, indices : optional
    Other names for ``indices_or_sections``: as an int, as a sequence.

Returns
-------
tuple of Tensor
    Views of the input.

Raises
------
RuntimeError
    If the input has no such dimension, or parts of equal size do not fill it.

Examples
--------
{example}
"""
hsplit = along(
    "hsplit",
    lambda ndim: 0 if ndim == 1 else 1,
    1,
    "the second dimension (the first, if there is one only)",
    ">>> weft.hsplit(weft.arange(4).view(2, 2), 2)\n(tensor([[0],\n        [2]]), tensor([[1],\n        [3]]))",
)
vsplit = along(
    "vsplit",
    lambda ndim: 0,
    2,
    "the first dimension",
    ">>> weft.vsplit(weft.arange(4).view(2, 2), 2)\n(tensor([[0, 1]]), tensor([[2, 3]]))",
)
dsplit = along(
    "dsplit",
    lambda ndim: 2,
    3,
    "the third dimension",
    ">>> [part.shape for part in weft.dsplit(weft.zeros(2, 3, 4), [1])]\n[weft.Size([2, 3, 1]), weft.Size([2, 3, 3])]",
)


@op("unbind", view=True)
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return the slices along a dimension, which is removed, as a tuple of views.

    Parameters
    ----------
    input : Tensor, of at least one dimension
    dim : int
        It is removed.

    Examples
    --------
    >>> weft.unbind(weft.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    if not input._array.ndim:
        raise IndexError("unbind: Dimension specified as 0 but tensor has no dimensions")
    return unbind.op(input, wrap_dim("unbind", dim, input._array.ndim))


@unbind.kernel
def _(xp, input, dim):
    return [input[(slice(None),) * dim + (index, ...)] for index in range(input.shape[dim])]


@unbind.gradient("input")
def _(grads, input_shape, dim):
    nothing = zeros_like(next(grad for grad in grads if grad is not None))
    return registry["core::stack"].function([nothing if grad is None else grad for grad in grads], dim)


@unbind.vmap
def _(batch):
    input, dim = batch.args
    return unbind.op(input, dim + 1)


@unbind.onnx
def _(graph, input, dim):
    return [graph.pick(input, dim, index) for index in range(input.shape[dim])]


# Another size of the same memory


@composite("resize_", leaf="core::resize_")
def _resize(input: Tensor, *size: int | Sequence[int], memory_format: MemoryFormat | None = None) -> Tensor:
    """Change the size of the tensor itself, in the same memory where that is enough, else in more.

    The elements that were there stay, in the order of memory; new ones are not initialised. Other tensors over the
    memory keep the old one when more is needed.

    Parameters
    ----------
    input : Tensor
    size : int, ..., or a sequence of them
    memory_format : memory_format, optional
        The order of dimensions in memory; default: contiguous.

    Raises
    ------
    RuntimeError
        For a tensor that requires grad, or a negative or immense size.

    Examples
    --------
    >>> weft.arange(6).resize_(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    shape = as_shape("resize_", size)
    if input._requires_grad:
        raise RuntimeError("resize_: cannot resize variables that require grad; resize detach(), or make a new tensor")
    if memory_format is preserve_format:
        raise RuntimeError("resize_: Unsupported memory format Preserve; name the one that is meant")
    order = order_of("resize_", memory_format, len(shape))
    if shape == input._array.shape and order is None:
        return input
    count = elements("resize_", shape, input.itemsize)
    if input._key.wrapped:  # in a function transform the memory is not its own
        if count != input.numel() or order is not None:
            raise RuntimeError("resize_: in vmap and other function transforms the number of elements must stay")
        return view_inplace("resize_", input, view, shape, {})
    if input._key.bits:
        memory = make(memory_of(input._array), key_of(input._key.dtype, input._key.device))
        input._array = Unresolved(_resize(memory, shape, memory_format=memory_format)._array, input._key.bits)
        bump(input, "resize_")
        return input
    reach = input.untyped_storage().nbytes() // input.itemsize - input.storage_offset()
    whole = as_strided.op(input, (reach,), (1,), 0, tuple(input.stride()))
    if count > whole._array.size:
        if not input.untyped_storage().resizable():
            raise RuntimeError("resize_: Trying to resize storage that is not resizable: processes share its memory")
        let_go(input)
        more = whole.new_empty(count)
        on_device_of(more._key, setitem)(more._array, slice(whole._array.size), whole._array)
        whole = more
    array = whole._array[:count]
    if order is None:
        input._array = array.reshape(shape)
    else:
        places = tuple(order.index(dim) for dim in range(len(shape)))
        input._array = array.reshape([shape[dim] for dim in order]).transpose(places)
    bump(input, "resize_")
    return input


@composite("resize_as_")
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """Change the size of the tensor itself to that of another (see `Tensor.resize_`).

    Parameters
    ----------
    input : Tensor
    the_template : Tensor
    memory_format : memory_format, optional
        The order of dimensions in memory; default: contiguous. ``weft.preserve_format`` is the template's.

    Examples
    --------
    >>> weft.arange(6).resize_as_(weft.zeros(3))
    tensor([0, 1, 2])
    """
    if memory_format is preserve_format:
        lies = suggests_channels_last(the_template._array)
        memory_format = {4: channels_last, 5: channels_last_3d}[the_template.ndim] if lies else None
    return _resize(input, the_template._array.shape, memory_format=memory_format)


# What recorded writes to views leave behind


@op(tensors="base source", dtypes=ALL_DTYPES, name="view_scatter")
def view_scatter(base: Tensor, source: Tensor, view_fn: Any, order: tuple[int, ...]) -> Tensor:
    """A copy of ``base``, with its dimensions in memory in this order, in which a view of it has other values."""
    return view_scatter.op(base, source, view_fn, order)


@view_scatter.kernel
def _(xp, base, source, view_fn, order):
    raise NotImplementedError("view_scatter: recorded by in-place writes, never computed")


view_scatter.declaration.label = "CopySlices"


@view_scatter.gradient("base")
def _(grad, view_fn, order):
    rest = in_order(grad.clone(), order)
    apply_view_fn(view_fn, rest).zero_()
    return rest


@view_scatter.gradient("source")
def _(grad, view_fn, order):
    return apply_view_fn(view_fn, in_order(grad, order))


def in_order(tensor: Any, order: tuple[int, ...]) -> Any:
    """The same elements in memory in this order of dimensions, so that the views of another tensor fit it."""
    ordered = permute(tensor, order).contiguous()
    return permute(ordered, tuple(order.index(dim) for dim in range(len(order))))


@op(tensors="input source", dtypes=ALL_DTYPES, linear="input source", name="setitem")
def set_basic(input: Tensor, source: Tensor, key: tuple[int | slice | EllipsisType | None, ...]) -> Tensor:
    """A copy of ``input`` with the values of ``source`` where NumPy's basic indexing says: a write, as a function."""
    return set_basic.op(input, source, key)


@set_basic.kernel
def _(xp, input, source, key):
    result = input.copy()
    result[key] = source
    return result


@set_basic.onnx
def _(graph, input, source, key):
    """At the places that are left when the key is applied to the numbers of all elements."""
    count = graph.count(input, range(input.ndim))
    numbers = graph.Reshape(graph.range(0, count), graph.shape_of(input), shape=input.shape)
    places = taken_nodes(graph, numbers, key)
    source = graph.Expand(graph.cast(source, input.dtype), graph.shape_of(places))
    flat = [graph.Reshape(each, graph.sizes([-1])) for each in (input, places, source)]
    return graph.Reshape(graph.ScatterElements(*flat, axis=0), graph.shape_of(input))


@set_basic.gradient("input")
def _(grad, source_shape, key):
    return set_basic.op(grad, grad.new_zeros(source_shape), key)


@set_basic.gradient("source")
def _(grad, key):
    return basic.op(grad, key)


methods_ops.basic = basic.op
methods_ops.expand, methods_ops.permute, methods_ops.squeeze = expand.op, permute.op, squeeze.op
methods_ops.select, methods_ops.slice_dim = select.op, slice_dim.op
methods_ops.transpose, methods_ops.unsqueeze, methods_ops.view = transpose.op, unsqueeze.op, view.op
