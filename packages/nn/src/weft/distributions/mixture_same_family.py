"""Mixtures of distributions of one kind."""

from __future__ import annotations

from typing import Any, ClassVar

import weft
from weft import Tensor
from weft.distributions import constraints
from weft.distributions.categorical import Categorical
from weft.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A component is drawn, then a value of it.

    Parameters
    ----------
    mixture_distribution : Categorical
        Of k components.
    component_distribution : Distribution
        The last batch dimension, of size k, is that of the components.

    Examples
    --------
    >>> from weft.distributions import Normal
    >>> weights = Categorical(weft.tensor([0.5, 0.5]))
    >>> MixtureSameFamily(weights, Normal(weft.tensor([-1.0, 3.0]), 1.0)).mean
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        check_mixture(mixture_distribution, component_distribution)
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = component_distribution.batch_shape[-1]
        self._event_ndims = len(component_distribution.event_shape)
        batch_shape = component_distribution.batch_shape[:-1]
        super().__init__(batch_shape, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(MixtureSameFamily, ("_mixture_distribution",), batch_shape, _instance)
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        """What each component allows."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The weights of the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        """The components' probabilities, with dimensions of size 1 for those of a value."""
        probs = self._mixture_distribution.probs
        return probs.reshape(*probs.shape, *[1] * self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self._component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        # The mean of the variances, and the variance of the means.
        place, weights = -1 - self._event_ndims, self._weights()
        away = self._component_distribution.mean - self.mean.unsqueeze(place)
        within = (weights * self._component_distribution.variance).sum(place)
        return within + (weights * away.pow(2.0)).sum(place)

    def cdf(self, x: Tensor) -> Tensor:
        of_each = self._component_distribution.cdf(x.unsqueeze(-1 - self._event_ndims))
        return (of_each * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        of_each = self._component_distribution.log_prob(x.unsqueeze(-1 - self._event_ndims))
        return weft.logsumexp(of_each + weft.log_softmax(self._mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with weft.no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)  # (*samples, *batch, k, *event)
            place = values.dim() - self._event_ndims - 1
            wanted = chosen.reshape(*chosen.shape, *[1] * (1 + self._event_ndims))
            wanted = wanted.expand((*values.shape[:place], 1, *self.event_shape))
            return values.gather(place, wanted).squeeze(place)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"


def check_mixture(mixture: Any, components: Any) -> None:
    """They fit each other.

    Raises
    ------
    ValueError
        If not.
    """
    if not isinstance(mixture, Categorical):
        raise ValueError(
            "MixtureSameFamily: The Mixture distribution needs to be an instance of Categorical, "
            f"got {type(mixture).__name__}"
        )
    if not isinstance(components, Distribution):
        raise ValueError(
            "MixtureSameFamily: The Component distribution need to be an instance of Distribution, "
            f"got {type(components).__name__}"
        )
    batch, of_components = mixture.batch_shape, components.batch_shape
    for have, want in zip(reversed(batch), reversed(of_components[:-1])):
        if 1 not in (have, want) and have != want:
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({tuple(batch)}) is not compatible with "
                f"`component_distribution.batch_shape`({tuple(of_components)})"
            )
    count = mixture.logits.shape[-1]
    if not of_components or count != of_components[-1]:
        raise ValueError(
            f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
            f"({of_components[-1] if of_components else 'there is none'})"
        )
