"""Layers of LSTM, GRU and Elman's networks over whole sequences, forward and backward.

What all steps have in common are single products: the projection of the input, and the gradients of the weights. A step
has one product left, and pointwise work, which is one loop over its sequences. Small steps run in one compiled loop,
which calls the BLAS, or for a single sequence is the product of a vector itself. In larger ones the product is
oneDNN's, with the weights arranged once for all steps, or NumPy's.

A row of the pointwise work is several loops that write to one array each: one loop that writes to many would not become
vector code, since the compiler must know that what it writes is not what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft import bfloat16, dtype, float32, float64
from weft._layout import in_order
from weft.backend_cpu import libraries
from weft.backend_cpu.compiled.mathematics import like, sigmoid, tanh
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.products import gemm, is_available, on_one_thread
from weft.backend_cpu.libraries import LEAST, serves

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]
Multiply = Callable[[Array, Array], Any]

REAL = "float32 float64"
LEAST_GATES = LEAST // 8  # elements of all gates: a step of NumPy's loop costs as much as thousands of them do here
SMALL = 1 << (19 if is_available() else 17)  # multiplications of a step that is not worth calls from Python (measured)
LARGEST_TRANSPOSED = 1 << 14  # elements of weights that are worth being transposed for a vector's steps (measured)
FEW_STEPS = 4  # that are not worth an arrangement of the weights (measured)
WORK = 12  # simple operations that all gates of one element count as


# A step's product, in a compiled loop over all steps


@loop
def set_products(vectors, matrix, result):
    """Set the result to the vectors times the transposed matrix; four rows of the matrix at a time."""
    size, whole = matrix.shape[1], matrix.shape[0] // 4 * 4
    for i in range(0, whole, 4):
        first, second, third, fourth = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        for n in range(vectors.shape[0]):
            vector = vectors[n]
            a, b, c, d = like(vector[0], 0.0), like(vector[0], 0.0), like(vector[0], 0.0), like(vector[0], 0.0)
            for k in range(size):
                a += vector[k] * first[k]
                b += vector[k] * second[k]
                c += vector[k] * third[k]
                d += vector[k] * fourth[k]
            result[n, i], result[n, i + 1], result[n, i + 2], result[n, i + 3] = a, b, c, d
    for i in range(whole, matrix.shape[0]):
        for n in range(vectors.shape[0]):
            a = like(matrix[0, 0], 0.0)
            for k in range(size):
                a += vectors[n, k] * matrix[i, k]
            result[n, i] = a


@loop
def add_product(vector, matrix, result):
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
def multiply_by_loops(h, weight, transposed, product):
    """Set the product to h times weight_hh, which is given transposed, or is not."""
    if transposed:
        product[: h.shape[0]] = 0
        for n in range(h.shape[0]):
            add_product(h[n], weight, product[n])
    else:
        set_products(h, weight, product)


@loop
def multiply_by_blas(h, weight, transposed, product):
    if h.shape[0] == 1:
        multiply_by_loops(h, weight, transposed, product)
        return
    one, zero = like(h[0, 0], 1.0), like(h[0, 0], 0.0)
    sizes, width = (h.shape[0], product.shape[1], h.shape[1]), product.shape[1]
    source, other, target = np.intp(h.ctypes.data), np.intp(weight.ctypes.data), np.intp(product.ctypes.data)
    gemm((False, not transposed), sizes, one, source, h.shape[1], other, weight.shape[1], zero, target, width)


@loop
def back_by_loops(slopes, weight, by_h):
    """Add the gradients of gates times weight_hh to those of h."""
    for n in range(slopes.shape[0]):
        add_product(slopes[n], weight, by_h[n])


@loop
def back_by_blas(slopes, weight, by_h):
    if slopes.shape[0] == 1:
        back_by_loops(slopes, weight, by_h)
        return
    one = like(slopes[0, 0], 1.0)
    sizes, width = (slopes.shape[0], by_h.shape[1], slopes.shape[1]), slopes.shape[1]
    source, other, target = np.intp(slopes.ctypes.data), np.intp(weight.ctypes.data), np.intp(by_h.ctypes.data)
    gemm((False, False), sizes, one, source, width, other, weight.shape[1], one, target, by_h.shape[1])


multiply_step, multiply_back = (
    (multiply_by_blas, back_by_blas) if is_available() else (multiply_by_loops, back_by_loops)
)


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


@loop
def lstm_forward_rows(gates, product, h, c, before, cells, output, start, lo, hi):
    """One step of the sequences from lo to hi: ``product`` is what h adds to the gates."""
    size = c.shape[1]
    copy_rows(h, lo, before, start + lo, hi - lo)
    copy_rows(c, lo, cells, start + lo, hi - lo)
    for n in range(lo, hi):
        gate, more, new_h, new_c = gates[start + n], product[n], h[n], c[n]
        i, f, g, o = gate[:size], gate[size : 2 * size], gate[2 * size : 3 * size], gate[3 * size :]
        for j in range(gate.size):
            gate[j] += more[j]
        for j in range(2 * size):
            gate[j] = sigmoid(gate[j])
        for j in range(size):
            g[j] = tanh(g[j])
        for j in range(size):
            o[j] = sigmoid(o[j])
        for j in range(size):
            new_c[j] = f[j] * new_c[j] + i[j] * g[j]
        for j in range(size):
            new_h[j] = o[j] * tanh(new_c[j])
    copy_rows(h, lo, output, start + lo, hi - lo)


@launcher
def lstm_forward_step(gates, product, h, c, before, cells, output, start, count):
    arrays = (gates, product, h, c, before, cells, output, np.uintp(start))
    parallel(lstm_forward_rows, arrays, count, WORK * count * c.shape[1])


@launcher
def lstm_forward_steps(gates, weight, h, c, before, cells, output, sizes, reverse, transposed):
    """All steps."""
    product = np.empty((h.shape[0], gates.shape[1]), gates.dtype)
    stop = gates.shape[0] if reverse else 0
    for k in range(sizes.size):
        start, count, stop = step_at(sizes, k, reverse, stop)
        multiply_step(h[:count], weight, transposed, product)
        lstm_forward_rows(gates, product, h, c, before, cells, output, np.uintp(start), np.uintp(0), np.uintp(count))


@loop
def lstm_backward_rows(gates, cells, grad, by_h, by_c, by_gates, start, lo, hi):
    """One step back: from the gradients of h and c after it to those of its gates, and of c before it."""
    size = cells.shape[1]
    for n in range(lo, hi):
        gate, old_c, result = gates[start + n], cells[start + n], by_gates[start + n]
        to_h, to_c = by_h[n], by_c[n]
        if grad.shape[0]:
            more = grad[start + n]
            for j in range(size):
                to_h[j] += more[j]
        i, f, g, o = gate[:size], gate[size : 2 * size], gate[2 * size : 3 * size], gate[3 * size :]
        by_i, by_f = result[:size], result[size : 2 * size]
        by_g, by_o = result[2 * size : 3 * size], result[3 * size :]
        one = like(gate[0], 1.0)
        for j in range(size):
            by_o[j] = tanh(f[j] * old_c[j] + i[j] * g[j])
        for j in range(size):
            to_c[j] += to_h[j] * o[j] * (one - by_o[j] * by_o[j])
        for j in range(size):
            by_o[j] *= to_h[j] * (o[j] * (one - o[j]))
        for j in range(size):
            by_i[j] = to_c[j] * g[j] * (i[j] * (one - i[j]))
        for j in range(size):
            by_f[j] = to_c[j] * old_c[j] * (f[j] * (one - f[j]))
        for j in range(size):
            by_g[j] = to_c[j] * i[j] * (one - g[j] * g[j])
        for j in range(size):
            to_c[j] *= f[j]


@launcher
def lstm_backward_step(gates, cells, grad, by_h, by_c, by_gates, start, count):
    arrays = (gates, cells, grad, by_h, by_c, by_gates, np.uintp(start))
    parallel(lstm_backward_rows, arrays, count, WORK * count * cells.shape[1])


@launcher
def lstm_backward_steps(gates, cells, grad, weight, by_h, by_c, by_gates, sizes, reverse):
    """All steps, the last one that ran first."""
    stop = 0 if reverse else gates.shape[0]
    for k in range(sizes.size):
        start, count, stop = step_at(sizes, k, not reverse, stop)
        lstm_backward_rows(gates, cells, grad, by_h, by_c, by_gates, np.uintp(start), np.uintp(0), np.uintp(count))
        by_h[:count] = 0
        multiply_back(by_gates[start : start + count], weight, by_h)


# GRU


@loop
def gru_forward_rows(gates, product, bias, h, before, news, output, start, lo, hi):
    """One step of the sequences from lo to hi: ``product`` and ``bias`` are what h adds to the gates."""
    size = h.shape[1]
    for n in range(lo, hi):
        gate, more = gates[start + n], product[n]
        old_h, new, new_h, out = before[start + n], news[start + n], h[n], output[start + n]
        r, z, m = gate[:size], gate[size : 2 * size], gate[2 * size :]
        inner, inner_bias = more[2 * size :], bias[2 * size :]
        for j in range(2 * size):
            gate[j] += more[j] + bias[j]
        for j in range(size):
            new[j] = inner[j] + inner_bias[j]
        for j in range(size):
            r[j] = sigmoid(r[j])
        for j in range(size):
            z[j] = sigmoid(z[j])
        for j in range(size):
            m[j] = tanh(m[j] + r[j] * new[j])
        for j in range(size):
            old_h[j] = new_h[j]
        for j in range(size):
            new_h[j] = m[j] + z[j] * (new_h[j] - m[j])
        for j in range(size):
            out[j] = new_h[j]


@launcher
def gru_forward_step(gates, product, bias, h, before, news, output, start, count):
    arrays = (gates, product, bias, h, before, news, output, np.uintp(start))
    parallel(gru_forward_rows, arrays, count, WORK * count * h.shape[1])


@launcher
def gru_forward_steps(gates, weight, bias, h, before, news, output, sizes, reverse, transposed):
    """All steps."""
    product = np.empty((h.shape[0], gates.shape[1]), gates.dtype)
    stop = gates.shape[0] if reverse else 0
    for k in range(sizes.size):
        start, count, stop = step_at(sizes, k, reverse, stop)
        multiply_step(h[:count], weight, transposed, product)
        gru_forward_rows(gates, product, bias, h, before, news, output, np.uintp(start), np.uintp(0), np.uintp(count))


@loop
def gru_backward_rows(gates, before, news, grad, by_h, by_input, by_hidden, start, lo, hi):
    """One step back: to the gradients of both parts of its gates, and what of h goes past them."""
    size = before.shape[1]
    for n in range(lo, hi):
        gate, old_h, new, to_h = gates[start + n], before[start + n], news[start + n], by_h[n]
        result, other = by_input[start + n], by_hidden[start + n]
        if grad.shape[0]:
            more = grad[start + n]
            for j in range(size):
                to_h[j] += more[j]
        r, z, m = gate[:size], gate[size : 2 * size], gate[2 * size :]
        by_r, by_z, by_m = result[:size], result[size : 2 * size], result[2 * size :]
        by_inner = other[2 * size :]
        one = like(gate[0], 1.0)
        for j in range(size):
            by_m[j] = to_h[j] * (one - z[j]) * (one - m[j] * m[j])
        for j in range(size):
            by_z[j] = to_h[j] * (old_h[j] - m[j]) * (z[j] * (one - z[j]))
        for j in range(size):
            by_r[j] = by_m[j] * new[j] * (r[j] * (one - r[j]))
        for j in range(size):
            by_inner[j] = by_m[j] * r[j]
        for j in range(2 * size):
            other[j] = result[j]
        for j in range(size):
            to_h[j] *= z[j]


@launcher
def gru_backward_step(gates, before, news, grad, by_h, by_input, by_hidden, start, count):
    arrays = (gates, before, news, grad, by_h, by_input, by_hidden, np.uintp(start))
    parallel(gru_backward_rows, arrays, count, WORK * count * before.shape[1])


@launcher
def gru_backward_steps(gates, before, news, grad, weight, by_h, by_input, by_hidden, sizes, reverse):
    """All steps, the last one that ran first."""
    stop = 0 if reverse else gates.shape[0]
    for k in range(sizes.size):
        start, count, stop = step_at(sizes, k, not reverse, stop)
        first, last = np.uintp(0), np.uintp(count)
        gru_backward_rows(gates, before, news, grad, by_h, by_input, by_hidden, np.uintp(start), first, last)
        multiply_back(by_hidden[start : start + count], weight, by_h)


# Elman's


@loop
def rnn_forward_rows(states, product, h, before, output, rectified, start, lo, hi):
    """One step of the sequences from lo to hi: ``product`` is what h adds."""
    size = h.shape[1]
    for n in range(lo, hi):
        state, more = states[start + n], product[n]
        old_h, new_h, out = before[start + n], h[n], output[start + n]
        for j in range(size):
            old_h[j] = new_h[j]
        if rectified:
            for j in range(size):
                value = state[j] + more[j]
                state[j] = value if value > 0 or value != value else like(value, 0.0)
        else:
            for j in range(size):
                state[j] = tanh(state[j] + more[j])
        for j in range(size):
            new_h[j] = state[j]
        for j in range(size):
            out[j] = state[j]


@launcher
def rnn_forward_step(states, product, h, before, output, rectified, start, count):
    arrays = (states, product, h, before, output, rectified, np.uintp(start))
    parallel(rnn_forward_rows, arrays, count, 4 * count * h.shape[1])


@launcher
def rnn_forward_steps(states, weight, h, before, output, rectified, sizes, reverse, transposed):
    """All steps."""
    product = np.empty((h.shape[0], states.shape[1]), states.dtype)
    stop = states.shape[0] if reverse else 0
    for k in range(sizes.size):
        start, count, stop = step_at(sizes, k, reverse, stop)
        multiply_step(h[:count], weight, transposed, product)
        rnn_forward_rows(states, product, h, before, output, rectified, np.uintp(start), np.uintp(0), np.uintp(count))


@loop
def rnn_backward_rows(states, grad, by_h, by_sum, rectified, start, lo, hi):
    """One step back: to the gradient of what the activation takes."""
    size = states.shape[1]
    for n in range(lo, hi):
        state, to_h, result = states[start + n], by_h[n], by_sum[start + n]
        if grad.shape[0]:
            more = grad[start + n]
            for j in range(size):
                to_h[j] += more[j]
        if rectified:
            for j in range(size):
                result[j] = to_h[j] if state[j] > 0 else like(state[j], 0.0)
        else:
            for j in range(size):
                result[j] = to_h[j] * (like(state[j], 1.0) - state[j] * state[j])


@launcher
def rnn_backward_step(states, grad, by_h, by_sum, rectified, start, count):
    arrays = (states, grad, by_h, by_sum, rectified, np.uintp(start))
    parallel(rnn_backward_rows, arrays, count, 2 * count * states.shape[1])


@launcher
def rnn_backward_steps(states, grad, weight, by_h, by_sum, rectified, sizes, reverse):
    """All steps, the last one that ran first."""
    stop = 0 if reverse else states.shape[0]
    for k in range(sizes.size):
        start, count, stop = step_at(sizes, k, not reverse, stop)
        rnn_backward_rows(states, grad, by_h, by_sum, rectified, np.uintp(start), np.uintp(0), np.uintp(count))
        by_h[:count] = 0
        multiply_back(by_sum[start : start + count], weight, by_h)


# Products


def is_compiled_whole(rows: int, weight: Array) -> bool:
    """Whether the products of a step are done in the compiled loop over all steps."""
    return rows == 1 or rows * weight.size <= SMALL


def arranged(weight: Array, rows: int, steps: int) -> tuple[Array, bool]:
    """The weight as the compiled loop takes it: transposed, if so many steps are worth it, and whether it is."""
    most = LARGEST_TRANSPOSED if rows == 1 else 4 * LARGEST_TRANSPOSED
    if weight.size <= most and steps >= FEW_STEPS:
        return dense(weight.T), True
    return dense(weight), False


def multiplied(rows: int, steps: int, other: Array, work: Callable[[Multiply], None]) -> None:
    """Call ``work`` with a function that multiplies a matrix of ``rows`` with ``other``, for each step."""
    if steps < FEW_STEPS:
        return work(lambda matrix, result: np.copyto(result, matmul(matrix, other)))
    if other.dtype == np.float32 and any(each.__name__.endswith(".onednn") for each in libraries.available()):
        from weft.backend_cpu.onednn.repeated import repeated

        if repeated(rows, other, work):
            return None
    return work(lambda matrix, result: np.dot(matrix, other, out=result))


def places(sizes: Sequence[int], reverse: bool) -> list[tuple[int, int]]:
    """The first row and the number of rows of each step, in the order in which they run."""
    found, start = [], 0
    for count in sizes:
        found.append((start, count))
        start += count
    return found[::-1] if reverse else found


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


def serve_halves(name: str, maker: Callable[[Kernel], Kernel], *operands: int) -> None:
    """Serve an op on bfloat16 by its kernel of float32; it gets operands of its products as they are."""

    @serves(name, "bfloat16")
    def make(generic: Kernel) -> Kernel:
        run = maker(unserved)

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


def unserved(*args: Any) -> None:
    """What a kernel falls back on, where the caller has something better."""


def matmul(a: Array, b: Array) -> Array:
    """The product of two matrices by the best library."""
    if BFLOAT in (a.dtype, b.dtype):
        return product_of_halves(a, b)
    best = libraries.kernel("core::matmul", float32 if a.dtype == np.float32 else float64, np.matmul) or np.matmul
    result: Array = best(a, b)
    return result


def weight_gradients(
    by_input: Array, by_hidden: Array, input: Array, before: Array, weight_ih: Array, needs: Sequence[bool]
) -> list[Array | None]:
    """The gradients of input, weight_ih, weight_hh, bias_ih and bias_hh that are asked for."""
    rules = (
        lambda: matmul(by_input, weight_ih),
        lambda: matmul(by_input.T, input),
        lambda: matmul(by_hidden.T, before),
        lambda: np.add.reduce(by_input, axis=0),
        lambda: np.add.reduce(by_hidden, axis=0),
    )
    return [rule() if wanted else None for rule, wanted in zip(rules, needs)]


def step_back(
    by_gates: Array,
    by_h: Array,
    weight: Array,
    sizes: Sequence[int],
    reverse: bool,
    step: Callable[[int, int], None],
    adds: bool = False,
) -> None:
    """All steps back: each by ``step``, and the product of the gradients of its gates with ``weight``.

    ``by_gates`` has rows enough for the product of a whole batch at the last step. The products become the gradients of
    h, or are added to them.
    """

    def work(multiply: Multiply) -> None:
        product = np.empty_like(by_h) if adds or sizes[-1] < sizes[0] else by_h
        for start, count in places(sizes, not reverse):
            step(start, count)
            multiply(by_gates[start : start + sizes[0]], product)
            if adds:
                by_h[:count] += product[:count]
            elif product is not by_h:
                by_h[:count] = product[:count]

    multiplied(sizes[0], len(sizes), weight, work)


# What ops call


def is_served(arrays: Sequence[Array | None]) -> bool:
    """Whether all are of one dtype, but for what is bfloat16 beside float32."""
    found = {each.dtype for each in arrays if each is not None}
    return len(found) == 1 or found == {np.dtype(np.float32), BFLOAT}


def dense(array: Array) -> Array:
    found: Array = in_order(np, array)
    return found


def state_of(grad: Array | None, shape: tuple[int, int], element: Any) -> Array:
    """The gradient of a last state, in memory that may be written to."""
    return np.zeros(shape, element) if grad is None else np.array(grad, order="C")


def grad_of(grad: Array | None, like: Array) -> Array:
    """The gradient of the outputs, of no rows where there is none."""
    return np.empty((0, 0), like.dtype) if grad is None else dense(grad)


def new(rows: int, columns: int, like: Array) -> Array:
    return np.empty((rows, columns), like.dtype)


def both(first: Array | None, second: Array | None) -> Array | None:
    """The sum of two biases."""
    return first if second is None else second if first is None else first + second


@serves("nn::lstm_layer", REAL)
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
        if weight_hr is not None or rows * weight_hh.shape[0] < LEAST_GATES or not is_served(arrays):
            return generic(*arrays, weight_hr, sizes, reverse)
        gates = projection(input, weight_ih, both(bias_ih, bias_hh))
        h, c = np.array(h, order="C"), np.array(c, order="C")
        output, before, cells = (new(rows, h.shape[1], h) for _ in range(3))
        if is_compiled_whole(batch, weight_hh):
            weight, transposed = arranged(weight_hh, batch, len(sizes))
            with on_one_thread():
                lstm_forward_steps(gates, weight, h, c, before, cells, output, np.array(sizes), reverse, transposed)
            return output, h, c, gates, before, cells
        product = new(batch, gates.shape[1], gates)

        def work(multiply: Multiply) -> None:
            for start, count in places(sizes, reverse):
                multiply(h, product)
                lstm_forward_step(gates, product, h, c, before, cells, output, start, count)

        multiplied(batch, len(sizes), weight_hh.T, work)
        return output, h, c, gates, before, cells

    return run


@serves("nn::lstm_layer_gradient", REAL)
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
        if weight_hr is not None or gates.size < LEAST_GATES or not is_served((input, weight_ih, weight_hh, *arrays)):
            return generic(input, weight_ih, weight_hh, weight_hr, *arrays, sizes, reverse, needs)
        shape = sizes[0], cells.shape[1]
        by_h, by_c = state_of(h_grad, shape, gates.dtype), state_of(c_grad, shape, gates.dtype)
        padded = new(gates.shape[0] + sizes[0] - sizes[-1], gates.shape[1], gates)
        by_gates, grad = padded[: gates.shape[0]], grad_of(output_grad, gates)
        gates, cells = dense(gates), dense(cells)
        if is_compiled_whole(sizes[0], weight_hh):
            steps = np.array(sizes)
            with on_one_thread():
                lstm_backward_steps(gates, cells, grad, dense(weight_hh), by_h, by_c, by_gates, steps, reverse)
        else:

            def step(start: int, count: int) -> None:
                lstm_backward_step(gates, cells, grad, by_h, by_c, by_gates, start, count)

            step_back(padded, by_h, weight_hh, sizes, reverse, step)
        wanted = (needs[0], *needs[3:7])
        by_input, *by_parameters = weight_gradients(by_gates, by_gates, input, before, weight_ih, wanted)
        return asked((by_input, by_h if needs[1] else None, by_c if needs[2] else None, *by_parameters))

    return run


def asked(results: Sequence[Array | None]) -> tuple[Array, ...]:
    """The gradients that were asked for."""
    return tuple(each for each in results if each is not None)


@serves("nn::gru_layer", REAL)
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
        if rows * weight_hh.shape[0] < LEAST_GATES or not is_served(arrays):
            return generic(*arrays, sizes, reverse)
        gates = projection(input, weight_ih, bias_ih)
        bias = np.zeros(gates.shape[1], gates.dtype) if bias_hh is None else dense(bias_hh)
        h = np.array(h, order="C")
        output, before, news = (new(rows, h.shape[1], h) for _ in range(3))
        if is_compiled_whole(batch, weight_hh):
            weight, transposed = arranged(weight_hh, batch, len(sizes))
            with on_one_thread():
                gru_forward_steps(gates, weight, bias, h, before, news, output, np.array(sizes), reverse, transposed)
            return output, h, gates, before, news
        product = new(batch, gates.shape[1], gates)

        def work(multiply: Multiply) -> None:
            for start, count in places(sizes, reverse):
                multiply(h, product)
                gru_forward_step(gates, product, bias, h, before, news, output, start, count)

        multiplied(batch, len(sizes), weight_hh.T, work)
        return output, h, gates, before, news

    return run


@serves("nn::gru_layer_gradient", REAL)
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
        if gates.size < LEAST_GATES or not is_served(arrays):
            return generic(*arrays, sizes, reverse, needs)
        by_h = state_of(h_grad, (sizes[0], before.shape[1]), gates.dtype)
        padded = new(gates.shape[0] + sizes[0] - sizes[-1], gates.shape[1], gates)
        by_hidden, by_input = padded[: gates.shape[0]], np.empty_like(padded[: gates.shape[0]])
        kept, grad = (dense(gates), dense(before), dense(news)), grad_of(output_grad, gates)
        if is_compiled_whole(sizes[0], weight_hh):
            steps = np.array(sizes)
            with on_one_thread():
                gru_backward_steps(*kept, grad, dense(weight_hh), by_h, by_input, by_hidden, steps, reverse)
        else:

            def step(start: int, count: int) -> None:
                gru_backward_step(*kept, grad, by_h, by_input, by_hidden, start, count)

            step_back(padded, by_h, weight_hh, sizes, reverse, step, adds=True)
        wanted = (needs[0], *needs[2:])
        found, *by_parameters = weight_gradients(by_input, by_hidden, input, before, weight_ih, wanted)
        return asked((found, by_h if needs[1] else None, *by_parameters))

    return run


@serves("nn::rnn_layer", REAL)
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
        if rows * weight_hh.shape[0] < LEAST_GATES or not is_served(arrays):
            return generic(*arrays, sizes, reverse, rectified)
        states = projection(input, weight_ih, both(bias_ih, bias_hh))
        h = np.array(h, order="C")
        output, before = new(rows, h.shape[1], h), new(rows, h.shape[1], h)
        if is_compiled_whole(batch, weight_hh):
            weight, transposed = arranged(weight_hh, batch, len(sizes))
            with on_one_thread():
                rnn_forward_steps(states, weight, h, before, output, rectified, np.array(sizes), reverse, transposed)
            return output, h, states, before
        product = new(batch, states.shape[1], states)

        def work(multiply: Multiply) -> None:
            for start, count in places(sizes, reverse):
                multiply(h, product)
                rnn_forward_step(states, product, h, before, output, rectified, start, count)

        multiplied(batch, len(sizes), weight_hh.T, work)
        return output, h, states, before

    return run


@serves("nn::rnn_layer_gradient", REAL)
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
        if states.size < LEAST_GATES or not is_served(arrays):
            return generic(*arrays, sizes, reverse, rectified, needs)
        by_h = state_of(h_grad, (sizes[0], before.shape[1]), states.dtype)
        padded = new(states.shape[0] + sizes[0] - sizes[-1], states.shape[1], states)
        by_sum, grad, states = padded[: states.shape[0]], grad_of(output_grad, states), dense(states)
        if is_compiled_whole(sizes[0], weight_hh):
            steps = np.array(sizes)
            with on_one_thread():
                rnn_backward_steps(states, grad, dense(weight_hh), by_h, by_sum, rectified, steps, reverse)
        else:

            def step(start: int, count: int) -> None:
                rnn_backward_step(states, grad, by_h, by_sum, rectified, start, count)

            step_back(padded, by_h, weight_hh, sizes, reverse, step)
        wanted = (needs[0], *needs[2:])
        found, *by_parameters = weight_gradients(by_sum, by_sum, input, before, weight_ih, wanted)
        return asked((found, by_h if needs[1] else None, *by_parameters))

    return run


serve_halves("nn::lstm_layer", lstm_layer, 0, 3)
serve_halves("nn::lstm_layer_gradient", lstm_layer_gradient, 0, 1, 5)
serve_halves("nn::gru_layer", gru_layer, 0, 2)
serve_halves("nn::gru_layer_gradient", gru_layer_gradient, 0, 1)
serve_halves("nn::rnn_layer", rnn_layer, 0, 2)
serve_halves("nn::rnn_layer_gradient", rnn_layer_gradient, 0, 1, 4)
