"""``__torch_dispatch__``: modes that see each operator below autograd, as overloads of `weft.ops.aten`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import weft
from weft._engine.tensor import TensorBase, local
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


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a subclass of Tensor says what it wraps, by ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    return (
        issubclass(t, TensorBase)
        and t is not weft.Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a value is a tensor that says what it wraps, by ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    return isinstance(t, TensorBase) and is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(t: Any, callback: Any, outer_size: Any = None, outer_stride: Any = None) -> Any:
    """The tensor of a subclass that wraps what a function makes of each tensor that this one wraps.

    Parameters
    ----------
    t : Tensor
        Of a subclass with ``__tensor_flatten__`` and ``__tensor_unflatten__``.
    callback : callable
        Takes the name of each wrapped tensor, and the tensor.
    outer_size, outer_stride : optional
        Those of the result; default: of ``t``.
    """
    names, context = t.__tensor_flatten__()
    wrapped = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(wrapped, context, size, stride)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What ``__torch_dispatch__`` of a wrapper subclass returns for an overload.

    Of an overload that writes to an argument that is that argument itself, as in PyTorch; other results are returned as
    they are. A tensor without memory has no storage that a view could share.
    """
    written = [
        (args[place] if place < len(args) else (kwargs or {}).get(each.name))
        for place, each in enumerate(func._schema.arguments)
        if each.alias_info is not None and each.alias_info.is_write
    ]
    returns = [each.alias_info for each in func._schema.returns]
    if len(returns) == 1 and returns[0] is not None and returns[0].is_write and written:
        return written[0]
    return out


def autograd_would_have_decomposed(func: Any, flat_args: Any) -> bool:
    """Whether an overload is made of others above autograd: what modes are shown never is."""
    return False


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Within this block no mode is asked; it has the list of them."""
    with without_modes() as modes:
        yield modes
