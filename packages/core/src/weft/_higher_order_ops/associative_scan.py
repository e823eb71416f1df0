"""All partial results of an associative operation along a dim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
from weft import Tensor
from weft.utils import _pytree as pytree

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """Combine the slices along a dim: the first, the first two, the first three, ...

    Parameters
    ----------
    combine_fn : callable
        Of two tensors, or of two structures like ``xs``; must be associative. It is called for many slices at once,
        about 2 log2(n) times for n slices.
    xs : Tensor, or a structure of tensors of the same length along ``dim``
    dim : int
    reverse : bool
        Begin with the last slice.
    combine_mode : {"pointwise", "generic"}
        Makes no difference here.

    Returns
    -------
    Structure like ``xs``.

    Examples
    --------
    >>> associative_scan(lambda left, right: left * right, weft.tensor([1.0, 2.0, 3.0, 4.0]), dim=0)
    tensor([ 1.,  2.,  6., 24.])
    """
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"associative_scan: combine_mode must be 'pointwise' or 'generic', got {combine_mode!r}")
    leaves, structure = pytree.tree_flatten(xs)
    if not leaves:
        raise ValueError("associative_scan: xs has no tensor")
    if reverse:
        leaves = [leaf.flip(dim) for leaf in leaves]

    def combine(left: list[Tensor], right: list[Tensor]) -> list[Tensor]:
        combined = combine_fn(pytree.tree_unflatten(left, structure), pytree.tree_unflatten(right, structure))
        return list(pytree.tree_leaves(combined))

    found = _scan(combine, leaves, dim % leaves[0].dim())
    return pytree.tree_unflatten([leaf.flip(dim) for leaf in found] if reverse else found, structure)


def _scan(
    combine: Callable[[list[Tensor], list[Tensor]], list[Tensor]], leaves: list[Tensor], dim: int
) -> list[Tensor]:
    """Scan the combined pairs: they are the results at odd places, and give those at even ones."""
    count = leaves[0].size(dim)
    if count < 2:
        return leaves
    firsts, seconds = _slices(leaves, dim, 0, count - 1), _slices(leaves, dim, 1, count)
    odd = _scan(combine, combine(firsts, seconds), dim)
    first = [leaf.narrow(dim, 0, 1) for leaf in leaves]
    if count == 2:
        return [weft.cat(pair, dim) for pair in zip(first, odd, strict=True)]
    before = [leaf.narrow(dim, 0, (count - 1) // 2) for leaf in odd]
    rest = combine(before, _slices(leaves, dim, 2, count))
    even = [weft.cat(pair, dim) for pair in zip(first, rest, strict=True)]
    return [_interleaved(*pair, dim) for pair in zip(even, odd, strict=True)]


def _slices(leaves: list[Tensor], dim: int, start: int, stop: int) -> list[Tensor]:
    """Every second slice."""
    return [leaf[(slice(None),) * dim + (slice(start, stop, 2),)] for leaf in leaves]


def _interleaved(even: Tensor, odd: Tensor, dim: int) -> Tensor:
    """The slices of both by turns; ``even`` may have one more."""
    paired = odd.size(dim)
    pairs = weft.stack([even.narrow(dim, 0, paired), odd], dim + 1).flatten(dim, dim + 1)
    return weft.cat([pairs, even.narrow(dim, paired, even.size(dim) - paired)], dim)
