"""What CUDA devices are, and which of NVIDIA's libraries are there."""

from __future__ import annotations

import importlib
import uuid
from dataclasses import dataclass
from typing import Any

import cupy

from weft.backend import Backend
from weft.backend_cuda.errors import reported

LIBRARIES = {"cuBLAS": "cublas", "cuSOLVER": "cusolver", "cuSPARSE": "cusparse", "cuFFT": "cufft", "cuRAND": "curand"}
LIBRARIES |= {"NVRTC": "nvrtc"}
INSTALL = 'pip install "weft-backend-cuda[cupy]" brings them all'


@dataclass(frozen=True)
class DeviceProperties:
    """A device's properties by PyTorch's names; sizes in bytes, rates in kHz."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    is_integrated: bool
    is_multi_gpu_board: bool
    max_threads_per_multi_processor: int
    max_threads_per_block: int
    warp_size: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    L2_cache_size: int
    clock_rate: int
    memory_clock_rate: int
    memory_bus_width: int
    pci_domain_id: int
    pci_bus_id: int
    pci_device_id: int
    uuid: Any
    gcnArchName: str  # PyTorch's, of AMD's devices; the name on others

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


COUNTS = {  # PyTorch's name of a number, and CUDA's
    "major": "major",
    "minor": "minor",
    "total_memory": "totalGlobalMem",
    "multi_processor_count": "multiProcessorCount",
    "max_threads_per_multi_processor": "maxThreadsPerMultiProcessor",
    "max_threads_per_block": "maxThreadsPerBlock",
    "warp_size": "warpSize",
    "regs_per_multiprocessor": "regsPerMultiprocessor",
    "shared_memory_per_block": "sharedMemPerBlock",
    "shared_memory_per_block_optin": "sharedMemPerBlockOptin",
    "shared_memory_per_multiprocessor": "sharedMemPerMultiprocessor",
    "L2_cache_size": "l2CacheSize",
    "clock_rate": "clockRate",
    "memory_clock_rate": "memoryClockRate",
    "memory_bus_width": "memoryBusWidth",
    "pci_domain_id": "pciDomainID",
    "pci_bus_id": "pciBusID",
    "pci_device_id": "pciDeviceID",
}


@reported
def properties(index: int) -> DeviceProperties:
    """The properties of a device, asked of the runtime."""
    found = cupy.cuda.runtime.getDeviceProperties(index)
    name = found["name"].decode()
    return DeviceProperties(
        name=name,
        is_integrated=bool(found.get("integrated", 0)),
        is_multi_gpu_board=bool(found.get("isMultiGpuBoard", 0)),
        uuid=uuid.UUID(bytes=bytes(found["uuid"])[:16]),
        gcnArchName=name,
        **{ours: int(found.get(theirs, 0)) for ours, theirs in COUNTS.items()},
    )


class DeviceFunctions(Backend):
    """What a backend owes of its devices."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._properties: dict[int, DeviceProperties] = {}
        self._count = int(cupy.cuda.runtime.getDeviceCount())

    def device_count(self) -> int:
        return self._count

    @reported
    def current_device(self) -> int:
        return int(cupy.cuda.runtime.getDevice())

    @reported
    def set_device(self, index: int) -> None:
        cupy.cuda.runtime.setDevice(index)

    def device_properties(self, index: int) -> DeviceProperties:
        if index not in self._properties:
            if not 0 <= index < self.device_count():
                raise RuntimeError(f"get_device_properties: there is no cuda:{index}; found {self.device_count()}")
            self._properties[index] = properties(index)
        return self._properties[index]

    def device_name(self, index: int | None = None) -> str:
        return self.device_properties(self.current_device() if index is None else index).name

    @reported
    def can_access_peer(self, index: int, peer: int) -> bool:
        return bool(cupy.cuda.runtime.deviceCanAccessPeer(index, peer))

    @reported
    def synchronize(self, index: int | None = None) -> None:
        cupy.cuda.Device(index).synchronize()

    def architectures(self) -> list[str]:
        """What kernels can be compiled for, ``"sm_90"`` and its like."""
        return [f"sm_{each}" for each in cupy.cuda.nvrtc.getSupportedArchs()]

    def describe(self) -> dict[str, str]:
        runtime = cupy.cuda.runtime
        found = {
            "arrays": f"cupy {cupy.__version__}",
            "driver": f"for CUDA {version(runtime.driverGetVersion())}",
            "runtime": f"CUDA {version(runtime.runtimeGetVersion())}",
        }
        for index in range(self.device_count()):
            each = self.device_properties(index)
            found[f"cuda:{index}"] = (
                f"{each.name}, compute capability {each.major}.{each.minor}, {each.total_memory / 2**30:.1f} GiB"
            )
        there = {name: is_found(module) for name, module in LIBRARIES.items()}
        found["libraries"] = ", ".join(name for name, is_there in there.items() if is_there) or "none"
        missing = [name for name, is_there in there.items() if not is_there]
        return found | ({"missing": f"{', '.join(missing)}: {INSTALL}"} if missing else {})


def version(number: int) -> str:
    """A version as CUDA writes it in one number."""
    return f"{number // 1000}.{number % 1000 // 10}"


def is_found(name: str) -> bool:
    """Whether one of NVIDIA's libraries can be loaded, by the finder that CuPy loads it with."""
    try:
        importlib.import_module("cuda.pathfinder").load_nvidia_dynamic_lib(name)
    except (ImportError, RuntimeError):
        return False
    return True
