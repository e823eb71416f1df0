"""The ways in which ops run on divided tensors, by families."""

from weft.distributed.tensor._rules import (  # noqa: F401
    creation,
    indexing,
    lists,
    losses,
    matrices,
    modules,
    pointwise,
    random,
    reductions,
    views,
)
