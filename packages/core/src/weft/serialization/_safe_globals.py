"""What the user allows a safe load to build, besides tensors, containers and numbers."""

from __future__ import annotations

import _compat_pickle
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

Listed = Callable[..., Any] | tuple[Callable[..., Any], str]
_listed: list[Listed] = []


def add_safe_globals(safe_globals: Iterable[Listed]) -> None:
    """Let `load` with ``weights_only=True`` build objects of these classes, and call these functions.

    Parameters
    ----------
    safe_globals : iterable of classes and functions
        Or of pairs of one and the ``module.name`` that files have for it.

    Notes
    -----
    Each is called with whatever arguments a file gives: list only what can do no harm.
    """
    for item in safe_globals:
        name_of(item)
        if item not in _listed:
            _listed.append(item)


def get_safe_globals() -> list[Listed]:
    """Return what has been listed."""
    return list(_listed)


def clear_safe_globals() -> None:
    """Forget what has been listed."""
    _listed.clear()


class safe_globals:
    """List classes and functions as safe within a ``with`` block.

    Parameters
    ----------
    safe_globals : list of classes and functions, or pairs as for `add_safe_globals`

    Examples
    --------
    >>> from fractions import Fraction
    >>> with weft.serialization.safe_globals([Fraction]):
    ...     weft.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    """

    def __init__(self, safe_globals: list[Listed]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self.safe_globals)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _listed[:] = self._before


def name_of(item: Listed) -> str:
    """Return what files call a listed object."""
    if isinstance(item, tuple):
        if len(item) != 2 or type(item[1]) is not str:
            raise ValueError(f"add_safe_globals: a pair is an object and its module.name, got {item!r}")
        return item[1]
    module, name = getattr(item, "__module__", None), getattr(item, "__qualname__", None)
    if not callable(item) or module is None or name is None:
        raise TypeError(f"add_safe_globals: expected classes and functions, or pairs of one and its name; got {item!r}")
    return full_name(module, name)


def listed() -> dict[str, Any]:
    """Return the listed objects by the names that files have for them."""
    return {name_of(item): item[0] if isinstance(item, tuple) else item for item in _listed}


def full_name(module: str, name: str) -> str:
    """``module.name`` as Python 3 has it, from the Python 2 name that protocol 2 writes."""
    if (module, name) in _compat_pickle.NAME_MAPPING:
        module, name = _compat_pickle.NAME_MAPPING[module, name]
    return f"{_compat_pickle.IMPORT_MAPPING.get(module, module)}.{name}"
