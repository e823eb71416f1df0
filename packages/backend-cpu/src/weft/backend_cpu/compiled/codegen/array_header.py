"""NumPy arrays in compiled code, by their identities: reading the header of an array object at its address.

Numba unpacks each array that it is given, lists of them slowly, and compiles anew for each number of dimensions and
layout; ``array.ctypes.data`` costs as much as a small array's arithmetic. So launchers take ``id(array)``, and read
what is there: ``PyArrayObject_fields`` of NumPy's C interface.
"""

from __future__ import annotations

from typing import Any

from weft.backend_cpu.compiled.codegen.deferred import carray, intrinsic, ir, types
from weft.backend_cpu.compiled.codegen.parallel import loop

__all__ = [
    "ALIGNED",
    "CONTIGUOUS",
    "DTYPE",
    "FLAGS",
    "HEAD",
    "WRITABLE",
    "array_at",
    "rank_of",
    "size_at",
    "stride_at",
    "word_at",
]

# Offsets of the fields from an array's identity; at HEAD is the address of the data
HEAD = object.__basicsize__
RANK, SIZES, STRIDES, DTYPE, FLAGS = HEAD + 8, HEAD + 16, HEAD + 24, HEAD + 40, HEAD + 48
CONTIGUOUS, ALIGNED, WRITABLE = 0x0001, 0x0100, 0x0400  # bits of the flags


@intrinsic
def word_at(typingctx: Any, address: Any) -> Any:
    """The eight bytes at an address, as an integer."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.load(builder.inttoptr(values[0], ir.IntType(64).as_pointer()))

    return types.int64(types.int64), generate


@intrinsic
def pointer(typingctx: Any, address: Any, like: Any) -> Any:
    """An address as a pointer to elements of an array's dtype."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return types.CPointer(like.dtype)(types.int64, like), generate


@loop
def array_at(address, size, like):
    """The elements at an address, as a flat array of the dtype of ``like``."""
    return carray(pointer(address, like), size)


@loop
def rank_of(array):
    """The number of dimensions."""
    return word_at(array + RANK) & 0xFFFFFFFF


@loop
def size_at(array, dim):
    """The size of a dimension."""
    return word_at(word_at(array + SIZES) + 8 * dim)


@loop
def stride_at(array, dim):
    """The stride of a dimension, in bytes."""
    return word_at(word_at(array + STRIDES) + 8 * dim)
