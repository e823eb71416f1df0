"""`Interpreter` runs a graph node by node; `Transformer` writes a new graph while it runs one."""

from __future__ import annotations

from typing import Any

from weft.fx._symbolic_trace import Tracer
from weft.fx.graph import Graph
from weft.fx.graph_module import GraphModule
from weft.fx.node import Argument, Node, Target, map_arg
from weft.fx.proxy import Proxy
from weft.nn import Module

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node: override a method to see, or to change, what a kind of node does.

    Parameters
    ----------
    module : Module
    garbage_collect_values : bool
        Let go of each value after its last use.
    graph : Graph, optional
        By default the module's own.

    Attributes
    ----------
    env : dict
        The values of nodes, while the graph runs.

    Examples
    --------
    >>> class SigmoidForRelu(Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         if target is weft.relu:
    ...             target = weft.sigmoid
    ...         return super().call_function(target, args, kwargs)
    >>> traced = weft.fx.symbolic_trace(lambda x: weft.relu(x))
    >>> SigmoidForRelu(traced).run(weft.zeros(2))
    tensor([0.5000, 0.5000])
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph  # type: ignore[assignment]
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Any = iter(())
        self._last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            from weft.fx._code import last_uses_of

            self._last_uses = last_uses_of(self.graph)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Run the graph.

        Parameters
        ----------
        *args
            For its placeholders.
        initial_env : dict, optional
            Values of nodes that are known; those nodes are not run.
        enable_io_processing : bool
            Accepted.

        Raises
        ------
        Exception
            What a node raises, with a note that says which.
        """
        self.env = {} if initial_env is None else initial_env
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    error.add_note(f"While executing {node.format_node()}")
                raise
            for used in self._last_uses.get(node, ()):
                del self.env[used]
            if node.op == "output":
                return self.env[node]
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph with the values of a list, which is emptied."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """Run one node: the method of its kind."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    # The kinds of node

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The next value that `run` was given, or the default.

        Raises
        ------
        RuntimeError
            If there is neither.
        """
        if target.startswith("*"):
            return list(self.args_iter) if not target.startswith("**") else {}
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"run: Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A parameter, buffer or other attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method of the first argument."""
        owner, *rest = args
        return getattr(owner, target)(*rest, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Call a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What the graph returns."""
        return args[0]

    # Values

    def fetch_attr(self, target: str) -> Any:
        """What the module has under a dotted name.

        Raises
        ------
        RuntimeError
            If it has nothing.
        """
        found: Any = self.module
        done: list[str] = []
        for part in target.split("."):
            done.append(part)
            if not hasattr(found, part):
                raise RuntimeError(f"fetch_attr: Node referenced nonexistent target {'.'.join(done)}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, as values."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """An argument, with the value of each node in it.

        Raises
        ------
        RuntimeError
            If one has none yet.
        """

        def value(used: Node) -> Any:
            if used not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {used}! Run Graph.lint() to diagnose")
            return self.env[used]

        return plain(map_arg(args, value))


def plain(value: Any) -> Any:
    """Lists and dicts of a node's arguments as ones that functions may change."""
    if isinstance(value, tuple):
        parts = [plain(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


class Transformer(Interpreter):
    """Runs a graph with proxies, and so writes another: override a method to write something else for a kind of node.

    Parameters
    ----------
    module : GraphModule

    Examples
    --------
    >>> class SigmoidForRelu(Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         if target is weft.relu:
    ...             target = weft.sigmoid
    ...         return super().call_function(target, args, kwargs)
    >>> traced = weft.fx.symbolic_trace(lambda x: weft.relu(x))
    >>> print(SigmoidForRelu(traced).transform().code.strip())
    def forward(self, x):
        sigmoid = weft.sigmoid(x);  x = None
        return sigmoid
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph(tracer_cls=module.graph._tracer_cls)
        self.tracer = TransformerTracer(self.new_graph, module)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        return Proxy(self.new_graph.placeholder(target, default_value=args[0] if args else ...), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module with the new graph."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            returned = map_arg_of_proxies(result)
            old = self.graph.output_node()
            made = self.new_graph.output(returned, old.type)
            made.meta.update(old.meta)
        assert isinstance(self.module, GraphModule)
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)


class TransformerTracer(Tracer):
    """Adds to the new graph; the module's own tensors are there already."""

    def __init__(self, graph: Graph, root: Module) -> None:
        super().__init__()
        self.graph = graph
        self.root = root

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


def map_arg_of_proxies(value: Any) -> Argument:
    """What a graph returns, with the node of each proxy."""
    from weft.fx.node import map_aggregate

    return map_aggregate(value, lambda each: each.node if isinstance(each, Proxy) else each)
