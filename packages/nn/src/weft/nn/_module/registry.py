"""The parameters, buffers and submodules of a module, and the rules for its attributes."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from weft import Tensor
from weft.nn.parameter import Buffer, Parameter

if TYPE_CHECKING:
    from weft.nn.module import Module  # imports this module, and puts its class here

Self = TypeVar("Self", bound="Registry")

# Hooks that see every registration, of every module: (module, name, value) -> None or what to register instead.
parameter_registration_hooks: dict[int, Callable[..., Any]] = OrderedDict()
buffer_registration_hooks: dict[int, Callable[..., Any]] = OrderedDict()
module_registration_hooks: dict[int, Callable[..., Any]] = OrderedDict()

# The tables in the order in which programs print them; made anew for each module.
_TABLES: Mapping[str, Callable[[], Any]] = {
    "_parameters": dict,
    "_buffers": dict,
    "_non_persistent_buffers_set": set,
    "_backward_pre_hooks": OrderedDict,
    "_backward_hooks": OrderedDict,
    "_is_full_backward_hook": lambda: None,
    "_forward_hooks": OrderedDict,
    "_forward_hooks_with_kwargs": OrderedDict,
    "_forward_hooks_always_called": OrderedDict,
    "_forward_pre_hooks": OrderedDict,
    "_forward_pre_hooks_with_kwargs": OrderedDict,
    "_state_dict_hooks": OrderedDict,
    "_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_post_hooks": OrderedDict,
    "_modules": dict,
}


def _replaced_by_hooks(hooks: Mapping[int, Callable[..., Any]], module: Registry, name: str, value: Any) -> Any:
    for hook in hooks.values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


def _checked_name(module: Registry, kind: str, name: Any, own_table: Mapping[str, Any]) -> str:
    """Return ``name``, or raise the error for a name that a parameter, buffer or submodule cannot have."""
    if not isinstance(name, str):
        raise TypeError(f"register_{kind}: {kind} name should be a string. Got {type(name).__name__}")
    if hasattr(module, name) and name not in own_table:
        raise KeyError(
            f"register_{kind}: attribute '{name}' already exists in {type(module).__name__}; "
            "choose another name, or delete the attribute first"
        )
    if "." in name:
        raise KeyError(
            f"register_{kind}: {kind} name can't contain \".\", got '{name}'; dots separate modules in state dicts"
        )
    if name == "":
        raise KeyError(f'register_{kind}: {kind} name can\'t be empty string ""')
    return name


class Registry:
    """Parameters, buffers and submodules of a module, each in a table of its own."""

    dump_patches: ClassVar[bool] = False
    call_super_init: ClassVar[bool] = False
    _version: int = 1

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _backward_pre_hooks: dict[int, Callable[..., Any]]
    _backward_hooks: dict[int, Callable[..., Any]]
    _is_full_backward_hook: bool | None
    _forward_hooks: dict[int, Callable[..., Any]]
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]
    _forward_pre_hooks: dict[int, Callable[..., Any]]
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    _state_dict_hooks: dict[int, Callable[..., Any]]
    _state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: dict[int, Any]
    _load_state_dict_post_hooks: dict[int, Callable[..., Any]]
    _modules: dict[str, Module | None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            given = [repr(value) for value in args] + [f"{name}={value!r}" for name, value in kwargs.items()]
            raise TypeError(
                f"{type(self).__name__}.__init__: Module takes no arguments, got {', '.join(given)}; "
                "keep them for your own __init__, and call super().__init__()"
            )
        fields = self.__dict__
        fields["training"] = True
        for name, make in _TABLES.items():
            fields[name] = make()
        if self.call_super_init:  # cooperative multiple inheritance: the next class in line gets the arguments
            super().__init__(*args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name, make in _TABLES.items():  # a pickle from before a table existed
            if name not in self.__dict__:
                self.__dict__[name] = make()

    # -- attributes --------------------------------------------------------------------------------------------------

    # Typed Any: a checker cannot know whether a name is a Tensor or a Module, and either guess is mostly wrong.
    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        parameters = fields.get("_parameters")
        if parameters is not None:
            if name in parameters:
                return parameters[name]
            if name in fields["_buffers"]:
                return fields["_buffers"][name]
            if name in fields["_modules"]:
                return fields["_modules"][name]
        raise AttributeError(self._missing_attribute_message(name), name=name, obj=self)

    def _missing_attribute_message(self, name: str) -> str:
        message = f"'{type(self).__name__}' object has no attribute '{name}'"
        if name in _TABLES or name == "training":
            return message + "; call super().__init__() at the start of your module's __init__"
        if isinstance(getattr(type(self), name, None), property):
            return message + f"; its property '{name}' raised an AttributeError of its own"
        return message

    # `Module.__setattr__` and `__delattr__`: there, so that super(Module, self).__setattr__ is object's, by which
    # programs keep a module from the tables.
    def _set_attribute(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self._set_parameter(name, value)
        elif name in self.__dict__.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as parameter '{name}' of {type(self).__name__} "
                    "(Parameter or None expected); wrap it: weft.nn.Parameter(value)"
                )
            self.register_parameter(name, None)
        elif isinstance(value, Registry):
            self._set_module(name, value)
        elif name in self.__dict__.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as child module '{name}' of {type(self).__name__} "
                    "(Module or None expected)"
                )
            self._modules[name] = _replaced_by_hooks(module_registration_hooks, self, name, value)
        elif isinstance(value, Buffer) or name in self.__dict__.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_parameter(self, name: str, value: Parameter) -> None:
        self._require_tables("parameters", name)
        self._forget(name, self.__dict__, self._buffers, self._modules)
        self._non_persistent_buffers_set.discard(name)
        self.register_parameter(name, value)

    def _set_module(self, name: str, value: Any) -> None:
        self._require_tables("module", name)
        self._forget(name, self.__dict__, self._parameters, self._buffers)
        self._non_persistent_buffers_set.discard(name)
        self._modules[name] = _replaced_by_hooks(module_registration_hooks, self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        self._require_tables("buffer", name)
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{_type_name(value)}' as buffer '{name}' of {type(self).__name__} "
                "(Tensor, Buffer or None expected)"
            )
        persistent = value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
        if type(self).register_buffer is not Registry.register_buffer:
            self._register_by_override(name, value, persistent)
        elif isinstance(value, Buffer):
            self.register_buffer(name, value, persistent)
        else:
            self._buffers[name] = _replaced_by_hooks(buffer_registration_hooks, self, name, value)

    def _register_by_override(self, name: str, value: Any, persistent: bool) -> None:
        """Call a subclass's own `register_buffer`, which may be older than the argument ``persistent``."""
        if "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                f"cannot assign the non-persistent buffer '{name}': Registering a non-persistent buffer on a Module "
                f"subclass that implements register_buffer() without the persistent argument is not allowed; give "
                f"{type(self).__name__}.register_buffer the argument"
            )

    def _delete_attribute(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[:1].isdigit())  # '0' of a Sequential completes nothing

    def _require_tables(self, kind: str, name: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(
                f"cannot assign {kind} before Module.__init__() call: {type(self).__name__}.{name} was set first; "
                "call super().__init__() at the start of __init__"
            )

    @staticmethod
    def _forget(name: str, *tables: dict[str, Any]) -> None:
        for table in tables:
            table.pop(name, None)

    # -- registration ------------------------------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under ``name``, after which it is an attribute, too.

        Parameters
        ----------
        name : str
            Without dots, and not yet an attribute.
        param : Parameter or None
            None keeps the place: it is left out of `parameters` and of the state dict.

        Raises
        ------
        KeyError
            For a name that is taken, empty or has a dot.
        TypeError
            If ``param`` is neither a Parameter nor None.
        ValueError
            If ``param`` is the result of a differentiable operation.

        Examples
        --------
        >>> module = weft.nn.Module()
        >>> module.register_parameter("scale", weft.nn.Parameter(weft.ones(1)))
        >>> module.scale
        Parameter containing:
        tensor([1.], requires_grad=True)
        """
        self._require_tables("parameter", str(name))
        _checked_name(self, "parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"register_parameter: cannot assign '{_type_name(param)}' object to parameter '{name}' "
                    "(Parameter or None required); wrap it: weft.nn.Parameter(value)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"register_parameter: cannot assign non-leaf Tensor to parameter '{name}', since it was computed "
                    "from others; compute it in forward() instead, from parameters that are leaves"
                )
            param = _replaced_by_hooks(parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the module's state but is not trained, such as a running mean.

        Parameters
        ----------
        name : str
            Without dots, and not yet an attribute.
        tensor : Tensor or None
            None keeps the place: it is not converted by `to`, and not in the state dict.
        persistent : bool
            Whether it is part of the state dict.

        Raises
        ------
        KeyError
            For a name that is taken, empty or has a dot.
        TypeError
            If ``tensor`` is neither a Tensor nor None.

        Examples
        --------
        >>> module = weft.nn.Module()
        >>> module.register_buffer("mean", weft.zeros(2))
        >>> list(module.state_dict()), list(module.parameters())
        (['mean'], [])
        """
        self._require_tables("buffer", str(name))
        _checked_name(self, "buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"register_buffer: cannot assign '{_type_name(tensor)}' object to buffer '{name}' "
                "(Tensor or None required)"
            )
        self._buffers[name] = _replaced_by_hooks(buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under ``name``, after which it is an attribute, too.

        Parameters
        ----------
        name : str
            Without dots, and not yet an attribute.
        module : Module or None

        Raises
        ------
        KeyError
            For a name that is taken, empty or has a dot.
        TypeError
            If ``module`` is neither a Module nor None.

        Examples
        --------
        >>> module = weft.nn.Module()
        >>> module.add_module("head", weft.nn.Linear(3, 2))
        >>> module
        Module(
          (head): Linear(in_features=3, out_features=2, bias=True)
        )
        """
        if module is not None and not isinstance(module, Registry):
            raise TypeError(f"add_module: {_type_name(module)} is not a Module subclass (Module or None required)")
        self._require_tables("module", str(name))
        _checked_name(self, "module", name, self._modules)
        self._modules[name] = _replaced_by_hooks(module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`.

        Parameters
        ----------
        name : str
        module : Module or None
            As of `add_module`.

        Examples
        --------
        >>> module = weft.nn.Module()
        >>> module.register_module("activation", weft.nn.ReLU())
        >>> module.activation
        ReLU()
        """
        self.add_module(name, module)

    # -- state that is not a tensor ----------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """Return what the state dict should hold besides tensors; override together with `set_extra_state`."""
        raise RuntimeError(f"get_extra_state: {type(self).__name__} has none; override get_extra_state to add it")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned; called by `load_state_dict`."""
        raise RuntimeError(
            f"set_extra_state: {type(self).__name__} cannot take one; override set_extra_state to read it"
        )


def _type_name(value: Any) -> str:
    return str(value.type()) if isinstance(value, Tensor) else type(value).__name__
