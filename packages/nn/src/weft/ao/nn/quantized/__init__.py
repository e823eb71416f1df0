"""Layers with weights of 8 bits, see `weft.ao.nn.quantized.modules` and `weft.ao.nn.quantized.dynamic`."""

from weft.ao.nn.quantized.modules import LAYERS as LAYERS
from weft.ao.nn.quantized.modules import Conv1d, Conv2d, Conv3d, Linear, MaxPool2d

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear", "MaxPool2d"]
