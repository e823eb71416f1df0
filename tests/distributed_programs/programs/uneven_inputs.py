"""Uneven inputs: ranks with fewer batches join, in DDP and with a ZeroRedundancyOptimizer."""

# launch: torchrun 2

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer as ZeRO
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DDP(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    inputs = [torch.full((2, 3), float(i + 1) / 5) for i in range(4 + rank)]
    steps = 0
    with model.join():
        for batch in inputs:
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
            steps += 1
    counts = [None, None]
    dist.all_gather_object(counts, steps)
    if rank == 0:
        print("steps", counts)
    weight = model.module.weight.detach().clone()
    dist.broadcast(weight, 1)
    if rank == 0:
        print("weight", " ".join(f"{each:.5f}" for each in weight.flatten().tolist()))

    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)))
    zero = ZeRO(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01)
    with Join([model, zero]):
        for batch in inputs:
            zero.zero_grad()
            model(batch).sum().backward()
            zero.step()
    total = sum(p.detach().double().sum() for p in model.parameters())
    if rank == 0:
        print("zero", f"{total.item():.5f}")
    zero.consolidate_state_dict(to=0)
    if rank == 0:
        print("state", sorted(zero.state_dict()["state"]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
