"""Calls that programs make most of functions whose arithmetic is small, straight to the kernel.

`weft.ops` names them where it declares a function (``quick=``). Each takes the positional arguments of a call that has
no others, and returns None where the call is of another form, on other than plain tensors, watched, or wrong: the
declared function then does it, or explains.
"""

from __future__ import annotations

from typing import Any

import numpy

from weft._engine.dispatch import Op, make, record, wrap
from weft._engine.kinds import BySize, Kind
from weft._engine.methods import whole_numbers
from weft._engine.tensor import TensorBase, local, state


def run(op: Op, kind: Kind, tensors: tuple[Any, ...], arrays: tuple[Any, ...], mask: int) -> Any:
    """Run an op of one result on arrays of one kind, and record it for the tensors in the mask."""
    kernel = op.kernels[kind.index]
    if kernel is None:
        kernel = op.kernel(kind)
    if isinstance(kernel, BySize) and type(arrays[0]) is kind.array_type:
        kernel = kernel.choose(arrays[0])
    try:
        array = state.run(kernel, *arrays)
    except Exception as error:
        array = op.declaration.recover(error, kernel, arrays, tensors)
    if type(array) is not kind.array_type:
        array = kind.asarray(array)
    result = op.kinds[kind.index]
    out = make(array, kind if result is None else result)
    if mask and not (state.unrecorded and not local.grad_enabled):
        record(op, out, tensors, mask)
    return out


def attempt(op: Op, kind: Kind, args: tuple[Any, ...], arrays: list[Any], mask: int) -> Any:
    """Run an op whose first tensor has this kind, for a result like its last; None if that fails."""
    kernel = op.kernels[kind.index]
    if kernel is None:
        kernel = op.kernel(kind)
    if isinstance(kernel, BySize):
        first = arrays[0]
        kernel = kernel.choose(first[0] if isinstance(first, list) else first)
    try:
        array = state.run(kernel, *arrays)
    except Exception:  # shapes that do not go together, or another thread in a kernel: the declared way knows
        return None
    out = wrap(array, kind)
    if mask and not (state.unrecorded and not local.grad_enabled):
        record(op, out, args, mask)
    return out


def operands(op: Op, count: int, defaults: tuple[Any, ...] = ()) -> Any:
    """Tensors of one real floating-point kind, and numbers; so many arguments, the last of which may be left out."""

    def quick(args: tuple[Any, ...]) -> Any:
        missing = count - len(args)
        if missing < 0 or missing > len(defaults) or not isinstance(args[0], TensorBase):
            return None
        if missing:
            args = args + defaults[len(defaults) - missing :]
        kind = args[0].kind
        if not kind.fast or not kind.is_real_float:
            return None
        arrays: list[Any] = []
        mask = 0
        bit = 1
        given = 0
        for each in args:
            value: Any = None
            if isinstance(each, TensorBase):
                if each.kind is not kind:
                    return None
                value = each._array
                if each._requires_grad:
                    mask |= bit
            elif each is not None:
                value = fitting_number(each, kind)
                if value is None:
                    return None
            if value is not None:
                given += 1
            arrays.append(value)
            bit <<= 1
        return attempt(op, kind, args, arrays, mask) if given > 1 else None

    return quick


def fitting_number(value: object, kind: Kind) -> Any:
    """A number as a float, if the dtype has it for sure; else None."""
    if type(value) is not float and type(value) is not int:
        return None
    number = float(value)  # type: ignore[arg-type]
    fits = -LARGEST <= number <= LARGEST or number - number != 0.0
    return number if fits and not kind.dtype.is_half else None


LARGEST = 3e38  # that float32 has; infinities and nan it has too


def choice(op: Op) -> Any:
    """A condition of bool, and two tensors of one kind, or one and a number."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) != 3:
            return None
        condition, left, right = args
        if not isinstance(condition, TensorBase):
            return None
        kind = condition.kind
        if not kind.fast or kind.dtype.category != 0:
            return None
        like: TensorBase
        if isinstance(left, TensorBase):
            like = left
        elif isinstance(right, TensorBase):
            like = right
        else:
            return None
        if not like.kind.fast or like.kind.device is not kind.device:
            return None
        arrays: list[Any] = [condition._array]
        mask = 0
        bit = 2
        for each in (left, right):
            if isinstance(each, TensorBase):
                if each.kind is not like.kind:
                    return None
                arrays.append(each._array)
                if each._requires_grad:
                    mask |= bit
            else:
                number = fitting_number(each, like.kind) if like.kind.is_real_float else None
                if number is None or like.kind.array_type is not numpy.ndarray:
                    return None
                arrays.append(numpy.array(number, like._array.dtype))
            bit <<= 1
        return attempt(op, kind, args, arrays, mask)

    return quick


def filling(op: Op) -> Any:
    """A tensor, a mask of bool that is not larger, and a number."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) != 3:
            return None
        tensor, mask, value = args
        if not isinstance(tensor, TensorBase) or not isinstance(mask, TensorBase):
            return None
        kind = tensor.kind
        if not kind.fast or not mask.kind.fast or mask.kind.dtype.category != 0 or not kind.is_real_float:
            return None
        number = fitting_number(value, kind)
        if number is None or mask.kind.device is not kind.device:
            return None
        arrays: list[Any] = [tensor._array, mask._array, number]
        return attempt(op, kind, (tensor, mask, number), arrays, 1 if tensor._requires_grad else 0)

    return quick


def matrix_product(op: Op) -> Any:
    """Two matrices."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) != 2:
            return None
        left, right = args
        if not isinstance(left, TensorBase) or not isinstance(right, TensorBase):
            return None
        kind = left.kind
        if kind is not right.kind or not kind.fast:
            return None
        a = left._array
        b = right._array
        if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
            return None
        return run(op, kind, args, (a, b), (1 if left._requires_grad else 0) | (2 if right._requires_grad else 0))

    return quick


def transposed_product(op: Op) -> Any:
    """Two real matrices, one of them transposed, where nothing is recorded: the gradients of most products."""

    def quick(left: object, right: object, first: bool) -> Any:
        if not isinstance(left, TensorBase) or not isinstance(right, TensorBase):
            return None
        kind = left.kind
        if kind is not right.kind or not kind.quick or not kind.is_real_float:
            return None
        if not state.unrecorded or local.grad_enabled:
            return None
        a = left._array
        b = right._array
        if a.ndim != 2 or b.ndim != 2:
            return None
        if first:
            a = a.T
        else:
            b = b.T
        return run(op, kind, (left, right), (a, b), 0) if a.shape[1] == b.shape[0] else None

    return quick


def affine(op: Op) -> Any:
    """Rows times a matrix, and perhaps a bias."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) == 2:
            args = (args[0], args[1], None)
        if len(args) != 3:
            return None
        rows, weight, bias = args
        if not isinstance(rows, TensorBase) or not isinstance(weight, TensorBase):
            return None
        kind = rows.kind
        if kind is not weight.kind or not kind.fast or not kind.is_differentiable:
            return None
        mask = (1 if rows._requires_grad else 0) | (2 if weight._requires_grad else 0)
        x = rows._array
        w = weight._array
        if x.ndim < 2 or w.ndim != 2 or x.shape[-1] != w.shape[1]:
            return None
        b: Any = None
        if bias is not None:
            if not isinstance(bias, TensorBase) or bias.kind is not kind:
                return None
            b = bias._array
            if b.ndim != 1 or b.shape[0] != w.shape[0]:
                return None
            if bias._requires_grad:
                mask |= 4
        return run(op, kind, args, (x, w, b), mask)

    return quick


def reduction(op: Op) -> Any:
    """A real floating-point tensor over all of its dimensions, or over one."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) == 0 or len(args) > 2:
            return None
        tensor = args[0]
        if not isinstance(tensor, TensorBase):
            return None
        kind = tensor.kind
        if not kind.fast or not kind.is_real_float:
            return None
        array = tensor._array
        ndim: int = array.ndim
        dims: tuple[int, ...]
        dim: Any = None if len(args) == 1 else args[1]
        if dim is None:
            dims = tuple(range(ndim))
        elif type(dim) is int and -ndim <= dim < ndim:
            dims = (dim + ndim if dim < 0 else dim,)
        else:
            return None
        return run(op, kind, (tensor, dims, False), (array, dims, False), 1 if tensor._requires_grad else 0)

    return quick


def joining(op: Op) -> Any:
    """A list of tensors of one kind along a dimension that they have, their other sizes equal."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) == 0 or len(args) > 2:
            return None
        tensors = args[0]
        dim: Any = 0 if len(args) == 1 else args[1]
        if type(dim) is not int or (type(tensors) is not list and type(tensors) is not tuple) or len(tensors) == 0:
            return None
        first = tensors[0]
        if not isinstance(first, TensorBase):
            return None
        kind = first.kind
        if not kind.fast:
            return None
        shape: tuple[Any, ...] = first._array.shape
        place: int = dim
        if place < 0:
            place += len(shape)
        if not 0 <= place < len(shape):
            return None
        arrays: list[Any] = []
        mask = 0
        for each in tensors:
            if not isinstance(each, TensorBase) or each.kind is not kind:
                return None
            array = each._array
            other = array.shape
            if other != shape and not fits_beside(other, shape, place):
                return None
            arrays.append(array)
            if each._requires_grad:
                mask = 1
        return attempt(op, kind, (tensors, place), [arrays, place], mask)

    return quick


def fits_beside(shape: tuple[int, ...], other: tuple[int, ...], place: int) -> bool:
    """Whether two shapes differ in one size only."""
    return len(shape) == len(other) and shape[:place] == other[:place] and shape[place + 1 :] == other[place + 1 :]


def zeros(args: tuple[Any, ...]) -> Any:
    """Zeros of the default dtype on the CPU, where that is the default device."""
    kind = state.new_kind
    if kind is None or state.intercepting:
        return None
    shape = whole_numbers(args, 0)
    if shape is None or len(args) == 0:
        return None
    try:
        return make(numpy.zeros(shape, kind.dtype.numpy), kind)
    except (MemoryError, ValueError):
        return None


SMALL = 8192  # elements up to which NumPy makes an array at once; more may be filled by several threads


def constant(value: float) -> Any:
    """A few elements of the default dtype on the CPU, where that is the default device, all of one value."""

    def quick(args: tuple[Any, ...]) -> Any:
        shape = whole_numbers(args, 0)
        return None if shape is None or len(args) == 0 else full_of(shape, value)

    return quick


def full(args: tuple[Any, ...]) -> Any:
    """The same of a shape and a float."""
    if len(args) != 2 or type(args[1]) is not float:
        return None
    size, value = args
    shape = whole_numbers((size,), 0)
    if shape is None or not -LARGEST <= value <= LARGEST:
        return None
    return full_of(shape, value)


def full_of(shape: tuple[int, ...], value: float) -> Any:
    kind = state.new_kind
    if kind is None or state.intercepting or kind.dtype.itemsize < 4:
        return None
    total = 1
    for size in shape:
        total *= size
    if total > SMALL:
        return None
    array = numpy.empty(shape, kind.dtype.numpy)
    array.fill(value)
    return make(array, kind)


def constant_like(value: float) -> Any:
    """A few elements of the kind and shape of a dense tensor, all of one value."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) != 1:
            return None
        model = args[0]
        if not isinstance(model, TensorBase):
            return None
        kind = model.kind
        array = model._array
        if not kind.fast or not kind.is_real_float or kind.dtype.is_float8 or type(array) is not numpy.ndarray:
            return None
        size: int = array.size
        if size > SMALL or not array.flags.c_contiguous:
            return None
        made = numpy.empty(array.shape, array.dtype)
        made.fill(value)
        return make(made, kind)

    return quick


def counting(args: tuple[Any, ...]) -> Any:
    """The first few whole numbers."""
    kind = state.new_kind
    if kind is None or state.intercepting or len(args) != 1 or type(args[0]) is not int or not 0 <= args[0] <= SMALL:
        return None
    return wrap(numpy.arange(args[0], dtype=numpy.int64), kind)


def vector(data: Any) -> Any:
    """A tensor of a list of Python's floats, under the defaults; None for other data."""
    kind = state.new_kind
    if kind is None or state.intercepting or type(data) is not list or len(data) == 0:
        return None
    for each in data:
        if type(each) is not float:
            return None
    return make(numpy.array(data, kind.dtype.numpy), kind)
