"""``cupy.linalg`` over cuSOLVER and cuBLAS: what fails is nan and an ``info`` in the device's memory, no exception."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import scipy.linalg

from cupy_stand_in.array import ndarray, unwrap, wrap
from cupy_stand_in.events import note
from cupy_stand_in.functions import Function, special

state = types.SimpleNamespace(linalg="ignore")


def check_info(routine: Any, info: ndarray) -> None:
    """CuPy's look at an ``info``, for which it waits if it is to raise."""
    if state.linalg == "raise":
        if bool((info != 0).any()):
            raise numpy.linalg.LinAlgError(f"Error reported by {routine.__name__} in cuSOLVER. devInfo = {info.host}.")
    elif (info.host != 0).any():
        note("silent", f"the info of {routine.__name__} is not looked at")


@contextlib.contextmanager
def errstate(*, linalg: Any = None, **other: Any) -> Iterator[None]:
    before, state.linalg = state.linalg, linalg
    try:
        yield
    finally:
        state.linalg = before


def report(routine: str, info: Any) -> None:
    """Hand an ``info`` to CuPy's check, by the name that CuPy finds it by."""
    name = "cublas_info_array" if routine.endswith("Batched") else "cusolver_dev_info"
    check = getattr(sys.modules["cupy.linalg._util"], f"_check_{name}_if_synchronization_allowed")
    check(types.SimpleNamespace(__name__=routine), wrap(info))


def factors(matrix: Any) -> tuple[Any, Any, int]:
    """LAPACK's factors, pivots from 0, and ``info``."""
    (getrf,) = scipy.linalg.get_lapack_funcs(("getrf",), (matrix,))
    LU, pivots, info = getrf(matrix)
    return LU, pivots, int(info)


def each_of(batch: tuple[int, ...]) -> Any:
    return numpy.ndindex(*batch)


def solved(a: Any, b: Any, shape: tuple[int, ...]) -> Any:
    """The solutions of systems of one batch; nan where there is none, of which info tells."""
    batch = a.shape[:-2]
    result = numpy.empty((*batch, *shape[-1:-3:-1]), numpy.result_type(a, b)).swapaxes(-1, -2)  # by columns
    info = numpy.zeros(batch, numpy.int32)
    for place in each_of(batch):
        _, _, info[place] = factors(a[place])
        result[place] = numpy.nan if info[place] else numpy.linalg.solve(a[place], b[place])
    name = "getrfBatched" if batch else "getrf"
    report(name, info.reshape(-1))
    if not batch:
        report("getrs", numpy.zeros(1, numpy.int32))
    return wrap(result)


@special("cupy.linalg.solve")
def solve(function: Function, given: dict[str, Any]) -> Any:
    """Of batches of one shape: CuPy broadcasts none."""
    a, b = unwrap(given["a"]), unwrap(given["b"])
    function.refuse((given["a"], given["b"]), {})
    if a.shape[:-1] != b.shape[:-1] and b.ndim != 1:
        raise ValueError("a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b")
    if not b.size and a.size:
        raise ValueError("CUBLAS_STATUS_INVALID_VALUE")
    return solved(a, b, b.shape)


@special("cupy.linalg.inv")
def inv(function: Function, given: dict[str, Any]) -> Any:
    """By factors of the transpose, unless it is one matrix that lies by columns."""
    a = unwrap(given["a"])
    function.refuse((given["a"],), {})
    if not a.size:
        return wrap(a.copy())
    if a.ndim == 2 and a.flags.f_contiguous:
        return solved(a, numpy.eye(len(a), dtype=a.dtype), a.shape)
    one = numpy.broadcast_to(numpy.eye(a.shape[-1], dtype=a.dtype), a.shape)
    return solved(a.swapaxes(-1, -2), one, a.shape).swapaxes(-1, -2)


@special("cupy.linalg.cholesky")
def cholesky(function: Function, given: dict[str, Any]) -> Any:
    """The factor; of what has none some numbers."""
    a = unwrap(given["a"])
    function.refuse((given["a"],), {})
    (potrf,) = scipy.linalg.get_lapack_funcs(("potrf",), (a,))
    result, info = numpy.zeros(a.shape, a.dtype), numpy.zeros(a.shape[:-2], numpy.int32)
    for place in each_of(a.shape[:-2]):
        if a.size:
            result[place], info[place] = potrf(a[place], lower=True)
    report("potrfBatched" if a.ndim > 2 else "potrf", info.reshape(-1))
    return wrap(numpy.tril(result))


def lu_factor(a_t: ndarray, dtype: Any) -> tuple[Any, Any, Any]:
    """The factors of the transposes of square matrices, transposed."""
    a = unwrap(a_t).swapaxes(-1, -2).astype(dtype)
    LU, pivots = numpy.empty_like(a), numpy.empty(a.shape[:-1], numpy.int32)
    info = numpy.zeros(a.shape[:-2], numpy.int32)
    for place in each_of(a.shape[:-2]):
        LU[place], pivots[place], info[place] = factors(a[place])
    return wrap(LU.swapaxes(-1, -2)), wrap(pivots + 1), wrap(info)


@special("cupyx.scipy.linalg.solve_triangular")
def solve_triangular(function: Function, given: dict[str, Any]) -> Any:
    """Of batches of one shape, without a look at zeros on the diagonal."""
    a, b = unwrap(given["a"]), unwrap(given["b"])
    function.refuse((given["a"], given["b"]), {})
    if a.shape[:-1] != b.shape[:-1]:
        raise ValueError("incompatible dimensions")
    if not b.size:
        raise ValueError("CUBLAS_STATUS_INVALID_VALUE")
    lower, unit = given.get("lower", False), given.get("unit_diagonal", False)
    (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (a, b))
    result = numpy.empty_like(b)
    for place in each_of(a.shape[:-2]):
        result[place] = trsm(1.0, a[place], b[place], lower=lower, diag=unit)
    return wrap(result)


def convergent(name: str) -> Callable[[Function, dict[str, Any]], Any]:
    """An iterative routine, which reports where it ended without a result."""

    def run(function: Function, given: dict[str, Any]) -> Any:
        function.refuse(tuple(given.values()), {})
        try:
            result = function.compute((), given)
        except numpy.linalg.LinAlgError:
            report(name, numpy.ones(1, numpy.int32))
            raise NotImplementedError(f"{name} did not converge, and nobody looked: what it returned") from None
        report(name, numpy.zeros(1, numpy.int32))
        return result

    return run


for _name, _routine in {
    "eig": "xgeev",
    "eigvals": "xgeev",
    "eigh": "syevd",
    "eigvalsh": "syevd",
    "svd": "gesvd",
}.items():
    special(f"cupy.linalg.{_name}")(convergent(_routine))


def install(cupy: Any, cupyx: Any) -> None:
    """Put CuPy's private places where its linear algebra is checked, and public ones, into the modules."""
    util, decomposition = types.ModuleType("cupy.linalg._util"), types.ModuleType("cupy.linalg._decomposition")
    util._check_cusolver_dev_info_if_synchronization_allowed = check_info  # type: ignore[attr-defined]
    util._check_cublas_info_array_if_synchronization_allowed = check_info  # type: ignore[attr-defined]
    decomposition._lu_factor = lu_factor  # type: ignore[attr-defined]
    for module in (util, decomposition):
        sys.modules[module.__name__] = module
        setattr(cupy.linalg, module.__name__.rpartition(".")[2], module)
    cupyx.errstate = errstate
