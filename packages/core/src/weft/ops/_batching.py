"""How ops run on a batch: the rules that declarations name with ``batch=``.

A rule gets an op, its arguments, in which the tensors of the batch have one more dimension in front, which of them
are of the batch, and the batch's size. It returns the op's results with that dimension in front.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from weft._engine.tensor import TensorBase, local
from weft.ops._registry import registry

__all__ = [
    "Batch",
    "along_dims",
    "composed",
    "dynamic",
    "elementwise",
    "leading",
    "one_by_one",
    "random_numbers",
    "reads_values",
    "rule_for",
]

R = TypeVar("R")


class Batch:
    """A call of an op on a batch.

    Attributes
    ----------
    declaration : Declaration
    args : list
        Tensors of the batch have its dimension in front.
    flags : list
        For each argument whether it is a tensor of the batch; for a list of tensors a list.
    level : Level
        The vmap that runs: how many examples it has, and what random operations do.
    """

    __slots__ = ("args", "declaration", "flags", "level")

    def __init__(self, declaration: Any, args: list[Any], flags: list[Any], level: Any) -> None:
        self.declaration = declaration
        self.args = args
        self.flags = flags
        self.level = level

    @property
    def size(self) -> int:
        """The number of examples."""
        count: int = self.level.size
        return count

    @property
    def op(self) -> Any:
        """What runs it."""
        return self.declaration.op

    def rank(self, position: int = 0) -> int:
        """The number of dimensions of a tensor argument in one example."""
        ndim: int = self.args[position]._array.ndim
        return ndim - 1 if self.flags[position] else ndim

    def with_all(self) -> list[Any]:
        """The arguments, with all tensors as tensors of the batch."""
        return [
            self.spread(arg, flag) if at in self.op.positions else arg
            for at, (arg, flag) in enumerate(zip(self.args, self.flags))
        ]

    def as_seen(self) -> list[Any]:
        """The arguments as the function that is mapped sees them."""

        def one(arg: Any, flag: Any) -> Any:
            if isinstance(flag, list):
                return [one(each, each_flag) for each, each_flag in zip(arg, flag)]
            return self.level.batch(arg) if flag else arg

        return [one(arg, flag) for arg, flag in zip(self.args, self.flags)]

    def whole(self, result: Any) -> Any:
        """A result of ops on what the function sees, with the batch in front."""
        if isinstance(result, tuple):
            return tuple(self.whole(each) for each in result)
        return self.level.below(result) if self.level.holds(result) else self.spread(result, False)

    def spread(self, arg: Any, flag: Any) -> Any:
        """A tensor argument with the batch in front: repeated, without memory, if it is the same in all examples."""
        if isinstance(flag, list):
            return [self.spread(each, one) for each, one in zip(arg, flag)]
        if flag or not isinstance(arg, TensorBase):
            return arg
        tensor: Any = arg
        return tensor.unsqueeze(0).expand(self.size, *tensor.shape)


def elementwise(batch: Batch) -> Any:
    """Broadcasting, which aligns dimensions at the end: those of the batch are given the rank of the largest."""
    positions = batch.op.positions
    rank = max(batch.rank(at) for at in positions if isinstance(batch.args[at], TensorBase))
    args = list(batch.args)
    for at in positions:
        if batch.flags[at] and batch.rank(at) < rank:
            shape = args[at]._array.shape
            args[at] = args[at].reshape(shape[0], *(1,) * (rank - len(shape) + 1), *shape[1:])
    return batch.op(*args)


def leading(batch: Batch) -> Any:
    """Ops that take any number of dimensions in front: all tensors get that of the batch."""
    return batch.op(*batch.with_all())


def merged(batch: Batch) -> Any:
    """Ops whose first dimension counts examples already: those of the batch are more of them."""
    args = [
        each.flatten(0, 1) if at in batch.op.positions and isinstance(each, TensorBase) else each  # type: ignore[attr-defined]
        for at, each in enumerate(batch.with_all())
    ]
    for at, name in enumerate(batch.declaration.arguments):
        if name == "shape":  # of a result
            args[at] = (batch.size * args[at][0], *args[at][1:])
    result = batch.op(*args)
    if isinstance(result, tuple):
        return tuple(each.unflatten(0, (batch.size, -1)) for each in result)
    return result.unflatten(0, (batch.size, -1))


def composed(definition: Callable[..., Any]) -> Callable[[Batch], Any]:
    """The rule of an op that is a composition of others: ``definition`` takes its arguments."""
    return lambda batch: batch.whole(definition(*batch.as_seen()))


DIMENSIONS = ("dim", "dims", "dim0", "dim1", "dim2")


def along_dims(batch: Batch) -> Any:
    """Ops along dimensions that are counted from the front: those are one further."""
    args = batch.with_all()
    names = batch.declaration.arguments
    rank = batch.rank(batch.op.positions[0]) if batch.op.sequence_position < 0 else 1  # of a list: never 0-d
    for at, name in enumerate(names):
        if name not in DIMENSIONS:
            continue
        if args[at] is None:  # all elements, as if they were along one dimension
            if rank == 0 or any(args[names.index(each)] for each in names if each == "keepdim"):
                return one_by_one(batch)
            args[0], args[at] = args[0].flatten(1), 1
        elif rank == 0 and args[at] != ():
            return one_by_one(batch)
        else:
            args[at] = args[at] + 1 if isinstance(args[at], int) else tuple(dim + 1 for dim in args[at])
    return batch.op(*args)


def one_by_one(batch: Batch) -> Any:
    """The op for each example, and the results stacked."""
    rows = [batch.declaration(*example(batch, number)) for number in range(max(batch.size, 1))]
    if not isinstance(rows[0], tuple):
        return stack(rows)[: batch.size]
    return tuple(stack(list(column))[: batch.size] for column in zip(*rows))


def example(batch: Batch, number: int) -> list[Any]:
    """The arguments of one example; of an empty batch, some of its shape."""

    def one(arg: Any, flag: Any) -> Any:
        if isinstance(flag, list):
            return [one(each, each_flag) for each, each_flag in zip(arg, flag)]
        if not flag:
            return arg
        return arg.select(0, number) if batch.size else arg.new_zeros(arg.shape[1:])

    return [one(arg, flag) for arg, flag in zip(batch.args, batch.flags)]


def random_numbers(batch: Batch) -> Any:
    """Ops that draw: for each example other numbers, or the same."""
    if batch.level.randomness == "different":
        return leading(batch)
    generator = batch.args[batch.declaration.arguments.index("generator")]
    state = generator.get_state()
    rows = []
    for number in range(batch.size):
        generator.set_state(state)
        rows.append(batch.declaration(*example(batch, number)))
    return stack(rows)


def slowly(batch: Batch) -> Any:
    """`one_by_one`, for ops that have no rule: it says so."""
    warn_slow(batch.declaration.name, batch.size)
    return one_by_one(batch)


def dynamic(batch: Batch) -> Any:
    """Ops whose results have a size that the values decide: that of one example need not be that of another.

    Raises
    ------
    RuntimeError
        Always, also where the sizes happen to agree: whether a program runs must not depend on its numbers.
    """
    raise RuntimeError(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"{batch.declaration.name}. Keep the shape with weft.where(...) or a mask, or move the call out of vmap"
    )


def warn_slow(name: str, size: int) -> None:
    warnings.warn(
        f"vmap: there is no batching rule for {name}; it runs once for each of the {size} examples, which is slow",
        UserWarning,
        stacklevel=2,
    )


def stack(rows: list[Any]) -> Any:
    """Results of the examples as a batch."""
    return registry["core::stack"].function(rows)


def reads_values(function: Callable[..., R]) -> Callable[..., R]:
    """A function that needs the values of its tensors: in a vmap it runs once for each example, and says so."""

    @wraps(function)
    def each_example(*args: Any, **kwargs: Any) -> Any:
        if not local.levels:
            return function(*args, **kwargs)
        level = next((each for each in reversed(local.levels) if each.randomness), None)  # of a vmap
        return function(*args, **kwargs) if level is None else level.read_values(function, args, kwargs)

    return each_example


RULES: dict[str, Callable[[Batch], Any]] = {
    "": slowly,
    "elementwise": elementwise,
    "leading": leading,
    "along_dims": along_dims,
    "one_by_one": one_by_one,
    "merged": merged,
    "dynamic": dynamic,
    "random": random_numbers,
}


def rule_for(declaration: Any) -> Callable[[Batch], Any]:
    """The rule of an op."""
    found: Any = declaration.vmap
    return RULES[found] if isinstance(found, str) else found
