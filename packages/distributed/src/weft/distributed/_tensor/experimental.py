"""The former name of `weft.distributed.tensor.experimental`, which Opacus and Lightning import."""

from weft.distributed.tensor.experimental import implicit_replication

__all__ = ["implicit_replication"]
