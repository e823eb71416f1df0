"""Models of segmentation: scores of classes for each pixel."""

from typing import TYPE_CHECKING

from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.vision.models.segmentation.deeplabv3 import *
    from weft.vision.models.segmentation.fcn import *
    from weft.vision.models.segmentation.lraspp import *
else:
    __all__ = lazy_package(
        __name__,
        {
            "deeplabv3": """
                DeepLabV3 DeepLabV3_ResNet50_Weights DeepLabV3_ResNet101_Weights
                DeepLabV3_MobileNet_V3_Large_Weights deeplabv3_mobilenet_v3_large deeplabv3_resnet50
                deeplabv3_resnet101
            """,
            "fcn": "FCN FCN_ResNet50_Weights FCN_ResNet101_Weights fcn_resnet50 fcn_resnet101",
            "lraspp": "LRASPP LRASPP_MobileNet_V3_Large_Weights lraspp_mobilenet_v3_large",
        },
    )
