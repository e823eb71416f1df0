"""Samplers that choose clips of each video, and samplers that share them out to processes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import weft
from weft.utils.data import Sampler
from weft.vision.datasets.video_utils import VideoClips


class DistributedSampler(Sampler[int]):
    """Share a data set, or another sampler, out to processes in groups of neighbours.

    Parameters
    ----------
    dataset : Dataset or Sampler
    num_replicas, rank : int, optional
        How many processes there are, and which this is; by default of the process group.
    shuffle : bool, default False
        In another order each epoch: see `set_epoch`.
    group_size : int, default 1
        How many neighbours stay together, such as the clips of one video.

    Raises
    ------
    ValueError
        If the length is no multiple of ``group_size``.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        group_size: int = 1,
    ) -> None:
        if num_replicas is None or rank is None:
            from weft import distributed

            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if len(dataset) % group_size != 0:
            raise ValueError(
                f"DistributedSampler: the length must be a multiple of group_size; got {len(dataset)} and {group_size}"
            )
        self.dataset = dataset
        self.group_size = group_size
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.shuffle = shuffle
        self.num_group_samples = math.ceil(len(dataset) // group_size / num_replicas)
        self.num_samples = self.num_group_samples * group_size
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        """Return this process' indices; the first ones come again until all processes have as many."""
        if self.shuffle:
            generator = weft.Generator().manual_seed(self.epoch)
            order: list[int] = weft.randperm(len(self.dataset), generator=generator).tolist()
        else:
            order = list(range(len(self.dataset)))
        order += order[: self.total_size - len(order)]
        if len(order) != self.total_size:
            raise ValueError(
                f"DistributedSampler: {self.num_replicas} processes are too many for {len(self.dataset)} samples"
            )
        groups = [order[start : start + self.group_size] for start in range(0, self.total_size, self.group_size)]
        mine = [index for group in groups[self.rank :: self.num_replicas] for index in group]
        if isinstance(self.dataset, Sampler):
            inner = list(self.dataset)
            mine = [inner[index] for index in mine]
        return iter(mine)

    def __len__(self) -> int:
        """Return the number of this process' indices."""
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the seed of the order."""
        self.epoch = epoch


class _ClipSampler(Sampler[int]):
    """Base of the samplers of clips."""

    def __init__(self, video_clips: VideoClips) -> None:
        if not isinstance(video_clips, VideoClips):
            raise TypeError(f"{type(self).__name__}: video_clips must be VideoClips; got {type(video_clips).__name__}")
        self.video_clips = video_clips

    def _ranges(self) -> Iterator[tuple[int, int]]:
        """Return (number of the first clip, number of clips) of each video."""
        start = 0
        for clips in self.video_clips.clips:
            yield start, len(clips)
            start += len(clips)


class UniformClipSampler(_ClipSampler):
    """Choose clips at even distances; where a video has fewer, some come again.

    Parameters
    ----------
    video_clips : VideoClips
    num_clips_per_video : int
    """

    def __init__(self, video_clips: VideoClips, num_clips_per_video: int) -> None:
        super().__init__(video_clips)
        self.num_clips_per_video = num_clips_per_video

    def __iter__(self) -> Iterator[int]:
        """Return the numbers of the clips, video after video."""
        count = self.num_clips_per_video
        for start, length in self._ranges():
            if length:
                chosen = weft.linspace(start, start + length - 1, steps=count).floor().to(weft.int64)
                yield from chosen.tolist()

    def __len__(self) -> int:
        """Return the number of chosen clips."""
        return self.num_clips_per_video * sum(len(clips) > 0 for clips in self.video_clips.clips)


class RandomClipSampler(_ClipSampler):
    """Choose clips of each video by chance, and return all in random order.

    Parameters
    ----------
    video_clips : VideoClips
    max_clips_per_video : int
    """

    def __init__(self, video_clips: VideoClips, max_clips_per_video: int) -> None:
        super().__init__(video_clips)
        self.max_clips_per_video = max_clips_per_video

    def __iter__(self) -> Iterator[int]:
        """Return the numbers of the clips."""
        chosen = weft.cat(
            [weft.randperm(length)[: self.max_clips_per_video] + start for start, length in self._ranges()]
        )
        return iter(chosen[weft.randperm(len(chosen))].tolist())

    def __len__(self) -> int:
        """Return the number of chosen clips."""
        return sum(min(len(clips), self.max_clips_per_video) for clips in self.video_clips.clips)
