"""The categorical distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import weft
from weft import Size, Tensor, nan
from weft.distributions import constraints
from weft.distributions._probs_or_logits import ProbsOrLogits
from weft.distributions.distribution import Distribution

__all__ = ["Categorical"]


class Categorical(ProbsOrLogits):
    """A class from 0 to K - 1, with a probability for each.

    Parameters
    ----------
    probs : Tensor, shape (..., K)
        Not negative; they are normalized along the last dimension.
    logits : Tensor, shape (..., K)
        Instead, unnormalized log-probabilities.

    Examples
    --------
    >>> Categorical(weft.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    is_binary = False

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        for name, each in (("probs", probs), ("logits", logits)):
            if each is not None and each.dim() < 1:
                raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        self._take(
            None if probs is None else probs / probs.sum(-1, keepdim=True),
            None if logits is None else logits - logits.logsumexp(dim=-1, keepdim=True),
        )
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(Categorical, (), batch_shape, _instance)
        new._num_events = self._num_events
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """Whole numbers from 0 to K - 1."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return weft.full(self._extended_shape(), nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return weft.full(self._extended_shape(), nan, dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        with weft.no_grad():
            drawn = weft.multinomial(rows, sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        value = value.long().unsqueeze(-1)
        value, log_pmf = weft.broadcast_tensors(value, self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        smallest = weft.finfo(self.logits.dtype).min
        return -(weft.clamp(self.logits, min=smallest) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = weft.arange(self._num_events, dtype=weft.long, device=self._param.device)
        values = values.view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values


class OfCategorical(Distribution):
    """A distribution made of a categorical one, ``_categorical``, whose parameters it has."""

    _categorical: Categorical

    @property
    def probs(self) -> Tensor:
        """Probabilities of the classes."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape
