"""Makes programs of a file's graphs: names resolved, functions inlined, attributes read, all of it checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import weft
from weft.onnx._importer.program import Program, Step
from weft.onnx._importer.reading import array_of, attribute_of, sparse_of, tensor_from_numpy
from weft.onnx._importer.registry import Operator, find

__all__ = ["Builder", "Constant"]

MOST_NODES = 1_000_000  # functions that call functions twice grow by powers of two
MOST_DEPTH = 50


@dataclass(eq=False)
class Constant:
    """A tensor of the file.

    Attributes
    ----------
    name : str
    value : Tensor, or array of str or of numbers of 2 and 4 bits
    is_initializer : bool
        Else it is of a Constant node.
    trained : bool
        Whether an operator has it as an input that training changes.
    on_host, on_device : bool
        Where it is wanted.
    """

    name: str
    value: Any
    is_initializer: bool
    trained: bool = False
    on_host: bool = False
    on_device: bool = False

    @cached_property
    def is_parameter(self) -> bool:
        """Whether it is one of the weights: an initializer of floating-point numbers with axes, none of them inf."""
        return (
            self.is_initializer
            and self.trained
            and isinstance(self.value, weft.Tensor)
            and self.value.ndim > 0
            and self.value.dtype.is_floating_point
            and self.value.dtype.itemsize > 1
            and bool(self.value.isfinite().all())
        )


@dataclass(eq=False)
class Scope:
    """The names of a graph: numbers of constants, None for what is computed."""

    names: dict[str, int | None]
    outer: Scope | None = None
    captured: dict[str, None] = field(default_factory=dict)

    def resolve(self, name: str) -> int | None:
        """The number of a constant, None for a value that is computed before.

        Raises
        ------
        KeyError
            If there is no such value yet.
        """
        if name in self.names:
            return self.names[name]
        if self.outer is None:
            raise KeyError(name)
        found = self.outer.resolve(name)
        if found is None:
            self.captured[name] = None
        return found

    def constants(self) -> dict[str, int]:
        """The constants that the graph sees, by name."""
        seen = self.outer.constants() if self.outer is not None else {}
        for name, number in self.names.items():
            if number is not None:
                seen[name] = number
            else:
                seen.pop(name, None)
        return seen


class Builder:
    """Builds the programs of one file.

    Attributes
    ----------
    folder : Path or None
        Where tensors with data of their own files are.
    constants : list of Constant
    missing : dict of str to str
        Operators that nothing runs, and the name of a node that wants each.
    """

    def __init__(self, functions: Any, folder: Path | None) -> None:
        self.folder = folder
        self.functions = {(domain_of(each), each.name, each.overload): each for each in functions}
        self.constants: list[Constant] = []
        self.missing: dict[str, str] = {}
        self.nodes = 0
        self.inlined = 0

    def graph(self, graph: Any, opsets: dict[str, int], outer: Scope | None = None) -> Program:
        """The program of a GraphProto.

        Raises
        ------
        ValueError
            If the graph is none: a value that no earlier node makes (so in a cycle) or that two make, inputs or
            attributes that the operator does not have or lacks.
        """
        scope = Scope({}, outer)
        for proto in graph.initializer:
            self.define(
                scope, proto.name, self.constant(proto.name, tensor_from_numpy(array_of(proto, self.folder)), True)
            )
        for proto in graph.sparse_initializer:
            self.define(scope, proto.values.name, self.constant(proto.values.name, sparse_of(proto, self.folder), True))
        inputs = [each.name for each in graph.input if each.name not in scope.names]
        for name in inputs:
            self.define(scope, name, None)
        steps: list[Step] = []
        for node in graph.node:
            self.add(node, opsets, scope, steps, ())
        outputs = [each.name for each in graph.output]
        for name in outputs:
            self.resolve(scope, name, "the graph's outputs")
        return Program(inputs, outputs, steps, list(scope.captured), scope.constants())

    def define(self, scope: Scope, name: str, constant: int | None) -> None:
        """Give a name to a value."""
        check_texts(name)
        if not name or name in scope.names:
            raise ValueError(f"onnx.load: the name {name!r} is given to two values of one graph, or is empty")
        scope.names[name] = constant

    def resolve(self, scope: Scope, name: str, where: str) -> int | None:
        """The number of the constant of a name, None for a computed value."""
        try:
            return scope.resolve(name)
        except KeyError:
            raise ValueError(
                f"onnx.load: {where} want the value {name!r}, which no earlier node makes (is there a cycle?)"
            ) from None

    def constant(self, name: str, value: Any, is_initializer: bool) -> int:
        """Keep a tensor of the file; its number."""
        self.constants.append(Constant(name, value, is_initializer))
        return len(self.constants) - 1

    def add(self, node: Any, opsets: dict[str, int], scope: Scope, steps: list[Step], calls: tuple[Any, ...]) -> None:
        """Append the step of a node, or those of the function of the file that it calls."""
        check_texts(node.name, node.op_type, node.domain, node.overload, *node.input, *node.output)
        check_texts(*(text for each in node.attribute for text in (each.name, each.ref_attr_name)))
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise ValueError(f"onnx.load: the graph has more than {MOST_NODES} nodes when its functions are inlined")
        domain = domain_of(node)
        key = (domain, node.op_type, node.overload)
        if key in self.functions:
            if key in calls or len(calls) >= MOST_DEPTH:
                raise ValueError(f"onnx.load: the file's function {node.op_type!r} calls itself, or is nested too deep")
            function = self.functions[key]
            for inner in self.inline(function, node):
                self.add(inner, opsets_of(function, opsets), scope, steps, (*calls, key))
            return
        where = f"node {node.name!r} ({node.op_type})" if node.name else f"a {node.op_type} node"
        if domain == "" and node.op_type == "Constant":
            self.define(scope, node.output[0] if node.output else "", self.constant_of(node, where))
            return
        found = self.operator(domain, node.op_type, opsets, where)
        for position, name in enumerate(node.input):
            number = self.resolve(scope, name, f"the inputs of {where}") if name else None
            if number is not None and found is not None and found.trains(position):
                self.constants[number].trained = True
        if found is not None:
            steps.append(self.step(node, found, opsets, scope, where))
        for name in node.output:
            if name:
                self.define(scope, name, None)

    def operator(self, domain: str, name: str, opsets: dict[str, int], where: str) -> Operator | None:
        """What runs an operator; None, with a note of it, if nothing does."""
        if domain not in opsets:
            raise ValueError(f"onnx.load: {where} is of the operator set {domain!r}, which the file does not import")
        found = find(domain, name, opsets[domain])
        if found is None:
            self.missing.setdefault(f"{domain}::{name}" if domain else name, where)
        return found

    def constant_of(self, node: Any, where: str) -> int:
        """The number of a Constant node's value."""
        import numpy as np

        if len(node.attribute) != 1:
            raise ValueError(f"onnx.load: {where} must have one attribute, its value; it has {len(node.attribute)}")
        attribute = node.attribute[0]
        value = attribute_of(attribute, self.folder)
        if attribute.name in ("value_float", "value_floats"):
            value = tensor_from_numpy(np.array(value, np.float32))
        elif attribute.name in ("value_int", "value_ints"):
            value = tensor_from_numpy(np.array(value, np.int64))
        elif attribute.name in ("value_string", "value_strings"):
            value = np.array(value, dtype=object)
        elif attribute.name == "value" and isinstance(value, np.ndarray):
            value = tensor_from_numpy(value)
        elif attribute.name != "sparse_value" or not hasattr(value, "ndim"):
            raise ValueError(f"onnx.load: {where} has the attribute {attribute.name!r}, which is no constant's value")
        return self.constant(node.output[0] if node.output else "", value, False)

    def step(self, node: Any, operator: Operator, opsets: dict[str, int], scope: Scope, where: str) -> Step:
        """The step of a node, whose inputs are known to be there."""
        inputs = list(node.input)
        while inputs and not inputs[-1]:
            inputs.pop()
        needed = inputs[: operator.required]
        attributes: dict[str, Any] = {}
        graphs: dict[str, Program] = {}
        for attribute in node.attribute:
            if attribute.name == "consumed_inputs" or attribute.name.startswith("__"):
                continue  # of the first opsets, where memory was given over
            if not self.takes(operator, attribute.name, inputs):
                raise ValueError(f"onnx.load: {where} has the attribute {attribute.name!r}, which is not known")
            value = attribute_of(attribute, self.folder)
            if type(value).__name__ == "GraphProto":
                graphs[attribute.name] = self.graph(value, opsets, scope)
            else:
                attributes[attribute.name] = value
        given = set(operator.inputs[: len(inputs)]) | attributes.keys()
        lacking = [name for name in operator.inputs[: operator.required] if name not in given]
        if lacking or not all(needed) or (operator.most >= 0 and len(inputs) > operator.most):
            wanted = (
                operator.required if operator.required == operator.most else f"{operator.required} to {operator.most}"
            )
            raise ValueError(f"onnx.load: {where} has {len(inputs)} inputs where {wanted} are wanted: {inputs}")
        lacking = [
            name for name, is_needed in operator.attributes.items() if is_needed and name not in attributes | graphs
        ]
        if lacking:
            raise ValueError(f"onnx.load: {where} lacks the attributes {lacking}")
        outputs = list(node.output)
        while outputs and not outputs[-1]:
            outputs.pop()
        if operator.takes_outputs:
            attributes["outputs"] = len(outputs)
        return Step(operator, inputs, outputs, attributes, graphs, where)

    def takes(self, operator: Operator, name: str, inputs: list[str]) -> bool:
        """Whether an attribute is one of the operator's, or stands for an input that is not given."""
        if name in operator.attributes:
            return True
        return name in operator.inputs and (
            (position := operator.inputs.index(name)) >= len(inputs) and position < operator.most
        )

    def inline(self, function: Any, node: Any) -> list[Any]:
        """The nodes of a function of the file, with the names that they have where it is called.

        A name of the function is made another one at each call, but for its inputs and outputs.
        """
        self.inlined += 1
        if len(node.input) > len(function.input) or len(node.output) > len(function.output):
            raise ValueError(
                f"onnx.load: a call of the file's function {function.name!r} has too many inputs or outputs"
            )
        names = dict.fromkeys(function.input, "") | dict(zip(function.input, node.input)) | {"": ""}
        names |= {inner: outer for inner, outer in zip(function.output, node.output) if outer and inner not in names}
        given = {each.name: each for each in function.attribute_proto} | {each.name: each for each in node.attribute}
        prefix = f"{function.name}.{self.inlined}/"
        inlined = [renamed(each, names, prefix, given) for each in function.node]
        passed = [
            (names[inner], outer) for inner, outer in zip(function.output, node.output) if inner in function.input
        ]
        return inlined + [identity(inner, outer) for inner, outer in passed if outer]


def check_texts(*texts: Any) -> None:
    """Refuse names that are no UTF-8: protobuf hands them out as bytes."""
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"onnx.load: {text!r} is no text in UTF-8")


def domain_of(message: Any) -> str:
    """The operator set of a node or function; the default one has two names."""
    return "" if message.domain == "ai.onnx" else message.domain


def opsets_of(message: Any, outer: dict[str, int] | None = None) -> dict[str, int]:
    """The versions of the operator sets that a model or a function imports."""
    return {**(outer or {}), **{domain_of(each): each.version for each in message.opset_import}}


def renamed(node: Any, names: dict[str, str], prefix: str, given: dict[str, Any]) -> Any:
    """A copy of a function's node with other names, and its attributes that refer to the function's filled in."""

    def name(old: str) -> str:
        return names.get(old, prefix + old)

    copy = type(node)()
    copy.CopyFrom(node)
    copy.input[:] = map(name, node.input)
    copy.output[:] = map(name, node.output)
    del copy.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in given:
                copy.attribute.add().CopyFrom(given[attribute.ref_attr_name])
                copy.attribute[-1].name = attribute.name
            continue
        copy.attribute.add().CopyFrom(attribute)
        if attribute.HasField("g"):
            rename_graph(copy.attribute[-1].g, names, prefix, given)
    return copy


def rename_graph(graph: Any, names: dict[str, str], prefix: str, given: dict[str, Any]) -> None:
    """Give the values of a graph inside a function other names, in place."""
    for value in [*graph.input, *graph.output, *graph.initializer]:
        value.name = names.get(value.name, prefix + value.name)
    nodes = [renamed(node, names, prefix, given) for node in graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def identity(source: str, target: str) -> Any:
    """A node that gives a value a second name."""
    from onnx import helper

    return helper.make_node("Identity", [source], [target])
