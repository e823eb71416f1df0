"""Compiled losses and their gradients give what NumPy's kernels give."""

import math

import numpy as np
import pytest

import weft
import weft.nn
from weft.backend_cpu import compiled, libraries
from weft.ops._registry import registry

pytestmark = pytest.mark.skipif(compiled not in libraries.available(), reason="needs Numba")

REDUCTIONS = ["mean", "sum", "none"]
DIFFERENCES = [(math.inf, 1.0, math.inf, 0.0), (0.0, 0.0, 1.0, 0.0), (0.7, 0.5 / 0.7, 1.0, 0.35), (0.6, 0.5, 0.6, 0.18)]


@pytest.fixture(autouse=True)
def every_size(monkeypatch):
    """Small arrays take the compiled kernels as well."""
    if compiled in libraries.available():
        from weft.backend_cpu.compiled.kernels import losses

        monkeypatch.setattr(losses, "MIN_SIZE_FUSED", 0)


def kernels(name):
    def generic(*args):
        return registry[name].generic(np, *args)

    found = libraries.kernel(name, weft.float32, generic)
    return generic, getattr(found, "large", found)


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def assert_same(found, exact):
    for ours, theirs in zip(found, exact, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(150, 5), (9, 70), (6, 5, 1), (3, 4, 7), (2, 3, 600)], ids=str)
def test_cross_entropy_is_numpys(shape, reduction, weighted, smoothing):
    batch, classes, *places = shape
    input = random(*shape) * 3
    target = np.random.default_rng(0).integers(0, classes, (batch, *places))
    target.flat[0] = 1  # which is ignored
    weight = np.abs(random(classes)) if weighted else None
    options = (reduction, 1, smoothing)
    generic, kernel = kernels("nn::cross_entropy")
    exact = generic(input, target, weight, *options)
    assert_same(kernel(input, target, weight, *options), exact)
    grad = random(batch, *places) if reduction == "none" else np.asarray(np.float32(0.7))
    generic, kernel = kernels("nn::cross_entropy_gradient")
    args = (grad, input, target, weight, *exact[1:], *options)
    assert_same([kernel(*args)], [generic(*args)])


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_cross_entropy_of_ignored_rows_alone(reduction):
    input, target = random(4, 5), np.full(4, 2)
    loss, count, statistics = kernels("nn::cross_entropy")[1](input, target, None, reduction, 2, 0.0)
    assert count == 0 and (np.isnan(loss) if reduction == "mean" else loss == 0)
    grad = np.asarray(np.float32(1))
    kernel = kernels("nn::cross_entropy_gradient")[1]
    assert not kernel(grad, input, target, None, count, statistics, reduction, 2, 0.0).any()


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(3, 5), (), (300,)], ids=str)
def test_losses_of_pairs_are_numpys(shape, reduction):
    input, target = np.asarray(random(*shape)), np.asarray(random(*shape) / 2)
    grad = np.asarray(random(*shape)) if reduction == "none" else np.asarray(np.float32(0.7))
    cases = [("nn::difference_loss", "nn::difference_loss_gradient", numbers) for numbers in DIFFERENCES]
    cases.append(("nn::binary_cross_entropy_with_logits", "nn::logits_loss_gradient", ()))
    for name, gradient, numbers in cases:
        generic, kernel = kernels(name)
        assert_same([kernel(input, target, *numbers, reduction)], [generic(input, target, *numbers, reduction)])
        generic, kernel = kernels(gradient)
        args = (grad, input, target, *numbers[:3], reduction)
        assert_same([kernel(*args)], [generic(*args)])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_chosen_logarithms_are_numpys(reduction):
    logarithms = np.random.default_rng(0).normal(size=(9, 20, 7))
    target = np.random.default_rng(1).integers(0, 20, (9, 7))
    weight = np.linspace(0, 1, 20)
    counts = np.where(target == 3, 0, weight[target])
    losses = -np.take_along_axis(logarithms, target[:, None], 1)[:, 0] * counts
    expected = {"mean": losses.sum() / counts.sum(), "sum": losses.sum(), "none": losses}[reduction]
    x = weft.from_numpy(logarithms).requires_grad_()
    chosen, weights = weft.from_numpy(target), weft.from_numpy(weight)
    found = weft.nn.functional.nll_loss(x, chosen, weights, ignore_index=3, reduction=reduction)
    np.testing.assert_allclose(found.detach().numpy(), expected)
    found.sum().backward()
    share = counts / counts.sum() if reduction == "mean" else counts
    slope = np.zeros(logarithms.shape)
    np.put_along_axis(slope, target[:, None], -share[:, None], 1)
    np.testing.assert_allclose(x.grad.numpy(), slope)


@pytest.mark.parametrize("shape", [(900, 7), (9000, 3), (30, 7, 50)])
def test_a_class_out_of_range_is_an_error_and_one_that_is_ignored_is_none(shape):
    x, target = weft.zeros(shape) - 2, weft.zeros(shape[0], *shape[2:], dtype=weft.int64)
    target[3] = 50
    assert weft.nn.functional.nll_loss(x, target, ignore_index=50) == 2
    for wrong in (shape[1], -1, -(2**63)):
        target[3] = wrong
        with pytest.raises(IndexError, match=f"nll_loss: Target {wrong} is out of bounds for {shape[1]} classes"):
            weft.nn.functional.nll_loss(x, target, ignore_index=50)
