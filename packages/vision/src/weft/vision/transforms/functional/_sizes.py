"""The size that a resized picture has, and the filters by which Pillow and tensors are resized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PIL import Image

from weft.vision.transforms.functional._types import InterpolationMode

__all__ = ["height_and_width", "pil_modes_mapping", "resized_size"]

pil_modes_mapping = {
    InterpolationMode.NEAREST: Image.Resampling.NEAREST,
    InterpolationMode.NEAREST_EXACT: Image.Resampling.NEAREST,
    InterpolationMode.BILINEAR: Image.Resampling.BILINEAR,
    InterpolationMode.BICUBIC: Image.Resampling.BICUBIC,
    InterpolationMode.BOX: Image.Resampling.BOX,
    InterpolationMode.HAMMING: Image.Resampling.HAMMING,
    InterpolationMode.LANCZOS: Image.Resampling.LANCZOS,
}


def resized_size(height: int, width: int, size: Any, max_size: int | None = None) -> tuple[int, int]:
    """Return the (height, width) of a resized picture.

    Parameters
    ----------
    height, width : int
        Before.
    size : int or sequence of one or two int, or None
        (height, width); or the shorter edge's length, the longer one in proportion; or None: see ``max_size``.
    max_size : int, optional
        What the longer edge may have at most, where ``size`` is one number; its length where ``size`` is None.

    Raises
    ------
    TypeError, ValueError
        If they cannot be used, or not together.
    """
    if size is None:
        if not isinstance(max_size, int):
            raise ValueError(f"max_size must be an integer when size is None, but got {max_size} instead.")
        shorter, longer = int(max_size * min(height, width) / max(height, width)), max_size
        return (longer, shorter) if width <= height else (shorter, longer)
    if not isinstance(size, (int, tuple, list)):
        raise TypeError(f"resize: size must be an int or a pair (height, width), got {type(size).__name__}")
    if not isinstance(size, int) and len(size) == 2:
        if max_size is not None:
            raise ValueError(
                "max_size should only be passed if size is None or specifies the length of the smaller edge, i.e. "
                f"size should be an int or a sequence of length 1; got {tuple(size)}"
            )
        return int(size[0]), int(size[1])
    if not isinstance(size, int) and len(size) != 1:
        raise ValueError(f"resize: size must have one or two entries, got {len(size)}: {tuple(size)}")
    shorter = size if isinstance(size, int) else int(size[0])
    longer = int(shorter * max(height, width) / min(height, width))
    if max_size is not None and max_size <= shorter:
        raise ValueError(
            f"max_size = {max_size} must be strictly greater than the requested size for the smaller edge size = {size}"
        )
    if max_size is not None and longer > max_size:
        shorter, longer = int(max_size * shorter / longer), max_size
    return (longer, shorter) if width <= height else (shorter, longer)


def height_and_width(size: int | Sequence[int], op: str) -> tuple[int, int]:
    """Return a size given as one number or as a pair.

    Raises
    ------
    ValueError
        If there are more than two numbers.
    """
    entries = (size,) if isinstance(size, int) else tuple(size)
    if len(entries) not in (1, 2):
        raise ValueError(f"{op}: Please provide only two dimensions (h, w) for size, got {size!r}")
    return int(entries[0]), int(entries[-1])
