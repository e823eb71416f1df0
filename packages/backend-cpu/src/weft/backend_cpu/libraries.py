"""Which library has a kernel for an op: oneDNN's first, then the compiled loops.

Nothing of a library is imported before an op that it has a kernel for first runs, and Numba not before one runs on a
large array: what there is says the table made from the kernels' registration (`registry`, `kernel_table`).
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from types import ModuleType
from typing import Any

from weft import dtype
from weft.backend import KernelBySize, KernelCall, invalidate_kernels
from weft.backend_cpu import threads
from weft.backend_cpu.compiled import background, prebuilt
from weft.backend_cpu.kernel_table import TABLE
from weft.backend_cpu.registry import MIN_SIZE_FUSED, Registered, Row, registered
from weft.library.formulas import formula_of

__all__ = ["available", "compiled_kernels", "describe", "has_loops", "import_loops", "kernel", "modules_of"]

Kernel = Callable[..., Any]

LIBRARIES = {"onednn": "onednn", "numba": "compiled"}  # name and package, the first one asked first
NUMBA = "compiled"  # the package of loops that are prebuilt, or compiled by Numba


def kernel(name: str, element: dtype, generic: Kernel | None) -> Kernel | None:
    """The best library's kernel of an op for a dtype, which falls back on the others' and on NumPy's; None without."""
    found = None if generic is None else until_compiled(name, element, generic)
    for each in reversed(registrations(name, element, found is not None)):
        found = each.make(found or generic) or found
    return found


def until_compiled(name: str, element: dtype, generic: Kernel) -> Kernel | None:
    """NumPy's kernel where the compiled one waits for a large array, or for NumPy to have taken long enough."""
    row = row_of(NUMBA, name, element) if has_loops() else None
    if row is None or not row.min_size:
        return None
    if WITH_LOOPS not in sys.modules:
        return KernelBySize(generic, partial(load_loops, name, element, generic), row.min_size)
    if row.bitwise and keep_numpy(f"{name} {element.name}"):
        return KernelBySize(generic, partial(timed, name, element, generic), row.min_size)
    return None


@cache
def rows_of(package: str) -> dict[tuple[str, str], Row]:
    """The table's rows of a library, by op and dtype."""
    rows = [row for rows in TABLE[package].values() for row in rows]
    return {(op, element): row for row in rows for op in row.ops.split() for element in row.dtypes.split()}


FORMULA_DTYPES = "float32 float64 float16 bfloat16"


def row_of(package: str, name: str, element: dtype) -> Row | None:
    """What a library has for an op and a dtype: a row of the table, or of a formula that compiles."""
    row = rows_of(package).get((name, element.name))
    if row is None and package == NUMBA and element.name in FORMULA_DTYPES.split():
        formula = formula_of(name)
        row = None if formula is None else Row(MIN_SIZE_FUSED, formula.is_exact, FORMULA_DTYPES, name)
    return row


@cache
def modules_of(package: str) -> dict[str, str]:
    """The module of a library's package that registers an op's kernels, by the op."""
    found = TABLE[package].items()
    return {op: module for module, rows in found for row in rows for op in row.ops.split()}


@cache  # kernels of whole lists are asked for at every call
def registrations(name: str, element: dtype, without_loops: bool = False) -> tuple[Registered, ...]:
    """What the libraries have registered for an op and a dtype, the best library's first."""
    packages = [package for package in map(package_of, available()) if row_of(package, name, element) is not None]
    if NUMBA in packages and (without_loops or not import_loops()):
        packages.remove(NUMBA)
    return tuple(registration(package, name, element) for package in packages)


def registration(package: str, name: str, element: dtype) -> Registered:
    """What a library has registered, or makes of an op's formula."""
    module = modules_of(package).get(name, "kernels.formulas")
    found = importlib.import_module(f"weft.backend_cpu.{package}.{module}")
    formula = None if (name, element.name) in rows_of(package) else formula_of(name)
    made: Registered = registered[package, name, element.name] if formula is None else found.formula_kernel(formula)
    if package != NUMBA or not (made.bitwise or prebuilt.library() is not None):
        return made
    return made._replace(make=partial(where_compiled, made.make, made.bitwise))


def where_compiled(make: Callable[[Any], Any], bitwise: bool, generic: Kernel | None) -> Any:
    """A kernel that leaves to the generic one what is not compiled yet, or at all: nothing is written by then."""
    made = make(generic)
    if isinstance(made, KernelBySize):
        return KernelBySize(made.small, or_generic(made.large, bitwise, generic), made.least)
    return None if made is None else or_generic(made, bitwise, generic)


def or_generic(run: Kernel, bitwise: bool, generic: Kernel | None) -> Kernel:
    """A kernel with another one for what is not prebuilt, or, where they compute the same bits, not compiled yet."""
    made = run if bitwise and prebuilt.library() is None else or_generic_for_good(run, generic)
    return made if generic is None or not bitwise else background.until_there(made, generic)


def or_generic_for_good(run: Kernel, generic: Kernel | None) -> Kernel:
    """A kernel with another one for what it raises `prebuilt.NotPrebuilt` for; `NotImplemented` where there is none."""

    def run_or_fall_back(*args: Any, **options: Any) -> Any:
        try:
            return run(*args, **options)
        except background.NotCompiled:
            raise
        except prebuilt.NotPrebuilt as error:
            if error.__cause__ is not None:
                tell_broken("numba", error.__cause__)
            return NotImplemented if generic is None else generic(*args, **options)

    return run_or_fall_back


def package_of(library: ModuleType) -> str:
    """The name of a library's package."""
    return library.__name__.rpartition(".")[2]


# Numba takes a third of a second to import. A program of small tensors never waits for it: the first large one does,
# where kernels are not prebuilt.
# Which kernel an array gets depends on its size and not on what ran before, so that a program that goes on from a
# checkpoint computes what it would have computed.

WITH_LOOPS = "weft.backend_cpu.compiled.codegen.parallel"  # what all compiled kernels import, and nothing else


def load_loops(name: str, element: dtype, generic: Kernel, *args: Any) -> Any:
    """A first large call: import the loops, have all ops look for their kernels again, and run this one's."""
    if import_loops():
        invalidate_kernels()
    return (kernel(name, element, generic) or generic)(*args)


def has_loops() -> bool:
    """Whether there are compiled loops: prebuilt ones or Numba's, which are not turned off."""
    return NUMBA in map(package_of, available())


loops_are_imported = False  # and whole
broken: dict[str, str] = {}  # libraries that are installed and do not work, with the reason


def import_loops() -> bool:
    """Import the loops; False without, or where Numba is broken (it, or LLVM): then it is done without from now on."""
    global loops_are_imported
    if not has_loops():
        return False
    if not loops_are_imported:
        try:
            threads.uninterrupted(partial(importlib.import_module, WITH_LOOPS))
            loops_are_imported = True
            threads.limit_openmp(threads.count())  # the import did so on the other thread
        except Exception as error:  # whatever a broken installation raises
            tell_broken("numba", error)
            available.cache_clear()
            registrations.cache_clear()
            invalidate_kernels()
            return False
    return True


def tell_broken(name: str, error: BaseException) -> None:
    """Say, once, that an installed library does not work."""
    if name in broken:
        return
    broken[name] = reason = f"{type(error).__name__}: {error}"
    warnings.warn(
        f"{name} is installed and does not work ({reason}). weft computes without it, which takes longer; `weft "
        f"doctor` shows what is used. Reinstall it, or turn it off: WEFT_CPU_LIBRARIES="
        f"{','.join(each for each in LIBRARIES if each not in broken) or 'none'}",
        RuntimeWarning,
        stacklevel=2,
    )


# Tiered compilation: compiling a kernel takes as long as NumPy takes for some hundred large arrays. Where both compute
# the same bits, NumPy goes on until it has taken about as long. So no program takes much longer than with the better
# choice, whichever that was, and a short one never waits. What was found to be worth it is noted on disk, and asked for
# at once by later processes. Another process compiles it, and NumPy goes on until it is there (`compiled.background`).

COMPILE_AFTER_SECONDS = float(os.environ.get("WEFT_CPU_PATIENCE", 0.3))
"""Seconds that NumPy's kernel of an op may take in all, before the one that computes the same is compiled.

0: none, and it is compiled at once, in this process.
"""

numpy_seconds: dict[str, float] = {}  # that NumPy has taken for each work; infinite where it no longer does it


def compile_at_once() -> None:
    """Compile what is called, without waiting for NumPy to have taken long enough."""
    global COMPILE_AFTER_SECONDS
    COMPILE_AFTER_SECONDS = 0.0


def keep_numpy(work: str, seconds: float = 0.0) -> bool:
    """Whether NumPy goes on with some work, after so many seconds more; if not, then in later processes neither."""
    if prebuilt.library() is not None or numpy_seconds.get(work) == math.inf:
        return False
    from weft.backend_cpu.compiled.codegen import disk_cache

    if work in numpy_seconds or not disk_cache.is_decided(work):
        numpy_seconds[work] = numpy_seconds.get(work, 0.0) + seconds
        if numpy_seconds[work] < COMPILE_AFTER_SECONDS:
            return True
        disk_cache.decide(work)
    numpy_seconds[work] = math.inf
    return False


# Seconds that a call of an elementwise kernel takes, and more for each element, about: so that what is compiled, and
# when, does not depend on how busy the machine is.
CALL_SECONDS, ELEMENT_SECONDS = 1e-6, 5e-10


def fused_kernel(calls: Sequence[KernelCall], inputs: Sequence[Any], generic: Kernel, runs: int) -> Kernel | str:
    """One loop for elementwise calls: `weft.backend.Backend.fused_kernel`."""
    seconds = runs * len(calls) * (CALL_SECONDS + calls[-1].result.size * ELEMENT_SECONDS)
    short = f"they have taken {seconds:.2g} s so far, and compiling pays after {COMPILE_AFTER_SECONDS:.2g} s"
    loops = next((each for each in available() if package_of(each) == NUMBA), None)
    if loops is None or not loops.has_numba():
        return "Numba is not there"
    if seconds < COMPILE_AFTER_SECONDS and "numba" not in sys.modules:
        return short
    if not import_loops():
        return "Numba does not work"
    from weft.backend_cpu.compiled.codegen import disk_cache
    from weft.backend_cpu.compiled.kernels import fusion

    chain = fusion.chain_of(calls, inputs)
    if isinstance(chain, str):
        return chain
    if not disk_cache.is_decided(chain.work):
        if seconds < COMPILE_AFTER_SECONDS:
            return short
        disk_cache.decide(chain.work)
    return fusion.fused_kernel(chain, generic)


def timed(name: str, element: dtype, generic: Kernel, *args: Any) -> Any:
    """Run NumPy's kernel, and count the seconds that it takes."""
    start = time.perf_counter()
    result = generic(*args)
    if not keep_numpy(f"{name} {element.name}", time.perf_counter() - start):
        invalidate_kernels()
    return result


@cache
def available() -> tuple[ModuleType, ...]:
    """The libraries that are installed and not turned off (``WEFT_CPU_LIBRARIES=numba``, ``=none``), best first."""
    wanted = os.environ.get("WEFT_CPU_LIBRARIES", "onednn,numba").split(",")
    found = []
    for name, folder in LIBRARIES.items():
        if name in wanted and name not in broken:
            module = importlib.import_module(f"weft.backend_cpu.{folder}")
            if module.is_available():
                found.append(module)
    return tuple(found)


def describe() -> dict[str, str]:
    """For `weft doctor`: each library, and how many ops it has kernels for, or why none."""
    lines = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the line below says it
        import_loops()
    for name, folder in LIBRARIES.items():
        module = importlib.import_module(f"weft.backend_cpu.{folder}")
        if name in broken:
            lines[name] = f"installed, and does not work: {broken[name]}"
            continue
        state = f"{len(modules_of(folder))} ops" if module in available() else "turned off by WEFT_CPU_LIBRARIES"
        lines[name] = f"{module.version()}, {state}" if module.is_available() else module.MISSING
        if module in available() and hasattr(module, "cached_kernels"):
            lines["prebuilt"] = prebuilt.describe() or "none"
            folders = module.cache_folders()
            place = os.path.commonpath(folders) if folders else "no folder that can be written to"
            lines["compiled"] = f"{module.cached_kernels()} kernels in {place}"
            if module.has_numba():
                lines["compiles"] = background.describe(COMPILE_AFTER_SECONDS, bool(folders))
    return lines


def compiled_kernels() -> int:
    """How many kernels the libraries keep on disk."""
    return sum(module.cached_kernels() for module in available() if hasattr(module, "cached_kernels"))
