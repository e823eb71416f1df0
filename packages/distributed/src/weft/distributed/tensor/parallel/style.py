"""How a module is divided: which of its parameters, and what goes in and out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import weft
from weft.distributed.device_mesh import DeviceMesh
from weft.distributed.tensor import DTensor, Placement, Replicate, Shard, distribute_module, distribute_tensor

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
]


class ParallelStyle(ABC):
    """Base of the styles: `_apply` divides a module among the processes of a mesh."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any: ...

    def _parameter(self, module: Any, name: str, param: Any, mesh: DeviceMesh, placement: Placement) -> None:
        """Divide a parameter."""
        made = distribute_tensor(param.detach(), mesh, [placement], src_data_rank=self.src_data_rank)
        module.register_parameter(name, weft.nn.Parameter(made, requires_grad=param.requires_grad))


def brought(tensor: Any, mesh: DeviceMesh, now: Any, then: Any) -> Any:
    """A tensor as a DTensor of some placements; a plain one is a part of one with the placements ``now``."""
    if not isinstance(tensor, DTensor):
        tensor = DTensor.from_local(tensor, mesh, now, run_check=False)
    return tensor if tensor.placements == tuple(then) else tensor.redistribute(placements=then, async_op=True)


class Layouts(ParallelStyle):
    """A layer that takes one tensor and returns one.

    Attributes
    ----------
    input_layouts, desired_input_layouts, output_layouts : tuple of Placement
    use_local_output : bool
    """

    input_layouts: tuple[Any, ...]
    output_layouts: tuple[Any, ...]
    desired_input_layouts: tuple[Any, ...]
    use_local_output: bool

    def _partition(self, name: str, module: Any, mesh: DeviceMesh) -> None:
        raise NotImplementedError

    def _prepare_input(self, module: Any, inputs: Any, mesh: DeviceMesh) -> Any:
        return brought(inputs[0], mesh, self.input_layouts, self.desired_input_layouts)

    def _prepare_output(self, module: Any, outputs: Any, mesh: DeviceMesh) -> Any:
        if isinstance(outputs, DTensor) and outputs.placements != self.output_layouts:
            outputs = outputs.redistribute(placements=self.output_layouts, async_op=True)
        return outputs.to_local() if self.use_local_output else outputs

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any:
        return distribute_module(module, device_mesh, self._partition, self._prepare_input, self._prepare_output)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(input_layouts={self.input_layouts}, output_layouts={self.output_layouts}, "
            f"use_local_output={self.use_local_output})"
        )


class ColwiseParallel(Layouts):
    """A linear layer whose outputs are divided among the processes, or an embedding whose columns are.

    Parameters
    ----------
    input_layouts : Placement
        Of what it is called with. Default: `Replicate`.
    output_layouts : Placement
        Of what it returns. Default: divided along the last dimension.
    use_local_output : bool
        Return parts as plain tensors.
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts = (input_layouts or Replicate(),)
        self.output_layouts = (output_layouts or Shard(-1),)
        self.desired_input_layouts = (Replicate(),)
        self.use_local_output = use_local_output

    def _partition(self, name: str, module: Any, mesh: DeviceMesh) -> None:
        dim = 1 if isinstance(module, weft.nn.Embedding) else 0
        for key, param in list(module.named_parameters(recurse=False)):
            self._parameter(module, key, param, mesh, Shard(dim))

    def _prepare_output(self, module: Any, outputs: Any, mesh: DeviceMesh) -> Any:
        last = outputs.ndim - 1
        wanted = tuple(Shard(last) if each == Shard(-1) else each for each in self.output_layouts)
        if outputs.placements != wanted:
            outputs = outputs.redistribute(placements=wanted, async_op=True)
        return outputs.to_local() if self.use_local_output else outputs

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any:
        if not isinstance(module, (weft.nn.Linear, weft.nn.Embedding)):
            raise NotImplementedError("ColwiseParallel currently only support nn.Linear and nn.Embedding!")
        return super()._apply(module, device_mesh)


class RowwiseParallel(Layouts):
    """A linear layer whose inputs are divided among the processes, or an embedding whose rows are.

    Parameters
    ----------
    input_layouts : Placement
        Of what it is called with. Default: divided along the last dimension.
    output_layouts : Placement
        Of what it returns. Default: `Replicate`.
    use_local_output : bool
        Return parts as plain tensors.
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts = (input_layouts or Shard(-1),)
        self.output_layouts = (output_layouts or Replicate(),)
        self.desired_input_layouts = (Shard(-1),)
        self.use_local_output = use_local_output

    def _partition(self, name: str, module: Any, mesh: DeviceMesh) -> None:
        is_linear = isinstance(module, weft.nn.Linear)
        for key, param in list(module.named_parameters(recurse=False)):
            placement = Replicate() if key == "bias" else Shard(1 if is_linear else 0)
            self._parameter(module, key, param, mesh, placement)

    def _prepare_input(self, module: Any, inputs: Any, mesh: DeviceMesh) -> Any:
        tensor = inputs[0]
        wanted = Shard(tensor.ndim - 1) if self.desired_input_layouts == (Shard(-1),) else self.desired_input_layouts[0]
        return brought(tensor, mesh, self.input_layouts, (wanted,))

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any:
        if isinstance(module, weft.nn.Embedding):
            self.desired_input_layouts = (Replicate(),)
        elif not isinstance(module, weft.nn.Linear):
            raise NotImplementedError("RowwiseParallel currently only support nn.Linear and nn.Embedding!")
        return super()._apply(module, device_mesh)


class SequenceParallel(Layouts):
    """A layer that works on each position by itself (norms, dropout), and whose tensors are divided along the sequence.

    Parameters
    ----------
    sequence_dim : int
    use_local_output : bool
        Return parts as plain tensors.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding = (Shard(sequence_dim),)
        self.input_layouts = self.output_layouts = self.desired_input_layouts = self.sequence_sharding
        self.use_local_output = use_local_output

    def _partition(self, name: str, module: Any, mesh: DeviceMesh) -> None:
        for key, param in list(module.named_parameters(recurse=False)):
            made = DTensor.from_local(param.detach(), mesh, [Replicate()], run_check=False)
            module.register_parameter(key, weft.nn.Parameter(made, requires_grad=param.requires_grad))

    def _prepare_input(self, module: Any, inputs: Any, mesh: DeviceMesh) -> Any:
        tensor = inputs[0]
        if not isinstance(tensor, (DTensor, weft.Tensor)):
            raise ValueError(f"expecting input of {module} to be a torch.Tensor or DTensor, but got {tensor}")
        return brought(tensor, mesh, self.sequence_sharding, self.sequence_sharding)

    def _prepare_output(self, module: Any, outputs: Any, mesh: DeviceMesh) -> Any:
        return outputs.to_local() if self.use_local_output else outputs


def as_tuple(value: Any) -> tuple[Any, ...] | None:
    return value if value is None else (value,) if isinstance(value, Placement) else tuple(value)


class Converter:
    """Brings some of several values from one placement to another.

    Raises
    ------
    ValueError
        If there are not as many placements as values.
    """

    def __init__(self, what: str, now: tuple[Any, ...], then: tuple[Any, ...], to_local: bool) -> None:
        if len(now) != len(then):
            raise ValueError(f"{what}_layouts and desired_{what}_layouts should have same length!")
        self.what, self.now, self.then, self.to_local = what, now, then, to_local

    def __call__(self, values: Any, mesh: DeviceMesh) -> Any:
        several = values if isinstance(values, tuple) else (values,)
        if len(several) != len(self.now):
            raise ValueError(f"module {self.what}s and {self.what}_layouts should have same length!")
        made = tuple(converted(*each, mesh, self.to_local) for each in zip(several, self.now, self.then))
        return made if isinstance(values, tuple) else made[0]


def converted(value: Any, now: Any, then: Any, mesh: DeviceMesh, to_local: bool) -> Any:
    """A value with another placement; as it is, where there is no placement for it."""
    if now is None or not isinstance(value, weft.Tensor):
        return value
    made = value if isinstance(value, DTensor) else DTensor.from_local(value, mesh, (now,), run_check=False)
    if then is not None and made.placements != (then,):
        made = made.redistribute(placements=(then,))
    return made.to_local() if to_local else made


class PrepareModuleInput(ParallelStyle):
    """Brings what a module is called with from one placement to another.

    Parameters
    ----------
    input_layouts, desired_input_layouts : Placement or tuple of them
        Of positional arguments; None for those that are left alone.
    input_kwarg_layouts, desired_input_kwarg_layouts : dict of Placement
        Of named arguments.
    use_local_output : bool
        Call the module with parts as plain tensors.
    """

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = as_tuple(input_layouts)
        self.desired_input_layouts = as_tuple(desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        if self.input_kwarg_layouts.keys() != self.desired_input_kwarg_layouts.keys():
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have same length!")

    def _prepare(self, module: Any, args: Any, kwargs: Any, mesh: DeviceMesh) -> Any:
        if self.input_layouts is not None:
            then = self.desired_input_layouts or ()
            args = Converter("input", self.input_layouts, then, self.use_local_output)(tuple(args), mesh)
        named = {
            name: converted(
                value,
                self.input_kwarg_layouts.get(name),
                self.desired_input_kwarg_layouts.get(name),
                mesh,
                self.use_local_output,
            )
            for name, value in kwargs.items()
        }
        return args, named

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any:
        module.register_forward_pre_hook(partial(self._prepare, mesh=device_mesh), with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Brings what a module returns from one placement to another.

    Parameters
    ----------
    output_layouts, desired_output_layouts : Placement or tuple of them
        None for what is left alone.
    use_local_output : bool
        Return parts as plain tensors.
    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts = as_tuple(output_layouts) or ()
        self.desired_output_layouts = as_tuple(desired_output_layouts) or ()
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _prepare(self, module: Any, args: Any, outputs: Any, mesh: DeviceMesh) -> Any:
        return Converter("output", self.output_layouts, self.desired_output_layouts, self.use_local_output)(
            outputs, mesh
        )

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any:
        module.register_forward_hook(partial(self._prepare, mesh=device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """`PrepareModuleInput` and `PrepareModuleOutput` of one module."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Any,
        desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
