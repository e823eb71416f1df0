"""What programs take of PyTorch's module for printing tensors, by its name: the options, and the text of values."""

from __future__ import annotations

from typing import Any

from weft._devices.devices import backend_of
from weft._engine.unresolved import values_of
from weft._tensor.printing import body_text, options

__all__ = ["PRINT_OPTS"]

PRINT_OPTS = options  # what `weft.set_printoptions` sets, as attributes


def _tensor_str(self: Any, indent: int) -> str:
    """The values of a tensor in their brackets, as they stand in its text."""
    if not self.numel():
        return "[]"
    return body_text(values_of(self.detach()._array), backend_of(self.device).to_numpy, indent)
