"""Weight norm by a hook, as older programs use it; new ones take `parametrizations.weight_norm`."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import weft
from weft import Tensor
from weft.nn.module import Module
from weft.nn.parameter import Parameter, is_lazy

__all__ = ["WeightNorm", "norm_except_dim", "remove_weight_norm", "weight_norm", "weight_of"]

AnyModule = TypeVar("AnyModule", bound=Module)


def norm_except_dim(weight: Tensor, dim: int) -> Tensor:
    """Return the norm of each slice along ``dim`` (-1: of the whole), so that it broadcasts with ``weight``."""
    if dim == -1:
        return weight.norm()
    if not -weight.dim() <= dim < weight.dim():
        raise IndexError(
            f"weight_norm: Dimension out of range (expected to be in range of [{-weight.dim()}, {weight.dim() - 1}], "
            f"but got {dim})"
        )
    others = [axis for axis in range(weight.dim()) if axis != dim % weight.dim()]
    return (weight * weight).sum(others, keepdim=True).sqrt() if others else weight.abs()


def weight_of(g: Tensor, v: Tensor, dim: int) -> Tensor:
    """Return ``g * v / |v|``, the norms as of `norm_except_dim`."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """The hook that computes the weight before each forward."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """Return the weight from ``<name>_g`` and ``<name>_v``."""
        return weight_of(getattr(module, self.name + "_g"), getattr(module, self.name + "_v"), self.dim)

    def __call__(self, module: Module, inputs: Any) -> None:
        """Set the weight, before forward."""
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: AnyModule, name: str = "weight", dim: int | None = 0) -> AnyModule:
    """Replace the parameter ``name`` by ``<name>_g`` (norm) and ``<name>_v`` (direction); deprecated.

    Parameters
    ----------
    module : Module
    name : str
    dim : int or None
        Each slice along this axis has a norm of its own; None: there is one for the whole.

    Returns
    -------
    Module
        ``module``

    Raises
    ------
    RuntimeError
        If it has been done before.

    References
    ----------
    arXiv:1602.07868.

    Examples
    --------
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     layer = weft.nn.utils.weight_norm(weft.nn.Linear(20, 40))
    >>> layer.weight_g.shape, layer.weight_v.shape
    (weft.Size([40, 1]), weft.Size([40, 20]))
    """
    warnings.warn(
        "`weft.nn.utils.weight_norm` is deprecated in favor of `weft.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    if _hook_of(module, name) is not None:
        raise RuntimeError(f"weight_norm: cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    if is_lazy(weight):
        raise ValueError(
            f"weight_norm: the module passed to `WeightNorm` can't have uninitialized parameters, as {name} is. Call "
            "it once with a batch of the right size before applying weight normalization"
        )
    if name not in module._parameters:
        raise KeyError(f"weight_norm: '{name}' of {module._get_name()} is no parameter")
    norm = norm_except_dim(weight, hook.dim).detach()
    del module._parameters[name]
    with weft.no_grad():
        module.register_parameter(name + "_g", Parameter(norm))
        module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: AnyModule, name: str = "weight") -> AnyModule:
    """Make the parameter ``name`` an ordinary one again, with its present value.

    Parameters
    ----------
    module : Module
    name : str

    Returns
    -------
    Module
        ``module``

    Raises
    ------
    ValueError
        If `weight_norm` was not applied to it.

    Examples
    --------
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     layer = weft.nn.utils.weight_norm(weft.nn.Linear(20, 40))
    >>> weft.nn.utils.remove_weight_norm(layer).weight.shape
    weft.Size([40, 20])
    """
    key = _hook_of(module, name)
    if key is None:
        raise ValueError(f"remove_weight_norm: weight_norm of '{name}' not found in {module._get_name()}")
    weight = module._forward_pre_hooks.pop(key).compute_weight(module)  # type: ignore[attr-defined]
    delattr(module, name)
    del module._parameters[name + "_g"], module._parameters[name + "_v"]
    setattr(module, name, Parameter(weight.detach()))
    return module


def _hook_of(module: Module, name: str) -> int | None:
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            return key
    return None
