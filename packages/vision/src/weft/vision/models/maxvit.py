"""MaxViT: convolutions, attention within windows, and attention over a grid (arXiv:2204.01697)."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import _ovewrite_named_param, builder, check, initialize
from weft.vision.models.swin_transformer import relative_position_index
from weft.vision.ops.misc import Conv2dNormActivation, SqueezeExcitation
from weft.vision.ops.stochastic_depth import StochasticDepth

__all__ = ["MaxVit", "MaxVit_T_Weights", "maxvit_t"]

Maker = Callable[..., nn.Module]


class MaxVit_T_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("maxvit_t-bc5ab103.pth")
    DEFAULT = IMAGENET1K_V1


def _get_conv_output_shape(input_size: tuple[int, int], kernel_size: int, stride: int, padding: int) -> tuple[int, int]:
    height, width = ((size - kernel_size + 2 * padding) // stride + 1 for size in input_size)
    return height, width


_halved = partial(_get_conv_output_shape, kernel_size=3, stride=2, padding=1)


def _make_block_input_shapes(input_size: tuple[int, int], n_blocks: int) -> list[tuple[int, int]]:
    """The size after each block; the stem halves it first."""
    shapes = [_halved(input_size)]
    for _ in range(n_blocks):
        shapes.append(_halved(shapes[-1]))
    return shapes[1:]


class MBConv(nn.Module):
    """1 x 1 to many channels, a convolution on each alone, gates, 1 x 1 to few; and a shortcut."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        expansion_ratio: float,
        squeeze_ratio: float,
        stride: int,
        activation_layer: Maker,
        norm_layer: Maker,
        p_stochastic_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.proj: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            pool = [nn.AvgPool2d(kernel_size=3, stride=stride, padding=1)] if stride == 2 else []
            self.proj = nn.Sequential(*pool, nn.Conv2d(in_channels, out_channels, kernel_size=1))
        width, squeezed = int(out_channels * expansion_ratio), int(out_channels * squeeze_ratio)
        self.stochastic_depth = (
            StochasticDepth(p_stochastic_dropout, mode="row") if p_stochastic_dropout else nn.Identity()
        )
        conv = partial(Conv2dNormActivation, activation_layer=activation_layer, norm_layer=norm_layer, inplace=None)
        self.layers = nn.Sequential(
            OrderedDict(
                pre_norm=norm_layer(in_channels),
                conv_a=conv(in_channels, width, kernel_size=1),
                conv_b=conv(width, width, kernel_size=3, stride=stride, groups=width),
                squeeze_excitation=SqueezeExcitation(width, squeezed, activation=nn.SiLU),
                conv_c=nn.Conv2d(width, out_channels, kernel_size=1),
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return what follows the block."""
        return self.proj(x) + self.stochastic_depth(self.layers(x))


class RelativePositionalMultiHeadAttention(nn.Module):
    """Attention within each group of (N, G, P, feat_dim), with a bias for each offset between places."""

    def __init__(self, feat_dim: int, head_dim: int, max_seq_len: int) -> None:
        super().__init__()
        if feat_dim % head_dim != 0:
            raise ValueError(f"feat_dim: {feat_dim} must be divisible by head_dim: {head_dim}")
        self.n_heads = feat_dim // head_dim
        self.head_dim = head_dim
        self.size = int(math.sqrt(max_seq_len))
        self.max_seq_len = max_seq_len
        self.to_qkv = nn.Linear(feat_dim, self.n_heads * self.head_dim * 3)
        self.scale_factor = feat_dim**-0.5
        self.merge = nn.Linear(self.head_dim * self.n_heads, feat_dim)
        self.relative_position_bias_table = nn.Parameter(weft.empty((2 * self.size - 1) ** 2, self.n_heads))
        index = relative_position_index([self.size, self.size]).view(max_seq_len, max_seq_len)
        self.register_buffer("relative_position_index", index)
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def get_relative_positional_bias(self) -> Tensor:
        """Return the bias between each two places, of shape (1, n_heads, P, P)."""
        bias = self.relative_position_bias_table[self.relative_position_index.view(-1)]
        return bias.view(self.max_seq_len, self.max_seq_len, -1).permute(2, 0, 1).contiguous().unsqueeze(0)

    def forward(self, x: Tensor) -> Tensor:
        """Return the states, of the shape of the input."""
        count, groups, places, width = x.shape
        heads = (count, groups, places, self.n_heads, self.head_dim)
        q, k, v = weft.chunk(self.to_qkv(x), 3, dim=-1)
        q, k, v = (each.reshape(heads).permute(0, 1, 3, 2, 4) for each in (q, k, v))
        logits = weft.einsum("ngiqd,ngikd->ngiqk", q, k * self.scale_factor)  # (N, G, heads, P, P)
        weights = F.softmax(logits + self.get_relative_positional_bias(), dim=-1)
        out = weft.einsum("ngiqk,ngikd->ngiqd", weights, v).permute(0, 1, 3, 2, 4)
        return self.merge(out.reshape(count, groups, places, width))


class SwapAxes(nn.Module):
    """Exchange two axes."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.a = a
        self.b = b

    def forward(self, x: Tensor) -> Tensor:
        """Return the view."""
        return weft.swapaxes(x, self.a, self.b)


class WindowPartition(nn.Module):
    """Split pictures into windows."""

    def forward(self, x: Tensor, p: int) -> Tensor:
        """Return the windows (N, G, p * p, C) of (N, C, H, W)."""
        count, channels, height, width = x.shape
        x = x.reshape(count, channels, height // p, p, width // p, p).permute(0, 2, 4, 3, 5, 1)
        return x.reshape(count, (height // p) * (width // p), p * p, channels)


class WindowDepartition(nn.Module):
    """Join windows into pictures."""

    def forward(self, x: Tensor, p: int, h_partitions: int, w_partitions: int) -> Tensor:
        """Return the pictures (N, C, H, W) of windows (N, G, p * p, C)."""
        count, _, _, channels = x.shape
        x = x.reshape(count, h_partitions, w_partitions, p, p, channels).permute(0, 5, 1, 3, 2, 4)
        return x.reshape(count, channels, h_partitions * p, w_partitions * p)


class PartitionAttentionLayer(nn.Module):
    """Attention within windows, or over a grid of places that are as far apart as a window is wide; then two layers."""

    def __init__(
        self,
        in_channels: int,
        head_dim: int,
        partition_size: int,
        partition_type: str,
        grid_size: tuple[int, int],
        mlp_ratio: int,
        activation_layer: Maker,
        norm_layer: Maker,
        attention_dropout: float,
        mlp_dropout: float,
        p_stochastic_dropout: float,
    ) -> None:
        super().__init__()
        if partition_type not in ("grid", "window"):
            raise ValueError(f"partition_type must be either 'grid' or 'window', got {partition_type!r}")
        self.n_heads = in_channels // head_dim
        self.head_dim = head_dim
        self.n_partitions = grid_size[0] // partition_size
        self.partition_type = partition_type
        self.grid_size = grid_size
        grid = partition_type == "grid"
        self.p, self.g = (self.n_partitions, partition_size) if grid else (partition_size, self.n_partitions)
        self.partition_op = WindowPartition()
        self.departition_op = WindowDepartition()
        self.partition_swap = SwapAxes(-2, -3) if grid else nn.Identity()
        self.departition_swap = SwapAxes(-2, -3) if grid else nn.Identity()
        self.attn_layer = nn.Sequential(
            norm_layer(in_channels),
            RelativePositionalMultiHeadAttention(in_channels, head_dim, partition_size**2),
            nn.Dropout(attention_dropout),
        )
        width = in_channels * mlp_ratio
        self.mlp_layer = nn.Sequential(
            *(nn.LayerNorm(in_channels), nn.Linear(in_channels, width), activation_layer()),
            *(nn.Linear(width, in_channels), nn.Dropout(mlp_dropout)),
        )
        self.stochastic_dropout = StochasticDepth(p_stochastic_dropout, mode="row")

    def forward(self, x: Tensor) -> Tensor:
        """Return the channels, of the shape of the input."""
        height, width = self.grid_size
        check(
            height % self.p == 0 and width % self.p == 0,
            f"Grid size must be divisible by partition size. Got grid size of {self.grid_size} and partition size of "
            f"{self.p}",
        )
        x = self.partition_swap(self.partition_op(x, self.p))
        x = x + self.stochastic_dropout(self.attn_layer(x))
        x = x + self.stochastic_dropout(self.mlp_layer(x))
        return self.departition_op(self.departition_swap(x), self.p, height // self.p, width // self.p)


class MaxVitLayer(nn.Module):
    """`MBConv`, attention within windows, and attention over a grid."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        stride: int,
        norm_layer: Maker,
        activation_layer: Maker,
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        p_stochastic_dropout: float,
        partition_size: int,
        grid_size: tuple[int, int],
    ) -> None:
        super().__init__()
        attention = partial(
            PartitionAttentionLayer,
            in_channels=out_channels,
            head_dim=head_dim,
            partition_size=partition_size,
            grid_size=grid_size,
            mlp_ratio=mlp_ratio,
            activation_layer=activation_layer,
            norm_layer=nn.LayerNorm,
            attention_dropout=attention_dropout,
            mlp_dropout=mlp_dropout,
            p_stochastic_dropout=p_stochastic_dropout,
        )
        conv = MBConv(
            *(in_channels, out_channels, expansion_ratio, squeeze_ratio, stride),
            *(activation_layer, norm_layer, p_stochastic_dropout),
        )
        self.layers = nn.Sequential(
            OrderedDict(
                MBconv=conv,
                window_attention=attention(partition_type="window"),
                grid_attention=attention(partition_type="grid"),
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return what follows the layer."""
        return self.layers(x)


class MaxVitBlock(nn.Module):
    """Layers of which the first halves the size."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        norm_layer: Maker,
        activation_layer: Maker,
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        partition_size: int,
        input_grid_size: tuple[int, int],
        n_layers: int,
        p_stochastic: list[float],
    ) -> None:
        super().__init__()
        if len(p_stochastic) != n_layers:
            raise ValueError(f"p_stochastic must have length n_layers={n_layers}, got p_stochastic={p_stochastic}.")
        self.layers = nn.ModuleList()
        self.grid_size = _halved(input_grid_size)
        for index, probability in enumerate(p_stochastic):
            first = index == 0
            sizes = (in_channels if first else out_channels, out_channels, squeeze_ratio, expansion_ratio)
            layers = (2 if first else 1, norm_layer, activation_layer, head_dim, mlp_ratio)
            options: Any = (*layers, mlp_dropout, attention_dropout, probability, partition_size, self.grid_size)
            self.layers.append(MaxVitLayer(*sizes, *options))

    def forward(self, x: Tensor) -> Tensor:
        """Return what follows the block."""
        for layer in self.layers:
            x = layer(x)
        return x


class MaxVit(nn.Module):
    """Blocks of convolutions and attention, for pictures (N, 3, *input_size).

    Parameters
    ----------
    input_size : tuple of two int
    stem_channels : int
    partition_size : int
        The width of a window, and of the grid.
    block_channels, block_layers : list of int
    head_dim : int
    stochastic_depth_prob : float
        The probability with which the last layer is left out; it grows from 0 at the first.
    norm_layer : callable, default BatchNorm2d
    activation_layer : callable
    squeeze_ratio, expansion_ratio : float
        Of `MBConv`.
    mlp_ratio : int
    mlp_dropout, attention_dropout : float
    num_classes : int

    Raises
    ------
    ValueError
        If the size after some block is no whole number of windows.
    """

    def __init__(
        self,
        input_size: tuple[int, int],
        stem_channels: int,
        partition_size: int,
        block_channels: list[int],
        block_layers: list[int],
        head_dim: int,
        stochastic_depth_prob: float,
        norm_layer: Maker | None = None,
        activation_layer: Maker = nn.GELU,
        squeeze_ratio: float = 0.25,
        expansion_ratio: float = 4,
        mlp_ratio: int = 4,
        mlp_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        norm = norm_layer or partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)
        sizes = _make_block_input_shapes(input_size, len(block_channels))
        for index, size in enumerate(sizes):
            if any(each % partition_size for each in size):
                raise ValueError(
                    f"Input size {size} of block {index} is not divisible by partition size {partition_size}. Consider "
                    f"changing the partition size or the input size; the blocks' input sizes are {sizes}."
                )
        self.stem = nn.Sequential(
            Conv2dNormActivation(
                *(3, stem_channels, 3), stride=2, norm_layer=norm, activation_layer=activation_layer, inplace=None
            ),
            Conv2dNormActivation(stem_channels, stem_channels, 3, norm_layer=None, activation_layer=None),
        )
        self.partition_size = partition_size
        self.blocks = nn.ModuleList()
        total = sum(block_layers)
        step = stochastic_depth_prob / max(total - 1, 1)
        probabilities = iter([step * index for index in range(total)])
        size, width = _halved(input_size), stem_channels
        for wider, depth in zip(block_channels, block_layers):
            ratios = (squeeze_ratio, expansion_ratio, norm, activation_layer, head_dim, mlp_ratio)
            dropouts = (mlp_dropout, attention_dropout, partition_size)
            chances = [next(probabilities) for _ in range(depth)]
            self.blocks.append(MaxVitBlock(width, wider, *ratios, *dropouts, size, depth, chances))
            size, width = self.blocks[-1].grid_size, wider
        self.classifier = nn.Sequential(
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(width)),
            *(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, num_classes, bias=False)),
        )
        initialize(self, _normal, _normal, norms=(nn.BatchNorm2d,))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.classifier(x)


def _normal(layer: Any) -> None:
    nn.init.normal_(layer.weight, std=0.02)


def _fix_input_size(weights: WeightsEnum, kwargs: dict[str, Any]) -> None:
    _ovewrite_named_param(kwargs, "input_size", weights.meta["min_size"])


maxvit_t = builder(
    "maxvit_t",
    MaxVit_T_Weights,
    partial(MaxVit, input_size=(224, 224)),
    adapt=_fix_input_size,
    stem_channels=64,
    block_channels=[64, 128, 256, 512],
    block_layers=[2, 2, 5, 2],
    head_dim=32,
    stochastic_depth_prob=0.2,
    partition_size=7,
)
