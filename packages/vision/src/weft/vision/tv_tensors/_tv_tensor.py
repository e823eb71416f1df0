"""The base of the classes: which ops keep a class, and how tensors become objects of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import weft
from weft import Tensor
from weft.library.subclasses import tensor_repr
from weft.overrides import DisableTorchFunctionSubclass

__all__ = ["TVTensor", "set_return_type"]

# `detach` is offered to overrides as the function.
_KEEP_THE_CLASS = {Tensor.clone, Tensor.to, Tensor.detach, weft.detach, Tensor.requires_grad_, Tensor.pin_memory}
_RETURN_TYPES = {"tensor": False, "tvtensor": True}
_all_ops_keep_the_class = False


class TVTensor(Tensor):
    """The base class of `Image`, `Video`, `Mask`, `BoundingBoxes`, `KeyPoints`, and of classes of the user's.

    A subclass may define ``wrap(cls, tensor, like, **kwargs)``, by which metadata is passed on.
    """

    @staticmethod
    def _to_tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Tensor:
        """Return ``data`` as a plain tensor, which requires a gradient if ``data`` does, unless told otherwise."""
        if requires_grad is None:
            requires_grad = isinstance(data, Tensor) and data.requires_grad
        return weft.as_tensor(data, dtype=dtype, device=device).requires_grad_(requires_grad)

    @classmethod
    def _wrap_output(cls, output: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Return the result of an op as an object of this class, also inside tuples and lists."""
        if isinstance(output, (tuple, list)):
            parts = [cls._wrap_output(part, args, kwargs) for part in output]
            return type(output)(*parts) if hasattr(output, "_fields") else type(output)(parts)
        return output.as_subclass(cls) if isinstance(output, Tensor) and not isinstance(output, cls) else output

    @classmethod
    def wrap(cls, tensor: Tensor, like: Any, **kwargs: Any) -> Any:
        """Return a tensor as one of this class."""
        return tensor.as_subclass(cls)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run an op on plain tensors, and give its result the class where that is wanted."""
        if not all(issubclass(cls, each) for each in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            output = func(*args, **kwargs or {})
        if _all_ops_keep_the_class or (func in _KEEP_THE_CLASS and isinstance(args[0], cls)):
            return cls._wrap_output(output, args, kwargs)
        if isinstance(output, cls):  # of an op in place
            return output.as_subclass(Tensor)
        return output

    def _make_repr(self, **metadata: Any) -> str:
        told = ", ".join(f"{name}={value}" for name, value in metadata.items())
        return f"{tensor_repr(self, type(self).__name__)[:-1]}, {told})"

    @property
    def data(self) -> Tensor:
        """The same memory without history: a plain tensor, as the result of an op is."""
        output = self.as_subclass(Tensor).data
        found: Tensor = self._wrap_output(output, (self,)) if _all_ops_keep_the_class else output
        return found

    @data.setter
    def data(self, values: Tensor) -> None:
        vars(Tensor)["data"].__set__(self, values)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.detach().clone().requires_grad_(self.requires_grad)


class _Restored:
    """What `set_return_type` returns: at the end of a ``with`` block it brings the former type back."""

    def __init__(self, former: bool) -> None:
        self.former = former

    def __enter__(self) -> _Restored:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        global _all_ops_keep_the_class
        _all_ops_keep_the_class = self.former


def set_return_type(return_type: str) -> _Restored:
    """Choose what ops on tv_tensors return: for the whole program, or inside a ``with`` block.

    Transforms return what they were given, whatever is chosen here.

    Parameters
    ----------
    return_type : {"Tensor", "TVTensor"}
        Plain tensors, as at the start of a program, or tensors of the class of the operand.

    Examples
    --------
    >>> from weft.vision.tv_tensors import Image
    >>> image = Image(weft.zeros(3, 2, 2))
    >>> type(image + 1).__name__
    'Tensor'
    >>> with set_return_type("TVTensor"):
    ...     type(image + 1).__name__
    'Image'
    """
    global _all_ops_keep_the_class
    if return_type.lower() not in _RETURN_TYPES:
        raise ValueError(f"return_type must be 'TVTensor' or 'Tensor', got {return_type}")
    former = _all_ops_keep_the_class
    _all_ops_keep_the_class = _RETURN_TYPES[return_type.lower()]
    return _Restored(former)
