"""Fetchers: from what the sampler gives to a collated batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.utils.data._utils.collate import default_collate
from weft.utils.data.sampler import take

__all__ = ["Fetcher", "IterableFetcher", "MapFetcher", "make_fetcher"]


class Fetcher:
    """Reads batches, or single samples, of a dataset and collates them."""

    ends = False  # whether a StopIteration means that there is no more

    def __init__(self, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.batched = batched
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, index: Any) -> Any:
        """The batch of these indices; StopIteration if an iterable dataset has no more."""
        raise NotImplementedError


class MapFetcher(Fetcher):
    """Fetch from a dataset with ``__getitem__``: ``index`` is a list if batched, else one index."""

    def fetch(self, index: Any) -> Any:
        """The samples at ``index``, collated."""
        if not self.batched:
            return self.collate_fn(self.dataset[index])
        if self.collate_fn is default_collate:
            gather = getattr(self.dataset, "_gather", None)
            batch = gather(index) if gather is not None else None
            if batch is not None:
                return batch
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.collate_fn(self.dataset.__getitems__(index))
        return self.collate_fn([self.dataset[i] for i in index])


class IterableFetcher(Fetcher):
    """Fetch from an iterable dataset: of ``index`` only the length counts."""

    ends = True

    def __init__(self, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        super().__init__(dataset, batched, collate_fn, drop_last)
        self.iterator = iter(dataset)
        self.ended = False  # an iterator that has ended is not asked again: it may go on

    def fetch(self, index: Any) -> Any:
        """The next samples, collated."""
        if self.ended:
            raise StopIteration
        if not self.batched:
            return self.collate_fn(next(self.iterator))
        samples = take(self.iterator, len(index))
        self.ended = len(samples) < len(index)
        if not samples or (self.drop_last and len(samples) < len(index)):
            raise StopIteration
        return self.collate_fn(samples)


class _DatasetKind:
    """How a dataset is read, under the names that ignite and fastai ask for."""

    Map, Iterable = 0, 1


def make_fetcher(kind: int, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> Fetcher:
    """The fetcher for this kind of dataset."""
    fetcher = IterableFetcher if kind == _DatasetKind.Iterable else MapFetcher
    return fetcher(dataset, batched, collate_fn, drop_last)
