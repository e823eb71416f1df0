"""Calling a module: straight to `forward` when there are no hooks, around it when there are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, cast

import weft
from weft import Tensor
from weft.nn._module import hooks
from weft.nn._module.backward_hooks import BackwardHooks
from weft.nn._module.hooks import Hooks
from weft.nn._module.hooks import global_backward_hooks as _global_backward_hooks
from weft.nn._module.hooks import global_backward_pre_hooks as _global_backward_pre_hooks
from weft.nn._module.hooks import global_forward_hooks as _global_forward_hooks
from weft.nn._module.hooks import global_forward_pre_hooks as _global_forward_pre_hooks


def _forward_unimplemented(self: Calling, *input: Any) -> None:
    """Compute the module's output; every subclass defines its own."""
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function; define forward(self, ...) in it'
    )


class Calling(Hooks):
    """`__call__` of a module."""

    # For whoever has to know whether a module's call is what it was.
    _hooks_of_all_modules: ClassVar[tuple[dict[int, Any], ...]] = (
        _global_forward_hooks,
        _global_forward_pre_hooks,
        _global_backward_hooks,
        _global_backward_pre_hooks,
    )

    _compiled_call_impl: Callable[..., Any] | None = None  # what `compile` made

    # An attribute rather than a method, so that a subclass may give forward any signature.
    forward: Callable[..., Any] = _forward_unimplemented

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
            or self._compiled_call_impl
        ):
            return self.forward(*args, **kwargs)
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_with_hooks(args, kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Let calls of this module be captured, as `weft.compile` does; copies and pickles of it are not.

        Parameters
        ----------
        *args, **kwargs
            What `weft.compile` takes besides the function.

        Examples
        --------
        >>> model = weft.nn.Linear(2, 3)
        >>> model.compile()
        >>> type(model).__name__, list(model.state_dict())
        ('Linear', ['weight', 'bias'])
        """
        self._compiled_call_impl = weft.compile(self._call_impl, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        called: set[int] = set()
        try:
            args, kwargs = self._run_forward_pre_hooks(args, kwargs)
            backward_hooks = self._full_backward_hooks()
            if backward_hooks is not None:
                args = backward_hooks.gate_inputs(args)
            output = self.forward(*args, **kwargs)
            output = self._run_forward_hooks(args, kwargs, output, called)
            if backward_hooks is not None:
                output = backward_hooks.gate_outputs(output)
            self._attach_last_operation_hooks(args, output)
            return output
        except Exception:
            self._run_always_called_hooks(args, kwargs, called)
            raise

    # -- forward -----------------------------------------------------------------------------------------------------

    def _run_forward_pre_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for hook_id, hook in [*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()]:
            if hook_id in self._forward_pre_hooks_with_kwargs:
                result = hook(self, args, kwargs)
                if result is not None:
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(
                            f"{self._get_name()}: forward pre-hook must return None or a tuple of "
                            f"(new_args, new_kwargs), but got {result}"
                        )
                    args, kwargs = result
            else:
                result = hook(self, args)
                if result is not None:
                    args = result if isinstance(result, tuple) else (result,)
        return args, kwargs

    def _all_forward_hooks(self) -> Iterator[tuple[int, Callable[..., Any], bool, bool]]:
        """Yield (id, hook, whether it takes kwargs, whether it is always called)."""
        tables = (
            (
                _global_forward_hooks,
                hooks.global_forward_hooks_with_kwargs,
                hooks.global_forward_hooks_always_called,
            ),
            (self._forward_hooks, self._forward_hooks_with_kwargs, self._forward_hooks_always_called),
        )
        for table, with_kwargs, always_called in tables:
            for hook_id, hook in list(table.items()):
                yield hook_id, hook, hook_id in with_kwargs, hook_id in always_called

    def _run_forward_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any, called: set[int]) -> Any:
        for hook_id, hook, with_kwargs, _ in self._all_forward_hooks():
            called.add(hook_id)
            result = hook(self, args, kwargs, output) if with_kwargs else hook(self, args, output)
            if result is not None:
                output = result
        return output

    def _run_always_called_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]) -> None:
        for hook_id, hook, with_kwargs, always_called in self._all_forward_hooks():
            if not always_called or hook_id in called:
                continue
            try:
                hook(self, args, kwargs, None) if with_kwargs else hook(self, args, None)
            except Exception as error:
                warnings.warn(
                    "module forward hook with ``always_call=True`` raised an exception that was silenced as another "
                    f"error was raised in forward of {self._get_name()}: {error}",
                    UserWarning,
                    stacklevel=2,
                )

    # -- backward ----------------------------------------------------------------------------------------------------

    def _full_backward_hooks(self) -> BackwardHooks | None:
        pre_hooks = [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
        full_hooks: list[Callable[..., Any]] = []
        if hooks.global_backward_hooks_are_full():
            full_hooks += _global_backward_hooks.values()
        if self._is_full_backward_hook is True:
            full_hooks += self._backward_hooks.values()
        return BackwardHooks(cast(Any, self), full_hooks, pre_hooks) if full_hooks or pre_hooks else None

    def _attach_last_operation_hooks(self, args: tuple[Any, ...], output: Any) -> None:
        """Attach the hooks from `register_backward_hook` to the operation that made the (first) output."""
        last_operation_hooks: list[Callable[..., Any]] = []
        if not hooks.global_backward_hooks_are_full():
            last_operation_hooks += _global_backward_hooks.values()
        if self._is_full_backward_hook is False:
            last_operation_hooks += self._backward_hooks.values()
        if not last_operation_hooks:
            return
        last: Any = output
        while not isinstance(last, Tensor):
            if isinstance(last, Mapping):
                last = next(value for value in last.values() if isinstance(value, Tensor))
            else:
                last = last[0]
        if last.grad_fn is not None:
            for hook in last_operation_hooks:
                last.grad_fn.register_hook(_with_module(hook, self))
            self._warn_of_last_operation_hooks(args, output, last.grad_fn)

    def _warn_of_last_operation_hooks(self, args: tuple[Any, ...], output: Any, last_operation: Any) -> None:
        """Say what hooks from `register_backward_hook` will not see of this call."""
        outputs = output if isinstance(output, tuple) else (output,)
        made_by = {value.grad_fn for value in outputs if isinstance(value, Tensor) and value.grad_fn is not None}
        missing = "grad_output"
        if not all(isinstance(value, Tensor) for value in outputs):
            problem = "on a Module that does not return a single Tensor or a tuple of Tensors"
        elif not all(isinstance(value, Tensor) for value in args):
            problem, missing = (
                "on a Module that does not take as input a single Tensor or a tuple of Tensors",
                "grad_input",
            )
        elif len(made_by) > 1:
            problem = "when outputs are generated by different autograd Nodes"
        elif {value.grad_fn for value in args if value.grad_fn is not None} != {
            node for node, _ in last_operation.next_functions
        }:
            problem, missing = "when the forward contains multiple autograd Nodes", "grad_input"
        else:
            return
        warnings.warn(
            f"{self._get_name()}: Using a non-full backward hook {problem} is deprecated and will be removed in future "
            f"versions. This hook will be missing some {missing}. Please use register_full_backward_hook to get the "
            "documented behavior.",
            FutureWarning,
            stacklevel=5,
        )


def _with_module(hook: Callable[..., Any], module: Calling) -> Callable[..., Any]:
    def call(grad_input: Any, grad_output: Any) -> Any:
        result = hook(module, grad_input, grad_output)
        return result if result is None or isinstance(result, tuple) else (result,)

    return call
