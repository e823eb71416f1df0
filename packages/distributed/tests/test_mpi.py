"""The engine on MPI, among processes that ``mpiexec`` starts."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from weft.testing import CommunicatorSuite

pytest.importorskip("mpi4py")
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
if MPIEXEC is None:
    pytest.skip("no mpiexec", allow_module_level=True)
HERE = Path(__file__).parent


def mpiexec(size, *command, seconds=100):
    """Run a Python program in some processes; returns its exit status, and what it wrote."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    begun = [MPIEXEC, "-n", str(size), sys.executable, *map(str, command)]
    done = subprocess.run(begun, env=environment, capture_output=True, text=True, timeout=seconds)
    return done.returncode, done.stdout + done.stderr


class TestMpi(CommunicatorSuite):
    def start(self, size):
        with tempfile.TemporaryDirectory() as folder:
            status, said = mpiexec(size, HERE / "mpi_suite.py", folder)
            files = [Path(folder, f"{rank}.json") for rank in range(size)]
            assert status == 0, said
            return [json.loads(file.read_text()) for file in files]


BEGIN = """
import os, sys, time
from datetime import timedelta
import numpy
from weft.distributed import PrefixStore
from weft.distributed.communicators.mpi import *
store, rank, size = world_store(timedelta(seconds=20))
group = MpiCommunicator(PrefixStore("group", store), rank, size, timedelta(seconds=2))
x = numpy.ones(5, numpy.float32)
"""


def run(program, size=2):
    return mpiexec(size, "-c", BEGIN + program, seconds=30)


def test_a_collective_that_waits_too_long_raises():
    status, said = run("if rank != 1: group.barrier()\nelse: time.sleep(10)", size=3)
    assert status != 0
    assert "DistBackendError: not all ranks came, within 2 s" in said


def test_the_error_names_who_is_missing():
    program = """
import time
from datetime import timedelta
import weft
import weft.distributed as dist
dist.init_process_group("mpi", timeout=timedelta(seconds=2))
dist.barrier()
if dist.get_rank() != 1:
    dist.all_reduce(weft.ones(3))
else:
    time.sleep(20)
"""
    status, said = mpiexec(3, "-c", program, seconds=30)
    assert status != 0
    assert "rank 0: all_reduce #2 (float32 [3], SUM)" in said
    assert "rank 1" in said.partition("not all ranks came, within 2 s")[2]


def test_an_exception_in_one_rank_ends_all():
    status, said = run("if rank == 1: raise OSError('the disk is full')\ntime.sleep(60)")
    assert status != 0
    assert "OSError: the disk is full" in said


def test_a_killed_rank_ends_all():
    status, _ = run("if rank == 1: os.kill(os.getpid(), 9)\nwhile True: group.barrier()")
    assert status != 0


def test_a_program_that_caught_the_error_ends_without_the_others():
    status, said = run(
        "if rank == 0:\n  try: group.barrier()\n  except RuntimeError: print('caught')\nelse: time.sleep(60)"
    )
    assert status != 0
    assert "caught" in said


def test_a_forked_process_is_refused():
    program = """
if os.fork() == 0:
    try: group.barrier()
    except RuntimeError as error: print(error, flush=True)
    os._exit(0)
os.wait()
group.barrier()
group.close()
"""
    status, said = run(program)
    assert status == 0, said
    assert said.count("this process was forked") == 2


def test_messages_of_another_length_are_refused():
    program = """
if rank == 0:
    group.send(x, 1, 0)
else:
    try: group.recv(numpy.empty(7, numpy.float32), 0, 0)
    except RuntimeError as error: print(error, flush=True)
group.close()
"""
    status, said = run(program)
    assert status == 0, said
    assert "rank 0 sent 20 bytes, and 28 were to be received" in said


def test_processes_that_mpi_did_not_start_are_told_to_use_it():
    program = """
import threading
from datetime import timedelta
from weft.distributed import HashStore
from weft.distributed.communicators.mpi import MpiCommunicator
store = HashStore()
store.set("mpi/1", "0")
MpiCommunicator(store, 0, 2, timedelta(seconds=2))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "mpiexec -n 2 python program.py" in done.stderr


def test_a_program_that_ends_early_is_not_waited_for():
    program = """
import sys
import weft
import weft.distributed as dist
dist.init_process_group("mpi")
dist.barrier()
if dist.get_rank() == 1:
    sys.exit(3)
dist.all_reduce(weft.ones(3))
"""
    status, said = mpiexec(2, "-c", program, seconds=60)
    assert status != 0
    assert "rank 1 of the group has ended" in said


def test_an_exception_that_passes_the_end_of_the_group_ends_all():
    program = """
import weft
import weft.distributed as dist
dist.init_process_group("mpi")
try:
    if dist.get_rank() == 1:
        raise OSError("the disk is full")
    dist.all_reduce(weft.ones(3))
finally:
    dist.destroy_process_group()
"""
    status, said = mpiexec(2, "-c", program, seconds=60)
    assert status != 0
    assert "OSError: the disk is full" in said


def test_two_ranks_of_a_group_exchange_messages_before_the_third_uses_it():
    program = """
import weft
import weft.distributed as dist
dist.init_process_group("mpi")
group, x = dist.new_group([0, 1, 2]), weft.ones(3)
if dist.get_rank() == 0:
    dist.send(x, 1, group=group)
elif dist.get_rank() == 1:
    dist.recv(x, 0, group=group)
dist.barrier()
dist.destroy_process_group()
print("done", flush=True)
"""
    status, said = mpiexec(3, "-c", program, seconds=60)
    assert status == 0, said
    assert said.count("done") == 3
