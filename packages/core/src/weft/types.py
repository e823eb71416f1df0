"""Names for annotations: what stands for a device, a number, a size."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from weft._devices.devices import device as _device
from weft._tensor.base import Tensor
from weft._tensor.size import Size
from weft.storage import TypedStorage as Storage

__all__ = [
    "BoolLikeType",
    "Device",
    "FileLike",
    "FloatLikeType",
    "IntLikeType",
    "Number",
    "Size",
    "Storage",
    "Tensor",
    "py_sym_types",
]

Device: TypeAlias = _device | str | int | None
Number: TypeAlias = int | float | bool
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
py_sym_types: tuple[Any, ...] = ()

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_dtype: TypeAlias = Any
_size: TypeAlias = Size | list[int] | tuple[int, ...]
