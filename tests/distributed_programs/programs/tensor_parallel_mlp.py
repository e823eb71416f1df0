"""Tensor parallel of an MLP: a column-wise and a row-wise layer, and the same with a sharded sequence."""

# launch: torchrun 2

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj = nn.Linear(10, 32)
        self.relu = nn.ReLU()
        self.out_proj = nn.Linear(32, 6)

    def forward(self, x):
        return self.out_proj(self.relu(self.in_proj(x)))


def train(plan, sharded):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = parallelize_module(ToyModel(), mesh, plan)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, foreach=True)
    for step in range(5):
        torch.manual_seed(step + (dist.get_rank() if sharded else 0))
        loss = model(torch.rand(20, 10)).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        if sharded:
            dist.all_reduce(total)
        if dist.get_rank() == 0:
            print("sharded" if sharded else "whole", step, f"{total.item():.4f}")
    weight = model.in_proj.weight
    full = weight.full_tensor()
    if dist.get_rank() == 0:
        print(tuple(weight.shape), tuple(weight.to_local().shape), weight.placements, f"{full.sum().item():.4f}")


if __name__ == "__main__":
    dist.init_process_group("gloo")
    train({"in_proj": ColwiseParallel(), "out_proj": RowwiseParallel()}, False)
    sequence = {
        "in_proj": ColwiseParallel(input_layouts=Shard(0)),
        "out_proj": RowwiseParallel(output_layouts=Shard(0)),
    }
    train(sequence, True)
    dist.destroy_process_group()
