"""Signal processing by PyTorch's names: window functions."""

from weft.signal import windows

__all__ = ["windows"]
