"""Products of matrices, of batches of them, with a bias and an activation.

Strides go to the library as they are: transposed, sliced and expanded operands are not copied. What it has no fast
kernel for (columns that are not next to each other in either direction) is copied first. Small products and those with
a vector stay with NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from math import prod
from typing import Any

import numpy

from weft.backend import in_order
from weft.backend_cpu import threads
from weft.backend_cpu.blas import one_row
from weft.backend_cpu.onednn.library import UnsupportedError, call, make
from weft.backend_cpu.onednn.primitives import (
    BIAS,
    DST,
    SRC,
    WEIGHTS,
    WIDTHS,
    Handle,
    Primitive,
    address,
    attributes,
    building,
    described,
    engine,
    has_avx512,
    is_fast,
    on_this_thread,
    pool,
)
from weft.backend_cpu.registry import MIN_SIZE, register_kernel

Array = numpy.ndarray[Any, Any]
Sizes = tuple[int, ...]

WIDTH = WIDTHS["float32"]

MIN_MULTIPLICATIONS = 400_000 if MIN_SIZE else 0
"""Multiplications from which the library is faster than NumPy on one thread (measured)."""


def product(
    a_shape: Sizes,
    a_strides: Sizes,
    b_shape: Sizes,
    b_strides: Sizes,
    with_bias: bool,
    activation: str,
    elements: tuple[str, str, str],
) -> Primitive:
    """The primitive ``activation(a @ b + bias)`` with a contiguous result; arrays in this order, bias third.

    ``elements`` are the dtypes of a, of b, and of the result; a bias has that of a.

    Raises
    ------
    UnsupportedError
        If the library has no fast one.
    """
    ndim = max(len(a_shape), len(b_shape))
    size = WIDTHS[elements[2]] * prod(shape_of(a_shape, b_shape))
    a_shape, a_strides = expanded(a_shape, a_strides, ndim)
    b_shape, b_strides = expanded(b_shape, b_strides, ndim)
    batch = [max(p, q) for p, q in zip(a_shape[:-2], b_shape[:-2])]
    shape = (*batch, a_shape[-2], b_shape[-1])
    a, b = described(a_shape, a_strides, elements[0]), described(b_shape, b_strides, elements[1])
    result = described(shape, contiguous(shape, WIDTHS[elements[2]]), elements[2])
    row = (*(1,) * (ndim - 1), shape[-1])
    bias = described(row, contiguous(row, WIDTHS[elements[0]]), elements[0]) if with_bias else None
    options = attributes(activation)
    create = "dnnl_matmul_primitive_desc_create"
    description = Handle("primitive_desc", make(create, engine(), a, b, bias, result, options))
    if not is_fast(description):
        raise UnsupportedError(f"{create}: only the plain loops")
    operands = [(SRC, a), (WEIGHTS, b), (BIAS, bias), (DST, result)]
    return Primitive(description, [(number, layout) for number, layout in operands if layout is not None], size)


def shape_of(a: Sizes, b: Sizes) -> Sizes:
    """The shape of a product."""
    return (*numpy.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])


def expanded(shape: Sizes, strides: Sizes, ndim: int) -> tuple[Sizes, Sizes]:
    """Dimensions of size 1 in front, and where an operand is expanded along the batch."""
    missing = ndim - len(shape)
    batch = [1 if stride == 0 else size for size, stride in zip(shape[:-2], strides[:-2])]
    return (*(1,) * missing, *batch, *shape[-2:]), (*(0,) * missing, *strides)


def contiguous(shape: Sizes, width: int) -> Sizes:
    """The strides of a contiguous array."""
    return tuple(width * prod(shape[dim + 1 :]) for dim in range(len(shape)))


ALIAS = 2048
"""Bytes: what lies so far apart, or a multiple of it, shares few lines of the cache."""
FEW_ROWS = 8
LARGE, FEW_TERMS = 1 << 20, 128
"""Elements of a result, and terms of each: so large a one of so few gains little, and what the function allocates
behind it keeps the space from being used again (20 MB more in the benchmarks' MNIST CNN)."""


def shares_lines(a: Array, b: Array) -> bool:
    """Whether the rows of ``b``, or of the transpose of ``a``, share lines of the cache, and there is no AVX-512.

    The library's products for AVX2 read such rows where they lie, and take up to twice as long (measured on Zen 3).
    Few terms are not worth a copy.
    """
    if has_avx512() or a.itemsize != WIDTH or a.shape[1] < FEW_TERMS:
        return False
    return are_close(b) or are_close(a.T)


def are_close(rows: Array) -> bool:
    """Whether rows begin at addresses that share lines of the cache."""
    return rows.strides[1] == WIDTH and not rows.strides[0] % ALIAS


MIN_USES = 128
"""How often each element of a matrix is used from which a copy of it pays."""


def spread_out(rows: Array, uses: int) -> Array:
    """The same rows, a line of the cache further apart if they share them and each element is used so often."""
    if uses < MIN_USES or not are_close(rows):
        return rows
    copy = numpy.empty((rows.shape[0], rows.shape[1] + 64 // WIDTH), rows.dtype)[:, : rows.shape[1]]
    copy[...] = rows
    return copy


def sgemm(a: Array, b: Array, shape: Sizes) -> Array | None:
    """``a @ b`` by the library's function for matrices of float32; None for those that its primitives take sooner.

    The function is faster (by a quarter, measured) where the rows of b go on in memory, and those of a or of its
    transpose: as in the gradients of a layer. It is slower for some sizes where rows share lines of the cache.
    """
    rows, columns = shape
    inner = a.shape[1]
    step, next_column = b.strides
    if next_column != WIDTH or step < columns * WIDTH or (rows * columns >= LARGE and inner < FEW_TERMS):
        return None
    if a.strides[1] == WIDTH and a.strides[0] >= inner * WIDTH:
        order, lead, suits = b"N", a.strides[0], inner < 256 or min(inner, columns) >= 1024
    elif a.strides[0] == WIDTH and a.strides[1] >= rows * WIDTH:
        order, lead, suits = b"T", a.strides[1], inner < 512 or columns >= 1024
    else:
        return None
    if step % WIDTH or lead % WIDTH or not (suits or rows <= FEW_ROWS or (step % ALIAS and lead % ALIAS)):
        return None
    result = numpy.empty(shape, numpy.float32)
    operands = address(a), lead // WIDTH, address(b), step // WIDTH, 0.0, address(result), columns
    global has_run
    with nullcontext() if has_run else building:
        call("dnnl_sgemm", order, b"N", rows, columns, inner, 1.0, *operands)
        has_run = True
    return result


has_run = False  # the function, which compiles its loops at its first call


def multiply(
    a: Array, b: Array, bias: Array | None, shape: Sizes, activation: str = "", into: Any = None
) -> Array | None:
    """``activation(a @ b + bias)``, contiguous, in the dtype of a or another; None where the library cannot do it."""
    on_this_thread()
    into = a.dtype if into is None else numpy.dtype(into)
    if len(shape) == 2 and into == numpy.float32 and shares_lines(a, b):
        if threads.count() == 1:
            return None  # NumPy's BLAS, which copies parts of them
        a, b = spread_out(a.T, shape[1]).T, spread_out(b, shape[0])
    if bias is None and not activation and len(shape) == 2 and a.dtype == b.dtype == into == numpy.float32:
        result = sgemm(a, b, shape)
        if result is not None:
            return result
    elements = a.dtype.type.__name__, b.dtype.type.__name__, into.type.__name__  # a name takes NumPy a microsecond
    found = pool(product, a.shape, a.strides, b.shape, b.strides, bias is not None, activation, elements)
    if found is None:
        plain = in_order(numpy, a), in_order(numpy, b)
        if plain[0] is a and plain[1] is b:
            return None
        return multiply(*plain, bias, shape, activation, into)
    result = numpy.empty(shape, into)
    if bias is None:
        found.run(address(a), address(b), address(result))
    else:
        dense = in_order(numpy, bias)
        found.run(address(a), address(b), address(dense), address(result))
    return result


@register_kernel("core::matmul", dtypes="float32 bfloat16", min_size=0, checks_size=True)
def matmul(generic: Callable[..., Array]) -> Callable[..., Array]:
    """``a @ b`` for matrices, and for batches of them, which are broadcast."""

    def run(a: Array, b: Array) -> Array:
        if a.ndim == 2 and b.ndim == 2:
            (rows, inner), columns = a.shape, b.shape[1]
            if is_small(rows * inner * columns, a) or min(rows, columns) < 2 or inner < 2:
                return generic(a, b)
            shape: Sizes = (rows, columns)
        else:
            if a.ndim < 2 or b.ndim < 2:
                return generic(a, b)
            (rows, inner), columns = a.shape[-2:], b.shape[-1]
            shape = shape_of(a.shape, b.shape)
            count = prod(shape)
            if b.ndim == 2 and count and inner:  # one product of all rows: the library would take each batch alone
                return run(as_rows(a), b).reshape(shape)
            if 0 in a.strides[:-2] or 0 in b.strides[:-2]:
                each = once(a), once(b)
                if count and shape_of(each[0].shape, each[1].shape) != shape:  # the same products again and again
                    return numpy.broadcast_to(run(*each), shape).copy()
            if is_small(count * inner, a) or rows < 2 or columns < 2 or not count or not inner:
                return generic(a, b)
        result = multiply(a, b, None, shape)
        return generic(a, b) if result is None else result

    return run


def once(array: Array) -> Array:
    """A batch of matrices without the repetitions that it was expanded to."""
    return array[tuple(slice(1) if step == 0 else slice(None) for step in array.strides[:-2])]


def is_small(work: int, a: Array) -> bool:
    """Whether so many multiplications are NumPy's: it has none of bfloat16."""
    return work < MIN_MULTIPLICATIONS and a.itemsize > 2


@register_kernel("nn::linear", dtypes="float32 bfloat16", min_size=0, checks_size=True)
def linear(generic: Callable[..., Array]) -> Callable[..., Array]:
    """``input @ weight.T + bias``, all but the last dimension of the input being rows where strides allow."""

    def run(input: Array, weight: Array, bias: Array | None) -> Array:
        shape = input.shape
        columns, inner = weight.shape
        if input.size == inner and inner and (row := one_row(input, weight, bias)) is not None:
            return row
        if is_small(input.size * columns, input) or columns < 2 or not inner or input.size < 2 * inner:
            return generic(input, weight, bias)
        if bias is not None and bias.shape != (columns,):
            return generic(input, weight, bias)
        rows = input if len(shape) == 2 else as_rows(input)
        result = multiply(rows, weight.T, bias, (rows.shape[0], columns))
        if result is None:
            return generic(input, weight, bias)
        return result if len(shape) == 2 else result.reshape(*shape[:-1], columns)

    return run


def as_rows(array: Array) -> Array:
    """All but the last dimension as one, without a copy where strides allow."""
    shape, strides = array.shape, array.strides
    follows = all(outer == inner * size for outer, inner, size in zip(strides[:-2], strides[1:-1], shape[1:-1]))
    return (array if follows else in_order(numpy, array)).reshape(-1, shape[-1])


@register_kernel("core::addmm", dtypes="float32 bfloat16", min_size=0, checks_size=True)
def addmm(generic: Callable[..., Array]) -> Callable[..., Array]:
    """``beta * input + alpha * (a @ b)``; a vector for all rows is added by the product itself."""

    def run(input: Array, a: Array, b: Array, beta: Any, alpha: Any) -> Array:
        columns = b.shape[-1]
        if a.ndim != 2 or b.ndim != 2 or not input.size or not a.size or min(a.shape[0], columns) < 2:
            return generic(input, a, b, beta, alpha)
        if is_small(a.size * columns, a):
            return generic(input, a, b, beta, alpha)
        plain = alpha == 1 and beta == 1 and input.shape == (columns,)
        result = multiply(a, b, input if plain else None, (a.shape[0], columns), into=None if plain else numpy.float32)
        if result is None:
            return generic(input, a, b, beta, alpha)
        if not plain:
            if alpha != 1:
                result *= numpy.float32(alpha)
            result += input if beta == 1 else input * numpy.float32(beta)
        return result if result.dtype == a.dtype else result.astype(a.dtype)

    return run


@register_kernel("core::int_mm", dtypes="int8 uint8", min_size=0, checks_size=True)
def int_mm(generic: Callable[..., Array]) -> Callable[..., Array]:
    """``a @ b`` for matrices of 8-bit integers, in int32."""

    def run(a: Array, b: Array) -> Array:
        shape = a.shape[0], b.shape[1]
        if not a.size or min(shape) < 2:
            return generic(a, b)
        result = multiply(a, b, None, shape, into=numpy.int32)
        return generic(a, b) if result is None else result

    return run
