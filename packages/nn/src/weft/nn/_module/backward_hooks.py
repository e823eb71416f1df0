"""How backward hooks see the gradients at a module's borders.

The module's tensor inputs pass through one gate, its tensor outputs through another. A gate is an identity whose
backward hands the gradients to a function. In backward the output gate comes first: it keeps the gradients of the
outputs. When the input gate is reached, both sides are known, and the hooks run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import weft
from weft import Tensor
from weft.autograd import Function

if TYPE_CHECKING:
    from weft.nn.module import Module  # imports this module, and puts its class here

Gradients = tuple[Any, ...]


class _OutputGate(Function):
    """Identity on the outputs; an output that was not used has the gradient None."""

    _is_one_op = False

    @staticmethod
    def forward(ctx: Any, on_backward: Callable[[Gradients], Gradients], *tensors: Tensor) -> Gradients:
        ctx.set_materialize_grads(False)
        return _pass_through(ctx, on_backward, tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Gradients:
        return (None, *ctx.on_backward(gradients))


class _InputGate(Function):
    """Identity on the inputs; an input that was not used has a gradient of zeros."""

    _is_one_op = False

    @staticmethod
    def forward(ctx: Any, on_backward: Callable[[Gradients], Gradients], *tensors: Tensor) -> Gradients:
        return _pass_through(ctx, on_backward, tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Gradients:
        return (None, *ctx.on_backward(gradients))


def _pass_through(ctx: Any, on_backward: Callable[[Gradients], Gradients], tensors: Gradients) -> Gradients:
    ctx.on_backward = on_backward
    if len(tensors) > 1 and len({id(tensor) for tensor in tensors}) < len(tensors):
        seen: set[int] = set()  # each place has a gradient of its own
        distinct = []
        for tensor in tensors:
            distinct.append(tensor.view_as(tensor) if id(tensor) in seen else tensor)
            seen.add(id(tensor))
        tensors = tuple(distinct)
    ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
    return tensors


class BackwardHooks:
    """The backward hooks of one call of one module.

    Parameters
    ----------
    module : Module
    hooks : sequence of callable
        Called as ``hook(module, grad_input, grad_output)``.
    pre_hooks : sequence of callable
        Called as ``hook(module, grad_output)``.
    """

    def __init__(
        self, module: Module, hooks: Sequence[Callable[..., Any]], pre_hooks: Sequence[Callable[..., Any]]
    ) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: Gradients | None = None
        self.input_count = 0
        self.input_positions: list[int] | None = None  # of the tensors among the inputs, if any takes a gradient
        self.output_count = 0
        self.output_positions: list[int] = []

    def gate_inputs(self, args: Gradients) -> Gradients:
        """Return the positional arguments of `forward`, the tensors among them gated."""
        self.input_count = len(args)
        args, self.input_positions = _gated(_InputGate, self._at_inputs, args)
        return args

    def gate_outputs(self, output: Any) -> Any:
        """Return what `forward` returned, gated where it is a Tensor or a tuple with tensors."""
        if not isinstance(output, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(output)}: those of {self.module._get_name()} are not",
                UserWarning,
                stacklevel=2,
            )
        outputs = output if isinstance(output, tuple) else (output,)
        self.output_count = len(outputs)
        gated, positions = _gated(_OutputGate, self._at_outputs, outputs)
        self.output_positions = positions or []
        if not isinstance(output, tuple):
            return gated[0]
        return type(output)(*gated) if hasattr(output, "_fields") else gated  # a namedtuple stays one

    def _at_outputs(self, gradients: Gradients) -> Gradients:
        grad_outputs = _spread(gradients, self.output_positions, self.output_count)
        for pre_hook in self.pre_hooks:
            replaced = _replacement(pre_hook(self.module, grad_outputs), self.output_count, "pre hook", "grad_output")
            grad_outputs = grad_outputs if replaced is None else replaced
        if self.input_positions is None:
            self._run_without_grad_inputs(grad_outputs)
        else:
            self.grad_outputs = grad_outputs
        return tuple(grad_outputs[position] for position in self.output_positions)

    def _at_inputs(self, gradients: Gradients) -> Gradients:
        if self.grad_outputs is None or self.input_positions is None:  # reached by another path than the outputs
            return gradients
        grad_inputs = _spread(gradients, self.input_positions, self.input_count)
        for hook in self.hooks:
            result = hook(self.module, grad_inputs, self.grad_outputs)
            replaced = _replacement(result, self.input_count, "hook", "grad_input")
            grad_inputs = grad_inputs if replaced is None else replaced
        self.grad_outputs = None
        return tuple(grad_inputs[position] for position in self.input_positions)

    def _run_without_grad_inputs(self, grad_outputs: Gradients) -> None:
        """Run the hooks now, since backward will not reach inputs that take no gradient."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no "
            f"inputs require gradients: grad_input of {self.module._get_name()} is None",
            UserWarning,
            stacklevel=2,
        )
        for hook in self.hooks:
            result = hook(self.module, (None,) * self.input_count, grad_outputs)
            if result is not None and not (isinstance(result, tuple) and all(gradient is None for gradient in result)):
                raise RuntimeError(
                    f"backward hook of {self.module._get_name()}: no input requires gradient, so that grad_input "
                    "cannot be replaced; return None"
                )


def _gated(
    gate: type[Function], on_backward: Callable[[Gradients], Gradients], values: Gradients
) -> tuple[Gradients, list[int] | None]:
    """Return ``values`` with their tensors gated and the tensors' positions, or None if none takes a gradient."""
    positions = [position for position, value in enumerate(values) if isinstance(value, Tensor)]
    if not weft.is_grad_enabled() or not any(values[position].requires_grad for position in positions):
        return values, None
    tensors = gate.apply(on_backward, *[values[position] for position in positions])
    gated = list(values)
    for position, tensor in zip(positions, tensors, strict=True):
        gated[position] = tensor
    return tuple(gated), positions


def _spread(gradients: Gradients, positions: list[int], count: int) -> Gradients:
    spread: list[Any] = [None] * count
    for position, gradient in zip(positions, gradients, strict=True):
        spread[position] = gradient
    return tuple(spread)


def _replacement(result: Any, count: int, kind: str, what: str) -> Gradients | None:
    if result is None:
        return None
    result = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    if len(result) != count:
        raise RuntimeError(
            f"backward {kind}: returned an invalid number of {what}, got {len(result)}, but expected {count}"
        )
    for gradient in result:
        if gradient is not None and not isinstance(gradient, Tensor):
            raise TypeError(f"backward {kind}: expected Variable, but hook returned {type(gradient).__name__!r}")
    return tuple(result)
