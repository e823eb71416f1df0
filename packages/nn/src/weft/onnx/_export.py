"""`weft.onnx.export`: a module as an ONNX file."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import weft
from weft.export import Dim, ExportedProgram
from weft.export._export import check_arguments, named_arguments, names_of, program_of
from weft.export.dynamic_shapes import dims_of
from weft.nn import Module
from weft.onnx._external_data import MOST_INSIDE, bytes_of_weights, save_with_data
from weft.onnx._writer import model_of
from weft.serialization._archive import replacing
from weft.utils._pytree import tree_leaves

__all__ = ["ONNXProgram", "export", "is_in_onnx_export"]

OPSETS = range(18, 22)
DEFAULT_OPSET = 20


class ONNXProgram:
    """A model in ONNX's format, made by `export`.

    Attributes
    ----------
    model_proto : onnx.ModelProto
    exported_program : ExportedProgram
    """

    def __init__(self, model_proto: Any, exported_program: ExportedProgram) -> None:
        self.model_proto = model_proto
        self.exported_program = exported_program

    def save(self, destination: str | os.PathLike[str], *, external_data: bool | None = None) -> None:
        """Write the file: it is there whole, or as it was before.

        Parameters
        ----------
        destination : path
        external_data : bool, optional
            Whether weights stand in a file of their own beside it, ``<name>-<digest>.data``; default: if they are more
            than ONNX's files hold, 2 GB.
        """
        path = os.fspath(destination)
        if external_data is None:
            external_data = bytes_of_weights(self.model_proto) > MOST_INSIDE
        if external_data:
            save_with_data(self.model_proto, path)
            return
        content = self.model_proto.SerializeToString(deterministic=True)
        with replacing(path) as file:
            file.write(content)


def export(
    model: Module | ExportedProgram,
    args: Any = (),
    f: str | os.PathLike[str] | Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_shapes: Any = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: Any = None,
    export_params: bool = True,
    verbose: bool | None = None,
    external_data: bool | None = None,
    **options: Any,
) -> ONNXProgram:
    """Write a module as an ONNX file.

    Parameters
    ----------
    model : Module or ExportedProgram
    args : tuple or Tensor
        Example inputs.
    f : path or binary file, optional
        Where to write; default: nowhere, see `ONNXProgram.save`.
    kwargs : dict, optional
        More example inputs, by name.
    input_names, output_names : sequence of str, optional
        Of the file's inputs and outputs, in their order; default: those of the program.
    opset_version : int, 18 to 21
        Which version of ONNX's operators; default 20.
    dynamic_shapes : dict, tuple or list, optional
        Which sizes may change, as `weft.export.export` takes it.
    dynamic_axes : dict, optional
        The same by the names of the file's inputs: ``{"x": {0: "batch"}}`` or ``{"x": [0]}``. Entries of outputs are
        names for what follows from the inputs.
    training : TrainingMode, optional
        EVAL (default): the module is exported in eval mode; PRESERVE: in the mode that it has.
    external_data : bool, optional
        As `ONNXProgram.save` takes it.
    export_params, verbose, **options
        Taken for programs that give them, and without effect.

    Returns
    -------
    ONNXProgram

    Raises
    ------
    weft.export.UserError
        If the program cannot be a graph.
    OnnxExporterError
        If ops have no counterpart in ONNX: all of them.
    """
    opset = DEFAULT_OPSET if opset_version is None else opset_version
    if opset not in OPSETS:
        raise ValueError(f"onnx.export: opset_version must be {OPSETS[0]} to {OPSETS[-1]}, got {opset}")
    require_onnx()
    if isinstance(model, ExportedProgram):
        program = model
    else:
        kwargs = dict(kwargs or {})
        with exporting():
            program = program_in_mode(model, args, kwargs, input_names, dynamic_shapes, dynamic_axes, training)
    axes = {name: axes_of(name, each) for name, each in (dynamic_axes or {}).items()}
    made = ONNXProgram(model_of(program, opset, input_names or (), output_names or (), axes), program)
    if f is not None:
        if hasattr(f, "write"):
            f.write(made.model_proto.SerializeToString(deterministic=True))
        else:
            made.save(f, external_data=external_data)
    return made


class Running(threading.local):
    """What this thread runs."""

    exports = False  # a module, to write it to a file


running = Running()


@contextmanager
def exporting() -> Iterator[None]:
    """In this block `is_in_onnx_export` says so."""
    before, running.exports = running.exports, True
    try:
        yield
    finally:
        running.exports = before


def is_in_onnx_export() -> bool:
    """Whether `export` runs the module that calls this."""
    return running.exports


def require_onnx() -> None:
    """The package is there.

    Raises
    ------
    ModuleNotFoundError
        If not, with what to install.
    """
    try:
        import onnx  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "onnx.export: it needs the package onnx; install it with: pip install 'weft-nn[onnx]'", name="onnx"
        ) from error


def program_in_mode(
    model: Module,
    args: Any,
    kwargs: dict[str, Any],
    input_names: Sequence[str] | None,
    dynamic_shapes: Any,
    dynamic_axes: Mapping[str, Any] | None,
    training: Any,
) -> ExportedProgram:
    """The program of a module in the mode that was asked for; the module's own stays."""
    args = (args,) if isinstance(args, weft.Tensor) else tuple(args)
    if args and isinstance(args[-1], dict) and not kwargs:
        *positional, kwargs = args
        args = tuple(positional)
    check_arguments(model, args)
    named = named_arguments(model, args, kwargs)
    if dynamic_axes and dynamic_shapes is None:
        dims = dims_by_name(named, input_names or (), dynamic_axes)
    else:
        dims = dims_of(named, dynamic_shapes)
    modes = {each: each.training for each in model.modules()}
    if training is None or training == 0:
        model.eval()
    elif training == 2:
        model.train()
    try:
        return program_of(model, args, kwargs, named, dims)
    finally:
        for each, mode in modes.items():
            each.training = mode


def dims_by_name(
    named: Mapping[str, Any], input_names: Sequence[str], dynamic_axes: Mapping[str, Any]
) -> list[dict[int, Dim]]:
    """The dimensions that may change of each leaf of the arguments, from PyTorch's ``dynamic_axes``."""
    leaves = tree_leaves(tuple(named.values()))
    names = names_of(named)
    given = iter(input_names)
    dims: list[dict[int, Dim]] = []
    for name, leaf in zip(names, leaves):
        if not isinstance(leaf, weft.Tensor):
            dims.append({})
            continue
        called = next(given, name)
        axes = axes_of(called, dynamic_axes.get(called, {}))
        dims.append({place % leaf.ndim: Dim(axis) for place, axis in axes.items()})
    return dims


def axes_of(name: str, axes: Any) -> dict[int, str]:
    """Names of dimensions by their numbers; of those that have none, one that is made."""
    if isinstance(axes, Mapping):
        return {int(place): str(axis) for place, axis in axes.items()}
    return {int(place): f"{name}_dynamic_axes_{number + 1}" for number, place in enumerate(axes)}
