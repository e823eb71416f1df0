"""Independent variables as one."""

from __future__ import annotations

from typing import Any, ClassVar

from weft import Size, Tensor
from weft.distributions import constraints
from weft.distributions.distribution import Distribution
from weft.distributions.utils import _sum_rightmost

__all__ = ["Independent"]


class Independent(Distribution):
    """Another distribution, some of whose batch dimensions count as those of one value.

    Parameters
    ----------
    base_distribution : Distribution
    reinterpreted_batch_ndims : int
        How many of them, from the right.

    Examples
    --------
    >>> from weft.distributions import Normal
    >>> diagonal = Independent(Normal(weft.zeros(3), weft.ones(3)), 1)
    >>> diagonal.event_shape, diagonal.log_prob(weft.zeros(3))
    (weft.Size([3]), tensor(-2.7568))
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        shape = batch + base_distribution.event_shape
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(Size(shape[:cut]), Size(shape[cut:]), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Independent, _instance)
        inner = Size(batch_shape) + self.event_shape[: self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand(inner)  # first: Pyro's subclass keeps its _validate_args there
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        return self._expanded(Independent, (), batch_shape, new)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether the base's samples have gradients."""
        return bool(self.base_dist.has_rsample)

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """Whether the base's values can be listed, and no dimension was taken."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        """The base's, over more dimensions."""
        found = self.base_dist.support
        count = self.reinterpreted_batch_ndims
        return constraints.independent(found, count) if count else found

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
