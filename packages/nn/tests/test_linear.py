"""Identity, Linear, Bilinear."""

import numpy as np
import pytest

import weft
from weft import nn


def test_identity_returns_its_input():
    input = weft.ones(2)
    assert nn.Identity(3, unused=True)(input) is input


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear_is_an_affine_map_of_the_last_axis(shape, bias):
    layer = nn.Linear(3, 5, bias=bias)
    input = weft.randn(shape)
    expected = input.numpy() @ layer.weight.detach().numpy().T + (layer.bias.detach().numpy() if bias else 0)
    np.testing.assert_allclose(layer(input).detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def test_linear_takes_dtype():
    layer = nn.Linear(2, 2, dtype=weft.float64)
    assert layer.weight.dtype is layer.bias.dtype is weft.float64


def test_initial_weights_are_within_one_over_the_root_of_fan_in():
    layer = nn.Linear(100, 50)
    for values in (layer.weight, layer.bias):
        assert 0.08 < values.abs().max().item() <= 0.1


def test_gradients_of_linear():
    layer = nn.Linear(2, 1)
    layer(weft.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert layer.weight.grad.tolist() == [[4.0, 6.0]]
    assert layer.bias.grad.tolist() == [2.0]


def test_bilinear_contracts_both_inputs():
    layer = nn.Bilinear(2, 3, 4)
    first, second = weft.randn(5, 2), weft.randn(5, 3)
    expected = np.einsum("bi,kij,bj->bk", first.numpy(), layer.weight.detach().numpy(), second.numpy())
    expected = expected + layer.bias.detach().numpy()
    np.testing.assert_allclose(layer(first, second).detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def test_bilinear_needs_inputs():
    with pytest.raises(ValueError, match="in1_features"):
        nn.Bilinear(0, 1, 1)
