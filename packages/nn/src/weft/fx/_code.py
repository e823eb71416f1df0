"""From a graph to the text of a Python function."""

from __future__ import annotations

import builtins
import enum
import keyword
import math
import re
import types
import typing
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import weft
from weft.fx.node import Node, map_arg, qualified_name

if TYPE_CHECKING:
    from weft.fx.graph import Graph

BINARY = {
    "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "add": "+", "sub": "-", "mul": "*",
    "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>", "and_": "&",
    "or_": "|", "xor": "^", "matmul": "@",
}  # fmt: skip
UNARY = {"pos": "+", "neg": "-", "invert": "~"}
IN_PLACE = {
    "iadd": "+=", "iand": "&=", "ifloordiv": "//=", "ilshift": "<<=", "imod": "%=", "imul": "*=", "imatmul": "@=",
    "ior": "|=", "ipow": "**=", "irshift": ">>=", "isub": "-=", "itruediv": "/=", "ixor": "^=",
}  # fmt: skip

# Names that the generated function may always use; no value is called so.
ALWAYS = {"inf": math.inf, "nan": math.nan, "NoneType": type(None), weft.__name__: weft, "device": weft.device}


@dataclass
class PythonCode:
    """A function's text, and what its names mean.

    Attributes
    ----------
    src : str
    globals : dict
        What the text uses besides its arguments.
    """

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = field(default=None)


class Namespace:
    """Names for values: legal, unlike each other, and close to what was wished."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._names: dict[int, str] = {}
        self._objects: list[Any] = []  # so that an id stays its object's
        self._count: dict[str, int] = defaultdict(int)

    def create_name(self, candidate: str, obj: Any = None) -> str:
        """A new name; for an object that was named before, its name."""
        if obj is not None and id(obj) in self._names:
            return self._names[id(obj)]
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        numbered = re.fullmatch(r"(.*)_(\d+)", candidate, re.DOTALL)
        base, number = (numbered[1], int(numbered[2])) if numbered else (candidate, self._count[candidate])
        while candidate in self._used or self._taken(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._count[base] = number
        if obj is not None:
            self._names[id(obj)] = candidate
            self._objects.append(obj)
        return candidate

    @staticmethod
    def _taken(name: str, obj: Any) -> bool:
        """Whether the name means something else in Python, or in every generated function."""
        if keyword.iskeyword(name):
            return True
        if hasattr(builtins, name):
            return getattr(builtins, name) is not obj
        return name in ALWAYS and ALWAYS[name] is not obj

    def rename(self, obj: Any, name: str) -> None:
        """Take a name for an object that has another one."""
        self._used.add(name)
        self._names[id(obj)] = name
        self._objects.append(obj)


def type_repr(kind: Any) -> str:
    """A type as an annotation writes it."""
    if isinstance(kind, str):
        return kind
    arguments = typing.get_args(kind)
    origin = typing.get_origin(kind)
    if arguments and origin is not None:
        if origin is typing.Union or origin is types.UnionType:
            return f"typing_Union[{','.join(map(type_repr, arguments))}]"
        name = f"typing_{kind._name}" if getattr(kind, "_name", None) else type_repr(origin)
        return f"{name}[{','.join('...' if each is ... else type_repr(each) for each in arguments)}]"
    if kind is type(None):
        return "NoneType"
    if kind is weft.Tensor:
        return f"{weft.__name__}.Tensor"
    return qualified_name(kind)


def target_text(base: str, target: str) -> str:
    """An attribute of an attribute: ``getattr(self.layers, "0").weight``."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


class Writer:
    """Writes one graph as a function."""

    def __init__(self, graph: Graph, root_module: str, namespace: Namespace) -> None:
        self.graph = graph
        self.root_module = root_module
        self.namespace = namespace
        self.globals: dict[str, Any] = {}
        self.wrapped: dict[str, None] = {}
        self.parameters: list[str] = []
        self.body: list[str] = []
        self.returns = ""
        for name, value in ALWAYS.items():
            self.add_global(name, value)

    def write(self) -> PythonCode:
        """The whole function."""
        last_uses = last_uses_of(self.graph)
        for node in self.graph.nodes:
            self.write_node(node)
            self.write_deletions(node, last_uses[node])
        body = "".join(self.body).lstrip("\n") or "pass\n"
        lines = "\n".join(f"    {line}" for line in body.split("\n"))
        parameters = self.parameters
        if not parameters or parameters[0] != "self":
            parameters = ["self", *parameters]
        head = f"def forward({', '.join(parameters)}){self.returns}:"
        wrapping = "\n".join(f'{weft.__name__}.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        return PythonCode(f"\n{wrapping}\n\n{head}\n{lines}", self.globals)

    # Pieces

    def add_global(self, name: str, obj: Any) -> str:
        """What the text calls an object of the outside."""
        if name.partition(".")[0] in (weft.__name__, "operator") and "." in name:
            if name.startswith("operator."):
                import operator

                self.globals["operator"] = operator
                return name
            if reachable(name) is obj:
                self.globals[weft.__name__] = weft
                return name
        legal = name.replace(".", "_")
        if legal in self.globals and self.globals[legal] is obj:
            return legal
        legal = self.namespace.create_name(legal, obj)
        self.globals[legal] = obj
        return legal

    def annotation(self, kind: Any) -> str:
        """A type as the text writes it."""
        if kind is Any or isinstance(kind, str):
            return ""
        text = type_repr(kind)
        for name in set(re.findall(r"typing_(\w+)", text)):
            self.globals[f"typing_{name}"] = getattr(typing, name)
        if not typing.get_args(kind):
            return self.add_global(text, kind)
        self.add_parts(kind)
        return text

    def add_parts(self, kind: Any) -> None:
        for part in typing.get_args(kind):
            if typing.get_args(part):
                self.add_parts(part)
            elif part is not ... and not hasattr(builtins, getattr(part, "__name__", "")):
                self.add_global(type_repr(part), part)

    def text(self, arg: Any) -> str:
        """An argument."""
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            name = self.add_global(qualified_name(type(arg)), type(arg))
            return f"{name}({', '.join(map(self.text, arg))})"
        if isinstance(arg, tuple) and type(arg) is not tuple:
            return self.text(tuple(arg))
        if isinstance(arg, tuple):
            return f"({', '.join(map(self.text, arg))}{',' if len(arg) == 1 else ''})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.text, arg))}]"
        if isinstance(arg, dict):
            return f"{{{', '.join(f'{key!r}: {self.text(each)}' for key, each in arg.items())}}}"
        if isinstance(arg, slice):
            return f"slice({self.text(arg.start)}, {self.text(arg.stop)}, {self.text(arg.step)})"
        if isinstance(arg, enum.Enum):
            return f"{self.add_global(qualified_name(type(arg)), type(arg))}.{arg.name}"
        if isinstance(arg, Node):
            return arg.name
        if isinstance(arg, type) or callable(arg):
            return self.add_global(qualified_name(arg), arg)
        return repr(arg)

    def arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        """What stands in the brackets of a call."""
        return ", ".join([*map(self.text, args), *(f"{key} = {self.text(each)}" for key, each in kwargs.items())])

    # Nodes

    def write_node(self, node: Node) -> None:
        kind = self.annotation(node.type) if node.type is not None else ""
        typed = f"{node.name} : {kind}" if kind else node.name
        if node.op == "placeholder":
            default = f" = {self.text(node.args[0])}" if node.args else ""
            self.parameters.append(f"{node.target}{f' : {kind}' if kind else ''}{default}")
            raw = node.target.replace("*", "")
            if raw != node.name:
                self.body.append(f"{node.name} = {raw}\n")
        elif node.op == "output":
            self.returns = f" -> {kind}" if kind else self.returns
            self.body.append(f"return {self.text(node.args[0])}")
        elif node.op == "call_function":
            self.body.append(self.function_text(node, typed))
        elif node.op == "call_method":
            called = target_text(self.operand(node.args[0]), node.target)
            self.body.append(f"{typed} = {called}({self.arguments(node.args[1:], node.kwargs)})")
        elif node.op == "call_module":
            called = target_text(self.root_module, node.target)
            self.body.append(f"{typed} = {called}({self.arguments(node.args, node.kwargs)})")
        elif node.op == "get_attr":
            self.body.append(f"{typed} = {target_text(self.root_module, node.target)}")

    def operand(self, arg: Any) -> str:
        """An argument before a dot: a number needs brackets."""
        text = self.text(arg)
        return f"({text})" if isinstance(arg, int | float) else text

    def function_text(self, node: Node, typed: str) -> str:
        target, args = node.target, node.args
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", None) == "_operator":
            texts = [self.text(each) for each in args]
            if name in BINARY and len(args) == 2:
                return f"{typed} = {texts[0]} {BINARY[name]} {texts[1]}"
            if name in UNARY and len(args) == 1:
                return f"{typed} = {UNARY[name]}{texts[0]}"
            if name == "getitem" and len(args) == 2:
                return f"{typed} = {texts[0]}[{texts[1]}]"
            if name in IN_PLACE and isinstance(args[0], Node):
                return f"{texts[0]} {IN_PLACE[name]} {texts[1]};  {typed} = {texts[0]}"
        if target is getattr and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return f"{typed} = {target_text(self.operand(args[0]), args[1])}"
        called = self.add_global(qualified_name(target), target)
        if node.meta.get("is_wrapped"):
            self.wrapped.setdefault(called)
        return f"{typed} = {called}({self.arguments(args, node.kwargs)})"

    def write_deletions(self, node: Node, last: list[Node]) -> None:
        """Let go of the values that are not used after a node."""
        if node.op == "placeholder":
            return
        if node.op == "output":
            self.body.append("\n")
            return
        names = [each.name for each in last] + ([] if node.users else [node.name])
        self.body.append(f";  {' = '.join([*names, 'None'])}\n" if names else "\n")


def last_uses_of(graph: Graph) -> dict[Node, list[Node]]:
    """For each node the values that are used in it for the last time."""
    last: dict[Node, list[Node]] = {node: [] for node in graph.nodes}
    seen: set[Node] = set()
    for user in reversed(graph.nodes):

        def register(node: Node, user: Node = user) -> Node:
            if node not in seen:
                seen.add(node)
                last[user].append(node)
            return node

        map_arg(user.args, register)
        map_arg(user.kwargs, register)
    return last


def reachable(name: str) -> Any:
    """What a dotted name of weft's means."""
    found: Any = weft
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found
