"""No call ends the interpreter, hangs, eats the memory or returns nonsense: each raises what it should.

The calls are in the tables beside this file, one for each family, and are made by server.py in processes of their own.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from table import Row
from tables import ROWS

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits and fork are Linux's here")


@pytest.fixture(scope="module")
def make_call() -> Iterator[Callable[[Row], dict[str, Any]]]:
    """Make a row's call in a child process; says what became of it."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # a fork takes no threads along
    server = subprocess.Popen(
        [sys.executable, str(HERE / "server.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert server.stdin is not None
    assert server.stdout is not None
    streams = server.stdin, server.stdout

    def make(row: Row) -> dict[str, Any]:
        streams[0].write(json.dumps(row.title).encode() + b"\n")
        streams[0].flush()
        return dict(json.loads(streams[1].readline()))

    yield make
    streams[0].close()
    server.wait()
    streams[1].close()


@pytest.mark.parametrize("row", [row for row in ROWS if row.error], ids=str)
def test_bad_call_raises_the_right_exception(row: Row, make_call: Callable[[Row], dict[str, Any]]) -> None:
    report = make_call(row)
    assert "raised" in report, f"it {report}"
    classes, message = report["raised"], report["message"]
    assert row.error is not None
    expected = f"{row.error.__module__}.{row.error.__qualname__}"
    assert expected in classes, f"{classes[0]}: {message}"
    narrower = classes[: classes.index(expected)]  # the project's own are welcome, NumPy's and Python's are others
    assert not [each for each in narrower if each.startswith(("builtins.", "numpy."))], f"{classes[0]}: {message}"
    missing = [pattern for pattern in row.says if not re.search(pattern, message, re.IGNORECASE)]
    assert not missing, f"{message!r} lacks {missing}"


@pytest.mark.parametrize("row", [row for row in ROWS if not row.error], ids=str)
def test_hard_call_succeeds(row: Row, make_call: Callable[[Row], dict[str, Any]]) -> None:
    assert make_call(row) == {"returned": True}


def test_tables_have_three_hundred_bad_calls_and_each_once() -> None:
    titles = [row.title for row in ROWS]
    assert len(titles) == len(set(titles))
    assert sum(row.error is not None for row in ROWS) >= 300
