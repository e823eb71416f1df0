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
        The probability of being dropped.
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (...)

    Raises
    ------
    ValueError
        If ``p`` is not in [0, 1].

    References
    ----------
    arXiv:1207.0580.

    Examples
    --------
    >>> layer = weft.nn.Dropout(0.5)
    >>> sorted(set(layer(weft.ones(100)).tolist()))
    [0.0, 2.0]
    >>> layer.eval()(weft.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements of ``input``, of any shape."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """`Dropout` of whole channels.

    Parameters
    ----------
    p : float
        The probability of being dropped.
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (N, C, L) or (C, L)

    Raises
    ------
    ValueError
        If ``p`` is not in [0, 1].

    References
    ----------
    arXiv:1411.4280.

    Examples
    --------
    >>> output = weft.nn.Dropout1d(0.5)(weft.ones(4, 3)).reshape(4, -1)
    >>> bool(((output == 0).all(1) | (output == 2).all(1)).all())  # a channel is dropped as a whole
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels of ``input``."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """`Dropout` of whole channels.

    Parameters
    ----------
    p : float
        The probability of being dropped.
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (N, C, H, W)

    Raises
    ------
    ValueError
        If ``p`` is not in [0, 1].

    References
    ----------
    arXiv:1411.4280.

    Examples
    --------
    >>> output = weft.nn.Dropout2d(0.5)(weft.ones(1, 4, 2, 2)).reshape(4, -1)
    >>> bool(((output == 0).all(1) | (output == 2).all(1)).all())  # a channel is dropped as a whole
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels of ``input``."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """`Dropout` of whole channels.

    Parameters
    ----------
    p : float
        The probability of being dropped.
    inplace : bool
        Whether to write into the input.

    Shapes
    ------
    input, output : (N, C, D, H, W) or (C, D, H, W)

    Raises
    ------
    ValueError
        If ``p`` is not in [0, 1].

    References
    ----------
    arXiv:1411.4280.

    Examples
    --------
    >>> output = weft.nn.Dropout3d(0.5)(weft.ones(4, 2, 2, 2)).reshape(4, -1)
    >>> bool(((output == 0).all(1) | (output == 2).all(1)).all())  # a channel is dropped as a whole
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels of ``input``."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance, for networks with SELU: dropped elements take SELU's negative limit.

    Parameters
    ----------
    p : float
        The probability of being dropped.
    inplace : bool
        Not used.

    Shapes
    ------
    input, output : (...)

    Raises
    ------
    ValueError
        If ``p`` is not in [0, 1].

    References
    ----------
    arXiv:1706.02515.

    Examples
    --------
    >>> output = weft.nn.AlphaDropout(0.2)(weft.randn(10000))
    >>> abs(output.mean().item()) < 0.1, abs(output.std().item() - 1) < 0.1
    (True, True)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements of ``input``, of any shape."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels.

    Parameters
    ----------
    p : float
        The probability of being dropped.
    inplace : bool
        Not used.

    Shapes
    ------
    input, output : (N, C, ...)

    Raises
    ------
    ValueError
        If ``p`` is not in [0, 1].

    References
    ----------
    arXiv:1706.02515.

    Examples
    --------
    >>> output = weft.nn.FeatureAlphaDropout(0.5)(weft.ones(1, 100, 3))
    >>> len(set(map(tuple, output[0].tolist())))  # channels are dropped or kept, as a whole
    2
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels of ``input``."""
        return F.feature_alpha_dropout(input, self.p, self.training)
