"""Normalization: activations brought to mean 0 and variance 1, over the batch, the layer, groups or instances."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import weft
from weft import Tensor
from weft.nn import functional as F
from weft.nn import init
from weft.nn._docstrings import documented, sections_of
from weft.nn._types import DeviceLike, DType
from weft.nn.module import Module
from weft.nn.parameter import Parameter

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "CrossMapLRN2d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LocalResponseNorm",
    "RMSNorm",
    "SyncBatchNorm",
]

NUM_FEATURES = """num_features : int
    The number of channels, C.
"""

SHAPES = {
    "BatchNorm1d": "(N, C) or (N, C, L)",
    "BatchNorm2d": "(N, C, H, W)",
    "BatchNorm3d": "(N, C, D, H, W)",
    "InstanceNorm1d": "(N, C, L) or (C, L)",
    "InstanceNorm2d": "(N, C, H, W) or (C, H, W)",
    "InstanceNorm3d": "(N, C, D, H, W) or (C, D, H, W)",
}


def _affine_parameters(module: Module, shape: Any, affine: bool, bias: bool, device: Any, dtype: Any) -> None:
    """Give ``module`` a weight and a bias of ``shape``, or None in the place of each."""
    weight = Parameter(weft.empty(shape, device=device, dtype=dtype)) if affine else None
    module.register_parameter("weight", weight)
    shift = Parameter(weft.empty(shape, device=device, dtype=dtype)) if affine and bias else None
    module.register_parameter("bias", shift)


def _reset_affine(module: Any) -> None:
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


class _NormBase(Module):
    """Base class of batch and instance norms: per-channel parameters and running statistics."""

    _version = 2  # from 2 on there is num_batches_tracked
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: DType = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        _affine_parameters(self, num_features, affine, bias, device, dtype)
        mean = variance = count = None
        if track_running_stats:
            mean = weft.zeros(num_features, device=device, dtype=dtype)
            variance = weft.ones(num_features, device=device, dtype=dtype)
            count = weft.tensor(0, dtype=weft.int64, device=device)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", variance)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget all batches: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget all batches, and set weight to 1 and bias to 0."""
        self.reset_running_stats()
        _reset_affine(self)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError(f"{self._get_name()}: define _check_input_dim(self, input), or use BatchNorm1d to 3d")

    def extra_repr(self) -> str:
        """Return the size and the options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *report: Any
    ) -> None:
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            state_dict[key] = weft.tensor(0, dtype=weft.int64) if count is None else count
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *report)


class _BatchNorm(_NormBase):
    """Batch norm of an input whose second axis has the channels.

    In training mode by the mean and the (biased) variance of the batch, which also move the running ones (there the
    variance is the unbiased one); in evaluation mode by the running ones.

    Parameters
    ----------
    {num_features}eps : float
        Added to the variance, in the units of input squared.
    momentum : float or None
        The weight of the newest batch in the running statistics. None: each batch so far weighs the same.
    affine : bool
        Whether there are a weight (1 at first) and a bias (0 at first) for each channel.
    track_running_stats : bool
        Whether to keep running statistics; without them each batch is normalized by its own, always.
    device, dtype : optional
        Of the parameters and the statistics.
    bias : bool
        Whether ``affine`` includes a bias.

    Shapes
    ------
    input, output : {shapes}

    Attributes
    ----------
    weight, bias : Parameter, shape (C,), or None
    running_mean, running_var : Tensor, shape (C,), or None
    num_batches_tracked : Tensor of int64, shape (), or None

    Raises
    ------
    ValueError
        If the input has other dimensions, or in training mode one value for each channel.
    RuntimeError
        If the input has other channels.

    References
    ----------
    arXiv:1502.03167.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Normalize ``input``, of the same shape as the output."""
        self._check_input_dim(input)
        momentum = self._count_batch()
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        use_running = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if use_running else None,
            self.running_var if use_running else None,
            self.weight,
            self.bias,
            by_batch,
            momentum,
            self.eps,
        )

    def _count_batch(self) -> float:
        """Count a batch that the running statistics take part of, and return how much."""
        momentum = self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if momentum is None:  # the plain mean of all batches so far
                momentum = 1.0 / float(self.num_batches_tracked)
        return 0.0 if momentum is None else momentum


BATCH_NORM: str = sections_of(_BatchNorm)


def _require_axes(module: Module, input: Tensor, *allowed: int) -> None:
    if input.dim() not in allowed:
        wanted = " or ".join(f"{axes}D" for axes in allowed)
        raise ValueError(
            f"{module._get_name()}: expected {wanted} input (got {input.dim()}D input), shape {tuple(input.shape)}"
        )


@documented(sections=BATCH_NORM, num_features=NUM_FEATURES, shapes=SHAPES["BatchNorm1d"])
class BatchNorm1d(_BatchNorm):
    """Normalize each channel over the batch (and the sequence), then scale and shift it.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.BatchNorm1d(2)
    >>> batch = weft.tensor([[1.0, 10.0], [3.0, 30.0]])
    >>> layer(batch).detach().round(decimals=3)
    tensor([[-1., -1.],
            [ 1.,  1.]])
    >>> layer.running_mean  # a tenth of the way from 0 to the batch's
    tensor([0.2000, 2.0000])
    >>> layer.eval()(batch).detach().round(decimals=3)  # by the running statistics
    tensor([[0.7630, 1.7500],
            [2.6700, 6.1250]])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _require_axes(self, input, 2, 3)


@documented(sections=BATCH_NORM, num_features=NUM_FEATURES, shapes=SHAPES["BatchNorm2d"])
class BatchNorm2d(_BatchNorm):
    """Normalize each channel over the batch and the 2 spatial axes, then scale and shift it.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.BatchNorm2d(3)
    >>> output = layer(weft.randn(8, 3, 32, 32) * 5 + 2)
    >>> output.shape, output.mean().abs() < 1e-6, abs(output.std() - 1) < 1e-3
    (weft.Size([8, 3, 32, 32]), tensor(True), tensor(True))
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _require_axes(self, input, 4)


@documented(sections=BATCH_NORM, num_features=NUM_FEATURES, shapes=SHAPES["BatchNorm3d"])
class BatchNorm3d(_BatchNorm):
    """Normalize each channel over the batch and the 3 spatial axes, then scale and shift it.

    {sections}

    Examples
    --------
    >>> weft.nn.BatchNorm3d(3)(weft.randn(2, 3, 4, 8, 8)).shape
    weft.Size([2, 3, 4, 8, 8])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _require_axes(self, input, 5)


class SyncBatchNorm(_BatchNorm):
    """Batch norm whose statistics are those of all processes of a group; in one process the same as `BatchNorm2d`.

    The processes may have batches of different size. In evaluation mode nothing is exchanged.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        As in `BatchNorm2d`.
    process_group : optional
        Of the processes that share their statistics. Default: all.

    Shapes
    ------
    input, output : (N, C, ...)

    Examples
    --------
    >>> model = weft.nn.Sequential(weft.nn.Conv2d(3, 8, 3), weft.nn.BatchNorm2d(8))
    >>> weft.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    Sequential(
      (0): Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1))
      (1): SyncBatchNorm(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    )
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: DeviceLike = None,
        dtype: DType = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def forward(self, input: Tensor) -> Tensor:
        """Normalize ``input``, of the same shape as the output."""
        distributed: Any = weft.distributed
        if not self.training or not distributed.is_initialized():
            return super().forward(input)
        group = distributed._get_default_group() if self.process_group is None else self.process_group
        if distributed.get_world_size(group) < 2:
            return super().forward(input)
        self._check_input_dim(input)
        momentum = self._count_batch()
        running = (self.running_mean, self.running_var) if self.track_running_stats else (None, None)
        normalize = import_module("weft.distributed.data_parallel").synchronized_batch_norm
        normalized: Tensor = normalize(input, *running, self.weight, self.bias, momentum, self.eps, group)
        return normalized

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"SyncBatchNorm: expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Return ``module`` with each batch norm in it replaced by a SyncBatchNorm of the same parameters."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            converted.weight, converted.bias = module.weight, module.bias
            converted.running_mean, converted.running_var = module.running_mean, module.running_var
            converted.num_batches_tracked = module.num_batches_tracked
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


class _InstanceNorm(_NormBase):
    """Instance norm; an input without a batch axis is one instance.

    Parameters
    ----------
    {num_features}eps : float
        Added to the variance, in the units of input squared.
    momentum : float
        The weight of the newest batch in the running statistics.
    affine : bool
        Whether there are a weight (1 at first) and a bias (0 at first) for each channel.
    track_running_stats : bool
        Whether to keep running statistics and use them in evaluation mode.
    device, dtype : optional
        Of the parameters and the statistics.
    bias : bool
        Whether ``affine`` includes a bias.

    Shapes
    ------
    input, output : {shapes}

    Attributes
    ----------
    weight, bias : Parameter, shape (C,), or None
    running_mean, running_var : Tensor, shape (C,), or None
    num_batches_tracked : Tensor of int64, shape (), or None

    Raises
    ------
    ValueError
        If the input has other dimensions, or with ``affine`` other channels.

    References
    ----------
    arXiv:1607.08022.
    """

    _spatial_axes: int

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceLike = None,
        dtype: DType = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        return self._spatial_axes + 1

    def _check_input_dim(self, input: Tensor) -> None:
        _require_axes(self, input, self._spatial_axes + 1, self._spatial_axes + 2)

    def forward(self, input: Tensor) -> Tensor:
        """Normalize ``input``, of the same shape as the output."""
        self._check_input_dim(input)
        channels = input.size(input.dim() - self._spatial_axes - 1)
        if self.affine and channels != self.num_features:
            raise ValueError(
                f"{self._get_name()}: expected input's size at dim={input.dim() - self._spatial_axes - 1} to match "
                f"num_features ({self.num_features}), but got: {channels}; input has shape {tuple(input.shape)}"
            )
        if channels != self.num_features:
            warnings.warn(
                f"{self._get_name()}: input's size at dim={input.dim() - self._spatial_axes - 1}, {channels}, does not "
                f"match num_features ({self.num_features}), which is not used because affine=False",
                stacklevel=3,
            )
        if input.dim() == self._spatial_axes + 1:
            return self._normalized(input.unsqueeze(0)).squeeze(0)
        return self._normalized(input)

    def _normalized(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )


INSTANCE_NORM: str = sections_of(_InstanceNorm)


@documented(sections=INSTANCE_NORM, num_features=NUM_FEATURES, shapes=SHAPES["InstanceNorm1d"])
class InstanceNorm1d(_InstanceNorm):
    """Normalize each channel of each example over its sequence.

    {sections}

    Examples
    --------
    >>> weft.nn.InstanceNorm1d(2)(weft.tensor([[1.0, 3.0], [10.0, 30.0]])).round(decimals=3)
    tensor([[-1.,  1.],
            [-1.,  1.]])
    """

    _spatial_axes = 1


@documented(sections=INSTANCE_NORM, num_features=NUM_FEATURES, shapes=SHAPES["InstanceNorm2d"])
class InstanceNorm2d(_InstanceNorm):
    """Normalize each channel of each example over its 2 spatial axes.

    {sections}

    Examples
    --------
    >>> weft.nn.InstanceNorm2d(3)(weft.randn(8, 3, 32, 32)).shape
    weft.Size([8, 3, 32, 32])
    """

    _spatial_axes = 2


@documented(sections=INSTANCE_NORM, num_features=NUM_FEATURES, shapes=SHAPES["InstanceNorm3d"])
class InstanceNorm3d(_InstanceNorm):
    """Normalize each channel of each example over its 3 spatial axes.

    {sections}

    Examples
    --------
    >>> weft.nn.InstanceNorm3d(3)(weft.randn(2, 3, 4, 8, 8)).shape
    weft.Size([2, 3, 4, 8, 8])
    """

    _spatial_axes = 3


def _shape_tuple(normalized_shape: Any) -> tuple[int, ...]:
    return (int(normalized_shape),) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)


class LayerNorm(Module):
    """Normalize each example over its last axes to mean 0 and variance 1, then scale and shift.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        The sizes of those axes.
    eps : float
        Added to the variance, in the units of input squared.
    elementwise_affine : bool
        Whether there are a weight (1 at first) and a bias (0 at first) of that shape.
    bias : bool
        Whether ``elementwise_affine`` includes a bias.
    device, dtype : optional
        Of the parameters.

    Shapes
    ------
    input, output : (..., *normalized_shape)

    Attributes
    ----------
    weight, bias : Parameter, shape normalized_shape, or None

    Raises
    ------
    RuntimeError
        If the input's shape does not end in ``normalized_shape``.

    References
    ----------
    arXiv:1607.06450.

    Examples
    --------
    >>> weft.nn.LayerNorm(3)(weft.tensor([1.0, 2.0, 3.0])).detach().round(decimals=2)
    tensor([-1.2200,  0.0000,  1.2200])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        _affine_parameters(self, self.normalized_shape, elementwise_affine, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0."""
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        """Normalize ``input`` of shape (..., *normalized_shape)."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the shape and the options."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide each example by the root of the mean square over its last axes, then scale.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        The sizes of those axes.
    eps : float, optional
        Added to the mean square; by default the smallest step of the input's dtype.
    elementwise_affine : bool
        Whether there is a weight (1 at first) of that shape.
    device, dtype : optional
        Of the weight.

    Shapes
    ------
    input, output : (..., *normalized_shape)

    Attributes
    ----------
    weight : Parameter, shape normalized_shape, or None

    Raises
    ------
    RuntimeError
        If the input's shape does not end in ``normalized_shape``.

    References
    ----------
    arXiv:1910.07467.

    Examples
    --------
    >>> weft.nn.RMSNorm(2)(weft.tensor([1.0, 7.0])).detach()  # divided by sqrt((1 + 49) / 2) = 5
    tensor([0.2000, 1.4000])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = (
            Parameter(weft.empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        )
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize ``x`` of shape (..., *normalized_shape)."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the shape and the options."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalize each example over groups of channels and all axes after them, then scale and shift each channel.

    Parameters
    ----------
    num_groups, num_channels : int
        The second a multiple of the first.
    eps : float
        Added to the variance, in the units of input squared.
    affine : bool
        Whether there are a weight (1 at first) and a bias (0 at first) for each channel.
    device, dtype : optional
        Of the parameters.
    bias : bool
        Whether ``affine`` includes a bias.

    Shapes
    ------
    input, output : (N, num_channels, ...)

    Attributes
    ----------
    weight, bias : Parameter, shape (num_channels,), or None

    Raises
    ------
    ValueError
        If ``num_channels`` is not divisible by ``num_groups``.

    References
    ----------
    arXiv:1803.08494.

    Examples
    --------
    >>> weft.nn.GroupNorm(3, 6)(weft.randn(20, 6, 10, 10)).shape
    weft.Size([20, 6, 10, 10])

    One group is a layer norm of the whole example, as many groups as channels an instance norm.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike = None,
        dtype: DType = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"GroupNorm: num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        _affine_parameters(self, num_channels, affine, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0."""
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        """Normalize ``input`` of shape (N, num_channels, ...)."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the sizes and the options."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """Divide each value by ``(k + alpha * mean(square of the size nearest channels)) ** beta``.

    Parameters
    ----------
    size : int
        How many neighbouring channels count.
    alpha, beta, k : float

    Shapes
    ------
    input, output : (N, C, ...)

    References
    ----------
    Krizhevsky, Sutskever and Hinton, ImageNet classification with deep convolutional neural networks, 2012,
    section 3.3; there the sum rather than the mean.

    Examples
    --------
    >>> layer = weft.nn.LocalResponseNorm(2, alpha=1.0, beta=1.0)
    >>> layer(weft.ones(1, 2, 1)).flatten()  # the first channel has no neighbour before it
    tensor([0.6667, 0.5000])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """Normalize ``input`` of shape (N, C, ...)."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Return the constants."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """`LocalResponseNorm` of images, under its older name.

    Parameters
    ----------
    size : int
        How many neighbouring channels count.
    alpha, beta, k : float

    Shapes
    ------
    input, output : (N, C, H, W)

    Examples
    --------
    >>> weft.nn.CrossMapLRN2d(2, alpha=1.0, beta=1.0)(weft.ones(1, 2, 1, 1)).flatten()
    tensor([0.6667, 0.5000])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)
