"""Lets the tests import ``ranks``, which starts processes for them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# What tests start in processes of their own: some import PyTorch's name, others put a stand-in for CuPy in its place.
collect_ignore = [
    "faults/harness.py",
    "faults/program.py",
    "mpi_suite.py",
    "nccl_suite.py",
    "nccl_streams.py",
]
