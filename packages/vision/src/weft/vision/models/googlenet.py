"""GoogLeNet: convolutions of several sizes side by side (arXiv:1409.4842)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.vision.models._api import WeightsEnum, pretrained, register_model
from weft.vision.models._utils import _ovewrite_named_param, handle_legacy_interface, initialize, load_weights

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "GoogLeNet_Weights", "_GoogLeNetOutputs", "googlenet"]

GoogLeNetOutputs = namedtuple("GoogLeNetOutputs", ["logits", "aux_logits2", "aux_logits1"])
_GoogLeNetOutputs = GoogLeNetOutputs

Maker = Callable[..., nn.Module]

# For each block: input channels, then those of 1 x 1, of 3 x 3 reduced and whole, of 5 x 5 likewise, and of pooling
# (table 1 of the paper).
BLOCKS = {
    "inception3a": (192, 64, 96, 128, 16, 32, 32),
    "inception3b": (256, 128, 128, 192, 32, 96, 64),
    "inception4a": (480, 192, 96, 208, 16, 48, 64),
    "inception4b": (512, 160, 112, 224, 24, 64, 64),
    "inception4c": (512, 128, 128, 256, 24, 64, 64),
    "inception4d": (512, 112, 144, 288, 32, 64, 64),
    "inception4e": (528, 256, 160, 320, 32, 128, 128),
    "inception5a": (832, 256, 160, 320, 32, 128, 128),
    "inception5b": (832, 384, 192, 384, 48, 128, 128),
}


class GoogLeNet_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("googlenet-1378be20.pth")
    DEFAULT = IMAGENET1K_V1


class BasicConv2d(nn.Module):
    """A convolution without bias, a normalization and a rectifier."""

    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        """Return the channels."""
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    """Four branches, whose channels are joined."""

    def __init__(
        self,
        in_channels: int,
        ch1x1: int,
        ch3x3red: int,
        ch3x3: int,
        ch5x5red: int,
        ch5x5: int,
        pool_proj: int,
        conv_block: Maker | None = None,
    ) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch1 = conv(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            conv(in_channels, ch3x3red, kernel_size=1), conv(ch3x3red, ch3x3, kernel_size=3, padding=1)
        )
        self.branch3 = nn.Sequential(  # the paper has 5 x 5 here; the published weights have 3 x 3
            conv(in_channels, ch5x5red, kernel_size=1), conv(ch5x5red, ch5x5, kernel_size=3, padding=1)
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
            conv(in_channels, pool_proj, kernel_size=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the joined channels."""
        return weft.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class InceptionAux(nn.Module):
    """A classifier in the middle of the network, for training."""

    def __init__(
        self, in_channels: int, num_classes: int, conv_block: Maker | None = None, dropout: float = 0.7
    ) -> None:
        super().__init__()
        self.conv = (conv_block or BasicConv2d)(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        x = weft.flatten(self.conv(F.adaptive_avg_pool2d(x, (4, 4))), 1)
        return self.fc2(self.dropout(F.relu(self.fc1(x), inplace=True)))


class GoogLeNet(nn.Module):
    """Nine blocks of branches, for pictures (N, 3, H, W).

    Parameters
    ----------
    num_classes : int
    aux_logits : bool
        Add two classifiers in the middle, whose logits are returned in training.
    transform_input : bool
        Take pictures that are normalized with ImageNet's means and deviations, and not to -1 to 1.
    init_weights : bool, default True
    blocks : list of three callable, optional
        In place of `BasicConv2d`, `Inception` and `InceptionAux`.
    dropout, dropout_aux : float
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        init_weights: bool | None = None,
        blocks: list[Maker] | None = None,
        dropout: float = 0.2,
        dropout_aux: float = 0.7,
    ) -> None:
        super().__init__()
        if blocks is not None and len(blocks) != 3:
            raise ValueError(f"blocks length should be 3 instead of {len(blocks)}")
        conv, inception, aux = blocks or [BasicConv2d, Inception, InceptionAux]
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        for name, widths in BLOCKS.items():
            setattr(self, name, inception(*widths))
            if name == "inception3b":
                self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
            elif name == "inception4e":
                self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.aux1 = aux(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = aux(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights is None or init_weights:
            initialize(self, truncated_normal, truncated_normal, zero_bias=False)

    def forward(self, x: Tensor) -> Any:
        """Return the logits (N, num_classes), in training `GoogLeNetOutputs` with those of the aux classifiers."""
        x = normalize_again(x) if self.transform_input else x
        x = self.maxpool2(self.conv3(self.conv2(self.maxpool1(self.conv1(x)))))
        x = self.inception4a(self.maxpool3(self.inception3b(self.inception3a(x))))
        aux1 = self.aux1(x) if self.aux1 is not None and self.training else None
        x = self.inception4d(self.inception4c(self.inception4b(x)))
        aux2 = self.aux2(x) if self.aux2 is not None and self.training else None
        x = self.inception5b(self.inception5a(self.maxpool4(self.inception4e(x))))
        logits = self.fc(self.dropout(weft.flatten(self.avgpool(x), 1)))
        return GoogLeNetOutputs(logits, aux2, aux1) if self.training and self.aux_logits else logits


def truncated_normal(layer: Any, std: float = 0.01) -> None:
    """Set a layer's weight to a normal distribution, of its own ``stddev`` where it has one."""
    nn.init.trunc_normal_(layer.weight, mean=0.0, std=float(getattr(layer, "stddev", std)), a=-2, b=2)


def normalize_again(x: Tensor) -> Tensor:
    """Undo the normalization with ImageNet's means and deviations, and scale the channels to -1 to 1."""
    statistics = enumerate(((0.485, 0.229), (0.456, 0.224), (0.406, 0.225)))
    scaled = [x[:, channel : channel + 1] * (std / 0.5) + (mean - 0.5) / 0.5 for channel, (mean, std) in statistics]
    return weft.cat(scaled, 1)


def adapt_inception(kwargs: dict[str, Any], weights: WeightsEnum | None) -> None:
    """Set the arguments that published weights of an inception network decide."""
    if weights is not None:
        kwargs.setdefault("transform_input", True)
        for name, value in {"aux_logits": True, "init_weights": False, "num_classes": 1000}.items():
            _ovewrite_named_param(kwargs, name, value)


@register_model()
@handle_legacy_interface(weights=("pretrained", GoogLeNet_Weights.IMAGENET1K_V1))
def googlenet(*, weights: GoogLeNet_Weights | None = None, progress: bool = True, **kwargs: Any) -> GoogLeNet:
    """Build the model ``googlenet``.

    Parameters
    ----------
    weights : GoogLeNet_Weights or str, optional
        Published weights; by default they are random. There are none of the aux classifiers.
    progress : bool
        Whether to show a bar while they are fetched.
    **kwargs
        For `GoogLeNet`; with weights ``aux_logits`` is by default False, and ``transform_input`` True.
    """
    weights = GoogLeNet_Weights.verify(weights)
    keep_aux = weights is None or kwargs.pop("aux_logits", False)
    adapt_inception(kwargs, weights)
    model = load_weights(GoogLeNet(**kwargs), weights, progress)
    if not keep_aux:
        model.aux_logits, model.aux1, model.aux2 = False, None, None
    return model
