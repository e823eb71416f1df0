"""Activations against their formulas."""

import math

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn import functional as F

X = np.array([-4.0, -2.0, -0.7, -0.3, 0.0, 0.3, 0.7, 2.0, 4.0, 7.0])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    return np.array([math.erf(value) for value in x])


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772

FORMULAS = [
    (nn.ReLU(), np.maximum(X, 0)),
    (nn.ReLU6(), np.clip(X, 0, 6)),
    (nn.Hardtanh(-1.0, 2.0), np.clip(X, -1, 2)),
    (nn.LeakyReLU(0.1), np.where(X > 0, X, 0.1 * X)),
    (nn.PReLU(init=0.3), np.where(X > 0, X, 0.3 * X)),
    (nn.RReLU(0.2, 0.4).eval(), np.where(X > 0, X, 0.3 * X)),
    (nn.Threshold(0.5, 9.0), np.where(X > 0.5, X, 9.0)),
    (nn.Hardshrink(), np.where(np.abs(X) > 0.5, X, 0)),
    (nn.Softshrink(), np.sign(X) * np.maximum(np.abs(X) - 0.5, 0)),
    (nn.ELU(2.0), np.where(X > 0, X, 2 * np.expm1(X))),
    (nn.CELU(2.0), np.where(X > 0, X, 2 * np.expm1(X / 2))),
    (nn.SELU(), SELU_SCALE * np.where(X > 0, X, SELU_ALPHA * np.expm1(X))),
    (nn.GELU(), X * (1 + erf(X / math.sqrt(2))) / 2),
    (nn.GELU("tanh"), X * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3))) / 2),
    (nn.SiLU(), X * sigmoid(X)),
    (nn.Mish(), X * np.tanh(np.log1p(np.exp(X)))),
    (nn.Hardswish(), X * np.clip(X + 3, 0, 6) / 6),
    (nn.Softplus(2.0), np.log1p(np.exp(2 * X)) / 2),
    (nn.Sigmoid(), sigmoid(X)),
    (nn.LogSigmoid(), np.log(sigmoid(X))),
    (nn.Hardsigmoid(), np.clip(X + 3, 0, 6) / 6),
    (nn.Tanh(), np.tanh(X)),
    (nn.Tanhshrink(), X - np.tanh(X)),
    (nn.Softsign(), X / (1 + np.abs(X))),
    (nn.GLU(), X[:5] * sigmoid(X[5:])),
    (nn.Softmax(0), np.exp(X) / np.exp(X).sum()),
    (nn.Softmin(0), np.exp(-X) / np.exp(-X).sum()),
    (nn.LogSoftmax(0), X - np.log(np.exp(X).sum())),
]


@pytest.mark.parametrize(
    ("layer", "expected"), FORMULAS, ids=lambda value: repr(value) if isinstance(value, nn.Module) else ""
)
def test_an_activation_is_its_formula(layer, expected):
    output = layer.double()(weft.tensor(X))
    np.testing.assert_allclose(output.detach().numpy(), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "layer",
    [
        nn.ReLU,
        nn.ReLU6,
        nn.Hardtanh,
        nn.LeakyReLU,
        nn.ELU,
        nn.CELU,
        nn.SELU,
        nn.SiLU,
        nn.Mish,
        nn.Hardswish,
        nn.Hardsigmoid,
    ],
)
def test_inplace_writes_into_the_input(layer):
    input = weft.tensor(X)
    expected = layer()(input.clone())
    assert layer(inplace=True)(input) is input
    assert input.tolist() == expected.tolist()


def test_rrelu_draws_its_slopes_in_training():
    weft.manual_seed(0)
    slopes = -nn.RReLU(0.2, 0.4)(-weft.ones(1000))
    assert 0.2 <= slopes.min().item() < 0.21
    assert 0.39 < slopes.max().item() <= 0.4


def test_prelu_has_a_slope_for_each_channel():
    layer = nn.PReLU(2)
    with weft.no_grad():
        layer.weight.copy_(weft.tensor([0.5, 2.0]))
    assert layer(-weft.ones(1, 2, 1)).tolist() == [[[-0.5], [-2.0]]]


def test_softmax2d_sums_to_one_over_channels():
    np.testing.assert_allclose(nn.Softmax2d()(weft.randn(2, 3, 4, 5)).sum(1).numpy(), np.ones((2, 4, 5)), rtol=1e-5)
    with pytest.raises(ValueError, match="3D or 4D"):
        nn.Softmax2d()(weft.ones(2, 2))


def test_hardtanh_wants_an_interval():
    with pytest.raises(AssertionError, match="larger"):
        nn.Hardtanh(2.0, 1.0)
    with pytest.warns(FutureWarning, match="min_val"):
        assert nn.Hardtanh(min_value=-3.0).min_val == -3.0


def test_repr():
    shown = [nn.ReLU(), nn.ReLU(True), nn.ELU(), nn.LeakyReLU(0.1, True), nn.GELU(), nn.Hardshrink(), nn.Softplus()]
    assert [repr(layer) for layer in shown] == [
        "ReLU()",
        "ReLU(inplace=True)",
        "ELU(alpha=1.0)",
        "LeakyReLU(negative_slope=0.1, inplace=True)",
        "GELU(approximate='none')",
        "Hardshrink(0.5)",
        "Softplus(beta=1.0, threshold=20.0)",
    ]


@pytest.mark.parametrize("call", [
    lambda x: F.leaky_relu(x, 1e300), lambda x: F.elu(x, 1e300), lambda x: F.celu(x, 1e300),
    lambda x: F.softplus(x, 1e300), lambda x: F.hardshrink(x, 1e300),
    lambda x: F.threshold(x, 0, 1e300), lambda x: weft.threshold(x, 1e300, 0),
    lambda x: F.hardtanh(x, 0, 1e300), lambda x: F.softshrink(x, 1e300), lambda x: F.softshrink(x, math.nan),
    lambda x: F.threshold(x.to(weft.uint8), 300, 1), lambda x: F.hardtanh(x.to(weft.int8), 0, 300),
    lambda x: F.hardtanh(x.to(weft.uint8), -1, 1),
])  # fmt: skip
def test_numbers_that_the_dtype_has_not_are_refused(call):
    with pytest.raises(RuntimeError, match=r"without overflow|must be in range|on an unsigned type"):
        call(weft.ones(3))


def test_numbers_of_integers_are_those_of_their_dtype():
    x = weft.tensor([0, 1, 2, 3], dtype=weft.int8)
    assert F.threshold(x, 1, 3.5).tolist() == [3, 3, 2, 3]
    assert F.threshold(x.to(weft.uint8), -1, 7).tolist() == [7, 7, 7, 7]  # -1 is 255 there
    assert F.hardtanh(x, -1.5, 2.7).tolist() == [0, 1, 2, 2]
