"""The names of ``torch.onnx`` that programs import: weft writes no files in the ONNX format."""

from __future__ import annotations

from enum import Enum
from typing import Any

__all__ = [
    "OperatorExportTypes",
    "TrainingMode",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]


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


def export(*args: Any, **kwargs: Any) -> Any:
    """Raise RuntimeError: weft has no exporter."""
    raise RuntimeError(
        "onnx.export: weft writes no ONNX files. Save the state_dict with weft.save, load it into the same module in "
        "PyTorch, and export it there"
    )


def is_in_onnx_export() -> bool:
    """False: a module never runs to be exported."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Do nothing: the function would be called by an export."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Do nothing."""
