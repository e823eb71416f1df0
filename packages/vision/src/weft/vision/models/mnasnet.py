"""MNASNet: a small network that was found by a search for speed on telephones (arXiv:1807.11626)."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from weft import Tensor, nn
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import builder, initialize

__all__ = [
    "MNASNet",
    "MNASNet0_5_Weights",
    "MNASNet0_75_Weights",
    "MNASNet1_0_Weights",
    "MNASNet1_3_Weights",
    "mnasnet0_5",
    "mnasnet0_75",
    "mnasnet1_0",
    "mnasnet1_3",
]

_Norm = partial(nn.BatchNorm2d, momentum=1 - 0.9997)

# For each stage: kernel size, stride of the first block, expansion, blocks (figure 7 of the paper).
STAGES = [(3, 2, 3, 3), (5, 2, 3, 3), (5, 2, 6, 3), (3, 1, 6, 2), (5, 2, 6, 4), (3, 1, 6, 1)]


class MNASNet0_5_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("mnasnet0.5_top1_67.823-3ffadce67e.pth")
    DEFAULT = IMAGENET1K_V1


class MNASNet0_75_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("mnasnet0_75-7090bc5f.pth")
    DEFAULT = IMAGENET1K_V1


class MNASNet1_0_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("mnasnet1.0_top1_73.512-f206786ef8.pth")
    DEFAULT = IMAGENET1K_V1


class MNASNet1_3_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("mnasnet1_3-a4c69d6f.pth")
    DEFAULT = IMAGENET1K_V1


class _InvertedResidual(nn.Module):
    """1 x 1 to many channels, a convolution on each alone, 1 x 1 to few; with a shortcut where the shape stays."""

    def __init__(
        self,
        in_ch: int,
        out_ch: int,
        kernel_size: int,
        stride: int,
        expansion_factor: int,
        bn_momentum: float = 0.1,
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        if kernel_size not in (3, 5):
            raise ValueError(f"kernel_size should be 3 or 5 instead of {kernel_size}")
        width = in_ch * expansion_factor
        norm = partial(nn.BatchNorm2d, momentum=bn_momentum)
        self.apply_residual = in_ch == out_ch and stride == 1
        self.layers = nn.Sequential(
            *(nn.Conv2d(in_ch, width, 1, bias=False), norm(width), nn.ReLU(inplace=True)),
            nn.Conv2d(width, width, kernel_size, stride, kernel_size // 2, groups=width, bias=False),
            *(norm(width), nn.ReLU(inplace=True)),
            *(nn.Conv2d(width, out_ch, 1, bias=False), norm(out_ch)),
        )

    def forward(self, input: Tensor) -> Tensor:
        """Return what follows the block."""
        return self.layers(input) + input if self.apply_residual else self.layers(input)


def _stack(in_ch: int, out_ch: int, kernel_size: int, stride: int, exp_factor: int, repeats: int) -> nn.Sequential:
    """Blocks of which the first has the stride."""
    momentum = _Norm.keywords["momentum"]
    first = _InvertedResidual(in_ch, out_ch, kernel_size, stride, exp_factor, momentum)
    others = (_InvertedResidual(out_ch, out_ch, kernel_size, 1, exp_factor, momentum) for _ in range(1, repeats))
    return nn.Sequential(first, *others)


def _stem(widths: list[int]) -> list[nn.Module]:
    """The first eight layers: a convolution, and one on each channel alone with one of 1 x 1."""
    first, second = widths[:2]
    return [
        *(nn.Conv2d(3, first, 3, padding=1, stride=2, bias=False), _Norm(first), nn.ReLU(inplace=True)),
        *(nn.Conv2d(first, first, 3, padding=1, groups=first, bias=False), _Norm(first), nn.ReLU(inplace=True)),
        *(nn.Conv2d(first, second, 1, bias=False), _Norm(second)),
    ]


def _round_to_multiple_of(val: float, divisor: int, round_up_bias: float = 0.9) -> int:
    """The multiple of ``divisor`` next to ``val``, and at least ``round_up_bias`` of it."""
    if not 0.0 < round_up_bias < 1.0:
        raise ValueError(f"round_up_bias should be greater than 0.0 and smaller than 1.0 instead of {round_up_bias}")
    near = max(divisor, int(val + divisor / 2) // divisor * divisor)
    return near if near >= round_up_bias * val else near + divisor


def _get_depths(alpha: float) -> list[int]:
    """The channels of the stem and of each stage."""
    return [_round_to_multiple_of(width * alpha, 8) for width in (32, 16, 24, 40, 80, 96, 192, 320)]


class MNASNet(nn.Module):
    """A small network for pictures (N, 3, H, W).

    Parameters
    ----------
    alpha : float
        Scales the channels of each layer.
    num_classes : int
    dropout : float
    """

    _version = 2  # the first did not scale the stem

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha = alpha
        self.num_classes = num_classes
        widths = _get_depths(alpha)
        stages = [_stack(width, wider, *stage) for width, wider, stage in zip(widths[1:], widths[2:], STAGES)]
        last = [nn.Conv2d(widths[-1], 1280, 1, bias=False), _Norm(1280), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*_stem(widths), *stages, *last)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(1280, num_classes))
        initialize(
            self,
            lambda conv: nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu"),
            lambda linear: nn.init.kaiming_uniform_(linear.weight, mode="fan_out", nonlinearity="sigmoid"),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        return self.classifier(self.layers(x).mean([2, 3]))

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *args: Any
    ) -> None:
        version = local_metadata.get("version", self._version)  # safetensors files and plain dictionaries have none
        if version not in (1, 2):
            raise ValueError(f"version should be set to 1 or 2 instead of {version}")
        if version == 1 and self.alpha != 1.0:
            stem = [*_stem([32, 16]), _stack(16, _get_depths(self.alpha)[2], *STAGES[0])]
            for index, layer in enumerate(stem):
                self.layers[index] = layer
            self._version = 1
            warnings.warn(
                "The state is of the first version of MNASNet, which did not scale its stem: the model has been "
                "changed to fit it",
                UserWarning,
                stacklevel=2,
            )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


mnasnet0_5 = builder("mnasnet0_5", MNASNet0_5_Weights, MNASNet, 0.5)
mnasnet0_75 = builder("mnasnet0_75", MNASNet0_75_Weights, MNASNet, 0.75)
mnasnet1_0 = builder("mnasnet1_0", MNASNet1_0_Weights, MNASNet, 1.0)
mnasnet1_3 = builder("mnasnet1_3", MNASNet1_3_Weights, MNASNet, 1.3)
