"""Writing a result into a tensor that exists: in-place variants, ``out=``, and writes through views."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy

from weft._devices.devices import backend_of, cpu, on_device_of
from weft._dtypes.dtypes import can_cast
from weft._dtypes.float8 import assigned
from weft._engine.dispatch import (
    WHOLE,
    Op,
    PlannedNode,
    apply_view_fn,
    current_node,
    make,
    make_node,
    of_one_owner,
    set_output_index,
    share_view,
    spread_history,
    takes_out,
    untold,
)
from weft._engine.dispatch import bump as bump
from weft._engine.dispatch_keys import KernelBySize
from weft._engine.tensor import Extra, TensorBase, local, run_quietly, set_grad, state
from weft._engine.unresolved import memory_of, values_of
from weft._errors import warn_caller
from weft._interception import transforms
from weft._interception.interceptors import Operation, intercepted, is_watched, method_operation, operations
from weft._interception.torch_dispatch import classes, dispatching, lower
from weft._interception.torch_function import flatten
from weft._settings import warn_of_lost_part
from weft.backend import destination
from weft.ops._registry import registry
from weft.storage import address, reach


def check_writable(name: str, tensor: Any, others_require_grad: bool, memory: bool = True) -> None:
    """An in-place write is allowed, for autograd and, unless only the geometry changes, for memory.

    Raises
    ------
    RuntimeError
        For a leaf that requires grad (or a view of a leaf that does), one of several views that an op returned, a view
        that was not recorded, an inference tensor outside inference mode, or memory that several elements share.
    """
    array = tensor._array
    filling = name in ("zero_", "fill_")  # every element gets the same, so that sharing does no harm
    if memory and 0 in array.strides and not filling:
        if name in SCATTERED and not (local.grad_enabled and (tensor._requires_grad or others_require_grad)):
            warn_of_expanded(name, array)
        else:
            refuse_expanded(name, array)
    counter = tensor._version_counter
    if counter is not None and counter.inference and not local.inference:
        raise RuntimeError(
            f"{name}: Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone "
            "to get a normal tensor before doing inplace update."
        )
    requires_grad = tensor._requires_grad
    if not local.grad_enabled or not (requires_grad or others_require_grad):
        return
    base = tensor._view_base
    if base is not None:
        refuse_unrecorded_view(name, tensor)
        if requires_grad and base._node is None:
            raise RuntimeError(
                f"{name}: a view of a leaf Variable that requires grad is being used in an in-place operation. Write "
                "inside weft.no_grad(), or clone() the leaf first"
            )
    if requires_grad and current_node(tensor) is None:
        raise RuntimeError(
            f"{name}: a leaf Variable that requires grad is being used in an in-place operation. Write inside "
            "weft.no_grad(), or use the out-of-place variant"
        )


def refuse_unrecorded_view(name: str, tensor: Any) -> None:
    """Refuse to write to a view whose history cannot be told, or to a view of one.

    Raises
    ------
    RuntimeError
        If an op returned it with others, it was made where nothing was recorded, or by a custom function.
    """
    found = untold(tensor._view_fn)
    if found is None:
        return
    _, op, _, index, recorded = found
    outputs = 0 if tensor._extra is None else tensor._extra.made_by
    if outputs == 1 or (outputs == 0 and tensor._node is not None and not isinstance(tensor._node, PlannedNode)):
        which = "" if tensor._node is None else f"Output {output_index(tensor)} of {tensor._node.label()} is "
        raise RuntimeError(
            f"{name}: {which and which + 'a view and is being modified inplace. '}"
            "This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
            "logic to handle view+inplace would override the custom backward associated with the custom Function, "
            "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the "
            "custom Function."
        )
    if outputs > 1 or (index >= 0 and recorded):
        label = op.declaration.label if outputs == 0 or tensor._node is None else tensor._node.label()
        number = output_index(tensor) if outputs else index
        raise RuntimeError(
            f"{name}: Output {number} of {label} is a view and is being modified inplace. "
            "This view is the output of a function that returns multiple views. Such functions do not allow the "
            "output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    if found is not tensor._view_fn and tensor._requires_grad and not tensor._view_base._requires_grad:
        block = "inference_mode" if recorded is None else "no_grad block"
        raise RuntimeError(
            f"{name}: a view of a view that requires grad is being modified inplace, and the view before it was made "
            f"inside the {block}. What its gradient is cannot be told. Make both views where gradients are recorded, "
            "or write inside weft.no_grad()"
        )
    mode = "inference mode" if recorded is None else "no_grad mode"
    raise RuntimeError(
        f"{name}: A view was created in {mode} and is being modified inplace with grad mode enabled. Given that this "
        "use case is ambiguous and error-prone, it is forbidden. Make the view where gradients are recorded, or write "
        "inside weft.no_grad()"
    )


# In-place writes of one value to chosen elements: taken of expanded tensors, with a warning, as in PyTorch, which warns
# of index_put_ too. There each element may have a value of its own, of which all but one would be lost.
SCATTERED = frozenset({"masked_fill_", "index_fill_"})
# In-place variants that take one number, which is read before they write: an element of the tensor itself will do.
FILLING = SCATTERED | {"fill_"}
# In-place variants that read their arguments while they write, so that these may not be the tensor itself either.
APART = frozenset(
    "scatter_ scatter_add_ scatter_reduce_ index_add_ index_copy_ index_fill_ index_reduce_ index_put_ put_ "
    "masked_scatter_ addr_".split()
)
# All that write chosen elements: what the others have is not written again.
AT_POSITIONS = (APART - {"addr_"}) | {"masked_fill_", "fill_diagonal_"}


def is_expanded(array: Any) -> bool:
    """Whether several elements are the same memory, as `expand` makes them."""
    return bool(array.size) and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape))


def warn_of_expanded(name: str, array: Any) -> None:
    """Say that a write reaches more elements than it names."""
    if is_expanded(array):
        warn_caller(
            f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this "
            "operation: each element that is written to is all those that share its memory"
        )


def refuse_expanded(name: str, array: Any) -> None:
    """The elements that are written to lie apart in memory; those of an expanded tensor do not.

    Raises
    ------
    RuntimeError
        If they do not.
    """
    if is_expanded(array):
        raise RuntimeError(
            f"{name}: unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location. Please clone() the tensor before performing the operation."
        )


def with_dimensions(tensors: Sequence[Any]) -> list[Any]:
    return [each for each in tensors if each._array.ndim]


def refuse_shared(name: str, target: Any, others: Sequence[Any], same: bool = False) -> None:
    """No argument of an in-place op lies in part of the memory that is written to; ``same``: or in all of it.

    Raises
    ------
    RuntimeError
        If one does.
    """
    array = target._array
    on_host = type(array) is numpy.ndarray
    owner = (array if array.base is None else array.base) if on_host else allocation(array)
    if owner is None:
        return
    for other in others:
        operand = other._array
        if type(operand) is not type(array) or (operand is array and not same):
            continue
        found = (operand if operand.base is None else operand.base) if on_host else allocation(operand)
        if found is owner and shares(array, operand, same):
            raise RuntimeError(
                f"{name}: unsupported operation: some elements of the input tensor and the written-to tensor refer to "
                "a single memory location. Please clone() the tensor before performing the operation."
            )


def allocation(array: Any) -> Any:
    """What a device's arrays that are views of one memory have in common; None of those without memory."""
    return getattr(getattr(array, "data", None), "mem", None)


def shares(array: Any, other: Any, same: bool) -> bool:
    """Whether two dense arrays share memory, which may be the same elements in the same order unless ``same``.

    Of others, such as every second column, it is not asked: the columns between lie elsewhere.
    """
    if not is_dense(array) or not is_dense(other) or not overlap(array, other):
        return False
    if same or array.nbytes != other.nbytes or array.dtype != other.dtype:
        return True
    return layout_in_memory(array) != layout_in_memory(other) or address(array) != address(other)


def overlap(array: Any, other: Any) -> bool:
    """Whether some of the bytes from the first to the last element of an array are among another's."""
    if type(array) is numpy.ndarray:
        return bool(numpy.may_share_memory(array, other))
    begin, start = address(array), address(other)
    return begin < start + reach(other) and start < begin + reach(array)


def layout_in_memory(array: Any) -> list[tuple[int, int]]:
    """Sizes and strides of the dimensions that have several elements."""
    return [(stride, size) for stride, size in zip(array.strides, array.shape) if size > 1]


def is_dense(array: Any) -> bool:
    """Whether the elements fill a stretch of memory, each once, in whatever order of dimensions."""
    if not array.size:
        return False
    step = array.itemsize
    for stride, size in sorted(layout_in_memory(array)):
        if stride != step:
            return False
        step *= size
    return True


def view_inplace(name: str, self: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Make a tensor the view of itself that a function gives: same memory, other geometry."""
    check_writable(name, self, False, memory=False)
    if classes and dispatching((self,)):
        raise NotImplementedError(
            f"{name}: a tensor of {type(self).__name__}, which defines __torch_dispatch__, is not made a view of "
            f"itself; use {name.rstrip('_')}, which returns one"
        )
    base = self._view_base
    recorded = local.grad_enabled
    if base is not None and self._node is not None:
        set_grad(True)  # it stays the view that it is, of the same history, also where nothing else is recorded
    try:
        made = function(alias(self) if base is None else self, *args, **kwargs)
    finally:
        set_grad(recorded)
    self._array = made._array
    if self._key.wrapped:
        self._extra.wrapped = made._extra.wrapped
    bump(self, name)
    if base is not None:
        share_view(self, made)
        self._view_version = self._version_counter.value
    elif not recorded:
        return self
    self._node = made._node
    set_output_index(self, output_index(made))
    return self


def check_fits(name: str, target: Any, shape: tuple[int, ...], element: Any) -> None:
    """A result of this shape and dtype can be written into a tensor.

    Raises
    ------
    RuntimeError
        If broadcasting would have to enlarge the tensor, or the dtype loses its category.
    """
    if target._array.shape != shape:
        raise RuntimeError(
            f"{name}: output with shape {list(target._array.shape)} doesn't match the broadcast shape {list(shape)}; "
            "an in-place operation cannot enlarge its tensor"
        )
    if element is not target._key.dtype and not can_cast(element, target._key.dtype):
        raise RuntimeError(
            f"{name}: result type {element.scalar_type_name} can't be cast to the desired output type "
            f"{target._key.dtype.scalar_type_name}; use the out-of-place variant, or convert with .to({element})"
        )


class Write(Operation):
    """An in-place variant: a function, whose result is written into its first argument."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(name, function)
        if name in ARITHMETIC:
            self.array_function = partial(arithmetic_on_arrays, name.rstrip("_"))

    def __call__(self, /, **args: Any) -> Any:
        (tensor, *others), options = self.unnamed(args)
        return write_inplace(self.name.partition("::")[2], tensor, self.function, others, options)

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        declaration = getattr(self.function, "declaration", None)
        if declaration is None:
            return super().named(args, kwargs)
        return dict(zip(declaration.arguments, args)) | kwargs

    def unnamed(self, args: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if getattr(self.function, "declaration", None) is None:
            return super().unnamed(args)
        return tuple(args.values()), {}


ARITHMETIC = frozenset(("core::add_", "core::sub_", "core::mul_", "core::div_"))


def arithmetic_on_arrays(name: str, values: dict[str, Any]) -> Callable[[Any, Any], None] | None:
    """What writes a sum or the like into the first of two arrays of one kind, or of an array and a number."""
    if len(values) != 2:
        return None
    key, other = values.values()
    number = type(other) is float and key.is_real_float
    number = number or (type(other) is int and 0 <= other < 128 and (key.is_real_float or key.dtype.category == WHOLE))
    op = registry[name].op
    kernel = op.kernel(key)
    by_size = isinstance(kernel, KernelBySize)
    small, large, least = (kernel.small, kernel.large, kernel.least) if by_size else (kernel, kernel, 0)
    if not (other is key or number) or op.result_keys[key.index] is not key or not takes_out(small):
        return None

    def write(array: Any, operand: Any) -> None:
        chosen = large if array.size >= least else small
        if chosen is not small and type(operand) is ndarray and of_one_owner(array, operand):
            chosen = small  # NumPy's own functions see to it that they read before they write
        chosen(array, operand, array)

    return write


def write_of(name: str, function: Callable[..., Any]) -> Operation:
    """The operation of an in-place variant; that of an operator is the method's."""
    if name.startswith("__"):
        declaration = getattr(function, "declaration", None)
        name = f"{function.__name__ if declaration is None else declaration.short}_"
    return operations.get(f"core::{name}") or Write(f"core::{name}", function)


def copy_watched(target: Any, source: Any, run: Callable[[], Any]) -> None:
    """Copy a tensor's values into another, seen by interceptors as ``copy_``."""
    intercepted(method_operation("copy_"), {"input": target, "other": source}, run)


def write_array(target: Any, array: Any) -> None:
    """Copy an array into a tensor's memory, converting its dtype."""
    key = target._key
    move = copy_into if key.device is cpu else on_device_of(key, copy_into)
    run_quietly(move, target._array, values_of(array))


def copy_into(target: Any, array: Any) -> None:
    if array.dtype.kind == "c" and target.dtype.kind not in "cb":
        warn_of_lost_part()
        array = array.real
    if target.dtype.itemsize == 1 or array.dtype.itemsize == 1:
        array = assigned(target, array)
    target[...] = array


def fill(array: Any, value: Any) -> None:
    """Set all elements of an array."""
    array[...] = value


ndarray = numpy.ndarray
MANY, PATTERN = 16384, 4096  # NumPy takes a microsecond for as many


def fill_array(array: Any, value: Any, key: Any = None) -> None:
    """Set all elements of an array, that of a tensor of a kind: large ones as the kind's backend does it best.

    In NumPy bytes of 0, and copies of a row, take half the time of one by one.
    """
    if type(array) is not ndarray:
        fill(array, value) if key is None else on_device_of(key, fill)(array, value)
        return
    if array.size <= MANY or not array.flags.c_contiguous:
        array[...] = value
        return
    spread = None if key is None else backend_of(key.device).kernel("core::spread", key.dtype, None)
    if spread is not None:
        flat = array.reshape(-1)
        flat[0] = value
        if spread(flat) is not NotImplemented:
            return
    pattern = numpy.full(min(array.size, PATTERN), value, array.dtype)
    if not any(pattern[:1].tobytes()):
        array.view(numpy.uint8)[...] = 0
        return
    flat = array.reshape(-1)
    rest = flat.size % pattern.size
    flat[: flat.size - rest].reshape(-1, pattern.size)[...] = pattern
    flat[flat.size - rest :] = pattern[:rest]


def alias(tensor: Any) -> Any:
    """Another tensor with the same memory and history; writes to the first leave its history alone."""
    out = make(tensor._array, tensor._key)
    out._requires_grad = tensor._requires_grad
    if tensor._key.wrapped:
        out._extra = Extra()
        out._extra.wrapped = tensor._extra.wrapped
    out._node = current_node(tensor)
    set_output_index(out, output_index(tensor))
    return out


def write_inplace(name: str, self: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Run a function of ``self``, write its result into ``self``, and record that."""
    others = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, TensorBase)]
    if self._key.wrapped or any(each._key.wrapped for each in flatten(args)):
        return write_wrapped(name, self, function, args, kwargs)
    if classes and dispatching((self, *args, *kwargs.values())):
        return write_subclass(name, self, function, args, kwargs)
    check_writable(name, self, any(each._requires_grad for each in others))
    if name == "index_put_" and args:
        others += [each for each in args[0] if isinstance(each, TensorBase)]
    if others:
        refuse_shared(name, self, others if name not in FILLING else with_dimensions(others), name in APART)
    recorded = local.grad_enabled and (self._requires_grad or any(each._requires_grad for each in others))
    if not recorded:
        if state.intercepting and is_watched():
            op = write_of(name, function)
            run = partial(replace_values, name, self, function, args, kwargs)
            return intercepted(op, op.named((self, *args), kwargs), run)
        return replace_values(name, self, function, args, kwargs)
    before = alias(self)
    if state.intercepting and is_watched():
        before._array = state.clone(self.detach())._array
    if self._view_base is not None and before._node is not None and before._node._extra is not None:
        # Without the hooks on the view, which was another tensor: what is written is a view of the base by itself.
        again = apply_view_fn(self._view_fn, self._view_base)
        before._node = again._node
        set_output_index(before, output_index(again))
    result = function(before, *args, **kwargs)
    check_fits(name, self, result._array.shape, result._key.dtype)
    if result._key.dtype is not self._key.dtype:
        result = result.to(self._key.dtype)
    if before._array is self._array:  # what the node saved of self must not change with it
        before._array = on_device_of(before._key, before._array.copy)()
    assign(name, self, result)
    return self


def write_subclass(name: str, self: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """`write_inplace` where a tensor is of a subclass that defines ``__torch_dispatch__``, which does the writing."""
    others = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, TensorBase)]
    check_writable(name, self, any(each._requires_grad for each in others))
    if local.grad_enabled and (self._requires_grad or any(each._requires_grad for each in others)):
        result = function(self, *args, **kwargs)
        with without_recording():
            self.copy_(result)
        self._node, self._requires_grad = result._node, result._requires_grad
        set_output_index(self, output_index(result))
        return self
    op = write_of(name, function)
    lower(op, op.named((self, *args), kwargs))
    bump(self, name)
    return self


@contextmanager
def without_recording() -> Iterator[None]:
    recorded = local.grad_enabled
    set_grad(False)
    try:
        yield
    finally:
        set_grad(recorded)


def replace_values(name: str, self: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Write a function's result into its tensor, where nothing is recorded."""
    result = into(name, self, function, args, kwargs)
    if result._array is not self._array:
        check_fits(name, self, result._array.shape, result._key.dtype)
        write_result(name, self, result._array)
    bump(self, name)
    return self


def write_result(name: str, target: Any, result: Any) -> None:
    """Write the result of an in-place variant into its tensor.

    Of elements that share memory those are written that differ, lest one that stays as it was undoes another's write.
    """
    array = target._array
    is_plain = not target.is_meta and not target._key.bits
    if name in AT_POSITIONS and is_plain and overlaps_itself(array):
        on_device_of(target._key, write_changed)(backend_of(target._key.device).xp, array, result)
    else:
        write_array(target, result)


def write_changed(xp: Any, array: Any, result: Any) -> None:
    """Write the elements of a result that differ from those of an array."""
    xp.copyto(array, result, where=array != result)


def overlaps_itself(array: Any) -> bool:
    """Whether several elements may be the same memory, as `expand` and `unfold` make them."""
    if array.flags.c_contiguous or not array.size:
        return False
    reach = array.itemsize
    for step, size in sorted((abs(step), size) for step, size in zip(array.strides, array.shape) if size > 1):
        if step < reach:
            return True
        reach += step * (size - 1)
    return False


FUNCTIONS = "relu rsqrt sigmoid lerp addcmul addcdiv clamp"
DIRECT = {  # in-place variants that are one op, and no ufunc: its kernel may write its result itself
    **{f"{name}_": f"core::{name}" for name in FUNCTIONS.split()},
    **dict.fromkeys(("clip_", "clamp_min_", "clamp_max_"), "core::clamp"),
    **dict.fromkeys(("add_", "sub_"), "core::add_scaled"),
}


def into(name: str, self: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """The result of a function of a tensor, perhaps written into it already: it has the same array then."""
    op = DIRECT.get(name)
    if op is None:
        return function(self, *args, **kwargs)
    destination.op, destination.array = op, self._array
    try:
        return function(self, *args, **kwargs)
    finally:
        destination.array = None


def write_wrapped(name: str, self: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """`write_inplace` where a function transform has wrapped a tensor."""
    check_writable(name, self, False)
    result = function(frozen(self), *args, **kwargs)
    check_fits(name, self, result._array.shape, result._key.dtype)
    if result._key.dtype is not self._key.dtype:
        result = result.to(self._key.dtype)
    transforms.write(name, self, result)
    return self


def frozen(tensor: Any) -> Any:
    """A tensor with its history, whose memory a write to the tensor does not change."""
    copy = alias(tensor)
    found = transforms.record_of(tensor)
    if found is None:
        copy._array = on_device_of(copy._key, copy._array.copy)()
    else:
        copy._extra = Extra()
        copy._extra.wrapped = found.level.copied(found)
        copy._extra.output_index = output_index(tensor)
        copy._array = found.level.seen(copy._extra.wrapped)
    return copy


def assign(name: str, self: Any, result: Any) -> None:
    """Write a recorded result into a tensor, which takes over its history; a view's base takes it too."""
    if state.intercepting and is_watched():
        copy_watched(self, result, partial(write_result, name, self, result._array))
    else:
        write_result(name, self, result._array)
    bump(self, name)
    rebase_history(self, result)


def rebase_history(self: Any, result: Any) -> None:
    """Give a tensor that was written to the history of the result; a view's base gets one that has it in it."""
    base = self._view_base
    if base is None:
        if not self._requires_grad:
            spread_history(self)
        before = self._node, output_index(self)
        self._node, self._requires_grad = result._node, result._requires_grad
        set_output_index(self, output_index(result))
        follow_history(self, before)
        return
    scatter: Op = registry["core::view_scatter"].op
    before = alias(base)
    mask = (1 if base._requires_grad else 0) | (2 if result._requires_grad else 0)
    node = make_node(scatter, scatter.plan(mask), (before, result, self._view_fn, memory_order(base)), mask)
    node._shape = base._array.shape
    if not base._requires_grad:
        spread_history(base)
    history = base._node, output_index(base)
    base._node, base._requires_grad = node, True
    set_output_index(base, 0)
    follow_history(base, history)
    self._requires_grad = True


def memory_order(tensor: Any) -> tuple[int, ...]:
    """The dimensions from that with the largest stride to that with the smallest."""
    strides = tensor._array.strides
    return tuple(sorted(range(len(strides)), key=lambda dim: -strides[dim]))


def output_index(tensor: Any) -> int:
    found: int = 0 if tensor._extra is None else tensor._extra.output_index
    return found


def follow_history(tensor: Any, before: Any) -> None:
    """A gradient that is kept is that of the tensor as it is now."""
    hooks = None if tensor._extra is None else tensor._extra.hooks
    if hooks is not None and hooks.retains_grad:
        hooks.follow_history(tensor, *before)


def write_out(
    name: str,
    out: Any,
    result: Any,
    exact: bool = False,
    refusal: type[Exception] = RuntimeError,
    apart: Sequence[Any] = (),
    operands: Sequence[Any] = (),
) -> Any:
    """Put a result into the tensor (or tuple of tensors) that the caller gave as ``out``.

    Parameters
    ----------
    exact : bool
        The dtype has to be the result's; else the result is converted, if its category stays.
    refusal : type
        What is raised for another dtype.
    apart : sequence
        Arguments, of which no tensor may lie in the memory that is written to.
    operands : sequence
        Arguments, of which no tensor may lie in a part of it, see `refuse_shared`.
    """
    several = isinstance(result, tuple)
    if several and (not isinstance(out, (tuple, list)) or len(out) != len(result)):
        raise TypeError(f"{name}(): argument 'out' must be a tuple of {len(result)} Tensors")
    targets, values = (out, result) if several else ((out,), (result,))
    for target in targets:
        check_out(name, target)
    for target, value in zip(targets, values):
        check_takes(name, target, value, exact, refusal)
    refuse_overlap(name, targets, apart)
    if operands:
        tensors = [each for each in operands if isinstance(each, TensorBase)]
        for target, value in zip(targets, values):
            refuse_shared(name, target, tensors)
            if target._array.shape != value._array.shape and any(target is each for each in tensors):
                raise RuntimeError(
                    f"{name}: output with shape {list(target._array.shape)}, which is also an operand, doesn't match "
                    f"the broadcast shape {list(value._array.shape)}; an operand is not resized"
                )
    for target, value in zip(targets, values):
        if target._array.shape != value._array.shape:
            resize_out(name, target, value)
            refuse_overlap(name, (target,), apart)  # it may have grown into its neighbour
    for target, value in zip(targets, values):
        if state.intercepting and is_watched():
            copy_watched(target, value, partial(write_array, target, value._array))
        else:
            write_array(target, value._array)
        bump(target, f"{name}(out=)")
    if not several:
        return out
    return type(result)(out) if type(result) is tuple else type(result)(*out)


def check_takes(name: str, out: Any, result: Any, exact: bool, refusal: type[Exception]) -> None:
    """A result may be written into a tensor: for autograd, and by device and dtype.

    Raises
    ------
    RuntimeError
        If gradients are recorded, or the tensor is on another device.
    Exception
        The refusal, if it has a dtype that the result does not fit.
    """
    if local.grad_enabled and (result._requires_grad or out._requires_grad):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad. Assign the result, or call inside weft.no_grad()"
        )
    if result._key.wrapped and has_tangent(result):
        raise RuntimeError(
            f"{name}: Trying to use forward AD with {name}(out=) that does not support it because it is an out= "
            "function. Assign the result"
        )
    if out._key.device is not result._key.device:
        raise RuntimeError(
            f"{name}: expected out tensor to be on {result._key.device}, but got {out._key.device} instead"
        )
    given, found = out._key.dtype, result._key.dtype
    truths = ("bool", "uint8")  # either serves as the result of a test
    if exact and given is not found and not (given.name in truths and found.name in truths):
        raise refusal(other_dtype(name, found, given))
    if not can_cast(found, given):
        raise refusal(
            f"{name}: result type {found.scalar_type_name} can't be cast to the desired output type "
            f"{given.scalar_type_name}: Expected result to be safely castable from {found.scalar_type_name} dtype, but "
            f"got result with dtype {given.scalar_type_name}"
        )


def has_tangent(tensor: Any) -> bool:
    """Whether forward mode has a derivative of a tensor."""
    found = transforms.record_of(tensor)
    return found is not None and found.tangent is not None


CPP_NAMES = {  # of dtypes, as PyTorch's refusals of out= have them
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
}


def other_dtype(name: str, found: Any, given: Any) -> str:
    """What is said of an output whose dtype is not that of the result, in the words of PyTorch's several refusals."""
    wanted, got = found.scalar_type_name, given.scalar_type_name
    message = (
        f"{name}: Expected out tensor to have dtype {CPP_NAMES.get(found.name, found.name)}, but got "
        f"{CPP_NAMES.get(given.name, given.name)} instead ({found}, not {given}): the output given to {name} has dtype "
        f"{got} but the operation's result requires dtype {wanted} (expected scalar_type {wanted} but found {got}; "
        f"Expected object of scalar type {wanted} but got scalar type {got} for argument 'out')"
    )
    if found.name == "bool":
        message += f". {name} only supports bool tensor for result, got: {got}; it does not support non-boolean outputs"
    elif found.is_complex and not given.is_complex:
        message += f". {name} expects a complex output tensor, but got {got}"
    return message


# Functions that are told a size give it to their output without a warning. Not so arange and range, as in PyTorch.
SIZED_BY_ARGUMENT = frozenset(
    "bernoulli empty eye full linspace logspace multinomial normal ones rand randint randn randperm zeros".split()
)


def resize_out(name: str, out: Any, result: Any) -> None:
    """Give the tensor that a result is written to the result's size; a warning says so if it had elements."""
    if name not in SIZED_BY_ARGUMENT:
        warn_of_resize(name, out, result._array.shape, 5)
    resize_like(out, result)


def warn_of_resize(name: str, out: Any, shape: tuple[int, ...], stacklevel: int = 4) -> None:
    """Say that an output with elements gets another size."""
    if out._array.size:
        warnings.warn(
            f"{name}: An output with one or more elements was resized since it had shape {list(out._array.shape)}, "
            f"which does not match the required output shape {list(shape)}. This behavior is deprecated, and in a "
            "future PyTorch release outputs will not be resized unless they have zero elements. Pass an output of that "
            "shape, or empty it first with out.resize_(0)",
            UserWarning,
            stacklevel=stacklevel,
        )


def refuse_overlap(name: str, targets: Sequence[Any], args: Sequence[Any]) -> None:
    """The memory that is written to must not be that of an input.

    Raises
    ------
    RuntimeError
        If an input and an output are views of the same memory.
    """
    for arg in args:
        for each in arg if isinstance(arg, (tuple, list)) else (arg,):
            if isinstance(each, TensorBase) and any(share_memory(each, target) for target in targets):
                raise RuntimeError(
                    f"{name}: unsupported operation: some elements of the input tensor and the written-to tensor refer "
                    "to a single memory location. Please clone() the tensor before performing the operation."
                )


def share_memory(one: Any, other: Any) -> bool:
    if one is other:
        return True
    first, second = memory_of(one._array), memory_of(other._array)
    if isinstance(first, numpy.ndarray) and isinstance(second, numpy.ndarray):
        return bool(numpy.may_share_memory(first, second))
    if type(first) is not type(second) or allocation(first) is None or allocation(first) is not allocation(second):
        return False
    return overlap(first, second)


def resize_like(out: Any, result: Any) -> None:
    """Give a tensor the size of a result, and its strides if its elements lie densely in memory."""
    shape, strides = result._array.shape, result.stride()
    out.resize_(shape)
    by_columns = len(shape) > 1 and strides[-2:] == (1, shape[-2])  # also where one column makes them contiguous
    if result.is_contiguous() and not by_columns:
        return
    step = 1
    for stride, size in sorted(zip(strides, shape)):
        if size > 1 and stride != step:
            return
        step *= size
    if step and tuple(strides) != tuple(out.stride()):
        out._array = out.as_strided(shape, strides, out.storage_offset())._array


def check_out(name: str, out: Any) -> None:
    if not isinstance(out, TensorBase):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    counter = out._version_counter
    if counter is not None and counter.inference and not local.inference:
        raise RuntimeError(
            f"{name}: Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone "
            "to get a normal tensor before passing it as out."
        )
    refuse_expanded(name, out._array)
