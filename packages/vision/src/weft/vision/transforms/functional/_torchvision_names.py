"""What programs import from torchvision's module of functionals although its name begins with an underscore."""

from __future__ import annotations

from collections.abc import Sequence

from weft.vision.transforms.functional._sizes import pil_modes_mapping, resized_size
from weft.vision.transforms.functional._types import InterpolationMode
from weft.vision.transforms.functional._warping import affine_matrix as _get_inverse_affine_matrix
from weft.vision.transforms.functional._warping import perspective_coefficients as _get_perspective_coeffs

__all__ = [
    "_compute_resized_output_size",
    "_get_inverse_affine_matrix",
    "_get_perspective_coeffs",
    "_interpolation_modes_from_int",
]


def _interpolation_modes_from_int(i: int) -> InterpolationMode:
    """Return the mode that a constant of Pillow's means."""
    return next(mode for mode, constant in pil_modes_mapping.items() if constant == i)


def _compute_resized_output_size(
    image_size: tuple[int, int],
    size: Sequence[int] | None,
    max_size: int | None = None,
    allow_size_none: bool = False,
) -> list[int]:
    """Return the [height, width] of a picture (height, width) that is resized."""
    if size is None and not allow_size_none:
        raise ValueError("resize: size must be an int or a sequence, got None")
    return list(resized_size(*image_size, size, max_size))
