"""Random numbers in tests, by the names that PyTorch's own tests import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import weft


@contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Put the default generators, on leaving the block, back into the state that they had on entering."""
    accelerator = weft.accelerator.current_accelerator()
    with weft.random.fork_rng(device_type=None if accelerator is None else accelerator.type):
        yield


def wrapper_set_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a call under a fixed seed, after which the generators are as before."""
    with freeze_rng_state():
        weft.manual_seed(42)
        return op(*args, **kwargs)
