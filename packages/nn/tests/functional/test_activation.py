"""Activation functions: values as PyTorch has them, derivatives against differences."""

import math

import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.nn import functional as F

AT_MINUS_4_TO_4 = {  # at -4, -2, 0, 2, 4; observed in PyTorch
    "relu": [0.0, 0.0, 0.0, 2.0, 4.0],
    "gelu": [-0.000127, -0.0455, 0.0, 1.9545, 3.999873],
    "silu": [-0.071945, -0.238406, 0.0, 1.761594, 3.928055],
    "mish": [-0.072592, -0.252501, 0.0, 1.943959, 3.997413],
    "elu": [-0.981684, -0.864665, 0.0, 2.0, 4.0],
    "selu": [-1.725899, -1.520166, 0.0, 2.101402, 4.202804],
    "celu": [-0.981684, -0.864665, 0.0, 2.0, 4.0],
    "softplus": [0.01815, 0.126928, 0.693147, 2.126928, 4.01815],
    "logsigmoid": [-4.01815, -2.126928, -0.693147, -0.126928, -0.01815],
    "hardswish": [0.0, -0.333333, 0.0, 1.666667, 4.0],
    "hardsigmoid": [0.0, 0.166667, 0.5, 0.833333, 1.0],
    "hardshrink": [-4.0, -2.0, 0.0, 2.0, 4.0],
    "softshrink": [-3.5, -1.5, 0.0, 1.5, 3.5],
    "leaky_relu": [-0.04, -0.02, 0.0, 2.0, 4.0],
    "softsign": [-0.8, -0.666667, 0.0, 0.666667, 0.8],
    "tanhshrink": [-3.000671, -1.035972, 0.0, 1.035972, 3.000671],
    "hardtanh": [-1.0, -1.0, 0.0, 1.0, 1.0],
    "relu6": [0.0, 0.0, 0.0, 2.0, 4.0],
}


@pytest.mark.parametrize("name", AT_MINUS_4_TO_4)
@pytest.mark.parametrize("dtype", [weft.float64, weft.float32])
def test_activation_has_pytorchs_values(name, dtype):
    result = getattr(F, name)(weft.linspace(-4, 4, 5, dtype=dtype))
    assert result.tolist() == pytest.approx(AT_MINUS_4_TO_4[name], abs=1e-6)
    assert result.dtype is dtype


@pytest.mark.parametrize("name", AT_MINUS_4_TO_4)
def test_activation_has_first_and_second_derivatives(name):
    points = weft.tensor([-3.7, -1.3, -0.2, 0.4, 1.6, 5.2], dtype=weft.float64, requires_grad=True)
    assert gradcheck(getattr(F, name), (points,))
    assert gradgradcheck(getattr(F, name), (points,))


@pytest.mark.parametrize("name", ["relu", "elu", "selu", "celu", "hardtanh", "leaky_relu", "silu", "hardswish"])
def test_inplace_activation_writes_into_its_input_and_keeps_the_gradient(name):
    leaf = weft.tensor([-1.0, 2.0], requires_grad=True)
    work = leaf * 1
    result = getattr(F, name)(work, inplace=True)
    assert result is work
    (inplace,) = weft.autograd.grad(result.sum(), leaf)
    (plain,) = weft.autograd.grad(getattr(F, name)(leaf).sum(), leaf)
    assert inplace.tolist() == plain.tolist()


def test_gelu_by_tanh_differs_and_has_derivatives():
    points = weft.linspace(-4, 4, 5, dtype=weft.float64).requires_grad_()
    expected = [-7e-05, -0.045402, 0.0, 1.954598, 3.99993]
    assert F.gelu(points, approximate="tanh").tolist() == pytest.approx(expected, abs=1e-6)
    assert gradcheck(lambda x: F.gelu(x, approximate="tanh"), (points,))
    assert gradgradcheck(lambda x: F.gelu(x, approximate="tanh"), (points,))


def test_gelu_of_a_large_tensor_equals_that_of_its_parts():
    whole = weft.linspace(-5, 5, 40_000)
    parts = weft.cat([F.gelu(part) for part in whole.split(7_000)])
    weft.testing.assert_close(F.gelu(whole), parts)


def test_prelu_has_one_weight_for_each_channel():
    points = weft.linspace(-4, 4, 5).reshape(1, 5, 1)
    assert F.prelu(points, weft.linspace(0, 1, 5)).flatten().tolist() == [0.0, -0.5, 0.0, 2.0, 4.0]


def test_relu_keeps_nan():
    assert F.relu(weft.tensor([float("nan")])).isnan().all()


def test_glu_gates_the_first_half_by_the_second():
    assert F.glu(weft.tensor([1.0, 2.0, 3.0, 4.0])).tolist() == pytest.approx([0.952574, 1.964028], abs=1e-6)


def test_rrelu_draws_pytorchs_slopes():
    weft.manual_seed(0)
    drawn = F.rrelu(-weft.ones(5), training=True)
    assert drawn.tolist() == pytest.approx([-0.327094, -0.272462, -0.220705, -0.316822, -0.25938], abs=1e-6)


def test_gumbel_softmax_draws_pytorchs_samples_and_is_one_hot_when_hard():
    weft.manual_seed(0)
    assert F.gumbel_softmax(weft.zeros(4)).tolist() == pytest.approx([0.091412, 0.260653, 0.521431, 0.126504], abs=1e-5)
    hard = F.gumbel_softmax(weft.zeros(3, 4, requires_grad=True), hard=True)
    assert sorted(hard.sum(1).tolist()) == pytest.approx([1.0, 1.0, 1.0])
    assert hard.requires_grad


def test_softmax_without_a_dimension_warns():
    with pytest.warns(UserWarning, match="softmax"):
        assert F.softmax(weft.zeros(2, 4)).sum(1).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: F.hardtanh(weft.ones(1), 2, 1), ValueError, "hardtanh.*min_val"),
        (lambda: F.gelu(weft.ones(1), approximate="no"), RuntimeError, "gelu.*tanh"),
        (lambda: F.glu(weft.ones(3)), RuntimeError, "glu.*even.*3"),
        (lambda: F.prelu(weft.ones(2, 3), weft.ones(2)), RuntimeError, "prelu.*2.*3"),
        (lambda: F.softshrink(weft.ones(1), -1.0), RuntimeError, "softshrink.*-1"),
        (lambda: F.silu(weft.ones(1, dtype=weft.int64)), NotImplementedError, "silu.*int64"),
    ],
)
def test_wrong_call_is_explained(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


NAN, INF = math.nan, math.inf
LIMITS = {  # at nan, inf, -inf and -0.0: the value and the gradient
    "relu": ((NAN, INF, 0.0, -0.0), (1, 1, 0, 0)),
    "relu6": ((NAN, 6, 0.0, -0.0), (0, 0, 0, 0)),
    "hardtanh": ((NAN, 1, -1, -0.0), (0, 0, 0, 1)),
    "hardsigmoid": ((NAN, 1, 0.0, 0.5), (0, 0, 0, 1 / 6)),
    "hardswish": ((NAN, INF, NAN, -0.0), (NAN, 1, 0, 0.5)),
    "hardshrink": ((NAN, INF, -INF, 0.0), (0, 1, 1, 0)),
    "softshrink": ((NAN, INF, -INF, None), (0, 1, 1, 0)),
    "elu": ((NAN, INF, -1, -0.0), (NAN, 1, 0, 1)),
    "celu": ((NAN, INF, -1, -0.0), (NAN, 1, 0, 1)),
    "selu": ((NAN, INF, -1.7580993, -0.0), (NAN, 1.0507010, 0, 1.7580993)),
    "softsign": ((NAN, NAN, NAN, -0.0), (NAN, NAN, NAN, 1)),
    "leaky_relu": ((NAN, INF, -INF, -0.0), (None, 1, 0.01, 0.01)),
    "softplus": ((NAN, INF, 0.0, math.log(2)), (NAN, 1, 0, 0.5)),
    "logsigmoid": ((NAN, 0.0, -INF, -math.log(2)), (NAN, 0, 1, 0.5)),
}


def same(found, expected, precision):
    """Equal, nan to nan, -0.0 to itself; or close."""
    if expected is None or (found != found and expected != expected):
        return True
    if not expected:
        return found == 0 and math.copysign(1, found) == math.copysign(1, expected)
    return found == expected or abs(found - expected) <= precision * abs(expected)


SIZES = [(weft.float32, 1), (weft.float64, 1), (weft.bfloat16, 1), (weft.float32, 2000)]  # also that of compiled loops


@pytest.mark.parametrize(("dtype", "repeated"), SIZES, ids=str)
@pytest.mark.parametrize("name", LIMITS)
def test_activations_at_nan_infinities_and_zero_are_pytorchs_wherever_these_stand(name, dtype, repeated):
    values, slopes = LIMITS[name]
    x = weft.tensor([NAN, INF, -INF, -0.0] * repeated, dtype=dtype, requires_grad=True)
    y = getattr(F, name)(x)
    y.backward(weft.ones_like(y))
    precision = 5e-3 if dtype is weft.bfloat16 else 1e-6
    for place in (*range(4), *range(4 * repeated - 4, 4 * repeated)):
        assert same(y[place].item(), values[place % 4], precision), place
        assert same(abs(x.grad[place].item()), slopes[place % 4], precision), place


SLOPES = {"elu": 1, "celu": 1, "selu": 1.7580993408473766, "softsign": 1, "tanh": 1, "silu": 0.5, "gelu": 0.5}


@pytest.mark.parametrize("repeated", [1, 2000])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64], ids=str)
def test_activations_keep_the_smallest_numbers(dtype, repeated):
    least = 1e-45 if dtype is weft.float32 else 5e-324
    x = weft.tensor([least, 2 * least, 40 * least, 1e6 * least] * repeated, dtype=dtype)
    functions = {name: (getattr(F, name), slope) for name, slope in SLOPES.items()}
    for name, (function, slope) in {**functions, "log1p": (weft.log1p, 1), "expm1": (weft.expm1, 1)}.items():
        expected = [round(slope * each / least) for each in x[:4].tolist()]
        for sign in (1, -1):
            if sign == 1 and name in ("elu", "celu", "selu"):
                continue  # these are linear there
            found = [sign * each / least for each in function(sign * x).tolist()]
            assert all(abs(a - b) <= 1 for a, b in zip(found, expected * repeated)), (name, found[:4])
    far = 100.0 if dtype is weft.float32 else 740.0
    y = weft.tensor([far] * repeated, dtype=dtype, requires_grad=True)
    F.logsigmoid(y).sum().backward()
    for found in (F.logsigmoid(y), -y.grad, -F.softplus(-y)):
        assert abs(found[0].item() + math.exp(-far)) <= 3 * least


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16], ids=str)
@pytest.mark.parametrize("lambd", [0.1, 0.3, 0.7, 1.1])
def test_shrinking_halves_compares_with_the_bound_that_they_can_be(dtype, lambd):
    bound = weft.tensor(lambd, dtype=dtype)
    next_one = weft.nextafter(bound, weft.tensor(9, dtype=dtype)) if dtype is weft.float16 else bound * 1.01
    for repeated in (1, 2000):
        x = weft.stack([bound, -bound, next_one, -next_one] * repeated).requires_grad_()
        y = F.hardshrink(x, lambd)
        assert y[-4:].tolist() == [0, 0, next_one.item(), -next_one.item()]
        for function in (F.hardshrink, F.softshrink):
            (grad,) = weft.autograd.grad(function(x, lambd).sum(), x)
            assert grad[-4:].tolist() == [0, 0, 1, 1]
