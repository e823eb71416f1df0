"""Ready parametrizations: orthogonal matrices, weight norm and spectral norm."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.nn import functional as F
from weft.nn.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from weft.nn.module import Module
from weft.nn.utils import parametrize
from weft.nn.utils.weight_norm_hook import norm_except_dim, weight_of

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """Maps a matrix to one with orthonormal columns (or rows, if it is wide); see `orthogonal`."""

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError(
                "orthogonal: the householder parametrization does not support complex tensors; choose another map"
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        is_wide = X.size(-2) < X.size(-1)
        X = X.mT if is_wide else X
        Q = self._reflected(X) if self.orthogonal_map == "householder" else self._rotated(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if is_wide else Q

    def _rotated(self, X: Tensor) -> Tensor:
        """The exponential, or the Cayley transform, of the skew part of a tall matrix."""
        rows, columns = X.shape[-2:]
        X = X.tril()
        if rows != columns:
            X = weft.cat([X, X.new_zeros(*X.shape[:-1], rows - columns)], -1)
        skew = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            return weft.matrix_exp(skew)[..., :columns]
        identity = weft.eye(rows, dtype=X.dtype, device=X.device)
        return weft.linalg.solve(identity - skew / 2, identity + skew / 2)[..., :columns]

    def _reflected(self, X: Tensor) -> Tensor:
        """The product of the Householder reflections below the diagonal; signs of columns are on it."""
        below = X.tril(-1)
        tau = 2.0 / (1.0 + (below * below).sum(-2))
        signs = X.detach().diagonal(dim1=-2, dim2=-1).to(weft.int32)
        return weft.linalg.householder_product(below, tau) * signs.unsqueeze(-2)

    @weft.no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"orthogonal: Expected a matrix or batch of matrices of shape {tuple(self.shape)}, got {tuple(Q.shape)}"
            )
        is_wide = Q.size(-2) < Q.size(-1)
        tall = Q.mT if is_wide else Q
        if not hasattr(self, "base"):
            reflections = self._reflections(tall)
            return reflections.mT if is_wide else reflections
        rows, columns = tall.shape[-2:]
        if rows != columns:
            more = weft.randn(*tall.shape[:-2], rows, rows - columns, dtype=tall.dtype, device=tall.device)
            self.base = _orthonormalized(weft.cat([tall, more], -1))
        else:
            self.base = tall.clone() if _is_orthogonal(tall) else _orthonormalized(tall)
        start = weft.zeros_like(Q)  # minus the identity, whose diagonal the householder map takes for signs
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start

    def _reflections(self, Q: Tensor) -> Tensor:
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                f"orthogonal: it is not possible to assign to the {self.orthogonal_map} parametrization when "
                "use_trivialization=False"
            )
        reflections, tau = weft.geqrf(Q)
        diagonal = reflections.diagonal(dim1=-2, dim2=-1)
        diagonal.copy_(weft.where(tau == 0, -diagonal.sign(), diagonal.sign()))
        return reflections


def _is_orthogonal(Q: Tensor) -> bool:
    columns = Q.size(-1)
    identity = weft.eye(columns, dtype=Q.dtype, device=Q.device)
    return bool(weft.allclose(Q.mH @ Q, identity, atol=10.0 * columns * weft.finfo(Q.dtype).eps))


def _orthonormalized(matrix: Tensor) -> Tensor:
    """The Q of the QR decomposition whose R has a positive diagonal."""
    reflections, tau = weft.geqrf(matrix)
    Q = weft.linalg.householder_product(reflections, tau)
    return Q * reflections.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a weight orthogonal: with orthonormal columns, or rows if it has more columns than rows.

    Parameters
    ----------
    module : Module
    name : str
        Of a matrix, or a batch of them; complex ones become unitary.
    orthogonal_map : {"matrix_exp", "cayley", "householder"}, optional
        From free parameters to orthogonal matrices. By default the matrix exponential of square and of complex
        matrices, and products of Householder reflections of others, which cost less.
    use_trivialization : bool
        Map the neighbourhood of an orthogonal matrix that is kept as the buffer ``base``, at first the present weight
        (orthonormalized). It makes the optimization better conditioned, and assigning possible by every map.

    Returns
    -------
    Module
        ``module``, whose parameter is now ``parametrizations.<name>.original``.

    Raises
    ------
    ValueError
        If there is no such tensor, it is no matrix, or there is no such map.

    References
    ----------
    arXiv:1901.08428; arXiv:1909.09501.

    Examples
    --------
    >>> layer = orthogonal(weft.nn.Linear(3, 5))
    >>> weft.allclose(layer.weight.T @ layer.weight, weft.eye(3), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"orthogonal: {module._get_name()} has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"orthogonal: Expected a matrix or batch of matrices, got a tensor of {weight.ndim} dimensions"
        )
    if orthogonal_map is None:
        is_free = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if is_free else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(f"orthogonal: orthogonal_map has to be one of {_MAPS}, got {orthogonal_map!r}")
    mapped = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, mapped, unsafe=True)


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

    Examples
    --------
    >>> layer = weight_norm(weft.nn.Linear(20, 40))
    >>> [(name, tuple(parameter.shape)) for name, parameter in layer.named_parameters()]
    [('bias', (40,)), ('parametrizations.weight.original0', (40, 1)), ('parametrizations.weight.original1', (40, 20))]
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
            raise IndexError(
                f"spectral_norm: Dimension out of range (expected to be in range of [{-axes}, {axes - 1}] "
                f"but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "spectral_norm: Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
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

    Examples
    --------
    >>> layer = spectral_norm(weft.nn.Linear(20, 40), n_power_iterations=50)
    >>> round(weft.linalg.matrix_norm(layer.weight.detach(), 2).item(), 2)
    1.0
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"spectral_norm: {module._get_name()} has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
