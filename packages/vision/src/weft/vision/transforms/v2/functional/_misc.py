"""Dtype and range, normalization, blur, noise; and the removal of boxes and points that are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

import weft
from weft import Tensor
from weft.nn.functional import pad
from weft.vision import tv_tensors
from weft.vision.transforms.v2 import functional as F
from weft.vision.transforms.v2.functional._meta import convert_bounding_box_format
from weft.vision.transforms.v2.functional._utils import (
    IMAGES_AND_VIDEOS,
    PIL_IMAGE,
    functional,
    is_pure_tensor,
    kernel,
)
from weft.vision.tv_tensors import BoundingBoxFormat, is_rotated_bounding_format

__all__ = [
    "convert_image_dtype",
    "gaussian_blur",
    "gaussian_blur_image",
    "gaussian_blur_video",
    "gaussian_noise",
    "gaussian_noise_image",
    "gaussian_noise_video",
    "normalize",
    "normalize_image",
    "normalize_video",
    "sanitize_bounding_boxes",
    "sanitize_keypoints",
    "to_dtype",
    "to_dtype_image",
    "to_dtype_video",
]


@functional
def to_dtype(inpt: Any, dtype: Any = weft.float32, scale: bool = False) -> Any:
    """Convert the dtype; with ``scale`` also the range of images and videos: 0 to 255 for uint8, 0 to 1 for floats."""


@functional
def normalize(inpt: Any, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Any:
    """Return ``(inpt - mean) / std`` of floating images and videos, with one mean and deviation for each channel."""


@functional
def gaussian_blur(inpt: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None) -> Any:
    """Blur by a Gaussian of a size and a deviation, each (along x, along y); beyond the edges lies the mirror image."""


@functional
def gaussian_noise(inpt: Any, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Any:
    """Add normal noise, its ``mean`` and ``sigma`` in units of white."""


def greatest_value(dtype: Any) -> int:
    """Return what is white in a dtype: 1 for floats and bool, else the greatest integer."""
    return 1 if dtype.is_floating_point or dtype is weft.bool else int(weft.iinfo(dtype).max)


@kernel(to_dtype, *IMAGES_AND_VIDEOS)
def to_dtype_image(image: Tensor, dtype: Any = weft.float32, scale: bool = False) -> Tensor:
    """Return an image in another dtype, its values scaled to that dtype's range if asked.

    Raises
    ------
    RuntimeError
        If floats are scaled to integers that they cannot represent (float32 to int32, any to int64).
    """
    if image.dtype is dtype:
        return image
    if not scale or (image.is_floating_point() and dtype.is_floating_point):
        return image.to(dtype)
    if image.is_floating_point():
        return _floats_to_integers(image, dtype)
    if dtype.is_floating_point:
        return image.to(dtype).mul_(1.0 / greatest_value(image.dtype))
    return _integers_to_integers(image, dtype)


to_dtype_video = to_dtype_image


def convert_image_dtype(image: Tensor, dtype: Any = weft.float32) -> Tensor:
    """As `to_dtype_image` with ``scale``."""
    return to_dtype_image(image, dtype, scale=True)


@kernel(to_dtype, tv_tensors.BoundingBoxes, tv_tensors.KeyPoints, tv_tensors.Mask)
def _to_dtype_without_range(inpt: Tensor, dtype: Any = weft.float32) -> Tensor:
    return inpt.to(dtype)


def _floats_to_integers(image: Tensor, dtype: Any) -> Tensor:
    if dtype is weft.int64 or (dtype is weft.int32 and image.dtype is not weft.float64):
        raise RuntimeError(
            f"to_dtype: {image.dtype} cannot hold every {dtype}, so values would be changed; "
            "cast to float64 and int32 or smaller"
        )
    # Just below the next integer, so that 1.0 becomes the greatest value and all values have equal shares.
    return image.mul(greatest_value(dtype) + 1.0 - 1e-3).to(dtype)


def _integers_to_integers(image: Tensor, dtype: Any) -> Tensor:
    if weft.bool in (image.dtype, dtype):
        raise TypeError(f"to_dtype: only integers of more than one bit can be scaled, not {image.dtype} to {dtype}")
    before, after = greatest_value(image.dtype), greatest_value(dtype)
    if before > after:
        return image.div((before + 1) // (after + 1), rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((after + 1) // (before + 1))


@kernel(normalize, *IMAGES_AND_VIDEOS)
def normalize_image(image: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """Return ``(image - mean) / std`` of a floating image (..., C, H, W), written over it with ``inplace``.

    Raises
    ------
    TypeError
        If the image is not floating.
    ValueError
        If it has fewer than three axes, or a deviation is 0.
    """
    if not image.is_floating_point():
        raise TypeError(
            f"normalize: Input tensor should be a float tensor, got {image.dtype}; apply ToDtype(scale=True) first"
        )
    if image.dim() < 3:
        raise ValueError(
            f"normalize: Expected tensor to be a tensor image of size (..., C, H, W), got {tuple(image.shape)}"
        )
    means, deviations = np.asarray(mean, np.float64), np.asarray(std, np.float64)
    if not deviations.all():
        raise ValueError(f"normalize: std evaluated to zero, leading to division by zero: {std}")
    if inplace:
        return image.sub_(_of_channels(means, image)).div_(_of_channels(deviations, image))
    return (image - _of_channels(means, image)) / _of_channels(deviations, image)


normalize_video = normalize_image


def normalize_bytes(image: Tensor, dtype: Any, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Return ``normalize(to_dtype(image, dtype, scale=True), mean, std)`` of integers with less arithmetic.

    ``(image / white - mean) / std`` is one product and one sum.
    """
    deviations = np.asarray(std, np.float64)
    values = image.to(dtype)
    factors = _of_channels(1 / (greatest_value(image.dtype) * deviations), values)
    return values.mul_(factors).sub_(_of_channels(np.asarray(mean, np.float64) / deviations, values))


def _of_channels(values: np.ndarray[Any, Any], image: Tensor) -> Tensor:
    """Return one value for each channel as (C, 1, 1), to be broadcast over the image."""
    column = values.reshape(-1, 1, 1) if values.ndim == 1 else values
    return weft.from_numpy(column if image.dtype is weft.float64 else column.astype(np.float32)).to(image)


@kernel(gaussian_blur, *IMAGES_AND_VIDEOS)
def gaussian_blur_image(
    image: Tensor, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Tensor:
    """Blur images (..., C, H, W).

    Raises
    ------
    ValueError
        If a size is even or not positive, or a deviation not positive.
    """
    if not isinstance(kernel_size, (int, list, tuple)):
        raise TypeError(
            f"gaussian_blur: kernel_size should be int or a sequence of integers, got {type(kernel_size).__name__}"
        )
    sizes = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
    if len(sizes) != 2:
        raise ValueError(f"gaussian_blur: If kernel_size is a sequence its length should be 2, got {len(sizes)}")
    if any(size % 2 == 0 or size < 0 for size in sizes):
        raise ValueError(f"gaussian_blur: kernel_size should have odd and positive integers, got {kernel_size}")
    deviations = _deviations(sigma, sizes)
    if image.numel() == 0:
        return image
    values = image if image.is_floating_point() else image.to(weft.float32)
    across, down = sizes[0] // 2, sizes[1] // 2
    flat = values.reshape(-1, 1, *image.shape[-2:])
    padded = pad(flat, [across, across, down, down], mode="reflect")
    blurred = _weighted(padded, _gaussian(sizes[0], deviations[0]), -1)
    found = _weighted(blurred, _gaussian(sizes[1], deviations[1]), -2).reshape(image.shape)
    return found if image.is_floating_point() else found.round_().to(image.dtype)


def _weighted(values: Tensor, weights: list[float], dim: int) -> Tensor:
    """Return the weighted sum of neighbours along an axis, without the borders: faster than a convolution."""
    length = values.shape[dim] - len(weights) + 1
    found = values.narrow(dim, 0, length) * weights[0]
    for place, weight in enumerate(weights[1:], start=1):
        found.add_(values.narrow(dim, place, length), alpha=weight)
    return found


gaussian_blur_video = gaussian_blur_image


@kernel(gaussian_blur, PIL_IMAGE)
def _gaussian_blur_image_pil(
    image: Image.Image, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Image.Image:
    blurred = gaussian_blur_image(F.pil_to_tensor(image), kernel_size, sigma)
    return F.to_pil_image(blurred, mode=image.mode)


def _deviations(sigma: float | Sequence[float] | None, sizes: Sequence[int]) -> list[float]:
    """Return the deviation along x and y; by default what suits the kernel's size."""
    if sigma is None:
        return [size * 0.15 + 0.35 for size in sizes]
    if not isinstance(sigma, (int, float, list, tuple)):
        raise TypeError(
            f"gaussian_blur: sigma should be either float or sequence of floats, got {type(sigma).__name__}"
        )
    deviations = [sigma] if isinstance(sigma, (int, float)) else list(sigma)
    if len(deviations) not in (1, 2):
        raise ValueError(f"gaussian_blur: If sigma is a sequence, its length should be 2, got {len(deviations)}")
    if any(deviation <= 0 for deviation in deviations):
        raise ValueError(f"gaussian_blur: sigma should have positive values, got {sigma}")
    return [float(deviations[0]), float(deviations[-1])]


def _gaussian(size: int, deviation: float) -> list[float]:
    """The normal density at ``size`` places about 0, scaled to sum 1."""
    half = (size - 1) * 0.5
    density = np.exp(-0.5 * (np.linspace(-half, half, size) / deviation) ** 2)
    return (density / density.sum()).tolist()


@kernel(gaussian_noise, *IMAGES_AND_VIDEOS)
def gaussian_noise_image(image: Tensor, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Tensor:
    """Add noise to floating images of values from 0 to 1, or to bytes; without ``clip``, bytes wrap around.

    Raises
    ------
    ValueError
        If ``sigma`` is negative, or the image neither floating nor of bytes.
    """
    if sigma < 0:
        raise ValueError(f"gaussian_noise: sigma shouldn't be negative, got {sigma}")
    if not (image.is_floating_point() or image.dtype is weft.uint8):
        raise ValueError(f"gaussian_noise: Input tensor is expected to be in uint8 or float dtype, got {image.dtype}")
    if image.is_floating_point():
        noisy = weft.randn_like(image).mul_(sigma).add_(mean).add_(image)
        return noisy.clamp_(0, 1) if clip else noisy
    noise = weft.randn_like(image, dtype=weft.float32).mul_(sigma).add_(mean).mul_(255).to(weft.int16)
    noisy = noise.add_(image)
    return (noisy.clamp_(0, 255) if clip else noisy).to(weft.uint8)


gaussian_noise_video = gaussian_noise_image


@kernel(gaussian_noise, PIL_IMAGE)
def _gaussian_noise_image_pil(image: Image.Image) -> Image.Image:
    raise ValueError("Gaussian Noise is not implemented for PIL images; convert them first, with to_image")


def sanitize_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat | str | None = None,
    canvas_size: tuple[int, int] | None = None,
    min_size: float = 1.0,
    min_area: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Remove the boxes that are too small or not wholly on the canvas.

    Parameters
    ----------
    bounding_boxes : BoundingBoxes or Tensor, shape (N, K)
    format : BoundingBoxFormat or str, optional
    canvas_size : (int, int), optional
        Height and width. Format and size are given with a plain tensor, and with that alone.
    min_size, min_area : float, default 1
        What the width and the height, and their product, must have at least.

    Returns
    -------
    bounding_boxes
        Those that stay, of the class of the input.
    valid : Tensor, shape (N,), bool
        Which they are.

    Raises
    ------
    ValueError
        If the input is another tv_tensor, or format and size are lacking or superfluous.

    Examples
    --------
    >>> boxes = weft.tensor([[0, 0, 4, 4], [2, 2, 2, 5], [-1, 0, 3, 3]])
    >>> sanitize_bounding_boxes(boxes, format="XYXY", canvas_size=(6, 6))
    (tensor([[0, 0, 4, 4]]), tensor([ True, False, False]))
    """
    if is_pure_tensor(bounding_boxes):
        if format is None or canvas_size is None:
            raise ValueError(
                "sanitize_bounding_boxes: format and canvas_size cannot be None if bounding_boxes is a pure tensor; "
                f"got {format} and {canvas_size}"
            )
        format = BoundingBoxFormat[format.upper()] if isinstance(format, str) else format
        valid = _are_valid_boxes(bounding_boxes, format, canvas_size, min_size, min_area)
        return bounding_boxes[valid], valid
    if not isinstance(bounding_boxes, tv_tensors.BoundingBoxes):
        raise ValueError(
            "sanitize_bounding_boxes: bounding_boxes must be a tv_tensors.BoundingBoxes instance or a pure tensor, "
            f"got {type(bounding_boxes).__name__}"
        )
    if format is not None or canvas_size is not None:
        raise ValueError(
            "sanitize_bounding_boxes: format and canvas_size must be None when bounding_boxes is a "
            f"tv_tensors.BoundingBoxes instance, which has its own; got {format} and {canvas_size}"
        )
    boxes = bounding_boxes.as_subclass(Tensor)
    valid = _are_valid_boxes(boxes, bounding_boxes.format, bounding_boxes.canvas_size, min_size, min_area)
    return tv_tensors.wrap(boxes[valid], like=bounding_boxes), valid


def _are_valid_boxes(
    boxes: Tensor, format: BoundingBoxFormat, canvas_size: tuple[int, int], min_size: float, min_area: float
) -> Tensor:
    rotated = is_rotated_bounding_format(format)
    corners_format = BoundingBoxFormat.XYXYXYXY if rotated else BoundingBoxFormat.XYXY
    boxes = convert_bounding_box_format(boxes, format, corners_format)
    corners = boxes.reshape(*boxes.shape[:-1], -1, 2)
    if rotated:
        x, y = corners.to(weft.float32).unbind(-1)
        width = weft.hypot(x[..., 1] - x[..., 0], y[..., 1] - y[..., 0])
        # As torchvision has it: the extent along x of the third side, and along y of the second.
        height = weft.hypot(x[..., 3] - x[..., 2], y[..., 2] - y[..., 1])
    else:
        width, height = (corners[..., 1, :] - corners[..., 0, :]).unbind(-1)
    x, y = corners.unbind(-1)
    inside = ((x >= 0) & (x <= canvas_size[1]) & (y >= 0) & (y <= canvas_size[0])).all(-1)
    return inside & (width >= min_size) & (height >= min_size) & (width * height >= min_area)


def sanitize_keypoints(key_points: Tensor, canvas_size: tuple[int, int] | None = None) -> tuple[Tensor, Tensor]:
    """Remove the points that are not on the canvas, and the groups that have such a point.

    Parameters
    ----------
    key_points : KeyPoints or Tensor, shape (N, 2) or (N, ..., 2)
    canvas_size : (int, int), optional
        Height and width; given with a plain tensor, and with that alone.

    Returns
    -------
    key_points
        Those that stay, of the class of the input.
    valid : Tensor, shape (N,), bool
        Which they are.

    Raises
    ------
    ValueError
        If the input is another tv_tensor, or the size is lacking or superfluous.

    Examples
    --------
    >>> sanitize_keypoints(weft.tensor([[0, 0], [5, 6]]), canvas_size=(6, 6))
    (tensor([[0, 0]]), tensor([ True, False]))
    """
    if is_pure_tensor(key_points):
        if canvas_size is None:
            raise ValueError("sanitize_keypoints: canvas_size cannot be None if key_points is a pure tensor")
        valid = _are_valid_points(key_points, canvas_size)
        return key_points[valid], valid
    if not isinstance(key_points, tv_tensors.KeyPoints):
        raise ValueError(
            "sanitize_keypoints: key_points must be a tv_tensors.KeyPoints instance or a pure tensor, "
            f"got {type(key_points).__name__}"
        )
    if canvas_size is not None:
        raise ValueError(
            "sanitize_keypoints: canvas_size must be None when key_points is a tv_tensors.KeyPoints instance, "
            f"which has its own; got {canvas_size}"
        )
    points = key_points.as_subclass(Tensor)
    valid = _are_valid_points(points, key_points.canvas_size)
    return tv_tensors.wrap(points[valid], like=key_points), valid


def _are_valid_points(points: Tensor, canvas_size: tuple[int, int]) -> Tensor:
    x, y = points.unbind(-1)
    inside = (x >= 0) & (x < canvas_size[1]) & (y >= 0) & (y < canvas_size[0])
    return inside.flatten(1).all(1) if inside.dim() > 1 else inside
