"""Optimizer steps over all parameters in one launch, in one pass over memory; norms and scaling of lists of gradients.

The formulas are those of `weft.optim`, operation by operation, in the parameters' dtype; half precision is computed in
float32, and rounded when it is stored. A launcher returns False, and has written nothing, if it does not take the
arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.array_header import array_at
from weft.backend_cpu.compiled.codegen.float16 import BITS, number_in, put_at, value_at
from weft.backend_cpu.compiled.codegen.multi_tensor import find_memory, identities, row_at
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.registry import register_kernel

GRADIENTS = 1  # the column that is not written to
REAL = "float32 float64 float16 bfloat16"

Arrays = Sequence[Any]


def launch_step(launch: Callable[..., bool], columns: Sequence[Arrays], *numbers: Any) -> bool:
    """Run a launcher over lists of arrays; gradients that are not contiguous are copied."""
    columns = [column for column in columns if column[0] is not None]
    params = columns[0]
    rows = len(params)
    if len(set(map(id, params))) != rows:  # twice in its group, a parameter is stepped twice
        return False
    like = example(params)
    if launch(identities(columns, rows), like, *numbers):
        return True
    grads = [np.require(grad, requirements=["C", "A"]) for grad in columns[GRADIENTS]]
    return launch(identities([params, grads, *columns[2:]], rows), like, *numbers)


def example(arrays: Arrays) -> Any:
    """An array of the dtype as which compiled loops take these."""
    first = arrays[0].reshape(-1)
    return first.view(BITS[first.dtype]) if first.dtype in BITS else first


@loop
def sgd_loop(table, starts, like, lr, momentum, dampening, weight_decay, nesterov, lo, hi):
    step, decay = number_in(like, -lr), number_in(like, weight_decay)
    inertia, share = number_in(like, momentum), number_in(like, 1 - dampening)
    buffered = len(table) > 2
    row = row_at(starts, lo)
    while lo < hi:
        first, stop = lo - starts[row], min(hi, starts[row + 1]) - starts[row]
        param, grad = array_at(table[0, row], stop, like), array_at(table[1, row], stop, like)
        if buffered:
            buffer = array_at(table[2, row], stop, like)
            for i in range(first, stop):
                slope = value_at(grad, i) + value_at(param, i) * decay if weight_decay != 0 else value_at(grad, i)
                velocity = value_at(buffer, i) * inertia + slope * share
                put_at(buffer, i, velocity)
                way = slope + velocity * inertia if nesterov else velocity
                put_at(param, i, value_at(param, i) + way * step)
        else:
            for i in range(first, stop):
                slope = value_at(grad, i) + value_at(param, i) * decay if weight_decay != 0 else value_at(grad, i)
                put_at(param, i, value_at(param, i) + slope * step)
        lo = starts[row] + stop
        row += 1


@launcher
def sgd(table, like, lr, momentum, dampening, weight_decay, nesterov):
    starts = np.empty(table.shape[1] + 1, np.uintp)
    if not find_memory(table, starts, GRADIENTS):
        return False
    total = starts[-1]
    parallel(sgd_loop, (table, starts, like, lr, momentum, dampening, weight_decay, nesterov), total, total)
    return True


@register_kernel("optim::sgd_step", dtypes=REAL, min_size=0, checks_size=True)
def sgd_kernel(generic: Any) -> Any:
    def run(*columns: Arrays, lr: Any, momentum: float, dampening: float, weight_decay: Any, nesterov: bool) -> None:
        numbers = (float(lr), float(momentum), float(dampening), float(weight_decay), bool(nesterov))
        if not launch_step(sgd, columns, *numbers):
            options = {"momentum": momentum, "dampening": dampening, "nesterov": nesterov}
            generic(*columns, lr=lr, weight_decay=weight_decay, **options)

    return run


@loop
def adam_loop(table, starts, like, counts, lr, beta1, beta2, eps, weight_decay, decoupled, lo, hi):
    is_near = 1 - beta1 < 0.5
    gain, rest = number_in(like, 1 - beta1), number_in(like, 1 - (1 - beta1))
    keep, share = number_in(like, beta2), number_in(like, 1 - beta2)
    shrinks, decays = decoupled and weight_decay != 0, not decoupled and weight_decay != 0
    shrink, decay = number_in(like, 1 - lr * weight_decay), number_in(like, weight_decay)
    row = row_at(starts, lo)
    while lo < hi:
        first, stop = lo - starts[row], min(hi, starts[row + 1]) - starts[row]
        correction = math.sqrt(1 - beta2 ** counts[row])
        offset, step = number_in(like, eps * correction), number_in(like, -lr * correction / (1 - beta1 ** counts[row]))
        param, grad = array_at(table[0, row], stop, like), array_at(table[1, row], stop, like)
        mean, square = array_at(table[2, row], stop, like), array_at(table[3, row], stop, like)
        if len(table) == 4:
            for i in range(first, stop):
                value = value_at(param, i) * shrink if shrinks else value_at(param, i)
                slope = value_at(grad, i) + value * decay if decays else value_at(grad, i)
                way = slope - value_at(mean, i)
                moved = value_at(mean, i) + way * gain if is_near else slope - way * rest
                second = value_at(square, i) * keep + slope * share * slope
                put_at(mean, i, moved)
                put_at(square, i, second)
                put_at(param, i, value + moved * step / (math.sqrt(second) + offset))
        else:
            most = array_at(table[4, row], stop, like)
            for i in range(first, stop):
                value = value_at(param, i) * shrink if shrinks else value_at(param, i)
                slope = value_at(grad, i) + value * decay if decays else value_at(grad, i)
                way = slope - value_at(mean, i)
                moved = value_at(mean, i) + way * gain if is_near else slope - way * rest
                second = value_at(square, i) * keep + slope * share * slope
                put_at(mean, i, moved)
                put_at(square, i, second)
                before = value_at(most, i)
                second = before if before >= second or before != before else second
                put_at(most, i, second)
                put_at(param, i, value + moved * step / (math.sqrt(second) + offset))
        lo = starts[row] + stop
        row += 1


@launcher
def adam(table, like, counts, lr, beta1, beta2, eps, weight_decay, decoupled):
    starts = np.empty(table.shape[1] + 1, np.uintp)
    if not find_memory(table, starts, GRADIENTS):
        return False
    total = starts[-1]
    numbers = (table, starts, like, counts, lr, beta1, beta2, eps, weight_decay, decoupled)
    parallel(adam_loop, numbers, total, total)
    return True


@register_kernel("optim::adam_step", dtypes=REAL, min_size=0, checks_size=True)
def adam_kernel(generic: Any) -> Any:
    def run(
        *columns: Arrays,
        lr: Any,
        beta1: float,
        beta2: float,
        eps: float,
        weight_decay: float,
        decoupled_weight_decay: bool,
    ) -> None:
        *arrays, counts = columns
        numbers = (float(lr), float(beta1), float(beta2), float(eps), float(weight_decay), bool(decoupled_weight_decay))
        if not launch_step(adam, arrays, np.array(counts), *numbers):
            options = {"eps": eps, "weight_decay": weight_decay, "decoupled_weight_decay": decoupled_weight_decay}
            generic(*columns, lr=lr, beta1=beta1, beta2=beta2, **options)

    return run


@loop
def rmsprop_loop(table, starts, like, centered, lr, alpha, eps, weight_decay, momentum, lo, hi):
    keep, share = number_in(like, alpha), number_in(like, 1 - alpha)
    offset, decay = number_in(like, eps), number_in(like, weight_decay)
    is_near = 1 - alpha < 0.5
    step, inertia = number_in(like, -lr), number_in(like, momentum)
    buffered = len(table) == 5
    row = row_at(starts, lo)
    while lo < hi:
        first, stop = lo - starts[row], min(hi, starts[row + 1]) - starts[row]
        param, grad = array_at(table[0, row], stop, like), array_at(table[1, row], stop, like)
        square = array_at(table[2, row], stop, like)
        if len(table) == 3:
            for i in range(first, stop):
                slope = value_at(grad, i) + value_at(param, i) * decay if weight_decay != 0 else value_at(grad, i)
                variance = value_at(square, i) * keep + slope * share * slope
                put_at(square, i, variance)
                put_at(param, i, value_at(param, i) + slope * step / (math.sqrt(variance) + offset))
        elif not centered:
            buffer = array_at(table[3, row], stop, like)
            for i in range(first, stop):
                slope = value_at(grad, i) + value_at(param, i) * decay if weight_decay != 0 else value_at(grad, i)
                variance = value_at(square, i) * keep + slope * share * slope
                velocity = value_at(buffer, i) * inertia + slope / (math.sqrt(variance) + offset)
                put_at(square, i, variance)
                put_at(buffer, i, velocity)
                put_at(param, i, value_at(param, i) + velocity * step)
        else:
            mean, buffer = array_at(table[3, row], stop, like), array_at(table[-1, row], stop, like)
            for i in range(first, stop):
                slope = value_at(grad, i) + value_at(param, i) * decay if weight_decay != 0 else value_at(grad, i)
                second = value_at(square, i) * keep + slope * share * slope
                way = slope - value_at(mean, i)
                moved = value_at(mean, i) + way * share if is_near else slope - way * keep
                put_at(square, i, second)
                put_at(mean, i, moved)
                change = slope / (math.sqrt(second - moved * moved) + offset)
                if buffered:
                    change += value_at(buffer, i) * inertia
                    put_at(buffer, i, change)
                put_at(param, i, value_at(param, i) + change * step)
        lo = starts[row] + stop
        row += 1


@launcher
def rmsprop(table, like, centered, lr, alpha, eps, weight_decay, momentum):
    starts = np.empty(table.shape[1] + 1, np.uintp)
    if not find_memory(table, starts, GRADIENTS):
        return False
    total = starts[-1]
    parallel(rmsprop_loop, (table, starts, like, centered, lr, alpha, eps, weight_decay, momentum), total, total)
    return True


@register_kernel("optim::rmsprop_step", dtypes=REAL, min_size=0, checks_size=True)
def rmsprop_kernel(generic: Any) -> Any:
    def run(*columns: Arrays, lr: Any, alpha: float, eps: float, weight_decay: float, momentum: float) -> None:
        centered = columns[3][0] is not None
        numbers = (float(lr), float(alpha), float(eps), float(weight_decay), float(momentum))
        if not launch_step(rmsprop, columns, centered, *numbers):
            options = {"weight_decay": weight_decay, "momentum": momentum}
            generic(*columns, lr=lr, alpha=alpha, eps=eps, **options)

    return run


@loop
def adagrad_loop(table, starts, like, counts, lr, lr_decay, eps, weight_decay, lo, hi):
    offset, decay = number_in(like, eps), number_in(like, weight_decay)
    row = row_at(starts, lo)
    while lo < hi:
        first, stop = lo - starts[row], min(hi, starts[row + 1]) - starts[row]
        step = number_in(like, -lr / (1 + (counts[row] - 1) * lr_decay))
        param, grad = array_at(table[0, row], stop, like), array_at(table[1, row], stop, like)
        total = array_at(table[2, row], stop, like)
        for i in range(first, stop):
            slope = value_at(grad, i) + value_at(param, i) * decay if weight_decay != 0 else value_at(grad, i)
            square = value_at(total, i) + slope * slope
            put_at(total, i, square)
            put_at(param, i, value_at(param, i) + slope * step / (math.sqrt(square) + offset))
        lo = starts[row] + stop
        row += 1


@launcher
def adagrad(table, like, counts, lr, lr_decay, eps, weight_decay):
    starts = np.empty(table.shape[1] + 1, np.uintp)
    if not find_memory(table, starts, GRADIENTS):
        return False
    total = starts[-1]
    parallel(adagrad_loop, (table, starts, like, counts, lr, lr_decay, eps, weight_decay), total, total)
    return True


@register_kernel("optim::adagrad_step", dtypes=REAL, min_size=0, checks_size=True)
def adagrad_kernel(generic: Any) -> Any:
    def run(*columns: Arrays, lr: Any, lr_decay: float, eps: float, weight_decay: float) -> None:
        *arrays, counts = columns
        numbers = (float(lr), float(lr_decay), float(eps), float(weight_decay))
        if not launch_step(adagrad, arrays, np.array(counts), *numbers):
            generic(*columns, lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay)

    return run


BLOCK = 4096
"""Elements whose squares are summed in their own dtype, in vectors; the sums of the blocks are summed in float64."""


@loop
def squares_loop(table, starts, blocks, like, sums, lo, hi):
    row = row_at(blocks, lo)
    for block in range(lo, hi):
        while block >= blocks[row + 1]:
            row += 1
        first = (block - blocks[row]) * np.uintp(BLOCK)
        stop = min(first + np.uintp(BLOCK), starts[row + 1] - starts[row])
        x = array_at(table[0, row], stop, like)
        total = number_in(like, 0)
        for i in range(first, stop):
            total += value_at(x, i) * value_at(x, i)
        sums[block] = total


@launcher
def norms(table, like, result):
    """The Euclidean norm of each array; the same whatever the number of threads is."""
    rows = len(result)
    starts, blocks = np.empty(rows + 1, np.uintp), np.zeros(rows + 1, np.uintp)
    if not find_memory(table, starts, 0):
        return False
    for row in range(rows):
        blocks[row + 1] = blocks[row] + (starts[row + 1] - starts[row] + np.uintp(BLOCK - 1)) // np.uintp(BLOCK)
    sums = np.empty(blocks[-1], np.float64)
    parallel(squares_loop, (table, starts, blocks, like, sums), blocks[-1], starts[-1])
    for row in range(rows):
        result[row] = math.sqrt(sums[blocks[row] : blocks[row + 1]].sum())
    return True


@register_kernel("foreach::norm", dtypes=REAL, min_size=0, checks_size=True)
def norm_kernel(generic: Any) -> Any:
    def run(arrays: Arrays, ord: Any = 2, dtype: Any = None) -> Any:
        element = arrays[0].dtype
        result = np.empty(len(arrays), np.float32 if element in BITS else element)
        if ord != 2 or dtype is not None:
            return NotImplemented
        if not norms(identities([arrays], len(arrays)), example(arrays), result):
            return NotImplemented
        return [each.reshape(()) for each in np.split(result.astype(element, copy=False), len(arrays))]

    return run


@loop
def scale_loop(table, starts, like, factor, lo, hi):
    row = row_at(starts, lo)
    scale = number_in(like, factor)
    while lo < hi:
        first, stop = lo - starts[row], min(hi, starts[row + 1]) - starts[row]
        x = array_at(table[0, row], stop, like)
        for i in range(first, stop):
            put_at(x, i, value_at(x, i) * scale)
        lo = starts[row] + stop
        row += 1


@launcher
def scale(table, like, factor):
    starts = np.empty(table.shape[1] + 1, np.uintp)
    if not find_memory(table, starts, -1):
        return False
    total = starts[-1]
    if factor != 1:  # as of gradients whose norm is below the limit: nothing would change
        parallel(scale_loop, (table, starts, like, factor), total, total)
    return True


@register_kernel("foreach::mul_", dtypes=REAL, min_size=0, checks_size=True)
def scale_kernel(generic: Any) -> Any:
    def run(arrays: Arrays, other: Any) -> Any:
        if isinstance(other, list) or np.ndim(other) or len(set(map(id, arrays))) != len(arrays):
            return NotImplemented
        return None if scale(identities([arrays], len(arrays)), example(arrays), float(other)) else NotImplemented

    return run
