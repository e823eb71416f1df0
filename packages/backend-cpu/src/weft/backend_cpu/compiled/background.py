"""Kernels that another process compiles, while this one goes on with NumPy's.

Where NumPy's kernel of an op computes the same bits, nobody need wait for the compiled one. A process of low priority
(`compile_server`) is asked for it, and writes it to the disk cache; this one takes it from there when it is found. The
process is started for the first kernel that is asked for. It ends when nothing is asked for any more, with this
process, or by itself when nothing was asked for a while.

What is not there when the process has ended, this one compiles itself, as it does where there is no disk cache, or no
process can be started. It is worth that: NumPy has taken as long by then.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from weft.backend_cpu.compiled.prebuilt import NotPrebuilt

if TYPE_CHECKING:
    import subprocess  # which few programs need

__all__ = [
    "NotCompiled",
    "Request",
    "describe",
    "is_ready",
    "leave_to_server",
    "loaded",
    "marked",
    "may_wait",
    "until_there",
]

Function = TypeVar("Function", bound=Callable[..., Any])

SERVER = "weft.backend_cpu.compiled.compile_server"

Request = tuple[Any, ...]
"""A function of `compile_server`'s, by name, and its arguments behind the first, the folder of the kernel."""


class NotCompiled(NotPrebuilt):
    """A kernel that the server compiles: NumPy computes until it is there."""


# Whether NumPy can go on is seen from the stack when a kernel is missing. To note it at each call would cost as much as
# a small kernel.

marks: dict[CodeType, bool] = {}  # of functions: whether what they call may be waited for


def marked(waits: bool) -> Callable[[Function], Function]:
    """A decorator: of what the function calls, kernels that are missing may raise `NotCompiled`, or may not."""

    def mark(function: Function) -> Function:
        marks[function.__code__] = waits  # type: ignore[attr-defined]
        return function

    return mark


def may_wait() -> bool:
    """Whether a kernel may be compiled elsewhere: of the marked functions that are running, the innermost tells."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        found = marks.get(frame.f_code)
        if found is not None:
            return found and importlib.import_module("weft.backend_cpu.libraries").COMPILE_AFTER_SECONDS > 0
        frame = frame.f_back
    return False


MOST = 255  # calls that are left to NumPy before a missing kernel is looked for again


def until_there(run: Callable[..., Any], generic: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled kernel, and NumPy's, which computes the same bits, in its place while a part of it is missing.

    More and more calls are left to NumPy before it is looked for again.
    """
    ahead = skipped = 0

    @marked(False)
    def leave(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        nonlocal ahead
        ahead -= 1
        return generic(*args, **options)

    @marked(False)
    def miss(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        nonlocal ahead, skipped
        ahead = skipped = min(2 * skipped + 1, MOST)
        return generic(*args, **options)

    @marked(True)
    def run_when_there(*args: Any, **options: Any) -> Any:
        if ahead > 0:
            return leave(args, options)
        try:
            return run(*args, **options)
        except NotCompiled:
            return miss(args, options)

    return run_when_there


found_ready: dict[Any, Callable[..., bool] | None] = {}  # None: it is


def is_ready(key: Any, run: Callable[..., Any], *args: Any) -> bool:
    """Whether a kernel is there: it is called, with arguments for which it does nothing.

    For what cannot be left half way, as where random numbers were drawn.
    """
    if key not in found_ready:
        found_ready[key] = until_there(partial(returns, run), lambda *args: False)
    look = found_ready[key]
    if look is not None and look(*args):
        found_ready[key] = look = None
    return look is None


def returns(run: Callable[..., Any], *args: Any) -> bool:
    """Call a kernel; False if it is not prebuilt, and there is no compiler."""
    try:
        run(*args)
    except NotCompiled:
        raise
    except NotPrebuilt:
        return False
    return True


# The server, and what it was asked for

lock = threading.Lock()
server: subprocess.Popen[bytes] | None = None
asked: set[Any] = set()  # and not found yet
refused: set[Any] = set()  # for which no server is asked again


def leave_to_server(key: Any, folder: str, request: Callable[[], Request]) -> bool:
    """Ask for a kernel on disk, if that was not done; False if this process has to compile it."""
    with lock:
        if key in refused:
            return False
        if key in asked and server is not None and server.poll() is None:
            return True
        if key not in asked:
            with suppress(Exception):  # of a system without processes or pipes, of types that cannot be pickled
                work, *args = request()
                sent = pickle.dumps((work, folder, *args))
                process = running()
                if process is not None and process.stdin is not None:
                    process.stdin.write(len(sent).to_bytes(8, "little") + sent)
                    asked.add(key)
                    return True
        asked.discard(key)
        refused.add(key)
        return False


def loaded(key: Any) -> None:
    """Note that a kernel was found; the server is let go when there is nothing left that it was asked for."""
    with lock:
        if key in asked:
            asked.discard(key)
            if not asked:
                let_go(seconds=0.05)


def running() -> subprocess.Popen[bytes] | None:
    """The server, started if there is none; None if none can be."""
    global server
    if server is not None and server.poll() is not None:
        let_go()
    if server is None and not is_closed and is_python(sys.executable):
        import subprocess

        server = subprocess.Popen(
            [sys.executable, "-P", *["-s"] * sys.flags.no_user_site, "-m", SERVER, str(os.getpid())],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
            **apart(),
        )
    return server


def is_python(executable: str | None) -> bool:
    """Whether this is an interpreter, and no program that one is part of: that would run itself."""
    name = os.path.basename(executable or "").lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


def apart() -> dict[str, Any]:
    """Have Ctrl+C not reach the server; no window opens."""
    if sys.platform == "win32":
        import subprocess

        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        return {"creationflags": flags | subprocess.BELOW_NORMAL_PRIORITY_CLASS}
    return {"process_group": 0}


PACKAGES = ("weft.backend_cpu", "weft.backend", "numpy", "ml_dtypes", "pluggy", "numba", "llvmlite")


def environment() -> dict[str, str]:
    """The server's: it finds the packages where this process has, and nothing of the program's."""
    import numba

    found = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON") or key == "PYTHONHOME"}
    places = [folder_of(name) for name in PACKAGES]
    found["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(each for each in places if each))
    found["NUMBA_CACHE_DIR"] = os.path.abspath(numba.config.CACHE_DIR) if numba.config.CACHE_DIR else ""
    return found | {"WEFT_QUIET": "1"}


def folder_of(name: str) -> str | None:
    """The folder from which a package was imported, as it is on the path."""
    file = getattr(importlib.import_module(name), "__file__", None)
    if file is None:
        return None
    folder = os.path.dirname(os.path.abspath(file))
    return os.path.normpath(os.path.join(folder, *[".."] * (name.count(".") + file.endswith("__init__.py"))))


def describe(patience: float, has_folder: bool) -> str:
    """For `weft doctor`: who compiles what is missing."""
    if patience <= 0:
        return "at once, in the program (WEFT_CPU_PATIENCE=0)"
    if not has_folder or not is_python(sys.executable):
        return "in the program, which waits; no other process can"
    return "where NumPy computes the same bits in another process, else in the program, which waits"


def let_go(seconds: float = 0.0) -> None:
    """Have the server end, and wait for it that long. What it was asked for and is not there is refused."""
    global server
    if server is None:
        return
    from subprocess import TimeoutExpired

    process, server = server, None
    refused.update(asked)
    asked.clear()
    with suppress(OSError):
        process.stdin.close()  # type: ignore[union-attr]
    try:
        process.wait(seconds)
    except TimeoutExpired:
        ending.append(process)
    ending[:] = [each for each in ending if each.poll() is None]


ending: list[subprocess.Popen[bytes]] = []  # servers that were let go and had not ended yet


# At its end, and in its forked children, a process has nothing to do with its servers any more

is_closed = False  # no server is started


def abandon() -> None:
    """Have the servers end some time, without a word about it."""
    global server
    for process in [*ending, *([] if server is None else [server])]:
        with suppress(OSError):
            process.stdin.close()  # type: ignore[union-attr]
        process.returncode = process.returncode or 0  # or Python warns that it runs
    server = None
    ending.clear()
    asked.clear()


def close() -> None:
    """Before the interpreter ends."""
    global is_closed
    is_closed = True
    abandon()


def after_fork() -> None:
    """In a forked child, which starts a server of its own."""
    global lock
    lock = threading.Lock()
    abandon()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=after_fork)
