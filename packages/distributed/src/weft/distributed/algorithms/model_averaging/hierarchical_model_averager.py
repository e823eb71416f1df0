"""Means of parameters in groups of several sizes, the larger ones less often."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft.distributed._groups import new_subgroups
from weft.distributed.algorithms.model_averaging.averagers import ModelAverager, check
from weft.distributed.algorithms.model_averaging.utils import average_parameters_or_parameter_groups

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(ModelAverager):
    """Takes the mean in small groups often, and in large ones now and then.

    Parameters
    ----------
    period_group_size_dict : dict
        For each period the size of the groups; both grow, and the last size is that of all processes.
    warmup_steps : int
    process_group : ProcessGroup, optional
        Default: all processes.

    Raises
    ------
    ValueError
        If periods or sizes do not grow, or the last size is not that of the group.
    """

    def __init__(
        self, period_group_size_dict: dict[int, int] | None = None, warmup_steps: int = 0, process_group: Any = None
    ) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        periods, sizes = list(period_group_size_dict), list(period_group_size_dict.values())
        if sorted(set(periods)) != periods or sorted(set(sizes)) != sizes:
            raise ValueError(f"period_group_size_dict: periods and sizes must grow, got {period_group_size_dict}")
        if sizes[-1] != self.process_group.size():
            raise ValueError(
                f"The last value in arg ``period_process_group_dict`` {sizes[-1]} must be equal to the size of arg "
                f"``process_group`` {self.process_group.size()}."
            )
        check(periods[0], warmup_steps)
        self.warmup_steps = warmup_steps
        self.period_process_group_dict = {
            period: self.process_group if size == sizes[-1] else new_subgroups(size, self.process_group)[0]
            for period, size in period_group_size_dict.items()
        }

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Take the mean in the largest group whose time it is, and count the step."""
        due = [period for period in self.period_process_group_dict if self.step % period == 0]
        if self.step >= self.warmup_steps and due:
            average_parameters_or_parameter_groups(params, self.period_process_group_dict[due[-1]])
        self.step += 1
