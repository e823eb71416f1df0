"""Writes by index, through the flattened array."""

import numpy as np
import pytest

import weft

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_index_add_adds_repeated_positions_each_time(dim):
    base = RNG.standard_normal((4, 5, 6))
    index = RNG.integers(0, base.shape[dim], 9)
    source = RNG.standard_normal([9 if d == dim else n for d, n in enumerate(base.shape)])
    expected = base.copy()
    np.add.at(expected, (slice(None),) * dim + (index,), source)
    made = weft.from_numpy(base).index_add(dim, weft.from_numpy(index), weft.from_numpy(source))
    assert np.allclose(made.numpy(), expected)


@pytest.mark.parametrize(
    "key",
    [
        ([1, -1, 1],),
        ([0, 0], slice(None), [3, 3]),
        (slice(None), [1, 2, 2]),
        ([[0, 0], [1, 1]], [1, 1]),
        (slice(None), [0, 0], [5, -1]),
    ],
    ids=str,
)
def test_the_gradient_of_an_index_adds_at_repeated_positions(key):
    x = weft.zeros(4, 5, 6, dtype=weft.float64, requires_grad=True)
    taken = x[tuple(part if isinstance(part, slice) else weft.tensor(part) for part in key)]
    grad = RNG.standard_normal(taken.shape)
    taken.backward(weft.from_numpy(grad))
    expected = np.zeros((4, 5, 6))
    np.add.at(expected, tuple(part if isinstance(part, slice) else np.array(part) for part in key), grad)
    assert np.allclose(x.grad.numpy(), expected)


def test_the_value_of_index_fill_gets_the_gradient_of_each_position_once():
    value = weft.tensor(2.0, requires_grad=True)
    weft.zeros(3, 2).index_fill(0, weft.tensor([1, 1]), value).sum().backward()
    assert value.grad.item() == 2.0


def test_nonzero_static_fills_missing_rows():
    assert weft.nonzero_static(weft.tensor([0, 1, 0, 1]), size=3).tolist() == [[1], [3], [-1]]
    assert weft.nonzero_static(weft.tensor([0, 1, 0, 1]), size=1).tolist() == [[1]]


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda x, i: x.put(i, weft.ones(3)), IndexError, "same number of elements"),
    (lambda x, i: x.index_add(0, i + 5, weft.ones(2, 3)), RuntimeError, "index_add: index 6 is out of bounds"),
    (lambda x, i: x.index_copy(0, i, weft.ones(3, 3)), IndexError, "Number of indices"),
    (lambda x, i: x.index_copy(0, i, weft.ones(2, 2)), RuntimeError, "same slice shapes"),
    (lambda x, i: x.index_copy(0, i.int(), weft.ones(2, 3)), RuntimeError, "Expected a long tensor"),
    (lambda x, i: x.index_put(i, weft.ones(3)), TypeError, "must be tuple of Tensors"),
    (lambda x, i: x.index_put((i, i), weft.ones(3)), RuntimeError, "cannot be broadcast to indexing result"),
    (lambda x, i: x.scatter(0, i[None]), TypeError, "missing 1 required"),
    (lambda x, i: x.scatter(0, i[None], 1j), RuntimeError, "without overflow"),
    (lambda x, i: x.sum().index_select(0, i * 0), RuntimeError, "can have only 1 value"),
])  # fmt: skip
def test_wrong_positions_and_values_are_refused(call, error, match):
    with pytest.raises(error, match=match):
        call(weft.ones(2, 3), weft.tensor([0, 1]))


def test_the_positions_of_one_dimension_lie_together():
    assert weft.ones(3, 4).nonzero().stride() == (1, 12)


@pytest.mark.parametrize("dtype", [weft.bfloat16, weft.float16])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_sums_of_many_halves_at_one_position_do_not_stop_to_grow(dtype, columns):
    many = 4096  # a sum that is rounded each time stays at 256, or 2048
    index, ones = weft.zeros(many, dtype=weft.int64), weft.ones(many, *columns, dtype=dtype)
    places = index.reshape(many, *[1] * len(columns)).expand(many, *columns)
    zero = weft.zeros(1, *columns, dtype=dtype)
    x = zero.clone().requires_grad_()
    results = [
        zero.index_add(0, index, ones),
        zero.scatter_add(0, places, ones),
        zero.index_put((index,), ones, accumulate=True),
        weft.autograd.grad(x.index_select(0, index).sum(), x)[0],
        weft.autograd.grad(x.gather(0, places).sum(), x)[0],
        weft.autograd.grad(x[index].sum(), x)[0],
    ]
    assert all((each == many).all() for each in results), results


def test_gradients_of_overlapping_windows_of_halves_are_summed_in_float32():
    x = weft.zeros(2047, dtype=weft.bfloat16, requires_grad=True)
    assert weft.autograd.grad(x.unfold(0, 1024, 1).sum(), x)[0][1023] == 1024


@pytest.mark.filterwarnings("ignore:The reduce argument")
def test_a_product_at_positions_has_the_derivative_of_what_was_there_and_refuses_that_of_its_factors():
    x, factors = weft.tensor([1.0, 2.0, 4.0], requires_grad=True), weft.tensor([3.0, 5.0, 7.0])
    index = weft.tensor([0, 0, 2])
    x.scatter(0, index, factors, reduce="multiply").sum().backward()
    assert x.grad.tolist() == [15, 1, 7]
    with pytest.raises(RuntimeError, match="derivative of src is not implemented"):
        x.scatter(0, index, factors.requires_grad_(), reduce="multiply").sum().backward()


@pytest.mark.parametrize("name", ["index_add", "index_copy", "index_reduce"])
@pytest.mark.parametrize(
    ("size", "source", "count", "error"),
    [
        ((2, 3), (), 0, IndexError),
        ((2,), (), 2, IndexError),
        ((2, 3), (), 1, RuntimeError),
        ((2, 3), (3, 2), 3, RuntimeError),
        ((), (1, 3), 1, RuntimeError),
        ((2, 3), (2, 3), 1, None),
        ((), (1,), 0, None),
    ],
)
@pytest.mark.filterwarnings("ignore:index_reduce")
def test_slices_that_are_written_have_the_shape_and_the_number_of_their_places(name, size, source, count, error):
    wanted = error or (IndexError if name == "index_copy" else RuntimeError)
    more = ("prod",) if name == "index_reduce" else ()
    with pytest.raises(wanted):
        getattr(weft.ones(size), name)(0, weft.zeros(count, dtype=weft.int64), weft.ones(source), *more)


@pytest.mark.parametrize("index", [[...], [slice(None)], [..., slice(None)], (), ..., [slice(None), slice(None)]])
@pytest.mark.filterwarnings("ignore")
def test_an_index_that_takes_all_makes_a_view(index):
    x = weft.ones(2, 3, requires_grad=True)
    y = x[index]
    assert y is not x and y._base is x and not y.is_leaf


@pytest.mark.parametrize("size", [3, 100, 5000, 100_000])
@pytest.mark.parametrize("dtype", [weft.float32, weft.int64, weft.bfloat16])
def test_an_element_of_the_tensor_may_fill_some_of_it(size, dtype):
    x = (weft.arange(size) % 100).to(dtype)
    where, places = weft.arange(size) % 3 != 0, weft.arange(0, size, 2)
    for at in (0, size // 2, size - 1):
        number = x[at].item()
        for write, expected in (
            (lambda y, value: y.masked_fill_(where, value), x.masked_fill(where, number)),
            (lambda y, value: y.index_fill_(0, places, value), x.index_fill(0, places, number)),
            (lambda y, value: y.fill_(value), weft.full_like(x, number)),
            (lambda y, value: y.__setitem__(where, value), x.masked_fill(where, number)),
        ):
            y = x.clone()
            write(y, y[at])
            assert weft.equal(y, expected)


def test_grids_of_an_empty_vector_have_a_gradient():
    grids = weft.meshgrid(weft.ones(0, requires_grad=True), weft.ones(2, requires_grad=True), indexing="ij")
    assert all(each.requires_grad and each.shape == (0, 2) for each in grids)


def test_index_select_beyond_a_later_dimension_is_a_runtime_error():
    with pytest.raises(RuntimeError, match="INDICES element is out of DATA bounds"):
        weft.zeros(2, 3).index_select(1, weft.tensor([3]))
    for shape in ((3,), (3, 2)):
        with pytest.raises(IndexError, match="out of range"):
            weft.zeros(shape).index_select(0, weft.tensor([3]))


@pytest.mark.parametrize("values", [lambda i: i.clone(), lambda i: i])
def test_index_put_refuses_an_index_of_the_memory_that_it_writes_to(values):
    index = weft.tensor([2, 1, 0])
    with pytest.raises(RuntimeError, match="single memory location"):
        index.index_put_((index,), values(index))
