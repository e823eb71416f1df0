"""ShuffleNet V2: blocks of two branches whose channels are shuffled (arXiv:1807.11164)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
from weft import Tensor, nn
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import builder

__all__ = [
    "ShuffleNetV2",
    "ShuffleNet_V2_X0_5_Weights",
    "ShuffleNet_V2_X1_0_Weights",
    "ShuffleNet_V2_X1_5_Weights",
    "ShuffleNet_V2_X2_0_Weights",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
]


class ShuffleNet_V2_X0_5_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("shufflenetv2_x0.5-f707e7126e.pth")
    DEFAULT = IMAGENET1K_V1


class ShuffleNet_V2_X1_0_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("shufflenetv2_x1-5666bf0f80.pth")
    DEFAULT = IMAGENET1K_V1


class ShuffleNet_V2_X1_5_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("shufflenetv2_x1_5-3c479a10.pth")
    DEFAULT = IMAGENET1K_V1


class ShuffleNet_V2_X2_0_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("shufflenetv2_x2_0-8be3c8ee.pth")
    DEFAULT = IMAGENET1K_V1


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """Interleave the channels of the groups of (N, C, H, W)."""
    count, channels, height, width = x.size()
    grouped = x.view(count, groups, channels // groups, height, width)
    return grouped.transpose(1, 2).contiguous().view(count, channels, height, width)


def _pointwise(inp: int, oup: int) -> list[nn.Module]:
    """A convolution of 1 x 1, a normalization and a rectifier."""
    return [nn.Conv2d(inp, oup, kernel_size=1, bias=False), nn.BatchNorm2d(oup), nn.ReLU(inplace=True)]


class InvertedResidual(nn.Module):
    """At stride 1 one half of the channels passes by; at stride 2 there are two branches of the whole."""

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        if not 1 <= stride <= 3:
            raise ValueError(f"illegal stride value {stride}: it must be from 1 to 3")
        half = oup // 2
        if stride == 1 and inp != 2 * half:
            raise ValueError(
                f"Invalid combination of stride {stride}, inp {inp} and oup {oup} values: at stride 1 inp should be "
                f"oup // 2 * 2, which is {2 * half}"
            )
        self.stride = stride
        self.branch1 = nn.Sequential()
        if stride > 1:
            self.branch1 = nn.Sequential(*self._depthwise(inp, stride), *_pointwise(inp, half))
        width = inp if stride > 1 else half
        self.branch2 = nn.Sequential(*_pointwise(width, half), *self._depthwise(half, stride), *_pointwise(half, half))

    def _depthwise(self, channels: int, stride: int) -> list[nn.Module]:
        conv = self.depthwise_conv(channels, channels, kernel_size=3, stride=stride, padding=1)
        return [conv, nn.BatchNorm2d(channels)]

    @staticmethod
    def depthwise_conv(
        i: int, o: int, kernel_size: int, stride: int = 1, padding: int = 0, bias: bool = False
    ) -> nn.Conv2d:
        """Make a convolution on each channel alone."""
        return nn.Conv2d(i, o, kernel_size, stride, padding, bias=bias, groups=i)

    def forward(self, x: Tensor) -> Tensor:
        """Return the joined and shuffled channels."""
        if self.stride == 1:
            passed, changed = x.chunk(2, dim=1)
            halves = (passed, self.branch2(changed))
        else:
            halves = (self.branch1(x), self.branch2(x))
        return channel_shuffle(weft.cat(halves, dim=1), 2)


class ShuffleNetV2(nn.Module):
    """A small network for pictures (N, 3, H, W).

    Parameters
    ----------
    stages_repeats : list of three int
        How many blocks each stage has.
    stages_out_channels : list of five int
        The channels after the first convolution, each stage, and the last convolution.
    num_classes : int
    inverted_residual : callable
    """

    def __init__(
        self,
        stages_repeats: list[int],
        stages_out_channels: list[int],
        num_classes: int = 1000,
        inverted_residual: Callable[..., nn.Module] = InvertedResidual,
    ) -> None:
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        self._stage_out_channels = stages_out_channels
        width, *stages, last = stages_out_channels
        conv = nn.Conv2d(3, width, 3, 2, 1, bias=False)
        self.conv1 = nn.Sequential(conv, nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for number, repeats, wider in zip((2, 3, 4), stages_repeats, stages):
            first = inverted_residual(width, wider, 2)
            others = (inverted_residual(wider, wider, 1) for _ in range(repeats - 1))
            setattr(self, f"stage{number}", nn.Sequential(first, *others))
            width = wider
        self.conv5 = nn.Sequential(*_pointwise(width, last))
        self.fc = nn.Linear(last, num_classes)

    def forward(self, x: Tensor) -> Any:
        """Return the logits (N, num_classes)."""
        x = self.stage4(self.stage3(self.stage2(self.maxpool(self.conv1(x)))))
        return self.fc(self.conv5(x).mean([2, 3]))


def _shufflenet(name: str, weights: type[WeightsEnum], widths: list[int]) -> Callable[..., ShuffleNetV2]:
    return builder(name, weights, ShuffleNetV2, [4, 8, 4], widths)


shufflenet_v2_x0_5 = _shufflenet("shufflenet_v2_x0_5", ShuffleNet_V2_X0_5_Weights, [24, 48, 96, 192, 1024])
shufflenet_v2_x1_0 = _shufflenet("shufflenet_v2_x1_0", ShuffleNet_V2_X1_0_Weights, [24, 116, 232, 464, 1024])
shufflenet_v2_x1_5 = _shufflenet("shufflenet_v2_x1_5", ShuffleNet_V2_X1_5_Weights, [24, 176, 352, 704, 1024])
shufflenet_v2_x2_0 = _shufflenet("shufflenet_v2_x2_0", ShuffleNet_V2_X2_0_Weights, [24, 244, 488, 976, 2048])
