"""DistributedDataParallel: several processes train as one does on the whole batch."""

import pytest
from ranks import run_ranks

import weft
import weft.distributed as dist
from weft import nn
from weft.nn.parallel import DistributedDataParallel as DDP


class Branches(nn.Module):
    """A module with a shared parameter, buffers, and a branch that few inputs take."""

    def __init__(self):
        super().__init__()
        self.first, self.shared, self.second = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)
        self.rare = nn.Linear(8, 8)

    def forward(self, x, rare=False):
        hidden = self.shared(self.first(x).tanh()).tanh()
        hidden = self.rare(hidden) if rare else hidden
        return {"out": [self.second(self.shared(hidden))]}


def model_of(kind):
    weft.manual_seed(0)
    if kind == "convolution":
        return nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 16, 5))
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 5))


def batch_of(kind, step=0, size=8):
    generator = weft.Generator().manual_seed(step)
    shape = (size, 2, 6, 6) if kind == "convolution" else (size, 6)
    return weft.randn(shape, generator=generator), weft.randint(0, 5, (size,), generator=generator)


def share(tensor):
    """The part of a batch of this process."""
    return tensor.chunk(dist.get_world_size())[dist.get_rank()]


def largest_difference(first, second):
    return max((a.detach() - b.detach()).abs().max().item() for a, b in zip(first, second))


def gradients_of_whole_and_parts():
    found = {}
    for kind in ("convolution", "linear"):
        for options in ({}, {"gradient_as_bucket_view": True}, {"bucket_cap_mb": 0.0001}, {"static_graph": True}):
            alone, divided = model_of(kind), DDP(model_of(kind), **options)
            for step in range(3):
                x, y = batch_of(kind, step)
                alone.zero_grad(), divided.zero_grad(set_to_none=step != 1)
                nn.functional.cross_entropy(alone(x), y).backward()
                nn.functional.cross_entropy(divided(share(x)), share(y)).backward()
                pairs = [each.grad for each in alone.parameters()], [each.grad for each in divided.parameters()]
                found[kind, *options, step] = largest_difference(*pairs)
    return found


@pytest.mark.parametrize("size", [2, 4])
def test_gradients_are_those_of_the_whole_batch(size):
    for found in run_ranks(gradients_of_whole_and_parts, size):
        assert len(found) == 24
        assert max(found.values()) < 1e-6, found


def steps_of_whole_and_parts():
    found = {}
    for name, options in (("SGD", {"lr": 0.1, "momentum": 0.9}), ("AdamW", {"lr": 0.01})):
        alone, divided = model_of("linear"), DDP(model_of("linear"))
        optimizers = [getattr(weft.optim, name)(each.parameters(), **options) for each in (alone, divided)]
        for step in range(50):
            x, y = batch_of("linear", step)
            for model, optimizer, a, b in ((alone, optimizers[0], x, y), (divided, optimizers[1], share(x), share(y))):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(a), b).backward()
                optimizer.step()
        found[name] = largest_difference(alone.parameters(), divided.parameters())
    return found


@pytest.mark.parametrize("size", [2, 4])
def test_fifty_steps_are_those_of_the_whole_batch(size):
    for found in run_ranks(steps_of_whole_and_parts, size):
        assert found["SGD"] < 1e-5 and found["AdamW"] < 1e-4, found
