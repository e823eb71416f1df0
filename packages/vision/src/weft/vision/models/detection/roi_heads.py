"""A closer look at proposed regions: classes and boxes, masks (arXiv:1703.06870) and key points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.vision.models.detection._utils import BalancedPositiveNegativeSampler, BoxCoder, Matcher
from weft.vision.ops import batched_nms, box_iou, clip_boxes_to_image, remove_small_boxes, roi_align

__all__ = ["RoIHeads"]

Target = dict[str, Tensor]


# Losses and results of each head -------------------------------------------------------------------------


def fastrcnn_loss(
    class_logits: Tensor, box_regression: Tensor, labels: Sequence[Tensor], regression_targets: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """The losses of classes and of boxes.

    Parameters
    ----------
    class_logits, box_regression : Tensor, shapes (N, classes) and (N, classes * 4)
    labels, regression_targets : sequence of Tensor, shapes (M,) and (M, 4)
        Image by image; class 0 is the background, whose boxes do not count.
    """
    label, codes = weft.cat(list(labels)), weft.cat(list(regression_targets))
    positive = weft.where(label > 0)[0]
    moved = box_regression.reshape(len(label), -1, 4)[positive, label[positive]]
    box_loss = F.smooth_l1_loss(moved, codes[positive], beta=1 / 9, reduction="sum")
    return F.cross_entropy(class_logits, label), box_loss / label.numel()


def maskrcnn_inference(x: Tensor, labels: Sequence[Tensor]) -> Sequence[Tensor]:
    """The mask (M, 1, H, W) of each object's class in logits (N, classes, H, W), image by image."""
    label = weft.cat(list(labels))
    masks = x.sigmoid()[weft.arange(len(label), device=label.device), label]
    return masks[:, None].split([len(each) for each in labels], 0)


def project_masks_on_boxes(gt_masks: Tensor, boxes: Tensor, matched_idxs: Tensor, M: int) -> Tensor:
    """What each box (N, 4) sees of the mask that it is matched with, (N, M, M)."""
    numbered = weft.cat([matched_idxs.to(boxes)[:, None], boxes], dim=1)
    return roi_align(gt_masks[:, None].to(boxes), numbered, (M, M), 1.0)[:, 0]


def maskrcnn_loss(
    mask_logits: Tensor,
    proposals: Sequence[Tensor],
    gt_masks: Sequence[Tensor],
    gt_labels: Sequence[Tensor],
    mask_matched_idxs: Sequence[Tensor],
) -> Tensor:
    """The loss of the masks (N, classes, M, M) of the right classes; 0 where there is no proposal.

    Parameters
    ----------
    mask_logits : Tensor, shape (N, classes, M, M)
    proposals, gt_masks, gt_labels, mask_matched_idxs : sequence of Tensor
        Image by image: boxes, masks (objects, H, W) and classes of the targets, and each box's target.
    """
    side = mask_logits.shape[-1]
    label = weft.cat([labels[matches] for labels, matches in zip(gt_labels, mask_matched_idxs)])
    targets = weft.cat([project_masks_on_boxes(*each, side) for each in zip(gt_masks, proposals, mask_matched_idxs)])
    if targets.numel() == 0:
        return mask_logits.sum() * 0
    rows = weft.arange(len(label), device=label.device)
    return F.binary_cross_entropy_with_logits(mask_logits[rows, label], targets)


def keypoints_to_heatmap(keypoints: Tensor, rois: Tensor, heatmap_size: int) -> tuple[Tensor, Tensor]:
    """The cells in which key points lie.

    Parameters
    ----------
    keypoints : Tensor, shape (N, K, 3)
        x, y and whether it is visible.
    rois : Tensor, shape (N, 4)
    heatmap_size : int
        Rows and columns of cells in each box.

    Returns
    -------
    two Tensors of int64, shape (N, K)
        The cell's number, row by row, or 0; and 1 where the point is visible and within its box.
    """
    low, high = rois[:, None, :2], rois[:, None, 2:]
    places = keypoints[..., :2]
    cells = ((places - low) * (heatmap_size / (high - low))).floor().long()
    cells = weft.where(places == high, heatmap_size - 1, cells)  # the far edge belongs to the last cell
    inside = ((cells >= 0) & (cells < heatmap_size)).all(dim=-1)
    valid = (inside & (keypoints[..., 2] > 0)).long()
    return (cells[..., 1] * heatmap_size + cells[..., 0]) * valid, valid


def heatmaps_to_keypoints(maps: Tensor, rois: Tensor) -> tuple[Tensor, Tensor]:
    """Where maps are the highest, in the coordinates of the image.

    Parameters
    ----------
    maps : Tensor, shape (N, K, H, W)
    rois : Tensor, shape (N, 4)
        The boxes that they cover.

    Returns
    -------
    Tensor of float32, shape (N, K, 3)
        x, y and 1.
    Tensor of float32, shape (N, K)
        The values there.
    """
    points, scores = [], []
    sizes = (rois[:, 2:] - rois[:, :2]).clamp(min=1)
    pixels = sizes.ceil()
    steps = sizes / pixels
    for heat, low, step, (width, height) in zip(maps, rois[:, :2], steps, pixels.int().tolist()):
        heat = F.interpolate(heat[:, None], size=(height, width), mode="bicubic", align_corners=False)[:, 0]
        best, place = heat.flatten(1).max(dim=1)
        cells = weft.stack([place % width, place // width], dim=1)
        spots = (cells.float() + 0.5) * step + low
        points.append(weft.cat([spots, weft.ones_like(spots[:, :1])], dim=1))
        scores.append(best)
    if not points:
        return weft.zeros(0, maps.shape[1], 3, device=maps.device), weft.zeros(0, maps.shape[1], device=maps.device)
    return weft.stack(points).float(), weft.stack(scores).float()


def keypointrcnn_loss(
    keypoint_logits: Tensor,
    proposals: Sequence[Tensor],
    gt_keypoints: Sequence[Tensor],
    keypoint_matched_idxs: Sequence[Tensor],
) -> Tensor:
    """The loss of the cells of visible key points; 0 where there is none.

    Parameters
    ----------
    keypoint_logits : Tensor, shape (N, K, M, M)
    proposals, gt_keypoints, keypoint_matched_idxs : sequence of Tensor
        Image by image: boxes, the targets' points (objects, K, 3), and each box's target.

    Raises
    ------
    ValueError
        If the maps are not square.
    """
    _, _, height, width = keypoint_logits.shape
    if height != width:
        raise ValueError(
            "keypoint_logits height and width (last two elements of shape) should be equal. "
            f"Instead got H = {height} and W = {width}"
        )
    found = [
        keypoints_to_heatmap(points[matches], boxes, height)
        for boxes, points, matches in zip(proposals, gt_keypoints, keypoint_matched_idxs)
    ]
    cells = weft.cat([each.flatten() for each, _ in found])
    valid = weft.where(weft.cat([each.flatten() for _, each in found]))[0]
    if len(valid) == 0:
        return keypoint_logits.sum() * 0
    return F.cross_entropy(keypoint_logits.reshape(-1, height * width)[valid], cells[valid])


def keypointrcnn_inference(x: Tensor, boxes: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """The key points (M, K, 3) in logits (N, K, H, W), and their scores (M, K), image by image."""
    maps = x.split([len(each) for each in boxes], 0)
    found = [heatmaps_to_keypoints(*each) for each in zip(maps, boxes)]
    return [points for points, _ in found], [scores for _, scores in found]


def expand_boxes(boxes: Tensor, scale: float) -> Tensor:
    """Boxes (N, 4) with the same centres, and sides times ``scale``."""
    low, high = boxes[:, :2], boxes[:, 2:]
    half, centres = (high - low) * 0.5 * scale, (high + low) * 0.5
    return weft.cat([centres - half, centres + half], dim=1)


def expand_masks(mask: Tensor, padding: int) -> tuple[Tensor, float]:
    """Masks (..., M, M) with zeros around them, and the ratio of the sides."""
    side = mask.shape[-1]
    return F.pad(mask, (padding,) * 4), (side + 2 * padding) / side


def paste_mask_in_image(mask: Tensor, box: Sequence[int], im_h: int, im_w: int) -> Tensor:
    """A mask (M, M), resized to a box of whole pixels, in an image (im_h, im_w) of zeros."""
    left, top, right, bottom = (int(edge) for edge in box)
    width, height = max(right - left + 1, 1), max(bottom - top + 1, 1)
    resized = F.interpolate(mask[None, None], size=(height, width), mode="bilinear", align_corners=False)[0, 0]
    image = mask.new_zeros(im_h, im_w)
    x0, x1, y0, y1 = max(left, 0), min(right + 1, im_w), max(top, 0), min(bottom + 1, im_h)
    image[y0:y1, x0:x1] = resized[y0 - top : y1 - top, x0 - left : x1 - left]
    return image


def paste_masks_in_image(masks: Tensor, boxes: Tensor, img_shape: tuple[int, int], padding: int = 1) -> Tensor:
    """Masks (N, 1, M, M) at their boxes (N, 4) in images (N, 1, height, width)."""
    masks, scale = expand_masks(masks, padding)
    edges = expand_boxes(boxes, scale).long().tolist()
    pasted = [paste_mask_in_image(mask[0], box, *img_shape) for mask, box in zip(masks, edges)]
    return weft.stack(pasted)[:, None] if pasted else masks.new_empty(0, 1, *img_shape)


# Heads ---------------------------------------------------------------------------------------------------


class RoIHeads(nn.Module):
    """Classes and boxes of proposed regions; masks and key points where there are heads for them.

    Parameters
    ----------
    box_roi_pool : Module
        From features, boxes and sizes of the images to features of each box, as `MultiScaleRoIAlign`.
    box_head, box_predictor : Module
        From these to a vector, and from it to logits (N, classes) and codes (N, classes * 4).
    fg_iou_thresh, bg_iou_thresh : float
        From which overlap with a target a proposal is positive, and below which it is negative.
    batch_size_per_image : int
        How many proposals of an image the losses are computed from.
    positive_fraction : float
        The share of positive ones among them.
    bbox_reg_weights : four floats, optional
        Of the codes; by default 10, 10, 5, 5.
    score_thresh, nms_thresh : float
        What a score is more than, and how much boxes of a class overlap at most.
    detections_per_img : int
    mask_roi_pool, mask_head, mask_predictor : Module, optional
    keypoint_roi_pool, keypoint_head, keypoint_predictor : Module, optional
    """

    def __init__(
        self,
        box_roi_pool: nn.Module,
        box_head: nn.Module,
        box_predictor: nn.Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        bbox_reg_weights: tuple[float, float, float, float] | None,
        score_thresh: float,
        nms_thresh: float,
        detections_per_img: int,
        mask_roi_pool: nn.Module | None = None,
        mask_head: nn.Module | None = None,
        mask_predictor: nn.Module | None = None,
        keypoint_roi_pool: nn.Module | None = None,
        keypoint_head: nn.Module | None = None,
        keypoint_predictor: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.box_similarity = box_iou
        self.proposal_matcher = Matcher(fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=False)
        self.fg_bg_sampler = BalancedPositiveNegativeSampler(batch_size_per_image, positive_fraction)
        self.box_coder = BoxCoder(bbox_reg_weights or (10.0, 10.0, 5.0, 5.0))
        self.box_roi_pool = box_roi_pool
        self.box_head = box_head
        self.box_predictor = box_predictor
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.mask_roi_pool = mask_roi_pool
        self.mask_head = mask_head
        self.mask_predictor = mask_predictor
        self.keypoint_roi_pool = keypoint_roi_pool
        self.keypoint_head = keypoint_head
        self.keypoint_predictor = keypoint_predictor

    def has_mask(self) -> bool:
        """Whether there are all modules for masks."""
        return None not in (self.mask_roi_pool, self.mask_head, self.mask_predictor)

    def has_keypoint(self) -> bool:
        """Whether there are all modules for key points."""
        return None not in (self.keypoint_roi_pool, self.keypoint_head, self.keypoint_predictor)

    def assign_targets_to_proposals(
        self, proposals: list[Tensor], gt_boxes: list[Tensor], gt_labels: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """For each image's proposals their targets, and classes: 0 for the background, -1 for neither."""
        matched, labels = [], []
        for boxes, truth, classes in zip(proposals, gt_boxes, gt_labels):
            if truth.numel() == 0:
                none = weft.zeros(len(boxes), dtype=weft.int64, device=boxes.device)
                matched.append(none)
                labels.append(none.clone())
                continue
            matches = self.proposal_matcher(self.box_similarity(truth, boxes))
            target = matches.clamp(min=0)
            label = classes[target].long()
            label[matches == Matcher.BELOW_LOW_THRESHOLD] = 0
            label[matches == Matcher.BETWEEN_THRESHOLDS] = -1
            matched.append(target)
            labels.append(label)
        return matched, labels

    def subsample(self, labels: list[Tensor]) -> list[Tensor]:
        """The proposals of each image that the losses are computed from."""
        return [weft.where(positive | negative)[0] for positive, negative in zip(*self.fg_bg_sampler(labels))]

    def add_gt_proposals(self, proposals: list[Tensor], gt_boxes: list[Tensor]) -> list[Tensor]:
        """The proposals, and the targets' boxes."""
        return [weft.cat(pair) for pair in zip(proposals, gt_boxes)]

    def check_targets(self, targets: list[Target] | None) -> None:
        """Raise a ValueError unless there are targets with all that the losses need."""
        if targets is None:
            raise ValueError("targets should not be None")
        for key in ("boxes", "labels", *(["masks"] if self.has_mask() else [])):
            if not all(key in target for target in targets):
                raise ValueError(f"Every element of targets should have a {key} key")

    def select_training_samples(
        self, proposals: list[Tensor], targets: list[Target] | None
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor], Sequence[Tensor]]:
        """Draw the proposals from which the losses are computed.

        Returns
        -------
        four lists of Tensor
            For each image: the proposals, their targets, their classes, and the codes of the targets' boxes.
        """
        self.check_targets(targets)
        assert targets is not None
        truth = [target["boxes"].to(proposals[0].dtype) for target in targets]
        proposals = self.add_gt_proposals(proposals, truth)
        matched, labels = self.assign_targets_to_proposals(proposals, truth, [each["labels"] for each in targets])
        samples = self.subsample(labels)
        proposals, matched, labels = (
            [values[sample] for values, sample in zip(each, samples)] for each in (proposals, matched, labels)
        )
        boxes = [
            boxes[matches] if boxes.numel() else boxes.new_zeros(len(matches), 4)
            for boxes, matches in zip(truth, matched)
        ]
        return proposals, matched, labels, self.box_coder.encode(boxes, proposals)

    def postprocess_detections(
        self,
        class_logits: Tensor,
        box_regression: Tensor,
        proposals: list[Tensor],
        image_shapes: list[tuple[int, int]],
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """The boxes, scores and classes that are found in each image, the best first."""
        counts = [len(boxes) for boxes in proposals]
        boxes = self.box_coder.decode(box_regression, proposals).split(counts, 0)
        scores = F.softmax(class_logits, -1).split(counts, 0)
        found = [self._best(*each) for each in zip(boxes, scores, image_shapes)]
        return [each[0] for each in found], [each[1] for each in found], [each[2] for each in found]

    def _best(self, boxes: Tensor, scores: Tensor, image_shape: tuple[int, int]) -> tuple[Tensor, Tensor, Tensor]:
        """What is found among boxes (N, classes, 4) and scores (N, classes) of an image; class 0 is no object."""
        boxes = clip_boxes_to_image(boxes, image_shape)[:, 1:].reshape(-1, 4)
        labels = weft.arange(1, scores.shape[1], device=scores.device).repeat(len(scores))
        scores = scores[:, 1:].reshape(-1)
        keep = weft.where(scores > self.score_thresh)[0]
        boxes, scores, labels = boxes[keep], scores[keep], labels[keep]
        keep = remove_small_boxes(boxes, min_size=1e-2)
        boxes, scores, labels = boxes[keep], scores[keep], labels[keep]
        keep = batched_nms(boxes, scores, labels, self.nms_thresh)[: self.detections_per_img]
        return boxes[keep], scores[keep], labels[keep]

    def forward(
        self,
        features: dict[str, Tensor],
        proposals: list[Tensor],
        image_shapes: list[tuple[int, int]],
        targets: list[Target] | None = None,
    ) -> tuple[list[Target], dict[str, Tensor]]:
        """Look at the proposals.

        Parameters
        ----------
        features : dict of Tensor, shape (N, C, H, W)
        proposals : list of Tensor, shape (M, 4)
        image_shapes : list of (int, int)
        targets : list of dict, optional
            Needed in training.

        Returns
        -------
        list of dict
            What is found in each image; empty in training.
        dict of Tensor
            In training, the losses by name.

        Raises
        ------
        TypeError
            For targets of another dtype.
        ValueError
            For targets without what is needed.
        """
        self._check_dtypes(targets or [])
        if not self.training:
            return self._found(features, proposals, image_shapes), {}
        proposals, matched, labels, codes = self.select_training_samples(proposals, targets)
        assert targets is not None  # checked
        logits, moved = self._predicted("box", features, proposals, image_shapes)
        losses = dict(zip(("loss_classifier", "loss_box_reg"), fastrcnn_loss(logits, moved, labels, codes)))
        positive = [weft.where(label > 0)[0] for label in labels]
        boxes = [each[keep] for each, keep in zip(proposals, positive)]
        matched = [each[keep] for each, keep in zip(matched, positive)]
        if self.has_mask():
            masks = self._predicted("mask", features, boxes, image_shapes)
            truth, classes = [each["masks"] for each in targets], [each["labels"] for each in targets]
            losses["loss_mask"] = maskrcnn_loss(masks, boxes, truth, classes, matched)
        if self.has_keypoint():
            points = self._predicted("keypoint", features, boxes, image_shapes)
            losses["loss_keypoint"] = keypointrcnn_loss(points, boxes, [each["keypoints"] for each in targets], matched)
        return [], losses

    def _found(
        self, features: dict[str, Tensor], proposals: list[Tensor], image_shapes: list[tuple[int, int]]
    ) -> list[Target]:
        logits, moved = self._predicted("box", features, proposals, image_shapes)
        boxes, scores, labels = self.postprocess_detections(logits, moved, proposals, image_shapes)
        result = [dict(zip(("boxes", "labels", "scores"), each)) for each in zip(boxes, labels, scores)]
        if self.has_mask():
            masks = maskrcnn_inference(self._predicted("mask", features, boxes, image_shapes), labels)
            for found, mask in zip(result, masks):
                found["masks"] = mask
        if self.has_keypoint():
            maps = self._predicted("keypoint", features, boxes, image_shapes)
            for found, points, heights in zip(result, *keypointrcnn_inference(maps, boxes)):
                found["keypoints"], found["keypoints_scores"] = points, heights
        return result

    def _predicted(
        self, kind: str, features: dict[str, Tensor], boxes: list[Tensor], image_shapes: list[tuple[int, int]]
    ) -> Any:
        pool, head, predictor = (getattr(self, f"{kind}_{part}") for part in ("roi_pool", "head", "predictor"))
        return predictor(head(pool(features, boxes, image_shapes)))

    def _check_dtypes(self, targets: list[Target]) -> None:
        for target in targets:
            if target["boxes"].dtype not in (weft.float32, weft.float64, weft.float16):
                raise TypeError(f"target boxes must of float type, instead got {target['boxes'].dtype}")
            if target["labels"].dtype != weft.int64:
                raise TypeError(f"target labels must of int64 type, instead got {target['labels'].dtype}")
            if self.has_keypoint() and target["keypoints"].dtype != weft.float32:
                raise TypeError(f"target keypoints must of float type, instead got {target['keypoints'].dtype}")
