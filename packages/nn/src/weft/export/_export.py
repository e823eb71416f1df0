"""`export`: a module and example inputs become an `ExportedProgram`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy

import weft
from weft.export._automatic import settled
from weft.export._graph import GraphMaker, check_same_calls
from weft.export._program import CallSpec, ExportedProgram
from weft.export._recording import Conversion, Recording, Slot, record
from weft.export._size_guards import Formula, Guard, Leaf, came_out_both_ways, formula_of_size, guards_of, narrowed
from weft.export._size_probes import Prober
from weft.export._sizes import Solver, TooFewSizes
from weft.export._trial_sizes import FEW, MANY, selected_rows, trials
from weft.export.dynamic_shapes import Dim, children_of, dims_of
from weft.export.errors import UserError
from weft.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from weft.nn import Module
from weft.nn.parameter import is_lazy
from weft.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["export"]


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Record what a module does, as a graph of ops on tensors alone.

    Parameters
    ----------
    mod : Module
        In the mode (`eval`, `train`) that the program shall have.
    args, kwargs
        Example inputs: tensors, and containers of them. All that is no tensor is the same in each call.
    dynamic_shapes : dict, tuple or list, optional
        Which sizes may change: by the argument's name or place, for each a dict from dimensions to `Dim`.
        The program is recorded several times with other sizes; numbers that differ then depend on them. Of dimensions
        marked ``Dim.AUTO`` those change that the program lets change, which is found by trying.
    strict, preserve_module_call_signature, prefer_deferred_runtime_asserts_over_guards
        Taken, and without effect.

    Returns
    -------
    ExportedProgram

    Raises
    ------
    UserError
        If the program does what a graph cannot: it reads a value of a tensor, depends on a size otherwise than by sums
        and products, or takes a tensor that no op made. The message has the op and the line.

    Examples
    --------
    >>> program = weft.export.export(weft.nn.Linear(3, 2), (weft.ones(4, 3),))
    >>> [node.name for node in program.graph.nodes]
    ['p_weight', 'p_bias', 'input_1', 'linear', 'output']
    """
    check_arguments(mod, args)
    kwargs = dict(kwargs or {})
    named = named_arguments(mod, args, kwargs)
    dims = dims_of(named, dynamic_shapes)
    if any(dim.is_automatic for each in dims for dim in each.values()):
        leaves, _ = tree_flatten((args, kwargs))
        return settled(leaves, dims, lambda chosen: program_of(mod, args, kwargs, named, chosen))
    return program_of(mod, args, kwargs, named, dims)


def check_arguments(mod: Any, args: Any) -> None:
    """What is exported is a module, and its arguments a tuple."""
    if not isinstance(mod, Module):
        raise ValueError(f"export: Expected `mod` to be an instance of `weft.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(f"export: Expecting `args` to be a tuple of example positional inputs, got {type(args)}")


def program_of(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    named: Mapping[str, Any],
    dims: Sequence[Mapping[int, Dim]],
) -> ExportedProgram:
    """The program of a module, with the dimensions that may change of each leaf of its arguments."""
    leaves, in_spec = tree_flatten((args, kwargs))
    names = names_of(named)
    if any(is_lazy(each) for each in (*mod.parameters(), *mod.buffers())):
        with weft.no_grad():
            mod(*args, **kwargs)  # its first call makes them, which is no part of the program
    for count in (FEW, MANY):
        recordings, symbols = recorded(mod, leaves, in_spec, dims, count)
        if count == FEW and came_out_both_ways([each.comparisons for each in recordings]):
            continue  # numbers of two branches, which few sizes might take for a quotient of sizes
        try:
            return Exporter(mod, leaves, names, dims, recordings, symbols).program(in_spec, (args, kwargs))
        except TooFewSizes as error:
            reason = str(error)
    raise UserError(
        f"export: sizes of {type(mod).__name__} depend on those of its inputs in ways that are not seen: {reason}"
    )


def named_arguments(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by the names of the parameters of ``forward``, in the order in which they are flattened."""
    signature = inspect.signature(mod.forward)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise UserError(f"export: {type(mod).__name__}.forward{signature}: {error}") from None
    named: dict[str, Any] = {}
    positional = [
        each
        for each in signature.parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD, each.VAR_POSITIONAL)
    ]
    for place, value in enumerate(args):
        parameter = positional[min(place, len(positional) - 1)]
        if parameter.kind is parameter.VAR_POSITIONAL:
            named[parameter.name] = (*named.get(parameter.name, ()), value)
        else:
            named[parameter.name] = value
    return {**named, **kwargs}


def names_of(named: Mapping[str, Any]) -> list[str]:
    """A name for each leaf of the arguments: ``x``, and of what is in containers ``x_0``, ``x_key``."""
    found: list[str] = []

    def collect(path: str, value: Any) -> None:
        if tree_flatten(value)[1].is_leaf():
            found.append(path)
            return
        for key, each in children_of(value):
            collect(re.sub("[^0-9a-zA-Z_]", "_", f"{path}_{key}"), each)

    for name, value in named.items():
        collect(name, value)
    return found


# Recordings


def recorded(
    mod: Module, leaves: Sequence[Any], in_spec: Any, dims: Sequence[Mapping[int, Dim]], count: int
) -> tuple[list[Recording], dict[str, tuple[int, ...]]]:
    """The recordings of a module, and what each symbol was in them."""
    symbols = symbols_of(leaves, dims)
    conversions: list[Conversion] = []
    first = recording_of(mod, leaves, in_spec, conversions=conversions)
    if not symbols and not first.selections:  # what comes from a clock, a counter or chance is another the second time
        recordings = [first, recording_of(mod, leaves, in_spec, conversions=conversions)]
        check_same_calls(recordings)
        return recordings, {}
    sizes = {name: size for name, (_, size) in symbols.items()}
    guards = guards_of([first.comparisons], lambda leaf: formula_of_input(leaf, first, leaves, dims))
    symbols = {name: (within(dim, guards, [size]), size) for name, (dim, size) in symbols.items()}
    failures: list[Exception] = []
    for values in trials(symbols, count):
        try:
            recordings = [
                first
                if all(values[name][at] == size for name, size in sizes.items()) and (sizes or not at)
                else recording_of(
                    mod,
                    [resized(leaf, dim, values, at) for leaf, dim in zip(leaves, dims)],
                    in_spec,
                    partial(selected_rows, at=1 + at),
                    conversions,
                )
                for at in range(count + 1)
            ]
            check_same_calls(recordings)
        except Exception as error:
            failures.append(error)
            continue
        ranges = {name: dim for name, (dim, _) in symbols.items()}
        return probed(mod, leaves, in_spec, dims, recordings, values, ranges, conversions)
    failure = failures[0]
    if isinstance(failure, UserError):
        raise failure
    raise UserError(
        f"export: with inputs of other sizes {type(mod).__name__} fails: {type(failure).__name__}: {failure}. Say with "
        "Dim(name, min=..., max=...) which it takes"
    ) from failure


def probed(
    mod: Module,
    leaves: Sequence[Any],
    in_spec: Any,
    dims: Sequence[Mapping[int, Dim]],
    recordings: Sequence[Recording],
    values: Mapping[str, Sequence[int]],
    ranges: Mapping[str, Dim],
    conversions: list[Conversion],
) -> tuple[list[Recording], dict[str, tuple[int, ...]]]:
    """Recordings and what symbols were in them, with those at sizes that the program's numbers suggest."""

    def recording(chosen: dict[str, int]) -> Recording:
        sizes = {name: (size,) for name, size in chosen.items()}
        resized_leaves = [resized(leaf, each, sizes, 0) for leaf, each in zip(leaves, dims)]
        return recording_of(mod, resized_leaves, in_spec, lambda number: chosen[f"selected {number}"], conversions)

    counts = {
        f"selected {number}": tuple(each.kinds[each.selections[number].number].shape[0] for each in recordings)
        for number in range(len(recordings[0].selections))
    }
    ranges = {**ranges, **{name: Dim("rows", min=0) for name in counts}}
    prober = Prober(recordings, {**values, **counts}, ranges, recording)
    prober.run()
    return prober.recordings, {name: tuple(prober.values[name]) for name in values}


def formula_of_input(
    leaf: Leaf, recording: Recording, leaves: Sequence[Any], dims: Sequence[Mapping[int, Dim]]
) -> Formula:
    """The formula of the size of an input's dimension; None of other values."""
    tensors = [(each, chosen) for each, chosen in zip(leaves, dims) if isinstance(each, weft.Tensor)]
    for slot, (tensor, chosen) in zip(recording.inputs, tensors):
        if slot.number == leaf.slot:
            dim = chosen.get(leaf.dim)
            size = tensor.shape[leaf.dim]
            return formula_of_size(size if dim is None else dim.size(size))
    return None


def within(dim: Dim, guards: Sequence[Guard], seen: Sequence[int]) -> Dim:
    """A dimension with the sizes for which comparisons come out as they did with those that were seen.

    Raises
    ------
    UserError
        If that leaves out sizes that the user has asked for, or all but one.
    """
    for guard in guards:
        found = narrowed(guard, seen, dim.min, dim.max) if set(guard.symbols) == {dim.name} else None
        if found is None or found == (dim.min, dim.max):
            continue
        least, most = found
        if least == most:
            raise UserError(
                f"export: {dim.name} cannot change: {guard} at {guard.line}, where the program may do something else "
                "with other sizes. Leave it out of dynamic_shapes, or change the line"
            )
        if (dim.has_min and least > dim.min) or (dim.has_max and most < dim.max):
            raise UserError(
                f"export: {dim.name} may be {dim.min} to {dim.max}, but {guard} at {guard.line}, where the program "
                f"may do something else with other sizes. Say Dim({dim.name!r}, min={least}, max={most}), or change "
                "the line"
            )
        dim = dim.between(least, most)
    return dim


def symbols_of(leaves: Sequence[Any], dims: Sequence[Mapping[int, Dim]]) -> dict[str, tuple[Dim, int]]:
    """The symbols of some dimensions, each with what it is in the example."""
    found: dict[str, tuple[Dim, int]] = {}
    for leaf, each in zip(leaves, dims):
        for place, dim in each.items():
            size, rest = divmod(leaf.shape[place] - dim.plus, dim.factor)
            if dim.min == dim.max == size and not rest:
                continue  # one size is a constant
            if rest:
                raise UserError(f"export: dimension {place} is {leaf.shape[place]}, which is no {dim.size(0)}")
            if not dim.min <= size <= dim.max:
                raise UserError(f"export: {dim.name} is {size} in the example, not in [{dim.min}, {dim.max}]")
            if found.setdefault(dim.name, (dim, size))[1] != size:
                raise UserError(f"export: {dim.name} is {found[dim.name][1]} in one place and {size} in another")
    return found


def resized(leaf: Any, dims: Mapping[int, Dim], values: Mapping[str, Sequence[int]], at: int) -> Any:
    """An input with other sizes, made of rows of the example."""
    for place, dim in dims.items():
        if dim.name not in values:
            continue
        size = dim.factor * values[dim.name][at] + dim.plus
        if leaf.shape[place] == 0:
            leaf = leaf.new_zeros([size if each == place else n for each, n in enumerate(leaf.shape)])
        index = numpy.arange(size) % leaf.shape[place]
        leaf = leaf.index_select(place, weft.from_numpy(index))
    return leaf


def recording_of(
    mod: Module,
    leaves: Sequence[Any],
    in_spec: Any,
    rows_of: Callable[[int], int] = selected_rows,
    conversions: list[Conversion] | None = None,
) -> Recording:
    """Record one call of a module, and leave its state as it was."""
    copies = [each.detach().clone() if isinstance(each, weft.Tensor) else each for each in leaves]
    args, kwargs = tree_unflatten(copies, in_spec)
    with weft.random.fork_rng():
        inputs = [each for each in copies if isinstance(each, weft.Tensor)]
        return record(lambda: mod(*args, **kwargs), inputs, mod, rows_of, conversions)


# The program


class Exporter:
    """Makes a program of recordings."""

    def __init__(
        self,
        mod: Module,
        leaves: Sequence[Any],
        names: Sequence[str],
        dims: Sequence[Mapping[int, Dim]],
        recordings: Sequence[Recording],
        symbols: Mapping[str, Sequence[int]],
    ) -> None:
        self.mod, self.leaves, self.names, self.dims = mod, leaves, names, dims
        self.recordings, self.first = recordings, recordings[0]
        self.ranges = ranges_of(dims)
        self.maker = GraphMaker(recordings, Solver(symbols))
        self.signature = ExportGraphSignature()
        self.constants: dict[str, Any] = {}
        self.targets: dict[int, tuple[OutputKind, str]] = {}  # where writes to a value go, by its slot
        self.guards: list[Guard] = []
        self.comparisons: list[Guard] = []

    def program(self, in_spec: Any, example: Any) -> ExportedProgram:
        """The whole."""
        self.add_state()
        self.add_inputs()
        for calls in zip(*(each.calls for each in self.recordings)):
            self.maker.call(calls)
        for name, tensor in self.maker.constants.items():
            self.signature.input_specs.append(
                InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(name), name.removeprefix("c_"))
            )
            self.constants[name.removeprefix("c_")] = tensor.detach().clone()
        out_spec = self.add_outputs()
        self.add_guards()
        self.signature.input_specs.sort(key=lambda each: each.kind is InputKind.USER_INPUT)
        self.maker.graph.eliminate_dead_code()
        return ExportedProgram(
            graph=self.maker.graph,
            graph_signature=self.signature,
            state_dict=dict(self.mod.state_dict(keep_vars=True)),
            constants=self.constants,
            range_constraints={name: (dim.min, dim.max) for name, dim in self.ranges.items()},
            call_spec=CallSpec(in_spec, out_spec),
            example_inputs=example,
            guards=self.guards,
            comparisons=self.comparisons,
        )

    def add_guards(self) -> None:
        """What the program compared sizes with: ranges of symbols, and guards where it is no range."""
        seen = self.maker.solver.inputs
        guards = self.comparisons = guards_of(
            [each.comparisons for each in self.recordings], self.maker.formula, self.maker.own_formula
        )
        for guard in guards:
            self.maker.check_guard(guard)
            name, *others = dict.fromkeys(guard.symbols)
            dim = self.ranges[name]
            if others or narrowed(guard, seen[name], dim.min, dim.max) is None:
                self.guards.append(guard)
        self.ranges = {
            name: within(dim, guards, seen[name]) if name in seen else dim for name, dim in self.ranges.items()
        }

    def add_state(self) -> None:
        """Placeholders for parameters, buffers and other tensors that were there before."""
        by_array = {id(tensor._array): slot for slot, tensor in self.first.externals.items()}
        seen: set[int] = set()
        state = [
            *((InputKind.PARAMETER, *each) for each in self.mod.named_parameters()),
            *((InputKind.BUFFER, *each) for each in self.mod.named_buffers()),
        ]
        for kind, name, tensor in state:
            slot = by_array.get(id(tensor._array))
            self.add_placeholder(kind, name, tensor, slot)
            if slot is not None:
                seen.add(slot)
        for slot, tensor in self.first.externals.items():
            if slot not in seen:
                self.add_constant(slot, tensor)

    def add_placeholder(self, kind: InputKind, name: str, tensor: Any, slot: int | None) -> None:
        letter = {InputKind.PARAMETER: "p", InputKind.BUFFER: "b"}.get(kind, "c")
        wanted = f"{letter}_{re.sub('[^0-9a-zA-Z_]', '_', name)}"
        if slot is None:
            slot = -1 - len(self.maker.nodes)
            node = self.maker.graph.placeholder(wanted)
            node.meta["val"] = plain_meta(tensor)
        else:
            node = self.maker.placeholder(wanted, slot)
        self.maker.state = node
        persistent = None
        if kind is InputKind.BUFFER:
            persistent = name in self.mod.state_dict()
            self.targets[slot] = OutputKind.BUFFER_MUTATION, name
        if kind is InputKind.CONSTANT_TENSOR or persistent is False:
            self.constants[name] = tensor
        self.signature.input_specs.append(InputSpec(kind, TensorArgument(node.name), name, persistent))

    def add_constant(self, slot: int, tensor: Any) -> None:
        """A tensor that the program holds outside of its state: the same one each time."""
        line = self.first.lines[slot]
        if any(each.externals.get(slot) is not tensor for each in self.recordings):
            raise UserError(f"export: the op at {line} takes a tensor {tuple(tensor.shape)} that no op made")
        name = f"tensor_{len(self.constants)}"
        self.add_placeholder(InputKind.CONSTANT_TENSOR, name, tensor, slot)

    def add_inputs(self) -> None:
        """Placeholders for the arguments."""
        slots = iter(self.first.inputs)
        for name, leaf, dims in zip(self.names, self.leaves, self.dims):
            if not isinstance(leaf, weft.Tensor):
                argument: Any = ConstantArgument(name, leaf)
                node = self.maker.graph.placeholder(name)
                node.meta["val"] = leaf
                self.signature.input_specs.append(InputSpec(InputKind.USER_INPUT, argument, None))
            else:
                slot = next(slots).number
                node = self.maker.placeholder(name, slot)
                argument = TensorArgument(node.name)
                self.signature.input_specs.append(InputSpec(InputKind.USER_INPUT, argument, None))
                self.targets[slot] = OutputKind.USER_INPUT_MUTATION, node.name
                self.add_origins(node, dims)

    def add_origins(self, node: Any, dims: Mapping[int, Dim]) -> None:
        for place, dim in dims.items():
            origin = node, place, dim.factor, dim.plus
            if dim.factor == 1 and dim.plus == 0 and self.maker.origins.get(dim.name, origin)[2:] != (1, 0):
                self.maker.origins[dim.name] = origin
            self.maker.origins.setdefault(dim.name, origin)

    def add_outputs(self) -> Any:
        """The output node: what writes leave behind, then what the program returns."""
        results = [tree_flatten(each.results, lambda value: isinstance(value, Slot)) for each in self.recordings]
        outputs = []
        for slot, last in self.first.mutations.items():
            if slot not in self.targets:
                raise UserError(f"export: the program writes to a tensor of its state, at {self.first.lines[slot]}")
            kind, target = self.targets[slot]
            node = self.maker.nodes[last.number]
            outputs.append(node)
            self.signature.output_specs.append(OutputSpec(kind, TensorArgument(node.name), target))
        self.maker.line = "the result"
        for place, values in enumerate(zip(*(leaves for leaves, _ in results))):
            found = self.maker.same(values, f"number {place}")
            node_like = hasattr(found, "meta")
            argument: Any = TensorArgument(found.name) if node_like else ConstantArgument(f"output_{place}", found)
            outputs.append(found)
            self.signature.output_specs.append(OutputSpec(OutputKind.USER_OUTPUT, argument, None))
        self.maker.graph.output(tuple(outputs))
        return results[0][1]


def ranges_of(dims: Sequence[Mapping[int, Dim]]) -> dict[str, Dim]:
    """The dimension of each symbol, with the sizes that it may have in all places where it stands."""
    found: dict[str, Dim] = {}
    for each in dims:
        for dim in each.values():
            known = found.setdefault(dim.name, dim)
            found[dim.name] = dim.between(max(known.min, dim.min), min(known.max, dim.max))
    return found


def plain_meta(tensor: Any) -> Any:
    from weft.export._graph import Tensor

    return Tensor(tuple(tensor.shape), tensor.dtype)
