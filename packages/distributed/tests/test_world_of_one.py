"""The names of programs for several processes, in a world of one."""

import copy
import importlib
import pickle

import pytest

import weft
import weft.distributed as dist
from weft.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook


@pytest.fixture
def world():
    dist.init_process_group("gloo", world_size=1, rank=0)
    yield
    dist.destroy_process_group()


def test_a_program_that_runs_alone_finds_it_out():
    assert dist.is_available()
    assert not dist.is_initialized()
    with pytest.raises(ValueError, match="get_rank: Default process group has not been initialized"):
        dist.get_rank()


def test_collectives_of_one_process_change_nothing(world):
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    x, gathered = weft.tensor([1.0, 2.0]), [weft.zeros(2)]
    dist.all_reduce(x, op=dist.ReduceOp.SUM)
    dist.broadcast(x, src=0)
    dist.reduce(x, dst=0)
    dist.all_gather(gathered, x)
    dist.barrier()
    objects = [None]
    dist.all_gather_object(objects, "a")
    dist.broadcast_object_list(objects)
    assert x.tolist() == gathered[0].tolist() == [1.0, 2.0]
    assert objects == ["a"]


def test_processes_that_nobody_told_where_to_meet_are_told_so(monkeypatch):
    with pytest.raises(ValueError, match="MASTER_ADDR"):
        dist.init_process_group("gloo", world_size=2, rank=0)
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(ValueError, match="RANK"):
        dist.init_process_group()
    assert not dist.is_initialized()


def test_collectives_that_gradients_flow_through_return_what_they_were_given(world):
    from weft.distributed.nn import functional as nn  # Lightning and open_clip import this path

    x = weft.tensor([1.0, 2.0], requires_grad=True)
    (nn.all_reduce(x) + nn.all_gather(x)[0] + nn.reduce_scatter(weft.empty(2), [x])).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_the_group_of_all_processes_is_this_one(world):
    """Lightning asks for group.WORLD, the ranks in a group and the name of its backend."""
    everyone = dist.group.WORLD
    assert (everyone.rank(), everyone.size(), everyone.name()) == (0, 1, "gloo")
    assert dist.get_process_group_ranks(everyone) == [0]
    assert dist.get_world_size(dist.new_group([0])) == 1
    assert dist.new_group([]) == dist.GroupMember.NON_GROUP_MEMBER
    assert dist.get_rank(dist.GroupMember.NON_GROUP_MEMBER) == -1
    with pytest.raises(ValueError, match="no process of rank 1"):
        dist.new_group([0, 1])


def test_reductions_are_members_of_their_type():
    """Lightning asks with isinstance, of both names; ignite finds them by name."""
    assert isinstance(dist.ReduceOp.SUM, dist.ReduceOp)
    assert isinstance(dist.ReduceOp.SUM, dist.ReduceOp.RedOpType)
    assert dist.ReduceOp["MAX"] is dist.ReduceOp.MAX


def test_a_collective_that_is_not_waited_for_is_done(world):
    x, out = weft.tensor([1.0, 2.0]), weft.zeros(2)
    assert dist.all_reduce(x) is None
    work = dist.all_reduce(x, async_op=True)
    assert work.wait()
    assert work.is_completed()
    dist.reduce_scatter_tensor(out, x)
    dist.all_to_all_single(out, x)
    dist.all_gather_into_tensor(out, x)
    dist.scatter(out, [x], src=0)
    gathered, objects = [weft.zeros(2)], [None]
    dist.gather(x, gathered, dst=0)
    dist.gather_object("a", objects)
    dist.scatter_object_list(objects, ["b"])
    assert (out.tolist(), gathered[0].tolist(), objects) == ([1.0, 2.0], [1.0, 2.0], ["b"])


def test_there_is_no_other_process_to_send_to(world):
    with pytest.raises(ValueError, match="send: there is no process of rank 1"):
        dist.send(weft.ones(1), dst=1)
    with pytest.raises(ValueError, match="broadcast: there is no process of rank 1"):
        dist.broadcast(weft.ones(1), src=1)


def test_a_mesh_of_one_device():
    """Lightning's and transformers' plans are written for meshes with named dims."""
    from weft.distributed.device_mesh import init_device_mesh

    try:
        mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
        assert (mesh.shape, mesh.ndim, mesh.size(), mesh.get_coordinate()) == ((1, 1), 2, 1, (0, 0))
        assert mesh["tp"].get_local_rank() == mesh.get_rank() == 0
        assert repr(mesh["tp"]).startswith("DeviceMesh((tp=1), 'cpu'")
        with pytest.raises(KeyError, match="pp"):
            mesh["pp"]
        with pytest.raises(RuntimeError, match="bigger than default world size"):
            init_device_mesh("cpu", (2,))
    finally:
        dist.destroy_process_group()


def test_a_store_keeps_values():
    store = dist.TCPStore("localhost", 0, world_size=1, is_master=True)
    store.set("a", "b")
    assert (store.get("a"), store.add("n", 2), store.add("n", 3)) == (b"b", 2, 5)


def test_policies_of_wrapping_are_functions_of_modules():
    """Accelerate's and Lightning's plans are made of them."""
    from weft.distributed.fsdp import wrap

    linear = weft.nn.Linear(2, 2)
    policy = wrap.ModuleWrapPolicy({weft.nn.Linear})
    assert policy(linear, False, 0)
    assert not policy(weft.nn.ReLU(), False, 0)
    assert wrap.size_based_auto_wrap_policy(linear, False, 6, min_num_params=6)
    assert not wrap.size_based_auto_wrap_policy(weft.nn.ModuleList(), False, 6, min_num_params=6)
    assert wrap.wrap(linear) is linear


def test_what_divides_work_is_named():
    """Transformers and accelerate ask with isinstance whether a tensor or a module is divided."""
    from weft.distributed import fsdp, tensor

    assert not isinstance(weft.ones(2), tensor.DTensor)
    assert fsdp.MixedPrecisionPolicy(param_dtype=weft.bfloat16).param_dtype is weft.bfloat16
    assert tensor.Shard(1) == tensor.Shard(1) != tensor.Replicate()
    assert tensor.Shard(1).is_shard(1)
    assert not tensor.Shard(1).is_shard(0)
    assert tensor.Partial().is_partial("sum")


def test_joining_waits_for_nobody(world):
    """Accelerate imports it with its Accelerator."""
    from weft.distributed.algorithms.join import Join

    model = weft.nn.parallel.DistributedDataParallel(weft.nn.Linear(2, 2))
    with Join([model]):
        model(weft.ones(1, 2)).sum().backward()
    assert model.module.bias.grad.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="at least one joinable"):
        Join([])


def test_a_wrapper_for_processes_passes_on_in_a_world_of_one(world):
    """Lightning's DDP strategy with manual optimization prepares the reducer before each backward pass."""
    model = weft.nn.parallel.DistributedDataParallel(weft.nn.Linear(2, 3), find_unused_parameters=True)
    model.reducer.prepare_for_backward([])
    assert not model.reducer._rebuild_buckets()
    assert (model.find_unused_parameters, model.static_graph) == (True, False)
    assert model._get_ddp_logging_data()["world_size"] == 1
    with model.no_sync():
        assert not model.require_backward_grad_sync
        model(weft.ones(1, 2)).sum().backward()
    assert model.require_backward_grad_sync
    assert model.module.bias.grad.tolist() == [1.0, 1.0, 1.0]
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    assert model.reducer.buckets == []  # gradients are not copied
    again = pickle.loads(pickle.dumps(copy.deepcopy(model)))
    assert weft.equal(again.module.weight, model.module.weight)
    again(weft.ones(1, 2)).sum().backward()
    seen = []
    again.register_comm_hook(None, lambda state, bucket: (seen.append(bucket), noop_hook(state, bucket))[1])
    again(weft.ones(1, 2)).sum().backward()
    assert len(seen) == 1 and again.module.bias.grad.tolist() == [2.0, 2.0, 2.0]


def test_plain_tensors_are_plain_in_a_block_for_divided_ones():
    """Opacus' optimizers enter it."""
    from weft.distributed._tensor.experimental import implicit_replication

    with implicit_replication():
        assert (weft.ones(2) + 1).tolist() == [2.0, 2.0]


def test_calls_in_other_processes_are_not_there():  # torch_geometric.distributed imports the module
    rpc = importlib.import_module("weft.distributed.rpc")
    assert not rpc.is_available()
    with pytest.raises(AttributeError, match="is_available"):
        _ = rpc.init_rpc
