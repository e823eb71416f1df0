"""The library's callable for an entry of the database."""

import functools
import types
from collections.abc import Callable
from typing import Any

import torch

from harness.translate import Translator


def function(entry: Any, translator: Translator) -> Callable[..., Any]:
    """What ``entry.op`` is in the library: by name, or the test's own wrapper over the library's functions."""
    op = entry.op
    if isinstance(op, types.FunctionType) and op.__module__.startswith("torch.testing"):
        return translator.function(op)
    if isinstance(op, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return translator.library.attribute(f"ops.{op}")
    if "." in entry.name or callable(getattr(torch, entry.name, None)):
        return translator.library.attribute(entry.name)
    return translator.library.attribute(f"Tensor.{entry.name}")


def variant(callable_: Any, translator: Translator) -> Callable[..., Any]:
    """The library's form of a method, an in-place method or a function of the operator module."""
    if isinstance(callable_, types.FunctionType) and callable_.__module__.startswith("torch.testing"):
        return translator.function(callable_)
    if isinstance(callable_, functools.partial):
        return functools.partial(variant(callable_.func, translator), *callable_.args, **callable_.keywords)
    if getattr(callable_, "__module__", None) == "torch.nn.functional":
        return translator.library.attribute(f"nn.functional.{callable_.__name__}")
    name = callable_.__name__
    if getattr(callable_, "__module__", None) == "_operator":
        return callable_
    if getattr(torch.Tensor, name, None) is callable_:
        return translator.library.attribute(f"Tensor.{name}")
    raise LookupError(f"no public name for {callable_!r}")


def wrapper(entry: Any, translator: Translator) -> Callable[..., Any] | None:
    """What PyTorch's gradient tests put around the operator so that the result is unique, or None.

    The wrappers of the masked operators use a private function of PyTorch; without them masked-out places of the
    result take part too, which is the stricter test.
    """
    around = entry.gradcheck_wrapper
    if around.__name__ == "<lambda>" or "masked" in around.__name__:
        return None
    return translator.global_value(around)
