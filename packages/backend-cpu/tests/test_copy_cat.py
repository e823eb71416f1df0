"""Copies between layouts, against NumPy."""

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries

pytestmark = pytest.mark.skipif(
    not any(library.__name__.endswith("compiled") for library in libraries.available()), reason="needs Numba"
)

ORDERS = [((90, 110), (1, 0)), ((8, 33, 40), (0, 2, 1)), ((8, 33, 40), (2, 0, 1)), ((5, 6, 30, 31), (0, 2, 3, 1))]


@pytest.mark.parametrize("element", ["float32", "float64", "bool", "int16"])
@pytest.mark.parametrize(("shape", "order"), ORDERS)
def test_a_transposed_copy_has_the_same_elements(shape, order, element):
    x = np.random.default_rng(0).uniform(-90, 90, shape).astype(element).transpose(order)
    copy = weft.from_numpy(x).contiguous().numpy()
    assert copy.flags.c_contiguous
    assert (copy == x).all()


def test_a_slice_of_a_transposed_array_is_copied():
    x = np.arange(40_000.0).reshape(200, 200).T[10:150, 20:190]
    assert (weft.from_numpy(x).contiguous().numpy() == x).all()


@pytest.mark.parametrize("element", ["float32", "int64", "bool", "complex128"])
def test_flip_roll_cat_and_stack_are_numpys(element):
    x = np.random.default_rng(0).integers(0, 2, (30, 20, 40)).astype(element)
    y = weft.from_numpy(x)
    for dims in ((0,), (2,), (0, 2), (0, 1, 2)):
        assert (y.flip(dims).numpy() == np.flip(x, dims)).all()
    for shifts, dims in ((3, 0), (-4, 2), (45, 2), (0, 1)):
        assert (y.roll(shifts, dims).numpy() == np.roll(x, shifts, dims)).all()
    assert (y.roll((2, 5, 1), (0, 2, 0)).numpy() == np.roll(x, (3, 5), (0, 2))).all()
    assert (y.roll(7).numpy() == np.roll(x, 7)).all()
    for dim in range(3):
        assert (weft.cat([y, y], dim).numpy() == np.concatenate([x, x], dim)).all()
        assert (weft.stack([y, y], dim).numpy() == np.stack([x, x], dim)).all()
    turned = y.transpose(0, 2)
    assert (weft.cat([turned, turned], 1).numpy() == np.concatenate([x.T, x.T], 1)).all()


def test_a_tensor_takes_the_elements_of_one_in_another_layout():
    x = np.arange(20_000.0).reshape(100, 200)
    target = weft.zeros(200, 100, dtype=weft.float64)
    assert (target.copy_(weft.from_numpy(x).t()).numpy() == x.T).all()
    square = weft.arange(10_000).reshape(100, 100)
    before = square.numpy().copy()
    with pytest.raises(RuntimeError, match="single memory location"):  # over itself, as in PyTorch
        square.copy_(square.t())
    assert (square.numpy() == before).all()
    square.copy_(square.t().clone())
    assert (square.numpy() == before.T).all()


@pytest.mark.parametrize("element", ["float32", "float64", "int16", "bool", "bfloat16", "complex64"])
@pytest.mark.parametrize("value", [0, 1, -0.0])
def test_a_large_array_is_filled_to_its_end(element, value):
    made = weft.full((70001,), value, dtype=getattr(weft, element))
    expected = np.full(70001, value, made._array.dtype)
    assert made._array.tobytes() == expected.tobytes()
    assert made.zero_()._array.tobytes() == bytes(expected.nbytes)


@pytest.mark.parametrize(("shape", "other", "dim"), [((90, 110), (90, 120), 0), ((90, 110), (80, 110), 1)])
def test_arrays_of_other_sizes_are_not_joined(shape, other, dim):
    with pytest.raises(RuntimeError, match="cat: Sizes of tensors must match"):
        weft.cat([weft.zeros(shape), weft.zeros(other)], dim)


@pytest.mark.parametrize("element", ["float32", "int16"])
@pytest.mark.parametrize(("shift", "dim"), [(3, 0), (-7, 1), (1000, 1), (5, 2), (70001, None)])
def test_lines_are_moved_on(shift, dim, element):
    x = np.random.default_rng(0).uniform(-90, 90, (20, 30, 290)).astype(element)
    assert (weft.from_numpy(x).roll(shift, () if dim is None else dim).numpy() == np.roll(x, shift, dim)).all()


@pytest.mark.parametrize("width", [2047, 2048, 2049, 4096, 6143, 9000])
def test_rows_of_any_number_of_bytes_are_joined(width):
    rows = [np.random.default_rng(seed).integers(0, 255, (40, width), np.uint8) for seed in range(2)]
    made = weft.cat([weft.from_numpy(each) for each in rows], 1)
    assert made.numpy().tobytes() == np.concatenate(rows, 1).tobytes()
