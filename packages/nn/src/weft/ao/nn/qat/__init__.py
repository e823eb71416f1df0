"""Layers that are trained with the errors of rounding, see `weft.ao.nn.qat.modules`."""

from weft.ao.nn.qat.modules import QAT_LAYERS as QAT_LAYERS
from weft.ao.nn.qat.modules import Conv1d, Conv2d, Conv3d, Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]
