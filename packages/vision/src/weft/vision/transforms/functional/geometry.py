"""Size and position: resize, pad, crop, flip, rotate."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from PIL import Image

from weft import Tensor
from weft.vision.transforms.functional._padding import four_sides, image_fill, pad_image, pad_tensor
from weft.vision.transforms.functional._resampling import resize_tensor
from weft.vision.transforms.functional._sizes import height_and_width, pil_modes_mapping, resized_size
from weft.vision.transforms.functional._types import InterpolationMode, Picture, checked_picture, get_dimensions
from weft.vision.transforms.functional._warping import (
    affine_grid,
    affine_matrix,
    checked_fill,
    grid_dtype,
    rotated_size,
    warp,
)
from weft.vision.transforms.v2.functional import _crop, _warp

__all__ = [
    "affine",
    "center_crop",
    "crop",
    "elastic_transform",
    "five_crop",
    "hflip",
    "pad",
    "perspective",
    "resize",
    "resized_crop",
    "rotate",
    "ten_crop",
    "vflip",
]

Fill = float | Sequence[float] | None

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
    if max_size is not None and isinstance(size, Sequence) and len(size) == 2:
        raise ValueError(
            "resize: max_size should only be passed if size specifies the length of the smaller edge, i.e. size should "
            f"be an int or a sequence of length 1; got {tuple(size)}"
        )
    new_height, new_width = resized_size(height, width, size, max_size)
    if (new_height, new_width) == (height, width):
        return img
    if isinstance(img, Image.Image):
        return img.resize((new_width, new_height), pil_modes_mapping[mode])
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
    sides = four_sides(padding)
    if not isinstance(fill, (numbers.Number, str, tuple, list)) and fill is not None:
        raise TypeError(
            f"pad: Got inappropriate fill arg: wanted a number or a tuple of numbers, got {type(fill).__name__}"
        )
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"pad: Padding mode should be either constant, edge, reflect or symmetric, got {padding_mode!r}"
        )
    if isinstance(img, Image.Image):
        return pad_image(img, sides, fill, padding_mode)
    if isinstance(fill, Sequence) and len(fill) != 1:
        raise TypeError(f"pad: fill of a tensor must be one number, got {fill}")
    return pad_tensor(img, sides, fill, padding_mode)


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
        outside = (max(-left, 0), max(-top, 0), max(left + width - columns, 0), max(top + height - rows, 0))
        img = pad_tensor(img, outside, 0, "constant")
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
    height, width = height_and_width(output_size, "center_crop")
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
    _check_angle_and_center("rotate", angle, center)
    channels, height, width = get_dimensions(img)
    if isinstance(img, Image.Image):
        place = None if center is None else (center[0], center[1])
        return img.rotate(angle, pil_modes_mapping[mode], expand, place, fillcolor=image_fill(img, fill))
    _check_for_tensors(mode, ("nearest", "bilinear"), "rotate")
    middle = (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)
    matrix = affine_matrix(middle, -angle, (0.0, 0.0), 1.0, (0.0, 0.0))
    columns, rows = rotated_size(matrix, width, height) if expand else (width, height)
    grid = affine_grid(matrix, (height, width), (rows, columns), grid_dtype(img), img.device)
    return warp(img, grid, mode.value, checked_fill(fill, channels))


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
    _check_angle_and_center("affine", angle, center)
    if not isinstance(translate, (list, tuple)):
        raise TypeError(f"affine: Argument translate should be a sequence, got {type(translate).__name__}")
    if len(translate) != 2:
        raise ValueError(f"affine: Argument translate should be a sequence of length 2, got {translate!r}")
    if scale <= 0.0:
        raise ValueError(f"affine: Argument scale should be positive, got {scale}")
    shears = _shears(shear)
    channels, height, width = get_dimensions(img)
    if isinstance(img, Image.Image):
        middle = (width * 0.5, height * 0.5) if center is None else (center[0], center[1])
        data = tuple(affine_matrix(middle, angle, translate, scale, shears))
        color = image_fill(img, fill)
        return img.transform((width, height), Image.Transform.AFFINE, data, pil_modes_mapping[mode], fillcolor=color)
    _check_for_tensors(mode, ("nearest", "bilinear"), "affine")
    middle = (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)
    matrix = affine_matrix(middle, angle, translate, scale, shears)
    grid = affine_grid(matrix, (height, width), (height, width), grid_dtype(img), img.device)
    return warp(img, grid, mode.value, checked_fill(fill, channels))


def perspective(
    img: Picture,
    startpoints: Sequence[Sequence[int]],
    endpoints: Sequence[Sequence[int]],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: Fill = None,
) -> Picture:
    """Change the perspective of a picture.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    startpoints, endpoints : four pairs (x, y)
        What lay at the first comes to the second: the corners, from the upper left one with the clock, say.
    interpolation : InterpolationMode, default BILINEAR
        Tensors know nearest and bilinear, PIL images bicubic too.
    fill : number or sequence of numbers, optional
        The value of pixels from outside of the picture, for all channels or for each; default 0.

    Examples
    --------
    >>> corners = [[0, 0], [4, 0], [4, 4], [0, 4]]
    >>> to_the_right = [[1, 0], [5, 0], [5, 4], [1, 4]]
    >>> perspective(weft.arange(4.0).expand(1, 4, 4), corners, to_the_right)[0, 0].round()
    tensor([0., 0., 1., 2.])
    """
    img = checked_picture(img, "perspective")
    return _warp.perspective(img, startpoints, endpoints, interpolation, fill)


def elastic_transform(
    img: Picture,
    displacement: Tensor,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: Fill = None,
) -> Picture:
    """Take each pixel from a place at a distance.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    displacement : Tensor, shape (1, H, W, 2)
        Along x and y, in halves of the width and height.
    interpolation : InterpolationMode, default BILINEAR
        Nearest, bilinear or bicubic.
    fill : number or sequence of numbers, optional
        The value of pixels from outside of the picture, for all channels or for each; default 0.

    Raises
    ------
    TypeError, ValueError
        If ``displacement`` is no tensor of that shape.

    Examples
    --------
    >>> to_the_left = weft.zeros(1, 1, 4, 2)
    >>> to_the_left[..., 0] = 2 / 4
    >>> elastic_transform(weft.arange(4.0).reshape(1, 1, 4), to_the_left)
    tensor([[[1., 2., 3., 0.]]])
    """
    img = checked_picture(img, "elastic_transform")
    return _warp.elastic(img, displacement, interpolation, fill)


def five_crop(img: Picture, size: int | Sequence[int]) -> tuple[Picture, ...]:
    """Cut the four corners and the middle out of a picture.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    size : int or (height, width)

    Returns
    -------
    tuple of five pictures
        Upper left, upper right, lower left, lower right, middle.

    Raises
    ------
    ValueError
        If the picture is smaller.

    Examples
    --------
    >>> [part.item() for part in five_crop(weft.arange(9).reshape(1, 3, 3), 1)]
    [0, 2, 6, 8, 4]
    """
    return _crop.five_crop(checked_picture(img, "five_crop"), size)


def ten_crop(img: Picture, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Picture, ...]:
    """Cut the four corners and the middle out of a picture and out of its mirror image.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    size : int or (height, width)
    vertical_flip : bool, default False
        Mirror top to bottom, instead of left to right.

    Returns
    -------
    tuple of ten pictures
        As `five_crop`, first of the picture.

    Raises
    ------
    ValueError
        If the picture is smaller.

    Examples
    --------
    >>> [part.item() for part in ten_crop(weft.arange(9).reshape(1, 3, 3), 1)][5:]
    [2, 0, 8, 6, 4]
    """
    return _crop.ten_crop(checked_picture(img, "ten_crop"), size, vertical_flip)


def _checked_interpolation(interpolation: Any, op: str) -> InterpolationMode:
    """Return the mode, also when it is given by Pillow's constant."""
    if isinstance(interpolation, InterpolationMode):
        return interpolation
    for mode, constant in pil_modes_mapping.items():
        if isinstance(interpolation, int) and interpolation == constant:
            return mode
    raise TypeError(f"{op}: interpolation must be an InterpolationMode, got {interpolation!r}")


def _check_angle_and_center(op: str, angle: Any, center: Any) -> None:
    if not isinstance(angle, (int, float)):
        raise TypeError(f"{op}: Argument angle should be int or float, got {type(angle).__name__}")
    if center is None:
        return
    if not isinstance(center, (list, tuple)):
        raise TypeError(f"{op}: Argument center should be a sequence, got {type(center).__name__}")
    if len(center) != 2:
        raise ValueError(f"{op}: Argument center should be a sequence of length 2, got {center!r}")


def _shears(shear: Any) -> tuple[float, float]:
    """Return the shear along x and y; one number is that along x, a sequence of one number both."""
    if isinstance(shear, (int, float)):
        return shear, 0.0
    if not isinstance(shear, (list, tuple)):
        raise TypeError(
            f"affine: Shear should be either a single value or a sequence of two values, got {type(shear).__name__}"
        )
    if len(shear) not in (1, 2):
        raise ValueError(f"affine: Shear should be a sequence containing two values, got {shear!r}")
    return shear[0], shear[-1]


def _check_for_tensors(mode: InterpolationMode, known: Sequence[str], op: str) -> None:
    if mode.value not in known:
        raise ValueError(f"{op}: interpolation of tensors can be {', '.join(known)}, got {mode.value}")
