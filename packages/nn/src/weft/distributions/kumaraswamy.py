"""The Kumaraswamy distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import weft
from weft import Tensor, nan
from weft.distributions import constraints
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.transforms import AffineTransform, PowerTransform
from weft.distributions.uniform import Uniform
from weft.distributions.utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


def moment(a: Tensor, b: Tensor, n: int) -> Tensor:
    """The expected n-th power: ``b Beta(1 + n / a, b)``."""
    first = 1 + n / a
    return weft.exp(weft.log(b) + weft.lgamma(first) + weft.lgamma(b) - weft.lgamma(first + b))


class Kumaraswamy(TransformedDistribution):
    """``cdf(x) = 1 - (1 - x**a)**b`` on [0, 1]: like a beta distribution, with a closed form.

    Parameters
    ----------
    concentration1, concentration0 : float or Tensor
        a and b.

    Examples
    --------
    >>> Kumaraswamy(weft.tensor(2.0), weft.tensor(1.0)).log_prob(weft.tensor(0.5)).exp()  # 2 x
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support: Any = constraints.unit_interval
    has_rsample: Any = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            weft.full_like(self.concentration0, 0), weft.full_like(self.concentration0, 1), validate_args=validate_args
        )
        super().__init__(base, self._maps(self.concentration1, self.concentration0), validate_args=validate_args)

    @staticmethod
    def _maps(a: Tensor, b: Tensor) -> list[Any]:
        return [
            PowerTransform(exponent=b.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=a.reciprocal()),
        ]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self) -> Tensor:
        return moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        without = (a < 1) | (b < 1) | ((a == 1) & (b == 1))
        a, b = a.masked_fill(without, 2), b.masked_fill(without, 2)
        mode: Tensor = ((a - 1) / (a * b - 1)).pow(a.reciprocal())
        return mode.masked_fill(without, nan)

    @property
    def variance(self) -> Tensor:
        return moment(self.concentration1, self.concentration0, 2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = weft.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - weft.log(a) - weft.log(b)
