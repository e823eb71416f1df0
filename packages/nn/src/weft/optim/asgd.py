"""Averaged stochastic gradient descent."""

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
    advance,
    as_saved,
    check_options,
    given_options,
    new_step_count,
    place_of_counts,
    scalar,
    state_tensors,
)

__all__ = ["ASGD"]


class ASGD(GroupOptimizer):
    """Stochastic gradient descent that also keeps the average of the parameters, ``state[p]["ax"]``.

    With gradient g, parameter p, and t the number of this step::

        g = g + weight_decay * p
        p = (1 - lambd * eta) * p - eta * g
        ax = ax + mu * (p - ax)
        eta = lr / (1 + lambd * lr * t)**alpha,   mu = 1 / max(1, t - t0)   for the next step

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
    lr : float or Tensor
    lambd : float
        Decay of the parameters.
    alpha : float
        Power with which the rate falls.
    t0 : float
        The step after which averaging begins.
    weight_decay : float
    foreach, capturable : bool, optional
        Accepted for PyTorch's programs; the backend chooses its own kernel.
    maximize : bool
        Climb instead of descending.
    differentiable : bool
        Record the step, so that gradients flow through it.

    References
    ----------
    Polyak, Juditsky, Acceleration of Stochastic Approximation by Averaging, SIAM J. Control Optim. 30 (1992).

    Examples
    --------
    >>> weight = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = ASGD([weight], lr=0.1, t0=0)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.8000, 1.6000], requires_grad=True)
    >>> optimizer.state[weight]["ax"].shape
    weft.Size([2])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        defaults = given_options(locals())
        check_options("ASGD", lr=lr, at_least_zero={"weight_decay": weight_decay})
        super().__init__(params, defaults)

    def _init_state(self, param: Tensor, group: Group) -> State:
        where = place_of_counts(param, group)
        if isinstance(group["lr"], Tensor) and where == "cpu":
            where = group["lr"].device
        eta = weft.empty((), dtype=weft.float32, device=where).fill_(scalar(group["lr"], group["differentiable"]))
        return {
            "step": new_step_count(param, group),
            "eta": eta,
            "mu": weft.ones((), dtype=weft.float32, device=where),
            "ax": weft.zeros_like(param),
        }

    def _step_group(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        asgd_step(
            params,
            grads,
            state_tensors(states, "ax"),
            [scalar(state["mu"]) for state in states],
            [as_saved(state["eta"]) if group["differentiable"] else scalar(state["eta"]) for state in states],
            lambd=group["lambd"],
            weight_decay=scalar(group["weight_decay"], group["differentiable"]),
        )
        lr = scalar(group["lr"], group["differentiable"])
        for state, t in zip(states, map(scalar, advance(states))):
            set_number(state["eta"], lr / (1 + group["lambd"] * lr * t) ** group["alpha"])
            elapsed = t - group["t0"]
            set_number(state["mu"], 1 / (elapsed.clamp(min=1) if isinstance(elapsed, Tensor) else max(1, elapsed)))


@multi_tensor
def asgd_step(param: Any, grad: Any, ax: Any, mu: float, eta: Any, *, lambd: float, weight_decay: float) -> None:
    """One step of averaged SGD, in place, with this step's ``mu`` and ``eta``."""
    if weight_decay != 0:
        grad = add_decay(grad, param, weight_decay)
    add_scaled(param.mul_(1 - lambd * eta), grad, -eta)
    ax.lerp_(param, mu)


def set_number(target: Tensor, value: Any) -> None:
    """Write a number, which may be a tensor's on a device, into a tensor."""
    if isinstance(value, Tensor):
        target.copy_(value)
    else:
        target.fill_(value)
