"""Losses and their gradients, each in one pass over the input."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.backend_cpu.compiled.codegen.mathematics import exp, like, log, maximum, sigmoid, softplus
from weft.backend_cpu.compiled.codegen.parallel import launcher, loop, parallel
from weft.backend_cpu.compiled.kernels.layouts import contiguous, flat, parameter
from weft.backend_cpu.compiled.kernels.softmax import EXP, SIDE, WIDTH, column_maxima, columns_of, parts_of, row_maximum
from weft.backend_cpu.registry import MIN_SIZE_FUSED, register_kernel

REAL = "float32 float64"

# Cross entropy with class indices. `most` and `sums` are the largest logit of each place, and the logarithm of the sum
# of the exponentials; an ignored place has a count of 0.


MAX_SERIAL_ROWS = 8192  # that one thread goes through
MAX_FEW_CLASSES = np.uintp(32)  # for which a vector holds several rows


@loop
def log_sums(x, most, sums, lo, hi):
    """The largest logit of each row, and the logarithm of the sum of the exponentials of the distances from it."""
    if x.shape[1] <= MAX_FEW_CLASSES:
        across = np.empty((MAX_FEW_CLASSES, SIDE), x.dtype)
        for first in range(lo, hi, SIDE):
            count = min(SIDE, hi - first)
            for k in range(count):
                for j in range(x.shape[1]):
                    across[j, k] = x[first + k, j]
            for k in range(count):
                most[first + k], sums[first + k] = across[0, k], 0
            for j in range(1, x.shape[1]):
                for k in range(count):
                    most[first + k] = maximum(most[first + k], across[j, k])
            for j in range(x.shape[1]):
                for k in range(count):
                    sums[first + k] += exp(across[j, k] - most[first + k])
    else:
        for row in range(lo, hi):
            top = row_maximum(x, row)
            total = like(top, 0.0)
            for j in range(x.shape[1]):
                total += exp(x[row, j] - top)
            most[row], sums[row] = top, total
    for row in range(lo, hi):
        sums[row] = log(sums[row])


@loop
def cross_entropy_rows(x, target, weight, ignored, smoothing, most, sums, losses, counts, lo, hi):
    classes = x.shape[1]
    log_sums(x, most, sums, lo, hi)
    for row in range(lo, hi):
        top, shift = most[row], sums[row]
        counts[row], losses[row] = 0, 0
        if target[row] == ignored:
            continue
        place = np.uintp(target[row])
        if weight[place] != 0:
            losses[row] = (shift - (x[row, place] - top)) * weight[place]
        counts[row] = weight[place]
        if smoothing != 0:
            spread = like(top, 0.0)
            for j in range(classes):
                spread += ((x[row, j] - top) - shift) * weight[j]
            share = like(top, smoothing / classes)
            losses[row] = losses[row] * like(top, 1 - smoothing) - spread * share


@loop
def cross_entropy_columns(x, target, weight, ignored, smoothing, most, sums, losses, counts, lo, hi):
    top, total = np.empty(WIDTH, x.dtype), np.empty(WIDTH, x.dtype)
    for part in range(lo, hi):
        block, start, width = columns_of(x, part)
        column_maxima(x, block, start, width, top)
        total[:] = 0
        for k in range(x.shape[1]):
            for j in range(width):
                total[j] += exp(x[block, k, start + j] - top[j])
        for j in range(width):
            total[j] = log(total[j])
        for j in range(width):
            column = start + j
            most[block, column], sums[block, column] = top[j], total[j]
            counts[block, column], losses[block, column] = 0, 0
            if target[block, column] == ignored:
                continue
            place = np.uintp(target[block, column])
            if weight[place] != 0:
                losses[block, column] = (total[j] - (x[block, place, column] - top[j])) * weight[place]
            counts[block, column] = weight[place]
            if smoothing != 0:
                spread = like(top[j], 0.0)
                for k in range(x.shape[1]):
                    spread += ((x[block, k, column] - top[j]) - total[j]) * weight[k]
                share = like(top[j], smoothing / x.shape[1])
                losses[block, column] = losses[block, column] * like(top[j], 1 - smoothing) - spread * share


@loop
def totals(losses, counts):
    """The sums of losses and of counts."""
    loss, count = 0.0, 0.0
    for i in range(losses.size):
        loss += losses[i]
        count += counts[i]
    return loss, count


@launcher
def cross_entropy_by_rows(x, target, weight, ignored, smoothing, most, sums, losses, counts):
    arguments = (x, target, weight, ignored, smoothing, most, sums, losses, counts)
    parallel(cross_entropy_rows, arguments, x.shape[0], EXP * x.size)
    return totals(losses, counts)


@launcher
def cross_entropy_by_columns(x, target, weight, ignored, smoothing, most, sums, losses, counts):
    arguments = (x, target, weight, ignored, smoothing, most, sums, losses, counts)
    parallel(cross_entropy_columns, arguments, x.shape[0] * parts_of(x), EXP * x.size)
    return totals(losses.reshape(-1), counts.reshape(-1))


@launcher
def cross_entropy_of_rows(x, target, ignored, mean, most, sums, loss, count):
    """The sum or mean over unweighted rows; False if a class is out of range."""
    parallel(log_sums, (x, most, sums), x.shape[0], EXP * x.size)
    total, number, classes = 0.0, 0, np.uintp(x.shape[1])
    for row in range(np.uintp(target.size)):
        chosen = np.uintp(target[row])
        if target[row] == ignored:
            continue
        if chosen >= classes:
            return False
        total += sums[row] - (x[row, chosen] - most[row])
        number += 1
    loss[()] = total / number if mean else total
    count[()] = number
    return True


def are_usual(input: Any, target: Any, weight: Any, reduction: str, smoothing: float = 0.0) -> bool:
    """Whether these are not very many unweighted rows of logits, with a class for each."""
    if weight is not None or smoothing or reduction == "none" or input.ndim != 2 or target.size >= MAX_SERIAL_ROWS:
        return False
    flat: bool = input.flags.c_contiguous and target.flags.c_contiguous
    return flat and target.dtype == np.int64


def by_row_or_column(input: Any, target: Any, *arrays: Any) -> tuple[Any, list[Any]]:
    """Logits as (N, C) or (N, C, places), and the other arrays as (N,) or (N, places)."""
    batch, classes = input.shape[:2]
    places = target.size // batch
    x = contiguous(input)
    scores, shape = (
        (x.reshape(batch, classes), (batch,)) if places == 1 else (x.reshape(batch, classes, -1), (batch, -1))
    )
    return scores, [each.reshape(shape) for each in (np.ascontiguousarray(target, np.int64), *arrays)]


@register_kernel("nn::cross_entropy", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def cross_entropy_kernel(generic: Any) -> Any:
    def run(input: Any, target: Any, weight: Any, reduction: str, ignore_index: int, smoothing: float) -> Any:
        if not input.size:
            return generic(input, target, weight, reduction, ignore_index, smoothing)
        if are_usual(input, target, weight, reduction, smoothing):
            statistics = np.empty((2, target.size), input.dtype)
            loss, count = np.empty((), input.dtype), np.empty((), input.dtype)
            if cross_entropy_of_rows(input, target, ignore_index, reduction == "mean", *statistics, loss, count):
                return loss, count, statistics
        arrays = np.empty((4, *target.shape), input.dtype)  # the largest scores, logarithms of sums, losses, counts
        x, (chosen, *flat) = by_row_or_column(input, target, *arrays)
        launch = cross_entropy_by_rows if x.ndim == 2 else cross_entropy_by_columns
        weights = parameter(weight, input.shape[1], 1, input)
        total, number = launch(x, chosen, weights, int(ignore_index), float(smoothing), *flat)
        if reduction == "none":
            return arrays[2], np.zeros((), input.dtype), arrays[:2]
        total = total / number if reduction == "mean" and number else total if reduction == "sum" else np.nan
        return np.asarray(total, input.dtype), np.asarray(number, input.dtype), arrays[:2]

    return run


@loop
def cross_entropy_backward_rows(shares, x, target, weight, whole, ignored, smoothing, most, sums, y, lo, hi):
    classes = x.shape[1]
    for row in range(lo, hi):
        if target[row] == ignored:
            y[row] = 0
            continue
        place = np.uintp(target[row])
        top, shift = most[row], sums[row]
        own = shares[row] * weight[place] * like(top, 1 - smoothing)
        each = shares[row] * like(top, smoothing / classes)
        scale = own + each * like(top, whole)
        if smoothing != 0:
            for j in range(classes):
                y[row, j] = exp((x[row, j] - top) - shift) * scale - each * weight[j]
        else:
            for j in range(classes):
                y[row, j] = exp((x[row, j] - top) - shift) * scale
        y[row, place] -= own


@loop
def cross_entropy_backward_columns(shares, x, target, weight, whole, ignored, smoothing, most, sums, y, lo, hi):
    own, each, scale = np.empty(WIDTH, x.dtype), np.empty(WIDTH, x.dtype), np.empty(WIDTH, x.dtype)
    for part in range(lo, hi):
        block, start, width = columns_of(x, part)
        for j in range(width):
            own[j], each[j] = 0, 0
            chosen = target[block, start + j]
            if chosen != ignored:
                share = shares[block, start + j]
                own[j] = share * weight[np.uintp(chosen)] * like(share, 1 - smoothing)
                each[j] = share * like(share, smoothing / x.shape[1])
            scale[j] = own[j] + each[j] * like(own[j], whole)
        for k in range(x.shape[1]):
            for j in range(width):
                column = start + j
                power = exp((x[block, k, column] - most[block, column]) - sums[block, column])
                y[block, k, column] = power * scale[j] - each[j] * weight[k]
        for j in range(width):
            chosen = target[block, start + j]
            if chosen != ignored:
                y[block, np.uintp(chosen), start + j] -= own[j]


@loop
def log_sums_backward(grad, x, target, total, ignored, most, sums, y, lo, hi):
    """The gradients of unweighted rows."""
    share, classes = grad / total, np.uintp(x.shape[1])
    if classes <= MAX_FEW_CLASSES:
        for row in range(lo, hi):
            for j in range(classes):
                y[row, j] = (x[row, j] - most[row]) - sums[row]
        flat = y.reshape(-1)
        for i in range(lo * classes, hi * classes):
            flat[i] = exp(flat[i]) * share
    else:
        for row in range(lo, hi):
            for j in range(classes):
                y[row, j] = exp((x[row, j] - most[row]) - sums[row]) * share
    for row in range(lo, hi):
        if target[row] == ignored:
            y[row] = 0
        else:
            y[row, np.uintp(target[row])] -= share


@launcher
def cross_entropy_backward_of_rows(grad, x, target, total, ignored, most, sums, y):
    arguments = (grad[()], x, target, total[()], ignored, most, sums, y)
    parallel(log_sums_backward, arguments, x.shape[0], EXP * x.size)


@launcher
def cross_entropy_backward_by_rows(shares, x, target, weight, whole, ignored, smoothing, most, sums, y):
    arguments = (shares, x, target, weight, whole, ignored, smoothing, most, sums, y)
    parallel(cross_entropy_backward_rows, arguments, x.shape[0], EXP * x.size)


@launcher
def cross_entropy_backward_by_columns(shares, x, target, weight, whole, ignored, smoothing, most, sums, y):
    arguments = (shares, x, target, weight, whole, ignored, smoothing, most, sums, y)
    parallel(cross_entropy_backward_columns, arguments, x.shape[0] * parts_of(x), EXP * x.size)


@register_kernel("nn::cross_entropy_gradient", dtypes=REAL, min_size=MIN_SIZE_FUSED, checks_size=True)
def cross_entropy_gradient_kernel(generic: Any) -> Any:
    def run(
        grad: Any,
        input: Any,
        target: Any,
        weight: Any,
        total: Any,
        statistics: Any,
        reduction: str,
        ignore_index: int,
        smoothing: float,
    ) -> Any:
        if are_usual(input, target, weight, reduction, smoothing):
            result = np.empty_like(input)
            total = total if reduction == "mean" else np.ones_like(total)
            cross_entropy_backward_of_rows(grad, input, target, total, ignore_index, *statistics, result)
            return result
        shares = np.empty(target.shape, input.dtype)
        shares[...] = grad / total if reduction == "mean" else grad
        result = np.empty(input.shape, input.dtype)
        x, (chosen, shares, most, sums) = by_row_or_column(input, target, shares, *contiguous(statistics))
        weights = parameter(weight, input.shape[1], 1, input)
        whole = float(weights.size if weight is None else np.sum(weights, dtype=np.float64))
        launch = cross_entropy_backward_by_rows if x.ndim == 2 else cross_entropy_backward_by_columns
        numbers = whole, int(ignore_index), float(smoothing)
        launch(shares, x, chosen, weights, *numbers, most, sums, result.reshape(x.shape))
        return result

    def by_size(grad: Any, input: Any, *rest: Any) -> Any:
        return (run if input.size >= MIN_SIZE_FUSED else generic)(grad, input, *rest)

    return by_size


# Negative log likelihood


@launcher
def picked_rows(x, target, ignored, mean, loss, count):
    """The sum or mean over unweighted rows; False if a class is out of range."""
    total, number, classes = 0.0, 0, np.uintp(x.shape[1])
    for row in range(np.uintp(target.size)):
        chosen = np.uintp(target[row])
        if chosen < classes and target[row] != ignored:
            total -= x[row, chosen]
            number += 1
        elif target[row] != ignored:
            return False
    loss[()] = total / number if mean else total
    count[()] = number
    return True


@loop
def picked_loop(x, target, weight, ignored, losses, counts, wrong, lo, hi):
    places = np.uintp(x.shape[2])
    for item in range(lo, hi):
        losses[item], counts[item] = 0, 0
        if target[item] != ignored:
            chosen = np.uintp(target[item])
            if chosen >= np.uintp(x.shape[1]):
                wrong[0] = True
                continue
            counts[item] = weight[chosen]
            if weight[chosen] != 0:
                losses[item] = -x[item // places, chosen, item % places] * weight[chosen]


@launcher
def picked(x, target, weight, ignored, losses, counts, wrong):
    parallel(picked_loop, (x, target, weight, ignored, losses, counts, wrong), target.size, 8 * target.size)
    return totals(losses, counts)


@register_kernel("nn::nll_loss", dtypes=REAL, min_size=MIN_SIZE_FUSED)
def nll_loss_kernel(generic: Any) -> Any:
    def run(input: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
        if not target.size:
            return generic(input, target, weight, reduction, ignore_index)
        if are_usual(input, target, weight, reduction):
            loss, count = np.empty((), input.dtype), np.empty((), input.dtype)
            if picked_rows(input, target, ignore_index, reduction == "mean", loss, count):
                return loss, count
        losses, counts = np.empty((2, target.size), input.dtype)
        wrong = np.zeros(1, bool)
        x = contiguous(input).reshape(*input.shape[:2], -1)
        chosen = np.ascontiguousarray(target, np.int64).reshape(-1)
        weights = parameter(weight, input.shape[1], 1, input)
        total, number = picked(x, chosen, weights, ignore_index, losses, counts, wrong)
        if wrong[0]:
            return generic(input, target, weight, reduction, ignore_index)
        if reduction == "none":
            return losses.reshape(target.shape), np.zeros((), input.dtype)
        total = total / number if reduction == "mean" and number else total if reduction == "sum" else np.nan
        return np.asarray(total, input.dtype), np.asarray(number, input.dtype)

    return run


@loop
def picked_backward_loop(share, target, weight, ignored, y, lo, hi):
    places = np.uintp(y.shape[2])
    for item in range(lo, hi):
        chosen = np.uintp(target[item])
        if target[item] != ignored and chosen < np.uintp(y.shape[1]):
            if weight[chosen] != 0:
                y[item // places, chosen, item % places] = share[item % np.uintp(share.size)] * weight[chosen]


@launcher
def picked_backward(share, target, weight, ignored, y):
    parallel(picked_backward_loop, (share, target, weight, ignored, y), target.size, 8 * target.size)


@register_kernel("nn::nll_loss_gradient", dtypes=REAL, min_size=MIN_SIZE_FUSED, checks_size=True)
def nll_loss_gradient_kernel(generic: Any) -> Any:
    def run(grad: Any, target: Any, weight: Any, total: Any, shape: Any, reduction: str, ignore_index: int) -> Any:
        result = np.zeros(shape, grad.dtype)
        if not target.size or result.size < MIN_SIZE_FUSED:
            return generic(grad, target, weight, total, shape, reduction, ignore_index)
        share = flat(-grad / total if reduction == "mean" else -grad)
        chosen, y = np.ascontiguousarray(target, np.int64).reshape(-1), result.reshape(*shape[:2], -1)
        picked_backward(share, chosen, parameter(weight, shape[1], 1, grad), ignore_index, y)
        return result

    return run


# Losses of pairs. Sums are taken for parts of the pairs side by side, in float64.

PARTS = np.uintp(64)


@loop
def first_of(part, size):
    """The first index of a part."""
    return part * np.uintp(size) // PARTS


@loop
def difference(x, t, limit, curve, slope, shift):
    d = x - t
    size = abs(d)
    return like(d, curve) * d * d if size < like(d, limit) else like(d, slope) * size - like(d, shift)


@loop
def difference_elements(x, t, limit, curve, slope, shift, y, lo, hi):
    for i in range(lo, hi):
        y[i] = difference(x[i], t[i], limit, curve, slope, shift)


@loop
def difference_parts(x, t, limit, curve, slope, shift, sums, lo, hi):
    for part in range(lo, hi):
        total = like(x[0], 0.0)
        for i in range(first_of(part, x.size), first_of(part + np.uintp(1), x.size)):
            total += difference(x[i], t[i], limit, curve, slope, shift)
        sums[part] = total


@loop
def difference_backward_elements(share, x, t, limit, curve, slope, y, lo, hi):
    for i in range(lo, hi):
        d = x[i] - t[i]
        outside = like(d, slope) if d > 0 else like(d, -slope)
        outside = d if d == 0 or d != d else outside
        y[i] = (like(d, 2 * curve) * d if abs(d) < like(d, limit) else outside) * like(d, share)


@launcher
def difference_each(x, t, limit, curve, slope, shift, y):
    parallel(difference_elements, (x, t, limit, curve, slope, shift, y), x.size, x.size)


@launcher
def difference_sums(x, t, limit, curve, slope, shift, sums):
    parallel(difference_parts, (x, t, limit, curve, slope, shift, sums), PARTS, x.size)


@launcher
def difference_backward(share, x, t, limit, curve, slope, y):
    parallel(difference_backward_elements, (share, x, t, limit, curve, slope, y), x.size, x.size)


@loop
def logits_loss(x, t):
    return softplus(x) - x * t


@loop
def logits_elements(x, t, y, lo, hi):
    for i in range(lo, hi):
        y[i] = logits_loss(x[i], t[i])


@loop
def logits_parts(x, t, sums, lo, hi):
    for part in range(lo, hi):
        total = like(x[0], 0.0)
        for i in range(first_of(part, x.size), first_of(part + np.uintp(1), x.size)):
            total += logits_loss(x[i], t[i])
        sums[part] = total


@loop
def logits_backward_elements(share, x, t, y, lo, hi):
    for i in range(lo, hi):
        y[i] = (sigmoid(x[i]) - t[i]) * like(x[i], share)


@launcher
def logits_each(x, t, y):
    parallel(logits_elements, (x, t, y), x.size, 2 * EXP * x.size)


@launcher
def logits_sums(x, t, sums):
    parallel(logits_parts, (x, t, sums), PARTS, 2 * EXP * x.size)


@launcher
def logits_backward(share, x, t, y):
    parallel(logits_backward_elements, (share, x, t, y), x.size, EXP * x.size)


def pairwise_loss_kernels(name: str, gradient: str, each: Any, sums: Any, backward: Any) -> None:
    """Register a loss of pairs, and its gradient; what comes between the arrays and the reduction are numbers."""

    @register_kernel(name, dtypes=REAL, min_size=MIN_SIZE_FUSED)
    def make(generic: Any) -> Any:
        def run(input: Any, target: Any, *rest: Any) -> Any:
            numbers, reduction = [float(value) for value in rest[:-1]], rest[-1]
            if not input.size or input.shape != target.shape or input.dtype != target.dtype:
                return generic(input, target, *rest)
            pair = flat(input), flat(target)
            if reduction == "none":
                result = np.empty(input.shape, input.dtype)
                each(*pair, *numbers, result.reshape(-1))
                return result
            parts = np.empty(int(PARTS))
            sums(*pair, *numbers, parts)
            total = np.add.reduce(parts)
            return np.asarray(total if reduction == "sum" else total / input.size, input.dtype)

        return run

    @register_kernel(gradient, dtypes=REAL, min_size=MIN_SIZE_FUSED, checks_size=True)
    def make_gradient(generic: Any) -> Any:
        def run(grad: Any, input: Any, target: Any, *rest: Any) -> Any:
            fits = input.size >= MIN_SIZE_FUSED and input.shape == target.shape and input.dtype == target.dtype
            if not fits or not input.size or grad.ndim or rest[-1] == "none":
                return generic(grad, input, target, *rest)
            share = float(grad) / (input.size if rest[-1] == "mean" else 1)
            result = np.empty(input.shape, input.dtype)
            pair = flat(input), flat(target)
            backward(share, *pair, *[float(value) for value in rest[:-1]], result.reshape(-1))
            return result

        return run


pairwise_loss_kernels(
    "nn::difference_loss", "nn::difference_loss_gradient", difference_each, difference_sums, difference_backward
)
pairwise_loss_kernels(
    "nn::binary_cross_entropy_with_logits", "nn::logits_loss_gradient", logits_each, logits_sums, logits_backward
)
