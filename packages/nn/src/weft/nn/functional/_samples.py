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


@samples("avg_pool2d")
def _(make: Any) -> Calls:
    x = make(2, 3, 6, 7)
    yield from (call(x, 2), call(x, (3, 2), 1, 1), call(x[0], 3, 2, 1, True, False), call(x, 2, divisor_override=3))


@samples("adaptive_avg_pool2d")
def _(make: Any) -> Calls:
    x = make(2, 3, 6, 7)
    yield from (call(x, 3), call(x, (4, None)), call(x[0], 1), call(x, (6, 5)))


# Losses


@samples("cross_entropy")
def _(make: Any) -> Calls:
    x, target = make(5, 4), make.index(5, below=4)
    some = target.clone()
    some[1] = -100
    yield from (call(x, target), call(x, some), call(x, target, ignore_index=2), call(x, target, make(4, low=0.5)))
    yield from (call(x, some, make(4, low=0.5), label_smoothing=0.1), call(x, target, label_smoothing=0.2))
    yield from (call(x, target, reduction="none"), call(x, some, reduction="sum"), call(x[0], target[0]))
    yield from (call(make(2, 4, 3), make.index(2, 3, below=4)), call(x, make(5, 4, low=0, high=1)))


# Normalization


@samples("layer_norm")
def _(make: Any) -> Calls:
    x = make(3, 2, 5)
    yield from (call(x, 5), call(x, (2, 5), make(2, 5), make(2, 5)), call(x, 5, make(5)), call(x, [5], None, make(5)))


# Attention


@samples("scaled_dot_product_attention")
def _(make: Any) -> Calls:
    q, k, v = make(2, 2, 3, 4), make(2, 2, 5, 4), make(2, 2, 5, 6)
    seen = weft.tensor([[True, False, True, False, True], [False] * 5, [True] * 5])
    yield from (call(q, k, v), call(q, k, v, seen), call(q, k, v, make(3, 5)), call(q, k, v, is_causal=True))
    yield from (call(q, k, v, scale=0.5), call(make(2, 4, 3, 4), k, v, enable_gqa=True), call(q[0], k[0], v[0]))


# Embedding


@samples("embedding")
def _(make: Any) -> Calls:
    weight = make(6, 3)
    yield from (call(make.index(2, 4, below=6), weight), call(make.index(4, below=6), weight, 2))
    yield from (call(make.index(5, below=3), weight, scale_grad_by_freq=True), call(make.index(below=6), weight))


# Resampling


@samples("interpolate")
def _(make: Any) -> Calls:
    x = make(2, 2, 4, 5)
    yield from (call(x, 7), call(x, (3, 8), mode="bilinear"), call(x, scale_factor=1.5, mode="bicubic"))
    yield from (call(x, (3, 3), mode="area"), call(x, scale_factor=(2, 0.5), mode="nearest-exact"))
    yield from (call(x, 6, mode="bilinear", align_corners=True), call(x, 3, mode="bilinear", antialias=True))
    yield from (call(make(2, 2, 5), 8, mode="linear"), call(make(1, 2, 3, 2, 3), 4, mode="trilinear"))
