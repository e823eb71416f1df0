"""DLPack by the names that it had before ``weft.from_dlpack``."""

from __future__ import annotations

from typing import Any

from weft._tensor.base import Tensor
from weft._tensor.interop import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """Return a capsule of a tensor's memory, for one use.

    Parameters
    ----------
    tensor : Tensor

    Examples
    --------
    >>> from weft.utils.dlpack import to_dlpack
    >>> weft.from_dlpack(to_dlpack(weft.ones(2)))
    tensor([1., 1.])
    """
    if not hasattr(tensor, "__dlpack__"):
        raise TypeError(f"to_dlpack(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    return tensor.__dlpack__()
