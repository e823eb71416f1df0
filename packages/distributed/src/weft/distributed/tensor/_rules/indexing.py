"""Elements by index."""

from __future__ import annotations

from typing import Any

import weft
from weft.distributed.tensor._dispatch import Call, R, Strategy, replicates, rule, runs
from weft.distributed.tensor._rules.placing import everywhere, moved, terms
from weft.distributed.tensor.placement_types import Shard


@rule("aten.index")
def index(call: Call, dim: int) -> list[Strategy]:
    """By a dimension that is not indexed, or by the indices."""
    keys = call.args[1]
    used = [at for at, each in enumerate(keys) if isinstance(each, weft.Tensor)]
    found = [everywhere(call)]
    if any(keys[at].dtype in (weft.bool, weft.uint8) for at in used):
        return found
    shape = weft.broadcast_shapes(*[tuple(keys[at].shape) for at in used])
    together = used == list(range(used[0], used[-1] + 1))
    start = used[0] if together else 0
    rest = (R,) * len(used)
    now = call.at(0, dim)
    if isinstance(now, Shard) and now.dim not in used:
        before = now.dim - sum(at < now.dim for at in used)
        target = before + (len(shape) if now.dim > start or not together else 0)
        found.append(Strategy(moved(now, target), (now, *rest)))
    found += [Strategy(each, (each, *rest)) for each in terms(call, dim, linear=False)]
    for place in range(1, len(call.tensors)):
        way = call.at(place, dim)
        key = call.tensors[place]
        if isinstance(way, Shard):
            letter = way.dim - key.ndim + len(shape)
            if key.shape[way.dim] != shape[letter]:
                continue
            inputs: list[Any] = [R]
            for each in call.tensors[1:]:
                own = letter - len(shape) + each.ndim
                inputs.append(moved(way, own) if own >= 0 and each.shape[own] == shape[letter] else R)
            found.append(Strategy(moved(way, start + letter), tuple(inputs)))
    return found


@rule("aten.index_put", "aten.index_put_", "aten._unsafe_index_put")
def index_put(call: Call, dim: int) -> list[Strategy]:
    return replicates(call, dim)


@rule("aten.index_select")
def index_select(call: Call, dim: int) -> list[Strategy]:
    own = int(call.args[1]) % call.tensors[0].ndim
    found = [everywhere(call)]
    now, other = call.at(0, dim), call.at(1, dim)
    if isinstance(now, Shard) and now.dim != own:
        found.append(Strategy(now, (now, R)))
    if isinstance(other, Shard):
        found.append(Strategy(moved(other, own), (R, other)))
    return found


@rule("aten.gather")
def gather(call: Call, dim: int) -> list[Strategy]:
    input, key = call.tensors[:2]
    own = int(call.args[1]) % max(input.ndim, 1)
    found = [everywhere(call)]
    now, other = call.at(0, dim), call.at(1, dim)
    found += [
        Strategy(way, (way, way))
        for way in (now, other)
        if isinstance(way, Shard) and way.dim != own and input.shape[way.dim] == key.shape[way.dim]
    ]
    if isinstance(other, Shard) and other.dim == own:
        found.append(Strategy(other, (R, other)))
    return found


@rule("core.gather_backward")
def gather_backward(call: Call, dim: int) -> list[Strategy]:
    """Of the tensors output_grad and index."""
    own = int(call.args[2]) % max(call.tensors[0].ndim, 1)
    shape = call.args[1]
    return [everywhere(call)] + [
        Strategy(way, (way, way))
        for way in (call.at(0, dim), call.at(1, dim))
        if isinstance(way, Shard) and way.dim != own and shape[way.dim] == call.tensors[1].shape[way.dim]
    ]


@runs("core.gather_backward")
def run_gather_backward(call: Call) -> Any:
    grad, index = call.locals
    return call.func(grad, call.local_shape(call.args[1], call.plan.outputs), call.args[2], index)


@rule(*[f"aten.{name}{end}" for name in ("scatter", "scatter_add", "scatter_reduce") for end in ("", "_")])
def scatter(call: Call, dim: int) -> list[Strategy]:
    own = int(call.args[1]) % max(call.tensors[0].ndim, 1)
    found = [everywhere(call)]
    for place in range(len(call.tensors)):
        way = call.at(place, dim)
        if isinstance(way, Shard) and way.dim != own:
            if len({each.shape[way.dim] for each in call.tensors if each.ndim}) == 1:
                found.append(Strategy(way, tuple(way if each.ndim else R for each in call.tensors)))
    return found


@rule("aten.index_add", "aten.index_add_", "aten.index_copy", "aten.index_copy_", "aten.index_fill", "aten.index_fill_")
def index_add(call: Call, dim: int) -> list[Strategy]:
    own = int(call.args[1]) % max(call.tensors[0].ndim, 1)
    found = [everywhere(call)]
    now = call.at(0, dim)
    if isinstance(now, Shard) and now.dim != own:
        inputs = tuple(now if at != 1 and each.ndim else R for at, each in enumerate(call.tensors))
        found.append(Strategy(now, inputs))
    return found


@rule("aten.masked_scatter", "aten.take", "aten.put", "aten.bucketize", "aten.searchsorted", "aten.isin")
def whole(call: Call, dim: int) -> list[Strategy]:
    return replicates(call, dim)


rule("core.embed")(replicates)
