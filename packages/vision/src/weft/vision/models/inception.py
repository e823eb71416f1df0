"""Inception v3: branches of factored convolutions (arXiv:1512.00567)."""

from __future__ import annotations

from collections import namedtuple
from functools import partial
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.vision.models._api import WeightsEnum, pretrained, register_model
from weft.vision.models._utils import handle_legacy_interface, initialize, load_weights
from weft.vision.models.googlenet import BasicConv2d, Maker, adapt_inception, normalize_again, truncated_normal

__all__ = ["Inception3", "InceptionOutputs", "Inception_V3_Weights", "_InceptionOutputs", "inception_v3"]

InceptionOutputs = namedtuple("InceptionOutputs", ["logits", "aux_logits"])
_InceptionOutputs = InceptionOutputs


class Inception_V3_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("inception_v3_google-0cc3c7bd.pth")
    DEFAULT = IMAGENET1K_V1


class _Block(nn.Module):
    """Branches side by side; the convolutions of a branch have its name and a number."""

    def _add(
        self, conv_block: Maker | None, name: str, in_channels: int, out_channels: int, size: Any, **options: Any
    ) -> None:
        """Add a convolution that keeps the size, unless it has a stride."""
        if "stride" not in options:
            options["padding"] = tuple(each // 2 for each in size) if isinstance(size, tuple) else size // 2
        setattr(self, name, (conv_block or BasicConv2d)(in_channels, out_channels, kernel_size=size, **options))

    def _run(self, x: Tensor, *names: str) -> Tensor:
        for name in names:
            x = getattr(self, name)(x)
        return x


class InceptionA(_Block):
    """Branches of 1 x 1, 5 x 5, twice 3 x 3, and pooling."""

    def __init__(self, in_channels: int, pool_features: int, conv_block: Maker | None = None) -> None:
        super().__init__()
        self._add(conv_block, "branch1x1", in_channels, 64, 1)
        self._add(conv_block, "branch5x5_1", in_channels, 48, 1)
        self._add(conv_block, "branch5x5_2", 48, 64, 5)
        self._add(conv_block, "branch3x3dbl_1", in_channels, 64, 1)
        self._add(conv_block, "branch3x3dbl_2", 64, 96, 3)
        self._add(conv_block, "branch3x3dbl_3", 96, 96, 3)
        self._add(conv_block, "branch_pool", in_channels, pool_features, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the joined channels."""
        branches = [
            self.branch1x1(x),
            self._run(x, "branch5x5_1", "branch5x5_2"),
            self._run(x, "branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3"),
            self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)),
        ]
        return weft.cat(branches, 1)


class InceptionB(_Block):
    """Halve the size: branches of 3 x 3, twice 3 x 3, and pooling."""

    def __init__(self, in_channels: int, conv_block: Maker | None = None) -> None:
        super().__init__()
        self._add(conv_block, "branch3x3", in_channels, 384, 3, stride=2)
        self._add(conv_block, "branch3x3dbl_1", in_channels, 64, 1)
        self._add(conv_block, "branch3x3dbl_2", 64, 96, 3)
        self._add(conv_block, "branch3x3dbl_3", 96, 96, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        """Return the joined channels."""
        branches = [
            self.branch3x3(x),
            self._run(x, "branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3"),
            F.max_pool2d(x, kernel_size=3, stride=2),
        ]
        return weft.cat(branches, 1)


class InceptionC(_Block):
    """Branches of 1 x 1, 7 x 7 and twice 7 x 7 in rows and columns, and pooling."""

    def __init__(self, in_channels: int, channels_7x7: int, conv_block: Maker | None = None) -> None:
        super().__init__()
        width = channels_7x7
        self._add(conv_block, "branch1x1", in_channels, 192, 1)
        self._add(conv_block, "branch7x7_1", in_channels, width, 1)
        self._add(conv_block, "branch7x7_2", width, width, (1, 7))
        self._add(conv_block, "branch7x7_3", width, 192, (7, 1))
        self._add(conv_block, "branch7x7dbl_1", in_channels, width, 1)
        self._add(conv_block, "branch7x7dbl_2", width, width, (7, 1))
        self._add(conv_block, "branch7x7dbl_3", width, width, (1, 7))
        self._add(conv_block, "branch7x7dbl_4", width, width, (7, 1))
        self._add(conv_block, "branch7x7dbl_5", width, 192, (1, 7))
        self._add(conv_block, "branch_pool", in_channels, 192, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the joined channels."""
        branches = [
            self.branch1x1(x),
            self._run(x, *(f"branch7x7_{number}" for number in range(1, 4))),
            self._run(x, *(f"branch7x7dbl_{number}" for number in range(1, 6))),
            self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)),
        ]
        return weft.cat(branches, 1)


class InceptionD(_Block):
    """Halve the size: branches of 3 x 3, 7 x 7 in rows and columns before 3 x 3, and pooling."""

    def __init__(self, in_channels: int, conv_block: Maker | None = None) -> None:
        super().__init__()
        self._add(conv_block, "branch3x3_1", in_channels, 192, 1)
        self._add(conv_block, "branch3x3_2", 192, 320, 3, stride=2)
        self._add(conv_block, "branch7x7x3_1", in_channels, 192, 1)
        self._add(conv_block, "branch7x7x3_2", 192, 192, (1, 7))
        self._add(conv_block, "branch7x7x3_3", 192, 192, (7, 1))
        self._add(conv_block, "branch7x7x3_4", 192, 192, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        """Return the joined channels."""
        branches = [
            self._run(x, "branch3x3_1", "branch3x3_2"),
            self._run(x, *(f"branch7x7x3_{number}" for number in range(1, 5))),
            F.max_pool2d(x, kernel_size=3, stride=2),
        ]
        return weft.cat(branches, 1)


class InceptionE(_Block):
    """Branches of 1 x 1, 3 x 3 and twice 3 x 3 that end in a row beside a column, and pooling."""

    def __init__(self, in_channels: int, conv_block: Maker | None = None) -> None:
        super().__init__()
        self._add(conv_block, "branch1x1", in_channels, 320, 1)
        self._add(conv_block, "branch3x3_1", in_channels, 384, 1)
        self._add(conv_block, "branch3x3_2a", 384, 384, (1, 3))
        self._add(conv_block, "branch3x3_2b", 384, 384, (3, 1))
        self._add(conv_block, "branch3x3dbl_1", in_channels, 448, 1)
        self._add(conv_block, "branch3x3dbl_2", 448, 384, 3)
        self._add(conv_block, "branch3x3dbl_3a", 384, 384, (1, 3))
        self._add(conv_block, "branch3x3dbl_3b", 384, 384, (3, 1))
        self._add(conv_block, "branch_pool", in_channels, 192, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the joined channels."""
        pointwise = self.branch1x1(x)
        single = self.branch3x3_1(x)
        single = weft.cat([self.branch3x3_2a(single), self.branch3x3_2b(single)], 1)
        double = self._run(x, "branch3x3dbl_1", "branch3x3dbl_2")
        double = weft.cat([self.branch3x3dbl_3a(double), self.branch3x3dbl_3b(double)], 1)
        pooled = self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1))
        return weft.cat([pointwise, single, double, pooled], 1)


class InceptionAux(_Block):
    """A classifier in the middle of the network, for training."""

    def __init__(self, in_channels: int, num_classes: int, conv_block: Maker | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.conv0 = conv(in_channels, 128, kernel_size=1)
        self.conv1 = conv(128, 768, kernel_size=5)
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        x = self.conv1(self.conv0(F.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(weft.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


class Inception3(nn.Module):
    """Eleven blocks of branches, for pictures (N, 3, 299, 299).

    Parameters
    ----------
    num_classes : int
    aux_logits : bool
        Add a classifier in the middle, whose logits are returned in training.
    transform_input : bool
        Take pictures that are normalized with ImageNet's means and deviations, and not to -1 to 1.
    inception_blocks : list of seven callable, optional
        In place of `BasicConv2d`, `InceptionA` to `InceptionE` and `InceptionAux`.
    init_weights : bool, default True
    dropout : float
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        inception_blocks: list[Maker] | None = None,
        init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if inception_blocks is not None and len(inception_blocks) != 7:
            raise ValueError(f"length of inception_blocks should be 7 instead of {len(inception_blocks)}")
        conv, a, b, c, d, e, aux = inception_blocks or [
            *(BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux)
        ]
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Mixed_5b = a(192, pool_features=32)
        self.Mixed_5c = a(256, pool_features=64)
        self.Mixed_5d = a(288, pool_features=64)
        self.Mixed_6a = b(288)
        self.Mixed_6b = c(768, channels_7x7=128)
        self.Mixed_6c = c(768, channels_7x7=160)
        self.Mixed_6d = c(768, channels_7x7=160)
        self.Mixed_6e = c(768, channels_7x7=192)
        self.AuxLogits = aux(768, num_classes) if aux_logits else None
        self.Mixed_7a = d(768)
        self.Mixed_7b = e(1280)
        self.Mixed_7c = e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights is None or init_weights:
            wide = partial(truncated_normal, std=0.1)
            initialize(self, wide, wide, zero_bias=False)

    def forward(self, x: Tensor) -> Any:
        """Return the logits (N, num_classes), in training `InceptionOutputs` with those of the aux classifier."""
        x = normalize_again(x) if self.transform_input else x
        x = self.maxpool1(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))))
        x = self.maxpool2(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x)))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))))
        aux = self.AuxLogits(x) if self.AuxLogits is not None and self.training else None
        x = self.avgpool(self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x))))
        logits = self.fc(weft.flatten(self.dropout(x), 1))
        return InceptionOutputs(logits, aux) if self.training and self.aux_logits else logits


@register_model()
@handle_legacy_interface(weights=("pretrained", Inception_V3_Weights.IMAGENET1K_V1))
def inception_v3(*, weights: Inception_V3_Weights | None = None, progress: bool = True, **kwargs: Any) -> Inception3:
    """Build the model ``inception_v3``.

    Parameters
    ----------
    weights : Inception_V3_Weights or str, optional
        Published weights; by default they are random.
    progress : bool
        Whether to show a bar while they are fetched.
    **kwargs
        For `Inception3`; with weights ``transform_input`` is by default True.
    """
    weights = Inception_V3_Weights.verify(weights)
    keep_aux = weights is None or kwargs.pop("aux_logits", True)
    adapt_inception(kwargs, weights)
    model = load_weights(Inception3(**kwargs), weights, progress)
    if not keep_aux:
        model.aux_logits, model.AuxLogits = False, None
    return model
