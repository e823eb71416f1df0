"""Detectors: boxes, classes, masks and key points of objects."""

from typing import TYPE_CHECKING

from weft.library.packages import lazy_package

if TYPE_CHECKING:
    from weft.vision.models.detection.faster_rcnn import *
    from weft.vision.models.detection.fcos import *
    from weft.vision.models.detection.keypoint_rcnn import *
    from weft.vision.models.detection.mask_rcnn import *
    from weft.vision.models.detection.retinanet import *
    from weft.vision.models.detection.ssd import *
    from weft.vision.models.detection.ssdlite import *
else:
    __all__ = lazy_package(
        __name__,
        {
            "faster_rcnn": """
                FasterRCNN FasterRCNN_ResNet50_FPN_Weights FasterRCNN_ResNet50_FPN_V2_Weights
                FasterRCNN_MobileNet_V3_Large_FPN_Weights FasterRCNN_MobileNet_V3_Large_320_FPN_Weights
                fasterrcnn_resnet50_fpn fasterrcnn_resnet50_fpn_v2 fasterrcnn_mobilenet_v3_large_fpn
                fasterrcnn_mobilenet_v3_large_320_fpn
            """,
            "fcos": "FCOS FCOS_ResNet50_FPN_Weights fcos_resnet50_fpn",
            "keypoint_rcnn": "KeypointRCNN KeypointRCNN_ResNet50_FPN_Weights keypointrcnn_resnet50_fpn",
            "mask_rcnn": """
                MaskRCNN MaskRCNN_ResNet50_FPN_Weights MaskRCNN_ResNet50_FPN_V2_Weights maskrcnn_resnet50_fpn
                maskrcnn_resnet50_fpn_v2
            """,
            "retinanet": """
                RetinaNet RetinaNet_ResNet50_FPN_Weights RetinaNet_ResNet50_FPN_V2_Weights retinanet_resnet50_fpn
                retinanet_resnet50_fpn_v2
            """,
            "ssd": "SSD300_VGG16_Weights ssd300_vgg16",
            "ssdlite": "SSDLite320_MobileNet_V3_Large_Weights ssdlite320_mobilenet_v3_large",
        },
        "anchor_utils backbone_utils generalized_rcnn image_list roi_heads rpn transform",
    )
