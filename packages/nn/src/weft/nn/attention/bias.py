"""Causal masks of rectangular attention, by which corner they begin from."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import weft
from weft import Tensor
from weft.utils._pytree import tree_map_only

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """The corner from which the diagonal of a causal mask that is not square runs."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask for `scaled_dot_product_attention`: True where a query sees a key.

    Made by `causal_upper_left` and `causal_lower_right`.

    Parameters
    ----------
    variant : CausalVariant
    seq_len_q, seq_len_kv : int
        L and S, the numbers of queries and of keys.

    Examples
    --------
    >>> causal_lower_right(2, 3)
    CausalBias([[ True,  True, False],
            [ True,  True,  True]])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        """Make the mask."""
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"CausalBias: variant must be a CausalVariant, got {type(variant).__name__}")
        mask: Any = plain_mask(variant, seq_len_q, seq_len_kv, None).as_subclass(cls)
        mask.variant, mask.seq_len_q, mask.seq_len_kv = variant, seq_len_q, seq_len_kv
        found: CausalBias = mask
        return found

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        """Nothing is left to do."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute with a plain mask, for attention one on the query's device: results are ordinary tensors."""
        if func is weft.nn.functional.scaled_dot_product_attention:
            query = args[0] if args else (kwargs or {})["query"]
            args, kwargs = tree_map_only(cls, lambda mask: mask._materialize(query.device), (args, kwargs or {}))
        with weft.overrides.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask as an ordinary tensor, made on a device."""
        with weft.overrides.DisableTorchFunctionSubclass():
            if self.device == device:
                return self.as_subclass(Tensor)
        return plain_mask(self.variant, self.seq_len_q, self.seq_len_kv, device)


def plain_mask(variant: CausalVariant, seq_len_q: int, seq_len_kv: int, device: Any) -> Tensor:
    """Make the truth values of a mask."""
    diagonal = seq_len_kv - seq_len_q if variant is CausalVariant.LOWER_RIGHT else 0
    return weft.ones(seq_len_q, seq_len_kv, dtype=weft.bool, device=device).tril(diagonal)


def causal_upper_left(*size: int) -> CausalBias:
    """Return the mask of shape ``size`` in which query i sees the keys up to i, as ``is_causal=True`` does."""
    return CausalBias(CausalVariant.UPPER_LEFT, *_two(size))


def causal_lower_right(*size: int) -> CausalBias:
    """Return the mask of shape ``size`` in which the last query sees all keys, as in decoding with a cache."""
    return CausalBias(CausalVariant.LOWER_RIGHT, *_two(size))


def _two(size: tuple[int, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise AssertionError(f"causal bias: takes two sizes, of queries and keys, got {len(size)}")
    return size[0], size[1]
