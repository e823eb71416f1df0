"""What `test_nccl` asks about streams and errors, on the stand-in for NCCL; prints it as JSON."""

import json
import threading
import time
from datetime import timedelta

import nccl_stand_in

cupy = nccl_stand_in.install()

import cupy_stand_in  # noqa: E402

import weft  # noqa: E402
import weft.distributed as dist  # noqa: E402
from weft.distributed._process_group import ProcessGroup  # noqa: E402
from weft.distributed.communicators.nccl import NcclCommunicator  # noqa: E402

SECONDS = timedelta(seconds=20)


def in_ranks(function, timeout=SECONDS):
    """Call a function in two threads with their group; what each returns."""
    store, found = dist.HashStore(), [None, None]

    def run(rank):
        try:
            group = ProcessGroup([0, 1], rank, "nccl", {"": NcclCommunicator}, store, timeout, "0")
            dist.group.WORLD = group
            found[rank] = function(group, rank)
        except Exception as error:
            found[rank] = repr(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def ones(rank, *shape):
    return weft.full(shape, rank + 1.0, device="cuda")


def sums(group, rank):
    x, y = ones(rank, 2), ones(rank, 2)
    dist.all_reduce(x, group=group)
    dist.all_reduce(y, op=dist.ReduceOp.AVG, group=group)
    return [x.tolist(), y.tolist()]


def strided(group, rank):
    x = weft.zeros(4, device="cuda")
    x[::2] = rank + 1.0
    work = dist.all_reduce(x[::2], group=group, async_op=True)
    work.wait()
    return x.tolist()


def received(group, rank):
    x = weft.zeros(1, device="cuda")
    mine = weft.full((1,), float(rank), device="cuda")
    sent = dist.isend if rank == 0 else None
    if sent:
        dist.send(mine, group=group, group_dst=1)
        dist.recv(x, group=group, group_src=1)
    else:
        dist.recv(x, group=group, group_src=0)
        dist.send(mine, group=group, group_dst=0)
    return x.item()


def batch(group, rank):
    x = weft.zeros(1, device="cuda")
    mine = weft.full((1,), float(rank), device="cuda")
    P2POp = dist.P2POp
    ops = [
        P2POp(dist.isend, mine, group=group, group_peer=1 - rank),
        P2POp(dist.irecv, x, group=group, group_peer=1 - rank),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return x.item()


def late(group, rank):
    x = weft.zeros(1, device="cuda")
    dist.barrier(group=group)
    if rank == 0:
        dist.send(x, group=group, group_dst=1)  # connected from now on
        dist.recv(x, group=group, group_src=1)
    else:
        dist.recv(x, group=group, group_src=0)
        time.sleep(4)
    return


def asynchronous(group, rank):
    x = ones(rank, 2)
    dist.all_reduce(x, group=group)
    communicator = group.communicator("cuda")

    def failing():
        raise nccl_stand_in.NcclError("NCCL_ERROR_SYSTEM_ERROR: remote process exited")

    communicator._main.nccl.check_async_error = failing
    time.sleep(0.5)
    errors = []
    for _ in range(2):
        try:
            dist.all_reduce(x, group=group)
        except RuntimeError as error:
            errors.append(str(error))
    return errors


def order():
    """What streams and events see of one all_reduce, without their numbers."""
    group = ProcessGroup([0, 1], 0, "nccl", {}, dist.HashStore(), SECONDS, "0")
    alone = NcclCommunicator(dist.HashStore(), 0, 1, SECONDS)
    group.communicator = lambda device_type: alone
    x = ones(0, 2)
    with cupy_stand_in.record() as events:
        dist.all_reduce(x, group=group)
    names = {alone._main.stream.address: "engine", 0: "current"}
    said = []
    for event in events:
        if event.kind == "order":
            words = event.what.split()
            stream = names[int(words[words.index("stream") + 1])]
            said.append(f"{stream}: {'waits' if words[0] == 'stream' else words[0]}")
    alone.close()
    return said


if __name__ == "__main__":
    result = {}
    result["sums"] = in_ranks(sums)
    result["strided"] = in_ranks(strided)
    result["received"] = in_ranks(received)
    result["batch"] = in_ranks(batch)
    result["late"] = in_ranks(late, timedelta(seconds=2))[0]
    result["asynchronous"] = in_ranks(asynchronous)[0]
    result["order"] = order()
    dist.group.WORLD = None
    print(json.dumps(result), flush=True)
