"""Groups, meshes, objects, stores and barriers."""

# launch: torchrun 4

import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def main():
    dist.init_process_group(timeout=timedelta(seconds=60), backend="gloo", init_method="env://")
    rank, size = dist.get_rank(), dist.get_world_size()
    say = print if rank == 0 else lambda *args: None
    say(
        dist.is_initialized(), dist.get_backend(), size, os.environ["LOCAL_WORLD_SIZE"], dist.is_torchelastic_launched()
    )
    mine, every = dist.new_subgroups(group_size=2)
    x = torch.tensor([float(rank)])
    dist.all_reduce(x, group=mine)
    say("pairs", x.item(), len(every), dist.get_process_group_ranks(mine), dist.get_world_size(mine))
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    total = torch.tensor([rank + 1])
    dist.all_reduce(total, group=mesh.get_group("replicate"))
    say("mesh", total.item(), mesh.size(), mesh["shard"].size(), mesh.get_coordinate(), mesh.get_local_rank("shard"))
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": rank, "square": rank**2})
    say("objects", gathered)
    out = torch.zeros(size, 2)
    dist.all_gather_into_tensor(out, torch.full((1, 2), float(rank)))
    say("gathered", out.sum(1).tolist())
    part = torch.zeros(2)
    dist.scatter(part, [torch.full((2,), float(i)) for i in range(size)] if rank == 1 else None, src=1)
    say("scattered", part.tolist())
    sizes = [rank + 1] * size
    received = torch.zeros(sum(range(1, size + 1)))
    dist.all_to_all_single(
        received, torch.full((sum(sizes),), float(rank)), output_split_sizes=list(range(1, size + 1)),
        input_split_sizes=sizes,
    )  # fmt: skip
    say("exchanged", received.tolist())
    ops = [
        dist.P2POp(dist.isend, torch.full((3,), float(rank)), (rank + 1) % size),
        dist.P2POp(dist.irecv, part3 := torch.zeros(3), (rank - 1) % size),
    ]
    for request in dist.batch_isend_irecv(ops):
        request.wait()
    say("ring", part3.tolist())
    work = dist.all_reduce(torch.ones(2), op=dist.ReduceOp.MAX, async_op=True)
    say("async", work.wait(), work.is_completed())
    dist.monitored_barrier(timeout=timedelta(seconds=30))
    store = dist.HashStore()
    store.set("key", "value")
    say("store", store.get("key"), store.add("n", 3), store.num_keys() >= 1)
    try:
        dist.broadcast(torch.ones(1), src=99)
    except (ValueError, RuntimeError):
        say("refused")
    dist.barrier()
    dist.destroy_process_group()
    say(dist.is_initialized())


if __name__ == "__main__":
    main()
