"""Which arguments a transform differentiates, and Jacobians in pieces."""

from __future__ import annotations

from typing import Any

from weft._engine.tensor import TensorBase

__all__ = ["as_positions", "basis", "chosen", "jacobian_blocks", "replaced", "tensors_only"]


def as_positions(argnums: Any) -> tuple[int, ...]:
    """The places of the arguments as a tuple."""
    return argnums if isinstance(argnums, tuple) else (argnums,)


def place(name: str, number: Any, count: int) -> int:
    """The place of an argument, not negative.

    Raises
    ------
    RuntimeError
        If there is none there.
    """
    if not isinstance(number, int):
        raise RuntimeError(f"{name}: argnums must be int or Tuple[int, ...], got: {type(number)}")
    if not -count <= number < count:
        raise RuntimeError(f"{name}: Got argnum={number}, but only {count} positional inputs")
    return number % count


def chosen(name: str, args: tuple[Any, ...], argnums: Any) -> Any:
    """The arguments to differentiate with respect to: one, or a tuple."""
    if not isinstance(argnums, tuple):
        return args[place(name, argnums, len(args))]
    if not argnums and name != "vjp":
        raise RuntimeError(f"{name}: argnums must be non-empty")
    places = [place(name, each, len(args)) for each in argnums]
    if len(set(places)) != len(places):
        raise RuntimeError(f"{name}: argnums elements must be unique, got: {argnums}")
    return tuple(args[each] for each in places)


def _slice_argnums(args: tuple[Any, ...], argnums: Any, as_tuple: bool = True) -> Any:
    """`chosen`, a single one in a tuple of its own unless ``as_tuple`` is False."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if isinstance(argnums, tuple) and any(not isinstance(each, int) for each in argnums):
        raise RuntimeError(f"argnum must be int, got: {argnums}")
    found = chosen("_slice_argnums", args, argnums)
    return (found,) if as_tuple and isinstance(argnums, int) else found


def replaced(args: tuple[Any, ...], argnums: Any, values: Any) -> tuple[Any, ...]:
    """The arguments with those of `chosen` replaced."""
    made = list(args)
    numbers, given = (argnums, values) if isinstance(argnums, tuple) else ((argnums,), (values,))
    for number, value in zip(numbers, given):
        made[number] = value
    return tuple(made)


def tensors_only(name: str, what: str, leaves: list[Any]) -> None:
    """All leaves are tensors, and there are some.

    Raises
    ------
    RuntimeError
        If not.
    """
    if what == "results" and (not leaves or leaves == [None]):
        raise RuntimeError(
            f"{name}: Expected f to be a function that has non-empty output (got output = {leaves}); return a Tensor"
        )
    for each in leaves:
        if not isinstance(each, TensorBase) and what == "results":
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(each)}"
            )
        if not isinstance(each, TensorBase):
            raise RuntimeError(f"{name}: Expected {what} to be all tensors, got {type(each)}")
    if not leaves:
        raise RuntimeError(f"{name}: Expected {what} to contain at least one Tensor, got none")


def variables_only(name: str, leaves: list[Any]) -> None:
    """All leaves are tensors that can be differentiated, and there are some.

    Raises
    ------
    ValueError
        For what is no tensor.
    RuntimeError
        For a tensor of integers, or none at all.
    """
    for each in leaves:
        if not isinstance(each, TensorBase):
            raise ValueError(f"{name}: Thing passed to transform API must be Tensor, got {type(each)}")
        if not each._key.is_differentiable:
            raise RuntimeError(
                f"{name}: only Tensors of floating point and complex dtype can require gradients, got "
                f"{each._key.dtype}; leave it out of argnums, or close over it"
            )
    tensors_only(name, "arguments", leaves)


def real_only(name: str, what: str, leaves: list[Any]) -> None:
    """No tensor is complex: a Jacobian of complex functions would need the conjugate's too.

    Raises
    ------
    RuntimeError
        If one is.
    """
    for number, each in enumerate(leaves):
        if each._key.is_complex:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened {what[:-1]} idx: "
                f"{number}; take view_as_real() of it"
            )


def basis(tensors: list[Any]) -> list[Any]:
    """For tensors of n elements in total: for each its part of the n unit vectors."""
    total = sum(each.numel() for each in tensors)
    parts = []
    start = 0
    for each in tensors:
        part = each.new_zeros((total, each.numel()))
        part.diagonal(-start).fill_(1)
        parts.append(part.reshape(total, *each.shape))
        start += each.numel()
    return parts


def jacobian_blocks(outputs: list[Any], rows: list[Any], shapes: list[Any]) -> list[list[Any]]:
    """From the products with all unit vectors of the outputs: for each output the Jacobian of each input."""
    blocks = []
    start = 0
    for output in outputs:
        count = output.numel()
        blocks.append(
            [part.narrow(0, start, count).reshape((*output.shape, *shape)) for part, shape in zip(rows, shapes)]
        )
        start += count
    return blocks
