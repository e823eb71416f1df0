"""Kernels that are loops in Python, compiled by Numba when they are first needed and kept on disk.

`parallel` has what all of them use: a loop over a range, on one thread or on OpenMP's. `mathematics` has the functions
that compile to vector code. Each other module is a family of kernels. To write one, read `parallel` first.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import version as installed

MISSING = "not installed: pip install 'weft[fast]'"

FAMILIES = {  # module: the ops that it serves
    "activations": "core::relu",
    "optimizers": """
        optim::sgd_step optim::adam_step optim::rmsprop_step optim::adagrad_step foreach::norm foreach::mul_
    """,
}
MODULES = {op: f".{module}" for module, ops in FAMILIES.items() for op in ops.split()}


def is_available() -> bool:
    """Whether Numba is installed, and OpenMP there to run on."""
    from weft.backend_cpu.threads import openmp

    return importlib.util.find_spec("numba") is not None and openmp() is not None


def version() -> str:
    """Of Numba."""
    return f"Numba {installed('numba')}"
