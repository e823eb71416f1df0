"""What is made of positions: sparse tensors, gradients by rows, and vmap, on a device as on the CPU."""

import pytest

import weft
import weft.nn.functional as F
from weft.func import grad, vmap
from weft.testing import assert_close


def coo(device):
    indices = weft.tensor([[0, 1, 1, 2], [2, 0, 0, 1]], device=device)
    return weft.sparse_coo_tensor(indices, weft.tensor([3.0, 4.0, 5.0, 6.0], device=device), (3, 4))


def rows(device, *shape):
    return weft.arange(float(weft.Size(shape).numel()), device=device).reshape(shape)


def table_gradient(device, look_up):
    table = rows(device, 6, 2).requires_grad_()
    look_up(table, weft.tensor([[0, 1], [1, 1]], device=device)).sum().backward()
    return table.grad.coalesce()


def bags(device, mode, **options):
    """What `weft.embedding_bag` says of bags, one of which is empty."""
    offsets = weft.tensor([0, 2, 2], device=device)
    return weft.embedding_bag(
        rows(device, 4, 2), weft.tensor([1, 3, 0, 1], device=device), offsets, False, mode, **options
    )


def embedding_slope(table, index):
    return F.embedding(index, table, padding_idx=0).sum()


INDEX = [[0, 1], [2, 0]]
CASES = {
    "coalesce": lambda d: coo(d).coalesce(),
    "size from indices": lambda d: weft.sparse_coo_tensor(coo(d)._indices(), coo(d)._values()),
    "to_sparse": lambda d: rows(d, 2, 3).to_sparse(),
    "to_sparse_csr": lambda d: coo(d).coalesce().to_sparse_csr(),
    "to_sparse_csc": lambda d: rows(d, 2, 3).to_sparse_csc(),
    "to_sparse_bsr": lambda d: rows(d, 4, 4).to_sparse_bsr((2, 2)),
    "sparse.mm": lambda d: weft.sparse.mm(coo(d), rows(d, 4, 2)),
    "csr matmul": lambda d: coo(d).coalesce().to_sparse_csr() @ rows(d, 4, 2),
    "sparse.sum": lambda d: weft.sparse.sum(coo(d), 0),
    "sparse.softmax": lambda d: weft.sparse.softmax(coo(d), 1),
    "sparse index_select": lambda d: coo(d).index_select(0, weft.tensor([1, 1, 0], device=d)),
    "sparse_mask": lambda d: weft.ones(3, 4, device=d).sparse_mask(coo(d).coalesce()),
    "embedding's sparse gradient": lambda d: table_gradient(d, lambda x, i: F.embedding(i, x, sparse=True)),
    "gather's sparse gradient": lambda d: table_gradient(d, lambda x, i: weft.gather(x, 0, i, sparse_grad=True)),
    "vmap of index": lambda d: vmap(lambda x, i: x[i])(rows(d, 2, 3), weft.tensor(INDEX, device=d)),
    "vmap of scatter_add": lambda d: vmap(lambda x, i: x.scatter_add(0, i, x))(
        rows(d, 2, 3), weft.tensor([[0, 1, 1], [2, 2, 0]], device=d)
    ),
    "vmap of index_put": lambda d: vmap(lambda x, i: x.index_put((i,), x[:2]))(
        rows(d, 2, 3), weft.tensor(INDEX, device=d)
    ),
    "vmap of index_add": lambda d: vmap(lambda x, i: x.index_add(0, i, x[:2]))(
        rows(d, 2, 3), weft.tensor(INDEX, device=d)
    ),
    "vmap of embedding": lambda d: vmap(F.embedding)(weft.tensor(INDEX, device=d), rows(d, 2, 3, 2)),
    "vmap of embedding's gradient": lambda d: vmap(grad(embedding_slope))(
        rows(d, 2, 3, 2), weft.tensor(INDEX, device=d)
    ),
    "truth as index": lambda d: rows(d, 2, 3)[True],
    "mask of the host": lambda d: rows(d, 4)[weft.arange(4) > 1],
    "embedding_bag's means": lambda d: bags(d, 1)[0],
    "embedding_bag's greatest rows": lambda d: bags(d, 2)[3],
    "embedding_bag's sizes": lambda d: bags(d, 2, padding_idx=1)[2],
    "embedding_bag's bags": lambda d: bags(d, 0, padding_idx=1)[1],
    "bincount": lambda d: weft.tensor([3, 1, 3], device=d).bincount(minlength=2),
    "bincount with weights": lambda d: weft.tensor([3, 1, 3], device=d).bincount(rows(d, 3), 7),
    "triangle": lambda d: weft.distributions.utils.vec_to_tril_matrix(rows(d, 6)),
}


def dense(found):
    return found if found.layout == weft.strided else found.to_dense()


@pytest.mark.parametrize("name", CASES)
def test_what_is_made_of_positions_is_as_on_the_cpu(name):
    found = CASES[name]("cuda")
    assert found.device.type == "cuda"
    assert_close(dense(found).cpu(), dense(CASES[name]("cpu")))


def sparse_backward(device):
    table = rows(device, 6, 2).requires_grad_()
    F.embedding(weft.tensor([[0, 1], [1, 1]], device=device), table, sparse=True).sum().backward()


def waits_of(call):
    import cupy_stand_in

    call()
    with cupy_stand_in.record() as log:
        call()
    return [event for event in log if event.kind == "wait"]


@pytest.mark.usefixtures("on_stand_in")
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_bags_are_told_without_a_wait(mode):
    table, indices, offsets = (
        rows("cuda", 4, 2),
        weft.tensor([1, 3, 0], device="cuda"),
        weft.tensor([0, 2], device="cuda"),
    )
    assert not waits_of(lambda: weft.embedding_bag(table, indices, offsets, False, mode, padding_idx=3))


@pytest.mark.usefixtures("on_stand_in")
def test_sparse_tensors_of_a_given_size_wait_for_nothing():
    indices, values, matrix = coo("cuda")._indices(), coo("cuda")._values(), rows("cuda", 4, 2)

    def product():
        made = weft.sparse_coo_tensor(indices, values, (3, 4), is_coalesced=True)
        return weft.sparse.mm(made, matrix), made.to_sparse_csr() @ matrix

    assert not waits_of(product)
    assert not waits_of(lambda: sparse_backward("cuda"))


@pytest.mark.usefixtures("on_stand_in")
def test_bincount_waits_once():
    numbers = weft.tensor([3, 1, 3], device="cuda")
    assert len(waits_of(numbers.bincount)) == 1
