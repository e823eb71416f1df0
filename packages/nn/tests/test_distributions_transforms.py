"""Transforms: inverses, Jacobians against autograd, shapes, caches; constraints and the maps onto them."""

import math
import pickle

import pytest

import weft
import weft.distributions as D
from weft.distributions import constraints


def t(*values):
    return weft.tensor(list(values), dtype=weft.float64)


X = t(0.3, 0.9, 1.7)
ELEMENTWISE = [
    D.ExpTransform(),
    D.PowerTransform(t(2.0, 0.5, -1.0)),
    D.SigmoidTransform(),
    D.SoftplusTransform(),
    D.TanhTransform(),
    D.AffineTransform(1.0, -2.0),
    D.AffineTransform(t(1.0, 2.0, 3.0), t(2.0, -1.0, 0.5)),
    D.CumulativeDistributionTransform(D.Normal(t(0.0, 1.0, 2.0), t(1.0, 2.0, 3.0))),
    D.ComposeTransform([D.AffineTransform(1.0, 2.0), D.ExpTransform(), D.PowerTransform(2.0)]),
    D.CatTransform([D.ExpTransform(), D.AffineTransform(1.0, 3.0)], 0, [1, 2]),
    D.StackTransform([D.ExpTransform(), D.TanhTransform(), D.SigmoidTransform()]),
]
OF_VECTORS = [
    D.IndependentTransform(D.ExpTransform(), 1),
    D.AffineTransform(t(1.0, 2.0, 3.0), t(2.0, -1.0, 0.5), event_dim=1),
    D.StickBreakingTransform(),
    D.CorrCholeskyTransform(),
    D.ReshapeTransform((3,), (3, 1)),
    D.ComposeTransform([D.TanhTransform(), D.StickBreakingTransform()]),
]


def name(transform):
    return type(transform).__name__


@pytest.mark.parametrize("transform", ELEMENTWISE + OF_VECTORS, ids=name)
def test_the_inverse_gives_back_what_was_transformed(transform):
    y = transform(X)
    weft.testing.assert_close(transform.inv(y), X)
    assert transform.inv.inv is transform or isinstance(transform, D.ComposeTransform)
    assert transform.bijective
    assert transform.inv.bijective
    assert transform.codomain.check(y).all()
    assert transform.inv.domain is transform.codomain or repr(transform.inv.domain) == repr(transform.codomain)
    assert transform.forward_shape(X.shape) == y.shape
    assert transform.inverse_shape(y.shape) == X.shape


@pytest.mark.parametrize("transform", ELEMENTWISE, ids=name)
def test_the_jacobian_is_the_derivative_of_each_element(transform):
    x = X.clone().requires_grad_()
    y = transform(x)
    (slope,) = weft.autograd.grad(y.sum(), x)
    weft.testing.assert_close(transform.log_abs_det_jacobian(X, y.detach()), slope.abs().log())
    weft.testing.assert_close(transform.inv.log_abs_det_jacobian(y.detach(), X), -slope.abs().log())
    if not isinstance(transform, (D.CatTransform, D.StackTransform)):
        assert weft.as_tensor(transform.sign * slope > 0).all()


@pytest.mark.parametrize("transform", OF_VECTORS, ids=name)
def test_the_jacobian_is_the_determinant_over_a_vector(transform):
    # Of the elements of a simplex and of a triangle, as many as there are of x determine the others.
    def free(x):
        y = transform(x)
        if isinstance(transform, D.CorrCholeskyTransform):
            return D.utils.tril_matrix_to_vec(y, diag=-1)
        return y.reshape(-1)[:3]

    jacobian = weft.autograd.functional.jacobian(free, X)
    expected = weft.linalg.slogdet(jacobian).logabsdet
    weft.testing.assert_close(transform.log_abs_det_jacobian(X, transform(X)), expected)


def test_maps_that_are_not_invertible_have_a_right_inverse():
    for transform, y in (
        (D.AbsTransform(), t(1.0, 2.0)),
        (D.SoftmaxTransform(), t(0.2, 0.8)),
        (D.LowerCholeskyTransform(), weft.tensor([[2.0, 0.0], [0.5, 1.0]], dtype=weft.float64)),
        (D.PositiveDefiniteTransform(), weft.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=weft.float64)),
    ):
        assert not transform.bijective
        weft.testing.assert_close(transform(transform.inv(y)), y)


def test_a_cache_gives_back_the_very_tensor():
    transform = D.ExpTransform(cache_size=1)
    x = weft.tensor([0.1, 700.0])
    y = transform(x)
    assert transform.inv(y) is x
    assert transform(x) is y
    assert transform.inv(y.clone()) is not x
    assert transform.with_cache(1) is transform
    assert D.ExpTransform().with_cache(1)._cache_size == 1
    with pytest.raises(ValueError, match="0 or 1"):
        D.ExpTransform(cache_size=2)


def test_equal_transforms_are_equal():
    assert D.ExpTransform() == D.ExpTransform()
    assert D.ExpTransform() != D.TanhTransform()
    assert D.AffineTransform(1.0, 2.0) == D.AffineTransform(1.0, 2.0)
    assert D.AffineTransform(1.0, 2.0) != D.AffineTransform(1.0, t(3.0))
    assert D.PowerTransform(2.0) == D.PowerTransform(2.0)
    assert D.ExpTransform().inv == D.ExpTransform().inv
    assert D.ComposeTransform([D.ExpTransform()]) == D.ComposeTransform([D.ExpTransform()])
    assert D.ComposeTransform([]) == D.identity_transform


def test_transforms_are_pickled_with_and_without_an_inverse():
    transform = D.ExpTransform(cache_size=1)
    inverse = transform.inv
    transform(X)
    assert pickle.loads(pickle.dumps(transform)) == transform
    assert pickle.loads(pickle.dumps(inverse)) == inverse


def test_shapes_are_checked():
    for wrong, message in (
        (lambda: D.ReshapeTransform((2,), (3,)), "different numbers"),
        (lambda: D.ReshapeTransform((2,), (2, 1)).forward_shape((3,)), "Shape mismatch"),
        (lambda: D.ReshapeTransform((2,), (2, 1)).forward_shape(()), "Too few dimensions"),
        (lambda: D.CorrCholeskyTransform().forward_shape((2,)), "flattened lower-diagonal"),
        (lambda: D.CorrCholeskyTransform().inverse_shape((2, 3)), "not square"),
        (lambda: D.CorrCholeskyTransform()(t(1.0, 2.0)), "D x D matrix"),
        (lambda: D.StickBreakingTransform().forward_shape(()), "Too few dimensions"),
        (lambda: D.IndependentTransform(D.ExpTransform(), 2)(X), "Too few dimensions"),
        (lambda: D.StickBreakingTransform().inv.inv.event_dim and D.ReshapeTransform((2,), (1, 2)).event_dim, "domain"),
        (lambda: D.utils.tril_matrix_to_vec(weft.eye(2), 5), "outside"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()
    for wrong in (
        lambda: D.CatTransform([1]),
        lambda: D.StackTransform([1]),
        lambda: D.CatTransform([D.ExpTransform()], 0, [1, 2]),
        lambda: D.CatTransform([D.ExpTransform()])(X),
        lambda: D.StackTransform([D.ExpTransform()])(X),
    ):
        with pytest.raises(AssertionError):
            wrong()


def test_a_composition_counts_the_dimensions_that_its_parts_need():
    both = D.ComposeTransform([D.ExpTransform(), D.StickBreakingTransform()])
    assert both.domain.event_dim == 1
    x = weft.randn(5, 2, dtype=weft.float64)
    assert both(x).shape == (5, 3)
    assert both.log_abs_det_jacobian(x, both(x)).shape == (5,)
    assert both.forward_shape((5, 2)) == (5, 3)
    assert D.identity_transform.log_abs_det_jacobian(X, X).eq(0).all()


def test_triangles_become_vectors_and_come_back():
    vec = weft.arange(1.0, 7.0)
    matrix = D.utils.vec_to_tril_matrix(vec)
    assert matrix.tolist() == [[1, 0, 0], [2, 3, 0], [4, 5, 6]]
    assert weft.equal(D.utils.tril_matrix_to_vec(matrix), vec)
    assert D.utils.tril_matrix_to_vec(matrix, -1).tolist() == [2, 4, 5]


nan = math.nan
CHECKS = [
    (constraints.boolean, [0.0, 1.0, 2.0], [True, True, False]),
    (constraints.nonnegative_integer, [0.0, 1.5, -1.0], [True, False, False]),
    (constraints.positive_integer, [0.0, 1.0, 2.5], [False, True, False]),
    (constraints.integer_interval(0, 3), [0.0, 3.0, 4.0], [True, True, False]),
    (constraints.real, [0.0, nan, math.inf], [True, False, True]),
    (constraints.positive, [0.0, 1.0, nan], [False, True, False]),
    (constraints.nonnegative, [0.0, 1.0, -1.0], [True, True, False]),
    (constraints.greater_than(1), [1.0, 1.5], [False, True]),
    (constraints.greater_than_eq(1), [1.0, 0.5], [True, False]),
    (constraints.less_than(1), [1.0, 0.5], [False, True]),
    (constraints.unit_interval, [0.0, 1.0, 1.5], [True, True, False]),
    (constraints.half_open_interval(0, 1), [0.0, 1.0], [True, False]),
    (constraints.simplex, [[0.5, 0.5], [0.5, 0.6], [-0.5, 1.5]], [True, False, False]),
    (constraints.one_hot, [[0.0, 1.0], [1.0, 1.0]], [True, False]),
    (constraints.multinomial(2), [[1.0, 1.0], [2.0, 1.0]], [True, False]),
    (constraints.real_vector, [[0.0, 1.0], [0.0, nan]], [True, False]),
    (constraints.lower_triangular, [[[1.0, 0.0], [1.0, -1.0]], [[1.0, 1.0], [0.0, 1.0]]], [True, False]),
    (constraints.lower_cholesky, [[[1.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [1.0, -1.0]]], [True, False]),
    (constraints.corr_cholesky, [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.7]]], [True, False]),
    (constraints.square, [[[1.0, 0.0], [1.0, 1.0]]], [True]),
    (constraints.symmetric, [[[1.0, 2.0], [2.0, 1.0]]], [True]),
    (constraints.symmetric, [[[1.0, 2.0], [0.0, 1.0]]], [False]),
    (constraints.positive_definite, [[[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]]], [True, False]),
    (constraints.positive_semidefinite, [[[1.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]], [True, False]),
    (constraints.independent(constraints.positive, 1), [[1.0, 1.0], [1.0, -1.0]], [True, False]),
    (constraints.cat([constraints.real, constraints.positive], 0, [1, 2]), [-1.0, -1.0, 1.0], [True, False, True]),
    (constraints.stack([constraints.real, constraints.positive]), [[-1.0, 1.0], [-1.0, 1.0]],
     [[True, True], [False, True]]),
]  # fmt: skip


@pytest.mark.parametrize(("constraint", "values", "expected"), CHECKS, ids=lambda each: repr(each)[:40])
def test_constraints_say_which_values_are_allowed(constraint, values, expected):
    assert constraint.check(weft.tensor(values)).tolist() == expected


def test_a_dependent_constraint_cannot_be_checked():
    assert constraints.is_dependent(constraints.dependent)
    assert constraints.is_dependent(D.Uniform.support)
    assert not constraints.is_dependent(constraints.real)
    with pytest.raises(ValueError, match="dependent"):
        constraints.dependent.check(X)
    with pytest.raises(NotImplementedError, match="event_dim"):
        _ = constraints.dependent.event_dim
    assert constraints.dependent(event_dim=2).event_dim == 2
    assert D.Uniform.support.event_dim == 0


ONTO = [
    constraints.real,
    constraints.positive,
    constraints.nonnegative,
    constraints.greater_than(t(1.0)),
    constraints.greater_than_eq(-2.0),
    constraints.less_than(1.0),
    constraints.unit_interval,
    constraints.interval(-2.0, 3.0),
    constraints.half_open_interval(-2.0, 3.0),
    constraints.simplex,
    constraints.corr_cholesky,
    constraints.independent(constraints.positive, 1),
    constraints.cat([constraints.positive, constraints.unit_interval], 0, [1, 2]),
    constraints.stack([constraints.positive, constraints.unit_interval, constraints.real]),
]


@pytest.mark.parametrize("constraint", ONTO, ids=repr)
@pytest.mark.parametrize("registry", [D.biject_to, D.transform_to], ids=["biject_to", "transform_to"])
def test_registered_maps_lead_to_allowed_values(constraint, registry):
    transform = registry(constraint)
    y = transform(X)
    assert constraint.check(y).all()
    weft.testing.assert_close(transform(transform.inv(y)), y)
    if registry is D.biject_to:
        assert transform.bijective


@pytest.mark.parametrize("constraint", [constraints.lower_cholesky, constraints.positive_definite], ids=repr)
def test_matrices_are_mapped_to_allowed_ones(constraint):
    x = weft.linspace(-1, 1, 9, dtype=weft.float64).reshape(3, 3)
    assert constraint.check(D.transform_to(constraint)(x)).all()
    with pytest.raises(NotImplementedError, match="Cannot transform"):
        D.biject_to(constraint)


def test_a_registry_takes_constraints_only():
    with pytest.raises(TypeError, match="Constraint subclass"):
        D.biject_to.register(int, lambda constraint: constraint)


def test_a_transformed_density_is_the_base_density_over_the_slope():
    base = D.Normal(t(0.5), t(0.7))
    log_normal = D.TransformedDistribution(base, D.ExpTransform())
    weft.testing.assert_close(log_normal.log_prob(t(2.0)), D.LogNormal(t(0.5), t(0.7)).log_prob(t(2.0)))
    falling = D.TransformedDistribution(base, D.AffineTransform(t(1.0), t(-2.0)))
    straight = D.Normal(t(0.0), t(1.4))
    weft.testing.assert_close(falling.log_prob(X), straight.log_prob(X))
    weft.testing.assert_close(falling.cdf(X), straight.cdf(X))
    weft.testing.assert_close(falling.icdf(t(0.1, 0.9)), straight.icdf(t(0.1, 0.9)))


def test_a_transform_may_widen_the_batch():
    wide = D.TransformedDistribution(D.Normal(t(0.0), t(1.0)), D.AffineTransform(t(1.0, 2.0), t(1.0, 2.0)))
    assert wide.batch_shape == (2,)
    assert wide.sample((3,)).shape == (3, 2)
    simplex = D.TransformedDistribution(D.Normal(weft.zeros(4, 2), 1.0), D.StickBreakingTransform())
    assert (simplex.batch_shape, simplex.event_shape) == ((4,), (3,))
