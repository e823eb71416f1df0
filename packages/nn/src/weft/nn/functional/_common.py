"""Helpers of several families: sizes along each spatial dimension, reductions of losses, in-place variants."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import weft
from weft import Tensor
from weft.backend import is_channels_last
from weft.library.declare import documented, with_error_context, write_inplace
from weft.library.layouts import suggests_channels_last

__all__ = [
    "SPATIAL",
    "check_floating",
    "explaining",
    "for_axes",
    "in_dtypes_of",
    "in_layout_of",
    "in_single",
    "inplace_or_not",
    "reduce_loss",
    "require_flags",
    "require_numbers",
    "sizes",
    "whole_number",
    "widened",
]

LIMIT = 1 << 63
SEVERAL = "int or tuple of ints"
SPATIAL = {1: "L", 2: "H, W", 3: "D, H, W"}


def for_axes(name: str, count: int, **pieces: str) -> Callable[[Any], Any]:
    """Name a function that is made for ``count`` spatial dimensions, and fill in its docstring.

    ``{name}``, ``{count}`` and ``{spatial}`` become what they are, and other names the ``pieces``.
    """

    def fill(function: Any) -> Any:
        documented(name=name, count=str(count), spatial=SPATIAL[count], **pieces)(function)
        function.__name__ = function.__qualname__ = name
        return function

    return fill


def explaining(namespace: Any, names: Iterable[str]) -> None:
    """Have the exceptions of Python's own that public functions end with put into their words, as ops have it.

    A function's attribute ``fast_path`` runs common forms of its calls; see `weft.library.fast_paths`.
    """
    for name in names:
        function = vars(namespace)[name]
        if not hasattr(function, "is_public"):  # those of declarations do it already
            fast_path = getattr(function, "fast_path", None)
            attempt = None if fast_path is None else fast_path.bind(function)
            setattr(namespace, name, wraps(function)(with_error_context(function, attempt)))
            getattr(namespace, name).__module__ = namespace.__name__  # where pickle finds it


def sizes(name: str, argument: str, value: Any, count: int) -> tuple[int, ...]:
    """One integer for each spatial dimension, from one for all or from a sequence of one or ``count``.

    Raises
    ------
    TypeError
        If a size is no integer.
    RuntimeError
        If there are more or fewer.
    """
    if type(value) is int and -LIMIT <= value < LIMIT:
        return (value,) * count
    if isinstance(value, Tensor) and value.ndim:
        value = value.tolist()
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    whole = tuple([each if type(each) is int else whole_number(name, argument, each, SEVERAL) for each in given])
    if whole and not -LIMIT <= min(whole) <= max(whole) < LIMIT:
        raise ValueError(f"{name}: {argument}={list(whole)} needs more than 64 bits")
    if len(whole) == 1:
        return whole * count
    if len(whole) != count:
        raise RuntimeError(
            f"{name}: expected {argument} to be a single integer value or a list of {count} values, one for each "
            f"spatial dimension, but got {argument}={list(whole)}"
        )
    return whole


def whole_number(name: str, argument: str, value: Any, wanted: str = "int") -> int:
    """An integer, which a truth value is not.

    Raises
    ------
    TypeError
        For anything else.
    """
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(f"{name}(): argument '{argument}' must be {wanted}, but found {type(value).__name__}")


def require_flags(name: str, **flags: Any) -> None:
    """Options that are true or false are given as such.

    Raises
    ------
    TypeError
        Naming the first that is not.
    """
    for argument, value in flags.items():
        if value is not True and value is not False and type(value).__name__ not in ("bool", "bool_"):
            raise TypeError(f"{name}(): argument '{argument}' must be bool, not {type(value).__name__}")


def require_numbers(name: str, **numbers: Any) -> None:
    """Options that are numbers are given as such.

    Raises
    ------
    TypeError
        Naming the first that is not.
    """
    for argument, value in numbers.items():
        if not hasattr(value, "__float__"):
            raise TypeError(f"{name}(): argument '{argument}' must be Number, not {type(value).__name__}")


def reduce_loss(name: str, loss: Tensor, reduction: str) -> Tensor:
    """The losses of all elements as they are, their mean, or their sum.

    Raises
    ------
    ValueError
        For another reduction.
    """
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    check_reduction(name, reduction)
    return loss


def check_reduction(name: str, reduction: str) -> None:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{name}: {reduction} is not a valid value for reduction; expected 'none', 'mean' or 'sum'")


def inplace_or_not(function: Any, name: str, input: Tensor, inplace: bool, *args: Any) -> Tensor:
    """Call a function of a tensor, writing its result into that tensor if asked to."""
    if not inplace:
        return function(input, *args)
    return write_inplace(name, input, function, args, {})


def in_single(tensor: Any) -> Any:
    """A half-precision tensor in float32, so that a formula of several ops rounds once; others as they are."""
    return tensor if tensor is None or not tensor.dtype.is_half else tensor.float()


def widened(*values: Any) -> Any:
    """Half-precision tensors in float32, and all else as it is: what a formula of several ops begins with."""
    return [in_single(each) if isinstance(each, Tensor) else each for each in values]


def in_dtypes_of(results: Iterable[Tensor], first: Tensor, *others: Tensor | None) -> tuple[Tensor, ...]:
    """Each result in the dtype of a tensor, of the first for None: what a formula of several ops ends with."""
    return tuple(found.to((first if like is None else like).dtype) for found, like in zip(results, (first, *others)))


def in_layout_of(result: Tensor, *inputs: Tensor) -> Tensor:
    """The result with its channels innermost in memory if those of an input are, and else with the last dimension."""
    usual = True
    for each in inputs:
        if not each._array.flags.c_contiguous:
            if suggests_channels_last(each._array):
                return result.contiguous(
                    memory_format=weft.channels_last if result.ndim == 4 else weft.channels_last_3d
                )
            usual = False
    return result if usual or not is_channels_last(result._array) else result.contiguous()


def check_floating(name: str, tensor: Tensor) -> None:
    """The tensor holds real floating-point numbers.

    Raises
    ------
    NotImplementedError
        If it does not.
    """
    if not tensor.dtype.is_floating_point:
        raise NotImplementedError(
            f"{name}: not implemented for '{tensor.dtype.scalar_type_name}' ({tensor.dtype}); convert with .float()"
        )
