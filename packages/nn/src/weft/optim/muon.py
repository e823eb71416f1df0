"""Muon: momentum whose matrix is brought near to an orthogonal one."""

from __future__ import annotations

import math

import weft
from weft import Tensor
from weft.optim.optimizer import Group, GroupOptimizer, ParamsT, State, add_scaled, check_options, given_options, scalar

__all__ = ["Muon"]

_ADJUSTMENTS = ("original", "match_rms_adamw")
_MOST_ITERATIONS = 99


class Muon(GroupOptimizer):
    """Momentum, orthogonalized by Newton-Schulz iterations: for the weight matrices of hidden layers.

    With gradient g, parameter p of shape (A, B), momentum m and buffer b::

        b = m * b + (1 - m) * g
        u = (1 - m) * g + m * b  if nesterov else  b
        p = p - lr * weight_decay * p - lr * adjusted * orthogonalized(u)

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        Real matrices; optimize the other parameters with :class:`AdamW`.
    lr : float or Tensor
    weight_decay : float
    momentum : float
    nesterov : bool
    ns_coefficients : (float, float, float)
        Of the quintic that each iteration applies to the singular values.
    eps : float
        The least norm to divide by.
    ns_steps : int
        Iterations, fewer than 100.
    adjust_lr_fn : {"original", "match_rms_adamw"}, optional
        ``adjusted`` is ``sqrt(max(1, A / B))``, or ``0.2 * sqrt(max(A, B))``, with which rates and decays for AdamW can
        be kept.

    References
    ----------
    K. Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024; arXiv:2502.16982.

    Examples
    --------
    >>> weight = weft.tensor([[3.0, 0.0], [0.0, 4.0]], requires_grad=True)
    >>> optimizer = Muon([weight], lr=0.1, weight_decay=0.0)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()  # both singular values shrink by about lr
    >>> (weight < weft.tensor([[3.0, 1.0], [1.0, 4.0]])).all()
    tensor(True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        defaults = given_options(locals())
        check_options("Muon", lr=lr, at_least_zero={"momentum": momentum, "weight_decay": weight_decay})
        if adjust_lr_fn is not None and adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(
                f"Adjust learning rate function {adjust_lr_fn} is not supported by Muon; choose one of {_ADJUSTMENTS}"
            )
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters, got one of shape {tuple(param.shape)}; "
                        "give it to another optimizer, such as AdamW"
                    )

    def _init_state(self, param: Tensor, group: Group) -> State:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        return {"momentum_buffer": weft.zeros_like(param)}

    def _step_group(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        lr, momentum = scalar(group["lr"]), group["momentum"]
        for param, grad, state in zip(params, grads, states, strict=True):
            update = state["momentum_buffer"].lerp_(grad, 1 - momentum)
            if group["nesterov"]:
                update = grad.lerp(update, momentum)
            update = orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
            param.mul_(1 - lr * group["weight_decay"])
            add_scaled(param, update, -lr * _adjustment(group["adjust_lr_fn"], *param.shape))


def orthogonalized(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """The matrix with its singular values brought to about 1, in bfloat16.

    Each step is ``X = a X + (b G + c G G) X`` with ``G = X X'``, which maps each singular value by an odd quintic.
    """
    if steps > _MOST_ITERATIONS:
        raise ValueError(f"Muon: ns_steps must be less than {_MOST_ITERATIONS + 1}, got {steps}")
    if len(coefficients) != 3:
        raise ValueError(f"Muon: ns_coefficients must be exactly 3 values, got {coefficients}")
    a, b, c = coefficients
    is_tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    x = x.T if is_tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = weft.addmm(x, weft.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if is_tall else x


def _adjustment(name: str | None, rows: int, columns: int) -> float:
    if name == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))
