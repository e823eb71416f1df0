"""Transforms of pictures, which may be PIL images or tensors, with the names of ``torchvision.transforms``."""

from typing import TYPE_CHECKING

from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.vision.transforms import functional as functional
    from weft.vision.transforms import v2 as v2
    from weft.vision.transforms.autoaugment import *
    from weft.vision.transforms.color import *
    from weft.vision.transforms.composition import *
    from weft.vision.transforms.conversion import *
    from weft.vision.transforms.filtering import *
    from weft.vision.transforms.functional import InterpolationMode as InterpolationMode
    from weft.vision.transforms.geometry import *
else:
    __all__ = lazy_package(
        __name__,
        {
            "autoaugment": "AugMix AutoAugment AutoAugmentPolicy RandAugment TrivialAugmentWide",
            "color": """
                ColorJitter Grayscale RandomAutocontrast RandomEqualize RandomErasing RandomGrayscale RandomInvert
                RandomPosterize RandomSolarize
            """,
            "composition": "Compose Lambda RandomApply RandomChoice RandomOrder",
            "conversion": "ConvertImageDtype LinearTransformation Normalize PILToTensor ToPILImage ToTensor",
            "filtering": "GaussianBlur RandomAdjustSharpness",
            "functional": "InterpolationMode",
            "geometry": """
                CenterCrop ElasticTransform FiveCrop Pad RandomAffine RandomCrop RandomHorizontalFlip
                RandomPerspective RandomResizedCrop RandomRotation RandomVerticalFlip Resize TenCrop
            """,
        },
        modules="v2",
    )
