"""New tensors that take shape or dtype from another."""

from __future__ import annotations

from typing import Any

from weft.distributed.tensor._dispatch import Call, R, Strategy, rule, runs
from weft.distributed.tensor._rules.placing import everywhere
from weft.distributed.tensor.placement_types import Shard


@rule("aten.empty_like", "aten.ones_like", "aten.full_like", "aten.rand_like", "aten.randn_like", "aten.randint_like")
def like(call: Call, dim: int) -> list[Strategy]:
    """Divided as the other is; whole where that is a sum of terms."""
    now = call.at(0, dim)
    rest = (R,) * (len(call.tensors) - 1)
    return [Strategy(now if isinstance(now, Shard) else R, (now, *rest))]


NEW = ("aten.new_empty", "aten.new_zeros", "aten.new_ones", "aten.new_full", "aten.new_empty_strided")


@rule(*NEW)
def new(call: Call, dim: int) -> list[Strategy]:
    """Divided as the other is, if it has the same shape; else whole."""
    now = call.at(0, dim)
    rest = (R,) * (len(call.tensors) - 1)
    same = list(call.args[1]) == list(call.tensors[0].shape)
    return [Strategy(now if isinstance(now, Shard) and same else R, (now, *rest))]


@runs(*NEW)
def run_new(call: Call) -> Any:
    shape = call.local_shape(call.plan.metas.shape, call.plan.outputs)
    if call.name == "aten.new_empty_strided":
        kwargs = {name: each for name, each in call.kwargs.items() if name in ("dtype", "device")}
        return call.locals[0].new_empty(shape, **kwargs)
    return call.run_op(call.args[0], shape, *call.args[2:])


@rule("aten.scalar_tensor", "aten.arange")
def whole(call: Call, dim: int) -> list[Strategy]:
    return [everywhere(call)]
