"""Window functions for spectra, by the names that PyTorch has at the top; `weft.signal.windows` has them all.

They are computed in float64 and rounded once: a window is small and made rarely. NumPy's functions reach other
libraries' arrays by its protocols.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from weft._devices.devices import resolve_device
from weft._docstrings import documented
from weft._dtypes.dtypes import dtype as dtype_class
from weft._dtypes.dtypes import get_default_dtype
from weft._dtypes.float8 import refuse_float8
from weft._tensor.base import Tensor
from weft._tensor.layout import strided
from weft.ops._declare import composite
from weft.ops._geometry import elements
from weft.ops.creation import computed_on, finished
from weft.types import Device, DType, Layout

BLACKMAN = (0.42, 0.5, 0.08)
# What all windows say of their parameters.
LENGTH = """window_length : int
periodic : bool
    The window is one period of a periodic function, for spectra. False: it is symmetric, for filters."""
WINDOW_OPTIONS = """dtype : dtype, default `get_default_dtype`
    Floating.
layout : layout, optional
    ``weft.strided``: windows have no other.
device : device or str, optional
pin_memory, requires_grad : bool

Raises
------
RuntimeError
    For a negative length, or a dtype that is not floating."""


def positions(xp: Any, count: int, periodic: bool) -> Any:
    """Where the points of a window lie between its ends, 0 and 1; of a periodic one the last end is left out."""
    return xp.arange(count) / (count if periodic else count - 1)


def cosine_sum(position: Any, coefficients: Sequence[float]) -> Any:
    """``sum_i (-1)**i a_i cos(2 pi i x)``."""
    angle = 2 * math.pi * position
    return sum((-1) ** i * float(each) * numpy.cos(i * angle) for i, each in enumerate(coefficients))


def triangle(position: Any) -> Any:
    """A straight rise from 0 to 1 in the middle, and back."""
    return 1 - abs(2 * position - 1)


def bessel(position: Any, beta: float) -> Any:
    """Kaiser's window: ``I0(beta sqrt(1 - (2 x - 1)**2)) / I0(beta)``."""
    return numpy.i0(beta * numpy.sqrt(1 - (2 * position - 1) ** 2)) / float(numpy.i0(beta))


def points(name: str, count: int, shape: Any, periodic: bool, device: Any) -> Any:
    """A window in float64 from its shape as a function of the position; one of a single point is 1."""
    elements(name, (count,), 8)

    def values(xp: Any) -> Any:
        return shape(positions(xp, count, periodic)) if count > 1 else xp.ones(count)

    try:
        return computed_on(resolve_device(device), values)
    except MemoryError as error:
        raise RuntimeError(f"{name}: not enough memory for {count} points") from error


def checked_length(name: str, count: Any, dtype: Any, layout: Any) -> Any:
    """The dtype of a window to be made, after checks of what was asked for.

    Raises
    ------
    RuntimeError
        For a negative length, or a dtype that is not floating.
    """
    if not isinstance(count, int):
        raise TypeError(f"{name}(): argument 'window_length' must be int, not {type(count).__name__}")
    element = get_default_dtype() if dtype is None else dtype
    if not isinstance(element, dtype_class) or not element.is_floating_point:
        raise RuntimeError(f"{name}: expects floating point dtypes, got: {element}")
    refuse_float8(name, element)
    if layout not in (None, strided):
        raise RuntimeError(f"{name}: is not implemented for {layout}; windows are strided")
    if count < 0:
        raise RuntimeError(f"{name}: requires non-negative window_length, got window_length={count}")
    return element


def window(name: str, count: Any, shape: Any, periodic: bool, options: dict[str, Any]) -> Any:
    """A window as a tensor."""
    element = checked_length(name, count, options["dtype"], options["layout"])
    made = points(name, count, shape, periodic, options["device"]).to(element)
    return finished(made, options["requires_grad"])


@composite()
@documented(length=LENGTH, options=WINDOW_OPTIONS)
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Hann's window: one period of a cosine, raised and turned over.

    Parameters
    ----------
    {length}
    {options}

    Examples
    --------
    >>> weft.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return window("hann_window", window_length, lambda x: cosine_sum(x, (0.5, 0.5)), periodic, options)


@composite()
@documented(length=LENGTH, options=WINDOW_OPTIONS)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Hamming's window: ``alpha - beta cos(2 pi x)``.

    Parameters
    ----------
    {length}
    alpha, beta : float
    {options}

    Examples
    --------
    >>> weft.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return window("hamming_window", window_length, lambda x: cosine_sum(x, (alpha, beta)), periodic, options)


@composite()
@documented(length=LENGTH, options=WINDOW_OPTIONS)
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Blackman's window: ``0.42 - 0.5 cos(2 pi x) + 0.08 cos(4 pi x)``.

    Parameters
    ----------
    {length}
    {options}

    Examples
    --------
    >>> weft.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return window("blackman_window", window_length, lambda x: cosine_sum(x, BLACKMAN), periodic, options)


@composite()
@documented(length=LENGTH, options=WINDOW_OPTIONS)
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Bartlett's window, a triangle.

    Parameters
    ----------
    {length}
    {options}

    Examples
    --------
    >>> weft.bartlett_window(5, periodic=False)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return window("bartlett_window", window_length, triangle, periodic, options)


@composite()
@documented(length=LENGTH, options=WINDOW_OPTIONS)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser's window.

    Parameters
    ----------
    {length}
    beta : float
        How narrow it is.
    {options}

    Examples
    --------
    >>> weft.kaiser_window(3, periodic=False, beta=0.0)
    tensor([1., 1., 1.])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return window("kaiser_window", window_length, lambda x: bessel(x, beta), periodic, options)
