"""The loader: batches of a dataset, in an order that a sampler gives, read here or in worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from weft import Generator, accelerator
from weft._exception_wrapper import ExceptionWrapper
from weft.library.state import profiling
from weft.utils.data._utils.collate import default_collate, default_convert
from weft.utils.data._utils.fetch import _DatasetKind, make_fetcher
from weft.utils.data._utils.pin_memory import pin_memory
from weft.utils.data._utils.worker import End, Job, get_worker_info
from weft.utils.data._utils.worker_pool import WorkerPool
from weft.utils.data.dataset import Dataset, IterableDataset
from weft.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)
_collate_fn_t = Callable[[list[Any]], Any]  # types of arguments, which opacus' signatures name
_worker_init_fn_t = Callable[[int], Any]


class _Endless(Sampler[None]):
    """The sampler of an iterable dataset: it never ends, and its indices mean nothing."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[T_co]):
    """Iterates over batches of a dataset.

    Parameters
    ----------
    dataset : Dataset
        Anything with ``__getitem__`` and ``__len__``, or an :class:`IterableDataset`.
    batch_size : int or None
        None gives single samples.
    shuffle : bool, optional
        A new random order in each pass; an iterable dataset has an order of its own, unless it has ``set_shuffle``.
    sampler : Sampler or iterable, optional
        The order of samples, in place of ``shuffle``.
    batch_sampler : Sampler or iterable, optional
        Lists of indices, in place of ``batch_size``, ``shuffle``, ``sampler`` and ``drop_last``.
    num_workers : int
        Processes that read ahead; 0 reads in this process. Batches come through shared memory.
    collate_fn : callable, optional
        From a list of samples to a batch; :func:`default_collate`, or without batches :func:`default_convert`.
    pin_memory : bool
        Put the tensors of each batch into page-locked memory, from which ``.to(device, non_blocking=True)`` does not
        wait; other objects are asked for their ``pin_memory()``, if they have it.
    drop_last : bool
        Leave out a last batch that is shorter.
    timeout : float
        The seconds to wait for a batch from a worker; 0 waits forever.
    worker_init_fn : callable, optional
        Called with the worker's number in each worker, after seeding.
    multiprocessing_context : str or context, optional
        How workers are started: "fork", "spawn" or "forkserver"; Python's default. All but fork pickle the dataset.
    generator : Generator, optional
        For the order and for the workers' seeds; by default the global one.
    prefetch_factor : int, optional
        Batches that each worker reads ahead; 2.
    persistent_workers : bool
        Keep the processes from one pass to the next.
    pin_memory_device : str
        Accepted, as ``pin_memory`` is.
    in_order : bool
        Give batches in the sampler's order; otherwise as they are ready.

    Notes
    -----
    For the same seed the order of samples agrees with PyTorch's, and so do the workers' seeds: a pass draws a
    ``base_seed`` first, and worker i seeds Python's and weft's generators with ``base_seed + i``.

    Examples
    --------
    >>> import weft
    >>> from weft.utils.data import DataLoader, TensorDataset
    >>> data = TensorDataset(weft.arange(5), weft.arange(5) * 10)
    >>> for x, y in DataLoader(data, batch_size=2):
    ...     print(x, y)
    tensor([0, 1]) tensor([ 0, 10])
    tensor([2, 3]) tensor([20, 30])
    tensor([4]) tensor([40])
    """

    _fixed = frozenset({"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"})
    __initialized = False  # timm's loader, which replaces its sampler, sets it by the name that Python makes of it
    _iterator: _MultiProcessingDataLoaderIter | None = None

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        if self._dataset_kind == _DatasetKind.Iterable:
            if shuffle is not None and hasattr(dataset, "set_shuffle"):  # a stream that shuffles by itself
                dataset.set_shuffle(shuffle)
                shuffle = None
            _check_iterable(shuffle, sampler, batch_sampler)
        _check_order(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle))
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.__initialized = True

    def _default_sampler(self, shuffle: bool) -> Sampler[Any]:
        if self._dataset_kind == _DatasetKind.Iterable:
            return _Endless()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)  # type: ignore[arg-type]
        return SequentialSampler(self.dataset)  # type: ignore[arg-type]

    @property
    def _auto_collation(self) -> bool:
        """Whether the loader makes batches."""
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """The sampler whose items are fetched: of batches, or of single samples."""
        return self.batch_sampler if self._auto_collation else self.sampler

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started: a context of :mod:`multiprocessing`, or None for Python's default."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None and self.num_workers == 0:
            raise ValueError(
                "DataLoader: multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                f"but got num_workers={self.num_workers}"
            )
        if isinstance(context, str):
            methods = multiprocessing.get_all_start_methods()
            if context not in methods:
                raise ValueError(
                    f"DataLoader: multiprocessing_context option should specify a valid start method in {methods}, "
                    f"but got multiprocessing_context={context!r}"
                )
            context = multiprocessing.get_context(context)
        if context is not None and not isinstance(context, multiprocessing.context.BaseContext):
            raise TypeError(
                "DataLoader: multiprocessing_context option should be a valid context object or a string specifying "
                f"the start method, but got multiprocessing_context={context}"
            )
        self._context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in self._fixed:
            raise ValueError(
                f"DataLoader: {name} attribute should not be set after DataLoader is initialized; make a new loader"
            )
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        if not self.persistent_workers:
            return _MultiProcessingDataLoaderIter(self)
        if self._iterator is None or self._iterator.is_closed:
            self._iterator = _MultiProcessingDataLoaderIter(self)
        else:
            self._iterator.reset(self)
        return self._iterator

    def __len__(self) -> int:
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        length: int = len(self.dataset)  # type: ignore[arg-type]
        self._IterableDataset_len_called = length
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    _IterableDataset_len_called: int | None = None  # of an iterable dataset, if anyone has asked


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError(
            "DataLoader: num_workers option should be non-negative; use num_workers=0 to disable multiprocessing; "
            f"got {num_workers}"
        )
    if timeout < 0:
        raise ValueError(f"DataLoader: timeout option should be non-negative, got {timeout}")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "DataLoader: prefetch_factor option could only be specified in multiprocessing; "
            f"got prefetch_factor={prefetch_factor} with num_workers=0; set num_workers > 0, or leave it out"
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError(f"DataLoader: prefetch_factor option should be non-negative, got {prefetch_factor}")
    if persistent_workers and num_workers == 0:
        raise ValueError("DataLoader: persistent_workers option needs num_workers > 0, got num_workers=0")


def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    """An iterable dataset has an order of its own."""
    for option, value in {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {option} option, but got {option}={value}"
            )


def _check_order(batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
    if sampler is not None and shuffle:
        raise ValueError("DataLoader: sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError(
            "DataLoader: batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
        )
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError(
            "DataLoader: batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


def _pins(wanted: bool) -> bool:
    """Whether batches are pinned: there is an accelerator for them, or a warning that there is none."""
    if wanted and not accelerator.is_available():
        warnings.warn(
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
            "used.",
            stacklevel=4,
        )
        return False
    return wanted


class _BaseDataLoaderIter:
    """One pass over a loader.

    It does not keep the loader: a loader keeps the iterator whose workers persist, and the two together would wait for
    Python's collector, with all their processes.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._base_seed = draw_seed(loader.generator)
        self._pins = _pins(getattr(loader, "pin_memory", False))  # which fastai's own loader has not
        self._begin(loader)

    def _begin(self, loader: DataLoader[Any]) -> None:
        self._index_sampler = loader._index_sampler
        self._indices = iter(self._index_sampler)
        self._dataset = loader.dataset
        self._yielded = 0
        self._promised = None if loader._IterableDataset_len_called is None else len(loader)

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __next__(self) -> Any:
        if profiling.recorder is None:
            batch = self._next_batch()
        else:
            with profiling.recorder.span(f"enumerate(DataLoader)#{type(self).__name__}.__next__"):
                batch = self._next_batch()
        if self._pins:
            batch = pin_memory(batch)
        self._yielded += 1
        if self._promised is not None and self._yielded > self._promised:
            warnings.warn(
                f"DataLoader: Length of IterableDataset {self._dataset!r} was reported to be such that there are "
                f"{self._promised} batches, but {self._yielded} have been fetched. With workers, each must yield only "
                "its own share: see get_worker_info.",
                stacklevel=2,
            )
        return batch

    def __len__(self) -> int:
        return len(self._index_sampler)

    def _next_batch(self) -> Any:
        raise NotImplementedError


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Reads each batch when it is asked for."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._fetcher = make_fetcher(
            loader._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last
        )

    def _next_batch(self) -> Any:
        return self._fetcher.fetch(next(self._indices))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Keeps ``prefetch_factor`` batches for each worker under way.

    Tasks go to the workers in turn, each worker answers its own in order, and answers are taken in the order of tasks:
    so which worker makes which batch is the same in each run.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._num_workers = loader.num_workers
        self._ahead = max(1, (loader.prefetch_factor or 0) * loader.num_workers)
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._pool = WorkerPool(context, self._job_maker(loader), loader.num_workers)
        self._ask_ahead()

    def _job_maker(self, loader: DataLoader[Any]) -> Callable[[int, list[str]], Job]:
        def make_job(worker_id: int, folders: list[str]) -> Job:
            return Job(
                worker_id=worker_id,
                num_workers=loader.num_workers,
                base_seed=self._base_seed,
                dataset=loader.dataset,
                dataset_kind=loader._dataset_kind,
                batched=loader._auto_collation,
                collate_fn=loader.collate_fn,
                drop_last=loader.drop_last,
                init_fn=loader.worker_init_fn,
                folders=folders,
            )

        return make_job

    @property
    def is_closed(self) -> bool:
        """Whether there are no workers any more."""
        return self._pool.is_closed

    def _shutdown_workers(self) -> None:
        """End the workers: programs with persistent ones, as timm's tests, do so before the iterator goes."""
        self._pool.close()

    def reset(self, loader: DataLoader[Any]) -> None:
        """Begin another pass with the same workers."""
        self._begin(loader)
        self._pool.reset()
        self._ask_ahead()

    def _ask_ahead(self) -> None:
        self._turns = itertools.cycle(range(self._num_workers))
        self._active = set(range(self._num_workers))  # whose iterable dataset has not ended
        self._asked: deque[int] = deque()  # the workers of the tasks under way, in the order of tasks
        for _ in range(self._ahead):
            self._ask()

    def _ask(self) -> None:
        """Give the next task, if there is one, to the worker whose turn it is."""
        if not self._active:
            return
        try:
            index = next(self._indices)
        except StopIteration:
            return
        if self._in_order:
            worker = next(turn for turn in self._turns if turn in self._active)
        else:
            worker = min(self._active, key=self._pool.answers_due)
        self._pool.ask(worker, index)
        self._asked.append(worker)

    def _next_batch(self) -> Any:
        while self._asked:
            awaited = [self._asked[0]] if self._in_order else sorted(set(self._asked))
            worker, answer = self._pool.receive(awaited, self._timeout)
            self._asked.remove(worker)
            if isinstance(answer, End):
                self._active.discard(worker)
                self._ask()
                continue
            self._ask()
            if isinstance(answer, ExceptionWrapper):
                answer.reraise()
            return answer
        if not self._persistent:
            self._pool.close()
        raise StopIteration
