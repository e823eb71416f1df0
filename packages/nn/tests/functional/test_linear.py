"""Linear and bilinear maps."""

import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.nn import functional as F


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 3), (0, 3)])
def test_linear_multiplies_the_last_dimension(shape):
    x, weight, bias = weft.randn(*shape), weft.randn(5, 3), weft.randn(5)
    result = F.linear(x, weight, bias)
    assert result.shape == (*shape[:-1], 5)
    assert weft.allclose(result, (x.unsqueeze(-2) * weight).sum(-1) + bias, atol=1e-6)


def test_linear_and_bilinear_have_first_and_second_derivatives():
    x, y = weft.randn(2, 3, dtype=weft.float64), weft.randn(2, 4, dtype=weft.float64)
    weight, cube, bias = (weft.randn(*s, dtype=weft.float64) for s in ((5, 3), (5, 3, 4), (5,)))
    for function, inputs in ((F.linear, (x, weight, bias)), (F.bilinear, (x, y, cube, bias))):
        inputs = tuple(each.detach().requires_grad_() for each in inputs)
        assert gradcheck(function, inputs)
        assert gradgradcheck(function, inputs)


def test_bilinear_is_a_form_of_each_pair():
    x, y, weight = weft.randn(2, 3), weft.randn(2, 4), weft.randn(5, 3, 4)
    assert weft.allclose(F.bilinear(x, y, weight), weft.einsum("ni,kij,nj->nk", x, weight, y), atol=1e-5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: F.linear(weft.ones(4, 5), weft.ones(2, 3)), r"linear.*\(4, 5\).*\(2, 3\)"),
        (lambda: F.linear(weft.ones(4, 3), weft.ones(2, 3), weft.ones(3)), r"linear.*bias \(3,\)"),
        (lambda: F.linear(weft.ones(4, 3), weft.ones(2, 3).double()), "linear.*float32.*float64"),
        (lambda: F.bilinear(weft.ones(2, 3), weft.ones(3, 4), weft.ones(1, 3, 4)), "bilinear.*batch"),
    ],
)
def test_wrong_call_is_explained(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()
