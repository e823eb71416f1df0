"""`StoreRendezvous`: machines meet in a store that one of them holds, with numbers that they have or that they get.

The job goes through *rounds*, one for each start of the workers. The keys of a round begin with its number:

- ``joined`` counts the machines that came, and so numbers them, unless each has its number;
- ``nodes`` is set by the first of them, to how many take part, when all are there or the last call is over. Who came
  later waits for the next round;
- ``late`` counts those, ``done`` those whose workers have succeeded, ``beat/i`` how often the i-th looked in.

Anybody may begin the next round, by the key ``round``: after a failure, for late ones, or for one that is gone.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

from weft.distributed._errors import DistError
from weft.distributed.elastic.rendezvous.api import (
    RendezvousClosedError,
    RendezvousConnectionError,
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStoreInfo,
    RendezvousTimeoutError,
)
from weft.distributed.stores.base import PrefixStore, Store
from weft.distributed.stores.tcp import TCPStore

__all__ = ["StoreRendezvous"]

DEFAULT_PORT = 29400
PAUSE_SECONDS = 0.05
BEAT_SECONDS = 1.0


class StoreRendezvous(RendezvousHandler):
    """Machines that meet in a `TCPStore`.

    Parameters
    ----------
    parameters : RendezvousParameters
        In its configuration: ``rank`` (this machine's number, for ``"static"``), ``is_host`` (whether it holds the
        store, if the endpoint does not tell), and in seconds ``join_timeout`` (600, also ``timeout``),
        ``last_call_timeout`` (30: how long to wait for more than the least number of machines) and
        ``keep_alive_timeout`` (15: after which a machine that is not heard of counts as gone).
    """

    def __init__(self, parameters: RendezvousParameters) -> None:
        self.parameters = parameters
        self.join_seconds = float(parameters.get("join_timeout", parameters.get("timeout", 600)))
        self.last_call_seconds = float(parameters.get("last_call_timeout", 30))
        self.keep_alive_seconds = float(parameters.get("keep_alive_timeout", 15))
        self.round = 0
        self.rank = 0
        self.nodes = 1
        self._holds_store = False
        self._is_numbered = parameters.backend == "static"
        self._store: Store | None = None
        self._address: RendezvousStoreInfo | None = None
        self._beats: dict[int, tuple[bytes, float]] = {}
        self._last_beat = 0.0

    def get_backend(self) -> str:
        return self.parameters.backend

    def get_run_id(self) -> str:
        return self.parameters.run_id

    @property
    def use_agent_store(self) -> bool:
        return True

    @property
    def store(self) -> Store:
        """The keys of the rendezvous."""
        if self._store is None:
            self._store = PrefixStore(f"rendezvous/{self.parameters.run_id}", self._open())
        return self._store

    def next_rendezvous(self) -> RendezvousInfo:
        with self._connection_errors():
            deadline = time.monotonic() + self.join_seconds
            self.store.compare_set("round", "", "0")
            while not self._join(deadline):
                pass
            self._beats.clear()
            assert self._address is not None
            store = PrefixStore(f"{self.round}/agents", self.store)
            return RendezvousInfo(store, self.rank, self.nodes, self._address)

    # While the workers run

    def look(self) -> bool:
        """Whether the round is over, and the workers are to be restarted.

        Raises
        ------
        RendezvousClosedError
            If they have failed on another machine.
        """
        if self.parameters.max_nodes == 1:
            return False
        with self._connection_errors():
            if self._current_round() != self.round:
                return True
            self._beat()
            if self.num_nodes_waiting() and self.nodes < self.parameters.max_nodes:
                self.restart()
            return False

    def restart(self) -> None:
        """Begin the next round, if nobody has."""
        with self._connection_errors():
            self.store.compare_set("round", str(self.round), str(self.round + 1))

    def wait_for_all(self, seconds: float) -> bool:
        """Wait until the workers of all machines have succeeded; False if they are to be restarted."""
        if self.nodes == 1:
            return True
        with self._connection_errors():
            self.store.add(f"{self.round}/done", 1)
            deadline = time.monotonic() + seconds
            while self._number("done") < self.nodes and time.monotonic() < deadline:
                if self.look():
                    return False
                time.sleep(PAUSE_SECONDS)
            if self._holds_store:  # the others look until they see it
                self.store.add(f"{self.round}/left", 1)
                self._await(lambda: self._number("left") >= self.nodes, time.monotonic() + 1)
            else:
                self.store.add(f"{self.round}/left", 1)
        return True

    def num_nodes_waiting(self) -> int:
        return self._number("late")

    def is_closed(self) -> bool:
        return self.store.check(["closed"])

    def set_closed(self) -> None:
        with contextlib.suppress(DistError):  # who held the store has ended
            self.store.set("closed", "1")
            if self.nodes > 1 and self._holds_store:  # so that the others see why
                time.sleep(4 * PAUSE_SECONDS)

    def shutdown(self) -> bool:
        self._store = None
        return True

    # Parts

    def _join(self, deadline: float) -> bool:
        """Take part in a round; False if it was too late for that."""
        self.round = self._current_round()
        came = self.store.add(f"{self.round}/joined", 1) - 1
        self.rank = int(self.parameters.get("rank", 0)) if self._is_numbered else came
        if self.rank == 0:
            self._close_round(deadline)
        self._await(lambda: self._is_over() or self.store.check([f"{self.round}/nodes"]), deadline)
        if self._is_over():
            return False
        self.nodes = self._number("nodes")
        if self.rank < self.nodes:
            return True
        self.store.add(f"{self.round}/late", 1)
        self._await(self._is_over, deadline)
        return False

    def _close_round(self, deadline: float) -> None:
        """Wait for all machines, or for enough of them and the last call."""
        least, most = self.parameters.min_nodes, self.parameters.max_nodes
        self._await(lambda: self._number("joined") >= least, deadline)
        if least < most:
            end = min(deadline, time.monotonic() + self.last_call_seconds)
            while self._number("joined") < most and time.monotonic() < end:
                time.sleep(PAUSE_SECONDS)
        self.store.set(f"{self.round}/nodes", str(min(self._number("joined"), most)))

    def _await(self, condition: Callable[[], bool], deadline: float) -> None:
        while not condition():
            if time.monotonic() > deadline:
                raise RendezvousTimeoutError(
                    f"rendezvous {self.parameters.run_id!r} at {self.parameters.endpoint}: {self._number('joined')} of "
                    f"{self.parameters.min_nodes} nodes came in {self.join_seconds:g} s (--rdzv-conf join_timeout=...)"
                )
            if self.is_closed():
                raise RendezvousClosedError(
                    f"rendezvous {self.parameters.run_id!r}: the job has failed on another node"
                )
            time.sleep(PAUSE_SECONDS)

    def _is_over(self) -> bool:
        return self._current_round() != self.round

    def _current_round(self) -> int:
        if self.is_closed():
            raise RendezvousClosedError(f"rendezvous {self.parameters.run_id!r}: the job has failed on another node")
        return int(self.store.get("round"))

    def _number(self, key: str) -> int:
        return (
            int(self.store.add(f"{self.round}/{key}", 0))
            if key != "nodes"
            else int(self.store.get(f"{self.round}/nodes"))
        )

    def _beat(self) -> None:
        """Be heard of, and look whether the others are."""
        now = time.monotonic()
        if now - self._last_beat < BEAT_SECONDS:
            return
        self._last_beat = now
        self.store.add(f"{self.round}/beat/{self.rank}", 1)
        for rank in range(self.nodes):
            count = str(self._number(f"beat/{rank}")).encode()
            if rank not in self._beats or self._beats[rank][0] != count:
                self._beats[rank] = count, now
            elif now - self._beats[rank][1] > self.keep_alive_seconds:
                self.restart()

    @contextlib.contextmanager
    def _connection_errors(self) -> Iterator[None]:
        try:
            yield
        except DistError as error:
            raise RendezvousConnectionError(
                f"rendezvous {self.parameters.run_id!r}: no answer at {self.parameters.endpoint}: {error}"
            ) from error

    # The store

    def _open(self) -> Store:
        """Hold the store, or connect to it."""
        host, port = split_endpoint(self.parameters.endpoint, 29500 if self._is_numbered else DEFAULT_PORT)
        timeout = timedelta(seconds=self.join_seconds)
        if self._is_to_hold_store():
            try:
                store = TCPStore(host, port, None, True, timeout, wait_for_workers=False)
            except (DistError, OSError):
                if self._is_numbered:
                    raise
            else:
                self._holds_store = True
                self._address = RendezvousStoreInfo(host, store.port)
                return store
        self._address = RendezvousStoreInfo(host, port)
        return TCPStore(host, port, None, False, timeout)

    def _is_to_hold_store(self) -> bool:
        if self._is_numbered:
            return int(self.parameters.get("rank", 0)) == 0
        told = self.parameters.get_as_bool("is_host")
        return is_this_machine(split_endpoint(self.parameters.endpoint, DEFAULT_PORT)[0]) if told is None else told


def split_endpoint(endpoint: str, default_port: int) -> tuple[str, int]:
    """Host and port of ``host:port``, ``host`` or ``[ipv6]:port``.

    Examples
    --------
    >>> split_endpoint("node0:1234", 29400), split_endpoint("[::1]", 29400)
    (('node0', 1234), ('::1', 29400))
    """
    host, colon, port = endpoint.rpartition(":")
    if not colon or (endpoint.endswith("]") or (host.count(":") and not host.endswith("]"))):
        host, port = endpoint, ""
    try:
        number = int(port or default_port)
    except ValueError:
        raise ValueError(f"The port number of the rendezvous endpoint '{endpoint}' must be an integer.") from None
    if not 0 <= number < 1 << 16:
        raise ValueError(f"The port number of the rendezvous endpoint '{endpoint}' must be between 0 and 65535.")
    return host.strip("[]") or "localhost", number


def is_this_machine(host: str) -> bool:
    """Whether a host's name or address is of this machine."""
    if host in ("localhost", socket.gethostname(), socket.getfqdn()):
        return True
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return True
    with contextlib.suppress(OSError):
        addresses = {each[4][0] for each in socket.getaddrinfo(host, None)}
        own = {each[4][0] for each in socket.getaddrinfo(socket.gethostname(), None)}
        return bool(addresses & own)
    return False
