"""Replacing a module's tensors by others, as tensordict does it."""

from __future__ import annotations

from typing import Any

from weft import Tensor
from weft.nn.module import Module

__all__ = ["swap_tensor"]

_MISSING = object()  # what was there, where nothing was


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor in the place of a parameter, a buffer or an attribute; return what was there.

    Parameters
    ----------
    module : Module
    name : str
        Of this module, not of those below.
    tensor : Tensor
        Stays what it is, also in a parameter's place. What this function returned for a name that was missing takes
        the name away again.
    allow_missing : bool
        Whether there may be no such name.

    Raises
    ------
    KeyError
        For a name with a dot, or none.
    AttributeError
        If there is no such name.
    TypeError
        If the module or the tensor is none.
    """
    if not isinstance(module, Module):
        raise TypeError(f"swap_tensor: {module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"swap_tensor: {tensor} is not an instance of torch.Tensor")
    if "." in name or name == "":
        raise KeyError(f"swap_tensor: a tensor's name is not empty and has no dot; got {name!r}")
    places: Any = (module._parameters, module._buffers)
    place = next((own for own in places if name in own), None)
    if place is None:
        return swap_attribute(module, name, tensor, allow_missing)
    found = place[name]
    if tensor is _MISSING:
        del place[name]
    else:
        place[name] = tensor
    return found


def swap_attribute(module: Module, name: str, tensor: Any, allow_missing: bool) -> Any:
    """`swap_tensor` for what is neither a parameter nor a buffer."""
    found = getattr(module, name, _MISSING)
    if found is _MISSING and not allow_missing:
        raise AttributeError(f"swap_tensor: {type(module).__name__} has no attribute {name!r}")
    if found is not _MISSING and found is not None and not isinstance(found, Tensor):
        raise TypeError(f"swap_tensor: attribute {name!r} of {type(module).__name__} is not a tensor")
    if tensor is _MISSING:
        if found is not _MISSING:
            delattr(module, name)
    else:
        setattr(module, name, tensor)
    return found
