"""Decompositions of matrices, and what is solved with them: the ops behind `weft.linalg`."""

from __future__ import annotations

import math
from functools import reduce
from operator import getitem
from typing import Any

import numpy

from weft._dtypes.dtypes import int32
from weft._engine.tensor import local
from weft._errors import warn_deprecated
from weft._tensor.base import Tensor
from weft._tensor.named_results import named
from weft.backend import scientific
from weft.ops._declare import composite, op
from weft.ops._geometry import broadcast_shapes, require_tensors
from weft.ops._lapack import (
    adjoint,
    check_dtype,
    check_matrix,
    check_phase,
    check_square,
    column_major,
    converged,
    diagonal_of,
    gaps,
    identity,
    in_columns,
    indefinite_minor,
    lu_factored,
    one_by_one,
    raise_failed,
    singular_value_decomposition,
    skew,
    triangular_solution,
    with_diagonal,
)
from weft.ops._numerics import is_numpy
from weft.ops._positions import check_positions
from weft.ops.creation import arange, zeros_like
from weft.ops.joining import cat
from weft.ops.linear_systems import solve_op, solve_triangle
from weft.ops.matrices import matmul

# Cholesky


@op(name="linalg_cholesky", tensors="A", vmap="leading", autocast="float32")
def cholesky_op(A: Tensor, upper: bool) -> tuple[Tensor, Tensor]:
    """L with ``A = L L^H`` (or its conjugate transpose), and ``info``."""
    return cholesky_op.op(A, upper)


@cholesky_op.kernel
def _(xp, A, upper):
    lower = adjoint(xp, A) if upper else A
    try:
        L = xp.linalg.cholesky(lower)
        if not xp.isfinite(xp.diagonal(L, axis1=-2, axis2=-1)).all():
            L = with_infinities(xp, lower, L)
        info = minor_of_nan(xp, L)
    except numpy.linalg.LinAlgError:
        L, info = one_by_one(xp, xp.linalg.cholesky, indefinite_minor, lower)
        info = xp.where(info == 0, minor_of_nan(xp, L), info)
    return column_major(xp, adjoint(xp, L) if upper else L), info


@cholesky_op.meta
def _(xp, A, upper):
    return column_major(xp, xp.empty(A.shape, A.dtype)), xp.empty(A.shape[:-2], xp.int32)


def with_infinities(xp: Any, A: Any, L: Any) -> Any:
    """The factors, those of matrices with infinite elements by the formula: LAPACKs may take inf / inf for 0."""
    size = A.shape[-1]
    infinite = xp.isinf(xp.tril(A)).any((-2, -1))
    matrices, factors = A[infinite], xp.zeros_like(L[infinite])
    for j in range(size):
        row = factors[..., j, :j]
        factors[..., j, j] = xp.sqrt(matrices[..., j, j] - (row * row.conj()).sum(-1))
        rest = matrices[..., j + 1 :, j] - (factors[..., j + 1 :, :j] @ row.conj()[..., None])[..., 0]
        factors[..., j + 1 :, j] = rest / factors[..., j, j][..., None]
    L = L.copy()
    L[infinite] = factors
    return L


def minor_of_nan(xp: Any, L: Any) -> Any:
    """The order of the first leading minor whose factor is nan, or 0: some LAPACKs do not say so."""
    wrong = xp.isnan(xp.diagonal(L, axis1=-2, axis2=-1))
    if not wrong.size:
        return xp.zeros(L.shape[:-2], xp.int32)
    return xp.asarray(xp.where(wrong.any(-1), wrong.argmax(-1) + 1, 0)).astype(xp.int32)


@cholesky_op.gradient("A")
def _(grads, outputs, upper):
    L, grad = outputs[0], grads[0]
    if upper:
        L, grad = L.mH, grad.mH
    inner = matmul.op(L.mH, grad.tril()).tril()
    inner = 0.5 * (inner + inner.tril(-1).mH)
    return solve_triangle(L, solve_triangle(L.mH, inner, upper=True), upper=False, left=False)


def cholesky_checked(name: str, A: Any, upper: bool) -> Any:
    """The factor, or an error for a matrix that is not positive-definite."""
    check_square(name, A)
    result, info = cholesky_op.op(A, bool(upper))
    raise_failed(
        name,
        info,
        lambda code: (
            "The factorization could not be completed because the input is not positive-definite "
            f"(the leading minor of order {code} is not positive-definite)"
        ),
    )
    return result


@composite("cholesky", out="exact", autocast="float32")
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The triangular factor L of a positive-definite matrix, ``input = L L^H``; with ``upper=True`` its adjoint.

    `weft.linalg.cholesky` is the newer name.

    Parameters
    ----------
    input : Tensor, shape (..., n, n)
        Hermitian and positive-definite.
    upper : bool
        Return ``L^H``, which is upper triangular.

    Raises
    ------
    weft.linalg.LinAlgError
        If a matrix is not positive-definite.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", UserWarning)  # that it is deprecated
    >>> weft.cholesky(weft.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    warn_deprecated("cholesky", "linalg.cholesky")
    return cholesky_checked("linalg.cholesky", input, upper).contiguous()


@composite("cholesky_solve", out="exact", autocast="float32")
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """The solution of ``A X = input`` from A's Cholesky factor ``input2``.

    Parameters
    ----------
    input : Tensor, shape (..., n, k)
    input2 : Tensor, shape (..., n, n)
        L with ``A = L L^H``.
    upper : bool
        input2 is ``L^H``.

    Examples
    --------
    >>> L = weft.linalg.cholesky(weft.tensor([[4.0, 0.0], [0.0, 9.0]]))
    >>> weft.cholesky_solve(weft.tensor([[4.0], [18.0]]), L)
    tensor([[1.],
            [2.]])
    """
    check_matrix("cholesky_solve", input2, input)
    check_square("cholesky_solve", input2)
    size = input2.shape[-1]
    if input.shape[-2] != size:
        raise RuntimeError(
            f"cholesky_solve: Incompatible matrix sizes for cholesky_solve: each A matrix is {size} by {size} but each "
            f"b matrix is {input.shape[-2]} by {input.shape[-1]}"
        )
    broadcast_shapes("cholesky_solve", [input2._array.shape[:-2], input._array.shape[:-2]])
    return cholesky_solve_op.op(input, input2, bool(upper)).contiguous()


@op(
    name="linalg_cholesky_solve",
    tensors="B L",
    result="same",
    dtypes="float complex",
    vmap="elementwise",
    autocast="float32",
)
def cholesky_solve_op(B: Tensor, L: Tensor, upper: bool) -> Tensor:
    """``(L L^H)^-1 B``."""
    return cholesky_solve_op.op(B, L, upper)


@cholesky_solve_op.kernel
def _(xp, B, L, upper):
    lower, other = (adjoint(xp, L), L) if upper else (L, adjoint(xp, L))
    first = triangular_solution(xp, lower, B, upper=False, unitriangular=False)
    return column_major(xp, triangular_solution(xp, other, first, upper=True, unitriangular=False))


@cholesky_solve_op.gradient("B L")
def _(grad, L, output, upper):
    right = cholesky_solve_op.op(grad, L, upper)
    both = matmul.op(right, output.mH)
    both = both + both.mH
    return right, -(matmul.op(L, both) if upper else matmul.op(both, L))


@composite("cholesky_inverse", out="exact", autocast="float32")
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of a matrix A from its Cholesky factor.

    Parameters
    ----------
    input : Tensor, shape (..., n, n)
        L with ``A = L L^H``.
    upper : bool
        The input is ``L^H``.

    Examples
    --------
    >>> weft.cholesky_inverse(weft.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([[0.2500, 0.0000],
            [0.0000, 1.0000]])
    """
    check_square("cholesky_inverse", input)
    return cholesky_solve_op.op(identity(input, input.shape[-1]), input, bool(upper))


# QR


@op(name="linalg_qr", tensors="A", vmap="leading", autocast="float32")
def qr_op(A: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    """Q and R of matrices that are not wider than high."""
    return qr_op.op(A, mode)


@qr_op.kernel
def _(xp, A, mode):
    if mode == "r":
        return xp.zeros(0, A.dtype), column_major(xp, xp.linalg.qr(A, "r"))
    Q, R = xp.linalg.qr(A, mode)
    return column_major(xp, Q), column_major(xp, R)


@qr_op.gradient("A")
def _(grads, outputs, mode, A_shape):
    if mode == "r":
        raise RuntimeError(
            "linalg_qr_backward: The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
            "use linalg.qr(A, mode='reduced') if you are going to require gradients"
        )
    if mode == "complete" and A_shape[-2] > A_shape[-1]:
        raise RuntimeError(
            "linalg_qr_backward: The QR decomposition is not differentiable when mode='complete' and nrows > ncols; "
            "use mode='reduced'"
        )
    (Q, R), (grad_Q, grad_R) = outputs, grads
    inner: Any = 0
    if grad_R is not None:
        inner = matmul.op(grad_R, R.mH)
    if grad_Q is not None:
        inner = inner - matmul.op(Q.mH, grad_Q)
    inner = inner.triu()
    inner = inner + inner.mH
    whole = matmul.op(Q, inner - 0.5 * diagonal_of(inner).diag_embed())
    if grad_Q is not None:
        whole = whole + grad_Q
    return solve_triangle(R.mH, whole, upper=False, left=False)


def qr_checked(name: str, A: Any, mode: str) -> tuple[Any, Any]:
    """Q and R of any matrix; a wide one is decomposed by its first columns, which settle Q."""
    check_matrix(name, A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"{name}: received unrecognized mode '{mode}' but expected one of 'reduced', 'r', 'complete'"
        )
    rows, columns = A.shape[-2:]
    if columns <= rows:
        return qr_op.op(A, mode)
    Q, R = qr_op.op(A[..., :rows], "reduced")
    R = in_columns(cat([R, matmul.op(Q.mH, A[..., rows:])], -1))
    return (A.new_empty(0) if mode == "r" else Q), R


@composite("qr", out="exact", autocast="float32")
def qr(input: Tensor, some: bool = True) -> tuple[Tensor, Tensor]:
    """``input = Q R`` with orthonormal columns in Q and an upper triangular R.

    `weft.linalg.qr` is the newer name.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
    some : bool
        Q has min(m, n) columns; else it is square.

    Returns
    -------
    named tuple (Q, R)

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", UserWarning)  # that it is deprecated
    >>> Q, R = weft.qr(weft.ones(3, 2))
    >>> Q.shape, R.shape
    (weft.Size([3, 2]), weft.Size([2, 2]))
    """
    warn_deprecated("qr", "linalg.qr")
    return named("qr", "Q R")(*qr_checked("qr", input, "reduced" if some else "complete"))


# Singular values


@op(name="linalg_svd", tensors="A", vmap="leading", autocast="float32")
def svd_op(A: Tensor, full_matrices: bool, compute_uv: bool) -> tuple[Tensor, Tensor, Tensor]:
    """U, the singular values from the largest, and V^H."""
    return svd_op.op(A, full_matrices, compute_uv)


@svd_op.kernel
def _(xp, A, full_matrices, compute_uv):
    U, S, Vh = singular_value_decomposition("linalg.svd", xp, A, full_matrices)
    return column_major(xp, U), S, column_major(xp, Vh)


@svd_op.gradient("A")
def _(grads, outputs):
    (U, S, Vh), (grad_U, grad_S, grad_Vh) = outputs, grads
    size = S.shape[-1]
    rows, columns = U.shape[-2], Vh.shape[-1]
    U, Vh = U[..., :size], Vh[..., :size, :]
    if grad_U is None and grad_Vh is None:
        return None if grad_S is None else matmul.op(U, grad_S.unsqueeze(-1) * Vh)
    squares = with_diagonal(gaps(S) * (S.unsqueeze(-2) + S.unsqueeze(-1)), S.new_ones(S.shape))
    inner: Any = 0
    diagonal: Any = 0 if grad_S is None else grad_S
    phases: Any = 0
    if grad_U is not None:
        grad_U = grad_U[..., :size]
        turn = skew(matmul.op(U.mH, grad_U))
        inner = inner + turn / squares * S.unsqueeze(-2)
        if U.is_complex():
            phases = phases + diagonal_of(turn)
            diagonal = diagonal + diagonal_of(turn) / (2 * S)
    if grad_Vh is not None:
        grad_Vh = grad_Vh[..., :size, :]
        turn = skew(matmul.op(Vh, grad_Vh.mH))
        inner = inner + S.unsqueeze(-1) * (turn / squares)
        phases = phases + diagonal_of(turn)
    if U.is_complex():
        check_phase("svd_backward", "singular vectors", phases)
    if isinstance(diagonal, Tensor):
        inner = with_diagonal(inner, diagonal.to(inner.dtype))
    whole = matmul.op(U, matmul.op(inner, Vh))
    if grad_U is not None and rows > size:
        outside = grad_U / S.unsqueeze(-2)
        whole = whole + matmul.op(outside - matmul.op(U, matmul.op(U.mH, outside)), Vh)
    if grad_Vh is not None and columns > size:
        outside = grad_Vh / S.unsqueeze(-1)
        whole = whole + matmul.op(U, outside - matmul.op(matmul.op(outside, Vh.mH), Vh))
    return whole


@op(name="linalg_svdvals", tensors="A", gradient=None, vmap="leading", autocast="float32")
def svdvals_op(A: Tensor) -> Tensor:
    """The singular values from the largest, without history."""
    return svdvals_op.op(A)


@svdvals_op.kernel
def _(xp, A):
    return singular_value_decomposition("linalg.svdvals", xp, A, False, False)


def singular_values(A: Any) -> Any:
    """The singular values from the largest; with the vectors, if a derivative will need them."""
    return svd_op.op(A, False, True)[1] if is_watched(A) else svdvals_op.op(A)


def is_watched(A: Any) -> bool:
    """Whether there may be a derivative by a tensor."""
    return A._key.wrapped or (A.requires_grad and local.grad_enabled)


@composite("svd", out="exact", autocast="float32")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """``input = U diag(S) V^H``.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
    some : bool
        U and V have min(m, n) columns; else they are square.
    compute_uv : bool
        False: U and V are square matrices of zeros.

    Returns
    -------
    named tuple (U, S, V)
        The singular values from the largest; V itself, unlike `weft.linalg.svd`, which returns its adjoint.

    Examples
    --------
    >>> weft.svd(weft.tensor([[3.0, 0.0], [0.0, -4.0]])).S
    tensor([4., 3.])
    """
    check_matrix("svd", input)
    result = named("svd", "U S V")
    if not compute_uv:
        rows, columns = input.shape[-2:]
        batch = list(input.shape[:-2])
        return result(
            input.new_zeros([*batch, rows, rows]), singular_values(input), input.new_zeros([*batch, columns, columns])
        )
    U, S, Vh = svd_op.op(input, not some, True)
    return result(U, S, Vh.mH)


# Eigenvalues


@op(name="linalg_eigh", tensors="A", vmap="leading", autocast="float32")
def eigh_op(A: Tensor, UPLO: str) -> tuple[Tensor, Tensor]:
    """Eigenvalues in ascending order, and eigenvectors, of Hermitian matrices."""
    return eigh_op.op(A, UPLO)


@eigh_op.kernel
def _(xp, A, UPLO):
    L, V = converged("linalg.eigh", xp.linalg.eigh, A, UPLO)
    return L, column_major(xp, V)


@eigh_op.gradient("A")
def _(grads, outputs):
    (L, V), (grad_L, grad_V) = outputs, grads
    if grad_V is None:
        return None if grad_L is None else matmul.op(V * grad_L.unsqueeze(-2), V.mH)
    inner = matmul.op(V.mH, grad_V)
    if V.is_complex():
        check_phase("linalg_eigh_backward", "eigenvectors", diagonal_of(inner))
    inner = with_diagonal(inner / gaps(L), (zeros_like(L) if grad_L is None else grad_L).to(inner.dtype))
    inner = (inner + inner.mH) / 2  # whichever triangle was read, the gradient is that of a Hermitian matrix
    return matmul.op(V, matmul.op(inner, V.mH))


@op(name="linalg_eigvalsh", tensors="A", gradient=None, vmap="leading", autocast="float32")
def eigvalsh_op(A: Tensor, UPLO: str) -> Tensor:
    """The eigenvalues of Hermitian matrices in ascending order, without history."""
    return eigvalsh_op.op(A, UPLO)


@eigvalsh_op.kernel
def _(xp, A, UPLO):
    return converged("linalg.eigvalsh", xp.linalg.eigvalsh, A, UPLO)


@op(name="linalg_eig", tensors="A", vmap="leading", autocast="float32")
def eig_op(A: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors, complex."""
    return eig_op.op(A)


@eig_op.kernel
def _(xp, A):
    L, V = converged("linalg.eig", xp.linalg.eig, A)
    wide = xp.result_type(A.dtype, xp.complex64)
    return L.astype(wide), column_major(xp, V.astype(wide))


@eig_op.gradient("A")
def _(grads, outputs, A_dtype):
    (L, V), (grad_L, grad_V) = outputs, grads
    if grad_V is None:
        if grad_L is None:
            return None
        inner = grad_L.unsqueeze(-1) * V.mH
    else:
        inner = matmul.op(V.mH, grad_V)
        check_phase("linalg_eig_backward", "eigenvectors", diagonal_of(inner))
        # Eigenvectors have length 1: what would stretch them does not count.
        inner = inner - matmul.op(V.mH, V) * diagonal_of(inner).real.unsqueeze(-2)
        inner = inner / gaps(L).conj()
        inner = with_diagonal(inner, zeros_like(L) if grad_L is None else grad_L)
        inner = matmul.op(inner, V.mH)
    whole = solve_op.op(V.mH, inner)[0]
    return whole if A_dtype.is_complex else whole.real


@op(name="linalg_eigvals", tensors="A", gradient=None, vmap="leading", autocast="float32")
def eigvals_op(A: Tensor) -> Tensor:
    """The eigenvalues, complex, without history."""
    return eigvals_op.op(A)


@eigvals_op.kernel
def _(xp, A):
    return converged("linalg.eigvals", xp.linalg.eigvals, A).astype(xp.result_type(A.dtype, xp.complex64))


# LU


@op(name="linalg_lu_factor", tensors="A", vmap="leading", autocast="float32")
def lu_factor_op(A: Tensor, pivot: bool) -> tuple[Tensor, Tensor, Tensor]:
    """L and U in one matrix, the row exchanges, and ``info``."""
    return lu_factor_op.op(A, pivot)


@lu_factor_op.kernel
def _(xp, A, pivot):
    return lu_factored(xp, A, pivot)


@lu_factor_op.gradient("A")
def _(grads, outputs):
    LU, pivots = outputs[0], outputs[1]
    grad = grads[0]
    rows, columns = LU.shape[-2:]
    size = min(rows, columns)
    L = LU[..., :size].tril(-1) + identity(LU, rows)[:, :size]
    U = LU[..., :size, :].triu()
    grad_L, grad_U = grad[..., :size].tril(-1), grad[..., :size, :].triu()
    square_L, square_U = L[..., :size, :], U[..., :size]
    right: Any = None
    below: Any = None
    if columns > size:  # the further columns are L^-1 times those of A
        right = solve_triangle(square_L.mH, grad_U[..., size:], upper=True, unitriangular=True)
        grad_L = grad_L - matmul.op(right, U[..., size:].mH)
    if rows > size:  # the further rows are those of A times U^-1
        below = solve_triangle(square_U.mH, grad_L[..., size:, :], upper=False, left=False)
        grad_U = grad_U - matmul.op(L[..., size:, :].mH, below)
    inner = matmul.op(square_L.mH, grad_L[..., :size, :]).tril(-1) + matmul.op(grad_U[..., :size], square_U.mH).triu()
    inner = solve_triangle(square_L.mH, inner, upper=True, unitriangular=True)
    inner = solve_triangle(square_U.mH, inner, upper=False, left=False)
    if right is not None:
        inner = cat([inner, right], -1)
    if below is not None:
        inner = cat([inner, below], -2)
    return matmul.op(permutation_matrix(pivots, rows, LU), inner)


@op(name="lu_permutation", tensors="pivots", gradient=None, dtypes="int", vmap="leading")
def permutation_op(pivots: Tensor, rows: int) -> Tensor:
    """The order of the rows after the exchanges."""
    return permutation_op.op(pivots, rows)


@permutation_op.kernel
def _(xp, pivots, rows):
    if is_numpy(xp) and pivots.size and (pivots.min() < 1 or pivots.max() > rows):
        raise RuntimeError(
            f"lu_permutation: pivots must be between 1 and LU.size(-2), {rows}, inclusive; got {int(pivots.min())} to "
            f"{int(pivots.max())}. Did you properly pass the result of lu_factor?"
        )
    flat = pivots.reshape((math.prod(pivots.shape[:-1]), pivots.shape[-1])).astype(xp.int64) - 1
    if not is_numpy(xp):
        check_positions(xp, "lu_permutation", flat, -2, rows)
    order = xp.array(xp.broadcast_to(xp.arange(rows), (len(flat), rows)))
    each = xp.arange(len(flat))
    for step in range(flat.shape[-1]):
        other = flat[:, step]
        order[each, other], order[:, step] = order[:, step].copy(), order[each, other]
    return order.reshape((*pivots.shape[:-1], rows))


@permutation_op.meta
def _(xp, pivots, rows):
    return xp.empty((*pivots.shape[:-1], rows), xp.int64)


def permutation_matrix(pivots: Any, rows: int, like: Any) -> Any:
    """P with ``A = P L U``."""
    order = permutation_op.op(pivots, rows)
    return (arange(rows, device=like.device).unsqueeze(-1) == order.unsqueeze(-2)).to(like.dtype)


def raise_zero_pivot(name: str, info: Any) -> None:
    """Raise for a U that cannot be divided by."""
    raise_failed(
        name, info, lambda code: f"U[{code},{code}] is zero and using it on lu_solve would result in a division by zero"
    )


@composite("lu")
def lu(
    A: Tensor,
    pivot: bool = True,
    get_infos: bool = False,
    out: tuple[Tensor, ...] | list[Tensor] | None = None,
) -> tuple[Tensor, ...] | list[Tensor]:
    """The LU factorization in one matrix, the row exchanges, and with ``get_infos`` LAPACK's integers.

    `weft.linalg.lu_factor` is the newer name.

    Parameters
    ----------
    A : Tensor, shape (..., m, n)
    pivot : bool
        Exchange rows. False is not for the CPU.
    get_infos : bool
        Return also, for each matrix, 0 or the place of a pivot that is zero.
    out : tuple of Tensor
        As many as there are results, of any dtypes.

    Returns
    -------
    tuple (LU, pivots) or named tuple (LU, pivots, info)

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", UserWarning)  # that it is deprecated
    >>> LU, pivots = weft.lu(weft.tensor([[1.0, 2.0], [4.0, 4.0]]))
    >>> LU, pivots
    (tensor([[4.0000, 4.0000],
            [0.2500, 1.0000]]), tensor([2, 2], dtype=weft.int32))
    """
    warn_deprecated("lu", "linalg.lu_factor")
    check_matrix("lu", A)
    LU, pivots, info = lu_factor_op.op(A, bool(pivot))
    results = (LU, pivots, info) if get_infos else (LU, pivots)
    if out is None:
        return named("_lu_with_info", "LU pivots info")(*results) if get_infos else results
    if not isinstance(out, (tuple, list)) or len(out) != len(results):
        raise TypeError(f"lu: expected a tuple or list of {len(results)} Tensors as out, but got {out!r}")
    for target, result in zip(out, results):
        target.resize_as_(result).copy_(result)
    return out


@composite(out="exact")
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """P, L and U with ``A = P L U`` from a factorization in one matrix.

    Parameters
    ----------
    LU_data : Tensor, shape (..., m, n)
    LU_pivots : Tensor of int32, shape (..., min(m, n))
        Both as `weft.linalg.lu_factor` returns them.
    unpack_data, unpack_pivots : bool
        Whether L and U, and whether P is wanted.

    Returns
    -------
    named tuple (P, L, U)
        Empty tensors for what is not unpacked.

    Examples
    --------
    >>> P, L, U = weft.lu_unpack(*weft.linalg.lu_factor(weft.tensor([[1.0, 2.0], [4.0, 4.0]])))
    >>> P @ L @ U
    tensor([[1., 2.],
            [4., 4.]])
    """
    require_tensors("lu_unpack", LU_data=LU_data, LU_pivots=LU_pivots)
    if LU_data.ndim < 2 or LU_pivots.shape[:-1] != LU_data.shape[:-2]:
        raise RuntimeError(
            "lu_unpack: Expected tensor with 2 or more dimensions, and pivots for each of its matrices; got shapes "
            f"{tuple(LU_data.shape)} and {tuple(LU_pivots.shape)}"
        )
    if LU_pivots.dtype is not int32:
        raise RuntimeError(
            "lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. Note: this function is "
            f"intended to be used with the output produced by linalg.lu_factor; got {LU_pivots.dtype}"
        )
    rows, columns = LU_data.shape[-2:]
    size = min(rows, columns)
    empty = LU_data.new_empty(0)
    P, L, U = empty, empty, empty
    if unpack_pivots:
        P = permutation_matrix(LU_pivots, rows, LU_data).contiguous()
    if unpack_data:
        L = (LU_data[..., :size].tril(-1) + identity(LU_data, rows)[:, :size]).contiguous()
        U = LU_data[..., :size, :].triu().contiguous()
    return named("lu_unpack", "P L U")(P, L, U)


def lu_solve_checked(name: str, LU: Any, pivots: Any, B: Any, left: bool, adjoint: bool) -> Any:
    """The solution of ``A X = B`` (A or its adjoint, from either side) by a factorization of A."""
    require_tensors(name, LU=LU, pivots=pivots, B=B)
    check_matrix(name, LU, B)
    check_square(name, LU)
    if pivots.dtype is not int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32; got {pivots.dtype}")
    if pivots.shape != LU.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got LU with shape "
            f"{tuple(LU.shape)} and pivots with shape {tuple(pivots.shape)}"
        )
    if not left:
        return lu_solve_checked(name, LU, pivots, B.mH, True, not adjoint).mH.resolve_conj()
    if B.shape[-2] != LU.shape[-1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation AX = B "
            f"({LU.shape[-2]}x{LU.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    P = permutation_matrix(pivots, LU.shape[-1], LU)
    if adjoint:
        inner = solve_triangle(LU.mH, B, upper=False)
        return in_columns(matmul(P, solve_triangle(LU.mH, inner, upper=True, unitriangular=True)))
    inner = solve_triangle(LU, matmul(P.mT, B), upper=False, unitriangular=True)
    return solve_triangle(LU, inner, upper=True)


@composite("lu_solve", out="exact", autocast="float32")
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The solution of ``A X = input`` by the factorization of A that `weft.linalg.lu_factor` returns.

    `weft.linalg.lu_solve` is the newer name.

    Parameters
    ----------
    input : Tensor, shape (..., n, k)
    LU_data : Tensor, shape (..., n, n)
    LU_pivots : Tensor of int32, shape (..., n)

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", UserWarning)  # that it is deprecated
    >>> LU, pivots = weft.linalg.lu_factor(weft.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> weft.lu_solve(weft.tensor([[2.0], [2.0]]), LU, pivots)
    tensor([[1.0000],
            [0.5000]])
    """
    warn_deprecated("lu_solve", "linalg.lu_solve")
    return lu_solve_checked("lu_solve", LU_data, LU_pivots, input, True, False)


# LDL


@op(name="linalg_ldl_factor", tensors="A", gradient="refused", vmap="leading", autocast="float32")
def ldl_factor_op(A: Tensor, hermitian: bool) -> tuple[Tensor, Tensor, Tensor]:
    """L and D in one matrix, LAPACK's pivots, and ``info``."""
    return ldl_factor_op.op(A, hermitian)


@ldl_factor_op.kernel
def _(xp, A, hermitian):
    batch, size = A.shape[:-2], A.shape[-1]
    hermitian = hermitian and A.dtype.kind == "c"
    if not is_numpy(xp):
        LD, pivots, info = bunch_kaufman(xp, A.reshape((math.prod(batch), size, size)), hermitian)
        return column_major(xp, xp.tril(LD.reshape(A.shape))), pivots.reshape((*batch, size)), info.reshape(batch)
    (factor,) = scientific(xp, "linalg", "linalg.ldl_factor").get_lapack_funcs(
        ("hetrf" if hermitian else "sytrf",), dtype=A.dtype
    )
    LD, pivots = xp.empty(A.shape, A.dtype), xp.empty((*batch, size), xp.int32)
    info = xp.zeros(batch, xp.int32)
    for place in numpy.ndindex(*batch) if size else ():
        LD[place], pivots[place], info[place] = factor(A[place], lower=True)
    return column_major(xp, xp.tril(LD)), pivots, info


@ldl_factor_op.meta
def _(xp, A, hermitian):
    factors = column_major(xp, xp.empty(A.shape, A.dtype))
    return factors, xp.empty(A.shape[:-1], xp.int32), xp.empty(A.shape[:-2], xp.int32)


def bunch_kaufman(xp: Any, A: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """LAPACK's ``sytrf`` or ``hetrf`` of a batch (B, n, n), by its lower triangles, without a look at a value.

    Of each matrix the step at a column takes a block of one row or of two; matrices of which the step before took this
    column along are left alone. J. R. Bunch, L. Kaufman, Math. Comp. 31 (1977), in the unblocked form of LAPACK's
    ``sytf2``.
    """
    count, size = A.shape[:2]
    LD = xp.tril(A)
    above = xp.tril(A, -1).swapaxes(-1, -2)
    LD = LD + (xp.conj(above) if hermitian else above)  # whole, so that exchanges are of rows and columns
    each, is_done = xp.arange(count), xp.zeros(count, bool)
    pivots, info = xp.zeros((count, size), xp.int32), xp.zeros(count, xp.int32)
    for k in range(size):
        M = LD[:, k:, k:]
        other, two, is_singular = chosen_pivot(xp, M, each, hermitian)
        is_one, is_two = ~is_done & ~two & ~is_singular, ~is_done & two
        exchanged = xp.where(is_one | is_two, other, two)  # with the block's last row
        places = xp.broadcast_to(xp.arange(size - k), (count, size - k))
        last = xp.where(two, 1, 0)[:, None]
        with_last = xp.where(places == last, exchanged[:, None], xp.where(places == exchanged[:, None], last, places))
        order = xp.where((is_one | is_two)[:, None], with_last, places)
        M[...] = M[each[:, None, None], order[:, :, None], order[:, None, :]]
        eliminate(xp, M, is_one, is_two, hermitian)
        row = (exchanged + (k + 1)).astype(xp.int32)
        if k + 1 < size:
            pivots[:, k + 1] = xp.where(is_two, -row, 0)
        pivots[:, k] = xp.where(is_done, pivots[:, k], xp.where(is_two, -row, xp.where(is_one, row, k + 1)))
        info = xp.where(~is_done & is_singular & (info == 0), k + 1, info).astype(xp.int32)
        is_done = is_two
    return LD, pivots, info


def chosen_pivot(xp: Any, M: Any, each: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """The row that is exchanged with the block's last, whether the block has two rows, and whether the column is 0."""
    threshold = (1 + math.sqrt(17)) / 8
    sizes = xp.absolute(M.real) + xp.absolute(M.imag) if M.dtype.kind == "c" else xp.absolute(M)
    own = xp.absolute(M[:, 0, 0].real) if hermitian else sizes[:, 0, 0]
    if M.shape[-1] == 1:
        first = xp.zeros(len(each), xp.int64)
        return first, first > 0, (own == 0) | xp.isnan(own)
    below = sizes[:, 1:, 0]
    greatest, place = below.max(-1), below.argmax(-1) + 1
    places = xp.arange(M.shape[-1])
    row = xp.where(places == place[:, None], 0, sizes[each, place]).max(-1)
    diagonal = sizes[each, place, place]
    is_singular = (xp.maximum(own, greatest) == 0) | xp.isnan(own)
    safe_row = xp.where(row == 0, 1, row)
    stays = (own >= threshold * greatest) | (own >= threshold * greatest * (greatest / safe_row)) | is_singular
    two = ~stays & ~(diagonal >= threshold * row)
    return xp.where(stays, 0, place), two, is_singular


def eliminate(xp: Any, M: Any, is_one: Any, is_two: Any, hermitian: bool) -> None:
    """Take the first row, or two, of symmetric matrices out of the rest; in their place come the columns of L."""
    if M.shape[-1] == 1:
        return
    one, two = is_one[:, None], is_two[:, None]
    x, pivot = M[:, 1:, 0].copy(), M[:, :1, 0]
    pivot = pivot.real if hermitian else pivot
    w = xp.where(one, x / xp.where(one, pivot, 1), 0)
    M[:, 1:, 1:] -= w[:, :, None] * (xp.conj(x) if hermitian else x)[:, None, :]
    if M.shape[-1] > 2:
        x, y = x[:, 1:], M[:, 2:, 1].copy()
        between, next_pivot = xp.where(two, M[:, 1:2, 0], 1), M[:, 1:2, 1]
        scale = xp.absolute(between) if hermitian else between
        unit = between / scale
        pivot, next_pivot = pivot / scale, (next_pivot.real if hermitian else next_pivot) / scale
        factor = 1 / (scale * xp.where(two, pivot * next_pivot - 1, 1))
        v = xp.where(two, factor * (next_pivot * x - unit * y), 0)
        z = xp.where(two, factor * (pivot * y - (xp.conj(unit) if hermitian else unit) * x), 0)
        left, right = (xp.conj(x), xp.conj(y)) if hermitian else (x, y)
        M[:, 2:, 2:] -= v[:, :, None] * left[:, None, :] + z[:, :, None] * right[:, None, :]
        M[:, 2:, 0], M[:, 2:, 1] = xp.where(two, v, M[:, 2:, 0]), xp.where(two, z, M[:, 2:, 1])
    M[:, 1:, 0] = xp.where(one, w, M[:, 1:, 0])


@op(name="linalg_ldl_solve", tensors="LD pivots B", gradient="refused", vmap="elementwise", autocast="float32")
def ldl_solve_op(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool) -> Tensor:
    """``A^-1 B`` by the factorization of A; the pivots are a column, so that batches broadcast."""
    return ldl_solve_op.op(LD, pivots, B, hermitian)


@ldl_solve_op.kernel
def _(xp, LD, pivots, B, hermitian):
    batch = broadcast_shapes("linalg.ldl_solve", [LD.shape[:-2], B.shape[:-2]])
    LD, pivots, B = (xp.broadcast_to(each, batch + each.shape[-2:]) for each in (LD, pivots, B))
    result = xp.array(B)
    rows = pivots[..., 0].tolist()  # at once: a device is waited for
    for place in numpy.ndindex(*batch):
        ldl_solve_one(xp, LD[place], reduce(getitem, place, rows), result[place], hermitian)  # type: ignore[arg-type]
    return column_major(xp, result)


@ldl_solve_op.meta
def _(xp, LD, pivots, B, hermitian):
    batch = broadcast_shapes("linalg.ldl_solve", [LD.shape[:-2], B.shape[:-2]])
    return column_major(xp, xp.empty(batch + B.shape[-2:], B.dtype))


def ldl_solve_one(xp: Any, LD: Any, pivots: list[int], result: Any, hermitian: bool) -> None:
    """``A^-1 result`` in place, for the blocks of D one after the other, as LAPACK's guide describes ``sytrs``.

    A positive pivot says with which row (from 1) this one was exchanged; two equal negative ones stand for a block of
    two rows, of which the second was exchanged.
    """
    size, start, blocks = len(pivots), 0, []
    while start < size:
        stop = start + (1 if pivots[start] > 0 else 2)
        if stop > size or not 1 <= abs(pivots[start]) <= size:
            raise RuntimeError(
                f"linalg.ldl_solve: pivots must be rows from 1 to {size}, negative ones in pairs; got {pivots}. Did "
                "you properly pass the result of ldl_factor?"
            )
        blocks.append((slice(start, stop), stop, [stop - 1, abs(pivots[start]) - 1]))
        start = stop
    for block, stop, exchanged in blocks:
        exchange(result, *exchanged)
        result[stop:] -= LD[stop:, block] @ result[block]
        if stop - block.start == 1:
            result[block] /= LD[block, block]
            continue
        D = xp.tril(LD[block, block])
        above = xp.tril(D, -1).T
        result[block] = xp.linalg.solve(D + (xp.conj(above) if hermitian else above), result[block])
    for block, stop, exchanged in reversed(blocks):
        below = LD[stop:, block].T
        result[block] -= (xp.conj(below) if hermitian else below) @ result[stop:]
        exchange(result, *exchanged)


def exchange(rows: Any, first: int, second: int) -> None:
    """Exchange two rows in place."""
    if first != second:
        kept = rows[first].copy()
        rows[first], rows[second] = rows[second], kept


def ldl_factor_checked(name: str, A: Any, hermitian: bool, check: bool) -> tuple[Any, Any, Any]:
    """The factorization; with ``check`` an error where D is singular."""
    check_square(name, A)
    LD, pivots, info = ldl_factor_op.op(A, bool(hermitian))
    if check:
        raise_failed(name, info, lambda code: f"D[{code},{code}] is zero, ldl_solve would divide by it")
    return LD, pivots, info


# Products of reflections


@composite("orgqr", out="exact", autocast="float32")
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """The first columns of a product of Householder reflections ``I - tau v v^H``.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
        The vectors below the diagonal; on it they are 1.
    input2 : Tensor, shape (..., k)
        tau, with ``k <= n <= m``.

    Examples
    --------
    >>> A = weft.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> Q, R = weft.orgqr(*weft.geqrf(A)), weft.geqrf(A).a.triu()
    >>> weft.allclose(Q @ R, A)
    True
    """
    check_dtype("linalg.householder_product", input, input2)
    check_matrix("linalg.householder_product", input)
    rows, columns = input.shape[-2:]
    if rows < columns:
        raise RuntimeError(
            "linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]; got shape "
            f"{tuple(input.shape)}"
        )
    check_reflections("linalg.householder_product", input, input2)
    # The identity, with the input's history, which no reflection may bring.
    start = input.triu(columns) + identity(input, rows)[:, :columns]
    return reflected(input, input2, start, False)


def check_reflections(name: str, input: Any, tau: Any) -> None:
    """There is one factor for each reflection, and not more of these than columns."""
    if tau.ndim != input.ndim - 1 or tau.shape[:-1] != input.shape[:-2] or tau.shape[-1] > input.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1], and their batches the same; got "
            f"shapes {tuple(input.shape)} and {tuple(tau.shape)}"
        )


def reflected(input: Any, tau: Any, other: Any, adjoint: bool) -> Any:
    """``Q other``, or ``Q^H other``, with Q the product of Householder reflections.

    ``Q = I - V T V^H``, where T is the inverse of an upper triangular matrix: 1/tau on its diagonal, ``V^H V`` above
    (Puglisi, 1992). With tau taken out, a tau of 0 does no harm.
    """
    count = tau.shape[-1]
    V = input[..., :count].tril(-1) + identity(input, input.shape[-2])[:, :count]
    scale = tau.unsqueeze(-1)
    mixed = matmul.op(V.mH, V) * tau.unsqueeze(-2)
    inner = matmul.op(V.mH, other)
    if adjoint:
        inner = solve_triangle(mixed.mH, scale.conj() * inner, upper=False, unitriangular=True)
    else:
        inner = scale * solve_triangle(mixed, inner, upper=True, unitriangular=True)
    return in_columns(other - matmul.op(V, inner))


@composite("ormqr", out="exact", autocast="float32")
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """``Q input3`` with the Q of Householder reflections, all its columns.

    Parameters
    ----------
    input, input2 : Tensor
        The reflections, as `orgqr` takes them.
    input3 : Tensor, shape (..., m, n)
    left : bool
        Else ``input3 Q``.
    transpose : bool
        With the conjugate transpose of Q.

    Examples
    --------
    >>> A = weft.tensor([[3.0], [4.0]])
    >>> reflections, tau = weft.geqrf(A)
    >>> weft.ormqr(reflections, tau, A, transpose=True).round(decimals=3).abs()  # Q^H A = R
    tensor([[5.],
            [0.]])
    """
    require_tensors("ormqr", input=input, input2=input2, input3=input3)
    if input.ndim < 2:
        raise RuntimeError(f"ormqr: input must have at least 2 dimensions; got shape {tuple(input.shape)}")
    if input2.ndim and input3.ndim > 1 and input2.shape[-1] > min(input3.shape[-2 if left else -1], input.shape[-1]):
        raise RuntimeError(
            "ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1]); got tau "
            f"{list(input2.shape)}, other {list(input3.shape)} and input {list(input.shape)}"
        )
    check_dtype("ormqr", input, input2, input3)
    check_reflections("ormqr", input, input2)
    if input3.ndim != input.ndim or input3.shape[:-2] != input.shape[:-2]:
        raise RuntimeError(
            "ormqr: Expected other to have the same number of dimensions as input, and the same batch; got shapes "
            f"{tuple(input3.shape)} and {tuple(input.shape)}"
        )
    if input3.shape[-2 if left else -1] != input.shape[-2]:
        raise RuntimeError(
            f"ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2]; got shapes "
            f"{tuple(input3.shape)} and {tuple(input.shape)}"
        )
    if left:
        return reflected(input, input2, input3, bool(transpose))
    return in_columns(reflected(input, input2, input3.mH, not transpose).mH)


@op(name="geqrf", tensors="input", gradient="refused", vmap="leading")
def geqrf_op(input: Tensor) -> tuple[Tensor, Tensor]:
    """R and the Householder vectors below it in one matrix, and their factors."""
    return geqrf_op.op(input)


@geqrf_op.kernel
def _(xp, input):
    vectors, tau = xp.linalg.qr(input, "raw")  # its rows are the columns of the result
    return column_major(xp, xp.swapaxes(vectors, -1, -2)), tau


@composite("geqrf", out="exact", autocast="float32")
def geqrf(input: Tensor) -> tuple[Tensor, Tensor]:
    """The QR decomposition as LAPACK keeps it: R, and below it the vectors of the reflections that `orgqr` takes.

    Returns
    -------
    named tuple (a, tau)

    Examples
    --------
    >>> a, tau = weft.geqrf(weft.tensor([[3.0], [4.0]]))
    >>> a.triu()
    tensor([[-5.],
            [ 0.]])
    """
    check_matrix("geqrf", input)
    return named("geqrf", "a tau")(*geqrf_op.op(input))
