"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import weft
from weft import Tensor
from weft.distributions import constraints
from weft.distributions.distribution import ExponentialFamily
from weft.ops.reparametrized import sample_dirichlet

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """The gradient of a sample ``x`` with respect to the concentration; PyTorch's name, which programs use."""
    total = concentration.sum(-1, True).expand_as(concentration)
    grad = weft._dirichlet_grad(x, concentration, total)  # type: ignore[attr-defined]  # made by name
    found: Tensor = grad * (grad_output - (x * grad_output).sum(-1, True))
    return found


class Dirichlet(ExponentialFamily):
    """Points of the simplex, with a density proportional to ``prod(x**(concentration - 1))``.

    Parameters
    ----------
    concentration : Tensor, shape (..., K)

    Examples
    --------
    >>> Dirichlet(weft.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex  # type: ignore[assignment]
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(Dirichlet, (), batch_shape, _instance)
        new.concentration = self.concentration.expand(new._extended_shape())
        return new

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        flat = (self.concentration < 1).all(dim=-1)
        corner = weft.nn.functional.one_hot(self.concentration.argmax(-1), above.shape[-1]).to(mode)
        return weft.where(flat.unsqueeze(-1), corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return (
            weft.xlogy(self.concentration - 1.0, value).sum(-1)
            + weft.lgamma(self.concentration.sum(-1))
            - weft.lgamma(self.concentration).sum(-1)
        )

    def entropy(self) -> Tensor:
        count, c = self.concentration.size(-1), self.concentration
        total = c.sum(-1)
        return (
            weft.lgamma(c).sum(-1)
            - weft.lgamma(total)
            - (count - total) * weft.digamma(total)
            - ((c - 1.0) * weft.digamma(c)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return natural_params[0].lgamma().sum(-1) - weft.lgamma(natural_params[0].sum(-1))
