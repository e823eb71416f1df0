"""Automatic mixed precision by its older name: `weft.amp` for tensors on the CPU."""

from __future__ import annotations

from typing import Any

from weft import amp
from weft._dtypes.dtypes import bfloat16

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """``weft.autocast("cpu")``."""

    def __init__(self, enabled: bool = True, dtype: Any = bfloat16, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """``weft.amp.GradScaler("cpu")``."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
