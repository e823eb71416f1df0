"""NumPy's functions by NumPy's names, on arrays without memory: each is a rule of shapes, dtypes and strides.

Where a function has no rule, its use on a `MetaArray` is an error that says so.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy

from weft._meta.array import (
    MetaArray,
    laid_out,
    like,
    no_values,
    normal_axes,
    shape_of,
)
from weft._meta.layout import broadcast_shape, contiguous
from weft._meta.ufuncs import empty_of, new_result, operand_kind, reduced, written
from weft._meta.ufuncs import geometry_of as geometry

rules: dict[str, Callable[..., Any]] = {}
FLOAT64, INT64, BOOL = numpy.dtype("float64"), numpy.dtype("int64"), numpy.dtype("bool")


def rule(*names: str) -> Callable[[Any], Any]:
    """Register what a function of NumPy's does, under its names."""

    def register(function: Any) -> Any:
        for name in names:
            rules[name] = function
        return function

    return register


def rule_of(function: Any) -> Callable[..., Any]:
    """The rule for a function of NumPy's."""
    module = function.__module__.removeprefix("numpy").lstrip(".")
    prefix = f"{module}." if module in ("linalg", "fft") else ""
    found = rules.get(prefix + function.__name__)
    return without_rule(prefix + function.__name__) if found is None else found


def without_rule(name: str) -> Callable[..., NoReturn]:
    """What stands for a function that has no rule."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"numpy.{name}: has no shape rule on the meta device. Declare a meta kernel for the op that uses it with "
            "@<op>.meta, or run it on another device"
        )

    return refuse


def dtype_of(value: Any) -> Any:
    """The dtype of an array or a number."""
    found = getattr(value, "dtype", None)
    return numpy.asarray(value).dtype if found is None else numpy.dtype(found)


def as_dtype(dtype: Any, default: Any) -> Any:
    """A dtype that was given, or the default."""
    return default if dtype is None else numpy.dtype(dtype)


def sizes_of(shape: Any) -> tuple[int, ...]:
    """A shape that was given as a number or a sequence."""
    if isinstance(shape, (tuple, list)):
        return tuple(map(operator.index, shape))
    return (operator.index(shape),)


def result_type(*values: Any) -> Any:
    """The common dtype; arrays without memory stand for their dtypes."""
    return numpy.result_type(*[each.dtype if isinstance(each, MetaArray) else each for each in values])


rules["result_type"] = result_type

# Creation ------------------------------------------------------------------------------------------------------------


@rule("empty", "zeros", "ones")
def empty(shape: Any, dtype: Any = None, order: str = "C", **options: Any) -> MetaArray:
    """A new array."""
    return like(MetaArray(sizes_of(shape), as_dtype(dtype, FLOAT64)), order, as_dtype(dtype, FLOAT64))


@rule("full")
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> MetaArray:
    """A new array of one value."""
    return empty(shape, dtype_of(fill_value) if dtype is None else dtype, order)


@rule("empty_like", "zeros_like", "ones_like", "full_like")
def empty_like(array: Any, *value: Any, dtype: Any = None, order: str = "K", shape: Any = None, **options: Any) -> Any:
    """A new array of the shape, dtype and order of another."""
    array = asarray(array)
    if len(value) == 1 and dtype is None and isinstance(value[0], (numpy.dtype, type)):
        dtype = value[0]
    made = like(array, order, as_dtype(dtype, array.dtype))
    return made if shape is None else MetaArray(sizes_of(shape), made.dtype)


@rule("arange")
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> MetaArray:
    """Evenly spaced numbers."""
    element = as_dtype(dtype, numpy.result_type(*[dtype_of(each) for each in (start, stop, step) if each is not None]))
    if stop is None:
        start, stop = 0, start
    return MetaArray((max(math.ceil((stop - start) / step), 0),), element)


@rule("linspace")
def linspace(start: Any, stop: Any, num: int = 50, *args: Any, dtype: Any = None, **options: Any) -> MetaArray:
    """Evenly spaced numbers, so many."""
    return MetaArray((num,), as_dtype(dtype, FLOAT64))


@rule("eye")
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float, **options: Any) -> MetaArray:
    """A matrix with ones on a diagonal."""
    return MetaArray((N, N if M is None else M), numpy.dtype(dtype))


@rule("tri")
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float, **options: Any) -> MetaArray:
    """A triangle of ones."""
    return eye(N, M, k, dtype)


@rule("asarray", "asanyarray")
def asarray(value: Any, dtype: Any = None, order: str | None = None, copy: bool | None = None, **options: Any) -> Any:
    """An array of anything; the same one where nothing changes."""
    if not isinstance(value, MetaArray):
        if isinstance(value, (list, tuple)) and any(isinstance(each, MetaArray) for each in value):
            made = stack([asarray(each) for each in value])
            return made if dtype is None else made.astype(dtype)
        host = numpy.asarray(value, dtype)
        return MetaArray(host.shape, host.dtype, host.strides if host.flags.forc else None)
    element = as_dtype(dtype, value.dtype)
    if copy or element != value.dtype or (order == "C" and not value.flags.c_contiguous):
        return like(value, order or "K", element)
    return value


@rule("array")
def array(value: Any, dtype: Any = None, *, copy: bool = True, order: str = "K", ndmin: int = 0, **options: Any) -> Any:
    """A new array of anything."""
    return asarray(value, dtype, order, copy or None)


@rule("ascontiguousarray")
def ascontiguousarray(value: Any, dtype: Any = None, **options: Any) -> Any:
    """An array in C order, of one dimension at least."""
    found = asarray(value, dtype, "C")
    return found if found.ndim else found.reshape(1)


@rule("copy")
def copy(value: Any, order: str = "K", subok: bool = False) -> Any:
    """A new array."""
    return like(asarray(value), order, dtype_of(value))


@rule("copyto")
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write an array into another."""
    shape = broadcast_shape(shape_of(src), dst.shape, shape_of(where))
    if shape != dst.shape:
        raise ValueError(f"could not broadcast input array from shape {shape_of(src)} into shape {dst.shape}")


# Shapes --------------------------------------------------------------------------------------------------------------


@rule("shape")
def shape(value: Any) -> Any:
    """The shape."""
    return shape_of(value)


@rule("size")
def size(value: Any, axis: Any = None) -> int:
    """The number of elements."""
    return math.prod(shape_of(value)) if axis is None else shape_of(value)[axis]


@rule("ndim")
def ndim(value: Any) -> int:
    """The number of dimensions."""
    return len(shape_of(value))


@rule("reshape")
def reshape(value: Any, shape: Any, order: str = "C", **options: Any) -> Any:
    """Another shape."""
    return asarray(value).reshape(sizes_of(shape), order=order)


@rule("ravel")
def ravel(value: Any, order: str = "C") -> Any:
    """All elements in one dimension."""
    return asarray(value).ravel(order)


@rule("transpose", "permute_dims")
def transpose(value: Any, axes: Any = None) -> Any:
    """The dimensions in another order."""
    return asarray(value).transpose(axes)


@rule("matrix_transpose")
def matrix_transpose(value: Any) -> Any:
    """The last two dimensions exchanged."""
    return value.mT


@rule("swapaxes")
def swapaxes(value: Any, axis1: int, axis2: int) -> Any:
    """Two dimensions exchanged."""
    return asarray(value).swapaxes(axis1, axis2)


@rule("moveaxis")
def moveaxis(value: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other places."""
    value = asarray(value)
    source, destination = (normal_axes(each, value.ndim) for each in (source, destination))
    order = [dim for dim in range(value.ndim) if dim not in source]
    for place, dim in sorted(zip(destination, source)):
        order.insert(place, dim)
    return value.transpose(tuple(order))


@rule("squeeze")
def squeeze(value: Any, axis: Any = None) -> Any:
    """Without dimensions of size 1."""
    return asarray(value).squeeze(axis)


@rule("expand_dims")
def expand_dims(value: Any, axis: Any) -> Any:
    """With more dimensions of size 1."""
    value = asarray(value)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    dims = normal_axes(axis, value.ndim + count)
    return value[tuple(None if dim in dims else slice(None) for dim in range(value.ndim + count))]


@rule("atleast_1d")
def atleast_1d(value: Any) -> Any:
    """Of one dimension at least."""
    value = asarray(value)
    return value if value.ndim else value.reshape(1)


@rule("atleast_2d")
def atleast_2d(value: Any) -> Any:
    """Of two dimensions at least."""
    value = asarray(value)
    return value if value.ndim > 1 else value.reshape(1, -1)


@rule("broadcast_to")
def broadcast_to(value: Any, shape: Any, **options: Any) -> Any:
    """A view that repeats what has size 1."""
    value, wanted = asarray(value), sizes_of(shape)
    if broadcast_shape(value.shape, wanted) != wanted:
        raise ValueError(f"cannot broadcast an array of shape {value.shape} to {wanted}")
    lead = len(wanted) - value.ndim
    own = [stride if have == want else 0 for have, want, stride in zip(value.shape, wanted[lead:], value.strides)]
    return value._view(wanted, (*(0,) * lead, *own))


@rule("broadcast_arrays")
def broadcast_arrays(*values: Any, **options: Any) -> Any:
    """All in their common shape."""
    shape = broadcast_shape(*map(shape_of, values))
    return tuple(broadcast_to(each, shape) for each in values)


@rule("broadcast_shapes")
def broadcast_shapes(*shapes: Any) -> Any:
    """The common shape."""
    return broadcast_shape(*map(sizes_of, shapes))


@rule("broadcast")
def broadcast(*values: Any) -> Any:
    """What knows the common shape."""
    shape = broadcast_shape(*map(shape_of, values))
    return SimpleNamespace(shape=shape, ndim=len(shape), size=math.prod(shape))


@rule("lib.stride_tricks.as_strided", "as_strided")
def as_strided(value: Any, shape: Any = None, strides: Any = None, **options: Any) -> Any:
    """A view with any geometry."""
    shape = value.shape if shape is None else tuple(shape)
    return value._view(shape, contiguous(shape, value.itemsize) if strides is None else tuple(strides))


@rule("lib.stride_tricks.sliding_window_view", "sliding_window_view")
def sliding_window_view(value: Any, window_shape: Any, axis: Any = None, **options: Any) -> Any:
    """Windows along dimensions, as a view."""
    window = sizes_of(window_shape)
    dims = normal_axes(range(value.ndim) if axis is None else axis, value.ndim)
    shape = list(value.shape)
    for dim, width in zip(dims, window):
        shape[dim] -= width - 1
        if shape[dim] < 0:
            raise ValueError("window shape cannot be larger than input array shape")
    return value._view((*shape, *window), (*value.strides, *[value.strides[dim] for dim in dims]))


@rule("diagonal")
def diagonal(value: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A diagonal."""
    return asarray(value).diagonal(offset, axis1, axis2)


@rule("flip")
def flip(value: Any, axis: Any = None) -> Any:
    """Dimensions in reverse, as a view."""
    value = asarray(value)
    dims = normal_axes(tuple(range(value.ndim)) if axis is None else axis, value.ndim)
    return value[tuple(slice(None, None, -1) if dim in dims else slice(None) for dim in range(value.ndim))]


@rule("split", "array_split")
def split(value: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Views of pieces along a dimension."""
    (axis,) = normal_axes(axis, value.ndim)
    total = value.shape[axis]
    if isinstance(indices_or_sections, int):
        bounds = [total // indices_or_sections * place for place in range(1, indices_or_sections)]
    else:
        bounds = list(indices_or_sections)
    lead = (slice(None),) * axis
    return [value[(*lead, slice(start, stop))] for start, stop in zip([0, *bounds], [*bounds, total])]


# Several as one ------------------------------------------------------------------------------------------------------


@rule("concatenate", "concat")
def concatenate(arrays: Any, axis: int | None = 0, out: Any = None, dtype: Any = None, **options: Any) -> Any:
    """Arrays end to end along a dimension."""
    arrays = [asarray(each) for each in arrays]
    if axis is None:
        arrays, axis = [each.reshape(-1) for each in arrays], 0
    first = arrays[0]
    (axis,) = normal_axes(axis, first.ndim)
    for each in arrays:
        if each.ndim != first.ndim or any(a != b for d, (a, b) in enumerate(zip(each.shape, first.shape)) if d != axis):
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    total = sum(each.shape[axis] for each in arrays)
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    element = as_dtype(dtype, result_type(*arrays))
    if out is not None:
        return written(numpy.positive, out, shape, element)
    return of_arrays(shape, element, arrays)


def of_arrays(shape: Any, dtype: Any, arrays: list[Any]) -> MetaArray:
    """A new array in the order in memory that arrays have in common."""
    order = sorted(range(len(shape)), key=lambda dim: -sum(abs(each.strides[dim]) for each in arrays))
    if all(each.flags.c_contiguous for each in arrays):
        return MetaArray(shape, dtype)
    return laid_out(shape, dtype, order)


@rule("stack")
def stack(arrays: Any, axis: int = 0, out: Any = None, **options: Any) -> Any:
    """Arrays along a new dimension."""
    arrays = [asarray(each) for each in arrays]
    if any(each.shape != arrays[0].shape for each in arrays):
        raise ValueError("all input arrays must have the same shape")
    (axis,) = normal_axes(axis, arrays[0].ndim + 1)
    return concatenate([expand_dims(each, axis) for each in arrays], axis, out)


@rule("roll")
def roll(value: Any, shift: Any, axis: Any = None) -> Any:
    """Elements moved along dimensions."""
    return empty_like(value)


@rule("repeat")
def repeat(value: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element so many times."""
    value = asarray(value)
    if isinstance(repeats, MetaArray):
        if math.prod(repeats.shape) != 1 or repeats.shape:
            no_values("repeat (how often each element is repeated)")
        no_values("repeat (how often)")
    if axis is None:
        value, axis = value.reshape(-1), 0
    (axis,) = normal_axes(axis, value.ndim)
    counts = numpy.broadcast_to(repeats, (value.shape[axis],)) if not isinstance(repeats, int) else None
    total = value.shape[axis] * repeats if counts is None else int(counts.sum())
    return MetaArray((*value.shape[:axis], total, *value.shape[axis + 1 :]), value.dtype)


@rule("tile")
def tile(value: Any, reps: Any) -> Any:
    """The whole so many times along dimensions."""
    value, times = asarray(value), sizes_of(reps)
    ndim = max(value.ndim, len(times))
    sizes = (1,) * (ndim - value.ndim) + value.shape
    times = (1,) * (ndim - len(times)) + times
    return MetaArray(tuple([a * b for a, b in zip(sizes, times)]), value.dtype)


@rule("pad")
def pad(value: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    """With more elements around."""
    value = asarray(value)
    widths = numpy.broadcast_to(numpy.asarray(pad_width), (value.ndim, 2)).tolist()
    return MetaArray(tuple([size + before + after for size, (before, after) in zip(value.shape, widths)]), value.dtype)


# Choosing ------------------------------------------------------------------------------------------------------------


@rule("where")
def where(condition: Any, *choices: Any) -> Any:
    """Each element from one of two."""
    if not choices:
        no_values("nonzero (the number of elements that are not zero)")
    operands = [geometry(each) for each in (condition, *choices)]
    chosen = numpy.where(numpy.empty(0, bool), *[empty_of(operand_kind(each)) for each in choices]).dtype
    return new_result(broadcast_shape(*[each for each, _ in operands]), chosen, operands)


@rule("nonzero", "flatnonzero", "argwhere", "count_positions")
def nonzero(*args: Any, **options: Any) -> NoReturn:
    """Positions of elements that are not zero: their number is not known."""
    no_values("nonzero (the number of elements that are not zero)")


@rule("unique", "unique_all", "unique_values", "unique_counts", "unique_inverse")
def unique(*args: Any, **options: Any) -> NoReturn:
    """Elements without repetitions: their number is not known."""
    no_values("unique (the number of elements that differ)")


@rule("bincount")
def bincount(value: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number below ``minlength`` occurs: kernels name it where none is larger."""
    if not minlength:
        no_values("bincount (the largest element)")
    return MetaArray((minlength,), INT64 if weights is None else FLOAT64)


@rule("take")
def take(value: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Any:
    """Elements at positions."""
    return asarray(value).take(indices, axis)


@rule("take_along_axis")
def take_along_axis(value: Any, indices: Any, axis: int | None = -1) -> Any:
    """Elements at positions along a dimension, for each line."""
    value, indices = asarray(value), asarray(indices)
    if axis is None:
        value, axis = value.reshape(-1), 0
    (axis,) = normal_axes(axis, value.ndim)
    other = [tuple(1 if dim == axis else size for dim, size in enumerate(each.shape)) for each in (value, indices)]
    shape = list(broadcast_shape(*other))
    shape[axis] = indices.shape[axis]
    return MetaArray(tuple(shape), value.dtype)


@rule("put_along_axis")
def put_along_axis(value: Any, indices: Any, values: Any, axis: int) -> None:
    """Write elements at positions along a dimension."""


@rule("tril", "triu")
def tril(value: Any, k: int = 0) -> Any:
    """A triangle of matrices."""
    value = asarray(value)
    mask = MetaArray(value.shape[-2:], BOOL)
    return where(mask, value, MetaArray((), value.dtype))


@rule("clip")
def clip(value: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Any:
    """Between bounds."""
    low, high = options.get("min", a_min), options.get("max", a_max)
    operands = [value, *[each for each in (low, high) if each is not None]]
    kinds = [empty_of(operand_kind(each)) for each in (value, low, high)]
    layouts = [geometry(each) for each in operands]
    made = new_result(broadcast_shape(*[each for each, _ in layouts]), numpy.clip(*kinds).dtype, layouts)
    return made if out is None else written(numpy.maximum, out, made.shape, made.dtype)


@rule("isin")
def isin(element: Any, test_elements: Any, **options: Any) -> Any:
    """Whether each is among others."""
    return MetaArray(shape_of(element), BOOL)


@rule("searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where each would be inserted."""
    return MetaArray(shape_of(v), INT64)


@rule("digitize")
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The interval of each."""
    return MetaArray(shape_of(x), INT64)


# Along dimensions ----------------------------------------------------------------------------------------------------


def reduction(ufunc: Any) -> Callable[..., Any]:
    """A function that is a ufunc's reduction."""

    def function(
        value: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        options = {} if initial is None else {"initial": initial}
        return ufunc.reduce(asarray(value), axis, dtype, out, keepdims, **options)

    return function


def reduction_as_is(ufunc: Any) -> Callable[..., Any]:
    """The same of a function that takes no dtype."""
    general = reduction(ufunc)

    def function(value: Any, axis: Any = None, out: Any = None, keepdims: bool = False, **options: Any) -> Any:
        return general(value, axis, None, out, keepdims, options.get("initial"))

    return function


rules.update(
    sum=reduction(numpy.add),
    prod=reduction(numpy.multiply),
    max=reduction_as_is(numpy.maximum),
    amax=reduction_as_is(numpy.maximum),
    min=reduction_as_is(numpy.minimum),
    amin=reduction_as_is(numpy.minimum),
    any=reduction_as_is(numpy.logical_or),
    all=reduction_as_is(numpy.logical_and),
)


def axes_of(value: Any, axis: Any) -> tuple[int, ...]:
    """The dimensions that a reduction is along."""
    return tuple(range(value.ndim)) if axis is None else normal_axes(axis, value.ndim)


@rule("mean", "nanmean", "median", "nanmedian")
def mean(
    value: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any
) -> Any:
    """The mean."""
    element = value.dtype if value.dtype.kind in "fcV" else FLOAT64
    return reduced(value, axes_of(value, axis), bool(keepdims), as_dtype(dtype, element))


@rule("var", "std", "nanvar", "nanstd")
def var(
    value: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    **options: Any,
) -> Any:
    """The variance, or its root."""
    made = mean(value, axis, dtype, None, keepdims)
    return made if made.dtype.kind != "c" else made.real.copy()


@rule("count_nonzero")
def count_nonzero(value: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many are not zero."""
    return reduced(value, axes_of(value, axis), keepdims, INT64)


@rule("argmax", "argmin")
def argmax(value: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """The position of the largest, or the smallest."""
    value = asarray(value)
    dims = axes_of(value, axis)
    if any(value.shape[dim] == 0 for dim in dims) and all(value.shape[d] for d in range(value.ndim) if d not in dims):
        raise ValueError("attempt to get argmax of an empty sequence")
    shape = [1 if dim in dims else size for dim, size in enumerate(value.shape) if keepdims or dim not in dims]
    return MetaArray(tuple(shape), INT64)


@rule("cumsum", "cumprod")
def cumsum(value: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Sums, or products, up to each element."""
    value = asarray(value)
    if axis is None:
        value, axis = value.reshape(-1), 0
    return numpy.add.accumulate(value, axis, dtype, out)


@rule("diff")
def diff(value: Any, n: int = 1, axis: int = -1, **options: Any) -> Any:
    """Differences of neighbours."""
    (axis,) = normal_axes(axis, value.ndim)
    for _ in range(n):
        lead = (slice(None),) * axis
        function = numpy.not_equal if value.dtype == BOOL else numpy.subtract
        value = function(value[(*lead, slice(1, None))], value[(*lead, slice(None, -1))])
    return value


@rule("sort", "partition")
def sort(value: Any, *args: Any, axis: int | None = -1, **options: Any) -> Any:
    """In order."""
    value = asarray(value)
    return MetaArray((value.size,), value.dtype) if axis is None else like(value, "K", value.dtype)


@rule("argsort", "argpartition")
def argsort(value: Any, *args: Any, axis: int | None = -1, **options: Any) -> Any:
    """The positions in order."""
    value = asarray(value)
    return MetaArray((value.size,) if axis is None else value.shape, INT64)


@rule("lexsort")
def lexsort(keys: Any, axis: int = -1) -> Any:
    """The positions in order of several keys."""
    return MetaArray(shape_of(keys[0]), INT64)


@rule("trace")
def trace(value: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, **options: Any) -> Any:
    """The sum of a diagonal."""
    return numpy.add.reduce(value.diagonal(offset, axis1, axis2), -1)


# Pointwise functions that are no ufuncs ------------------------------------------------------------------------------


@rule("real")
def real(value: Any) -> Any:
    """The real part."""
    return asarray(value).real


@rule("imag")
def imag(value: Any) -> Any:
    """The imaginary part."""
    return asarray(value).imag


@rule("angle")
def angle(value: Any, deg: bool = False) -> Any:
    """The angle of complex numbers."""
    return numpy.arctan2(value.imag, value.real) if value.dtype.kind == "c" else numpy.arctan2(value, value)


@rule("nan_to_num")
def nan_to_num(value: Any, *args: Any, **options: Any) -> Any:
    """With numbers for what is none."""
    return like(value, "K", value.dtype)


@rule("round", "around", "fix")
def around(value: Any, decimals: int = 0, out: Any = None) -> Any:
    """Rounded."""
    return numpy.rint(value) if value.dtype.kind in "fcV" else like(value, "K", value.dtype)


@rule("isreal", "iscomplex", "isposinf", "isneginf", "isclose")
def isreal(value: Any, *others: Any, **options: Any) -> Any:
    """A test of each element."""
    operands = [geometry(each) for each in (value, *others[:1])]
    return new_result(broadcast_shape(*[each for each, _ in operands]), BOOL, operands)


@rule("iscomplexobj")
def iscomplexobj(value: Any) -> bool:
    """Whether the dtype is complex."""
    return bool(dtype_of(value).kind == "c")


@rule("sinc", "i0")
def sinc(value: Any) -> Any:
    """A function of each element."""
    return numpy.sin(value)


@rule("allclose", "array_equal")
def allclose(*args: Any, **options: Any) -> NoReturn:
    """Whether all are alike: that is not known."""
    no_values("allclose, equal")


# Products ------------------------------------------------------------------------------------------------------------


@rule("dot")
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """The product of vectors or matrices."""
    a, b = asarray(a), asarray(b)
    if not a.ndim or not b.ndim:
        return numpy.multiply(a, b)
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner:
        raise ValueError(f"shapes {a.shape} and {b.shape} not aligned: {a.shape[-1]} != {inner}")
    shape = (*a.shape[:-1], *b.shape[:-2], *(b.shape[-1:] if b.ndim > 1 else ()))
    element = result_type(a, b)
    return MetaArray(shape, element) if out is None else written(numpy.multiply, out, shape, element)


@rule("vdot")
def vdot(a: Any, b: Any) -> Any:
    """The product of all elements."""
    return MetaArray((), result_type(a, b))


@rule("inner")
def inner(a: Any, b: Any) -> Any:
    """The product along the last dimensions."""
    return numpy.multiply(a, b) if not a.ndim or not b.ndim else dot(a, moveaxis(b, -1, -2) if b.ndim > 1 else b)


@rule("outer")
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """All products of two vectors."""
    return numpy.multiply(asarray(a).reshape(-1, 1), asarray(b).reshape(1, -1))


@rule("tensordot")
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """The product over several dimensions."""
    if isinstance(axes, int):
        first, second = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        first, second = normal_axes(axes[0], a.ndim), normal_axes(axes[1], b.ndim)
    if [a.shape[dim] for dim in first] != [b.shape[dim] for dim in second]:
        raise ValueError("shape-mismatch for sum")
    rest = [size for dim, size in enumerate(a.shape) if dim not in first]
    rest += [size for dim, size in enumerate(b.shape) if dim not in second]
    return MetaArray(tuple(rest), result_type(a, b))


@rule("einsum")
def einsum(subscripts: str, *operands: Any, out: Any = None, **options: Any) -> Any:
    """The sum of products that subscripts name."""
    inputs, arrow, result = subscripts.replace(" ", "").partition("->")
    batches = []
    for names, each in zip(inputs.split(","), operands):
        if "." in names:
            first = len(names.partition("...")[0])
            batches.append(each.shape[first : first + each.ndim - len(names) + 3])
    batch = broadcast_shape(*batches)
    sizes: dict[str, int] = {}
    for names, each in zip(inputs.split(","), operands):
        lead, _, rest = names.rpartition("...")
        for name, size in [*zip(lead, each.shape), *zip(rest[::-1], each.shape[::-1])]:
            known = sizes.setdefault(name, size)
            if known != size and 1 not in (known, size):
                raise ValueError(f"einsum: dimension {name} has the sizes {known} and {size}")
            sizes[name] = size if known == 1 else known
    if not arrow:
        letters = inputs.replace(",", "").replace("...", "")
        result = "..." + "".join(name for name in sorted(set(letters)) if letters.count(name) == 1)
    lead, dots, rest = result.rpartition("...")
    shape = (*[sizes[name] for name in lead], *(batch if dots else ()), *[sizes[name] for name in rest])
    return MetaArray(shape, result_type(*operands))


@rule("kron")
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product."""
    ndim = max(a.ndim, b.ndim)
    first, second = ((1,) * (ndim - each.ndim) + each.shape for each in (a, b))
    return MetaArray(tuple([m * n for m, n in zip(first, second)]), result_type(a, b))
