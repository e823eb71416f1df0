"""Pipelines of several processes train as one process does, by every schedule."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import run_ranks

import weft
import weft.distributed as dist
from weft import nn, optim
from weft.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from weft.distributed.fsdp import fully_shard
from weft.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    SplitPoint,
    pipe_split,
    pipeline,
)
from weft.distributed.pipelining import _orders as orders_of
from weft.distributed.pipelining.microbatch import (
    TensorChunkSpec,
    _Replicate,
    merge_chunks,
    split_args_kwargs_into_chunks,
)
from weft.distributed.pipelining.schedules import get_schedule_class

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "pipeline.py"
WIDTH, ROWS, STEPS = 6, 12, 50
SINGLE = ("GPipe", "1F1B")
MULTI = ("LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble", "ZBVZeroBubble")


class Block(nn.Module):
    """Takes and gives two tensors, one of them without gradient."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, scale):
        return weft.tanh(self.linear(x)) + x, scale


class Last(Block):
    def forward(self, x, scale):
        return super().forward(x, scale)[0] * scale


def model(blocks):
    weft.manual_seed(0)
    return nn.ModuleList([*(Block() for _ in range(blocks - 1)), Last()])


def batches(steps=STEPS):
    generator = weft.Generator().manual_seed(1)
    draw = lambda *size: weft.randn(*size, generator=generator)  # noqa: E731
    return [(draw(ROWS, WIDTH), draw(ROWS, 1).abs() + 0.5, draw(ROWS, WIDTH)) for _ in range(steps)]


def in_one_process(blocks, microbatches):
    """Losses and final parameters of the whole model; each batch at once."""
    parts = model(blocks)
    optimizer = optim.AdamW(parts.parameters(), lr=1e-2)
    losses = []
    for x, scale, target in batches():
        optimizer.zero_grad()
        for part in parts:
            output = part(*(x, scale))
            x = output[0] if isinstance(output, tuple) else output
        loss = nn.functional.mse_loss(x, target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [parameter.detach().numpy() for parameter in parts.parameters()]


def places(name, size):
    """The stages of this process, and how many there are."""
    rank = dist.get_rank()
    if name in SINGLE:
        return [rank], size
    return ([rank, 2 * size - 1 - rank] if name.startswith("ZBV") else [rank, rank + size]), 2 * size


def train(name, microbatches):
    indices, count = places(name, dist.get_world_size())
    parts = model(count)
    own = nn.ModuleList([parts[index] for index in indices])
    optimizer = optim.AdamW(own.parameters(), lr=1e-2)
    stages = [PipelineStage(part, index, count, weft.device("cpu")) for part, index in zip(own, indices)]
    kind = get_schedule_class(name)
    schedule = kind(stages[0] if name in SINGLE else stages, microbatches, loss_fn=nn.MSELoss())
    history = []
    for x, scale, target in batches():
        optimizer.zero_grad()
        losses = []
        inputs = (x, scale) if 0 in indices else ()
        output = schedule.step(*inputs, target=target, losses=losses)
        assert (output is not None) == (count - 1 in indices)
        if losses:
            assert output.shape == (ROWS, WIDTH)
            history.append(sum(loss.item() for loss in losses) / microbatches)
        optimizer.step()
    return history, {index: [each.detach().numpy() for each in parts[index].parameters()] for index in indices}


def train_all(cases):
    return [train(*case) for case in cases]


@pytest.mark.parametrize("size", [2, 4])
def test_every_schedule_trains_as_one_process_does(size):
    """50 steps of AdamW, with as many microbatches as processes, with more and with one."""
    cases = [(name, count) for name in (*SINGLE, *MULTI) for count in ((size,) if size == 4 else (1, 6))]
    results = run_ranks(train_all, size, cases)
    for number, (name, microbatches) in enumerate(cases):
        blocks = size if name in SINGLE else 2 * size
        expected_losses, expected = in_one_process(blocks, microbatches)
        found = {}
        for rank in range(size):
            history, parameters = results[rank][number]
            found.update(parameters)
            if history:
                assert history == pytest.approx(expected_losses, abs=1e-5), (name, microbatches)
        values = [value for index in range(blocks) for value in found[index]]
        for value, wanted in zip(values, expected, strict=True):
            assert abs(value - wanted).max() < 1e-5, (name, microbatches)


@pytest.mark.parametrize(("size", "microbatches"), [(1, 3), (2, 2), (2, 7), (3, 6), (4, 4), (4, 8), (8, 16)])
def test_no_order_makes_processes_wait_for_one_another(size, microbatches):
    single = {rank: orders_of.one_forward_one_backward(rank, size, microbatches) for rank in range(size)}
    orders_of.check_orders(single, size)
    for mapping in (orders_of.loop_mapping(2 * size, size), orders_of.v_mapping(2 * size, size)):
        orders = orders_of.zero_bubble(mapping, microbatches)
        orders_of.check_orders(orders, 2 * size)
        assert sorted(action for order in orders.values() for action in map(repr, order)) == sorted(
            f"{stage}{kind}{index}" for stage in mapping for kind in "FIW" for index in range(microbatches)
        )
    with pytest.raises(ValueError, match="wait for one another"):
        orders_of.check_orders({0: orders_of.gpipe(0, 2, 2)[::-1], 1: orders_of.gpipe(1, 2, 2)}, 2)


def test_1f1b_keeps_as_many_microbatches_as_stages_follow():
    for stage in range(4):
        under_way = most = 0
        for _, kind, _ in orders_of.one_forward_one_backward(stage, 4, 16):
            under_way += 1 if kind is orders_of.FORWARD else -1
            most = max(most, under_way)
        assert most == 4 - stage


def other_uses():
    """Forward only, evaluation between steps, keyword arguments, sums in place of means, errors."""
    rank = dist.get_rank()
    said = []
    stage = PipelineStage(model(2)[rank], rank, 2, weft.device("cpu"))
    x, scale, target = batches(1)[0]
    inputs = (x, scale) if rank == 0 else ()
    parts = model(2)
    whole = parts[1](*parts[0](x, scale))
    forward_only = ScheduleGPipe(stage, 5)  # of 3, 3, 2, 2 and 2 rows
    for _ in range(2):
        output = forward_only.step(*inputs)
        if rank == 1:
            assert (output - whole).abs().max() < 1e-6
    schedule = Schedule1F1B(stage, 3, loss_fn=nn.MSELoss(reduction="sum"), scale_grads=False)
    with weft.no_grad():
        losses = []
        schedule.eval(*inputs, target=target, losses=losses)
        said.append(len(losses))
    assert all(parameter.grad is None for parameter in stage.submod.parameters())
    assert schedule.step(*inputs, target=target, return_outputs=False) is None
    nn.MSELoss(reduction="sum")(whole, target).backward()
    for found, wanted in zip(stage.submod.parameters(), parts[rank].parameters()):
        assert (found.grad - wanted.grad).abs().max() < 1e-4
    more = (weft.cat([x, x]), weft.cat([scale, scale])) if rank == 0 else ()
    if rank == 0:
        with pytest.raises(RuntimeError, match="in the first step; make a new schedule"):
            schedule.step(*more, target=target)
    with pytest.raises(ValueError, match="Stage index 2 is out of range of 2"):
        PipelineStage(stage.submod, 2, 2, weft.device("cpu"))
    with pytest.raises(ValueError, match="3 stages for 2 processes"):
        ScheduleGPipe(PipelineStage(stage.submod, 0, 3, weft.device("cpu")), 2)
    if rank == 1:
        with pytest.raises(RuntimeError, match="loss_fn and target required for last stage"):
            schedule.step()
    return said


def test_a_pipeline_evaluates_and_tells_what_is_wrong():
    assert run_ranks(other_uses, 2) == [[0], [3]]


def cut_and_train(wrap):
    """Data parallel between two pipelines, of a model that `pipeline` cuts."""
    mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "pp"))
    group, replicas = mesh.get_group("pp"), mesh.get_group("dp")
    rank, replica = dist.get_rank(group), dist.get_rank(replicas)
    weft.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))
    weft.manual_seed(0)
    whole = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))
    x, y = weft.randn(16, 4), weft.randn(16, 2)
    pipe = pipeline(net, (x[:2],), split_spec={"2": SplitPoint.BEGINNING})
    module = pipe.get_stage_module(rank)
    if wrap == "DistributedDataParallel":
        module = nn.parallel.DistributedDataParallel(module, process_group=replicas)
    else:
        fully_shard(module, mesh=mesh["dp"])
    schedule = ScheduleGPipe(PipelineStage(module, rank, 2, weft.device("cpu"), group=group), 2, loss_fn=nn.MSELoss())
    own, other = optim.SGD(module.parameters(), lr=0.1), optim.SGD(whole.parameters(), lr=0.1)
    for _ in range(50):
        rows = slice(8 * replica, 8 * replica + 8)
        own.zero_grad()
        schedule.step(*((x[rows],) if rank == 0 else ()), target=y[rows])
        own.step()
        other.zero_grad()
        nn.functional.mse_loss(whole(x), y).backward()
        other.step()
    names = dict(whole.named_parameters())
    for name, parameter in get_model_state_dict(module, options=StateDictOptions(full_state_dict=True)).items():
        assert (parameter - names[name]).abs().max() < 1e-5, name
    return len(list(module.parameters()))


@pytest.mark.parametrize("wrap", ["DistributedDataParallel", "fully_shard"])
def test_pipelines_of_data_parallel_processes_train_as_one_process_does(wrap):
    assert run_ranks(cut_and_train, 4, wrap) == [2, 4, 2, 4]


class Skips(nn.Module):
    """A value and an argument are needed behind the next stage."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
        self.scale = nn.Parameter(weft.ones(3))

    def forward(self, x, factor=None):
        first = self.first(x)
        if factor is not None:
            first = first * factor
        pipe_split()
        second = self.second(first).relu()
        pipe_split()
        return {"out": self.third(second + first) * self.scale + x}


@pytest.mark.parametrize("args", [(1,), (1, 2)])
def test_a_model_is_cut_where_it_says(args):
    module = Skips()
    args = tuple(weft.full((2, 3), float(value)) for value in args)
    pipe = pipeline(module, args)
    assert pipe.num_stages == 3
    assert weft.equal(pipe(*args)["out"], module(*args)["out"])
    names = [[name for name, _ in pipe.get_stage_module(stage).named_parameters()] for stage in range(3)]
    assert sorted(name for each in names for name in each) == sorted(name for name, _ in module.named_parameters())
    assert "scale" in names[2]


def test_what_cannot_be_cut_is_told_with_a_remedy():
    class Decides(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    class Shares(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 2)
            self.second = nn.Linear(2, 2)
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(self.first(x))

    with pytest.raises(RuntimeError, match=r"Decides cannot be traced .*PipelineStage"):
        pipeline(Decides(), (weft.ones(1),))
    with pytest.raises(NotImplementedError, match=r"share a parameter \(first.weight, second.weight\)"):
        pipeline(Shares(), (weft.ones(1, 2),), split_spec={"second": SplitPoint.BEGINNING})
    with pytest.raises(AttributeError, match="nope"):
        pipeline(Shares(), (weft.ones(1, 2),), split_spec={"nope": SplitPoint.END})


def test_arguments_are_divided_and_outputs_joined():
    args, kwargs = split_args_kwargs_into_chunks((weft.arange(10), 3, None), {"m": {"a": weft.arange(10)}}, 4)
    assert [(each[0].tolist(), *each[1:]) for each in args][:1] == [([0, 1, 2], 3, None)]
    assert [each["m"]["a"].numel() for each in kwargs] == [3, 3, 2, 2]
    (first, second), _ = split_args_kwargs_into_chunks(
        (weft.zeros(2, 4), weft.ones(3)), None, 2, (TensorChunkSpec(1), _Replicate)
    )
    assert first[0].shape == second[0].shape == (2, 2)
    assert first[1].shape == (3,)
    assert merge_chunks([weft.ones(2), weft.zeros(1)], TensorChunkSpec(0)).tolist() == [1, 1, 0]
    assert merge_chunks([{"a": weft.ones(2)}, {"a": weft.zeros(1)}], None)["a"].tolist() == [1, 1, 0]
    with pytest.raises(ValueError, match="Expected 5, got 6"):
        merge_chunks([(weft.ones(1), 5), (weft.ones(1), 6)], (TensorChunkSpec(0), None))
    with pytest.raises(ValueError, match="Unknown schedule name 'nope'"):
        get_schedule_class("nope")


def run_example(folder, processes, *options):
    """What the example prints."""
    launch = ["-m", "weft", "launch", "--nproc-per-node", str(processes)] if processes > 1 else []
    command = [sys.executable, *launch, str(EXAMPLE), "--out", str(folder), "--steps", "3", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("step")]


@pytest.mark.skipif(not EXAMPLE.exists(), reason="the examples are in the repository")
def test_the_example_prints_the_same_in_one_and_two_processes_and_goes_on_in_either(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    assert run_example(one, 1) == run_example(two, 2) != []
    assert run_example(one, 2, "--resume") == run_example(two, 1, "--resume") != []
