"""What PyTorch's compiled module has of nn and libraries use."""

from __future__ import annotations

from typing import Any

import weft
from weft._portions.nn import ATEN
from weft.nn._module.conversion import _parse_to as parse

__all__ = ["_parse_to"]


def __getattr__(name: str) -> Any:
    """A function of neural networks that `weft.ops.aten` has by its dispatcher's name."""
    if name in ATEN:
        return getattr(weft.ops.aten, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Return device, dtype, non_blocking and memory_format of the arguments of ``to``: Lightning's and fastai's own."""
    return parse(args, kwargs)
