"""The communicator of one process: what it says, it hears."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.distributed._reduce_ops import ReduceOp
from weft.distributed.communicators.base import Communicator

__all__ = ["SingleCommunicator"]


class SingleCommunicator(Communicator):
    """Messages of a group of one process, which needs no engine: each collective copies."""

    def broadcast(self, array: Any, root: int) -> None:
        pass

    def all_reduce(self, array: Any, op: ReduceOp) -> None:
        pass

    def all_gather(self, output: Any, array: Any) -> None:
        output[...] = array

    def reduce_scatter(self, output: Any, input: Any, op: ReduceOp) -> None:
        output[...] = input

    def all_to_all(self, output: Any, input: Any, output_counts: Sequence[int], input_counts: Sequence[int]) -> None:
        output[...] = input

    def barrier(self) -> None:
        pass
