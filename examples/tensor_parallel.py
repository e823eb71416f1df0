"""Train a transformer whose layers are divided among processes, with the losses of one.

    weft launch --nproc-per-node 2 examples/tensor_parallel.py
    python examples/tensor_parallel.py                   # alone: the same losses

Each process has some of the heads and of the hidden units. Between the layers the sequence is divided, and the loss is
computed of logits of which each process has some of the classes.
"""

import argparse
import json
from pathlib import Path

import weft
import weft.distributed as dist
from weft import nn
from weft.distributed.device_mesh import init_device_mesh
from weft.distributed.tensor import Replicate, Shard
from weft.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from weft.nn import functional as F


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--length", type=int, default=32, help="of each sequence (default: 32)")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/tensor_parallel"), help="for history.json")
    return parser.parse_args()


class Block(nn.Module):
    """Attention and two linear layers, with any number of heads of one size."""

    def __init__(self, width, head_size=8):
        super().__init__()
        self.head_size = head_size
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = (
            layer(h).unflatten(-1, (-1, self.head_size)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, tokens, width, layers):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.layers = nn.Sequential(*(Block(width) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.layers(self.embedding(tokens))))


PLAN = {
    "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    **{f"layers.*.{name}": SequenceParallel(use_local_output=True) for name in ("norm1", "norm2")},
    **{f"layers.*.{name}": ColwiseParallel(input_layouts=Shard(1)) for name in ("query", "key", "value", "up")},
    **{f"layers.*.{name}": RowwiseParallel(output_layouts=Shard(1)) for name in ("out", "down")},
    "norm": SequenceParallel(),
    "head": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
}


def main():
    options = parse_arguments()
    dist.init_process_group()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("tp",))
    weft.manual_seed(0)
    model = parallelize_module(Model(64, options.width, options.layers), mesh, PLAN)
    optimizer = weft.optim.AdamW(model.parameters(), lr=3e-3)

    losses = []
    for step in range(options.steps):
        first = weft.randint(0, 64, (options.batch_size, 1))
        tokens = (first + 3 * weft.arange(options.length + 1)) % 64  # counted by threes
        with loss_parallel():
            logits = model(tokens[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        losses.append(loss.full_tensor().item())
        if dist.get_rank() == 0 and step % 20 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}", flush=True)

    if dist.get_rank() == 0:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "history.json").write_text(json.dumps({"loss": losses}), encoding="utf-8")
        print(f"{mesh.size()} processes, loss {losses[0]:.4f} -> {losses[-1]:.4f}; saved in {options.out}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
