"""Reductions over dimensions."""

from __future__ import annotations

import math
from typing import Any

from weft.distributed.tensor._dispatch import Call, R, Strategy, rule
from weft.distributed.tensor._rules.placing import everywhere, moved, terms
from weft.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, _NormPartial

TERMS = {"sum": "sum", "mean": "avg", "amax": "max", "amin": "min", "max": "max", "min": "min", "prod": "product"}


def dims_of(value: Any, ndim: int) -> list[int]:
    """The dimensions that an argument names; all for None and an empty list."""
    if value is None or value == []:
        return list(range(ndim))
    return [each % ndim if ndim else 0 for each in (value if isinstance(value, (list, tuple)) else [value])]


def kept(placement: Placement, dims: list[int], keepdim: bool) -> Placement:
    """A division along a dimension that is not reduced, in the result."""
    assert isinstance(placement, Shard)
    return placement if keepdim else moved(placement, placement.dim - sum(each < placement.dim for each in dims))


@rule(*[f"aten.{name}" for name in TERMS])
def reduction(call: Call, dim: int) -> list[Strategy]:
    """Parts are reduced, and the results are terms, where dimension is divided; means want parts of one size."""
    input = call.tensors[0]
    short = call.name.rpartition(".")[2]
    has_dims = len(call.args) > 1 or "dim" in call.kwargs
    dims = dims_of(call.argument(1, "dim"), input.ndim) if has_dims else list(range(input.ndim))
    keepdim = bool(call.argument(2, "keepdim", False))
    pair = short in ("max", "min") and has_dims  # with indices, which parts do not know
    if len(call.tensors) > 1:  # elementwise
        from weft.distributed.tensor._rules.pointwise import pointwise

        return pointwise(call, dim)
    found = [everywhere(call, 2 if pair else 0)]
    now = call.at(0, dim)
    if isinstance(now, Shard):
        if now.dim not in dims:
            output = kept(now, dims, keepdim)
            found.append(Strategy((output, output) if pair else output, (now,)))
        elif not pair and has_parts(call, short, now.dim):
            found.append(Strategy(Partial(TERMS[short]), (now,)))
    elif isinstance(now, Partial):
        ways = terms(call, dim, linear=False)
        found += [Strategy(each, (each,)) for each in ways if may_pass(each.reduce_op, short)]
    return found


def has_parts(call: Call, short: str, dim: int) -> bool:
    """Whether the reduced parts are terms of the result."""
    length, shards = call.tensors[0].shape[dim], call.shards(0, dim)
    if short == "mean":
        return bool(length % shards == 0)
    if short in ("amax", "amin", "max", "min"):
        return bool(-(-length // shards) * (shards - 1) < length)  # no part is empty
    return True


def may_pass(op: str, short: str) -> bool:
    """Whether a reduction of terms is the term of the reduction."""
    return (short in ("sum", "mean") and op in Partial.LINEAR_REDUCE_OPS) or TERMS[short] == op in ("max", "min")


@rule(
    *[
        f"aten.{name}"
        for name in "argmax argmin all any logsumexp var var_mean std std_mean nansum median count_nonzero".split()
    ]
)
def whole_reduction(call: Call, dim: int) -> list[Strategy]:
    """Only over dimensions that are not divided."""
    input = call.tensors[0]
    several = 2 if call.name.endswith(("_mean", "median")) else 0
    has_dims = len(call.args) > 1 or "dim" in call.kwargs
    dims = dims_of(call.argument(1, "dim"), input.ndim) if has_dims else list(range(input.ndim))
    place = 2 if not call.name.endswith(("var", "std", "_mean")) else 9
    keepdim = bool(call.argument(place, "keepdim", False))
    found = [everywhere(call, several)]
    now = call.at(0, dim)
    if isinstance(now, Shard) and now.dim not in dims:
        output = kept(now, dims, keepdim)
        found.append(Strategy((output,) * several if several else output, (now,)))
    return found


@rule("aten.linalg_vector_norm")
def norm(call: Call, dim: int) -> list[Strategy]:
    """The norms of parts, and of norms of parts, are joined by their powers."""
    input = call.tensors[0]
    order = float(call.argument(1, "ord", 2.0))
    dims = dims_of(call.argument(2, "dim"), input.ndim)
    keepdim = bool(call.argument(3, "keepdim", False))
    found = [everywhere(call)]
    now = call.at(0, dim)
    joins = order > 0 and order != -math.inf
    if isinstance(now, Shard):
        if now.dim not in dims:
            found.append(Strategy(kept(now, dims, keepdim), (now,)))
        elif joins:
            found.append(Strategy(_NormPartial(order), (now,)))
    elif isinstance(now, _NormPartial) and now.norm_type == order:
        found.append(Strategy(now, (now,)))
    return found


def along_others(*names: str, position: int, outputs: int = 0) -> None:
    """Ops along one dimension, which is not divided."""

    @rule(*[f"aten.{name}" for name in names])
    def _(call: Call, dim: int) -> list[Strategy]:
        now = call.at(0, dim)
        at = int(call.argument(position, "dim", -1)) % max(call.tensors[0].ndim, 1)
        count = outputs
        found = [everywhere(call, count)]
        if isinstance(now, Shard) and now.dim != at:
            found.append(Strategy((now,) * count if count else now, (now,) * len(call.tensors)))
        return found


along_others("cumsum", "cumprod", "logcumsumexp", "argsort", position=1)
along_others("cummax", "cummin", "sort", "mode", position=1, outputs=2)
along_others("topk", position=2, outputs=2)


@rule("aten.kthvalue")
def kth(call: Call, dim: int) -> list[Strategy]:
    return [Strategy((Replicate(), R), (R,))]
