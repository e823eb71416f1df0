"""Pictures in files and in memory: decoded to (C, H, W) tensors of bytes, and encoded. The codecs are Pillow's."""

from __future__ import annotations

import io
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

import weft
from weft import Tensor
from weft.vision.transforms.functional import pil_to_tensor, to_pil_image

__all__ = [
    "ImageReadMode",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "encode_jpeg",
    "encode_png",
    "read_file",
    "read_image",
    "write_file",
    "write_jpeg",
    "write_png",
]


class ImageReadMode(Enum):
    """The channels of a decoded picture; ``UNCHANGED`` keeps those of the file."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


PIL_MODES = {
    ImageReadMode.GRAY: "L",
    ImageReadMode.GRAY_ALPHA: "LA",
    ImageReadMode.RGB: "RGB",
    ImageReadMode.RGB_ALPHA: "RGBA",
}


def read_file(path: Any) -> Tensor:
    """Return a file's bytes, a uint8 tensor of one dim."""
    return weft.from_numpy(np.fromfile(path, dtype=np.uint8))


def write_file(filename: Any, data: Tensor) -> None:
    """Write the bytes of a uint8 tensor of one dim to a file."""
    Path(filename).write_bytes(data.numpy().tobytes())


def decode_image(
    input: Any, mode: ImageReadMode | str = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """Decode a picture: a file's bytes or its path.

    Parameters
    ----------
    input : Tensor of uint8, shape (L,), or path
    mode : ImageReadMode or its name
    apply_exif_orientation : bool
        Turn the picture upright, as the file's EXIF data say.

    Returns
    -------
    Tensor of uint8, shape (C, H, W)

    Raises
    ------
    RuntimeError
        If Pillow knows no such format.
    """
    source = io.BytesIO(input.numpy().tobytes()) if isinstance(input, Tensor) else input
    mode = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    try:
        picture: Image.Image = Image.open(source)
        picture.load()
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise RuntimeError(f"decode_image: no picture in a format that Pillow decodes: {error}") from error
    if apply_exif_orientation:
        picture = ImageOps.exif_transpose(picture)
    return pil_to_tensor(picture.convert(mode_of(picture, mode)))


def mode_of(picture: Image.Image, mode: ImageReadMode) -> str:
    """PIL's name of the mode; colours of a palette and single bits are written out."""
    if mode is not ImageReadMode.UNCHANGED:
        return PIL_MODES[mode]
    if picture.mode == "P":
        return "RGBA" if "transparency" in picture.info else "RGB"
    return {"1": "L"}.get(picture.mode, picture.mode)


decode_jpeg = decode_png = decode_webp = decode_gif = decode_image


def read_image(
    path: Any, mode: ImageReadMode | str = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """Decode the picture in a file: see `decode_image`."""
    return decode_image(Path(path), mode, apply_exif_orientation)


def encode_png(input: Tensor, compression_level: int = 6) -> Tensor:
    """Return the bytes of a PNG file of a (C, H, W) picture of bytes; ``compression_level`` is 0 to 9."""
    return encoded(input, "PNG", compress_level=compression_level)


def encode_jpeg(input: Tensor, quality: int = 75) -> Tensor:
    """Return the bytes of a JPEG file of a (C, H, W) picture of bytes; ``quality`` is 1 to 100."""
    return encoded(input, "JPEG", quality=quality)


def encoded(picture: Tensor, kind: str, **options: Any) -> Tensor:
    """Return the bytes of a picture's file."""
    buffer = io.BytesIO()
    to_pil_image(picture).save(buffer, kind, **options)
    return weft.frombuffer(bytearray(buffer.getvalue()), dtype=weft.uint8)


def write_png(input: Tensor, filename: Any, compression_level: int = 6) -> None:
    """Write a picture to a PNG file: see `encode_png`."""
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input: Tensor, filename: Any, quality: int = 75) -> None:
    """Write a picture to a JPEG file: see `encode_jpeg`."""
    write_file(filename, encode_jpeg(input, quality))
