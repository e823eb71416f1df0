"""The methods of tensors that give views, in few frames.

Programs call them all the time, and their kernels do next to nothing, so that the way through a declaration (arguments
of every form, checks by name, every kind of tensor) would be most of what they cost. A method here takes the forms that
are used most, on plain tensors with nobody watching, and leaves all else, and whatever goes wrong, to the function that
`weft.ops` declares: that one explains, too.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Optional
from weakref import ref

from weft._engine.arrays import FEW, new_array
from weft._engine.dispatch import Op, bump, record_one, remember_view
from weft._engine.dispatch_keys import fitting_number
from weft._engine.tensor import TensorBase, Version, blank, local, state

try:
    from mypy_extensions import mypyc_attr
except ImportError:

    def mypyc_attr(**options: Any) -> Any:  # type: ignore[misc]
        return lambda decorated: decorated


# The declared functions by the names of their methods; set when they are ops.
declared_methods: Final[dict[str, Any]] = dict.fromkeys(
    (
        "__getitem__",
        "__setitem__",
        "detach",
        "expand",
        "flatten",
        "item",
        "narrow",
        "permute",
        "reshape",
        "select",
        "size",
        "squeeze",
        "t",
        "transpose",
        "unsqueeze",
        "view",
    )
)


everything: Final = (slice(None),) * 64  # for each dimension that an array may have


class Ops:
    """The ops that views are recorded as; set when they are ops."""

    def __init__(self) -> None:
        self.basic: Any = None  # basic indexing
        self.expand: Any = None
        self.permute: Any = None
        self.select: Any = None
        self.slice_dim: Any = None
        self.squeeze: Any = None
        self.transpose: Any = None
        self.unsqueeze: Any = None
        self.view: Any = None


ops: Final = Ops()


@mypyc_attr(allow_interpreted_subclasses=True)
class TensorMethods(TensorBase):
    """Methods that `weft.Tensor` inherits."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        """Elements by position: numbers, slices, None, Ellipsis, and tensors or lists of numbers or bool.

        Raises
        ------
        IndexError
            For a position out of range, too many indices, or an index of another type.
        """
        if self._key.fast_views:
            key = basic_key(index)
            if key is not None:
                array = self._array
                try:
                    taken = array[key]
                except IndexError:
                    return declared_methods["__getitem__"](self, index)
                return make_view(ops.basic, self, taken, (key,))
        return declared_methods["__getitem__"](self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write elements by position: a number, or a tensor that can be broadcast.

        Raises
        ------
        IndexError
            For a position out of range, too many indices, or an index of another type.
        """
        if not self._key.fast_views or self._requires_grad or not written(self, index, value):
            declared_methods["__setitem__"](self, index, value)

    def __delitem__(self, index: Any) -> None:
        """Raise TypeError: a tensor's shape stays as it is."""
        raise TypeError(
            f"__delitem__: a tensor does not support deleting items (index {index!r}); select those to keep"
        )

    def view(self, *args: Any, size: Any = None, dtype: Any = None) -> Any:
        """The same elements under another shape, sharing memory. With a dtype: the same bytes as another dtype.

        Raises
        ------
        RuntimeError
            If the number of elements differs, or the strides do not allow it without a copy: use `reshape` then.
        """
        if size is None and dtype is None and self._key.fast_views:
            out = reshaped(self, args)
            if out is not None:
                return out
        return declared_methods["view"](self, *args, size=size, dtype=dtype)

    def reshape(self, *args: Any, shape: Any = None) -> Any:
        """The same elements under another shape: a view where the strides allow it, else a copy."""
        if shape is None and self._key.fast_views:
            out = reshaped(self, args)
            if out is not None:
                return out
        return declared_methods["reshape"](self, *args, shape=shape)

    def flatten(self, start_dim: Any = 0, end_dim: Any = -1) -> Any:
        """The dimensions from ``start_dim`` to ``end_dim`` as one.

        Raises
        ------
        RuntimeError
            If ``start_dim`` comes after ``end_dim``.
        """
        if self._key.fast_views:
            out = flattened(self, start_dim, end_dim)
            if out is not None:
                return out
        return declared_methods["flatten"](self, start_dim, end_dim)

    def transpose(self, dim0: Any, dim1: Any) -> Any:
        """The view with two dimensions exchanged."""
        if type(dim0) is int and type(dim1) is int and self._key.fast_views:
            array = self._array
            ndim: int = array.ndim
            first: int = dim0
            second: int = dim1
            if first < 0:
                first += ndim
            if second < 0:
                second += ndim
            if 0 <= first < ndim and 0 <= second < ndim:
                return make_view(ops.transpose, self, array.swapaxes(first, second), (first, second))
        return declared_methods["transpose"](self, dim0, dim1)

    def t(self) -> Any:
        """The transpose of a matrix; a vector as it is."""
        if self._key.fast_views:
            array = self._array
            if array.ndim == 2:
                return make_view(ops.transpose, self, array.T, (0, 1))
        return declared_methods["t"](self)

    def permute(self, *args: Any, dims: Any = None) -> Any:
        """The view with the dimensions in another order."""
        if dims is None and self._key.fast_views:
            order = whole_numbers(args, 0)
            if order is not None:
                try:
                    taken = self._array.transpose(order)
                except ValueError:
                    return declared_methods["permute"](self, *args)
                return make_view(ops.permute, self, taken, (order,))
        return declared_methods["permute"](self, *args, dims=dims)

    def expand(self, *args: Any, size: Any = None, implicit: bool = False) -> Any:
        """The view in which dimensions of size 1 are repeated, without memory for it; -1 keeps a size."""
        if size is None and self._key.fast_views:
            sizes = args if len(args) != 1 else one_by_one(args)
            taken = expanded(self._array, sizes)
            if taken is not None:
                return make_view(ops.expand, self, taken, (sizes,))
        return declared_methods["expand"](self, *args, size=size, implicit=implicit)

    def select(self, dim: Any, index: Any) -> Any:
        """One position along a dimension, which is removed.

        Raises
        ------
        IndexError
            For a dimension or a position that there is not.
        """
        if type(dim) is int and type(index) is int and self._key.fast_views:
            array = self._array
            shape: tuple[Any, ...] = array.shape
            place: int = dim
            if place < 0:
                place += len(shape)
            if 0 <= place < len(shape):
                size: int = shape[place]
                at: int = index
                if at < 0:
                    at += size
                if 0 <= at < size:
                    key = (at, ...) if place == 0 else (*everything[:place], at, ...)
                    return make_view(ops.select, self, array[key], (place, at))
        return declared_methods["select"](self, dim, index)

    def narrow(self, dim: Any, start: Any, length: Any) -> Any:
        """``length`` positions from ``start`` on, along a dimension.

        Raises
        ------
        RuntimeError
            If the range leaves the dimension.
        """
        if type(dim) is int and type(start) is int and type(length) is int and self._key.fast_views:
            array = self._array
            shape: tuple[Any, ...] = array.shape
            place: int = dim
            if place < 0:
                place += len(shape)
            if 0 <= place < len(shape):
                size: int = shape[place]
                first: int = start
                count: int = length
                end = first + count
                if first >= 0 and count >= 0 and end <= size:
                    part = slice(first, end, 1)
                    key = (part,) if place == 0 else (*everything[:place], part)
                    return make_view(ops.slice_dim, self, array[key], (place, first, end, 1))
        return declared_methods["narrow"](self, dim, start, length)

    def squeeze(self, dim: Any = None) -> Any:
        """The view without dimensions of size 1: all of them, or those that are named."""
        if type(dim) is int and self._key.fast_views:
            array = self._array
            shape: tuple[Any, ...] = array.shape
            place: int = dim
            if place < 0:
                place += len(shape)
            if 0 <= place < len(shape) and shape[place] == 1:
                sizes = shape[1:] if place == 0 else (*shape[:place], *shape[place + 1 :])
                taken = array.reshape(sizes)
                return make_view(ops.squeeze, self, taken, ((place,),))
        return declared_methods["squeeze"](self, dim)

    def unsqueeze(self, dim: Any) -> Any:
        """The view with a dimension of size 1 more."""
        if type(dim) is int and self._key.fast_views:
            array = self._array
            shape: tuple[Any, ...] = array.shape
            place: int = dim
            if place < 0:
                place += len(shape) + 1
            if 0 <= place <= len(shape):
                sizes = (1, *shape) if place == 0 else (*shape[:place], 1, *shape[place:])
                try:
                    taken = array.reshape(sizes)
                except ValueError:
                    return declared_methods["unsqueeze"](self, dim)
                return make_view(ops.unsqueeze, self, taken, (place,))
        return declared_methods["unsqueeze"](self, dim)

    def size(self, dim: Any = None) -> Any:
        """The shape, or the size of one dimension."""
        if type(dim) is int:
            shape: tuple[Any, ...] = self._array.shape
            if self._key.fast_views and -len(shape) <= dim < len(shape):
                return shape[dim]
        return declared_methods["size"](self, dim)

    def item(self) -> Any:
        """Return the only element as a Python number.

        Raises
        ------
        RuntimeError
            If there is not exactly one.

        Examples
        --------
        >>> weft.tensor([2.5]).item()
        2.5
        """
        if self._key.fast_views and self._key.has_items:
            array = self._array
            if array.size == 1:
                return array.item()
        return declared_methods["item"](self)

    def detach(self) -> Any:
        """The same memory, without history: a new leaf that does not require grad."""
        if self._key.fast_views:
            return detached_alias(self, self._array)
        return declared_methods["detach"](self)


def basic_key(index: Any) -> Optional[tuple[Any, ...]]:
    """An index of numbers, slices, None and Ellipsis, so that it gives an array in any case; None for another one."""
    if type(index) is int:
        return (index, ...)
    if type(index) is slice:
        return (index, ...) if is_plain_slice(index) else None
    if type(index) is not tuple:
        return None
    complete = False
    for part in index:
        if type(part) is int or part is None or (type(part) is slice and is_plain_slice(part)):
            continue
        if part is not Ellipsis:
            return None
        complete = True
    return index if complete else (*index, ...)


def written(target: TensorBase, index: Any, value: Any) -> bool:
    """Write a number or a tensor of the same dtype to a few elements, if nothing has to be recorded or checked."""
    dispatch_key = target._key
    counter = target._version_counter
    if target._extra is not None or (counter is not None and counter.inference) or not dispatch_key.is_real_float:
        return False
    operand: Any
    if isinstance(value, TensorBase):
        source: TensorBase = value
        if source._key is not dispatch_key or source._requires_grad:
            return False
        if counter is not None and source._version_counter is counter:
            return False  # of the same memory
        operand = source._array
    else:
        operand = fitting_number(value, dispatch_key)
    key = basic_key(index)
    array = target._array
    if operand is None or key is None or type(array) is not new_array or 0 in array.strides:
        return False
    try:
        place = array[key]
        if place.size > FEW:
            return False
        place[...] = operand
    except (IndexError, ValueError):  # before anything is written
        return False
    bump(target, "index_put_")
    return True


def is_plain_slice(index: Any) -> bool:
    """Whether a slice has numbers or nothing as its ends, and goes forward."""
    step = index.step
    if step is not None and (type(step) is not int or step <= 0):
        return False
    start = index.start
    stop = index.stop
    return (start is None or type(start) is int) and (stop is None or type(stop) is int)


def one_by_one(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sizes of a call that has one argument: that one, or what is in it."""
    first = args[0]
    return tuple(first) if isinstance(first, (tuple, list)) else args


def whole_numbers(args: tuple[Any, ...], least: int) -> Optional[tuple[int, ...]]:
    """Numbers given one by one or as one sequence, if all are plain ints, and none is too small."""
    if len(args) == 1:
        args = one_by_one(args)
    for each in args:
        if type(each) is not int or each < least:
            return None
    return args


def reshaped(source: TensorBase, args: tuple[Any, ...]) -> Any:
    """A view with another shape, where the strides allow it; else None."""
    if len(args) == 0:
        return None
    sizes = args if len(args) != 1 or type(args[0]) is int else one_by_one(args)
    array = source._array
    try:
        taken = array.reshape(sizes)
    except (TypeError, ValueError):  # sizes that are no whole numbers, too
        return None
    shape = taken.shape
    if shape != sizes and -1 not in sizes:  # NumPy takes any negative size for -1
        return None
    base = taken.base
    if base is not array and (base is None or base is not array.base):  # a copy, or a library that does not say
        return None
    return make_view(ops.view, source, taken, (shape,))


def flattened(source: TensorBase, start_dim: object, end_dim: object) -> Any:
    """A view whose dimensions from one to another are one, where the strides allow it; else None."""
    if type(start_dim) is not int or type(end_dim) is not int:
        return None
    array = source._array
    shape: tuple[Any, ...] = array.shape
    ndim = len(shape)
    first: int = start_dim
    last: int = end_dim
    if first < 0:
        first += ndim
    if last < 0:
        last += ndim
    if not 0 <= first < last < ndim:
        return None
    if last - first == ndim - 1:
        return reshaped(source, (array.size,))
    return reshaped(source, (*shape[:first], -1, *shape[last + 1 :]))


def expanded(array: Any, sizes: tuple[int, ...]) -> Any:
    """A contiguous array with dimensions of size 1 repeated; None for another array, or sizes that do not fit it."""
    if type(array) is not new_array:
        return None
    try:
        return new_array(sizes, array.dtype, array, 0, repeating(array.shape, array.strides, sizes))
    except (TypeError, ValueError):  # also sizes that NumPy takes for none
        return None


@lru_cache(256)  # finding them takes several times as long as finding them again
def repeating(shape: tuple[int, ...], strides: tuple[int, ...], sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """The strides by which an array has other sizes, its dimensions of size 1 being repeated."""
    lead = len(sizes) - len(shape)
    if lead < 0:
        raise ValueError("fewer sizes than dimensions")
    steps = [0] * lead
    for have, wanted, stride in zip(shape, sizes[lead:], strides):
        if wanted != have and have != 1:
            raise ValueError("a size that is not 1 is not repeated")
        steps.append(stride if wanted == have else 0)
    for each in sizes:
        if type(each) is not int:  # the memory that a tensor is in must not be kept for it
            raise TypeError("sizes are whole numbers")
    return tuple(steps)


def detached_alias(source: TensorBase, array: Any) -> TensorBase:
    """A tensor without history in the memory of another."""
    counter = source._version_counter
    if counter is None:
        counter = Version(0)
        source._version_counter = counter
    out: TensorBase = blank(state.tensor_class)
    out._array = array
    out._key = source._key
    out._requires_grad = False
    out._node = None
    out._grad = None
    out._version_counter = counter
    out._extra = None
    out._view_base = None
    return out


def make_view(op: Op, source: TensorBase, array: Any, args: tuple[Any, ...]) -> TensorBase:
    """The tensor of an array that an op made of a tensor's memory, known as a view, and recorded.

    `args` are those of the op after the tensor. It has the lines of `link_view`, whose call would be a part of a view's
    cost that is felt.
    """
    counter = source._version_counter
    if counter is None:
        counter = Version(0)
        source._version_counter = counter
    base = source._view_base
    parent: Any = None
    if base is None:
        base = source
    else:
        parent = source._view_fn
    out: TensorBase = blank(state.tensor_class)  # as `detached_alias`, whose call is a tenth of a view's cost
    out._array = array
    out._key = source._key
    out._requires_grad = False
    out._node = None
    out._grad = None
    out._version_counter = counter
    out._extra = None
    out._view_base = base
    out._view_fn = (parent, op, args, -1, not state.unrecorded or local.grad_enabled)
    out._view_version = counter.value
    if source._requires_grad:
        record_one(op, out, source, args)
    if not base._requires_grad:
        views = counter.views
        if views is None or views[0]() is not None:
            remember_view(counter, out)
        else:
            views[0] = ref(out)
    elif out._key.is_differentiable:  # also where nothing is recorded: it is memory of what requires grad
        out._requires_grad = True
    return out
