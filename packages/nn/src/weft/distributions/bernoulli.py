"""The Bernoulli distribution."""

from __future__ import annotations

from numbers import Number
from typing import Any, ClassVar

import weft
from weft import Size, Tensor, nan
from weft.distributions import constraints
from weft.distributions._probs_or_logits import ProbsOrLogits
from weft.distributions.distribution import ExponentialFamily
from weft.distributions.utils import broadcast_all
from weft.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Bernoulli"]


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """1 with a probability, else 0.

    Parameters
    ----------
    probs : float or Tensor
        The probability of 1.
    logits : float or Tensor
        Instead, its log-odds.

    Examples
    --------
    >>> Bernoulli(weft.tensor([0.3])).mean
    tensor([0.3000])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean  # type: ignore[assignment]
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        given = probs if logits is None else logits
        scalar = isinstance(given, Number)
        if given is not None:
            (given,) = broadcast_all(given)
        self._take(*((given, None) if logits is None else (probs, given)))
        super().__init__(Size() if scalar else self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Bernoulli, (), batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs)
        return mode.masked_fill(self.probs == 0.5, nan)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with weft.no_grad():
            return weft.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = weft.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (weft.logit(self.probs),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return weft.log1p(weft.exp(natural_params[0]))
