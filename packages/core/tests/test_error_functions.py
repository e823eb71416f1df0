"""The error functions and the normal distribution's, against the standard library and numbers of 30 digits rounded."""

import math

import pytest

import weft
from weft import special
from weft.autograd import gradcheck, gradgradcheck

double = weft.float64
inf, nan = math.inf, math.nan


def values(function, points):
    return function(weft.tensor(points, dtype=double)).tolist()


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
    points = weft.linspace(-0.999999, 0.999999, 501, dtype=double)
    assert weft.erf(weft.erfinv(points)).tolist() == pytest.approx(points.tolist(), rel=1e-14, abs=1e-16)
    assert weft.erfinv(weft.tensor([-1.0, 0.0, 1.0])).tolist() == [-inf, 0.0, inf]
    assert weft.erfinv(weft.tensor([1.5])).isnan().all()


@pytest.mark.parametrize(
    ("function", "points", "expected"),
    [
        (
            special.erfcx,
            [-3, -0.25, 0.25, 1, 5, 100],
            [
                16205.988853999586,
                1.358642370104722,
                0.7703465477309968,
                0.427583576155807,
                0.11070463773306863,
                0.005641613782989433,
            ],
        ),
        (
            special.ndtr,
            [-20, -1, 0.5, 3],
            [2.7536241186062337e-89, 0.15865525393145705, 0.6914624612740131, 0.9986501019683699],
        ),
        (
            special.log_ndtr,
            [-50, -20, -1, 0.5, 3],
            [
                -1254.8313611394199,
                -203.91715537109727,
                -1.8410216450092636,
                -0.3689464152886564,
                -0.0013508099647481938,
            ],
        ),
        (
            special.ndtri,
            [1e-20, 0.01, 0.3, 0.5, 0.7],
            [-9.262340089798153, -2.326347874040841, -0.5244005127080408, 0, 0.5244005127080408],
        ),
    ],
)
def test_values_of_full_precision(function, points, expected):
    assert values(function, points) == pytest.approx(expected, rel=2e-14)


def test_what_lies_at_the_ends():
    assert values(special.erfcx, [-30, -inf, inf, 1e300]) == [inf, inf, 0, pytest.approx(0, abs=1e-300)]
    assert values(special.ndtr, [-inf, inf]) == [0, 1]
    assert values(special.log_ndtr, [-inf, inf]) == [-inf, 0]
    assert values(special.ndtri, [0, 1]) == [-inf, inf]
    assert all(math.isnan(x) for x in values(special.ndtri, [-0.1, 1.1, nan]))


def test_the_quantile_inverts_the_probability():
    points = weft.linspace(-37, 8, 91, dtype=double)
    assert special.ndtri(special.ndtr(points)).tolist()[:74] == pytest.approx(
        points.tolist()[:74], rel=1e-13, abs=1e-13
    )


def test_entropy_is_minus_infinity_below_zero():
    assert values(special.entr, [0, 1, 0.5, -1, inf]) == [0, 0, pytest.approx(math.log(2) / 2), -inf, -inf]
    assert math.isnan(values(special.entr, [nan])[0])


def test_zero_times_a_logarithm_is_zero():
    x = weft.tensor([0.0, 0.0, 2.0], dtype=double)
    y = weft.tensor([-1.0, nan, 3.0], dtype=double)
    product = special.xlog1py(x, y).tolist()
    assert product[0] == 0
    assert math.isnan(product[1])
    assert product[2] == pytest.approx(2 * math.log(4))


def test_a_number_does_not_change_the_precision_of_xlog1py():
    assert special.xlog1py(weft.tensor([True]), True).tolist() == [pytest.approx(math.log(2), rel=1e-7)]
    assert special.xlog1py(weft.tensor([2.0]), 3).dtype is weft.float32
    assert special.xlog1py(2, weft.tensor([3.0])).dtype is weft.float32


@pytest.mark.parametrize(
    "function",
    [weft.erf, weft.erfc, weft.erfinv, special.erfcx, special.ndtr, special.ndtri, special.log_ndtr, special.entr],
)
def test_derivatives_agree_with_differences(function):
    x = weft.tensor([0.2, 0.45, 0.8], dtype=double, requires_grad=True)
    assert gradcheck(function, (x,))
    assert gradgradcheck(function, (x,))


def test_derivatives_of_xlog1py_agree_with_differences():
    x = weft.tensor([0.2, -0.45, 0.8], dtype=double, requires_grad=True)
    y = weft.tensor([0.5, 2.0, -0.3], dtype=double, requires_grad=True)
    assert gradcheck(special.xlog1py, (x, y))
    assert gradgradcheck(special.xlog1py, (x, y))


def test_integers_and_half_precision_are_taken():
    assert weft.erf(weft.tensor([0, 10])).tolist() == [0.0, 1.0]
    assert special.ndtr(weft.tensor([0.0], dtype=weft.bfloat16)).dtype is weft.bfloat16
    assert special.erfcx(weft.tensor(0)).dtype is weft.float32
