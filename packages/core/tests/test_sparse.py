"""Sparse tensors of coordinates and values."""

import copy

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
    for result in (sparse @ b, weft.mm(sparse, b), weft.spmm(sparse, b), weft.sparse.mm(sparse, b)):
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
