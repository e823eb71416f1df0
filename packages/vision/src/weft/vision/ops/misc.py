"""Building blocks of vision models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import weft
from weft import Tensor, nn

__all__ = ["MLP", "Conv2dNormActivation", "Conv3dNormActivation", "FrozenBatchNorm2d", "Permute", "SqueezeExcitation"]

Maker = Callable[..., nn.Module]


class FrozenBatchNorm2d(nn.Module):
    """Batch normalization whose statistics and scale are fixed: four buffers, no parameters.

    Parameters
    ----------
    num_features : int
    eps : float
    """

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", weft.ones(num_features))
        self.register_buffer("bias", weft.zeros(num_features))
        self.register_buffer("running_mean", weft.zeros(num_features))
        self.register_buffer("running_var", weft.ones(num_features))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        state_dict.pop(f"{prefix}num_batches_tracked", None)  # a BatchNorm2d's state has one more entry
        super()._load_from_state_dict(state_dict, prefix, *args)

    def forward(self, x: Tensor) -> Tensor:
        """Scale and shift each channel of (N, C, H, W)."""
        weight, bias, mean, variance = (
            getattr(self, name).reshape(1, -1, 1, 1) for name in ("weight", "bias", "running_mean", "running_var")
        )
        scale = weight * (variance + self.eps).rsqrt()
        return x * scale + (bias - mean * scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


class ConvNormActivation(nn.Sequential):
    """A convolution, a normalization and an activation; the padding keeps the size at stride 1.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size, stride : int or tuple of int
    padding : int or tuple of int, optional
    groups : int
    norm_layer, activation_layer : callable or None
        None leaves it out.
    dilation : int or tuple of int
    inplace : bool or None
        Of the activation; None if it takes no such argument.
    bias : bool, optional
        By default only where there is no normalization.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Maker | None = nn.BatchNorm2d,
        activation_layer: Maker | None = nn.ReLU,
        dilation: Any = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
        conv_layer: Maker = nn.Conv2d,
    ) -> None:
        if padding is None:
            padding = same_padding(kernel_size, dilation)
        bias = norm_layer is None if bias is None else bias
        layers = [
            conv_layer(
                in_channels, out_channels, kernel_size, stride, padding, dilation=dilation, groups=groups, bias=bias
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


def same_padding(kernel_size: Any, dilation: Any) -> Any:
    """The padding with which a convolution of odd size keeps the shape."""
    if isinstance(kernel_size, int) and isinstance(dilation, int):
        return (kernel_size - 1) // 2 * dilation
    count = len(kernel_size) if isinstance(kernel_size, Sequence) else len(dilation)
    sizes = kernel_size if isinstance(kernel_size, Sequence) else (kernel_size,) * count
    steps = dilation if isinstance(dilation, Sequence) else (dilation,) * count
    return tuple((size - 1) // 2 * step for size, step in zip(sizes, steps))


class Conv2dNormActivation(ConvNormActivation):
    """`ConvNormActivation` for pictures."""


class Conv3dNormActivation(ConvNormActivation):
    """`ConvNormActivation` for volumes; its default normalization is `BatchNorm3d`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Maker | None = nn.BatchNorm3d,
        **options: Any,
    ) -> None:
        size, conv = (kernel_size, stride, padding, groups, norm_layer), nn.Conv3d
        super().__init__(in_channels, out_channels, *size, conv_layer=conv, **options)


class SqueezeExcitation(nn.Module):
    """Scale each channel by a gate that is computed from the means of all (arXiv:1709.01507).

    Parameters
    ----------
    input_channels, squeeze_channels : int
    activation, scale_activation : callable
        Between the two layers, and of the gate.
    """

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Maker = nn.ReLU,
        scale_activation: Maker = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input: Tensor) -> Tensor:
        """Scale the channels of (N, C, H, W)."""
        gate = self.fc2(self.activation(self.fc1(self.avgpool(input))))
        return self.scale_activation(gate) * input


class MLP(nn.Sequential):
    """Linear layers with an activation and dropout after each; the last has no activation.

    Parameters
    ----------
    in_channels : int
    hidden_channels : list of int
        The widths of the layers.
    norm_layer, activation_layer : callable, optional
    inplace : bool or None
        Of activation and dropout; None for their own defaults.
    bias : bool
    dropout : float
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: list[int],
        norm_layer: Maker | None = None,
        activation_layer: Maker | None = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        options = {} if inplace is None else {"inplace": inplace}
        layers: list[nn.Module] = []
        for width in hidden_channels[:-1]:
            layers.append(nn.Linear(in_channels, width, bias=bias))
            if norm_layer is not None:
                layers.append(norm_layer(width))
            if activation_layer is not None:
                layers.append(activation_layer(**options))
            layers.append(nn.Dropout(dropout, **options))
            in_channels = width
        layers.append(nn.Linear(in_channels, hidden_channels[-1], bias=bias))
        layers.append(nn.Dropout(dropout, **options))
        super().__init__(*layers)


class Permute(nn.Module):
    """`Tensor.permute` as a module."""

    def __init__(self, dims: list[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Tensor) -> Tensor:
        """Return the view."""
        return x.permute(self.dims)
