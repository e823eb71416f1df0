"""Handles of registered hooks."""

from __future__ import annotations

import weakref
from typing import Any


class RemovableHandle:
    """What registering a hook returns: ``remove()`` takes the hook off again.

    It is a context manager too, which removes the hook at its end.

    Parameters
    ----------
    hooks_dict : dict
        Where the hook is to be put, under the handle's ``id``.
    extra_dict : dict or list of dict, optional
        Further places from which ``remove`` deletes that key.

    Attributes
    ----------
    id : int
        Unlike that of every other handle.
    """

    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extras = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(each) for each in extras)

    def remove(self) -> None:
        """Take the hook off; the second time nothing happens."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hooks_dict_ref(), self.id, tuple(each() for each in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id, extras = state
        # A dict that did not survive is replaced by one that nobody else holds: remove() then finds nothing.
        self.hooks_dict_ref = weakref.ref(HookDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(HookDict() if each is None else each) for each in extras)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class HookDict(dict[int, Any]):
    """Hooks by the id of their handle, in order; unlike a plain dict it can be referred to weakly."""
