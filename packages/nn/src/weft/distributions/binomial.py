"""The binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import weft
from weft import Tensor
from weft.distributions import constraints
from weft.distributions._probs_or_logits import ProbsOrLogits
from weft.distributions.utils import broadcast_all
from weft.nn import functional as F

__all__ = ["Binomial"]


class Binomial(ProbsOrLogits):
    """The number of successes among ``total_count`` trials.

    Parameters
    ----------
    total_count : int or Tensor
    probs : Tensor
        The probability of success.
    logits : Tensor
        Instead, its log-odds.

    Examples
    --------
    >>> Binomial(4, weft.tensor(0.5)).log_prob(weft.tensor(2.0)).exp()  # 6 / 16
    tensor(0.3750)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self.total_count, given = broadcast_all(total_count, probs if logits is None else logits)
        self.total_count = self.total_count.type_as(given)
        self._take(*((given, None) if logits is None else (None, given)))
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Binomial, ("total_count",), batch_shape, _instance)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """Whole numbers from 0 to the number of trials."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with weft.no_grad():
            return weft.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        # n log(1 - p) = -n log(1 + exp(logit)); logsigmoid has no kink at 0, where clamp and abs have one.
        failures = self.total_count * F.logsigmoid(-self.logits)
        choices = weft.lgamma(self.total_count + 1) - weft.lgamma(value + 1) - weft.lgamma(self.total_count - value + 1)
        return value * self.logits + failures + choices

    def entropy(self) -> Tensor:
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(weft.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = weft.arange(1 + total, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values
