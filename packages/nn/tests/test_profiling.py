"""Modules, optimizers and data loaders as profiles show them."""

import weft
from weft import nn
from weft.profiler import profile
from weft.utils.data import DataLoader


def names(prof):
    return [event.name for event in prof.events()]


def test_modules_are_ranges_if_asked_for():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    x = weft.ones(2, 4)
    with profile(with_modules=True) as prof:
        model(x)
        model(x)
    once = [
        "nn.Module: Sequential_0",
        "nn.Module: Linear_0",
        "aten::linear",
        "nn.Module: ReLU_0",
        "aten::relu",
        "nn.Module: Linear_1",
        "aten::linear",
    ]
    assert names(prof) == 2 * once
    with profile() as prof:
        model(x)
    assert names(prof) == ["aten::linear", "aten::relu", "aten::linear"]


def test_a_step_of_an_optimizer_is_a_range_with_its_name():
    parameter = nn.Parameter(weft.ones(3))
    parameter.grad = weft.ones(3)
    optimizer = weft.optim.SGD([parameter], lr=1.0)
    with profile() as prof:
        optimizer.step()
        optimizer.zero_grad()
    events = prof.events()
    assert [event.name for event in events if event.cpu_parent is None] == [
        "Optimizer.step#SGD.step",
        "Optimizer.zero_grad#SGD.zero_grad",
    ]
    assert [event.name for event in events if event.cpu_parent is events[0]] == ["optim::sgd_step"]
    assert parameter.grad is None
    assert parameter.tolist() == [0.0, 0.0, 0.0]


def test_a_batch_of_a_loader_is_a_range():
    with profile() as prof:
        for _ in DataLoader(range(4), batch_size=2):
            pass
    assert names(prof).count("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == 3


def test_floating_point_operations_of_layers():
    x = weft.ones(2, 3, 8, 8)
    with profile(with_flops=True) as prof:
        nn.functional.conv2d(x, weft.ones(5, 3, 3, 3))
        nn.functional.linear(weft.ones(4, 3), weft.ones(2, 3))
    flops = {average.key: average.flops for average in prof.key_averages()}
    assert flops["aten::conv2d"] == 2 * (2 * 5 * 6 * 6) * (3 * 3 * 3)
    assert flops["aten::linear"] == 2 * 4 * 2 * 3
