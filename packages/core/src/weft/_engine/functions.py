"""Calls that programs make most of functions whose arithmetic is small, straight to the kernel.

Here are those of elements and of matrices; `dimensions` and `creation` have the others.

`weft.ops` names them where it declares a function (``quick=``). Each takes the positional arguments of a call that has
no others, and returns None where the call is of another form, on other than plain tensors, watched, or wrong: the
declared function then does it, or explains.
"""

from __future__ import annotations

import sys
from typing import Any, Final, Optional

import numpy

from weft._engine.arrays import FEW, Joining
from weft._engine.dispatch import Op, make, record, record_many, wrap
from weft._engine.dispatch_keys import LARGEST, DispatchKey, fitting_number
from weft._engine.tensor import TensorBase, blank, is_collision, local, state

INT64: Final[Any] = numpy.dtype(numpy.int64)


def run(op: Op, key: DispatchKey, tensors: tuple[Any, ...], arrays: list[Any], mask: int) -> Any:
    """Run an op of one result on arrays of one dispatch key, and record it for the tensors in the mask."""
    array = op.run_kernel(key, arrays, tensors)
    if type(array) is not key.array_type:
        array = key.asarray(array)
    result = op.result_keys[key.index]
    out = wrap(array, key) if result is None else make(array, result)
    if mask and not (state.unrecorded and not local.grad_enabled):
        record(op, out, tensors, mask)
    return out


def attempt(op: Op, key: DispatchKey, args: tuple[Any, ...], arrays: list[Any], mask: int, is_valid: Any = None) -> Any:
    """Run an op whose first tensor has this key, for a result like its last.

    Where the kernel fails, ``is_valid`` says of the arrays whether the call was right; if not, the result is None, so
    that the declared function explains.
    """
    array = op.run_kernel(key, arrays, args, is_valid)
    if array is None:
        return None
    out = wrap(array, key)
    if mask and not (state.unrecorded and not local.grad_enabled):
        record(op, out, args, mask)
    return out


def two(op: Op, key: DispatchKey, args: tuple[Any, ...], pair: Any) -> Any:
    """Run an op of two results on its first argument, a tensor of this key."""
    tensor: TensorBase = args[0]
    first, second = op.run_kernel(key, [tensor._array, *args[1:]], args)
    outputs: list[Any] = [wrap(first, key), wrap(second, key)]
    if tensor._requires_grad and not (state.unrecorded and not local.grad_enabled):
        record_many(op, outputs, args, 1)
    return pair(outputs[0], outputs[1])


def first(op: Op, key: DispatchKey, args: tuple[Any, ...], arrays: list[Any], mask: int) -> Any:
    """Run an op of several results, the first of which is wanted, the others for its gradient."""
    found = op.run_kernel(key, arrays, args)
    if not mask or (state.unrecorded and not local.grad_enabled):
        return wrap(found[0], key)
    outputs: list[Any] = []
    for each in found:
        outputs.append(wrap(each, key))
    record_many(op, outputs, args, mask)
    return outputs[0]


def by_name(quick: Any, parameters: tuple[str, ...], defaults: tuple[Any, ...]) -> Any:
    """The same for a call with keywords; what it leaves out before them has its default."""
    required = len(parameters) - len(defaults)

    def named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = list(args)
        left = len(kwargs)
        place = len(values)
        while left > 0:
            if place >= len(parameters):
                return None
            name = parameters[place]
            if name in kwargs:
                values.append(kwargs[name])
                left -= 1
            elif place < required:
                return None
            else:
                values.append(defaults[place - required])
            place += 1
        return quick(tuple(values))

    return named


def operands(
    op: Op, count: int, defaults: tuple[Any, ...] = (), tensors: int = 1, alike: bool = False, only: bool = False
) -> Any:
    """Tensors of one real floating-point dtype, and numbers; so many arguments, the last of which may be left out.

    The first ``tensors`` of them are no numbers; with ``alike`` the others are all numbers, or none is; with ``only``
    they all are.
    """
    first_number = 1 << tensors

    def quick(args: tuple[Any, ...]) -> Any:
        missing = count - len(args)
        if missing < 0 or missing > len(defaults) or not isinstance(args[0], TensorBase):
            return None
        if missing:
            args = args + defaults[len(defaults) - missing :]
        key = args[0]._key
        if not key.fast_path or not key.is_real_float:
            return None
        arrays: list[Any] = []
        mask = 0
        bit = 1
        given = 0
        numbers = 0
        for each in args:
            value: Any = None
            if isinstance(each, TensorBase):
                if each._key is not key or (only and bit >= first_number):
                    return None
                value = each._array
                if each._requires_grad:
                    mask |= bit
            elif bit < first_number:
                return None
            elif each is not None:
                value = fitting_number(each, key)
                if value is None:
                    return None
                numbers += 1
            if value is not None:
                given += 1
            arrays.append(value)
            bit <<= 1
        if given < 2 or (alike and numbers != 0 and numbers != given - tensors):
            return None
        return attempt(op, key, args, arrays, mask)

    return quick


def choice(op: Op) -> Any:
    """A condition of bool, and two tensors of one dtype and device, or one and a number."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) != 3:
            return None
        condition, left, right = args
        if not isinstance(condition, TensorBase):
            return None
        key = condition._key
        if not key.fast_path or key.dtype.category != 0:
            return None
        like: TensorBase
        if isinstance(left, TensorBase):
            like = left
        elif isinstance(right, TensorBase):
            like = right
        else:
            return None
        if not like._key.fast_path or like._key.device is not key.device:
            return None
        arrays: list[Any] = [condition._array]
        mask = 0
        bit = 2
        for each in (left, right):
            if isinstance(each, TensorBase):
                if each._key is not like._key:
                    return None
                arrays.append(each._array)
                if each._requires_grad:
                    mask |= bit
            else:
                number = fitting_number(each, like._key) if like._key.is_real_float else None
                if number is None or like._key.array_type is not numpy.ndarray:
                    return None
                arrays.append(numpy.array(number, like._array.dtype))
            bit <<= 1
        return attempt(op, key, args, arrays, mask)

    return quick


def filling(op: Op) -> Any:
    """A tensor, a mask of bool that is not larger, and a number."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) != 3:
            return None
        tensor, mask, value = args
        if not isinstance(tensor, TensorBase) or not isinstance(mask, TensorBase):
            return None
        key = tensor._key
        if not key.fast_path or not mask._key.fast_path or mask._key.dtype.category != 0 or not key.is_real_float:
            return None
        number = fitting_number(value, key)
        if number is None or mask._key.device is not key.device:
            return None
        arrays: list[Any] = [tensor._array, mask._array, number]
        return attempt(op, key, (tensor, mask, number), arrays, 1 if tensor._requires_grad else 0)

    return quick


def same(args: tuple[Any, ...]) -> Any:
    """Whether two tensors of one dtype and device, with a few elements, are equal."""
    if len(args) != 2:
        return None
    left, right = args
    if not isinstance(left, TensorBase) or not isinstance(right, TensorBase):
        return None
    key = left._key
    if key is not right._key or not key.fast_path or key.array_type is not numpy.ndarray:
        return None
    a = left._array
    shape: tuple[Any, ...] = a.shape
    if shape != right._array.shape or len(shape) == 0 or a.size > FEW:
        return None
    truths: bytes = numpy.equal(a, right._array).tobytes()
    return truths.find(0) < 0


def choosing(op: Op, slices: bool = False) -> Any:
    """Elements along a dimension at the positions that a tensor of as many dimensions gives; or slices, by a vector."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) != 3 or type(args[1]) is not int:
            return None
        tensor, dim, index = args
        if not isinstance(tensor, TensorBase) or not isinstance(index, TensorBase):
            return None
        key = tensor._key
        if not key.fast_path or not index._key.fast_path or index._key is not key.siblings.get(INT64):
            return None
        shape: tuple[Any, ...] = tensor._array.shape
        wanted: tuple[Any, ...] = index._array.shape
        place: int = dim
        if place < 0:
            place += len(shape)
        if not 0 <= place < len(shape) or len(wanted) != (1 if slices else len(shape)):
            return None
        if not slices:
            for at, size in enumerate(wanted):
                if size > shape[at] and at != place:
                    return None
        arrays: list[Any] = [tensor._array, place, index._array]
        return attempt(op, key, (tensor, place, index), arrays, 1 if tensor._requires_grad else 0, is_in_range)

    return quick


def is_in_range(arrays: list[Any]) -> bool:
    """Whether positions along a dimension of an array are those of elements."""
    array, dim, index = arrays
    size: int = array.shape[dim]
    return bool(index.size == 0 or (index.min() >= 0 and index.max() < size))


def selecting(op: Op) -> Any:
    """The slices along a dimension at the positions that a vector gives."""
    return choosing(op, slices=True)


def matrix_product(op: Op) -> Any:
    """Two matrices, a matrix and a vector, or two batches of as many matrices."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) != 2:
            return None
        left, right = args
        if not isinstance(left, TensorBase) or not isinstance(right, TensorBase):
            return None
        key = left._key
        if key is not right._key or not key.fast_path:
            return None
        a = left._array
        b = right._array
        mask = (1 if left._requires_grad else 0) | (2 if right._requires_grad else 0)
        shape: tuple[Any, ...] = a.shape
        other: tuple[Any, ...] = b.shape
        ndim = len(shape)
        if ndim > 2:
            if len(other) != ndim or shape[-1] != other[-2] or shape[:-2] != other[:-2]:
                return None
        elif len(other) > 2 or ndim + len(other) < 3 or shape[-1] != other[0]:
            return None
        return run(op, key, args, [a, b], mask)

    return quick


def sum_and_product(op: Op) -> Any:
    """A vector or matrix, and two matrices, whose product has its columns: their sum."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) != 3:
            return None
        key: Optional[DispatchKey] = None
        arrays: list[Any] = []
        mask = 0
        bit = 1
        for each in args:
            if not isinstance(each, TensorBase):
                return None
            tensor: TensorBase = each
            if key is None:
                key = tensor._key
            elif tensor._key is not key:
                return None
            arrays.append(tensor._array)
            if tensor._requires_grad:
                mask |= bit
            bit <<= 1
        if key is None or not key.fast_path or not key.is_real_float:
            return None
        added: tuple[Any, ...] = arrays[0].shape
        left: tuple[Any, ...] = arrays[1].shape
        right: tuple[Any, ...] = arrays[2].shape
        if len(left) != 2 or len(right) != 2 or left[1] != right[0]:
            return None
        if added != (right[1],) and added != (left[0], right[1]):
            return None
        return run(op, key, (*args, 1, 1), [*arrays, 1, 1], mask)

    return quick


def variant(op: Op, names: tuple[str, ...]) -> Any:
    """A real floating-point tensor, and a word that says which function of it is meant; the first one if left out."""

    def quick(args: tuple[Any, ...]) -> Any:
        if len(args) == 0 or len(args) > 2 or not isinstance(args[0], TensorBase):
            return None
        tensor: TensorBase = args[0]
        name: Any = names[0] if len(args) == 1 else args[1]
        if not tensor._key.fast_path or not tensor._key.is_real_float or type(name) is not str or name not in names:
            return None
        return run(op, tensor._key, (tensor, name), [tensor._array, name], 1 if tensor._requires_grad else 0)

    return quick


def transposed_product(op: Op) -> Any:
    """Two real matrices, one of them transposed, where nothing is recorded: the gradients of most products."""

    def quick(left: object, right: object, first: bool) -> Any:
        if not isinstance(left, TensorBase) or not isinstance(right, TensorBase):
            return None
        key = left._key
        if key is not right._key or not key.fast_views or not key.is_real_float:
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
        return run(op, key, (left, right), [a, b], 0) if a.shape[1] == b.shape[0] else None

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
        key = rows._key
        if key is not weight._key or not key.fast_path or not key.is_differentiable:
            return None
        mask = (1 if rows._requires_grad else 0) | (2 if weight._requires_grad else 0)
        x = rows._array
        w = weight._array
        if x.ndim < 2 or w.ndim != 2 or x.shape[-1] != w.shape[1]:
            return None
        b: Any = None
        if bias is not None:
            if not isinstance(bias, TensorBase) or bias._key is not key:
                return None
            b = bias._array
            if b.ndim != 1 or b.shape[0] != w.shape[0]:
                return None
            if bias._requires_grad:
                mask |= 4
        return run(op, key, args, [x, w, b], mask)

    return quick


def activation(op: Op, numbers: tuple[float, ...] = (), others: tuple[Any, ...] = ()) -> Any:
    """A real floating-point tensor with numbers, which have defaults, and not in place; ``others`` come behind them."""

    def quick(args: tuple[Any, ...]) -> Any:
        given = len(args) - 1
        if given < 0 or given > len(numbers) + 1 or not isinstance(args[0], TensorBase):
            return None
        tensor: TensorBase = args[0]
        key = tensor._key
        if not key.fast_path or not key.is_real_float or (given > len(numbers) and args[given] is not False):
            return None
        values: list[Any] = [tensor]
        for place, default in enumerate(numbers):
            value: Any = args[place + 1] if place < given else default
            if (type(value) is not float and type(value) is not int) or not -LARGEST <= value <= LARGEST:
                return None
            values.append(value)
        values.extend(others)
        whole = tuple(values)
        values[0] = tensor._array
        return run(op, key, whole, values, 1 if tensor._requires_grad else 0)

    return quick


def joining(op: Op, stacks: bool = False) -> Any:
    """A list of tensors of one dtype and device, along a dimension; the kernel checks the sizes.

    Or along a new one, where they all have one shape, which kernels do not look at.
    """
    kernels = op.kernels

    def quick(args: tuple[Any, ...]) -> Any:
        count = len(args)
        dim: Any = 0
        if count == 2:
            dim = args[1]
            if type(dim) is not int:
                return None
        elif count != 1:
            return None
        tensors = args[0]
        if type(tensors) is not list and type(tensors) is not tuple:
            return None
        key: Optional[DispatchKey] = None
        arrays: list[Any] = []
        mask = 0
        try:
            for each in tensors:
                tensor: TensorBase = each
                if tensor._key is not key:
                    if key is not None:
                        return None
                    key = tensor._key
                arrays.append(tensor._array)
                if tensor._requires_grad:
                    mask = 1
        except (AttributeError, TypeError):  # what is no tensor has no key
            return None
        if key is None or not key.fast_path or (stacks and not alike(arrays)):
            return None
        place: int = dim
        if place < 0:
            ndim: int = arrays[0].ndim
            place += ndim + 1 if stacks else ndim
            if place < 0:
                return None
        kernel = kernels[key.index]
        if kernel is None:
            kernel = op.kernel(key)
        array: Any
        try:
            if isinstance(kernel, Joining):
                array = kernel.join(arrays, place)
            else:
                run_two = state.run_two
                array = run_two(kernel, arrays, place)
        except Exception as error:
            if not is_collision(error) and not can_join(arrays, place, stacks):  # the declared function explains
                return None
            array = op.declaration.recover(error, kernel, [arrays, place], (tensors, place))
        out: TensorBase = blank(state.tensor_class)  # as `make`, whose call is a twentieth of the whole
        out._array = array
        out._key = key
        out._requires_grad = False
        out._node = None
        out._grad = None
        out._version_counter = None
        out._extra = None
        out._view_base = None
        if mask and not (state.unrecorded and not local.grad_enabled):
            record(op, out, (tensors, place), mask)
        return out

    return quick


def can_join(arrays: list[Any], dim: int, stacks: bool) -> bool:
    """Whether arrays have the dimension, their sizes fit in the others, and the elements of all can be counted."""
    first: tuple[Any, ...] = arrays[0].shape
    if dim >= len(first) + (1 if stacks else 0):
        return False
    bytes_left = sys.maxsize
    for each in arrays:
        shape: tuple[Any, ...] = each.shape
        bytes_left -= each.nbytes
        if bytes_left < 0:
            return False
        if len(shape) != len(first) or shape[:dim] != first[:dim]:
            return False
        if not stacks and shape[dim + 1 :] != first[dim + 1 :]:
            return False
    return True


def stacking(op: Op) -> Any:
    """The same along a new dimension."""
    return joining(op, stacks=True)


def alike(arrays: list[Any]) -> bool:
    """Whether arrays have one shape."""
    shape: tuple[Any, ...] = arrays[0].shape
    for each in arrays:
        other: tuple[Any, ...] = each.shape
        if other != shape:
            return False
    return True
