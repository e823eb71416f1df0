"""Tensors that wrap another one, which has their values and their history: sparse and nested tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from weft._engine.tensor import local
from weft._interception.torch_function import flatten, unmasked
from weft._tensor.base import Tensor
from weft._tensor.subclasses import as_subclass
from weft.ops._registry import registry

__all__ = ["ValuesWrapper", "alias", "implements_in", "wrapper_of"]

# What is answered from the size, the dtype and the device alone.
QUERIES = frozenset(
    """
    __hash__ __len__ dim element_size get_device is_complex is_contiguous is_floating_point is_signed is_tensor
    ndimension nelement numel size
    """.split()
)
Functions = dict[str, Callable[..., Any]]


def implements_in(functions: Functions) -> Callable[[str], Callable[[Any], Any]]:
    """What declares functions in a table, under one or more names."""

    def implements(names: str) -> Callable[[Any], Any]:
        def declare(function: Any) -> Any:
            functions.update(dict.fromkeys(names.split(), function))
            return function

        return declare

    return implements


def alias(values: Any) -> Any:
    """A view of a leaf that requires a gradient, so that a tensor made of it is no leaf; anything else as it is."""
    return registry["core::alias"].op(values) if values.requires_grad and values.is_leaf else values


def wrapper_of(cls: Any, values: Any, size: Any) -> Any:
    """A wrapper around values.

    Its own array is a single zero, expanded: that has the size, the dtype and the device.
    """
    result = as_subclass(values.detach().new_zeros(()).expand(tuple(size)), cls)
    result._inner_values = values
    return result


class ValuesWrapper(Tensor):
    """A tensor whose elements and history are those of another one, ``_inner_values``.

    What functions and methods do with it stands in the table ``_functions``, by name.
    """

    _functions: ClassVar[Functions]
    _described: ClassVar[str]
    _precedence: ClassVar[int] = 0  # whose table is asked where several kinds meet in a call: the highest's
    _inner_values: Any

    @property
    def requires_grad(self) -> Any:
        """Whether the values require a gradient."""
        return self._inner_values.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: Any) -> None:
        self._inner_values.requires_grad = value

    @property
    def is_leaf(self) -> Any:
        """Whether the values are a leaf of the graph."""
        return self._inner_values.is_leaf

    @property
    def grad_fn(self) -> Any:
        """What computed the values."""
        return self._inner_values.grad_fn

    @property
    def grad(self) -> Any:
        """The gradient, with the same structure."""
        grad = self._inner_values.grad
        return None if grad is None else self.with_values(grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._inner_values.grad = None if value is None else value._inner_values

    @property
    def data(self) -> Any:
        """The same elements without history."""
        return self.with_values(self._inner_values.detach())

    @data.setter
    def data(self, value: Any) -> None:
        if type(value) is not type(self):
            raise TypeError(f"data: expected a {type(self).__name__}, got {type(value).__name__}")
        for name in ("_array", *vars(value)):
            setattr(self, name, getattr(value, name))

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Let the values require a gradient."""
        self._inner_values.requires_grad_(requires_grad)
        return self

    def retain_grad(self) -> None:
        """Keep the gradient of the values, also of what is no leaf."""
        self._inner_values.retain_grad()

    def replace_values(self, values: Any) -> None:
        """Put other values in the place of these, as functions in place do.

        Raises
        ------
        RuntimeError
            If the tensor is a leaf that requires a gradient, and the operation would be recorded.
        """
        old = self._inner_values
        if old.requires_grad and old.is_leaf:
            if local.grad_enabled:
                raise RuntimeError(
                    "a leaf that requires grad is being used in an in-place operation; use weft.no_grad(), or a clone()"
                )
            values = values.detach().requires_grad_()
            values.grad = old.grad if old.grad is not None and old.grad.shape == values.shape else None
        self._inner_values = values

    def with_values(self, values: Any) -> Any:
        """Other values in the same structure."""
        raise NotImplementedError

    def __dlpack__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: the array that would be exchanged has none of the elements.

        Raises
        ------
        BufferError
            Always.
        """
        raise BufferError(f"__dlpack__: is not there for {self._described}")

    def __deepcopy__(self, memo: Any) -> Any:
        if not self.is_leaf:
            raise RuntimeError("deepcopy: only tensors that the user created (leaves) can be copied; take detach()")
        values = self._inner_values.detach().clone().requires_grad_(self.requires_grad)
        memo[id(self)] = copied = self.with_values(values)
        return copied

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(getattr(kind, "_precedence", 0) > cls._precedence for kind in types):
            return NotImplemented
        name, kwargs = func.__name__, kwargs or {}
        found = cls._functions.get(name)
        if found is not None:
            return found(*args, **kwargs)
        if name in QUERIES:
            return unmasked(flatten(args), func, args, kwargs)
        own = getattr(cls, name, None)
        if own is not None and own is not getattr(Tensor, name, None) and args and isinstance(args[0], cls):
            return own(*args, **kwargs)  # a method of this kind, called as Tensor's
        raise NotImplementedError(f"{name}: is not there for {cls._described}")
