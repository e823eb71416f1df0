"""The focal loss for dense detection (arXiv:1708.02002)."""

from __future__ import annotations

from weft import Tensor
from weft.nn import functional as F
from weft.vision.ops.iou_losses import reduced

__all__ = ["sigmoid_focal_loss"]


def sigmoid_focal_loss(
    inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"
) -> Tensor:
    """Cross-entropy of logits in which what is easy counts little.

    Parameters
    ----------
    inputs, targets : Tensor, of the same shape
        Logits, and 0 or 1.
    alpha : float
        The weight of the positive class; a negative one weights none.
    gamma : float
        How much what is easy is weighted down.
    reduction : "none", "mean" or "sum"

    Examples
    --------
    >>> logits, targets = weft.tensor([0.0, 1.0]), weft.tensor([1.0, 1.0])
    >>> sigmoid_focal_loss(logits, targets, alpha=-1)  # what is right already counts little
    tensor([0.1733, 0.0227])
    """
    p = inputs.sigmoid()
    right = p * targets + (1 - p) * (1 - targets)
    loss = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none") * (1 - right) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return loss.mean() if reduction == "mean" else reduced(loss, reduction)  # the mean of no boxes is NaN here
