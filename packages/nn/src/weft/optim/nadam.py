"""NAdam: Adam with Nesterov momentum."""

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
    advance,
    average,
    average_square,
    check_betas,
    check_options,
    given_options,
    new_step_count,
    place_of_counts,
    scalar,
    square_root,
    state_tensors,
)

__all__ = ["NAdam"]


class NAdam(GroupOptimizer):
    """Adam with Nesterov momentum, whose rate rises with the steps.

    With gradient g, parameter p, t the number of this step, and mu(t) = beta1 * (1 - 0.96**(t * momentum_decay) / 2)::

        g = g + weight_decay * p                (or p = p - lr * weight_decay * p if decoupled_weight_decay)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        n = (1 - mu(t)) * g / (1 - mu(1) ... mu(t)) + mu(t + 1) * m / (1 - mu(1) ... mu(t + 1))
        p = p - lr * n / (sqrt(v / (1 - beta2**t)) + eps)

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
    lr : float or Tensor
    betas : (float, float)
    eps, weight_decay, momentum_decay : float
    decoupled_weight_decay : bool
        Shrink the parameter itself, as AdamW does.
    foreach, capturable : bool, optional
        Accepted for PyTorch's programs; the backend chooses its own kernel.
    maximize : bool
        Climb instead of descending.
    differentiable : bool
        Record the step, so that gradients flow through it.

    References
    ----------
    Dozat, Incorporating Nesterov Momentum into Adam, ICLR 2016 workshop.

    Examples
    --------
    >>> weight = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = NAdam([weight], lr=0.1)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.8944, 1.8944], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = given_options(locals(), betas=tuple(betas))
        limits = {"epsilon": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay}
        check_options("NAdam", lr=lr, at_least_zero=limits)
        check_betas("NAdam", betas)
        super().__init__(params, defaults)

    def _init_state(self, param: Tensor, group: Group) -> State:
        return {
            "step": new_step_count(param, group),
            "mu_product": weft.ones((), dtype=weft.float32, device=place_of_counts(param, group)),
            "exp_avg": weft.zeros_like(param),
            "exp_avg_sq": weft.zeros_like(param),
        }

    @staticmethod
    def _mu(group: Group, t: float) -> Any:
        """The momentum of step t."""
        beta1, decay = (scalar(each, group["differentiable"]) for each in (group["betas"][0], group["momentum_decay"]))
        return beta1 * (1 - 0.5 * 0.96 ** (t * decay))

    def _step_group(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        beta1, beta2 = group["betas"]
        counts = [scalar(each) for each in advance(states)]
        mus = [self._mu(group, t) for t in counts]
        products = [state["mu_product"].mul_(mu) for state, mu in zip(states, mus)]
        nadam_step(
            params,
            grads,
            state_tensors(states, "exp_avg"),
            state_tensors(states, "exp_avg_sq"),
            mus,
            [self._mu(group, t + 1) for t in counts],
            [scalar(each, group["differentiable"]) for each in products],
            counts,
            lr=scalar(group["lr"], group["differentiable"]),
            beta1=scalar(beta1, group["differentiable"]),
            beta2=scalar(beta2, group["differentiable"]),
            eps=group["eps"],
            weight_decay=scalar(group["weight_decay"], group["differentiable"]),
            decoupled_weight_decay=group["decoupled_weight_decay"],
        )


@multi_tensor
def nadam_step(
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
    mu: float,
    mu_next: float,
    mu_product: float,
    t: float,
    *,
    lr: Any,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled_weight_decay: bool,
) -> None:
    """Step ``t`` (from 1) of NAdam, in place; ``mu_product`` includes ``mu``."""
    if weight_decay != 0 and decoupled_weight_decay:
        param.mul_(1 - lr * weight_decay)
    elif weight_decay != 0:
        grad = add_decay(grad, param, weight_decay)
    average(exp_avg, grad, beta1)
    second_moment = average_square(exp_avg_sq, grad, beta2)
    correction = square_root(1 - beta2**t)
    denominator = second_moment.sqrt().add(eps * correction)
    add_ratio(param, grad, denominator, -lr * correction * (1 - mu) / (1 - mu_product))
    add_ratio(param, exp_avg, denominator, -lr * correction * mu_next / (1 - mu_product * mu_next))
