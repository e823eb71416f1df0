"""PyTorch's module of primitives: the questions about dtypes and shapes that are reached as ``torch._prims.utils``."""

from __future__ import annotations

from weft import _prims_common as utils

__all__ = ["utils"]
