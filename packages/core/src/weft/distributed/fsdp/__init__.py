"""Names of modules whose parameters are divided among processes, and of their options.

Options are plain values, which a configuration may hold; a module that is divided is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from weft.distributed._several import OfSeveral, refused

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecision",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "ShardingStrategy",
    "StateDictType",
    "fully_shard",
]


class ShardingStrategy(Enum):
    """What is divided."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the next parameters are gathered in the backward pass."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """Which parameters a state dict has."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class CPUOffload:
    """Whether parameters rest in the memory of the CPU."""

    offload_params: bool = False


@dataclass
class MixedPrecision:
    """The dtypes of computation, of gradients' reduction and of buffers."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of computation, of gradients' reduction and of outputs."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters stay where they are."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters rest in the memory of the CPU."""

    pin_memory: bool = True


class FullyShardedDataParallel(OfSeveral):
    """A module whose parameters are divided among processes: there is none in a world of one."""


class FSDPModule(OfSeveral):
    """What `fully_shard` would make a module: there is none in a world of one."""


fully_shard = refused("fully_shard", __name__)
