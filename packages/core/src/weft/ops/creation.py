"""Making tensors from data, and filled ones; copies and conversions."""

from __future__ import annotations

import builtins
import functools
import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from weft._devices.devices import backend_of, cpu, key_of, on_device_of, remember_new_key, resolve_device
from weft._devices.devices import device as device_class
from weft._docstrings import LIKE_OPTIONS, NEW_OPTIONS, OPTIONS, PIN_MEMORY, documented
from weft._dtypes.dtypes import (
    ALIASES,
    BY_NUMPY,
    FLOATING,
    bfloat16,
    check_bits,
    dtype,
    element_type,
    finfo,
    float32,
    get_default_dtype,
    iinfo,
    int8,
    int64,
    scalar_dtype,
    uint8,
)
from weft._dtypes.dtypes import dtype as dtype_class
from weft._dtypes.float8 import assigned, converted, is_float8, refuse_float8, rounded_number, widened
from weft._engine import creation
from weft._engine.dispatch import make, record
from weft._engine.tensor import TensorBase, local, run_quietly, state
from weft._engine.unresolved import memory_of
from weft._errors import OutOfMemoryError, warn_caller
from weft._interception.interceptors import Operation, is_watched, operations
from weft._interception.transforms import batched_like
from weft._lazy import lazy
from weft._settings import state as settings
from weft._settings import warn_of_lost_part
from weft._tensor.base import Tensor, add_members
from weft._tensor.conjugation import resolved
from weft._tensor.interop import tensor
from weft._tensor.layout import (
    NEEDS,
    channels_last,
    channels_last_3d,
    contiguous_format,
    is_channels_last,
    is_strided,
    order_of,
    order_of_result,
    preserve_format,
    sparse_coo,
)
from weft.ops._declare import ALL_DTYPES, composite, half_number, number_in, onnx_of, op, wide_number
from weft.ops._geometry import as_shape, elements, integer, with_strides
from weft.ops._inplace import bump, fill_array, write_array
from weft.ops._numerics import is_numpy
from weft.types import Device, DType, Layout, MemoryFormat, Number, Scalar


def empty_on(shape: tuple[int, ...], element: Any, where: Any) -> Any:
    """An uninitialised contiguous tensor."""
    if not isinstance(element, dtype_class):
        element = element_type("empty", element)
    try:
        array = backend_of(where).empty(shape, element, where.index)
    except OutOfMemoryError:
        raise
    except (MemoryError, ValueError) as error:
        bytes_of_all = elements("empty", shape, element.itemsize) * element.itemsize
        if not isinstance(error, MemoryError):
            raise
        raise RuntimeError(
            f"empty: not enough memory on {where} for shape {list(shape)} of {element}: {bytes_of_all} bytes"
        ) from error
    if settings["debug_mode"] and settings["fill_memory"]:
        array[...] = array.dtype.type(unlikely(element))
    return make(array, key_of(element, where))


def unlikely(element: Any) -> Any:
    """What stands for memory that is not initialised, where it must be the same in each run."""
    if element.is_floating_point or element.is_complex:
        return math.nan
    return True if element.name == "bool" else iinfo(element).max


def require_size(name: str, size: tuple[Any, ...]) -> None:
    """A size was given, though it may be that of no dimensions.

    Raises
    ------
    TypeError
        If none was.
    """
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')


def finished(made: Any, requires_grad: bool) -> Any:
    """A new tensor, as a leaf that requires grad if that was asked for."""
    return made.requires_grad_(requires_grad) if requires_grad else made


def pinned(made: Any) -> Any:
    """A new tensor in page-locked memory, where there is an accelerator that copies from it."""
    backend = importlib.import_module("weft.accelerator").backend_in_use()
    return made if backend is None else made.pin_memory().requires_grad_(made.requires_grad)


def sparse_zeros(layout: Any, shape: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    """A sparse tensor without elements."""
    if layout is sparse_coo:
        return lazy("sparse_coo_tensor")(size=tuple(shape), dtype=dtype, device=device, requires_grad=requires_grad)
    return importlib.import_module("weft.sparse._compressed").zeros(layout, shape, dtype, device, requires_grad)


@composite(out="dtype", leaf="core::empty")
@documented(options=OPTIONS)
def empty(
    *size: int | Sequence[int],
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Make a tensor without setting its elements.

    Parameters
    ----------
    size : int, ..., or a sequence of them
    dtype : dtype, optional
        Default: `get_default_dtype`.
    {options}
    memory_format : memory_format, optional
        The order of its dimensions in memory.

    Examples
    --------
    >>> weft.empty(2, 3, dtype=weft.int64).shape
    weft.Size([2, 3])
    """
    if layout is not None and not is_strided("empty", layout, True):
        return sparse_zeros(layout, as_shape("empty", size), dtype, device, requires_grad)
    if memory_format is preserve_format:
        raise RuntimeError("empty: unsupported memory format Preserve: there is no tensor whose order to keep")
    require_size("empty", size)
    shape = as_shape("empty", size)
    order = order_of("empty", memory_format, len(shape))
    placed = shape if order is None else tuple(shape[dim] for dim in order)
    made = empty_on(placed, dtype or get_default_dtype(), resolve_device(device))
    made = finished(made if order is None else in_original_order(made, order).detach(), requires_grad)
    return pinned(made) if pin_memory else made


@onnx_of(empty)
def _(graph, size, dtype=None, **options):
    return graph.full(size, 0, dtype or get_default_dtype())


def fitting(name: str, value: Any, element: dtype) -> Any:
    """A number as elements of a dtype hold it; small negative integers wrap around in unsigned ones.

    Raises
    ------
    RuntimeError
        If the dtype has no such number.
    OverflowError
        If it is an integer of more than 64 bits.
    """
    if element.category == FLOATING and type(value) in (int, float) and -127 <= value <= 127 and not element.is_float8:
        return value  # as most are seen to be at once
    if isinstance(value, TensorBase):
        value = number_in(name, value)
    elif isinstance(value, numpy.generic):
        value = value.item()
    if not isinstance(value, (int, float, complex)):
        raise TypeError(f"{name}(): expected a Number, not {type(value).__name__}")
    if isinstance(value, int):
        check_bits(name, value)
    if element.name == "bool":
        return builtins.bool(value)
    fits = True
    if isinstance(value, complex) and not element.is_complex:
        value, fits = value.real, value.imag == 0
    if element.is_float8:
        if not fits:
            raise wide_number(name, value, element)
        return rounded_number(value, element)  # however large it is
    if element.category == 1:
        most = iinfo(element).max
        least = -most - 1 if element.is_signed else -most
        fits = fits and math.isfinite(value) and least <= value <= most
        fits = fits and (
            element.is_signed or value >= 0 or isinstance(value, int)
        )  # -1 wraps around, and -1.0 does not
        value = int(value) % (1 << 8 * element.itemsize) if fits and value < 0 and not element.is_signed else value
    elif not isinstance(value, builtins.bool):
        largest = finfo(element).max
        parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
        fits = fits and all(not math.isfinite(each) or builtins.abs(each) <= largest for each in parts)
        value = float(value) if isinstance(value, int) else value  # bfloat16 takes no integer of 64 bits
    if not fits:
        raise wide_number(name, value, element)
    return int(value) if element.category == 1 else value


def factor(name: str, value: Any, element: dtype) -> Any:
    """A number that multiplies tensors of a dtype, or is compared with them: float32's for half precision.

    Raises
    ------
    RuntimeError, OverflowError
        See `fitting`.
    """
    return fitting(name, value, float32 if element.is_half else element)


def element_of(name: str, value: Any, element: dtype) -> Any:
    """A number as one element of a dtype: what float16 or bfloat16 do not reach is infinite.

    Raises
    ------
    RuntimeError, OverflowError
        See `fitting`.
    """
    if not element.is_half or not isinstance(value, (int, float)):
        return fitting(name, value, element)
    if isinstance(value, int):
        check_bits(name, value)
    return run_quietly(half_number, name, element, False, value)


def filled(name: str, size: Any, value: Any, element: Any, device: Any, requires_grad: bool) -> Any:
    """A new tensor with one value everywhere."""
    made = empty_on(as_shape(name, size), element, resolve_device(device))
    short = type(value) is int and 0 <= value < 128 and not made._key.dtype.is_float8
    fill_array(made._array, value if short else fitting(name, value, made._key.dtype), made._key)
    return finished(made, requires_grad)


@composite(out="dtype", fast_path=creation.Zeros(), leaf="core::zeros")
@documented(options=OPTIONS)
def zeros(
    *size: int | Sequence[int],
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor filled with zeros.

    Parameters
    ----------
    size : int, ..., or a sequence of them
    dtype : dtype, optional
        Default: `get_default_dtype`.
    {options}

    Examples
    --------
    >>> weft.zeros(2, 2)
    tensor([[0., 0.],
            [0., 0.]])
    """
    if layout is not None and not is_strided("zeros", layout, True):
        return sparse_zeros(layout, as_shape("zeros", size), dtype, device, requires_grad)
    require_size("zeros", size)
    remember_new_key()
    made = filled("zeros", size, 0, dtype or get_default_dtype(), device, requires_grad)
    return pinned(made) if pin_memory else made


@onnx_of(zeros)
def _(graph, size, dtype=None, **options):
    return graph.full(size, 0, dtype or get_default_dtype())


@composite(out="dtype", fast_path=creation.Ones(), leaf="core::ones")
@documented(options=OPTIONS)
def ones(
    *size: int | Sequence[int],
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor filled with ones.

    Parameters
    ----------
    size : int, ..., or a sequence of them
    dtype : dtype, optional
        Default: `get_default_dtype`.
    {options}

    Examples
    --------
    >>> weft.ones((2, 2), dtype=weft.int64)
    tensor([[1, 1],
            [1, 1]])
    """
    if layout is not None:
        is_strided("ones", layout)
    require_size("ones", size)
    remember_new_key()
    made = filled("ones", size, 1, dtype or get_default_dtype(), device, requires_grad)
    return pinned(made) if pin_memory else made


@onnx_of(ones)
def _(graph, size, dtype=None, **options):
    return graph.full(size, 1, dtype or get_default_dtype())


@composite(out="dtype", fast_path=creation.Full(takes="size fill_value"), leaf="core::full")
@documented(options=OPTIONS)
def full(
    size: int | Sequence[int],
    fill_value: Scalar | Tensor,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor filled with one value.

    Parameters
    ----------
    size : int or sequence of int
    fill_value : number, or Tensor of one element
    dtype : dtype, optional
        Default: bool or int64 for such a value, else `get_default_dtype` or its complex counterpart.
    {options}

    Raises
    ------
    RuntimeError
        If the dtype has no such value.

    Examples
    --------
    >>> weft.full((2,), 7), weft.full((2,), 0.5)
    (tensor([7, 7]), tensor([0.5000, 0.5000]))
    """
    if layout is not None:
        is_strided("full", layout)
    value = one_number("full", "fill_value", fill_value)
    made = filled("full", (size,), value, dtype or scalar_dtype(value), device, requires_grad)
    return pinned(made) if pin_memory else made


@onnx_of(full)
def _(graph, size, fill_value, dtype=None, **options):
    return graph.full(size, fill_value, dtype or graph.dtype_of(fill_value))


def one_number(name: str, argument: str, value: Any) -> Any:
    """A number, or that of a tensor with one element.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if isinstance(value, TensorBase) and value._array.size == 1:
        return number_in(name, value, argument)
    if not isinstance(value, (int, float, complex, numpy.generic)):
        raise TypeError(f"{name}(): argument '{argument}' must be Number, not {type(value).__name__}")
    return value


def like(input: Any, value: Any, dtype: Any, device: Any, requires_grad: bool, format: Any = None) -> Any:
    """A tensor like another with one value everywhere (None: any contents), dense in the other's order."""
    made = empty_on(
        tuple(input._array.shape), dtype or input.dtype, resolve_device(input.device if device is None else device)
    )
    order = (
        permutation_of(input) if format is None or format is preserve_format else order_of("like", format, input.ndim)
    )
    if order is not None:
        made = empty_on(tuple(input._array.shape[d] for d in order), made.dtype, made.device)
        made = make(made._array.transpose(numpy.argsort(order)), made._key)
    if value is not None:
        fill_array(made._array, fitting("full_like", value, made.dtype), made._key)
    return beside(input, finished(made, requires_grad))


def beside(input: Any, made: Any) -> Any:
    """A new tensor as one of the batch that its model is of, so that the batch can be written into it."""
    return batched_like(made, input) if input._key.wrapped else made


def permutation_of(input: Any) -> Any:
    """The order of dimensions in memory that a tensor like another has; None for C order.

    It is that of the other, dense or not: a copy of a slice of channels-last images is a channels-last tensor.
    """
    array = input._array
    if array.flags.c_contiguous or array.ndim < 2:
        return None
    order = sorted(builtins.range(array.ndim), key=lambda d: (-array.strides[d], d))
    if not array.transpose(order).flags.c_contiguous:
        order = order_of_result(array.ndim, [(array.shape, array.strides)])
    return None if order == list(builtins.range(array.ndim)) else order


@composite(leaf="core::empty_like")
@documented(options=LIKE_OPTIONS)
def empty_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Make a tensor of another's shape, dtype and device, without setting its elements.

    Parameters
    ----------
    input : Tensor
    {options}

    Examples
    --------
    >>> weft.empty_like(weft.zeros(2, 3).t()).stride()
    (1, 3)
    """
    if layout is not None:
        is_strided("empty_like", layout)
    made = like(input, None, dtype, device, requires_grad, memory_format)
    return pinned(made) if pin_memory else made


@onnx_of(empty_like)
def _(graph, input, dtype=None, **options):
    return graph.full_like(input, 0, dtype)


@composite(fast_path=creation.FullLike(0.0), leaf="core::zeros_like")
@documented(options=LIKE_OPTIONS)
def zeros_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Make a tensor of zeros with another's shape, dtype and device.

    Parameters
    ----------
    input : Tensor
    {options}

    Examples
    --------
    >>> weft.zeros_like(weft.tensor([1, 2]))
    tensor([0, 0])
    """
    if layout is not None and not is_strided("zeros_like", layout, True):
        return sparse_zeros(layout, input.shape, dtype or input.dtype, device or input.device, requires_grad)
    made = like(input, 0, dtype, device, requires_grad, memory_format)
    return pinned(made) if pin_memory else made


@onnx_of(zeros_like)
def _(graph, input, dtype=None, **options):
    return graph.full_like(input, 0, dtype)


@composite(fast_path=creation.FullLike(1.0), leaf="core::ones_like")
@documented(options=LIKE_OPTIONS)
def ones_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Make a tensor of ones with another's shape, dtype and device.

    Parameters
    ----------
    input : Tensor
    {options}

    Examples
    --------
    >>> weft.ones_like(weft.tensor([1, 2]), dtype=weft.bool)
    tensor([True, True])
    """
    if layout is not None:
        is_strided("ones_like", layout)
    made = like(input, 1, dtype, device, requires_grad, memory_format)
    return pinned(made) if pin_memory else made


@onnx_of(ones_like)
def _(graph, input, dtype=None, **options):
    return graph.full_like(input, 1, dtype)


@composite(leaf="core::full_like")
@documented(options=LIKE_OPTIONS)
def full_like(
    input: Tensor,
    fill_value: Scalar | Tensor,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Make a tensor filled with one value, with another's shape, dtype and device.

    Parameters
    ----------
    input : Tensor
    fill_value : number, or Tensor of one element
    {options}

    Raises
    ------
    RuntimeError
        If the dtype has no such value.

    Examples
    --------
    >>> weft.full_like(weft.zeros(2), 7)
    tensor([7., 7.])
    """
    if layout is not None:
        is_strided("full_like", layout)
    value = one_number("full_like", "fill_value", fill_value)
    made = like(input, value, dtype, device, requires_grad, memory_format)
    return pinned(made) if pin_memory else made


@onnx_of(full_like)
def _(graph, input, fill_value, dtype=None, **options):
    return graph.full_like(input, fill_value, dtype)


@composite("new_empty", leaf="core::new_empty")
@documented(options=NEW_OPTIONS)
def _new_empty(
    self: Tensor,
    *size: int | Sequence[int],
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor of this one's dtype and device, without setting its elements.

    Parameters
    ----------
    *size : int, or one sequence of int
    {options}

    Examples
    --------
    >>> weft.ones(2, dtype=weft.float64).new_empty(3).dtype
    weft.float64
    """
    if layout is not None and not is_strided("new_empty", layout, True):
        return sparse_zeros(
            layout, as_shape("new_empty", size), dtype or self.dtype, device or self.device, requires_grad
        )
    made = empty_on(as_shape("new_empty", size), dtype or self.dtype, resolve_device(device or self.device))
    made = beside(self, finished(made, requires_grad))
    return pinned(made) if pin_memory else made


@onnx_of(_new_empty)
def _(graph, self, size, dtype=None, **options):
    return graph.full(size, 0, dtype or self.dtype)


@composite("new_zeros", leaf="core::new_zeros")
@documented(options=NEW_OPTIONS)
def _new_zeros(
    self: Tensor,
    *size: int | Sequence[int],
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor of zeros with this one's dtype and device.

    Parameters
    ----------
    *size : int, or one sequence of int
    {options}

    Examples
    --------
    >>> weft.ones(2, dtype=weft.int32).new_zeros(3)
    tensor([0, 0, 0], dtype=weft.int32)
    """
    if layout is not None and not is_strided("new_zeros", layout, True):
        return sparse_zeros(
            layout, as_shape("new_zeros", size), dtype or self.dtype, device or self.device, requires_grad
        )
    made = beside(self, filled("new_zeros", size, 0, dtype or self.dtype, device or self.device, requires_grad))
    return pinned(made) if pin_memory else made


@onnx_of(_new_zeros)
def _(graph, self, size, dtype=None, **options):
    return graph.full(size, 0, dtype or self.dtype)


@composite("new_ones", leaf="core::new_ones")
@documented(options=NEW_OPTIONS)
def _new_ones(
    self: Tensor,
    *size: int | Sequence[int],
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor of ones with this one's dtype and device.

    Parameters
    ----------
    *size : int, or one sequence of int
    {options}

    Examples
    --------
    >>> weft.zeros(2, dtype=weft.int32).new_ones(3)
    tensor([1, 1, 1], dtype=weft.int32)
    """
    if layout is not None:
        is_strided("new_ones", layout)
    made = beside(self, filled("new_ones", size, 1, dtype or self.dtype, device or self.device, requires_grad))
    return pinned(made) if pin_memory else made


@onnx_of(_new_ones)
def _(graph, self, size, dtype=None, **options):
    return graph.full(size, 1, dtype or self.dtype)


@composite("new_full", leaf="core::new_full")
@documented(options=NEW_OPTIONS)
def _new_full(
    self: Tensor,
    size: int | Sequence[int],
    fill_value: Scalar | Tensor,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor filled with one value, with this one's dtype and device.

    Parameters
    ----------
    size : sequence of int
    fill_value : number
    {options}

    Examples
    --------
    >>> weft.zeros(2).new_full((3,), 7)
    tensor([7., 7., 7.])
    """
    if layout is not None:
        is_strided("new_full", layout)
    value = one_number("new_full", "fill_value", fill_value)
    made = beside(self, filled("new_full", (size,), value, dtype or self.dtype, device or self.device, requires_grad))
    return pinned(made) if pin_memory else made


@onnx_of(_new_full)
def _(graph, self, size, fill_value, dtype=None, **options):
    return graph.full(size, fill_value, dtype or self.dtype)


@composite("new_empty_strided", leaf="core::new_empty_strided")
@documented(options=NEW_OPTIONS)
def _new_empty_strided(
    self: Tensor,
    size: int | Sequence[int],
    stride: int | Sequence[int],
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor with these strides and this one's dtype and device, without setting its elements.

    Parameters
    ----------
    size, stride : sequence of int
    {options}

    Examples
    --------
    >>> weft.zeros(2).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    if layout is not None:
        is_strided("new_empty_strided", layout)
    return empty_strided(
        size,
        stride,
        dtype=dtype or self.dtype,
        device=device or self.device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


@composite("new_tensor")
@documented(options=NEW_OPTIONS)
def _new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Copy data into a new tensor of this one's dtype and device.

    Parameters
    ----------
    data : number, nested sequence, array or Tensor
    {options}

    Examples
    --------
    >>> weft.zeros(2, dtype=weft.int8).new_tensor([1, 2])
    tensor([1, 2], dtype=weft.int8)
    """
    if layout is not None:
        is_strided("new_tensor", layout)
    return tensor(
        data,
        dtype=dtype or self.dtype,
        device=device or self.device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


@composite(leaf="core::empty_strided")
@documented(options=OPTIONS)
def empty_strided(
    size: int | Sequence[int],
    stride: int | Sequence[int],
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor with these strides, counted in elements, without setting its elements.

    Parameters
    ----------
    size : int or sequence of int
    stride : int or sequence of int
        How far apart in memory neighbours along each dimension are.
    dtype : dtype, optional
        Default: `get_default_dtype`.
    {options}

    Raises
    ------
    RuntimeError
        If there are more sizes than strides, or fewer.

    Examples
    --------
    >>> weft.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    if layout is not None:
        is_strided("empty_strided", layout)
    size, stride = as_shape("empty_strided", (size,)), as_shape("empty_strided", (stride,))
    if len(size) != len(stride):
        raise RuntimeError(f"empty_strided: mismatch in length of strides and shape: {list(stride)} and {list(size)}")
    reach = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if all(size) else 0
    flat = empty_on((reach,), dtype or get_default_dtype(), resolve_device(device))
    xp = backend_of(flat.device).xp
    strides = tuple(each * flat.itemsize for each in stride)
    made = finished(make(with_strides(xp, flat._array, size, strides), flat._key), requires_grad)
    return pinned(made) if pin_memory else made


@composite(out="dtype", fast_path=creation.Arange(takes="start end step"), leaf="core::arange")
@documented(options=OPTIONS)
def arange(
    start: Number | Tensor = 0,
    end: Number | Tensor | None = None,
    step: Number | Tensor = 1,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Count from ``start`` to before ``end`` in steps of ``step``.

    Parameters
    ----------
    start, end, step : number
        ``arange(end)`` starts at 0.
    dtype : dtype, optional
        Default: int64 if all are integers, else `get_default_dtype`.
    {options}

    Raises
    ------
    RuntimeError
        If ``step`` is 0, or leads away from ``end``.

    Examples
    --------
    >>> weft.arange(1, 4)
    tensor([1, 2, 3])
    """
    if layout is not None:
        is_strided("arange", layout)
    if end is None:
        start, end = 0, start
    start, end, step = (
        number_in("arange", each, name) if isinstance(each, TensorBase) else each
        for name, each in (("start", start), ("end", end), ("step", step))
    )
    if step == 0:
        raise RuntimeError("arange: step must be nonzero")
    if not all(math.isfinite(each) for each in (start, end)):
        raise RuntimeError(f"arange: unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError(
            f"arange: upper bound and lower bound inconsistent with step sign: {start} to {end} by {step}"
        )
    whole = all(isinstance(each, (int, numpy.integer)) for each in (start, end, step))
    element = element_type("arange", dtype) or (int64 if whole else get_default_dtype())
    refuse_float8("arange", element)
    refuse_uncounted("arange", element)
    if element is int64 and not whole:
        start, end, step, whole = int(start), int(end), int(step), True
        if step == 0:
            raise ValueError("arange: step must be nonzero, and as an integer it is 0")
    count = -((start - end) // step) if whole else math.ceil((end - start) / step)
    if element.category < 2:  # other integers have as many as the numbers before rounding
        start, step = int(start), int(step)
    elements("arange", (int(count),), element.itemsize)
    where = resolve_device(device)
    if where.type == "meta":
        made = finished(empty_on((int(count),), element, where), requires_grad)
    elif where.type == "cpu":
        made = finished(from_host(steps_from(numpy, start, step, int(count), element), where), requires_grad)
    else:
        numbers = functools.partial(steps_from, start=start, step=step, count=int(count), element=element)
        made = finished(computed_on(where, numbers), requires_grad)
    return pinned(made) if pin_memory else made


@onnx_of(arange)
def _(graph, start=0, end=None, step=1, dtype=None, **options):
    start, end = (0, start) if end is None else (start, end)
    if all(isinstance(each, (int, float)) for each in (start, end, step)):
        return graph.constant(memory_of(arange(start, end, step, dtype=dtype)), dtype=dtype)
    if any(isinstance(each, float) for each in (start, end, step)):
        graph.refuse("steps that are no integers, up to a size that may change")
    return graph.cast(graph.range(start, end, step), dtype or int64)


def refuse_uncounted(name: str, element: dtype) -> None:
    """Numbers that one counts are neither truth values nor complex.

    Raises
    ------
    NotImplementedError
        If the dtype is one of these.
    """
    if element.is_complex or element.name == "bool":
        raise NotImplementedError(
            f"{name}: \"{name}_cpu\" not implemented for '{element.scalar_type_name}'; count in another dtype and "
            "convert it"
        )


def computed_on(where: Any, numbers: Callable[[Any], Any]) -> Any:
    """A new tensor of what a function of an array namespace computes, on the device, so that nothing is sent there."""
    backend = backend_of(where)
    if is_numpy(backend.xp) or (state.intercepting and is_watched()):
        return from_host(numbers(numpy), where)
    with backend.guard(where.index):
        array = numbers(backend.xp)
    return make(array, key_of(BY_NUMPY[array.dtype], where))


def steps_from(xp: Any, start: Any, step: Any, count: int, element: dtype) -> Any:
    """``start``, ``start + step``, ...: computed in 64 bits, and rounded to the dtype."""
    whole = element.category < 2
    exact = whole or (element.name == "float32" and count <= 1 << 24)  # it has all these numbers
    if exact and element.itemsize >= 4 and not start and step == 1 and count < 1 << 31:
        return counted(xp, count, element.numpy)
    values = counted(xp, count, numpy.int64 if whole else numpy.float64)
    if step != 1:
        values *= step
    if start != 0:
        values += start
    return values.astype(element.numpy, copy=False)


ROW = 4096


def counted(xp: Any, count: int, element: Any) -> Any:
    """The numbers from 0 to ``count - 1``: many are made in rows, which NumPy does in a third of the time."""
    if count < 4 * ROW or not is_numpy(xp):
        return xp.arange(count, dtype=element)
    values = numpy.empty(count, element)
    whole = count // ROW * ROW
    starts = numpy.arange(0, whole, ROW, dtype=element)[:, None]
    numpy.add(starts, numpy.arange(ROW, dtype=element), out=values[:whole].reshape(-1, ROW))
    values[whole:] = numpy.arange(whole, count, dtype=element)
    return values


@composite(out="dtype", leaf="core::range")
@documented(options=OPTIONS.replace(PIN_MEMORY, ""))
def range(
    start: Number = 0,
    end: Number | None = None,
    step: Number = 1,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
) -> Tensor:
    """Count from ``start`` to ``end`` inclusive in steps of ``step``; deprecated, use `arange`.

    Parameters
    ----------
    start, end, step : number
    dtype : dtype, optional
        Default: `get_default_dtype`.
    {options}

    Warns
    -----
    UserWarning
        Always, since the end is included, unlike that of Python's `range`.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     weft.range(1, 3)
    tensor([1., 2., 3.])
    """
    if layout is not None:
        is_strided("range", layout)
    warn_caller(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end)."
    )
    if end is None:
        start, end = 0, start
    element = element_type("range", dtype) or get_default_dtype()
    refuse_float8("range", element)
    refuse_uncounted("range", element)
    if step == 0:
        raise RuntimeError("range: step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("range: upper bound and lower bound inconsistent with step sign")
    count = int((end - start) / step) + 1

    def numbers(xp: Any) -> Any:
        return (xp.arange(count, dtype=numpy.float64) * step + start).astype(element.numpy)

    return finished(computed_on(resolve_device(device), numbers), requires_grad)


def from_host(array: Any, device: Any = None) -> Any:
    """A NumPy array as a tensor on a device."""
    where = resolve_device(device)
    if state.intercepting and is_watched():
        return tensor(array, device=where)
    return make(backend_of(where).from_numpy(array, where.index), key_of(BY_NUMPY[array.dtype], where))


def device_beside(device: Any, *bounds: Any) -> device_class:
    """Where evenly spaced numbers are made: on the meta device, too, if a bound is there and no device is named."""
    if device is None and any(isinstance(each, Tensor) and each.is_meta for each in bounds):
        device = "meta"
    return resolve_device(device)


def without_history(bound: Any) -> Any:
    """A bound of evenly spaced numbers, which in PyTorch depend on it without a gradient."""
    return bound.detach() if isinstance(bound, Tensor) else bound


def bounds_dtype(name: str, start: Any, end: Any, dtype: Any) -> dtype:
    """The dtype of evenly spaced numbers."""
    if any(isinstance(each, TensorBase) and each._array.ndim for each in (start, end)):
        raise RuntimeError(f"{name}: only supports 0-dimensional start and end tensors")
    chosen = element_type(name, dtype)
    if chosen is not None:
        refuse_float8(name, chosen)
        if chosen.name == "bool":
            refuse_uncounted(name, chosen)
        return chosen
    kinds = [each.dtype if isinstance(each, Tensor) else scalar_dtype(each) for each in (start, end)]
    return get_default_dtype().to_complex() if any(each.is_complex for each in kinds) else get_default_dtype()


def evenly(name: str, start: Any, end: Any, steps: Any, element: dtype, xp: Any = numpy) -> Any:
    """``steps`` numbers from start to end, computed from the nearer end."""
    if steps is None or isinstance(steps, float):
        given = ", ".join(type(each).__name__ for each in (start, end, steps))
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({given}): argument 'steps' must be int, not "
            f"{type(steps).__name__}"
        )
    steps = int(steps)
    if steps < 0:
        raise RuntimeError(f"{name}: number of steps must be non-negative; got {steps}")
    elements(name, (steps,), element.itemsize)
    start, end = (fitting(name, each, element) for each in (start, end))
    wide = numpy.complex128 if element.is_complex else numpy.float64
    if element.is_half:
        return evenly_in_half(xp, start, end, steps, element.numpy.type)
    if element.name == "float32":
        start, end = float(numpy.float32(start)), float(numpy.float32(end))
    if steps == 1:
        return xp.full(1, start, wide)
    step = (end - start) / (steps - 1) if steps > 1 else 0
    if element.name == "float32":
        step = float(numpy.float32(step))
    half, values = steps // 2, xp.empty(steps, wide)
    place = counted(xp, steps - half, numpy.float64)
    xp.multiply(place[:half], step, out=values[:half])
    xp.add(values[:half], start, out=values[:half])
    xp.multiply(place[::-1], step, out=values[half:])
    xp.subtract(end, values[half:], out=values[half:])
    return values


def evenly_in_half(xp: Any, start: Any, end: Any, steps: int, number: Any) -> Any:
    """Evenly spaced numbers of a dtype of 16 bits, each operation rounded to it."""
    first, last = number(start), number(end)
    if steps == 1:
        return xp.full(1, float(first), number)
    step = number(last - first) / number(steps - 1) if steps else number(0)
    place = xp.arange(steps)
    after, before = place.astype(number), (steps - place - 1).astype(number)
    if is_numpy(xp):
        return numpy.where(place < steps // 2, first + step * after, last - step * before)

    def rounded(values: Any) -> Any:  # beside Python's numbers halves are computed in float32
        return values.astype(number).astype(numpy.float32)

    rising = rounded(rounded(after * float(step)) + float(first))
    return xp.where(place < steps // 2, rising, rounded(float(last) - rounded(before * float(step))))


@composite(
    out="dtype",
    data_dependent=True,
    fast_path=creation.Linspace(takes="start end steps"),
    leaf="core::linspace",
)
@documented(options=OPTIONS)
def linspace(
    start: Scalar | Tensor,
    end: Scalar | Tensor,
    steps: int,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Return ``steps`` evenly spaced numbers from ``start`` to ``end``, both included.

    Parameters
    ----------
    start, end : number or 0-d Tensor
    steps : int
        How many numbers.
    dtype : dtype, optional
        Default: `get_default_dtype`, or its complex counterpart.
    {options}

    Examples
    --------
    >>> weft.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if layout is not None:
        is_strided("linspace", layout)
    start, end = without_history(start), without_history(end)
    element = bounds_dtype("linspace", start, end, dtype)
    where = device_beside(device, start, end)
    if where.type == "meta":
        made = finished(empty_on(as_shape("linspace", (steps,)), element, where), requires_grad)
        return pinned(made) if pin_memory else made

    def numbers(xp: Any) -> Any:
        values = evenly("linspace", start, end, steps, element, xp)
        return (xp.trunc(values) if element.category < 2 else values).astype(element.numpy)

    made = finished(computed_on(where, numbers), requires_grad)
    return pinned(made) if pin_memory else made


@onnx_of(linspace)
def _(graph, start, end, steps, dtype=None, **options):
    if not all(isinstance(each, (int, float)) for each in (start, end)):
        graph.refuse("bounds that are tensors")
    if isinstance(steps, int):
        return graph.constant(memory_of(linspace(start, end, steps, dtype=dtype)))
    element = dtype or get_default_dtype()
    rise = graph.Div(
        graph.constant(float(end) - start, dtype=element), graph.cast(graph.Max(graph.Sub(steps, 1), 1), element)
    )
    return graph.Add(graph.Mul(graph.cast(graph.range(0, steps), element), rise), start)


@composite(out="dtype", data_dependent=True, leaf="core::logspace")
@documented(options=OPTIONS)
def logspace(
    start: Scalar | Tensor,
    end: Scalar | Tensor,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Return ``base`` to the power of ``steps`` evenly spaced numbers from ``start`` to ``end``.

    Parameters
    ----------
    start, end : number or 0-d Tensor
        The first and the last exponent.
    steps : int
        How many numbers.
    base : float
    dtype : dtype, optional
        Default: `get_default_dtype`, or its complex counterpart.
    {options}

    Examples
    --------
    >>> weft.logspace(0, 3, 4, base=2)
    tensor([1., 2., 4., 8.])
    """
    if layout is not None:
        is_strided("logspace", layout)
    start, end = without_history(start), without_history(end)
    element = bounds_dtype("logspace", start, end, dtype)
    where = device_beside(device, start, end)
    if where.type == "meta":
        made = finished(empty_on(as_shape("logspace", (steps,)), element, where), requires_grad)
        return pinned(made) if pin_memory else made
    if element.is_half and steps != 1:
        start, end = (each.item() if isinstance(each, TensorBase) else each for each in (start, end))
        start, end = (float(element.numpy.type(fitting("logspace", each, element))) for each in (start, end))

    def numbers(xp: Any) -> Any:
        exponents = evenly("logspace", start, end, steps, float32 if element.is_half else element, xp)
        values = xp.power(complex(base) if element.is_complex else float(base), exponents)
        return (xp.trunc(values) if element.category < 2 else values).astype(element.numpy)

    made = finished(computed_on(where, numbers), requires_grad)
    return pinned(made) if pin_memory else made


@composite(out="dtype", fast_path=creation.Eye(takes="n m"), leaf="core::eye")
@documented(options=OPTIONS)
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Make a matrix with ones on the diagonal and zeros elsewhere.

    Parameters
    ----------
    n, m : int
        How many rows and columns; by default as many columns as rows.
    dtype : dtype, optional
        Default: `get_default_dtype`.
    {options}

    Examples
    --------
    >>> weft.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if layout is not None:
        is_strided("eye", layout)
    for side, size in (("n", n), ("m", m)):
        if isinstance(size, int) and size < 0:
            raise RuntimeError(f"eye: {side} must be greater or equal to 0, got {size}")
    shape = as_shape("eye", (n, n if m is None else m))
    made = filled("eye", shape, 0, dtype or get_default_dtype(), device, False)
    columns = shape[1]
    diagonal = made._array.reshape(-1)[: columns * columns : columns + 1]
    fill_array(diagonal, fitting("eye", 1, made._key.dtype), made._key)
    made = finished(made, requires_grad)
    return pinned(made) if pin_memory else made


@onnx_of(eye)
def _(graph, n, m=None, dtype=None, **options):
    rows, columns = (graph.range(0, each) for each in (n, n if m is None else m))
    same = graph.Equal(graph.Unsqueeze(rows, graph.sizes([1])), columns)
    return graph.cast(same, dtype or get_default_dtype())


@composite(out=False, leaf="core::scalar_tensor")
@documented(options=OPTIONS)
def scalar_tensor(
    s: Scalar | Tensor,
    *,
    dtype: DType | None = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Make a 0-d tensor of a number.

    Parameters
    ----------
    s : number
    dtype : dtype, optional
        Default: `get_default_dtype`, also for integers, unlike `tensor`.
    {options}

    Examples
    --------
    >>> weft.scalar_tensor(2)
    tensor(2.)
    """
    if layout is not None:
        is_strided("scalar_tensor", layout)
    element = element_type("scalar_tensor", dtype) or get_default_dtype()
    made = filled("scalar_tensor", ((),), element_of("scalar_tensor", s, element), element, device, requires_grad)
    return pinned(made) if pin_memory else made


@composite(leaf="core::tril_indices")
def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType = int64,
    device: Device = None,
    layout: Layout | None = None,
) -> Tensor:
    """Return the positions on and below a diagonal of a matrix: row indices, then column indices.

    Parameters
    ----------
    row, col : int
        The size of the matrix.
    offset : int
        Which diagonal: 0 the main one, positive ones above it.
    dtype : dtype
        int64 or int32.
    device : device, str or int, optional
        Default: `get_default_device`.
    layout : layout, optional
        Only ``weft.strided``.

    Returns
    -------
    Tensor, shape (2, number of positions)

    Examples
    --------
    >>> weft.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    if layout is not None:
        is_strided("tril_indices", layout)
    return triangle_indices("tril_indices", numpy.tril_indices, row, col, offset, dtype, device)


@composite(leaf="core::triu_indices")
def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType = int64,
    device: Device = None,
    layout: Layout | None = None,
) -> Tensor:
    """Return the positions on and above a diagonal of a matrix: row indices, then column indices.

    Parameters
    ----------
    row, col : int
        The size of the matrix.
    offset : int
        Which diagonal: 0 the main one, positive ones above it.
    dtype : dtype
        int64 or int32.
    device : device, str or int, optional
        Default: `get_default_device`.
    layout : layout, optional
        Only ``weft.strided``.

    Returns
    -------
    Tensor, shape (2, number of positions)

    Examples
    --------
    >>> weft.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    if layout is not None:
        is_strided("triu_indices", layout)
    return triangle_indices("triu_indices", numpy.triu_indices, row, col, offset, dtype, device)


def triangle_indices(name: str, find: Any, row: int, col: int, offset: int, element: Any, device: Any) -> Any:
    for word, size in (("row", row), ("col", col)):
        if integer(name, size, word) < 0:
            raise RuntimeError(f"{name}: {word} must be non-negative, got {size}")
    as_shape(name, (row, col))
    offset = integer(name, offset, "offset")
    if element.name not in ("int32", "int64"):
        raise RuntimeError(
            f"{name}: not implemented for '{element.scalar_type_name}'; dtype must be weft.int32 or weft.int64"
        )

    def positions(xp: Any) -> Any:
        if is_numpy(xp):
            return numpy.stack(find(row, offset, col)).astype(element.numpy)
        return triangle_on_device(xp, row, col, offset, find is numpy.triu_indices).astype(element.numpy)

    return computed_on(resolve_device(device), positions)


def triangle_on_device(xp: Any, row: int, col: int, offset: int, upper: bool) -> Any:
    """The positions of a triangle, of which only the number is found on the host."""
    shift = offset if upper else offset + 1
    edges = (numpy.arange(row) + shift).clip(0, col)  # of each row the first column that is in, or that is not
    total = int((col - edges if upper else edges).sum())
    edge = (xp.arange(row) + shift).clip(0, col)
    ends, flat = xp.cumsum(col - edge if upper else edge), xp.arange(total)
    line = xp.searchsorted(ends, flat, side="right")
    return xp.stack([line, flat - ends[line] + (col if upper else edge[line])])


@op("clone", dtypes=ALL_DTYPES, vmap="elementwise", linear="input", onnx="Identity")
def clone(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """Copy a tensor; gradients flow through the copy, which is dense in the input's order of dimensions.

    Parameters
    ----------
    input : Tensor
    memory_format : memory_format, optional
        Another order of dimensions in memory.

    Examples
    --------
    >>> x = weft.zeros(2)
    >>> x.clone().fill_(1), x
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    if memory_format is None or memory_format is preserve_format:
        return written_out(input) if repeats(input) else clone.op(input)
    return reordered("clone", input, memory_format)


def repeats(input: Any) -> bool:
    """Whether elements of a strided tensor are in several places, as those of an expanded one are."""
    return 0 in input._array.strides and input._array.ndim > 1


def written_out(input: Any) -> Any:
    """A dense copy of a tensor that repeats elements: dimensions along which it does keep their places.

    NumPy would put them innermost, as their strides are the smallest, and a view of all elements would be refused.
    """
    array = input._array
    return copied_in(order_of_result(array.ndim, [(array.shape, array.strides)]), input)


def reordered(name: str, input: Any, format: Any) -> Any:
    """A copy with its dimensions in memory in the order that a format asks for."""
    order = order_of(name, format, input._array.ndim)
    if order is None:
        return contiguous_copy.op(input)
    return copied_in(order, input)


def copied_in(order: Sequence[int], input: Any) -> Any:
    """A copy whose dimensions lie in memory in this order."""
    if all(dim == place for place, dim in enumerate(order)):
        return contiguous_copy.op(input)
    made = in_original_order(contiguous_copy.op(input.permute(order)), order)
    made._view_base = made._version_counter = None  # nobody has the tensor that it is a view of
    return made


def in_original_order(permuted: Any, order: Sequence[int]) -> Any:
    """A tensor whose dimensions were permuted to an order, with its dimensions back in place."""
    return permuted.permute([order.index(dim) for dim in builtins.range(len(order))])


@clone.kernel
def _(xp, input):
    return xp.array(input, copy=True, order="K")


@clone.gradient("input")
def _(grad):
    return grad


@op(name="contiguous_copy", dtypes=ALL_DTYPES, vmap="elementwise", linear="input", onnx="Identity")
def contiguous_copy(input: Tensor) -> Tensor:
    """A copy with its dimensions in order in memory."""
    return contiguous_copy.op(input)


@contiguous_copy.kernel
def _(xp, input):
    return xp.array(input, copy=True, order="C")


@contiguous_copy.gradient("input")
def _(grad):
    return grad


@composite("contiguous")
def _contiguous(self: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
    """Return the tensor itself if its elements are in order in memory, else a copy in which they are.

    Examples
    --------
    >>> weft.zeros(2, 3).t().contiguous().stride()
    (2, 1)
    """
    order_of("contiguous", memory_format, self._array.ndim)  # refuses a format of another number of dimensions
    if self.is_contiguous(memory_format=memory_format):
        return self
    if memory_format is preserve_format:
        raise RuntimeError("contiguous: preserve memory format is unsupported by the contiguous operator")
    return reordered("contiguous", self, memory_format)


@composite("is_contiguous")
def _is_contiguous(self: Tensor, memory_format: MemoryFormat | None = None) -> bool:
    """Whether the elements are in order in memory.

    Examples
    --------
    >>> weft.zeros(2, 3).is_contiguous(), weft.zeros(2, 3).t().is_contiguous()
    (True, False)
    """
    if memory_format in NEEDS and self._array.ndim != NEEDS[memory_format]:
        return False
    order = order_of("is_contiguous", memory_format, self._array.ndim)
    array = self._array if order is None else self._array.transpose(order)
    return builtins.bool(array.flags.c_contiguous)


@op(name="convert", dtypes=ALL_DTYPES, vmap="elementwise", linear="input")
def convert(input: Tensor, dtype: dtype_class) -> Tensor:
    """The elements converted to another dtype."""
    return convert.op(input, dtype)


@convert.kernel
def _(xp, input, dtype):
    if input.dtype.kind == "c" and dtype.numpy.kind != "c":
        if dtype.numpy.kind == "b":
            input = input != 0
        else:
            warn_of_lost_part()
            input = input.real
    if dtype.is_float8:
        return converted(input, dtype.numpy)
    if is_float8(input.dtype):
        input = widened(input)
    return input.astype(dtype.numpy)


@convert.gradient("input")
def _(grad, input_dtype):
    if grad._key.is_complex and not input_dtype.is_complex:
        grad = grad.real  # as it is meant
    return grad.to(input_dtype)


@convert.onnx
def _(graph, input, dtype):
    return graph.Identity(input) if input.dtype is dtype else graph.cast(input, dtype)


@op(name="transfer", dtypes=ALL_DTYPES, vmap="elementwise", linear="input")
def transfer(input: Tensor, source: device_class, target: device_class, non_blocking: bool = False) -> Tensor:
    """A copy on another device."""
    input = resolved(input)
    host = backend_of(source)
    if source.type == target.type:
        array = host.to_device(input._array, target.index)
    elif target.type == "meta":  # which takes the geometry alone
        array = backend_of(target).from_numpy(input._array, None)
    elif non_blocking and target is cpu:
        array = host.copy_to_host(input._array, True)
    elif non_blocking and source is cpu:
        array = backend_of(target).copy_from_host(input._array, target.index, True)
    else:
        array = backend_of(target).from_numpy(host.to_numpy(input._array), target.index)
    made: Any = make(array, key_of(input.dtype, target))
    if input._requires_grad and local.grad_enabled:
        record(transfer.op, made, (input, source, target, non_blocking), 1)
    return made


@transfer.kernel
def _(xp, input, source, target, non_blocking):
    return input


@transfer.gradient("input")
def _(grad, source, target):
    return transfer(grad, target, source)


@composite("to")
def to(
    input: Tensor,
    *args: DType | Device | Tensor,
    dtype: DType | None = None,
    device: Device = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Convert a tensor to another dtype or device; return it unchanged if it has both.

    ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` and ``to(other)`` are understood.

    Parameters
    ----------
    input : Tensor
    dtype : dtype, optional
    device : device, str or int, optional
    non_blocking : bool
        Let the program go on while a copy runs. From page-locked memory (`Tensor.pin_memory`) to a device, the
        source must not be written to before the copy is done. To the CPU, the result is page-locked, and has the values
        when the device's stream is synchronized.
    copy : bool
        Copy also if nothing changes.
    memory_format : memory_format, optional
        The order of dimensions in memory; default: that of the input.

    Examples
    --------
    >>> weft.tensor([1.7]).to(weft.int64)
    tensor([1])
    """
    given, flags = input, []
    for arg in args:
        if isinstance(arg, TensorBase):
            dtype, device = arg._key.dtype, arg._key.device
        elif isinstance(arg, (dtype_class, type)):
            dtype = arg
        elif isinstance(arg, bool):
            flags.append(arg)
        elif arg is not None:
            device = arg
    copy = copy or (len(flags) > 1 and flags[1])
    if device is not None:
        target = resolve_device(device)
        if target is not input._key.device:
            later = non_blocking or (bool(flags) and flags[0])
            if later and target is cpu:  # what is computed there needs the values
                later = (dtype is None or dtype is input._key.dtype) and memory_format in (None, preserve_format)
            input, copy = transfer(input, input._key.device, target, later), False
    if dtype is not None and dtype is not input._key.dtype:
        element = element_type("to", dtype)
        if element is not input._key.dtype:
            input, copy = convert.op(written_out(input) if repeats(input) else input, element), False
    if memory_format is None or memory_format is preserve_format:
        return clone(input) if copy else input
    if input is given and not copy and memory_format is format_of(input._array):
        return input
    return input.clone(memory_format=memory_format) if input is given else input.contiguous(memory_format=memory_format)


def format_of(array: Any) -> Any:
    """The memory format that an array is taken for: contiguous, if it is not that of channels last."""
    if not is_channels_last(array):
        return contiguous_format
    return channels_last if array.ndim == 4 else channels_last_3d


def conversion(name: str, element: dtype) -> Any:
    def convert_to(self: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
        if memory_format is None:
            if self._key.dtype is element:
                return self
            return convert.op(written_out(self) if repeats(self) else self, element)
        return self.to(element, memory_format=memory_format)

    convert_to.__name__ = f"_{name}"
    convert_to.__qualname__ = f"Tensor.{name}"
    convert_to.__doc__ = f"The tensor as {element.name}."
    return composite(name)(convert_to)


for _name, _element in {**{each.name: each for each in (bfloat16,)}, **ALIASES}.items():
    conversion(_name, _element)
conversion("byte", uint8)
conversion("char", int8)


@composite("type_as")
def _type_as(self: Tensor, other: Tensor) -> Tensor:
    """Convert the tensor to the dtype and device of another.

    Examples
    --------
    >>> weft.tensor([1, 2]).type_as(weft.zeros(1))
    tensor([1., 2.])
    """
    return self.to(other)


@composite("cpu")
def _cpu(self: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
    """Copy the tensor to the CPU; return it unchanged if it is there."""
    return self.to("cpu", memory_format=memory_format)


@composite("cuda")
def _cuda(
    self: Tensor, device: Device = None, non_blocking: bool = False, memory_format: MemoryFormat | None = None
) -> Tensor:
    """Copy the tensor to a CUDA device; return it unchanged if it is there."""
    where = "cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device
    return self.to(where, non_blocking=non_blocking, memory_format=memory_format)


@op(
    inplace="fill_",
    tensors="input value",
    dtypes=ALL_DTYPES,
    numbers="value",
    vmap="elementwise",
)
def fill(input: Tensor, value: Scalar | Tensor) -> Tensor:
    """Make a tensor like ``input`` filled with one value.

    Parameters
    ----------
    input : Tensor
    value : number or 0-d Tensor

    Raises
    ------
    RuntimeError
        If the value is a tensor with dimensions.

    Examples
    --------
    >>> weft.fill(weft.zeros(2), 3)
    tensor([3., 3.])
    """
    if isinstance(value, TensorBase) and value._array.ndim:
        raise RuntimeError(
            f"fill: fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions."
        )
    if not isinstance(value, TensorBase):
        value = fitting("fill", value, input._key.dtype)
        return fill.op(input, value)
    if value._key.device is not input._key.device and not value.is_meta:
        value = value.to(input.device)  # type: ignore[attr-defined]
    if value._requires_grad and value._key.dtype is not input._key.dtype:
        value = value.to(input.dtype)  # type: ignore[attr-defined]  # so that its gradient is of its own dtype
    return fill.op(input, value)


@fill.kernel
def _(xp, input, value):
    filled = xp.empty(input.shape, input.dtype)
    fill_array(filled, assigned(filled, xp.asarray(value)) if is_float8(filled.dtype) else value)
    return filled


@fill.gradient("input")
def _(grad):
    return zeros_like(grad)


@fill.gradient("value")
def _(grad):
    return grad.sum()


@fill.onnx
def _(graph, input, value):
    return graph.Expand(graph.cast(graph.value(value, input), input.dtype), graph.shape_of(input))


LARGE = 1 << 64  # an integer that may be too large for a float


def fills_at_once(name: str, target: Any, value: Any) -> bool:
    """Write a number into a tensor, if nothing is recorded and nobody is watching; whether it did."""
    key, array = target._key, target._array
    if not key.fast_path or target._extra is not None or key.dtype.is_float8 or type(array) is not numpy.ndarray:
        return False
    if type(value) is not float and (type(value) is not int or not -LARGE < value < LARGE):
        return False
    base = target._view_base
    if (target._requires_grad and local.grad_enabled) or (base is not None and base._requires_grad):
        return False
    counter = target._version_counter
    if not array.flags.writeable or (counter is not None and counter.inference):
        return False
    fill_array(array, fitting(name, value, key.dtype), key)
    bump(target, name)
    return True


def in_place(name: str, method: Any) -> Any:
    """The method that fills a tensor, with the common case first."""

    @functools.wraps(method)
    def function(self: Any, *args: Any, **kwargs: Any) -> Any:
        value = args[0] if len(args) == 1 else 0
        if not kwargs and len(args) == (name == "fill_") and fills_at_once(name, self, value):
            return self
        return method(self, *args, **kwargs)

    return function


@composite(inplace="zero_")
def _zero(input: Tensor) -> Tensor:
    return fill.op(input, fitting("zero_", 0, input._key.dtype))


add_members(fill_=in_place("fill_", Tensor.fill_), zero_=in_place("zero_", Tensor.zero_))


def zeros_of(shape: tuple[int, ...], key: Any) -> Any:
    """Zeros of a shape and dtype."""
    if state.intercepting and is_watched():
        return zeros(shape, dtype=key.dtype, device=key.device)
    return filled("zeros", (shape,), 0, key.dtype, key.device, False)


def clone_like(source: Any, model: Any) -> Any:
    """A copy, without history, whose elements are in the order in which a dense tensor of that shape has them."""
    if state.intercepting and is_watched():
        return operations["core::clone_like"].run((source, model), {})
    if source.is_sparse:
        return source.clone()
    empty_like = on_device_of(model._key, backend_of(model._key.device).xp.empty_like)
    copy = make(empty_like(memory_of(model._array), dtype=source._array.dtype), key_of(source.dtype, source.device))
    write_array(copy, source._array)
    return copy


def ones_without_dims(model: Any) -> Any:
    """One, as a tensor without dimensions of a model's kind: where backward begins."""
    if state.intercepting and is_watched():
        return ones_like(model)
    array = model._array
    if type(array) is numpy.ndarray:
        return make(numpy.array(1, array.dtype), model._key)
    ones = on_device_of(model._key, backend_of(model._key.device).xp.ones_like)(memory_of(array))
    return make(ones, key_of(model._key.dtype, model._key.device))


def recorded_copy(source: Any) -> Any:
    """A copy whose history is that of `copy_`, as gradients that are differentiable have it."""
    return empty_like(source).copy_(source)


state.clone = clone.op
state.recorded_copy = recorded_copy
state.ones_like = ones_without_dims
state.clone_like = clone_like
Operation("core::clone_like", clone_like)
state.zeros = zeros_of
