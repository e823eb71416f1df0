"""Dictionaries whose keys are objects as such, known by their identity and kept by nobody.

A tensor compares element by element, so that it is no key of `weakref.WeakKeyDictionary`.

Examples
--------
>>> names = WeakIdKeyDictionary()
>>> x = weft.ones(2)
>>> names[x] = "x"
>>> names[x], weft.ones(2) in names
('x', False)
>>> del x
>>> len(names)
0
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that is equal to those of the same object alone."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]  # a reference's __init__ takes them
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        found = self()
        if found is not None and isinstance(other, WeakIdRef):
            return found is other()
        return self is other  # of objects that are gone


class TensorWeakRef:
    """A weak reference to a tensor; calling it gives the tensor, or None once that is gone."""

    def __init__(self, tensor: Any) -> None:
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        return self.ref()


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dict whose keys are known by identity; an entry goes with its key.

    Parameters
    ----------
    dict : mapping, optional
        The first entries.
    ref_type : type
        Makes the references.
    """

    def __init__(self, dict: Mapping[Any, Any] | None = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        owner = weakref.ref(self)

        def remove(key: Any) -> None:
            found = owner()
            if found is not None:
                found.data.pop(key, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):  # an entry may go meanwhile
            key = reference()
            if key is not None:
                yield key

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # there are no weak references to it
            return False

    def keyrefs(self) -> list[Any]:
        """Return the references to the keys."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Return a dictionary of the same entries."""
        return WeakIdKeyDictionary(self, self.ref_type)

    __copy__ = copy

    def __or__(self, other: Mapping[Any, Any]) -> WeakIdKeyDictionary:
        joined = self.copy()
        joined.update(other)
        return joined

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary
