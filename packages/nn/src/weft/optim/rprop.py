"""Resilient backpropagation."""

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
    advance,
    as_saved,
    check_options,
    given_options,
    new_step_count,
    state_tensors,
)

__all__ = ["Rprop"]


class Rprop(GroupOptimizer):
    """Steps that follow only the gradient's sign, longer while it stays and shorter when it changes.

    For each element, with gradient g, the last step's gradient q, and step size s::

        s = clip(s * (etas[1] if g * q > 0 else etas[0] if g * q < 0 else 1), *step_sizes)
        g = 0 if g * q < 0
        p = p - s * sign(g)

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
    lr : float or Tensor
        The first step size.
    etas : (float, float)
        Factors by which the step size falls and rises: 0 < etas[0] < 1 < etas[1].
    step_sizes : (float, float)
        Its limits.
    capturable, foreach : bool, optional
        Accepted for PyTorch's programs; the backend chooses its own kernel.
    maximize : bool
        Climb instead of descending.
    differentiable : bool
        Record the step, so that gradients flow through it.

    References
    ----------
    Riedmiller, Braun, A Direct Adaptive Method for Faster Backpropagation Learning, ICNN 1993; the variant that takes
    no step back when the sign changes.

    Examples
    --------
    The length of the first step is ``lr``, whatever the gradient:

    >>> weight = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Rprop([weight], lr=0.1)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = given_options(locals(), etas=tuple(etas), step_sizes=tuple(step_sizes))
        check_options("Rprop", lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Rprop: Invalid eta values: {etas[0]}, {etas[1]}; wanted 0 < etas[0] < 1 < etas[1]")
        super().__init__(params, defaults)

    def _init_state(self, param: Tensor, group: Group) -> State:
        lr = group["lr"] if group["differentiable"] else float(group["lr"])
        start = complex(lr, lr) if param.is_complex() else lr
        return {
            "step": new_step_count(param, group),
            "prev": weft.zeros_like(param),
            "step_size": weft.zeros_like(param.detach()).fill_(start),
        }

    def _step_group(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        advance(states)
        rprop_step(
            params,
            grads,
            state_tensors(states, "prev"),
            state_tensors(states, "step_size"),
            eta_minus=group["etas"][0],
            eta_plus=group["etas"][1],
            step_size_min=group["step_sizes"][0],
            step_size_max=group["step_sizes"][1],
        )


@multi_tensor
def rprop_step(
    param: Any,
    grad: Any,
    prev: Any,
    step_size: Any,
    *,
    eta_minus: float,
    eta_plus: float,
    step_size_min: float,
    step_size_max: float,
) -> None:
    """One step of Rprop, in place."""
    agreement = grad.mul(as_saved(prev))
    agrees, differs = agreement.gt(0), agreement.lt(0)
    factor = agreement.mul(0).add(1).masked_fill(agrees, eta_plus).masked_fill(differs, eta_minus)
    step_size.mul_(factor).clamp_(step_size_min, step_size_max)
    grad = grad.masked_fill(differs, 0.0)
    param.addcmul_(grad.sign(), step_size, value=-1)
    prev.copy_(grad)
