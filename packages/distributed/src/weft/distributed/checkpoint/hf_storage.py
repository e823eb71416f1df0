"""Checkpoints as safetensors files, which Hugging Face's libraries read."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import weft
from weft.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter, _fill
from weft.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from weft.distributed.checkpoint.planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from weft.distributed.checkpoint.planner_helpers import narrowed
from weft.distributed.checkpoint.storage import WriteResult
from weft.futures import Future
from weft.serialization.safetensors import safe_open, save_file

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

SUFFIX = ".safetensors"
INDEX = "model.safetensors.index.json"
SHARDED = "sharded"  # the folder of the shards that are joined
OFFSETS, VERSION = "DCP_SHARDING_INFO", "DCP_VERSION"  # metadata of a file: where its tensors begin in the whole ones


@dataclass
class _Files:
    """Into which files a process writes, by the names of tensors; how many there are; of shards whose they are."""

    index_of: dict[str, int]
    count: int
    shard: int | None = None

    def name(self, fqn: str) -> str:
        """The file of a tensor."""
        whole = f"model-{self.index_of.get(fqn, 1):05d}-of-{self.count:05d}{SUFFIX}"
        return whole if self.shard is None else f"shard-{self.shard:05d}-{whole}"


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes tensors into safetensors files, with the index that Hugging Face's libraries look for.

    Parameters
    ----------
    path : str
        The folder.
    fqn_to_index_mapping : dict, optional
        From names of tensors to the number of the file, from 1 on. Default: one file.
    thread_count, thread_count_consolidation : int
        As PyTorch has them; without effect.
    save_distributed : bool, default False
        Each process writes its parts into files of its own. Otherwise the first writes all, which it must hold whole.
    enable_consolidation : bool, default False
        With ``save_distributed``: the parts go to the folder ``sharded``, and the first process joins them.
    """

    def __init__(
        self,
        path: str,
        fqn_to_index_mapping: dict[str, int] | None = None,
        thread_count: int = 1,
        save_distributed: bool = False,
        enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:
        super().__init__(path)
        self.fqn_to_index_mapping = fqn_to_index_mapping or {}
        self.save_distributed = save_distributed
        self.enable_consolidation = save_distributed and enable_consolidation

    @property
    def _folder(self) -> Path:
        """Where the processes write."""
        return Path(self.path) / SHARDED if self.enable_consolidation else Path(self.path)

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Make the folder.

        Raises
        ------
        ValueError
            If there are entries that are no tensors: the format has none.
        """
        others = [item.index.fqn for item in plan.items if item.tensor_data is None]
        if others:
            raise ValueError(
                f"HuggingFaceStorageWriter: safetensors files hold tensors only; {others[:5]} are none: save them with "
                "FileSystemWriter"
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Say into which files each process writes.

        Raises
        ------
        ValueError
            If there are parts of tensors, without ``save_distributed``.
        """
        count = max(self.fqn_to_index_mapping.values(), default=1)
        if self.save_distributed:
            return [
                replace(plan, storage_data=_Files(self.fqn_to_index_mapping, count, rank + 1))
                for rank, plan in enumerate(plans)
            ]
        items = [item for plan in plans for item in plan.items]
        parts = [item.index.fqn for item in items if is_part(item)]
        if parts:
            raise ValueError(
                f"HuggingFaceStorageWriter: {parts[0]!r} is held in parts; pass save_distributed=True, and "
                "enable_consolidation=True to join them"
            )
        files = _Files(self.fqn_to_index_mapping, count)
        return [replace(plan, items=items if rank == 0 else [], storage_data=files) for rank, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write the files of this process, each of which takes the place of an older one when it is complete."""
        files: _Files = plan.storage_data
        grouped: dict[str, list[WriteItem]] = defaultdict(list)
        for item in plan.items:
            grouped[files.name(item.index.fqn)].append(item)
        results = []
        for name, items in grouped.items():
            tensors = {item.index.fqn: planner.resolve_data(item).detach().cpu() for item in items}
            write_file(self._folder / name, tensors, {item.index.fqn: list(item.index.offset) for item in items})
            results += [WriteResult(item.index, tensors[item.index.fqn].nbytes, name) for item in items]
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the index, after joining the parts if asked to."""
        written = [result for each in results for result in each]
        self.metadata = replace(metadata, storage_meta=self.storage_meta())
        if self.save_distributed and not self.enable_consolidation:
            return
        names = {result.index.fqn: result.storage_data for result in written}
        if self.enable_consolidation:
            files = _Files(self.fqn_to_index_mapping, max(self.fqn_to_index_mapping.values(), default=1))
            names = {name: files.name(name) for name in names}
            self._consolidate(names)
        total = sum(result.size_in_bytes for result in written)
        index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(names.items()))}
        aside = Path(self.path) / f"{INDEX}.tmp"
        aside.write_text(json.dumps(index, indent=2))
        self.fs.rename(aside, Path(self.path) / INDEX)

    def _consolidate(self, names: dict[str, str]) -> None:
        """Join the parts of each file's tensors."""
        reader = HuggingFaceStorageReader(str(self._folder))
        described = reader.read_metadata()
        for file in sorted(set(names.values())):
            tensors = {}
            for name in (each for each, place in names.items() if place == file):
                entry = described.state_dict_metadata[name]
                tensors[name] = weft.empty(entry.size, dtype=entry.properties.dtype)
                for chunk in entry.chunks:
                    part = reader.read_tensor(described.storage_data[MetadataIndex(name, chunk.offsets)], name)
                    narrowed(tensors[name], chunk.offsets, chunk.sizes).copy_(part)
            write_file(Path(self.path) / file, tensors, {name: [0] * each.dim() for name, each in tensors.items()})

    @property
    def metadata_path(self) -> str | os.PathLike[str]:
        """The file that names the others."""
        return Path(self.path) / INDEX


def is_part(item: WriteItem) -> bool:
    """Whether an item is less than its tensor."""
    data = item.tensor_data
    return data is not None and tuple(data.chunk.sizes) != tuple(data.size)


def write_file(path: Path, tensors: dict[str, Any], offsets: dict[str, list[int]]) -> None:
    """Write tensors, or parts of some with where these begin."""
    places = {name: {"saved_offsets": offsets[name]} for name in tensors}
    metadata = {OFFSETS: json.dumps(places), VERSION: "1.0", "format": "pt"}
    save_file({name: tensor.contiguous().clone() for name, tensor in tensors.items()}, path, metadata)


class HuggingFaceStorageReader(FileSystemReader):
    """Reads the safetensors files of a folder, whole tensors or the parts that several processes wrote.

    Parameters
    ----------
    path : str
        The folder.
    thread_count : int
        As PyTorch has it; without effect.
    """

    def __init__(self, path: str, thread_count: int = 1) -> None:
        super().__init__(path)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Return what the files have.

        Raises
        ------
        FileNotFoundError
            If there are none.
        ValueError
            If two files have the same part of a tensor.
        SafetensorError
            If a file is damaged.
        """
        files = sorted(path for path in self.fs.ls(self.path) if path.endswith(SUFFIX))
        if not files:
            raise FileNotFoundError(f"there are no {SUFFIX} files in {self.path}")
        entries: dict[str, TensorStorageMetadata] = {}
        places: dict[MetadataIndex, str] = {}
        for file in files:
            for name, dtype, chunk in chunks_of(file):
                index = MetadataIndex(name, chunk.offsets)
                if index in places:
                    raise ValueError(f"{places[index]} and {os.path.basename(file)} both have {name!r}")
                places[index] = os.path.basename(file)
                entry = entries.setdefault(name, TensorStorageMetadata(TensorProperties(dtype), chunk.sizes, []))
                ends = [offset + size for offset, size in zip(chunk.offsets, chunk.sizes)]
                if len(ends) != len(entry.size):
                    raise ValueError(f"{os.path.basename(file)} has {name!r} with {len(ends)} dims, others have not")
                before = entry.size if entry.chunks else [0] * len(ends)
                entry.size = weft.Size(max(pair) for pair in zip(before, ends))
                entry.chunks.append(chunk)
        meta = StorageMeta(checkpoint_id=str(self.path), load_id=self.load_id)
        return Metadata(entries, storage_data=places, storage_meta=meta)

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Fill what the planner wants; of a file only those pages are read that have it."""
        grouped: dict[MetadataIndex, list[ReadItem]] = defaultdict(list)
        for item in plan.items:
            grouped[item.storage_index].append(item)
        for index, items in grouped.items():
            tensor = self.read_tensor(self.storage_data[index], index.fqn)  # type: ignore[arg-type]
            for item in items:
                _fill(planner, item, tensor)
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def read_tensor(self, file: str, name: str) -> Any:
        """Return a tensor of a file, which is read when it is used."""
        with safe_open(Path(self.path) / file) as opened:
            return opened.get_tensor(name)


def chunks_of(file: str) -> Iterable[tuple[str, Any, ChunkStorageMetadata]]:
    """Names, dtypes and chunks of the tensors of a file."""
    with safe_open(file) as opened:
        described = json.loads((opened.metadata() or {}).get(OFFSETS, "{}"))
        for name in opened.keys():  # noqa: SIM118 - the file is no dict
            tensor = opened.get_tensor(name)
            offsets = described.get(name, {}).get("saved_offsets", [0] * tensor.dim())
            if len(offsets) != tensor.dim() or not all(type(each) is int and each >= 0 for each in offsets):
                raise ValueError(f"{os.path.basename(file)} says that {name!r} begins at {offsets}: damaged")
            yield name, tensor.dtype, ChunkStorageMetadata(weft.Size(offsets), weft.Size(tensor.shape))
