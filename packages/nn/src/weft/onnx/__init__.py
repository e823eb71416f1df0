"""ONNX files: `export` writes a module as one, which onnxruntime and others run; `load` makes a module of one.

Both need the package ``onnx``.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any

from weft.onnx._builder import OnnxExporterError
from weft.onnx._export import ONNXProgram, export, is_in_onnx_export
from weft.onnx._importer.model import ONNXModule, load

__all__ = [
    "ONNXProgram",
    "ONNXModule",
    "OnnxExporterError",
    "OperatorExportTypes",
    "TensorProtoDataType",
    "TrainingMode",
    "export",
    "is_in_onnx_export",
    "load",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]


class TensorProtoDataType(IntEnum):
    """The format's numbers of dtypes, ``onnx.TensorProto.DataType``."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20


class TrainingMode(Enum):
    """In which mode a module is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(Enum):
    """Which operators a file may have."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Do nothing: the function would be called by an export."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Do nothing."""
