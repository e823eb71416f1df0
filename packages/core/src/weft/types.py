"""Names for annotations: what stands for a device, a number, a size."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from weft._devices.devices import device as _device
from weft._dtypes.dtypes import dtype as _dtype_class
from weft._tensor.base import Tensor
from weft._tensor.layout import layout as Layout
from weft._tensor.layout import memory_format as MemoryFormat
from weft._tensor.size import Size
from weft.storage import TypedStorage as Storage

__all__ = [
    "BoolLikeType",
    "DType",
    "Device",
    "FileLike",
    "FloatLikeType",
    "IntLikeType",
    "Layout",
    "MemoryFormat",
    "Number",
    "Scalar",
    "Size",
    "Storage",
    "Tensor",
    "py_sym_types",
]

Device: TypeAlias = _device | str | int | None
DType: TypeAlias = _dtype_class | type[bool | int | float | complex]
Number: TypeAlias = int | float | bool
Scalar: TypeAlias = Number | complex
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
py_sym_types: tuple[Any, ...] = ()

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_dtype: TypeAlias = Any
_size: TypeAlias = Size | list[int] | tuple[int, ...]
