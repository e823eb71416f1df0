"""From an exported program to an ONNX model: each node by the converter that stands with its op's declaration."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import weft
from weft.export import ExportedProgram
from weft.export._operators import OpFunction, sym_size
from weft.export._sizes import Repeated, Size
from weft.export.graph_signature import ConstantArgument, InputKind, OutputKind
from weft.fx import Node
from weft.onnx._builder import GraphBuilder, OnnxExporterError, UnsupportedArguments, Value, onnx_dtype
from weft.onnx._complex import CONVERTERS, REAL, is_complex
from weft.onnx._formulas import formula_converter
from weft.onnx._size_checks import checked_zero

__all__ = ["model_of"]

IR_VERSIONS = {18: 8, 19: 9, 20: 9, 21: 10}
ARITHMETIC = {
    operator.add: "Add",
    operator.sub: "Sub",
    operator.mul: "Mul",
    operator.floordiv: "Div",
    min: "Min",
    max: "Max",
}


def model_of(
    program: ExportedProgram,
    opset: int,
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
    axes: Mapping[str, Mapping[int, str]] | None = None,
) -> Any:
    """The model of a program.

    Parameters
    ----------
    opset : int
    input_names, output_names : sequence of str
        Of the first inputs and outputs; default: those of the program.
    axes : dict, optional
        Names of dimensions, by the names of inputs and outputs.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    OnnxExporterError
        If ops have no converter: all of them, with the lines.
    """
    return Writer(program, opset, input_names, output_names, axes or {}).model()


class Writer:
    """Writes one program."""

    def __init__(
        self,
        program: ExportedProgram,
        opset: int,
        input_names: Sequence[str],
        output_names: Sequence[str],
        axes: Mapping[str, Mapping[int, str]],
    ) -> None:
        self.program = program
        self.builder = GraphBuilder(opset)
        self.values: dict[Node, Any] = {}
        self.input_names, self.output_names = list(input_names), list(output_names)
        self.axes = axes
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def model(self) -> Any:
        """The whole."""
        from onnx import helper, numpy_helper

        self.check_converters()
        self.check_buffers()
        self.reserve_names()
        self.write_placeholders()
        for node in self.program.graph.nodes:
            if node.op == "call_function":
                self.write_call(node)
        self.write_outputs()
        nodes, used = self.needed_nodes()
        initializers = [
            numpy_helper.from_array(array, name) for name, array in self.builder.initializers.items() if name in used
        ]
        graph = helper.make_graph(nodes, "main_graph", self.inputs, self.outputs, initializers)
        opset = self.builder.opset
        domains = sorted({node.domain for node in nodes} - {""})
        opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
        return helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=IR_VERSIONS[opset],
            producer_name="weft",
            producer_version=weft.__version__,
        )

    def check_converters(self) -> None:
        """Every op has a converter."""
        missing: dict[str, str] = {}
        for node in self.program.graph.nodes:
            if not isinstance(node.target, OpFunction) or node.target.name in CONVERTERS:
                continue
            if converter_of(node.target) is None:
                missing.setdefault(node.target.name, node.meta.get("line", ""))
        if missing:
            listed = ", ".join(f"{name} ({line})" if line else name for name, line in missing.items())
            raise OnnxExporterError(f"onnx.export: no ONNX converter for: {listed}. Declare one with @<op>.onnx")

    def check_buffers(self) -> None:
        """No result depends on what an earlier call wrote to a buffer, which a file does not keep."""
        nodes = {str(spec.target): node for spec, node in self.placeholders() if spec.kind is InputKind.BUFFER}
        output = next(node for node in self.program.graph.nodes if node.op == "output")
        pairs = list(zip(self.program.graph_signature.output_specs, output.args[0]))
        needed = ancestors(
            each for spec, each in pairs if spec.kind is OutputKind.USER_OUTPUT and isinstance(each, Node)
        )
        for spec, each in pairs:
            if spec.kind is OutputKind.BUFFER_MUTATION and nodes[str(spec.target)] in needed:
                raise OnnxExporterError(
                    f"onnx.export: the program writes to its buffer {spec.target!r} ({each.target} at "
                    f"{each.meta.get('line', '')}), and its results depend on what it wrote in the call before; files "
                    "in ONNX's format keep nothing from call to call. Take the buffer as an input, and return its new "
                    "value"
                )

    # Inputs and outputs

    def placeholders(self) -> list[tuple[Any, Node]]:
        nodes = [node for node in self.program.graph.nodes if node.op == "placeholder"]
        return list(zip(self.program.graph_signature.input_specs, nodes))

    def reserve_names(self) -> None:
        """Names of inputs, parameters and outputs come first: other values are called otherwise."""
        inputs = [
            node
            for spec, node in self.placeholders()
            if spec.kind is InputKind.USER_INPUT and not isinstance(spec.arg, ConstantArgument)
        ]
        names = [*self.input_names, *(node.target for node in inputs[len(self.input_names) :])]
        if len(names) > len(inputs):
            raise ValueError(f"onnx.export: {len(self.input_names)} input_names for {len(inputs)} inputs")
        self.names = {node: self.builder.unique(name) for node, name in zip(inputs, names)}
        self.builder.used.update(self.output_names)

    def write_placeholders(self) -> None:
        for spec, node in self.placeholders():
            if isinstance(spec.arg, ConstantArgument):
                self.values[node] = spec.arg.value
                continue
            known = node.meta["val"]
            if known.dtype in REAL:
                raise OnnxExporterError(
                    f"onnx.export: {node.name} is complex, which ONNX's operators do not take; give its parts, and "
                    "join them by weft.view_as_complex"
                )
            if spec.kind is InputKind.USER_INPUT:
                name = self.names[node]
                self.values[node] = Value(name, known.shape, known.dtype)
                self.inputs.append(self.value_info(name, known))
            else:
                array = self.program.tensor(str(spec.target)).detach().numpy()
                self.values[node] = self.builder.initializer(str(spec.target), array, known.shape, known.dtype)

    def value_info(self, name: str, known: Any) -> Any:
        from onnx import helper

        called = self.axes.get(name, {})
        shape = [called.get(dim, str(size)) if isinstance(size, Size) else size for dim, size in enumerate(known.shape)]
        return helper.make_tensor_value_info(name, onnx_dtype(known.dtype), shape)

    def write_outputs(self) -> None:
        specs = self.program.graph_signature.output_specs
        output = next(node for node in self.program.graph.nodes if node.op == "output")
        results = [
            each
            for spec, each in zip(specs, output.args[0])
            if spec.kind is OutputKind.USER_OUTPUT and isinstance(each, Node) and isinstance(self.written(each), Value)
        ]
        for node in results:
            if self.known_of(node).dtype in REAL:
                raise OnnxExporterError(
                    f"onnx.export: {node.name} is a complex result, which ONNX has not; give weft.view_as_real of it"
                )
        if len(self.output_names) > len(results):
            raise ValueError(f"onnx.export: {len(self.output_names)} output_names for {len(results)} outputs")
        self.builder.base, taken = "output", set()
        zero = checked_zero(self.builder, self.program.comparisons, self.symbol_sizes())
        for place, node in enumerate(results):
            value = self.values[node] if zero is None else self.checked(self.values[node], zero)
            wanted = self.output_names[place] if place < len(self.output_names) else ""
            fresh = value.name not in taken and value.name not in self.builder.initializers and node.op != "placeholder"
            if not fresh or (wanted and value.name != wanted):
                value = self.output_node(value, wanted)
            taken.add(value.name)
            self.outputs.append(self.value_info(value.name, self.known_of(node)))

    def symbol_sizes(self) -> dict[str, Value]:
        """The symbols that the program compared, as the inputs' shapes show them."""
        wanted = {name for guard in self.program.comparisons for name in guard.symbols}
        found: dict[str, Value] = {}
        for spec, node in self.placeholders():
            known = node.meta["val"]
            for dim, size in enumerate(getattr(known, "shape", ()) if spec.kind is InputKind.USER_INPUT else ()):
                if isinstance(size, Size) and size.symbols[0] in wanted - found.keys():
                    (symbol,) = size.symbols
                    made = self.builder.size(self.values[node], dim)
                    plus, factor = size.terms.get((), 0), size.terms[(symbol,)]
                    made = self.builder.Sub(made, plus) if plus else made
                    found[symbol] = self.builder.Div(made, factor) if factor != 1 else made
        return found

    def checked(self, value: Value, zero: Value) -> Value:
        """The value, where sizes are those that the program was exported for."""
        shape = self.builder.Add(self.builder.shape_of(value), zero)
        made: Value = self.builder.Reshape(value, shape, allowzero=1, shape=value.shape, dtype=value.dtype)
        return made

    def output_node(self, value: Value, wanted: str) -> Value:
        """The value under another name."""
        made = self.builder.emit("Identity", value, dtype=value.dtype)
        if wanted:
            self.builder.nodes[-1].output[0] = wanted
            made.name = wanted
        return made

    @staticmethod
    def known_of(node: Node) -> Any:
        known = node.meta["val"]
        if isinstance(known, Size):
            from weft.export._graph import Tensor

            return Tensor((1,), weft.int64)
        return known

    # Calls

    def write_call(self, node: Node) -> None:
        builder = self.builder
        builder.base = node.name
        if node.target is sym_size:
            value, dim = self.values[node.args[0]], node.args[1]
            made = builder.shape_of(value, dim, dim + 1)
            made.size = node.meta["val"]
            self.values[node] = made
        elif node.target is operator.getitem:
            self.values[node] = self.values[node.args[0]][node.args[1]]
        elif node.target in ARITHMETIC:
            self.values[node] = self.arithmetic(node)
        else:
            self.values[node] = self.convert(node)

    def arithmetic(self, node: Node) -> Any:
        """Of sizes, which are tensors with one element."""
        known = node.meta["val"]
        one, two = (self.argument(each) for each in node.args)
        if isinstance(known, Repeated):
            return Repeated(one[0], two)
        one, two = (each if isinstance(each, Value) else self.builder.sizes([each]) for each in (one, two))
        made = self.builder.emit(ARITHMETIC[node.target], one, two, dtype=weft.int64)
        made.size = known
        return made

    def written(self, node: Node) -> Any:
        """The value of a node.

        Raises
        ------
        OnnxExporterError
            If it is a result that the operator in the file does not have.
        """
        value = self.values[node]
        if value is None and node.op == "call_function":
            op, number = node.args
            line = op.meta.get("line", "")
            raise OnnxExporterError(f"onnx.export: {op.target} at {line}: ONNX has no result number {number} of it")
        return value

    def argument(self, arg: Any) -> Any:
        """An argument of a node with values in place of nodes."""
        if isinstance(arg, Node):
            return self.written(arg)
        if isinstance(arg, (list, tuple)):
            return tuple(self.argument(each) for each in arg)
        if isinstance(arg, slice):
            return slice(*(self.argument(each) for each in (arg.start, arg.stop, arg.step)))
        return arg

    def convert(self, node: Node) -> Any:
        """Write an op by its converter."""
        target: Any = node.target
        args = {name: self.argument(each) for name, each in node.kwargs.items()}
        converter = converter_of(target)
        made: Any
        try:
            if is_complex(list(args.values())) or getattr(node.meta["val"], "dtype", None) in REAL:
                converter = CONVERTERS.get(target.name)
            if converter is None:
                self.builder.refuse("it is of complex numbers, of which ONNX has DFT alone; compute on their parts")
            if isinstance(converter, str):
                made = self.alike(converter, args, node.meta["val"].dtype)
            else:
                made = converter(self.builder, **args)
        except UnsupportedArguments as error:
            line = node.meta.get("line", "")
            raise OnnxExporterError(f"onnx.export: {target.name} at {line}: {error}") from None
        known = node.meta["val"]
        if isinstance(made, Value):
            return self.typed(made, known)
        return [None if each is None else self.typed(each, like) for each, like in zip(made, known)]

    def alike(self, op_type: str, args: Mapping[str, Any], dtype: Any) -> Value:
        """The operator of a name, with all arguments as its inputs.

        Numbers have the dtype of the first tensor. If the result is of a floating-point dtype, all inputs are.
        """
        like = next(each for each in args.values() if isinstance(each, Value))
        common = dtype if dtype.is_floating_point else like.dtype
        inputs = [
            self.builder.cast(self.builder.unsized(each), common)
            if isinstance(each, Value)
            else self.builder.constant(each, dtype=common)
            for each in args.values()
        ]
        made: Value = self.builder.emit(op_type, *inputs)
        return made

    @staticmethod
    def typed(value: Value, known: Any) -> Value:
        """The value with the shape and dtype that the program knows."""
        if value.shape == known.shape and value.dtype is known.dtype:
            return value
        return Value(value.name, known.shape, known.dtype, value.constant)

    def needed_nodes(self) -> tuple[list[Any], set[str]]:
        """The nodes that outputs depend on, and the names of all that they use."""
        used = {each.name for each in self.outputs}
        needed = []
        for node in reversed(self.builder.nodes):
            if used.intersection(node.output):
                used.update(node.input)
                needed.append(node)
        return needed[::-1], used


def ancestors(nodes: Iterable[Node]) -> set[Node]:
    """Nodes, and all that they are computed of."""
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.all_input_nodes
    return found


def converter_of(target: OpFunction) -> Any:
    """How an op is written: an operator's name, a function, or None."""
    declared = getattr(target.op, "onnx", None)
    if declared is None and getattr(target.op, "formula", None) is not None:
        return formula_converter(target.op)
    return declared
