"""Between PIL images, NumPy arrays and tensors; between the ranges and dtypes of pixel values."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

import weft
from weft import Tensor
from weft.vision.transforms.v2.functional._misc import normalize_image, to_dtype_image

__all__ = ["convert_image_dtype", "normalize", "pil_to_tensor", "to_pil_image", "to_tensor"]

# Modes of more than eight bits a channel; all others are read as uint8.
_MODE_DTYPES = {"I": np.int32, "I;16": np.int16, "I;16L": np.int16, "I;16B": np.int16, "F": np.float32}
_NATIVE_I16 = "I;16" if sys.byteorder == "little" else "I;16B"
_MODES_BY_CHANNELS = {2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}
_GREY_MODES = {"uint8": "L", "int16": _NATIVE_I16, "uint16": _NATIVE_I16, "int32": "I", "float32": "F"}


def to_tensor(pic: Image.Image | np.ndarray[Any, Any]) -> Tensor:
    """Convert a PIL image or an (H, W[, C]) array to a (C, H, W) tensor, 8-bit values scaled to 0..1.

    Parameters
    ----------
    pic : PIL image or numpy.ndarray
        An array of shape (H, W) is grey.

    Returns
    -------
    Tensor, shape (C, H, W)
        Of the default dtype with values 0..1 for 8-bit pictures and mode "1"; otherwise values and dtype are kept.

    Raises
    ------
    TypeError
        If ``pic`` is neither.
    ValueError
        If the array has not two or three axes.
    """
    if isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(f"to_tensor: pic should be 2/3 dimensional. Got {pic.ndim} dimensions")
        pixels = weft.from_numpy(np.array(np.atleast_3d(pic).transpose(2, 0, 1), order="C"))
    elif isinstance(pic, Image.Image):
        pixels = _pixels(pic)
    else:
        raise TypeError(f"to_tensor: pic should be PIL Image or ndarray, got {type(pic).__name__}")
    if pixels.dtype is weft.uint8:
        return pixels.to(weft.get_default_dtype()).div(255)
    return pixels


def pil_to_tensor(pic: Image.Image) -> Tensor:
    """Convert a PIL image to a (C, H, W) tensor of its own values, neither scaled nor cast.

    Raises
    ------
    TypeError
        If ``pic`` is no PIL image.
    """
    if not isinstance(pic, Image.Image):
        raise TypeError(f"pil_to_tensor: pic should be PIL Image, got {type(pic).__name__}")
    return _channels_first(np.array(pic))


def to_pil_image(pic: Tensor | np.ndarray[Any, Any], mode: str | None = None) -> Image.Image:
    """Convert a (C, H, W) tensor or an (H, W[, C]) array to a PIL image.

    Parameters
    ----------
    pic : Tensor or numpy.ndarray
        Of one to four channels. Floating values are from 0 to 1 and become 8-bit, unless ``mode`` is "F".
    mode : str, optional
        Pillow's name of the colour space; by default "L", "LA", "RGB", "RGBA" for 1 to 4 channels of 8 bits, and
        "I;16", "I", "F" for grey pictures of int16, int32, float32.

    Raises
    ------
    TypeError
        If ``pic`` is neither, or its dtype has no mode.
    ValueError
        If the shape, or ``mode`` for this number of channels, is wrong.

    Examples
    --------
    >>> image = to_pil_image(weft.zeros(3, 4, 6))
    >>> image.mode, image.size  # Pillow's sizes are width and height
    ('RGB', (6, 4))
    """
    values = _channels_last(pic, mode)
    channels = values.shape[2]
    if channels == 1:
        return _grey_image(values[:, :, 0], mode)
    allowed = _MODES_BY_CHANNELS[channels]
    if mode is not None and mode not in allowed:
        raise ValueError(f"to_pil_image: Only modes {list(allowed)} are supported for {channels}D inputs, got {mode!r}")
    if values.dtype != np.uint8:
        raise TypeError(
            f"to_pil_image: Input type {values.dtype} is not supported: pictures of {channels} channels must be 8-bit; "
            "convert it with convert_image_dtype(pic, weft.uint8)"
        )
    return _image_of_mode(values, mode or allowed[0])


def convert_image_dtype(image: Tensor, dtype: Any = weft.float32) -> Tensor:
    """Cast a tensor picture, with its values scaled to the new dtype's range.

    The range is 0..1 for floating dtypes, 0..the greatest value for integers.

    Parameters
    ----------
    image : Tensor
    dtype : dtype

    Raises
    ------
    RuntimeError
        If a floating picture is cast to integers that it cannot represent (float32 to int32, any to int64).

    Examples
    --------
    >>> convert_image_dtype(weft.tensor([0.0, 0.5, 1.0]), weft.uint8)
    tensor([  0, 127, 255], dtype=weft.uint8)
    """
    if not isinstance(image, Tensor):
        raise TypeError(f"convert_image_dtype: image must be a tensor, got {type(image).__name__}")
    return to_dtype_image(image.as_subclass(Tensor), dtype, scale=True)


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """Return ``(tensor - mean) / std``, with one mean and deviation for each channel.

    Parameters
    ----------
    tensor : Tensor, shape (..., C, H, W), floating
    mean, std : sequence of float, length C or 1
    inplace : bool, default False
        Overwrite ``tensor``.

    Raises
    ------
    TypeError
        If ``tensor`` is not a floating tensor.
    ValueError
        If it has fewer than three axes, or a deviation is 0.

    Examples
    --------
    >>> normalize(weft.tensor([[[0.25]], [[0.75]]]), mean=[0.5, 0.5], std=[0.25, 0.5]).flatten()
    tensor([-1.0000,  0.5000])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"normalize: tensor must be a tensor, got {type(tensor).__name__}; apply ToTensor first")
    normalized = normalize_image(tensor.as_subclass(Tensor), mean, std, inplace)
    if normalized.shape != tensor.shape:
        raise RuntimeError(f"normalize: {len(mean)} means and {len(std)} deviations for a tensor {tuple(tensor.shape)}")
    return normalized


def _channels_first(pixels: np.ndarray[Any, Any]) -> Tensor:
    """Return (H, W[, C]) as a contiguous tensor (C, H, W)."""
    return weft.from_numpy(np.ascontiguousarray(np.atleast_3d(pixels).transpose(2, 0, 1)))


def _pixels(pic: Image.Image) -> Tensor:
    """Return the values of a PIL image as (C, H, W), those of mode "1" as 0 and 255."""
    pixels = _channels_first(np.array(pic, _MODE_DTYPES.get(pic.mode, np.uint8)))
    return pixels * 255 if pic.mode == "1" else pixels


def _channels_last(pic: Any, mode: str | None) -> np.ndarray[Any, Any]:
    """Return the argument of `to_pil_image` as (H, W, C) with one to four channels."""
    if isinstance(pic, Tensor):
        if pic.dim() not in (2, 3):
            raise ValueError(
                f"to_pil_image: pic should be 2/3 dimensional. Got {pic.dim()} dimensions, wanted (C, H, W) or (H, W)"
            )
        pic = pic.unsqueeze(0) if pic.dim() == 2 else pic
        values = pic.detach().cpu().permute(1, 2, 0).numpy()
    elif isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(
                f"to_pil_image: pic should be 2/3 dimensional. Got {pic.ndim} dimensions, wanted (H, W) or (H, W, C)"
            )
        values = np.atleast_3d(pic)
    else:
        raise TypeError(f"to_pil_image: pic should be Tensor or ndarray, got {type(pic).__name__}")
    if np.issubdtype(values.dtype, np.floating) and mode != "F":
        values = (values * 255).astype(np.uint8)
    if not 1 <= values.shape[2] <= 4:
        raise ValueError(
            f"to_pil_image: pic should not have > 4 channels. Got {values.shape[2]} channels, wanted one to four"
        )
    return np.ascontiguousarray(values)


def _grey_image(values: np.ndarray[Any, Any], mode: str | None) -> Image.Image:
    """Return (H, W) values as a grey PIL image, in the mode that their dtype has."""
    expected = _GREY_MODES.get(values.dtype.name)
    if expected is None:
        raise TypeError(
            f"to_pil_image: Input type {values.dtype} is not supported: grey pictures can be {', '.join(_GREY_MODES)}; "
            "convert it with convert_image_dtype"
        )
    if mode is not None and mode != expected:
        raise ValueError(
            f"to_pil_image: Incorrect mode ({mode}) supplied for input type {values.dtype}. Should be {expected}"
        )
    if expected == _NATIVE_I16:
        values = values.view(np.uint16)  # Pillow knows these bits as unsigned only
    return Image.fromarray(values)


def _image_of_mode(values: np.ndarray[Any, Any], mode: str) -> Image.Image:
    """Return (H, W, C) bytes as a PIL image of ``mode``, channel for channel."""
    planes = [Image.fromarray(np.ascontiguousarray(values[:, :, channel])) for channel in range(values.shape[2])]
    return Image.merge(mode, planes)
