"""Damaged and hostile files load or raise what `load` documents: none runs code, hangs, or eats the memory.

``WEFT_FILES=10000`` tries so many files instead of those few, and ``WEFT_FILES_SEED=7`` others.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from files_attacks import ATTACKS

HERE = Path(__file__).parent
FILES = int(os.environ.get("WEFT_FILES", "450"))
SEED = int(os.environ.get("WEFT_FILES_SEED", "0"))
KINDS = ("pt", "legacy", "safetensors")
PART = 50
DOCUMENTED = {
    "pt": ("_pickle.UnpicklingError", "builtins.RuntimeError", "builtins.EOFError"),
    "attack": (
        "_pickle.UnpicklingError",
        "builtins.RuntimeError",
        "weft.serialization.safetensors.SafetensorError",
    ),
    "legacy": ("_pickle.UnpicklingError", "builtins.RuntimeError", "builtins.EOFError"),
    "safetensors": ("weft.serialization.safetensors.SafetensorError",),
}
pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits and fork are Linux's here")


@pytest.fixture(scope="module")
def load_file() -> Iterator[Callable[..., dict[str, Any]]]:
    """Load a file, given by kind, seed and number, in a child process; says what became of it."""
    pytest.importorskip("weft.optim")  # the honest files have an optimizer's state
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "WEFT_CPU_LIBRARIES": "none",  # what looks at a large tensor would import and compile kernels, not the file
    }
    with subprocess.Popen(
        [sys.executable, str(HERE / "files_server.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        streams = server.stdin, server.stdout

        def load(*which: Any) -> dict[str, Any]:
            streams[0].write(json.dumps(which).encode() + b"\n")
            streams[0].flush()
            return dict(json.loads(streams[1].readline()))

        yield load
        streams[0].close()


def complaint(kind: str, report: dict[str, Any]) -> str | None:
    """What is wrong with what became of a file."""
    if report == {"returned": True}:
        return None
    if "raised" not in report:
        return str(report)
    if report["raised"][0] not in DOCUMENTED[kind] or not report["message"].startswith(
        ("load", "safe_open", "get_unsafe")
    ):
        return f"{report['raised'][0]}: {report['message'][:500]}"
    return None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(-(-FILES // (PART * len(KINDS)))))
def test_damaged_and_hostile_files_load_or_raise_what_is_documented(
    kind: str, part: int, load_file: Callable[..., dict[str, Any]]
) -> None:
    numbers = range(part * PART, (part + 1) * PART)
    found = {number: complaint(kind, load_file(kind, SEED, number)) for number in numbers}
    assert not {number: what for number, what in found.items() if what}


@pytest.mark.parametrize("name", ATTACKS)
def test_files_that_ask_for_much_by_little_get_what_their_length_explains(
    name: str, load_file: Callable[..., dict[str, Any]]
) -> None:
    assert complaint("attack", load_file("attack", name, 0)) is None
