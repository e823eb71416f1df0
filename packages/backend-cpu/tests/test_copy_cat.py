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
def test_elements_are_moved_from_any_layout_to_any_other(name, element):
    from weft.backend_cpu.compiled.kernels.copy_cat import moved

    source = VIEWS[name](np.arange(12000).reshape(60, 200).astype(element))
    for target in (
        np.zeros(source.shape, element),
        np.zeros(source.shape[::-1], element).T,
        np.zeros((*source.shape, 2), element)[..., 1],
        np.zeros(source.shape, element)[..., ::-1] if source.ndim else np.zeros((), element),
    ):
        assert moved(target, source)
        assert (target == source).all()


def test_memory_beside_the_target_stays():
    from weft.backend_cpu.compiled.kernels.copy_cat import moved

    whole = np.zeros((50, 60), np.float32)
    assert moved(whole[1:-1, 2:-3], np.ones((55, 48), np.float32).T)
    assert whole.sum() == 48 * 55
    assert not whole[0].any()
    assert not whole[:, :2].any()
    assert not whole[:, -3:].any()


def test_what_cannot_be_moved_is_left_alone():
    from weft.backend_cpu.compiled.kernels.copy_cat import moved

    read_only = np.zeros(5, np.float32)
    read_only.setflags(write=False)
    assert not moved(read_only, np.ones(5, np.float32))
    assert not moved(np.zeros(5, complex), np.ones(5, complex))
    assert not moved(np.zeros(9, np.uint8)[1:].view(np.float32), np.ones(2, np.float32))


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


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("amounts", [(1, 2), (0, 3, 2, 0), (2, 1, 1, 3, 2, 2)])
def test_padding_is_numpys(mode, amounts):
    x = np.random.default_rng(0).standard_normal((3, 4, 12, 13, 14)).astype("float32")
    pairs = [(0, 0)] * (5 - len(amounts) // 2) + [*zip(amounts[-2::-2], amounts[-1::-2])]
    names = {"replicate": "edge", "circular": "wrap"}
    shape = x.shape if len(amounts) == 6 else x.shape[3 - len(amounts) // 2 :]
    x, pairs = x.reshape(-1)[: np.prod(shape)].reshape(shape), pairs[-len(shape) :]
    found = weft.nn.functional.pad(weft.from_numpy(x), amounts, mode)
    assert (found.numpy() == np.pad(x, pairs, names.get(mode, mode))).all()


def test_padding_by_a_negative_amount_crops():
    x = np.arange(20_000).reshape(100, 200)
    found = weft.nn.functional.pad(weft.from_numpy(x), (-3, 2, 4, -5), value=7).numpy()
    assert (found[4:, :-2] == x[:95, 3:]).all()
    assert (found[:4] == 7).all()
    assert (found[:, -2:] == 7).all()


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
