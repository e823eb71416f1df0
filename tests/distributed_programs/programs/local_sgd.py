"""Post-local SGD: gradients in a subgroup at first, then the mean of models now and then."""

# launch: torchrun 2

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DDP(nn.Linear(5, 3))
    alone, _ = dist.new_subgroups(group_size=1)
    state = PostLocalSGDState(process_group=None, subgroup=alone, start_localSGD_iter=4)
    model.register_comm_hook(state, post_localSGD_hook)
    optimizer = PostLocalSGDOptimizer(
        optim=torch.optim.SGD(model.parameters(), lr=0.1),
        averager=PeriodicModelAverager(period=3, warmup_steps=4),
    )
    torch.manual_seed(20 + rank)
    for step in range(10):
        optimizer.zero_grad()
        model(torch.randn(6, 5)).square().mean().backward()
        optimizer.step()
        weights = [torch.zeros(3, 5) for _ in range(2)]
        dist.all_gather(weights, model.module.weight.detach())
        if rank == 0:
            apart = (weights[0] - weights[1]).abs().max().item()
            print(step, f"{weights[0].sum().item():.4f} {apart:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
