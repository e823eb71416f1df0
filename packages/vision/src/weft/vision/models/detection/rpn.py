"""Region proposals: which anchors are likely to hold an object, and how they are to be moved (arXiv:1506.01497)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.nn import init
from weft.vision.models.detection._utils import BalancedPositiveNegativeSampler, BoxCoder, Matcher, per_anchor
from weft.vision.models.detection.anchor_utils import AnchorGenerator
from weft.vision.models.detection.image_list import ImageList
from weft.vision.ops import Conv2dNormActivation, batched_nms, box_iou, clip_boxes_to_image, remove_small_boxes

__all__ = ["RPNHead", "RegionProposalNetwork", "concat_box_prediction_layers"]

Target = dict[str, Tensor]


class RPNHead(nn.Module):
    """From each map of features to a logit and a code for each anchor.

    Parameters
    ----------
    in_channels, num_anchors : int
    conv_depth : int
        Convolutions before the predictions.
    """

    _version = 2

    def __init__(self, in_channels: int, num_anchors: int, conv_depth: int = 1) -> None:
        super().__init__()
        convs = [Conv2dNormActivation(in_channels, in_channels, 3, norm_layer=None) for _ in range(conv_depth)]
        self.conv = nn.Sequential(*convs)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors, 1)
        self.bbox_pred = nn.Conv2d(in_channels, num_anchors * 4, 1)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                init.normal_(layer.weight, std=0.01)
                if layer.bias is not None:
                    init.zeros_(layer.bias)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, metadata: Any, *args: Any) -> None:
        if metadata.get("version", 1) < 2:  # there was one convolution
            for name in ("weight", "bias"):
                if f"{prefix}conv.{name}" in state_dict:
                    state_dict[f"{prefix}conv.0.0.{name}"] = state_dict.pop(f"{prefix}conv.{name}")
        super()._load_from_state_dict(state_dict, prefix, metadata, *args)

    def forward(self, x: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Return logits (N, anchors, H, W) and codes (N, anchors * 4, H, W) of each map."""
        hidden = [self.conv(features) for features in x]
        return [self.cls_logits(each) for each in hidden], [self.bbox_pred(each) for each in hidden]


def concat_box_prediction_layers(box_cls: list[Tensor], box_regression: list[Tensor]) -> tuple[Tensor, Tensor]:
    """The predictions of all maps, in the order of the anchors.

    Parameters
    ----------
    box_cls, box_regression : list of Tensor, shapes (N, anchors * classes, H, W) and (N, anchors * 4, H, W)

    Returns
    -------
    two Tensors, shapes (N * all anchors, classes) and (N * all anchors, 4)
    """
    logits = [
        per_anchor(scores, scores.shape[1] // (codes.shape[1] // 4)) for scores, codes in zip(box_cls, box_regression)
    ]
    codes = [per_anchor(each, 4) for each in box_regression]
    return weft.cat(logits, dim=1).flatten(0, -2), weft.cat(codes, dim=1).reshape(-1, 4)


class RegionProposalNetwork(nn.Module):
    """Propose regions of images.

    Parameters
    ----------
    anchor_generator, head : Module
        Such as `AnchorGenerator` and `RPNHead`.
    fg_iou_thresh, bg_iou_thresh : float
        From which overlap with a target an anchor is positive, and below which it is negative.
    batch_size_per_image : int
        How many anchors of an image the losses are computed from.
    positive_fraction : float
        The share of positive ones among them.
    pre_nms_top_n, post_nms_top_n : dict
        How many proposals are kept of each map, and of each image in the end: ``"training"`` and ``"testing"``.
    nms_thresh, score_thresh : float
        How much proposals of a map overlap at most, and what their score is at least.
    """

    def __init__(
        self,
        anchor_generator: AnchorGenerator,
        head: nn.Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        pre_nms_top_n: dict[str, int],
        post_nms_top_n: dict[str, int],
        nms_thresh: float,
        score_thresh: float = 0.0,
    ) -> None:
        super().__init__()
        self.anchor_generator = anchor_generator
        self.head = head
        self.box_coder = BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self.box_similarity = box_iou
        self.proposal_matcher = Matcher(fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True)
        self.fg_bg_sampler = BalancedPositiveNegativeSampler(batch_size_per_image, positive_fraction)
        self._pre_nms_top_n = pre_nms_top_n
        self._post_nms_top_n = post_nms_top_n
        self.nms_thresh = nms_thresh
        self.score_thresh = score_thresh
        self.min_size = 1e-3

    def pre_nms_top_n(self) -> int:
        """How many proposals of each map are compared with each other."""
        return self._pre_nms_top_n["training" if self.training else "testing"]

    def post_nms_top_n(self) -> int:
        """How many proposals of each image are returned."""
        return self._post_nms_top_n["training" if self.training else "testing"]

    def assign_targets_to_anchors(
        self, anchors: list[Tensor], targets: list[Target]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """For each image's anchors, 1 for an object, 0 for none, -1 for neither; and the boxes of the targets."""
        labels, matched = [], []
        for boxes, target in zip(anchors, targets):
            truth = target["boxes"]
            if truth.numel() == 0:
                labels.append(weft.zeros(len(boxes), device=boxes.device))
                matched.append(weft.zeros(boxes.shape, device=boxes.device))
                continue
            matches = self.proposal_matcher(self.box_similarity(truth, boxes))
            label = (matches >= 0).float()
            label[matches == Matcher.BETWEEN_THRESHOLDS] = -1.0
            labels.append(label)
            matched.append(truth[matches.clamp(min=0)])
        return labels, matched

    def _get_top_n_idx(self, objectness: Tensor, num_anchors_per_level: list[int]) -> Tensor:
        """The best anchors of each map, (N, some)."""
        found, offset = [], 0
        for logits in objectness.split(num_anchors_per_level, 1):
            most = min(self.pre_nms_top_n(), logits.shape[1])
            found.append(logits.topk(most, dim=1)[1] + offset)
            offset += logits.shape[1]
        return weft.cat(found, dim=1)

    def filter_proposals(
        self,
        proposals: Tensor,
        objectness: Tensor,
        image_shapes: list[tuple[int, int]],
        num_anchors_per_level: list[int],
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Keep the best proposals that do not overlap.

        Parameters
        ----------
        proposals : Tensor, shape (N, all anchors, 4)
        objectness : Tensor, shape (N * all anchors, 1)
            Logits.
        image_shapes : list of (int, int)
            Height and width of each image.
        num_anchors_per_level : list of int

        Returns
        -------
        two lists of Tensor, shapes (some, 4) and (some,)
            The boxes of each image, the best first, and their scores.
        """
        logits = objectness.detach().reshape(len(proposals), -1)
        top = self._get_top_n_idx(logits, num_anchors_per_level)
        counts = weft.tensor(num_anchors_per_level, device=logits.device)
        levels = weft.arange(len(counts), device=logits.device).repeat_interleave(counts)
        rows = weft.arange(len(proposals), device=logits.device)[:, None]
        scores = logits[rows, top].sigmoid()
        found = [self._apart(*each) for each in zip(proposals[rows, top], scores, levels[top], image_shapes)]
        return [boxes for boxes, _ in found], [scores for _, scores in found]

    def _apart(
        self, boxes: Tensor, scores: Tensor, levels: Tensor, image_shape: tuple[int, int]
    ) -> tuple[Tensor, Tensor]:
        """The best proposals of one image that do not overlap, and their scores."""
        boxes = clip_boxes_to_image(boxes, image_shape)
        large = remove_small_boxes(boxes, self.min_size)
        keep = large[scores[large] >= self.score_thresh]
        boxes, scores, levels = boxes[keep], scores[keep], levels[keep]
        keep = batched_nms(boxes, scores, levels, self.nms_thresh)[: self.post_nms_top_n()]
        return boxes[keep], scores[keep]

    def compute_loss(
        self,
        objectness: Tensor,
        pred_bbox_deltas: Tensor,
        labels: Sequence[Tensor],
        regression_targets: Sequence[Tensor],
    ) -> tuple[Tensor, Tensor]:
        """The losses of the logits and of the codes, from a sample of the anchors.

        Parameters
        ----------
        objectness, pred_bbox_deltas : Tensor, shapes (N * all anchors, 1) and (N * all anchors, 4)
        labels, regression_targets : sequence of Tensor, shapes (all anchors,) and (all anchors, 4)
        """
        positive, negative = (weft.where(weft.cat(each))[0] for each in self.fg_bg_sampler(list(labels)))
        sampled = weft.cat([positive, negative])
        label, codes = weft.cat(list(labels)), weft.cat(list(regression_targets))
        moved = F.smooth_l1_loss(pred_bbox_deltas[positive], codes[positive], beta=1 / 9, reduction="sum")
        scored = F.binary_cross_entropy_with_logits(objectness.flatten()[sampled], label[sampled])
        return scored, moved / sampled.numel()

    def forward(
        self, images: ImageList, features: dict[str, Tensor], targets: list[Target] | None = None
    ) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Propose regions.

        Parameters
        ----------
        images : ImageList
        features : dict of Tensor, shape (N, C, H, W)
        targets : list of dict, optional
            With ``"boxes"``; needed in training.

        Returns
        -------
        list of Tensor, shape (some, 4)
            The proposals of each image, the best first.
        dict of Tensor
            In training, the losses by name.
        """
        maps = list(features.values())
        logits, codes = self.head(maps)
        anchors = self.anchor_generator(images, maps)
        per_level = [each[0].numel() for each in logits]
        objectness, deltas = concat_box_prediction_layers(logits, codes)
        # The proposals are places to look at, not predictions: no gradient flows through them.
        proposals = self.box_coder.decode(deltas.detach(), anchors).reshape(len(anchors), -1, 4)
        boxes, _ = self.filter_proposals(proposals, objectness, images.image_sizes, per_level)
        if not self.training:
            return boxes, {}
        if targets is None:
            raise ValueError("targets should not be None")
        labels, matched = self.assign_targets_to_anchors(anchors, targets)
        scored, moved = self.compute_loss(objectness, deltas, labels, self.box_coder.encode(matched, anchors))
        return boxes, {"loss_objectness": scored, "loss_rpn_box_reg": moved}
