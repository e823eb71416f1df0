"""Attention: values averaged by how well their keys fit a query."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Tensor
from weft.nn.functional.dropout import dropout

__all__ = ["scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key.mT / sqrt(E)) @ value``.

    Parameters
    ----------
    query : Tensor, shape (..., H, L, E)
    key : Tensor, shape (..., H, S, E)
    value : Tensor, shape (..., H, S, E')
    attn_mask : Tensor, broadcastable to (..., H, L, S), optional
        True keeps a key for a query; numbers are added to the scores.
    dropout_p : float
        Probability with which a weight is zeroed.
    is_causal : bool
        A query sees only the keys up to its own place.
    scale : float, optional
        In place of ``1 / sqrt(E)``.
    enable_gqa : bool
        Query may have a multiple of the others' heads.

    Returns
    -------
    Tensor, shape (..., H, L, E').

    References
    ----------
    arXiv:1706.03762, equation 1.
    """
    check_attention(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = weft.matmul(query * factor, key.mT)  # (..., L, S)
    if is_causal:
        attn_mask = weft.ones(scores.shape[-2:], dtype=weft.bool, device=query.device).tril()
    empty = None
    if attn_mask is not None and attn_mask.dtype is weft.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
        empty = None if is_causal else ~attn_mask.any(-1, keepdim=True)  # a query that sees nothing gets zeros
    elif attn_mask is not None:
        scores = scores + attn_mask
        empty = (attn_mask == -math.inf).all(-1, keepdim=True)
    weights = scores.softmax(-1)
    if empty is not None and empty.any():
        weights = weights.masked_fill(empty, 0)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p)
    return weft.matmul(weights, value)  # (..., L, E')


def check_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    name = "scaled_dot_product_attention"
    for argument, each in (("query", query), ("key", key), ("value", value)):
        if each.ndim < 2:
            raise RuntimeError(
                f"{name}: Expected query, key, and value to each be at least 2 dimensional, but got {argument} of shape "
                f"{list(each.shape)}"
            )
        if each.dtype is not query.dtype:
            raise RuntimeError(
                f"{name}: Expected query, key, and value to have the same dtype, but got {query.dtype} and {argument} of "
                f"{each.dtype}"
            )
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise RuntimeError(
            f"{name}: query (..., L, E), key (..., S, E) and value (..., S, E') do not fit together: got "
            f"{tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}"
        )
    if attn_mask is not None:
        if is_causal:
            raise RuntimeError(f"{name}: Explicit attn_mask should not be set when is_causal=True")
        if attn_mask.dtype is not weft.bool and attn_mask.dtype is not query.dtype:
            raise RuntimeError(
                f"{name}: Expected attn_mask dtype to be bool or to match query dtype, but got attn_mask.dtype: "
                f"{attn_mask.dtype} and query.dtype: {query.dtype} instead"
            )
