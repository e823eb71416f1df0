"""Transforms of samples: images together with their masks, boxes, key points and videos, in any nest of containers.

See `Transform` for what of a sample is transformed, and `functional` for the transforms as functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.vision._lazy import lazy_package

if TYPE_CHECKING:
    from weft.vision.transforms.v2 import functional as functional
    from weft.vision.transforms.v2._geometry import *
    from weft.vision.transforms.v2._transform import Transform as Transform
    from weft.vision.transforms.v2._utils import *

# Which module of this folder has which names.
__all__ = lazy_package(
    __name__,
    {
        "_transform": "Transform",
        "_utils": "check_type get_bounding_boxes get_keypoints has_all has_any query_chw query_size",
        "_geometry": "RandomHorizontalFlip RandomVerticalFlip",
        "_first": (
            "CenterCrop ColorJitter Compose ConvertImageDtype GaussianBlur Grayscale Identity InterpolationMode Lambda "
            "Normalize PILToTensor Pad RGB RandomAffine RandomApply RandomChoice RandomCrop RandomErasing "
            "RandomGrayscale "
            "RandomOrder RandomResizedCrop RandomRotation Resize ToDtype ToImage ToPILImage ToPureTensor ToTensor"
        ),
    },
    modules="functional",
)
