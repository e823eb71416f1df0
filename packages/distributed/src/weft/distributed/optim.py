"""Names of optimizers whose state is divided among processes."""

from weft.distributed._several import OfSeveral

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(OfSeveral):
    """An optimizer of whose state each process has a part."""


class DistributedOptimizer(OfSeveral):
    """An optimizer of parameters in several processes."""


class PostLocalSGDOptimizer(OfSeveral):
    """An optimizer that takes the mean of parameters over processes now and then."""
