"""ZeroRedundancyOptimizer beside a plain one: equal parameters."""

# launch: torchrun 2

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP


def example(use_zero):
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(20, 20).float() for _ in range(6)])
    ddp_model = DDP(model)
    if use_zero:
        optimizer = ZeroRedundancyOptimizer(ddp_model.parameters(), optimizer_class=torch.optim.AdamW, lr=0.01)
    else:
        optimizer = torch.optim.AdamW(ddp_model.parameters(), lr=0.01)
    torch.manual_seed(5 + dist.get_rank())
    for _ in range(5):
        optimizer.zero_grad()
        outputs = ddp_model(torch.randn(10, 20))
        nn.functional.mse_loss(outputs, torch.randn(10, 20)).backward()
        optimizer.step()
    return sum(p.double().sum() for p in model.parameters()).item()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    with_zero, without = example(True), example(False)
    if dist.get_rank() == 0:
        print(f"{with_zero:.4f} {without:.4f}")
    dist.destroy_process_group()
