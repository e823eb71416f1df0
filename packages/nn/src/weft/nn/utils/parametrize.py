"""Parametrization: a parameter that is computed, each time it is read, from others that are trained.

After ``register_parametrization(module, "weight", f)`` the attribute ``module.weight`` is ``f(original)``, where
``original`` is the parameter that was there; it is trained, and saved as ``parametrizations.weight.original``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

import weft
from weft import Tensor
from weft.nn.containers import ModuleDict, ModuleList
from weft.nn.module import Module
from weft.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache: dict[tuple[int, str], Any] = {}
_cache_users = 0


@contextmanager
def cached() -> Iterator[None]:
    """Within this context each parametrized tensor is computed once, however often it is read."""
    global _cache_users
    _cache_users += 1
    try:
        yield
    finally:
        _cache_users -= 1
        if _cache_users == 0:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and the tensors that they start from.

    Parameters
    ----------
    modules : sequence of Module
        Each maps a tensor to a tensor. The first may take several tensors, if its ``right_inverse`` gives them.
    original : Tensor
        What was there; passed through the ``right_inverse`` of the modules that have one.
    unsafe : bool
        Whether to skip the checks that shape and dtype stay.

    Attributes
    ----------
    original : Parameter or Tensor
        Or ``original0``, ``original1`` and so on, if there are several.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules")
        super().__init__(modules)
        self.unsafe = unsafe
        start: Any = original
        with weft.no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):  # of some settings only: the tensor stays the original
                        start = module.right_inverse(start)
        self.is_tensor = isinstance(start, Tensor)
        starts = [start] if self.is_tensor else list(start)
        self.ntensors = len(starts)
        for name, value in zip(self._names(), starts, strict=True):
            self._keep(name, value, original)
        if not unsafe:
            self._check(original)

    def _names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{number}" for number in range(self.ntensors)]

    def _keep(self, name: str, value: Tensor, original: Tensor) -> None:
        if self.is_tensor and isinstance(original, Parameter):
            # The Parameter object stays the same, so that an optimizer that has it already goes on with it.
            original.data = value.detach().clone() if value is original else value.detach()
            self.register_parameter(name, original)
        elif isinstance(original, Parameter):
            trained = value.is_floating_point() or value.is_complex()
            self.register_parameter(name, Parameter(value.detach(), requires_grad=trained and original.requires_grad))
        else:
            self.register_buffer(name, value)

    def _check(self, original: Tensor) -> None:
        result = self()
        if not isinstance(result, Tensor):
            raise ValueError(f"register_parametrization: must return a tensor, got {type(result).__name__}")
        if result.dtype != original.dtype or result.shape != original.shape:
            raise ValueError(
                f"register_parametrization: may not change dtype or shape, {original.dtype} {tuple(original.shape)} "
                f"became {result.dtype} {tuple(result.shape)}; unsafe=True allows it"
            )

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes ``value``."""
        with weft.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrize: {type(module).__name__} has no right_inverse, so that the tensor cannot be set"
                    )
                value = module.right_inverse(value)
            for name, part in zip(self._names(), [value] if self.is_tensor else value, strict=True):
                getattr(self, name).copy_(part)

    def forward(self) -> Any:
        """Compute the parametrized tensor."""
        modules = iter(self)
        result = next(modules)(*(getattr(self, name) for name in self._names()))
        for module in modules:
            result = module(result)
        return result


def _parametrized_class(module: Module) -> type[Module]:
    """Return a subclass for one module alone, so that it can have properties of its own."""
    cls = type(module)

    def refuse_pickling(self: Module) -> Any:
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict()")

    def deepcopy(self: Module, memo: dict[int, Any]) -> Module:
        replica = self.__new__(type(self))
        memo[id(self)] = replica
        replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return replica

    members = {"__getstate__": refuse_pickling, "__deepcopy__": deepcopy, "__module__": cls.__module__}
    return type(f"Parametrized{cls.__name__}", (cls,), members)


def _add_property(module: Module, tensor_name: str) -> None:
    def get(self: Module) -> Any:
        parametrization = cast(ModuleDict, self.parametrizations)[tensor_name]
        if not _cache_users:
            return parametrization()
        key = (id(self), tensor_name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def set_(self: Module, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(get, set_))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let the attribute ``tensor_name`` of ``module`` be computed by ``parametrization`` from now on.

    Parameters
    ----------
    module : Module
    tensor_name : str
        Of a parameter or a buffer. If it is parametrized already, this one is applied after the others.
    parametrization : Module
        Maps a tensor to one of the same shape and dtype. With a method ``right_inverse`` the tensor can be assigned.
    unsafe : bool
        Whether to skip the checks of shape and dtype.

    Returns
    -------
    Module
        ``module``

    Raises
    ------
    ValueError
        If there is no such tensor, or shape or dtype would change.

    Examples
    --------
    >>> class Symmetric(weft.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = register_parametrization(weft.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        before = getattr(module, tensor_name)
        added = module.parametrizations[tensor_name]
        if hasattr(parametrization, "right_inverse") and not unsafe:
            _check_link(parametrization, before)
        added.append(parametrization)
        added.unsafe |= unsafe
        if not unsafe:
            added._check(before)
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"register_parametrization: {module._get_name()} has no parameter, buffer or parametrized element with "
            f"name '{tensor_name}'; it has {[*module._parameters, *module._buffers]}"
        )
    parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.__class__ = _parametrized_class(module)
        module.parametrizations = ModuleDict()
    _add_property(module, tensor_name)
    cast(ModuleDict, module.parametrizations)[tensor_name] = parametrizations
    return module


def _check_link(parametrization: Module, value: Tensor) -> None:
    with weft.no_grad():
        inverse = parametrization.right_inverse(value)
    if not isinstance(inverse, Tensor) or inverse.shape != value.shape or inverse.dtype != value.dtype:
        raise ValueError(
            "register_parametrization: right_inverse of a parametrization after the first must return one tensor of "
            f"the same shape and dtype, {value.dtype} {tuple(value.shape)}"
        )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether ``module`` has a parametrized tensor, or one of that name."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the attribute ``tensor_name`` an ordinary parameter or buffer again.

    Parameters
    ----------
    module : Module
    tensor_name : str
    leave_parametrized : bool
        Whether it keeps its present value; otherwise it takes the original's.

    Returns
    -------
    Module
        ``module``

    Raises
    ------
    ValueError
        If it is not parametrized, or there are several originals to choose from.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"remove_parametrizations: {module._get_name()} has no parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with weft.no_grad():
                original.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "remove_parametrizations: a parametrization of several originals has no single one to go back to; pass "
            "leave_parametrized=True"
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that ``module`` had before its first parametrization."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Parametrize tensors of ``to_module`` as those of ``from_module``, and let it have their originals.

    Parameters
    ----------
    from_module, to_module : Module
    tensor_name : str, optional
        Of one tensor; by default all that are parametrized. What ``to_module`` lacks is added to it.

    Returns
    -------
    Module
        ``to_module``
    """
    if not is_parametrized(from_module):
        return to_module
    for name in from_module.parametrizations if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization, unsafe=source.unsafe)
        for original in source._names():
            setattr(to_module.parametrizations[name], original, getattr(source, original))
    return to_module
