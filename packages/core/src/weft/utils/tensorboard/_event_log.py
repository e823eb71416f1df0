"""The writer of logs where tensorboardX is not installed: through the package tensorboard, which reads them as well.

It has tensorboardX's arguments, and takes NumPy arrays and numbers. What it has no method for needs tensorboardX.
"""

from __future__ import annotations

import io
import os
import socket
import time
import wave
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, NoReturn, Self

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.summary.writer.record_writer import RecordWriter

from weft.utils.tensorboard._hparams import hparams

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]

DT_STRING = 7
PICTURES_IN_A_ROW = 8


class FileWriter:
    """One file of a log: writes summaries and events, from a thread of its own."""

    def __init__(
        self, logdir: str, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = "", **options: Any
    ) -> None:
        self.event_writer = EventFileWriter(str(logdir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The folder."""
        folder: str = self.event_writer.get_logdir()
        return folder

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an event, with the time and the step."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Write a summary: Lightning gives those of its hyperparameters."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write what waits."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what waits, and end."""
        self.event_writer.close()


class SummaryWriter:
    """Writes numbers, histograms, pictures, sounds and texts into files of one folder.

    Raises
    ------
    NotImplementedError
        For embeddings, videos, meshes, precision-recall curves and layouts of charts.
    """

    def __init__(
        self, logdir: str | None = None, comment: str = "", purge_step: int | None = None, **options: Any
    ) -> None:
        if not logdir:
            logdir = os.path.join("runs", f"{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}")
        self.logdir = str(logdir)
        self.options = options
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] = {}
        if purge_step is not None:
            self._get_file_writer().add_event(Event(file_version="brain.Event:2"), purge_step)
            self._get_file_writer().add_event(Event(session_log=SessionLog(status=SessionLog.START)), purge_step)
        self._get_file_writer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _get_file_writer(self) -> FileWriter:
        """Return the writer of the folder itself, also after `close`."""
        if self.file_writer is None:
            self.file_writer = self.all_writers[self.logdir] = FileWriter(self.logdir, **self.options)
        return self.file_writer

    def writer_of(self, *parts: str) -> FileWriter:
        """The writer of a folder beside or below, which TensorBoard shows as a run of its own."""
        folder = os.path.join(self.logdir, *parts)
        if folder not in self.all_writers:
            self.all_writers[folder] = FileWriter(folder, **self.options)
        return self.all_writers[folder]

    def flush(self) -> None:
        """Write what waits."""
        for writer in self.all_writers.values():
            writer.flush()

    def close(self) -> None:
        """Write what waits, and end; what is logged afterwards begins another file."""
        for writer in self.all_writers.values():
            writer.close()
        self.file_writer = None
        self.all_writers = {}

    def write(self, value: Any, step: Any, walltime: float | None) -> None:
        """Write one value."""
        self._get_file_writer().add_summary(Summary(value=[value]), step, walltime)

    def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Log one number."""
        self.write(Summary.Value(tag=tag, simple_value=number(scalar_value)), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Log several numbers for one chart: each is a run of its own, with the same tag."""
        for tag, value in tag_scalar_dict.items():
            entry = Summary(value=[Summary.Value(tag=main_tag, simple_value=number(value))])
            self.writer_of(f"{main_tag.replace('/', '_')}_{tag}").add_summary(entry, global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Log how values are distributed.

        Parameters
        ----------
        bins : str or sequence
            "tensorflow" for edges that grow by a tenth, from 1e-12; or what `numpy.histogram` takes.
        max_bins : int, optional
            Neighbouring bins are merged if there are more.
        """
        value = Summary.Value(tag=tag, histo=histogram(np.asarray(values, np.float64).ravel(), bins, max_bins))
        self.write(value, global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log a histogram that is computed already."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("add_histogram_raw: bucket_limits and bucket_counts differ in length")
        found = HistogramProto(
            min=min,
            max=max,
            num=num,
            sum=sum,
            sum_squares=sum_squares,
            bucket_limit=bucket_limits,
            bucket=bucket_counts,
        )
        self.write(Summary.Value(tag=tag, histo=found), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Log a picture: bytes, or numbers between 0 and 1; ``dataformats`` names its dimensions."""
        self.write(Summary.Value(tag=tag, image=picture(img_tensor, dataformats)), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Log a batch of pictures, as one."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Log figures of matplotlib's; of a list of them, a batch of pictures."""
        figures = figure if isinstance(figure, (list, tuple)) else [figure]
        drawn = np.stack([pixels(each, close) for each in figures])
        self.add_image(tag, drawn, global_step, walltime, "NHWC")

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Log a sound of one channel: numbers between -1 and 1."""
        samples = np.clip(np.asarray(snd_tensor, np.float64).squeeze(), -1, 1)
        if samples.ndim != 1:
            raise ValueError(f"add_audio: expected a sound of one channel, got shape {samples.shape}")
        audio = Summary.Audio(
            sample_rate=sample_rate,
            num_channels=1,
            length_frames=len(samples),
            encoded_audio_string=as_wav(samples, sample_rate),
            content_type="audio/wav",
        )
        self.write(Summary.Value(tag=tag, audio=audio), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Log a text, in Markdown."""
        metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
        tensor = TensorProto(dtype=DT_STRING, string_val=[str(text_string).encode()], tensor_shape=shape)
        value = Summary.Value(tag=f"{tag}/text_summary", metadata=metadata, tensor=tensor)
        self.write(value, global_step, walltime)

    def add_hparams(
        self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any], name: str | None = None, global_step: Any = None
    ) -> None:
        """Log the settings of a run and what it reached, in a folder of their own."""
        writer = self.writer_of(name or str(time.time()))
        for summary in hparams(hparam_dict, metric_dict):
            writer.add_summary(summary)
        for tag, value in metric_dict.items():
            entry = Summary(value=[Summary.Value(tag=tag, simple_value=number(value))])
            writer.add_summary(entry, global_step)

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError."""
        raise NotImplementedError(
            "SummaryWriter: the package tensorboard writes no embeddings, videos, meshes, boxes, curves of precision "
            "and recall, or layouts for weft; install tensorboardX: pip install weft-core[tensorboard]"
        )

    add_custom_scalars = add_custom_scalars_marginchart = add_custom_scalars_multilinechart = refuse
    add_embedding = add_image_with_boxes = add_mesh = add_onnx_graph = add_pr_curve = add_pr_curve_raw = refuse
    add_video = refuse


def number(value: Any) -> float:
    """A scalar: a number, or an array of one element."""
    return float(np.asarray(value).reshape(()))


@cache
def growing_edges() -> np.ndarray[Any, Any]:
    """Edges of bins from -1e20 to 1e20, each a tenth farther from zero than the one before."""
    positive = list(powers(1e-12, 1e20, 1.1))
    return np.array([-each for each in reversed(positive)] + [0.0] + positive)


def powers(first: float, end: float, factor: float) -> Iterator[float]:
    """The numbers from ``first`` up to ``end``, by a factor."""
    while first < end:
        yield first
        first *= factor


def histogram(values: np.ndarray[Any, Any], bins: Any, max_bins: int | None) -> Any:
    """The entry for values: empty bins at both ends are left out, but for one below the first."""
    if values.size == 0:
        raise ValueError("add_histogram: the input has no element")
    counts, edges = np.histogram(
        values, bins=growing_edges() if isinstance(bins, str) and bins == "tensorflow" else bins
    )
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
        edges = np.append(edges[:-1:step], edges[-1])
    filled = np.flatnonzero(counts)
    if filled.size == 0:
        raise ValueError("add_histogram: no value is in any bin; the input is not finite or outside of the bins")
    first, end = int(filled[0]), int(filled[-1]) + 1
    return HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values @ values,
        bucket_limit=edges[first : end + 1].tolist(),
        bucket=[0, *counts[first:end].tolist()],
    )


def picture(values: Any, dimensions: str) -> Any:
    """The entry for an array of pixels."""
    rows = as_rows(np.asarray(values), dimensions.upper())
    if rows.dtype != np.uint8:
        rows = np.clip(rows.astype(np.float32) * 255, 0, 255).astype(np.uint8)
    encoded = io.BytesIO()
    import_module("PIL.Image").fromarray(rows).save(encoded, "PNG")
    height, width, channels = rows.shape
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=encoded.getvalue())


def as_rows(values: np.ndarray[Any, Any], dimensions: str) -> np.ndarray[Any, Any]:
    """Pixels as (height, width, channels): a batch in a grid, grey in three channels."""
    if len(dimensions) != values.ndim or not set("HW") <= set(dimensions) <= set("NCHW"):
        raise ValueError(f"add_image: an array of shape {values.shape} is not {dimensions!r}; give its dataformats")
    batch = np.einsum(f"{dimensions}->{''.join(each for each in 'NHWC' if each in dimensions)}", values)
    batch = batch if "C" in dimensions else batch[..., None]
    batch = batch if "N" in dimensions else batch[None]
    count, height, width, channels = batch.shape
    across = min(count, PICTURES_IN_A_ROW)
    down = -(-count // across)
    grid = np.zeros((down * across, height, width, channels), batch.dtype)
    grid[:count] = batch
    tiled = grid.reshape(down, across, height, width, channels).swapaxes(1, 2)
    rows = tiled.reshape(down * height, across * width, channels)
    return np.repeat(rows, 3, axis=-1) if channels == 1 else rows


def pixels(figure: Any, close: bool) -> np.ndarray[Any, Any]:
    """What a figure shows, with bytes for red, green and blue."""
    canvas = import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    canvas.draw()
    drawn = np.array(canvas.buffer_rgba())[..., :3]
    if close:
        import_module("matplotlib.pyplot").close(figure)
    return drawn


def as_wav(samples: np.ndarray[Any, Any], rate: int) -> bytes:
    """A file of samples, 16 bits each."""
    encoded = io.BytesIO()
    with wave.open(encoded, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((samples * 32767).astype("<i2").tobytes())
    return encoded.getvalue()
