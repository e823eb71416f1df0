"""Means of parameters over the processes of a group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import weft
from weft.distributed._collectives import all_reduce
from weft.distributed._groups import current

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterator[Any], process_group: Any) -> None:
    """Give parameters the mean of their values over a group; None: all processes."""
    group = current("average_parameters", process_group)
    kinds: dict[Any, list[Any]] = {}
    for each in params:
        kinds.setdefault((each.dtype, each.device), []).append(each.detach())
    if group is None:
        return
    with weft.no_grad():
        for tensors in kinds.values():
            flat = weft.cat([each.reshape(-1) for each in tensors]).div_(group.size())
            all_reduce(flat, group=group)
            for each, part in zip(tensors, flat.split([each.numel() for each in tensors])):
                each.copy_(part.view(each.shape))


def get_params_to_average(params: Iterable[Any]) -> list[Any]:
    """The parameters that have a gradient, of some parameters or of the groups of an optimizer."""
    found: list[Any] = []
    for each in params:
        if not isinstance(each, (weft.Tensor, dict)):
            raise NotImplementedError(f"get_params_to_average: parameters or groups of them, not {type(each).__name__}")
        found += [each] if isinstance(each, weft.Tensor) else each["params"]
    return [each for each in found if each.grad is not None]


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """Give parameters, or the groups of an optimizer, the mean of their values over a group."""
    average_parameters(iter(get_params_to_average(params)), process_group)
