"""Operations of vision: boxes, losses and blocks of models, with the names of ``torchvision.ops``."""

from weft.vision.ops import boxes as boxes
from weft.vision.ops import misc as misc
from weft.vision.ops.boxes import (
    batched_nms,
    box_area,
    box_convert,
    box_iou,
    clip_boxes_to_image,
    generalized_box_iou,
    masks_to_boxes,
    nms,
    remove_small_boxes,
)
from weft.vision.ops.focal_loss import sigmoid_focal_loss
from weft.vision.ops.misc import (
    MLP,
    Conv2dNormActivation,
    Conv3dNormActivation,
    FrozenBatchNorm2d,
    Permute,
    SqueezeExcitation,
)
from weft.vision.ops.stochastic_depth import StochasticDepth, stochastic_depth

__all__ = [
    "nms",
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "generalized_box_iou",
    "clip_boxes_to_image",
    "remove_small_boxes",
    "masks_to_boxes",
    "sigmoid_focal_loss",
    "stochastic_depth",
    "StochasticDepth",
    "FrozenBatchNorm2d",
    "Conv2dNormActivation",
    "Conv3dNormActivation",
    "SqueezeExcitation",
    "MLP",
    "Permute",
]
