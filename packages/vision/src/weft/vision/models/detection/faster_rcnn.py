"""Faster R-CNN (arXiv:1506.01497, 1703.06870): proposals, and a classification of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft import Tensor, nn
from weft.nn import functional as F
from weft.nn import init
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models.detection._builder import detector, resnet50_backbone
from weft.vision.models.detection._dense import check_backbone, check_type, imagenet_transform
from weft.vision.models.detection.anchor_utils import AnchorGenerator
from weft.vision.models.detection.backbone_utils import _mobilenet_extractor
from weft.vision.models.detection.generalized_rcnn import GeneralizedRCNN
from weft.vision.models.detection.roi_heads import RoIHeads
from weft.vision.models.detection.rpn import RegionProposalNetwork, RPNHead
from weft.vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from weft.vision.models.resnet import ResNet50_Weights
from weft.vision.ops import Conv2dNormActivation, FrozenBatchNorm2d, MultiScaleRoIAlign

__all__ = [
    "FasterRCNN",
    "FasterRCNN_ResNet50_FPN_Weights",
    "FasterRCNN_ResNet50_FPN_V2_Weights",
    "FasterRCNN_MobileNet_V3_Large_FPN_Weights",
    "FasterRCNN_MobileNet_V3_Large_320_FPN_Weights",
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
]

RATIOS = (0.5, 1.0, 2.0)


class FasterRCNN_ResNet50_FPN_Weights(WeightsEnum):
    COCO_V1 = pretrained("fasterrcnn_resnet50_fpn_coco-258fb6c6.pth")
    DEFAULT = COCO_V1


class FasterRCNN_ResNet50_FPN_V2_Weights(WeightsEnum):
    COCO_V1 = pretrained("fasterrcnn_resnet50_fpn_v2_coco-dd69338a.pth")
    DEFAULT = COCO_V1


class FasterRCNN_MobileNet_V3_Large_FPN_Weights(WeightsEnum):
    COCO_V1 = pretrained("fasterrcnn_mobilenet_v3_large_fpn-fb6a3cc7.pth")
    DEFAULT = COCO_V1


class FasterRCNN_MobileNet_V3_Large_320_FPN_Weights(WeightsEnum):
    COCO_V1 = pretrained("fasterrcnn_mobilenet_v3_large_320_fpn-907ea3f9.pth")
    DEFAULT = COCO_V1


def _default_anchorgen() -> AnchorGenerator:
    sizes = ((32,), (64,), (128,), (256,), (512,))
    return AnchorGenerator(sizes, (RATIOS,) * len(sizes))


class FasterRCNN(GeneralizedRCNN):
    """Faster R-CNN; see `Detector` for what it takes and returns.

    Parameters
    ----------
    backbone : Module
        From images to features, with ``out_channels``.
    num_classes : int, optional
        The background among them; None if ``box_predictor`` is given.
    min_size, max_size : int
        The sides of resized images: the shorter one, and what the longer one is at most.
    image_mean, image_std : list of float, optional
        By default those of ImageNet.
    rpn_anchor_generator, rpn_head : Module, optional
    rpn_pre_nms_top_n_train, rpn_pre_nms_top_n_test, rpn_post_nms_top_n_train, rpn_post_nms_top_n_test : int
    rpn_nms_thresh, rpn_fg_iou_thresh, rpn_bg_iou_thresh : float
    rpn_batch_size_per_image : int
    rpn_positive_fraction, rpn_score_thresh : float
        See `RegionProposalNetwork`.
    box_roi_pool, box_head, box_predictor : Module, optional
    box_score_thresh, box_nms_thresh : float
    box_detections_per_img : int
    box_fg_iou_thresh, box_bg_iou_thresh : float
    box_batch_size_per_image : int
    box_positive_fraction : float
    bbox_reg_weights : four floats, optional
        See `RoIHeads`.
    **kwargs
        For `GeneralizedRCNNTransform`.

    Raises
    ------
    ValueError
        If the backbone has no ``out_channels``, or both or neither of ``num_classes`` and ``box_predictor`` are given.
    TypeError
        For an anchor generator or a pooling of another class.
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
        **kwargs: Any,
    ) -> None:
        check_backbone(backbone)
        check_type("rpn_anchor_generator", rpn_anchor_generator, AnchorGenerator)
        check_type("box_roi_pool", box_roi_pool, MultiScaleRoIAlign)
        if num_classes is not None and box_predictor is not None:
            raise ValueError("num_classes should be None when box_predictor is specified")
        if num_classes is None and box_predictor is None:
            raise ValueError("num_classes should not be None when box_predictor is not specified")
        channels = backbone.out_channels
        if rpn_anchor_generator is None:
            rpn_anchor_generator = _default_anchorgen()
        if rpn_head is None:
            rpn_head = RPNHead(channels, rpn_anchor_generator.num_anchors_per_location()[0])
        rpn = RegionProposalNetwork(
            rpn_anchor_generator,
            rpn_head,
            rpn_fg_iou_thresh,
            rpn_bg_iou_thresh,
            rpn_batch_size_per_image,
            rpn_positive_fraction,
            {"training": rpn_pre_nms_top_n_train, "testing": rpn_pre_nms_top_n_test},
            {"training": rpn_post_nms_top_n_train, "testing": rpn_post_nms_top_n_test},
            rpn_nms_thresh,
            score_thresh=rpn_score_thresh,
        )
        if box_roi_pool is None:
            box_roi_pool = MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=7, sampling_ratio=2)
        if box_head is None:
            box_head = TwoMLPHead(channels * box_roi_pool.output_size[0] ** 2, 1024)
        if box_predictor is None:
            box_predictor = FastRCNNPredictor(1024, num_classes)
        roi_heads = RoIHeads(
            box_roi_pool,
            box_head,
            box_predictor,
            box_fg_iou_thresh,
            box_bg_iou_thresh,
            box_batch_size_per_image,
            box_positive_fraction,
            bbox_reg_weights,
            box_score_thresh,
            box_nms_thresh,
            box_detections_per_img,
        )
        transform = imagenet_transform(min_size, max_size, image_mean, image_std, **kwargs)
        super().__init__(backbone, rpn, roi_heads, transform)


class TwoMLPHead(nn.Module):
    """Two linear layers on the features (N, ...) of boxes.

    Parameters
    ----------
    in_channels : int
        How many features a box has.
    representation_size : int
    """

    def __init__(self, in_channels: int, representation_size: int) -> None:
        super().__init__()
        self.fc6 = nn.Linear(in_channels, representation_size)
        self.fc7 = nn.Linear(representation_size, representation_size)

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, representation_size)."""
        return F.relu(self.fc7(F.relu(self.fc6(x.flatten(start_dim=1)))))


class FastRCNNConvFCHead(nn.Sequential):
    """Convolutions and linear layers on the features (N, C, H, W) of boxes.

    Parameters
    ----------
    input_size : (int, int, int)
        Channels, height and width.
    conv_layers, fc_layers : list of int
        The widths of the layers.
    norm_layer : callable, optional
    """

    def __init__(
        self,
        input_size: tuple[int, int, int],
        conv_layers: list[int],
        fc_layers: list[int],
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        channels, height, width = input_size
        layers: list[nn.Module] = []
        for following in conv_layers:
            layers.append(Conv2dNormActivation(channels, following, norm_layer=norm_layer))
            channels = following
        layers.append(nn.Flatten())
        channels *= height * width
        for following in fc_layers:
            layers += [nn.Linear(channels, following), nn.ReLU(inplace=True)]
            channels = following
        super().__init__(*layers)
        init_relu_convolutions(self)


def init_relu_convolutions(model: nn.Module) -> None:
    """Draw the weights of convolutions that ReLU follows, and set their biases to 0."""
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            if layer.bias is not None:
                init.zeros_(layer.bias)


class FastRCNNPredictor(nn.Module):
    """Logits of classes, and codes of boxes for each class.

    Parameters
    ----------
    in_channels, num_classes : int
    """

    def __init__(self, in_channels: int, num_classes: Any) -> None:
        super().__init__()
        self.cls_score = nn.Linear(in_channels, num_classes)
        self.bbox_pred = nn.Linear(in_channels, num_classes * 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits (N, num_classes) and codes (N, num_classes * 4).

        Raises
        ------
        AssertionError
            For features with a height or width other than 1.
        """
        if x.dim() == 4 and tuple(x.shape[2:]) != (1, 1):
            raise AssertionError(
                f"x has the wrong shape, expecting the last two dimensions to be [1,1] instead of {list(x.shape[2:])}"
            )
        x = x.flatten(start_dim=1)
        return self.cls_score(x), self.bbox_pred(x)


# Functions that build models -----------------------------------------------------------------------------


def v2_parts(backbone: nn.Module) -> dict[str, Any]:
    """The heads of the second version (arXiv:2111.11429): deeper, and with normalization."""
    generator = _default_anchorgen()
    channels = backbone.out_channels
    return {
        "rpn_anchor_generator": generator,
        "rpn_head": RPNHead(channels, generator.num_anchors_per_location()[0], conv_depth=2),
        "box_head": FastRCNNConvFCHead((channels, 7, 7), [256] * 4, [1024], norm_layer=nn.BatchNorm2d),
    }


def _resnet50(num_classes: int, *backbone: Any, **kwargs: Any) -> FasterRCNN:
    return FasterRCNN(resnet50_backbone(*backbone), num_classes, **kwargs)


def _resnet50_v2(num_classes: int, *args: Any, **kwargs: Any) -> FasterRCNN:
    backbone = resnet50_backbone(*args, frozen=False, norm_layer=nn.BatchNorm2d)
    return FasterRCNN(backbone, num_classes, **v2_parts(backbone), **kwargs)


def _mobilenet(
    num_classes: int, weights: Any, progress: bool, trainable_layers: int, is_trained: bool, **kwargs: Any
) -> FasterRCNN:
    norm_layer = FrozenBatchNorm2d if is_trained else nn.BatchNorm2d
    network = mobilenet_v3_large(weights=weights, progress=progress, norm_layer=norm_layer)
    backbone = _mobilenet_extractor(network, True, trainable_layers)
    generator = AnchorGenerator(((32, 64, 128, 256, 512),) * 3, (RATIOS,) * 3)
    options = {"rpn_score_thresh": 0.05, **kwargs}
    return FasterRCNN(backbone, num_classes, rpn_anchor_generator=generator, **options)


def _mobilenet_320(*args: Any, **kwargs: Any) -> FasterRCNN:
    sizes = {"min_size": 320, "max_size": 640, "rpn_pre_nms_top_n_test": 150, "rpn_post_nms_top_n_test": 150}
    return _mobilenet(*args, **{**sizes, **kwargs})


fasterrcnn_resnet50_fpn = detector(
    "fasterrcnn_resnet50_fpn",
    FasterRCNN_ResNet50_FPN_Weights,
    _resnet50,
    default_backbone=ResNet50_Weights.IMAGENET1K_V1,
    without_eps=FasterRCNN_ResNet50_FPN_Weights.COCO_V1,
)
fasterrcnn_resnet50_fpn_v2 = detector("fasterrcnn_resnet50_fpn_v2", FasterRCNN_ResNet50_FPN_V2_Weights, _resnet50_v2)
MOBILENET: dict[str, Any] = {
    "backbone_weights": MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    "default_backbone": MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    "layers": (6, 3),
}
fasterrcnn_mobilenet_v3_large_fpn = detector(
    "fasterrcnn_mobilenet_v3_large_fpn", FasterRCNN_MobileNet_V3_Large_FPN_Weights, _mobilenet, **MOBILENET
)
fasterrcnn_mobilenet_v3_large_320_fpn = detector(
    "fasterrcnn_mobilenet_v3_large_320_fpn", FasterRCNN_MobileNet_V3_Large_320_FPN_Weights, _mobilenet_320, **MOBILENET
)
