"""Try one function, or one op that it calls, in every arrangement of its tensors; compare with contiguous float64."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from arrangements import ARRANGEMENTS, SHARED, WRITABLE, Laid, lay, written_beside
from calls import RANDOM, calls_of, function_of
from kernels import numpy_alone, recorded
from sizes import BASE, Size, sizes

import weft
from weft.backend_cpu import libraries
from weft.ops._registry import registry

MODES: dict[str, Any] = {"fast": nullcontext, "numpy": numpy_alone}
if not libraries.available():
    del MODES["fast"]
FLOAT = {"float32": (2e-5, 4e-6), "bfloat16": (1.6e-2, 1e-2), "float16": (2e-3, 2e-3), "float64": (1e-9, 1e-10)}
"""Relative tolerance, and absolute in units of the largest result. What is wrong here is wrong by far more."""

LEAST, MARGIN, MOST = 1e-4, 8, {"float32": 1e-3, "bfloat16": 5e-2, "float16": 5e-3, "float64": 1e-8}
"""Where sums cancel, results have no such digits: so many times NumPy's own error on contiguous tensors is allowed as
well, but no more than so much; and the `LEAST` part of that even where it made none."""

LOOSER = {
    # Condition numbers of the problem itself: float32 has so many digits of the result and no more.
    **dict.fromkeys(
        "inv pinv linalg_eigvals linalg_solve solve_triangular svd_rebuilt eigh_rebuilt eig_rebuilt".split(), 30
    ),
    **dict.fromkeys("lu_rebuilt ldl_rebuilt cholesky_solve matrix_exp det slogdet householder".split(), 30),
}

AS_IT_LIES = {"as_strided", "core::as_strided", "core::view_dtype"}  # what these mean depends on the strides
MAY_REFUSE = {"view", "view_as_complex", "unflatten", "core::view", "core::view_as_complex", "t", "core::alias"}
ONCE = {  # an element that is written twice has either value
    *("scatter index_copy put setitem_rows_ setitem_mask_ masked_scatter core::scatter core::index_put".split()),
    *("core::max_pool_gradient nn::embedding core::view_scatter core::embed".split()),
}
NOT_UNIQUE = {  # vectors up to their sign, values in any order; their functions put them together again
    *("linalg_svd linalg_eigh linalg_eig linalg_eigvals linalg_ldl_factor linalg_ldl_solve".split()),
}

TIES = {"topk", "kthvalue", "sort", "median", "nanmedian", "mode", "median_of"}  # any of equal elements may be the one
FRAGILE = frozenset(  # matrices are regular: their elements are not to be repeated
    "inv det slogdet pinv matrix_exp svdvals eigvalsh linalg_eigvals cholesky linalg_solve solve_triangular "
    "qr_reduced svd_rebuilt eigh_rebuilt eig_rebuilt lu_rebuilt ldl_rebuilt cholesky_solve geqrf householder".split()
)


class Tally:
    """How many calls were compared, how many the op refuses on plain tensors too, and what differed."""

    def __init__(self) -> None:
        self.cases = 0
        self.refused = 0
        self.differences: list[str] = []
        self.ops: set[str] = set()

    def differ(self, what: str) -> None:
        self.differences.append(what)


def try_function(name: str, dtype: Any, size: Size, tally: Tally) -> None:
    """All arrangements of the arguments of a function's calls on tensors of a size; in place and ``out=`` too."""
    function = function_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with numpy_alone():
                calls = list(calls_of(name, dtype, size))
        except Exception:
            tally.refused += 1  # no such sample in this dtype
            return
        seen: set[Any] = set()
        for number, (args, kwargs) in enumerate(calls):
            label = f"{name} {dtype} {tuple(size)} #{number}"
            if name not in AS_IT_LIES:
                try_call(label, name, function, args, kwargs, tally)
            if name in RANDOM:
                tally.ops |= {op for op, _ in ops_of(name, function, args, kwargs)}
                continue
            for op, arrays in ops_of(name, function, args, kwargs):
                tally.ops.add(op)
                if op == name or op in AS_IT_LIES or op.partition("::")[2] in NOT_UNIQUE:
                    continue
                key = op, signature(arrays)
                if key not in seen:
                    seen.add(key)
                    given = as_tensors(op, arrays)
                    try_call(f"{label} {op}", op, registry[op].op, given, {}, tally, variants=False)


# Values


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same containers, with each tensor changed."""
    if isinstance(value, weft.Tensor):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(mapped(each, change) for each in value)
    if type(value) is dict:
        return {key: mapped(each, change) for key, each in value.items()}
    return value


def tensors(value: Any) -> list[Any]:
    if isinstance(value, weft.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [each for part in value for each in tensors(part)] if isinstance(value, list | tuple) else []


def signature(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.char
    if isinstance(value, list | tuple):
        return tuple(signature(each) for each in value)
    return repr(value)


def as_tensors(op: str, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """A kernel's arguments as those of its op."""
    found = list(arrays)
    for position in registry[op].op.positions:
        found[position] = wrapped(found[position])
    return tuple(found)


def wrapped(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return weft.from_numpy(value)
    if isinstance(value, list | tuple):
        return type(value)(wrapped(each) for each in value)
    return value


def wide(tensor: Any) -> Any:
    """A contiguous copy in float64, or complex128; of whole numbers in their dtype."""
    tensor = tensor.detach()
    if tensor.is_complex():
        return weft.from_numpy(np.array(tensor._array, np.complex128, order="C", ndmin=tensor.ndim))
    if tensor.is_floating_point():
        return weft.from_numpy(np.array(tensor._array, np.float64, order="C", ndmin=tensor.ndim))
    return plain(tensor)


def plain(tensor: Any) -> Any:
    """A contiguous copy."""
    return weft.from_numpy(np.array(tensor.detach()._array, order="C", ndmin=tensor.ndim))


def run(function: Any, args: Any, kwargs: Any) -> Any:
    """The tensors that a function returns, or its exception."""
    weft.manual_seed(0)
    try:
        return tensors([function(*args, **kwargs)])
    except Exception as error:
        return error


# Calls


def try_call(label: str, name: str, function: Any, args: Any, kwargs: Any, tally: Tally, variants: bool = True) -> None:
    """One call in every arrangement; with ``variants`` also its in-place variant and ``out=``."""
    widen = plain if name in RANDOM else wide

    def reference(values: Any) -> Any:
        with numpy_alone():
            usual = run(function, *mapped(values, plain))
            return usual if isinstance(usual, Exception) else wanted(run(function, *mapped(values, widen)), usual)

    with numpy_alone():
        usual = run(function, *mapped((args, kwargs), plain))
    expected = reference((args, kwargs))
    if isinstance(usual, Exception) or isinstance(expected, Exception):
        tally.refused += 1
        return
    trial = Trial(label, name, [each.dtype for each in usual], tally)
    if name.endswith("_") and not name.startswith("_"):  # a method that writes, and nothing else
        trial.writing(function, args, kwargs, expected)
        return
    for arrangement in ARRANGEMENTS:
        for which in choices(len(tensors((args, kwargs))), crc32(f"{label} {arrangement}".encode())):
            if (
                arrangement in SHARED
                and is_fragile(name)
                and (arrangement != "expanded rows" or len(usual[0].shape) < 3)
            ):
                continue
            laid = laid_out((args, kwargs), arrangement, which, name in ONCE)
            if laid is None:
                continue
            found = reference(laid) if arrangement in SHARED else expected
            if isinstance(found, Exception):
                continue
            if arrangement in SHARED and name.rpartition(":")[2] in TIES:
                found = found[:1]
            for mode, context in MODES.items():
                with context():
                    trial.compare(f"{mode}, {arrangement} {which}", run(function, *laid), found)
    if variants:
        short = name.partition("::")[2] or name
        method = getattr(weft.Tensor, f"{short}_", None)
        if method is not None and args and isinstance(args[0], weft.Tensor):
            trial.in_place(method, args, kwargs)
        if len(usual) == 1 and takes_out(name):
            trial.out(function, args, kwargs, expected, usual[0])


def is_fragile(name: str) -> bool:
    return name in FRAGILE or name.startswith("core::linalg_") or name == "core::geqrf"


def choices(count: int, number: int) -> list[str]:
    """Which tensors of a call are arranged, the others being contiguous: all, and by turns one of the others."""
    single = ["first", "second"][:count] if count < 3 else ["first", "second", "last"]
    return ["all"] if count == 1 else ["all", single[number % len(single)]]


PLACES = {"first": 0, "second": 1, "last": -1}


def laid_out(values: Any, arrangement: str, which: str, once: bool) -> Any:
    """The arguments with some tensors arranged; None if none of these can lie so."""
    found = tensors(values)
    chosen = range(len(found)) if which == "all" else [PLACES[which] % len(found)]
    done = [0, 0]  # tensors seen, and arranged

    def change(tensor: Any) -> Any:
        place = done[0]
        done[0] += 1
        if place not in chosen or (once and arrangement in SHARED and not tensor.is_floating_point()):
            return plain(tensor)
        made = lay(tensor, arrangement)
        if made is None:
            return plain(tensor)
        done[1] += 1
        return made.tensor

    laid = mapped(values, change)
    return laid if done[1] else None


@cache
def takes_out(name: str) -> bool:
    function = function_of(name)
    try:
        return "out" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


class Trial:
    """The comparisons of one call."""

    def __init__(self, label: str, name: str, dtypes: list[Any], tally: Tally) -> None:
        self.label = label
        self.name = name
        self.dtypes = dtypes
        self.tally = tally
        self.drawn: dict[Any, Any] = {}  # random numbers by arrangement, of the first mode

    def compare(self, what: str, results: Any, expected: list[Wanted]) -> bool:
        """Count a case, and note where it differs; whether it is as expected."""
        self.tally.cases += 1
        if isinstance(results, Exception):
            if self.name in MAY_REFUSE and isinstance(results, RuntimeError | ValueError):
                return False
            return self.differ(what, f"{type(results).__name__}: {results}")
        for number, (result, each, dtype) in enumerate(zip(results, expected, self.dtypes)):
            if result.dtype is not dtype:
                return self.differ(what, f"result {number} has dtype {result.dtype}, and not {dtype}")
            if self.name in RANDOM and not result.is_contiguous():  # drawn in the order of memory, as in PyTorch
                place = what.partition(", ")[2], number
                each = Wanted(self.drawn.setdefault(place, result._array.copy()), 0.0)
            if problem := difference(result._array, each, LOOSER.get(self.name, 1)):
                return self.differ(what, f"result {number}: {problem}")
        return True

    def differ(self, what: str, problem: str) -> bool:
        self.tally.differ(f"{self.label} [{what}]: {problem}")
        return False

    def in_place(self, method: Any, args: Any, kwargs: Any) -> None:
        """The in-place variant of a function, which takes the same arguments."""
        with numpy_alone():
            usual = run(method, *mapped((args, kwargs), plain))
            expected = run(method, *mapped((args, kwargs), plain if self.name in RANDOM else wide))
        expected = expected if isinstance(usual, Exception) else wanted(expected, usual)
        if not isinstance(usual, Exception) and not isinstance(expected, Exception):
            Trial(f"{self.label} in place", self.name, [args[0].dtype], self.tally).writing(
                method, args, kwargs, expected
            )

    def writing(self, method: Any, args: Any, kwargs: Any, expected: list[Wanted]) -> None:
        """A method that writes to its first argument: there, and nowhere else."""
        for arrangement in WRITABLE:
            for others in (plain, lambda tensor: getattr(lay(tensor, arrangement), "tensor", plain(tensor))):  # noqa: B023
                if others is not plain and len(tensors((args, kwargs))) == 1:
                    continue
                for mode, context in MODES.items():
                    laid = lay(args[0], arrangement)
                    if laid is None:
                        continue
                    array, before = laid.tensor._array, None if laid.memory is None else laid.memory.copy()
                    rest, named = mapped((args[1:], kwargs), others)
                    what = f"{mode}, {arrangement}{'' if others is plain else ' all'}"
                    with context():
                        results = run(method, (laid.tensor, *rest), named)
                    if self.compare(what, results, expected) and laid.tensor._array is array:  # else: now a view
                        self.look_at(what, laid, before, expected[0])
        laid = lay(args[0], "read-only")
        assert laid is not None
        if args[0].numel() and not isinstance(run(method, (laid.tensor, *mapped(args[1:], plain)), kwargs), Exception):
            if laid.array.tobytes() != args[0]._array.tobytes():
                self.differ("read-only", "it was written to")

    def look_at(self, what: str, laid: Laid, before: Any, each: Wanted) -> None:
        """What was written is in the tensor's own memory, and not beside it."""
        if self.name not in RANDOM and (problem := difference(laid.array, each, LOOSER.get(self.name, 1))):
            self.differ(what, f"in its memory: {problem}")
        elif before is not None and written_beside(laid, before):
            self.differ(what, "memory beside the tensor was written to")

    def out(self, function: Any, args: Any, kwargs: Any, expected: list[Wanted], usual: Any) -> None:
        """The result written into a tensor of its shape and dtype, in every arrangement."""
        for arrangement in WRITABLE:
            for mode, context in MODES.items():
                laid = lay(weft.zeros(usual.shape, dtype=usual.dtype), arrangement)
                if laid is None:
                    continue
                before = None if laid.memory is None else laid.memory.copy()
                given, named = mapped((args, kwargs), plain)
                with context():
                    results = run(function, given, named | {"out": laid.tensor})
                what = f"{mode}, out {arrangement}"
                if self.compare(what, results, expected):
                    self.look_at(what, laid, before, expected[0])


# Numbers


class Wanted(NamedTuple):
    """An array in float64, and how far NumPy's own kernel, in the dtype of the result, is from it."""

    array: Any
    error: float


def wanted(expected: Any, usual: list[Any]) -> Any:
    """What is expected of results, from those in float64 and the usual ones; an exception stays one."""
    if isinstance(expected, Exception):
        return expected
    found = []
    for exact, result in zip(expected, usual):
        error = 0.0
        if result._array.dtype.name in FLOAT and result.numel() and exact.shape == result.shape:
            with np.errstate(all="ignore"):
                distance = np.abs(result._array.astype(np.float64) - exact._array)
            error = float(distance.max(where=np.isfinite(distance), initial=0.0))
        found.append(Wanted(exact._array, error))
    return found


def difference(result: Any, each: Wanted, looser: float = 1) -> str:
    """How a result differs from what is expected in float64; empty where it does not."""
    expected = each.array
    if result.shape != expected.shape:
        return f"shape {result.shape}, and not {expected.shape}"
    if not result.size:
        return ""
    name = result.dtype.name
    with np.errstate(all="ignore"):
        if name not in FLOAT and result.dtype.kind != "c":
            wrong = result != expected
        else:
            rtol, atol = FLOAT.get(name, FLOAT["float32"])
            exact = expected.astype(result.dtype)  # infinite where it has no such number
            if result.dtype.kind != "c":
                result, exact = result.astype(np.float64), exact.astype(np.float64)
            size = np.abs(exact)
            largest = size.max(where=np.isfinite(size), initial=0)
            most = MOST.get(name, 1e-3) * max(1, largest)
            allowed = min(max(MARGIN * each.error, LEAST * most), most)
            close = np.abs(result - exact) <= looser * (rtol * size + atol * largest) + allowed
            wrong = ~(close | (result == exact) | (np.isnan(result) & np.isnan(exact)))
    if not wrong.any():
        return ""
    place = tuple(int(each[0]) for each in np.nonzero(wrong)) if wrong.ndim else ()
    expected = expected.astype(np.float64) if expected.dtype.kind == "f" else expected
    return f"{int(wrong.sum())} of {wrong.size}, first at {place}: {result[place]}, and not {expected[place]}"


# Ops


def ops_of(name: str, function: Any, args: Any, kwargs: Any) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The calls of kernels that a function and its gradients make on contiguous tensors."""
    calls: list[tuple[str, tuple[Any, ...]]] = []

    def leaf(tensor: Any) -> Any:
        copy = plain(tensor)
        return copy.requires_grad_() if copy.is_floating_point() and not name.endswith("_") else copy

    with numpy_alone():
        with recorded(calls):
            run(function, *mapped((args, kwargs), plain))
        given, named = mapped((args, kwargs), leaf)
        with recorded(calls):
            results = run(function, given, named)
        if isinstance(results, Exception):
            return
        outputs = [each for each in results if each.requires_grad]
        leaves = [each for each in tensors((given, named)) if each.requires_grad]
        random = np.random.RandomState(0)
        cotangents = []
        for each in outputs:
            values = np.asarray(random.randint(-8, 8, each.shape) / 8)
            cotangents.append(weft.from_numpy(values).to(each.dtype))
        if outputs:
            with recorded(calls):
                run(weft.autograd.grad, (outputs, leaves, cotangents), {"allow_unused": True})
    yield from ((op, arrays) for op, arrays in calls if op in registry)


@cache
def kernels_of(name: str) -> frozenset[str]:
    """The ops that a function calls."""
    found: set[str] = {name} if name in registry else set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in (weft.float32, weft.int64):
            try:
                calls = list(calls_of(name, dtype, BASE[0]))
            except Exception:  # none in this dtype
                continue
            for args, kwargs in calls:
                found |= {op for op, _ in ops_of(name, function_of(name), args, kwargs)}
    return frozenset(found)


MOVING = frozenset(  # what many functions call on the way, and have no kernels of their own for
    "core::clone core::contiguous_copy core::convert core::view core::expand core::transpose core::permute core::sum "
    "core::mul core::add core::slice core::select core::unsqueeze core::squeeze core::detach core::alias".split()
)


def sizes_of(name: str, dtype: Any) -> list[Size]:
    """The sizes to try a function at: about the thresholds of its own kernels."""
    own = kernels_of(name)
    return sizes(set(own - MOVING or own), dtype)


def share(name: str, dtype: Any, size: Size) -> int:
    """A number that says in which share of a run some calls are."""
    return crc32(f"{name} {dtype} {tuple(size)}".encode())
