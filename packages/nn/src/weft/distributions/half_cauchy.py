"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import weft
from weft import Tensor, inf
from weft.distributions import constraints
from weft.distributions.cauchy import Cauchy
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """|x| for Cauchy x of median 0.

    Parameters
    ----------
    scale : float or Tensor

    Examples
    --------
    >>> HalfCauchy(1.0).cdf(weft.tensor(1.0))
    tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support: Any = constraints.nonnegative
    base_dist: Cauchy
    has_rsample: Any = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfCauchy, _instance))

    @property
    def scale(self) -> Tensor:
        """Half the width of x at half the maximum."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return weft.full(self._extended_shape(), inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def mode(self) -> Tensor:
        return weft.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        value = weft.as_tensor(value, dtype=self.base_dist.scale.dtype, device=self.base_dist.scale.device)
        return weft.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
