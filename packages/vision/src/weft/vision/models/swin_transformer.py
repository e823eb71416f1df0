"""Swin Transformer v1 and v2: attention within shifted windows (arXiv:2103.14030, 2111.09883)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.overrides import handle_torch_function, has_torch_function
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import builder, initialize
from weft.vision.models.vision_transformer import initialize_mlp
from weft.vision.ops.misc import MLP, Permute
from weft.vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "SwinTransformer",
    "Swin_B_Weights",
    "Swin_S_Weights",
    "Swin_T_Weights",
    "Swin_V2_B_Weights",
    "Swin_V2_S_Weights",
    "Swin_V2_T_Weights",
    "swin_b",
    "swin_s",
    "swin_t",
    "swin_v2_b",
    "swin_v2_s",
    "swin_v2_t",
]

Maker = Callable[..., nn.Module]


class Swin_B_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("swin_b-68c6b09e.pth")
    DEFAULT = IMAGENET1K_V1


class Swin_S_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("swin_s-5e29d889.pth")
    DEFAULT = IMAGENET1K_V1


class Swin_T_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("swin_t-704ceda3.pth")
    DEFAULT = IMAGENET1K_V1


class Swin_V2_B_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("swin_v2_b-781e5279.pth")
    DEFAULT = IMAGENET1K_V1


class Swin_V2_S_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("swin_v2_s-637d8ceb.pth")
    DEFAULT = IMAGENET1K_V1


class Swin_V2_T_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("swin_v2_t-b137f0e2.pth")
    DEFAULT = IMAGENET1K_V1


def _patch_merging_pad(x: Tensor) -> Tensor:
    """Join the channels of each 2 x 2 places of (..., H, W, C), after padding to even sizes."""
    if has_torch_function((x,)):  # a tracer records the call: its steps depend on the size
        return handle_torch_function(_patch_merging_pad, (x,), x)
    height, width, _ = x.shape[-3:]
    x = F.pad(x, (0, 0, 0, width % 2, 0, height % 2))
    return weft.cat([x[..., row::2, column::2, :] for column in (0, 1) for row in (0, 1)], -1)


class PatchMerging(nn.Module):
    """Halve the size of (..., H, W, dim) and double the channels."""

    def __init__(self, dim: int, norm_layer: Maker = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x: Tensor) -> Tensor:
        """Return the shape (..., H / 2, W / 2, 2 dim)."""
        return self.reduction(self.norm(_patch_merging_pad(x)))


class PatchMergingV2(nn.Module):
    """`PatchMerging` with the normalization last."""

    def __init__(self, dim: int, norm_layer: Maker = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(2 * dim)

    def forward(self, x: Tensor) -> Tensor:
        """Return the shape (..., H / 2, W / 2, 2 dim)."""
        return self.norm(self.reduction(_patch_merging_pad(x)))


# Attention within windows --------------------------------------------------------------------------------


def shifted_window_attention(
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
    logit_scale: Tensor | None = None,
    training: bool = True,
) -> Tensor:
    """Attend within windows of a grid that is shifted first and shifted back after.

    Parameters
    ----------
    input : Tensor, shape (N, *size, C)
        A grid of one or more axes; it is padded to whole windows.
    qkv_weight, qkv_bias : Tensor, shapes (3 C, C) and (3 C,)
    proj_weight, proj_bias : Tensor, shapes (C, C) and (C,)
    relative_position_bias : Tensor, shape (1, num_heads, P, P)
        Added to the logits between the P places of a window.
    window_size, shift_size : list of int
        For each axis; an axis that is one window is not shifted.
    num_heads : int
    attention_dropout, dropout : float
    logit_scale : Tensor, shape (num_heads, 1, 1), optional
        The logarithm of a factor on the cosine between query and key, which then takes the place of their product;
        the keys have no bias then.
    training : bool

    Returns
    -------
    Tensor, of the shape of the input
    """
    if has_torch_function((input, qkv_weight, proj_weight, relative_position_bias)):
        # a tracer records the call: its steps depend on the size
        return handle_torch_function(
            shifted_window_attention,
            (input, qkv_weight, proj_weight, relative_position_bias),
            *(input, qkv_weight, proj_weight, relative_position_bias, window_size, num_heads, shift_size),
            *(attention_dropout, dropout, qkv_bias, proj_bias, logit_scale, training),
        )
    count, *size, channels = input.shape
    axes = tuple(range(1, 1 + len(size)))
    missing = [-each % window for each, window in zip(size, window_size)]
    x = F.pad(input, (0, 0, *(part for each in reversed(missing) for part in (0, each))))
    padded = x.shape[1:-1]
    shifts = [0 if window >= each else shift for each, window, shift in zip(padded, window_size, shift_size)]
    if any(shifts):
        x = weft.roll(x, [-shift for shift in shifts], axes)
    x = _windows(x, window_size)  # (N G, P, C): G windows of P places
    q, k, v = _project(x, qkv_weight, qkv_bias, num_heads, no_key_bias=logit_scale is not None)
    if logit_scale is None:
        logits = (q * (channels // num_heads) ** -0.5).matmul(k.transpose(-2, -1))
    else:
        cosine = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
        logits = cosine * weft.clamp(logit_scale, max=math.log(100.0)).exp()
    logits = logits + relative_position_bias
    if any(shifts):
        mask = _shift_mask(padded, window_size, shifts, x)  # (G, 1, P, P)
        logits = (logits.unflatten(0, (count, -1)) + mask).flatten(0, 1)
    weights = F.dropout(F.softmax(logits, dim=-1), p=attention_dropout, training=training)
    x = weights.matmul(v).transpose(1, 2).flatten(2)  # (N G, P, C)
    x = F.dropout(F.linear(x, proj_weight, proj_bias), p=dropout, training=training)
    x = _from_windows(x, count, padded, window_size)
    if any(shifts):
        x = weft.roll(x, shifts, axes)
    for axis, each in zip(axes, size):
        x = x.narrow(axis, 0, each)
    return x.contiguous()


def _windows(x: Tensor, window_size: list[int]) -> Tensor:
    """The windows (N G, P, C) of a grid (N, *size, C)."""
    for axis, window in enumerate(window_size):
        x = x.unflatten(1 + 2 * axis, (-1, window))  # (N, size / window, window, ..., C)
    rank = len(window_size)
    order = (0, *range(1, 2 * rank, 2), *range(2, 2 * rank + 1, 2), 2 * rank + 1)
    return x.permute(order).reshape(-1, math.prod(window_size), x.shape[-1])


def _from_windows(x: Tensor, count: int, size: Sequence[int], window_size: list[int]) -> Tensor:
    """The grid (N, *size, C) of its windows (N G, P, C)."""
    rank = len(window_size)
    x = x.view(count, *(each // window for each, window in zip(size, window_size)), *window_size, x.shape[-1])
    order = (axis for pair in zip(range(1, 1 + rank), range(1 + rank, 1 + 2 * rank)) for axis in pair)
    return x.permute(0, *order, 1 + 2 * rank).reshape(count, *size, x.shape[-1])


def _project(
    x: Tensor, weight: Tensor, bias: Tensor | None, num_heads: int, no_key_bias: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values (N G, num_heads, P, C / num_heads)."""
    if no_key_bias and bias is not None:
        bias = bias.clone()
        length = bias.numel() // 3
        bias[length : 2 * length].zero_()
    projected = F.linear(x, weight, bias).unflatten(-1, (3, num_heads, -1))
    q, k, v = projected.permute(2, 0, 3, 1, 4).unbind(0)
    return q, k, v


def _shift_mask(size: Sequence[int], window_size: list[int], shifts: list[int], like: Tensor) -> Tensor:
    """-100 between places that are neighbours only because the grid was shifted around its end; (G, 1, P, P)."""
    regions = like.new_zeros(*size)
    for axis, (each, window, shift) in enumerate(zip(size, window_size, shifts)):
        if shift:
            numbers = like.new_zeros(each)
            numbers[-window:-shift], numbers[-shift:] = 1, 2
            regions = 3 * regions + numbers.view(-1, *[1] * (len(size) - 1 - axis))
    places = _windows(regions[None, ..., None], window_size).squeeze(-1)
    return weft.where(places[:, None, :] == places[:, :, None], 0.0, -100.0).to(like.dtype).unsqueeze(1)


def _get_relative_position_bias(
    relative_position_bias_table: Tensor, relative_position_index: Tensor, window_size: list[int]
) -> Tensor:
    """The table's entries for each two places of a window, of shape (1, num_heads, P, P)."""
    tensors = (relative_position_bias_table, relative_position_index)
    if has_torch_function(tensors):
        return handle_torch_function(_get_relative_position_bias, tensors, *tensors, window_size)
    places = math.prod(window_size)
    bias = relative_position_bias_table[relative_position_index[: places * places]].view(places, places, -1)
    return bias.permute(2, 0, 1).contiguous().unsqueeze(0)


def relative_position_index(window_size: Sequence[int]) -> Tensor:
    """Number the offset between each two places of a window: a tensor (P * P,) of numbers below prod(2 window - 1)."""
    grid = weft.meshgrid(*(weft.arange(window) for window in window_size), indexing="ij")
    index = weft.zeros((), dtype=weft.int64)
    for places, window in zip(grid, window_size):
        offsets = places.flatten()[:, None] - places.flatten()[None, :]
        index = index * (2 * window - 1) + offsets + window - 1
    return index.flatten()


class ShiftedWindowAttention(nn.Module):
    """`shifted_window_attention` with its weights, for (N, H, W, dim)."""

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
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size = window_size
        self.shift_size = shift_size
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self) -> None:
        """Make the parameter with a bias for each offset and head."""
        offsets = math.prod(2 * window - 1 for window in self.window_size)
        self.relative_position_bias_table = nn.Parameter(weft.zeros(offsets, self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def define_relative_position_index(self) -> None:
        """Make the buffer with the number of the offset between each two places."""
        self.register_buffer("relative_position_index", relative_position_index(self.window_size))

    def get_relative_position_bias(self) -> Tensor:
        """Return the bias between each two places, of shape (1, num_heads, P, P)."""
        return _get_relative_position_bias(
            self.relative_position_bias_table, self.relative_position_index, self.window_size
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the states, of the shape of the input."""
        bias = self.get_relative_position_bias()
        return shifted_window_attention(
            x,
            self.qkv.weight,
            self.proj.weight,
            bias,
            self.window_size,
            self.num_heads,
            shift_size=self.shift_size,
            attention_dropout=self.attention_dropout,
            dropout=self.dropout,
            qkv_bias=self.qkv.bias,
            proj_bias=self.proj.bias,
            logit_scale=getattr(self, "logit_scale", None),
            training=self.training,
        )


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Attention by cosine, with a bias that a small network computes from the offset."""

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
        options = (qkv_bias, proj_bias, attention_dropout, dropout)
        super().__init__(dim, window_size, shift_size, num_heads, *options)
        self.logit_scale = nn.Parameter(weft.log(10 * weft.ones(num_heads, 1, 1)))
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512, bias=True), nn.ReLU(inplace=True), nn.Linear(512, num_heads, bias=False)
        )
        if self.qkv.bias is not None:
            length = self.qkv.bias.numel() // 3
            self.qkv.bias[length : 2 * length].data.zero_()

    def define_relative_position_bias_table(self) -> None:
        """Make the buffer with the offsets on a logarithmic scale, from -1 to 1."""
        axes = (weft.arange(-(window - 1), window, dtype=weft.float32) / (window - 1) for window in self.window_size)
        table = weft.stack(weft.meshgrid(*axes, indexing="ij"), dim=-1).unsqueeze(0) * 8
        table = weft.sign(table) * weft.log2(weft.abs(table) + 1.0) / 3.0
        self.register_buffer("relative_coords_table", table)

    def get_relative_position_bias(self) -> Tensor:
        """Return the bias between each two places, of shape (1, num_heads, P, P)."""
        table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        return 16 * weft.sigmoid(_get_relative_position_bias(table, self.relative_position_index, self.window_size))


class SwinTransformerBlock(nn.Module):
    """Attention within windows and two linear layers, each after a normalization and beside a shortcut."""

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: list[int],
        shift_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Maker = nn.LayerNorm,
        attn_layer: Maker = ShiftedWindowAttention,
    ) -> None:
        super().__init__()
        dropouts = {"attention_dropout": attention_dropout, "dropout": dropout}
        self.norm1 = norm_layer(dim)
        self.attn = attn_layer(dim, window_size, shift_size, num_heads, **dropouts)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        initialize_mlp(self.mlp)

    def forward(self, x: Tensor) -> Tensor:
        """Return what follows the block."""
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformerBlockV2(SwinTransformerBlock):
    """`SwinTransformerBlock` with the normalizations last, and attention by cosine."""

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: list[int],
        shift_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Maker = nn.LayerNorm,
        attn_layer: Maker = ShiftedWindowAttentionV2,
    ) -> None:
        probabilities = (dropout, attention_dropout, stochastic_depth_prob)
        super().__init__(
            dim, num_heads, window_size, shift_size, mlp_ratio, *probabilities, norm_layer, attn_layer=attn_layer
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return what follows the block."""
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class SwinTransformer(nn.Module):
    """Stages of blocks between which the size is halved, for pictures (N, 3, H, W).

    Parameters
    ----------
    patch_size : list of two int
    embed_dim : int
        The channels of the first stage.
    depths, num_heads : list of int
        Of each stage.
    window_size : list of two int
    mlp_ratio : float
    dropout, attention_dropout : float
    stochastic_depth_prob : float
        The probability with which the last block is left out; it grows from 0 at the first.
    num_classes : int
    norm_layer : callable, default LayerNorm
    block : callable, default SwinTransformerBlock
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
        num_classes: int = 1000,
        norm_layer: Maker | None = None,
        block: Maker | None = None,
        downsample_layer: Maker = PatchMerging,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        norm, block = norm_layer or partial(nn.LayerNorm, eps=1e-5), block or SwinTransformerBlock
        height, width = patch_size
        patches = nn.Conv2d(3, embed_dim, kernel_size=(height, width), stride=(height, width))
        layers: list[nn.Module] = [nn.Sequential(patches, Permute([0, 2, 3, 1]), norm(embed_dim))]
        dropouts = {"mlp_ratio": mlp_ratio, "dropout": dropout, "attention_dropout": attention_dropout}
        dim, done = embed_dim, 0
        for number, (depth, heads) in enumerate(zip(depths, num_heads)):
            if number > 0:
                layers.append(downsample_layer(dim, norm))
                dim *= 2
            stage: list[nn.Module] = []
            for index in range(depth):
                shift = [0 if index % 2 == 0 else window // 2 for window in window_size]
                probability = stochastic_depth_prob * float(done) / (sum(depths) - 1)
                options: dict[str, Any] = {**dropouts, "stochastic_depth_prob": probability, "norm_layer": norm}
                stage.append(block(dim, heads, window_size=window_size, shift_size=shift, **options))
                done += 1
            layers.append(nn.Sequential(*stage))
        self.features = nn.Sequential(*layers)
        self.norm = norm(dim)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(dim, num_classes)
        initialize(self, linear=lambda linear: nn.init.trunc_normal_(linear.weight, std=0.02), norms=())

    def forward(self, x: Tensor) -> Any:
        """Return the logits (N, num_classes)."""
        x = self.permute(self.norm(self.features(x)))
        return self.head(self.flatten(self.avgpool(x)))


def _swin(
    name: str, weights: type[WeightsEnum], embed_dim: int, blocks: int, probability: float
) -> Callable[..., SwinTransformer]:
    heads = [embed_dim // 32 * factor for factor in (1, 2, 4, 8)]
    sizes: dict[str, Any] = {"embed_dim": embed_dim, "depths": [2, 2, blocks, 2], "num_heads": heads}
    window = 7
    if "v2" in name:
        window = 8
        sizes |= {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}
    fixed: dict[str, Any] = {
        "patch_size": [4, 4],
        "window_size": [window, window],
        "stochastic_depth_prob": probability,
    }
    return builder(name, weights, SwinTransformer, **sizes, **fixed)


swin_t = _swin("swin_t", Swin_T_Weights, 96, 6, 0.2)
swin_s = _swin("swin_s", Swin_S_Weights, 96, 18, 0.3)
swin_b = _swin("swin_b", Swin_B_Weights, 128, 18, 0.5)
swin_v2_t = _swin("swin_v2_t", Swin_V2_T_Weights, 96, 6, 0.2)
swin_v2_s = _swin("swin_v2_s", Swin_V2_S_Weights, 96, 18, 0.3)
swin_v2_b = _swin("swin_v2_b", Swin_V2_B_Weights, 128, 18, 0.5)
