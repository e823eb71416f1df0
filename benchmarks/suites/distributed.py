"""Collectives of two processes: weft's engines beside PyTorch's gloo, in turns in the same two processes."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # a rank: the folder of this file stands first in the path, where the suites' does not
    sys.path.insert(0, str(Path(__file__).parents[1]))

from contestants import Contestant, environment
from rounds import Measurement, compared

from suites import training

SIZE = 2
SECONDS = 300  # after which the processes are ended
ENGINES = ("tcp", "mpi")
TURN = 0.05  # seconds of a turn, about


# In the parent


def collectives(contestants: list[Contestant], runs: int) -> list[Measurement]:
    """Every case on every engine, each engine's in a start of its own."""
    others = [each.library for each in contestants[1:] if each.library == "torch"]
    found = []
    for engine in ENGINES:
        try:
            taken = of_engine(engine, runs, others)
        except RuntimeError as error:
            found.append(Measurement(f"{engine}", note=str(error)))
            continue
        for case, (mine, *theirs) in taken.items():
            title = f"{engine}: {case}"
            middle = sorted(mine)[len(mine) // 2]
            found.append(compared(title, mine, theirs[0]) if theirs else Measurement(title, taken=middle))
    return found


def of_engine(engine: str, runs: int, others: list[str]) -> dict[str, list[list[float]]]:
    """What each turn of each case took, by weft and then by the others, as the first rank measured it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, engine, folder, str(runs), *others]
        settings = environment(1)  # a core a rank
        if engine == "mpi":
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            if (mpiexec := shutil.which("mpiexec", path=path)) is None:
                raise RuntimeError("there is no mpiexec")
            commands = {0: [mpiexec, "-n", str(SIZE), *command]}
        else:
            commands = dict.fromkeys(range(SIZE), command)
        ranks = [
            subprocess.Popen(each, env=settings | {"BENCHMARK_RANK": str(rank)}, stderr=subprocess.PIPE, text=True)
            for rank, each in commands.items()
        ]
        try:
            said = [rank.communicate(timeout=SECONDS)[1] for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
        result = Path(folder, "result.json")
        if not result.exists():
            raise RuntimeError("".join(said).strip().splitlines()[-1][:100] if "".join(said).strip() else "it ended")
        found: dict[str, list[list[float]]] = json.loads(result.read_text())
        return found


# In the ranks

Build = Callable[[Any, Any], Callable[[], Any]]


def all_reduce(count: int) -> Build:
    def build(lib: Any, dist: Any) -> Callable[[], Any]:
        tensor = lib.zeros(count)
        return lambda: dist.all_reduce(tensor)

    return build


def broadcast(count: int) -> Build:
    def build(lib: Any, dist: Any) -> Callable[[], Any]:
        tensor = lib.zeros(count)
        return lambda: dist.broadcast(tensor, 0)

    return build


def all_gather(count: int) -> Build:
    def build(lib: Any, dist: Any) -> Callable[[], Any]:
        tensor, outputs = lib.zeros(count), [lib.zeros(count) for _ in range(SIZE)]
        return lambda: dist.all_gather(outputs, tensor)

    return build


def barrier(lib: Any, dist: Any) -> Callable[[], Any]:
    return dist.barrier


def data_parallel(case: Callable[..., Any]) -> Build:
    """A training step of a model whose gradients are averaged over the ranks."""

    def build(lib: Any, dist: Any) -> Callable[[], Any]:
        step: Callable[[], Any] = case(lib, wrap=lib.nn.parallel.DistributedDataParallel)
        return step

    return build


CASES: dict[str, Build] = {
    "all_reduce, 1 KiB": all_reduce(1 << 8),
    "all_reduce, 64 KiB": all_reduce(1 << 14),
    "all_reduce, 1 MiB": all_reduce(1 << 18),
    "all_reduce, 10 MiB": all_reduce(10 << 18),
    "broadcast, 10 MiB": broadcast(10 << 18),
    "all_gather, 1 MiB a rank": all_gather(1 << 18),
    "barrier": barrier,
    "DDP step, MNIST CNN, batch 64": data_parallel(training.mnist_cnn),
    "DDP step, GPT, 6 layers of 192, 16 x 128 tokens": data_parallel(training.gpt),
    "DDP step, GPT, 2 layers of 64, attention written out": data_parallel(training.gpt_written_out),
}


def rank_main(engine: str, folder: str, runs: int, others: list[str]) -> None:
    """Take turns in all cases."""
    rank = int(os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK", os.environ["BENCHMARK_RANK"])))
    libraries = [importlib.import_module(name) for name in ("weft", *others)]
    distributed = [importlib.import_module(f"{lib.__name__}.distributed") for lib in libraries]
    for name, lib, dist in zip((engine, "gloo"), libraries, distributed, strict=False):
        if name == "mpi":
            dist.init_process_group("mpi")
        else:
            dist.init_process_group(name, init_method=f"file://{folder}/{lib.__name__}", rank=rank, world_size=SIZE)
    taken = {case: turns(build, libraries, distributed, runs) for case, build in CASES.items()}
    if rank == 0:
        partial = Path(folder, "partial.json")
        partial.write_text(json.dumps(taken))
        partial.rename(Path(folder, "result.json"))
    for dist in distributed:
        dist.barrier()
        dist.destroy_process_group()


def turns(build: Build, libraries: list[Any], distributed: list[Any], runs: int) -> list[list[float]]:
    """Seconds of a call, in each round by each library."""
    calls = [build(lib, dist) for lib, dist in zip(libraries, distributed, strict=True)]
    counts = [agreed(call, lib, dist) for call, lib, dist in zip(calls, libraries, distributed, strict=True)]
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(runs):
        for call, count, dist, times in zip(calls, counts, distributed, taken, strict=True):
            dist.barrier()
            times.append(seconds(call, count) / count)
    return taken


def agreed(call: Callable[[], Any], lib: Any, dist: Any) -> int:
    """How many calls a turn has, in both ranks; found by some, after others that fill caches."""
    seconds(call, 3)
    count = lib.tensor([max(3, min(500, int(TURN * 10 / seconds(call, 10))))])
    dist.broadcast(count, 0)
    return int(count.item())


def seconds(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


if __name__ == "__main__":
    rank_main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
