"""RAdam: Adam that waits with its second moment until that is known well enough."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.library.multi_tensor import multi_tensor
from weft.optim.optimizer import (
    Group,
    GroupOptimizer,
    ParamsT,
    State,
    add_decay,
    add_ratio,
    add_scaled,
    advance,
    average,
    average_square,
    check_betas,
    check_options,
    given_options,
    new_state,
    scalar,
    square_root,
    state_tensors,
)

__all__ = ["RAdam"]


class RAdam(GroupOptimizer):
    """Adam whose step is corrected for the variance of its second moment, which is large in the first steps.

    With gradient g, parameter p, and t the number of this step::

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        rho_max = 2 / (1 - beta2) - 1
        rho = rho_max - 2 * t * beta2**t / (1 - beta2**t)
        r = sqrt((rho - 4) (rho - 2) rho_max / ((rho_max - 4) (rho_max - 2) rho))
        p = p - lr * m / (1 - beta1**t) * (r * sqrt(1 - beta2**t) / (sqrt(v) + eps)  if rho > 5 else  1)

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
    lr : float or Tensor
    betas : (float, float)
    eps, weight_decay : float
    decoupled_weight_decay : bool
        Shrink the parameter itself, as AdamW does; otherwise the decay is added to the gradient.
    foreach, capturable : bool, optional
        Accepted for PyTorch's programs; the backend chooses its own kernel.
    maximize : bool
        Climb instead of descending.
    differentiable : bool
        Record the step, so that gradients flow through it.

    References
    ----------
    arXiv:1908.03265, algorithm 2.

    Examples
    --------
    In its first steps, while the variance is not known, it goes along the gradient itself:

    >>> weight = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = RAdam([weight], lr=0.1)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = given_options(locals(), betas=tuple(betas))
        check_options("RAdam", lr=lr, at_least_zero={"epsilon": eps, "weight_decay": weight_decay})
        check_betas("RAdam", betas)
        super().__init__(params, defaults)

    def _init_state(self, param: Tensor, group: Group) -> State:
        return new_state(param, group, "exp_avg", "exp_avg_sq")

    def _step_group(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        beta1, beta2 = group["betas"]
        radam_step(
            params,
            grads,
            state_tensors(states, "exp_avg"),
            state_tensors(states, "exp_avg_sq"),
            advance(states),
            lr=scalar(group["lr"], group["differentiable"]),
            beta1=scalar(beta1, group["differentiable"]),
            beta2=scalar(beta2, group["differentiable"]),
            eps=group["eps"],
            weight_decay=scalar(group["weight_decay"], group["differentiable"]),
            decoupled_weight_decay=group["decoupled_weight_decay"],
        )


@multi_tensor
def radam_step(
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
    t: float,
    *,
    lr: Any,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled_weight_decay: bool,
) -> None:
    """Step ``t`` (from 1) of RAdam, in place."""
    if weight_decay != 0 and decoupled_weight_decay:
        param.mul_(1 - lr * weight_decay)
    elif weight_decay != 0:
        grad = add_decay(grad, param, weight_decay)
    average(exp_avg, grad, beta1)
    average_square(exp_avg_sq, grad, beta2)
    step_size = lr / (1 - beta1**t)
    rho_max = 2 / (1 - beta2) - 1
    rho = rho_max - 2 * t * beta2**t / (1 - beta2**t)
    if isinstance(rho, Tensor):
        add_rectified(param, exp_avg, exp_avg_sq.sqrt().add(eps), -step_size, rho, rho_max, 1 - beta2**t)
    elif rho > 5:
        variance_ratio = (rho - 4) * (rho - 2) * rho_max / ((rho_max - 4) * (rho_max - 2) * rho)
        step_size = step_size * square_root(variance_ratio * (1 - beta2**t))
        add_ratio(param, exp_avg, exp_avg_sq.sqrt().add(eps), -step_size)
    else:
        add_scaled(param, exp_avg, -step_size)


def add_rectified(
    param: Tensor, exp_avg: Tensor, root: Tensor, scale: Any, rho: Tensor, rho_max: Any, correction: Any
) -> None:
    """The step of RAdam where the number of steps is on a device: which of two it is, is decided there."""
    variance_ratio = (rho - 4) * (rho - 2) * rho_max / ((rho_max - 4) * (rho_max - 2) * rho)
    is_rectified = rho > 5
    rate = weft.where(is_rectified, (variance_ratio * correction).clamp(min=0).sqrt(), 1)
    add_ratio(param, exp_avg, weft.where(is_rectified, root, 1), scale * rate)
