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


def ends(*values):
    return weft.tensor(values, dtype=weft.int32)


def test_grouped_products_are_those_of_each_group():
    rows, columns, matrices = weft.randn(5, 3), weft.randn(3, 5), weft.randn(2, 3, 4)
    expected = [rows[:2] @ matrices[0], rows[2:4] @ matrices[1], weft.zeros(1, 4)]
    assert weft.allclose(F.grouped_mm(rows, matrices, offs=ends(2, 4)), weft.cat(expected), atol=1e-6)
    expected = [matrices[0].t() @ columns[:, :1], matrices[1].t() @ columns[:, 1:]]
    assert weft.allclose(F.grouped_mm(matrices.mT, columns, offs=ends(1, 5)), weft.cat(expected, 1), atol=1e-6)
    expected = [columns[:, :0] @ rows[:0], columns @ rows]
    assert weft.allclose(F.grouped_mm(columns, rows, offs=ends(0, 5)), weft.stack(expected), atol=1e-6)
    assert weft.allclose(F.grouped_mm(matrices, matrices.mT), matrices @ matrices.mT, atol=1e-6)


def test_grouped_products_have_gradients_and_a_wider_result():
    rows, matrices = weft.randn(3, 2, requires_grad=True), weft.randn(2, 2, 4, requires_grad=True)
    F.grouped_mm(rows, matrices, offs=ends(1, 3), bias=weft.ones(4)).sum().backward()
    assert weft.allclose(rows.grad[1], matrices.detach()[1].sum(1))
    assert weft.allclose(matrices.grad[0, :, 0], rows.detach()[0])
    half = F.grouped_mm(rows.half(), matrices.half(), offs=ends(1, 3), out_dtype=weft.float32)
    assert half.dtype is weft.float32


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: F.linear(weft.ones(4, 5), weft.ones(2, 3)), r"linear.*\(4, 5\).*\(2, 3\)"),
        (lambda: F.linear(weft.ones(4, 3), weft.ones(2, 3), weft.ones(3)), r"linear.*bias \(3,\)"),
        (lambda: F.linear(weft.ones(4, 3), weft.ones(2, 3).double()), "linear.*float32.*float64"),
        (lambda: F.bilinear(weft.ones(2, 3), weft.ones(3, 4), weft.ones(1, 3, 4)), "bilinear.*batch"),
        (lambda: F.grouped_mm(weft.ones(4, 3), weft.ones(2, 3, 1)), "grouped_mm.*offs must be given"),
        (lambda: F.grouped_mm(weft.ones(4, 3), weft.ones(2, 3, 1), offs=ends(1, 5)), r"grouped_mm.*\[0, 4\].*\[1, 5\]"),
        (lambda: F.grouped_mm(weft.ones(4, 3), weft.ones(2, 3, 1), offs=ends(4)), "grouped_mm.*batch sizes"),
        (lambda: F.grouped_mm(weft.ones(4, 3), weft.ones(2, 2, 1), offs=ends(1, 4)), "grouped_mm.*contraction"),
    ],
)
def test_wrong_call_is_explained(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_zero_features_of_what_is_not_finite_are_nan(value):
    for rows, inner, columns in [(1, 1, 1), (3, 1, 1), (1, 1, 3), (3, 1, 2), (2, 2, 1)]:
        x, weight = weft.zeros(rows, inner), weft.full((columns, inner), value)
        assert F.linear(x, weight).isnan().all() and F.linear(weight, x, weft.zeros(rows)).isnan().all()
        assert F.linear(x[None], weight).isnan().all()
        assert F.conv1d(x[None, :, :1], weft.full((columns, rows, 1), value)).isnan().all()


@pytest.mark.parametrize("rows", [(), (2,), (0,), (2, 2), (2, 0)])
@pytest.mark.parametrize(("inputs", "outputs"), [(0, 1), (0, 0), (3, 0), (0, 3), (3, 2)])
def test_layers_of_no_features_have_results_and_gradients(rows, inputs, outputs):
    x, weight = weft.ones(*rows, inputs, requires_grad=True), weft.ones(outputs, inputs, requires_grad=True)
    bias = weft.ones(outputs, requires_grad=True)
    result = F.linear(x, weight, bias)
    assert result.shape == (*rows, outputs) and (result == inputs + 1).all()
    result.sum().backward()
    assert x.grad.shape == x.shape and (x.grad == outputs).all()
    assert weight.grad.shape == weight.shape and (bias.grad == weft.ones(rows).numel()).all()
