"""Bessel and Airy functions against numbers of 30 digits rounded."""

import math
from importlib.util import find_spec

import pytest

import weft
from weft import special
from weft.autograd import gradcheck, gradgradcheck

double = weft.float64
inf = math.inf
needs_scipy = pytest.mark.skipif(find_spec("scipy") is None, reason="needs SciPy")


def values(name, points, dtype=double):
    return getattr(special, name)(weft.tensor(points, dtype=dtype)).tolist()


MODIFIED = {
    "i0": {
        0.5: 1.0634833707413236,
        3: 4.8807925858650245,
        20: 43558282.559553534,
        30: 781672297823.9775,
        700: 1.5295933476718737e302,
    },
    "i1": {
        0.5: 0.2578943053908963,
        3: 3.9533702174026093,
        20: 42454973.38512777,
        30: 768532038938.957,
        700: 1.5285003902339006e302,
    },
    "i0e": {0.5: 0.6450352704491501, 20: 0.08978031188482602, 30: 0.0731459464822373, 1000: 0.012617240455891257},
    "i1e": {0.5: 0.1564208031848717, 20: 0.08750622218328867, 30: 0.07191633059864755, 1000: 0.012610930256928629},
}


@pytest.mark.parametrize("name", MODIFIED)
def test_modified_functions_have_values_of_full_precision_without_scipy(name):
    table = MODIFIED[name]
    assert values(name, list(table)) == pytest.approx(list(table.values()), rel=3e-15)
    sign = -1 if "1" in name else 1
    assert values(name, [-x for x in table]) == pytest.approx([sign * y for y in table.values()], rel=3e-15)


def test_modified_functions_at_0_and_far_out():
    assert values("i0", [0, 1000]) == [1, inf]
    assert values("i1", [0, 1000]) == [0, inf]
    assert values("i0e", [0, 1e308]) == [1, pytest.approx(0, abs=1e-150)]


def test_functions_whose_names_say_modified_are_the_same_without_gradient():
    x = weft.tensor([-2.0, 0.5, 30.0], requires_grad=True)
    for order in "01":
        same = getattr(special, f"modified_bessel_i{order}")(x)
        assert same.tolist() == getattr(special, f"i{order}")(x).tolist()
        assert not same.requires_grad


def test_i0_is_a_function_a_method_and_works_in_place():
    x = weft.tensor([0.0, 3.0])
    assert weft.i0(x).tolist() == x.i0().tolist() == x.clone().i0_().tolist() == weft.i0_(x.clone()).tolist()


@pytest.mark.parametrize("name", ["i0", "i0e", "i1", "i1e"])
def test_derivatives_agree_with_differences(name):
    x = weft.tensor([-25.0, -1.5, 0.25, 3.0, 21.0], dtype=double, requires_grad=True)
    function = getattr(special, name)
    scale = (-x.detach().abs()).exp() if "e" not in name else 1
    assert gradcheck(lambda x: function(x) * scale, (x,))
    assert gradgradcheck(lambda x: function(x) * scale, (x,))


def test_derivatives_at_0_are_limits():
    x = weft.zeros(1, requires_grad=True)
    slopes = [float(weft.autograd.grad(getattr(special, name)(x), x)[0]) for name in ("i0", "i1", "i1e")]
    assert slopes == [0, 0.5, 0.5]


ORDINARY = {  # at 0.5, 6 and 20
    "bessel_j0": [0.9384698072408129, 0.15064525725099692, 0.16702466434058316],
    "bessel_j1": [0.2422684576748739, -0.27668385812756563, 0.06683312417585005],
    "bessel_y0": [-0.44451873350670656, -0.28819468398157916, 0.06264059680938383],
    "bessel_y1": [-1.471472392670243, -0.17501034430039825, -0.1655116143625213],
    "modified_bessel_k0": [0.9244190712276659, 0.0012439943280131232, 5.741237815336525e-10],
    "modified_bessel_k1": [1.656441120003301, 0.001343919717735509, 5.883057969557038e-10],
    "scaled_modified_bessel_k0": [1.5241093857739094, 0.5018631308621401, 0.27854487665718225],
    "scaled_modified_bessel_k1": [2.731009708211786, 0.5421759102771335, 0.28542549694072644],
}


@needs_scipy
@pytest.mark.parametrize("name", ORDINARY)
def test_the_others_have_values_of_full_precision(name):
    assert values(name, [0.5, 6, 20]) == pytest.approx(ORDINARY[name], rel=1e-13)
    assert values(name, [0.5, 6, 20], weft.float32) == pytest.approx(ORDINARY[name], rel=1e-6)
    assert not getattr(special, name)(weft.ones(1, requires_grad=True)).requires_grad


@needs_scipy
def test_functions_of_the_second_kind_are_infinite_at_0_and_undefined_below():
    for name, sign in (("bessel_y0", -1), ("bessel_y1", -1), ("modified_bessel_k0", 1), ("modified_bessel_k1", 1)):
        at_zero, below = values(name, [0.0, -1.0])
        assert at_zero == sign * inf
        assert math.isnan(below)


@needs_scipy
def test_airy_function_has_values_of_full_precision_and_vanishes_far_out():
    expected = [-0.0527050503563862, 0.3550280538878172, 0.13529241631288141, 1.1047532552898686e-10, 0, 0]
    assert values("airy_ai", [-8, 0, 1, 10, 150, 1e300]) == pytest.approx(expected, rel=1e-12)


def test_spherical_function_is_the_cardinal_sine_without_pi():
    expected = [1, math.sin(1e-3) / 1e-3, math.sin(2) / 2, math.sin(-7) / -7, 0]
    assert values("spherical_bessel_j0", [0, 1e-3, 2, -7, inf]) == pytest.approx(expected, rel=1e-15)


@needs_scipy
def test_integers_become_the_default_dtype():
    for name in ("airy_ai", "bessel_j0", "i0e", "spherical_bessel_j0"):
        assert getattr(special, name)(weft.tensor([0, 2])).dtype is weft.float32


SCIPY = {
    "bessel_j0": "j0",
    "bessel_j1": "j1",
    "bessel_y0": "y0",
    "bessel_y1": "y1",
    "modified_bessel_i0": "i0",
    "modified_bessel_i1": "i1",
    "modified_bessel_k0": "k0",
    "modified_bessel_k1": "k1",
    "scaled_modified_bessel_k0": "k0e",
    "scaled_modified_bessel_k1": "k1e",
    "i0e": "i0e",
    "i1e": "i1e",
    "airy_ai": "airy",
    "spherical_bessel_j0": "spherical_jn",
}


@needs_scipy
@pytest.mark.parametrize("size", [500, 10_000])
@pytest.mark.parametrize("name", SCIPY)
def test_values_in_float64_are_scipys(name, size):
    import numpy as np
    import scipy.special

    sizes = np.concatenate([np.linspace(0, 60, size // 2), np.geomspace(1e-300, 700, size - size // 2)])
    x = np.concatenate([-sizes, sizes, [inf, -inf, math.nan]])
    function = getattr(scipy.special, SCIPY[name])
    expected = function(0, x) if name.startswith("spherical") else function(x)
    expected = expected[0] if name == "airy_ai" else expected
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(getattr(special, name)(weft.tensor(x)).numpy(), expected, rtol=1e-12, atol=1e-300)
