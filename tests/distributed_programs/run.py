"""Runs the programs for several processes, and keeps what PyTorch prints.

    python tests/distributed_programs/run.py [names]            with PyTorch: write expected/NAME.txt
    python tests/distributed_programs/run.py --check [names]    with PyTorch: compare with what is kept

Each program says in a comment how it is started: ``# launch: torchrun 2``, or ``# launch: python``, with arguments
behind ``--``. PyTorch's engine is gloo. Lines are compared in any order, since ranks print when they get there. What
weft prints is compared in tests/test_distributed_programs.py, where PyTorch is not installed.
"""

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = sorted(path.stem for path in (HERE / "programs").glob("*.py"))
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
TOLERANCE = 1e-3
SECONDS = 300
LAUNCH = re.compile(r"^# launch: (\w+) ?(\d*)(?: -- (.*))?$", re.MULTILINE)


def output_of(name, as_weft):
    """What a program prints under weft, or under PyTorch.

    Raises
    ------
    RuntimeError
        If it fails, with all that it said.
    """
    path = HERE / "programs" / f"{name}.py"
    kind, size, arguments = LAUNCH.search(path.read_text()).groups()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}
    environment["MASTER_PORT"] = str(free_port())  # for those that launch themselves
    if as_weft:
        environment["WEFT_AS_TORCH"] = "1"
    started = [str(path), *(arguments or "").split()]
    if kind == "torchrun":
        launcher = "weft.distributed.run" if as_weft else "torch.distributed.run"
        started = ["-m", launcher, "--standalone", "--nproc-per-node", size, *started]
    command = [sys.executable, "-P", *started]
    with tempfile.TemporaryDirectory() as folder:  # some write files where they are
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=SECONDS, cwd=folder)
    if done.returncode:
        raise RuntimeError(f"{name} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout.replace("weft.", "torch.")


def free_port():
    """A port that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]


def difference(found, expected):
    """What differs between two outputs, or None: words must be equal, and numbers nearly."""
    found, expected = ("\n".join(sorted(text.splitlines())) for text in (found, expected))
    if NUMBER.sub("#", found) != NUMBER.sub("#", expected):
        return f"other words:\n{found}\nPyTorch:\n{expected}"
    for one, other in zip(NUMBER.findall(found), NUMBER.findall(expected)):
        if abs(float(one) - float(other)) > TOLERANCE * max(1.0, abs(float(other))):
            return f"{one}, and PyTorch {other}:\n{found}\nPyTorch:\n{expected}"
    return None


def kept(name):
    """The file with what PyTorch prints."""
    return HERE / "expected" / f"{name}.txt"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    args = parser.parse_args()
    failed = 0
    for name in args.names:
        printed = output_of(name, as_weft=False)
        if args.check:
            found = difference(kept(name).read_text(), printed)
            failed += found is not None
            print(f"{name:<32}{'is as kept' if found is None else found}", flush=True)
        else:
            kept(name).parent.mkdir(exist_ok=True)
            kept(name).write_text(printed)
            print(f"{name:<32}written", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
