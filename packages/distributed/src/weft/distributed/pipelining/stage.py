"""A stage: a part of a model, and what it keeps of each microbatch between forward and backward."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import weft
from weft import nn
from weft.distributed import distributed_c10d as dist
from weft.distributed.pipelining._utils import as_tuple

__all__ = ["PipelineStage", "build_stage"]


class _PipelineStageBase:
    """See `PipelineStage`."""

    def __init__(
        self,
        submodule: nn.Module,
        stage_index: int,
        num_stages: int,
        device: Any,
        group: Any = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None,
    ) -> None:
        if stage_index >= num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.submod = submodule
        self.stage_index, self.num_stages = stage_index, num_stages
        self.device = weft.device(device)
        self.group = group
        self.dw_builder = dw_builder
        self.group_rank, self.group_size = dist.get_rank(group), dist.get_world_size(group)
        if self.group_size > num_stages:
            raise RuntimeError(
                f"Pipeline group size {self.group_size} cannot be larger than number of stages {num_stages}"
            )
        self.has_backward = False
        self.clear_runtime_states()

    @property
    def is_first(self) -> bool:
        """Whether the program gives this stage its inputs."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether this stage's outputs are the model's."""
        return self.stage_index == self.num_stages - 1

    def clear_runtime_states(self) -> None:
        """Forget all microbatches."""
        self.output_chunks: list[Any] = []
        self._inputs: dict[int, list[Any]] = {}
        self._outputs: dict[int, list[Any]] = {}
        self._waiting: dict[int, Any] = {}  # what is left of a backward when the inputs' gradients are known

    def forward_one_chunk(
        self, fwd_chunk_id: int, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> tuple[Any, ...]:
        """Compute a microbatch, and keep what its backward needs.

        Parameters
        ----------
        fwd_chunk_id : int
            The microbatch.
        args : tuple
            Of the first stage the program's arguments, of others what the stage before gave.
        kwargs : dict, optional
            The program's.

        Returns
        -------
        tuple of Tensor

        Raises
        ------
        RuntimeError
            If the module fails; the message names the stage and the shapes it got.
        """
        try:
            with self._without_synchronization():
                output = self.submod(*args, **(kwargs or {}))
        except Exception as error:
            shapes = [tuple(each.shape) if isinstance(each, weft.Tensor) else each for each in args]
            raise RuntimeError(
                f"Stage {self.stage_index} failed to run forward of microbatch {fwd_chunk_id}, args: {shapes}: {error}"
            ) from error
        outputs = as_tuple(output)
        if self.is_last:
            self.output_chunks.append(output)
        elif not all(isinstance(each, weft.Tensor) for each in outputs):
            kinds = [type(each).__name__ for each in outputs]
            raise TypeError(f"stage {self.stage_index} must return a tensor or a tuple of tensors, got {kinds}")
        if self.has_backward:
            self._inputs[fwd_chunk_id] = [each for each in args if isinstance(each, weft.Tensor)]
            self._outputs[fwd_chunk_id] = list(outputs)
        return outputs

    def backward_one_chunk(
        self,
        bwd_chunk_id: int,
        loss: Any = None,
        output_grads: list[Any] | None = None,
        full_backward: bool = True,
        last_backward: bool = False,
    ) -> list[Any]:
        """Compute a microbatch's gradients, and return those of the inputs that require one.

        Parameters
        ----------
        bwd_chunk_id : int
            The microbatch.
        loss : Tensor, optional
            Of the last stage.
        output_grads : list of Tensor, optional
            Of other stages: for each output that requires a gradient.
        full_backward : bool, default True
            False leaves the weights' gradients to `backward_weight_one_chunk`.
        last_backward : bool, default False
            No other follows in this step: gradients are reduced over data-parallel processes.
        """
        inputs = [each for each in self._inputs.pop(bwd_chunk_id) if each.requires_grad and not self.is_first]
        outputs = self._outputs.pop(bwd_chunk_id)
        roots = [loss] if self.is_last else [each for each in outputs if each.requires_grad]
        grads = [None] if self.is_last else output_grads
        if full_backward or not self._can_split() or not inputs:
            if not full_backward and self._can_split():
                self._waiting[bwd_chunk_id] = roots, grads
                return []
            return self._backward(roots, grads, inputs, last_backward)
        given = weft.autograd.grad(roots, inputs, grads, retain_graph=True, allow_unused=True)
        self._waiting[bwd_chunk_id] = roots, grads
        return [weft.zeros_like(each) if grad is None else grad for each, grad in zip(inputs, given)]

    def backward_weight_one_chunk(self, bwd_chunk_id: int, last_backward: bool = False) -> None:
        """Compute the weights' gradients of a microbatch whose inputs' gradients are known."""
        if self.dw_builder is not None:
            self.dw_builder()()
            return
        if bwd_chunk_id not in self._waiting:
            return
        roots, grads = self._waiting.pop(bwd_chunk_id)
        weights = [each for each in self.submod.parameters() if each.requires_grad]
        if roots and weights:
            weft.autograd.backward(roots, grads, inputs=weights)

    def _backward(self, roots: list[Any], grads: Any, inputs: list[Any], last_backward: bool) -> list[Any]:
        self._synchronize_at(last_backward)
        with self._without_synchronization():
            if roots:
                weft.autograd.backward(roots, grads)
        found = [weft.zeros_like(each) if each.grad is None else each.grad for each in inputs]
        for each in inputs:
            each.grad = None
        return found

    def _can_split(self) -> bool:
        """Whether inputs and weights may have backwards of their own: not where hooks of a wrapper wait for them."""
        return self.dw_builder is None and not self._is_data_parallel() and not self._is_fully_sharded()

    def _is_data_parallel(self) -> bool:
        return isinstance(self.submod, nn.parallel.DistributedDataParallel)

    def _is_fully_sharded(self) -> bool:
        return hasattr(self.submod, "set_requires_gradient_sync")

    def _without_synchronization(self) -> Any:
        """Gradients of data-parallel processes are reduced once a step, by `perform_reduce_grad`."""
        return self.submod.no_sync() if self._is_data_parallel() else contextlib.nullcontext()

    def _synchronize_at(self, last_backward: bool) -> None:
        """A fully sharded module reduces its gradients in the last backward of a step."""
        if self._is_fully_sharded():
            self.submod.set_is_last_backward(last_backward)
            self.submod.set_reshard_after_backward(last_backward)
            self.submod.set_requires_gradient_sync(last_backward)

    def scale_grads(self, grad_scale_factor: int) -> None:
        """Divide all gradients by a number."""
        if grad_scale_factor != 1:
            for parameter in self.submod.parameters():
                if parameter.grad is not None:
                    parameter.grad.div_(grad_scale_factor)

    def perform_reduce_grad(self, grad_scale_factor: int) -> None:
        """Average the gradients over the data-parallel processes, and divide them."""
        if self._is_data_parallel():
            grads = [each.grad for each in self.submod.parameters() if each.grad is not None]
            group = self.submod.process_group
            for dtype in {each.dtype for each in grads}:
                alike = [each for each in grads if each.dtype == dtype]
                flat = weft.cat([each.reshape(-1) for each in alike])
                dist.all_reduce(flat, group=group)
                flat.div_(dist.get_world_size(group))
                for each, part in zip(alike, flat.split([each.numel() for each in alike])):
                    each.copy_(part.view_as(each))
        self.scale_grads(grad_scale_factor)


class PipelineStage(_PipelineStageBase):
    """A part of a model that this process computes.

    What stages send each other is described in the first step, so that no shapes need to be given.

    Parameters
    ----------
    submodule : Module
        Takes what the stage before returns: a tensor or several; the first one what the program gives.
    stage_index : int
    num_stages : int
    device : device
        Where the submodule is.
    input_args, output_args, output_grads, input_grads : optional
        As PyTorch has them, for shapes; without effect.
    group : ProcessGroup, optional
        The processes of the pipeline. Default: all.
    dw_builder : callable, optional
        Returns the function that computes the weights' gradients of the last backward, for modules that put it off.
    get_mesh : callable, optional
        As PyTorch has it; without effect.

    Raises
    ------
    ValueError
        If there is no such stage.
    """

    def __init__(
        self,
        submodule: nn.Module,
        stage_index: int,
        num_stages: int,
        device: Any,
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: Any = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None,
        get_mesh: Any = None,
    ) -> None:
        super().__init__(submodule, stage_index, num_stages, device, group, dw_builder)


def build_stage(
    stage_module: nn.Module, stage_index: int, pipe_info: Any, device: Any, group: Any = None
) -> PipelineStage:
    """Return the stage of a module that `pipeline` has cut out.

    Parameters
    ----------
    stage_module : Module
    stage_index : int
    pipe_info : PipeInfo
        ``Pipe.info()``.
    device : device
        The module is moved there.
    group : ProcessGroup, optional
    """
    return PipelineStage(stage_module.to(device), stage_index, pipe_info.num_stages, device, group=group)
