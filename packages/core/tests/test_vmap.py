"""vmap: a function of one example on a batch, against a loop."""

import math
from functools import partial

import pytest

import weft
from weft.func import grad, vmap

X = weft.arange(6.0).reshape(2, 3)


def loop(function, *batches):
    return weft.stack([function(*each) for each in zip(*batches, strict=True)])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sin() + 1,
        lambda x: x.sum(),
        lambda x: x.softmax(0),
        lambda x: x[:, None] * x,
        lambda x: weft.cat([x, x * 2]),
        lambda x: weft.stack([x, weft.ones(3)], 1),
        lambda x: x.flip(0).cumsum(0),
        lambda x: x.expand(2, 3).T,
        lambda x: x.view(3, 1).squeeze(-1)[1:],
        lambda x: x.unsqueeze(0).unsqueeze(-1).transpose(0, 1),
        lambda x: weft.einsum("i,j->ij", x, x),
        lambda x: weft.ones(4, 3) @ x,
        lambda x: x @ weft.ones(3, 2),
        lambda x: x.outer(x) @ x.outer(x),
        lambda x: x.sort(descending=True).values,
        lambda x: x.topk(2).values,
        lambda x: x.max(),
        lambda x: x.argmax().float(),
        lambda x: weft.where(x > 1, x, 0),
        lambda x: x.masked_fill(x > 2, 9),
        lambda x: x[weft.tensor([2, 0])],
        lambda x: weft.arange(6.0)[x.long()],
        lambda x: weft.nn.functional.pad(x, (1, 2)),
        lambda x: x.norm() / x.numel(),
        lambda x: x.var(0),
        lambda x: weft.zeros_like(x).add_(x),
        lambda x: x.clone().index_fill_(0, weft.tensor([1]), 7.0),
        lambda x: x.diag().diagonal(1),
        lambda x: weft.stack(x.split([1, 2])[1].unbind()),
        lambda x: weft.fft.rfft(x).abs(),
        lambda x: weft.linalg.solve(weft.eye(3) * 2, x),
    ],
)
def test_vmap_agrees_with_a_loop(function):
    assert weft.allclose(vmap(function)(X), loop(function, X))


def test_two_batches():
    assert weft.allclose(vmap(weft.dot)(X, X + 1), loop(weft.dot, X, X + 1))


def test_dimensions_may_be_chosen():
    assert weft.equal(vmap(lambda a, b: a + b, in_dims=(1, None), out_dims=1)(X, weft.ones(2)), X + 1)
    assert weft.equal(vmap(lambda a: (a, a.sum()), in_dims=-1, out_dims=(1, 0))(X)[0], X)


def test_containers_and_keywords():
    def function(tree, *, offset):
        return {"out": tree["x"] * 2 + offset}

    found = vmap(function, in_dims=({"x": 0},))({"x": X}, offset=weft.ones(3))
    assert weft.equal(found["out"], X * 2 + 1)


def test_results_that_are_the_same_in_each_example_are_repeated():
    assert vmap(lambda x: weft.ones(2))(X).shape == (2, 2)
    assert vmap(lambda x: weft.ones(2), out_dims=None)(X).shape == (2,)


def test_vmaps_nest():
    found = vmap(vmap(lambda a, b: a * b, (None, 0)), (0, None))(X[0], X[1])
    assert weft.equal(found, X[0][:, None] * X[1])


def test_chunks_give_the_same():
    batch = weft.arange(10.0)
    assert weft.equal(vmap(lambda x: (x, x * 2), chunk_size=3)(batch)[1], batch * 2)


def test_an_empty_batch_gives_an_empty_result():
    assert vmap(lambda x: x.sum())(weft.ones(0, 3)).shape == (0,)


def test_gradients_flow_through_vmap():
    weight = X[0].clone().requires_grad_()
    vmap(lambda x: (weight * x).sum())(X).sum().backward()
    assert weft.equal(weight.grad, X.sum(0))


def test_gradients_of_each_example():
    def loss(weight, x):
        return (weight * x).sin().sum()

    weight = weft.ones(3)
    found = vmap(grad(loss), in_dims=(None, 0))(weight, X)
    assert weft.allclose(found, X * X.cos())


def test_writes_in_place_reach_the_batch():
    x = X.clone()

    def function(row):
        row[0].mul_(0)
        row[1:] += 1
        return row.sum()

    vmap(function)(x)
    assert weft.equal(x, weft.tensor([[0.0, 2.0, 3.0], [0.0, 5.0, 6.0]]))


def test_a_batch_cannot_be_written_into_one_tensor():
    with pytest.raises(RuntimeError, match="inplace"):
        vmap(lambda x: weft.zeros(3).add_(x))(X)


@pytest.mark.parametrize("read", [lambda x: x.item(), bool, float, lambda x: x.tolist(), lambda x: 1 if x > 0 else 2])
def test_values_of_a_batch_cannot_be_read(read):
    with pytest.raises(RuntimeError, match="vmap"):
        vmap(lambda x: read(x.sum()))(X)


def test_functions_that_read_values_run_by_example_and_say_so():
    with pytest.warns(UserWarning, match="no batching rule for histc"):
        found = vmap(lambda x: weft.histc(x, bins=3))(X)
    assert weft.equal(found, weft.ones(2, 3))


def test_random_operations_need_a_choice():
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(lambda x: x + weft.rand(3))(X)


def test_random_numbers_may_differ_or_be_the_same():
    different = vmap(lambda x: weft.rand(3), randomness="different")(X)
    assert not weft.equal(different[0], different[1])
    same = vmap(lambda x: weft.rand(3), randomness="same")(X)
    assert weft.equal(same[0], same[1])
    dropped = vmap(lambda x: weft.bernoulli(x), randomness="different")(weft.full((2, 1000), 0.5))
    assert not weft.equal(dropped[0], dropped[1])
    dropped = vmap(lambda x: weft.bernoulli(x), randomness="same")(weft.full((2, 1000), 0.5))
    assert weft.equal(dropped[0], dropped[1])


@pytest.mark.parametrize(
    ("options", "args", "message"),
    [
        ({"in_dims": 2}, (X,), "in_dim=2"),
        ({"in_dims": (0, 0)}, (X,), "not compatible"),
        ({"in_dims": "0"}, (X,), "in_dims"),
        ({"in_dims": None}, (X,), "in_dims"),
        ({"in_dims": (None,)}, (X,), "at least one"),
        ({}, (X, weft.ones(3)), "same size"),
        ({}, (1.0,), "non-Tensor"),
        ({}, (), "no inputs"),
        ({"out_dims": (0, 1)}, (X,), "out_dims"),
        ({"chunk_size": 0}, (X,), "chunk_size"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(options, args, message):
    with pytest.raises(ValueError, match=message):
        vmap(lambda *given: given[0] * 1, **options)(*args)


def test_unknown_randomness_is_refused():
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(weft.sin, randomness="sometimes")


def test_only_tensors_are_returned():
    with pytest.raises(ValueError, match="only return Tensors"):
        vmap(lambda x: 1)(X)


def test_a_batch_does_not_leave_its_vmap():
    kept = []
    vmap(lambda x: kept.append(x) or x)(X)
    with pytest.raises(RuntimeError, match="ended"):
        kept[0] + 1


ROWS = weft.arange(48.0).reshape(2, 2, 3, 4)


@pytest.mark.parametrize(
    ("function", "index"),
    [
        (lambda x, i: x[i], weft.tensor([1, 0])),
        (lambda x, i: x[0, i], weft.tensor([2, -1])),
        (lambda x, i: x[:, i], weft.tensor([[2, 0], [1, 1]])),
        (lambda x, i: x[..., i], weft.tensor([[[2, 0]], [[1, 1]]])),
        (lambda x, i: x[i, :, i], weft.tensor([[1, 0], [0, 0]])),
        (lambda x, i: x[:, i, weft.tensor([3, 1])], weft.tensor([[2, 0], [1, 1]])),
        (lambda x, i: x[:, i, weft.tensor([[3], [1]])], weft.tensor([2, 0])),
        (lambda x, i: x[None, i], weft.tensor([1, 0])),
    ],
)
def test_each_example_is_indexed_at_its_own_positions(function, index):
    assert weft.equal(vmap(function)(ROWS, index), loop(function, ROWS, index))
    shared = vmap(function, in_dims=(None, 0))(ROWS[0], index)
    assert weft.equal(shared, weft.stack([function(ROWS[0], each) for each in index]))


def test_the_gradient_of_an_element_of_each_example_is_where_it_was():
    found = vmap(grad(lambda x, i: x[i] ** 2))(X, weft.tensor([2, 0]))
    assert found.tolist() == [[0.0, 0.0, 4.0], [6.0, 0.0, 0.0]]


def test_a_position_of_each_example_can_be_written_to():
    def write(x, i):
        x = x.clone()
        x[i] = 9.0
        return x

    assert vmap(write)(X, weft.tensor([2, 0])).tolist() == [[0.0, 1.0, 9.0], [9.0, 4.0, 5.0]]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.nonzero(),
        lambda x: x[x > 1],
        lambda x: x.masked_select(x > 1),
        lambda x: x.unique(),
        lambda x: x.unique_consecutive(),
        lambda x: weft.where(x > 1)[0],
    ],
)
def test_results_whose_size_is_in_the_values_are_refused_whatever_the_values_are(function):
    with pytest.raises(RuntimeError, match="dynamic shape"):
        vmap(function)(weft.full((2, 3), 2.0))


def test_as_strided_of_an_example_stays_inside_of_it():
    assert weft.equal(vmap(lambda x: x.as_strided((2,), (1,), 1))(X[:, :]), X[:, 1:])
    assert vmap(lambda x: x.as_strided((0,), (1,)))(X).shape == (2, 0)
    for geometry in (((4,), (1,), 0), ((3,), (1,), 1), ((2, 2), (2, 1), 0), ((2,), (3,), 0)):
        with pytest.raises(RuntimeError, match="memory outside"):
            vmap(partial(weft.Tensor.as_strided, size=geometry[0], stride=geometry[1], storage_offset=geometry[2]))(X)


def test_data_of_an_example_is_refused():
    with pytest.raises(RuntimeError, match="not allowed"):
        vmap(lambda x: x.data)(X)


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_rolled_without_dims_an_example_stays_in_itself(shape):
    x = weft.arange(4 * math.prod(shape)).reshape(4, *shape)
    assert weft.equal(vmap(lambda x: x.roll(1))(x), weft.stack([each.roll(1) for each in x]))
    assert weft.equal(vmap(lambda x: x.roll(1))(weft.arange(3)), weft.arange(3))


def test_second_derivatives_go_through_views():
    y = weft.tensor([1.0, 2.0, 4.0])
    products = weft.tensor([[2.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert weft.equal(weft.func.hessian(lambda y: (y[0] * y).sum())(y), products)
    trace = weft.func.hessian(lambda y: y.diagonal().sum().square())(weft.eye(2)).reshape(4, 4)
    assert trace.tolist() == [[2, 0, 0, 2], [0, 0, 0, 0], [0, 0, 0, 0], [2, 0, 0, 2]]


@pytest.mark.parametrize("chunk_size", [None, 1])
def test_results_without_a_batch_may_be_any_values(chunk_size):
    x = weft.arange(6.0).reshape(2, 3)
    kept, words = weft.vmap(lambda a: (a * 1, "words"), out_dims=(0, None), chunk_size=chunk_size)(x)
    assert kept.tolist() == x.tolist() and words == "words"
    assert weft.vmap(lambda a: None, out_dims=None, chunk_size=chunk_size)(x) is None
    with pytest.raises(ValueError, match="got type <class 'str'>"):
        weft.vmap(lambda a: (a, "words"))(x)
