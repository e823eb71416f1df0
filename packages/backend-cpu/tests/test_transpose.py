"""Transposed arrays are copied in blocks."""

import numpy as np
import pytest

import weft
from weft.backend_cpu.transpose import contiguous_copy, dense_axis


@pytest.mark.parametrize("shape", [(300, 257), (64, 1024), (5, 128, 200)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128, bool])
def test_a_copy_in_blocks_has_the_same_elements_in_order(shape, dtype):
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype).swapaxes(-1, -2)
    made = contiguous_copy(array)
    assert made.flags.c_contiguous
    assert np.array_equal(made, array)


def test_blocks_are_used_only_where_another_long_axis_is_dense():
    assert dense_axis(np.zeros((300, 300)).T) == 0
    assert dense_axis(np.zeros((300, 300))) is None
    assert dense_axis(np.zeros((30, 30)).T) is None
    assert dense_axis(np.zeros((100_000, 3)).T[:, ::2]) is None


def test_contiguous_uses_it():
    x = weft.arange(256 * 300).reshape(256, 300)
    assert x.t().contiguous().tolist() == [list(range(column, 256 * 300, 300)) for column in range(300)]
