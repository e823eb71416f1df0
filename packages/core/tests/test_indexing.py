"""Indexing, read and written, against NumPy: basic, advanced, by mask, and mixed."""

import random

import numpy as np
import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck

SHAPE = (3, 4, 5)


def on(library, index):
    """An index with its lists and masks as arrays of a library (NumPy, or weft)."""
    if isinstance(index, tuple):
        return tuple(on(library, each) for each in index)
    if isinstance(index, np.ndarray):
        return index if library is np else weft.from_numpy(index)
    return index


def array(*values):
    return np.array(values)


MASK = np.arange(12).reshape(3, 4) % 3 == 0
INDICES = {
    "int": 1,
    "negative int": -1,
    "all": slice(None),
    "slice": slice(1, 3),
    "slice beyond": slice(1, 99),
    "empty slice": slice(2, 1),
    "step": (slice(None), slice(0, None, 2)),
    "ellipsis": (..., 2),
    "ellipsis in between": (0, ..., 1),
    "new axes": (None, slice(None), None, 1),
    "every dimension": (1, 2, 3),
    "nothing": (),
    "array": array(2, 0, 2),
    "negative array": array(-1, 0),
    "empty array": np.array([], dtype=np.int64),
    "array of two dimensions": array([0, 1], [2, 0]),
    "array after a slice": (slice(None), array(3, 0)),
    "array at the end": (..., array(0, 4)),
    "two arrays": (array(0, 2), array(3, 1)),
    "arrays that broadcast": (array([0], [2]), array(3, 1)),
    "arrays around a slice": (array(0, 2), slice(None), array(3, 1)),
    "arrays around a new axis": (array(0, 2), None, array(3, 1)),
    "arrays together at the end": (slice(None), array(0, 2), array(3, 1)),
    "slices and an array": (slice(0, 2), array(1, 3), slice(None, None, 3)),
    "mask": np.arange(60).reshape(SHAPE) % 7 == 0,
    "mask of the first dimensions": MASK,
    "mask of one dimension": array(True, False, True),
    "mask after a slice": (slice(None), array(True, False, False, True)),
    "mask and array": (array(True, False, True), array(1, 2)),
    "mask with nothing": np.zeros(SHAPE, bool),
    "true": True,
    "false": False,
}


@pytest.mark.parametrize("index", list(INDICES.values()), ids=list(INDICES))
def test_reading_agrees_with_numpy(index):
    values = np.arange(60.0).reshape(SHAPE)
    expected = values[index]
    found = weft.from_numpy(values)[on(weft, index)]
    assert tuple(found.shape) == expected.shape
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("index", list(INDICES.values()), ids=list(INDICES))
def test_writing_agrees_with_numpy(index):
    for value in (7.5, "like"):
        values = np.arange(60.0).reshape(SHAPE)
        tensor = weft.from_numpy(values.copy())
        new = np.random.default_rng(0).random(values[index].shape) if value == "like" else value
        if index is INDICES["array"] and value == "like":
            new[2] = new[0]  # which of two values for one place stays is not defined
        values[index] = new
        tensor[on(weft, index)] = weft.from_numpy(np.asarray(new)) if value == "like" else value
        assert tensor.tolist() == values.tolist()


@pytest.mark.parametrize("index", list(INDICES.values()), ids=list(INDICES))
def test_gradients_of_reading_and_writing_agree_with_differences(index):
    key = on(weft, index)
    x = weft.rand(SHAPE, dtype=weft.float64, requires_grad=True)
    value = weft.rand((), dtype=weft.float64, requires_grad=True)

    def write(x, value):
        y = x * 1
        y[key] = value
        return y

    if x[key].numel():
        assert gradcheck(lambda x: x[key], x, fast_mode=True)
        assert gradgradcheck(lambda x: x[key] ** 2, x, fast_mode=True)
    if all(index is not INDICES[name] for name in ("array", "array of two dimensions")):  # which value stays is open
        assert gradcheck(write, (x, value), fast_mode=True)


def random_index(chance):
    """An index of a tensor of SHAPE with at most one advanced part: NumPy differs for ints beside arrays."""
    parts, advanced = [], False
    for size in SHAPE[: chance.randint(0, 3)]:
        kind = chance.choice(("int", "slice", "slice", "array", "mask", "none"))
        if kind == "none":
            parts.append(None)
            kind = "slice"
        if kind == "slice" or (advanced and kind != "int"):
            start, stop = chance.randint(-size, size), chance.randint(-size, size + 2)
            parts.append(slice(start, stop, chance.choice((None, 1, 2))))
        elif kind == "int" and not advanced:
            parts.append(chance.randrange(-size, size))
        elif kind == "array":
            parts.append(np.array([chance.randrange(-size, size) for _ in range(3)]))
            advanced = True
        elif kind == "mask":
            parts.append(np.array([chance.random() < 0.5 for _ in range(size)]))
            advanced = True
    if advanced:  # an int beside an array is an array in NumPy
        parts = [slice(each, each + 1 or None) if isinstance(each, int) else each for each in parts]
    return tuple(parts)


def test_random_indices_agree_with_numpy():
    chance = random.Random(0)
    for _ in range(500):
        index = random_index(chance)
        values = np.arange(60.0).reshape(SHAPE)
        tensor = weft.from_numpy(values.copy())
        expected, found = values[index], tensor[on(weft, index)]
        assert (tuple(found.shape), found.tolist()) == (expected.shape, expected.tolist()), index
        values[index] = -1
        tensor[on(weft, index)] = -1
        assert tensor.tolist() == values.tolist(), index


def test_an_int_beside_an_array_selects_first():
    x = weft.arange(60).view(SHAPE)
    # NumPy takes the int for an array too, and puts the dimension of both in front: shape (2, 4).
    assert x[0, :, [1, 3]].shape == (4, 2)
    assert x[0, :, [1, 3]].tolist() == [[5 * i + 1, 5 * i + 3] for i in range(4)]
    assert x[:, [0, 1], 2].shape == (3, 2)


@pytest.mark.parametrize(
    ("index", "like"),
    [([0, 2], array(0, 2)), ([True, False, True], array(True, False, True)), (np.int64(1), 1), (range(2), array(0, 1))],
)
def test_lists_and_numbers_of_numpy_are_indices(index, like):
    values = np.arange(60).reshape(SHAPE)
    assert weft.from_numpy(values)[index].tolist() == values[like].tolist()


def test_tensors_without_dimensions_are_ints():
    x = weft.arange(12).view(3, 4)
    assert x[weft.tensor(1)].tolist() == [4, 5, 6, 7]
    assert x[weft.tensor(1), weft.tensor(-1)].item() == 7
    assert x[1 : weft.tensor(3)].shape == (2, 4)
    assert [10, 20, 30][weft.tensor(2)] == 30


def test_masks_of_bytes_are_masks():
    x = weft.arange(3)
    with pytest.warns(UserWarning, match="uint8 is now deprecated"):
        assert x[weft.tensor([1, 0, 1], dtype=weft.uint8)].tolist() == [0, 2]


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (3, IndexError),
        (-4, IndexError),
        ((0, 0, 0, 0), IndexError),
        (array(0, 3), IndexError),
        (array(0, -4), IndexError),
        (array(True, False), IndexError),
        ((array(0, 1), array(0, 1, 2)), IndexError),
        (1.0, IndexError),
        (array(0.5), IndexError),
        ("x", TypeError),
        ((..., ...), IndexError),
        (slice(None, None, -1), ValueError),
        (slice(None, None, 0), ValueError),
        (slice(0.5, 2), TypeError),
    ],
    ids=repr,
)
def test_wrong_indices_are_refused_for_reading_and_writing(index, error):
    x = weft.zeros(SHAPE)
    with pytest.raises(error):
        x[on(weft, index)]
    with pytest.raises(error):
        x[on(weft, index)] = 1
    assert not x.any()


def test_a_value_must_fit_where_it_is_written():
    x = weft.zeros(SHAPE)
    for index in (0, array(0, 1), MASK):
        with pytest.raises(RuntimeError):
            x[on(weft, index)] = weft.ones(7)
    x[0] = weft.ones(1, 1, 4, 5)  # leading dimensions of size 1 are dropped
    x[1] = np.arange(5)
    assert x[0].sum() == 20
    assert x[1, 0].tolist() == [0, 1, 2, 3, 4]


def test_a_value_is_converted_to_the_dtype_that_is_there():
    x = weft.zeros(3, dtype=weft.int64)
    x[0] = 2.7
    x[1:] = weft.tensor([1.5, -1.5])
    assert x.tolist() == [2, 1, -1]


def test_index_put_takes_single_positions():
    first, last = weft.tensor(0), weft.tensor(-1)
    assert weft.zeros(3).index_put((last,), weft.tensor(5.0)).tolist() == [0.0, 0.0, 5.0]
    assert weft.zeros(2, 2).index_put((weft.tensor([0, 1]), first), weft.ones(2)).tolist() == [[1.0, 0.0], [1.0, 0.0]]
    x = weft.ones(2, 2, requires_grad=True)
    value = weft.tensor(3.0, requires_grad=True)
    x.index_put((first, last), value).square().sum().backward()
    assert x.grad.tolist() == [[2.0, 0.0], [2.0, 2.0]]
    assert value.grad == 6.0
    with pytest.raises(IndexError, match="out of bounds"):
        weft.zeros(3).index_put((weft.tensor(3),), weft.tensor(5.0))


def test_repeated_indices_add_up_in_gradients_and_where_asked_for():
    x = weft.zeros(3, requires_grad=True)
    x[weft.tensor([0, 0, 2])].sum().backward()
    assert x.grad.tolist() == [2, 0, 1]
    y = weft.zeros(3).index_put_((weft.tensor([0, 0, 2]),), weft.ones(3), accumulate=True)
    assert y.tolist() == [2, 0, 1]


def test_rows_and_elements_can_be_iterated_over():
    x = weft.arange(6).view(2, 3)
    assert [row.tolist() for row in x] == [[0, 1, 2], [3, 4, 5]]
    assert 4 in x
    assert 7 not in x
    with pytest.raises(TypeError, match="0-d"):
        iter(weft.tensor(1))


@pytest.mark.parametrize("place", [0, slice(1), [True, False], [1]], ids=str)
def test_an_integer_of_more_than_int64_has_cannot_be_written(place):
    for dtype in (weft.int8, weft.int64, weft.float32, weft.bool):
        x = weft.zeros(2, dtype=dtype)
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            x[place] = 2**63
    x = weft.zeros(2, dtype=weft.uint64)
    x[place] = 2**63
    assert 2**63 in x.tolist()


# What a sequence stands for


CUBE = np.arange(27).reshape(3, 3, 3)


@pytest.mark.parametrize(
    ("sequence", "parts"),
    [
        ([[0, 1], [1, 2]], ([0, 1], [1, 2])),
        ([(0, 1), (1, 2)], ([0, 1], [1, 2])),
        ([[0, 1], 0], ([0, 1], 0)),
        ([0, [0, 1]], (0, [0, 1])),
        ([[0, 1]], ([0, 1],)),
        ([slice(0, 2), slice(1, 2)], (slice(0, 2), slice(1, 2))),
        ([1, slice(0, 2)], (1, slice(0, 2))),
        ([None, 0], (None, 0)),
        ([..., 0], (..., 0)),
        ([range(2), range(1, 3)], ([0, 1], [1, 2])),
        ([array(0, 1), array(1, 2)], ([0, 1], [1, 2])),
        ([[True, False, True], [1, 0]], ([True, False, True], [1, 0])),
        ([weft.tensor([0, 1]), weft.tensor([1, 2])], ([0, 1], [1, 2])),
        ([weft.tensor(0), weft.tensor(1)], (0, 1)),
    ],
    ids=repr,
)
def test_a_list_of_more_than_numbers_stands_for_a_tuple_and_warns(sequence, parts):
    x = weft.from_numpy(CUBE.copy())
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        assert x[sequence].tolist() == CUBE[parts].tolist()
    expected = CUBE.copy()
    expected[parts] = -1
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        x[sequence] = -1
    assert x.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "index", [[0, 2], [True, False, True], array([0, 1], [1, 0]), range(2), ([0, 1], [1, 2]), [], ([[0, 1], [1, 2]],)]
)
def test_a_list_of_numbers_and_an_array_are_positions(index):
    place = tuple(index) if isinstance(index, tuple) else list(index) if isinstance(index, range) else index
    place = np.array(place, dtype=np.int64) if isinstance(place, list) and not place else place
    assert weft.from_numpy(CUBE)[index].tolist() == CUBE[place].tolist()


def test_sequences_of_32_parts_are_positions():
    assert weft.arange(3)[[[0]] * 32].shape == (32, 1)


@pytest.mark.parametrize("element", ["int8", "int16"])
def test_short_integers_are_positions_without_dimensions_only(element):
    x = weft.arange(5)
    one = weft.tensor(3, dtype=getattr(weft, element))
    assert x[one] == 3
    for write in (lambda: x[one.reshape(1)], lambda: x.__setitem__(one.reshape(1), 0), lambda: x[[0, 1], one[None]]):
        with pytest.raises(IndexError, match="long, int, byte or bool"):
            write()
    assert x[np.array([3, 1], element)].tolist() == [3, 1]  # of an array they are taken as its numbers


def test_an_empty_mask_is_a_mask():
    assert weft.zeros(2, 0)[np.zeros((2, 0), bool)].shape == (0,)
    assert weft.zeros(2, 0)[True, weft.zeros(2, 0, dtype=weft.bool)].shape == (0,)
    assert weft.zeros(3)[[]].shape == (0,)


@pytest.mark.parametrize("index", [[0, 1], weft.tensor([0, 1]), (True, weft.tensor([0])), weft.tensor(True)], ids=repr)
@pytest.mark.parametrize("value", [weft.tensor(1.5), weft.tensor([2], dtype=weft.int16), weft.tensor(1j)], ids=repr)
def test_what_is_written_at_positions_has_the_dtype_of_the_tensor(index, value):
    x = weft.zeros(3, dtype=weft.int64)
    with pytest.raises(RuntimeError, match="source and destination dtypes match"):
        x[index] = value
    with pytest.raises(RuntimeError, match="source and destination dtypes match"):
        x.index_put_((weft.tensor([0]),), value)
    assert not x.any()


def test_one_element_fills_the_places_of_a_mask_whatever_its_dtype():
    x = weft.zeros(3, dtype=weft.int64)
    mask = weft.tensor([True, False, True])
    x[mask] = weft.tensor([[2.5]])
    assert x.tolist() == [2, 0, 2]
    x.index_put_((mask,), weft.tensor(3.5))
    assert x.tolist() == [3, 0, 3]
    with pytest.raises(RuntimeError, match="overflow"):
        x[mask] = weft.tensor(1j)
    with pytest.raises(RuntimeError, match="dtypes match"):
        x[mask] = weft.tensor([1.0, 2.0])
    assert x.tolist() == [3, 0, 3]


@pytest.mark.parametrize(
    "write", ["x[0] = v", "x[[0]] = v", "x[x == 0] = v", "x.fill_(v)", "x.masked_fill_(x == 0, v)"]
)
def test_unsigned_integers_take_no_negative_fractions(write):
    x = weft.zeros(3, dtype=weft.uint8)
    with pytest.raises(RuntimeError, match="overflow"):
        exec(write, {"x": x, "v": -0.5})
    assert not x.any()
    exec(write, {"x": x, "v": -1})
    assert x[0] == 255


def test_positions_along_a_dimension_without_elements_are_refused_where_something_is_written():
    x = weft.zeros(2, 0)
    with pytest.raises(IndexError, match="size 0"):
        x[:, [0]] = weft.zeros(2, 1)
    x[:, weft.tensor([], dtype=weft.int64)] = 1.0
    x[[], [0]] = 1.0


@pytest.mark.parametrize(
    "call", ["x.index_fill_(0, i, 1)", "x.take_along_dim(i, 0)", "x.index_copy_(0, i, weft.ones(1))"]
)
def test_these_take_positions_of_int64_only(call):
    with pytest.raises((IndexError, RuntimeError), match=r"(?i)int64|long"):
        exec(call, {"weft": weft, "x": weft.zeros(3), "i": weft.tensor([0], dtype=weft.int32)})


def test_without_dimensions_there_is_one_position():
    x, none = weft.tensor(1.0), weft.tensor([], dtype=weft.int64)
    for call in (
        lambda: x.index_add(0, none, x),
        lambda: x.index_copy(0, none, x),
        lambda: x.index_reduce(0, none, x, "prod"),
        lambda: weft.take_along_dim(x, weft.tensor(0), 0),
    ):
        with pytest.raises(IndexError):
            call()


def test_index_put_takes_tensors_and_nothing_else():
    x = weft.zeros(2, 3)
    with pytest.raises(TypeError, match="expected Tensor as element 0"):
        x.index_put_((None, weft.tensor([0])), weft.tensor(1.0))


class Calls(weft.library.Interceptor):
    """Keeps the writes at positions that run, as calls that can be repeated."""

    def __init__(self):
        self.seen = []

    def before(self, op, args):
        if op.name == "core::index_put_":
            self.seen.append((op, args))


def test_a_write_at_positions_is_one_op_whichever_way_it_is_written():
    positions, calls, tensor, again = weft.tensor([1, 1]), Calls(), weft.zeros(2, 3), weft.zeros(2, 3)
    with calls:
        tensor[:, positions] = 3.0
        tensor.index_put_((positions, positions), weft.tensor([1.0, 2.0]), accumulate=True)
    assert [list(args)[:3] for _, args in calls.seen] == [["input", "indices", "values"]] * 2
    assert [args.get("accumulate", False) for _, args in calls.seen] == [False, True]
    for op, args in calls.seen:
        op(**{**args, "input": again})
    assert tensor.tolist() == again.tolist() == [[0, 3, 0], [0, 6, 0]]


def test_masks_of_bytes_without_dimensions_are_taken_without_a_warning(recwarn):
    x = weft.arange(3)
    assert x[weft.tensor(1, dtype=weft.uint8)].tolist() == [[0, 1, 2]]
    assert x[weft.tensor(0, dtype=weft.uint8)].shape == (0, 3)
    assert not recwarn


def test_no_index_at_all_is_refused():
    x = weft.ones(3)
    with pytest.raises(IndexError, match="at least one index must be provided"):
        weft.ops.aten.index.Tensor(x, [])
    for accumulate in (False, True):
        with pytest.raises(RuntimeError, match="at least one index must be provided"):
            x.index_put([], weft.ones(1), accumulate)


def test_positions_along_a_dimension_without_any_are_named_so():
    with pytest.raises(IndexError, match="out of bounds for dimension with size 0"):
        weft.empty(10, 0)[:, [0, 1]]


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (weft.tensor([1, 2, 3]), "expected 'shape' to be int or sequence"),
        (2.5, "expected 'shape' to be int or sequence"),
        ((1, 2, 2.0), "expected 'shape' sequence to only contain ints"),
    ],
)
def test_unravel_index_takes_whole_sizes_only(shape, said):
    with pytest.raises(TypeError, match=said):
        weft.unravel_index(weft.tensor([0]), shape)


@pytest.mark.parametrize("shapes", [(1.1,), ((2,), 1.0), (None,)])
def test_broadcast_shapes_takes_whole_sizes_only(shapes):
    with pytest.raises(RuntimeError, match="Input shapes should be of type ints, a tuple of ints, or a list of ints"):
        weft.broadcast_shapes(*shapes)
