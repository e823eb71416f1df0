"""Loads damaged and hostile files, each in a child process of its own: ``python files_server.py``.

It reads kind, seed and number, as JSON, one file in a line, and answers like server.py, whose children it has. What a
file makes the interpreter do besides is seen by an audit hook: to run a program, to execute code, to import, to write.
"""

from __future__ import annotations

import codecs
import gc
import io
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import files
import files_attacks
import server
from table import Row, hard

import weft
import weft.nn
import weft.optim
from weft.serialization import safetensors

server.MEMORY = 384 << 20
server.PROCESSOR = 10
LIMITS_OF_AN_ATTACK = 256 << 20, 4  # bytes and seconds: each takes less than half of these 4 where nothing else runs
TOUCHED = 1000  # tensors of a file that are looked at
WATCHED = (
    "os.",
    "subprocess.",
    "socket.",
    "ctypes.",
    "shutil.",
    "exec",
    "compile",
    "import",
    "pickle.find_class",
    "marshal.",
)
PEACEFUL = ("os.listdir", "os.scandir", "os.walk")
happened: list[str] = []


def main() -> None:
    """Serve until the input ends."""
    bases = files.honest(weft)
    with tempfile.TemporaryDirectory() as folder:
        warm(bases, folder)
        sys.addaudithook(notice)
        gc.collect()
        gc.freeze()
        for line in sys.stdin:
            kind, seed, number = json.loads(line)
            if kind == "attack":
                limits, (server.MEMORY, server.PROCESSOR) = (server.MEMORY, server.PROCESSOR), LIMITS_OF_AN_ATTACK
                report = server.in_a_child(attack(seed, folder), weft)
                server.MEMORY, server.PROCESSOR = limits
            else:
                report = server.in_a_child(row(kind, seed, number, bases, folder), weft)
            print(json.dumps(report), flush=True)


def warm(bases: dict[str, list[bytes]], folder: str) -> None:
    """Load honest files, so that what loading imports has been imported; and damaged ones, for what errors import."""
    for encoding in ("cp437", "raw_unicode_escape", "unicode_escape"):  # of names in archives, of opcodes' arguments
        codecs.lookup(encoding)
    for kind in files.KINDS:
        for number, data in enumerate(bases[kind]):
            for way in range(4):
                load(kind, data, folder, way)
            for cut in (data[: len(data) // 2], data.replace(b"cpu", b"cpx"), data[:-1]):
                attempt(kind, cut, folder, number)


def attempt(kind: str, data: bytes, folder: str, way: int) -> None:
    try:
        load(kind, data, folder, way)
    except Exception:  # what it raises is asked of a child
        return


def row(kind: str, seed: int, number: int, bases: dict[str, list[bytes]], folder: str) -> Row:
    """The call that makes a file, loads it, and looks at what came of it."""

    def call(w: Any) -> bool:
        _, data = files.file_of(kind, seed, number, bases)
        happened.clear()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                load(kind, data, folder, Random(f"{kind} {seed} {number} way").randrange(4))
        finally:
            if happened:
                raise AssertionError(f"the file made the interpreter do {happened[:5]}")
        return True

    return hard(f"{kind} {seed} {number}", call)


def attack(name: str, folder: str) -> Row:
    """The call that loads a file that was made to be too much."""
    kind, data = files_attacks.ATTACKS[name]()
    path = os.path.join(folder, "file")
    with open(path, "wb") as file:
        file.write(data)
    gc.collect()
    gc.freeze()

    def call(w: Any) -> bool:
        happened.clear()
        if kind == "safetensors":
            loaded: Any = safetensors.load_file(path)
        else:
            loaded = w.load(path if kind in files.KINDS else files_attacks.opened(kind, data))
        if happened:
            raise AssertionError(f"the file made the interpreter do {happened[:5]}")
        check_names(loaded)
        return True

    return hard(name, call)


def check_names(loaded: Any) -> None:
    """Nothing that was loaded has an attribute of its own by which Python, or NumPy, would ask it for something."""
    for value in [loaded, *gc.get_referents(loaded)]:
        names = [each for each in getattr(value, "__dict__", {}) if str(each).startswith("__")]
        if names and not isinstance(value, type):
            raise AssertionError(f"a {type(value).__name__} has the attributes {names[:5]}")


def load(kind: str, data: bytes, folder: str, way: int) -> None:
    """Load a file from memory or disk, read or mapped, and use each tensor."""
    path = os.path.join(folder, "file")
    with open(path, "wb") as file:
        file.write(data)
    happened.clear()
    if kind == "safetensors":
        loaded: Any = (
            safetensors.load(data) if way < 2 else safetensors.load_file(path, backend=("mmap", "pread")[way - 2])
        )
    elif way == 1 and kind == "pt":
        loaded = weft.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
    elif way == 2 and kind == "pt":
        loaded = weft.load(path, mmap=True)
    else:
        loaded = weft.load(path if way else io.BytesIO(data))
    look_at(loaded)


def look_at(loaded: Any) -> None:
    """Read and write every byte that the tensors may touch: it has to be theirs."""
    waiting: list[Any] = [loaded]
    seen: set[int] = set()
    while waiting and len(seen) < TOUCHED:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, weft.Tensor):
            look_at_tensor(value)
        elif isinstance(value, dict):
            waiting.extend(list(value.values())[:TOUCHED])
        elif isinstance(value, list | tuple | set | frozenset):
            waiting.extend(list(value)[:TOUCHED])


def look_at_tensor(tensor: Any) -> None:
    if tensor.is_sparse:
        look_at_tensor(tensor._indices())
        look_at_tensor(tensor._values())
        return
    flat = tensor.detach().as_strided((tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,), 0)
    flat.clone()
    if tensor.numel():
        tensor[(0,) * tensor.ndim].item()
        tensor[(-1,) * tensor.ndim].item()


def notice(event: str, arguments: tuple[Any, ...]) -> None:
    """Keep what no file may do."""
    if event.startswith(WATCHED) and not event.startswith(PEACEFUL):
        happened.append(f"{event}{arguments!r}"[:200])
    elif event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        happened.append(f"{event}{arguments[:2]!r}"[:200])


if __name__ == "__main__":
    main()
