"""Making a module without drawing its initial values."""

from __future__ import annotations

import inspect
from typing import TypeVar

import weft
from weft.nn.module import Module

AnyModule = TypeVar("AnyModule", bound=Module)


def skip_init(module_cls: type[AnyModule], *args: object, **kwargs: object) -> AnyModule:
    """Make ``module_cls(*args, **kwargs)`` with parameters of arbitrary values, to be overwritten by the caller.

    The random generator stays where it was.

    Parameters
    ----------
    module_cls : subclass of Module
        Its ``__init__`` takes ``device``, and gives it to all parameters and buffers.
    *args, **kwargs
        As for ``module_cls``.

    Raises
    ------
    TypeError
        If ``module_cls`` is no class.
    RuntimeError
        If it is not a Module's, or does not take ``device``.
    """
    if not isinstance(module_cls, type):
        raise TypeError(f"skip_init: expected a subclass of Module, got {module_cls!r}; arguments follow separately")
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"skip_init: expected a subclass of Module, got {module_cls.__name__}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(f"skip_init: {module_cls.__name__} must support a 'device' arg to skip initialization")
    with weft.random.fork_rng():
        return module_cls(*args, **kwargs)
