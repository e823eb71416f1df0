"""torchdata: batches from nodes that sample, map in threads and prefetch, stopped and resumed."""

# /// script
# dependencies = ["torchdata==0.11.0"]
# ///

import torch
import torchdata.nodes as tn
from torch.utils.data import RandomSampler

torch.manual_seed(0)
data = [torch.arange(3) * float(i) for i in range(20)]


def double(x):
    return 2 * x


def make(seed):
    sampler = RandomSampler(data, generator=torch.Generator().manual_seed(seed))
    node = tn.MapStyleWrapper(map_dataset=data, sampler=sampler)
    node = tn.ParallelMapper(node, double, num_workers=2, in_order=True, method="thread")
    node = tn.Mapper(tn.Batcher(node, batch_size=3, drop_last=False), torch.stack)
    return tn.Loader(tn.Prefetcher(node, 2))


def check(x):
    if x == 2:
        raise ValueError("two")
    return x


loader = make(1)
for epoch in range(2):
    print("epoch", epoch, [batch[:, 1].tolist() for batch in loader])

batches = iter(loader)
print("first", next(batches).sum().item(), next(batches).sum().item())
state = loader.state_dict()
rest = [batch.sum().item() for batch in batches]
resumed = make(1)
resumed.load_state_dict(state)
print("rest", len(rest), len(list(resumed)))

failing = tn.Loader(tn.ParallelMapper(tn.IterableWrapper(range(4)), check, num_workers=2, method="thread"))
try:
    list(failing)
except ValueError as error:
    print("error", str(error).splitlines()[0], "|", str(error).splitlines()[-1])

mixed = tn.MultiNodeWeightedSampler(
    {"ones": tn.IterableWrapper([1.0] * 5), "twos": tn.IterableWrapper([2.0] * 5)}, {"ones": 0.5, "twos": 0.5}, seed=3
)
print("mixed", list(tn.Loader(mixed)))
