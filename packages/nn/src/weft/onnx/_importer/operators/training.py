"""Steps of optimizers, as files have them that hold a whole training step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.onnx._importer.registry import TRAINING, operator


def grouped(tensors: tuple[Any, ...], kinds: int) -> Iterator[tuple[Any, ...]]:
    """For each optimized tensor: itself, its gradient, its states. A node has all of one kind, then all of the next."""
    count = len(tensors) // kinds
    return zip(*(tensors[kind * count : (kind + 1) * count] for kind in range(kinds)))


def results(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The outputs of a node: the new tensors, then the new states of each kind."""
    return tuple(value for column in zip(*rows) for value in column)


@operator("Adagrad", domain=TRAINING)
def adagrad(
    r: Any,
    t: Any,
    *inputs: Any,
    decay_factor: float = 0.0,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> Any:
    rate = r / (1 + t * decay_factor)
    rows = []
    for x, grad, squares in grouped(inputs, 3):
        full = grad + norm_coefficient * x
        squares = squares + full * full
        rows.append((x - rate * full / (squares.sqrt() + epsilon), squares))
    return results(rows)


@operator("Adam", domain=TRAINING)
def adam(
    r: Any,
    t: Any,
    *inputs: Any,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> Any:
    step = int(t)
    rate = r * (1 - beta**step) ** 0.5 / (1 - alpha**step) if step > 0 else r
    rows = []
    for x, grad, mean, square in grouped(inputs, 4):
        full = grad + norm_coefficient * x
        mean = alpha * mean + (1 - alpha) * full
        square = beta * square + (1 - beta) * full * full
        moved = x - rate * mean / (square.sqrt() + epsilon)
        rows.append(((1 - norm_coefficient_post) * moved, mean, square))
    return results(rows)


@operator("Momentum", domain=TRAINING)
def momentum(r: Any, t: Any, *inputs: Any, alpha: float, beta: float, mode: str, norm_coefficient: float) -> Any:
    share = beta if int(t) > 0 else 1.0
    rows = []
    for x, grad, velocity in grouped(inputs, 3):
        full = grad + norm_coefficient * x
        velocity = alpha * velocity + share * full
        step = full + alpha * velocity if mode == "nesterov" else velocity
        rows.append((x - r * step, velocity))
    return results(rows)
