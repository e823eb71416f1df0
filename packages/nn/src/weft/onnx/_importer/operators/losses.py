"""Losses."""

from __future__ import annotations

from typing import Any

import weft.nn.functional as F
from weft.onnx._importer.registry import operator

NONE = -(2**31)  # a class that no target has


def negative_log_likelihood(log_prob: Any, target: Any, weight: Any, ignore_index: int | None, reduction: str) -> Any:
    """The loss, over any number of axes after the classes."""
    classes, shape = log_prob.shape[1], target.shape
    rows = log_prob.movedim(1, -1).reshape(-1, classes)
    ignored = NONE if ignore_index is None else ignore_index
    loss = F.nll_loss(rows, target.long().reshape(-1), weight, ignore_index=ignored, reduction=reduction)
    return loss.reshape(shape) if reduction == "none" else loss


@operator("NegativeLogLikelihoodLoss", frozen="weight")
def negative_log_likelihood_loss(
    input: Any, target: Any, weight: Any = None, *, ignore_index: int | None = None, reduction: str = "mean"
) -> Any:
    return negative_log_likelihood(input, target, weight, ignore_index, reduction)


@operator("SoftmaxCrossEntropyLoss", frozen="weights")
def softmax_cross_entropy_loss(
    scores: Any, labels: Any, weights: Any = None, *, ignore_index: int | None = None, reduction: str = "mean"
) -> Any:
    log_prob = F.log_softmax(scores, 1)
    return negative_log_likelihood(log_prob, labels, weights, ignore_index, reduction), log_prob
