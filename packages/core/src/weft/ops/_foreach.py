"""``_foreach_*``: one operation on each tensor of a list, by PyTorch's names.

Each calls the tensor's own operation in turn, so that gradients, promotion and errors are that operation's. A backend
that has one kernel for a whole list puts it among its ``kernels`` as ``"foreach::add_"``. It is called, in place of all
of them, with a list of arrays for each argument that is a list and with the other arguments as they are; it writes into
the first list, and for a name without the underscore it returns a list of new arrays. It is asked only where all
tensors are of one dtype and one device and no gradient is recorded; ``NotImplemented`` says that it does not take them.

Examples
--------
>>> weights = [weft.ones(2), weft.zeros(3)]
>>> weft._foreach_add_(weights, [weft.ones(2), weft.ones(3)], alpha=0.5)
[tensor([1.5000, 1.5000]), tensor([0.5000, 0.5000, 0.5000])]
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from weft import linalg
from weft._devices.devices import backend_of
from weft._engine.dispatch import make
from weft._engine.tensor import local, run_quietly
from weft._interception.interceptors import Operation, is_watched
from weft._interception.profiling import watched
from weft._interception.torch_function import flatten, offer, overridable
from weft._tensor.base import Tensor
from weft.ops._inplace import bump
from weft.plugins import kernels
from weft.types import DType, MemoryFormat, Number, Scalar

UNARY = """
abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt
sigmoid sign sin sinh sqrt tan tanh trunc
"""
BINARY = "add sub mul div clamp_max clamp_min maximum minimum pow"
IN_PLACE_BY_COPYING = {"maximum", "minimum"}  # Tensor has no maximum_

Columns = list[Any]  # the arguments: a list with one value for each tensor, or one value for all of them


def check_lists(name: str, tensors: Any, columns: Columns) -> None:
    """Raise if the lists of a call do not fit together.

    Raises
    ------
    TypeError
        If the first argument is no list of tensors.
    RuntimeError
        If it is empty, or another list has another length.
    """
    if not isinstance(tensors, list | tuple) or not all(isinstance(each, Tensor) for each in tensors):
        raise TypeError(f"{name}: argument 'self' must be a list or tuple of Tensors, got {type(tensors).__name__}")
    if not tensors:
        raise RuntimeError(f"{name}: Tensor list must have at least one tensor.")
    for column in columns:
        if isinstance(column, list | tuple) and len(column) != len(tensors):
            raise RuntimeError(
                f"{name}: Tensor lists must have the same number of tensors (or numbers), got {len(tensors)} "
                f"and {len(column)}"
            )


def fused(name: str, columns: Columns, options: dict[str, Any]) -> Any:
    """The results of the backend's kernel for whole lists; None where it has none, or the call is none for it."""
    first = columns[0][0]._key
    if local.grad_enabled and any(each.requires_grad for each in tensors_in(columns)):
        return None
    if not first.plain or any(each._key is not first for each in tensors_in(columns)):
        return None
    kernel = find_kernel(first, f"foreach::{name}")
    if kernel is None:
        return None
    arrays = [
        [raw(value) for value in column] if isinstance(column, list | tuple) else raw(column) for column in columns
    ]
    with backend_of(first.device).guard(first.device.index):
        made = run_quietly(functools.partial(watched(f"foreach::{name}", kernel), *arrays, **options))
    if made is NotImplemented:
        return None
    if name.endswith("_"):
        for tensor in columns[0]:
            bump(tensor, f"_foreach_{name}")
        return columns[0]
    return tuple([make(array, first) for array in made])


def find_kernel(key: Any, name: str) -> Callable[..., Any] | None:
    device = key.device
    return kernels(device.type).get(name) or backend_of(device).kernel(name, key.dtype, None)


def tensors_in(columns: Columns) -> list[Any]:
    values = [each for column in columns for each in (column if isinstance(column, list | tuple) else (column,))]
    return [each for each in values if isinstance(each, Tensor)]


def raw(value: Any) -> Any:
    return value._array if isinstance(value, Tensor) else value


def run(name: str, each: Callable[..., Any], tensors: Any, columns: Sequence[Any], options: dict[str, Any]) -> Any:
    """The operation on each tensor, with its own value of every list among the arguments."""
    check_lists(f"_foreach_{name}", tensors, list(columns))
    found = fused(name, [tensors, *columns], options)
    if found is not None:
        return found
    rows = zip(*(column if isinstance(column, list | tuple) else [column] * len(tensors) for column in columns))
    if not columns:
        return tuple([each(tensor, **options) for tensor in tensors])
    return tuple([each(tensor, *row, **options) for tensor, row in zip(tensors, rows)])


_names: list[str] = []


def declared(name: str, function: Any, summary: str) -> None:
    """Make a function public under its name, and one op for interceptors where no gradient is recorded."""
    operation = Operation(f"foreach::{name}", function)

    @functools.wraps(function)
    def seen(*args: Any, **kwargs: Any) -> Any:
        if is_watched() and not (local.grad_enabled and any(each.requires_grad for each in flatten(args))):
            return operation.run(args, kwargs)
        return function(*args, **kwargs)

    public = overridable(seen)
    public.__name__ = public.__qualname__ = f"_foreach_{name}"
    public.__doc__ = summary
    globals()[public.__name__] = public
    _names.append(public.__name__)


def method(name: str) -> Callable[..., Any]:
    """The method of Tensor, looked up when it is called: a mode may have replaced it."""
    return lambda tensor, *args, **kwargs: getattr(tensor, name)(*args, **kwargs)


def write_back(name: str) -> Callable[..., Any]:
    """An in-place operation from one that is not."""
    return lambda tensor, *args: tensor.copy_(getattr(tensor, name)(*args))


def unary(name: str) -> Callable[..., Any]:
    each = method(name)

    def foreach(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return run(name, each, self, (), {})

    return foreach


def unary_(name: str) -> Callable[..., Any]:
    return returning_lists(unary(name))


def operation(name: str) -> Callable[..., Any]:
    """What is done with one tensor and one operand, which may be a number also where the method takes none."""
    if name.rstrip("_") not in IN_PLACE_BY_COPYING:
        return method(name)
    on_tensors = write_back(name[:-1]) if name.endswith("_") else method(name)
    clamp = method("clamp_min" if name.startswith("max") else "clamp_max")
    clamp_ = method("clamp_min_" if name.startswith("max") else "clamp_max_")

    def each(tensor: Any, other: Any) -> Any:
        if isinstance(other, Tensor):
            return on_tensors(tensor, other)
        return (clamp_ if name.endswith("_") else clamp)(tensor, other)

    return each


def other_of(name: str, other: Any, given: dict[str, Any]) -> Any:
    """The operand by any of its names: ``other``, ``scalar``, ``scalars``, ``exponent``."""
    if given:
        if other is not None or len(given) > 1 or next(iter(given)) not in ("scalar", "scalars", "exponent"):
            raise TypeError(f"_foreach_{name}: got unexpected arguments {', '.join(given)}; it takes self and other")
        return next(iter(given.values()))
    if other is None:
        raise TypeError(f"_foreach_{name}: missing the second argument: a list of tensors or of numbers, or a number")
    return other


def binary(name: str) -> Callable[..., Any]:
    each = operation(name)

    def foreach(
        self: Sequence[Tensor] | Scalar,
        other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None,
        *,
        alpha: Scalar = 1,
        **given: Any,
    ) -> tuple[Tensor, ...]:
        other = other_of(name, other, given)
        if name.startswith("pow") and not isinstance(self, list | tuple):  # a number to the power of each tensor
            return run(name, lambda exponent: self**exponent, other, (), {})
        return run(name, each, self, (other,), {} if alpha == 1 else {"alpha": alpha})

    return foreach


def binary_(name: str) -> Callable[..., Any]:
    each = operation(name)

    def foreach_(
        self: Sequence[Tensor],
        other: Sequence[Tensor] | Sequence[Scalar] | Tensor | Scalar | None = None,
        *,
        alpha: Scalar = 1,
        **given: Any,
    ) -> Sequence[Tensor]:
        return run(name, each, self, (other_of(name, other, given),), {} if alpha == 1 else {"alpha": alpha})

    return returning_lists(foreach_)


def scaled(name: str) -> Callable[..., Any]:
    """``addcmul`` and ``addcdiv``: the factor is a number, a list of them, or a tensor of one dimension."""

    def each(tensor: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
        return getattr(tensor, name)(tensor1, tensor2, value=value)

    def foreach(
        self: Sequence[Tensor],
        tensor1: Sequence[Tensor],
        tensor2: Sequence[Tensor],
        value: Scalar | Sequence[Scalar] | Tensor = 1,
        scalars: Sequence[Scalar] | Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        factors = value if scalars is None else scalars
        if isinstance(factors, Tensor):
            if factors.ndim != 1:
                raise RuntimeError(
                    f"_foreach_{name}: Expected packed scalar Tensor to be of dimension 1. Got {factors.ndim} instead."
                )
            factors = factors.tolist()
        return run(name, each, self, (tensor1, tensor2, factors), {})

    return foreach


def returning_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that writes into the tensors of a list, which it then returns: the same list."""
    function.__annotations__["return"] = "Sequence[Tensor]"

    @functools.wraps(function)
    def foreach_(self: Any, *args: Any, **kwargs: Any) -> Any:
        function(self, *args, **kwargs)
        return self

    return foreach_


def norm(self: Sequence[Tensor], ord: Number = 2, dtype: DType | None = None) -> tuple[Tensor, ...]:
    def each(tensor: Any, ord: Any, dtype: Any) -> Any:
        return linalg.vector_norm(tensor, ord, dtype=dtype)

    return run("norm", each, self, (), {"ord": ord, "dtype": dtype})


def powsum(self: Sequence[Tensor], ord: Number = 2, dtype: DType | None = None) -> tuple[Tensor, ...]:
    def each(tensor: Any, ord: Any, dtype: Any) -> Any:
        return tensor.abs().pow(ord).sum(dtype=dtype)

    return run("powsum", each, self, (), {"ord": ord, "dtype": dtype})


def copy_(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> Sequence[Tensor]:
    if not isinstance(src, list | tuple):
        raise TypeError(
            f"_foreach_copy_(): argument 'src' must be a list or tuple of Tensors, not {type(src).__name__}"
        )
    return run("copy_", method("copy_"), self, (src,), {})


def clone(self: Sequence[Tensor], *, memory_format: MemoryFormat | None = None) -> tuple[Tensor, ...]:
    options = {} if memory_format is None else {"memory_format": memory_format}
    return run("clone", method("clone"), self, (), options)


def lerp(
    self: Sequence[Tensor],
    tensors1: Sequence[Tensor],
    weight: Scalar | Sequence[Scalar] | Sequence[Tensor] | None = None,
    weights: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    return run("lerp", method("lerp"), self, (tensors1, weight if weights is None else weights), {})


def lerp_(
    self: Sequence[Tensor],
    tensors1: Sequence[Tensor],
    weight: Scalar | Sequence[Scalar] | Sequence[Tensor] | None = None,
    weights: Sequence[Tensor] | None = None,
) -> Sequence[Tensor]:
    return run("lerp_", method("lerp_"), self, (tensors1, weight if weights is None else weights), {})


def declare() -> None:
    """Make all of them."""
    for name in UNARY.split():
        declared(name, unary(name), f"`weft.{name}` of each tensor, as a tuple.")
        declared(f"{name}_", unary_(f"{name}_"), f"`weft.{name}` of each tensor, in place.")
    for name in BINARY.split():
        operand = "a list of tensors or numbers, or one value for all"
        declared(name, binary(name), f"`weft.{name}` of each tensor with ``other``, {operand}; as a tuple.")
        declared(f"{name}_", binary_(f"{name}_"), f"`weft.{name}` of each tensor with ``other``, {operand}; in place.")
    for name in ("addcmul", "addcdiv"):
        declared(name, scaled(name), f"`weft.{name}` of each tensor with two lists and factors, as a tuple.")
        in_place = returning_lists(scaled(f"{name}_"))
        declared(f"{name}_", in_place, f"`weft.{name}` of each tensor with two lists and factors, in place.")
    declared("lerp", lerp, "`weft.lerp` from each tensor to another, by a number, numbers or tensors; as a tuple.")
    declared(
        "lerp_",
        returning_lists(lerp_),
        "`weft.lerp` from each tensor to another, by a number, numbers or tensors; in place.",
    )
    declared("zero_", unary_("zero_"), "Fill each tensor with 0.")
    declared("copy_", returning_lists(copy_), "Copy each of the tensors ``src`` into its tensor.")
    declared("clone", clone, "A copy of each tensor, as a tuple.")
    declared("max", unary("max"), "The largest element of each tensor, as a tuple.")
    declared("norm", norm, "The norm of the elements of each tensor, as a tuple.")
    declared("powsum", powsum, "The sum of the elements' absolute values to the power ``ord``, as a tuple.")
    declared("mm", binary("mm"), "The product of each matrix with its other, as a tuple.")


declare()
offer(sys.modules[__name__], _names)  # to overrides by __torch_function__
