"""Functions that write an operator into an ONNX graph: torchvision has some that call these, where an export runs."""

from weft.onnx import export as select
from weft.onnx import export as squeeze
from weft.onnx import export as unsqueeze

__all__ = ["select", "squeeze", "unsqueeze"]
