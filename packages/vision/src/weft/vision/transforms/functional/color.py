"""Colour and brightness; and the erasing of a part."""

from __future__ import annotations

from PIL import Image

import weft
from weft import Tensor
from weft.vision.transforms.functional._types import Picture, checked_image, checked_picture
from weft.vision.transforms.v2.functional import _color
from weft.vision.transforms.v2.functional._augment import erase_image
from weft.vision.transforms.v2.functional._misc import greatest_value

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "autocontrast",
    "equalize",
    "erase",
    "invert",
    "posterize",
    "rgb_to_grayscale",
    "solarize",
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
    img = checked_image(img, "rgb_to_grayscale", (1, 3))
    is_grey = isinstance(img, Tensor) and img.shape[-3] == 1  # then one channel is returned, as torchvision does
    return _color.rgb_to_grayscale(img, 1 if is_grey and num_output_channels == 3 else num_output_channels)


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
    return _color.adjust_brightness(checked_image(img, "adjust_brightness", (1, 3)), brightness_factor)


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
    img = checked_image(img, "adjust_contrast", (1, 3))
    if not isinstance(img, Tensor):
        return _color.adjust_contrast(img, contrast_factor)
    grey = _color.luma(img) if img.shape[-3] == 3 else img
    return _blend("adjust_contrast", img, _color.in_floats(grey).mean(dim=(-3, -2, -1), keepdim=True), contrast_factor)


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
    img = checked_image(img, "adjust_saturation", (1, 3))
    if not isinstance(img, Tensor) or img.shape[-3] == 1:
        return _color.adjust_saturation(img, saturation_factor)
    return _blend("adjust_saturation", img, _color.luma(img), saturation_factor)


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
    return _color.adjust_hue(checked_image(img, "adjust_hue", (1, 3)), hue_factor)


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
    return erase_image(checked_picture(img, "erase"), i, j, h, w, v, inplace)


def adjust_gamma(img: Picture, gamma: float, gain: float = 1) -> Picture:
    """Return ``gain * img ** gamma``, of values from 0 to 1.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    gamma : float
        Above 1 the shadows become darker, below 1 lighter.
    gain : float, default 1

    Raises
    ------
    ValueError
        If ``gamma`` is negative.

    Examples
    --------
    >>> adjust_gamma(weft.tensor([[[0.5, 1.0]]]), 2)
    tensor([[[0.2500, 1.0000]]])
    """
    return _color.adjust_gamma(checked_image(img, "adjust_gamma", (1, 3)), gamma, gain)


def adjust_sharpness(img: Picture, sharpness_factor: float) -> Picture:
    """Move the values away from those of a smooth picture; its border stays.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    sharpness_factor : float
        0 gives a smooth picture, 1 the picture, 2 twice the sharpness.

    Raises
    ------
    ValueError
        If it is negative.

    Examples
    --------
    >>> picture = weft.zeros(1, 3, 3)
    >>> picture[0, 1, 1] = 0.13
    >>> adjust_sharpness(picture, 0)[0, 1]  # the middle weighs 5 of 13
    tensor([0.0000, 0.0500, 0.0000])
    """
    img = checked_image(img, "adjust_sharpness", (1, 3))
    if not isinstance(img, Tensor) or img.numel() == 0 or min(img.shape[-2:]) <= 2:
        return _color.adjust_sharpness(img, sharpness_factor)
    smooth = img.to(_color.in_floats(img).dtype, copy=True)
    smooth[..., 1:-1, 1:-1] = _color.smoothed(img)
    return _blend("adjust_sharpness", img, smooth, sharpness_factor)


def _blend(op: str, image: Tensor, other: Tensor, share: float) -> Tensor:
    """Return ``share * image + (1 - share) * other``, kept in the range of the dtype.

    Products and sum are rounded one by one, unlike the second version's: bytes are cut off after it, and would differ.
    """
    _color.check_factor(op, share)
    mixed = _color.in_floats(image).mul(share).add_(_color.in_floats(other).mul(1.0 - share))
    return mixed.clamp_(0, greatest_value(image.dtype)).to(image.dtype)


def invert(img: Picture) -> Picture:
    """Subtract the values from white: 1, or the greatest integer of the dtype."""
    return _color.invert(checked_image(img, "invert", (1, 3)))


def posterize(img: Picture, bits: int) -> Picture:
    """Keep the highest bits of each value.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W), of bytes
    bits : int
        How many, from 0 to 8.

    Raises
    ------
    TypeError
        If a tensor is not of bytes.
    ValueError
        If ``bits`` is another number.

    Examples
    --------
    >>> posterize(weft.tensor([[[100, 200]]], dtype=weft.uint8), 1)
    tensor([[[  0, 128]]], dtype=weft.uint8)
    """
    img = _checked_bytes(img, "posterize")
    if isinstance(img, Tensor) and not 0 <= bits <= 8:
        raise ValueError(f"posterize: bits should be from 0 to 8, got {bits}")
    return _color.posterize(img, bits)


def solarize(img: Picture, threshold: float) -> Picture:
    """Invert the values that are not below the threshold.

    Parameters
    ----------
    img : PIL image or Tensor, shape (..., C, H, W)
    threshold : float
        In the units of the values.

    Raises
    ------
    TypeError
        If it is above white.

    Examples
    --------
    >>> solarize(weft.tensor([[[100, 200]]], dtype=weft.uint8), 128)
    tensor([[[100,  55]]], dtype=weft.uint8)
    """
    img = checked_image(img, "solarize", (1, 3))
    if isinstance(img, Tensor) and threshold > greatest_value(img.dtype):
        raise TypeError(f"solarize: Threshold should be less than bound of img, {img.dtype}; got {threshold}")
    return _color.solarize(img, threshold)


def autocontrast(img: Picture) -> Picture:
    """Stretch the values of each channel, so that the least is black and the greatest white."""
    img = checked_image(img, "autocontrast", (1, 3))
    if not isinstance(img, Tensor) or img.numel() == 0:
        return _color.autocontrast(img)
    white = greatest_value(img.dtype)
    least, spread = _color.spread_of(img)
    plain = spread == 0
    # A product where the second version divides: bytes, cut off after it, would differ.
    factor = weft.where(plain, 1.0, spread.reciprocal() * white)
    stretched = (_color.in_floats(img) - weft.where(plain, 0.0, least)).mul_(factor)
    return stretched.clamp_(0, white).to(img.dtype)


def equalize(img: Picture) -> Picture:
    """Map the bytes of each channel so that their histogram becomes as flat as can be."""
    return _color.equalize(_checked_bytes(img, "equalize"))


def _checked_bytes(img: Picture, op: str) -> Picture:
    img = checked_image(img, op, (1, 3))
    if isinstance(img, Tensor) and img.dtype is not weft.uint8:
        raise TypeError(f"{op}: a tensor must be of dtype uint8, got {img.dtype}")
    return img
