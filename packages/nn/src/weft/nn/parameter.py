"""Tensors with a role in a module: parameters, which are trained, and buffers, which are not."""

from __future__ import annotations

from functools import partial
from types import MethodType
from typing import Any

import weft
from weft import Tensor
from weft.library.subclasses import as_subclass, disabled_torch_function, display_name, tensor_repr, unmasked
from weft.nn._types import DeviceLike, DType

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """Lets a user's own Tensor subclass be a Parameter: `Parameter` marks it, and isinstance sees the mark."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module trains: assigned as an attribute, it is one of `Module.parameters`.

    Parameters
    ----------
    data : Tensor, optional
        By default empty. The memory is shared.
    requires_grad : bool

    Examples
    --------
    >>> weft.nn.Parameter(weft.tensor([1.0, 2.0]))
    Parameter containing:
    tensor([1., 2.], requires_grad=True)
    """

    __module__ = f"{display_name.name}.nn.parameter"  # programs print it
    # A plain tensor under another name: results of operations are plain tensors, on the fast path.
    __torch_function__: Any = classmethod(disabled_torch_function)

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        """Share the memory of ``data``."""
        if data is None:
            data = weft.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter: data must be a Tensor, got {type(data).__name__}; wrap it in weft.tensor(...)")
        parameter: Any = data.detach().requires_grad_(requires_grad)
        parameter._is_param = True
        return parameter

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:  # type: ignore[override]  # mypy drops the names of a dunder's arguments
        return "Parameter containing:\n" + tensor_repr(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # A tensor's own way, with this parameter's memory: an alias would move alone when the memory is shared.
        reduced: Any = Tensor.__reduce_ex__(self, protocol)
        make, arguments, _ = reduced
        return _rebuild_parameter, (make, (Tensor, *arguments[1:]), self.requires_grad, dict(self.__dict__))


def _rebuild_parameter(make: Any, arguments: Any, requires_grad: bool, attributes: dict[str, Any]) -> Parameter:
    parameter: Parameter = Parameter(make(*arguments), requires_grad)
    parameter.__dict__.update(attributes)
    return parameter


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    """Lets isinstance see a buffer's mark; a buffer is an ordinary tensor otherwise."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that belongs to a module's state but is not trained; see `Module.register_buffer`.

    Parameters
    ----------
    data : Tensor, optional
        By default empty. The memory is shared.
    persistent : bool
        Whether it is part of the state dict.

    Examples
    --------
    >>> module = weft.nn.Module()
    >>> module.mean = weft.nn.Buffer(weft.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    __torch_function__: Any = classmethod(disabled_torch_function)

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        """Share the memory of ``data``."""
        data = weft.empty(0) if data is None else data
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


# What may be asked of a tensor without a shape: where it is, what its elements are, and to be others there.
_allowed = frozenset(
    "bfloat16 char copy_ cpu cuda double float get_device half int is_complex is_floating_point long short size to "
    "xpu".split()
)


def _refuse(name: str, *args: Any, **kwargs: Any) -> Any:
    raise ValueError(
        f"{name}: Attempted to use an uninitialized parameter or buffer in {name}(). This happens when you use a lazy "
        "module, or an UninitializedParameter of your own, before it has a shape: call the module once with a batch of "
        "the right size, or materialize(shape) the parameter"
    )


class UninitializedTensorMixin(Tensor):
    """A tensor whose shape is not known yet; `materialize` gives it one.

    It counts as no plain tensor, so that every op asks ``__torch_function__``, which refuses; methods that are no ops
    are refused where they are looked up.
    """

    __torch_function__: Any = classmethod(disabled_torch_function)  # replaced below

    cls_to_become: type[Tensor] = Tensor

    @classmethod
    def _make(cls, requires_grad: bool, device: DeviceLike, dtype: DType) -> Any:
        return as_subclass(weft.empty(0, device=device, dtype=dtype).requires_grad_(requires_grad), cls)

    def materialize(self, shape: Any, device: DeviceLike = None, dtype: DType = None) -> None:
        """Become an ordinary tensor of ``shape``, with arbitrary values; optimizers keep hold of it."""
        device = self.device if device is None else device
        dtype = self.dtype if dtype is None else dtype
        values = weft.empty(shape, device=device, dtype=dtype)
        self.data = values
        self._key = values._key
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name[:1] == "_" or name == "share_memory_" or not isinstance(value, MethodType) or not hasattr(Tensor, name):
            return value
        return partial(self._convert, value) if name in _allowed else partial(_refuse, name)

    def _convert(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        """Run one of the allowed methods; a tensor that it makes has no shape yet, either."""
        result = unmasked([self], method, args, kwargs)
        if not isinstance(result, Tensor) or is_lazy(result):
            return result
        made = as_subclass(result, type(self))
        made.__dict__.update(self.__dict__)
        return made

    def share_memory_(self) -> Any:
        """Refuse: there is no memory yet."""
        raise RuntimeError(
            "share_memory_: Can't share memory on an uninitialized parameter or buffer. Call the module once with a "
            "batch of the right size before module.share_memory()"
        )

    def __len__(self) -> int:
        return int(_refuse("__len__"))

    def __iter__(self) -> Any:
        return _refuse("__iter__")

    def __bool__(self) -> bool:
        return bool(_refuse("__bool__"))

    def __getitem__(self, index: Any) -> Any:
        return _refuse("__getitem__")

    def __setitem__(self, index: Any, value: Any) -> None:
        _refuse("__setitem__")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return _refuse("__array__")

    @property
    def shape(self) -> Any:
        """No shape yet."""
        raise RuntimeError(
            "shape: Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
            "Call `forward` to initialize the parameters before accessing their attributes."
        )

    def __repr__(self) -> str:  # type: ignore[override]
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild_uninitialized, (type(self), self.requires_grad, self.device, self.dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = _rebuild_uninitialized(type(self), self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


def _rebuild_uninitialized(cls: Any, requires_grad: bool, device: Any, dtype: Any) -> Any:
    return cls(requires_grad, device, dtype)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape the first call of its (lazy) module decides.

    Parameters
    ----------
    requires_grad : bool
    device, dtype : optional
        Of the parameter to come.
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: DeviceLike = None, dtype: DType = None) -> Any:
        """Take the dtype and device to come."""
        return cls._make(requires_grad, device, dtype)


class UninitializedBuffer(UninitializedTensorMixin):
    """A buffer whose shape the first call of its (lazy) module decides.

    Parameters
    ----------
    requires_grad : bool
    device, dtype : optional
        Of the buffer to come.
    persistent : bool
        Whether it is part of the state dict.
    """

    def __new__(
        cls, requires_grad: bool = False, device: DeviceLike = None, dtype: DType = None, persistent: bool = True
    ) -> Any:
        """Take the dtype and device to come."""
        buffer = cls._make(requires_grad, device, dtype)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def _refuse_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    return _refuse(getattr(func, "__name__", str(func)))


# Only now, and not in the classes themselves: to define a class that overrides `__torch_function__` puts a check on
# every public function of the process. That these are no plain tensors is enough for the ops to ask.
UninitializedTensorMixin.__torch_function__ = classmethod(_refuse_function)
for _class in (UninitializedTensorMixin, UninitializedParameter, UninitializedBuffer):
    _class._is_plain = False


def is_lazy(param: Any) -> bool:
    """Return whether ``param`` is an uninitialized parameter or buffer."""
    return isinstance(param, UninitializedTensorMixin)
