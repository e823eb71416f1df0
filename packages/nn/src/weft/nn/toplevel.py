"""Functions of neural networks at the top level of weft: PyTorch's ``torch.conv2d``, ``torch.lstm`` and their like.

`weft` finds them here when they are first asked for (the table is `weft._portions.nn`). Many others are those of
`weft.nn.functional`; these take their arguments in another order, have numbers in place of words (``reduction=1``), or
give results that the modules hide.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import weft
from weft import Tensor
from weft._portions.nn import NAMES
from weft.library.declare import composite
from weft.nn import functional as F
from weft.nn.functional._common import explaining, in_single, inplace_or_not
from weft.nn.functional.activation import threshold_and_value, threshold_op
from weft.nn.functional.dropout import alpha_masked, channel_shape, masked
from weft.nn.functional.normalization import (
    batch_norm_training,
    by_channel,
    layer_norm_op,
    normalized_by,
    update_running,
)
from weft.nn.functional.normalization import (
    check_normalized as check_normalized_shape,
)
from weft.nn.functional.sparse import bag_of_each, first_greatest, shrink_rows
from weft.nn.rnn import recurrent, single_step

__all__ = NAMES[__name__].split()

adaptive_max_pool1d = F.adaptive_max_pool1d_with_indices

# Activation


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """``x`` where it is positive, else ``alpha * (exp(x / alpha) - 1)``; see `weft.nn.functional.celu`.

    Parameters
    ----------
    input : Tensor
    alpha : float

    Examples
    --------
    >>> weft.celu(weft.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return F.celu(input, alpha)


def selu(input: Tensor) -> Tensor:
    """`elu` with the two constants that keep mean 0 and variance 1; see `weft.nn.functional.selu`.

    Examples
    --------
    >>> weft.selu(weft.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return F.selu(input)


@composite(out=True)
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """Each element above ``threshold`` as it is, the others replaced by ``value``.

    Parameters
    ----------
    input : Tensor
    threshold, value : float

    Examples
    --------
    >>> weft.threshold(weft.tensor([0.5, 1.0, 1.5]), 1.0, 20.0)
    tensor([20.0000, 20.0000,  1.5000])
    """
    return threshold_op.op(input, *threshold_and_value(input, threshold, value))


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place variant of `threshold`.

    Parameters
    ----------
    input : Tensor
    threshold, value : float

    Examples
    --------
    >>> x = weft.tensor([0.5, 1.5])
    >>> _ = weft.threshold_(x, 1.0, 20.0)
    >>> x
    tensor([20.0000,  1.5000])
    """
    return F.threshold_(input, threshold, value)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None
) -> Tensor:
    """`leaky_relu` with a slope drawn from [lower, upper] for each element; see `weft.nn.functional.rrelu`.

    Parameters
    ----------
    input, lower, upper, training
        As of `weft.nn.functional.rrelu`.
    generator : None
        The default generator draws; there is no other.

    Raises
    ------
    NotImplementedError
        If a generator is given.

    Examples
    --------
    >>> weft.rrelu(weft.tensor([-1.0, 2.0]), 0.1, 0.3)  # not training: their mean
    tensor([-0.2000,  2.0000])
    """
    refuse_generator("rrelu", generator)
    return F.rrelu(input, lower, upper, training)


def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None
) -> Tensor:
    """In-place variant of `rrelu`.

    Parameters
    ----------
    input, lower, upper, training, generator
        As of `rrelu`.

    Raises
    ------
    NotImplementedError
        If a generator is given.

    Examples
    --------
    >>> x = weft.tensor([-1.0, 2.0])
    >>> weft.rrelu_(x, 0.1, 0.3) is x
    True
    """
    refuse_generator("rrelu_", generator)
    return F.rrelu_(input, lower, upper, training)


def refuse_generator(name: str, generator: Any) -> None:
    """There is no generator, other than the default one.

    Raises
    ------
    NotImplementedError
        If there is.
    """
    if generator is not None:
        raise NotImplementedError(
            f"{name}: a generator of its own is not supported; seed the default one with weft.manual_seed(...)"
        )


# Dropout


DROPPING = """\
Parameters
----------
input : Tensor
p : float
    The probability of being dropped.
train : bool
    Without it nothing is dropped.

Raises
------
RuntimeError
    If ``p`` is not in [0, 1].

Examples
--------
>>> weft.{name}(weft.ones(2, 2), 0.5, train=False)
tensor([[1., 1.],
        [1., 1.]])
"""


class Dropping(Protocol):
    """The type of the functions of dropout."""

    def __call__(self, input: Tensor, p: float, train: bool) -> Tensor:
        """Drop."""


def dropping(name: str, rule: Callable[..., Tensor], by_features: bool) -> tuple[Dropping, Dropping]:
    """A kind of dropout and its in-place variant, both with ``train`` as a required argument."""

    def run(name: str, input: Tensor, p: float, train: bool, inplace: bool) -> Tensor:
        if not 0.0 <= p <= 1.0:
            raise RuntimeError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")
        if by_features and input.ndim < 2:
            raise RuntimeError(f"{name}: Feature dropout requires at least 2 dimensions in the input, got {input.ndim}")
        if p == 0 or not train or not input.numel():
            return input
        return inplace_or_not(rule, name, input, inplace, p, channel_shape(input) if by_features else None)

    def function(input: Tensor, p: float, train: bool) -> Tensor:
        return run(name, input, p, train, False)

    def function_(input: Tensor, p: float, train: bool) -> Tensor:
        return run(f"{name}_", input, p, train, True)

    what = "whole channels" if by_features else "elements"
    kept = "; mean and variance stay behind `selu`" if rule is alpha_masked else ""
    function.__name__ = function.__qualname__ = name
    function_.__name__ = function_.__qualname__ = f"{name}_"
    function.__doc__ = f"Drop {what} with probability ``p`` if ``train``{kept}.\n\n{DROPPING.format(name=name)}"
    function_.__doc__ = f"In-place variant of `{name}`.\n\n{DROPPING.format(name=function_.__name__)}"
    return function, function_


dropout, dropout_ = dropping("dropout", masked, False)
feature_dropout, feature_dropout_ = dropping("feature_dropout", masked, True)
alpha_dropout, alpha_dropout_ = dropping("alpha_dropout", alpha_masked, False)
feature_alpha_dropout, feature_alpha_dropout_ = dropping("feature_alpha_dropout", alpha_masked, True)


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`dropout`, and the mask of what was kept.

    Parameters
    ----------
    input : Tensor
        Floating-point or complex.
    p : float
        The probability of being dropped.
    train : bool or None
        None is as True.

    Raises
    ------
    RuntimeError
        If p is not in [0, 1], or the dtype cannot be scaled.

    Examples
    --------
    >>> output, mask = weft.native_dropout(weft.ones(4), 0.5, True)
    >>> bool((output == 2 * mask).all())
    True
    """
    if not input._key.is_differentiable:
        raise RuntimeError(f"native_dropout: result type Float can't be cast to {input.dtype}; convert with .float()")
    if train is False or not input.numel():
        return input.clone(), weft.ones_like(input, dtype=weft.bool)
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"native_dropout: dropout probability has to be between 0 and 1, but got {p}")
    mask = weft.empty_like(input, dtype=weft.bool).bernoulli_(1 - p)
    return input * mask * (1 / (1 - p) if p < 1 else 0), mask


# Normalization


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Normalize each channel; see `weft.nn.functional.batch_norm`.

    Parameters
    ----------
    input, weight, bias, running_mean, running_var, training, momentum, eps
        As of `weft.nn.functional.batch_norm`.
    cudnn_enabled : bool
        Not used.

    Examples
    --------
    >>> x = weft.tensor([[1.0], [3.0]])
    >>> weft.batch_norm(x, None, None, weft.tensor([2.0]), weft.tensor([4.0]), False, 0.1, 0.0, False)
    tensor([[-0.5000],
            [ 0.5000]])
    """
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Normalize each channel of each sample; see `weft.nn.functional.instance_norm`.

    Parameters
    ----------
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps
        As of `weft.nn.functional.instance_norm`.
    cudnn_enabled : bool
        Not used.

    Examples
    --------
    >>> weft.instance_norm(weft.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 0.0, False)
    tensor([[[-1.,  1.]]])
    """
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """Normalize the last axes; see `weft.nn.functional.layer_norm`.

    Parameters
    ----------
    input, normalized_shape, weight, bias, eps
        As of `weft.nn.functional.layer_norm`.
    cudnn_enable : bool
        Not used.

    Examples
    --------
    >>> weft.layer_norm(weft.tensor([1.0, 3.0]), (2,), eps=0.0)
    tensor([-1.,  1.])
    """
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalize each group of channels of each sample; see `weft.nn.functional.group_norm`.

    Parameters
    ----------
    input, num_groups, weight, bias, eps
        As of `weft.nn.functional.group_norm`.
    cudnn_enabled : bool
        Not used.

    Examples
    --------
    >>> weft.group_norm(weft.tensor([[1.0, 3.0, 0.0, 4.0]]), 2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """
    return F.group_norm(input, num_groups, weight, bias, eps)


@composite(out=True)
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm`, with the batch's means and inverse standard deviations (empty unless ``training``).

    Parameters
    ----------
    input, weight, bias, running_mean, running_var, training, momentum, eps
        As of `weft.nn.functional.batch_norm`.

    Raises
    ------
    RuntimeError
        If running statistics are missing in evaluation.

    Examples
    --------
    >>> x = weft.tensor([[1.0], [3.0]])
    >>> weft.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)
    (tensor([[-1.],
            [ 1.]]), tensor([2.]), tensor([1.]))
    """
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("native_batch_norm: running_mean and running_var must be defined when training=False")
        result = normalized_by("native_batch_norm", input, running_mean, running_var, weight, bias, eps)
        return result, input.new_empty(0), input.new_empty(0)
    result, mean, variance = batch_norm_training.op(input, weight, bias, eps)
    update_running(running_mean, running_var, mean, variance, input.numel() // max(input.shape[1], 1), momentum)
    mean, variance = mean.detach(), variance.detach()
    return result, mean, (in_single(variance) + eps).rsqrt().to(mean.dtype)


@composite(out=True)
def _native_batch_norm_legit(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, *rest: Any, **named: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """`native_batch_norm`, whose two running statistics may be left out of the call."""
    given = "running_mean" in named or (rest and (rest[0] is None or isinstance(rest[0], Tensor)))
    found: tuple[Tensor, Tensor, Tensor] = native_batch_norm(
        input, weight, bias, *(() if given else (None, None)), *rest, **named
    )
    return found


@composite(out=True)
def _batch_norm_with_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`native_batch_norm` in training, and room for what a backend may keep for the gradient; see `weft.ops.aten`."""
    found = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return (*found, input.new_empty(0, dtype=weft.uint8))


def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """The means and biased variances of the channels; the running statistics move a share of the way to them.

    Parameters
    ----------
    input : Tensor, shape (N, C, ...)
    running_mean, running_var : Tensor, shape (C,), or None
        Changed in place.
    momentum : float
        The share.

    Raises
    ------
    RuntimeError
        If the input is empty.

    Examples
    --------
    >>> running_mean, running_var = weft.zeros(1), weft.ones(1)
    >>> weft.batch_norm_update_stats(weft.tensor([[1.0], [3.0]]), running_mean, running_var, 0.1)
    (tensor([2.]), tensor([1.]))
    >>> running_mean, running_var  # the running variance is the unbiased one
    (tensor([0.2000]), tensor([1.1000]))
    """
    if not input.numel():
        raise RuntimeError(
            "batch_norm_update_stats: input tensor must have at least one element, but got input_sizes = "
            f"{list(input.shape)}"
        )
    dims = (0, *range(2, input.ndim))
    with weft.no_grad():
        mean, variance = input.mean(dims), input.var(dims, correction=0)
        update_running(running_mean, running_var, mean, variance, input.numel() // max(input.shape[1], 1), momentum)
    return mean, variance


def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, with the means and inverse standard deviations of the rows.

    Parameters
    ----------
    input, normalized_shape, weight, bias, eps
        As of `weft.nn.functional.layer_norm`.

    Examples
    --------
    >>> weft.native_layer_norm(weft.tensor([1.0, 3.0]), (2,), None, None, 0.0)
    (tensor([-1.,  1.]), tensor([2.]), tensor([1.]))
    """
    shape = check_normalized_shape("native_layer_norm", input, normalized_shape, weight, bias)
    result, mean, inverse = layer_norm_op.op(input, weight, bias, len(shape), eps)
    return result, mean.detach(), inverse.detach()


def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm`, with the means and inverse standard deviations of the groups, of shape (N, group).

    Parameters
    ----------
    input : Tensor, shape (N, C, ...)
    weight, bias : Tensor, shape (C,), or None
    N, C, HxW : int
        The sizes of the input: examples, channels, elements of each channel.
    group : int
        The number of groups.
    eps : float
        Added to the variance, in the units of input squared.

    Raises
    ------
    RuntimeError
        If the sizes are not those of the input, or the groups do not divide the channels.

    Examples
    --------
    >>> result, mean, inverse = weft.native_group_norm(weft.tensor([[1.0, 3.0, 0.0, 4.0]]), None, None, 1, 4, 1, 2, 0.0)
    >>> mean, inverse
    (tensor([[2., 2.]]), tensor([[1.0000, 0.5000]]))
    """
    if group < 1 or C % group:
        raise RuntimeError(f"native_group_norm: the number of channels ({C}) must be divisible by group ({group})")
    if N * C * HxW != input.numel():
        raise RuntimeError(f"native_group_norm: input {list(input.shape)} has not N={N} * C={C} * HxW={HxW} elements")
    for argument, each in (("weight", weight), ("bias", bias)):
        if each is not None and each.numel() != C:
            raise RuntimeError(f"native_group_norm: {argument} must have C={C} elements, got {list(each.shape)}")
    element = input.dtype
    grouped = in_single(input).reshape(N, group, C // group * HxW)
    mean = grouped.mean(-1)  # both statistics are differentiable
    inverse = (grouped.var(-1, correction=0) + eps).rsqrt()
    normal = layer_norm_op.op(grouped, None, None, 1, eps)[0].reshape(N, C, HxW)
    for each, combine in ((weight, weft.mul), (bias, weft.add)):
        if each is not None:
            normal = combine(normal, by_channel(in_single(each), 3))
    if weight is None or weight.dtype is element:
        mean, inverse = mean.to(element), inverse.to(element)
    return normal.reshape(input.shape).to(element), mean, inverse


# Embedding


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """The rows of ``weight`` at these indices.

    Parameters
    ----------
    weight : Tensor, shape (rows, columns)
    indices : Tensor of integers
    padding_idx : int
        This row gets no gradient, unless it is negative.
    scale_grad_by_freq : bool
        Whether to divide gradients by how often the index is there.
    sparse : bool
        Whether the gradient is a sparse tensor.

    Raises
    ------
    IndexError
        If an index is not one of a row.

    Examples
    --------
    >>> weft.embedding(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), weft.tensor([1, 0, 1]))
    tensor([[3., 4.],
            [1., 2.],
            [3., 4.]])
    """
    padding = padding_idx if weight.ndim and 0 <= padding_idx < weight.shape[0] else None
    return F.embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows at these indices down to a norm, in place.

    Parameters
    ----------
    input : Tensor, shape (rows, columns)
    indices : Tensor of integers
    max_norm : float
    norm_type : float
        The p of the norm.

    Examples
    --------
    >>> weft.embedding_renorm_(weft.tensor([[3.0, 4.0], [6.0, 8.0]]), weft.tensor([1]), 5.0, 2.0)
    tensor([[3., 4.],
            [3., 4.]])
    """
    F.embedding(indices, input.detach())  # checks both
    shrink_rows(input, indices, max_norm, norm_type)
    return input


MODES = ("sum", "mean", "max")


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sum, mean or greatest elements of the rows that each bag of indices names.

    Parameters
    ----------
    weight : Tensor, shape (rows, embedding_dim)
    indices : Tensor of integers, shape (all indices,)
    offsets : Tensor, shape (B,)
        Where each bag begins.
    scale_grad_by_freq : bool
        Whether to divide gradients by how often the index is there.
    mode : int
        0 sum, 1 mean, 2 greatest.
    sparse : bool
        Whether the gradient is a sparse tensor.
    per_sample_weights : Tensor, the shape of indices, optional
        What to multiply each row by, for sums.
    include_last_offset : bool
        Whether ``offsets`` has one more entry: the number of indices.
    padding_idx : int, optional
        The index of a row that counts in no bag.

    Returns
    -------
    output : Tensor, shape (B, embedding_dim)
    offset2bag : Tensor
        The bag of each index; empty for sums without ``padding_idx``.
    bag_size : Tensor, shape (B,)
        How many rows count in each bag; 0 for sums.
    max_indices : Tensor, shape (B, embedding_dim) for mode 2, else (B,)
        Which row gave each greatest element; for the other modes as ``bag_size``.

    Examples
    --------
    >>> weight = weft.tensor([[1.0, 1.0], [2.0, 4.0], [5.0, 5.0]])
    >>> weft.embedding_bag(weight, weft.tensor([0, 1, 2]), weft.tensor([0, 2]))[0]
    tensor([[3., 5.],
            [5., 5.]])
    """
    if not isinstance(mode, int) or not 0 <= mode < len(MODES):
        raise RuntimeError(f"embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), got {mode!r}")
    flat = indices.reshape(-1)
    output = F.embedding_bag(
        flat,
        weight,
        offsets,
        scale_grad_by_freq=scale_grad_by_freq,
        mode=MODES[mode],
        sparse=sparse,
        per_sample_weights=None if per_sample_weights is None else per_sample_weights.reshape(-1),
        include_last_offset=include_last_offset,
        padding_idx=padding_idx,
    )
    bags = output.shape[0]
    if mode == 0 and padding_idx is None:
        return output, offsets.new_empty(0), weft.zeros_like(offsets), weft.zeros_like(offsets)
    count = flat.shape[0]
    starts = weft.cat([offsets[:bags].long(), offsets.new_full((1,), count, dtype=weft.int64)])
    bag = bag_of_each.op(starts, count)
    kept = weft.ones_like(flat, dtype=weft.bool) if padding_idx is None else flat != padding_idx % weight.shape[0]
    if mode == 0:
        return output, bag.to(offsets.dtype), weft.zeros_like(offsets), weft.zeros_like(offsets)
    sizes = offsets.new_zeros(bags).index_add_(0, bag, kept.to(offsets.dtype))
    if mode == 1:
        return output, bag.to(offsets.dtype), sizes, sizes.clone()
    greatest = greatest_rows(weight.detach(), flat, bag.where(kept, bags), bags)
    return output, bag.to(offsets.dtype), sizes, greatest.to(offsets.dtype)


def greatest_rows(weight: Tensor, indices: Tensor, bag: Tensor, bags: int) -> Tensor:
    """Which row of the table has the greatest element of each bag and column; 0 where a bag is empty."""
    count = indices.shape[0]
    if not count:
        return indices.new_zeros(bags, weight.shape[1])
    first = first_greatest(weight[indices], bag, bags)
    return indices[first.clamp(max=count - 1)].masked_fill(first == count, 0)


# Losses

# Every other number is "none". That is also the default: PyTorch's declarations say mean, and its functions do none.
REDUCTIONS = {1: "mean", 2: "sum"}


def reduction_name(name: str, reduction: Any) -> str:
    """The word for PyTorch's number of a reduction.

    Raises
    ------
    TypeError
        If it is no number: the functions of `weft.nn.functional` take words.
    """
    if not isinstance(reduction, int):
        raise TypeError(
            f"{name}(): argument 'reduction' must be int (0 none, 1 mean, 2 sum), not {type(reduction).__name__}; "
            f"weft.nn.functional.{name} takes {reduction!r}"
        )
    return REDUCTIONS.get(reduction, "none")


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    """As `weft.nn.functional.binary_cross_entropy_with_logits`, with a number for the reduction.

    Parameters
    ----------
    input, target, weight, pos_weight
        As of `weft.nn.functional.binary_cross_entropy_with_logits`.
    reduction : int
        0 none, 1 mean, 2 sum.

    Examples
    --------
    >>> weft.binary_cross_entropy_with_logits(weft.zeros(2), weft.tensor([0.0, 1.0]))
    tensor([0.6931, 0.6931])
    """
    word = reduction_name("binary_cross_entropy_with_logits", reduction)
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=word)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """As `weft.nn.functional.cosine_embedding_loss`, with a number for the reduction.

    Parameters
    ----------
    input1, input2, target, margin
        As of `weft.nn.functional.cosine_embedding_loss`.
    reduction : int
        0 none, 1 mean, 2 sum.

    Examples
    --------
    >>> weft.cosine_embedding_loss(weft.tensor([1.0, 0.0]), weft.tensor([0.0, 1.0]), weft.tensor(1))
    tensor(1.)
    """
    word = reduction_name("cosine_embedding_loss", reduction)
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=word)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """As `weft.nn.functional.ctc_loss`, with a number for the reduction.

    Parameters
    ----------
    log_probs, targets, input_lengths, target_lengths, blank, zero_infinity
        As of `weft.nn.functional.ctc_loss`.
    reduction : int
        0 none, 1 mean, 2 sum.

    Examples
    --------
    >>> log_probs = weft.zeros(2, 1, 3).log_softmax(-1)
    >>> weft.ctc_loss(log_probs, weft.tensor([[1]]), [2], [1], reduction=2)  # -log(3 / 9)
    tensor(1.0986)
    """
    word = reduction_name("ctc_loss", reduction)
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, word, zero_infinity)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """As `weft.nn.functional.hinge_embedding_loss`, with a number for the reduction.

    Parameters
    ----------
    input, target, margin
        As of `weft.nn.functional.hinge_embedding_loss`.
    reduction : int
        0 none, 1 mean, 2 sum.

    Examples
    --------
    >>> weft.hinge_embedding_loss(weft.tensor([0.3, 0.3]), weft.tensor([1, -1]), reduction=2)
    tensor(1.)
    """
    return F.hinge_embedding_loss(input, target, margin, reduction=reduction_name("hinge_embedding_loss", reduction))


def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """As `weft.nn.functional.kl_div`, with a number for the reduction.

    Parameters
    ----------
    input, target, log_target
        As of `weft.nn.functional.kl_div`.
    reduction : int
        0 none, 1 mean, 2 sum.

    Examples
    --------
    >>> weft.kl_div(weft.tensor([0.5, 0.5]).log(), weft.tensor([1.0, 0.0]))
    tensor([0.6931, 0.0000])
    """
    word = reduction_name("kl_div", reduction)
    loss = F.kl_div(input, target, reduction="none", log_target=log_target)
    return loss if word == "none" else loss.mean() if word == "mean" else loss.sum()


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """As `weft.nn.functional.margin_ranking_loss`, with a number for the reduction.

    Parameters
    ----------
    input1, input2, target, margin
        As of `weft.nn.functional.margin_ranking_loss`.
    reduction : int
        0 none, 1 mean, 2 sum.

    Examples
    --------
    >>> weft.margin_ranking_loss(weft.tensor([1.0]), weft.tensor([3.0]), weft.tensor([1.0]))
    tensor([2.])
    """
    word = reduction_name("margin_ranking_loss", reduction)
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=word)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """As `weft.nn.functional.poisson_nll_loss`, with a number for the reduction.

    Parameters
    ----------
    input, target, log_input, full, eps
        As of `weft.nn.functional.poisson_nll_loss`.
    reduction : int
        0 none, 1 mean, 2 sum.

    Examples
    --------
    >>> weft.poisson_nll_loss(weft.tensor([0.0]), weft.tensor([1.0]), True, False, 1e-8, 0)
    tensor([1.])
    """
    word = reduction_name("poisson_nll_loss", reduction)
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=word)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """As `weft.nn.functional.triplet_margin_loss`, with a number for the reduction.

    Parameters
    ----------
    anchor, positive, negative, margin, p, eps, swap
        As of `weft.nn.functional.triplet_margin_loss`.
    reduction : int
        0 none, 1 mean, 2 sum.

    Examples
    --------
    >>> anchor, positive, negative = weft.tensor([[0.0]]), weft.tensor([[1.0]]), weft.tensor([[1.5]])
    >>> weft.triplet_margin_loss(anchor, positive, negative)
    tensor([0.5000])
    """
    word = reduction_name("triplet_margin_loss", reduction)
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=word)


# Images


def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """The places that affine maps send the pixels of an image to; see `weft.nn.functional.affine_grid`.

    Parameters
    ----------
    theta, size, align_corners
        As of `weft.nn.functional.affine_grid`.

    Examples
    --------
    >>> identity = weft.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> weft.affine_grid_generator(identity, (1, 1, 1, 2), False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    return F.affine_grid(theta, size, align_corners)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """The input at the places of a grid; see `weft.nn.functional.grid_sample`.

    Parameters
    ----------
    input, grid, align_corners
        As of `weft.nn.functional.grid_sample`.
    interpolation_mode : int
        0 bilinear, 1 nearest, 2 bicubic.
    padding_mode : int
        0 zeros, 1 border, 2 reflection.

    Raises
    ------
    ValueError
        For other modes.

    Examples
    --------
    >>> image, grid = weft.tensor([[[[1.0, 3.0]]]]), weft.tensor([[[[0.0, 0.0]]]])
    >>> weft.grid_sampler(image, grid, 0, 0, True)  # between the two pixels
    tensor([[[[2.]]]])
    """
    words = tuple(F.GRID_SAMPLE_INTERPOLATION_MODES), tuple(F.GRID_SAMPLE_PADDING_MODES)
    for argument, value, known in zip(
        ("interpolation_mode", "padding_mode"), (interpolation_mode, padding_mode), words
    ):
        if value not in (0, 1, 2):
            raise ValueError(f"grid_sampler: {argument} must be 0, 1 or 2 ({', '.join(known)}), got {value!r}")
    return F.grid_sample(input, grid, words[0][interpolation_mode], words[1][padding_mode], align_corners)


def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` of images (N, C, H, W).

    Parameters
    ----------
    input, grid, interpolation_mode, padding_mode, align_corners
        As of `grid_sampler`.

    Raises
    ------
    RuntimeError
        If the input has other dimensions.

    Examples
    --------
    >>> image, grid = weft.tensor([[[[1.0, 3.0]]]]), weft.tensor([[[[0.0, 0.0]]]])
    >>> weft.grid_sampler_2d(image, grid, 0, 0, True)
    tensor([[[[2.]]]])
    """
    return of_rank("grid_sampler_2d", 4, input, grid, interpolation_mode, padding_mode, align_corners)


def _grid_sampler_2d_cpu_fallback(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler_2d`, by the name that PyTorch has for its loops without vector instructions."""
    return grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` of volumes (N, C, D, H, W).

    Parameters
    ----------
    input, grid, interpolation_mode, padding_mode, align_corners
        As of `grid_sampler`.

    Raises
    ------
    RuntimeError
        If the input has other dimensions.

    Examples
    --------
    >>> volume, grid = weft.tensor([[[[[1.0, 3.0]]]]]), weft.tensor([[[[[0.0, 0.0, 0.0]]]]])
    >>> weft.grid_sampler_3d(volume, grid, 0, 0, True)
    tensor([[[[[2.]]]]])
    """
    return of_rank("grid_sampler_3d", 5, input, grid, interpolation_mode, padding_mode, align_corners)


def of_rank(name: str, ndim: int, input: Tensor, *args: Any) -> Tensor:
    """`grid_sampler`, for an input of this many dimensions.

    Raises
    ------
    RuntimeError
        For another.
    """
    if input.ndim != ndim:
        raise RuntimeError(f"{name}: expected input to have {ndim} dimensions, got {list(input.shape)}")
    return grid_sampler(input, *args)


# Convolution


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """A convolution of one to three dimensions, or its transpose.

    Parameters
    ----------
    input, weight, bias, stride, padding, dilation, groups
        As of `weft.nn.functional.conv2d`.
    transposed : bool
        Whether the transpose is meant, as `weft.nn.functional.conv_transpose2d` computes it.
    output_padding : sequence of int
        As of that; not used otherwise.

    Raises
    ------
    RuntimeError
        If the weight has not 3, 4 or 5 dimensions.

    Examples
    --------
    >>> signal, kernel = weft.tensor([[[1.0, 2.0, 4.0]]]), weft.tensor([[[1.0, -1.0]]])
    >>> weft.convolution(signal, kernel, None, [1], [0], [1], False, [0], 1)
    tensor([[[-1., -2.]]])
    """
    count = weight.ndim - 2
    if not 1 <= count <= 3:
        raise RuntimeError(f"convolution: expected a weight of 3, 4 or 5 dimensions, got {list(weight.shape)}")
    if transposed:
        function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[count - 1]
        return function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return (F.conv1d, F.conv2d, F.conv3d)[count - 1](input, weight, bias, stride, padding, dilation, groups)


# Recurrent networks


def layers(name: str, mode: str) -> Callable[..., tuple[Tensor, ...]]:
    """The function of a recurrent network: over stacked sequences, or over packed ones."""

    def function(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        return recurrent(name, mode, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Run the layers of {mode} over sequences.

    Called as ``{name}(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)``, or
    with packed sequences as ``{name}(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train,
    bidirectional)``. ``params`` has the parameters layer by layer and direction by direction, in the order of
    `weft.nn.RNNBase.all_weights`; ``hx`` is the initial state, of an LSTM the pair (h, c).

    Returns
    -------
    The outputs of the last layer, and the last state (h, or h and c).
    """
    return function


gru, lstm = layers("gru", "GRU"), layers("lstm", "LSTM")
rnn_relu, rnn_tanh = layers("rnn_relu", "RNN_RELU"), layers("rnn_tanh", "RNN_TANH")


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a gated recurrent unit, see `weft.nn.GRUCell`.

    Parameters
    ----------
    input : Tensor, shape (N, input_size)
    hx : Tensor, shape (N, hidden_size)
        The state.
    w_ih, w_hh : Tensor, shapes (gates * hidden_size, input_size) and (gates * hidden_size, hidden_size)
    b_ih, b_hh : Tensor, shape (gates * hidden_size,), optional
        There are 3 gates.

    Raises
    ------
    RuntimeError
        If a shape does not fit.

    Examples
    --------
    >>> weft.gru_cell(weft.zeros(3, 10), weft.zeros(3, 20), weft.zeros(60, 10), weft.zeros(60, 20)).shape
    weft.Size([3, 20])
    """
    return single_step("gru_cell", "GRU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of long short-term memory from the state (h, c), see `weft.nn.LSTMCell`.

    Parameters
    ----------
    input : Tensor, shape (N, input_size)
    hx : pair of Tensor, shape (N, hidden_size)
        The state.
    w_ih, w_hh : Tensor, shapes (gates * hidden_size, input_size) and (gates * hidden_size, hidden_size)
    b_ih, b_hh : Tensor, shape (gates * hidden_size,), optional
        There are 4 gates.

    Raises
    ------
    RuntimeError
        If a shape does not fit.

    Examples
    --------
    >>> state = weft.zeros(3, 20), weft.ones(3, 20)
    >>> h, c = weft.lstm_cell(weft.zeros(3, 10), state, weft.zeros(80, 10), weft.zeros(80, 20))
    >>> c[0, 0]  # all gates are sigmoid(0)
    tensor(0.5000)
    """
    if len(hx) != 2:
        raise RuntimeError(f"lstm_cell: expects two hidden states, h and c, got {len(hx)}")
    h, c = single_step("lstm_cell", "LSTM", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)
    return h, c


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of an Elman network with `relu`, see `weft.nn.RNNCell`.

    Parameters
    ----------
    input : Tensor, shape (N, input_size)
    hx : Tensor, shape (N, hidden_size)
        The state.
    w_ih, w_hh : Tensor, shapes (hidden_size, input_size) and (hidden_size, hidden_size)
    b_ih, b_hh : Tensor, shape (hidden_size,), optional

    Raises
    ------
    RuntimeError
        If a shape does not fit.

    Examples
    --------
    >>> weft.rnn_relu_cell(weft.ones(1, 2), weft.zeros(1, 1), weft.ones(1, 2), weft.ones(1, 1))
    tensor([[2.]])
    """
    return single_step("rnn_relu_cell", "RNN_RELU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of an Elman network with `tanh`, see `weft.nn.RNNCell`.

    Parameters
    ----------
    input : Tensor, shape (N, input_size)
    hx : Tensor, shape (N, hidden_size)
        The state.
    w_ih, w_hh : Tensor, shapes (hidden_size, input_size) and (hidden_size, hidden_size)
    b_ih, b_hh : Tensor, shape (hidden_size,), optional

    Raises
    ------
    RuntimeError
        If a shape does not fit.

    Examples
    --------
    >>> weft.rnn_tanh_cell(weft.ones(1, 2), weft.zeros(1, 1), weft.ones(1, 2), weft.ones(1, 1))
    tensor([[0.9640]])
    """
    return single_step("rnn_tanh_cell", "RNN_TANH", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


explaining(sys.modules[__name__], [name for name in __all__ if name != "adaptive_max_pool1d"])
