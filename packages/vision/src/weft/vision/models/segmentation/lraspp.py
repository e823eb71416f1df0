"""LR-ASPP, the light head of MobileNet v3 (arXiv:1905.02244)."""

from __future__ import annotations

from collections import OrderedDict

from weft import Tensor, nn
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import IntermediateLayerGetter, strided_stages
from weft.vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from weft.vision.models.segmentation._utils import resized, segmenter

__all__ = ["LRASPP", "LRASPP_MobileNet_V3_Large_Weights", "lraspp_mobilenet_v3_large"]


class LRASPP_MobileNet_V3_Large_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = pretrained("lraspp_mobilenet_v3_large-d234d4ea.pth")
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class LRASPP(nn.Module):
    """Lite R-ASPP.

    Parameters
    ----------
    backbone : Module
        From images (N, 3, H, W) to a dict with the features ``"low"`` and ``"high"``.
    low_channels, high_channels : int
        Of these features.
    num_classes : int
    inter_channels : int
        Between the head's layers.
    """

    def __init__(
        self, backbone: nn.Module, low_channels: int, high_channels: int, num_classes: int, inter_channels: int = 128
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input: Tensor) -> dict[str, Tensor]:
        """Score each pixel of images (N, 3, H, W): ``"out"``, (N, num_classes, H, W)."""
        scores = self.classifier(self.backbone(input))
        return OrderedDict(out=resized(scores, input.shape[-2:]))


class LRASPPHead(nn.Module):
    """High features under a gate of their mean, added to the low ones as scores."""

    def __init__(self, low_channels: int, high_channels: int, num_classes: int, inter_channels: int) -> None:
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels),
            nn.ReLU(inplace=True),
        )
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(high_channels, inter_channels, 1, bias=False), nn.Sigmoid()
        )
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input: dict[str, Tensor]) -> Tensor:
        """Score each place of the low features."""
        low, high = input["low"], input["high"]
        gated = self.cbr(high) * self.scale(high)
        gated = resized(gated, low.shape[-2:])
        return self.low_classifier(low) + self.high_classifier(gated)


def _lraspp_mobilenetv3(backbone: nn.Module, num_classes: int, aux: bool) -> LRASPP:
    layers = backbone.features
    stages = strided_stages(layers)
    low, high = stages[-4], stages[-1]  # an eighth and a sixteenth of the image's size
    features = IntermediateLayerGetter(layers, {str(low): "low", str(high): "high"})
    return LRASPP(features, layers[low].out_channels, layers[high].out_channels, num_classes)


lraspp_mobilenet_v3_large = segmenter(
    "lraspp_mobilenet_v3_large",
    LRASPP_MobileNet_V3_Large_Weights,
    _lraspp_mobilenetv3,
    mobilenet_v3_large,
    MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    aux=False,
    dilated=True,
)
