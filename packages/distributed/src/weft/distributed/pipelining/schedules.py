"""Schedules: in which order stages compute microbatches, and the loop that carries it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.distributed.pipelining import _orders as orders_of
from weft.distributed.pipelining._messages import Messages
from weft.distributed.pipelining._orders import (
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    FORWARD,
    FULL_BACKWARD,
    Orders,
    StageOrder,
    _Action,
    _ComputationType,
    check_orders,
)
from weft.distributed.pipelining._utils import PipeliningMetadataError, TensorMeta
from weft.distributed.pipelining.microbatch import merge_chunks, split_args_kwargs_into_chunks
from weft.distributed.pipelining.stage import _PipelineStageBase

__all__ = [
    "PipelineScheduleMulti",
    "PipelineScheduleSingle",
    "Schedule1F1B",
    "ScheduleDualPipeV",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble",
    "ScheduleLoopedBFS",
    "ScheduleZBVZeroBubble",
    "get_schedule_class",
]


class _PipelineSchedule:
    """What all schedules share. A subclass says by `_all_orders` in which order its processes compute."""

    def __init__(
        self,
        stages: list[_PipelineStageBase],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        if n_microbatches < 1:
            raise ValueError(f"{type(self).__name__}: n_microbatches must be at least 1, got {n_microbatches}")
        self._stages = {stage.stage_index: stage for stage in stages}
        first = stages[0]
        self._num_stages, self.pp_group_size, self.rank = first.num_stages, first.group_size, first.group_rank
        self._n_microbatches, self._loss_fn, self.scale_grads = n_microbatches, loss_fn, scale_grads
        self._args_chunk_spec, self._kwargs_chunk_spec = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec = output_merge_spec
        self._has_backward = loss_fn is not None
        self.stage_index_to_group_rank = self._mapping()
        misplaced = {index for index in self._stages if self.stage_index_to_group_rank[index] != self.rank}
        own = {index for index, rank in self.stage_index_to_group_rank.items() if rank == self.rank}
        if misplaced or own != set(self._stages):
            raise ValueError(
                f"{type(self).__name__}: rank {self.rank} of {self.pp_group_size} has stages {sorted(self._stages)} "
                f"where the schedule needs {sorted(own)} of {self._num_stages}"
            )
        self.pipeline_order: Orders = self._all_orders()
        check_orders(self.pipeline_order, self._num_stages)
        self._metas: dict[bool, dict[Any, list[TensorMeta]]] = {False: {}, True: {}}  # without and with backward

    def _mapping(self) -> dict[int, int]:
        """Which process has which stage."""
        return orders_of.loop_mapping(self._num_stages, self.pp_group_size)

    def _all_orders(self) -> Orders:
        raise NotImplementedError

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Compute a batch, forward and, with a loss function, backward; gradients are added to the parameters'.

        Parameters
        ----------
        *args
            The batch, where the first stage is; elsewhere ignored.
        target : Tensor or nested, optional
            The batch's targets, where the last stage is.
        losses : list, optional
            Filled with the loss of each microbatch, where the last stage is.
        return_outputs : bool, default True
        loss_kwargs : dict, optional
            Arguments of the loss function.
        **kwargs
            Of the submodules, divided as the batch is.

        Returns
        -------
        The model's outputs, where the last stage is, if ``return_outputs``; else None.

        Raises
        ------
        PipeliningMetadataError
            If there are no targets for the loss function, or the batch has another shape than the first one.
        ValueError
            If the batch has fewer rows than there are microbatches.
        """
        return self._step(args, kwargs, target, losses, return_outputs, loss_kwargs, self._has_backward)

    def eval(self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """`step` without backward."""
        return self._step(args, kwargs, target, losses, True, None, False)

    def _step(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        target: Any,
        losses: list[Any] | None,
        return_outputs: bool,
        loss_kwargs: dict[str, Any] | None,
        has_backward: bool,
    ) -> Any:
        last = self._stages.get(self._num_stages - 1)
        if last is not None and has_backward and target is None:
            raise PipeliningMetadataError(
                f"Stage {last.stage_index}: loss_fn and target required for last stage; pass target= to step()"
            )
        arg_mbs, kwarg_mbs = self._microbatches(args if 0 in self._stages else (), kwargs)
        targets = None if target is None or last is None else self._split_targets(target)
        run = _Step(self, arg_mbs, kwarg_mbs, targets, loss_kwargs or {}, has_backward)
        try:
            run.run()
            if last is None:
                return None
            if losses is not None:
                losses[:] = [run.losses[index] for index in sorted(run.losses)]
            return self._merge_outputs(last.output_chunks) if return_outputs else None
        finally:
            for stage in self._stages.values():
                stage.clear_runtime_states()

    def _microbatches(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        if not args and not kwargs:
            return [()] * self._n_microbatches, [{}] * self._n_microbatches
        specs = self._args_chunk_spec if args else None
        split = split_args_kwargs_into_chunks(args, kwargs, self._n_microbatches, specs, self._kwargs_chunk_spec)
        if len(split[0]) != self._n_microbatches:
            raise ValueError(
                f"{type(self).__name__}: the batch gives {len(split[0])} microbatches of the {self._n_microbatches} "
                "that the schedule has: it has too few rows"
            )
        return split

    def _split_targets(self, target: Any) -> list[Any]:
        return [each for (each,) in split_args_kwargs_into_chunks((target,), None, self._n_microbatches)[0]]

    def _merge_outputs(self, output_chunks: list[Any]) -> Any:
        return merge_chunks(output_chunks, self._output_merge_spec)

    def _compute_loss(self, output: Any, target: Any, loss_kwargs: dict[str, Any]) -> Any:
        assert self._loss_fn is not None
        return self._loss_fn(output, target, **loss_kwargs)


class _Step:
    """One step: the actions of this process, with the messages between them."""

    def __init__(
        self,
        schedule: _PipelineSchedule,
        arg_mbs: list[Any],
        kwarg_mbs: list[Any],
        targets: list[Any] | None,
        loss_kwargs: dict[str, Any],
        has_backward: bool,
    ) -> None:
        self.schedule, self.has_backward = schedule, has_backward
        self.arg_mbs, self.kwarg_mbs, self.targets, self.loss_kwargs = arg_mbs, kwarg_mbs, targets, loss_kwargs
        self.losses: dict[int, Any] = {}
        self.stages = schedule._stages
        orders = schedule.pipeline_order
        if not has_backward:
            orders = {
                rank: [each for each in order if each.computation_type is FORWARD] for rank, order in orders.items()
            }
        self.actions = orders[schedule.rank]
        stage = next(iter(self.stages.values()))
        self.metas = schedule._metas[has_backward]
        self.messages = Messages(orders, schedule.stage_index_to_group_rank, stage.group, stage.device, self.metas)
        last: dict[int, _Action] = {}
        for action in self.actions:
            if action.computation_type is not FORWARD:
                last[action.stage_index] = action
        self.last_backwards = set(last.values())

    def run(self) -> None:
        """Carry out all actions."""
        for stage in self.stages.values():
            stage.has_backward = self.has_backward
        for action in self.actions:
            PERFORM[action.computation_type](self, action)
        self.messages.finish()
        if self.has_backward:
            for stage in self.stages.values():
                stage.perform_reduce_grad(self.schedule._n_microbatches if self.schedule.scale_grads else 1)

    def forward(self, action: _Action) -> None:
        """Compute a microbatch of a stage, and send its outputs on."""
        index, _, microbatch = action
        stage = self.stages[index]
        args = self.arg_mbs[microbatch] if stage.is_first else self._received_inputs(index, microbatch)
        outputs = stage.forward_one_chunk(microbatch, args, self.kwarg_mbs[microbatch])
        if stage.is_last:
            if self.targets is not None and self.schedule._loss_fn is not None:
                output = stage.output_chunks[-1]
                loss = self.schedule._compute_loss(output, self.targets[microbatch], self.loss_kwargs)
                self.losses[microbatch] = loss
            return
        if self.has_backward:
            expected = [TensorMeta.of(each) for each in outputs if each.requires_grad]
            self.messages.expect_gradients(index, microbatch, expected)
        self.messages.send(index + 1, True, microbatch, list(outputs))

    def _received_inputs(self, index: int, microbatch: int) -> tuple[Any, ...]:
        """What the stage before gave, ready for gradients where that stage wants them."""
        received = self.messages.receive(index, True, microbatch)
        wants = [meta.requires_grad and self.has_backward for meta in self.metas[index, True, microbatch]]
        return tuple(each.requires_grad_(want) for each, want in zip(received, wants))

    def backward(self, action: _Action) -> None:
        """Compute a microbatch's gradients, and send those of the inputs back."""
        index, kind, microbatch = action
        stage = self.stages[index]
        grads = None if stage.is_last else self.messages.receive(index, False, microbatch)
        given = stage.backward_one_chunk(
            microbatch,
            loss=self.losses.get(microbatch) if stage.is_last else None,
            output_grads=grads,
            full_backward=kind is FULL_BACKWARD,
            last_backward=self._is_last_backward(action),
        )
        if not stage.is_first:
            self.messages.send(index - 1, False, microbatch, given)

    def backward_weight(self, action: _Action) -> None:
        """Compute the gradients of weights that `backward` has left."""
        index, _, microbatch = action
        self.stages[index].backward_weight_one_chunk(microbatch, action in self.last_backwards)

    def _is_last_backward(self, action: _Action) -> bool:
        """Whether no backward of the stage follows; that of weights is part of this one where it cannot be divided."""
        index, kind, microbatch = action
        same = action if kind is FULL_BACKWARD else _Action(index, BACKWARD_WEIGHT, microbatch)
        return same in self.last_backwards


PERFORM: dict[_ComputationType, Callable[[_Step, _Action], None]] = {
    FORWARD: _Step.forward,
    FULL_BACKWARD: _Step.backward,
    BACKWARD_INPUT: _Step.backward,
    BACKWARD_WEIGHT: _Step.backward_weight,
}


class PipelineScheduleSingle(_PipelineSchedule):
    """Schedules of processes that have one stage each.

    Parameters
    ----------
    stage : PipelineStage
    n_microbatches : int
        Into how many a batch is divided.
    loss_fn : callable, optional
        From an output and its targets to the loss. Without it `step` computes forward only.
    args_chunk_spec, kwargs_chunk_spec : optional
        How a batch is divided; see `split_args_kwargs_into_chunks`.
    output_merge_spec : optional
        How outputs are joined; see `merge_chunks`.
    scale_grads : bool, default True
        Divide gradients by the number of microbatches, as is right for a loss that is a mean.

    Raises
    ------
    ValueError
        If there are not as many stages as processes.
    """

    _order: StageOrder

    def __init__(
        self,
        stage: _PipelineStageBase,
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        if stage.num_stages != stage.group_size:
            raise ValueError(
                f"{type(self).__name__}: {stage.num_stages} stages for {stage.group_size} processes, each of which has "
                "one; a schedule for several is ScheduleInterleaved1F1B"
            )
        specs = (args_chunk_spec, kwargs_chunk_spec, output_merge_spec)
        super().__init__([stage], n_microbatches, loss_fn, *specs, scale_grads)
        self._stage = stage

    def _all_orders(self) -> Orders:
        count = self._num_stages
        return {rank: type(self)._order(rank, count, self._n_microbatches) for rank in range(count)}


class ScheduleGPipe(PipelineScheduleSingle):
    """All microbatches forward, then all backward. Parameters: see `PipelineScheduleSingle`."""

    _order = staticmethod(orders_of.gpipe)


class Schedule1F1B(PipelineScheduleSingle):
    """One forward and one backward in turn. Parameters: see `PipelineScheduleSingle`.

    A process keeps the activations of as many microbatches as stages follow, rather than of all.
    """

    _order = staticmethod(orders_of.one_forward_one_backward)


class PipelineScheduleMulti(_PipelineSchedule):
    """Schedules of processes that have several stages each.

    Parameters
    ----------
    stages : list of PipelineStage
        Of this process. Process ``r`` of ``P`` has the stages r, r + P, r + 2 P, … unless a schedule says otherwise.
    n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads
        See `PipelineScheduleSingle`.
    use_full_backward, backward_requires_autograd, defer_pp_recv : optional
        As PyTorch has them; without effect.

    Raises
    ------
    ValueError
        If the stages are others than the schedule needs.
    """

    def __init__(
        self,
        stages: list[_PipelineStageBase],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        use_full_backward: bool | None = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        specs = (args_chunk_spec, kwargs_chunk_spec, output_merge_spec)
        super().__init__(stages, n_microbatches, loss_fn, *specs, scale_grads)

    def _stages_of(self, rank: int) -> list[int]:
        return [stage for stage, holder in self.stage_index_to_group_rank.items() if holder == rank]


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """All microbatches of a stage, then all of the next. Parameters: see `PipelineScheduleMulti`."""

    def __init__(
        self,
        stages: list[_PipelineStageBase],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        super().__init__(stages, n_microbatches, loss_fn, output_merge_spec=output_merge_spec, scale_grads=scale_grads)

    def _all_orders(self) -> Orders:
        ranks = range(self.pp_group_size)
        return {rank: orders_of.looped_breadth_first(self._stages_of(rank), self._n_microbatches) for rank in ranks}


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """One forward and one backward in turn, of several stages a process. Parameters: see `PipelineScheduleMulti`.

    The pipeline fills in a fraction of the time that `Schedule1F1B` takes, for more messages.
    """

    def _all_orders(self) -> Orders:
        size = self.pp_group_size
        count = self._n_microbatches
        return {rank: orders_of.interleaved(rank, size, self._stages_of(rank), count) for rank in range(size)}


class ScheduleInterleavedZeroBubble(PipelineScheduleMulti):
    """Gradients of inputs before those of weights, which fill the gaps. Parameters: see `PipelineScheduleMulti`.

    The gradients of activations inside a stage are computed twice, for the inputs and for the weights: worth it where
    stages are shallow.
    """

    def _all_orders(self) -> Orders:
        return orders_of.zero_bubble(self.stage_index_to_group_rank, self._n_microbatches)


class ScheduleZBVZeroBubble(ScheduleInterleavedZeroBubble):
    """`ScheduleInterleavedZeroBubble` of two stages a process, the last of which is where the first is.

    Process ``r`` of ``P`` has the stages r and 2 P - 1 - r.
    """

    def _mapping(self) -> dict[int, int]:
        if self._num_stages != 2 * self.pp_group_size:
            raise ValueError(
                f"{type(self).__name__}: {self.pp_group_size} processes have two stages each, got {self._num_stages}"
            )
        return orders_of.v_mapping(self._num_stages, self.pp_group_size)


class ScheduleDualPipeV(PipelineScheduleMulti):
    """Refused: `ScheduleZBVZeroBubble` takes the same stages.

    Raises
    ------
    NotImplementedError
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "ScheduleDualPipeV: forward and backward of different microbatches are not computed at the same time; use "
            "ScheduleZBVZeroBubble, which takes the same stages"
        )


def get_schedule_class(schedule_name: str) -> type[_PipelineSchedule]:
    """Return the schedule of a name, in upper or lower case.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> from weft.distributed.pipelining.schedules import get_schedule_class
    >>> get_schedule_class("1f1b").__name__
    'Schedule1F1B'
    """
    schedules: dict[str, type[_PipelineSchedule]] = {
        "1F1B": Schedule1F1B,
        "Interleaved1F1B": ScheduleInterleaved1F1B,
        "GPipe": ScheduleGPipe,
        "LoopedBFS": ScheduleLoopedBFS,
        "InterleavedZeroBubble": ScheduleInterleavedZeroBubble,
        "PipelineScheduleSingle": PipelineScheduleSingle,
        "PipelineScheduleMulti": PipelineScheduleMulti,
        "ZBVZeroBubble": ScheduleZBVZeroBubble,
        "DualPipeV": ScheduleDualPipeV,
    }
    found = {name.lower(): kind for name, kind in schedules.items()}.get(schedule_name.lower())
    if found is None:
        raise ValueError(f"Unknown schedule name '{schedule_name}'. The valid options are {list(schedules)}")
    return found
