"""Every op gives the same numbers however its tensors lie in memory.

`WEFT_LAYOUTS` chooses, see README.md: `all`, `K/N`, names (`softmax,conv*`), or `changed`: of each function a few
sizes, of those whose sources changed more. It is the same for one commit, whenever it runs.
"""

import os
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import selection
from calls import WITHOUT, names
from trial import Tally, kernels_of, share, sizes_of, try_function

import weft
from weft.ops._registry import registry

SETTING = os.environ.get("WEFT_LAYOUTS", "0/4000")
DTYPES = (weft.float32, weft.bfloat16, weft.int64)
EACH, MORE = 1000, 100  # of `changed`: one in so many of the calls of each function, and of those that changed


def modules(name: str) -> set[str]:
    """The modules that a function is about."""
    return {selection.declaring_module(name)} if "::" in name else selection.modules_of_function(name)


@cache
def changed() -> frozenset[str]:
    """The functions whose sources changed."""
    return frozenset(selection.chosen(names(), "changed", modules))


def taken(name: str) -> Callable[[int], bool] | None:
    """Which shares of a function's calls this run takes; None for none."""
    if SETTING == "all":
        return lambda share: True
    if SETTING == "changed":
        one_in = MORE if name in changed() else EACH
        return lambda share: share % one_in == 0
    part, slash, parts = SETTING.partition("/")
    if slash:
        return lambda share: share % int(parts) == int(part) % int(parts)
    patterns = SETTING.split(",")
    return (lambda share: True) if any(fnmatch(name, each) for each in patterns) else None


@pytest.mark.parametrize("name", names())
def test_numbers_do_not_depend_on_the_layout(name: str, record_property: Any) -> None:
    wanted = taken(name)
    if wanted is None:
        pytest.skip("not chosen by WEFT_LAYOUTS")
    tally = Tally()
    for dtype in DTYPES:
        for size in sizes_of(name, dtype):
            if wanted(share(name, dtype, size)):
                try_function(name, dtype, size, tally)
    record_property("layouts: calls compared", tally.cases)
    record_property("layouts: differences", len(tally.differences))
    assert not tally.differences, "\n".join(tally.differences[:20])


def test_every_op_is_tried() -> None:
    reached = {op for name in names() for op in kernels_of(name)}
    assert set(registry) - reached - set(WITHOUT) == set()
