"""Multivariate normal distributions whose covariance is a diagonal and a matrix of low rank."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import weft
from weft import Tensor
from weft.distributions import constraints
from weft.distributions.distribution import Distribution
from weft.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv, half_log_determinant
from weft.distributions.utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _batch_capacitance_tril(factor: Tensor, diagonal: Tensor) -> Tensor:
    """The Cholesky factor of ``I + W^T D^-1 W``, of m rows only."""
    inside = factor.mT / diagonal.unsqueeze(-2) @ factor
    return weft.linalg.cholesky(inside + weft.eye(factor.size(-1), dtype=factor.dtype, device=factor.device))


def _batch_lowrank_logdet(diagonal: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The logarithm of the determinant of ``W W^T + D``, by the matrix determinant lemma."""
    return 2 * half_log_determinant(capacitance_tril) + diagonal.log().sum(-1)


def _batch_lowrank_mahalanobis(factor: Tensor, diagonal: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """``x^T (W W^T + D)^-1 x``, by Woodbury's formula."""
    projected = _batch_mv(factor.mT / diagonal.unsqueeze(-2), x)
    return (x.pow(2) / diagonal).sum(-1) - _batch_mahalanobis(capacitance_tril, projected)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of covariance ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    Parameters
    ----------
    loc : Tensor, shape (..., n)
    cov_factor : Tensor, shape (..., n, m)
        With m much less than n, all is computed with matrices of m rows.
    cov_diag : Tensor, shape (..., n)
        Positive.

    Examples
    --------
    >>> factor, diagonal = weft.tensor([[1.0], [2.0]]), weft.ones(2)
    >>> LowRankMultivariateNormal(weft.zeros(2), factor, diagonal).covariance_matrix
    tensor([[2., 2.],
            [2., 5.]])
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector  # type: ignore[assignment]
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        check_shapes(loc, cov_factor, cov_diag)
        try:
            shape = weft.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {tuple(loc.shape)}, cov_factor {tuple(cov_factor.shape)}, "
                f"cov_diag {tuple(cov_diag.shape)}"
            ) from error
        self.loc, self.cov_diag = loc.expand((*shape, -1)), cov_diag.expand((*shape, -1))
        self.cov_factor = cov_factor.expand((*shape, -1, -1))
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(shape, loc.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(LowRankMultivariateNormal, (), batch_shape, _instance)
        shape = new._extended_shape()
        new.loc, new.cov_diag = self.loc.expand(shape), self.cov_diag.expand(shape)
        new.cov_factor = self.cov_factor.expand(shape + self.cov_factor.shape[-1:])
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        return new

    def _of_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        found = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return found.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance: ``D^(1/2) cholesky(I + D^(-1/2) W W^T D^(-1/2))``."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        identity = weft.eye(self._event_shape[0], dtype=scaled.dtype, device=scaled.device)
        return self._of_batch(root * weft.linalg.cholesky(scaled @ scaled.mT + identity))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._of_batch(factor @ factor.mT + weft.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, by Woodbury's formula."""
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        solved = weft.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._of_batch(weft.diag_embed(diagonal.reciprocal()) - solved.mT @ solved)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        of_factor = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc.dtype, self.loc.device)
        of_diagonal = _standard_normal(shape, self.loc.dtype, self.loc.device)
        spread = self._unbroadcasted_cov_diag.sqrt() * of_diagonal
        return self.loc + _batch_mv(self._unbroadcasted_cov_factor, of_factor) + spread

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        factor, diagonal, inner = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        distance = _batch_lowrank_mahalanobis(factor, diagonal, value - self.loc, inner)
        determinant = _batch_lowrank_logdet(diagonal, inner)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + determinant + distance)

    def entropy(self) -> Tensor:
        determinant = _batch_lowrank_logdet(self._unbroadcasted_cov_diag, self._capacitance_tril)
        found = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + determinant)
        return found.expand(self._batch_shape) if self._batch_shape else found


def check_shapes(loc: Tensor, cov_factor: Tensor, cov_diag: Tensor) -> None:
    """All speak of vectors of the same length.

    Raises
    ------
    ValueError
        If not.
    """
    if loc.dim() < 1:
        raise ValueError("loc must be at least one-dimensional.")
    if cov_factor.dim() < 2:
        raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
    count = loc.shape[-1]
    if cov_factor.shape[-2] != count:
        raise ValueError(
            f"cov_factor must be a batch of matrices with shape {count} x m; got {tuple(cov_factor.shape)}"
        )
    if cov_diag.dim() < 1 or cov_diag.shape[-1] != count:
        raise ValueError(f"cov_diag must be a batch of vectors with shape ({count},); got {tuple(cov_diag.shape)}")
