"""VGG: plain stacks of convolutions of 3 x 3 (arXiv:1409.1556)."""

from __future__ import annotations

from functools import partial
from typing import Any

import weft
from weft import Tensor, nn
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import builder, initialize

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


class VGG11_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("vgg11_bn-6002323d.pth")
    DEFAULT = IMAGENET1K_V1


class VGG11_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("vgg11-8a719046.pth")
    DEFAULT = IMAGENET1K_V1


class VGG13_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("vgg13_bn-abd245e5.pth")
    DEFAULT = IMAGENET1K_V1


class VGG13_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("vgg13-19584684.pth")
    DEFAULT = IMAGENET1K_V1


class VGG16_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("vgg16_bn-6c64b313.pth")
    DEFAULT = IMAGENET1K_V1


class VGG16_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("vgg16-397923af.pth")
    IMAGENET1K_FEATURES = pretrained("vgg16_features-amdegroot-88682ab5.pth")
    DEFAULT = IMAGENET1K_V1


class VGG19_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("vgg19_bn-c79401a0.pth")
    DEFAULT = IMAGENET1K_V1


class VGG19_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("vgg19-dcbb9e9d.pth")
    DEFAULT = IMAGENET1K_V1


WIDTHS = (64, 128, 256, 512, 512)
DEPTHS = {"A": (1, 1, 2, 2, 2), "B": (2, 2, 2, 2, 2), "D": (2, 2, 3, 3, 3), "E": (2, 2, 4, 4, 4)}

# The arguments of `make_layers` for each network, by its letter in table 1 of the paper.
cfgs: dict[str, list[Any]] = {
    letter: [each for count, width in zip(depths, WIDTHS) for each in [*[width] * count, "M"]]
    for letter, depths in DEPTHS.items()
}


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
            initialize(
                self,
                lambda conv: nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu"),
                lambda linear: nn.init.normal_(linear.weight, 0, 0.01),
            )

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        return self.classifier(weft.flatten(self.avgpool(self.features(x)), 1))


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


def _vgg(cfg: str, batch_norm: bool, **kwargs: Any) -> VGG:
    return VGG(make_layers(cfgs[cfg], batch_norm), **kwargs)


def _leave_uninitialized(weights: WeightsEnum, kwargs: dict[str, Any]) -> None:
    kwargs["init_weights"] = False


_builder = partial(builder, adapt=_leave_uninitialized)
vgg11 = _builder("vgg11", VGG11_Weights, _vgg, "A", False)
vgg11_bn = _builder("vgg11_bn", VGG11_BN_Weights, _vgg, "A", True)
vgg13 = _builder("vgg13", VGG13_Weights, _vgg, "B", False)
vgg13_bn = _builder("vgg13_bn", VGG13_BN_Weights, _vgg, "B", True)
vgg16 = _builder("vgg16", VGG16_Weights, _vgg, "D", False)
vgg16_bn = _builder("vgg16_bn", VGG16_BN_Weights, _vgg, "D", True)
vgg19 = _builder("vgg19", VGG19_Weights, _vgg, "E", False)
vgg19_bn = _builder("vgg19_bn", VGG19_BN_Weights, _vgg, "E", True)
