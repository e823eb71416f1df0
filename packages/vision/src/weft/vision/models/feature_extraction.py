"""Outputs from within a model: its graph is recorded and cut where they come to be."""

from __future__ import annotations

import inspect
import math
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from weft import fx, nn
from weft.fx.graph_module import _copy_attr
from weft.vision import ops

__all__ = ["create_feature_extractor", "get_graph_node_names"]

MODES = ("train", "eval")


class LeafModuleAwareTracer(fx.Tracer):
    """A tracer that does not look into modules of some classes: ``leaf_modules``."""

    def __init__(self, *args: Any, leaf_modules: Any = (), **kwargs: Any) -> None:
        self.leaf_modules = leaf_modules
        super().__init__(*args, **kwargs)

    def is_leaf_module(self, m: nn.Module, module_qualname: str) -> bool:
        """Whether to record a call of the module as one node."""
        return isinstance(m, tuple(self.leaf_modules)) or super().is_leaf_module(m, module_qualname)


class NodePathTracer(LeafModuleAwareTracer):
    """A tracer that names each node by the module in which it comes to be: ``layer1.0.add``.

    A name that comes again gets a number: ``add``, ``add_1``, ... within the module.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.current_module_qualname = ""
        self.node_to_qualname: dict[fx.Node, str] = OrderedDict()
        self._numbers: dict[str, int] = {}  # of the last node with a name

    def call_module(self, m: nn.Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Record the call of a module, or run it with the proxies."""
        before = self.current_module_qualname
        self.current_module_qualname = self.path_of_module(m)
        try:
            return super().call_module(m, forward, args, kwargs)
        finally:
            self.current_module_qualname = before

    def create_proxy(self, kind: str, target: Any, args: Any, kwargs: Any, *others: Any, **options: Any) -> Any:
        """Record a node and name it."""
        proxy = super().create_proxy(kind, target, args, kwargs, *others, **options)
        self.node_to_qualname[proxy.node] = self._qualname(proxy.node)
        return proxy

    def _qualname(self, node: fx.Node) -> str:
        path = self.current_module_qualname
        name = path if node.op == "call_module" else f"{path}.{node}".lstrip(".")
        name = re.sub(r"(?<=.)_\d+$", "", name)  # the node's own number counts the whole graph
        if name in self._numbers:
            self._numbers[name] += 1
            name = f"{name}_{self._numbers[name]}"
        else:
            base, _, number = name.rpartition("_")
            if base and number.isdigit():
                self._numbers[base] = int(number)
        self._numbers.setdefault(name, 0)
        return name


def _tracer_options(given: dict[str, Any] | None) -> dict[str, Any]:
    """The tracer's arguments: modules and functions of `weft.vision.ops` are recorded as they are."""
    classes = [each for _, each in inspect.getmembers(ops, inspect.isclass) if issubclass(each, nn.Module)]
    options = dict(given or {})
    options["autowrap_modules"] = tuple({*options.get("autowrap_modules", ()), math, ops})
    options["leaf_modules"] = [*options.get("leaf_modules", ()), *classes]
    return options


@contextmanager
def _modes_kept(model: nn.Module) -> Iterator[None]:
    """After a block, the modules train or evaluate as before."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _trace(model: nn.Module, options: dict[str, Any], concrete_args: dict[str, Any] | None) -> list[NodePathTracer]:
    """The model's graphs in training and in evaluation."""
    tracers = []
    with _modes_kept(model):
        for mode in MODES:
            tracers.append(NodePathTracer(**options))
            tracers[-1].trace(model.train(mode == "train"), concrete_args=concrete_args)
    return tracers


def _is_subsequence(names: list[str], of: list[str]) -> bool:
    others = iter(of)
    return all(name in others for name in names)


def _warn_of_differences(tracers: list[NodePathTracer]) -> None:
    train, evaluation = (list(tracer.node_to_qualname.values()) for tracer in tracers)
    if train == evaluation:
        return
    message = "The nodes obtained by tracing the model in train mode are different to those obtained in eval mode"
    if _is_subsequence(evaluation, train):
        message = "The nodes obtained by tracing the model in eval mode are a subsequence of those of train mode"
    elif _is_subsequence(train, evaluation):
        message = "The nodes obtained by tracing the model in train mode are a subsequence of those of eval mode"
    warnings.warn(f"{message}: you may need to name the output nodes of each mode separately", stacklevel=3)


def get_graph_node_names(
    model: nn.Module,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: dict[str, Any] | None = None,
) -> tuple[list[str], list[str]]:
    """The names of the nodes that `create_feature_extractor` can return, in the order in which they are computed.

    Parameters
    ----------
    model : Module
    tracer_kwargs : dict, optional
        For the tracer: ``leaf_modules``, classes whose inside is not recorded, and what `weft.fx.Tracer` takes.
    suppress_diff_warning : bool
        Say nothing if the names differ between the modes.
    concrete_args : dict, optional
        Arguments of the model that are constants.

    Returns
    -------
    tuple of two lists of str
        The names in training and in evaluation.

    Examples
    --------
    >>> get_graph_node_names(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))[1]
    ['input', '0', '1']
    """
    tracers = _trace(model, _tracer_options(tracer_kwargs), concrete_args)
    if not suppress_diff_warning:
        _warn_of_differences(tracers)
    train, evaluation = (list(tracer.node_to_qualname.values()) for tracer in tracers)
    return train, evaluation


class DualGraphModule(fx.GraphModule):
    """A module with one graph for training and one for evaluation."""

    def __init__(
        self, root: nn.Module, train_graph: fx.Graph, eval_graph: fx.Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__(root, train_graph, class_name)
        for node in eval_graph.nodes:
            if node.op in ("get_attr", "call_module"):
                _copy_attr(root, self, node.target)
        self.train_graph = train_graph
        self.eval_graph = eval_graph
        self.training = True

    def train(self, mode: bool = True) -> DualGraphModule:
        """Set the mode, and run its graph from now on."""
        if mode != self.training:
            self.graph = self.train_graph if mode else self.eval_graph
        super().train(mode)
        return self


Names = list[str] | dict[str, str]


def create_feature_extractor(
    model: nn.Module,
    return_nodes: Names | None = None,
    train_return_nodes: Names | None = None,
    eval_return_nodes: Names | None = None,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: dict[str, Any] | None = None,
) -> fx.GraphModule:
    """A module that returns outputs from within a model; it has the model's own parameters and modules.

    Parameters
    ----------
    model : Module
    return_nodes : list of str or dict of str to str
        The names of nodes as `get_graph_node_names` has them, and by what name each is returned, by default its own.
        The name of a module stands for the last node in it.
    train_return_nodes, eval_return_nodes : list or dict
        In place of ``return_nodes``, where the modes have different nodes.
    tracer_kwargs, suppress_diff_warning, concrete_args
        As for `get_graph_node_names`.

    Returns
    -------
    GraphModule
        It returns a dict; what no output needs is not computed.

    Raises
    ------
    ValueError
        If neither ``return_nodes`` nor the other two are given, or both, or there is no such node.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> create_feature_extractor(model, {"1": "hidden"})(weft.ones(4, 2))["hidden"].shape
    weft.Size([4, 3])
    """
    if return_nodes is None and train_return_nodes is None and eval_return_nodes is None:
        raise ValueError("give return_nodes, or train_return_nodes and eval_return_nodes together")
    if (train_return_nodes is None) != (eval_return_nodes is None):
        raise ValueError("train_return_nodes and eval_return_nodes must both be given, or neither")
    if return_nodes is not None and train_return_nodes is not None:
        raise ValueError("give either return_nodes, or train_return_nodes and eval_return_nodes")
    queries = (return_nodes, return_nodes) if return_nodes is not None else (train_return_nodes, eval_return_nodes)
    tracers = _trace(model, _tracer_options(tracer_kwargs), concrete_args)
    name = type(model).__name__
    for tracer, wanted in zip(tracers, queries):
        _cut(tracer, _as_dict(wanted), name)
    if not suppress_diff_warning:
        _warn_of_differences(tracers)
    made = DualGraphModule(model, tracers[0].graph, tracers[1].graph, class_name=name)
    return made.train(model.training)


def _as_dict(names: Names | None) -> dict[str, str]:
    pairs = names.items() if isinstance(names, dict) else zip(names or (), names or ())
    return {str(node): str(output) for node, output in pairs}


def _cut(tracer: NodePathTracer, wanted: dict[str, str], name: str) -> None:
    """Let a graph return some of its nodes, in the order of the graph, and compute nothing else."""
    paths = tracer.node_to_qualname
    for query in wanted:
        if not any(path == query or path.startswith(f"{query}.") for path in paths.values()):
            raise ValueError(
                f"node: '{query}' is not present in model. Hint: get_graph_node_names has the names; where the modes "
                "differ, give train_return_nodes and eval_return_nodes"
            )
    graph = tracer.graph
    owner = fx.GraphModule(tracer.root, graph, name)  # which nodes have side effects, its modules tell
    for node in [node for node in graph.nodes if node.op == "output"]:
        graph.erase_node(node)
    nodes = list(graph.nodes)
    outputs: list[tuple[str, fx.Node]] = []
    for node in reversed(nodes):
        found = next((query for query in wanted if f"{paths.get(node)}.".startswith(f"{query}.")), None)
        if found is not None:
            outputs.insert(0, (wanted.pop(found), node))
    with graph.inserting_after(nodes[-1]):
        graph.output(OrderedDict(outputs))
    graph.eliminate_dead_code()
    owner.recompile()
