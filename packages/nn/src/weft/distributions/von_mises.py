"""The von Mises distribution, of angles."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import weft
from weft import Size, Tensor
from weft.distributions import constraints
from weft.distributions.distribution import Distribution
from weft.distributions.utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Density ``exp(concentration cos(x - loc)) / (2 pi I0(concentration))`` of an angle x in radians.

    Parameters
    ----------
    loc : Tensor
        The mean angle. Samples are in [-pi, pi).
    concentration : Tensor

    Notes
    -----
    Samples are drawn by rejection from a wrapped Cauchy distribution, in float64: Best and Fisher, Efficient simulation
    of the von Mises distribution, 1979.

    Examples
    --------
    >>> VonMises(weft.tensor(1.0), weft.tensor(4.0)).mean
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real  # type: ignore[assignment]
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(VonMises, ("loc", "concentration"), batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        """The circular variance, ``1 - I1 / I0``."""
        return 1 - weft.special.i1e(self.concentration) / weft.special.i0e(self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        # log I0(c) = log(I0(c) exp(-c)) + c, which does not overflow.
        log_bessel = weft.special.i0e(self.concentration).log() + self.concentration
        return self.concentration * weft.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel

    @lazy_property
    def _proposal(self) -> Tensor:
        """The parameter of the Cauchy distribution."""
        kappa = self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        # By its series where rho is 0 / 0.
        return weft.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = (*Size(sample_shape), *self.loc.shape)
        with weft.no_grad():
            kappa, r = self.concentration.double(), self._proposal
            angle = weft.empty(shape, dtype=r.dtype, device=r.device)
            done = weft.zeros(shape, dtype=weft.bool, device=r.device)
            while not done.all():
                first, second, third = weft.rand((3, *shape), dtype=r.dtype, device=r.device).unbind()
                z = weft.cos(math.pi * first)
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = (c * (2 - c) - second > 0) | ((c / second).log() + 1 - c >= 0)
                angle = weft.where(accept, (third - 0.5).sign() * f.acos(), angle)
                done = done | accept
            return ((angle + math.pi + self.loc.double()) % (2 * math.pi) - math.pi).to(self.loc.dtype)
