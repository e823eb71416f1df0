"""`ZeroRedundancyOptimizer`: each process keeps the optimizer's state of a part of the parameters.

References
----------
Rajbhandari et al.: ZeRO: Memory Optimizations Toward Training Trillion Parameter Models. arXiv:1910.02054, stage 1.
"""

from __future__ import annotations

from typing import Any

import weft
from weft.distributed._collectives import broadcast
from weft.distributed._groups import _get_default_group, get_global_rank
from weft.distributed._objects import gather_object
from weft.distributed.algorithms.join import Join, Joinable, JoinHook
from weft.distributed.data_parallel.synchronize import broadcast_coalesced
from weft.optim import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroJoinHook(JoinHook):
    """Steps with the others, so that they get the part of the parameters that this process keeps the state of."""

    def __init__(self, zero: Any) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        """Take a step."""
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of whose state each process of a group has a part.

    A step updates that part of the parameters, and then all processes get the others' parts. Gradients are to be
    the same in all of them, as with `DistributedDataParallel`.

    Parameters
    ----------
    params : iterable of Parameter, or of dicts with ``params``
    optimizer_class : class
        Of the optimizer of each process.
    process_group : ProcessGroup, optional
        Default: all processes.
    parameters_as_bucket_view : bool
        Put the parameters of each part into one flat tensor, which is exchanged without a copy.
    overlap_with_ddp : bool
        Must be False.
    **defaults
        For the optimizer: ``lr`` and others.

    Attributes
    ----------
    optim : Optimizer
        That of this process's part.

    Raises
    ------
    NotImplementedError
        With ``overlap_with_ddp``.
    RuntimeError
        By `state_dict`, in a process to which `consolidate_state_dict` did not bring the others' states.
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: overlap_with_ddp=True would step in the backward pass, bucket by bucket; "
                "leave it out, and call step() after backward()"
            )
        self.process_group = _get_default_group() if process_group is None else process_group
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self.optimizer_class = optimizer_class
        self._optimizer_defaults = defaults
        self._is_complete = False
        self._consolidated: list[Any] | None = None
        self._buckets: list[list[Any]] = []
        given = list(params)
        if not given:
            raise ValueError("ZeroRedundancyOptimizer: params is an empty iterable")
        super().__init__(given, defaults)
        Joinable.__init__(self)
        self._is_complete = True
        self._divide()

    # Parts

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, of which each process takes a part."""
        super().add_param_group(param_group)
        if self._is_complete:
            kept = self.optim.state
            self._divide()
            self.optim.state.update({each: kept[each] for each in kept if self._owner[id(each)] == self.rank})

    def _divide(self) -> None:
        """Give each parameter, the largest first, to the process that has the fewest elements so far."""
        loads = [0] * self.world_size
        self._owner: dict[int, int] = {}
        for group in self.param_groups:
            for parameter in sorted(group["params"], key=lambda each: -each.numel()):
                owner = loads.index(min(loads))
                loads[owner] += parameter.numel()
                self._owner[id(parameter)] = owner
        parts = [{**group, "params": self._own(group)} for group in self.param_groups]
        self.optim = self.optimizer_class(parts, **self._optimizer_defaults)
        for group, part in zip(self.param_groups, self.optim.param_groups):  # defaults of the optimizer itself
            for key, value in part.items():
                if key != "params":
                    group.setdefault(key, value)
        if self.parameters_as_bucket_view:
            self._make_buckets()

    def _own(self, group: dict[str, Any]) -> list[Any]:
        return [each for each in group["params"] if self._owner[id(each)] == self.rank]

    def _of_rank(self, rank: int) -> list[Any]:
        return [each for group in self.param_groups for each in group["params"] if self._owner[id(each)] == rank]

    def _make_buckets(self) -> None:
        """Let the parameters of each process and dtype be views of one flat tensor."""
        self._buckets = []
        with weft.no_grad():
            for rank in range(self.world_size):
                kinds: dict[Any, list[Any]] = {}
                for each in self._of_rank(rank):
                    kinds.setdefault((each.dtype, each.device), []).append(each)
                self._buckets.append([flattened(members) for members in kinds.values()])

    # Steps

    def step(self, closure: Any = None, **kwargs: Any) -> Any:
        """Update this process's part of the parameters, and take the others' parts."""
        Join.notify_join_context(self)
        self._copy_options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        self._copy_options(self.optim.param_groups, self.param_groups)
        self._exchange()
        return loss

    def _exchange(self) -> None:
        for rank in range(self.world_size):
            if self.parameters_as_bucket_view:
                for bucket in self._buckets[rank]:
                    broadcast(bucket, get_global_rank(self.process_group, rank), group=self.process_group)
            else:
                broadcast_coalesced(self._of_rank(rank), self.process_group, rank)

    @staticmethod
    def _copy_options(source: list[dict[str, Any]], target: list[dict[str, Any]]) -> None:
        """Copy what a scheduler, or the optimizer, changed: all but the parameters."""
        for given, taken in zip(source, target):
            taken.update({key: value for key, value in given.items() if key != "params"})

    # States

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the states of all parts to the process of rank ``to`` in the group; all processes call it."""
        self._copy_options(self.param_groups, self.optim.param_groups)
        gathered: list[Any] | None = [None] * self.world_size if self.rank == to else None
        root = get_global_rank(self.process_group, to)
        gather_object(self.optim.state_dict(), gathered, dst=root, group=self.process_group)
        self._consolidated = gathered

    def state_dict(self) -> dict[str, Any]:
        """Return the state of all parameters, as the optimizer of one process would.

        Raises
        ------
        RuntimeError
            If `consolidate_state_dict` was not called with this process's rank.
        """
        if self._consolidated is None:
            raise RuntimeError(
                f"Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                f"{self.rank})` on all ranks beforehand if you meant to save the global state."
            )
        found: dict[str, Any] = super().state_dict()
        numbers = self._numbers()
        found["state"] = {}
        for rank, part in enumerate(self._consolidated):
            for number, parameter in enumerate(self._of_rank(rank)):
                if number in part["state"]:
                    found["state"][numbers[id(parameter)]] = part["state"][number]
        found["state"] = dict(sorted(found["state"].items()))
        return found

    def _numbers(self) -> dict[int, int]:
        """The number of each parameter in the state of all."""
        every = [each for group in self.param_groups for each in group["params"]]
        return {id(each): number for number, each in enumerate(every)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state of all parameters, of which this process keeps its part."""
        numbers = self._numbers()
        part = self.optim.state_dict()
        part["state"] = {
            number: state_dict["state"][numbers[id(each)]]
            for number, each in enumerate(self._of_rank(self.rank))
            if numbers[id(each)] in state_dict["state"]
        }
        self._copy_options(state_dict["param_groups"], part["param_groups"])
        self.optim.load_state_dict(part)
        self._copy_options(self.optim.param_groups, self.param_groups)

    # Uneven inputs

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what this optimizer does without inputs while other processes go on."""
        return ZeroJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the first parameter."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The processes that have the parts."""
        return self.process_group


def flattened(parameters: list[Any]) -> Any:
    """One flat tensor with the values of parameters, which become views of it."""
    flat = weft.cat([each.detach().reshape(-1) for each in parameters])
    start = 0
    for each in parameters:
        each.data = flat[start : start + each.numel()].view(each.shape)
        start += each.numel()
    return flat
