"""The geometric distribution."""

from __future__ import annotations

from numbers import Number
from typing import Any, ClassVar

import weft
from weft import Size, Tensor
from weft.distributions import constraints
from weft.distributions._probs_or_logits import ProbsOrLogits
from weft.distributions.utils import broadcast_all
from weft.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits):
    """The number of failures before the first success: ``P(k) = (1 - probs)**k probs``.

    Parameters
    ----------
    probs : float or Tensor
        The probability of success, in (0, 1].
    logits : float or Tensor
        Instead, its log-odds.

    Examples
    --------
    >>> Geometric(weft.tensor(0.25)).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer  # type: ignore[assignment]

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        given = probs if logits is None else logits
        scalar = isinstance(given, Number)
        if given is not None:
            (given,) = broadcast_all(given)
        self._take(*((given, None) if logits is None else (probs, given)))
        super().__init__(Size() if scalar else self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} to be "
                f"positive but found invalid values:\n{self.probs}"
            )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Geometric, (), batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return weft.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with weft.no_grad():
            drawn = self.probs.new_empty(self._extended_shape(sample_shape))
            drawn.uniform_(weft.finfo(self.probs.dtype).tiny, 1)
            return (drawn.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.clone()
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
