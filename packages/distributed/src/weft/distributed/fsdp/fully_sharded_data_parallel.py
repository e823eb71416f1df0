"""`FullyShardedDataParallel`, the wrapper that was before `fully_shard`, on the same units."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any

import weft
from weft.distributed import distributed_c10d as c10d
from weft.distributed.device_mesh import DeviceMesh, init_device_mesh
from weft.distributed.fsdp._fully_shard import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    fully_shard,
)
from weft.distributed.fsdp.api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from weft.distributed.fsdp.wrap import CustomPolicy, ModuleWrapPolicy
from weft.distributed.tensor import DTensor, distribute_tensor

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "MixedPrecision",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictType",
]


class OptimStateKeyType(Enum):
    """How an optimizer's state dict names parameters."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


WRAPPED = "_fsdp_wrapped_module"
GATHERS_AGAIN = (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)
HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)


def mesh_of(process_group: Any, strategy: ShardingStrategy, device_mesh: DeviceMesh | None, kind: str) -> DeviceMesh:
    """The mesh that arguments of the wrapper mean."""
    if device_mesh is not None:
        return device_mesh
    if not c10d.is_initialized():
        c10d.init_process_group()
    if strategy in HYBRID and process_group is None:
        world = c10d.get_world_size()
        local = int(os.environ.get("LOCAL_WORLD_SIZE", world))
        return init_device_mesh(kind, (world // local, local), mesh_dim_names=("replicate", "shard"))
    if isinstance(process_group, tuple):
        shard, replicate = process_group
        rows: list[Any] = [None] * replicate.size()
        c10d.all_gather_object(rows, list(shard.ranks), replicate)
        table = weft.tensor(rows)
        return DeviceMesh.from_group([replicate, shard], kind, table, mesh_dim_names=("replicate", "shard"))
    group = process_group if process_group is not None else c10d._get_default_group()
    if strategy is ShardingStrategy.NO_SHARD:
        ranks = weft.tensor(group.ranks).unsqueeze(1)
        return DeviceMesh(kind, ranks, mesh_dim_names=("replicate", "shard"))
    return DeviceMesh.from_group(group, kind)


class FullyShardedDataParallel(weft.nn.Module):
    """A module whose parameters are divided among processes: `fully_shard` under its former name.

    Parameters
    ----------
    module : Module
        Changed in place.
    process_group : ProcessGroup or tuple of two, optional
        Those that shard, and that replicate. Default: all processes.
    sharding_strategy : ShardingStrategy
        ``FULL_SHARD``; ``SHARD_GRAD_OP`` keeps whole parameters between forward and backward; ``NO_SHARD`` divides
        nothing; ``HYBRID_SHARD`` divides in a machine and replicates among them.
    cpu_offload : CPUOffload, optional
    auto_wrap_policy : callable or ModuleWrapPolicy or CustomPolicy, optional
        Which submodules are units by themselves.
    mixed_precision : MixedPrecision, optional
    ignored_modules : iterable of Module, optional
        Whose parameters are left as they are.
    param_init_fn : callable, optional
        Called with each module that has parameters on the meta device.
    device_id : int or device, optional
        Where the module is brought.
    sync_module_states : bool
        Take the first process's parameters and buffers.
    ignored_states : iterable of Parameter or Module, optional
    device_mesh : DeviceMesh, optional
        In place of ``process_group``.
    backward_prefetch, forward_prefetch, limit_all_gathers, use_orig_params
        Accepted: parameters are always themselves, and gathered when they are needed.

    Notes
    -----
    Parameters are `DTensor`, also where PyTorch has flat ones.
    """

    def __init__(
        self,
        module: Any,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Any] | None = None,
        param_init_fn: Callable[[Any], None] | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[Any] | None = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        first = next(module.parameters(), None)
        kind = "cpu" if first is None or first.device.type == "meta" else first.device.type
        if device_id is not None:
            device = weft.device("cuda", device_id) if isinstance(device_id, int) else weft.device(device_id)
            module.to(device)
            kind = device.type
        mesh = mesh_of(process_group, strategy, device_mesh, kind)
        if param_init_fn is not None:
            for each in module.modules():
                if any(param.device.type == "meta" for param in each.parameters(recurse=False)):
                    param_init_fn(each)
        if sync_module_states:
            synchronize(module, mesh)
        mixed = mixed_precision or MixedPrecision()
        policy = MixedPrecisionPolicy(
            mixed.param_dtype,
            mixed.reduce_dtype,
            None,
            mixed.cast_forward_inputs or mixed.cast_root_forward_inputs,
        )
        if mixed.buffer_dtype is not None:
            for buffer in module.buffers():
                if buffer.is_floating_point():
                    buffer.data = buffer.data.to(mixed.buffer_dtype)
        options = {
            "process_group": process_group,
            "sharding_strategy": strategy,
            "cpu_offload": cpu_offload,
            "mixed_precision": mixed_precision,
            "device_mesh": mesh,
            "ignored_modules": ignored_modules,
            "ignored_states": ignored_states,
        }
        ignored = ignored_parameters(ignored_modules, ignored_states)
        if auto_wrap_policy is not None:
            wrap_submodules(module, auto_wrap_policy, options, ignored)
        self.process_group = mesh.get_group(mesh.ndim - 1)
        self.sharding_strategy = strategy
        setattr(self, WRAPPED, module)
        is_offloaded = cpu_offload is not None and cpu_offload.offload_params
        fully_shard(
            module,
            mesh=mesh,
            reshard_after_forward=None if strategy in GATHERS_AGAIN else False,
            mp_policy=policy,
            offload_policy=CPUOffloadPolicy() if is_offloaded else OffloadPolicy(),
            ignored_params=ignored,
        )

    @property
    def module(self) -> Any:
        """The module that is wrapped."""
        return getattr(self, WRAPPED)

    def __getattr__(self, name: str) -> Any:
        """Attributes of the module."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(WRAPPED), name)

    def __getitem__(self, key: Any) -> Any:
        return self.module[key]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*args, **kwargs)

    def check_is_root(self) -> bool:
        """Whether this is the outermost of the wrappers."""
        state = self.module._fsdp_state
        state.find_root()
        return state.root is state

    @staticmethod
    def fsdp_modules(module: Any, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """Return the wrappers in a module."""
        found = [each for each in module.modules() if isinstance(each, FullyShardedDataParallel)]
        return [each for each in found if each.check_is_root()] if root_only else found

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Yield parameters by the names that they have without wrappers."""
        for name, param in super().named_parameters(*args, **kwargs):
            yield clean(name), param

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Yield buffers by the names that they have without wrappers."""
        for name, buffer in super().named_buffers(*args, **kwargs):
            yield clean(name), buffer

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Scale all gradients so that the norm of all is at most ``max_norm``, and return what it was."""
        total = weft.nn.utils.clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return total.full_tensor() if isinstance(total, DTensor) else total

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let gradients add up in each process by itself inside of the block."""
        states = [each._fsdp_state for each in self.modules() if isinstance(each, FSDPModule)]
        before = [state.unit.requires_sync for state in states]
        for state in states:
            state.unit.requires_sync = False
        try:
            yield
        finally:
            for state, value in zip(states, before):
                state.unit.requires_sync = value

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Any,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Have whole parameters inside of the block; with ``writeback`` what is written to them stays."""
        units = [each._fsdp_state.unit for each in module.modules() if isinstance(each, FSDPModule)]
        if not recurse:
            units = units[:1]
        for unit in units:
            unit.unshard()
            if with_grads:
                for each in unit.params:
                    each.whole.grad = None if each.part.grad is None else each.part.grad.full_tensor()
        try:
            yield
        finally:
            for unit in units:
                if with_grads:
                    for each in unit.params:
                        each.whole.grad = None
                if writeback:
                    unit.write_back()
                unit.reshard()

    # State dicts

    @staticmethod
    def set_state_dict_type(
        module: Any,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Say what state dicts have: whole tensors, or parts; return what was said before."""
        configs: dict[StateDictType, tuple[Any, Any]] = {
            StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
            StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
            StateDictType.LOCAL_STATE_DICT: (StateDictConfig, OptimStateDictConfig),
        }
        of_module, of_optimizer = configs[state_dict_type]
        before = FullyShardedDataParallel.get_state_dict_type(module)
        settings = StateDictSettings(
            state_dict_type, state_dict_config or of_module(), optim_state_dict_config or of_optimizer()
        )
        for each in FullyShardedDataParallel.fsdp_modules(module):
            each._settings = settings
        return before

    @staticmethod
    def get_state_dict_type(module: Any) -> StateDictSettings:
        """Return what state dicts have."""
        for each in FullyShardedDataParallel.fsdp_modules(module):
            return each.__dict__.get("_settings", DEFAULT_SETTINGS)  # type: ignore[no-any-return]
        return DEFAULT_SETTINGS

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Any,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """Set what state dicts have inside of the block."""
        before = FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            for each in FullyShardedDataParallel.fsdp_modules(module):
                each._settings = before

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Return parameters and buffers, by the names that they have without wrappers; all processes call it."""
        state = super().state_dict(*args, **kwargs)
        if args or kwargs.get("destination") is not None:  # of a module that this is in, which sees to names
            return state
        settings = self.get_state_dict_type(self)
        for name in list(state):
            value = state.pop(name)
            state[clean(name)] = as_asked(value, settings.state_dict_type, settings.state_dict_config)
        if getattr(settings.state_dict_config, "rank0_only", False) and c10d.get_rank():
            state.clear()
        return state

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Load whole tensors, or parts."""
        own = {clean(name): (name, value) for name, value in super().state_dict().items()}
        found = {}
        for name, value in state_dict.items():
            full, mine = own.get(clean(name), (name, None))
            if isinstance(mine, DTensor) and not isinstance(value, DTensor):
                value = distribute_tensor(value.detach(), mine.device_mesh, mine.placements, src_data_rank=None)
            found[full] = value
        return super().load_state_dict(found, strict, assign)

    @staticmethod
    def optim_state_dict(model: Any, optim: Any, optim_state_dict: Any = None, group: Any = None) -> dict[str, Any]:
        """Return an optimizer's state by the names of parameters, whole or in parts; all processes call it."""
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        names = {id(param): clean(name) for name, param in model.named_parameters()}
        order = [names[id(param)] for each in optim.param_groups for param in each["params"]]
        state = optim.state_dict() if optim_state_dict is None else optim_state_dict
        kind, config = settings.state_dict_type, settings.optim_state_dict_config
        found = {
            order[index]: {name: as_asked(value, kind, config) for name, value in values.items()}
            for index, values in state["state"].items()
        }
        groups = [{**each, "params": [order[index] for index in each["params"]]} for each in state["param_groups"]]
        if getattr(config, "rank0_only", False) and c10d.get_rank():
            return {}
        return {"state": found, "param_groups": groups}

    @staticmethod
    def full_optim_state_dict(
        model: Any, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict[str, Any]:
        """Return `optim_state_dict` of whole tensors."""
        with FullyShardedDataParallel.state_dict_type(
            model, StateDictType.FULL_STATE_DICT, None, FullOptimStateDictConfig(rank0_only=rank0_only)
        ):
            return FullyShardedDataParallel.optim_state_dict(model, optim)

    @staticmethod
    def sharded_optim_state_dict(model: Any, optim: Any, group: Any = None) -> dict[str, Any]:
        """Return `optim_state_dict` of parts."""
        with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            return FullyShardedDataParallel.optim_state_dict(model, optim)

    @staticmethod
    def optim_state_dict_to_load(
        model: Any,
        optim: Any,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """Return what ``optim.load_state_dict`` takes, of what `optim_state_dict` returned."""
        params = {clean(name): param for name, param in model.named_parameters()}
        names = {id(param): name for name, param in params.items()}
        order = [names[id(param)] for each in optim.param_groups for param in each["params"]]
        state = {}
        for index, name in enumerate(order):
            if name in optim_state_dict["state"]:
                values = optim_state_dict["state"][name]
                state[index] = {key: divided(value, params[name]) for key, value in values.items()}
        index_of = {name: index for index, name in enumerate(order)}
        groups = [
            {**each, "params": [index_of[name] for name in each["params"]]} for each in optim_state_dict["param_groups"]
        ]
        made = {"state": state, "param_groups": groups}
        if load_directly:
            optim.load_state_dict(made)
        return made

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Refused.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            "FullyShardedDataParallel.register_comm_hook: use MixedPrecision(reduce_dtype=...) to reduce in another "
            "dtype, or FSDPModule.set_all_reduce_hook"
        )


DEFAULT_SETTINGS = StateDictSettings(StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig())


def clean(name: str) -> str:
    """A name without those of wrappers."""
    return name.replace(f"{WRAPPED}.", "")


def as_asked(value: Any, kind: StateDictType, config: Any) -> Any:
    """A value of a state dict: whole, or a part."""
    if not isinstance(value, weft.Tensor):
        return value
    if isinstance(value, DTensor) and kind is StateDictType.FULL_STATE_DICT:
        value = value.full_tensor().detach()
    elif isinstance(value, DTensor) and kind is StateDictType.LOCAL_STATE_DICT:
        value = value.to_local().detach()
    return value.cpu() if config.offload_to_cpu and value.device.type != "cpu" else value


def divided(value: Any, param: Any) -> Any:
    """A value of an optimizer's state, divided as its parameter is."""
    if isinstance(value, DTensor) or not isinstance(value, weft.Tensor) or not isinstance(param, DTensor):
        return value
    if value.shape != param.shape:
        return value
    return distribute_tensor(value, param.device_mesh, param.placements, src_data_rank=None)


def synchronize(module: Any, mesh: DeviceMesh) -> None:
    """Let a module's parameters and buffers be those of the first process."""
    for each in (*module.parameters(), *module.buffers()):
        if isinstance(each, DTensor):
            continue
        for dim in range(mesh.ndim):
            if mesh.size(dim) > 1:
                c10d.broadcast(each.detach(), group=mesh.get_group(dim), group_src=0)


def ignored_parameters(modules: Any, states: Any) -> set[Any]:
    """The parameters that are left alone."""
    found: set[Any] = set()
    for each in (*(modules or ()), *(states or ())):
        found.update([each] if isinstance(each, weft.nn.Parameter) else each.parameters())
    return found


def wrap_submodules(module: Any, policy: Any, options: dict[str, Any], ignored: set[Any]) -> None:
    """Wrap the submodules that a policy names, the innermost first."""
    skipped = {id(each) for each in ignored}

    def visit(parent: Any) -> int:
        """Wrap in a module; return how many elements are in no wrapper."""
        count = 0
        for name, child in list(parent.named_children()):
            if isinstance(child, FullyShardedDataParallel):
                continue
            left = numel(child) if not has_children(child) else own_numel(child) + visit_if(child)
            kwargs = chosen(policy, child, left)
            if kwargs is not None:
                setattr(parent, name, FullyShardedDataParallel(child, **{**options, **kwargs}))
            else:
                count += left
        return count

    def visit_if(child: Any) -> int:
        if callable(policy) and not isinstance(policy, CustomPolicy):
            if not policy(module=child, recurse=True, nonwrapped_numel=numel(child)):
                return sum(numel(each) for each in child.children())
        return visit(child)

    def own_numel(child: Any) -> int:
        return sum(each.numel() for each in child.parameters(recurse=False) if id(each) not in skipped)

    visit(module)


def has_children(module: Any) -> bool:
    return next(module.children(), None) is not None


def numel(module: Any) -> int:
    return sum(each.numel() for each in module.parameters())


def chosen(policy: Any, module: Any, nonwrapped_numel: int) -> dict[str, Any] | None:
    """The options of a module that is wrapped, or None."""
    if isinstance(policy, CustomPolicy):
        answer = policy._lambda_fn(module)
        return answer if isinstance(answer, dict) else {} if answer else None
    if isinstance(policy, ModuleWrapPolicy):
        return {} if isinstance(module, tuple(policy._module_classes)) else None
    return {} if policy(module=module, recurse=False, nonwrapped_numel=nonwrapped_numel) else None
