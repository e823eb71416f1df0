"""Kernels of small arrays against the formulas in float64, on both sides of what decides their way."""

import math

import numpy
import pytest

import weft

SHAPES = [(1, 5), (1, 1, 256), (8, 8), (3, 1), (1, 1)]
SCALES = [0.1, 5.0, 1e4]  # with exponentials in range, near its end, and beyond


def numbers(*shape, scale=1.0):
    weft.manual_seed(0)
    return weft.randn(shape) * scale


def softmax(scores):
    shifted = numpy.exp(scores - scores.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(shape, scale):
    x = numbers(*shape, scale=scale)
    numpy.testing.assert_allclose(x.softmax(-1).numpy(), softmax(x.double().numpy()), 1e-5, 1e-37)


@pytest.mark.parametrize("row", [[math.inf, 1.0], [-math.inf, 1.0], [-math.inf, -math.inf], [math.nan, 1.0]])
def test_softmax_of_what_is_no_number(row):
    x = weft.tensor([row, [1.0, -200.0]])
    with numpy.errstate(invalid="ignore"):
        expected = softmax(x.double().numpy())
    numpy.testing.assert_allclose(x.softmax(-1).numpy(), expected, 1e-6, 1e-37)


@pytest.mark.parametrize("scale", SCALES[:2])
def test_attention(scale):
    query, key, value = numbers(2, 3, 4, 8, scale=scale), numbers(2, 3, 7, 8), numbers(2, 3, 7, 5)
    wide = [each.double().numpy() for each in (query, key, value)]
    expected = softmax(wide[0] @ wide[1].swapaxes(-1, -2) / math.sqrt(8)) @ wide[2]
    found = weft.nn.functional.scaled_dot_product_attention(query, key, value)
    numpy.testing.assert_allclose(found.numpy(), expected, 1e-4, 1e-5)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_norms_and_their_gradients(shape, weighted):
    size = shape[-1]
    weight, bias = (numbers(size) + 2, numbers(size)) if weighted else (None, None)
    x = numbers(*shape).requires_grad_()
    wide = x.detach().double().requires_grad_()
    centred = wide - wide.mean(-1, keepdim=True)
    layer = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    rms = wide / (wide.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    pairs = [
        (weft.nn.functional.layer_norm(x, (size,), weight, bias, 1e-5), layer * weight + bias if weighted else layer),
        (weft.nn.functional.rms_norm(x, (size,), weight, 1e-5), rms * weight if weighted else rms),
    ]
    for found, expected in pairs:
        assert found.shape == shape
        weft.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
        (slope,) = weft.autograd.grad(found.square().sum(), x)
        (wanted,) = weft.autograd.grad(expected.square().sum(), wide)
        weft.testing.assert_close(slope.double(), wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("value", "eps", "expected"), [(0.0, 0.0, math.nan), (0.0, 1.0, 0.0), (1.0, -2.0, math.nan)])
def test_rms_norm_where_the_root_is_no_number(value, eps, expected):
    found = weft.nn.functional.rms_norm(weft.full((1, 4), value), (4,), eps=eps)
    assert found.isnan().all() if math.isnan(expected) else found.tolist() == [[expected] * 4]


@pytest.mark.parametrize("exponent", [-5, -4, -2, 3, 4, 5, 7])
def test_whole_powers_of_negative_numbers(exponent):
    x = weft.tensor([-2.0, -0.5, -0.0, 0.0, 3.0, -math.inf, math.inf])
    with numpy.errstate(divide="ignore"):
        expected = x.double().numpy() ** exponent
    found = (x**exponent).double().numpy()
    numpy.testing.assert_allclose(found, expected, 1e-6)
    assert (numpy.signbit(found) == numpy.signbit(expected)).all()
