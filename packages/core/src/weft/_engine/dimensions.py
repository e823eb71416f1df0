"""Fast paths of functions along dimensions: what they look at beside the types of their arguments."""

from __future__ import annotations

import math
from typing import Any

from weft._engine.dispatch import Op
from weft._engine.fast_paths import ALL_DIMS, FastPath, chosen_dim, run, run_many
from weft._engine.methods import flattened
from weft._engine.tensor import TensorBase

# Reductions


class Extremum(FastPath):
    """Of some elements: of none there is no extreme."""

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        size: int = arrays[0].size
        return size != 0


class Product(FastPath):
    """Along one dimension, or all, which the kernel takes as a tuple."""

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        dims = ALL_DIMS[arrays[0].ndim] if values[1] is None else (values[1],)
        values[1] = arrays[1] = dims
        return True


class Variance(FastPath):
    """Of a tensor along dims: whether the divisor is one less, as the kernel's correction.

    Too few elements are a warning.
    """

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        dims: tuple[Any, ...] = values[1]
        off = 0 if values[2] is False else 1
        values[2] = arrays[2] = off
        shape: tuple[Any, ...] = arrays[0].shape
        count = 1
        for place in dims:
            size: int = shape[place]
            count *= size
        return count > off


class Deviation(Variance):
    """The root of the variance."""

    def __init__(self, variance: Op, root: Op, takes: str) -> None:
        super().__init__(variance, takes=takes)
        self.root = root

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        if not self.accepts(values, arrays):
            return None
        tensor: TensorBase = values[0]
        found: TensorBase = run(self.op, tensor._key, values, arrays, mask)
        return run(self.root, found._key, [found], [found._array], 1 if found._requires_grad else 0)


class Norm(FastPath):
    """The order as a float."""

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        order: Any = values[1]
        if order is None or (type(order) is str and order == "fro"):
            order = 2.0
        elif type(order) is int:
            if not -(1 << 63) <= order < 1 << 64:
                return False
            order = float(order)
        values[1] = arrays[1] = order
        if type(order) is not float:
            return False
        size: int = arrays[0].size
        return size != 0 or 0 <= order < math.inf  # other norms of no elements are refused


class Extreme(FastPath):
    """`max` or `min`: of all elements, or along a dimension with their positions."""

    def __init__(self, whole: Op, pair: Any) -> None:
        super().__init__(dtypes="real", result=pair)
        self.whole = whole

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        tensor: TensorBase = values[0]
        array = arrays[0]
        size: int = array.size
        if size == 0:
            return None
        if values[1] is None:
            return None if values[2] else run(self.whole, tensor._key, [tensor], [array], mask)
        dim = chosen_dim(values[1], array.ndim)
        if dim < 0:
            return None
        values[1] = arrays[1] = dim
        outputs = run_many(self.op, tensor._key, values, arrays, mask)
        return self.result(outputs[0], outputs[1])


# Along one dimension


class AlongDim(FastPath):
    """A dim is given."""

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        return values[1] is not None


class TopK(FastPath):
    """There are so many."""

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        k: int = values[1]
        size: int = arrays[0].shape[values[2]]
        return 0 <= k <= size


class Roll(FastPath):
    """Along one dimension."""

    def accepts(self, values: list[Any], arrays: list[Any]) -> bool:
        if type(values[1]) is not int or len(values[2]) != 1:
            return False
        values[1] = arrays[1] = (values[1],)
        return True


# Several as one


class Flatten(FastPath):
    """Dimensions that lie so in memory that they can be one."""

    def finish(self, values: list[Any], arrays: list[Any], mask: int) -> Any:
        tensor: TensorBase = values[0]
        return flattened(tensor, values[1], values[2]) if tensor._key.fast_views else None
