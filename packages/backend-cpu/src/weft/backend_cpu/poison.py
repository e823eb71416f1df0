"""New memory filled with nan, under ``WEFT_POISON=1``: what a kernel leaves unwritten is seen in its result.

Memory that is freed and given out again mostly holds the right numbers of the call before, so that a kernel which skips
a row may pass every test. Here all memory that NumPy allocates, uninitialized, is filled first: results of ufuncs,
``numpy.empty`` and temporaries alike, by way of NumPy's allocation handler (NEP 49), and so is what compiled loops
allocate. No kernel knows of it, and nothing of this is imported where the variable is not set.

NumPy has a handler for each context (`contextvars`): that of the thread which loads the backend, of weft's kernels, and
of each thread that `fill_new_memory` is called in.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy

from weft.backend import kernel_contexts

__all__ = ["BITS", "fill_compiled_memory", "fill_new_memory"]

BITS = 0x7FFD
"""Repeated in pairs of bytes, it is nan in every dtype of 16 to 64 bits, and an odd number in integers."""

Pointer, Size = ctypes.c_void_p, ctypes.c_size_t
Malloc = ctypes.CFUNCTYPE(Pointer, Pointer, Size)


class Handler(ctypes.Structure):
    """``PyDataMem_Handler`` of NumPy's C interface."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        *((name, Pointer) for name in ("ctx", "malloc", "calloc", "realloc", "free")),
    ]


SET_HANDLER, DEFAULT_HANDLER = 304, 306  # places in NumPy's table of what its C interface has

CHUNK = 1 << 20
PATTERN = BITS.to_bytes(2, "little") * (CHUNK // 2)


def for_ever(thing: Any) -> Any:
    """Keep an object also when the interpreter ends: memory is asked for, and freed, after modules are gone."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing


def allocator() -> Any:
    """NumPy's handler, whose new memory is filled."""
    python, library = ctypes.pythonapi, ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = Pointer, [Size]
    python.PyCapsule_GetPointer.restype = Pointer
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

    def malloc(
        ctx: Any, size: int, allocate: Any = library.malloc, move: Any = ctypes.memmove, pattern: Any = PATTERN
    ) -> Any:
        place = allocate(size)
        for start in range(0, size if place else 0, len(pattern)):
            move(place + start, pattern, min(len(pattern), size - start))
        return place

    usual = ctypes.cast(c_interface()[DEFAULT_HANDLER], ctypes.POINTER(ctypes.py_object)).contents.value
    made = for_ever(Handler())
    ctypes.memmove(ctypes.addressof(made), python.PyCapsule_GetPointer(usual, b"mem_handler"), ctypes.sizeof(Handler))
    made.name = b"weft_poison"
    made.malloc = ctypes.cast(for_ever(Malloc(malloc)), Pointer).value
    python.PyCapsule_New.restype = ctypes.py_object
    python.PyCapsule_New.argtypes = [Pointer, ctypes.c_char_p, Pointer]
    return python.PyCapsule_New(ctypes.addressof(made), b"mem_handler", None)


def c_interface() -> Any:
    """The table of NumPy's C functions."""
    python = ctypes.pythonapi
    python.PyCapsule_GetPointer.restype = Pointer
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = python.PyCapsule_GetPointer(numpy._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return ctypes.cast(table, ctypes.POINTER(Pointer))


def fill_new_memory() -> None:
    """Fill what NumPy allocates from now on: in this thread, and in weft's kernels."""
    change = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(c_interface()[SET_HANDLER])
    handler = for_ever(allocator())
    change(handler)
    for context in kernel_contexts():
        context.run(change, handler)


# Compiled loops


class Allocator(ctypes.Structure):
    """``PyMemAllocatorEx`` of Python's C interface."""

    _fields_ = [(name, Pointer) for name in ("ctx", "malloc", "calloc", "realloc", "free")]


RAW = 0  # Python's domain of memory that may be asked for in any thread


def fill_compiled_memory() -> None:
    """Fill what compiled loops allocate from now on, and whatever else asks for Python's raw memory.

    Numba's arrays are made to come from there. The function is compiled too: threads call it that hold no lock.
    """
    from numba import cfunc
    from numba.core.runtime import _nrt_python

    library = ctypes.CDLL(None)  # another one: here addresses are numbers
    allocate, copy = library.malloc, library.memcpy
    allocate.restype, allocate.argtypes = Size, [Size]
    copy.restype, copy.argtypes = Size, [Size, Size, Size]
    pattern = for_ever(ctypes.create_string_buffer(PATTERN))
    source, chunk, one = numpy.uintp(ctypes.addressof(pattern)), numpy.uintp(CHUNK), numpy.uintp(1)

    @cfunc("uintp(voidptr, uintp)")
    def filled(ctx, size):  # type: ignore[no-untyped-def]
        place = allocate(max(size, one))
        done = size - size
        while place != done - done and done < size:
            copy(place + done, source, min(size - done, chunk))
            done += chunk
        return place

    functions = Allocator()
    ctypes.pythonapi.PyMem_GetAllocator(RAW, ctypes.byref(functions))
    functions.malloc = for_ever(filled).address
    ctypes.pythonapi.PyMem_SetAllocator(RAW, ctypes.byref(functions))
    _nrt_python.memsys_use_cpython_allocator()
