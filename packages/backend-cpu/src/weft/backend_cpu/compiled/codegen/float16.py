"""float16 and bfloat16 in compiled loops: read as float32, rounded once when written. Numba has neither."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft import bfloat16, float16
from weft.backend_cpu.compiled.codegen.deferred import cgutils, intrinsic, ir, llvm, overload, types
from weft.backend_cpu.compiled.codegen.instructions import HAS_CONVERSIONS
from weft.backend_cpu.compiled.codegen.parallel import loop

__all__ = [
    "BITS",
    "HALVES",
    "loaded",
    "narrow",
    "number_in",
    "put_at",
    "rounded",
    "rows_at_once",
    "single_of",
    "value_at",
    "widen",
]

HALVES = {each.numpy: each.name for each in (bfloat16, float16)}
"""Names of the half-precision dtypes, by NumPy's dtypes."""


def loaded(builder: Any, name: str, place: Any) -> tuple[Any, Any]:
    """The load instruction, and the number in float32."""
    bits = builder.load(builder.bitcast(place, llvm.I16.as_pointer()))
    return bits, single_of(builder, name, bits)


def single_of(builder: Any, name: str, bits: Any) -> Any:
    """The float32 of the bits of a number in half precision."""
    if name == "float16":
        return widened(builder, bits)
    return builder.bitcast(builder.shl(builder.zext(bits, llvm.I32), llvm.I32(16)), llvm.SINGLE)


# Processors before AVX2 have no instructions that convert float16: LLVM would call functions of compiler-rt, which the
# process does not have.

MIN_NORMAL, BEYOND = 113 << 23, 0x477FF000  # 2**-14; and 65520, the least number that rounds to infinity


def widened(builder: Any, bits: Any) -> Any:
    """The float32 of a float16's bits."""
    I32, SINGLE = llvm.I32, llvm.SINGLE
    if HAS_CONVERSIONS:
        return builder.fpext(builder.bitcast(bits, ir.HalfType()), SINGLE)
    whole = builder.zext(bits, I32)
    size = builder.shl(builder.and_(whole, I32(0x7FFF)), I32(13))
    scaled = builder.bitcast(builder.fmul(builder.bitcast(size, SINGLE), ir.Constant(SINGLE, 2.0**112)), I32)
    is_finite = builder.icmp_unsigned("<", size, I32(0x7C00 << 13))
    number = builder.select(is_finite, scaled, builder.or_(size, I32(0x7F800000)))
    return builder.bitcast(builder.or_(number, builder.shl(builder.and_(whole, I32(0x8000)), I32(16))), SINGLE)


def narrowed(builder: Any, value: Any) -> Any:
    """The bits of a float32 rounded to float16, ties to even."""
    I16, I32, SINGLE = llvm.I16, llvm.I32, llvm.SINGLE
    if HAS_CONVERSIONS:
        return builder.bitcast(builder.fptrunc(value, ir.HalfType()), I16)
    bits = builder.bitcast(value, I32)
    size = builder.and_(bits, I32(0x7FFFFFFF))
    half = ir.Constant(SINGLE, 0.5)  # its last place is the smallest float16
    small = builder.sub(builder.bitcast(builder.fadd(builder.bitcast(size, SINGLE), half), I32), I32(0x3F000000))
    odd = builder.and_(builder.lshr(size, I32(13)), I32(1))
    normal = builder.lshr(builder.add(builder.sub(size, I32((112 << 23) - 0xFFF)), odd), I32(13))
    number = builder.select(builder.icmp_unsigned("<", size, I32(MIN_NORMAL)), small, normal)
    nan = builder.or_(I32(0x7E00), builder.and_(builder.lshr(size, I32(13)), I32(0x3FF)))
    beyond = builder.select(builder.icmp_unsigned(">", size, I32(0x7F800000)), nan, I32(0x7C00))
    number = builder.select(builder.icmp_unsigned("<", size, I32(BEYOND)), number, beyond)
    return builder.trunc(builder.or_(number, builder.and_(builder.lshr(bits, I32(16)), I32(0x8000))), I16)


def rounded(builder: Any, name: str, value: Any) -> Any:
    """The bits of a float32 rounded to half precision, ties to even; nan stays nan, with its sign."""
    I16, I32 = llvm.I16, llvm.I32
    if name == "float16":
        return narrowed(builder, value)
    bits = builder.bitcast(value, I32)
    high = builder.lshr(bits, I32(16))
    nearest = builder.lshr(builder.add(builder.add(bits, I32(0x7FFF)), builder.and_(high, I32(1))), I32(16))
    is_nan = builder.fcmp_unordered("uno", value, value)
    return builder.trunc(builder.select(is_nan, builder.or_(high, I32(0x40)), nearest), I16)


# Half precision in Numba's arrays: a record dtype of one uint16 field, which is named for the dtype

BITS = {element: np.dtype([(name, "u2")]) for element, name in HALVES.items()}
"""The record dtype as which an array of half precision is passed to compiled code."""


def half_of(x: Any) -> str:
    """The name of an array type's half precision; empty for other arrays."""
    return next(iter(x.dtype.fields)) if isinstance(x.dtype, types.Record) else ""


def place_of(context: Any, builder: Any, x: Any, array: Any, i: Any) -> Any:
    """The address of an element of a vector with any stride."""
    found = context.make_array(x)(context, builder, array)
    if x.is_contig:
        return builder.gep(found.data, [i])
    (step,) = cgutils.unpack_tuple(builder, found.strides)
    return cgutils.pointer_add(builder, found.data, builder.mul(i, step))


@intrinsic
def half_at(typingctx: Any, x: Any, i: Any) -> Any:
    name = half_of(x)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = place_of(context, builder, x, *args)
        return loaded(builder, name, place)[1]

    return types.float32(x, i), generate


@intrinsic
def put_half_at(typingctx: Any, x: Any, i: Any, value: Any) -> Any:
    name = half_of(x)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = place_of(context, builder, x, *args[:2])
        builder.store(rounded(builder, name, args[2]), builder.bitcast(place, llvm.I16.as_pointer()))
        return context.get_dummy_value()

    return types.void(x, i, types.float32), generate


def value_at(x: Any, i: Any) -> Any:
    """``x[i]`` of a vector, in float32 for half precision."""


@overload(value_at, jit_options={"forceinline": True})
def value_at_of(x, i):
    return (lambda x, i: half_at(x, i)) if half_of(x) else (lambda x, i: x[i])


def put_at(x: Any, i: Any, value: Any) -> None:
    """``x[i] = value``, rounded for half precision."""


@overload(put_at, jit_options={"forceinline": True})
def put_at_of(x, i, value):
    if half_of(x):
        return lambda x, i, value: put_half_at(x, i, value)

    def put(x, i, value):
        x[i] = value

    return put


def number_in(like: Any, number: Any) -> Any:
    """A number in the dtype in which an array's elements are computed."""


@overload(number_in, jit_options={"forceinline": True})
def number_in_of(like, number):
    if half_of(like):
        return lambda like, number: np.float32(number)
    return lambda like, number: like.dtype.type(number)


# Rows of half precision for loops over float32: a few at a time, which stay in the first cache


@loop
def rows_at_once(size):
    """How many rows of ``size`` elements are converted at a time."""
    return max(np.uintp(4096) // np.uintp(size), np.uintp(1))


@loop
def widen(x, first, count, rows):
    """Convert ``count`` elements from ``first`` on to the beginning of an array of float32."""
    flat = rows.reshape(-1)
    for i in range(np.uintp(count)):
        flat[i] = value_at(x, first + i)


@loop
def narrow(rows, count, x, first):
    """Round the beginning of an array of float32 to ``count`` elements from ``first`` on."""
    flat = rows.reshape(-1)
    for i in range(np.uintp(count)):
        put_at(x, first + i, flat[i])
