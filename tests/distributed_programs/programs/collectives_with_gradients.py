"""Collectives inside of a model: gradients flow through them."""

# launch: torchrun 2

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch.distributed.nn.functional import all_gather, all_reduce, reduce_scatter


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    x = torch.randn(4, 3, requires_grad=True)
    features = torch.cat(all_gather(x))
    similarity = x @ features.t()
    labels = torch.arange(4) + 4 * rank
    torch.nn.functional.cross_entropy(similarity, labels).backward()
    total = all_reduce(x.sum() * 2)
    y = torch.ones(2, requires_grad=True)
    (reduce_scatter(torch.empty(2), [y * 1, y * 3]) * (rank + 1)).sum().backward()
    norms = [torch.zeros(1) for _ in range(size)]
    dist.all_gather(norms, x.grad.norm().reshape(1))
    if rank == 0:
        print(" ".join(f"{each.item():.5f}" for each in norms), f"{total.item():.5f}", y.grad.tolist())
    summed = funcol.all_reduce(torch.full((2,), float(rank + 1)), "sum", dist.group.WORLD)
    gathered = funcol.all_gather_tensor(torch.full((1, 2), float(rank)), 0, dist.group.WORLD)
    scattered = funcol.reduce_scatter_tensor(torch.arange(4.0), "sum", 0, dist.group.WORLD)
    first = (funcol.wait_tensor(summed) + 1).tolist()
    if rank == 0:
        print(first, funcol.wait_tensor(gathered).tolist(), funcol.wait_tensor(scattered).tolist())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
