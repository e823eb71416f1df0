"""The backend of the device ``meta``: kernels run on shapes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from weft._dtypes.dtypes import dtype
from weft._meta.array import NO_DATA, MetaArray, laid_out, like
from weft._meta.functions import asarray
from weft._meta.layout import broadcast_shape, order_of_copy
from weft._meta.namespace import namespace
from weft._meta.random_stream import MetaStream
from weft._meta.ufuncs import geometry_of, new_result
from weft.backend import Backend, import_scientific
from weft.ops._registry import registry


def result_of(declaration: Any, element: dtype) -> Any:
    """The dtype of an elementwise op's results, for arrays in the dtype in which it is computed."""
    if declaration.result == "bool":
        return numpy.dtype("bool")
    return element.to_real().numpy if declaration.result == "real" else element.numpy


def elementwise(result: Any, *operands: Any) -> MetaArray:
    """The kernel of an op that computes each element from those at the same place."""
    layouts = [geometry_of(each) for each in operands]
    return new_result(broadcast_shape(*[shape for shape, _ in layouts]), result, layouts)


def as_last(result: Any, count: int, *args: Any) -> MetaArray:
    """The kernel of a formula of so many arrays of one shape: its result lies in memory as the last one."""
    return like(args[count - 1], "K", result)


class MetaBackend(Backend):
    """A device without memory: its arrays have shapes, strides and dtypes."""

    def __init__(self) -> None:
        super().__init__("meta", namespace, MetaArray)

    def kernel(self, name: str, element: dtype, generic: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """The op's meta kernel, or what its declaration says of all pointwise ops, else its declared kernel."""
        declaration = registry.get(name)
        if declaration is None:
            return generic
        if declaration.meta is not None:
            return partial(declaration.meta, namespace)
        if declaration.result == "any":
            return generic
        if declaration.formula is not None and not declaration.formula.broadcasts:
            return partial(as_last, result_of(declaration, element), declaration.formula.count)
        if declaration.promotes and declaration.vmap == "elementwise":
            return partial(elementwise, result_of(declaration, element))
        return generic

    def asarray(self, value: Any) -> Any:
        return asarray(value)

    def empty(self, shape: tuple[int, ...], element: dtype, index: int | None) -> Any:
        return MetaArray(tuple(shape), element.numpy)

    def from_numpy(self, array: Any, index: int | None) -> Any:
        """An array of the shape and dtype of another, dense in the order in memory that it has."""
        order = order_of_copy(array.shape, array.strides, array.itemsize)
        return array if isinstance(array, MetaArray) else laid_out(array.shape, array.dtype, order)

    def to_numpy(self, array: Any) -> numpy.ndarray:
        """Refuse.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(NO_DATA)

    def to_device(self, array: Any, index: int | None) -> Any:
        return array.copy("K")

    def index_checks(self) -> str:
        return "never"  # there are no values

    def scientific(self, module: str) -> Any:
        """SciPy's module, whose ufuncs have rules as NumPy's have."""
        return import_scientific(f"scipy.{module}", "scipy")

    def random_stream(self, seed: int, index: int | None) -> Any:
        return MetaStream()

    def describe(self) -> dict[str, str]:
        return {"arrays": "shapes, strides and dtypes without memory"}
