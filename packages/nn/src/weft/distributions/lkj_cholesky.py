"""The LKJ distribution of correlation matrices, by their Cholesky factors."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import weft
from weft import Size, Tensor
from weft.distributions import constraints
from weft.distributions.beta import Beta
from weft.distributions.distribution import Distribution
from weft.distributions.utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower Cholesky factors L with a density of ``L L^T`` proportional to ``det(L L^T)**(concentration - 1)``.

    Parameters
    ----------
    dim : int
        Rows of the matrices, at least 2.
    concentration : float or Tensor
        1: all correlation matrices are equally likely.

    Notes
    -----
    Samples are drawn by the onion method: Lewandowski, Kurowicka and Joe, Generating random correlation matrices based
    on vines and extended onion method, 2009, section 3.2.

    Examples
    --------
    >>> L = LKJCholesky(3).sample()
    >>> (L @ L.mT).diagonal().round(decimals=3)  # correlations
    tensor([1., 1., 1.])
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky  # type: ignore[assignment]

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args=validate_args)
        # The squared length of a row without its diagonal element is a beta variable.
        row = (weft.arange(dim, dtype=self.concentration.dtype, device=self.concentration.device) - 1).clamp(min=0)
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(row + 0.5, marginal.unsqueeze(-1) - 0.5 * row)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(LKJCholesky, ("concentration",), batch_shape, _instance)
        new.dim = self.dim
        new._beta = self._beta.expand((*batch_shape, self.dim))
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        squared = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = weft.randn(self._extended_shape(sample_shape), dtype=squared.dtype, device=squared.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :] = 0.0  # the first row has nothing beside its diagonal element
        rows = squared.sqrt() * direction
        left = (1 - (rows**2).sum(-1)).clamp(min=weft.finfo(rows.dtype).tiny)
        return rows + weft.diag_embed(left.sqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = weft.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = (order * diagonal.log()).sum(-1)
        # The normalizing constant of equation 6 on page 1999 of the paper, for L instead of L L^T.
        count = self.dim - 1
        alpha = self.concentration + 0.5 * count
        numerator = weft.mvlgamma(alpha - 0.5, count)
        return unnormalized - (0.5 * count * math.log(math.pi) + numerator - weft.lgamma(alpha) * count)
