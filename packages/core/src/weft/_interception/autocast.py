"""What `autocast` does to the arguments of an op: the part of it that dispatch asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from weft._dtypes.dtypes import float32, promote_types
from weft._engine.tensor import TensorBase, local, state
from weft._interception.torch_function import flatten

__all__ = ["Precision", "cast", "in_full_precision", "in_half_precision", "in_precision"]


class Precision:
    """An autocast that is active.

    Attributes
    ----------
    dtypes : dict
        From a type of device to its half type; None where it is switched off.
    cache : dict or None
        Halves of parameters, each with its parameter, so that its id stays its own; None: they are not kept.
    is_set : bool
        It was switched on, and is no block's.
    """

    def __init__(self, dtypes: dict[str, Any], cache: dict[Any, Any] | None, is_set: bool = False) -> None:
        self.dtypes = dtypes
        self.cache = cache
        self.is_set = is_set


def eligible(value: Any, device_type: str) -> bool:
    """Whether autocast is about a value: a floating tensor, but not float64, on its device."""
    return (
        isinstance(value, TensorBase)
        and value._key.is_real_float
        and value._key.dtype.itemsize < 8
        and value._key.device.type == device_type
    )


def cast(policy: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an op in the precision that it wants inside of the active autocast.

    Parameters
    ----------
    policy : {"half", "float32", "widest"}
        The autocast's half type; float32; or the widest type among the arguments.
    """
    tensors = flatten(args)
    if not tensors:
        return args
    device_type = tensors[0]._key.device.type
    half = local.precision.dtypes.get(device_type)
    if half is None:
        return args
    wanted = half
    if policy == "float32":
        wanted = float32
    elif policy == "widest":
        wanted = None
        for each in tensors:
            if eligible(each, device_type):
                wanted = each._key.dtype if wanted is None else promote_types(wanted, each._key.dtype)

    precision = local.precision

    def change(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return value if hasattr(value, "_fields") else type(value)(change(each) for each in value)
        if wanted is None or not eligible(value, device_type) or value._key.dtype is wanted:
            return value
        return converted(precision, value, wanted)

    local.precision = None  # a conversion is an op as well
    try:
        return tuple(change(arg) for arg in args)
    finally:
        local.precision = precision


def converted(precision: Precision, tensor: Any, wanted: Any) -> Any:
    """A tensor in another dtype; the half of a parameter is kept, since it is used more than once."""
    is_parameter = tensor._requires_grad and tensor._node is None and tensor._key.dtype is float32
    if precision.cache is None or not is_parameter or wanted is float32:
        return tensor.to(wanted)
    key = (id(tensor), wanted, local.grad_enabled)
    found = precision.cache.get(key)
    if found is None:
        found = (tensor, tensor.to(wanted))
        precision.cache[key] = found
    return found[1]


def in_precision(function: Callable[..., Any], policy: str) -> Callable[..., Any]:
    """The function, which inside of an autocast has its arguments converted first (see `cast`)."""

    @wraps(function)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        if state.intercepting and local.precision is not None:
            args = cast(policy, args)
            kwargs = dict(zip(kwargs, cast(policy, tuple(kwargs.values()))))
        return function(*args, **kwargs)

    return chosen


def in_full_precision(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for compositions that `autocast` runs in float32: most losses."""
    return in_precision(function, "float32")


def in_half_precision(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for compositions that `autocast` runs in the half type, all of their arguments."""
    return in_precision(function, "half")
