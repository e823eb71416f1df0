"""Transforms as functions of a picture: a PIL image, or a tensor of shape (..., C, H, W)."""

from typing import TYPE_CHECKING

from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.vision.transforms.functional._sizes import pil_modes_mapping as pil_modes_mapping
    from weft.vision.transforms.functional._torchvision_names import *
    from weft.vision.transforms.functional._types import *
    from weft.vision.transforms.functional.color import *
    from weft.vision.transforms.functional.conversion import *
    from weft.vision.transforms.functional.filtering import *
    from weft.vision.transforms.functional.geometry import *
else:
    __all__ = [
        name
        for name in lazy_package(
            __name__,
            {
                "_sizes": "pil_modes_mapping",
                "_torchvision_names": """
                _compute_resized_output_size _get_inverse_affine_matrix _get_perspective_coeffs
                _interpolation_modes_from_int
            """,
                "_types": "InterpolationMode get_dimensions get_image_num_channels get_image_size",
                "color": """
                adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation adjust_sharpness
                autocontrast equalize erase invert posterize rgb_to_grayscale solarize to_grayscale
            """,
                "conversion": "convert_image_dtype normalize pil_to_tensor to_pil_image to_tensor",
                "filtering": "gaussian_blur",
                "geometry": """
                affine center_crop crop elastic_transform five_crop hflip pad perspective resize resized_crop rotate
                ten_crop vflip
            """,
            },
        )
        if not name.startswith("_")
    ]
