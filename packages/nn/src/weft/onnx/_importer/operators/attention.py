"""Attention in its forms, and rotary embeddings."""

from __future__ import annotations

import math
from typing import Any

import weft
import weft.nn.functional as F
from weft.onnx._importer.operators._common import to_dtype
from weft.onnx._importer.reading import dtype_of
from weft.onnx._importer.registry import PREVIEW, operator

RAW, CAPPED, BIASED, PROBABILITIES = range(4)  # qk_matmul_output_mode


def split_heads(x: Any, num_heads: int) -> Any:
    """(N, L, heads * E) as (N, heads, L, E)."""
    return x.reshape(*x.shape[:2], num_heads, -1).transpose(1, 2)


def join_heads(x: Any) -> Any:
    """(N, heads, L, E) as (N, L, heads * E)."""
    return x.transpose(1, 2).flatten(2)


def padded_mask(mask: Any, length: int) -> Any:
    """A mask for all keys, where a shorter one masks the rest."""
    missing = length - mask.shape[-1]
    if missing <= 0:
        return mask
    return F.pad(mask, [0, missing], value=False if mask.dtype == weft.bool else -math.inf)


def visible(query: Any, keys: int, is_causal: int, left: int, right: int, past: Any, nonpad: Any) -> Any:
    """Which keys each query may see by its position, (N or 1, 1, L, S); None for all.

    A query stands after the keys of the past, or at the end of those that count in a cache from outside.
    """
    length = query.shape[2]
    place = weft.arange(length, device=query.device)[:, None]
    key = weft.arange(keys, device=query.device)
    if past is not None:
        place = place + past.shape[2]
    elif nonpad is not None:
        place = place + (nonpad.reshape(-1, 1, 1, 1) - length)
    seen = None
    if is_causal:
        seen = key <= place
    if left >= 0:
        seen = both(seen, key >= place - left)
    if right >= 0:
        seen = both(seen, key <= place + right)
    if nonpad is not None:
        seen = both(seen, key < nonpad.reshape(-1, 1, 1, 1))
    return seen


def both(first: Any, second: Any) -> Any:
    return second if first is None else first & second


@operator("Attention", frozen="attn_mask")
def attention(
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    nonpad_kv_seqlen: Any = None,
    *,
    is_causal: int = 0,
    kv_num_heads: int | None = None,
    left_window_size: int = -1,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int = 0,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
    outputs: int,
) -> Any:
    is_flat = q.ndim == 3
    if is_flat:
        if not q_num_heads or not kv_num_heads:
            raise ValueError("Attention: inputs of three axes need q_num_heads and kv_num_heads")
        q, k, v = split_heads(q, q_num_heads), split_heads(k, kv_num_heads), split_heads(v, kv_num_heads)
    if past_key is not None:
        k, v = weft.cat([past_key, k], 2), weft.cat([past_value, v], 2)
    mask = None if attn_mask is None else padded_mask(attn_mask, k.shape[2])
    seen = visible(q, k.shape[2], is_causal, left_window_size, right_window_size, past_key, nonpad_kv_seqlen)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    if outputs < 4 and not softcap and softmax_precision is None and q.dtype in (weft.float32, weft.float64):
        y, scores = F.scaled_dot_product_attention(q, k, v, merged(mask, seen), scale=scale, enable_gqa=True), None
    else:
        options = (scale, softcap, softmax_precision, qk_matmul_output_mode)
        y, scores = attend(q, k, v, merged(mask, seen), *options)
    return join_heads(y) if is_flat else y, k, v, scores


def merged(mask: Any, seen: Any) -> Any:
    """One mask of both; a boolean one says what is seen, another is added."""
    if mask is None or seen is None:
        return seen if mask is None else mask
    if mask.dtype == weft.bool:
        return mask & seen
    return weft.where(seen, mask, -math.inf)


def attend(q: Any, k: Any, v: Any, mask: Any, scale: float, softcap: float, precision: Any, mode: int) -> Any:
    """The formula of the specification: the result and, by the mode, the scores at one of its stages."""
    groups = q.shape[1] // k.shape[1]
    k, v = (each.repeat_interleave(groups, 1) if groups > 1 else each for each in (k, v))
    root = weft.tensor(math.sqrt(scale), dtype=q.dtype, device=q.device)
    scores = (q * root) @ (k * root).mT
    stages = [scores]
    if softcap:
        scores = (scores / softcap).tanh() * softcap
    stages.append(scores)
    hidden = None
    if mask is not None:
        bias = weft.where(mask, 0.0, -math.inf) if mask.dtype == weft.bool else mask
        bias = to_dtype(bias, scores.dtype)
        scores, hidden = scores + bias, (bias == -math.inf).all(-1, keepdim=True)
    stages.append(scores)
    weights = F.softmax(scores if precision is None else scores.to(dtype_of(precision)), -1)
    if hidden is not None:
        weights = weft.where(hidden, 0, weights)  # of a query that sees nothing
    weights = to_dtype(weights, q.dtype)
    stages.append(weights)
    return weights @ v, stages[mode]


@operator("FlexAttention", domain=PREVIEW)
def flex_attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    prob_mod: Any = None,
    scale: float | None = None,
    score_mod: Any = None,
    softmax_precision: int | None = None,
) -> Any:
    groups = q.shape[1] // k.shape[1]
    k, v = (each.repeat_interleave(groups, 1) if groups > 1 else each for each in (k, v))
    precision = weft.float64 if q.dtype == weft.float64 else weft.float32
    precision = precision if softmax_precision is None else dtype_of(softmax_precision)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = (q @ k.mT * scale).to(precision)
    if score_mod is not None:
        (scores,) = score_mod(scores)
    weights = F.softmax(scores, -1)
    if prob_mod is not None:
        (weights,) = prob_mod(weights)
    return to_dtype(weights, v.dtype) @ v


@operator("LinearAttention")
def linear_attention(
    query: Any,
    key: Any,
    value: Any,
    past_state: Any = None,
    decay: Any = None,
    beta: Any = None,
    *,
    chunk_size: int = 64,
    kv_num_heads: int,
    q_num_heads: int,
    scale: float = 0.0,
    update_rule: str = "gated_delta",
) -> Any:
    """A state of keys by values, decayed, corrected and read at each step (arXiv:2412.06464, equations 9 and 10)."""
    if (decay is not None) != (update_rule in ("gated", "gated_delta")):
        raise ValueError(f"LinearAttention: the input decay and update_rule {update_rule!r} do not fit")
    if (beta is not None) != (update_rule in ("delta", "gated_delta")):
        raise ValueError(f"LinearAttention: the input beta and update_rule {update_rule!r} do not fit")
    q = split_heads(query, q_num_heads).float()
    k, v = split_heads(key, kv_num_heads).float(), split_heads(value, kv_num_heads).float()
    batch, _, length, width = k.shape
    kind = query.dtype if past_state is None else past_state.dtype
    state = q.new_zeros(batch, kv_num_heads, width, v.shape[-1]) if past_state is None else past_state.float()
    factor = 1 / math.sqrt(width) if scale == 0 else scale
    kept = None if decay is None else split_heads(decay, kv_num_heads).float().exp()  # (N, heads, L, 1 or width)
    rate = None if beta is None else beta.float().transpose(1, 2)[..., None]  # (N, heads or 1, L, 1)
    read = []
    for step in range(length):
        k_t, v_t = k[:, :, step], v[:, :, step]
        if kept is not None:
            state = state * kept[:, :, step, :, None]
        if rate is not None:
            v_t = rate[:, :, step] * (v_t - (k_t[..., None, :] @ state).squeeze(-2))
        state = state + k_t[..., :, None] * v_t[..., None, :]
        seen = state.repeat_interleave(q_num_heads // kv_num_heads, 1)
        read.append(factor * (q[:, :, step, None, :] @ seen).squeeze(-2))
    y = weft.stack(read, 2) if read else q.new_zeros(batch, q_num_heads, 0, v.shape[-1])
    return to_dtype(join_heads(y), query.dtype), state.to(kind)


@operator("RotaryEmbedding", frozen="cos_cache sin_cache")
def rotary_embedding(
    x: Any,
    cos_cache: Any,
    sin_cache: Any,
    position_ids: Any = None,
    *,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
) -> Any:
    is_flat = x.ndim == 3
    heads = split_heads(x, num_heads) if is_flat else x  # (N, heads, L, E)
    width = rotary_embedding_dim or heads.shape[-1]
    if position_ids is not None:
        cos_cache, sin_cache = cos_cache[position_ids], sin_cache[position_ids]
    cos, sin = cos_cache.unsqueeze(1), sin_cache.unsqueeze(1)  # (N, 1, L, width / 2)
    turned, rest = heads[..., :width], heads[..., width:]
    a, b = (turned[..., 0::2], turned[..., 1::2]) if interleaved else turned.chunk(2, -1)
    real, imaginary = cos * a - sin * b, sin * a + cos * b
    turned = weft.stack([real, imaginary], -1).flatten(-2) if interleaved else weft.cat([real, imaginary], -1)
    result = weft.cat([turned, rest], -1) if rest.shape[-1] else turned
    return join_heads(result) if is_flat else result
