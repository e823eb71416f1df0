"""What detectors share: codes of boxes, their matches with targets, samples, losses, and layouts of predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.vision.ops import (
    FrozenBatchNorm2d,
    complete_box_iou_loss,
    distance_box_iou_loss,
    generalized_box_iou_loss,
)

IOU_LOSSES = {"ciou": complete_box_iou_loss, "diou": distance_box_iou_loss, "giou": generalized_box_iou_loss}


class BalancedPositiveNegativeSampler:
    """Draw matches for a loss, a fixed share of them positive as far as there are enough.

    Parameters
    ----------
    batch_size_per_image : int
        How many are drawn.
    positive_fraction : float
    """

    def __init__(self, batch_size_per_image: int, positive_fraction: float) -> None:
        self.batch_size_per_image = batch_size_per_image
        self.positive_fraction = positive_fraction

    def __call__(self, matched_idxs: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Draw from each image.

        Parameters
        ----------
        matched_idxs : list of Tensor, shape (M,)
            1 and more are positive, 0 negative; what is less is never drawn.

        Returns
        -------
        two lists of Tensor of uint8, shape (M,)
            1 for each positive match that was drawn, and for each negative one.
        """
        positive, negative = [], []
        for matches in matched_idxs:
            found, rest = weft.where(matches >= 1)[0], weft.where(matches == 0)[0]
            most = min(len(found), int(self.batch_size_per_image * self.positive_fraction))
            positive.append(drawn(matches, found, most))
            negative.append(drawn(matches, rest, min(len(rest), self.batch_size_per_image - most)))
        return positive, negative


def drawn(matches: Tensor, indices: Tensor, count: int) -> Tensor:
    """1 at ``count`` of these indices, by chance."""
    mask = weft.zeros_like(matches, dtype=weft.uint8)
    mask[indices[weft.randperm(len(indices), device=indices.device)[:count]]] = 1
    return mask


# Codes of boxes ------------------------------------------------------------------------------------------


def centres_and_sizes(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Centres and sizes (..., 2) of boxes of corners (..., 4), x before y."""
    sizes = boxes[..., 2:] - boxes[..., :2]
    return boxes[..., :2] + 0.5 * sizes, sizes


def encode_boxes(reference_boxes: Tensor, proposals: Tensor, weights: Tensor) -> Tensor:
    """Codes of boxes relative to proposals.

    Parameters
    ----------
    reference_boxes, proposals : Tensor, shape (N, 4)
        Corners x1, y1, x2, y2.
    weights : Tensor, shape (4,)

    Returns
    -------
    Tensor, shape (N, 4)
        Shifts of the centre in sizes of the proposal, and logarithms of the sizes' ratios, times the weights.
    """
    (centres, sizes), (starts, units) = centres_and_sizes(reference_boxes), centres_and_sizes(proposals)
    shifts = weights[:2] * (centres - starts) / units
    return weft.cat([shifts, weights[2:] * (sizes / units).log()], dim=1)


class BoxCoder:
    """Boxes to the targets of a regression, and back (arXiv:1311.2524, appendix C).

    Parameters
    ----------
    weights : four floats
        By which x, y, width and height are multiplied in codes.
    bbox_xform_clip : float
        The largest logarithm of a ratio of sizes that is decoded.
    """

    def __init__(
        self, weights: tuple[float, float, float, float], bbox_xform_clip: float = math.log(1000.0 / 16)
    ) -> None:
        self.weights = weights
        self.bbox_xform_clip = bbox_xform_clip

    def encode(self, reference_boxes: Sequence[Tensor], proposals: Sequence[Tensor]) -> Sequence[Tensor]:
        """The codes (N, 4) of each image's boxes relative to its proposals."""
        counts = [len(boxes) for boxes in reference_boxes]
        return self.encode_single(weft.cat(list(reference_boxes)), weft.cat(list(proposals))).split(counts, 0)

    def encode_single(self, reference_boxes: Tensor, proposals: Tensor) -> Tensor:
        """The codes (N, 4) of boxes (N, 4) relative to proposals (N, 4)."""
        weights = weft.as_tensor(self.weights, dtype=reference_boxes.dtype, device=reference_boxes.device)
        return encode_boxes(reference_boxes, proposals, weights)

    def decode(self, rel_codes: Tensor, boxes: Sequence[Tensor]) -> Tensor:
        """The boxes (N, classes, 4) of codes (N, classes * 4), relative to the boxes of all images.

        Raises
        ------
        AssertionError
            If the arguments are of other types.
        """
        if not isinstance(boxes, (list, tuple)):
            raise AssertionError("This function expects boxes of type list or tuple.")
        if not isinstance(rel_codes, Tensor):
            raise AssertionError("This function expects rel_codes of type Tensor.")
        codes = rel_codes.flatten(1)
        return self.decode_single(codes, weft.cat(list(boxes))).unflatten(1, (codes.shape[1] // 4, 4))

    def decode_single(self, rel_codes: Tensor, boxes: Tensor) -> Tensor:
        """The boxes (N, classes * 4) of codes (N, classes * 4) relative to boxes (N, 4)."""
        codes = rel_codes.reshape(len(rel_codes), rel_codes.shape[1] // 4, 4)
        centres, sizes = (each[:, None] for each in centres_and_sizes(boxes.to(rel_codes.dtype)))
        weights = weft.as_tensor(self.weights, dtype=codes.dtype, device=codes.device)
        codes = codes / weights
        middle = codes[..., :2] * sizes + centres
        half = 0.5 * (codes[..., 2:].clamp(max=self.bbox_xform_clip).exp() * sizes)
        return weft.cat([middle - half, middle + half], dim=2).flatten(1)


class BoxLinearCoder:
    """Boxes to the distances of their edges from the centres of others, and back (arXiv:1904.01355).

    Parameters
    ----------
    normalize_by_size : bool
        Count distances in the size of the other box.
    """

    def __init__(self, normalize_by_size: bool = True) -> None:
        self.normalize_by_size = normalize_by_size

    def encode(self, reference_boxes: Tensor, proposals: Tensor) -> Tensor:
        """The distances (..., 4) to the left, top, right and bottom of proposals from the centres of boxes (..., 4)."""
        centres, sizes = self._frames(reference_boxes)
        codes = weft.cat([centres - proposals[..., :2], proposals[..., 2:] - centres], dim=-1)
        return codes / sizes if self.normalize_by_size else codes

    def decode(self, rel_codes: Tensor, boxes: Tensor) -> Tensor:
        """The boxes (..., 4) whose edges have these distances from the centres of others."""
        centres, sizes = self._frames(boxes.to(rel_codes.dtype))
        codes = rel_codes * sizes if self.normalize_by_size else rel_codes
        return weft.cat([centres - codes[..., :2], centres + codes[..., 2:]], dim=-1)

    @staticmethod
    def _frames(boxes: Tensor) -> tuple[Tensor, Tensor]:
        low, high = boxes[..., :2], boxes[..., 2:]
        sizes = high - low
        return 0.5 * (low + high), weft.cat([sizes, sizes], dim=-1)


# Matches -------------------------------------------------------------------------------------------------


class Matcher:
    """For each prediction, the target that it is closest to, or that there is none.

    Parameters
    ----------
    high_threshold : float
        What the quality of a match is at least.
    low_threshold : float
        Below it there is no match: -1. Between the two it is -2.
    allow_low_quality_matches : bool
        A target's best predictions keep their matches, whatever their quality.

    Raises
    ------
    AssertionError
        If the low threshold is the higher one.
    """

    BELOW_LOW_THRESHOLD = -1
    BETWEEN_THRESHOLDS = -2

    def __init__(self, high_threshold: float, low_threshold: float, allow_low_quality_matches: bool = False) -> None:
        if low_threshold > high_threshold:
            raise AssertionError(f"low_threshold should be <= high_threshold, got {low_threshold} and {high_threshold}")
        self.high_threshold = high_threshold
        self.low_threshold = low_threshold
        self.allow_low_quality_matches = allow_low_quality_matches

    def __call__(self, match_quality_matrix: Tensor) -> Tensor:
        """Match by the quality (targets, predictions) of each pair; return (predictions,) of int64.

        Raises
        ------
        ValueError
            If there are no targets or no predictions.
        """
        if match_quality_matrix.numel() == 0:
            lacking = "ground-truth" if match_quality_matrix.shape[0] == 0 else "proposal"
            raise ValueError(f"No {lacking} boxes available for one of the images during training")
        quality, best = match_quality_matrix.max(dim=0)
        matches = best.clone()
        matches[quality < self.low_threshold] = self.BELOW_LOW_THRESHOLD
        matches[(quality >= self.low_threshold) & (quality < self.high_threshold)] = self.BETWEEN_THRESHOLDS
        if self.allow_low_quality_matches:
            self.set_low_quality_matches_(matches, best, match_quality_matrix)
        return matches

    def set_low_quality_matches_(self, matches: Tensor, all_matches: Tensor, match_quality_matrix: Tensor) -> None:
        """Give the predictions that are some target's best their matches back."""
        best = match_quality_matrix.max(dim=1, keepdim=True)[0]
        chosen = (match_quality_matrix == best).any(dim=0)
        matches[chosen] = all_matches[chosen]


class SSDMatcher(Matcher):
    """A `Matcher` with one threshold, in which each target's best prediction is matched with that target."""

    def __init__(self, threshold: float) -> None:
        super().__init__(threshold, threshold, allow_low_quality_matches=False)

    def __call__(self, match_quality_matrix: Tensor) -> Tensor:
        """Match by the quality (targets, predictions) of each pair; return (predictions,) of int64."""
        matches = super().__call__(match_quality_matrix)
        best = match_quality_matrix.max(dim=1)[1]
        matches[best] = weft.arange(len(best), device=best.device)
        return matches


# Layouts, losses and models ------------------------------------------------------------------------------


def per_anchor(outputs: Tensor, columns: int) -> Tensor:
    """Predictions (N, anchors * columns, H, W) of a convolution as (N, H * W * anchors, columns)."""
    batch, _, height, width = outputs.shape
    split = outputs.reshape(batch, -1, columns, height, width)
    return split.permute(0, 3, 4, 1, 2).reshape(batch, -1, columns)


def box_loss(
    kind: str,
    box_coder: BoxCoder,
    anchors: Tensor,
    boxes: Tensor,
    regression: Tensor,
    cnf: dict[str, float] | None = None,
) -> Tensor:
    """The sum of a loss between predicted codes and boxes.

    Parameters
    ----------
    kind : "l1", "smooth_l1", "ciou", "diou" or "giou"
        Between codes, or between decoded boxes.
    box_coder : BoxCoder
    anchors, boxes, regression : Tensor, shape (N, 4)
    cnf : dict, optional
        ``"beta"`` of the smooth loss, 1 by default; ``"eps"`` of those between boxes, 1e-7 by default.

    Raises
    ------
    AssertionError
        For another kind.
    """
    options = cnf or {}
    if kind in IOU_LOSSES:
        decoded = box_coder.decode_single(regression, anchors)
        return IOU_LOSSES[kind](decoded, boxes, reduction="sum", eps=options.get("eps", 1e-7))
    codes = box_coder.encode_single(boxes, anchors)
    if kind == "l1":
        return F.l1_loss(regression, codes, reduction="sum")
    if kind == "smooth_l1":
        return F.smooth_l1_loss(regression, codes, reduction="sum", beta=options.get("beta", 1.0))
    raise AssertionError(f"Unsupported loss: {kind}")


def best_of_level(scores: Tensor, threshold: float, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """The best scores (anchors, classes) above a threshold, ``most`` at most: scores, anchors and classes."""
    flat = scores.flatten()
    places = weft.where(flat > threshold)[0]
    best, order = flat[places].topk(min(most, len(places)))
    places, classes = places[order], scores.shape[-1]
    return best, places // classes, places % classes


def overwrite_eps(model: nn.Module, eps: float) -> None:
    """Set ``eps`` of each `FrozenBatchNorm2d`: the first published weights were trained without one."""
    for module in model.modules():
        if isinstance(module, FrozenBatchNorm2d):
            module.eps = eps


def retrieve_out_channels(model: nn.Module, size: tuple[int, int]) -> list[int]:
    """The channels of each map of features that a backbone gives for images of a width and a height."""
    training = model.training
    model.eval()
    with weft.no_grad():
        features: Any = model(weft.zeros(1, 3, size[1], size[0], device=next(model.parameters()).device))
    model.train(training)
    return [each.shape[1] for each in ([features] if isinstance(features, Tensor) else features.values())]
