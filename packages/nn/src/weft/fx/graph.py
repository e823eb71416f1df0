"""`Graph`: a computation as a list of nodes."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from weft.fx import _code
from weft.fx import node as _node
from weft.fx._code import Namespace, PythonCode, Writer
from weft.fx.node import Argument, Node, Target, map_arg
from weft.overrides import enable_overrides

__all__ = ["Graph", "PythonCode"]


class NodeList:
    """The nodes of a graph in their order: to be iterated, also backwards and while nodes are inserted or erased."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph = graph
        self.direction = direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        current = getattr(root, self.direction)
        while current is not root:
            if not current._erased:
                yield current
            current = getattr(current, self.direction)

    def __reversed__(self) -> Iterator[Node]:
        return iter(NodeList(self.graph, "_prev" if self.direction == "_next" else "_next"))


class InsertionPoint:
    """Where new nodes go: at once, and until the end of the block if it is used as a context manager."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.before, graph._insert = graph._insert, insert

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        self.graph._insert = self.before


class Graph:
    """A computation as a list of nodes, each after those that it uses.

    Examples
    --------
    >>> graph = Graph()
    >>> x = graph.placeholder("x")
    >>> total = graph.call_method("sum", (x,))
    >>> _ = graph.output(total)
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %sum_1 : [num_users=1] = call_method[target=sum](args = (%x,), kwargs = {})
        return sum_1
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        enable_overrides()  # a function has one identity from here on, which nodes have as their target
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._namespace = Namespace()
        self._insert: Callable[[Node], None] = self._root.prepend
        self.owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras

    @property
    def nodes(self) -> NodeList:
        """All nodes in the order in which they run."""
        return NodeList(self)

    def find_nodes(self, *, op: str, target: Target = None, sort: bool = True) -> list[Node]:
        """The nodes that do a thing, and perhaps with one target."""
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def output_node(self) -> Node:
        """The node that returns."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    # Making nodes

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Make a node at the place for new ones, which is the end if nothing else was said.

        Parameters
        ----------
        op, target, args, kwargs
            See `Node`.
        name : str, optional
            What to call it, if nothing is called so; by default after the target.
        type_expr : type, optional
        """
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"create_node: args must be a tuple, got {type(args).__name__}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"create_node: kwargs must be a dict, got {type(kwargs).__name__}")
        name = self._namespace.create_name(name if name is not None else self._target_to_str(target))
        node = Node(self, name, op, target, args, kwargs, type_expr)
        self._namespace.rename(node, name)
        self._insert(node)
        self._len += 1
        return node

    @staticmethod
    def _target_to_str(target: Target) -> str:
        name = getattr(target, "__name__", type(target).__name__) if callable(target) else str(target)
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        return re.sub("(?<=[a-z])([A-Z])", r"_\1", name).lower()

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input of the function; ``...`` as the default means that there is none."""
        args = () if default_value is ... or default_value is inspect.Parameter.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Call a submodule."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Call a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Call a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Return a value."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda node: node) -> Node:
        """Copy a node of another graph to the place for new ones.

        Parameters
        ----------
        node : Node
        arg_transform : callable
            Gives for each node among its arguments the one of this graph.
        """
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, dict(kwargs), node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copy all nodes of another graph but its output to the place for new ones.

        Parameters
        ----------
        g : Graph
        val_map : dict
            From nodes of it to those of this graph; those that are in it are not copied, and the copies are added.
        return_output_node : bool

        Returns
        -------
        What the other graph returns, in nodes of this one; with ``return_output_node`` also its output node.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                returned = map_arg(node.args[0], val_map.__getitem__)
                return (returned, node) if return_output_node else returned
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        val_map: dict[Node, Node] = {}
        found = made.graph_copy(self, val_map, return_output_node=True)
        if found is not None:
            result, old = found
            made.output(result, type_expr=old.type).meta = copy.copy(old.meta)
        return made

    # Places

    def inserting_before(self, n: Node | None = None) -> InsertionPoint:
        """Make new nodes before this one (without one: at the beginning); for a block, or from now on."""
        if n is None:
            return self.inserting_after(self._root)
        self._own(n, "inserting_before")
        return InsertionPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> InsertionPoint:
        """Make new nodes after this one (without one: at the end), in their order; for a block, or from now on."""
        if n is None:
            return self.inserting_before(self._root)
        self._own(n, "inserting_after")
        return InsertionPoint(self, n.append)

    def _own(self, node: Node, asked: str) -> None:
        if node.graph is not self:
            raise AssertionError(f"{asked}: the node {node} belongs to another graph")

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node.

        Raises
        ------
        RuntimeError
            If something uses it.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}! Give them another with replace_all_uses_with"
            )
        self._own(to_erase, "erase_node")
        if to_erase._erased:
            return
        to_erase._unlink()
        to_erase._erased = True
        self._len -= 1
        to_erase.args, to_erase.kwargs = (), {}

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove the nodes whose values nobody uses, and say whether there were any.

        Parameters
        ----------
        is_impure_node : callable, optional
            Says of a node whether it must stay; by default `Node.is_impure`.
        """
        self.lint()
        must_stay = is_impure_node or Node.is_impure
        before = self._len
        for node in list(reversed(self.nodes)):
            if not node.users and node.op != "output" and node.op != "placeholder" and not must_stay(node):
                self.erase_node(node)
        return self._len != before

    # Checks and text

    def lint(self) -> None:
        """Check that the graph can run: order, names, and that the module has what it uses.

        Raises
        ------
        RuntimeError
            If it cannot, with the node's name.
        """
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"lint: Node '{node}' does not belong to this Graph!")
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(f"lint: Argument '{used}' of Node '{node}' does not belong to this Graph")
                if used not in seen:
                    raise RuntimeError(
                        f"lint: Argument '{used}' of Node '{node}' was used before it has been defined! Please check "
                        "that Nodes in the graph are topologically ordered"
                    )
            if node.name in names:
                raise RuntimeError(f"lint: Node redefined name {node.name}!")
            names.add(node.name)
            seen.add(node)
            if self.owning_module is not None and node.op in ("call_module", "get_attr"):
                self._check_target(node)

    def _check_target(self, node: Node) -> None:
        """Raise if the module lacks what a node names."""
        from weft.nn import Module

        found: Any = self.owning_module
        for part in node.target.split("."):
            if not hasattr(found, part):
                raise RuntimeError(f"lint: Node {node} target {node.target} references nonexistent attribute {part}")
            found = getattr(found, part)
        if node.op == "call_module" and not isinstance(found, Module):
            raise RuntimeError(f"lint: Node {node} target {node.target} does not reference a Module")

    def python_code(
        self, root_module: str, *, verbose: bool = False, include_stride: bool = False, include_device: bool = False
    ) -> PythonCode:
        """The graph as the text of a function ``forward``.

        Parameters
        ----------
        root_module : str
            What the text calls the module, ``"self"``.
        """
        namespace = Namespace()
        for node in self.nodes:
            namespace._used.add(node.name)
            namespace.rename(node, node.name)
        return Writer(self, root_module, namespace).write()

    def __str__(self) -> str:
        lines = [node.format_node() for node in self.nodes]
        return "graph():" + "".join(f"\n    {line}" for line in lines)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [[node.op, node.name, str(node.target), str(node.args), str(node.kwargs)] for node in self.nodes]
        table = [["opcode", "name", "target", "args", "kwargs"], *rows]
        widths = [max(map(len, column)) for column in zip(*table)]
        table.insert(1, ["-" * width for width in widths])
        print("\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table))


for module in (_code, _node):  # their annotations name the class, which is made of them
    vars(module)["Graph"] = Graph
