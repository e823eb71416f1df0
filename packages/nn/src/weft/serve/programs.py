"""What an exported program says of itself: its inputs and outputs, and sizes to warm it with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
from weft import Tensor
from weft.export import ExportedProgram
from weft.export.graph_signature import ConstantArgument, InputKind, OutputKind
from weft.serve.protocol import DATATYPES, TensorSpec
from weft.utils import _pytree as pytree

__all__ = ["Program"]


class Program:
    """An exported program as a function of tensors alone.

    Parameters
    ----------
    program : ExportedProgram

    Attributes
    ----------
    inputs, outputs : list of TensorSpec
        A size that may change is -1.
    batch : str or None
        The size that all of them begin with, if it is one that may change.
    """

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program
        signature = program.graph_signature
        nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
        self.given = [
            (spec.arg, node.meta["val"])
            for spec, node in zip(signature.input_specs, nodes)
            if spec.kind is InputKind.USER_INPUT
        ]
        self.tensors = [(arg, value) for arg, value in self.given if not isinstance(arg, ConstantArgument)]
        (output,) = [node for node in program.graph.nodes if node.op == "output"]
        results = [
            (spec.arg, node.meta["val"])
            for spec, node in zip(signature.output_specs, output.args[0])
            if spec.kind is OutputKind.USER_OUTPUT and not isinstance(spec.arg, ConstantArgument)
        ]
        self.inputs = [_spec(arg.name, value) for arg, value in self.tensors]
        names = ["output"] if len(results) == 1 else [f"output_{place}" for place in range(len(results))]
        self.outputs = [_spec(name, value) for name, (_, value) in zip(names, results)]
        firsts = {str(value.shape[0]) if value.shape else "" for _, value in [*self.tensors, *results]}
        (first,) = firsts if len(firsts) == 1 else ("",)
        self.batch = first if first in program.range_constraints else None

    def limits(self) -> tuple[int, int]:
        """Return the least and the greatest batch that the program takes."""
        return self.program.range_constraints[self.batch] if self.batch is not None else (1, 1)

    def zeros(self, batch: int) -> list[Tensor]:
        """Return inputs of a batch; other sizes that may change are small ones."""
        sizes = {name: max(low, min(2, high)) for name, (low, high) in self.program.range_constraints.items()}
        if self.batch is not None:
            sizes[self.batch] = batch
        shapes = [
            [size if isinstance(size, int) else size.evaluate(sizes) for size in value.shape]
            for _, value in self.tensors
        ]
        return [weft.zeros(shape, dtype=value.dtype) for shape, (_, value) in zip(shapes, self.tensors)]

    def function(self, device: str) -> Callable[..., Any]:
        """Return what runs it, with its parameters on a device."""
        module = self.program.module().to(device)
        in_spec = self.program.call_spec.in_spec

        def run(*tensors: Tensor) -> Any:
            given = iter(tensors)
            leaves = [arg.value if isinstance(arg, ConstantArgument) else next(given) for arg, _ in self.given]
            args, kwargs = pytree.tree_unflatten(leaves, in_spec)
            return module(*args, **kwargs)

        return run


def _spec(name: str, value: Any) -> TensorSpec:
    if value.dtype not in DATATYPES:
        raise ValueError(f"InferenceModel: {name} has dtype {value.dtype}, which the protocol cannot express")
    return TensorSpec(
        name, DATATYPES[value.dtype], tuple(size if isinstance(size, int) else -1 for size in value.shape)
    )
