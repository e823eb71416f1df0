"""Systems of equations: solutions, triangular solutions, inverses."""

from __future__ import annotations

from typing import Any

import numpy

from weft._errors import warn_deprecated
from weft._tensor.base import Tensor
from weft._tensor.named_results import named
from weft.ops._batching import Batch, elementwise
from weft.ops._declare import composite, op
from weft.ops._geometry import broadcast_shapes
from weft.ops._lapack import (
    check_dtype,
    check_matrix,
    check_square,
    column_major,
    in_columns,
    one_by_one,
    over_batch,
    raise_failed,
    triangular_solution,
    zero_pivot,
)
from weft.ops.matrices import matmul

# Systems of equations


@op(name="linalg_solve", tensors="A B", autocast="float32")
def solve_op(A: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
    """``A^-1 B`` and ``info``."""
    return solve_op.op(A, B)


@solve_op.kernel
def _(xp, A, B):
    info = xp.zeros(A.shape[:-2], xp.int32)
    try:
        result = xp.linalg.solve(A, B)
    except numpy.linalg.LinAlgError:
        result, failed = one_by_one(xp, xp.linalg.solve, zero_pivot, A, B)
        info[...] = over_batch(failed, info.shape)
    return column_major(xp, result), info


@solve_op.vmap
def _(batch):
    # info is over A's own batch: A gets that of the call, whether it is the same in all examples or not.
    return elementwise(Batch(batch.declaration, batch.with_all(), [True, True], batch.level))


@solve_op.gradient("A B")
def _(grads, A, outputs, needs):
    right = solve_op.op(A.mH, grads[0])[0]
    return (-matmul.op(right, outputs[0].mH) if needs[0] else None), right


def solve_checked(name: str, A: Any, B: Any, left: bool = True) -> tuple[Any, Any]:
    """The solution of ``A X = B`` (or ``X A = B``), where B is one vector, a batch of them, or of matrices."""
    check_dtype(name, A, B)
    check_square(name, A)
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
    if is_vector:
        result = result.squeeze(-1)
        return (in_columns(result) if result.ndim > 1 else result), info
    return (result if left else result.mT), info


@op(
    name="linalg_solve_triangular",
    tensors="A B",
    result="same",
    dtypes="float complex",
    vmap="elementwise",
    autocast="float32",
)
def solve_triangular_op(A: Tensor, B: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    """``A^-1 B`` of a triangular matrix; the other triangle is not read."""
    return solve_triangular_op.op(A, B, upper, unitriangular)


@solve_triangular_op.kernel
def _(xp, A, B, upper, unitriangular):
    return column_major(xp, triangular_solution(xp, A, B, upper=upper, unitriangular=unitriangular))


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


@composite("triangular_solve", out="exact", autocast="float32")
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    """The solution of ``A X = input`` with a triangular A, and a copy of A.

    `weft.linalg.solve_triangular` is the newer name.

    Parameters
    ----------
    input : Tensor, shape (..., n, k)
    A : Tensor, shape (..., n, n)
    upper : bool
        Which triangle is read.
    transpose : bool
        Solve with the transpose of A.
    unitriangular : bool
        The diagonal of A is taken for ones.

    Returns
    -------
    named tuple (solution, cloned_coefficient)

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", UserWarning)  # that it is deprecated
    >>> weft.triangular_solve(weft.tensor([[4.0], [2.0]]), weft.tensor([[1.0, 1.0], [0.0, 2.0]])).solution
    tensor([[3.],
            [1.]])
    """
    warn_deprecated("triangular_solve", "linalg.solve_triangular")
    check_matrix("triangular_solve", A, input)
    check_square("triangular_solve", A)
    if input.shape[-2] != A.shape[-1]:
        raise RuntimeError(
            f"triangular_solve: Incompatible matrix sizes: each A matrix is {A.shape[-1]} by {A.shape[-1]} but each b "
            f"matrix is {input.shape[-2]} by {input.shape[-1]}"
        )
    matrix = A.mT if transpose else A
    solution = solve_triangle(matrix, input, upper=bool(upper) != bool(transpose), unitriangular=bool(unitriangular))
    copy = in_columns(A.expand([*solution.shape[:-2], *A.shape[-2:]]))
    return named("triangular_solve", "solution cloned_coefficient")(solution, copy)


# Inverse and determinant


@op(name="linalg_inv", tensors="A", vmap="leading", autocast="float32")
def inv_op(A: Tensor) -> tuple[Tensor, Tensor]:
    """The inverse and ``info``."""
    return inv_op.op(A)


@inv_op.kernel
def _(xp, A):
    try:
        result, info = xp.linalg.inv(A), xp.zeros(A.shape[:-2], xp.int32)
    except numpy.linalg.LinAlgError:
        result, info = one_by_one(xp, xp.linalg.inv, zero_pivot, A)
    return column_major(xp, result), info


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


@composite("inverse", out="exact", autocast="float32")
def inverse(input: Tensor) -> Tensor:
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
