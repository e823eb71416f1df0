"""Checkpoints of DTensors: saved by one mesh and placement, loaded by another; state dicts with and without parts."""

import copy

import pytest
from ranks import run_ranks

import weft
import weft.distributed as dist
import weft.distributed.checkpoint as dcp
from weft import nn, optim
from weft.distributed.checkpoint.format_utils import BroadcastingTorchSaveReader, DynamicMetaLoadPlanner
from weft.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_state_dict,
)
from weft.distributed.fsdp import fully_shard
from weft.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from weft.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

WHOLE = {"even": weft.arange(48.0).reshape(8, 6), "uneven": weft.arange(35.0).reshape(5, 7), "small": weft.arange(2.0)}


def layouts(size):
    """Meshes of a number of processes, each with ways to place a tensor."""
    one = dist.init_device_mesh("cpu", (size,))
    for placement in (Shard(0), Shard(1), Replicate()):
        yield one, [placement]
    if size == 4:
        two = dist.init_device_mesh("cpu", (2, 2))
        for pair in ((Shard(0), Shard(0)), (Shard(0), Shard(1)), (Shard(1), Replicate())):
            yield two, list(pair)


def placed(values, mesh, placements):
    """Tensors of a dim are divided along it alone."""
    return {
        name: distribute_tensor(value, mesh, placements if value.dim() > 1 else [Replicate()] * mesh.ndim)
        for name, value in values.items()
    }


def load_a_file(path):
    """The process of rank 0 alone reads it."""
    mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
    state = {**placed({name: weft.zeros_like(value) for name, value in WHOLE.items()}, mesh, [Shard(0)]), "step": 0}
    reader = BroadcastingTorchSaveReader()
    dcp.load(state, storage_reader=reader, planner=DynamicMetaLoadPlanner(), checkpoint_id=path)
    assert state["step"] == 3
    return [weft.equal(state[name].full_tensor(), WHOLE[name]) for name in WHOLE]


def test_a_file_is_read_by_one_process_for_all(tmp_path):
    weft.save({**WHOLE, "step": 3, "more": 1}, tmp_path / "one.pt")
    assert run_ranks(load_a_file, 2, str(tmp_path / "one.pt")) == [[True] * 3] * 2


def save_all(folder):
    for number, (mesh, placements) in enumerate(layouts(dist.get_world_size())):
        dcp.save(placed(WHOLE, mesh, placements), checkpoint_id=f"{folder}/{number}")
    return number + 1


def load_all(folder, count):
    zeros = {name: weft.zeros_like(value) for name, value in WHOLE.items()}
    every = list(layouts(dist.get_world_size()))
    for number in range(count):
        for mesh, placements in every:
            state = placed(zeros, mesh, placements)
            dcp.load(state, checkpoint_id=f"{folder}/{number}")
            for name, value in state.items():
                assert weft.equal(value.full_tensor(), WHOLE[name]), (number, placements, name)


@pytest.mark.parametrize(("savers", "loaders"), [(4, 2), (3, 4)])
def test_what_one_mesh_saved_another_loads(tmp_path, savers, loaders):
    count = run_ranks(save_all, savers, str(tmp_path))[0]
    run_ranks(load_all, loaders, str(tmp_path), count)
    for number in range(count):
        state = {name: weft.zeros_like(value) for name, value in WHOLE.items()}
        dcp.load(state, checkpoint_id=tmp_path / str(number), no_dist=True)
        assert all(weft.equal(state[name], WHOLE[name]) for name in WHOLE)


def network(seed):
    weft.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))


def divided(seed, way):
    """A network that is divided among all processes, and its optimizer."""
    model = network(seed)
    if way == "tensor parallel":
        mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
        parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    else:
        fully_shard(model)
    return model, optim.AdamW(model.parameters(), lr=0.1)


def step(model, optimizer):
    optimizer.zero_grad()
    model(weft.arange(8.0).reshape(2, 4)).square().sum().backward()
    optimizer.step()


def state_dicts(folder, way):
    model, optimizer = divided(0, way)
    assert isinstance(model[0].weight, DTensor)
    step(model, optimizer)
    model_state, optimizer_state = get_state_dict(model, optimizer)
    dcp.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=folder)
    full = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    assert full["0.weight"].shape == (6, 4)
    offloaded = get_optimizer_state_dict(
        model, optimizer, options=StateDictOptions(full_state_dict=True, cpu_offload=True)
    )
    assert bool(offloaded) == (dist.get_rank() == 0)
    full, offloaded = copy.deepcopy((full, offloaded))  # what is not gathered is the optimizer's own
    step(model, optimizer)
    wanted = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))

    other, other_optimizer = divided(1, way)
    states = dict(zip(("model", "optimizer"), get_state_dict(other, other_optimizer)))
    dcp.load(states, checkpoint_id=folder)
    set_state_dict(other, other_optimizer, model_state_dict=states["model"], optim_state_dict=states["optimizer"])
    step(other, other_optimizer)
    check(other, wanted)

    third, third_optimizer = divided(2, way)  # from whole tensors, which the process of rank 0 alone has
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    given = full if dist.get_rank() == 0 else {}
    set_state_dict(third, third_optimizer, model_state_dict=given, optim_state_dict=offloaded, options=options)
    step(third, third_optimizer)
    check(third, wanted)
    fourth, _ = divided(3, way)
    set_model_state_dict(fourth, wanted, options=StateDictOptions(full_state_dict=True))
    check(fourth, wanted)
    return [(name, value.tolist()) for name, value in wanted.items()]


def check(model, wanted):
    found = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    for name, value in wanted.items():
        assert (found[name] - value).abs().max() < 1e-6, name


@pytest.mark.parametrize("way", ["tensor parallel", "fully sharded"])
def test_training_goes_on_from_a_checkpoint_of_parts_and_in_one_process(tmp_path, way):
    wanted = run_ranks(state_dicts, 2, str(tmp_path), way)[0]
    model = network(4)
    optimizer = optim.AdamW(model.parameters(), lr=0.1)
    states = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
    dcp.load(states, checkpoint_id=tmp_path, no_dist=True)
    set_state_dict(model, optimizer, model_state_dict=states["model"], optim_state_dict=states["optimizer"])
    step(model, optimizer)
    for name, value in wanted:
        assert (model.state_dict()[name] - weft.tensor(value)).abs().max() < 1e-6
