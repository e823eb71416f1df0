"""Fast paths of functions of elements, matrices and lists: what they look at beside the types of their arguments."""

from __future__ import annotations

import sys
from typing import Any, Final, Optional

import numpy

from weft._engine.arrays import FEW, Joining
from weft._engine.dispatch import Op, record
from weft._engine.dispatch_keys import DispatchKey, fitting_number
from weft._engine.fast_paths import FastPath, run
from weft._engine.tensor import TensorBase, blank, is_collision, local, state

BOOL: Final[Any] = numpy.dtype(numpy.bool_)

# Elements


class Clamp(FastPath):
    """At least one bound, and no number beside a tensor."""

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        lowest, highest = values[1], values[2]
        if lowest is None or highest is None:
            return lowest is not None or highest is not None
        return isinstance(lowest, TensorBase) == isinstance(highest, TensorBase)


class MaskedFill(FastPath):
    """With a number, not a tensor."""

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        return not isinstance(values[2], TensorBase)


class Where(FastPath):
    """A condition of bool, and two tensors of one dtype and device, or one and a number."""

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        condition: TensorBase = values[0]
        model: Any = values[1] if isinstance(values[1], TensorBase) else values[2]
        if not isinstance(model, TensorBase):
            return None
        key = model._key
        if not key.fast_path or key.siblings.get(BOOL) is not condition._key:
            return None
        for place in (1, 2):
            each: Any = values[place]
            if isinstance(each, TensorBase):
                tensor: TensorBase = each
                if tensor._key is not key:
                    return None
                arrays[place] = tensor._array
                if tensor._requires_grad:
                    mask |= 1 << place
            else:
                number = fitting_number(each, key) if key.is_real_float else None
                if number is None or key.array_type is not numpy.ndarray:
                    return None
                arrays[place] = numpy.array(number, key.array_dtype)
        return run(self.op, condition._key, values, arrays, mask)


class OneOf(FastPath):
    """The second argument is one of some words."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = names

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        return values[1] in self.names


class Equal(FastPath):
    """Two tensors with a few elements."""

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        left, right = arrays
        shape: tuple[Any, ...] = left.shape
        if type(left) is not numpy.ndarray or shape != right.shape or len(shape) == 0 or left.size > FEW:
            return None
        truths: bytes = numpy.equal(left, right).tobytes()
        return truths.find(0) < 0


# Positions, which kernels compare with the size of the dimension


class IndexSelect(FastPath):
    """Slices at the positions in a vector."""

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        ndim: int = arrays[2].ndim
        return ndim == 1


class Gather(FastPath):
    """An index of as many dimensions as the input, and no larger in the others."""

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        dim: int = values[1]
        shape: tuple[Any, ...] = arrays[0].shape
        wanted: tuple[Any, ...] = arrays[2].shape
        if len(wanted) != len(shape):
            return False
        for place, size in enumerate(wanted):
            if size > shape[place] and place != dim:
                return False
        return True


# Matrices


class MatrixProduct(FastPath):
    """Two matrices, a matrix and a vector, or two batches of as many matrices."""

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        shape: tuple[Any, ...] = arrays[0].shape
        other: tuple[Any, ...] = arrays[1].shape
        ndim = len(shape)
        if ndim > 2:
            return len(other) == ndim and shape[-1] == other[-2] and shape[:-2] == other[:-2]
        return len(other) <= 2 and ndim + len(other) >= 3 and shape[-1] == other[0]


class SumWithProduct(FastPath):
    """A vector or matrix, and two matrices, whose product has its columns."""

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        added: tuple[Any, ...] = arrays[0].shape
        left: tuple[Any, ...] = arrays[1].shape
        right: tuple[Any, ...] = arrays[2].shape
        if len(left) != 2 or len(right) != 2 or left[1] != right[0]:
            return False
        return added == (right[1],) or added == (left[0], right[1])


class Affine(FastPath):
    """Rows, a matrix, and perhaps a bias."""

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        x: tuple[Any, ...] = arrays[0].shape
        w: tuple[Any, ...] = arrays[1].shape
        if len(x) < 2 or len(w) != 2 or x[-1] != w[1]:
            return False
        if values[2] is None:
            return True
        b: tuple[Any, ...] = arrays[2].shape
        return len(b) == 1 and b[0] == w[0]


def transposed_product(op: Op) -> Any:
    """Two real matrices, one of them transposed, where nothing is recorded: the gradients of most products."""

    def compute(left: object, right: object, first: bool) -> Any:
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
        if a.shape[1] != b.shape[0]:
            return None
        return run(op, key, [left, right], [a, b], 0)

    return compute


# Lists of tensors


class Join(FastPath):
    """Tensors of one dtype and device along a dimension; ``stacks``: along a new one, all of one shape.

    Whether the sizes fit along a dimension is for the kernel to find.
    """

    def __init__(self, stacks: bool = False) -> None:
        super().__init__()
        self.stacks = 1 if stacks else 0  # dimensions that the result has more

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        tensors = values[0]
        if type(tensors) is not list and type(tensors) is not tuple:
            return None
        key: Optional[DispatchKey] = None
        arrays = []
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
        if key is None or not key.fast_path or (self.stacks != 0 and not alike(arrays)):
            return None
        place: int = values[1]
        if place < 0:
            ndim: int = arrays[0].ndim
            place += ndim + self.stacks
            if place < 0:
                return None
        op: Op = self.op
        kernel = op.kernels[key.index]
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
            if not is_collision(error) and not can_join(arrays, place, self.stacks):  # the declared function explains
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


def can_join(arrays: list[Any], dim: int, stacks: int) -> bool:
    """Whether arrays have the dimension, their sizes fit in the others, and the elements of all can be counted."""
    first: tuple[Any, ...] = arrays[0].shape
    if dim >= len(first) + stacks:
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


def alike(arrays: list[Any]) -> bool:
    """Whether arrays have one shape."""
    shape: tuple[Any, ...] = arrays[0].shape
    for each in arrays:
        other: tuple[Any, ...] = each.shape
        if other != shape:
            return False
    return True
