"""Gradients of gamma and Dirichlet samples, against the cumulative distribution functions and PyTorch's numbers."""

import numpy as np
import pytest

import weft


def t(*values):
    return weft.tensor(list(values), dtype=weft.float64)


def test_gamma_gradients_are_pytorchs():
    # One pair for each region: near 0, rational, around the mode, and away from it on both sides.
    shapes, samples = t(0.3, 0.7, 1.5, 4.0, 9.0, 30.0, 500.0, 20.0), t(0.01, 0.5, 0.9, 2.0, 9.0, 40.0, 480.0, 9.0)
    expected = [0.149206954, 1.04209923, 0.852239198, 0.721897788, 1.01864752, 1.15715135, 0.9800598, 0.65871388]
    np.testing.assert_allclose(weft._standard_gamma_grad(shapes, samples).numpy(), expected, rtol=1e-6)


def test_dirichlet_gradients_are_pytorchs():
    # One for each region: near 0, near 1, around the mean, rational, away from the mean.
    x, alpha, total = t(0.1, 0.9, 0.3, 0.95, 0.6), t(0.5, 3.0, 9.0, 40.0, 20.0), t(2.0, 4.0, 30.0, 43.0, 30.0)
    expected = [0.446582435, 0.316081547, 0.0343279299, 0.0237764146, 0.0322240997]
    np.testing.assert_allclose(weft._dirichlet_grad(x, alpha, total).numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("shape", [0.2, 0.9, 3.0, 8.5, 60.0, 900.0])
def test_a_gamma_sample_moves_so_that_its_quantile_stays(shape):
    a = weft.full((300,), shape, dtype=weft.float64)
    with weft.random.fork_rng():
        weft.manual_seed(0)
        x = weft._standard_gamma(a)
    h = 1e-3
    moved = x + h * shape * weft._standard_gamma_grad(a, x)
    before, after = weft.special.gammainc(a, x), weft.special.gammainc(a + h * shape, moved)
    # What is left is of second order, and the error of the approximation.
    assert (before - after).abs().max() < 2e-5 * max(1, shape**0.5)


def test_a_gamma_sample_is_differentiable_once():
    a = t(0.5, 3.0, 20.0).requires_grad_()
    x = weft._standard_gamma(a)
    (slope,) = weft.autograd.grad(x.sum(), a, create_graph=True)
    weft.testing.assert_close(slope.detach(), weft._standard_gamma_grad(a.detach(), x.detach()))
    with pytest.raises(RuntimeError):
        slope.sum().backward()


def test_dirichlet_samples_are_gamma_samples_divided_by_their_sum():
    alpha = weft.tensor([[0.5, 2.0, 3.0], [9.0, 1.0, 0.1]], dtype=weft.float64)
    with weft.random.fork_rng():
        weft.manual_seed(3)
        drawn = weft._sample_dirichlet(alpha)
        weft.manual_seed(3)
        gamma = weft._standard_gamma(alpha)
    weft.testing.assert_close(drawn, gamma / gamma.sum(-1, keepdim=True))


def test_a_dirichlet_sample_stays_on_the_simplex_as_it_moves():
    alpha = weft.tensor([[0.5, 2.0, 3.0], [9.0, 1.0, 0.1]], dtype=weft.float64, requires_grad=True)
    drawn = weft._sample_dirichlet(alpha)
    (slope,) = weft.autograd.grad(drawn.sum(), alpha)
    weft.testing.assert_close(slope, weft.zeros_like(slope))


def test_a_sample_of_nothing_is_empty():
    assert weft._standard_gamma_grad(weft.zeros(0), weft.zeros(0)).shape == (0,)
    assert weft._sample_dirichlet(weft.zeros(0, 3)).shape == (0, 3)
    with pytest.raises(TypeError, match="must be Tensor"):
        weft._standard_gamma_grad(1.0, weft.zeros(1))
    with pytest.raises(TypeError, match="must be Tensor"):
        weft._dirichlet_grad(weft.zeros(1), 1.0, weft.zeros(1))
