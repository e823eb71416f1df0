"""What a function runs while it is looked at: the program's own code, and what of it has effects that no op shows."""

from __future__ import annotations

import functools
import gc
import io
import logging
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType
from typing import Any, ParamSpec, Self, TypeVar

import numpy

__all__ = ["STATEFUL", "Execution", "is_of_library", "unseen", "without_collector"]

P = ParamSpec("P")
R = TypeVar("R")

# Functions of Python's that have an effect besides their result, or a result that no guard compares.
EFFECTS = frozenset("print input open exec eval globals locals breakpoint".split())
# Modules of Python's whose functions have no effect but their result.
PURE = frozenset(
    "abc builtins _abc _collections _collections_abc _functools _operator _struct _typing cmath collections contextlib "
    "copy dataclasses enum functools inspect itertools math numbers operator re string struct types typing weakref "
    "_weakref _thread threading _contextvars contextvars importlib _imp _frozen_importlib".split()
)
LIBRARIES = frozenset("weft torch torchvision numpy scipy ml_dtypes numba llvmlite".split())
STATEFUL = (random.Random, logging.Logger, io.IOBase, numpy.random.Generator, numpy.random.RandomState)


class Execution:
    """Looks at the calls that a block makes in this thread.

    Attributes
    ----------
    codes : dict
        The program's own code that ran, with the globals that it ran with.
    effect : str
        The first call that a replay would leave out; empty if there was none.
    """

    def __init__(self) -> None:
        self.codes: dict[Any, dict[str, Any]] = {}
        self.effect = ""
        self.imports = (
            0  # modules that are being imported: the code that finds and makes them is no part of the program
        )

    def __enter__(self) -> Self:
        self.before = sys.getprofile()
        sys.setprofile(self.see)
        return self

    def __exit__(self, *raised: object) -> None:
        sys.setprofile(self.before)

    def see(self, frame: FrameType, event: str, argument: Any) -> None:
        """Hear of a call, or of a return from one."""
        if event == "c_return" or event == "c_exception":
            return
        name = frame.f_globals.get("__name__", "")
        if not name and (frame.f_back is None or frame.f_back.f_globals.get("__name__", "").startswith("numba.")):
            return  # of Numba: texts that it evaluates, and frames that it makes up for compiled functions
        if event == "c_call" and not self.imports and is_of_library(name):
            return
        if name.startswith("importlib."):
            self.imports += (event == "call") - (event == "return")
        elif self.imports or event == "return":
            return
        elif event == "call":
            if not is_of_library(name):
                self.codes[frame.f_code] = frame.f_globals
            elif not self.effect and frame.f_back is not None and is_program(frame.f_back):
                top = name.partition(".")[0]
                if top in sys.stdlib_module_names and top not in PURE:
                    self.note(f"{frame.f_code.co_name} of the module {top}", frame.f_back)
        elif not self.effect:
            owner = getattr(argument, "__self__", None)
            holder = owner if isinstance(owner, type) else type(owner)
            top = (getattr(argument, "__module__", None) or holder.__module__).partition(".")[0]
            reaches_out = top in sys.stdlib_module_names and top not in PURE
            if reaches_out or isinstance(owner, STATEFUL) or (top == "builtins" and argument.__name__ in EFFECTS):
                self.note(argument.__name__, frame)

    def note(self, what: str, frame: FrameType) -> None:
        line = f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
        self.effect = f"it calls {what}, whose effect a replay would leave out ({line})"


def unseen(method: Callable[P, R]) -> Callable[P, R]:
    """Decorator: `Execution` does not look while this runs, which is no part of the program."""

    @functools.wraps(method)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        hook = sys.getprofile()
        if not callable(hook):  # nobody looks, or a profiler of C's, which cannot be set again
            return method(*args, **kwargs)
        sys.setprofile(None)
        try:
            return method(*args, **kwargs)
        finally:
            sys.setprofile(hook)

    return run


@contextmanager
def without_collector() -> Iterator[None]:
    """Python's garbage collector is off: no `__del__` runs that has nothing to do with the block."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def is_program(frame: FrameType) -> bool:
    """Whether a frame runs the program's own code."""
    return not is_of_library(frame.f_globals.get("__name__", ""))


@lru_cache(4096)
def is_of_library(module: str) -> bool:
    """Whether a module is weft's, Python's, NumPy's or of those under them, not the program's own."""
    top = module.partition(".")[0]
    return top in LIBRARIES or top in sys.stdlib_module_names or top.startswith("namedtuple_")
