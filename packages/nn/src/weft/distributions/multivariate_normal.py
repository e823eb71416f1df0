"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import weft
from weft import Tensor
from weft.distributions import constraints
from weft.distributions.distribution import Distribution
from weft.distributions.utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """The product of matrices (..., n, m) and vectors (..., m), broadcast."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """``x^T (L L^T)^-1 x`` of vectors (..., n) and lower triangular factors (..., n, n), broadcast.

    The vectors that share a factor are the columns of one system.
    """
    lead = max(x.dim() - factor.dim() + 1, 0)
    shape = x.shape[:lead]
    columns = x.reshape(shape.numel(), *x.shape[lead:]).movedim(0, -1)  # (*batch, n, samples)
    solved = weft.linalg.solve_triangular(factor, columns, upper=False)
    squares = solved.pow(2).sum(-2).movedim(-1, 0)
    return squares.reshape((*shape, *squares.shape[1:]))


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse: of P backwards, then inverted, which forms no product of inverses."""
    backwards = weft.linalg.cholesky(precision.flip((-2, -1)))
    inverse = backwards.flip((-2, -1)).mT
    identity = weft.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return weft.linalg.solve_triangular(inverse, identity, upper=False)


def half_log_determinant(factor: Tensor) -> Tensor:
    """Half the logarithm of the determinant of ``L L^T``."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(Distribution):
    """Normal vectors, whose elements vary together.

    Parameters
    ----------
    loc : Tensor, shape (..., n)
        The mean.
    covariance_matrix, precision_matrix : Tensor, shape (..., n, n)
        Positive definite; inverses of each other.
    scale_tril : Tensor, shape (..., n, n)
        The lower Cholesky factor of the covariance: what is computed with, and so the cheapest to give.

    Raises
    ------
    ValueError
        Unless exactly one matrix is given, and of at least two dimensions.

    Examples
    --------
    >>> MultivariateNormal(weft.zeros(2), weft.eye(2)).log_prob(weft.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector  # type: ignore[assignment]
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = one_matrix(covariance_matrix, precision_matrix, scale_tril)
        batch_shape = weft.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(MultivariateNormal, (), batch_shape, _instance)
        new.loc = self.loc.expand(new._extended_shape())
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        for name in ("covariance_matrix", "precision_matrix", "scale_tril"):
            if name in self.__dict__:
                setattr(new, name, new._of_batch(self.__dict__[name]))
        return new

    def _of_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._of_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self._of_batch(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._of_batch(weft.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, drawn)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        determinant = half_log_determinant(self._unbroadcasted_scale_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - determinant

    def entropy(self) -> Tensor:
        determinant = half_log_determinant(self._unbroadcasted_scale_tril)
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + determinant
        return found.expand(self._batch_shape) if self._batch_shape else found


def one_matrix(
    covariance: Any, precision: Any, scale_tril: Any, error: type[Exception] = ValueError
) -> tuple[str, Tensor]:
    """The name and the value of the only matrix that is given.

    Raises
    ------
    ValueError
        If there is another number of them (or ``error``), or if it has too few dimensions.
    """
    named = {"covariance_matrix": covariance, "precision_matrix": precision, "scale_tril": scale_tril}
    given = [(name, each) for name, each in named.items() if each is not None]
    if len(given) != 1:
        raise error(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified; "
            f"got {', '.join(name for name, _ in given) or 'none'}."
        )
    name, matrix = given[0]
    if matrix.dim() < 2:
        raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
    return name, matrix


def factor_of(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance, from the matrix of that name."""
    if name == "scale_tril":
        return matrix
    return weft.linalg.cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)
