"""Dispatch keys: a dtype on a device each, interned, so that one identity check compares both."""

from __future__ import annotations

from typing import Any

import numpy

DTYPES_PER_DEVICE = 24  # the kernels of an op are a list; a device's share of it starts at 24 times its slot

VIEW_METHODS = ("T", "base", "ndim", "reshape", "shape", "swapaxes", "transpose")


class KernelBySize:
    """Two kernels of one op: calls that begin with a large array take another one than the rest.

    A call costs nothing more where the engine knows of it: it asks for the size itself. Where an op's kernel is a
    ufunc, both take the array to write to behind their operands, as that does.

    Attributes
    ----------
    small, large : callable
    least : int
        The number of elements from which `large` is taken.
    """

    def __init__(self, small: Any, large: Any, least: int) -> None:
        self.small = small
        self.large = large
        self.least = least

    def choose(self, array: Any) -> Any:
        """The kernel for a call whose first array this is."""
        size: int = array.size
        return self.large if size >= self.least else self.small

    def __call__(self, *args: Any) -> Any:
        for each in args:  # the first operand may be a number, or a list of arrays
            if isinstance(each, list) and len(each) != 0:
                each = each[0]
            if hasattr(each, "size"):
                return self.choose(each)(*args)
        return self.small(*args)


class DispatchKey:
    """What the fast path must know of a tensor, besides its array.

    Attributes
    ----------
    dtype, device : the interned objects that users see.
    plain : bool
        False where something is to be done before a kernel runs: those take the slow path.
    wrapped : bool
        Tensors of a function transform; they are not ``plain``.
    bits : int
        Of conjugate and negative views, whose array is an `Unresolved`; they are not ``plain``.
    has_torch_function : bool
        A class of tensors that overrides ``__torch_function__``.
    fast_path : bool
        ``plain``, and no mode wants to see each call.
    fast_views : bool
        ``fast_path``, and the arrays have the methods that the engine's own views are made by, and say whose memory
        they are in.
    index : int
        Where an op keeps the kernel for this key.
    category, itemsize, array_dtype, is_complex, is_real_float, is_differentiable
        Of the dtype, kept here since the fast path asks.
    has_items : bool
        The arrays are NumPy's, of floats: their ``item`` gives the tensor's. A device's backend is asked.
    lowest, highest : int
        What an integer dtype holds.
    array_type : type
        The backend's array class. Whatever else a kernel returns (a NumPy scalar) goes through `asarray`.
    siblings : dict
        From an array's dtype to the plain key on the same device.
    accumulate : callable
        ``accumulate(a, b, a)`` adds one array to another in place.
    """

    def __init__(
        self,
        dtype: Any,
        device: Any,
        plain: bool,
        index: int,
        array_type: Any,
        asarray: Any,
        siblings: dict[Any, DispatchKey],
        accumulate: Any,
        wrapped: bool,
        bits: int,
        has_torch_function: bool,
    ) -> None:
        self.dtype = dtype
        self.device = device
        self.plain = plain
        self.wrapped = wrapped
        self.bits = bits
        self.has_torch_function = has_torch_function
        self.fast_path = plain  # plain, and no mode wants to see each call
        self.has_views: bool = set(VIEW_METHODS).issubset(dir(array_type))
        self.fast_views = self.fast_path and self.has_views
        self.index = index
        self.category: int = dtype.category
        self.itemsize: int = dtype.itemsize
        self.array_dtype: Any = dtype.numpy
        self.is_complex: bool = dtype.is_complex
        self.is_real_float: bool = dtype.is_floating_point
        self.has_items: bool = self.is_real_float and array_type is numpy.ndarray
        self.is_differentiable: bool = dtype.is_complex or dtype.is_floating_point
        width: int = 8 * dtype.itemsize
        self.lowest = -(1 << (width - 1)) if dtype.is_signed else 0
        self.highest = self.lowest + (1 << width) - 1
        self.array_type = array_type
        self.asarray = asarray
        self.siblings = siblings
        self.accumulate = accumulate

    def __repr__(self) -> str:
        return f"<DispatchKey {self.dtype} on {self.device}>"


LARGEST = 3e38  # that float32 has; infinities and nan it has too


def fitting_number(value: object, key: DispatchKey) -> Any:
    """A number as a float, if the dtype has it for sure; else None."""
    if type(value) is not float and (type(value) is not int or not -(1 << 63) <= value < 1 << 63):
        return None  # of more bits some dtypes have an int, and some functions take none
    number = float(value)  # type: ignore[arg-type]
    fits = -LARGEST <= number <= LARGEST or number - number != 0.0
    return number if fits and not key.dtype.is_half else None
