"""`weft.ops.aten`: functions by the names that PyTorch's dispatcher has for them, for programs that call those."""

from __future__ import annotations

from typing import Any

import weft
from weft._lazy import attribute_of, portions

# Functions that PyTorch has in this namespace alone: where they are. Portions have some more.
HOMES = {
    "alias": "weft.ops.views:alias",
    "slice": "weft.ops.copies:_slice",
}
PLACES = ("", "nn.functional.")
PREFIXED = {"linalg_": "linalg.", "fft_": "fft.", "special_": "special."}


class Overloads:
    """A function under its dispatcher's name.

    Each attribute without a leading underscore is one of its overloads (``add.Tensor``, ``add.Scalar``,
    ``add.default``): there the same function, which finds out by itself what it was given.
    """

    def __init__(self, name: str, function: Any, overload: str = "") -> None:
        self.__name__ = name
        self.__doc__ = function.__doc__
        self._function = function
        self._overload = overload

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Overloads:
        if name.startswith("_") or self._overload:
            raise AttributeError(f"'{self}' has no attribute {name!r}")
        found = Overloads(self.__name__, self._function, name)
        setattr(self, name, found)  # so that an overload is one object
        return found

    def __copy__(self) -> Overloads:
        return self

    def __deepcopy__(self, memo: Any) -> Overloads:
        return self

    def __reduce__(self) -> Any:
        return handle, (self.__name__, self._overload)

    def __str__(self) -> str:
        return ".".join(filter(None, ("aten", self.__name__, self._overload)))

    def __repr__(self) -> str:
        return f"<weft.ops.{self}>"


class Namespace:
    """The functions by their dispatcher's names, each made when it is first asked for.

    A name is that of a function of `weft` or of `weft.nn.functional`, with a prefix one of `weft.linalg`, `weft.fft` or
    `weft.special` (``linalg_inv``), or a method of Tensor (``add_``, ``view``).

    Examples
    --------
    >>> weft.ops.aten.slice.Tensor(weft.arange(5), 0, 1, None, 2)
    tensor([1, 3])
    """

    def __getattr__(self, name: str) -> Overloads:
        function = None if name.startswith("__") else function_named(name)
        if function is None:
            raise AttributeError(
                f"weft.ops.aten has no attribute {name!r}; it has the functions of weft, weft.nn.functional, "
                "weft.linalg, weft.fft and weft.special, and the methods of Tensor"
            )
        found = Overloads(name, function)
        setattr(self, name, found)
        return found

    def __repr__(self) -> str:
        return "<weft.ops.aten>"


def function_named(name: str) -> Any:
    """The function that a dispatcher's name stands for, or None."""
    homes = [table[name] for table in (HOMES, *(each.ATEN for each in portions())) if name in table]
    if homes:
        home, _, own = homes[0].partition(":")
        return attribute_of(home, own, f"weft.ops.aten has no attribute {name!r}")
    paths = [place + name for place in PLACES]
    paths += [place + name.removeprefix(prefix) for prefix, place in PREFIXED.items() if name.startswith(prefix)]
    for path in (*paths, f"Tensor.{name}"):
        found: Any = weft
        for part in path.split("."):
            found = getattr(found, part, None)
        if callable(found) and not isinstance(found, type):
            return found
    return None


def handle(name: str, overload: str) -> Any:
    """The function, or the overload of one, by its names."""
    found = getattr(aten, name)
    return getattr(found, overload) if overload else found


aten = Namespace()
