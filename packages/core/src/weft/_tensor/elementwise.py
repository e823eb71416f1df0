"""Methods that write a tensor element by element: Python functions of each, and its diagonal."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from weft._dtypes.dtypes import BOOL, COMPLEX, FLOATING, INTEGER
from weft._engine.tensor import TensorBase
from weft._interception.interceptors import seen_as
from weft._tensor.base import Tensor
from weft.ops._inplace import bump, check_writable, write_array
from weft.types import Scalar

__all__: list[str] = []


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put a function on Tensor under its own name."""
    setattr(Tensor, function.__name__, function)
    return function


@method
@seen_as("core::apply_")
def apply_(self: Any, callable: Callable[[Any], Scalar]) -> Tensor:
    """Replace each element by what a Python function makes of it; slow, and on the CPU only.

    Parameters
    ----------
    callable : function of a Python number

    Raises
    ------
    RuntimeError
        If the tensor requires grad.
    TypeError
        If the function gives no number of the tensor's kind.

    Examples
    --------
    >>> weft.tensor([1, 2, 3]).apply_(lambda x: x * x)
    tensor([1, 4, 9])
    """
    return replace_each("apply_", self, (), callable)


@method
@seen_as("core::map_")
def map_(self: Any, tensor: Tensor, callable: Callable[[Any, Any], Scalar]) -> Tensor:
    """Replace each element by ``callable(element, other element)``, with another tensor of the same dtype.

    Parameters
    ----------
    tensor : Tensor
        Its shape may be broadcast to this tensor's.
    callable : function of two Python numbers

    Raises
    ------
    RuntimeError
        If a tensor requires grad, or the shape does not fit.
    TypeError
        If the dtypes differ, or the function gives no number of the tensor's kind.

    Examples
    --------
    >>> weft.tensor([1.0, 2.0]).map_(weft.tensor([3.0, 4.0]), lambda a, b: a * b)
    tensor([3., 8.])
    """
    return replace_each("map_", self, (tensor,), callable)


@method
@seen_as("core::map2_")
def map2_(self: Any, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Scalar]) -> Tensor:
    """As `map_`, with two other tensors.

    Parameters
    ----------
    x, y : Tensor
        Of the same dtype; their shapes may be broadcast to this tensor's.
    callable : function of three Python numbers

    Raises
    ------
    RuntimeError
        If a tensor requires grad, or a shape does not fit.
    TypeError
        If the dtypes differ, or the function gives no number of the tensor's kind.

    Examples
    --------
    >>> weft.tensor([1.0, 2.0]).map2_(weft.tensor(3.0), weft.tensor(4.0), lambda a, b, c: a * b + c)
    tensor([ 7., 10.])
    """
    return replace_each("map2_", self, (x, y), callable)


def replace_each(name: str, self: Any, others: tuple[Any, ...], function: Callable[..., Any]) -> Any:
    for other in others:
        if not isinstance(other, TensorBase):
            raise TypeError(f"{name}(): argument 'other' must be Tensor, not {type(other).__name__}")
        if other._key.dtype is not self.dtype or other._key.device is not self.device:
            raise TypeError(
                f"{name}: expected a tensor of {self.dtype} on {self.device}, got {other._key.dtype} on "
                f"{other._key.device}"
            )
    if any(each._requires_grad for each in (self, *others)):
        raise RuntimeError(
            f"{name}: Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
        )
    if self.device.type == "meta":
        return self
    if self.device.type != "cpu":
        raise TypeError(f"{name}: is only implemented on CPU tensors; this one is on {self.device}")
    if not callable(function):
        raise TypeError(f"{name}(): argument 'callable': {type(function).__name__!r} object is not callable")
    check_writable(name, self, False)
    columns = [each.expand(self.shape).reshape(-1).tolist() for each in (self.detach(), *others)]
    number = reader_of(self.dtype)
    made = Tensor.new_tensor(self, [number(function(*values)) for values in zip(*columns, strict=True)])  # type: ignore[attr-defined]
    write_array(self, made.reshape(self.shape)._array)
    bump(self, name)
    return self


def reader_of(dtype: Any) -> Callable[[Any], Any]:
    """What makes a number of a dtype from what a function returned."""
    kind: Any = {BOOL: bool, INTEGER: int, FLOATING: float, COMPLEX: complex}[dtype.category]

    def read(value: Any) -> Any:
        if isinstance(value, str | bytes):
            raise TypeError(f"must be real number, not {type(value).__name__}")
        return kind(value)

    return read


@method
def fill_diagonal_(self: Any, fill_value: Scalar, wrap: bool = False) -> Tensor:
    """Write a value to the main diagonal: of a matrix, or where all indices are equal.

    Parameters
    ----------
    fill_value : number
    wrap : bool
        In a matrix with more rows than columns the diagonal begins anew, one row below each of its ends.

    Raises
    ------
    RuntimeError
        If there are fewer than two dimensions, or more than two of different sizes.

    Examples
    --------
    >>> weft.zeros(2, 3).fill_diagonal_(5)
    tensor([[5., 0., 0.],
            [0., 5., 0.]])
    """
    if self.ndim < 2:
        raise RuntimeError(f"fill_diagonal_: dimensions must larger than 1; got shape {list(self.shape)}")
    if self.ndim > 2:
        if len(set(self.shape)) > 1:
            raise RuntimeError(f"fill_diagonal_: all dimensions of input must be of equal length; got {self.shape}")
        view = self
        for _ in range(self.ndim - 1):
            view = view.diagonal(0, 0, 1) if view.ndim == 2 else view.diagonal(0, 0, 1).movedim(-1, 0)
        view.fill_(fill_value)
        return self
    rows, columns = self.shape
    starts = itertools.takewhile(lambda start: start < rows, itertools.count(0, columns + 1) if wrap else (0,))
    for start in starts:
        self[start:].diagonal().fill_(fill_value)
    return self
