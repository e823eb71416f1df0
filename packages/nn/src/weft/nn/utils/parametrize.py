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
    """Within this context each parametrized tensor is computed once, however often it is read.

    Examples
    --------
    >>> class Symmetric(weft.nn.Module):
    ...     def forward(self, matrix):
    ...         return matrix.triu() + matrix.triu(1).mT
    >>> layer = weft.nn.Linear(3, 3)
    >>> _ = register_parametrization(layer, "weight", Symmetric())
    >>> with cached():
    ...     layer.weight is layer.weight
    True
    """
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

    def __iter__(self) -> Iterator[Module]:
        """Iterate over the parametrizations alone: originals can be parametrized themselves."""
        return iter([module for name, module in self._modules.items() if name.isdecimal()])

    def __len__(self) -> int:
        return sum(name.isdecimal() for name in self._modules)

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
        if not self.is_tensor and not isinstance(start, Sequence):
            raise ValueError(
                "register_parametrization: 'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                f"tuple...). Got {type(start).__name__}"
            )
        starts = [start] if self.is_tensor else list(start)
        self.ntensors = len(starts)
        for value in starts:
            if not isinstance(value, Tensor):
                raise ValueError(
                    "register_parametrization: 'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                    f"tuple...). Got an element of the sequence with type {type(value).__name__}"
                )
        if self.is_tensor and start.dtype != original.dtype:
            raise ValueError(
                "register_parametrization: When `right_inverse` outputs one tensor, it may not change the dtype: "
                f"{original.dtype} became {start.dtype}"
            )
        before = original.data
        try:
            for name, value in zip(self._names(), starts, strict=True):
                self._keep(name, value, original)
            if not unsafe:
                with weft.no_grad():
                    _check_unchanged(self(), before, "")
        except BaseException:
            original.data = before  # a parametrization that is refused leaves the module as it was
            raise

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

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes ``value``."""
        with weft.no_grad():
            start: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse, so that the tensor "
                        "cannot be set"
                    )
                start = module.right_inverse(start)
            names = self._names()
            originals = [getattr(self, name) for name in names]
            parts = [start] if self.is_tensor else start
            if not isinstance(parts, Sequence):
                raise ValueError(
                    f"parametrize: 'right_inverse' must return a sequence of tensors. Got {type(start).__name__}."
                )
            if len(parts) != len(names):
                raise ValueError(
                    f"parametrize: 'right_inverse' must return a sequence of tensors of length {len(names)}, "
                    f"{', '.join(names)}. Got a sequence of length {len(parts)}."
                )
            for name, original, part in zip(names, originals, parts, strict=True):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        f"parametrize: `right_inverse` should return a tensor for `{name}`. Got {type(part).__name__}"
                    )
                if part.dtype != original.dtype:
                    raise ValueError(
                        f"parametrize: the tensor returned by `right_inverse` has dtype {part.dtype} while `{name}` "
                        f"has dtype {original.dtype}"
                    )
            for original, part in zip(originals, parts, strict=True):
                if part.shape == original.shape:
                    original.copy_(part)
                else:
                    original.data = part.detach().clone()

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
        if not unsafe:
            with weft.no_grad():
                _check_link(parametrization, getattr(module, tensor_name))
        added = module.parametrizations[tensor_name]
        added.append(parametrization)
        added.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"register_parametrization: {module._get_name()} does not have a parameter, a buffer, or a parametrized "
            f"element with name '{tensor_name}'; it has {[*module._parameters, *module._buffers]}"
        )
    parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.__class__ = _parametrized_class(module)
        module.parametrizations = ModuleDict()
    _add_property(module, tensor_name)
    cast(ModuleDict, module.parametrizations)[tensor_name] = parametrizations
    return module


def _check_unchanged(result: Any, like: Tensor, method: str) -> None:
    """Raise ValueError unless ``result`` is a tensor of the shape and dtype of another."""
    what = f"register_parametrization: A parametrization{method}"
    if not isinstance(result, Tensor):
        raise ValueError(f"{what} must return a tensor. Got {type(result).__name__}.")
    for name, found, wanted in (("dtype", result.dtype, like.dtype), ("shape", result.shape, like.shape)):
        if found != wanted:
            raise ValueError(
                f"{what} must return a tensor of the same {name}: Registering a parametrization may not change the "
                f"{name} of the tensor, unless the `unsafe` flag is enabled, but {wanted} became {found}"
            )


def _check_link(parametrization: Module, value: Tensor) -> None:
    """Raise ValueError if a parametrization after the first does not fit between the others and the tensor."""
    result = parametrization(value)
    _check_unchanged(result, value, "")
    if hasattr(parametrization, "right_inverse"):
        with suppress(NotImplementedError):
            _check_unchanged(parametrization.right_inverse(result), value, "'s right_inverse, after the first,")


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether ``module`` has a parametrized tensor, or one of that name.

    Parameters
    ----------
    module : Module
    tensor_name : str, optional

    Examples
    --------
    >>> layer = weft.nn.utils.parametrizations.weight_norm(weft.nn.Linear(2, 3))
    >>> is_parametrized(layer), is_parametrized(layer, "weight"), is_parametrized(layer, "bias")
    (True, True, False)
    """
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

    Examples
    --------
    >>> class Symmetric(weft.nn.Module):
    ...     def forward(self, matrix):
    ...         return matrix.triu() + matrix.triu(1).mT
    >>> layer = weft.nn.Linear(3, 3)
    >>> _ = register_parametrization(layer, "weight", Symmetric())
    >>> _ = remove_parametrizations(layer, "weight")
    >>> type(layer).__name__, bool((layer.weight == layer.weight.mT).all())
    ('Linear', True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"remove_parametrizations: {module._get_name()} does not have a parametrization on {tensor_name}"
        )
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
            "remove_parametrizations: with leave_parametrized=False a parametrization of several originals has no "
            "single one to go back to; pass leave_parametrized=True"
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

    Examples
    --------
    >>> class Symmetric(weft.nn.Module):
    ...     def forward(self, matrix):
    ...         return matrix.triu() + matrix.triu(1).mT
    >>> layer = weft.nn.Linear(3, 3)
    >>> _ = register_parametrization(layer, "weight", Symmetric())
    >>> other = transfer_parametrizations_and_params(layer, weft.nn.Linear(3, 3))
    >>> bool((other.weight == layer.weight).all()), is_parametrized(other, "weight")
    (True, True)
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
