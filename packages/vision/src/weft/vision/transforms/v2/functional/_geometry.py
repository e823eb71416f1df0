"""Size and position, in one namespace; each family has a module. Private names are those of torchvision's module."""

from weft.vision.transforms.functional._warping import affine_matrix as _get_inverse_affine_matrix  # noqa: F401
from weft.vision.transforms.functional._warping import perspective_coefficients as _get_perspective_coeffs  # noqa: F401
from weft.vision.transforms.v2.functional._boxes import (
    parallelogram_to_bounding_boxes as _parallelogram_to_bounding_boxes,  # noqa: F401
)
from weft.vision.transforms.v2.functional._crop import *  # noqa: F403
from weft.vision.transforms.v2.functional._crop import (
    _center_crop_image_pil,  # noqa: F401
    _crop_image_pil,  # noqa: F401
    _five_crop_image_pil,  # noqa: F401
    _resized_crop_image_pil,  # noqa: F401
    _ten_crop_image_pil,  # noqa: F401
)
from weft.vision.transforms.v2.functional._flip import *  # noqa: F403
from weft.vision.transforms.v2.functional._flip import (
    _horizontal_flip_image_pil,  # noqa: F401
    _vertical_flip_image_pil,  # noqa: F401
)
from weft.vision.transforms.v2.functional._pad import *  # noqa: F403
from weft.vision.transforms.v2.functional._pad import _pad_image_pil  # noqa: F401
from weft.vision.transforms.v2.functional._resize import *  # noqa: F403
from weft.vision.transforms.v2.functional._resize import _resize_image_pil  # noqa: F401
from weft.vision.transforms.v2.functional._utils import interpolation_mode as _check_interpolation  # noqa: F401
from weft.vision.transforms.v2.functional._warp import *  # noqa: F403
from weft.vision.transforms.v2.functional._warp import (
    _affine_image_pil,  # noqa: F401
    _elastic_image_pil,  # noqa: F401
    _perspective_image_pil,  # noqa: F401
    _rotate_image_pil,  # noqa: F401
)
