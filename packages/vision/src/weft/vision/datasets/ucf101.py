"""UCF101: videos of a hundred and one kinds of actions."""

from __future__ import annotations

import os
from typing import Any

from weft.vision.datasets._published import lines_of
from weft.vision.datasets._video_folder import VideoFolder
from weft.vision.datasets.utils import StrPath
from weft.vision.datasets.vision import Transform


class UCF101(VideoFolder):
    """13,320 videos of 101 actions, as clips.

    Samples are (video, audio, class): uint8 of shape (T, H, W, C) or (T, C, H, W), float32 of shape (channels,
    samples), int. The videos are in ``root/<action>/*.avi``; PyAV decodes them.

    Parameters
    ----------
    root : path
    annotation_path : path
        The folder of ``trainlist01.txt`` and its fellows.
    frames_per_clip, step_between_clips, frame_rate, num_workers, output_format
        As ``clip_length_in_frames``, ``frames_between_clips``, ... of `VideoClips`.
    fold : int, default 1
        Which of the three published divisions.
    train : bool, default True
        The training part or the test part.
    transform : callable, optional
        Applied to the video.

    Raises
    ------
    ValueError
        If ``fold`` is not 1, 2 or 3.

    References
    ----------
    K. Soomro, A. Zamir, M. Shah: UCF101: a dataset of 101 human actions classes from videos in the wild.
    arXiv:1212.0402.
    """

    def __init__(
        self,
        root: StrPath,
        annotation_path: StrPath,
        frames_per_clip: int,
        step_between_clips: int = 1,
        frame_rate: int | None = None,
        fold: int = 1,
        train: bool = True,
        transform: Transform | None = None,
        _precomputed_metadata: dict[str, Any] | None = None,
        num_workers: int = 1,
        _video_width: int = 0,
        _video_height: int = 0,
        _video_min_dimension: int = 0,
        _audio_samples: int = 0,
        output_format: str = "THWC",
    ) -> None:
        if fold not in (1, 2, 3):
            raise ValueError(f"UCF101: fold must be 1, 2 or 3; got {fold!r}")
        super().__init__(root, root, ("avi",), transform)
        self.fold = fold
        self.train = train
        names = lines_of(os.path.join(annotation_path, f"{'train' if train else 'test'}list{fold:02d}.txt"))
        chosen = {os.path.join(self.root, *name.split()[0].split("/")) for name in names if name}
        self._find_clips(
            lambda path: path in chosen,
            frames_per_clip,
            step_between_clips,
            frame_rate,
            _precomputed_metadata,
            num_workers,
            output_format=output_format,
        )
