"""A few singular values or eigenvalues of large matrices, by products with thin ones."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy

from weft._tensor.base import Tensor
from weft._tensor.interop import from_dlpack
from weft.ops._declare import composite, op
from weft.ops._lapack import (
    check_dtype,
    check_matrix,
    check_square,
    converged,
    gaps,
    identity,
    with_diagonal,
)
from weft.ops.creation import zeros_like
from weft.ops.decompositions import is_watched, qr_op, svd_op
from weft.ops.linear_systems import solve_op
from weft.ops.matrices import matmul
from weft.ops.random import randn

# Singular values of random projections


def range_basis(A: Any, q: int, niter: int, M: Any) -> Any:
    """Orthonormal columns whose span nearly holds that of ``A - M``.

    Halko, Martinsson and Tropp, 2011, algorithm 4.4: q random combinations of the columns, and power iterations that
    are orthonormalized at each step.
    """
    Q = residual(A, M, randn(A.shape[-1], q, dtype=A.dtype, device=A.device))
    Q = qr_op.op(Q, "reduced")[0]
    back = None if M is None else M.mH
    for _ in range(niter):
        Q = qr_op.op(residual(A.mH, back, Q), "reduced")[0]
        Q = qr_op.op(residual(A, M, Q), "reduced")[0]
    return Q


def residual(A: Any, M: Any, Q: Any) -> Any:
    """``(A - M) Q``, without that difference, which may be dense where A and M are products."""
    product = matmul(A, Q)
    return product if M is None else product - matmul(M, Q)


@composite()
def svd_lowrank(A: Tensor, q: int = 6, niter: int = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The q largest singular values of ``A - M``, nearly, and their vectors.

    Parameters
    ----------
    A : Tensor, shape (..., m, n)
    q : int
        A few more than are wanted: the last ones are the least exact.
    niter : int
        Power iterations; more where singular values fall off slowly.
    M : Tensor, optional
        Of A's shape, or broadcast to it.

    Returns
    -------
    tuple (U, S, V)
        Of shapes (..., m, q), (q,) and (..., n, q); ``A - M`` is nearly ``U @ diag(S) @ V.mH``.

    References
    ----------
    arXiv:0909.4061, algorithm 5.1. The columns are combined at random, so that results depend on the seed.

    Examples
    --------
    >>> A = weft.outer(weft.ones(5), weft.ones(4))
    >>> weft.svd_lowrank(A, q=1)[1].round(decimals=3)
    tensor([4.4720])
    """
    check_matrix("svd_lowrank", A)
    if M is not None:
        check_dtype("svd_lowrank", A, M)
        M = M.broadcast_to(A.shape)
    if A.shape[-2] < A.shape[-1]:
        V, S, U = lowrank(A.mH, q, niter, None if M is None else M.mH)
        return U, S, V
    return lowrank(A, q, niter, M)


def lowrank(A: Any, q: int, niter: int, M: Any) -> tuple[Any, Any, Any]:
    """`svd_lowrank` of a matrix that is not wider than high."""
    if isinstance(q, bool) or not isinstance(q, int) or q < 0:
        raise ValueError(f"svd_lowrank: q(={q}) must be non-negative integer")
    Q = range_basis(A, q, niter, M)
    inner = matmul(Q.mH, A)
    if M is not None:
        inner = inner - matmul(Q.mH, M)
    U, S, Vh = svd_op.op(inner, False, True)
    return matmul(Q, U), S, Vh.mH


@composite()
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The q first principal components of the rows of a matrix, nearly.

    Parameters
    ----------
    A : Tensor, shape (..., m, n)
        m observations of n variables.
    q : int, optional
        Default: ``min(6, m, n)``.
    center : bool
        Take the mean of each column off first.
    niter : int
        See `svd_lowrank`.

    Returns
    -------
    tuple (U, S, V)
        The columns of V are the directions; ``A @ V[:, :k]`` projects on the first k, of which each has the variance
        ``S ** 2 / (m - 1)``.

    Raises
    ------
    ValueError
        If q is larger than m or n.

    Examples
    --------
    >>> points = weft.tensor([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])  # on a line
    >>> U, S, V = weft.pca_lowrank(points, q=1)
    >>> (V / V[0]).round(decimals=3)
    tensor([[1.],
            [2.]])
    """
    check_matrix("pca_lowrank", A)
    rows, columns = A.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(
            f"pca_lowrank: q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}"
        )
    if niter < 0:
        raise ValueError(f"pca_lowrank: niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


# Eigenvalues of symmetric matrices


@composite()
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[Any], None] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest or smallest eigenvalues of ``A x = lambda B x`` with symmetric A, and their vectors.

    Parameters
    ----------
    A : Tensor, shape (..., m, m)
        Symmetric; m is at least three times the number of columns that are iterated.
    k : int, optional
        Default: the number of columns of X, else 1.
    B : Tensor, shape (..., m, m), optional
        Positive-definite. Default: the identity.
    X : Tensor, shape (..., m, n), optional
        Where to start. Default: random numbers.
    n : int, optional
        The number of columns of a random start, k or more.
    iK : Tensor, shape (..., m, m), optional
        A preconditioner, near the inverse of A.
    niter : int, optional
        The most iterations, default 1000; -1 for no limit.
    tol : float, optional
        Of residuals relative to A and the vectors; default: the square root of the dtype's eps.
    largest : bool, optional
        Default: True.
    method : {"ortho", "basic"}, optional
        Both name the same iteration, which keeps its basis orthonormal.
    tracker : callable, optional
        Is given the state at each iteration: its attributes ``E``, ``X``, ``R``, and the dicts ``ivars``, ``tvars``.
    ortho_iparams, ortho_fparams, ortho_bparams : dict, optional
        Taken, and of no influence.

    Returns
    -------
    tuple (E, X)
        k eigenvalues from the outermost, and vectors with ``X.mT @ B @ X = 1``.

    Raises
    ------
    ValueError
        If A is too small.

    References
    ----------
    Knyazev, 2001, doi:10.1137/S1064827500366124; Stathopoulos and Wu, 2002, for the orthonormal basis.

    Examples
    --------
    >>> A = weft.diag(weft.arange(9.0))
    >>> weft.lobpcg(A, k=2, largest=False)[0].round(decimals=3).abs()
    tensor([0., 1.])
    """
    check_pencil(A, B, X, iK)
    if method not in (None, "ortho", "basic"):
        raise ValueError(f"lobpcg: method must be 'ortho' or 'basic', but got {method!r}")
    wanted = k if k is not None else 1 if X is None else X.shape[-1]
    columns = X.shape[-1] if X is not None else wanted if n is None else n
    if A.shape[-1] < 3 * columns:
        raise ValueError(
            f"lobpcg: LOBPCG algorithm is not applicable when the number of A rows (={A.shape[-1]}) is smaller than 3 "
            f"x the number of requested eigenpairs (={columns}); linalg.eigh has all of them"
        )
    if X is None:
        X = randn(*A.shape[:-1], columns, dtype=A.dtype, device=A.device)
    if is_watched(A):
        A = 0.5 * (A + A.mT)  # its gradient becomes symmetric, as A is
    limit = float(numpy.finfo(A.dtype.numpy).eps) ** 0.5 if tol is None else tol
    E, V = lobpcg_op.op(A, B, X.detach(), iK, 1000 if niter is None else niter, limit, largest is not False, tracker)
    return E[..., :wanted], V[..., :wanted]


def check_pencil(A: Any, B: Any, X: Any, iK: Any) -> None:
    """The matrices of `lobpcg` are real, of one dtype, and of fitting shapes."""
    check_square("lobpcg", A)
    if A.is_complex():
        raise RuntimeError(f"lobpcg: A must be real, but got {A.dtype}; see linalg.eigh for complex matrices")
    for name, other in (("B", B), ("X", X), ("iK", iK)):
        if other is None:
            continue
        check_dtype("lobpcg", A, other)
        columns = other.shape[-1] if name == "X" and other.ndim else A.shape[-1]
        if other.shape != (*A.shape[:-1], columns):
            raise ValueError(
                f"lobpcg: {name} must have {'the rows' if name == 'X' else 'the shape'} of A, which is "
                f"{tuple(A.shape)}, but it is {tuple(other.shape)}"
            )


@op(name="linalg_lobpcg", tensors="A B X iK", vmap="leading")
def lobpcg_op(
    A: Tensor,
    B: Tensor | None,
    X: Tensor,
    iK: Tensor | None,
    niter: int,
    tol: float,
    largest: bool,
    tracker: Callable[[Any], None] | None,
) -> tuple[Tensor, Tensor]:
    """As many eigenvalues and vectors as X has columns."""
    return lobpcg_op.op(A, B, X, iK, niter, tol, largest, tracker)


@lobpcg_op.kernel
def _(xp, A, B, X, iK, niter, tol, largest, tracker):
    batch = A.shape[:-2]
    E, V = xp.empty((*batch, X.shape[-1]), A.dtype), xp.empty(X.shape, A.dtype)
    for number, place in enumerate(numpy.ndindex(*batch)):
        pencil = Pencil(xp, A[place], None if B is None else B[place], largest)
        precondition = None if iK is None else iK[place]
        E[place], V[place] = pencil.iterate(X[place], precondition, niter, tol, tracker, number)
    return E, V


class Pencil:
    """A symmetric matrix A and a positive-definite B, and the iteration for their eigenvalues."""

    def __init__(self, xp: Any, A: Any, B: Any, largest: bool) -> None:
        self.xp, self.A, self.B, self.largest = xp, A, B, largest

    def weighted(self, V: Any) -> Any:
        """``B V``."""
        return V if self.B is None else self.B @ V

    def iterate(self, X: Any, iK: Any, niter: int, tol: float, tracker: Any, number: int) -> tuple[Any, Any]:
        """Eigenvalues and vectors, from the outermost, as many as X has columns."""
        xp, columns = self.xp, X.shape[-1]
        norm = xp.linalg.norm
        norms = norm(self.A @ X) / norm(X), norm(self.weighted(X)) / norm(X)
        X = self.orthonormal(X)
        E, turn = self.outermost(X, columns)
        X = X @ turn
        past = X[:, :0]
        step = 0
        while True:
            R = self.A @ X - self.weighted(X) * E
            error = norm(R, axis=0) / (norm(X, axis=0) * (norms[0] + norms[1] * abs(E)))
            done = int(xp.sum(xp.cumprod(error < tol)))
            if tracker is not None and step:
                report(xp, tracker, E, X, R, error, step, niter, done, number)
            if done >= columns or step == niter:
                return E, X
            step += 1
            rest = self.orthonormal(xp.concatenate([R if iK is None else iK @ R, past], axis=1), X)
            basis = xp.concatenate([X, rest], axis=1)
            E, turn = self.outermost(basis, columns)
            past = rest @ turn[X.shape[1] :]
            X = basis @ turn

    def outermost(self, basis: Any, count: int) -> tuple[Any, Any]:
        """Eigenvalues of A within a subspace (Rayleigh and Ritz), and how its basis combines to their vectors."""
        values, turn = converged("lobpcg", self.xp.linalg.eigh, basis.T @ self.A @ basis)
        if self.largest:
            values, turn = values[::-1], turn[:, ::-1]
        return values[:count], turn[:, :count]

    def orthonormal(self, V: Any, against: Any = None) -> Any:
        """The span of V without that of other columns, B-orthonormal; what is too small is left out.

        Repeated, as rounding leaves a part of what was taken off.
        """
        xp = self.xp
        eps = xp.finfo(V.dtype).eps
        for _ in range(3):
            if against is not None:
                V = V - against @ (against.T @ self.weighted(V))
            gram = V.T @ self.weighted(V)
            length = xp.sqrt(xp.maximum(xp.diagonal(gram), 0))
            keep = length > eps * eps
            V, scale = V[:, keep], 1 / length[keep]
            gram = gram[keep][:, keep] * scale * scale[:, None]
            values, turn = converged("lobpcg", xp.linalg.eigh, gram)
            large = values > 10 * eps * V.shape[-1]
            V = (V * scale) @ (turn[:, large] / xp.sqrt(values[large]))
        return V


def report(
    xp: Any, tracker: Any, E: Any, X: Any, R: Any, error: Any, step: int, niter: int, done: int, number: int
) -> None:
    """Show the state of an iteration to the caller's function."""

    def tensor(array: Any) -> Any:
        return from_dlpack(xp.array(array))

    left = niter - step if niter >= 0 else -1
    tracker(
        SimpleNamespace(
            E=tensor(E),
            X=tensor(X),
            R=tensor(R),
            ivars={"istep": step, "iterations_left": left, "converged_count": done, "batch_index": number},
            tvars={"rerr": tensor(error)},
        )
    )


OTHER_WAY = "linalg.eigh of L^-1 A L^-H, with B = L L^H, has one"


@lobpcg_op.gradient("A")
def _(grads, A, B, outputs):
    if B is not None:
        raise ValueError(f"lobpcg: there is a gradient only without B; {OTHER_WAY}")
    (E, V), (grad_E, grad_V) = outputs, grads
    if grad_V is None:
        return None if grad_E is None else matmul.op(V * grad_E.unsqueeze(-2), V.mT)
    turned = matmul.op(V.mT, grad_V)
    inner = with_diagonal(turned / gaps(E), zeros_like(E) if grad_E is None else grad_E)
    # What stands at right angles to all of V: there lambda - A can be inverted, and elsewhere the identity is put.
    outside = grad_V - matmul.op(V, turned)
    beside = identity(A, A.shape[-1]) - matmul.op(V, V.mT)
    shifted = E.unsqueeze(-1).unsqueeze(-1) * identity(A, A.shape[-1]) - A.unsqueeze(-3)
    systems = matmul.op(shifted, beside.unsqueeze(-3)) + (identity(A, A.shape[-1]) - beside).unsqueeze(-3)
    moved = solve_op.op(systems, outside.mT.unsqueeze(-1))[0].squeeze(-1).mT
    return matmul.op(matmul.op(V, inner) + moved, V.mT)


@lobpcg_op.gradient("B")
def _(grads):
    raise ValueError(f"lobpcg: there is no gradient by B; {OTHER_WAY}")
