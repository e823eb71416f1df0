"""Orthogonal polynomials against their explicit forms."""

import math

import numpy as np
import pytest

import weft
from weft import special

double = weft.float64
POINTS = [-2.5, -1.0, -0.7, 0.0, 0.3, 1.0, 1.75]
x = np.array(POINTS)

# Coefficients of degree 4, lowest power first.
EXPLICIT = {
    "chebyshev_polynomial_t": [1, 0, -8, 0, 8],
    "chebyshev_polynomial_u": [1, 0, -12, 0, 16],
    "chebyshev_polynomial_v": [1, 4, -12, -8, 16],
    "chebyshev_polynomial_w": [1, -4, -12, 8, 16],
    "hermite_polynomial_h": [12, 0, -48, 0, 16],
    "hermite_polynomial_he": [3, 0, -6, 0, 1],
    "laguerre_polynomial_l": [1, -4, 3, -2 / 3, 1 / 24],
    "legendre_polynomial_p": [3 / 8, 0, -30 / 8, 0, 35 / 8],
}
CHEBYSHEV = [name for name in EXPLICIT if "chebyshev" in name]


@pytest.mark.parametrize("name", EXPLICIT)
def test_degree_4_is_the_explicit_polynomial(name):
    result = getattr(special, name)(weft.tensor(POINTS, dtype=double), 4)
    assert result.tolist() == pytest.approx(np.polynomial.Polynomial(EXPLICIT[name])(x).tolist(), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("name", CHEBYSHEV)
def test_shifted_polynomials_run_from_0_to_1(name):
    shifted = getattr(special, f"shifted_{name}")(weft.tensor((x + 1) / 2), 4)
    assert shifted.tolist() == pytest.approx(np.polynomial.Polynomial(EXPLICIT[name])(x).tolist(), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("name", EXPLICIT)
def test_a_negative_degree_gives_0_and_degree_0_gives_1(name):
    points = weft.tensor(POINTS)
    assert getattr(special, name)(points, -2).tolist() == [0] * 7
    assert getattr(special, name)(points, 0).tolist() == [1] * 7


@pytest.mark.parametrize("name", EXPLICIT)
def test_each_element_has_a_degree_of_its_own(name):
    function = getattr(special, name)
    degrees = weft.tensor([[0], [3], [11]])
    together = function(weft.tensor(POINTS), degrees)
    assert together.shape == (3, 7)
    for row, n in zip(together, (0, 3, 11)):
        assert row.tolist() == function(weft.tensor(POINTS), n).tolist()


@pytest.mark.parametrize("name", CHEBYSHEV)
def test_high_degrees_between_the_ends_are_the_closed_form(name):
    angle, n = 0.7, 1000
    expected = {
        "t": math.cos(n * angle),
        "u": math.sin((n + 1) * angle) / math.sin(angle),
        "v": math.cos((n + 0.5) * angle) / math.cos(angle / 2),
        "w": math.sin((n + 0.5) * angle) / math.sin(angle / 2),
    }[name[-1]]
    result = getattr(special, name)(weft.tensor(math.cos(angle), dtype=double), n)
    assert result.item() == pytest.approx(expected, rel=1e-10)


def test_high_degrees_at_the_ends_take_no_steps():
    ends = weft.tensor([1.0, -1.0], dtype=double)
    n = 10**9 + 1
    assert special.chebyshev_polynomial_t(ends, n).tolist() == [1, -1]
    assert special.chebyshev_polynomial_u(ends, n).tolist() == [n + 1, -(n + 1)]
    assert special.chebyshev_polynomial_v(ends, n).tolist() == [1, -(2 * n + 1)]
    assert special.chebyshev_polynomial_w(ends, n).tolist() == [2 * n + 1, -1]
    assert special.legendre_polynomial_p(ends, n).tolist() == [1, -1]
    assert special.laguerre_polynomial_l(weft.zeros(1), n).tolist() == [1]


def test_degrees_that_would_take_forever_are_refused():
    with pytest.raises(RuntimeError, match="legendre_polynomial_p: degree 1000000000 takes as many steps"):
        special.legendre_polynomial_p(weft.tensor(0.5), 10**9)


def test_an_overflow_ends_the_steps():
    assert special.laguerre_polynomial_l(weft.tensor(-50.0), 10**9).isnan()
    assert special.hermite_polynomial_h(weft.tensor(0.5), 10**9).isnan()


def test_degrees_are_rounded_towards_0_and_may_be_tensors_beside_a_number():
    assert special.legendre_polynomial_p(weft.tensor([3.0]), 2.9).tolist() == [13]
    assert special.legendre_polynomial_p(3, weft.tensor([1, 2])).tolist() == [3, 13]
    assert special.legendre_polynomial_p(weft.tensor([3]), n=weft.tensor([2])).dtype is weft.float32


def test_polynomials_have_no_gradient():
    points = weft.ones(2, requires_grad=True)
    assert not special.chebyshev_polynomial_t(points, 3).requires_grad


def test_two_numbers_are_refused():
    with pytest.raises(TypeError, match=r"hermite_polynomial_h\(\): argument 'input' must be Tensor"):
        special.hermite_polynomial_h(2, 3)


def test_out_takes_the_result():
    out = weft.empty(0)
    assert special.hermite_polynomial_he(weft.tensor([2.0]), 3, out=out) is out
    assert out.tolist() == [2]
