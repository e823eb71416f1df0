"""Masks: what all masked operations do with them."""

from __future__ import annotations

from functools import wraps
from typing import Any

from weft._dtypes.dtypes import bool_, dtype, iinfo
from weft.ops._declare import composite
from weft.ops._geometry import broadcast_shapes, require_tensors, wrap_dims
from weft.ops.reductions import any as any_
from weft.ops.views import broadcast_to

INFINITY = float("inf")
REDUCTIONS = set("sum prod amax amin argmax argmin mean median norm var std logsumexp".split())
NORMALIZATIONS = set("softmax log_softmax softmin normalize cumsum cumprod".split())


def masked_operation(function: Any) -> Any:
    """An operation that takes a `MaskedTensor` as well: its elements, and its own mask instead of ``mask``."""

    @composite()
    @wraps(function)
    def operation(input: Any, *args: Any, mask: Any = None, **kwargs: Any) -> Any:
        own = getattr(input, "_masked_mask", None)
        if own is not None:
            input, mask = input.get_data(), own
        return function(input, *args, mask=mask, **kwargs)

    return operation


def canonical(name: str, input: Any, mask: Any) -> Any:
    """A mask of the input's shape, of bool.

    Raises
    ------
    IndexError
        If it has more dimensions than the input.
    RuntimeError
        If it does not broadcast to the input's shape.
    """
    require_tensors(f"masked.{name}", input=input, mask=mask)
    if mask.ndim > input.ndim:
        raise IndexError(
            f"masked.{name}: expected a broadcastable mask, got {mask.ndim} dimensions where the input has "
            f"{input.ndim}; index the mask, or unsqueeze() the input"
        )
    if mask.shape != input.shape:
        if broadcast_shapes(f"masked.{name}", [input._array.shape, mask._array.shape]) != input._array.shape:
            raise RuntimeError(
                f"masked.{name}: a mask of shape {list(mask.shape)} does not broadcast to {list(input.shape)}, that "
                "of the input; expand() the input"
            )
        mask = broadcast_to(mask, input.shape)
    return mask if mask.dtype is bool_ else mask.to(bool_)


def filled(name: str, input: Any, mask: Any, value: Any) -> Any:
    """The input with one value in the place of what the mask leaves out."""
    require_tensors(f"masked.{name}", input=input)
    if mask is None:
        return input
    inside = canonical(name, input, mask)
    return input.where(inside, input.new_full((), value))


def _input_mask(input: Any, *args: Any, mask: Any = None, **kwargs: Any) -> Any:
    """The mask of an operation's call as one of its input's shape, of bool.

    Raises
    ------
    IndexError
        If it has more dimensions than the input.
    RuntimeError
        If it does not broadcast to the input's shape.
    ValueError
        If there is none.
    """
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    return canonical("_input_mask", input, mask)


def _output_mask(op: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """Where the result of an operation's call has a value: of a reduction, where the mask lets an element in.

    Raises
    ------
    ValueError
        If the operation is none with a mask, or there is no mask.
    """
    mask = _input_mask(input, *args, **kwargs)
    name = getattr(op, "__name__", "")
    if name in NORMALIZATIONS:
        return mask
    if name not in REDUCTIONS:
        raise ValueError(f"_output_mask expected masked operation (got {op!r})")
    place = 1 if name == "norm" else 0  # the order of the norm stands before
    dim = kwargs.get("dim", args[place] if len(args) > place else None)
    return any_(mask, dims_of(name, dim, input), keepdim=bool(kwargs.get("keepdim", False)))


def dims_of(name: str, dim: Any, input: Any) -> tuple[int, ...]:
    """The dims of a reduction in order: None and the empty tuple mean all."""
    require_tensors(f"masked.{name}", input=input)
    empty = isinstance(dim, (tuple, list)) and not dim
    return tuple(sorted(wrap_dims(f"masked.{name}", None if empty else dim, input.ndim)))


def lowest(name: str, element: dtype) -> Any:
    """The least number of a dtype: what changes no maximum.

    Raises
    ------
    NotImplementedError
        For bool and complex numbers, which have none.
    """
    return -INFINITY if has_order(name, element).is_floating_point else iinfo(element).min


def highest(name: str, element: dtype) -> Any:
    """The largest number of a dtype: what changes no minimum."""
    return INFINITY if has_order(name, element).is_floating_point else iinfo(element).max


def has_order(name: str, element: dtype) -> dtype:
    if element.is_complex or element is bool_:
        raise NotImplementedError(
            f"masked.{name}: nothing stands for what the mask leaves out among {element} elements; convert the input "
            "with .to(dtype)"
        )
    return element
