"""Reads a file's messages: tensors (also those in other files), attributes, types.

Nothing here trusts the file. Sizes are compared with the bytes that are there before memory is taken for them, and
data outside the model's folder is not opened.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

import weft

__all__ = [
    "DTYPES",
    "array_of",
    "attribute_of",
    "dtype_of",
    "narrow_dtype",
    "sparse_of",
    "tensor_from_numpy",
    "text_of",
]

STRING = 8
# The numbers of onnx.TensorProto.DataType.
DTYPES = {
    1: weft.float32,
    2: weft.uint8,
    3: weft.int8,
    4: weft.uint16,
    5: weft.int16,
    6: weft.int32,
    7: weft.int64,
    9: weft.bool,
    10: weft.float16,
    11: weft.float64,
    12: weft.uint32,
    13: weft.uint64,
    14: weft.complex64,
    15: weft.complex128,
    16: weft.bfloat16,
    17: weft.float8_e4m3fn,
    18: weft.float8_e4m3fnuz,
    19: weft.float8_e5m2,
    20: weft.float8_e5m2fnuz,
    24: weft.float8_e8m0fnu,
}
NARROW = {21, 22, 23, 25, 26}  # UINT4, INT4, FLOAT4E2M1, UINT2, INT2
FLOAT8 = {
    str(dtype).removeprefix("weft."): dtype
    for dtype in DTYPES.values()
    if dtype.itemsize == 1 and dtype.is_floating_point
}


def dtype_of(number: int) -> weft.dtype:
    """The dtype of a number of ``onnx.TensorProto.DataType``.

    Raises
    ------
    NotImplementedError
        If weft has none: types of 2 and 4 bits, strings.
    """
    if number not in DTYPES:
        import onnx

        names = {value: name for name, value in onnx.TensorProto.DataType.items()}
        raise NotImplementedError(f"onnx.load: weft has no dtype for ONNX's {names.get(number, number)}")
    return DTYPES[number]


def narrow_dtype(number: int) -> np.dtype[Any] | None:
    """NumPy's dtype for numbers of 2 or 4 bits, of which weft has no tensors; None for others."""
    if number not in NARROW:
        return None
    from onnx import helper

    return helper.tensor_dtype_to_np_dtype(number)


def text_of(value: bytes) -> str:
    """A string of the file, which should be UTF-8."""
    return value.decode("utf-8", "replace")


def tensor_from_numpy(array: np.ndarray[Any, Any]) -> Any:
    """A tensor of an array's values, which it does not share; an array of strings or narrow numbers as it is."""
    if array.dtype == object or array.dtype.kind in "SU":
        return array.astype(object)
    if array.dtype.name.startswith(("int4", "uint4", "int2", "uint2", "float4")):
        return array
    if array.dtype.name in FLOAT8:
        return weft.tensor(array.view(np.uint8)).view(FLOAT8[array.dtype.name])
    try:
        return weft.from_numpy(np.array(array))  # a copy: arrays of a file's bytes are read-only
    except TypeError:
        raise NotImplementedError(f"onnx.load: weft has no dtype for ONNX's {array.dtype.name.upper()}") from None


def external_bytes(proto: Any, folder: Path | None) -> bytes:
    """The data of a tensor that are in another file.

    Raises
    ------
    ValueError
        If the file is not inside the model's folder (also by a symbolic link), or is too short.
    """
    entries = {entry.key: entry.value for entry in proto.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise ValueError(
            f"onnx.load: the data of tensor {proto.name!r} are in the file {location!r}; give load the model's path"
        )
    home = folder.resolve()
    path = (home / location).resolve()
    if not location or Path(location).is_absolute() or not path.is_relative_to(home) or not path.is_file():
        raise ValueError(
            f"onnx.load: tensor {proto.name!r} has its data in {location!r}, which is no file inside the model's folder"
        )
    try:
        offset, size = int(entries.get("offset", 0)), path.stat().st_size
        length = int(entries.get("length", size - offset))
    except ValueError:
        raise ValueError(f"onnx.load: tensor {proto.name!r}: offset and length must be whole numbers") from None
    if offset < 0 or length < 0 or offset + length > size:
        raise ValueError(
            f"onnx.load: tensor {proto.name!r} needs {length} bytes from {offset} on of {location!r}, which has {size}"
        )
    with path.open("rb") as file:
        file.seek(offset, os.SEEK_SET)
        return file.read(length)


def array_of(proto: Any, folder: Path | None = None) -> np.ndarray[Any, Any]:
    """The values of a TensorProto.

    Raises
    ------
    ValueError
        If the bytes are not those of the shape.
    """
    from onnx import TensorProto, helper, numpy_helper

    if any(size < 0 for size in proto.dims):
        raise ValueError(f"onnx.load: tensor {proto.name!r} has a negative size: {list(proto.dims)}")
    try:
        dtype = helper.tensor_dtype_to_np_dtype(proto.data_type)
    except KeyError:
        raise ValueError(f"onnx.load: tensor {proto.name!r} has no dtype that is known: {proto.data_type}") from None
    if proto.data_location == TensorProto.EXTERNAL:
        data = external_bytes(proto, folder)
        if dtype.itemsize * math.prod(proto.dims) == len(data) and not dtype.name.startswith(("int4", "uint4")):
            return np.frombuffer(data, dtype).reshape(proto.dims)
        copy = TensorProto(dims=proto.dims, data_type=proto.data_type, raw_data=data, name=proto.name)
        return array_of(copy)
    try:
        array = numpy_helper.to_array(proto)
    except (ValueError, TypeError, OverflowError, IndexError, AttributeError) as error:
        raise ValueError(
            f"onnx.load: the data of tensor {proto.name!r} are not those of the shape {list(proto.dims)} and dtype "
            f"{dtype}: {error}"
        ) from None
    if array.dtype == object:
        decoded = [text_of(each) if isinstance(each, bytes) else str(each) for each in array.ravel().tolist()]
        return np.array([*decoded, None], dtype=object)[:-1].reshape(array.shape)
    return array


def sparse_of(proto: Any, folder: Path | None = None) -> Any:
    """The values of a SparseTensorProto, as a dense tensor."""
    values = tensor_from_numpy(array_of(proto.values, folder))
    indices = weft.from_numpy(np.array(array_of(proto.indices, folder), dtype=np.int64))
    dims = list(proto.dims)
    dense = weft.zeros(math.prod(dims), dtype=values.dtype)
    if indices.ndim == 2:
        strides = [math.prod(dims[axis + 1 :]) for axis in range(len(dims))]
        indices = (indices * weft.tensor(strides)).sum(1)
    return dense.scatter(0, indices, values).reshape(dims)


def attribute_of(attribute: Any, folder: Path | None = None) -> Any:
    """The value of an AttributeProto: numbers, texts, lists of them, arrays; graphs as their messages.

    Raises
    ------
    NotImplementedError
        For kinds of values that no operator here takes.
    """
    from onnx import AttributeProto as Kind

    kind = attribute.type
    if kind in (Kind.FLOAT, Kind.INT):
        return attribute.f if kind == Kind.FLOAT else attribute.i
    if kind == Kind.STRING:
        return text_of(attribute.s)
    if kind in (Kind.FLOATS, Kind.INTS):
        return list(attribute.floats if kind == Kind.FLOATS else attribute.ints)
    if kind == Kind.STRINGS:
        return [text_of(each) for each in attribute.strings]
    if kind == Kind.TENSOR:
        return array_of(attribute.t, folder)
    if kind == Kind.SPARSE_TENSOR:
        return sparse_of(attribute.sparse_tensor, folder)
    if kind == Kind.GRAPH:
        return attribute.g
    if kind == Kind.TYPE_PROTO:
        return None  # of Optional: the type of a value that is not there
    raise NotImplementedError(f"onnx.load: attribute {attribute.name!r} has a kind that is not supported: {kind}")
