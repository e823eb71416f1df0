"""The faults that kernels have had, planted: the test of layouts sees each of them."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sizes import Size
from trial import Tally, try_function

import weft
from weft.ops._registry import registry


@contextmanager
def planted(name: str, fault: Any) -> Iterator[None]:
    """Put a kernel before that of an op on float32, which it gets as its first argument."""
    op, key = registry[name].op, weft.ones(1)._key
    right = op.kernel(key)
    op.kernels[key.index] = lambda *args: fault(right, *args)
    try:
        yield
    finally:
        op.kernels[key.index] = right


def differences(function: str, size: Size) -> list[str]:
    tally = Tally()
    try_function(function, weft.float32, size, tally)
    assert tally.cases > 100
    return tally.differences


def wrong_batch(right, a, b):
    """Both operands' batches are one matrix in the descriptors, and so the result's: the rest is not written."""
    if a.ndim != 3 or b.ndim != 3 or a.strides[0] or b.strides[0]:
        return right(a, b)
    made = np.full((*a.shape[:-1], b.shape[-1]), 1e30, np.float32)
    made[:1] = right(a[:1], b[:1])
    return made


def skips_the_last_row(right, x):
    """Where rows are no multiple of 8, as a loop without its remainder."""
    made = np.full(x.shape, 1e30, x.dtype)
    rows = len(x) // 8 * 8 if x.ndim and x.size >= 512 else len(x) if x.ndim else ...
    made[:rows] = right(x)[:rows]
    return made


def ignores_the_offset(right, x):
    """As if arrays began where vectors do."""
    beyond = x.ctypes.data % 16 if x.flags.c_contiguous else 0
    if not beyond:
        return right(x)
    memory = (ctypes.c_char * x.nbytes).from_address(x.ctypes.data - beyond)
    return right(np.frombuffer(memory, x.dtype).reshape(x.shape).copy())


def ignores_strides(right, x):
    """As if rows followed each other without gaps."""
    follows = x.ndim == 2 and x.strides[0] >= x.shape[1] * x.itemsize == x.shape[1] * x.strides[1]
    return right(np.lib.stride_tricks.as_strided(x, strides=(x.shape[1] * x.itemsize, x.itemsize)) if follows else x)


def takes_the_first_index(right, x, dim, index):
    """Of an expanded or strided index."""
    return right(
        x, dim, np.ascontiguousarray(np.broadcast_to(index[:1], index.shape)) if index.strides != (8,) else index
    )


@pytest.mark.parametrize(
    ("op", "fault", "function", "size", "seen_in"),
    [
        ("core::matmul", wrong_batch, "bmm", Size(64, 64, 64), "expanded"),
        ("core::exp", skips_the_last_row, "core::exp", Size(7, 74), "contiguous"),
        ("core::exp", ignores_the_offset, "core::exp", Size(7, 9), "offset"),
        ("core::abs", ignores_strides, "core::abs", Size(7, 9), "rows apart"),
        ("core::index_select", takes_the_first_index, "index_select", Size(7, 9), "strided by 2"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_planted_fault_is_seen(op: str, fault: Any, function: str, size: Size, seen_in: str) -> None:
    assert not differences(function, size)
    with planted(op, fault):
        found = differences(function, size)
    assert any(seen_in in each for each in found), found[:3]
    assert all("fast" in each for each in found)  # those with NumPy's kernels, which are as they were, agree
