"""Files of exported programs: a zip of JSON and of the tensors' bytes. Nothing in one is executed."""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

import weft
from weft.export._graph import Tensor
from weft.export._json import (
    InvalidFile,
    decoded,
    encoded,
    graph_from,
    graph_to,
    guard_from,
    guard_to,
    identifier,
    listed,
    text,
    tree_from,
    tree_to,
)
from weft.export._json import named as named_kind
from weft.export._program import CallSpec, ExportedProgram
from weft.export._size_guards import Guard
from weft.export._sizes import Size
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
from weft.serialization._archive import replacing
from weft.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["load", "save"]

VERSION = 1
PROGRAM = "program.json"
THE_DATE = (1980, 1, 1, 0, 0, 0)  # the same for the same program: files have no time of their own


def save(
    ep: ExportedProgram,
    f: str | os.PathLike[str] | Any,
    *,
    extra_files: Mapping[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write an exported program: all of the file or nothing, and the same bytes for the same program.

    Parameters
    ----------
    ep : ExportedProgram
    f : path or binary file
    extra_files : dict, optional
        More content, text or bytes by name.
    opset_version, pickle_protocol
        Taken, and without effect: there is no pickle in the file.

    Raises
    ------
    UserError
        If the program holds what files do not, such as containers of classes that have no name for it.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"save: The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}'."
        )
    made = archive_of(ep, extra_files or {})
    if hasattr(f, "write"):
        f.write(made)
        return
    with replacing(os.fspath(f)) as file:
        file.write(made)


def archive_of(program: ExportedProgram, extra_files: Mapping[str, Any]) -> bytes:
    """The content of the file."""
    content = io.BytesIO()
    tensors = Tensors()
    described = described_program(program, tensors)
    with zipfile.ZipFile(content, "w") as archive:
        write(archive, PROGRAM, json.dumps(described, indent=1, allow_nan=False).encode())
        for name, array in tensors.arrays.items():
            write(archive, name, array.tobytes())
        for name, each in extra_files.items():
            write(archive, f"extra/{name}", each.encode() if isinstance(each, str) else each)
    return content.getvalue()


def write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, THE_DATE), content)


class Tensors:
    """The tensors of a file: those that share all of their memory are written once."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self.names: dict[Any, str] = {}

    def add(self, tensor: Any) -> dict[str, Any]:
        """What the JSON says of a tensor."""
        array = tensor.detach().cpu()._array
        key = array.__array_interface__["data"][0], array.shape, array.strides, str(array.dtype)
        if key not in self.names or not array.size:
            name = f"tensors/{len(self.arrays)}"
            array = numpy.ascontiguousarray(array)
            self.arrays[name] = array.astype(array.dtype.newbyteorder("<"), copy=False)
            self.names[key] = name
        kind = encoded(Tensor(tuple(tensor.shape), tensor.dtype))
        is_parameter = isinstance(tensor, weft.nn.Parameter)
        return {
            **kind,
            "file": self.names[key],
            "parameter": is_parameter,
            "requires_grad": tensor.requires_grad and (is_parameter or tensor.is_leaf),
        }


def described_program(program: ExportedProgram, tensors: Tensors) -> dict[str, Any]:
    """The program as JSON's values."""
    leaves, spec = tree_flatten(program.example_inputs)
    return {
        "weft": weft.__version__,
        "version": VERSION,
        "nodes": graph_to(program.graph),
        "inputs": [
            {**argument_to(each.arg), "kind": each.kind.name, "target": each.target, "persistent": each.persistent}
            for each in program.graph_signature.input_specs
        ],
        "outputs": [
            {**argument_to(each.arg), "kind": each.kind.name, "target": each.target}
            for each in program.graph_signature.output_specs
        ],
        "state_dict": {name: tensors.add(each) for name, each in program.state_dict.items()},
        "constants": {name: tensors.add(each) for name, each in program.constants.items()},
        "range_constraints": {name: list(each) for name, each in program.range_constraints.items()},
        "guards": [guard_to(each) for each in program.guards],
        "comparisons": [guard_to(each) for each in program.comparisons],
        "in_spec": tree_to(program.call_spec.in_spec),
        "out_spec": tree_to(program.call_spec.out_spec),
        "example_spec": tree_to(spec),
        "example_inputs": [
            {"tensor": tensors.add(each)} if isinstance(each, weft.Tensor) else encoded(each) for each in leaves
        ],
    }


def argument_to(argument: Any) -> dict[str, Any]:
    if isinstance(argument, ConstantArgument):
        return {"name": argument.name, "value": {"is": encoded(argument.value)}}
    return {"name": argument.name}


# Reading


def from_bytes(content: bytes) -> ExportedProgram:
    """The program of a file's content."""
    return load(io.BytesIO(content))


def load(
    f: str | os.PathLike[str] | Any,
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: dict[str, int] | None = None,
) -> ExportedProgram:
    """Read what `save` wrote. The file may be anybody's: nothing in it is executed or imported.

    Parameters
    ----------
    f : path or binary file
    extra_files : dict, optional
        Its values become the content of the files of those names.
    expected_opset_version
        Taken, and without effect.

    Raises
    ------
    RuntimeError
        If it is no such file, or is damaged.
    """
    try:
        with zipfile.ZipFile(f if hasattr(f, "read") else os.fspath(f)) as archive:
            check_entries(archive)
            for name in extra_files or ():
                assert extra_files is not None
                extra_files[name] = archive.read(f"extra/{name}").decode()
            return program_from(archive, json.loads(archive.read(PROGRAM)))
    except (OSError, UserError):
        raise
    except Exception as error:  # of a file that may say anything
        name = "" if hasattr(f, "read") else f" {os.fspath(f)!r}"
        reason = error if isinstance(error, InvalidFile) else f"{type(error).__name__}: {error}"
        raise RuntimeError(f"load:{name} is no exported program, or is damaged: {str(reason)[:300]}") from error


def check_entries(archive: zipfile.ZipFile) -> None:
    """What is in the file is as long as the file says: nothing is unpacked."""
    entries = archive.infolist()
    names = [each.filename for each in entries]
    if PROGRAM not in names:
        raise InvalidFile(f"it has no {PROGRAM}" + ("; it is PyTorch's" if "archive_format" in str(names) else ""))
    if len(set(names)) != len(names) or any(each.compress_type != zipfile.ZIP_STORED for each in entries):
        raise InvalidFile("its entries are compressed, or there twice")
    file: Any = archive.fp
    file.seek(0, os.SEEK_END)
    if sum(each.file_size for each in entries) > file.tell():
        raise InvalidFile("its entries are larger than the file")


def program_from(archive: zipfile.ZipFile, described: Any) -> ExportedProgram:
    """The program that the JSON describes."""
    if described["version"] != VERSION:
        raise InvalidFile(f"it is of version {described['version']!r}; this weft reads {VERSION}")
    tensors: dict[str, Any] = {}
    state = {text(name): tensor_from(archive, each, tensors) for name, each in described["state_dict"].items()}
    constants = {text(name): tensor_from(archive, each, tensors) for name, each in described["constants"].items()}
    signature = signature_from(described)
    leaves = [
        tensor_from(archive, each["tensor"], {}) if isinstance(each, dict) and "tensor" in each else decoded(each, {})
        for each in listed(described["example_inputs"])
    ]
    ranges = {identifier(name): tuple(listed(each, 2)) for name, each in described["range_constraints"].items()}
    graph = graph_from(described["nodes"])
    check_signature(graph, signature, {**state, **constants})
    return ExportedProgram(
        graph=graph,
        graph_signature=signature,
        state_dict=state,
        constants=constants,
        range_constraints=ranges,
        call_spec=CallSpec(tree_from(described["in_spec"]), tree_from(described["out_spec"])),
        example_inputs=tree_unflatten(leaves, tree_from(described["example_spec"])),
        guards=guards_from(described, "guards", graph),
        comparisons=guards_from(described, "comparisons", graph),
    )


def tensor_from(archive: zipfile.ZipFile, described: Any, known: dict[str, Any]) -> Any:
    """A tensor; of a file that was read before, the same one."""
    shape, dtype = tuple(listed(described["shape"])), named_kind("dtype", described["dtype"])
    if not all(type(size) is int and size >= 0 for size in shape):
        raise InvalidFile(f"{shape} is no shape")
    name = text(described["file"])
    content = archive.read(name)
    if len(content) != math.prod(shape) * dtype.itemsize:
        raise InvalidFile(f"{name} has {len(content)} bytes, and the shape is {shape} of {dtype}")
    if name in known and known[name].shape == shape and known[name].dtype is dtype:
        return known[name]
    array = numpy.frombuffer(content, numpy.dtype(dtype.numpy).newbyteorder("<")).reshape(shape)
    made = weft.from_numpy(array.astype(dtype.numpy))
    requires_grad = bool(described["requires_grad"])
    known[name] = (
        weft.nn.Parameter(made, requires_grad) if described["parameter"] else made.requires_grad_(requires_grad)
    )
    return known[name]


def guards_from(described: Any, key: str, graph: Any) -> list[Guard]:
    """The comparisons of sizes under a key, which files of earlier versions do not have."""
    symbols = symbols_of(graph)
    return [guard_from(each, symbols) for each in listed(described.get(key, []))]


def symbols_of(graph: Any) -> set[str]:
    """The symbols whose sizes the inputs show."""
    values = [node.meta["val"] for node in graph.nodes if node.op == "placeholder"]
    sizes = [size for value in values if isinstance(value, Tensor) for size in value.shape]
    return {name for size in sizes if isinstance(size, Size) for name in size.symbols}


def signature_from(described: Any) -> ExportGraphSignature:
    inputs = [
        InputSpec(InputKind[each["kind"]], argument_from(each), target_from(each), each["persistent"])
        for each in listed(described["inputs"])
    ]
    outputs = [
        OutputSpec(OutputKind[each["kind"]], argument_from(each), target_from(each))
        for each in listed(described["outputs"])
    ]
    return ExportGraphSignature(inputs, outputs)


def argument_from(described: Any) -> Any:
    name = text(described["name"])
    return (
        ConstantArgument(name, decoded(described["value"]["is"], {})) if "value" in described else TensorArgument(name)
    )


def target_from(described: Any) -> str | None:
    return None if described["target"] is None else text(described["target"])


def check_signature(graph: Any, signature: ExportGraphSignature, tensors: Mapping[str, Any]) -> None:
    """The inputs and outputs that are described are those of the graph."""
    nodes = [node for node in graph.nodes if node.op == "placeholder"]
    if len(nodes) != len(signature.input_specs):
        raise InvalidFile(f"{len(signature.input_specs)} inputs are described, and the graph has {len(nodes)}")
    for node, spec in zip(nodes, signature.input_specs):
        if spec.kind is not InputKind.USER_INPUT:
            check_tensor(node, tensors[str(spec.target)])
    check_outputs(graph, signature.output_specs)


def check_tensor(node: Any, tensor: Any) -> None:
    known = node.meta["val"]
    if tuple(tensor.shape) != known.shape or tensor.dtype is not known.dtype:
        raise InvalidFile(f"{node.name} is {known}, and its tensor has {tuple(tensor.shape)} of {tensor.dtype}")


def check_outputs(graph: Any, specs: Sequence[OutputSpec]) -> None:
    returned = next(node for node in graph.nodes if node.op == "output").args
    if len(returned) != 1 or not isinstance(returned[0], tuple) or len(returned[0]) != len(specs):
        raise InvalidFile("the outputs that are described are not those of the graph")
