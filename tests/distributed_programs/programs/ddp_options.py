"""Options of DistributedDataParallel: accumulation, unused parameters, a static graph, hooks, mixed inputs."""

# launch: torchrun 2

import contextlib
import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powerSGD
from torch.nn.parallel import DistributedDataParallel as DDP


class TwoWays(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.unused = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x, flag=True):
        return {"out": self.a(x) if flag else self.b(x)}


def report(name, model):
    total = sum((p.grad if p.grad is not None else torch.zeros(1)).double().abs().sum() for p in model.parameters())
    both = [torch.zeros((), dtype=torch.float64) for _ in range(dist.get_world_size())]
    dist.all_gather(both, total)
    if dist.get_rank() == 0:
        print(name, " ".join(f"{each.item():.4f}" for each in both))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    base = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
    torch.manual_seed(10 + rank)
    batches = [torch.randn(4, 6) for _ in range(4)]

    model = DDP(copy.deepcopy(base))
    for index, batch in enumerate(batches):
        context = model.no_sync() if index < 3 else contextlib.nullcontext()
        with context:
            (model(batch).pow(2).mean() / 4).backward()
    report("accumulated", model)

    torch.manual_seed(1)
    model = DDP(TwoWays(), find_unused_parameters=True)
    model(batches[0], flag=rank == 0)["out"].sum().backward()
    report("unused", model)
    print_once = print if rank == 0 else lambda *args: None
    print_once("no gradient", [name for name, p in model.named_parameters() if p.grad is None])

    model = DDP(copy.deepcopy(base), static_graph=True, gradient_as_bucket_view=True, bucket_cap_mb=1)
    for batch in batches[:3]:
        model.zero_grad()
        model(batch).exp().sum().backward()
    report("static", model)

    for name, hook in (("mean", default_hooks.allreduce_hook), ("fp16", default_hooks.fp16_compress_hook)):
        model = DDP(copy.deepcopy(base))
        model.register_comm_hook(state=None, hook=hook)
        model(batches[0]).sum().backward()
        report(name, model)

    model = DDP(copy.deepcopy(base))
    state = powerSGD.PowerSGDState(process_group=None, matrix_approximation_rank=2, start_powerSGD_iter=2)
    model.register_comm_hook(state, powerSGD.powerSGD_hook)
    for batch in batches:
        model.zero_grad()
        model(batch).sum().backward()
    total = sum(p.grad.double().sum() for p in model.parameters())
    print_once("power", bool(torch.isfinite(total)), state.iter > 0)

    seen = []

    def hook(state, bucket):
        seen.append((bucket.index(), bucket.is_last(), len(bucket.parameters())))
        tensor = bucket.buffer() / dist.get_world_size()
        return dist.all_reduce(tensor, async_op=True).get_future().then(lambda done: done.value()[0])

    model = DDP(copy.deepcopy(base))
    model.register_comm_hook(None, hook)
    model(batches[0]).sum().backward()
    report("own hook", model)
    print_once("buckets", seen)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
