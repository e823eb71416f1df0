"""Residual networks for video (arXiv:1711.11248): 3-D, mixed, and split into space and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft import Tensor, nn
from weft.nn import init
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import builder

__all__ = [
    "VideoResNet",
    "R3D_18_Weights",
    "MC3_18_Weights",
    "R2Plus1D_18_Weights",
    "r3d_18",
    "mc3_18",
    "r2plus1d_18",
]


class R3D_18_Weights(WeightsEnum):
    KINETICS400_V1 = pretrained("r3d_18-b3b3357e.pth")
    DEFAULT = KINETICS400_V1


class MC3_18_Weights(WeightsEnum):
    KINETICS400_V1 = pretrained("mc3_18-a90a0ba3.pth")
    DEFAULT = KINETICS400_V1


class R2Plus1D_18_Weights(WeightsEnum):
    KINETICS400_V1 = pretrained("r2plus1d_18-91a641e6.pth")
    DEFAULT = KINETICS400_V1


def spatial(in_planes: int, out_planes: int, size: int = 3, stride: int = 1, padding: int = 1) -> nn.Conv3d:
    """A convolution within each frame."""
    return nn.Conv3d(in_planes, out_planes, (1, size, size), (1, stride, stride), (0, padding, padding), bias=False)


def temporal(in_planes: int, out_planes: int, stride: int = 1, padding: int = 1) -> nn.Conv3d:
    """A convolution of three frames, pixel by pixel."""
    return nn.Conv3d(in_planes, out_planes, (3, 1, 1), (stride, 1, 1), (padding, 0, 0), bias=False)


class Conv3DSimple(nn.Conv3d):
    """A convolution of 3 x 3 x 3; ``midplanes`` is not used."""

    def __init__(
        self, in_planes: int, out_planes: int, midplanes: int | None = None, stride: int = 1, padding: int = 1
    ) -> None:
        super().__init__(in_planes, out_planes, (3, 3, 3), stride, padding, bias=False)

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """The stride of the shortcut."""
        return stride, stride, stride


class Conv2Plus1D(nn.Sequential):
    """A convolution within each frame to ``midplanes``, and one along time."""

    def __init__(self, in_planes: int, out_planes: int, midplanes: int, stride: int = 1, padding: int = 1) -> None:
        super().__init__(
            spatial(in_planes, midplanes, 3, stride, padding),
            nn.BatchNorm3d(midplanes),
            nn.ReLU(inplace=True),
            temporal(midplanes, out_planes, stride, padding),
        )

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """The stride of the shortcut."""
        return stride, stride, stride


class Conv3DNoTemporal(nn.Conv3d):
    """A convolution of 3 x 3 within each frame; ``midplanes`` is not used."""

    def __init__(
        self, in_planes: int, out_planes: int, midplanes: int | None = None, stride: int = 1, padding: int = 1
    ) -> None:
        sizes = (1, 3, 3), (1, stride, stride), (0, padding, padding)
        super().__init__(in_planes, out_planes, *sizes, bias=False)

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """The stride of the shortcut."""
        return 1, stride, stride


def middle(inplanes: int, planes: int) -> int:
    """The channels with which a split convolution has as many weights as one of 3 x 3 x 3."""
    return (inplanes * planes * 27) // (inplanes * 9 + 3 * planes)


class Residual(nn.Module):
    """What the blocks share: convolutions ``conv1``, ``conv2``, ... and a shortcut."""

    expansion = 1

    def __init__(self, convs: Sequence[nn.Sequential], stride: int, downsample: nn.Module | None) -> None:
        super().__init__()
        for number, conv in enumerate(convs, start=1):
            self.add_module(f"conv{number}", conv)
        self.depth = len(convs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """Return what follows the block."""
        out = x
        for number in range(1, self.depth + 1):
            out = getattr(self, f"conv{number}")(out)
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class BasicBlock(Residual):
    """Two convolutions that ``conv_builder`` makes, and a shortcut."""

    def __init__(
        self,
        inplanes: int,
        planes: int,
        conv_builder: Callable[..., nn.Module],
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        inner = middle(inplanes, planes)
        first = conv_builder(inplanes, planes, inner, stride), nn.BatchNorm3d(planes), nn.ReLU(inplace=True)
        second = conv_builder(planes, planes, inner), nn.BatchNorm3d(planes)
        super().__init__([nn.Sequential(*first), nn.Sequential(*second)], stride, downsample)


class Bottleneck(Residual):
    """A convolution that ``conv_builder`` makes between two of 1 x 1 x 1, and a shortcut."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        conv_builder: Callable[..., nn.Module],
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        wide = planes * self.expansion
        narrow = nn.Conv3d(inplanes, planes, 1, bias=False), nn.BatchNorm3d(planes), nn.ReLU(inplace=True)
        inner = conv_builder(planes, planes, middle(inplanes, planes), stride)
        convs = [
            nn.Sequential(*narrow),
            nn.Sequential(inner, nn.BatchNorm3d(planes), nn.ReLU(inplace=True)),
            nn.Sequential(nn.Conv3d(planes, wide, 1, bias=False), nn.BatchNorm3d(wide)),
        ]
        super().__init__(convs, stride, downsample)


class BasicStem(nn.Sequential):
    """The first layers of R3D and MC3."""

    def __init__(self) -> None:
        conv = nn.Conv3d(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False)
        super().__init__(conv, nn.BatchNorm3d(64), nn.ReLU(inplace=True))


class R2Plus1dStem(nn.Sequential):
    """The first layers of R(2+1)D: space, then time."""

    def __init__(self) -> None:
        super().__init__(
            spatial(3, 45, 7, 2, 3),
            nn.BatchNorm3d(45),
            nn.ReLU(inplace=True),
            temporal(45, 64),
            nn.BatchNorm3d(64),
            nn.ReLU(inplace=True),
        )


class VideoResNet(nn.Module):
    """A residual network for clips (N, 3, T, H, W).

    Parameters
    ----------
    block : BasicBlock or Bottleneck, the class
    conv_makers : sequence of four callables
        What makes the convolutions of each stage.
    layers : list of int
        How many blocks each of the four stages has.
    stem : callable
        Makes the first layers, with 64 channels.
    num_classes : int
    zero_init_residual : bool
        Begin with blocks that are the identity, if they are `Bottleneck`.
    """

    def __init__(
        self,
        block: Any,
        conv_makers: Sequence[Any],
        layers: list[int],
        stem: Callable[..., nn.Module],
        num_classes: int = 400,
        zero_init_residual: bool = False,
    ) -> None:
        super().__init__()
        self.inplanes = 64
        self.stem = stem()
        for stage, (conv_maker, blocks) in enumerate(zip(conv_makers, layers)):
            stride = 1 if stage == 0 else 2
            self.add_module(f"layer{stage + 1}", self._make_layer(block, conv_maker, 64 << stage, blocks, stride))
        self.avgpool = nn.AdaptiveAvgPool3d((1, 1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._init_weights(zero_init_residual)

    def _make_layer(self, block: Any, conv_maker: Any, planes: int, blocks: int, stride: int) -> nn.Sequential:
        wide, downsample = planes * block.expansion, None
        if stride != 1 or self.inplanes != wide:
            strides = conv_maker.get_downsample_stride(stride)
            downsample = nn.Sequential(nn.Conv3d(self.inplanes, wide, 1, strides, bias=False), nn.BatchNorm3d(wide))
        first = block(self.inplanes, planes, conv_maker, stride, downsample)
        self.inplanes = wide
        return nn.Sequential(first, *(block(wide, planes, conv_maker) for _ in range(1, blocks)))

    def _init_weights(self, zero_init_residual: bool) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv3d):
                init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                if module.bias is not None:
                    init.zeros_(module.bias)
            elif isinstance(module, nn.BatchNorm3d):
                init.ones_(module.weight)
                init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                init.normal_(module.weight, 0, 0.01)
                if module.bias is not None:
                    init.zeros_(module.bias)
        for module in self.modules():
            if zero_init_residual and isinstance(module, Bottleneck):
                init.zeros_(module.conv3[1].weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (N, num_classes)."""
        x = self.stem(x)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


LAYERS = [2, 2, 2, 2]
MIXED = [Conv3DSimple, Conv3DNoTemporal, Conv3DNoTemporal, Conv3DNoTemporal]
r3d_18 = builder(
    "r3d_18", R3D_18_Weights, VideoResNet, BasicBlock, [Conv3DSimple] * 4, LAYERS, BasicStem, former="KINETICS400_V1"
)
mc3_18 = builder("mc3_18", MC3_18_Weights, VideoResNet, BasicBlock, MIXED, LAYERS, BasicStem, former="KINETICS400_V1")
r2plus1d_18 = builder(
    "r2plus1d_18",
    R2Plus1D_18_Weights,
    VideoResNet,
    BasicBlock,
    [Conv2Plus1D] * 4,
    LAYERS,
    R2Plus1dStem,
    former="KINETICS400_V1",
)
