"""What divides work among processes and has no meaning for one: the names are there, their use is refused."""

from __future__ import annotations

from typing import Any, NoReturn

REMEDY = "weft trains in one process: leave the parallel plan, the sharding or the device mesh out"


class OfSeveral:
    """Base of such classes. `isinstance` may ask for them (it is always False); making one is refused.

    Raises
    ------
    NotImplementedError
        When one is made.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__}: it divides work among processes; {REMEDY}")


def refused(name: str, module: str) -> Any:
    """A function of that name that raises NotImplementedError."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{name}: it divides work among processes; {REMEDY}")

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = f"Refused: ``{name}`` divides work among processes, and there is one."
    return function
