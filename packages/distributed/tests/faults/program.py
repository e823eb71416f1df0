"""A program whose ranks call collectives until one does something wrong: ``program.py '{"fault": "kill", ...}'``.

It knows nothing of weft: `harness.py` starts it under PyTorch's names, by the launcher that a case names.
"""

import json
import os
import pathlib
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist


def main():
    case = json.loads(sys.argv[1])
    if case["launcher"] == "spawn":
        torch.multiprocessing.spawn(spawned, (case,), case["size"])
    else:
        train(case)


def spawned(rank, case):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(case["size"]))
    train(case)


def train(case):
    dist.init_process_group(case["backend"], timeout=timedelta(seconds=60))
    case["group"] = dist.new_group(timeout=timedelta(seconds=case["timeout"]))
    dist.barrier(case["group"])
    for step in range(case["step"] + 3):
        is_wrong = step == case["step"] and dist.get_rank() == case["rank"]
        if is_wrong:
            pathlib.Path(case["mark"]).write_text(repr(time.time()))
            before(case["fault"])
        collective(case, step, case["fault"] if is_wrong else "")
    dist.barrier(case["group"])
    dist.destroy_process_group()


def before(fault):
    """What goes wrong in one rank before its collective."""
    if fault == "raise":
        raise ValueError("this rank fails by itself")
    if fault == "kill":
        os.kill(os.getpid(), 9)
    if fault == "sleep":
        time.sleep(3600)


def collective(case, step, fault):
    """The collective of a step, or another one."""
    if fault == "order":
        dist.barrier(case["group"])
    numbers = case["numbers"] + (1 if fault == "shape" else 0)
    x = torch.ones(numbers, dtype=torch.float64 if fault == "dtype" else torch.float32)
    name = case["collective"] if fault != "op" else other(case["collective"])
    if name == "all_reduce":
        work = dist.all_reduce(x, group=case["group"], async_op=case["is_async"])
    elif name == "broadcast":
        work = dist.broadcast(x, src=step % case["size"], group=case["group"], async_op=case["is_async"])
    elif name == "all_gather":
        work = dist.all_gather(
            [torch.empty_like(x) for _ in range(case["size"])], x, group=case["group"], async_op=case["is_async"]
        )
    if work is not None:
        work.wait()


def other(name):
    return "broadcast" if name == "all_reduce" else "all_reduce"


if __name__ == "__main__":
    main()
