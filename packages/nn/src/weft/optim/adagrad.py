"""Adagrad: gradients divided by the root of the sum of all their squares."""

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
    check_modes,
    check_options,
    given_options,
    new_step_count,
    scalar,
    sparse_parts,
    state_tensors,
)

__all__ = ["Adagrad"]


class Adagrad(GroupOptimizer):
    """Gradients divided by the root of the sum of all their squares.

    With gradient g, parameter p, and t the number of this step::

        g = g + weight_decay * p
        s = s + g**2
        p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
    lr : float or Tensor
    lr_decay, weight_decay : float
    initial_accumulator_value : float
        The s before the first step.
    eps : float
        Added to the denominator.
    foreach, fused : bool, optional
        Accepted for PyTorch's programs; the backend chooses its own kernel.
    maximize : bool
        Climb instead of descending.
    differentiable : bool
        Record the step, so that gradients flow through it.

    References
    ----------
    Duchi, Hazan, Singer, Adaptive Subgradient Methods, JMLR 12 (2011), figure 1.

    Examples
    --------
    >>> weight = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Adagrad([weight], lr=0.1)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = given_options(locals())
        limits = {
            "lr_decay": lr_decay,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "epsilon": eps,
        }
        check_options("Adagrad", lr=lr, at_least_zero=limits)
        check_modes("Adagrad", foreach=foreach, fused=fused, differentiable=differentiable)
        super().__init__(params, defaults)
        for group in self.param_groups:  # state from the beginning, as in PyTorch's files
            for param in group["params"]:
                self.state[param] = self._init_state(param, group)

    def share_memory(self) -> None:
        """Move the sums to shared memory, for processes that train one model together."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def _init_state(self, param: Tensor, group: Group) -> State:
        start = group["initial_accumulator_value"]
        value = complex(start, start) if param.is_complex() else start
        return {"step": new_step_count(param, group), "sum": weft.full_like(param.detach(), value)}

    def _step_group(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        adagrad_step(
            params,
            grads,
            state_tensors(states, "sum"),
            advance(states),
            lr=scalar(group["lr"], group["differentiable"]),
            lr_decay=group["lr_decay"],
            eps=group["eps"],
            weight_decay=scalar(group["weight_decay"], group["differentiable"]),
        )

    def _step_rows(self, group: Group, param: Tensor, grad: Any, state: State) -> None:
        if group["weight_decay"] != 0:
            raise RuntimeError("Adagrad.step: weight_decay option is not compatible with sparse gradients")
        (t,) = map(scalar, advance([state]))
        index, values = sparse_parts(grad)
        total = state["sum"][index].add_(values * values)
        state["sum"].index_put_(index, total)
        rate = scalar(group["lr"]) / (1 + (t - 1) * group["lr_decay"])
        param.index_put_(index, values / total.sqrt_().add_(group["eps"]) * -rate, accumulate=True)


@multi_tensor
def adagrad_step(
    param: Any,
    grad: Any,
    total: Any,
    t: float,
    *,
    lr: Any,
    lr_decay: float,
    eps: float,
    weight_decay: float,
) -> None:
    """Step ``t`` (from 1) of Adagrad, in place; ``total`` is the sum of squares."""
    if weight_decay != 0:
        grad = add_decay(grad, param, weight_decay)
    total.addcmul_(grad, grad, value=1)
    add_ratio(param, grad, total.sqrt().add(eps), -lr / (1 + (t - 1) * lr_decay))
