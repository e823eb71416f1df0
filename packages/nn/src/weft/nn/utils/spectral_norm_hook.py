"""Spectral norm by a hook, as older programs use it; new ones take `parametrizations.spectral_norm`."""

from __future__ import annotations

from typing import Any, TypeVar

import weft
from weft import Tensor
from weft.nn import functional as F
from weft.nn.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from weft.nn.module import Module
from weft.nn.parameter import Parameter

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

AnyModule = TypeVar("AnyModule", bound=Module)


class SpectralNorm:
    """The hook that divides the weight by its largest singular value before each forward."""

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(f"spectral_norm: expected n_power_iterations to be positive, but got {n_power_iterations}")
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a matrix with its rows along ``dim``."""
        return weight.movedim(self.dim, 0).flatten(1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        """Return the normalized weight; ``do_power_iteration`` brings the singular vectors up to date first."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with weft.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t() @ u, dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix @ v, dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # the next forward writes into the buffers; backward may want these
        return weight / (u @ (matrix @ v))

    def __call__(self, module: Module, inputs: Any) -> None:
        """Set the weight, before forward."""
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(
    module: AnyModule,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> AnyModule:
    """Divide the parameter ``name`` by its largest singular value before each forward.

    Parameters
    ----------
    module : Module
    name : str
        The parameter itself is kept as ``<name>_orig``; the buffers ``<name>_u`` and ``<name>_v`` are its vectors.
    n_power_iterations : int
        For each forward in training mode.
    eps : float
        The least norm to divide by.
    dim : int, optional
        The axis of the outputs: 0, but 1 of transposed convolutions.

    Returns
    -------
    Module
        ``module``
    """
    if _hook_of(module, name) is not None:
        raise RuntimeError(f"spectral_norm: cannot register two spectral_norm hooks on the same parameter {name}")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"spectral_norm: the parameter `{name}` of {module._get_name()} is None")
    with weft.no_grad():
        matrix = hook.reshape_weight_to_matrix(weight)
        u = F.normalize(matrix.new_empty(matrix.size(0)).normal_(0, 1), dim=0, eps=eps)
        v = F.normalize(matrix.new_empty(matrix.size(1)).normal_(0, 1), dim=0, eps=eps)
    del module._parameters[name]
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: AnyModule, name: str = "weight") -> AnyModule:
    """Make the parameter ``name`` an ordinary one again, with its present value."""
    key = _hook_of(module, name)
    if key is None:
        raise ValueError(f"remove_spectral_norm: spectral_norm of '{name}' not found in {module._get_name()}")
    hook = module._forward_pre_hooks.pop(key)
    with weft.no_grad():
        weight = hook.compute_weight(module, do_power_iteration=False)  # type: ignore[attr-defined]
    delattr(module, name)
    delattr(module, name + "_u")
    delattr(module, name + "_v")
    delattr(module, name + "_orig")
    module.register_parameter(name, Parameter(weight.detach()))
    return module


def _hook_of(module: Module, name: str) -> int | None:
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            return key
    return None
