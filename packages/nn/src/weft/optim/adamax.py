"""Adamax: Adam with the infinity norm."""

from __future__ import annotations

from typing import Any

from weft import Tensor
from weft.library.multi_tensor import multi_tensor
from weft.optim.optimizer import (
    Group,
    GroupOptimizer,
    ParamsT,
    State,
    add_decay,
    add_ratio,
    advance,
    as_saved,
    average,
    check_betas,
    check_options,
    given_options,
    new_state,
    scalar,
    state_tensors,
)

__all__ = ["Adamax"]


class Adamax(GroupOptimizer):
    """Adam with the infinity norm in place of the second moment.

    With gradient g, parameter p, and t the number of this step::

        g = g + weight_decay * p
        m = beta1 * m + (1 - beta1) * g
        u = max(beta2 * u, |g| + eps)
        p = p - lr / (1 - beta1**t) * m / u

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
    lr : float or Tensor
    betas : (float, float)
    eps, weight_decay : float
    foreach, capturable : bool, optional
        Accepted for PyTorch's programs; the backend chooses its own kernel.
    maximize : bool
        Climb instead of descending.
    differentiable : bool
        Record the step, so that gradients flow through it.

    References
    ----------
    arXiv:1412.6980, algorithm 2.

    Examples
    --------
    >>> weight = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Adamax([weight], lr=0.1)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = given_options(locals(), betas=tuple(betas))
        check_options("Adamax", lr=lr, at_least_zero={"epsilon": eps, "weight_decay": weight_decay})
        check_betas("Adamax", betas)
        super().__init__(params, defaults)

    def _init_state(self, param: Tensor, group: Group) -> State:
        return new_state(param, group, "exp_avg", "exp_inf")

    def _step_group(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        beta1, beta2 = group["betas"]
        adamax_step(
            params,
            grads,
            state_tensors(states, "exp_avg"),
            state_tensors(states, "exp_inf"),
            advance(states),
            lr=scalar(group["lr"], group["differentiable"]),
            beta1=scalar(beta1, group["differentiable"]),
            beta2=scalar(beta2, group["differentiable"]),
            eps=group["eps"],
            weight_decay=scalar(group["weight_decay"], group["differentiable"]),
        )


@multi_tensor
def adamax_step(
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_inf: Any,
    t: float,
    *,
    lr: Any,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
) -> None:
    """Step ``t`` (from 1) of Adamax, in place."""
    if weight_decay != 0:
        grad = add_decay(grad, param, weight_decay)
    average(exp_avg, grad, beta1)
    exp_inf.copy_(as_saved(exp_inf).mul(beta2).maximum(grad.abs().add(eps)))
    add_ratio(param, exp_avg, exp_inf, -lr / (1 - beta1**t))
