"""A decoder of text that can be read: GPT-2, Llama, Mistral and Qwen are one program with different settings.

    tokens -> embedding -> blocks: x + attention(norm(x)), then x + mlp(norm(x)) -> norm -> logits of the next token

GPT-2 adds a learned vector for each position, normalizes by layer norm and has one hidden layer in its MLP. The
others rotate queries and keys by their positions (RoPE), use RMS norm, gate the hidden layer (SwiGLU), and share each
head of keys and values among several of queries.
"""

from __future__ import annotations

import weft
from weft import Tensor, nn
from weft.nn import functional
from weft.text.models.cache import KeyValueCache, Visible, visible
from weft.text.models.configuration import DecoderConfig, stored_decoder
from weft.text.models.pretrained import ACTIVATIONS, Folder, load_weights, read_config, read_weights, save_weights
from weft.text.models.rotary import rotary_frequencies, rotate


class Attention(nn.Module):
    """Each token's mean of the values at the tokens before it, weighted by how well their keys fit its query."""

    def __init__(self, config: DecoderConfig, layer: int) -> None:
        super().__init__()
        self.layer, self.scale = layer, config.scales[layer]
        self.heads, self.shared = config.num_attention_heads, config.num_key_value_heads
        self.width = config.head_dim
        outputs = (self.heads + 2 * self.shared) * self.width
        self.query_key_value = nn.Linear(config.hidden_size, outputs, bias=config.attention_bias)
        self.output = nn.Linear(self.heads * self.width, config.hidden_size, bias=config.output_bias)
        if config.query_key_norm:
            self.query_norm = nn.RMSNorm(self.width, config.norm_eps)
            self.key_norm = nn.RMSNorm(self.width, config.norm_eps)
        self.query_key_norm = config.query_key_norm

    def forward(
        self, x: Tensor, rotation: tuple[Tensor, Tensor] | None, seen: Visible, cache: KeyValueCache | None
    ) -> Tensor:
        batch, length, _ = x.shape
        states = self.query_key_value(x).view(batch, length, -1, self.width).transpose(1, 2)  # (B, H + 2 K, T, D)
        query_key, value = states[:, : -self.shared], states[:, -self.shared :]
        if self.query_key_norm:
            query, key = query_key[:, : self.heads], query_key[:, self.heads :]
            query_key = weft.cat((self.query_norm(query), self.key_norm(key)), 1)
        if rotation is not None:
            query_key = rotate(query_key, *rotation)
        query, key = query_key[:, : self.heads], query_key[:, self.heads :]
        if cache is not None:
            key, value = cache.append(self.layer, key, value, seen.first)
        return self.output(self.attend(query, key, value, seen).transpose(1, 2).reshape(batch, length, -1))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, seen: Visible) -> Tensor:
        """Return the means, (B, H, T, D)."""
        settings = (seen.mask, 0.0, seen.is_causal, self.scale)
        is_grouped = self.heads != self.shared
        if not is_grouped or query.shape[2] > 1:
            return functional.scaled_dot_product_attention(query, key, value, *settings, enable_gqa=is_grouped)
        # one token: the queries that share keys stand below each other, and no key is copied
        grouped = query.reshape(query.shape[0], self.shared, -1, self.width)
        return functional.scaled_dot_product_attention(grouped, key, value, *settings).reshape(query.shape)


class MLP(nn.Module):
    """A hidden layer for each token by itself; with a gate, half of it decides how much of the other passes."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.is_gated = not config.is_gpt2
        inner = config.intermediate_size
        self.up = nn.Linear(config.hidden_size, 2 * inner if self.is_gated else inner, bias=config.mlp_bias)
        self.down = nn.Linear(inner, config.hidden_size, bias=config.mlp_bias)
        self.activation = ACTIVATIONS[config.hidden_act]

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.up(x)
        if not self.is_gated:
            return self.down(self.activation(hidden))
        inner = hidden.shape[-1] // 2
        return self.down(self.activation(hidden[..., :inner]) * hidden[..., inner:])


class Block(nn.Module):
    """Attention and an MLP, each added to what came in."""

    def __init__(self, config: DecoderConfig, layer: int) -> None:
        super().__init__()
        self.attention_norm = _norm(config)
        self.attention = Attention(config, layer)
        self.mlp_norm = _norm(config)
        self.mlp = MLP(config)

    def forward(
        self, x: Tensor, rotation: tuple[Tensor, Tensor] | None, seen: Visible, cache: KeyValueCache | None
    ) -> Tensor:
        x = x + self.attention(self.attention_norm(x), rotation, seen, cache)
        return x + self.mlp(self.mlp_norm(x))


def _norm(config: DecoderConfig) -> nn.Module:
    return (nn.LayerNorm if config.is_gpt2 else nn.RMSNorm)(config.hidden_size, config.norm_eps)


class Decoder(nn.Module):
    """Tokens to logits of the token after each: GPT-2, Llama, Mistral, Qwen 2 and Qwen 3.

    There is no dropout: what transformers computes in eval mode, this computes in both.

    Parameters
    ----------
    config : DecoderConfig

    Examples
    --------
    >>> sizes = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
    >>> config = DecoderConfig.from_dict({"model_type": "llama", "num_hidden_layers": 1, **sizes})
    >>> Decoder(config)(weft.tensor([[3, 1, 4]])).shape
    weft.Size([1, 3, 50])
    """

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        if config.is_gpt2:
            self.positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.num_hidden_layers))
        self.norm = _norm(config)
        if not config.tie_word_embeddings:
            self.head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self._frequencies = None if config.rope is None else rotary_frequencies(config.head_dim, config.rope)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    @classmethod
    def from_pretrained(cls, path: Folder, *, dtype: weft.dtype | None = None) -> Decoder:
        """Read a folder with ``config.json`` and ``model.safetensors``, or its shards.

        Parameters
        ----------
        path : str or path
        dtype : weft.dtype, optional
            Of the weights; by default as they are in the file.

        Returns
        -------
        Decoder, in eval mode

        Raises
        ------
        FileNotFoundError
            If one of the files is missing.
        ValueError
            If the model is of another family, has a setting that is not implemented, or the weights do not fit.
        """
        config = DecoderConfig.from_dict(read_config(path))
        with weft.device("meta"):  # no numbers are drawn for weights that are read
            model = cls(config)
        load_weights(model, read_weights(path), stored_decoder(config, model.state_dict()), dtype)
        return model.eval()

    def save_pretrained(self, path: Folder) -> None:
        """Write the folder that `from_pretrained` reads, and transformers' ``AutoModelForCausalLM`` as well."""
        prefix = "transformer." if self.config.is_gpt2 else "model."
        save_weights(self, path, stored_decoder(self.config, self.state_dict()), self.config.source, prefix)

    def make_cache(self, batch_size: int, max_length: int) -> KeyValueCache:
        """Return a cache with room for so many tokens; ``max_length`` is that of prompt and continuation."""
        if self.config.is_gpt2 and max_length > self.config.max_position_embeddings:
            raise ValueError(
                f"Decoder: {max_length} tokens are more than its {self.config.max_position_embeddings} learned "
                f"positions; add fewer, or give generate a block_size of at most {self.config.max_position_embeddings}"
            )
        weight = self.tokens.weight
        cache = KeyValueCache(self.config, batch_size, max_length, dtype=weight.dtype, device=weight.device)
        cache.rotation = self._rotation(weft.arange(max_length, device=weight.device), weight.dtype)
        return cache

    def forward(
        self,
        tokens: Tensor,
        attention_mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
        logits_to_keep: int = 0,
    ) -> Tensor:
        """Compute the logits of the token after each.

        Parameters
        ----------
        tokens : Tensor, int64, shape (B, T)
        attention_mask : Tensor, shape (B, T), or (B, cache.length + T) with a cache, optional
            1 or True for tokens, 0 for padding, on whichever side. Positions are counted without the padding.
        cache : KeyValueCache, optional
            Of what came before; these tokens are added to it. For use without gradients.
        logits_to_keep : int, default 0
            Only the logits of so many last tokens; 0 is all.

        Returns
        -------
        Tensor, shape (B, T or logits_to_keep, vocab_size)

        Raises
        ------
        ValueError
            If the tokens or the mask have another shape, or there are more tokens than positions, or room.
        """
        start = 0 if cache is None else cache.length
        self._check(tokens, attention_mask, cache, start)
        x = self.tokens(tokens)
        rotation = None
        if cache is not None and cache.rotation is not None and attention_mask is None:
            rotation = cache.rotation_of(tokens.shape[1])
        else:
            positions = _positions(tokens, start, attention_mask)
            x = x + self.positions(positions) if self.config.is_gpt2 else x
            rotation = self._rotation(positions, x.dtype)
        seen = {window: visible(tokens, start, window, attention_mask) for window in set(self.config.windows)}
        for block, window in zip(self.blocks, self.config.windows):
            x = block(x, rotation, seen[window], cache)
        if cache is not None:
            cache.length = start + tokens.shape[1]
        x = self.norm(x[:, -logits_to_keep:])
        return functional.linear(x, self.tokens.weight) if self.config.tie_word_embeddings else self.head(x)

    def _rotation(self, positions: Tensor, dtype: weft.dtype) -> tuple[Tensor, Tensor] | None:
        """Return cosines and signed sines of the angles, (T, D) or (B, 1, T, D)."""
        if self._frequencies is None:
            return None
        frequencies, factor = self._frequencies
        angles = positions[..., None] * frequencies.to(positions.device)
        if positions.dim() == 2:
            angles = angles[:, None]
        cos, sin = angles.cos() * factor, angles.sin() * factor
        return weft.cat((cos, cos), -1).to(dtype), weft.cat((-sin, sin), -1).to(dtype)

    def _check(self, tokens: Tensor, attention_mask: Tensor | None, cache: KeyValueCache | None, start: int) -> None:
        if tokens.dim() != 2 or tokens.shape[1] == 0:
            raise ValueError(f"Decoder: tokens must be (B, T) with at least one token, got {tuple(tokens.shape)}")
        end = start + tokens.shape[1]
        if attention_mask is not None and attention_mask.shape != (tokens.shape[0], end):
            raise ValueError(
                f"Decoder: attention_mask must be {(tokens.shape[0], end)}: of the {start} tokens in the cache and of "
                f"the new ones; got {tuple(attention_mask.shape)}"
            )
        if self.config.is_gpt2 and end > self.config.max_position_embeddings:
            raise ValueError(
                f"Decoder: {end} tokens are more than its {self.config.max_position_embeddings} learned positions"
            )
        if cache is not None and end > cache.max_length:
            raise ValueError(f"Decoder: {end} tokens are more than the cache has room for ({cache.max_length})")


def _positions(tokens: Tensor, start: int, attention_mask: Tensor | None) -> Tensor:
    """Return the tokens' positions, (T,), or (B, T) where padding is not counted."""
    if attention_mask is None:
        return weft.arange(start, start + tokens.shape[1], device=tokens.device)
    return (attention_mask.long().cumsum(-1) - 1).clamp(min=0)[:, start:]
