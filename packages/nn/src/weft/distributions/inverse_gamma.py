"""The inverse gamma distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import weft
from weft import Tensor, inf
from weft.distributions import constraints
from weft.distributions.gamma import Gamma
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """1 / x for gamma x.

    Parameters
    ----------
    concentration, rate : float or Tensor
        Those of x.

    Examples
    --------
    >>> InverseGamma(weft.tensor(3.0), 4.0).mean  # rate / (concentration - 1)
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.positive
    base_dist: Gamma
    has_rsample: Any = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(InverseGamma, _instance))

    @property
    def concentration(self) -> Tensor:
        """That of x."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """That of x."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        found = self.rate / (self.concentration - 1)
        return weft.where(self.concentration > 1, found, inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        return weft.where(c > 2, self.rate.square() / ((c - 1).square() * (c - 2)), inf)

    def entropy(self) -> Tensor:
        c = self.concentration
        return c + self.rate.log() + c.lgamma() - (1 + c) * c.digamma()
