"""Copies between the host and CUDA devices, and between devices; page-locked memory."""

from __future__ import annotations

from typing import Any

import cupy
import numpy

from weft.backend import Backend
from weft.backend_cuda.errors import reported
from weft.backend_cuda.memory import MemoryFunctions
from weft.backend_cuda.streams import Streams, mark


class Transfers(MemoryFunctions, Streams, Backend):
    """What a backend owes of copies.

    The device copies page-locked memory by itself, while the program goes on; CuPy keeps the source alive until then.
    Other memory CuPy copies to a page-locked buffer first, so that the program may write to it at once.
    """

    @reported
    def from_numpy(self, array: numpy.ndarray[Any, Any], index: int | None) -> Any:
        with self.guard(index):
            return cupy.asarray(array, blocking=self.is_pinned(array))

    @reported
    def copy_from_host(self, array: numpy.ndarray[Any, Any], index: int | None, non_blocking: bool) -> Any:
        with self.guard(index):
            return cupy.asarray(array, blocking=not non_blocking and self.is_pinned(array))

    @reported
    def to_numpy(self, array: Any) -> numpy.ndarray[Any, Any]:
        found: numpy.ndarray[Any, Any] = cupy.asnumpy(array)
        return found

    @reported
    def copy_to_host(self, array: Any, non_blocking: bool) -> numpy.ndarray[Any, Any]:
        if not non_blocking or not array.size:
            return self.to_numpy(array)
        index = array.device.id
        with cupy.cuda.Device(index):
            target = self.empty_pinned(array.shape, array.dtype)
            array.get(out=target, blocking=False)
            self.allocator.keep(target, [self.current_stream(index)])
        return target

    @reported
    def copy_into_host(self, target: numpy.ndarray[Any, Any], array: Any) -> bool:
        if target.shape != array.shape or not target.flags.c_contiguous or not self.is_pinned(target):
            return False
        index = array.device.id
        with cupy.cuda.Device(index):
            array.get(out=target, blocking=False)
            self.allocator.keep(target, [self.current_stream(index)])
        return True

    @reported
    def from_cuda_array(self, obj: Any) -> Any:
        """An array that shares memory with another library's, by its ``__cuda_array_interface__``."""
        pointer = obj.__cuda_array_interface__["data"][0]
        index = cupy.cuda.runtime.pointerGetAttributes(pointer).device if pointer else self.current_device()
        with cupy.cuda.Device(index):
            return adopted(cupy.asarray(obj))

    def from_dlpack(self, obj: Any) -> Any:
        return adopted(cupy.from_dlpack(obj))

    @reported
    def to_device(self, array: Any, index: int | None) -> Any:
        """A copy in the order of both devices' current streams."""
        source, target = int(array.device.id), self.on(index)
        if source == target:
            with cupy.cuda.Device(target):
                return cupy.array(array)
        here, there = self.current_stream(source), self.current_stream(target)
        with cupy.cuda.Device(source):
            array = cupy.ascontiguousarray(array).reshape(array.shape)
        there.wait(mark(here))
        with cupy.cuda.Device(target):
            made = cupy.array(array)  # over the link between them, if there is one
        here.wait(mark(there))  # before the source is written to, or its memory given to another
        return made

    def empty_pinned(self, shape: tuple[int, ...], element: Any) -> numpy.ndarray[Any, Any]:
        """A new array of the host's memory that is page-locked."""
        from cupyx import empty_pinned  # SciPy's relatives come with it

        found: numpy.ndarray[Any, Any] = empty_pinned(shape, element)
        return found

    @reported
    def pinned(self, array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
        if not array.size:
            return array.copy()
        order = sorted(range(array.ndim), key=lambda dim: -abs(array.strides[dim]))  # as it lies in memory
        made = self.empty_pinned(tuple(array.shape[dim] for dim in order), array.dtype)
        made = made.transpose(numpy.argsort(order)) if array.ndim else made
        made[...] = array
        return made

    @reported
    def is_pinned(self, array: numpy.ndarray[Any, Any]) -> bool:
        runtime = cupy.cuda.runtime
        address = array.__array_interface__["data"][0]
        return bool(array.size) and runtime.pointerGetMemoryType(address) == runtime.memoryTypeHost


def adopted(array: Any) -> Any:
    """The same array in memory of which the extent is known: CuPy's own does not tell that of another library's."""
    reach = [(size - 1) * step for size, step in zip(array.shape, array.strides)] if array.size else []
    low = sum(each for each in reach if each < 0)
    size = array.itemsize + sum(each for each in reach if each > 0) - low if array.size else 0
    memory = cupy.cuda.UnownedMemory(array.data.ptr + low, size, array, int(array.device.id))
    return cupy.ndarray(array.shape, array.dtype, cupy.cuda.MemoryPointer(memory, -low), array.strides)
