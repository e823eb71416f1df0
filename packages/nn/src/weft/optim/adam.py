"""Adam, and its variants with AMSGrad and with decoupled weight decay."""

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
    as_saved,
    average,
    average_square,
    check_betas,
    check_modes,
    check_options,
    given_options,
    new_step_count,
    scalar,
    square_root,
    state_tensors,
    unused,
)

__all__ = ["Adam"]


class Adam(GroupOptimizer):
    """Adaptive moment estimation.

    With gradient g, parameter p, and t the number of this step::

        g = g + weight_decay * p                (or p = p - lr * weight_decay * p if decoupled_weight_decay)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        p = p - lr * m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + eps)

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
    lr : float or Tensor
    betas : (float, float)
        Decay rates of the first and of the second moment, in [0, 1).
    eps : float
        Added to the denominator.
    weight_decay : float
    amsgrad : bool
        Use the largest v seen so far, corrected as v is.
    maximize : bool
        Climb instead of descending.
    foreach, fused, capturable : bool, optional
        Accepted for PyTorch's programs; the backend chooses its own kernel.
    differentiable : bool
        Record the step, so that gradients flow through it.
    decoupled_weight_decay : bool
        Shrink the parameter itself instead of adding to its gradient, as :class:`AdamW` does.

    References
    ----------
    arXiv:1412.6980, algorithm 1; AMSGrad: On the Convergence of Adam and Beyond, ICLR 2018, algorithm 2.

    Examples
    --------
    The first step has the length ``lr``, whatever the size of the gradient:

    >>> weight = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Adam([weight], lr=0.1)
    >>> (weight * weft.tensor([0.01, 100.0])).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        defaults = given_options(locals(), betas=tuple(betas))
        name = type(self).__name__
        check_options(name, lr=lr, at_least_zero={"epsilon": eps, "weight_decay": weight_decay})
        check_betas(name, betas)
        is_tensor = [isinstance(beta, Tensor) for beta in betas]
        if any(is_tensor) and not all(is_tensor):
            raise ValueError(f"{name}: betas must be either both floats or both Tensors, got {betas}")
        if any(is_tensor) and foreach and not capturable:
            raise ValueError(
                f"{name}: betas[0] as a Tensor is not supported for capturable=False and foreach=True; pass floats or "
                "foreach=False"
            )
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError(
                f"{name}: lr as a Tensor is not supported for capturable=False and foreach=True; pass a float or "
                "foreach=False"
            )
        check_modes(name, foreach=foreach, fused=fused, differentiable=differentiable)
        super().__init__(params, defaults)

    def _init_state(self, param: Tensor, group: Group) -> State:
        state = {
            "step": new_step_count(param, group),
            "exp_avg": weft.zeros_like(param),
            "exp_avg_sq": weft.zeros_like(param),
        }
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = weft.zeros_like(param)
        return state

    def _step_group(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        beta1, beta2 = group["betas"]
        adam_step(
            params,
            grads,
            state_tensors(states, "exp_avg"),
            state_tensors(states, "exp_avg_sq"),
            state_tensors(states, "max_exp_avg_sq") if group["amsgrad"] else unused(params),
            advance(states),
            lr=scalar(group["lr"], group["differentiable"]),
            beta1=scalar(beta1, group["differentiable"]),
            beta2=scalar(beta2, group["differentiable"]),
            eps=group["eps"],
            weight_decay=scalar(group["weight_decay"], group["differentiable"]),
            decoupled_weight_decay=group["decoupled_weight_decay"],
        )


@multi_tensor
def adam_step(
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
    max_exp_avg_sq: Any,
    t: float,
    *,
    lr: Any,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled_weight_decay: bool,
) -> None:
    """Step ``t`` (from 1) of Adam, in place; with ``max_exp_avg_sq``, of AMSGrad."""
    if weight_decay != 0 and decoupled_weight_decay:
        param.mul_(1 - lr * weight_decay)
    elif weight_decay != 0:
        grad = add_decay(grad, param, weight_decay)
    average(exp_avg, grad, beta1)
    second_moment = average_square(exp_avg_sq, grad, beta2)
    if max_exp_avg_sq is not None:
        second_moment = max_exp_avg_sq.copy_(as_saved(max_exp_avg_sq).maximum(second_moment))
    # The second moment's correction is moved out of the denominator: one operation less.
    correction = square_root(1 - beta2**t)
    denominator = second_moment.sqrt().add(eps * correction)
    add_ratio(param, exp_avg, denominator, -lr * correction / (1 - beta1**t))
