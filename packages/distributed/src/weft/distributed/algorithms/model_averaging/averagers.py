"""When the mean of parameters is taken."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from weft.distributed._groups import _get_default_group
from weft.distributed.algorithms.model_averaging.utils import average_parameters_or_parameter_groups

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Base of what takes the mean of parameters in some steps.

    Parameters
    ----------
    process_group : ProcessGroup, optional
        Default: all processes.
    """

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = _get_default_group() if process_group is None else process_group
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Take the mean, if it is time to, and count the step."""


class PeriodicModelAverager(ModelAverager):
    """Takes the mean in each ``period``-th step, after the first ``warmup_steps``.

    Raises
    ------
    ValueError
        If ``warmup_steps`` is negative, or ``period`` not positive.
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        check(period, warmup_steps)
        self.period = period
        self.warmup_steps = warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Take the mean, if it is time to, and count the step."""
        after = self.step - self.warmup_steps
        if after >= 0 and after % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1


def check(period: int, warmup_steps: int) -> None:
    """Raise ValueError for numbers of steps that make no sense."""
    if warmup_steps < 0:
        raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
    if period < 1:
        raise ValueError("Arg ``period`` must be a positive value.")
    if period == 1:
        warnings.warn(
            "period=1 takes the mean of parameters after each step, which costs what the exchange of gradients costs: "
            "use a larger one, or DistributedDataParallel alone",
            stacklevel=3,
        )
