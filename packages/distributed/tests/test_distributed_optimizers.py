"""Optimizers of several processes: divided states, and means of parameters now and then."""

import copy

from ranks import run_ranks

import weft
import weft.distributed as dist
from weft import nn
from weft.distributed.algorithms.join import Join
from weft.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from weft.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
from weft.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer
from weft.nn.parallel import DistributedDataParallel as DDP

OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9},
    "Adam": {"lr": 0.01},
    "AdamW": {"lr": 0.01},
    "RMSprop": {"lr": 0.01},
    "Adagrad": {"lr": 0.1},
    "Adamax": {"lr": 0.01},
    "NAdam": {"lr": 0.01},
    "RAdam": {"lr": 0.01},
    "Adadelta": {},
    "Rprop": {},
    "ASGD": {},
}


def model_of():
    weft.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))


def difference(first, second):
    return max((a.detach() - b.detach()).abs().max().item() for a, b in zip(first, second))


def train(model, optimizer, steps, begin=0):
    for step in range(begin, begin + steps):
        optimizer.zero_grad()
        model(weft.randn(6, 4, generator=weft.Generator().manual_seed(step))).square().sum().backward()
        optimizer.step()


def zero():
    found = {}
    rank, size = dist.get_rank(), dist.get_world_size()
    for name, options in OPTIMIZERS.items():
        optimizer_class = getattr(weft.optim, name)
        for as_view in (False, True):
            alone, divided = model_of(), model_of()
            groups = [
                [{"params": list(each[:2].parameters()), "weight_decay": 0.01}, {"params": list(each[2:].parameters())}]
                for each in (alone, divided)
            ]
            plain = optimizer_class(groups[0], **options)
            shards = ZeroRedundancyOptimizer(groups[1], optimizer_class, parameters_as_bucket_view=as_view, **options)
            if rank == 0:  # what a scheduler does
                assert len(shards.param_groups) == 2
            for optimizer in (plain, shards):
                optimizer.param_groups[0]["lr"] = 0.02
            train(alone, plain, 3)
            train(DDP(divided), shards, 3)
            held = sum(len(group["params"]) for group in shards.optim.param_groups)
            assert 0 < held < 6 or size == 1
            shards.consolidate_state_dict(to=1)
            if rank == 1:
                ours, theirs = shards.state_dict(), plain.state_dict()
                assert ours["state"].keys() == theirs["state"].keys()
                assert ours["param_groups"] == theirs["param_groups"], (ours["param_groups"], theirs["param_groups"])
                for number, state in theirs["state"].items():
                    for key, value in state.items():
                        if isinstance(value, weft.Tensor):
                            weft.testing.assert_close(ours["state"][number][key], value)
            again = model_of()
            again.load_state_dict(alone.state_dict())
            resumed = ZeroRedundancyOptimizer(
                [{"params": list(again[:2].parameters())}, {"params": list(again[2:].parameters())}],
                optimizer_class,
                **options,
            )
            resumed.load_state_dict(copy.deepcopy(plain.state_dict()))
            train(alone, plain, 2, 3)
            train(DDP(again), resumed, 2, 3)
            found[name, as_view] = difference(alone.parameters(), again.parameters())
            train(DDP(divided), shards, 2, 3)
            found[name, as_view, "trained"] = difference(alone.parameters(), divided.parameters())
    shards = ZeroRedundancyOptimizer(model_of().parameters(), weft.optim.SGD, lr=0.1)
    try:
        shards.state_dict()
    except RuntimeError as error:
        found["told"] = str(error)
    return found


def test_divided_states_train_as_whole_ones():
    for size in (2, 3):
        for rank, found in enumerate(run_ranks(zero, size)):
            assert f"consolidate_state_dict(to={rank})" in found.pop("told")
            assert max(found.values()) < 1e-5, found


def join_both():
    rank = dist.get_rank()
    model = DDP(model_of())
    shards = ZeroRedundancyOptimizer(model.parameters(), weft.optim.Adam, lr=0.01)
    with Join([model, shards]):
        train(model, shards, 2 + 3 * rank)
    alone = model_of()
    optimizer = weft.optim.Adam(alone.parameters(), lr=0.01)
    for step in range(5):
        optimizer.zero_grad()
        x = weft.randn(6, 4, generator=weft.Generator().manual_seed(step))
        (alone(x).square().sum() * (1 if step < 2 else 0.5)).backward()
        optimizer.step()
    return difference(model.parameters(), alone.parameters())


def test_divided_states_join_with_their_model():
    assert max(run_ranks(join_both, 2)) < 1e-5


def local_steps():
    from weft.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook

    rank, size = dist.get_rank(), dist.get_world_size()
    found = []
    model = DDP(model_of())
    state = PostLocalSGDState(None, None, 2, post_local_gradient_allreduce=False)
    model.register_comm_hook(state, post_localSGD_hook)
    optimizer = PostLocalSGDOptimizer(
        weft.optim.SGD(model.parameters(), lr=0.05), PeriodicModelAverager(period=3, warmup_steps=2)
    )
    for step in range(7):
        optimizer.zero_grad()
        x = weft.randn(6, 4, generator=weft.Generator().manual_seed(step * size + rank))
        model(x).square().sum().backward()
        optimizer.step()
        found.append(model.module[0].weight.sum().item())
    saved = optimizer.state_dict()
    assert saved["step"] == 7
    optimizer.load_state_dict(saved)
    weight = nn.Parameter(weft.full((1,), float(rank)))
    weight.grad = weft.zeros(1)
    averager = HierarchicalModelAverager({2: 2, 4: 4})
    means = []
    for _ in range(4):
        averager.average_parameters([weight])
        means.append(weight.item())
        weight.data += rank
    return found, means


def test_means_of_parameters_are_taken_now_and_then():
    results = run_ranks(local_steps, 4)
    for step in range(7):
        equal = len({found[step] for found, _ in results}) == 1
        assert equal == (step in (0, 1, 2, 5)), step
    assert [means for _, means in results] == [
        [1.5, 1.5, 2.5, 2.5],
        [1.5, 2.5, 2.5, 3.5],
        [1.5, 3.5, 6.5, 8.5],
        [1.5, 4.5, 6.5, 9.5],
    ]
