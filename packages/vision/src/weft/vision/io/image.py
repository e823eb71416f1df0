"""Pictures in files and in memory: decoded to tensors of bytes, and encoded. The codecs are Pillow's."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageSequence

import weft
from weft import Tensor

__all__ = [
    "ImageReadMode",
    "decode_avif",
    "decode_gif",
    "decode_heic",
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
    RGBA = RGB_ALPHA


Mode = ImageReadMode | str
UNCHANGED = ImageReadMode.UNCHANGED
FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "AVIF")  # of `decode_image`


# Files


def read_file(path: str | Path) -> Tensor:
    """Return a file's bytes, a uint8 tensor of one dim.

    Raises
    ------
    RuntimeError
        If there is no such file, or it is empty.
    """
    try:
        data = np.fromfile(path, dtype=np.uint8)
    except OSError as error:
        raise RuntimeError(f"read_file: [Errno {error.errno}] {error.strerror}: '{path}'") from error
    if not data.size:
        raise RuntimeError(f"read_file: Expected a non empty file, got '{path}'")
    return weft.from_numpy(data)


def write_file(filename: str | Path, data: Tensor) -> None:
    """Write the bytes of a uint8 tensor of one dim to a file.

    Raises
    ------
    RuntimeError
        If the tensor is another, or the file cannot be written.
    """
    content = bytes_of("write_file", data)
    try:
        Path(filename).write_bytes(content)
    except OSError as error:
        raise RuntimeError(f"write_file: [Errno {error.errno}] {error.strerror}: '{filename}'") from error


def bytes_of(name: str, data: Any) -> bytes:
    """The content of a file that is in a tensor.

    Raises
    ------
    RuntimeError
        If it is no contiguous tensor of bytes in one dimension on the CPU, or an empty one.
    """
    if data.dtype is not weft.uint8:
        raise RuntimeError(
            f"{name}: Input tensor must have uint8 data type. Expected a torch.uint8 tensor, got {data.dtype}"
        )
    if data.device.type != "cpu":
        raise RuntimeError(f"{name}: Input tensor must be on CPU, got one on {data.device}")
    if not data.is_contiguous():
        raise RuntimeError(f"{name}: Input tensor must be contiguous, got strides {data.stride()}")
    if data.ndim != 1 or not data.numel():
        raise RuntimeError(
            f"{name}: Input tensor must be 1-dimensional and non-empty. Expected a non empty 1-dimensional tensor, "
            f"got shape {tuple(data.shape)}"
        )
    content: bytes = data.numpy().tobytes()
    return content


# Decoding


def decode_image(
    input: Tensor | str | Path, mode: Mode = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """Decode a picture: a file's bytes or its path.

    Parameters
    ----------
    input : Tensor of uint8, shape (L,), or path
        JPEG, PNG, GIF, WebP or AVIF.
    mode : ImageReadMode or its name
        GIF files are RGB, whatever is asked for.
    apply_exif_orientation : bool
        Turn a JPEG or PNG picture upright, as the file's EXIF data say.

    Returns
    -------
    Tensor of uint8, shape (C, H, W)
        uint16 if it is a PNG file of 16 bits; (N, C, H, W) if it is a GIF file of several pictures.

    Raises
    ------
    RuntimeError
        If the file is damaged, or of another format.
    """
    data = input if isinstance(input, Tensor) else read_file(input)
    image = opened("decode_image", data, FORMATS)
    decode = {"JPEG": from_jpeg, "PNG": from_png, "GIF": from_gif}.get(str(image.format), from_others)
    return loaded("decode_image", decode, image, read_mode(mode), apply_exif_orientation)


def decode_png(input: Tensor, mode: Mode = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False) -> Tensor:
    """Decode a PNG file; see `decode_image`.

    One of 16 bits gives a uint16 tensor; one with a palette the colours' numbers, unless a mode is asked for.
    """
    if 0 < input.numel() < 8:  # bytes of the signature
        raise RuntimeError(f"decode_png: Content is too small for png: {input.numel()} bytes")
    image = opened("decode_png", input, ("PNG",))
    return loaded("decode_png", from_png, image, read_mode(mode), apply_exif_orientation)


def decode_jpeg(
    input: Tensor | list[Tensor],
    mode: Mode = ImageReadMode.UNCHANGED,
    device: Any = "cpu",
    apply_exif_orientation: bool = False,
) -> Any:
    """Decode a JPEG file, or a list of them; see `decode_image`.

    Parameters
    ----------
    input : Tensor of uint8, shape (L,), or list of them
    mode : ImageReadMode or its name
        JPEG has no alpha.
    device : device
        Where the pictures are to be.
    apply_exif_orientation : bool

    Returns
    -------
    Tensor of uint8, shape (C, H, W), or list of them

    Raises
    ------
    ValueError
        If the list is empty or has other things, or a tensor is on a device.
    RuntimeError
        If a file is damaged or no JPEG file, or for a mode with alpha.
    """
    files = input if isinstance(input, list) else [input]
    if not files:
        raise ValueError("decode_jpeg: Input list must contain at least one element")
    if not all(isinstance(each, Tensor) for each in files):
        raise ValueError("decode_jpeg: All elements of the input list must be tensors.")
    if any(each.device.type != "cpu" for each in files):
        raise ValueError("decode_jpeg: the input must be on the CPU, whatever the device of the result")
    channels = read_mode(mode)
    images = [opened("decode_jpeg", each, ("JPEG",)) for each in files]
    found = [loaded("decode_jpeg", from_jpeg, each, channels, apply_exif_orientation).to(device) for each in images]
    return found if isinstance(input, list) else found[0]


def decode_webp(input: Tensor, mode: Mode = ImageReadMode.UNCHANGED) -> Tensor:
    """Decode a WebP file; see `decode_image`. It stays in colour, with a warning, if gray is asked for."""
    return loaded("decode_webp", from_others, opened("decode_webp", input, ("WEBP",)), read_mode(mode))


def decode_avif(input: Tensor, mode: Mode = ImageReadMode.UNCHANGED) -> Tensor:
    """Decode an AVIF file, with 8 bits; see `decode_webp`."""
    return loaded("decode_avif", from_others, opened("decode_avif", input, ("AVIF",)), read_mode(mode))


def decode_heic(input: Tensor, mode: Mode = ImageReadMode.UNCHANGED) -> Tensor:
    """Decode a HEIC file; see `decode_webp`.

    Raises
    ------
    RuntimeError
        Also if the package ``pillow-heif`` is missing.
    """
    try:
        import pillow_heif
    except ImportError as error:
        raise RuntimeError("decode_heic: Pillow has no HEIC codec; pip install pillow-heif brings one") from error
    pillow_heif.register_heif_opener()
    return loaded("decode_heic", from_others, opened("decode_heic", input, ("HEIF",)), read_mode(mode))


def decode_gif(input: Tensor) -> Tensor:
    """Decode a GIF file: (3, H, W), or (N, 3, H, W) if it has several pictures.

    Raises
    ------
    RuntimeError
        If the file is damaged or no GIF file.
    """
    return loaded("decode_gif", from_gif, opened("decode_gif", input, ("GIF",)), ImageReadMode.RGB)


def read_image(path: str | Path, mode: Mode = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False) -> Tensor:
    """Decode the picture in a file: see `decode_image`."""
    return decode_image(read_file(path), mode, apply_exif_orientation)


def read_mode(mode: Mode) -> ImageReadMode:
    return ImageReadMode[mode.upper()] if isinstance(mode, str) else mode


def opened(name: str, data: Tensor, formats: Sequence[str]) -> Image.Image:
    """Find out what is in a file, which must be of one of the formats."""
    content = bytes_of(name, data)
    try:
        return Image.open(io.BytesIO(content), formats=list(formats))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        refusal = f"Out of bound read in {name}" if "Truncated" in str(error) else REFUSALS[name]
        raise RuntimeError(f"{name}: {refusal}: {error}") from error


# What is said of a file that is of none of a function's formats: what torchvision's codecs say.
REFUSALS = {
    "decode_png": "Content is not png",
    "decode_jpeg": "Not a JPEG file",
    "decode_gif": "Not a GIF file, DGifOpenFileName() failed - 103",
    "decode_webp": "Not a WebP file, WebPGetFeatures failed.",
    "decode_avif": "Not an AVIF file, BMFF parsing failed",
    "decode_heic": "Not a HEIC file, Invalid input: No 'ftyp' box",
    "decode_image": f"Unsupported image file, not one of {', '.join(FORMATS)}",
}


def loaded(name: str, decode: Any, image: Image.Image, *options: Any) -> Tensor:
    """Decode a picture, and put its channels first; in memory they stay last, as torchvision's do."""
    try:
        pixels = decode(image, *options)
    except (OSError, SyntaxError, ValueError, IndexError, EOFError) as error:  # what Pillow raises for damaged files
        cut = "truncated" in str(error)
        what = "Image is incomplete or truncated" if cut else "Unsupported marker type, or other damage"
        raise RuntimeError(f"{name}: {what}: {error}") from error
    return weft.from_numpy(np.moveaxis(np.require(pixels, requirements=["C", "W"]), -1, -3))


def from_jpeg(image: Image.Image, mode: ImageReadMode, upright: bool) -> Any:
    """The pixels (H, W, C) of a JPEG file."""
    if mode in (ImageReadMode.GRAY_ALPHA, ImageReadMode.RGB_ALPHA):
        raise RuntimeError(f"The provided mode is not supported for JPEG files: {mode.name}")
    if mode is ImageReadMode.GRAY:
        image.draft("L", None)  # the luma as it is in the file
    orientation = image.getexif().get(ORIENTATION, 1) if upright else 1
    if mode is not UNCHANGED:
        pixels = pixels_of(image.convert("L" if mode is ImageReadMode.GRAY else "RGB"))
    elif image.mode == "CMYK":
        pixels = 255 - pixels_of(image)  # Pillow has inverted them
    else:
        pixels = pixels_of(image)
    return upright_pixels(pixels, orientation)


def from_png(image: Image.Image, mode: ImageReadMode, upright: bool) -> Any:
    """The pixels (H, W, C) of a PNG file; a transparent colour stays what it is, unless it is one of a palette."""
    pixels = sixteen_bits(image)
    if pixels is None:
        colors = "P" if mode is UNCHANGED else "RGBA" if "transparency" in image.info else "RGB"
        pixels = pixels_of(image.convert({"1": "L", "P": colors}.get(image.mode, image.mode)))
    if upright:
        pixels = upright_pixels(pixels, image.getexif().get(ORIENTATION, 1))
    return pixels if mode is UNCHANGED else with_channels(pixels, mode)


def sixteen_bits(image: Any) -> Any:
    """The pixels of a PNG file of 16 bits, in uint16; None of another.

    Where there are several channels, Pillow keeps the upper bytes alone. Two channels have as many bytes as four of
    8 bits, and are read as these; of colours the lower bytes are read in a second pass.
    """
    layout = image.tile[0].args if image.tile else ""
    if layout == "I;16B":
        return pixels_of(image)
    if layout == "LA;16B":
        image.tile = [image.tile[0]._replace(args="RGBA")]
        pixels: Any = np.array(image)
        return pixels.view(">u2").astype(np.uint16)
    if layout not in ("RGB;16B", "RGBA;16B"):
        return None
    again = Image.open(io.BytesIO(image.fp.getbuffer()), formats=["PNG"])
    again.tile = [again.tile[0]._replace(args=layout.replace("16B", "16L"))]
    return np.asarray(image).astype(np.uint16) << 8 | np.asarray(again)


def with_channels(pixels: Any, mode: ImageReadMode) -> Any:
    """Pixels with the channels of a mode; gray by libpng's whole numbers, opaque where there was no alpha."""
    if pixels.shape[-1] in (2, 4):
        colors, alpha = pixels[..., :-1], pixels[..., -1:]
    else:
        colors, alpha = pixels, np.full_like(pixels[..., :1], np.iinfo(pixels.dtype).max)
    if mode in (ImageReadMode.RGB, ImageReadMode.RGB_ALPHA):
        colors = np.broadcast_to(colors, (*colors.shape[:-1], 3))
    elif colors.shape[-1] == 3:
        red, green, blue = np.moveaxis(colors.astype(np.int64), -1, 0)
        rounding = 1 << 14 if pixels.dtype == np.uint16 else 0
        gray = (9794 * red + 19234 * green + 3740 * blue + rounding) >> 15
        gray = np.where((red == green) & (green == blue), red, gray)
        colors = gray.astype(pixels.dtype)[..., None]
    has_alpha = mode in (ImageReadMode.GRAY_ALPHA, ImageReadMode.RGB_ALPHA)
    return np.concatenate([colors, alpha], -1) if has_alpha else colors


def from_gif(image: Image.Image, *options: Any) -> Any:
    """The pixels (H, W, 3) of a GIF file, or (N, H, W, 3)."""
    frames = np.stack([np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)])
    return frames[0] if len(frames) == 1 else frames


def from_others(image: Image.Image, mode: ImageReadMode, *options: Any) -> Any:
    """The pixels (H, W, C) of a file that has colours, with or without alpha."""
    if mode in (ImageReadMode.GRAY, ImageReadMode.GRAY_ALPHA):
        warnings.warn(f"{image.format} files are decoded in colour; the mode {mode.name} is not followed", stacklevel=5)
        mode = UNCHANGED
    return pixels_of(image if mode is UNCHANGED else image.convert(PIL_MODES[mode]))


PIL_MODES = {ImageReadMode.RGB: "RGB", ImageReadMode.RGB_ALPHA: "RGBA"}
ORIENTATION = 0x0112  # EXIF's number of the tag


def upright_pixels(pixels: Any, orientation: int) -> Any:
    """Pixels (H, W, C) turned as an EXIF orientation says: 2 to 4 flip, from 5 on rows and columns are exchanged."""
    if orientation in (5, 6, 7, 8):
        pixels = pixels.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return pixels[:, ::-1] if orientation in (2, 3, 6, 7) else pixels


def pixels_of(image: Image.Image) -> Any:
    """(H, W, C)."""
    pixels = np.asarray(image)
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


# Encoding


def encode_png(input: Tensor, compression_level: int = 6) -> Tensor:
    """Encode a picture as PNG.

    Parameters
    ----------
    input : Tensor of uint8, shape (1, H, W) or (3, H, W)
    compression_level : int
        0 to 9.

    Returns
    -------
    Tensor of uint8, shape (L,)

    Raises
    ------
    RuntimeError
        For another tensor or level.
    """
    if not 0 <= compression_level <= 9:
        raise RuntimeError(f"encode_png: Compression level should be between 0 and 9, got {compression_level}")
    return encoded("encode_png", input, "PNG", compress_level=compression_level)


def encode_jpeg(input: Tensor | list[Tensor], quality: int = 75) -> Any:
    """Encode a picture, or a list of them, as JPEG.

    Parameters
    ----------
    input : Tensor of uint8, shape (1, H, W) or (3, H, W), or list of them
    quality : int
        1 to 100.

    Returns
    -------
    Tensor of uint8, shape (L,), or list of them

    Raises
    ------
    ValueError
        For another quality or an empty list.
    RuntimeError
        For another tensor.
    """
    if not 1 <= quality <= 100:
        raise ValueError(f"encode_jpeg: Image quality should be a positive number between 1 and 100, got {quality}")
    if not isinstance(input, list):
        return encoded("encode_jpeg", input, "JPEG", quality=quality)
    if not input:
        raise ValueError("encode_jpeg requires at least one input tensor when a list is passed")
    return [encoded("encode_jpeg", each, "JPEG", quality=quality) for each in input]


def encoded(name: str, picture: Tensor, kind: str, **options: Any) -> Tensor:
    """Return the bytes of a picture's file."""
    if picture.dtype is not weft.uint8:
        raise RuntimeError(f"{name}: Input tensor dtype should be uint8, got {picture.dtype}")
    if picture.ndim != 3:
        raise RuntimeError(f"{name}: Input data should be a 3-dimensional tensor, got shape {tuple(picture.shape)}")
    if picture.shape[0] not in (1, 3):
        raise RuntimeError(f"{name}: The number of channels should be 1 or 3, got: {picture.shape[0]}")
    if 0 in picture.shape:
        raise RuntimeError(f"{name}: a picture must have pixels, got shape {tuple(picture.shape)}")
    pixels = picture.cpu().numpy()
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1))).save(
        buffer, kind, **options
    )
    return weft.frombuffer(bytearray(buffer.getvalue()), dtype=weft.uint8)


def write_png(input: Tensor, filename: str | Path, compression_level: int = 6) -> None:
    """Write a picture to a PNG file: see `encode_png`."""
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input: Tensor, filename: str | Path, quality: int = 75) -> None:
    """Write a picture to a JPEG file: see `encode_jpeg`."""
    write_file(filename, encode_jpeg(input, quality))
