"""The scaler of gradients that are divided among processes."""

from weft.distributed._several import OfSeveral

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(OfSeveral):
    """Scales divided gradients: there are none in a world of one, where `weft.amp.GradScaler` serves."""
