"""Registering hooks: functions that see, and may replace, what goes in and out of a module."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from weft.library.state import profiling
from weft.nn._module import registry
from weft.nn._module.state_dict import StateDict
from weft.utils.hooks import RemovableHandle

# The hooks of all modules. They run before those of the module itself.
global_forward_pre_hooks: dict[int, Callable[..., Any]] = OrderedDict()
global_forward_hooks: dict[int, Callable[..., Any]] = OrderedDict()
global_forward_hooks_with_kwargs: dict[int, bool] = OrderedDict()
global_forward_hooks_always_called: dict[int, bool] = OrderedDict()
global_backward_pre_hooks: dict[int, Callable[..., Any]] = OrderedDict()
global_backward_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_backward_hooks_are_full: bool | None = None


def add_hook(
    hooks: dict[int, Callable[..., Any]],
    hook: Callable[..., Any],
    *flags: dict[int, bool],
    prepend: bool = False,
) -> RemovableHandle:
    """Add ``hook`` to ``hooks``, mark it in each of ``flags``, and return the handle that undoes both."""
    handle = RemovableHandle(hooks, extra_dict=list(flags))
    hooks[handle.id] = hook
    for flag in flags:
        flag[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)  # type: ignore[attr-defined]
    return handle


class Hooks(StateDict):
    """The hooks of one module."""

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before each `forward`.

        Parameters
        ----------
        hook : callable
            May return new arguments: a tuple, or a single value in its place. With ``with_kwargs`` it is called as
            ``hook(module, args, kwargs)`` and returns None or ``(args, kwargs)``.
        prepend : bool
            Whether it runs before the module's other hooks rather than after them.
        with_kwargs : bool

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.

        Examples
        --------
        >>> layer = weft.nn.ReLU()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: args[0] - 1)
        >>> layer(weft.tensor([0.5, 3.0]))
        tensor([0., 2.])
        >>> handle.remove()
        """
        flags = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return add_hook(self._forward_pre_hooks, hook, *flags, prepend=prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after each `forward`.

        Parameters
        ----------
        hook : callable
            May return another output. With ``with_kwargs`` it is called as ``hook(module, args, kwargs, output)``.
        prepend : bool
            Whether it runs before the module's other hooks rather than after them.
        with_kwargs : bool
        always_call : bool
            Whether it runs (with the output None) even if `forward` raises.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.

        Examples
        --------
        >>> layer, seen = weft.nn.ReLU(), []
        >>> handle = layer.register_forward_hook(lambda module, args, output: seen.append(output.shape))
        >>> _ = layer(weft.ones(2, 3))
        >>> seen
        [weft.Size([2, 3])]
        >>> handle.remove()
        """
        flags = [self._forward_hooks_with_kwargs] if with_kwargs else []
        flags += [self._forward_hooks_always_called] if always_call else []
        return add_hook(self._forward_hooks, hook, *flags, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the module's outputs are there.

        Parameters
        ----------
        hook : callable
            May return a tuple of gradients to be used instead.
        prepend : bool
            Whether it runs before the module's other hooks of this kind rather than after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.

        Examples
        --------
        >>> layer = weft.nn.Linear(2, 1)
        >>> handle = layer.register_full_backward_pre_hook(lambda module, grad_output: (10 * grad_output[0],))
        >>> layer(weft.ones(2, requires_grad=True)).sum().backward()
        >>> layer.bias.grad
        tensor([10.])
        """
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of the module's inputs are there.

        Parameters
        ----------
        hook : callable
            ``grad_input`` has an entry for each positional argument, None where it is not a Tensor. May return a tuple
            of gradients to be used instead.
        prepend : bool
            Whether it runs before the module's other hooks of this kind rather than after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.

        Raises
        ------
        RuntimeError
            If the module has a hook from `register_backward_hook`.

        Examples
        --------
        >>> layer, seen = weft.nn.Linear(2, 1), []
        >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append(grad_output))
        >>> layer(weft.ones(2, requires_grad=True)).sum().backward()
        >>> seen
        [(tensor([1.]),)]
        """
        self._use_backward_hooks(full=True)
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the last operation of `forward` has its gradients.

        Its ``grad_input`` are the gradients of that operation, not of the module. Kept for older programs: use
        `register_full_backward_hook`.
        """
        self._use_backward_hooks(full=False)
        return add_hook(self._backward_hooks, hook)

    def _use_backward_hooks(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                f"register_{'full_' if full else ''}backward_hook: Cannot use both regular backward hooks and full "
                "backward hooks on a single Module; use full ones only"
            )
        self._is_full_backward_hook = full


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before each `forward` of every module; see `Module.register_forward_pre_hook`."""
    return add_hook(global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after each `forward` of every module; see `Module.register_forward_hook`."""
    flags = [global_forward_hooks_with_kwargs] if with_kwargs else []
    flags += [global_forward_hooks_always_called] if always_call else []
    return add_hook(global_forward_hooks, hook, *flags)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` for every module; see `Module.register_full_backward_pre_hook`."""
    return add_hook(global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` for every module; see `Module.register_full_backward_hook`."""
    _use_global_backward_hooks(full=True)
    return add_hook(global_backward_hooks, hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook`` for every module, as `Module.register_backward_hook` does. Kept for older programs."""
    _use_global_backward_hooks(full=False)
    return add_hook(global_backward_hooks, hook)


def _use_global_backward_hooks(full: bool) -> None:
    global _global_backward_hooks_are_full
    if _global_backward_hooks_are_full is (not full):
        raise RuntimeError(
            "register_module_backward_hook: Cannot use both regular backward hooks and full backward hooks as global "
            "Module hooks; use full ones only"
        )
    _global_backward_hooks_are_full = full


def global_backward_hooks_are_full() -> bool:
    """Return whether the global backward hooks were registered as full ones."""
    return _global_backward_hooks_are_full is True


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` for each registration; it may return another Parameter."""
    return add_hook(registry.parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` for each registration; it may return another Tensor."""
    return add_hook(registry.buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` for each registration; it may return another Module."""
    return add_hook(registry.module_registration_hooks, hook)


profiling.module_hooks = (register_module_forward_pre_hook, register_module_forward_hook)
