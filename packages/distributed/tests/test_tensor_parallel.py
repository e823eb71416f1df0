"""Modules divided by plans train as the whole module does."""

import copy
import warnings

import pytest
from ranks import run_ranks

import weft
import weft.distributed as dist
from weft import nn
from weft.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh
from weft.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from weft.nn import functional as F


class Block(nn.Module):
    """A layer of a transformer, whose heads may be divided."""

    def __init__(self, width=16, heads=4):
        super().__init__()
        self.size = width // heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.RMSNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = (layer(h) for layer in (self.query, self.key, self.value))
        q, k, v = (each.view(len(x), -1, each.shape[-1] // self.size, self.size).transpose(1, 2) for each in (q, k, v))
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(h.transpose(1, 2).reshape(len(x), h.shape[2], -1))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(32, 16)
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 32, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def tensor_parallel(names=("query", "key", "value", "up")):
    """Heads and hidden units are divided; between layers all have all."""
    return {
        "embedding": RowwiseParallel(input_layouts=Replicate()),
        "head": ColwiseParallel(output_layouts=Replicate()),
        **{f"layers.*.{name}": ColwiseParallel() for name in names},
        "layers.*.out": RowwiseParallel(),
        "layers.[0-9].down": RowwiseParallel(),
    }


def sequence_parallel():
    """Between layers the sequence is divided, and the logits stay in parts."""
    sequence = {f"layers.*.{name}": SequenceParallel(use_local_output=True) for name in ("norm1", "norm2")}
    return {
        "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "head": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
        **sequence,
        **{f"layers.*.{name}": ColwiseParallel(input_layouts=Shard(1)) for name in ("query", "key", "value", "up")},
        **{f"layers.*.{name}": RowwiseParallel(output_layouts=Shard(1)) for name in ("out", "down")},
    }


def full(value):
    return value.full_tensor() if isinstance(value, DTensor) else value


def trains(plan):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    weft.manual_seed(0)
    whole = Model()
    divided = parallelize_module(copy.deepcopy(whole), mesh, plan())
    steps = [weft.optim.AdamW(model.parameters(), 1e-2) for model in (whole, divided)]
    for _ in range(50):
        tokens, targets = weft.randint(0, 32, (2, 4, 8))
        losses = []
        for model, step in zip((whole, divided), steps):
            step.zero_grad()
            logits = model(tokens).flatten(0, 1)
            goal = distribute_tensor(targets.flatten(), mesh) if isinstance(logits, DTensor) else targets.flatten()
            with loss_parallel():
                loss = F.cross_entropy(logits, goal)
                loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            step.step()
            losses.append((full(loss).item(), full(norm).item()))
        assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    for each, other in zip(whole.parameters(), divided.parameters()):
        assert weft.allclose(full(other), each, atol=1e-5)
    return losses[1][0]


@pytest.mark.parametrize("plan", [tensor_parallel, sequence_parallel])
def test_a_divided_transformer_trains_as_a_whole_one(plan):
    losses = run_ranks(trains, 2, plan)
    assert losses[0] == losses[1]


def styles():
    mesh = init_device_mesh("cpu", (2,))
    rank = dist.get_rank()
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    assert model[0].weight.placements == model[0].bias.placements == (Shard(0),)
    assert (model[2].weight.placements, model[2].bias.placements) == ((Shard(1),), (Replicate(),))
    assert model[0](weft.ones(2, 4)).shape == (2, 3)
    assert isinstance(model(weft.ones(2, 4)), weft.Tensor)
    kept = parallelize_module(nn.Linear(4, 6), mesh, ColwiseParallel(use_local_output=False))
    assert kept(weft.ones(2, 4)).placements == (Shard(1),)

    class Adds(nn.Module):
        def forward(self, a, b, scale=None):
            assert isinstance(a, DTensor)
            return a + scale, b

    module = parallelize_module(
        Adds(),
        mesh,
        PrepareModuleInput(
            input_layouts=(Shard(0), None),
            desired_input_layouts=(Replicate(), None),
            input_kwarg_layouts={"scale": Replicate()},
            desired_input_kwarg_layouts={"scale": Replicate()},
        ),
    )
    result, same = module(weft.full((1, 2), float(rank)), 7, scale=weft.ones(2))
    assert (result.full_tensor().tolist(), same) == ([[1.0, 1.0], [2.0, 2.0]], 7)
    module = parallelize_module(
        nn.Identity(), mesh, PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(0))
    )
    assert module(weft.arange(4.0)).tolist() == [2.0 * rank, 2.0 * rank + 1]
    module = parallelize_module(
        nn.Identity(),
        mesh,
        PrepareModuleInputOutput(
            input_layouts=Shard(0),
            desired_input_layouts=Replicate(),
            output_layouts=Replicate(),
            desired_output_layouts=Shard(0),
        ),
    )
    assert module(weft.full((1,), float(rank))).tolist() == [rank]
    with pytest.raises(NotImplementedError, match="ColwiseParallel"):
        parallelize_module(nn.LayerNorm(2), mesh, ColwiseParallel())
    with pytest.raises(TypeError, match="parallelize_plan"):
        parallelize_module(model, mesh, [ColwiseParallel()])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parallelize_module(model, mesh, {"nothing.here": ColwiseParallel()})
    assert "nothing.here" in str(caught[0].message)


def test_styles_place_what_goes_in_and_out():
    run_ranks(styles, 2)
