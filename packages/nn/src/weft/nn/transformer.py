"""The transformer of "Attention is all you need" (arXiv:1706.03762): layers, stacks of them, and the whole."""

from __future__ import annotations

import copy
from collections.abc import Callable
from inspect import unwrap
from typing import Any, ClassVar

import weft
from weft import Tensor
from weft.library.checks import values_known
from weft.nn import functional as F
from weft.nn import init
from weft.nn._docstrings import documented, sections_of
from weft.nn._types import DeviceLike, DType
from weft.nn.activation import GELU, ReLU
from weft.nn.containers import ModuleList
from weft.nn.dropout import Dropout
from weft.nn.functional.attention import same_mask_dtypes
from weft.nn.linear import Linear
from weft.nn.module import Module
from weft.nn.multihead_attention import MultiheadAttention
from weft.nn.normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = Callable[[Tensor], Tensor]


class _TransformerLayer(Module):
    """Attentions and a two-layer network, each with a residual connection and a layer norm.

    Parameters
    ----------
    d_model : int
        The size of each position's vector.
    nhead : int
        The number of attention heads.
    dim_feedforward : int
        The size of the network's hidden layer.
    dropout : float
    activation : "relu", "gelu" or callable
        Of the hidden layer.
    layer_norm_eps : float
        The ``eps`` of the layer norms.
    batch_first : bool
        Whether inputs and outputs are (N, S, E) rather than (S, N, E).
    norm_first : bool
        Whether the norms come before attention and network rather than after the residual connections.
    bias : bool
        Whether linear maps and norms have biases.
    device, dtype : optional
        Of the parameters.
    """

    _attentions: ClassVar[tuple[str, ...]] = ("self_attn",)
    activation: Activation

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **factory))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **factory)
        self.norm_first = norm_first
        blocks = range(1, len(self._attentions) + 2)
        for number in blocks:
            setattr(self, f"norm{number}", LayerNorm(d_model, layer_norm_eps, bias=bias, **factory))
        for number in blocks:
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _activation_named(activation)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("activation", F.relu)

    def _sa_block(self, x: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Tensor:
        x = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )[0]
        return self.dropout1(x)


LAYER: str = sections_of(_TransformerLayer).removeprefix("Parameters\n----------\n")


@documented(parameters=LAYER)
class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and a two-layer network, each with a residual connection and a layer norm.

    Parameters
    ----------
    {parameters}

    Shapes
    ------
    src, output : (S, N, d_model), or (N, S, d_model) with ``batch_first``; N may be absent
    src_mask : (S, S) or (N * nhead, S, S)
    src_key_padding_mask : (N, S)

    Raises
    ------
    AssertionError
        If ``d_model`` is not divisible by ``nhead``.
    RuntimeError
        If ``activation`` is another string.

    References
    ----------
    arXiv:1706.03762, section 3.1; arXiv:2002.04745 for ``norm_first``.

    Examples
    --------
    >>> layer = weft.nn.TransformerEncoderLayer(16, 4, dim_feedforward=32, batch_first=True)
    >>> layer(weft.randn(2, 5, 16)).shape
    weft.Size([2, 5, 16])
    """

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Encode ``src``; masks as in `MultiheadAttention`."""
        padding, mask = _as_scores(src_key_padding_mask, src_mask, src.dtype)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, mask, padding, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


@documented(parameters=LAYER)
class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to an encoder's output, and a two-layer network.

    Each has a residual connection and a layer norm.

    Parameters
    ----------
    {parameters}

    Shapes
    ------
    tgt, output : (T, N, d_model), or (N, T, d_model) with ``batch_first``; N may be absent
    memory : (S, N, d_model), likewise
    tgt_mask, memory_mask : (T, T) and (T, S), or with N * nhead before
    tgt_key_padding_mask, memory_key_padding_mask : (N, T) and (N, S)

    Raises
    ------
    AssertionError
        If ``d_model`` is not divisible by ``nhead``.
    RuntimeError
        If ``activation`` is another string.

    Examples
    --------
    >>> layer = weft.nn.TransformerDecoderLayer(16, 4, dim_feedforward=32, batch_first=True)
    >>> layer(weft.randn(2, 5, 16), memory=weft.randn(2, 7, 16)).shape
    weft.Size([2, 5, 16])
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Decode ``tgt``, attending to ``memory``; masks as in `MultiheadAttention`."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        return self.norm3(x + self._ff_block(x))

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Tensor:
        x = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )[0]
        return self.dropout2(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """A stack of encoder layers.

    Parameters
    ----------
    encoder_layer : Module
        Copied for each layer, its initial values included.
    num_layers : int
    norm : Module, optional
        After the last layer.
    enable_nested_tensor : bool
        Whether an inference leaves padded positions out: 0 before ``norm``, instead of what the layers make of padding.
        As in PyTorch, only of layers that it has a fused kernel for (normalized last, batch first, with biases, an even
        number of heads), in eval mode, without gradients, with a padding mask and no other.
    mask_check : bool
        Leave positions out only if each sequence's padding is at its end.

    Shapes
    ------
    src, output : (S, N, E), or (N, S, E) with ``batch_first`` in the layers; N may be absent
    mask : (S, S) or (N * nhead, S, S)
    src_key_padding_mask : (N, S)

    Examples
    --------
    >>> layer = weft.nn.TransformerEncoderLayer(16, 4, dim_feedforward=32, batch_first=True)
    >>> encoder = weft.nn.TransformerEncoder(layer, num_layers=2)
    >>> padding = weft.tensor([[False, False, False], [False, False, True]])
    >>> encoder(weft.randn(2, 3, 16), src_key_padding_mask=padding).shape
    weft.Size([2, 3, 16])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor and _has_fused_kernel(encoder_layer)
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Encode ``src``; masks as in `MultiheadAttention`. ``is_causal=None`` looks whether ``mask`` is causal."""
        padding, mask = _as_scores(src_key_padding_mask, mask, src.dtype)
        causal = _is_causal(mask, is_causal)
        left_out = self._left_out(src, padding) if mask is None and padding is not None else None
        if left_out is not None and padding is not None:
            padding = padding.masked_fill(left_out, float("-inf"))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if left_out is not None:
            output = output.masked_fill(left_out.unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _left_out(self, src: Tensor, padding: Tensor) -> Tensor | None:
        """Return where an inference that skips padding writes zeros; None if this call cannot skip it."""
        first = self.layers[0]
        if not getattr(self, "use_nested_tensor", False) or first.training or src.dim() != 3:
            return None
        if not weft.backends.mha.get_fastpath_enabled() or weft.is_autocast_enabled(src.device.type):
            return None
        used = (src, *first.parameters())
        if weft.is_grad_enabled() and any(tensor.requires_grad for tensor in used):
            return None
        hidden = padding != 0
        if not self.mask_check:
            return hidden
        ragged = (hidden[:, :-1] & ~hidden[:, 1:]).any()
        if not values_known(ragged):
            return hidden & ~ragged
        return None if bool(ragged) else hidden


class TransformerDecoder(Module):
    """A stack of decoder layers.

    Parameters
    ----------
    decoder_layer : Module
        Copied for each layer, its initial values included.
    num_layers : int
    norm : Module, optional
        After the last layer.

    Shapes
    ------
    tgt, output : (T, N, E), or (N, T, E) with ``batch_first`` in the layers; N may be absent
    memory : (S, N, E), likewise
    tgt_mask, memory_mask : (T, T) and (T, S), or with N * nhead before
    tgt_key_padding_mask, memory_key_padding_mask : (N, T) and (N, S)

    Examples
    --------
    >>> layer = weft.nn.TransformerDecoderLayer(16, 4, dim_feedforward=32, batch_first=True)
    >>> decoder = weft.nn.TransformerDecoder(layer, num_layers=2)
    >>> causal = weft.nn.Transformer.generate_square_subsequent_mask(5)
    >>> decoder(weft.randn(2, 5, 16), weft.randn(2, 7, 16), tgt_mask=causal).shape
    weft.Size([2, 5, 16])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Decode ``tgt``, attending to ``memory``; ``tgt_is_causal=None`` looks whether ``tgt_mask`` is causal."""
        causal = _is_causal(tgt_mask, tgt_is_causal)
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


@documented(parameters=LAYER)
class Transformer(Module):
    """An encoder and a decoder.

    Parameters
    ----------
    num_encoder_layers, num_decoder_layers : int
    custom_encoder, custom_decoder : Module, optional
        Used instead of the standard ones.
    {parameters}

    Shapes
    ------
    src : (S, N, d_model), or (N, S, d_model) with ``batch_first``; N may be absent
    tgt, output : (T, N, d_model), likewise
    src_mask, tgt_mask, memory_mask : (S, S), (T, T) and (T, S), or with N * nhead before
    src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask : (N, S), (N, T) and (N, S)

    Raises
    ------
    RuntimeError
        If batches or the sizes of vectors differ.

    References
    ----------
    arXiv:1706.03762.

    Examples
    --------
    >>> model = weft.nn.Transformer(16, 4, 1, 1, dim_feedforward=32, batch_first=True)
    >>> causal = model.generate_square_subsequent_mask(5)
    >>> model(weft.randn(2, 7, 16), weft.randn(2, 5, 16), tgt_mask=causal).shape
    weft.Size([2, 5, 16])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DType = None,
    ) -> None:
        super().__init__()
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is None:
            encoder_layer = TransformerEncoderLayer(*sizes, **factory)
            encoder_norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory)
            custom_encoder = TransformerEncoder(encoder_layer, num_encoder_layers, encoder_norm)
        self.encoder = custom_encoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*sizes, **factory)
            decoder_norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, decoder_norm)
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Encode ``src`` and decode ``tgt``; masks as in `MultiheadAttention`."""
        self._check(src, tgt)
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    def _check(self, src: Tensor, tgt: Tensor) -> None:
        batch_axis = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_axis) != tgt.size(batch_axis):
            raise RuntimeError(
                f"Transformer: the batch number of src and tgt must be equal, got {tuple(src.shape)} and "
                f"{tuple(tgt.shape)} with batch_first={self.batch_first}"
            )
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(
                f"Transformer: the feature number of src and tgt must be equal to d_model ({self.d_model}), got "
                f"{tuple(src.shape)} and {tuple(tgt.shape)}"
            )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: DeviceLike = None, dtype: DType = None) -> Tensor:
        """Return the causal mask: 0 up to the diagonal, minus infinity above."""
        return _causal_mask(sz, device, dtype)


def _causal_mask(size: int, device: DeviceLike, dtype: DType) -> Tensor:
    return weft.triu(weft.full((size, size), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _is_causal(mask: Tensor | None, is_causal: bool | None) -> bool:
    """Return the hint if there is one, else whether ``mask`` is the causal mask."""
    if is_causal is not None or mask is None or mask.dim() != 2:
        return bool(is_causal)
    if mask.size(0) != mask.size(1) or not values_known(mask):
        return False
    return bool((mask == _causal_mask(mask.size(0), mask.device, mask.dtype)).all())


def _as_scores(padding: Tensor | None, mask: Tensor | None, dtype: Any) -> tuple[Tensor | None, Tensor | None]:
    """Return both masks as numbers to add to the scores: minus infinity where they are True."""
    if padding is not None and mask is not None:
        same_mask_dtypes("src_key_padding_mask", padding, "mask", mask)
    return _scores_of(padding, dtype), _scores_of(mask, dtype)


def _scores_of(mask: Tensor | None, dtype: Any) -> Tensor | None:
    if mask is None or mask.dtype is not weft.bool:
        return mask
    return weft.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(mask, float("-inf"))


FUSED = (unwrap(F.relu), unwrap(F.gelu))  # a function that asks subclasses first stands for the same


def _has_fused_kernel(layer: Module) -> bool:
    """Return whether PyTorch runs an inference of such a layer by one kernel, which skips padding."""
    if not isinstance(layer, TransformerEncoderLayer):
        return False
    attention = layer.self_attn
    return (
        not layer.norm_first
        and attention.batch_first
        and attention._qkv_same_embed_dim
        and attention.in_proj_bias is not None
        and (unwrap(layer.activation) in FUSED or isinstance(layer.activation, (ReLU, GELU)))
        and layer.norm1.eps == layer.norm2.eps
        and attention.num_heads % 2 == 0
    )


def _copies(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _activation_named(activation: str | Activation) -> Activation:
    if not isinstance(activation, str):
        return activation
    named: dict[str, Activation] = {"relu": F.relu, "gelu": F.gelu}
    if activation not in named:
        raise RuntimeError(f"transformer layer: activation should be relu/gelu, not {activation}")
    return named[activation]
