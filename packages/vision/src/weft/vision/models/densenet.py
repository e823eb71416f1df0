"""DenseNet: each layer sees the channels of all before it in its block (arXiv:1608.06993)."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.utils.checkpoint import checkpoint
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import builder

__all__ = [
    "DenseNet",
    "DenseNet121_Weights",
    "DenseNet161_Weights",
    "DenseNet169_Weights",
    "DenseNet201_Weights",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
]


class DenseNet121_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("densenet121-a639ec97.pth")
    DEFAULT = IMAGENET1K_V1


class DenseNet161_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("densenet161-8d451a50.pth")
    DEFAULT = IMAGENET1K_V1


class DenseNet169_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("densenet169-b2777c0a.pth")
    DEFAULT = IMAGENET1K_V1


class DenseNet201_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("densenet201-c1103571.pth")
    DEFAULT = IMAGENET1K_V1


class _DenseLayer(nn.Module):
    """Normalize, 1 x 1 to few channels, normalize, 3 x 3 to ``growth_rate`` channels."""

    def __init__(
        self,
        num_input_features: int,
        growth_rate: int,
        bn_size: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, bn_size * growth_rate, kernel_size=1, stride=1, bias=False)
        self.norm2 = nn.BatchNorm2d(bn_size * growth_rate)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(bn_size * growth_rate, growth_rate, kernel_size=3, stride=1, padding=1, bias=False)
        self.drop_rate = float(drop_rate)
        self.memory_efficient = memory_efficient

    def bn_function(self, *inputs: Tensor) -> Tensor:
        """Join the channels and make few of them."""
        return self.conv1(self.relu1(self.norm1(weft.cat(inputs, 1))))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        for name in [key for key in state_dict if key.startswith(prefix)]:  # published files have norm.1 for norm1
            state_dict[re.sub(r"(norm|conv)\.([12])\.(?=\w+$)", r"\1\2.", name)] = state_dict.pop(name)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def forward(self, input: Any) -> Tensor:
        """Return the new channels."""
        features = [input] if isinstance(input, Tensor) else input
        if self.memory_efficient and any(each.requires_grad for each in features):
            few = checkpoint(self.bn_function, *features, use_reentrant=False)
        else:
            few = self.bn_function(*features)
        new = self.conv2(self.relu2(self.norm2(few)))
        return F.dropout(new, p=self.drop_rate, training=self.training) if self.drop_rate > 0 else new


class _DenseBlock(nn.ModuleDict):
    def __init__(
        self,
        num_layers: int,
        num_input_features: int,
        bn_size: int,
        growth_rate: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        for index in range(num_layers):
            width = num_input_features + index * growth_rate
            layer = _DenseLayer(width, growth_rate, bn_size, drop_rate, memory_efficient)
            self.add_module(f"denselayer{index + 1}", layer)

    def forward(self, init_features: Tensor) -> Tensor:
        """Return the channels that came and all new ones."""
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return weft.cat(features, 1)


class _Transition(nn.Sequential):
    def __init__(self, num_input_features: int, num_output_features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, kernel_size=1, stride=1, bias=False)
        self.pool = nn.AvgPool2d(kernel_size=2, stride=2)


class DenseNet(nn.Module):
    """Dense blocks with transitions between them, for pictures (N, 3, H, W).

    Parameters
    ----------
    growth_rate : int
        How many channels each layer adds.
    block_config : tuple of int
        How many layers each block has.
    num_init_features : int
        The channels after the first convolution.
    bn_size : int
        The width of a layer's bottleneck, in growth rates.
    drop_rate : float
    num_classes : int
    memory_efficient : bool
        Compute bottlenecks again in backward instead of keeping them.
    """

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: tuple[int, ...] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        stem: dict[str, nn.Module] = OrderedDict(
            conv0=nn.Conv2d(3, num_init_features, kernel_size=7, stride=2, padding=3, bias=False),
            norm0=nn.BatchNorm2d(num_init_features),
            relu0=nn.ReLU(inplace=True),
            pool0=nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )
        self.features = nn.Sequential(stem)
        width = num_init_features
        for index, layers in enumerate(block_config, start=1):
            block = _DenseBlock(layers, width, bn_size, growth_rate, drop_rate, memory_efficient)
            self.features.add_module(f"denseblock{index}", block)
            width += layers * growth_rate
            if index < len(block_config):
                self.features.add_module(f"transition{index}", _Transition(width, width // 2))
                width //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(width))
        self.classifier = nn.Linear(width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        x = F.relu(self.features(x), inplace=True)
        return self.classifier(weft.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


densenet121 = builder("densenet121", DenseNet121_Weights, DenseNet, 32, (6, 12, 24, 16), 64)
densenet161 = builder("densenet161", DenseNet161_Weights, DenseNet, 48, (6, 12, 36, 24), 96)
densenet169 = builder("densenet169", DenseNet169_Weights, DenseNet, 32, (6, 12, 32, 32), 64)
densenet201 = builder("densenet201", DenseNet201_Weights, DenseNet, 32, (6, 12, 48, 32), 64)
