"""Telling the program where it waits for the device (`weft.cuda.set_sync_debug_mode`).

Nearly all waits are copies to the host, which the backend makes. Kernels whose result has a size that depends on values
wait inside of CuPy, and solvers that must converge are looked at there: these are told by their op.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft.backend import Backend, invalidate_kernels
from weft.library.checks import warn_caller

WARN, ERROR = 1, 2
SIZED = frozenset({"core::argwhere", "core::nonzero", "core::unique", "core::unique_consecutive"})
SOLVED = frozenset(f"core::linalg_{each}" for each in "eig eigvals eigh eigvalsh svd svdvals pinv".split())


class SyncDebug(Backend):
    """What a backend owes of telling waits."""

    sync_debug_mode = 0

    def set_sync_debug_mode(self, mode: int) -> None:
        """Say nothing of waits (0), warn (1), or refuse to wait (2)."""
        self.sync_debug_mode = mode
        invalidate_kernels()  # those that wait inside are others now

    def waits_for(self, what: str) -> None:
        """Tell the program that it waits, as it asked to be told."""
        if self.sync_debug_mode == WARN:
            warn_caller(f"called a synchronizing CUDA operation: {what}")
        elif self.sync_debug_mode == ERROR:
            raise RuntimeError(f"called a synchronizing CUDA operation: {what} (weft.cuda.set_sync_debug_mode)")

    def telling(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel, which tells of its waits if it has any."""
        if name not in SIZED | SOLVED:
            return kernel

        @functools.wraps(kernel)
        def told(*args: Any, **options: Any) -> Any:
            self.waits_for(name.partition("::")[2].replace("linalg_", "linalg."))
            return kernel(*args, **options)

        return told
