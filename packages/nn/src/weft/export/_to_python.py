"""Programs as Python: one module that runs with NumPy alone, and its weights beside it."""

from __future__ import annotations

import hashlib
import io
import operator
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from weft.export import _numpy_functions
from weft.export._graph import Tensor
from weft.export._kernel_sources import KernelSources, NotStandalone
from weft.export._numpy_kernels import Array, NumpyKernels, Text, dtype_text, literal
from weft.export._operators import OpFunction, sym_size
from weft.export._sizes import Size
from weft.export.dynamic_shapes import LARGEST
from weft.export.errors import UserError
from weft.export.graph_signature import ConstantArgument, InputKind, OutputKind
from weft.fx import Node
from weft.serialization._archive import replacing

__all__ = ["to_python"]

MODULE = "model.py"
RESERVED = ("Model", "KERNELS", "WEIGHTS", "QUIET", "forward", "use_weft")
EXTREMES = (min, max)  # of sizes
SYMBOLS: dict[Any, str] = {operator.mul: "*", operator.add: "+", operator.sub: "-", operator.floordiv: "//"}

HEAD = '''"""A model as functions of NumPy: no other package is needed.

    >>> model = Model()
    >>> {result} = model({inputs})

Inputs
{described}

The weights are in {weights}, which stays beside this file.
Where weft is installed, `use_weft` puts its kernels in the place of those below; if weft was imported before this
module, that is done already.
"""
'''
MODEL = '''
class Model:
    """The model with its weights.

    Attributes
    ----------
    weights : list of array
        In the order of WEIGHTS.
    """

    def __init__(self, path=None):
        """Read the weights from a file, by default {file!r} beside this module."""
        if path is None:
            path = {os}.path.join({os}.path.dirname({os}.path.abspath(__file__)), {file!r})
        with {numpy}.load(path, allow_pickle=False) as archive:
            self.weights = [archive[name] for name in WEIGHTS]

    def __call__({signature}):
{call}
'''
LAST = '''
KERNELS = {{{kernels}}}


def use_weft():
    """Run weft's kernels in place of those above."""
    from weft.export.numpy_runtime import fast_kernels

    globals().update(fast_kernels(KERNELS))


if "weft" in {sys}.modules:
    use_weft()
'''


def to_python(program: Any, folder: str | os.PathLike[str]) -> str:
    """Write a program as a Python module that imports NumPy alone; see `ExportedProgram.to_python`."""
    writer = ProgramWriter(program)
    weights = archive(writer.weights)
    file = f"weights-{hashlib.sha256(weights).hexdigest()[:12]}.npz"
    text = writer.text(file)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, MODULE)
    # The module names the weights that belong to it: whoever opens it at any time finds those.
    for name, content in ((os.path.join(folder, file), weights), (path, text.encode())):
        with replacing(name) as target:
            target.write(content)
    for name in os.listdir(folder):
        if name.startswith("weights-") and name.endswith(".npz") and name != file:
            os.unlink(os.path.join(folder, name))
    return path


def archive(arrays: dict[str, Any]) -> bytes:
    """Arrays as the content of an ``.npz`` file, the same for the same arrays."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, array in arrays.items():
            with file.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                numpy.lib.format.write_array(member, numpy.asarray(array), allow_pickle=False)
    return content.getvalue()


class ProgramWriter:
    """Writes the module of a program.

    Attributes
    ----------
    weights : dict
        The arrays that the program takes beside its inputs, by name.

    Raises
    ------
    UserError
        If ops of the program have no source that stands alone: all of them.
    """

    def __init__(self, program: Any) -> None:
        self.program = program
        self.sources = KernelSources(RESERVED)
        self.kernels = NumpyKernels(self.sources)
        self.numpy = self.sources.module("numpy")
        self.names: dict[Node, str] = {}
        self.variables = {"self", "weights", "outputs"}
        self.refused: list[str] = []
        self.containers = 0
        self.elements: dict[str, str] = {}
        self.where = ""  # the line of the user's program that was last named
        nodes = list(program.graph.nodes)
        for node in nodes:
            if not is_tuple(node.meta.get("val")):
                self.names[node] = self.variable(node)
        placeholders = [node for node in nodes if node.op == "placeholder"]
        pairs = list(zip(placeholders, program.graph_signature.input_specs, strict=True))
        self.inputs = [(node, spec) for node, spec in pairs if spec.kind is InputKind.USER_INPUT]
        self.state = [(node, str(spec.target)) for node, spec in pairs if spec.kind is not InputKind.USER_INPUT]
        changed = {each.target for each in program.graph_signature.output_specs}
        self.state = [(node, target) for node, target in self.state if node.users or target in changed]
        self.weights = {target: array_of(program.tensor(target), target) for _, target in self.state}
        self.last = {each: node for node in nodes for each in node.all_input_nodes}

    def variable(self, node: Node) -> str:
        """A node's name as that of a variable; kernels have the names of ops."""
        name = re.sub(r"\W", "_", node.name)
        if node.op != "placeholder" and not name.rpartition("_")[2].isdigit():
            name = f"{name}_0"
        while name in self.variables:
            name = f"{name}_"
        self.variables.add(name)
        return name

    # The program, line by line

    def text(self, weights_file: str) -> str:
        """The module's source."""
        body = list(self.lines())
        if self.refused:
            raise UserError("to_python: NumPy alone cannot run\n  " + "\n  ".join(self.refused))
        inputs = [self.names[node] for node, spec in self.inputs if not isinstance(spec.arg, ConstantArgument)]
        first = [
            f"WEIGHTS = {names_text(list(self.weights))}",
            f"QUIET = {self.sources.imported_name('contextvars', 'copy_context')}()  # where NumPy warns of nothing",
            f'QUIET.run({self.numpy}.seterr, all="ignore")',
            "",
            "",
            f"def forward({', '.join(['weights', *inputs])}):",
            '    """The program: a line for each op."""',
            *[f"    {line}" for line in body],
            "",
            self.model_text(weights_file, inputs),
        ]
        for placeholder in self.sources.wanted:
            self.sources.locals.setdefault(placeholder, set()).update(self.variables)
        kernels = "".join(f'\n    "{name}": {value!r},' for name, value in self.kernels.called.items())
        last = LAST.format(kernels=kernels + "\n" if kernels else "", sys=self.sources.module("sys"))
        return self.head(weights_file, inputs) + self.sources.finished("\n".join(first), last.strip() + "\n")

    def lines(self) -> Iterator[str]:
        """The lines of the program."""
        state = [self.names[node] for node, _ in self.state]
        if state:
            yield f"{', '.join(state)}{',' * (len(state) == 1)} = weights"
        for node in self.program.graph.nodes:
            if node.op == "call_function" and node.target is not operator.getitem:
                try:
                    yield from self.op_lines(node)
                except NotStandalone as error:
                    self.refused.append(
                        f"{getattr(node.target, 'name', node.name)} ({node.meta.get('line', '')}): {error}"
                    )
                ended = [self.names[each] for each in node.all_input_nodes if self.frees(each, node)]
                if ended:
                    yield f"del {', '.join(ended)}"
            elif node.op == "output":
                yield f"return {self.value(tuple(node.args[0]))}"

    def frees(self, node: Node, user: Node) -> bool:
        """Whether a node is an array that is needed no more after another node."""
        return self.last[node] is user and node.op == "call_function" and isinstance(node.meta.get("val"), Tensor)

    def op_lines(self, node: Node) -> Iterator[str]:
        """The line of a node; where an op has several results, it is that of the nodes that take them."""
        made = self.expression(node)
        where, self.where = self.where, node.meta.get("line", self.where)
        comment = f"  # {self.where}" if where != self.where else ""
        known: Any = node.meta.get("val")
        if not is_tuple(known):
            yield f"{self.names[node]} = {self.as_array(made, known)}{comment}"
            return
        parts = {user.args[1]: user for user in node.users}
        if len(parts) == 1:
            ((index, part),) = parts.items()
            yield f"{self.names[part]} = {self.as_array(f'{made}[{index}]', part.meta['val'])}{comment}"
            return
        taken = [self.names[parts[index]] if index in parts else "_" for index in range(len(known))]
        yield f"{', '.join(taken)} = {made}{comment}"
        for part in parts.values():
            if not part.meta["val"].shape:
                yield f"{self.names[part]} = {self.as_array(self.names[part], part.meta['val'])}"

    def as_array(self, text: str, known: Any) -> str:
        """An expression that is an array, where NumPy's functions would give a number: without dimensions."""
        return f"{self.numpy}.asarray({text})" if isinstance(known, Tensor) and not known.shape else text

    def expression(self, node: Node) -> str:
        if isinstance(node.target, OpFunction):
            known = node.meta["val"]
            args = {name: self.argument(value) for name, value in node.kwargs.items()}
            return self.kernels.call(node.target, args, known.dtype if isinstance(known, Tensor) else None)
        if node.target is sym_size:
            return f"{self.value(node.args[0])}.shape[{node.args[1]}]"
        left, right = (self.value(each) for each in node.args)
        if node.target in EXTREMES:
            return f"{node.target.__name__}({left}, {right})"
        return f"{left} {SYMBOLS[node.target]} {right}"

    def argument(self, value: Any) -> Any:
        """An argument of an op, with nodes as arrays or numbers."""
        if isinstance(value, Node):
            known = value.meta.get("val")
            if isinstance(known, Tensor):
                return Array(self.names[value], known.dtype, len(known.shape))
            return Text(self.names[value])
        if isinstance(value, slice):
            return slice(*(self.argument(each) for each in (value.start, value.stop, value.step)))
        if isinstance(value, (tuple, list)):
            found = [self.argument(each) for each in value]
            return found if isinstance(value, list) else tuple(found)
        return value

    def value(self, value: Any) -> str:
        return literal(self.argument(value))

    # What it takes and gives

    def described(self) -> list[str]:
        """A line for each input."""
        lines = []
        for node, spec in self.inputs:
            if not isinstance(spec.arg, ConstantArgument):
                known = node.meta["val"]
                shape = ", ".join(map(str, known.shape)) + "," * (len(known.shape) == 1)
                lines.append(f"    {self.names[node]} : {known.dtype.numpy.name}, shape ({shape})")
        return lines

    def head(self, weights_file: str, inputs: list[str]) -> str:
        described = "\n".join(self.described()) or "    none"
        given = ", ".join(inputs)
        return HEAD.format(result="output", inputs=given, described=described, weights=weights_file)

    def model_text(self, weights_file: str, inputs: list[str]) -> str:
        """The class that holds the weights."""
        args, kwargs = self.program.call_spec.in_spec.children_specs
        leaves = iter(self.inputs)
        for key in keys_of(kwargs):
            if not str(key).isidentifier():
                raise UserError(f"to_python: {key!r} is no name of an argument")
        positional = [self.parameter(spec, leaves, "") for spec in args.children_specs]
        named = [
            self.parameter(spec, leaves, key) for key, spec in zip(keys_of(kwargs), kwargs.children_specs, strict=True)
        ]
        signature = ["self", *[each for each, _ in positional]]
        signature += ["*", *[each for each, _ in named]] if named else []
        lines = [line for _, found in (*positional, *named) for line in found]
        lines += [*self.size_checks(), *self.call_lines(inputs)]
        text = MODEL.format(
            file=weights_file,
            os=self.sources.module("os"),
            numpy=self.numpy,
            signature=", ".join(signature),
            call="\n".join(f"        {line}" for line in lines),
        )
        return text.rstrip()

    def parameter(self, spec: Any, leaves: Iterator[Any], name: str) -> tuple[str, list[str]]:
        """A parameter of the model's call, and the lines that check what is in it."""
        if spec.is_leaf():
            node, _ = leaf = next(leaves)
            name = name or self.names[node]
            return name, self.check(leaf, name)
        lines: list[str] = []
        name = name or self.container_name()
        self.unpack(spec, leaves, name, lines)
        return name, lines

    def container_name(self) -> str:
        """The name of a parameter that holds several inputs."""
        self.containers += 1
        return f"inputs_{self.containers}"

    def unpack(self, spec: Any, leaves: Iterator[Any], text: str, lines: list[str]) -> None:
        if spec.is_leaf():
            lines += self.check(next(leaves), text)
            return
        keys = keys_of(spec)
        for key, child in zip(keys, spec.children_specs, strict=True):
            self.unpack(child, leaves, f"{text}[{key!r}]", lines)

    def check(self, leaf: tuple[Node, Any], text: str) -> list[str]:
        """The lines that make an input an array, and look at its dtype and shape; where all is well at little cost."""
        node, spec = leaf
        if isinstance(spec.arg, ConstantArgument):
            return constant_check(spec.arg, text)
        known, name = node.meta["val"], self.names[node]
        shape = tuple([each if type(each) is int else None for each in known.shape])
        checked, element = self.sources.function(_numpy_functions.checked), self.element(known.dtype)
        sizes = [f" or {text}.shape[{dim}] != {size}" for dim, size in enumerate(shape) if size is not None]
        if sizes and None not in shape:
            sizes = [f" or {text}.shape != {shape!r}"]
        else:
            sizes.insert(0, f" or {text}.ndim != {len(shape)}")
        lines = [f"if type({text}) is not {self.numpy}.ndarray or {text}.dtype is not {element}{''.join(sizes)}:"]
        lines.append(f"    {name} = {checked}({text!r}, {text}, {element}, {shape!r})")
        return lines if name == text else [*lines, "else:", f"    {name} = {text}"]

    def size_checks(self) -> list[str]:
        """The lines that look at sizes which may change, where not all may be."""
        program, places = self.program, self.size_places()
        guarded = {name for guard in program.guards for name in guard.symbols}
        bounded = {
            name: limits
            for name, limits in program.range_constraints.items()
            if name in places and (limits[0] > 0 or limits[1] < LARGEST)
        }
        shared = {name for name, found in places.items() if len(found) > 1 or found[0][1].terms[(name,)] != 1}
        variables = {name: f"size_of_{name}" for name in places if name in {*bounded, *guarded, *shared}}
        lines = [f"{variable} = {symbol_text(*places[name][0])}" for name, variable in variables.items()]
        for name in [each for each in variables if each in shared]:
            lines += [line for place in places[name] for line in self.size_check(*place, name, variables[name])]
        for name, (least, most) in bounded.items():
            lines.append(f"if not {least} <= {variables[name]} <= {most}:")
            lines.append(f'    raise ValueError(f"{name} must be {least} to {most}, got {{{variables[name]}}}")')
        for guard in program.guards:
            given = ", ".join(f"{name} = {{{variables[name]}}}" for name in dict.fromkeys(guard.symbols))
            lines.append(f"if not {guard.expression(variables, self.sources.module('math'))}:")
            lines.append(f'    raise ValueError(f"the model was exported for {guard}; got {given}")')
        return lines

    def size_places(self) -> dict[str, list[tuple[str, Size]]]:
        """From symbols to the expressions of the inputs' sizes that depend on them, and how."""
        found: dict[str, list[tuple[str, Size]]] = {}
        for node, _ in self.inputs:
            known = node.meta["val"]
            for dim, size in enumerate(known.shape if isinstance(known, Tensor) else ()):
                if isinstance(size, Size):
                    found.setdefault(size.symbols[0], []).append((f"{self.names[node]}.shape[{dim}]", size))
        return found

    @staticmethod
    def size_check(text: str, size: Size, name: str, variable: str) -> list[str]:
        """The lines that compare a size with what a symbol says that it is."""
        factor, plus = size.terms[(name,)], size.terms.get((), 0)
        wanted = f"{factor} * {variable}" if factor != 1 else variable
        wanted = f"{wanted} + {plus}" if plus else wanted
        message = f"{text} must be {size} with {name} = {{{variable}}}, got {{{text}}}"
        return [f"if {text} != {wanted}:", f'    raise ValueError(f"{message}")']

    def element(self, dtype: Any) -> str:
        """The name of a dtype of NumPy's."""
        name = dtype_text(dtype)[1:-1]
        if name not in self.elements:
            self.elements[name] = self.sources.unique(name.upper())
            self.sources.parts.append(f"{self.elements[name]} = {self.numpy}.dtype({name!r})")
        return self.elements[name]

    def call_lines(self, inputs: list[str]) -> list[str]:
        """The lines that run the program, keep what it writes, and give its results their structure."""
        specs = self.program.graph_signature.output_specs
        lines = [f"outputs = QUIET.copy().run(forward, {', '.join(['self.weights', *inputs])})"]
        places = {target: place for place, (_, target) in enumerate(self.state)}
        by_name = {node.name: self.names[node] for node, _ in self.inputs}
        written = [by_name[spec.target] for spec in specs if spec.kind is OutputKind.USER_INPUT_MUTATION]
        if written:  # results in their memory have the elements of before
            share, listed = f"{self.numpy}.may_share_memory(each, other)", f"({', '.join(written)},)"
            kept = f"each.copy() if any({share} for other in {listed}) else each"
            lines.append(f"outputs = [{kept} for each in outputs]")
        for number, spec in enumerate(specs):
            if spec.kind is OutputKind.BUFFER_MUTATION:
                lines.append(f"self.weights[{places[spec.target]}] = {self.numpy}.array(outputs[{number}])")
            elif spec.kind is OutputKind.USER_INPUT_MUTATION:
                lines.append(f"{by_name[spec.target]}[...] = outputs[{number}]")
        given = iter([f"outputs[{n}]" for n, spec in enumerate(specs) if spec.kind is OutputKind.USER_OUTPUT])
        return [*lines, f"return {structure(self.program.call_spec.out_spec, lambda: next(given))}"]


def symbol_text(text: str, size: Size) -> str:
    """The symbol of which a size is a multiple and a constant."""
    plus, factor = size.terms.get((), 0), size.terms[(size.symbols[0],)]
    text = f"({text} - {plus})" if plus else text
    return f"{text} // {factor}" if factor != 1 else text


def constant_check(argument: ConstantArgument, text: str) -> list[str]:
    """The lines that refuse another value of an argument that is no tensor, which the program has as it was."""
    value = argument.value
    if not isinstance(value, (bool, int, float, str, type(None))) or value != value:
        return []
    message = f"{argument.name} was exported as {value!r}, got "
    return [f"if {text} != {literal(value)}:", f"    raise ValueError({message!r} + repr({text}))"]


def is_tuple(known: Any) -> bool:
    """Whether a node's value is that of an op with several results."""
    return isinstance(known, tuple) and not isinstance(known, Tensor)


def structure(spec: Any, leaf: Callable[[], str]) -> str:
    """The expression of nested containers. Those that NumPy's users do not have become tuples and dicts."""
    if spec.is_leaf():
        return leaf()
    parts = [structure(each, leaf) for each in spec.children_specs]
    keys = keys_of(spec)
    if keys and isinstance(keys[0], str):
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(keys, parts)) + "}"
    if spec.type is list:
        return f"[{', '.join(parts)}]"
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def keys_of(spec: Any) -> list[Any]:
    """By what the parts of a container are found in it: the keys of a dict, or numbers."""
    if (
        isinstance(spec.context, (list, tuple))
        and len(spec.context) == spec.num_children
        and issubclass(spec.type, dict)
    ):
        return list(spec.context)
    return list(range(spec.num_children))


def array_of(tensor: Any, name: str) -> Any:
    """A weight as NumPy's array."""
    try:
        dtype_text(tensor.dtype)
    except NotStandalone as error:
        raise UserError(f"to_python: {name}: {error}") from None
    return tensor.detach().contiguous().numpy()


def names_text(names: list[str]) -> str:
    return "(" + "".join(f"\n    {name!r}," for name in names) + ("\n)" if names else ")")
