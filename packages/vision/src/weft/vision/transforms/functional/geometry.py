"""Size and position: resize, pad, crop, flip, rotate."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageOps

import weft
from weft import Tensor
from weft.vision.transforms.functional._resampling import affine_tensor, resize_tensor, rotate_tensor
from weft.vision.transforms.functional._types import InterpolationMode, Picture, checked_picture, get_dimensions

__all__ = ["affine", "center_crop", "crop", "hflip", "pad", "resize", "resized_crop", "rotate", "vflip"]

Fill = float | Sequence[float] | None

_RESAMPLING = {
    InterpolationMode.NEAREST: Image.Resampling.NEAREST,
    InterpolationMode.NEAREST_EXACT: Image.Resampling.NEAREST,
    InterpolationMode.BILINEAR: Image.Resampling.BILINEAR,
    InterpolationMode.BICUBIC: Image.Resampling.BICUBIC,
    InterpolationMode.BOX: Image.Resampling.BOX,
    InterpolationMode.HAMMING: Image.Resampling.HAMMING,
    InterpolationMode.LANCZOS: Image.Resampling.LANCZOS,
}
_PADDING_MODES = {"constant": "constant", "edge": "edge", "reflect": "reflect", "symmetric": "symmetric"}
_FOR_TENSORS = ("nearest", "nearest-exact", "bilinear", "bicubic")


def resize(
    img: Picture,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Picture:
    """Resize a picture.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    size : int or (height, width) or None
        A single number is the shorter edge's new length, the longer one in proportion. None: see ``max_size``.
    interpolation : InterpolationMode, default BILINEAR
        Tensors know nearest, nearest-exact, bilinear and bicubic.
    max_size : int, optional
        The longer edge may not be longer; only where ``size`` is a single number, or None (then it is its length).
    antialias : bool, default True
        For tensors: average over all pixels that fall into a new one. PIL images always do.

    Raises
    ------
    TypeError, ValueError
        If ``size``, ``max_size`` or ``interpolation`` cannot be used.

    Examples
    --------
    >>> resize(weft.rand(3, 40, 60), 20).shape  # the shorter edge
    weft.Size([3, 20, 30])
    >>> resize(weft.rand(3, 40, 60), (20, 20)).shape
    weft.Size([3, 20, 20])
    """
    img = checked_picture(img, "resize")
    mode = _checked_interpolation(interpolation, "resize")
    _, height, width = get_dimensions(img)
    new_height, new_width = _resized(height, width, size, max_size)
    if (new_height, new_width) == (height, width):
        return img
    if isinstance(img, Image.Image):
        return img.resize((new_width, new_height), _RESAMPLING[mode])
    _check_for_tensors(mode, _FOR_TENSORS, "resize")
    return resize_tensor(img, new_height, new_width, mode.value, bool(antialias))


def pad(img: Picture, padding: int | Sequence[int], fill: Fill = 0, padding_mode: str = "constant") -> Picture:
    """Add pixels around a picture.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    padding : int or sequence of 1, 2 or 4 int
        For all sides; or left and right, top and bottom; or left, top, right, bottom. Negative numbers cut off.
    fill : number or tuple of numbers, default 0
        The value of the new pixels in mode "constant"; a tuple has one for each channel of a PIL image.
    padding_mode : {"constant", "edge", "reflect", "symmetric"}
        Repeat the last pixel, or mirror the picture without ("reflect") or with it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, number of entries or name.

    Examples
    --------
    >>> pad(weft.tensor([[[1.0, 2.0, 3.0]]]), (2, 0), padding_mode="reflect")
    tensor([[[3., 2., 1., 2., 3., 2., 1.]]])
    """
    img = checked_picture(img, "pad")
    sides = _four_sides(padding)
    if not isinstance(fill, (numbers.Number, str, tuple, list)) and fill is not None:
        raise TypeError(f"pad: fill must be a number or a tuple of numbers, got {type(fill).__name__}")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(f"pad: padding_mode must be one of {', '.join(_PADDING_MODES)}, got {padding_mode!r}")
    if isinstance(img, Image.Image):
        return _pad_image(img, sides, fill, padding_mode)
    return _pad_tensor(img, sides, fill, padding_mode)


def crop(img: Picture, top: int, left: int, height: int, width: int) -> Picture:
    """Cut a rectangle out of a picture; where it reaches outside, there is zero (black).

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    top, left, height, width : int
        In pixels.

    Examples
    --------
    >>> crop(weft.arange(9.0).reshape(1, 3, 3), 1, 1, 2, 3)
    tensor([[[4., 5., 0.],
             [7., 8., 0.]]])
    """
    img = checked_picture(img, "crop")
    if isinstance(img, Image.Image):
        return img.crop((left, top, left + width, top + height))
    rows, columns = img.shape[-2:]
    if left < 0 or top < 0 or left + width > columns or top + height > rows:
        outside = (-left, -top, left + width - columns, top + height - rows)
        img = _pad_tensor(img, tuple(max(side, 0) for side in outside), 0, "constant")
        top, left = max(top, 0), max(left, 0)
    return img[..., top : top + height, left : left + width]


def center_crop(img: Picture, output_size: int | Sequence[int]) -> Picture:
    """Cut the middle out of a picture; a picture that is smaller is padded with zero (black).

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    output_size : int or (height, width)

    Examples
    --------
    >>> center_crop(weft.arange(9.0).reshape(1, 3, 3), 1)
    tensor([[[4.]]])
    """
    height, width = _height_and_width(output_size, "center_crop")
    _, rows, columns = get_dimensions(img)
    if width > columns or height > rows:
        more_columns, more_rows = max(width - columns, 0), max(height - rows, 0)
        img = pad(img, (more_columns // 2, more_rows // 2, (more_columns + 1) // 2, (more_rows + 1) // 2))
        _, rows, columns = get_dimensions(img)
        if (height, width) == (rows, columns):
            return img
    return crop(img, round((rows - height) / 2), round((columns - width) / 2), height, width)


def resized_crop(
    img: Picture,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Picture:
    """Cut a rectangle out of a picture and resize it.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    top, left, height, width : int
        Of the rectangle, in pixels.
    size, interpolation, antialias
        As of `resize`.

    Examples
    --------
    >>> resized_crop(weft.rand(3, 32, 32), 4, 4, 16, 8, (10, 10)).shape
    weft.Size([3, 10, 10])
    """
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def hflip(img: Picture) -> Picture:
    """Mirror a picture: left becomes right."""
    img = checked_picture(img, "hflip")
    return img.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if isinstance(img, Image.Image) else img.flip(-1)


def vflip(img: Picture) -> Picture:
    """Turn a picture upside down by mirroring: top becomes bottom."""
    img = checked_picture(img, "vflip")
    return img.transpose(Image.Transpose.FLIP_TOP_BOTTOM) if isinstance(img, Image.Image) else img.flip(-2)


def rotate(
    img: Picture,
    angle: float,
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Fill = None,
) -> Picture:
    """Turn a picture against the clock.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    angle : float
        In degrees.
    interpolation : InterpolationMode, default NEAREST
        Tensors know nearest and bilinear, PIL images bicubic too.
    expand : bool, default False
        Make the result big enough for the whole turned picture.
    center : (x, y), optional
        The point that stays, in pixels from the upper left corner; by default the middle.
    fill : number or sequence of numbers, optional
        The value of pixels from outside of the picture, for all channels or for each; default 0.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> rotate(weft.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 90)
    tensor([[[2., 4.],
             [1., 3.]]])
    """
    img = checked_picture(img, "rotate")
    mode = _checked_interpolation(interpolation, "rotate")
    if center is not None and (not isinstance(center, Sequence) or len(center) != 2):
        raise ValueError(f"rotate: center must be a pair (x, y), got {center!r}")
    channels = get_dimensions(img)[0]
    if isinstance(img, Image.Image):
        place = None if center is None else (center[0], center[1])
        return img.rotate(angle, _RESAMPLING[mode], expand, place, fillcolor=_image_fill(img, fill, "rotate"))
    _check_for_tensors(mode, ("nearest", "bilinear"), "rotate")
    return rotate_tensor(img, angle, mode.value, expand, center, _fill_of_channels(fill, channels, "rotate"))


def affine(
    img: Picture,
    angle: float,
    translate: Sequence[int],
    scale: float,
    shear: float | Sequence[float],
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    fill: Fill = None,
    center: Sequence[float] | None = None,
) -> Picture:
    """Turn a picture with the clock, scale, shear and shift it; its size stays.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    angle : float
        In degrees.
    translate : (int, int)
        The shift in pixels, to the right and down.
    scale : float
    shear : float or (float, float)
        The angles of the sheared axes, in degrees.
    interpolation, fill, center
        As in `rotate`.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> affine(weft.tensor([[[1.0, 2.0, 3.0]]]), angle=0, translate=(1, 0), scale=1, shear=0)
    tensor([[[0., 1., 2.]]])
    """
    img = checked_picture(img, "affine")
    mode = _checked_interpolation(interpolation, "affine")
    if not isinstance(translate, Sequence) or len(translate) != 2:
        raise ValueError(f"affine: translate must be a pair (x, y), got {translate!r}")
    if scale <= 0.0:
        raise ValueError(f"affine: scale must be positive, got {scale}")
    shears = (shear, 0.0) if isinstance(shear, (int, float)) else (shear[0], shear[1] if len(shear) > 1 else shear[0])
    channels, height, width = get_dimensions(img)
    if isinstance(img, Image.Image):
        middle = (width * 0.5, height * 0.5) if center is None else (center[0], center[1])
        inverse = _inverse_affine(middle, angle, translate, scale, shears)
        data = tuple(inverse[:2].ravel().tolist())
        color = _image_fill(img, fill, "affine")
        return img.transform((width, height), Image.Transform.AFFINE, data, _RESAMPLING[mode], fillcolor=color)
    _check_for_tensors(mode, ("nearest", "bilinear"), "affine")
    middle = (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)
    inverse = _inverse_affine(middle, angle, translate, scale, shears)
    return affine_tensor(img, inverse, mode.value, _fill_of_channels(fill, channels, "affine"))


def _inverse_affine(
    center: tuple[float, float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
) -> np.ndarray[Any, Any]:
    """The matrix from places in the result to places in the picture."""
    turn, shear_x, shear_y = (math.radians(each) for each in (angle, *shear))
    rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    along_y = np.array([[1.0, 0.0], [-math.tan(shear_y), 1.0]])
    along_x = np.array([[1.0, -math.tan(shear_x)], [0.0, 1.0]])
    inverse = np.eye(3)
    inverse[:2, :2] = np.linalg.inv(rotation @ along_y @ along_x) / scale
    inverse[:2, 2] = center - inverse[:2, :2] @ (np.array(center) + np.array(translate))
    return inverse


def _resized(height: int, width: int, size: Any, max_size: int | None) -> tuple[int, int]:
    """Return the (height, width) that `resize` makes."""
    if size is None:
        if max_size is None:
            raise ValueError("resize: size and max_size are both None; give one of them")
        return _in_proportion(height, width, longer=max_size)
    if not isinstance(size, (int, tuple, list)):
        raise TypeError(f"resize: size must be an int or a pair (height, width), got {type(size).__name__}")
    if not isinstance(size, int) and len(size) == 2:
        if max_size is not None:
            raise ValueError(f"resize: max_size ({max_size}) is for a size that is one number; got size {tuple(size)}")
        return int(size[0]), int(size[1])
    if not isinstance(size, int) and len(size) != 1:
        raise ValueError(f"resize: size must have one or two entries, got {len(size)}: {tuple(size)}")
    shorter = size if isinstance(size, int) else int(size[0])
    if max_size is not None and max_size <= shorter:
        raise ValueError(f"resize: max_size ({max_size}) must be greater than size ({shorter}), the shorter edge")
    new_longer = int(shorter * max(height, width) / min(height, width))
    if max_size is not None and new_longer > max_size:
        shorter, new_longer = int(max_size * shorter / new_longer), max_size
    return (new_longer, shorter) if width <= height else (shorter, new_longer)


def _in_proportion(height: int, width: int, longer: int) -> tuple[int, int]:
    """Return (height, width) scaled so that the longer edge has the given length."""
    shorter = int(longer * min(height, width) / max(height, width))
    return (longer, shorter) if width <= height else (shorter, longer)


def _height_and_width(size: int | Sequence[int], op: str) -> tuple[int, int]:
    """Return a size given as one number or as a pair."""
    entries = (size,) if isinstance(size, int) else tuple(size)
    if len(entries) not in (1, 2):
        raise ValueError(f"{op}: size must be a number or a pair (height, width), got {size!r}")
    return int(entries[0]), int(entries[-1])


def _checked_interpolation(interpolation: Any, op: str) -> InterpolationMode:
    """Return the mode, also when it is given by Pillow's constant."""
    if isinstance(interpolation, InterpolationMode):
        return interpolation
    for mode, constant in _RESAMPLING.items():
        if isinstance(interpolation, int) and interpolation == constant:
            return mode
    raise TypeError(f"{op}: interpolation must be an InterpolationMode, got {interpolation!r}")


def _check_for_tensors(mode: InterpolationMode, known: Sequence[str], op: str) -> None:
    if mode.value not in known:
        raise ValueError(f"{op}: interpolation of tensors can be {', '.join(known)}, got {mode.value}")


def _four_sides(padding: Any) -> tuple[int, ...]:
    """Return (left, top, right, bottom)."""
    if not isinstance(padding, (int, tuple, list)):
        raise TypeError(f"pad: padding must be an int or a sequence of int, got {type(padding).__name__}")
    sides = (padding,) if isinstance(padding, int) else tuple(padding)
    if len(sides) not in (1, 2, 4):
        raise ValueError(f"pad: padding must have 1, 2 or 4 entries, got {len(sides)}: {sides}")
    return sides * (4 // len(sides))


def _fill_of_channels(fill: Fill, channels: int, op: str) -> tuple[float, ...] | None:
    """Return one value for each channel, or None."""
    if fill is None:
        return None
    values = tuple(fill) if isinstance(fill, Sequence) else (fill,)
    if len(values) not in (1, channels):
        raise ValueError(f"{op}: fill must have one value, or one for each of {channels} channels; got {values}")
    return values * channels if len(values) == 1 else values


def _image_fill(img: Image.Image, fill: Any, op: str) -> Any:
    """Return ``fill`` as Pillow wants it for this image."""
    if isinstance(fill, str):
        return fill
    values = _fill_of_channels(0 if fill is None else fill, len(img.getbands()), op)
    assert values is not None
    if img.mode != "F":
        values = tuple(int(value) for value in values)
    return values[0] if len(values) == 1 else values


def _pad_image(img: Image.Image, sides: tuple[int, ...], fill: Fill, mode: str) -> Image.Image:
    left, top, right, bottom = sides
    if mode == "constant":
        padded = ImageOps.expand(img, border=(left, top, right, bottom), fill=_image_fill(img, fill, "pad"))
        if img.mode == "P":
            padded.putpalette(img.getpalette() or [])
        return padded
    if img.mode == "P":  # positions in a palette may be repeated, and Pillow keeps the palette beside them
        padded = _pad_image(Image.fromarray(np.asarray(img)), sides, fill, mode)
        padded.putpalette(img.getpalette() or [])
        return padded
    pixels = np.asarray(img)
    rows = _padded_positions(pixels.shape[0], top, bottom, mode)
    columns = _padded_positions(pixels.shape[1], left, right, mode)
    return Image.fromarray(np.ascontiguousarray(pixels[rows[:, None], columns]))


def _pad_tensor(img: Tensor, sides: Sequence[int], fill: Fill, mode: str) -> Tensor:
    left, top, right, bottom = sides
    height, width = img.shape[-2:]
    if mode != "constant":
        rows = weft.from_numpy(_padded_positions(height, top, bottom, mode))
        columns = weft.from_numpy(_padded_positions(width, left, right, mode))
        return img[..., rows[:, None], columns]
    if isinstance(fill, Sequence) and len(fill) != 1:
        raise TypeError(f"pad: fill of a tensor must be one number, got {fill}")
    value = fill[0] if isinstance(fill, Sequence) else fill or 0
    inner = img[..., max(-top, 0) : height - max(-bottom, 0), max(-left, 0) : width - max(-right, 0)]
    top, left = max(top, 0), max(left, 0)
    size = (top + inner.shape[-2] + max(bottom, 0), left + inner.shape[-1] + max(right, 0))
    padded = img.new_full((*img.shape[:-2], *size), value)
    padded[..., top : top + inner.shape[-2], left : left + inner.shape[-1]] = inner
    return padded


def _padded_positions(length: int, before: int, after: int, mode: str) -> np.ndarray[Any, Any]:
    """Return which position of an axis each position of the padded one repeats."""
    if mode == "reflect" and max(before, after) >= length:
        raise RuntimeError(f"pad: reflect padding ({before}, {after}) must be less than the edge's length, {length}")
    positions = np.pad(np.arange(length), (max(before, 0), max(after, 0)), mode=mode)  # type: ignore[call-overload]
    return np.ascontiguousarray(positions[max(-before, 0) : len(positions) - max(-after, 0)])
