"""Fourier transforms, windows, mel weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from weft.onnx._importer.operators._common import number
from weft.onnx._importer.reading import dtype_of
from weft.onnx._importer.registry import operator


def as_complex(x: Any) -> Any:
    """A tensor whose last axis has the real and perhaps the imaginary parts, as a complex one."""
    if x.shape[-1] == 2:
        return weft.view_as_complex(x.contiguous())
    return x.squeeze(-1)


@operator("DFT", since=20, host="dft_length axis")
def dft(input: Any, dft_length: Any = None, axis: Any = -2, *, inverse: int = 0, onesided: int = 0) -> Any:
    dft_length, axis = number(dft_length), number(axis) % input.ndim
    if axis == input.ndim - 1:
        raise ValueError("DFT: the last axis has the real and imaginary parts, and is not transformed")
    values = as_complex(input)
    if inverse and onesided:
        return weft.fft.irfft(values, dft_length, axis).unsqueeze(-1)
    if inverse:
        transformed = weft.fft.ifft(values, dft_length, axis)
    elif onesided:
        transformed = weft.fft.rfft(values.real if values.dtype.is_complex else values, dft_length, axis)
    else:
        transformed = weft.fft.fft(values, dft_length, axis)
    return weft.view_as_real(transformed).to(input.dtype)


@operator("DFT", host="dft_length")
def dft_17(input: Any, dft_length: Any = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> Any:
    return dft(input, dft_length, axis, inverse=inverse, onesided=onesided)


@operator("STFT", host="frame_step frame_length", frozen="window")
def stft(signal: Any, frame_step: Any, window: Any = None, frame_length: Any = None, *, onesided: int = 1) -> Any:
    frame_step, frame_length = number(frame_step), number(frame_length)
    if frame_length is None:
        frame_length = signal.shape[1] if window is None else window.shape[0]
    frames = as_complex(signal).unfold(1, frame_length, frame_step)  # (N, frames, frame_length)
    frames = frames if window is None else frames * window
    onesided = onesided and not frames.dtype.is_complex
    transformed = (weft.fft.rfft if onesided else weft.fft.fft)(frames)
    return weft.view_as_real(transformed).to(signal.dtype)


def declare_window(name: str, formula: Callable[[Any], Any]) -> None:
    """Declare a window: a function of the angle."""

    @operator(name, host="size")
    def run(size: Any, *, output_datatype: int = 1, periodic: int = 1, context: Any) -> Any:
        size = number(size)
        steps = size if periodic else size - 1
        angle = weft.arange(size, dtype=weft.float64, device=context.device) * (2 * math.pi / max(steps, 1))
        return formula(angle).to(dtype_of(output_datatype))


declare_window("HannWindow", lambda angle: 0.5 - 0.5 * angle.cos())
declare_window("HammingWindow", lambda angle: 25 / 46 - 21 / 46 * angle.cos())
declare_window("BlackmanWindow", lambda angle: 0.42 - 0.5 * angle.cos() + 0.08 * (2 * angle).cos())


@operator("MelWeightMatrix", host="num_mel_bins dft_length sample_rate lower_edge_hertz upper_edge_hertz")
def mel_weight_matrix(
    num_mel_bins: Any,
    dft_length: Any,
    sample_rate: Any,
    lower_edge_hertz: Any,
    upper_edge_hertz: Any,
    *,
    output_datatype: int = 1,
    context: Any,
) -> Any:
    """Triangles between points at equal distances on the mel scale, in bins of the spectrum."""
    bins, length, rate = map(number, (num_mel_bins, dft_length, sample_rate))
    low, high = map(number, (lower_edge_hertz, upper_edge_hertz))
    mel = [2595 * math.log10(1 + edge / 700) for edge in (low, high)]
    step = (mel[1] - mel[0]) / (bins + 2)
    hertz = 700 * (10 ** ((np.arange(bins + 2) * step + mel[0]) / 2595) - 1)
    points = ((length + 1) * hertz // rate).astype(np.int64)
    matrix = np.zeros((length // 2 + 1, bins))
    for column in range(bins):
        start, top, end = points[column : column + 3]
        if start == top:
            matrix[top, column] = 1
        else:
            matrix[start : top + 1, column] = np.arange(top + 1 - start) / (top - start)
        if end > top:
            matrix[top:end, column] = (end - np.arange(top, end)) / (end - top)
    return weft.tensor(matrix, device=context.device).to(dtype_of(output_datatype))
