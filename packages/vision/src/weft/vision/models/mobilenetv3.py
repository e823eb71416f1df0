"""MobileNetV3: inverted residuals with squeeze and excitation (arXiv:1905.02244)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import weft
from weft import Tensor, nn
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import _make_divisible, builder, initialize
from weft.vision.ops.misc import Conv2dNormActivation, SqueezeExcitation

__all__ = [
    "MobileNetV3",
    "MobileNet_V3_Large_Weights",
    "MobileNet_V3_Small_Weights",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
]

Maker = Callable[..., nn.Module]

# For each block: input channels, kernel size, channels between, output channels, squeeze and excitation, activation,
# stride (tables 1 and 2 of the paper). The last three are the tail, which may be reduced or dilated.
LARGE: list[tuple[Any, ...]] = [
    (16, 3, 16, 16, False, "RE", 1),
    (16, 3, 64, 24, False, "RE", 2),
    (24, 3, 72, 24, False, "RE", 1),
    (24, 5, 72, 40, True, "RE", 2),
    (40, 5, 120, 40, True, "RE", 1),
    (40, 5, 120, 40, True, "RE", 1),
    (40, 3, 240, 80, False, "HS", 2),
    (80, 3, 200, 80, False, "HS", 1),
    (80, 3, 184, 80, False, "HS", 1),
    (80, 3, 184, 80, False, "HS", 1),
    (80, 3, 480, 112, True, "HS", 1),
    (112, 3, 672, 112, True, "HS", 1),
    (112, 5, 672, 160, True, "HS", 2),
    (160, 5, 960, 160, True, "HS", 1),
    (160, 5, 960, 160, True, "HS", 1),
]
SMALL: list[tuple[Any, ...]] = [
    (16, 3, 16, 16, True, "RE", 2),
    (16, 3, 72, 24, False, "RE", 2),
    (24, 3, 88, 24, False, "RE", 1),
    (24, 5, 96, 40, True, "HS", 2),
    (40, 5, 240, 40, True, "HS", 1),
    (40, 5, 240, 40, True, "HS", 1),
    (40, 5, 120, 48, True, "HS", 1),
    (48, 5, 144, 48, True, "HS", 1),
    (48, 5, 288, 96, True, "HS", 2),
    (96, 5, 576, 96, True, "HS", 1),
    (96, 5, 576, 96, True, "HS", 1),
]
BLOCKS = {"mobilenet_v3_large": (LARGE, 1280), "mobilenet_v3_small": (SMALL, 1024)}  # and the classifier's width


class MobileNet_V3_Large_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("mobilenet_v3_large-8738ca79.pth")
    IMAGENET1K_V2 = pretrained("mobilenet_v3_large-5c1a4163.pth")
    DEFAULT = IMAGENET1K_V2


class MobileNet_V3_Small_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("mobilenet_v3_small-047dcff4.pth")
    DEFAULT = IMAGENET1K_V1


class InvertedResidualConfig:
    """The sizes of one block; ``width_mult`` scales the channels."""

    def __init__(
        self,
        input_channels: int,
        kernel: int,
        expanded_channels: int,
        out_channels: int,
        use_se: bool,
        activation: str,
        stride: int,
        dilation: int,
        width_mult: float,
    ) -> None:
        self.input_channels = self.adjust_channels(input_channels, width_mult)
        self.kernel = kernel
        self.expanded_channels = self.adjust_channels(expanded_channels, width_mult)
        self.out_channels = self.adjust_channels(out_channels, width_mult)
        self.use_se = use_se
        self.use_hs = activation == "HS"
        self.stride = stride
        self.dilation = dilation

    @staticmethod
    def adjust_channels(channels: int, width_mult: float) -> int:
        """The channels scaled, a multiple of eight."""
        return _make_divisible(channels * width_mult, 8)


_Gates = partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid)


class InvertedResidual(nn.Module):
    """1 x 1 to many channels, a convolution on each alone, gates, 1 x 1 to few; a shortcut where the shape stays."""

    def __init__(
        self,
        cnf: InvertedResidualConfig,
        norm_layer: Maker,
        se_layer: Maker = _Gates,
    ) -> None:
        super().__init__()
        if cnf.stride not in (1, 2):
            raise ValueError(f"illegal stride value {cnf.stride}: it must be 1 or 2")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        width = cnf.expanded_channels
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer)
        activated = partial(conv, activation_layer=nn.Hardswish if cnf.use_hs else nn.ReLU)
        layers: list[nn.Module] = []
        if width != cnf.input_channels:
            layers.append(activated(cnf.input_channels, width, kernel_size=1))
        stride = 1 if cnf.dilation > 1 else cnf.stride
        layers.append(activated(width, width, cnf.kernel, stride, groups=width, dilation=cnf.dilation))
        if cnf.use_se:
            layers.append(se_layer(width, _make_divisible(width // 4, 8)))
        layers.append(conv(width, cnf.out_channels, kernel_size=1, activation_layer=None))
        self.block = nn.Sequential(*layers)
        self.out_channels = cnf.out_channels
        self._is_cn = cnf.stride > 1

    def forward(self, input: Tensor) -> Tensor:
        """Return what follows the block."""
        result = self.block(input)
        if self.use_res_connect:
            result += input
        return result


class MobileNetV3(nn.Module):
    """A small network for pictures (N, 3, H, W).

    Parameters
    ----------
    inverted_residual_setting : list of InvertedResidualConfig
    last_channel : int
        The width of the classifier.
    num_classes : int
    block : callable, default InvertedResidual
    norm_layer : callable, default BatchNorm2d
    dropout : float
    **kwargs
        Left unused.
    """

    def __init__(
        self,
        inverted_residual_setting: list[InvertedResidualConfig],
        last_channel: int,
        num_classes: int = 1000,
        block: Maker | None = None,
        norm_layer: Maker | None = None,
        dropout: float = 0.2,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not isinstance(inverted_residual_setting, Sequence) or not all(
            isinstance(each, InvertedResidualConfig) for each in inverted_residual_setting
        ):
            raise TypeError("The inverted_residual_setting should be List[InvertedResidualConfig]")
        norm = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        conv = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.Hardswish)
        before, after = inverted_residual_setting[0].input_channels, inverted_residual_setting[-1].out_channels
        self.features = nn.Sequential(
            conv(3, before, kernel_size=3, stride=2),
            *((block or InvertedResidual)(cnf, norm) for cnf in inverted_residual_setting),
            conv(after, 6 * after, kernel_size=1),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            *(nn.Linear(6 * after, last_channel), nn.Hardswish(inplace=True)),
            *(nn.Dropout(p=dropout, inplace=True), nn.Linear(last_channel, num_classes)),
        )
        initialize(
            self,
            lambda conv: nn.init.kaiming_normal_(conv.weight, mode="fan_out"),
            lambda linear: nn.init.normal_(linear.weight, 0, 0.01),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        return self.classifier(weft.flatten(self.avgpool(self.features(x)), 1))


def _mobilenet_v3_conf(
    arch: str, width_mult: float = 1.0, reduced_tail: bool = False, dilated: bool = False, **kwargs: Any
) -> tuple[list[InvertedResidualConfig], int]:
    """The blocks of a published network and the width of its classifier.

    Parameters
    ----------
    arch : str
        A key of `BLOCKS`.
    width_mult : float
        Scales the channels of each layer.
    reduced_tail : bool
        Halve the channels of the last blocks.
    dilated : bool
        In the last blocks dilation takes the place of stride.
    **kwargs
        Left unused.
    """
    if arch not in BLOCKS:
        raise ValueError(f"Unsupported model type {arch}")
    blocks, last_channel = BLOCKS[arch]
    divider = 2 if reduced_tail else 1
    setting = []
    for index, (inputs, kernel, width, outputs, gated, activation, stride) in enumerate(blocks):
        tail = index - len(blocks) + 3  # 0 for the first block of the tail, whose inputs and width are whole
        inputs, width = (each // divider if tail > 0 else each for each in (inputs, width))
        outputs = outputs // divider if tail >= 0 else outputs
        options = (gated, activation, stride, 2 if dilated and tail >= 0 else 1, width_mult)
        setting.append(InvertedResidualConfig(inputs, kernel, width, outputs, *options))
    return setting, InvertedResidualConfig.adjust_channels(last_channel // divider, width_mult)


def _mobilenet_v3(arch: str, **kwargs: Any) -> MobileNetV3:
    return MobileNetV3(*_mobilenet_v3_conf(arch, **kwargs), **kwargs)


mobilenet_v3_large = builder("mobilenet_v3_large", MobileNet_V3_Large_Weights, _mobilenet_v3, "mobilenet_v3_large")
mobilenet_v3_small = builder("mobilenet_v3_small", MobileNet_V3_Small_Weights, _mobilenet_v3, "mobilenet_v3_small")
