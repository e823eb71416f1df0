"""The base of all optimizers: parameter groups, per-parameter state, hooks and state dicts.

A state dict has PyTorch's layout, so that checkpoints travel both ways: parameters are numbered through all groups,
``state`` maps a number to that parameter's state, ``param_groups`` holds the options and the numbers.
"""

from __future__ import annotations

import functools
import math
import sys
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any, Final, TypeAlias

import weft
from weft import Tensor
from weft.library.declare import bump_version
from weft.library.interceptors import Operation, is_watched, run_live
from weft.library.state import profiling
from weft.utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Group: TypeAlias = dict[str, Any]
State: TypeAlias = dict[str, Any]
StateDict: TypeAlias = dict[str, Any]


_sparse_module = "weft.sparse._tensor"  # while it is not imported, no gradient is sparse


class _Required:
    """The type of :data:`required`, the default of an option that every group must set."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: Final[_Required] = _Required()

_global_pre_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_post_hooks: dict[int, Callable[..., Any]] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimizer."""
    return _add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimizer."""
    return _add_hook(_global_post_hooks, hook)


def _add_hook(hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any], first: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if first:
        hooks.move_to_end(handle.id, last=False)  # type: ignore[attr-defined]
    return handle


def _with_step_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Surround ``step`` by the hooks; a ``super().step()`` inside it runs them no second time."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self._in_step:
            return step(self, *args, **kwargs)
        if profiling.recorder is not None:
            with profiling.recorder.span(f"Optimizer.step#{type(self).__name__}.step"):
                return run(self, args, kwargs)
        if is_watched():
            return run_live(self, f"{type(self).__name__}.step", functools.partial(run, self), args, kwargs)
        return run(self, args, kwargs)

    def run(self: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._in_step = self._opt_called = True
        try:
            call_args = (self, *args)  # PyTorch's hooks see the optimizer among the arguments too
            for hook in chain(_global_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                call_args, kwargs = _replaced_arguments(hook, self, call_args, kwargs)
            result = step(*call_args, **kwargs)
            for hook in chain(self._optimizer_step_post_hooks.values(), _global_post_hooks.values()):
                hook(self, call_args, kwargs)
            return result
        finally:
            self._in_step = False

    hooked.hooked = True  # type: ignore[attr-defined]  # PyTorch's name, which programs look for
    return hooked


def _replaced_arguments(
    hook: Callable[..., Any], optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    result = hook(optimizer, args, kwargs)
    if result is None:
        return args, kwargs
    if isinstance(result, tuple) and len(result) == 2:
        return result
    raise RuntimeError(
        f"{type(optimizer).__name__}.step: {hook!r} must return None or a tuple of (new_args, new_kwargs), "
        f"but got {result!r}"
    )


_HOOK_TABLES = frozenset(
    f"_optimizer_{when}_hooks"
    for when in (
        "step_pre",
        "step_post",
        "state_dict_pre",
        "state_dict_post",
        "load_state_dict_pre",
        "load_state_dict_post",
    )
)


class Optimizer:
    """Base class of optimizers.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        What to optimize. A dict is one parameter group: its ``"params"``, and the options in which it differs.
    defaults : dict
        The options of groups that do not set them.

    Attributes
    ----------
    param_groups : list of dict
        Each group's ``"params"`` and options. Options may be changed between steps, as schedulers do.
    state : dict
        Each parameter's state, filled at its first step.

    Raises
    ------
    TypeError
        If ``params`` is a tensor or a set, or holds what is no tensor.
    ValueError
        If ``params`` is empty, holds a tensor that is no leaf, or one that another group has.

    Examples
    --------
    A subclass steps along what it makes of the gradients; groups may differ in their options:

    >>> class Descent(Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...
    ...     @weft.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for param in group["params"]:
    ...                 param -= group["lr"] * param.grad
    >>> slow, fast = weft.ones(1, requires_grad=True), weft.ones(1, requires_grad=True)
    >>> optimizer = Descent([{"params": slow, "lr": 0.01}, {"params": fast}], lr=0.1)
    >>> (slow + fast).sum().backward()
    >>> optimizer.step()
    >>> slow.item(), fast.item()
    (0.9900000095367432, 0.8999999761581421)
    """

    _runs_live = True  # captured functions call `step` with the options that it finds then

    _in_step = False
    _opt_called = False
    _step_of_schedules: Any = None  # an overridden `step` that was there when a schedule was made

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        step = cls.__dict__.get("step")
        if callable(step) and not hasattr(step, "hooked"):
            cls.step = _with_step_hooks(step)  # type: ignore[method-assign]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                f"{type(self).__name__}: params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got one Tensor of shape {tuple(params.shape)}; pass [tensor]"
            )
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError(f"{type(self).__name__}: params is empty (optimizer got an empty parameter list)")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __getattr__(self, name: str) -> Any:
        # A wrapper around another optimizer may never call __init__, and its step looks for hooks as any other's.
        if name in _HOOK_TABLES:
            table: dict[int, Callable[..., Any]] = OrderedDict()
            setattr(self, name, table)
            return table
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    _optimizer_step_pre_hooks: dict[int, Callable[..., Any]]
    _optimizer_step_post_hooks: dict[int, Callable[..., Any]]
    _optimizer_state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _optimizer_state_dict_post_hooks: dict[int, Callable[..., Any]]
    _optimizer_load_state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _optimizer_load_state_dict_post_hooks: dict[int, Callable[..., Any]]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        lines = []
        for index, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {index}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([f"{type(self).__name__} (", *lines, ")"])

    # ------------------------------------------------------------------------------------------------ groups

    def add_param_group(self, param_group: Group) -> None:
        """Add a group, for example the layers that are unfrozen later in training.

        Parameters
        ----------
        param_group : dict
            ``"params"``, a tensor or an ordered iterable of tensors or of (name, tensor), and options that differ
            from the defaults.
        """
        op = f"{type(self).__name__}.add_param_group"
        if not isinstance(param_group, dict):
            raise TypeError(f"{op}: param_group must be a dict, got {type(param_group).__name__}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                f"{op}: optimizer parameters need to be organized in ordered collections, but the ordering of tensors "
                "in sets will change between runs; pass a list"
            )
        param_group["params"] = list(params)
        _split_names(op, param_group)
        self._check_params(op, param_group["params"])
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"{op}: the group must set the option {name!r}, which has no default")
            param_group.setdefault(name, default)
        self._check_membership(op, param_group)
        self.param_groups.append(param_group)

    def _check_params(self, op: str, params: list[Any]) -> None:
        for index, param in enumerate(params):
            if not isinstance(param, Tensor):
                raise TypeError(
                    f"{op}: optimizer can only optimize Tensors, but params[{index}] is {type(param).__name__}"
                )
            if not self.defaults.get("differentiable", None) and not (param.is_leaf or param.retains_grad):
                raise ValueError(
                    f"{op}: params[{index}], of shape {tuple(param.shape)}, is no leaf (can't optimize a non-leaf "
                    "Tensor): it was computed from others; optimize those, or pass param.detach().requires_grad_()"
                )

    def _check_membership(self, op: str, group: Group) -> None:
        ids = [id(param) for param in group["params"]]
        if len(ids) != len(set(ids)):
            warnings.warn(
                f"{op}: the group has a parameter twice (optimizer contains a parameter group with duplicate "
                "parameters); it is stepped twice. Pass each parameter once.",
                stacklevel=4,
            )
        taken = {id(param) for other in self.param_groups for param in other["params"]}
        if not taken.isdisjoint(ids):
            raise ValueError(
                f"{op}: a parameter of the group is in another group already (some parameters appear in more than one "
                "parameter group); give each parameter to one group"
            )
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            raise ValueError(
                f"{op}: all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if 'param_names' in group else 'without'} names to the optimizer"
            )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters.

        Parameters
        ----------
        set_to_none : bool
            Set ``grad`` to None, which frees its memory and lets steps skip the parameter until it has a gradient
            again. Otherwise fill it with zeros in place.
        """
        if profiling.recorder is not None:
            with profiling.recorder.span(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
                self._forget_gradients(set_to_none)
        else:
            self._forget_gradients(set_to_none)

    def _forget_gradients(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                else:
                    if param.grad.grad_fn is not None:
                        param.grad.detach_()
                    else:
                        param.grad.requires_grad_(False)
                    param.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss anew, with its gradients, and returns it.

        Returns
        -------
        What the closure returned, or None.
        """
        raise NotImplementedError(f"{type(self).__name__}.step: a subclass of Optimizer must define step")

    # ------------------------------------------------------------------------------------------------- hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ``(args, kwargs)``."""
        return _add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before :meth:`state_dict` reads anything.

        Parameters
        ----------
        hook : callable
        prepend : bool
            Before the hooks that are there, rather than after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.

        Examples
        --------
        >>> optimizer, seen = weft.optim.SGD([weft.zeros(1)], lr=0.1), []
        >>> handle = optimizer.register_state_dict_pre_hook(lambda optimizer: seen.append("saving"))
        >>> _ = optimizer.state_dict()
        >>> seen
        ['saving']
        """
        return _add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on the result of :meth:`state_dict`.

        Parameters
        ----------
        hook : callable
            It may return another dict.
        prepend : bool
            Before the hooks that are there, rather than after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.

        Examples
        --------
        >>> optimizer = weft.optim.SGD([weft.zeros(1)], lr=0.1)
        >>> handle = optimizer.register_state_dict_post_hook(lambda optimizer, state: state | {"epoch": 3})
        >>> optimizer.state_dict()["epoch"]
        3
        """
        return _add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before a state dict is loaded.

        Parameters
        ----------
        hook : callable
            It may return another dict.
        prepend : bool
            Before the hooks that are there, rather than after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.

        Examples
        --------
        >>> optimizer, seen = weft.optim.SGD([weft.zeros(1)], lr=0.1), []
        >>> handle = optimizer.register_load_state_dict_pre_hook(lambda optimizer, state: seen.append(sorted(state)))
        >>> optimizer.load_state_dict(optimizer.state_dict())
        >>> seen
        [['param_groups', 'state']]
        """
        return _add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after a state dict was loaded.

        Parameters
        ----------
        hook : callable
        prepend : bool
            Before the hooks that are there, rather than after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.

        Examples
        --------
        >>> optimizer, seen = weft.optim.SGD([weft.zeros(1)], lr=0.1), []
        >>> handle = optimizer.register_load_state_dict_post_hook(lambda optimizer: seen.append("loaded"))
        >>> optimizer.load_state_dict(optimizer.state_dict())
        >>> seen
        ['loaded']
        """
        return _add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # ------------------------------------------------------------------------------------------- state dicts

    def state_dict(self) -> StateDict:
        """The state and the options, with each parameter replaced by its number.

        Returns
        -------
        dict
            ``"state"``: number to state, of parameters that have been stepped. ``"param_groups"``: options, and
            ``"params"``, the numbers. Tensors are those of the optimizer, not copies.
        """
        for pre_hook in self._optimizer_state_dict_pre_hooks.values():
            pre_hook(self)
        numbers: dict[int, int] = {}
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
        groups = [
            {
                **{key: value for key, value in group.items() if key != "params"},
                "params": [numbers[id(param)] for param in group["params"]],
            }
            for group in self.param_groups
        ]
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: value for k, value in self.state.items()}
        result: StateDict = {"state": state, "param_groups": groups}
        for post_hook in self._optimizer_state_dict_post_hooks.values():
            replaced = post_hook(self, result)
            if replaced is not None:
                result = replaced
        return result

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Continue from a state dict; its groups must be as long as this optimizer's, in the same order.

        Parameters
        ----------
        state_dict : dict
            From :meth:`state_dict`, of weft or of PyTorch. Floating-point state is cast to its parameter's dtype, and
            all state but ``"step"`` moves to its parameter's device.

        Raises
        ------
        ValueError
            If the number of groups or of a group's parameters differs.
        """
        state_dict = state_dict.copy()
        for pre_hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = pre_hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        saved_groups = deepcopy(state_dict["param_groups"])
        self._check_saved_groups(saved_groups)
        owners = {
            number: (param, group)
            for saved, group in zip(saved_groups, self.param_groups, strict=True)
            for number, param in zip(saved["params"], group["params"], strict=True)
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in owners:
                param, group = owners[key]
                state[param] = {name: _cast_state(name, item, param, group) for name, item in value.items()}
            else:
                state[key] = value
        groups = [_restored_group(saved, group) for saved, group in zip(saved_groups, self.param_groups, strict=True)]
        self.__setstate__({"state": state, "param_groups": groups})
        for post_hook in self._optimizer_load_state_dict_post_hooks.values():
            post_hook(self)

    def _check_saved_groups(self, saved_groups: Sequence[Group]) -> None:
        op = f"{type(self).__name__}.load_state_dict"
        if len(saved_groups) != len(self.param_groups):
            raise ValueError(
                f"{op}: loaded state dict has a different number of parameter groups: {len(saved_groups)}, "
                f"this optimizer has {len(self.param_groups)}"
            )
        for index, (saved, group) in enumerate(zip(saved_groups, self.param_groups, strict=True)):
            if len(saved["params"]) != len(group["params"]):
                raise ValueError(
                    f"{op}: loaded state dict contains a parameter group that doesn't match the size of optimizer's "
                    f"group: group {index} has {len(saved['params'])} parameters, this optimizer's has "
                    f"{len(group['params'])}"
                )


def _split_names(op: str, group: Group) -> None:
    """Turn (name, tensor) pairs into ``params`` and ``param_names``."""
    pairs = [isinstance(param, tuple) for param in group["params"]]
    if not any(pairs):
        return
    if not all(pairs):
        raise ValueError(f"{op}: all optimizer params should be with/without names. Some param names are missing")
    group["param_names"] = [name for name, _ in group["params"]]
    group["params"] = [param for _, param in group["params"]]


def _cast_state(name: Hashable, value: Any, param: Tensor, group: Group) -> Any:
    """State as its parameter needs it; a step count is a float32 on the CPU, unless the group is capturable."""
    if isinstance(value, Tensor):
        if name == "step":
            dtype = weft.float32 if group.get("capturable") or group.get("fused") else value.dtype
            return value.to(dtype=dtype, device=place_of_counts(param, group))
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {key: _cast_state(key, item, param, group) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast_state(name, item, param, group) for item in value)
    return value


def _restored_group(saved: Group, group: Group) -> Group:
    restored = {**saved, "params": group["params"]}
    if "param_names" in group:  # names belong to this model, not to the file
        restored["param_names"] = group["param_names"]
    return restored


class GroupOptimizer(Optimizer):
    """An optimizer that updates one parameter group at a time, through one function over lists of tensors.

    A subclass defines :meth:`_init_state` and :meth:`_step_group`. The function over lists is what a backend may
    replace by one kernel for a whole group.
    """

    _steps_parts = True  # complex parameters are stepped as pairs of real ones

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # A file from before an option existed lacks it in its groups. Optimizers of others see to that themselves.
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)
        for values in self.state.values():  # files of early PyTorch count steps in a Python number
            if isinstance(values, dict) and isinstance(values.get("step"), (int, float)):
                values["step"] = weft.tensor(float(values["step"]), dtype=weft.float32)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss anew, with its gradients, and returns it.

        Returns
        -------
        What the closure returned, or None.
        """
        loss = None
        if closure is not None:
            with weft.enable_grad():
                loss = closure()
        with weft.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            for group in self.param_groups:
                params = [param for param in group["params"] if param.grad is not None]
                if params:
                    self._step_params(group, params)
        return loss

    def _step_params(self, group: Group, params: list[Tensor]) -> None:
        states = [self._state_of(param, group) for param in params]
        grads: list[Any] = [param.grad for param in params]
        if group.get("maximize"):
            grads = [-grad for grad in grads]
        if _sparse_module in sys.modules and any(grad.is_sparse for grad in grads):
            self._step_sparse(group, params, grads, states)
            return
        if self._steps_parts:
            params, grads = real_views(params), real_views(grads)
        self._step_group(group, params, grads, states)

    def _state_of(self, param: Tensor, group: Group) -> State:
        state: State = self.state.get(param) or {}
        if not state:
            state = self._init_state(param, group)
            if state:
                self.state[param] = state
        elif group.get("differentiable"):
            # The graph of the last step has saved these; the new step must not write into them.
            state.update({name: value.clone() for name, value in state.items() if isinstance(value, Tensor)})
        return state

    def _step_sparse(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        """Update ``params``, of which some have sparse gradients; a subclass that can defines :meth:`_step_rows`."""
        dense = [i for i, grad in enumerate(grads) if not grad.is_sparse]
        for i in range(len(grads)):
            if grads[i].is_sparse:
                self._step_rows(group, params[i], grads[i], states[i])
        if dense:
            chosen = [params[i] for i in dense], [grads[i] for i in dense]
            if self._steps_parts:
                chosen = real_views(chosen[0]), real_views(chosen[1])
            self._step_group(group, *chosen, [states[i] for i in dense])

    def _step_rows(self, group: Group, param: Tensor, grad: Any, state: State) -> None:
        """Update the elements of a parameter that its sparse gradient names."""
        name = type(self).__name__
        raise RuntimeError(f"{name}.step: {name} does not support sparse gradients, please consider SparseAdam instead")

    def _init_state(self, param: Tensor, group: Group) -> State:
        """The state of a parameter before its first step."""
        raise NotImplementedError

    def _step_group(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        """Update ``params``, which all have gradients and state."""
        raise NotImplementedError


def new_state(param: Tensor, group: Group, *names: str) -> State:
    """The state before the first step: no steps counted, and zeros like the parameter under each name."""
    return {"step": new_step_count(param, group), **{name: weft.zeros_like(param) for name in names}}


def new_step_count(param: Tensor, group: Group) -> Tensor:
    """The ``"step"`` of a state: a float32 scalar, as in PyTorch's files."""
    return weft.zeros((), dtype=weft.float32, device=place_of_counts(param, group))


def place_of_counts(param: Tensor, group: Group) -> Any:
    """The device of a parameter's step count: the CPU, where formulas need no kernels for it, unless capturable."""
    return param.device if group.get("capturable") else "cpu"


def real_views(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Complex tensors as real ones of one more dimension, sharing memory: their parts are stepped separately."""
    return [weft.view_as_real(t) if t._key.is_complex else t for t in tensors]


def state_tensors(states: Sequence[State], name: str) -> list[Tensor]:
    """One entry of every state, complex ones as real views."""
    return real_views(state[name] for state in states)


def given_options(arguments: dict[str, Any], **changed: Any) -> Group:
    """The options that an optimizer is made with: of its constructor's first ``locals()``, all but ``params``."""
    return {name: value for name, value in arguments.items() if name not in ("self", "params", "__class__")} | changed


def check_options(name: str, *, lr: Any = 0.0, at_least_zero: dict[str, Any] | None = None) -> None:
    """Raise ValueError for a learning rate or option below zero (or nan), or a tensor ``lr`` of more elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(f"{name}: Tensor lr must be 1-element, got shape {tuple(lr.shape)}")
    for option, value in {"lr": lr, **(at_least_zero or {})}.items():
        if not value >= 0.0:
            label = "learning rate" if option == "lr" else f"{option} value"
            raise ValueError(f"{name}: Invalid {label}: {value}; {option} must be at least 0")


def check_betas(name: str, betas: Sequence[Any]) -> None:
    """Raise ValueError unless both decay rates are in [0, 1)."""
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"{name}: Invalid beta parameter at index {index}: {beta}; it must be in [0, 1)")


def check_modes(name: str, *, foreach: bool | None, fused: bool | None, differentiable: bool) -> None:
    """Raise for combinations of ``foreach``, ``fused`` and ``differentiable`` that PyTorch refuses."""
    if fused and differentiable:
        raise RuntimeError(f"{name}: `fused` does not support `differentiable`; leave one of them out")
    if fused and foreach:
        raise RuntimeError(f"{name}: `fused` and `foreach` cannot be `True` together; leave one of them out")


def advance(states: Sequence[State]) -> list[Any]:
    """Count one more step in each state; the counts, from 1.

    They are numbers; on a device, and where interceptors watch, the tensors that hold them.
    """
    steps = [state["step"] for state in states]
    if is_watched() and not weft.is_grad_enabled():
        counting.run((steps,), {})
        return steps
    return count_steps(steps)


def count_steps(steps: Sequence[Tensor]) -> list[Any]:
    """Add 1 to each tensor; the sums, on a device in the tensors themselves."""
    counts: list[Any] = []
    for step in steps:
        if step._key.device.type != "cpu":
            counts.append(step.add_(1))
            continue
        count = step._array
        count += 1  # without an op: this is a count, which nothing differentiates, of each parameter at each step
        bump_version(step, "step")
        counts.append(count.item())
    return counts


counting = Operation("optim::count_steps", count_steps)
counting.array_function = lambda values: count_arrays


def count_arrays(steps: Sequence[Any]) -> list[float]:
    """`count_steps` of arrays on the CPU."""
    for step in steps:
        step += 1
    return [step.item() for step in steps]


def sparse_parts(grad: Any) -> tuple[tuple[Tensor, ...], Tensor]:
    """The index of the elements that a sparse gradient names, each once, and their gradients."""
    grad = grad.coalesce()
    return tuple(grad.indices()), grad.values()


def unused(params: Sequence[Any]) -> list[None]:
    """For each parameter None: for a formula's state that the options do not need."""
    return [None] * len(params)


def scalar(value: Any, differentiable: bool = False) -> Any:
    """A one-element tensor as a Python number, unless gradients must flow through it or a device be waited for."""
    if not isinstance(value, Tensor):
        return value
    return value.reshape(()) if differentiable or value.device.type != "cpu" else value.item()


def as_saved(state: Any) -> Any:
    """State that a formula reads and then writes: of a tensor, whose reading may be recorded, a copy to be saved."""
    return state.clone() if isinstance(state, Tensor) else state


def add_decay(grad: Any, param: Any, weight_decay: Any) -> Any:
    """``grad + weight_decay * param``; the decay may be a tensor."""
    if isinstance(weight_decay, Tensor):
        return grad + as_saved(param) * weight_decay
    return grad.add(param, alpha=weight_decay)


def average(mean: Any, value: Any, decay: Any) -> Any:
    """``mean = decay * mean + (1 - decay) * value`` in place; the decay may be a tensor."""
    if isinstance(decay, Tensor):
        return mean.copy_(as_saved(mean) * decay + value * (1 - decay))
    return mean.lerp_(value, 1 - decay)


def average_square(mean: Any, value: Any, decay: Any) -> Any:
    """``mean = decay * mean + (1 - decay) * value**2`` in place; the decay may be a tensor."""
    if isinstance(decay, Tensor):
        return mean.copy_(as_saved(mean) * decay + value * value * (1 - decay))
    return mean.mul_(decay).addcmul_(value, value, value=1 - decay)


def square_root(value: Any) -> Any:
    """The square root of a number or a tensor."""
    return value.sqrt() if isinstance(value, Tensor) else math.sqrt(value)


def add_scaled(target: Tensor, other: Tensor, scale: Any) -> None:
    """``target += scale * other`` in place; the scale may be a tensor."""
    if isinstance(scale, Tensor):
        target.add_(other.to(target.dtype) * scale)
    else:
        target.add_(other, alpha=scale)


def add_ratio(target: Tensor, numerator: Tensor, denominator: Tensor, scale: Any) -> None:
    """``target += scale * numerator / denominator`` in place; the scale may be a tensor."""
    if isinstance(scale, Tensor):
        target.add_(numerator / denominator * scale)
    else:
        target.addcdiv_(numerator, denominator, value=scale)


Optimizer.step = _with_step_hooks(Optimizer.step)  # type: ignore[method-assign]
