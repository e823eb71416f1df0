"""Ready parametrizations: weight norm and spectral norm."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.nn import functional as F
from weft.nn.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from weft.nn.module import Module
from weft.nn.utils import parametrize
from weft.nn.utils.weight_norm_hook import norm_except_dim, weight_of

__all__ = ["spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_of(weight_g, weight_v, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train the norm and the direction of a weight apart: ``weight = g * v / |v|``.

    Parameters
    ----------
    module : Module
    name : str
        Of the parameter.
    dim : int or None
        Each slice along this axis has a norm of its own; None: there is one for the whole.

    Returns
    -------
    Module
        ``module``, whose parameters are now ``parametrizations.<name>.original0`` (g) and ``original1`` (v).

    References
    ----------
    arXiv:1602.07868.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_older_keys(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        for number, old in enumerate((f"{prefix}{name}_g", f"{prefix}{name}_v")):
            if old in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.original{number}"] = state_dict.pop(old)

    module._register_load_state_dict_pre_hook(rename_older_keys)
    return module


class _SpectralNorm(Module):
    """Divides a matrix by its largest singular value, which a few steps of power iteration keep up to date."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        axes = weight.dim()
        if not -axes <= dim < axes:
            raise IndexError(f"spectral_norm: dim must be in [{-axes}, {axes - 1}] but got {dim}")
        if n_power_iterations <= 0:
            raise ValueError(f"spectral_norm: expected n_power_iterations to be positive, but got {n_power_iterations}")
        self.dim = dim % axes
        self.eps = eps
        if axes > 1:
            self.n_power_iterations = n_power_iterations
            with weft.no_grad():
                matrix = self._matrix(weight)
                u = matrix.new_empty(matrix.size(0)).normal_(0, 1)
                v = matrix.new_empty(matrix.size(1)).normal_(0, 1)
                self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
                self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
                self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, matrix: Tensor, steps: int) -> None:
        with weft.no_grad():
            for _ in range(steps):
                self._u.copy_(F.normalize(matrix @ self._v, dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.t() @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # Copies: the next forward writes into the buffers, and backward may still want these values.
        u, v = self._u.clone(), self._v.clone()
        return weight / (u @ (matrix @ v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, as a matrix with the rows along ``dim``.

    Parameters
    ----------
    module : Module
    name : str
        Of the parameter.
    n_power_iterations : int
        For each forward in training mode.
    eps : float
        The least norm to divide by.
    dim : int, optional
        The axis of the outputs: 0, but 1 of transposed convolutions.

    Returns
    -------
    Module
        ``module``, whose parameter is now ``parametrizations.<name>.original``.

    References
    ----------
    arXiv:1802.05957.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"spectral_norm: {module._get_name()} has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
