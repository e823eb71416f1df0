"""Runs cases of faulty ranks, and says what was wrong with how each ended: ``python harness.py --runs 200``.

Each case is made of its number, so that a run can be repeated alone: ``python harness.py --first 17 --runs 1``.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PROGRAM = pathlib.Path(__file__).with_name("program.py")
FAULTS = ("kill", "raise", "sleep", "op", "shape", "dtype", "order")
MISMATCHES = ("op", "shape", "dtype", "order")
WAYS = (("launch", "tcp"), ("spawn", "tcp"), ("mpiexec", "tcp"), ("mpiexec", "mpi"))
TIMEOUT = 3.0  # of the collectives
END_SECONDS = 5.0  # from the fault, or the timeout, to the end of all processes
LIMIT = 90.0


def mpiexec():
    """The launcher of MPI beside this Python, or on PATH; None without one."""
    return shutil.which("mpiexec", path=f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def available():
    """The pairs of launcher and backend that can be run here."""
    has_mpi = mpiexec() is not None and all(
        map(importlib.util.find_spec, ("mpi4py", "weft.distributed.communicators.mpi"))
    )
    return [each for each in WAYS if each[0] != "mpiexec" or has_mpi]


def make_case(number, ways=None):
    """The case of a number: faults and ways take turns, the rest is drawn."""
    draw = random.Random(number)
    ways = ways or available()
    launcher, backend = ways[number % len(ways)]
    fault = FAULTS[(number // len(ways)) % len(FAULTS)]
    size = draw.choice((2, 2, 3))
    collectives = ["all_reduce", "broadcast", "all_gather"] if fault not in ("shape", "dtype") else ["all_reduce"]
    return {
        "number": number,
        "launcher": launcher,
        "backend": backend,
        "fault": fault,
        "size": size,
        "rank": draw.randrange(size),
        "step": draw.randrange(6),
        "collective": draw.choice(collectives),
        "numbers": draw.choice((1, 1000, 300_000)),
        "is_async": draw.random() < 0.3,
        "is_detailed": fault in MISMATCHES and (backend == "mpi" or draw.random() < 0.5),
        "timeout": TIMEOUT if fault == "sleep" else 30.0,
    }


def run(case, end_seconds=END_SECONDS):
    """Run a case and return what was wrong, an empty list if nothing."""
    token = f"weft-fault-{os.getpid()}-{case['number']}-{time.time_ns()}"
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        mark, temporary = pathlib.Path(folder, "mark"), pathlib.Path(folder, "temporary")
        temporary.mkdir()
        case = {**case, "mark": str(mark)}
        shared = set(os.listdir("/dev/shm"))
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "TMPDIR": str(temporary),
            "WEFT_AS_TORCH": "1",
            "WEFT_FAULT_RUN": token,
            "WEFT_DISTRIBUTED_DEBUG": "DETAIL" if case["is_detailed"] else "OFF",
        }
        if case["backend"] != "mpi":
            environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        process = subprocess.Popen(
            command(case), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
            errors="replace", start_new_session=True,
        )  # fmt: skip
        try:
            said = process.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            end(token)
            return [f"it had not ended after {LIMIT:g} s; it said:\n{process.communicate()[0][-3000:]}"]
        ended = time.time()
        wrong = told_wrong(case, process.returncode, said)
        if not mark.exists():
            return [f"the fault did not happen; it said:\n{said[-3000:]}"]
        seconds = ended - float(mark.read_text()) - (TIMEOUT if case["fault"] == "sleep" else 0)
        if seconds > end_seconds:
            wrong.append(f"it took {seconds:.1f} s to end")
        wrong += left_over(token, temporary, shared)
        end(token)
        return [*wrong, *([f"it said:\n{said[-3000:]}"] if wrong else [])]


def command(case):
    """The command line of a case."""
    program = ["-m", "weft", "run", str(PROGRAM), json.dumps(case)]
    if case["launcher"] == "launch":
        size = str(case["size"])
        return [sys.executable, "-m", "weft", "launch", "--nproc-per-node", size, str(PROGRAM), json.dumps(case)]
    if case["launcher"] == "mpiexec":
        return [mpiexec(), "-n", str(case["size"]), sys.executable, *program]
    return [sys.executable, *program]


def told_wrong(case, status, said):
    """What is wrong with the exit status and the messages."""
    wrong = [] if status != 0 else ["the exit status is 0"]
    fault, rank = case["fault"], case["rank"]
    expected = {
        "kill": {
            "launch": ["SIGKILL", f"rank      : {rank} "],
            "spawn": [f"process {rank} terminated with signal SIGKILL"],
        },
        "raise": {"launch": [f"rank      : {rank} "], "spawn": [f"-- Process {rank} terminated"]},
    }.get(fault, {}).get(case["launcher"], [])  # fmt: skip
    if fault == "raise":
        expected = [*expected, "ValueError: this rank fails by itself"]
        errors = [line for line in said.splitlines() if "Error: " in line]
        if errors and "this rank fails by itself" not in errors[0] and case["launcher"] != "spawn":
            wrong.append(f"the first error told is not that of the rank that failed: {errors[0]}")
    if fault == "sleep":
        expected = [case["collective"], f"(float32 [{case['numbers']}]", "#"]
        if not re.search(rf"rank(\(s\))? {rank}\b", said):
            wrong.append(f"it does not say that rank {rank} was missing")
    if fault in MISMATCHES:
        expected = [
            "DistBackendError",
            "but rank" if not case["is_detailed"] else "Detected mismatch between collectives",
        ]
    return wrong + [f"it does not say {each!r}" for each in expected if each not in said]


def left_over(token, temporary, shared):
    """What is left of a run: processes, shared memory, temporary files."""
    deadline = time.monotonic() + 2
    while True:
        processes = processes_of(token)
        new = [each for each in os.listdir("/dev/shm") if each not in shared and not is_others(each)]
        segments = [each for each in new if not is_open(f"/dev/shm/{each}")]
        files = [str(each) for each in temporary.rglob("*")]
        if not (processes or segments or files) or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    named = (("processes", processes), ("shared memory", segments), ("temporary files", files))
    return [f"{what} were left: {left}" for what, left in named if left]


def processes_of(token):
    """The processes with this run's variable in their environment, but for zombies, which have none."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if token.encode() in (folder / "environ").read_bytes():
                found.append((int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
        except OSError:
            continue
    return found


def is_others(name):
    """Whether a segment is of a program beside this one: semaphores, which no case has, or those of a live process."""
    pid = name.split("-")[1] if name.startswith("weft-") else ""
    return name.startswith("sem.") or (pid.isdecimal() and os.path.exists(f"/proc/{pid}"))


def is_open(path):
    """Whether a process of anybody's maps or holds a file."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if path in (folder / "maps").read_text():
                return True
            if any(os.readlink(each) == path for each in (folder / "fd").iterdir()):
                return True
        except OSError:
            continue
    return False


def end(token):
    """End what is left of a run."""
    for pid, _ in processes_of(token):
        os.kill(pid, signal.SIGKILL)


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="", help="launcher/backend, such as launch/tcp")
    parser.add_argument("--end-seconds", type=float, default=END_SECONDS, help="more where others load the machine")
    args = parser.parse_args()
    ways = [way for way in available() if args.only in ("", "/".join(way))]
    print("launchers and backends:", ", ".join(map("/".join, ways)), flush=True)
    failed = 0
    for number in range(args.first, args.first + args.runs):
        case = make_case(number, ways)
        begun = time.monotonic()
        wrong = run(case, args.end_seconds)
        failed += bool(wrong)
        line = " ".join(f"{name}={value}" for name, value in case.items())
        print(
            f"{'FAILED' if wrong else 'ok'} {time.monotonic() - begun:.1f} s {line}", *wrong, sep="\n    ", flush=True
        )
    print(f"{args.runs} runs, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
