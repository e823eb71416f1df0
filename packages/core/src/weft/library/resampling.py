"""Weights of resampling: the elements that each element along a dimension of a result is the sum of.

Interpolation and adaptive averaging are sums of elements times weights, along one spatial dimension after the other.
The kernels of ``nn::resample`` find the weights by the op's own arguments (`taps_of`): on the host, and kept, since
programs resample the same sizes repeatedly.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy

__all__ = ["Taps", "taps_of"]

CUBIC = -0.75  # of the convolution kernel; PyTorch's and OpenCV's choice
KEPT = 256  # combinations of sizes whose weights are kept
Sizes = tuple[int, ...]


class Taps:
    """The elements and weights that each element along one dimension of a result is the sum of.

    Attributes
    ----------
    size : int
        How many elements there are to take.
    rows : array of int32, shape (taps, out)
        The numbers of the elements; ``size`` stands for none, where others have more.
    weights : array, shape (taps, out)
    bits : int
        Of integer weights: how many of their bits are after the point.
    span : int
        How many elements those of one element of the result reach over, at most.
    is_partial : bool
        Whether there is a none among them.
    is_choice : bool
        Whether each element of the result is an element itself.
    """

    def __init__(self, size: int, rows: Any, weights: Any, bits: int = 0) -> None:
        self.size = size
        self.rows = numpy.ascontiguousarray(rows, numpy.int32)
        self.weights = numpy.ascontiguousarray(weights)
        self.bits = bits
        some = self.rows < size
        self.is_partial = not some.all()
        low, high = numpy.where(some, self.rows, size).min(0), numpy.where(some, self.rows, -1).max(0)
        self.is_choice = not self.is_partial and len(self.rows) == 1 and bool((self.weights == 1).all())
        self.span = max(1, int((high - low).max(initial=0)) + 1)

    @cached_property
    def transposed(self) -> Taps:
        """The taps of the gradient: for each element, the results that it is in, and its weights there."""
        count, out = self.rows.shape
        some = self.rows < self.size
        number = numpy.broadcast_to(numpy.arange(out), (count, out))[some]
        pair, where = numpy.unique(self.rows[some].astype(numpy.int64) * out + number, return_inverse=True)
        weights = numpy.bincount(where.reshape(-1), self.weights[some].astype(numpy.float64), len(pair))
        row, number = pair // out, pair % out
        counts = numpy.bincount(row, minlength=self.size)
        place = numpy.arange(len(pair)) - (numpy.cumsum(counts) - counts)[row]
        rows = numpy.full((max(1, int(counts.max(initial=0))), self.size), out)
        found = numpy.zeros(rows.shape, self.weights.dtype)
        rows[place, row], found[place, row] = number, weights
        turned = Taps(out, rows, found)
        turned.transposed = self
        return turned


def taps_of(array: Any, *options: Any) -> tuple[Taps | None, ...]:
    """The taps along each spatial dimension of an array (N, C, ...), None for those that it leaves.

    Parameters
    ----------
    options
        The other arguments of ``nn::resample``, from ``size`` to ``transposed``. Integers are resampled in fixed
        point: their taps have integer weights.

    Examples
    --------
    >>> import numpy
    >>> from weft.library.resampling import taps_of
    >>> _, columns = taps_of(numpy.zeros((1, 1, 2, 2)), (2, 4), "nearest", (None, None), False, False, False)
    >>> columns.rows
    array([[0, 0, 1, 1]], dtype=int32)
    """
    return taps_along(array.shape[2:], array.dtype.char, *options)


@lru_cache(KEPT)
def taps_along(
    spatial: Sizes,
    element: str,
    size: Sizes,
    mode: str,
    scales: tuple[float | None, ...],
    align_corners: bool,
    antialias: bool,
    transposed: bool,
) -> tuple[Taps | None, ...]:
    """The taps from one size to another, for arrays of a dtype: NumPy's character for it."""
    if transposed:
        found = taps_along(size, element, spatial, mode, scales, align_corners, antialias, False)
        return tuple(None if each is None else each.transposed for each in found)
    is_nearest = mode.startswith("nearest")
    in_fixed_point = element not in "fd" and not is_nearest
    # As PyTorch: of images in float32, and for "nearest" no scale is looked at where the sizes say enough.
    of_image = is_nearest and len(spatial) == 2
    work = numpy.float64 if in_fixed_point or (element == "d" and not of_image) else numpy.float32

    def along(size: int, out: int, scale: float | None) -> Taps | None:
        if is_nearest:
            if of_image and mode == "nearest" and out in (size, 2 * size):
                scale = None
            return nearest_taps(size, out, scale, mode == "nearest-exact", work)
        if size == out and (in_fixed_point or antialias or mode != "cubic"):
            return None  # whatever the scale, as in PyTorch
        if mode == "area":
            return segment_taps(size, out, work)
        taps = weighted_taps(size, out, scale, align_corners, mode, antialias, work)
        return fixed_point(taps) if in_fixed_point else taps

    return tuple(along(*each) for each in zip(spatial, size, scales))


def ratio(size: int, out: int, scale: float | None) -> float:
    """The width of one output element, in input elements."""
    return 1.0 / scale if scale is not None and scale > 0 else size / out


@lru_cache(KEPT)
def nearest_taps(size: int, out: int, scale: float | None, exact: bool, work: Any) -> Taps | None:
    """For each element the one to take, as found in a dtype; None where that is the same.

    The place is rounded to float32 before it is cut off, as PyTorch does, in float64 too.
    """
    step = work(ratio(size, out, scale))
    place = numpy.arange(out, dtype=work)
    rows = numpy.floor(((place + work(0.5)) * step if exact else place * step).astype(numpy.float32))
    rows = numpy.minimum(rows.astype(numpy.int64), size - 1)
    if out == size and (rows == numpy.arange(size)).all():
        return None
    return Taps(size, rows[None], numpy.ones((1, out), numpy.float32))


@lru_cache(KEPT)
def segment_taps(size: int, out: int, work: Any) -> Taps:
    """The elements of each window of adaptive pooling with equal weights, which have the sum 1."""
    number = numpy.arange(out)
    start, stop = number * size // out, -(-(number + 1) * size // out)
    rows = start + numpy.arange((stop - start).max())[:, None]
    return Taps(
        size, numpy.where(rows < stop, rows, size), numpy.where(rows < stop, 1 / (stop - start), 0).astype(work)
    )


@lru_cache(KEPT)
def weighted_taps(
    size: int, out: int, scale: float | None, align_corners: bool, mode: str, antialias: bool, work: Any
) -> Taps:
    """The neighbours of each element, and what they weigh."""
    if antialias:
        rows, weights = widened_taps(size, out, ratio(size, out, scale), align_corners, mode, work)
    else:
        rows, weights = plain_taps(size, out, scale, align_corners, mode == "cubic", work)
    return Taps(size, rows, weights)


def plain_taps(size: int, out: int, scale: float | None, align_corners: bool, cubic: bool, work: Any) -> Any:
    """For each neighbour the rows to take and what they weigh."""
    number = numpy.arange(out, dtype=work)
    if align_corners:
        place = number * work((size - 1) / (out - 1) if out > 1 else 0)
    else:
        place = fused(number + work(0.5), work(ratio(size, out, scale)), -0.5)
    if not cubic:
        place = numpy.maximum(place, 0)
        low = numpy.minimum(numpy.floor(place).astype(numpy.int64), size - 1)
        share = numpy.clip(place - low.astype(work), 0, 1)
        return numpy.stack([low, numpy.minimum(low + 1, size - 1)]), numpy.stack([1 - share, share])
    low = numpy.floor(place)
    share = place - low
    low = low.astype(numpy.int64)
    rest = 1 - share
    distances = numpy.stack([share + 1, share, rest, rest + 1])
    return numpy.clip(low + numpy.arange(-1, 3)[:, None], 0, size - 1), cubic_kernel(distances, CUBIC)


def fused(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z`` in the dtype of x, in float32 rounded once: PyTorch's loops are compiled to fused instructions.

    Places are up to the image's size, and their roundings would show in the weights, of which only shares are left.
    """
    if x.dtype != numpy.float32:
        return x * y + z
    return (x.astype(numpy.float64) * y + z).astype(numpy.float32)


def cubic_kernel(x: Any, a: float) -> Any:
    """R. Keys, Cubic convolution interpolation for digital image processing, 1981."""
    near = fused(fused(x, a + 2, -(a + 3)) * x, x, 1)
    far = fused(fused(fused(x, a, -5 * a), x, 8 * a), x, -4 * a)
    return numpy.where(x <= 1, near, numpy.where(x < 2, far, 0)).astype(x.dtype)


REACH = {"linear": 1, "cubic": 2, "lanczos": 3}  # of kernels, in elements


def lanczos_kernel(x: Any) -> Any:
    """C. Lanczos's window of three lobes: sinc(x) sinc(x / 3)."""
    return numpy.where(x < 3, numpy.sinc(x) * numpy.sinc(x / 3), 0).astype(x.dtype)


def widened_taps(size: int, out: int, step: float, align_corners: bool, mode: str, work: Any) -> Any:
    """Kernels as wide as an output element, as Pillow has them; sums in float64, and each result in ``work``."""
    if align_corners:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    step = float(work(step))
    stretch = max(step, 1.0)
    support = work(REACH[mode] * stretch)
    centre = (step * (numpy.arange(out) + 0.5)).astype(work)
    start = numpy.maximum(((centre - support).astype(numpy.float64) + 0.5).astype(numpy.int64), 0)
    stop = numpy.minimum(((centre + support).astype(numpy.float64) + 0.5).astype(numpy.int64), size)
    width = int((stop - start).max())
    rows = start + numpy.arange(width)[:, None]
    offset = (rows.astype(work) - centre).astype(numpy.float64) + 0.5
    distance = numpy.abs(offset * work(1 / stretch)).astype(work)
    if mode == "linear":
        weights = numpy.maximum(1 - distance, 0)
    else:
        weights = cubic_kernel(distance, -0.5) if mode == "cubic" else lanczos_kernel(distance)
    weights = numpy.where(rows < stop, weights, 0)
    weights /= numpy.add.accumulate(weights)[-1]  # one after the other
    return numpy.where(rows < stop, rows, size), weights.astype(work)


def fixed_point(taps: Taps) -> Taps:
    """Weights of 16 bits, with as many of them after the point as the largest leaves."""
    weights, largest = merged(taps)
    bits = next((bits for bits in range(22) if int(0.5 + largest * (1 << bits + 1)) >= 1 << 15), 22)
    whole = numpy.trunc(weights * (1 << bits) + numpy.copysign(0.5, weights)).astype(numpy.int32)
    return Taps(taps.size, taps.rows, whole, bits)


def merged(taps: Taps) -> tuple[Any, float]:
    """The weights with those of one row in one place: rounding them apart would be another sum.

    With them comes the largest of all, also of those that are sums on the way, as PyTorch finds it.
    """
    weights = taps.weights.copy()
    largest = float(weights[0].max())
    for later in range(1, len(weights)):
        for first in range(later):
            same = taps.rows[first] == taps.rows[later]
            weights[first, same] += weights[later, same]
            weights[later, same] = 0
        largest = max(largest, float(weights[: later + 1].max()))
    return weights, largest
