"""A transformer in two pipeline stages, by hand, under two schedules."""

# launch: torchrun 2

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

DIM, VOCAB, CHUNKS = 16, 40, 4


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleDict(
            {str(i): nn.TransformerEncoderLayer(DIM, 2, 32, dropout=0.0, batch_first=True) for i in range(4)}
        )
        self.norm = nn.LayerNorm(DIM)
        self.output = nn.Linear(DIM, VOCAB)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens) if self.tok_embeddings else tokens
        for layer in self.layers.values():
            h = layer(h)
        h = self.norm(h) if self.norm else h
        return self.output(h).clone() if self.output else h


def stage_of(model, index):
    keep = ("0", "1") if index == 0 else ("2", "3")
    for name in list(model.layers):
        if name not in keep:
            del model.layers[name]
    if index == 0:
        model.norm = model.output = None
    else:
        model.tok_embeddings = None
    return PipelineStage(model, index, 2, torch.device("cpu"))


def loss_fn(output, target):
    return nn.functional.cross_entropy(output.reshape(-1, VOCAB), target.reshape(-1))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for kind in (ScheduleGPipe, Schedule1F1B):
        torch.manual_seed(0)
        model = Transformer()
        stage = stage_of(model, rank)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        schedule = kind(stage, n_microbatches=CHUNKS, loss_fn=loss_fn)
        for step in range(3):
            torch.manual_seed(50 + step)
            x, y = torch.randint(0, VOCAB, (8, 6)), torch.randint(0, VOCAB, (8, 6))
            optimizer.zero_grad()
            losses = []
            if rank == 0:
                schedule.step(x)
            else:
                output = schedule.step(target=y, losses=losses)
            optimizer.step()
            value = torch.stack(losses).mean() if rank == 1 else torch.zeros(())
            dist.broadcast(value, 1)
            if rank == 0:
                print(kind.__name__, step, f"{value.item():.4f}")
        if rank == 1:
            assert output.shape == (8, 6, VOCAB)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
