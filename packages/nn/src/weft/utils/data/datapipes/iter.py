"""Pipes that are iterated over."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from weft.utils.data.datapipes.datapipe import IterDataPipe

__all__ = ["IterDataPipe", "IterableWrapper"]

T = TypeVar("T")


class IterableWrapper(IterDataPipe[T]):
    """A pipe of what an iterable gives.

    Parameters
    ----------
    iterable : iterable
    deepcopy : bool
        Iterate over a copy, so that what is written to samples is not there the next time.

    Examples
    --------
    >>> list(IterableWrapper(range(3)))
    [0, 1, 2]
    """

    def __init__(self, iterable: Iterable[T], deepcopy: bool = True) -> None:
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Iterator[T]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                warnings.warn(
                    "IterableWrapper: The input iterable can not be deepcopied, please be aware of in-place "
                    "modification would affect source data; deepcopy=False says so",
                    stacklevel=2,
                )
        yield from source

    def __len__(self) -> int:
        if isinstance(self.iterable, Sized):
            return len(self.iterable)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
