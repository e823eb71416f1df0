"""Multiscale vision transformers (arXiv:2104.11227, 2112.01526): their tokens are pooled from block to block."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import weft
from weft import Tensor, fx, nn
from weft.nn import functional as F
from weft.nn import init
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import _ovewrite_named_param, builder
from weft.vision.ops.misc import MLP
from weft.vision.ops.stochastic_depth import StochasticDepth

__all__ = ["MViT", "MViT_V1_B_Weights", "MViT_V2_S_Weights", "mvit_v1_b", "mvit_v2_s"]

Maker = Callable[..., nn.Module]
Sizes = tuple[int, ...]  # frames, rows and columns


class MViT_V1_B_Weights(WeightsEnum):
    KINETICS400_V1 = pretrained("mvit_v1_b-dbeb1030.pth")
    DEFAULT = KINETICS400_V1


class MViT_V2_S_Weights(WeightsEnum):
    KINETICS400_V1 = pretrained("mvit_v2_s-ae3be167.pth")
    DEFAULT = KINETICS400_V1


@dataclass
class MSBlockConfig:
    """The sizes of a block; empty kernels and strides leave the tokens as they are."""

    num_heads: int
    input_channels: int
    output_channels: int
    kernel_q: list[int]
    kernel_kv: list[int]
    stride_q: list[int]
    stride_kv: list[int]


# Functions that a symbolic trace records as one call: what they do depends on sizes, or they write in place. The names
# of the recorded nodes are torchvision's, as programs that extract features give them.


@fx.wrap
def _unsqueeze(x: Tensor, dims: int, dim: int) -> tuple[Tensor, int]:
    """``x`` with so many dimensions, of which one may lack, and how many it had."""
    given = x.dim()
    if given not in (dims, dims - 1):
        raise ValueError(f"Unsupported input dimension {x.shape}")
    return x if given == dims else x.unsqueeze(dim), given


@fx.wrap
def _squeeze(x: Tensor, dims: int, dim: int, given: int) -> Tensor:
    """``x`` with as many dimensions as were given to `_unsqueeze`."""
    return x if given == dims else x.squeeze(dim)


@fx.wrap
def _add_rel_pos(
    scores: Tensor, query: Tensor, query_sizes: Sizes, key_sizes: Sizes, rows: Tensor, columns: Tensor, time: Tensor
) -> Tensor:
    """Add `relative_scores` to the scores (N, heads, queries, keys) of all but the token of the class, in place."""
    scores[:, :, 1:, 1:] += relative_scores(query[:, :, 1:], query_sizes, key_sizes, (time, rows, columns))
    return scores


@fx.wrap
def _add_shortcut(x: Tensor, query: Tensor, with_class: bool) -> Tensor:
    """Add queries to tokens (N, heads, count, C) in place, with or without the token of the class."""
    first = 0 if with_class else 1
    x[:, :, first:] += query[:, :, first:]
    return x


class Pool(nn.Module):
    """Pool tokens (N, heads, 1 + T * H * W, C), or without heads, as a volume; the first, of the class, stays.

    Parameters
    ----------
    pool : Module
        On volumes (N, C, T, H, W).
    norm, activation : Module, optional
    norm_before_pool : bool
        Normalize the volume rather than the tokens.
    """

    def __init__(
        self,
        pool: nn.Module,
        norm: nn.Module | None,
        activation: nn.Module | None = None,
        norm_before_pool: bool = False,
    ) -> None:
        super().__init__()
        self.pool = pool
        layers = [layer for layer in (norm, activation) if layer is not None]
        self.norm_act = nn.Sequential(*layers) if layers else None
        self.norm_before_pool = norm_before_pool

    def forward(self, x: Tensor, thw: Sizes) -> tuple[Tensor, Sizes]:
        """Return the tokens and their frames, rows and columns."""
        x, given = _unsqueeze(x, 4, 1)
        first, x = weft.tensor_split(x, (1,), dim=2)
        x = x.transpose(2, 3)
        count, heads, channels = x.shape[:3]
        volume = x.reshape((count * heads, channels, *thw)).contiguous()
        if self.norm_before_pool and self.norm_act is not None:
            volume = self.norm_act(volume)
        volume = self.pool(volume)
        frames, rows, columns = volume.shape[2:]
        x = weft.cat((first, volume.reshape(count, heads, channels, -1).transpose(2, 3)), dim=2)
        if not self.norm_before_pool and self.norm_act is not None:
            x = self.norm_act(x)
        return _squeeze(x, 4, 1, given), (frames, rows, columns)


def relative_positions(embedding: Tensor, queries: int, keys: int) -> Tensor:
    """The embeddings (queries, keys, C) of the distances along an axis; a shorter one counts in larger steps."""
    length = 2 * max(queries, keys) - 1
    if embedding.shape[0] != length:
        embedding = F.interpolate(embedding.T[None], size=length, mode="linear")[0].T
    query_step, key_step = max(keys / queries, 1.0), max(queries / keys, 1.0)
    places = weft.arange(queries)[:, None] * query_step
    distances = places - (weft.arange(keys)[None] + (1.0 - keys)) * key_step
    return embedding[distances.long().to(embedding.device)]


def relative_scores(query: Tensor, query_sizes: Sizes, key_sizes: Sizes, embeddings: Sequence[Tensor]) -> Tensor:
    """What each query token (without that of the class) adds to its scores, by the distance along each axis.

    Parameters
    ----------
    query : Tensor, shape (N, heads, T * H * W, C)
    query_sizes, key_sizes : tuple of int
    embeddings : three Tensors
        Along time, rows and columns.

    Returns
    -------
    Tensor, shape (N, heads, queries, keys)
    """
    batch, heads, count, channels = query.shape
    volume = query.reshape(batch, heads, *query_sizes, channels)
    time, rows, columns = (
        weft.einsum(f"bnthwc,{axis}kc->bnthwk", volume, relative_positions(embedding, queries, keys))
        for axis, embedding, queries, keys in zip("thw", embeddings, query_sizes, key_sizes)
    )
    scores = time[..., :, None, None] + rows[..., None, :, None] + columns[..., None, None, :]
    return scores.reshape(batch, heads, count, -1)


class MultiscaleAttention(nn.Module):
    """Attention with pooled queries, keys and values.

    Parameters
    ----------
    input_size : list of int
        Frames, rows and columns of the tokens.
    embed_dim, output_dim, num_heads : int
    kernel_q, kernel_kv, stride_q, stride_kv : list of int
        Of the pooling of queries, and of keys and values; empty for none.
    residual_pool : bool
        Add the pooled queries to the result.
    residual_with_cls_embed : bool
        Do so for the token of the class too.
    rel_pos_embed : bool
        Score distances along time, rows and columns.
    dropout : float
    norm_layer : callable
    """

    def __init__(
        self,
        input_size: list[int],
        embed_dim: int,
        output_dim: int,
        num_heads: int,
        kernel_q: list[int],
        kernel_kv: list[int],
        stride_q: list[int],
        stride_kv: list[int],
        residual_pool: bool,
        residual_with_cls_embed: bool,
        rel_pos_embed: bool,
        dropout: float = 0.0,
        norm_layer: Maker = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.embed_dim, self.output_dim, self.num_heads = embed_dim, output_dim, num_heads
        self.head_dim = output_dim // num_heads
        self.scaler = 1.0 / math.sqrt(self.head_dim)
        self.residual_pool = residual_pool
        self.residual_with_cls_embed = residual_with_cls_embed
        self.qkv = nn.Linear(embed_dim, 3 * output_dim)
        layers: list[nn.Module] = [nn.Linear(output_dim, output_dim)]
        if dropout > 0.0:
            layers.append(nn.Dropout(dropout, inplace=True))
        self.project = nn.Sequential(*layers)
        self.pool_q = self._pool(kernel_q, stride_q, norm_layer)
        self.pool_k = self._pool(kernel_kv, stride_kv, norm_layer)
        self.pool_v = self._pool(kernel_kv, stride_kv, norm_layer)
        self.rel_pos_h: nn.Parameter | None = None
        self.rel_pos_w: nn.Parameter | None = None
        self.rel_pos_t: nn.Parameter | None = None
        if rel_pos_embed:
            size = max(input_size[1:])
            longest = max(size // stride[1] if stride else size for stride in (stride_q, stride_kv))
            self.rel_pos_h = self._distances(longest)
            self.rel_pos_w = self._distances(longest)
            self.rel_pos_t = self._distances(input_size[0])

    def _pool(self, kernel: list[int], stride: list[int], norm_layer: Maker) -> Pool | None:
        if math.prod(kernel) <= 1 and math.prod(stride) <= 1:
            return None
        padding: Any = [size // 2 for size in kernel]
        channels: Any = self.head_dim
        pool = nn.Conv3d(channels, channels, kernel, stride, padding, groups=channels, bias=False)  # type: ignore[arg-type]
        return Pool(pool, norm_layer(channels))

    def _distances(self, length: int) -> nn.Parameter:
        embedding = nn.Parameter(weft.zeros(2 * length - 1, self.head_dim))
        init.trunc_normal_(embedding, std=0.02)
        return embedding

    def forward(self, x: Tensor, thw: Sizes) -> tuple[Tensor, Sizes]:
        """Attend over tokens (N, 1 + T * H * W, embed_dim); return as many as there are queries, and their sizes."""
        batch, count, _ = x.shape
        joined = self.qkv(x).reshape(batch, count, 3, self.num_heads, self.head_dim)
        q, k, v = joined.transpose(1, 3).unbind(dim=2)  # (N, heads, count, head_dim)
        key_sizes = thw
        if self.pool_k is not None and self.pool_v is not None:
            k, key_sizes = self.pool_k(k, thw)
            v = self.pool_v(v, thw)[0]
        if self.pool_q is not None:
            q, thw = self.pool_q(q, thw)
        scores = (self.scaler * q) @ k.transpose(2, 3)
        if self.rel_pos_h is not None and self.rel_pos_w is not None and self.rel_pos_t is not None:
            scores = _add_rel_pos(scores, q, thw, key_sizes, self.rel_pos_h, self.rel_pos_w, self.rel_pos_t)
        x = scores.softmax(dim=-1) @ v
        if self.residual_pool:
            x = _add_shortcut(x, q, self.residual_with_cls_embed)
        return self.project(x.transpose(1, 2).reshape(batch, -1, self.output_dim)), thw


class MultiscaleBlock(nn.Module):
    """`MultiscaleAttention` and an `MLP`, each with a shortcut; the arguments are those of the attention.

    Parameters
    ----------
    cnf : MSBlockConfig
    proj_after_attn : bool
        Change the number of channels in the attention rather than in the `MLP`.
    stochastic_depth_prob : float
    """

    def __init__(
        self,
        input_size: list[int],
        cnf: MSBlockConfig,
        residual_pool: bool,
        residual_with_cls_embed: bool,
        rel_pos_embed: bool,
        proj_after_attn: bool,
        dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Maker = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.proj_after_attn = proj_after_attn
        self.pool_skip: nn.Module | None = None
        if math.prod(cnf.stride_q) > 1:
            kernel: Any = [step + 1 if step > 1 else step for step in cnf.stride_q]
            padding: Any = [size // 2 for size in kernel]
            stride: Any = cnf.stride_q
            self.pool_skip = Pool(nn.MaxPool3d(kernel, stride, padding), None)
        attn_dim = cnf.output_channels if proj_after_attn else cnf.input_channels
        self.norm1 = norm_layer(cnf.input_channels)
        self.norm2 = norm_layer(attn_dim)
        self.needs_transposal = isinstance(self.norm1, nn.BatchNorm1d)
        self.attn = MultiscaleAttention(
            input_size,
            cnf.input_channels,
            attn_dim,
            cnf.num_heads,
            cnf.kernel_q,
            cnf.kernel_kv,
            cnf.stride_q,
            cnf.stride_kv,
            residual_pool,
            residual_with_cls_embed,
            rel_pos_embed,
            dropout,
            norm_layer,
        )
        hidden = [4 * attn_dim, cnf.output_channels]
        self.mlp = MLP(attn_dim, hidden, activation_layer=nn.GELU, dropout=dropout)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.project: nn.Module | None = None
        if cnf.input_channels != cnf.output_channels:
            self.project = nn.Linear(cnf.input_channels, cnf.output_channels)

    def _normalized(self, norm: nn.Module, x: Tensor) -> Tensor:
        return norm(x.transpose(1, 2)).transpose(1, 2) if self.needs_transposal else norm(x)

    def forward(self, x: Tensor, thw: Sizes) -> tuple[Tensor, Sizes]:
        """Return tokens and their sizes."""
        first = self._normalized(self.norm1, x)
        attended, sizes = self.attn(first, thw)
        if self.project is not None and self.proj_after_attn:
            x = self.project(first)
        if self.pool_skip is not None:
            x = self.pool_skip(x, thw)[0]
        x = x + self.stochastic_depth(attended)
        second = self._normalized(self.norm2, x)
        if self.project is not None and not self.proj_after_attn:
            x = self.project(second)
        return x + self.stochastic_depth(self.mlp(second)), sizes


class PositionalEncoding(nn.Module):
    """Put a token of the class in front; without relative positions, add learned ones of time and space."""

    def __init__(self, embed_size: int, spatial_size: tuple[int, int], temporal_size: int, rel_pos_embed: bool) -> None:
        super().__init__()
        self.spatial_size = spatial_size
        self.temporal_size = temporal_size
        self.class_token = nn.Parameter(weft.zeros(embed_size))
        self.spatial_pos: nn.Parameter | None = None
        self.temporal_pos: nn.Parameter | None = None
        self.class_pos: nn.Parameter | None = None
        if not rel_pos_embed:
            self.spatial_pos = nn.Parameter(weft.zeros(spatial_size[0] * spatial_size[1], embed_size))
            self.temporal_pos = nn.Parameter(weft.zeros(temporal_size, embed_size))
            self.class_pos = nn.Parameter(weft.zeros(embed_size))

    def forward(self, x: Tensor) -> Tensor:
        """Return tokens (N, 1 + T * H * W, C)."""
        x = weft.cat((self.class_token.expand(x.size(0), -1).unsqueeze(1), x), dim=1)
        if self.spatial_pos is None or self.temporal_pos is None or self.class_pos is None:
            return x
        count, channels = self.spatial_pos.shape
        places = self.temporal_pos.repeat_interleave(count, dim=0)  # (T * H * W, C)
        places.add_(self.spatial_pos.unsqueeze(0).expand(self.temporal_size, -1, -1).reshape(-1, channels))
        return x.add_(weft.cat((self.class_pos.unsqueeze(0), places), dim=0).unsqueeze(0))


class MViT(nn.Module):
    """A multiscale vision transformer for clips (N, 3, T, H, W).

    Parameters
    ----------
    spatial_size : (int, int)
        Height and width of the clips.
    temporal_size : int
        Their frames.
    block_setting : sequence of MSBlockConfig
    residual_pool, residual_with_cls_embed, rel_pos_embed, proj_after_attn : bool
        See `MultiscaleBlock`; the second version has the first, third and fourth.
    dropout : float
        Before the last layer.
    attention_dropout : float
    stochastic_depth_prob : float
        Of the last block; those before have less, the first none.
    num_classes : int
    block, norm_layer : callable, optional
        By default `MultiscaleBlock` and `LayerNorm` with eps of 1e-6.
    patch_embed_kernel, patch_embed_stride, patch_embed_padding : (int, int, int)

    Raises
    ------
    ValueError
        Without blocks.
    """

    def __init__(
        self,
        spatial_size: tuple[int, int],
        temporal_size: int,
        block_setting: Sequence[MSBlockConfig],
        residual_pool: bool,
        residual_with_cls_embed: bool,
        rel_pos_embed: bool,
        proj_after_attn: bool,
        dropout: float = 0.5,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        num_classes: int = 400,
        block: Maker | None = None,
        norm_layer: Maker | None = None,
        patch_embed_kernel: tuple[int, int, int] = (3, 7, 7),
        patch_embed_stride: tuple[int, int, int] = (2, 4, 4),
        patch_embed_padding: tuple[int, int, int] = (1, 3, 3),
    ) -> None:
        super().__init__()
        if not block_setting:
            raise ValueError("The configuration parameter can't be empty.")
        make_block = block or MultiscaleBlock
        norm = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        width = block_setting[0].input_channels
        self.conv_proj = nn.Conv3d(3, width, patch_embed_kernel, patch_embed_stride, patch_embed_padding)
        size = [side // stride for side, stride in zip((temporal_size, *spatial_size), patch_embed_stride)]
        self.pos_encoding = PositionalEncoding(width, (size[1], size[2]), size[0], rel_pos_embed)
        self.blocks = nn.ModuleList()
        for number, setting in enumerate(block_setting):
            self.blocks.append(
                make_block(
                    input_size=size,
                    cnf=setting,
                    residual_pool=residual_pool,
                    residual_with_cls_embed=residual_with_cls_embed,
                    rel_pos_embed=rel_pos_embed,
                    proj_after_attn=proj_after_attn,
                    dropout=attention_dropout,
                    stochastic_depth_prob=stochastic_depth_prob * number / (len(block_setting) - 1.0),
                    norm_layer=norm,
                )
            )
            if setting.stride_q:
                size = [side // stride for side, stride in zip(size, setting.stride_q)]
        last = block_setting[-1].output_channels
        self.norm = norm(last)
        self.head = nn.Sequential(nn.Dropout(dropout, inplace=True), nn.Linear(last, num_classes))
        self._init_weights()

    def _init_weights(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    init.zeros_(module.bias)
            elif isinstance(module, nn.LayerNorm):
                if module.weight is not None:
                    init.ones_(module.weight)
                if module.bias is not None:
                    init.zeros_(module.bias)
            elif isinstance(module, PositionalEncoding):
                for parameter in module.parameters():
                    init.trunc_normal_(parameter, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (N, num_classes) of clips, or of pictures (N, 3, H, W) for one frame."""
        x = _unsqueeze(x, 5, 2)[0]
        x = self.pos_encoding(self.conv_proj(x).flatten(2).transpose(1, 2))
        sizes: Sizes = (self.pos_encoding.temporal_size, *self.pos_encoding.spatial_size)
        for block in self.blocks:
            x, sizes = block(x, sizes)
        return self.head(self.norm(x)[:, 0])


# How many blocks, their heads, channels before and after, kernel and stride of the queries, stride of keys and values;
# along rows and columns: time is pooled by the kernel alone.
Row = tuple[int, int, int, int, int, int, int]
V1_B: tuple[Row, ...] = (
    (1, 1, 96, 192, 0, 0, 8),
    (1, 2, 192, 192, 3, 2, 4),
    (1, 2, 192, 384, 0, 0, 4),
    (1, 4, 384, 384, 3, 2, 2),
    (9, 4, 384, 384, 0, 0, 2),
    (1, 4, 384, 768, 0, 0, 2),
    (1, 8, 768, 768, 3, 2, 1),
    (1, 8, 768, 768, 0, 0, 1),
)
V2_S: tuple[Row, ...] = (
    (1, 1, 96, 96, 3, 1, 8),
    (1, 2, 96, 192, 3, 2, 4),
    (1, 2, 192, 192, 3, 1, 4),
    (1, 4, 192, 384, 3, 2, 2),
    (10, 4, 384, 384, 3, 1, 2),
    (1, 8, 384, 768, 3, 2, 1),
    (1, 8, 768, 768, 3, 1, 1),
)


def block_settings(rows: Sequence[Row]) -> list[MSBlockConfig]:
    """The settings of each block."""
    settings = []
    for count, heads, before, after, kernel, stride, stride_kv in rows:
        kernels = [kernel] * 3 if kernel else [], [3, 3, 3]
        strides = [1, stride, stride] if stride else [], [1, stride_kv, stride_kv]
        settings += [MSBlockConfig(heads, before, after, *kernels, *strides) for _ in range(count)]
    return settings


def _mvit(rows: Sequence[Row], **kwargs: Any) -> MViT:
    """The model of a table, for clips of 16 frames and 224 pixels unless it is said otherwise."""
    second = rows is V2_S
    defaults: dict[str, Any] = {
        "spatial_size": (224, 224),
        "temporal_size": 16,
        "residual_pool": second,
        "residual_with_cls_embed": False,
        "rel_pos_embed": second,
        "proj_after_attn": second,
        "stochastic_depth_prob": 0.2,
    }
    return MViT(block_setting=block_settings(rows), **{**defaults, **kwargs})


def _clips_of(weights: WeightsEnum, kwargs: dict[str, Any]) -> None:
    """The published weights hold positions for clips of one size."""
    _ovewrite_named_param(kwargs, "spatial_size", weights.meta["min_size"])
    _ovewrite_named_param(kwargs, "temporal_size", weights.meta["min_temporal_size"])


mvit_v1_b = builder("mvit_v1_b", MViT_V1_B_Weights, _mvit, V1_B, adapt=_clips_of, former="KINETICS400_V1")
mvit_v2_s = builder("mvit_v2_s", MViT_V2_S_Weights, _mvit, V2_S, adapt=_clips_of, former="KINETICS400_V1")
