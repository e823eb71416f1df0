"""Data of a worker: batches of its part of a ``ray.data`` set as tensors, and loaders that read its part alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

import weft
import weft.distributed as dist
from weft.ray.model import get_device
from weft.utils.data import DataLoader, DistributedSampler, IterableDataset, RandomSampler

__all__ = ["iter_batches", "prepare_data_loader"]


def iter_batches(
    data: Any,
    batch_size: int | None = 256,
    dtypes: weft.dtype | dict[str, weft.dtype] | None = None,
    device: Any = None,
    collate_fn: Callable[[dict[str, numpy.ndarray]], Any] | None = None,
    **kwargs: Any,
) -> Iterator[Any]:
    """Batches of a data set as tensors, by column.

    Parameters
    ----------
    data : ray.data.Dataset or ray.data.DataIterator
        Such as ``ray.train.get_dataset_shard("train")``.
    batch_size : int, optional
    dtypes : dtype or dict of str to dtype, optional
        Of all columns, or by column; by default that of the values.
    device : device, optional
        Default: this worker's.
    collate_fn : callable, optional
        In place of that: makes the batch of a dict of NumPy's arrays.
    **kwargs
        Of ``iter_batches`` of ``ray.data``: ``drop_last``, ``local_shuffle_buffer_size``, ``prefetch_batches``.

    Yields
    ------
    dict of str to Tensor, or what ``collate_fn`` makes
    """
    place = get_device() if device is None else device
    for batch in data.iter_batches(batch_size=batch_size, batch_format="numpy", **kwargs):
        if collate_fn is not None:
            yield collate_fn(batch)
            continue
        yield {
            name: as_tensor(values, dtypes.get(name) if isinstance(dtypes, dict) else dtypes, place)
            for name, values in batch.items()
        }


def as_tensor(values: numpy.ndarray, dtype: weft.dtype | None, device: Any) -> weft.Tensor:
    """A column as a tensor of its own memory: Ray's is read only. Rows that are arrays are stacked."""
    if values.dtype == object:
        values = numpy.stack(list(values))
    return weft.tensor(numpy.array(values), dtype=dtype, device=device)


class OnDevice:
    """A loader whose batches are on a device."""

    def __init__(self, loader: Any, device: weft.device) -> None:
        self.loader = loader
        self.device = device

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        for batch in self.loader:
            yield moved(batch, self.device)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)


def moved(batch: Any, device: weft.device) -> Any:
    """A batch on a device: a tensor, or a list, tuple or dict of batches."""
    if isinstance(batch, weft.Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return {key: moved(value, device) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        made = [moved(each, device) for each in batch]
        return type(batch)(*made) if hasattr(batch, "_fields") else type(batch)(made)
    return batch


def prepare_data_loader(data_loader: Any, add_dist_sampler: bool = True, move_to_device: bool = True) -> Any:
    """Let a loader read this worker's part of its data, onto this worker's device.

    Parameters
    ----------
    data_loader : DataLoader
    add_dist_sampler : bool
        Read a part: with a `DistributedSampler`, which shuffles if the loader does. Iterable data sets, and loaders
        that have such a sampler already, stay as they are.
    move_to_device : bool

    Returns
    -------
    DataLoader
        Or what has its methods.
    """
    has_part = isinstance(data_loader.sampler, DistributedSampler) or isinstance(data_loader.dataset, IterableDataset)
    size = dist.get_world_size() if dist.is_initialized() else 1
    if add_dist_sampler and size > 1 and not has_part:
        data_loader = with_sampler(data_loader)
    return OnDevice(data_loader, get_device()) if move_to_device else data_loader


def with_sampler(loader: Any) -> Any:
    """The same loader with a `DistributedSampler`."""
    names = (
        "batch_size num_workers collate_fn pin_memory drop_last timeout worker_init_fn multiprocessing_context "
        "generator prefetch_factor persistent_workers"
    ).split()
    options = {name: getattr(loader, name) for name in names}
    sampler: Any = DistributedSampler(
        loader.dataset, shuffle=isinstance(loader.sampler, RandomSampler), drop_last=loader.drop_last
    )
    return DataLoader(loader.dataset, sampler=sampler, **options)
