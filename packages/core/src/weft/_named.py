"""Named results of ops that return several tensors, as ``weft.return_types.max``."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from weft import _spoken

_types: dict[str, Any] = {}


def named(name: str, fields: str) -> Any:
    """The named-tuple class of an op's results."""
    if name not in _types:
        made = namedtuple(name, fields)  # type: ignore[misc]
        made.__module__ = "weft.return_types"
        made.__repr__ = _repr  # type: ignore[method-assign]
        _types[name] = made
    return _types[name]


def _repr(self: Any) -> str:
    fields = ",\n".join(f"{field}={value!r}" for field, value in zip(self._fields, self))
    return f"{_spoken.name}.return_types.{type(self).__name__}(\n{fields})"
