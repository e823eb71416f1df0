"""MobileNetV2: inverted residuals with linear bottlenecks (arXiv:1801.04381)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import _make_divisible, builder, initialize
from weft.vision.ops.misc import Conv2dNormActivation

__all__ = ["MobileNet_V2_Weights", "MobileNetV2", "mobilenet_v2"]


class MobileNet_V2_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("mobilenet_v2-b0353104.pth")
    IMAGENET1K_V2 = pretrained("mobilenet_v2-7ebf99e0.pth")
    DEFAULT = IMAGENET1K_V2


# For each stage: expansion, channels, blocks, stride of the first (table 2 of the paper).
STAGES = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1]]


class InvertedResidual(nn.Module):
    """1 x 1 to many channels, 3 x 3 on each alone, 1 x 1 to few; with a shortcut where the shape stays."""

    def __init__(
        self, inp: int, oup: int, stride: int, expand_ratio: int, norm_layer: Callable[..., nn.Module] | None = None
    ) -> None:
        super().__init__()
        self.stride = stride
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm = norm_layer or nn.BatchNorm2d
        activated = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.ReLU6)
        hidden = round(inp * expand_ratio)
        self.use_res_connect = stride == 1 and inp == oup
        layers: list[nn.Module] = [] if expand_ratio == 1 else [activated(inp, hidden, kernel_size=1)]
        layers += [activated(hidden, hidden, stride=stride, groups=hidden)]
        layers += [nn.Conv2d(hidden, oup, 1, 1, 0, bias=False), norm(oup)]
        self.conv = nn.Sequential(*layers)
        self.out_channels = oup
        self._is_cn = stride > 1

    def forward(self, x: Tensor) -> Tensor:
        """Return what follows the block."""
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """A small network for pictures (N, 3, H, W).

    Parameters
    ----------
    num_classes : int
    width_mult : float
        Scales the channels of each layer.
    inverted_residual_setting : list of lists of four int, optional
        For each stage: expansion, channels, blocks, stride of the first.
    round_nearest : int
        Channels are a multiple of it.
    block : callable, default InvertedResidual
    norm_layer : callable, default BatchNorm2d
    dropout : float
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: list[list[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        block, norm = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        stages = STAGES if inverted_residual_setting is None else inverted_residual_setting
        if not stages or len(stages[0]) != 4:
            raise ValueError(f"inverted_residual_setting should be a list of 4-element lists, got {stages}")
        activated = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.ReLU6)
        width = _make_divisible(32 * width_mult, round_nearest)
        self.last_channel = _make_divisible(1280 * max(1.0, width_mult), round_nearest)
        features: list[nn.Module] = [activated(3, width, stride=2)]
        for expansion, channels, blocks, stride in stages:
            wider = _make_divisible(channels * width_mult, round_nearest)
            for index in range(blocks):
                features.append(
                    block(width, wider, stride if index == 0 else 1, expand_ratio=expansion, norm_layer=norm)
                )
                width = wider
        features.append(activated(width, self.last_channel, kernel_size=1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        initialize(
            self,
            lambda conv: nn.init.kaiming_normal_(conv.weight, mode="fan_out"),
            lambda linear: nn.init.normal_(linear.weight, 0, 0.01),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        return self.classifier(weft.flatten(F.adaptive_avg_pool2d(self.features(x), (1, 1)), 1))


mobilenet_v2 = builder("mobilenet_v2", MobileNet_V2_Weights, MobileNetV2)
