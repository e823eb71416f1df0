"""Python's `multiprocessing`, with tensors that are passed to other processes by their memory.

All names of :mod:`multiprocessing` are here. A tensor, a parameter or a storage that is put into a queue, sent through
a pipe or given to a process is not copied: its memory becomes shared, and both processes see what either writes.

Examples
--------
>>> import weft.multiprocessing as mp
>>> queue = mp.get_context("fork").SimpleQueue()
>>> sent = weft.zeros(2)
>>> queue.put(sent)
>>> queue.get()[0] = 5.0
>>> sent
tensor([5., 0.])
"""

import multiprocessing
from multiprocessing import *  # the same names, as the docstring says

from weft._tensor.shared_memory import get_sharing_strategy, set_sharing_strategy
from weft._tensor.shared_memory import strategies as _strategies
from weft.multiprocessing import reductions
from weft.multiprocessing.spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    *multiprocessing.__all__,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "init_reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]

init_reductions = reductions.init_reductions
init_reductions()


def get_all_sharing_strategies() -> set[str]:
    """The ways to share memory that this system has."""
    return set(_strategies)
