"""Feature pyramids: feature maps of several depths with one number of channels (arXiv:1612.03144)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from weft import Tensor, nn
from weft.nn import functional as F
from weft.vision.ops.misc import Conv2dNormActivation

__all__ = ["FeaturePyramidNetwork"]

Maps = list[Tensor]


class ExtraFPNBlock(nn.Module):
    """What adds levels to a pyramid: a base class."""

    def forward(self, results: Maps, x: Maps, names: list[str]) -> tuple[Maps, list[str]]:
        """Return the pyramid's maps and names with more of both, from them and the maps that it was made of."""
        raise NotImplementedError(f"{type(self).__name__}.forward: define how levels are added to the pyramid")


class FeaturePyramidNetwork(nn.Module):
    """Project feature maps to one width, and add to each what is seen in the deeper ones.

    Parameters
    ----------
    in_channels_list : list of int
        The channels of the maps, from the highest resolution to the lowest.
    out_channels : int
    extra_blocks : ExtraFPNBlock, optional
        What adds levels.
    norm_layer : callable, optional
        The normalization after each convolution.

    Raises
    ------
    ValueError
        If a map has no channels.
    TypeError
        If ``extra_blocks`` is something else.

    Examples
    --------
    >>> pyramid = FeaturePyramidNetwork([8, 16], 4)
    >>> maps = {"fine": weft.ones(1, 8, 6, 6), "coarse": weft.ones(1, 16, 3, 3)}
    >>> {name: tuple(each.shape) for name, each in pyramid(maps).items()}
    {'fine': (1, 4, 6, 6), 'coarse': (1, 4, 3, 3)}
    """

    _version = 2

    def __init__(
        self,
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        if 0 in in_channels_list:
            raise ValueError("in_channels=0 is currently not supported")
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(f"extra_blocks should be of type ExtraFPNBlock not {type(extra_blocks)}")
        options: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": None}
        self.inner_blocks, self.layer_blocks = nn.ModuleList(), nn.ModuleList()
        for channels in in_channels_list:
            self.inner_blocks.append(Conv2dNormActivation(channels, out_channels, 1, padding=0, **options))
            self.layer_blocks.append(Conv2dNormActivation(out_channels, out_channels, 3, **options))
        initialize(self.modules())
        self.extra_blocks = extra_blocks

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *args: Any
    ) -> None:
        """In version 1 a block was a convolution alone."""
        if (local_metadata.get("version") or 1) < 2:
            for block in ("inner_blocks", "layer_blocks"):
                for index in range(len(self.inner_blocks)):
                    for name in ("weight", "bias"):
                        old = f"{prefix}{block}.{index}.{name}"
                        if old in state_dict:
                            state_dict[f"{prefix}{block}.{index}.0.{name}"] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def forward(self, x: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return maps of the names and sizes of ``x``, which are given from the highest resolution to the lowest."""
        maps = list(x.values())
        inner = self.inner_blocks[-1](maps[-1])
        results = [self.layer_blocks[-1](inner)]
        for index in reversed(range(len(maps) - 1)):
            lateral = self.inner_blocks[index](maps[index])
            inner = lateral + F.interpolate(inner, size=lateral.shape[-2:], mode="nearest")
            results.insert(0, self.layer_blocks[index](inner))
        names = list(x)
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, maps, names)
        return OrderedDict(zip(names, results))


def initialize(modules: Any) -> None:
    """The first values of convolutions: uniform, for a linear layer that follows; biases 0."""
    for module in modules:
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_uniform_(module.weight, a=1)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


class LastLevelMaxPool(ExtraFPNBlock):
    """One level more: every other pixel of the lowest one."""

    def forward(self, results: Maps, x: Maps, names: list[str]) -> tuple[Maps, list[str]]:
        """Return the maps with one more, named ``pool``."""
        return [*results, F.max_pool2d(results[-1], kernel_size=1, stride=2)], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Two levels more, by convolutions of stride 2 (arXiv:1708.02002)."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        initialize((self.p6, self.p7))
        self.use_P5 = in_channels == out_channels

    def forward(self, results: Maps, x: Maps, names: list[str]) -> tuple[Maps, list[str]]:
        """Return the maps with two more, named ``p6`` and ``p7``, of the last of either list."""
        p6 = self.p6(results[-1] if self.use_P5 else x[-1])
        return [*results, p6, self.p7(F.relu(p6))], [*names, "p6", "p7"]
