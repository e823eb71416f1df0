"""`opcheck`: whether an operator does what its schema and its registrations say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import weft
from weft.library._operators import Operator, operator_of
from weft.utils._pytree import tree_leaves, tree_map_only

__all__ = ["OpCheckError", "opcheck"]


class OpCheckError(Exception):
    """An operator does not do what it says."""


def check_schema(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """What is written to is what the schema says, and results lie in memory of their own unless it says otherwise.

    Raises
    ------
    OpCheckError
        If not.
    """
    given = tree_map_only(weft.Tensor, lambda each: each.detach().clone(), (args, kwargs))
    before = tree_map_only(weft.Tensor, lambda each: each.clone(), given)
    with weft.no_grad():
        result = operator.overload(*given[0], **given[1])
    positional = [each for each in operator.schema.arguments if not each.kwarg_only]
    named = [*zip(positional, given[0], before[0])]
    named += [(operator.schema.by_name[name], each, before[1][name]) for name, each in given[1].items()]
    for argument, after, then in named:
        declared = argument.alias_info is not None and argument.alias_info.is_write
        changed = any(not is_same(one, other) for one, other in zip(tensors_in(after), tensors_in(then)))
        if changed and not declared:
            raise OpCheckError(f"Argument {argument.name} is not defined as mutable but was mutated")
        if argument.alias_info is None:
            for each in tensors_in(after):
                if any(shares_memory(each, output) for output in tensors_in(result)):
                    raise OpCheckError(f"Argument {argument.name} is not defined to alias output but was aliasing")


def tensors_in(tree: Any) -> list[Any]:
    return [each for each in tree_leaves(tree) if isinstance(each, weft.Tensor)]


def is_same(one: Any, other: Any) -> bool:
    return one.shape == other.shape and bool(((one == other) | ((one != one) & (other != other))).all())


def shares_memory(one: Any, other: Any) -> bool:
    return bool(
        one.numel() and other.numel() and one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    )


def check_autograd_registration(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A gradient is registered for Autograd, or the function stands for all keys: a device's has none of its own.

    Raises
    ------
    OpCheckError
        If the function for a device is differentiated through what it is made of.
    """
    if not any(each.requires_grad for each in tensors_in((args, kwargs))) or operator.kernel_above(args) is not None:
        return
    if operator.backward is not None or operator.is_custom:
        return
    inputs = tree_map_only(weft.Tensor, lambda each: each.detach().requires_grad_(each.requires_grad), (args, kwargs))
    with weft.enable_grad():
        result = operator.run_kernel(*inputs[0], **inputs[1])
    if any(each.grad_fn is not None for each in tensors_in(result)):
        raise OpCheckError(
            "the function for a device returns tensors with a history of their own; register the gradient with "
            "register_autograd, or the function with the dispatch key CompositeImplicitAutograd"
        )


def check_faketensor(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """What the operator returns on the device ``meta`` has the shapes, strides and dtypes of its results.

    Raises
    ------
    OpCheckError
        If not.
    """
    given = tree_map_only(weft.Tensor, lambda each: each.detach().clone(), (args, kwargs))
    fakes = tree_map_only(weft.Tensor, lambda each: each.to("meta"), given)
    with weft.no_grad():
        expected = tensors_in(operator.overload(*given[0], **given[1]))
        found = tensors_in(operator.overload(*fakes[0], **fakes[1]))
    if len(found) != len(expected):
        raise OpCheckError(f"FakeTensors: {len(found)} tensors are returned, and {len(expected)} of concrete Tensors")
    said = (
        f"When comparing the output of {operator.overload} on FakeTensor and concrete Tensors, found mismatched tensor "
        "metadata"
    )
    for one, other in zip(expected, found):
        if one.shape != other.shape:
            raise OpCheckError(f"{said}: Shapes {one.shape} and {other.shape} are not equal!")
        if one.dtype is not other.dtype:
            raise OpCheckError(f"{said}: Dtypes {one.dtype} and {other.dtype} are not equal!")
        if one.numel() and one.stride() != other.stride():
            raise OpCheckError(f"{said}: Strides {one.stride()} and {other.stride()} are not equal!")


CHECKS: dict[str, Callable[..., None]] = {
    "test_schema": check_schema,
    "test_autograd_registration": check_autograd_registration,
    "test_faketensor": check_faketensor,
}


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = tuple(CHECKS),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Check that an operator does what its schema and its registrations say, on some arguments.

    Parameters
    ----------
    op : OpOverload, OpOverloadPacket or CustomOpDef
    args, kwargs
        Those of a call.
    test_utils : str or sequence of str
        ``"test_schema"``, ``"test_autograd_registration"`` and ``"test_faketensor"``; default: all.
    raise_exception : bool
        Raise at the first that fails; else the result says which.
    atol, rtol : float, optional
        Accepted for PyTorch's signature: nothing is compared with tolerance.

    Returns
    -------
    dict
        From each test to ``"SUCCESS"``, or its exception.

    Raises
    ------
    OpCheckError
        If one fails.
    NotImplementedError
        For tests of a compiler, which weft has not.
    """
    operator = operator_of(op, "opcheck")
    results: dict[str, Any] = {}
    for name in (test_utils,) if isinstance(test_utils, str) else test_utils:
        if name.startswith("test_aot_dispatch"):
            raise NotImplementedError(
                f"opcheck: {name} compares with compiled code, and weft compiles nothing; leave it out"
            )
        if name not in CHECKS:
            raise ValueError(f"opcheck: {name!r} is no test; there are {', '.join(CHECKS)}")
        try:
            CHECKS[name](operator, args, kwargs or {})
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = error
    return results
