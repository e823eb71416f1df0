"""Gradients that are exchanged in subgroups only, after some steps: means of parameters are taken now and then.

See `weft.distributed.algorithms.model_averaging`, and Lin et al., arXiv:1808.07217.
"""

from __future__ import annotations

from typing import Any

from weft.distributed._groups import GroupMember, new_subgroups
from weft.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from weft.distributed.algorithms.ddp_comm_hooks.default_hooks import mean_of
from weft.distributed.data_parallel.buckets import GradBucket
from weft.futures import Future

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """What `post_localSGD_hook` keeps.

    Parameters
    ----------
    process_group : ProcessGroup, optional
        Of the first steps. Default: all processes.
    subgroup : ProcessGroup, optional
        Of the steps from then on. Default: the processes of this machine.
    start_localSGD_iter : int
        How many steps are of all processes.
    post_local_gradient_allreduce : bool
        False: later gradients stay in each process.
    """

    def __init__(
        self,
        process_group: Any,
        subgroup: Any,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group = process_group
        self.subgroup = subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Any]:
    """Take the mean over all processes in the first steps, then over a subgroup, or not at all."""
    begins = state.iter < state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if begins:
        return mean_of(state.process_group or GroupMember.WORLD, bucket.buffer())
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return mean_of(state.subgroup, bucket.buffer())
