"""What a `DistributedDataParallel` does in a process that has no more inputs, while others go on."""

from __future__ import annotations

from typing import Any

from weft.distributed.algorithms.join import JoinHook
from weft.distributed.data_parallel.synchronize import broadcast_coalesced

__all__ = ["DataParallelJoinHook"]


class DataParallelJoinHook(JoinHook):
    """Takes part in the collectives of each step of the others, with gradients of zero."""

    def __init__(self, ddp: Any) -> None:
        self.ddp = ddp

    def main_hook(self) -> None:
        """The collectives of a forward and a backward pass, in their order."""
        ddp = self.ddp
        exchanges = ddp._count_exchanges(wanted=False)
        if ddp.will_sync_module_buffers():
            broadcast_coalesced(ddp._buffers_to_sync(), ddp.process_group, ddp._common_rank(is_joined=True))
        ddp.require_forward_param_sync = exchanges
        if exchanges:
            ddp.reducer.exchange_zeros()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Take the parameters and buffers of a process that went on to the end."""
        ddp = self.ddp
        ddp.reducer.divisor = ddp.process_group.size()
        root = ddp._common_rank(is_joined=not is_last_joiner)
        tensors = [each for _, each in ddp._reduced_parameters()] + ddp._buffers_to_sync()
        broadcast_coalesced(tensors, ddp.process_group, root)
