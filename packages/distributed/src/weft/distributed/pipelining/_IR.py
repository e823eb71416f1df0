"""Cuts a model into stages: traces it, and divides the graph where the caller says."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Any

from weft import fx, nn
from weft.distributed.pipelining.stage import PipelineStage, build_stage

__all__ = ["Pipe", "PipeInfo", "SplitPoint", "pipe_split", "pipeline"]

BY_HAND = (
    "cut the model by hand: delete from each process's copy what other stages have, and pass it to "
    "PipelineStage(submodule, stage_index, num_stages, device)"
)
_tracing: ContextVar[Any] = ContextVar("_tracing", default=None)


class SplitPoint(Enum):
    """Where a stage begins: at a module, or behind it."""

    BEGINNING = 1
    END = 2


def pipe_split() -> None:
    """Begin a new stage here, when `pipeline` traces the module whose forward calls this; else do nothing."""
    tracer = _tracing.get()
    if tracer is not None:
        tracer.create_node("call_function", pipe_split, (), {})


@dataclass
class PipeInfo:
    """What stages are built with."""

    graph: fx.Graph
    num_stages: int
    has_loss_and_backward: bool = False


class Pipe(nn.Module):
    """A model that was cut into stages.

    Parameters
    ----------
    split_gm : GraphModule
        Has the stages as ``submod_pp_0``, ``submod_pp_1``, …
    num_stages : int
    """

    def __init__(
        self, split_gm: Any, num_stages: int, has_loss_and_backward: bool = False, loss_spec: Any = None
    ) -> None:
        super().__init__()
        self.split_gm = split_gm
        self.num_stages = num_stages
        self.has_loss_and_backward = has_loss_and_backward

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute all stages one after the other, in this process."""
        return self.split_gm(*args, **kwargs)

    def get_stage_module(self, stage_idx: int) -> nn.Module:
        """Return a stage's module.

        Raises
        ------
        ValueError
            If there is no such stage.
        """
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}! Must be in 0..{self.num_stages - 1}")
        return self.split_gm.get_submodule(submodule_name(stage_idx))

    def build_stage(self, stage_index: int, device: Any, group: Any = None) -> PipelineStage:
        """Return a stage of this process, whose module is moved to the device."""
        return build_stage(self.get_stage_module(stage_index), stage_index, self.info(), device, group)

    def info(self) -> PipeInfo:
        """Return what stages are built with."""
        return PipeInfo(self.split_gm.graph, self.num_stages, self.has_loss_and_backward)

    def print_readable(self) -> None:
        """Print the code that calls the stages."""
        print(self.split_gm.code)

    def __str__(self) -> str:
        return str(self.split_gm)


def submodule_name(stage: int) -> str:
    """The attribute that has a stage."""
    return f"submod_pp_{stage}"


def pipeline(
    module: nn.Module,
    mb_args: tuple[Any, ...],
    mb_kwargs: dict[str, Any] | None = None,
    split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[[Any], Any] | None = None,
) -> Pipe:
    """Cut a model into stages.

    The model is traced by `weft.fx`: only what stands around the split points is looked into, and its Python code must
    not decide by the values of tensors. A value that a later stage needs passes through those between.

    Parameters
    ----------
    module : Module
    mb_args : tuple
        Arguments of a microbatch.
    mb_kwargs : dict, optional
    split_spec : dict, optional
        From names of submodules to `SplitPoint`. Default: where the modules call `pipe_split`.
    split_policy : callable, optional
        Not supported.

    Returns
    -------
    Pipe

    Raises
    ------
    AttributeError
        If the model has no submodule of a name.
    NotImplementedError
        For a ``split_policy``, and where two stages share a parameter.
    RuntimeError
        If the model cannot be traced; the message says how to cut it by hand.

    Examples
    --------
    >>> from weft.distributed.pipelining import SplitPoint, pipeline
    >>> model = weft.nn.Sequential(weft.nn.Linear(4, 3), weft.nn.ReLU(), weft.nn.Linear(3, 2))
    >>> pipe = pipeline(model, (weft.ones(1, 4),), split_spec={"1": SplitPoint.BEGINNING})
    >>> pipe.num_stages, [name for name, _ in pipe.get_stage_module(1).named_parameters()]
    (2, ['2.weight', '2.bias'])
    """
    if split_policy is not None:
        raise NotImplementedError("pipeline: split_policy is not supported; use split_spec, or pipe_split() in forward")
    if split_spec:
        for name in split_spec:
            module.get_submodule(name)
    graph = traced(module, mb_args, mb_kwargs or {}, split_spec or {})
    parts = divided(graph, split_spec or {})
    return Pipe(*connected(module, graph, parts))


class _SplitTracer(fx.Tracer):
    """Looks into the modules that a split point is in; without split points by name, into all that are the user's."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self._names = names

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether a module's call is one node."""
        if not self._names:
            return super().is_leaf_module(m, module_qualified_name)
        return not any(name.startswith(f"{module_qualified_name}.") for name in self._names)


def traced(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], spec: dict[str, SplitPoint]) -> fx.Graph:
    """The graph of a model; parameters of its forward that a microbatch does not give have their defaults."""
    signature = inspect.signature(module.forward)
    given = signature.bind(*args, **kwargs).arguments
    omitted = {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if name not in given and parameter.default is not parameter.empty
    }
    tracer = _SplitTracer(list(spec))
    token = _tracing.set(tracer)
    try:
        graph = tracer.trace(module, omitted or None)
    except Exception as error:
        raise RuntimeError(f"pipeline: {type(module).__name__} cannot be traced ({error}); {BY_HAND}") from error
    finally:
        _tracing.reset(token)
    for node in list(graph.nodes):
        if node.op == "placeholder" and node.target in {f"{name}_1" for name in omitted}:
            for check in list(node.users):  # that the argument has its default
                graph.erase_node(check)
            graph.erase_node(node)
    return graph


def divided(graph: fx.Graph, spec: dict[str, SplitPoint]) -> dict[fx.Node, int]:
    """The stage of each computation."""
    owners = {node: owner_of(node, spec) for node in graph.nodes}
    last = {owner: node for node, owner in owners.items() if owner is not None}
    stage = 0
    begun: set[str] = set()
    stages: dict[fx.Node, int] = {}
    for node, owner in owners.items():
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        if node.target is pipe_split:
            stage += bool(stages)
            continue
        if owner is not None and owner not in begun:
            begun.add(owner)
            stage += spec[owner] is SplitPoint.BEGINNING and bool(stages)
        stages[node] = stage
        if owner is not None and last[owner] is node:
            stage += spec[owner] is SplitPoint.END
    final = max(stages.values(), default=0)
    return {node: min(number, final) for node, number in stages.items()}


def owner_of(node: fx.Node, spec: dict[str, SplitPoint]) -> str | None:
    """The module of a split point that a node is in."""
    if node.op != "call_module":
        return None
    return next((name for name in spec if f"{node.target}.".startswith(f"{name}.")), None)


def connected(module: nn.Module, graph: fx.Graph, stages: dict[fx.Node, int]) -> tuple[Any, int]:
    """A module that calls the stages one after the other, and their number."""
    count = max(stages.values(), default=0) + 1
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    carried = [inputs] + [passed_on(graph, stages, stage) for stage in range(1, count)]
    check_shared_parameters(module, graph, stages)
    root = nn.Module()
    outer = fx.Graph()
    values = [outer.node_copy(node) for node in inputs]
    for stage in range(count):
        following = carried[stage + 1] if stage + 1 < count else None
        inner = stage_graph(graph, stages, stage, carried[stage], following)
        setattr(root, submodule_name(stage), fx.GraphModule(module, inner))
        result = outer.call_module(submodule_name(stage), tuple(values))
        values = [result]
        if following is not None and len(following) > 1:
            values = [outer.call_function(operator.getitem, (result, index)) for index in range(len(following))]
    outer.output(values[0])
    return fx.GraphModule(root, outer), count


def passed_on(graph: fx.Graph, stages: dict[fx.Node, int], stage: int) -> list[fx.Node]:
    """The values from before a stage that it or a later one needs."""
    found = []
    for node in graph.nodes:
        if node.op in ("output", "get_attr") or node.target is pipe_split:
            continue
        users = [stages.get(user, max(stages.values(), default=0)) for user in node.users]
        if stages.get(node, -1) < stage and any(user >= stage for user in users):
            found.append(node)
    return found


def stage_graph(
    graph: fx.Graph, stages: dict[fx.Node, int], stage: int, inputs: list[fx.Node], outputs: list[fx.Node] | None
) -> fx.Graph:
    """The graph of one stage, from what it is given to what later ones need; of the last, to the model's output."""
    made = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    for node in inputs:
        copies[node] = made.node_copy(node) if node.op == "placeholder" else made.placeholder(node.name)

    def copy_of(node: fx.Node) -> fx.Node:
        if node not in copies and node.op == "get_attr":
            copies[node] = made.node_copy(node)
        return copies[node]

    for node, number in stages.items():
        if number == stage:
            copies[node] = made.node_copy(node, copy_of)
    if outputs is None:
        made.output(fx.map_arg(graph.output_node().args[0], copy_of))
    else:
        results = tuple(copy_of(node) for node in outputs)
        made.output(results[0] if len(results) == 1 else results)
    return made


def check_shared_parameters(module: nn.Module, graph: fx.Graph, stages: dict[fx.Node, int]) -> None:
    """Raise NotImplementedError for a parameter that two stages use: each process would train one of its own."""
    holders: dict[int, tuple[str, int]] = {}
    names = dict(module.named_parameters(remove_duplicate=False))
    for node, stage in [*stages.items(), *attributes(graph, stages)]:
        if node.op not in ("call_module", "get_attr"):
            continue
        for name, parameter in names.items():
            if not f"{name}.".startswith(f"{node.target}."):
                continue
            other, holder = holders.setdefault(id(parameter), (name, stage))
            if holder != stage:
                raise NotImplementedError(
                    f"pipeline: stages {holder} and {stage} share a parameter ({other}, {name}); {BY_HAND}, and add "
                    "the shared parameter's gradients with weft.distributed.all_reduce"
                )


def attributes(graph: fx.Graph, stages: dict[fx.Node, int]) -> list[tuple[fx.Node, int]]:
    """Each use of an attribute by a stage."""
    uses = [(node, user) for node in graph.nodes if node.op == "get_attr" for user in node.users]
    return [(node, stages.get(user, max(stages.values(), default=0))) for node, user in uses]
