"""Layers of LSTM, GRU and Elman networks over whole sequences, forward and backward.

What all steps have in common are single products: the projection of the input, and the gradients of the weights. The
rest is one loop over all steps, in which each thread has sequences of its own, so that none waits for another: the
product of a step, with the weights packed once for all steps (`packed_gemm`), and elementwise work, row by row, by
functions of one number of each array (`simd_loop`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft import bfloat16, dtype, float32, float64
from weft.backend_cpu import libraries, threads
from weft.backend_cpu.compiled.codegen.float16 import BITS, narrow
from weft.backend_cpu.compiled.codegen.mathematics import function, like, sigmoid, tanh
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.codegen.simd_loop import simd_loop
from weft.backend_cpu.compiled.kernels.layouts import contiguous
from weft.backend_cpu.compiled.kernels.packed_gemm import HAS_PAIRS, PAIRS, add_product, in_panels, products_of_columns
from weft.backend_cpu.registry import MIN_SIZE, register_kernel

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]

REAL = "float32 float64"
MIN_GATES = MIN_SIZE // 8  # elements of all gates: a step of NumPy's loop costs as much as thousands of them do here
MAX_TRANSPOSED = 1 << 14  # elements of weights that are worth being transposed for a vector's steps (measured)
MIN_PRODUCT = 1 << 16  # elements of weights whose gradients are computed here (measured)
MIN_COLUMNS = 128  # of a thread in these products: each reads all of one matrix
MIN_ROWS_RATIO = 4  # times the columns of a product, from which it may be computed transposed (measured)
MIN_STEPS = 4  # that are worth transposing the weights (measured)
WORK = 12  # simple operations that all gates of one element count as
TERMS = 8  # of a product that count as one

# How a step's product is computed
OUTSIDE, IN_PANELS, BY_ROWS, BY_SUMS, IN_PAIRS = range(5)


# A step's product, in a compiled loop over all steps


@loop
def add_sums(vector, matrix, result):
    """Add the transposed matrix times a vector to the result; four rows of the matrix at a time."""
    size, whole = matrix.shape[1], matrix.shape[0] // 4 * 4
    for i in range(0, whole, 4):
        first, second, third, fourth = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        a, b, c, d = like(vector[0], 0.0), like(vector[0], 0.0), like(vector[0], 0.0), like(vector[0], 0.0)
        for k in range(size):
            a += vector[k] * first[k]
            b += vector[k] * second[k]
            c += vector[k] * third[k]
            d += vector[k] * fourth[k]
        result[i] += a
        result[i + 1] += b
        result[i + 2] += c
        result[i + 3] += d
    for i in range(whole, matrix.shape[0]):
        a = like(vector[0], 0.0)
        for k in range(size):
            a += vector[k] * matrix[i, k]
        result[i] += a


@loop
def add_rows(vector, matrix, result):
    """Add a vector times a matrix to the result; four rows of the matrix at a time."""
    size, whole = result.size, vector.size // 4 * 4
    for k in range(0, whole, 4):
        a, b, c, d = vector[k], vector[k + 1], vector[k + 2], vector[k + 3]
        first, second, third, fourth = matrix[k], matrix[k + 1], matrix[k + 2], matrix[k + 3]
        for j in range(size):
            result[j] += (a * first[j] + b * second[j]) + (c * third[j] + d * fourth[j])
    for k in range(whole, vector.size):
        a, first = vector[k], matrix[k]
        for j in range(size):
            result[j] += a * first[j]


@loop
def add_step(source, place, weight, way, target, first, count, step):
    """Add rows of the source, ``count`` from ``place`` on, times the weight, as `arranged` gives it, to the target's.

    One sequence is a vector, for which a product is not worth panels.
    """
    if way == IN_PANELS:
        add_product(source, place, weight, target, first, count, step % 2 == 1)
    elif way == BY_ROWS:
        add_rows(source[place], weight[0], target[first])
    elif way == BY_SUMS:
        add_sums(source[place], weight[0], target[first])


@loop
def sequences(sizes, lo, hi):
    """The sequences of a part of all their elements, from the first up to the last: those that begin in it."""
    first, last, begin, length = 0, 0, 0, sizes.size
    for n in range(sizes[0]):
        first += begin < lo
        last += begin < hi
        while sizes[length - 1] <= n:
            length -= 1
        begin += length
    return first, last


@loop
def set_input_gradient(slopes, weight, by_input, sizes, first, end):
    """Set the gradient of the input of some sequences, unless there are no panels of the weight for it."""
    start = 0
    for k in range(sizes.size if weight.shape[0] else 0):
        last, place = min(end, sizes[k]), start + first
        if first < last:
            by_input[place : start + last] = 0
            add_product(slopes, place, weight, by_input, place, last - first, k % 2 == 1)
        start += sizes[k]


@loop
def work_of(arrays, weight, operations):
    """What `parallel` takes for a loop over all steps: one sequence is one thread's."""
    rows, size = arrays[0].shape[0], arrays[1].shape[1]
    return rows * (size * operations + weight.size // TERMS) if arrays[1].shape[0] > 1 else 0


@loop
def step_at(sizes, k, reverse, stop):
    """The rows of the k-th step, counted from the last in reverse: the first, how many, and where it ends.

    The gradients run the other way than the steps did.
    """
    count = sizes[sizes.size - 1 - k if reverse else k]
    start = stop - count if reverse else stop
    return start, count, start if reverse else start + count


@loop
def copy_rows(source, first, target, place, count):
    """Rows that follow each other, from one array to another."""
    of, to = source[first : first + count].reshape(-1), target[place : place + count].reshape(-1)
    for j in range(np.uintp(of.size)):
        to[j] = of[j]


# LSTM


@function
def lstm_input(i, g):
    return sigmoid(i), tanh(g)


@function
def lstm_cell(f, o, c, before, i, g):
    f, o = sigmoid(f), sigmoid(o)
    return f, o, f * c + i * g, c


@function
def lstm_output(h, output, o, c):
    h = o * tanh(c)
    return h, h


@loop
def lstm_forward_rows(gates, h, c, before, cells, output, start, lo, hi):
    """One step of the sequences from lo to hi: three loops are a quarter faster here than one (measured)."""
    size = np.uintp(c.shape[1])
    copy_rows(h, lo, before, start + lo, hi - lo)
    for n in range(lo, hi):
        i, f, g, o = quarters(gates[start + n])
        simd_loop(lstm_input, (i, g), size)
        simd_loop(lstm_cell, (f, o, c[n], cells[start + n], i, g), size)
        simd_loop(lstm_output, (h[n], output[start + n], o, c[n]), size)


@loop
def quarters(row):
    """The parts of a row of all gates."""
    size = row.size // 4
    return row[:size], row[size : 2 * size], row[2 * size : 3 * size], row[3 * size :]


@loop
def lstm_forward_part(gates, h, c, before, cells, output, halves, bits, weight, way, sizes, reverse, lo, hi):
    """All steps of some sequences."""
    first, end = sequences(sizes, lo, hi)
    stop = gates.shape[0] if reverse else 0
    for k in range(sizes.size):
        start, count, stop = step_at(sizes, k, reverse, stop)
        last = min(end, count)
        if first < last:
            if way == IN_PAIRS:
                narrow(h[first:last], (last - first) * h.shape[1], bits, np.uintp(first * h.shape[1]))
                add_product(halves, first, weight, gates, start + first, last - first, k % 2 == 1)
            add_step(h, first, weight, way, gates, start + first, last - first, k)
            rows = np.uintp(start), np.uintp(first), np.uintp(last)
            lstm_forward_rows(gates, h, c, before, cells, output, *rows)


@launcher
def lstm_forward(gates, h, c, before, cells, output, halves, bits, weight, way, sizes, reverse):
    arrays = (gates, h, c, before, cells, output, halves, bits, weight, way, sizes, reverse)
    parallel(lstm_forward_part, arrays, gates.shape[0], work_of((gates, h), weight, WORK))


@function
def lstm_step_back(by_i, by_f, by_g, by_o, sum_i, sum_f, sum_g, sum_o, by_c, by_h, more, i, f, g, o, c):
    """The gradients of one number of each gate, their sums, those of c before the step, and 0 for that of h."""
    one, by_h = like(i, 1.0), by_h + more
    through = tanh(f * c + i * g)
    by_c += by_h * o * (one - through * through)
    by_i = by_c * g * (i * (one - i))
    by_f = by_c * c * (f * (one - f))
    by_g = by_c * i * (one - g * g)
    by_o = by_h * through * (o * (one - o))
    sums = sum_i + by_i, sum_f + by_f, sum_g + by_g, sum_o + by_o
    return by_i, by_f, by_g, by_o, *sums, by_c * f, like(i, 0.0)


@loop
def lstm_backward_rows(gates, cells, grad, by_h, by_c, by_gates, total, start, lo, hi):
    """One step back: from the gradients of h and c after it to those of its gates, and of c before it; h's become 0."""
    size = np.uintp(cells.shape[1])
    for n in range(lo, hi):
        more = grad[start + n] if grad.shape[0] > 1 else grad[0]
        result, sums, gate = quarters(by_gates[start + n]), quarters(total), quarters(gates[start + n])
        simd_loop(lstm_step_back, (*result, *sums, by_c[n], by_h[n], more, *gate, cells[start + n]), size)


@loop
def lstm_backward_part(
    gates, cells, grad, by_h, by_c, by_gates, totals, weight, way, weight_ih, by_x, sizes, reverse, lo, hi
):
    """All steps of some sequences, the last one that ran first."""
    first, end = sequences(sizes, lo, hi)
    stop = 0 if reverse else gates.shape[0]
    for k in range(sizes.size):
        start, count, stop = step_at(sizes, k, not reverse, stop)
        last = min(end, count)
        if first < last:
            rows = np.uintp(start), np.uintp(first), np.uintp(last)
            lstm_backward_rows(gates, cells, grad, by_h, by_c, by_gates, totals[first], *rows)
            add_step(by_gates, start + first, weight, way, by_h, first, last - first, k)
    set_input_gradient(by_gates, weight_ih, by_x, sizes, first, end)


@launcher
def lstm_backward(gates, cells, grad, by_h, by_c, by_gates, totals, weight, way, weight_ih, by_x, sizes, reverse):
    arrays = (gates, cells, grad, by_h, by_c, by_gates, totals, weight, way, weight_ih, by_x, sizes, reverse)
    parallel(lstm_backward_part, arrays, gates.shape[0], work_of((gates, by_h), weight, WORK))


# GRU


@function
def gru_gates(r, z, more_r, more_z):
    return sigmoid(r + more_r), sigmoid(z + more_z)


@function
def gru_output(m, h, new, before, output, inner, r, z):
    m = tanh(m + r * inner)
    new_h = m + z * (h - m)
    return m, new_h, inner, h, new_h


@loop
def thirds(row):
    """The parts of a row of all gates."""
    size = row.size // 3
    return row[:size], row[size : 2 * size], row[2 * size :]


@loop
def gru_forward_rows(gates, product, h, before, news, output, start, lo, hi):
    """One step of the sequences from lo to hi: ``product`` is what h adds to the gates."""
    size = np.uintp(h.shape[1])
    for n in range(lo, hi):
        (r, z, m), (more_r, more_z, inner) = thirds(gates[start + n]), thirds(product[n])
        simd_loop(gru_gates, (r, z, more_r, more_z), size)
        simd_loop(gru_output, (m, h[n], news[start + n], before[start + n], output[start + n], inner, r, z), size)


@loop
def gru_forward_part(gates, h, product, bias, before, news, output, weight, way, sizes, reverse, lo, hi):
    """All steps of some sequences; ``product`` is the memory for one."""
    first, end = sequences(sizes, lo, hi)
    stop = gates.shape[0] if reverse else 0
    for k in range(sizes.size):
        start, count, stop = step_at(sizes, k, reverse, stop)
        last = min(end, count)
        if first < last:
            if way != OUTSIDE:
                for n in range(first, last):
                    product[n] = bias
                add_step(h, first, weight, way, product, first, last - first, k)
            rows = np.uintp(start), np.uintp(first), np.uintp(last)
            gru_forward_rows(gates, product, h, before, news, output, *rows)


@launcher
def gru_forward(gates, h, product, bias, before, news, output, weight, way, sizes, reverse):
    arrays = (gates, h, product, bias, before, news, output, weight, way, sizes, reverse)
    parallel(gru_forward_part, arrays, gates.shape[0], work_of((gates, h), weight, WORK))


@function
def gru_step_back(by_r, by_z, by_m, also_r, also_z, by_inner, by_h, more, r, z, m, before, new):
    """The gradients of one number of each gate in both products, and of what of h goes past them."""
    one, by_h = like(r, 1.0), by_h + more
    by_m = by_h * (one - z) * (one - m * m)
    by_z = by_h * (before - m) * (z * (one - z))
    by_r = by_m * new * (r * (one - r))
    return by_r, by_z, by_m, by_r, by_z, by_m * r, by_h * z


@loop
def gru_backward_rows(gates, before, news, grad, by_h, by_input, by_hidden, start, lo, hi):
    """One step back: to the gradients of both parts of its gates, and what of h goes past them."""
    size = np.uintp(before.shape[1])
    for n in range(lo, hi):
        more = grad[start + n] if grad.shape[0] > 1 else grad[0]
        slopes, gate = (*thirds(by_input[start + n]), *thirds(by_hidden[start + n])), thirds(gates[start + n])
        simd_loop(gru_step_back, (*slopes, by_h[n], more, *gate, before[start + n], news[start + n]), size)


@loop
def gru_backward_part(
    gates, before, news, grad, by_h, by_input, by_hidden, weight, way, weight_ih, by_x, sizes, reverse, lo, hi
):
    """All steps of some sequences, the last one that ran first."""
    first, end = sequences(sizes, lo, hi)
    stop = 0 if reverse else gates.shape[0]
    for k in range(sizes.size):
        start, count, stop = step_at(sizes, k, not reverse, stop)
        last = min(end, count)
        if first < last:
            rows = np.uintp(start), np.uintp(first), np.uintp(last)
            gru_backward_rows(gates, before, news, grad, by_h, by_input, by_hidden, *rows)
            add_step(by_hidden, start + first, weight, way, by_h, first, last - first, k)
    set_input_gradient(by_input, weight_ih, by_x, sizes, first, end)


@launcher
def gru_backward(gates, before, news, grad, by_h, by_input, by_hidden, weight, way, weight_ih, by_x, sizes, reverse):
    arrays = (gates, before, news, grad, by_h, by_input, by_hidden, weight, way, weight_ih, by_x, sizes, reverse)
    parallel(gru_backward_part, arrays, gates.shape[0], work_of((gates, by_h), weight, WORK))


# Elman's


@function
def rnn_step(state, h, before, output):
    state = tanh(state)
    return state, state, h, state


@function
def rnn_rectified_step(state, h, before, output):
    state = state if state > 0 or state != state else like(state, 0.0)
    return state, state, h, state


@loop
def rnn_forward_rows(states, h, before, output, rectified, start, lo, hi):
    """One step of the sequences from lo to hi."""
    size = np.uintp(h.shape[1])
    for n in range(lo, hi):
        rows = states[start + n], h[n], before[start + n], output[start + n]
        if rectified:
            simd_loop(rnn_rectified_step, rows, size)
        else:
            simd_loop(rnn_step, rows, size)


@loop
def rnn_forward_part(states, h, before, output, rectified, weight, way, sizes, reverse, lo, hi):
    """All steps of some sequences."""
    first, end = sequences(sizes, lo, hi)
    stop = states.shape[0] if reverse else 0
    for k in range(sizes.size):
        start, count, stop = step_at(sizes, k, reverse, stop)
        last = min(end, count)
        if first < last:
            add_step(h, first, weight, way, states, start + first, last - first, k)
            rows = np.uintp(start), np.uintp(first), np.uintp(last)
            rnn_forward_rows(states, h, before, output, rectified, *rows)


@launcher
def rnn_forward(states, h, before, output, rectified, weight, way, sizes, reverse):
    arrays = (states, h, before, output, rectified, weight, way, sizes, reverse)
    parallel(rnn_forward_part, arrays, states.shape[0], work_of((states, h), weight, 4))


@function
def rnn_step_back(by_sum, by_h, more, state):
    return (by_h + more) * (like(state, 1.0) - state * state), like(state, 0.0)


@function
def rnn_rectified_step_back(by_sum, by_h, more, state):
    zero = like(state, 0.0)
    return by_h + more if state > 0 else zero, zero


@loop
def rnn_backward_rows(states, grad, by_h, by_sum, rectified, start, lo, hi):
    """One step back: to the gradient of what the activation takes; that of h becomes 0."""
    size = np.uintp(states.shape[1])
    for n in range(lo, hi):
        more = grad[start + n] if grad.shape[0] > 1 else grad[0]
        rows = by_sum[start + n], by_h[n], more, states[start + n]
        if rectified:
            simd_loop(rnn_rectified_step_back, rows, size)
        else:
            simd_loop(rnn_step_back, rows, size)


@loop
def rnn_backward_part(states, grad, by_h, by_sum, rectified, weight, way, weight_ih, by_x, sizes, reverse, lo, hi):
    """All steps of some sequences, the last one that ran first."""
    first, end = sequences(sizes, lo, hi)
    stop = 0 if reverse else states.shape[0]
    for k in range(sizes.size):
        start, count, stop = step_at(sizes, k, not reverse, stop)
        last = min(end, count)
        if first < last:
            rows = np.uintp(start), np.uintp(first), np.uintp(last)
            rnn_backward_rows(states, grad, by_h, by_sum, rectified, *rows)
            add_step(by_sum, start + first, weight, way, by_h, first, last - first, k)
    set_input_gradient(by_sum, weight_ih, by_x, sizes, first, end)


@launcher
def rnn_backward(states, grad, by_h, by_sum, rectified, weight, way, weight_ih, by_x, sizes, reverse):
    arrays = (states, grad, by_h, by_sum, rectified, weight, way, weight_ih, by_x, sizes, reverse)
    parallel(rnn_backward_part, arrays, states.shape[0], work_of((states, by_h), weight, 2))


# Products


def arranged(weight: Array, flipped: bool, rows: int, steps: int) -> tuple[Array, int]:
    """The weight, or its transpose, as the loop over all steps takes it, and how the loop computes its product.

    The product of a single step of several sequences is computed `OUTSIDE`, before the loop or after it.
    """
    if rows > 1:
        return (weight.reshape(1, *weight.shape), OUTSIDE) if steps == 1 else (in_panels(weight, flipped), IN_PANELS)
    if flipped and (weight.size > MAX_TRANSPOSED or steps < MIN_STEPS):
        return weight.reshape(1, *weight.shape), BY_SUMS
    matrix = contiguous(weight.T) if flipped else weight
    return matrix.reshape(1, *matrix.shape), BY_ROWS


def arranged_pairs(weight: Array, rows: int, steps: int) -> tuple[Array, int]:
    """The transpose of the weight as `arranged` gives it; of bfloat16 in pairs, where the processor multiplies them."""
    if weight.dtype != BFLOAT:
        return arranged(contiguous(weight), True, rows, steps)
    if not HAS_PAIRS or rows == 1 or steps == 1 or weight.shape[1] % 2:
        return arranged(contiguous(converted(weight, float32)), True, rows, steps)
    return in_panels(contiguous(weight).view(np.float32), True).view(PAIRS), IN_PAIRS


def for_input(weight_ih: Array, gates: Array, way: int, wanted: bool) -> tuple[Array, Array]:
    """The weight in panels for the gradient of the input, and memory for it, if the loop over all steps sets it.

    That is where it computes products itself. Otherwise both are empty.
    """
    if wanted and way == IN_PANELS and weight_ih.dtype == gates.dtype:
        return in_panels(contiguous(weight_ih), False), new(gates.shape[0], weight_ih.shape[1], gates)
    return np.empty((0, 1, 1), gates.dtype), new(0, 1, gates)


def plain_linear(input: Array, weight: Array, bias: Array | None) -> Array:
    result = np.matmul(input, weight.T)
    if bias is not None:
        result += bias
    return result


def projection(input: Array, weight: Array, bias: Array | None) -> Array:
    """The input of all steps times its weights."""
    if input.dtype == BFLOAT:
        result = product_of_halves(input, weight.T)
        return result if bias is None else np.add(result, bias, out=result)
    element = float32 if input.dtype == np.float32 else float64
    best = libraries.kernel("nn::linear", element, plain_linear) or plain_linear
    return best(input, weight, bias)  # type: ignore[no-any-return]


BFLOAT = bfloat16.numpy


def converted(array: Array, element: dtype) -> Array:
    """An array in another dtype, if it is of one."""
    if array.dtype == element.numpy:
        return array
    own = bfloat16 if array.dtype == BFLOAT else float32
    convert = libraries.kernel("core::convert", own, plain_convert) or plain_convert
    result: Array = convert(array, element)
    return result


def plain_convert(array: Array, element: dtype) -> Array:
    return array.astype(element.numpy)


def product_of_halves(a: Array, b: Array) -> Array:
    """The product of matrices of bfloat16, or of one of them and one to be rounded to it, in float32."""
    if any(each.__name__.endswith(".onednn") for each in libraries.available()):
        from weft.backend_cpu.onednn.matmul import multiply

        shape = a.shape[0], b.shape[1]
        found = multiply(converted(a, bfloat16), converted(b, bfloat16), None, shape, into=np.float32)
        if found is not None:
            return found
    return matmul(converted(a, float32), converted(b, float32))


def bfloat16_kernel(name: str, maker: Callable[[Kernel], Kernel], *operands: int) -> None:
    """Register an op on bfloat16 by its kernel of float32; it gets operands of its products as they are."""

    @register_kernel(name, dtypes="bfloat16", min_size=0, checks_size=True)
    def make(generic: Kernel) -> Kernel:
        run = maker(no_kernel)

        def in_single(*args: Any) -> Any:
            arrays = [each for each in args if isinstance(each, np.ndarray)]
            if any(each.dtype != BFLOAT for each in arrays) or not all(each.size for each in arrays):
                return generic(*args)
            wide = [
                converted(each, float32) if isinstance(each, np.ndarray) and place not in operands else each
                for place, each in enumerate(args)
            ]
            found = run(*wide)
            return generic(*args) if found is None else tuple(converted(each, bfloat16) for each in found)

        return in_single


def no_kernel(*args: Any) -> None:
    """Stands for the generic kernel where the caller has a better fallback."""


def matmul(a: Array, b: Array) -> Array:
    """The product of two matrices by the best library."""
    if BFLOAT in (a.dtype, b.dtype):
        return product_of_halves(a, b)
    best = libraries.kernel("core::matmul", float32 if a.dtype == np.float32 else float64, np.matmul) or np.matmul
    result: Array = best(a, b)
    return result


def parallel_copy(array: Array) -> Array:
    """A copy in order, by as many threads as it is worth."""
    element = float32 if array.dtype == np.float32 else float64
    copy = libraries.kernel("core::contiguous_copy", element, np.ascontiguousarray) or np.ascontiguousarray
    result: Array = copy(array)
    return result


def product_of_columns(a: Array, b: Array) -> Array:
    """``a.T @ b``: of many rows by way of its transpose, where the library has less to transpose (measured)."""
    if a.shape[1] > b.shape[1] and a.shape[0] >= MIN_ROWS_RATIO * b.shape[1]:
        return parallel_copy(matmul(b.T, a).T)
    return matmul(a.T, b)


def products_for_weights(
    by_input: Array, by_hidden: Array, input: Array, before: Array, needs: Sequence[bool]
) -> list[Array | None]:
    """The gradients of both weights that are asked for: those of large ones of one layer together."""
    pairs = [(by_input, input), (by_hidden, before)]
    if by_input is by_hidden and all(needs) and is_for_panels(*pairs[0]) and is_for_panels(*pairs[1]):
        return list(products_of_columns(by_input, contiguous(input), before))
    return [product_of_columns(*pair) if wanted else None for pair, wanted in zip(pairs, needs)]


def is_for_panels(a: Array, b: Array) -> bool:
    """Whether ``a.T @ b`` is not left to a library, which takes a sixth longer on two threads (measured)."""
    is_large = a.shape[1] * b.shape[1] >= MIN_PRODUCT and a.shape[1] >= MIN_COLUMNS * threads.count()
    return is_large and a.dtype == b.dtype == np.float32


def weight_gradients(
    by_input: Array,
    by_hidden: Array,
    input: Array,
    before: Array,
    weight_ih: Array,
    by_x: Array,
    needs: Sequence[bool],
    totals: Array | None = None,
) -> list[Array | None]:
    """The gradients of input, weight_ih, weight_hh, bias_ih and bias_hh that are asked for.

    That of the input is ``by_x``, unless this is empty. ``totals`` have the same sum as the rows of ``by_input``.
    """
    products = products_for_weights(by_input, by_hidden, input, before, needs[1:3])
    rules = (
        lambda: by_x if by_x.size else matmul(by_input, weight_ih),
        lambda: products[0],
        lambda: products[1],
        lambda: np.add.reduce(by_input if totals is None else totals, axis=0),
        lambda: np.add.reduce(by_hidden, axis=0),
    )
    both_biases = by_input is by_hidden and needs[3] and needs[4]
    found = [rule() if wanted else None for rule, wanted in zip(rules[: 4 if both_biases else 5], needs)]
    return [*found, np.copy(found[3])] if both_biases else found  # type: ignore[arg-type]


# What ops call


def have_one_dtype(arrays: Sequence[Array | None]) -> bool:
    """Whether all are of one dtype, but for what is bfloat16 beside float32."""
    found = {each.dtype for each in arrays if each is not None}
    return len(found) == 1 or found == {np.dtype(np.float32), BFLOAT}


def state_of(grad: Array | None, shape: tuple[int, int], element: Any) -> Array:
    """The gradient of a last state, in memory that may be written to."""
    return np.zeros(shape, element) if grad is None else np.array(grad, order="C")


def grad_of(grad: Array | None, width: int, element: Any) -> Array:
    """The gradient of the outputs, or a row of zeros for all of them."""
    return np.zeros((1, width), element) if grad is None else contiguous(grad)


def new(rows: int, columns: int, like: Array) -> Array:
    return np.empty((rows, columns), like.dtype)


def both(first: Array | None, second: Array | None) -> Array | None:
    """The sum of two biases."""
    return first if second is None else second if first is None else first + second


@register_kernel("nn::lstm_layer", dtypes=REAL, min_size=0, checks_size=True)
def lstm_layer(generic: Kernel) -> Kernel:
    def run(
        input: Array,
        h: Array,
        c: Array,
        weight_ih: Array,
        weight_hh: Array,
        bias_ih: Array | None,
        bias_hh: Array | None,
        weight_hr: Array | None,
        sizes: tuple[int, ...],
        reverse: bool,
    ) -> Any:
        rows, batch = input.shape[0], h.shape[0]
        arrays = (input, h, c, weight_ih, weight_hh, bias_ih, bias_hh)
        if weight_hr is not None or rows * weight_hh.shape[0] < MIN_GATES or not have_one_dtype(arrays):
            return generic(*arrays, weight_hr, sizes, reverse)
        gates = projection(input, weight_ih, both(bias_ih, bias_hh))
        h, c = np.array(h, order="C"), np.array(c, order="C")
        output, before, cells = (new(rows, h.shape[1], h) for _ in range(3))
        weight, way = arranged_pairs(weight_hh, batch, len(sizes))
        if way == OUTSIDE:
            gates += matmul(h, weight_hh.T)
        halves = new(batch if way == IN_PAIRS else 0, max(h.shape[1] // 2, 1), h)
        bits = halves.view(BITS[BFLOAT]).reshape(-1)
        lstm_forward(gates, h, c, before, cells, output, halves, bits, weight, way, np.array(sizes), reverse)
        return output, h, c, gates, before, cells

    return run


@register_kernel("nn::lstm_layer_gradient", dtypes=REAL, min_size=0, checks_size=True)
def lstm_layer_gradient(generic: Kernel) -> Kernel:
    def run(
        input: Array,
        weight_ih: Array,
        weight_hh: Array,
        weight_hr: Array | None,
        gates: Array,
        before: Array,
        cells: Array,
        output_grad: Array | None,
        h_grad: Array | None,
        c_grad: Array | None,
        sizes: tuple[int, ...],
        reverse: bool,
        needs: tuple[bool, ...],
    ) -> Any:
        arrays = (gates, before, cells, output_grad, h_grad, c_grad)
        if (
            weight_hr is not None
            or gates.size < MIN_GATES
            or not have_one_dtype((input, weight_ih, weight_hh, *arrays))
        ):
            return generic(input, weight_ih, weight_hh, weight_hr, *arrays, sizes, reverse, needs)
        shape = sizes[0], cells.shape[1]
        by_h, by_c = state_of(h_grad, shape, gates.dtype), state_of(c_grad, shape, gates.dtype)
        by_gates, totals = np.empty_like(gates, order="C"), np.zeros((sizes[0], gates.shape[1]), gates.dtype)
        grad = grad_of(output_grad, shape[1], gates.dtype)
        gates, cells = contiguous(gates), contiguous(cells)
        weight, way = arranged(contiguous(weight_hh), False, sizes[0], len(sizes))
        panels, by_x = for_input(weight_ih, gates, way, needs[0])
        states = by_h, by_c, by_gates, totals
        lstm_backward(gates, cells, grad, *states, weight, way, panels, by_x, np.array(sizes), reverse)
        if way == OUTSIDE:
            by_h += matmul(by_gates, weight_hh)
        wanted = (needs[0], *needs[3:7])
        found = weight_gradients(by_gates, by_gates, input, before, weight_ih, by_x, wanted, totals)
        by_input, *by_parameters = found
        return asked((by_input, by_h if needs[1] else None, by_c if needs[2] else None, *by_parameters))

    return run


def asked(results: Sequence[Array | None]) -> tuple[Array, ...]:
    """The gradients that were asked for."""
    return tuple(each for each in results if each is not None)


@register_kernel("nn::gru_layer", dtypes=REAL, min_size=0, checks_size=True)
def gru_layer(generic: Kernel) -> Kernel:
    def run(
        input: Array,
        h: Array,
        weight_ih: Array,
        weight_hh: Array,
        bias_ih: Array | None,
        bias_hh: Array | None,
        sizes: tuple[int, ...],
        reverse: bool,
    ) -> Any:
        rows, batch = input.shape[0], h.shape[0]
        arrays = (input, h, weight_ih, weight_hh, bias_ih, bias_hh)
        if rows * weight_hh.shape[0] < MIN_GATES or not have_one_dtype(arrays):
            return generic(*arrays, sizes, reverse)
        gates = projection(input, weight_ih, bias_ih)
        bias = np.zeros(gates.shape[1], gates.dtype) if bias_hh is None else contiguous(bias_hh)
        h = np.array(h, order="C")
        output, before, news = (new(rows, h.shape[1], h) for _ in range(3))
        weight, way = arranged(contiguous(weight_hh), True, batch, len(sizes))
        product = matmul(h, weight_hh.T) + bias if way == OUTSIDE else new(batch, gates.shape[1], gates)
        gru_forward(gates, h, product, bias, before, news, output, weight, way, np.array(sizes), reverse)
        return output, h, gates, before, news

    return run


@register_kernel("nn::gru_layer_gradient", dtypes=REAL, min_size=0, checks_size=True)
def gru_layer_gradient(generic: Kernel) -> Kernel:
    def run(
        input: Array,
        weight_ih: Array,
        weight_hh: Array,
        gates: Array,
        before: Array,
        news: Array,
        output_grad: Array | None,
        h_grad: Array | None,
        sizes: tuple[int, ...],
        reverse: bool,
        needs: tuple[bool, ...],
    ) -> Any:
        arrays = (input, weight_ih, weight_hh, gates, before, news, output_grad, h_grad)
        if gates.size < MIN_GATES or not have_one_dtype(arrays):
            return generic(*arrays, sizes, reverse, needs)
        by_h = state_of(h_grad, (sizes[0], before.shape[1]), gates.dtype)
        by_hidden, by_input = np.empty_like(gates, order="C"), np.empty_like(gates, order="C")
        kept, grad = (
            (contiguous(gates), contiguous(before), contiguous(news)),
            grad_of(output_grad, before.shape[1], gates.dtype),
        )
        weight, way = arranged(contiguous(weight_hh), False, sizes[0], len(sizes))
        panels, by_x = for_input(weight_ih, gates, way, needs[0])
        gru_backward(*kept, grad, by_h, by_input, by_hidden, weight, way, panels, by_x, np.array(sizes), reverse)
        if way == OUTSIDE:
            by_h += matmul(by_hidden, weight_hh)
        wanted = (needs[0], *needs[2:])
        found, *by_parameters = weight_gradients(by_input, by_hidden, input, before, weight_ih, by_x, wanted)
        return asked((found, by_h if needs[1] else None, *by_parameters))

    return run


@register_kernel("nn::rnn_layer", dtypes=REAL, min_size=0, checks_size=True)
def rnn_layer(generic: Kernel) -> Kernel:
    def run(
        input: Array,
        h: Array,
        weight_ih: Array,
        weight_hh: Array,
        bias_ih: Array | None,
        bias_hh: Array | None,
        sizes: tuple[int, ...],
        reverse: bool,
        rectified: bool,
    ) -> Any:
        rows, batch = input.shape[0], h.shape[0]
        arrays = (input, h, weight_ih, weight_hh, bias_ih, bias_hh)
        if rows * weight_hh.shape[0] < MIN_GATES or not have_one_dtype(arrays):
            return generic(*arrays, sizes, reverse, rectified)
        states = projection(input, weight_ih, both(bias_ih, bias_hh))
        h = np.array(h, order="C")
        output, before = new(rows, h.shape[1], h), new(rows, h.shape[1], h)
        weight, way = arranged(contiguous(weight_hh), True, batch, len(sizes))
        if way == OUTSIDE:
            states += matmul(h, weight_hh.T)
        rnn_forward(states, h, before, output, rectified, weight, way, np.array(sizes), reverse)
        return output, h, states, before

    return run


@register_kernel("nn::rnn_layer_gradient", dtypes=REAL, min_size=0, checks_size=True)
def rnn_layer_gradient(generic: Kernel) -> Kernel:
    def run(
        input: Array,
        weight_ih: Array,
        weight_hh: Array,
        states: Array,
        before: Array,
        output_grad: Array | None,
        h_grad: Array | None,
        sizes: tuple[int, ...],
        reverse: bool,
        rectified: bool,
        needs: tuple[bool, ...],
    ) -> Any:
        arrays = (input, weight_ih, weight_hh, states, before, output_grad, h_grad)
        if states.size < MIN_GATES or not have_one_dtype(arrays):
            return generic(*arrays, sizes, reverse, rectified, needs)
        by_h = state_of(h_grad, (sizes[0], before.shape[1]), states.dtype)
        by_sum, grad = np.empty_like(states, order="C"), grad_of(output_grad, states.shape[1], states.dtype)
        states = contiguous(states)
        weight, way = arranged(contiguous(weight_hh), False, sizes[0], len(sizes))
        panels, by_x = for_input(weight_ih, states, way, needs[0])
        rnn_backward(states, grad, by_h, by_sum, rectified, weight, way, panels, by_x, np.array(sizes), reverse)
        if way == OUTSIDE:
            by_h += matmul(by_sum, weight_hh)
        wanted = (needs[0], *needs[2:])
        found, *by_parameters = weight_gradients(by_sum, by_sum, input, before, weight_ih, by_x, wanted)
        return asked((found, by_h if needs[1] else None, *by_parameters))

    return run


bfloat16_kernel("nn::lstm_layer", lstm_layer, 0, 3, 4)
bfloat16_kernel("nn::lstm_layer_gradient", lstm_layer_gradient, 0, 1, 5)
bfloat16_kernel("nn::gru_layer", gru_layer, 0, 2)
bfloat16_kernel("nn::gru_layer_gradient", gru_layer_gradient, 0, 1)
bfloat16_kernel("nn::rnn_layer", rnn_layer, 0, 2)
bfloat16_kernel("nn::rnn_layer_gradient", rnn_layer_gradient, 0, 1, 4)
