"""Checkpoints in a folder: files of entries one after the other, each as `weft.save` writes it, and ``.metadata``.

The format is PyTorch's. ``.metadata`` is written last, aside, and renamed: whoever reads the folder at any time, also
after a crash, finds the old checkpoint or the new one. Files of a new checkpoint have names that the old one does not
use.
"""

from __future__ import annotations

import contextlib
import heapq
import io
import os
import re
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import IO, Any, cast

import weft
from weft.distributed.checkpoint import _metadata_file
from weft.distributed.checkpoint._metadata_file import _StorageInfo
from weft.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from weft.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from weft.distributed.checkpoint.planner_helpers import narrowed
from weft.distributed.checkpoint.staging import BlockingAsyncStager
from weft.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from weft.distributed.checkpoint.utils import _create_file_view
from weft.futures import Future

__all__ = ["FileSystem", "FileSystemBase", "FileSystemReader", "FileSystemWriter", "SerializationFormat"]

METADATA = ".metadata"
SUFFIX = ".distcp"
VERSION = "1.0.0"  # of PyTorch's format
OF_A_CHECKPOINT = re.compile(r"__\d+_\d+(\.[0-9a-f]+)?\.distcp")


class SerializationFormat(Enum):
    """How entries are written."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


@dataclass
class _StoragePrefix:
    """How the names of a process's files begin, and how they end before ``.distcp``."""

    prefix: str
    suffix: str = ""


class FileSystemBase:
    """What a checkpoint's folder is asked for; a subclass may keep it elsewhere than on a disk."""

    @contextlib.contextmanager
    def create_stream(self, path: str | os.PathLike[str], mode: str) -> Iterator[IO[bytes]]:
        """Open a file."""
        with open(path, mode) as stream:
            yield cast(IO[bytes], stream)

    def concat_path(self, path: str | os.PathLike[str], suffix: str) -> str | os.PathLike[str]:
        """Return the path of a file in a folder."""
        return Path(path) / suffix

    def rename(self, path: str | os.PathLike[str], new_path: str | os.PathLike[str]) -> None:
        """Give a file a name, at once, in place of whatever had it."""
        os.replace(path, new_path)

    def init_path(self, path: str | os.PathLike[str]) -> str | os.PathLike[str]:
        """Return a path in the form of the other methods."""
        return Path(path)

    def mkdir(self, path: str | os.PathLike[str]) -> None:
        """Make a folder and those it is in."""
        Path(path).mkdir(parents=True, exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether a name can be a folder's: it is no address."""
        return "://" not in os.fspath(checkpoint_id)

    def exists(self, path: str | os.PathLike[str]) -> bool:
        """Whether there is such a file."""
        return Path(path).exists()

    def rm_file(self, path: str | os.PathLike[str]) -> None:
        """Remove a file, if it is there."""
        Path(path).unlink(missing_ok=True)

    def ls(self, path: str | os.PathLike[str]) -> list[str]:
        """Return the paths of a folder's files."""
        return [str(each) for each in Path(path).iterdir()]

    def sync(self, path: str | os.PathLike[str]) -> None:
        """Write a folder's list of names to the disk, where the system can."""
        with contextlib.suppress(OSError):  # Windows opens no folders
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


class FileSystem(FileSystemBase):
    """Folders of the system."""


class FileSystemWriter(BlockingAsyncStager, StorageWriter):
    """Writes a checkpoint into a folder.

    Parameters
    ----------
    path : str or path
        The folder, which is made.
    single_file_per_rank : bool, default True
        False: a file for each entry.
    sync_files : bool, default True
        Wait until the disk has what is written: a checkpoint then outlives a power failure, too.
    thread_count : int, default 1
        Write so many files at once in each process.
    per_thread_copy_ahead : int
        As PyTorch has it; without effect.
    cache_staged_state_dict : bool, default False
        `async_save` keeps its copy of the tensors, and fills it again the next time.
    overwrite : bool, default True
        Replace a checkpoint that the folder has.

    Raises
    ------
    NotImplementedError
        For stream extensions, and formats other than ``TORCH_SAVE``: `HuggingFaceStorageWriter` writes safetensors.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Sequence[Any] | None = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        BlockingAsyncStager.__init__(self, cache_staged_state_dict=cache_staged_state_dict)
        if _extensions or serialization_format is not SerializationFormat.TORCH_SAVE:
            raise NotImplementedError(
                "FileSystemWriter: entries are written as weft.save writes them, without extensions; for safetensors "
                "use HuggingFaceStorageWriter"
            )
        if thread_count < 1:
            raise ValueError(f"FileSystemWriter: thread_count must be at least 1, got {thread_count}")
        self.fs = FileSystem()
        self.path = self.fs.init_path(path)
        self.single_file_per_rank, self.sync_files = single_file_per_rank, sync_files
        self.thread_count, self.overwrite = thread_count, overwrite
        self.save_id = str(uuid.uuid4())

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin a new checkpoint."""
        if checkpoint_id is not None:
            self.path = self.fs.init_path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Get ready."""

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Make the folder.

        Raises
        ------
        RuntimeError
            If it has a checkpoint, with ``overwrite=False``.
        """
        self.fs.mkdir(self.path)
        if not self.overwrite and self.fs.exists(self.metadata_path):
            raise RuntimeError(f"Checkpoint already exists and self.overwrite=False. It is in {self.path}")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Name the files: otherwise than those of a checkpoint that the folder has."""
        suffix = f".{self.save_id[:8]}" if self.fs.exists(self.metadata_path) else ""
        return [replace(plan, storage_data=_StoragePrefix(f"__{rank}_", suffix)) for rank, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write the files of this process."""
        if self.single_file_per_rank:
            bins = _split_by_size_and_type(self.thread_count, plan.items)
        else:
            bins = [[item] for item in plan.items]
        prefix: _StoragePrefix = plan.storage_data
        names = [f"{prefix.prefix}{number}{prefix.suffix}{SUFFIX}" for number in range(len(bins))]
        if self.thread_count == 1 or len(bins) < 2:
            written = [self._write_file(name, items, planner) for name, items in zip(names, bins)]
        else:
            with ThreadPoolExecutor(self.thread_count, thread_name_prefix="weft-checkpoint") as pool:
                written = list(pool.map(self._write_file, names, bins, [planner] * len(bins)))
        if self.sync_files and bins:
            self.fs.sync(self.path)
        future: Future[list[WriteResult]] = Future()
        future.set_result([result for results in written for result in results])
        return future

    def _write_file(self, name: str, items: list[WriteItem], planner: SavePlanner) -> list[WriteResult]:
        """Write entries one after the other: bytes, then tensors, as PyTorch does."""
        results = []
        with self.fs.create_stream(self.fs.concat_path(self.path, name), "wb") as stream:
            for item in sorted(items, key=lambda each: each.type != WriteItemType.BYTE_IO):
                start = stream.tell()
                _write_item(stream, planner.resolve_data(item), item)
                length = stream.tell() - start
                results.append(WriteResult(item.index, length, _StorageInfo(name, start, length)))
            if self.sync_files:
                stream.flush()
                with contextlib.suppress(AttributeError, OSError):  # what is no file of the system has no descriptor
                    os.fsync(stream.fileno())
        return results

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write ``.metadata``, and remove files of the folder that belong to no checkpoint any more."""
        metadata = replace(
            metadata,
            version=VERSION,
            storage_data={result.index: result.storage_data for each in results for result in each},
            storage_meta=self.storage_meta(),
        )
        aside = self.fs.concat_path(self.path, f"{METADATA}.tmp")
        with self.fs.create_stream(aside, "wb") as stream:
            stream.write(_metadata_file.dumps(metadata))
            stream.flush()
            if self.sync_files:
                with contextlib.suppress(AttributeError, OSError):
                    os.fsync(stream.fileno())
        self.fs.rename(aside, self.metadata_path)
        if self.sync_files:
            self.fs.sync(self.path)
        self.metadata = metadata
        used = {info.relative_path for info in metadata.storage_data.values()}
        for path in self.fs.ls(self.path):
            name = os.path.basename(path)
            if name not in used and OF_A_CHECKPOINT.fullmatch(name):
                self.fs.rm_file(path)

    def storage_meta(self) -> StorageMeta | None:
        """Return the folder's name and the identity of the saving."""
        return StorageMeta(checkpoint_id=str(self.path), save_id=self.save_id)

    @property
    def metadata_path(self) -> str | os.PathLike[str]:
        """The file that makes the folder a checkpoint."""
        return self.fs.concat_path(self.path, METADATA)

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether a name can be a folder's."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)


class FileSystemReader(StorageReader):
    """Reads a checkpoint from a folder that weft or PyTorch wrote.

    Nothing in the folder is run, whoever wrote it: ``.metadata`` may name the classes of metadata only, and entries are
    read by `weft.load` with ``weights_only=True``.

    Parameters
    ----------
    path : str or path
    """

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any = None) -> None:
        self.fs = FileSystem()
        self.path = self.fs.init_path(path)
        self.storage_data: dict[MetadataIndex, _StorageInfo] = {}
        self.load_id = str(uuid.uuid4())

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin to read a checkpoint."""
        self.storage_data = {}
        if checkpoint_id is not None:
            self.path = self.fs.init_path(checkpoint_id)
        self.load_id = str(uuid.uuid4())

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Return what the checkpoint has.

        Parameters
        ----------
        rank : int, optional
            Of a checkpoint whose processes wrote metadata each for itself.

        Raises
        ------
        FileNotFoundError
            If the folder has no checkpoint, or one that was not finished.
        pickle.UnpicklingError
            If the metadata is damaged, or names what metadata has not.
        """
        rank = kwargs.get("rank")
        path = self.fs.concat_path(self.path, METADATA if rank is None else f"__{rank}{METADATA}")
        with self.fs.create_stream(path, "rb") as stream:
            metadata = _metadata_file.loads(stream.read(), repr(str(path)))
        if metadata.storage_meta is None:
            metadata.storage_meta = StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Take the places of the entries."""
        self.storage_data = metadata.storage_data or {}

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Return the plan."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Return the plans."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read each file's entries in the order in which they stand, and only those that are wanted.

        Raises
        ------
        ValueError
            If a file is shorter than the metadata says, or an entry is not what it says.
        """
        files: dict[str, dict[MetadataIndex, list[ReadItem]]] = defaultdict(lambda: defaultdict(list))
        for item in plan.items:
            files[self._place(item.storage_index).relative_path][item.storage_index].append(item)
        for name, entries in files.items():
            path = self.fs.concat_path(self.path, name)
            with self.fs.create_stream(path, "rb") as stream:
                length = stream.seek(0, os.SEEK_END)
                for index in sorted(entries, key=lambda each: self._place(each).offset):
                    self._read_entry(stream, length, index, entries[index], planner)
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def _place(self, index: MetadataIndex) -> _StorageInfo:
        found = self.storage_data.get(index)
        if found is None:
            raise ValueError(
                f"the checkpoint in {self.path} does not say where {index} stands: its metadata is damaged"
            )
        if found.transform_descriptors:
            raise NotImplementedError(f"{index.fqn!r} was written with extensions {found.transform_descriptors}")
        return found

    def _read_entry(
        self, stream: IO[bytes], length: int, index: MetadataIndex, items: list[ReadItem], planner: LoadPlanner
    ) -> None:
        """Read a saved chunk once, for all that is wanted of it."""
        place = self._place(index)
        if place.offset + place.length > length:
            raise ValueError(
                f"{place.relative_path} in {self.path} has {length} bytes where {index.fqn!r} stands at {place.offset} "
                f"with {place.length}: the file is damaged or was not written to its end"
            )
        view = _create_file_view(stream, place.offset, place.length)
        if items[0].type == LoadItemType.BYTE_IO:
            for item in items:
                view.seek(0)
                planner.load_bytes(item, _in_memory(view))
            return
        try:
            tensor = weft.load(view, map_location="cpu")
        except (RuntimeError, EOFError) as error:
            raise ValueError(f"{index.fqn!r} in {place.relative_path} of {self.path} is damaged: {error}") from error
        for item in items:
            _fill(planner, item, tensor)

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether a name can be a folder's."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)


def _in_memory(view: IO[bytes]) -> Any:
    return io.BytesIO(view.read())


def _fill(planner: LoadPlanner, item: ReadItem, tensor: Any) -> None:
    """Copy the box of a saved chunk to where the planner wants it."""
    ends = [offset + length for offset, length in zip(item.storage_offsets, item.lengths)]
    fits = isinstance(tensor, weft.Tensor) and tensor.dim() == len(ends)
    if not fits or any(end > size for end, size in zip(ends, tensor.shape)):
        raise ValueError(
            f"the saved chunk of {item.storage_index.fqn!r} has size {tuple(getattr(tensor, 'shape', ()))}, which its "
            f"metadata contradicts: {tuple(item.lengths)} are wanted from {tuple(item.storage_offsets)} on"
        )
    part = narrowed(tensor, item.storage_offsets, item.lengths)
    target = planner.resolve_tensor(item)
    if target.shape != part.shape:
        raise ValueError(
            f"req {item.storage_index} mismatch sizes {target.shape} vs {part.shape}: the planner gives a tensor of "
            "another size than the item's"
        )
    with weft.no_grad():
        target.detach().copy_(part)
    planner.commit_tensor(item, target)


def _write_item(stream: IO[bytes], data: Any, item: WriteItem) -> None:
    """Write an entry where the stream stands; of a tensor only its own elements."""
    if item.type == WriteItemType.BYTE_IO:
        stream.write(data.getbuffer())
        return
    tensor = data.detach().cpu()
    if tensor.numel() * tensor.element_size() != tensor.untyped_storage().nbytes():
        tensor = tensor.clone()
    weft.save(tensor, _Written(stream))


class _Written:
    """A file that can only be written to: an archive's places are counted from where it begins."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.write = stream.write


def _split_by_size_and_type(bins: int, items: list[WriteItem]) -> list[list[WriteItem]]:
    """Divide items so that each bin has about as many bytes."""
    if bins == 1:
        return [items] if items else []
    heap: list[tuple[int, int]] = [(0, number) for number in range(bins)]
    filled: list[list[WriteItem]] = [[] for _ in range(bins)]
    for item in sorted(items, key=lambda each: each.tensor_storage_size() or 0, reverse=True):
        size, number = heapq.heappop(heap)
        filled[number].append(item)
        heapq.heappush(heap, (size + (item.tensor_storage_size() or 1), number))
    return [each for each in filled if each]
