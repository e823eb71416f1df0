"""Backends: what a device must offer. `ArrayNamespaceBackend` fills all of it from an array library.

A backend is made by a plugin (see `weft.plugins`). The smallest one::

    class MyBackend(ArrayNamespaceBackend):
        def __init__(self):
            super().__init__("mydevice", my_array_library)
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from weft._devices.assertions import DeviceAssertions, index_checks, largest
from weft._devices.streams import DeviceEvent, DeviceStream
from weft._dtypes.dtypes import dtype
from weft._engine import arrays as small_arrays
from weft._engine.dispatch_keys import KernelBySize
from weft._engine.tensor import state
from weft._plugins.access import plugins
from weft._plugins.name_checks import check_names as check_kernel_names
from weft._processes import hold_during_fork, quiet_fork
from weft._tensor.base import wrap as tensor_from_array
from weft._tensor.layout import in_order, is_channels_last

if TYPE_CHECKING:
    from weft._random.mt19937 import BLOCK, MersenneStream, in_chunks

__all__ = [
    "ArrayNamespaceBackend",
    "BLOCK",
    "Backend",
    "DeviceAssertions",
    "DeviceEvent",
    "DeviceStream",
    "KernelBySize",
    "KernelCall",
    "MersenneStream",
    "NoEquivalentError",
    "invalidate_kernels",
    "check_kernel_names",
    "destination",
    "hold_during_fork",
    "import_scientific",
    "in_chunks",
    "in_order",
    "index_checks",
    "is_channels_last",
    "kernel_contexts",
    "quiet_fork",
    "scientific",
    "small_arrays",
    "tensor_from_array",
]


def __getattr__(name: str) -> Any:
    if name in ("BLOCK", "MersenneStream", "in_chunks"):  # what random streams are made with, found when asked for
        return getattr(importlib.import_module("weft._random.mt19937"), name)
    raise AttributeError(f"module 'weft.backend' has no attribute {name!r}")


def kernel_contexts() -> tuple[Any, ...]:
    """The contexts (of `contextvars`) that kernels run in; those of threads are copies of the last one."""
    return state.context, state.unused_context


class Destination(threading.local):
    """What an in-place call of this thread writes to: a kernel may put its result there, and return that array.

    It may if it runs the op that is named, its first operand is the array itself, and the result has the array's shape
    and dtype. Otherwise it returns a new array, which is copied.
    """

    op = ""
    array: Any = None


destination = Destination()


class KernelCall(NamedTuple):
    """A call of an op's kernel.

    Attributes
    ----------
    name : str
        Of the op, ``"core::add"``.
    args : tuple
        What its kernel takes: arrays, numbers, and what else the op's declaration has.
    result : array
        What the call gave.
    """

    name: str
    args: tuple[Any, ...]
    result: Any


class NoEquivalentError(NotImplementedError):
    """A backend has no equivalent of a part of SciPy that an op needs."""


class Backend:
    """What the core asks of a device.

    Parameters
    ----------
    device_type : str
        The name of its devices, ``"cpu"``.
    xp : module
        The array namespace that generic kernels are written against: NumPy's functions by NumPy's names.
    array_type : type
        The class of its arrays. They have ``shape``, ``strides``, ``ndim``, ``dtype`` (a NumPy dtype), slicing
        that gives views, and in-place item assignment. Where they also have NumPy's ``reshape``, ``swapaxes``,
        ``transpose``, ``T`` and ``base``, the engine makes most views by these, and no kernel is asked.

    Attributes
    ----------
    kernels : dict
        Kernels that are better than the generic ones, by the full name of their op (``"core::add"``). Each takes
        arrays and parameters as the op's declared kernel does, without ``xp``. What depends on the dtype is found by
        `kernel`. Shapes and dims are checked before; positions that a tensor holds are not: a kernel that reads at them
        looks whether they are in range, before it writes, and calls the declared kernel to raise if one is not. Where
        to look is to wait, it asserts so (`assert_below`), and reads and writes at positions that were moved inside.
    rounds_numbers : bool
        float16 and bfloat16 tensors take a number as their own dtype has it, in sums and comparisons, as PyTorch's do
        on the CPU; else in float32, in which they are computed.
    sizes_wrap : bool
        The array library does not notice that a result's bytes cannot be counted in 64 bits: kernels are asked for its
        shape first.
    """

    rounds_numbers = True
    sizes_wrap = False

    def __init__(self, device_type: str, xp: Any, array_type: type) -> None:
        self.device_type = device_type
        self.xp = xp
        self.array_type = array_type
        self.kernels: dict[str, Callable[..., Any]] = {}

    # Kernels

    def kernel(self, name: str, element: dtype, generic: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """The kernel of an op for arrays of a dtype, asked for once, when the op first runs on them.

        Parameters
        ----------
        name : str
            Of the op, ``"core::add"``, or of a whole list's step (``"optim::adam_step"``, ``"foreach::add"``).
        element : dtype
            That of the arrays which the kernel gets.
        generic : callable or None
            The op's declared kernel, without ``xp``; None where there is no such thing.

        Returns
        -------
        callable or None
            A `KernelBySize` says which of two kernels takes an array.
        """
        return self.kernels.get(name, generic)

    def half_kernel(self, name: str, element: dtype, generic: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel for float16 or bfloat16 of an op that is declared to compute these in float32.

        Without it, the arrays are converted, `kernel` is asked for one of float32, and what that returns is rounded.
        A backend that rounds as it writes needs no memory for this.

        Parameters
        ----------
        name : str
            Of the op, ``"core::add"``.
        element : dtype
            That of the arrays which the kernel gets, and of those which it returns in place of float32. Others of its
            arrays may be of float32, as parameters of a layer and statistics are; what stays so of its results the op
            declares (``rounds_to``).
        generic : callable
            The kernel that converts, with arguments as the op's declared kernel takes them, without ``xp``: for what
            this one does not take.

        Returns
        -------
        callable
            ``generic``, unless the backend has a better one; it may be a `KernelBySize`.
        """
        return generic

    def fused_kernel(
        self, calls: Sequence[KernelCall], inputs: Sequence[Any], generic: Callable[..., Any], runs: int
    ) -> Callable[..., Any] | str:
        """One kernel for several calls of elementwise ops, of which only the last one's result is wanted.

        It is asked for when a captured function is replayed. Unless it gives the last call's result, with the same
        dtype, shape, strides and bits, the calls go on one by one.

        Parameters
        ----------
        calls : sequence of KernelCall
            In their order. Of their arrays only dtype and shape are those of the replays: the elements are any, and
            strides are 0. A result that another call takes is the same object there.
        inputs : sequence of arrays
            All that the calls take and do not make, each once. The kernel is called with such arrays, in this order,
            and returns a new one.
        generic : callable
            Runs the calls one by one: for inputs that the kernel does not take.
        runs : int
            How often the calls have run so far: what has to be compiled may wait until that is worth it. The backend is
            asked again when they have run twice as often.

        Returns
        -------
        callable or str
            A string says why the calls are to go on one by one, for people: "five arrays are more than a loop takes".
        """
        return f"the {self.device_type} backend fuses no calls"

    # Memory

    def asarray(self, value: Any) -> Any:
        """The backend's array of what a kernel returned: an array, or a scalar of the library."""
        raise NotImplementedError

    def empty(self, shape: tuple[int, ...], element: dtype, index: int | None) -> Any:
        """A new contiguous array with any contents."""
        raise NotImplementedError

    def owns(self, array: Any) -> bool:
        """Whether an array is in memory that the backend allocated, and so may let go of."""
        return False

    def from_numpy(self, array: numpy.ndarray, index: int | None) -> Any:
        """An array on the device with the contents of a NumPy array: a copy, unless the memory is the same."""
        raise NotImplementedError

    def from_dlpack(self, obj: Any) -> Any:
        """An array that shares memory with another library's, which has ``__dlpack__``."""
        raise NotImplementedError

    def constant(self, array: numpy.ndarray, index: int | None) -> Any:
        """An array on the device with the contents of a NumPy array, which all streams may read from now on."""
        return self.from_numpy(array, index)

    def to_numpy(self, array: Any) -> numpy.ndarray:
        """A NumPy array with the contents of a device's array; it may share memory where that is possible."""
        raise NotImplementedError

    def to_device(self, array: Any, index: int | None) -> Any:
        """A copy of an array on another device of this backend."""
        raise NotImplementedError

    def copy_from_host(self, array: numpy.ndarray, index: int | None, non_blocking: bool) -> Any:
        """`from_numpy` for what the program lets run on: page-locked memory may be read after the call returns."""
        return self.from_numpy(array, index)

    def copy_to_host(self, array: Any, non_blocking: bool) -> numpy.ndarray:
        """`to_numpy` for what the program lets run on: the values may come after the call, `synchronize` waits."""
        return self.to_numpy(array)

    def copy_into_host(self, target: numpy.ndarray, array: Any) -> bool:
        """Try to begin a copy into an array of the host, of one shape and dtype, that goes on after the call.

        Returns
        -------
        bool
            False if nothing was done: the memory is not page-locked, or its layout is another.
        """
        return False

    def pinned(self, array: numpy.ndarray) -> numpy.ndarray:
        """A copy of an array of the host in page-locked memory, from which a device copies by itself.

        Raises
        ------
        NotImplementedError
            If the backend has no such memory.
        """
        raise NotImplementedError(f"pin_memory: the {self.device_type} backend pins no memory; leave it out")

    def is_pinned(self, array: numpy.ndarray) -> bool:
        """Whether the memory of an array of the host is page-locked."""
        return False

    # Devices

    def device_count(self) -> int:
        """How many devices there are."""
        return 1

    def current_device(self) -> int:
        """The index of the device that is meant by the bare type."""
        return 0

    def set_device(self, index: int) -> None:
        """Make a device the one that is meant by the bare type."""
        if index != 0:
            raise RuntimeError(f"set_device: there is no {self.device_type}:{index}; this backend has one device")

    def device_name(self, index: int | None = None) -> str:
        """The name of a device, for people."""
        return self.device_type

    def guard(self, index: int | None) -> AbstractContextManager[Any]:
        """Makes a device the current one for the time of a call."""
        return nullcontext()

    def on_device(self, kernel: Callable[..., Any], index: int | None) -> Callable[..., Any]:
        """A kernel that runs on one of the devices; where there is one device, the kernel itself."""
        return kernel

    def synchronize(self, index: int | None = None) -> None:
        """Wait until all that was asked of a device is done."""

    def device_properties(self, index: int) -> Any:
        """What is known of a device, as attributes by PyTorch's names; ``name`` and ``total_memory`` at least.

        Raises
        ------
        NotImplementedError
            If nothing is known.
        """
        raise NotImplementedError(f"get_device_properties: the {self.device_type} backend does not tell them")

    def can_access_peer(self, index: int, peer: int) -> bool:
        """Whether a device can read another's memory without the host."""
        return False

    def explain(self, error: Exception) -> Exception | None:
        """The exception to raise for one of the device's own libraries; None to let it pass as it is."""
        return None

    # Streams: by default there is one for each device

    def current_stream(self, index: int) -> DeviceStream:
        """The stream that this thread's work on a device goes to."""
        return DeviceStream(self, index)

    def default_stream(self, index: int) -> DeviceStream:
        """The stream that is the current one of a device where none was set."""
        return DeviceStream(self, index)

    def new_stream(self, index: int, priority: int) -> DeviceStream:
        """A stream beside the default one."""
        return DeviceStream(self, index)

    def external_stream(self, address: int, index: int) -> DeviceStream:
        """The stream at an address, which others keep alive."""
        return DeviceStream(self, index)

    def use_stream(self, stream: Any) -> None:
        """Make a stream the current one of its device, for this thread; the current device stays."""

    def new_event(self, index: int, enable_timing: bool, blocking: bool, interprocess: bool) -> DeviceEvent:
        """An event for the streams of a device."""
        return DeviceEvent(self, index)

    def join_streams(self) -> None:
        """Let the current streams wait for the work of all others."""

    def fork_streams(self) -> None:
        """Let the further work of all other streams wait for that of the current ones."""

    def record_stream(self, array: Any, stream: Any) -> None:
        """Let an array's memory not be used again before what a stream has been given is done."""

    def dlpack_stream(self, index: int | None) -> int | None:
        """The current stream as the DLPack protocol numbers it; None on devices that have no streams there."""
        return None

    # Memory in use

    def memory_info(self, index: int) -> tuple[int, int]:
        """The free and the total bytes of a device's memory.

        Raises
        ------
        NotImplementedError
            If the backend does not know.
        """
        raise NotImplementedError(f"get_memory_info: the {self.device_type} backend does not tell it")

    def memory_stats(self, index: int | None = None) -> dict[str, int]:
        """Counts of a device's memory by PyTorch's keys, ``"allocated_bytes.all.current"``; empty if none are kept."""
        return {}

    def reset_peak_memory_stats(self, index: int | None = None) -> None:
        """Let the peaks in `memory_stats` begin anew."""

    def reset_accumulated_memory_stats(self, index: int | None = None) -> None:
        """Let the sums in `memory_stats` begin anew."""

    def empty_cache(self) -> None:
        """Give memory that is held and not used back to the device."""

    def num_threads(self) -> int:
        """How many threads a kernel may use."""
        return 1

    def set_num_threads(self, num: int) -> None:
        """Set how many threads a kernel may use, where it has a choice."""

    def describe(self) -> dict[str, str]:
        """What `weft doctor` shows of it, line by line: the libraries in use, and those that it does without."""
        return {}

    def compiled_kernels(self) -> int:
        """How many kernels were compiled and are kept on disk, for `weft warm`."""
        return 0

    def compile_at_once(self) -> None:
        """Compile kernels when they are first called, even if other ones could do a short program's work sooner."""

    # Assertions

    def index_checks(self) -> str:
        """When positions in this device's arrays are checked: ``"now"``, ``"later"`` or ``"never"``."""
        return "now"

    def assert_below(
        self, values: Any, bound: int, key: Hashable, error: Callable[[int], Exception], now: bool = True
    ) -> None:
        """Assert that all integers of an array are below a bound, and none is negative.

        Parameters
        ----------
        values : array of this backend's
            Of integers: positions, or a solver's info.
        bound : int
        key : hashable
            The same for assertions of one bound and one error: ``("gather", dim, size)``.
        error : callable
            Makes the exception from the largest value, as an integer without its sign.
        now : bool
            Wait for the values. Else a backend may fold them into a flag on the device, and raise when the host next
            waits for it; this one waits.

        Raises
        ------
        Exception
            What ``error`` made.
        """
        if values.size:
            value = int(self.to_numpy(largest(values)).reshape(()))
            if value >= bound:
                raise error(value)

    # What is beyond an array library

    def scientific(self, module: str) -> Any:
        """A module with the functions of ``scipy.<module>`` for this backend's arrays, imported when first asked for.

        Kernels reach it with `weft.backend.scientific`.

        Parameters
        ----------
        module : str
            ``"special"``, ``"linalg"``.

        Raises
        ------
        ImportError
            If it is not installed; the message has the command that brings it. See `import_scientific`.
        NoEquivalentError
            If there is none for this device.
        """
        raise NoEquivalentError(
            f"the {self.device_type} backend has no equivalent of scipy.{module}; move the tensors with .to('cpu')"
        )

    # Random numbers

    def random_stream(self, seed: int, index: int | None) -> Any:
        """A generator's stream: the samplers and the state of `weft._random.mt19937.MersenneStream`.

        That one is the CPU's, with PyTorch's numbers. Its arrays are NumPy's, and are copied to the device; a
        backend that has a stream of its own returns it here, and the device's arrays from its samplers.

        A counter-based stream, whose samples are a function of a seed and an offset, has the attribute ``offset`` and
        the method ``set_offset``, and for dropout the sampler ``kept(place, n, p)``: n truth values, the same ones
        whenever they are drawn from a place, which ``reserve(n, itemsize)`` gave.
        """
        from weft._random.mt19937 import MersenneStream

        return MersenneStream(seed)


def invalidate_kernels() -> None:
    """Have all ops ask for their kernels again when they next run: a backend has more to offer than it had."""
    for op in state.ops:
        op.kernels[:] = [None] * len(op.kernels)


class ArrayNamespaceBackend(Backend):
    """A backend from an array library with NumPy's interface.

    Parameters
    ----------
    device_type : str
    xp : module
        NumPy, CuPy, or a library made like them.

    Examples
    --------
    >>> import numpy
    >>> backend = ArrayNamespaceBackend("cpu", numpy)
    >>> backend.empty((2, 3), weft.float32, None).shape
    (2, 3)
    """

    def __init__(self, device_type: str, xp: Any) -> None:
        super().__init__(device_type, xp, xp.ndarray)

    def asarray(self, value: Any) -> Any:
        return self.xp.asarray(value)

    def empty(self, shape: tuple[int, ...], element: dtype, index: int | None) -> Any:
        return self.xp.empty(shape, element.numpy)

    def from_dlpack(self, obj: Any) -> Any:
        return self.xp.from_dlpack(obj)

    def from_numpy(self, array: numpy.ndarray, index: int | None) -> Any:
        return self.xp.asarray(array)

    def to_numpy(self, array: Any) -> numpy.ndarray:
        return numpy.asarray(array)

    def to_device(self, array: Any, index: int | None) -> Any:
        return array.copy()

    def scientific(self, module: str) -> Any:
        """SciPy's module, if the arrays are NumPy's."""
        if self.xp.ndarray is numpy.ndarray:
            return import_scientific(f"scipy.{module}", "scipy")
        return super().scientific(module)

    def describe(self) -> dict[str, str]:
        return {"arrays": f"{self.xp.__name__} {getattr(self.xp, '__version__', '')}".rstrip()}


def scientific(xp: Any, module: str, op: str) -> Any:
    """The functions of ``scipy.<module>`` that belong to an array namespace: for kernels whose ``xp`` lacks them.

    Parameters
    ----------
    xp : module
        The kernel's array namespace, or another one of the same arrays.
    module : str
        ``"special"``, ``"linalg"``.
    op : str
        Who asks, for the error.

    Raises
    ------
    ImportError
        If they are not installed; the message has the command that brings them.
    NoEquivalentError
        If the backend of these arrays has none.

    Examples
    --------
    A kernel that needs SciPy::

        @pointwise(result="float")
        def bessel_j0(xp, input):
            return scientific(xp, "special", "bessel_j0").j0(input)
    """
    owners = owners_of(xp)
    for owner in owners:
        try:
            return owner.scientific(module)
        except (ImportError, NoEquivalentError) as error:
            if owner is owners[-1]:
                raise type(error)(f"{op}: {error}") from error
    raise NoEquivalentError(f"{op}: no backend in use computes with {getattr(xp, '__name__', xp)}")


def owners_of(xp: Any) -> list[Backend]:
    """The backends in use that compute with an array namespace, else those that have its arrays."""
    backends, arrays = plugins().loaded_backends(), getattr(xp, "ndarray", xp)
    owners = [each for each in backends if each.xp is xp]
    return owners or [each for each in backends if getattr(each.xp, "ndarray", each.xp) is arrays]


def import_scientific(module: str, requirement: str) -> Any:
    """Import an optional module for `Backend.scientific`.

    Parameters
    ----------
    module : str
        ``"scipy.special"``.
    requirement : str
        What to give to ``pip install``.

    Raises
    ------
    ImportError
        If its package is not installed, with the command.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if not f"{module}.".startswith(f"{missing}."):  # it is there; something that it needs is not
            raise
        raise ImportError(
            f'needs {module}, which is not installed. Install it with: pip install "{requirement}"'
        ) from error
