"""Names of the ways to divide a module's layers among processes."""

from weft.distributed._several import OfSeveral, refused

__all__ = ["ColwiseParallel", "ParallelStyle", "RowwiseParallel", "SequenceParallel", "parallelize_module"]


class ParallelStyle(OfSeveral):
    """Base of the ways."""


class ColwiseParallel(ParallelStyle):
    """A linear layer whose output's columns are divided."""


class RowwiseParallel(ParallelStyle):
    """A linear layer whose input's columns are divided."""


class SequenceParallel(ParallelStyle):
    """A layer whose input is divided along the sequence."""


parallelize_module = refused("parallelize_module", __name__)
