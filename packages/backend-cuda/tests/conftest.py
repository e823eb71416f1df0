"""Which device the tests in ``device/`` run on: with ``WEFT_CUDA=stand-in`` on the stand-in for CuPy, else on a GPU.

Without either they are not collected, and the end of the run says how many tests that leaves out.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for cupy_stand_in
ON_STAND_IN = os.environ.get("WEFT_CUDA") == "stand-in"

if ON_STAND_IN:
    import cupy_stand_in

    cupy_stand_in.install()

from weft.backend_cuda.availability import why_not  # noqa: E402  # after the stand-in, if that is to be found

collect_ignore_glob = ["device/*"] if why_not() else []


@pytest.fixture
def on_stand_in():
    """For tests of what only the stand-in can tell: waits, uploads, launches."""
    if not ON_STAND_IN:
        pytest.skip("only the stand-in counts waits and uploads")


def pytest_terminal_summary(terminalreporter):
    """Say how many ops wait for the device or send it something, and how many tests did not run."""
    reports = [each for some in terminalreporter.stats.values() for each in some if getattr(each, "when", "") == "call"]
    told = [dict(each.user_properties) for each in reports]
    if counted := [each for each in told if "wait" in each]:
        wait, send, waits, sends = (
            sum(each[kind] for each in counted) for kind in ("wait", "upload", "undeclared wait", "undeclared upload")
        )
        terminalreporter.write_line(
            f"of {len(counted)} ops {wait} wait for the device and {send} send it something; {waits} and {sends} of "
            "these are not in the lists of waits_and_uploads.py"
        )
    if why_not():
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", HERE / "device"]
        environment = os.environ | {"WEFT_CUDA": "stand-in"}
        listed = subprocess.run(command, capture_output=True, text=True, env=environment).stdout.splitlines()
        found = listed[-1] if listed else "some tests"
        terminalreporter.write_line(f"wait for a CUDA device, or for WEFT_CUDA=stand-in: {found}")
