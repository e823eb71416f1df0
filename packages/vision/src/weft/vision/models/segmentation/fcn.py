"""Fully convolutional networks (arXiv:1411.4038), on dilated residual networks."""

from __future__ import annotations

from weft import nn
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models.resnet import ResNet50_Weights, ResNet101_Weights, resnet50, resnet101
from weft.vision.models.segmentation._utils import _SimpleSegmentationModel, segmenter, with_features

__all__ = ["FCN", "FCN_ResNet50_Weights", "FCN_ResNet101_Weights", "fcn_resnet50", "fcn_resnet101"]


DILATED = [False, True, True]  # the last two stages of a residual network keep the size


class FCN_ResNet50_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = pretrained("fcn_resnet50_coco-1167a1af.pth")
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class FCN_ResNet101_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = pretrained("fcn_resnet101_coco-7ecb50ca.pth")
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class FCN(_SimpleSegmentationModel):
    """A fully convolutional network (arXiv:1411.4038); the arguments are those of `_SimpleSegmentationModel`."""


class FCNHead(nn.Sequential):
    """A convolution to a quarter of the channels, and one to the classes."""

    def __init__(self, in_channels: int, channels: int) -> None:
        inner = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, inner, 3, padding=1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(inner, channels, 1),
        )


def _fcn_resnet(backbone: nn.Module, num_classes: int, aux: bool) -> FCN:
    features = with_features(backbone, "layer4", "layer3" if aux else None)
    aux_classifier = FCNHead(1024, num_classes) if aux else None
    return FCN(features, FCNHead(2048, num_classes), aux_classifier)


fcn_resnet50 = segmenter(
    "fcn_resnet50",
    FCN_ResNet50_Weights,
    _fcn_resnet,
    resnet50,
    ResNet50_Weights.IMAGENET1K_V1,
    replace_stride_with_dilation=DILATED,
)
fcn_resnet101 = segmenter(
    "fcn_resnet101",
    FCN_ResNet101_Weights,
    _fcn_resnet,
    resnet101,
    ResNet101_Weights.IMAGENET1K_V1,
    replace_stride_with_dilation=DILATED,
)
