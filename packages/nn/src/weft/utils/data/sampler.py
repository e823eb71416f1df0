"""Samplers: the order in which a loader visits a dataset.

Given the same seed, each draws from the generator what PyTorch's draws, so that shuffles agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import weft
from weft import Generator

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)


def _check_positive(name: str, option: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name}: {option} should be a positive integer value, but got {option}={value}")


class Sampler(Generic[T_co]):
    """Base class: a subclass defines ``__iter__`` over indices, or over lists of them, and often ``__len__``.

    Examples
    --------
    >>> class EverySecond(Sampler):
    ...     def __init__(self, data):
    ...         self.data = data
    ...
    ...     def __iter__(self):
    ...         return iter(range(0, len(self.data), 2))
    >>> list(EverySecond("abcde"))
    [0, 2, 4]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__}: a subclass of Sampler must define __iter__")


class SequentialSampler(Sampler[int]):
    """All indices in order.

    Parameters
    ----------
    data_source : Sized

    Examples
    --------
    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in random order.

    Parameters
    ----------
    data_source : Sized
    replacement : bool
        Draw each index anew; otherwise permutation follows permutation.
    num_samples : int, optional
        By default the length of the data.
    generator : Generator, optional
        By default a new one for each pass, seeded by a draw from the global one.

    Examples
    --------
    >>> sorted(RandomSampler("abc"))
    [0, 1, 2]
    >>> len(list(RandomSampler("abc", replacement=True, num_samples=5)))
    5
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: replacement should be a boolean value, but got replacement={replacement}")
        _check_positive("RandomSampler", "num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """The number of indices in one pass; the data may change its length between passes."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = weft.Generator()
            generator.manual_seed(draw_seed())
        draw = self._with_replacement if self.replacement else self._permutations
        return draw(len(self.data_source), generator)

    def _with_replacement(self, n: int, generator: Generator) -> Iterator[int]:
        for start in range(0, self.num_samples, 32):
            count = min(32, self.num_samples - start)
            yield from weft.randint(
                high=n, size=(count,), dtype=weft.int64, generator=generator, device=generator.device
            ).tolist()

    def _permutations(self, n: int, generator: Generator) -> Iterator[int]:
        for _ in range(self.num_samples // n):
            yield from permutation(n, generator)
        # Drawn also when nothing of it is used, as PyTorch does: the generator is left in the same state.
        yield from permutation(n, generator)[: self.num_samples % n]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Some indices in random order.

    Parameters
    ----------
    indices : sequence of int
    generator : Generator, optional

    Examples
    --------
    >>> sorted(SubsetRandomSampler([5, 7, 9]))
    [5, 7, 9]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in permutation(len(self.indices), self.generator):
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Index i with probability proportional to ``weights[i]``.

    Parameters
    ----------
    weights : sequence of float
        Need not sum to 1.
    num_samples : int
    replacement : bool
    generator : Generator, optional

    Examples
    --------
    Classes of different sizes, drawn equally often:

    >>> labels = [0, 0, 0, 1]
    >>> weights = [1 / labels.count(label) for label in labels]
    >>> drawn = [labels[index] for index in WeightedRandomSampler(weights, num_samples=1000)]
    >>> 400 < sum(drawn) < 600
    True
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        name = "WeightedRandomSampler"
        _check_positive(name, "num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"{name}: replacement should be a boolean value, but got replacement={replacement}")
        tensor = weft.as_tensor(weights, dtype=weft.float64, device=_device_of(generator))
        if tensor.ndim != 1:
            raise ValueError(
                f"{name}: weights should be a 1d sequence but given weights have shape {tuple(tensor.shape)}"
            )
        self.weights = tensor
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = weft.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of ``batch_size`` indices of another sampler.

    Parameters
    ----------
    sampler : Sampler or iterable
    batch_size : int
    drop_last : bool
        Leave out a last list that is shorter.

    Examples
    --------
    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_positive("BatchSampler", "batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"BatchSampler: drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        full = True
        while full:
            batch = take(indices, self.batch_size)
            full = len(batch) == self.batch_size
            if full or (batch and not self.drop_last):
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def take(iterator: Iterator[Any], count: int) -> list[Any]:
    """The next ``count`` items; fewer at the end.

    Not `itertools.islice`, which asks for ``iter(iterator)`` each time: one whose ``__iter__`` begins anew would give
    its first items for ever.
    """
    items: list[Any] = []
    try:
        for _ in range(count):
            items.append(next(iterator))  # noqa: PERF401  # a comprehension would lose the last, shorter, list
    except StopIteration:
        pass
    return items


def draw_seed(generator: Generator | None = None) -> int:
    """A seed for another generator: one 63-bit number from this one."""
    return int(weft.empty((), dtype=weft.int64, device=_device_of(generator)).random_(generator=generator).item())


def permutation(n: int, generator: Generator | None = None) -> list[int]:
    """The numbers below n in random order."""
    order: list[int] = weft.randperm(n, generator=generator, device=_device_of(generator)).tolist()
    return order


def _device_of(generator: Generator | None) -> Any:
    """The device on which a generator draws; indices are the CPU's also when another device is the default."""
    return "cpu" if generator is None else generator.device
