"""Starting processes, and what a forked one begins with.

A fork copies memory and one thread. A lock that another thread held then is held for ever in the child, so that each
lock that outlives a call is named to `renew_in_child` by who makes it:

    self._lock = threading.RLock()
    renew_in_child(self, "_lock", threading.RLock)

What may not be copied half done (a generator's state, a module that is being imported, a kernel that is being compiled,
with locks of libraries that nobody can renew) the parent waits for before it forks: see `hold_during_fork`.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from weft._engine.tensor import local, state

__all__ = ["hold_during_fork", "quiet_fork", "renew_in_child"]

IMPORTED = ("weft", "numba", "llvmlite")  # whose modules are imported when first needed, in whichever thread that is


class Owners:
    """What has locks, without keeping it alive, with what is to be known of each lock."""

    def __init__(self) -> None:
        self.entries: weakref.WeakKeyDictionary[Any, list[tuple[str, Any]]] = weakref.WeakKeyDictionary()

    def add(self, owner: Any, name: str, fact: Any) -> None:
        """Note that an owner has a lock by this name."""
        self.entries.setdefault(owner, []).append((name, fact))

    def locks(self) -> list[tuple[Any, str, Any]]:
        """Owner, name and fact of each lock, in the order in which owners came."""
        owners = [reference() for reference in self.entries.keyrefs()]
        return [(each, *entry) for each in owners if each is not None for entry in self.entries[each]]


renewed, outer, inner = Owners(), Owners(), Owners()


def renew_in_child(owner: Any, name: str, make: Callable[[], Any]) -> None:
    """Give an object (or a module) a new lock in each process that is forked from this one.

    Parameters
    ----------
    owner : object
        It is not kept alive.
    name : str
        Of the attribute that is the lock.
    make : callable
        Makes another one.
    """
    renewed.add(owner, name, make)


def hold_during_fork(owner: Any, name: str, is_inner: bool = False) -> None:
    """Hold a lock while this process forks, so that nobody else is in the midst of what it guards.

    Parameters
    ----------
    owner, name
        As in `renew_in_child`. The lock is one that a thread may take more than once.
    is_inner : bool
        A thread may take it that has one which is not; those are taken before.
    """
    (inner if is_inner else outer).add(owner, name, None)


class Held(threading.local):
    """The locks that this thread holds for a fork."""

    def __init__(self) -> None:
        self.locks: list[Any] = []


_held = Held()


def before_fork() -> None:
    """Wait for what other threads may not leave half done."""
    for owner, name, _ in outer.locks() + inner.locks():
        lock = getattr(owner, name)
        lock.acquire()
        _held.locks.append(lock)
    count = -1
    while count != len(sys.modules):  # an import that began meanwhile
        count = len(sys.modules)
        for name in list(sys.modules):
            if name.partition(".")[0] in IMPORTED:
                finish_import(name)


def finish_import(name: str) -> None:
    """Wait until a module is whole, if another thread is importing it; one that fails is not our affair."""
    try:
        __import__(name)
    except Exception:
        return


def release_all() -> None:
    """After a fork, in parent and child."""
    while _held.locks:
        _held.locks.pop().release()


def begin_child() -> None:
    """In a forked child: new locks, and counts of this thread alone."""
    for owner, name, make in renewed.locks():
        setattr(owner, name, make())
    state.lock = _thread.allocate_lock()
    state.accumulating = _thread.RLock()
    state.unrecorded = 0 if local.grad_enabled else 1
    release_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before_fork, after_in_parent=release_all, after_in_child=begin_child)


@contextmanager
def quiet_fork() -> Iterator[None]:
    """A block that may fork a process, without the warning that is meant for programs with threads of their own.

    Python warns of a fork with several threads, counting those of native libraries. A fork is unsafe if another thread
    holds a lock: with one Python thread that could be only a library's own, and those (OpenBLAS) prepare for forks
    themselves. With more Python threads the warning is left to be seen.
    """
    with warnings.catch_warnings():
        if threading.active_count() == 1:
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        yield
