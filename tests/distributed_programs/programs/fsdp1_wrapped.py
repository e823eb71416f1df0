"""FullyShardedDataParallel by its old name: a wrapping policy, full state dicts, clipping."""

# launch: torchrun 2

import functools

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullStateDictConfig, ShardingStrategy, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(12, 64), nn.Linear(64, 64), nn.Linear(64, 4)

    def forward(self, x):
        return torch.log_softmax(self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x))))), dim=1)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=500)
    model = FSDP(
        Net(), auto_wrap_policy=policy, sharding_strategy=ShardingStrategy.FULL_SHARD, device_id=torch.device("cpu")
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(4):
        torch.manual_seed(step * 2 + rank)
        data, target = torch.randn(8, 12), torch.randint(0, 4, (8,))
        optimizer.zero_grad()
        loss = nn.functional.nll_loss(model(data), target, reduction="sum")
        loss.backward()
        model.clip_grad_norm_(5.0)
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        if rank == 0:
            print(step, f"{total.item():.4f}")
    with FSDP.state_dict_type(
        model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=False, rank0_only=False)
    ):
        state = model.state_dict()
    if rank == 0:
        print(list(state), f"{sum(each.double().sum() for each in state.values()).item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
