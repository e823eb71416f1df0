"""Transforms of samples: images together with their masks, boxes, key points and videos, in any nest of containers.

See `Transform` for what of a sample is transformed, and `functional` for the transforms as functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.vision.transforms.functional import InterpolationMode as InterpolationMode
    from weft.vision.transforms.v2 import functional as functional
    from weft.vision.transforms.v2._augment import *
    from weft.vision.transforms.v2._auto_augment import *
    from weft.vision.transforms.v2._color import *
    from weft.vision.transforms.v2._container import *
    from weft.vision.transforms.v2._geometry import *
    from weft.vision.transforms.v2._meta import *
    from weft.vision.transforms.v2._misc import *
    from weft.vision.transforms.v2._temporal import *
    from weft.vision.transforms.v2._transform import Transform as Transform
    from weft.vision.transforms.v2._type_conversion import *
    from weft.vision.transforms.v2._utils import *

# Which module of this folder has which names.
__all__ = lazy_package(
    __name__,
    {
        "_transform": "Transform",
        "_utils": "check_type get_bounding_boxes get_keypoints has_all has_any query_chw query_size",
        "functional": "InterpolationMode",
        "_augment": "CutMix JPEG MixUp RandomErasing",
        "_auto_augment": "AugMix AutoAugment AutoAugmentPolicy RandAugment TrivialAugmentWide",
        "_color": """
            ColorJitter Grayscale RGB RandomAdjustSharpness RandomAutocontrast RandomChannelPermutation RandomEqualize
            RandomGrayscale RandomInvert RandomPhotometricDistort RandomPosterize RandomSolarize
        """,
        "_container": "Compose RandomApply RandomChoice RandomOrder",
        "_geometry": """
            CenterCrop ElasticTransform FiveCrop Pad RandomAffine RandomCrop RandomHorizontalFlip RandomIoUCrop
            RandomPerspective RandomResize RandomResizedCrop RandomRotation RandomShortestSize RandomVerticalFlip
            RandomZoomOut Resize ScaleJitter TenCrop
        """,
        "_meta": "ClampBoundingBoxes ClampKeyPoints ConvertBoundingBoxFormat SetClampingMode",
        "_misc": """
            GaussianBlur GaussianNoise Identity Lambda LinearTransformation Normalize SanitizeBoundingBoxes
            SanitizeKeyPoints ToDtype
        """,
        "_temporal": "UniformTemporalSubsample",
        "_type_conversion": "ConvertImageDtype PILToTensor ToImage ToPILImage ToPureTensor ToTensor",
    },
)
