"""`fully_shard` and its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weft.distributed._several import OfSeveral, refused

__all__ = ["CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "fully_shard"]


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


class FSDPModule(OfSeveral):
    """What `fully_shard` would make a module: there is none in a world of one."""


fully_shard = refused("fully_shard", "weft.distributed.fsdp")
