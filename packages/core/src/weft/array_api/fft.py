"""The extension for Fourier transforms: PyTorch's with the standard's names of arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import weft.fft as by_torch
from weft import Tensor, dtype

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]


def along_one(name: str) -> Callable[..., Tensor]:
    """The transform of this name along one axis."""
    function = getattr(by_torch, name)

    def transform(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        return function(x, n, axis, norm)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = function.__doc__
    return transform


def along_several(name: str) -> Callable[..., Tensor]:
    """The transform of this name along several axes."""
    function = getattr(by_torch, name)

    def transform(
        x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
    ) -> Tensor:
        return function(x, s, axes, norm)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = function.__doc__
    return transform


fft = along_one("fft")
ifft = along_one("ifft")
rfft = along_one("rfft")
irfft = along_one("irfft")
hfft = along_one("hfft")
ihfft = along_one("ihfft")
fftn = along_several("fftn")
ifftn = along_several("ifftn")
rfftn = along_several("rfftn")
irfftn = along_several("irfftn")


def fftfreq(n: int, /, *, d: float = 1.0, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """The frequencies of the elements of `fft`, in cycles per unit of the sampling distance ``d``."""
    return by_torch.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """The frequencies of the elements of `rfft`, in cycles per unit of the sampling distance ``d``."""
    return by_torch.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The frequency 0 moved to the middle."""
    return by_torch.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`."""
    return by_torch.ifftshift(x, axes)
