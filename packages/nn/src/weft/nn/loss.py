"""Losses: how far a prediction is from its target, as one number to minimize (or one for each element).

All take ``reduction``: ``"mean"`` (the default), ``"sum"``, or ``"none"`` for one value each.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from weft import Tensor
from weft.nn import functional as F
from weft.nn._docstrings import REDUCTION, REDUCTION_ALONE, documented
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


@documented(reduction=REDUCTION)
class L1Loss(_Loss):
    """The absolute error, ``|input - target|``.

    Parameters
    ----------
    {reduction}

    Shapes
    ------
    input, target : (...)
    output : (), or the shape of input with ``reduction="none"``

    Examples
    --------
    >>> weft.nn.L1Loss()(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 5.0]))
    tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare ``input`` and ``target``, of one shape."""
        return F.l1_loss(input, target, reduction=self.reduction)


@documented(reduction=REDUCTION)
class MSELoss(_Loss):
    """The squared error, ``(input - target) ** 2``.

    Parameters
    ----------
    {reduction}

    Shapes
    ------
    input, target : (...)
    output : (), or the shape of input with ``reduction="none"``

    Examples
    --------
    >>> weft.nn.MSELoss()(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 4.0]))
    tensor(2.)
    >>> weft.nn.MSELoss(reduction="none")(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 4.0]))
    tensor([0., 4.])
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare ``input`` and ``target``, of one shape."""
        return F.mse_loss(input, target, reduction=self.reduction)


@documented(reduction=REDUCTION)
class SmoothL1Loss(_Loss):
    """The squared error near 0, the absolute error far from it.

    Parameters
    ----------
    beta : float
        Below it an error e costs ``e ** 2 / (2 * beta)``, above it ``e - beta / 2``.
    {reduction}

    Shapes
    ------
    input, target : (...)
    output : (), or the shape of input with ``reduction="none"``

    Raises
    ------
    RuntimeError
        If ``beta`` is negative.

    References
    ----------
    arXiv:1504.08083.

    Examples
    --------
    >>> weft.nn.SmoothL1Loss(reduction="none")(weft.tensor([0.5, 3.0]), weft.zeros(2))
    tensor([0.1250, 2.5000])
    """

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


@documented(reduction=REDUCTION_ALONE)
class HuberLoss(_Loss):
    """The squared error near 0, the absolute error far from it: `SmoothL1Loss` times ``delta``.

    Parameters
    ----------
    delta : float
        Below it an error e costs ``e ** 2 / 2``, above it ``delta * (e - delta / 2)``.
    {reduction}

    Shapes
    ------
    input, target : (...)
    output : (), or the shape of input with ``reduction="none"``

    Raises
    ------
    TypeError
        If ``delta`` is no number.
    RuntimeError
        If it is not positive.

    Examples
    --------
    >>> weft.nn.HuberLoss(reduction="none", delta=2.0)(weft.tensor([0.5, 3.0]), weft.zeros(2))
    tensor([0.1250, 4.0000])
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (int, float)):
            raise TypeError(f"HuberLoss: delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare ``input`` and ``target``, of one shape."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


@documented(reduction=REDUCTION)
class PoissonNLLLoss(_Loss):
    """The negative log likelihood of counts under Poisson distributions.

    Parameters
    ----------
    log_input : bool
        Whether the input is the logarithm of the rate.
    full : bool
        Whether to add Stirling's approximation of the term that depends on the target alone.
    eps : float
        Added to a rate before its logarithm.
    {reduction}

    Shapes
    ------
    input, target : (...)
    output : (), or the shape of input with ``reduction="none"``

    Examples
    --------
    >>> log_rate, count = weft.tensor([0.0, 1.0]), weft.tensor([1.0, 3.0])
    >>> weft.nn.PoissonNLLLoss(reduction="none")(log_rate, count)  # exp(log_rate) - count * log_rate
    tensor([ 1.0000, -0.2817])
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


@documented(reduction=REDUCTION_ALONE)
class GaussianNLLLoss(_Loss):
    """The negative log likelihood of numbers under normal distributions.

    Parameters
    ----------
    full : bool
        Whether to add the constant term, ``log(2 * pi) / 2``.
    eps : float
        The least variance.
    {reduction}

    Shapes
    ------
    input, target : (..., D)
    var : (..., D), (..., 1), (...) or a number
        Variances, in the units of target squared.
    output : (), or the shape of input with ``reduction="none"``

    Raises
    ------
    ValueError
        If a variance is negative, or ``var`` has another shape.

    Examples
    --------
    >>> mean, target, variance = weft.zeros(2), weft.tensor([0.0, 2.0]), weft.tensor([1.0, 4.0])
    >>> weft.nn.GaussianNLLLoss(reduction="none")(mean, target, variance)  # (log(var) + error ** 2 / var) / 2
    tensor([0.0000, 1.1931])
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Compare means ``input`` (with variances ``var``) and numbers ``target``."""
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


# -- of classes ------------------------------------------------------------------------------------------------------


@documented(reduction=REDUCTION)
class CrossEntropyLoss(_WeightedLoss):
    """The negative logarithm of the softmax probability of the target class.

    Parameters
    ----------
    weight : Tensor, shape (C,), optional
        The weight of each class.
    ignore_index : int
        Targets of this class neither count in the mean nor get a gradient.
    label_smoothing : float
        How much of the target's probability, 0 to 1, to spread evenly over all classes.
    {reduction}

    Shapes
    ------
    input : (N, C, ...) or (C,)
        Logits.
    target : (N, ...) or (), classes; or the shape of input, probabilities
    output : (), or (N, ...) with ``reduction="none"``

    Raises
    ------
    IndexError
        If a target is neither in [0, C) nor ``ignore_index``.

    Examples
    --------
    >>> weft.nn.CrossEntropyLoss()(weft.zeros(1, 4), weft.tensor([2]))  # log(4)
    tensor(1.3863)
    >>> logits = weft.tensor([[4.0, 0.0], [0.0, 4.0]])
    >>> weft.nn.CrossEntropyLoss(reduction="none")(logits, weft.tensor([0, 0]))
    tensor([0.0181, 4.0181])
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


@documented(reduction=REDUCTION_ALONE)
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
        The weight of each class.
    ignore_index : int, optional
        Targets of this class neither count in the mean nor get a gradient; by default -100.
    label_smoothing : float
        How much of the target's probability, 0 to 1, to spread evenly over all classes.
    options : LinearCrossEntropyOptions, optional
        Accepted; the result does not depend on it.
    {reduction}

    Shapes
    ------
    input : (N, in_features) or (in_features,)
    target : (N, *out_features) or out_features, of classes; or probabilities (N, C, *out_features)
    output : (), or (N, *out_features) with ``reduction="none"``

    Raises
    ------
    RuntimeError
        If ``label_smoothing`` is not in [0, 1], or ``weight`` has another shape.

    Examples
    --------
    >>> loss = weft.nn.LinearCrossEntropyLoss(16, 10)
    >>> loss(weft.zeros(8, 16), weft.arange(8)).detach()  # log(10)
    tensor(2.3026)
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


@documented(reduction=REDUCTION)
class NLLLoss(_WeightedLoss):
    """The negative of the log-probability of the target class.

    Parameters
    ----------
    weight : Tensor, shape (C,), optional
        The weight of each class.
    ignore_index : int
        Targets of this class neither count in the mean nor get a gradient.
    {reduction}

    Shapes
    ------
    input : (N, C, ...) or (C,)
        Log-probabilities, as `LogSoftmax` gives them.
    target : (N, ...) or (), of classes
    output : (), or (N, ...) with ``reduction="none"``

    Raises
    ------
    IndexError
        If a target is neither in [0, C) nor ``ignore_index``.

    Examples
    --------
    >>> log_probs = weft.tensor([[0.5, 0.25, 0.25]]).log()
    >>> weft.nn.NLLLoss()(log_probs, weft.tensor([1]))  # log(4)
    tensor(1.3863)
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
    """`NLLLoss` under its older name for images; deprecated.

    Parameters
    ----------
    *args, **kwargs
        As of `NLLLoss`.

    Shapes
    ------
    input : (N, C, H, W)
    target : (N, H, W), of classes
    output : (), or (N, H, W) with ``reduction="none"``

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     loss = weft.nn.NLLLoss2d()
    >>> loss(weft.zeros(1, 3, 2, 2), weft.zeros(1, 2, 2, dtype=weft.int64))
    tensor(0.)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn("NLLLoss2d has been deprecated; use NLLLoss instead", FutureWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


@documented(reduction=REDUCTION)
class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of the target from the input: ``target * (log(target) - input)``.

    Parameters
    ----------
    log_target : bool
        Whether the target is given as log-probabilities, too.
    {reduction}

    Shapes
    ------
    input : (...)
        Log-probabilities.
    target : (...)
        Probabilities.
    output : (), or the shape of input with ``reduction="none"``

    Notes
    -----
    The divergence of a batch is ``reduction="batchmean"``, the sum divided by N; "mean" divides by all elements.

    Examples
    --------
    >>> log_probs, target = weft.tensor([[0.5, 0.5]]).log(), weft.tensor([[1.0, 0.0]])
    >>> weft.nn.KLDivLoss(reduction="batchmean")(log_probs, target)  # log(2)
    tensor(0.6931)
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


@documented(reduction=REDUCTION)
class BCELoss(_WeightedLoss):
    """The cross entropy of probabilities of "yes" with targets in [0, 1].

    Parameters
    ----------
    weight : Tensor, optional
        The weight of each element, broadcastable to the input.
    {reduction}

    Shapes
    ------
    input, target : (...)
    output : (), or the shape of input with ``reduction="none"``

    Raises
    ------
    ValueError
        If the shapes differ.
    RuntimeError
        If an element of the input is not in [0, 1].

    Notes
    -----
    Logarithms are kept above -100, so that the loss of a certain mistake is finite.

    Examples
    --------
    >>> weft.nn.BCELoss(reduction="none")(weft.tensor([0.5, 1.0]), weft.tensor([1.0, 0.0]))
    tensor([  0.6931, 100.0000])
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare ``input`` and ``target``, of one shape."""
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


@documented(reduction=REDUCTION)
class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of the sigmoid of the input, computed without loss of precision.

    Parameters
    ----------
    weight : Tensor, optional
        The weight of each element, broadcastable to the input.
    pos_weight : Tensor, optional
        The weight of the positive part, broadcastable to the input.
    {reduction}

    Shapes
    ------
    input, target : (...)
        Logits, and numbers in [0, 1].
    output : (), or the shape of input with ``reduction="none"``

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> weft.nn.BCEWithLogitsLoss(reduction="none")(weft.tensor([0.0, 1000.0]), weft.tensor([1.0, 0.0]))
    tensor([6.9315e-01, 1.0000e+03])
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


@documented(reduction=REDUCTION)
class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of the cross entropy of "has this label", from logits.

    Parameters
    ----------
    weight : Tensor, shape (C,), optional
        The weight of each class.
    {reduction}

    Shapes
    ------
    input, target : (N, C) or (C,)
        Logits, and 0 or 1.
    output : (), or (N,) with ``reduction="none"``

    Examples
    --------
    >>> weft.nn.MultiLabelSoftMarginLoss()(weft.zeros(1, 3), weft.tensor([[1.0, 0.0, 1.0]]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare logits and targets 0 or 1, both (N, C)."""
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


@documented(reduction=REDUCTION_ALONE)
class CTCLoss(_Loss):
    """The negative log-probability of a label sequence, over all its alignments to the input.

    Parameters
    ----------
    blank : int
        The class that means "no label".
    zero_infinity : bool
        Whether an infinite loss (an input too short for its target), and its gradient, become 0.
    {reduction}

    Shapes
    ------
    log_probs : (T, N, C) or (T, C)
        Log-probabilities, as `LogSoftmax` gives them.
    targets : (N, S), or all labels joined into one axis
    input_lengths, target_lengths : (N,) or ()
    output : (), or (N,) with ``reduction="none"``

    Raises
    ------
    RuntimeError
        If a length is greater than T, or than the labels given.

    Notes
    -----
    "mean" divides each loss by the length of its target first.

    References
    ----------
    Graves and others, Connectionist temporal classification, 2006.

    Examples
    --------
    >>> log_probs = weft.zeros(2, 1, 3).log_softmax(-1)  # two steps, each class as likely
    >>> loss = weft.nn.CTCLoss(reduction="none")(log_probs, weft.tensor([[1]]), [2], [1])
    >>> loss.neg().exp()  # the alignments -1, 1- and 11, of 9
    tensor([0.3333])
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


@documented(reduction=REDUCTION)
class HingeEmbeddingLoss(_Loss):
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1.

    Parameters
    ----------
    margin : float
        In the units of input.
    {reduction}

    Shapes
    ------
    input, target : (...)
        Distances, and 1 or -1.
    output : (), or the shape of input with ``reduction="none"``

    Examples
    --------
    >>> weft.nn.HingeEmbeddingLoss(reduction="none")(weft.tensor([0.3, 0.3, 2.0]), weft.tensor([1, -1, -1]))
    tensor([0.3000, 0.7000, 0.0000])
    """

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


@documented(reduction=REDUCTION)
class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))``.

    Parameters
    ----------
    {reduction}

    Shapes
    ------
    input, target : (...)
        Scores, and 1 or -1.
    output : (), or the shape of input with ``reduction="none"``

    Examples
    --------
    >>> weft.nn.SoftMarginLoss(reduction="none")(weft.tensor([0.0, 2.0]), weft.tensor([1.0, -1.0]))
    tensor([0.6931, 2.1269])
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare scores with targets 1 or -1, of one shape."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


@documented(reduction=REDUCTION)
class MultiLabelMarginLoss(_Loss):
    """Hinge loss between each label and each class that is none, divided by the number of classes.

    Parameters
    ----------
    {reduction}

    Shapes
    ------
    input : (N, C) or (C,)
        Scores.
    target : the shape of input, of labels that end at the first -1
    output : (), or (N,) with ``reduction="none"``

    Raises
    ------
    RuntimeError
        If the shapes differ, or the target is not of int64.

    Examples
    --------
    >>> scores = weft.tensor([0.1, 0.2, 0.4, 0.8])
    >>> weft.nn.MultiLabelMarginLoss()(scores, weft.tensor([3, 0, -1, 1]))  # the labels are 3 and 0
    tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare scores with labels, both (N, C) or (C,); labels end at the first -1."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


@documented(reduction=REDUCTION)
class MultiMarginLoss(_WeightedLoss):
    """``max(0, margin - score of the target + score of another class) ** p``, the mean over classes.

    Parameters
    ----------
    p : 1 or 2
    margin : float
        In the units of input.
    weight : Tensor, shape (C,), optional
        The weight of each class.
    {reduction}

    Shapes
    ------
    input : (N, C) or (C,)
        Scores.
    target : (N,) or (), of classes
    output : (), or (N,) with ``reduction="none"``

    Raises
    ------
    ValueError
        If ``p`` is neither 1 nor 2, or ``weight`` has other than one dimension.

    Examples
    --------
    >>> weft.nn.MultiMarginLoss()(weft.tensor([[0.1, 0.2, 0.4, 0.8]]), weft.tensor([3]))
    tensor(0.3250)
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


@documented(reduction=REDUCTION)
class MarginRankingLoss(_Loss):
    """``max(0, -target * (input1 - input2) + margin)``: a target of 1 wants the first input greater, -1 the second.

    Parameters
    ----------
    margin : float
        In the units of the inputs.
    {reduction}

    Shapes
    ------
    input1, input2, target : (...)
    output : (), or (...) with ``reduction="none"``

    Examples
    --------
    >>> first, second = weft.tensor([1.0, 1.0]), weft.tensor([0.0, 3.0])
    >>> weft.nn.MarginRankingLoss(reduction="none")(first, second, weft.tensor([1.0, 1.0]))
    tensor([0., 2.])
    """

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


@documented(reduction=REDUCTION)
class CosineEmbeddingLoss(_Loss):
    """``1 - cos`` of two vectors where the target is 1, ``max(0, cos - margin)`` where it is -1.

    Parameters
    ----------
    margin : float
        A cosine, -1 to 1.
    {reduction}

    Shapes
    ------
    input1, input2 : (N, D) or (D,)
    target : (N,) or (), of 1 or -1
    output : (), or the shape of target with ``reduction="none"``

    Raises
    ------
    RuntimeError
        If the inputs have not one dimension more than the target.

    Examples
    --------
    >>> first, second = weft.tensor([[1.0, 0.0], [1.0, 0.0]]), weft.tensor([[0.0, 1.0], [3.0, 4.0]])
    >>> weft.nn.CosineEmbeddingLoss(reduction="none")(first, second, weft.tensor([1, -1]))
    tensor([1.0000, 0.6000])
    """

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


@documented(reduction=REDUCTION)
class TripletMarginLoss(_Loss):
    """``max(0, |anchor - positive| - |anchor - negative| + margin)``.

    Parameters
    ----------
    margin : float
        In the units of the distances.
    p : float
        Of the norm.
    eps : float
        Keeps the gradient of equal vectors finite.
    swap : bool
        Whether the distance of positive and negative counts instead, where it is the smaller one.
    {reduction}

    Shapes
    ------
    anchor, positive, negative : (N, D) or (D,)
    output : (), or (N,) with ``reduction="none"``

    Raises
    ------
    ValueError
        If ``margin`` is not positive.

    References
    ----------
    Balntas and others, Learning local feature descriptors with triplets and shallow convolutional networks, 2016.

    Examples
    --------
    >>> anchor, positive, negative = weft.tensor([[0.0]]), weft.tensor([[1.0]]), weft.tensor([[1.5]])
    >>> weft.nn.TripletMarginLoss()(anchor, positive, negative)  # 1 - 1.5 + 1
    tensor(0.5000)
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


@documented(reduction=REDUCTION_ALONE)
class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with any distance.

    Parameters
    ----------
    distance_function : callable, optional
        Of two tensors; by default `PairwiseDistance`.
    margin : float
        In the units of the distances.
    swap : bool
        Whether the distance of positive and negative counts instead, where it is the smaller one.
    {reduction}

    Shapes
    ------
    anchor, positive, negative : (N, ...)
    output : (), or what the distance of a pair is with ``reduction="none"``

    Raises
    ------
    ValueError
        If ``margin`` is not positive.

    Examples
    --------
    >>> loss = weft.nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().amax(-1))
    >>> loss(weft.tensor([[0.0, 0.0]]), weft.tensor([[1.0, 0.5]]), weft.tensor([[0.0, 2.0]]))  # max(0, 1 - 2 + 1)
    tensor(0.)
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
