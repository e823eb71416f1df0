"""Two threads of Python beside one after the other: the share of the rate that each library keeps, or wins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contestants import Contestant
from rounds import Measurement, compared

from suites.overhead import Build

SECONDS = 0.1  # of a turn of one thread


def sharing(contestants: list[Contestant], runs: int) -> list[Measurement]:
    """What two threads do in a second over what one does, round by round, and that of all cases in one loop."""
    found = []
    for case in CASES:
        shares: list[list[float]] = [[] for _ in contestants]
        for each in contestants:
            each.ask("build", suite="threads", case=case)
        calls = [each.ask("calibrate", seconds=SECONDS) for each in contestants]
        for _ in range(runs):
            for i, each in enumerate(contestants):
                shares[i].append(each.ask("share", calls=calls[i]))
        for each in contestants:
            each.forget()
        inverse = [[1 / share for share in each] for each in shares]  # as times, of which less is better
        measured = compared(case, inverse[0], inverse[-1])
        measured.taken = measured.other = None
        measured.note = "shares " + " : ".join(f"{sorted(each)[len(each) // 2]:.2f}" for each in shares)
        found.append(measured)
    return found


def add(size: int) -> Build:
    def build(lib: Any) -> Callable[[], Any]:
        x = lib.ones(size)
        return lambda: x + x

    return build


def matmul(size: int) -> Build:
    def build(lib: Any) -> Callable[[], Any]:
        x = lib.ones(size, size)
        return lambda: x @ x

    return build


def softmax(rows: int, columns: int) -> Build:
    def build(lib: Any) -> Callable[[], Any]:
        x = lib.ones(rows, columns)
        return lambda: lib.softmax(x, 1)

    return build


def conv2d(batch: int, channels: int, size: int) -> Build:
    def build(lib: Any) -> Callable[[], Any]:
        x, weight = lib.ones(batch, channels, size, size), lib.ones(channels, channels, 3, 3)
        return lambda: lib.nn.functional.conv2d(x, weight)

    return build


def together(*parts: Build) -> Build:
    def build(lib: Any) -> Callable[[], Any]:
        calls = [part(lib) for part in parts]
        return lambda: [call() for call in calls]

    return build


SMALL = (add(16), matmul(16), softmax(8, 32), conv2d(1, 4, 8))
LARGE = (add(1 << 17), matmul(256), softmax(64, 1000), conv2d(4, 16, 32))

CASES: dict[str, Build] = {
    "add, 16": SMALL[0],
    "add, 2,000": add(2000),
    "add, 131,072": LARGE[0],
    "matmul, 16": SMALL[1],
    "matmul, 256": LARGE[1],
    "softmax, 8 x 32": SMALL[2],
    "softmax, 64 x 1,000": LARGE[2],
    "conv2d, 1 image": SMALL[3],
    "conv2d, 4 images": LARGE[3],
    "all small ones": together(*SMALL),
    "all large ones": together(*LARGE),
}
