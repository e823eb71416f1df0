"""Ends the workers of a launcher that was killed: run as a process of its own, it reads the launcher's pipe.

The launcher writes ``+12`` when it has started a worker whose process group is 12, and ``-12`` when that has ended.
When the pipe closes, the launcher is gone, and the groups that are left are ended. This imports nothing of weft: it
starts in milliseconds, and stays small.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable

GRACE_SECONDS = 2.0


def read_groups(lines: Iterable[str]) -> set[int]:
    """The process groups that are left when the lines end."""
    groups: set[int] = set()
    for line in lines:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    return groups


def signal_all(groups: set[int], number: int) -> set[int]:
    """Send a signal; return the groups that were there."""
    there = set()
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
            there.add(group)
    return there


def main() -> None:
    """Wait for the end of the launcher, then ask its workers to end, then insist."""
    groups = signal_all(read_groups(sys.stdin), signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while groups and time.monotonic() < deadline:
        time.sleep(0.05)
        groups = signal_all(groups, 0)
    signal_all(groups, signal.SIGKILL)


if __name__ == "__main__":
    main()
