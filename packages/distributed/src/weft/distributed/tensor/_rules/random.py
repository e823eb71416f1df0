"""Random numbers: those that one process would draw for the whole tensor, of which each keeps its part.

All processes of a mesh draw from the same state of the default generator. Where it differs when a mesh is first used
for random numbers, that of its first process is taken by all.
"""

from __future__ import annotations

import weakref
from typing import Any

import weft
from weft.distributed import distributed_c10d as c10d
from weft.distributed.device_mesh import DeviceMesh
from weft.distributed.tensor._dispatch import Call, R, Strategy, rule, runs
from weft.distributed.tensor._redistribute import redistribute_local
from weft.distributed.tensor._rules.placing import everywhere
from weft.distributed.tensor.placement_types import Shard

IN_PLACE = [
    f"aten.{name}_" for name in "normal uniform bernoulli exponential random cauchy geometric log_normal".split()
]
LIKE = [f"aten.{name}" for name in "rand_like randn_like randint_like".split()]

synchronized: weakref.WeakSet[DeviceMesh] = weakref.WeakSet()


def synchronize(mesh: DeviceMesh) -> None:
    """Let all processes of a mesh draw the same numbers from now on."""
    if mesh in synchronized or mesh.get_coordinate() is None:
        return
    synchronized.add(mesh)
    if mesh.size() == 1:
        return
    kind = mesh.device_type
    device = weft.device(kind)
    state = weft.get_rng_state() if kind == "cpu" else weft.get_device_module(kind).get_rng_state()
    for dim in range(mesh.ndim):
        found: list[Any] = [state]
        c10d.broadcast_object_list(found, group=mesh.get_group(dim), group_src=0)
        state = found[0]
    if kind == "cpu":
        weft.set_rng_state(state)
    else:
        weft.get_device_module(device.type).set_rng_state(state)


@rule(*IN_PLACE)
def draws(call: Call, dim: int) -> list[Strategy]:
    now = call.at(0, dim)
    rest = (R,) * (len(call.tensors) - 1)
    return [Strategy(now if isinstance(now, Shard) else R, (now if isinstance(now, Shard) else R, *rest))]


@runs(*IN_PLACE)
def run_draws(call: Call) -> Any:
    synchronize(call.mesh)
    local = call.locals[0]
    if all(each.is_replicate() for each in call.placements[0]):
        return call.run_op()
    whole = weft.empty(call.tensors[0].shape, dtype=local.dtype, device=local.device)
    call.locals[0] = whole
    call.run_op()
    local.copy_(part_of(call, whole))
    return local


@runs(*LIKE)
def run_like(call: Call) -> Any:
    synchronize(call.mesh)
    placements = call.plan.outputs
    if all(each.is_replicate() for each in placements):
        return call.run_op()
    local = call.locals[0]
    call.locals[0] = weft.empty(call.tensors[0].shape, dtype=local.dtype, device=local.device)
    return part_of(call, call.run_op())


def part_of(call: Call, whole: Any) -> Any:
    """The part of this process of a tensor that is divided as the first argument is."""
    ways = call.placements[0]
    return redistribute_local(whole, call.mesh, whole.shape, (R,) * len(ways), ways)


@rule("aten.bernoulli", "aten.multinomial", "aten.normal")
def whole_draws(call: Call, dim: int) -> list[Strategy]:
    return [everywhere(call)]


@runs("aten.bernoulli", "aten.multinomial", "aten.normal")
def run_whole(call: Call) -> Any:
    synchronize(call.mesh)
    return call.run_op()
