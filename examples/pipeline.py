"""Train a small transformer whose layers are in different processes, from a checkpoint of whatever number of them.

    python pipeline.py                                     all layers in this process
    weft launch --nproc-per-node 2 pipeline.py             half of the layers in each of two processes
    weft launch --nproc-per-node 4 pipeline.py --resume    a quarter in each, on from the checkpoint of the last run

It learns to write the letters of Python's manual, which comes with Python. The losses are the same,
however many processes there are. The folder --out/checkpoint has what all of them saved together.
"""

import argparse
from pathlib import Path
from pydoc_data.topics import topics

import weft
import weft.distributed as dist
import weft.distributed.checkpoint as dcp
from weft import nn
from weft.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
from weft.distributed.pipelining import Schedule1F1B, SplitPoint, pipeline

LAYERS, LENGTH, WIDTH, MICROBATCHES = 4, 32, 64, 4


class Transformer(nn.Module):
    """Predicts each next letter from those before it."""

    def __init__(self, letters):
        super().__init__()
        self.embedding = nn.Embedding(letters, WIDTH)
        self.position = nn.Parameter(0.02 * weft.randn(LENGTH, WIDTH))
        layer = {"d_model": WIDTH, "nhead": 4, "dim_feedforward": 4 * WIDTH, "dropout": 0.0, "batch_first": True}
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(**layer) for _ in range(LAYERS))
        self.output = nn.Linear(WIDTH, letters)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(LENGTH), persistent=False)

    def forward(self, tokens):
        h = self.embedding(tokens) + self.position
        for layer in self.layers:
            h = layer(h, src_mask=self.mask)
        return self.output(h)


def loss_of(logits, targets):
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def batches(steps, rows=16):
    text = "".join(topics.values())[:50_000]
    letters = sorted(set(text))
    data = weft.tensor([letters.index(letter) for letter in text])
    generator = weft.Generator().manual_seed(1)
    starts = weft.randint(len(text) - LENGTH - 1, (steps, rows), generator=generator)
    return len(letters), ([data[i : i + LENGTH + 1] for i in row.tolist()] for row in starts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("runs/pipeline"))
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    options = parser.parse_args()

    dist.init_process_group()
    rank, stages = dist.get_rank(), dist.get_world_size()
    letters, data = batches(options.steps)
    weft.manual_seed(0)  # all make the same model, and keep their stage of it
    model = Transformer(letters)
    begins = {f"layers.{LAYERS * stage // stages}": SplitPoint.BEGINNING for stage in range(1, stages)}
    example = weft.zeros(16 // MICROBATCHES, LENGTH, dtype=weft.int64)
    stage = pipeline(model, (example,), split_spec=begins).build_stage(rank, weft.device("cpu"))
    schedule = Schedule1F1B(stage, MICROBATCHES, loss_fn=loss_of)
    optimizer = weft.optim.AdamW(stage.submod.parameters(), lr=1e-3)

    folder = options.out / "checkpoint"
    by_name = StateDictOptions(flatten_optimizer_state_dict=True)  # names of the whole model: any stage finds its own
    if options.resume:
        model_state, optimizer_state = get_state_dict(stage.submod, optimizer, options=by_name)
        dcp.load({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=folder)
        states = {"model_state_dict": model_state, "optim_state_dict": optimizer_state}
        set_state_dict(stage.submod, optimizer, **states, options=by_name)

    for step, rows in enumerate(data):
        rows = weft.stack(rows)
        losses = []
        optimizer.zero_grad()
        schedule.step(*([rows[:, :-1]] if stage.is_first else []), target=rows[:, 1:], losses=losses)
        optimizer.step()
        if stage.is_last and (step % 10 == 0 or step == options.steps - 1):
            print(f"step {step}: loss {sum(loss.item() for loss in losses) / MICROBATCHES:.4f}", flush=True)

    model_state, optimizer_state = get_state_dict(stage.submod, optimizer, options=by_name)
    dcp.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
