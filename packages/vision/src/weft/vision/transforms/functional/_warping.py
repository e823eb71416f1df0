"""Warped pictures: each new pixel is read at a place of a grid, between the old ones.

A grid is a tensor (1, H, W, 2) of positions (x, y), from -1 to 1, for `weft.nn.functional.grid_sample`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import weft
from weft import Tensor
from weft.nn.functional import grid_sample

__all__ = [
    "affine_grid",
    "affine_matrix",
    "checked_fill",
    "grid_dtype",
    "identity_grid",
    "perspective_coefficients",
    "perspective_grid",
    "rotated_size",
    "warp",
]

Matrix = list[float]
Size = tuple[int, int]


def affine_matrix(
    center: Sequence[float],
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    inverted: bool = True,
) -> Matrix:
    """Return the upper two rows of the matrix that turns, scales and shears about a center and then shifts.

    Parameters
    ----------
    center, translate : (x, y)
    angle : float
        With the clock, in degrees.
    shear : (x, y)
        In degrees.
    inverted : bool, default True
        Return the inverse: from places in the result to places in the picture.

    Returns
    -------
    list of float
        ``[a, b, c, d, e, f]``: (x, y) goes to (a x + b y + c, d x + e y + f).
    """
    turn, shear_x, shear_y = (math.radians(each) for each in (angle, shear[0], shear[1]))
    # R(turn) @ [[1, 0], [-tan(shear_y), 1]] @ [[1, -tan(shear_x)], [0, 1]], whose determinant is 1
    a, c = math.cos(turn - shear_y) / math.cos(shear_y), math.sin(turn - shear_y) / math.cos(shear_y)
    b, d = -a * math.tan(shear_x) - math.sin(turn), -c * math.tan(shear_x) + math.cos(turn)
    target = (center[0] + translate[0], center[1] + translate[1])
    if inverted:
        rows = ((d / scale, -b / scale), (-c / scale, a / scale))
        source, target = target, (center[0], center[1])
    else:
        rows = ((a * scale, b * scale), (c * scale, d * scale))
        source = (center[0], center[1])
    matrix: Matrix = []
    for row, end in zip(rows, target):
        matrix += [*row, end - row[0] * source[0] - row[1] * source[1]]
    return matrix


def perspective_coefficients(startpoints: Sequence[Sequence[int]], endpoints: Sequence[Sequence[int]]) -> list[float]:
    """Return what takes four corners of the result back to four of the picture.

    Parameters
    ----------
    startpoints, endpoints : four pairs (x, y)
        Corners of the picture, and where they go.

    Returns
    -------
    list of float
        ``[a, b, c, d, e, f, g, h]``, in single precision: (x, y) of the result is read at ((a x + b y + c), (d x + e y
        + f)) / (g x + h y + 1).

    Raises
    ------
    ValueError
        If there are not four of each.
    """
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(
            f"Please provide exactly four corners, got {len(startpoints)} startpoints and {len(endpoints)} endpoints."
        )
    equations, values = [], []
    for (x, y), (u, v) in zip(endpoints, startpoints):
        equations += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    found = np.linalg.lstsq(np.array(equations, np.float64), np.array(values, np.float64))[0]
    coefficients: list[float] = found.astype(np.float32).tolist()
    return coefficients


def rotated_size(matrix: Sequence[float], width: int, height: int) -> Size:
    """Return the (width, height) that holds a whole picture after a turn about its middle.

    Parts of a pixel below 0.0001 do not count: they come from rounding.
    """
    half = np.array([0.5 * width, 0.5 * height], np.float32)
    signs = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]], np.float32)
    corners = np.concatenate([signs * half, np.ones((4, 1), np.float32)], 1)
    places = corners @ np.array(matrix, np.float32).reshape(2, 3).T
    greatest, least = (
        np.trunc((bound + half) * np.float32(1e4)) * np.float32(1e-4) for bound in (places.max(0), places.min(0))
    )
    columns, rows = (np.ceil(greatest) - np.floor(least)).tolist()
    return int(columns), int(rows)


def grid_dtype(img: Tensor) -> Any:
    """Return the dtype of a grid for a picture: its own if that is floating, else float32."""
    return img.dtype if img.is_floating_point() else weft.float32


def affine_grid(matrix: Sequence[float], size: Size, new_size: Size, dtype: Any, device: Any) -> Tensor:
    """Return the grid by which `affine_matrix` warps a picture of a size (height, width) to one of another."""
    height, width = size
    rows, columns = new_size
    x = weft.linspace((1.0 - columns) * 0.5, (columns - 1.0) * 0.5, columns, device=device)
    y = weft.linspace((1.0 - rows) * 0.5, (rows - 1.0) * 0.5, rows, device=device)
    half = weft.tensor([0.5 * width, 0.5 * height], dtype=dtype, device=device)
    theta = weft.tensor(matrix, dtype=dtype, device=device).reshape(2, 3).T / half
    return (_homogeneous(x, y, dtype) @ theta).view(1, rows, columns, 2)


def perspective_grid(coefficients: Sequence[float], size: Size, dtype: Any, device: Any) -> Tensor:
    """Return the grid by which `perspective_coefficients` warp a picture of a size (height, width)."""
    height, width = size
    x = weft.linspace(0.5, width - 0.5, width, dtype=dtype, device=device)
    y = weft.linspace(0.5, height - 0.5, height, dtype=dtype, device=device)
    points = _homogeneous(x, y, dtype)
    half = weft.tensor([0.5 * width, 0.5 * height], dtype=dtype, device=device)
    theta = weft.tensor(coefficients[:6], dtype=dtype, device=device).reshape(2, 3).T / half
    divisor = points @ weft.tensor([*coefficients[6:], 1.0], dtype=dtype, device=device)[:, None]
    return ((points @ theta) / divisor - 1.0).view(1, height, width, 2)


def identity_grid(size: Size, dtype: Any, device: Any) -> Tensor:
    """Return the grid that reads each pixel where it is."""
    height, width = size
    x = weft.linspace((1 - width) / width, (width - 1) / width, width, dtype=dtype, device=device)
    y = weft.linspace((1 - height) / height, (height - 1) / height, height, dtype=dtype, device=device)
    return weft.stack(weft.meshgrid(x, y, indexing="xy"), -1)[None]


def _homogeneous(x: Tensor, y: Tensor, dtype: Any) -> Tensor:
    """Return (x, y, 1) of each place, row by row: (H * W, 3)."""
    points = weft.ones(len(y), len(x), 3, dtype=dtype, device=x.device)
    points[..., 0] = x
    points[..., 1] = y[:, None]
    return points.view(-1, 3)


def checked_fill(fill: Any, channels: int) -> list[float] | None:
    """Return ``fill`` as one value, or one for each channel, or None.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if fill is None:
        return None
    if isinstance(fill, (int, float)):
        return [float(fill)]
    if not isinstance(fill, (tuple, list)):
        raise ValueError(f"Argument fill should be either int, float, tuple or list, got {type(fill).__name__}")
    if len(fill) not in (1, channels):
        raise ValueError(
            f"The number of elements in 'fill' cannot broadcast to match the number of channels of the image "
            f"({len(fill)} != {channels})"
        )
    return list(fill)


def warp(img: Tensor, grid: Tensor, mode: str, fill: Sequence[float] | None) -> Tensor:
    """Return a picture read at a grid.

    Parameters
    ----------
    img : Tensor, shape (..., C, H, W) or (H, W)
    grid : Tensor, shape (1, rows, columns, 2)
    mode : {"nearest", "bilinear", "bicubic"}
    fill : sequence of float, optional
        The value of what lies outside, for all channels or for each; otherwise 0.

    Returns
    -------
    Tensor, shape (..., C, rows, columns)
        In the dtype of ``img``; integers are rounded.
    """
    shape = (*img.shape[:-2], *grid.shape[1:3])
    if img.numel() == 0:
        return img.reshape(shape)
    channels = img.shape[-3] if img.ndim > 2 else 1
    values = img.to(grid.dtype).reshape(-1, channels, *img.shape[-2:])
    grid = grid.expand(len(values), -1, -1, -1)
    if fill is None:
        found = grid_sample(values, grid, mode=mode, padding_mode="zeros", align_corners=False)
    else:
        inside = weft.ones(len(values), 1, *img.shape[-2:], dtype=grid.dtype, device=img.device)
        both = grid_sample(weft.cat([values, inside], 1), grid, mode=mode, padding_mode="zeros", align_corners=False)
        found, share = both[:, :-1], both[:, -1:]
        color = weft.tensor(list(fill), dtype=grid.dtype, device=img.device).view(1, -1, 1, 1)
        found = weft.where(share < 0.5, color, found) if mode == "nearest" else (found - color) * share + color
    if img.dtype != grid.dtype:
        found = (found if mode == "nearest" and fill is None else found.round_()).to(img.dtype)  # pixels are whole
    return found.reshape(shape)
