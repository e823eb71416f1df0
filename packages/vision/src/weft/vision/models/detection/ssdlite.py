"""SSDlite (arXiv:1801.04381): SSD with separable convolutions, on MobileNet v3 (arXiv:1905.02244)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from weft import Tensor, nn
from weft.nn import init
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import strided_stages
from weft.vision.models.detection._builder import detector
from weft.vision.models.detection.anchor_utils import DefaultBoxGenerator
from weft.vision.models.detection.backbone_utils import freeze_stages
from weft.vision.models.detection.ssd import SSD, SSDScoringHead, map_sizes, warn_of_size
from weft.vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from weft.vision.ops import Conv2dNormActivation

__all__ = ["SSDLite320_MobileNet_V3_Large_Weights", "ssdlite320_mobilenet_v3_large"]

Maker = Callable[..., nn.Module]


class SSDLite320_MobileNet_V3_Large_Weights(WeightsEnum):
    COCO_V1 = pretrained("ssdlite320_mobilenet_v3_large_coco-a79551df.pth")
    DEFAULT = COCO_V1


def _prediction_block(in_channels: int, out_channels: int, kernel_size: int, norm_layer: Maker) -> nn.Sequential:
    """A convolution within each channel, and one across them."""
    relu6: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
    depthwise = Conv2dNormActivation(in_channels, in_channels, kernel_size, groups=in_channels, **relu6)
    return nn.Sequential(depthwise, nn.Conv2d(in_channels, out_channels, 1))


def _extra_block(in_channels: int, out_channels: int, norm_layer: Maker) -> nn.Sequential:
    """A map of half the size."""
    inner = out_channels // 2
    relu6: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
    return nn.Sequential(
        Conv2dNormActivation(in_channels, inner, 1, **relu6),
        Conv2dNormActivation(inner, inner, 3, 2, groups=inner, **relu6),
        Conv2dNormActivation(inner, out_channels, 1, **relu6),
    )


def _normal_init(model: nn.Module) -> None:
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            init.normal_(layer.weight, mean=0.0, std=0.03)
            if layer.bias is not None:
                init.zeros_(layer.bias)


class SSDLiteHead(nn.Module):
    """Logits and codes for each box of each map.

    Parameters
    ----------
    in_channels, num_anchors : list of int
        Of each map.
    num_classes : int
    norm_layer : callable
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int, norm_layer: Maker) -> None:
        super().__init__()
        self.classification_head = SSDLiteClassificationHead(in_channels, num_anchors, num_classes, norm_layer)
        self.regression_head = SSDLiteRegressionHead(in_channels, num_anchors, norm_layer)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        """Return ``"bbox_regression"`` (N, all boxes, 4) and ``"cls_logits"`` (N, all boxes, num_classes)."""
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


class SSDLiteClassificationHead(SSDScoringHead):
    """Logits of classes for each box."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int, norm_layer: Maker) -> None:
        super().__init__(_blocks(in_channels, num_anchors, num_classes, norm_layer), num_classes)


class SSDLiteRegressionHead(SSDScoringHead):
    """Codes for each box."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], norm_layer: Maker) -> None:
        super().__init__(_blocks(in_channels, num_anchors, 4, norm_layer), 4)


def _blocks(in_channels: list[int], num_anchors: list[int], columns: int, norm_layer: Maker) -> nn.ModuleList:
    sizes = zip(in_channels, num_anchors)
    blocks = nn.ModuleList([_prediction_block(each, columns * anchors, 3, norm_layer) for each, anchors in sizes])
    _normal_init(blocks)
    return blocks


class SSDLiteFeatureExtractorMobileNet(nn.Module):
    """The maps of MobileNet, and further ones.

    Parameters
    ----------
    backbone : Sequential
        The features of a MobileNet.
    c4_pos : int
        The block whose expanded features are the first map.
    norm_layer : callable
    width_mult : float
    min_depth : int
        Of the further maps' channels: a factor, and what they are at least.

    Raises
    ------
    ValueError
        If that block has a shortcut.
    """

    def __init__(
        self, backbone: nn.Sequential, c4_pos: int, norm_layer: Maker, width_mult: float = 1.0, min_depth: int = 16
    ) -> None:
        super().__init__()
        block = backbone[c4_pos]
        if block.use_res_connect:
            raise ValueError("backbone[c4_pos].use_res_connect should be False")
        self.features = nn.Sequential(
            nn.Sequential(*backbone[:c4_pos], block.block[0]),
            nn.Sequential(block.block[1:], *backbone[c4_pos + 1 :]),
        )
        widths = [max(min_depth, int(depth * width_mult)) for depth in (512, 256, 256, 128)]
        pairs = zip((backbone[-1].out_channels, *widths), widths)
        self.extra = nn.ModuleList([_extra_block(before, after, norm_layer) for before, after in pairs])
        _normal_init(self.extra)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """Return the maps of images (N, 3, H, W), by their numbers."""
        outputs = OrderedDict()
        for number, layer in enumerate((*self.features, *self.extra)):
            x = layer(x)
            outputs[str(number)] = x
        return outputs


def _mobilenet_extractor(backbone: nn.Module, trainable_layers: int, norm_layer: Maker) -> nn.Module:
    stages = strided_stages(backbone.features)
    freeze_stages(backbone.features, stages, trainable_layers)
    return SSDLiteFeatureExtractorMobileNet(backbone.features, stages[-2], norm_layer)


def _mobilenet(
    num_classes: int,
    weights: Any,
    progress: bool,
    trainable_layers: int,
    is_trained: bool,
    norm_layer: Maker | None = None,
    **kwargs: Any,
) -> SSD:
    warn_of_size(kwargs)
    norm = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.03)
    # A backbone that was not trained before has a narrower end (table 6 of the paper on MobileNet v3).
    network = mobilenet_v3_large(
        weights=weights, progress=progress, norm_layer=norm, reduced_tail=weights is None, **kwargs
    )
    if weights is None:
        _normal_init(network)
    backbone = _mobilenet_extractor(network, trainable_layers, norm)
    generator = DefaultBoxGenerator([[2, 3] for _ in range(6)], min_ratio=0.2, max_ratio=0.95)
    size = (320, 320)
    head = SSDLiteHead(*map_sizes(backbone, generator, size), num_classes, norm)
    options: dict[str, Any] = {
        "score_thresh": 0.001,
        "nms_thresh": 0.55,
        "detections_per_img": 300,
        "topk_candidates": 300,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
    }
    return SSD(backbone, generator, size, num_classes, head=head, **{**options, **kwargs})


ssdlite320_mobilenet_v3_large = detector(
    "ssdlite320_mobilenet_v3_large",
    SSDLite320_MobileNet_V3_Large_Weights,
    _mobilenet,
    backbone_weights=MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    default_backbone=MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    layers=(6, 6),
    option=("norm_layer", "kwargs"),
)
