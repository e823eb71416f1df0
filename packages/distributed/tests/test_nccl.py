"""The engine on NCCL, with threads for ranks on a stand-in for CuPy and NCCL, in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

from weft.distributed.communicators.suite import COMPLEX, FLOATS, INTEGERS
from weft.testing import CommunicatorSuite

HERE = Path(__file__).parent


def run(file, *arguments):
    """What a program of this folder prints, as JSON."""
    command = [sys.executable, HERE / file, *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class TestNccl(CommunicatorSuite):
    dtypes = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
    skip = frozenset(  # NCCL sends no tags
        {"tags_are_received_in_any_order", "messages_from_any_source", "messages_during_collectives"}
    )

    def start(self, size):
        return run("nccl_suite.py", size)


def test_calls_are_ordered_by_events_and_errors_end_the_wait():
    said = run("nccl_streams.py")
    assert said["order"] == [
        "current: event",
        "engine: waits",
        "engine: allReduce",
        "engine: event",  # for the thread that watches
        "engine: event",
        "current: waits",
    ]
    assert said["sums"] == [[[3.0, 3.0], [1.5, 1.5]]] * 2
    assert said["strided"] == [[3.0, 0.0, 3.0, 0.0]] * 2
    assert said["received"] == [1.0, 0.0]
    assert said["batch"] == [1.0, 0.0]
    assert "nothing came from rank 1, within 2 s" in said["late"]
    first, second = said["asynchronous"]
    assert "nccl: NCCL_ERROR_SYSTEM_ERROR: remote process exited" in first
    assert "failed before" in second


def test_without_cupy_the_error_says_what_to_install():
    program = (
        "import sys; sys.modules['cupy'] = None\nfrom weft.distributed.communicators import nccl\nnccl.nccl_library()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "pip install 'weft-backend-cuda[cupy]' nvidia-nccl-cu13" in done.stderr
