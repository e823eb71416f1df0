"""Fake tensors: they name the device that a real tensor would be on, and have no memory there.

A `FakeTensor` wraps a tensor on the device ``meta``. It is a subclass with ``__torch_dispatch__``: each operator runs
on what is wrapped, and its results are wrapped again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import ref

import weft
from weft._interception.torch_dispatch import without_modes
from weft._tensor.base import Tensor, disabled_torch_function
from weft.utils._python_dispatch import TorchDispatchMode
from weft.utils._pytree import tree_leaves, tree_map_only

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
    "is_fake",
    "maybe_get_fake_mode",
]


class OperatorException(RuntimeError):
    """What an operator cannot do with fake tensors.

    Attributes
    ----------
    func : OpOverload
    """

    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func


class DataDependentOutputException(OperatorException):
    """A number was to be read from a fake tensor."""


class DynamicOutputShapeException(OperatorException):
    """The shape of a result depends on values that a fake tensor has not."""


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor of a kind that no fake tensor stands for.

    Attributes
    ----------
    reason : str
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class FakeTensor(Tensor):
    """A tensor that says on which device it is, and has no memory there.

    Parameters
    ----------
    fake_mode : FakeTensorMode
        By which its operators run.
    elem : Tensor
        On the device ``meta``, of its shape, strides and dtype.
    device : device
        What it says.

    Attributes
    ----------
    fake_mode, fake_device
        See above.
    constant : None
        weft keeps no values of small tensors.
    """

    __torch_function__: Any = classmethod(disabled_torch_function)
    fake_mode: FakeTensorMode
    fake_device: Any
    constant: None
    _elem: Any

    def __new__(cls, fake_mode: FakeTensorMode, elem: Any, device: Any) -> FakeTensor:  # type: ignore[misc]
        if not elem.is_meta:
            raise RuntimeError(f"FakeTensor: elem has to be on the device meta, not on {elem.device}")
        made: Any = Tensor._make_wrapper_subclass(
            cls,
            elem.size(),
            strides=elem.stride(),
            dtype=elem.dtype,
            device=device,
            requires_grad=elem.requires_grad,
        )
        made._elem, made.fake_mode, made.fake_device, made.constant = elem, fake_mode, made.device, None
        return made  # type: ignore[no-any-return]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator by the mode of the first fake tensor among its arguments."""
        modes = [each.fake_mode for each in tree_leaves((args, kwargs)) if isinstance(each, FakeTensor)]
        return modes[0].dispatch(func, args, kwargs or {})

    @staticmethod
    def from_tensor(t: Any, fake_mode: FakeTensorMode) -> FakeTensor:
        """See `FakeTensorMode.from_tensor`."""
        return fake_mode.from_tensor(t)

    def __repr__(self) -> str:  # type: ignore[override]  # mypy drops the names of a dunder's arguments
        return (
            repr(self._elem)
            .replace("tensor(...", "FakeTensor(...", 1)
            .replace("device='meta', ", "" if self.device.type == "cpu" else f"device='{self.device}', ", 1)
        )


def zeros_for(tensor: FakeTensor) -> Tensor:
    """A tensor of zeros with memory, on the device that a fake one names, of its shape, strides and dtype."""
    with without_mode():
        made: Tensor = weft.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=tensor.device)
        return made.zero_().requires_grad_(tensor.requires_grad)


class FakeTensorMode(TorchDispatchMode):
    """Inside of the block new tensors are fake, and operators run on fake tensors.

    Parameters
    ----------
    allow_fallback_kernels : bool
        Has no effect: an operator without a meta kernel is refused.
    allow_non_fake_inputs : bool
        Operators take real tensors beside fake ones, as fake ones of their shapes.
    shape_env : None
        weft has no symbolic sizes.
    static_shapes : bool, optional
        Has no effect: all are.
    export : bool
        Has no effect.

    Raises
    ------
    NotImplementedError
        For a ``shape_env``.

    Examples
    --------
    >>> from weft._subclasses.fake_tensor import FakeTensorMode
    >>> with FakeTensorMode():
    ...     y = weft.ones(2, 3) @ weft.ones(3, 1 << 40)
    >>> y
    FakeTensor(..., size=(2, 1099511627776))
    >>> y.device
    device(type='cpu')
    """

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        super().__init__()
        if shape_env is not None:
            raise NotImplementedError("FakeTensorMode: shape_env: weft has no symbolic sizes; leave it out")
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env = None
        self.static_shapes = True
        self._known: dict[int, tuple[Any, FakeTensor]] = {}  # by the ids of real tensors, while these live

    def from_tensor(self, tensor: Any, *, static_shapes: bool | None = None, **options: Any) -> FakeTensor:
        """The fake tensor that stands for a tensor; the same one each time.

        Raises
        ------
        UnsupportedFakeTensorException
            If it is sparse.
        """
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("from_tensor: the tensor is a fake one of another mode")
            return tensor
        if tensor.layout is not weft.strided:  # type: ignore[attr-defined]
            raise UnsupportedFakeTensorException(f"from_tensor: {tensor.layout} tensors have no fake ones")
        key, known = id(tensor), self._known
        if key not in known:
            with without_mode():
                elem = weft.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")
                elem.requires_grad_(tensor.requires_grad)
                made = FakeTensor(self, elem, tensor.device)
            known[key] = ref(tensor, lambda _: known.pop(key, None)), made
        return known[key][1]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator of the block."""
        return self.dispatch(func, args, kwargs or {})

    def dispatch(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an operator on what fake tensors wrap.

        Raises
        ------
        DataDependentOutputException, DynamicOutputShapeException
            If its result depends on values.
        RuntimeError
            If fake tensors of several devices meet.
        AssertionError
            If a real tensor is among the arguments, and they are not allowed.
        """
        fakes = [each for each in tree_leaves((args, kwargs)) if isinstance(each, FakeTensor)]
        known = {id(each._elem): each for each in fakes}
        device = self.device_of_result(func, fakes, kwargs)
        given, options = tree_map_only(Tensor, lambda each: self.unwrapped(func, each), (args, kwargs))
        if options.get("device") is not None or (not fakes and takes_device(func)):
            options["device"] = "meta"
        try:
            result = func(*given, **options)
        except RuntimeError as error:
            raise self.refusal(func, error) from error

        def fake(tensor: Any) -> Any:
            return known[id(tensor)] if id(tensor) in known else self.wrapped(tensor, device)

        return tree_map_only(Tensor, fake, result)

    def device_of_result(self, func: Any, fakes: list[FakeTensor], kwargs: dict[str, Any]) -> Any:
        """The device that is named, or that of the arguments; a CPU tensor without dimensions follows the others."""
        named = kwargs.get("device")
        if named is not None or not fakes:
            return weft.device(named or weft.get_default_device())
        devices = {each.device for each in fakes if each.ndim or each.device.type != "cpu"} or {fakes[0].device}
        if len(devices) > 1:
            raise RuntimeError(
                f"Unhandled FakeTensor Device Propagation for {func}, found two different devices "
                f"{', '.join(sorted(map(str, devices)))}"
            )
        return devices.pop()

    def unwrapped(self, func: Any, tensor: Any) -> Any:
        """What a tensor is on the device meta."""
        if isinstance(tensor, FakeTensor):
            return tensor._elem
        is_new = str(func) == "aten.lift_fresh.default"  # data that a program has just made a tensor of
        is_number = tensor.is_meta or tensor.untyped_storage().nbytes() <= tensor.itemsize  # or stands for its shape
        if not (self.allow_non_fake_inputs or is_new or is_number):
            raise AssertionError(
                "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                f"'allow_non_fake_inputs'. Found in {func}"
            )
        return tensor.to("meta")

    def wrapped(self, tensor: Any, device: Any) -> Any:
        """A result, as a fake tensor of a device."""
        return FakeTensor(self, tensor, device) if tensor.is_meta else tensor

    def refusal(self, func: Any, error: RuntimeError) -> RuntimeError:
        """What is raised where the device meta refuses an operator."""
        if "item() cannot be called on meta tensors" in str(error):
            return DataDependentOutputException(func)
        if isinstance(error, NotImplementedError) and "needs the values" in str(error):
            return DynamicOutputShapeException(func)
        return error


def takes_device(func: Any) -> bool:
    """Whether an operator makes tensors on the device that it is told."""
    schema = getattr(func, "_schema", None)
    return schema is not None and any(each.name == "device" for each in schema.arguments)


@contextmanager
def without_mode() -> Iterator[None]:
    """No mode sees what runs here."""
    with without_modes():
        yield


def is_fake(x: object) -> bool:
    """Whether a value is a fake tensor.

    Examples
    --------
    >>> from weft._subclasses.fake_tensor import is_fake
    >>> is_fake(weft.ones(2))
    False
    """
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t: object) -> FakeTensorMode | None:
    """The mode of a fake tensor; None for any other value."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


unset_fake_temporarily: Callable[[], Any] = without_mode
