"""Errors of the device's own, and CUDA in forked processes."""

import multiprocessing

import cupy
import pytest

import weft
from weft.backend_cuda.errors import meant_by
from weft.plugins import backend

ILLEGAL_ADDRESS = 700


def test_an_error_of_cuda_names_how_to_find_its_place():
    found = meant_by(cupy.cuda.runtime.CUDARuntimeError(ILLEGAL_ADDRESS))
    assert isinstance(found, weft.AcceleratorError) and found.error_code == ILLEGAL_ADDRESS
    assert "cudaErrorIllegalAddress" in str(found) and "CUDA_LAUNCH_BLOCKING=1" in str(found)
    assert meant_by(ValueError("of another kind")) is None


def fails(*args, **options):
    raise cupy.cuda.runtime.CUDARuntimeError(ILLEGAL_ADDRESS)


def test_an_error_of_an_earlier_kernel_comes_out_of_an_op(monkeypatch):
    x = weft.ones(3, device="cuda")
    monkeypatch.setitem(backend("cuda").kernels, "core::erfinv", fails)
    weft.backend.invalidate_kernels()
    with pytest.raises(weft.AcceleratorError, match="CUDA_LAUNCH_BLOCKING"):
        x.erfinv()
    monkeypatch.undo()
    weft.backend.invalidate_kernels()
    assert x.erfinv().isinf().all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: weft.cuda.set_device(99),
        lambda: weft.ones(1, device="cuda:99"),
        lambda: weft.ones(1).to("cuda:99"),
        lambda: weft.cuda.get_device_properties(99),
        lambda: weft.cuda.mem_get_info(99),
        lambda: weft.cuda.Stream("cuda:99"),
    ],
)
def test_a_device_that_is_not_there_is_an_error(call):
    with pytest.raises(RuntimeError, match=r"invalid device ordinal|no cuda:99"):
        call()
    assert weft.cuda.current_device() == 0


def test_the_runtimes_own_names():
    cudart = weft.cuda.cudart()
    assert cudart.cudaProfilerStart() == cudart.cudaError.success == cudart.cudaProfilerStop()
    assert cudart.cudaMemGetInfo(0) == weft.cuda.mem_get_info(0)
    with weft.cuda.profiler.profile():
        weft.cuda.check_error(0)
    with pytest.raises(weft.cuda.CudaError, match="invalid device ordinal"):
        weft.cuda.check_error(101)


def asked_in_child(queue, x):
    """What a forked process is told of each use of CUDA, and whether its CPU works."""
    told = []
    for use in (
        lambda: weft.ones(2, device="cuda"),
        lambda: weft.ones(2).cuda(),
        lambda: x + 1,
        lambda: x.tolist(),
        lambda: x.add_(1),
        weft.cuda.synchronize,
        weft.cuda.current_stream,
        weft.cuda.init,
    ):
        try:
            use()
            told.append("nothing")
        except Exception as error:
            told.append(f"{type(error).__name__}: {error}")
    asked = weft.cuda.is_available(), weft.cuda.is_initialized(), weft._C._cuda_isInBadFork()
    queue.put((told, weft.ones(2).add(1).tolist(), *asked))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs processes that fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_is_told_the_remedy():
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=asked_in_child, args=(queue, weft.ones(2, device="cuda")))
    child.start()
    told, on_cpu, available, initialized, in_bad_fork = queue.get()
    child.join()
    for each in told:
        assert each.startswith("RuntimeError: ") and "Cannot re-initialize CUDA in forked subprocess" in each
        assert "'spawn'" in each
    assert on_cpu == [2.0, 2.0] and not available and not initialized and in_bad_fork
    assert not weft._C._cuda_isInBadFork()
    assert weft.cuda.is_initialized() and weft.ones(2, device="cuda").sum().item() == 2


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs processes that fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_workers_of_a_loader_may_fork_after_cuda_was_used():
    from weft.utils.data import DataLoader, TensorDataset

    weft.randn(2, device="cuda")
    data = TensorDataset(weft.arange(8.0))
    loader = DataLoader(data, batch_size=4, num_workers=2, multiprocessing_context="fork", pin_memory=True)
    sums = [batch.cuda(non_blocking=True).sum().item() for (batch,) in loader]
    assert sums == [6.0, 22.0]


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("make", ["zeros", "empty", "tensor", "cuda", "to", "full_like", "copy"])
def test_dtypes_that_cupy_has_not_are_refused_with_a_remedy(make, name):
    dtype = getattr(weft, name)
    makers = {
        "zeros": lambda: weft.zeros(3, dtype=dtype, device="cuda"),
        "empty": lambda: weft.empty(3, dtype=dtype, device="cuda"),
        "tensor": lambda: weft.tensor([1.0, 2.0], dtype=dtype, device="cuda"),
        "cuda": lambda: weft.ones(3).to(dtype).cuda(),
        "to": lambda: weft.ones(3, device="cuda").to(dtype),
        "full_like": lambda: weft.full_like(weft.ones(3, device="cuda"), 2, dtype=dtype),
        "copy": lambda: weft.ones(3, device="cuda").type(dtype),
    }
    with pytest.raises(NotImplementedError, match=rf"{name}.*bfloat16"):
        makers[make]()
