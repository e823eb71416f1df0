"""Distances and similarities between pairs of vectors."""

from __future__ import annotations

from weft import Tensor
from weft.nn import functional as F
from weft.nn.module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The p-norm of ``x1 - x2 + eps`` along the last axis.

    Parameters
    ----------
    p : float
        Of the norm.
    eps : float
        Keeps the gradient of equal vectors finite.
    keepdim : bool
        Whether the last axis stays, with size 1.

    Shapes
    ------
    x1, x2 : (..., D)
    output : (...) or (..., 1)

    Examples
    --------
    >>> weft.nn.PairwiseDistance()(weft.tensor([[0.0, 0.0]]), weft.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Return the distances of the vectors of ``x1`` and ``x2``, each of shape (..., D)."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along ``dim``.

    Parameters
    ----------
    dim : int
    eps : float
        Norms below it count as ``eps``.

    Shapes
    ------
    x1, x2 : (*before, D, *after), broadcastable to each other
    output : (*before, *after)

    Examples
    --------
    >>> weft.nn.CosineSimilarity()(weft.tensor([[1.0, 0.0]]), weft.tensor([[3.0, 4.0]]))
    tensor([0.6000])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Return the similarities of the vectors of ``x1`` and ``x2``."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
