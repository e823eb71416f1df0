"""Samples of the functions of neural networks, for the suite of every backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import weft
from weft.testing import call
from weft.testing import samples as samples_of

__all__: list[str] = []

Calls = Iterator[tuple[tuple[Any, ...], dict[str, Any]]]


def samples(*names: str) -> Callable[[Any], Any]:
    """Declare the samples of functions of `weft.nn.functional`."""
    return samples_of(*[f"nn.functional.{name}" for name in names])


# Convolution


@samples("conv1d")
def _(make: Any) -> Calls:
    x, weight, bias = make(2, 4, 7), make(6, 4, 3), make(6)
    yield from (call(x, weight), call(x, weight, bias, 2, 1), call(x[0], weight, bias, dilation=2))
    yield from (call(x, make(6, 2, 2), bias, groups=2), call(x, make(6, 4, 1)), call(x, make(4, 1, 3), groups=4))
    yield from (call(x, weight, padding="same"), call(make(0, 4, 7), weight))


@samples("conv2d")
def _(make: Any) -> Calls:
    x, weight, bias = make(2, 4, 6, 5), make(6, 4, 3, 2), make(6)
    yield from (call(x, weight), call(x, weight, bias, (2, 1), (1, 0)), call(x[0], weight, bias, dilation=(1, 2)))
    yield from (call(x, make(6, 2, 2, 2), bias, groups=2), call(x, make(6, 4, 1, 1), None, 2))
    yield from (call(x, make(8, 1, 3, 3), padding=1, groups=4), call(x, make(3, 4, 3, 1), padding="same"))
    yield call(x.contiguous(memory_format=weft.channels_last), weight, bias)


@samples("conv3d")
def _(make: Any) -> Calls:
    x, weight, bias = make(2, 2, 4, 3, 5), make(4, 2, 2, 2, 3), make(4)
    yield from (call(x, weight), call(x, weight, bias, (2, 1, 1), 1), call(x[0], make(4, 1, 2, 1, 2), bias, groups=2))


@samples("conv_transpose1d")
def _(make: Any) -> Calls:
    x, weight = make(2, 4, 5), make(4, 3, 3)
    yield from (call(x, weight), call(x, weight, make(3), 2, 1, 1), call(x[0], make(4, 1, 2), make(2), groups=2))


@samples("conv_transpose2d")
def _(make: Any) -> Calls:
    x, weight = make(2, 4, 3, 4), make(4, 3, 3, 2)
    yield from (call(x, weight), call(x, weight, make(3), 2, 1, 1), call(x[0], make(4, 1, 2, 2), make(2), groups=2))
    yield call(x, weight, dilation=2)


@samples("conv_transpose3d")
def _(make: Any) -> Calls:
    x, weight = make(1, 2, 3, 2, 3), make(2, 3, 2, 2, 2)
    yield from (call(x, weight), call(x, weight, make(3), 2, 1, 1))


@samples("conv_tbc")
def _(make: Any) -> Calls:
    yield from (call(make(5, 2, 3), make(2, 3, 4), make(4)), call(make(5, 2, 3), make(3, 3, 4), make(4), 1))


@samples("unfold")
def _(make: Any) -> Calls:
    x = make(2, 3, 5, 4)
    yield from (call(x, 2), call(x, (3, 2), 1, 1, 2), call(x[0], 2, dilation=2), call(make(0, 3, 5, 4), 2))


@samples("fold")
def _(make: Any) -> Calls:
    yield from (call(make(2, 12, 12), (5, 4), 2), call(make(12, 4), 4, 2, stride=2), call(make(2, 8, 16), 4, 2, 2, 1))


# Pooling


@samples("max_pool1d", "max_pool1d_with_indices")
def _(make: Any) -> Calls:
    x = make.distinct(2, 3, 9)
    yield from (call(x, 3), call(x, 3, 2, 1), call(x[0], 2, 1, 0, 2, ceil_mode=True), call(x, 2, return_indices=True))


@samples("max_pool2d", "max_pool2d_with_indices")
def _(make: Any) -> Calls:
    x = make.distinct(2, 3, 6, 7)
    yield from (call(x, 2), call(x, (3, 2), 1, 1), call(x[0], 2, 2, 0, 2, ceil_mode=True))
    yield from (call(x, 3, 2, return_indices=True), call(x.contiguous(memory_format=weft.channels_last), 3))


@samples("max_pool3d", "max_pool3d_with_indices")
def _(make: Any) -> Calls:
    x = make.distinct(1, 2, 4, 5, 4)
    yield from (call(x, 2), call(x, (2, 3, 2), 1, 1), call(x[0], 2, 1, 0, (2, 1, 2), return_indices=True))


@samples("avg_pool1d")
def _(make: Any) -> Calls:
    x = make(2, 3, 9)
    yield from (call(x, 3), call(x, 3, 2, 1), call(x[0], 2, 2, 1, True, False), call(x, 4, 3, 0, True))


@samples("avg_pool2d")
def _(make: Any) -> Calls:
    x = make(2, 3, 6, 7)
    yield from (call(x, 2), call(x, (3, 2), 1, 1), call(x[0], 3, 2, 1, True, False), call(x, 2, divisor_override=3))


@samples("avg_pool3d")
def _(make: Any) -> Calls:
    x = make(1, 2, 4, 5, 4)
    yield from (call(x, 2), call(x, (3, 2, 2), 1, 1), call(x[0], 3, 2, 1, True, False), call(x, 2, divisor_override=3))


@samples("lp_pool1d")
def _(make: Any) -> Calls:
    x = make(2, 3, 7)
    yield from (call(x, 2, 3), call(x, 3, 2, 1), call(make(3, 7, low=0.1), 1.5, 2, ceil_mode=True))


@samples("lp_pool2d")
def _(make: Any) -> Calls:
    yield from (call(make(2, 3, 5, 4), 2, 2), call(make(3, 5, 4), 3.0, (3, 2), 1))


@samples("lp_pool3d")
def _(make: Any) -> Calls:
    yield from (call(make(1, 2, 4, 3, 4), 2, 2), call(make(2, 4, 3, 4), 3.0, (3, 2, 2), 1))


@samples("adaptive_avg_pool1d")
def _(make: Any) -> Calls:
    yield from (call(make(2, 3, 7), 3), call(make(3, 4), 6), call(make(2, 3, 6), 1))


@samples("adaptive_avg_pool2d")
def _(make: Any) -> Calls:
    x = make(2, 3, 6, 7)
    yield from (call(x, 3), call(x, (4, None)), call(x[0], 1), call(x, (6, 5)))


@samples("adaptive_avg_pool3d")
def _(make: Any) -> Calls:
    yield from (call(make(1, 2, 4, 3, 5), 2), call(make(2, 4, 3, 5), (None, 2, 3)), call(make(1, 2, 4, 3, 5), 1))


@samples("adaptive_max_pool1d", "adaptive_max_pool1d_with_indices")
def _(make: Any) -> Calls:
    yield from (call(make.distinct(2, 3, 7), 3), call(make.distinct(3, 4), 6, return_indices=True))


@samples("adaptive_max_pool2d", "adaptive_max_pool2d_with_indices")
def _(make: Any) -> Calls:
    x = make.distinct(2, 3, 6, 7)
    yield from (call(x, 3), call(x, (4, None)), call(x[0], 1, return_indices=True))


@samples("adaptive_max_pool3d", "adaptive_max_pool3d_with_indices")
def _(make: Any) -> Calls:
    x = make.distinct(1, 2, 4, 3, 5)
    yield from (call(x, 2), call(x[0], (None, 2, 3), return_indices=True))


@samples("fractional_max_pool2d", "fractional_max_pool2d_with_indices")
def _(make: Any) -> Calls:
    x, where = make.distinct(2, 3, 6, 7), make(2, 3, 2, low=0, high=1)  # given: no backend draws the same
    yield from (call(x, 2, 3, None, False, where), call(x[:1], (2, 3), None, 0.6, True, where[:1]))


@samples("fractional_max_pool3d", "fractional_max_pool3d_with_indices")
def _(make: Any) -> Calls:
    x, where = make.distinct(1, 2, 5, 4, 5), make(1, 2, 3, low=0, high=1)
    yield from (call(x, 2, 3, None, False, where), call(x, 2, None, (0.6, 0.5, 0.6), True, where))


@samples("max_unpool1d")
def _(make: Any) -> Calls:
    places = weft.tensor([[[1, 2, 5], [0, 3, 4]]])
    yield from (call(make(1, 2, 3), places, 2), call(make(2, 3), places[0], 2, output_size=(7,)))


@samples("max_unpool2d")
def _(make: Any) -> Calls:
    places = weft.tensor([[[[0, 3], [9, 14]], [[5, 6], [12, 11]]]])
    yield from (call(make(1, 2, 2, 2), places, 2), call(make(2, 2, 2), places[0], 2, output_size=(5, 4)))


@samples("max_unpool3d")
def _(make: Any) -> Calls:
    yield call(make(1, 1, 1, 2, 2), weft.tensor([[[[[0, 7], [25, 31]]]]]), 2)


# Activation


@samples("celu", "elu", "relu", "relu6", "selu", "silu", "mish", "hardswish", "hardsigmoid", "hardtanh", "leaky_relu")
def _(make: Any) -> Calls:
    yield from (
        call(make(3, 4)),
        call(make(3, 4), inplace=True),
        call(make(4, 6).T[::2]),
        call(make()),
        call(make(0, 3)),
    )


@samples("celu_", "elu_", "relu_", "selu_", "hardtanh_", "leaky_relu_", "rrelu_")
def _(make: Any) -> Calls:
    yield from (call(make(3, 4)), call(make(4, 6).T[::2]))


@samples("gelu")
def _(make: Any) -> Calls:
    yield from (call(make(3, 4)), call(make(3, 4), approximate="tanh"), call(make(4, 6).T[::2]), call(make(0, 3)))


@samples("hardshrink", "softshrink", "sigmoid", "logsigmoid", "softplus", "softsign", "tanh", "tanhshrink")
def _(make: Any) -> Calls:
    yield from (call(make(3, 4)), call(make(4, 6).T[::2]), call(make()), call(make(0, 3)))


@samples("threshold", "threshold_")
def _(make: Any) -> Calls:
    yield from (call(make(3, 4), 0.5, 20), call(make(0, 3), 1, 2))


@samples("rrelu")
def _(make: Any) -> Calls:
    yield from (call(make(3, 4)), call(make(3), 0.1, 0.2))  # not in training, where it draws


@samples("gumbel_softmax")
def _(make: Any) -> Calls:
    yield call(make(3, 1))  # of one class: what is drawn makes no difference


@samples("glu")
def _(make: Any) -> Calls:
    yield from (call(make(3, 4)), call(make(4, 3), 0))


@samples("prelu")
def _(make: Any) -> Calls:
    yield from (call(make(2, 3, 4), make(3)), call(make(2, 3), make(1)))


@samples("softmax", "log_softmax", "softmin")
def _(make: Any) -> Calls:
    x = make(3, 4)
    yield from (call(x, 1), call(x, 0), call(make(2, 3, 4), 1), call(x, 1, dtype=weft.float32), call(make(0, 3), 1))


# Dropout: of nothing and of all, since no two devices draw the same


@samples("dropout", "alpha_dropout", "feature_alpha_dropout")
def _(make: Any) -> Calls:
    yield from (call(make(3, 4), training=False), call(make(3, 4), 0.0, True), call(make(3, 4), 1.0, True))


@samples("dropout1d")
def _(make: Any) -> Calls:
    yield from (call(make(2, 3, 4), training=False), call(make(2, 3, 4), 0.0), call(make(2, 3, 4), 1.0))


@samples("dropout2d")
def _(make: Any) -> Calls:
    x = make(2, 3, 4, 2)
    yield from (call(x, training=False), call(x, 0.0), call(x, 1.0))


@samples("dropout3d")
def _(make: Any) -> Calls:
    x = make(2, 3, 2, 2, 2)
    yield from (call(x, training=False), call(x, 0.0), call(x, 1.0))


# Linear layers, and distances


@samples("linear")
def _(make: Any) -> Calls:
    yield from (call(make(3, 4), make(5, 4)), call(make(2, 3, 4), make(5, 4), make(5)), call(make(4), make(5, 4)))
    yield call(make(0, 4), make(5, 4), make(5))


@samples("bilinear")
def _(make: Any) -> Calls:
    weight = make(2, 3, 4)
    yield from (call(make(5, 3), make(5, 4), weight), call(make(2, 5, 3), make(2, 5, 4), weight, make(2)))


@samples("grouped_mm")
def _(make: Any) -> Calls:
    ends = weft.tensor([8, 24], dtype=weft.int32)
    yield from (call(make(2, 8, 16), make(2, 16, 8)), call(make(24, 16), make(2, 16, 8), offs=ends))
    yield call(make(16, 24), make(24, 8), offs=ends)


@samples("cosine_similarity")
def _(make: Any) -> Calls:
    yield from (
        call(make(3, 4), make(3, 4)),
        call(make(3, 4), make(4), dim=-1),
        call(make(2, 3, 4), make(3, 1), 0, 0.1),
    )


@samples("pairwise_distance")
def _(make: Any) -> Calls:
    yield from (call(make(3, 4), make(3, 4)), call(make(3, 4), make(4), 1, keepdim=True), call(make(4), make(4), 3.0))


@samples("pdist")
def _(make: Any) -> Calls:
    yield from (call(make(5, 3)), call(make(4, 3), 1.0), call(make(4, 3), 3.0), call(make(1, 3)))


# Losses


@samples("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div")
def _(make: Any) -> Calls:
    x, target = make(3, 4), make(3, 4, low=0.1, high=3)
    yield from (call(x, target, reduction=each) for each in ("sum", "none", "sum"))


@samples("binary_cross_entropy")
def _(make: Any) -> Calls:
    x, target = make(3, 4, low=0.1, high=0.9), make(3, 4, low=0, high=1)
    yield from (call(x, target), call(x, target, make(4, low=0.5), reduction="none"), call(x, target, reduction="sum"))


@samples("binary_cross_entropy_with_logits")
def _(make: Any) -> Calls:
    x, target = make(3, 4), make(3, 4, low=0, high=1)
    yield from (call(x, target), call(x, target, make(4, low=0.5), reduction="none"))
    yield call(x, target, pos_weight=make(4, low=0.5), reduction="sum")


@samples("cosine_embedding_loss")
def _(make: Any) -> Calls:
    target = weft.tensor([1, -1, 1])
    yield from (call(make(3, 4), make(3, 4), target), call(make(3, 4), make(3, 4), target, 0.2, reduction="none"))


@samples("cross_entropy")
def _(make: Any) -> Calls:
    x, target = make(5, 4), make.index(5, below=4)
    some = target.clone()
    some[1] = -100
    yield from (call(x, target), call(x, some), call(x, target, ignore_index=2), call(x, target, make(4, low=0.5)))
    yield from (call(x, some, make(4, low=0.5), label_smoothing=0.1), call(x, target, label_smoothing=0.2))
    yield from (call(x, target, reduction="none"), call(x, some, reduction="sum"), call(x[0], target[0]))
    yield from (call(make(2, 4, 3), make.index(2, 3, below=4)), call(x, make(5, 4, low=0, high=1)))
    yield call(x, make(5, 4, low=0, high=1), make(4, low=0.5), label_smoothing=0.1)


@samples("linear_cross_entropy")
def _(make: Any) -> Calls:
    x, weight, target = make(5, 3), make(4, 3), make.index(5, below=4)
    yield from (call(x, weight, target), call(x, weight, target, linear_bias=make(4), reduction="sum"))
    yield call(x, weight, target, ignore_index=1, label_smoothing=0.1)


@samples("nll_loss")
def _(make: Any) -> Calls:
    x, target = make(5, 4), make.index(5, below=4)
    some = target.clone()
    some[1] = -100
    yield from (call(x, target), call(x, some), call(x, target, make(4, low=0.5)), call(x, target, ignore_index=2))
    yield from (call(x, some, reduction="none"), call(x, target, reduction="sum"), call(x[0], target[0]))
    yield from (call(make(2, 4, 3), make.index(2, 3, below=4)), call(x, some, make(4, low=0.5), reduction="none"))


@samples("ctc_loss")
def _(make: Any) -> Calls:
    scores, target = make(6, 2, 4), weft.tensor([[1, 2, 2], [3, 1, 0]])
    scores = scores.log_softmax(2) if scores.is_floating_point() else scores
    yield from (call(scores, target, (6, 5), (3, 2)), call(scores, target, (6, 5), (3, 2), reduction="none"))
    yield call(scores, target, weft.tensor([6, 2]), weft.tensor([3, 2]), reduction="sum", zero_infinity=True)
    yield call(scores[:, 0], target[0], weft.tensor(6), weft.tensor(3))


@samples("gaussian_nll_loss")
def _(make: Any) -> Calls:
    x, target, variance = make(3, 4), make(3, 4), make(3, 4, low=0.5, high=2)
    yield from (call(x, target, variance), call(x, target, 0.5, full=True), call(x, target, variance, reduction="none"))


@samples("hinge_embedding_loss")
def _(make: Any) -> Calls:
    target = weft.tensor([1, -1, 1])
    yield from (call(make(3), target), call(make(2, 3), target, 0.5, reduction="none"))


@samples("margin_ranking_loss")
def _(make: Any) -> Calls:
    target = weft.tensor([1, -1, 1])
    yield from (call(make(3), make(3), target), call(make(3), make(3), target, 0.5, reduction="none"))


@samples("multi_margin_loss")
def _(make: Any) -> Calls:
    x, target = make(5, 4), make.index(5, below=4)
    yield from (call(x, target), call(x, target, 2, 0.5), call(x, target, weight=make(4, low=0.5), reduction="none"))


@samples("multilabel_margin_loss")
def _(make: Any) -> Calls:
    target = weft.tensor([[3, 0, -1, 1], [1, 2, 3, 0]])
    yield from (call(make(2, 4), target), call(make(2, 4), target, reduction="none"), call(make(4), target[0]))


@samples("multilabel_soft_margin_loss")
def _(make: Any) -> Calls:
    x, target = make(3, 4), make(3, 4, low=0, high=1)
    yield from (call(x, target), call(x, target, make(4, low=0.5), reduction="none"))


@samples("poisson_nll_loss")
def _(make: Any) -> Calls:
    x, target = make(3, 4, low=0.1), make(3, 4, low=0, high=4)
    yield from (call(x, target), call(x, target, False, True), call(x, target, full=True, reduction="none"))


@samples("soft_margin_loss")
def _(make: Any) -> Calls:
    x, target = make(3, 4), make.mask(3, 4).to(make.dtype) * 2 - 1
    yield from (call(x, target), call(x, target, reduction="none"))


@samples("triplet_margin_loss", "triplet_margin_with_distance_loss")
def _(make: Any) -> Calls:
    x = make(3, 4), make(3, 4), make(3, 4)
    yield from (call(*x), call(*x, margin=0.5, swap=True), call(*x, reduction="none"))


# Normalization


@samples("batch_norm")
def _(make: Any) -> Calls:
    x, mean, variance = make(3, 4, 2), make(4), make(4, low=0.5, high=2)
    yield from (call(x, mean, variance), call(x, mean, variance, make(4), make(4)))
    yield from (call(x, None, None, make(4), make(4), True), call(x, mean, variance, training=True))
    yield from (
        call(make(3, 4), None, None, training=True),
        call(make(2, 4, 3, 2), mean, variance, make(4), None, True),
    )


@samples("group_norm")
def _(make: Any) -> Calls:
    x = make(3, 4, 5)
    yield from (call(x, 2), call(x, 4, make(4), make(4)), call(make(2, 4, 3, 2), 1, make(4)))


@samples("instance_norm")
def _(make: Any) -> Calls:
    x, mean, variance = make(3, 4, 5), make(4), make(4, low=0.5, high=2)
    yield from (call(x), call(x, weight=make(4), bias=make(4)), call(x, mean, variance, make(4)))
    yield call(x, mean, variance, use_input_stats=False)


@samples("layer_norm")
def _(make: Any) -> Calls:
    x = make(3, 2, 5)
    yield from (call(x, 5), call(x, (2, 5), make(2, 5), make(2, 5)), call(x, 5, make(5)), call(x, [5], None, make(5)))


@samples("rms_norm")
def _(make: Any) -> Calls:
    x = make(3, 2, 5)
    yield from (call(x, 5), call(x, (2, 5), make(2, 5)), call(x, [5], make(5), 0.1))


@samples("local_response_norm")
def _(make: Any) -> Calls:
    yield from (call(make(2, 5, 3), 2), call(make(2, 5, 3, 2), 3, 0.1, 0.5, 2.0))


@samples("normalize")
def _(make: Any) -> Calls:
    yield from (call(make(3, 4)), call(make(3, 4), 1, 0), call(make(2, 3, 4), dim=(1, 2)))


# Attention


@samples("scaled_dot_product_attention")
def _(make: Any) -> Calls:
    q, k, v = make(2, 2, 3, 4), make(2, 2, 5, 4), make(2, 2, 5, 6)
    seen = weft.tensor([[True, False, True, False, True], [False] * 5, [True] * 5])
    yield from (call(q, k, v), call(q, k, v, seen), call(q, k, v, make(3, 5)), call(q, k, v, is_causal=True))
    yield from (call(q, k, v, scale=0.5), call(make(2, 4, 3, 4), k, v, enable_gqa=True), call(q[0], k[0], v[0]))
    yield call(q, k[:1], v)


@samples("multi_head_attention_forward")
def _(make: Any) -> Calls:
    q, k = make(3, 2, 4), make(5, 2, 4)
    weights = (4, 2, make(12, 4), make(12), None, None, False, 0.0, make(4, 4), make(4))
    hidden = weft.tensor([[False, True, False, False, True], [False] * 5])
    yield from (call(q, k, k, *weights), call(q, k, k, *weights, need_weights=False))
    yield from (call(q, k, k, *weights, key_padding_mask=hidden), call(q, k, k, *weights, attn_mask=make(3, 5)))
    appended = (4, 2, make(12, 4), make(12), make(1, 1, 4), make(1, 1, 4), True, 0.0, make(4, 4), make(4))
    yield from (
        call(q, k, k, *appended, key_padding_mask=hidden, need_weights=False),
        call(q[:, 0], k[:, 0], k[:, 0], *weights),
    )


# Embedding


@samples("embedding")
def _(make: Any) -> Calls:
    weight = make(6, 3)
    yield from (call(make.index(2, 4, below=6), weight), call(make.index(4, below=6), weight, 2))
    yield from (call(make.index(5, below=3), weight, scale_grad_by_freq=True), call(make.index(below=6), weight))


@samples("embedding_bag")
def _(make: Any) -> Calls:
    weight, index, offsets = make.distinct(6, 3), make.index(7, below=6), weft.tensor([0, 3, 3])
    for mode in ("sum", "mean", "max"):
        yield from (call(index, weight, offsets, mode=mode), call(make.index(2, 4, below=6), weight, mode=mode))
    yield call(index, weight, offsets, mode="sum", per_sample_weights=make(7))
    yield from (call(index, weight, offsets, padding_idx=1), call(index, weight, offsets, include_last_offset=True))


@samples("one_hot")
def _(make: Any) -> Calls:
    index = make.index(2, 3, below=4)
    yield from (call(index), call(index, 6), call(index[0, 0], 5))


# Rearranging and resampling


@samples("pad")
def _(make: Any) -> Calls:
    x = make(2, 3, 4, 5)
    yield from (
        call(x, (1, 2)),
        call(x, (1, 0, -1, 2), value=1),
        call(make(2, 3), (0, 0, 1, 1)),
        call(make(0, 3), (1, 1)),
    )
    for mode in ("reflect", "replicate", "circular"):
        yield from (call(x, (1, 2, 2, 1), mode), call(x[0], (2, 0), mode), call(x, (1, -1, 0, 2), mode))


@samples("pixel_shuffle", "pixel_unshuffle")
def _(make: Any) -> Calls:
    yield from (call(make(2, 8, 4, 2), 2), call(make(4, 2, 4), 2))


@samples("channel_shuffle", "native_channel_shuffle")
def _(make: Any) -> Calls:
    yield from (call(make(2, 6, 2, 3), 2), call(make(1, 6, 2), 3))


@samples("interpolate")
def _(make: Any) -> Calls:
    x = make(2, 2, 4, 5)
    yield from (call(x, 7), call(x, (3, 8), mode="bilinear"), call(x, scale_factor=1.5, mode="bicubic"))
    yield from (call(x, (3, 3), mode="area"), call(x, scale_factor=(2, 0.5), mode="nearest-exact"))
    yield from (call(x, 6, mode="bilinear", align_corners=True), call(x, 3, mode="bilinear", antialias=True))
    yield from (call(make(2, 2, 5), 8, mode="linear"), call(make(1, 2, 3, 2, 3), 4, mode="trilinear"))


@samples("affine_grid")
def _(make: Any) -> Calls:
    yield from (call(make(2, 2, 3), (2, 1, 3, 4), False), call(make(1, 3, 4), (1, 2, 2, 3, 2), True))


@samples("grid_sample")
def _(make: Any) -> Calls:
    x, grid = make(2, 3, 4, 5), make(2, 3, 2, 2, low=-1.3, high=1.3)
    for mode in ("bilinear", "nearest", "bicubic"):
        for outside in ("zeros", "border", "reflection"):
            yield call(x, grid, mode, outside, align_corners=outside == "border")
    yield call(make(1, 2, 3, 2, 3), make(1, 2, 2, 2, 3, low=-1.3, high=1.3), align_corners=False)
