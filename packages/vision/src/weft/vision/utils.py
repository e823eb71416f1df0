"""Pictures for people: grids of images, image files, boxes, masks, key points and flow drawn as images."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFont

import weft
from weft import Tensor

__all__ = [
    "draw_bounding_boxes",
    "draw_keypoints",
    "draw_segmentation_masks",
    "flow_to_image",
    "make_grid",
    "save_image",
]

Color = str | tuple[int, int, int]
Colors = Sequence[Color] | Color | None


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


@weft.no_grad()
def draw_bounding_boxes(
    image: Tensor,
    boxes: Tensor,
    labels: Sequence[str | None] | None = None,
    colors: Colors = None,
    fill: bool | None = False,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
    label_colors: Colors = None,
    label_background_colors: Colors = None,
    fill_labels: bool = False,
) -> Tensor:
    """Draw boxes, and their labels, on a copy of an RGB or grey image.

    Parameters
    ----------
    image : Tensor, shape (3, H, W) or (1, H, W)
        uint8, or floating with values 0..1.
    boxes : Tensor, shape (N, 4) or (N, 8)
        Left, top, right, bottom, in pixels; or the four corners of rotated boxes, whose first edge is dashed.
    labels : sequence of str or None, optional
        A text for each box.
    colors : colour or list of colours, optional
        A name such as "red", "#ff0000" or (255, 0, 0), for all boxes or one for each; by default of a palette.
    fill : bool, default False
        Tint the inside of the boxes.
    width : int, default 1
        Of the line, in pixels.
    font : str, optional
        File name of a TrueType font; by default Pillow's own.
    font_size : int, optional
        In points, default 10; for a font of one's own.
    label_colors : colour or list of colours, optional
        Of the texts: by default those of the boxes, or black if ``fill_labels``.
    label_background_colors : colour or list of colours, optional
        By default those of the boxes.
    fill_labels : bool, default False
        Fill the background of the texts.

    Returns
    -------
    Tensor, shape (3, H, W), of the dtype of image
        The image itself, with a warning, where there is no box.

    Raises
    ------
    TypeError
        If ``image`` is no tensor.
    ValueError
        If shapes, dtypes, the number of labels or colours, or the corners of a box are wrong.
    """
    _check_image("draw_bounding_boxes", image, channels=(1, 3))
    count = _check_boxes(boxes, labels)
    if not count:
        warnings.warn("boxes doesn't contain any box. No box was drawn", stacklevel=3)
        return image
    outlines = _parse_colors(colors, count)
    texts = _parse_colors(label_colors or "black", count) if label_colors or fill_labels else outlines
    backgrounds = _parse_colors(label_background_colors, count) if label_background_colors else outlines
    letters = _font(font, font_size)
    picture = _to_picture(image.expand(3, -1, -1))
    draw = ImageDraw.Draw(picture, "RGBA" if fill else None)
    for index, corners in enumerate(boxes.to(weft.int64).tolist()):
        inside = (*outlines[index], 100) if fill else None
        (_draw_rotated if len(corners) == 8 else _draw_upright)(draw, corners, outlines[index], inside, width)
        label = None if labels is None else labels[index]
        if label is not None:
            place = corners[0] + width + 1, corners[1] + width + 1
            if fill_labels:
                left, top, right, bottom = draw.textbbox(place, label, font=letters)
                draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=backgrounds[index])
            draw.text(place, label, fill=texts[index], font=letters)
    return _from_picture(picture, image.dtype)


@weft.no_grad()
def draw_segmentation_masks(image: Tensor, masks: Tensor, alpha: float = 0.8, colors: Colors = None) -> Tensor:
    """Tint the pixels of masks on a copy of an RGB image; where masks overlap it gets darker.

    Parameters
    ----------
    image : Tensor, shape (3, H, W)
        uint8, or floating with values 0..1.
    masks : Tensor of bool, shape (N, H, W) or (H, W)
    alpha : float, default 0.8
        From 0, where the masks are not seen, to 1, where nothing else is.
    colors : colour or list of colours, optional
        For all masks or one for each; by default of a palette.

    Returns
    -------
    Tensor, shape (3, H, W), of the dtype of image
        The image itself, with a warning, where there is no mask.

    Raises
    ------
    TypeError
        If ``image`` is no tensor.
    ValueError
        If shapes, dtypes or the number of colours are wrong.

    Examples
    --------
    >>> image, mask = weft.zeros(3, 1, 2), weft.tensor([[True, False]])
    >>> draw_segmentation_masks(image, mask, alpha=0.5, colors="red")[0]
    tensor([[0.5000, 0.0000]])
    """
    _check_image("draw_segmentation_masks", image, channels=(3,))
    masks = masks[None] if masks.ndim == 2 else masks
    if masks.ndim != 3:
        raise ValueError(f"masks must be of shape (H, W) or (batch_size, H, W), got {tuple(masks.shape)}")
    if masks.dtype is not weft.bool:
        raise ValueError(f"The masks must be of dtype bool. Got {masks.dtype}")
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError(
            "The image and the masks must have the same height and width, got "
            f"{tuple(image.shape[-2:])} and {tuple(masks.shape[-2:])}"
        )
    if not len(masks):
        warnings.warn("masks doesn't contain any mask. No mask was drawn", stacklevel=3)
        return image
    drawn = image.detach().clone()
    scale = 255 if image.is_floating_point() else 1
    for mask, color in zip(masks, _parse_colors(colors, len(masks))):
        tint = weft.tensor([value / scale for value in color], dtype=image.dtype, device=image.device)
        drawn = weft.where(mask, tint[:, None, None], drawn)
    drawn = weft.where(masks.sum(0) > 1, 0, drawn)
    return (image * (1 - alpha) + drawn * alpha).to(image.dtype)


@weft.no_grad()
def draw_keypoints(
    image: Tensor,
    keypoints: Tensor,
    connectivity: Sequence[tuple[int, int]] | None = None,
    colors: Color | None = None,
    radius: int = 2,
    width: int = 3,
    visibility: Tensor | None = None,
) -> Tensor:
    """Draw key points, and lines between them, on a copy of an RGB image.

    Parameters
    ----------
    image : Tensor, shape (3, H, W)
        uint8, or floating with values 0..1.
    keypoints : Tensor, shape (N, K, 2)
        x and y of the points of each instance.
    connectivity : sequence of (int, int), optional
        Which points of an instance to join.
    colors : colour, optional
        Of the points.
    radius, width : int
        Of points and lines, in pixels.
    visibility : Tensor, shape (N, K) or (N, K, 1), optional
        What is not visible is not drawn, nor lines from there.

    Returns
    -------
    Tensor, shape (3, H, W), of the dtype of image

    Raises
    ------
    TypeError
        If ``image`` is no tensor.
    ValueError
        If shapes or dtypes are wrong.
    """
    _check_image("draw_keypoints", image, channels=(3,))
    if keypoints.ndim != 3:
        raise ValueError(f"keypoints must be of shape (num_instances, K, 2), got {tuple(keypoints.shape)}")
    if visibility is None:
        visibility = weft.ones(keypoints.shape[:-1], dtype=weft.bool)
    visibility = visibility.squeeze(-1) if visibility.ndim == 3 else visibility
    if visibility.ndim != 2:
        raise ValueError(f"visibility must be of shape (num_instances, K), got {tuple(visibility.shape)}")
    if visibility.shape != keypoints.shape[:-1]:
        raise ValueError(
            "keypoints and visibility must have the same dimensionality for num_instances and K, "
            f"got {tuple(keypoints.shape)} and {tuple(visibility.shape)}"
        )
    picture = _to_picture(image)
    draw = ImageDraw.Draw(picture)
    for points, seen in zip(keypoints.to(weft.int64).tolist(), visibility.bool().tolist()):
        for (x, y), visible in zip(points, seen):
            if visible:
                draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colors, outline=None, width=0)
        for start, end in connectivity or ():
            if seen[start] and seen[end]:
                draw.line((tuple(points[start]), tuple(points[end])), width=width)
    return _from_picture(picture, image.dtype)


# What the colours of a flow's directions go over to, and in how many steps: red, yellow, green, cyan, blue, magenta.
STEPS = (15, 6, 4, 11, 13, 6)
HUES = ((255, 0, 0), (255, 255, 0), (0, 255, 0), (0, 255, 255), (0, 0, 255), (255, 0, 255))


@weft.no_grad()
def flow_to_image(flow: Tensor) -> Tensor:
    """Show an optical flow: directions as hues, and what is longer in stronger colours.

    Parameters
    ----------
    flow : Tensor of float32, shape (N, 2, H, W) or (2, H, W)
        How far each pixel moves to the right and down.

    Returns
    -------
    Tensor of uint8, shape (N, 3, H, W) or (3, H, W)
        The longest of all is shown in full colour.

    Raises
    ------
    ValueError
        For another shape or dtype.

    References
    ----------
    Baker et al., A Database and Evaluation Methodology for Optical Flow, 2007.

    Examples
    --------
    >>> flow_to_image(weft.tensor([1.0, 0.0]).reshape(2, 1, 1)).flatten().tolist()  # to the right
    [255, 0, 0]
    """
    if flow.dtype is not weft.float32:
        raise ValueError(f"Flow should be of dtype torch.float, got {flow.dtype}.")
    if flow.ndim not in (3, 4) or flow.shape[-3] != 2:
        raise ValueError(f"Input flow should have shape (2, H, W) or (N, 2, H, W), got {tuple(flow.shape)}.")
    longest = flow.square().sum(-3).sqrt().max()
    flow = flow / (longest + weft.finfo(flow.dtype).eps)
    length = flow.square().sum(-3).sqrt()
    x, y = flow.unbind(-3)
    wheel = _color_wheel().to(flow.device)
    place = (weft.atan2(-y.double(), -x.double()).float() / math.pi + 1) / 2 * (len(wheel) - 1)
    first = place.floor().long()
    share = (place - first).unsqueeze(-1)
    hue = (1 - share) * wheel[first] + share * wheel[(first + 1) % len(wheel)]
    color = 1 - length.unsqueeze(-1) * (1 - hue)  # (..., H, W, 3)
    return (255 * color).floor().to(weft.uint8).movedim(-1, -3).contiguous()


def _color_wheel() -> Tensor:
    """The hues of all directions, (55, 3), from 0 to 1: in each span one channel rises or falls."""
    parts = []
    for hue, following, count in zip(HUES, (*HUES[1:], HUES[0]), STEPS):
        change = (255 * weft.arange(count) / count).floor()
        signs = weft.tensor([(b > a) - (b < a) for a, b in zip(hue, following)])
        parts.append(weft.tensor(hue) + signs * change[:, None])
    return weft.cat(parts) / 255.0


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


def _check_image(name: str, image: Any, channels: tuple[int, ...]) -> None:
    """The image that is drawn on is one, of bytes or floats."""
    if not isinstance(image, Tensor):
        raise TypeError(f"{name}: The image must be a tensor. Tensor expected, got {type(image)}")
    if image.dtype is not weft.uint8 and not image.is_floating_point():
        raise ValueError(f"{name}: The image dtype must be uint8 or float, got {image.dtype}")
    if image.ndim != 3:
        raise ValueError(
            f"{name}: Pass individual images, not batches; image must be (C, H, W), got {tuple(image.shape)}"
        )
    if image.shape[0] not in channels:
        kinds = "Only grayscale and RGB images are supported" if 1 in channels else "Pass an RGB image"
        raise ValueError(f"{name}: {kinds}; got {image.shape[0]} channels")


def _check_boxes(boxes: Tensor, labels: Sequence[str | None] | None) -> int:
    """The number of boxes, each of which has a label if there are any."""
    if boxes.ndim != 2 or boxes.shape[1] not in (4, 8):
        raise ValueError(f"draw_bounding_boxes: boxes must be (N, 4) or (N, 8), got {tuple(boxes.shape)}")
    if boxes.shape[1] == 4 and (boxes[:, :2] > boxes[:, 2:]).any():
        raise ValueError(
            "draw_bounding_boxes: Boxes need to be in (xmin, ymin, xmax, ymax) format: the left edge must not be right "
            "of the right one, nor the top below the bottom. Use ops.box_convert to convert them"
        )
    if len(boxes) and labels is not None and len(labels) != len(boxes):
        raise ValueError(
            f"draw_bounding_boxes: Number of boxes ({len(boxes)}) and labels ({len(labels)}) mismatch. "
            "Please specify labels for each box."
        )
    return len(boxes)


def _parse_colors(colors: Any, count: int) -> list[tuple[int, ...]]:
    """One RGB triple for each of ``count`` things."""
    if colors is None:
        return _generate_color_palette(count)
    if isinstance(colors, list):
        if len(colors) < count:
            raise ValueError(
                f"Number of colors must be equal or larger than the number of objects, but got {len(colors)} < {count}."
            )
    elif not isinstance(colors, (tuple, str)):
        raise ValueError(f"`colors` must be a tuple or a string, or a list thereof, but got {colors}.")
    elif isinstance(colors, tuple) and len(colors) != 3:
        raise ValueError(f"If passed as tuple, colors should be an RGB triplet, but got {colors}.")
    else:
        colors = [colors] * count
    return [ImageColor.getrgb(color) if isinstance(color, str) else tuple(color) for color in colors]


def _generate_color_palette(num_objects: int) -> list[tuple[int, ...]]:
    return [tuple(index * step % 255 for step in (2**25 - 1, 2**15 - 1, 2**21 - 1)) for index in range(num_objects)]


def _font(font: str | None, font_size: int | None) -> Any:
    if font is not None:
        return ImageFont.truetype(font, font_size or 10)
    if font_size is not None:
        warnings.warn("Argument 'font_size' will be ignored since 'font' is not set.", stacklevel=4)
    return ImageFont.load_default()


def _to_picture(image: Tensor) -> Image.Image:
    """A PIL image of (3, H, W), which is drawn on."""
    from weft.vision.transforms.v2 import functional as F

    picture: Image.Image = F.to_pil_image(F.to_dtype(image.detach(), weft.uint8, scale=True))
    return picture


def _from_picture(picture: Image.Image, dtype: Any) -> Tensor:
    """A tensor of what was drawn on."""
    from weft.vision.transforms.v2 import functional as F

    drawn: Tensor = F.to_dtype(F.pil_to_tensor(picture), dtype, scale=True)
    return drawn


def _draw_upright(draw: Any, corners: Sequence[int], color: Any, inside: Any, width: int) -> None:
    draw.rectangle(corners, outline=color, width=width, fill=inside)


def _draw_rotated(draw: Any, corners: Sequence[int], color: Any, inside: Any, width: int) -> None:
    """Four edges, of which the first is dashed: it is the upper one of the box that is not turned."""
    points = list(zip(corners[::2], corners[1::2]))
    _draw_dashes(draw, points[0], points[1], color, width)
    for index in (1, 2, 3):
        draw.line((points[index], points[(index + 1) % 4]), width=width, fill=color)
    draw.polygon(list(corners), fill=inside, outline=None, width=0)


def _draw_dashes(draw: Any, start: tuple[float, float], end: tuple[float, float], color: Any, width: int) -> None:
    """Dashes of 5 pixels, 5 apart."""
    (x, y), left, is_dash = start, math.dist(start, end), True
    angle = math.atan2(end[1] - y, end[0] - x)
    while left > 0:
        length = min(left, 5)
        stop = x + math.cos(angle) * length, y + math.sin(angle) * length
        if is_dash:
            draw.line(((x, y), stop), fill=color, width=width)
        (x, y), left, is_dash = stop, left - length, not is_dash
