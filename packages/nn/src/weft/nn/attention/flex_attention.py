"""Attention whose scores a function of the program's own changes, or hides."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import weft
from weft import Tensor

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
BLOCK_SIZE = _DEFAULT_SPARSE_BLOCK_SIZE = 128  # the second name is the one that transformers imports


class AuxRequest(NamedTuple):
    """What `flex_attention` returns beside its output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for with `AuxRequest`; None for the rest."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Hide nothing: a mask function that is True everywhere."""
    return weft.ones((), dtype=weft.bool, device=batch.device)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """Return the mask function that shows what all of ``mask_mods`` show."""
    _check_functions("and_masks", mask_mods)

    def all_of(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = noop_mask(b, h, q_idx, kv_idx)
        for mask_mod in mask_mods:
            result = result & mask_mod(b, h, q_idx, kv_idx)
        return result

    return all_of


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """Return the mask function that shows what any of ``mask_mods`` shows."""
    _check_functions("or_masks", mask_mods)

    def any_of(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = ~noop_mask(b, h, q_idx, kv_idx)
        for mask_mod in mask_mods:
            result = result | mask_mod(b, h, q_idx, kv_idx)
        return result

    return any_of


def _check_functions(name: str, functions: Any) -> None:
    if not all(callable(each) for each in functions):
        raise RuntimeError(f"{name}: all inputs should be callable mask_mods, got {list(functions)}")


def _places(sizes: tuple[int, ...], device: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The indices of batch, head, query and key, each along an axis of its own."""
    axes = [
        weft.arange(size, device=device).reshape([-1 if i == k else 1 for k in range(4)])
        for i, size in enumerate(sizes)
    ]
    return axes[0], axes[1], axes[2], axes[3]


def create_mask(mod_fn: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """Evaluate a mask or score function at every place.

    Parameters
    ----------
    mod_fn : callable
        ``mask_mod(b, h, q_idx, kv_idx)``, True where a query sees a key; or ``score_mod(score, b, h, q_idx, kv_idx)``,
        which is given scores of 0. It is called once, with tensors of indices that broadcast against each other.
    B, H : int, optional
        Batch and heads, 1 by default.
    Q_LEN, KV_LEN : int
    device : optional

    Returns
    -------
    Tensor, shape (B, H, Q_LEN, KV_LEN).

    Examples
    --------
    >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    places = _places(shape, device)
    takes_score = mod_fn.__code__.co_argcount == 5 if hasattr(mod_fn, "__code__") else False
    found: Tensor = mod_fn(weft.zeros(shape, device=device), *places) if takes_score else mod_fn(*places)
    return found.expand(shape)


class BlockMask:
    """A mask function, with the sizes that it was made for; `flex_attention` takes it.

    Made by `create_block_mask`. A block is ``BLOCK_SIZE`` queries by as many keys; one in which everything is hidden
    can be skipped.

    Attributes
    ----------
    mask_mod : callable
    shape : tuple of int
        (B, H, Q_LEN, KV_LEN).
    seq_lengths : (int, int)
    BLOCK_SIZE : (int, int)
    """

    def __init__(self, mask: Tensor, mask_mod: MaskMod, BLOCK_SIZE: tuple[int, int]) -> None:
        self.mask = mask
        self.mask_mod = mask_mod
        self.BLOCK_SIZE = BLOCK_SIZE
        self.shape = tuple(mask.shape)
        self.seq_lengths = self.shape[2], self.shape[3]

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"

    def to_dense(self) -> Tensor:
        """Return, as 1 and 0 of shape (B, H, blocks of queries, blocks of keys), which blocks show anything."""
        rows, columns = self.BLOCK_SIZE
        lacking = (0, -self.shape[3] % columns, 0, -self.shape[2] % rows)
        padded = weft.nn.functional.pad(self.mask.to(weft.int32), lacking)
        return padded.unflatten(3, (-1, columns)).unflatten(2, (-1, rows)).amax((3, 5))

    def sparsity(self) -> float:
        """Return the percentage of blocks that show nothing."""
        return 100.0 * (1.0 - float(self.to_dense().to(weft.float64).mean()))

    def numel(self) -> int:
        """Return the number of places."""
        return math.prod(self.shape)

    def to(self, device: Any) -> BlockMask:
        """Return it on a device."""
        return BlockMask(self.mask.to(device), self.mask_mod, self.BLOCK_SIZE)


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = BLOCK_SIZE,
    _compile: bool = False,
) -> BlockMask:
    """Evaluate a mask function, for use in many calls of `flex_attention`; arguments as in `create_mask`."""
    if not callable(mask_mod):
        raise AssertionError(f"create_block_mask: mask_mod must be a function, got {type(mask_mod).__name__}")
    block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    return BlockMask(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), mask_mod, (block[0], block[1]))


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """``softmax(score_mod(query @ key.mT * scale)) @ value``, without what ``block_mask`` hides.

    Parameters
    ----------
    query : Tensor, shape (B, H, L, E)
    key : Tensor, shape (B, H, S, E)
    value : Tensor, shape (B, H, S, E')
    score_mod : callable, optional
        ``score_mod(score, b, h, q_idx, kv_idx)``, the score to use in place of ``score``. It is called once for all
        places, with scores of shape (B, H, L, S) and tensors of indices that broadcast to them: written as for one
        place, it gives the same, as long as it does not branch on a value.
    block_mask : BlockMask, optional
    scale : float, optional
        By default ``1 / sqrt(E)``.
    enable_gqa : bool
        Query may have a multiple of the others' heads.
    return_lse : bool
        Return the logarithm of the sum of exponentials of the scores as well, of shape (B, H, L).
    kernel_options
        Accepted.
    return_aux : AuxRequest, optional
        Return an `AuxOutput` as well, with the logarithm of ``return_lse`` or the largest scores, (B, H, L).

    Raises
    ------
    ValueError
        If a tensor has not four dimensions, or the heads differ without ``enable_gqa``.

    Examples
    --------
    >>> q = k = v = weft.randn(1, 2, 4, 8)
    >>> causal = flex_attention(q, k, v, lambda score, b, h, i, j: weft.where(i >= j, score, -float("inf")))
    >>> expected = weft.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    >>> weft.allclose(causal, expected, atol=1e-6)
    True
    """
    _check_inputs(query, key, value, enable_gqa)
    if query.size(1) != key.size(1):
        repeats = query.size(1) // key.size(1)
        key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
    dtype = query.dtype
    if dtype.is_half:
        query, key, value = query.float(), key.float(), value.float()
    scores = query @ key.mT * (1 / math.sqrt(query.size(-1)) if scale is None else scale)  # (B, H, L, S)
    if score_mod is not None:
        scores = score_mod(scores, *_places(scores.shape, scores.device)).to(scores.dtype)
    if block_mask is not None:
        scores = scores.masked_fill(~_fitting(block_mask, scores), -math.inf)
    is_empty = (scores == -math.inf).all(-1, keepdim=True)  # queries that see nothing get zeros
    weights = scores.softmax(-1).masked_fill(is_empty, 0.0)
    output = (weights @ value).to(dtype)
    if return_aux is not None:
        return output, AuxOutput(
            scores.logsumexp(-1) if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None
        )
    return (output, scores.logsumexp(-1)) if return_lse else output


def _check_inputs(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 4:
            raise ValueError(
                f"flex_attention: expected {name} to be of shape (B, H, length, features), got {tuple(tensor.shape)}"
            )
    if query.size(1) != key.size(1) and not (enable_gqa and query.size(1) % key.size(1) == 0):
        raise ValueError(
            f"flex_attention: query has {query.size(1)} heads, key and value have {key.size(1)}; a multiple is allowed "
            "with enable_gqa=True"
        )


def _fitting(block_mask: BlockMask, scores: Tensor) -> Tensor:
    """The part of a mask that these scores need, which may be shorter than what it was made for."""
    rows, columns = scores.shape[-2:]
    if rows > block_mask.seq_lengths[0] or columns > block_mask.seq_lengths[1]:
        raise ValueError(
            f"flex_attention: block_mask was created for {block_mask.seq_lengths} queries and keys, got "
            f"{(rows, columns)}; create it for these lengths"
        )
    return block_mask.mask[..., :rows, :columns]
