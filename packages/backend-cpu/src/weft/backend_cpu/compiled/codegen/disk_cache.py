"""The cache of compiled kernels on disk: an entry is whole and for the right kernel, or there is none.

Numba numbers the data files of a function by the entries of its index. Two processes that have read the same index take
the same number for different kernels; then one index leads to the other's file, and from then on a program silently
computes something else (Numba 0.68). Here a file is named by a hash of what it is the kernel of, and an index is read
and written by one process at a time: where files cannot be locked, the worst that two processes can do to each other is
to forget a kernel, which is compiled again.

Numba checks whether a function's own file has changed. Here the files of the functions that it calls are checked too.

A compiled kernel works whether it can be cached or not (a disk may be full). It is compiled on a thread of its own, out
of reach of interrupts: one while Numba reads its registries would leave them half read, and one while LLVM hands the
code over is swallowed, whereupon Numba has nothing to cache ("no compiled object yet"). A file that cannot be read, as
after a loss of power, counts as missing. Only weft's own functions are cached so: Numba's classes stay as they are.

Beside the kernels is an empty file for each work that was found to be worth compiling (tiered compilation).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.ccallback import CFunc
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from weft.backend_cpu.compiled import background
from weft.backend_cpu.compiled.codegen.file_lock import exclusive
from weft.backend_cpu.threads import uninterrupted

__all__ = ["c_function", "cached", "cached_njit", "decide", "folder", "folder_of", "is_decided"]


class KernelFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The data files of a function's kernels, and their index."""

    def save(self, key: Any, data: Any) -> None:
        """Write the data first, then the index entry that leads there."""
        name = self._data_name(int(sha256(self._dump(key)).hexdigest()[:16], 16))
        self._save_data(name, data)
        with exclusive(os.path.join(self._cache_path, "index.lock"), seconds=1.0):
            self._save_index(self._readable_index() | {key: name})

    def has(self, key: Any) -> bool:
        """Whether there is data of a key, or seems to be."""
        return key in self._readable_index()

    def load(self, key: Any) -> Any:
        """The data of a key; None if there is none, or it cannot be read."""
        try:
            return super().load(key)
        except Exception:
            return None

    def _readable_index(self) -> dict[Any, str]:
        try:
            found: dict[Any, str] = self._load_index()
        except Exception:  # cut short: what it led to is compiled again
            return {}
        return found


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The cached kernels of a function.

    Parameters
    ----------
    py_func : function
    *modules : str
        Names of more modules that it calls functions of.
    """

    def __init__(self, py_func: Any, *modules: str) -> None:
        super().__init__(py_func)
        self._function = py_func.__name__
        stamp = self._impl.locator.get_source_stamp(), *map(sources_of, (py_func.__module__, *modules))
        self._cache_file = KernelFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load a kernel; None if there is no whole one."""
        try:
            found = super().load_overload(sig, target_context)
        except Exception:
            found = None
        if found is None:
            tell_of_compiling(self._function, sig)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Cache a kernel if possible: it works without."""
        with suppress(Exception):
            super().save_overload(sig, data)

    def has(self, sig: Any, target_context: Any) -> bool:
        """Whether there is a kernel."""
        return self._cache_file.has(self._index_key(sig, target_context.codegen()))


def need(cache: Any, sig: Any, target_context: Any, name: str, request: Callable[[], background.Request]) -> None:
    """Before a kernel is compiled here, have it compiled elsewhere if NumPy can go on meanwhile.

    Parameters
    ----------
    cache, sig, target_context
        Of the function; where it has no `KernelCache`, what is compiled elsewhere cannot come here.
    name : str
        Of the function.
    request : callable
        Gives what the server is to do: the name of a function of `compile_server`, and its arguments behind the first.

    Raises
    ------
    NotCompiled
        If NumPy has to compute until the kernel is there.
    """
    if not isinstance(cache, KernelCache) or not background.may_wait():
        return
    key = name, sig
    if cache.has(sig, target_context):
        background.loaded(key)
    elif background.leave_to_server(key, cache.cache_path, request):
        raise background.NotCompiled(f"{name} is being compiled")


@background.marked(False)  # what it calls is compiled with it
def compile_here(work: Callable[[], Any]) -> Any:
    """Compile, or read from disk, out of reach of interrupts."""
    return uninterrupted(work)


has_told = False  # that something is compiled


def tell_of_compiling(name: str, signature: Any) -> None:
    """Say on stderr, once in a process, what a program waits for; not where ``WEFT_QUIET`` is set."""
    global has_told
    if has_told or os.environ.get("WEFT_QUIET", "0") not in ("", "0"):
        return
    has_told = True
    arrays = [str(each) for each in getattr(signature, "args", signature) if str(each).startswith("array(")]
    given = f"({', '.join(arrays)})" if arrays else ""
    print(
        f"weft: compiling the CPU's loops that are called for the first time, here {name}{given}. They are kept on "
        "disk; `weft warm` compiles the usual ones ahead of time (WEFT_QUIET=1: not a word)",
        file=sys.stderr,
    )


@cache
def sources_of(name: str) -> tuple[tuple[str, float, int], ...]:
    """The files of a module, and of the compiled modules that it has functions of: names, times and sizes."""
    package, seen, ahead = __name__.rsplit(".", 2)[0], set[str](), [name]
    while ahead:
        name = ahead.pop()
        if name in seen or not name.startswith(package) or name not in sys.modules:
            continue
        seen.add(name)
        values = list(vars(sys.modules[name]).values())
        ahead += {each.__name__ if isinstance(each, ModuleType) else str(module_of(each)) for each in values}
    found = [os.stat(file) for file in files_of(seen)]
    return tuple((name, each.st_mtime, each.st_size) for name, each in zip(sorted(seen), found))


def module_of(value: Any) -> Any:
    """The name of the module where a function was defined, also one that is to be compiled."""
    return getattr(value, "__module__", None)


def files_of(names: set[str]) -> list[str]:
    """The files of modules that are imported."""
    return [str(sys.modules[name].__file__) for name in sorted(names)]


def cached(dispatcher: Any, *modules: str) -> Any:
    """Have the kernels of a function of `numba.njit` cached on disk, and compiled out of reach of interrupts."""
    with suppress(RuntimeError):  # Numba: "no locator available"
        dispatcher._cache = KernelCache(dispatcher.py_func, *modules)
    compiled, function = dispatcher.compile, dispatcher.py_func

    def compile_or_wait(signature: Any) -> Any:
        if signature not in dispatcher.overloads:
            place = function.__module__, function.__qualname__
            request = lambda: ("launcher", *place, dumps(signature))  # noqa: E731
            need(dispatcher._cache, signature, dispatcher.targetctx, ".".join(place), request)
        return compile_here(lambda: compiled(signature))

    dispatcher.compile = compile_or_wait
    return dispatcher


def cached_njit(**options: Any) -> Callable[[Any], Any]:
    """`numba.njit` with these options, cached on disk."""
    compiler = njit(**options)
    return lambda function: cached(compiler(function))


def c_function(
    signature: str, *modules: str, name: str, request: Any, pipeline_class: Any = None, **options: Any
) -> Callable[[Any], Any]:
    """`numba.cfunc`, cached on disk, for functions that call functions of these modules; `need` has the rest."""
    pipeline = {} if pipeline_class is None else {"pipeline_class": pipeline_class}

    def compiled(function: Any) -> Any:
        made: Any = CFunc(function, normalize_signature(signature), locals={}, options=options, **pipeline)
        with suppress(RuntimeError):
            made._cache = KernelCache(function, *modules)
        need(made._cache, made._sig, made._targetdescr.target_context, name, request)
        compile_here(made.compile)
        return made

    return compiled


def folder_of(function: Any) -> Path | None:
    """Where Numba keeps a function's kernels: beside its source, in NUMBA_CACHE_DIR, or in the user's cache.

    None where it can write to none of them.
    """
    try:
        return Path(FunctionCache(function).cache_path)
    except RuntimeError:  # "no locator available"
        return None


@cache
def folder() -> Path | None:
    """Where notes are kept: beside the kernels of this folder."""
    return folder_of(cached_njit)


def note_of(work: str) -> Path | None:
    """The file that says that some work is for compiled kernels; None where there can be no files."""
    found = folder()
    return None if found is None else found / f"{work.replace('::', '.').replace(' ', '.')}.decided"


def is_decided(work: str) -> bool:
    """Whether some work was found to be worth compiled kernels, by this process or one before."""
    note = note_of(work)
    return note is not None and note.exists()


def decide(work: str) -> None:
    """Note that some work is worth compiled kernels, where files can be written."""
    note = note_of(work)
    if note is not None:
        with suppress(OSError):
            note.parent.mkdir(parents=True, exist_ok=True)
            note.touch()
