"""Warped pictures, boxes and points: affine, rotated, in perspective, elastic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import PIL.Image

import weft
from weft import Tensor
from weft.vision import tv_tensors
from weft.vision.transforms.functional._padding import image_fill
from weft.vision.transforms.functional._sizes import pil_modes_mapping
from weft.vision.transforms.functional._types import InterpolationMode
from weft.vision.transforms.functional._warping import (
    affine_grid,
    affine_matrix,
    checked_fill,
    grid_dtype,
    identity_grid,
    perspective_coefficients,
    perspective_grid,
    rotated_size,
    warp,
)
from weft.vision.transforms.functional.conversion import pil_to_tensor, to_pil_image
from weft.vision.transforms.v2.functional._boxes import warped_boxes
from weft.vision.transforms.v2.functional._meta import clamp_bounding_boxes, convert_bounding_box_format
from weft.vision.transforms.v2.functional._utils import (
    IMAGES_AND_VIDEOS,
    PIL_IMAGE,
    Fill,
    Interpolation,
    functional,
    interpolation_mode,
    kernel,
)
from weft.vision.tv_tensors import BoundingBoxFormat, is_rotated_bounding_format

__all__ = [
    "affine",
    "affine_bounding_boxes",
    "affine_image",
    "affine_keypoints",
    "affine_mask",
    "affine_video",
    "elastic",
    "elastic_bounding_boxes",
    "elastic_image",
    "elastic_keypoints",
    "elastic_mask",
    "elastic_transform",
    "elastic_video",
    "perspective",
    "perspective_bounding_boxes",
    "perspective_image",
    "perspective_keypoints",
    "perspective_mask",
    "perspective_video",
    "rotate",
    "rotate_bounding_boxes",
    "rotate_image",
    "rotate_keypoints",
    "rotate_mask",
    "rotate_video",
]

Canvas = tuple[int, int]
Points = Sequence[Sequence[int]] | None
Center = Sequence[float] | None

_NEAREST, _BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


@functional
def affine(
    inpt: Any,
    angle: float,
    translate: list[float],
    scale: float,
    shear: list[float],
    interpolation: Interpolation = InterpolationMode.NEAREST,
    fill: Fill = None,
    center: list[float] | None = None,
) -> Any:
    """Turn with the clock, scale, shear and shift: see `weft.vision.transforms.v2.RandomAffine`."""


@functional
def rotate(
    inpt: Any,
    angle: float,
    interpolation: Interpolation = InterpolationMode.NEAREST,
    expand: bool = False,
    center: list[float] | None = None,
    fill: Fill = None,
) -> Any:
    """Turn against the clock: see `weft.vision.transforms.v2.RandomRotation`."""


@functional
def perspective(
    inpt: Any,
    startpoints: Points,
    endpoints: Points,
    interpolation: Interpolation = InterpolationMode.BILINEAR,
    fill: Fill = None,
    coefficients: list[float] | None = None,
) -> Any:
    """Move four corners: see `weft.vision.transforms.v2.RandomPerspective`."""


@functional
def elastic(
    inpt: Any,
    displacement: Tensor,
    interpolation: Interpolation = InterpolationMode.BILINEAR,
    fill: Fill = None,
) -> Any:
    """Move each pixel by a displacement of its own: see `weft.vision.transforms.v2.ElasticTransform`."""


elastic_transform = elastic


def _mode_of_tensors(interpolation: Interpolation) -> str:
    mode = interpolation_mode(interpolation)
    if mode not in (_NEAREST, _BILINEAR):
        raise ValueError(f"Interpolation mode '{mode.value}' is unsupported with Tensor input")
    return mode.value


def _fill_of(image: Tensor, fill: Fill) -> list[float] | None:
    return checked_fill(fill, image.shape[-3] if image.ndim > 2 else 1)


def _homogeneous(points: Tensor) -> Tensor:
    """Return points (M, 2) as (x, y, 1)."""
    return weft.cat([points, weft.ones(len(points), 1, dtype=points.dtype, device=points.device)], -1)


# Affine


def _checked_affine(angle: Any, translate: Any, scale: Any, shear: Any, center: Any) -> tuple[Any, ...]:
    """Return angle, translate, scale, shear (x, y) and center as `affine_matrix` takes them.

    Raises
    ------
    TypeError, ValueError
        If one has the wrong type, length or sign.
    """
    if not isinstance(angle, (int, float)):
        raise TypeError(f"Argument angle should be int or float, got {type(angle).__name__}")
    if not isinstance(translate, (list, tuple)):
        raise TypeError(f"Argument translate should be a sequence, got {type(translate).__name__}")
    if len(translate) != 2:
        raise ValueError(f"Argument translate should be a sequence of length 2, got {translate}")
    if scale <= 0.0:
        raise ValueError(f"Argument scale should be positive, got {scale}")
    if not isinstance(shear, (int, float, list, tuple)):
        raise TypeError(f"Shear should be either a single value or a sequence of two values, got {shear!r}")
    if isinstance(shear, (int, float)):
        shear = (shear, 0.0)
    elif len(shear) == 1:
        shear = (shear[0], shear[0])
    if len(shear) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError(f"Argument center should be a sequence, got {type(center).__name__}")
    return angle, translate, scale, shear, center


def _from_middle(center: Center, image: Tensor) -> tuple[float, float]:
    """Return a center given in pixels by its distance from the middle of a picture."""
    return (0.0, 0.0) if center is None else (center[0] - image.shape[-1] * 0.5, center[1] - image.shape[-2] * 0.5)


def _in_pixels(center: Center, canvas_size: Sequence[int]) -> tuple[float, float]:
    """Return a center, by default the middle of the canvas."""
    height, width = canvas_size
    return (width * 0.5, height * 0.5) if center is None else (float(center[0]), float(center[1]))


def _affine_image(
    image: Tensor, matrix: list[float], mode: str, fill: Fill, new_size: tuple[int, int] | None = None
) -> Tensor:
    size = image.shape[-2], image.shape[-1]
    grid = affine_grid(matrix, size, new_size or size, grid_dtype(image), image.device)
    return warp(image, grid, mode, _fill_of(image, fill))


@kernel(affine, *IMAGES_AND_VIDEOS)
def affine_image(
    image: Tensor,
    angle: float,
    translate: list[float],
    scale: float,
    shear: list[float],
    interpolation: Interpolation = InterpolationMode.NEAREST,
    fill: Fill = None,
    center: list[float] | None = None,
) -> Tensor:
    """Return pictures (..., C, H, W), turned, scaled, sheared and shifted; their size stays.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; modes are nearest and bilinear.
    """
    mode = _mode_of_tensors(interpolation)
    angle, translate, scale, shear, center = _checked_affine(angle, translate, scale, shear, center)
    matrix = affine_matrix(_from_middle(center, image), angle, translate, scale, shear)
    return _affine_image(image, matrix, mode, fill)


affine_video = affine_image


@kernel(affine, tv_tensors.Mask)
def affine_mask(
    mask: Tensor,
    angle: float,
    translate: list[float],
    scale: float,
    shear: list[float],
    fill: Fill = None,
    center: list[float] | None = None,
) -> Tensor:
    """Return masks (..., H, W), as `affine_image` with the nearest values."""
    return affine_image(mask, angle, translate, scale, shear, _NEAREST, fill, center)


@kernel(affine, PIL_IMAGE)
def _affine_image_pil(
    image: PIL.Image.Image,
    angle: float,
    translate: list[float],
    scale: float,
    shear: list[float],
    interpolation: Interpolation = InterpolationMode.NEAREST,
    fill: Fill = None,
    center: list[float] | None = None,
) -> PIL.Image.Image:
    mode = pil_modes_mapping[interpolation_mode(interpolation)]
    angle, translate, scale, shear, center = _checked_affine(angle, translate, scale, shear, center)
    matrix = affine_matrix(_in_pixels(center, (image.height, image.width)), angle, translate, scale, shear)
    color = image_fill(image, fill)
    return image.transform(image.size, PIL.Image.Transform.AFFINE, tuple(matrix), mode, fillcolor=color)


class _AffineMove:
    """How points of a canvas move with its pixels, and the canvas that they are then on."""

    def __init__(self, canvas_size: Canvas, arguments: tuple[Any, ...], expand: bool = False) -> None:
        angle, translate, scale, shear, center = _checked_affine(*arguments)
        middle = _in_pixels(center, canvas_size)
        self.matrix = affine_matrix(middle, angle, translate, scale, shear, inverted=False)
        self.canvas_size = canvas_size
        self.corners: list[list[float]] | None = None
        if expand:
            height, width = canvas_size
            self.corners = [[0.0, 0.0], [0.0, float(height)], [float(width), float(height)], [float(width), 0.0]]
            columns, rows = rotated_size(affine_matrix(middle, angle, translate, scale, shear), width, height)
            self.canvas_size = (rows, columns)

    def __call__(self, points: Tensor) -> Tensor:
        """Return points (M, 2), moved; on an expanded canvas no corner of the old one is left of it or above."""
        theta = weft.tensor(self.matrix, dtype=points.dtype, device=points.device).reshape(2, 3).T
        moved = _homogeneous(points) @ theta
        if self.corners is None:
            return moved
        corners = weft.tensor(self.corners, dtype=points.dtype, device=points.device)
        return moved - (_homogeneous(corners) @ theta).amin(0)


def _moved_keypoints(keypoints: Tensor, move: _AffineMove, canvas_size: Canvas) -> tuple[Tensor, Canvas]:
    if keypoints.numel() == 0:
        return keypoints, canvas_size
    points = keypoints if keypoints.is_floating_point() else keypoints.float()
    return move(points.reshape(-1, 2)).reshape(keypoints.shape).to(keypoints.dtype), move.canvas_size


def _moved_boxes(
    boxes: Tensor, format: BoundingBoxFormat, canvas_size: Canvas, mode: str | None, move: _AffineMove
) -> tuple[Tensor, Canvas]:
    if boxes.numel() == 0:
        return boxes, canvas_size
    values = boxes if boxes.is_floating_point() else boxes.float()
    return warped_boxes(values, format, move.canvas_size, mode, move).to(boxes.dtype), move.canvas_size


@kernel(affine, tv_tensors.KeyPoints)
def affine_keypoints(
    keypoints: Tensor,
    canvas_size: Canvas,
    angle: float,
    translate: list[float],
    scale: float,
    shear: list[float],
    center: list[float] | None = None,
) -> tuple[Tensor, Canvas]:
    """Return points (..., 2) that move with the pixels, and the size of the canvas."""
    move = _AffineMove(canvas_size, (angle, translate, scale, shear, center))
    return _moved_keypoints(keypoints, move, canvas_size)


@kernel(affine, tv_tensors.BoundingBoxes)
def affine_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: Canvas,
    angle: float,
    translate: list[float],
    scale: float,
    shear: list[float],
    center: list[float] | None = None,
    clamping_mode: str | None = "soft",
) -> Tensor:
    """Return the boxes (..., K) about the moved corners of boxes."""
    move = _AffineMove(canvas_size, (angle, translate, scale, shear, center))
    return _moved_boxes(bounding_boxes, format, canvas_size, clamping_mode, move)[0]


# Rotated

_NO_MORE = ((0.0, 0.0), 1.0, (0.0, 0.0))  # translate, scale and shear


@kernel(rotate, *IMAGES_AND_VIDEOS)
def rotate_image(
    image: Tensor,
    angle: float,
    interpolation: Interpolation = InterpolationMode.NEAREST,
    expand: bool = False,
    center: list[float] | None = None,
    fill: Fill = None,
) -> Tensor:
    """Return pictures (..., C, H, W), turned; right angles about the middle move pixels as they are.

    Raises
    ------
    ValueError
        If an argument cannot be used; modes are nearest and bilinear.
    """
    angle = angle % 360
    quarters = _quarter_turns(angle, image, expand) if center is None else None
    if quarters is not None:
        return weft.rot90(image, quarters, (-2, -1)) if quarters else image.clone()
    mode = _mode_of_tensors(interpolation)
    matrix = affine_matrix(_from_middle(center, image), -angle, *_NO_MORE)
    if not expand:
        return _affine_image(image, matrix, mode, fill)
    width, height = rotated_size(matrix, image.shape[-1], image.shape[-2])
    return _affine_image(image, matrix, mode, fill, (height, width))


def _quarter_turns(angle: float, image: Tensor, expand: bool) -> int | None:
    """Return how many right angles a turn has, or None if pixels do not come to lie on pixels."""
    if angle % 180 == 0 or (angle % 90 == 0 and (expand or image.shape[-1] == image.shape[-2])):
        return int(angle // 90)
    return None


rotate_video = rotate_image


@kernel(rotate, tv_tensors.Mask)
def rotate_mask(
    mask: Tensor, angle: float, expand: bool = False, center: list[float] | None = None, fill: Fill = None
) -> Tensor:
    """Return masks (..., H, W), as `rotate_image` with the nearest values."""
    return rotate_image(mask, angle, _NEAREST, expand, center, fill)


@kernel(rotate, PIL_IMAGE)
def _rotate_image_pil(
    image: PIL.Image.Image,
    angle: float,
    interpolation: Interpolation = InterpolationMode.NEAREST,
    expand: bool = False,
    center: list[float] | None = None,
    fill: Fill = None,
) -> PIL.Image.Image:
    mode: Any = pil_modes_mapping[interpolation_mode(interpolation)]
    place = None if center is None else (center[0], center[1])
    return image.rotate(angle, mode, expand, place, fillcolor=image_fill(image, fill))


@kernel(rotate, tv_tensors.KeyPoints)
def rotate_keypoints(
    keypoints: Tensor,
    canvas_size: Canvas,
    angle: float,
    expand: bool = False,
    center: list[float] | None = None,
) -> tuple[Tensor, Canvas]:
    """Return points (..., 2) that turn with the pixels, and the size of the canvas."""
    return _moved_keypoints(keypoints, _AffineMove(canvas_size, (-angle, *_NO_MORE, center), expand), canvas_size)


@kernel(rotate, tv_tensors.BoundingBoxes)
def rotate_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: Canvas,
    angle: float,
    expand: bool = False,
    center: list[float] | None = None,
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Canvas]:
    """Return the boxes (..., K) about the turned corners of boxes, and the size of the canvas."""
    move = _AffineMove(canvas_size, (-angle, *_NO_MORE, center), expand)
    return _moved_boxes(bounding_boxes, format, canvas_size, clamping_mode, move)


# In perspective


def _coefficients(startpoints: Points, endpoints: Points, coefficients: Sequence[float] | None) -> list[float]:
    if coefficients is not None:
        if startpoints is not None and endpoints is not None:
            raise ValueError("The startpoints/endpoints and the coefficients shouldn't be defined concurrently.")
        if len(coefficients) != 8:
            raise ValueError(f"Argument coefficients should have 8 float values, got {len(coefficients)}")
        return list(coefficients)
    if startpoints is None or endpoints is None:
        raise ValueError("Either the startpoints/endpoints or the coefficients must have non `None` values.")
    return perspective_coefficients(startpoints, endpoints)


@kernel(perspective, *IMAGES_AND_VIDEOS)
def perspective_image(
    image: Tensor,
    startpoints: Points,
    endpoints: Points,
    interpolation: Interpolation = InterpolationMode.BILINEAR,
    fill: Fill = None,
    coefficients: list[float] | None = None,
) -> Tensor:
    """Return pictures (..., C, H, W) where ``startpoints`` came to ``endpoints``.

    Raises
    ------
    ValueError
        If an argument cannot be used, or points and coefficients are both given, or neither.
    """
    found = _coefficients(startpoints, endpoints, coefficients)
    mode = _mode_of_tensors(interpolation)
    color = _fill_of(image, fill)
    grid = perspective_grid(found, (image.shape[-2], image.shape[-1]), grid_dtype(image), image.device)
    return warp(image, grid, mode, color)


perspective_video = perspective_image


@kernel(perspective, tv_tensors.Mask)
def perspective_mask(
    mask: Tensor,
    startpoints: Points,
    endpoints: Points,
    fill: Fill = None,
    coefficients: list[float] | None = None,
) -> Tensor:
    """Return masks (..., H, W), as `perspective_image` with the nearest values."""
    return perspective_image(mask, startpoints, endpoints, _NEAREST, fill, coefficients)


@kernel(perspective, PIL_IMAGE)
def _perspective_image_pil(
    image: PIL.Image.Image,
    startpoints: Points,
    endpoints: Points,
    interpolation: Interpolation = InterpolationMode.BILINEAR,
    fill: Fill = None,
    coefficients: list[float] | None = None,
) -> PIL.Image.Image:
    found = tuple(_coefficients(startpoints, endpoints, coefficients))
    mode = pil_modes_mapping[interpolation_mode(interpolation)]
    color = image_fill(image, fill)
    return image.transform(image.size, PIL.Image.Transform.PERSPECTIVE, found, mode, fillcolor=color)


class _PerspectiveMove:
    """How points move with the pixels: the inverse of what coefficients say of pixels."""

    def __init__(self, coefficients: list[float], name: str) -> None:
        a, b, c, d, e, f, g, h = coefficients
        determinant = a * e - b * d
        if determinant == 0:
            raise RuntimeError(
                f"Coefficients {coefficients} can not be inverted to transform {name}. Denominator is zero"
            )
        # The adjugate of [[a, b, c], [d, e, f], [g, h, 1]], divided by its last element.
        adjugate = [
            e - f * h,
            c * h - b,
            b * f - c * e,
            f * g - d,
            a - c * g,
            c * d - a * f,
            d * h - e * g,
            b * g - a * h,
        ]
        self.coefficients = [each / determinant for each in adjugate]

    def __call__(self, points: Tensor) -> Tensor:
        """Return points (M, 2), moved."""
        values = points if points.is_floating_point() else points.float()
        matrix = weft.tensor([*self.coefficients, 1.0], dtype=values.dtype, device=values.device).reshape(3, 3)
        found = _homogeneous(values) @ matrix.T
        return found[:, :2] / found[:, 2:]


@kernel(perspective, tv_tensors.KeyPoints)
def perspective_keypoints(
    keypoints: Tensor,
    canvas_size: Canvas,
    startpoints: Points,
    endpoints: Points,
    coefficients: list[float] | None = None,
) -> Tensor:
    """Return points (..., 2) that move with the pixels."""
    if keypoints.numel() == 0:
        return keypoints
    move = _PerspectiveMove(_coefficients(startpoints, endpoints, coefficients), "keypoints")
    return move(keypoints.reshape(-1, 2)).to(keypoints.dtype).reshape(keypoints.shape)


@kernel(perspective, tv_tensors.BoundingBoxes)
def perspective_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: Canvas,
    startpoints: Points,
    endpoints: Points,
    coefficients: list[float] | None = None,
    clamping_mode: str | None = "soft",
) -> Tensor:
    """Return the boxes (..., K) about the moved corners of boxes."""
    if bounding_boxes.numel() == 0:
        return bounding_boxes
    move = _PerspectiveMove(_coefficients(startpoints, endpoints, coefficients), "bounding boxes")
    return warped_boxes(bounding_boxes, format, canvas_size, clamping_mode, move).to(bounding_boxes.dtype)


# Elastic


def _check_displacement(displacement: Any, canvas_size: Sequence[int]) -> None:
    if not isinstance(displacement, Tensor):
        raise TypeError(f"Argument displacement should be a Tensor, got {type(displacement).__name__}")
    expected = (1, *canvas_size, 2)
    if tuple(displacement.shape) != expected:
        raise ValueError(f"Argument displacement shape should be {expected}, but given {tuple(displacement.shape)}")


@kernel(elastic, *IMAGES_AND_VIDEOS)
def elastic_image(
    image: Tensor,
    displacement: Tensor,
    interpolation: Interpolation = InterpolationMode.BILINEAR,
    fill: Fill = None,
) -> Tensor:
    """Return pictures (..., C, H, W), each pixel read at a distance of ``displacement`` (1, H, W, 2).

    Displacements are in halves of the picture's width and height. Pictures of float16 are computed in float32.

    Raises
    ------
    TypeError, ValueError
        If an argument cannot be used; modes are nearest, bilinear and bicubic.
    """
    size = image.shape[-2], image.shape[-1]
    _check_displacement(displacement, size)
    mode = interpolation_mode(interpolation).value
    values = image.float() if image.dtype is weft.float16 else image
    dtype = grid_dtype(values)
    grid = identity_grid(size, dtype, image.device) + displacement.to(dtype=dtype, device=image.device)
    return warp(values, grid, mode, _fill_of(image, fill)).to(image.dtype)


elastic_video = elastic_image


@kernel(elastic, tv_tensors.Mask)
def elastic_mask(mask: Tensor, displacement: Tensor, fill: Fill = None) -> Tensor:
    """Return masks (..., H, W), as `elastic_image` with the nearest values."""
    return elastic_image(mask, displacement, _NEAREST, fill)


@kernel(elastic, PIL_IMAGE)
def _elastic_image_pil(
    image: PIL.Image.Image,
    displacement: Tensor,
    interpolation: Interpolation = InterpolationMode.BILINEAR,
    fill: Fill = None,
) -> PIL.Image.Image:
    return to_pil_image(elastic_image(pil_to_tensor(image), displacement, interpolation, fill), mode=image.mode)


def _displaced(points: Tensor, canvas_size: Canvas, displacement: Tensor) -> Tensor:
    """Return points (M, 2) moved against the displacement of their pixels, floating.

    This is the inverse of what happens to pixels only where displacements change slowly.
    """
    dtype = grid_dtype(points)
    height, width = canvas_size
    inverse = identity_grid(canvas_size, dtype, points.device) - displacement.to(dtype=dtype, device=points.device)
    column, row = points.to(weft.int64).unbind(-1)
    found = inverse[0, row.clamp(0, height - 1), column.clamp(0, width - 1)]
    return (found + 1) * weft.tensor([0.5 * width, 0.5 * height], dtype=dtype, device=points.device) - 0.5


@kernel(elastic, tv_tensors.KeyPoints)
def elastic_keypoints(keypoints: Tensor, canvas_size: Canvas, displacement: Tensor) -> Tensor:
    """Return points (..., 2) moved against the displacement of their pixels."""
    _check_displacement(displacement, canvas_size)
    if keypoints.numel() == 0:
        return keypoints
    moved = _displaced(keypoints.reshape(-1, 2), canvas_size, displacement)
    return moved.to(keypoints.dtype).reshape(keypoints.shape)


@kernel(elastic, tv_tensors.BoundingBoxes)
def elastic_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat,
    canvas_size: Canvas,
    displacement: Tensor,
    clamping_mode: str | None = "soft",
) -> Tensor:
    """Return the boxes (..., K) about the displaced corners of boxes; rotated ones move with their center alone."""
    _check_displacement(displacement, canvas_size)
    if bounding_boxes.numel() == 0:
        return bounding_boxes
    dtype = bounding_boxes.dtype

    def move(points: Tensor) -> Tensor:
        whole = points.ceil() if points.is_floating_point() else points
        return _displaced(whole, canvas_size, displacement).to(dtype)

    if not is_rotated_bounding_format(format):
        return warped_boxes(bounding_boxes, format, canvas_size, clamping_mode, move)
    by_center = BoundingBoxFormat.CXCYWHR
    boxes = convert_bounding_box_format(bounding_boxes, format, by_center).reshape(-1, 5)
    moved = weft.cat([move(boxes[:, :2]), boxes[:, 2:]], 1)
    moved = clamp_bounding_boxes(moved, by_center, canvas_size, clamping_mode)
    return convert_bounding_box_format(moved, by_center, format).reshape(bounding_boxes.shape)
