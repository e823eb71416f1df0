"""What PyTorch's compiled module has of nn and libraries use."""

from __future__ import annotations

from typing import Any

from weft.nn._module.conversion import _parse_to as parse

__all__ = ["_parse_to"]


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Return device, dtype, non_blocking and memory_format of the arguments of ``to``: Lightning's and fastai's own."""
    return parse(args, kwargs)
