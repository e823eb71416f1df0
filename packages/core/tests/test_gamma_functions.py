"""The gamma function and its relatives, against the standard library, identities and numbers of 30 digits rounded."""

import math
from importlib.util import find_spec

import pytest

import weft
from weft import special
from weft.autograd import gradcheck, gradgradcheck

double = weft.float64
inf, nan = math.inf, math.nan
needs_scipy = pytest.mark.skipif(find_spec("scipy") is None, reason="needs SciPy")


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


@pytest.mark.parametrize(
    ("n", "x", "expected"),
    [
        (1, 1.0, math.pi**2 / 6),
        (3, 1.0, math.pi**4 / 15),
        (1, 0.1, 101.43329915079275),
        (1, -0.5, 8.934802200544679),
        (2, 2.5, -0.2362040516417274),
        (3, -1.25, 1558.2209125348506),
        (5, 0.75, 678.7533428745797),
        (10, 4.0, -0.9519244156357158),
    ],
)
def test_polygamma_has_values_of_full_precision(n, x, expected):
    x = weft.tensor(x, dtype=double)
    assert float(weft.polygamma(n, x)) == pytest.approx(expected, rel=1e-14)
    assert float(x.polygamma(n)) == pytest.approx(expected, rel=1e-14)


def test_the_order_of_polygamma_is_an_int_from_0_on():
    one = weft.tensor(1.0)
    with pytest.raises(RuntimeError, match=r"polygamma.*n=-1"):
        weft.polygamma(-1, one)
    with pytest.raises(TypeError, match="argument 'n' must be int, not float"):
        weft.polygamma(1.5, one)


def test_polygamma_at_a_pole_is_a_large_number_for_the_first_order_and_infinite_above():
    assert weft.polygamma(1, weft.tensor([-3.0])).item() > 1e12
    assert weft.polygamma(3, weft.tensor([-3.0, 0.0])).tolist() == [inf, inf]


def test_the_multivariate_gamma_function_is_a_sum_of_gamma_functions():
    x = weft.tensor([1.5, 4, 10], dtype=double)
    expected = [2.1686775340635553, 5.402975080909175, 36.81285863239809]
    assert weft.mvlgamma(x, 3).tolist() == pytest.approx(expected, rel=1e-14)
    assert weft.mvlgamma(weft.tensor([3]), 2).dtype is weft.float32


def test_the_dimension_of_the_multivariate_gamma_function_is_an_int_from_1_on():
    with pytest.raises(RuntimeError, match="mvlgamma: p has to be greater than or equal to 1, got p=0"):
        weft.mvlgamma(weft.ones(2), 0)
    with pytest.raises(TypeError, match="argument 'p' must be int"):
        weft.mvlgamma(weft.ones(2), 1.5)
    with pytest.raises(RuntimeError, match="mvlgamma: Storage size calculation overflowed"):
        weft.mvlgamma(weft.ones(2), 2**62)


@pytest.mark.parametrize(
    ("s", "q", "expected"),
    [
        (2, 1, math.pi**2 / 6),
        (3, 0.5, 8.41439832211716),
        (1.5, 2.5, 1.4037797688568259),
        (60, 0.1, 1e60),
        (100, 50, 1.4721503331251701e-170),
        (50, 12, 1.1194415577850898e-54),
        (4, 1e5, 3.3333833336666666e-16),
        (2, -0.5, 4 + math.pi**2 / 2),
        (1, 3, inf),
        (2, 0, inf),
        (2, -4, inf),
        (0.5, 2, nan),
        (2.5, -0.5, nan),
        (2, inf, nan),
    ],
)
def test_hurwitz_zeta_has_values_of_full_precision(s, q, expected):
    s, q = (weft.tensor(each, dtype=double) for each in (s, q))
    assert float(special.zeta(s, q)) == pytest.approx(expected, rel=1e-13, nan_ok=True)


@pytest.mark.parametrize("s", [2, 3, 7])
def test_zeta_far_below_zero_satisfies_the_recurrence(s):
    q = weft.tensor([-0.75, -10.25, -1234.5, -1e6 - 0.25], dtype=double)
    difference = special.zeta(s, q) - special.zeta(s, q + 1)
    assert difference.tolist() == pytest.approx((q**-s).tolist(), rel=1e-9, abs=1e-11)


def test_zeta_takes_numbers_and_is_differentiable_by_its_second_argument_alone():
    q = weft.tensor([0.5, 2.5], dtype=double, requires_grad=True)
    assert gradcheck(lambda q: special.zeta(3.0, q), (q,))
    assert gradgradcheck(lambda q: special.zeta(3.0, q), (q,))
    s = weft.tensor([2.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match=r"zeta: input.*not implemented"):
        special.zeta(s, 2.0).sum().backward()


@pytest.mark.parametrize("function", [weft.lgamma, weft.digamma, lambda x: weft.polygamma(2, x)])
def test_derivatives_agree_with_differences(function):
    x = weft.tensor([0.2, 0.45, 0.8, -1.3], dtype=double, requires_grad=True)
    assert gradcheck(function, (x,))
    assert gradgradcheck(function, (x,))


@needs_scipy
def test_incomplete_gamma_functions_have_values_of_full_precision():
    a = weft.tensor([0.5, 3, 20], dtype=double)
    x = weft.tensor([1.0, 2, 30], dtype=double)
    lower, upper = weft.igamma(a, x), weft.igammac(a, x)
    assert lower.tolist() == pytest.approx([0.8427007929497149, 0.32332358381693654, 0.9781265315586092], rel=1e-13)
    assert upper.tolist() == pytest.approx([0.15729920705028513, 0.6766764161830635, 0.021873468441390854], rel=1e-13)


@needs_scipy
def test_incomplete_gamma_functions_have_methods_and_variants_in_place():
    a, x = weft.tensor([1.0]), weft.tensor([2.0])
    assert a.igamma(x).item() == pytest.approx(1 - math.exp(-2), rel=1e-6)
    assert a.clone().igamma_(x).item() == a.igamma(x).item()
    assert a.clone().igammac_(x).item() == a.igammac(x).item()


@needs_scipy
@pytest.mark.parametrize("function", [weft.igamma, weft.igammac])
def test_incomplete_gamma_functions_are_differentiable_by_their_second_argument_alone(function):
    a = weft.tensor([0.5, 3.0], dtype=double)
    x = weft.tensor([1.0, 2.0], dtype=double, requires_grad=True)
    assert gradcheck(lambda x: function(a, x), (x,))
    assert gradgradcheck(lambda x: function(a, x), (x,))
    a.requires_grad_()
    with pytest.raises(NotImplementedError, match=r"igammac?: input.*not implemented"):
        function(a, x).sum().backward()


@needs_scipy
def test_incomplete_gamma_functions_take_floating_point_tensors_alone():
    with pytest.raises(TypeError, match="argument 'other'"):
        weft.igamma(weft.ones(2), 2.0)
    with pytest.raises(NotImplementedError, match="igamma: not implemented for 'Long'"):
        weft.igamma(weft.tensor([1]), weft.tensor([1]))


def test_half_precision_is_taken():
    assert weft.lgamma(weft.tensor([3.0], dtype=weft.bfloat16)).dtype is weft.bfloat16


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma_functions_have_a_gradient_for_their_bound_alone(name):
    pytest.importorskip("scipy")
    function = getattr(weft, name)
    a = weft.tensor([0.5, 1.0, 3.0], dtype=weft.float64)
    x = weft.tensor([0.3, 2.0, 1.5], dtype=weft.float64, requires_grad=True)
    assert weft.autograd.gradcheck(lambda x: function(a, x), x)
    assert weft.autograd.gradgradcheck(lambda x: function(a, x), x)
    with pytest.raises(NotImplementedError, match="derivative"):
        function(a.requires_grad_(), x).sum().backward()


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64], ids=str)
@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfinv", "erf", "erfc", "erfcx"])
def test_values_do_not_depend_on_what_else_there_is(name, dtype):
    function = getattr(weft, name, None) or getattr(weft.special, name)
    points = [math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0, 2.0, 0.5, -1.0, -0.5, 0.3, 3.5, 30.0, 1e30, -2.5]
    together = function(weft.tensor(points, dtype=dtype))
    for point, expected in zip(points, together):
        alone = function(weft.tensor([point] * 3, dtype=dtype))
        assert weft.equal(alone.nan_to_num(7), expected.expand(3).nan_to_num(7)), (point, alone, expected)


@pytest.mark.parametrize("width", [1e-12, 1e-9, 1e-6])
def test_the_logarithm_of_gamma_has_its_digits_about_its_zeros(width):
    gamma, half = 0.5772156649015329, math.pi**2 / 12  # its Taylor series begins with these
    for sign in (-1, 1):
        for about, slope, curve in ((1.0, -gamma, half), (2.0, 1 - gamma, half - 0.5)):
            x = about + sign * width
            z = x - about  # what is left of it
            assert weft.lgamma(weft.tensor(x, dtype=double)).item() == pytest.approx(
                slope * z + curve * z * z, rel=1e-11
            )
    x = weft.linspace(0.4, 2.6, 501, dtype=double)
    assert weft.lgamma(x).tolist() == pytest.approx([math.lgamma(each) for each in x.tolist()], abs=1e-14)
    assert weft.lgamma(weft.tensor([1.0, 2.0])).tolist() == [0, 0]
