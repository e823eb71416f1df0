"""NumPy's ufuncs on arrays without memory: dtypes by NumPy itself on empty arrays, shapes by broadcasting."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy

from weft._meta.array import MetaArray, laid_out, normal_axes, shape_of
from weft._meta.layout import Ints, broadcast_shape, is_c_contiguous
from weft._tensor.layout import order_of_result


def run(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a ufunc returns of arrays of which some have no memory."""
    return METHODS[method](ufunc, inputs, kwargs)


def call(ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``ufunc(*inputs)``."""
    if ufunc.signature is not None:
        return generalized(ufunc, inputs, kwargs)
    out = kwargs.get("out")
    dtypes = dtypes_of(ufunc, inputs, kwargs.get("dtype"))
    operands = [geometry_of(each) for each in inputs]
    where = kwargs.get("where", True)
    if where is not True:
        operands.append(geometry_of(where))
    shape = broadcast_shape(*[each for each, _ in operands])
    targets = (None,) * ufunc.nout if out is None else out
    results = [
        new_result(shape, dtype, operands) if target is None else written(ufunc, target, shape, dtype)
        for target, dtype in zip(targets, dtypes)
    ]
    return results[0] if ufunc.nout == 1 else tuple(results)


def geometry_of(value: Any) -> tuple[Ints, Ints]:
    """The shape and strides of an operand."""
    if isinstance(value, (MetaArray, numpy.ndarray)):
        return value.shape, value.strides
    if isinstance(value, (int, float, complex, numpy.generic)):
        return (), ()
    array = numpy.asarray(value)
    return array.shape, array.strides


def new_result(shape: Ints, dtype: Any, operands: list[tuple[Ints, Ints]]) -> MetaArray:
    """A new array of a result, in the order in memory that its operands have."""
    if len(shape) < 2 or all(is_c_contiguous(own, strides, strides[-1]) for own, strides in operands if own):
        if all(own == shape or not own for own, _ in operands) or len(shape) < 2:
            return MetaArray(shape, dtype)
    return laid_out(shape, dtype, order_of_result(len(shape), operands))


def written(ufunc: Any, target: Any, shape: Ints, dtype: Any) -> Any:
    """The array that a result is written to, if that may be."""
    if broadcast_shape(target.shape, shape) != target.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {target.shape} doesn't match the broadcast shape {shape}"
        )
    if not numpy.can_cast(dtype, target.dtype, "same_kind"):
        raise TypeError(f"Cannot cast ufunc '{ufunc.__name__}' output from {dtype!r} to {target.dtype!r}")
    return target


def dtypes_of(ufunc: Any, inputs: tuple[Any, ...], dtype: Any = None) -> tuple[Any, ...]:
    """The dtypes of a ufunc's results."""
    return found_dtypes(ufunc, tuple([operand_kind(each) for each in inputs]), dtype)


def operand_kind(value: Any) -> Any:
    """What the dtype of a result may depend on: a dtype, or a Python number; None as it is."""
    if value is None:
        return None
    if isinstance(value, (bool, float, complex)) and not isinstance(value, numpy.generic):
        return type(value)
    if isinstance(value, int):
        return int if 0 <= value < 128 else value
    dtype = getattr(value, "dtype", None)
    return numpy.asarray(value).dtype if dtype is None else dtype


@lru_cache(4096)
def found_dtypes(ufunc: Any, kinds: tuple[Any, ...], dtype: Any) -> tuple[Any, ...]:
    """The dtypes of what a ufunc gives of arrays without elements."""
    arguments = [empty_of(each) for each in kinds]
    options = {} if dtype is None else {"dtype": dtype}
    with numpy.errstate(all="ignore"):
        found = ufunc(*arguments, **options)
    return tuple([each.dtype for each in (found if isinstance(found, tuple) else (found,))])


def empty_of(kind: Any) -> Any:
    """An array of a dtype without elements; a number as it is."""
    if isinstance(kind, numpy.dtype):
        return numpy.empty(0, kind)
    return kind(1) if isinstance(kind, type) else kind


# Generalized ufuncs: matmul, vecdot, matvec, vecmat ------------------------------------------------------------------


def generalized(ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc of vectors or matrices, by its signature."""
    left, right = ufunc.signature.split("->")[0].strip("()").split("),(")
    core = [each.split(",") if each else [] for each in (left, right)]
    sizes: dict[str, int] = {}
    batches, missing = [], set()
    for names, value in zip(core, inputs):
        shape = shape_of(value)
        own = [name for name in names if not name.endswith("?")] if len(shape) < len(names) else names
        missing.update(set(names) - set(own))
        if len(shape) < len(own):
            raise ValueError(
                f"{ufunc.__name__}: Input operand does not have enough dimensions "
                f"(has {len(shape)}, gufunc core with signature {ufunc.signature} requires {len(own)})"
            )
        split = len(shape) - len(own)
        batches.append(shape[:split])
        for name, size in zip(own, shape[split:]):
            if sizes.setdefault(name, size) != size:
                raise ValueError(
                    f"{ufunc.__name__}: Input operand 1 has a mismatch in its core dimension, with gufunc signature "
                    f"{ufunc.signature} (size {size} is different from {sizes[name]})"
                )
    result = [name for name in ufunc.signature.split("->")[1].strip("()").split(",") if name]
    shape = (*broadcast_shape(*batches), *[sizes[name] for name in result if name not in missing])
    (dtype,) = matrix_dtypes(ufunc, tuple([operand_kind(each) for each in inputs]), kwargs.get("dtype"))
    out = kwargs.get("out")
    return MetaArray(shape, dtype) if out is None else written(ufunc, out[0], shape, dtype)


@lru_cache(1024)
def matrix_dtypes(ufunc: Any, kinds: tuple[Any, ...], dtype: Any) -> tuple[Any, ...]:
    """The dtype of a product of matrices."""
    options = {} if dtype is None else {"dtype": dtype}
    arguments = [numpy.empty((0, 0, 0), each) for each in kinds]
    return (ufunc(*arguments, **options).dtype,)


# Their methods -------------------------------------------------------------------------------------------------------


def reduce(ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``ufunc.reduce(array, axis, dtype, out, keepdims, initial, where)``."""
    array, *rest = inputs
    given = dict(zip(("axis", "dtype", "out", "keepdims", "initial", "where"), rest)) | kwargs
    axis = given.get("axis", 0)
    if not array.ndim and axis in (0, -1):
        axis = None
    dims = normal_axes(tuple(range(array.ndim)) if axis is None else axis, array.ndim)
    if ufunc.identity is None and "initial" not in given and 0 in [array.shape[dim] for dim in dims]:
        if all(size for dim, size in enumerate(array.shape) if dim not in dims):
            raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    dtype = reduced_dtype(ufunc, array.dtype, given.get("dtype"))
    made = reduced(array, dims, bool(given.get("keepdims", False)), dtype)
    out = given.get("out")
    target = out[0] if isinstance(out, tuple) else out
    return made if target is None else written(ufunc, target, made.shape, dtype)


def reduced(array: Any, dims: Ints, keepdims: bool, dtype: Any) -> MetaArray:
    """A new array without some dimensions (or with 1 for their sizes), in the order in memory of the rest."""
    kept = [dim for dim in range(array.ndim) if dim not in dims]
    order = [dim for dim in order_of_result(array.ndim, [(array.shape, array.strides)]) if dim not in dims]
    sizes = tuple([array.shape[dim] for dim in kept])
    made = laid_out(sizes, dtype, [kept.index(dim) for dim in order])
    if not keepdims:
        return made
    strides = dict(zip(kept, made.strides))
    return made._view(
        tuple([1 if dim in dims else size for dim, size in enumerate(array.shape)]),
        tuple([strides.get(dim, 0) for dim in range(array.ndim)]),
    )


@lru_cache(1024)
def reduced_dtype(ufunc: Any, element: Any, dtype: Any) -> Any:
    """The dtype of a reduction."""
    return ufunc.reduce(numpy.ones(1, element), dtype=dtype).dtype


def accumulate(ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``ufunc.accumulate(array, axis, dtype, out)``."""
    array, *rest = inputs
    given = dict(zip(("axis", "dtype", "out"), rest)) | kwargs
    normal_axes(given.get("axis", 0), array.ndim)
    dtype = ufunc.accumulate(numpy.ones(1, array.dtype), dtype=given.get("dtype")).dtype
    out = given.get("out")
    target = out[0] if isinstance(out, tuple) else out
    if target is not None:
        return written(ufunc, target, array.shape, dtype)
    return laid_out(array.shape, dtype, order_of_result(array.ndim, [(array.shape, array.strides)]))


def reduceat(ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``ufunc.reduceat(array, indices, axis, dtype)``."""
    array, indices, *rest = inputs
    given = dict(zip(("axis", "dtype"), rest)) | kwargs
    (axis,) = normal_axes(given.get("axis", 0), array.ndim)
    dtype = reduced_dtype(ufunc, array.dtype, given.get("dtype"))
    return MetaArray((*array.shape[:axis], shape_of(indices)[0], *array.shape[axis + 1 :]), dtype)


def at(ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """``ufunc.at(array, indices, values)``: the values have to fit."""
    array, indices, *values = inputs
    if values:
        array[indices] = values[0]


def outer(ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``ufunc.outer(a, b)``."""
    (dtype,) = dtypes_of(ufunc, inputs)
    return MetaArray((*shape_of(inputs[0]), *shape_of(inputs[1])), dtype)


METHODS = {
    "__call__": call,
    "reduce": reduce,
    "accumulate": accumulate,
    "reduceat": reduceat,
    "at": at,
    "outer": outer,
}
