"""Copies from any layout to any other, and nothing beside them."""

import numpy as np
import pytest

from weft.backend_cpu import libraries

if not libraries.has_loops():
    pytest.skip("needs Numba", allow_module_level=True)
from weft.backend_cpu.compiled.codegen.strided_copy import strided_copy

VIEWS = {
    "contiguous": lambda x: x,
    "part": lambda x: x[1:, 3:-2],
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[:, ::-1],
    "rotated": lambda x: x[:, ::-1].T,
    "turned around": lambda x: x[::-1, ::-1].T,
    "every third": lambda x: x[::3, ::2],
    "few columns": lambda x: x[:, :3],
    "few rows": lambda x: x[:3].T,
    "a row again and again": lambda x: np.broadcast_to(x[0], x.shape),
    "a column again and again": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "each element twice": lambda x: np.broadcast_to(x[:, :, None], (*x.shape, 2)),
    "four dimensions": lambda x: x.reshape(3, 20, 5, 40).transpose(2, 0, 3, 1),
    "short and long": lambda x: x.reshape(60, 100, 2).transpose(0, 2, 1),
    "one element": lambda x: x[3:4, 5:6],
    "none": lambda x: x[:, :0],
    "no dimensions": lambda x: x[3, 4, ...],
}


@pytest.mark.parametrize("element", ["uint8", "uint16", "float32", "float64"])
@pytest.mark.parametrize("name", VIEWS)
def test_elements_are_copied_from_any_layout_to_any_other(name, element):
    source = VIEWS[name](np.arange(12000).reshape(60, 200).astype(element))
    for target in (
        np.zeros(source.shape, element),
        np.zeros(source.shape[::-1], element).T,
        np.zeros((*source.shape, 2), element)[..., 1],
        np.zeros(source.shape, element)[..., ::-1] if source.ndim else np.zeros((), element),
    ):
        assert strided_copy(target, source)
        assert (target == source).all()


def test_memory_beside_the_target_stays():
    whole = np.zeros((50, 60), np.float32)
    assert strided_copy(whole[1:-1, 2:-3], np.ones((55, 48), np.float32).T)
    assert whole.sum() == 48 * 55
    assert not whole[0].any()
    assert not whole[:, :2].any()
    assert not whole[:, -3:].any()


def test_what_cannot_be_copied_is_left_alone():
    read_only = np.zeros(5, np.float32)
    read_only.setflags(write=False)
    assert not strided_copy(read_only, np.ones(5, np.float32))
    assert not strided_copy(np.zeros(5, complex), np.ones(5, complex))
    assert not strided_copy(np.zeros(9, np.uint8)[1:].view(np.float32), np.ones(2, np.float32))
