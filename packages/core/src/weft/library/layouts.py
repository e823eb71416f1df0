"""How tensors lie in memory: blocks that fit a cache, the array below a tensor. Of arrays `weft.backend` tells more."""

from weft._interception.transforms import memory_of
from weft._tensor.layout import suggests_channels_last
from weft.ops._numerics import in_blocks

__all__ = ["in_blocks", "memory_of", "suggests_channels_last"]
