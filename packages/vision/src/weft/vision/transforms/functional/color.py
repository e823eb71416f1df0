"""Colour and brightness; and the erasing of a part."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image, ImageEnhance

import weft
from weft import Tensor
from weft.vision.transforms.functional._types import Picture, checked_picture, get_dimensions
from weft.vision.transforms.functional.conversion import convert_image_dtype

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_hue",
    "adjust_saturation",
    "erase",
    "rgb_to_grayscale",
    "to_grayscale",
]


def rgb_to_grayscale(img: Picture, num_output_channels: int = 1) -> Picture:
    """Turn a colour picture grey: 0.2989 red + 0.587 green + 0.114 blue (ITU-R BT.601-7, section 2.5.1).

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., 3, H, W) or (..., 1, H, W)
    num_output_channels : {1, 3}
        Three equal channels, for what wants an RGB picture.

    Raises
    ------
    ValueError
        If ``num_output_channels`` is another number.
    TypeError
        If a tensor has not one or three channels.

    Examples
    --------
    >>> rgb_to_grayscale(weft.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)).flatten()
    tensor([0.2989])
    """
    img = checked_picture(img, "rgb_to_grayscale")
    if num_output_channels not in (1, 3):
        raise ValueError(f"rgb_to_grayscale: num_output_channels must be 1 or 3, got {num_output_channels}")
    if isinstance(img, Image.Image):
        grey = img.convert("L")
        return grey if num_output_channels == 1 else Image.merge("RGB", [grey] * 3)
    shade = _luma(img, "rgb_to_grayscale")
    return shade if num_output_channels == 1 else shade.expand(*shade.shape[:-3], 3, *shade.shape[-2:])


def to_grayscale(img: Image.Image, num_output_channels: int = 1) -> Image.Image:
    """Turn a PIL image grey; `rgb_to_grayscale` takes tensors too.

    Parameters
    ----------
    img : PIL image
    num_output_channels : 1 or 3
        Three equal channels, for what wants an RGB picture.

    Raises
    ------
    ValueError
        If ``num_output_channels`` is another number.
    TypeError
        If ``img`` is no PIL image.

    Examples
    --------
    >>> from PIL import Image
    >>> to_grayscale(Image.new("RGB", (2, 2), (255, 0, 0))).getpixel((0, 0))
    76
    """
    if not isinstance(img, Image.Image):
        raise TypeError(f"to_grayscale: img must be a PIL image, got {type(img).__name__}; use rgb_to_grayscale")
    return rgb_to_grayscale(img, num_output_channels)


def adjust_brightness(img: Picture, brightness_factor: float) -> Picture:
    """Multiply the values by a factor.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    brightness_factor : float
        0 gives black, 1 the picture, 2 twice the brightness.

    Raises
    ------
    ValueError
        If it is negative.

    Examples
    --------
    >>> adjust_brightness(weft.tensor([[[0.2, 0.6]]]).expand(3, 1, 2), 2)[0]  # white is the limit
    tensor([[0.4000, 1.0000]])
    """
    img = checked_picture(img, "adjust_brightness")
    if isinstance(img, Image.Image):
        return ImageEnhance.Brightness(img).enhance(brightness_factor)
    _check_factor(brightness_factor, "adjust_brightness: brightness_factor")
    return _blend(img, weft.zeros_like(img), brightness_factor)


def adjust_contrast(img: Picture, contrast_factor: float) -> Picture:
    """Move the values away from the mean grey.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    contrast_factor : float
        0 gives plain grey, 1 the picture, 2 twice the contrast.

    Raises
    ------
    ValueError
        If it is negative.

    Examples
    --------
    >>> adjust_contrast(weft.tensor([[[0.4, 0.6]]]).expand(3, 1, 2), 2)[0]
    tensor([[0.3000, 0.7000]])
    """
    img = checked_picture(img, "adjust_contrast")
    if isinstance(img, Image.Image):
        return ImageEnhance.Contrast(img).enhance(contrast_factor)
    _check_factor(contrast_factor, "adjust_contrast: contrast_factor")
    dtype = img.dtype if img.is_floating_point() else weft.float32
    mean = _luma(img, "adjust_contrast").to(dtype).mean(dim=(-3, -2, -1), keepdim=True)
    return _blend(img, mean, contrast_factor)


def adjust_saturation(img: Picture, saturation_factor: float) -> Picture:
    """Move the colours away from grey.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    saturation_factor : float
        0 gives a grey picture, 1 the picture, 2 twice the saturation.

    Raises
    ------
    ValueError
        If it is negative.

    Examples
    --------
    >>> red = weft.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)
    >>> adjust_saturation(red, 0).flatten()
    tensor([0.2989, 0.2989, 0.2989])
    """
    img = checked_picture(img, "adjust_saturation")
    if isinstance(img, Image.Image):
        return ImageEnhance.Color(img).enhance(saturation_factor)
    _check_factor(saturation_factor, "adjust_saturation: saturation_factor")
    return img if get_dimensions(img)[0] == 1 else _blend(img, _luma(img, "adjust_saturation"), saturation_factor)


def adjust_hue(img: Picture, hue_factor: float) -> Picture:
    """Turn the wheel of colours.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    hue_factor : float
        From -0.5 to 0.5, in turns.

    Raises
    ------
    ValueError
        If ``hue_factor`` is outside of that range.

    Examples
    --------
    >>> red = weft.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)
    >>> adjust_hue(red, 1 / 3).flatten()  # green
    tensor([0., 1., 0.])
    """
    img = checked_picture(img, "adjust_hue")
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"adjust_hue: hue_factor must be from -0.5 to 0.5, got {hue_factor}")
    if isinstance(img, Image.Image):
        return _turn_image_hue(img, hue_factor)
    if get_dimensions(img)[0] == 1:
        return img
    _check_channels(img, "adjust_hue")
    hue, saturation, value = _rgb_to_hsv(convert_image_dtype(img, _floating(img)))
    return convert_image_dtype(_hsv_to_rgb((hue + hue_factor) % 1.0, saturation, value), img.dtype)


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """Overwrite the rectangle with the upper left corner (i, j), of h rows and w columns, by ``v``.

    Parameters
    ----------
    img : Tensor, shape (..., C, H, W)
    i, j, h, w : int
    v : Tensor
        Of a shape that broadcasts to (C, h, w).
    inplace : bool, default False
        Overwrite ``img`` itself.

    Examples
    --------
    >>> erase(weft.ones(1, 2, 3), 0, 1, 2, 2, weft.tensor(0.0))
    tensor([[[1., 0., 0.],
             [1., 0., 0.]]])
    """
    if not isinstance(img, Tensor):
        raise TypeError(f"erase: img must be a tensor, got {type(img).__name__}; apply ToTensor first")
    result = img if inplace else img.clone()
    result[..., i : i + h, j : j + w] = v
    return result


def _check_factor(factor: float, name: str) -> None:
    if factor < 0:
        raise ValueError(f"{name} must not be negative, got {factor}")


def _check_channels(img: Tensor, op: str) -> None:
    channels = img.shape[-3] if img.dim() >= 3 else 0
    if channels not in (1, 3):
        raise TypeError(f"{op}: a tensor must have 1 or 3 channels, shape (..., C, H, W); got {tuple(img.shape)}")


def _floating(img: Tensor) -> Any:
    return img.dtype if img.is_floating_point() else weft.float32


def _luma(img: Tensor, op: str) -> Tensor:
    """Return the grey picture (..., 1, H, W), in the dtype of ``img``."""
    _check_channels(img, op)
    if img.shape[-3] == 1:
        return img.clone()
    red, green, blue = img.unbind(dim=-3)
    return (0.2989 * red + 0.587 * green + 0.114 * blue).to(img.dtype).unsqueeze(-3)


def _blend(img: Tensor, other: Tensor, share: float) -> Tensor:
    """Return ``share * img + (1 - share) * other``, kept in the range of the dtype."""
    greatest = 1.0 if img.is_floating_point() else float(weft.iinfo(img.dtype).max)
    return (share * img + (1.0 - share) * other).clamp(0, greatest).to(img.dtype)


def _turn_image_hue(img: Image.Image, share: float) -> Image.Image:
    """Return the image with its hue shifted by ``share`` of a turn; grey images have none."""
    if img.mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    shifted = np.array(hue, dtype=np.uint8) + np.uint8(int(share * 255) % 256)  # wraps around, as hue does
    return Image.merge("HSV", (Image.fromarray(shifted), saturation, value)).convert(img.mode)


def _rgb_to_hsv(img: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return hue (0..1), saturation and value of (..., 3, H, W) with values 0..1; A. R. Smith, SIGGRAPH 1978."""
    red, green, blue = img.unbind(dim=-3)
    value, least = img.amax(dim=-3), img.amin(dim=-3)
    spread = value - least
    grey = spread == 0
    divisor = weft.where(grey, weft.ones_like(spread), spread)
    sextant = weft.where(
        value == red,
        (green - blue) / divisor,
        weft.where(value == green, 2.0 + (blue - red) / divisor, 4.0 + (red - green) / divisor),
    )
    saturation = spread / weft.where(grey, weft.ones_like(value), value)
    return (sextant / 6.0) % 1.0, saturation, value


def _hsv_to_rgb(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    """Return (..., 3, H, W); each channel is value less what saturation takes at its distance from the hue."""
    channels = []
    for offset in (5.0, 3.0, 1.0):
        place = (offset + hue * 6.0) % 6.0
        distance = weft.minimum(place, 4.0 - place).clamp(0.0, 1.0)
        channels.append(value - value * saturation * distance)
    return weft.stack(channels, dim=-3)
