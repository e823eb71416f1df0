"""S3D (arXiv:1712.04851): Inception whose convolutions are split into space and time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import weft
from weft import Tensor, nn
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import builder
from weft.vision.ops.misc import Conv3dNormActivation

__all__ = ["S3D", "S3D_Weights", "s3d"]

# in_planes, b0_out, b1_mid, b1_out, b2_mid, b2_out, b3_out of each block, between the poolings
BLOCKS = (
    ((192, 64, 96, 128, 16, 32, 32), (256, 128, 128, 192, 32, 96, 64)),
    (
        (480, 192, 96, 208, 16, 48, 64),
        (512, 160, 112, 224, 24, 64, 64),
        (512, 128, 128, 256, 24, 64, 64),
        (512, 112, 144, 288, 32, 64, 64),
        (528, 256, 160, 320, 32, 128, 128),
    ),
    ((832, 256, 160, 320, 32, 128, 128), (832, 384, 192, 384, 48, 128, 128)),
)


class S3D_Weights(WeightsEnum):
    KINETICS400_V1 = pretrained("s3d-d76dad2f.pth")
    DEFAULT = KINETICS400_V1


class TemporalSeparableConv(nn.Sequential):
    """A convolution within each frame, and one along time, each normalized and activated."""

    def __init__(
        self,
        in_planes: int,
        out_planes: int,
        kernel_size: int,
        stride: int,
        padding: int,
        norm_layer: Callable[..., nn.Module],
    ) -> None:
        space = (1, kernel_size, kernel_size), (1, stride, stride), (0, padding, padding)
        time = (kernel_size, 1, 1), (stride, 1, 1), (padding, 0, 0)
        super().__init__(
            Conv3dNormActivation(in_planes, out_planes, *space, bias=False, norm_layer=norm_layer),
            Conv3dNormActivation(out_planes, out_planes, *time, bias=False, norm_layer=norm_layer),
        )


class SepInceptionBlock3D(nn.Module):
    """Four branches, joined along the channels."""

    def __init__(
        self,
        in_planes: int,
        b0_out: int,
        b1_mid: int,
        b1_out: int,
        b2_mid: int,
        b2_out: int,
        b3_out: int,
        norm_layer: Callable[..., nn.Module],
    ) -> None:
        super().__init__()

        def pointwise(planes: int) -> nn.Module:
            return Conv3dNormActivation(in_planes, planes, 1, 1, norm_layer=norm_layer)

        def separable(mid: int, out: int) -> nn.Module:
            return nn.Sequential(pointwise(mid), TemporalSeparableConv(mid, out, 3, 1, 1, norm_layer))

        self.branch0 = pointwise(b0_out)
        self.branch1 = separable(b1_mid, b1_out)
        self.branch2 = separable(b2_mid, b2_out)
        self.branch3 = nn.Sequential(nn.MaxPool3d((3, 3, 3), stride=1, padding=1), pointwise(b3_out))

    def forward(self, x: Tensor) -> Tensor:
        """Return what the branches find."""
        return weft.cat([self.branch0(x), self.branch1(x), self.branch2(x), self.branch3(x)], 1)


class S3D(nn.Module):
    """S3D for clips (N, 3, T, H, W), of 14 frames and 224 pixels at least.

    Parameters
    ----------
    num_classes : int
    dropout : float
    norm_layer : callable, optional
        By default `BatchNorm3d` with eps and momentum of 0.001.
    """

    def __init__(
        self, num_classes: int = 400, dropout: float = 0.2, norm_layer: Callable[..., nn.Module] | None = None
    ) -> None:
        super().__init__()
        norm = norm_layer or partial(nn.BatchNorm3d, eps=0.001, momentum=0.001)
        blocks = ([SepInceptionBlock3D(*sizes, norm) for sizes in group] for group in BLOCKS)
        self.features = nn.Sequential(
            TemporalSeparableConv(3, 64, 7, 2, 3, norm),
            nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1)),
            Conv3dNormActivation(64, 64, 1, 1, norm_layer=norm),
            TemporalSeparableConv(64, 192, 3, 1, 1, norm),
            nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1)),
            *next(blocks),
            nn.MaxPool3d((3, 3, 3), (2, 2, 2), (1, 1, 1)),
            *next(blocks),
            nn.MaxPool3d((2, 2, 2), (2, 2, 2), (0, 0, 0)),
            *next(blocks),
        )
        self.avgpool = nn.AvgPool3d((2, 7, 7), stride=1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Conv3d(1024, num_classes, 1, 1, bias=True))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (N, num_classes)."""
        return self.classifier(self.avgpool(self.features(x))).mean(dim=(2, 3, 4))


s3d = builder("s3d", S3D_Weights, S3D, former="KINETICS400_V1")
