"""What PyTorch's tracers would have under way, as tensordict asks before it maps a file: nothing."""

from __future__ import annotations

__all__ = ["active_fake_mode"]


def active_fake_mode() -> None:
    """None: tensors without memory are on the device meta, which needs no mode."""
