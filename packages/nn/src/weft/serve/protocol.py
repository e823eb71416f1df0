"""Requests and responses of the Open Inference Protocol (KServe v2), JSON over HTTP, as tensors.

The protocol: https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/inference_rest.md
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import weft
from weft import Tensor

__all__ = ["InferenceError", "TensorSpec", "decode", "encode", "parse"]

# BF16 is not in the protocol's list; Triton and others have it, and its elements are JSON's numbers too.
DTYPES = {
    "BOOL": weft.bool,
    "UINT8": weft.uint8,
    "UINT16": weft.uint16,
    "UINT32": weft.uint32,
    "UINT64": weft.uint64,
    "INT8": weft.int8,
    "INT16": weft.int16,
    "INT32": weft.int32,
    "INT64": weft.int64,
    "FP16": weft.float16,
    "BF16": weft.bfloat16,
    "FP32": weft.float32,
    "FP64": weft.float64,
}
DATATYPES = {dtype: datatype for datatype, dtype in DTYPES.items()}


class InferenceError(Exception):
    """A request that gets no answer.

    Parameters
    ----------
    message : str
        What the client is told.
    status : int, default 400
        HTTP's status: 400 where the request is wrong, 404 where there is no such model, 500 where the model failed,
        503 where it is not ready.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class TensorSpec:
    """An input or an output of a model.

    Parameters
    ----------
    name : str
    datatype : str
        The protocol's name: ``"FP32"``, ``"INT64"``, ``"BOOL"``, …
    shape : tuple of int
        -1 where the size may be any; in the first place it is the size of the batch.

    Raises
    ------
    ValueError
        If weft has no dtype for the datatype (``"BYTES"``), or a size is below -1.

    Examples
    --------
    >>> from weft.serve import TensorSpec
    >>> TensorSpec("pixels", "FP32", (-1, 1, 8, 8)).dtype
    weft.float32
    """

    name: str
    datatype: str
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.datatype not in DTYPES:
            raise ValueError(
                f"TensorSpec: {self.name!r} has the datatype {self.datatype!r}; expected one of {', '.join(DTYPES)}"
            )
        if any(size < -1 for size in self.shape):
            raise ValueError(f"TensorSpec: {self.name!r} has shape {list(self.shape)}; write -1 for any size")
        object.__setattr__(self, "shape", tuple(self.shape))

    @property
    def dtype(self) -> weft.dtype:
        """Of its tensors."""
        return DTYPES[self.datatype]

    def describe(self) -> dict[str, Any]:
        """Return what a model's metadata say of it."""
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.shape)}

    @classmethod
    def make(cls, given: TensorSpec | Mapping[str, Any]) -> TensorSpec:
        """Return a spec of a dict with the keys ``name``, ``datatype`` and ``shape``, or the spec itself."""
        return given if isinstance(given, TensorSpec) else cls(given["name"], given["datatype"], tuple(given["shape"]))


def parse(body: bytes | str) -> Any:
    """Read a request's JSON.

    Raises
    ------
    InferenceError
        If it is none. ``NaN`` and ``Infinity``, which Python's reader takes, are none.
    """
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InferenceError(f"the request is not JSON: {error}") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def decode(content: Any, specs: Sequence[TensorSpec]) -> list[Tensor]:
    """Return the tensors of a request's inputs, in the order of the model's.

    Parameters
    ----------
    content : dict
        The request's JSON, parsed.
    specs : sequence of TensorSpec

    Raises
    ------
    InferenceError
        With status 400, if the request does not fit: names, datatypes, shapes, the number of elements, or a number
        that its datatype cannot hold.
    """
    if not isinstance(content, dict) or not isinstance(content.get("inputs"), list):
        raise InferenceError('the request must be an object with a list "inputs"')
    given: dict[str, Any] = {}
    for entry in content["inputs"]:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise InferenceError('each of "inputs" must be an object with a "name"')
        if entry["name"] in given:
            raise InferenceError(f"input {entry['name']!r} is given twice")
        given[entry["name"]] = entry
    wanted = [spec.name for spec in specs]
    if set(given) != set(wanted):
        raise InferenceError(f"the model's inputs are {wanted}; got {sorted(given)}")
    return [_tensor(given[spec.name], spec) for spec in specs]


def _tensor(entry: dict[str, Any], spec: TensorSpec) -> Tensor:
    if entry.get("datatype") != spec.datatype:
        raise InferenceError(f"input {spec.name!r} has datatype {entry.get('datatype')!r}; expected {spec.datatype}")
    shape = _shape(entry, spec)
    data = entry.get("data")
    if not isinstance(data, list):
        raise InferenceError(f'input {spec.name!r} needs "data": a list of its elements')
    array = _array(data, spec)
    if array.size != math.prod(shape) or array.shape not in (shape, (array.size,)):
        raise InferenceError(
            f"input {spec.name!r} has shape {list(shape)}, {math.prod(shape)} elements; its data have shape "
            f"{list(array.shape)}"
        )
    return weft.from_numpy(array.reshape(shape)).to(spec.dtype)


def _shape(entry: dict[str, Any], spec: TensorSpec) -> tuple[int, ...]:
    shape = entry.get("shape")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise InferenceError(f'input {spec.name!r} needs "shape": a list of sizes; got {shape!r}')
    fits = len(shape) == len(spec.shape) and all(want in (-1, size) for size, want in zip(shape, spec.shape))
    if not fits:
        raise InferenceError(f"input {spec.name!r} has shape {shape}; expected {list(spec.shape)}, -1 being any size")
    return tuple(shape)


def _array(data: list[Any], spec: TensorSpec) -> np.ndarray[Any, Any]:
    """Read JSON's elements into an array that `spec`'s dtype holds: exactly, or rounded if it is a floating one."""
    try:
        array = np.array(data)
        if spec.datatype == "UINT64" and array.dtype.kind in "fO":  # NumPy's guess where some are above those of int64
            array = np.array(data, object)
            array = array.astype(np.uint64) if all(type(each) is int for each in array.flat) else array
    except (ValueError, OverflowError) as error:
        raise InferenceError(f"input {spec.name!r}: its data are no array: {error}") from error
    if array.size == 0:
        return array.astype(np.float32)
    dtype = spec.dtype
    kinds = "b" if dtype is weft.bool else "fiu" if dtype.is_floating_point else "iu"
    if array.dtype.kind not in kinds:
        raise InferenceError(f"input {spec.name!r}: its data are not all of datatype {spec.datatype}")
    limits = None if dtype is weft.bool else weft.finfo(dtype) if dtype.is_floating_point else weft.iinfo(dtype)
    if limits is not None and not (limits.min <= array.min() and array.max() <= limits.max):
        raise InferenceError(f"input {spec.name!r} has elements that {spec.datatype} does not hold")
    if dtype.is_floating_point:
        return array.astype(np.float64 if dtype is weft.float64 else np.float32)
    return array


def encode(
    content: dict[str, Any], results: Sequence[Tensor], specs: Sequence[TensorSpec], name: str, version: str | None
) -> dict[str, Any]:
    """Return the response to a request: all outputs, or those that the request names.

    Parameters
    ----------
    content : dict
        The request.
    results : sequence of Tensor
        The model's outputs.
    specs : sequence of TensorSpec
        Of the outputs, in the same order.
    name : str
    version : str or None

    Raises
    ------
    InferenceError
        If the request names an output that the model has not, or an output has a NaN or an infinity: JSON has neither.
    """
    outputs = {spec.name: _output(spec, result) for spec, result in zip(specs, results)}
    wanted = requested_outputs(content, specs)
    response = {"model_name": name, "outputs": [outputs[each] for each in wanted]}
    if version is not None:
        response["model_version"] = version
    if isinstance(content.get("id"), str):
        response["id"] = content["id"]
    return response


def requested_outputs(content: dict[str, Any], specs: Sequence[TensorSpec]) -> list[str]:
    """Return the names of the outputs that a request asks for, and refuse one that there is not."""
    names = [spec.name for spec in specs]
    entries = content.get("outputs")
    if not entries:
        return names
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise InferenceError('"outputs" must be a list of objects with a "name"')
    for each in entries:
        if each.get("name") not in names:
            raise InferenceError(f"there is no output {each.get('name')!r}; the model's outputs are {names}")
    return [each["name"] for each in entries]


def _output(spec: TensorSpec, result: Tensor) -> dict[str, Any]:
    result = result.detach().cpu()
    if result.dtype.is_floating_point and not bool(result.isfinite().all()):
        raise InferenceError(f"output {spec.name!r} has a NaN or an infinity, which JSON cannot express")
    datatype = DATATYPES.get(result.dtype)
    if datatype is None:
        raise InferenceError(f"output {spec.name!r} has dtype {result.dtype}, which the protocol has not", status=500)
    shape = list(result.shape)
    return {"name": spec.name, "shape": shape, "datatype": datatype, "data": result.flatten().tolist()}
