"""The CPU backend: kernels on NumPy, prebuilt loops, and with the extras oneDNN and Numba.

- `blas`, `im2col`, `memory`, `namespace`, `threads`, `transpose`: what NumPy lacks, always there.
- `onednn`: Intel's library of matrix products, convolutions, normalizations and recurrent layers, through its C API.
- `compiled`: loops in Python, prebuilt or compiled by Numba when they are first needed.
- `registry`: where the kernels of both register; `kernel_table`, made from that: what there is, without an import.
- `libraries`: which kernel an op gets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft import dtype
from weft.backend import ArrayNamespaceBackend, Backend, KernelCall, import_scientific, small_arrays
from weft.backend_cpu import blas, im2col, libraries, threads
from weft.backend_cpu.memory import is_poisoned, keep_freed_memory
from weft.backend_cpu.namespace import direct_numpy
from weft.backend_cpu.transpose import contiguous_copy
from weft.plugins import hookimpl

NUMPY_KERNELS: dict[str, Any] = {
    "core::contiguous_copy": contiguous_copy,
    "core::addmm": blas.addmm,
    "core::int_mm": blas.wide_product,
    "core::matmul": blas.matmul,
    "nn::linear": blas.linear,
}
# Kernels of small arrays, each made for the kernel that takes the others.
SMALL_ARRAYS: dict[str, Any] = {
    "core::cat": small_arrays.Joining,
    "core::log_softmax": small_arrays.log_softmax,
    "core::matmul": small_arrays.multiplying,
    "core::softmax": small_arrays.softmax,
    "core::stack": small_arrays.Stacking,
    "core::sum": small_arrays.summing,
    "nn::attention": small_arrays.attention,
    "nn::conv1d": im2col.convolving,
    "nn::conv2d": im2col.convolving,
    "nn::conv3d": im2col.convolving,
    "nn::layer_norm": small_arrays.layer_norm,
    "nn::rms_norm": small_arrays.rms_norm,
}


class CPUBackend(ArrayNamespaceBackend):
    """The CPU by NumPy, and by the libraries that are installed; the memory of freed arrays stays in the process."""

    def __init__(self) -> None:
        super().__init__("cpu", direct_numpy())
        self.keeps_memory = keep_freed_memory()
        if is_poisoned():
            from weft.backend_cpu import poison

            poison.fill_new_memory()

    def kernel(self, name: str, element: dtype, generic: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """A library's kernel where one is installed and has one for the op and dtype; else NumPy's."""
        replaced = self.kernels.get(name)
        if replaced is not None:
            return replaced
        own = NUMPY_KERNELS.get(name, generic)
        found = libraries.kernel(name, element, own) or own
        small = SMALL_ARRAYS.get(name)
        return found if small is None else small(found)

    def half_kernel(self, name: str, element: dtype, generic: Callable[..., Any]) -> Callable[..., Any]:
        """A library's kernel where one is installed and computes the op in half precision itself."""
        return generic if name in self.kernels else libraries.kernel(name, element, generic) or generic

    def fused_kernel(
        self, calls: Sequence[KernelCall], inputs: Sequence[Any], generic: Callable[..., Any], runs: int
    ) -> Callable[..., Any] | str:
        """One compiled loop, where Numba is installed and the calls have taken as long as it takes to compile."""
        if any(each.name in self.kernels for each in calls):
            return "one of them has a kernel of its own"
        return libraries.fused_kernel(calls, inputs, generic, runs)

    def num_threads(self) -> int:
        """How many threads the kernels use."""
        return threads.count()

    def set_num_threads(self, num: int) -> None:
        """Set how many threads NumPy's BLAS and the libraries use."""
        threads.set_count(num)

    def describe(self) -> dict[str, str]:
        """The libraries in use, and the number of ops that each has a kernel for."""
        return super().describe() | libraries.describe()

    def compiled_kernels(self) -> int:
        """How many kernels Numba keeps on disk."""
        return libraries.compiled_kernels()

    def compile_at_once(self) -> None:
        """Compile each kernel when it is first called."""
        libraries.compile_at_once()

    def random_stream(self, seed: int, index: int | None) -> Any:
        """The stream with PyTorch's numbers, in compiled loops where Numba is installed."""
        if not libraries.has_loops():
            return super().random_stream(seed, index)
        from weft.backend_cpu.generator import CompiledStream

        return CompiledStream(seed)

    def scientific(self, module: str) -> Any:
        """SciPy's module of this name: the extra ``[scientific]``."""
        return import_scientific(f"scipy.{module}", "weft-backend-cpu[scientific]")


@hookimpl
def weft_backend(device: str) -> Backend | None:
    """The backend of the device ``cpu``."""
    return CPUBackend() if device == "cpu" else None
