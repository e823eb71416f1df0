"""Kernels that were compiled when the wheel was built, and are called without Numba.

Beside this file a platform's wheel has a library of machine code for each level of instructions (`LEVELS`), its index,
and the extension module `launch`, which calls them. ``scripts/make_prebuilt.py`` makes the three of the kernels' own
source, with Numba. The pure wheel and a checkout have none: there Numba compiles what is called.

The index has the launchers by module and name, each with its combinations of argument types, and the loops over
elements by name. It is for the source whose checksum it has: after a change of the kernels nothing of it is used.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import json
import os
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from weft.backend_cpu.memory import is_poisoned
from weft.backend_cpu.threads import openmp

__all__ = [
    "LEVELS",
    "Library",
    "NotPrebuilt",
    "address",
    "features",
    "is_there",
    "launcher",
    "library",
    "name_in",
    "name_of",
    "unless_missing",
]

FOLDER = Path(__file__).parent
SOURCE = FOLDER.parent

V2 = "64bit cmov cx16 cx8 fxsr mmx popcnt sahf sse sse2 sse3 sse4.1 sse4.2 ssse3"
V3 = f"{V2} avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"
V4 = f"{V3} avx512bw avx512cd avx512dq avx512f avx512vl"
LEVELS = {"x86-64-v4": frozenset(V4.split()), "x86-64-v3": frozenset(V3.split()), "x86-64-v2": frozenset(V2.split())}
"""The instructions of each level, the highest first."""
BEYOND = frozenset({"avx512bf16"})  # of kernels for which there is no level: Numba compiles them


class NotPrebuilt(RuntimeError):
    """There is no prebuilt kernel for some arguments, and no compiler: NumPy computes."""


class Library(NamedTuple):
    """The prebuilt kernels of this processor's level.

    Attributes
    ----------
    level : str
    launch : module
    launchers : dict
        By name: the argument types, the place in the table, the type of the result.
    loops : dict
        Places in the table by name.
    table : array of int
        Addresses.
    compiler : str
        What compiled them.
    """

    level: str
    launch: Any
    launchers: dict[str, list[tuple[str, int, str]]]
    loops: dict[str, int]
    table: Any
    compiler: str


@cache
def library() -> Library | None:
    """The kernels that came with the wheel; None if there are none, or ``WEFT_CPU_PREBUILT=0`` says so."""
    launch = extension() if is_there() else None
    level = None if launch is None else level_of(launch)
    if level is None or openmp() is None:
        return None
    index = json.loads((FOLDER / f"{level}.json").read_text())
    if index["stamp"] != stamp():
        return None
    code = ctypes.CDLL(str(FOLDER / f"{level}.so"), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    table = (ctypes.c_uint64 * index["count"]).in_dll(code, "weft_kernels")
    set_records(launch)
    return Library(level, launch, index["launchers"], index["loops"], table, index["compiler"])


def extension() -> Any:
    """The extension module; None where there is none."""
    name = f"{__name__}.launch"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def level_of(launch: Any) -> str | None:
    """The highest level that the processor has and a library is there for."""
    found = wanted_features() or {each for level in launch.instructions() for each in LEVELS.get(level, ())}
    return next((name for name, needed in LEVELS.items() if needed <= found and (FOLDER / f"{name}.so").exists()), None)


def wanted_features() -> set[str]:
    """The instructions for which code is compiled by ``NUMBA_CPU_FEATURES``; empty without."""
    if not os.environ.get("NUMBA_CPU_NAME"):
        return set()
    return {each[1:] for each in os.environ.get("NUMBA_CPU_FEATURES", "").split(",") if each.startswith("+")}


def stamp() -> int:
    """A checksum of the source of all kernels."""
    found = 0
    for folder in ("codegen", "kernels"):
        for file in sorted((SOURCE / folder).glob("*.py")):
            found = zlib.crc32(file.read_bytes(), found)
    return found


KINDS = {"float16": "h", "bfloat16": "g"}  # of arrays of half precision, in descriptions of arguments


def set_records(launch: Any) -> None:
    """Have calls know the dtypes of half precision."""
    import numpy

    dtypes = [each for name, kind in KINDS.items() for each in (numpy.dtype([(name, "u2")]), kind)]
    launch.set_records(*dtypes)


@cache
def features() -> frozenset[str]:
    """The instructions that kernels are written for: the library's level, or what Numba compiles for."""
    found, wanted = library(), wanted_features()
    if found is not None:
        can_compile = not wanted and importlib.util.find_spec("numba") is not None
        return LEVELS[found.level] | (BEYOND & set(found.launch.instructions()) if can_compile else set())
    if wanted:
        return frozenset(wanted)
    host = importlib.import_module("llvmlite.binding").get_host_cpu_features()
    return frozenset(name for name, there in host.items() if there)


@cache
def is_there() -> bool:
    """Whether there are prebuilt kernels, for this processor or another; nothing is loaded."""
    wanted = os.environ.get("WEFT_CPU_PREBUILT") != "0" and not is_poisoned()  # their own memory is not filled
    return wanted and any(FOLDER.glob("*.json"))


def need_compiler(name: str, load: Callable[[], None]) -> None:
    """Load Numba.

    Raises
    ------
    NotPrebuilt
        If it is not installed, or, as the cause, does not work, and kernels are prebuilt.
    """
    if not reasons:
        try:
            load()
            return
        except Exception as error:
            if library() is None:
                raise
            reasons.append(
                None if isinstance(error, ModuleNotFoundError) and error.name in ("numba", "llvmlite") else error
            )
    raise NotPrebuilt(f"{name} is not among the prebuilt kernels") from reasons[0]


reasons: list[Exception | None] = []  # why Numba does not load, once that was tried: None where it is not installed


def name_of(function: Any) -> str:
    """The name of a function in the index: its module's below this package, and its own."""
    return name_in(function.__module__, function.__qualname__)


def name_in(module: str, name: str) -> str:
    """The same of what a module has under a name."""
    return f"{module.removeprefix(__name__.rpartition('.')[0] + '.')}.{name}"


def launcher(function: Callable[..., Any], deferred: Any) -> Any:
    """What Python calls in a function's place: its prebuilt kernels, and Numba's for other arguments."""
    found, name = library(), name_of(function)
    assert found is not None
    entries = [(types, found.table[place], result) for types, place, result in found.launchers.get(name, ())]
    return found.launch.Launcher(name, lambda *args: deferred.numba(*args), tuple(entries))


def address(name: str) -> int | None:
    """The address of a prebuilt loop over elements; None if there is none of this name."""
    found = library()
    place = None if found is None else found.loops.get(name)
    return None if found is None or place is None else int(found.table[place])


def unless_missing(function: Callable[..., Any], *args: Any) -> Any:
    """What a function gives that calls launchers; None where one has no kernel."""
    try:
        return function(*args)
    except NotPrebuilt:
        return None


def describe() -> str | None:
    """For `weft doctor`: how many kernels there are, of which level, or why they are not used; None without."""
    found = library()
    if found is None:
        return "for another source or processor than this one" if is_there() else None
    kernels = sum(map(len, found.launchers.values())) + len(found.loops)
    return f"{kernels} kernels for {found.level}, compiled by {found.compiler}"
