"""The scaler of gradients that are divided among processes."""

from __future__ import annotations

from typing import Any

import weft
from weft.amp import GradScaler
from weft.distributed import distributed_c10d as c10d

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A `weft.amp.GradScaler` for processes that each have a part of the gradients: all leave a step out, or none.

    Parameters
    ----------
    device, init_scale, backoff_factor, growth_factor, growth_interval, enabled
        As of `weft.amp.GradScaler`.
    process_group : ProcessGroup, optional
        Of the processes among which the gradients are divided. Default: all.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self.process_group = process_group

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients by the scale, and ask all processes whether one of theirs is not finite."""
        super().unscale_(optimizer)
        if self.is_enabled():
            found = weft.tensor([any(bool(each) for each in self._found_inf[id(optimizer)])], dtype=weft.int32)
            c10d.all_reduce(found, c10d.ReduceOp.MAX, self.process_group)
            self._found_inf[id(optimizer)] = [bool(found)]
