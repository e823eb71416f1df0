"""Losses: how far a prediction is from its target, as one number to minimize (or one for each element).

All take ``reduction``: ``"mean"`` (the default), ``"sum"``, or ``"none"`` for one value each. The older arguments
``size_average`` and ``reduce`` are read into it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from weft import Tensor
from weft.nn import functional as F
from weft.nn._types import DeviceLike, DType
from weft.nn.distance import PairwiseDistance
from weft.nn.functional.loss import LinearCrossEntropyOptions
from weft.nn.linear import Linear
from weft.nn.module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


def _reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """Return ``reduction``, or what the two older arguments mean if either is given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        meant = "none"
    else:
        meant = "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.", stacklevel=4
    )
    return meant


class _Loss(Module):
    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = _reduction_of(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


# -- of numbers ------------------------------------------------------------------------------------------------------


class L1Loss(_Loss):
    """``|input - target|``."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare ``input`` and ``target``, of one shape."""
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """``(input - target) ** 2``.

    Examples
    --------
    >>> weft.nn.MSELoss()(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 4.0])).item()
    2.0
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare ``input`` and ``target``, of one shape."""
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Half the square of the difference over ``beta`` where it is below ``beta``, else the difference - beta / 2."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare ``input`` and ``target``, of one shape."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Half the square of the difference where it is below ``delta``, else ``delta * (difference - delta / 2)``."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (int, float)):
            raise TypeError(f"HuberLoss: delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare ``input`` and ``target``, of one shape."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class PoissonNLLLoss(_Loss):
    """The negative log likelihood of counts under a Poisson distribution.

    Parameters
    ----------
    log_input : bool
        Whether the input is the logarithm of the rate.
    full : bool
        Whether to add Stirling's approximation of the term that depends on the target alone.
    eps : float
        Added to a rate before its logarithm.
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """Compare rates and counts, of one shape."""
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """The negative log likelihood of numbers under normal distributions.

    Parameters
    ----------
    full : bool
        Whether to add the constant term.
    eps : float
        The least variance.
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Compare means ``input`` (with variances ``var``) and numbers ``target``."""
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


# -- of classes ------------------------------------------------------------------------------------------------------


class CrossEntropyLoss(_WeightedLoss):
    """The negative logarithm of the softmax probability of the target class.

    Parameters
    ----------
    weight : Tensor, shape (C,), optional
        Of each class.
    ignore_index : int
        Targets of this class neither count in the mean nor get a gradient.
    label_smoothing : float in [0, 1]
        How much of the target's probability to spread evenly over all classes.

    Examples
    --------
    >>> loss = weft.nn.CrossEntropyLoss()(weft.zeros(1, 4), weft.tensor([2]))
    >>> round(loss.item(), 4)  # log(4)
    1.3863
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare logits (N, C, ...) or (C,) with classes (N, ...) or (), or with probabilities of input's shape."""
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class LinearCrossEntropyLoss(_WeightedLoss):
    """`CrossEntropyLoss` of a linear map of the input, which is part of the loss.

    Parameters
    ----------
    in_features, num_classes : int
    out_features : tuple of int
        The further axes of the logits: they are (N, C, *out_features).
    bias : bool
        Whether the map has a bias.
    device, dtype : optional
        Of its parameters.
    weight : Tensor, shape (C,), optional
        Of each class.
    ignore_index : int, optional
        Targets of this class neither count in the mean nor get a gradient; by default -100.
    label_smoothing : float in [0, 1]
        How much of the target's probability to spread evenly over all classes.
    options : LinearCrossEntropyOptions, optional
        Accepted; the result does not depend on it.
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: DeviceLike = None,
        dtype: DType = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if not 0.0 <= label_smoothing <= 1.0:
            raise RuntimeError(
                f"LinearCrossEntropyLoss: expected label_smoothing to be in range [0, 1], got {float(label_smoothing)}"
            )
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"LinearCrossEntropyLoss: expected weight shape to be ({num_classes},), got {tuple(weight.shape)}"
            )
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        self.linear = Linear(in_features, num_classes * math.prod(out_features), bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare what ``input`` (N, in_features) or (in_features,) is mapped to with targets as `CrossEntropyLoss`."""
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, -1),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """Return the sizes and the options."""
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
            f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}"
        )


class NLLLoss(_WeightedLoss):
    """The negative of the log-probability of the target class.

    Parameters
    ----------
    weight : Tensor, shape (C,), optional
        Of each class.
    ignore_index : int
        Targets of this class neither count in the mean nor get a gradient.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare log-probabilities (N, C, ...) or (C,) with classes (N, ...) or ()."""
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """`NLLLoss` under its older name for images."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn("NLLLoss2d has been deprecated; use NLLLoss instead", FutureWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of the target from the input, which is given as log-probabilities.

    Parameters
    ----------
    log_target : bool
        Whether the target is given as log-probabilities, too.

    Notes
    -----
    The divergence of a batch is ``reduction="batchmean"``; "mean" divides by the number of elements as well.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare ``input`` and ``target``, of one shape."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """The cross entropy of probabilities of "yes" with targets in [0, 1]; logarithms are kept above -100.

    Parameters
    ----------
    weight : Tensor, optional
        Of each element.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare ``input`` and ``target``, of one shape."""
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of the sigmoid of the input, computed without loss of precision.

    Parameters
    ----------
    weight : Tensor, optional
        Of each element.
    pos_weight : Tensor, optional
        Of the positive part, by class.
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare logits and targets in [0, 1], of one shape."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of the cross entropy of "has this label", from logits.

    Parameters
    ----------
    weight : Tensor, shape (C,), optional
        Of each class.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare logits and targets 0 or 1, both (N, C)."""
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class CTCLoss(_Loss):
    """The negative log-probability of a label sequence, over all its alignments to the input.

    Parameters
    ----------
    blank : int
        The class that means "no label".
    zero_infinity : bool
        Whether an infinite loss (an input too short for its target), and its gradient, become 0.

    References
    ----------
    Graves and others, Connectionist temporal classification, 2006.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        """Compare log-probabilities (T, N, C) or (T, C) with labels (N, S) or joined into one axis."""
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )


# -- of margins ------------------------------------------------------------------------------------------------------


class HingeEmbeddingLoss(_Loss):
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1."""

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare distances with targets 1 or -1, of one shape."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))``."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare scores with targets 1 or -1, of one shape."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """Hinge loss between each label and each class that is none, divided by the number of classes."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare scores with labels, both (N, C) or (C,); labels end at the first -1."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """``max(0, margin - score of the target + score of another class) ** p``, the mean over classes.

    Parameters
    ----------
    p : {1, 2}
    margin : float
    weight : Tensor, shape (C,), optional
        Of each class.
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: only p == 1 and p == 2 supported, got {p}")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: weight must be 1-dimensional, got shape {tuple(weight.shape)}")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare scores (N, C) or (C,) with classes (N,) or ()."""
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class MarginRankingLoss(_Loss):
    """``max(0, -target * (input1 - input2) + margin)``: a target of 1 wants the first input greater, -1 the second."""

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Compare two inputs by targets 1 or -1, of one shape."""
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """``1 - cos`` of two vectors where the target is 1, ``max(0, cos - margin)`` where it is -1."""

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Compare vectors (N, D) or (D,) by targets (N,) or ()."""
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """``max(0, |anchor - positive| - |anchor - negative| + margin)``.

    Parameters
    ----------
    margin : float
    p : float
        Of the norm.
    eps : float
        Keeps the gradient of equal vectors finite.
    swap : bool
        Whether the distance of positive and negative counts instead, where it is the smaller one.

    References
    ----------
    Balntas and others, Learning local feature descriptors with triplets and shallow convolutional networks, 2016.
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, found {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Compare vectors (N, D) or (D,)."""
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with any distance.

    Parameters
    ----------
    distance_function : callable, optional
        Of two tensors; by default `PairwiseDistance`.
    margin : float
    swap : bool
        Whether the distance of positive and negative counts instead, where it is the smaller one.
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average=None, reduce=None, reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, found {margin} instead"
            )
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Compare vectors (N, D) or (D,)."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
