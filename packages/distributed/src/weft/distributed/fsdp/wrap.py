"""Policies that say which modules are divided by themselves: functions of modules, which need no processes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import weft

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]

_wrapper: tuple[Any, dict[str, Any]] | None = None


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Return True."""
    return True


def lambda_auto_wrap_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Any], bool]
) -> bool:
    """Return True while going down, and then what ``lambda_fn`` says of the module."""
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[type]
) -> bool:
    """Return True while going down, and then whether the module is of one of the types."""
    return True if recurse else isinstance(module, tuple(transformer_layer_cls))


def _module_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int, module_classes: Iterable[type]) -> bool:
    return transformer_auto_wrap_policy(module, recurse, nonwrapped_numel, module_classes)


def _or_policy(module: Any, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]) -> bool:
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


def size_based_auto_wrap_policy(
    module: Any,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: Iterable[type] | None = None,
    exclude_wrap_modules: Iterable[type] | None = None,
) -> bool:
    """Whether a module has ``min_num_params`` elements that are not in a divided module yet.

    Lists and dicts of modules are never divided by themselves, and `nn.MultiheadAttention` not from within.
    """
    exclude = (weft.nn.ModuleList, weft.nn.ModuleDict) if exclude_wrap_modules is None else exclude_wrap_modules
    leaves = (weft.nn.MultiheadAttention,) if force_leaf_modules is None else force_leaf_modules
    is_large = nonwrapped_numel >= min_num_params
    return is_large and not isinstance(module, tuple(leaves if recurse else exclude))


class ModuleWrapPolicy:
    """The modules of some types.

    Parameters
    ----------
    module_classes : iterable of types
    """

    def __init__(self, module_classes: Iterable[type]) -> None:
        self._module_classes = set(module_classes)
        self._policy = functools.partial(_module_wrap_policy, module_classes=self._module_classes)

    def __call__(self, module: Any, recurse: bool, nonwrapped_numel: int = -1) -> bool:
        """Return True while going down, and then whether the module is of one of the types."""
        return self._policy(module, recurse, nonwrapped_numel)


class CustomPolicy:
    """The modules for which a function returns True, or a dict of options."""

    def __init__(self, lambda_fn: Callable[[Any], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn


@contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Let `wrap` make objects of a class inside of the block."""
    global _wrapper
    before, _wrapper = _wrapper, (wrapper_cls, wrapper_kwargs)
    try:
        yield
    finally:
        _wrapper = before


def wrap(module: Any, **wrap_overrides: Any) -> Any:
    """Return the module, or inside of `enable_wrap` an object of its class, made of the module."""
    if _wrapper is None:
        return module
    wrapper_cls, kwargs = _wrapper
    return wrapper_cls(module, **{**kwargs, **wrap_overrides})
