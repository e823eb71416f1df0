"""Jacobians, Hessians and their products, against closed forms."""

import pytest

import weft
from weft.autograd import functional, grad
from weft.autograd.functional import hessian, jacobian, jvp, vhp, vjp

X, Y = weft.tensor([1.0, 2.0]), weft.tensor([3.0, 4.0])


def pair(a, b):
    return a * b, a.sum()


def cubic(a, b):
    return (a * a * b).sum()


def values(result):
    return [values(each) for each in result] if isinstance(result, tuple) else result.tolist()


def test_jacobian_of_several_functions_of_several_tensors():
    assert values(functional.jacobian(pair, (X, Y))) == [
        [[[3, 0], [0, 4]], [[1, 0], [0, 2]]],
        [[1, 1], [0, 0]],
    ]
    assert values(functional.jacobian(lambda a: a * a, X)) == [[2, 0], [0, 4]]


def test_hessian():
    assert values(functional.hessian(cubic, (X, Y))) == [
        [[[6, 0], [0, 8]], [[2, 0], [0, 4]]],
        [[[2, 0], [0, 4]], [[0, 0], [0, 0]]],
    ]
    assert values(functional.hessian(lambda a: (a**3).sum(), X)) == [[6, 0], [0, 12]]
    assert values(functional.hessian(lambda a: a.sum(), X)) == [[0, 0], [0, 0]]


def test_products_with_vectors():
    ones = weft.ones(2)
    assert values(functional.vjp(pair, (X, Y), (ones, weft.tensor(1.0)))) == [[[3, 8], 3], [[4, 5], [1, 2]]]
    assert values(functional.jvp(pair, (X, Y), (ones, ones))) == [[[3, 8], 3], [[4, 6], 2]]
    for product in (functional.vhp, functional.hvp):
        assert values(product(cubic, (X, Y), (ones, ones))) == [19, [[8, 12], [2, 4]]]
    assert values(functional.vjp(lambda a: a.sum(), X)) == [3, [1, 1]]


def test_results_are_differentiable_only_where_asked_for():
    x = X.clone().requires_grad_()
    found = functional.jacobian(lambda a: a**3, x, create_graph=True)
    assert grad(found.sum(), x)[0].tolist() == [6, 12]
    assert not functional.jacobian(lambda a: a**3, x).requires_grad


def test_the_given_tensors_are_left_alone():
    functional.hessian(lambda a: (a**2).sum(), X)
    assert not X.requires_grad
    assert X.grad is None


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: functional.jacobian(lambda a: 3, X), TypeError),
        (lambda: functional.hessian(lambda a: a * a, X), RuntimeError),
        (lambda: functional.vjp(lambda a: a * a, X), RuntimeError),
        (lambda: functional.vjp(lambda a: a, X, weft.ones(3)), RuntimeError),
        (lambda: functional.jacobian(lambda a: weft.ones(2), X, strict=True), RuntimeError),
        (lambda: functional.hessian(lambda a: a.sum(), X, strict=True), RuntimeError),
        (lambda: functional.jacobian(lambda a: a, 3), TypeError),
    ],
)
def test_wrong_functions_and_vectors_are_refused(call, error):
    with pytest.raises(error):
        call()


def shifted(x):
    return x.clone()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: vjp(lambda x: x.detach(), weft.ones(2), weft.ones(2), strict=True), "Output 0 .* does not require"),
        (
            lambda: jvp(lambda x: weft.ones(2, requires_grad=True) * 1, weft.ones(2), weft.ones(2), strict=True),
            "input 0",
        ),
        (
            lambda: jacobian(shifted, weft.ones(2, requires_grad=True), True, True),
            "jacobian of .* independent of input 0",
        ),
        (lambda: hessian(lambda x: x.sum(), weft.ones(2), strict=True), "hessian.* respect to input 0 is independent"),
        (lambda: vhp(lambda x: x.sum(), weft.ones(2), weft.ones(2), strict=True), "respect to input 0 is independent"),
        (lambda: hessian(lambda x: x.exp(), weft.ones(2)), "should contain a single element"),
        (lambda: hessian(lambda x: (x.sum(), x.sum()), weft.ones(2)), "should return a single Tensor"),
        (lambda: jacobian(weft.exp, weft.ones(2), strict=True, vectorize=True), "not supported together"),
        (lambda: vjp(weft.exp, weft.ones(2), (weft.ones(2), weft.ones(2))), "should contain a single Tensor"),
    ],
)
def test_what_the_options_refuse_is_named(call, says):
    with pytest.raises(RuntimeError, match=says):
        call()


def test_jacobians_by_columns_are_those_by_rows():
    def function(x, y):
        return x * y.sum(), x.exp() @ y

    points = weft.tensor([1.0, 2.0]), weft.tensor([0.5, -1.0])
    rows = jacobian(function, points)
    columns = jacobian(function, points, vectorize=True, strategy="forward-mode")
    for row, column in zip(rows, columns):
        for one, other in zip(row, column):
            assert weft.allclose(one, other)
    with pytest.raises(NotImplementedError, match="vectorize=True"):
        jacobian(function, points, strategy="forward-mode")
    with pytest.raises(AssertionError, match="Expected strategy"):
        jacobian(function, points, vectorize=True, strategy="sideways")
