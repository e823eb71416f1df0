"""`TcpCommunicator`: messages over plain sockets, which every machine has."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import IntEnum
from functools import partial
from typing import Any

import numpy

from weft.distributed._endpoint import Address, Status, ask_status, endpoint_for, is_refused, open_channel
from weft.distributed._errors import DistBackendError, DistNetworkError, DistStoreError, MismatchError
from weft.distributed._reduce_ops import ReduceOp, combine
from weft.distributed.communicators._dtypes import code_of_dtype, name_of_dtype
from weft.distributed.communicators._links import (
    Deadline,
    Flow,
    Incoming,
    Link,
    LinkTimeoutError,
    Outgoing,
    PeerGoneError,
    as_bytes,
    exchange,
)
from weft.distributed.communicators._mailbox import Mailbox, send_message
from weft.distributed.communicators.base import Communicator, split
from weft.plugins import hookimpl

__all__ = ["TcpCommunicator", "weft_communicator"]

SMALL_BYTES = 1 << 16  # of all that a process sends, so that all send to all in one step
PAIR_BYTES = 1 << 19  # likewise of two processes, where the ring has two steps and sends no less
PROBE_SECONDS = 1.0  # how long one waits for a connection until one looks whether the other is still there
COLLECTIVES, MESSAGES = "collectives", "messages"  # channels


class Call(IntEnum):
    """A collective, as the headers of its messages say it."""

    broadcast = 1
    all_reduce = 2
    all_gather = 3
    gather = 4
    scatter = 5
    reduce_scatter = 6
    all_to_all = 7
    barrier = 8


class Header:
    """What precedes the data of a collective, so that two that do not fit are told from one another."""

    FORMAT = struct.Struct("!BBHIQ")  # call, dtype's code, op or root, sequence number, bytes
    LENGTH = FORMAT.size

    def __init__(self, call: Call, sequence: int, array: Any, detail: int = 0) -> None:
        self.fields = (
            call,
            code_of_dtype(array.dtype),
            detail & 0xFFFF,
            sequence & 0xFFFFFFFF,
            array.nbytes,
        )
        self.array = array
        self.data = self.FORMAT.pack(*self.fields)

    def check(self, data: Any, rank: int, own_rank: int) -> None:
        """Compare with what another process sent."""
        if data != self.data:
            theirs = _describe(*self.FORMAT.unpack(data))
            raise MismatchError(f"rank {own_rank} called {_describe(*self.fields)}, but rank {rank} called {theirs}")


def _combine(op: ReduceOp, into: Any, other: Any) -> None:
    with numpy.errstate(all="ignore"):  # infinities are results, as in every op
        combine(numpy, op, into, other)


def _describe(call: int, code: int, detail: int, sequence: int, nbytes: int) -> str:
    name = Call(call).name if call in Call.__members__.values() else f"operation {call}"
    if call in (Call.all_reduce, Call.reduce_scatter) and detail < len(ReduceOp):
        name += f"({ReduceOp(detail).name})"
    elif call in (Call.broadcast, Call.gather, Call.scatter):
        name += f"(root {detail})"
    return f"{name} #{sequence} of {nbytes} bytes of {name_of_dtype(code)}"


class _Route:
    """The way of messages to one process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.link: Link | None = None
        self.failure: BaseException | None = None


class TcpCommunicator(Communicator):
    """Messages over plain sockets. The connections are made when they are first used.

    Collectives of small arrays send from all to all in one step; those of large ones go round a ring, each piece
    passed on as soon as it has come. Results are the same on all processes, and from run to run.
    """

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(store, rank, size, timeout)
        self._pid = os.getpid()
        self._sequence = 0
        self._is_busy = False
        self._failure: str | None = None  # why nothing can be sent any more
        self._links: dict[int, Link] = {}
        self._accepted = threading.Condition()
        self._routes = {peer: _Route() for peer in range(size)}
        self._mailbox = Mailbox(rank, size, self._check_peer)
        self._addresses: dict[int, Address] = {}
        self._endpoint, self._address = endpoint_for(store, self)
        store.set(f"endpoint/{rank}", self._address.pack())

    # Messages of pairs

    def send(self, array: Any, dst: int, tag: int) -> None:
        with _Guard(self, f"send to rank {dst}") as (_, deadline):
            route = self._routes[dst]
            with route.lock:
                if route.failure is not None:
                    raise DistBackendError(f"an earlier message to rank {dst} was not sent: {route.failure}")
                if route.link is None:
                    route.link = self._open(dst, MESSAGES, deadline)
                try:
                    send_message(route.link, array, tag, deadline)
                except BaseException as error:
                    route.failure = error  # a part of it may have been sent
                    raise

    def recv(self, array: Any, src: int | None, tag: int) -> int:
        with _Guard(self, f"recv from {'any rank' if src is None else f'rank {src}'}") as (_, deadline):
            return self._mailbox.receive(array, src, tag, deadline)

    # Collectives

    def broadcast(self, array: Any, root: int) -> None:
        with self._collective(Call.broadcast, array, root) as (header, deadline):
            position = (self.rank - root) % self.size
            if array.nbytes * self.size <= SMALL_BYTES or self.size == 2:
                self._broadcast_by_tree(array, root, position, header, deadline)
                return
            before = (self.rank - 1) % self.size if position else None
            after = (self.rank + 1) % self.size if position < self.size - 1 else None
            ready = 0 if position else array.nbytes
            incoming, outgoing = [[] if rank is None else [array] for rank in (before, after)]
            self._flow(header, deadline, before, incoming, after, outgoing, ready)

    def _broadcast_by_tree(self, array: Any, root: int, position: int, header: Header, deadline: Deadline) -> None:
        """Receive from the process without one's highest bit, and send to those with higher ones."""
        if position:
            parent = position & ~(1 << (position.bit_length() - 1))
            self._exchange(header, [], [((parent + root) % self.size, array)], deadline)
        children = [position + (1 << bit) for bit in range(position.bit_length(), (self.size - 1).bit_length())]
        sends = [((child + root) % self.size, array) for child in children if child < self.size]
        self._exchange(header, sends, [], deadline)

    def all_reduce(self, array: Any, op: ReduceOp) -> None:
        with self._collective(Call.all_reduce, array, op.value) as (header, deadline):
            if array.nbytes * (self.size - 1) <= (PAIR_BYTES if self.size == 2 else SMALL_BYTES):
                self._all_reduce_at_once(array, op, header, deadline)
                return
            parts = numpy.array_split(array, self.size)
            steps = range(2 * self.size - 2)
            outgoing = [parts[(self.rank - step) % self.size] for step in steps]
            incoming = [parts[(self.rank - step - 1) % self.size] for step in steps]
            self._ring(header, deadline, incoming, outgoing, op, self.size - 1)

    def _all_reduce_at_once(self, array: Any, op: ReduceOp, header: Header, deadline: Deadline) -> None:
        """Join the arrays of all, by rank, so that all get the same bits."""
        others = [rank for rank in range(self.size) if rank != self.rank]
        received = {rank: numpy.empty_like(array) for rank in others}
        self._exchange(header, [(rank, array) for rank in others], list(received.items()), deadline)
        if self.rank == 0:
            joined = array
        else:
            received[self.rank] = array
            joined = received[0]
        for rank in range(1, self.size):
            _combine(op, joined, received[rank])
        if joined is not array:
            array[...] = joined

    def all_gather(self, output: Any, array: Any) -> None:
        with self._collective(Call.all_gather, array) as (header, deadline):
            parts = self.parts(output)
            parts[self.rank][...] = array
            if array.nbytes * (self.size - 1) <= SMALL_BYTES:
                others = [rank for rank in range(self.size) if rank != self.rank]
                receives = [(rank, parts[rank]) for rank in others]
                self._exchange(header, [(rank, array) for rank in others], receives, deadline)
                return
            outgoing = [parts[(self.rank - step) % self.size] for step in range(self.size - 1)]
            incoming = [parts[(self.rank - step - 1) % self.size] for step in range(self.size - 1)]
            self._ring(header, deadline, incoming, outgoing)

    def reduce_scatter(self, output: Any, input: Any, op: ReduceOp) -> None:
        with self._collective(Call.reduce_scatter, input, op.value) as (header, deadline):
            parts = self.parts(input)
            output[...] = parts[self.rank]
            passing = [parts[(self.rank - step - 2) % self.size].copy() for step in range(self.size - 2)]
            outgoing = [parts[(self.rank - 1) % self.size], *passing]
            self._ring(header, deadline, [*passing, output], outgoing, op, self.size - 1)

    def gather(self, output: Any | None, array: Any, root: int) -> None:
        with self._collective(Call.gather, array, root) as (header, deadline):
            if self.rank != root:
                self._exchange(header, [(root, array)], [], deadline)
                return
            parts = self.parts(output)
            parts[root][...] = array
            receives = [(rank, part) for rank, part in enumerate(parts) if rank != root]
            self._exchange(header, [], receives, deadline)

    def scatter(self, array: Any, input: Any | None, root: int) -> None:
        with self._collective(Call.scatter, array, root) as (header, deadline):
            if self.rank != root:
                self._exchange(header, [], [(root, array)], deadline)
                return
            parts = self.parts(input)
            array[...] = parts[root]
            self._exchange(header, [(rank, part) for rank, part in enumerate(parts) if rank != root], [], deadline)

    def all_to_all(self, output: Any, input: Any, output_counts: Sequence[int], input_counts: Sequence[int]) -> None:
        with self._collective(Call.all_to_all, input) as (_, deadline):
            sent, received = split(input, input_counts), split(output, output_counts)
            received[self.rank][...] = sent[self.rank]
            others = [(self.rank + distance) % self.size for distance in range(1, self.size)]
            sends = [(rank, sent[rank]) for rank in others]
            self._exchange(None, sends, [(rank, received[rank]) for rank in others], deadline)

    def barrier(self) -> None:
        nothing = numpy.empty(0, numpy.uint8)
        with self._collective(Call.barrier, nothing) as (header, deadline):
            distance = 1
            while distance < self.size:
                sends = [((self.rank + distance) % self.size, nothing)]
                receives = [((self.rank - distance) % self.size, nothing)]
                self._exchange(header, sends, receives, deadline)
                distance *= 2

    # How collectives move arrays

    def _exchange(
        self,
        header: Header | None,
        sends: Sequence[tuple[int, Any]],
        receives: Sequence[tuple[int, Any]],
        deadline: Deadline,
    ) -> None:
        """Send arrays to processes and receive arrays from processes, all at the same time."""
        outgoing, incoming = [], []
        for rank, array in sends:
            own = header or Header(Call.all_to_all, self._sequence, array)
            outgoing.append(Outgoing(self._link(rank, deadline), own.data, as_bytes(array)))
        for rank, array in receives:
            expected = header or Header(Call.all_to_all, self._sequence, array)
            check = partial(expected.check, own_rank=self.rank)
            incoming.append(Incoming(self._link(rank, deadline), Header.LENGTH, as_bytes(array), check))
        exchange(outgoing, incoming, deadline)

    def _ring(
        self,
        header: Header,
        deadline: Deadline,
        incoming: Sequence[Any],
        outgoing: Sequence[Any],
        op: ReduceOp = ReduceOp.SUM,
        num_combined: int = 0,
    ) -> None:
        """Send arrays to the next process while others come from the previous one, which are then sent in turn."""
        before, after = (self.rank - 1) % self.size, (self.rank + 1) % self.size
        self._flow(header, deadline, before, incoming, after, outgoing, outgoing[0].nbytes, op, num_combined)

    def _flow(
        self,
        header: Header,
        deadline: Deadline,
        before: int | None,
        incoming: Sequence[Any],
        after: int | None,
        outgoing: Sequence[Any],
        ready: int,
        op: ReduceOp = ReduceOp.SUM,
        num_combined: int = 0,
    ) -> None:
        source = None if before is None else self._link(before, deadline)
        to = None if after is None else self._link(after, deadline)
        check = partial(header.check, own_rank=self.rank)
        combine_op = partial(_combine, op)
        Flow(source, incoming, to, outgoing, ready, header.data, check, combine_op, num_combined).run(deadline)

    # Connections

    def _link(self, rank: int, deadline: Deadline) -> Link:
        """The connection of collectives to a process: the higher rank makes it, and the lower one waits for it."""
        link = self._links.get(rank)
        if link is not None:
            return link
        if rank < self.rank:
            link = self._links[rank] = self._open(rank, COLLECTIVES, deadline)
            return link
        with self._accepted:
            while rank not in self._links:
                self._check_peer(None)
                remaining = deadline.remaining()
                if remaining <= 0:
                    raise LinkTimeoutError(f"no connection from rank {rank} within {deadline.seconds:g} s")
                if not self._accepted.wait(min(remaining, PROBE_SECONDS)):
                    self._accepted.release()
                    try:
                        self._check_peer(rank)
                    finally:
                        self._accepted.acquire()
            return self._links[rank]

    def _open(self, rank: int, channel: str, deadline: Deadline) -> Link:
        address = self._address_of(rank, deadline.remaining())
        try:
            return Link(open_channel(address, self.rank, channel, max(0.1, deadline.remaining()), f"rank {rank}"), rank)
        except DistNetworkError as error:
            raise PeerGoneError(f"rank {rank} cannot be reached: {error}") from error

    def _address_of(self, rank: int, seconds: float) -> Address:
        if rank not in self._addresses:
            key = f"endpoint/{rank}"
            try:
                self.store.wait([key], timedelta(seconds=max(0.0, seconds)))
            except DistStoreError as error:
                raise LinkTimeoutError(f"rank {rank} has not joined the group within {seconds:g} s") from error
            self._addresses[rank] = Address.unpack(self.store.get(key))
        return self._addresses[rank]

    def _check_peer(self, rank: int | None) -> None:
        """Raise if this communicator has failed, or the process of a rank is gone."""
        if self._failure is not None:
            raise DistBackendError(self._failure)
        if rank is None or (rank not in self._addresses and not self.store.check([f"endpoint/{rank}"])):
            return
        try:
            status = ask_status(self._address_of(rank, 1.0), PROBE_SECONDS, f"rank {rank}")
        except DistNetworkError as error:
            if is_refused(error):
                raise PeerGoneError(f"rank {rank} is gone (its process ended?)") from error
            return
        if status is None:
            raise PeerGoneError(f"rank {rank} has left the group")

    def accept(self, rank: int, channel: str, connection: socket.socket) -> None:
        """Take a connection from the process of a rank; for the endpoint's thread."""
        if not 0 <= rank < self.size or rank == self.rank or channel not in (COLLECTIVES, MESSAGES):
            connection.close()
            return
        link = Link(connection, rank)
        if channel == MESSAGES:
            self._mailbox.connect(rank, link)
        else:
            with self._accepted:
                self._links[rank] = link
                self._accepted.notify_all()
        if self._failure is not None:
            link.shutdown()

    # Faults

    def describe(self) -> Status:
        """What other processes are told when they ask; for the endpoint's thread."""
        return self._sequence, "collective", self._failure or ("not finished" if self._is_busy else "finished")

    def _collective(self, call: Call, array: Any, detail: int = 0) -> _Guard:
        self._sequence += 1
        return _Guard(self, call.name, Header(call, self._sequence, array, detail))

    def _fail(self, name: str, error: BaseException) -> None:
        """After an error in a collective what comes next cannot be understood, and the others learn of it."""
        if self._failure is None:
            self._failure = f"{name} failed in rank {self.rank} before: {error}"
        for link in list(self._links.values()):
            link.shutdown()

    def abort(self) -> None:
        if self._failure is None:
            self._failure = f"the process group was aborted in rank {self.rank}"
        for link in self._all_links():
            link.shutdown()
        self._mailbox.shutdown()
        with self._accepted:
            self._accepted.notify_all()

    def close(self) -> None:
        if self._pid != os.getpid():
            return
        self._endpoint.leave(self._address)
        self._failure = self._failure or "the process group was destroyed"
        for link in self._all_links():
            link.close()
        self._mailbox.close()

    def _all_links(self) -> list[Link]:
        sending = [route.link for route in self._routes.values() if route.link is not None]
        return [*self._links.values(), *sending]


class _Guard:
    """What every call does around its messages: refuse after a failure or a fork, and note failures."""

    def __init__(self, communicator: TcpCommunicator, name: str, header: Header | None = None) -> None:
        self._communicator = communicator
        self._name = name
        self._header = header

    def __enter__(self) -> tuple[Any, Deadline]:
        communicator = self._communicator
        if communicator._failure is not None:
            raise DistBackendError(communicator._failure)
        if communicator._pid != os.getpid():
            raise DistBackendError(
                f"{self._name}: this process was forked from the one that made the process group, and cannot use its "
                "connections; call init_process_group in it"
            )
        communicator._is_busy = communicator._is_busy or self._header is not None
        return self._header, Deadline(communicator.timeout.total_seconds())

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        communicator = self._communicator
        if self._header is not None:
            communicator._is_busy = False
        if isinstance(error, PeerGoneError) and communicator._failure is not None:
            raise DistBackendError(communicator._failure) from error
        if error is not None and self._header is not None:
            communicator._fail(self._name, error)


@hookimpl
def weft_communicator(backend: str) -> Callable[..., Any] | None:
    """Bring the backend ``tcp``."""
    return TcpCommunicator if backend == "tcp" else None
