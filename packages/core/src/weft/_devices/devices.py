"""Devices by name, and the dispatch keys (a dtype on a device) that the engine tells apart."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy

from weft._dtypes.dtypes import STORABLE, default_listeners, dtype, get_default_dtype
from weft._engine.dispatch_keys import DTYPES_PER_DEVICE, DispatchKey
from weft._engine.tensor import intercept, local, state
from weft._plugins.access import plugins
from weft._processes import renew_in_child
from weft.ops._registry import registry


class device:
    """Where a tensor's memory is: a type, such as ``"cpu"`` or ``"cuda"``, and perhaps an index.

    Parameters
    ----------
    type : str or device
        ``"cuda"`` or ``"cuda:1"``.
    index : int, optional

    Raises
    ------
    RuntimeError
        If the string is no device name, or has an index that is no number.

    Examples
    --------
    >>> weft.device("cuda:1").index
    1
    >>> with weft.device("cpu"):
    ...     weft.zeros(2).device
    device(type='cpu')
    """

    type: str
    index: int | None

    def __new__(cls, type: Any, index: int | None = None) -> device:
        if isinstance(type, device):
            return type
        if isinstance(type, int):
            raise RuntimeError(f"device: a bare index needs an accelerator; write weft.device('cuda', {type})")
        if not isinstance(type, str):
            raise TypeError(f"device: expected a string such as 'cpu' or 'cuda:0', got {type!r}")
        name, colon, number = type.partition(":")
        if colon:
            if index is not None:
                raise RuntimeError(f"device: type must not include an index when an index is passed too; got {type!r}")
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"device: invalid device string {type!r}; expected '<type>' or '<type>:<index>'")
            index = int(number)
        if index is not None and not 0 <= index < 1 << 31:
            raise RuntimeError(f"device: Device index must not be negative, nor exceed 31 bits; got {index}")
        if not name.isidentifier():
            raise RuntimeError(f"device: invalid device string {type!r}; expected '<type>' or '<type>:<index>'")
        made = _interned.get((name, index))
        if made is None:
            made = object.__new__(cls)
            made.type, made.index = name, index
            made = _interned.setdefault((name, index), made)
        return made

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)

    def __copy__(self) -> device:
        return self

    def __deepcopy__(self, memo: Any) -> device:
        return self

    def __enter__(self) -> device:
        with state.lock:
            state.placed += 1
            state.new_key = None
        local.devices = (*local.devices, self)
        return self

    def __exit__(self, *exc: object) -> None:
        local.devices = local.devices[:-1]
        with state.lock:
            state.placed -= 1


_interned: dict[tuple[str, int | None], device] = {}
_keys: dict[tuple[device, bool, bool, int], dict[Any, DispatchKey]] = {}
_slots: dict[device, int] = {}
_lock = threading.Lock()
renew_in_child(sys.modules[__name__], "_lock", threading.Lock)
_backend: Any = None  # `weft.plugins.backend`, which is imported when first asked for

cpu = device("cpu")
DeviceObjType = type(device)  # PyTorch's name, in annotations of pytorch-forecasting


def current_device() -> device:
    """Where a tensor is made that names no device."""
    return local.devices[-1] if local.devices else _default


_default = cpu


def set_default_device(to: Any) -> None:
    """Set where tensors are made that name no device (``None``: the CPU)."""
    global _default
    state.new_key = None
    _default = cpu if to is None else device(to)


def get_default_device() -> device:
    """Where tensors are made that name no device."""
    return current_device()


def resolve_device(given: Any = None) -> device:
    """The full device for what a caller gave: accelerators always have an index."""
    found = current_device() if given is None else device(given)
    if found.type == "meta":
        return device("meta")
    if found.index is None and found.type != "cpu":
        found = device(found.type, plugins().backend(found.type).current_device())
    if found.type == "cpu":  # there is one: cpu:0 is another spelling
        return cpu
    return found


def remember_new_key() -> None:
    """Let the engine make tensors that name neither dtype nor device, while these are the usual ones."""
    if state.new_key is None and _default is cpu:
        found = key_of(get_default_dtype(), cpu)
        with state.lock:
            if state.placed == 0 and found.array_type is numpy.ndarray:
                state.new_key = found


def forget_new_key() -> None:
    state.new_key = None


default_listeners.append(forget_new_key)


def backend_of(where: device) -> Any:
    """The backend of a device; loads its plugin when first asked for."""
    global _backend
    if _backend is None:
        _backend = plugins().backend
    return _backend(where.type)


def on_device_of(key: Any, function: Any) -> Any:
    """A function on arrays outside of kernels, so that it runs on the device of a dispatch key's tensors."""
    where = key.device
    return function if where is cpu else backend_of(where).on_device(function, where.index)


def key_of(element: dtype, where: device, plain: bool = True, wrapped: bool = False, bits: int = 0) -> DispatchKey:
    """The interned dispatch key of a dtype on a device.

    Parameters
    ----------
    plain : bool
        Of a class that does not override ``__torch_function__``.
    wrapped : bool
        Of tensors in a function transform.
    bits : int
        Of conjugate and negative views.
    """
    plain = plain or wrapped
    keys = _keys.get((where, plain, wrapped, bits))
    if keys is None:
        keys = _make_keys(where, plain, wrapped, bits)
    return keys[element.numpy]


def keys_on(where: device) -> dict[Any, DispatchKey]:
    """From an array's dtype to its plain dispatch key on a device."""
    keys = _keys.get((where, True, False, 0))
    return _make_keys(where, True, False, 0) if keys is None else keys


def make_room(count: int) -> None:
    """Give every op a place for the kernels of a new device."""
    more = count - state.key_count
    if more > 0:
        for op in state.ops:
            op.kernels.extend([None] * more)
            op.result_keys.extend([None] * more)
        state.key_count = count


def adding(keys: dict[Any, DispatchKey], element: dtype) -> Any:
    """Adds arrays of half precision in place by the kernel of `add`: array libraries have no vector code for them."""

    def accumulate(total: Any, more: Any, out: Any) -> None:
        out[...] = registry["core::add"].op.kernel(keys[element.numpy])(total, more)

    return accumulate


override_listeners: list[Any] = []  # what is called when a first tensor on a device may override functions


def _make_keys(where: device, plain: bool, wrapped: bool, bits: int) -> dict[Any, DispatchKey]:
    backend = backend_of(where)
    fast = plain and not wrapped and not bits
    siblings = {} if fast else keys_on(where)
    with _lock:
        if (where, plain, wrapped, bits) in _keys:
            return _keys[where, plain, wrapped, bits]
        slot = _slots.setdefault(where, len(_slots))
        make_room((slot + 1) * DTYPES_PER_DEVICE)
        keys: dict[Any, DispatchKey] = {}
        for number, element in enumerate(STORABLE):
            index = slot * DTYPES_PER_DEVICE + number
            keys[element.numpy] = DispatchKey(
                element,
                where,
                fast,
                index,
                backend.array_type,
                backend.asarray,
                keys if fast else siblings,
                adding(keys, element) if element.is_half else backend.on_device(backend.xp.add, where.index),
                wrapped,
                bits,
                not plain,
            )
            state.known_keys.append(keys[element.numpy])
        intercept(0)
        _keys[where, plain, wrapped, bits] = keys
    if not plain:
        for listener in override_listeners:
            listener()
    return keys


state.key_of = key_of
