"""The different elements of an array. Those that are nan are all different."""

from __future__ import annotations

from typing import NamedTuple

import weft
from weft import Tensor

__all__ = ["unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """The different elements, where each comes first, which of them each element is, and how many there are of each.

    Examples
    --------
    >>> from weft import array_api as xp
    >>> xp.unique_all(xp.asarray([3, 1, 3])).indices
    tensor([1, 0])
    """
    values, inverse, counts = weft.unique(x, return_inverse=True, return_counts=True)
    order = inverse.reshape(-1).argsort(stable=True)
    first = order[counts.cumsum(0) - counts]
    return UniqueAll(values, first, inverse.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The different elements, and how many there are of each."""
    return UniqueCounts(*weft.unique(x, return_counts=True))


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The different elements, and which of them each element is."""
    values, inverse = weft.unique(x, return_inverse=True)
    return UniqueInverse(values, inverse.reshape(x.shape))


def unique_values(x: Tensor, /) -> Tensor:
    """The different elements."""
    return weft.unique(x)
