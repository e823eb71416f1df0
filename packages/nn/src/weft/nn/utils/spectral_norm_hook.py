"""Spectral norm by a hook, as older programs use it; new ones take `parametrizations.spectral_norm`."""

from __future__ import annotations

from typing import Any, TypeVar

import weft
from weft import Tensor
from weft.nn import functional as F
from weft.nn.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from weft.nn.module import Module
from weft.nn.parameter import Parameter, is_lazy

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
        return weight.movedim(self.dim, 0).reshape(weight.size(self.dim), -1)

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


class SpectralNormStateDictHook:
    """Notes in a state dict's metadata that it has both singular vectors."""

    def __init__(self, hook: SpectralNorm) -> None:
        self.hook = hook

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        """Add the version, after the module's tensors."""
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.hook.name + ".version"
        if key in versions:
            raise RuntimeError(f"spectral_norm: unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = 1


class SpectralNormLoadStateDictPreHook:
    """Makes what is missing in state dicts of the first version, which had the normalized weight and one vector."""

    def __init__(self, hook: SpectralNorm) -> None:
        self.hook = hook

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Compute the other vector, before the module's tensors are loaded."""
        if (local_metadata.get("spectral_norm", {}).get(self.hook.name + ".version") or 0) >= 1:
            return
        key = prefix + self.hook.name
        if key not in state_dict and all(key + end in state_dict for end in ("_orig", "_u", "_v")):
            return  # complete: only the metadata was lost
        missing = [key + end for end in ("_orig", "", "_u") if key + end not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with weft.no_grad():
            original, u = state_dict[key + "_orig"], state_dict[key + "_u"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = self.hook.reshape_weight_to_matrix(original)
            # The v with u W v = sigma: W^+ u up to its length.
            v = weft.linalg.pinv(matrix.t() @ matrix) @ (matrix.t() @ u)
            state_dict[key + "_v"] = v * (sigma / (u @ (matrix @ v)))


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

    Raises
    ------
    RuntimeError
        If it has been done before.
    ValueError
        If the parameter is None or has no shape yet, or the iterations are not positive.

    Examples
    --------
    >>> layer = weft.nn.utils.spectral_norm(weft.nn.Linear(20, 40), n_power_iterations=50)
    >>> _ = layer(weft.zeros(20))
    >>> round(weft.linalg.matrix_norm(layer.weight.detach(), 2).item(), 2)
    1.0
    """
    if _hook_of(module, name) is not None:
        raise RuntimeError(f"spectral_norm: cannot register two spectral_norm hooks on the same parameter {name}")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"spectral_norm: the parameter `{name}` of {module._get_name()} is None")
    if is_lazy(weight):
        raise ValueError(
            f"spectral_norm: the module passed to `SpectralNorm` can't have uninitialized parameters, as {name} is. "
            "Call it once with a batch of the right size before applying spectral normalization"
        )
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
    module._register_state_dict_hook(SpectralNormStateDictHook(hook))
    module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
    return module


def remove_spectral_norm(module: AnyModule, name: str = "weight") -> AnyModule:
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
        If `spectral_norm` was not applied to it.

    Examples
    --------
    >>> layer = weft.nn.utils.spectral_norm(weft.nn.Linear(20, 40))
    >>> list(dict(weft.nn.utils.remove_spectral_norm(layer).named_parameters()))
    ['bias', 'weight']
    """
    key = _hook_of(module, name)
    if key is None:
        raise ValueError(f"remove_spectral_norm: spectral_norm of '{name}' not found in {module._get_name()}")
    hook = module._forward_pre_hooks.pop(key)
    with weft.no_grad():
        weight = hook.compute_weight(module, do_power_iteration=False)  # type: ignore[attr-defined]
    for table in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, other in list(table.items()):
            other = getattr(other, "hook", other)
            if getattr(other, "hook", other) is hook:
                del table[key]
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
