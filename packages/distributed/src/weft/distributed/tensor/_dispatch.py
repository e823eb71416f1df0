"""Runs an op on the parts of its DTensors, after moving those that are not where its rule wants them."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import weft
from weft.distributed.device_mesh import DeviceMesh
from weft.distributed.tensor._api import DTensor, made_of
from weft.distributed.tensor._dtensor_spec import DTensorSpec, Placements, TensorMeta, local_sizes
from weft.distributed.tensor._redistribute import place_of, redistribute_local
from weft.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Call", "Strategy", "dispatch", "replicates", "rule", "runs", "special"]

R = Replicate()


@dataclass(frozen=True)
class Strategy:
    """A way to run an op along one dim of a mesh.

    Attributes
    ----------
    output : Placement, or tuple of them (or None) for several results
    inputs : tuple of Placement
        One for each tensor among the arguments, in their order.
    """

    output: Any
    inputs: tuple[Placement, ...]


Rule = Callable[["Call", int], list[Strategy]]

rules: dict[str, Rule] = {}
runners: dict[str, Callable[[Call], Any]] = {}
specials: dict[str, Callable[..., Any]] = {}
registered: dict[Any, Callable[..., Any]] = {}  # by `register_sharding`, for one overload each
plans: dict[Any, Plan] = {}
MOST_PLANS = 8192


class Mode(threading.local):
    """Whether plain tensors count as replicated in this thread."""

    implicit_replication = False


mode = Mode()


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: the function says in which ways these ops run."""

    def declare(function: Rule) -> Rule:
        rules.update(dict.fromkeys(names, function))
        return function

    return declare


def runs(*names: str) -> Callable[[Any], Any]:
    """Decorator: the function runs these ops on the parts, which the op itself would not do with its arguments."""

    def declare(function: Any) -> Any:
        runners.update(dict.fromkeys(names, function))
        return function

    return declare


def special(*names: str) -> Callable[[Any], Any]:
    """Decorator: the function is called in place of these ops."""

    def declare(function: Any) -> Any:
        specials.update(dict.fromkeys(names, function))
        return function

    return declare


def replicates(call: Call, dim: int) -> list[Strategy]:
    """The op runs on whole tensors alone."""
    return [Strategy(R, (R,) * len(call.tensors))]


@dataclass(frozen=True)
class Plan:
    """Where the tensors of an op have to be, and what it returns: a list for several results."""

    inputs: tuple[Placements, ...]
    outputs: Any
    metas: Any


class Call:
    """An op with its arguments.

    Attributes
    ----------
    name : str
        Without the overload, ``"aten.add"``.
    tensors : list of Tensor
        The tensors among the arguments, also in lists; plain ones are replicated.
    placements : list of tuples of Placement
        Where each of them is, and while the op runs, where it has been moved to.
    locals : list of Tensor
        The parts, while the op runs.
    plan : Plan
    """

    plan: Plan

    def __init__(self, func: Any, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.func, self.name, self.args, self.kwargs = func, name, args, kwargs
        self.tensors: list[Any] = [each for each in leaves((*args, *kwargs.values())) if isinstance(each, weft.Tensor)]
        self.mesh = self.find_mesh()
        whole = (R,) * self.mesh.ndim
        self.placements = [
            each._spec.placements if isinstance(each, DTensor) else self.plain(each, whole) for each in self.tensors
        ]
        self.locals: list[Any] = []

    def find_mesh(self) -> DeviceMesh:
        """The mesh of all DTensors among the arguments."""
        found: DeviceMesh | None = None
        for each in self.tensors:
            if isinstance(each, DTensor):
                if found is not None and each._spec.mesh is not found and each._spec.mesh != found:
                    raise RuntimeError(
                        f"{self.func}: the DTensors are on different meshes, {found} and {each._spec.mesh}: bring them "
                        "to one with full_tensor() and distribute_tensor(), or compute on to_local()"
                    )
                found = each._spec.mesh
        assert found is not None
        return found

    def plain(self, tensor: Any, whole: Placements) -> Placements:
        """A tensor that is none of ours counts as whole where that is clear: one value, also in the place of many."""
        if not (tensor.numel() == 1 or not any(tensor.stride()) or mode.implicit_replication):
            raise RuntimeError(
                f"{self.func} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before "
                f"calling distributed operators! A tensor of shape {list(tensor.shape)} is plain: use "
                "distribute_tensor(tensor, mesh, placements), or the context implicit_replication()"
            )
        return whole

    # What rules ask

    def at(self, index: int, dim: int) -> Placement:
        """Where a tensor is along a dim of the mesh."""
        return self.placements[index][dim]

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        """An argument that may be positional or named."""
        return self.args[position] if len(self.args) > position else self.kwargs.get(name, default)

    def shards(self, index: int, dim: int) -> int:
        """In how many parts a dimension of a tensor is divided."""
        sizes = [
            self.mesh.size(at)
            for at, each in enumerate(self.placements[index])
            if isinstance(each, Shard) and each.dim == dim
        ]
        return math.prod(sizes)

    @property
    def is_inplace(self) -> bool:
        """Whether the op writes into its first tensor."""
        short = self.name.rpartition(".")[2]
        return short.endswith("_") and not short.endswith("__")

    # Deciding

    def key(self) -> Any:
        """What the plan depends on."""
        return self.func, tuple(frozen(each, self.name) for each in (*self.args, *self.kwargs.items()))

    def decide(self) -> Plan:
        """The plan that moves the least.

        Raises
        ------
        NotImplementedError
            If the op has no rule.
        RuntimeError
            If it writes into a tensor that would have to be elsewhere.
        """
        ways = registered.get(self.func) or rules.get(self.name)
        if ways is None:
            where = ", ".join(str(list(map(str, each))) for each in self.placements)
            raise NotImplementedError(
                f"Operator {self.func} does not have a sharding strategy registered: it got placements {where}. "
                "Redistribute its tensors to Replicate() and use to_local(), or declare one by "
                "weft.distributed.tensor.experimental.register_sharding"
            )
        chosen = [self.cheapest(dim, ways(self, dim)) for dim in range(self.mesh.ndim)]
        inputs = tuple(tuple(each.inputs[index] for each in chosen) for index in range(len(self.tensors)))
        metas = self.result_metas()
        if metas is None:
            return Plan(inputs, None, None)
        if isinstance(metas, list):
            outputs: Any = [
                tuple((each.output[at] if isinstance(each.output, tuple) else each.output) or R for each in chosen)
                for at in range(len(metas))
            ]
        else:
            outputs = tuple(each.output[0] if isinstance(each.output, tuple) else each.output for each in chosen)
        return Plan(inputs, outputs, metas)

    def cheapest(self, dim: int, ways: list[Strategy]) -> Strategy:
        """The strategy along a dim of the mesh that moves the least."""
        if self.is_inplace:
            ways = [each for each in ways if each.inputs[0] == self.at(0, dim)]
            if not ways:
                raise RuntimeError(
                    f"{self.func}: in-place operations that require placement changes are not supported: the tensor is "
                    f"{self.at(0, dim)}; redistribute it, or use the op that returns a new tensor"
                )
        return min(ways, key=lambda way: self.cost(dim, way))

    def cost(self, dim: int, way: Strategy) -> float:
        size = self.mesh.size(dim)
        return sum(cost(self.at(index, dim), then, self.tensors[index], size) for index, then in enumerate(way.inputs))

    def result_metas(self) -> Any:
        """What is known of the whole results: from the op on tensors without values."""
        if self.is_inplace:
            return meta_of(self.tensors[0])
        stand_ins = [
            weft.empty_strided(tuple(each.shape), each.stride(), dtype=each.dtype, device="meta")
            for each in self.tensors
        ]
        kwargs = {name: value for name, value in self.kwargs.items() if name != "device"}
        args, kwargs = self.with_tensors(stand_ins, self.args, kwargs)
        result = self.func(*args, **kwargs)
        if isinstance(result, (list, tuple)):
            return [meta_of(each) if isinstance(each, weft.Tensor) else None for each in result]
        return meta_of(result) if isinstance(result, weft.Tensor) else None

    # Running

    def run(self) -> Any:
        """Move what is elsewhere, run the op on the parts, and return its result."""
        key = self.key()
        plan = plans.get(key)
        if plan is None:
            plan = self.decide()
            if len(plans) >= MOST_PLANS:
                plans.clear()
            plans[key] = plan
        self.plan = plan
        self.locals = [each._local_tensor if isinstance(each, DTensor) else each for each in self.tensors]
        for index, wanted in enumerate(plan.inputs):
            if wanted != self.placements[index]:
                shape = self.tensors[index].shape
                self.locals[index] = redistribute_local(
                    self.locals[index], self.mesh, shape, self.placements[index], wanted
                )
        self.placements = list(plan.inputs)
        runner = runners.get(self.name)
        result = self.run_op() if runner is None else runner(self)
        return self.wrapped(result)

    def run_op(self, *args: Any) -> Any:
        """The op itself on the parts; ``args`` are positional arguments in place of its own."""
        own, kwargs = self.with_tensors(self.locals, args or self.args, self.kwargs)
        return self.func(*own, **kwargs)

    def with_tensors(self, tensors: Sequence[Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The arguments with others in the place of their tensors."""
        rest = iter(tensors)
        return [replaced(each, rest) for each in args], {name: replaced(each, rest) for name, each in kwargs.items()}

    def wrapped(self, result: Any) -> Any:
        plan = self.plan
        if self.is_inplace:
            return self.tensors[0]
        if plan.metas is None:
            return result
        if isinstance(plan.metas, list):
            return tuple(
                each if meta is None else self.made(each, placements, meta)
                for each, placements, meta in zip(result, plan.outputs, plan.metas)
            )
        return self.made(result, plan.outputs, plan.metas)

    def made(self, local: Any, placements: Placements, meta: TensorMeta) -> Any:
        return DTensor(local, DTensorSpec(self.mesh, placements, meta))

    def local_shape(self, shape: Sequence[int], placements: Placements) -> list[int]:
        """The shape of this process's part of a tensor."""
        return local_sizes(shape, self.mesh.shape, place_of(self.mesh), placements)[0]


def cost(now: Placement, then: Placement, tensor: Any, size: int) -> float:
    """About how much is communicated to move a tensor; a little for what is only cut."""
    if now == then:
        return 0.0
    if now.is_replicate():
        return 1e-3 if then.is_shard() else math.inf if then.is_partial("product") else 2e-3
    count = 1.0 + tensor.numel() * tensor.element_size()
    if then.is_partial():
        return math.inf
    if now.is_partial():
        return count if then.is_shard() else 2 * count
    return count if then.is_replicate() else count / size


def meta_of(tensor: Any) -> TensorMeta:
    return TensorMeta(tensor.shape, tensor.stride(), tensor.dtype)


def leaves(values: Sequence[Any]) -> Iterator[Any]:
    """Values, and those in lists among them."""
    for each in values:
        if isinstance(each, (list, tuple)):
            yield from leaves(each)
        else:
            yield each


def replaced(value: Any, tensors: Iterator[Any]) -> Any:
    """A value whose tensors are the next of others."""
    if isinstance(value, weft.Tensor):
        return next(tensors)
    if isinstance(value, (list, tuple)) and any(isinstance(each, weft.Tensor) for each in leaves(value)):
        return [replaced(each, tensors) for each in value]
    return value


BY_VALUE = frozenset(("aten.linalg_vector_norm", "aten.norm"))  # whose floats say which way there is


def frozen(value: Any, name: str) -> Any:
    """A value as part of a key."""
    if isinstance(value, DTensor):
        return value._spec
    if isinstance(value, weft.Tensor):
        return meta_of(value)
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *(frozen(each, name) for each in value))
    if isinstance(value, float) and name not in BY_VALUE:
        return float
    if isinstance(value, (int, float, str, bool, type(None), weft.dtype)):
        return type(value), value
    return str(value)


def dispatch(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run an op some of whose arguments are DTensors."""
    from weft.distributed.tensor import _rules  # noqa: F401  # declares them

    name = f"{func.namespace}.{func._opname}"
    instead = specials.get(name)
    if instead is not None and func not in registered:
        return instead(func, args, kwargs)
    return Call(func, name, args, kwargs).run()


def redistributed(tensor: Any, placements: Placements) -> Any:
    """A DTensor with other placements, without history."""
    spec = tensor._spec
    local = redistribute_local(tensor._local_tensor, spec.mesh, tensor.shape, spec.placements, placements)
    return made_of(local, spec.mesh, placements, tensor.shape)


def reduced(tensor: Any) -> Any:
    """A DTensor without terms that are to be joined."""
    if not any(isinstance(each, Partial) for each in tensor._spec.placements):
        return tensor
    return redistributed(tensor, tuple(R if each.is_partial() else each for each in tensor._spec.placements))


def whole_of(tensor: Any) -> Any:
    """The values of a whole DTensor."""
    return redistributed(tensor, (R,) * tensor._spec.mesh.ndim)._local_tensor
