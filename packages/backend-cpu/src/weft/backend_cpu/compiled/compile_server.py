"""The process that compiles kernels for another one, which goes on meanwhile (`background`).

``python -m weft.backend_cpu.compiled.compile_server PID`` reads from its standard input what the process PID asks for,
compiles one kernel after the other into the disk cache, and prints nothing. Of all such processes one compiles at a
time. It ends when the other one does, after the kernel at hand if that takes no longer than `GRACE`, and when nothing
was asked for a while.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["main"]

IDLE = 20.0  # seconds after which it ends if nothing is asked for
GRACE = 3.0  # seconds that a kernel at hand may take when the other process has ended
WATCH = 0.5  # seconds after which it looks whether the other process is there
NICE = 10

Requests = queue.SimpleQueue[tuple[Any, ...]]


def main(parent: int) -> int:
    """Compile what is asked for; 1 if that cannot be kept on disk."""
    lower_priority()
    requests: Requests = queue.SimpleQueue()
    at_hand = threading.Lock()
    threading.Thread(target=read, args=(sys.stdin.buffer, requests, at_hand), daemon=True).start()
    idle = 0.0
    while idle < IDLE and has_parent(parent):
        try:
            name, *args = requests.get(timeout=WATCH)
        except queue.Empty:
            idle += WATCH
            continue
        idle = 0.0
        with suppress(Exception):  # what cannot be compiled here fails there too, where somebody sees it
            if not alone(parent, at_hand, partial(WORK[name], *args)):
                return 1
    return 0


def lower_priority() -> None:
    """Leave the processors to others; Ctrl+C is for the other process."""
    with suppress(OSError, ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):  # on Windows it was started so
        with suppress(OSError):
            os.nice(NICE)


def has_parent(parent: int) -> bool:
    """Whether the other process is still there, as far as the system tells."""
    return sys.platform == "win32" or os.getppid() == parent


def read(source: BinaryIO, requests: Requests, at_hand: threading.Lock) -> None:
    """Take requests as they come, so that nobody waits to write them; end the process when no more can come."""
    while (head := source.read(8)) and len(head) == 8:
        requests.put(pickle.loads(source.read(int.from_bytes(head, "little"))))
    at_hand.acquire(timeout=GRACE)
    os._exit(0)


def alone(parent: int, at_hand: threading.Lock, work: Callable[[], bool]) -> bool:
    """Do some work while no other server of this user does; whether its kernel is on disk then."""
    from weft.backend_cpu.compiled.codegen.file_lock import exclusive

    while has_parent(parent):
        with exclusive(lock_file(), WATCH) as free:
            if free:
                with at_hand:
                    return work()
    return False


def lock_file() -> Path:
    """The file that the server that compiles has locked: the user's own, on this machine."""
    import tempfile

    user = os.getuid() if hasattr(os, "getuid") else ""
    return Path(tempfile.gettempdir()) / f"weft-compile-server-{user}.lock"


def launcher(place: str, module: str, name: str, signature: bytes) -> bool:
    """Compile a function that Python calls; whether its kernel is in the folder ``place``."""
    importlib.import_module(module)
    from numba.core.serialize import loads

    from weft.backend_cpu.compiled import prebuilt
    from weft.backend_cpu.compiled.codegen.parallel import launchers

    dispatcher, types = launchers[prebuilt.name_in(module, name)].numba, loads(signature)
    dispatcher.compile(types)
    return is_in(place, dispatcher._cache, types, dispatcher.targetctx)


def loop(place: str, name: str, module: str = "", formula: bytes = b"") -> bool:
    """Compile a loop over elements by its name, of a scalar function that is defined in a module; as `launcher`."""
    from weft.backend_cpu.compiled.codegen import elementwise

    if formula:
        from numba.core.serialize import loads

        importlib.import_module(module)
        elementwise.scalar_function(name.partition("|")[0].rpartition(" ")[0], loads(formula))
    elementwise.compile_named(name)
    made = elementwise.loops[name]
    return is_in(place, made._cache, made._sig, made._targetdescr.target_context)


def is_in(place: str, cache: Any, sig: Any, target_context: Any) -> bool:
    """Whether a kernel is on disk where the other process looks for it."""
    from weft.backend_cpu.compiled.codegen.disk_cache import KernelCache

    return isinstance(cache, KernelCache) and cache.cache_path == place and cache.has(sig, target_context)


WORK: dict[str, Callable[..., bool]] = {"launcher": launcher, "loop": loop}

if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
