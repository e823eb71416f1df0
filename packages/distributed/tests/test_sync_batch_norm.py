"""SyncBatchNorm: the statistics of all processes, in forward and in backward."""

import copy

from ranks import run_ranks

import weft
import weft.distributed as dist
from weft import nn
from weft.nn.parallel import DistributedDataParallel as DDP

SIZES = {2: [3, 5], 3: [4, 1, 3]}  # of the processes' batches


def batch():
    return weft.randn(8, 3, 4, 4, generator=weft.Generator().manual_seed(1)) * 2 + 3


def differences():
    rank, size = dist.get_rank(), dist.get_world_size()
    part = batch().split(SIZES[size])[rank]
    found = {}
    for options in ({}, {"affine": False}, {"momentum": None}, {"track_running_stats": False}, {"bias": False}):
        weft.manual_seed(0)
        alone = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, **options), nn.Conv2d(4, 2, 2))
        model = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(alone))
        assert isinstance(model[1], nn.SyncBatchNorm)
        if model[1].affine:
            weight = weft.randn(4)
            for each in (alone, model):
                each[1].weight.data.copy_(weight)
        model = DDP(model)
        for _ in range(2):
            alone.zero_grad(), model.zero_grad()
            whole, inputs = batch().requires_grad_(), part.clone().requires_grad_()
            alone(whole).square().sum().backward()
            (model(inputs).square().sum() * size).backward()  # DDP divides the sums
        scale = max(each.grad.abs().max().item() for each in alone.parameters())
        pairs = zip(alone.parameters(), model.parameters())
        name = str(options)
        found[name, "parameters"] = max((a.grad - b.grad).abs().max().item() for a, b in pairs) / scale
        expected = whole.grad.split(SIZES[size])[rank] * size
        found[name, "input"] = ((inputs.grad - expected).abs().max() / expected.abs().max()).item()
        pairs = zip(alone.buffers(), model.buffers())
        found[name, "buffers"] = max([((a - b).abs().max() / a.abs().max()).item() for a, b in pairs], default=0.0)
        found[name, "eval"] = (alone.eval()(part) - model.eval()(part)).abs().max().item() if "track" not in name else 0
    return found


def test_statistics_and_gradients_are_those_of_the_whole_batch():
    for size in SIZES:
        for found in run_ranks(differences, size):
            assert max(found.values()) < 1e-5, found


def special():
    rank = dist.get_rank()
    found = {}
    layer = nn.SyncBatchNorm(2)
    x = weft.tensor([[1.0, 10.0], [3.0, 30.0]])[: 2 * (1 - rank)].requires_grad_()  # the second has nothing
    output = layer(x)
    output.sum().backward()
    found["empty"] = output.tolist(), layer.running_mean.tolist()
    half = nn.SyncBatchNorm(2)
    output = half(weft.tensor([[1.0 + rank, 10.0]], dtype=weft.bfloat16))
    found["bfloat16"] = str(output.dtype), output.tolist()
    layer = nn.SyncBatchNorm(2, process_group=[dist.new_group([0]), dist.new_group([1])][rank])
    x = weft.randn(4, 2)
    found["own group"] = (layer(x) - nn.BatchNorm1d(2)(x)).abs().max().item()
    try:
        nn.SyncBatchNorm(2)(weft.ones(2))
    except ValueError as error:
        found["told"] = str(error)
    return found


def test_empty_batches_half_types_and_groups():
    first, second = run_ranks(special, 2)
    output, running = first["empty"]
    assert [[round(each, 3) for each in row] for row in output] == [[-1, -1], [1, 1]]
    assert second["empty"] == ([], running)
    assert first["bfloat16"] == ("weft.bfloat16", [[-1.0, 0.0]])
    assert second["bfloat16"] == ("weft.bfloat16", [[1.0, 0.0]])
    for each in (first, second):
        assert each["own group"] == 0
        assert "at least 2D input" in each["told"]
