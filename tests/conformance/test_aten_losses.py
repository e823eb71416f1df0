"""Losses as PyTorch's dispatcher has them: options in its order, and the reduction as a number."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import torch

import weft

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.random((2, 3, 4), dtype="float32")
SIGNS = np.where(Y > 0.5, 1, -1).astype("float32")
CLASSES, SETS = np.array([1, 0, 3]), np.array([[1, -1, 0, 0], [2, 0, -1, 0], [3, -1, 0, 0]])

CALLS = {
    "binary_cross_entropy": lambda f, x, y, s, c, m, r: f(x, y, None, r),
    "binary_cross_entropy_with_logits": lambda f, x, y, s, c, m, r: f(x, y, None, None, r),
    "huber_loss": lambda f, x, y, s, c, m, r: f(x, y, r, 0.3),
    "l1_loss": lambda f, x, y, s, c, m, r: f(x, y, r),
    "mse_loss": lambda f, x, y, s, c, m, r: f(x, y, r),
    "multi_margin_loss": lambda f, x, y, s, c, m, r: f(x, c, 1, 1, None, r),
    "multilabel_margin_loss": lambda f, x, y, s, c, m, r: f(x, m, r),
    "nll_loss": lambda f, x, y, s, c, m, r: f(x.log_softmax(1), c, None, r, -100),
    "smooth_l1_loss": lambda f, x, y, s, c, m, r: f(x, y, r, 0.3),
    "soft_margin_loss": lambda f, x, y, s, c, m, r: f(x, s, r),
    "kl_div": lambda f, x, y, s, c, m, r: f(x.log_softmax(1), y, r),
    "hinge_embedding_loss": lambda f, x, y, s, c, m, r: f(x, s, 1.0, r),
    "margin_ranking_loss": lambda f, x, y, s, c, m, r: f(x, y, s, 0.1, r),
    "cosine_embedding_loss": lambda f, x, y, s, c, m, r: f(x, y, s[:, 0], 0.1, r),
    "triplet_margin_loss": lambda f, x, y, s, c, m, r: f(x, y, s, 1.0, 2.0, 1e-6, False, r),
    "poisson_nll_loss": lambda f, x, y, s, c, m, r: f(x, y, True, False, 1e-8, r),
}


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("name", CALLS)
def test_a_loss_of_the_dispatcher_is_pytorchs(name, reduction):
    found, expected = (
        CALLS[name](
            getattr(module.ops.aten, name),
            *[module.from_numpy(each) for each in (X, Y, SIGNS, CLASSES, SETS)],
            reduction,
        ).numpy()
        for module in (weft, torch)
    )
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
