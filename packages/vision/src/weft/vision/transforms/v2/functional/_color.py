"""Colour and brightness: `adjust_*`, grey scale, inversion, posterizing, solarizing, histograms, order of channels.

Each kernel ``*_image`` takes a tensor (..., C, H, W); those of videos and of plain tensors are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

import weft
from weft import Tensor
from weft.vision.transforms.v2.functional._bytes import LUMA, blend_integers, luma_of_integers
from weft.vision.transforms.v2.functional._misc import greatest_value, to_dtype_image
from weft.vision.transforms.v2.functional._utils import IMAGES, IMAGES_AND_VIDEOS, PIL_IMAGE, functional, kernel

__all__ = [
    "adjust_brightness",
    "adjust_brightness_image",
    "adjust_brightness_video",
    "adjust_contrast",
    "adjust_contrast_image",
    "adjust_contrast_video",
    "adjust_gamma",
    "adjust_gamma_image",
    "adjust_gamma_video",
    "adjust_hue",
    "adjust_hue_image",
    "adjust_hue_video",
    "adjust_saturation",
    "adjust_saturation_image",
    "adjust_saturation_video",
    "adjust_sharpness",
    "adjust_sharpness_image",
    "adjust_sharpness_video",
    "autocontrast",
    "autocontrast_image",
    "autocontrast_video",
    "equalize",
    "equalize_image",
    "equalize_video",
    "grayscale_to_rgb",
    "grayscale_to_rgb_image",
    "invert",
    "invert_image",
    "invert_video",
    "permute_channels",
    "permute_channels_image",
    "permute_channels_video",
    "posterize",
    "posterize_image",
    "posterize_video",
    "rgb_to_grayscale",
    "rgb_to_grayscale_image",
    "solarize",
    "solarize_image",
    "solarize_video",
    "to_grayscale",
]


@functional
def rgb_to_grayscale(inpt: Any, num_output_channels: int = 1) -> Any:
    """Turn images grey, with one channel or three equal ones."""


@functional
def grayscale_to_rgb(inpt: Any) -> Any:
    """Give grey images three equal channels; images of colour stay as they are."""


@functional
def adjust_brightness(inpt: Any, brightness_factor: float) -> Any:
    """Multiply by a factor: 0 gives black, 1 the same image."""


@functional
def adjust_contrast(inpt: Any, contrast_factor: float) -> Any:
    """Move the values away from the mean grey: 0 gives that grey, 1 the same image."""


@functional
def adjust_saturation(inpt: Any, saturation_factor: float) -> Any:
    """Move the colours away from grey: 0 gives a grey image, 1 the same image."""


@functional
def adjust_sharpness(inpt: Any, sharpness_factor: float) -> Any:
    """Move the values away from a smooth image: 0 gives the smooth one, 1 the same image."""


@functional
def adjust_hue(inpt: Any, hue_factor: float) -> Any:
    """Turn the wheel of colours by a factor from -0.5 to 0.5, in turns."""


@functional
def adjust_gamma(inpt: Any, gamma: float, gain: float = 1) -> Any:
    """Raise the values, from 0 to 1, to the power of ``gamma`` and multiply them by ``gain``."""


@functional
def posterize(inpt: Any, bits: int) -> Any:
    """Keep the ``bits`` highest bits of each value."""


@functional
def solarize(inpt: Any, threshold: float) -> Any:
    """Invert the values that are not below the threshold."""


@functional
def autocontrast(inpt: Any) -> Any:
    """Stretch the values of each channel to the whole range from black to white."""


@functional
def equalize(inpt: Any) -> Any:
    """Make the histogram of each channel as flat as can be."""


@functional
def invert(inpt: Any) -> Any:
    """Subtract the values from white."""


@functional
def permute_channels(inpt: Any, permutation: Sequence[int]) -> Any:
    """Put channel ``permutation[c]`` in place c."""


@kernel(rgb_to_grayscale, *IMAGES)
def rgb_to_grayscale_image(image: Tensor, num_output_channels: int = 1) -> Tensor:
    """Weigh the channels of (..., 3, H, W) by `LUMA`; a grey image stays as it is."""
    _check_output_channels(num_output_channels)
    if image.shape[-3] == 1 and num_output_channels == 1:
        return image.clone()
    if image.shape[-3] == 1:
        return grayscale_to_rgb_image(image)
    if image.shape[-3] != 3:
        raise ValueError(f"rgb_to_grayscale: expected 1 or 3 channels, (..., C, H, W), got {tuple(image.shape)}")
    grey = luma(image)
    return grey if num_output_channels == 1 else grey.expand(*grey.shape[:-3], 3, *grey.shape[-2:])


@kernel(rgb_to_grayscale, PIL_IMAGE)
def _rgb_to_grayscale_image_pil(image: Image.Image, num_output_channels: int = 1) -> Image.Image:
    _check_output_channels(num_output_channels)
    grey = image.convert("L")
    return grey if num_output_channels == 1 else Image.merge("RGB", [grey] * 3)


def _check_output_channels(count: int) -> None:
    if count not in (1, 3):
        raise ValueError(f"rgb_to_grayscale: num_output_channels should be either 1 or 3, got {count}")


def luma(image: Tensor) -> Tensor:
    """Return the grey (..., 1, H, W) of (..., 3, H, W), in the dtype of the image."""
    if not image.is_floating_point():
        return luma_of_integers(image)
    red, green, blue = image.unbind(dim=-3)
    return (red * LUMA[0]).add_(green * LUMA[1]).add_(blue * LUMA[2]).unsqueeze(-3)


@kernel(grayscale_to_rgb, *IMAGES)
def grayscale_to_rgb_image(image: Tensor) -> Tensor:
    """Repeat the channel of (..., 1, H, W) three times; an image of three channels stays as it is."""
    if image.shape[-3] >= 3:
        return image
    return image.expand(*image.shape[:-3], 3, *image.shape[-2:]).clone(memory_format=weft.contiguous_format)


@kernel(grayscale_to_rgb, PIL_IMAGE)
def _grayscale_to_rgb_image_pil(image: Image.Image) -> Image.Image:
    return image.convert("RGB")


@kernel(adjust_brightness, *IMAGES_AND_VIDEOS)
def adjust_brightness_image(image: Tensor, brightness_factor: float) -> Tensor:
    """Multiply by the factor, up to white."""
    check_factor("adjust_brightness: brightness_factor", brightness_factor)
    _check_channels("adjust_brightness", image)
    values = in_floats(image)
    return values.mul(brightness_factor).clamp_(0, greatest_value(image.dtype)).to(image.dtype)


@kernel(adjust_saturation, *IMAGES_AND_VIDEOS)
def adjust_saturation_image(image: Tensor, saturation_factor: float) -> Tensor:
    """Blend (..., C, H, W) with its own grey."""
    check_factor("adjust_saturation: saturation_factor", saturation_factor)
    _check_channels("adjust_saturation", image)
    return image if image.shape[-3] == 1 else _blend(image, luma(image), saturation_factor)


@kernel(adjust_contrast, *IMAGES_AND_VIDEOS)
def adjust_contrast_image(image: Tensor, contrast_factor: float) -> Tensor:
    """Blend (..., C, H, W) with the mean of its grey."""
    check_factor("adjust_contrast: contrast_factor", contrast_factor)
    _check_channels("adjust_contrast", image)
    grey = luma(image) if image.shape[-3] == 3 else image
    return _blend(image, in_floats(grey).mean(dim=(-3, -2, -1), keepdim=True), contrast_factor)


@kernel(adjust_sharpness, *IMAGES_AND_VIDEOS)
def adjust_sharpness_image(image: Tensor, sharpness_factor: float) -> Tensor:
    """Blend (..., C, H, W) with its mean over 3x3 pixels, the middle weighed by 5; the border stays."""
    _check_channels("adjust_sharpness", image)
    check_factor("adjust_sharpness: sharpness_factor", sharpness_factor)
    if image.numel() == 0 or min(image.shape[-2:]) <= 2:
        return image
    values = image.clone() if image.is_floating_point() else image.to(weft.float32)
    inner = values[..., 1:-1, 1:-1]
    change, factor = smoothed(image) - inner, 1.0 - sharpness_factor
    if image.is_floating_point():
        inner.add_(change, alpha=factor)
    else:  # the sum is rounded once, see `blend_integers`
        inner.copy_(inner.double() + float(np.float32(factor)) * change.double())
    return values.clamp_(0, greatest_value(image.dtype)).to(image.dtype)


def smoothed(image: Tensor) -> Tensor:
    """Return the mean over 3x3 pixels, the middle weighed by 5: (..., H - 2, W - 2), floating, of integers whole."""
    values = in_floats(image)
    rows = values[..., :-2, :] + values[..., 1:-1, :] + values[..., 2:, :]
    around = rows[..., :-2] + rows[..., 1:-1] + rows[..., 2:]
    smooth = (around + 4 * values[..., 1:-1, 1:-1]).div_(13)
    return smooth if image.is_floating_point() else smooth.round_()


@kernel(adjust_brightness, PIL_IMAGE)
def _adjust_brightness_image_pil(image: Image.Image, brightness_factor: float) -> Image.Image:
    return ImageEnhance.Brightness(image).enhance(brightness_factor)


@kernel(adjust_saturation, PIL_IMAGE)
def _adjust_saturation_image_pil(image: Image.Image, saturation_factor: float) -> Image.Image:
    return ImageEnhance.Color(image).enhance(saturation_factor)


@kernel(adjust_contrast, PIL_IMAGE)
def _adjust_contrast_image_pil(image: Image.Image, contrast_factor: float) -> Image.Image:
    return ImageEnhance.Contrast(image).enhance(contrast_factor)


@kernel(adjust_sharpness, PIL_IMAGE)
def _adjust_sharpness_image_pil(image: Image.Image, sharpness_factor: float) -> Image.Image:
    return ImageEnhance.Sharpness(image).enhance(sharpness_factor)


def _blend(image: Tensor, other: Tensor, share: float) -> Tensor:
    """Return ``share * image + (1 - share) * other``, kept in the range of the dtype."""
    white = greatest_value(image.dtype)
    if not image.is_floating_point():
        return blend_integers(image, in_floats(other), share, white)
    return image.mul(share).add_(other, alpha=1.0 - share).clamp_(0, white)


@kernel(adjust_hue, *IMAGES_AND_VIDEOS)
def adjust_hue_image(image: Tensor, hue_factor: float) -> Tensor:
    """Turn the hue of (..., 3, H, W) by the factor, in turns."""
    _check_hue(hue_factor)
    _check_channels("adjust_hue", image)
    if image.shape[-3] == 1 or image.numel() == 0:
        return image
    hue, saturation, value = _rgb_to_hsv(to_dtype_image(image, _floating(image.dtype), scale=True))
    return to_dtype_image(_hsv_to_rgb((hue + hue_factor).remainder_(1.0), saturation, value), image.dtype, scale=True)


@kernel(adjust_hue, PIL_IMAGE)
def _adjust_hue_image_pil(image: Image.Image, hue_factor: float) -> Image.Image:
    _check_hue(hue_factor)
    if image.mode in ("L", "1", "I", "F"):
        return image
    hue, saturation, value = image.convert("HSV").split()
    turned = np.array(hue, dtype=np.uint8) + np.uint8(int(hue_factor * 255) % 256)  # wraps around, as hue does
    return Image.merge("HSV", (Image.fromarray(turned), saturation, value)).convert(image.mode)


def _check_hue(hue_factor: float) -> None:
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"adjust_hue: hue_factor ({hue_factor}) is not in [-0.5, 0.5]")


def _rgb_to_hsv(image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return hue (0..1), saturation and value of (..., 3, H, W) with values 0..1; A. R. Smith, SIGGRAPH 1978."""
    red, green, blue = image.unbind(dim=-3)
    value, least = image.amax(dim=-3), image.amin(dim=-3)
    spread = value - least
    grey = spread == 0
    divisor = weft.where(grey, 1.0, spread)
    sextant = weft.where(
        value == red,
        (green - blue) / divisor,
        weft.where(value == green, 2.0 + (blue - red) / divisor, 4.0 + (red - green) / divisor),
    )
    return (sextant / 6.0).remainder_(1.0), spread / weft.where(grey, 1.0, value), value


def _hsv_to_rgb(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    """Return (..., 3, H, W); each channel is value less what saturation takes at its distance from the hue."""
    chroma = value * saturation
    channels = []
    for offset in (5.0, 3.0, 1.0):
        place = (hue * 6.0 + offset).remainder_(6.0)
        channels.append(value - chroma * weft.minimum(place, 4.0 - place).clamp_(0.0, 1.0))
    return weft.stack(channels, dim=-3)


@kernel(adjust_gamma, *IMAGES_AND_VIDEOS)
def adjust_gamma_image(image: Tensor, gamma: float, gain: float = 1.0) -> Tensor:
    """Return ``gain * image ** gamma`` of values from 0 to 1."""
    _check_gamma(gamma)
    values = to_dtype_image(image, _floating(image.dtype), scale=True).pow(gamma)
    values = values if gain == 1.0 else values.mul_(gain)
    return to_dtype_image(values.clamp_(0.0, 1.0), image.dtype, scale=True)


@kernel(adjust_gamma, PIL_IMAGE)
def _adjust_gamma_image_pil(image: Image.Image, gamma: float, gain: float = 1.0) -> Image.Image:
    _check_gamma(gamma)
    table = [int((256 - 1e-3) * gain * pow(byte / 255.0, gamma)) for byte in range(256)]
    return image.convert("RGB").point(table * 3).convert(image.mode)


def _check_gamma(gamma: float) -> None:
    if gamma < 0:
        raise ValueError(f"adjust_gamma: Gamma should be a non-negative real number, got {gamma}")


@kernel(posterize, *IMAGES_AND_VIDEOS)
def posterize_image(image: Tensor, bits: int) -> Tensor:
    """Keep the ``bits`` highest bits of integers, or so many levels of floats."""
    if not isinstance(bits, int) or not 0 <= bits <= 8:
        raise TypeError(f"posterize: bits must be a positive integer in the range [0, 8], got {bits} instead.")
    if image.is_floating_point():
        levels = 1 << bits
        return image.mul(levels).floor_().clamp_(0, levels - 1).mul_(1.0 / levels)
    value_bits = _value_bits("posterize", image)
    return image if bits >= value_bits else image & (((1 << bits) - 1) << (value_bits - bits))


def _value_bits(name: str, image: Tensor) -> int:
    """How many bits white has, of images of integers."""
    if image.dtype is weft.bool:
        raise TypeError(f"{name}: Number of value bits is only defined for integer dtypes, but got {image.dtype}")
    return int(greatest_value(image.dtype)).bit_length()


@kernel(solarize, *IMAGES_AND_VIDEOS)
def solarize_image(image: Tensor, threshold: float) -> Tensor:
    """Invert the values that reach the threshold."""
    if threshold > greatest_value(image.dtype):
        raise TypeError(
            f"solarize: Threshold should be less or equal the maximum value of the dtype, but got {threshold}"
        )
    return weft.where(image >= threshold, invert_image(image), image)


@kernel(invert, *IMAGES_AND_VIDEOS)
def invert_image(image: Tensor) -> Tensor:
    """Subtract the image from white."""
    if image.is_floating_point():
        return 1.0 - image
    if image.dtype is weft.uint8:
        return image.bitwise_not()
    return image.bitwise_xor((1 << _value_bits("invert", image)) - 1)


@kernel(autocontrast, *IMAGES_AND_VIDEOS)
def autocontrast_image(image: Tensor) -> Tensor:
    """Stretch each channel of (..., C, H, W), so that its least value is black and its greatest white."""
    _check_channels("autocontrast", image)
    if image.numel() == 0:
        return image
    white = greatest_value(image.dtype)
    least, spread = spread_of(image)
    plain = spread == 0
    least, spread = weft.where(plain, 0.0, least), weft.where(plain, 1.0, spread * (1.0 / white))
    above = image - least if image.is_floating_point() else in_floats(image).sub_(least)
    return above.div_(spread).clamp_(0, white).to(image.dtype)


def spread_of(image: Tensor) -> tuple[Tensor, Tensor]:
    """Return the least value of each channel, and by how much the greatest is more: (..., C, 1, 1), floating."""
    least = in_floats(image.amin(dim=(-2, -1), keepdim=True))
    return least, in_floats(image.amax(dim=(-2, -1), keepdim=True)) - least


@kernel(equalize, *IMAGES_AND_VIDEOS)
def equalize_image(image: Tensor) -> Tensor:
    """Map the bytes of each channel so that their histogram becomes as flat as can be."""
    if image.numel() == 0:
        return image
    bytes_ = to_dtype_image(image, weft.uint8, scale=True)
    planes = bytes_.reshape(-1, bytes_.shape[-2] * bytes_.shape[-1]).to(weft.int64)
    # Bytes of plane n are counted from 256 n on, so that one histogram and one table serve all planes.
    planes.add_(256 * weft.arange(len(planes), device=image.device)[:, None])
    counts = weft.bincount(planes.flatten(), minlength=256 * len(planes)).reshape(-1, 256)
    equalized = _equalization(counts).to(weft.uint8).flatten()[planes].reshape(bytes_.shape)
    return to_dtype_image(equalized, image.dtype, scale=True)


def _equalization(counts: Tensor) -> Tensor:
    """Return, for (N, 256) histograms, the (N, 256) values that the bytes become; Pillow's ``ImageOps.equalize``."""
    up_to = counts.cumsum(1)
    # The pixels of the brightest value are left out of the step, so that they become white.
    brightest = 255 - (counts != 0).flip(1).to(weft.int64).argmax(dim=1, keepdim=True)
    step = (up_to[:, -1:] - counts.gather(1, brightest)).div_(255, rounding_mode="floor")
    below = up_to - counts
    mapped = (below + step // 2).div_(step.clamp(min=1), rounding_mode="floor").clamp_(0, 255)
    return weft.where(step == 0, weft.arange(256, device=counts.device), mapped)


@kernel(permute_channels, *IMAGES_AND_VIDEOS)
def permute_channels_image(image: Tensor, permutation: Sequence[int]) -> Tensor:
    """Return (..., C, H, W) with channel ``permutation[c]`` in place c."""
    _check_permutation(permutation, image.shape[-3])
    return image[..., list(permutation), :, :]


@kernel(posterize, PIL_IMAGE)
def _posterize_image_pil(image: Image.Image, bits: int) -> Image.Image:
    return ImageOps.posterize(image, bits)


@kernel(solarize, PIL_IMAGE)
def _solarize_image_pil(image: Image.Image, threshold: int) -> Image.Image:
    return ImageOps.solarize(image, threshold=threshold)


@kernel(invert, PIL_IMAGE)
def _invert_image_pil(image: Image.Image) -> Image.Image:
    return ImageOps.invert(image)


@kernel(autocontrast, PIL_IMAGE)
def _autocontrast_image_pil(image: Image.Image) -> Image.Image:
    return ImageOps.autocontrast(image)


@kernel(equalize, PIL_IMAGE)
def _equalize_image_pil(image: Image.Image) -> Image.Image:
    return ImageOps.equalize(image)


@kernel(permute_channels, PIL_IMAGE)
def _permute_channels_image_pil(image: Image.Image, permutation: Sequence[int]) -> Image.Image:
    bands = image.split()
    _check_permutation(permutation, len(bands))
    return Image.merge(image.mode, [bands[place] for place in permutation])


def _check_permutation(permutation: Sequence[int], channels: int) -> None:
    if len(permutation) != channels:
        raise ValueError(
            f"permute_channels: Length of permutation does not match number of channels: "
            f"{len(permutation)} != {channels}"
        )


to_grayscale = rgb_to_grayscale
adjust_brightness_video = adjust_brightness_image
adjust_contrast_video = adjust_contrast_image
adjust_gamma_video = adjust_gamma_image
adjust_hue_video = adjust_hue_image
adjust_saturation_video = adjust_saturation_image
adjust_sharpness_video = adjust_sharpness_image
autocontrast_video = autocontrast_image
equalize_video = equalize_image
invert_video = invert_image
permute_channels_video = permute_channels_image
posterize_video = posterize_image
solarize_video = solarize_image


def check_factor(name: str, factor: float) -> None:
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative")


def _check_channels(op: str, image: Tensor) -> None:
    channels = image.shape[-3] if image.dim() >= 3 else 0
    if channels not in (1, 3):
        raise TypeError(
            f"{op}: Input image tensor can have 1 or 3 channels, permitted channel values are 1 or 3, (..., C, H, W); "
            f"got {tuple(image.shape)}"
        )


def in_floats(image: Tensor) -> Tensor:
    """Return an image as it is or in float32: arithmetic of bytes and numbers is slower than converting before."""
    return image if image.is_floating_point() else image.to(weft.float32)


def _floating(dtype: Any) -> Any:
    return dtype if dtype.is_floating_point else weft.float32
