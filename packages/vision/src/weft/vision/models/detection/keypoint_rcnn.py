"""Keypoint R-CNN (arXiv:1703.06870): Faster R-CNN with key points of each object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft import Tensor, nn
from weft.nn import functional as F
from weft.nn import init
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import _ovewrite_named_param
from weft.vision.models.detection._builder import detector, resnet50_backbone
from weft.vision.models.detection._dense import check_type
from weft.vision.models.detection.anchor_utils import AnchorGenerator
from weft.vision.models.detection.faster_rcnn import FasterRCNN, init_relu_convolutions
from weft.vision.models.resnet import ResNet50_Weights
from weft.vision.ops import MultiScaleRoIAlign

__all__ = ["KeypointRCNN", "KeypointRCNN_ResNet50_FPN_Weights", "keypointrcnn_resnet50_fpn"]


class KeypointRCNN_ResNet50_FPN_Weights(WeightsEnum):
    COCO_LEGACY = pretrained("keypointrcnn_resnet50_fpn_coco-9f466800.pth")
    COCO_V1 = pretrained("keypointrcnn_resnet50_fpn_coco-fc266e95.pth")
    DEFAULT = COCO_V1


class KeypointRCNN(FasterRCNN):
    """Keypoint R-CNN: targets have ``"keypoints"`` (M, K, 3) of x, y and visibility too.

    Findings have ``"keypoints"`` (M, K, 3), and ``"keypoints_scores"`` (M, K).

    Parameters
    ----------
    backbone, ..., bbox_reg_weights
        As of `FasterRCNN`; the shorter side of images in training is by default one of six, from 640 to 800.
    keypoint_roi_pool, keypoint_head, keypoint_predictor : Module, optional
        See `RoIHeads`.
    num_keypoints : int, optional
        By default 17; None if ``keypoint_predictor`` is given.
    **kwargs
        For `GeneralizedRCNNTransform`.

    Raises
    ------
    ValueError
        If both ``num_keypoints`` and ``keypoint_predictor`` are given; and as `FasterRCNN`.
    TypeError
        For a pooling of another class; and as `FasterRCNN`.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int | None = None,
        min_size: Any = None,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        rpn_anchor_generator: AnchorGenerator | None = None,
        rpn_head: nn.Module | None = None,
        rpn_pre_nms_top_n_train: int = 2000,
        rpn_pre_nms_top_n_test: int = 1000,
        rpn_post_nms_top_n_train: int = 2000,
        rpn_post_nms_top_n_test: int = 1000,
        rpn_nms_thresh: float = 0.7,
        rpn_fg_iou_thresh: float = 0.7,
        rpn_bg_iou_thresh: float = 0.3,
        rpn_batch_size_per_image: int = 256,
        rpn_positive_fraction: float = 0.5,
        rpn_score_thresh: float = 0.0,
        box_roi_pool: MultiScaleRoIAlign | None = None,
        box_head: nn.Module | None = None,
        box_predictor: nn.Module | None = None,
        box_score_thresh: float = 0.05,
        box_nms_thresh: float = 0.5,
        box_detections_per_img: int = 100,
        box_fg_iou_thresh: float = 0.5,
        box_bg_iou_thresh: float = 0.5,
        box_batch_size_per_image: int = 512,
        box_positive_fraction: float = 0.25,
        bbox_reg_weights: tuple[float, float, float, float] | None = None,
        keypoint_roi_pool: MultiScaleRoIAlign | None = None,
        keypoint_head: nn.Module | None = None,
        keypoint_predictor: nn.Module | None = None,
        num_keypoints: int | None = None,
        **kwargs: Any,
    ) -> None:
        check_type("keypoint_roi_pool", keypoint_roi_pool, MultiScaleRoIAlign)
        if num_keypoints is not None and keypoint_predictor is not None:
            raise ValueError("num_keypoints should be None when keypoint_predictor is specified")
        if keypoint_roi_pool is None:
            keypoint_roi_pool = MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=14, sampling_ratio=2)
        if keypoint_head is None:
            keypoint_head = KeypointRCNNHeads(backbone.out_channels, (512,) * 8)
        if keypoint_predictor is None:
            keypoint_predictor = KeypointRCNNPredictor(512, 17 if num_keypoints is None else num_keypoints)
        super().__init__(
            backbone,
            num_classes,
            (640, 672, 704, 736, 768, 800) if min_size is None else min_size,
            max_size,
            image_mean,
            image_std,
            rpn_anchor_generator,
            rpn_head,
            rpn_pre_nms_top_n_train,
            rpn_pre_nms_top_n_test,
            rpn_post_nms_top_n_train,
            rpn_post_nms_top_n_test,
            rpn_nms_thresh,
            rpn_fg_iou_thresh,
            rpn_bg_iou_thresh,
            rpn_batch_size_per_image,
            rpn_positive_fraction,
            rpn_score_thresh,
            box_roi_pool,
            box_head,
            box_predictor,
            box_score_thresh,
            box_nms_thresh,
            box_detections_per_img,
            box_fg_iou_thresh,
            box_bg_iou_thresh,
            box_batch_size_per_image,
            box_positive_fraction,
            bbox_reg_weights,
            **kwargs,
        )
        self.roi_heads.keypoint_roi_pool = keypoint_roi_pool
        self.roi_heads.keypoint_head = keypoint_head
        self.roi_heads.keypoint_predictor = keypoint_predictor


class KeypointRCNNHeads(nn.Sequential):
    """Convolutions on the features of boxes.

    Parameters
    ----------
    in_channels : int
    layers : sequence of int
        Their channels.
    """

    def __init__(self, in_channels: int, layers: Sequence[int]) -> None:
        blocks: list[nn.Module] = []
        for before, after in zip((in_channels, *layers), layers):
            blocks += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(inplace=True)]
        super().__init__(*blocks)
        init_relu_convolutions(self)


class KeypointRCNNPredictor(nn.Module):
    """Logits of each key point's place, at four times the size of the features.

    Parameters
    ----------
    in_channels, num_keypoints : int
    """

    def __init__(self, in_channels: int, num_keypoints: int) -> None:
        super().__init__()
        self.kps_score_lowres = nn.ConvTranspose2d(in_channels, num_keypoints, 4, stride=2, padding=1)
        init.kaiming_normal_(self.kps_score_lowres.weight, mode="fan_out", nonlinearity="relu")
        init.constant_(self.kps_score_lowres.bias, 0)  # type: ignore[arg-type]
        self.up_scale = 2
        self.out_channels = num_keypoints

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_keypoints, 4 * H, 4 * W)."""
        return F.interpolate(
            self.kps_score_lowres(x),
            scale_factor=float(self.up_scale),
            mode="bilinear",
            align_corners=False,
            recompute_scale_factor=False,
        )


def _resnet50(num_classes: int, *backbone: Any, num_keypoints: int | None = None, **kwargs: Any) -> KeypointRCNN:
    points = 17 if num_keypoints is None else num_keypoints
    return KeypointRCNN(resnet50_backbone(*backbone), num_classes, num_keypoints=points, **kwargs)


def _points_of(weights: WeightsEnum, kwargs: dict[str, Any]) -> None:
    _ovewrite_named_param(kwargs, "num_keypoints", len(weights.meta["keypoint_names"]))


def _former(kwargs: dict[str, Any]) -> WeightsEnum:
    """What ``pretrained`` meant: True, or "legacy" for an early state of the training."""
    return KeypointRCNN_ResNet50_FPN_Weights["COCO_LEGACY" if kwargs["pretrained"] == "legacy" else "COCO_V1"]


keypointrcnn_resnet50_fpn = detector(
    "keypointrcnn_resnet50_fpn",
    KeypointRCNN_ResNet50_FPN_Weights,
    _resnet50,
    default_backbone=ResNet50_Weights.IMAGENET1K_V1,
    num_classes=2,
    former=_former,
    adapt=_points_of,
    without_eps=KeypointRCNN_ResNet50_FPN_Weights.COCO_V1,
    option=("num_keypoints", "weights_backbone"),
)
