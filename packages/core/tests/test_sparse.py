"""Sparse tensors of coordinates and values."""

import copy
import math

import pytest

import weft

INDICES, SIZE = [[0, 1, 1, 0], [2, 0, 2, 2]], (2, 4)
DENSE = [[0.0, 0.0, 9.0, 0.0], [4.0, 0.0, 5.0, 0.0]]


@pytest.fixture
def values():
    return weft.tensor([3.0, 4.0, 5.0, 6.0], requires_grad=True)


@pytest.fixture
def sparse(values):
    return weft.sparse_coo_tensor(INDICES, values, SIZE)


def test_repeated_coordinates_add_up(sparse):
    assert sparse.to_dense().tolist() == DENSE
    assert (sparse._nnz(), sparse.is_coalesced(), sparse.sparse_dim(), sparse.dense_dim()) == (4, False, 2, 0)
    coalesced = sparse.coalesce()
    assert coalesced.indices().tolist() == [[0, 1, 1], [2, 0, 2]]
    assert coalesced.values().tolist() == [9.0, 4.0, 5.0]
    with pytest.raises(RuntimeError, match="coalesce"):
        sparse.values()


def test_a_sparse_tensor_says_what_it_is(sparse):
    assert isinstance(sparse, weft.Tensor)
    assert sparse.is_sparse
    assert sparse.layout is weft.sparse_coo
    assert (sparse.shape, sparse.dtype, sparse.ndim, sparse.numel()) == (SIZE, weft.float32, 2, 8)
    assert "nnz=4" in repr(sparse)
    assert not weft.ones(1).is_sparse


def test_dense_to_sparse_and_back():
    dense = weft.tensor(DENSE, requires_grad=True)
    sparse = dense.to_sparse()
    assert sparse.indices().tolist() == [[0, 1, 1], [2, 0, 2]]
    sparse.to_dense().pow(2).sum().backward()
    assert dense.grad.tolist() == [[2 * x for x in row] for row in DENSE]
    assert weft.ones(3, 2).to_sparse(1).values().shape == (3, 2)


def test_products_agree_with_dense_ones_and_give_gradients(sparse, values):
    b = weft.arange(8.0).view(4, 2).requires_grad_()
    products = (weft.mm, weft.spmm, weft.sparse.mm, weft.dsmm)  # dsmm: linear_operator
    for result in (sparse @ b, *(product(sparse, b) for product in products)):
        assert result.tolist() == [[36.0, 45.0], [20.0, 29.0]]
    weft.spmm(sparse, b).sum().backward()
    assert values.grad.tolist() == [9.0, 1.0, 9.0, 9.0]
    assert b.grad.tolist() == [[4.0, 4.0], [0.0, 0.0], [14.0, 14.0], [0.0, 0.0]]
    assert (weft.ones(1, 2) @ sparse).tolist() == [[4.0, 0.0, 14.0, 0.0]]
    assert (sparse @ weft.ones(4)).tolist() == [9.0, 9.0]
    assert (sparse.t() @ weft.ones(2, 1)).shape == (4, 1)
    assert (sparse @ sparse.t()).to_dense().tolist() == [[81.0, 45.0], [45.0, 41.0]]
    assert weft.sparse.addmm(weft.ones(2, 2), sparse, b.detach(), beta=2).tolist() == [[38.0, 47.0], [22.0, 31.0]]


def test_sums_and_scalings(sparse):
    assert (sparse * 2 + sparse - sparse / 0.5).to_dense().tolist() == DENSE
    assert (weft.ones(SIZE) + sparse).tolist() == [[x + 1 for x in row] for row in DENSE]
    assert weft.sparse.sum(sparse).item() == 18.0
    assert weft.sparse.sum(sparse, 0).to_dense().tolist() == [4.0, 0.0, 14.0, 0.0]
    assert (-sparse).relu().to_dense().abs().sum().item() == 0.0
    assert sparse.double().dtype is weft.float64
    assert sparse.square().to_dense()[0, 2].item() == 81.0
    assert (sparse * weft.arange(8.0).view(SIZE)).to_dense().tolist() == [[0, 0, 18, 0], [16, 0, 30, 0]]


def test_constructors():
    assert weft.sparse_coo_tensor([[0, 2]], [1.0, 5.0]).shape == (3,)
    assert weft.sparse_coo_tensor((2, 3)).to_dense().tolist() == [[0.0] * 3] * 2
    assert weft.sparse_coo_tensor([[0]], [1.5], dtype=weft.int64).dtype is weft.int64
    indices, values = weft.tensor(INDICES), weft.ones(4)
    assert weft.sparse.FloatTensor(indices, values, weft.Size(SIZE)).to_dense().sum().item() == 4.0
    copied = copy.deepcopy(weft.sparse_coo_tensor(indices, values, SIZE))
    assert copied.to_dense().sum().item() == 4.0


@pytest.mark.parametrize(
    ("indices", "values", "size", "message"),
    [
        ([[0, 5]], [1.0, 2.0], (3,), "outside of size"),
        ([[0, -1]], [1.0, 2.0], (3,), "outside of size"),
        ([[0]], [1.0, 2.0], (3,), "same nnz"),
        ([0], [1.0], (3,), "sparse_dim x nnz"),
        ([[0]], [1.0], (3, 3), "does not fit"),
    ],
)
def test_parts_that_do_not_fit_are_refused(indices, values, size, message):
    with pytest.raises(RuntimeError, match=message):
        weft.sparse_coo_tensor(indices, values, size)


def test_what_is_not_there_says_what_to_do(sparse):
    with pytest.raises(NotImplementedError, match="to_dense"):
        sparse.cumsum(0)
    with pytest.raises(ValueError, match="expected a sparse tensor"):
        weft.sparse.mm(weft.ones(2, 2), weft.ones(2, 2))
    with pytest.raises(RuntimeError, match="columns of"):
        sparse @ weft.ones(3, 1)


def matrices():
    """(sparse, dense) with repeated coordinates, in order, with dense dimensions, and without an element."""
    weft.manual_seed(0)
    indices = weft.randint(0, 4, (2, 9))
    for values in (weft.randn(9), weft.arange(1, 10), weft.arange(9, dtype=weft.uint8) + 40, weft.randn(9, 3)):
        sparse = weft.sparse_coo_tensor(indices, values, (4, 5, *values.shape[1:]))
        yield sparse, sparse.to_dense()
        yield sparse.coalesce(), sparse.to_dense()
    yield weft.sparse_coo_tensor(weft.zeros(2, 0, dtype=weft.int64), weft.zeros(0), (4, 5)), weft.zeros(4, 5)


def agree(got, expected):
    assert got.dtype is expected.dtype
    assert got.shape == expected.shape
    weft.testing.assert_close(got.to_dense(), expected)


def both(function):
    for sparse, dense in matrices():
        agree(function(sparse), function(dense))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.permute(1, 0, *range(2, x.ndim)),
        lambda x: x.transpose(0, -x.ndim + 1),
        lambda x: x.unsqueeze(0),
        lambda x: x.unsqueeze(-1),
        lambda x: x.select(0, 2),
        lambda x: x.select(-1, -1),
        lambda x: x[1],
        lambda x: x[1, 3],
        lambda x: x[:, 1],
        lambda x: x[1:3, None],
        lambda x: x[..., 2],
        lambda x: x[weft.tensor([2, -1, 0, 2])],
        lambda x: x.index_select(1, weft.tensor([4, 0, 0])),
        lambda x: x.index_select(-1, weft.tensor([2, 1])),
        lambda x: weft.narrow_copy(x, 1, 1, 3),
        lambda x: weft.narrow_copy(x, -1, -2, 2),
        lambda x: x.unbind(1)[3],
        lambda x: weft.cat([x, x, x], 1),
        lambda x: weft.cat([x, x], -1),
        lambda x: weft.stack([x, x], 1),
        lambda x: weft.stack([x, x], -1),
        lambda x: weft.vstack([x, x]),
        lambda x: weft.hstack([x, x]),
        lambda x: x.sum(),
        lambda x: x.sum(1),
        lambda x: x.sum((0, 1)),
        lambda x: x.sum(-1, keepdim=True),
        lambda x: x.sum(0, dtype=weft.float64),
        lambda x: x.any(),
        lambda x: x * x,
        lambda x: x * 2,
        lambda x: x.div(2, rounding_mode="trunc"),
        lambda x: x.div(2, rounding_mode="floor"),
        lambda x: x // 2,
        lambda x: x**2,
        lambda x: x.abs(),
        lambda x: x.signbit(),
        lambda x: x.isnan(),
        lambda x: x.long(),
        lambda x: weft.zeros_like(x),
        lambda x: x.clone().copy_(x * 2),
        lambda x: x.clone().mul_(3),
    ],
)
def test_functions_of_sparse_tensors_agree_with_those_of_dense_ones(function):
    both(function)


def test_operators_in_place_write_to_a_sparse_tensor():
    for make in ("to_sparse", "to_sparse_csr"):
        sparse = same = getattr(weft.eye(2), make)()
        sparse += sparse.clone()
        sparse *= 3
        sparse /= 2
        sparse -= sparse.clone() * 2
        assert sparse is same and sparse.to_dense().equal(weft.eye(2) * -3)


def test_sums_in_place_of_coalesced_tensors_are_coalesced():  # torch_optimizer.MADGRAD adds to their _values()
    x, y = weft.tensor([0.0, 1.0, 2.0]).to_sparse(), weft.tensor([3.0, 4.0, 0.0]).to_sparse()
    x.add_(y, alpha=2)
    assert x.is_coalesced() and x._nnz() == 3
    assert x.to_dense().tolist() == [6, 9, 2]


@pytest.mark.parametrize("make", ["to_sparse", "to_sparse_csr"])
def test_leaves_stay_leaves_where_they_are_written_to(make):
    leaf = getattr(weft.eye(2), make)().requires_grad_()
    (leaf @ weft.ones(2, 1)).sum().backward()
    with pytest.raises(RuntimeError, match="leaf"):
        leaf.add_(leaf.grad)
    with weft.no_grad():
        leaf.add_(leaf.grad.coalesce() if make == "to_sparse" else leaf.grad, alpha=-0.5)
    assert leaf.is_leaf and leaf.requires_grad
    assert leaf.detach().to_dense().equal(weft.eye(2) / 2)


@pytest.mark.parametrize("make", ["to_sparse", "to_sparse_csr"])
def test_a_sparse_tensor_added_in_place_to_a_dense_one_keeps_its_history(make):  # peft's SHiRA
    values = weft.tensor([1.0, 2.0], requires_grad=True)
    sparse = getattr(weft.eye(2), make)().with_values(values * 2)
    dense = same = weft.zeros(2, 2)
    dense += sparse
    dense -= sparse * 3
    assert dense is same
    dense.sum().backward()
    assert values.grad.tolist() == [-4, -4]


def test_dividing_keeps_the_rounding_mode():
    sparse = weft.sparse_coo_tensor([[0, 0, 1]], [1.0, 2.0, -7.0], (3,))
    assert sparse.div(2, rounding_mode="trunc").to_dense().tolist() == [1.0, -3.0, 0.0]
    assert sparse.div_(2, rounding_mode="floor").to_dense().tolist() == [1.0, -4.0, 0.0]


def test_products_of_sparse_tensors_meet_where_both_have_elements(sparse, values):
    other = weft.sparse_coo_tensor([[0, 1, 1], [2, 1, 2]], [2.0, 3.0, 10.0], SIZE)
    result = sparse * other
    assert result.coalesce().indices().tolist() == [[0, 1], [2, 2]]
    assert result.to_dense().tolist() == [[0.0, 0.0, 18.0, 0.0], [0.0, 0.0, 50.0, 0.0]]
    result.sum().backward()
    assert values.grad.tolist() == [2.0, 0.0, 10.0, 2.0]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_softmax_is_over_the_elements_that_are_there(dim):
    values = weft.tensor([[1.0, 2.0], [-1.0, 3.0], [0.5, 0.5]], dtype=weft.float64, requires_grad=True)
    indices = weft.tensor([[0, 1, 1], [2, 0, 2]])
    dense = weft.full((2, 3, 2), -math.inf, dtype=weft.float64).index_put(tuple(indices), values)
    expected = dense.softmax(dim).nan_to_num(0.0)
    result = weft.sparse.softmax(weft.sparse_coo_tensor(indices, values, (2, 3, 2)), dim)
    weft.testing.assert_close(result.to_dense(), expected)
    logarithm = weft.sparse.log_softmax(weft.sparse_coo_tensor(indices, values, (2, 3, 2)), dim)
    weft.testing.assert_close(logarithm.coalesce().values().exp(), result.coalesce().values())
    assert weft.autograd.gradcheck(
        lambda v: weft.sparse.softmax(weft.sparse_coo_tensor(indices, v, (2, 3, 2)), dim)._values(), values
    )


def test_batches_of_sparse_matrices_multiply_dense_ones():
    a, b = weft.randn(3, 2, 4), weft.randn(3, 4, 5)
    a[a < 0] = 0
    weft.testing.assert_close(weft.bmm(a.to_sparse(), b), a @ b)
    weft.testing.assert_close(weft.bmm(b.mT, a.to_sparse().transpose(1, 2)), (a @ b).mT)


def test_products_that_stay_sparse(sparse):
    dense = weft.arange(12.0).view(4, 3)
    expected = sparse.to_dense() @ dense
    for result in (weft.smm(sparse, dense), weft.hspmm(sparse, dense)):
        assert result.is_sparse
        weft.testing.assert_close(result.to_dense(), expected)
    total = weft.sspaddmm(expected.to_sparse(), sparse, dense, beta=2, alpha=3)
    weft.testing.assert_close(total.to_dense(), 5 * expected)


def test_a_mask_picks_elements_of_dense_and_sparse_tensors(sparse):
    dense = weft.arange(8.0).view(SIZE)
    assert dense.sparse_mask(sparse.coalesce()).to_dense().tolist() == [[0, 0, 2, 0], [4, 0, 6, 0]]
    mask = weft.sparse_coo_tensor([[0, 0, 1], [1, 2, 0]], [1.0, 1.0, 1.0], SIZE)
    assert sparse.sparse_mask(mask).to_dense().tolist() == [[0, 0, 9, 0], [4, 0, 0, 0]]


def test_a_sparse_tensor_grows_in_place(sparse):
    grown = sparse.clone().sparse_resize_((3, 6), 2, 0)
    assert grown.shape == (3, 6)
    assert grown.to_dense()[:2, :4].tolist() == DENSE
    with pytest.raises(RuntimeError, match="shrinking"):
        sparse.sparse_resize_((1, 4), 2, 0)
    assert sparse.detach().sparse_resize_and_clear_((7,), 1, 0).to_dense().tolist() == [0.0] * 7


def test_gradients_and_data_are_sparse_too(sparse, values):
    assert not sparse.data.requires_grad
    leaf = weft.sparse_coo_tensor(INDICES, [1.0, 2.0, 3.0, 4.0], SIZE, requires_grad=True)
    leaf.to_dense().pow(2).sum().backward()
    assert leaf.grad.is_sparse
    assert leaf.grad._values().tolist() == [10.0, 4.0, 6.0, 10.0]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: x.numpy(), TypeError),
        (lambda x: x.data_ptr(), RuntimeError),
        (lambda x: x.reshape(8), RuntimeError),
        (lambda x: x.expand(3, 2, 4), RuntimeError),
        (lambda x: x.permute(0), RuntimeError),
        (lambda x: x.select(0, 2), IndexError),
        (lambda x: x.index_select(0, weft.tensor([2])), IndexError),
        (lambda x: x.index_select(0, weft.tensor([-1])), IndexError),
        (lambda x: x / x, RuntimeError),
        (lambda x: x**0, RuntimeError),
        (lambda x: x.abs_(), RuntimeError),
        (lambda x: x.copy_(weft.ones(2, 4)), RuntimeError),
        (lambda x: x.to_sparse(1), RuntimeError),
        (lambda x: weft.cat([x, weft.ones(2, 4)]), RuntimeError),
        (lambda x: weft.cat([x, x.t()]), RuntimeError),
        (lambda x: x.norm(dim=0), RuntimeError),
        (lambda x: bool(x), RuntimeError),
        (lambda x: weft.bmm(x, weft.ones(2, 4, 1)), RuntimeError),
    ],
)
def test_what_sparse_tensors_refuse(sparse, call, error):
    with pytest.raises(error):
        call(sparse.detach())


def test_diagonals_make_a_sparse_matrix():
    made = weft.sparse.spdiags(weft.arange(1.0, 10).view(3, 3), weft.tensor([0, 2, -1]), (3, 4))
    assert made.to_dense().tolist() == [[1.0, 0.0, 6.0, 0.0], [7.0, 2.0, 0.0, 0.0], [0.0, 8.0, 3.0, 0.0]]
    with pytest.raises(ValueError, match="offsets"):
        weft.sparse.spdiags(weft.ones(2, 3), weft.tensor([1, 1]), (3, 3))


@pytest.mark.parametrize("dtype", [weft.uint8, weft.int8, weft.bool], ids=str)
def test_sums_of_narrow_integers_at_one_place_do_not_wrap_around(dtype):
    x = weft.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], weft.tensor([100, 100, 100]).to(dtype), (2, 3))
    one = 1 if dtype is weft.bool else 100
    assert x.sum().item() == 3 * one
    assert x.sum(0).to_dense().tolist() == [one, 2 * one, 0]
    assert weft.sparse.sum(x, 0, dtype=weft.float32).to_dense().tolist() == [one, 2 * one, 0]
    assert weft.sparse.sum(x, 0).dtype is dtype


@pytest.mark.parametrize("name", ["zeros", "empty", "new_zeros", "new_empty"])
def test_new_tensors_of_a_sparse_layout_are_sparse(name):
    owner = weft.ones(1, dtype=weft.float16) if name.startswith("new") else weft
    found = getattr(owner, name)((2, 3), layout=weft.sparse_coo)
    assert found.is_sparse and found._nnz() == 0 and found.shape == (2, 3)
    assert found.dtype is (weft.float16 if name.startswith("new") else weft.float32)
    assert getattr(owner, name)(2, layout=weft.sparse_coo, dtype=weft.int32).dtype is weft.int32
    assert not getattr(owner, name)(2, layout=weft.strided).is_sparse


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ones", (2,)),
        ("full", ((2,), 1.0)),
        ("rand", (2,)),
        ("randn", (2,)),
        ("randint", (3, (2,))),
        ("randperm", (3,)),
        ("arange", (3,)),
        ("linspace", (0, 1, 3)),
        ("eye", (3,)),
        ("scalar_tensor", (1.0,)),
        ("ones_like", (weft.ones(2),)),
        ("rand_like", (weft.ones(2),)),
        ("empty_strided", ((2,), (1,))),
    ],
)
def test_layouts_that_a_function_has_no_tensors_of_are_refused(name, arguments):
    with pytest.raises(NotImplementedError, match="not implemented for layout"):
        getattr(weft, name)(*arguments, layout=weft.sparse_coo)
    with pytest.raises(TypeError, match="'layout' must be"):
        getattr(weft, name)(*arguments, layout=3)
    assert not getattr(weft, name)(*arguments, layout=weft.strided).is_sparse


def test_elements_of_sparse_tensors_are_not_assigned():
    with pytest.raises(TypeError, match="Cannot assign"):
        weft.eye(2).to_sparse()[0] = 1.0


@pytest.mark.parametrize("make", ["to_sparse", "to_sparse_csr"])
def test_a_sparse_tensor_is_not_taken_for_its_empty_array(make):
    sparse, dense = getattr(weft.eye(2), make)(), weft.ones(2, 2)
    with pytest.raises(NotImplementedError, match="to_dense"):
        dense[:] = sparse
    with pytest.raises(NotImplementedError, match="to_dense"):
        dense[sparse.bool()]
    with pytest.raises(BufferError, match="to_dense"):
        weft.from_dlpack(sparse)
    assert dense.equal(weft.ones(2, 2))


def test_the_gradient_of_a_sparse_leaf_is_sparse_for_grad_too():
    s = weft.eye(3).to_sparse().requires_grad_()
    (found,) = weft.autograd.grad((s.to_dense() ** 2).sum(), s)
    assert found.is_sparse and found.to_dense().tolist() == (2 * weft.eye(3)).tolist() and s.grad is None
    x = weft.ones(2, requires_grad=True)
    of_dense, of_sparse, unused = weft.autograd.grad(
        s.to_dense().sum() + x.sum(), (x, s, weft.eye(2).to_sparse().requires_grad_()), allow_unused=True
    )
    assert of_dense.tolist() == [1, 1] and of_sparse._values().tolist() == [1, 1, 1] and unused is None


def test_a_sparse_gradient_starts_backward_and_adds_to_another():
    x = weft.tensor([1.5, 1.5], requires_grad=True)
    for _ in range(2):
        x.backward(weft.sparse_coo_tensor([[1, 1]], [1.0, 1.0], (2,)))
    assert x.grad.is_sparse and x.grad.to_dense().tolist() == [0, 4]


def test_to_sparse_refuses_more_sparse_dimensions_than_there_are():
    for count in (-1, 0, 3):
        with pytest.raises(RuntimeError, match="sparse_dim"):
            weft.eye(2).to_sparse(count)
    x = weft.eye(2)
    assert x.to_sparse(layout=weft.strided) is x


def test_adding_in_place_records_the_gradient_of_the_values():
    """Peft's SHiRA trains the values of a sparse tensor that is added to a weight."""
    values = weft.tensor([2.0, 3.0], requires_grad=True)
    total = weft.ones(4)
    total += weft.sparse_coo_tensor(weft.tensor([[1, 3]]), values, (4,))
    (total**2).sum().backward()
    assert values.grad.tolist() == [6.0, 8.0]


@pytest.mark.parametrize("value", [0.0, 2.0])
def test_a_number_goes_to_coordinates_and_back(value):
    x = weft.tensor(value, requires_grad=True)
    sparse = x.to_sparse()
    assert sparse._indices().shape == (0, int(value != 0))
    assert sparse._values().shape == (int(value != 0),)
    assert sparse.to_dense().item() == value
    if value:
        sparse.to_dense().backward()
        assert x.grad.item() == 1
