"""Kinetics: ten seconds of videos of YouTube, in hundreds of kinds of actions."""

from __future__ import annotations

import csv
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from weft.vision.datasets._published import lines_of
from weft.vision.datasets._video_folder import VideoFolder
from weft.vision.datasets.utils import StrPath, download_and_extract_archive, download_url, verify_str_arg
from weft.vision.datasets.vision import Transform

_ADDRESS = "https://s3.amazonaws.com/kinetics/"


class Kinetics(VideoFolder):
    """Up to 650,000 videos of 400, 600 or 700 actions, as clips.

    Samples are (video, audio, class): uint8 of shape (T, C, H, W) or (T, H, W, C), float32 of shape (channels,
    samples), int. The videos are in ``root/<split>/<action>``; PyAV decodes them.

    Parameters
    ----------
    root : path
    frames_per_clip, frame_rate, step_between_clips, num_workers, output_format
        As ``clip_length_in_frames``, ... of `VideoClips`.
    num_classes : {"400", "600", "700"}
        Which collection to download.
    split : {"train", "val", "test"}
    transform : callable, optional
        Applied to the video.
    extensions : tuple of str
        Endings of the videos' names.
    download : bool, default False
        Fetch the videos of this part (hundreds of GB) unless its folder is there.
    num_download_workers : int, default 1
        How many archives to fetch at a time.

    References
    ----------
    W. Kay et al.: The Kinetics human action video dataset. arXiv:1705.06950.
    """

    _folders: ClassVar[dict[str, tuple[str, str]]] = {
        "400": ("400", "k400"),
        "600": ("600", "k600"),
        "700": ("700_2020", "k700_2020"),
    }

    def __init__(
        self,
        root: StrPath,
        frames_per_clip: int,
        num_classes: str = "400",
        split: str = "train",
        frame_rate: int | None = None,
        step_between_clips: int = 1,
        transform: Transform | None = None,
        extensions: tuple[str, ...] = ("avi", "mp4"),
        download: bool = False,
        num_download_workers: int = 1,
        num_workers: int = 1,
        _precomputed_metadata: dict[str, Any] | None = None,
        _video_width: int = 0,
        _video_height: int = 0,
        _video_min_dimension: int = 0,
        _audio_samples: int = 0,
        _audio_channels: int = 0,
        _legacy: bool = False,
        output_format: str = "TCHW",
    ) -> None:
        self.num_classes = verify_str_arg(num_classes, "num_classes", self._folders)
        self.extensions = extensions
        self.num_download_workers = num_download_workers
        self.root = os.path.expanduser(root)
        if _legacy:  # the classes are right below root, and videos have their channels last
            if download:
                raise ValueError("Kinetics: download fetches a part, which _legacy has not; pass _legacy=False")
            self.split, self.split_folder, output_format = "unknown", self.root, "THWC"
        else:
            self.split = verify_str_arg(split, "split", ("train", "val", "test"))
            self.split_folder = os.path.join(self.root, split)
        if download:
            self.download_and_process_videos()
        super().__init__(root, self.split_folder, extensions, transform)
        self._find_clips(
            lambda path: True,
            frames_per_clip,
            step_between_clips,
            frame_rate,
            _precomputed_metadata,
            num_workers,
            output_format=output_format,
        )

    def download_and_process_videos(self) -> None:
        """Fetch the videos of this part, and move each to the folder of its class."""
        if os.path.exists(self.split_folder):
            return
        folder, prefix = self._folders[self.num_classes]
        lists, tables = Path(self.root) / "files", Path(self.root) / "annotations"
        name = f"{prefix}_{self.split}_path.txt"
        download_url(f"{_ADDRESS}{folder}/{self.split}/{name}", lists)
        download_url(f"{_ADDRESS}{folder}/annotations/{self.split}.csv", tables)
        addresses = [quote(line, safe="/,:") for line in lines_of(lists / name) if line]
        with ThreadPoolExecutor(self.num_download_workers) as pool:
            list(pool.map(self._fetch, addresses))
        self._sort_into_classes(tables / f"{self.split}.csv")

    def _fetch(self, address: str) -> None:
        download_and_extract_archive(address, Path(self.root) / "tars", self.split_folder)

    def _sort_into_classes(self, table: Path) -> None:
        parts = Path(self.split_folder)
        with open(table, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                label = row["label"].translate(str.maketrans(" ", "_", "'()"))
                name = f"{row['youtube_id']}_{int(row['time_start']):06}_{int(row['time_end']):06}.mp4"
                if os.path.basename(label) != label or os.path.basename(name) != name:
                    raise ValueError(f"Kinetics: {table} names a file outside of the data set: {label}/{name}")
                (parts / label).mkdir(parents=True, exist_ok=True)
                if (parts / name).is_file():
                    (parts / name).replace(parts / label / name)
