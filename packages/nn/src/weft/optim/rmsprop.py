"""RMSprop: gradients divided by a running root mean square of them."""

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
    check_options,
    given_options,
    new_step_count,
    scalar,
    state_tensors,
    unused,
)

__all__ = ["RMSprop"]


class RMSprop(GroupOptimizer):
    """Gradients divided by a running root mean square of them.

    With gradient g and parameter p::

        g = g + weight_decay * p
        v = alpha * v + (1 - alpha) * g**2
        u = g / (sqrt(v - a**2) + eps)          with a a running mean of g if centered, else 0
        p = p - lr * b                          with b = momentum * b + u

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
    lr : float or Tensor
    alpha : float
        Decay rate of the running means.
    eps : float
        Added to the denominator.
    weight_decay, momentum : float
    centered : bool
        Divide by the standard deviation instead.
    capturable, foreach : bool, optional
        Accepted for PyTorch's programs; the backend chooses its own kernel.
    maximize : bool
        Climb instead of descending.
    differentiable : bool
        Record the step, so that gradients flow through it.

    References
    ----------
    Hinton, Neural Networks for Machine Learning, lecture 6e; centered: arXiv:1308.0850.

    Examples
    --------
    >>> weight = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = RMSprop([weight], lr=0.1, alpha=0.75)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.8000, 1.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = given_options(locals())
        limits = {"epsilon": eps, "momentum": momentum, "weight_decay": weight_decay, "alpha": alpha}
        check_options("RMSprop", lr=lr, at_least_zero=limits)
        super().__init__(params, defaults)

    def _init_state(self, param: Tensor, group: Group) -> State:
        state = {"step": new_step_count(param, group), "square_avg": weft.zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = weft.zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = weft.zeros_like(param)
        return state

    def _step_group(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        advance(states)
        rmsprop_step(
            params,
            grads,
            state_tensors(states, "square_avg"),
            state_tensors(states, "grad_avg") if group["centered"] else unused(params),
            state_tensors(states, "momentum_buffer") if group["momentum"] > 0 else unused(params),
            lr=scalar(group["lr"], group["differentiable"]),
            alpha=group["alpha"],
            eps=group["eps"],
            weight_decay=scalar(group["weight_decay"], group["differentiable"]),
            momentum=group["momentum"],
        )


@multi_tensor
def rmsprop_step(
    param: Any,
    grad: Any,
    square_avg: Any,
    grad_avg: Any,
    momentum_buffer: Any,
    *,
    lr: Any,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
) -> None:
    """One step of RMSprop, in place; ``grad_avg`` (not centered) and ``momentum_buffer`` may be None."""
    if weight_decay != 0:
        grad = add_decay(grad, param, weight_decay)
    variance = square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
    if grad_avg is not None:
        mean = grad_avg.lerp_(grad, 1 - alpha)
        variance = variance.addcmul(mean, mean, value=-1)
    denominator = variance.sqrt().add(eps)
    if momentum_buffer is not None:
        velocity = momentum_buffer.mul_(momentum).addcdiv_(grad, denominator)
        add_scaled(param, velocity, -lr)
    else:
        add_ratio(param, grad, denominator, -lr)
