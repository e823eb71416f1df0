"""Levels: what function transforms (`weft.func`) and forward mode put around tensors.

A transform that is running is a level, the innermost with the largest number. A tensor that takes part in it is
wrapped: its record says at which level, around which value (a tensor of the levels below), and what the level knows
of it. An op with wrapped arguments is run by their innermost level, which runs it again on the values, one level
below. So transforms compose in any order without knowing each other.

A wrapped tensor is an ordinary `Tensor` of a kind of its own, off the fast path. Its array has the shape, strides
and dtype that its function sees: that of its value, or for a batch that of its first example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from weft._devices.devices import key_of
from weft._engine.dispatch import bump, link_view, make, record, record_many, share_view
from weft._engine.tensor import Extra, TensorBase, local, state

__all__ = [
    "Level",
    "Wrapped",
    "batched_like",
    "check_randomness",
    "drawn",
    "is_wrapped",
    "keep_call",
    "map_tensors",
    "memory_of",
    "record_of",
    "run",
    "settled",
    "wrap",
]


class Wrapped:
    """What is known of a wrapped tensor.

    Attributes
    ----------
    level : Level
    value : Tensor
        What it is one level below.
    batched : bool
        The first dimension of ``value`` counts the examples of a batch.
    tangent : Tensor or None
        In forward mode: the directional derivative of ``value``; None is zero.
    """

    __slots__ = ("batched", "level", "tangent", "value")

    def __init__(self, level: Level, value: Any, batched: bool = False, tangent: Any = None) -> None:
        self.level = level
        self.value = value
        self.batched = batched
        self.tangent = tangent


class Level:
    """A transform that runs, or ran: as a context manager it is the innermost one.

    Attributes
    ----------
    number : int
        How many levels it is inside of, from 1.
    alive : bool
        Its block has not ended.
    """

    randomness = ""  # of a vmap: what random operations do

    def __init__(self) -> None:
        self.number = 0
        self.alive = False
        self.grad_enabled = True  # whether operations are recorded outside of the block

    def __enter__(self) -> Any:
        self.number = len(local.levels) + 1
        self.alive = True
        self.grad_enabled = local.grad_enabled
        local.levels = (*local.levels, self)
        return self

    def __exit__(self, *exc: object) -> None:
        self.alive = False
        local.levels = tuple(each for each in local.levels if each is not self)

    def run(self, declaration: Any, args: tuple[Any, ...]) -> Any:
        """An op on tensors of this level and those below."""
        raise NotImplementedError

    def seen(self, wrapped: Wrapped) -> Any:
        """The array that the function sees of a tensor."""
        return wrapped.value._array

    def adopt(self, tensor: Any, source: Any) -> Wrapped:
        """The record for a tensor of the levels below, so that ``source``, of this level, can be written into it."""
        raise NotImplementedError

    def keep_history(self, target: Any, source: Any) -> None:
        """Record that a tensor was written into another of this level."""

    def apply_view_fn(self, base: Wrapped, view_fn: Any) -> Wrapped:
        """The record for a view, from that of its base, which was adopted."""
        raise NotImplementedError

    def write(self, target: Wrapped, source: Any) -> None:
        """Write a tensor of this level or those below into one of this level."""
        raise NotImplementedError

    def apply_function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Apply an `autograd.Function` to tensors of this level and those below."""
        raise NotImplementedError

    def read_values(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function that needs the values of its tensors."""
        return function(*args, **kwargs)

    def holds(self, tensor: Any) -> bool:
        """Whether a tensor is wrapped at this level."""
        found = record_of(tensor)
        return found is not None and found.level is self

    def below(self, tensor: Any) -> Any:
        """What a tensor is below this level."""
        found = record_of(tensor)
        return found.value if found is not None and found.level is self else tensor

    def copied(self, wrapped: Wrapped) -> Wrapped:
        """The record with memory of its own."""
        tangent = None if wrapped.tangent is None else wrapped.tangent.clone()
        return Wrapped(self, wrapped.value.clone(), wrapped.batched, tangent)


def wrap(wrapped: Wrapped) -> Any:
    """A tensor with this record."""
    key = wrapped.value._key
    out: Any = make(wrapped.level.seen(wrapped), key_of(key.dtype, key.device, wrapped=True))
    out._extra = Extra()
    out._extra.wrapped = wrapped
    return out


def record_of(tensor: Any) -> Any:
    """The record of a wrapped tensor; None for others."""
    extra = tensor._extra
    return None if extra is None else extra.wrapped


def is_wrapped(value: Any) -> bool:
    """Whether a value is a tensor that a transform has wrapped."""
    return isinstance(value, TensorBase) and record_of(value) is not None


def values_known(tensor: Any) -> bool:
    """Whether a check may read a tensor's values: not those of a batch, nor on the meta device, which has none.

    Nor while an interceptor sees to it that a program does the same whatever its values are.
    """
    key = tensor._key
    if state.intercepting and any(each.hides_values for each in local.interceptors):
        return False
    return not key.wrapped and key.device.type != "meta"


def values_at_hand(tensor: Any) -> bool:
    """Whether a check may read a tensor's values, and need not wait for a device to have computed them."""
    return values_known(tensor) and isinstance(tensor._array, numpy.ndarray)


def settled(tensor: Any) -> Any:
    """A tensor without the levels that have ended: what it is below them.

    Raises
    ------
    RuntimeError
        If it is one of a batch whose `vmap` has ended.
    """
    found = record_of(tensor)
    while found is not None and not found.level.alive:
        if found.batched:
            raise RuntimeError(
                "vmap: a tensor of a batch was used after its vmap had ended. Return it from the function that is "
                "mapped, instead of keeping it elsewhere"
            )
        tensor = found.value
        found = record_of(tensor)
    return tensor


def map_tensors(value: Any, change: Callable[[Any], Any]) -> Any:
    """An op's argument with each tensor changed: one, or those in a list."""
    if isinstance(value, TensorBase):
        return change(value)
    if isinstance(value, (list, tuple)) and any(isinstance(each, TensorBase) for each in value):
        return [change(each) if isinstance(each, TensorBase) else each for each in value]
    return value


def tensors_of(declaration: Any, args: tuple[Any, ...]) -> list[Any]:
    """The tensors among an op's arguments."""
    found: list[Any] = []
    for position in declaration.op.positions:
        arg = args[position]
        if isinstance(arg, TensorBase):
            found.append(arg)
        elif position == declaration.op.sequence_position and arg is not None:
            found.extend(each for each in arg if isinstance(each, TensorBase))
    return found


def innermost(tensors: list[Any]) -> Any:
    """The level with the largest number among those of some tensors; None if none is wrapped."""
    top: Level | None = None
    for tensor in tensors:
        found = record_of(tensor)
        if found is not None and (top is None or found.level.number > top.number):
            top = found.level
    return top


def run(declaration: Any, args: tuple[Any, ...]) -> Any:
    """Run an op whose arguments may be wrapped."""
    positions = declaration.op.positions
    args = tuple(map_tensors(arg, settled) if at in positions else arg for at, arg in enumerate(args))
    level = innermost(tensors_of(declaration, args))
    return declaration.op(*args) if level is None else level.run(declaration, args)


def lowered(level: Level, declaration: Any, args: tuple[Any, ...]) -> list[Any]:
    """An op's arguments with the values of the tensors of a level."""
    positions = declaration.op.positions
    return [map_tensors(arg, level.below) if at in positions else arg for at, arg in enumerate(args)]


def keep_call(
    op: Any, outputs: list[Any], args: tuple[Any, ...], several: bool, counts: Callable[[Any], bool] = lambda each: True
) -> None:
    """Record a call whose outputs are wrapped, and what they are views of.

    Parameters
    ----------
    several : bool
        The op returned a tuple.
    counts : callable
        Which of the tensors that require grad do so here.
    """
    mask = 0
    if local.grad_enabled:
        for position in op.positions:
            group = args[position] if position == op.sequence_position else (args[position],)
            for each in group or ():
                if isinstance(each, TensorBase) and each._requires_grad and counts(each):
                    mask |= 1 << position
    if mask and several:
        record_many(op, outputs, args, mask)
    elif mask:
        record(op, outputs[0], args, mask)
    if op.is_view:
        for index, each in enumerate(outputs):
            link_view(each, args, op, index if several else -1)


# Writing in place


def write(name: str, target: Any, source: Any) -> None:
    """Write a tensor into another of the same shape and dtype, where one of them is wrapped."""
    source = settled(source)
    level = innermost([settled(target), source])
    if not level.holds(target):
        adopt(target, level, source)
    level.write(record_of(target), source)
    bump(target, name)
    level.keep_history(target, source)


def adopt(tensor: Any, level: Level, source: Any) -> None:
    """Wrap a tensor in place, its base and the other views of it too: ``source``, of that level, is written to it."""
    base = tensor._view_base
    if base is None:
        become(tensor, level.adopt(tensor, source))
        counter = tensor._version_counter
        for reference in () if counter is None or counter.views is None else counter.views:
            other = reference()
            if other is not None and other._view_base is tensor:
                become(other, level.apply_view_fn(record_of(tensor), other._view_fn))
        return
    if not level.holds(base):
        adopt(base, level, source)
    if not level.holds(tensor):
        become(tensor, level.apply_view_fn(record_of(base), tensor._view_fn))


def become(tensor: Any, wrapped: Wrapped) -> None:
    """Give a tensor a record: from now on it is one of a level, without history there."""
    key = tensor._key
    tensor._key = key_of(key.dtype, key.device, wrapped=True)
    tensor._extra = Extra()
    tensor._extra.wrapped = wrapped
    tensor._requires_grad, tensor._node = False, None


def twin(tensor: Any) -> Any:
    """Another object for the same tensor: memory, history, version counter and what it is a view of."""
    made: Any = make(tensor._array, tensor._key)
    made._requires_grad, made._node = tensor._requires_grad, tensor._node
    made._version_counter, made._extra = tensor._version_counter, tensor._extra
    share_view(made, tensor)
    return made


def memory_of(tensor: Any) -> Any:
    """The array with all values of a tensor: in a vmap those of all examples, in front."""
    found = record_of(tensor)
    while found is not None:
        tensor = found.value
        found = record_of(tensor)
    return tensor._array


def batched_like(made: Any, model: Any) -> Any:
    """A new tensor, of one example's shape, as a tensor of the batches that another one is of."""
    found = record_of(settled(model))
    if found is None:
        return made
    made = batched_like(made, found.value)
    if not found.batched:
        return made
    return found.level.batch(made.unsqueeze(0).expand(found.level.size, *made.shape).clone())


def drawn(name: str, shape: tuple[int, ...], draw: Callable[[tuple[int, ...]], Any]) -> Any:
    """Random numbers of a shape from ``draw(shape)``, others for each example of a vmap that wants it so."""
    levels = local.levels
    check_randomness(name)
    for level in reversed(levels):
        if level.randomness == "different":
            local.levels = tuple(each for each in levels if each is not level)
            try:
                value = drawn(name, (level.size, *shape), draw)
            finally:
                local.levels = levels
            return level.batch(value)
    return draw(shape)


def check_randomness(name: str) -> None:
    """Random operations are allowed in the vmaps that run.

    Raises
    ------
    RuntimeError
        If one does not say what they shall do.
    """
    if any(level.randomness == "error" for level in local.levels):
        raise RuntimeError(
            f"{name}: vmap: called random operation while in randomness error mode. Please either use the 'same' or "
            "'different' randomness flags on vmap or perform the randomness operation out of vmap"
        )


def refuse_values(name: str, tensor: Any) -> None:
    """Values may be read unless the tensor stands for a batch.

    Raises
    ------
    RuntimeError
        If it does, at any level.
    """
    if stands_for_batch(tensor):
        what = (
            "It looks like you're attempting to use a Tensor in some data-dependent control flow."
            if name == "bool()"
            else "It looks like you're calling .item() on a Tensor."
        )
        raise RuntimeError(
            f"vmap: {what} {name} was called on a tensor that stands for each example of a batch: it has no single "
            "value (data-dependent control flow). Use weft.where(...) in place of an if, or move the call out of vmap"
        )


def stands_for_batch(tensor: Any) -> bool:
    """Whether a tensor has a value for each example of a batch, at any level."""
    found = record_of(settled(tensor))
    while found is not None:
        if found.batched:
            return True
        found = record_of(found.value)
    return False
