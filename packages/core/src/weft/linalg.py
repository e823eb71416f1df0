"""Linear algebra by PyTorch's names: decompositions, solvers, norms and products of batches of matrices.

Matrices are the last two dimensions of a tensor, everything before them is a batch. float32, float64 and their
complex counterparts are computed in their own precision; float16 and bfloat16 are refused, as LAPACK has none.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from typing import Any

from weft import return_types
from weft._devices.devices import backend_of, key_of, on_device_of
from weft._dtypes.dtypes import finfo, int64, promote_types
from weft._engine.dispatch import make
from weft._engine.tensor import TensorBase, local
from weft._interception.torch_function import offer
from weft._interception.transforms import values_known
from weft._tensor.base import Tensor
from weft._tensor.named_results import named
from weft.ops import decompositions, linear_systems, matrix_functions
from weft.ops._declare import composite
from weft.ops._geometry import broadcast_shapes, require_tensors, wrap_dim, wrap_dims
from weft.ops._lapack import LinAlgError, check_dtype, check_matrix, check_square, in_columns, raise_failed
from weft.ops.joining import cat
from weft.ops.matrices import matmul, vector_product
from weft.ops.matrix_functions import matrix_exp, matrix_power, tolerances
from weft.ops.softmax import exponent, require_elements
from weft.ops.softmax import vector_norm as vector_norm_op
from weft.ops.views import diagonal as any_diagonal
from weft.types import DType

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

# Inverse and systems of equations


@composite(out="exact", autocast="float32")
def inv(A: Tensor) -> Tensor:
    """The inverse of each square matrix of a batch.

    Raises
    ------
    LinAlgError
        If one is singular.

    Examples
    --------
    >>> weft.linalg.inv(weft.tensor([[0.0, 2.0], [1.0, 0.0]]))
    tensor([[0.0000, 1.0000],
            [0.5000, 0.0000]])
    """
    return linear_systems.inverse_checked("linalg.inv", A)


@composite(out="exact", autocast="float32")
def inv_ex(A: Tensor, *, check_errors: bool = False) -> return_types.linalg_inv_ex:
    """The inverse, and for each matrix 0 or the place of the pivot that is zero.

    Parameters
    ----------
    A : Tensor, shape (..., n, n)
    check_errors : bool
        Raise LinAlgError where ``info`` is not 0.

    Returns
    -------
    named tuple (inverse, info)

    Examples
    --------
    >>> weft.linalg.inv_ex(weft.zeros(2, 2)).info
    tensor(1, dtype=weft.int32)
    """
    if check_errors:
        linear_systems.inverse_checked("linalg.inv_ex", A)
    check_square("linalg.inv_ex", A)
    return named("linalg_inv_ex", "inverse info")(*linear_systems.inv_op.op(A))


@composite(out="exact")
def det(A: Tensor) -> Tensor:
    """The determinant of each square matrix of a batch.

    Parameters
    ----------
    A : Tensor, shape (..., n, n)

    Returns
    -------
    Tensor, shape (...)

    Examples
    --------
    >>> weft.linalg.det(weft.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    return matrix_functions.det(A)


@composite(out="exact")
def slogdet(A: Tensor) -> return_types.linalg_slogdet:
    """The sign (of a complex matrix the phase) of the determinant, and the logarithm of its modulus.

    Parameters
    ----------
    A : Tensor, shape (..., n, n)

    Returns
    -------
    named tuple (sign, logabsdet)
        0 and -inf for a singular matrix.

    Examples
    --------
    >>> sign, logabsdet = weft.linalg.slogdet(1e-3 * weft.eye(50))  # the determinant itself is 0 in float32
    >>> sign, logabsdet
    (tensor(1.), tensor(-345.3878))
    """
    return named("linalg_slogdet", "sign logabsdet")(*matrix_functions.slogdet(A))


def raise_singular(name: str, info: Any) -> None:
    """Raise for a system of equations without a unique solution."""
    raise_failed(
        name,
        info,
        lambda code: "The solver failed because the input matrix is singular; linalg.lstsq takes any matrix",
    )


@composite(out="exact", autocast="float32")
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The solution X of ``A X = B``, or with ``left=False`` of ``X A = B``.

    Parameters
    ----------
    A : Tensor, shape (..., n, n)
    B : Tensor, shape (n,), (..., n) with the batch of A, or (..., n, k)
    left : bool
        Else the solution of ``X A = B``.

    Raises
    ------
    LinAlgError
        If A is singular.

    Examples
    --------
    >>> weft.linalg.solve(weft.tensor([[2.0, 0.0], [0.0, 4.0]]), weft.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    result, info = linear_systems.solve_checked("linalg.solve", A, B, left)
    raise_singular("linalg.solve", info)
    return result


@composite(out="exact")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> return_types.linalg_solve_ex:
    """`solve`, and for each matrix 0 or the place of the pivot that is zero.

    Parameters
    ----------
    A : Tensor, shape (..., n, n)
    B : Tensor, shape (n,), (..., n) with the batch of A, or (..., n, k)
    left : bool
        Else the solution of ``X A = B``.
    check_errors : bool
        Raise LinAlgError where ``info`` is not 0.

    Returns
    -------
    named tuple (result, info)

    Examples
    --------
    >>> weft.linalg.solve_ex(weft.eye(2), weft.tensor([2.0, 3.0]))
    weft.return_types.linalg_solve_ex(
    result=tensor([2., 3.]),
    info=tensor(0, dtype=weft.int32))
    """
    result, info = linear_systems.solve_checked("linalg.solve_ex", A, B, left)
    if check_errors:
        raise_singular("linalg.solve_ex", info)
    return named("linalg_solve_ex", "result info")(result, info)


@composite(out="exact")
def solve_triangular(
    input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """The solution X of ``input X = B`` (or ``X input = B``), where only one triangle of the input is read.

    Parameters
    ----------
    input : Tensor, shape (..., n, n)
    B : Tensor, shape (..., n, k), or (..., k, n) with ``left=False``
    upper : bool
        Which triangle.
    left : bool
        Else the solution of ``X input = B``.
    unitriangular : bool
        The diagonal of the input is taken for ones.

    Raises
    ------
    RuntimeError
        If the shapes do not fit together.

    Examples
    --------
    >>> weft.linalg.solve_triangular(weft.tensor([[2.0, 0.0], [1.0, 1.0]]), weft.tensor([[2.0], [3.0]]), upper=False)
    tensor([[1.],
            [2.]])
    """
    name = "linalg.solve_triangular"
    check_square(name, input)
    check_matrix(name, input, B)
    if input.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({input.shape[-2]}x{input.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    broadcast_shapes(name, [input.shape[:-2], B.shape[:-2]])
    result = linear_systems.solve_triangle(input, B, upper=bool(upper), left=left, unitriangular=bool(unitriangular))
    return in_columns(result)


@composite(out="exact", autocast="float32", data_dependent=True)
def lstsq(
    input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> return_types.linalg_lstsq:
    """The X that minimizes the length of ``input X - b``, the shortest one where several do.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
    b : Tensor, shape (..., m, k) or (..., m)
    rcond : float, optional
        Singular values below this part of the largest count as 0; default: the dtype's eps times max(m, n). Driver
        ``"gels"`` takes none: it is for matrices of full rank. ``"gelsy"`` counts what is this part exactly, and always
        the largest; to ``"gelsd"``, 1 and more mean the dtype's eps.
    driver : {"gelsy", "gels", "gelsd", "gelss"}, optional
        The name of LAPACK's routine. It only decides which of the further results are filled.

    Returns
    -------
    named tuple (solution, residuals, rank, singular_values)

    Examples
    --------
    >>> points = weft.tensor([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])  # x, and 1 for the intercept
    >>> weft.linalg.lstsq(points, weft.tensor([[1.0], [3.0], [5.0]])).solution.round(decimals=3).flatten()
    tensor([2., 1.])
    """
    name = "linalg.lstsq"
    check_dtype(name, input, b)
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions; got shape {tuple(input.shape)}")
    if not b.ndim:
        raise RuntimeError(f"{name}: other must have at least 1 dimension; got a number")
    if not 0 <= input.ndim - b.ndim <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1; got "
            f"shapes {tuple(input.shape)} and {tuple(b.shape)}"
        )
    driver = driver or "gelsy"
    if driver not in ("gelsy", "gels", "gelsd", "gelss"):
        raise RuntimeError(
            f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), but got {driver!r}"
        )
    is_vector = b.ndim == input.ndim - 1 and b.shape == input.shape[:-1]
    columns = b.unsqueeze(-1) if is_vector else b
    if columns.ndim < 2 or columns.shape[-2] != input.shape[-2]:
        raise RuntimeError(
            f"{name}: input.size(-2) should match other.size({-1 if b.ndim < input.ndim else -2}); got shapes "
            f"{tuple(input.shape)} and {tuple(b.shape)}"
        )
    broadcast_shapes(name, [input.shape[:-2], columns.shape[:-2]])
    atol, rtol = tolerances(name, input, None, None if driver == "gels" else rcond_of(driver, rcond, input))
    solution = matmul(matrix_functions.pinv_op.op(input, atol, rtol, False), columns)
    S = decompositions.svdvals_op.op(input)
    rank = significant(S, atol, rtol).sum(-1) if S.shape[-1] else S.new_zeros(S.shape[:-1], dtype=int64)
    residuals = solution.reshape(-1)[:0].abs()
    full = driver == "gels" or (driver != "gelsy" and (rank == input.shape[-1]).all())  # gels is told so
    if full and input.shape[-2] > input.shape[-1]:
        residuals = (matmul(input, solution) - columns).abs().square().sum(-2)
    return named("linalg_lstsq", "solution residuals rank singular_values")(
        solution.squeeze(-1) if is_vector else in_columns(solution),
        residuals,
        rank.new_empty(0) if driver == "gels" else rank,
        S if driver in ("gelsd", "gelss") else S.new_empty(0),
    )


def rcond_of(driver: str, rcond: float | None, input: Tensor) -> float | None:
    """The part of the largest singular value that LAPACK's routine compares with, by a strict comparison."""
    if rcond is None or driver == "gels":
        return rcond
    eps = finfo(input.dtype).eps
    if rcond < 0 or (driver == "gelsd" and (rcond == 0 or rcond >= 1)):
        return eps
    return min(rcond, 1.0) * (1 - eps) if driver == "gelsy" else rcond


# Decompositions


@composite(out="exact", autocast="float32")
def cholesky(input: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L of a positive-definite matrix ``A = L L^H``; with ``upper=True`` its adjoint.

    Parameters
    ----------
    input : Tensor, shape (..., n, n)
        Hermitian and positive-definite; only one triangle is read.
    upper : bool
        The adjoint of L is returned.

    Raises
    ------
    LinAlgError
        If a matrix is not positive-definite.

    Examples
    --------
    >>> weft.linalg.cholesky(weft.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return decompositions.cholesky_checked("linalg.cholesky", input, upper)


@composite(out="exact", autocast="float32")
def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False) -> return_types.linalg_cholesky_ex:
    """`cholesky`, and for each matrix 0 or the order of the leading minor that is not positive-definite.

    Parameters
    ----------
    input : Tensor, shape (..., n, n)
        Hermitian and positive-definite; only one triangle is read.
    upper : bool
        The adjoint of L is returned.
    check_errors : bool
        Raise LinAlgError where ``info`` is not 0.

    Returns
    -------
    named tuple (L, info)

    Examples
    --------
    >>> weft.linalg.cholesky_ex(weft.tensor([[4.0, 2.0], [2.0, -5.0]])).info
    tensor(2, dtype=weft.int32)
    """
    if check_errors:
        decompositions.cholesky_checked("linalg.cholesky_ex", input, upper)
    check_square("linalg.cholesky_ex", input)
    return named("linalg_cholesky_ex", "L info")(*decompositions.cholesky_op.op(input, bool(upper)))


@composite(out="exact", autocast="float32")
def qr(A: Tensor, mode: str = "reduced") -> return_types.linalg_qr:
    """``A = Q R`` with orthonormal columns in Q and an upper triangular R.

    Parameters
    ----------
    A : Tensor, shape (..., m, n)
    mode : "reduced", "complete" or "r"
        Q of shape (m, min(m, n)), of shape (m, m), or none.

    Returns
    -------
    named tuple (Q, R)

    Examples
    --------
    >>> A = weft.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> Q, R = weft.linalg.qr(A)
    >>> weft.allclose(Q @ R, A, atol=1e-6), weft.allclose(Q.T @ Q, weft.eye(2), atol=1e-6)
    (True, True)
    """
    return named("linalg_qr", "Q R")(*decompositions.qr_checked("linalg.qr", A, mode))


@composite(out="exact", autocast="float32")
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> return_types.linalg_svd:
    """``A = U diag(S) Vh``, the singular values from the largest.

    Parameters
    ----------
    A : Tensor, shape (..., m, n)
    full_matrices : bool
        U and Vh are square; else they have min(m, n) columns and rows.
    driver : None
        Only for CUDA tensors.

    Returns
    -------
    named tuple (U, S, Vh)

    Examples
    --------
    >>> A = weft.tensor([[3.0, 0.0], [0.0, 5.0], [0.0, 0.0]])
    >>> U, S, Vh = weft.linalg.svd(A, full_matrices=False)
    >>> S, weft.allclose(U * S @ Vh, A)
    (tensor([5., 3.]), True)
    """
    if not isinstance(full_matrices, bool):
        raise TypeError(f"linalg.svd(): argument 'full_matrices' must be bool, not {type(full_matrices).__name__}")
    check_matrix("linalg.svd", A)
    refuse_driver("linalg.svd", A, driver)
    return named("linalg_svd", "U S Vh")(*decompositions.svd_op.op(A, full_matrices, True))


def refuse_driver(name: str, A: Any, driver: str | None) -> None:
    """On the CPU there is no choice of a driver."""
    if driver is not None and A.device.type == "cpu":
        raise RuntimeError(f"{name}: keyword argument `driver=` is only supported on CUDA inputs; got {driver!r}")


@composite(out="exact", autocast="float32")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values, from the largest.

    Parameters
    ----------
    A : Tensor, shape (..., m, n)
    driver : None
        Only for CUDA tensors.

    Returns
    -------
    Tensor, shape (..., min(m, n))

    Examples
    --------
    >>> weft.linalg.svdvals(weft.tensor([[3.0, 0.0], [0.0, 5.0]]))
    tensor([5., 3.])
    """
    check_matrix("linalg.svdvals", A)
    refuse_driver("linalg.svdvals", A, driver)
    return decompositions.singular_values(A)


def triangle(name: str, UPLO: str) -> str:
    """Which triangle of a Hermitian matrix is read."""
    if not isinstance(UPLO, str):
        raise TypeError(f"{name}(): argument 'UPLO' must be str, not {type(UPLO).__name__}")
    if UPLO.upper() not in ("U", "L"):
        raise RuntimeError(f"{name}: Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper()


@composite(out="exact", autocast="float32")
def eigh(input: Tensor, UPLO: str = "L") -> return_types.linalg_eigh:
    """Eigenvalues, in ascending order, and orthonormal eigenvectors of a Hermitian matrix.

    Parameters
    ----------
    input : Tensor, shape (..., n, n)
    UPLO : "L" or "U"
        The triangle that is read.

    Returns
    -------
    named tuple (eigenvalues, eigenvectors)
        The vectors are the columns.

    Examples
    --------
    >>> weft.linalg.eigh(weft.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues.round(decimals=4)
    tensor([1., 3.])
    """
    check_square("linalg.eigh", input)
    result = decompositions.eigh_op.op(input, triangle("linalg.eigh", UPLO))
    return named("linalg_eigh", "eigenvalues eigenvectors")(*result)


@composite(out="exact", autocast="float32")
def eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of a Hermitian matrix, in ascending order.

    Parameters
    ----------
    input : Tensor, shape (..., n, n)
    UPLO : "L" or "U"
        The triangle that is read.

    Returns
    -------
    Tensor, shape (..., n)

    Examples
    --------
    >>> weft.linalg.eigvalsh(weft.tensor([[2.0, 1.0], [1.0, 2.0]])).round(decimals=4)
    tensor([1., 3.])
    """
    check_square("linalg.eigvalsh", input)
    UPLO = triangle("linalg.eigvalsh", UPLO)
    if decompositions.is_watched(input):
        return decompositions.eigh_op.op(input, UPLO)[0]
    return decompositions.eigvalsh_op.op(input, UPLO)


@composite(out="exact", autocast="float32")
def eig(input: Tensor) -> return_types.linalg_eig:
    """Eigenvalues and eigenvectors of length 1 of a square matrix, complex, in no order.

    Returns
    -------
    named tuple (eigenvalues, eigenvectors)

    Examples
    --------
    >>> values, vectors = weft.linalg.eig(weft.tensor([[0.0, -1.0], [1.0, 0.0]]))
    >>> values.imag.abs()  # a rotation has the eigenvalues i and -i
    tensor([1., 1.])
    """
    check_finite("linalg.eig", input)
    return named("linalg_eig", "eigenvalues eigenvectors")(*decompositions.eig_op.op(input))


@composite(out="exact", autocast="float32")
def eigvals(input: Tensor) -> Tensor:
    """The eigenvalues of a square matrix, complex, in no order.

    Examples
    --------
    >>> weft.linalg.eigvals(weft.tensor([[2.0, 0.0], [0.0, 2.0]])).real
    tensor([2., 2.])
    """
    check_finite("linalg.eigvals", input)
    return (
        decompositions.eig_op.op(input)[0] if decompositions.is_watched(input) else decompositions.eigvals_op.op(input)
    )


def check_finite(name: str, input: Any) -> None:
    """Eigenvalues are those of finite square matrices."""
    check_square(name, input)
    if values_known(input) and not input.isfinite().all():
        raise RuntimeError(f"torch.{name}: input tensor should not contain infs or NaNs.")


@composite(out="exact")
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> return_types.linalg_lu_factor_ex:
    """L and U in one matrix, the row exchanges, counted from 1, and ``info``.

    Parameters
    ----------
    A : Tensor, shape (..., m, n)
    pivot : bool
        Exchange rows.
    check_errors : bool
        Raise LinAlgError where ``info`` is not 0.

    Returns
    -------
    named tuple (LU, pivots, info)

    Examples
    --------
    >>> weft.linalg.lu_factor_ex(weft.zeros(2, 2)).info
    tensor(1, dtype=weft.int32)
    """
    check_matrix("linalg.lu_factor_ex", A)
    result = decompositions.lu_factor_op.op(A, bool(pivot))
    if check_errors:
        decompositions.raise_zero_pivot("linalg.lu_factor_ex", result[2])
    return named("linalg_lu_factor_ex", "LU pivots info")(*result)


@composite(out="exact")
def lu_factor(A: Tensor, *, pivot: bool = True) -> return_types.linalg_lu_factor:
    """L and U in one matrix, and the row exchanges, counted from 1, for `lu_solve`.

    Parameters
    ----------
    A : Tensor, shape (..., m, n)
    pivot : bool
        Exchange rows.

    Returns
    -------
    named tuple (LU, pivots)

    Examples
    --------
    >>> LU, pivots = weft.linalg.lu_factor(weft.tensor([[0.0, 2.0], [4.0, 8.0]]))
    >>> LU, pivots
    (tensor([[4., 8.],
            [0., 2.]]), tensor([2, 2], dtype=weft.int32))
    """
    check_matrix("linalg.lu_factor", A)
    LU, pivots, info = decompositions.lu_factor_op.op(A, bool(pivot))
    decompositions.raise_zero_pivot("linalg.lu_factor", info)
    return named("linalg_lu_factor", "LU pivots")(LU, pivots)


@composite(out="exact")
def lu(A: Tensor, *, pivot: bool = True) -> return_types.linalg_lu:
    """``A = P L U`` with a permutation P, a lower triangular L with ones on its diagonal, an upper triangular U.

    Parameters
    ----------
    A : Tensor, shape (..., m, n)
    pivot : bool
        Exchange rows.

    Returns
    -------
    named tuple (P, L, U)
        With ``pivot=False`` P is empty.

    Examples
    --------
    >>> A = weft.tensor([[0.0, 2.0], [4.0, 8.0]])
    >>> P, L, U = weft.linalg.lu(A)
    >>> weft.equal(P @ L @ U, A)
    True
    """
    check_matrix("linalg.lu", A)
    LU, pivots, _ = decompositions.lu_factor_op.op(A, bool(pivot))
    return named("linalg_lu", "P L U")(*decompositions.lu_unpack(LU, pivots, True, bool(pivot)))


@composite(out="exact")
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """The solution of ``A X = B`` by the factorization of A that `lu_factor` returns.

    Parameters
    ----------
    LU : Tensor, shape (..., n, n)
    pivots : Tensor of int32, shape (..., n)
    B : Tensor, shape (..., n, k), or (..., k, n) with ``left=False``
    left : bool
        Else of ``X A = B``.
    adjoint : bool
        With the conjugate transpose of A.

    Raises
    ------
    RuntimeError
        If the shapes do not fit together.

    Examples
    --------
    >>> LU, pivots = weft.linalg.lu_factor(weft.tensor([[0.0, 2.0], [4.0, 8.0]]))
    >>> weft.linalg.lu_solve(LU, pivots, weft.tensor([[2.0], [12.0]]))
    tensor([[1.],
            [1.]])
    """
    return decompositions.lu_solve_checked("linalg.lu_solve", LU, pivots, B, left, adjoint)


@composite(out="exact")
def ldl_factor_ex(
    input: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> return_types.linalg_ldl_factor_ex:
    """`ldl_factor`, and for each matrix 0 or the place of a zero in D.

    Parameters
    ----------
    input : Tensor, shape (..., n, n)
        Only the lower triangle is read.
    hermitian : bool
        Of complex matrices: ``L D L^H`` of a Hermitian one.
    check_errors : bool
        Raise LinAlgError where ``info`` is not 0.

    Returns
    -------
    named tuple (LD, pivots, info)

    Examples
    --------
    >>> weft.linalg.ldl_factor_ex(weft.eye(2)).info
    tensor(0, dtype=weft.int32)
    """
    result = decompositions.ldl_factor_checked("linalg.ldl_factor_ex", input, hermitian, check_errors)
    return named("linalg_ldl_factor_ex", "LD pivots info")(*result)


@composite(out="exact")
def ldl_factor(input: Tensor, *, hermitian: bool = False) -> return_types.linalg_ldl_factor:
    """The factorization ``L D L^T`` of a symmetric matrix, definite or not, for `ldl_solve`; needs SciPy.

    Parameters
    ----------
    input : Tensor, shape (..., n, n)
        Only the lower triangle is read.
    hermitian : bool
        Of complex matrices: ``L D L^H`` of a Hermitian one.

    Returns
    -------
    named tuple (LD, pivots)
        L and D, which has blocks of one and two rows, in one matrix; LAPACK's pivots.

    Examples
    --------
    >>> LD, pivots = weft.linalg.ldl_factor(weft.tensor([[4.0, 2.0], [2.0, 5.0]]))
    >>> weft.linalg.ldl_solve(LD, pivots, weft.tensor([[8.0], [12.0]])).flatten()
    tensor([1., 2.])
    """
    LD, pivots, _ = decompositions.ldl_factor_checked("linalg.ldl_factor", input, hermitian, True)
    return named("linalg_ldl_factor", "LD pivots")(LD, pivots)


@composite(out="exact")
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The solution of ``A X = B`` by the factorization of A that `ldl_factor` returns.

    Parameters
    ----------
    LD : Tensor, shape (..., n, n)
    pivots : Tensor of int32, shape (..., n)
    B : Tensor, shape (..., n, k)
    hermitian : bool
        As it was for `ldl_factor`.

    Examples
    --------
    >>> A = weft.tensor([[0.0, 2.0], [2.0, 0.0]])
    >>> LD, pivots = weft.linalg.ldl_factor(A)
    >>> weft.linalg.ldl_solve(LD, pivots, weft.tensor([[2.0], [4.0]]))
    tensor([[2.],
            [1.]])
    """
    name = "linalg.ldl_solve"
    check_square(name, LD)
    check_matrix(name, LD, B)
    if pivots._key.dtype.category != 1:
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots.dtype.scalar_type_name}")
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got LD with shape "
            f"{tuple(LD.shape)} and pivots with shape {tuple(pivots.shape)}"
        )
    if B.shape[-2] != LD.shape[-1]:
        raise RuntimeError(
            f"{name}: Incompatible matrix sizes: each A matrix is {LD.shape[-1]} by {LD.shape[-1]} but each B matrix "
            f"is {B.shape[-2]} by {B.shape[-1]}"
        )
    broadcast_shapes(name, [LD.shape[:-2], B.shape[:-2]])
    return decompositions.ldl_solve_op.op(LD, pivots.unsqueeze(-1), B, bool(hermitian))


@composite(out="exact", autocast="float32")
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of Householder reflections, as QR decompositions keep them.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
        The vectors, below the diagonal.
    tau : Tensor, shape (..., k)
        Their factors.

    Examples
    --------
    >>> A = weft.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> weft.allclose(weft.linalg.householder_product(*weft.geqrf(A)), weft.linalg.qr(A).Q, atol=1e-6)
    True
    """
    return decompositions.orgqr(input, tau)


# What singular values and eigenvalues tell


ORDERS = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)  # of matrix norms


def significant(values: Any, atol: Any, rtol: Any) -> Any:
    """Which singular values count."""
    top = values.amax(-1)
    limit = top * (rtol if not hasattr(rtol, "shape") else limits_like(top, rtol))
    limit = limit.clamp(min=atol) if not hasattr(atol, "shape") else limit.maximum(limits_like(top, atol))
    return values > limit.unsqueeze(-1)


def limits_like(top: Any, limits: Any) -> Any:
    """An array of tolerances as a tensor of the dtype of the largest values."""
    key = key_of(top.dtype, top.device)
    return make(on_device_of(key, backend_of(top.device).xp.asarray)(limits, top.dtype.numpy), key)


@composite(out="exact")
def pinv(
    input: Tensor,
    rcond: float | Tensor | None = None,
    hermitian: bool = False,
    *,
    atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
) -> Tensor:
    """The Moore-Penrose inverse.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
    atol, rtol : float or Tensor, optional
        Singular values up to ``max(atol, rtol * largest)`` count as 0. Default of rtol: the dtype's eps times
        max(m, n), or 0 beside an atol.
    rcond : float or Tensor, optional
        The older name of rtol.
    hermitian : bool
        A is its own conjugate transpose: eigenvalues serve.

    Raises
    ------
    RuntimeError
        If the input is no matrix, or a tolerance requires grad, since its gradient would be lost.

    Examples
    --------
    >>> weft.linalg.pinv(weft.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    if input.ndim < 2:
        raise RuntimeError(
            f"linalg.pinv({input.dtype.scalar_type_name}{{{list(input.shape)}}}): expected a tensor with 2 or more "
            "dimensions of float, double, cfloat or cdouble types"
        )
    (check_square if hermitian else check_matrix)("linalg.pinv", input)
    for name, value in (("atol", atol), ("rtol", rtol), ("rcond", rcond)):
        if isinstance(value, TensorBase) and value._requires_grad and local.grad_enabled:
            raise RuntimeError(f"linalg.pinv is not differentiable with respect to '{name}'; detach() it")
    limits = tolerances("linalg.pinv", input, atol, rcond if rtol is None else rtol)
    return matrix_functions.pinv_op.op(input, *limits, bool(hermitian))


@composite(out=True, autocast="float32")
def matrix_rank(
    input: Tensor,
    tol: float | Tensor | None = None,
    hermitian: bool = False,
    *,
    atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
) -> Tensor:
    """How many singular values are larger than ``max(atol, rtol * largest)``.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
    tol : float or Tensor, optional
        The older name of an atol that stands alone.
    hermitian : bool
        The input is its own conjugate transpose: eigenvalues serve.
    atol, rtol : float or Tensor, optional
        Default of rtol: the dtype's eps times max(m, n), or 0 beside an atol.

    Returns
    -------
    Tensor of int64, shape (...)

    Examples
    --------
    >>> weft.linalg.matrix_rank(weft.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    (check_square if hermitian else check_matrix)("linalg.matrix_rank", input)
    if tol is not None:
        atol, rtol = tol, 0.0
    limits = tolerances("linalg.matrix_rank", input, atol, rtol)
    input = input.detach()
    if not input.numel():
        return input.new_zeros(input.shape[:-2], dtype=int64)
    values = decompositions.eigvalsh_op.op(input, "L").abs() if hermitian else decompositions.svdvals_op.op(input)
    return significant(values, *limits).sum(-1)


@composite(out="exact", autocast="float32", scalars="p")
def cond(input: Tensor, p: float | str | None = None) -> Tensor:
    """The condition number: the norm of a matrix times that of its inverse.

    Parameters
    ----------
    input : Tensor, shape (..., m, n), square unless p is 2 or -2
    p : number, "fro" or "nuc", optional
        The norm; default 2, the ratio of the largest to the smallest singular value.

    Raises
    ------
    RuntimeError
        For another norm.

    Examples
    --------
    >>> weft.linalg.cond(weft.tensor([[2.0, 0.0], [0.0, 0.5]]))
    tensor(4.)
    """
    check_matrix("linalg.cond", input)
    if p not in (None, *ORDERS):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}; it takes {', '.join(map(str, ORDERS))}")
    if p is None or p in (2, -2):
        values = decompositions.singular_values(input)
        if not input.numel():
            return values.new_zeros(input.shape[:-2])
        largest, smallest = values[..., 0], values[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    check_square("linalg.cond", input)
    if not input.numel():
        return input.new_zeros(input.shape[:-2]).abs()
    inverse, info = linear_systems.inv_op.op(input)
    singular = info != 0
    inverse = inverse.masked_fill(singular.unsqueeze(-1).unsqueeze(-1), 0)
    return (matrix_norm(input, p) * matrix_norm(inverse, p)).masked_fill(singular, math.inf)


# Norms


def in_dtype(name: str, x: Any, dtype: Any) -> Any:
    """What a norm is taken of, in the dtype that was asked for: one that holds all of its values."""
    if not x._key.is_differentiable:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {x.dtype.scalar_type_name}"
        )
    if dtype is not None:
        if not (dtype.is_floating_point or dtype.is_complex):
            raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {dtype.scalar_type_name}")
        if x._key.is_complex != dtype.is_complex:
            kind = "complex" if x._key.is_complex else "real"
            raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {dtype.scalar_type_name}")
        if promote_types(x.dtype, dtype) is not dtype:
            raise RuntimeError(
                f"{name}: the dtype of the input ({x.dtype.scalar_type_name}) should be convertible without narrowing "
                "to the "
                f"specified dtype ({dtype.scalar_type_name})"
            )
        x = x.to(dtype)
    return x


@composite(out="exact")
def vector_norm(
    input: Tensor,
    ord: float = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """The norm of the elements over some dimensions: ``sum(abs(input) ** ord) ** (1 / ord)``.

    Parameters
    ----------
    input : Tensor, floating or complex
    ord : number
        inf: the largest; -inf: the smallest; 0: how many are not 0.
    dim : int or tuple of int, optional
        Default: all.
    keepdim : bool
        Keep the reduced dimensions with size 1.
    dtype : dtype, optional
        Convert before computing.

    Examples
    --------
    >>> weft.linalg.vector_norm(weft.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
    tensor([ 5., 10.])
    """
    name = "linalg.vector_norm"
    input = in_dtype(name, input, dtype)
    if not isinstance(ord, (int, float)):
        raise TypeError(f"{name}(): argument 'ord' must be a number, not {type(ord).__name__}")
    dims = wrap_dims(name, None if dim == () or dim == [] else dim, input.ndim)
    require_elements(name, input, ord, dims)
    return vector_norm_op.op(input, exponent(name, ord), dims, bool(keepdim))


@composite(out="exact", scalars="ord")
def matrix_norm(
    input: Tensor,
    ord: float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """The norm of matrices.

    Parameters
    ----------
    input : Tensor, shape (..., m, n), floating or complex
    ord : "fro", "nuc", inf, -inf, 1, -1, 2 or -2
        Frobenius's; the sum of singular values; the largest or smallest sum of a row (inf), sum of a column (1),
        singular value (2).
    dim : tuple of two int
        The rows' and the columns' dimension.
    keepdim : bool
        Keep the reduced dimensions with size 1.
    dtype : dtype, optional
        Convert before computing.

    Raises
    ------
    RuntimeError
        For another ord, or fewer dimensions.

    Examples
    --------
    >>> A = weft.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> weft.linalg.matrix_norm(A, 1), weft.linalg.matrix_norm(A, float("inf"))
    (tensor(6.), tensor(7.))
    """
    name = "linalg.matrix_norm"
    if not isinstance(dim, (tuple, list)):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got (Tensor, {type(ord).__name__}, "
            f"dim={type(dim).__name__}): argument 'dim' must be tuple of ints, not {type(dim).__name__}"
        )
    if ord is None:
        raise TypeError(f"{name}(): argument 'ord' must be a number or a str, not NoneType")
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {dim}")
    input = in_dtype(name, input, dtype)
    if input.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions; got {input.ndim}")
    dims = wrap_dims(name, dim, input.ndim)
    if ord == "fro":
        return vector_norm_op.op(input, 2.0, dims, bool(keepdim))
    if ord not in ORDERS:
        raise RuntimeError(f"{name}: Order {ord} not supported; use 'fro', 'nuc', inf, 1 or 2, or minus one of these")
    input = input.movedim(dims, (-2, -1))
    if isinstance(ord, str) or abs(ord) == 2:
        check_dtype(name, input)
        values = decompositions.singular_values(input)
    else:
        values = input.abs().sum(-1 if abs(ord) == math.inf else -2)
    if isinstance(ord, str) or (ord > 0 and not values.shape[-1]):  # the largest of none is 0
        result = values.sum(-1)
    else:
        result = values.amax(-1) if ord > 0 else values.amin(-1)
    if keepdim:
        for each in sorted(dims):
            result = result.unsqueeze(each)
    return result


@composite(out="exact", scalars="ord")
def norm(
    input: Tensor,
    ord: float | str | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """`vector_norm` of one dimension, `matrix_norm` of two; without ord the 2-norm of all elements.

    Parameters
    ----------
    input : Tensor, floating or complex
    ord : number, "fro" or "nuc", optional
    dim : int or tuple of int, optional
        Default: all, of which there are 1 or 2 if ord is given.
    keepdim : bool
        Keep the reduced dimensions with size 1.
    dtype : dtype, optional
        Convert before computing.

    Examples
    --------
    >>> weft.linalg.norm(weft.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if dim is None and ord is not None:
        if input.ndim not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D."
            )
        dim = tuple(range(input.ndim))
    elif isinstance(dim, int):
        dim = (dim,)
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if ord is not None and dim is not None and len(dim) == 2:
        return matrix_norm(input, ord, dim, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}: order {ord} is one of matrices")
    return vector_norm(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


# Products


@composite(out="exact")
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices, in the order that needs the fewest multiplications.

    Parameters
    ----------
    tensors : sequence of Tensor
        Matrices; the first and the last may be vectors.

    Raises
    ------
    RuntimeError
        If there are fewer than two, or their shapes do not fit together.

    Examples
    --------
    >>> weft.linalg.multi_dot([weft.ones(2, 3), weft.ones(3, 4), weft.ones(4)])
    tensor([12., 12.])
    """
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(
            "linalg.multi_dot(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type(tensors).__name__}"
        )
    require_tensors("linalg.multi_dot", **{f"tensors[{place}]": each for place, each in enumerate(tensors)})
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for position, each in enumerate(tensors):
        allowed = (1, 2) if position in (0, len(tensors) - 1) else (2,)
        if each.ndim not in allowed:
            raise RuntimeError(
                f"multi_dot(): tensor {position} must be {' or '.join(f'{n}D' for n in allowed)} but got {each.ndim}D"
            )
    first, last = tensors[0].ndim == 1, tensors[-1].ndim == 1
    if first:
        tensors[0] = tensors[0].unsqueeze(0)
    if last:
        tensors[-1] = tensors[-1].unsqueeze(-1)
    for left, right in itertools.pairwise(tensors):
        if left.shape[1] != right.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors with shapes {list(left.shape)} and {list(right.shape)} cannot be multiplied"
            )
    result = chain(tensors, cheapest([each.shape[0] for each in tensors] + [tensors[-1].shape[1]]), 0, len(tensors))
    if last:
        result = result.squeeze(-1)
    return result.squeeze(0) if first else result


def cheapest(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each range of a chain of matrices with these sizes: Cormen and others, section 15.2."""
    count = len(sizes) - 1
    cost = {(start, start + 1): 0 for start in range(count)}
    split = {}
    for length in range(2, count + 1):
        for start in range(count - length + 1):
            stop = start + length
            cost[start, stop], split[start, stop] = min(
                (cost[start, middle] + cost[middle, stop] + sizes[start] * sizes[middle] * sizes[stop], middle)
                for middle in range(start + 1, stop)
            )
    return split


def chain(tensors: list[Any], split: dict[tuple[int, int], int], start: int, stop: int) -> Any:
    """The product of a range of matrices."""
    if stop - start == 1:
        return tensors[start]
    middle = split[start, stop]
    return matmul(chain(tensors, split, start, middle), chain(tensors, split, middle, stop))


@composite(out="exact")
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors with three elements along a dimension; the others broadcast.

    Parameters
    ----------
    input, other : Tensor
    dim : int

    Examples
    --------
    >>> weft.linalg.cross(weft.tensor([1.0, 0.0, 0.0]), weft.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    return vector_product("linalg.cross", input, other, dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonals of each matrix of a batch.

    Parameters
    ----------
    A : Tensor, of at least two dimensions
    offset : int
        Above the main diagonal; below it if negative.
    dim1, dim2 : int
        The matrices' dimensions.

    Examples
    --------
    >>> weft.linalg.diagonal(weft.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 4.])
    """
    return any_diagonal(A, offset, dim1, dim2)


@composite(out="exact")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The inner products ``sum(conj(x) * y)`` of vectors along a dimension; batches broadcast.

    Parameters
    ----------
    x, y : Tensor
    dim : int

    Examples
    --------
    >>> weft.linalg.vecdot(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), weft.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """
    check_dtype("linalg.vecdot", x, y, half=True)
    product = x.conj() * y
    return product.sum(wrap_dim("linalg.vecdot", dim, product.ndim), dtype=product.dtype)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element, in the last dimension.

    Parameters
    ----------
    x : Tensor, shape (..., n)
    N : int, optional
        Default: n.

    Returns
    -------
    Tensor, shape (..., n, N)

    Raises
    ------
    RuntimeError
        If N is less than 2.

    Examples
    --------
    >>> weft.linalg.vander(weft.tensor([2, 3]), N=4)
    tensor([[ 1,  2,  4,  8],
            [ 1,  3,  9, 27]])
    """
    require_tensors("linalg.vander", x=x)
    if x._key.dtype.is_half or x._key.dtype.name == "bool":
        raise RuntimeError(
            f"linalg.vander: supports floating point, complex, and integer tensors, but got "
            f"{x.dtype.scalar_type_name}; convert "
            "it with .to(weft.float32)"
        )
    x = x if x.ndim else x.unsqueeze(0)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1; got {count} for shape {tuple(x.shape)}")
    if x.dtype.category < 2:
        x = x.to(int64)
    powers = x.unsqueeze(-1).expand([*x.shape, count - 1]).cumprod(-1)
    return cat([x.new_ones([*x.shape, 1]), powers], -1)


# Tensors as linear maps


@composite(out="exact", autocast="float32")
def tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    """The inverse of the map that `tensordot` makes of a tensor.

    Parameters
    ----------
    input : Tensor
    ind : int
        How many of the first dimensions are the map's results; their product has to be that of the others.

    Raises
    ------
    RuntimeError
        If the products differ.
    LinAlgError
        If there is no inverse.

    Examples
    --------
    >>> weft.linalg.tensorinv(weft.eye(6).reshape(6, 2, 3), ind=1).shape
    weft.Size([2, 3, 6])
    """
    require_tensors("linalg.tensorinv", input=input)
    if not 0 < ind <= input.ndim:
        raise RuntimeError(
            "linalg.tensorinv: Expected a strictly positive integer for 'ind', and not more than there are dimensions; "
            f"got {ind} for shape {tuple(input.shape)}"
        )
    shape = tuple(input.shape)
    size = math.prod(shape[ind:])
    if math.prod(shape[:ind]) != size:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{size} != {math.prod(shape[:ind])} in tensorinv"
        )
    flat = linear_systems.inverse_checked("linalg.tensorinv", input.reshape(size, size))
    return flat.contiguous().reshape(shape[ind:] + shape[:ind])


@composite(out="exact", autocast="float32")
def tensorsolve(input: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """The X with ``tensordot(input, X, X.ndim) = other``.

    Parameters
    ----------
    input, other : Tensor
        The input's shape is that of other, followed by that of X.
    dims : sequence of int, optional
        Dimensions of the input that are moved to the end first.

    Raises
    ------
    RuntimeError
        If the shapes do not fit together.
    LinAlgError
        If there is no solution, or more than one.

    Examples
    --------
    >>> weft.linalg.tensorsolve(2 * weft.eye(6).reshape(6, 2, 3), weft.arange(6.0))
    tensor([[0.0000, 0.5000, 1.0000],
            [1.5000, 2.0000, 2.5000]])
    """
    if dims is not None:
        moved = wrap_dims("linalg.tensorsolve", list(dims), input.ndim)
        input = input.movedim(moved, tuple(range(input.ndim - len(moved), input.ndim)))
    shape = tuple(input.shape[other.ndim :])
    size = math.prod(shape)
    rows = math.prod(input.shape[: other.ndim]) if size != math.prod(input.shape[: other.ndim]) else other.numel()
    if size != rows:
        raise RuntimeError(
            "linalg.tensorsolve: Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {size} != {rows}"
        )
    return solve(input.reshape(size, size), other.reshape(-1)).reshape(shape)


offer(sys.modules[__name__], __all__)  # to overrides by __torch_function__
