"""The Kullback-Leibler divergence, by the types of the two distributions.

``KL(p || q)`` is the mean of ``log(p(x) / q(x))`` for x drawn from p. A formula is registered for a pair of types and
serves their subclasses too; of several that fit, the one of the most derived types is taken.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import weft
from weft import Tensor, inf
from weft.distributions.bernoulli import Bernoulli
from weft.distributions.beta import Beta
from weft.distributions.binomial import Binomial
from weft.distributions.categorical import Categorical
from weft.distributions.cauchy import Cauchy
from weft.distributions.continuous_bernoulli import ContinuousBernoulli
from weft.distributions.dirichlet import Dirichlet
from weft.distributions.distribution import Distribution, ExponentialFamily
from weft.distributions.exponential import Exponential
from weft.distributions.gamma import Gamma
from weft.distributions.geometric import Geometric
from weft.distributions.gumbel import Gumbel
from weft.distributions.half_normal import HalfNormal
from weft.distributions.independent import Independent
from weft.distributions.laplace import Laplace
from weft.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from weft.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis, half_log_determinant
from weft.distributions.normal import Normal
from weft.distributions.one_hot_categorical import OneHotCategorical
from weft.distributions.pareto import Pareto
from weft.distributions.poisson import Poisson
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.uniform import Uniform
from weft.distributions.utils import _sum_rightmost, euler_constant
from weft.nn.functional import softplus

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Callable[[Any, Any], Tensor] | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Decorate the function that computes the divergence of a ``type_p`` from a ``type_q``.

    Raises
    ------
    TypeError
        If one is no class of distributions.

    Examples
    --------
    >>> class Twice(Normal):
    ...     pass
    >>> @register_kl(Twice, Normal)
    ... def _(p, q):
    ...     return weft.tensor(2.0)
    >>> kl_divergence(Twice(0.0, 1.0), Normal(0.0, 1.0))
    tensor(2.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"register_kl: {name} must be a class of distributions, not {kind!r}")

    def registered(function: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()  # what was found before may not be the best any more
        return function

    return registered


def _dispatch_kl(type_p: type, type_q: type) -> Callable[[Any, Any], Tensor] | None:
    """The function of the most derived pair that both types are subclasses of.

    Warns
    -----
    RuntimeWarning
        If one pair is closer in p and another in q; the one that is closer in p is taken.
    """
    above_p, above_q = type_p.__mro__, type_q.__mro__
    matches = [(p, q) for p, q in _KL_REGISTRY if p in above_p and q in above_q]
    if not matches:
        return None
    by_p = min(matches, key=lambda pair: (above_p.index(pair[0]), above_q.index(pair[1])))
    by_q = min(matches, key=lambda pair: (above_q.index(pair[1]), above_p.index(pair[0])))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({by_p[0].__name__}, "
            f"{by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence of p from q, in nats: a tensor of their batch shape.

    Raises
    ------
    NotImplementedError
        If none is registered for these types.

    Examples
    --------
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return function(p, q)


def x_log_x(x: Tensor) -> Tensor:
    """``x log(x)``, 0 at 0."""
    return weft.special.xlogy(x, x)


# Pairs where p has values that q cannot have, and a parameter of p, which has the shape of the result.

INFINITE: dict[type, tuple[str, list[type]]] = {
    Beta: ("concentration1", [Pareto]),
    ContinuousBernoulli: ("probs", [Pareto]),
    Exponential: ("rate", [Beta, ContinuousBernoulli, Pareto, Uniform]),
    Gamma: ("concentration", [Beta, ContinuousBernoulli, Pareto, Uniform]),
    Gumbel: ("loc", [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform]),
    Laplace: ("loc", [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform]),
    Normal: ("loc", [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform]),
    Pareto: ("scale", [Beta, ContinuousBernoulli, Uniform]),
    Poisson: ("rate", [Bernoulli, Binomial]),
}


def infinite(parameter: str) -> Callable[[Any, Any], Tensor]:
    """The function of such a pair."""
    return lambda p, q: weft.full_like(getattr(p, parameter), inf)


for _kind, (_parameter, _others) in INFINITE.items():
    for _other in _others:
        register_kl(_kind, _other)(infinite(_parameter))


# Two of a kind


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            f"divergences; got {type(p).__name__} and {type(q).__name__}"
        )
    of_p = [each.detach().requires_grad_() for each in p._natural_params]
    normalizer = p._log_normalizer(*of_p)
    gradients = weft.autograd.grad(normalizer.sum(), of_p, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for to, start, gradient in zip(q._natural_params, of_p, gradients, strict=True):
        terms = (to - start) * gradient
        # Some parameters are of the shape of a value, others are numbers.
        result = result - _sum_rightmost(terms, terms.dim() - result.dim())
    return result


@register_kl(Bernoulli, Bernoulli)
def _(p: Any, q: Any) -> Tensor:
    success = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    success = weft.where(p.probs == 0, 0.0, weft.where(q.probs == 0, inf, success))
    failure = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    failure = weft.where(p.probs == 1, 0.0, weft.where(q.probs == 1, inf, failure))
    return success + failure


@register_kl(Beta, Beta)
def _(p: Any, q: Any) -> Tensor:
    of_p = p.concentration1 + p.concentration0
    of_q = q.concentration1 + q.concentration0
    normalizers = (q.concentration1.lgamma() + q.concentration0.lgamma() + of_p.lgamma()) - (
        p.concentration1.lgamma() + p.concentration0.lgamma() + of_q.lgamma()
    )
    return (
        normalizers
        + (p.concentration1 - q.concentration1) * weft.digamma(p.concentration1)
        + (p.concentration0 - q.concentration0) * weft.digamma(p.concentration0)
        + (of_q - of_p) * weft.digamma(of_p)
    )


@register_kl(Binomial, Binomial)
def _(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return weft.where(p.total_count > q.total_count, inf, p.total_count * one)


@register_kl(Categorical, Categorical)
def _(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return weft.where(p.probs == 0, 0.0, weft.where(q.probs == 0, inf, terms)).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _(p: Any, q: Any) -> Tensor:
    of_p = p._cont_bern_log_norm() + weft.log1p(-p.probs)
    of_q = q._cont_bern_log_norm() + weft.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + of_p - of_q


@register_kl(Dirichlet, Dirichlet)
def _(p: Any, q: Any) -> Tensor:
    of_p, of_q = p.concentration.sum(-1), q.concentration.sum(-1)
    mean_log = p.concentration.digamma() - of_p.digamma().unsqueeze(-1)
    return (
        of_p.lgamma()
        - of_q.lgamma()
        - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
        + ((p.concentration - q.concentration) * mean_log).sum(-1)
    )


@register_kl(Exponential, Exponential)
def _(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _(p: Any, q: Any) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log()
        + q.concentration.lgamma()
        - p.concentration.lgamma()
        + (p.concentration - q.concentration) * p.concentration.digamma()
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Gumbel, Gumbel)
def _(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    away = (p.loc - q.loc) / q.scale
    return away - ratio.log() + ratio * euler_constant + weft.exp(weft.lgamma(1 + ratio) - away) - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _(p: Any, q: Any) -> Tensor:
    return -p.entropy() - weft.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _(p: Any, q: Any) -> Tensor:
    return kl_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    away = (p.loc - q.loc).abs()
    return away / q.scale + ratio * weft.exp(-away / p.scale) - ratio.log() - 1


@register_kl(Normal, Normal)
def kl_normal(p: Any, q: Any) -> Tensor:
    """That of two normal distributions."""
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p: Any, q: Any) -> Tensor:
    return kl_divergence(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _(p: Any, q: Any) -> Tensor:
    # From Pareto densities, where p does not begin before q.
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return weft.where(p.support.lower_bound < q.support.lower_bound, inf, result)


@register_kl(Poisson, Poisson)
def _(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return weft.where((q.low > p.low) | (q.high < p.high), inf, result)


@register_kl(Cauchy, Cauchy)
def _(p: Any, q: Any) -> Tensor:
    # Chyzak and Nielsen, A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions, 2019.
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            f"kl_divergence: two {type(p).__name__} need the same transforms and event shape; got {p} and {q}"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _(p: Any, q: Any) -> Tensor:
    count = p.reinterpreted_batch_ndims
    if count != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            f"kl_divergence: two Independent need the same reinterpreted_batch_ndims, got {count} and "
            f"{q.reinterpreted_batch_ndims}"
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), count)


# Multivariate normal


def whitened(factor: Tensor, matrix: Tensor) -> Tensor:
    """``trace(matrix^T (L L^T)^-1 matrix)`` of lower triangular factors, broadcast."""
    return weft.linalg.solve_triangular(factor, matrix, upper=False).pow(2).sum((-2, -1))


@register_kl(MultivariateNormal, MultivariateNormal)
def _(p: Any, q: Any) -> Tensor:
    check_events(p, q)
    of_p, of_q = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    determinants = half_log_determinant(of_q) - half_log_determinant(of_p)
    distance = _batch_mahalanobis(of_q, q.loc - p.loc)
    return determinants + 0.5 * (whitened(of_q, of_p) + distance - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _(p: Any, q: Any) -> Tensor:
    return kl_to_low_rank(p, q, 2 * half_log_determinant(p._unbroadcasted_scale_tril), [p._unbroadcasted_scale_tril])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _(p: Any, q: Any) -> Tensor:
    determinant = _batch_lowrank_logdet(p._unbroadcasted_cov_diag, p._capacitance_tril)
    return kl_to_low_rank(p, q, determinant, roots(p))


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _(p: Any, q: Any) -> Tensor:
    check_events(p, q)
    of_q = q._unbroadcasted_scale_tril
    determinant = _batch_lowrank_logdet(p._unbroadcasted_cov_diag, p._capacitance_tril)
    trace = sum((whitened(of_q, each) for each in roots(p)), weft.zeros(()))
    distance = _batch_mahalanobis(of_q, q.loc - p.loc)
    return 0.5 * (2 * half_log_determinant(of_q) - determinant + trace + distance - p.event_shape[0])


def roots(p: Any) -> list[Tensor]:
    """Matrices whose products with their transposes add up to the covariance."""
    return [p._unbroadcasted_cov_factor, weft.diag_embed(p._unbroadcasted_cov_diag.sqrt())]


def kl_to_low_rank(p: Any, q: Any, determinant: Tensor, parts: list[Tensor]) -> Tensor:
    """The divergence from a q of low rank, whose inverse is Woodbury's ``D^-1 - A^T A`` for ``A = L^-1 W^T D^-1``."""
    check_events(p, q)
    factor, diagonal, inner = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q._capacitance_tril
    projection = weft.linalg.solve_triangular(inner, factor.mT / diagonal.unsqueeze(-2), upper=False)
    trace: Any = 0.0
    for part in parts:
        scaled = part / diagonal.sqrt().unsqueeze(-1)
        trace = trace + scaled.pow(2).sum((-2, -1)) - (projection @ part).pow(2).sum((-2, -1))
    distance = _batch_lowrank_mahalanobis(factor, diagonal, q.loc - p.loc, inner)
    return 0.5 * (_batch_lowrank_logdet(diagonal, inner) - determinant + trace + distance - p.event_shape[0])


def check_events(p: Any, q: Any) -> None:
    """Both are of vectors of the same length.

    Raises
    ------
    ValueError
        If not.
    """
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {type(q).__name__}s with different event shapes cannot be computed; got "
            f"{tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )


# Of one kind from another: mean negative log-density of q under p, less p's entropy


@register_kl(Bernoulli, Poisson)
def _(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
@register_kl(Uniform, ContinuousBernoulli)
def to_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    """A density on [0, 1], of which only the mean matters."""
    result = -p.entropy() - p.mean * q.logits - weft.log1p(-q.probs) - q._cont_bern_log_norm()
    if isinstance(p, Beta):
        return result
    return weft.where((p.high >= q.support.upper_bound) | (p.low <= q.support.lower_bound), inf, result)


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _(p: Any, q: Any) -> Tensor:
    total = p.concentration1 + p.concentration0
    mean_log = p.concentration1.digamma() - total.digamma()
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return normalizer - p.entropy() - (q.concentration - 1) * mean_log + q.rate * p.mean


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
def _(p: Any, q: Any) -> Tensor:
    square = p.variance + (p.mean - q.loc).pow(2)
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + 0.5 * square / q.scale.pow(2)


@register_kl(Beta, Uniform)
def _(p: Any, q: Any) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return weft.where((q.low > p.support.lower_bound) | (q.high < p.support.upper_bound), inf, result)


@register_kl(ContinuousBernoulli, Uniform)
def _(p: Any, q: Any) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return weft.where((q.low >= p.support.lower_bound) | (q.high <= p.support.upper_bound), inf, result)


@register_kl(Exponential, Gamma)
def _(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    c = q.concentration
    return ratio - c * ratio.log() + c.lgamma() + c * euler_constant - (1 + euler_constant)


@register_kl(Exponential, Gumbel)
def _(p: Any, q: Any) -> Tensor:
    product, place = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 - place + place.exp() * product / (product + 1) + product.reciprocal()


@register_kl(Exponential, Normal)
def _(p: Any, q: Any) -> Tensor:
    variance, square = q.scale.pow(2), p.rate.pow(2)
    moments = square.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5
    return 0.5 * weft.log(square * variance * 2 * math.pi) - 1 + moments / variance


@register_kl(Gamma, Gumbel)
def _(p: Any, q: Any) -> Tensor:
    product, place, c = p.rate * q.scale, q.loc / q.scale, p.concentration
    entropy = (c - 1) * c.digamma() - c.lgamma() - c
    return entropy + product.log() + c / product + place.exp() * (1 + product.reciprocal()).pow(-c) - place


@register_kl(Gamma, Normal)
def _(p: Any, q: Any) -> Tensor:
    variance, square, c = q.scale.pow(2), p.rate.pow(2), p.concentration
    normalizer = 0.5 * weft.log(square * variance * 2 * math.pi) - c - c.lgamma()
    moments = 0.5 * (c.pow(2) + c) / square - q.loc * c / p.rate + 0.5 * q.loc.pow(2)
    return normalizer + (c - 1) * c.digamma() + moments / variance


@register_kl(Gumbel, Normal)
def _(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    away = (p.loc + p.scale * euler_constant - q.loc) / q.scale
    half_square = (math.pi * ratio).pow(2) / 12 + 0.5 * away.pow(2)
    return half_square - weft.log(ratio / math.sqrt(2 * math.pi)) - (euler_constant + 1)


@register_kl(Laplace, Normal)
def _(p: Any, q: Any) -> Tensor:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    return ratio - 0.5 * weft.log(2 * ratio / math.pi) + 0.5 * (p.loc - q.loc).pow(2) / variance - 1


@register_kl(Normal, Gumbel)
def _(p: Any, q: Any) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return away + weft.exp(0.5 * ratio.pow(2) - away) - ratio.log() - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _(p: Any, q: Any) -> Tensor:
    away = p.loc - q.loc
    relative = away / p.scale
    mean_distance = math.sqrt(2 / math.pi) * p.scale * weft.exp(-0.5 * relative.pow(2)) + away * weft.erf(
        math.sqrt(0.5) * relative
    )
    return mean_distance / q.scale - (p.scale / q.scale).log() - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Pareto, Exponential)
def _(p: Any, q: Any) -> Tensor:
    product = p.scale * q.rate
    result = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    return weft.where(p.alpha <= 1, inf, result)


@register_kl(Pareto, Gamma)
def _(p: Any, q: Any) -> Tensor:
    mean_log = p.scale.log() + p.alpha.reciprocal()
    result = (
        p.alpha.log()
        - mean_log
        + q.concentration.lgamma()
        - q.concentration * q.rate.log()
        + (1 - q.concentration) * mean_log
        + q.rate * p.alpha * p.scale / (p.alpha - 1)
        - 1
    )
    return weft.where(p.alpha <= 1, inf, result)


@register_kl(Pareto, Normal)
def _(p: Any, q: Any) -> Tensor:
    part = p.scale / (p.alpha - 1)
    square = p.alpha * part.pow(2) / (p.alpha - 2) + (p.alpha * part - q.loc).pow(2)
    normalizer = weft.log(math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale)
    result = normalizer - p.alpha.reciprocal() + square / (2 * q.scale.pow(2)) - 1
    return weft.where(p.alpha <= 2, inf, result)


def mean_log_of_uniform(low: Tensor, high: Tensor) -> Tensor:
    """The mean of log(x) for x uniform between two positive numbers."""
    return (x_log_x(high) - x_log_x(low)) / (high - low) - 1


@register_kl(Uniform, Beta)
def _(p: Any, q: Any) -> Tensor:
    of_success = (q.concentration1 - 1) * mean_log_of_uniform(p.low, p.high)
    of_failure = (q.concentration0 - 1) * mean_log_of_uniform(1 - p.high, 1 - p.low)
    total = q.concentration1 + q.concentration0
    normalizer = q.concentration1.lgamma() + q.concentration0.lgamma() - total.lgamma()
    result = normalizer - of_success - of_failure - (p.high - p.low).log()
    return weft.where((p.high > q.support.upper_bound) | (p.low < q.support.lower_bound), inf, result)


@register_kl(Uniform, Exponential)
def _(p: Any, q: Any) -> Tensor:
    result = q.rate * p.mean - weft.log((p.high - p.low) * q.rate)
    return weft.where(p.low < q.support.lower_bound, inf, result)


@register_kl(Uniform, Gamma)
def _(p: Any, q: Any) -> Tensor:
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    of_log = (1 - q.concentration) * mean_log_of_uniform(p.low, p.high)
    result = normalizer + of_log + q.rate * p.mean - (p.high - p.low).log()
    return weft.where(p.low < q.support.lower_bound, inf, result)


@register_kl(Uniform, Gumbel)
def _(p: Any, q: Any) -> Tensor:
    width = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return width.log() + 0.5 * (high + low) - width * (weft.exp(-high) - weft.exp(-low))


@register_kl(Uniform, Normal)
def _(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    square = width.pow(2) / 12 + (p.mean - q.loc).pow(2)
    return weft.log(math.sqrt(2 * math.pi) * q.scale / width) + 0.5 * square / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    normalizer = weft.log(q.alpha * q.scale.pow(q.alpha) * width)
    result = mean_log_of_uniform(p.low, p.high) * (q.alpha + 1) - normalizer
    return weft.where(p.low < q.support.lower_bound, inf, result)
