"""The base classes of data pipes, and the decorator that makes a pipe a method of others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from weft.utils.data.dataset import Dataset, IterableDataset

__all__ = ["IterDataPipe", "MapDataPipe", "functional_datapipe"]

T_co = TypeVar("T_co", covariant=True)
Pipe = TypeVar("Pipe", bound=type)


class _Chained:
    """What both kinds have: the registered pipes as methods."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        if name in type(self).functions:
            return functools.partial(type(self).functions[name], self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Make a function of a pipe a method of all pipes of this kind."""
        cls.functions[function_name] = function

    def __repr__(self) -> str:
        return type(self).__name__


class IterDataPipe(_Chained, IterableDataset[T_co]):
    """An `IterableDataset` whose registered pipes are methods.

    Examples
    --------
    >>> @functional_datapipe("doubled")
    ... class Doubled(IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...
    ...     def __iter__(self):
    ...         return (2 * each for each in self.source)
    >>> from weft.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2]).doubled())
    [2, 4]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def reset(self) -> None:
        """Begin again; a pipe that has a state overrides it."""


class MapDataPipe(_Chained, Dataset[T_co]):
    """A `Dataset` whose registered pipes are methods.

    Examples
    --------
    >>> class Squares(MapDataPipe):
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> Squares(), Squares()[3]
    (Squares, 9)
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class functional_datapipe:
    """A decorator that makes a class of pipes, which takes another pipe first, a method of its kind of pipes.

    Parameters
    ----------
    name : str
        Of the method.
    enable_df_api_tracing : bool
        Accepted; there are no data frames.

    Raises
    ------
    TypeError
        If it decorates something else.

    Examples
    --------
    >>> from weft.utils.data.datapipes.iter import IterableWrapper
    >>> @functional_datapipe("first")
    ... class First(IterDataPipe):
    ...     def __init__(self, source, count):
    ...         self.source, self.count = source, count
    ...
    ...     def __iter__(self):
    ...         return (each for each, _ in zip(self.source, range(self.count)))
    >>> list(IterableWrapper("abc").first(2))
    ['a', 'b']
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: Pipe) -> Pipe:
        for kind in (IterDataPipe, MapDataPipe):
            if isinstance(cls, type) and issubclass(cls, kind):
                kind.register_function(self.name, cls)
                return cls
        raise TypeError(f"functional_datapipe: expected a class of IterDataPipe or MapDataPipe, got {cls}")
