"""`DistributedDataParallel`: a module whose gradients are the mean over all processes."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

import weft
from weft import nn
from weft.distributed._collectives import all_reduce
from weft.distributed._groups import GroupMember, get_backend
from weft.distributed._reduce_ops import ReduceOp
from weft.distributed.algorithms.join import Join, Joinable, JoinHook
from weft.distributed.data_parallel.buckets import DEFAULT_BUCKET_BYTES, FIRST_BUCKET_BYTES, GradBucket
from weft.distributed.data_parallel.join_hook import DataParallelJoinHook
from weft.distributed.data_parallel.mixed_precision import MixedPrecision, cast_buffers, cast_floats, lower_precision
from weft.distributed.data_parallel.reducer import Reducer
from weft.distributed.data_parallel.synchronize import broadcast_coalesced, check_same_parameters
from weft.utils._pytree import tree_map

__all__ = ["DistributedDataParallel"]

MEBIBYTE = 1024 * 1024


class DistributedDataParallel(nn.Module, Joinable):
    """A module of which each process computes a part of the batch; gradients are the mean over all processes.

    All begin with the parameters and buffers of the first process, and their optimizers take equal steps. The
    exchange of gradients begins while the backward pass goes on. The parameters are named ``module.*``.

    Parameters
    ----------
    module : Module
        The same in all processes.
    device_ids : sequence of one int or device, optional
        The GPU on which the module is, to which inputs are moved. For a module on the CPU: None.
    output_device : int or device, optional
        Accepted; default: ``device_ids[0]``.
    dim : int
        Accepted and not used.
    broadcast_buffers : bool, optional
        The former name of ``forward_sync_buffers``; False also leaves the buffers out at the beginning.
    init_sync : bool
        Check at the beginning that all have the same parameters, and take the values of the first process.
    process_group : ProcessGroup, optional
        Default: all processes.
    bucket_cap_mb : float, optional
        MiB of gradients that are exchanged at once. Default: 25; the first bucket has 1.
    find_unused_parameters : bool
        Look in the graph of each output for parameters that take no part, and do not wait for their gradients.
    check_reduction
        Accepted and not used.
    gradient_as_bucket_view : bool
        Gradients are views of the buckets, which saves their memory and a copy; they cannot be detached in place.
    static_graph : bool
        The graph is the same in each step: unused parameters are found once, and parameters may be used in
        reentrant checkpoints several times.
    delay_all_reduce_named_params, param_to_hook_all_reduce
        Parameters ``(name, parameter)`` whose gradients are exchanged together, when that of another one is there.
    mixed_precision : MixedPrecision, optional
        The dtypes of computing, of the exchange, and of buffers.
    device_mesh : DeviceMesh, optional
        Of one dimension, in place of ``process_group``.
    skip_all_reduce_unused_params : bool
        Do not exchange buckets of unused parameters, which are then the same in all processes and steps.
    bucket_cap_mb_list : list of int, optional
        MiB of the first bucket, the second, and so on.
    batched_grad_copy
        Accepted and not used.
    forward_sync_buffers : bool, optional
        Take the buffers of the first process at each forward. Default: True.

    Shapes
    ------
    input, output : as of ``module``

    Raises
    ------
    ValueError
        If there is no process group, or ``device_ids`` has several devices.
    RuntimeError
        If no parameter requires grad, or the processes have different parameters.

    Examples
    --------
    >>> import weft.distributed as dist
    >>> dist.init_process_group("tcp", rank=0, world_size=1, store=dist.HashStore())
    >>> model = weft.nn.parallel.DistributedDataParallel(weft.nn.Linear(2, 3))
    >>> with model.no_sync():  # gradients of this pass stay here
    ...     model(weft.ones(4, 2)).sum().backward()
    >>> model(weft.ones(4, 2)).sum().backward()  # the mean of both passes' sums, over all processes
    >>> model.module.bias.grad
    tensor([8., 8., 8.])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: nn.Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Sequence[tuple[str, Any]] | None = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: MixedPrecision | None = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        self.process_group = chosen_group(process_group, device_mesh)
        self.device_mesh = device_mesh
        delayed = list(delay_all_reduce_named_params or ())
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.parameters_to_ignore.update(name for name, _ in delayed)
        self.module = module
        self._check_parameters(bool(delayed))
        self._set_devices(device_ids, output_device)
        self.dim = dim
        self.forward_sync_buffers = first_given(forward_sync_buffers, broadcast_buffers, True)
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.skip_all_reduce_unused_params = skip_all_reduce_unused_params
        self.batched_grad_copy = batched_grad_copy
        self.mixed_precision = mixed_precision
        self.bucket_bytes_cap_default = bucket_cap_mb is None
        self.bucket_bytes_cap = DEFAULT_BUCKET_BYTES if bucket_cap_mb is None else int(bucket_cap_mb * MEBIBYTE)
        self.bucket_bytes_cap_list = [int(each * MEBIBYTE) for each in bucket_cap_mb_list or ()]
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self._comm_hooks: list[tuple[Callable[..., Any], Any]] = []
        self._delayed = delayed
        if mixed_precision is not None and mixed_precision.buffer_dtype is not None:
            cast_buffers(module, mixed_precision.buffer_dtype)
        if init_sync:
            self._synchronize_module(buffers=broadcast_buffers is not False)
        self._make_reducer()
        if delayed:
            self._delay_all_reduce(param_to_hook_all_reduce)

    # Construction

    def _check_parameters(self, has_delayed: bool) -> None:
        parameters = list(self.module.parameters())
        if any(nn.parameter.is_lazy(each) for each in parameters):
            raise RuntimeError(
                "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy "
                "forward pass to correctly initialize the modules"
            )
        if not has_delayed and not any(each.requires_grad for each in parameters):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )

    def _set_devices(self, device_ids: Any, output_device: Any) -> None:
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        devices = {each.device for each in self.module.parameters()}
        types = {each.type for each in devices}
        self.is_multi_device_module = len(devices) > 1
        self.device = next(iter(self.module.parameters())).device
        self.device_type = self.device.type
        if not device_ids or "cpu" in types or self.is_multi_device_module:
            if device_ids or output_device is not None:
                raise ValueError(
                    "DistributedDataParallel device_ids and output_device arguments only work with single-device/"
                    f"multiple-device GPU modules or CPU modules, but got device_ids {device_ids}, output_device "
                    f"{output_device}, and module parameters {devices}."
                )
            self.device_ids: list[Any] | None = None
            self.output_device: Any = None
            return
        self.device_ids = [each if isinstance(each, int) else weft.device(each).index for each in device_ids]
        self.output_device = first_given(output_device, self.device_ids[0])

    def _reduced_parameters(self) -> list[tuple[str, Any]]:
        """The parameters whose gradients are exchanged, each once."""
        return [
            (name, each)
            for name, each in self.module.named_parameters()
            if each.requires_grad and name not in self.parameters_to_ignore
        ]

    def _synchronize_module(self, buffers: bool) -> None:
        """Check that all processes have the same parameters, and take the first one's values."""
        if self.process_group.size() == 1:
            return
        named = self._reduced_parameters()
        check_same_parameters([name for name, _ in named], [each for _, each in named], self.process_group)
        tensors = [each for name, each in self.module.named_parameters() if name not in self.parameters_to_ignore]
        tensors += [each for _, each in self._delayed]
        broadcast_coalesced(tensors + (self._buffers_to_sync() if buffers else []), self.process_group)

    def _buffers_to_sync(self) -> list[Any]:
        return [each for name, each in self.module.named_buffers() if name not in self.parameters_to_ignore]

    def _limits(self) -> list[int]:
        if self.bucket_bytes_cap_list:
            return self.bucket_bytes_cap_list
        return [min(FIRST_BUCKET_BYTES, self.bucket_bytes_cap), self.bucket_bytes_cap]

    def _make_reducer(self) -> None:
        named = self._reduced_parameters()
        sparse = {
            id(module.weight)
            for module in self.module.modules()
            if isinstance(module, (nn.Embedding, nn.EmbeddingBag)) and module.sparse
        }
        self.reducer = Reducer(
            [name for name, _ in named],
            [each for _, each in named],
            [id(each) in sparse for _, each in named],
            self.process_group,
            self._limits(),
            self.find_unused_parameters,
            self.gradient_as_bucket_view,
            self.static_graph,
            self.skip_all_reduce_unused_params,
            None if self.mixed_precision is None else self.mixed_precision.reduce_dtype,
        )
        for hook, state in self._comm_hooks:
            self._install_hook(state, hook)

    def _delay_all_reduce(self, trigger: Any) -> None:
        """Exchange the gradients of the delayed parameters when that of ``trigger`` is there."""
        if trigger is None:
            raise ValueError("param_to_hook_all_reduce is needed with delay_all_reduce_named_params")
        group, parameters = self.process_group, [each for _, each in self._delayed]

        def exchange(_: Any) -> None:
            flat = weft.cat([zeros_or_grad(each).reshape(-1) for each in parameters]) / group.size()
            all_reduce(flat, group=group)
            for each, part in zip(parameters, flat.split([each.numel() for each in parameters])):
                each.grad = part.view_as(each)

        trigger.register_post_accumulate_grad_hook(exchange)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name in ("process_group", "reducer", "device_mesh"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = chosen_group(None, None)
        self.device_mesh = None
        self.require_forward_param_sync = self.require_backward_grad_sync = True
        self._make_reducer()

    # Steps

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module, and expect a backward pass from its outputs if gradients are on."""
        inputs, kwargs = self._pre_forward(*inputs, **kwargs)
        if self.mixed_precision is None or self.mixed_precision.param_dtype is None:
            output = self.module(*inputs, **kwargs)
        else:
            dtype = self.mixed_precision.param_dtype
            with lower_precision(self.module, dtype):
                output = self.module(*cast_floats(inputs, dtype), **cast_floats(kwargs, dtype))
        return self._post_forward(output)

    def _pre_forward(self, *inputs: Any, **kwargs: Any) -> tuple[Any, Any]:
        if weft.is_grad_enabled() and self.require_backward_grad_sync:
            self.reducer.prepare_for_forward()
        if self._join_config.enable:
            self._tell_joined()
        elif weft.is_grad_enabled():
            self.reducer._rebuild_buckets()
        self._synchronize_buffers()
        if self.device_ids:
            move = lambda leaf: leaf.to(self.device) if isinstance(leaf, weft.Tensor) else leaf  # noqa: E731
            inputs, kwargs = tree_map(move, (inputs, kwargs))
        return inputs, kwargs

    def _post_forward(self, output: Any) -> Any:
        if weft.is_grad_enabled() and self.require_backward_grad_sync:
            self.require_forward_param_sync = True
            self.reducer.prepare_for_backward(tensors_in(output) if self.reducer.wants_outputs else [])
        else:
            self.require_forward_param_sync = False
        return output

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward takes the first process's buffers."""
        return bool(
            self.process_group.size() > 1
            and self.require_forward_param_sync
            and self.forward_sync_buffers
            and self._buffers_to_sync()
        )

    def _synchronize_buffers(self) -> None:
        if self.will_sync_module_buffers():
            root = self._common_rank(is_joined=False) if self._join_config.enable else 0
            broadcast_coalesced(self._buffers_to_sync(), self.process_group, root)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients of forwards in this context stay in this process, and add up."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @property
    def broadcast_buffers(self) -> bool:
        """The former name of ``forward_sync_buffers``."""
        return bool(self.forward_sync_buffers)

    @broadcast_buffers.setter
    def broadcast_buffers(self, value: bool) -> None:
        self.forward_sync_buffers = value

    # Communication hooks

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Have a function exchange the gradients.

        Parameters
        ----------
        state : object
            What the hook gets first: a process group, or what it keeps between steps.
        hook : callable
            ``hook(state, bucket)`` gets a `GradBucket` and returns a `weft.futures.Future` of the tensor that takes the
            place of its gradients. It divides by the number of processes itself.

        Raises
        ------
        RuntimeError
            If there is one already.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._comm_hooks:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        bucket = inspect.signature(hook).parameters.get("bucket")
        if bucket is not None and bucket.annotation not in (inspect.Parameter.empty, GradBucket, "GradBucket"):
            if not str(bucket.annotation).endswith("GradBucket"):
                raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
        self._comm_hooks.append((hook, state))
        self._install_hook(state, hook)

    def _install_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        self.reducer.hook, self.reducer.hook_state = hook, state
        self.reducer.watch_gradients()

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        from weft.distributed.algorithms.ddp_comm_hooks import default_hooks  # which import this package

        named = {"ALLREDUCE": default_hooks.allreduce_hook, "FP16_COMPRESS": default_hooks.fp16_compress_hook}
        self.register_comm_hook(self.process_group, named[comm_hook_type.name])

    def _set_static_graph(self) -> None:
        """Say that the graph is the same in each step."""
        self.static_graph = self.reducer.is_static = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Return what is known of the exchange of gradients."""
        parameters = self.reducer.parameters
        return {
            "world_size": self.process_group.size(),
            "rank": self.process_group.rank(),
            "module_name": type(self.module).__name__,
            "backend_name": str(get_backend(self.process_group)),
            "device_ids": " ".join(map(str, self.device_ids or ())),
            "output_device": -1 if self.output_device is None else self.output_device,
            "broadcast_buffers": int(self.broadcast_buffers),
            "bucket_cap_bytes": self.bucket_bytes_cap,
            "bucket_sizes": ", ".join(str(bucket.size) for bucket in self.reducer.buckets),
            "dtypes": ", ".join(sorted({str(each.dtype).rpartition(".")[2] for each in parameters})),
            "num_parameter_tensors": len(parameters),
            "total_parameter_size_bytes": sum(each.numel() * each.element_size() for each in parameters),
            "find_unused_parameters": int(self.find_unused_parameters),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view),
            "static_graph": int(self.static_graph),
            "has_rebuilt_buckets": int(self.reducer.has_rebuilt),
            "has_sync_bn": int(any(isinstance(each, nn.SyncBatchNorm) for each in self.module.modules())),
            "is_multi_device_module": int(self.is_multi_device_module),
            "iteration": self.reducer.iterations,
            "comm_hook": getattr(self.reducer.hook, "__qualname__", ""),
            "master_addr": os.environ.get("MASTER_ADDR", "N/A"),
            "master_port": os.environ.get("MASTER_PORT", "N/A"),
        }

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: nn.Module, params_and_buffers_to_ignore: Any) -> None:
        """Name parameters and buffers of a module that `DistributedDataParallel` leaves alone."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    # Uneven inputs

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """Return a context for training on inputs of different number in each process.

        Parameters
        ----------
        divide_by_initial_world_size : bool
            Divide gradients by the number of all processes; False: of those that still have inputs.
        enable, throw_on_early_termination : bool
            As in `weft.distributed.algorithms.join.Join`.
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what this module does without inputs while other processes go on."""
        self._divides_by_all = kwargs.get("divide_by_initial_world_size", True)
        return DataParallelJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the module."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The processes that take the mean of gradients."""
        return self.process_group

    def _tell_joined(self) -> None:
        """Say in a `Join` context that this process goes on, and whether gradients will be exchanged."""
        work = Join.notify_join_context(self)
        if work is not None:
            work.wait()
            going_on = int(work.result()[0].item())
            self.reducer.divisor = self.process_group.size() if self._divides_by_all else going_on
        self._count_exchanges(weft.is_grad_enabled() and self.require_backward_grad_sync)

    def _count_exchanges(self, wanted: bool) -> bool:
        """Whether the processes that go on will exchange the gradients of this step."""
        count = weft.tensor([float(wanted)], device=self.device)
        all_reduce(count, group=self.process_group)
        return bool(count.item() > 0)

    def _common_rank(self, is_joined: bool) -> int:
        """The rank of a process that still has inputs: the largest."""
        rank = weft.tensor([-1 if is_joined else self.process_group.rank()], device=self.device)
        all_reduce(rank, ReduceOp.MAX, group=self.process_group)
        return int(rank.item())


DistributedDataParallel.__module__ = "weft.nn.parallel.distributed"  # where programs, and pickles, find it


def chosen_group(process_group: Any, device_mesh: Any) -> Any:
    """The processes that take the mean of gradients.

    Raises
    ------
    ValueError
        If `init_process_group` was not called.
    RuntimeError
        If both are given, or a mesh of several dimensions.
    """
    if process_group is not None and device_mesh is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if device_mesh is not None:
        if device_mesh.ndim != 1:
            raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
        return device_mesh.get_group(mesh_dim=0)
    if process_group is not None:
        return process_group
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return GroupMember.WORLD


def first_given(*values: Any) -> Any:
    """The first value that is not None."""
    return next(value for value in values if value is not None)


def zeros_or_grad(parameter: Any) -> Any:
    """The gradient of a parameter, or zeros where there is none."""
    return weft.zeros_like(parameter) if parameter.grad is None else parameter.grad


def tensors_in(value: Any) -> list[Any]:
    """The tensors in nested containers: sequences, mappings and dataclasses."""
    if isinstance(value, weft.Tensor):
        return [value]
    if is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, field.name) for field in fields(value)]
    elif isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, set)):
        return [found for each in value for found in tensors_in(each)]
    return []
