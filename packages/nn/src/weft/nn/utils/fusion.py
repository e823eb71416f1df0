"""Layers for inference that have the batch norm after them folded into their weights."""

from __future__ import annotations

import copy
from typing import TypeVar

import weft
from weft import Tensor
from weft.nn.convolution import _ConvNd
from weft.nn.linear import Linear
from weft.nn.module import Module
from weft.nn.normalization import _BatchNorm
from weft.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

ConvT = TypeVar("ConvT", bound="_ConvNd")
LinearT = TypeVar("LinearT", bound="Linear")


def fuse_conv_bn_eval(conv: ConvT, bn: _BatchNorm, transpose: bool = False) -> ConvT:
    """Make one convolution that computes ``bn(conv(x))``.

    Parameters
    ----------
    conv : Conv1d, Conv2d, Conv3d, or a transposed one
    bn : BatchNorm1d, BatchNorm2d or BatchNorm3d
        With running statistics; it and ``conv`` in eval mode.
    transpose : bool
        Whether ``conv`` is a transposed convolution, whose weight has the output channels second.

    Returns
    -------
    Module
        A copy of ``conv`` with other parameters.

    Raises
    ------
    AssertionError
        If one of them is in training mode, or there are no running statistics.

    Examples
    --------
    >>> conv, bn = weft.nn.Conv2d(1, 2, 3).eval(), weft.nn.BatchNorm2d(2).eval()
    >>> image = weft.rand(1, 1, 5, 5)
    >>> weft.allclose(fuse_conv_bn_eval(conv, bn)(image), bn(conv(image)), atol=1e-6)
    True
    """
    mean, variance = _statistics("fuse_conv_bn_eval", conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, mean, variance, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of the convolution that `fuse_conv_bn_eval` makes.

    Parameters
    ----------
    conv_w, conv_b : Tensor
        Of the convolution; None: it has no bias.
    bn_rm, bn_rv : Tensor
        Running mean and variance.
    bn_eps : float
    bn_w, bn_b : Tensor
        Of the batch norm; None: 1 and 0.
    transpose : bool
        Whether the output channels are the weight's second dimension.

    Examples
    --------
    >>> weight, mean, variance = weft.ones(2, 3, 1, 1), weft.tensor([1.0, 1.0]), weft.tensor([1.0, 4.0])
    >>> weight, bias = fuse_conv_bn_weights(weight, None, mean, variance, 0.0, None, None)
    >>> weight[:, 0, 0, 0].tolist(), bias.tolist()
    ([1.0, 0.5], [-1.0, -0.5])
    """
    scale = weft.rsqrt(bn_rv + bn_eps) * (1 if bn_w is None else bn_w)
    channels = [1] * conv_w.dim()
    channels[1 if transpose else 0] = -1
    weight = (conv_w * scale.reshape(channels)).to(conv_w.dtype)
    bias = _bias(conv_b, bn_rm, scale, bn_b).to(conv_w.dtype if conv_b is None else conv_b.dtype)
    return (
        Parameter(weight.detach(), conv_w.requires_grad),
        Parameter(bias.detach(), conv_b is not None and conv_b.requires_grad),
    )


def fuse_linear_bn_eval(linear: LinearT, bn: _BatchNorm) -> LinearT:
    """Make one linear layer that computes ``bn(linear(x))``.

    Parameters
    ----------
    linear : Linear
    bn : BatchNorm1d
        With running statistics, of as many features as ``linear`` has outputs, or of 1; both in eval mode.

    Returns
    -------
    Module
        A copy of ``linear`` with other parameters.

    Raises
    ------
    AssertionError
        If one of them is in training mode, there are no running statistics, or the features do not fit.

    Examples
    --------
    >>> linear, bn = weft.nn.Linear(3, 2).eval(), weft.nn.BatchNorm1d(2).eval()
    >>> x = weft.rand(5, 3)
    >>> weft.allclose(fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-6)
    True
    """
    mean, variance = _statistics("fuse_linear_bn_eval", linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "fuse_linear_bn_eval: bn.num_features must be linear.out_features or 1, "
            f"got {bn.num_features} and {linear.out_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, mean, variance, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of the layer that `fuse_linear_bn_eval` makes.

    Parameters
    ----------
    linear_w, linear_b : Tensor
        Of the linear layer; None: it has no bias.
    bn_rm, bn_rv : Tensor
        Running mean and variance.
    bn_eps : float
    bn_w, bn_b : Tensor
        Of the batch norm.

    Examples
    --------
    >>> mean, variance, scale, shift = weft.tensor([1.0, 1.0]), weft.tensor([1.0, 4.0]), weft.ones(2), weft.zeros(2)
    >>> weight, bias = fuse_linear_bn_weights(weft.ones(2, 3), None, mean, variance, 0.0, scale, shift)
    >>> weight[:, 0].tolist(), bias.tolist()
    ([1.0, 0.5], [-1.0, -0.5])
    """
    scale = bn_w * weft.rsqrt(bn_rv + bn_eps)
    weight = linear_w * scale.unsqueeze(-1).to(linear_w.dtype)
    bias = _bias(linear_b, bn_rm, scale, bn_b).to(linear_w.dtype if linear_b is None else linear_b.dtype)
    return (
        Parameter(weight.detach(), linear_w.requires_grad),
        Parameter(bias.detach(), linear_b is not None and linear_b.requires_grad),
    )


def _statistics(name: str, layer: Module, bn: _BatchNorm) -> tuple[Tensor, Tensor]:
    if layer.training or bn.training:
        raise AssertionError(f"{name}: fusion is only for eval mode; call eval() of both modules first")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError(f"{name}: bn has no running statistics (track_running_stats=False)")
    return bn.running_mean, bn.running_var


def _bias(bias: Tensor | None, mean: Tensor, scale: Tensor, shift: Tensor | None) -> Tensor:
    centered = -mean if bias is None else bias - mean
    return centered * scale if shift is None else centered * scale + shift
