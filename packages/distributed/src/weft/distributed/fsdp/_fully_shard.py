"""`fully_shard` and its options."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import weft
from weft.distributed import distributed_c10d as c10d
from weft.distributed.device_mesh import DeviceMesh, init_device_mesh
from weft.distributed.fsdp._unit import MeshInfo, Unit
from weft.distributed.tensor import DTensor
from weft.utils._pytree import tree_flatten, tree_map

__all__ = [
    "CPUOffloadPolicy",
    "DataParallelMeshDims",
    "FSDPModule",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
    "share_comm_ctx",
]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of computation, of gradients' reduction and of outputs.

    Attributes
    ----------
    param_dtype : dtype, optional
        Of the gathered parameters, and of the gradients.
    reduce_dtype : dtype, optional
        In which gradients are reduced. Default: ``param_dtype``.
    output_dtype : dtype, optional
        Floating-point results of the module are converted to it.
    cast_forward_inputs : bool
        Convert floating-point arguments of the module to ``param_dtype``.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters stay where they are."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parts of parameters, their gradients and the optimizer's state rest in the memory of the CPU."""

    pin_memory: bool = True


NO_MIXED_PRECISION, NO_OFFLOAD = MixedPrecisionPolicy(), OffloadPolicy()


@dataclass(frozen=True)
class DataParallelMeshDims:
    """The names of the dims of a mesh that shard, and that replicate."""

    shard: Any = None
    replicate: Any = None


class State:
    """What `fully_shard` keeps of a module, or of several that are one unit."""

    def __init__(
        self, modules: Sequence[Any], info: MeshInfo, policy: MixedPrecisionPolicy, reshards: bool | None
    ) -> None:
        self.modules = list(modules)
        self.info, self.policy = info, policy
        self.reshards_after_forward = reshards
        self.unit: Unit
        self.root: State | None = None
        self.states: list[State] = []  # of the root: all of them, in the order of modules
        self.order: list[State] = []  # of the root: in the order of the forward pass
        self.running: set[int] = set()  # the modules that this forward pass has come to
        self.finished: set[int] = set()
        self.forward_prefetch: list[Any] = []
        self.backward_prefetch: list[Any] = []
        self.has_callback = False  # of the root
        self.unshards_in_backward = True
        self.is_last_backward = True

    # Hooks

    def find_root(self) -> None:
        """Let the outermost module that is called first be the root."""
        if self.root is not None:
            return
        found: list[State] = []
        for module in self.modules:
            for each in module.modules():
                state = getattr(each, "_fsdp_state", None)
                if state is not None and state not in found:
                    found.append(state)
        for state in found:
            if state.root is not None and state is not self:
                state.states, state.order = [], []
            state.root = self
        self.states = found
        if self.reshards_after_forward is None:
            self.reshards_after_forward = False

    def before_forward(self, module: Any, args: Any, kwargs: Any) -> Any:
        self.find_root()
        assert self.root is not None
        is_first = not self.running or id(module) in self.running  # a pass that was left early does not count
        if is_first:
            self.running, self.finished = set(), set()
        self.running.add(id(module))
        if is_first:
            if not self.unit.in_backward:  # else a checkpoint computes the module again
                if self is self.root:
                    self.order = []
                self.root.order.append(self)
            self.unit.unshard()
            for other in self.forward_prefetch if not self.unit.in_backward else ():
                other._fsdp_state.unit.gather()
        dtype = self.policy.param_dtype
        if dtype is not None and self.policy.cast_forward_inputs:
            with weft.profiler.record_function("FSDP::cast_forward_inputs"):
                args, kwargs = tree_map(functools.partial(cast, dtype), (args, kwargs))
        return args, kwargs

    def after_forward(self, module: Any, args: Any, output: Any) -> Any:
        self.finished.add(id(module))
        is_last = len(self.finished) == len(self.modules)
        if is_last:
            self.running = set()
        if self.policy.output_dtype is not None:
            output = tree_map(functools.partial(cast, self.policy.output_dtype), output)
        if weft.is_grad_enabled():
            for each in tree_flatten(output)[0]:
                if isinstance(each, weft.Tensor) and each.requires_grad:
                    each.register_hook(self.before_backward)
        if is_last and self.reshards_after_forward is not False and not self.unit.in_backward:
            self.unit.reshard()
        return output

    def before_backward(self, grad: Any) -> Any:
        root = self.root
        assert root is not None
        if not root.has_callback:
            root.has_callback = True
            weft.autograd.Variable._execution_engine.queue_callback(root.after_backward)
        if not self.unit.in_backward:
            self.unit.in_backward = True
            if self.unshards_in_backward:
                self.unit.unshard()
            for other in self.following(root):
                other.unit.gather()
        return grad

    def following(self, root: State) -> list[State]:
        """Those whose parameters are gathered while this one computes its gradients."""
        if self.backward_prefetch:
            return [each._fsdp_state for each in self.backward_prefetch]
        if (
            self.info.device.type == "cpu" or self not in root.order
        ):  # one processor does both: it would cost memory only
            return []
        position = root.order.index(self)
        return [
            each for each in root.order[max(position - 1, 0) : position] if each.reshards_after_forward is not False
        ]

    def after_backward(self) -> None:
        """End the backward pass, of the root."""
        self.has_callback = False
        for state in self.states:
            state.running = set()
            state.unit.finish()


def cast(dtype: Any, value: Any) -> Any:
    """A floating-point tensor in a dtype."""
    if isinstance(value, weft.Tensor) and value.is_floating_point() and value.dtype != dtype:
        return value.to(dtype)
    return value


class UnshardHandle:
    """What `FSDPModule.unshard` returns with ``async_op=True``."""

    def __init__(self, unit: Unit | None = None) -> None:
        self._unit = unit

    def wait(self) -> None:
        """Return when the parameters are there."""
        if self._unit is not None:
            self._unit.unshard()
            self._unit = None


class FSDPModule:
    """What `fully_shard` adds to a module: it becomes an object of a class that is of both."""

    _fsdp_state: State

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a module of the class without `fully_shard`: containers make parts of themselves."""
        original = cls.__mro__[2]
        made = original.__new__(original, *args, **kwargs)
        made.__init__(*args, **kwargs)  # type: ignore[misc]
        return made

    def _get_fsdp_state(self) -> State:
        return self._fsdp_state

    def _each_state(self, recurse: bool = True) -> Iterator[State]:
        """The states of this module, and of those in it."""
        for module in self.modules() if recurse else [self]:  # type: ignore[attr-defined]
            if isinstance(module, FSDPModule):
                yield module._fsdp_state

    def reshard(self) -> None:
        """Let go of the whole parameters of this module's unit."""
        self._fsdp_state.unit.reshard()

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the parameters of this module's unit; with ``async_op`` when the result's `wait` returns."""
        unit = self._fsdp_state.unit
        if async_op:
            unit.gather()
            return UnshardHandle(unit)
        unit.unshard()
        return None

    def reset_iter_state(self) -> None:
        """Forget a forward or backward pass that was not finished."""
        for state in self._each_state():
            state.running, state.has_callback, state.unit.in_backward = set(), False, False
            state.unit.reshard()

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Say whether other backward passes of the same step follow, whose gradients are added."""
        self._fsdp_state.is_last_backward = is_last_backward

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Say whether gradients are reduced; if not, each process adds up its own, of whole parameters."""
        for state in self._each_state(recurse):
            state.unit.requires_sync = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Say whether reduced gradients are also reduced among replicas, of a mesh of two dims."""
        for state in self._each_state(recurse):
            state.unit.requires_all_reduce = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Say whether whole parameters are let go after the forward pass."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}")
        for state in self._each_state(recurse):
            state.reshards_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Say whether whole parameters are let go after the backward pass."""
        for state in self._each_state(recurse):
            state.unit.reshards_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Gather the parameters of some modules while this one computes."""
        check_modules(modules)
        self._fsdp_state.forward_prefetch = list(modules)

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Gather the parameters of some modules while this one computes its gradients."""
        check_modules(modules)
        self._fsdp_state.backward_prefetch = list(modules)

    def set_all_reduce_hook(self, hook: Callable[[Any], None], *, stream: Any = None) -> None:
        """Call a function with each reduced gradient."""
        for state in self._each_state():
            state.unit.all_reduce_hook = hook

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide sums of gradients by this, in place of the number of processes."""
        self._fsdp_state.unit.divide_factor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Say whether parameters are gathered for the backward pass: one that does not need them goes without."""
        self._fsdp_state.unshards_in_backward = unshard_in_backward

    def set_post_optim_event(self, event: Any) -> None:
        """Accepted: collectives wait for the stream that the optimizer ran on."""

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Accepted: means are sums that are divided."""

    def set_allocate_memory_from_process_group_for_comm(self, enable: bool) -> None:
        """Accepted: engines have no memory of their own."""

    def set_separate_reduce_scatter_group(self, enable: bool = True, *, recurse: bool = True) -> None:
        """Accepted: collectives of a group run one after the other."""

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        for state in self._each_state():
            state.unit.reshard()
        result = super()._apply(*args, **kwargs)  # type: ignore[misc]
        for state in self._each_state():
            for each in state.unit.params:
                each.adopt()
        return result


def check_modules(modules: Any) -> None:
    """Raise ValueError unless `fully_shard` has been applied to all."""
    if not isinstance(modules, (list, tuple)) or not all(isinstance(each, FSDPModule) for each in modules):
        raise ValueError(f"All modules must be FSDP modules, got {modules}")


classes: dict[type, type] = {}


def class_of(module: Any) -> type:
    """The class of a module, with `FSDPModule`."""
    cls = type(module)
    if cls not in classes:
        classes[cls] = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {"__deepcopy__": refuse_copy})
        classes[cls].__module__ = cls.__module__
    return classes[cls]


def refuse_copy(*args: Any) -> Any:
    raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Any], Any] | None = None,
    mp_policy: MixedPrecisionPolicy = NO_MIXED_PRECISION,
    offload_policy: OffloadPolicy = NO_OFFLOAD,
    ignored_params: set[Any] | None = None,
    dp_mesh_dims: DataParallelMeshDims | None = None,
) -> Any:
    """Divide a module's parameters among processes, and gather them when the module is used.

    Parameters
    ----------
    module : Module or list of them
        Changed in place. Its parameters that are not in a module to which this has been applied before are one unit:
        apply it to the layers first, and to the whole last.
    mesh : DeviceMesh, optional
        Of one dim, or of two, the first of which replicates. Default: all processes.
    reshard_after_forward : bool or int, optional
        Let go of the whole parameters after the forward pass, and gather them again for the backward pass. Default:
        True, but for the root. A number of processes that keep them together counts as True.
    shard_placement_fn : callable, optional
        Takes a parameter and returns the `Shard` that divides it, or None for the first dimension.
    mp_policy : MixedPrecisionPolicy
    offload_policy : OffloadPolicy
    ignored_params : set of Parameter, optional
        Left as they are, and their gradients too.
    dp_mesh_dims : DataParallelMeshDims, optional
        The dims of a mesh that are used.

    Returns
    -------
    FSDPModule
        The same module, whose class is now also `FSDPModule`.

    Raises
    ------
    ValueError
        If it was applied to the module before, or to a container without a forward, or the mesh has more dims.

    Notes
    -----
    All processes have to have the same parameters at first: each keeps its part of its own.

    Examples
    --------
    >>> from weft.distributed.fsdp import fully_shard
    >>> model = weft.nn.Sequential(weft.nn.Linear(4, 8), weft.nn.ReLU(), weft.nn.Linear(8, 2))
    >>> for layer in (model[0], model[2]):
    ...     _ = fully_shard(layer)
    >>> model = fully_shard(model)
    >>> model(weft.ones(3, 4)).sum().backward()
    >>> model[0].weight.grad.placements
    (Shard(dim=0),)
    >>> weft.distributed.destroy_process_group()
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for each in modules:
        if isinstance(each, (weft.nn.ModuleList, weft.nn.ModuleDict)) and type(each).forward is weft.nn.Module.forward:
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {each}")
        if isinstance(each, FSDPModule):
            raise ValueError(f"fully_shard has already been applied to {type(each).__name__}")
    if mesh is None:
        if not c10d.is_initialized():
            c10d.init_process_group()
        kind = "cuda" if weft.cuda.is_available() else "cpu"
        mesh = init_device_mesh(kind, (c10d.get_world_size(),))
    elif dp_mesh_dims is not None:
        names = [dp_mesh_dims.replicate, dp_mesh_dims.shard]
        mesh = mesh[tuple(name for name in names if name is not None)]
    info = MeshInfo(mesh)
    if isinstance(reshard_after_forward, int) and not isinstance(reshard_after_forward, bool):
        if reshard_after_forward < 1 or info.size % reshard_after_forward:
            raise ValueError(
                f"If passing reshard_after_forward as an int, it should be a factor of {info.size}, not "
                f"{reshard_after_forward}"
            )
        reshard_after_forward = reshard_after_forward != info.size
    state = State(modules, info, mp_policy, reshard_after_forward)
    owners = managed(modules, ignored_params or set())
    if not isinstance(offload_policy, CPUOffloadPolicy):
        move(owners, modules, info.device)

    def shard_dim(param: Any) -> int:
        placement = shard_placement_fn(param) if shard_placement_fn is not None else None
        if placement is None:
            return 0
        if hasattr(placement, "placement"):
            placement = placement.placement
        if not placement.is_shard():
            raise ValueError(f"shard_placement_fn should return Shard or None, got {placement}")
        return int(placement.dim % param.ndim)

    state.unit = Unit(owners, info, mp_policy, shard_dim)
    for each in modules:
        each._fsdp_state = state
        each.register_forward_pre_hook(state.before_forward, prepend=True, with_kwargs=True)
        each.register_forward_hook(state.after_forward)
        each.register_state_dict_pre_hook(reshard_all)
        each.register_load_state_dict_pre_hook(lambda module, *args: reshard_all(module))
        each.__class__ = class_of(each)
    return module


def reshard_all(module: Any, *args: Any) -> None:
    """State dicts have parts."""
    for each in module.modules():
        if isinstance(each, FSDPModule):
            each._fsdp_state.unit.reshard()


def managed(modules: Sequence[Any], ignored: set[Any]) -> list[tuple[list[tuple[Any, str]], Any]]:
    """The parameters of modules that no unit has yet, with the modules that have them."""
    found: dict[int, tuple[list[tuple[Any, str]], Any]] = {}
    seen: set[int] = set()
    skipped = {id(each) for each in ignored}

    def visit(module: Any) -> None:
        if id(module) in seen or isinstance(module, FSDPModule):
            return
        seen.add(id(module))
        for name, param in module._parameters.items():
            if param is not None and id(param) not in skipped:
                found.setdefault(id(param), ([], param))[0].append((module, name))
        for child in module.children():
            visit(child)

    for each in modules:
        visit(each)
    return list(found.values())


def move(owners: Any, modules: Sequence[Any], device: Any) -> None:
    """Bring parameters to the device of the mesh."""
    for _, param in owners:
        plain = param._local_tensor if isinstance(param, DTensor) else param
        if plain.device.type not in (device.type, "meta"):
            plain.data = plain.data.to(device)


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Let a method of a module have whole parameters, as its forward has.

    Raises
    ------
    ValueError
        If the module has no such method.
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        state = module._fsdp_state
        args, kwargs = state.before_forward(module, args, kwargs)
        return state.after_forward(module, args, method(*args, **kwargs))

    setattr(module, method_name, wrapped)


def share_comm_ctx(modules: list[FSDPModule]) -> None:
    """Accepted: collectives of a group run one after the other."""
    check_modules(modules)
