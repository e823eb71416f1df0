"""`FullyShardedDataParallel`, whose parameters are divided among processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any

from weft.distributed._several import OfSeveral
from weft.distributed.fsdp.api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictType,
)

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "MixedPrecision",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictType",
]


class OptimStateKeyType(Enum):
    """How an optimizer's state dict names parameters."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


class FullyShardedDataParallel(OfSeveral):
    """A module whose parameters are divided among processes: there is none in a world of one."""

    @staticmethod
    @contextmanager
    def state_dict_type(module: Any, state_dict_type: StateDictType, *args: Any, **kwargs: Any) -> Iterator[None]:
        """Set the type of divided modules' state dicts inside of the block: there are none."""
        yield

    @staticmethod
    def fsdp_modules(module: Any, root_only: bool = False) -> list[Any]:
        """Return the divided modules in a module: none."""
        return []
