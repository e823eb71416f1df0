"""Meshes of processes, and functional collectives over them."""

import copy
import pickle

import pytest
from ranks import run_ranks

import weft
import weft.distributed as dist
import weft.distributed._functional_collectives as funcol
from weft.distributed.device_mesh import DeviceMesh, init_device_mesh


def mesh_of_two_dims():
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    dp, tp = mesh["dp"], mesh["tp"]
    assert (mesh.ndim, mesh.size(), mesh.shape, mesh.get_coordinate()) == (2, 4, (2, 2), divmod(rank, 2))
    assert mesh["dp"] is dp
    assert mesh["dp", "tp"] is mesh
    assert dp.get_group() is mesh.get_group("dp") is mesh.get_all_groups()[0]
    assert dist.get_process_group_ranks(dp.get_group()) == [rank % 2, rank % 2 + 2] == dp.mesh.tolist()
    assert dist.get_process_group_ranks(tp.get_group()) == [rank // 2 * 2, rank // 2 * 2 + 1] == tp.mesh.tolist()
    assert (dp.get_local_rank(), tp.get_local_rank(), mesh.get_local_rank("tp")) == (rank // 2, rank % 2, rank % 2)
    assert tp == DeviceMesh("cpu", tp.mesh, mesh_dim_names=("tp",), _init_backend=False)
    assert hash(mesh) == hash(copy.deepcopy(mesh))
    assert pickle.loads(pickle.dumps(tp)) is not None
    flat = mesh._flatten("world")
    assert flat.size() == 4
    assert mesh["world"] is flat
    assert flat.get_group() is dist.group.WORLD
    with pytest.raises(KeyError, match="pp"):
        mesh["pp"]
    with pytest.raises(RuntimeError, match="mesh_dim"):
        mesh.get_group()
    turned = mesh["tp", "dp"]
    assert turned.get_coordinate() == (rank % 2, rank // 2)
    one = DeviceMesh.from_group(tp.get_group(), "cpu", mesh_dim_names=("tp",))
    assert one.get_group() is tp.get_group()
    both = DeviceMesh.from_group([dp.get_group(), tp.get_group()], "cpu", mesh.mesh, mesh_dim_names=("dp", "tp"))
    assert both["tp"].get_group() is tp.get_group()
    x = weft.tensor([1.0 + rank])
    assert funcol.all_reduce(x, "sum", (mesh, 0)).item() == 2 * (1 + rank % 2) + 2
    assert funcol.all_reduce(x, "sum", tp).item() == 4 * (rank // 2) + 3


def test_dims_have_groups_that_slices_share():
    run_ranks(mesh_of_two_dims, 4)


def functional_collectives():
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (2,))
    x = weft.arange(6.0).reshape(2, 3) + 10 * rank
    other = weft.arange(6.0).reshape(2, 3) + 10 * (1 - rank)
    first, second = (x, other) if rank == 0 else (other, x)
    for group in (mesh, (mesh, 0), [0, 1], dist.group.WORLD, dist.group.WORLD.group_name):
        assert weft.equal(funcol.all_reduce(x, "avg", group), (x + other) / 2)
    for dim in (0, 1):
        assert weft.equal(funcol.all_gather_tensor(x, dim, mesh), weft.cat([first, second], dim))
    assert weft.equal(funcol.reduce_scatter_tensor(x, "sum", 0, mesh), (x + other)[rank : rank + 1])
    assert weft.equal(funcol.broadcast(x, 1, mesh), second)
    assert weft.equal(funcol.permute_tensor(x, [1, 0], mesh), other)
    sizes = ([1, 1], [1, 1])
    assert weft.equal(funcol.all_to_all_single(x, *sizes, mesh), weft.stack([first[rank], second[rank]]))
    assert [each.item() for each in funcol.all_reduce_coalesced([x[0, 0], x[0, 1]], "max", mesh)] == [10, 11]
    for function, wanted in (
        (lambda t: funcol.all_reduce(t, "sum", mesh), 2.0),
        (lambda t: funcol.all_gather_tensor_autograd(t, 1, mesh), 2.0),
        (lambda t: funcol.reduce_scatter_tensor_autograd(t, "sum", 0, mesh), 1.0),
        (lambda t: funcol.all_to_all_single_autograd(t, *sizes, mesh), 1.0),
    ):
        leaf = x.clone().requires_grad_()
        funcol.wait_tensor(function(leaf)).sum().backward()
        assert weft.equal(leaf.grad, weft.full((2, 3), wanted))


def test_functional_collectives_return_results_and_have_gradients():
    run_ranks(functional_collectives, 2)


def test_a_mesh_that_does_not_fit_is_refused():
    try:
        with pytest.raises(RuntimeError, match="bigger than default world size"):
            init_device_mesh("cpu", (2, 2))
        with pytest.raises(RuntimeError, match="same length"):
            init_device_mesh("cpu", (1,), mesh_dim_names=("a", "b"))
        with pytest.raises(RuntimeError, match="unique"):
            init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "a"))
        with pytest.raises(RuntimeError, match="duplicate"):
            DeviceMesh("cpu", [0, 0])
        with pytest.raises(ValueError, match="1D mesh"):
            funcol.all_reduce(weft.ones(1), "sum", init_device_mesh("cpu", (1, 1)))
    finally:
        dist.destroy_process_group()
