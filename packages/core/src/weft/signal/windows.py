"""Window functions, by PyTorch's names.

All take the number of points ``M``, and ``sym``: True for a symmetric window, for filters; False for one period of a
periodic one, for spectra. A window of one point is 1. They are float32 or float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from weft._docstrings import documented
from weft._dtypes.dtypes import float32, float64, get_default_dtype
from weft._tensor.base import Tensor
from weft._tensor.layout import strided
from weft.ops._declare import composite
from weft.ops.creation import finished
from weft.ops.windows import BLACKMAN, bessel, cosine_sum, points, triangle
from weft.types import Device, DType, Layout

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


# The parameters that all windows have after their own.
OPTIONS = """sym : bool
    Symmetric, for filters; False: one period of a periodic window, for spectra.
dtype : float32 or float64, default `get_default_dtype`
layout : layout, optional
    Only ``weft.strided``.
device : device, str or int, optional
    Default: `get_default_device`.
requires_grad : bool
    Whether operations on the result are recorded."""


def made(name: str, M: int, shape: Any, sym: bool, dtype: Any, layout: Any, device: Any, requires_grad: bool) -> Any:
    """The points of a window as a tensor; ``shape`` gives them from their positions between 0 and 1.

    Raises
    ------
    ValueError
        For a negative number of points, a dtype that is neither float32 nor float64, or a layout but strided.
    """
    if not isinstance(M, int):
        raise TypeError(f"{name}(): argument 'M' must be int, not {type(M).__name__}")
    if M < 0:
        raise ValueError(f"{name}: requires non-negative window length, got M={M}")
    if layout not in (None, strided):
        raise ValueError(f"{name}: is implemented for strided tensors only, got: {layout}")
    element = get_default_dtype() if dtype is None else dtype
    if element not in (float32, float64):
        raise ValueError(f"{name}: expects float32 or float64 dtypes, got: {element}")
    return finished(points(name, M, shape, not sym, device).to(element), requires_grad)


@composite()
@documented(options=OPTIONS)
def general_cosine(
    M: int,
    *,
    a: Sequence[float],
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """``sum_i (-1)**i a[i] cos(2 pi i x)`` for x from 0 to 1.

    Parameters
    ----------
    M : int
        Number of points.
    a : list or tuple of float
    {options}

    Raises
    ------
    ValueError
        If ``a`` is empty, M negative, or the dtype another one.

    Examples
    --------
    >>> weft.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    if not isinstance(a, (list, tuple)):
        raise TypeError(f"general_cosine: Coefficients must be a list/tuple, not {type(a).__name__}")
    if not a:
        raise ValueError("general_cosine: Coefficients cannot be empty; pass at least one number as a=")
    return made("general_cosine", M, lambda x: cosine_sum(x, a), sym, dtype, layout, device, requires_grad)


@composite()
@documented(options=OPTIONS)
def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """``alpha - (1 - alpha) cos(2 pi x)`` for x from 0 to 1.

    Parameters
    ----------
    M : int
        Number of points.
    alpha : float
        0.5 gives `hann`, 0.54 `hamming`.
    {options}

    Raises
    ------
    ValueError
        If M is negative, or the dtype another one.

    Examples
    --------
    >>> weft.signal.windows.general_hamming(3, alpha=0.75)
    tensor([0.5000, 1.0000, 0.5000])
    """
    a = (alpha, 1 - alpha)
    return made("general_hamming", M, lambda x: cosine_sum(x, a), sym, dtype, layout, device, requires_grad)


@composite()
@documented(options=OPTIONS)
def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """`general_hamming` with ``alpha`` 0.54: it has the lowest first side lobe.

    Parameters
    ----------
    M : int
        Number of points.
    {options}

    Raises
    ------
    ValueError
        If M is negative, or the dtype another one.

    Examples
    --------
    >>> weft.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return made("hamming", M, lambda x: cosine_sum(x, (0.54, 0.46)), sym, dtype, layout, device, requires_grad)


@composite()
@documented(options=OPTIONS)
def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """`general_hamming` with ``alpha`` 0.5: a raised cosine, 0 at its ends.

    Parameters
    ----------
    M : int
        Number of points.
    {options}

    Raises
    ------
    ValueError
        If M is negative, or the dtype another one.

    Examples
    --------
    >>> weft.signal.windows.hann(4, sym=False)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return made("hann", M, lambda x: cosine_sum(x, (0.5, 0.5)), sym, dtype, layout, device, requires_grad)


@composite()
@documented(options=OPTIONS)
def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """`general_cosine` with coefficients 0.42, 0.5 and 0.08.

    Parameters
    ----------
    M : int
        Number of points.
    {options}

    Raises
    ------
    ValueError
        If M is negative, or the dtype another one.

    Examples
    --------
    >>> weft.signal.windows.blackman(5)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """
    return made("blackman", M, lambda x: cosine_sum(x, BLACKMAN), sym, dtype, layout, device, requires_grad)


@composite()
@documented(options=OPTIONS)
def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """`general_cosine` with Nuttall's four coefficients of least side lobes.

    Parameters
    ----------
    M : int
        Number of points.
    {options}

    Raises
    ------
    ValueError
        If M is negative, or the dtype another one.

    References
    ----------
    A. Nuttall, Some windows with very good sidelobe behavior, IEEE Transactions on Acoustics, Speech, and Signal
    Processing 29 (1981).

    Examples
    --------
    >>> weft.signal.windows.nuttall(5)[1:4]
    tensor([0.2270, 1.0000, 0.2270])
    """
    a = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
    return made("nuttall", M, lambda x: cosine_sum(x, a), sym, dtype, layout, device, requires_grad)


@composite()
@documented(options=OPTIONS)
def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle, 0 at its ends.

    Parameters
    ----------
    M : int
        Number of points.
    {options}

    Raises
    ------
    ValueError
        If M is negative, or the dtype another one.

    Examples
    --------
    >>> weft.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return made("bartlett", M, triangle, sym, dtype, layout, device, requires_grad)


@composite()
@documented(options=OPTIONS)
def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Half a period of a sine, at the middles of M equal intervals (of M + 1, if it is not symmetric).

    Parameters
    ----------
    M : int
        Number of points.
    {options}

    Raises
    ------
    ValueError
        If M is negative, or the dtype another one.

    Examples
    --------
    >>> weft.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    whole = M if sym else M + 1

    def shape(x: Any) -> Any:
        return numpy.sin(math.pi / whole * (numpy.arange(M, like=x) + 0.5))

    return made("cosine", M, shape, sym, dtype, layout, device, requires_grad)


@composite()
@documented(options=OPTIONS)
def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-|n - center| / tau)`` at the points n from 0 to M - 1.

    Parameters
    ----------
    M : int
        Number of points.
    center : float, optional
        In points; only for a window that is not symmetric. Default: the middle.
    tau : float
        Within so many points the window falls by the factor e.
    {options}

    Raises
    ------
    ValueError
        If tau is not positive, a symmetric window has a center, M is negative, or the dtype another one.

    Examples
    --------
    >>> weft.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"exponential: Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("exponential: Center must be None for symmetric windows; pass sym=False")
    middle = (M - 1 if sym else M) / 2 if center is None else center

    def shape(x: Any) -> Any:
        return numpy.exp(-abs(numpy.arange(M, like=x) - middle) / tau)

    return made("exponential", M, shape, sym, dtype, layout, device, requires_grad)


@composite()
@documented(options=OPTIONS)
def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-(n - middle)**2 / (2 std**2))`` at the points n from 0 to M - 1.

    Parameters
    ----------
    M : int
        Number of points.
    std : float
        In points.
    {options}

    Raises
    ------
    ValueError
        If ``std`` is not positive, M is negative, or the dtype another one.

    Examples
    --------
    >>> weft.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"gaussian: Standard deviation must be positive, got: {std} instead.")
    middle = (M - 1 if sym else M) / 2

    def shape(x: Any) -> Any:
        return numpy.exp(-(((numpy.arange(M, like=x) - middle) / std) ** 2) / 2)

    return made("gaussian", M, shape, sym, dtype, layout, device, requires_grad)


@composite()
@documented(options=OPTIONS)
def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser's window, ``I0(beta sqrt(1 - (2 x - 1)**2)) / I0(beta)`` for x from 0 to 1.

    Parameters
    ----------
    M : int
        Number of points.
    beta : float
        The larger, the narrower the window; 0 gives ones.
    {options}

    Raises
    ------
    ValueError
        If beta or M is negative, or the dtype another one.

    Examples
    --------
    >>> weft.signal.windows.kaiser(3, beta=1.0)
    tensor([0.7898, 1.0000, 0.7898])
    """
    if beta < 0:
        raise ValueError(f"kaiser: beta must be non-negative, got: {beta} instead.")
    return made("kaiser", M, lambda x: bessel(x, beta), sym, dtype, layout, device, requires_grad)
