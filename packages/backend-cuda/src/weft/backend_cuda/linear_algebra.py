"""Linear algebra by cuSOLVER and cuBLAS, with what they say of each matrix.

By default CuPy does not look at the ``info`` of their routines: of a matrix that has no inverse it returns nan. Asked
to raise (`cupyx.errstate`), it waits for the device after each routine. Here the ``info`` of a factorization is kept as
it lies in the device's memory, for the op to return; it is waited for by who checks it. Routines that are checked at
each call, as in PyTorch, run under ``errstate``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import cupy
import cupyx
import numpy
from cupy.linalg import _util
from cupyx.scipy.linalg import solve_triangular

from weft.backend import NoEquivalentError

MAX_BATCHED = 256  # rows up to which cuBLAS factors a batch at once; CuPy takes larger matrices one by one, transposed


class Reported(threading.local):
    """The first ``info`` that this thread's call of a routine reported."""

    wanted = False
    info: Any = None


reported = Reported()


def report(check: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """CuPy's check of an ``info``, which is kept in its place where that is wanted."""

    def kept(routine: Any, info: Any) -> None:
        if not reported.wanted:
            check(routine, info)
        elif reported.info is None:
            reported.info = info.copy()  # the solution that follows writes over it

    return kept


for _name in (
    "_check_cusolver_dev_info_if_synchronization_allowed",
    "_check_cublas_info_array_if_synchronization_allowed",
):
    setattr(_util, _name, report(getattr(_util, _name)))


def with_info(routine: Callable[..., Any], *args: Any) -> tuple[Any, Any]:
    """What a routine returns, and the ``info`` of its factorization: one integer for each matrix of the batch."""
    reported.wanted = True
    try:
        return routine(*args), reported.info
    finally:
        reported.wanted, reported.info = False, None


def transposed(array: Any) -> Any:
    """The transposes of a batch of matrices, in the same memory."""
    return array.swapaxes(-1, -2)


def empty_by_columns(shape: tuple[int, ...], dtype: Any) -> Any:
    """New matrices whose columns lie densely in memory."""
    return transposed(cupy.empty((*shape[:-2], shape[-1], shape[-2]), dtype))


def by_columns(array: Any) -> Any:
    """A copy whose columns lie densely in memory."""
    copy = empty_by_columns(array.shape, array.dtype)
    copy[...] = array
    return copy


def without_elements(shape: tuple[int, ...], dtype: Any, batch: tuple[int, ...]) -> tuple[Any, Any]:
    """The result and ``info`` where there is nothing to compute."""
    return empty_by_columns(shape, dtype), cupy.zeros(batch, numpy.int32)


# Kernels of ops


def inv(A: Any) -> tuple[Any, Any]:
    """The inverse and ``info``. CuPy factors the transpose of what it is given, unless that lies by columns."""
    if not A.size:
        return without_elements(A.shape, A.dtype, A.shape[:-2])
    if A.ndim == 2:
        inverse, info = with_info(cupy.linalg.inv, cupy.asfortranarray(A))
        return inverse, info.reshape(())
    inverse, info = with_info(cupy.linalg.inv, transposed(A))
    return transposed(inverse), info.reshape(A.shape[:-2])


def solve(A: Any, B: Any) -> tuple[Any, Any]:
    """``A^-1 B`` and ``info``, over A's own batch."""
    own, batch = A.shape[:-2], numpy.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    if not A.size or not B.size:
        return without_elements((*batch, *B.shape[-2:]), A.dtype, own)
    A, B = (cupy.broadcast_to(each, (*batch, *each.shape[-2:])) for each in (A, B))
    if A.ndim == 2 or A.shape[-1] <= MAX_BATCHED:
        solution, info = with_info(cupy.linalg.solve, A, B)
        info = info.reshape(batch)
    else:
        solution, info = empty_by_columns(B.shape, A.dtype), cupy.empty(batch, numpy.int32)
        for place in numpy.ndindex(*batch):
            solution[place], code = with_info(cupy.linalg.solve, A[place], B[place])
            info[place] = code.reshape(())
    info = info[(0,) * (len(batch) - len(own))]
    return solution, info[tuple([slice(0, 1) if size == 1 else slice(None) for size in own])]


def cholesky(A: Any, upper: bool) -> tuple[Any, Any]:
    """The factor and ``info``; nan for what has none."""
    if not A.size:
        return without_elements(A.shape, A.dtype, A.shape[:-2])
    L, info = with_info(cupy.linalg.cholesky, transposed(A).conj() if upper else A)
    info = info.reshape(A.shape[:-2])
    wrong = cupy.isnan(cupy.diagonal(L, axis1=-2, axis2=-1))
    info = cupy.where((info == 0) & wrong.any(-1), (wrong.argmax(-1) + 1).astype(numpy.int32), info)
    L = cupy.where((info == 0)[..., None, None], L, numpy.nan)
    return (transposed(L).conj() if upper else by_columns(L)), info


def lu_factor(A: Any) -> tuple[Any, Any, Any]:
    """L and U in one matrix, row exchanges from 1, and ``info``, of square matrices."""
    LU, pivots, info = cupy.linalg._decomposition._lu_factor(transposed(A), A.dtype)  # as `cupy.linalg.slogdet` does
    return transposed(LU), pivots, info


def triangular(A: Any, B: Any, upper: bool, unitriangular: bool) -> Any:
    """``A^-1 B`` by one triangle of A."""
    batch = numpy.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    if not B.size or not all(batch):
        return empty_by_columns((*batch, *B.shape[-2:]), B.dtype)
    A, B = (cupy.broadcast_to(each, (*batch, *each.shape[-2:])) for each in (A, B))
    return solve_triangular(A, B, lower=not upper, unit_diagonal=unitriangular)


def cholesky_solve(B: Any, L: Any, upper: bool) -> Any:
    """``(L L^H)^-1 B``."""
    adjoint = transposed(L).conj()
    first, second = (adjoint, L) if upper else (L, adjoint)
    return triangular(second, triangular(first, B, False, False), True, False)


KERNELS: dict[str, Callable[..., Any]] = {
    "core::linalg_inv": inv,
    "core::linalg_solve": solve,
    "core::linalg_cholesky": cholesky,
    "core::linalg_solve_triangular": triangular,
    "core::linalg_cholesky_solve": cholesky_solve,
}
# What has to converge, or it is an error.
ITERATIVE = frozenset(
    f"core::linalg_{name}" for name in ("eig", "eigvals", "eigh", "eigvalsh", "svd", "svdvals", "pinv")
)


def kernel(name: str, generic: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an op of linear algebra, from the declared one."""
    if name == "core::linalg_lu_factor":
        return factoring(generic)
    return checked(name, generic) if name in ITERATIVE else KERNELS[name]


def factoring(generic: Callable[..., Any]) -> Callable[..., Any]:
    """The LU factorization, by cuSOLVER or cuBLAS where they have it."""

    def factored(A: Any, pivot: bool) -> Any:
        square = A.shape[-1] == A.shape[-2]
        return lu_factor(A) if pivot and square and A.size else generic(A, pivot)

    return factored


def checked(name: str, generic: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel in which a routine that fails raises LinAlgError.

    Raises
    ------
    NoEquivalentError
        If this version of cuSOLVER has no such routine.
    """

    def run(*args: Any) -> Any:
        try:
            with cupyx.errstate(linalg="raise"):
                return generic(*args)
        except RuntimeError as error:
            if "is not available" not in str(error):
                raise
            raise NoEquivalentError(
                f"{name.removeprefix('core::')}: {error} in this version of cuSOLVER, CUDA 12.6 has it; use .to('cpu')"
            ) from error

    return run


NAMES = frozenset({*KERNELS, *ITERATIVE, "core::linalg_lu_factor"})
