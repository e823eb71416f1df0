"""Layers that find out their input's size at their first call."""

from __future__ import annotations

from typing import Any, ClassVar

import weft
from weft import Tensor
from weft.nn import convolution, linear, normalization
from weft.nn._docstrings import SPATIAL, documented
from weft.nn._types import DeviceLike, DType, Size1, Size2, Size3
from weft.nn.module import Module
from weft.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]


class LazyModuleMixin(Module):
    """Base class of lazy layers: parameters without a shape, and a hook that gives them one at the first call.

    A subclass names the class that it becomes (``cls_to_become``), and defines ``initialize_parameters(input)``.
    """

    cls_to_become: ClassVar[type[Module] | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self.register_load_state_dict_pre_hook(_take_shapes)
        self._initialize_hook = self.register_forward_pre_hook(_initialize, with_kwargs=True)

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer has no shape yet."""
        return any(is_lazy(tensor) for tensor in (*self._parameters.values(), *self._buffers.values()))

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters the shapes that this input needs, and their initial values."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")


def _take_shapes(module: Any, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    """Give uninitialized parameters the shapes of those that are being loaded."""
    for name, tensor in module._local_state().items():
        loaded = state_dict.get(prefix + name)
        if is_lazy(tensor) and loaded is not None and not is_lazy(loaded):
            tensor.materialize(loaded.shape)


def _initialize(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized by initialize_parameters")
    module._initialize_hook.remove()
    module._load_hook.remove()
    del module._initialize_hook, module._load_hook
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


class LazyLinear(LazyModuleMixin, linear.Linear):
    """A `Linear` whose ``in_features`` are the size of the last axis of its first input.

    Parameters
    ----------
    out_features : int
    bias : bool
        Whether to add a bias.
    device, dtype : optional
        Of the parameters.

    Shapes
    ------
    input : (..., in_features)
    output : (..., out_features)

    Attributes
    ----------
    weight, bias
        As of `Linear`, from the first call on; before it they have no shape.

    Examples
    --------
    >>> layer = weft.nn.LazyLinear(30)
    >>> layer(weft.zeros(128, 20)).shape
    weft.Size([128, 30])
    >>> layer
    Linear(in_features=20, out_features=30, bias=True)
    """

    cls_to_become = linear.Linear

    def __init__(self, out_features: int, bias: bool = True, device: DeviceLike = None, dtype: DType = None) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new initial values, once the shapes are known."""
        if self.in_features != 0 and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give the parameters their shapes and initial values."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))  # type: ignore[attr-defined]
            if self.bias is not None:
                self.bias.materialize((self.out_features,))  # type: ignore[attr-defined]
            self.reset_parameters()


class _LazyConv(LazyModuleMixin):
    """Base class of lazy convolutions."""

    def _become_lazy(self, out_channels: int, bias: bool, device: DeviceLike, dtype: DType) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new initial values, once the shapes are known."""
        if self.in_channels != 0 and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes and initial values."""
        if not self.has_uninitialized_params():
            return
        axes = len(self.kernel_size)
        if input.dim() not in (axes + 1, axes + 2):
            raise RuntimeError(
                f"{self._get_name()}: expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input, "
                f"but got input of size: {tuple(input.shape)}"
            )
        self.in_channels = input.shape[-axes - 1]
        if self.in_channels % self.groups != 0:
            raise ValueError(
                f"{self._get_name()}: in_channels ({self.in_channels}) must be divisible by groups ({self.groups})"
            )
        channels = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        self.weight.materialize((channels[0], channels[1] // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyNorm(LazyModuleMixin):
    """Base class of lazy norms."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: DType = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**factory)
            if bias:
                self.bias = UninitializedParameter(**factory)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**factory)
            self.running_var = UninitializedBuffer(**factory)
            self.num_batches_tracked = weft.tensor(0, dtype=weft.int64, device=device)

    def reset_parameters(self) -> None:
        """Set the initial values, once the shapes are known."""
        if self.num_features != 0 and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        """Give parameters and statistics their shapes and initial values."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for tensor in (*self._parameters.values(), *self._buffers.values()):
                if is_lazy(tensor):
                    tensor.materialize((self.num_features,))  # type: ignore[union-attr]
            self.reset_parameters()


@documented(sections=convolution.CONVOLUTION, channels="out_channels", **SPATIAL[1])
class LazyConv1d(_LazyConv, convolution.Conv1d):
    """A `Conv1d` whose ``in_channels`` are those of its first input.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.LazyConv1d(33, 3, stride=2)
    >>> layer(weft.zeros(20, 16, 50)).shape
    weft.Size([20, 33, 24])
    >>> layer.in_channels, type(layer).__name__
    (16, 'Conv1d')
    """

    cls_to_become = convolution.Conv1d

    def __init__(
        self,
        out_channels: int,
        kernel_size: Size1,
        stride: Size1 = 1,
        padding: Size1 | str = 0,
        dilation: Size1 = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


@documented(sections=convolution.CONVOLUTION, channels="out_channels", **SPATIAL[2])
class LazyConv2d(_LazyConv, convolution.Conv2d):
    """A `Conv2d` whose ``in_channels`` are those of its first input.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.LazyConv2d(33, 3, stride=2)
    >>> layer(weft.zeros(4, 16, 20, 30)).shape
    weft.Size([4, 33, 9, 14])
    >>> layer.in_channels, type(layer).__name__
    (16, 'Conv2d')
    """

    cls_to_become = convolution.Conv2d

    def __init__(
        self,
        out_channels: int,
        kernel_size: Size2,
        stride: Size2 = 1,
        padding: Size2 | str = 0,
        dilation: Size2 = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


@documented(sections=convolution.CONVOLUTION, channels="out_channels", **SPATIAL[3])
class LazyConv3d(_LazyConv, convolution.Conv3d):
    """A `Conv3d` whose ``in_channels`` are those of its first input.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.LazyConv3d(12, 3, stride=2)
    >>> layer(weft.zeros(2, 8, 6, 10, 10)).shape
    weft.Size([2, 12, 2, 4, 4])
    >>> layer.in_channels, type(layer).__name__
    (8, 'Conv3d')
    """

    cls_to_become = convolution.Conv3d

    def __init__(
        self,
        out_channels: int,
        kernel_size: Size3,
        stride: Size3 = 1,
        padding: Size3 | str = 0,
        dilation: Size3 = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


@documented(sections=convolution.TRANSPOSED_CONVOLUTION, channels="out_channels", **SPATIAL[1])
class LazyConvTranspose1d(_LazyConv, convolution.ConvTranspose1d):
    """A `ConvTranspose1d` whose ``in_channels`` are those of its first input.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.LazyConvTranspose1d(33, 4, stride=2, padding=1)
    >>> layer(weft.zeros(20, 16, 50)).shape
    weft.Size([20, 33, 100])
    >>> layer.in_channels, type(layer).__name__
    (16, 'ConvTranspose1d')
    """

    cls_to_become = convolution.ConvTranspose1d

    def __init__(
        self,
        out_channels: int,
        kernel_size: Size1,
        stride: Size1 = 1,
        padding: Size1 = 0,
        output_padding: Size1 = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size1 = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self._become_lazy(out_channels, bias, device, dtype)


@documented(sections=convolution.TRANSPOSED_CONVOLUTION, channels="out_channels", **SPATIAL[2])
class LazyConvTranspose2d(_LazyConv, convolution.ConvTranspose2d):
    """A `ConvTranspose2d` whose ``in_channels`` are those of its first input.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.LazyConvTranspose2d(33, 4, stride=2, padding=1)
    >>> layer(weft.zeros(4, 16, 20, 30)).shape
    weft.Size([4, 33, 40, 60])
    >>> layer.in_channels, type(layer).__name__
    (16, 'ConvTranspose2d')
    """

    cls_to_become = convolution.ConvTranspose2d

    def __init__(
        self,
        out_channels: int,
        kernel_size: Size2,
        stride: Size2 = 1,
        padding: Size2 = 0,
        output_padding: Size2 = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size2 = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self._become_lazy(out_channels, bias, device, dtype)


@documented(sections=convolution.TRANSPOSED_CONVOLUTION, channels="out_channels", **SPATIAL[3])
class LazyConvTranspose3d(_LazyConv, convolution.ConvTranspose3d):
    """A `ConvTranspose3d` whose ``in_channels`` are those of its first input.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.LazyConvTranspose3d(12, 4, stride=2, padding=1)
    >>> layer(weft.zeros(2, 8, 6, 10, 10)).shape
    weft.Size([2, 12, 12, 20, 20])
    >>> layer.in_channels, type(layer).__name__
    (8, 'ConvTranspose3d')
    """

    cls_to_become = convolution.ConvTranspose3d

    def __init__(
        self,
        out_channels: int,
        kernel_size: Size3,
        stride: Size3 = 1,
        padding: Size3 = 0,
        output_padding: Size3 = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size3 = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self._become_lazy(out_channels, bias, device, dtype)


@documented(sections=normalization.BATCH_NORM, num_features="", shapes=normalization.SHAPES["BatchNorm1d"])
class LazyBatchNorm1d(_LazyNorm, normalization.BatchNorm1d):
    """A `BatchNorm1d` whose ``num_features`` are the channels of its first input.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.LazyBatchNorm1d()
    >>> layer(weft.zeros(20, 16, 50)).shape
    weft.Size([20, 16, 50])
    >>> layer
    BatchNorm1d(16, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = normalization.BatchNorm1d


@documented(sections=normalization.BATCH_NORM, num_features="", shapes=normalization.SHAPES["BatchNorm2d"])
class LazyBatchNorm2d(_LazyNorm, normalization.BatchNorm2d):
    """A `BatchNorm2d` whose ``num_features`` are the channels of its first input.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.LazyBatchNorm2d()
    >>> layer(weft.zeros(20, 16, 28, 28)).shape
    weft.Size([20, 16, 28, 28])
    >>> layer
    BatchNorm2d(16, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = normalization.BatchNorm2d


@documented(sections=normalization.BATCH_NORM, num_features="", shapes=normalization.SHAPES["BatchNorm3d"])
class LazyBatchNorm3d(_LazyNorm, normalization.BatchNorm3d):
    """A `BatchNorm3d` whose ``num_features`` are the channels of its first input.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.LazyBatchNorm3d()
    >>> layer(weft.zeros(20, 16, 4, 28, 28)).shape
    weft.Size([20, 16, 4, 28, 28])
    >>> layer
    BatchNorm3d(16, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = normalization.BatchNorm3d


@documented(sections=normalization.INSTANCE_NORM, num_features="", shapes=normalization.SHAPES["InstanceNorm1d"])
class LazyInstanceNorm1d(_LazyNorm, normalization.InstanceNorm1d):
    """An `InstanceNorm1d` whose ``num_features`` are the channels of its first input.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.LazyInstanceNorm1d()
    >>> layer(weft.zeros(20, 16, 50)).shape
    weft.Size([20, 16, 50])
    >>> layer
    InstanceNorm1d(16, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = normalization.InstanceNorm1d


@documented(sections=normalization.INSTANCE_NORM, num_features="", shapes=normalization.SHAPES["InstanceNorm2d"])
class LazyInstanceNorm2d(_LazyNorm, normalization.InstanceNorm2d):
    """An `InstanceNorm2d` whose ``num_features`` are the channels of its first input.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.LazyInstanceNorm2d()
    >>> layer(weft.zeros(20, 16, 28, 28)).shape
    weft.Size([20, 16, 28, 28])
    >>> layer
    InstanceNorm2d(16, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = normalization.InstanceNorm2d


@documented(sections=normalization.INSTANCE_NORM, num_features="", shapes=normalization.SHAPES["InstanceNorm3d"])
class LazyInstanceNorm3d(_LazyNorm, normalization.InstanceNorm3d):
    """An `InstanceNorm3d` whose ``num_features`` are the channels of its first input.

    {sections}

    Examples
    --------
    >>> layer = weft.nn.LazyInstanceNorm3d()
    >>> layer(weft.zeros(20, 16, 4, 28, 28)).shape
    weft.Size([20, 16, 4, 28, 28])
    >>> layer
    InstanceNorm3d(16, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = normalization.InstanceNorm3d
