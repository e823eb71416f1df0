"""Decompositions of matrices, and what is solved with them: the ops behind `weft.linalg`.

Batches come first in every shape. A decomposition that can fail has an op that also returns ``info``, LAPACK's
integer (0 is success); who calls it decides whether to raise. The gradients are differentiable themselves; for
complex matrices they follow PyTorch's convention, in which a gradient descends along itself, not its conjugate.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from weft._dtypes import int32
from weft._engine.tensor import TensorBase
from weft._named import named
from weft.ops._declare import composite, op
from weft.ops._geometry import broadcast_shapes
from weft.ops.creation import arange, eye
from weft.ops.joining import cat
from weft.ops.matrices import matmul
from weft.ops.views import complex_op


class LinAlgError(RuntimeError):
    """A matrix has not what an operation needs: it is singular, not positive-definite, or did not converge."""


# Checks, the same for all


def check_dtype(name: str, *tensors: Any, half: bool = False) -> None:
    """Decompositions take float32, float64 and their complex counterparts; some ``half`` types too.

    Raises
    ------
    TypeError, RuntimeError
        For what is no tensor, and for another dtype, or several.
    """
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"{name}(): argument {position + 1} must be Tensor, not {type(tensor).__name__}")
        element: Any = tensor.kind.dtype
        if not tensor.kind.is_differentiable:
            raise RuntimeError(
                f"{name}: Expected a floating point or complex tensor as input. Got {element.spoken}; convert it with "
                ".to(weft.float32)"
            )
        if element.is_half and not half:
            raise RuntimeError(
                f"{name}: Low precision dtypes not supported. Got {element.spoken}; convert it with .to(weft.float32)"
            )
        first: Any = tensors[0].kind.dtype
        if element is not first:
            raise RuntimeError(
                f"{name}: Expected A and B to have the same dtype, but found A of type {first.spoken} and B of type "
                f"{element.spoken} instead; convert one with .to(dtype)"
            )


def check_matrix(name: str, *tensors: Any, half: bool = False) -> None:
    """Batches of matrices of a dtype that is decomposed."""
    check_dtype(name, *tensors, half=half)
    for each in tensors:
        if each.ndim < 2:
            raise RuntimeError(
                f"{name}: The input tensor A must have at least 2 dimensions; got shape {tuple(each.shape)}"
            )


def check_square(name: str, input: Any, half: bool = False) -> None:
    """A batch of square matrices of a dtype that is decomposed."""
    check_matrix(name, input, half=half)
    rows, columns = input.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices; "
            "for others see linalg.lstsq and linalg.pinv"
        )


def raise_failed(name: str, info: Any, explain: Any) -> None:
    """Raise for the first matrix of a batch whose ``info`` is not 0."""
    codes = info._array
    if not codes.any():
        return
    place = int(numpy.flatnonzero(codes)[0])
    which = f"(Batch element {place}): " if codes.ndim else ""
    raise LinAlgError(f"{name}: {which}{explain(int(codes.reshape(-1)[place]))}")


def converged(name: str, function: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of an iterative routine."""
    try:
        return function(*args, **kwargs)
    except numpy.linalg.LinAlgError as error:
        raise LinAlgError(
            f"{name}: The algorithm failed to converge because the input matrix is ill-conditioned, has too many "
            "repeated values, or contains nan or infinity; check it with weft.isfinite(A).all()"
        ) from error


def one_by_one(xp: Any, solver: Any, diagnose: Any, matrix: Any, *others: Any) -> tuple[Any, Any]:
    """What a solver makes of each matrix of a batch, nan where it fails, and ``info``."""
    shape = broadcast_shapes("solve", [each.shape[:-2] for each in (matrix, *others)])
    info = xp.zeros(shape, xp.int32)
    inputs = [xp.broadcast_to(each, shape + each.shape[-2:]) for each in (matrix, *others)]
    result = xp.full(inputs[-1].shape, xp.nan, dtype=matrix.dtype)
    for place in numpy.ndindex(*shape):
        try:
            result[place] = solver(*[each[place] for each in inputs])
        except numpy.linalg.LinAlgError:
            info[place] = diagnose(xp, inputs[0][place])
    return result, info


def zero_pivot(xp: Any, matrix: Any) -> int:
    """The place, from 1, of the first zero on the diagonal of U."""
    return int(factored(xp, matrix, True)[2]) or matrix.shape[-1]


def indefinite_minor(xp: Any, matrix: Any) -> int:
    """The order of the first leading minor that is not positive-definite."""
    good, bad = 0, matrix.shape[-1]
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            xp.linalg.cholesky(matrix[:middle, :middle])
            good = middle
        except numpy.linalg.LinAlgError:
            bad = middle
    return bad


# Parts of matrices that the gradients speak of


def identity(like: Any, size: int) -> Any:
    """The identity matrix with the dtype and device of a tensor."""
    return eye(size, dtype=like.dtype, device=like.device)


def diagonal_of(matrix: Any) -> Any:
    """The main diagonals of a batch of matrices."""
    return matrix.diagonal(0, -2, -1)


def gaps(values: Any) -> Any:
    """``values[j] - values[i]`` at (i, j), and 1 on the diagonal."""
    return values.unsqueeze(-2) - values.unsqueeze(-1) + identity(values, values.shape[-1])


def with_diagonal(matrix: Any, diagonal: Any) -> Any:
    """A matrix with another diagonal."""
    return matrix - diagonal_of(matrix).diag_embed() + diagonal.diag_embed()


def skew(matrix: Any) -> Any:
    """``X - X^H``."""
    return matrix - matrix.mH


# Systems of equations


@op(name="linalg_solve", tensors="A B")
def solve_op(A, B):
    """``A^-1 B`` and ``info``."""
    return solve_op.op(A, B)


@solve_op.kernel
def _(xp, A, B):
    try:
        result = xp.linalg.solve(A, B)
        return result, xp.zeros(result.shape[:-2], xp.int32)
    except numpy.linalg.LinAlgError:
        return one_by_one(xp, xp.linalg.solve, zero_pivot, A, B)


@solve_op.gradient("A B")
def _(grads, A, outputs, needs):
    right = solve_op.op(A.mH, grads[0])[0]
    return (-matmul.op(right, outputs[0].mH) if needs[0] else None), right


def solve_checked(name: str, A: Any, B: Any, left: bool = True) -> tuple[Any, Any]:
    """The solution of ``A X = B`` (or ``X A = B``), where B is one vector, a batch of them, or of matrices."""
    check_square(name, A)
    check_dtype(name, A, B)
    is_vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if is_vector and not left:
        raise RuntimeError(f"{name}: Vector broadcasting of the left hand side is not supported for left=False")
    columns = B.unsqueeze(-1) if is_vector else B if left else B.mT
    if columns.ndim < 2 or columns.shape[-2] != A.shape[-1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} "
            f"({A.shape[-2]}x{A.shape[-1]} and {'x'.join(map(str, B.shape[-2:]))})"
        )
    broadcast_shapes(name, [A._array.shape[:-2], columns._array.shape[:-2]])
    result, info = solve_op.op(A if left else A.mT, columns)
    return result.squeeze(-1) if is_vector else result if left else result.mT, info


@op(name="linalg_solve_triangular", tensors="A B", result="same", accepts="float complex")
def solve_triangular_op(A, B, upper, unitriangular):
    """``A^-1 B`` of a triangular matrix; the other triangle is not read."""
    return solve_triangular_op.op(A, B, upper, unitriangular)


@solve_triangular_op.kernel
def _(xp, A, B, upper, unitriangular):
    return triangular_solution(xp, A, B, upper, unitriangular)


def triangular_solution(xp: Any, A: Any, B: Any, upper: bool, unitriangular: bool) -> Any:
    """``A^-1 B`` by one triangle of A."""
    size = A.shape[-1]
    triangle = xp.triu(A) if upper else xp.tril(A)
    if unitriangular:
        triangle[..., range(size), range(size)] = 1
    try:
        return xp.linalg.solve(triangle, B)
    except numpy.linalg.LinAlgError:  # a zero on the diagonal: infinities, as LAPACK has them
        return substituted(xp, triangle, B, upper)


def substituted(xp: Any, triangle: Any, B: Any, upper: bool) -> Any:
    """The solution row by row."""
    size = triangle.shape[-1]
    shape = broadcast_shapes("solve_triangular", [triangle.shape[:-2], B.shape[:-2]])
    result = xp.array(xp.broadcast_to(B, shape + B.shape[-2:]))
    for row in range(size - 1, -1, -1) if upper else range(size):
        result[..., row, :] /= triangle[..., row, row, None]
        rest = slice(0, row) if upper else slice(row + 1, size)
        result[..., rest, :] -= triangle[..., rest, row, None] * result[..., row, None, :]
    return result


@solve_triangular_op.gradient("A B")
def _(grad, A, output, upper, unitriangular, needs):
    right = solve_triangular_op.op(A.mH, grad, not upper, unitriangular)
    if not needs[0]:
        return None, right
    whole = -matmul.op(right, output.mH)
    offset = 1 if unitriangular else 0
    return whole.triu(offset) if upper else whole.tril(-offset), right


def solve_triangle(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """``A^-1 B``, or with ``left=False`` ``B A^-1``."""
    if left:
        return solve_triangular_op.op(A, B, upper, unitriangular)
    return solve_triangular_op.op(A.mT, B.mT, not upper, unitriangular).mT


# Inverse and determinant


@op(name="linalg_inv", tensors="A")
def inv_op(A):
    """The inverse and ``info``."""
    return inv_op.op(A)


@inv_op.kernel
def _(xp, A):
    try:
        return xp.linalg.inv(A), xp.zeros(A.shape[:-2], xp.int32)
    except numpy.linalg.LinAlgError:
        return one_by_one(xp, xp.linalg.inv, zero_pivot, A)


@inv_op.gradient("A")
def _(grads, outputs):
    adjoint = outputs[0].mH
    return -matmul.op(adjoint, matmul.op(grads[0], adjoint))


def inverse_checked(name: str, A: Any) -> Any:
    """The inverse, or an error for a singular matrix."""
    check_square(name, A)
    result, info = inv_op.op(A)
    raise_failed(
        name,
        info,
        lambda code: (
            f"The diagonal element {code} is zero, the inversion could not be completed because the input "
            "matrix is singular; linalg.pinv has an inverse for every matrix"
        ),
    )
    return result


@composite("inverse", out="exact")
def inverse(input):
    """The inverse of each square matrix of a batch.

    Raises
    ------
    weft.linalg.LinAlgError
        If one is singular.

    Examples
    --------
    >>> weft.inverse(weft.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return inverse_checked("linalg.inv", input)


@op(name="linalg_det", tensors="A", result="same", accepts="float complex")
def det_op(A):
    """The determinant."""
    return det_op.op(A)


@det_op.kernel
def _(xp, A):
    return xp.linalg.det(A)


@det_op.gradient("A")
def _(grad, A, output):
    scale = grad.unsqueeze(-1).unsqueeze(-1)
    rows = A._array
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


@composite("det", out="exact")
def det(input):
    """The determinant of each square matrix of a batch.

    Examples
    --------
    >>> weft.det(weft.tensor([[2.0, 1.0], [1.0, 3.0]]))
    tensor(5.)
    """
    check_square("linalg.det", input)
    return det_op.op(input)


@op(name="linalg_slogdet", tensors="A")
def slogdet_op(A):
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
        scale = complex_op.op(turn * 0 if scale is None else scale, turn)
    if scale is None:
        return None
    return scale.unsqueeze(-1).unsqueeze(-1) * inv_op.op(A)[0].mH


@composite("slogdet", out="exact")
def slogdet(input):
    """The sign of the determinant and the logarithm of its modulus, which neither overflows nor underflows.

    Returns
    -------
    named tuple (sign, logabsdet)
    """
    check_square("linalg.slogdet", input)
    return named("slogdet", "sign logabsdet")(*slogdet_op.op(input))


@composite("logdet")
def logdet(input):
    """The logarithm of the determinant; nan where it is negative."""
    check_square("logdet", input)
    sign, logabsdet = slogdet_op.op(input)
    if input.is_complex():
        return sign.log() + logabsdet
    return logabsdet.where(sign != -1, logabsdet.new_full((), math.nan))


# Cholesky


@op(name="linalg_cholesky", tensors="A")
def cholesky_op(A, upper):
    """L with ``A = L L^H`` (or its conjugate transpose), and ``info``."""
    return cholesky_op.op(A, upper)


@cholesky_op.kernel
def _(xp, A, upper):
    lower = xp.conj(xp.swapaxes(A, -1, -2)) if upper else A
    try:
        L, info = xp.linalg.cholesky(lower), xp.zeros(A.shape[:-2], xp.int32)
    except numpy.linalg.LinAlgError:
        L, info = one_by_one(xp, xp.linalg.cholesky, indefinite_minor, lower)
    return (xp.conj(xp.swapaxes(L, -1, -2)) if upper else L), info


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


@composite("cholesky", out="exact")
def cholesky(input, upper=False):
    """The triangular factor L of a positive-definite matrix: ``input = L L^H``."""
    return cholesky_checked("linalg.cholesky", input, upper)


@composite("cholesky_solve", out="exact")
def cholesky_solve(input, L, upper=False):
    """The solution of ``A X = input`` from A's Cholesky factor."""
    check_square("cholesky_solve", L)
    check_matrix("cholesky_solve", L, input)
    if input.shape[-2] != L.shape[-1]:
        raise RuntimeError(
            f"cholesky_solve: Incompatible matrix sizes for cholesky_solve: each A matrix is {L.shape[-1]} by "
            f"{L.shape[-1]} but each b matrix is {input.shape[-2]} by {input.shape[-1]}"
        )
    broadcast_shapes("cholesky_solve", [L._array.shape[:-2], input._array.shape[:-2]])
    return cholesky_solve_op.op(input, L, bool(upper))


@op(name="linalg_cholesky_solve", tensors="B L", result="same", accepts="float complex")
def cholesky_solve_op(B, L, upper):
    """``(L L^H)^-1 B``."""
    return cholesky_solve_op.op(B, L, upper)


@cholesky_solve_op.kernel
def _(xp, B, L, upper):
    lower = xp.conj(xp.swapaxes(L, -1, -2)) if upper else L
    first = triangular_solution(xp, lower, B, False, False)
    return triangular_solution(xp, xp.conj(xp.swapaxes(lower, -1, -2)), first, True, False)


@cholesky_solve_op.gradient("B L")
def _(grad, L, output, upper):
    right = cholesky_solve_op.op(grad, L, upper)
    both = matmul.op(right, output.mH)
    both = both + both.mH
    return right, -(matmul.op(L, both) if upper else matmul.op(both, L))


@composite("cholesky_inverse", out="exact")
def cholesky_inverse(L, upper=False):
    """The inverse of a matrix from its Cholesky factor."""
    check_square("cholesky_inverse", L)
    return cholesky_solve(identity(L, L.shape[-1]), L, upper)


@composite("triangular_solve", out="exact")
def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """The solution of ``A X = b`` with a triangular A, and a copy of A."""
    check_square("triangular_solve", A)
    check_matrix("triangular_solve", A, b)
    if b.shape[-2] != A.shape[-1]:
        raise RuntimeError(
            f"triangular_solve: Incompatible matrix sizes: each A matrix is {A.shape[-1]} by {A.shape[-1]} but each b "
            f"matrix is {b.shape[-2]} by {b.shape[-1]}"
        )
    matrix = A.mT if transpose else A
    solution = solve_triangle(matrix, b, upper=bool(upper) != bool(transpose), unitriangular=bool(unitriangular))
    copy = A.expand([*solution.shape[:-2], *A.shape[-2:]]).clone()
    return named("triangular_solve", "solution cloned_coefficient")(solution, copy)


# QR


@op(name="linalg_qr", tensors="A")
def qr_op(A, mode):
    """Q and R of matrices that are not wider than high."""
    return qr_op.op(A, mode)


@qr_op.kernel
def _(xp, A, mode):
    if mode == "r":
        return xp.zeros(0, A.dtype), xp.linalg.qr(A, "r")
    Q, R = xp.linalg.qr(A, mode)
    return Q, R


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
    inner = 0
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
    R = cat([R, matmul.op(Q.mH, A[..., rows:])], -1)
    return (A.new_empty(0) if mode == "r" else Q), R


@composite("qr", out="exact")
def qr(input, some=True):
    """``input = Q R`` with orthonormal columns in Q and an upper triangular R.

    Returns
    -------
    named tuple (Q, R)
    """
    return named("qr", "Q R")(*qr_checked("qr", input, "reduced" if some else "complete"))


# Singular values


@op(name="linalg_svd", tensors="A")
def svd_op(A, full_matrices, compute_uv):
    """U, the singular values from the largest, and V^H."""
    return svd_op.op(A, full_matrices, compute_uv)


@svd_op.kernel
def _(xp, A, full_matrices, compute_uv):
    U, S, Vh = converged("linalg.svd", xp.linalg.svd, A, full_matrices)
    return U, S, Vh


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
    if grad_U is not None:
        grad_U = grad_U[..., :size]
        turn = skew(matmul.op(U.mH, grad_U))
        inner = inner + turn / squares * S.unsqueeze(-2)
        if U.is_complex():
            diagonal = diagonal + diagonal_of(turn) / (2 * S)
    if grad_Vh is not None:
        grad_Vh = grad_Vh[..., :size, :]
        inner = inner + S.unsqueeze(-1) * (skew(matmul.op(Vh, grad_Vh.mH)) / squares)
    if isinstance(diagonal, TensorBase):
        inner = with_diagonal(inner, diagonal.to(inner.dtype))
    whole = matmul.op(U, matmul.op(inner, Vh))
    if grad_U is not None and rows > size:
        outside = grad_U / S.unsqueeze(-2)
        whole = whole + matmul.op(outside - matmul.op(U, matmul.op(U.mH, outside)), Vh)
    if grad_Vh is not None and columns > size:
        outside = grad_Vh / S.unsqueeze(-1)
        whole = whole + matmul.op(U, outside - matmul.op(matmul.op(outside, Vh.mH), Vh))
    return whole


@op(name="linalg_svdvals", tensors="A", gradient=None)
def svdvals_op(A):
    """The singular values from the largest, without history."""
    return svdvals_op.op(A)


@svdvals_op.kernel
def _(xp, A):
    return converged("linalg.svdvals", xp.linalg.svd, A, False, False)


def singular_values(A: Any) -> Any:
    """The singular values from the largest; with the vectors, if a gradient will need them."""
    if A.requires_grad and is_recording():
        return svd_op.op(A, False, True)[1]
    return svdvals_op.op(A)


def is_recording() -> bool:
    """Whether results have a history now."""
    from weft.autograd.grad_mode import is_grad_enabled

    return is_grad_enabled()


@composite("svd", out="exact")
def svd(input, some=True, compute_uv=True):
    """``input = U diag(S) V^H``.

    Returns
    -------
    named tuple (U, S, V)
        V itself, unlike `weft.linalg.svd`.
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


@op(name="linalg_pinv", tensors="A", result="same", accepts="float complex")
def pinv_op(A, atol, rtol, hermitian):
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
        U, S, Vh = converged("linalg.pinv", xp.linalg.svd, A, False)
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

    def plain(value: Any) -> Any:
        if not isinstance(value, TensorBase):
            return value
        if value.kind.is_complex:
            raise RuntimeError(f"{name}: tolerance tensor of complex type is not supported")
        return value.detach()._array

    if rtol is None:
        eps = numpy.finfo(A.kind.dtype.numpy).eps * max(A.shape[-2:])
        given = plain(atol)
        rtol = eps if given is None else numpy.where(numpy.asarray(given) > 0, 0.0, eps)
    return (0.0 if atol is None else plain(atol)), plain(rtol)


@composite("pinverse")
def pinverse(input, rcond=1e-15):
    """The Moore-Penrose inverse of each matrix of a batch."""
    check_matrix("pinverse", input)
    return pinv_op.op(input, 0.0, rcond, False)


# Eigenvalues


@op(name="linalg_eigh", tensors="A")
def eigh_op(A, UPLO):
    """Eigenvalues in ascending order, and eigenvectors, of Hermitian matrices."""
    return eigh_op.op(A, UPLO)


@eigh_op.kernel
def _(xp, A, UPLO):
    L, V = converged("linalg.eigh", xp.linalg.eigh, A, UPLO)
    return L, V


@eigh_op.gradient("A")
def _(grads, outputs):
    (L, V), (grad_L, grad_V) = outputs, grads
    if grad_V is None:
        return None if grad_L is None else matmul.op(V * grad_L.unsqueeze(-2), V.mH)
    inner = matmul.op(V.mH, grad_V) / gaps(L)
    inner = with_diagonal(inner, (L * 0 if grad_L is None else grad_L).to(inner.dtype))
    return matmul.op(V, matmul.op(inner, V.mH))


@op(name="linalg_eig", tensors="A")
def eig_op(A):
    """Eigenvalues and eigenvectors, complex."""
    return eig_op.op(A)


@eig_op.kernel
def _(xp, A):
    L, V = converged("linalg.eig", xp.linalg.eig, A)
    wide = xp.result_type(A.dtype, xp.complex64)
    return L.astype(wide), V.astype(wide)


@eig_op.gradient("A")
def _(grads, outputs, A_dtype):
    (L, V), (grad_L, grad_V) = outputs, grads
    if grad_V is None:
        if grad_L is None:
            return None
        inner = grad_L.unsqueeze(-1) * V.mH
    else:
        inner = matmul.op(V.mH, grad_V)
        # Eigenvectors have length 1: what would stretch them does not count.
        inner = inner - matmul.op(V.mH, V) * diagonal_of(inner).real.unsqueeze(-2)
        inner = inner / gaps(L).conj()
        inner = with_diagonal(inner, L * 0 if grad_L is None else grad_L)
        inner = matmul.op(inner, V.mH)
    whole = solve_op.op(V.mH, inner)[0]
    return whole if A_dtype.is_complex else whole.real


# LU


def factored(xp: Any, A: Any, pivot: bool) -> tuple[Any, Any, Any]:
    """L below the diagonal and U on and above it, row exchanges from 1, and ``info``; by Gaussian elimination."""
    batch, (rows, columns) = A.shape[:-2], A.shape[-2:]
    size = min(rows, columns)
    LU = xp.array(A.reshape((math.prod(batch), rows, columns)))
    each = xp.arange(len(LU))
    pivots = xp.zeros((len(LU), size), xp.int32)
    info = xp.zeros(len(LU), xp.int32)
    for step in range(size):
        chosen = xp.full(len(LU), step)
        if pivot:
            column = LU[:, step:, step]
            chosen = step + xp.argmax(abs(column.real) + abs(column.imag), axis=-1)
            LU[each, chosen], LU[:, step] = LU[:, step].copy(), LU[each, chosen]
        pivots[:, step] = chosen + 1
        head = LU[:, step, step]
        info = xp.where((info == 0) & (head == 0), step + 1, info)
        LU[:, step + 1 :, step] /= xp.where(head == 0, 1, head)[:, None]
        LU[:, step + 1 :, step + 1 :] -= LU[:, step + 1 :, step, None] * LU[:, step, None, step + 1 :]
    return LU.reshape(A.shape), pivots.reshape((*batch, size)), info.astype(xp.int32).reshape(batch)


@op(name="linalg_lu_factor", tensors="A")
def lu_factor_op(A, pivot):
    """L and U in one matrix, the row exchanges, and ``info``."""
    return lu_factor_op.op(A, pivot)


@lu_factor_op.kernel
def _(xp, A, pivot):
    return factored(xp, A, pivot)


@lu_factor_op.gradient("A")
def _(grads, outputs):
    LU, pivots, _ = outputs
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


@op(name="lu_permutation", tensors="pivots", gradient=None, accepts="int")
def permutation_op(pivots, rows):
    """The order of the rows after the exchanges."""
    return permutation_op.op(pivots, rows)


@permutation_op.kernel
def _(xp, pivots, rows):
    flat = pivots.reshape((math.prod(pivots.shape[:-1]), pivots.shape[-1])).astype(xp.int64) - 1
    order = xp.array(xp.broadcast_to(xp.arange(rows), (len(flat), rows)))
    each = xp.arange(len(flat))
    for step in range(flat.shape[-1]):
        other = flat[:, step]
        order[each, other], order[:, step] = order[:, step].copy(), order[each, other]
    return order.reshape((*pivots.shape[:-1], rows))


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
def lu(A, pivot=True, get_infos=False):
    """The LU factorization in one matrix, the row exchanges, and with ``get_infos`` LAPACK's integers.

    `weft.linalg.lu_factor` is the newer name.
    """
    check_matrix("lu", A)
    LU, pivots, info = lu_factor_op.op(A, bool(pivot))
    if get_infos:
        return named("_lu_with_info", "LU pivots info")(LU, pivots, info)
    raise_zero_pivot("lu", info)
    return LU, pivots


@composite(out="exact")
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """P, L and U with ``A = P L U`` from a factorization in one matrix.

    Returns
    -------
    named tuple (P, L, U)
        Empty tensors for what is not unpacked.
    """
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
        P = permutation_matrix(LU_pivots, rows, LU_data)
    if unpack_data:
        L = LU_data[..., :size].tril(-1) + identity(LU_data, rows)[:, :size]
        U = LU_data[..., :size, :].triu()
    return named("lu_unpack", "P L U")(P, L, U)


def lu_solve_checked(name: str, LU: Any, pivots: Any, B: Any, left: bool, adjoint: bool) -> Any:
    """The solution of ``A X = B`` (A or its adjoint, from either side) by a factorization of A."""
    check_square(name, LU)
    check_matrix(name, LU, B)
    if pivots.dtype is not int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32; got {pivots.dtype}")
    if not left:
        return lu_solve_checked(name, LU, pivots, B.mH, True, not adjoint).mH
    if B.shape[-2] != LU.shape[-1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation AX = B "
            f"({LU.shape[-2]}x{LU.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    P = permutation_matrix(pivots, LU.shape[-1], LU)
    if adjoint:
        inner = solve_triangle(LU.mH, B, upper=False)
        return matmul(P, solve_triangle(LU.mH, inner, upper=True, unitriangular=True))
    inner = solve_triangle(LU, matmul(P.mT, B), upper=False, unitriangular=True)
    return solve_triangle(LU, inner, upper=True)


@composite("lu_solve", out="exact")
def lu_solve(b, LU_data, LU_pivots):
    """The solution of ``A X = b`` by the factorization of A that `weft.linalg.lu_factor` returns."""
    return lu_solve_checked("lu_solve", LU_data, LU_pivots, b, True, False)


# Products of reflections, and the exponential


@composite("orgqr", out="exact")
def orgqr(input, input2):
    """The first columns of a product of Householder reflections ``I - tau v v^H``.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
        The vectors below the diagonal; on it they are 1.
    input2 : Tensor, shape (..., k)
        tau, with ``k <= n <= m``.
    """
    check_matrix("linalg.householder_product", input)
    check_dtype("linalg.householder_product", input, input2)
    rows, columns = input.shape[-2:]
    count = input2.shape[-1]
    if rows < columns:
        raise RuntimeError(
            "linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]; got shape "
            f"{tuple(input.shape)}"
        )
    if count > columns or input2.shape[:-1] != input.shape[:-2]:
        raise RuntimeError(
            "linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1], and their "
            f"batches the same; got shapes {tuple(input.shape)} and {tuple(input2.shape)}"
        )
    # Nothing of the input but its history, which no reflection may bring, and the identity.
    start = input.triu(columns) + identity(input, rows)[:, :columns]
    return reflected(input, input2, start, False)


def reflected(input: Any, tau: Any, other: Any, adjoint: bool) -> Any:
    """``Q other``, or ``Q^H other``, with Q the product of Householder reflections."""
    count = tau.shape[-1]
    vectors = input[..., :count].tril(-1) + identity(input, input.shape[-2])[:, :count]
    order = range(count)
    for number in order if adjoint else reversed(order):
        v = vectors[..., number : number + 1]
        scale = tau[..., number, None, None]
        other = other - (scale.conj() if adjoint else scale) * matmul.op(v, matmul.op(v.mH, other))
    return other


@composite("ormqr", out="exact")
def ormqr(input, input2, input3, left=True, transpose=False):
    """``Q input3`` with the Q of Householder reflections, all its columns.

    Parameters
    ----------
    input, input2 : Tensor
        The reflections, as `orgqr` takes them.
    input3 : Tensor
    left : bool
        Else ``input3 Q``.
    transpose : bool
        With the conjugate transpose of Q.
    """
    check_matrix("ormqr", input, input3)
    check_dtype("ormqr", input, input2)
    if input3.shape[-2 if left else -1] != input.shape[-2]:
        raise RuntimeError(
            f"ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2]; got shapes "
            f"{tuple(input3.shape)} and {tuple(input.shape)}"
        )
    if left:
        return reflected(input, input2, input3, bool(transpose))
    return reflected(input, input2, input3.mH, not transpose).mH


@op(name="geqrf", tensors="input", gradient="refused")
def geqrf_op(input):
    """R and the Householder vectors below it in one matrix, and their factors."""
    return geqrf_op.op(input)


@geqrf_op.kernel
def _(xp, input):
    vectors, tau = xp.linalg.qr(input, "raw")
    return xp.swapaxes(vectors, -1, -2), tau


@composite("geqrf", out="exact")
def geqrf(input):
    """The QR decomposition as LAPACK keeps it: R, and below it the vectors of the reflections that `orgqr` takes.

    Returns
    -------
    named tuple (a, tau)
    """
    check_matrix("geqrf", input)
    return named("geqrf", "a tau")(*geqrf_op.op(input))


PADE = (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
        670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)  # fmt: skip


@op(name="linalg_matrix_exp", tensors="A", result="same", half="float32", accepts="float complex")
def matrix_exp_op(A):
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


@matrix_exp_op.gradient("A")
def _(grad, A):
    # The exponential of [[X, G], [0, X]] has the derivative at X along G in its corner.
    size, adjoint = A.shape[-1], A.mH
    top = cat([adjoint, grad], -1)
    bottom = cat([adjoint * 0, adjoint], -1)
    return matrix_exp_op.op(cat([top, bottom], -2))[..., :size, size:]


@composite("matrix_exp")
def matrix_exp(input):
    """The exponential of each square matrix of a batch: the sum of ``input^k / k!``.

    Examples
    --------
    >>> weft.matrix_exp(weft.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_square("linalg.matrix_exp", input, half=True)
    return matrix_exp_op.op(input)
