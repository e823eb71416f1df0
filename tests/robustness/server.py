"""Makes the calls of the tables, each in a child process of its own: ``python server.py [library]``.

It imports the library once and forks for every title that it reads from its standard input, so that a call costs some
milliseconds, and can do no harm but to its child: that has limits on memory and on processor time, and is killed when
it takes too long. What became of the call goes to the standard output, as one line of JSON.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

MEMORY = 2 << 30  # bytes beyond what the library itself has mapped
PROCESSOR = 20  # seconds
PATIENCE = 60  # seconds by the clock: other processes may be in the way
WARNED = (  # as PyTorch does
    r".*\brange is deprecated",
    r"index_reduce\(\) is in beta",
    r".*degrees of freedom",
    r"index: Using a non-tuple",
)
LIBRARIES = ("nn", "optim", "linalg", "fft", "autograd", "special", "func", "signal", "masked")


def main(library: str) -> None:
    """Serve until the input ends."""
    sys.path.insert(0, str(Path(__file__).parent))
    import tables

    w = importlib.import_module(library)
    for name in LIBRARIES:
        with contextlib.suppress(Exception):  # the rows that need it will say so
            getattr(w, name)
    (w.ones(1) + w.ones(1)).sum()  # finds the backend and the plugins, which is most of what a first call takes
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page
    rows = {row.title: row for row in tables.ROWS}
    for line in sys.stdin:
        print(json.dumps(in_a_child(rows[json.loads(line)], w)), flush=True)


def in_a_child(row: Any, w: Any) -> dict[str, Any]:
    """Fork, make the call there, and wait for what it reports."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            confine(writing)
            report = outcome(row, w)
            os.write(writing, json.dumps(report).encode())
        finally:
            os._exit(0)
    os.close(writing)
    text, ended = read_all(reading, PATIENCE)
    os.close(reading)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not ended:
        return {"ended": f"did not end within {PATIENCE} s"}
    if os.WIFSIGNALED(status):
        return {"ended": f"killed by {signal.Signals(os.WTERMSIG(status)).name}: {text[-2000:]}"}
    try:
        return dict(json.loads(text))
    except ValueError:
        return {"ended": f"ended without a report: {text[-2000:]}"}


def read_all(descriptor: int, seconds: float) -> tuple[str, bool]:
    """What a pipe holds until it is closed at the other end, and whether it was within the time."""
    data, deadline = b"", time.monotonic() + seconds
    while select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(descriptor, 1 << 16)
        if not part:
            return data.decode(errors="replace"), True
        data += part
    return data.decode(errors="replace"), False


def confine(writing: int) -> None:
    """Limit this process, and keep it from the streams of its parent."""
    faulthandler.enable(writing)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def outcome(row: Any, w: Any) -> dict[str, Any]:
    """What the call raises or returns, in words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for message in WARNED:
                warnings.filterwarnings("ignore", message, UserWarning)
            returned = row.call(w)
    except BaseException as error:
        return {"raised": [f"{each.__module__}.{each.__qualname__}" for each in type(error).__mro__],
                "message": str(error)[:4000]}  # fmt: skip
    return {"returned": True if returned is True else f"a value of type {type(returned).__name__}"}


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "weft")
