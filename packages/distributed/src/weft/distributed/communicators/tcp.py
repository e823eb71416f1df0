"""Messages through the store."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy

from weft.distributed._reduce_ops import ReduceOp, combine
from weft.distributed.communicators.base import Communicator
from weft.plugins import hookimpl

__all__ = ["TcpCommunicator"]


class TcpCommunicator(Communicator):
    """Messages through the store."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._count: Counter[Any] = Counter()

    def send(self, array: Any, dst: int, tag: int) -> None:
        key = (self.rank, dst, tag)
        self._count[key] += 1
        self.store.set(f"{key} {self._count[key]}", array.view(numpy.uint8).tobytes())

    def recv(self, array: Any, src: int | None, tag: int) -> int:
        assert src is not None
        key = (src, self.rank, tag)
        self._count[key] += 1
        array.view(numpy.uint8)[...] = numpy.frombuffer(self.store.get(f"{key} {self._count[key]}"), numpy.uint8)
        return src

    def broadcast(self, array: Any, root: int) -> None:
        for rank in range(self.size):
            if self.rank == root != rank:
                self.send(array, rank, -2)
        if self.rank != root:
            self.recv(array, root, -2)

    def all_reduce(self, array: Any, op: ReduceOp) -> None:
        output = numpy.empty(array.size * self.size, array.dtype)
        self.all_gather(output, array)
        parts = self.parts(output)
        array[...] = parts[0]
        for part in parts[1:]:
            combine(numpy, op, array, part)

    def all_gather(self, output: Any, array: Any) -> None:
        for rank, part in enumerate(self.parts(output)):
            if rank == self.rank:
                part[...] = array
            self.broadcast(part, rank)


@hookimpl
def weft_communicator(backend: str) -> type[Communicator]:
    """Bring this engine."""
    return TcpCommunicator
