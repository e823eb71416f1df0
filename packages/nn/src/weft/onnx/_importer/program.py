"""What a graph of a file becomes: a list of steps, each a call of an operator's function with names of values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import weft
from weft.library.interceptors import is_watched
from weft.onnx._importer.registry import Operator

__all__ = ["Context", "HostConstant", "Program", "Step"]

CPU = weft.device("cpu")
# What comes of a value or attribute of another kind than an operator takes: a list for a tensor, a mode that is none.
UNFITTING = (ArithmeticError, AttributeError, KeyError, StopIteration)


class HostConstant:
    """A constant of the file that sizes are computed from, on the CPU.

    A recording of the program makes it anew from numbers, so that what follows from it is known to be sizes.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        self.numbers = python_value(value)

    def tensor(self) -> Any:
        """Its value."""
        if isinstance(self.value, weft.Tensor) and is_watched():
            return weft.tensor(self.numbers, dtype=self.value.dtype).reshape(self.value.shape)
        return self.value


class Context:
    """One run of a module.

    Attributes
    ----------
    training : bool
        Whether the module is in training mode.
    device : device
        Where results that have no tensor among their inputs are made.
    tensors : list of Tensor
    host : list of HostConstant
        The file's constants, where the module is and on the CPU; None where one is not needed.
    on_host : Context
        The same for steps that compute shapes, which run on the CPU.
    """

    def __init__(self, training: bool, device: Any, tensors: list[Any], host: list[Any], is_host: bool = False) -> None:
        self.training, self.device, self.tensors, self.host = training, device, tensors, host
        self.moves = device != CPU
        self.on_host = self if is_host else Context(training, CPU, tensors, host, is_host=True)


@dataclass(eq=False)
class Step:
    """A node.

    Attributes
    ----------
    operator : Operator
    inputs, outputs : list of str
        Names of values; empty where an optional one is left out.
    attributes : dict
        What the function is called with beside the inputs.
    graphs : dict of str to Program
        Attributes that are graphs.
    name : str
        For messages.
    runs_on_host : bool
        Whether it computes sizes or the like, on the CPU whatever the module's device.
    from_host : dict of int to int
        Which inputs are constants that are wanted on the CPU.
    values : dict of int to numbers or lists
        Those of them that the function wants as Python values.
    read : list of int
        Other inputs that the function wants as Python values.
    moved : list of int
        Inputs that are on the CPU and wanted on the module's device.
    released : list of str
        Values that no later step uses.
    """

    operator: Operator
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]
    graphs: dict[str, Program]
    name: str
    runs_on_host: bool = False
    from_host: dict[int, int] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)
    read: list[int] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    released: list[str] = field(default_factory=list)

    def run(self, scope: dict[str, Any], context: Context) -> None:
        """Compute the outputs, into the scope."""
        arguments = [scope[name] if name else None for name in self.inputs]
        for position, number in self.from_host.items():
            arguments[position] = context.host[number].tensor()
        for position, value in self.values.items():
            arguments[position] = value
        for position in self.read:
            arguments[position] = python_value(arguments[position])
        if context.moves:
            for position in self.moved:
                arguments[position] = moved(arguments[position], context.device)
        attributes = self.attributes
        if self.graphs or self.operator.takes_context:
            own = context.on_host if self.runs_on_host else context
            graphs = {name: Bound(program, scope, own) for name, program in self.graphs.items()}
            attributes = {**attributes, **graphs}
            if self.operator.takes_context:
                attributes["context"] = own
        results = self.operator.function(*arguments, **attributes)
        if type(results) is not tuple:
            results = (results,)
        if len(results) < len(self.outputs):
            raise ValueError(f"{self.operator.name} has {len(results)} outputs, and {len(self.outputs)} are asked for")
        scope.update({name: result for name, result in zip(self.outputs, results) if name})
        for name in self.released:
            scope.pop(name, None)


class Bound:
    """A graph that is an attribute of a node, as its function calls it: it sees the values around the node.

    Attributes
    ----------
    num_inputs, num_outputs : int
    """

    def __init__(self, program: Program, scope: dict[str, Any], context: Context) -> None:
        self.program, self.scope, self.context = program, scope, context
        self.num_inputs, self.num_outputs = len(program.inputs), len(program.outputs)

    def __call__(self, *arguments: Any) -> list[Any]:
        return self.program.run(arguments, self.context, self.scope)


@dataclass(eq=False)
class Program:
    """A graph.

    Attributes
    ----------
    inputs, outputs : list of str
    steps : list of Step
    captured : list of str
        Values of the graphs around it.
    names : dict of str to int
        The constants that it sees, by their numbers.
    constants : dict of str to int
        Those that it wants on the module's device.
    moved : list of int
        Outputs that are on the CPU.
    """

    inputs: list[str]
    outputs: list[str]
    steps: list[Step]
    captured: list[str]
    names: dict[str, int]
    constants: dict[str, int] = field(default_factory=dict)
    moved: list[int] = field(default_factory=list)

    def run(self, arguments: Any, context: Context, outer: dict[str, Any] | None = None) -> list[Any]:
        """The outputs for these inputs.

        Raises
        ------
        ValueError
            If there are other than so many inputs.
            Also if a node's values or attributes are of another kind than its operator takes.
        Exception
            What an operator raises, with a note that names its node.
        """
        if len(arguments) != len(self.inputs):
            raise ValueError(f"a graph with {len(self.inputs)} inputs is given {len(arguments)}")
        scope = {name: outer[name] for name in self.captured} if outer is not None else {}
        tensors = context.tensors
        scope.update({name: tensors[number] for name, number in self.constants.items()})
        scope.update(zip(self.inputs, arguments))
        for step in self.steps:
            try:
                step.run(scope, context)
            except UNFITTING as error:
                raise ValueError(
                    f"{step.name} of the ONNX graph does not run with its inputs and attributes: "
                    f"{type(error).__name__}: {error}"
                ) from error
            except Exception as error:
                error.add_note(f"in {step.name} of the ONNX graph")
                raise
        results = [scope[name] for name in self.outputs]
        if context.moves:
            for position in self.moved:
                results[position] = moved(results[position], context.device)
        return results


def python_value(value: Any) -> Any:
    """The numbers of a tensor; of a list of texts, too."""
    return value.tolist() if hasattr(value, "tolist") else value


def moved(value: Any, device: Any) -> Any:
    """A value on a device: a tensor, each of a sequence."""
    if isinstance(value, list):
        return [moved(each, device) for each in value]
    return value.to(device) if isinstance(value, weft.Tensor) else value
