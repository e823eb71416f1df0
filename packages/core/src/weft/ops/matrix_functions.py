"""Functions of matrices: determinants, the Moore-Penrose inverse, the exponential."""

from __future__ import annotations

import math
from typing import Any

import numpy

from weft._devices.devices import backend_of, on_device_of
from weft._engine.tensor import TensorBase, local
from weft._engine.unresolved import values_of
from weft._tensor.base import Tensor
from weft._tensor.named_results import named
from weft.ops._declare import composite, op
from weft.ops._geometry import has_values, require_tensors
from weft.ops._lapack import (
    check_matrix,
    check_square,
    converged,
    diagonal_of,
    identity,
    singular_value_decomposition,
    with_diagonal,
)
from weft.ops.creation import arange, eye, zeros_like
from weft.ops.decompositions import lu_factor_op, lu_solve_checked, svd_op
from weft.ops.joining import cat
from weft.ops.linear_systems import inv_op, inverse_checked
from weft.ops.matrices import matmul
from weft.ops.views import complex_op

# Determinants


@op(
    name="linalg_det",
    tensors="A",
    result="same",
    dtypes="float complex",
    vmap="leading",
    autocast="float32",
    onnx="Det",
)
def det_op(A: Tensor) -> Tensor:
    """The determinant."""
    return det_op.op(A)


@det_op.kernel
def _(xp, A):
    return xp.linalg.det(A)


@det_op.gradient("A")
def _(grad, A, output):
    scale = grad.unsqueeze(-1).unsqueeze(-1)
    if A.is_meta:
        return scale * inv_op.op(A)[0].mH
    rows = A._array
    if not isinstance(rows, numpy.ndarray) and not local.grad_enabled:
        return scale * cofactors_by_elimination(A).conj()
    bound = numpy.sqrt((abs(rows) ** 2).sum(-1)).prod(-1)  # Hadamard's: rounding alone leaves eps times this
    if (abs(output._array) > 100 * numpy.finfo(rows.dtype).eps * bound).all():
        return scale * output.conj().unsqueeze(-1).unsqueeze(-1) * inv_op.op(A)[0].mH
    return scale * cofactors(A).conj()


def cofactors(A: Any) -> Any:
    """The derivative of the determinant by each element, of singular matrices too, by singular values."""
    U, S, Vh = svd_op.op(A, False, True)
    ones = S.new_ones([*S.shape[:-1], 1])
    before = cat([ones, S[..., :-1]], -1).cumprod(-1)
    after = cat([ones, S.flip(-1)[..., :-1]], -1).cumprod(-1).flip(-1)
    phase = (det_op.op(U) * det_op.op(Vh)).unsqueeze(-1).unsqueeze(-1)
    return phase * matmul.op(U * (before * after).unsqueeze(-2), Vh).conj()


def cofactors_by_elimination(A: Any) -> Any:
    """The same by its triangular factors, without waiting to see which matrices are singular: pivots of 0 become small.

    The product of pivots and inverse hardly depends on how small.
    """
    LU, pivots, _ = lu_factor_op.op(A, True)
    size = A.shape[-1]
    if not LU.numel():
        return LU
    pivot = diagonal_of(LU)
    eps = float(numpy.finfo(A._key.dtype.numpy).eps)
    small = pivot.abs().amax(-1, True) * eps
    small = small.masked_fill(small == 0, eps)
    filled = pivot.where(pivot != 0, small.to(LU.dtype))
    exchanges = (pivots != arange(1, size + 1, dtype=pivots.dtype, device=A.device)).sum(-1)
    determinant = filled.prod(-1) * (1 - 2 * (exchanges % 2))
    inverse = lu_solve_checked("linalg.det", with_diagonal(LU, filled), pivots, identity(A, size), True, False)
    return determinant.unsqueeze(-1).unsqueeze(-1) * inverse.mT


@composite("det", out="exact")
def det(input: Tensor) -> Tensor:
    """The determinant of each square matrix of a batch.

    Examples
    --------
    >>> weft.det(weft.tensor([[2.0, 1.0], [1.0, 3.0]]))
    tensor(5.)
    """
    check_square("linalg.det", input)
    return det_op.op(input)


@op(name="linalg_slogdet", tensors="A", vmap="leading", autocast="float32")
def slogdet_op(A: Tensor) -> tuple[Tensor, Tensor]:
    """The sign (a number of modulus 1) of the determinant and the logarithm of its modulus."""
    return slogdet_op.op(A)


@slogdet_op.kernel
def _(xp, A):
    sign, logabsdet = xp.linalg.slogdet(A)
    return xp.asarray(sign, dtype=A.dtype), xp.asarray(logabsdet, dtype=A.real.dtype)


@slogdet_op.gradient("A")
def _(grads, A, outputs):
    # d log(det) = tr(A^-1 dA): its real part moves the logarithm, its imaginary part turns the sign.
    sign, scale = grads[0], grads[1]
    if A.is_complex() and sign is not None:
        turn = -(sign.conj() * outputs[0]).imag
        scale = complex_op.op(zeros_like(turn) if scale is None else scale, turn)
    if scale is None:
        return None
    return scale.unsqueeze(-1).unsqueeze(-1) * inv_op.op(A)[0].mH


@composite("slogdet", out="exact")
def slogdet(input: Tensor) -> tuple[Tensor, Tensor]:
    """The sign of the determinant and the logarithm of its modulus, which neither overflows nor underflows.

    Returns
    -------
    named tuple (sign, logabsdet)

    Examples
    --------
    >>> weft.slogdet(weft.tensor([[-1.0, 0.0], [0.0, 1.0]])).sign
    tensor(-1.)
    """
    check_square("linalg.slogdet", input)
    return named("slogdet", "sign logabsdet")(*slogdet_op.op(input))


@composite("logdet")
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; nan where it is negative.

    Examples
    --------
    >>> weft.logdet(weft.eye(3))
    tensor(0.)
    """
    check_square("logdet", input)
    sign, logabsdet = slogdet_op.op(input)
    if input.is_complex():
        return sign.log() + logabsdet
    return logabsdet.where(sign != -1, logabsdet.new_full((), math.nan))


# The Moore-Penrose inverse


@op(name="linalg_pinv", tensors="A", result="same", dtypes="float complex", vmap="leading", autocast="float32")
def pinv_op(A: Tensor, atol: float | Tensor, rtol: float | Tensor, hermitian: bool) -> Tensor:
    """The Moore-Penrose inverse; singular values up to ``max(atol, rtol * largest)`` count as 0."""
    return pinv_op.op(A, atol, rtol, hermitian)


@pinv_op.kernel
def _(xp, A, atol, rtol, hermitian):
    if not A.size:
        return xp.zeros(A.shape[:-2] + A.shape[:-3:-1], A.dtype)
    if hermitian:
        S, V = converged("linalg.pinv", xp.linalg.eigh, A)
        U = V
    else:
        U, S, Vh = singular_value_decomposition("linalg.pinv", xp, A, False)
        V = xp.conj(xp.swapaxes(Vh, -1, -2))
    cut = xp.maximum(atol, rtol * xp.max(abs(S), axis=-1))
    keep = abs(S) > xp.asarray(cut)[..., None]
    reciprocal = xp.where(keep, 1 / xp.where(keep, S, 1), 0).astype(S.dtype)
    return xp.matmul(V * reciprocal[..., None, :], xp.conj(xp.swapaxes(U, -1, -2)))


@pinv_op.gradient("A")
def _(grad, A, output):
    # Golub and Pereyra, 1973, for matrices of constant rank; the shorter side first.
    adjoint, inverse_adjoint, G = A, output.mH, grad.mH
    if A.shape[-2] <= A.shape[-1]:
        K = matmul.op(G, output)
        KP = matmul.op(K, inverse_adjoint)
        return (
            -matmul.op(output, K).mH
            + KP
            - matmul.op(matmul.op(adjoint, output), KP)
            + matmul.op(matmul.op(inverse_adjoint, output), G - matmul.op(K, adjoint))
        )
    K = matmul.op(output, G)
    PK = matmul.op(inverse_adjoint, K)
    return (
        -matmul.op(K, output).mH
        + matmul.op(matmul.op(G - matmul.op(adjoint, K), output), inverse_adjoint)
        + PK
        - matmul.op(matmul.op(PK, output), adjoint)
    )


def tolerances(name: str, A: Any, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Numbers or arrays for what was given; the default is relative, and 0 beside an absolute one."""

    def plain(value: Any, which: str) -> Any:
        if not isinstance(value, TensorBase):
            return value
        if value._key.is_complex:
            raise RuntimeError(
                f"{name}: {which} tensor of complex type is not supported. Got {value._key.dtype.scalar_type_name}"
            )
        return values_of(value.to(A.device)._array) if has_values(value._array) else 0.0  # type: ignore[attr-defined]

    if rtol is None:
        eps = float(numpy.finfo(A._key.dtype.numpy).eps) * max(A.shape[-2:])
        given = plain(atol, "atol")
        if given is not None and hasattr(given, "shape"):
            where = backend_of(A.device).xp.where
            rtol = on_device_of(A._key, lambda: where(given > 0, 0.0, eps))()
        else:
            rtol = 0.0 if given is not None and given > 0 else eps
    return (0.0 if atol is None else plain(atol, "atol")), plain(rtol, "rtol")


@composite("pinverse", autocast="float32")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The Moore-Penrose inverse of each matrix of a batch.

    `weft.linalg.pinv` has more options.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
    rcond : float
        Singular values up to this part of the largest count as 0.

    Returns
    -------
    Tensor, shape (..., n, m)

    Examples
    --------
    >>> weft.pinverse(weft.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    check_matrix("pinverse", input)
    return pinv_op.op(input, 0.0, rcond, False)


# The exponential


PADE = (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
        670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)  # fmt: skip


@op(
    name="linalg_matrix_exp",
    tensors="A",
    result="same",
    compute_dtype="float32",
    dtypes="float complex",
    vmap="leading",
    autocast="float32",
)
def matrix_exp_op(A: Tensor) -> Tensor:
    """The exponential of a matrix."""
    return matrix_exp_op.op(A)


@matrix_exp_op.kernel
def _(xp, A):
    # Higham, 2005: scaling, the Pade approximant of degree 13, and squaring.
    if not A.size:
        return A.copy()
    element = A.dtype
    A = A.astype(xp.result_type(element, xp.float64))  # rounding errors grow with every squaring
    norm = xp.max(xp.sum(abs(A), axis=-2), axis=-1)
    usable = xp.where(xp.isfinite(norm), norm, 1)
    squarings = xp.ceil(xp.log2(xp.maximum(usable / 5.37, 1))).astype(xp.int64)
    A = A / xp.exp2(squarings).astype(A.real.dtype)[..., None, None]
    one = xp.eye(A.shape[-1], dtype=A.dtype)
    b = [A.dtype.type(each / PADE[0]) for each in PADE]
    A2 = xp.matmul(A, A)
    A4 = xp.matmul(A2, A2)
    A6 = xp.matmul(A4, A2)
    odd = xp.matmul(A6, b[13] * A6 + b[11] * A4 + b[9] * A2) + b[7] * A6 + b[5] * A4 + b[3] * A2 + b[1] * one
    odd = xp.matmul(A, odd)
    even = xp.matmul(A6, b[12] * A6 + b[10] * A4 + b[8] * A2) + b[6] * A6 + b[4] * A4 + b[2] * A2 + b[0] * one
    result = xp.linalg.solve(even - odd, even + odd)
    for step in range(int(xp.max(squarings))):
        result = xp.where((step < squarings)[..., None, None], xp.matmul(result, result), result)
    return result.astype(element)


@matrix_exp_op.meta
def _(xp, A):
    return xp.empty(A.shape, A.dtype)


@matrix_exp_op.gradient("A")
def _(grad, A):
    # The exponential of [[X, G], [0, X]] has the derivative at X along G in its corner.
    size, adjoint = A.shape[-1], A.mH
    top = cat([adjoint, grad], -1)
    bottom = cat([zeros_like(adjoint), adjoint], -1)
    return matrix_exp_op.op(cat([top, bottom], -2))[..., :size, size:]


@composite("matrix_exp")
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of each square matrix of a batch: the sum of ``input^k / k!``.

    Examples
    --------
    >>> weft.matrix_exp(weft.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_square("linalg.matrix_exp", input, half=True)
    return matrix_exp_op.op(input)


@composite("matrix_power", out="exact")
def matrix_power(input: Tensor, n: int) -> Tensor:
    """A square matrix multiplied with itself n times; with negative n its inverse.

    Parameters
    ----------
    input : Tensor, shape (..., m, m)
    n : int
        0 gives the identity.

    Raises
    ------
    weft.linalg.LinAlgError
        If n is negative and a matrix is singular.

    Examples
    --------
    >>> weft.matrix_power(weft.tensor([[1, 1], [1, 0]]), 10)  # Fibonacci's numbers
    tensor([[89, 55],
            [55, 34]])
    """
    require_tensors("matrix_power", input=input)
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"matrix_power(): argument 'n' must be int, not {type(n).__name__}")
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            "matrix_power: A must be batches of square matrices, but they are "
            f"{input.shape[-2:] if input.ndim > 1 else input.shape}"
        )
    if n < 0:
        return matrix_power(inverse_checked("matrix_power", input).contiguous(), -n)
    if n == 0:
        one = eye(input.shape[-1], dtype=input.dtype, device=input.device)
        return input.where(one != one, one)  # nothing of the input but its history
    result: Any = None
    while n:
        if n & 1:
            result = input if result is None else matmul(result, input)
        n >>= 1
        input = matmul(input, input) if n else input
    return result
