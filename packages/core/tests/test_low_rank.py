"""Singular values and eigenvalues of large matrices by thin ones: svd_lowrank, pca_lowrank, lobpcg."""

import numpy as np
import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck


def of_rank(rank, *shape, dtype=weft.float64, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((*shape[:-1], rank)) @ rng.standard_normal((*shape[:-2], rank, shape[-1]))
    return weft.tensor(values, dtype=dtype)


def symmetric(*shape, seed=0):
    """Positive-definite, with eigenvalues well apart."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((*shape, shape[-1])))[0]
    return weft.tensor(Q * np.arange(1.0, shape[-1] + 1) @ Q.swapaxes(-1, -2))


def close(actual, expected, tolerance=1e-6):
    np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", [(9, 6), (6, 9), (2, 9, 6)], ids=str)
def test_a_matrix_of_low_rank_is_rebuilt(shape):
    A = of_rank(3, *shape)
    U, S, V = weft.svd_lowrank(A, q=4)
    close(U @ (S.unsqueeze(-1) * V.mH), A)
    close(S[..., :3], weft.linalg.svdvals(A)[..., :3])


def test_what_is_subtracted_may_have_one_row():
    A, M = of_rank(2, 8, 5), weft.ones(1, 5, dtype=weft.float64)
    U, S, V = weft.svd_lowrank(A, q=4, M=M)
    close(U @ (S.unsqueeze(-1) * V.mH), A - M)


def test_principal_components_are_singular_vectors_of_centred_columns():
    A = of_rank(3, 12, 5) + 7
    _, S, V = weft.pca_lowrank(A, q=3)
    centred = A - A.mean(0)
    close(S, weft.linalg.svdvals(centred)[:3])
    close((centred @ V).var(0), S**2 / 11)


def test_the_same_seed_draws_the_same_projection():
    A = of_rank(5, 8, 8)
    weft.manual_seed(3)
    first = weft.svd_lowrank(A, q=2, niter=0)[1]
    weft.manual_seed(3)
    assert (weft.svd_lowrank(A, q=2, niter=0)[1] == first).all()


@pytest.mark.parametrize("wrong", [{"q": 7}, {"q": -1}, {"niter": -1}], ids=str)
def test_more_components_than_columns_are_refused(wrong):
    with pytest.raises(ValueError, match="pca_lowrank"):
        weft.pca_lowrank(weft.ones(9, 6), **wrong)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("shape", [(12,), (2, 12)], ids=str)
def test_lobpcg_finds_the_outermost_eigenvalues(shape, largest):
    A = symmetric(*shape)
    E, X = weft.lobpcg(A, k=3, largest=largest, tol=1e-9)
    expected = weft.tensor([12.0, 11.0, 10.0] if largest else [1.0, 2.0, 3.0], dtype=weft.float64)
    close(E, expected.expand(*shape[:-1], 3))
    close(A @ X, X * E.unsqueeze(-2), 1e-5)


def test_vectors_of_a_pencil_are_orthonormal_by_its_second_matrix():
    A, B = symmetric(12), symmetric(12, seed=1)
    E, X = weft.lobpcg(A, k=2, B=B, tol=1e-9)
    close(A @ X, B @ X * E, 1e-5)
    close(X.mT @ B @ X, weft.eye(2, dtype=weft.float64))


def test_a_preconditioner_saves_steps():
    A, steps = symmetric(30), []
    for iK in (None, weft.linalg.inv(A)):
        seen = []
        weft.manual_seed(0)
        weft.lobpcg(A, k=1, iK=iK, largest=False, tol=1e-9, tracker=lambda state, seen=seen: seen.append(state.ivars))
        steps.append(seen[-1]["istep"])
    assert steps[1] < steps[0]


def test_a_step_limit_stops_the_iteration():
    seen = []
    weft.lobpcg(symmetric(12), niter=2, tol=0.0, tracker=lambda state: seen.append(state.E))
    assert len(seen) == 2


def test_gradients_of_eigenpairs_agree_with_differences():
    start = weft.tensor(np.random.default_rng(2).standard_normal((9, 3)))

    def outermost(A):
        E, X = weft.lobpcg(A, X=start, tol=1e-12)
        return E, X.abs()

    A = symmetric(9).requires_grad_()
    assert gradcheck(outermost, (A,))
    assert gradgradcheck(outermost, (A,))


def test_a_pencil_has_no_gradient():
    A = symmetric(9).requires_grad_()
    E, _ = weft.lobpcg(A, B=symmetric(9, seed=1))
    with pytest.raises(ValueError, match="lobpcg: there is a gradient only without B"):
        E.sum().backward()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda A: weft.lobpcg(A, k=5), ValueError, "smaller than 3 x"),
        (lambda A: weft.lobpcg(A, X=weft.ones(3, 2)), ValueError, "X must have the rows of A"),
        (lambda A: weft.lobpcg(A, B=weft.eye(3)), ValueError, "B must have the shape of A"),
        (lambda A: weft.lobpcg(A, method="power"), ValueError, "'ortho' or 'basic'"),
        (lambda A: weft.lobpcg(A.to(weft.complex64)), RuntimeError, "A must be real"),
        (lambda A: weft.lobpcg(A[0]), RuntimeError, "at least 2 dimensions"),
    ],
)
def test_pencils_that_do_not_fit_are_refused(call, error, match):
    with pytest.raises(error, match=match):
        call(weft.eye(12))


def test_older_norms_are_those_of_linalg():
    A = of_rank(3, 4, 5)
    close(weft.frobenius_norm(A, (0, 1)), weft.linalg.matrix_norm(A))
    close(weft.nuclear_norm(A, keepdim=True), weft.linalg.matrix_norm(A, "nuc", keepdim=True))
