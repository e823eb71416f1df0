"""Videos in files: frames and sound as tensors. The codecs are PyAV's, which ``weft-vision[video]`` brings."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import weft
from weft import Tensor

__all__ = ["VideoReader", "read_video", "read_video_timestamps", "write_video"]


def imported_av() -> Any:
    """PyAV.

    Raises
    ------
    ImportError
        With the command that installs it.
    """
    try:
        import av
    except ImportError as error:
        raise ImportError("videos are read and written by PyAV: pip install 'weft-vision[video]'") from error
    return av


def opened(name: str, source: Any) -> Any:
    """The container of a file.

    Raises
    ------
    RuntimeError
        If there is no such file, or it is no video.
    """
    av = imported_av()
    if isinstance(source, (str, Path)) and "://" not in str(source) and not Path(source).is_file():
        raise RuntimeError(f"{name}: File not found: {source}")
    try:
        return av.open(source if hasattr(source, "read") else str(source), metadata_errors="ignore")
    except av.FFmpegError as error:
        raise RuntimeError(f"{name}: no video in {source}: {error}") from error


def read_video(
    filename: str | Path,
    start_pts: float | Fraction = 0,
    end_pts: float | Fraction | None = None,
    pts_unit: str = "pts",
    output_format: str = "THWC",
) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """Read the frames and the sound of a video between two times.

    Parameters
    ----------
    filename : path
    start_pts, end_pts : number
        The first and the last time; by default all.
    pts_unit : "pts" or "sec"
        In units of each stream, or in seconds.
    output_format : "THWC" or "TCHW"

    Returns
    -------
    video : Tensor of uint8, shape (T, H, W, 3) or (T, 3, H, W)
    audio : Tensor, shape (channels, L)
        (1, 0) without sound.
    info : dict
        ``video_fps`` and ``audio_fps``, of the streams that there are.

    Raises
    ------
    ImportError
        If PyAV is missing.
    ValueError
        For another format or unit, or if the end is before the start.
    RuntimeError
        If there is no such file, or it is no video.
    """
    output_format = output_format.upper()
    if output_format not in ("THWC", "TCHW"):
        raise ValueError(f"output_format should be either 'THWC' or 'TCHW', got {output_format}.")
    if pts_unit not in ("pts", "sec"):
        raise ValueError(f"pts_unit should be either 'pts' or 'sec', got {pts_unit}")
    end = math.inf if end_pts is None else end_pts
    if end < start_pts:
        raise ValueError(f"end_pts should be larger than start_pts, got start_pts={start_pts} and end_pts={end_pts}")
    info: dict[str, Any] = {}
    video, audio = weft.empty((0, 1, 1, 3), dtype=weft.uint8), weft.empty((1, 0))
    with opened("read_video", filename) as container:
        if container.streams.video:
            stream = container.streams.video[0]
            if stream.average_rate is not None:
                info["video_fps"] = float(stream.average_rate)
            frames = [
                frame.to_ndarray(format="rgb24") for frame in between(container, stream, start_pts, end, pts_unit)
            ]
            video = weft.from_numpy(np.stack(frames)) if frames else video
    with opened("read_video", filename) as container:
        if container.streams.audio:
            stream = container.streams.audio[0]
            info["audio_fps"] = stream.rate
            samples = sound_between(container, stream, start_pts, end, pts_unit)
            audio = weft.from_numpy(samples) if samples.size else audio
    return (video.permute(0, 3, 1, 2) if output_format == "TCHW" else video), audio, info


def between(container: Any, stream: Any, start: Any, end: Any, unit: str) -> Iterator[Any]:
    """The frames of a stream whose time is in a range, in the order of time."""
    first = int(start / stream.time_base) if unit == "sec" else int(start)
    if first > 0:
        container.seek(first, any_frame=False, backward=True, stream=stream)
    for frame in container.decode(stream):
        time = frame.pts if unit == "pts" else frame.time
        if time is None or time > end:
            return
        if time >= start:
            yield frame


def sound_between(container: Any, stream: Any, start: Any, end: Any, unit: str) -> Any:
    """The samples of a stream in a range, (channels, L)."""
    parts = []
    scale = 1 if unit == "sec" else stream.time_base
    for frame in container.decode(stream):
        samples = frame.to_ndarray()
        if not frame.format.is_planar:
            samples = samples.reshape(-1, len(frame.layout.channels)).T
        begin = frame.pts * stream.time_base
        low, high = (math.inf if time == math.inf else (time * scale - begin) * stream.rate for time in (start, end))
        parts.append(samples[:, max(math.ceil(low), 0) : None if high == math.inf else max(math.ceil(high), 0)])
    return np.concatenate(parts, 1) if parts else np.empty((1, 0), np.float32)


def read_video_timestamps(filename: str | Path, pts_unit: str = "pts") -> tuple[list[Any], float | None]:
    """Return the times of a video's frames, in the order of time, and its frames a second.

    Parameters
    ----------
    filename : path
    pts_unit : "pts" or "sec"
        Whole numbers in units of the stream, or fractions of seconds.

    Raises
    ------
    ImportError, ValueError, RuntimeError
        As `read_video`.
    """
    if pts_unit not in ("pts", "sec"):
        raise ValueError(f"pts_unit should be either 'pts' or 'sec', got {pts_unit}")
    with opened("read_video_timestamps", filename) as container:
        if not container.streams.video:
            return [], None
        stream = container.streams.video[0]
        times = sorted(packet.pts for packet in container.demux(stream) if packet.pts is not None)
        rate = None if stream.average_rate is None else float(stream.average_rate)
        return ([time * stream.time_base for time in times] if pts_unit == "sec" else times), rate


def write_video(
    filename: str | Path,
    video_array: Any,
    fps: float,
    video_codec: str = "libx264",
    options: dict[str, Any] | None = None,
    audio_array: Any = None,
    audio_fps: float | None = None,
    audio_codec: str | None = None,
    audio_options: dict[str, Any] | None = None,
) -> None:
    """Write frames, and sound, to a video file.

    Parameters
    ----------
    filename : path
        Its ending says which container.
    video_array : Tensor of uint8, shape (T, H, W, 3)
    fps : number
        Frames a second.
    video_codec, audio_codec : str
    options, audio_options : dict, optional
        Of the codecs.
    audio_array : Tensor, shape (channels, L), optional
        Of one or two channels.
    audio_fps : number, optional
        Samples a second.

    Raises
    ------
    ImportError
        If PyAV is missing.
    """
    av = imported_av()
    frames = weft.as_tensor(video_array, dtype=weft.uint8).numpy()
    rate = Fraction(fps).limit_denominator(1001) if isinstance(fps, float) else fps
    with av.open(str(filename), mode="w") as container:
        stream = container.add_stream(video_codec, rate=rate, options=options or {})
        stream.width, stream.height = frames.shape[2], frames.shape[1]
        stream.pix_fmt = "yuv420p" if video_codec != "libx264rgb" else "rgb24"
        if audio_array is not None:
            layout = "stereo" if len(audio_array) > 1 else "mono"
            sound = container.add_stream(
                audio_codec, rate=int(audio_fps or 0), options=audio_options or {}, layout=layout
            )
            add_sound(container, sound, np.asarray(audio_array), layout)
        for pixels in frames:
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def add_sound(container: Any, stream: Any, samples: Any, layout: str) -> None:
    """Encode samples (channels, L), converted to what the codec takes."""
    av = imported_av()
    formats = {"float64": "dblp", "float32": "fltp", "int16": "s16p", "int32": "s32p", "uint8": "u8p"}
    frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), formats[samples.dtype.name], layout)
    frame.sample_rate = stream.rate
    resampler = av.AudioResampler(format=stream.format, layout=layout, rate=stream.rate, frame_size=stream.frame_size)
    for part in (*resampler.resample(frame), *resampler.resample(None)):
        container.mux(stream.encode(part))
    container.mux(stream.encode())


class VideoReader:
    """The frames of a stream of a video, one after another.

    Parameters
    ----------
    src : path, bytes or Tensor of uint8
        A file, or its content.
    stream : str
        "video" or "audio", and the number of the stream if it is not the first: "video:1".
    num_threads : int
        Of the decoder; 0: as many as it likes.

    Raises
    ------
    ImportError, RuntimeError
        As `read_video`.
    """

    def __init__(self, src: Any, stream: str = "video", num_threads: int = 0) -> None:
        if isinstance(src, Tensor):
            src = src.numpy().tobytes()
        self.container = opened("VideoReader", io.BytesIO(src) if isinstance(src, bytes) else src)
        self.num_threads = num_threads
        self.set_current_stream(stream)

    def set_current_stream(self, stream: str) -> bool:
        """Read another stream from now on, from its start."""
        kind, _, number = stream.partition(":")
        streams = getattr(self.container.streams, kind, ())
        if kind not in ("video", "audio") or int(number or 0) >= len(streams):
            raise RuntimeError(f"VideoReader: there is no stream {stream!r}")
        self.stream = streams[int(number or 0)]
        if self.num_threads:
            self.stream.thread_count = self.num_threads
        self.container.seek(0)
        self.frames = self.container.decode(self.stream)
        self.since = -math.inf
        return True

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        """Return the next frame: ``data`` (3, H, W), or samples (L, channels), and ``pts`` in seconds."""
        for frame in self.frames:
            if frame.time >= self.since:
                return {"data": self.tensor_of(frame), "pts": frame.time}
        raise StopIteration

    def tensor_of(self, frame: Any) -> Tensor:
        if self.stream.type == "video":
            return weft.from_numpy(frame.to_ndarray(format="rgb24")).permute(2, 0, 1)
        samples = frame.to_ndarray()
        channels = len(frame.layout.channels)
        return weft.from_numpy(samples.T.copy() if frame.format.is_planar else samples.reshape(-1, channels))

    def seek(self, time_s: float, keyframes_only: bool = False) -> VideoReader:
        """Go on with the first frame from a time on, in seconds; or with the key frame before it."""
        self.container.seek(int(time_s / self.stream.time_base), stream=self.stream)
        self.frames = self.container.decode(self.stream)
        self.since = -math.inf if keyframes_only else time_s
        return self

    def get_metadata(self) -> dict[str, Any]:
        """Return for each kind of stream the durations in seconds and the rates, as lists."""
        found: dict[str, Any] = {}
        for stream in (*self.container.streams.video, *self.container.streams.audio):
            entry = found.setdefault(
                stream.type, {"duration": [], "fps" if stream.type == "video" else "framerate": []}
            )
            duration = stream.duration * stream.time_base if stream.duration else self.container.duration / 1e6
            entry["duration"].append(float(duration))
            rate = stream.average_rate if stream.type == "video" else stream.rate
            entry["fps" if stream.type == "video" else "framerate"].append(float(rate))
        return found
