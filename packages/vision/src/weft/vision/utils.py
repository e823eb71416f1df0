"""Pictures for people: grids of images, image files, boxes drawn on images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import weft
from weft import Tensor

Color = str | tuple[int, int, int]


def make_grid(
    tensor: Tensor | Sequence[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Lay images of one size out in a grid, as one image.

    Parameters
    ----------
    tensor : Tensor or sequence of Tensor
        Images as (N, C, H, W), one image as (C, H, W) or (H, W), or a sequence of images of one shape.
        Images of one channel become grey images of three.
    nrow : int, default 8
        Images in a row; the grid has ``ceil(N / nrow)`` rows.
    padding : int, default 2
        Pixels between the images and around the grid.
    normalize : bool, default False
        Shift and scale the values to 0..1.
    value_range : (float, float), optional
        What becomes 0 and 1 with ``normalize``; by default the least and the greatest value.
    scale_each : bool, default False
        Take that range from each image by itself instead of from all of them.
    pad_value : float, default 0
        The value of the pixels of the padding.

    Returns
    -------
    Tensor, shape (C, rows * (H + padding) + padding, columns * (W + padding) + padding)
        A single image comes back without padding.

    Raises
    ------
    TypeError
        If ``tensor`` is neither a tensor nor a sequence of tensors, or ``value_range`` is no pair.

    Examples
    --------
    >>> tuple(make_grid(weft.zeros(10, 1, 8, 8), nrow=5).shape)
    (3, 22, 52)
    """
    images = _batch_of_images(tensor)
    if normalize:
        images = _normalized(images, value_range, scale_each)
    elif value_range is not None and not isinstance(value_range, tuple):
        raise TypeError(f"make_grid: value_range must be a tuple (least, greatest), got {value_range!r}")
    count, channels, height, width = images.shape
    if count == 1:
        return images[0]
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    step_down, step_right = height + padding, width + padding
    grid = images.new_full((channels, rows * step_down + padding, columns * step_right + padding), pad_value)
    for index in range(count):
        top = (index // columns) * step_down + padding
        left = (index % columns) * step_right + padding
        grid[:, top : top + height, left : left + width] = images[index]
    return grid


def save_image(
    tensor: Tensor | Sequence[Tensor],
    fp: str | Path | IO[bytes],
    format: str | None = None,
    **kwargs: Any,
) -> None:
    """Write an image, or a grid of images, to a file.

    Parameters
    ----------
    tensor : Tensor or sequence of Tensor
        Values 0..1, in one of the shapes that `make_grid` takes.
    fp : path or binary file
        Where to write; the name's ending chooses the format.
    format : str, optional
        Pillow's name of the format, needed for a file object.
    **kwargs
        Options of `make_grid`.
    """
    grid = make_grid(tensor, **kwargs).detach()
    pixels = grid.mul(255).add(0.5).clamp(0, 255).permute(1, 2, 0).to("cpu", weft.uint8).numpy()
    Image.fromarray(np.ascontiguousarray(pixels)).save(fp, format=format)


def draw_bounding_boxes(
    image: Tensor,
    boxes: Tensor,
    labels: Sequence[str | None] | None = None,
    colors: Sequence[Color] | Color | None = None,
    fill: bool = False,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
) -> Tensor:
    """Draw boxes, and their labels, on a copy of an RGB or grey image.

    Parameters
    ----------
    image : Tensor, shape (3, H, W) or (1, H, W)
        uint8, or floating with values 0..1.
    boxes : Tensor, shape (N, 4)
        Left, top, right, bottom, in pixels.
    labels : sequence of str or None, optional
        A text for each box.
    colors : colour or sequence of colours, optional
        A name such as "red", "#ff0000" or (255, 0, 0), for all boxes or one for each; by default distinct hues.
    fill : bool, default False
        Tint the inside of the boxes.
    width : int, default 1
        Of the line, in pixels.
    font : str, optional
        File name of a TrueType font; by default Pillow's own.
    font_size : int, optional
        In points, default 10.

    Returns
    -------
    Tensor, shape (3, H, W), of the dtype of image

    Raises
    ------
    ValueError
        If shapes, the number of labels or colours, or the corners of a box are wrong.
    """
    corners = _checked_boxes(image, boxes, labels)
    pixels = image.detach().cpu()
    if pixels.is_floating_point():
        pixels = pixels.mul(255).round().clamp(0, 255).to(weft.uint8)
    picture = Image.fromarray(np.ascontiguousarray(pixels.expand(3, -1, -1).permute(1, 2, 0).numpy()))
    draw = ImageDraw.Draw(picture, "RGBA" if fill else "RGB")
    letters = ImageFont.truetype(font, font_size or 10) if font else ImageFont.load_default(font_size or 10)
    for index, (box, color) in enumerate(zip(corners, _box_colors(colors, len(corners)), strict=True)):
        draw.rectangle(box, outline=color, width=width, fill=(*color, 100) if fill else None)
        label = None if labels is None else labels[index]
        if label is not None:
            draw.text((box[0] + width + 1, box[1] + width + 1), label, fill=color, font=letters)
    drawn = weft.from_numpy(np.array(picture)).permute(2, 0, 1).contiguous()
    return drawn.to(image.dtype) / 255 if image.is_floating_point() else drawn.to(image.dtype)


def _batch_of_images(tensor: Any) -> Tensor:
    """Return the argument of `make_grid` as (N, C, H, W) with at least three channels."""
    images = tensor if isinstance(tensor, Tensor) else None
    if images is None and isinstance(tensor, Sequence) and all(isinstance(image, Tensor) for image in tensor):
        images = weft.stack(list(tensor), dim=0)
    if images is None:
        raise TypeError(f"make_grid: expected a tensor or a sequence of tensors, got {type(tensor).__name__}")
    if not 2 <= images.dim() <= 4:
        raise ValueError(f"make_grid: expected (N, C, H, W), (C, H, W) or (H, W), got shape {tuple(images.shape)}")
    if images.dim() == 2:
        images = images.unsqueeze(0)
    if images.dim() == 3:
        images = images.unsqueeze(0)
    return weft.cat([images] * 3, dim=1) if images.shape[1] == 1 else images


def _normalized(images: Tensor, value_range: tuple[float, float] | None, scale_each: bool) -> Tensor:
    """Return the images with ``value_range``, or their own range, mapped to 0..1."""
    if value_range is not None and not isinstance(value_range, tuple):
        raise TypeError(f"make_grid: value_range must be a tuple (least, greatest), got {value_range!r}")
    if scale_each:
        return weft.stack([_normalized(image, value_range, scale_each=False) for image in images])
    low, high = value_range or (float(images.min()), float(images.max()))
    return images.clamp(low, high).sub(low).div(max(high - low, 1e-5))


def _checked_boxes(image: Tensor, boxes: Tensor, labels: Sequence[str | None] | None) -> list[tuple[float, ...]]:
    """Return the boxes as tuples, after every check on the arguments of `draw_bounding_boxes`."""
    if image.dim() != 3 or image.shape[0] not in (1, 3):
        raise ValueError(f"draw_bounding_boxes: image must be (3, H, W) or (1, H, W), got {tuple(image.shape)}")
    if boxes.numel() and (boxes.dim() != 2 or boxes.shape[1] != 4):
        raise ValueError(f"draw_bounding_boxes: boxes must be (N, 4), got {tuple(boxes.shape)}")
    corners = [tuple(box) for box in boxes.tolist()] if boxes.numel() else []
    for left, top, right, bottom in corners:
        if left > right or top > bottom:
            raise ValueError(
                f"draw_bounding_boxes: boxes are (left, top, right, bottom), got ({left}, {top}, {right}, {bottom}): "
                "the left edge must not be right of the right one, nor the top below the bottom"
            )
    if labels is not None and len(labels) != len(corners):
        raise ValueError(f"draw_bounding_boxes: {len(labels)} labels for {len(corners)} boxes; pass one for each box")
    return corners


def _box_colors(colors: Sequence[Color] | Color | None, count: int) -> list[tuple[int, ...]]:
    """Return one RGB triple for each of ``count`` boxes."""
    from PIL import ImageColor

    if colors is None:
        hues = [360 * index / max(count, 1) for index in range(count)]
        return [ImageColor.getrgb(f"hsl({hue:.0f}, 90%, 50%)") for hue in hues]
    chosen: list[Any] = list(colors) if isinstance(colors, list) else [colors] * count
    if len(chosen) < count:
        raise ValueError(f"draw_bounding_boxes: {len(chosen)} colors for {count} boxes; pass one for each, or one")
    return [ImageColor.getrgb(c) if isinstance(c, str) else tuple(c) for c in chosen[:count]]
