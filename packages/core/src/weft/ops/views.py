"""Ops whose result shares the memory of their input, with another shape."""

from __future__ import annotations

import math
from typing import Any

from weft._engine.dispatch import View
from weft.ops._declare import composite, op
from weft.ops._geometry import integers, wrap_dim, wrap_dims


@op("detach", view=True)
def detach(input):
    """The same memory, without history: a new leaf that does not require grad."""
    return detach.op(input)


@detach.kernel
def _(xp, input):
    return input.view()


@op("alias", view=True)
def view_as(input):
    """The same tensor as another view."""
    return view_as.op(input)


@op("view", view=True)
def view(input, *shape):
    """The same elements under another shape, sharing memory.

    Raises
    ------
    RuntimeError
        If the number of elements differs, or the strides do not allow it without a copy: use `reshape` then.
    """
    return view.op(input, infer_shape("view", integers("view", shape), input.numel()))


@view.kernel
def _(xp, input, shape):
    result = input.view()
    try:
        result.shape = shape
    except AttributeError as error:
        raise RuntimeError(
            f"view: view size is not compatible with input tensor's size {list(input.shape)} and stride (at least one "
            f"dimension spans across two contiguous subspaces) for shape {list(shape)}. Use .reshape(...) instead."
        ) from error
    return result


@view.gradient("input")
def _(grad, input_shape):
    return grad.reshape(input_shape)


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
                f"{name}: cannot reshape tensor of {count} elements into shape {list(shape)} because the unspecified "
                "dimension size -1 can be any value and is ambiguous"
            )
        if count % known == 0:
            return tuple(count // known if size == -1 else size for size in shape)
    elif known == count:
        return shape
    raise RuntimeError(f"{name}: shape '{list(shape)}' is invalid for input of size {count}")


@composite("reshape")
def reshape(input, *shape):
    """The same elements under another shape: a view where the strides allow it, else a copy."""
    shape = infer_shape("reshape", integers("reshape", shape), input.numel())
    if can_view(input._array, shape):
        return view.op(input, shape)
    return view.op(input.clone(), shape)


def can_view(array: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array can have another shape without a copy."""
    if array.flags.c_contiguous:
        return True
    trial = array.view()
    try:
        trial.shape = shape
    except AttributeError:
        return False
    return True


@op("transpose swapaxes swapdims", view=True)
def transpose(input, dim0, dim1):
    """Two dimensions exchanged, sharing memory."""
    ndim = input._array.ndim
    return transpose.op(input, wrap_dim("transpose", dim0, ndim), wrap_dim("transpose", dim1, ndim))


@transpose.kernel
def _(xp, input, dim0, dim1):
    return xp.swapaxes(input, dim0, dim1) if input.ndim else input.view()


@transpose.gradient("input")
def _(grad, dim0, dim1):
    return grad.transpose(dim0, dim1)


@op("permute", view=True)
def permute(input, *dims):
    """The dimensions in another order, sharing memory."""
    order = integers("permute", dims, "dims")
    if len(order) != input.ndim:
        raise RuntimeError(
            f"permute: permute(sparse_coo): number of dimensions in the tensor input ({input.ndim}) does not match the "
            f"length of the desired ordering of dimensions ({len(order)})"
        )
    return permute.op(input, wrap_dims("permute", order, input.ndim))


@permute.kernel
def _(xp, input, dims):
    return xp.transpose(input, dims)


@permute.gradient("input")
def _(grad, dims):
    inverse = [0] * len(dims)
    for place, dim in enumerate(dims):
        inverse[dim] = place
    return grad.permute(inverse)


@op("expand", view=True)
def expand(input, *size):
    """Dimensions of size 1 repeated without memory; -1 leaves a size as it is."""
    sizes = integers("expand", size)
    shape = input._array.shape
    lead = len(sizes) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(sizes)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({len(shape)})"
        )
    full = []
    for dim, wanted in enumerate(sizes):
        have = shape[dim - lead] if dim >= lead else None
        if wanted == -1:
            if have is None:
                raise RuntimeError(f"expand: the expanded size -1 isn't allowed in a leading, non-existing dimension {dim}")
            wanted = have
        elif have not in (None, 1, wanted) or wanted < 0:
            raise RuntimeError(
                f"expand: The expanded size of the tensor ({wanted}) must match the existing size ({have}) at "
                f"non-singleton dimension {dim}. Target sizes: {list(sizes)}. Tensor sizes: {list(shape)}"
            )
        full.append(wanted)
    return expand.op(input, tuple(full))


@expand.kernel
def _(xp, input, size):
    strides = (0,) * (len(size) - input.ndim) + tuple(
        stride if have == want else 0 for stride, have, want in zip(input.strides, input.shape, size[len(size) - input.ndim :])
    )
    return xp.lib.stride_tricks.as_strided(input, size, strides)


@expand.gradient("input")
def _(grad, input_shape):
    return grad.sum_to_size(input_shape)


@op(tensors="base source")
def view_scatter(base, source, view):
    """A copy of ``base`` in which a view of it has the values of ``source``."""
    return view_scatter.op(base, source, view)


@view_scatter.kernel
def _(xp, base, source, view):
    raise NotImplementedError("view_scatter: recorded by in-place writes, never computed")


@view_scatter.gradient("base")
def _(grad, view: View):
    rest = grad.clone()
    view.replay(rest).zero_()
    return rest


@view_scatter.gradient("source")
def _(grad, view: View):
    return view.replay(grad)
