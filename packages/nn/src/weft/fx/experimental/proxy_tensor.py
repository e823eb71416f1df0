"""`make_fx`: the operators that a function runs, forward and backward, as a graph of overloads of `weft.ops.aten`.

The function is run once, under a mode of ``__torch_dispatch__`` that adds a node for each operator. The node of a
tensor is known by its array: weft gives results their history by making other tensors of the same array.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import weft
from weft import Tensor
from weft._subclasses.fake_tensor import FakeTensorMode
from weft.fx.graph import Graph
from weft.fx.graph_module import GraphModule
from weft.fx.node import Node
from weft.nn import Module, Parameter
from weft.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode_stack
from weft.utils._pytree import tree_leaves, tree_map

__all__ = ["ProxyTorchDispatchMode", "disable_proxy_modes_tracing", "get_proxy_mode", "make_fx"]

Table = dict[Any, Callable[..., Any]]


class ProxyTorchDispatchMode(TorchDispatchMode):
    """A mode that adds a node to a graph for each operator that runs."""

    def __init__(self, graph: Graph, root: Module, decomposition_table: Table | None = None) -> None:
        super().__init__()
        self.graph = graph
        self.root = root
        self.decomposition_table = decomposition_table or {}
        self._nodes: dict[int, tuple[Node, Any]] = {}  # by the array's id, with the array so that the id stays its own
        self._counts = {"_param_constant": 0, "_tensor_constant": 0}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator, and add its node."""
        kwargs = kwargs or {}
        decomposition = self.decomposition_table.get(func)
        if decomposition is not None:
            with self:
                return decomposition(*args, **kwargs)
        node_args, node_kwargs = tree_map(self.node_of, (args, kwargs))
        name = func.overloadpacket.__name__
        node = self.graph.create_node("call_function", func, node_args, node_kwargs, name)
        result = func(*args, **kwargs)
        self.track(result, node)
        return result

    def track(self, result: Any, node: Node) -> None:
        """A result is that of a node; of several, each is an element of it."""
        node.meta["val"] = result
        if isinstance(result, Tensor):
            self._nodes[id(result._array)] = node, result._array
        elif isinstance(result, (tuple, list)):
            for place, each in enumerate(result):
                if isinstance(each, Tensor):
                    self.track(each, self.graph.call_function(operator.getitem, (node, place)))

    def node_of(self, value: Any) -> Any:
        """The node of a tensor; one that was not made under the mode is an attribute of the graph's module."""
        if not isinstance(value, Tensor):
            return value
        known = self._nodes.get(id(value._array))
        if known is not None:
            return known[0]
        kind = "_param_constant" if isinstance(value, Parameter) else "_tensor_constant"
        name = f"{kind}{self._counts[kind]}"
        self._counts[kind] += 1
        if isinstance(value, Parameter):
            self.root.register_parameter(name, value)
        else:
            self.root.register_buffer(name, value.detach() if value.requires_grad else value)
        node = self.graph.get_attr(name)
        self.track(value, node)
        return node


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The mode of a `make_fx` that runs; None if none does."""
    modes = [each for each in _get_current_dispatch_mode_stack() if isinstance(each, ProxyTorchDispatchMode)]
    return modes[-1] if modes else None


@contextmanager
def disable_proxy_modes_tracing() -> Iterator[None]:
    """In this block nothing is added to a graph."""
    with _disable_current_modes():
        yield


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Table | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    **options: Any,
) -> Callable[..., GraphModule]:
    """Make a function that runs ``f`` on its arguments, and returns the graph of the operators that ran.

    Parameters
    ----------
    f : callable
        Of tensors, and of values that are constants of the graph. May take gradients, and be one of `weft.func`.
    decomposition_table : dict, optional
        From overloads to functions, of whose operators the graph is made in their stead.
    tracing_mode : "real" or "fake"
        Run it on the arguments, or on fake tensors, which have no values.

    Raises
    ------
    NotImplementedError
        For ``"symbolic"``, ``pre_dispatch``, and arguments that are containers of tensors.

    Examples
    --------
    >>> from weft.fx.experimental.proxy_tensor import make_fx
    >>> graph = make_fx(lambda x: x.relu().sum())(weft.ones(2))
    >>> [str(node.target) for node in graph.graph.nodes]
    ['x_1', 'aten.relu.default', 'aten.sum.default', 'output']
    """
    if tracing_mode not in ("real", "fake"):
        if tracing_mode != "symbolic":
            raise AssertionError(f"make_fx: tracing_mode must be 'real', 'fake' or 'symbolic', got {tracing_mode!r}")
        raise NotImplementedError("make_fx: weft has no symbolic sizes; use tracing_mode='real' or 'fake'")
    if pre_dispatch:
        raise NotImplementedError("make_fx: graphs are of operators below autograd; leave pre_dispatch out")

    def traced(*args: Any) -> GraphModule:
        return trace(f, args, decomposition_table, tracing_mode == "fake")

    return traced


def trace(f: Callable[..., Any], args: tuple[Any, ...], table: Table | None, fake: bool) -> GraphModule:
    """See `make_fx`."""
    for each in args:
        if not isinstance(each, Tensor) and any(isinstance(leaf, Tensor) for leaf in tree_leaves(each)):
            raise NotImplementedError(
                f"make_fx: an argument is a {type(each).__name__} of tensors; pass each tensor as an argument of its "
                "own"
            )
    root, graph = Module(), Graph()
    mode = ProxyTorchDispatchMode(graph, root, table)
    fakes = FakeTensorMode() if fake else None
    given = [fakes.from_tensor(each) if fakes and isinstance(each, Tensor) else each for each in args]
    for name, value in zip(names_of(f, len(args)), given):
        mode.track(value, graph.placeholder(f"{name}_1"))
    run = on_fakes(f, fakes, mode) if fakes and isinstance(f, Module) else f
    with fakes or nullcontext(), mode:
        result = run(*given)
    graph.output(tree_map(mode.node_of, result))
    graph.eliminate_dead_code(is_impure)
    return GraphModule(root, graph, getattr(f, "__name__", type(f).__name__))


def names_of(f: Any, count: int) -> list[str]:
    """The names of a function's parameters, as many as there are arguments; of a module ``arg0``, ``arg1``."""
    try:
        parameters = [] if isinstance(f, Module) else list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return [*names, *(f"arg{number}" for number in range(len(names), count))][:count]


def on_fakes(module: Module, fakes: FakeTensorMode, mode: ProxyTorchDispatchMode) -> Callable[..., Any]:
    """A module with fake parameters and buffers; in the graph they are those that it has."""
    own = dict(module.named_parameters()) | dict(module.named_buffers())
    faked = {}
    for name, value in own.items():
        faked[name] = fakes.from_tensor(value)
        mode.track(faked[name], mode.node_of(value))

    def run(*args: Any) -> Any:
        return weft.func.functional_call(module, faked, args)

    return run


def is_impure(node: Node) -> bool:
    """Whether a node does more than return something: writes, draws, or is an input or the output."""
    if node.op in ("placeholder", "output"):
        return True
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable
