"""The error and gamma functions against the standard library and identities."""

import math

import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck

double = weft.float64
inf, nan = math.inf, math.nan


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_function_agrees_with_the_standard_librarys(name):
    points = weft.linspace(-6, 6, 2001, dtype=double)
    expected = [getattr(math, name)(x) for x in points.tolist()]
    assert getattr(weft, name)(points).tolist() == pytest.approx(expected, rel=2e-15, abs=1e-300)
    single = getattr(weft, name)(points.float())
    assert single.tolist() == pytest.approx([getattr(math, name)(x) for x in points.float().tolist()], abs=3e-7)


def test_complementary_error_function_keeps_its_digits_far_out():
    assert float(weft.erfc(weft.tensor(20.0, dtype=double))) == pytest.approx(math.erfc(20.0), rel=1e-14)


def test_inverse_error_function_inverts():
    values = weft.linspace(-0.999999, 0.999999, 501, dtype=double)
    assert weft.erf(weft.erfinv(values)).tolist() == pytest.approx(values.tolist(), rel=1e-14, abs=1e-16)
    assert weft.erfinv(weft.tensor([-1.0, 0.0, 1.0])).tolist() == [-inf, 0.0, inf]
    assert weft.erfinv(weft.tensor([1.5])).isnan().all()


def test_lgamma_agrees_with_the_standard_librarys():
    points = [*[x / 7 for x in range(1, 300)], -0.3, -1.7, -20.4, 1e10, 1e-10]
    result = weft.lgamma(weft.tensor(points, dtype=double))
    assert result.tolist() == pytest.approx([math.lgamma(x) for x in points], rel=1e-13, abs=1e-14)
    assert weft.lgamma(weft.tensor([0.0, -1.0, inf])).tolist() == [inf, inf, inf]


def test_digamma_satisfies_its_recurrence_and_reflection():
    x = weft.linspace(0.1, 15, 100, dtype=double)
    assert (weft.digamma(x + 1) - weft.digamma(x)).tolist() == pytest.approx((1 / x).tolist(), rel=1e-11)
    assert float(weft.digamma(weft.tensor(1.0, dtype=double))) == pytest.approx(-0.5772156649015329, rel=1e-15)
    assert weft.digamma(weft.tensor([0.0])).tolist() == [-inf]
    assert weft.digamma(weft.tensor([-1.0])).isnan().all()


def test_polygamma_has_values_of_the_zeta_function():
    one = weft.tensor(1.0, dtype=double)
    assert float(weft.polygamma(1, one)) == pytest.approx(math.pi**2 / 6, rel=1e-15)
    assert float(weft.polygamma(3, one)) == pytest.approx(math.pi**4 / 15, rel=1e-15)
    with pytest.raises(RuntimeError, match=r"polygamma.*n=-1"):
        weft.polygamma(-1, one)


def test_special_functions_have_first_and_second_derivatives():
    x = weft.tensor([0.2, 0.45, 0.8], dtype=double, requires_grad=True)
    for name in ("erf", "erfc", "erfinv", "lgamma", "digamma"):
        assert gradcheck(getattr(weft, name), (x,))
        assert gradgradcheck(getattr(weft, name), (x,))


def test_integers_and_half_precision_are_taken():
    assert weft.erf(weft.tensor([0, 10])).tolist() == [0.0, 1.0]
    assert weft.lgamma(weft.tensor([3.0], dtype=weft.bfloat16)).dtype is weft.bfloat16
