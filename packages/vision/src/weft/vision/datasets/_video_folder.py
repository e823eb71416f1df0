"""Clips of videos in folders that are named after their classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft import Tensor
from weft.vision.datasets.folder import find_classes, make_dataset
from weft.vision.datasets.utils import StrPath
from weft.vision.datasets.video_utils import VideoClips
from weft.vision.datasets.vision import Transform, VisionDataset


class VideoFolder(VisionDataset):
    """Videos in ``folder/<class>``; subclasses call `_find_clips`.

    Attributes
    ----------
    classes : list of str
    samples : list of (path, class)
    indices : list of int
        Which of the samples are in this part.
    video_clips, full_video_clips : VideoClips
        Of this part, and of all.
    """

    def __init__(
        self, root: StrPath, folder: StrPath, extensions: tuple[str, ...], transform: Transform | None
    ) -> None:
        super().__init__(root)
        self.transform = transform
        self.classes, class_to_idx = find_classes(folder)
        self.samples = make_dataset(folder, class_to_idx, extensions)

    def _find_clips(self, is_in_part: Callable[[str], bool], *args: Any, **kwargs: Any) -> None:
        """Set the clips, of the videos whose path is in this part; the rest as of `VideoClips`."""
        paths = [path for path, _ in self.samples]
        self.full_video_clips = VideoClips(paths, *args, **kwargs)
        self.indices = [index for index, path in enumerate(paths) if is_in_part(path)]
        is_whole = len(self.indices) == len(paths)
        self.video_clips = self.full_video_clips if is_whole else self.full_video_clips.subset(self.indices)

    @property
    def metadata(self) -> dict[str, Any]:
        """What `VideoClips` takes as ``_precomputed_metadata``."""
        return self.full_video_clips.metadata

    def __getitem__(self, index: int) -> tuple[Any, Tensor, int]:
        """Return (video, audio, class)."""
        video, audio, _, number = self.video_clips.get_clip(index)
        label = self.samples[self.indices[number]][1]
        return video if self.transform is None else self.transform(video), audio, label

    def __len__(self) -> int:
        """Return the number of clips in this part."""
        return self.video_clips.num_clips()
