"""What all share that LAPACK computes: checks, its integer ``info``, and the algorithms that NumPy's part of it lacks.

Batches come first in every shape. A decomposition that can fail has an op that also returns ``info`` (0 is success);
who calls it decides whether to raise. The gradients are differentiable themselves; for complex matrices they follow
PyTorch's convention, in which a gradient descends along itself, not its conjugate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from weft._devices.devices import backend_of
from weft._engine.tensor import TensorBase
from weft._interception.transforms import values_known
from weft.ops._declare import op
from weft.ops._geometry import broadcast_shapes, has_values
from weft.ops.creation import eye

BLOCK = 64  # columns that are eliminated together


class LinAlgError(RuntimeError):
    """A matrix has not what an operation needs: it is singular, not positive-definite, or did not converge."""


# Checks


def check_dtype(name: str, *tensors: Any, half: bool = False) -> None:
    """Decompositions take float32, float64 and their complex counterparts; some ``half`` types too.

    Raises
    ------
    TypeError
        For what is no tensor.
    NotImplementedError
        For another dtype. It is a RuntimeError, which PyTorch raises in its place for some of these functions.
    RuntimeError
        For several dtypes.
    """
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"{name}(): argument {position + 1} must be Tensor, not {type(tensor).__name__}")
    for tensor in tensors:
        element: Any = tensor._key.dtype
        if not tensor._key.is_differentiable:
            raise NotImplementedError(
                f"{name}: Expected a floating point or complex tensor as input. Got {element.scalar_type_name}; "
                "convert it with "
                ".to(weft.float32)"
            )
        if element.is_half and not half:
            raise NotImplementedError(
                f"{name}: Low precision dtypes not supported. Got {element.scalar_type_name}; convert it with "
                ".to(weft.float32)"
            )
        first: Any = tensors[0]._key.dtype
        if element is not first:
            raise RuntimeError(
                f"{name}: Expected A and B to have the same dtype, but found A of type {first.scalar_type_name} and B "
                "of type "
                f"{element.scalar_type_name} instead; convert one with .to(dtype)"
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


def raise_failed(name: str, info: Any, explain: Callable[[int], str]) -> None:
    """Raise for the first matrix of a batch whose ``info`` is not 0."""
    codes = info._array
    if not has_values(codes):
        return
    if not isinstance(codes, numpy.ndarray):
        codes = backend_of(info._key.device).to_numpy(codes)  # waits for the device
    if not codes.any():
        return
    place, code = next((place, code) for place, code in enumerate(info.reshape(-1).tolist()) if code)
    which = f"(Batch element {place}): " if codes.ndim else ""
    raise LinAlgError(f"{name}: {which}{explain(code)}")


def converged(name: str, function: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of an iterative routine."""
    try:
        return function(*args, **kwargs)
    except numpy.linalg.LinAlgError as error:
        raise LinAlgError(
            f"{name}: The algorithm failed to converge because the input matrix is ill-conditioned, has too many "
            "repeated values, or contains nan or infinity; check it with weft.isfinite(A).all()"
        ) from error


def singular_value_decomposition(name: str, xp: Any, A: Any, full_matrices: bool, compute_uv: bool = True) -> Any:
    """What ``xp.linalg.svd`` returns; nan for a matrix with an infinity, for which LAPACK may iterate for ever.

    Raises
    ------
    LinAlgError
        If a matrix contains nan.
    """
    finite = xp.isfinite(A).all(axis=(-2, -1))
    if not has_values(A) or finite.all():
        return converged(name, xp.linalg.svd, A, full_matrices, compute_uv)
    unusable = xp.isnan(A).any(axis=(-2, -1))
    if unusable.any():
        which = f"(Batch element {int(unusable.argmax())}): " if unusable.ndim else ""
        raise LinAlgError(
            f"{name}: {which}The algorithm failed to converge because the input matrix contained non-finite values; "
            "check it with weft.isfinite(A).all()"
        )
    found = converged(name, xp.linalg.svd, xp.where(finite[..., None, None], A, 0), full_matrices, compute_uv)
    for each in found if compute_uv else (found,):
        each[~finite] = xp.nan
    return found


def check_phase(name: str, vectors: str, diagonal: Any) -> None:
    """A loss of complex vectors that are unique but for a phase must not depend on it.

    Parameters
    ----------
    diagonal : Tensor
        The derivatives by the phases, times i. Those that a function transform wraps are not looked at.

    Raises
    ------
    RuntimeError
        If one is not 0, up to what rounding leaves.
    """
    if not values_known(diagonal):
        return
    if (diagonal.detach().imag.abs() > 1e-2).any():
        raise RuntimeError(
            f"{name}: The {vectors} in the complex case are specified up to multiplication by e^{{i phi}}. The "
            "specified loss function depends on this quantity, so it is ill-defined; use a function of them that the "
            "phase does not change, such as abs() or V @ V.mH"
        )


# Kernels over batches, matrix by matrix where one fails


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


def over_batch(info: Any, shape: tuple[int, ...]) -> Any:
    """``info`` over a matrix's own batch, from that over a batch which it was broadcast to."""
    info = info.max(axis=tuple(range(info.ndim - len(shape))))
    return info.max(axis=tuple(axis for axis, size in enumerate(shape) if size == 1), keepdims=True)


def zero_pivot(xp: Any, matrix: Any) -> int:
    """The place, from 1, of the first zero on the diagonal of U."""
    return int(lu_factored(xp, matrix, True)[2]) or matrix.shape[-1]


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


# Algorithms on arrays


def column_major(xp: Any, array: Any) -> Any:
    """A copy whose columns lie densely in memory, as those of LAPACK's (and PyTorch's) results do."""
    flipped = xp.swapaxes(array, -1, -2)
    copy = xp.empty(flipped.shape, array.dtype)
    copy[...] = flipped
    return xp.swapaxes(copy, -1, -2)


def adjoint(xp: Any, array: Any) -> Any:
    """The conjugate transpose."""
    return xp.conj(xp.swapaxes(array, -1, -2))


def lu_factored(xp: Any, A: Any, pivot: bool) -> tuple[Any, Any, Any]:
    """L below the diagonal and U on and above it, row exchanges from 1, and ``info``.

    Gaussian elimination in blocks of columns (Golub and Van Loan, section 3.4), each step for the whole batch.
    """
    batch, (rows, columns) = A.shape[:-2], A.shape[-2:]
    size = min(rows, columns)
    LU = xp.array(A.reshape((math.prod(batch), rows, columns)))
    pivots = xp.zeros((len(LU), size), xp.int32)
    info = xp.zeros(len(LU), xp.int32)
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        for step in range(start, stop):
            eliminate(xp, LU, step, stop, pivots if pivot else None, info)
        if stop < columns:
            head, rest = LU[:, start:stop, start:stop], LU[:, start:stop, stop:]
            rest[...] = triangular_solution(xp, head, rest, upper=False, unitriangular=True)
            LU[:, stop:, stop:] -= xp.matmul(LU[:, stop:, start:stop], rest)
    if not pivot:
        pivots[...] = xp.arange(1, size + 1)
    return column_major(xp, LU.reshape(A.shape)), pivots.reshape((*batch, size)), info.reshape(batch)


def eliminate(xp: Any, LU: Any, step: int, stop: int, pivots: Any, info: Any) -> None:
    """One step of `lu_factored`: the pivot of a column, and what it does to the columns before ``stop``."""
    if pivots is not None:
        each = xp.arange(len(LU))
        column = LU[:, step:, step]
        chosen = step + xp.argmax(abs(column.real) + abs(column.imag), axis=-1)
        LU[each, chosen], LU[:, step] = LU[:, step].copy(), LU[each, chosen]
        pivots[:, step] = chosen + 1
    head = LU[:, step, step]
    info[(info == 0) & (head == 0)] = step + 1
    LU[:, step + 1 :, step] /= xp.where(head == 0, 1, head)[:, None]
    LU[:, step + 1 :, step + 1 : stop] -= LU[:, step + 1 :, step, None] * LU[:, step, None, step + 1 : stop]


def triangular_solution(xp: Any, A: Any, B: Any, *, upper: bool, unitriangular: bool) -> Any:
    """``A^-1 B`` by one triangle of A, substituted in blocks; batches broadcast."""
    size = A.shape[-1]
    triangle = xp.triu(A) if upper else xp.tril(A)
    if unitriangular:
        diagonal = xp.arange(size)
        triangle[..., diagonal, diagonal] = 1
    if not upper:  # backwards it is an upper one, which elimination leaves as it is
        triangle, B = triangle[..., ::-1, ::-1], B[..., ::-1, :]
    shape = broadcast_shapes("solve_triangular", [triangle.shape[:-2], B.shape[:-2]])
    result = xp.array(xp.broadcast_to(B, shape + B.shape[-2:]))
    for start in reversed(range(0, size, BLOCK)):
        block = slice(start, start + BLOCK)
        head = triangle[..., block, block]
        try:
            result[..., block, :] = xp.linalg.solve(head, result[..., block, :])
        except numpy.linalg.LinAlgError:  # a zero on the diagonal: infinities, as LAPACK has them
            substitute(head, result[..., block, :])
        if start:
            result[..., :start, :] -= xp.matmul(triangle[..., :start, block], result[..., block, :])
    return result if upper else result[..., ::-1, :]


def substitute(triangle: Any, result: Any) -> None:
    """The solution for an upper triangle in place, row by row."""
    for row in reversed(range(triangle.shape[-1])):
        result[..., row, :] /= triangle[..., row, row, None]
        result[..., :row, :] -= triangle[..., :row, row, None] * result[..., row, None, :]


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


def in_columns(matrix: Any) -> Any:
    """The same matrix with its columns dense in memory, as PyTorch returns it."""
    return columns_op.op(matrix)


@op(name="linalg_columns", vmap="leading", linear="input")
def columns_op(input):
    """A copy of a matrix by columns."""
    return columns_op.op(input)


@columns_op.kernel
def _(xp, input):
    return column_major(xp, input)


@columns_op.gradient("input")
def _(grad):
    return grad
