"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any, ClassVar

import weft
from weft import Size, Tensor
from weft.distributions import constraints
from weft.distributions._probs_or_logits import ProbsOrLogits
from weft.distributions.distribution import ExponentialFamily
from weft.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs
from weft.nn.functional import binary_cross_entropy_with_logits

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Density proportional to ``probs**x (1 - probs)**(1 - x)`` on [0, 1].

    Parameters
    ----------
    probs : float or Tensor
        In (0, 1); not the mean.
    logits : float or Tensor
        Instead, its log-odds.
    lims : tuple of float
        Between them, around 1/2, where formulas are 0 / 0, a Taylor series is used.

    Notes
    -----
    Loaiza-Ganem and Cunningham, The continuous Bernoulli: fixing a pervasive error in variational autoencoders, 2019.

    Examples
    --------
    >>> ContinuousBernoulli(weft.tensor(0.5)).log_prob(weft.tensor(0.2)).exp()  # uniform
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval  # type: ignore[assignment]
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        given = probs if logits is None else logits
        scalar = isinstance(given, Number)
        if given is not None:
            (given,) = broadcast_all(given)
        if logits is None and given is not None:
            # Before the clamp, which would hide it.
            if validate_args is not None and not self.arg_constraints["probs"].check(given).all():
                raise ValueError(f"The parameter probs has invalid values: {given}")
            given = clamp_probs(given)
        self._take(*((given, None) if logits is None else (probs, given)))
        self._lims = lims
        super().__init__(Size() if scalar else self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(ContinuousBernoulli, (), batch_shape, _instance)
        new._lims = self._lims
        return new

    @lazy_property
    def probs(self) -> Tensor:  # type: ignore[override]
        """The parameter, away from 0 and 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """The parameter, at the edge of the region around 1/2 if it is inside."""
        return weft.where(self._outside_unstable_region(), self.probs, self._lims[0])

    def _stable(self, formula: Tensor, series: Tensor) -> Tensor:
        return weft.where(self._outside_unstable_region(), formula, series)

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of the normalizing constant, ``2 atanh(1 - 2 probs) / (1 - 2 probs)``."""
        cut = self._cut_probs()
        below = weft.where(cut <= 0.5, cut, 0.0)
        above = weft.where(cut >= 0.5, cut, 1.0)
        size = weft.where(cut <= 0.5, weft.log1p(-2.0 * below), weft.log(2.0 * above - 1.0))
        x = weft.pow(self.probs - 0.5, 2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return self._stable(weft.log(weft.abs(weft.log1p(-cut) - weft.log(cut))) - size, series)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        formula = cut / (2.0 * cut - 1.0) + 1.0 / (weft.log1p(-cut) - weft.log(cut))
        x = self.probs - 0.5
        return self._stable(formula, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * weft.pow(x, 2)) * x)

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        formula = cut * (cut - 1.0) / weft.pow(1.0 - 2.0 * cut, 2) + 1.0 / weft.pow(weft.log1p(-cut) - weft.log(cut), 2)
        x = weft.pow(self.probs - 0.5, 2)
        return self._stable(formula, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(weft.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        return self._cont_bern_log_norm() - binary_cross_entropy_with_logits(logits, value, reduction="none")

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        cut = self._cut_probs()
        formula = (weft.pow(cut, value) * weft.pow(1.0 - cut, 1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        found = self._stable(formula, value)
        return weft.where(value <= 0.0, 0.0, weft.where(value >= 1.0, 1.0, found))

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        formula = (weft.log1p(-cut + value * (2.0 * cut - 1.0)) - weft.log1p(-cut)) / (weft.log(cut) - weft.log1p(-cut))
        return self._stable(formula, value)

    def entropy(self) -> Tensor:
        failure, success = weft.log1p(-self.probs), weft.log(self.probs)
        return self.mean * (failure - success) - self._cont_bern_log_norm() - failure

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        outside = (x <= low) | (x > high)
        cut = weft.where(outside, x, low)
        formula = weft.log(weft.abs(weft.exp(cut) - 1)) - weft.log(weft.abs(cut))
        return weft.where(outside, formula, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
