"""The steps of loss scaling on tensors alone, by PyTorch's private names: nothing waits for a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft._dtypes.dtypes import float32, int32
from weft._tensor.base import Tensor
from weft.autograd.grad_mode import no_grad
from weft.ops.comparison import where

__all__ = ["_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_"]


def chosen(condition: Tensor, a: Any, b: Any) -> Any:
    """`where` with three arguments, which gives one tensor."""
    return where(condition, a, b)


def check_number(name: str, what: str, value: Tensor, dtype: Any) -> None:
    """Refuse a tensor that is not one number of a dtype.

    Raises
    ------
    RuntimeError
        If it is not.
    """
    if value.numel() != 1:
        raise RuntimeError(f"{name}: {what} must be a 1-element tensor; got {value.numel()} elements")
    if value.dtype is not dtype:
        kind = "a float" if dtype is float32 else "an int"
        raise RuntimeError(f"{name}: {what} must be {kind} tensor; got {value.dtype}")


@no_grad()
def _amp_foreach_non_finite_check_and_unscale_(self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiply gradients, in place, by ``inv_scale``; ``found_inf`` becomes 1 if an element is infinite or NaN.

    Parameters
    ----------
    self : sequence of Tensor
        Of floating point.
    found_inf, inv_scale : Tensor of float32, with one element

    Raises
    ------
    RuntimeError
        For other numbers.
    NotImplementedError
        For integers.
    """
    name = "_amp_foreach_non_finite_check_and_unscale_"
    check_number(name, "inv_scale", inv_scale, float32)
    check_number(name, "found_inf", found_inf, float32)
    for grad in self:
        if not grad.is_floating_point():
            raise NotImplementedError(f"{name}: not implemented for '{grad.dtype.scalar_type_name}'")
    for grad in self:
        wrong = grad.isfinite().all().logical_not()
        found_inf.copy_(chosen(wrong, 1.0, found_inf))
        grad.mul_(inv_scale.reshape(()))


@no_grad()
def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Change a scale, in place, after a step: less after infinite gradients, more after enough steps without any.

    Parameters
    ----------
    self : Tensor of float32, with one element
        The scale.
    growth_tracker : Tensor of int32, with one element
        The number of steps without infinite gradients since the scale last changed; counted on.
    found_inf : Tensor of float32, with one element
    scale_growth_factor, scale_backoff_factor : float
    growth_interval : int

    Raises
    ------
    RuntimeError
        For other numbers.
    """
    name = "_amp_update_scale_"
    check_number(name, "growth_tracker", growth_tracker, int32)
    check_number(name, "current_scale", self, float32)
    check_number(name, "found_inf", found_inf, float32)
    shrinks = found_inf.reshape(()) != 0
    steps = growth_tracker.reshape(()) + 1
    due = steps == growth_interval
    scale = self.reshape(())
    larger = scale * scale_growth_factor
    kept = chosen(due & larger.isfinite(), larger, scale)  # a scale does not grow beyond what float32 holds
    self.copy_(chosen(shrinks, scale * scale_backoff_factor, kept))
    growth_tracker.copy_(chosen(shrinks | due, 0, steps))
    return self
