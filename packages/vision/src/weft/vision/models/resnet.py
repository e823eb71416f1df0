"""Residual networks: ResNet, ResNeXt and wide ResNet (arXiv:1512.03385, 1611.05431, 1605.07146)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
from weft import Tensor, nn
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import builder, initialize

__all__ = [
    "ResNet",
    "ResNet18_Weights",
    "ResNet34_Weights",
    "ResNet50_Weights",
    "ResNet101_Weights",
    "ResNet152_Weights",
    "ResNeXt50_32X4D_Weights",
    "ResNeXt101_32X8D_Weights",
    "ResNeXt101_64X4D_Weights",
    "Wide_ResNet50_2_Weights",
    "Wide_ResNet101_2_Weights",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "wide_resnet50_2",
    "wide_resnet101_2",
]


class ResNeXt50_32X4D_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("resnext50_32x4d-7cdf4587.pth")
    IMAGENET1K_V2 = pretrained("resnext50_32x4d-1a0047aa.pth")
    DEFAULT = IMAGENET1K_V2


class ResNeXt101_32X8D_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("resnext101_32x8d-8ba56ff5.pth")
    IMAGENET1K_V2 = pretrained("resnext101_32x8d-110c445d.pth")
    DEFAULT = IMAGENET1K_V2


class ResNeXt101_64X4D_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("resnext101_64x4d-173b62eb.pth")
    DEFAULT = IMAGENET1K_V1


class ResNet18_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("resnet18-f37072fd.pth")
    DEFAULT = IMAGENET1K_V1


class ResNet34_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("resnet34-b627a593.pth")
    DEFAULT = IMAGENET1K_V1


class ResNet50_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("resnet50-0676ba61.pth")
    IMAGENET1K_V2 = pretrained("resnet50-11ad3fa6.pth")
    DEFAULT = IMAGENET1K_V2


class ResNet101_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("resnet101-63fe2227.pth")
    IMAGENET1K_V2 = pretrained("resnet101-cd907fc2.pth")
    DEFAULT = IMAGENET1K_V2


class ResNet152_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("resnet152-394f9c45.pth")
    IMAGENET1K_V2 = pretrained("resnet152-f82ba261.pth")
    DEFAULT = IMAGENET1K_V2


class Wide_ResNet50_2_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("wide_resnet50_2-95faca4d.pth")
    IMAGENET1K_V2 = pretrained("wide_resnet50_2-9ba9bcbe.pth")
    DEFAULT = IMAGENET1K_V2


class Wide_ResNet101_2_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("wide_resnet101_2-32ee1156.pth")
    IMAGENET1K_V2 = pretrained("wide_resnet101_2-d733dc28.pth")
    DEFAULT = IMAGENET1K_V2


def conv3x3(in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    """Make a convolution of 3 x 3 that keeps the size (at stride 1), without bias."""
    return nn.Conv2d(in_planes, out_planes, 3, stride, padding=dilation, groups=groups, bias=False, dilation=dilation)


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    """Make a convolution of 1 x 1 without bias."""
    return nn.Conv2d(in_planes, out_planes, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two convolutions of 3 x 3 and a shortcut."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        norm = norm_layer or nn.BatchNorm2d
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """Return what follows the block."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """A convolution of 3 x 3 between two of 1 x 1, and a shortcut; the stride is in the middle."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """Return what follows the block."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """A residual network for pictures (N, 3, H, W).

    Parameters
    ----------
    block : BasicBlock or Bottleneck, the class
    layers : list of int
        How many blocks each of the four stages has.
    num_classes : int
    zero_init_residual : bool
        Begin with blocks that are the identity: the scale of each one's last normalization is 0.
    groups, width_per_group : int
        Of the middle convolution of a `Bottleneck`: ResNeXt and wide networks.
    replace_stride_with_dilation : list of three bool, optional
        In which of the last three stages dilation takes the place of stride.
    norm_layer : callable, default BatchNorm2d
    """

    def __init__(
        self,
        block: Any,
        layers: list[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: list[bool] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        dilate = [False, False, False] if replace_stride_with_dilation is None else replace_stride_with_dilation
        if len(dilate) != 3:
            raise ValueError(f"replace_stride_with_dilation should be None or a 3-element tuple, got {dilate}")
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation, self.groups, self.base_width = 64, 1, groups, width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], stride=2, dilate=dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], stride=2, dilate=dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], stride=2, dilate=dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._initialize(zero_init_residual)

    def _initialize(self, zero_init_residual: bool) -> None:
        initialize(self, lambda conv: nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu"))
        if zero_init_residual:
            for module in self.modules():
                last = getattr(module, {Bottleneck: "bn3", BasicBlock: "bn2"}.get(type(module), ""), None)
                if last is not None and last.weight is not None:
                    nn.init.constant_(last.weight, 0)

    def _make_layer(self, block: Any, planes: int, blocks: int, stride: int = 1, dilate: bool = False) -> nn.Sequential:
        downsample = None
        before = self.dilation
        if dilate:
            self.dilation, stride = self.dilation * stride, 1
        if stride != 1 or self.inplanes != planes * block.expansion:
            shortcut = conv1x1(self.inplanes, planes * block.expansion, stride)
            downsample = nn.Sequential(shortcut, self._norm_layer(planes * block.expansion))
        common = {"groups": self.groups, "base_width": self.base_width, "norm_layer": self._norm_layer}
        layers = [block(self.inplanes, planes, stride, downsample, dilation=before, **common)]
        self.inplanes = planes * block.expansion
        layers += [block(self.inplanes, planes, dilation=self.dilation, **common) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(weft.flatten(self.avgpool(x), 1))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        return self._forward_impl(x)


resnet18 = builder("resnet18", ResNet18_Weights, ResNet, BasicBlock, [2, 2, 2, 2])
resnet34 = builder("resnet34", ResNet34_Weights, ResNet, BasicBlock, [3, 4, 6, 3])
resnet50 = builder("resnet50", ResNet50_Weights, ResNet, Bottleneck, [3, 4, 6, 3])
resnet101 = builder("resnet101", ResNet101_Weights, ResNet, Bottleneck, [3, 4, 23, 3])
resnet152 = builder("resnet152", ResNet152_Weights, ResNet, Bottleneck, [3, 8, 36, 3])
resnext50_32x4d = builder(
    "resnext50_32x4d", ResNeXt50_32X4D_Weights, ResNet, Bottleneck, [3, 4, 6, 3], groups=32, width_per_group=4
)
resnext101_32x8d = builder(
    "resnext101_32x8d", ResNeXt101_32X8D_Weights, ResNet, Bottleneck, [3, 4, 23, 3], groups=32, width_per_group=8
)
resnext101_64x4d = builder(
    "resnext101_64x4d", ResNeXt101_64X4D_Weights, ResNet, Bottleneck, [3, 4, 23, 3], groups=64, width_per_group=4
)
wide_resnet50_2 = builder(
    "wide_resnet50_2", Wide_ResNet50_2_Weights, ResNet, Bottleneck, [3, 4, 6, 3], width_per_group=128
)
wide_resnet101_2 = builder(
    "wide_resnet101_2", Wide_ResNet101_2_Weights, ResNet, Bottleneck, [3, 4, 23, 3], width_per_group=128
)
