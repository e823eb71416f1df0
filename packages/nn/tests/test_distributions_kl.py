"""Kullback-Leibler divergences: closed forms against integrals of the densities, and which formula is taken."""

import pytest

import weft
import weft.distributions as D
from weft.distributions import kl


def t(*values):
    return weft.tensor(list(values), dtype=weft.float64)


def expected_by_integral(p, q, low, high):
    s = weft.linspace(1e-9, 1, 40001, dtype=weft.float64)
    x = low + (high - low) * s**2  # so that a logarithm at the lower end does no harm
    of_p = p.log_prob(x)
    values = weft.where(of_p > -500, of_p.exp() * (of_p - q.log_prob(x)), 0.0) * 2 * (high - low) * s
    return (values[0] + values[-1] + 4 * values[1:-1:2].sum() + 2 * values[2:-1:2].sum()) / 40000 / 3


NORMAL, NORMAL2 = D.Normal(0.5, 1.2), D.Normal(-0.3, 2.0)
GAMMA, GAMMA2 = D.Gamma(3.0, 2.0), D.Gamma(2.0, 1.5)
BETA, BETA2 = D.Beta(3.0, 2.5), D.Beta(2.0, 4.0)
EXPONENTIAL, EXPONENTIAL2 = D.Exponential(1.5), D.Exponential(0.7)
GUMBEL, GUMBEL2 = D.Gumbel(0.3, 0.8), D.Gumbel(-0.4, 1.3)
LAPLACE, LAPLACE2 = D.Laplace(0.3, 0.8), D.Laplace(-0.4, 1.3)
CONTINUOUS, CONTINUOUS2 = D.ContinuousBernoulli(0.3), D.ContinuousBernoulli(0.7)
UNIFORM, UNIFORM2 = D.Uniform(0.25, 0.75), D.Uniform(-1.0, 2.0)
PARETO = D.Pareto(0.5, 40.0)
ENDS = {
    NORMAL: (-12, 13),
    GAMMA: (1e-9, 25),
    BETA: (1e-9, 1 - 1e-9),
    EXPONENTIAL: (1e-9, 20),
    GUMBEL: (-4, 30),
    LAPLACE: (-30, 30),
    CONTINUOUS: (0, 1),
    UNIFORM: (0.25 + 1e-12, 0.75 - 1e-12),
    PARETO: (0.5, 4),
}
PAIRS = [
    (NORMAL, NORMAL2), (NORMAL, GUMBEL2), (NORMAL, LAPLACE2),
    (GAMMA, GAMMA2), (GAMMA, EXPONENTIAL2), (GAMMA, NORMAL2), (GAMMA, GUMBEL2),
    (BETA, BETA2), (BETA, CONTINUOUS2), (BETA, EXPONENTIAL2), (BETA, GAMMA2), (BETA, NORMAL2), (BETA, UNIFORM2),
    (EXPONENTIAL, EXPONENTIAL2), (EXPONENTIAL, GAMMA2), (EXPONENTIAL, GUMBEL2), (EXPONENTIAL, NORMAL2),
    (GUMBEL, GUMBEL2), (GUMBEL, NORMAL2),
    (LAPLACE, LAPLACE2), (LAPLACE, NORMAL2),
    (CONTINUOUS, CONTINUOUS2), (CONTINUOUS, EXPONENTIAL2), (CONTINUOUS, NORMAL2), (CONTINUOUS, UNIFORM2),
    (UNIFORM, UNIFORM2), (UNIFORM, BETA2), (UNIFORM, CONTINUOUS2), (UNIFORM, EXPONENTIAL2), (UNIFORM, GAMMA2),
    (UNIFORM, GUMBEL2), (UNIFORM, NORMAL2), (UNIFORM, D.Pareto(0.2, 1.5)),
    (PARETO, D.Pareto(0.4, 2.0)), (PARETO, EXPONENTIAL2), (PARETO, GAMMA2), (PARETO, NORMAL2),
]  # fmt: skip


def names(each):
    return type(each).__name__


@pytest.fixture
def float64():
    before = weft.get_default_dtype()
    weft.set_default_dtype(weft.float64)
    yield
    weft.set_default_dtype(before)


def in_float64(distribution):
    """The same distribution with parameters of float64."""
    given = {name: getattr(distribution, name).double() for name in distribution.arg_constraints if name != "logits"}
    return type(distribution)(**given, validate_args=False)


@pytest.mark.parametrize(("p", "q"), PAIRS, ids=names)
def test_divergences_are_their_integrals(p, q, float64):
    low, high = ENDS[p]
    p, q = in_float64(p), in_float64(q)
    expected = expected_by_integral(p, q, low, high)
    assert D.kl_divergence(p, q).item() == pytest.approx(expected.item(), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    ("p", "q", "largest"),
    [
        (D.Bernoulli(t(0.2, 0.7)), D.Bernoulli(t(0.5, 0.1)), 1),
        (D.Binomial(6, t(0.2, 0.7)), D.Binomial(6, t(0.5, 0.1)), 6),
        (D.Geometric(t(0.2, 0.7)), D.Geometric(t(0.5, 0.1)), 150),
        (D.Poisson(t(2.0, 7.0)), D.Poisson(t(4.0, 5.0)), 60),
        (D.Bernoulli(t(0.2, 0.7)), D.Poisson(t(4.0, 5.0)), 1),
    ],
    ids=names,
)
def test_divergences_of_counts_are_their_sums(p, q, largest):
    values = weft.arange(largest + 1, dtype=weft.float64).unsqueeze(-1).expand(-1, 2)
    of_p = p.log_prob(values)
    weft.testing.assert_close(D.kl_divergence(p, q), (of_p.exp() * (of_p - q.log_prob(values))).sum(0))


MATRIX = weft.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=weft.float64)
LOW = D.LowRankMultivariateNormal(t(0.2, -0.1), weft.tensor([[1.0], [0.5]], dtype=weft.float64), t(0.5, 0.2))
FULL = D.MultivariateNormal(t(1.0, -1.0), MATRIX)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (FULL, D.MultivariateNormal(t(0.0, 0.5), weft.eye(2, dtype=weft.float64))),
        (FULL, LOW),
        (LOW, FULL),
        (LOW, D.LowRankMultivariateNormal(t(0.0, 0.0), weft.ones(2, 1, dtype=weft.float64), t(1.0, 2.0))),
        (D.Dirichlet(t(2.0, 3.0, 4.0)), D.Dirichlet(t(1.0, 2.0, 2.0))),
        (D.Wishart(t(6.0, 9.0), MATRIX), D.Wishart(t(5.0, 7.0), weft.eye(2, dtype=weft.float64))),
        (D.Cauchy(t(0.0), t(1.0)), D.Cauchy(t(1.0), t(2.0))),
        (D.HalfNormal(t(1.0)), D.HalfNormal(t(2.0))),
        (D.LogNormal(t(1.0), t(0.5)), D.LogNormal(t(0.5), t(1.0))),
        (D.Independent(D.Normal(t(0.0, 1.0), 1.0), 1), D.Independent(D.Normal(t(1.0, 1.0), 2.0), 1)),
        (D.OneHotCategorical(t(0.2, 0.3, 0.5)), D.OneHotCategorical(t(0.5, 0.3, 0.2))),
    ],
    ids=names,
)
def test_divergences_are_the_mean_of_the_logarithm_of_the_ratio(p, q):
    with weft.random.fork_rng():
        weft.manual_seed(0)
        x = p.sample((4000,))
    ratio = p.log_prob(x) - q.log_prob(x)
    error = (ratio.mean(0) - D.kl_divergence(p, q)) / (ratio.std(0) / len(x) ** 0.5)
    assert error.abs().max() < 4


def test_low_rank_divergences_are_those_of_the_full_covariance():
    p, q = LOW, D.LowRankMultivariateNormal(t(0.0, 0.0), weft.ones(2, 1, dtype=weft.float64), t(1.0, 2.0))
    full_p, full_q = (D.MultivariateNormal(each.loc, each.covariance_matrix) for each in (p, q))
    expected = D.kl_divergence(full_p, full_q)
    for left in (p, full_p):
        for right in (q, full_q):
            weft.testing.assert_close(D.kl_divergence(left, right), expected)
    with pytest.raises(ValueError, match="different event shapes"):
        D.kl_divergence(p, D.MultivariateNormal(weft.zeros(3), weft.eye(3)))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (NORMAL, GAMMA), (NORMAL, BETA), (NORMAL, UNIFORM), (NORMAL, PARETO), (NORMAL, EXPONENTIAL),
        (GAMMA, BETA), (GAMMA, UNIFORM), (EXPONENTIAL, PARETO), (LAPLACE, GAMMA), (GUMBEL, CONTINUOUS),
        (BETA, PARETO), (CONTINUOUS, PARETO), (PARETO, UNIFORM), (D.Poisson(1.0), D.Bernoulli(0.5)),
        (UNIFORM2, UNIFORM), (UNIFORM2, BETA), (UNIFORM2, GAMMA), (UNIFORM2, EXPONENTIAL),
        (UNIFORM, D.Pareto(0.5, 1.0)),
        (BETA, UNIFORM), (D.Pareto(1.0, 1.0), EXPONENTIAL), (D.Pareto(1.0, 2.0), NORMAL), (D.Pareto(1.0, 1.0), GAMMA),
        (D.Pareto(0.2, 1.0), D.Pareto(0.5, 1.0)),
        (D.Bernoulli(0.5), D.Bernoulli(0.0)), (D.Bernoulli(0.5), D.Bernoulli(1.0)),
        (D.Categorical(t(0.5, 0.5)), D.Categorical(t(1.0, 0.0))), (D.Binomial(5, t(0.5)), D.Binomial(4, t(0.5))),
    ],
    ids=names,
)  # fmt: skip
def test_what_q_cannot_have_makes_the_divergence_infinite(p, q):
    assert D.kl_divergence(p, q).eq(float("inf")).all()


def test_what_p_cannot_have_adds_nothing():
    assert D.kl_divergence(D.Categorical(t(1.0, 0.0)), D.Categorical(t(0.5, 0.5))).exp() == pytest.approx(2)
    assert D.kl_divergence(D.Bernoulli(0.0), D.Bernoulli(0.5)).exp() == pytest.approx(2)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (NORMAL, D.VonMises(0.0, 1.0)),
        (D.Binomial(3, t(0.5)), D.Binomial(4, t(0.5))),
        (D.LogNormal(0.0, 1.0), D.Gumbel(0.0, 1.0)),
        (D.Independent(D.Normal(weft.zeros(2, 2), 1.0), 1), D.Independent(D.Normal(weft.zeros(2, 2), 1.0), 2)),
        (D.Dirichlet(t(1.0, 2.0)), NORMAL),
    ],
    ids=names,
)
def test_what_has_no_formula_is_refused(p, q):
    with pytest.raises(NotImplementedError):
        D.kl_divergence(p, q)


def test_an_exponential_family_needs_no_formula_of_its_own():
    from weft.distributions import ExponentialFamily

    bregman = kl._KL_REGISTRY[ExponentialFamily, ExponentialFamily]
    for p, q in [(GAMMA, GAMMA2), (BETA, BETA2), (NORMAL, NORMAL2), (EXPONENTIAL, EXPONENTIAL2),
                 (D.Dirichlet(t(2.0, 3.0)), D.Dirichlet(t(1.0, 2.0))), (D.Poisson(2.0), D.Poisson(3.0))]:  # fmt: skip
        weft.testing.assert_close(bregman(p, q).detach(), D.kl_divergence(p, q), rtol=1e-4, atol=1e-5)
        if isinstance(p, (D.Gamma, D.Normal, D.Exponential)):  # whose densities have no factor of x alone
            weft.testing.assert_close(ExponentialFamily.entropy(p).detach(), p.entropy(), rtol=1e-4, atol=1e-5)


@pytest.fixture
def registry():
    before = dict(kl._KL_REGISTRY)
    yield
    kl._KL_REGISTRY.clear()
    kl._KL_REGISTRY.update(before)
    kl._KL_MEMOIZE.clear()


def test_the_formula_of_the_most_derived_types_is_taken(registry):
    class Mine(D.Normal):
        pass

    p, q = Mine(0.0, 1.0), D.Normal(1.0, 1.0)
    assert D.kl_divergence(p, q) == 0.5

    @D.register_kl(Mine, D.Normal)
    def _(p, q):
        return "mine"

    assert D.kl_divergence(p, q) == "mine"
    assert D.kl_divergence(q, p) == 0.5


def test_a_tie_is_warned_about(registry):
    class Mine(D.Normal):
        pass

    D.register_kl(Mine, D.Normal)(lambda p, q: "left")
    D.register_kl(D.Normal, Mine)(lambda p, q: "right")
    with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Mine, Mine\)"):
        assert D.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0)) == "left"


def test_only_classes_are_registered():
    with pytest.raises(TypeError, match="type_p"):
        D.register_kl(1.0, D.Normal)
    with pytest.raises(TypeError, match="type_q"):
        D.register_kl(D.Normal, 3)


def test_a_class_beside_a_distribution_is_registered():
    """Pyro registers its own base class, of which its distributions are beside one of ours."""

    class Beside:
        pass

    class Both(D.Distribution, Beside):
        pass

    D.register_kl(D.Normal, Beside)(lambda p, q: "beside")
    assert D.kl_divergence(D.Normal(0.0, 1.0), Both(validate_args=False)) == "beside"


def test_a_divergence_has_gradients():
    mean, log_scale = t(0.3).requires_grad_(), t(-0.2).requires_grad_()
    assert weft.autograd.gradcheck(
        lambda mean, log_scale: D.kl_divergence(D.Normal(mean, log_scale.exp()), D.Normal(0.0, 1.0)),
        [mean, log_scale],
    )
