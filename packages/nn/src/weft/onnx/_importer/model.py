"""`load` and the module that it returns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import weft
from weft.nn import Module, Parameter
from weft.onnx._importer.building import Builder, Constant, opsets_of
from weft.onnx._importer.placement import place
from weft.onnx._importer.program import Context, HostConstant
from weft.onnx._importer.reading import DTYPES
from weft.onnx._importer.registry import NEWEST_OPSET

__all__ = ["ONNXModule", "load"]


def load(f: Any, map_location: Any = None) -> ONNXModule:
    """Read an ONNX file: a module that runs it on weft, on any backend, and can be trained.

    The weights are parameters by the names that they have in the file (``conv1.weight`` is the parameter ``weight`` of
    the submodule ``conv1``), other tensors of the file are buffers. The weights are the initializers of floating-point
    numbers, of one axis or more and finite, that are an input which training may change (no statistics of a batch
    normalization, no limits of a Clip).

    Nothing of the file is run as code, and files outside the model's folder are not opened.

    Parameters
    ----------
    f : str, path, bytes, file object, or onnx.ModelProto
        A path if tensors have their data in files of their own.
    map_location : device, optional
        Where the weights shall be; the CPU by default.

    Returns
    -------
    ONNXModule
        In evaluation mode, as files describe it.

    Raises
    ------
    ImportError
        If the package ``onnx`` is not installed.
    ValueError
        If the file is no valid model: bytes that do not parse, values that no node makes or that are in a cycle, data
        that are not those of a tensor's shape or are in a file outside the model's folder.
    NotImplementedError
        If it has operators or dtypes that weft has not; all such operators are named at once.

    Examples
    --------
    >>> model = weft.onnx.load("model.onnx")  # doctest: +SKIP
    >>> model(weft.randn(1, 3, 224, 224)).shape  # doctest: +SKIP
    weft.Size([1, 1000])
    """
    model, folder = message_of(f)
    module = ONNXModule(model, folder)
    return module if map_location is None else module.to(map_location)


def message_of(f: Any) -> tuple[Any, Path | None]:
    """The ModelProto of a file, and the folder where it is."""
    try:
        from google.protobuf.message import DecodeError

        import onnx
    except ImportError as error:
        raise ImportError("onnx.load: needs the package onnx; install it with: pip install weft-nn[onnx]") from error
    if isinstance(f, onnx.ModelProto):
        return f, None
    folder = None
    if isinstance(f, (str, os.PathLike)):
        folder = Path(f).parent
        data = Path(f).read_bytes()
    else:
        data = bytes(f) if isinstance(f, (bytes, bytearray, memoryview)) else f.read()
    try:
        return onnx.ModelProto.FromString(data), folder
    except (DecodeError, TypeError) as error:
        raise ValueError(f"onnx.load: this is no ONNX file: {error}") from None


def check_versions(opsets: dict[str, int]) -> None:
    """Refuse files of operator sets that are newer than this reader, whose operators may mean something else."""
    if not opsets:
        raise ValueError("onnx.load: the file names no operator set; is it an ONNX model?")
    version = opsets.get("", 1)
    if not 1 <= version <= NEWEST_OPSET:
        raise ValueError(f"onnx.load: the file is of opset {version}; opsets 1 to {NEWEST_OPSET} are known")


class ONNXModule(Module):
    """A model of an ONNX file, as `load` makes it.

    It is called with the graph's inputs in their order, or by their names, and returns the output, or a tuple of them.
    An input that the file has a value for may be given by name.

    In training mode dropout drops and batch normalization uses the batch's statistics and updates its own, as the
    file's nodes do that are written for training.

    Attributes
    ----------
    input_names, output_names : list of str
    opsets : dict of str to int
        The versions of the operator sets that the file uses, by domain.
    """

    def __init__(self, model: Any, folder: Path | None = None) -> None:
        super().__init__()
        self.opsets = opsets_of(model)
        check_versions(self.opsets)
        builder = Builder(model.functions, folder)
        program = builder.graph(model.graph, self.opsets)
        if builder.missing:
            named = ", ".join(f"{name} (first in {where})" for name, where in sorted(builder.missing.items()))
            raise NotImplementedError(f"onnx.load: no operator of weft runs: {named}")
        place(program, builder.constants)
        self.program = program
        self.input_names, self.output_names = list(program.inputs), list(program.outputs)
        self.defaults = {
            each.name: program.names[each.name] for each in model.graph.input if each.name in program.names
        }
        self.declared = {each.name: declared_type(each) for each in model.graph.input}
        self.places, self.host = keep_constants(self, builder.constants)
        self.eval()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph.

        Raises
        ------
        TypeError
            If inputs are missing or too many, or of another dtype than the file declares.
        ValueError
            If an input's shape is not the declared one.
        """
        arguments = self.bind(args, kwargs)
        tensors = [None if each is None else find(each) for each in self.places]
        for name, value in kwargs.items():
            if name in self.defaults:
                tensors[self.defaults[name]] = value
        values = [*arguments, *tensors]
        device = next((each.device for each in values if isinstance(each, weft.Tensor)), weft.get_default_device())
        results = self.program.run(arguments, Context(self.training, device, tensors, self.host))
        return results[0] if len(results) == 1 else tuple(results)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The inputs in the graph's order, checked."""
        names = self.input_names
        if len(args) > len(names):
            raise TypeError(f"this ONNX model takes {len(names)} inputs, {names}; {len(args)} were given")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name in given or (name not in names and name not in self.defaults):
                raise TypeError(f"this ONNX model takes the inputs {names}; {name!r} is given twice or is none of them")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"this ONNX model takes the inputs {names}; {missing} are missing")
        for name, value in given.items():
            check_input(name, value, self.declared[name])
        return [given[name] for name in names]

    def extra_repr(self) -> str:
        opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in self.opsets.items())
        return f"inputs={self.input_names}, outputs={self.output_names}, opsets={opsets}"


def declared_type(value: Any) -> tuple[Any, list[Any] | None] | None:
    """The dtype and the sizes (None where any will do) of an input; None if it is no tensor."""
    if not value.type.HasField("tensor_type"):
        return None
    tensor = value.type.tensor_type
    sizes = None
    if tensor.HasField("shape"):
        sizes = [each.dim_value if each.HasField("dim_value") else None for each in tensor.shape.dim]
    return DTYPES.get(tensor.elem_type), sizes


def check_input(name: str, value: Any, declared: tuple[Any, list[Any] | None] | None) -> None:
    """Compare an input with what the file says of it."""
    if declared is None or not isinstance(value, weft.Tensor):
        return
    dtype, sizes = declared
    if dtype is not None and value.dtype != dtype:
        raise TypeError(f"input {name!r} of this ONNX model is of {dtype}; got {value.dtype}")
    if sizes is None:
        return
    fits = value.ndim == len(sizes) and all(size in (None, given) for size, given in zip(sizes, value.shape))
    if not fits:
        shape = ["any" if size is None else size for size in sizes]
        raise ValueError(f"input {name!r} of this ONNX model has the shape {shape}; got {list(value.shape)}")


def find(place: tuple[Module, str] | Any) -> Any:
    """The tensor that a module has under a name now; an array of strings as it is."""
    if not isinstance(place, tuple):
        return place
    module, name = place
    own = module._parameters.get(name)
    return getattr(module, name) if own is None else own  # also a property, as of a parametrization


def keep_constants(module: Module, constants: list[Constant]) -> tuple[list[Any], list[Any]]:
    """Register the file's tensors in a module, and say where they are: those for its device, those for the CPU."""
    places: list[Any] = []
    for number, constant in enumerate(constants):
        if not constant.on_device:
            places.append(None)
        elif not isinstance(constant.value, weft.Tensor):
            places.append(constant.value)
        else:
            places.append(register(module, constant, number))
    return places, [HostConstant(each.value) if each.on_host else None for each in constants]


def register(module: Module, constant: Constant, number: int) -> tuple[Module, str]:
    """Give a module a tensor by its name in the file, in submodules where the name has dots.

    A name that the module has for something else, or that no attribute can have, is made ``constant_<number>``.
    """
    *path, name = constant.name.split(".")
    holder: Any = module
    for part in path:
        child = holder._modules.get(part)
        if child is None and (not part or hasattr(holder, part)):
            return register_here(module, constant, f"constant_{number}")
        if child is None:
            child = Module()
            holder.add_module(part, child)
        holder = child
    if not name or hasattr(holder, name):
        return register_here(module, constant, f"constant_{number}")
    return register_here(holder, constant, name)


def register_here(holder: Module, constant: Constant, name: str) -> tuple[Module, str]:
    """Give a module a tensor: as a parameter if it is one, else as a buffer."""
    while hasattr(holder, name):
        name += "_"
    if constant.is_parameter:
        holder.register_parameter(name, Parameter(constant.value))
    else:
        holder.register_buffer(name, constant.value)
    return holder, name
