"""Views: the same elements in other dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.distributed.tensor._dispatch import Call, Strategy, replicates, rule, runs
from weft.distributed.tensor._rules.placing import everywhere, moved, terms
from weft.distributed.tensor.placement_types import Placement, Shard


def through(call: Call, dim: int, where: Any, outputs: int = 0) -> list[Strategy]:
    """Where the dimension that is divided goes (None: it may not be divided); sums of terms stay so."""

    def several(placement: Placement) -> Any:
        return (placement,) * outputs if outputs else placement

    found = [everywhere(call, outputs)]
    now = call.at(0, dim)
    if isinstance(now, Shard):
        target = where(now.dim)
        if target is not None:
            found.append(Strategy(several(moved(now, target)), (now,)))
    return [*found, *(Strategy(several(each), (each,)) for each in terms(call, dim, linear=False))]


def groups(before: Sequence[int], after: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The dimensions of both shapes that have the same elements, in order."""
    found: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(before) or j < len(after):
        left, right = [], []
        a = b = 1
        if i < len(before):
            left, a, i = [i], before[i], i + 1
        if j < len(after):
            right, b, j = [j], after[j], j + 1
        while a != b or ((not left or not right) and (i < len(before) or j < len(after)) and a != b):
            if a < b and i < len(before):
                left.append(i)
                a *= before[i]
                i += 1
            elif j < len(after):
                right.append(j)
                b *= after[j]
                j += 1
            else:
                break
        found.append((left, right))
    return found


@rule("aten.view", "aten._unsafe_view", "aten.reshape", "aten._reshape_alias")
def view(call: Call, dim: int) -> list[Strategy]:
    """The first dimension of several that become others is divided, if in parts of one size, or one stays as it is."""
    if call.func._overloadname == "dtype":
        return through(call, dim, lambda at: at if at < call.tensors[0].ndim - 1 else None)
    before = list(call.tensors[0].shape)
    after = resolved(before, call.args[1])
    if 0 in before:
        return through(call, dim, lambda at: at if before == after else None)

    def where(at: int) -> int | None:
        left, right = next(group for group in groups(before, after) if at in group[0])
        left = [each for each in left if before[each] != 1 or each == at]
        right = [each for each in right if after[each] != 1] or right
        if not left or left[0] != at or not right:
            return None
        target = right[0]
        if len(left) == 1 and before[at] == after[target]:
            return target
        shards = call.shards(0, at)
        return target if before[at] % shards == 0 and after[target] % shards == 0 else None

    return through(call, dim, where)


def resolved(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """A shape without -1."""
    shape = [int(each) for each in after]
    if -1 in shape:
        rest = known = 1
        for each in before:
            known *= each
        for each in shape:
            rest *= each if each != -1 else 1
        shape[shape.index(-1)] = known // max(rest, 1)
    return shape


@runs("aten.view", "aten._unsafe_view", "aten.reshape", "aten._reshape_alias")
def run_view(call: Call) -> Any:
    if call.func._overloadname == "dtype":
        return call.run_op()
    return call.locals[0].reshape(call.local_shape(call.plan.metas.shape, call.plan.outputs))


@rule("aten.expand")
def expand(call: Call, dim: int) -> list[Strategy]:
    input = call.tensors[0]
    new = len(call.args[1]) - input.ndim
    return through(
        call, dim, lambda at: at + new if input.shape[at] != 1 or call.args[1][at + new] in (1, -1) else None
    )


@runs("aten.expand")
def run_expand(call: Call) -> Any:
    return call.locals[0].expand(call.local_shape(call.plan.metas.shape, call.plan.outputs))


@rule("aten.t")
def t(call: Call, dim: int) -> list[Strategy]:
    return through(call, dim, lambda at: call.tensors[0].ndim - 1 - at)


@rule("aten.transpose", "aten.swapaxes")
def transpose(call: Call, dim: int) -> list[Strategy]:
    first, second = (each % call.tensors[0].ndim for each in call.args[1:3])
    return through(call, dim, lambda at: {first: second, second: first}.get(at, at))


@rule("aten.permute")
def permute(call: Call, dim: int) -> list[Strategy]:
    order = [each % call.tensors[0].ndim for each in call.args[1]]
    return through(call, dim, order.index)


@rule("aten.movedim", "aten.diagonal", "aten.as_strided", "aten.unfold", "aten.view_as_complex", "aten.view_as_real")
def rare(call: Call, dim: int) -> list[Strategy]:
    return replicates(call, dim)


@rule("aten.unsqueeze")
def unsqueeze(call: Call, dim: int) -> list[Strategy]:
    new = call.args[1] % (call.tensors[0].ndim + 1)
    return through(call, dim, lambda at: at + (at >= new))


@rule("aten.squeeze")
def squeeze(call: Call, dim: int) -> list[Strategy]:
    shape = call.tensors[0].shape
    named = call.args[1] if len(call.args) > 1 else range(len(shape))
    dims = [each % len(shape) for each in (named if isinstance(named, (list, tuple, range)) else [named])]
    gone = [each for each in dims if shape[each] == 1]
    return through(call, dim, lambda at: None if at in gone else at - sum(each < at for each in gone))


@runs("aten.squeeze")
def run_squeeze(call: Call) -> Any:
    """A part may be of length 1 where the whole is not."""
    return call.locals[0].reshape(call.local_shape(call.plan.metas.shape, call.plan.outputs))


@rule("aten.select")
def select(call: Call, dim: int) -> list[Strategy]:
    gone = call.args[1] % call.tensors[0].ndim
    return through(call, dim, lambda at: None if at == gone else at - (at > gone))


@rule("aten.slice", "aten.narrow")
def slice_(call: Call, dim: int) -> list[Strategy]:
    length = call.tensors[0].shape
    at_dim = int(call.argument(1, "dim", 0)) % len(length)
    start, stop = call.argument(2, "start", 0) or 0, call.argument(3, "end")
    step = call.argument(4, "step", 1)
    whole = start == 0 and (stop is None or stop >= length[at_dim]) and step == 1
    return through(call, dim, lambda at: None if at == at_dim and not whole else at)


@rule("aten.slice_backward", "aten.select_backward")
def embedded(call: Call, dim: int) -> list[Strategy]:
    size = call.args[1]
    own = call.args[2] % len(size)
    adds = call.name == "aten.select_backward"
    return through(call, dim, lambda at: at + (at >= own) if adds else None if at == own else at)


@runs("aten.slice_backward", "aten.select_backward")
def run_embedded(call: Call) -> Any:
    shape = call.local_shape(call.plan.metas.shape, call.plan.outputs)
    return call.run_op(call.args[0], shape, *call.args[2:])


def in_several(position: int, *names: str) -> None:
    @rule(*[f"aten.{name}" for name in names])
    def _(call: Call, dim: int) -> list[Strategy]:
        input = call.tensors[0]
        own = int(call.argument(position, "dim", 0)) % input.ndim
        gone = call.name == "aten.unbind"
        count = max(len(call_metas(call)), 1)
        return through(call, dim, lambda at: None if at == own else at - (gone and at > own), count)


def call_metas(call: Call) -> list[Any]:
    return call.result_metas()  # type: ignore[no-any-return]


in_several(2, "split", "split_with_sizes", "chunk", "tensor_split")
in_several(1, "unbind")


@rule("aten.cat")
def cat(call: Call, dim: int) -> list[Strategy]:
    """All divided in the same way, along another dimension."""
    own = int(call.argument(1, "dim", 0)) % max(call.tensors[0].ndim, 1)
    found = [everywhere(call)]
    for index in range(len(call.tensors)):
        now = call.at(index, dim)
        if (isinstance(now, Shard) and now.dim != own) or now.is_partial():
            found.append(Strategy(now, (now,) * len(call.tensors)))
    return found


@rule("aten.stack")
def stack(call: Call, dim: int) -> list[Strategy]:
    new = int(call.argument(1, "dim", 0)) % (call.tensors[0].ndim + 1)
    found = [everywhere(call)]
    for index in range(len(call.tensors)):
        now = call.at(index, dim)
        if isinstance(now, Shard):
            output = moved(now, now.dim + (now.dim >= new))
            found.append(Strategy(output, (now,) * len(call.tensors)))
        elif now.is_partial():
            found.append(Strategy(now, (now,) * len(call.tensors)))
    return found


@rule("aten.flip", "aten.roll")
def flip(call: Call, dim: int) -> list[Strategy]:
    ndim = call.tensors[0].ndim
    named = call.argument(1 if call.name == "aten.flip" else 2, "dims") or range(ndim)
    dims = [each % ndim for each in ([named] if isinstance(named, int) else named)]
    return through(call, dim, lambda at: None if at in dims else at)


@rule("aten.tril", "aten.triu")
def triangle(call: Call, dim: int) -> list[Strategy]:
    return through(call, dim, lambda at: at if at < call.tensors[0].ndim - 2 else None)


@rule("aten.constant_pad_nd")
def pad(call: Call, dim: int) -> list[Strategy]:
    ndim = call.tensors[0].ndim
    pads = call.args[1]
    dims = [ndim - 1 - index // 2 for index, each in enumerate(pads) if each]
    found = [everywhere(call)]
    now = call.at(0, dim)
    if isinstance(now, Shard) and now.dim not in dims:
        found.append(Strategy(now, (now,)))
    return found


@rule("aten.repeat", "aten.repeat_interleave", "aten.tile")
def repeat(call: Call, dim: int) -> list[Strategy]:
    if call.name != "aten.repeat" or len(call.tensors) > 1:
        return replicates(call, dim)
    counts = call.args[1]
    new = len(counts) - call.tensors[0].ndim
    return through(call, dim, lambda at: at + new if counts[at + new] == 1 else None)
