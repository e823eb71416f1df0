"""Mask R-CNN (arXiv:1703.06870): Faster R-CNN with a mask for each object."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from weft import nn
from weft.nn import init
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models.detection._builder import detector, resnet50_backbone
from weft.vision.models.detection._dense import check_type
from weft.vision.models.detection.anchor_utils import AnchorGenerator
from weft.vision.models.detection.faster_rcnn import FasterRCNN, init_relu_convolutions, v2_parts
from weft.vision.models.resnet import ResNet50_Weights
from weft.vision.ops import Conv2dNormActivation, MultiScaleRoIAlign

__all__ = [
    "MaskRCNN",
    "MaskRCNN_ResNet50_FPN_Weights",
    "MaskRCNN_ResNet50_FPN_V2_Weights",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
]


class MaskRCNN_ResNet50_FPN_Weights(WeightsEnum):
    COCO_V1 = pretrained("maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth")
    DEFAULT = COCO_V1


class MaskRCNN_ResNet50_FPN_V2_Weights(WeightsEnum):
    COCO_V1 = pretrained("maskrcnn_resnet50_fpn_v2_coco-73cbd019.pth")
    DEFAULT = COCO_V1


class MaskRCNN(FasterRCNN):
    """Mask R-CNN: targets have ``"masks"`` (M, H, W) too, and findings ``"masks"`` (M, 1, H, W) from 0 to 1.

    Parameters
    ----------
    backbone, ..., bbox_reg_weights
        As of `FasterRCNN`.
    mask_roi_pool, mask_head, mask_predictor : Module, optional
        See `RoIHeads`; without ``mask_predictor``, one for ``num_classes`` is made.
    **kwargs
        For `GeneralizedRCNNTransform`.

    Raises
    ------
    ValueError
        If both ``num_classes`` and ``mask_predictor`` are given; and as `FasterRCNN`.
    TypeError
        For a pooling of another class; and as `FasterRCNN`.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int | None = None,
        min_size: Any = 800,
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
        mask_roi_pool: MultiScaleRoIAlign | None = None,
        mask_head: nn.Module | None = None,
        mask_predictor: nn.Module | None = None,
        **kwargs: Any,
    ) -> None:
        check_type("mask_roi_pool", mask_roi_pool, MultiScaleRoIAlign)
        if num_classes is not None and mask_predictor is not None:
            raise ValueError("num_classes should be None when mask_predictor is specified")
        if mask_roi_pool is None:
            mask_roi_pool = MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=14, sampling_ratio=2)
        if mask_head is None:
            mask_head = MaskRCNNHeads(backbone.out_channels, (256, 256, 256, 256), 1)
        if mask_predictor is None:
            mask_predictor = MaskRCNNPredictor(256, 256, num_classes)
        super().__init__(
            backbone,
            num_classes,
            min_size,
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
        self.roi_heads.mask_roi_pool = mask_roi_pool
        self.roi_heads.mask_head = mask_head
        self.roi_heads.mask_predictor = mask_predictor


class MaskRCNNHeads(nn.Sequential):
    """Convolutions on the features of boxes.

    Parameters
    ----------
    in_channels : int
    layers : sequence of int
        Their channels.
    dilation : int
    norm_layer : callable, optional
    """

    _version = 2

    def __init__(
        self,
        in_channels: int,
        layers: Sequence[int],
        dilation: int,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__(
            *(
                Conv2dNormActivation(before, after, 3, 1, dilation, dilation=dilation, norm_layer=norm_layer)
                for before, after in zip((in_channels, *layers), layers)
            )
        )
        init_relu_convolutions(self)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, metadata: Any, *args: Any) -> None:
        if metadata.get("version", 1) < 2:  # the layers had names
            for number in range(len(self)):
                for name in ("weight", "bias"):
                    former = f"{prefix}mask_fcn{number + 1}.{name}"
                    if former in state_dict:
                        state_dict[f"{prefix}{number}.0.{name}"] = state_dict.pop(former)
        super()._load_from_state_dict(state_dict, prefix, metadata, *args)


class MaskRCNNPredictor(nn.Sequential):
    """Logits of each class's mask, at twice the size of the features.

    Parameters
    ----------
    in_channels, dim_reduced, num_classes : int
    """

    def __init__(self, in_channels: int, dim_reduced: int, num_classes: Any) -> None:
        super().__init__(
            OrderedDict(
                conv5_mask=nn.ConvTranspose2d(in_channels, dim_reduced, 2, 2),
                relu=nn.ReLU(inplace=True),
                mask_fcn_logits=nn.Conv2d(dim_reduced, num_classes, 1),
            )
        )
        for name, parameter in self.named_parameters():
            if name.endswith("weight"):
                init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")


def _resnet50(num_classes: int, *backbone: Any, **kwargs: Any) -> MaskRCNN:
    return MaskRCNN(resnet50_backbone(*backbone), num_classes, **kwargs)


def _resnet50_v2(num_classes: int, *args: Any, **kwargs: Any) -> MaskRCNN:
    backbone = resnet50_backbone(*args, frozen=False, norm_layer=nn.BatchNorm2d)
    parts = v2_parts(backbone)
    parts["mask_head"] = MaskRCNNHeads(backbone.out_channels, [256] * 4, 1, norm_layer=nn.BatchNorm2d)
    return MaskRCNN(backbone, num_classes, **parts, **kwargs)


maskrcnn_resnet50_fpn = detector(
    "maskrcnn_resnet50_fpn",
    MaskRCNN_ResNet50_FPN_Weights,
    _resnet50,
    default_backbone=ResNet50_Weights.IMAGENET1K_V1,
    without_eps=MaskRCNN_ResNet50_FPN_Weights.COCO_V1,
)
maskrcnn_resnet50_fpn_v2 = detector("maskrcnn_resnet50_fpn_v2", MaskRCNN_ResNet50_FPN_V2_Weights, _resnet50_v2)
