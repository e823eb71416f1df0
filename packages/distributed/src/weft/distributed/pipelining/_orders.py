"""In which order each process computes the microbatches of its stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

Orders = dict[int, list["_Action"]]


class _ComputationType(Enum):
    """What is computed. A full backward is that of the inputs followed by that of the weights."""

    FORWARD = "F"
    BACKWARD_INPUT = "I"
    BACKWARD_WEIGHT = "W"
    FULL_BACKWARD = "B"

    def __str__(self) -> str:
        return self.value


FORWARD = _ComputationType.FORWARD
BACKWARD_INPUT = _ComputationType.BACKWARD_INPUT
BACKWARD_WEIGHT = _ComputationType.BACKWARD_WEIGHT
FULL_BACKWARD = _ComputationType.FULL_BACKWARD


class _Action(NamedTuple):
    """A computation of one stage for one microbatch, ``2F0`` for short."""

    stage_index: int
    computation_type: _ComputationType
    microbatch_index: int

    def __repr__(self) -> str:
        return f"{self.stage_index}{self.computation_type}{self.microbatch_index}"


def loop_mapping(num_stages: int, size: int) -> dict[int, int]:
    """Which process has which stage, in turn: 0, 1, 2, 0, 1, 2."""
    return {stage: stage % size for stage in range(num_stages)}


def v_mapping(num_stages: int, size: int) -> dict[int, int]:
    """Which process has which stage: 0, 1, 2, 2, 1, 0."""
    return {stage: min(stage, num_stages - 1 - stage) for stage in range(num_stages)}


def gpipe(stage: int, num_stages: int, microbatches: int) -> list[_Action]:
    """All forwards, then all backwards."""
    numbers = range(microbatches)
    return [_Action(stage, FORWARD, index) for index in numbers] + [
        _Action(stage, FULL_BACKWARD, index) for index in numbers
    ]


def one_forward_one_backward(stage: int, num_stages: int, microbatches: int) -> list[_Action]:
    """As many forwards as stages follow, then one backward and one forward in turn (arXiv:2006.09503)."""
    ahead = min(microbatches, num_stages - stage)
    order = [_Action(stage, FORWARD, index) for index in range(ahead)]
    for index in range(microbatches):
        order.append(_Action(stage, FULL_BACKWARD, index))
        if ahead + index < microbatches:
            order.append(_Action(stage, FORWARD, ahead + index))
    return order


def looped_breadth_first(stages: list[int], microbatches: int) -> list[_Action]:
    """All microbatches of a stage, then all of the next (arXiv:2211.05953)."""
    numbers = range(microbatches)
    return [_Action(stage, FORWARD, index) for stage in stages for index in numbers] + [
        _Action(stage, FULL_BACKWARD, index) for stage in reversed(stages) for index in reversed(numbers)
    ]


def interleaved(rank: int, size: int, stages: list[int], microbatches: int) -> list[_Action]:
    """One forward and one backward in turn, each of a group of microbatches after the other (arXiv:2104.04473).

    Raises
    ------
    ValueError
        If the microbatches are no multiple of the groups.
    """
    rounds = max(1, microbatches // size)
    if microbatches % rounds:
        raise ValueError(
            "For Interleaved 1F1B, number of microbatches has to be a multiple of the number of rounds "
            f"({rounds}), got {microbatches}: use a multiple of the {size} processes"
        )
    group, chunks = microbatches // rounds, len(stages)
    total = microbatches * chunks
    ahead = min(total, (chunks - 1) * group + 2 * (size - 1 - rank))
    done: Counter[_Action] = Counter()

    def action(step: int, kind: _ComputationType) -> _Action:
        chunk = step // group % chunks
        stage = stages[chunk if kind is FORWARD else chunks - 1 - chunk]
        counted = _Action(stage, kind, 0)
        done[counted] += 1
        return _Action(stage, kind, done[counted] - 1)

    order = [action(step, FORWARD) for step in range(ahead)]
    for step in range(total - ahead):
        order.append(action(ahead + step, FORWARD))
        order.append(action(step, FULL_BACKWARD))
    return order + [action(step, FULL_BACKWARD) for step in range(total - ahead, total)]


def zero_bubble(mapping: dict[int, int], microbatches: int) -> Orders:
    """Backwards of inputs first, as others wait for them, then forwards, and of weights when there is nothing else.

    After arXiv:2401.10241: each computation is taken to last as long as any other, and a stage has at most as many
    microbatches under way as stages follow, itself included.
    """
    num_stages, size = len(mapping), len(set(mapping.values()))
    orders: Orders = {rank: [] for rank in range(size)}
    done: dict[_Action, int] = {}  # with the time at which it was
    counts: Counter[tuple[int, _ComputationType]] = Counter()

    def ready(stage: int, kind: _ComputationType, time: int) -> _Action | None:
        action = _Action(stage, kind, counts[stage, kind])
        if action.microbatch_index == microbatches:
            return None
        under_way = counts[stage, FORWARD] - counts[stage, BACKWARD_INPUT]
        if kind is FORWARD and under_way >= num_stages - stage:
            return None
        return action if all(done.get(each, time) < time for each in needed(action, num_stages)) else None

    time = 0
    while sum(map(len, orders.values())) < 3 * num_stages * microbatches:
        chosen = []
        for rank in range(size):
            own = sorted((stage for stage, holder in mapping.items() if holder == rank), reverse=True)
            kinds = (BACKWARD_INPUT, FORWARD, BACKWARD_WEIGHT)
            candidates = (ready(stage, kind, time) for kind in kinds for stage in own)
            action = next((each for each in candidates if each is not None), None)
            if action is not None:
                chosen.append((rank, action))
        for rank, action in chosen:
            orders[rank].append(action)
            done[action] = time
            counts[action[:2]] += 1
        time += 1
    return orders


def needed(action: _Action, num_stages: int) -> list[_Action]:
    """The actions whose results an action uses."""
    stage, kind, index = action
    if kind is FORWARD:
        return [_Action(stage - 1, FORWARD, index)] if stage else []
    if kind is BACKWARD_WEIGHT:
        return [_Action(stage, BACKWARD_INPUT, index)]
    own = [_Action(stage, FORWARD, index)]
    return [*own, _Action(stage + 1, kind, index)] if stage + 1 < num_stages else own


def check_orders(orders: Orders, num_stages: int) -> None:
    """Raise ValueError for orders in which processes would wait for one another for ever."""
    done: set[_Action] = set()
    places = dict.fromkeys(orders, 0)
    left = sum(map(len, orders.values()))
    while left:
        before = left
        for rank, order in orders.items():
            while places[rank] < len(order) and done.issuperset(needed(order[places[rank]], num_stages)):
                done.add(order[places[rank]])
                places[rank] += 1
                left -= 1
        if left == before:
            waiting = {rank: order[places[rank]] for rank, order in orders.items() if places[rank] < len(order)}
            raise ValueError(f"the schedule cannot be carried out: ranks wait for one another at {waiting}")


StageOrder = Callable[[int, int, int], list[_Action]]
