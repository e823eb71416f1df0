"""Saving a module's state as a flat dictionary, and loading it back with a report of what did not fit."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import weft
from weft import Tensor
from weft.nn._module.conversion import Conversion
from weft.nn.parameter import Parameter, UninitializedTensorMixin
from weft.utils.hooks import RemovableHandle

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """The result of `Module.load_state_dict`: the keys that had no counterpart."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class StateDict(Conversion):
    """`state_dict`, `load_state_dict`, and their hooks."""

    # -- saving ------------------------------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Return all parameters and persistent buffers, here and below, by dotted name.

        Parameters
        ----------
        destination : dict, optional
            Where to put them; by default a new OrderedDict.
        prefix : str
            Put before each name as it is, so it usually ends in a dot.
        keep_vars : bool
            Whether the values keep their autograd history; by default they are detached. Memory is shared either way:
            copy what you want to keep from being trained further.

        Returns
        -------
        dict
            Its attribute ``_metadata`` has the version of each module class, by path.

        Examples
        --------
        >>> layer = weft.nn.Linear(3, 2)
        >>> {name: tensor.shape for name, tensor in layer.state_dict(prefix="head.").items()}
        {'head.weight': weft.Size([2, 3]), 'head.bias': weft.Size([2])}
        """
        if args:
            warnings.warn(
                "state_dict: positional arguments are deprecated; use destination=, prefix= and keep_vars=",
                FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            return self.state_dict(**{"destination": destination, "prefix": prefix, "keep_vars": keep_vars, **given})
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata

        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError(
                    f"state_dict: a post-hook must return None, got {type(result).__name__}; change the dict in place"
                )
            destination = result
        return destination

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Put this module's own parameters, persistent buffers and extra state into ``destination``."""
        for name, tensor in self._local_state().items():
            keep = keep_vars or isinstance(tensor, UninitializedTensorMixin)
            destination[prefix + name] = tensor if keep else tensor.detach()
        if type(self).get_extra_state is not StateDict.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _local_state(self) -> dict[str, Tensor]:
        parameters = {name: each for name, each in self._parameters.items() if each is not None}
        hidden = self._non_persistent_buffers_set
        buffers = {name: each for name, each in self._buffers.items() if each is not None and name not in hidden}
        return {**parameters, **buffers}

    # -- loading -----------------------------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy parameters and buffers from ``state_dict`` into this module and those below.

        Parameters
        ----------
        state_dict : Mapping of str to Tensor
            As made by `state_dict`.
        strict : bool
            Whether the keys must be exactly this module's; otherwise what has no counterpart is left alone.
        assign : bool
            Whether to take over the given tensors, with their dtype and device, rather than copying their values.

        Returns
        -------
        (missing_keys, unexpected_keys)

        Raises
        ------
        RuntimeError
            If a shape differs, or (when strict) a key; the message lists all of them.
        TypeError
            If ``state_dict`` is not a mapping.

        Examples
        --------
        >>> layer, other = weft.nn.Linear(3, 2), weft.nn.Linear(3, 2)
        >>> layer.load_state_dict(other.state_dict())
        <All keys matched successfully>
        >>> layer.load_state_dict({"weight": weft.zeros(2, 3)}, strict=False).missing_keys
        ['bias']
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict: Expected state_dict to be dict-like, got {type(state_dict)}.")
        loading = _Loading(getattr(state_dict, "_metadata", None) or {}, assign)
        loading.load(self, OrderedDict(state_dict), prefix="")
        errors = loading.error_msgs
        if strict and loading.unexpected_keys:
            errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(loading.unexpected_keys)}. ")
        if strict and loading.missing_keys:
            errors.insert(0, f"Missing key(s) in state_dict: {_quoted(loading.missing_keys)}. ")
        if errors:
            report = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {self._get_name()}:\n\t{report}")
        return _IncompatibleKeys(loading.missing_keys, loading.unexpected_keys)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own tensors; override it to read the formats of older versions of your class.

        Parameters
        ----------
        state_dict : dict
            The whole of it. A copy of what the user gave, so that it may be changed here.
        prefix : str
            What this module's keys begin with.
        local_metadata : dict
            This module's entry of ``_metadata``, such as ``{"version": 1}``.
        strict : bool
            Whether to fill the next two.
        missing_keys, unexpected_keys, error_msgs : list of str
            Filled here, reported by `load_state_dict`.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            found = (state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
            if isinstance(hook, _TakesModule):
                hook.hook(self, *found)
            else:
                hook(*found)
        local_state = self._local_state()
        assign = bool(local_metadata.get("assign_to_params_buffers", False))
        for name, tensor in local_state.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_tensor(name, tensor, key, state_dict[key], assign)
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix + _EXTRA_STATE_KEY_SUFFIX, strict, missing_keys, unexpected_keys)
        if strict:
            unexpected_keys += self._keys_without_counterpart(state_dict, prefix, local_state)

    def _load_tensor(self, name: str, tensor: Tensor, key: str, value: Any, assign: bool) -> str | None:
        """Load one tensor; return what is wrong with it, if anything."""
        if not isinstance(value, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(value)}"
            )
        uninitialized = isinstance(tensor, UninitializedTensorMixin)
        if not uninitialized:
            if tensor.dim() == 0 and tuple(value.shape) == (1,):
                value = value[0]  # files from before 0-dimensional tensors existed
            if value.shape != tensor.shape:
                return (
                    f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                    f"the shape in current model is {tensor.shape}."
                )
        try:
            self._take_value(name, tensor, key, value, assign)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and '
                f"whose dimensions in the checkpoint are {value.size()}, an exception occurred : {error.args}."
            )
        return None

    def _take_value(self, name: str, tensor: Tensor, key: str, value: Tensor, assign: bool) -> None:
        with weft.no_grad():
            if not assign:
                if tensor.is_meta and not value.is_meta:
                    warnings.warn(
                        f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
                        "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
                        "state dictionary to their corresponding key in the module instead of copying them in place?)",
                        stacklevel=2,
                    )
                tensor.copy_(value)
                return
            if isinstance(tensor, Parameter):
                if isinstance(value, Parameter):
                    value.requires_grad_(tensor.requires_grad)
                else:
                    value = Parameter(value, requires_grad=tensor.requires_grad)
            setattr(self, name, value)

    def _load_extra_state(
        self, state_dict: dict[str, Any], key: str, strict: bool, missing_keys: list[str], unexpected_keys: list[str]
    ) -> None:
        if type(self).set_extra_state is not StateDict.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def _keys_without_counterpart(
        self, state_dict: Mapping[str, Any], prefix: str, local_state: Mapping[str, Any]
    ) -> list[str]:
        unexpected = []
        for key in state_dict:
            if not key.startswith(prefix) or key == prefix + _EXTRA_STATE_KEY_SUFFIX:
                continue
            name, dot, _ = key[len(prefix) :].partition(".")
            known: Mapping[str, Any] = self._modules if dot else local_state
            if name not in known:
                unexpected.append(key)
        return unexpected

    # -- hooks -------------------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` reads this module."""
        return _added(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after `state_dict` has read this module.

        It may change the dict in place, and must return None.
        """
        hook._from_public_api = True  # type: ignore[attr-defined]
        return _added(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As `register_state_dict_post_hook`, but the hook may return another dict. Kept for older programs."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "_register_state_dict_hook: this hook was registered by register_state_dict_post_hook before; "
                "wrap it in another function"
            )
        return _added(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``.

        It runs before this module loads, and may rename or add keys in place.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """As `register_load_state_dict_pre_hook`; the module is given only on request. Kept for older programs."""
        return _added(self._load_state_dict_pre_hooks, _TakesModule(hook) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after this module has loaded.

        It may change ``incompatible_keys.missing_keys`` and ``.unexpected_keys`` in place, and must return None.
        """
        return _added(self._load_state_dict_post_hooks, hook)


class _TakesModule:
    """Marks a hook that is given its module. The hook does not hold the module: that would be a reference cycle."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook = hook


class _Loading:
    """One run of `load_state_dict` over a tree of modules, and what it found."""

    def __init__(self, metadata: Mapping[str, Any], assign: bool) -> None:
        self.metadata = metadata
        self.assign = assign
        self.missing_keys: list[str] = []
        self.unexpected_keys: list[str] = []
        self.error_msgs: list[str] = []

    def load(self, module: StateDict, state_dict: dict[str, Any], prefix: str) -> None:
        """Load ``module`` and all below it from ``state_dict``, whose keys begin with ``prefix``."""
        local_metadata = dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            local_metadata["assign_to_params_buffers"] = True
        lists = (self.missing_keys, self.unexpected_keys, self.error_msgs)
        module._load_from_state_dict(state_dict, prefix, local_metadata, True, *lists)
        for name, child in module._modules.items():
            if child is not None:
                child_prefix = f"{prefix}{name}."  # a dict of its own: what the child's hooks rename stays with it
                child_state = {key: value for key, value in state_dict.items() if key.startswith(child_prefix)}
                self.load(child, child_state, child_prefix)
        for hook in module._load_state_dict_post_hooks.values():
            result = hook(module, _IncompatibleKeys(self.missing_keys, self.unexpected_keys))
            if result is not None:
                raise AssertionError(
                    "load_state_dict: Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                    f"return new values, got {type(result).__name__}; change incompatible_keys in place"
                )


def _added(hooks: dict[int, Any], hook: Any) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take ``prefix`` off the names in a state dict, in place: of a model that was saved inside of a `DataParallel`.

    Parameters
    ----------
    state_dict : dict
    prefix : str
        With its dot, as ``"module."``; names that do not begin with it stay.

    Examples
    --------
    >>> state = {"module.weight": 1, "step": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'step': 2, 'weight': 1}
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    versions = getattr(state_dict, "_metadata", None) or {}
    for key in [key for key in versions if key and (key == prefix.rstrip(".") or key.startswith(prefix))]:
        versions[key[len(prefix) :]] = versions.pop(key)
