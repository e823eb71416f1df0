"""What devices are, by PyTorch's names."""

import importlib.util
import sys
import types

import pytest

import weft
from weft.plugins import backend

FIELDS = """name major minor total_memory multi_processor_count is_integrated is_multi_gpu_board
max_threads_per_multi_processor max_threads_per_block warp_size regs_per_multiprocessor shared_memory_per_block
shared_memory_per_block_optin shared_memory_per_multiprocessor L2_cache_size clock_rate memory_clock_rate
memory_bus_width pci_bus_id pci_device_id pci_domain_id uuid gcnArchName""".split()


def test_properties_have_pytorchs_fields():
    found = weft.cuda.get_device_properties()
    assert all(hasattr(found, name) for name in FIELDS)
    assert found.warp_size == 32 and found.total_memory == weft.cuda.mem_get_info()[1]
    assert repr(found).startswith("_CudaDeviceProperties(name=")
    assert weft.cuda.get_device_name("cuda:0") == found.name
    assert weft.cuda.get_device_capability(weft.device("cuda")) == (found.major, found.minor)
    assert weft.cuda.get_device_properties("cuda:0") is weft.cuda.get_device_properties(0)


def test_kernels_can_be_compiled_for_the_device():
    major, minor = weft.cuda.get_device_capability()
    assert f"sm_{major}{minor}" in weft.cuda.get_arch_list()
    assert f"code=sm_{major}{minor}" in weft.cuda.get_gencode_flags()
    assert weft.cuda.is_tf32_supported() == (major >= 8)


def test_the_device_of_a_tensor_is_meant_in_a_block():
    last = weft.cuda.device_count() - 1
    x = weft.ones(1, device=f"cuda:{last}")
    with weft.cuda.device_of(x):
        assert weft.cuda.current_device() == last
    with weft.cuda.device_of(weft.ones(1)), weft.cuda.device(-1), weft.cuda.device(None):
        assert weft.cuda.current_device() == 0


def test_the_doctor_shows_driver_libraries_and_capability():
    found = backend("cuda").describe()
    assert found["driver"].startswith("for CUDA ") and found["runtime"].startswith("CUDA ")
    assert "compute capability" in found["cuda:0"] and "GiB" in found["cuda:0"]
    shown = found["libraries"] + found.get("missing", "")
    for name in ("cuBLAS", "cuSOLVER", "cuSPARSE", "cuFFT", "cuRAND", "NVRTC"):
        assert name in shown


def test_missing_libraries_come_with_the_command(monkeypatch):
    def load(name):
        if name == "cublas":
            raise RuntimeError("not found")

    monkeypatch.setitem(sys.modules, "cuda.pathfinder", types.SimpleNamespace(load_nvidia_dynamic_lib=load))
    found = backend("cuda").describe()
    assert found["missing"] == 'cuBLAS: pip install "weft-backend-cuda[cupy]" brings them all'
    assert "cuBLAS" not in found["libraries"] and "NVRTC" in found["libraries"]


class Management:
    """The management library, of a device at one place."""

    NVMLError = RuntimeError
    NVML_TEMPERATURE_GPU = NVML_CLOCK_SM = 0

    def __getattr__(self, name):
        return lambda *args: types.SimpleNamespace(gpu=7, memory=8, used=9)

    def nvmlDeviceGetHandleByPciBusId(self, place):
        self.place = place

    def nvmlDeviceGetTemperature(self, handle, which):
        return 40

    def nvmlDeviceGetComputeRunningProcesses(self, handle):
        return [types.SimpleNamespace(pid=12, usedGpuMemory=1 << 20)]


def test_the_management_library_is_asked_for_the_device_by_its_place(monkeypatch):
    library = Management()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert weft.cuda.utilization() == 7 and weft.cuda.memory_usage() == 8 and weft.cuda.device_memory_used() == 9
    assert weft.cuda.temperature() == 40
    place = weft.cuda.get_device_properties()
    assert library.place == f"{place.pci_domain_id:08X}:{place.pci_bus_id:02X}:{place.pci_device_id:02X}.0"
    assert "process         12 uses        1.000 MB" in weft.cuda.list_gpu_processes()


@pytest.mark.skipif(importlib.util.find_spec("pynvml") is not None, reason="nvidia-ml-py is installed")
def test_without_the_management_library_the_error_names_it():
    with pytest.raises(ModuleNotFoundError, match="nvidia-ml-py"):
        weft.cuda.utilization()


def test_accelerators_names_are_the_devices():
    assert weft.accelerator.current_accelerator() == weft.device("cuda")
    assert weft.accelerator.current_stream() == weft.cuda.current_stream()
    stream = weft.Stream()
    assert stream.device.type == "cuda"
    weft.accelerator.set_stream(stream)
    try:
        assert weft.cuda.current_stream() == stream
    finally:
        weft.cuda.set_stream(weft.cuda.default_stream())
    assert weft.Event().device is None
    assert weft.cuda.default_generators[0].device == weft.device("cuda:0")
    assert weft.cuda.random.initial_seed() == weft.cuda.initial_seed()
    assert weft.cuda.get_allocator_backend() == "native" and not weft.cuda.is_current_stream_capturing()


def test_older_types_of_storages_are_on_the_device():
    made = weft.cuda.FloatStorage([1.0, 2.0])
    assert made.device == weft.device("cuda:0") and made.tolist() == [1.0, 2.0]
    assert isinstance(made, weft.cuda.FloatStorage) and not isinstance(made, weft.FloatStorage)
    assert not isinstance(made.cpu(), weft.cuda.FloatStorage)


def test_libraries_have_handles():
    assert weft.cuda.current_blas_handle() > 0 and weft.cuda.current_solver_handle() > 0


def test_ranges_are_marked_for_profilers():
    nvtx = weft.cuda.nvtx
    assert nvtx.range_push("outer") == 0 and nvtx.range_push("inner") == 1
    assert nvtx.range_pop() == 1 and nvtx.range_pop() == 0
    nvtx.range_end(nvtx.range_start("by itself"))
    nvtx.mark("moment")


@pytest.mark.usefixtures("on_stand_in")
def test_a_block_is_marked_also_if_it_raises():
    import cupy_stand_in

    with cupy_stand_in.record() as log, pytest.raises(ValueError), weft.cuda.nvtx.range("step {}", 3):
        raise ValueError
    assert [event.what for event in log if event.kind == "mark"] == ["push step 3", "pop"]
