"""`ExportedProgram`: a graph of ops, its state, and what it takes and gives."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import weft
from weft.export._graph import Tensor
from weft.export._size_guards import Guard
from weft.export._sizes import Size
from weft.export.graph_signature import ConstantArgument, ExportGraphSignature, InputKind, OutputKind, OutputSpec
from weft.fx import Graph, GraphModule
from weft.nn import Module
from weft.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["CallSpec", "ExportedProgram"]


class CallSpec(NamedTuple):
    """The trees of the arguments, as ``(args, kwargs)``, and of the result."""

    in_spec: Any
    out_spec: Any


class ExportedProgram:
    """What `export` makes of a module.

    Attributes
    ----------
    graph : Graph
        Its placeholders are parameters, buffers, other tensors and the user's inputs; each node between is an op with
        its named arguments, or computes a size. ``node.meta["val"]`` has a value's shape and dtype, ``meta["line"]``
        where the program did it.
    graph_module : GraphModule
    graph_signature : ExportGraphSignature
    state_dict : dict
        Parameters and persistent buffers, by name.
    constants : dict
        Other tensors.
    range_constraints : dict
        From a symbol to the smallest and largest size that it may be.
    call_spec : CallSpec
    example_inputs : tuple
        The arguments and keyword arguments that were recorded.
    guards : list of Guard
        What else the program compared sizes with: ``str(guard)`` is ``"height % 2 == 0"``, ``guard.line`` where.
    comparisons : list of Guard
        All that it compared sizes with, those too that `range_constraints` say.
    """

    def __init__(
        self,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        constants: dict[str, Any],
        range_constraints: dict[str, tuple[int, int]],
        call_spec: CallSpec,
        example_inputs: Any,
        guards: Sequence[Guard] = (),
        comparisons: Sequence[Guard] = (),
    ) -> None:
        self.graph_module = GraphModule({}, graph)
        self.graph_signature = graph_signature
        self.state_dict = state_dict
        self.constants = constants
        self.range_constraints = range_constraints
        self.call_spec = call_spec
        self.example_inputs = example_inputs
        self.guards = list(guards)
        self.comparisons = list(comparisons)

    @property
    def graph(self) -> Graph:
        return self.graph_module.graph

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def __str__(self) -> str:
        code = self.graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        return f"ExportedProgram:\n    {code}\nGraph signature: {self.graph_signature}\n"

    __repr__ = __str__

    def tensor(self, target: str) -> Any:
        """The parameter, buffer or other tensor of a name."""
        return self.state_dict[target] if target in self.state_dict else self.constants[target]

    def parameters(self) -> Any:
        """The parameters."""
        return (each for _, each in self.named_parameters())

    def named_parameters(self) -> Any:
        """The parameters, with their names."""
        return ((name, self.state_dict[name]) for name in self.graph_signature.parameters)

    def buffers(self) -> Any:
        """The buffers."""
        return (each for _, each in self.named_buffers())

    def named_buffers(self) -> Any:
        """The buffers, with their names."""
        return ((name, self.tensor(name)) for name in self.graph_signature.buffers)

    def __reduce__(self) -> Any:
        from weft.export._archive import from_bytes, save

        file = io.BytesIO()
        save(self, file)
        return from_bytes, (file.getvalue(),)

    def to_python(self, folder: str | os.PathLike[str]) -> str:
        """Write the program as Python that needs NumPy alone: where weft is not installed, or takes too long to import.

        There are two files in the folder then: ``model.py`` with a line for each op and the sources of their kernels,
        and the weights. A new call writes others, each whole or not at all.

        Parameters
        ----------
        folder : path
            Made where it is not there.

        Returns
        -------
        str
            The path of ``model.py``, whose ``Model()`` is called with NumPy's arrays as the module is with tensors.

        Raises
        ------
        UserError
            If ops have no kernel that NumPy alone can run (random draws, what SciPy computes), or weights are of a
            dtype that it lacks: all of them, with their lines.

        Examples
        --------
        >>> program = weft.export.export(weft.nn.Linear(3, 2), (weft.ones(4, 3),))
        >>> print(open(program.to_python(folder)).read())  # doctest: +SKIP
        """
        from weft.export._to_python import to_python

        return to_python(self, folder)

    def run_decompositions(self, decomp_table: Mapping[Any, Callable[..., Any]] | None = None) -> ExportedProgram:
        """Another program that computes some ops by others.

        Parameters
        ----------
        decomp_table : dict, optional
            From ops, by their names in the graph or by functions that declare them, to functions that take their
            named arguments; default: `weft.export.default_decompositions`.

        Returns
        -------
        ExportedProgram

        Raises
        ------
        UserError
            If a key is no op, or a function does what a graph cannot.

        Examples
        --------
        >>> program = weft.export.export(weft.nn.Linear(3, 2), (weft.ones(4, 3),))
        >>> program = program.run_decompositions({"nn::linear": lambda input, weight, bias: input @ weight.t() + bias})
        >>> [node.name for node in program.graph.nodes if node.op == "call_function"]
        ['transpose', 'matmul', 'add']
        """
        from weft.export._decompositions import decomposed

        return decomposed(self, decomp_table)

    def module(self, check_guards: bool = True) -> Module:
        """A module that does what the program does, with its parameters and buffers.

        Parameters
        ----------
        check_guards : bool
            Compare the shapes of its inputs with those that the program takes.

        Returns
        -------
        Module
        """
        return ProgramModule(self, check_guards)


class ProgramModule(Module):
    """Runs an exported program; made by `ExportedProgram.module`.

    Parameters
    ----------
    program : ExportedProgram
    check_guards : bool
        Compare the shapes of inputs with those that the program takes.
    run : callable, optional
        Takes the inputs of the graph, and gives its outputs; default: the program's `GraphModule`.
    """

    def __init__(self, program: ExportedProgram, check_guards: bool, run: Callable[..., Any] | None = None) -> None:
        super().__init__()
        self.__dict__["_run"] = run or program.graph_module
        signature = program.graph_signature
        for spec in signature.input_specs:
            if spec.kind is not InputKind.USER_INPUT:
                hold(self, str(spec.target), program.tensor(str(spec.target)), spec)
        self._program = program
        self._check_guards = check_guards

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph."""
        program, signature = self._program, self._program.graph_signature
        leaves, spec = tree_flatten((args, kwargs))
        if spec != program.call_spec.in_spec:
            raise TypeError(
                f"forward: the arguments are {spec}; the program was exported with {program.call_spec.in_spec}"
            )
        given = iter(leaves)
        values = [
            next(given) if each.kind is InputKind.USER_INPUT else held(self, str(each.target))
            for each in signature.input_specs
        ]
        if self._check_guards:
            check_inputs(program, values)
        results = self._run(*values)
        named = {each.arg.name: value for each, value in zip(signature.input_specs, values)}
        outputs: list[Any] = []
        writes: list[tuple[Any, Any]] = []
        for each, value in zip(signature.output_specs, results):
            if each.kind is OutputKind.USER_OUTPUT:
                outputs.append(value)
            else:
                writes.append((self._written(each, named), value))
        targets = [target for target, _ in writes]
        outputs = [own_memory(value, targets) for value in outputs]
        values = [own_memory(value, targets) for _, value in writes]
        with weft.no_grad():
            for target, value in zip(targets, values):
                target.copy_(value)
        return tree_unflatten(outputs, program.call_spec.out_spec)

    def _written(self, spec: OutputSpec, inputs: Mapping[str, Any]) -> Any:
        """The buffer or input that an output of the graph is the new value of."""
        return held(self, str(spec.target)) if spec.kind is OutputKind.BUFFER_MUTATION else inputs[str(spec.target)]


def own_memory(value: Any, written: Sequence[Any]) -> Any:
    """A result as it is, or a copy where it lies in what is written to next: its elements are those of before."""
    shares = isinstance(value, weft.Tensor) and any(
        each.untyped_storage().data_ptr() == value.untyped_storage().data_ptr() for each in written
    )
    return value.clone() if shares else value


def hold(module: Module, name: str, tensor: Any, spec: Any) -> None:
    """Give a module a parameter or buffer under a dotted name."""
    *path, last = name.split(".")
    for each in path:
        if each not in module._modules:
            module.add_module(each, Module())
        module = module.get_submodule(each)
    if spec.kind is InputKind.PARAMETER:
        module.register_parameter(last, tensor)
    else:
        module.register_buffer(last, tensor, persistent=bool(spec.persistent))


def held(module: Module, name: str) -> Any:
    *path, last = name.split(".")
    for each in path:
        module = module.get_submodule(each)
    return getattr(module, last)


def check_inputs(program: ExportedProgram, values: list[Any]) -> None:
    """The inputs have the shapes that the program takes.

    Raises
    ------
    RuntimeError
        If one has not, with its name and dimension.
    """
    symbols: dict[str, int] = {}
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    for spec, node, value in zip(program.graph_signature.input_specs, placeholders, values):
        if spec.kind is not InputKind.USER_INPUT:
            continue
        if isinstance(spec.arg, ConstantArgument):
            if value != spec.arg.value:
                raise RuntimeError(f"forward: {node.name} was exported as {spec.arg.value!r}, got {value!r}")
            continue
        check_tensor(program, node.name, node.meta["val"], value, symbols)
    for guard in program.guards:
        if not guard.holds(symbols):
            given = ", ".join(f"{name} = {symbols[name]}" for name in dict.fromkeys(guard.symbols))
            raise RuntimeError(f"forward: the program was exported for {guard}, as {guard.line} compares; got {given}")


def check_tensor(program: ExportedProgram, name: str, wanted: Tensor, value: Any, symbols: dict[str, int]) -> None:
    if not isinstance(value, weft.Tensor):
        raise RuntimeError(f"forward: {name} must be a Tensor, got {type(value).__name__}")
    if value.dtype != wanted.dtype:
        raise RuntimeError(f"forward: {name} must have dtype {wanted.dtype}, got {value.dtype}")
    if value.ndim != len(wanted.shape):
        raise RuntimeError(f"forward: {name} must have {len(wanted.shape)} dimensions, got {tuple(value.shape)}")
    for dim, (size, known) in enumerate(zip(value.shape, wanted.shape)):
        if not isinstance(known, Size):
            if size != known:
                raise RuntimeError(f"forward: {name}.shape[{dim}] must be {known}, got {size}")
            continue
        check_size(program, f"{name}.shape[{dim}]", known, size, symbols)


def check_size(program: ExportedProgram, what: str, known: Size, size: int, symbols: dict[str, int]) -> None:
    (symbol,) = known.symbols
    number, rest = divmod(size - known.terms.get((), 0), known.terms[(symbol,)])
    least, most = program.range_constraints[symbol]
    if rest or not least <= number <= most:
        raise RuntimeError(f"forward: {what} must be {known} with {symbol} in [{least}, {most}], got {size}")
    if symbols.setdefault(symbol, number) != number:
        raise RuntimeError(f"forward: {what} is {size}, but {symbol} is {symbols[symbol]} elsewhere")
