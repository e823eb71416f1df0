"""Data sets that are read line by line."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import weft
from weft.utils.data import IterableDataset, get_worker_info


class TextDataset(IterableDataset[Any]):
    """Samples in the order of their file; each worker of a loader reads its own share.

    It has the methods of torchdata's pipes that programs with torchtext call. Each returns a data set; the one that it
    is called on stays as it is.

    Parameters
    ----------
    read : callable
        Called for each pass, with ``arguments``; returns the samples.
    *arguments
        Given to ``read``; where worker processes are started afresh, both are pickled.

    Examples
    --------
    >>> numbers = TextDataset(range, 5)
    >>> list(numbers.map(lambda x: x * x).filter(lambda x: x > 0).batch(3))
    [[1, 4, 9], [16]]
    """

    def __init__(self, read: Callable[..., Iterable[Any]], *arguments: Any) -> None:
        self._read = read
        self._arguments = arguments
        self._buffer_size = 10_000
        self._shuffled = False

    def __iter__(self) -> Iterator[Any]:
        samples = self._samples()
        return _shuffled(samples, self._buffer_size) if self._shuffled else samples

    def _samples(self) -> Iterator[Any]:
        """Return this worker's share of what the file has."""
        worker = get_worker_info()
        samples = iter(self._read(*self._arguments))
        return samples if worker is None else islice(samples, worker.id, None, worker.num_workers)

    def map(self, fn: Callable[[Any], Any]) -> TextDataset:
        """Return the samples as a function makes them."""
        return _Derived(map, fn, self)

    def filter(self, filter_fn: Callable[[Any], bool]) -> TextDataset:
        """Return the samples for which a function is true."""
        return _Derived(filter, filter_fn, self)

    def batch(self, batch_size: int, drop_last: bool = False) -> TextDataset:
        """Return lists of ``batch_size`` samples; the last one may be shorter, unless it is dropped.

        Raises
        ------
        ValueError
            If ``batch_size`` is not positive.
        """
        if batch_size < 1:
            raise ValueError(f"batch: batch_size must be positive, got {batch_size}")
        return _Derived(_batches, self, batch_size, drop_last)

    def rows2columnar(self, column_names: list[str] | None = None) -> TextDataset:
        """Return batches of rows as batches of columns: lists, or with names a dict of them."""
        return _Derived(_columns_of_batches, self, column_names or [])

    def shuffle(self, *, buffer_size: int = 10_000) -> TextDataset:
        """Return the samples in random order, drawn from a buffer of the next ``buffer_size``."""
        shuffled = _Derived(iter, self)
        shuffled._shuffled, shuffled._buffer_size = True, buffer_size
        return shuffled

    def set_shuffle(self, shuffle: bool = True) -> TextDataset:
        """Switch the random order on or off, as ``DataLoader(shuffle=...)`` does, and return the data set itself."""
        self._shuffled = shuffle
        return self

    def sharding_filter(self) -> TextDataset:
        """Return the data set itself: the workers of a loader read a share each as it is."""
        return self


class _Derived(TextDataset):
    """Made from another data set, which takes the worker's share."""

    def _samples(self) -> Iterator[Any]:
        return iter(self._read(*self._arguments))


def _batches(samples: Iterable[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    remaining = iter(samples)
    while batch := list(islice(remaining, size)):
        if len(batch) == size or not drop_last:
            yield batch


def _columns_of_batches(batches: Iterable[list[Any]], names: list[str]) -> Iterator[Any]:
    for batch in batches:
        columns = [list(column) for column in zip(*batch)]
        yield dict(zip(names, columns)) if names else columns


def _shuffled(samples: Iterator[Any], buffer_size: int) -> Iterator[Any]:
    """Yield samples in random order, by weft's random numbers: `weft.manual_seed` repeats it."""
    draws = random.Random(int(weft.empty((), dtype=weft.int64).random_()))
    buffer = list(islice(samples, buffer_size))
    for sample in samples:
        place = draws.randrange(len(buffer))
        buffer[place], sample = sample, buffer[place]
        yield sample
    draws.shuffle(buffer)
    yield from buffer
