"""autocast: a block in which each op chooses its precision, as its declaration says (``precision=``)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from weft._devices.devices import device
from weft._dtypes.dtypes import bfloat16, dtype, float16
from weft._engine.tensor import TensorBase, intercept, local
from weft._interception.autocast import Precision

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

DEFAULTS = {"cuda": float16}


def device_name(name: str, given: Any) -> str:
    """The type of a device.

    Raises
    ------
    ValueError
        If it is no string.
    """
    if not isinstance(given, str):
        raise ValueError(f"{name}: Expected `device_type` of type `str`, got: `{type(given)}`")
    found: str = device(given).type
    return found


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast serves a type of device: all that there are."""
    try:
        device_name("is_autocast_available", device_type)
    except RuntimeError:
        return False
    return True


def default_dtype(device_type: str) -> dtype:
    """The half type of a device, unless one was set."""
    chosen: Any = local.autocast_dtypes.get(device_type, DEFAULTS.get(device_type, bfloat16))
    found: dtype = chosen
    return found


class autocast:
    """Context manager or decorator: matrix products and convolutions compute in a half type, losses in float32.

    Parameters
    ----------
    device_type : str
        ``"cpu"`` or ``"cuda"``: which tensors it is about.
    dtype : dtype, optional
        bfloat16 or float16; default: bfloat16 on the CPU, float16 on CUDA.
    enabled : bool
        False: inside of it precision is left alone.
    cache_enabled : bool, optional
        Keep the half of each parameter until the outermost block ends, since it is used more than once.

    Notes
    -----
    Run the forward pass and the loss inside, backward outside of it. float64 is left alone.

    Examples
    --------
    >>> with weft.autocast("cpu"):
    ...     product = weft.ones(2, 2) @ weft.ones(2, 2)
    >>> product.dtype
    weft.bfloat16
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        self.device = device_name("autocast", device_type)
        self.fast_dtype = default_dtype(self.device) if dtype is None else dtype
        if enabled and self.fast_dtype not in (bfloat16, float16):
            warnings.warn(
                f"autocast: In {self.device.upper()} autocast, but the target dtype is not supported. Disabling "
                f"autocast: it only supports dtypes of weft.bfloat16, weft.float16, not {self.fast_dtype}.",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._cache_enabled = cache_enabled
        self._before: list[Any] = []

    def __enter__(self) -> autocast:
        outer = local.precision
        self._before.append(outer)
        dtypes = {} if outer is None else dict(outer.dtypes)
        dtypes[self.device] = self.fast_dtype if self._enabled else None
        cache: dict[Any, Any] | None = {} if outer is None or outer.cache is None else outer.cache
        local.precision = Precision(dtypes, None if self._cache_enabled is False else cache)
        intercept(1)
        return self

    def __exit__(self, *exc: object) -> None:
        local.precision = self._before.pop()
        intercept(-1)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapped


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether an `autocast` for a type of device is active."""
    return local.precision is not None and local.precision.dtypes.get(device_type) is not None


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast on or off for a type of device, in this thread: until it is set again, or a block around it ends.

    Parameters
    ----------
    device_type : str
        May be left out, for ``"cuda"``.
    enabled : bool

    Examples
    --------
    >>> weft.set_autocast_enabled("cpu", True)
    >>> (weft.ones(2, 2) @ weft.ones(2, 2)).dtype
    weft.bfloat16
    >>> weft.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type
    name = device_name("set_autocast_enabled", device_type)
    before = local.precision
    dtypes = {} if before is None else dict(before.dtypes)
    dtypes[name] = default_dtype(name) if enabled else None
    was_set = before is None or before.is_set
    if was_set and set(dtypes.values()) == {None}:
        local.precision = None
    else:
        local.precision = Precision(dtypes, {} if before is None else before.cache, is_set=was_set)
    intercept(int(local.precision is not None) - int(before is not None))


def get_autocast_dtype(device_type: str) -> dtype:
    """The half type that `autocast` uses on a type of device."""
    name = device_name("get_autocast_dtype", device_type)
    chosen = None if local.precision is None else local.precision.dtypes.get(name)
    return default_dtype(name) if chosen is None else chosen


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the half type that `autocast` uses on a type of device, where it is not told another.

    Parameters
    ----------
    device_type : str
    dtype : dtype

    Examples
    --------
    >>> before = weft.get_autocast_dtype("cpu")
    >>> weft.set_autocast_dtype("cpu", weft.float16)
    >>> with weft.autocast("cpu"):
    ...     (weft.ones(2, 2) @ weft.ones(2, 2)).dtype
    weft.float16
    >>> weft.set_autocast_dtype("cpu", before)
    """
    local.autocast_dtypes = {**local.autocast_dtypes, device_name("set_autocast_dtype", device_type): dtype}


# The older names, for one type of device each.


def is_autocast_cpu_enabled() -> bool:
    """`is_autocast_enabled` for the CPU."""
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype() -> dtype:
    """`get_autocast_dtype` for the CPU."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> dtype:
    """`get_autocast_dtype` for CUDA."""
    return get_autocast_dtype("cuda")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """`set_autocast_dtype` for the CPU."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """`set_autocast_dtype` for CUDA."""
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether halves of parameters are kept."""
    return local.precision is None or local.precision.cache is not None


def clear_autocast_cache() -> None:
    """Forget the halves of parameters: after these were written to inside of a block."""
    if local.precision is not None and local.precision.cache is not None:
        local.precision.cache.clear()


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """Decorator for ``forward`` of a custom Function: its precision, also inside of an `autocast`.

    Parameters
    ----------
    device_type : str
    cast_inputs : dtype, optional
        Inside of an autocast, floating tensors are converted to it, and forward runs without autocast. Default: forward
        runs as it is called.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        ctx._autocast_dtype = get_autocast_dtype(device_type)
        ctx._uses_autocast = is_autocast_enabled(device_type) and cast_inputs is None
        if cast_inputs is None or not is_autocast_enabled(device_type):
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *[in_dtype(each, device_type, cast_inputs) for each in args[1:]], **kwargs)

    return forward


def in_dtype(value: Any, device_type: str, wanted: Any) -> Any:
    """Floating tensors of a device (in containers too) in another dtype."""
    if isinstance(value, TensorBase):
        tensor: Any = value
        eligible = (
            tensor._key.is_real_float and tensor._key.dtype.name != "float64" and tensor.device.type == device_type
        )
        return tensor.to(wanted) if eligible else tensor
    if isinstance(value, (tuple, list)):
        return type(value)(in_dtype(each, device_type, wanted) for each in value)
    if isinstance(value, dict):
        return {key: in_dtype(each, device_type, wanted) for key, each in value.items()}
    return value


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """Decorator for ``backward`` of a custom Function: it runs in the precision that forward ran in."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, enabled=ctx._uses_autocast, dtype=ctx._autocast_dtype):
            return bwd(*args, **kwargs)

    return backward
