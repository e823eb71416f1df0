"""FSDP over tensor parallel, on a mesh of two dims."""

# launch: torchrun 4

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w1, self.w2 = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x):
        return x + self.w2(torch.nn.functional.silu(self.w1(x)))


def main():
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(0)
    model = nn.Sequential(FeedForward(8), FeedForward(8))
    for layer in model:
        parallelize_module(layer, mesh["tp"], {"w1": ColwiseParallel(), "w2": RowwiseParallel()})
        fully_shard(layer, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    dp_rank = mesh["dp"].get_local_rank()
    for step in range(4):
        torch.manual_seed(10 * step + dp_rank)
        x = torch.randn(6, 8)
        loss = (model(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.detach() / 2
        dist.all_reduce(mean, group=mesh.get_group("dp"))
        if dist.get_rank() == 0:
            print(step, f"{mean.item():.5f}")
    full = model[0].w1.weight.full_tensor()
    if dist.get_rank() == 0:
        print(mesh.shape, mesh["dp"].get_coordinate(), f"{full.double().sum().item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
