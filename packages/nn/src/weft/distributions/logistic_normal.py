"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from weft import Tensor
from weft.distributions import constraints
from weft.distributions.independent import Independent
from weft.distributions.normal import Normal
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Points of the simplex, made of normal vectors with one element less.

    Parameters
    ----------
    loc, scale : Tensor, shape (..., K - 1)

    Examples
    --------
    >>> LogisticNormal(weft.zeros(2), weft.ones(2)).sample().sum().round(decimals=3)
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.simplex
    base_dist: Independent
    has_rsample: Any = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(LogisticNormal, _instance))

    @property
    def loc(self) -> Tensor:
        """The mean of the normal vectors."""
        found: Tensor = self.base_dist.base_dist.loc  # type: ignore[attr-defined]
        return found

    @property
    def scale(self) -> Tensor:
        """Their standard deviation."""
        found: Tensor = self.base_dist.base_dist.scale  # type: ignore[attr-defined]
        return found
