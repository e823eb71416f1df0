"""Intel's graphics processors by PyTorch's names, for programs that ask: a plugin must bring the device ``xpu``.

Examples
--------
>>> device = "xpu" if weft.xpu.is_available() else "cpu"
"""

from weft._devices.device_functions import DeviceFunctions

__all__ = ["current_device", "device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]

_functions = DeviceFunctions("xpu")
is_available = _functions.is_available
device_count = _functions.device_count
current_device = _functions.current_device
synchronize = _functions.synchronize
empty_cache = _functions.empty_cache
manual_seed = _functions.manual_seed
