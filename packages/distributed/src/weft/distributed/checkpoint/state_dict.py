"""State dicts of models and optimizers by the names of parameters, however they are wrapped or divided.

`get_model_state_dict` of a plain module, of one in DistributedDataParallel and of a sharded one have the same keys, so
that a checkpoint of one can be loaded into another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import weft
from weft import nn
from weft.distributed import distributed_c10d as dist
from weft.distributed.checkpoint.planner_helpers import _create_chunk_list, is_distributed, narrowed
from weft.optim import Optimizer

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

WRAPPERS = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")  # attributes that hold what they wrap
STATE, GROUPS, PARAMS = "state", "param_groups", "params"


@dataclass
class StateDictOptions:
    """How state dicts are got and set.

    Parameters
    ----------
    full_state_dict : bool, default False
        Whole tensors rather than each process's parts.
    cpu_offload : bool, default False
        In host memory; with ``full_state_dict`` in the process of rank 0 only, others get empty dicts.
    ignore_frozen_params : bool, default False
        Leave parameters out that require no gradient.
    keep_submodule_prefixes : bool, default True
        With ``submodules``: names as in the model.
    strict : bool, default True
        As of ``load_state_dict``.
    broadcast_from_rank0 : bool, default False
        When setting, with ``full_state_dict``: only the process of rank 0 has the state, and gives it to the others.
    flatten_optimizer_state_dict : bool, default False
        Of optimizers, one entry for each parameter and name: ``state.a.weight.exp_avg``.
    dsd_fqn_modifiers : str
        As PyTorch has it; without effect.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def get_state_dict(
    model: nn.Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[nn.Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `get_model_state_dict` and `get_optimizer_state_dict`."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def get_model_state_dict(
    model: nn.Module, *, submodules: set[nn.Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """Return a model's state by the names that it has without wrappers.

    Parameters
    ----------
    model : Module
        Plain, or wrapped or divided for several processes.
    submodules : set of Module, optional
        Only theirs.
    options : StateDictOptions, optional

    Raises
    ------
    ValueError
        If the options contradict one another.

    Examples
    --------
    >>> from weft.distributed.checkpoint.state_dict import get_model_state_dict
    >>> list(get_model_state_dict(weft.nn.Linear(2, 1)))
    ['weight', 'bias']
    """
    options = checked(options)
    names = names_of(model)
    frozen = {name for name, each in model.named_parameters(remove_duplicate=False) if not each.requires_grad}
    state = {
        names.get(name, name): value
        for name, value in model.state_dict().items()
        if not (options.ignore_frozen_params and name in frozen)
    }
    return gathered(within(state, model, submodules, options), options)


def get_optimizer_state_dict(
    model: nn.Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[nn.Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """Return the state of optimizers by the names of the model's parameters, in place of numbers.

    An optimizer that has not stepped gets its first state, by a step of no length with gradients of zero.

    Parameters
    ----------
    model : Module
        Has all parameters of the optimizers.
    optimizers : Optimizer or iterable of Optimizer
    submodules : set of Module, optional
        Only their parameters'.
    options : StateDictOptions, optional

    Raises
    ------
    RuntimeError
        If an optimizer has a parameter that the model has not.
    """
    options = checked(options)
    state: dict[str, Any] = {STATE: {}, GROUPS: []}
    for optimizer in as_list(optimizers):
        initialize(optimizer)
        own = named_parameters_of(model, optimizer)
        state[STATE].update(own[STATE])
        state[GROUPS].extend(own[GROUPS])
    if submodules:
        wanted = within(dict.fromkeys(parameter_names(model).values()), model, submodules, options, keep=True)
        state[STATE] = {name: value for name, value in state[STATE].items() if name in wanted}
        groups = [{**group, PARAMS: [name for name in group[PARAMS] if name in wanted]} for group in state[GROUPS]]
        state[GROUPS] = [group for group in groups if group[PARAMS]]
    state = {key: gathered_nested(value, options) for key, value in state.items()}
    if is_left_to_first(options):
        return {}
    return flattened(state) if options.flatten_optimizer_state_dict else state


def set_state_dict(
    model: nn.Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Do `set_model_state_dict` and `set_optimizer_state_dict`, and return the former's result.

    Raises
    ------
    RuntimeError
        If there are optimizers and no state for them.
    """
    checked_options = checked(options)
    if as_list(optimizers) and not optim_state_dict and not waits_for_first(checked_options):
        raise RuntimeError(
            "The option indicates that model state_dict is required to save, or load but optim state_dict is empty. {}"
        )
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


def set_model_state_dict(
    model: nn.Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load a state that `get_model_state_dict` returned, of this model or of one that is wrapped otherwise.

    Parameters
    ----------
    model : Module
    model_state_dict : dict
    options : StateDictOptions, optional

    Returns
    -------
    The missing and the unexpected keys.

    Raises
    ------
    RuntimeError
        If keys are missing or unexpected, with ``strict``.
    ValueError
        If the options contradict one another.
    """
    options = checked(options)
    own = model.state_dict()
    names = names_of(model)
    local = {names.get(name, name): value for name, value in own.items()}
    state = distributed_like(model_state_dict, local, options)
    if options.strict:
        missing = [name for name in local if name not in state and not name.endswith("num_batches_tracked")]
        if missing and not options.ignore_frozen_params:
            raise RuntimeError(f"Missing key: {missing[0]}.")
    wrapped = {clean: name for name, clean in names.items()}
    strict = options.strict and not options.ignore_frozen_params
    return model.load_state_dict({wrapped.get(name, name): value for name, value in state.items()}, strict=strict)


def set_optimizer_state_dict(
    model: nn.Module,
    optimizers: Optimizer | Iterable[Optimizer],
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load a state that `get_optimizer_state_dict` returned.

    Parameters
    ----------
    model : Module
    optimizers : Optimizer or iterable of Optimizer
        Their groups may be others than those of the state: each takes the settings that its first parameter had.
    optim_state_dict : dict
        Flat or nested.
    options : StateDictOptions, optional

    Raises
    ------
    RuntimeError
        If the state lacks a parameter, with ``strict``.
    """
    options = checked(options)
    for optimizer in as_list(optimizers):
        initialize(optimizer)
        given = optim_state_dict if is_flat(optim_state_dict) else flattened(optim_state_dict)
        state = distributed_like(given, templates(model, optimizer, given), options)
        optimizer.load_state_dict(numbered(model, optimizer, state, options.strict))


# Names ---------------------------------------------------------------------------------------------------


def names_of(model: nn.Module) -> dict[str, str]:
    """From the keys of a model's ``state_dict()`` to those without wrappers."""
    return {name: without_wrappers(model, name) for name in model.state_dict()}


def without_wrappers(model: nn.Module, name: str) -> str:
    """A name less the attributes by which wrappers hold what they wrap."""
    kept, place = [], model
    for part in name.split("."):
        wraps = part in WRAPPERS or (part == "module" and isinstance(place, nn.parallel.DistributedDataParallel))
        if not wraps:
            kept.append(part)
        place = getattr(place, part, place)
    return ".".join(kept)


def parameter_names(model: nn.Module) -> dict[int, str]:
    """From the identities of parameters to their names; of one that has several, the first."""
    names: dict[int, str] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), without_wrappers(model, name))
    return names


def within(
    state: dict[str, Any],
    model: nn.Module,
    submodules: set[nn.Module] | None,
    options: StateDictOptions,
    keep: bool = False,
) -> dict[str, Any]:
    """The entries of submodules."""
    if not submodules:
        return state
    prefixes = [f"{without_wrappers(model, name)}." for name, each in model.named_modules() if each in submodules]
    cut = not options.keep_submodule_prefixes and not keep
    return {
        name[len(prefix) :] if cut else name: value
        for prefix in prefixes
        for name, value in state.items()
        if name.startswith(prefix)
    }


def as_list(optimizers: Optimizer | Iterable[Optimizer]) -> list[Optimizer]:
    """Optimizers as a list."""
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def checked(options: StateDictOptions | None) -> StateDictOptions:
    """The options.

    Raises
    ------
    ValueError
        If they contradict one another.
    """
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


# Optimizers ----------------------------------------------------------------------------------------------


def initialize(optimizer: Optimizer) -> None:
    """Give an optimizer that has not stepped its first state."""
    parameters = [each for group in optimizer.param_groups for each in group[PARAMS]]
    if optimizer.state or any(each.grad is not None for each in parameters):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    for each in parameters:
        if each.requires_grad:
            each.grad = weft.zeros_like(each)
    for group, rate in zip(optimizer.param_groups, rates):
        if rate is not None:
            group["lr"] = weft.tensor(0.0) if isinstance(rate, weft.Tensor) else 0.0
    optimizer.step(closure=None)
    for group, rate in zip(optimizer.param_groups, rates):
        if rate is not None:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def named_parameters_of(model: nn.Module, optimizer: Optimizer) -> dict[str, Any]:
    """An optimizer's state dict with names in place of numbers."""
    names = numbers_of(model, optimizer)
    state = optimizer.state_dict()
    return {
        STATE: {names[number]: value for number, value in state[STATE].items()},
        GROUPS: [{**group, PARAMS: [names[number] for number in group[PARAMS]]} for group in state[GROUPS]],
    }


def numbers_of(model: nn.Module, optimizer: Optimizer) -> dict[int, str]:
    """From an optimizer's numbers of parameters to names.

    Raises
    ------
    RuntimeError
        If the model has not a parameter of the optimizer.
    """
    names = parameter_names(model)
    found: dict[int, str] = {}
    for group, numbered_group in zip(optimizer.param_groups, optimizer.state_dict()[GROUPS]):
        for parameter, number in zip(group[PARAMS], numbered_group[PARAMS]):
            if id(parameter) not in names:
                raise RuntimeError(
                    f"the optimizer has a parameter of size {tuple(parameter.shape)} that is none of the model's: give "
                    "the model that the optimizer was made with"
                )
            found[number] = names[id(parameter)]
    return found


def flattened(state: dict[str, Any]) -> dict[str, Any]:
    """One entry for each parameter and name."""
    flat = {
        f"{STATE}.{parameter}.{name}": value
        for parameter, values in state.get(STATE, {}).items()
        for name, value in values.items()
    }
    for group in state.get(GROUPS, []):
        for parameter in group[PARAMS]:
            flat.update({f"{GROUPS}.{parameter}.{name}": value for name, value in group.items() if name != PARAMS})
    return flat


def is_flat(state: dict[str, Any]) -> bool:
    """Whether a state is as `flattened` returns it."""
    return STATE not in state and GROUPS not in state


def templates(model: nn.Module, optimizer: Optimizer, flat: dict[str, Any]) -> dict[str, Any]:
    """Tensors that are divided as those of a flat state will be: the optimizer's own, else the parameters."""
    own = flattened(named_parameters_of(model, optimizer))
    names = parameter_names(model)
    for parameter in (each for group in optimizer.param_groups for each in group[PARAMS]):
        prefix = f"{STATE}.{names[id(parameter)]}."
        for key, value in flat.items():
            if key.startswith(prefix) and getattr(value, "shape", None) == parameter.shape:
                own.setdefault(key, parameter)
    return own


def numbered(model: nn.Module, optimizer: Optimizer, flat: dict[str, Any], strict: bool) -> dict[str, Any]:
    """A flat state as the optimizer's own ``load_state_dict`` takes it."""
    own = optimizer.state_dict()
    for number, parameter in numbers_of(model, optimizer).items():
        prefix = f"{STATE}.{parameter}."
        found = {key[len(prefix) :]: value for key, value in flat.items() if key.startswith(prefix)}
        missing = own[STATE].get(number, {}).keys() - found.keys()
        if missing and strict:
            raise RuntimeError(
                f"Missing optimizer state: {prefix}{min(missing)}; with strict=False the optimizer keeps its own"
            )
        if found:
            own[STATE][number] = {**own[STATE].get(number, {}), **found}
    names = numbers_of(model, optimizer)
    for group in own[GROUPS]:
        first = names[group[PARAMS][0]] if group[PARAMS] else ""
        for name in group.keys() - {PARAMS}:
            group[name] = flat.get(f"{GROUPS}.{first}.{name}", group[name])
    return own


# Whole and divided tensors -------------------------------------------------------------------------------


def is_left_to_first(options: StateDictOptions) -> bool:
    """Whether only the process of rank 0 gets the state, and this is another."""
    return options.full_state_dict and options.cpu_offload and dist.is_initialized() and dist.get_rank() != 0


def waits_for_first(options: StateDictOptions) -> bool:
    """Whether this process is given the state by that of rank 0."""
    return options.broadcast_from_rank0 and dist.is_initialized() and dist.get_rank() != 0


def gathered(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """The state as the options want it; gathering is collective."""
    whole = {name: gathered_nested(value, options) for name, value in state.items()}
    return {} if is_left_to_first(options) else whole


def gathered_nested(value: Any, options: StateDictOptions) -> Any:
    """A value whose divided tensors are whole, and in host memory, if the options say so."""
    if isinstance(value, dict):
        return {key: gathered_nested(each, options) for key, each in value.items()}
    if isinstance(value, list):
        return [gathered_nested(each, options) for each in value]
    if options.full_state_dict and is_distributed(value):
        value = value.full_tensor()
    if isinstance(value, weft.Tensor) and options.cpu_offload:
        value = value.cpu()
    return value


def distributed_like(state: dict[str, Any], local: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """A state whose tensors are divided as those that this process has."""
    if not options.full_state_dict:
        return state
    if options.broadcast_from_rank0 and dist.is_initialized() and dist.get_world_size() > 1:
        return broadcast_like(state, local)
    return {name: part_of(value, local.get(name)) for name, value in state.items()}


def broadcast_like(state: dict[str, Any], local: dict[str, Any]) -> dict[str, Any]:
    """The state of the process of rank 0: each tensor is sent whole, one after the other, and each keeps its part."""
    first = dist.get_rank() == 0
    described = [{name: described_for(value) for name, value in state.items()} if first else None]
    dist.broadcast_object_list(described, src=0)
    received = {}
    entries: dict[str, Any] = described[0] or {}
    for name, (shape, value) in entries.items():
        own = local.get(name)
        if shape is None:
            received[name] = value
            continue
        device = own.device if isinstance(own, weft.Tensor) else weft.device("cpu")
        whole = state[name].detach().to(device).contiguous() if first else weft.empty(shape, dtype=value, device=device)
        dist.broadcast(whole, src=0)
        received[name] = part_of(whole, own)
    return received


def described_for(value: Any) -> tuple[Any, Any]:
    """Shape and dtype of a tensor; of other values None and themselves."""
    return (tuple(value.shape), value.dtype) if isinstance(value, weft.Tensor) else (None, value)


def part_of(value: Any, own: Any) -> Any:
    """The part of a whole tensor that this process has of its own divided one."""
    if not is_distributed(own) or is_distributed(value) or not isinstance(value, weft.Tensor):
        return value
    from weft.distributed.tensor import DTensor

    local = own.to_local().detach().clone()
    for chunk in _create_chunk_list(own):
        local.copy_(narrowed(value.detach(), chunk.offsets, chunk.sizes))
    return DTensor.from_local(
        local, own.device_mesh, own.placements, run_check=False, shape=own.shape, stride=own.stride()
    )
