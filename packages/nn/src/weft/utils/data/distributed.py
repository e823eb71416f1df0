"""The sampler that gives each process of a distributed training its own share of the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from typing import Any

import weft
from weft.utils.data.sampler import Sampler, permutation

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th index of the same permutation, beginning with the ``rank``-th.

    Each pass over it is an epoch of its own, with another permutation, that of PyTorch for the same seed and epoch.
    From the first call of :meth:`set_epoch` on, the epoch is what was set, as in PyTorch, where all passes have the
    same permutation before. All processes must make the same number of passes.

    Parameters
    ----------
    dataset : Sized
    num_replicas, rank : int, optional
        The number of processes and this one's; by default those of the default process group.
    shuffle : bool
    seed : int
        The same in all processes.
    drop_last : bool
        Leave out what does not divide evenly; otherwise the first indices are visited twice to fill up.

    Examples
    --------
    >>> [list(DistributedSampler("abcdef", num_replicas=2, rank=rank, shuffle=False)) for rank in range(2)]
    [[0, 2, 4], [1, 3, 5]]
    >>> sampler = DistributedSampler("abcdef", num_replicas=2, rank=0)
    >>> list(sampler), list(sampler)
    ([2, 3, 1], [1, 2, 3])
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            world, own = _process_group()
            num_replicas = world if num_replicas is None else num_replicas
            rank = own if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"DistributedSampler: Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self._advances = True  # until a program says which epoch it is
        self.drop_last = drop_last
        share = len(dataset) / num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = weft.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = permutation(count, generator)
        else:
            indices = list(range(count))
        if self._advances:
            self.epoch += 1
        if not self.drop_last and indices:
            indices = (indices * math.ceil(self.total_size / count))[: self.total_size]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Shuffle as is done in this epoch until the next call, the same way in all processes."""
        self.epoch = epoch
        self._advances = False


def _process_group() -> tuple[int, int]:
    """The size of the default process group and this process's rank in it."""
    distributed: Any = getattr(weft, "distributed", None)
    if distributed is None:
        raise RuntimeError(
            "DistributedSampler: Requires distributed package to be available, and it is not; "
            "pass num_replicas and rank"
        )
    return distributed.get_world_size(), distributed.get_rank()
