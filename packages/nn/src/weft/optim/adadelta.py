"""Adadelta: steps in the parameters' own units, without a global rate."""

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
    add_scaled,
    advance,
    check_options,
    given_options,
    new_state,
    scalar,
    state_tensors,
)

__all__ = ["Adadelta"]


class Adadelta(GroupOptimizer):
    """Steps of the size that recent steps had, in the units of the parameter.

    With gradient g and parameter p::

        g = g + weight_decay * p
        v = rho * v + (1 - rho) * g**2
        d = sqrt(u + eps) / sqrt(v + eps) * g
        u = rho * u + (1 - rho) * d**2
        p = p - lr * d

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
    lr : float or Tensor
    rho : float
        Decay rate of both running means, in [0, 1].
    eps : float
    weight_decay : float
    foreach, capturable : bool, optional
        Accepted for PyTorch's programs; the backend chooses its own kernel.
    maximize : bool
        Climb instead of descending.
    differentiable : bool
        Record the step, so that gradients flow through it.

    References
    ----------
    arXiv:1212.5701, algorithm 1.

    Examples
    --------
    >>> weight = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Adadelta([weight], eps=0.01)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.6877, 1.6848], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = given_options(locals())
        check_options("Adadelta", lr=lr, at_least_zero={"epsilon": eps, "weight_decay": weight_decay})
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Adadelta: Invalid rho value: {rho}; it must be in [0, 1]")
        super().__init__(params, defaults)

    def _init_state(self, param: Tensor, group: Group) -> State:
        return new_state(param, group, "square_avg", "acc_delta")

    def _step_group(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        advance(states)
        adadelta_step(
            params,
            grads,
            state_tensors(states, "square_avg"),
            state_tensors(states, "acc_delta"),
            lr=scalar(group["lr"], group["differentiable"]),
            rho=group["rho"],
            eps=group["eps"],
            weight_decay=scalar(group["weight_decay"], group["differentiable"]),
        )


@multi_tensor
def adadelta_step(
    param: Any,
    grad: Any,
    square_avg: Any,
    acc_delta: Any,
    *,
    lr: Any,
    rho: float,
    eps: float,
    weight_decay: float,
) -> None:
    """One step of Adadelta, in place."""
    if weight_decay != 0:
        grad = add_decay(grad, param, weight_decay)
    spread = square_avg.mul_(rho).addcmul_(grad, grad, value=1 - rho).add(eps).sqrt()
    delta = acc_delta.add(eps).sqrt().div(spread).mul(grad)
    acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
    add_scaled(param, delta, -lr)
