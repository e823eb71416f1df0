"""Stochastic gradient descent, with momentum."""

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
    add_scaled,
    check_modes,
    check_options,
    given_options,
    scalar,
    unused,
)

__all__ = ["SGD"]


class SGD(GroupOptimizer):
    """Stochastic gradient descent, optionally with momentum.

    With gradient g, parameter p, momentum m, dampening d and velocity v (the first velocity is g itself)::

        g = g + weight_decay * p
        v = m * v + (1 - d) * g
        p = p - lr * (g + m * v  if nesterov else  v)

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
    lr : float or Tensor
    momentum, dampening, weight_decay : float
    nesterov : bool
        Look one step of momentum ahead; needs ``momentum > 0`` and ``dampening == 0``.
    maximize : bool
        Climb instead of descending.
    foreach, fused : bool, optional
        Accepted for PyTorch's programs; the backend chooses its own kernel.
    differentiable : bool
        Record the step, so that gradients flow through it.

    References
    ----------
    Sutskever et al., On the importance of initialization and momentum in deep learning, ICML 2013; as in PyTorch, the
    velocity is not scaled by the learning rate.

    Examples
    --------
    >>> weight = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = SGD([weight], lr=0.1)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    _steps_parts = False  # linear in the gradient: complex parameters need no splitting

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = given_options(locals())
        check_options("SGD", lr=lr, at_least_zero={"momentum": momentum, "weight_decay": weight_decay})
        check_modes("SGD", foreach=foreach, fused=fused, differentiable=differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                "SGD: Nesterov momentum requires a momentum and zero dampening, "
                f"got momentum={momentum}, dampening={dampening}"
            )
        super().__init__(params, defaults)

    def _init_state(self, param: Tensor, group: Group) -> State:
        return {}

    def _step_group(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        options = {
            "lr": scalar(group["lr"], group["differentiable"]),
            "weight_decay": scalar(group["weight_decay"], group["differentiable"]),
            "momentum": scalar(group["momentum"], group["differentiable"]),
            "nesterov": group["nesterov"],
        }
        if not group["momentum"]:
            sgd_step(params, grads, unused(params), dampening=0, **options)
            return
        is_new = [state.get("momentum_buffer") is None for state in states]
        for new, dampening in ((True, 0), (False, group["dampening"])):
            chosen = [i for i, flag in enumerate(is_new) if flag is new]
            if not chosen:
                continue
            if new:
                for i in chosen:
                    self.state[params[i]]["momentum_buffer"] = weft.zeros_like(params[i])
            buffers = [self.state[params[i]]["momentum_buffer"] for i in chosen]
            sgd_step([params[i] for i in chosen], [grads[i] for i in chosen], buffers, dampening=dampening, **options)

    def _step_rows(self, group: Group, param: Tensor, grad: Any, state: State) -> None:
        if group["weight_decay"] != 0:
            raise RuntimeError("SGD.step: weight_decay cannot be added to a sparse gradient; set it to 0")
        if group["momentum"]:
            velocity = grad.clone()
            if state.get("momentum_buffer") is not None:
                velocity = state["momentum_buffer"] * group["momentum"] + grad * (1 - group["dampening"])
            self.state[param]["momentum_buffer"] = velocity
            grad = grad + velocity * group["momentum"] if group["nesterov"] else velocity
        param.add_(grad, alpha=-scalar(group["lr"]))


@multi_tensor
def sgd_step(
    param: Any,
    grad: Any,
    momentum_buffer: Any,
    *,
    lr: Any,
    momentum: Any,
    dampening: float,
    weight_decay: Any,
    nesterov: bool,
) -> None:
    """One step of SGD, in place; without momentum the buffer is None."""
    if weight_decay != 0:
        grad = add_decay(grad, param, weight_decay)
    if momentum_buffer is not None:
        velocity = momentum_buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
        grad = add_decay(grad, velocity, momentum) if nesterov else velocity
    add_scaled(param, grad, -lr)
