"""Distributions against integrals and sums of their own densities, and against SciPy and PyTorch's numbers."""

import copy
import math
import pickle

import numpy as np
import pytest

import weft
import weft.distributions as D

GRID = 20001


def t(*values):
    return weft.tensor(list(values), dtype=weft.float64)


# A distribution, and the ends of what holds all but 1e-10 of it.
CONTINUOUS = {
    "Normal": (D.Normal(t(0.5, -1.0), t(1.0, 2.0)), -15.0, 15.0),
    "Laplace": (D.Laplace(t(0.5, -1.0), t(1.0, 0.5)), -30.0, 30.0),
    "Gumbel": (D.Gumbel(t(0.5, -1.0), t(1.0, 0.5)), -6.0, 30.0),
    "Exponential": (D.Exponential(t(1.0, 2.0)), 0.0, 30.0),
    "Gamma": (D.Gamma(t(2.5, 4.0), t(1.0, 2.0)), 1e-9, 45.0),
    "Chi2": (D.Chi2(t(5.0, 8.0)), 1e-9, 90.0),
    "InverseGamma": (D.InverseGamma(t(9.0, 12.0), t(4.0, 6.0)), 1e-3, 12.0),
    "Beta": (D.Beta(t(2.5, 4.0), t(3.0, 2.0)), 1e-12, 1 - 1e-12),
    "Kumaraswamy": (D.Kumaraswamy(t(2.5, 4.0), t(3.0, 2.0)), 1e-12, 1 - 1e-12),
    "ContinuousBernoulli": (D.ContinuousBernoulli(t(0.2, 0.5)), 0.0, 1.0),
    "HalfNormal": (D.HalfNormal(t(1.0, 2.0)), 0.0, 15.0),
    "LogNormal": (D.LogNormal(t(0.0, 0.2), t(0.3, 0.2)), 1e-9, 12.0),
    "StudentT": (D.StudentT(t(20.0, 30.0), t(0.0, 1.0), t(1.0, 2.0)), -40.0, 40.0),
    "FisherSnedecor": (D.FisherSnedecor(t(6.0, 8.0), t(60.0, 90.0)), 1e-9, 20.0),
    "Uniform": (D.Uniform(t(0.0, 0.0), t(2.0, 2.0)), 0.0, 2.0 - 1e-15),
    "Weibull": (D.Weibull(t(1.0, 2.0), t(2.0, 3.0)), 1e-9, 10.0),
    "GeneralizedPareto": (D.GeneralizedPareto(t(0.0, 0.0), t(2.5, 2.0), t(-0.25, -0.2)), 0.0, 10 - 1e-9),
    "VonMises": (D.VonMises(t(0.5, -1.0), t(2.0, 4.0)), -math.pi, math.pi),
    "MixtureSameFamily": (
        D.MixtureSameFamily(D.Categorical(t(0.3, 0.7)), D.Normal(t(-1.0, 2.0), t(1.0, 0.5))),
        -12.0,
        12.0,
    ),
}
# Whose tails are too long for an integral: only cdf and icdf are checked.
LONG_TAILED = {
    "Cauchy": D.Cauchy(t(0.5, -1.0), t(1.0, 2.0)),
    "HalfCauchy": D.HalfCauchy(t(1.0, 2.0)),
    "Pareto": D.Pareto(t(1.0, 2.0), t(3.0, 1.5)),
}
DISCRETE = {
    "Bernoulli": (D.Bernoulli(t(0.2, 0.7)), 1),
    "Binomial": (D.Binomial(7, t(0.2, 0.7)), 7),
    "Geometric": (D.Geometric(t(0.2, 0.7)), 200),
    "Poisson": (D.Poisson(t(2.0, 9.5)), 60),
    "NegativeBinomial": (D.NegativeBinomial(t(3.0, 2.5), t(0.3, 0.6)), 200),
}
VECTORS = {
    "Dirichlet": D.Dirichlet(t(2.0, 3.0, 4.0)),
    "MultivariateNormal": D.MultivariateNormal(t(1.0, -1.0), weft.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=weft.float64)),
    "LowRankMultivariateNormal": D.LowRankMultivariateNormal(
        t(1.0, -1.0), weft.tensor([[1.0], [0.5]], dtype=weft.float64), t(0.5, 0.2)
    ),
    "OneHotCategorical": D.OneHotCategorical(t(0.2, 0.3, 0.5)),
    "Multinomial": D.Multinomial(5, t(0.2, 0.3, 0.5)),
    "Wishart": D.Wishart(t(6.0, 7.0), weft.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=weft.float64)),
    "Independent": D.Independent(D.Normal(t(0.0, 1.0), t(1.0, 2.0)), 1),
}
EVERY = {
    **{name: row[0] for name, row in CONTINUOUS.items()},
    **LONG_TAILED,
    **{name: row[0] for name, row in DISCRETE.items()},
    **VECTORS,
    "Categorical": D.Categorical(t(0.2, 0.3, 0.5)),
    "RelaxedBernoulli": D.RelaxedBernoulli(t(0.7), t(0.3)),
    "RelaxedOneHotCategorical": D.RelaxedOneHotCategorical(weft.tensor(0.7, dtype=weft.float64), t(0.3, 0.7)),
    "LogisticNormal": D.LogisticNormal(t(0.0, 1.0), t(1.0, 0.5)),
    "LKJCholesky": D.LKJCholesky(3, t(1.5)),
    "TransformedDistribution": D.TransformedDistribution(D.Normal(t(0.0), t(1.0)), [D.AffineTransform(1.0, -2.0)]),
}


def integral(values, x):
    """Simpson's rule along the first dimension."""
    h = (x[-1] - x[0]) / (len(x) - 1)
    return (values[0] + values[-1] + 4 * values[1:-1:2].sum(0) + 2 * values[2:-1:2].sum(0)) * h / 3


def grid(low, high, shape):
    x = weft.linspace(low, high, GRID, dtype=weft.float64)
    return x, x.reshape(-1, *[1] * len(shape)).expand(GRID, *shape)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_integrate_to_1_and_moments_and_entropy_are_their_integrals(name):
    distribution, low, high = CONTINUOUS[name]
    x, values = grid(low, high, distribution.batch_shape)
    log_density = distribution.log_prob(values)
    density = log_density.exp()
    one = integral(density, x)
    weft.testing.assert_close(one, weft.ones_like(one), rtol=1e-6, atol=1e-6)
    if name == "VonMises":
        around = (values - distribution.loc).cos()
        weft.testing.assert_close(1 - integral(around * density, x), distribution.variance, rtol=1e-8, atol=1e-8)
        return
    mean = integral(values * density, x)
    weft.testing.assert_close(distribution.mean, mean, rtol=1e-5, atol=1e-6)
    square = integral((values - mean).pow(2) * density, x)
    weft.testing.assert_close(distribution.variance, square, rtol=1e-4, atol=1e-6)
    weft.testing.assert_close(distribution.stddev, square.sqrt(), rtol=1e-4, atol=1e-6)
    if name in ("MixtureSameFamily", "FisherSnedecor"):  # which have no closed form of it
        with pytest.raises(NotImplementedError):
            distribution.entropy()
        return
    entropy = -integral(weft.where(density > 0, density * log_density, 0.0), x)
    weft.testing.assert_close(distribution.entropy(), entropy, rtol=1e-5, atol=1e-5)
    weft.testing.assert_close(distribution.perplexity(), entropy.exp(), rtol=1e-5, atol=1e-5)


HAVE_CDF = [
    name for name in CONTINUOUS if name not in ("Beta", "StudentT", "FisherSnedecor", "VonMises", "InverseGamma")
]


@pytest.mark.parametrize("name", HAVE_CDF)
def test_cdf_is_the_integral_of_the_density(name):
    distribution, low, high = CONTINUOUS[name]
    middle = low + 0.3 * (high - low)
    x, values = grid(low, middle, distribution.batch_shape)
    expected = integral(distribution.log_prob(values).exp(), x)
    weft.testing.assert_close(distribution.cdf(values[-1]), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", [name for name in (*HAVE_CDF, *LONG_TAILED) if name not in (
    "Gamma", "Chi2", "MixtureSameFamily")])  # fmt: skip
def test_icdf_is_the_inverse_of_cdf(name):
    distribution = EVERY[name]
    probability = weft.linspace(0.05, 0.95, 7, dtype=weft.float64).unsqueeze(-1).expand(7, 2)
    weft.testing.assert_close(distribution.cdf(distribution.icdf(probability)), probability)


@pytest.mark.parametrize("name", LONG_TAILED)
def test_the_density_is_the_derivative_of_the_cdf(name):
    distribution = LONG_TAILED[name]
    x = t(2.5, 3.5).requires_grad_()
    (slope,) = weft.autograd.grad(distribution.cdf(x).sum(), x)
    weft.testing.assert_close(distribution.log_prob(x).exp().detach(), slope)


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_add_up_to_1_and_moments_are_their_sums(name):
    distribution, largest = DISCRETE[name]
    values = weft.arange(largest + 1, dtype=weft.float64).unsqueeze(-1).expand(-1, 2)
    probability = distribution.log_prob(values).exp()
    weft.testing.assert_close(probability.sum(0), weft.ones(2, dtype=weft.float64))
    mean = (probability * values).sum(0)
    weft.testing.assert_close(distribution.mean, mean)
    weft.testing.assert_close(distribution.variance, (probability * (values - mean).pow(2)).sum(0))
    most_likely = distribution.log_prob(distribution.mode).exp()
    weft.testing.assert_close(most_likely, probability.amax(0))  # of two that are equally likely it is either
    if name in ("Bernoulli", "Binomial", "Geometric"):
        entropy = -(probability * probability.log()).sum(0)
        weft.testing.assert_close(distribution.entropy(), entropy)
    if distribution.has_enumerate_support:
        assert weft.equal(distribution.enumerate_support(), values)
        assert distribution.enumerate_support(expand=False).shape == (largest + 1, 1)


SCIPY = {
    "Normal": lambda s: s.norm([0.5, -1.0], [1.0, 2.0]),
    "Laplace": lambda s: s.laplace([0.5, -1.0], [1.0, 0.5]),
    "Gumbel": lambda s: s.gumbel_r([0.5, -1.0], [1.0, 0.5]),
    "Exponential": lambda s: s.expon(scale=[1.0, 0.5]),
    "Gamma": lambda s: s.gamma([2.5, 4.0], scale=[1.0, 0.5]),
    "Chi2": lambda s: s.chi2([5.0, 8.0]),
    "InverseGamma": lambda s: s.invgamma([9.0, 12.0], scale=[4.0, 6.0]),
    "Beta": lambda s: s.beta([2.5, 4.0], [3.0, 2.0]),
    "HalfNormal": lambda s: s.halfnorm(scale=[1.0, 2.0]),
    "LogNormal": lambda s: s.lognorm([0.3, 0.2], scale=np.exp([0.0, 0.2])),
    "StudentT": lambda s: s.t([20.0, 30.0], [0.0, 1.0], [1.0, 2.0]),
    "FisherSnedecor": lambda s: s.f([6.0, 8.0], [60.0, 90.0]),
    "Weibull": lambda s: s.weibull_min([2.0, 3.0], scale=[1.0, 2.0]),
    "GeneralizedPareto": lambda s: s.genpareto([-0.25, -0.2], scale=[2.5, 2.0]),
    "VonMises": lambda s: s.vonmises([2.0, 4.0], [0.5, -1.0]),
    "Cauchy": lambda s: s.cauchy([0.5, -1.0], [1.0, 2.0]),
    "HalfCauchy": lambda s: s.halfcauchy(scale=[1.0, 2.0]),
    "Pareto": lambda s: s.pareto([3.0, 1.5], scale=[1.0, 2.0]),
}


@pytest.mark.parametrize("name", SCIPY)
def test_densities_are_those_of_scipy(name):
    reference = SCIPY[name](pytest.importorskip("scipy.stats"))
    distribution = EVERY[name]
    with weft.random.fork_rng():
        weft.manual_seed(0)
        values = distribution.sample((9,))
    np.testing.assert_allclose(distribution.log_prob(values).numpy(), reference.logpdf(values.numpy()), rtol=1e-10)


def test_matrix_densities_are_those_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    scale = weft.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=weft.float64)
    value = weft.tensor([[3.0, 1.0], [1.0, 2.0]], dtype=weft.float64)
    expected = stats.wishart(6.0, scale.numpy()).logpdf(value.numpy())
    assert D.Wishart(t(6.0), scale).log_prob(value).item() == pytest.approx(expected)
    expected = stats.wishart(6.0, scale.numpy()).entropy()
    assert D.Wishart(t(6.0), scale).entropy().item() == pytest.approx(expected)
    expected = stats.dirichlet([2.0, 3.0, 4.0]).logpdf([0.2, 0.3, 0.5])
    assert VECTORS["Dirichlet"].log_prob(t(0.2, 0.3, 0.5)).item() == pytest.approx(expected)
    expected = stats.multinomial(5, [0.2, 0.3, 0.5])
    assert VECTORS["Multinomial"].log_prob(t(1, 2, 2)).item() == pytest.approx(expected.logpmf([1, 2, 2]))
    assert VECTORS["Multinomial"].entropy().item() == pytest.approx(expected.entropy())
    expected = stats.multivariate_normal([1.0, -1.0], scale.numpy())
    assert VECTORS["MultivariateNormal"].log_prob(t(0.3, 0.4)).item() == pytest.approx(expected.logpdf([0.3, 0.4]))


@pytest.mark.parametrize("name", EVERY)
def test_samples_have_the_mean_and_the_variance_that_the_distribution_says(name):
    distribution = EVERY[name]
    count = 3000
    with weft.random.fork_rng():
        weft.manual_seed(1)
        drawn = distribution.sample((count,))
    assert drawn.shape == (count, *distribution.batch_shape, *distribution.event_shape)
    assert not drawn.requires_grad
    assert distribution.support.check(drawn).all()
    try:
        mean, variance = distribution.mean, distribution.variance
    except NotImplementedError:
        return
    if name == "VonMises" or not (variance.isfinite().all() and mean.isfinite().all()):
        return
    error = (drawn.to(mean.dtype).mean(0) - mean) / (variance / count).sqrt()
    assert error.abs().max() < 5
    assert (drawn.to(mean.dtype).var(0) / variance - 1).abs().max() < 0.35


@pytest.mark.parametrize("name", EVERY)
def test_expanding_repeats_the_distribution(name):
    distribution = EVERY[name]
    shape = (3, *distribution.batch_shape)
    larger = distribution.expand(shape)
    assert larger.batch_shape == shape
    assert larger.event_shape == distribution.event_shape
    assert type(larger) is type(distribution)
    value = distribution.sample()
    expected = distribution.log_prob(value)
    weft.testing.assert_close(larger.log_prob(value), expected.expand(shape))
    assert larger.sample((2,)).shape == (2, *shape, *distribution.event_shape)
    again = larger.expand((4, *shape))
    weft.testing.assert_close(again.log_prob(value), expected.expand(4, *shape))


@pytest.mark.parametrize("name", EVERY)
def test_distributions_are_copied_and_pickled(name):
    distribution = EVERY[name]
    value = distribution.sample()
    expected = distribution.log_prob(value)
    for other in (copy.deepcopy(distribution), pickle.loads(pickle.dumps(distribution))):
        weft.testing.assert_close(other.log_prob(value), expected)
        assert repr(other) == repr(distribution)


def test_a_generalized_pareto_distribution_of_concentration_0_is_exponential():
    pareto, exponential = D.GeneralizedPareto(0.0, 0.5, 0.0), D.Exponential(2.0)
    x = weft.tensor([0.1, 1.0, 3.0])
    weft.testing.assert_close(pareto.log_prob(x), exponential.log_prob(x))
    weft.testing.assert_close(pareto.cdf(x), exponential.cdf(x))
    weft.testing.assert_close(pareto.icdf(x / 4), exponential.icdf(x / 4))


def test_a_multivariate_normal_is_the_same_by_each_of_its_matrices():
    covariance = weft.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=weft.float64)
    mean, value = t(1.0, -1.0), t(0.3, 0.4)
    made = [
        D.MultivariateNormal(mean, covariance),
        D.MultivariateNormal(mean, precision_matrix=weft.linalg.inv(covariance)),
        D.MultivariateNormal(mean, scale_tril=weft.linalg.cholesky(covariance)),
    ]
    for each in made:
        weft.testing.assert_close(each.covariance_matrix, covariance)
        weft.testing.assert_close(each.precision_matrix, weft.linalg.inv(covariance))
        weft.testing.assert_close(each.log_prob(value), made[0].log_prob(value))
        weft.testing.assert_close(each.variance, covariance.diagonal())


def test_low_rank_is_the_multivariate_normal_of_its_covariance():
    low = D.LowRankMultivariateNormal(
        weft.zeros(2, 4, dtype=weft.float64),
        weft.linspace(-1, 1, 8, dtype=weft.float64).reshape(4, 2),
        weft.linspace(0.5, 2, 4, dtype=weft.float64),
    )
    full = D.MultivariateNormal(low.loc, low.covariance_matrix)
    value = weft.linspace(-1, 2, 24, dtype=weft.float64).reshape(3, 2, 4)
    weft.testing.assert_close(low.log_prob(value), full.log_prob(value))
    weft.testing.assert_close(low.entropy(), full.entropy())
    weft.testing.assert_close(low.scale_tril, full.scale_tril)
    weft.testing.assert_close(low.precision_matrix, full.precision_matrix)
    weft.testing.assert_close(low.variance, full.variance)


# Numbers that PyTorch draws after manual_seed(0): three numbers, or two vectors.
SEEDED = [
    (lambda: D.Normal(0.0, 1.0), [1.541, -0.29343, -2.1788]),
    (lambda: D.Uniform(0.0, 2.0), [0.99251, 1.5364, 0.17695]),
    (lambda: D.Bernoulli(weft.tensor(0.4)), [0, 0, 1]),
    (lambda: D.Exponential(2.0), [1.7542, 0.61519, 0.30752]),
    (lambda: D.Laplace(0.0, 1.0), [-0.0075149, 0.76883, -1.7319]),
    (lambda: D.Cauchy(0.0, 1.0), [10.598, 0.76477, -0.1283]),
    (lambda: D.Gumbel(0.0, 1.0), [0.35573, 1.333, -0.88583]),
    (lambda: D.Gamma(0.5, 2.0), [0.00039468, 0.022075, 0.17164]),
    (lambda: D.Gamma(5.0, 2.0), [4.4249, 2.0305, 1.347]),
    (lambda: D.Chi2(3.0), [7.4963, 1.7551, 0.68714]),
    (lambda: D.Beta(0.5, 2.0), [0.0012483, 0.023554, 0.14318]),
    (lambda: D.StudentT(4.0), [1.3746, -0.30246, -3.0814]),
    (lambda: D.FisherSnedecor(3.0, 6.0), [7.7064, 1.0598, 0.33344]),
    (lambda: D.Poisson(4.0), [7, 3, 5]),
    (lambda: D.Geometric(0.3), [1, 0, 6]),
    (lambda: D.Binomial(10, weft.tensor(0.3)), [6, 3, 3]),
    (lambda: D.NegativeBinomial(3.0, weft.tensor(0.5)), [5, 3, 0]),
    (lambda: D.Categorical(weft.tensor([0.2, 0.3, 0.5])), [2, 2, 1]),
    (lambda: D.VonMises(0.0, 2.0), [-0.33811, -0.58734, -0.19939]),
    (lambda: D.Weibull(1.0, 2.0), [1.8731, 1.1092, 0.78425]),
    (lambda: D.Pareto(1.0, 3.0), [3.2202, 1.507, 1.2275]),
    (lambda: D.Kumaraswamy(2.0, 3.0), [0.45638, 0.29007, 0.74458]),
    (lambda: D.HalfCauchy(1.0), [10.598, 0.76477, 0.1283]),
    (lambda: D.InverseGamma(3.0, 1.0), [0.16508, 0.45134, 0.79442]),
    (lambda: D.ContinuousBernoulli(0.3), [0.39358, 0.68218, 0.061232]),
    (lambda: D.GeneralizedPareto(0.0, 1.0, 0.2), [0.73493, 1.6982, 0.093502]),
    (lambda: D.RelaxedBernoulli(weft.tensor(0.5), 0.3), [0.15129, 0.66863, 0.0017275]),
    (lambda: D.Dirichlet(weft.tensor([0.5, 1.0, 2.0])), [0.00039425, 0.059427, 0.94018, 0.047516, 0.12484, 0.82764]),
    (lambda: D.Multinomial(5, weft.tensor([0.2, 0.3, 0.5])), [1, 1, 3, 0, 2, 3]),
    (lambda: D.OneHotCategorical(weft.tensor([0.2, 0.3, 0.5])), [0, 0, 1, 0, 0, 1]),
    (
        lambda: D.RelaxedOneHotCategorical(weft.tensor(0.5), weft.tensor([0.2, 0.8])),
        [0.0087736, 0.99123, 0.041751, 0.95825],
    ),
    (lambda: D.LogisticNormal(weft.zeros(2), weft.ones(2)), [0.70012, 0.1281, 0.17178, 0.053558, 0.60421, 0.34223]),
    (
        lambda: D.MultivariateNormal(weft.zeros(2), weft.tensor([[2.0, 0.5], [0.5, 1.0]])),
        [2.1793, 0.27035, -3.0813, -0.2386],
    ),
    (
        lambda: D.LowRankMultivariateNormal(weft.zeros(2), weft.ones(2, 1), weft.ones(2)),
        [-0.63779, 2.1094, -1.378, -1.692],
    ),
    (lambda: D.LKJCholesky(2, 1.5), [1, 0, 0.17369, 0.9848, 1, 0, -0.33537, 0.94209]),
    (lambda: D.Wishart(5.0, weft.eye(2)), [2.8035, -1.4935, -1.4935, 4.6214, 1.883, -2.0708, -2.0708, 5.9377]),
    (
        lambda: D.MixtureSameFamily(D.Categorical(weft.tensor([0.3, 0.7])), D.Normal(weft.tensor([-9.0, 9.0]), 1.0)),
        [8.3126, 8.3935, 10.062],
    ),
]


@pytest.mark.parametrize(("make", "expected"), SEEDED)
def test_samples_are_those_of_pytorch(make, expected):
    distribution = make()
    with weft.random.fork_rng():
        weft.manual_seed(0)
        drawn = distribution.sample((2,) if distribution.event_shape else (3,))
    np.testing.assert_allclose(drawn.numpy().reshape(-1), expected, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize(
    "given",
    [
        {"loc": 0.0, "scale": -1.0},
        {"loc": 0.0, "scale": 0.0},
        {"loc": math.nan, "scale": 1.0},
    ],
)
def test_parameters_are_checked(given):
    with pytest.raises(ValueError, match="to satisfy the constraint"):
        D.Normal(**given)
    D.Normal(**given, validate_args=False)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: D.Bernoulli(), "Either `probs` or `logits`"),
        (lambda: D.Bernoulli(0.5, 0.5), "Either `probs` or `logits`"),
        (lambda: D.Bernoulli(1.5), "Interval"),
        (lambda: D.Categorical(t(-1.0, 2.0)), "Simplex"),
        (lambda: D.Categorical(weft.tensor(1.0)), "at least one-dimensional"),
        (lambda: D.Dirichlet(weft.tensor(1.0)), "at least one-dimensional"),
        (lambda: D.Uniform(2.0, 1.0), "LessThan"),
        (lambda: D.Geometric(0.0), "positive"),
        (lambda: D.LKJCholesky(1), "dim=1"),
        (lambda: D.MultivariateNormal(weft.zeros(2)), "Exactly one"),
        (lambda: D.MultivariateNormal(weft.tensor(0.0), weft.eye(2)), "loc must be at least one-dimensional"),
        (lambda: D.MultivariateNormal(weft.zeros(2), weft.ones(2)), "at least two-dimensional"),
        (lambda: D.MultivariateNormal(weft.zeros(2), -weft.eye(2)), "PositiveDefinite"),
        (lambda: D.LowRankMultivariateNormal(weft.zeros(3), weft.zeros(2, 1), weft.ones(3)), "3 x m"),
        (lambda: D.LowRankMultivariateNormal(weft.zeros(3), weft.zeros(3, 1), weft.ones(2)), "vectors with shape"),
        (lambda: D.Wishart(1.0, weft.eye(3)), "greater than ndim - 1"),
        (lambda: D.ContinuousBernoulli(2.0, validate_args=True), "invalid values"),
        (lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(0.0, 1.0)), "Categorical"),
        (lambda: D.MixtureSameFamily(D.Categorical(t(0.5, 0.5)), 3), "Component"),
        (lambda: D.MixtureSameFamily(D.Categorical(t(0.5, 0.5)), D.Normal(t(0, 1, 2), 1.0)), "does not equal"),
        (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "reinterpreted_batch_ndims"),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), 3), "Transform or list"),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.SoftmaxTransform()), "shape with size at least 1"),
        (lambda: D.Normal("a", 1.0), "Input arguments must all be instances of Number"),
    ],
)
def test_wrong_arguments_are_refused_with_a_reason(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_unequal_numbers_of_trials_have_no_entropy_and_no_list():
    with pytest.raises(NotImplementedError, match="inhomogeneous"):
        D.Multinomial(t(1.0), t(0.5, 0.5))
    binomial = D.Binomial(t(3, 4), t(0.5, 0.5))
    with pytest.raises(NotImplementedError, match="Inhomogeneous"):
        binomial.entropy()
    with pytest.raises(NotImplementedError, match="Inhomogeneous"):
        binomial.enumerate_support()


def test_values_are_checked():
    normal = D.Normal(t(0.0, 1.0), 1.0)
    with pytest.raises(ValueError, match="must be a Tensor"):
        normal.log_prob(0.5)
    with pytest.raises(ValueError, match="not broadcastable"):
        normal.log_prob(t(0.0, 1.0, 2.0))
    with pytest.raises(ValueError, match="within the support"):
        normal.log_prob(t(0.0, math.nan))
    with pytest.raises(ValueError, match="right-most size"):
        D.Dirichlet(t(1.0, 2.0)).log_prob(t(0.2, 0.3, 0.5))
    with pytest.raises(ValueError, match="Simplex"):
        D.Dirichlet(t(1.0, 2.0)).log_prob(t(0.2, 0.3))
    assert D.Exponential(1.0, validate_args=False).log_prob(weft.tensor(-1.0)) == 1.0


def test_checks_are_switched_off_for_all():
    before = D.Distribution._validate_args
    try:
        D.Distribution.set_default_validate_args(False)
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(before)
    with pytest.raises(ValueError, match="True or False"):
        D.Distribution.set_default_validate_args(3)


def test_a_class_of_ones_own_is_told_what_it_lacks():
    class Bare(D.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        bare = Bare()
    with pytest.raises(NotImplementedError):
        _ = bare.mean
    with pytest.raises(NotImplementedError, match="does not implement mode"):
        _ = bare.mode
    with pytest.warns(UserWarning, match="does not define `support`"):
        bare._validate_sample(weft.tensor(1.0))

    class Shifted(D.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    with pytest.raises(NotImplementedError, match=r"\.expand\(\)"):
        Shifted(0.0).expand((2,))


def test_repr_shows_numbers_and_the_sizes_of_tensors():
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(D.Normal(weft.zeros(3), 1.0)) == "Normal(loc: weft.Size([3]), scale: weft.Size([3]))"
    inside = D.Independent(D.Normal(weft.zeros(3), 1.0), 1)
    assert repr(inside) == "Independent(Normal(loc: weft.Size([3]), scale: weft.Size([3])), 1)"


def test_sample_n_says_what_to_call_instead():
    with pytest.warns(FutureWarning, match=r"sample\(\(n,\)\)"):
        assert D.Normal(0.0, 1.0).sample_n(3).shape == (3,)


@pytest.mark.parametrize(
    "name",
    [
        "Normal", "Laplace", "Exponential", "HalfNormal", "LogNormal", "Uniform", "Weibull", "Gumbel", "Cauchy",
        "Kumaraswamy", "Pareto", "MultivariateNormal", "LowRankMultivariateNormal", "GeneralizedPareto",
    ],
)  # fmt: skip
def test_rsample_is_the_same_function_of_the_parameters_as_finite_differences_say(name):
    distribution = EVERY[name]
    kind = type(distribution)
    given = {key: getattr(distribution, key) for key in distribution.arg_constraints}
    if name == "MultivariateNormal":
        given = {"loc": distribution.loc, "scale_tril": distribution.scale_tril}

    def drawn(*parameters):
        weft.manual_seed(3)
        return kind(**dict(zip(given, parameters, strict=True)), validate_args=False).rsample((2,))

    with weft.random.fork_rng():
        leaves = [each.detach().clone().requires_grad_() for each in given.values()]
        assert weft.autograd.gradcheck(drawn, leaves)


@pytest.mark.parametrize("concentration", [0.1, 0.5, 0.9, 2.0, 7.0, 9.0, 40.0])
def test_gamma_samples_move_with_the_concentration_as_the_cdf_says(concentration):
    # Of dx/da = -(dF/da) / (dF/dx), the first by central differences.
    leaf = weft.full((200,), concentration, dtype=weft.float64, requires_grad=True)
    with weft.random.fork_rng():
        weft.manual_seed(0)
        x = D.Gamma(leaf, 1.0).rsample()
    (slope,) = weft.autograd.grad(x.sum(), leaf)
    a, h, x = leaf.detach(), 1e-4 * concentration, x.detach()
    moved = (weft.special.gammainc(a + h, x) - weft.special.gammainc(a - h, x)) / (2 * h)
    expected = -moved / D.Gamma(a, 1.0).log_prob(x).exp()
    inside = (x > 1e-6) & (weft.special.gammainc(a, x) < 0.999)
    weft.testing.assert_close(slope[inside], expected[inside], rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.5), (2.0, 3.0), (0.5, 9.0), (9.0, 0.7), (20.0, 30.0), (200.0, 90.0)])
def test_beta_samples_move_with_a_concentration_as_the_cdf_says(a, b):
    betainc = pytest.importorskip("scipy.special").betainc
    leaf = weft.full((200,), a, dtype=weft.float64, requires_grad=True)
    with weft.random.fork_rng():
        weft.manual_seed(0)
        x = D.Beta(leaf, weft.full((200,), b, dtype=weft.float64)).rsample()
    (slope,) = weft.autograd.grad(x.sum(), leaf)
    value, h = x.detach().numpy(), 1e-4 * a
    moved = (betainc(a + h, b, value) - betainc(a - h, b, value)) / (2 * h)
    density = D.Beta(t(a), t(b)).log_prob(x.detach()).exp().numpy()
    inside = (value > 1e-6) & (value < 1 - 1e-6)
    np.testing.assert_allclose(slope.numpy()[inside], (-moved / density)[inside], rtol=3e-3, atol=1e-6)


def test_a_straight_through_sample_has_the_gradient_of_the_probabilities():
    logits = t(0.1, 0.2, 0.3).requires_grad_()
    sample = D.OneHotCategoricalStraightThrough(logits=logits).rsample()
    assert sorted(sample.round().tolist()) == [0.0, 0.0, 1.0]
    (slope,) = weft.autograd.grad(sample[0], logits)
    p = logits.detach().softmax(-1)
    weft.testing.assert_close(slope, p[0] * (t(1.0, 0.0, 0.0) - p))


def test_a_policy_gradient_is_that_of_log_prob():
    logits = t(0.1, 0.2, 0.3).requires_grad_()
    (slope,) = weft.autograd.grad(D.Categorical(logits=logits).log_prob(weft.tensor(2)), logits)
    weft.testing.assert_close(slope, t(0.0, 0.0, 1.0) - logits.detach().softmax(-1))


def test_all_names_are_there():
    assert set(D.__all__) <= set(dir(D))
    from weft.distributions.exp_family import ExponentialFamily
    from weft.distributions.kl import kl_divergence
    from weft.distributions.normal import Normal

    assert (ExponentialFamily, kl_divergence, Normal) == (D.ExponentialFamily, D.kl_divergence, D.Normal)


@pytest.mark.parametrize("name", ["logits", "probs"])
@pytest.mark.parametrize("total", [1, 10])
def test_the_gradient_of_binomials_has_no_kink_at_even_odds(name, total):
    logits = t(-30.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 30.0)
    given = (logits if name == "logits" else logits.sigmoid()).requires_grad_()
    value = weft.full_like(logits, 1.0)
    D.Binomial(total, **{name: given}).log_prob(value).sum().backward()
    p = logits.sigmoid()
    expected = value - total * p  # d log_prob / d logits
    if name == "probs":
        expected = expected / (p * (1 - p))
    weft.testing.assert_close(given.grad, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64], ids=str)
@pytest.mark.parametrize("parameters", [(0.01, 0.01), (1e-4, 1e-2), (1e4, 0.01), (1e10, 1.0), (1e-30, 1e-10)], ids=str)
def test_samples_of_beta_and_dirichlet_are_inside_their_support(dtype, parameters):
    weft.manual_seed(0)
    concentration = weft.tensor(parameters, dtype=dtype)
    for drawn in (D.Beta(*concentration).sample((4000,)), D.Dirichlet(concentration).sample((4000,))):
        assert drawn.min() > 0
        assert drawn.max() < 1
    assert D.Beta(*concentration).log_prob(D.Beta(*concentration).sample((4000,))).isfinite().all()


@pytest.mark.parametrize(
    ("make", "moment"),
    [
        (lambda x: D.StudentT(x), "variance"),
        (lambda x: D.Pareto(weft.ones_like(x), x), "variance"),
        (lambda x: D.GeneralizedPareto(0.0, 1.0, x), "mean"),
        (lambda x: D.GeneralizedPareto(0.0, 1.0, x), "variance"),
        (lambda x: D.Kumaraswamy(x, x), "mode"),
    ],
)
def test_a_moment_that_does_not_exist_has_no_gradient(make, moment):
    parameter = t(0.5, 1.0, 2.0).requires_grad_()
    value = getattr(make(parameter), moment)
    value.sum().backward()
    assert parameter.grad[~value.isfinite()].tolist() == [0.0] * int((~value.isfinite()).sum())
    assert parameter.grad.isfinite().all()


def test_the_mode_of_kumaraswamy_has_the_greatest_density():
    x = weft.linspace(0.001, 0.999, 2001, dtype=weft.float64)
    for a, b in [(2.0, 3.0), (5.0, 1.5), (1.0, 3.0), (3.0, 1.0)]:
        made = D.Kumaraswamy(weft.tensor(a, dtype=weft.float64), weft.tensor(b, dtype=weft.float64))
        assert abs(made.mode - x[made.log_prob(x).argmax()]) < 2e-3
    assert D.Kumaraswamy(1.0, 1.0).mode.isnan()


def test_no_samples_have_the_shape_of_samples():
    for made in (D.Wishart(t(3.0, 4.0), weft.eye(2, dtype=weft.float64)), D.VonMises(t(0.0, 1.0), t(1.0, 2.0))):
        assert made.sample((0,)).shape == (0, *made.batch_shape, *made.event_shape)


def test_the_gradient_of_a_dirichlet_sample_can_be_had_by_itself():
    from weft.distributions.dirichlet import _Dirichlet_backward

    weft.manual_seed(0)
    concentration = weft.tensor([[1.0, 2.0, 3.0], [0.5, 4.0, 0.1]], dtype=weft.float64, requires_grad=True)
    sample = D.Dirichlet(concentration).rsample()
    grad = weft.tensor([[1.0, -2.0, 0.5], [0.0, 1.0, 3.0]], dtype=weft.float64)
    (expected,) = weft.autograd.grad(sample, concentration, grad)
    found = _Dirichlet_backward(sample.detach(), concentration.detach(), grad)
    weft.testing.assert_close(found, expected)


def test_a_subclass_of_independent_may_keep_what_its_base_has():
    """Pyro's keeps _validate_args in the base distribution."""

    class Kept(D.Independent):
        @property
        def _validate_args(self):
            return self.base_dist._validate_args

        @_validate_args.setter
        def _validate_args(self, value):
            self.base_dist._validate_args = value

    expanded = Kept(D.Normal(weft.zeros(2), weft.ones(2)), 1).expand([3])
    assert (expanded.batch_shape, expanded.event_shape) == ((3,), (2,))
    assert expanded.log_prob(weft.zeros(3, 2)).shape == (3,)
