"""EfficientNet v1 and v2: inverted residuals scaled in width, depth and size (arXiv:1905.11946, 2104.00298)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import weft
from weft import Tensor, nn
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import _make_divisible, builder, initialize
from weft.vision.ops.misc import Conv2dNormActivation, SqueezeExcitation
from weft.vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "EfficientNet",
    "EfficientNet_B0_Weights",
    "EfficientNet_B1_Weights",
    "EfficientNet_B2_Weights",
    "EfficientNet_B3_Weights",
    "EfficientNet_B4_Weights",
    "EfficientNet_B5_Weights",
    "EfficientNet_B6_Weights",
    "EfficientNet_B7_Weights",
    "EfficientNet_V2_L_Weights",
    "EfficientNet_V2_M_Weights",
    "EfficientNet_V2_S_Weights",
    "efficientnet_b0",
    "efficientnet_b1",
    "efficientnet_b2",
    "efficientnet_b3",
    "efficientnet_b4",
    "efficientnet_b5",
    "efficientnet_b6",
    "efficientnet_b7",
    "efficientnet_v2_l",
    "efficientnet_v2_m",
    "efficientnet_v2_s",
]

Maker = Callable[..., nn.Module]

# For each stage: expansion, kernel size, stride of the first block, input and output channels, blocks (table 1 of the
# first paper). The second paper's sizes (its tables 4 and 9) differ in everything; the first stages are fused there.
STAGES = [
    (1, 3, 1, 32, 16, 1),
    (6, 3, 2, 16, 24, 2),
    (6, 5, 2, 24, 40, 2),
    (6, 3, 2, 40, 80, 3),
    (6, 5, 1, 80, 112, 3),
    (6, 5, 2, 112, 192, 4),
    (6, 3, 1, 192, 320, 1),
]
FUSED = {
    "s": [(1, 3, 1, 24, 24, 2), (4, 3, 2, 24, 48, 4), (4, 3, 2, 48, 64, 4)],
    "m": [(1, 3, 1, 24, 24, 3), (4, 3, 2, 24, 48, 5), (4, 3, 2, 48, 80, 5)],
    "l": [(1, 3, 1, 32, 32, 4), (4, 3, 2, 32, 64, 7), (4, 3, 2, 64, 96, 7)],
}
SEPARATE = {
    "s": [(4, 3, 2, 64, 128, 6), (6, 3, 1, 128, 160, 9), (6, 3, 2, 160, 256, 15)],
    "m": [(4, 3, 2, 80, 160, 7), (6, 3, 1, 160, 176, 14), (6, 3, 2, 176, 304, 18), (6, 3, 1, 304, 512, 5)],
    "l": [(4, 3, 2, 96, 192, 10), (6, 3, 1, 192, 224, 19), (6, 3, 2, 224, 384, 25), (6, 3, 1, 384, 640, 7)],
}


class EfficientNet_B0_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("efficientnet_b0_rwightman-7f5810bc.pth")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B1_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("efficientnet_b1_rwightman-bac287d4.pth")
    IMAGENET1K_V2 = pretrained("efficientnet_b1-c27df63c.pth")
    DEFAULT = IMAGENET1K_V2


class EfficientNet_B2_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("efficientnet_b2_rwightman-c35c1473.pth")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B3_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("efficientnet_b3_rwightman-b3899882.pth")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B4_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("efficientnet_b4_rwightman-23ab8bcd.pth")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B5_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("efficientnet_b5_lukemelas-1a07897c.pth")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B6_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("efficientnet_b6_lukemelas-24a108a5.pth")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B7_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("efficientnet_b7_lukemelas-c5b4e57e.pth")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_V2_L_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("efficientnet_v2_l-59c71312.pth")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_V2_M_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("efficientnet_v2_m-dc08266a.pth")
    DEFAULT = IMAGENET1K_V1


class EfficientNet_V2_S_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("efficientnet_v2_s-dd5fe13b.pth")
    DEFAULT = IMAGENET1K_V1


@dataclass
class _MBConvConfig:
    """The sizes of one stage."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    block: Maker

    @staticmethod
    def adjust_channels(channels: int, width_mult: float, min_value: int | None = None) -> int:
        """The channels scaled, a multiple of eight."""
        return _make_divisible(channels * width_mult, 8, min_value)


class MBConvConfig(_MBConvConfig):
    """The sizes of a stage of `MBConv`; the factors scale its channels and blocks."""

    def __init__(
        self,
        expand_ratio: float,
        kernel: int,
        stride: int,
        input_channels: int,
        out_channels: int,
        num_layers: int,
        width_mult: float = 1.0,
        depth_mult: float = 1.0,
        block: Maker | None = None,
    ) -> None:
        inputs, outputs = (self.adjust_channels(each, width_mult) for each in (input_channels, out_channels))
        depth = self.adjust_depth(num_layers, depth_mult)
        super().__init__(expand_ratio, kernel, stride, inputs, outputs, depth, block or MBConv)

    @staticmethod
    def adjust_depth(num_layers: int, depth_mult: float) -> int:
        """The blocks scaled, rounded up."""
        return math.ceil(num_layers * depth_mult)


class FusedMBConvConfig(_MBConvConfig):
    """The sizes of a stage of `FusedMBConv`."""

    def __init__(
        self,
        expand_ratio: float,
        kernel: int,
        stride: int,
        input_channels: int,
        out_channels: int,
        num_layers: int,
        block: Maker | None = None,
    ) -> None:
        sizes = (expand_ratio, kernel, stride, input_channels, out_channels, num_layers)
        super().__init__(*sizes, block or FusedMBConv)


class _Block(nn.Module):
    """Layers with a shortcut where the shape stays, left out now and then in training."""

    def __init__(self, cnf: _MBConvConfig, stochastic_depth_prob: float, layers: list[nn.Module]) -> None:
        super().__init__()
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = cnf.out_channels

    def forward(self, input: Tensor) -> Tensor:
        """Return what follows the block."""
        result = self.block(input)
        if self.use_res_connect:
            result = self.stochastic_depth(result)
            result += input
        return result


def _check_stride(cnf: _MBConvConfig) -> None:
    if cnf.stride not in (1, 2):
        raise ValueError(f"illegal stride value {cnf.stride}: it must be 1 or 2")


class MBConv(_Block):
    """1 x 1 to many channels, a convolution on each alone, gates, 1 x 1 to few."""

    def __init__(
        self,
        cnf: MBConvConfig,
        stochastic_depth_prob: float,
        norm_layer: Maker,
        se_layer: Maker = SqueezeExcitation,
    ) -> None:
        _check_stride(cnf)
        inputs, width = cnf.input_channels, cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        layers: list[nn.Module] = [] if width == inputs else [conv(inputs, width, kernel_size=1)]
        layers.append(conv(width, width, cnf.kernel, cnf.stride, groups=width))
        layers.append(se_layer(width, max(1, inputs // 4), activation=partial(nn.SiLU, inplace=True)))
        layers.append(conv(width, cnf.out_channels, kernel_size=1, activation_layer=None))
        super().__init__(cnf, stochastic_depth_prob, layers)


class FusedMBConv(_Block):
    """One convolution to many channels, 1 x 1 to few; without expansion the one convolution alone."""

    def __init__(self, cnf: FusedMBConvConfig, stochastic_depth_prob: float, norm_layer: Maker) -> None:
        _check_stride(cnf)
        inputs, width = cnf.input_channels, cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        if width == inputs:
            layers: list[nn.Module] = [conv(inputs, cnf.out_channels, cnf.kernel, cnf.stride)]
        else:
            last = conv(width, cnf.out_channels, kernel_size=1, activation_layer=None)
            layers = [conv(inputs, width, cnf.kernel, cnf.stride), last]
        super().__init__(cnf, stochastic_depth_prob, layers)


class EfficientNet(nn.Module):
    """Stages of inverted residuals, for pictures (N, 3, H, W).

    Parameters
    ----------
    inverted_residual_setting : list of MBConvConfig or FusedMBConvConfig
        The stages.
    dropout : float
    stochastic_depth_prob : float
        The probability with which the last block is left out; it grows from 0 at the first.
    num_classes : int
    norm_layer : callable, default BatchNorm2d
    last_channel : int, optional
        The channels of the last convolution, by default four times those of the last stage.
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[MBConvConfig | FusedMBConvConfig],
        dropout: float,
        stochastic_depth_prob: float = 0.2,
        num_classes: int = 1000,
        norm_layer: Maker | None = None,
        last_channel: int | None = None,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not isinstance(inverted_residual_setting, Sequence) or not all(
            isinstance(each, _MBConvConfig) for each in inverted_residual_setting
        ):
            raise TypeError("The inverted_residual_setting should be List[MBConvConfig]")
        norm = norm_layer or nn.BatchNorm2d
        conv = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.SiLU)
        layers: list[nn.Module] = [conv(3, inverted_residual_setting[0].input_channels, kernel_size=3, stride=2)]
        total, done = sum(cnf.num_layers for cnf in inverted_residual_setting), 0
        for first in inverted_residual_setting:
            stage: list[nn.Module] = []
            for cnf in _blocks(first):
                stage.append(cnf.block(cnf, stochastic_depth_prob * float(done) / total, norm))
                done += 1
            layers.append(nn.Sequential(*stage))
        width = inverted_residual_setting[-1].out_channels
        last = 4 * width if last_channel is None else last_channel
        self.features = nn.Sequential(*layers, conv(width, last, kernel_size=1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(last, num_classes))
        initialize(self, lambda conv: nn.init.kaiming_normal_(conv.weight, mode="fan_out"), _uniform)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        return self.classifier(weft.flatten(self.avgpool(self.features(x)), 1))


def _blocks(first: _MBConvConfig) -> list[_MBConvConfig]:
    """The sizes of each block of a stage: all but the first keep the shape."""
    others = copy.copy(first)
    others.input_channels, others.stride = first.out_channels, 1
    return [first, *[others] * (first.num_layers - 1)][: first.num_layers]


def _uniform(linear: nn.Linear) -> None:
    bound = 1.0 / math.sqrt(linear.out_features)
    nn.init.uniform_(linear.weight, -bound, bound)


def _v1(width_mult: float, depth_mult: float, **kwargs: Any) -> EfficientNet:
    return EfficientNet([MBConvConfig(*stage, width_mult, depth_mult) for stage in STAGES], **kwargs)


def _v2(size: str, **kwargs: Any) -> EfficientNet:
    fused = [FusedMBConvConfig(*stage) for stage in FUSED[size]]
    return EfficientNet([*fused, *(MBConvConfig(*stage) for stage in SEPARATE[size])], last_channel=1280, **kwargs)


_b5_norm = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
_v2_norm = partial(nn.BatchNorm2d, eps=0.001)

efficientnet_b0 = builder("efficientnet_b0", EfficientNet_B0_Weights, partial(_v1, dropout=0.2), 1.0, 1.0)
efficientnet_b1 = builder("efficientnet_b1", EfficientNet_B1_Weights, partial(_v1, dropout=0.2), 1.0, 1.1)
efficientnet_b2 = builder("efficientnet_b2", EfficientNet_B2_Weights, partial(_v1, dropout=0.3), 1.1, 1.2)
efficientnet_b3 = builder("efficientnet_b3", EfficientNet_B3_Weights, partial(_v1, dropout=0.3), 1.2, 1.4)
efficientnet_b4 = builder("efficientnet_b4", EfficientNet_B4_Weights, partial(_v1, dropout=0.4), 1.4, 1.8)
efficientnet_b5 = builder(
    "efficientnet_b5", EfficientNet_B5_Weights, partial(_v1, dropout=0.4, norm_layer=_b5_norm), 1.6, 2.2
)
efficientnet_b6 = builder(
    "efficientnet_b6", EfficientNet_B6_Weights, partial(_v1, dropout=0.5, norm_layer=_b5_norm), 1.8, 2.6
)
efficientnet_b7 = builder(
    "efficientnet_b7", EfficientNet_B7_Weights, partial(_v1, dropout=0.5, norm_layer=_b5_norm), 2.0, 3.1
)
efficientnet_v2_s = builder(
    "efficientnet_v2_s", EfficientNet_V2_S_Weights, partial(_v2, dropout=0.2, norm_layer=_v2_norm), "s"
)
efficientnet_v2_m = builder(
    "efficientnet_v2_m", EfficientNet_V2_M_Weights, partial(_v2, dropout=0.3, norm_layer=_v2_norm), "m"
)
efficientnet_v2_l = builder(
    "efficientnet_v2_l", EfficientNet_V2_L_Weights, partial(_v2, dropout=0.4, norm_layer=_v2_norm), "l"
)
