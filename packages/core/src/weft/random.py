"""Random number generators, and the state that every sampling function draws from.

Each device has a default generator. The CPU's gives, for the same seed, the numbers that PyTorch's gives, and their
states can be exchanged: `get_rng_state` returns the bytes that PyTorch returns.

>>> import weft
>>> _ = weft.manual_seed(0)
>>> weft.rand(2)
tensor([0.4963, 0.7682])
"""

from __future__ import annotations

import contextlib
import operator
import os
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Final

from weft._devices.devices import backend_of, device, resolve_device
from weft._dtypes.dtypes import uint8
from weft._engine.tensor import local
from weft._interception.interceptors import side_effect
from weft._interception.transforms import check_randomness
from weft._processes import hold_during_fork, renew_in_child
from weft._tensor.base import Tensor, wrap

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

DEFAULT_SEED: Final[int] = 67280421310721  # of a generator that was not seeded; PyTorch's value
LOWEST_SEED: Final[int] = -(1 << 63)
HIGHEST_SEED: Final[int] = (1 << 64) - 1


class Generator:
    """A stream of pseudorandom numbers for the functions that take ``generator=``.

    Parameters
    ----------
    device : str or device, default "cpu"
        Where the tensors are that it fills.

    Examples
    --------
    >>> import weft
    >>> generator = weft.Generator().manual_seed(1)
    >>> weft.randint(10, (4,), generator=generator)
    tensor([5, 9, 4, 8])
    """

    def __init__(self, device: Any = "cpu") -> None:
        self.device = resolve_device(device)
        self._seed = DEFAULT_SEED
        self._made: Any = None  # made when first drawn from: NumPy's random package takes a while to import
        self._is_direct = False  # whether the stream makes arrays of the device, once it is there
        self._lock = threading.RLock()
        hold_during_fork(self, "_lock")
        if self.device.type != "cpu":
            backend_of(self.device)  # there is no generator for a device that is not there

    @property
    def _stream(self) -> Any:
        if self._made is None:
            with self._lock:
                if self._made is None:
                    backend = backend_of(self.device)
                    self._made = backend.random_stream(self._seed, self.device.index)
                    owns_arrays = self._made.array_type is backend.array_type
                    self._is_direct = owns_arrays and backend.device_count() == 1
        return self._made

    def draw(self, sampler: str, *args: Any) -> Any:
        """Call a sampler of the stream, one thread at a time."""
        with self._lock:
            return getattr(self._stream, sampler)(*args)

    def sample(self, sampler: str, *args: Any) -> Any:
        """Call a sampler with arrays of this generator's device, and return an array of that device."""
        stream = self._stream
        if self._is_direct:
            with self._lock:
                return getattr(stream, sampler)(*args)
        backend = backend_of(self.device)
        if stream.array_type is backend.array_type:  # one device of several
            with self._lock:
                return backend.on_device(getattr(stream, sampler), self.device.index)(*args)
        host = [backend.to_numpy(arg) if isinstance(arg, backend.array_type) else arg for arg in args]
        return backend.from_numpy(self.draw(sampler, *host), self.device.index)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream that belongs to a seed, and return this generator.

        Parameters
        ----------
        seed : int
            From -2**63 to 2**64 - 1; a negative one means seed + 2**64. The CPU's stream depends on the low 32 bits.

        Raises
        ------
        RuntimeError
            If it is no integer.
        ValueError
            If it is out of range.
        """
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise RuntimeError(f"manual_seed: expected an int, got {type(seed).__name__} {seed!r}; pass int(seed)")
        if not LOWEST_SEED <= seed <= HIGHEST_SEED:
            raise ValueError(
                f"manual_seed: Overflow when unpacking long long: seed must be from -2**63 to 2**64 - 1, got {seed}"
            )
        side_effect("it seeds a generator")
        with self._lock:
            self._seed = seed & HIGHEST_SEED
            if self._made is not None:
                self._made.seed(self._seed)
        return self

    def seed(self) -> int:
        """Start from a seed that the operating system gives, and return it."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """Return the seed that this stream was started from."""
        return self._seed

    def get_state(self) -> Tensor:
        """Return the state as a tensor of bytes on the CPU, for `set_state`."""
        state: Tensor = wrap(self.draw("get_state"))
        return state

    def set_state(self, new_state: Tensor) -> None:
        """Continue as the generator whose `get_state` gave this.

        Raises
        ------
        TypeError
            If it is no uint8 tensor on the CPU.
        RuntimeError
            If its bytes are no state.
        """
        array = state_bytes(new_state)
        side_effect("it sets the state of a generator")
        with self._lock:
            self._stream.set_state(array)
            self._seed = self._made.initial_seed

    def get_offset(self) -> int:
        """Return how far the stream of a counter-based generator is from its seed, in words of each thread.

        Raises
        ------
        RuntimeError
            If the generator is none; the CPU's is not.
        """
        with self._lock:
            return int(self._counted().offset)

    def set_offset(self, offset: int) -> None:
        """Continue the stream of a counter-based generator from an offset, a multiple of 4.

        Raises
        ------
        RuntimeError
            If the generator is none (the CPU's is not), or cannot continue from there.
        """
        with self._lock:
            self._counted().set_offset(operator.index(offset))

    @property
    def is_counter_based(self) -> bool:
        """Whether samples are a function of (seed, offset), so that they can be drawn again."""
        return getattr(self._stream, "offset", None) is not None

    def reserve(self, n: int, itemsize: int) -> Any:
        """Reserve the samples by which dropout keeps n elements of so many bytes, to draw them as often as is needed.

        Returns
        -------
        The place from which the sampler ``kept`` draws them, or None where they cannot be drawn twice: the generator is
        not counter-based, or the call is captured, and runs again with other samples.
        """
        if local.interceptors or local.levels or not self.is_counter_based:
            return None
        return self.draw("reserve", n, itemsize)

    def _counted(self) -> Any:
        if not self.is_counter_based:
            raise RuntimeError(f"{self.device.type.upper()} Generator does not use offset; take get_state() instead")
        return self._stream

    def clone_state(self) -> Generator:
        """Return a new generator in the state of this one."""
        clone = Generator(self.device)
        clone.set_state(self.get_state())
        return clone

    def __reduce__(self) -> tuple[Any, ...]:
        return Generator, (self.device,), self.get_state()

    def __setstate__(self, state: Tensor) -> None:
        self.set_state(state)


def state_bytes(state: Any) -> Any:
    """Return the NumPy array of a tensor of bytes."""
    if not isinstance(state, Tensor) or state.dtype is not uint8 or state.device.type != "cpu":
        got = f"{state.dtype} on {state.device}" if isinstance(state, Tensor) else type(state).__name__
        raise TypeError(f"set_state: expected a uint8 tensor on the CPU as get_state() returns it, got {got}")
    return state._array


_defaults: dict[device, Generator] = {}
_defaults_lock = threading.Lock()
renew_in_child(sys.modules[__name__], "_defaults_lock", threading.Lock)
_seed_for_new: int | None = None  # what manual_seed gave, for devices that are first used afterwards


def default_generator_of(where: device) -> Generator:
    """Return the default generator of a device."""
    generator = _defaults.get(where)
    if generator is None:
        with _defaults_lock:
            generator = _defaults.get(where)
            if generator is None:
                generator = Generator(where)
                if _seed_for_new is None:
                    generator.seed()
                else:
                    generator.manual_seed(_seed_for_new)
                _defaults[where] = generator
    return generator


def generator_for(name: str, given: Generator | None, where: device) -> Generator:
    """Return the generator that a call to the function `name` uses for a device.

    Raises
    ------
    TypeError
        If what was given is none.
    RuntimeError
        If it is of another device.
    """
    if local.levels:
        check_randomness(name)
    if given is None:
        return default_generator_of(where)
    if not isinstance(given, Generator):
        raise TypeError(f"{name}: generator must be a weft.Generator, got {type(given).__name__}")
    if where.type == "meta":  # where nothing is drawn
        return default_generator_of(where)
    if given.device.type != where.type:
        raise RuntimeError(
            f"{name}: expected a '{where.type}' device type for generator but found '{given.device.type}'; "
            f"make one by weft.Generator(device='{where.type}')"
        )
    return given


def manual_seed(seed: int) -> Generator:
    """Seed the default generators of all devices, and return the CPU's.

    Parameters
    ----------
    seed : int
        From -2**63 to 2**64 - 1; a negative one means seed + 2**64.

    Examples
    --------
    >>> import weft
    >>> _ = weft.manual_seed(0)
    >>> weft.randperm(5)
    tensor([4, 0, 1, 3, 2])
    """
    global _seed_for_new
    seed = int(seed)
    generator = default_generator.manual_seed(seed)
    with _defaults_lock:
        _seed_for_new = seed
        others = [other for other in _defaults.values() if other is not generator]
    for other in others:
        other.manual_seed(seed)
    return generator


def seed() -> int:
    """Seed the default generators of all devices from the operating system, and return the seed."""
    chosen = int.from_bytes(os.urandom(8), "little")
    manual_seed(chosen)
    return chosen


def initial_seed() -> int:
    """Return the seed that the CPU's default generator was started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the CPU's default generator as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the CPU's default generator to what `get_rng_state` returned."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, device_type: str | None = None
) -> Iterator[None]:
    """Restore the default generators, on leaving the ``with`` block, to the state that they had on entering.

    Parameters
    ----------
    devices : iterable of device or int, optional
        Whose generators, besides the CPU's. By default those of all devices of `device_type`.
    enabled : bool
        False makes it do nothing, for code that decides at run time.
    device_type : str, optional
        What the numbers in `devices` are indices of; by default "cuda".

    Examples
    --------
    >>> import weft
    >>> _ = weft.manual_seed(0)
    >>> with weft.random.fork_rng():
    ...     inside = weft.rand(1)
    >>> bool(inside == weft.rand(1))
    True
    """
    if not enabled:
        yield
        return
    generators = [default_generator, *map(default_generator_of, forked_devices(devices, device_type or "cuda"))]
    states = [generator.get_state() for generator in generators]
    try:
        yield
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)


def default_states(devices: Iterable[device] = ()) -> dict[device, Tensor]:
    """The states of the default generators in use, and of those of the devices, to set again by `restore_states`."""
    used = [where for where in dict.fromkeys([*_defaults, *devices]) if where.type != "meta"]
    return {where: default_generator_of(where).get_state() for where in used}


def restore_states(states: dict[device, Tensor]) -> None:
    """Set the default generators' states to what `default_states` returned."""
    for where, kept in states.items():
        default_generator_of(where).set_state(kept)


def forked_devices(devices: Iterable[Any] | None, device_type: str) -> list[device]:
    """Return the devices, other than the CPU, whose generators `fork_rng` shall restore."""
    if devices is not None:
        given = [device(device_type, each) if isinstance(each, int) else device(each) for each in devices]
        return [where for where in map(resolve_device, given) if where.type != "cpu"]
    found = [where for where in list(_defaults) if where.type == device_type]
    if len(found) > 1:
        warnings.warn(
            f"fork_rng: restoring the generators of all {len(found)} {device_type} devices in use; "
            "pass devices= to name those that the block uses",
            stacklevel=4,
        )
    return found


default_generator = default_generator_of(device("cpu"))
