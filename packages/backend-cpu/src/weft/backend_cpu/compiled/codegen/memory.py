"""Memory by addresses: copies of bytes, and prefetching."""

from __future__ import annotations

from typing import Any

from weft.backend_cpu.compiled.codegen.deferred import cgutils, intrinsic, ir, llvm, types
from weft.backend_cpu.compiled.codegen.parallel import loop

__all__ = ["copy_bytes", "prefetch"]

PIECE = 2048
"""Bytes that the C library copies at once. On AMD's Zen 3 it copies more than these twelve times slower where the
target lies a few bytes behind the source, modulo the size of a page: as two arrays do that were made one after the
other and whose size is a power of two."""


@loop
def copy_bytes(target, source, count):
    """Copy bytes from an address to another; the two ranges do not overlap."""
    done = 0
    while count - done > PIECE:
        copy_piece(target + done, source + done, PIECE)
        done += PIECE
    copy_piece(target + done, source + done, count - done)


@intrinsic
def copy_piece(typingctx: Any, target: Any, source: Any, count: Any) -> Any:
    """Copy bytes by the C library."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        places = [builder.inttoptr(each, llvm.POINTER) for each in values[:2]]
        cgutils.raw_memcpy(builder, *places, values[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def prefetch(builder: Any, place: Any, to_write: bool = False) -> None:
    """Have the cache line at a pointer loaded into the first cache."""
    kind = ir.FunctionType(ir.VoidType(), [llvm.POINTER, llvm.I32, llvm.I32, llvm.I32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [builder.bitcast(place, llvm.POINTER), llvm.I32(int(to_write)), llvm.I32(3), llvm.I32(1)])
