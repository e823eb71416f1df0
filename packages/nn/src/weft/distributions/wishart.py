"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any, ClassVar

import weft
from weft import Size, Tensor, nan
from weft.distributions import constraints
from weft.distributions.chi2 import Chi2
from weft.distributions.distribution import ExponentialFamily
from weft.distributions.multivariate_normal import factor_of, half_log_determinant, one_matrix
from weft.distributions.utils import lazy_property

__all__ = ["Wishart"]

ATTEMPTS = 10  # to replace a singular sample


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of the logarithm of the multivariate gamma function."""
    return weft.digamma(x.unsqueeze(-1) - 0.5 * weft.arange(p, dtype=x.dtype, device=x.device)).sum(-1)


class Wishart(ExponentialFamily):
    """``X X^T`` for a matrix X with ``df`` columns, each multivariate normal of mean 0.

    Parameters
    ----------
    df : float or Tensor
        Above p - 1 for matrices of p rows; not necessarily whole.
    covariance_matrix, precision_matrix, scale_tril : Tensor, shape (..., p, p)
        One of them, as for `MultivariateNormal`.

    Notes
    -----
    Samples are drawn by Bartlett's decomposition: On the theory of statistical regression, 1933.

    Examples
    --------
    >>> Wishart(weft.tensor(3.0), covariance_matrix=weft.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    arg_constraints: ClassVar[Any] = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    support = constraints.positive_definite  # type: ignore[assignment]
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = one_matrix(covariance_matrix, precision_matrix, scale_tril, error=AssertionError)
        if isinstance(df, Number):
            df = weft.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape = weft.broadcast_shapes(matrix.shape[:-2], df.shape)
        rows = matrix.shape[-1]
        self.df = df.expand(batch_shape)
        if self.df.le(rows - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {rows - 1}.")
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        if self.df.lt(rows).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        self._dist_chi2 = self._of_diagonal()

    def _of_diagonal(self) -> Chi2:
        """The squares of the diagonal of Bartlett's factor: each row has a degree of freedom less."""
        row = weft.arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return Chi2(self.df.unsqueeze(-1) - row)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(Wishart, ("df",), batch_shape, _instance)
        for name in ("_unbroadcasted_scale_tril", "covariance_matrix", "precision_matrix", "scale_tril"):
            if name in self.__dict__:
                setattr(new, name, new._of_batch(self.__dict__[name]))
        new._dist_chi2 = new._of_diagonal()
        return new

    def _of_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._of_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance of a column."""
        return self._of_batch(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._of_batch(weft.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        return factor.masked_fill(factor <= 0, nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        product = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (self.covariance_matrix.pow(2) + product)

    def _bartlett_sampling(self, sample_shape: Any = ()) -> Tensor:
        count = self._event_shape[-1]
        root = weft.diag_embed(self._dist_chi2.rsample(sample_shape).sqrt())
        shape = (*sample_shape, *self._batch_shape, count * (count - 1) // 2)
        rows, columns = weft.tril_indices(count, count, offset=-1, device=self.df.device)
        root[..., rows, columns] = weft.randn(shape, dtype=self.df.dtype, device=self.df.device)
        factor = self._unbroadcasted_scale_tril @ root
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Tensor:
        sample_shape = Size(sample_shape)
        # PyTorch replaces each sound sample by another one; the first is drawn here too, so that the numbers agree.
        self._bartlett_sampling(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        for _ in range(ATTEMPTS if max_try_correction is None else max_try_correction):
            singular = self._singular(sample, len(sample_shape))
            if not singular.any():
                break
            warnings.warn("Singular sample detected.", stacklevel=2)
            sample = sample.index_put((singular,), self._bartlett_sampling(singular[singular].shape))
        return sample

    def _singular(self, sample: Tensor, lead: int) -> Tensor:
        """Which samples of the whole batch hold a matrix that is singular."""
        found = ~self.support.check(sample)
        return found.reshape(*found.shape[:lead], math.prod(found.shape[lead:])).any(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        nu, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        solved = weft.cholesky_solve(value, factor)
        return (
            -nu * (p * math.log(2.0) / 2 + half_log_determinant(factor))
            - weft.mvlgamma(nu / 2, p)
            + (nu - p - 1) / 2 * weft.linalg.slogdet(value).logabsdet
            - solved.diagonal(dim1=-2, dim2=-1).sum(-1) / 2
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * (p * math.log(2.0) / 2 + half_log_determinant(self._unbroadcasted_scale_tril))
            + weft.mvlgamma(nu / 2, p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p)
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (p * math.log(2.0) - weft.linalg.slogdet(-2 * x).logabsdet) + weft.mvlgamma(half, p)
