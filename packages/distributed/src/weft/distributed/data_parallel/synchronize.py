"""What makes the modules of all processes equal: the check of their parameters, and broadcasts of many tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft.distributed._collectives import broadcast
from weft.distributed._groups import get_global_rank
from weft.distributed._objects import all_gather_object

__all__ = ["broadcast_coalesced", "check_same_parameters"]

BROADCAST_BYTES = 250 * 1024 * 1024  # of tensors that are broadcast at once


def check_same_parameters(names: Sequence[str], parameters: Sequence[Any], group: Any) -> None:
    """Raise RuntimeError, in all processes, unless their parameters have the same names, shapes and dtypes."""
    described = [(name, tuple(each.shape), str(each.dtype)) for name, each in zip(names, parameters)]
    found: list[Any] = [None] * group.size()
    all_gather_object(found, described, group=group)
    first = found[0]
    for rank, other in enumerate(found):
        if len(other) != len(first):
            extra = [name for name, *_ in (first if len(first) > len(other) else other)[min(len(first), len(other)) :]]
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank 0 has {len(first)} params, while rank {rank} has "
                f"inconsistent {len(other)} params: {', '.join(extra)}"
            )
        for number, (expected, given) in enumerate(zip(first, other)):
            if expected[1:] != given[1:]:
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but params[{number}], {given[0]}, has sizes "
                    f"{list(given[1])} of {given[2]} in rank {rank}, which appears not to match that of the same param "
                    f"in process 0: {expected[0]}, sizes {list(expected[1])} of {expected[2]}"
                )


def broadcast_coalesced(tensors: Sequence[Any], group: Any, root: int = 0, limit: int = BROADCAST_BYTES) -> None:
    """Give tensors the values that they have in the process of rank ``root`` of the group, several at a time."""
    waiting: dict[Any, list[Any]] = {}
    sizes: dict[Any, int] = {}
    for tensor in tensors:
        key = (tensor.dtype, tensor.device)
        waiting.setdefault(key, []).append(tensor.detach())
        sizes[key] = sizes.get(key, 0) + tensor.numel() * tensor.element_size()
        if sizes[key] >= limit:
            broadcast_flat(waiting.pop(key), group, root)
            sizes[key] = 0
    for rest in waiting.values():
        broadcast_flat(rest, group, root)


def broadcast_flat(tensors: Sequence[Any], group: Any, root: int) -> None:
    """Broadcast tensors of one dtype and device as one."""
    source = get_global_rank(group, root)
    if len(tensors) == 1 and tensors[0].is_contiguous():
        broadcast(tensors[0], source, group=group)
        return
    with weft.no_grad():
        flat = weft.cat([each.reshape(-1) for each in tensors])
        broadcast(flat, source, group=group)
        if group.rank() == root:
            return
        start = 0
        for each in tensors:
            each.copy_(flat[start : start + each.numel()].view(each.shape))
            start += each.numel()
