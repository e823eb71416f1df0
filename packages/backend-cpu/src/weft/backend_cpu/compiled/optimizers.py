"""Steps of optimizers over all parameters in one launch, each in one pass over memory; norms and scaling of gradients.

The formulas are those of `weft.optim`, operation by operation, in the parameters' dtype. A launcher returns False, and
has written nothing, if it does not take the arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.backend_cpu.compiled.lists import array_at, find, identities, row_at
from weft.backend_cpu.compiled.parallel import launcher, loop, parallel
from weft.backend_cpu.libraries import serves

GRADIENTS = 1  # the column that is not written to
REAL = "float32 float64"

Arrays = Sequence[Any]


def stepping(launch: Callable[..., bool], columns: Sequence[Arrays], *numbers: Any) -> bool:
    """Run a launcher over lists of arrays; a gradient that is not flat, as one that was expanded, is copied."""
    columns = [column for column in columns if column[0] is not None]
    params = columns[0]
    rows = len(params)
    if len(set(map(id, params))) != rows:  # twice in its group, a parameter is stepped twice
        return False
    like = params[0].reshape(-1)
    if launch(identities(columns, rows), like, *numbers):
        return True
    grads = [np.require(grad, requirements=["C", "A"]) for grad in columns[GRADIENTS]]
    return launch(identities([params, grads, *columns[2:]], rows), like, *numbers)


@loop
def sgd_loop(table, starts, like, lr, momentum, dampening, weight_decay, nesterov, lo, hi):
    real = like.dtype.type
    step, decay, inertia, share = real(-lr), real(weight_decay), real(momentum), real(1 - dampening)
    buffered = len(table) > 2
    row = row_at(starts, lo)
    while lo < hi:
        first, stop = lo - starts[row], min(hi, starts[row + 1]) - starts[row]
        param, grad = array_at(table[0, row], stop, like), array_at(table[1, row], stop, like)
        if buffered:
            buffer = array_at(table[2, row], stop, like)
            for i in range(first, stop):
                slope = grad[i] + param[i] * decay if weight_decay != 0 else grad[i]
                velocity = buffer[i] * inertia + slope * share
                buffer[i] = velocity
                param[i] += (slope + velocity * inertia if nesterov else velocity) * step
        else:
            for i in range(first, stop):
                param[i] += (grad[i] + param[i] * decay if weight_decay != 0 else grad[i]) * step
        lo = starts[row] + stop
        row += 1


@launcher
def sgd(table, like, lr, momentum, dampening, weight_decay, nesterov):
    starts = np.empty(table.shape[1] + 1, np.uintp)
    if not find(table, starts, GRADIENTS):
        return False
    total = starts[-1]
    parallel(sgd_loop, (table, starts, like, lr, momentum, dampening, weight_decay, nesterov), total, total)
    return True


@serves("optim::sgd_step", REAL)
def sgd_kernel(generic: Any) -> Any:
    def run(*columns: Arrays, lr: Any, momentum: float, dampening: float, weight_decay: Any, nesterov: bool) -> None:
        numbers = (float(lr), float(momentum), float(dampening), float(weight_decay), bool(nesterov))
        if not stepping(sgd, columns, *numbers):
            options = {"momentum": momentum, "dampening": dampening, "nesterov": nesterov}
            generic(*columns, lr=lr, weight_decay=weight_decay, **options)

    return run


@loop
def adam_loop(table, starts, like, counts, lr, beta1, beta2, eps, weight_decay, decoupled, lo, hi):
    real = like.dtype.type
    is_near = 1 - beta1 < 0.5
    gain, rest = real(1 - beta1), real(1 - (1 - beta1))
    keep, share = real(beta2), real(1 - beta2)
    shrinks, decays = decoupled and weight_decay != 0, not decoupled and weight_decay != 0
    shrink, decay = real(1 - lr * weight_decay), real(weight_decay)
    row = row_at(starts, lo)
    while lo < hi:
        first, stop = lo - starts[row], min(hi, starts[row + 1]) - starts[row]
        correction = math.sqrt(1 - beta2 ** counts[row])
        offset, step = real(eps * correction), real(-lr * correction / (1 - beta1 ** counts[row]))
        param, grad = array_at(table[0, row], stop, like), array_at(table[1, row], stop, like)
        mean, square = array_at(table[2, row], stop, like), array_at(table[3, row], stop, like)
        if len(table) == 4:
            for i in range(first, stop):
                value = param[i] * shrink if shrinks else param[i]
                slope = grad[i] + value * decay if decays else grad[i]
                way = slope - mean[i]
                moved = mean[i] + way * gain if is_near else slope - way * rest
                second = square[i] * keep + slope * share * slope
                mean[i], square[i] = moved, second
                param[i] = value + moved * step / (math.sqrt(second) + offset)
        else:
            most = array_at(table[4, row], stop, like)
            for i in range(first, stop):
                value = param[i] * shrink if shrinks else param[i]
                slope = grad[i] + value * decay if decays else grad[i]
                way = slope - mean[i]
                moved = mean[i] + way * gain if is_near else slope - way * rest
                second = square[i] * keep + slope * share * slope
                mean[i], square[i] = moved, second
                second = most[i] if most[i] >= second or most[i] != most[i] else second
                most[i] = second
                param[i] = value + moved * step / (math.sqrt(second) + offset)
        lo = starts[row] + stop
        row += 1


@launcher
def adam(table, like, counts, lr, beta1, beta2, eps, weight_decay, decoupled):
    starts = np.empty(table.shape[1] + 1, np.uintp)
    if not find(table, starts, GRADIENTS):
        return False
    total = starts[-1]
    numbers = (table, starts, like, counts, lr, beta1, beta2, eps, weight_decay, decoupled)
    parallel(adam_loop, numbers, total, total)
    return True


@serves("optim::adam_step", REAL)
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
        if not stepping(adam, arrays, np.array(counts), *numbers):
            options = {"eps": eps, "weight_decay": weight_decay, "decoupled_weight_decay": decoupled_weight_decay}
            generic(*columns, lr=lr, beta1=beta1, beta2=beta2, **options)

    return run


@loop
def rmsprop_loop(table, starts, like, centered, lr, alpha, eps, weight_decay, momentum, lo, hi):
    real = like.dtype.type
    keep, share, offset, decay = real(alpha), real(1 - alpha), real(eps), real(weight_decay)
    is_near = 1 - alpha < 0.5
    step, inertia = real(-lr), real(momentum)
    buffered = len(table) == 5
    row = row_at(starts, lo)
    while lo < hi:
        first, stop = lo - starts[row], min(hi, starts[row + 1]) - starts[row]
        param, grad = array_at(table[0, row], stop, like), array_at(table[1, row], stop, like)
        square = array_at(table[2, row], stop, like)
        if len(table) == 3:
            for i in range(first, stop):
                slope = grad[i] + param[i] * decay if weight_decay != 0 else grad[i]
                variance = square[i] * keep + slope * share * slope
                square[i] = variance
                param[i] += slope * step / (math.sqrt(variance) + offset)
        elif not centered:
            buffer = array_at(table[3, row], stop, like)
            for i in range(first, stop):
                slope = grad[i] + param[i] * decay if weight_decay != 0 else grad[i]
                variance = square[i] * keep + slope * share * slope
                velocity = buffer[i] * inertia + slope / (math.sqrt(variance) + offset)
                square[i], buffer[i] = variance, velocity
                param[i] += velocity * step
        else:
            mean, buffer = array_at(table[3, row], stop, like), array_at(table[-1, row], stop, like)
            for i in range(first, stop):
                slope = grad[i] + param[i] * decay if weight_decay != 0 else grad[i]
                second = square[i] * keep + slope * share * slope
                way = slope - mean[i]
                moved = mean[i] + way * share if is_near else slope - way * keep
                square[i], mean[i] = second, moved
                change = slope / (math.sqrt(second - moved * moved) + offset)
                if buffered:
                    change += buffer[i] * inertia
                    buffer[i] = change
                param[i] += change * step
        lo = starts[row] + stop
        row += 1


@launcher
def rmsprop(table, like, centered, lr, alpha, eps, weight_decay, momentum):
    starts = np.empty(table.shape[1] + 1, np.uintp)
    if not find(table, starts, GRADIENTS):
        return False
    total = starts[-1]
    parallel(rmsprop_loop, (table, starts, like, centered, lr, alpha, eps, weight_decay, momentum), total, total)
    return True


@serves("optim::rmsprop_step", REAL)
def rmsprop_kernel(generic: Any) -> Any:
    def run(*columns: Arrays, lr: Any, alpha: float, eps: float, weight_decay: float, momentum: float) -> None:
        centered = columns[3][0] is not None
        numbers = (float(lr), float(alpha), float(eps), float(weight_decay), float(momentum))
        if not stepping(rmsprop, columns, centered, *numbers):
            options = {"weight_decay": weight_decay, "momentum": momentum}
            generic(*columns, lr=lr, alpha=alpha, eps=eps, **options)

    return run


@loop
def adagrad_loop(table, starts, like, counts, lr, lr_decay, eps, weight_decay, lo, hi):
    real = like.dtype.type
    offset, decay = real(eps), real(weight_decay)
    row = row_at(starts, lo)
    while lo < hi:
        first, stop = lo - starts[row], min(hi, starts[row + 1]) - starts[row]
        step = real(-lr / (1 + (counts[row] - 1) * lr_decay))
        param, grad = array_at(table[0, row], stop, like), array_at(table[1, row], stop, like)
        total = array_at(table[2, row], stop, like)
        for i in range(first, stop):
            slope = grad[i] + param[i] * decay if weight_decay != 0 else grad[i]
            square = total[i] + slope * slope
            total[i] = square
            param[i] += slope * step / (math.sqrt(square) + offset)
        lo = starts[row] + stop
        row += 1


@launcher
def adagrad(table, like, counts, lr, lr_decay, eps, weight_decay):
    starts = np.empty(table.shape[1] + 1, np.uintp)
    if not find(table, starts, GRADIENTS):
        return False
    total = starts[-1]
    parallel(adagrad_loop, (table, starts, like, counts, lr, lr_decay, eps, weight_decay), total, total)
    return True


@serves("optim::adagrad_step", REAL)
def adagrad_kernel(generic: Any) -> Any:
    def run(*columns: Arrays, lr: Any, lr_decay: float, eps: float, weight_decay: float) -> None:
        *arrays, counts = columns
        numbers = (float(lr), float(lr_decay), float(eps), float(weight_decay))
        if not stepping(adagrad, arrays, np.array(counts), *numbers):
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
        total = like.dtype.type(0)
        for i in range(first, stop):
            total += x[i] * x[i]
        sums[block] = total


@launcher
def norms(table, like, result):
    """The Euclidean norm of each array; the same whatever the number of threads is."""
    rows = len(result)
    starts, blocks = np.empty(rows + 1, np.uintp), np.zeros(rows + 1, np.uintp)
    if not find(table, starts, 0):
        return False
    for row in range(rows):
        blocks[row + 1] = blocks[row] + (starts[row + 1] - starts[row] + np.uintp(BLOCK - 1)) // np.uintp(BLOCK)
    sums = np.empty(blocks[-1], np.float64)
    parallel(squares_loop, (table, starts, blocks, like, sums), blocks[-1], starts[-1])
    for row in range(rows):
        result[row] = math.sqrt(sums[blocks[row] : blocks[row + 1]].sum())
    return True


@serves("foreach::norm", REAL)
def norm_kernel(generic: Any) -> Any:
    def run(arrays: Arrays, ord: Any = 2, dtype: Any = None) -> Any:
        result = np.empty(len(arrays), arrays[0].dtype)
        if ord != 2 or dtype is not None:
            return NotImplemented
        if not norms(identities([arrays], len(arrays)), arrays[0].reshape(-1), result):
            return NotImplemented
        return [result[i : i + 1].reshape(()) for i in range(len(arrays))]

    return run


@loop
def scale_loop(table, starts, like, factor, lo, hi):
    row = row_at(starts, lo)
    scale = like.dtype.type(factor)
    while lo < hi:
        first, stop = lo - starts[row], min(hi, starts[row + 1]) - starts[row]
        x = array_at(table[0, row], stop, like)
        for i in range(first, stop):
            x[i] *= scale
        lo = starts[row] + stop
        row += 1


@launcher
def scale(table, like, factor):
    starts = np.empty(table.shape[1] + 1, np.uintp)
    if not find(table, starts, -1):
        return False
    total = starts[-1]
    parallel(scale_loop, (table, starts, like, factor), total, total)
    return True


@serves("foreach::mul_", REAL)
def scale_kernel(generic: Any) -> Any:
    def run(arrays: Arrays, other: Any) -> Any:
        if isinstance(other, list) or np.ndim(other) or len(set(map(id, arrays))) != len(arrays):
            return NotImplemented
        return None if scale(identities([arrays], len(arrays)), arrays[0].reshape(-1), float(other)) else NotImplemented

    return run
