"""VGG: plain stacks of convolutions of 3 x 3 (arXiv:1409.1556)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import weft
from weft import Tensor, nn
from weft.vision.models._weights import architecture, weights

__all__ = [
    "VGG",
    "VGG11_BN_Weights",
    "VGG11_Weights",
    "VGG13_BN_Weights",
    "VGG13_Weights",
    "VGG16_BN_Weights",
    "VGG16_Weights",
    "VGG19_BN_Weights",
    "VGG19_Weights",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]

VGG11_Weights = weights("VGG11_Weights", "vgg11-8a719046.pth")
VGG11_BN_Weights = weights("VGG11_BN_Weights", "vgg11_bn-6002323d.pth")
VGG13_Weights = weights("VGG13_Weights", "vgg13-19584684.pth")
VGG13_BN_Weights = weights("VGG13_BN_Weights", "vgg13_bn-abd245e5.pth")
VGG16_Weights = weights("VGG16_Weights", "vgg16-397923af.pth")
VGG16_BN_Weights = weights("VGG16_BN_Weights", "vgg16_bn-6c64b313.pth")
VGG19_Weights = weights("VGG19_Weights", "vgg19-dcbb9e9d.pth")
VGG19_BN_Weights = weights("VGG19_BN_Weights", "vgg19_bn-c79401a0.pth")

WIDTHS = (64, 128, 256, 512, 512)
DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


class VGG(nn.Module):
    """A stack of convolutions and three linear layers, for pictures (N, 3, H, W).

    Parameters
    ----------
    features : Module
        See `make_layers`.
    num_classes : int
    init_weights : bool
    dropout : float
    """

    def __init__(
        self, features: nn.Module, num_classes: int = 1000, init_weights: bool = True, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            for module in self.modules():
                initialize(module)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        return self.classifier(weft.flatten(self.avgpool(self.features(x)), 1))


def initialize(module: nn.Module) -> None:
    """Set the first weights of a layer."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if module.bias is not None:
            nn.init.constant_(module.bias, 0)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.constant_(module.weight, 1)
        nn.init.constant_(module.bias, 0)
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0, 0.01)
        if module.bias is not None:
            nn.init.constant_(module.bias, 0)


def make_layers(cfg: list[Any], batch_norm: bool = False) -> nn.Sequential:
    """Make the convolutions: a number is one with so many channels, "M" a pooling that halves the size."""
    layers: list[nn.Module] = []
    channels = 3
    for width in cfg:
        if width == "M":
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2d(channels, width, kernel_size=3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2d(width))
        layers.append(nn.ReLU(inplace=True))
        channels = width
    return nn.Sequential(*layers)


def build(depth: int, batch_norm: bool, **kwargs: Any) -> VGG:
    """Make the network of one of the published depths."""
    cfg = [each for count, width in zip(DEPTHS[depth], WIDTHS) for each in [*[width] * count, "M"]]
    return VGG(make_layers(cfg, batch_norm), **kwargs)


def _vgg(name: str, known: Any) -> Callable[..., nn.Module]:
    return architecture(name, known, partial(build, int(name[3:5]), name.endswith("_bn")))


vgg11 = _vgg("vgg11", VGG11_Weights)
vgg11_bn = _vgg("vgg11_bn", VGG11_BN_Weights)
vgg13 = _vgg("vgg13", VGG13_Weights)
vgg13_bn = _vgg("vgg13_bn", VGG13_BN_Weights)
vgg16 = _vgg("vgg16", VGG16_Weights)
vgg16_bn = _vgg("vgg16_bn", VGG16_BN_Weights)
vgg19 = _vgg("vgg19", VGG19_Weights)
vgg19_bn = _vgg("vgg19_bn", VGG19_BN_Weights)
