"""Discrete Fourier transforms: the ops behind `weft.fft`.

There are three, as in every FFT library: of complex numbers, of real numbers (half of the result says all), and the
inverse of the latter. They do not normalize but multiply by a given scale; the namespace computes it from ``norm``.
`stft` and `istft` are composed of them.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy

from weft._engine.tensor import TensorBase
from weft._settings import warn_caller_once
from weft._tensor.base import Tensor
from weft.ops._declare import composite, op
from weft.ops._geometry import has_values, integers
from weft.ops._numerics import is_numpy
from weft.ops.creation import arange, ones
from weft.ops.joining import cat
from weft.ops.views import unfold_backward, view_as_real


@op(name="fft_c2c", result="same", dtypes="complex", vmap="along_dims", linear="input", autocast="float32")
def c2c(input: Tensor, dims: tuple[int, ...], forward: bool, scale: float) -> Tensor:
    """``scale * sum(input * exp(-+ 2 pi i j k / n))`` over each of some dims; minus is forward."""
    return c2c.op(input, dims, forward, scale)


@c2c.kernel
def _(xp, input, dims, forward, scale):
    if not input.size and not is_numpy(xp):  # CuPy makes no plan for a batch of none
        return xp.empty(input.shape, input.dtype)
    # Of NumPy's two norms that which leaves this direction unscaled.
    transform, norm = (xp.fft.fftn, "backward") if forward else (xp.fft.ifftn, "forward")
    return scaled(transform(widened(xp, input, dims), axes=dims, norm=norm), scale, input.dtype)


def widened(xp: Any, input: Any, dims: tuple[int, ...]) -> Any:
    """What is transformed along several dims, in double precision: the rounding of each pass of NumPy would add up."""
    if len(dims) == 1 or not is_numpy(xp):
        return input
    return input.astype(xp.result_type(input.dtype, xp.float64))


def scaled(result: Any, scale: float, element: Any) -> Any:
    """A transform in its dtype, times a number."""
    result = result.astype(element, copy=False)
    return result if scale == 1 else result * element.type(scale)


@c2c.gradient("input")
def _(grad, dims, forward, scale):
    return c2c.op(grad, dims, not forward, scale)


@op(name="fft_r2c", dtypes="float", vmap="along_dims", linear="input", autocast="float32")
def r2c(input: Tensor, dims: tuple[int, ...], scale: float) -> Tensor:
    """The forward transform of real numbers; of the last dim only the first half, the other is its conjugate."""
    return r2c.op(input, dims, scale)


@r2c.kernel
def _(xp, input, dims, scale):
    element = numpy.result_type(input.dtype, numpy.complex64)
    if not input.size and not is_numpy(xp):
        shape = [size // 2 + 1 if d == dims[-1] else size for d, size in enumerate(input.shape)]
        return xp.empty(shape, element)
    return scaled(xp.fft.rfftn(widened(xp, input, dims), axes=dims), scale, element)


@r2c.gradient("input")
def _(grad, input_shape, dims, scale):
    whole = resized(grad, dims[-1:], (input_shape[dims[-1]],))
    return c2c.op(whole, dims, False, scale).real


@op(name="fft_c2r", dtypes="complex", vmap="along_dims", linear="input", autocast="float32")
def c2r(input: Tensor, dims: tuple[int, ...], size: int, scale: float) -> Tensor:
    """The inverse transform of the first half of a Hermitian signal, ``size`` real numbers along the last dim."""
    return c2r.op(input, dims, size, scale)


@c2r.kernel
def _(xp, input, dims, size, scale):
    if not is_numpy(xp):
        return half_inverted(xp, input, dims, size, scale)
    sizes = [input.shape[d] for d in dims[:-1]] + [size]
    result = xp.fft.irfftn(widened(xp, input, dims), s=sizes, axes=dims, norm="forward")
    return scaled(result, scale, input.real.dtype)


def half_inverted(xp: Any, input: Any, dims: tuple[int, ...], size: int, scale: float) -> Any:
    """`c2r` dim by dim: cuFFT takes the half of several dims for that of a real signal, whether it is one or not."""
    element = input.real.dtype
    if not input.size:
        return xp.empty([size if d == dims[-1] else each for d, each in enumerate(input.shape)], element)
    if len(dims) > 1:
        input = xp.fft.ifftn(input, axes=dims[:-1], norm="forward")
    return scaled(xp.fft.irfft(input, size, dims[-1], "forward"), scale, element)


@c2r.gradient("input")
def _(grad, input_shape, dims, size, scale):
    # Numbers that have a conjugate in the other half count twice.
    half = r2c.op(grad, dims, scale)
    last, doubled = dims[-1], size - half.shape[dims[-1]]
    one, rest = half.narrow(last, 0, 1), half.shape[last] - 1 - doubled
    pieces = [one, half.narrow(last, 1, doubled) * 2, half.narrow(last, 1 + doubled, rest)]
    return resized(cat(pieces, last), (last,), (input_shape[last],))


def resized(input: Any, dims: Any, sizes: Any) -> Any:
    """A tensor cut, or filled up with zeros, at the end of some dims."""
    for dim, size in zip(dims, sizes):
        have = input.shape[dim]
        if size < have:
            input = input.narrow(dim, 0, size)
        elif size > have:
            shape = list(input.shape)
            shape[dim] = size - have
            input = cat([input, input.new_zeros(shape)], dim)
    return input


def scale_of(name: str, norm: str | None, sizes: Any, forward: bool) -> float:
    """The factor that a norm asks for in a direction.

    Raises
    ------
    RuntimeError
        If the norm is none of backward, ortho and forward.
    """
    if norm not in (None, "backward", "ortho", "forward"):
        raise RuntimeError(f"{name}: Invalid normalization mode: {norm!r}; it is 'backward', 'ortho' or 'forward'")
    if norm == "ortho":
        return 1 / math.sqrt(math.prod(sizes))
    return 1 / math.prod(sizes) if (norm == "forward") == forward else 1.0


# Spectra of a moving window


PAD_MODES = ("reflect", "replicate", "circular", "constant")


def extended(signal: Any, count: int, mode: str) -> Any:
    """Signals (..., L) with so many samples more at both ends: zeros, or samples of their own."""
    size = signal.shape[-1]
    if mode not in PAD_MODES:
        raise NotImplementedError(
            f"stft: unrecognised padding mode {mode!r}; pad_mode is one of {', '.join(PAD_MODES)}"
        )
    most = {"reflect": size - 1, "circular": size}.get(mode, count)
    if count > most:
        raise RuntimeError(
            f"stft: padding of {count} samples by {mode!r} needs a longer signal than {size}; pass a smaller n_fft, "
            "pad_mode='constant' or center=False"
        )
    if mode == "constant":
        ends = signal.new_zeros((*signal.shape[:-1], count))
        return cat([ends, signal, ends], -1)
    place = arange(-count, size + count, device=signal.device)
    if mode == "reflect":
        place = (size - 1) - ((size - 1) - place.abs()).abs()
    else:
        place = place.clamp(0, size - 1) if mode == "replicate" else place % size
    return signal.index_select(-1, place)


def window_of(name: str, window: Any, n_fft: int, win_length: int, like: Any) -> Any:
    """The window (n_fft,), with zeros at both ends if it is shorter; None where every sample counts the same.

    Raises
    ------
    RuntimeError
        If it is no vector of win_length elements.
    """
    if window is not None and (window.ndim != 1 or window.shape[0] != win_length):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
            f"{list(window.shape)}"
        )
    if window is not None and window.device != like.device:
        raise RuntimeError(
            f"{name}: expected input and window to be on the same device, but got {like.device} and {window.device}"
        )
    if win_length == n_fft:
        return window
    if window is None:
        window = ones(win_length, dtype=like.dtype.to_real(), device=like.device)
    return with_zeros(window, n_fft - win_length)


def with_zeros(signal: Any, count: int) -> Any:
    """Signals (..., L) with so many zeros around them, half of them before."""
    shape, before = signal.shape[:-1], count // 2
    return cat([signal.new_zeros((*shape, before)), signal, signal.new_zeros((*shape, count - before))], -1)


def lengths(name: str, n_fft: Any, hop_length: Any, win_length: Any) -> tuple[int, int, int]:
    """Three sizes: those given, and what the others are by default."""
    (n_fft,) = integers(name, (n_fft,), "n_fft")
    (hop_length,) = integers(name, (n_fft // 4 if hop_length is None else hop_length,), "hop_length")
    (win_length,) = integers(name, (n_fft if win_length is None else win_length,), "win_length")
    return n_fft, hop_length, win_length


def check_lengths(name: str, n_fft: int, hop_length: int, win_length: int) -> None:
    if hop_length <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop_length}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length}, n_fft={n_fft}")


@composite("stft", autocast="float32")
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The spectra of a signal seen through a window that moves along it.

    Parameters
    ----------
    input : Tensor, shape (L,) or (B, L), floating or complex
    n_fft : int
        The size of each transform.
    hop_length : int, default n_fft // 4
        How far the window moves.
    win_length : int, default n_fft
    window : Tensor, shape (win_length,), default ones
        Shorter than n_fft it stands in the middle of zeros.
    center : bool
        Each window has its middle at a multiple of hop_length; the signal is extended by n_fft // 2 at both ends.
    pad_mode : {"reflect", "replicate", "circular", "constant"}
        By what.
    normalized : bool
        Divide by the square root of n_fft.
    onesided : bool, optional
        Only the first ``n_fft // 2 + 1`` frequencies. Default: if input and window are real.
    return_complex : bool
        False: real and imaginary part are a last dimension of size 2. It must be given for a real input.
    align_to_window : bool, optional
        Only with ``center=False``: let the windows, not the transforms, begin at the first sample.

    Returns
    -------
    Tensor, shape (N, T) or (B, N, T): N frequencies at T times.

    Examples
    --------
    >>> weft.stft(weft.ones(8), 4, 4, return_complex=True, center=False).real
    tensor([[4., 4.],
            [0., 0.],
            [0., 0.]])
    """
    n_fft, hop_length, win_length = lengths("stft", n_fft, hop_length, win_length)
    is_complex, return_complex = check_signal(input, window, onesided, return_complex)
    if align_to_window is not None and center:
        raise RuntimeError("stft: align_to_window should only be set when center=False")
    signal = extended(input, n_fft // 2, pad_mode) if center else input
    if align_to_window and 0 < win_length <= n_fft:
        signal = with_zeros(signal, n_fft - win_length)
    size = signal.shape[-1]
    if not 0 < n_fft <= size:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {size}, the length of the signal, but got n_fft={n_fft}")
    check_lengths("stft", n_fft, hop_length, win_length)

    if window is None:
        warn_caller_once(
            "stft: a window was not provided. A rectangular window will be applied, which is known to cause spectral "
            "leakage. Pass another, such as weft.hann_window, or weft.ones(win_length) for this one"
        )
    window = window_of("stft", window, n_fft, win_length, input)
    frames = signal.unfold(-1, n_fft, min(hop_length, size))  # (..., T, n_fft)
    frames = frames if window is None else frames * window
    scale = 1 / math.sqrt(n_fft) if normalized else 1.0
    dims = (frames.ndim - 1,)
    if is_complex or onesided is False:
        spectra = c2c.op(frames.to(frames.dtype.to_complex()), dims, True, scale)
    else:
        spectra = r2c.op(frames, dims, scale)
    spectra = spectra.transpose(-1, -2)  # (..., N, T)
    return spectra if return_complex else view_as_real(spectra)


def check_signal(input: Any, window: Any, onesided: bool | None, return_complex: bool | None) -> tuple[bool, bool]:
    """Whether a signal or its window is complex, and its spectra are to be; an error for what stft does not take."""
    if not input._key.is_differentiable:
        raise RuntimeError(f"stft: expected a tensor of floating point or complex values, but got {input.dtype}")
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not is_complex:
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs; pass True")
        return_complex = True
    if not return_complex:
        warnings.warn("stft with return_complex=False is deprecated: pass return_complex=True", UserWarning, 4)
    if input.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got shape {list(input.shape)}")
    if onesided and is_complex:
        raise RuntimeError("stft: cannot have onesided output if window or input is complex; pass onesided=False")
    return is_complex, return_complex


@composite("istft")
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal that has these spectra: the inverse of `stft`, with the parameters that it was called with.

    Parameters
    ----------
    input : complex Tensor, shape (N, T) or (B, N, T)
    n_fft : int
        The size of each transform.
    hop_length : int, default n_fft // 4
        How far the window moved.
    win_length : int, default n_fft
    window : Tensor, shape (win_length,), default ones
    center : bool
        Each window had its middle at a multiple of hop_length.
    normalized : bool
        The spectra were divided by the square root of n_fft.
    onesided : bool, optional
        There are only the first ``n_fft // 2 + 1`` frequencies. Default: whether N is that number.
    length : int, optional
        Of the signal; default: what the windows cover, without the extension that ``center`` made.
    return_complex : bool
        The signal or the window was complex.

    Returns
    -------
    Tensor, shape (length,) or (B, length)

    Raises
    ------
    RuntimeError
        If some sample is under no window, so that it cannot be told.

    Examples
    --------
    >>> x = weft.tensor([0.0, 1.0, 0.0, 2.0, 0.0])
    >>> weft.istft(weft.stft(x, 4, return_complex=True), 4, length=5).round(decimals=3).abs()
    tensor([0., 1., 0., 2., 0.])
    """
    n_fft, hop_length, win_length = lengths("istft", n_fft, hop_length, win_length)
    check_spectra(input, n_fft, hop_length, win_length, onesided)
    is_complex = window is not None and window.is_complex()
    if is_complex and not return_complex:
        raise RuntimeError("istft: complex windows are incompatible with return_complex=False")
    onesided = input.shape[-2] != n_fft if onesided is None else onesided
    if return_complex and onesided:
        raise RuntimeError("istft: cannot have onesided output if window or input is complex; pass onesided=False")
    if window is None:
        warn_caller_once(
            "istft: a window was not provided. A rectangular window will be applied. Pass the window that stft "
            "was given"
        )
    window = window_of("istft", window, n_fft, win_length, input)
    if window is None:
        window = ones(n_fft, dtype=input.dtype.to_real(), device=input.device)

    spectra = (input if input.ndim == 3 else input.unsqueeze(0)).transpose(1, 2)  # (B, T, N)
    scale = 1 / math.sqrt(n_fft) if normalized else 1 / n_fft
    if return_complex:
        frames = c2c.op(spectra, (2,), False, scale)
    else:
        frames = c2r.op(resized(spectra, (2,), (n_fft // 2 + 1,)), (2,), n_fft, scale)
    signal = overlapped(frames * window, window, hop_length, center, length)
    return signal if input.ndim == 3 else signal.squeeze(0)


def check_spectra(input: Any, n_fft: int, hop_length: int, win_length: int, onesided: bool | None) -> None:
    """What istft wants of its input."""
    if not (isinstance(input, TensorBase) and input._key.is_complex):
        raise RuntimeError(
            f"istft requires a complex-valued input tensor matching the output from stft with return_complex=True; got "
            f"{getattr(input, 'dtype', type(input).__name__)}"
        )
    shape = input._array.shape
    if not input._array.size:
        raise RuntimeError("istft: expected a non-empty tensor")
    if len(shape) not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got shape {list(shape)}")
    half = shape[-2] != n_fft if onesided is None else onesided
    want = n_fft // 2 + 1 if half else n_fft
    if shape[-2] != want:
        raise RuntimeError(
            f"istft: expected the frequency dimension (3rd to the last) of input to be {want}, which is "
            f"{'n_fft // 2 + 1' if half else 'n_fft'} with onesided={half}, but got {shape[-2]}"
        )
    check_lengths("istft", n_fft, hop_length, win_length)
    if hop_length > win_length:
        raise RuntimeError(
            f"istft: expected hop_length <= win_length, or samples are missing; got {hop_length}, {win_length}"
        )


@op(name="fft_covered", vmap="elementwise", linear="input")
def covered(input: Tensor) -> Tensor:
    """The sum of squares of windows at each sample, if there is a window over each."""
    return covered.op(input)


@covered.kernel
def _(xp, input):  # a kernel, because it sees all examples of a batch
    least = float(xp.min(abs(input))) if has_values(input) else 1.0
    if not least > 1e-11:
        raise RuntimeError(
            f"istft: window overlap add min: {least}; some sample is under no window, so that it cannot be told. Pass "
            "a smaller hop_length, another window, or center=True"
        )
    return input.copy()


@covered.gradient("input")
def _(grad):
    return grad


def overlapped(frames: Any, window: Any, hop_length: int, center: bool, length: int | None) -> Any:
    """The sum of windowed frames (B, T, n_fft) at their places, over the sum of the squares of the window."""
    batch, count, n_fft = frames.shape
    size = n_fft + hop_length * (count - 1)
    signal = unfold_backward(frames, (batch, size), 1, n_fft, hop_length)
    squares = (window * window).expand(1, count, n_fft)
    envelope = unfold_backward(squares, (1, size), 1, n_fft, hop_length)
    start = n_fft // 2 if center else 0
    end = size - start if length is None else start + length
    signal, envelope = signal[:, start:end], envelope[:, start:end]
    if not envelope.numel():
        raise RuntimeError(f"istft: no samples are left from {start} to {end} of {size}; pass another length")
    signal = signal / covered.op(envelope)
    if end <= size:
        return signal
    warnings.warn(
        f"istft: the length of the signal ({length}) is beyond the last frame; it is filled up with zeros",
        UserWarning,
        4,
    )
    return cat([signal, signal.new_zeros((batch, end - size))], 1)
