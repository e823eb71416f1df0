"""FCOS (arXiv:1904.01355): each place within an object predicts the distances to its edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.nn import init
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models.detection._builder import detector, resnet50_backbone
from weft.vision.models.detection._dense import DenseDetector, check_backbone, check_type, imagenet_transform
from weft.vision.models.detection._utils import BoxLinearCoder, per_anchor
from weft.vision.models.detection.anchor_utils import AnchorGenerator
from weft.vision.models.resnet import ResNet50_Weights
from weft.vision.ops import box_area, generalized_box_iou_loss, sigmoid_focal_loss

__all__ = ["FCOS", "FCOS_ResNet50_FPN_Weights", "fcos_resnet50_fpn"]

Target = dict[str, Tensor]
Maker = Callable[..., nn.Module]


class FCOS_ResNet50_FPN_Weights(WeightsEnum):
    COCO_V1 = pretrained("fcos_resnet50_fpn_coco-99b0c9b7.pth")
    DEFAULT = COCO_V1


class FCOSHead(nn.Module):
    """Logits, distances and centerness for each place of each map.

    Parameters
    ----------
    in_channels, num_anchors, num_classes : int
    num_convs : int
        Convolutions before the predictions.
    """

    def __init__(self, in_channels: int, num_anchors: int, num_classes: int, num_convs: int = 4) -> None:
        super().__init__()
        self.box_coder = BoxLinearCoder(normalize_by_size=True)
        self.classification_head = FCOSClassificationHead(in_channels, num_anchors, num_classes, num_convs)
        self.regression_head = FCOSRegressionHead(in_channels, num_anchors, num_convs)

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        matched_idxs: list[Tensor],
    ) -> dict[str, Tensor]:
        """The losses by name, each over the number of positive places.

        Parameters
        ----------
        targets : list of dict
        head_outputs : dict of Tensor, shape (N, places, columns)
        anchors, matched_idxs : list of Tensor, shapes (places, 4) and (places,)
            Of each image; the target of each place, or -1.
        """
        found = [matched_targets(target, matches) for target, matches in zip(targets, matched_idxs)]
        classes, boxes = weft.stack([each for each, _ in found]), weft.stack([each for _, each in found])
        places, logits = weft.stack(anchors), head_outputs["cls_logits"]
        positive = classes >= 0
        truth = weft.zeros_like(logits)
        truth[positive, classes[positive]] = 1.0
        predicted = self.box_coder.decode(head_outputs["bbox_regression"], places)
        central = centerness(self.box_coder.encode(places, boxes)[positive])
        losses = {
            "classification": sigmoid_focal_loss(logits, truth, reduction="sum"),
            "bbox_regression": generalized_box_iou_loss(predicted[positive], boxes[positive], reduction="sum"),
            "bbox_ctrness": F.binary_cross_entropy_with_logits(
                head_outputs["bbox_ctrness"].squeeze(dim=2)[positive], central, reduction="sum"
            ),
        }
        count = max(1, int(positive.sum()))
        return {name: loss / count for name, loss in losses.items()}

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        """Return ``"cls_logits"``, ``"bbox_regression"`` and ``"bbox_ctrness"``, (N, places, columns)."""
        distances, central = self.regression_head(x)
        return {"cls_logits": self.classification_head(x), "bbox_regression": distances, "bbox_ctrness": central}


def matched_targets(target: Target, matches: Tensor) -> tuple[Tensor, Tensor]:
    """The class of each place, or -1, and its box."""
    labels, boxes = target["labels"], target["boxes"]
    if not len(labels):
        return weft.full_like(matches, -1), boxes.new_zeros(len(matches), 4)
    index = matches.clamp(min=0)
    return labels[index].masked_fill(matches < 0, -1), boxes[index]


def centerness(distances: Tensor) -> Tensor:
    """From 0 at the edge of a box to 1 in the middle, by distances (N, 4) to left, top, right and bottom."""
    low, high = distances[:, :2], distances[:, 2:]
    return (weft.minimum(low, high) / weft.maximum(low, high)).prod(dim=1).sqrt()


def _convolutions(channels: int, count: int, norm_layer: Maker | None) -> nn.Sequential:
    norm = norm_layer or partial(nn.GroupNorm, 32)
    layers: list[nn.Module] = []
    for _ in range(count):
        layers += [nn.Conv2d(channels, channels, 3, padding=1), norm(channels), nn.ReLU()]
    return nn.Sequential(*layers)


def _init_convolutions(layers: Any) -> None:
    for layer in layers:
        if isinstance(layer, nn.Conv2d):
            init.normal_(layer.weight, std=0.01)
            if layer.bias is not None:
                init.zeros_(layer.bias)


class FCOSClassificationHead(nn.Module):
    """Logits of classes for each place.

    Parameters
    ----------
    in_channels, num_anchors, num_classes, num_convs : int
    prior_probability : float
        Of each class, before training.
    norm_layer : callable, optional
        By default `GroupNorm` with 32 groups.
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        num_convs: int = 4,
        prior_probability: float = 0.01,
        norm_layer: Maker | None = None,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.num_anchors = num_anchors
        self.conv = _convolutions(in_channels, num_convs, norm_layer)
        _init_convolutions(self.conv)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, padding=1)
        init.normal_(self.cls_logits.weight, std=0.01)
        init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))

    def forward(self, x: list[Tensor]) -> Tensor:
        """Return the logits (N, places, num_classes)."""
        return weft.cat([per_anchor(self.cls_logits(self.conv(each)), self.num_classes) for each in x], dim=1)


class FCOSRegressionHead(nn.Module):
    """Distances to the edges, and centerness, for each place.

    Parameters
    ----------
    in_channels, num_anchors, num_convs : int
    norm_layer : callable, optional
        By default `GroupNorm` with 32 groups.
    """

    def __init__(self, in_channels: int, num_anchors: int, num_convs: int = 4, norm_layer: Maker | None = None) -> None:
        super().__init__()
        self.conv = _convolutions(in_channels, num_convs, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, padding=1)
        self.bbox_ctrness = nn.Conv2d(in_channels, num_anchors, 3, padding=1)
        _init_convolutions([self.bbox_reg, self.bbox_ctrness, *self.conv])

    def forward(self, x: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Return distances (N, places, 4) in sizes of the anchors, and logits (N, places, 1)."""
        hidden = [self.conv(each) for each in x]
        distances = weft.cat([per_anchor(self.bbox_reg(each).relu(), 4) for each in hidden], dim=1)
        return distances, weft.cat([per_anchor(self.bbox_ctrness(each), 1) for each in hidden], dim=1)


class FCOS(DenseDetector):
    """FCOS; see `Detector` for what it takes and returns.

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
        By default a square as large as the stride at each place, and `FCOSHead`.
    center_sampling_radius : float
        How many strides a positive place is from the middle of its target at most.
    score_thresh, nms_thresh : float
        What a score is more than, and how much boxes of a class overlap at most.
    detections_per_img, topk_candidates : int
        How many findings there are in an image at most, and how many of each map are compared with each other.
    **kwargs
        For `GeneralizedRCNNTransform`.

    Raises
    ------
    ValueError
        If the backbone has no ``out_channels``, or there is more than one anchor at a place.
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
        center_sampling_radius: float = 1.5,
        score_thresh: float = 0.2,
        nms_thresh: float = 0.6,
        detections_per_img: int = 100,
        topk_candidates: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        check_backbone(backbone)
        check_type("anchor_generator", anchor_generator, AnchorGenerator)
        if anchor_generator is None:
            anchor_generator = AnchorGenerator(((8,), (16,), (32,), (64,), (128,)), ((1.0,),) * 5)
        anchors = anchor_generator.num_anchors_per_location()[0]
        if anchors != 1:
            raise ValueError(f"anchor_generator.num_anchors_per_location()[0] should be 1 instead of {anchors}")
        self.backbone = backbone
        self.anchor_generator = anchor_generator
        self.head = FCOSHead(backbone.out_channels, anchors, num_classes) if head is None else head
        self.box_coder = BoxLinearCoder(normalize_by_size=True)
        self.transform = imagenet_transform(min_size, max_size, image_mean, image_std, **kwargs)
        self.center_sampling_radius = center_sampling_radius
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.detections_per_img, self.topk_candidates = detections_per_img, topk_candidates

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        num_anchors_per_level: list[int],
    ) -> dict[str, Tensor]:
        """The losses by name, of outputs (N, places, columns) and each image's anchors."""
        matches = [
            self._matched(target["boxes"], boxes, num_anchors_per_level) for target, boxes in zip(targets, anchors)
        ]
        return self.head.compute_loss(targets, head_outputs, anchors, matches)

    def _matched(self, truth: Tensor, anchors: Tensor, counts: list[int]) -> Tensor:
        """The smallest target (M, 4) that each anchor (places, 4) may predict, or -1."""
        if truth.numel() == 0:
            return weft.full((len(anchors),), -1, dtype=weft.int64, device=anchors.device)
        centres, strides = (anchors[:, :2] + anchors[:, 2:]) / 2, anchors[:, 2] - anchors[:, 0]
        middles = (truth[:, :2] + truth[:, 2:]) / 2
        near = (centres[:, None] - middles).abs().amax(dim=2) < self.center_sampling_radius * strides[:, None]
        distances = weft.cat([centres[:, None] - truth[:, :2], truth[:, 2:] - centres[:, None]], dim=2)
        least, most = strides * 4, strides * 8  # each map is responsible for a range of sizes
        least[: counts[0]] = 0
        most[-counts[-1] :] = math.inf
        farthest = distances.amax(dim=2)
        fits = (farthest > least[:, None]) & (farthest < most[:, None])
        allowed = near & (distances.amin(dim=2) > 0) & fits
        value, best = (allowed.float() * (1e8 - box_area(truth))).max(dim=1)  # the smallest is worth most
        return best.masked_fill(value < 1e-5, -1)

    def _losses(
        self, targets: list[Target], outputs: dict[str, Tensor], anchors: list[Tensor], counts: list[int]
    ) -> dict[str, Tensor]:
        return self.compute_loss(targets, outputs, anchors, counts)

    def _scores(self, outputs: dict[str, Tensor]) -> Tensor:
        return (outputs["cls_logits"].sigmoid() * outputs["bbox_ctrness"].sigmoid()).sqrt()

    def _decode(self, codes: Tensor, anchors: Tensor) -> Tensor:
        return self.box_coder.decode(codes, anchors)


def _resnet50(num_classes: int, *args: Any, **kwargs: Any) -> FCOS:
    return FCOS(resnet50_backbone(*args, p6p7=(256, 256)), num_classes, **kwargs)


fcos_resnet50_fpn = detector(
    "fcos_resnet50_fpn",
    FCOS_ResNet50_FPN_Weights,
    _resnet50,
    default_backbone=ResNet50_Weights.IMAGENET1K_V1,
)
