"""DeepLab v3 (arXiv:1706.05587): features seen at several rates of dilation at once."""

from __future__ import annotations

from collections.abc import Sequence

import weft
from weft import Tensor, nn
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import strided_stages
from weft.vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from weft.vision.models.resnet import ResNet50_Weights, ResNet101_Weights, resnet50, resnet101
from weft.vision.models.segmentation._utils import _SimpleSegmentationModel, resized, segmenter, with_features
from weft.vision.models.segmentation.fcn import DILATED, FCNHead

__all__ = [
    "DeepLabV3",
    "DeepLabV3_ResNet50_Weights",
    "DeepLabV3_ResNet101_Weights",
    "DeepLabV3_MobileNet_V3_Large_Weights",
    "deeplabv3_mobilenet_v3_large",
    "deeplabv3_resnet50",
    "deeplabv3_resnet101",
]


class DeepLabV3_ResNet50_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = pretrained("deeplabv3_resnet50_coco-cd0a2569.pth")
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class DeepLabV3_ResNet101_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = pretrained("deeplabv3_resnet101_coco-586e9e4e.pth")
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class DeepLabV3_MobileNet_V3_Large_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = pretrained("deeplabv3_mobilenet_v3_large-fc3c493d.pth")
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class DeepLabV3(_SimpleSegmentationModel):
    """DeepLab v3 (arXiv:1706.05587); the arguments are those of `_SimpleSegmentationModel`."""


def conv_norm_relu(in_channels: int, out_channels: int, kernel_size: int = 1, dilation: int = 1) -> list[nn.Module]:
    """A convolution that keeps the size, its normalization and ReLU."""
    padding = dilation * (kernel_size // 2)
    conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding, dilation=dilation, bias=False)
    return [conv, nn.BatchNorm2d(out_channels), nn.ReLU()]


class ASPPConv(nn.Sequential):
    """Features at one rate of dilation."""

    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        super().__init__(*conv_norm_relu(in_channels, out_channels, 3, dilation))


class ASPPPooling(nn.Sequential):
    """Features of the image as a whole, the same at each place."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(nn.AdaptiveAvgPool2d(1), *conv_norm_relu(in_channels, out_channels))

    def forward(self, x: Tensor) -> Tensor:
        """Spread the image's features over its places."""
        size = x.shape[-2:]
        return resized(super().forward(x), size)


class ASPP(nn.Module):
    """Atrous spatial pyramid pooling.

    Parameters
    ----------
    in_channels : int
    atrous_rates : sequence of int
        The rates of dilation.
    out_channels : int
    """

    def __init__(self, in_channels: int, atrous_rates: Sequence[int], out_channels: int = 256) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            [
                nn.Sequential(*conv_norm_relu(in_channels, out_channels)),
                *(ASPPConv(in_channels, out_channels, rate) for rate in atrous_rates),
                ASPPPooling(in_channels, out_channels),
            ]
        )
        joined = len(self.convs) * out_channels
        self.project = nn.Sequential(*conv_norm_relu(joined, out_channels), nn.Dropout(0.5))

    def forward(self, x: Tensor) -> Tensor:
        """Join what is seen at all rates."""
        return self.project(weft.cat([conv(x) for conv in self.convs], dim=1))


class DeepLabHead(nn.Sequential):
    """`ASPP`, a convolution, and one to the classes."""

    def __init__(self, in_channels: int, num_classes: int, atrous_rates: Sequence[int] = (12, 24, 36)) -> None:
        super().__init__(ASPP(in_channels, atrous_rates), *conv_norm_relu(256, 256, 3), nn.Conv2d(256, num_classes, 1))


def _deeplabv3_resnet(backbone: nn.Module, num_classes: int, aux: bool) -> DeepLabV3:
    features = with_features(backbone, "layer4", "layer3" if aux else None)
    aux_classifier = FCNHead(1024, num_classes) if aux else None
    return DeepLabV3(features, DeepLabHead(2048, num_classes), aux_classifier)


def _deeplabv3_mobilenetv3(backbone: nn.Module, num_classes: int, aux: bool) -> DeepLabV3:
    layers = backbone.features
    stages = strided_stages(layers)
    last, early = stages[-1], stages[-4]  # a sixteenth and an eighth of the image's size
    features = with_features(layers, str(last), str(early) if aux else None)
    aux_classifier = FCNHead(layers[early].out_channels, num_classes) if aux else None
    return DeepLabV3(features, DeepLabHead(layers[last].out_channels, num_classes), aux_classifier)


deeplabv3_resnet50 = segmenter(
    "deeplabv3_resnet50",
    DeepLabV3_ResNet50_Weights,
    _deeplabv3_resnet,
    resnet50,
    ResNet50_Weights.IMAGENET1K_V1,
    replace_stride_with_dilation=DILATED,
)
deeplabv3_resnet101 = segmenter(
    "deeplabv3_resnet101",
    DeepLabV3_ResNet101_Weights,
    _deeplabv3_resnet,
    resnet101,
    ResNet101_Weights.IMAGENET1K_V1,
    replace_stride_with_dilation=DILATED,
)
deeplabv3_mobilenet_v3_large = segmenter(
    "deeplabv3_mobilenet_v3_large",
    DeepLabV3_MobileNet_V3_Large_Weights,
    _deeplabv3_mobilenetv3,
    mobilenet_v3_large,
    MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    dilated=True,
)
