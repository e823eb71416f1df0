"""Optimizers of several processes."""

from typing import Any

from weft.distributed.optim.apply_optimizer_in_backward import (
    _apply_optimizer_in_backward as _apply_optimizer_in_backward,
)
from weft.distributed.optim.apply_optimizer_in_backward import (
    _get_in_backward_optimizers as _get_in_backward_optimizers,
)
from weft.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from weft.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]


class DistributedOptimizer:
    """An optimizer of parameters that are in other processes, which would need remote calls.

    Raises
    ------
    NotImplementedError
        When one is made.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "DistributedOptimizer: there are no remote calls (weft.distributed.rpc); divide the optimizer's state with "
            "ZeroRedundancyOptimizer, or the parameters with fully_shard"
        )
