"""``__torch_dispatch__``: modes that see each operator below autograd, as overloads of `weft.ops.aten`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from weft._engine.tensor import local
from weft._interception.torch_dispatch import ModeInterceptor, without_modes

__all__ = ["TorchDispatchMode"]


class TorchDispatchMode:
    """A context manager whose ``__torch_dispatch__`` is called for each operator in its block, in this thread.

    It is called below autograd, in forward and backward passes: with the overload, the subclasses among its arguments
    that define ``__torch_dispatch__`` too, and the arguments. While it runs, only the modes that were entered before
    see what it calls. Which overloads stand for an op of weft's is said in `weft.ops._aten_lowering`.

    Examples
    --------
    >>> class Show(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = weft.ones(2, 3)
    >>> with Show():
    ...     y = (x @ x.t()).sum()
    aten.t.default
    aten.mm.default
    aten.sum.default
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._entered: list[ModeInterceptor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What to do about a call of an operator.

        Raises
        ------
        NotImplementedError
            Unless a subclass overrides it.
        """
        raise NotImplementedError(f"{type(self).__name__}: a TorchDispatchMode has to define __torch_dispatch__")

    def __enter__(self) -> Self:
        interceptor = ModeInterceptor(self)
        self.__dict__.setdefault("_entered", []).append(interceptor)  # also of a class that calls no super().__init__
        interceptor.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._entered.pop().__exit__(*raised)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """An object of the class, for a ``with`` statement."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it belongs to a tool: it does not."""
        return False


def _modes() -> list[Any]:
    return [each.mode for each in local.interceptors if isinstance(each, ModeInterceptor)]


def _get_current_dispatch_mode() -> Any:
    """The mode that was entered last; None if there is none."""
    return next(reversed(_modes()), None)


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes of this thread, from the one that was entered first."""
    return _modes()


def _len_torch_dispatch_stack() -> int:
    """How many modes there are."""
    return len(_modes())


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether there is a mode."""
    return bool(_modes())


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    """Whether there is a mode; none is a compiler's."""
    return bool(_modes())


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Within this block no mode is asked; it has the list of them."""
    with without_modes() as modes:
        yield modes
