"""`MetaArray`: the shape, strides and dtype of an array that has no memory.

It is no subclass of NumPy's array, so that no function in C can reach memory that is not there. What NumPy's functions
would return for it are rules of shapes: in `functions` and `ufuncs`, by the protocols ``__array_function__`` and
``__array_ufunc__``.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy
from numpy.lib.mixins import NDArrayOperatorsMixin

from weft._meta.layout import (
    Ints,
    broadcast_shape,
    contiguous,
    in_order,
    is_c_contiguous,
    is_f_contiguous,
    order_of_copy,
    reshaped,
)

GAP = 1 << 12  # between the addresses of two arrays
NO_DATA = "Cannot copy out of meta tensor; no data!"


class Memory:
    """What stands for the memory that arrays share.

    Attributes
    ----------
    start : int
        An address that no other has; nothing is there.
    nbytes : int
    """

    __slots__ = ("nbytes", "start")
    used = itertools.count(GAP)

    def __init__(self, nbytes: int) -> None:
        self.start = next(Memory.used) * GAP << 32
        self.nbytes = nbytes


class Pointer:
    """Where an array would begin, as CuPy's arrays say it."""

    __slots__ = ("ptr",)

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr


class Flags:
    """What NumPy's ``flags`` say of an array's layout."""

    __slots__ = ("c_contiguous", "f_contiguous", "owndata")
    writeable = aligned = True

    def __init__(self, c_contiguous: bool, f_contiguous: bool, owndata: bool) -> None:
        self.c_contiguous = c_contiguous
        self.f_contiguous = f_contiguous
        self.owndata = owndata

    @property
    def contiguous(self) -> bool:
        """C order."""
        return self.c_contiguous

    @property
    def forc(self) -> bool:
        """Either order."""
        return self.c_contiguous or self.f_contiguous

    @property
    def fnc(self) -> bool:
        """Fortran's order alone."""
        return self.f_contiguous and not self.c_contiguous


def no_values(what: str) -> NoReturn:
    """Refuse to read elements.

    Raises
    ------
    NotImplementedError
        Always. It is a RuntimeError, too.
    """
    raise NotImplementedError(
        f"{what}: needs the values of a tensor on the meta device, which has none; run it on a device that has memory, "
        "such as 'cpu'"
    )


class MetaArray(NDArrayOperatorsMixin):
    """An array without elements.

    Parameters
    ----------
    shape, strides : tuple of int
        In bytes; default: C order.
    dtype : numpy.dtype
    base : MetaArray, optional
        The array whose memory this is a view of; default: memory of its own.
    offset : int
        In bytes, from the start of that memory.
    """

    __slots__ = ("_memory", "_offset", "base", "dtype", "shape", "strides")
    has_values = False

    def __init__(
        self, shape: Ints, dtype: Any, strides: Ints | None = None, base: MetaArray | None = None, offset: int = 0
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.strides = contiguous(shape, dtype.itemsize) if strides is None else strides
        self.base = base
        self._memory: Memory = Memory(self.nbytes) if base is None else base._memory
        self._offset = offset

    # What it is

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        found: int = self.dtype.itemsize
        return found

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

    @property
    def flags(self) -> Flags:
        """How the elements would lie in memory."""
        geometry = self.shape, self.strides, self.itemsize
        return Flags(is_c_contiguous(*geometry), is_f_contiguous(*geometry), self.base is None)

    @property
    def data(self) -> Pointer:
        """Where the first element would be."""
        return Pointer(self._memory.start + self._offset)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[MetaArray]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[place] for place in range(self.shape[0]))

    def __repr__(self) -> str:
        return f"MetaArray(shape={self.shape}, dtype={self.dtype}, strides={self.strides})"

    # What it has not

    def item(self, *args: Any) -> NoReturn:
        """Raise RuntimeError: there are no elements."""
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")

    def tolist(self) -> NoReturn:
        """Raise NotImplementedError: there are no elements."""
        raise NotImplementedError(NO_DATA)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(NO_DATA)

    def __bool__(self) -> NoReturn:
        no_values("bool()")

    def __int__(self) -> NoReturn:
        no_values("int()")

    def __float__(self) -> NoReturn:
        no_values("float()")

    def __complex__(self) -> NoReturn:
        no_values("complex()")

    def __index__(self) -> NoReturn:
        no_values("index()")

    # Views

    def _view(self, shape: Ints, strides: Ints, offset: int = 0, dtype: Any = None) -> MetaArray:
        base = self if self.base is None else self.base
        return MetaArray(shape, self.dtype if dtype is None else dtype, strides, base, self._offset + offset)

    @property
    def T(self) -> MetaArray:
        """The dimensions in reverse."""
        return self._view(self.shape[::-1], self.strides[::-1])

    @property
    def mT(self) -> MetaArray:
        """The last two dimensions exchanged."""
        return self.swapaxes(-1, -2)

    @property
    def real(self) -> MetaArray:
        """The real parts."""
        if self.dtype.kind != "c":
            return self
        return self._view(self.shape, self.strides, 0, part_of(self.dtype))

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> MetaArray:
        """The imaginary parts."""
        if self.dtype.kind != "c":
            return MetaArray(self.shape, self.dtype)
        part = part_of(self.dtype)
        return self._view(self.shape, self.strides, part.itemsize, part)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    def swapaxes(self, axis1: int, axis2: int) -> MetaArray:
        """Two dimensions exchanged."""
        order = list(range(self.ndim))
        order[axis1], order[axis2] = order[axis2], order[axis1]
        return self.transpose(order)

    def transpose(self, *axes: Any) -> MetaArray:
        """The dimensions in another order."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        if order is None or (not axes and self.ndim):
            return self.T
        order = tuple([each + self.ndim if each < 0 else each for each in map(operator.index, order)])
        if sorted(order) != list(range(self.ndim)):
            raise ValueError(f"axes {order} don't match array of {self.ndim} dimensions")
        return self._view(tuple([self.shape[dim] for dim in order]), tuple([self.strides[dim] for dim in order]))

    def reshape(self, *shape: Any, order: str = "C") -> MetaArray:
        """Another shape: a view where the strides allow it, else a copy."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        new = inferred(tuple(map(operator.index, sizes)), self.size)
        if order == "F":
            return self.T.reshape(new[::-1]).T
        strides = reshaped(self.shape, self.strides, new, self.itemsize)
        return MetaArray(new, self.dtype) if strides is None else self._view(new, strides)

    def ravel(self, order: str = "C") -> MetaArray:
        """All elements in one dimension."""
        if order == "K" and not self.flags.c_contiguous:
            order_in_memory = order_of_copy(self.shape, self.strides, self.itemsize)
            return self.transpose(tuple(order_in_memory)).reshape(-1)
        return self.reshape(-1)

    def flatten(self, order: str = "C") -> MetaArray:
        """A copy of all elements in one dimension."""
        return MetaArray((self.size,), self.dtype)

    def squeeze(self, axis: Any = None) -> MetaArray:
        """Without dimensions of size 1."""
        if axis is None:
            dims = [dim for dim, size in enumerate(self.shape) if size == 1]
        else:
            dims = list(normal_axes(axis, self.ndim))
        if any(self.shape[dim] != 1 for dim in dims):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
        kept = [dim for dim in range(self.ndim) if dim not in dims]
        return self._view(tuple([self.shape[dim] for dim in kept]), tuple([self.strides[dim] for dim in kept]))

    def view(self, dtype: Any = None) -> MetaArray:
        """The same memory, perhaps as elements of another dtype."""
        new = self.dtype if dtype is None else numpy.dtype(dtype)
        have, want = self.itemsize, new.itemsize
        if have == want:
            return self._view(self.shape, self.strides, 0, new)
        if not self.shape:
            raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
        if self.shape[-1] != 1 and self.size and self.strides[-1] != have:
            raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
        total = self.shape[-1] * have
        if total % want:
            raise ValueError(
                "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last "
                "axis of the array."
            )
        return self._view((*self.shape[:-1], total // want), (*self.strides[:-1], want), 0, new)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MetaArray:
        """A diagonal of two dimensions, as the last one."""
        first, second = normal_axes((axis1, axis2), self.ndim)
        rows, columns = self.shape[first], self.shape[second]
        size = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
        kept = [dim for dim in range(self.ndim) if dim not in (first, second)]
        start = (offset * self.strides[second] if offset >= 0 else -offset * self.strides[first]) if size else 0
        return self._view(
            (*[self.shape[dim] for dim in kept], size),
            (*[self.strides[dim] for dim in kept], self.strides[first] + self.strides[second]),
            start,
        )

    # Elements by position

    def __getitem__(self, key: Any) -> MetaArray:
        view, arrays = indexed(self, key)
        return view if arrays is None else MetaArray(*fancy(view, arrays))

    def __setitem__(self, key: Any, value: Any) -> None:
        parts = key if isinstance(key, tuple) else (key,)
        if any(kind_of(part) == "b" for part in parts if not is_basic(part)):
            return  # how many elements a mask chooses is not known
        view, arrays = indexed(self, key)
        if arrays is None:
            shape: Any = view.shape
        else:
            shape = fancy_shape(view, arrays)
        given = shape_of(value)
        while len(given) > len(shape) and given[0] == 1:
            given = given[1:]
        if broadcast_shape(given, shape) != shape:
            raise ValueError(f"could not broadcast input array from shape {given} into shape {shape}")

    def take(self, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> MetaArray:
        """The elements at positions along a dimension."""
        shape = shape_of(indices)
        if axis is None:
            return MetaArray(shape, self.dtype)
        (axis,) = normal_axes(axis, self.ndim)
        return MetaArray((*self.shape[:axis], *shape, *self.shape[axis + 1 :]), self.dtype)

    # Copies

    def copy(self, order: str = "C") -> MetaArray:
        """A new array."""
        return like(self, order, self.dtype)

    def __copy__(self) -> MetaArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> MetaArray:
        return self.copy()

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", copy: bool = True) -> MetaArray:
        """A new array of another dtype."""
        new = numpy.dtype(dtype)
        if not copy and new == self.dtype and (order == "K" or (order == "C" and self.flags.c_contiguous)):
            return self
        return like(self, order, new)

    def fill(self, value: Any) -> None:
        """Set all elements to a number."""
        self[...] = value

    # NumPy's functions

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return protocols.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return protocols.function(function)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            return partial(protocols.method(name), self)
        raise AttributeError(f"an array of the meta device has no attribute {name!r}")


class Protocols:
    """What answers for NumPy's functions; set where the rules are."""

    ufunc: Any = None
    function: Any = None
    method: Any = None


protocols = Protocols()
METHODS = frozenset(  # functions that arrays have as methods
    (
        "all any argmax argmin argpartition argsort clip conj conjugate cumprod cumsum dot max mean min nonzero prod "
        "repeat round searchsorted sort std sum trace var"
    ).split()
)


def part_of(dtype: Any) -> Any:
    """The dtype of a complex number's parts."""
    return numpy.empty(0, dtype).real.dtype


def like(array: MetaArray, order: str, dtype: Any) -> MetaArray:
    """A new array of the shape of another; ``order``: ``"C"``, ``"F"``, ``"K"`` as the other one, ``"A"``."""
    if order == "K":
        return laid_out(array.shape, dtype, order_of_copy(array.shape, array.strides, array.itemsize))
    if order == "F" or (order == "A" and array.flags.fnc):
        return laid_out(array.shape, dtype, range(array.ndim - 1, -1, -1))
    return MetaArray(array.shape, dtype)


def laid_out(shape: Ints, dtype: Any, order: Sequence[int]) -> MetaArray:
    """A new dense array with its dimensions in this order in memory, the outermost first."""
    made = MetaArray(shape, dtype)
    made.strides = in_order(shape, order, dtype.itemsize)
    if made.strides == contiguous(shape, dtype.itemsize):
        return made
    return MetaArray((made.size,), dtype)._view(shape, made.strides)


def inferred(shape: Ints, size: int) -> Ints:
    """A shape with the size that is left as -1."""
    if -1 in shape:
        known = math.prod([each for each in shape if each != -1])
        if shape.count(-1) > 1 or not known or size % known:
            raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
        shape = tuple([size // known if each == -1 else each for each in shape])
    if math.prod(shape) != size or min(shape, default=0) < 0:
        raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
    return shape


def normal_axes(axes: Any, ndim: int) -> Ints:
    """Dimensions counted from the front.

    Raises
    ------
    numpy.exceptions.AxisError
        If one is out of range.
    ValueError
        If one is named twice.
    """
    given = axes if isinstance(axes, (tuple, list)) else (axes,)
    found = []
    for each in map(operator.index, given):
        if not -ndim <= each < ndim:
            raise numpy.exceptions.AxisError(each, ndim)
        found.append(each + ndim if each < 0 else each)
    if len(set(found)) < len(found):
        raise ValueError("repeated axis")
    return tuple(found)


def shape_of(value: Any) -> Ints:
    """The shape of an array, a number, or nested sequences."""
    if isinstance(value, (int, float, complex)):
        return ()
    shape = getattr(value, "shape", None)
    if shape is None:
        if isinstance(value, (list, tuple)):
            return (len(value), *(shape_of(value[0]) if value else ()))
        return numpy.shape(value)
    return tuple(shape)


# Indexing ------------------------------------------------------------------------------------------------------------


def indexed(array: MetaArray, key: Any) -> tuple[MetaArray, list[Any] | None]:
    """The view that the basic part of an index takes, and for each of its dimensions an index array or None.

    The list is None if there is no index array.
    """
    parts = list(key) if isinstance(key, tuple) else [key]
    consumed = sum(consumed_by(part) for part in parts)
    if consumed > array.ndim:
        raise IndexError(f"too many indices for array: array is {array.ndim}-dimensional, but {consumed} were indexed")
    if not any(part is Ellipsis for part in parts):
        parts.append(Ellipsis)
    shape: list[int] = []
    strides: list[int] = []
    arrays: list[Any] = []
    offset = dim = 0
    has_arrays = any(not is_basic(part) for part in parts)
    for part in parts:
        if part is Ellipsis:
            count = array.ndim - consumed
            shape += array.shape[dim : dim + count]
            strides += array.strides[dim : dim + count]
            arrays += [None] * count
            dim += count
        elif part is None:
            shape.append(1)
            strides.append(0)
            arrays.append(None)
        elif isinstance(part, slice):
            start, stop, step = part.indices(array.shape[dim])
            size = len(range(start, stop, step))
            shape.append(size)
            strides.append(array.strides[dim] * step)
            arrays.append(None)
            offset += start * array.strides[dim] if size else 0
            dim += 1
        elif is_basic(part) and not has_arrays:  # beside index arrays a number is one of them
            place = checked_place(operator.index(part), array.shape[dim], dim)
            offset += place * array.strides[dim]
            dim += 1
        else:
            for each in index_arrays(part):
                shape.append(array.shape[dim])
                strides.append(array.strides[dim])
                arrays.append(each)
                dim += 1
    view = array._view(tuple(shape), tuple(strides), offset)
    return view, arrays if has_arrays else None


def is_basic(part: Any) -> bool:
    """Whether a part of an index gives a view: a number, a slice, None, Ellipsis."""
    if part is None or part is Ellipsis or isinstance(part, (slice, int, numpy.integer)):
        return not isinstance(part, (bool, numpy.bool_))
    return False


def kind_of(part: Any) -> str:
    """The kind of the dtype of an index array."""
    dtype = getattr(part, "dtype", None)
    return str(numpy.asarray(part).dtype.kind if dtype is None else dtype.kind)


def consumed_by(part: Any) -> int:
    """How many dimensions of the array a part of an index is for."""
    if part is None or part is Ellipsis:
        return 0
    if is_basic(part):
        return 1
    return len(shape_of(part)) if kind_of(part) == "b" else 1


def checked_place(place: int, size: int, dim: int) -> int:
    """A position counted from the front."""
    if not -size <= place < size:
        raise IndexError(f"index {place} is out of bounds for axis {dim} with size {size}")
    return place + size if place < 0 else place


def index_arrays(part: Any) -> list[Any]:
    """The index arrays of a part: a mask is one for each of its dimensions."""
    if kind_of(part) != "b":
        return [part if isinstance(part, MetaArray) else numpy.asarray(part)]
    if isinstance(part, MetaArray):
        no_values("indexing with a mask (the number of elements that it chooses)")
    return list(numpy.nonzero(part))


def fancy_shape(view: MetaArray, arrays: list[Any]) -> Ints:
    """The shape of what index arrays take from a view."""
    places = [dim for dim, each in enumerate(arrays) if each is not None]
    joint = broadcast_shape(*[shape_of(arrays[dim]) for dim in places])
    rest = [size for size, each in zip(view.shape, arrays) if each is None]
    together = places == list(range(places[0], places[0] + len(places)))
    first = places[0] if together else 0
    return (*rest[:first], *joint, *rest[first:])


def fancy(view: MetaArray, arrays: list[Any]) -> tuple[Ints, Any]:
    """The shape and dtype of what index arrays take from a view."""
    return fancy_shape(view, arrays), view.dtype
