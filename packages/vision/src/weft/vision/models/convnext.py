"""ConvNeXt: convolutions in the shape of a transformer (arXiv:2201.03545)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import builder, initialize
from weft.vision.ops.misc import Conv2dNormActivation, Permute
from weft.vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "ConvNeXt",
    "ConvNeXt_Base_Weights",
    "ConvNeXt_Large_Weights",
    "ConvNeXt_Small_Weights",
    "ConvNeXt_Tiny_Weights",
    "convnext_base",
    "convnext_large",
    "convnext_small",
    "convnext_tiny",
]

Maker = Callable[..., nn.Module]


class ConvNeXt_Base_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("convnext_base-6075fbad.pth")
    DEFAULT = IMAGENET1K_V1


class ConvNeXt_Large_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("convnext_large-ea097f82.pth")
    DEFAULT = IMAGENET1K_V1


class ConvNeXt_Small_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("convnext_small-0c510722.pth")
    DEFAULT = IMAGENET1K_V1


class ConvNeXt_Tiny_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("convnext_tiny-983f1562.pth")
    DEFAULT = IMAGENET1K_V1


class LayerNorm2d(nn.LayerNorm):
    """Normalize the channels of (N, C, H, W) at each place."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalized channels."""
        x = F.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """A convolution of 7 x 7 on each channel alone and two linear layers, scaled, beside a shortcut."""

    def __init__(
        self, dim: int, layer_scale: float, stochastic_depth_prob: float, norm_layer: Maker | None = None
    ) -> None:
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim),
            Permute([0, 2, 3, 1]),
            (norm_layer or partial(nn.LayerNorm, eps=1e-6))(dim),
            *(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)),
            Permute([0, 3, 1, 2]),
        )
        self.layer_scale = nn.Parameter(weft.ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input: Tensor) -> Tensor:
        """Return what follows the block."""
        result = self.stochastic_depth(self.layer_scale * self.block(input))
        result += input
        return result


class CNBlockConfig:
    """The channels of a stage, those of the next, or None after the last, and how many blocks it has."""

    def __init__(self, input_channels: int, out_channels: int | None, num_layers: int) -> None:
        self.input_channels = input_channels
        self.out_channels = out_channels
        self.num_layers = num_layers

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in vars(self).items())})"


class ConvNeXt(nn.Module):
    """Stages of `CNBlock`, for pictures (N, 3, H, W).

    Parameters
    ----------
    block_setting : list of CNBlockConfig
        The stages.
    stochastic_depth_prob : float
        The probability with which the last block is left out; it grows from 0 at the first.
    layer_scale : float
        The first value of the blocks' scale.
    num_classes : int
    block : callable, default CNBlock
    norm_layer : callable, default LayerNorm2d
    **kwargs
        Left unused.
    """

    def __init__(
        self,
        block_setting: list[CNBlockConfig],
        stochastic_depth_prob: float = 0.0,
        layer_scale: float = 1e-6,
        num_classes: int = 1000,
        block: Maker | None = None,
        norm_layer: Maker | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if not block_setting:
            raise ValueError("The block_setting should not be empty")
        if not isinstance(block_setting, Sequence) or not all(isinstance(s, CNBlockConfig) for s in block_setting):
            raise TypeError("The block_setting should be List[CNBlockConfig]")
        norm, block = norm_layer or partial(LayerNorm2d, eps=1e-6), block or CNBlock
        options: dict[str, Any] = {"norm_layer": norm, "activation_layer": None, "bias": True}
        first = block_setting[0].input_channels
        layers: list[nn.Module] = [Conv2dNormActivation(3, first, kernel_size=4, stride=4, padding=0, **options)]
        total, done = sum(cnf.num_layers for cnf in block_setting), 0
        for cnf in block_setting:
            width, wider = cnf.input_channels, cnf.out_channels
            stage: list[nn.Module] = []
            for _ in range(cnf.num_layers):
                stage.append(block(width, layer_scale, stochastic_depth_prob * done / (total - 1.0)))
                done += 1
            layers.append(nn.Sequential(*stage))
            if wider is not None:
                layers.append(nn.Sequential(norm(width), nn.Conv2d(width, wider, kernel_size=2, stride=2)))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        last = width if wider is None else wider
        self.classifier = nn.Sequential(norm(last), nn.Flatten(1), nn.Linear(last, num_classes))
        initialize(self, _truncated_normal, _truncated_normal, norms=())

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        return self.classifier(self.avgpool(self.features(x)))


def _truncated_normal(layer: Any) -> None:
    nn.init.trunc_normal_(layer.weight, std=0.02)


def _convnext(widths: tuple[int, ...], blocks: int, **kwargs: Any) -> ConvNeXt:
    stages = zip(widths, (*widths[1:], None), (3, 3, blocks, 3))
    return ConvNeXt([CNBlockConfig(*stage) for stage in stages], **kwargs)


def _builder(
    name: str, weights: type[WeightsEnum], width: int, blocks: int, probability: float
) -> Callable[..., ConvNeXt]:
    widths = (width, 2 * width, 4 * width, 8 * width)
    return builder(name, weights, partial(_convnext, stochastic_depth_prob=probability), widths, blocks)


convnext_tiny = _builder("convnext_tiny", ConvNeXt_Tiny_Weights, 96, 9, 0.1)
convnext_small = _builder("convnext_small", ConvNeXt_Small_Weights, 96, 27, 0.4)
convnext_base = _builder("convnext_base", ConvNeXt_Base_Weights, 128, 27, 0.5)
convnext_large = _builder("convnext_large", ConvNeXt_Large_Weights, 192, 27, 0.5)
