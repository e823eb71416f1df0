"""Training on inputs of different number in each process: who has no more shadows the collectives of the others."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, NamedTuple

import weft
from weft.distributed._collectives import all_reduce, barrier
from weft.distributed._work import Work

__all__ = ["Join", "JoinHook", "Joinable"]

SHADOWED_BEFORE_WARNING = 1000


class JoinHook:
    """What a process that has no more inputs does while others go on."""

    def main_hook(self) -> None:
        """Take part in the collectives of one step of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Is called when all processes have joined; ``is_last_joiner`` in those that had inputs to the end."""


class _JoinConfig(NamedTuple):
    """How a `Joinable` takes part."""

    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        """The one outside of a context."""
        return _JoinConfig(False, False, False)


class Joinable(ABC):
    """Base of what takes part in `Join`: it says what to do without inputs, and calls `Join.notify_join_context`."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig.construct_disabled_join_config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook of this object; ``kwargs`` are those of `Join`."""
        raise NotImplementedError(f"{type(self).__name__}.join_hook")

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the collectives that count who goes on."""
        raise NotImplementedError(f"{type(self).__name__}.join_device")

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The processes that join."""
        raise NotImplementedError(f"{type(self).__name__}.join_process_group")


class Join:
    """A context for training on inputs of different number in each process.

    Parameters
    ----------
    joinables : list of Joinable
        In the order in which each step runs their collectives; of one group and device.
    enable : bool
        False: a plain block, for inputs that are known to be even.
    throw_on_early_termination : bool
        As soon as a process has no more inputs, raise in all of them.
    **kwargs
        For `Joinable.join_hook`.

    Raises
    ------
    ValueError
        Without a joinable, or for those of several groups or devices.
    RuntimeError
        With ``throw_on_early_termination``.
    """

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._enable = enable
        self._throw = throw_on_early_termination
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        for joinable in joinables:
            joinable._join_config = _JoinConfig(enable, self._throw, joinable is joinables[0])
        self._group = joinables[0].join_process_group
        self._device = joinables[0].join_device
        for joinable in joinables:
            if joinable.join_process_group is not self._group:
                raise ValueError("Using join context manager with multiple process groups")
            if joinable.join_device != self._device:
                raise ValueError("Using join context manager with multiple devices")

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        type: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Shadow the others until they have no more inputs either."""
        if not self._enable or type is not None:
            return
        steps = 0
        while self._count_others() > 0:
            if self._throw:
                all_reduce(weft.ones(1, device=self._device), group=self._group)
                raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")
            for hook in self._hooks:
                hook.main_hook()
            steps += 1
            if steps == SHADOWED_BEFORE_WARNING:
                warnings.warn(
                    f"Join: rank {self._group.rank()} has shadowed {steps} steps of others that have more inputs: "
                    "divide the inputs more evenly",
                    stacklevel=2,
                )
        for hook in self._hooks:
            hook.post_hook(steps == 0)
        barrier(group=self._group)

    def _count_others(self) -> int:
        """How many processes still have inputs."""
        count = weft.zeros(1, device=self._device)
        all_reduce(count, group=self._group)
        return int(count.item())

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Say that this process goes on, before the first collective of a step.

        Returns
        -------
        Work, or None outside of a context or for another than its first joinable
            Of the all-reduce that counts the processes that go on.

        Raises
        ------
        RuntimeError
            If another process has no more inputs, and the context says to throw.
        """
        config = getattr(joinable, "_join_config", None)
        if config is None:
            raise RuntimeError(
                f"Check that the {type(joinable).__name__} constructor calls the ``Joinable`` constructor"
            )
        if not config.enable or not config.is_first_joinable:
            return None
        device, group = joinable.join_device, joinable.join_process_group
        work = all_reduce(weft.ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination and work is not None:
            work.wait()
            if int(work.result()[0].item()) < group.size():
                all_reduce(weft.zeros(1, device=device), group=group)
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work
