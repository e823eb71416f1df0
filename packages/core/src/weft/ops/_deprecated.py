"""Calls in signatures that PyTorch calls deprecated and takes: factors between the tensors, ``x.add_(0.5, y)``."""

from __future__ import annotations

from typing import Any

import numpy

from weft._engine.tensor import TensorBase
from weft._settings import warn_caller_once

FACTORS = {"add": "alpha", "sub": "alpha", "addcmul": "value", "addcdiv": "value"}  # behind the first tensor
PRODUCTS = ("addmm", "addmv", "addr", "baddbmm", "addbmm")  # beta first, or behind self; alpha before the product


def current_form(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments of a call in a deprecated signature as the function takes them; None if it is no such call."""
    name = name.strip("_")
    if name in FACTORS:
        count = 3 if name in ("add", "sub") else 4
        if len(args) != count or not are_numbers(args[1:2]) or not are_tensors((args[0], *args[2:])):
            return None
        tensors, factors = (args[0], *args[2:]), {FACTORS[name]: args[1]}
    elif name in PRODUCTS and len(args) in (4, 5):
        own = args[0] if isinstance(args[0], TensorBase) else args[1]
        numbers = [each for each in args[:-2] if each is not own]
        tensors = (own, *args[-2:])
        if len(numbers) != len(args) - 3 or not are_numbers(numbers) or not are_tensors(tensors):
            return None
        factors = dict(zip(("beta", "alpha"), numbers))
    else:
        return None
    if not factors.keys().isdisjoint(kwargs):
        return None
    given = ", ".join("Tensor" if isinstance(each, TensorBase) else "Number" for each in args)
    named = ", ".join(f"Number {each}" for each in factors)
    warn_caller_once(
        f"This overload of {name} is deprecated:\n\t{name}({given})\nConsider using one of the following signatures "
        f"instead:\n\t{name}({', '.join(['Tensor'] * len(tensors))}, *, {named})",
        "This overload is deprecated",
    )
    return tensors, {**kwargs, **factors}


def are_numbers(values: Any) -> bool:
    return all(isinstance(each, (int, float, complex, numpy.generic)) for each in values)


def are_tensors(values: Any) -> bool:
    return all(isinstance(each, TensorBase) for each in values)
