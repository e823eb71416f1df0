"""``Variable``, which tensors were wrapped in before they recorded what is done to them; programs still call it."""

from __future__ import annotations

import warnings
from typing import Any

from weft._tensor.base import Tensor

__all__ = ["Variable"]


class VariableType(type):
    """The type of `Variable`: every tensor is an instance of it."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, Tensor)

    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable: data has to be a tensor, but got {type(data).__name__}; weft.tensor makes one")
        if volatile:
            warnings.warn("Variable: volatile has no effect; use `with weft.no_grad():`", UserWarning, stacklevel=2)
        found = Tensor() if data is None else data.detach()
        return found.requires_grad_(requires_grad)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"type object 'Variable' has no attribute {name!r}")
        return getattr(Tensor, name)


class Variable(metaclass=VariableType):
    """A tensor with the memory of another one, as a leaf: what wrapping it in a Variable gave.

    Parameters
    ----------
    data : Tensor, optional
        Default: an empty one.
    requires_grad : bool
    volatile : bool
        Has no effect any longer.

    Examples
    --------
    >>> x = weft.autograd.Variable(weft.ones(2), requires_grad=True)
    >>> x, isinstance(x, weft.Tensor), isinstance(x, weft.autograd.Variable)
    (tensor([1., 1.], requires_grad=True), True, True)
    """
