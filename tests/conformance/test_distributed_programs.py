"""Programs for several processes, as people write them for PyTorch, print the same under weft and under PyTorch.

They stand in tests/distributed_programs: each says in a comment how it is started. PyTorch's engine is gloo.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parent.parent / "distributed_programs"
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
TOLERANCE = 1e-3
SECONDS = 300


def output_of(path, as_weft):
    """What the program prints under one of the two."""
    kind, _, size = (
        re.search(r"# launch: (\w+) ?(\d*)", path.read_text()).group().removeprefix("# launch: ").partition(" ")
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}
    environment["WEFT_AS_TORCH" if as_weft else "GLOO_SOCKET_IFNAME"] = "1" if as_weft else "lo"
    if kind == "torchrun":
        launcher = "weft.distributed.run" if as_weft else "torch.distributed.run"
        started = ["-m", launcher, "--standalone", "--nproc-per-node", size, str(path)]
    else:
        started = [str(path)]
    done = subprocess.run(
        [sys.executable, "-P", *started], capture_output=True, text=True, env=environment, timeout=SECONDS, cwd="/"
    )
    assert done.returncode == 0, f"{'weft' if as_weft else 'PyTorch'}:\n{done.stdout}\n{done.stderr}"
    return done.stdout.replace("weft.", "torch.")


@pytest.mark.parametrize("name", sorted(path.stem for path in PROGRAMS.glob("*.py")))
def test_a_program_prints_what_it_does_under_pytorch(name):
    path = PROGRAMS / f"{name}.py"
    found, expected = output_of(path, True), output_of(path, False)
    assert NUMBER.sub("#", found) == NUMBER.sub("#", expected), f"{found}\nPyTorch:\n{expected}"
    numbers = [[float(each) for each in NUMBER.findall(text)] for text in (found, expected)]
    assert numbers[0] == pytest.approx(numbers[1], rel=TOLERANCE, abs=TOLERANCE), f"{found}\nPyTorch:\n{expected}"
