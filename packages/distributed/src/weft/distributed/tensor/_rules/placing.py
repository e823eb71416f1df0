"""What rules of several families have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft.distributed.tensor._dispatch import Call, R, Strategy
from weft.distributed.tensor.placement_types import Partial, Placement, Shard, _StridedShard

__all__ = ["along", "everywhere", "moved", "terms"]


def moved(placement: Placement, dim: int) -> Placement:
    """A division along another dimension."""
    if isinstance(placement, _StridedShard):
        return _StridedShard(dim, split_factor=placement.split_factor)
    return Shard(dim)


def everywhere(call: Call, outputs: int = 0) -> Strategy:
    """All tensors are whole; ``outputs`` is the number of results, if there are several."""
    return Strategy((R,) * outputs if outputs else R, (R,) * len(call.tensors))


def along(call: Call, dim: int, dims: Iterable[int], outputs: int = 0) -> list[Strategy]:
    """All tensors, of one number of dimensions, divided along the same one, as one of them is; one of ``dims``."""
    allowed = set(dims)
    found = [everywhere(call, outputs)]
    for index in range(len(call.tensors)):
        now = call.at(index, dim)
        if isinstance(now, Shard) and now.dim in allowed:
            found.append(Strategy((now,) * outputs if outputs else now, (now,) * len(call.tensors)))
    return found


def terms(call: Call, dim: int, linear: bool = True) -> list[Partial]:
    """The ways in which tensors are sums along a dim of the mesh."""
    found: list[Any] = []
    for index in range(len(call.tensors)):
        now = call.at(index, dim)
        if isinstance(now, Partial) and type(now) is Partial and now not in found:
            if not linear or now.reduce_op in Partial.LINEAR_REDUCE_OPS:
                found.append(now)
    return found
