"""Vision Transformer: a transformer encoder over patches of the picture (arXiv:2010.11929)."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import weft
from weft import Tensor, nn
from weft.nn import functional as F
from weft.vision.models._api import WeightsEnum, pretrained
from weft.vision.models._utils import _ovewrite_named_param, builder, check, initialize
from weft.vision.ops.misc import MLP, Conv2dNormActivation

__all__ = [
    "ViT_B_16_Weights",
    "ViT_B_32_Weights",
    "ViT_H_14_Weights",
    "ViT_L_16_Weights",
    "ViT_L_32_Weights",
    "VisionTransformer",
    "vit_b_16",
    "vit_b_32",
    "vit_h_14",
    "vit_l_16",
    "vit_l_32",
]

Maker = Callable[..., nn.Module]
_LayerNorm = partial(nn.LayerNorm, eps=1e-6)


class ViT_B_16_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("vit_b_16-c867db91.pth")
    IMAGENET1K_SWAG_E2E_V1 = pretrained("vit_b_16_swag-9ac1b537.pth")
    IMAGENET1K_SWAG_LINEAR_V1 = pretrained("vit_b_16_lc_swag-4e70ced5.pth")
    DEFAULT = IMAGENET1K_V1


class ViT_B_32_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("vit_b_32-d86f8d99.pth")
    DEFAULT = IMAGENET1K_V1


class ViT_H_14_Weights(WeightsEnum):
    IMAGENET1K_SWAG_E2E_V1 = pretrained("vit_h_14_swag-80465313.pth")
    IMAGENET1K_SWAG_LINEAR_V1 = pretrained("vit_h_14_lc_swag-c1eb923e.pth")
    DEFAULT = IMAGENET1K_SWAG_E2E_V1


class ViT_L_16_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("vit_l_16-852ce7e3.pth")
    IMAGENET1K_SWAG_E2E_V1 = pretrained("vit_l_16_swag-4f3808c9.pth")
    IMAGENET1K_SWAG_LINEAR_V1 = pretrained("vit_l_16_lc_swag-4d563306.pth")
    DEFAULT = IMAGENET1K_V1


class ViT_L_32_Weights(WeightsEnum):
    IMAGENET1K_V1 = pretrained("vit_l_32-c7638314.pth")
    DEFAULT = IMAGENET1K_V1


class ConvStemConfig(NamedTuple):
    """One convolution in place of the projection of patches (arXiv:2106.14881)."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Maker = nn.BatchNorm2d
    activation_layer: Maker = nn.ReLU


class MLPBlock(MLP):
    """Two linear layers with GELU between them."""

    _version = 2  # the first called the layers linear_1 and linear_2

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        initialize_mlp(self)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *args: Any
    ) -> None:
        if local_metadata.get("version") is None or local_metadata["version"] < 2:
            for old, new in (("linear_1", "0"), ("linear_2", "3")):
                for name in ("weight", "bias"):
                    if f"{prefix}{old}.{name}" in state_dict:
                        state_dict[f"{prefix}{new}.{name}"] = state_dict.pop(f"{prefix}{old}.{name}")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


def initialize_mlp(model: nn.Module) -> None:
    """Set the linear layers' weights to Xavier's uniform distribution, their biases to nearly 0."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.normal_(module.bias, std=1e-6)


class EncoderBlock(nn.Module):
    """Attention and an `MLPBlock`, each after a normalization and beside a shortcut."""

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Maker = _LayerNorm,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: Tensor) -> Tensor:
        """Return what follows the block, of the shape (N, L, hidden_dim) of the input."""
        check(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Add an embedding of the place to each patch, and run the blocks."""

    def __init__(
        self,
        seq_length: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Maker = _LayerNorm,
    ) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(weft.empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        sizes = (num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer)
        blocks = OrderedDict((f"encoder_layer_{index}", EncoderBlock(*sizes)) for index in range(num_layers))
        self.layers = nn.Sequential(blocks)
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: Tensor) -> Tensor:
        """Return the states, of the shape (N, L, hidden_dim) of the input."""
        check(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """A transformer over patches, for pictures (N, 3, image_size, image_size).

    Parameters
    ----------
    image_size, patch_size : int
    num_layers, num_heads, hidden_dim, mlp_dim : int
        Of the encoder.
    dropout, attention_dropout : float
    num_classes : int
    representation_size : int, optional
        The width of a layer before the classifier.
    norm_layer : callable, default LayerNorm
    conv_stem_configs : list of ConvStemConfig, optional
        Convolutions in place of the projection of patches.

    Raises
    ------
    AssertionError
        If the picture is not a whole number of patches wide.
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: Maker = _LayerNorm,
        conv_stem_configs: list[ConvStemConfig] | None = None,
    ) -> None:
        super().__init__()
        if image_size % patch_size != 0:
            raise AssertionError(f"Input shape indivisible by patch size! {image_size} is no multiple of {patch_size}")
        self.image_size = image_size
        self.patch_size = patch_size
        self.hidden_dim = hidden_dim
        self.mlp_dim = mlp_dim
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.num_classes = num_classes
        self.representation_size = representation_size
        self.norm_layer = norm_layer
        if conv_stem_configs is None:
            self.conv_proj: nn.Module = nn.Conv2d(3, hidden_dim, kernel_size=patch_size, stride=patch_size)
        else:
            self.conv_proj = _conv_stem(conv_stem_configs, hidden_dim)
        self.class_token = nn.Parameter(weft.zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        sizes = (num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer)
        self.encoder = Encoder(self.seq_length, *sizes)
        self.heads = _heads(hidden_dim, representation_size, num_classes)
        self._initialize()

    def _initialize(self) -> None:
        proj = self.conv_proj
        if isinstance(proj, nn.Conv2d):
            fan_in = proj.in_channels * proj.kernel_size[0] * proj.kernel_size[1]
            initialize(proj, lambda conv: nn.init.trunc_normal_(conv.weight, std=math.sqrt(1 / fan_in)))
        else:
            nn.init.normal_(proj.conv_last.weight, mean=0.0, std=math.sqrt(2.0 / proj.conv_last.out_channels))
            nn.init.zeros_(proj.conv_last.bias)
        if self.representation_size is not None:
            before = self.heads.pre_logits
            nn.init.trunc_normal_(before.weight, std=math.sqrt(1 / before.in_features))
            nn.init.zeros_(before.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def _process_input(self, x: Tensor) -> Tensor:
        """The patches (N, L, hidden_dim) of pictures (N, 3, H, W), row by row."""
        count, _, height, width = x.shape
        size, patch = self.image_size, self.patch_size
        check(height == size, f"Wrong image height! Expected {size} but got {height}!")
        check(width == size, f"Wrong image width! Expected {size} but got {width}!")
        rows, columns = height // patch, width // patch
        return self.conv_proj(x).reshape(count, self.hidden_dim, rows * columns).permute(0, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, num_classes)."""
        patches = self._process_input(x)
        count = patches.shape[0]
        token = self.class_token.expand(count, -1, -1)
        states = self.encoder(weft.cat([token, patches], dim=1))
        return self.heads(states[:, 0])


def _conv_stem(configs: list[ConvStemConfig], hidden_dim: int) -> nn.Sequential:
    stem, width = nn.Sequential(), 3
    for index, config in enumerate(configs):
        sizes = (config.out_channels, config.kernel_size, config.stride)
        layers: dict[str, Any] = {"norm_layer": config.norm_layer, "activation_layer": config.activation_layer}
        stem.add_module(f"conv_bn_relu_{index}", Conv2dNormActivation(width, *sizes, **layers))
        width = config.out_channels
    stem.add_module("conv_last", nn.Conv2d(width, hidden_dim, kernel_size=1))
    return stem


def _heads(hidden_dim: int, representation_size: int | None, num_classes: int) -> nn.Sequential:
    layers: dict[str, nn.Module] = OrderedDict()
    if representation_size is not None:
        layers["pre_logits"] = nn.Linear(hidden_dim, representation_size)
        layers["act"] = nn.Tanh()
        hidden_dim = representation_size
    layers["head"] = nn.Linear(hidden_dim, num_classes)
    return nn.Sequential(layers)


def interpolate_embeddings(
    image_size: int,
    patch_size: int,
    model_state: dict[str, Tensor],
    interpolation_mode: str = "bicubic",
    reset_heads: bool = False,
) -> dict[str, Tensor]:
    """Resample the embeddings of the places in a state, so that it fits a model of another image size.

    Parameters
    ----------
    image_size, patch_size : int
        Of the model that is to load the state.
    model_state : dict
        Changed in place.
    interpolation_mode : str
        As for `weft.nn.functional.interpolate`.
    reset_heads : bool
        Leave out the classifier, if the size is another.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If the embeddings have another shape than (1, L, hidden_dim), or their places are no square.
    """
    embedding = model_state["encoder.pos_embedding"]
    count, length, hidden_dim = embedding.shape
    if count != 1:
        raise ValueError(f"Unexpected position embedding shape: {tuple(embedding.shape)}")
    size = image_size // patch_size
    if size * size == length - 1:
        return model_state
    before = math.isqrt(length - 1)
    if before * before != length - 1:
        raise ValueError(f"seq_length is not a perfect square! Without the class token it is {length - 1}")
    token, places = embedding[:, :1, :], embedding[:, 1:, :]
    grid = places.permute(0, 2, 1).reshape(1, hidden_dim, before, before)
    grid = F.interpolate(grid, size=size, mode=interpolation_mode, align_corners=True)
    places = grid.reshape(1, hidden_dim, size * size).permute(0, 2, 1)
    model_state["encoder.pos_embedding"] = weft.cat([token, places], dim=1)
    if not reset_heads:
        return model_state
    return OrderedDict((name, value) for name, value in model_state.items() if not name.startswith("heads"))


def _fix_image_size(weights: WeightsEnum, kwargs: dict[str, Any]) -> None:
    _ovewrite_named_param(kwargs, "image_size", weights.meta["min_size"][0])


def _vit(name: str, weights: type[WeightsEnum], **sizes: Any) -> Callable[..., VisionTransformer]:
    return builder(name, weights, partial(VisionTransformer, image_size=224), adapt=_fix_image_size, **sizes)


_base = {"num_layers": 12, "num_heads": 12, "hidden_dim": 768, "mlp_dim": 3072}
_large = {"num_layers": 24, "num_heads": 16, "hidden_dim": 1024, "mlp_dim": 4096}
_huge = {"num_layers": 32, "num_heads": 16, "hidden_dim": 1280, "mlp_dim": 5120}
vit_b_16 = _vit("vit_b_16", ViT_B_16_Weights, patch_size=16, **_base)
vit_b_32 = _vit("vit_b_32", ViT_B_32_Weights, patch_size=32, **_base)
vit_l_16 = _vit("vit_l_16", ViT_L_16_Weights, patch_size=16, **_large)
vit_l_32 = _vit("vit_l_32", ViT_L_32_Weights, patch_size=32, **_large)
vit_h_14 = _vit("vit_h_14", ViT_H_14_Weights, patch_size=14, **_huge)
