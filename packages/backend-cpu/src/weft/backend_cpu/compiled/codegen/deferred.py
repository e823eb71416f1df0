"""Functions for Numba, made when something is compiled that uses them: Numba need not be there before.

Kernels that came ready with the wheel (`prebuilt`) run without Numba, so modules of kernels take its decorators and
names from here. What a decorator gives stands for the function, and Numba sees what it makes of it (`Deferred`).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import Any

from weft.backend_cpu import threads
from weft.backend_cpu.compiled import prebuilt

__all__ = ["Deferred", "carray", "cgutils", "from_dtype", "intrinsic", "ir", "llvm", "njit", "overload", "types"]

NUMBA_SIDE = "weft.backend_cpu.compiled.codegen.numba_types"  # which has Numba know what a `Deferred` stands for


class Names:
    """The names of a module, which is imported for the first of them."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self._module), name)
        setattr(self, name, value)
        return value


types: Any = Names("numba.core.types")
cgutils: Any = Names("numba.core.cgutils")
ir: Any = Names("llvmlite.ir")
llvm: Any = Names("weft.backend_cpu.compiled.codegen.llvm_types")
vectors: Any = Names("weft.backend_cpu.compiled.codegen.vectors")
disk_cache: Any = Names("weft.backend_cpu.compiled.codegen.disk_cache")


class Deferred:
    """What stands for a function of Numba's until something is compiled that uses it.

    Parameters
    ----------
    make : callable
        Gives the function: a dispatcher, an intrinsic, a function that Numba has code for.
    function : function, optional
        What it is made of.
    """

    def __init__(self, make: Callable[[], Any], function: Any = None) -> None:
        self.make = make
        self.py_func = function
        self.__module__ = getattr(function, "__module__", __name__)
        self.__name__ = self.__qualname__ = getattr(function, "__qualname__", "deferred")
        self.__doc__ = getattr(function, "__doc__", None)

    def __reduce__(self) -> Any:
        return named, (self.__module__, self.__qualname__)

    @cached_property
    def numba(self) -> Any:
        """The function, as Numba has it."""
        prebuilt.need_compiler(self.__qualname__, import_numba)
        return self.make()


@cache  # once it is whole: a thread that comes while another imports it waits
def import_numba() -> None:
    """Import Numba, and tell it of weft's functions."""
    threads.uninterrupted(partial(importlib.import_module, NUMBA_SIDE))


def compiled_with(pipeline_class: str = "", **options: Any) -> Callable[[Any], Deferred]:
    """A decorator like `numba.njit`, whose machine code is kept on disk.

    Parameters
    ----------
    pipeline_class : str, optional
        One of `vectors`.
    **options
        Of `numba.njit`.
    """

    def decorate(function: Any) -> Deferred:
        def make() -> Any:
            pipeline = {"pipeline_class": getattr(vectors, pipeline_class)} if pipeline_class else {}
            return disk_cache.cached_njit(**options, **pipeline)(function)

        return Deferred(make, function)

    return decorate


def compiled_c_function(
    signature: str, *modules: str, name: str, request: Any, pipeline_class: str = "", **options: Any
) -> Callable[[Any], Any]:
    """`disk_cache.c_function`, at once: the pipeline's class is one of `vectors`."""
    prebuilt.need_compiler("a loop over elements", import_numba)
    pipeline = getattr(vectors, pipeline_class) if pipeline_class else None
    given = {"name": name, "request": request, "pipeline_class": pipeline}
    made: Callable[[Any], Any] = disk_cache.c_function(signature, *modules, **given, **options)
    return made


def named(module: str, name: str) -> Any:
    """What a module has under a name."""
    found: Any = importlib.import_module(module)
    for each in name.split("."):
        found = getattr(found, each)
    return found


def decorator_of(module: str, name: str, **options: Any) -> Callable[[Any], Any]:
    """A decorator of Numba's, applied when it is needed."""

    def made(function: Any) -> Deferred:
        def make() -> Any:
            decorator = named(module, name)
            return decorator(**options)(function) if options else decorator(function)

        return Deferred(make, function)

    return made


def njit(function: Any = None, **options: Any) -> Any:
    """`numba.njit`."""
    made = decorator_of("numba", "njit", **options)
    return made if function is None else made(function)


def intrinsic(function: Any = None, **options: Any) -> Any:
    """`numba.extending.intrinsic`."""
    made = decorator_of("numba.extending", "intrinsic", **options)
    return made if function is None else made(function)


overloads: list[Callable[[], Any]] = []
"""What is to be registered with Numba before anything is compiled."""


def overload(target: Any, **options: Any) -> Callable[[Any], Any]:
    """`numba.extending.overload`."""

    def register(function: Any) -> Any:
        def apply() -> Any:
            return named("numba.extending", "overload")(target, **options)(function)

        if NUMBA_SIDE in sys.modules:
            apply()
        else:
            overloads.append(apply)
        return function

    return register


carray: Any = Deferred(lambda: named("numba", "carray"))


def from_dtype(dtype: Any) -> Any:
    """`numba.from_dtype`."""
    return named("numba", "from_dtype")(dtype)
