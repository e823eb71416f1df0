"""Distributions of transformed variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import weft
from weft import Size, Tensor
from weft.distributions import constraints
from weft.distributions.distribution import Distribution
from weft.distributions.independent import Independent
from weft.distributions.transforms import ComposeTransform, Transform
from weft.distributions.utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``y = transform(x)``, where x has a base distribution.

    Parameters
    ----------
    base_distribution : Distribution
    transforms : Transform or list of Transform
        Applied from the first to the last.

    Examples
    --------
    >>> from weft.distributions import Normal, SigmoidTransform
    >>> logit_normal = TransformedDistribution(Normal(0.0, 1.0), SigmoidTransform())
    >>> logit_normal.log_prob(weft.tensor(0.5))
    tensor(0.4674)
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = as_list(transforms)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        whole = ComposeTransform(self.transforms)
        if len(base_shape) < whole.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{whole.domain.event_dim}, but got {tuple(base_shape)}."
            )
        forward = whole.forward_shape(base_shape)
        expanded = whole.inverse_shape(forward)
        if base_shape != expanded:
            count = len(expanded) - len(base_distribution.event_shape)
            base_distribution = base_distribution.expand(expanded[:count])
        more = whole.domain.event_dim - len(base_distribution.event_shape)
        self.base_dist = Independent(base_distribution, more) if more > 0 else base_distribution
        event_dim = max(
            whole.codomain.event_dim,
            len(self.base_dist.event_shape) + whole.codomain.event_dim - whole.domain.event_dim,
        )
        cut = len(forward) - event_dim
        super().__init__(Size(forward[:cut]), Size(forward[cut:]), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        batch_shape = Size(batch_shape)
        whole = ComposeTransform(self.transforms)
        base_shape = whole.inverse_shape(batch_shape + self.event_shape)
        count = len(base_shape) - len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(base_shape[:count])
        new.transforms = self.transforms
        super(TransformedDistribution, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """What the last transform maps to."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether the base's samples have gradients."""
        return bool(self.base_dist.has_rsample)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with weft.no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, value: Tensor) -> Tensor:
        for transform in self.transforms:
            value = transform(value)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        event_dim = len(self.event_shape)
        total: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            total = total - _sum_rightmost(slope, event_dim - transform.domain.event_dim)
            y = x
        return total + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotonic(self, value: Tensor) -> Tensor:
        """Probabilities, turned around where the transforms are decreasing."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonic(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._monotonic(value)))


def as_list(transforms: Any) -> Sequence[Transform]:
    """One or several transforms.

    Raises
    ------
    ValueError
        For anything else.
    """
    if isinstance(transforms, Transform):
        return [transforms]
    if isinstance(transforms, list) and all(isinstance(each, Transform) for each in transforms):
        return transforms
    raise ValueError(f"transforms must be a Transform or list of Transforms, but was {transforms}")
