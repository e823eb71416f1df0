"""Without CuPy, a driver or a GPU everything imports, and what is asked for says which of them is missing."""

import sys
import types

import pytest

import weft
from weft.backend_cuda import weft_backend
from weft.backend_cuda.availability import why_not


class CUDARuntimeError(RuntimeError):
    """CuPy's class of this name."""


def module(count):
    """A CuPy whose runtime counts this many devices, or raises."""

    def device_count():
        if isinstance(count, Exception):
            raise count
        return count

    cupy = types.ModuleType("cupy")
    cupy.__version__ = "14.2.0"
    runtime = types.SimpleNamespace(getDeviceCount=device_count, CUDARuntimeError=CUDARuntimeError)
    cupy.cuda = types.SimpleNamespace(runtime=runtime)
    return cupy


@pytest.fixture
def reason(monkeypatch):
    """Why there is no GPU, with this module in CuPy's place."""

    def ask(cupy):
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        why_not.cache_clear()
        return why_not()

    yield ask
    why_not.cache_clear()


def test_without_cupy_the_reason_names_the_command(reason):
    assert 'pip install "weft-backend-cuda[cupy]"' in reason(None)


def test_without_a_driver_the_reason_is_what_cuda_said(reason):
    assert "cudaErrorNoDevice" in reason(module(CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device")))


def test_without_a_device_the_reason_says_so(reason):
    assert "no CUDA device" in reason(module(0))


def test_with_a_device_there_is_no_reason(reason):
    assert reason(module(2)) == ""


def test_the_hook_raises_the_reason_and_serves_no_other_device(reason):
    reason(None)
    with pytest.raises(RuntimeError, match="cupy-cuda12"):
        weft_backend("cuda")
    assert weft_backend("cpu") is None


@pytest.mark.skipif(why_not() == "", reason="there is a GPU here")
def test_where_there_is_no_gpu_asking_is_no_error_and_using_one_is():
    assert not weft.cuda.is_available()
    assert weft.cuda.device_count() == 0
    weft.cuda.manual_seed_all(0)
    for use in (lambda: weft.ones(2, device="cuda"), weft.cuda.synchronize, weft.ones(2).cuda):
        with pytest.raises(RuntimeError, match=r"cuda.*CuPy"):
            use()
