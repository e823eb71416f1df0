"""The categorical distribution, with its classes as one-hot vectors."""

from __future__ import annotations

from typing import Any, ClassVar

import weft
from weft import Size, Tensor
from weft.distributions import constraints
from weft.distributions.categorical import Categorical, OfCategorical

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OfCategorical):
    """Vectors of K elements, one of which is 1 and all others 0.

    Parameters
    ----------
    probs, logits
        See `Categorical`.

    Examples
    --------
    >>> OneHotCategorical(weft.tensor([0.0, 1.0, 0.0])).sample()
    tensor([0., 1., 0.])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot  # type: ignore[assignment]
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(OneHotCategorical, ("_categorical",), batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        best = self._categorical.probs.argmax(dim=-1)
        return weft.nn.functional.one_hot(best, num_classes=self._event_shape[-1]).to(self.probs)

    @property
    def variance(self) -> Tensor:
        return self._categorical.probs * (1 - self._categorical.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self._categorical.sample(Size(sample_shape))
        return weft.nn.functional.one_hot(drawn, self._categorical._num_events).to(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self.event_shape[0]
        values = weft.eye(count, dtype=self.probs.dtype, device=self.probs.device)
        values = values.view((count, *[1] * len(self.batch_shape), count))
        return values.expand((count, *self.batch_shape, count)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same with a gradient: that of the probabilities (Bengio et al., 2013).

    Parameters
    ----------
    probs, logits
        See `Categorical`.

    Examples
    --------
    >>> probs = weft.tensor([0.0, 1.0, 0.0], requires_grad=True)
    >>> OneHotCategoricalStraightThrough(probs).rsample().requires_grad
    True
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        samples = self.sample(sample_shape)
        probs = self._categorical.probs
        return samples + (probs - probs.detach())
