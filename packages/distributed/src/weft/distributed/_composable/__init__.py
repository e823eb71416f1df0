"""The former place of `weft.distributed.fsdp.fully_shard`."""

from weft.distributed.fsdp import fully_shard

__all__ = ["fully_shard"]
