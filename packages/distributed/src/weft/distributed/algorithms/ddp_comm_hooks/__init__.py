"""Ways to exchange gradients, for `DistributedDataParallel.register_comm_hook`.

`default_hooks` send them whole or in half precision, `powerSGD_hook` sends approximations of low rank, and
`post_localSGD_hook` sends them within subgroups.
"""

from __future__ import annotations

from enum import Enum, member
from functools import partial
from typing import Any

from weft.distributed.algorithms.ddp_comm_hooks import debugging_hooks as debugging
from weft.distributed.algorithms.ddp_comm_hooks import default_hooks as default
from weft.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as post_local_sgd
from weft.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power_sgd

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


def register_plain(model: Any, state: Any, hook: Any) -> None:
    """Register a hook whose state is the process group."""
    model.register_comm_hook(state, hook)


def register_power_sgd(model: Any, state: Any, hook: Any, matrix_approximation_rank: int) -> None:
    """Register a hook of PowerSGD, with a state of that rank."""
    made = power_sgd.PowerSGDState(process_group=state, matrix_approximation_rank=matrix_approximation_rank)
    model.register_comm_hook(made, hook)


class DDPCommHookType(Enum):
    """The hooks that weft has, by name; the value of each registers it."""

    ALLREDUCE = member(partial(register_plain, hook=default.allreduce_hook))
    FP16_COMPRESS = member(partial(register_plain, hook=default.fp16_compress_hook))
    BF16_COMPRESS = member(partial(register_plain, hook=default.bf16_compress_hook))
    POWER_SGD = member(partial(register_power_sgd, hook=power_sgd.powerSGD_hook, matrix_approximation_rank=1))
    POWER_SGD_RANK2 = member(partial(register_power_sgd, hook=power_sgd.powerSGD_hook, matrix_approximation_rank=2))
    BATCHED_POWER_SGD = member(
        partial(register_power_sgd, hook=power_sgd.batched_powerSGD_hook, matrix_approximation_rank=1)
    )
    BATCHED_POWER_SGD_RANK2 = member(
        partial(register_power_sgd, hook=power_sgd.batched_powerSGD_hook, matrix_approximation_rank=2)
    )
    NOOP = member(partial(register_plain, hook=debugging.noop_hook))
    POST_LOCAL_SGD = member(partial(register_plain, hook=post_local_sgd.post_localSGD_hook))


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Have one of weft's hooks exchange the gradients of a `DistributedDataParallel`.

    Parameters
    ----------
    comm_hook_type : DDPCommHookType
    model : DistributedDataParallel
    state : object, optional
        The process group, or what the hook keeps.
    """
    comm_hook_type.value(model=model, state=state)
