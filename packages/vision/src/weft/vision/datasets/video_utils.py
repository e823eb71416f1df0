"""Clips of videos: all runs of so many frames, found by number."""

from __future__ import annotations

import bisect
import math
import warnings
from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor
from weft.vision.datasets._video import VideoFile


def unfold(tensor: Tensor, size: int, step: int, dilation: int = 1) -> Tensor:
    """Return all runs of ``size`` elements, ``dilation`` apart, that begin ``step`` apart: shape (runs, size).

    Raises
    ------
    ValueError
        If the tensor has not one dimension.
    """
    if tensor.dim() != 1:
        raise ValueError(f"unfold: the tensor must have one dimension; got {tensor.dim()}")
    runs = max((len(tensor) - (dilation * (size - 1) + 1)) // step + 1, 0)
    (stride,) = tensor.stride()
    return weft.as_strided(tensor, (runs, size), (step * stride, dilation * stride))


class VideoClips:
    """The clips of a list of video files, numbered through.

    Parameters
    ----------
    video_paths : list of str
    clip_length_in_frames : int, default 16
    frames_between_clips : int, default 1
        How many frames after one another two clips begin.
    frame_rate : float, optional
        Take frames as if the videos had so many in a second; by default they are taken as they are.
    num_workers : int, default 0
        Processes that count the files' frames.
    output_format : {"THWC", "TCHW"}
        The order of a clip's dimensions.
    _precomputed_metadata : dict, optional
        `metadata` of other clips of these files, so that their frames need not be counted again.

    Raises
    ------
    ValueError
        If ``output_format`` is another.
    """

    def __init__(
        self,
        video_paths: list[str],
        clip_length_in_frames: int = 16,
        frames_between_clips: int = 1,
        frame_rate: float | None = None,
        _precomputed_metadata: dict[str, Any] | None = None,
        num_workers: int = 0,
        _video_width: int = 0,
        _video_height: int = 0,
        _video_min_dimension: int = 0,
        _video_max_dimension: int = 0,
        _audio_samples: int = 0,
        _audio_channels: int = 0,
        output_format: str = "THWC",
    ) -> None:
        self.video_paths = video_paths
        self.num_workers = num_workers
        self.output_format = output_format.upper()
        if self.output_format not in ("THWC", "TCHW"):
            raise ValueError(f"VideoClips: output_format must be 'THWC' or 'TCHW'; got {output_format!r}")
        if _precomputed_metadata is None:
            self.video_pts, self.video_fps = self._count_frames()
        else:
            self.video_paths = _precomputed_metadata["video_paths"]
            self.video_pts = _precomputed_metadata["video_pts"]
            self.video_fps = _precomputed_metadata["video_fps"]
        self.compute_clips(clip_length_in_frames, frames_between_clips, frame_rate)

    def _count_frames(self) -> tuple[list[Tensor], list[float]]:
        from weft.utils.data import DataLoader

        loader: Any = DataLoader(
            _FrameCounts(self.video_paths),  # type: ignore[arg-type]
            batch_size=16,
            num_workers=self.num_workers,
            collate_fn=list,
        )
        counted = [pair for batch in loader for pair in batch]
        return [weft.arange(count) for count, _ in counted], [fps for _, fps in counted]

    @property
    def metadata(self) -> dict[str, Any]:
        """Paths, numbers of frames and frames a second of the videos."""
        return {"video_paths": self.video_paths, "video_pts": self.video_pts, "video_fps": self.video_fps}

    def subset(self, indices: Sequence[int]) -> VideoClips:
        """Return the clips of some of the videos."""
        metadata = {name: [values[index] for index in indices] for name, values in self.metadata.items()}
        return type(self)(
            metadata["video_paths"],
            self.num_frames,
            self.step,
            self.frame_rate,
            metadata,
            self.num_workers,
            output_format=self.output_format,
        )

    @staticmethod
    def compute_clips_for_video(
        video_pts: Tensor, num_frames: int, step: int, fps: float | None, frame_rate: float | None = None
    ) -> tuple[Tensor, Any]:
        """Return (the frames of each clip, which of the decoded frames each clip takes)."""
        fps = 1 if fps is None else fps
        frame_rate = fps if frame_rate is None else frame_rate
        taken = VideoClips._resample_video_idx(math.floor(len(video_pts) * frame_rate / fps), fps, frame_rate)
        clips = unfold(video_pts[taken], num_frames, step)
        if not len(clips):
            warnings.warn(
                f"VideoClips: a video of {len(video_pts)} frames has no clip of {num_frames}, and is left out",
                stacklevel=2,
            )
        return clips, [taken] * len(clips) if isinstance(taken, slice) else unfold(taken, num_frames, step)

    def compute_clips(self, num_frames: int, step: int, frame_rate: float | None = None) -> None:
        """Find the clips anew, of another length, distance or rate."""
        self.num_frames = num_frames
        self.step = step
        self.frame_rate = frame_rate
        pairs = [
            self.compute_clips_for_video(pts, num_frames, step, fps, frame_rate)
            for pts, fps in zip(self.video_pts, self.video_fps, strict=True)
        ]
        self.clips = [clips for clips, _ in pairs]
        self.resampling_idxs = [taken for _, taken in pairs]
        self.cumulative_sizes: list[int] = []
        for clips in self.clips:
            self.cumulative_sizes.append(self.num_clips() + len(clips))

    def __len__(self) -> int:
        """Return the number of clips."""
        return self.num_clips()

    def num_videos(self) -> int:
        """Return the number of videos."""
        return len(self.video_paths)

    def num_clips(self) -> int:
        """Return the number of clips."""
        return self.cumulative_sizes[-1] if self.cumulative_sizes else 0

    def get_clip_location(self, idx: int) -> tuple[int, int]:
        """Return (video, number of the clip in it) of a clip."""
        video = bisect.bisect_right(self.cumulative_sizes, idx)
        return video, idx - (self.cumulative_sizes[video - 1] if video else 0)

    @staticmethod
    def _resample_video_idx(num_frames: int, original_fps: float, new_fps: float) -> Any:
        """Return which frames to take: a slice if they are at even distances, else their numbers."""
        step = original_fps / new_fps
        if float(step).is_integer():
            return slice(None, None, int(step))
        return (weft.arange(num_frames, dtype=weft.float32) * step).floor().to(weft.int64)

    def get_clip(self, idx: int) -> tuple[Tensor, Tensor, dict[str, Any], int]:
        """Return (video, audio, {"video_fps": frames a second}, number of the video) of a clip.

        The video is uint8, of shape (T, H, W, C) or (T, C, H, W); the audio float32, of shape (channels, samples).

        Raises
        ------
        IndexError
            If there is no such clip.
        """
        if idx >= self.num_clips():
            raise IndexError(f"VideoClips.get_clip: there is no clip {idx}; there are {self.num_clips()}")
        video_idx, clip_idx = self.get_clip_location(idx)
        pts = self.clips[video_idx][clip_idx]
        start, stop = int(pts[0]), int(pts[-1]) + 1
        file = VideoFile(self.video_paths[video_idx])
        video = file.frames(start, stop)
        fps = file.average_fps
        audio = file.audio(start / fps, stop / fps)
        if self.output_format == "TCHW":
            video = video.permute(0, 3, 1, 2)
        if self.frame_rate is not None:
            taken = self.resampling_idxs[video_idx][clip_idx]
            video = video[taken if isinstance(taken, slice) else taken - taken[0]]
            fps = self.frame_rate
        return video, audio, {"video_fps": fps}, video_idx


class _FrameCounts:
    """(number of frames, frames a second) of video files."""

    def __init__(self, video_paths: list[str]) -> None:
        self._paths = video_paths

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: int) -> tuple[int, float]:
        file = VideoFile(self._paths[index])
        return file.num_frames, file.average_fps
