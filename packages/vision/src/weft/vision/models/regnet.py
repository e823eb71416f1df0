"""RegNet: networks whose widths follow a line (arXiv:2003.13678)."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import weft
from weft import Tensor, nn
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import _make_divisible, builder, initialize
from weft.vision.ops.misc import Conv2dNormActivation, SqueezeExcitation

__all__ = [
    "RegNet",
    "RegNet_X_16GF_Weights",
    "RegNet_X_1_6GF_Weights",
    "RegNet_X_32GF_Weights",
    "RegNet_X_3_2GF_Weights",
    "RegNet_X_400MF_Weights",
    "RegNet_X_800MF_Weights",
    "RegNet_X_8GF_Weights",
    "RegNet_Y_128GF_Weights",
    "RegNet_Y_16GF_Weights",
    "RegNet_Y_1_6GF_Weights",
    "RegNet_Y_32GF_Weights",
    "RegNet_Y_3_2GF_Weights",
    "RegNet_Y_400MF_Weights",
    "RegNet_Y_800MF_Weights",
    "RegNet_Y_8GF_Weights",
    "regnet_x_16gf",
    "regnet_x_1_6gf",
    "regnet_x_32gf",
    "regnet_x_3_2gf",
    "regnet_x_400mf",
    "regnet_x_800mf",
    "regnet_x_8gf",
    "regnet_y_128gf",
    "regnet_y_16gf",
    "regnet_y_1_6gf",
    "regnet_y_32gf",
    "regnet_y_3_2gf",
    "regnet_y_400mf",
    "regnet_y_800mf",
    "regnet_y_8gf",
]

Maker = Callable[..., nn.Module]


class RegNet_X_1_6GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_x_1_6gf-e3633e7f.pth")
    IMAGENET1K_V2 = pretrained("regnet_x_1_6gf-a12f2b72.pth")
    DEFAULT = IMAGENET1K_V2


class RegNet_X_3_2GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_x_3_2gf-f342aeae.pth")
    IMAGENET1K_V2 = pretrained("regnet_x_3_2gf-7071aa85.pth")
    DEFAULT = IMAGENET1K_V2


class RegNet_X_8GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_x_8gf-03ceed89.pth")
    IMAGENET1K_V2 = pretrained("regnet_x_8gf-2b70d774.pth")
    DEFAULT = IMAGENET1K_V2


class RegNet_X_16GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_x_16gf-2007eb11.pth")
    IMAGENET1K_V2 = pretrained("regnet_x_16gf-ba3796d7.pth")
    DEFAULT = IMAGENET1K_V2


class RegNet_X_32GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_x_32gf-9d47f8d0.pth")
    IMAGENET1K_V2 = pretrained("regnet_x_32gf-6eb8fdc6.pth")
    DEFAULT = IMAGENET1K_V2


class RegNet_X_400MF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_x_400mf-adf1edd5.pth")
    IMAGENET1K_V2 = pretrained("regnet_x_400mf-62229a5f.pth")
    DEFAULT = IMAGENET1K_V2


class RegNet_X_800MF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_x_800mf-ad17e45c.pth")
    IMAGENET1K_V2 = pretrained("regnet_x_800mf-94a99ebd.pth")
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_1_6GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_y_1_6gf-b11a554e.pth")
    IMAGENET1K_V2 = pretrained("regnet_y_1_6gf-0d7bc02a.pth")
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_3_2GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_y_3_2gf-b5a9779c.pth")
    IMAGENET1K_V2 = pretrained("regnet_y_3_2gf-9180c971.pth")
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_8GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_y_8gf-d0d0e4a8.pth")
    IMAGENET1K_V2 = pretrained("regnet_y_8gf-dc2b1b54.pth")
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_16GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_y_16gf-9e6ed7dd.pth")
    IMAGENET1K_V2 = pretrained("regnet_y_16gf-3e4a00f9.pth")
    IMAGENET1K_SWAG_E2E_V1 = pretrained("regnet_y_16gf_swag-43afe44d.pth")
    IMAGENET1K_SWAG_LINEAR_V1 = pretrained("regnet_y_16gf_lc_swag-f3ec0043.pth")
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_32GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_y_32gf-4dee3f7a.pth")
    IMAGENET1K_V2 = pretrained("regnet_y_32gf-8db6d4b5.pth")
    IMAGENET1K_SWAG_E2E_V1 = pretrained("regnet_y_32gf_swag-04fdfa75.pth")
    IMAGENET1K_SWAG_LINEAR_V1 = pretrained("regnet_y_32gf_lc_swag-e1583746.pth")
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_128GF_Weights(WeightsEnum):
    IMAGENET1K_SWAG_E2E_V1 = pretrained("regnet_y_128gf_swag-c8ce3e52.pth")
    IMAGENET1K_SWAG_LINEAR_V1 = pretrained("regnet_y_128gf_lc_swag-cbe8ce12.pth")
    DEFAULT = IMAGENET1K_SWAG_E2E_V1


class RegNet_Y_400MF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_y_400mf-c65dace8.pth")
    IMAGENET1K_V2 = pretrained("regnet_y_400mf-e6988f5f.pth")
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_800MF_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("regnet_y_800mf-1b27b58c.pth")
    IMAGENET1K_V2 = pretrained("regnet_y_800mf-58fc7688.pth")
    DEFAULT = IMAGENET1K_V2


class SimpleStemIN(Conv2dNormActivation):
    """A convolution of 3 x 3 that halves the size."""

    def __init__(self, width_in: int, width_out: int, norm_layer: Maker, activation_layer: Maker) -> None:
        layers: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": activation_layer}
        super().__init__(width_in, width_out, kernel_size=3, stride=2, **layers)


class BottleneckTransform(nn.Sequential):
    """A convolution of 3 x 3 in groups between two of 1 x 1, with gates if ``se_ratio`` is not 0."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Maker,
        activation_layer: Maker,
        group_width: int,
        bottleneck_multiplier: float,
        se_ratio: float | None,
    ) -> None:
        width = round(width_out * bottleneck_multiplier)
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=activation_layer)
        layers: dict[str, nn.Module] = OrderedDict(
            a=conv(width_in, width, kernel_size=1),
            b=conv(width, width, kernel_size=3, stride=stride, groups=width // group_width),
        )
        if se_ratio:
            layers["se"] = SqueezeExcitation(width, round(se_ratio * width_in), activation=activation_layer)
        layers["c"] = conv(width, width_out, kernel_size=1, activation_layer=None)
        super().__init__(layers)


class ResBottleneckBlock(nn.Module):
    """`BottleneckTransform` and a shortcut."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Maker,
        activation_layer: Maker,
        group_width: int = 1,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
    ) -> None:
        super().__init__()
        self.proj = None
        if width_in != width_out or stride != 1:
            layers: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": None}
            self.proj = Conv2dNormActivation(width_in, width_out, kernel_size=1, stride=stride, **layers)
        sizes = (group_width, bottleneck_multiplier, se_ratio)
        self.f = BottleneckTransform(width_in, width_out, stride, norm_layer, activation_layer, *sizes)
        self.activation = activation_layer(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return what follows the block."""
        return self.activation((x if self.proj is None else self.proj(x)) + self.f(x))


class AnyStage(nn.Sequential):
    """Blocks of one width, the first of which has the stride."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        depth: int,
        block_constructor: Maker,
        norm_layer: Maker,
        activation_layer: Maker,
        group_width: int,
        bottleneck_multiplier: float,
        se_ratio: float | None = None,
        stage_index: int = 0,
    ) -> None:
        super().__init__()
        options = (norm_layer, activation_layer, group_width, bottleneck_multiplier, se_ratio)
        for index in range(depth):
            first = (width_in, width_out, stride) if index == 0 else (width_out, width_out, 1)
            self.add_module(f"block{stage_index}-{index}", block_constructor(*first, *options))


class BlockParams:
    """The sizes of each stage."""

    def __init__(
        self,
        depths: list[int],
        widths: list[int],
        group_widths: list[int],
        bottleneck_multipliers: list[float],
        strides: list[int],
        se_ratio: float | None = None,
    ) -> None:
        self.depths = depths
        self.widths = widths
        self.group_widths = group_widths
        self.bottleneck_multipliers = bottleneck_multipliers
        self.strides = strides
        self.se_ratio = se_ratio

    @classmethod
    def from_init_params(
        cls,
        depth: int,
        w_0: int,
        w_a: float,
        w_m: float,
        group_width: int,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
        **kwargs: Any,
    ) -> BlockParams:
        """The stages of a network whose widths follow a line, rounded to powers (section 3.3 of the paper).

        Parameters
        ----------
        depth : int
            How many blocks there are.
        w_0, w_a : int, float
            The line: the first width and its slope.
        w_m : float
            The base of the powers.
        group_width : int
        bottleneck_multiplier : float
        se_ratio : float, optional
        **kwargs
            Left unused.

        Raises
        ------
        ValueError
            For a falling line, a first width that is not a positive multiple of 8, or a base of 1 or less.
        """
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8 != 0:
            raise ValueError(f"Invalid RegNet settings: w_0={w_0}, w_a={w_a}, w_m={w_m}")
        line = weft.arange(depth) * w_a + w_0
        powers = weft.round(weft.log(line / w_0) / math.log(w_m))
        blocks = (weft.round(w_0 * weft.pow(w_m, powers) / 8) * 8).int().tolist()
        widths = list(dict.fromkeys(blocks))  # they never fall
        count = len(widths)
        multipliers, groups = [bottleneck_multiplier] * count, [group_width] * count
        depths = [blocks.count(width) for width in widths]
        widths, groups = cls._adjust_widths_groups_compatibilty(widths, multipliers, groups)
        return cls(depths, widths, groups, multipliers, [2] * count, se_ratio)

    def _get_expanded_params(self) -> Iterator[tuple[int, int, int, int, float]]:
        return zip(self.widths, self.strides, self.depths, self.group_widths, self.bottleneck_multipliers)

    @staticmethod
    def _adjust_widths_groups_compatibilty(
        stage_widths: list[int], bottleneck_ratios: list[float], group_widths: list[int]
    ) -> tuple[list[int], list[int]]:
        """Make each bottleneck's width a multiple of its groups' width."""
        widths = [int(width * ratio) for width, ratio in zip(stage_widths, bottleneck_ratios)]
        groups = [min(group, width) for group, width in zip(group_widths, widths)]
        widths = [_make_divisible(width, group) for width, group in zip(widths, groups)]
        return [int(width / ratio) for width, ratio in zip(widths, bottleneck_ratios)], groups


class RegNet(nn.Module):
    """Four stages of residual blocks, for pictures (N, 3, H, W).

    Parameters
    ----------
    block_params : BlockParams
    num_classes : int
    stem_width : int
    stem_type : callable, default SimpleStemIN
    block_type : callable, default ResBottleneckBlock
    norm_layer : callable, default BatchNorm2d
    activation : callable, default ReLU
    """

    def __init__(
        self,
        block_params: BlockParams,
        num_classes: int = 1000,
        stem_width: int = 32,
        stem_type: Maker | None = None,
        block_type: Maker | None = None,
        norm_layer: Maker | None = None,
        activation: Maker | None = None,
    ) -> None:
        super().__init__()
        layers = (norm_layer or nn.BatchNorm2d, activation or nn.ReLU)
        self.stem = (stem_type or SimpleStemIN)(3, stem_width, *layers)
        stages: dict[str, nn.Module] = OrderedDict()
        width = stem_width
        for number, (wider, stride, depth, *groups) in enumerate(block_params._get_expanded_params(), start=1):
            sizes: Any = (*groups, block_params.se_ratio, number)
            stages[f"block{number}"] = AnyStage(
                width, wider, stride, depth, block_type or ResBottleneckBlock, *layers, *sizes
            )
            width = wider
        self.trunk_output = nn.Sequential(stages)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(in_features=width, out_features=num_classes)
        initialize(self, _fan_out_normal, zero_bias=False)
        initialize(self, linear=lambda linear: nn.init.normal_(linear.weight, mean=0.0, std=0.01), norms=())

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        return self.fc(weft.flatten(self.avgpool(self.trunk_output(self.stem(x))), 1))


def _fan_out_normal(conv: nn.Conv2d) -> None:
    """Kaiming's normal distribution, as if there were no groups."""
    fan_out = math.prod(conv.kernel_size) * conv.out_channels
    nn.init.normal_(conv.weight, mean=0.0, std=math.sqrt(2.0 / fan_out))


def _regnet(line: tuple[int, int, float, float, int], se_ratio: float | None, **kwargs: Any) -> RegNet:
    kwargs.setdefault("norm_layer", partial(nn.BatchNorm2d, eps=1e-05, momentum=0.1))
    return RegNet(BlockParams.from_init_params(*line, se_ratio=se_ratio), **kwargs)


def _regnet_x(name: str, weights: type[WeightsEnum], *line: Any) -> Callable[..., RegNet]:
    return builder(name, weights, _regnet, line, None)


def _regnet_y(name: str, weights: type[WeightsEnum], *line: Any) -> Callable[..., RegNet]:
    return builder(name, weights, _regnet, line, 0.25)


# Depth, first width, slope, base and groups' width: tables 8 and 9 of the paper.
regnet_y_400mf = _regnet_y("regnet_y_400mf", RegNet_Y_400MF_Weights, 16, 48, 27.89, 2.09, 8)
regnet_y_800mf = _regnet_y("regnet_y_800mf", RegNet_Y_800MF_Weights, 14, 56, 38.84, 2.4, 16)
regnet_y_1_6gf = _regnet_y("regnet_y_1_6gf", RegNet_Y_1_6GF_Weights, 27, 48, 20.71, 2.65, 24)
regnet_y_3_2gf = _regnet_y("regnet_y_3_2gf", RegNet_Y_3_2GF_Weights, 21, 80, 42.63, 2.66, 24)
regnet_y_8gf = _regnet_y("regnet_y_8gf", RegNet_Y_8GF_Weights, 17, 192, 76.82, 2.19, 56)
regnet_y_16gf = _regnet_y("regnet_y_16gf", RegNet_Y_16GF_Weights, 18, 200, 106.23, 2.48, 112)
regnet_y_32gf = _regnet_y("regnet_y_32gf", RegNet_Y_32GF_Weights, 20, 232, 115.89, 2.53, 232)
regnet_y_128gf = _regnet_y("regnet_y_128gf", RegNet_Y_128GF_Weights, 27, 456, 160.83, 2.52, 264)
regnet_x_400mf = _regnet_x("regnet_x_400mf", RegNet_X_400MF_Weights, 22, 24, 24.48, 2.54, 16)
regnet_x_800mf = _regnet_x("regnet_x_800mf", RegNet_X_800MF_Weights, 16, 56, 35.73, 2.28, 16)
regnet_x_1_6gf = _regnet_x("regnet_x_1_6gf", RegNet_X_1_6GF_Weights, 18, 80, 34.01, 2.25, 24)
regnet_x_3_2gf = _regnet_x("regnet_x_3_2gf", RegNet_X_3_2GF_Weights, 25, 88, 26.31, 2.25, 48)
regnet_x_8gf = _regnet_x("regnet_x_8gf", RegNet_X_8GF_Weights, 23, 80, 49.56, 2.88, 120)
regnet_x_16gf = _regnet_x("regnet_x_16gf", RegNet_X_16GF_Weights, 22, 216, 55.59, 2.1, 128)
regnet_x_32gf = _regnet_x("regnet_x_32gf", RegNet_X_32GF_Weights, 23, 320, 69.86, 2.0, 168)
