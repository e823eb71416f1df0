"""The Pareto distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from weft import Tensor, inf
from weft.distributions import constraints
from weft.distributions.exponential import Exponential
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.transforms import AffineTransform, ExpTransform
from weft.distributions.utils import broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """Density ``alpha scale**alpha / x**(alpha + 1)`` for x >= scale.

    Parameters
    ----------
    scale, alpha : float or Tensor

    Examples
    --------
    >>> Pareto(1.0, weft.tensor(2.0)).mean  # alpha scale / (alpha - 1)
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(loc=0, scale=self.scale)], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Pareto, _instance)
        new.scale, new.alpha = self.scale.expand(batch_shape), self.alpha.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Numbers from the scale on."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        alpha = self.alpha.clamp(min=1)  # the mean is infinite for alpha <= 1
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        infinite = self.alpha <= 2
        alpha = self.alpha.masked_fill(infinite, 3)  # whatever is finite, so that the gradient is 0 there
        found = self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))
        return found.masked_fill(infinite, inf)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
