"""The planners that `save` and `load` use: tensors whole or in chunks, other entries as `weft.save` writes them.

Processes plan alone; the coordinator then leaves each chunk that several hold to one of them.
"""

from __future__ import annotations

import dataclasses
import io
import math
from collections import ChainMap, defaultdict
from typing import Any

import weft
from weft.distributed.checkpoint._nested_dict import flatten_state_dict, set_element
from weft.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from weft.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from weft.distributed.checkpoint.planner_helpers import (
    _create_chunk_list,
    _create_read_items,
    _create_write_items,
    bytes_of,
    narrowed,
)
from weft.distributed.checkpoint.utils import find_state_dict_object

__all__ = [
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "create_default_global_load_plan",
    "create_default_global_save_plan",
    "create_default_local_load_plan",
    "create_default_local_save_plan",
]


class DefaultSavePlanner(SavePlanner):
    """Saves all entries of a state dict, each chunk once.

    Parameters
    ----------
    flatten_state_dict : bool, default True
        Save the entries of nested dicts and lists one by one.
    flatten_sharded_tensors, enable_plan_caching : bool
        As PyTorch has them; without effect.
    dedup_replicated_tensors : bool, optional
        Without effect: a chunk that several processes hold is always saved by one of them.
    dedup_save_to_lowest_rank : bool, default False
        By the lowest of their ranks, rather than by the one that has the least to write.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.mappings: dict[str, tuple[str | int, ...]] = {}

    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: StorageMeta | None = None, is_coordinator: bool = False
    ) -> None:
        """Take the state dict that is to be saved."""
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict = state_dict
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> SavePlan:
        """Return all that this process holds."""
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            plan = dataclasses.replace(plan, planner_data=self.mappings)
        self.plan = plan
        return plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Return what each process writes, and the checkpoint's metadata.

        Raises
        ------
        ValueError
            If chunks overlap, reach out of their tensor, or leave a part of it out.
        """
        plans = deduplicated(all_plans, self.dedup_save_to_lowest_rank)
        global_plan, metadata = create_default_global_save_plan(plans)
        if self.flatten_state_dict:
            paths = dict(ChainMap(*(plan.planner_data for plan in reversed(global_plan))))
            metadata = dataclasses.replace(metadata, planner_data={name: paths[name] for name in paths})
        problems = _validate_global_plan(global_plan, metadata)
        if problems:
            raise ValueError("Failed to validate global plan: " + "; ".join(problems))
        self.global_plan, self.metadata = global_plan, metadata
        return global_plan, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Take and return what the coordinator decided."""
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Any:
        """Return the tensor, or the bytes, that an item stands for."""
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """Return the entry of an index, for a planner that changes it."""
        return find_state_dict_object(self.state_dict, index)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """Return the bytes of an entry that is no tensor, and a tensor itself."""
        return bytes_of(object) if write_item.type == WriteItemType.BYTE_IO else object


class DefaultLoadPlanner(LoadPlanner):
    """Fills all entries of a state dict, whatever chunks they were saved in.

    Parameters
    ----------
    flatten_state_dict : bool, default True
        Load the entries of nested dicts and lists one by one.
    flatten_sharded_tensors : bool
        As PyTorch has it; without effect.
    allow_partial_load : bool, default False
        Leave entries as they are that the checkpoint has not, rather than raise.
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.original_state_dict: dict[str, Any] = {}
        self.mappings: dict[str, tuple[str | int, ...]] = {}

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Take the state dict that is to be filled, and what the checkpoint has."""
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        """Return the chunks that this process needs."""
        assert self.metadata is not None
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """Return the plans as they are."""
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Return the plan."""
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Put an entry that is no tensor into the state dict.

        Raises
        ------
        pickle.UnpicklingError
            If it has objects of classes that ``weft.serialization.add_safe_globals`` does not list.
        """
        loaded = weft.load(value)
        name = read_item.dest_index.fqn
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], loaded)
        else:
            self.state_dict[name] = loaded

    def resolve_tensor(self, read_item: ReadItem) -> Any:
        """Return the part of a tensor of the state dict that an item fills."""
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Any) -> None:
        """Do nothing: the state dict's own memory was filled."""

    def lookup_tensor(self, index: MetadataIndex) -> Any:
        """Return the tensor of an index, for a planner that changes it."""
        return find_state_dict_object(self.state_dict, index)

    def transform_tensor(self, read_item: ReadItem, tensor: Any) -> Any:
        """Return the box of a tensor that an item fills."""
        return narrowed(tensor.detach(), read_item.dest_offsets, read_item.lengths)


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Loads all that a checkpoint has, or what begins with one of some names, into an empty dict."""

    def __init__(self, keys: Any = None, *args: Any, **kwargs: Any) -> None:
        self.keys = keys
        super().__init__(*args, **kwargs)

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Make an empty tensor for each saved one.

        Raises
        ------
        ValueError
            If the state dict is not empty.
        """
        if state_dict:
            raise ValueError("the state dict that is filled with all of a checkpoint must be empty")
        assert metadata is not None
        paths = metadata.planner_data or {name: (name,) for name in metadata.state_dict_metadata}
        for name, entry in metadata.state_dict_metadata.items():
            path = paths.get(name, (name,))
            if not self._is_wanted(name, path):
                continue
            value: Any = None
            if isinstance(entry, TensorStorageMetadata):
                value = weft.empty(entry.size, dtype=entry.properties.dtype)
            set_element(state_dict, path, value) if self.flatten_state_dict else state_dict.update({name: value})
        super().set_up_planner(state_dict, metadata, is_coordinator)
        self.mappings.update({name: tuple(path) for name, path in paths.items()})

    def _is_wanted(self, name: str, path: Any) -> bool:
        if self.keys is None:
            return True
        begins = {".".join(map(str, path[:end])) for end in range(1, len(path) + 1)}
        return name in self.keys or bool(begins & set(self.keys))


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """Return the plan that writes all that this process holds of a flat state dict."""
    return SavePlan([item for name, value in state_dict.items() for item in _create_write_items(name, value)])


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """Return the plans with each chunk's place in its tensor's list, and the metadata.

    Raises
    ------
    ValueError
        If an entry is a tensor in one process and none in another.
    """
    entries: dict[str, Any] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            data = item.tensor_data
            if data is None:
                if not isinstance(entries.setdefault(item.index.fqn, BytesStorageMetadata()), BytesStorageMetadata):
                    raise ValueError(f"entry {item.index.fqn!r} is a tensor in one process and none in another")
                items.append(item)
                continue
            entry = entries.setdefault(
                item.index.fqn, TensorStorageMetadata(properties=data.properties, size=data.size, chunks=[])
            )
            if not isinstance(entry, TensorStorageMetadata):
                raise ValueError(f"entry {item.index.fqn!r} is a tensor in one process and none in another")
            index = dataclasses.replace(item.index, index=len(entry.chunks)) if rewrite_index_hints else item.index
            items.append(dataclasses.replace(item, index=index))
            entry.chunks.append(data.chunk)
        plans.append(dataclasses.replace(plan, items=items))
    return plans, Metadata(entries)


def create_default_local_load_plan(state_dict: dict[str, Any], metadata: Metadata, strict: bool = True) -> LoadPlan:
    """Return the plan that fills what this process holds of a flat state dict.

    Raises
    ------
    RuntimeError
        If the checkpoint lacks entries, unless not ``strict``.
    ValueError
        If a tensor has another size, or an entry is a tensor on one side only.
    """
    missing = [name for name in state_dict if name not in metadata.state_dict_metadata]
    if missing and strict:
        more = f" (and {len(missing) - 1} more: {', '.join(missing[1:6])})" if len(missing) > 1 else ""
        raise RuntimeError(f"Missing key in checkpoint state_dict: {missing[0]}.{more}")
    items = []
    for name, value in state_dict.items():
        if name not in metadata.state_dict_metadata:
            continue
        entry = metadata.state_dict_metadata[name]
        shape = getattr(value, "shape", None)
        if isinstance(entry, TensorStorageMetadata) and shape is not None and tuple(entry.size) != tuple(shape):
            raise ValueError(f"Size mismatch between saved {entry.size} and current: {shape} for {name}")
        own = _create_read_items(name, entry, value)
        if isinstance(entry, TensorStorageMetadata):
            check_complete(name, own, value)
        items.extend(own)
    return LoadPlan(items)


def check_complete(name: str, items: list[ReadItem], value: Any) -> None:
    """Raise ValueError unless what is read fills all that this process holds of a tensor."""
    wanted = sum(math.prod(chunk.sizes) for chunk in _create_chunk_list(value))
    found = sum(math.prod(item.lengths) for item in items)
    if found != wanted:
        raise ValueError(
            f"the checkpoint's chunks of {name!r} give {found} elements where {wanted} are wanted: damaged"
        )


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """Return the plans as they are: processes read on their own."""
    return all_plans


def deduplicated(plans: list[SavePlan], to_lowest_rank: bool = False) -> list[SavePlan]:
    """Leave what several plans have to one: to the one that has the least to write, or to the first."""
    holders: dict[MetadataIndex, list[int]] = defaultdict(list)
    sizes: dict[MetadataIndex, int] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            holders[item.index].append(rank)
            sizes[item.index] = item.tensor_storage_size() or 1
    loads = [0] * len(plans)
    chosen: dict[MetadataIndex, int] = {}
    for index, ranks in sorted(holders.items(), key=lambda each: len(each[1]) > 1):  # who has no choice comes first
        rank = min(ranks) if to_lowest_rank else min(ranks, key=lambda each: (loads[each], each))
        chosen[index] = rank
        loads[rank] += sizes[index]
    kept = []
    for rank, plan in enumerate(plans):
        own = {item.index: item for item in plan.items if chosen[item.index] == rank}
        kept.append(dataclasses.replace(plan, items=list(own.values())))
    return kept


def _validate_global_plan(global_plan: list[SavePlan], metadata: Metadata) -> list[str]:
    """What is wrong with the chunks of a checkpoint: each tensor must be covered by its chunks exactly."""
    problems = []
    for name, entry in metadata.state_dict_metadata.items():
        if not isinstance(entry, TensorStorageMetadata):
            continue
        volume = 0
        for chunk in entry.chunks:
            volume += math.prod(chunk.sizes)
            if not _check_box_bounds(entry.size, chunk):
                problems.append(f"key {name!r} has the chunk {chunk} outside of its tensor of size {entry.size}")
        pair = overlapping_pair(entry.chunks)
        if pair is not None:
            problems.append(f"key {name!r} has chunks that overlap: {pair[0]} and {pair[1]}")
        if volume != math.prod(entry.size):
            problems.append(
                f"key {name!r} of size {entry.size} has {math.prod(entry.size)} elements, its chunks have {volume}: a "
                "process did not save its part"
            )
    return problems


def overlapping_pair(chunks: list[ChunkStorageMetadata]) -> tuple[ChunkStorageMetadata, ChunkStorageMetadata] | None:
    """Two chunks that share elements; None if there are none."""
    if len(chunks) < 2 or not chunks[0].offsets:
        return (chunks[0], chunks[1]) if len(chunks) > 1 else None
    ordered = sorted((chunk for chunk in chunks if all(chunk.sizes)), key=lambda chunk: chunk.offsets[0])
    active: list[ChunkStorageMetadata] = []  # along dim 0 these may reach into what comes next
    for chunk in ordered:
        active = [each for each in active if each.offsets[0] + each.sizes[0] > chunk.offsets[0]]
        for each in active:
            if _check_box_overlap(each, chunk):
                return each, chunk
        active.append(chunk)
    return None


def _check_box_overlap(box0: ChunkStorageMetadata, box1: ChunkStorageMetadata) -> bool:
    """Whether two boxes share elements."""
    return all(
        first < second + other and second < first + size
        for first, size, second, other in zip(box0.offsets, box0.sizes, box1.offsets, box1.sizes)
    )


def _check_box_bounds(outer_box_size: Any, inner_box: ChunkStorageMetadata) -> bool:
    """Whether a box lies within a tensor of a size."""
    return len(inner_box.offsets) == len(inner_box.sizes) == len(outer_box_size) and all(
        offset >= 0 and size >= 0 and offset + size <= outer
        for offset, size, outer in zip(inner_box.offsets, inner_box.sizes, outer_box_size)
    )
