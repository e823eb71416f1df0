"""Moving and casting all parameters and buffers of a module at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import weft
from weft import Tensor, __future__
from weft.nn._module.traversal import Traversal
from weft.nn._types import DeviceLike

Self = TypeVar("Self", bound="Conversion")

_TO_FORMS = (
    "to(device=None, dtype=None, non_blocking=False), to(dtype, non_blocking=False) or to(tensor, non_blocking=False)"
)


class Conversion(Traversal):
    """Conversions in place: the Parameter objects stay the same, so that an optimizer keeps hold of them."""

    def _apply(self: Self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of each parameter, its gradient, and each buffer by ``fn`` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        overwrite = __future__.get_overwrite_module_params_on_conversion()
        overwrite = overwrite and not __future__.get_swap_module_params_on_conversion()
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with weft.no_grad():
                converted = fn(parameter)
                gradient = None if parameter.grad is None else fn(parameter.grad)
            if overwrite or converted.layout is not parameter.layout:  # of which the Parameter itself cannot become
                self._parameters[name] = replaced = type(parameter)(converted, parameter.requires_grad)
                if gradient is not None:
                    assert parameter.grad is not None
                    replaced.grad = gradient.requires_grad_(parameter.grad.requires_grad)
            elif parameter.grad is not None:
                gradient_takes_grad = parameter.grad.requires_grad
                parameter.grad = None  # so that data and gradient never differ in dtype or device
                parameter.data = converted
                assert gradient is not None
                parameter.grad = gradient.requires_grad_(gradient_takes_grad)
            else:
                parameter.data = converted
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Move and cast parameters and buffers, in place.

        Called as ``to(device=None, dtype=None, non_blocking=False)``, ``to(dtype, non_blocking=False)``,
        ``to(tensor, non_blocking=False)`` (the device and dtype of that tensor), or ``to(memory_format=...)``.

        Parameters
        ----------
        device : device, str or int, optional
        dtype : dtype, optional
            Floating-point or complex; integer parameters and buffers keep theirs.
        non_blocking : bool
            Whether a copy between devices may return before it is done.
        memory_format : memory_format, keyword only, optional
            For the parameters and buffers of 4 or 5 axes.

        Returns
        -------
        Module
            self

        Raises
        ------
        TypeError
            For arguments of another form, and for an integer dtype.
        NotImplementedError
            If a parameter is on the meta device, and has nothing to be copied; see `to_empty`.
        """
        device, dtype, non_blocking, memory_format = _parse_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"to: nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}; "
                "convert a single tensor with tensor.to(dtype)"
            )
        if dtype is not None and dtype.is_complex:
            warnings.warn(
                "to: Complex modules are a new feature; some modules might not work as expected with complex "
                "parameters and buffers",
                stacklevel=2,
            )

        def convert(tensor: Tensor) -> Tensor:
            target = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            if tensor.is_meta and device is not None and weft.device(device).type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            if memory_format is not None and tensor.dim() in (4, 5):
                return tensor.to(device, target, non_blocking, memory_format=memory_format)
            return tensor.to(device, target, non_blocking)

        return self._apply(convert)

    def to_empty(self: Self, *, device: DeviceLike, recurse: bool = True) -> Self:
        """Move to ``device`` without copying: the values are arbitrary afterwards.

        Parameters
        ----------
        device : device, str or int
        recurse : bool
            Whether the modules below move, too.

        Examples
        --------
        >>> layer = weft.nn.Linear(3, 2).to_empty(device="cpu")
        >>> layer.reset_parameters()
        """
        return self._apply(lambda tensor: weft.empty_like(tensor, device=device), recurse=recurse)

    def cpu(self: Self) -> Self:
        """Move to the CPU, in place."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self: Self, device: DeviceLike = None) -> Self:
        """Move to the GPU ``device`` (default: the current one), in place."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self: Self, device: DeviceLike = None) -> Self:
        """Move to the device named ``xpu``, in place; a plugin brings it."""
        return self._apply(lambda tensor: tensor.to(_indexed("xpu", device)))

    def mtia(self: Self, device: DeviceLike = None) -> Self:
        """Move to the device named ``mtia``, in place; a plugin brings it."""
        return self._apply(lambda tensor: tensor.to(_indexed("mtia", device)))

    def ipu(self: Self, device: DeviceLike = None) -> Self:
        """Move to the device named ``ipu``, in place; a plugin brings it."""
        return self._apply(lambda tensor: tensor.to(_indexed("ipu", device)))

    def type(self: Self, dst_type: Any) -> Self:
        """Cast all parameters and buffers to ``dst_type``, in place, integers included."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self: Self) -> Self:
        """Cast floating-point parameters and buffers to float32, in place."""
        return self._cast_floating(weft.float32)

    def double(self: Self) -> Self:
        """Cast floating-point parameters and buffers to float64, in place."""
        return self._cast_floating(weft.float64)

    def half(self: Self) -> Self:
        """Cast floating-point parameters and buffers to float16, in place."""
        return self._cast_floating(weft.float16)

    def bfloat16(self: Self) -> Self:
        """Cast floating-point parameters and buffers to bfloat16, in place."""
        return self._cast_floating(weft.bfloat16)

    def _cast_floating(self: Self, dtype: weft.dtype) -> Self:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def share_memory(self: Self) -> Self:
        """Move parameters and buffers to memory that other processes can share, in place."""

        def share(tensor: Any) -> Any:
            return tensor.share_memory_()

        return self._apply(share)


def _indexed(kind: str, device: DeviceLike) -> DeviceLike:
    return f"{kind}:{device}" if isinstance(device, int) else (kind if device is None else device)


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """Read the arguments of `Module.to`; return device, dtype, non_blocking and memory_format."""
    options = dict(kwargs)
    memory_format = options.pop("memory_format", None)
    first = args[0] if args else None
    names: tuple[str, ...]
    if isinstance(first, Tensor):
        names = ("tensor", "non_blocking", "copy")
    elif isinstance(first, weft.dtype):
        names = ("dtype", "non_blocking", "copy")
    else:
        names = ("device", "dtype", "non_blocking", "copy")
    if "copy" in options or len(args) == len(names):
        raise RuntimeError("Module.to: does not accept copy argument; copy.deepcopy(module) makes a copy")
    unknown = options.keys() - {*names, "tensor"}
    repeated = options.keys() & set(names[: len(args)])
    if len(args) > len(names) or unknown or repeated:
        raise _invalid_to(args, kwargs)
    options.update(zip(names, args, strict=False))
    device, dtype, tensor = options.get("device"), options.get("dtype"), options.get("tensor")
    if tensor is not None:
        if not isinstance(tensor, Tensor) or device is not None or dtype is not None:
            raise _invalid_to(args, kwargs)
        device, dtype = tensor.device, tensor.dtype
    if dtype is not None and not isinstance(dtype, weft.dtype):
        raise _invalid_to(args, kwargs)
    if device is not None and not isinstance(device, (str, int, weft.device)):
        raise _invalid_to(args, kwargs)
    if device is not None:
        device = weft.device(device)  # type: ignore[arg-type]  # an int is the index of the accelerator
    return device, dtype, bool(options.get("non_blocking", False)), memory_format


def _invalid_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
    given = [type(value).__name__ for value in args]
    given += [f"{name}={type(value).__name__}" for name, value in kwargs.items()]
    return TypeError(f"to() received an invalid combination of arguments - got ({', '.join(given)}); use {_TO_FORMS}")
