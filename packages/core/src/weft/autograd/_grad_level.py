"""Reverse mode as a level of function transforms."""

from __future__ import annotations

from typing import Any

from weft._engine.dispatch import apply_view_fn
from weft._engine.tensor import local, set_grad
from weft._interception.transforms import Level, Wrapped, keep_call, lowered, twin, wrap
from weft.autograd._function_levels import record_call
from weft.ops._inplace import rebase_history

__all__ = ["GradLevel"]


class GradLevel(Level):
    """Reverse mode: a recording of its own, whose variables are the tensors that this level wraps."""

    def __enter__(self) -> GradLevel:
        super().__enter__()
        set_grad(True)
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        set_grad(self.grad_enabled)

    def variable(self, value: Any) -> Any:
        """A tensor as a variable of this level: a leaf that requires grad."""
        made = wrap(Wrapped(self, value))
        made._requires_grad = True
        return made

    def constant(self, value: Any) -> Any:
        return wrap(Wrapped(self, value))

    def run(self, declaration: Any, args: tuple[Any, ...]) -> Any:
        """Run the op below, and record it if it depends on a variable."""
        op = declaration.op
        recorded = local.grad_enabled
        set_grad(self.grad_enabled)  # no_grad inside of the function speaks of this level alone
        try:
            result = op(*lowered(self, declaration, args))
        finally:
            set_grad(recorded)
        several = isinstance(result, tuple)
        outputs = [self.constant(each) for each in (result if several else (result,))]
        keep_call(op, outputs, args, several, self.holds)
        return tuple(outputs) if several else outputs[0]

    def adopt(self, tensor: Any, source: Any) -> Wrapped:
        return Wrapped(self, twin(tensor))

    def apply_view_fn(self, base: Wrapped, view_fn: Any) -> Wrapped:
        return Wrapped(self, apply_view_fn(view_fn, base.value))

    def keep_history(self, target: Any, source: Any) -> None:
        if not self.holds(source):
            source = self.constant(source)
        if local.grad_enabled and (target._requires_grad or source._requires_grad):
            rebase_history(target, source)

    def apply_function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return record_call(self, function, args, kwargs)

    def write(self, target: Wrapped, source: Any) -> None:
        recorded = local.grad_enabled
        set_grad(self.grad_enabled)
        try:
            target.value.copy_(self.below(source))
        finally:
            set_grad(recorded)
