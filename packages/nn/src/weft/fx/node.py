"""`Node`: one step of a graph, its arguments and who uses it."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import weft
from weft import overrides
from weft._ops import OpOverload, OpOverloadPacket
from weft.fx.immutable_collections import immutable_dict, immutable_list
from weft.library.subclasses import display_name
from weft.nn import Module

if TYPE_CHECKING:
    from weft.fx.graph import Graph  # imports this module, and puts its class here

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Argument = Any
Target = Any  # a function, or the name of a method, module or attribute

OPS = ("placeholder", "call_function", "call_method", "call_module", "get_attr", "output", "root")

_side_effectful_functions: set[Callable[..., Any]] = set()


def has_side_effect(fn: Any) -> Any:
    """Keep calls of a function when dead code is removed; may be used as a decorator."""
    _side_effectful_functions.add(fn)
    return fn


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """An argument with each node in it replaced by what a function makes of it."""
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """An argument with each part in it replaced; tuples, lists, dicts and slices are searched."""
    if isinstance(a, tuple):
        parts = [map_aggregate(each, fn) for each in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(each, fn) for key, each in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(each, fn) for each in (a.start, a.stop, a.step)))
    return fn(a)


def qualified_name(function: Any) -> str:
    """How code writes a function: ``"weft.cat"``, ``"weft.nn.functional.relu"``, ``"operator.add"``."""
    name = getattr(function, "__name__", "")
    if name and getattr(builtins, name, None) is function:
        return str(name)
    if isinstance(function, (OpOverload, OpOverloadPacket)):
        return f"{weft.__name__}.ops.{function}"
    module = getattr(function, "__module__", None) or ""
    if module == "_operator":
        return f"operator.{name}"
    if display_name.is_own(module):
        return public_name(function)
    name = getattr(function, "__qualname__", None) or name or str(function)
    return f"{module}.{name}" if module else str(name)


def public_name(function: Any) -> str:
    """The name by which weft's users know something of weft's."""
    name = getattr(function, "__name__", "")
    for home in (sys.modules.get(function.__module__), weft, weft.nn.functional, sys.modules.get("weft._api")):
        if home is not None and vars(home).get(name) is function and f"{home.__package__}." != "weft.ops.":
            return name_in_public(home.__name__, name)
    found = overrides.resolve_name(function)
    return found or f"{function.__module__}.{getattr(function, '__qualname__', name)}"


def name_in_public(module: str, name: str) -> str:
    """The name in ``weft`` itself of what a private module has, if it is there."""
    if any(part.startswith("_") for part in module.split(".")) and hasattr(weft, name):
        return f"{weft.__name__}.{name}"
    return f"{module}.{name}"


def format_arg(arg: Any) -> str:
    """An argument as a graph prints it."""
    if isinstance(arg, list):
        return f"[{', '.join(map(format_arg, arg))}]"
    if isinstance(arg, tuple):
        return f"({', '.join(map(format_arg, arg))}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return f"{{{', '.join(f'{key}: {format_arg(each)}' for key, each in arg.items())}}}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """One step of a graph. Made by the graph's methods, not by itself.

    Attributes
    ----------
    op : str
        What is done:

        ============= ====================================== =============================
        op            target                                 args, kwargs
        ============= ====================================== =============================
        placeholder   the input's name                       the default value, if any
        get_attr      the name of a parameter or buffer
        call_function a function                             its arguments
        call_method   a method's name                        the object, and its arguments
        call_module   a module's name, ``"layer1.0.conv"``   its arguments
        output        ``"output"``                           what is returned
        ============= ====================================== =============================
    name : str
        Of its value, unlike all others in the graph.
    users : dict
        The nodes that have it among their arguments, as keys.
    meta : dict
        Whatever passes over the graph note.
    type : object or None
        The value's type, if it is known.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any = None,
    ) -> None:
        if op not in OPS:
            raise ValueError(f"Node: op must be one of {', '.join(OPS)}, got {op!r}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target).__name__} but a "
                    "Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target).__name__} but a str "
                "is expected"
            )
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.meta: dict[str, Any] = {}
        self.users: dict[Node, None] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev: Node = self
        self._next: Node = self
        self._erased = False
        self._set_arguments(args, kwargs)

    def __repr__(self) -> str:
        return self.name

    # Arguments

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments; assign a tuple to change them."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._set_arguments(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name; assign a dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Argument]) -> None:
        self._set_arguments(self._args, kwargs)

    def _set_arguments(self, args: tuple[Argument, ...], kwargs: Mapping[str, Argument]) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = {}
        self._args: tuple[Argument, ...] = map_arg(tuple(args), self._used)
        self._kwargs: dict[str, Argument] = map_arg(dict(kwargs), self._used)

    def _used(self, node: Node) -> Node:
        self._input_nodes.setdefault(node)
        node.users.setdefault(self)
        return node

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert a positional argument."""
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Replace an argument by its name."""
        self.kwargs = {**self.kwargs, key: arg}

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Put another node in the place of one among the arguments."""

        def replaced(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set_arguments(map_arg(self.args, replaced), map_arg(self.kwargs, replaced))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Put another node in the place of this one wherever it is used.

        Parameters
        ----------
        replace_with : Node
        delete_user_cb : callable
            Is given each user, and says whether to change it.
        propagate_meta : bool
            Give this node's ``meta`` to the other, which must have none.

        Returns
        -------
        list of Node
            Those that were changed.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "replace_all_uses_with: propagate_meta=True, but the new node has meta of its own; clear it first"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # Order

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x: Node) -> None:
        """Move a node of the same graph to the place before this one."""
        if x.graph is not self.graph:
            raise AssertionError("prepend: the node belongs to another graph; use graph.node_copy first")
        if x is self:
            return
        x._unlink()
        x._prev, x._next = self._prev, self
        self._prev._next = x
        self._prev = x

    def append(self, x: Node) -> None:
        """Move a node of the same graph to the place after this one."""
        if x is not self:
            self._next.prepend(x)

    # What it is

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether removing the node, if nobody uses its value, would change what the graph does."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            in_place = name.endswith("_") and not name.endswith("__") and bool(self._input_nodes)
            return self.target in _side_effectful_functions or in_place
        if self.op == "call_method":
            return self.target.endswith("_") and not self.target.endswith("__")
        if self.op == "call_module" and self.graph.owning_module is not None:
            module = self.graph.owning_module.get_submodule(self.target)
            return bool(getattr(module, "_is_impure", False))
        return False

    def normalized_arguments(
        self,
        root: Module,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """The arguments bound to the parameters of what is called, as (args, kwargs); None if that is not known."""
        import inspect

        called = self.target if self.op == "call_function" else None
        if self.op == "call_module":
            called = root.get_submodule(self.target).forward
        try:
            bound = inspect.signature(called).bind(*self.args, **self.kwargs)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return None
        bound.apply_defaults()
        if normalize_to_only_use_kwargs and not bound.args[len(bound.arguments) :]:
            return (), dict(bound.arguments)
        return bound.args, bound.kwargs

    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) == "builtins":
            return f"builtins.{target.__name__}"
        return qualified_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The node as a line of the printed graph.

        Parameters
        ----------
        placeholder_names : list, optional
            If given, a placeholder is appended to it and None returned: for the head of a function.
        maybe_return_typename : list, optional
            If given, its first item becomes the arrow and type of the result.
        """
        from weft.fx._code import type_repr

        kind = f"{type_repr(self.type)} " if self.type else ""
        users = f"[num_users={len(self.users)}]"
        target = self._pretty_print_target(self.target)
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(f"{self.target}{f': {type_repr(self.type)}' if self.type else ''}")
                return None
            default = "(default=" + str(self.args[0]) + ")" if self.args else ""
            return f"%{self.name} : {kind}{users} = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : {kind}{users} = {self.op}[target={target}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_repr(self.type)}"
            return f"return {self.args[0]}"
        arguments = f"args = {format_arg(self.args)}, kwargs = {format_arg(self.kwargs)}"
        return f"%{self.name} : {kind}{users} = {self.op}[target={target}]({arguments})"
