"""The gamma distribution."""

from __future__ import annotations

from numbers import Number
from typing import Any, ClassVar

import weft
from weft import Size, Tensor
from weft.distributions import constraints
from weft.distributions.distribution import ExponentialFamily
from weft.distributions.utils import broadcast_all
from weft.ops.reparametrized import standard_gamma

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Density ``rate**c x**(c - 1) exp(-rate x) / Gamma(c)`` for x > 0 and the concentration c.

    Parameters
    ----------
    concentration, rate : float or Tensor

    Examples
    --------
    >>> Gamma(3.0, 2.0).mean, Gamma(3.0, 2.0).variance
    (tensor(1.5000), tensor(0.7500))
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        scalar = isinstance(concentration, Number) and isinstance(rate, Number)
        super().__init__(Size() if scalar else self.concentration.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Gamma, ("concentration", "rate"), batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return value.clamp(min=weft.finfo(value.dtype).tiny)  # not 0, whose logarithm has no gradient

    def log_prob(self, value: Tensor) -> Tensor:
        value = weft.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._check_value(value)
        return (
            weft.xlogy(self.concentration, self.rate)
            + weft.xlogy(self.concentration - 1, value)
            - self.rate * value
            - weft.lgamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return weft.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        c = self.concentration
        return c - weft.log(self.rate) + weft.lgamma(c) + (1.0 - c) * weft.digamma(c)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return weft.lgamma(x + 1) + (x + 1) * weft.log(-y.reciprocal())
