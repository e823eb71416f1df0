"""What modes of ``__torch_dispatch__`` are shown of weft's ops: the overloads of `weft.ops.aten` that stand for each.

An op whose arguments bear the names that PyTorch gives them is shown by itself: ``core::index_select`` is
``aten.index_select.default``, and which overload it is the types of the arguments say. The rules below are of the
others: of those that PyTorch names otherwise, and of those that are coarser or finer than PyTorch's. `shown` rules call
overloads below autograd, and weft's own node is recorded for the result; `decomposed` rules are of other ops, each of
which is shown and recorded by itself. weft-nn has more of both. What differs from PyTorch:

================================  ====================================================================================
weft                              what is shown
================================  ====================================================================================
``nn::linear``                    ``t`` and ``addmm`` (``mm``), with ``view`` before and after for more dimensions
``core::matmul``                  ``mm``, ``bmm`` (with ``expand`` and ``view``), ``mv`` or ``dot``
``core::transpose``               ``t`` for the two dimensions of a matrix, whichever function was called
``core::getitem``                 ``select``, ``slice`` and ``unsqueeze``, one for each part of the key
``core::sum`` over all            ``sum.default``, also where all dimensions were named
convolution's gradients           ``convolution_backward`` once for each of them, with an ``output_mask`` of one
operands of different dtypes      ``_to_copy`` of one to the common dtype comes first
numbers beside floating point     floats, also where a program wrote an int (``mul.Tensor(x, 2.0)``)
negative dims, sizes of -1        the dims and sizes that they stand for
in-place, where it is recorded    the op that makes the result, and ``copy_``
optimizers, ``_foreach_`` ops     one op of weft's own name (``optim.adam_step.default``) on lists
recurrent layers                  one op of weft's own name for each layer (``nn.lstm_layer.default``)
tensors saved for backward        no ``detach``
================================  ====================================================================================

An op without a rule and without PyTorch's names is shown under its own: ``core.hash_tensor.default``.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import weft
from weft._engine.tensor import TensorBase
from weft._interception.torch_dispatch import without_modes, without_subclasses
from weft._lazy import portions
from weft._ops import OpOverload, OwnOverloads, namespace_of
from weft.library.interceptors import get_op
from weft.ops._aten import aten, schemas_of
from weft.ops._registry import registry
from weft.ops._schema import Argument, FunctionSchema, takes

__all__ = ["decomposed", "decompositions", "overload_of", "shown", "shown_as"]

Rule = Callable[..., Any]

rules: dict[str, Rule] = {}
decompositions: dict[str, Rule] = {}


def shown(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: these ops are shown as the overloads that the function calls with their named arguments."""

    def declare(rule: Rule) -> Rule:
        rules.update(dict.fromkeys(names, rule))
        return rule

    return declare


def decomposed(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: the function computes what these ops do by other ops, which are shown and recorded in their stead."""

    def declare(rule: Rule) -> Rule:
        decompositions.update(dict.fromkeys(names, rule))
        return rule

    return declare


@cache
def load_portions() -> None:
    """Let portions declare their rules."""
    for each in portions():
        if hasattr(each, "LOWERING"):
            importlib.import_module(each.LOWERING)


def shown_as(op: Any, args: dict[str, Any]) -> Any:
    """Call what stands for an op."""
    load_portions()
    rule = rules.get(op.name) or decompositions.get(op.name)
    if rule is not None:
        return rule(**args)
    short = op.name.partition("::")[2]
    schema = None if short.startswith("linalg_") else fitting(short, args)  # these return what gradients need, too
    if schema is not None:
        return call(short, schema, args)
    if hasattr(op, "arguments"):
        return own_overload(op)(*args.values())
    positional, options = op.unnamed(args)
    return own_overload(op)(*positional, **options)


def overload_of(name: str) -> OpOverload:
    """An overload by its name, ``"add.Tensor"``."""
    packet, _, overload = name.partition(".")
    found: OpOverload = getattr(getattr(aten, packet), overload or "default")
    return found


def own_overload(op: Any) -> OpOverload:
    """An op under its own name."""
    namespace, _, short = op.name.partition("::")
    home = namespace_of(namespace)
    packet = vars(home).get(short)
    if packet is None:
        packet = OwnOverloads(namespace, short, op)
        setattr(home, short, packet)
    return packet.default


def fitting(name: str, args: dict[str, Any]) -> FunctionSchema | None:
    """The schema of PyTorch's function of a name, if its arguments have the names and types of these."""
    named = renamed(args)
    for schema in schemas_of(name).values():
        if [*named] == [each.name for each in schema.arguments][: len(named)] and takes(schema, (), named):
            return schema
    for schema in schemas_of(name).values():
        if named.keys() <= schema.by_name.keys() and takes(schema, (), named):
            return schema
    return None


def renamed(args: dict[str, Any]) -> dict[str, Any]:
    """Arguments by PyTorch's names."""
    return {RENAMED.get(name, name): value for name, value in args.items()}


RENAMED = {"input": "self", "output_grad": "grad_output"}


def call(name: str, schema: FunctionSchema, args: dict[str, Any]) -> Any:
    """Call an overload with named arguments; those that are at their defaults are left out, as in PyTorch."""
    named = renamed(args)
    positional: list[Any] = []
    options: dict[str, Any] = {}
    last = 0
    for each in schema.arguments:
        given = each.name in named
        value = as_listed(each, named[each.name]) if given else each.default_value
        is_default = not given or (each.has_default_value() and is_same(value, each.default_value))
        if each.kwarg_only:
            if not is_default:
                options[each.name] = value
            continue
        positional.append(value)
        last = last if is_default else len(positional)
    overload = overload_of(f"{name}.{schema.overload_name}")
    return overload(*positional[:last], **options)


def as_listed(argument: Argument, value: Any) -> Any:
    """A value as PyTorch shows it: sequences are lists."""
    return list(value) if argument.type.is_list and isinstance(value, tuple) else value


def is_same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and not isinstance(value, TensorBase) and bool(value == default)


def all_of(input: Any, dim: Any) -> bool:
    """Whether dimensions are all that a tensor has."""
    return dim is None or (isinstance(dim, tuple) and len(dim) == input.ndim)


# Arithmetic


def written(name: str) -> None:
    """In place: a number is shown as the tensor that PyTorch makes of it."""

    @shown(f"core::{name}")
    def _(input: Any, other: Any, **options: Any) -> Any:
        overload = f"{name}.Tensor_mode" if options.get("rounding_mode") else f"{name}.Tensor"
        return overload_of(overload)(input, other, **{key: each for key, each in given(options).items() if each != 1})


for _name in ("add_", "sub_", "mul_", "div_"):
    written(_name)


@shown("core::add_scaled")
def _(input: Any, other: Any, alpha: Any) -> Any:
    return aten.add.Tensor(input, other, alpha=alpha)


@shown("core::sub")
def _(input: Any, other: Any) -> Any:
    if isinstance(input, TensorBase):
        return aten.sub.Tensor(input, other)
    return aten.rsub.Scalar(other, input)


def commutative(name: str) -> Rule:
    """The tensor comes first, as in PyTorch."""

    def rule(input: Any, other: Any) -> Any:
        pair = (input, other) if isinstance(input, TensorBase) else (other, input)
        return overload_of(f"{name}.Tensor")(*pair)

    return rule


rules["core::add"], rules["core::mul"] = commutative("add"), commutative("mul")


@shown("core::div")
def _(input: Any, other: Any) -> Any:
    if isinstance(input, TensorBase):
        return aten.div.Tensor(input, other)
    return aten.mul.Tensor(aten.reciprocal.default(other), input)


@shown("core::div_floor")
def _(input: Any, other: Any) -> Any:
    return aten.div.Tensor_mode(input, other, rounding_mode="floor")


@shown("core::div_trunc")
def _(input: Any, other: Any) -> Any:
    return aten.div.Tensor_mode(input, other, rounding_mode="trunc")


@shown("core::square")
def _(input: Any) -> Any:
    return aten.pow.Tensor_Scalar(input, 2)


@shown("core::std")
def _(input: Any) -> Any:
    return aten.sqrt.default(input)


@shown("core::convert")
def _(input: Any, dtype: Any) -> Any:
    return aten._to_copy.default(input, dtype=dtype)


@shown("core::transfer")
def _(input: Any, source: Any, target: Any, non_blocking: bool = False) -> Any:
    return aten._to_copy.default(input, device=target)


@shown("core::contiguous_copy")
def _(input: Any) -> Any:
    return aten.clone.default(input, memory_format=weft.contiguous_format)


@shown("core::clone", "core::clone_like")
def _(*others: Any, **args: Any) -> Any:
    return aten.clone.default(next(iter(args.values())))


@shown("core::copy_")
def _(input: Any, other: Any, *others: Any, **options: Any) -> Any:
    return aten.copy_.default(input, other)


@shown("core::randint")
def _(args: tuple[Any, ...] = (), size: Any = None, **options: Any) -> Any:
    named = [options.pop(name) for name in ("low", "high") if options.get(name) is not None]
    *bounds, shape = [*args, *named, *([] if size is None else [size])]
    given = {name: each for name, each in options.items() if each is not None}
    return overload_of("randint.low" if len(bounds) == 2 else "randint.default")(*bounds, list(shape), **given)


@shown("core::uniform_")
def _(input: Any, low: Any = 0.0, high: Any = 1.0, generator: Any = None) -> Any:
    return overload_of("uniform_")(input, low, high, **({} if generator is None else {"generator": generator}))


@shown("core::item")
def _(input: Any) -> Any:
    return aten._local_scalar_dense.default(input)


@shown("core::sigmoid_backward")
def _(output_grad: Any, result: Any) -> Any:
    return aten.sigmoid_backward.default(output_grad, result)


@shown("core::tanh_backward")
def _(output_grad: Any, result: Any) -> Any:
    return aten.tanh_backward.default(output_grad, result)


@shown("core::threshold_backward")
def _(grad: Any, input: Any, threshold: Any) -> Any:
    return aten.threshold_backward.default(grad, input, int(threshold) if threshold == int(threshold) else threshold)


@shown("core::softmax")
def _(input: Any, dim: int) -> Any:
    return aten._softmax.default(input, dim, False)


@shown("core::log_softmax")
def _(input: Any, dim: int) -> Any:
    return aten._log_softmax.default(input, dim, False)


@shown("core::softmax_backward")
def _(output_grad: Any, result: Any, dim: int) -> Any:
    return aten._softmax_backward_data.default(output_grad, result, dim, result.dtype)


@shown("core::log_softmax_backward")
def _(output_grad: Any, result: Any, dim: int) -> Any:
    return aten._log_softmax_backward_data.default(output_grad, result, dim, result.dtype)


# Products of matrices


@shown("core::addmm")
def _(input: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    name = "addmv" if b.ndim == 1 else "addmm" if a.ndim == 2 else "baddbmm"
    scales = {name: value for name, value in (("beta", beta), ("alpha", alpha)) if value != 1}
    if a.ndim <= 3:
        return overload_of(name)(input, a, b, **scales)
    shape = [*a.shape[:-1], b.shape[-1]]  # of several dimensions of batches, which baddbmm has one of
    whole = aten.expand.default(input, shape)
    one = [aten.view.default(reshapable(each), [-1, *each.shape[-2:]]) for each in (whole, a, b)]
    return aten.view.default(aten.baddbmm.default(*one, **scales), shape)


@shown("core::matmul")
def product(input: Any, other: Any) -> Any:
    """A product as PyTorch's matmul makes it of those that there are kernels for."""
    pair = (input.ndim, other.ndim)
    if pair == (1, 1):
        return aten.dot.default(input, other)
    if pair == (2, 1):
        return aten.mv.default(input, other)
    if pair == (2, 2):
        return aten.mm.default(input, other)
    if pair == (1, 2):
        return aten.squeeze.dim(aten.mm.default(aten.unsqueeze.default(input, 0), other), 0)
    if input.ndim > 2 and other.ndim <= 2:
        return rows_by_matrix(input, other)
    return batches(input, other)


def rows_by_matrix(input: Any, other: Any) -> Any:
    """(..., m, k) by (k, n) or (k,): all rows at once."""
    lead = list(input.shape[:-1])
    rows = aten.view.default(reshapable(input), [math.prod(lead), input.shape[-1]])
    if other.ndim == 1:
        return aten.view.default(aten.mv.default(rows, other), lead)
    return aten._unsafe_view.default(aten.mm.default(rows, other), [*lead, other.shape[-1]])


def reshapable(tensor: Any) -> Any:
    """The tensor, or its copy, whose dimensions can be joined."""
    return tensor if tensor.is_contiguous() else aten.clone.default(tensor, memory_format=weft.contiguous_format)


def batches(input: Any, other: Any) -> Any:
    """(..., m, k) by (..., k, n), whose leading dimensions are broadcast."""
    if other.ndim == 1:
        other = aten.unsqueeze.default(other, 1)
        return aten.squeeze.dim(batches(input, other), -1)
    if input.ndim == 1:
        return aten.squeeze.dim(batches(aten.unsqueeze.default(input, 0), other), -2)
    lead = [*weft.broadcast_shapes(input.shape[:-2], other.shape[:-2])]
    many = math.prod(lead)

    def flat(tensor: Any) -> Any:
        matrix = [*tensor.shape[-2:]]
        wide = aten.expand.default(tensor, lead + matrix)
        return aten.view.default(reshapable(wide), [many, *matrix])

    result = aten.bmm.default(flat(input), flat(other))
    return aten._unsafe_view.default(result, [*lead, input.shape[-2], other.shape[-1]])


# Reductions


def reduction(name: str, whole: str = "default", part: str = "dim") -> None:
    """A reduction over some dimensions, or over all."""

    @shown(f"core::{name}")
    def _(input: Any, dim: Any, keepdim: bool) -> Any:
        if all_of(input, dim) and not keepdim and whole:
            return overload_of(f"{name}.{whole}")(input)
        dims = list(dim) if isinstance(dim, tuple) else dim
        return overload_of(f"{name}.{part}")(input, dims, *[True] * keepdim)


for _name in ("sum", "nansum"):
    reduction(_name, "default" if _name == "sum" else "", "dim_IntList" if _name == "sum" else "default")
reduction("mean")
reduction("logsumexp", "", "default")
reduction("amax", "", "default")
reduction("amin", "", "default")
reduction("argmax", "default", "default")
reduction("argmin", "default", "default")


@shown("core::integer_sum")
def _(input: Any, dim: Any, keepdim: bool) -> Any:
    return rules["core::sum"](input, dim, keepdim)


@shown("core::prod", "core::integer_prod")
def _(input: Any, dim: Any, keepdim: bool) -> Any:
    if all_of(input, dim) and not keepdim:
        return aten.prod.default(input)
    (only,) = dim if isinstance(dim, tuple) else (dim,)
    return aten.prod.dim_int(input, only, *[True] * keepdim)


def truth(name: str) -> None:
    @shown(f"core::{name}")
    def _(input: Any, dim: Any, keepdim: bool) -> Any:
        if all_of(input, dim) and not keepdim:
            return overload_of(f"{name}.default")(input)
        if isinstance(dim, tuple) and len(dim) != 1:
            return overload_of(f"{name}.dims")(input, list(dim), *[True] * keepdim)
        return overload_of(f"{name}.dim")(input, dim[0] if isinstance(dim, tuple) else dim, *[True] * keepdim)


truth("all")
truth("any")


@shown("core::max_all")
def _(input: Any) -> Any:
    return aten.max.default(input)


@shown("core::min_all")
def _(input: Any) -> Any:
    return aten.min.default(input)


@shown("core::var")
def _(input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    dims = list(dim) if isinstance(dim, tuple) else dim
    return aten.var.correction(input, dims, **({} if correction == 1 else {"correction": correction}), **kept(keepdim))


def kept(keepdim: bool) -> dict[str, bool]:
    return {"keepdim": True} if keepdim else {}


@shown("core::vector_norm")
def _(input: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
    dims = list(dim) if isinstance(dim, tuple) else dim
    return aten.linalg_vector_norm.default(input, ord, dims, keepdim)


@shown("core::topk")
def _(input: Any, k: int, dim: int, largest_: bool, sorted_: bool) -> Any:
    return aten.topk.default(input, k, dim, largest_, sorted_)


# Views


@shown("core::transpose")
def _(input: Any, dim0: int, dim1: int) -> Any:
    if input.ndim == 2 and {dim0 % 2, dim1 % 2} == {0, 1}:
        return aten.t.default(input)
    return aten.transpose.int(input, dim0, dim1)


@shown("core::view")
def _(input: Any, shape: Any) -> Any:
    return aten.view.default(input, list(shape))


@shown("core::view_dtype")
def _(input: Any, dtype: Any) -> Any:
    return aten.view.dtype(input, dtype)


@shown("core::squeeze")
def _(input: Any, dim: Any) -> Any:
    if dim is None:
        return aten.squeeze.default(input)
    if isinstance(dim, tuple) and len(dim) != 1:
        return aten.squeeze.dims(input, list(dim))
    return aten.squeeze.dim(input, dim[0] if isinstance(dim, tuple) else dim)


@shown("core::slice")
def _(input: Any, dim: int, start: int, stop: int, step: int) -> Any:
    return aten.slice.Tensor(input, dim, start, stop, *[step] * (step != 1))


@shown("core::split")
def _(input: Any, sizes: Any, dim: int) -> Any:
    sizes = list(sizes)
    if len(set(sizes[:-1])) <= 1 and sizes[-1:] <= sizes[:1]:
        return tuple(aten.split.Tensor(input, sizes[0], *[dim] * (dim != 0)))
    return tuple(aten.split_with_sizes.default(input, sizes, *[dim] * (dim != 0)))


@shown("core::unbind")
def _(input: Any, dim: int) -> Any:
    return tuple(aten.unbind.int(input, *[dim] * (dim != 0)))


@shown("core::unfold")
def _(input: Any, dim: int, size: int, step: int) -> Any:
    return aten.unfold.default(input, dim, size, step)


@shown("core::as_strided")
def _(input: Any, size: Any, stride: Any, first: int, own_stride: Any) -> Any:
    return aten.as_strided.default(input, list(size), list(stride), *[first] * (first != 0))


@shown("core::conj")
def _(input: Any) -> Any:
    return aten._conj.default(input)


@shown("core::getitem")
def _(input: Any, key: Any) -> Any:
    parts = key if isinstance(key, tuple) else (key,)
    rest = input.ndim - sum(each is not None and each is not Ellipsis for each in parts)
    dim = 0
    for each in parts:
        if each is Ellipsis:
            dim += rest
        elif each is None:
            input = aten.unsqueeze.default(input, dim)
            dim += 1
        elif isinstance(each, slice):
            if each != slice(None):
                bounds = slice_of(each, input.shape[dim])
                input = aten.slice.Tensor(input, dim, *bounds)
            dim += 1
        else:
            input = aten.select.int(input, dim, int(each))
    return aten.alias.default(input) if parts in ((), (Ellipsis,), (slice(None),)) else input


@shown("core::embed")
def _(input: Any, shape: Any, of: str, args: Any) -> Any:
    if of == "core::select":
        return aten.select_backward.default(input, list(shape), *args)
    if of == "core::slice":
        return aten.slice_backward.default(input, list(shape), *args)
    if of != "core::getitem":
        return own_overload(registry["core::embed"])(input, shape, of, args)
    for size, kind, details in reversed(parts_of(shape, args[0])):
        if kind == "unsqueeze":
            input = aten.squeeze.dim(input, *details)
        elif kind == "select":
            input = aten.select_backward.default(input, size, *details)
        else:
            input = aten.slice_backward.default(input, size, *details)
    return input


def parts_of(shape: Any, key: Any) -> list[tuple[list[int], str, tuple[int, ...]]]:
    """The views that a key stands for: of what size, by which function, with which arguments."""
    size = list(shape)
    parts = key if isinstance(key, tuple) else (key,)
    rest = len(size) - sum(each is not None and each is not Ellipsis for each in parts)
    found: list[tuple[list[int], str, tuple[int, ...]]] = []
    dim = 0
    for each in parts:
        before = list(size)
        if each is Ellipsis:
            dim += rest
        elif each is None:
            found.append((before, "unsqueeze", (dim,)))
            size.insert(dim, 1)
            dim += 1
        elif isinstance(each, slice):
            if each != slice(None):
                start, stop, *step = slice_of(each, size[dim])
                found.append((before, "slice", (dim, start, stop, *(step or [1]))))
                size[dim] = len(range(*each.indices(size[dim])))
            dim += 1
        else:
            found.append((before, "select", (dim, int(each))))
            del size[dim]
    return found


def slice_of(part: slice, size: int) -> list[int]:
    """Start, end and step, where that is not 1, as the overload of slice is given them."""
    step = 1 if part.step is None else int(part.step)
    start = 0 if part.start is None else int(part.start)
    stop = 9223372036854775807 if part.stop is None else int(part.stop)
    return [start, stop, *[step] * (step != 1)]


# Elements by index


@shown("core::index")
def _(input: Any, indices: Any) -> Any:
    return aten.index.Tensor(input, list(indices))


@shown("core::index_put")
def _(input: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    return aten.index_put.default(input, list(indices), values, *[True] * accumulate)


@shown("core::scatter")
def _(input: Any, dim: int, index: Any, src: Any, adds: bool) -> Any:
    if adds:
        return aten.scatter_add.default(input, dim, index, src)
    return overload_of("scatter.src" if isinstance(src, TensorBase) else "scatter.value")(input, dim, index, src)


@shown("core::scatter_")
def _(input: Any, dim: int, index: Any, src: Any, **options: Any) -> Any:
    overload = "scatter_.src" if isinstance(src, TensorBase) else "scatter_.value"
    return overload_of(overload)(input, dim, index, src, **given(options))


@shown("core::clamp")
def _(input: Any, min: Any, max: Any) -> Any:
    bounds = [min, *[max] * (max is not None)]
    tensors = any(isinstance(each, TensorBase) for each in bounds)
    return overload_of("clamp.Tensor" if tensors else "clamp.default")(input, *bounds)


# New tensors


def creation(name: str, overload: str = "default") -> None:
    """A function whose size may be given as several arguments."""

    @shown(f"core::{name}")
    def _(*positional: Any, size: Any = (), **options: Any) -> Any:
        sizes = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        return overload_of(f"{name}.{overload}")(list(sizes), **placed(options))


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Those options that say something."""
    return {name: value for name, value in options.items() if value is not None and value is not False}


def placed(options: dict[str, Any]) -> dict[str, Any]:
    """Those options, and where the new tensor is."""
    return {"device": weft.get_default_device(), "pin_memory": False} | given(options)


for _name in ("zeros", "ones", "rand", "randn"):
    creation(_name)
creation("empty", "memory_format")


@shown("core::full")
def _(size: Any, fill_value: Any, **options: Any) -> Any:
    return aten.full.default([size] if isinstance(size, int) else list(size), fill_value, **placed(options))


@shown("core::eye")
def _(n: int, m: int | None = None, **options: Any) -> Any:
    return aten.eye.default(n, **placed(options)) if m is None else aten.eye.m(n, m, **placed(options))


@shown("core::arange")
def _(start: Any, end: Any = None, step: Any = 1, **options: Any) -> Any:
    if end is None:
        return aten.arange.default(start, **placed(options))
    if step == 1:
        return aten.arange.start(start, end, **placed(options))
    return aten.arange.start_step(start, end, step, **placed(options))


def new(name: str) -> None:
    """A function of a tensor that gives dtype and device."""

    @shown(f"core::{name}")
    def _(*, size: Any, **args: Any) -> Any:
        sizes = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        input, *options = args.items()
        return overload_of(name)(input[1], list(sizes), **given(dict(options)))


for _name in ("new_zeros", "new_ones", "new_empty"):
    new(_name)


def like(name: str) -> None:
    """A function of a tensor that gives the shape."""

    @shown(f"core::{name}")
    def _(input: Any, *others: Any, **options: Any) -> Any:
        return overload_of(name)(input, *others, **{"pin_memory": False} | given(options))


for _name in ("zeros_like", "ones_like", "rand_like", "randn_like"):
    like(_name)


@shown("core::empty_like")
def _(input: Any, **options: Any) -> Any:
    return aten.empty_like.default(input, **given(options))


@shown("core::full_like")
def _(input: Any, fill_value: Any, **options: Any) -> Any:
    return aten.full_like.default(input, fill_value, **{"pin_memory": False} | given(options))


@shown("core::uniform_")
def _(input: Any, low: Any = 0, high: Any = 1, generator: Any = None) -> Any:
    bounds = [] if (low, high) == (0, 1) else [low, high]
    return aten.uniform_.default(input, *bounds, **given({"generator": generator}))


@shown("core::bernoulli_")
def _(input: Any, p_each: Any = 0.5, p: Any = None, generator: Any = None) -> Any:
    chance = p_each if p is None else p
    overload = "bernoulli_.Tensor" if isinstance(chance, TensorBase) else "bernoulli_.float"
    return overload_of(overload)(input, chance, **given({"generator": generator}))


@shown("core::random_")
def _(input: Any, low: Any = None, high: Any = None, generator: Any = None) -> Any:
    bounds = [each for each in (low, high) if each is not None]
    overload = ("random_.default", "random_.to", "random_.from")[len(bounds)]
    return overload_of(overload)(input, *bounds, **given({"generator": generator}))


@shown("core::bernoulli")
def _(input: Any, p: Any = None, generator: Any = None) -> Any:
    return aten.bernoulli.default(input, **given({"generator": generator}))


@shown("core::multinomial")
def _(input: Any, count: int, replacement: bool, generator: Any) -> Any:
    return aten.multinomial.default(input, count, *[True] * replacement, **given({"generator": generator}))


@shown("core::randint")
def _(*, args: Any = (), low: Any = None, high: Any = None, size: Any = None, **options: Any) -> Any:
    numbers = [*args, *(each for each in (low, high, size) if each is not None)]
    *bounds, sizes = numbers
    overload = "randint.low" if len(bounds) == 2 else "randint.default"
    return overload_of(overload)(*bounds, list(sizes), **placed(options))


def unshown(name: str, args: dict[str, Any]) -> Any:
    """Run an op that nobody is asked about."""
    with without_modes(), without_subclasses():
        return get_op(name)(**args)


@shown("core::tensor")
def _(**args: Any) -> Any:
    return aten.lift_fresh.default(unshown("core::tensor", args))


def unseen(name: str) -> None:
    """What reads or makes memory without the dispatcher in PyTorch, too."""

    @shown(f"core::{name}")
    def _(**args: Any) -> Any:
        return unshown(f"core::{name}", args)


for _name in ("tolist", "numpy", "from_numpy", "frombuffer", "from_dlpack", "from_file", "load"):
    unseen(_name)
