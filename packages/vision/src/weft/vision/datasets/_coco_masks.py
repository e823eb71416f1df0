"""COCO's outlines as masks: polygons and run-length codes.

A run-length code counts, down the columns of a mask, how many pixels are 0, then 1, then 0 and so on.

References
----------
https://github.com/cocodataset/cocoapi, common/maskApi.c: where a polygon's border runs through a pixel decides it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Mask = np.ndarray[Any, Any]

_SCALE = 5.0  # polygons are followed on a grid that is so much finer


def decode_segmentation(segmentation: Any, height: int, width: int) -> Mask:
    """Return the mask, uint8 of shape (H, W), of an annotation's ``segmentation``.

    Parameters
    ----------
    segmentation : list of polygons ``[x0, y0, x1, y1, ...]``, or dict
        A dict has ``counts``, a list or a string, and ``size`` (height, width).
    height, width : int
        The picture's, for polygons.

    Raises
    ------
    ValueError
        If it is neither, or the counts do not fill the mask.
    """
    if isinstance(segmentation, dict):
        counts = segmentation["counts"]
        height, width = segmentation["size"]
        return _from_counts(counts if isinstance(counts, list) else _unpack(counts), height, width)
    if not isinstance(segmentation, list):
        raise ValueError(f"COCO: a segmentation must be a list or a dict; got {type(segmentation).__name__}")
    mask = np.zeros((height, width), dtype=np.uint8)
    for polygon in segmentation:
        mask |= _from_counts(_polygon_counts(polygon, height, width), height, width)
    return mask


def _from_counts(counts: Any, height: int, width: int) -> Mask:
    runs = np.asarray(counts, dtype=np.int64)
    if (runs < 0).any() or int(runs.sum()) != height * width:
        raise ValueError(f"COCO: the run lengths of a mask must add up to {height} * {width}; they give {runs.sum()}")
    values = np.arange(len(runs)) % 2
    return np.repeat(values.astype(np.uint8), runs).reshape(width, height).T  # by columns


def _unpack(text: str | bytes) -> list[int]:
    """Return the counts of a compressed code: 5 bits a character and one that says whether more follow, signed.

    From the fourth count on, a number is the difference from the count before the last.
    """
    counts: list[int] = []
    value = shift = 0
    for character in text if isinstance(text, bytes) else text.encode("ascii"):
        bits = character - 48
        value |= (bits & 0x1F) << shift
        shift += 5
        if bits & 0x20:
            continue
        if bits & 0x10:
            value -= 1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    return counts


def _polygon_counts(polygon: list[float], height: int, width: int) -> Mask:
    """Return the counts of a polygon: where its border crosses a column, the mask changes."""
    points = np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
    x, y = (np.trunc(_SCALE * points + 0.5).astype(np.int64)).T
    edges = [_line(x[k], y[k], x[(k + 1) % len(x)], y[(k + 1) % len(x)]) for k in range(len(x))]
    xs, ys = (np.concatenate(each) for each in zip(*edges, strict=True))
    moved = xs[1:] != xs[:-1]
    column = np.where(xs[1:] < xs[:-1], xs[1:], xs[1:] - 1)[moved]
    column_of_mask = (column + 0.5) / _SCALE - 0.5
    row = np.minimum(ys[1:], ys[:-1])[moved]
    inside = (np.floor(column_of_mask) == column_of_mask) & (column_of_mask >= 0) & (column_of_mask <= width - 1)
    row_of_mask = np.ceil(np.clip((row[inside] + 0.5) / _SCALE - 0.5, 0, height))
    crossings = np.sort(column_of_mask[inside].astype(np.int64) * height + row_of_mask.astype(np.int64))
    return np.diff(np.concatenate([[0], crossings, [height * width]]))


def _line(x0: int, y0: int, x1: int, y1: int) -> tuple[Mask, Mask]:
    """Return the points of a line on the fine grid, one for each step along its longer side."""
    dx, dy = abs(int(x1) - int(x0)), abs(int(y1) - int(y0))
    flip = (dx >= dy and x0 > x1) or (dx < dy and y0 > y1)
    if flip:
        x0, x1, y0, y1 = x1, x0, y1, y0
    length = max(dx, dy)
    step = np.arange(length, -1, -1) if flip else np.arange(length + 1)
    if length == 0:
        return np.array([x0]), np.array([y0])
    if dx >= dy:
        return step + x0, np.trunc(y0 + (y1 - y0) / dx * step + 0.5).astype(np.int64)
    return np.trunc(x0 + (x1 - x0) / dy * step + 0.5).astype(np.int64), step + y0
