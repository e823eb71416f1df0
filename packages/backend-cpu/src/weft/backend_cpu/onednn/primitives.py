"""Primitives of oneDNN: built once for each combination of shapes, strides and attributes, kept, and run on arrays.

A `Primitive` has memory objects of its own, into which the addresses of the arrays of a call are written: that costs a
fraction of what new ones cost. So one of them runs one call at a time. A `Pool` hands out one that is idle and builds
another where none is, as when several threads run the same kernel. `pool` keeps the pools, up to a number.

    product = pool(matmul_primitive, a.shape, a.strides, b.shape, b.strides)
    if product is None: ...                  # the library cannot do it
    product.run(address(a), address(b), address(result))
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from threading import RLock, local
from typing import Any

import numpy

from weft.backend import hold_during_fork
from weft.backend_cpu import threads
from weft.backend_cpu.onednn.library import UnsupportedError, call, failure, load, make

__all__ = [
    "Arranged",
    "Pool",
    "Primitive",
    "address",
    "any_layout",
    "attributes",
    "building",
    "described",
    "implementation",
    "is_fast",
    "on_this_thread",
    "pool",
    "sizes",
    "workspace",
]

CAPACITY = 1024  # as many pools; the library itself keeps as many kernels, which are what is costly to build

# Numbers of the library's C header
CPU, IN_ORDER, USER_SCRATCHPAD, ANY_LAYOUT = 1, 1, 1, 1
DTYPES = {"bfloat16": 2, "float32": 3, "int32": 4, "int8": 5, "uint8": 6}
WIDTHS = {"bfloat16": 2, "float32": 4, "int32": 4, "int8": 1, "uint8": 1}  # their bytes
SRC, DST, WEIGHTS, BIAS, SCRATCHPAD = 1, 17, 33, 41, 80
DIFF_SRC, DIFF_DST, DIFF_WEIGHTS = 129, 145, 161
LAYOUT_OF = {SRC: 129, DIFF_SRC: 130, WEIGHTS: 131, DIFF_WEIGHTS: 132, DST: 133, DIFF_DST: 134, SCRATCHPAD: 136}
ELTWISE = {"relu": 0x20, "tanh": 0x21, "sigmoid": 0x29, "gelu_tanh": 0x2B, "gelu": 0x31}

SCALES = 4096  # added to an argument's number: what it is multiplied with
BYTE_PRODUCTS = 0x08 | 0x40  # among the bits of a processor: AVX2 and AVX-512 with sums of such products in 32 bits
AVX512 = 0x20

IMPLEMENTATION = 8  # asks for the name of a primitive's implementation
MAX_DIMS = 12


class Argument(ctypes.Structure):
    """An argument of a primitive: which one, and its memory object."""

    _fields_ = [("argument", ctypes.c_int), ("memory", ctypes.c_void_p)]


# Addresses

DATA = object.__basicsize__  # where an array object has the address of its first element: NumPy's C interface says so
pointer_at = ctypes.c_void_p.from_address


LINE = 64  # bytes of a line of the cache: vectors that lie across two take up to twice the time


def address(array: numpy.ndarray[Any, Any]) -> int:
    """The address of an array's first element, in a tenth of the time that ``array.ctypes.data`` takes."""
    return pointer_at(id(array) + DATA).value or 0


if address(probe := numpy.empty(3)[1:]) != probe.ctypes.data:  # an interpreter whose objects lie otherwise

    def address(array: numpy.ndarray[Any, Any]) -> int:
        """The address of an array's first element."""
        return array.ctypes.data


def workspace(size: int) -> tuple[numpy.ndarray[Any, Any], int]:
    """New memory, and the address in it from which ``size`` bytes begin with a line of the cache."""
    buffer = numpy.empty(size + LINE, numpy.uint8)
    return buffer, -(-address(buffer) // LINE) * LINE


# Descriptions


def sizes(values: Sequence[int]) -> Any:
    """Integers as the library takes them."""
    return (ctypes.c_int64 * MAX_DIMS)(*values)


class Handle:
    """Something that the library has made, which is destroyed with this object."""

    def __init__(self, kind: str, value: int) -> None:
        self.destroy = getattr(load(), f"dnnl_{kind}_destroy")
        self.value = value

    def __del__(self) -> None:
        self.destroy(self.value)

    @property
    def _as_parameter_(self) -> int:
        return self.value


def described(shape: Sequence[int], strides: Sequence[int], element: str = "float32") -> Handle:
    """The description of an array by its shape, its strides in bytes, and its dtype.

    Raises
    ------
    UnsupportedError
        For strides that are negative or no multiple of an element's size, or an empty array.
    """
    width = WIDTHS[element]
    if width == 1 and not sums_bytes():
        raise UnsupportedError("sums of products of 8 bits are clipped to 16 on this processor")
    if len(shape) > MAX_DIMS or 0 in shape:
        raise UnsupportedError("empty, or too many dimensions")
    steps = [0] * len(shape)
    inner = 1  # the stride that a dimension of size 1 gets: NumPy's means nothing there
    for dim in reversed(range(len(shape))):
        size, stride = shape[dim], strides[dim]
        if size > 1 and (stride <= 0 or stride % width):
            raise UnsupportedError(f"strides {tuple(strides)}")
        steps[dim] = inner if size == 1 else stride // width
        inner = steps[dim] * size
    if shape and shape[0] == 1:  # one image with its channels last is to be known as such
        steps[0] = max([1, *[size * step for size, step in zip(shape[1:], steps[1:])]])
    create = "dnnl_memory_desc_create_with_strides"
    return Handle("memory_desc", make(create, len(shape), sizes(shape), DTYPES[element], sizes(steps)))


@cache
def sums_bytes() -> bool:
    """Whether the processor sums products of 8-bit integers in 32 bits: without that the library is not exact."""
    return bool(load().dnnl_get_effective_cpu_isa() & BYTE_PRODUCTS)  # type: ignore[union-attr]


@cache
def has_avx512() -> bool:
    """Whether the library uses AVX-512."""
    return bool(load().dnnl_get_effective_cpu_isa() & AVX512)  # type: ignore[union-attr]


def any_layout(shape: Sequence[int], element: str = "float32") -> Handle:
    """The description of an array whose layout the library chooses."""
    create = "dnnl_memory_desc_create_with_tag"
    return Handle("memory_desc", make(create, len(shape), sizes(shape), DTYPES[element], ANY_LAYOUT))


def attributes(activation: str = "", scales: int = 0) -> Handle:
    """The attributes of a primitive: memory to work in comes from the caller; an activation may follow.

    ``scales`` has a bit for each dimension of the weight along which it is multiplied with numbers of its own.
    """
    found = Handle("primitive_attr", make("dnnl_primitive_attr_create"))
    call("dnnl_primitive_attr_set_scratchpad_mode", found, USER_SCRATCHPAD)
    if scales:
        call("dnnl_primitive_attr_set_scales_mask", found, WEIGHTS, scales)
    if activation:
        after = Handle("post_ops", make("dnnl_post_ops_create"))
        call("dnnl_post_ops_append_eltwise", after, ELTWISE[activation], 0.0, 0.0)
        call("dnnl_primitive_attr_set_post_ops", found, after)
    return found


def implementation(description: Handle) -> bytes:
    """The library's name of what runs a primitive: ``b"jit:avx2"``."""
    name = ctypes.c_char_p()
    call("dnnl_primitive_desc_query", description, IMPLEMENTATION, 0, ctypes.byref(name))
    return name.value or b""


def is_fast(description: Handle) -> bool:
    """Whether a primitive has more than the library's plain loops, which are slower than NumPy's by far."""
    return not implementation(description).startswith(b"ref")


def layout_of(description: Handle, argument: int) -> int | None:
    """The handle of the layout that a primitive wants for an argument."""
    found: int | None = load().dnnl_primitive_desc_query_md(description, LAYOUT_OF[argument], 0)  # type: ignore[union-attr]
    return found


def size_of(layout: int | None) -> int:
    """The bytes that a layout needs."""
    return load().dnnl_memory_desc_get_size(layout) if layout else 0  # type: ignore[union-attr]


@cache
def engine() -> int:
    """The library's handle of the processor."""
    return make("dnnl_engine_create", CPU, 0)


# Primitives


def require_size(layout: Any, size: int) -> None:
    """Refuse to write a result to an array of another size: a part would stay unwritten, or what follows be lost."""
    if size_of(layout) != size:
        raise UnsupportedError(f"a result of {size} bytes, of which {size_of(layout)} would be written")


class Primitive:
    """A primitive and memory objects for its arguments, for one call at a time.

    Parameters
    ----------
    description : Handle
        The primitive's.
    arguments : sequence of (int, Handle or int)
        The arguments in the order of the addresses that `run` takes, with the layout of each; the result comes last.
    size : int
        The bytes of the array that is allocated for the result.

    Raises
    ------
    UnsupportedError
        If the result's layout has another size.
    """

    def __init__(self, description: Handle, arguments: Sequence[tuple[int, Any]], size: int) -> None:
        require_size(arguments[-1][1], size)
        scratchpad = layout_of(description, SCRATCHPAD)
        self.scratch = size_of(scratchpad)
        if self.scratch:
            arguments = [*arguments, (SCRATCHPAD, scratchpad)]
        self.handle = Handle("primitive", make("dnnl_primitive_create", description))
        self.stream = Handle("stream", make("dnnl_stream_create", engine(), IN_ORDER))
        self.memories = [Handle("memory", make("dnnl_memory_create", each, engine(), None)) for _, each in arguments]
        packed = [Argument(number, memory.value) for (number, _), memory in zip(arguments, self.memories)]
        self.packed = (Argument * len(packed))(*packed)
        library: Any = load()
        self.execute, self.set_address = library.dnnl_primitive_execute, library.dnnl_memory_set_data_handle
        self.call = (self.handle.value, self.stream.value, len(packed), ctypes.addressof(self.packed))
        self.places = [memory.value for memory in self.memories]
        self.last = [0] * len(packed)

    def run(self, *addresses: int) -> None:
        """Run it on arrays at these addresses."""
        if self.scratch:
            _buffer, place = workspace(self.scratch)  # it lives until the work is done
            addresses = (*addresses, place)
        last = self.last
        for index, each in enumerate(addresses):
            if each != last[index]:
                self.set_address(self.places[index], each)
                last[index] = each
        status = self.execute(*self.call)
        if status:
            raise failure("dnnl_primitive_execute", status)


class Arranged:
    """A primitive between the reorders that its arguments need, where the layouts that it wants are not theirs.

    Parameters
    ----------
    description : Handle
    arguments : sequence of (int, Handle)
        The arguments in the order of the addresses that `run` takes, with the layouts that they have; the result comes
        last.
    size : int
        The bytes of the array that is allocated for the result, as for `Primitive`.
    """

    def __init__(self, description: Handle, arguments: Sequence[tuple[int, Handle]], size: int) -> None:
        require_size(arguments[-1][1], size)
        self.before: list[tuple[int, Primitive, int]] = []  # which argument, its reorder, and the bytes of its buffer
        self.after: list[tuple[int, Primitive, int]] = []
        wanted = []
        for index, (number, given) in enumerate(arguments):
            layout = layout_of(description, number) if number in LAYOUT_OF else None
            if layout is None or is_equal(layout, given.value):
                wanted.append((number, given.value))
                continue
            wanted.append((number, layout))
            if index == len(arguments) - 1:
                size = size_of(layout)
                self.after.append((index, reorder(layout, given.value), size))
            else:
                self.before.append((index, reorder(given.value, layout), size_of(layout)))
        self.inner = Primitive(description, wanted, size)

    def run(self, *addresses: int) -> None:
        """Run it on arrays at these addresses."""
        places = list(addresses)
        buffers = []
        for index, primitive, size in self.before:
            buffer, places[index] = workspace(size)
            buffers.append(buffer)
            primitive.run(addresses[index], places[index])
        for index, _, size in self.after:
            buffer, places[index] = workspace(size)
            buffers.append(buffer)
        self.inner.run(*places)
        for index, primitive, _ in self.after:
            primitive.run(places[index], addresses[index])


def is_equal(layout: int, other: int) -> bool:
    """Whether two layouts are one."""
    return bool(load().dnnl_memory_desc_equal(layout, other))  # type: ignore[union-attr]


def reorder(source: int, target: int) -> Primitive:
    """The primitive that copies from one layout to another."""
    create = "dnnl_reorder_primitive_desc_create"
    options = attributes()
    description = Handle("primitive_desc", make(create, source, engine(), target, engine(), options))
    return Primitive(description, [(SRC, source), (DST, target)], size_of(target))


building = RLock()
"""Held while the library makes something, and while the process forks: the library's own locks are held then."""
hold_during_fork(sys.modules[__name__], "building", is_inner=True)


class Pool:
    """Equal primitives (or what else a function builds), each for one call at a time."""

    __slots__ = ("idle", "make")

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make
        self.idle = [self.build()]

    def build(self) -> Any:
        """Another one."""
        with building:
            return self.make()

    def run(self, *args: Any) -> Any:
        """Run an idle one."""
        try:
            primitive = self.idle.pop()
        except IndexError:  # others are at work, in another thread or further up in this one
            primitive = self.build()
        result = primitive.run(*args)
        self.idle.append(primitive)
        return result


@lru_cache(CAPACITY)
def pool(build: Callable[..., Any], *key: Any) -> Pool | None:
    """The pool of what ``build(*key)`` makes; None where the library has no implementation."""
    try:
        return Pool(lambda: build(*key))
    except UnsupportedError:
        return None


class Prepared(local):
    """For each thread whether OpenMP knows how many threads it may use when this one calls."""

    number = 0


prepared = Prepared()


def on_this_thread() -> None:
    """Get OpenMP ready for a kernel that this thread runs: its settings are a thread's own."""
    if prepared.number != threads.changes:
        threads.limit_openmp(threads.count())
        prepared.number = threads.changes


threads.use_openmp()
threads.keep_blas_serial()

# What was built for more threads than there are now would wait for them.
threads.on_change.append(pool.cache_clear)
