"""SSD (arXiv:1512.02325): default boxes on maps of several sizes, without a pyramid."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.nn import init
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models.detection._builder import detector
from weft.vision.models.detection._dense import apart, imagenet_transform
from weft.vision.models.detection._utils import BoxCoder, SSDMatcher, per_anchor, retrieve_out_channels
from weft.vision.models.detection.anchor_utils import DefaultBoxGenerator
from weft.vision.models.detection.backbone_utils import freeze_stages
from weft.vision.models.detection.generalized_rcnn import Detector
from weft.vision.models.detection.image_list import ImageList
from weft.vision.models.detection.retinanet import match_anchors
from weft.vision.models.vgg import VGG16_Weights, vgg16
from weft.vision.ops import clip_boxes_to_image

__all__ = ["SSD300_VGG16_Weights", "ssd300_vgg16"]

Target = dict[str, Tensor]


class SSD300_VGG16_Weights(WeightsEnum):
    COCO_V1 = pretrained("ssd300_vgg16_coco-b556d3b4.pth")
    DEFAULT = COCO_V1


def xavier_convolutions(model: nn.Module) -> None:
    """Draw the weights of convolutions, and set their biases to 0."""
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                init.zeros_(layer.bias)


class SSDHead(nn.Module):
    """Logits and codes for each box of each map.

    Parameters
    ----------
    in_channels, num_anchors : list of int
        Of each map.
    num_classes : int
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        super().__init__()
        self.classification_head = SSDClassificationHead(in_channels, num_anchors, num_classes)
        self.regression_head = SSDRegressionHead(in_channels, num_anchors)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        """Return ``"bbox_regression"`` (N, all boxes, 4) and ``"cls_logits"`` (N, all boxes, num_classes)."""
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


class SSDScoringHead(nn.Module):
    """A module for each map, and its predictions for each box.

    Parameters
    ----------
    module_list : ModuleList
    num_columns : int
        How many numbers are predicted for a box.
    """

    def __init__(self, module_list: nn.ModuleList, num_columns: int) -> None:
        super().__init__()
        self.module_list = module_list
        self.num_columns = num_columns

    def forward(self, x: list[Tensor]) -> Tensor:
        """Return (N, all boxes, num_columns)."""
        outputs = (module(features) for module, features in zip(self.module_list, x))
        return weft.cat([per_anchor(each, self.num_columns) for each in outputs], dim=1)


class SSDClassificationHead(SSDScoringHead):
    """Logits of classes for each box."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        super().__init__(_convolutions(in_channels, num_anchors, num_classes), num_classes)


class SSDRegressionHead(SSDScoringHead):
    """Codes for each box."""

    def __init__(self, in_channels: list[int], num_anchors: list[int]) -> None:
        super().__init__(_convolutions(in_channels, num_anchors, 4), 4)


def _convolutions(in_channels: list[int], num_anchors: list[int], columns: int) -> nn.ModuleList:
    sizes = zip(in_channels, num_anchors)
    layers = nn.ModuleList([nn.Conv2d(channels, columns * anchors, 3, padding=1) for channels, anchors in sizes])
    xavier_convolutions(layers)
    return layers


class SSD(Detector):
    """SSD; see `Detector` for what it takes and returns.

    Parameters
    ----------
    backbone : Module
        From images to maps of features; with ``out_channels`` it says how many channels each has.
    anchor_generator : DefaultBoxGenerator
    size : (int, int)
        Width and height to which images are resized.
    num_classes : int
        The background among them.
    image_mean, image_std : list of float, optional
        By default those of ImageNet.
    head : Module, optional
    score_thresh, nms_thresh : float
        What a score is more than, and how much boxes of a class overlap at most.
    detections_per_img : int
    iou_thresh : float
        From which overlap with a target a box is positive.
    topk_candidates : int
        How many of each class are compared with each other.
    positive_fraction : float
        Of the boxes in the loss of the classes: the negative ones are those with the largest loss.
    **kwargs
        For `GeneralizedRCNNTransform`.

    Raises
    ------
    ValueError
        If the generator has not as many maps as the backbone.
    """

    def __init__(
        self,
        backbone: nn.Module,
        anchor_generator: DefaultBoxGenerator,
        size: tuple[int, int],
        num_classes: int,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        head: nn.Module | None = None,
        score_thresh: float = 0.01,
        nms_thresh: float = 0.45,
        detections_per_img: int = 200,
        iou_thresh: float = 0.5,
        topk_candidates: int = 400,
        positive_fraction: float = 0.25,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.anchor_generator = anchor_generator
        self.box_coder = BoxCoder(weights=(10.0, 10.0, 5.0, 5.0))
        self.head = SSDHead(*map_sizes(backbone, anchor_generator, size), num_classes) if head is None else head
        self.proposal_matcher = SSDMatcher(iou_thresh)
        sizes: dict[str, Any] = {"size_divisible": 1, "fixed_size": size}
        self.transform = imagenet_transform(min(size), max(size), image_mean, image_std, **sizes, **kwargs)
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.detections_per_img, self.topk_candidates = detections_per_img, topk_candidates
        self.neg_to_pos_ratio = (1.0 - positive_fraction) / positive_fraction

    def _detect(
        self, images: ImageList, features: dict[str, Tensor], targets: list[Target] | None
    ) -> tuple[dict[str, Tensor], list[Target]]:
        maps = list(features.values())
        outputs, anchors = self.head(maps), self.anchor_generator(images, maps)
        if not self.training:
            return {}, self.postprocess_detections(outputs, anchors, images.image_sizes)
        assert targets is not None  # checked
        matches = match_anchors(self.proposal_matcher, targets, anchors)
        return self.compute_loss(targets, outputs, anchors, matches), []

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        matched_idxs: list[Tensor],
    ) -> dict[str, Tensor]:
        """The losses by name, each over the number of positive boxes.

        Parameters
        ----------
        targets : list of dict
        head_outputs : dict of Tensor, shape (N, all boxes, columns)
        anchors, matched_idxs : list of Tensor, shapes (all boxes, 4) and (all boxes,)
            Of each image; the target of each box, or less than 0.
        """
        moved, classes, count = [], [], 0
        for target, codes, boxes, matches in zip(targets, head_outputs["bbox_regression"], anchors, matched_idxs):
            positive = weft.where(matches >= 0)[0]
            index = matches[positive]
            truth = self.box_coder.encode_single(target["boxes"][index], boxes[positive])
            moved.append(F.smooth_l1_loss(codes[positive], truth, reduction="sum"))
            label = target["labels"].new_zeros(len(matches))
            label[positive] = target["labels"][index]
            classes.append(label)
            count += len(positive)
        scored = self._classification_loss(head_outputs["cls_logits"], weft.stack(classes))
        count = max(1, count)
        return {"bbox_regression": weft.stack(moved).sum() / count, "classification": scored / count}

    def _classification_loss(self, logits: Tensor, classes: Tensor) -> Tensor:
        """The sum over the positive boxes, and those of the background that lose most."""
        losses = F.cross_entropy(logits.flatten(0, 1), classes.flatten(), reduction="none").reshape(classes.shape)
        positive = classes > 0
        most = self.neg_to_pos_ratio * positive.sum(1, keepdim=True)
        order = losses.detach().masked_fill(positive, -weft.inf).sort(1, descending=True)[1]
        hard = order.sort(1)[1] < most  # by rank
        return losses[positive].sum() + losses[hard].sum()

    def postprocess_detections(
        self, head_outputs: dict[str, Tensor], image_anchors: list[Tensor], image_shapes: list[tuple[int, int]]
    ) -> list[Target]:
        """What is found in each image, the best first, of outputs (N, all boxes, columns)."""
        scores = F.softmax(head_outputs["cls_logits"], dim=-1)
        each = zip(head_outputs["bbox_regression"], scores, image_anchors, image_shapes)
        return [self._best(*parts) for parts in each]

    def _best(self, codes: Tensor, scores: Tensor, anchors: Tensor, size: tuple[int, int]) -> Target:
        """What is found among codes (boxes, 4) and scores (boxes, classes); class 0 is no object."""
        boxes = clip_boxes_to_image(self.box_coder.decode_single(codes, anchors), size)
        best, places = scores[:, 1:].T.topk(min(self.topk_candidates, len(scores)), dim=1)  # class by class
        labels, ranks = weft.where(best > self.score_thresh)
        return apart(
            boxes[places[labels, ranks]], best[labels, ranks], labels + 1, self.nms_thresh, self.detections_per_img
        )


def map_sizes(
    backbone: nn.Module, generator: DefaultBoxGenerator, size: tuple[int, int]
) -> tuple[list[int], list[int]]:
    """The channels of each map, and the boxes at each of its places.

    Raises
    ------
    ValueError
        If the generator has not as many maps as the backbone.
    """
    channels = getattr(backbone, "out_channels", None) or retrieve_out_channels(backbone, size)
    if len(channels) != len(generator.aspect_ratios):
        raise ValueError(
            f"The length of the output channels from the backbone ({len(channels)}) do not match the length of the "
            f"anchor generator aspect ratios ({len(generator.aspect_ratios)})"
        )
    return channels, generator.num_anchors_per_location()


class SSDFeatureExtractorVGG(nn.Module):
    """The maps of VGG, and further ones.

    Parameters
    ----------
    backbone : Sequential
        The features of a `VGG`.
    highres : bool
        Whether there is one map more, as for images of 512 pixels.
    """

    def __init__(self, backbone: nn.Sequential, highres: bool) -> None:
        super().__init__()
        pools = [place for place, layer in enumerate(backbone) if isinstance(layer, nn.MaxPool2d)]
        third, fourth = pools[2:4]
        backbone[third].ceil_mode = True  # the maps have the paper's sizes
        self.scale_weight = nn.Parameter(weft.ones(512) * 20)
        self.features = nn.Sequential(*backbone[:fourth])
        extra = [
            _narrowed(1024, 256, 512, 3, padding=1, stride=2),
            _narrowed(512, 128, 256, 3, padding=1, stride=2),
            _narrowed(256, 128, 256, 3),
            _narrowed(256, 128, 256, 3),
            *([_narrowed(256, 128, 256, 4)] if highres else []),
        ]
        xavier_convolutions(nn.ModuleList(extra))
        dilated = nn.Sequential(
            nn.MaxPool2d(3, stride=1, padding=1, ceil_mode=False),
            nn.Conv2d(512, 1024, 3, padding=6, dilation=6),
            nn.ReLU(inplace=True),
            nn.Conv2d(1024, 1024, 1),
            nn.ReLU(inplace=True),
        )
        xavier_convolutions(dilated)
        self.extra = nn.ModuleList([nn.Sequential(*backbone[fourth:-1], dilated), *extra])

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """Return the maps of images (N, 3, H, W), by their numbers."""
        x = self.features(x)
        outputs = [self.scale_weight.reshape(1, -1, 1, 1) * F.normalize(x)]
        for layer in self.extra:
            x = layer(x)
            outputs.append(x)
        return OrderedDict((str(number), each) for number, each in enumerate(outputs))


def _narrowed(before: int, inner: int, after: int, kernel_size: int, **options: Any) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, inner, 1),
        nn.ReLU(inplace=True),
        nn.Conv2d(inner, after, kernel_size, **options),
        nn.ReLU(inplace=True),
    )


def _vgg_extractor(backbone: nn.Module, highres: bool, trainable_layers: int) -> SSDFeatureExtractorVGG:
    features = backbone.features
    pools = [place for place, layer in enumerate(features) if isinstance(layer, nn.MaxPool2d)]
    freeze_stages(features, [0, *pools[:-1]], trainable_layers)
    return SSDFeatureExtractorVGG(features, highres)


def warn_of_size(kwargs: dict[str, Any]) -> None:
    """Warn of a size that a model does not take."""
    if "size" in kwargs:
        warnings.warn("The size of the model is already fixed; ignoring the parameter.", stacklevel=4)


def _vgg16(
    num_classes: int, weights: Any, progress: bool, trainable_layers: int, is_trained: bool, **kwargs: Any
) -> SSD:
    warn_of_size(kwargs)
    backbone = _vgg_extractor(vgg16(weights=weights, progress=progress), False, trainable_layers)
    generator = DefaultBoxGenerator(
        [[2], [2, 3], [2, 3], [2, 3], [2], [2]],
        scales=[0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05],
        steps=[8, 16, 32, 64, 100, 300],
    )
    # The backbone was trained on pixels from 0 to 255, less their means.
    pixels: dict[str, Any] = {"image_mean": [0.48235, 0.45882, 0.40784], "image_std": [1.0 / 255.0] * 3}
    return SSD(backbone, generator, (300, 300), num_classes, **{**pixels, **kwargs})


ssd300_vgg16 = detector(
    "ssd300_vgg16",
    SSD300_VGG16_Weights,
    _vgg16,
    backbone_weights=VGG16_Weights.IMAGENET1K_FEATURES,
    default_backbone=VGG16_Weights.IMAGENET1K_FEATURES,
    layers=(5, 4),
)
