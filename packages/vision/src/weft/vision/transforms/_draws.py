"""The random numbers of geometric transforms, which both versions draw alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

import weft
from weft import Tensor
from weft.vision.transforms.functional.filtering import gaussian_blur

__all__ = ["affine_arguments", "displacements", "moved_corners", "random_rectangle", "uniform"]


def uniform(low: float, high: float) -> float:
    """Draw a number between two."""
    return float(weft.empty(1).uniform_(low, high).item())


def random_rectangle(
    height: int, width: int, scale: Sequence[float], ratio: Sequence[float]
) -> tuple[int, int, int, int]:
    """Draw (top, left, height, width) of a part of a picture.

    Its area as a share of the picture's is drawn from ``scale``, the logarithm of width : height from that of
    ``ratio``. After ten that do not fit, it is the greatest in the middle whose shape is allowed.
    """
    area = height * width
    least, greatest = weft.log(weft.tensor(ratio, dtype=weft.float32)).tolist()
    for _ in range(10):
        target_area = area * uniform(scale[0], scale[1])
        aspect = weft.empty(1).uniform_(least, greatest).exp().item()
        columns, rows = round(math.sqrt(target_area * aspect)), round(math.sqrt(target_area / aspect))
        if 0 < columns <= width and 0 < rows <= height:
            top = int(weft.randint(0, height - rows + 1, (1,)).item())
            left = int(weft.randint(0, width - columns + 1, (1,)).item())
            return top, left, rows, columns
    rows, columns = height, width
    if width / height < min(ratio):
        rows = round(width / min(ratio))
    elif width / height > max(ratio):
        columns = round(height * max(ratio))
    return (height - rows) // 2, (width - columns) // 2, rows, columns


def affine_arguments(
    degrees: Sequence[float],
    translate: Sequence[float] | None,
    scale: Sequence[float] | None,
    shear: Sequence[float] | None,
    height: int,
    width: int,
) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
    """Draw angle, shift, scale and shears: each range is (least, greatest), that of shear also of x and then of y."""
    angle = uniform(degrees[0], degrees[1])
    reach = [] if translate is None else [float(share * size) for share, size in zip(translate, (width, height))]
    shift = [round(uniform(-each, each)) for each in reach] or [0, 0]
    factor = 1.0 if scale is None else uniform(scale[0], scale[1])
    shear_x = 0.0 if shear is None else uniform(shear[0], shear[1])
    shear_y = uniform(shear[2], shear[3]) if shear is not None and len(shear) == 4 else 0.0
    return angle, (shift[0], shift[1]), factor, (shear_x, shear_y)


def moved_corners(width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
    """Draw where the corners of a picture go: a share of half its width and height inwards at most.

    Returns
    -------
    startpoints, endpoints
        Upper left, upper right, lower right, lower left, each as [x, y].
    """
    across, down = (int(distortion_scale * (size // 2)) + 1 for size in (width, height))
    left, right, upper, lower = (0, across), (width - across, width), (0, down), (height - down, height)
    ends = [
        [int(weft.randint(*bounds, (1,)).item()) for bounds in corner]
        for corner in ((left, upper), (right, upper), (right, lower), (left, lower))
    ]
    return [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], ends


def displacements(alpha: Sequence[float], sigma: Sequence[float], height: int, width: int) -> Tensor:
    """Draw a smooth field of displacements (x, y), of shape (1, height, width, 2), in halves of width and height.

    ``alpha`` is how far they reach, in pixels; ``sigma`` is the deviation of the Gaussian that smooths them.
    """
    fields = []
    for reach, deviation, length in zip(alpha, sigma, (width, height)):
        field = weft.rand(1, 1, height, width) * 2 - 1
        if deviation > 0.0:
            taps = int(8 * deviation + 1) // 2 * 2 + 1
            field = gaussian_blur(field, [taps, taps], list(sigma))
        fields.append(field * reach / length)
    return weft.cat(fields, 1).permute(0, 2, 3, 1)
