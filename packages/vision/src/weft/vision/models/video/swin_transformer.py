"""Video Swin transformers (arXiv:2106.13230): attention in shifted windows of space and time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import weft
from weft import Tensor, fx, nn
from weft.nn import functional as F
from weft.nn import init
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import builder
from weft.vision.models.swin_transformer import PatchMerging, SwinTransformerBlock

__all__ = [
    "SwinTransformer3d",
    "Swin3D_T_Weights",
    "Swin3D_S_Weights",
    "Swin3D_B_Weights",
    "swin3d_t",
    "swin3d_s",
    "swin3d_b",
]

Maker = Callable[..., nn.Module]
AXES = (1, 2, 3)  # time, rows and columns of features (N, T, H, W, C)


class Swin3D_T_Weights(WeightsEnum):
    KINETICS400_V1 = pretrained("swin3d_t-7615ae03.pth")
    DEFAULT = KINETICS400_V1


class Swin3D_S_Weights(WeightsEnum):
    KINETICS400_V1 = pretrained("swin3d_s-da41c237.pth")
    DEFAULT = KINETICS400_V1


class Swin3D_B_Weights(WeightsEnum):
    KINETICS400_V1 = pretrained("swin3d_b_1k-24f7c7c6.pth")
    KINETICS400_IMAGENET22K_V1 = pretrained("swin3d_b_22k-7c6ae6fa.pth")
    DEFAULT = KINETICS400_V1


# Functions that a symbolic trace records as one call: what they do depends on sizes. The names of the recorded nodes
# are torchvision's, as programs that extract features give them.


@fx.wrap
def _compute_pad_size_3d(sizes: Sequence[int], multiples: Sequence[int]) -> tuple[int, int, int]:
    """What sizes along time, rows and columns lack to be multiples."""
    time, rows, columns = (-size % multiple for size, multiple in zip(sizes, multiples))
    return time, rows, columns


def partitioned(x: Tensor, window: Sequence[int]) -> Tensor:
    """Cut features (N, T, H, W, C) into windows (N * windows, tokens, C)."""
    (t, h, w), (T, H, W) = window, x.shape[1:4]
    parts = x.reshape(x.shape[0], T // t, t, H // h, h, W // w, w, x.shape[4])
    return parts.permute(0, 1, 3, 5, 2, 4, 6, 7).reshape(-1, t * h * w, x.shape[4])


def joined(windows: Tensor, window: Sequence[int], shape: Sequence[int]) -> Tensor:
    """The features of this shape that were `partitioned`."""
    (t, h, w), (N, T, H, W, C) = window, shape
    parts = windows.reshape(N, T // t, H // h, W // w, t, h, w, C)
    return parts.permute(0, 1, 4, 2, 5, 3, 6, 7).reshape(N, T, H, W, C)


def attention_mask(x: Tensor, window: Sequence[int], shift: Sequence[int]) -> Tensor:
    """-100 between tokens that only the shift has brought into one window, else 0: (windows, tokens, tokens)."""
    region = x.new_zeros(1, *x.shape[1:4], 1)
    for axis, length, step in zip(AXES, window, shift):
        size, labels = x.shape[axis], x.new_zeros(x.shape[axis])
        if step:
            labels[size - length :] = 1
            labels[size - step :] = 2
        region = 3 * region + labels.reshape([-1 if each == axis else 1 for each in range(5)])
    region = partitioned(region, window).squeeze(2)
    return (region[:, None] != region[:, :, None]) * -100.0


@fx.wrap
def _get_window_and_shift_size(
    sizes: Sequence[int], window: list[int], shift: list[int]
) -> tuple[list[int], list[int]]:
    """Window and shift for features of these sizes: no longer than them, and no shift where there is one window."""
    fitted = [min(size, length) for size, length in zip(sizes, window)]
    return fitted, [step if size > length else 0 for size, length, step in zip(sizes, window, shift)]


@fx.wrap
def _get_relative_position_bias(table: Tensor, index: Tensor, window: list[int]) -> Tensor:
    """The biases (1, heads, tokens, tokens) of a window, from those of each distance."""
    volume = math.prod(window)
    # The first tokens' index, as in the published models, also for a window cut along rows or columns.
    return table[index[:volume, :volume]].permute(2, 0, 1).contiguous().unsqueeze(0)


@fx.wrap
def shifted_window_attention_3d(
    input: Tensor,
    qkv_weight: Tensor,
    proj_weight: Tensor,
    relative_position_bias: Tensor,
    window_size: list[int],
    num_heads: int,
    shift_size: list[int],
    attention_dropout: float = 0.0,
    dropout: float = 0.0,
    qkv_bias: Tensor | None = None,
    proj_bias: Tensor | None = None,
    training: bool = True,
) -> Tensor:
    """Attend within windows of features (N, T, H, W, C).

    Parameters
    ----------
    input : Tensor, shape (N, T, H, W, C)
    qkv_weight, proj_weight : Tensor, shapes (3 * C, C) and (C, C)
    relative_position_bias : Tensor, shape (1, heads, tokens, tokens)
    window_size, shift_size : list of three int
        Along time, rows and columns.
    num_heads : int
    attention_dropout, dropout : float
    qkv_bias, proj_bias : Tensor, optional
    training : bool
        Whether there is dropout.

    Returns
    -------
    Tensor, shape (N, T, H, W, C)
    """
    _, t, h, w, channels = input.shape
    time, rows, columns = _compute_pad_size_3d((t, h, w), window_size)
    x = F.pad(input, (0, 0, 0, columns, 0, rows, 0, time))
    shape, shifted = x.shape, any(shift_size)
    if shifted:
        x = x.roll([-step for step in shift_size], AXES)
    tokens = partitioned(x, window_size)
    count, volume, _ = tokens.shape
    qkv = F.linear(tokens, qkv_weight, qkv_bias)
    q, k, v = qkv.reshape(count, volume, 3, num_heads, -1).permute(2, 0, 3, 1, 4)
    scores = (q * (channels // num_heads) ** -0.5) @ k.transpose(-2, -1) + relative_position_bias
    if shifted:
        mask = attention_mask(x, window_size, shift_size)
        scores = scores.reshape(-1, len(mask), num_heads, volume, volume) + mask[:, None]
        scores = scores.reshape(count, num_heads, volume, volume)
    weights = F.dropout(scores.softmax(dim=-1), attention_dropout, training)
    attended = (weights @ v).transpose(1, 2).reshape(count, volume, channels)
    x = F.dropout(F.linear(attended, proj_weight, proj_bias), dropout, training)
    x = joined(x, window_size, shape)
    if shifted:
        x = x.roll(shift_size, AXES)
    return x[:, :t, :h, :w].contiguous()


class ShiftedWindowAttention3d(nn.Module):
    """`shifted_window_attention_3d` with its weights; windows are no larger than the features.

    Parameters
    ----------
    dim : int
        Channels.
    window_size, shift_size : list of three int
    num_heads : int
    qkv_bias, proj_bias : bool
    attention_dropout, dropout : float

    Raises
    ------
    ValueError
        If there are not three sizes.
    """

    relative_position_index: Tensor

    def __init__(
        self,
        dim: int,
        window_size: list[int],
        shift_size: list[int],
        num_heads: int,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if len(window_size) != 3 or len(shift_size) != 3:
            raise ValueError(f"window_size and shift_size must be of length 3, got {window_size} and {shift_size}")
        self.window_size, self.shift_size, self.num_heads = window_size, shift_size, num_heads
        self.attention_dropout, self.dropout = attention_dropout, dropout
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self) -> None:
        """Make the biases of each distance within a window."""
        distances = math.prod(2 * length - 1 for length in self.window_size)
        self.relative_position_bias_table = nn.Parameter(weft.zeros(distances, self.num_heads))
        init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def define_relative_position_index(self) -> None:
        """Make the index (tokens, tokens) of the distances of each token to each."""
        index = weft.zeros(1, 1, dtype=weft.int64)
        axes = weft.meshgrid(*(weft.arange(length) for length in self.window_size), indexing="ij")
        for places, length in zip(axes, self.window_size):
            distances = places.reshape(-1, 1) - places.reshape(1, -1) + length - 1
            index = index * (2 * length - 1) + distances
        self.register_buffer("relative_position_index", index)

    def get_relative_position_bias(self, window_size: list[int]) -> Tensor:
        """The biases (1, heads, tokens, tokens) of a window."""
        return _get_relative_position_bias(self.relative_position_bias_table, self.relative_position_index, window_size)

    def forward(self, x: Tensor) -> Tensor:
        """Attend within windows of features (N, T, H, W, C)."""
        _, t, h, w, _ = x.shape
        window, shift = _get_window_and_shift_size((t, h, w), self.window_size, self.shift_size)
        bias = self.get_relative_position_bias(window)
        return shifted_window_attention_3d(
            x,
            self.qkv.weight,
            self.proj.weight,
            bias,
            window,
            self.num_heads,
            shift_size=shift,
            attention_dropout=self.attention_dropout,
            dropout=self.dropout,
            qkv_bias=self.qkv.bias,
            proj_bias=self.proj.bias,
            training=self.training,
        )


class PatchEmbed3d(nn.Module):
    """Clips (N, in_channels, T, H, W) to features of patches (N, T', H', W', embed_dim)."""

    def __init__(
        self, patch_size: list[int], in_channels: int = 3, embed_dim: int = 96, norm_layer: Maker | None = None
    ) -> None:
        super().__init__()
        time, rows, columns = patch_size
        self.tuple_patch_size = time, rows, columns
        self.proj = nn.Conv3d(in_channels, embed_dim, self.tuple_patch_size, self.tuple_patch_size)
        self.norm = nn.Identity() if norm_layer is None else norm_layer(embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features; what lacks at the end of an axis is 0."""
        _, _, t, h, w = x.size()
        time, rows, columns = _compute_pad_size_3d((t, h, w), self.tuple_patch_size)
        x = F.pad(x, (0, columns, 0, rows, 0, time))
        return self.norm(self.proj(x).permute(0, 2, 3, 4, 1))


class SwinTransformer3d(nn.Module):
    """A Swin transformer for clips (N, 3, T, H, W).

    Parameters
    ----------
    patch_size : list of three int
    embed_dim : int
        The channels of the first stage; each next one has twice as many.
    depths, num_heads : list of int
        The blocks, and their heads, of each stage.
    window_size : list of three int
    mlp_ratio : float
    dropout, attention_dropout : float
    stochastic_depth_prob : float
        Of the last block; those before have less, the first none.
    num_classes : int
    norm_layer, block, patch_embed : callable, optional
    downsample_layer : callable
    """

    def __init__(
        self,
        patch_size: list[int],
        embed_dim: int,
        depths: list[int],
        num_heads: list[int],
        window_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.1,
        num_classes: int = 400,
        norm_layer: Maker | None = None,
        block: Maker | None = None,
        downsample_layer: Maker = PatchMerging,
        patch_embed: Maker | None = None,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        make_block = block or SwinTransformerBlock
        norm = norm_layer or partial(nn.LayerNorm, eps=1e-5)
        self.patch_embed = (patch_embed or PatchEmbed3d)(patch_size=patch_size, embed_dim=embed_dim, norm_layer=norm)
        self.pos_drop = nn.Dropout(p=dropout)
        options: dict[str, Any] = {
            "window_size": window_size,
            "mlp_ratio": mlp_ratio,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "norm_layer": norm,
            "attn_layer": ShiftedWindowAttention3d,
        }
        half = [length // 2 for length in window_size]
        layers: list[nn.Module] = []
        number, total = 0, sum(depths)
        for stage, (depth, heads) in enumerate(zip(depths, num_heads)):
            dim = embed_dim << stage
            blocks = []
            for position in range(depth):
                shift = half if position % 2 else [0, 0, 0]
                chance = stochastic_depth_prob * number / (total - 1)
                blocks.append(make_block(dim, heads, shift_size=shift, stochastic_depth_prob=chance, **options))
                number += 1
            layers.append(nn.Sequential(*blocks))
            if stage < len(depths) - 1:
                layers.append(downsample_layer(dim, norm))
        self.features = nn.Sequential(*layers)
        self.num_features = embed_dim << (len(depths) - 1)
        self.norm = norm(self.num_features)
        self.avgpool = nn.AdaptiveAvgPool3d(1)
        self.head = nn.Linear(self.num_features, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (N, num_classes)."""
        x = self.features(self.pos_drop(self.patch_embed(x)))
        x = self.norm(x).permute(0, 4, 1, 2, 3)
        return self.head(self.avgpool(x).flatten(1))


def _swin3d(
    name: str, weights_enum: type[WeightsEnum], width: int, depth: int, num_heads: list[int]
) -> Callable[..., SwinTransformer3d]:
    return builder(
        name,
        weights_enum,
        SwinTransformer3d,
        patch_size=[2, 4, 4],
        embed_dim=width,
        depths=[2, 2, depth, 2],
        num_heads=num_heads,
        window_size=[8, 7, 7],
        stochastic_depth_prob=0.1,
        former="KINETICS400_V1",
    )


swin3d_t = _swin3d("swin3d_t", Swin3D_T_Weights, 96, 6, [3, 6, 12, 24])
swin3d_s = _swin3d("swin3d_s", Swin3D_S_Weights, 96, 18, [3, 6, 12, 24])
swin3d_b = _swin3d("swin3d_b", Swin3D_B_Weights, 128, 18, [4, 8, 16, 32])
