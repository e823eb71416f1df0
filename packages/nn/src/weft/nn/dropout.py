"""Dropout: in training mode some of the input is zeroed at random, the rest scaled up."""

from __future__ import annotations

from weft import Tensor
from weft.nn import functional as F
from weft.nn.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"{self._get_name()}: dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return the probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zero each element with probability ``p`` and divide the others by ``1 - p``; in evaluation mode do nothing.

    Parameters
    ----------
    p : float
    inplace : bool
        Whether to write into the input.

    References
    ----------
    arXiv:1207.0580.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements of ``input``, of any shape."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """`Dropout` of whole channels of an input (N, C, L) or (C, L)."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels of ``input``."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """`Dropout` of whole channels of an input (N, C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels of ``input``."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """`Dropout` of whole channels of an input (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels of ``input``."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance, for networks with SELU: dropped elements take SELU's negative limit.

    References
    ----------
    arXiv:1706.02515.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements of ``input``, of any shape."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels of an input (N, C, ...)."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels of ``input``."""
        return F.feature_alpha_dropout(input, self.p, self.training)
