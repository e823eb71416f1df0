"""RetinaNet (arXiv:1708.02002): every place of a feature pyramid predicts, under the focal loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import init
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models.detection._builder import detector, resnet50_backbone
from weft.vision.models.detection._dense import DenseDetector, check_backbone, check_type, imagenet_transform
from weft.vision.models.detection._utils import BoxCoder, Matcher, box_loss, per_anchor
from weft.vision.models.detection.anchor_utils import AnchorGenerator
from weft.vision.models.resnet import ResNet50_Weights
from weft.vision.ops import Conv2dNormActivation, box_iou, sigmoid_focal_loss

__all__ = [
    "RetinaNet",
    "RetinaNet_ResNet50_FPN_Weights",
    "RetinaNet_ResNet50_FPN_V2_Weights",
    "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
]

Target = dict[str, Tensor]
Maker = Callable[..., nn.Module]


class RetinaNet_ResNet50_FPN_Weights(WeightsEnum):
    COCO_V1 = pretrained("retinanet_resnet50_fpn_coco-eeacb38b.pth")
    DEFAULT = COCO_V1


class RetinaNet_ResNet50_FPN_V2_Weights(WeightsEnum):
    COCO_V1 = pretrained("retinanet_resnet50_fpn_v2_coco-5905b1c5.pth")
    DEFAULT = COCO_V1


def _default_anchorgen() -> AnchorGenerator:
    sizes = tuple(tuple(int(side * 2 ** (third / 3)) for third in range(3)) for side in (32, 64, 128, 256, 512))
    return AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * len(sizes))


class RetinaNetHead(nn.Module):
    """Logits and codes for each anchor of each map.

    Parameters
    ----------
    in_channels, num_anchors, num_classes : int
    norm_layer : callable, optional
    """

    def __init__(self, in_channels: int, num_anchors: int, num_classes: int, norm_layer: Maker | None = None) -> None:
        super().__init__()
        self.classification_head = RetinaNetClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer=norm_layer
        )
        self.regression_head = RetinaNetRegressionHead(in_channels, num_anchors, norm_layer=norm_layer)

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        matched_idxs: list[Tensor],
    ) -> dict[str, Tensor]:
        """The losses by name; ``matched_idxs`` has each anchor's target, or less than 0."""
        return {
            "classification": self.classification_head.compute_loss(targets, head_outputs, matched_idxs),
            "bbox_regression": self.regression_head.compute_loss(targets, head_outputs, anchors, matched_idxs),
        }

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        """Return ``"cls_logits"`` (N, all anchors, classes) and ``"bbox_regression"`` (N, all anchors, 4)."""
        return {"cls_logits": self.classification_head(x), "bbox_regression": self.regression_head(x)}


class _Tower(nn.Module):
    """Four convolutions, and one to the predictions; the first version had no normalization between them."""

    _version = 2

    def __init__(self, in_channels: int, norm_layer: Maker | None) -> None:
        super().__init__()
        layers = (Conv2dNormActivation(in_channels, in_channels, norm_layer=norm_layer) for _ in range(4))
        self.conv = nn.Sequential(*layers)

    def _init_convolutions(self) -> None:
        for layer in self.conv.modules():
            if isinstance(layer, nn.Conv2d):
                init.normal_(layer.weight, std=0.01)
                if layer.bias is not None:
                    init.zeros_(layer.bias)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, metadata: Any, *args: Any) -> None:
        if metadata.get("version", 1) < 2:
            for number in range(4):
                for name in ("weight", "bias"):
                    former = f"{prefix}conv.{2 * number}.{name}"
                    if former in state_dict:
                        state_dict[f"{prefix}conv.{number}.0.{name}"] = state_dict.pop(former)
        super()._load_from_state_dict(state_dict, prefix, metadata, *args)


class RetinaNetClassificationHead(_Tower):
    """Logits of classes for each anchor.

    Parameters
    ----------
    in_channels, num_anchors, num_classes : int
    prior_probability : float
        Of each class, before training.
    norm_layer : callable, optional
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        prior_probability: float = 0.01,
        norm_layer: Maker | None = None,
    ) -> None:
        super().__init__(in_channels, norm_layer)
        self._init_convolutions()
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, padding=1)
        init.normal_(self.cls_logits.weight, std=0.01)
        init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))
        self.num_classes = num_classes
        self.num_anchors = num_anchors

    def compute_loss(
        self, targets: list[Target], head_outputs: dict[str, Tensor], matched_idxs: list[Tensor]
    ) -> Tensor:
        """The focal loss over the number of positive anchors, averaged over images."""
        losses = []
        for target, logits, matches in zip(targets, head_outputs["cls_logits"], matched_idxs):
            positive = weft.where(matches >= 0)[0]
            truth = weft.zeros_like(logits)
            truth[positive, target["labels"][matches[positive]]] = 1.0
            valid = matches != Matcher.BETWEEN_THRESHOLDS
            loss = sigmoid_focal_loss(logits[valid], truth[valid], reduction="sum")
            losses.append(loss / max(1, len(positive)))
        return sum(losses[1:], losses[0]) / len(targets)

    def forward(self, x: list[Tensor]) -> Tensor:
        """Return the logits (N, all anchors, num_classes)."""
        return weft.cat([per_anchor(self.cls_logits(self.conv(each)), self.num_classes) for each in x], dim=1)


class RetinaNetRegressionHead(_Tower):
    """Codes of boxes for each anchor.

    Parameters
    ----------
    in_channels, num_anchors : int
    norm_layer : callable, optional
    """

    def __init__(self, in_channels: int, num_anchors: int, norm_layer: Maker | None = None) -> None:
        super().__init__(in_channels, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, padding=1)
        init.normal_(self.bbox_reg.weight, std=0.01)
        init.constant_(self.bbox_reg.bias, 0.0)  # type: ignore[arg-type]
        self._init_convolutions()
        self.box_coder = BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self._loss_type = "l1"

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        matched_idxs: list[Tensor],
    ) -> Tensor:
        """The loss of the positive anchors over their number, averaged over images."""
        losses = []
        for target, codes, boxes, matches in zip(targets, head_outputs["bbox_regression"], anchors, matched_idxs):
            positive = weft.where(matches >= 0)[0]
            truth = target["boxes"][matches[positive]]
            loss = box_loss(self._loss_type, self.box_coder, boxes[positive], truth, codes[positive])
            losses.append(loss / max(1, len(positive)))
        return sum(losses[1:], losses[0]) / max(1, len(targets))

    def forward(self, x: list[Tensor]) -> Tensor:
        """Return the codes (N, all anchors, 4)."""
        return weft.cat([per_anchor(self.bbox_reg(self.conv(each)), 4) for each in x], dim=1)


class RetinaNet(DenseDetector):
    """RetinaNet; see `Detector` for what it takes and returns.

    Parameters
    ----------
    backbone : Module
        From images to features, with ``out_channels``.
    num_classes : int
    min_size, max_size : int
        The sides of resized images: the shorter one, and what the longer one is at most.
    image_mean, image_std : list of float, optional
        By default those of ImageNet.
    anchor_generator, head : Module, optional
        By default three sizes and three ratios at each place, and `RetinaNetHead`.
    proposal_matcher : Matcher, optional
    score_thresh, nms_thresh : float
        What a score is more than, and how much boxes of a class overlap at most.
    detections_per_img : int
    fg_iou_thresh, bg_iou_thresh : float
        From which overlap with a target an anchor is positive, and below which it is negative.
    topk_candidates : int
        How many of each map are compared with each other.
    **kwargs
        For `GeneralizedRCNNTransform`.

    Raises
    ------
    ValueError
        If the backbone has no ``out_channels``.
    TypeError
        For an anchor generator of another class.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int,
        min_size: Any = 800,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        anchor_generator: AnchorGenerator | None = None,
        head: nn.Module | None = None,
        proposal_matcher: Matcher | None = None,
        score_thresh: float = 0.05,
        nms_thresh: float = 0.5,
        detections_per_img: int = 300,
        fg_iou_thresh: float = 0.5,
        bg_iou_thresh: float = 0.4,
        topk_candidates: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        check_backbone(backbone)
        check_type("anchor_generator", anchor_generator, AnchorGenerator)
        if anchor_generator is None:
            anchor_generator = _default_anchorgen()
        if head is None:
            head = RetinaNetHead(backbone.out_channels, anchor_generator.num_anchors_per_location()[0], num_classes)
        if proposal_matcher is None:
            proposal_matcher = Matcher(fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True)
        self.backbone = backbone
        self.anchor_generator = anchor_generator
        self.head = head
        self.proposal_matcher = proposal_matcher
        self.box_coder = BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self.transform = imagenet_transform(min_size, max_size, image_mean, image_std, **kwargs)
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.detections_per_img, self.topk_candidates = detections_per_img, topk_candidates

    def compute_loss(
        self, targets: list[Target], head_outputs: dict[str, Tensor], anchors: list[Tensor]
    ) -> dict[str, Tensor]:
        """The losses by name, of outputs (N, all anchors, columns) and each image's anchors."""
        matches = match_anchors(self.proposal_matcher, targets, anchors)
        return self.head.compute_loss(targets, head_outputs, anchors, matches)

    def _losses(
        self, targets: list[Target], outputs: dict[str, Tensor], anchors: list[Tensor], counts: list[int]
    ) -> dict[str, Tensor]:
        return self.compute_loss(targets, outputs, anchors)

    def _scores(self, outputs: dict[str, Tensor]) -> Tensor:
        return outputs["cls_logits"].sigmoid()

    def _decode(self, codes: Tensor, anchors: Tensor) -> Tensor:
        return self.box_coder.decode_single(codes, anchors)


def match_anchors(matcher: Matcher, targets: list[Target], anchors: list[Tensor]) -> list[Tensor]:
    """Each anchor's target by overlap, or less than 0 where there is none."""
    return [
        matcher(box_iou(target["boxes"], boxes))
        if target["boxes"].numel()
        else weft.full((len(boxes),), -1, dtype=weft.int64, device=boxes.device)
        for target, boxes in zip(targets, anchors)
    ]


def _resnet50(num_classes: int, *args: Any, **kwargs: Any) -> RetinaNet:
    return RetinaNet(resnet50_backbone(*args, p6p7=(256, 256)), num_classes, **kwargs)


def _resnet50_v2(num_classes: int, *args: Any, **kwargs: Any) -> RetinaNet:
    backbone = resnet50_backbone(*args, frozen=False, p6p7=(2048, 256))
    generator = _default_anchorgen()
    anchors = generator.num_anchors_per_location()[0]
    head = RetinaNetHead(backbone.out_channels, anchors, num_classes, norm_layer=partial(nn.GroupNorm, 32))
    head.regression_head._loss_type = "giou"
    return RetinaNet(backbone, num_classes, anchor_generator=generator, head=head, **kwargs)


retinanet_resnet50_fpn = detector(
    "retinanet_resnet50_fpn",
    RetinaNet_ResNet50_FPN_Weights,
    _resnet50,
    default_backbone=ResNet50_Weights.IMAGENET1K_V1,
    without_eps=RetinaNet_ResNet50_FPN_Weights.COCO_V1,
)
retinanet_resnet50_fpn_v2 = detector("retinanet_resnet50_fpn_v2", RetinaNet_ResNet50_FPN_V2_Weights, _resnet50_v2)
