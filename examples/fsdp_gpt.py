"""Train a small GPT of which each process has a part, with the losses of one.

    weft launch --nproc-per-node 2 examples/fsdp_gpt.py
    python examples/fsdp_gpt.py                          # alone: the same losses

Parameters, gradients and the optimizer's state are divided; a layer's parameters are whole only while it computes.
"""

import argparse
import json
from pathlib import Path

import weft
import weft.distributed as dist
from weft import nn
from weft.distributed.fsdp import fully_shard
from weft.nn import functional as F


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=16, help="of all processes together (default: 16)")
    parser.add_argument("--length", type=int, default=32, help="of each sequence (default: 32)")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs/fsdp_gpt"), help="for checkpoint.pt and history.json")
    return parser.parse_args()


class GPT(nn.Module):
    def __init__(self, tokens, length, width, layers):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)

    def forward(self, tokens):
        length = tokens.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        x = self.tokens(tokens) + self.positions(weft.arange(length))
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.head(self.norm(x))


def main():
    options = parse_arguments()
    dist.init_process_group()
    rank, processes = dist.get_rank(), dist.get_world_size()
    weft.manual_seed(0)
    model = GPT(64, options.length, options.width, options.layers)
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = weft.optim.AdamW(model.parameters(), lr=3e-3)
    own = slice(rank * options.batch_size // processes, (rank + 1) * options.batch_size // processes)

    losses = []
    for step in range(options.steps):
        first = weft.randint(0, 64, (options.batch_size, 1))
        tokens = ((first + 3 * weft.arange(options.length + 1)) % 64)[own]  # counted by threes
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        mean = loss.detach()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        losses.append(mean.item())
        if rank == 0 and step % 20 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}", flush=True)

    state = {name: part.full_tensor() for name, part in model.state_dict().items()}  # all take part
    if rank == 0:
        options.out.mkdir(parents=True, exist_ok=True)
        weft.save(state, options.out / "checkpoint.pt")
        (options.out / "history.json").write_text(json.dumps({"loss": losses}), encoding="utf-8")
        print(f"{processes} processes, loss {losses[0]:.4f} -> {losses[-1]:.4f}; saved in {options.out}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
