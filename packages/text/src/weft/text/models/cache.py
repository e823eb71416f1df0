"""What a decoder keeps of the tokens before, and which of them a query sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import weft
from weft import Tensor
from weft.text.models.configuration import DecoderConfig


@dataclass(frozen=True)
class Visible:
    """Which keys the queries see: from the key ``first`` on those of a mask, those before each query, or all."""

    first: int
    mask: Tensor | None = None
    is_causal: bool = False


def visible(tokens: Tensor, start: int, window: int | None, attention_mask: Tensor | None) -> Visible:
    """Return what queries of the places from ``start`` on see; masks are made only where nothing simpler will do."""
    length, first = tokens.shape[1], 0
    if attention_mask is None:
        first = 0 if window is None else max(0, start + 1 - window)
        if length == 1:
            return Visible(first)
        if start == 0 and (window is None or length <= window):
            return Visible(first, is_causal=True)
    queries = weft.arange(start, start + length, device=tokens.device)[:, None]
    keys = weft.arange(first, start + length, device=tokens.device)
    mask = keys <= queries
    if window is not None:
        mask = mask & (keys > queries - window)
    if attention_mask is not None:
        mask = mask & attention_mask.bool()[:, None, None, first:]  # (B, 1, T, S)
    return Visible(first, mask)


class KeyValueCache:
    """The keys and values of the tokens that a decoder has seen: it computes those of new tokens alone.

    Parameters
    ----------
    config : DecoderConfig
    batch_size : int
    max_length : int
        Tokens that there is room for.
    dtype, device
        Of the keys and values.
    """

    def __init__(self, config: DecoderConfig, batch_size: int, max_length: int, **options: Any) -> None:
        shape = (batch_size, config.num_key_value_heads, max_length, config.head_dim)
        self.max_length = max_length
        self.length = 0  # the tokens seen so far; the decoder counts them when all blocks have theirs
        self.rotation: tuple[Tensor, Tensor] | None = None  # cosines and sines of all positions, (max_length, D)
        self._layers = [
            (weft.zeros(shape, **options), weft.zeros(shape, **options)) for _ in range(config.num_hidden_layers)
        ]

    def append(self, layer: int, key: Tensor, value: Tensor, first: int) -> tuple[Tensor, Tensor]:
        """Keep the keys and values of new tokens, (B, H, T, D); return all from the place ``first`` on."""
        keys, values = self._layers[layer]
        end = self.length + key.shape[2]
        keys[:, :, self.length : end] = key.detach() if key.requires_grad else key
        values[:, :, self.length : end] = value.detach() if value.requires_grad else value
        return keys[:, :, first:end], values[:, :, first:end]

    def rotation_of(self, length: int) -> tuple[Tensor, Tensor]:
        """Return the cosines and sines of the positions of so many new tokens."""
        assert self.rotation is not None
        cos, sin = self.rotation
        end = self.length + length
        return cos[self.length : end], sin[self.length : end]
