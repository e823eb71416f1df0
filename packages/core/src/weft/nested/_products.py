"""Products with nested tensors, and attention over them."""

from __future__ import annotations

from typing import Any

import weft
from weft.nested._jagged import implements, is_jagged, made, packed
from weft.nested._pointwise import from_padded, same_structure, to_padded

__all__: list[str] = []


@implements("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    if input._ragged_idx == input.ndim - 1:
        raise RuntimeError("linear: the last dimension of a nested tensor must not be the ragged one; transpose it")
    return input.with_values(weft.nn.functional.linear(input._inner_values, weight, bias))


@implements("matmul __matmul__ __rmatmul__ bmm mm")
def matmul(input: Any, other: Any) -> Any:
    """Product of the components with one matrix, with one of each batch, or with those of another nested tensor."""
    if is_jagged(input) and not is_jagged(other):
        if input._ragged_idx == input.ndim - 1 or (other.ndim > 2 and other.ndim != input.ndim):
            return refuse_product(input, other)
        if other.ndim <= 2:
            return input.with_values(input._inner_values @ other)
        return from_padded(to_padded(input, 0) @ other, input, input._ragged_idx)
    if not is_jagged(input):
        if other._ragged_idx != other.ndim - 1 or (input.ndim > 2 and input.ndim != other.ndim):
            return refuse_product(input, other)
        return from_padded(input @ to_padded(other, 0), other, other._ragged_idx)
    return product_of_two(input, other)


def refuse_product(input: Any, other: Any) -> Any:
    """Say that a product is not there.

    Raises
    ------
    RuntimeError
        Always.
    """
    raise RuntimeError(
        f"matmul(): not supported between inputs of shapes {tuple(input.shape)} and {tuple(other.shape)}; multiply the "
        "tensors of unbind() one by one, or to_padded_tensor(0)"
    )


def product_of_two(input: Any, other: Any) -> Any:
    """Sums over the ragged dimension of both are dense; two nested tensors with one symbol multiply one by one."""
    last = input.ndim - 1
    if input._ragged_idx == last and other._ragged_idx == other.ndim - 2 and input.ndim == other.ndim:
        if input._nested_offsets is not other._nested_offsets:
            return refuse_product(input, other)
        return to_padded(input, 0) @ to_padded(other, 0)
    outer = input._ragged_idx < last - 1 and same_structure(input, other)
    if outer:
        return input.with_values(input._inner_values @ other._inner_values)
    return refuse_product(input, other)


@implements("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Attention within each component: (batch, heads, ragged, features), as transpose(1, 2) makes them."""
    if attn_mask is not None:
        raise ValueError(
            "scaled_dot_product_attention: attn_mask is not supported for nested tensors; pad them for that"
        )
    for name, each in (("query", query), ("key", key), ("value", value)):
        if not is_jagged(each) or each.ndim != 4 or each._ragged_idx != 2:
            raise RuntimeError(
                f"scaled_dot_product_attention: expected {name} to be a nested tensor (batch, heads, ragged, features) "
                f"like the others, got shape {tuple(each.shape)}"
            )
    options: dict[str, Any] = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
    attend = weft.nn.functional.scaled_dot_product_attention
    parts = [
        attend(q[None], k[None], v[None], **options)[0]
        for q, k, v in zip(query.unbind(), key.unbind(), value.unbind(), strict=True)
    ]
    whole = packed(query)
    return made(weft.cat(parts, 1), whole._nested_offsets, None, 2, whole._nested_limits)


@implements("multi_head_attention_forward")
def multi_head_attention_forward(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(
        "multi_head_attention_forward: is not there for nested tensors; project with linear, unflatten the heads, and "
        "call scaled_dot_product_attention"
    )
