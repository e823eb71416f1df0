"""Frames and sound of video files, decoded by PyAV."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import weft
from weft import Tensor


class VideoFile:
    """A video file: how many frames it has, how fast they follow, and the frames themselves.

    Parameters
    ----------
    path : path

    Raises
    ------
    RuntimeError
        If PyAV is not installed, or the file has no video.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            import av
        except ModuleNotFoundError as error:
            raise RuntimeError("PyAV decodes videos, and is not installed: pip install av") from error
        self._av: Any = av
        self._path = os.fspath(path)
        with self._av.open(self._path) as container:
            if not container.streams.video:
                raise RuntimeError(f"{path} has no video")
            stream = container.streams.video[0]
            self.average_fps = float(stream.average_rate or stream.guessed_rate or Fraction(1))
            self.num_frames = stream.frames or sum(1 for _ in container.decode(stream))

    def frames(self, start: int, stop: int) -> Tensor:
        """Return frames from ``start`` to before ``stop``: uint8, shape (T, H, W, 3)."""
        with self._av.open(self._path) as container:
            decoded = itertools.islice(container.decode(container.streams.video[0]), start, stop)
            found = [frame.to_ndarray(format="rgb24") for frame in decoded]
        if len(found) != stop - start:
            raise IndexError(f"{self._path} ends {stop - start - len(found)} frames before frame {stop - 1}")
        return weft.from_numpy(np.stack(found))

    def audio(self, start: float, stop: float) -> Tensor:
        """Return the sound from one time to another, in seconds: float32 from -1 to 1, shape (channels, samples).

        It has the shape (1, 0) where there is none.
        """
        with self._av.open(self._path) as container:
            parts = list(self._sound(container, start, stop)) if container.streams.audio else []
        return weft.from_numpy(np.concatenate(parts, axis=1)) if parts else weft.empty(1, 0)

    def _sound(self, container: Any, start: float, stop: float) -> Iterator[np.ndarray[Any, Any]]:
        resampler = self._av.AudioResampler(format="fltp")
        for coded in container.decode(container.streams.audio[0]):
            for frame in resampler.resample(coded):
                samples = frame.to_ndarray()  # (channels, samples)
                begin = float(frame.pts * frame.time_base)
                first, last = (round((time - begin) * frame.sample_rate) for time in (start, stop))
                if first < samples.shape[1] and last > 0:
                    yield samples[:, max(first, 0) : last]
                if last <= 0:
                    return
