"""What NVIDIA's management library tells of a device: load, temperature, power, and who uses it."""

from __future__ import annotations

import importlib
from typing import Any

from weft.cuda._devices import backend, number_of

__all__ = [
    "clock_rate",
    "device_memory_used",
    "list_gpu_processes",
    "memory_usage",
    "power_draw",
    "temperature",
    "utilization",
]


def library() -> Any:
    """The library's module, ready to be asked.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed.
    RuntimeError
        If there is no driver.
    """
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError as error:
        raise ModuleNotFoundError(
            "nvidia-ml-py does not seem to be installed or it can't be imported: pip install nvidia-ml-py"
        ) from error
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise RuntimeError(f"cuda: NVIDIA's driver can't be loaded; is it installed and running? ({error})") from error
    return nvml


def handle_of(nvml: Any, device: Any) -> Any:
    """The library's handle of a device, found by its place on the bus: the library numbers devices in its own way."""
    place = backend().device_properties(number_of(device))
    name = f"{place.pci_domain_id:08X}:{place.pci_bus_id:02X}:{place.pci_device_id:02X}.0"
    return nvml.nvmlDeviceGetHandleByPciBusId(name)


def utilization(device: Any = None) -> int:
    """The percent of the past second or so in which the device ran kernels."""
    nvml = library()
    return int(nvml.nvmlDeviceGetUtilizationRates(handle_of(nvml, device)).gpu)


def memory_usage(device: Any = None) -> int:
    """The percent of the past second or so in which the device's memory was read or written."""
    nvml = library()
    return int(nvml.nvmlDeviceGetUtilizationRates(handle_of(nvml, device)).memory)


def device_memory_used(device: Any = None) -> int:
    """The bytes of a device's memory that all processes use."""
    nvml = library()
    return int(nvml.nvmlDeviceGetMemoryInfo(handle_of(nvml, device)).used)


def temperature(device: Any = None) -> int:
    """The temperature of a device in degrees Celsius."""
    nvml = library()
    return int(nvml.nvmlDeviceGetTemperature(handle_of(nvml, device), nvml.NVML_TEMPERATURE_GPU))


def power_draw(device: Any = None) -> int:
    """The power that a device draws, in milliwatts."""
    nvml = library()
    return int(nvml.nvmlDeviceGetPowerUsage(handle_of(nvml, device)))


def clock_rate(device: Any = None) -> int:
    """The clock of a device's processors, in megahertz."""
    nvml = library()
    return int(nvml.nvmlDeviceGetClockInfo(handle_of(nvml, device), nvml.NVML_CLOCK_SM))


def list_gpu_processes(device: Any = None) -> str:
    """The processes that use a device, and their memory, for people to read."""
    try:
        nvml = library()
    except ModuleNotFoundError:
        return "pynvml module not found, please install nvidia-ml-py"
    except RuntimeError:
        return "cuda driver can't be loaded, is cuda enabled?"
    found = nvml.nvmlDeviceGetComputeRunningProcesses(handle_of(nvml, device))
    lines = [f"GPU:{number_of(device)}"]
    for each in found:
        used = "unknown" if each.usedGpuMemory is None else f"{each.usedGpuMemory / 2**20:>12.3f} MB GPU memory"
        lines.append(f"process {each.pid:>10d} uses {used}")
    return "\n".join(lines if found else [*lines, "no processes are running"])
