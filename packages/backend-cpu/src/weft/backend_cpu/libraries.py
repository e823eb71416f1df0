"""Which library has a kernel for an op: oneDNN's first, then the compiled loops.

Nothing of a library is imported before an op that it serves first runs, and Numba not before one runs on a large array.
A module of kernels declares them::

    @serves("nn::gelu", "float32 float64")
    def gelu(generic):
        def run(x, approximate): ...
        return run

For ``float16`` and ``bfloat16`` the kernel takes arrays of these. Where the op is declared to compute them in float32
it is `weft.backend.Backend.half_kernel`, and ``generic`` converts, and runs the kernel of float32.

The function is called once for a dtype. It gets the op's NumPy kernel, to fall back on for arguments that it does not
take, and returns the kernel, a `weft.backend.KernelBySize`, or None where this machine has nothing better.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from types import ModuleType
from typing import Any

from weft import dtype
from weft.backend import KernelBySize, invalidate_kernels
from weft.backend_cpu import threads

__all__ = ["FEW", "HALF", "LEAST", "available", "compiled_kernels", "describe", "kernel", "serves", "serves_large"]

Kernel = Callable[..., Any]
Maker = Callable[[Any], Any]

LIBRARIES = {"onednn": "onednn", "numba": "compiled"}  # name and folder, the first one asked first

LEAST = int(os.environ.get("WEFT_CPU_LEAST", 8192))
"""The number of elements from which compiled loops beat NumPy's (measured); tests set it to 0, to run them all."""

FEW = min(LEAST, 512)
"""The same for a loop that does the work of several of NumPy's functions."""


def serves(names: str, dtypes: str = "float32") -> Callable[[Maker], Maker]:
    """Declare who makes the kernel of ops, for dtypes; both are separated by spaces."""

    def declare(maker: Maker) -> Maker:
        enter(names, dtypes, maker.__globals__, maker)
        return maker

    return declare


def enter(names: str, dtypes: str, module: dict[str, Any], maker: Maker) -> None:
    """Put a maker into the table of a module of kernels."""
    found = module.setdefault("KERNELS", {})
    for name in names.split():
        for element in dtypes.split():
            found[name, element] = maker


HALF = "float16 bfloat16"


def serves_large(names: str, dtypes: str, least: int) -> Callable[[Maker], Maker]:
    """Declare who makes the kernel of ops for so many elements; of halves, which NumPy would convert, for fewer."""

    def declare(maker: Maker) -> Maker:
        for elements, size in ((dtypes, least), (HALF, FEW)):
            enter(names, elements, maker.__globals__, partial(by_size, maker, size))
        return maker

    return declare


def by_size(maker: Maker, least: int, generic: Any) -> KernelBySize:
    """What the maker makes, for arrays of so many elements."""
    return KernelBySize(generic, maker(generic), least)


def kernel(name: str, element: dtype, generic: Kernel | None) -> Kernel | None:
    """The best library's kernel of an op for a dtype, which falls back on the others' and on NumPy's; None without."""
    found: Kernel | None = None
    if generic is not None and (least := least_of(name, element)):
        if WITH_NUMBA not in sys.modules:
            found = KernelBySize(generic, partial(wake, name, element, generic), least)
        elif is_on_trial(name, element):
            found = KernelBySize(generic, partial(timed, name, element, generic), least)
    for maker in reversed(makers(name, element, found is not None)):
        found = maker(found or generic) or found
    return found


# Numba takes a third of a second to import. A program of small tensors never waits for it: the first large one does.
# Which kernel an array gets depends on its size and not on what ran before, so that a program that goes on from a
# checkpoint computes what it would have computed.

WITH_NUMBA = "weft.backend_cpu.compiled.codegen.parallel"  # what all compiled kernels import, and nothing else


def least_of(name: str, element: dtype) -> int:
    """From which size on an array is worth a compiled kernel of an op; 0 where there is none, or always."""
    for library in available() if LEAST else ():
        if name in library.MODULES and hasattr(library, "AT_ONCE"):
            family = library.MODULES[name].removeprefix(".kernels.")
            few = element.is_half or family in library.FUSED  # NumPy converts halves
            return 0 if family in library.AT_ONCE else FEW if few else LEAST
    return 0


def wake(name: str, element: dtype, generic: Kernel, *args: Any) -> Any:
    """A first large call: import Numba, have all ops look for their kernels again, and run this one's."""
    if imports_numba():
        invalidate_kernels()
    return (kernel(name, element, generic) or generic)(*args)


numba_is_imported = False  # and whole
broken: dict[str, str] = {}  # libraries that are installed and do not work, with the reason


def imports_numba() -> bool:
    """Whether Numba is there and can be imported; one that cannot (it, or LLVM) is done without from now on."""
    global numba_is_imported
    if not any(hasattr(each, "AT_ONCE") for each in available()):
        return False
    if not numba_is_imported:
        try:
            threads.uninterrupted(partial(importlib.import_module, WITH_NUMBA))
            numba_is_imported = True
            threads.limit_openmp(threads.count())  # the import did so on the other thread
        except Exception as error:  # whatever a broken installation raises
            tell_broken("numba", error)
            available.cache_clear()
            makers.cache_clear()
            invalidate_kernels()
            return False
    return True


def tell_broken(name: str, error: Exception) -> None:
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


# Compiling a kernel takes as long as NumPy's takes for some hundred large arrays. Where both compute the same bits,
# NumPy's goes on until it has taken about as long. So no program takes much longer than it would have with the better
# choice, whichever that was, and a short one never waits. What was found to be worth it is not tried again, nor what
# `weft warm` compiled.

PATIENCE = float(os.environ.get("WEFT_CPU_PATIENCE", 0.3))
"""Seconds that NumPy's kernel of an op may take in all, before the one that computes the same is compiled; 0: none."""

taken: dict[str, float] = {}  # by NumPy's kernels on trial; infinite where the trial is over


def compile_at_once() -> None:
    """Try no kernels of NumPy's, but compile what is called."""
    global PATIENCE
    PATIENCE = 0.0


def is_on_trial(name: str, element: dtype) -> bool:
    """Whether NumPy's kernel of an op, with whose results the compiled one's agree to the bit, is to go on."""
    from weft.backend_cpu import compiled

    return name in compiled.EXACT and may_wait(f"{name} {element.name}")


def may_wait(work: str, seconds: float = 0.0) -> bool:
    """Whether NumPy is to do some work, after so many seconds more; if not, this process and later ones keep to it."""
    if taken.get(work) == math.inf:
        return False
    from weft.backend_cpu.compiled.codegen import disk_cache

    if work in taken or not disk_cache.is_decided(work):
        taken[work] = taken.get(work, 0.0) + seconds
        if taken[work] < PATIENCE:
            return True
        disk_cache.decide(work)
    taken[work] = math.inf
    return False


def timed(name: str, element: dtype, generic: Kernel, *args: Any) -> Any:
    """Run a kernel on trial."""
    start = time.perf_counter()
    result = generic(*args)
    if not may_wait(f"{name} {element.name}", time.perf_counter() - start):
        invalidate_kernels()
    return result


@cache  # kernels of whole lists are asked for at every call
def makers(name: str, element: dtype, without_numba: bool = False) -> tuple[Maker, ...]:
    """What the libraries declare for an op and a dtype, the best library's first."""
    modules = [(each, each.MODULES[name]) for each in available() if name in each.MODULES]
    if any(hasattr(library, "AT_ONCE") for library, _ in modules) and (without_numba or not imports_numba()):
        modules = [(library, module) for library, module in modules if not hasattr(library, "AT_ONCE")]
    declared = [importlib.import_module(module, library.__name__).KERNELS for library, module in modules]
    return tuple(each[name, element.name] for each in declared if (name, element.name) in each)


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
    """For `weft doctor`: each library, and how many ops it serves, or why it does not."""
    lines = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the line below says it
        imports_numba()
    for name, folder in LIBRARIES.items():
        module = importlib.import_module(f"weft.backend_cpu.{folder}")
        if name in broken:
            lines[name] = f"installed, and does not work: {broken[name]}"
            continue
        state = f"{len(module.MODULES)} ops" if module in available() else "turned off by WEFT_CPU_LIBRARIES"
        lines[name] = f"{module.version()}, {state}" if module.is_available() else module.MISSING
        if module in available() and hasattr(module, "cached_kernels"):
            folders = module.cache_folders()
            place = os.path.commonpath(folders) if folders else "no folder that can be written to"
            lines["compiled"] = f"{module.cached_kernels()} kernels in {place}"
    return lines


def compiled_kernels() -> int:
    """How many kernels the libraries keep on disk."""
    return sum(module.cached_kernels() for module in available() if hasattr(module, "cached_kernels"))
