"""SqueezeNet: as good as AlexNet with a fiftieth of its weights (arXiv:1602.07360)."""

from __future__ import annotations

import weft
from weft import Tensor, nn
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import builder

__all__ = ["SqueezeNet", "SqueezeNet1_0_Weights", "SqueezeNet1_1_Weights", "squeezenet1_0", "squeezenet1_1"]


class SqueezeNet1_0_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("squeezenet1_0-b66bff10.pth")
    DEFAULT = IMAGENET1K_V1


class SqueezeNet1_1_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("squeezenet1_1-b8a52dc0.pth")
    DEFAULT = IMAGENET1K_V1


class Fire(nn.Module):
    """A convolution of 1 x 1 to few channels, and two beside each other to many."""

    def __init__(self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int) -> None:
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return the channels of both."""
        x = self.squeeze_activation(self.squeeze(x))
        near = self.expand1x1_activation(self.expand1x1(x))
        wide = self.expand3x3_activation(self.expand3x3(x))
        return weft.cat([near, wide], 1)


def pool() -> nn.MaxPool2d:
    """Make the pooling between the stages."""
    return nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True)


def fire(inplanes: int, squeeze_planes: int, expand_planes: int) -> Fire:
    """Make a `Fire` whose two last convolutions have the same width."""
    return Fire(inplanes, squeeze_planes, expand_planes, expand_planes)


class SqueezeNet(nn.Module):
    """Fire modules between poolings, for pictures (N, 3, H, W).

    Parameters
    ----------
    version : "1_0" or "1_1"
        The second pools earlier and needs less than half the arithmetic.
    num_classes : int
    dropout : float
    """

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.num_classes = num_classes
        if version not in ("1_0", "1_1"):
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        old = version == "1_0"
        first = nn.Conv2d(3, 96, kernel_size=7, stride=2) if old else nn.Conv2d(3, 64, kernel_size=3, stride=2)
        layers: list[nn.Module] = [first, nn.ReLU(inplace=True), pool(), fire(96 if old else 64, 16, 64)]
        layers += [fire(128, 16, 64), *([] if old else [pool()]), fire(128, 32, 128)]
        layers += [pool(), fire(256, 32, 128)] if old else [fire(256, 32, 128), pool()]
        layers += [fire(256, 48, 192), fire(384, 48, 192), fire(384, 64, 256)]
        layers += [*([pool()] if old else []), fire(512, 64, 256)]
        self.features = nn.Sequential(*layers)
        last = nn.Conv2d(512, num_classes, kernel_size=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), last, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                if module is last:
                    nn.init.normal_(module.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        return weft.flatten(self.classifier(self.features(x)), 1)


squeezenet1_0 = builder("squeezenet1_0", SqueezeNet1_0_Weights, SqueezeNet, "1_0")
squeezenet1_1 = builder("squeezenet1_1", SqueezeNet1_1_Weights, SqueezeNet, "1_1")
