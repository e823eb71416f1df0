"""HMDB51: videos of human motion."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from weft.vision.datasets._published import lines_of
from weft.vision.datasets._video_folder import VideoFolder
from weft.vision.datasets.utils import StrPath
from weft.vision.datasets.vision import Transform


class HMDB51(VideoFolder):
    """6,766 videos of 51 actions, as clips.

    Samples and parameters as of `UCF101`; the folder ``annotation_path`` has ``<action>_test_split1.txt`` and so on,
    whose lines are ``<file> 1`` for the training part, 2 for the test part and 0 for neither.

    References
    ----------
    H. Kuehne et al.: HMDB: a large video database for human motion recognition. ICCV 2011.
    """

    TRAIN_TAG = 1
    TEST_TAG = 2

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
            raise ValueError(f"HMDB51: fold must be 1, 2 or 3; got {fold!r}")
        super().__init__(root, root, ("avi",), transform)
        self.fold = fold
        self.train = train
        tag = self.TRAIN_TAG if train else self.TEST_TAG
        rows = [
            line.split()
            for path in Path(annotation_path).glob(f"*test_split{fold}.txt")
            for line in lines_of(path)
            if line
        ]
        chosen = {name for name, number in rows if int(number) == tag}
        self._find_clips(
            lambda path: os.path.basename(path) in chosen,
            frames_per_clip,
            step_between_clips,
            frame_rate,
            _precomputed_metadata,
            num_workers,
            output_format=output_format,
        )
