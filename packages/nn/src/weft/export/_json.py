"""Graphs, signatures and trees as JSON's values, and back: nothing in a file is called, imported or executed."""

from __future__ import annotations

import cmath
import math
import operator
from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import weft
from weft.export._graph import ARITHMETIC, Tensor
from weft.export._operators import OpFunction, op_function, sym_size
from weft.export._size_guards import COMPARISONS, MOST_OPERANDS, OPERATORS, Formula, Guard
from weft.export._sizes import Repeated, Size
from weft.export.errors import UserError
from weft.fx import Graph, Node
from weft.library import get_op
from weft.utils import _pytree as pytree

__all__ = [
    "InvalidFile",
    "decoded",
    "encoded",
    "graph_from",
    "graph_to",
    "guard_from",
    "guard_to",
    "tree_from",
    "tree_to",
]

NAMED_TUPLE: Any = pytree.namedtuple  # type: ignore[attr-defined]  # by which all of them are taken apart
FUNCTIONS = {"getitem": operator.getitem, "sym_size": sym_size, **ARITHMETIC}
NAMES = {function: name for name, function in FUNCTIONS.items()}
# Declared ops are functions of tensors. Of other operations, which may read files or call what they are given, these:
CREATION = frozenset(
    f"core::{name}"
    for name in (
        "arange empty empty_like empty_strided eye full full_like linspace logspace new_empty new_empty_strided "
        "new_full new_ones new_zeros normal ones ones_like rand rand_like randint randint_like randn randn_like "
        "randperm range scalar_tensor tensor tril_indices triu_indices zeros zeros_like"
    ).split()
)


class InvalidFile(Exception):
    """What a file says is no program."""


# Constants

KINDS = {"dtype": weft.dtype, "layout": weft.layout, "memory_format": weft.memory_format}


def encoded(value: Any) -> Any:
    """A constant, node or container of them as JSON's values.

    Raises
    ------
    UserError
        If it is of a type that files do not hold.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, Node):
        return {"node": value.name}
    if isinstance(value, Tensor):
        return {"shape": [encoded(each) for each in value.shape], "dtype": encoded(value.dtype)["dtype"]}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [encoded(each) for each in value]}
    if isinstance(value, slice):
        return {"slice": [encoded(each) for each in (value.start, value.stop, value.step)]}
    if value is ...:
        return {"ellipsis": None}
    if isinstance(value, complex):
        return {"complex": [encoded(value.real), encoded(value.imag)]}
    if isinstance(value, weft.device):
        return {"device": str(value)}
    for name, kind in KINDS.items():
        if isinstance(value, kind):
            return {name: str(value).rpartition(".")[2]}
    if isinstance(value, Size):
        return {"size": [[list(term), factor] for term, factor in value.terms.items()], "hint": value.hint}
    if isinstance(value, Repeated):
        return {"repeated": [encoded(value.value), encoded(value.count)]}
    raise UserError(f"save: a {type(value).__name__} in the program, which files do not hold")


def decoded(value: Any, nodes: Mapping[str, Node]) -> Any:
    """What `encoded` was given.

    Raises
    ------
    InvalidFile
        If it is nothing that `encoded` writes.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if not isinstance(value, dict) or not value:
        raise InvalidFile(f"{value!r} is no value")
    kind, content = next(iter(value.items()))
    if kind == "node":
        if content not in nodes:
            raise InvalidFile(f"{content!r} is used before it is there")
        return nodes[content]
    if kind in ("list", "tuple"):
        parts = [decoded(each, nodes) for each in listed(content)]
        return parts if kind == "list" else tuple(parts)
    if kind == "slice":
        return slice(*(decoded(each, nodes) for each in listed(content, 3)))
    if kind == "repeated":
        return Repeated(*(decoded(each, nodes) for each in listed(content, 2)))
    if kind == "shape":
        return Tensor(tuple(size_from(each) for each in listed(content)), named("dtype", value.get("dtype")))
    if kind == "size":
        return size_from(value)
    return decoded_constant(kind, content)


def decoded_constant(kind: str, content: Any) -> Any:
    if kind == "float" and content in ("inf", "-inf", "nan"):
        return float(content)
    if kind == "ellipsis":
        return ...
    if kind == "complex":
        real, imag = (decoded(each, {}) for each in listed(content, 2))
        number = complex(real, imag)
        return number if cmath.isfinite(number) else complex(real, imag)
    if kind == "device":
        return weft.device(text(content))
    if kind in KINDS:
        return named(kind, content)
    raise InvalidFile(f"{kind!r} is no kind of value")


def named(kind: str, name: Any) -> Any:
    """A dtype, layout or memory format of weft's."""
    found = vars(weft).get(text(name))
    if not isinstance(found, KINDS[kind]):
        raise InvalidFile(f"{name!r} is no {kind}")
    return found


def size_from(value: Any) -> Any:
    """An entry of a shape."""
    if type(value) is int and value >= 0:
        return value
    if not isinstance(value, dict) or type(value.get("hint")) is not int:
        raise InvalidFile(f"{value!r} is no size")
    terms = {}
    for each in listed(value.get("size")):
        names, factor = listed(each, 2)
        if type(factor) is not int or not all(identifier(name) for name in listed(names)):
            raise InvalidFile(f"{each!r} is no part of a size")
        terms[tuple(names)] = factor
    return Size(terms, value["hint"])


def listed(value: Any, count: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (count is not None and len(value) != count):
        raise InvalidFile(f"{value!r} is no list" + (f" of {count}" if count is not None else ""))
    return value


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidFile(f"{value!r} is no text")
    return value


def line_from(value: Any) -> str:
    """Where a program did something: one line of text, since it stands in comments of the Python that is written."""
    if not text(value).isprintable():
        raise InvalidFile(f"{value!r} is no line of a program")
    return str(value)


def identifier(value: Any) -> str:
    """A name that may stand in Python's source, as nodes' names do."""
    if not isinstance(value, str) or not value.isidentifier():
        raise InvalidFile(f"{value!r} is no name")
    return value


# Graphs


def graph_to(graph: Graph) -> list[dict[str, Any]]:
    """The nodes of a graph."""
    return [node_to(node) for node in graph.nodes]


def node_to(node: Node) -> dict[str, Any]:
    target: Any = node.target
    if isinstance(target, OpFunction):
        target = target.name
    elif node.op == "call_function":
        if target not in NAMES:
            raise UserError(f"save: the graph calls {target!r}, which is no op")
        target = NAMES[target]
    return {
        "name": node.name,
        "op": node.op,
        "target": target,
        "args": [encoded(each) for each in node.args],
        "kwargs": {name: encoded(each) for name, each in node.kwargs.items()},
        "val": encoded(node.meta.get("val")),
        "line": node.meta.get("line", ""),
    }


def graph_from(nodes: Any) -> Graph:
    """The graph of nodes that `graph_to` gave."""
    graph = Graph()
    known: dict[str, Node] = {}
    for each in listed(nodes):
        if not isinstance(each, dict):
            raise InvalidFile(f"{each!r} is no node")
        name = identifier(each["name"])
        args = tuple(decoded(arg, known) for arg in listed(each["args"]))
        kwargs = {identifier(key): decoded(arg, known) for key, arg in each["kwargs"].items()}
        node = graph.create_node(each["op"], target_from(each["op"], each["target"]), args, kwargs, name=name)
        if node.name in known:
            raise InvalidFile(f"two nodes are called {name}")
        node.meta["val"] = decoded(each["val"], {})
        if each["line"]:
            node.meta["line"] = line_from(each["line"])
        known[name] = node
    operations = [each["op"] for each in nodes]
    if operations.count("output") != 1 or operations[-1] != "output":
        raise InvalidFile("the graph has not one output, at its end")
    graph.lint()
    return graph


def target_from(op: Any, target: Any) -> Any:
    """What a node calls: an op by its name, never anything else of Python's."""
    if op in ("placeholder", "output"):
        return identifier(target)
    if op != "call_function":
        raise InvalidFile(f"{op!r} is no node of an exported program")
    if text(target) in FUNCTIONS:
        return FUNCTIONS[target]
    import_namespace(target)
    try:
        found = get_op(target)
    except KeyError:
        raise InvalidFile(f"there is no op {target!r}; import the module that declares it first") from None
    if target.endswith("_") or not (hasattr(found, "op") or target in CREATION):
        raise InvalidFile(f"{target!r} is no op of an exported program")
    return op_function(target)


def import_namespace(target: str) -> None:
    """Make weft's own ops known."""
    module = {
        "nn": "weft.nn.functional",
        "quantized_decomposed": "weft.ao.decomposed",
        "vision": "weft.vision.ops",
    }.get(target.partition("::")[0])
    if module is not None:
        import importlib

        importlib.import_module(module)


# Trees


def tree_to(spec: Any) -> Any:
    """The structure of containers."""
    if spec.is_leaf():
        return None
    children = [tree_to(each) for each in spec.children_specs]
    if spec.type is NAMED_TUPLE:
        cls = spec.context
        return {"type": "namedtuple", "context": [cls.__name__, list(cls._fields)], "children": children}
    known = pytree.SUPPORTED_SERIALIZED_TYPES[spec.type]
    if known.serialized_type_name == pytree.NO_SERIALIZED_TYPE_NAME_FOUND:
        raise UserError(
            f"save: a {spec.type.__name__} among arguments or results, which has no serialized_type_name: give it one "
            "in register_pytree_node"
        )
    dump = known.to_dumpable_context
    context = encoded(spec.context) if dump is None else {"dumped": dump(spec.context)}
    return {"type": known.serialized_type_name, "context": context, "children": children}


def tree_from(value: Any) -> Any:
    """What `tree_to` was given."""
    if value is None:
        return pytree.treespec_leaf()
    children = [tree_from(each) for each in listed(value["children"])]
    kind, context = text(value["type"]), value["context"]
    if kind == "namedtuple":
        name, fields = listed(context, 2)
        made = namedtuple(identifier(name), [identifier(each) for each in listed(fields)])  # type: ignore[misc]
        return pytree.TreeSpec(NAMED_TUPLE, made, children)
    cls = pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(kind)
    if cls is None or kind == pytree.NO_SERIALIZED_TYPE_NAME_FOUND:
        raise InvalidFile(f"containers of type {kind!r} are unknown; import the module that registers them first")
    load = pytree.SUPPORTED_SERIALIZED_TYPES[cls].from_dumpable_context
    found = decoded(context, {}) if load is None else load(context["dumped"])
    return pytree.TreeSpec(cls, found, children)


# Guards

LARGEST_EXPONENT = 8
UNARY = frozenset("abs floor ceil round trunc".split())


def guard_to(guard: Guard) -> dict[str, Any]:
    """A guard as JSON's values: formulas are lists."""
    return {"compare": guard.name, "left": guard.left, "right": guard.right, "is": guard.outcome, "line": guard.line}


def guard_from(described: Any, symbols: set[str]) -> Guard:
    """The guard that JSON describes.

    Raises
    ------
    InvalidFile
        If it is of other symbols, or no comparison that takes little time.
    """
    name, outcome = described["compare"], described["is"]
    left, right = (formula_from(described[side], symbols) for side in ("left", "right"))
    if name not in COMPARISONS or type(outcome) is not bool or max(map(operands_in, (left, right))) > MOST_OPERANDS:
        raise InvalidFile(f"{described} is no guard")
    return Guard(name, left, right, outcome, line_from(described["line"]))


def formula_from(value: Any, symbols: set[str]) -> Formula:
    if type(value) in (int, float) or (isinstance(value, str) and value in symbols):
        return value
    name, *operands = listed(value)
    if name not in OPERATORS or len(operands) != (1 if name in UNARY else 2):
        raise InvalidFile(f"{value} is no formula of {', '.join(sorted(symbols))}")
    made = (name, *(formula_from(each, symbols) for each in operands))
    if name == "pow" and not (
        is_simple(made[1]) and type(made[2]) in (int, float) and abs(made[2]) <= LARGEST_EXPONENT
    ):
        raise InvalidFile(f"{value}: a power of a power, or its exponent is no number up to {LARGEST_EXPONENT}")
    return made


def is_simple(formula: Formula) -> bool:
    """Whether a formula has no powers, which may be of any length."""
    return not isinstance(formula, tuple) or (formula[0] != "pow" and all(map(is_simple, formula[1:])))


def operands_in(formula: Formula) -> int:
    return sum(map(operands_in, formula[1:])) if isinstance(formula, tuple) else 1
