"""Optimizers that step in the backward pass, as soon as the gradient of their parameter is complete."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__: list[str] = []


def _apply_optimizer_in_backward(
    optimizer_class: Any, params: Iterable[Any], optimizer_kwargs: dict[str, Any], register_hook: bool = True
) -> None:
    """Give each parameter an optimizer that steps, and lets go of the gradient, in the backward pass."""
    for parameter in params:
        optimizer = optimizer_class([parameter], **optimizer_kwargs)
        parameter._in_backward_optimizers = [*getattr(parameter, "_in_backward_optimizers", []), optimizer]
        parameter._optimizer_classes = [*getattr(parameter, "_optimizer_classes", []), optimizer_class]
        parameter._optimizer_kwargs = [*getattr(parameter, "_optimizer_kwargs", []), optimizer_kwargs]
        if register_hook and len(parameter._in_backward_optimizers) == 1:
            parameter.register_post_accumulate_grad_hook(step_in_backward)


def step_in_backward(parameter: Any) -> None:
    """Step with the optimizers of a parameter."""
    for optimizer in parameter._in_backward_optimizers:
        optimizer.step()
    parameter.grad = None


def _get_in_backward_optimizers(module: Any) -> list[Any]:
    """The optimizers of a module's parameters that step in the backward pass."""
    return [each for parameter in module.parameters() for each in getattr(parameter, "_in_backward_optimizers", [])]
