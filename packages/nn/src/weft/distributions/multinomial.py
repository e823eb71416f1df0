"""The multinomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import weft
from weft import Size, Tensor
from weft.distributions import constraints
from weft.distributions.binomial import Binomial
from weft.distributions.categorical import Categorical, OfCategorical
from weft.distributions.utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OfCategorical):
    """How often each of K classes came in ``total_count`` draws.

    Parameters
    ----------
    total_count : int
        The same for the whole batch.
    probs : Tensor, shape (..., K)
        They are normalized.
    logits : Tensor, shape (..., K)
        Instead, unnormalized log-probabilities.

    Examples
    --------
    >>> Multinomial(4, weft.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(Multinomial, ("_categorical",), batch_shape, _instance)
        new.total_count = self.total_count
        new._binomial = Binomial(total_count=self.total_count, probs=new._categorical.probs)
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Counts whose sum is the number of draws."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count, *sample_shape)))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)  # the draws of one sample last
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, weft.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Tensor:
        n = weft.tensor(float(self.total_count))
        categorical = self._categorical.entropy()
        term1 = n * categorical - weft.lgamma(n + 1)
        support = self._binomial.enumerate_support(expand=False)[1:]
        probability = weft.exp(self._binomial.log_prob(support))
        return term1 + (probability * weft.lgamma(support + 1)).sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        log_factorial_n = weft.lgamma(value.sum(-1) + 1)
        log_factorials = weft.lgamma(value + 1).sum(-1)
        logits = logits.masked_fill((value == 0) & (logits == -weft.inf), 0)
        return log_factorial_n - log_factorials + (logits * value).sum(-1)
