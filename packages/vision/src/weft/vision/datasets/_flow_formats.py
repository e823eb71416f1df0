"""The formats of optical flow and disparity: .flo, .pfm and PNG of 16 bits."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Array = np.ndarray[Any, Any]


def read_flo(path: str | os.PathLike[str]) -> Array:
    """Read a flow in Middlebury's format: "PIEH", width, height, then two little-endian float32 a pixel.

    Returns
    -------
    ndarray, float32, shape (2, H, W)

    Raises
    ------
    ValueError
        If it is no such file, or is cut off.
    """
    content = Path(path).read_bytes()
    if content[:4] != b"PIEH" or len(content) < 12:
        raise ValueError(f"{path} is not a .flo file: it does not begin with PIEH")
    width, height = struct.unpack_from("<ii", content, 4)
    if width < 0 or height < 0 or len(content) < 12 + 8 * width * height:
        raise ValueError(f"{path} has {len(content):,} bytes, too few for a flow of {width} x {height} pixels")
    flow = np.frombuffer(content, "<f4", 2 * width * height, offset=12)
    return flow.reshape(height, width, 2).transpose(2, 0, 1).astype(np.float32)


def read_pfm(path: str | os.PathLike[str]) -> Array:
    """Read a portable float map: "PF" or "Pf", width and height, scale, then rows of float32 from the bottom up.

    A negative scale says that the bytes are little-endian; its amount is not applied.

    Returns
    -------
    ndarray, float32, shape (3, H, W) or (1, H, W)

    Raises
    ------
    ValueError
        If it is no such file, or is cut off.
    """
    content = Path(path).read_bytes()
    head = re.match(rb"(P[Ff])\s+(\d+)\s+(\d+)\s+([-+.\deE]+)[^\S\n]*\n", content[:256])
    if head is None:
        raise ValueError(f"{path} is not a .pfm file: it must begin with PF or Pf, width, height and scale")
    channels, width, height = 3 if head[1] == b"PF" else 1, int(head[2]), int(head[3])
    count = channels * width * height
    if len(content) - head.end() < 4 * count:
        raise ValueError(f"{path} has {len(content):,} bytes, too few for {channels} x {width} x {height} numbers")
    values = np.frombuffer(content, "<f4" if float(head[4]) < 0 else ">f4", count, offset=head.end())
    return values.reshape(height, width, channels)[::-1].transpose(2, 0, 1).astype(np.float32)


def read_flow_png(path: str | os.PathLike[str]) -> tuple[Array, Array]:
    """Read a flow in KITTI's format: a PNG of 16 bits with 2**15 + 64 times the flow, and where it is valid.

    Returns
    -------
    flow : ndarray, float32, shape (2, H, W)
    valid : ndarray, bool, shape (H, W)
    """
    pixels = read_png16(path).astype(np.float32)
    return ((pixels[..., :2] - 2**15) / 64).transpose(2, 0, 1), pixels[..., 2] != 0


def read_png16(path: str | os.PathLike[str]) -> Array:
    """Read a PNG of three channels of 16 bits, of which Pillow keeps 8.

    Returns
    -------
    ndarray, uint16, shape (H, W, 3)

    Raises
    ------
    ValueError
        If it is another kind of picture.
    """
    return _bytes(path, "RGB;16B").astype(np.uint16) << 8 | _bytes(path, "RGB;16L")


def _bytes(path: str | os.PathLike[str], rawmode: str) -> Array:
    """Decode a picture as if its numbers had this order of bytes: Pillow keeps what it takes for the higher byte."""
    with Image.open(path) as picture:
        if [tile[3] for tile in picture.tile] != ["RGB;16B"]:
            raise ValueError(f"{path} must be a PNG of three channels of 16 bits")
        picture.tile = [type(tile)(*tile[:3], rawmode) for tile in picture.tile]
        return np.asarray(picture)
