"""Runs a function of a test in several processes that are one group.

    def total():
        x = weft.tensor([1.0 + dist.get_rank()])
        dist.all_reduce(x)
        return x.item()

    assert run_ranks(total, 3) == [6.0, 6.0, 6.0]

Each process loads the test's file by its path, so that the function is found whatever pytest calls its module.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import shutil
import socket
import subprocess
import sys
import tempfile
import traceback
from datetime import timedelta
from pathlib import Path

SECONDS = 100  # after which a run has failed; a slow machine needs some for the imports
PATIENCE = timedelta(seconds=60)  # of one process with another


def run_ranks(function, size, *args, backend="tcp", begin=True, environment=None, seconds=SECONDS):
    """Call a function of a test's file in ``size`` processes, and return what each returns.

    Parameters
    ----------
    function : callable
        Of the top level of its file.
    size : int
    *args
        What it is called with; pickled.
    backend : str
        ``tcp``, or ``mpi`` (then ``mpiexec`` starts the processes).
    begin : bool
        Call `init_process_group` before, and `destroy_process_group` after.

    Raises
    ------
    AssertionError
        With all tracebacks, if a process fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder, "job.pickle")
        job.write_bytes(pickle.dumps((function.__code__.co_filename, function.__name__, args, backend, begin)))
        processes = start(folder, job, size, backend, environment or {})
        try:
            said = [process.communicate(timeout=seconds)[0] for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
        results = [Path(folder, f"{rank}.pickle") for rank in range(size)]
        missing = [rank for rank, file in enumerate(results) if not file.exists()]
        assert not missing, f"ranks {missing} failed:\n" + "\n".join(said)
        return [pickle.loads(file.read_bytes()) for file in results]


def start(folder, job, size, backend, environment):
    """The processes, or ``mpiexec`` that starts them."""
    command = [sys.executable, __file__, str(job), folder]
    base = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **environment}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    if backend == "mpi":
        mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        return [subprocess.Popen([mpiexec, "-n", str(size), *command], env=base, **options)]
    meeting = f"file://{folder}/meeting"
    return [
        subprocess.Popen(command, env={**base, "TEST_RANK": f"{rank} {size} {meeting}"}, **options)
        for rank in range(size)
    ]


def free_port():
    """A port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def work():
    """What a process does."""
    import weft.distributed as dist

    file, name, args, backend, begin = pickle.loads(Path(sys.argv[1]).read_bytes())
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(Path(file).parent))
    spec.loader.exec_module(module)
    if begin and backend == "mpi":
        dist.init_process_group("mpi", timeout=PATIENCE)
    elif begin:
        rank, size, meeting = os.environ["TEST_RANK"].split()
        dist.init_process_group(backend, init_method=meeting, rank=int(rank), world_size=int(size), timeout=PATIENCE)
    rank = dist.get_rank() if begin else int(os.environ["TEST_RANK"].split()[0])
    result = getattr(module, name)(*args)
    if begin:
        dist.destroy_process_group()
    Path(sys.argv[2], f"{rank}.pickle").write_bytes(pickle.dumps(result))


if __name__ == "__main__":
    try:
        work()
    except BaseException:
        traceback.print_exc()
        sys.stdout.flush()
        os._exit(1)
