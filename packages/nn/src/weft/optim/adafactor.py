"""Adafactor: a second moment that takes the memory of its rows and columns only."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Tensor
from weft.optim.optimizer import (
    Group,
    GroupOptimizer,
    ParamsT,
    State,
    add_scaled,
    check_options,
    given_options,
    new_step_count,
    scalar,
)

__all__ = ["Adafactor"]


class Adafactor(GroupOptimizer):
    """Adam's scaling with a second moment that is the product of a row's and a column's mean.

    With gradient g, parameter p, t the number of this step, and rms the root mean square::

        s = min(lr, 1 / sqrt(t)) * max(eps[1], rms(p))
        p = p - lr * weight_decay * p
        v = (1 - t**beta2_decay) * v + t**beta2_decay * g**2      (its row and column means, for matrices)
        u = g / sqrt(v)
        p = p - s * u / max(1, rms(u) / d)

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
    lr : float or Tensor
    beta2_decay : float
        At most 0.
    eps : (float or None, float)
        The least root of the second moment, by default the dtype's epsilon, and the least scale of a parameter.
    d : float
        The largest root mean square of an update.
    weight_decay : float
    foreach : bool, optional
        Accepted for PyTorch's programs; the backend chooses its own kernel.
    maximize : bool
        Climb instead of descending.

    References
    ----------
    arXiv:1804.04235, algorithms 4 and 5.

    Examples
    --------
    >>> weight = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Adafactor([weight], lr=0.1)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight
    tensor([0.8419, 1.8419], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        defaults = given_options(locals())
        limits = {"weight_decay": weight_decay}
        for index, least in enumerate(eps):
            if least is not None and not least >= 0.0:
                raise ValueError(f"Adafactor: epsilon{index + 1} should be >= 0 but is: {least}")
        check_options("Adafactor", lr=lr, at_least_zero=limits)
        if beta2_decay > 0:
            raise ValueError(f"Adafactor: beta2_decay should be <= 0 but is: {beta2_decay}")
        if not d >= 1.0:
            raise ValueError(f"Adafactor: Clipping threshold d should be >= 1 but is: {d}")
        super().__init__(params, defaults)

    def _init_state(self, param: Tensor, group: Group) -> State:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if param.ndim < 2:
            return {"step": new_step_count(param, group), "variance": weft.zeros_like(param)}
        *outer, rows, columns = param.shape
        return {
            "step": new_step_count(param, group),
            "row_var": param.detach().new_zeros((*outer, rows, 1)),
            "col_var": param.detach().new_zeros((*outer, 1, columns)),
        }

    def _step_group(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        for param, grad, state in zip(params, grads, states):
            t = state["step"].add_(1).item()  # a count on the CPU
            eps1, eps2 = group["eps"]
            if eps1 is None:
                eps1 = weft.finfo(param.dtype).eps
            lr = scalar(group["lr"])
            size = at_least(_rms(param), eps2) * at_most(lr, 1 / math.sqrt(t))  # of the parameter before its decay
            if group["weight_decay"] != 0:
                param.mul_(1 - lr * group["weight_decay"])
            second_moment = _second_moment(grad, state, t ** group["beta2_decay"], eps1)
            update = second_moment.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
            add_scaled(param, update, -size / at_least(_rms(update) / group["d"], 1.0))


def _second_moment(grad: Tensor, state: State, weight: float, eps: float) -> Tensor:
    """Update the running means and return the second moment that they stand for, as a new tensor."""
    squares = grad * grad
    if grad.ndim < 2:
        moment: Tensor = state["variance"].lerp_(squares, weight).clone()
        return moment
    rows = state["row_var"].lerp_(squares.mean(dim=-1, keepdim=True), weight)
    columns = state["col_var"].lerp_(squares.mean(dim=-2, keepdim=True), weight)
    return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps))


def _rms(tensor: Tensor) -> Any:
    return scalar(tensor.norm(2)) / math.sqrt(tensor.numel())


def at_least(value: Any, bound: float) -> Any:
    """A number, or a tensor's, or the bound if that is more."""
    return value.clamp(min=bound) if isinstance(value, Tensor) else max(bound, value)


def at_most(value: Any, bound: float) -> Any:
    """A number, or a tensor's, or the bound if that is less."""
    return value.clamp(max=bound) if isinstance(value, Tensor) else min(value, bound)
