"""Reductions over any dimensions of arrays in any layout.

The dimensions are put into the order of memory, and adjacent ones joined, so that at most two are left that are kept
and two that are reduced. Where the innermost one is reduced, its elements are reduced in blocks; where it is kept,
whole lines are combined element by element. Each block, or some hundred lines, is reduced in its own dtype, in vectors,
and the results of blocks in float64. So sums lose little, and do not depend on the number of threads.

A kind of reduction is a tuple, whose length says which: so kinds are types, and code compiled for one has no branches
for the others.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from weft.backend_cpu.compiled.codegen.array_header import HEAD, array_at, word_at
from weft.backend_cpu.compiled.codegen.deferred import intrinsic, ir, overload, types
from weft.backend_cpu.compiled.codegen.float16 import BITS, value_at
from weft.backend_cpu.compiled.codegen.mathematics import exp, like
from weft.backend_cpu.compiled.codegen.parallel import OPTIONS, launcher, loop, parallel
from weft.backend_cpu.compiled.kernels.layouts import contiguous, outer_size_inner
from weft.backend_cpu.compiled.kernels.packed_gemm import BYTES
from weft.backend_cpu.registry import MIN_SIZE, register_kernel

REAL = "float32 float64"
WHOLE = "bool uint8 int8 int16 int32 int64"
BLOCK = np.uintp(64 * min(BYTES, 32))  # elements of a row that are reduced in their own dtype
HEIGHT = np.uintp(256)  # lines that are combined in their own dtype
WIDTH = np.uintp(2048)  # elements of a line at a time, at most: they stay in the first cache
MIN_WIDTH, MIN_PARTS = np.uintp(256), np.uintp(16)  # fewer elements, so that there are enough parts for threads

SUM, PRODUCT, SQUARES, DISTANCES, NUMBERS, DEVIATIONS, EXPONENTIALS, NONZERO, LARGEST, SMALLEST, FARTHEST, ALL, ANY = (
    (0,) * (number + 1) for number in range(13)
)


# The steps of each kind


@intrinsic
def larger(typingctx: Any, a: Any, b: Any) -> Any:
    """The larger number, nan if one is nan; of zeros either."""
    return a(a, a), one_of(a, "maximum", ">")


@intrinsic
def smaller(typingctx: Any, a: Any, b: Any) -> Any:
    """The smaller number, nan if one is nan; of zeros either."""
    return a(a, a), one_of(a, "minimum", "<")


def one_of(element: Any, name: str, comparison: str) -> Any:
    """The code of `larger` and `smaller`, which LLVM vectorizes in reductions."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if isinstance(element, types.Float):
            kind = ir.FunctionType(args[0].type, [args[0].type] * 2)
            function = builder.module.declare_intrinsic(f"llvm.{name}", [args[0].type], kind)
            return builder.call(function, args, fastmath=("nsz",))
        compare = builder.icmp_signed if getattr(element, "signed", False) else builder.icmp_unsigned
        return builder.select(compare(comparison, *args), *args)

    return generate


def step(kind: Any, total: Any, value: Any, center: Any) -> Any:
    """A total with one more value."""


@overload(step, jit_options=OPTIONS)
def step_of(kind, total, value, center):
    return (
        lambda kind, total, value, center: like(total, total + like(total, value)),
        lambda kind, total, value, center: total * value,
        lambda kind, total, value, center: total + value * value,
        lambda kind, total, value, center: total + abs(value),
        lambda kind, total, value, center: total + (value if value == value else like(value, 0.0)),
        lambda kind, total, value, center: total + (value - center) * (value - center),
        lambda kind, total, value, center: total + exp(value - center),
        lambda kind, total, value, center: like(total, total + like(total, value != 0)),
        lambda kind, total, value, center: larger(total, value),
        lambda kind, total, value, center: smaller(total, value),
        lambda kind, total, value, center: larger(total, abs(value)),
        lambda kind, total, value, center: total & (value != 0),
        lambda kind, total, value, center: total | (value != 0),
    )[len(kind) - 1]


def begin(kind: Any, value: Any) -> Any:
    """The initial total for a first value: its type is that in which the kind computes."""


@overload(begin, jit_options=OPTIONS)
def begin_of(kind, value):
    if len(kind) in (len(LARGEST), len(SMALLEST)):
        return lambda kind, value: value
    if len(kind) == len(FARTHEST):
        return lambda kind, value: abs(value)
    if len(kind) in (len(ALL), len(ANY)):
        none = len(kind) == len(ALL)
        return lambda kind, value: none
    first = int(len(kind) == len(PRODUCT))
    if isinstance(value, types.Float):
        return lambda kind, value: like(value, first)
    if len(kind) == len(NONZERO) or (len(kind) == len(SUM) and getattr(value, "bitwidth", 1) <= 16):
        return lambda kind, value: np.int32(0)  # a block has no more
    return lambda kind, value: np.int64(first)


def joined(kind: Any, total: Any, other: Any) -> Any:
    """The totals of two blocks combined, in float64 for floating-point numbers."""


@overload(joined, jit_options=OPTIONS)
def joined_of(kind, total, other):
    if len(kind) in (len(LARGEST), len(FARTHEST)):
        return lambda kind, total, other: larger(total, other)
    if len(kind) == len(SMALLEST):
        return lambda kind, total, other: smaller(total, other)
    if len(kind) == len(ALL):
        return lambda kind, total, other: total & other
    if len(kind) == len(ANY):
        return lambda kind, total, other: total | other
    if len(kind) == len(PRODUCT):
        return lambda kind, total, other: total * other
    return lambda kind, total, other: total + other


def wide(value: Any) -> Any:
    """A number in the widest type of its category; a truth value as it is."""


@overload(wide, jit_options=OPTIONS)
def wide_of(value):
    if isinstance(value, types.Float):
        return lambda value: np.float64(value)
    return (lambda value: np.int64(value)) if isinstance(value, types.Integer) else (lambda value: value)


def finish(kind: Any, total: Any, count: Any, center: Any) -> Any:
    """The result for a total; ``count`` is what sums are divided by."""


@overload(finish, jit_options=OPTIONS)
def finish_of(kind, total, count, center):
    if len(kind) == len(SQUARES):
        return lambda kind, total, count, center: np.sqrt(total)
    if len(kind) == len(EXPONENTIALS):
        return lambda kind, total, count, center: np.log(total) + center
    if len(kind) in (len(SUM), len(DEVIATIONS)) and isinstance(total, types.Float):
        return lambda kind, total, count, center: total if count == 1 else total / count
    return lambda kind, total, count, center: total


# Where the innermost dimension is reduced: rows, in blocks


@loop
def rows_loop(kind, x, plan, blocks, centers, partial, lo, hi):
    k1, k0_step, k1_step, r0, r0_step, r1 = plan[1], plan[2], plan[3], plan[4], plan[5], plan[6]
    per = r0 * blocks
    row, rest = lo // per, lo % per
    line, block = rest // blocks, rest % blocks
    outer, inner = row // k1, row % k1
    for item in range(lo, hi):
        first = outer * k0_step + inner * k1_step + line * r0_step
        stop = first + min(r1, block * BLOCK + BLOCK)
        first += block * BLOCK
        total, center = begin(kind, value_at(x, first)), centers[outer * k1 + inner]
        for i in range(first, stop):
            total = step(kind, total, value_at(x, i), center)
        partial[item] = total
        block += np.uintp(1)
        if block == blocks:
            block = np.uintp(0)
            line += np.uintp(1)
            if line == r0:
                line = np.uintp(0)
                inner += np.uintp(1)
                if inner == k1:
                    inner = np.uintp(0)
                    outer += np.uintp(1)


@launcher
def rows(kind, identity, example, plan, cost, count, centers, y):
    x = array_at(word_at(identity + HEAD), plan[8], example)
    blocks = (plan[6] + BLOCK - np.uintp(1)) // BLOCK
    per = plan[4] * blocks
    partial = np.full(y.size * np.int64(per), begin(kind, value_at(x, 0)))
    parallel(rows_loop, (kind, x, plan, blocks, centers, partial), np.uintp(partial.size), plan[9] * cost)
    if per == 1:
        for row in range(np.uintp(y.size)):
            y[row] = finish(kind, wide(partial[row]), count, centers[row])
        return
    for row in range(np.uintp(y.size)):
        total = wide(partial[row * per])
        for i in range(row * per + np.uintp(1), (row + np.uintp(1)) * per):
            total = joined(kind, total, wide(partial[i]))
        y[row] = finish(kind, total, count, centers[row])


# Where it is kept: lines, combined element by element


@loop
def columns_loop(kind, x, plan, heights, most, centers, partial, lo, hi):
    k1, k0_step, r0_step, r1, r1_step = plan[1], plan[2], plan[5], plan[6], plan[7]
    parts = (k1 + most - np.uintp(1)) // most
    for item in range(lo, hi):
        start = item % parts * most
        width = min(most, k1 - start)
        block = item // parts
        outer, line = block // heights, block % heights * HEIGHT
        stop = min(line + HEIGHT, plan[4] * r1)
        first = outer * k0_step + start
        total, center = partial[block, start : start + width], centers[outer * k1 + start : outer * k1 + start + width]
        at = first + line // r1 * r0_step + line % r1 * r1_step
        for i in range(width):
            total[i] = begin(kind, value_at(x, at + i))
        while line < stop:
            at = first + line // r1 * r0_step + line % r1 * r1_step
            count = min(stop - line, r1 - line % r1)
            line += count
            for _ in range(count // np.uintp(4)):
                a, b, c, d = at, at + r1_step, at + np.uintp(2) * r1_step, at + np.uintp(3) * r1_step
                for i in range(width):
                    value = step(kind, total[i], value_at(x, a + i), center[i])
                    value = step(kind, value, value_at(x, b + i), center[i])
                    value = step(kind, value, value_at(x, c + i), center[i])
                    total[i] = step(kind, value, value_at(x, d + i), center[i])
                at += np.uintp(4) * r1_step
            for _ in range(count % np.uintp(4)):
                for i in range(width):
                    total[i] = step(kind, total[i], value_at(x, at + i), center[i])
                at += r1_step


@launcher
def columns(kind, identity, example, plan, cost, count, centers, y):
    x = array_at(word_at(identity + HEAD), plan[8], example)
    heights = (plan[4] * plan[6] + HEIGHT - np.uintp(1)) // HEIGHT
    blocks, most = plan[0] * heights, WIDTH
    while blocks * ((plan[1] + most - np.uintp(1)) // most) < MIN_PARTS and most > MIN_WIDTH:
        most //= np.uintp(2)
    parts = (plan[1] + most - np.uintp(1)) // most
    partial = np.full((np.int64(blocks), np.int64(plan[1])), begin(kind, value_at(x, 0)))
    parallel(columns_loop, (kind, x, plan, heights, most, centers, partial), blocks * parts, plan[9] * cost)
    if heights == 1:
        flat = partial.reshape(-1)
        for i in range(np.uintp(y.size)):
            y[i] = finish(kind, wide(flat[i]), count, centers[i])
        return
    for outer in range(plan[0]):
        for i in range(plan[1]):
            total = wide(partial[outer * heights, i])
            for block in range(outer * heights + np.uintp(1), (outer + np.uintp(1)) * heights):
                total = joined(kind, total, wide(partial[block, i]))
            y[outer * plan[1] + i] = finish(kind, total, count, centers[outer * plan[1] + i])


# Layouts


class Layout(NamedTuple):
    """How an array is reduced.

    Attributes
    ----------
    launch : callable
        `rows` or `columns`.
    plan : array of int
        The sizes of two kept dimensions and their steps, in elements; those of two reduced ones, size by size; the
        number of elements from the first to the last, and that of all.
    shape, kept : tuple of int
        Of the result, without and with the reduced dimensions.
    results, reduced : int
        How many elements the result has, and from how many each is.
    order : tuple of int or None
        The kept dimensions as they lie in memory, where that is another order: their sizes, and where each goes.
    """

    launch: Any
    plan: Any
    shape: tuple[int, ...]
    kept: tuple[int, ...]
    results: int
    reduced: int
    order: Any


@lru_cache(4096)
def layout_of(shape: tuple[int, ...], strides: tuple[int, ...], item: int, dims: tuple[int, ...]) -> Layout | None:
    """How an array is reduced; None if its innermost elements are not adjacent, or three dimensions are left."""
    ndim = len(shape)
    axes = sorted((dim for dim in range(ndim) if shape[dim] > 1), key=lambda dim: -strides[dim])
    if not math.prod(shape) or any(strides[dim] <= 0 or strides[dim] % item for dim in axes):
        return None
    found: list[list[Any]] = []  # [is reduced, size, step]
    for dim in axes:
        last = found[-1] if found else None
        size, pace = shape[dim], strides[dim] // item
        if last and last[0] == (dim in dims) and last[2] == size * pace:
            last[1], last[2] = last[1] * size, pace
        else:
            found.append([dim in dims, size, pace])
    if found and found[-1][2] != 1:
        return None
    kept = [each[1:] for each in found if not each[0]]
    gone = [each[1:] for each in found if each[0]]
    if len(kept) > 2 or len(gone) > 2:
        return None
    by_rows = not found or found[-1][0]
    (k0, k0_step), (k1, k1_step) = [[1, 0]] * (2 - len(kept)) + kept
    (r0, r0_step), (r1, r1_step) = [[1, 0]] * (2 - len(gone)) + gone
    span = 1 + sum((shape[dim] - 1) * strides[dim] for dim in axes) // item
    plan = [k0, k1, k0_step, k1_step] + [r0, r0_step, r1, r1_step] + [span, math.prod(shape)]
    lie = [dim for dim in axes if dim not in dims]
    order = ([shape[dim] for dim in lie], np.argsort(lie).tolist()) if lie != sorted(lie) else None
    return Layout(
        rows if by_rows else columns,
        np.array(plan, np.uintp),
        tuple(size for dim, size in enumerate(shape) if dim not in dims),
        tuple(1 if dim in dims else size for dim, size in enumerate(shape)),
        k0 * k1,
        r0 * r1,
        order,
    )


EXAMPLES = {np.dtype(name): np.empty(1, name) for name in f"{REAL} {WHOLE}".split()}
EXAMPLES |= {half: np.empty(1, bits) for half, bits in BITS.items()}


def reduced_values(
    x: Any, found: Layout, kind: Any, element: Any = None, count: float = 1.0, centers: Any = None
) -> Any:
    """The reduced values, in the order of memory."""
    own = np.float32 if x.dtype in BITS else x.dtype
    y = np.empty(found.results, own if element is None else element)
    cost = 3 if kind is EXPONENTIALS else 1
    found.launch(kind, id(x), EXAMPLES[x.dtype], found.plan, cost, count, y if centers is None else centers, y)
    return y


def shaped(found: Layout, keepdim: bool, y: Any, like: Any = None) -> Any:
    """Values in the shape of the op's result, rounded if ``like`` is of half precision."""
    if like is not None and like.dtype in BITS:
        y = y.astype(like.dtype)
    if found.order is not None:
        sizes, places = found.order
        y = np.ascontiguousarray(y.reshape(sizes).transpose(places))
    return y.reshape(found.kept if keepdim else found.shape)


# The ops


def reduction_kernel(
    name: str, kind: Any, dtypes: str = REAL, *, min_size: int = MIN_SIZE, bitwise: bool = False, element: Any = None
) -> None:
    """Register the kernel of an op that is one reduction, with results of the dtype ``element`` or of its own."""

    @register_kernel(name, dtypes=dtypes, min_size=min_size, halves=True, bitwise=bitwise)
    def make(generic: Any) -> Any:
        def run(x: Any, dim: Any, keepdim: bool) -> Any:
            found = layout_of(x.shape, x.strides, x.itemsize, dim)
            if found is None:
                return generic(x, dim, keepdim)
            return shaped(found, keepdim, reduced_values(x, found, kind, element), x if element is None else None)

        return run


reduction_kernel("core::sum", SUM, f"{REAL} int64", min_size=2 * MIN_SIZE)
reduction_kernel("core::integer_sum", SUM, "bool uint8 int8 int16 int32", element=np.int64)
reduction_kernel("core::prod", PRODUCT, f"{REAL} int64")
reduction_kernel("core::integer_prod", PRODUCT, "bool uint8 int8 int16 int32", element=np.int64)
reduction_kernel("core::nansum", NUMBERS, REAL)
reduction_kernel("core::amax", LARGEST, f"{REAL} {WHOLE}", bitwise=True)
reduction_kernel("core::amin", SMALLEST, f"{REAL} {WHOLE}", bitwise=True)
reduction_kernel("core::all", ALL, f"{REAL} int16 int32 int64", bitwise=True, element=np.bool_)
reduction_kernel("core::any", ANY, f"{REAL} int16 int32 int64", bitwise=True, element=np.bool_)


def byte_reduction_kernel(name: str, kind: Any) -> None:
    """Register `all` or `any` of bytes, which are the smallest and the largest one."""

    @register_kernel(name, dtypes="bool uint8 int8", min_size=MIN_SIZE, bitwise=True)
    def make(generic: Any) -> Any:
        def run(x: Any, dim: Any, keepdim: bool) -> Any:
            found = layout_of(x.shape, x.strides, 1, dim)
            if found is None:
                return generic(x, dim, keepdim)
            y = reduced_values(x.view(np.uint8), found, kind) != 0
            return shaped(found, keepdim, y.view(np.uint8) if x.dtype == np.uint8 else y)

        return run


byte_reduction_kernel("core::all", SMALLEST)
byte_reduction_kernel("core::any", LARGEST)


@register_kernel("core::mean", dtypes=REAL, min_size=2 * MIN_SIZE, halves=True)
def mean_kernel(generic: Any) -> Any:
    def run(x: Any, dim: Any, keepdim: bool) -> Any:
        found = layout_of(x.shape, x.strides, x.itemsize, dim)
        if found is None:
            return generic(x, dim, keepdim)
        return shaped(found, keepdim, reduced_values(x, found, SUM, count=float(found.reduced)), x)

    return run


@register_kernel("core::count_nonzero", dtypes=f"{REAL} {WHOLE}", min_size=MIN_SIZE, halves=True, bitwise=True)
def count_nonzero_kernel(generic: Any) -> Any:
    def run(x: Any, dim: Any) -> Any:
        dims = tuple(range(x.ndim)) if dim is None else dim if isinstance(dim, tuple) else (dim,)
        found = layout_of(x.shape, x.strides, x.itemsize, dims)
        return generic(x, dim) if found is None else shaped(found, False, reduced_values(x, found, NONZERO, np.int64))

    return run


@register_kernel("core::var", dtypes=REAL, min_size=MIN_SIZE, halves=True)
def var_kernel(generic: Any) -> Any:
    def run(x: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
        found = layout_of(x.shape, x.strides, x.itemsize, dim)
        if found is None:
            return generic(x, dim, correction, keepdim)
        centers = reduced_values(x, found, SUM, count=float(found.reduced))
        free = float(max(found.reduced - correction, 0))
        return shaped(found, keepdim, reduced_values(x, found, DEVIATIONS, count=free, centers=centers), x)

    return run


@register_kernel("core::logsumexp", dtypes=REAL, min_size=MIN_SIZE, halves=True)
def logsumexp_kernel(generic: Any) -> Any:
    def run(x: Any, dim: Any, keepdim: bool) -> Any:
        found = layout_of(x.shape, x.strides, x.itemsize, dim)
        if found is None:
            return generic(x, dim, keepdim)
        peaks = reduced_values(x, found, LARGEST)
        peaks[~np.isfinite(peaks)] = 0
        return shaped(found, keepdim, reduced_values(x, found, EXPONENTIALS, centers=peaks), x)

    return run


NORMS = {1: DISTANCES, 2: SQUARES, math.inf: FARTHEST}


@register_kernel("core::vector_norm", dtypes=REAL, min_size=MIN_SIZE, halves=True)
def norm_kernel(generic: Any) -> Any:
    def run(x: Any, ord: float, dim: Any, keepdim: bool) -> Any:
        found = layout_of(x.shape, x.strides, x.itemsize, dim) if ord in NORMS else None
        if found is None:
            return generic(x, ord, dim, keepdim)
        return shaped(found, keepdim, reduced_values(x, found, NORMS[ord]), x)

    return run


# Extremes and their indices


@intrinsic
def exceeds(typingctx: Any, kind: Any, a: Any, b: Any) -> Any:
    """Whether a number is more (less) than another one, or one of them nan."""
    comparison = ">" if len(kind) == len(LARGEST) else "<"

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if isinstance(a, types.Float):
            return builder.fcmp_unordered(comparison, *args[1:])
        compare = builder.icmp_signed if getattr(a, "signed", False) else builder.icmp_unsigned
        return compare(comparison, *args[1:])

    return types.boolean(kind, a, a), generate


@loop
def places_in_lines(kind, x, values, places, parts, lo, hi):
    for item in range(lo, hi):
        outer, start = item // parts, item % parts * WIDTH
        stop = min(start + WIDTH, np.uintp(x.shape[2]))
        source, best, at = x[outer, 0, start:stop], values[outer, start:stop], places[outer, start:stop]
        for i in range(best.size):
            best[i], at[i] = source[i], 0
        for j in range(1, x.shape[1]):
            source = x[outer, j, start:stop]
            for i in range(best.size):
                take = exceeds(kind, source[i], best[i]) & (best[i] == best[i])  # the first nan stays
                best[i] = source[i] if take else best[i]
                at[i] = j if take else at[i]


@loop
def places_in_rows(kind, x, values, places, lo, hi):
    for row in range(lo, hi):
        best = x[row, 0]
        for i in range(np.uintp(x.shape[1])):
            best = step(kind, best, x[row, i], best)
        at = np.uintp(0)
        if best == best:
            while x[row, at] != best:
                at += np.uintp(1)
        else:
            while x[row, at] == x[row, at]:
                at += np.uintp(1)
        values[row, 0], places[row, 0] = x[row, at], at


@launcher
def places_along_rows(kind, x, values, places):
    parallel(places_in_rows, (kind, x, values, places), np.uintp(len(x)), x.size)


@launcher
def places_along_lines(kind, x, values, places):
    parts = (np.uintp(x.shape[2]) + WIDTH - np.uintp(1)) // WIDTH
    parallel(places_in_lines, (kind, x, values, places, parts), np.uintp(x.shape[0]) * parts, x.size)


def extremes_along(x: Any, dim: int, keepdim: bool, kind: Any) -> Any:
    """The extremes along a dimension and their places; None if the array is empty or has no dimension."""
    if not x.ndim or not x.size:
        return None
    shape = x.shape
    outer, _, inner = outer_size_inner(shape, dim)
    made = (*shape[:dim], 1, *shape[dim + 1 :]) if keepdim else (*shape[:dim], *shape[dim + 1 :])
    values, places = np.empty((outer, inner), x.dtype), np.empty((outer, inner), np.int64)
    ordered = contiguous(x)
    if inner == 1:
        places_along_rows(kind, ordered.reshape(outer, shape[dim]), values, places)
    else:
        places_along_lines(kind, ordered.reshape(outer, shape[dim], inner), values, places)
    return values.reshape(made), places.reshape(made)


def extreme_kernels(name: str, kind: Any) -> None:
    """Register the op that finds extremes along a dimension, and the one that finds their places."""

    @register_kernel(f"core::{name}", dtypes=f"{REAL} {WHOLE}", min_size=MIN_SIZE, bitwise=True)
    def make(generic: Any) -> Any:
        def run(x: Any, dim: int, keepdim: bool) -> Any:
            found = extremes_along(x, dim, keepdim, kind)
            return generic(x, dim, keepdim) if found is None else found

        return run

    @register_kernel(f"core::arg{name}", dtypes=f"{REAL} {WHOLE}", min_size=MIN_SIZE, bitwise=True)
    def make_places(generic: Any) -> Any:
        def run(x: Any, dim: Any, keepdim: bool) -> Any:
            if dim is None or x.shape[dim:] == x.shape[-1:]:  # NumPy's goes through rows in vectors
                return generic(x, dim, keepdim)
            found = extremes_along(x, dim, keepdim, kind)
            return generic(x, dim, keepdim) if found is None else found[1]

        return run


extreme_kernels("max", LARGEST)
extreme_kernels("min", SMALLEST)
