"""Matrix products inside of compiled loops: those of NumPy's BLAS, found by name as `weft.backend_cpu.threads` does.

They are small, and many side by side: each runs on the thread that asks for it. So the BLAS is kept from starting
threads of its own while such a loop runs.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # it has no stub

from weft.backend import BySize
from weft.backend_cpu import threads
from weft.backend_cpu.compiled.parallel import OPTIONS, launcher, loop, parallel
from weft.backend_cpu.compiled.vectors import WideVectors
from weft.backend_cpu.libraries import FEW, LEAST, serves

__all__ = ["ADDRESS", "gemm", "is_available", "on_one_thread", "outer"]

# How the libraries that NumPy is built with name the function, and the bits of its integers.
NAMES = (
    ("scipy_cblas_{}gemm64_", 64),
    ("scipy_cblas_{}gemm", 32),
    ("cblas_{}gemm64_", 64),
    ("cblas_{}gemm", 32),
)
ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112
ADDRESS = types.intp


def found() -> int:
    """Make the functions known to the compiler; returns the bits of their integers, 0 if there are none."""
    try:
        library = ctypes.CDLL(_multiarray_umath.__file__)
    except OSError:
        return 0
    for name, bits in NAMES:
        if hasattr(library, name.format("s")):
            for letter in "sd":
                function = getattr(library, name.format(letter))
                address = ctypes.cast(function, ctypes.c_void_p).value
                llvmlite.binding.add_symbol(f"weft_{letter}gemm_{bits}", address)
            return bits
    return 0


BITS = found()


def is_available() -> bool:
    """Whether NumPy's BLAS was found."""
    return BITS > 0


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Matrix products within start no threads."""
    functions = None if threads.blas_is_serial else threads.blas()
    before = functions[0]() if functions is not None else 1
    if functions is None or before == 1:
        yield
        return
    functions[1](1)
    try:
        yield
    finally:
        functions[1](before)


@intrinsic
def gemm(
    typingctx: Any,
    flips: Any,
    sizes: Any,
    alpha: Any,
    a: Any,
    a_stride: Any,
    b: Any,
    b_stride: Any,
    beta: Any,
    c: Any,
    c_stride: Any,
) -> Any:
    """``c = alpha * a @ b + beta * c`` for matrices by their addresses and the distances of their rows, in elements.

    ``flips`` says of a and of b whether it is transposed in memory; ``sizes`` are (rows, columns, inner). The type of
    ``alpha`` is that of the elements.
    """
    integers = types.UniTuple(types.intp, 3)
    signature = types.void(
        types.UniTuple(types.boolean, 2),
        integers,
        alpha,
        ADDRESS,
        types.intp,
        ADDRESS,
        types.intp,
        alpha,
        ADDRESS,
        types.intp,
    )

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        flips, sizes, alpha, a, a_stride, b, b_stride, beta, c, c_stride = args
        whole, code, pointer = ir.IntType(BITS), ir.IntType(32), ir.IntType(8).as_pointer()
        real = alpha.type

        def integer(value: Any) -> Any:
            return value if value.type == whole else builder.trunc(value, whole)

        def order(number: int) -> Any:
            flip = context.cast(builder, builder.extract_value(flips, number), types.boolean, types.int32)
            return builder.add(flip, code(PLAIN))

        def address(value: Any) -> Any:
            return builder.inttoptr(value, pointer)

        parameters = [code] * 3 + [whole] * 3 + [real, pointer, whole, pointer, whole, real, pointer, whole]
        letter = "s" if signature.args[2] == types.float32 else "d"
        kind = ir.FunctionType(ir.VoidType(), parameters)
        name = f"weft_{letter}gemm_{BITS}"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        extents = [integer(builder.extract_value(sizes, i)) for i in range(3)]
        matrices = [alpha, address(a), integer(a_stride), address(b), integer(b_stride), beta, address(c)]
        builder.call(function, [code(ROW_MAJOR), order(0), order(1), *extents, *matrices, integer(c_stride)])
        return context.get_dummy_value()

    return signature, generate


# A column times a row: NumPy's loop takes twice as long


@loop
def multiply_rows(column, row, result, lo, hi):
    for i in range(lo, hi):
        factor, target = column[i], result[i]
        for j in range(np.uintp(row.size)):
            target[j] = factor * row[j]


@launcher
def multiply_column(column, row, result):
    parallel(multiply_rows, (column, row, result), column.size, result.size)


def outer(column: Any, row: Any) -> Any:
    """The product of a matrix of one column and one of one row, of one real dtype."""
    result = np.empty((column.size, row.size), column.dtype)
    multiply_column(np.ascontiguousarray(column).reshape(-1), np.ascontiguousarray(row).reshape(-1), result)
    return result


# Products of vectors in three dimensions. Products are rounded before they are subtracted: that of a vector and itself
# is 0.

rounding_loop = njit(
    **{**OPTIONS, "fastmath": False}, pipeline_class=WideVectors, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


@rounding_loop
def cross_loop(x, y, z, by_outer, lo, hi):
    first, last = (lo, hi) if by_outer else (np.uintp(0), np.uintp(x.shape[0]))
    left, right = (np.uintp(0), np.uintp(x.shape[2])) if by_outer else (lo, hi)
    for outer in range(first, last):
        a, b, made = x[outer], y[outer], z[outer]
        for i in range(left, right):
            a0, a1, a2 = a[0, i], a[1, i], a[2, i]
            b0, b1, b2 = b[0, i], b[1, i], b[2, i]
            made[0, i] = a1 * b2 - a2 * b1
            made[1, i] = a2 * b0 - a0 * b2
            made[2, i] = a0 * b1 - a1 * b0


@launcher
def cross(x, y, z):
    """The products along the second of three dimensions."""
    by_outer = x.shape[0] > 1
    parallel(cross_loop, (x, y, z, by_outer), x.shape[0] if by_outer else x.shape[2], z.size)


@serves("core::linalg_cross", "float32 float64 int64 int32")
def cross_kernel(generic: Any) -> Any:
    def run(x: Any, y: Any, dim: int) -> Any:
        alike = x.shape == y.shape and x.dtype == y.dtype and x.flags.c_contiguous and y.flags.c_contiguous
        if not alike or not x.size:
            return generic(x, y, dim)
        made = np.empty(x.shape, x.dtype)
        shape = x.size // 3 // (inner := math.prod(x.shape[x.ndim + dim + 1 :])), 3, inner
        cross(x.reshape(shape), y.reshape(shape), made.reshape(shape))
        return made

    return BySize(generic, run, FEW)


# Blocks: each element of one matrix times all of another


@loop
def blocks_loop(x, y, z, lo, hi):
    columns, width, height = np.uintp(x.shape[1]), np.uintp(y.shape[1]), np.uintp(y.shape[0])
    for row in range(lo, hi):
        left, right, target = x[row // height], y[row % height], z[row]
        if width < 8:
            for i in range(width):
                factor = right[i]
                for j in range(columns):
                    target[j * width + i] = left[j] * factor
        else:
            for j in range(columns):
                factor, first = left[j], j * width
                for i in range(width):
                    target[first + i] = factor * right[i]


@launcher
def multiply_blocks(x, y, z):
    parallel(blocks_loop, (x, y, z), z.shape[0], z.size)


@serves("core::kron", "float32 float64 int64 int32")
def kron_kernel(generic: Any) -> Any:
    def run(x: Any, y: Any) -> Any:
        if x.ndim > 2 or not x.ndim or x.size * y.size < LEAST or x.dtype != y.dtype or not x.size * y.size:
            return generic(x, y)
        made = np.empty([m * n for m, n in zip(x.shape, y.shape)], x.dtype)
        x, y = (np.ascontiguousarray(each).reshape(-1, each.shape[-1]) for each in (x, y))
        multiply_blocks(x, y, made.reshape(-1, made.shape[-1]))
        return made

    return run
