"""The device context of functions that are decorated with it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft._devices.devices import device as device_of

__all__ = ["set_device"]


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: what the function makes is on this device, unless it says otherwise.

    Examples
    --------
    >>> from weft.utils._device import set_device
    >>> set_device("meta")(weft.empty)(3).device
    device(type='meta')
    """

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with device_of(device):
                return function(*args, **kwargs)

        return inside

    return decorated
