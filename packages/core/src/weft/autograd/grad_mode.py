"""Whether operations are recorded: context managers that are decorators too."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from weft._engine.tensor import intercept, local, set_grad
from weft._tensor.base import Tensor, add_members


class _Mode:
    """A context manager that also decorates functions and generators."""

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(function):
            return self.on_class(function)
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                made = function(*args, **kwargs)
                resume, given = made.send, None
                while True:
                    with self.again():
                        try:
                            item = resume(given)
                        except StopIteration as stop:
                            return stop.value
                    try:
                        given = yield item
                        resume = made.send
                    except GeneratorExit:
                        with self.again():
                            made.close()
                        raise
                    except BaseException as error:  # also a second one, that is thrown in after the first
                        resume, given = made.throw, error

            return generator

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.again():
                return function(*args, **kwargs)

        return wrapped

    def on_class(self, decorated: Any) -> Any:
        """A class whose instances are made in the mode; its methods are not touched."""
        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
            "functions or methods. To preserve the current behavior of class decoration, you can directly decorate the "
            "`__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )
        decorated.__init__ = self(decorated.__init__)
        return decorated

    def again(self) -> Any:
        """A fresh instance with the same setting."""
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError


class no_grad(_Mode):
    """Operations in this context are not recorded.

    Examples
    --------
    >>> x = weft.ones(1, requires_grad=True)
    >>> with weft.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    def __new__(cls, function: Any = None) -> Any:
        made = object.__new__(cls)
        return made if function is None else made(function)

    def __init__(self, function: Any = None) -> None:
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(local.grad_enabled or local.grad_wanted)
        set_grad(False)

    def __exit__(self, *exc: object) -> None:
        set_grad(self.before.pop())


class enable_grad(no_grad):
    """Operations in this context are recorded, also inside `no_grad`."""

    def __enter__(self) -> None:
        self.before.append(local.grad_enabled or local.grad_wanted)
        set_grad(True)


class set_grad_enabled(_Mode):
    """Record or not, from this call on; as a context manager, for its time only."""

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled(): argument 'mode' must be bool, not {type(mode).__name__}")
        self.before = local.grad_enabled or local.grad_wanted
        self.mode = bool(mode)
        set_grad(self.mode)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        set_grad(self.before)  # it was meant for the function alone
        return super().__call__(function)

    def again(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        set_grad(self.mode)

    def __exit__(self, *exc: object) -> None:
        set_grad(self.before)


class inference_mode(_Mode):
    """As `no_grad`, and what is made here can never be recorded.

    Parameters
    ----------
    mode : bool
        False leaves an enclosing inference mode.
    """

    def __new__(cls, mode: Any = True) -> Any:
        made = object.__new__(cls)
        if isinstance(mode, bool):
            return made
        made.__init__(True)  # type: ignore[misc]
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode if isinstance(mode, bool) else True
        self.before: list[tuple[bool, bool]] = []

    def again(self) -> inference_mode:
        made: inference_mode = inference_mode(self.mode)
        return made

    def __enter__(self) -> None:
        self.before.append((local.grad_enabled or local.grad_wanted, local.inference))
        enter_inference(self.mode)
        set_grad(not self.mode)

    def __exit__(self, *exc: object) -> None:
        enabled, inference = self.before.pop()
        enter_inference(inference)
        set_grad(enabled)


class set_multithreading_enabled(_Mode):
    """Whether a backward pass may use several threads, from this call on or for the time of a context.

    weft's passes run in the thread that calls them, whatever is set.
    """

    enabled = True

    def __init__(self, mode: bool) -> None:
        self.before = set_multithreading_enabled.enabled
        self.mode = mode
        set_multithreading_enabled.enabled = mode

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        set_multithreading_enabled.enabled = self.before
        return super().__call__(function)

    def again(self) -> Any:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        set_multithreading_enabled.enabled = self.mode

    def __exit__(self, *exc: object) -> None:
        set_multithreading_enabled.enabled = self.before


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` was given; True at first."""
    return set_multithreading_enabled.enabled


class _force_original_view_tracking(_Mode):
    """Kept for programs that switch how PyTorch makes views again: weft always runs the operations that made them."""

    enabled = False

    def __init__(self, mode: bool) -> None:
        self.before = _force_original_view_tracking.enabled
        self.mode = mode
        _force_original_view_tracking.enabled = mode

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        _force_original_view_tracking.enabled = self.before
        return super().__call__(function)

    def again(self) -> Any:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        _force_original_view_tracking.enabled = self.mode

    def __exit__(self, *exc: object) -> None:
        _force_original_view_tracking.enabled = self.before


def is_view_replay_enabled() -> bool:
    """What ``_force_original_view_tracking`` was given; False at first."""
    return _force_original_view_tracking.enabled


class _unsafe_preserve_version_counter(_Mode):
    """Writes to some tensors in this context are not counted, so that backward does not miss what they replaced."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
        counters = [each._version_counter for each in self.tensors]
        self.before = [0 if each is None else each.value for each in counters]

    def again(self) -> Any:
        return type(self)(self.tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        for tensor, version in zip(self.tensors, self.before):
            if tensor._version_counter is not None:
                tensor._version_counter.value = version


def enter_inference(mode: bool) -> None:
    """Switch inference mode for this thread; the engine counts the threads that are in it."""
    if mode != local.inference:
        intercept(1 if mode else -1)
        local.inference, local.grad_wanted = mode, False


def is_inference(input: Any) -> bool:
    """Whether a tensor was made in inference mode, so that it can never be recorded."""
    if not isinstance(input, Tensor):
        raise TypeError(f"is_inference(): argument 'input' must be Tensor, not {type(input).__name__}")
    counter = input._version_counter
    return counter is not None and counter.inference


add_members(is_inference=is_inference)


def is_grad_enabled() -> bool:
    """Whether operations are recorded here; in inference mode, whether `enable_grad` asked for that in vain."""
    return local.grad_enabled or local.grad_wanted


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on here."""
    return local.inference
