"""Dividing a batch over devices and joining it again: over one device, which Captum's layer attributions do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import weft
from weft.nn.parallel.wrappers import only_device
from weft.utils._pytree import tree_map

__all__ = ["gather", "scatter"]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Return what each device gets of the inputs: all of it for the one.

    Parameters
    ----------
    inputs : Tensor, or nested containers of tensors and other objects
    target_gpus : sequence of one int or device
    dim : int
        Accepted and not used: a batch is not split.

    Raises
    ------
    NotImplementedError
        For more than one device.
    """
    only_device("scatter", target_gpus)
    move = lambda leaf: leaf.to(target_gpus[0]) if isinstance(leaf, weft.Tensor) else leaf  # noqa: E731
    return [tree_map(move, inputs)]


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Return the outputs of the one device, moved to ``target_device``.

    Raises
    ------
    NotImplementedError
        For the outputs of more than one device.
    """
    only_device("gather", outputs)
    return scatter(outputs[0], [target_device])[0]
