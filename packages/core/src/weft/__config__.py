"""What this build is made of, by PyTorch's names."""

from __future__ import annotations

import sys

import numpy

from weft._devices.cpu_threads import get_num_interop_threads, get_num_threads
from weft.version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Return the versions of what computes, as one text."""
    return f"weft {__version__}\n  - Python {sys.version.split()[0]}\n  - NumPy {numpy.__version__}\n"


def parallel_info() -> str:
    """Return how many threads there are, as one text.

    Examples
    --------
    >>> "get_num_threads" in weft.__config__.parallel_info()
    True
    """
    return f"get_num_threads() : {get_num_threads()}\nget_num_interop_threads() : {get_num_interop_threads()}\n"


def _cxx_flags() -> str:
    """Return nothing: there is no C++ in it."""
    return ""
