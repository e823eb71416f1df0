"""Checks of positions, for kernels that read or write at them.

Positions are looked at once, by the kernel that reads them. Those of NumPy's arrays, before it writes anything: it
raises `OutOfRange`, and the function that was called raises PyTorch's error in its own name (`positioned`). Those on a
device are asserted there without a wait (`weft._devices.assertions`), as `weft.cuda.set_index_checks` says: the kernel
goes on, with positions that wrap around and so stay inside, and the error is raised when the host next waits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from weft._devices.assertions import signed
from weft._devices.devices import backend_of, on_device_of
from weft._engine.fast_paths import OutOfRange
from weft._errors import AcceleratorError
from weft._interception.transforms import memory_of
from weft.backend import owners_of

LATER = (
    "This was asserted on the device, and seen when the host waited for it, after the call; "
    "weft.cuda.set_index_checks('now') raises in the call itself. The device is usable"
)
SOME = 64  # integers up to which Python looks at them sooner


def positioned(name: str, refusal: type[Exception], run: Callable[..., Any], *args: Any) -> Any:
    """What an op that is given positions makes of its arguments.

    Raises
    ------
    Exception
        The refusal, if a position is out of range.
    """
    try:
        return run(*args)
    except OutOfRange as wrong:
        raise refusal(f"{name}: {wrong}") from None


def check_positions(xp: Any, name: str, positions: Any, dim: int, size: int, least: int = 0) -> None:
    """For kernels: all positions in an array are below a dimension's size, and none is negative, or below ``least``.

    Parameters
    ----------
    xp : module
    name : str
        The op's, for the error of a device, which comes later.
    positions : array of integers
    dim : int
    size : int
    least : 0 or -size
        The smallest position that is meant.

    Raises
    ------
    OutOfRange
        If one is not; of those on a device, only at once if ``weft.cuda.set_index_checks("now")`` was called, or if the
        dimension is empty.
    """
    if type(positions) is not numpy.ndarray:
        check_on_device(xp, name, positions, dim, size, least)
        return
    if not positions.size or all_within(positions, size):
        return
    low, high = int(positions.min()), int(positions.max())
    if low < least or high >= size:
        raise OutOfRange(out_of_bounds(low if low < least else high, dim, size))


def out_of_bounds(position: int, dim: int, size: int) -> str:
    if not size:
        return f"index is out of bounds for dimension with size 0; got {position} for dimension {dim}"
    return f"index {position} is out of bounds for dimension {dim} with size {size} (index out of range in self)"


def all_within(positions: Any, size: int) -> bool:
    """Whether all integers of an array that has some are at least 0, and below a size."""
    if positions.size <= SOME:
        listed = positions.reshape(-1).tolist()
        return min(listed) >= 0 and max(listed) < size
    unsigned = positions.view(numpy.uint64 if positions.dtype == numpy.int64 else f"u{positions.itemsize}")
    return bool(numpy.maximum.reduce(unsigned, None) < size)  # without its sign, a negative one is a large number


def check_all_positions(xp: Any, name: str, shape: tuple[int, ...], indices: Any) -> None:
    """`check_positions` for those along each dimension (or None); negative ones count from the end.

    Where one array is empty none is read: they are broadcast to one shape.
    """
    if any(index is not None and not index.size for index in indices):
        return
    for dim, (size, index) in enumerate(zip(shape, indices)):
        if index is not None:
            check_positions(xp, name, index, dim, size, -size)


def in_range(name: str, index: Any, size: int, dim: int, kind: type[Exception] = RuntimeError, least: int = 0) -> None:
    """All positions in a tensor are in range, where what reads them does not look.

    Raises
    ------
    Exception
        Of this kind, if one is not.
    """
    xp = backend_of(index._key.device).xp
    check = on_device_of(index._key, check_positions)
    positioned(name, kind, check, xp, name, memory_of(index), dim, size, least)


def waits(tensor: Any) -> bool:
    """Whether reading a tensor's values is to wait for a device; not where there are none, on the device meta."""
    return not isinstance(tensor._array, numpy.ndarray) and not tensor.is_meta


def assert_below(name: str, values: Any, bound: int, words: str) -> None:
    """Integers in a tensor on a device are below a bound and not negative: asserted as positions are.

    Parameters
    ----------
    name : str
        The function's, which the error begins with.
    values : Tensor
    bound : int
    words : str
        The error, with ``{}`` for the largest value.
    """
    backend, array = backend_of(values._key.device), memory_of(values)
    checks = backend.index_checks()
    if checks != "never":
        error = partial(assertion_failed, name, words, array.dtype.itemsize, checks == "later")
        backend.assert_below(array, bound, (name, bound, words), error, checks == "now")


def assert_none(xp: Any, name: str, wrong: Any, words: str) -> None:
    """For kernels: no element of an array of truth values on a device is true; asserted as positions are.

    Parameters
    ----------
    xp : module
    name : str
        The function's, which the error begins with.
    wrong : array of bool
    words : str
        The error.
    """
    backend = owners_of(xp)[0]
    checks = backend.index_checks()
    if checks != "never" and wrong.size:
        error = partial(assertion_failed, name, words, wrong.dtype.itemsize, checks == "later")
        backend.assert_below(wrong, 1, (name, words), error, checks == "now")


def assertion_failed(name: str, words: str, itemsize: int, later: bool, found: int) -> Exception:
    said = f"{name}: {words.format(signed(found, itemsize))}"
    return AcceleratorError(f"{said}. {LATER}") if later else RuntimeError(said)


def placed(name: str, input: Any, indices: Any) -> list[Any]:
    """Index tensors, one (or None) for each dimension, on the device of what they index; those of the host are checked.

    Raises
    ------
    IndexError
        If one from the host is out of range on a device, where it would be seen later.
    """
    device = input._key.device
    if all(each is None or each._key.device is device for each in indices):
        return list(indices)
    read = all(each is None or each._array.size for each in indices)  # else none is, since they are broadcast
    return [
        each if each is None or each._key.device is device else brought(name, input, dim, each, read)
        for dim, each in enumerate(indices)
    ]


def brought(name: str, input: Any, dim: int, index: Any, read: bool) -> Any:
    """One of the indices of `placed`, from another device."""
    if read and waits(input) and not waits(index) and not index.is_meta:
        size = input._array.shape[dim]
        in_range(name, index, size, dim, IndexError, -size)
    return index.to(input.device)


def check_on_device(xp: Any, name: str, positions: Any, dim: int, size: int, least: int) -> None:
    """`check_positions`, of an array of a device."""
    backend = owners_of(xp)[0]
    checks = backend.index_checks()
    if checks == "never" or not positions.size:
        return
    if not size:  # nothing is in range, and no position can be made so
        raise OutOfRange(f"index is out of bounds for dimension {dim} with size 0")
    shifted = positions - least if least else positions
    error = partial(error_now if checks == "now" else error_later, name, dim, size, least, shifted.dtype.itemsize)
    backend.assert_below(shifted, size - least, (name, dim, size, least), error, checks == "now")


def error_now(name: str, dim: int, size: int, least: int, itemsize: int, found: int) -> Exception:
    return OutOfRange(out_of_bounds(signed(found, itemsize) + least, dim, size))


def error_later(name: str, dim: int, size: int, least: int, itemsize: int, found: int) -> Exception:
    """The error of an assertion that failed on a device."""
    words = out_of_bounds(signed(found, itemsize) + least, dim, size)
    return AcceleratorError(f"{name}: {words}. {LATER}")
