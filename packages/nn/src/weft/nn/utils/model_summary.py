"""A model as a table: its modules, what they return, and how many parameters they have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import weft
from weft import Tensor
from weft.nn import Module

__all__ = ["ModelSummary", "Row", "summary"]


@dataclass(frozen=True)
class Row:
    """One module of a summary.

    Attributes
    ----------
    name : str
        As in ``named_modules``; the model's own is empty.
    kind : str
        The class.
    depth : int
    output_shape : shape, or nested list of shapes
        Of the last call; None if it was not called.
    parameters : int
        All of the module, and those of the modules in it.
    own_parameters : int
        Those that it has itself, and that no earlier module has.
    """

    name: str
    kind: str
    depth: int
    output_shape: Any
    parameters: int
    own_parameters: int


@dataclass(frozen=True)
class ModelSummary:
    """The result of `summary`; printed, it is the table.

    Attributes
    ----------
    rows : list of Row
    total_parameters, trainable_parameters : int
        Shared parameters are counted once.
    parameter_bytes, output_bytes : int
        Memory of the parameters, and of all outputs of modules without modules in them.
    """

    rows: list[Row]
    total_parameters: int
    trainable_parameters: int
    parameter_bytes: int
    output_bytes: int

    def __str__(self) -> str:
        cells = [("Module", "Output shape", "Parameters")]
        for row in self.rows:
            label = f"{row.name.rpartition('.')[2]} ({row.kind})" if row.name else row.kind
            shape = "-" if row.output_shape is None else str(row.output_shape)
            cells.append(("  " * row.depth + label, shape, f"{row.parameters:,}" if row.parameters else "-"))
        widths = [max(len(row[column]) for row in cells) for column in range(3)]
        lines = [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}" for a, b, c in cells]
        rule = "-" * (sum(widths) + 4)
        totals = [
            f"Parameters: {self.total_parameters:,} ({_bytes(self.parameter_bytes)}), "
            f"of which {self.trainable_parameters:,} are trained",
            f"Outputs: {_bytes(self.output_bytes)}",
        ]
        return "\n".join([lines[0], rule, *lines[1:], rule, *totals[: 2 if self.output_bytes else 1]])

    __repr__ = __str__


def summary(
    model: Module,
    input_size: Any = None,
    input_data: Any = None,
    *,
    depth: int = 3,
    dtypes: list[Any] | None = None,
    device: Any = None,
    **kwargs: Any,
) -> ModelSummary:
    """Describe a model by its modules.

    The model is called once, in evaluation mode and without gradients; neither its mode nor the state of the random
    numbers changes.

    Parameters
    ----------
    model : Module
    input_size : sequence of int, or of several, optional
        The shape of the input with the batch, or the shapes of several. They get random numbers, or zeros for integers.
    input_data : Tensor, or tuple, list or dict of arguments, optional
        In place of ``input_size``. Without either, the model is not called and the table has no shapes.
    depth : int
        How many levels of modules are shown.
    dtypes : list of dtype, optional
        Of the inputs that ``input_size`` describes.
    device : device, optional
        Of those inputs; by default that of the first parameter.
    **kwargs
        More arguments for the model.

    Examples
    --------
    >>> from weft.nn.utils import summary
    >>> model = weft.nn.Sequential(weft.nn.Linear(4, 8), weft.nn.ReLU(), weft.nn.Linear(8, 2))
    >>> summary(model, input_size=(16, 4))
    Module        Output shape  Parameters
    --------------------------------------
    Sequential    [16, 2]               58
      0 (Linear)  [16, 8]               40
      1 (ReLU)    [16, 8]                -
      2 (Linear)  [16, 2]               18
    --------------------------------------
    Parameters: 58 (232 bytes), of which 58 are trained
    Outputs: 1.2 kB
    """
    shapes: dict[int, Any] = {}
    output_bytes = 0
    if input_size is not None or input_data is not None:
        args, named = _arguments(model, input_size, input_data, dtypes, device)
        output_bytes = _call(model, args, {**named, **kwargs}, shapes)
    seen: set[int] = set()
    rows = []
    for name, module in model.named_modules():
        own = [each for each in module.parameters(recurse=False) if id(each) not in seen]
        seen.update(id(each) for each in own)
        level = name.count(".") + 1 if name else 0
        if level <= depth:
            count = sum(each.numel() for each in module.parameters())
            kind = type(module).__name__
            rows.append(Row(name, kind, level, shapes.get(id(module)), count, sum(each.numel() for each in own)))
    parameters = list(model.parameters())
    return ModelSummary(
        rows=rows,
        total_parameters=sum(each.numel() for each in parameters),
        trainable_parameters=sum(each.numel() for each in parameters if each.requires_grad),
        parameter_bytes=sum(each.numel() * each.element_size() for each in parameters),
        output_bytes=output_bytes,
    )


def _arguments(
    model: Module, input_size: Any, input_data: Any, dtypes: Any, device: Any
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments to call the model with, by position and by name."""
    if input_data is not None:
        if isinstance(input_data, dict):
            return [], input_data
        return (list(input_data) if isinstance(input_data, (tuple, list)) else [input_data]), {}
    sizes = [input_size] if all(isinstance(each, int) for each in input_size) else list(input_size)
    dtypes = dtypes or [weft.get_default_dtype()] * len(sizes)
    if len(dtypes) != len(sizes):
        raise ValueError(
            f"summary: dtypes must be as many as the inputs of input_size, {len(sizes)}; got {len(dtypes)}"
        )
    device = device or next((each.device for each in model.parameters()), None)
    with weft.random.fork_rng(devices=[]):
        return [_input(size, dtype, device) for size, dtype in zip(sizes, dtypes)], {}


def _input(size: Any, dtype: Any, device: Any) -> Tensor:
    if dtype.is_floating_point or dtype.is_complex:
        return weft.rand(*size, dtype=dtype, device=device)
    return weft.zeros(*size, dtype=dtype, device=device)


def _call(model: Module, args: list[Any], kwargs: dict[str, Any], shapes: dict[int, Any]) -> int:
    """Call the model and note what each module returns; the bytes that the innermost ones return."""
    counted = 0

    def note(module: Module, args: Any, output: Any) -> None:
        nonlocal counted
        shapes[id(module)] = _shapes(output)
        if next(module.children(), None) is None:
            counted += _size(output)

    modes = [(module, module.training) for module in model.modules()]
    handles = [module.register_forward_hook(note) for module in model.modules()]
    model.eval()
    try:
        with weft.no_grad(), weft.random.fork_rng(devices=[]):
            model(*args, **kwargs)
    finally:
        for handle in handles:
            handle.remove()
        for module, training in modes:
            module.training = training
    return counted


def _shapes(output: Any) -> Any:
    """The shapes of an output, in its structure; None where there is no tensor."""
    if isinstance(output, Tensor):
        return list(output.shape)
    if isinstance(output, dict):
        return {key: _shapes(value) for key, value in output.items()}
    if isinstance(output, (tuple, list)):
        return [_shapes(each) for each in output]
    return None


def _size(output: Any) -> int:
    if isinstance(output, Tensor):
        return output.numel() * output.element_size()
    if isinstance(output, dict):
        output = list(output.values())
    return sum(_size(each) for each in output) if isinstance(output, (tuple, list)) else 0


def _bytes(count: int) -> str:
    if count < 1000:
        return f"{count} bytes"
    power = min(int(math.log10(count)) // 3, 4)
    return f"{count / 1000**power:.1f} {['', 'k', 'M', 'G', 'T'][power]}B"
