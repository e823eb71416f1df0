"""Branches and loops as functions, which a tracer can record whole; run eagerly they are Python's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft._engine.tensor import TensorBase

__all__ = ["cond", "while_loop"]


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """``true_fn(*operands)`` if ``pred``, else ``false_fn(*operands)``; gradients flow through the branch that ran.

    Parameters
    ----------
    pred : bool or Tensor of one element
    true_fn, false_fn : functions of the operands
    operands : tuple or list

    Raises
    ------
    RuntimeError
        If ``pred`` is no single truth value.
    TypeError
        If a branch is no function, or the operands are no sequence.

    Examples
    --------
    >>> x = weft.tensor([1.0, 2.0])
    >>> weft.cond(x.sum() > 2, lambda x: x * 2, lambda x: x, (x,))
    tensor([2., 4.])
    """
    if isinstance(pred, TensorBase):
        if pred._array.size != 1:
            raise RuntimeError(f"cond: Expected pred to be bool or single-element tensor, but got {pred}.")
    elif not isinstance(pred, bool | int | float):
        raise RuntimeError(f"cond: Expected pred to be bool or single-element tensor, but got {pred}.")
    require_functions("cond", TypeError, true_fn=true_fn, false_fn=false_fn)
    if not isinstance(operands, tuple | list):
        raise TypeError(f"cond: operands must be a tuple or list, not {type(operands).__name__}")
    return true_fn(*operands) if pred else false_fn(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """Call ``body_fn`` on what it returned before, for as long as ``cond_fn`` of that is true.

    Parameters
    ----------
    cond_fn : function of the carried values, to a bool or a tensor of one element
    body_fn : function of the carried values, to as many new ones
    carried_inputs : tuple or list
        The values to begin with: tensors or numbers.

    Raises
    ------
    RuntimeError
        If a function is none, the values are no sequence, or the body gives another number of them.

    Examples
    --------
    >>> weft.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, weft.ones(2)))
    (3, tensor([8., 8.]))
    """
    require_functions("while_loop", RuntimeError, cond_fn=cond_fn, body_fn=body_fn)
    if not isinstance(carried_inputs, tuple | list):
        raise RuntimeError(f"while_loop: carried_inputs must be a tuple or list, got {type(carried_inputs).__name__}")
    carried = tuple(carried_inputs)
    while truth(cond_fn(*carried)):
        made = body_fn(*carried)
        made = tuple(made) if isinstance(made, tuple | list) else (made,)
        if len(made) != len(carried):
            raise RuntimeError(
                f"while_loop: body_fn should return as many values as it takes ({len(carried)}), got {len(made)}"
            )
        carried = made
    return carried


def truth(value: Any) -> bool:
    """The value of a loop's condition.

    Raises
    ------
    RuntimeError
        If it is no single truth value.
    """
    single = isinstance(value, TensorBase) and value._array.size == 1 and value._key.dtype.name == "bool"
    if not single and not isinstance(value, bool):
        raise RuntimeError(f"while_loop: cond_fn should return a bool or a bool tensor of one element, got {value}")
    return bool(value)


def require_functions(name: str, refusal: type[Exception], **functions: Any) -> None:
    """All can be called."""
    for argument, function in functions.items():
        if not callable(function):
            raise refusal(f"{name}: Expect {argument} to be callable, got {type(function).__name__}")
