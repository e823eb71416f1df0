"""The random number generators of CUDA devices; without a device seeding does nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft._devices.devices import device as Device
from weft.cuda._devices import device_count, is_available, number_of
from weft.random import default_generator_of

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def generator_of(device: Any) -> Any:
    """The default generator of a device; of the current one if none is named."""
    return default_generator_of(Device("cuda", number_of(device)))


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device; without one nothing happens."""
    if is_available():
        generator_of(None).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all CUDA devices."""
    for index in range(device_count()):
        generator_of(index).manual_seed(seed)


def seed() -> None:
    """Seed the generator of the current device by chance; without one nothing happens."""
    if is_available():
        generator_of(None).seed()


def seed_all() -> None:
    """Seed the generators of all CUDA devices by chance."""
    for index in range(device_count()):
        generator_of(index).seed()


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return int(generator_of(None).initial_seed())


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of a device's generator, as a tensor of bytes on the CPU."""
    return generator_of(device).get_state()


def get_rng_state_all() -> list[Any]:
    """The states of all CUDA devices' generators."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Set the state of a device's generator."""
    generator_of(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Set the states of all CUDA devices' generators, from what `get_rng_state_all` returned."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
