"""Names of checkpoints that several processes write together."""

from weft.distributed._several import refused

__all__ = ["async_save", "load", "save"]

load = refused("checkpoint.load", __name__)
save = refused("checkpoint.save", __name__)
async_save = refused("checkpoint.async_save", __name__)
