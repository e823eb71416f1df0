"""Named results of ops that return several tensors, as ``weft.return_types.max``."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from weft import _display_name

_types: dict[str, Any] = {}


def named(name: str, fields: str) -> Any:
    """The named-tuple class of an op's results."""
    if name not in _types:
        made = namedtuple(name, fields)  # type: ignore[misc]
        made.__module__ = f"{_display_name.name}.return_types"
        made.__repr__ = _repr  # type: ignore[method-assign]
        made.__new__ = _of_one_by_one_or_all(made)  # type: ignore[method-assign]
        made.n_fields = made.n_sequence_fields = len(made._fields)  # type: ignore[attr-defined]
        made.n_unnamed_fields = 0  # type: ignore[attr-defined]
        _types[name] = made
    return _types[name]


def _of_one_by_one_or_all(made: Any) -> Any:
    """The constructor of a named tuple, which PyTorch's types call with one sequence of all results."""
    one_by_one, count = made.__new__, len(made._fields)

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == count and not kwargs and type(args[-1]) is not dict:
            return tuple.__new__(cls, args)
        if len(args) == 2 and type(args[1]) is dict:  # from a pickle of PyTorch's: fields without a place in the tuple
            args = args[:1]
        if len(args) == 1 and not kwargs and isinstance(args[0], tuple | list):
            args = tuple(args[0])
            if len(args) != count:
                raise TypeError(f"{cls.__name__}() takes a {count}-sequence ({len(args)}-sequence given)")
        return one_by_one(cls, *args, **kwargs)

    return new


def _repr(self: Any) -> str:
    fields = ",\n".join(f"{field}={value!r}" for field, value in zip(self._fields, self))
    return f"{_display_name.name}.return_types.{type(self).__name__}(\n{fields})"
