"""CUDABackend: on a GPU the suite of every backend; anywhere, its wiring on NumPy in CuPy's place."""

import subprocess
import sys
from pathlib import Path

import pytest

from weft.backend_cuda.availability import why_not
from weft.testing import BackendSuite


@pytest.mark.gpu
@pytest.mark.skipif(bool(why_not()), reason=f"needs a CUDA device: {why_not()}")
class TestCUDA(BackendSuite):
    device = "cuda"


def run(code):
    """What a program prints in a process where NumPy stands in for CuPy."""
    setup = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    setup += "import numpy_in_place_of_cupy as cupy; cupy.install(); import weft\n"
    result = subprocess.run([sys.executable, "-c", setup + code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip().splitlines()


def test_tensors_compute_and_differentiate_on_their_device():
    lines = run("""
x = weft.tensor([1.0, 2.0], device="cuda", requires_grad=True)
y = (x * x + 1).exp().sum()
y.backward()
print(type(x._array).__name__, x.device, y.device, x.grad.device)
expected = weft.tensor([2 * 1, 2 * 2]) * weft.tensor([2.0, 5.0]).exp()  # the CPU's kernels may round otherwise
print(weft.allclose(x.grad.cpu(), expected, rtol=1e-6))
""")
    assert lines == ["ndarray cuda:0 cuda:0 cuda:0", "True"]


def test_copies_go_both_ways_and_gradients_come_back():
    lines = run("""
x = weft.ones(3, requires_grad=True)
y = x.to("cuda:1") * 2
print(y.device, y._array.made_on, type(y._array).__module__)
y.cpu().sum().backward()
print(x.grad.tolist(), x.grad.device.type, type(x.grad._array).__module__)
""")
    assert lines == ["cuda:1 1 numpy_in_place_of_cupy", "[2.0, 2.0, 2.0] cpu numpy"]


def test_the_current_device_is_what_cuda_means():
    lines = run("""
print(weft.cuda.is_available(), weft.cuda.device_count(), weft.cuda.current_device(), weft.cuda.get_device_name(1))
with weft.cuda.device(1):
    print(weft.zeros(1, device="cuda").device)
weft.cuda.synchronize(1)
print(cupy.synchronized, weft.cuda.current_device())
""")
    assert lines == ["True 2 0 Stand-in 1", "cuda:1", "[1] 0"]


def test_tensors_of_two_devices_do_not_mix():
    (line,) = run("""
try:
    weft.ones(2, device="cuda:0") + weft.ones(2)
except RuntimeError as error:
    print(error)
""")
    assert "same device" in line
    assert "cuda:0" in line
    assert "cpu" in line


def test_numpy_takes_no_tensor_of_a_gpu():
    (line,) = run("""
try:
    weft.ones(2, device="cuda").numpy()
except TypeError as error:
    print(error)
""")
    assert "cpu()" in line
