"""One-hot vectors made continuous, so that samples have gradients."""

from __future__ import annotations

from typing import Any, ClassVar

import weft
from weft import Tensor
from weft.distributions import constraints
from weft.distributions.categorical import Categorical, OfCategorical
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.transforms import ExpTransform
from weft.distributions.utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategorical):
    """The logarithms of relaxed one-hot vectors.

    Parameters
    ----------
    temperature : Tensor
        Near 0, a value is near a one-hot vector.
    probs, logits : Tensor, shape (..., K)
        One of them, as for `Categorical`.

    Notes
    -----
    Maddison et al., The concrete distribution, 2017; Jang et al., Categorical reparametrization with Gumbel-softmax,
    2017.

    Examples
    --------
    >>> ExpRelaxedCategorical(weft.tensor(0.5), probs=weft.tensor([0.2, 0.8])).sample().exp().sum().round(decimals=3)
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # type: ignore[assignment]  # the surface where the exponentials sum to 1
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(ExpRelaxedCategorical, ("_categorical",), batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = clamp_probs(weft.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        gumbel = -((-drawn.log()).log())
        scores = (self.logits + gumbel) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        scale = weft.full_like(self.temperature, float(count)).lgamma() + self.temperature.log() * (count - 1)
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex that are near its corners for low temperatures.

    Parameters
    ----------
    temperature, probs, logits
        See `ExpRelaxedCategorical`.

    Examples
    --------
    >>> RelaxedOneHotCategorical(weft.tensor(0.5), probs=weft.tensor([0.2, 0.8])).sample().sum().round(decimals=3)
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support: Any = constraints.simplex
    has_rsample: Any = True
    base_dist: ExpRelaxedCategorical

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(RelaxedOneHotCategorical, _instance))

    @property
    def temperature(self) -> Tensor:
        """How far from the corners."""
        found: Tensor = self.base_dist.temperature
        return found

    @property
    def logits(self) -> Tensor:
        """Logarithms of the probabilities of the classes."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities of the classes."""
        return self.base_dist.probs
