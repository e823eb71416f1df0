"""What an exported program takes and gives: which inputs of its graph are parameters, which the user's."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

__all__ = [
    "ConstantArgument",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "TensorArgument",
]


class InputKind(Enum):
    """Where an input of the graph comes from."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()


class OutputKind(Enum):
    """Where an output of the graph goes."""

    USER_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    USER_INPUT_MUTATION = auto()


@dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclass
class ConstantArgument:
    """A value that is no tensor, and the same in each call."""

    name: str
    value: Any


@dataclass
class InputSpec:
    """An input of the graph.

    Attributes
    ----------
    target : str or None
        Of a parameter, buffer or constant, its name.
    persistent : bool or None
        Of a buffer, whether it is in the state_dict.
    """

    kind: InputKind
    arg: TensorArgument | ConstantArgument
    target: str | None
    persistent: bool | None = None


@dataclass
class OutputSpec:
    """An output of the graph.

    Attributes
    ----------
    target : str or None
        Of a mutation, the name of the buffer or input that gets the value.
    """

    kind: OutputKind
    arg: TensorArgument | ConstantArgument
    target: str | None


@dataclass
class ExportGraphSignature:
    """All inputs and outputs of a graph, in their order."""

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple(str(each.target) for each in self.input_specs if each.kind is kind)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of parameters."""
        return self.targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of buffers."""
        return self.targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of buffers that are in no state_dict."""
        return tuple(str(each.target) for each in self.input_specs if each.persistent is False)

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of tensors that are neither."""
        return self.targets(InputKind.CONSTANT_TENSOR)

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The names of the user's tensors, and other values that were given."""
        return tuple(value_of(each.arg) for each in self.input_specs if each.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The names of the tensors that are returned, and other values."""
        return tuple(value_of(each.arg) for each in self.output_specs if each.kind is OutputKind.USER_OUTPUT)

    def inputs_to(self, kind: InputKind) -> dict[str, str]:
        return {each.arg.name: str(each.target) for each in self.input_specs if each.kind is kind}

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """From the graph's inputs to parameters."""
        return self.inputs_to(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """From the graph's inputs to buffers."""
        return self.inputs_to(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """From the graph's inputs to other tensors."""
        return self.inputs_to(InputKind.CONSTANT_TENSOR)

    def outputs_to(self, kind: OutputKind) -> dict[str, str]:
        return {each.arg.name: str(each.target) for each in self.output_specs if each.kind is kind}

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """From the graph's outputs to the buffers that get them."""
        return self.outputs_to(OutputKind.BUFFER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        """From the graph's outputs to the inputs that get them."""
        return self.outputs_to(OutputKind.USER_INPUT_MUTATION)


def value_of(arg: Any) -> Any:
    return arg.value if isinstance(arg, ConstantArgument) else arg.name
