"""DistributedDataParallel with mp.spawn: a step, a checkpoint that one rank writes and all read, cleaning up."""

# launch: python

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = port
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def demo_checkpoint(rank, world_size, port, path):
    setup(rank, world_size, port)
    torch.manual_seed(7)
    ddp_model = DDP(ToyModel())
    if rank == 0:
        torch.save(ddp_model.state_dict(), path)
    dist.barrier()
    ddp_model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.1)
    for step in range(5):
        optimizer.zero_grad()
        torch.manual_seed(100 + step * world_size + rank)
        outputs = ddp_model(torch.randn(20, 10))
        loss = loss_fn(outputs, torch.randn(20, 5))
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        if rank == 0:
            print("step", step, f"{total.item() / world_size:.5f}")
    if rank == 0:
        print("sum", f"{sum(p.sum() for p in ddp_model.parameters()).item():.5f}", *ddp_model.state_dict())
    dist.destroy_process_group()


def free_port():
    import socket

    with socket.socket() as s:
        s.bind(("localhost", 0))
        return str(s.getsockname()[1])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(demo_checkpoint, args=(2, free_port(), os.path.join(folder, "model.checkpoint")), nprocs=2, join=True)
