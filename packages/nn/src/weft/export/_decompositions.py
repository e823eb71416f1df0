"""Decompositions: ops of an exported program, computed by others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from weft.export._export import program_of
from weft.export._graph import Tensor
from weft.export._operators import OpFunction
from weft.export._program import ExportedProgram, ProgramModule
from weft.export._sizes import Size
from weft.export.dynamic_shapes import Dim
from weft.export.errors import UserError
from weft.export.graph_signature import InputKind
from weft.fx import Interpreter
from weft.library import get_op
from weft.utils._pytree import tree_leaves

__all__ = ["decomposed", "default_decompositions"]


def linear(input: Any, weight: Any, bias: Any) -> Any:
    product = input @ weight.t()
    return product if bias is None else product + bias


def layer_norm(input: Any, weight: Any, bias: Any, count: int, eps: float) -> Any:
    axes = tuple(range(-count, 0))
    mean = input.mean(axes, keepdim=True)
    centered = input - mean
    scale = (centered.square().mean(axes, keepdim=True) + eps).rsqrt()
    result = centered * scale
    result = result if weight is None else result * weight
    return result if bias is None else result + bias, mean, scale


def normalized(input: Any, mean: Any, variance: Any, weight: Any, bias: Any, eps: float) -> Any:
    shape = (-1, *(1,) * (input.ndim - 2))
    mean, variance = mean.view(shape), variance.view(shape)
    result = (input - mean) * (variance + eps).rsqrt()
    result = result if weight is None else result * weight.view(shape)
    return result if bias is None else result + bias.view(shape)


def gelu(input: Any, approximate: str) -> Any:
    if approximate == "tanh":
        inner = 0.7978845608028654 * (input + 0.044715 * input * input * input)
        return 0.5 * input * (1 + inner.tanh())
    return 0.5 * input * (1 + (input * 0.7071067811865476).erf())


def softmax(input: Any, dim: int) -> Any:
    raised = (input - input.amax(dim, keepdim=True)).exp()
    return raised / raised.sum(dim, keepdim=True)


def log_softmax(input: Any, dim: int) -> Any:
    shifted = input - input.amax(dim, keepdim=True)
    return shifted - shifted.exp().sum(dim, keepdim=True).log()


def silu(input: Any) -> Any:
    return input * input.sigmoid()


def hardswish(input: Any) -> Any:
    return input * (input + 3).clamp(0, 6) / 6


def default_decompositions() -> dict[str, Callable[..., Any]]:
    """Fused ops by the names that graphs have for them, as functions over core's.

    Returns
    -------
    dict
        A new one, to be changed: `ExportedProgram.run_decompositions` takes it.

    Examples
    --------
    >>> table = weft.export.default_decompositions()
    >>> del table["nn::linear"]
    """
    return {
        "core::log_softmax": log_softmax,
        "core::softmax": softmax,
        "nn::gelu": gelu,
        "nn::hardswish": hardswish,
        "nn::layer_norm": layer_norm,
        "nn::linear": linear,
        "nn::normalized": normalized,
        "nn::silu": silu,
    }


def names_in(table: Mapping[Any, Any]) -> dict[str, Callable[..., Any]]:
    """A table by names; its keys may be functions that declare ops, such as ``F.gelu``.

    Raises
    ------
    UserError
        If a key is no op.
    """
    found = {}
    for key, function in table.items():
        name = key if isinstance(key, str) else getattr(getattr(key, "declaration", key), "name", None)
        try:
            get_op(str(name))
        except KeyError:
            raise UserError(f"run_decompositions: {key!r} is no op; nodes have names such as 'nn::gelu'") from None
        found[str(name)] = function
    return found


def decomposed(program: ExportedProgram, table: Mapping[Any, Callable[..., Any]] | None) -> ExportedProgram:
    """The program with functions in place of some ops: recorded again, with the sizes that may change."""
    named = default_decompositions() if table is None else names_in(table)
    module = ProgramModule(program, False, DecomposingInterpreter(program.graph_module, named).run)
    args, kwargs = program.example_inputs
    made = program_of(module, args, kwargs, names_of_inputs(program), dims_of_inputs(program))
    made.guards, made.comparisons = list(program.guards), list(program.comparisons)
    return made


def user_inputs(program: ExportedProgram) -> list[Any]:
    """The placeholders of the user's inputs."""
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    pairs = zip(program.graph_signature.input_specs, nodes)
    return [node for spec, node in pairs if spec.kind is InputKind.USER_INPUT]


def names_of_inputs(program: ExportedProgram) -> dict[str, Any]:
    """The leaves of the arguments by the names that the program has for them."""
    return dict(zip((node.target for node in user_inputs(program)), tree_leaves(program.example_inputs)))


def dims_of_inputs(program: ExportedProgram) -> list[dict[int, Dim]]:
    """The dimensions that may change of each leaf of the arguments."""
    found = []
    for node in user_inputs(program):
        known = node.meta["val"]
        shape = known.shape if isinstance(known, Tensor) else ()
        found.append({place: dim_of(program, size) for place, size in enumerate(shape) if isinstance(size, Size)})
    return found


def dim_of(program: ExportedProgram, size: Size) -> Dim:
    (name,) = size.symbols
    least, most = program.range_constraints[name]
    return Dim(name, min=least, max=most) * size.terms[(name,)] + size.terms.get((), 0)


class DecomposingInterpreter(Interpreter):
    """Runs a graph with functions in place of some ops."""

    def __init__(self, graph_module: Any, table: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__(graph_module)
        self.table = table

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Call the function that stands for an op, or the op."""
        if isinstance(target, OpFunction) and target.name in self.table:
            return self.table[target.name](*args, **kwargs)
        return super().call_function(target, args, kwargs)
