"""Copies of a state dict in host memory, from which it is written while training goes on."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import weft

__all__ = ["AsyncStager", "BlockingAsyncStager", "DefaultStager", "StagingOptions"]


@runtime_checkable
class AsyncStager(Protocol):
    """Copies a state dict for `async_save`."""

    _synchronize_after_execute: bool = True

    @property
    def should_synchronize_after_execute(self) -> bool:
        """Whether `async_save` waits for the copy before it returns."""
        return self._synchronize_after_execute

    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any] | Future[dict[str, Any]]:
        """Return the copy, or a future of it."""
        ...

    def synchronize_staging(self) -> None:
        """Wait for the copy."""

    def close(self) -> None:
        """Free what the stager keeps."""


class BlockingAsyncStager(AsyncStager):
    """Copies at once.

    Parameters
    ----------
    cache_staged_state_dict : bool, default False
        Keep the copy, and fill it again the next time.
    type_check : bool, default False
        As PyTorch has it; without effect.
    """

    _synchronize_after_execute = False

    def __init__(self, cache_staged_state_dict: bool = False, type_check: bool = False) -> None:
        self.cache_staged_state_dict = cache_staged_state_dict
        self.type_check = type_check
        self.state_dict_cache: dict[str, Any] | None = None

    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        """Return a copy in host memory."""
        staged: dict[str, Any] = copied(state_dict, self.state_dict_cache)
        if self.cache_staged_state_dict:
            self.state_dict_cache = staged
        return staged

    def synchronize_staging(self) -> None:
        """Return: the copy is made at once."""

    def close(self) -> None:
        """Forget the copy."""
        self.state_dict_cache = None


@dataclass
class StagingOptions:
    """How `DefaultStager` copies.

    Parameters
    ----------
    use_pinned_memory, use_shared_memory, use_non_blocking_copy : bool
        As PyTorch has them; without effect.
    use_async_staging : bool, default True
        Copy in a thread: the optimizer must not step before it is done.
    """

    use_pinned_memory: bool = True
    use_shared_memory: bool = True
    use_async_staging: bool = True
    use_non_blocking_copy: bool = True


class DefaultStager(AsyncStager):
    """Copies in a thread, or at once.

    Parameters
    ----------
    config : StagingOptions
    """

    def __init__(self, config: StagingOptions | None = None) -> None:
        self._config = config or StagingOptions()
        self._pool = ThreadPoolExecutor(1, "weft-staging") if self._config.use_async_staging else None
        self._last: Future[dict[str, Any]] | None = None

    def stage(self, state_dict: dict[str, Any], **kwargs: Any) -> dict[str, Any] | Future[dict[str, Any]]:
        """Return a copy in host memory, or a future of it."""
        if self._pool is None:
            return dict(copied(state_dict))
        self._last = self._pool.submit(copied, state_dict)
        return self._last

    def synchronize_staging(self) -> None:
        """Wait for the copy."""
        if self._last is not None:
            self._last.result()

    def close(self) -> None:
        """End the thread."""
        if self._pool is not None:
            self._pool.shutdown()


def copied(value: Any, into: Any = None) -> Any:
    """A value with copies of its tensors in host memory, made in the tensors of an earlier copy where these fit."""
    if hasattr(value, "__create_write_items__"):
        return value
    if isinstance(value, weft.Tensor):
        return copied_tensor(value.detach(), into)
    if isinstance(value, Mapping):
        earlier: Any = into if isinstance(into, Mapping) else {}
        return {key: copied(each, earlier.get(key)) for key, each in value.items()}
    if type(value) in (list, tuple):
        known = into if type(into) is type(value) and len(into) == len(value) else [None] * len(value)
        return type(value)(copied(each, before) for each, before in zip(value, known))
    return value


def copied_tensor(tensor: Any, into: Any) -> Any:
    """A copy of a tensor in host memory."""
    same = type(into) is type(tensor) and into.shape == tensor.shape and into.dtype == tensor.dtype
    if same:
        return into.copy_(tensor)
    return tensor.clone() if tensor.device.type == "cpu" else tensor.cpu()
