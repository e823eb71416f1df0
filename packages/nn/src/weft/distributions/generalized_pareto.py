"""The generalized Pareto distribution."""

from __future__ import annotations

from numbers import Number
from typing import Any, ClassVar

import weft
from weft import Size, Tensor, inf, nan
from weft.distributions import constraints
from weft.distributions.distribution import Distribution
from weft.distributions.utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """``P(x > t) = (1 + concentration z)**(-1 / concentration)`` for ``z = (t - loc) / scale``; exp(-z) in the limit 0.

    Parameters
    ----------
    loc, scale, concentration : float or Tensor
        Negative concentrations give a distribution that ends, at ``loc - scale / concentration``.

    Examples
    --------
    >>> GeneralizedPareto(0.0, 1.0, weft.tensor(-1.0)).cdf(weft.tensor(0.25))  # uniform on [0, 1]
    tensor(0.2500)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        scalar = all(isinstance(each, Number) for each in (loc, scale, concentration))
        super().__init__(Size() if scalar else self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(GeneralizedPareto, ("loc", "scale", "concentration"), batch_shape, _instance)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Numbers from loc on, up to the end if there is one."""
        end = weft.where(self.concentration < 0, self.loc - self.scale / self.concentration, inf)
        return constraints.interval(self.loc, end)

    def _limit(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0, and the concentration with 1 there, so that it may divide."""
        zero = weft.isclose(self.concentration, weft.zeros_like(self.concentration))
        return zero, self.concentration.masked_fill(zero, 1.0)

    @property
    def mean(self) -> Tensor:
        without = self.concentration >= 1
        found = self.loc + self.scale / (1 - self.concentration.masked_fill(without, 0))
        return found.masked_fill(without, nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        without = self.concentration >= 0.5
        c = self.concentration.masked_fill(without, 0)
        return (self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c))).masked_fill(without, nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(weft.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        z = (value - self.loc) / self.scale
        zero, c = self._limit()
        power = 1 / c + weft.ones_like(z)
        curved = weft.where(power == 0, power, power * weft.log1p(c * z))
        return weft.where(zero, -z, -curved) - self.scale.log()

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of values above each one."""
        self._check_value(value)
        z = (value - self.loc) / self.scale
        zero, c = self._limit()
        return weft.where(zero, -z, -weft.log1p(c * z) / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return weft.log1p(-weft.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return weft.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        zero, c = self._limit()
        log_survival = weft.log1p(-value)
        curved = self.loc + self.scale / c * weft.expm1(-c * log_survival)
        return weft.where(zero, self.loc - self.scale * log_survival, curved)

    def entropy(self) -> Tensor:
        return weft.log(self.scale) + self.concentration + 1
