"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import weft
from weft import Size, Tensor, inf, nan
from weft.distributions import constraints
from weft.distributions.chi2 import Chi2
from weft.distributions.distribution import Distribution
from weft.distributions.utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """``loc + scale * x / sqrt(z / df)`` for standard normal x and chi-squared z of ``df`` degrees of freedom.

    Parameters
    ----------
    df : float or Tensor
        Degrees of freedom.
    loc, scale : float or Tensor

    Examples
    --------
    >>> StudentT(weft.tensor(4.0)).variance  # df / (df - 2)
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real  # type: ignore[assignment]
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df, validate_args=validate_args)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(StudentT, ("df", "loc", "scale"), batch_shape, _instance)
        new._chi2 = self._chi2.expand(Size(batch_shape))
        return new

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        df = self.df.masked_fill(self.df <= 2, 3)  # whatever is finite, so that the gradient is 0 there
        finite = self.scale.pow(2) * df / (df - 2)
        return finite.masked_fill(self.df <= 2, inf).masked_fill(self.df <= 1, nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        x = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * weft.rsqrt(z / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        y = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + weft.lgamma(0.5 * self.df)
            - weft.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * weft.log1p(y**2.0 / self.df) - normalizer

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1.0)
        log_beta = weft.lgamma(half) + math.lgamma(0.5) - weft.lgamma(more)
        return self.scale.log() + more * (weft.digamma(more) - weft.digamma(half)) + 0.5 * self.df.log() + log_beta
