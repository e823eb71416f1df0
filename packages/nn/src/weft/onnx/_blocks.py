"""Parts that several converters are made of: sums of nodes with a name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy

import weft

__all__ = ["BuildingBlocks"]


class BuildingBlocks:
    """What `GraphBuilder` offers beside single nodes."""

    constant: Any
    sizes: Any
    scalar: Any
    cast: Any
    shape_of: Any
    value: Any
    emit: Any

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Operators of ONNX, by their names."""
        if not name[0].isupper():
            raise AttributeError(f"GraphBuilder has no {name!r}")
        return partial(self.emit, name)

    def formula(self, declaration: Any, *args: Any) -> Any:
        """What the formula of an op computes of arguments."""
        from weft.onnx._formulas import write_formula

        return write_formula(self, declaration, args)

    # Dtypes

    @staticmethod
    def element(*args: Any) -> Any:
        """The dtype of the first tensor among arguments."""
        return next(each.dtype for each in args if hasattr(each, "dtype"))

    def is_floating(self, *args: Any) -> bool:
        """Whether the first tensor among arguments is of a floating-point dtype."""
        return bool(self.element(*args).is_floating_point)

    def is_bool(self, *args: Any) -> bool:
        """Whether the first tensor among arguments is of booleans."""
        return self.element(*args) is weft.bool

    def floating(self, value: Any) -> Any:
        """A value as it is, or integers in the default dtype."""
        return value if value.dtype.is_floating_point else self.cast(value, weft.get_default_dtype())

    def truth(self, value: Any) -> Any:
        """Whether each element is not zero."""
        return self.cast(value, weft.bool) if hasattr(value, "dtype") else self.constant(bool(value), dtype=weft.bool)

    def where(self, condition: Any, value: Any, other: Any) -> Any:
        """One of two values for each element; of booleans too, which onnxruntime's operator does not take."""
        like = next(each for each in (value, other) if hasattr(each, "dtype"))
        value, other = self.value(value, like), self.value(other, like)
        if like.dtype is not weft.bool:
            return self.Where(condition, value, other, dtype=like.dtype)
        first = self.And(condition, value)
        return self.Or(first, self.And(self.Not(condition), other))

    def is_nan(self, value: Any) -> Any:
        """Which elements are nan; of integers none."""
        return self.IsNaN(value) if value.dtype.is_floating_point else self.Not(self.Equal(value, value))

    def floored(self, value: Any, divisor: Any) -> Any:
        """Quotients rounded down; ONNX rounds those of integers towards 0."""
        if self.is_floating(value, divisor):
            return self.Floor(self.Div(value, divisor))
        return self.Div(self.Sub(value, self.Mod(value, divisor)), divisor)

    @staticmethod
    def lowest(value: Any) -> Any:
        """The smallest number of a value's dtype."""
        return -math.inf if value.dtype.is_floating_point else int(numpy.iinfo(value.dtype.numpy).min)

    @staticmethod
    def highest(value: Any) -> Any:
        """The largest number of a value's dtype."""
        return math.inf if value.dtype.is_floating_point else int(numpy.iinfo(value.dtype.numpy).max)

    def expm1(self, value: Any) -> Any:
        """Near 0 by the hyperbolic tangent, where ``exp(x) - 1`` would lose its digits."""
        half = self.Tanh(self.Mul(value, 0.5))
        near = self.Div(self.Mul(half, 2.0), self.Sub(1.0, half))
        return self.where(self.Less(self.Abs(value), 1.0), near, self.Sub(self.Exp(value), 1.0))

    def log1p(self, value: Any) -> Any:
        """With the rounding of ``1 + x`` undone: W. Kahan's formula."""
        whole = self.Add(value, 1.0)
        part = self.Sub(whole, 1.0)
        exact = self.Or(self.Equal(part, 0.0), self.Equal(whole, math.inf))
        slope = self.Div(value, self.where(exact, whole, part))
        return self.where(exact, value, self.Mul(self.Log(whole), slope))

    # Reductions

    def reduce(self, op_type: str, value: Any, dims: Iterable[int], keepdim: bool) -> Any:
        """A reduction along some dimensions; along none the value as it is."""
        dims = list(dims)
        if not dims or value.shape == ():
            return self.Identity(value)
        return self.emit(op_type, value, self.sizes(dims), keepdims=int(keepdim))

    def reduced(self, losses: Any, reduction: str) -> Any:
        """Losses as they are, their sum or their mean."""
        if reduction == "none":
            return self.Identity(losses)
        return self.emit("ReduceMean" if reduction == "mean" else "ReduceSum", losses, keepdims=0)

    def any(self, value: Any, dims: Iterable[int], keepdim: bool) -> Any:
        """Whether some of booleans along dimensions are true."""
        numbers = self.cast(value, weft.int32)
        return self.Greater(self.reduce("ReduceMax", numbers, dims, keepdim), 0)  # of none the least number

    def count(self, value: Any, dims: Iterable[int]) -> Any:
        """How many elements some dimensions have together: an integer without dimensions."""
        sizes = [value.shape[dim] for dim in dims]
        if all(isinstance(each, int) for each in sizes):
            return self.constant(numpy.array(math.prod(sizes), numpy.int64), dtype=weft.int64)
        parts = [
            self.constant(numpy.array([size], numpy.int64), dtype=weft.int64)
            if isinstance(size, int)
            else self.size(value, dim)
            for dim, size in zip(dims, sizes)
        ]
        return self.ReduceProd(self.Concat(*parts, axis=0), keepdims=0, shape=())

    # Shapes

    @staticmethod
    def hint(size: Any) -> int:
        """What a size was in the example."""
        found = getattr(size, "size", size)
        return found if isinstance(found, int) else int(found.hint)

    def size(self, value: Any, dim: int) -> Any:
        """The size of a dimension, in one dimension."""
        return self.shape_of(value, dim, None if dim == -1 else dim + 1)

    def slice(self, value: Any, dim: int, start: Any, stop: Any, step: Any = None) -> Any:
        """Part of a dimension, as Python's slices have it."""
        if (start, stop, step) in ((None, None, None), (0, None, None), (0, None, 1), (None, None, 1)):
            return value
        step = 1 if step is None else step
        ends = (0, numpy.iinfo(numpy.int64).max) if step > 0 else (-1, numpy.iinfo(numpy.int64).min)
        bounds = [end if each is None else each for each, end in zip((start, stop), ends)]
        return self.Slice(value, *[self.sizes([each]) for each in (*bounds, dim, step)])

    def pick(self, value: Any, dim: int, index: Any, keepdim: bool = False) -> Any:
        """What stands at an index of a dimension."""
        return self.Gather(value, self.sizes([index]) if keepdim else self.scalar(index), axis=dim)

    def range(self, start: Any, stop: Any, step: Any = 1) -> Any:
        """Integers from one number to before another."""
        return self.Range(*[self.scalar(each) for each in (start, stop, step)])

    @staticmethod
    def dtype_of(number: Any) -> Any:
        """The dtype that a tensor of a number has."""
        if isinstance(number, float):
            return weft.get_default_dtype()
        return weft.bool if isinstance(number, bool) else weft.int64 if isinstance(number, int) else number.dtype

    def full(self, size: Sequence[Any], value: Any, dtype: Any) -> Any:
        """A tensor of one number; the sizes may be a sequence in one."""
        if len(size) == 1 and isinstance(size[0], tuple):
            size = size[0]
        number = self.cast(value, dtype) if hasattr(value, "dtype") else self.constant(value, dtype=dtype)
        return self.Expand(number, self.sizes(size))

    def full_like(self, value: Any, number: Any, dtype: Any = None) -> Any:
        """A tensor of one number, in the shape of another one, and in its dtype unless one is given."""
        element = value.dtype if dtype is None else dtype
        number = self.cast(number, element) if hasattr(number, "dtype") else self.constant(number, dtype=element)
        return self.Expand(number, self.shape_of(value))

    def by_channel(self, vector: Any, ndim: int) -> Any:
        """A vector along the second dimension of so many."""
        return self.Unsqueeze(vector, self.sizes(list(range(1, ndim - 1)))) if ndim > 2 else vector

    def affine(self, value: Any, weight: Any, bias: Any, ndim: int) -> Any:
        """A value times weights of its channels, and a bias of theirs added, where there are such."""
        value = value if weight is None else self.Mul(value, self.by_channel(weight, ndim))
        return value if bias is None else self.Add(value, self.by_channel(bias, ndim))

    def triangle(self, rows: Any, columns: Any) -> Any:
        """Booleans that are true on and below the diagonal of a matrix."""
        row = self.Unsqueeze(self.range(0, rows), self.sizes([1]))
        return self.LessOrEqual(self.range(0, columns), row)

    def prefixes(self, value: Any, dim: int, fill: Any) -> Any:
        """For each position of a dimension, in the last one, the elements up to there, and ``fill`` behind them."""
        order = [*(each for each in range(value.ndim) if each != dim), dim]
        rows = self.Unsqueeze(self.Transpose(value, perm=order), self.sizes([-2]))
        length = self.size(value, dim)
        return self.where(self.triangle(length, length), rows, self.constant(fill, value))

    def last_to(self, value: Any, dim: int, ndim: int) -> Any:
        """The last of so many dimensions moved to a place."""
        order = list(range(ndim - 1))
        order.insert(dim, ndim - 1)
        return self.Transpose(value, perm=order)

    def rolled(self, value: Any, shift: int, dim: int) -> Any:
        """A value moved along a dimension: its last part, and then its first."""
        if value.shape is not None and value.shape[dim] == 0:
            return self.Identity(value)
        start = self.Mod(self.sizes([-shift]), self.Max(self.size(value, dim), 1))
        return self.Concat(self.slice(value, dim, start, None), self.slice(value, dim, None, start), axis=dim)

    # Places

    def by_dim(self, vector: Any, dim: int, ndim: int) -> Any:
        """A vector along one of so many dimensions."""
        others = [each for each in range(ndim) if each != dim]
        return self.Unsqueeze(vector, self.sizes(others)) if others else vector

    def places(self, indices: Sequence[Any]) -> Any:
        """Indices that are broadcast, beside each other in a last dimension."""
        if len(indices) > 1:
            shape = self.shape_of(self.Sum(*[self.cast(each, weft.float32) for each in indices]))
            indices = [self.Expand(each, shape) for each in indices]
        return self.Concat(*[self.Unsqueeze(each, self.sizes([-1])) for each in indices], axis=-1)

    def indexed(self, value: Any, indices: Sequence[Any]) -> Any:
        """The elements at indices along some dimensions, None for the others, as NumPy has them."""
        dims = [dim for dim, each in enumerate(indices) if each is not None]
        given = [self.cast(indices[dim], weft.int64) for dim in dims]
        if len(dims) == 1:
            return self.Gather(value, given[0], axis=dims[0])
        order = [*dims, *(each for each in range(value.ndim) if each not in dims)]
        found = self.GatherND(self.Transpose(value, perm=order), self.places(given))
        count = max(indices[dim].ndim for dim in dims)
        return self.Transpose(found, perm=self.placed(dims, count, value.ndim))

    @staticmethod
    def placed(dims: Sequence[int], count: int, ndim: int) -> list[int]:
        """The order that puts ``count`` first dimensions where those of the indices were: if those are neighbours."""
        rest = list(range(count, count + ndim - len(dims)))
        at = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
        return [*rest[:at], *range(count), *rest[at:]]

    def written(self, value: Any, indices: Sequence[Any], source: Any, accumulate: bool) -> Any:
        """A value with others at indices along some dimensions."""
        dims = [dim for dim, each in enumerate(indices) if each is not None]
        given = [self.cast(indices[dim], weft.int64) for dim in dims]
        count = max(each.ndim for each in (indices[dim] for dim in dims))
        source = self.Expand(self.cast(source, value.dtype), self.shape_of(self.indexed(value, indices)))
        back = self.placed(dims, count, value.ndim)
        source = self.Transpose(source, perm=[back.index(each) for each in range(len(back))])
        order = [*dims, *(each for each in range(value.ndim) if each not in dims)]
        turned = self.Transpose(value, perm=order)
        made = self.ScatterND(turned, self.places(given), source, reduction="add" if accumulate else None)
        return self.Transpose(made, perm=[order.index(each) for each in range(value.ndim)])

    def scattered(self, value: Any, dim: int, index: Any, source: Any, reduction: str | None) -> Any:
        """A value with others at the places along a dimension that an index has for each of them."""
        if not index.ndim:
            value, index = self.Reshape(value, self.sizes([1])), self.Reshape(index, self.sizes([1]))
            index.shape = (1,)
            source = self.Reshape(self.value(source, value), self.sizes([1]))
            return self.Reshape(self.scattered(value, 0, index, source, reduction), self.sizes([]))
        shape = self.shape_of(index)
        if not hasattr(source, "dtype"):
            source = self.Expand(self.constant(source, value), shape)
        elif source.shape != index.shape:
            source = self.Slice(source, self.sizes([0] * index.ndim), shape)
        return self.ScatterElements(value, index, source, axis=dim, reduction=reduction)
