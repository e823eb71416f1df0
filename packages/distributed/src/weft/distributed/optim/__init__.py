"""Optimizers of several processes."""

from weft.distributed._several import OfSeveral
from weft.distributed.optim.apply_optimizer_in_backward import (
    _apply_optimizer_in_backward as _apply_optimizer_in_backward,
)
from weft.distributed.optim.apply_optimizer_in_backward import (
    _get_in_backward_optimizers as _get_in_backward_optimizers,
)
from weft.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from weft.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]


class DistributedOptimizer(OfSeveral):
    """An optimizer of parameters that are in other processes, which would need remote calls."""
