"""Datasets: what a :class:`~weft.utils.data.DataLoader` reads its samples from."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

import weft
from weft import Generator, Tensor
from weft.utils.data.sampler import permutation

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by index: a subclass defines ``__getitem__``, and ``__len__`` for the default samplers.

    A subclass may define ``__getitems__(indices)``, a list of samples, where reading many at once is cheaper.
    ``a + b`` is the concatenation of two.

    Examples
    --------
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> for batch in weft.utils.data.DataLoader(Squares(), batch_size=2):
    ...     print(batch)
    tensor([0, 1])
    tensor([4, 9])
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__}: a subclass of Dataset must define __getitem__")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples in the order in which they come: a subclass defines ``__iter__``.

    Each worker of a loader iterates over a copy of its own; :func:`get_worker_info` tells ``__iter__`` which share of
    the data is its own.

    Examples
    --------
    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(weft.utils.data.DataLoader(Count(), batch_size=2))
    [tensor([0, 1]), tensor([2])]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__}: a subclass of IterableDataset must define __iter__")

    def __add__(self, other: Dataset[T_co]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Sample i is ``(tensors[0][i], tensors[1][i], ...)``.

    Parameters
    ----------
    *tensors : Tensor, shape (N, ...)

    Examples
    --------
    >>> data = TensorDataset(weft.tensor([1.0, 2.0]), weft.tensor([0, 1]))
    >>> data[1], len(data)
    ((tensor(2.), tensor(1)), 2)
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        lengths = [tensor.shape[0] for tensor in tensors]
        if len(set(lengths)) > 1:
            raise AssertionError(f"TensorDataset: Size mismatch between tensors: their first dimensions are {lengths}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])

    def _gather(self, indices: Sequence[Any]) -> list[Tensor] | None:
        """The collated batch of these samples by one indexing for each tensor; None where that may differ."""
        if type(self).__getitem__ is not TensorDataset.__getitem__ or not all(type(i) is int for i in indices):
            return None
        return [tensor[weft.tensor(indices, device=tensor.device)] for tensor in self.tensors]


class StackDataset(Dataset[Any]):
    """Sample i is the tuple, or the dict, of sample i of each dataset.

    Parameters
    ----------
    *args : Dataset
        Samples are tuples.
    **kwargs : Dataset
        Samples are dicts; not both.

    Examples
    --------
    >>> StackDataset(image=[10, 20], label=["cat", "dog"])[1]
    {'image': 20, 'label': 'dog'}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "StackDataset: Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like "
                "input/output, got both"
            )
        if not args and not kwargs:
            raise ValueError("StackDataset: At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in self._parts()]
        if len(set(lengths)) > 1:
            raise ValueError(f"StackDataset: Size mismatch between datasets: their lengths are {lengths}")
        self._length = lengths[0]

    def _parts(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _combine(self, values: Iterable[Any]) -> Any:
        return dict(zip(self.datasets, values)) if isinstance(self.datasets, dict) else tuple(values)

    def __getitem__(self, index: Any) -> Any:
        return self._combine(dataset[index] for dataset in self._parts())

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """Samples of all these indices, read at once where a dataset can."""
        columns = [self._read(dataset, indices) for dataset in self._parts()]
        return [self._combine(row) for row in zip(*columns)]

    @staticmethod
    def _read(dataset: Any, indices: list[Any]) -> Sequence[Any]:
        if not callable(getattr(dataset, "__getitems__", None)):
            return [dataset[index] for index in indices]
        samples: Sequence[Any] = dataset.__getitems__(indices)
        if len(samples) != len(indices):
            raise ValueError(
                f"StackDataset: {type(dataset).__name__}.__getitems__ must return as many samples as it got indices, "
                f"{len(indices)}; it returned {len(samples)}"
            )
        return samples

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """One dataset after another.

    Parameters
    ----------
    datasets : iterable of Dataset
        With lengths; at least one.

    Examples
    --------
    >>> data = ConcatDataset([[1, 2], [3, 4, 5]])
    >>> data[3], len(data)
    (4, 5)
    """

    datasets: list[Dataset[T_co]]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("ConcatDataset: datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset; use ChainDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The lengths of the first, the first two, … datasets."""
        return list(accumulate(len(dataset) for dataset in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError(
                    f"ConcatDataset: absolute value of index should not exceed dataset length: index {index}, "
                    f"length {len(self)}"
                )
            index += len(self)
        which = bisect_right(self.cumulative_sizes, index)
        if which == len(self.datasets):
            raise IndexError(f"ConcatDataset: index {index} is out of range for length {len(self)}")
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset[Any]):
    """One iterable dataset after another.

    Parameters
    ----------
    datasets : iterable of IterableDataset
        Itself read while iterating, so that it may make them one by one.

    Examples
    --------
    >>> class Count(IterableDataset):
    ...     def __init__(self, stop):
    ...         self.stop = stop
    ...
    ...     def __iter__(self):
    ...         return iter(range(self.stop))
    >>> list(ChainDataset([Count(2), Count(3)]))
    [0, 1, 0, 1, 2]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            yield from self._checked(dataset)

    def __len__(self) -> int:
        return sum(len(self._checked(dataset)) for dataset in self.datasets)

    @staticmethod
    def _checked(dataset: Any) -> Any:
        if not isinstance(dataset, IterableDataset):
            raise AssertionError(f"ChainDataset only supports IterableDataset, got {type(dataset).__name__}")
        return dataset


class Subset(Dataset[T_co]):
    """Some samples of a dataset.

    Parameters
    ----------
    dataset : Dataset
    indices : sequence of int
        Sample i is ``dataset[indices[i]]``.

    Examples
    --------
    >>> list(Subset(["a", "b", "c"], [2, 0]))
    ['c', 'a']
    """

    dataset: Dataset[T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        """Samples of all these indices, read at once where the dataset can."""
        inner = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            samples: list[T_co] = self.dataset.__getitems__(inner)  # type: ignore[attr-defined]
            return samples
        return [self.dataset[i] for i in inner]

    def __len__(self) -> int:
        return len(self.indices)

    def _gather(self, indices: Sequence[Any]) -> list[Tensor] | None:
        """The collated batch of these samples where the dataset can gather it, as :class:`TensorDataset` does."""
        own = type(self).__getitem__ is Subset.__getitem__ and type(self).__getitems__ is Subset.__getitems__
        gather = getattr(self.dataset, "_gather", None) if own else None
        return gather([self.indices[i] for i in indices]) if gather is not None else None


def random_split(
    dataset: Dataset[T_co], lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[T_co]]:
    """Split a dataset at random into subsets of the given lengths.

    Parameters
    ----------
    dataset : Dataset
        With a length.
    lengths : sequence of int or float
        Lengths that sum to the dataset's, or fractions that sum to 1; what rounding down leaves over goes to the
        subsets in turn, one sample each.
    generator : Generator, optional
        By default the global one. The same seed gives the same split as in PyTorch.

    Returns
    -------
    list of Subset

    Examples
    --------
    >>> train, test = random_split(range(10), [0.8, 0.2])
    >>> len(train), len(test), sorted([*train, *test]) == list(range(10))
    (8, 2, True)
    """
    total = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_from_fractions(lengths, total)
    if sum(lengths) != total:
        raise ValueError(
            "random_split: Sum of input lengths does not equal the length of the input dataset! "
            f"They sum to {sum(lengths)}, the dataset has {total} samples"
        )
    order = permutation(int(sum(lengths)), generator)
    ends = list(accumulate(int(length) for length in lengths))
    return [Subset(dataset, order[end - int(length) : end]) for end, length in zip(ends, lengths)]


def _lengths_from_fractions(fractions: Sequence[float], total: int) -> list[int]:
    for index, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"random_split: Fraction at index {index} is not between 0 and 1: {fraction}")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for extra in range(total - sum(lengths)):
        lengths[extra % len(lengths)] += 1
    for index, length in enumerate(lengths):
        if length == 0:
            warnings.warn(
                f"random_split: Length of split at index {index} is 0. This might result in an empty dataset.",
                stacklevel=3,
            )
    return lengths
