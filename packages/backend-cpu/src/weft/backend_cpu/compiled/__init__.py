"""Kernels that are loops in Python, prebuilt or compiled by Numba when they are first needed and kept on disk.

`prebuilt` has those that came with the wheel. `codegen` makes machine code of Python: parallel loops, vectors, half
precision, elementwise operations, the cache on disk. `kernels` computes: each of its modules registers the kernels of a
family of ops. To write one, read `codegen.parallel` first. `background` has another process, `compile_server`, compile
what is missing while NumPy computes the same.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import version as installed
from pathlib import Path

from weft.backend_cpu.compiled import prebuilt
from weft.backend_cpu.threads import openmp

MISSING = "not installed: pip install 'weft[compile]'"


def is_available() -> bool:
    """Whether kernels are prebuilt or Numba is installed, and OpenMP there to run on."""
    return (has_numba() or prebuilt.library() is not None) and openmp() is not None


def has_numba() -> bool:
    """Whether Numba is installed."""
    return importlib.util.find_spec("numba") is not None


def version() -> str:
    """Of Numba."""
    return f"Numba {installed('numba')}" if has_numba() else f"prebuilt kernels alone, Numba {MISSING}"


def cache_folders() -> list[Path]:
    """Where compiled kernels are kept: those of `codegen`, and those of `kernels`."""
    if not has_numba():
        return []
    from weft.backend_cpu.compiled.codegen.disk_cache import cached_njit, folder_of
    from weft.backend_cpu.compiled.kernels import sorting

    return [each for each in map(folder_of, (cached_njit, sorting.topk_kernel)) if each is not None]


def cached_kernels() -> int:
    """How many kernels are kept there, each with its combination of types."""
    return sum(1 for folder in cache_folders() for _ in folder.glob("*.nbc"))
