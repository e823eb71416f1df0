"""How arrays lie in memory: the order of their dimensions, blocks that fit a cache, and the array below a tensor."""

from weft._interception.transforms import memory_of
from weft._tensor.layout import in_order, is_channels_last, suggests_channels_last
from weft.ops._numerics import in_blocks

__all__ = ["in_blocks", "in_order", "is_channels_last", "memory_of", "suggests_channels_last"]
