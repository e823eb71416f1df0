"""The compiled kernels that read and write at positions, against NumPy."""

import numpy as np
import pytest

import weft
from weft.backend_cpu import libraries

pytestmark = pytest.mark.skipif(
    not any(library.__name__.endswith("compiled") for library in libraries.available()), reason="needs Numba"
)

RANDOM = np.random.default_rng(0)
SHAPES = [((40, 300), 0), ((40, 300), 1), ((5, 30, 70), 1), ((1, 9000), 1), ((9000, 1), 0), ((3, 50, 80), 2)]


def array(shape, element="float32"):
    return (RANDOM.standard_normal(shape) * 9).astype(element)


@pytest.mark.parametrize("element", ["float32", "float64", "int64", "bool", "int16"])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_rows_are_taken(shape, dim, element):
    x, index = array(shape, element), RANDOM.integers(0, shape[dim], 77)
    found = weft.from_numpy(x).index_select(dim, weft.from_numpy(index))
    assert (found.numpy() == np.take(x, index, axis=dim)).all()


@pytest.mark.parametrize("element", ["float32", "int64", "bool"])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_single_elements_are_gathered(shape, dim, element):
    x = array(shape, element)
    index = RANDOM.integers(0, shape[dim], (*shape[:dim], 90, *shape[dim + 1 :]))
    found = weft.from_numpy(x).gather(dim, weft.from_numpy(index))
    assert (found.numpy() == np.take_along_axis(x, index, dim)).all()


@pytest.mark.parametrize("element", ["float32", "int64"])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_elements_are_scattered_and_added(shape, dim, element):
    x = array(shape, element)
    index = RANDOM.integers(0, shape[dim], (*shape[:dim], 90, *shape[dim + 1 :]))
    source = array(index.shape, element)
    places = list(np.indices(index.shape))
    places[dim] = index
    expected, last = x.copy(), x.copy()
    np.add.at(expected, tuple(places), source)
    last[tuple(places)] = source
    arguments = dim, weft.from_numpy(index), weft.from_numpy(source)
    np.testing.assert_allclose(weft.from_numpy(x).scatter_add(*arguments).numpy(), expected, rtol=1e-5, atol=1e-4)
    assert (weft.from_numpy(x).scatter(*arguments).numpy() == last).all()


@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_rows_are_added_to_rows(shape, dim):
    x, index = array(shape), RANDOM.integers(0, shape[dim], 33)
    source = array((*shape[:dim], 33, *shape[dim + 1 :]))
    expected = x.copy()
    np.add.at(expected, (*[slice(None)] * dim, index), source * 2)
    found = weft.from_numpy(x).index_add(dim, weft.from_numpy(index), weft.from_numpy(source), alpha=2)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-4)


def test_the_gradient_of_an_embedding_has_none_at_the_padding():
    weight, indices = weft.zeros(50, 64, requires_grad=True), weft.from_numpy(RANDOM.integers(0, 50, (20, 30)))
    weft.nn.functional.embedding(indices, weight, padding_idx=3).sum().backward()
    counts = np.bincount(indices.numpy().reshape(-1), minlength=50)
    counts[3] = 0
    assert (weight.grad.numpy() == counts[:, None]).all()


WRITING = {  # in place: by name, the function of a matrix, positions along its rows, and values
    "scatter": lambda x, index, values: x.scatter_(1, index, values),
    "scatter_add": lambda x, index, values: x.scatter_add_(1, index, values),
    "scatter_reduce": lambda x, index, values: x.scatter_reduce_(1, index, values, "amax"),
    "index_add": lambda x, index, values: x.index_add_(1, index[20], values),
    "index_put": lambda x, index, values: x.index_put_((index[:, :40] % 40, index[:, :40]), values[:, :40]),
}
READING = {
    "gather": lambda x, index: x.gather(1, index),
    "index_select": lambda x, index: x.index_select(1, index[20]),
    "index": lambda x, index: x[:, index[20]],
    "take": lambda x, index: x[0].take(index),
    "embedding": lambda x, index: weft.nn.functional.embedding(index, x.t().contiguous()),
    "embedding_bag": lambda x, index: weft.nn.functional.embedding_bag(index, x.t().contiguous()),
}


@pytest.mark.parametrize("wrong", [-301, 300, -(2**63)])
@pytest.mark.parametrize("name", [*WRITING, *READING])
def test_a_position_out_of_range_is_an_error_of_the_function_and_nothing_is_written(name, wrong):
    x, index = weft.zeros(40, 300), weft.zeros(40, 300, dtype=weft.int64)
    index[20, 7] = wrong
    with pytest.raises((IndexError, RuntimeError), match=rf"{name}: index {wrong} is out of bounds .* with size 300"):
        READING[name](x, index) if name in READING else WRITING[name](x, index, weft.ones(40, 300))
    assert not x.any()


def test_negative_positions_count_from_the_end_where_they_are_allowed():
    x = weft.arange(12000.0).reshape(300, 40)
    assert (x[weft.tensor([-1, 0])] == x[[299, 0]]).all()


@pytest.mark.parametrize("element", ["bool", "float32", "int64"])
@pytest.mark.parametrize("shape", [(9000,), (70, 200), (3, 40, 90), (400, 30)])
def test_what_is_not_zero_is_found_and_taken(shape, element):
    x = RANDOM.integers(0, 2, shape).astype(element)
    assert (weft.from_numpy(x).nonzero().numpy() == np.argwhere(x)).all()
    values = array(shape)
    assert (weft.from_numpy(values)[weft.from_numpy(x != 0)].numpy() == values[x != 0]).all()


def test_positions_along_two_dimensions():
    x, rows, columns = array((90, 110, 3)), RANDOM.integers(0, 90, 500), RANDOM.integers(0, 110, 500)
    found = weft.from_numpy(x)[weft.from_numpy(rows), weft.from_numpy(columns)]
    assert (found.numpy() == x[rows, columns]).all()
    rows[7] = -1
    assert (weft.from_numpy(x)[weft.from_numpy(rows), weft.from_numpy(columns)].numpy() == x[rows, columns]).all()
    rows[7] = 90
    with pytest.raises(IndexError):
        weft.from_numpy(x)[weft.from_numpy(rows), weft.from_numpy(columns)]


@pytest.mark.parametrize("element", ["float32", "int64", "bool", "int16"])
def test_columns_are_written(element):
    x, values, index = array((60, 300), element), array((60, 70), element), RANDOM.permutation(300)[:70]
    written, expected = weft.from_numpy(x.copy()), x.copy()
    written[:, weft.from_numpy(index)] = weft.from_numpy(values)
    expected[:, index] = values
    assert (written.numpy() == expected).all()
    written[:, weft.from_numpy(index[:9])] = 1
    expected[:, index[:9]] = 1
    assert (written.numpy() == expected).all()


@pytest.mark.parametrize(("reduce", "ufunc"), [("sum", np.add), ("prod", np.multiply), ("amax", np.maximum)])
@pytest.mark.parametrize(("shape", "dim"), [((40, 300), 1), ((40, 300), 0)])
def test_elements_are_combined_with_those_at_their_positions(reduce, ufunc, shape, dim):
    x, source, index = array(shape, "float64"), array(shape, "float64"), RANDOM.integers(0, shape[dim], shape)
    source[3, 5] = np.nan
    places = list(np.indices(shape))
    places[dim] = index
    expected = x.copy()
    ufunc.at(expected, tuple(places), source)
    arguments = dim, weft.from_numpy(index), weft.from_numpy(source), reduce
    np.testing.assert_allclose(weft.from_numpy(x).scatter_reduce(*arguments).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("element", ["float32", "float64"])
def test_bags_are_sums_and_means_of_rows(element):
    weight, indices = array((90, 64), element), RANDOM.integers(0, 90, 300)
    offsets = np.array([0, 3, 3, 120, 290])
    for mode, kind in (("sum", np.sum), ("mean", np.mean)):
        found = weft.nn.functional.embedding_bag(
            weft.from_numpy(indices), weft.from_numpy(weight), weft.from_numpy(offsets), mode=mode
        )
        rows = np.split(weight[indices].astype("float64"), offsets[1:])
        expected = np.stack([kind(each, axis=0) if len(each) else np.zeros(64) for each in rows])
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-4)
