"""Making tensors from data, and filled ones; copies and conversions."""

from __future__ import annotations

from typing import Any

import numpy

from weft._devices import backend_of, kind_of, resolve_device
from weft._dtypes import BY_NUMPY, dtype, get_default_dtype, scalar_dtype
from weft._engine.dispatch import make
from weft._engine.tensor import TensorBase, state
from weft._interop import tensor
from weft.ops._declare import composite, op
from weft.ops._geometry import as_shape, elements


def empty_on(shape: tuple[int, ...], element: dtype, where: Any) -> Any:
    """An uninitialised contiguous tensor."""
    elements("empty", shape, element.itemsize)
    return make(backend_of(where).empty(shape, element, where.index), kind_of(element, where))


@composite(out=True)
def empty(*size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, memory_format=None):
    """An uninitialised tensor."""
    made = empty_on(as_shape("empty", size), dtype or get_default_dtype(), resolve_device(device))
    return made.requires_grad_() if requires_grad else made


@composite(out=True)
def full(size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """A tensor with one value everywhere.

    Parameters
    ----------
    size : int or tuple of int
    fill_value : number or 0-d Tensor
    dtype : dtype, optional
        Default: that of the value.
    """
    element = dtype or scalar_dtype(fill_value.item() if isinstance(fill_value, TensorBase) else fill_value)
    made = empty_on(as_shape("full", (size,) if isinstance(size, (tuple, list)) else (size,)), element, resolve_device(device))
    made._array[...] = fill_value.item() if isinstance(fill_value, TensorBase) else fill_value
    return made.requires_grad_() if requires_grad else made


@composite(out=True)
def zeros(*size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """A tensor of zeros."""
    return full(as_shape("zeros", size), 0, dtype=dtype or get_default_dtype(), device=device, requires_grad=requires_grad)


@composite(out=True)
def ones(*size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """A tensor of ones."""
    return full(as_shape("ones", size), 1, dtype=dtype or get_default_dtype(), device=device, requires_grad=requires_grad)


@composite()
def ones_like(input, *, dtype=None, device=None, requires_grad=False, layout=None, memory_format=None):
    """Ones of a tensor's shape, dtype and device."""
    return ones(input.shape, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad)


@composite()
def zeros_like(input, *, dtype=None, device=None, requires_grad=False, layout=None, memory_format=None):
    """Zeros of a tensor's shape, dtype and device."""
    return zeros(input.shape, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad)


def legacy_constructor(*args: Any, dtype: Any = None, device: Any = None) -> Any:
    """What ``weft.Tensor(...)`` makes: uninitialised from sizes, or a float tensor from data."""
    if len(args) == 1 and isinstance(args[0], TensorBase):
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], int):
        return tensor(args[0], dtype=dtype or get_default_dtype(), device=device)
    return empty(*args, dtype=dtype, device=device) if args else empty(0, dtype=dtype, device=device)


@op("clone")
def clone(input, *, memory_format=None):
    """A copy, through which gradients flow."""
    return clone.op(input)


@clone.kernel
def _(xp, input):
    return xp.array(input, copy=True, order="C")


@clone.gradient("input")
def _(grad):
    return grad


@op(name="convert")
def convert(input, dtype):
    """The elements converted to another dtype."""
    return convert.op(input, dtype)


@convert.kernel
def _(xp, input, dtype):
    if input.dtype.kind == "c" and dtype.numpy.kind != "c":
        input = input.real if dtype.numpy.kind != "b" else input != 0
    return input.astype(dtype.numpy)


@convert.gradient("input")
def _(grad, input_dtype):
    return grad.to(input_dtype)


@op(name="transfer")
def transfer(input, device):
    """A copy on another device."""
    target = resolve_device(device)
    return make_on(input, target)


def make_on(input: Any, target: Any) -> Any:
    source = input.device
    if source.type == target.type:
        array = backend_of(target).to_device(input._array, target.index)
    else:
        array = backend_of(target).from_numpy(backend_of(source).to_numpy(input._array), target.index)
    return make(array, kind_of(input.dtype, target))


@composite("to")
def to(input, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    """The tensor with another dtype or on another device; itself if nothing changes.

    ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` and ``to(other)`` are understood.
    """
    for arg in args:
        if isinstance(arg, TensorBase):
            dtype, device = arg.dtype, arg.device
        elif hasattr(arg, "is_floating_point"):
            dtype = arg
        elif isinstance(arg, bool):
            continue
        elif arg is not None:
            device = arg
    if dtype is not None and dtype is not input.dtype:
        input, copy = convert.op(input, dtype), False
    return clone.op(input) if copy else input


@op(inplace="fill_", tensors="input value", out=True)
def fill(input, value):
    """A tensor like ``input`` with one value everywhere.

    Parameters
    ----------
    input : Tensor
    value : number or 0-d Tensor

    Raises
    ------
    RuntimeError
        If the value is a tensor of more than one element.
    """
    if isinstance(value, TensorBase) and value._array.ndim:
        raise RuntimeError(
            f"fill: fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions."
        )
    return fill.op(input, value)


@fill.kernel
def _(xp, input, value):
    filled = xp.empty(input.shape, input.dtype)
    filled[...] = value
    return filled


@fill.gradient("input")
def _(grad):
    return None


@fill.gradient("value")
def _(grad):
    return grad.sum()


@composite(inplace="zero_")
def _zero(input):
    return fill.op(input, 0)


state.clone = clone.op
