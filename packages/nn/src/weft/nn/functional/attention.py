"""Attention: values averaged by how well their keys fit a query."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Tensor
from weft.library.checks import values_at_hand, warn_caller
from weft.library.declare import composite, in_half_precision, op
from weft.library.fast_paths import FastPath
from weft.library.numerics import peaks
from weft.library.state import local
from weft.nn.functional._common import in_dtypes_of, in_single, require_flags, widened
from weft.nn.functional.dropout import dropout, noise, redrawn_dropout
from weft.nn.functional.linear import linear
from weft.nn.functional.padding import pad
from weft.ops.joining import triangle_mask
from weft.ops.matrices import with_product
from weft.ops.reductions import total as total_of
from weft.random import generator_for


def is_plain_attention(values: list[Any], arrays: list[Any]) -> bool:
    """The arguments of `attention_op` for those of attention without mask and dropout, if the shapes fit."""
    query, key, value = arrays[0].shape, arrays[1].shape, arrays[2].shape
    if len(query) < 2 or query[:-2] != key[:-2] or key[:-1] != value[:-1] or query[-1] != key[-1]:
        return False
    is_causal, scale = values[3:]
    options = [None, None, 1 / math.sqrt(query[-1] or 1) if scale is None else scale, is_causal]
    values[3:], arrays[3:] = options, options
    return True


plain_attention = FastPath(prepare=is_plain_attention, takes="query key value is_causal scale", result="first")


@in_half_precision
@composite(fast_path=plain_attention)
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

    Raises
    ------
    RuntimeError
        If shapes, dtypes or masks do not fit together.

    References
    ----------
    arXiv:1706.03762, equation 1.

    Examples
    --------
    >>> query, key, value = weft.zeros(1, 2, 4), weft.zeros(1, 3, 4), weft.tensor([[[1.0], [2.0], [6.0]]])
    >>> weft.nn.functional.scaled_dot_product_attention(query, key, value)  # equal weights
    tensor([[[3.],
             [3.]]])
    >>> weft.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    tensor([[[1.0000],
             [1.5000]]])
    """
    require_flags("scaled_dot_product_attention", is_causal=is_causal, enable_gqa=enable_gqa)
    check_attention(query, key, value, attn_mask, is_causal)
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"scaled_dot_product_attention: dropout_p must be between 0 and 1, got {dropout_p}")
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    return attended(query, key, value, attn_mask, dropout_p, is_causal, scale)


def attended(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> Tensor:
    """`scaled_dot_product_attention` of checked arguments, with as many heads in each."""
    queries, keys, values = query._array.shape, key._array.shape, value._array.shape
    factor = float(1 / math.sqrt(queries[-1] or 1) if scale is None else scale)
    is_fused = queries[:-2] == keys[:-2] == values[:-2] and dropout_p < 1
    if is_fused and not (attn_mask is not None and attn_mask.requires_grad):
        return fused_attention(query, key, value, attn_mask, dropout_p, factor, is_causal)
    element = query.dtype
    query, key, value, attn_mask = widened(query, key, value, attn_mask)  # rounded once, at the end
    weights = attention_weights(query, key, attn_mask, factor, is_causal)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p)
    return weft.matmul(weights, value).to(element)  # (..., L, E')


def attention_weights(query: Tensor, key: Tensor, attn_mask: Tensor | None, factor: float, is_causal: bool) -> Tensor:
    """The shares that each query has of the values, (..., L, S)."""
    scores = weft.matmul(query * factor, key.mT)
    empty = None  # queries that see nothing: they get zeros
    if is_causal:
        scores = scores + scores.new_full(scores.shape[-2:], -math.inf).triu(1)
    elif attn_mask is not None and attn_mask.dtype is weft.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
        empty = ~attn_mask.any(-1, keepdim=True)
    elif attn_mask is not None:
        scores = scores + attn_mask
        empty = (attn_mask == -math.inf).all(-1, keepdim=True)
    weights = scores.softmax(-1)
    if empty is not None and (not values_at_hand(empty) or empty.any()):
        weights = weights.masked_fill(empty, 0)
    return weights


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    factor: float,
    is_causal: bool,
) -> Tensor:
    """Attention as one op; the weights that dropout leaves are drawn as `dropout` draws them."""
    drawn = None
    if dropout_p > 0:
        shape = (*query.shape[:-1], key.shape[-2])
        generator = generator_for("scaled_dot_product_attention", None, query.device)
        place = generator.reserve(math.prod(shape), query.dtype.itemsize)
        if place is not None:
            options = factor, is_causal, 1 - dropout_p, generator, place
            return redrawn_attention.op(query, key, value, attn_mask, *options)[0]
        drawn = noise(in_single(query.detach()), shape, dropout_p)
    return attention_op.op(query, key, value, attn_mask, drawn, factor, is_causal)[0]


@op(
    tensors="query key value mask drawn",
    compute_dtype="float32",
    rounds_to="query float32",
    dtypes="float",
    namespace="nn",
    name="attention",
)
def attention_op(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, drawn: Tensor | None, factor: float, is_causal: bool
) -> tuple[Tensor, Tensor]:
    """`scaled_dot_product_attention`, with the logarithms of the sums of the exponentials, (..., L).

    ``drawn`` is multiplied with the weights: what dropout leaves of them.
    """
    return attention_op.op(query, key, value, mask, drawn, factor, is_causal)


plain_attention.op = attention_op.op


@attention_op.onnx
def _(graph, query, key, value, mask, drawn, factor, is_causal):
    order = [*range(key.ndim - 2), key.ndim - 1, key.ndim - 2]
    scores = graph.MatMul(graph.Mul(query, factor), graph.Transpose(key, perm=order))
    hidden = graph.value(-math.inf, query)
    if is_causal:
        lower = graph.triangle(*(graph.size(each, each.ndim - 2) for each in (query, key)))
        scores = graph.where(lower, scores, hidden)
    if mask is not None:
        scores = graph.where(mask, scores, hidden) if graph.is_bool(mask) else graph.Add(scores, mask)
    weights, sums = graph.Softmax(scores, axis=-1), graph.reduce("ReduceLogSumExp", scores, [-1], False)
    if mask is not None:  # queries that see nothing
        empty = graph.Equal(graph.reduce("ReduceMax", scores, [-1], True), hidden)
        weights = graph.where(empty, graph.value(0.0, query), weights)
        sums = graph.where(graph.Squeeze(empty, graph.sizes([-1])), graph.value(math.inf, query), sums)
    if drawn is not None:
        weights = graph.Mul(weights, drawn)
    return [graph.MatMul(weights, value), sums]


def scores_array(xp: Any, query: Any, key: Any, mask: Any, factor: float, is_causal: bool) -> Any:
    """The scores of all keys for each query, minus infinity for those that it does not see."""
    scores = xp.matmul(query * query.dtype.type(factor), key.swapaxes(-1, -2))
    hidden = scores.dtype.type(-math.inf)
    if is_causal:
        rows, columns = scores.shape[-2:]
        return xp.where(triangle_mask(xp, rows, columns, 0, True), scores, hidden)
    if mask is None:
        return scores
    return xp.where(mask, scores, hidden) if mask.dtype == bool else scores + mask


@attention_op.kernel
def attend_arrays(xp, query, key, value, mask, drawn, factor, is_causal):
    """The kernel of `attention_op`."""
    weights = scores_array(xp, query, key, mask, factor, is_causal)
    last = weights.ndim - 1
    most = peaks(xp, weights, last)
    empty = None  # queries that see nothing
    if mask is not None or not weights.shape[last]:
        empty = most == -math.inf
    weights -= most if empty is None else xp.where(empty, 0, most)
    xp.exp(weights, out=weights)
    total = total_of(xp, weights, (last,), True)
    weights /= total if empty is None else xp.where(empty, 1, total)
    sums = most + xp.log(total)
    if empty is not None:
        sums[empty] = xp.inf
    sums = sums[..., 0]
    if drawn is not None:
        weights *= drawn
    return xp.matmul(weights, value), sums


@attention_op.gradient("query key value")
def _(grads, query, key, value, mask, drawn, later_outputs, factor, is_causal):
    if local.grad_enabled:
        return attention_formula(grads[0], query, key, value, mask, drawn, factor, is_causal)
    return attention_gradient.op(grads[0], query, key, value, mask, drawn, later_outputs[0], factor, is_causal)


@attention_op.vmap
def _(batch):
    element, (query, key, value, mask, drawn, factor, is_causal) = batch.args[0].dtype, widened(*batch.as_seen())
    weights = attention_weights(query, key, mask, factor, is_causal)
    result = weft.matmul(weights if drawn is None else weights * drawn, value).to(element)
    return batch.whole((result, query.new_zeros(query.shape[:-1])))  # the gradients of a batch do without the sums


@op(tensors="query key value mask", compute_dtype="float32", rounds_to="query float32", dtypes="float", namespace="nn")
def redrawn_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    factor: float,
    is_causal: bool,
    kept: float,
    generator: Any,
    place: Any,
) -> tuple[Tensor, Tensor]:
    """`attention_op` of which the weights are dropped as by `redrawn_dropout`: what is drawn is not kept."""
    return redrawn_attention.op(query, key, value, mask, factor, is_causal, kept, generator, place)


@redrawn_attention.kernel
def _(xp, query, key, value, mask, factor, is_causal, kept, generator, place):
    shape = (*query.shape[:-1], key.shape[-2])
    happens = generator.sample("kept", place, math.prod(shape), kept).reshape(shape)
    drawn = happens * query.dtype.type(1 / kept)
    return attend_arrays(xp, query, key, value, mask, drawn, factor, is_causal)


@redrawn_attention.gradient("query key value")
def _(grads, query, key, value, mask, later_outputs, factor, is_causal, kept, generator, place):
    drawn = redrawn_weights(query, key, kept, generator, place)
    if local.grad_enabled:
        return attention_formula(grads[0], query, key, value, mask, drawn, factor, is_causal)
    return attention_gradient.op(grads[0], query, key, value, mask, drawn, later_outputs[0], factor, is_causal)


@redrawn_attention.vmap
def _(batch):
    element, (query, key, value, mask, factor, is_causal, *source) = batch.args[0].dtype, widened(*batch.as_seen())
    drawn = redrawn_weights(query, key, *source)
    result = weft.matmul(attention_weights(query, key, mask, factor, is_causal) * drawn, value).to(element)
    return batch.whole((result, query.new_zeros(query.shape[:-1])))


def redrawn_weights(query: Tensor, key: Tensor, kept: float, generator: Any, place: Any) -> Tensor:
    """What the weights of `redrawn_attention` are multiplied with."""
    ones = in_single(query.detach()).new_ones((*query.shape[:-1], key.shape[-2]))
    return redrawn_dropout.op(ones, kept, generator, place)


def attention_formula(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    drawn: Tensor | None,
    factor: float,
    is_causal: bool,
) -> tuple[Tensor, ...]:
    """The gradients of attention in ops that are differentiable again."""
    inputs = query, key, value
    grad, query, key, value, mask, drawn = widened(grad, query, key, value, mask, drawn)
    weights = attention_weights(query, key, mask, factor, is_causal)
    kept = weights if drawn is None else weights * drawn
    by_weight = weft.matmul(grad, value.mT)
    by_score = kept * by_weight
    by_score = (by_score - weights * by_score.sum(-1, keepdim=True)) * factor
    slopes = weft.matmul(by_score, key), weft.matmul(by_score.mT, query), weft.matmul(kept.mT, grad)
    return in_dtypes_of(slopes, *inputs)


@op(
    tensors="output_grad query key value mask drawn sums",
    compute_dtype="float32",
    dtypes="float",
    gradient="refused",
    namespace="nn",
)
def attention_gradient(
    output_grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    drawn: Tensor | None,
    sums: Tensor | None,
    factor: float,
    is_causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of attention with respect to query, key and value."""
    return attention_gradient.op(output_grad, query, key, value, mask, drawn, sums, factor, is_causal)


@attention_gradient.vmap
def _(batch):
    output_grad, query, key, value, mask, drawn, _, *options = batch.as_seen()
    return batch.whole(attention_formula(output_grad, query, key, value, mask, drawn, *options))


@attention_gradient.kernel
def _(xp, output_grad, query, key, value, mask, drawn, sums, factor, is_causal):
    weights = scores_array(xp, query, key, mask, factor, is_causal)
    weights -= sums[..., None]
    xp.exp(weights, out=weights)
    kept = weights if drawn is None else weights * drawn
    by_score = xp.matmul(output_grad, value.swapaxes(-1, -2))
    by_score *= kept
    by_value = xp.matmul(kept.swapaxes(-1, -2), output_grad)
    weights *= total_of(xp, by_score, (by_score.ndim - 1,), True)
    by_score -= weights
    by_score *= by_score.dtype.type(factor)
    return xp.matmul(by_score, key), xp.matmul(by_score.swapaxes(-1, -2), query), by_value


def check_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    """Shapes, dtypes and masks of `scaled_dot_product_attention` fit together."""
    name = "scaled_dot_product_attention"
    for argument, each in (("query", query), ("key", key), ("value", value)):
        if each._array.ndim < 2:
            raise RuntimeError(
                f"{name}: Expected query, key, and value to each be at least 2 dimensional, but got {argument} of "
                f"shape {list(each.shape)}"
            )
        if each._key.dtype is not query._key.dtype:
            raise RuntimeError(
                f"{name}: Expected query, key, and value to have the same dtype, but got {query.dtype} and {argument} "
                f"of {each.dtype}"
            )
    keys = key._array.shape
    if query._array.shape[-1] != keys[-1] or keys[-2] != value._array.shape[-2]:
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


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads between projections in and out.

    Parameters
    ----------
    query, key, value : Tensor, shapes (L, N, E), (S, N, K) and (S, N, V), or without N
    embed_dim_to_check : int
        E.
    num_heads : int
    in_proj_weight : Tensor, shape (3 E, E)
        Of query, key and value; None with ``use_separate_proj_weight``.
    in_proj_bias : Tensor, shape (3 E,), optional
    bias_k, bias_v : Tensor, shape (1, 1, E), optional
        Appended to keys and values.
    add_zero_attn : bool
        Append zeros to keys and values.
    dropout_p : float
    out_proj_weight, out_proj_bias : Tensor
    training : bool
    key_padding_mask : Tensor, shape (N, S) or (S,), optional
        True hides that key; numbers are added to the scores.
    need_weights : bool
        Return the weights.
    attn_mask : Tensor, shape (L, S) or (N * num_heads, L, S), optional
        True hides that key from that query; numbers are added to the scores.
    use_separate_proj_weight : bool
        Use the next three in place of ``in_proj_weight``.
    q_proj_weight, k_proj_weight, v_proj_weight : Tensor, shapes (E, E), (E, K) and (E, V), optional
    static_k, static_v : Tensor, shape (N * num_heads, S, E / num_heads), optional
        In place of the projected keys and values.
    average_attn_weights : bool
        Return the mean of the weights over the heads.
    is_causal : bool
        A hint that attn_mask, which must be given, is causal.

    Returns
    -------
    (output, weights)
        Of the shape of query; of shape (N, L, S), or (N, num_heads, L, S), or None.

    Examples
    --------
    >>> layer, x = weft.nn.MultiheadAttention(8, 2), weft.randn(5, 1, 8)
    >>> output, weights = weft.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 8, 2, layer.in_proj_weight, layer.in_proj_bias, None, None, False, 0.0,
    ...     layer.out_proj.weight, layer.out_proj.bias,
    ... )
    >>> output.shape, weights.shape
    (weft.Size([5, 1, 8]), weft.Size([1, 5, 5]))
    """
    name = "multi_head_attention_forward"
    batched = check_heads(name, query, key, value, key_padding_mask, attn_mask)
    if not batched and attn_mask is not None and attn_mask.ndim == 3:
        expected = num_heads, query.shape[0], key.shape[0]
        if tuple(attn_mask.shape) != expected:
            raise AssertionError(
                f"{name}: Expected `attn_mask` shape to be {expected} but got {tuple(attn_mask.shape)}"
            )
    if is_causal and attn_mask is None:
        raise RuntimeError(f"{name}: Need attn_mask if specifying the is_causal hint.")
    if not batched:
        query, key, value = (each.unsqueeze(1) for each in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, embed_dim = query.shape
    if key.shape[1] != batch or value.shape[1] != batch:
        raise RuntimeError(
            f"{name}: query, key and value must have one batch size, got {batch}, {key.shape[1]} and {value.shape[1]}"
        )
    if key_padding_mask is not None and tuple(key_padding_mask.shape) != (batch, key.shape[0]):
        raise AssertionError(
            f"{name}: Expected key_padding_mask to have shape {(batch, key.shape[0])}, but got "
            f"{tuple(key_padding_mask.shape)}"
        )
    if embed_dim != embed_dim_to_check:
        raise AssertionError(f"{name}: was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}")
    head_dim = embed_dim // num_heads
    if head_dim * num_heads != embed_dim:
        raise AssertionError(f"{name}: embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        weights = q_proj_weight, k_proj_weight, v_proj_weight
        q, k, v = projected_separately(name, (query, key, value), weights, in_proj_bias)
    else:
        if key.shape != value.shape:
            raise AssertionError(
                f"{name}: key shape {tuple(key.shape)} does not match value shape {tuple(value.shape)}"
            )
        q, k, v = projected_together(query, key, value, in_proj_weight, in_proj_bias)
    if key_padding_mask is not None and attn_mask is not None:
        same_mask_dtypes("key_padding_mask", key_padding_mask, "attn_mask", attn_mask)
    key_mask = additive(name, "key_padding_mask", key_padding_mask, query)
    mask = additive(name, "attn_mask", attn_mask, query)
    if mask is not None:
        mask = check_mask(name, mask, length, key.shape[0], batch * num_heads)
    added = int(bias_k is not None) + int(add_zero_attn)
    if (bias_k is None) != (bias_v is None):
        raise AssertionError(f"{name}: bias_k and bias_v must be given together")
    if bias_k is not None and bias_v is not None:
        for label, static in (("key", static_k), ("value", static_v)):
            if static is not None:
                raise AssertionError(f"{name}: bias cannot be added to static {label}.")
        k, v = weft.cat([k, bias_k.repeat(1, batch, 1)]), weft.cat([v, bias_v.repeat(1, batch, 1)])
    q = by_head(q, num_heads)
    k = by_head(k, num_heads) if static_k is None else static_k.reshape(batch, num_heads, *static_k.shape[1:])
    v = by_head(v, num_heads) if static_v is None else static_v.reshape(batch, num_heads, *static_v.shape[1:])
    if add_zero_attn:
        zeros = k.new_zeros(batch, num_heads, 1, head_dim)
        k, v = weft.cat([k, zeros], 2), weft.cat([v, zeros], 2)
    mask = merged(mask, key_mask, batch, num_heads, added)
    output, attention = attend(q, k, v, mask, dropout_p if training else 0.0, need_weights)
    output = output.permute(2, 0, 1, 3).reshape(length, batch, embed_dim)
    # Dropout that follows in training draws its numbers in the order of memory, which is to be PyTorch's: by position.
    output = (linear if training else projected)(output, out_proj_weight, out_proj_bias)
    if attention is not None and average_attn_weights:
        attention = attention.mean(1)
    if not batched:
        output = output.squeeze(1)
        attention = None if attention is None else attention.squeeze(0)
    return output, attention


def check_heads(
    name: str, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None
) -> bool:
    """Dimensions fit together; returns whether there is a batch."""
    if query.ndim not in (2, 3):
        raise AssertionError(f"{name}: query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D")
    if key.ndim != query.ndim or value.ndim != query.ndim:
        raise AssertionError(
            f"{name}: For {query.ndim}-D query, expected `key` and `value` to be {query.ndim}-D but found {key.ndim}-D "
            f"and {value.ndim}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != query.ndim - 1:
        raise AssertionError(
            f"{name}: For {query.ndim}-D query, expected `key_padding_mask` to be `None` or {query.ndim - 1}-D but "
            f"found {key_padding_mask.ndim}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.ndim not in (2, 3):
        raise AssertionError(
            f"{name}: expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor instead"
        )
    return query.ndim == 3


def projected_together(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Three projections by the thirds of one weight; what is one tensor is projected in one product."""
    if weight is None:
        raise AssertionError("multi_head_attention_forward: in_proj_weight is None but use_separate_proj_weight=False")
    if key is value and query is key:
        q, k, v = projected(query, weight, bias).chunk(3, -1)
        return q, k, v
    weights = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    q, k, v = (projected(each, w, b) for each, w, b in zip((query, key, value), weights, biases))
    return q, k, v


def projected_separately(
    name: str, inputs: tuple[Tensor, ...], weights: tuple[Tensor | None, ...], bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Three projections, each by a weight of its own."""
    biases = (None, None, None) if bias is None else bias.chunk(3)
    for argument, weight in zip(("q_proj_weight", "k_proj_weight", "v_proj_weight"), weights):
        if weight is None:
            raise AssertionError(f"{name}: use_separate_proj_weight is True but {argument} is None")
    q, k, v = (projected(each, w, b) for each, w, b in zip(inputs, weights, biases))
    return q, k, v


def projected(input: Tensor, weight: Any, bias: Tensor | None) -> Tensor:
    """`linear` of (L, N, E), whose positions are taken in the order that they have in memory: without a copy."""
    if input.shape[1] > 1 and input.stride(0) < input.stride(1):
        return linear(input.transpose(0, 1), weight, bias).transpose(0, 1)
    return linear(input, weight, bias)


def by_head(tensor: Tensor, heads: int) -> Tensor:
    """(L, N, E) as (N, heads, L, E / heads)."""
    length, batch, size = tensor.shape
    return tensor.reshape(length, batch, heads, size // heads).permute(1, 2, 0, 3)


def additive(name: str, argument: str, mask: Tensor | None, like: Tensor) -> Tensor | None:
    """A mask as numbers to add: minus infinity where True hides."""
    if mask is None or mask.dtype.is_floating_point:
        return mask
    if mask.dtype is not weft.bool:
        raise AssertionError(f"{name}: only bool and floating types of {argument} are supported, got {mask.dtype}")
    return like.new_zeros(mask.shape).masked_fill(mask, -math.inf)


def same_mask_dtypes(name: str, mask: Tensor, other_name: str, other: Tensor) -> None:
    """Warn where one of two masks is of truth values and the other of numbers, as PyTorch does."""
    if mask.dtype is not other.dtype:
        warn_caller(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.")


def check_mask(name: str, mask: Tensor, length: int, source: int, heads: int) -> Tensor:
    """A mask with three dimensions: one for all heads if it was given with two, else one for each."""
    count = 1 if mask.ndim == 2 else heads
    mask = mask.unsqueeze(0) if mask.ndim == 2 else mask
    if tuple(mask.shape) != (count, length, source):
        raise RuntimeError(
            f"{name}: The shape of the attn_mask is {list(mask.shape)}, but should be {[length, source]} or "
            f"{[heads, length, source]}"
        )
    return mask


def merged(mask: Tensor | None, key_mask: Tensor | None, batch: int, heads: int, added: int) -> Tensor | None:
    """Both masks as one, broadcastable to (N, heads, L, S), that hides none of the keys appended to the others."""
    if mask is not None:
        mask = pad(mask, (0, added)) if added else mask
        mask = mask.reshape(*((1, 1) if mask.shape[0] == 1 else (batch, heads)), *mask.shape[1:])
    if key_mask is None:
        return mask
    if added:
        key_mask = pad(key_mask, (0, added))
    key_mask = key_mask.reshape(batch, 1, 1, key_mask.shape[-1])
    return key_mask if mask is None else mask + key_mask


def attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """Attention of (N, heads, L, E), and its weights where they are wanted."""
    if not need_weights:
        return scaled_dot_product_attention(q, k, v, mask, dropout_p), None
    q = q * math.sqrt(1.0 / q.shape[-1])
    scores = weft.matmul(q, k.mT) if mask is None else masked_scores(q, k, mask)
    weights = scores.softmax(-1)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p)
    return weft.matmul(weights, v), weights


@in_half_precision
def masked_scores(q: Tensor, k: Tensor, mask: Tensor) -> Tensor:
    """``mask + q @ k.mT`` in one op: half types are rounded once."""
    scores: Tensor = with_product("multi_head_attention_forward", mask, q, k.mT, weft.matmul, 1, 1)
    return scores
