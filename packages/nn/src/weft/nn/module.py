"""`Module`, the base class of all layers and models. Its chapters are in the folder ``_module``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.nn._module import backward_hooks, registry, traversal
from weft.nn._module.calling import Calling
from weft.nn._module.hooks import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from weft.nn._module.registry import parameter_registration_hooks

_global_parameter_registration_hooks = parameter_registration_hooks  # tensordict calls them for what it registers

__all__ = [
    "Module",
    "factory_kwargs",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


class Module(Calling):
    """Base class of layers and models: parameters, buffers and submodules, and a `forward` that uses them.

    Assign them as attributes, after ``super().__init__()``: a `Parameter` is trained, a `Buffer` is state that is not,
    and a Module makes a tree. All of them are then found by `parameters`, moved by `to` and saved by `state_dict`.

    Attributes
    ----------
    training : bool
        Whether the module is in training mode; see `train` and `eval`.

    Examples
    --------
    >>> class Scale(weft.nn.Module):
    ...     def __init__(self, factor):
    ...         super().__init__()
    ...         self.factor = weft.nn.Parameter(weft.tensor(factor))
    ...
    ...     def forward(self, input):
    ...         return input * self.factor
    >>> scale = Scale(3.0)
    >>> scale(weft.tensor([1.0, 2.0])).tolist()
    [3.0, 6.0]
    >>> dict(scale.state_dict())
    {'factor': tensor(3.)}
    """

    if TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None: ...
        def __delattr__(self, name: str) -> None: ...
    else:
        __setattr__ = Calling._set_attribute
        __delattr__ = Calling._delete_attribute


for chapter in (backward_hooks, registry, traversal):  # their annotations name the class, which is made of them
    vars(chapter)["Module"] = Module


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Return the options for functions that make tensors, out of a module's keyword arguments.

    Parameters
    ----------
    kwargs : dict or None
        ``device``, ``dtype`` and ``memory_format``; or a dict of them under ``"factory_kwargs"``.

    Raises
    ------
    TypeError
        If there is another key, or one is given twice.

    Examples
    --------
    >>> factory_kwargs({"dtype": weft.float64, "factory_kwargs": {"device": "cpu"}})
    {'device': 'cpu', 'dtype': weft.float64}
    """
    if kwargs is None:
        return {}
    found = dict(kwargs.get("factory_kwargs", {}))
    for key, value in kwargs.items():
        if key == "factory_kwargs":
            continue
        if key not in ("device", "dtype", "memory_format"):
            raise TypeError(f"factory_kwargs: unexpected {key!r}; expected device, dtype, memory_format")
        if key in found:
            raise TypeError(f"factory_kwargs: {key!r} is given twice, by itself and in factory_kwargs")
        found[key] = value
    return found
