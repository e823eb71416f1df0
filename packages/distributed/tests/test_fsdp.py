"""fully_shard and FullyShardedDataParallel train as one process does, in a part of its memory."""

import copy
import functools
import gc
import tracemalloc

import pytest
from ranks import run_ranks
from test_tensor_parallel import Block, Model, full, tensor_parallel

import weft
import weft.distributed as dist
from weft import nn
from weft.distributed.fsdp import (
    FSDPModule,
    FullStateDictConfig,
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictType,
    fully_shard,
    register_fsdp_forward_method,
)
from weft.distributed.fsdp.wrap import transformer_auto_wrap_policy
from weft.distributed.tensor import DTensor, Shard, init_device_mesh
from weft.distributed.tensor.parallel import parallelize_module
from weft.nn import functional as F


def sharded(model, **options):
    for layer in model.layers:
        fully_shard(layer, **options)
    return fully_shard(model, **options)


def prepared(kind, model):
    """A model in the way of ``kind``, and which part of how many of a batch is this process's."""
    rank, size = dist.get_rank(), dist.get_world_size()
    if kind == "fsdp":
        return sharded(model), rank, size
    if kind == "gathered until backward":
        return sharded(model, reshard_after_forward=False), rank, size
    if kind == "columns":
        return sharded(model, shard_placement_fn=lambda param: Shard(param.ndim - 1)), rank, size
    if kind == "hybrid":
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
        return sharded(model, mesh=mesh), rank, size
    if kind == "with tensor parallel":
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        parallelize_module(model, mesh["tp"], tensor_parallel())
        return sharded(model, mesh=mesh["dp"]), mesh.get_local_rank("dp"), 2
    wrap = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
    strategy = ShardingStrategy[kind]
    return FullyShardedDataParallel(model, auto_wrap_policy=wrap, sharding_strategy=strategy), rank, size


def trains(kind, count):
    weft.manual_seed(0)
    whole = Model()
    divided, part, parts = prepared(kind, copy.deepcopy(whole))
    steps = [weft.optim.AdamW(model.parameters(), 1e-2) for model in (whole, divided)]
    own = slice(part * 4 // parts, (part + 1) * 4 // parts)
    for _ in range(count):
        tokens, targets = weft.randint(0, 32, (2, 4, 8))
        loss = F.cross_entropy(whole(tokens).flatten(0, 1), targets.flatten())
        mine = F.cross_entropy(divided(tokens[own]).flatten(0, 1), targets[own].flatten())
        for each, step in zip((loss, mine), steps):
            step.zero_grad()
            each.backward()
        total = mine.detach()
        dist.all_reduce(total, dist.ReduceOp.AVG)
        assert total.item() == pytest.approx(loss.item(), abs=1e-5)
        if kind != "with tensor parallel":  # where parameters are on two meshes
            norms = [full(nn.utils.clip_grad_norm_(model.parameters(), 1.0)) for model in (whole, divided)]
            assert norms[0].item() == pytest.approx(norms[1].item(), abs=1e-5)
        for step in steps:
            step.step()
    for each, other in zip(whole.parameters(), divided.parameters()):
        assert weft.allclose(full(other), each, atol=1e-5)


@pytest.mark.parametrize("kind", ["fsdp", "gathered until backward", "columns", "FULL_SHARD", "NO_SHARD"])
def test_two_processes_train_as_one(kind):
    run_ranks(trains, 2, kind, 50 if kind == "fsdp" else 8)


@pytest.mark.parametrize("kind", ["hybrid", "with tensor parallel"])
def test_four_processes_of_two_dims_train_as_one(kind):
    run_ranks(trains, 4, kind, 50)


def behaviour():
    rank = dist.get_rank()
    weft.manual_seed(0)
    model = Model()
    plain = copy.deepcopy(model)
    model = sharded(model)
    tokens = weft.randint(0, 32, (4, 8))
    mine = tokens[2 * rank : 2 * rank + 2]
    assert isinstance(model, FSDPModule)
    assert isinstance(model, Model)
    assert type(model).__name__ == "FSDPModel"
    weight = model.layers[0].up.weight
    assert isinstance(weight, DTensor)
    assert (weight.placements, weight.shape, weight.to_local().shape) == ((Shard(0),), (64, 16), (32, 16))
    with pytest.raises(ValueError, match="already"):
        fully_shard(model)
    # Layers let go after the forward pass, the root does not; state dicts have parts.
    model(mine)
    assert isinstance(model.layers[0].up.weight, DTensor)
    assert not isinstance(model.head.weight, DTensor)
    assert all(isinstance(each, DTensor) for each in model.state_dict().values())
    # Gradients add up without being reduced.
    model.set_requires_gradient_sync(False)
    model(mine).square().mean().backward()
    assert all(each.grad is None for each in model.parameters())
    model.set_requires_gradient_sync(True)
    model(mine).square().mean().backward()
    (2 * plain(tokens).square().mean()).backward()
    for each, other in zip(plain.parameters(), model.parameters()):
        assert weft.allclose(other.grad.full_tensor(), each.grad, atol=1e-6)
    # Two backward passes add up in the parts.
    model(mine).square().mean().backward()
    plain(tokens).square().mean().backward()
    for each, other in zip(plain.parameters(), model.parameters()):
        assert weft.allclose(other.grad.full_tensor(), each.grad, atol=1e-6)
    # Sums, checkpoints, prefetch, other methods
    model.zero_grad()
    for each in model.modules():
        if isinstance(each, FSDPModule):
            each.set_gradient_divide_factor(1.0)
    model.layers[0].set_modules_to_forward_prefetch([model.layers[1]])
    model.layers[1].set_modules_to_backward_prefetch([model.layers[0]])
    model(mine).square().mean().backward()
    plain.zero_grad()
    (2 * plain(tokens).square().mean()).backward()
    for each, other in zip(plain.parameters(), model.parameters()):
        assert weft.allclose(other.grad.full_tensor(), each.grad, atol=1e-6)
    handle = model.layers[0].unshard(async_op=True)
    handle.wait()
    assert weft.equal(model.layers[0].up.weight, plain.layers[0].up.weight)
    model.layers[0].reshard()
    assert isinstance(model.layers[0].up.weight, DTensor)
    # Parameters that are not used, and those that need no gradient
    partly = fully_shard(nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.Linear(3, 2)}).requires_grad_(True)["a"])
    partly.bias.requires_grad_(False)
    partly(weft.ones(1, 3)).sum().backward()
    assert partly.bias.grad is None
    assert partly.weight.grad is not None

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.left = nn.Linear(3, 2), nn.Linear(3, 2)

        def encode(self, x):
            return self.used(x)

        forward = encode

    two = fully_shard(Two())
    register_fsdp_forward_method(two, "encode")
    two.encode(weft.ones(1, 3)).sum().backward()
    assert two.used.weight.grad is not None
    assert two.left.weight.grad is None
    # Recomputed in the backward pass
    layer = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    copied = copy.deepcopy(layer)
    layer = fully_shard(layer)
    x = weft.full((2, 4), 1.0 + rank)
    for use_reentrant in (False, True):
        layer.zero_grad()
        given = x.clone().requires_grad_()
        weft.utils.checkpoint.checkpoint(layer, given, use_reentrant=use_reentrant).sum().backward()
        copied.zero_grad()
        (copied(weft.full((2, 4), 1.0)).sum() / 2 + copied(weft.full((2, 4), 2.0)).sum() / 2).backward()
        assert weft.allclose(layer[0].weight.grad.full_tensor(), copied[0].weight.grad, atol=1e-6)


def test_fully_shard_behaves_as_pytorchs():
    run_ranks(behaviour, 2)


def mixed():
    weft.manual_seed(0)
    policy = MixedPrecisionPolicy(param_dtype=weft.bfloat16, reduce_dtype=weft.float32, output_dtype=weft.float32)
    seen = []
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    model[0].register_forward_pre_hook(lambda module, args: seen.append((args[0].dtype, module.weight.dtype)))
    fully_shard(model, mp_policy=policy)
    output = model(weft.ones(3, 4))
    output.sum().backward()
    assert seen == [(weft.bfloat16, weft.bfloat16)]
    assert output.dtype == weft.float32
    assert {each.grad.dtype for each in model.parameters()} == {weft.float32}
    # On the meta device first
    with weft.device("meta"):
        model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    fully_shard(model)
    model.to_empty(device="cpu")
    weft.manual_seed(5)
    for layer in model:
        layer.reset_parameters()
    weft.manual_seed(5)
    plain = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    assert weft.allclose(model(weft.ones(1, 4)), plain(weft.ones(1, 4)), atol=1e-6)


def test_mixed_precision_and_parameters_that_are_made_in_parts():
    run_ranks(mixed, 2)


def former_name():
    weft.manual_seed(0)
    plain = Model()
    wrap = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
    model = FullyShardedDataParallel(copy.deepcopy(plain), auto_wrap_policy=wrap, use_orig_params=True)
    assert len(FullyShardedDataParallel.fsdp_modules(model)) == 3
    assert [name for name, _ in model.named_parameters()] == [name for name, _ in plain.named_parameters()]
    step = weft.optim.AdamW(model.parameters(), 1e-2)
    model(weft.ones(1, 4, dtype=weft.long)).sum().backward()
    assert model.clip_grad_norm_(1.0).ndim == 0
    step.step()
    state = model.state_dict()
    assert list(state) == list(plain.state_dict())
    assert not any(isinstance(each, DTensor) for each in state.values())
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        assert all(isinstance(each, DTensor) for each in model.state_dict().values())
    config = FullStateDictConfig(rank0_only=True)
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT, config):
        assert bool(model.state_dict()) == (dist.get_rank() == 0)
    with FullyShardedDataParallel.summon_full_params(model):
        assert model.module.layers[0].module.up.weight.shape == (64, 16)
        assert not isinstance(model.module.layers[0].module.up.weight, DTensor)
        with weft.no_grad():
            model.module.layers[0].module.up.weight.fill_(2.0)
    assert model.state_dict()["layers.0.up.weight"].eq(2).all()
    found = FullyShardedDataParallel.optim_state_dict(model, step)
    assert found["state"]["head.weight"]["exp_avg"].shape == (32, 16)
    loaded = FullyShardedDataParallel.optim_state_dict_to_load(model, step, found)
    step.load_state_dict(loaded)
    assert isinstance(step.state[next(model.parameters())]["exp_avg"], DTensor)
    model.load_state_dict(plain.state_dict())
    assert weft.equal(model.state_dict()["layers.0.up.weight"], plain.layers[0].up.weight)
    with model.no_sync():
        model(weft.ones(1, 4, dtype=weft.long)).sum().backward()


def test_the_former_name_has_its_state_dicts_and_whole_parameters():
    run_ranks(former_name, 2)


def memory(depth):
    """The largest memory during a training step beyond what rests, and the size of a unit of some layers."""
    width, count = 512, 6
    tracemalloc.start()
    units = [nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)]) for _ in range(count // depth)]
    model = fully_shard(nn.Sequential(*map(fully_shard, units)))
    step = weft.optim.AdamW(model.parameters(), 1e-3)
    x = weft.randn(2, width)
    for _ in range(2):  # what is imported and compiled is there then, too
        model(x).sum().backward()
        step.step()
        step.zero_grad()
    gc.collect()
    tracemalloc.reset_peak()
    rests = tracemalloc.get_traced_memory()[0]
    model(x).sum().backward()
    step.step()
    peak = tracemalloc.get_traced_memory()[1] - rests
    resting = sum(each.to_local().nbytes for each in model.parameters())
    moments = sum(each.to_local().nbytes for state in step.state.values() for each in state.values() if each.ndim)
    return peak, resting, moments, 4 * (width + 1) * width, count


@pytest.mark.parametrize("depth", [1, 3])
def test_a_process_has_its_part_of_memory_and_one_gathered_unit(depth):
    for peak, resting, moments, layer, count in run_ranks(memory, 2, depth):
        assert (resting, moments) == (count * layer // 2, count * layer)
        gradients = count * layer / 2
        assert peak < gradients + depth * layer + 1.1 * layer  # the unit, and one gradient before it is reduced


def scaled():
    """Whether each step was taken, where one process alone has a gradient that is not finite."""
    from weft.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    weft.manual_seed(0)
    model = FullyShardedDataParallel(nn.Linear(4, 3))
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
    scaler = ShardedGradScaler("cpu", init_scale=4.0)
    taken = []
    for step in range(3):
        before = [each.to_local().clone() for each in model.parameters()]
        scaler.scale(model(weft.ones(2, 4)).sum()).backward()
        if step == 1 and dist.get_rank() == 1:
            next(model.parameters()).grad.to_local()[...] = float("inf")
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        same = [bool((old == new.to_local()).all()) for old, new in zip(before, model.parameters())]
        taken.append(not all(same))
    return taken, scaler.get_scale()


def test_all_processes_leave_a_step_out_if_one_has_a_gradient_that_is_not_finite():
    assert run_ranks(scaled, 2) == [([True, False, True], 2.0)] * 2
