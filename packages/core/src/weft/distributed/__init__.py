"""The names that programs for several processes ask, answered for a world of one.

A program that may run alone finds out here that it does: `is_initialized` is False, ranks are 0, and after
`init_process_group` with one process every collective is the identity. More than one process is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft._lazy import load
from weft.distributed.distributed_c10d import *
from weft.distributed.distributed_c10d import _get_default_group as _get_default_group

if not TYPE_CHECKING:  # hidden, so that a checker still flags weft.distributed.fsbp

    def __getattr__(name):
        if name in ("DeviceMesh", "init_device_mesh"):
            return getattr(load("device_mesh", __name__), name)
        return load(name, __name__)
