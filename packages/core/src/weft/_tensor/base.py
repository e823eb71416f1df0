"""Tensor: the public class. What it computes is declared in `weft.ops`, which attaches its methods here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from weft._devices.devices import cpu, key_of, keys_on, resolve_device
from weft._devices.devices import device as Device
from weft._dtypes.dtypes import dtype as DType
from weft._engine.dispatch import current_node, make, spread_history
from weft._engine.methods import TensorMethods, declared_methods
from weft._engine.tensor import DETACHED, Extra, TensorBase, local
from weft._interception import torch_dispatch
from weft._interception.torch_function import default_torch_function
from weft._interception.transforms import stands_for_batch
from weft._tensor.held_storages import let_go
from weft._tensor.layout import layout as Layout
from weft._tensor.layout import strided
from weft._tensor.printing import tensor_repr
from weft._tensor.size import Size, size_of
from weft._tensor.subclasses import as_subclass, check_subclass
from weft.ops._geometry import wrap_dim
from weft.ops._registry import registry

if TYPE_CHECKING:
    from weft._methods import Methods  # the stub of what the ops attach; scripts/make_stubs.py makes it
else:
    Methods = TensorMethods

__all__ = ["Tensor", "add_members", "wrap"]

Subclass = TypeVar("Subclass", bound="Tensor")


class Tensor(Methods):
    """A multi-dimensional array of one dtype on one device, which can record what is computed from it.

    Make one with `weft.tensor`, `weft.zeros` and their like. ``Tensor(2, 3)`` is an uninitialised tensor
    of the default dtype, and ``Tensor([1, 2])`` one with these values, as in PyTorch.

    Examples
    --------
    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    _is_plain: ClassVar[bool] = True
    _dispatches: ClassVar[bool] = False  # defines __torch_dispatch__
    _construct: ClassVar[Callable[..., Any]]  # what makes ``Tensor(2, 3)``: `weft._tensor.legacy` puts it here
    __array_priority__ = 1000  # NumPy's operators leave mixed operands to ours

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls._construct("Tensor", args, kwargs, None)
        return made if cls is Tensor else as_subclass(made, cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        override = cls.__dict__.get("__torch_function__")
        if override is not None:
            cls._is_plain = getattr(override, "__func__", override) is disabled_torch_function
        elif cls._is_plain and cls.__mro__[1] is Tensor:
            cls._is_plain = False
        dispatch = vars(cls).get("__torch_dispatch__")
        if dispatch is not None:
            cls._dispatches = getattr(dispatch, "__func__", dispatch) is not disabled_torch_dispatch
            default = vars(Tensor)["__torch_function__"].__func__
            if cls._dispatches and getattr(cls.__torch_function__, "__func__", None) is default:
                cls.__torch_function__ = classmethod(disabled_torch_function)  # type: ignore[assignment]  # as PyTorch
                cls._is_plain = True
        if cls._dispatches:
            torch_dispatch.classes.append(cls)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return default_torch_function(cls, func, types, args, kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return disabled_torch_dispatch(cls, func, types, args, kwargs)

    # What it is

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        found: DType = self._key.dtype
        return found

    @property
    def device(self) -> Device:
        """Where the memory is."""
        found: Device = self._key.device
        return found

    @property
    def layout(self) -> Layout:
        """How the elements are stored: always ``weft.strided``."""
        return strided

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return size_of(self._array.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        found: int = self._array.ndim
        return found

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        found: int = self._array.size
        return found

    nelement = numel

    def element_size(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.numel() * self.itemsize

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> tuple[int, ...] | int:
        """How many elements lie between neighbours along each dimension, or along one."""
        item = self.itemsize
        strides = tuple(each // item for each in self._array.strides)
        if 0 in strides:
            strides = without_zeros(self._array.shape, strides)
        if not self._array.size and not any(self._array.strides):  # as the array library makes those without elements
            strides = contiguous_strides(self._array.shape)
        if dim is None:
            return strides
        return strides[wrap_dim("stride", dim, self.ndim)]

    def is_floating_point(self) -> bool:
        """Whether the dtype is floating (complex is not)."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers."""
        return self.dtype.is_signed

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a CUDA device."""
        return self.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether the memory is the CPU's."""
        return self.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        """Whether it has no memory, only a shape, strides and a dtype."""
        return self.device.type == "meta"

    def get_device(self) -> int:
        """The index of the device; -1 for the CPU."""
        return -1 if self.device.index is None else self.device.index

    # Autograd

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded."""
        return self._requires_grad

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("cannot delete attribute 'requires_grad' of a Tensor; requires_grad_(False) sets it")

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
        self._set_requires_grad(value)  # not requires_grad_, which fastai overrides by way of this

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Say whether operations on a leaf are recorded.

        Raises
        ------
        RuntimeError
            For a dtype without gradients, or to stop recording for a tensor that is no leaf.
        """
        if not isinstance(requires_grad, bool):
            raise TypeError(
                f"requires_grad_(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}"
            )
        self._set_requires_grad(requires_grad)
        return self

    def _set_requires_grad(self, requires_grad: bool) -> None:
        if requires_grad and not self._key.is_differentiable:
            raise RuntimeError(
                f"requires_grad_: only Tensors of floating point and complex dtype can require gradients; this one is "
                f"{self.dtype}. Convert it first with .to(weft.float32)"
            )
        counter = self._version_counter
        if requires_grad and counter is not None and counter.inference and not local.inference:
            raise RuntimeError(
                "requires_grad_: Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. "
                "Make a clone() to get a normal tensor"
            )
        if not self.is_leaf:
            if requires_grad:
                return
            raise RuntimeError(
                "requires_grad_: you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        self._requires_grad = bool(requires_grad)
        if requires_grad and counter is not None and counter.views is not None and self._view_base is None:
            spread_history(self)

    @property
    def grad_fn(self) -> Any:
        """The node of the operation that made it; None for a leaf."""
        return current_node(self)

    @property
    def is_leaf(self) -> bool:
        """Whether it was made by the user, or by operations that were not recorded."""
        return not self._requires_grad or current_node(self) is None

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward has accumulated, or None."""
        if self._grad is None and self._node is not None:
            hooks = None if self._extra is None else self._extra.hooks
            if hooks is None or not hooks.retains_grad:
                warnings.warn(
                    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                    "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                    "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
                    UserWarning,
                    stacklevel=2,
                )
        found: Any = self._grad
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, TensorBase):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("grad: can't assign Variable as its own grad")
            if value._array.shape != self._array.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value._array.shape)}' to a tensor of size "
                    f"'{list(self._array.shape)}'. Please ensure that the gradient and the tensor are the same size"
                )
            wanted = None if self._extra is None else self._extra.grad_dtype
            wanted = self._key.dtype if wanted is None else wanted or value._key.dtype
            if value._key.dtype is not wanted or value._key.device is not self._key.device:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{value._key.dtype}' on device '{value._key.device}' "
                    f"to a tensor with grad_dtype '{wanted.scalar_type_name}' on device '{self.device}'. The gradient "
                    "must match "
                    "the tensor's grad_dtype and device"
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def data(self) -> Tensor:
        """The same memory without history; writes to it are not seen by autograd."""
        if self._key.wrapped:
            if stands_for_batch(self):
                raise RuntimeError("accessing `data` under vmap transform is not allowed; take detach()")
            return self.detach()
        made = make(self._array, self._key)
        return as_subclass(made, type(self)) if self._key.has_torch_function else made  # type: ignore[return-value]

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("cannot delete attribute 'data' of a Tensor")

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, TensorBase):
            raise TypeError(f"data: expected a Tensor, got {type(value).__name__}")
        if value.layout is not self.layout:  # type: ignore[attr-defined]
            raise RuntimeError(
                "data: Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible "
                f"tensor type: {self.layout} and {value.layout}"  # type: ignore[attr-defined]
            )
        if self._requires_grad and not value._key.is_differentiable:
            raise RuntimeError(
                "data: data set to a tensor that requires gradients must be floating point or complex dtype; got "
                f"{value._key.dtype}"
            )
        let_go(self)
        self._array = value._array
        self._key = key_of(value._key.dtype, value._key.device, not self._key.has_torch_function, bits=value._key.bits)

    @property
    def _cdata(self) -> int:
        """A number that tells this tensor from all others there are: Pyro compares it."""
        return id(self)

    @property
    def _version(self) -> int:
        if self._version_counter is not None and self._version_counter.inference:
            raise RuntimeError(
                "_version: Inference tensors do not track version counter; clone() makes a normal tensor"
            )
        return 0 if self._version_counter is None else self._version_counter.value % DETACHED

    @property
    def _base(self) -> Any:
        return self._view_base

    def _is_view(self) -> bool:
        return self._base is not None

    # Python

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        if not self._array.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return tensor_repr(self, "tensor" if type(self) is Tensor else type(self).__name__)

    def __format__(self, spec: str) -> str:
        if not self._array.ndim and (self._key.plain or self._key.bits) and self._key.device.type != "meta":
            return format(self.item(), spec)  # type: ignore[attr-defined]
        return object.__format__(self, spec)

    @staticmethod
    def _make_subclass(cls: type, data: Tensor, require_grad: bool = False, **options: Any) -> Any:
        """A tensor of a subclass that shares the memory of ``data``, as a leaf."""
        made = as_subclass(make(data._array, key_of(data._key.dtype, data._key.device)), cls)
        if require_grad:
            made.requires_grad_(True)
        return made

    @staticmethod
    def _make_wrapper_subclass(
        cls: type,
        size: Any,
        strides: Any = None,
        storage_offset: Any = None,
        memory_format: Any = None,
        dtype: DType | None = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        **options: Any,
    ) -> Any:
        """A tensor of a subclass with ``__torch_dispatch__`` that has no memory: what it wraps has its values.

        Parameters
        ----------
        cls : type
        size, strides : sequence of int
            Strides in elements; default: contiguous.
        dtype, device, requires_grad
            What it is to others; default: the default dtype, and the CPU.
        storage_offset, memory_format, layout, pin_memory, options
            Accepted: what has no memory has none of them.

        Raises
        ------
        TypeError
            If the class has no ``__torch_dispatch__``.
        """
        from weft._tensor.wrapper_subclasses import make_wrapper

        return make_wrapper(cls, size, strides, dtype, device, requires_grad)

    def as_subclass(self, cls: type[Subclass]) -> Subclass:
        """A view of the whole tensor that is of a subclass; gradients and writes go through it."""
        check_subclass(cls)
        made: Subclass = as_subclass(registry["core::alias"].op(self), cls)
        return made


@classmethod  # type: ignore[misc]
def _disabled(cls: Any, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """For a subclass that is a plain tensor with another name, such as Parameter."""
    return func(*args, **(kwargs or {}))


disabled_torch_function = _disabled.__func__  # type: ignore[attr-defined]


def disabled_torch_dispatch(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Run an overload as if its tensors were of no subclass with ``__torch_dispatch__``."""
    with torch_dispatch.without_subclasses():
        return func(*args, **(kwargs or {}))


def wrap(array: Any, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor that shares memory with a backend's array.

    Parameters
    ----------
    array : array of the device's backend
    device : device or str, default the CPU
    requires_grad : bool
    """
    where = cpu if device is None else resolve_device(device)
    keys = keys_on(where)
    try:
        key = keys[array.dtype]
    except KeyError:
        raise TypeError(f"wrap: no weft dtype for arrays of {array.dtype}") from None
    made = make(array, key)
    if requires_grad:
        if not key.is_differentiable:
            raise RuntimeError(
                f"Only Tensors of floating point and complex dtype can require gradients; this one is {key.dtype}"
            )
        made.requires_grad_(True)  # type: ignore[attr-defined]
    return made


def without_zeros(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The strides with a number for those that the array library leaves at 0: of new dimensions of size 1."""
    found = list(strides)
    for dim in reversed(range(len(shape))):
        if shape[dim] == 1 and found[dim] == 0:
            found[dim] = found[dim + 1] * shape[dim + 1] if dim + 1 < len(shape) else 1
    return tuple(found)


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


__all__ += ["contiguous_strides", "disabled_torch_dispatch", "disabled_torch_function"]


def _size(self: Tensor, dim: int | None = None) -> Size | int:
    if dim is None:
        return size_of(self._array.shape)
    if not self._array.ndim:
        raise IndexError("size: a 0-dim tensor has no dimension to ask for; use .shape")
    size: int = self._array.shape[wrap_dim("size", dim, self._array.ndim)]
    return size


declared_methods["size"] = _size


def fresh_extra(tensor: Any) -> Extra:
    """The tensor's extra record, made if it has none."""
    if tensor._extra is None:
        tensor._extra = Extra()
    found: Extra = tensor._extra
    return found


from weft._engine.tensor import state  # noqa: E402  (the engine makes Tensors from here on)

state.tensor_class = Tensor


def add_members(**members: Any) -> None:
    """Put methods and properties on Tensor; the stub of its methods is made from what is there."""
    for name, member in members.items():
        setattr(Tensor, name, member)
