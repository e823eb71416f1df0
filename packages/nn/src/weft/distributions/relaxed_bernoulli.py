"""Bernoulli variables made continuous, so that samples have gradients."""

from __future__ import annotations

from numbers import Number
from typing import Any, ClassVar

import weft
from weft import Size, Tensor
from weft.distributions import constraints
from weft.distributions._probs_or_logits import ProbsOrLogits
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.transforms import SigmoidTransform
from weft.distributions.utils import broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits):
    """The logits of relaxed Bernoulli variables.

    Parameters
    ----------
    temperature : Tensor
        Near 0, the sigmoid of a value is near 0 or 1.
    probs, logits : float or Tensor
        One of them, as for `Bernoulli`.

    Notes
    -----
    Maddison et al., The concrete distribution, 2017; Jang et al., Categorical reparametrization with Gumbel-softmax,
    2017.

    Examples
    --------
    >>> LogitRelaxedBernoulli(weft.tensor(0.1), probs=weft.tensor([0.5])).sample().shape
    weft.Size([1])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real  # type: ignore[assignment]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        given = probs if logits is None else logits
        scalar = isinstance(given, Number)
        if given is not None:
            (given,) = broadcast_all(given)
        self._take(*((given, None) if logits is None else (probs, given)))
        super().__init__(Size() if scalar else self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(LogitRelaxedBernoulli, (), batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        drawn = clamp_probs(weft.rand(shape, dtype=probs.dtype, device=probs.device))
        return (drawn.log() - (-drawn).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        away = logits - value.mul(self.temperature)
        return self.temperature.log() + away - 2 * away.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that are near 0 or 1 for low temperatures.

    Parameters
    ----------
    temperature, probs, logits
        See `LogitRelaxedBernoulli`.

    Examples
    --------
    >>> sample = RelaxedBernoulli(weft.tensor(0.1), probs=weft.tensor([0.5])).sample()
    >>> bool(0 <= sample <= 1)
    True
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.unit_interval
    has_rsample: Any = True
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(RelaxedBernoulli, _instance))

    @property
    def temperature(self) -> Tensor:
        """How far from 0 and 1."""
        found: Tensor = self.base_dist.temperature
        return found

    @property
    def logits(self) -> Tensor:
        """Log-odds of the Bernoulli variable."""
        found: Tensor = self.base_dist.logits
        return found

    @property
    def probs(self) -> Tensor:
        """Probabilities of the Bernoulli variable."""
        found: Tensor = self.base_dist.probs
        return found
