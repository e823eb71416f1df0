"""What converters of PyTorch's ONNX exporter ask: which opset is written, and ONNX's names of dtypes.

onnx2torch reads the opset, transformers' SEW-D the dtypes; neither writes a file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["GLOBALS", "cast_pytorch_to_onnx", "parse_args"]


class Globals:
    """The settings of an export.

    Attributes
    ----------
    export_onnx_opset_version : int
        The opset that PyTorch writes where none is asked for.
    in_onnx_export : bool
        Never: weft writes no files in the ONNX format.
    """

    export_onnx_opset_version = 20
    in_onnx_export = False


GLOBALS = Globals()
# The values of onnx.TensorProto.DataType by the names of PyTorch's tensor types.
cast_pytorch_to_onnx = {
    "Undefined": 0,
    "Float": 1,
    "Byte": 2,
    "Char": 3,
    "Short": 5,
    "Int": 6,
    "Long": 7,
    "Bool": 9,
    "Half": 10,
    "Double": 11,
    "ComplexFloat": 14,
    "ComplexDouble": 15,
    "BFloat16": 16,
}


def parse_args(*arg_descriptors: str) -> Callable[[Any], Any]:
    """Decorator: return the function, which an export would call with values of a graph. torchvision has some."""
    return lambda function: function
