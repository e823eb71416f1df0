"""Messages by MPI: mpi4py over any MPI, for processes that ``mpiexec`` or a cluster's scheduler has started.

Every call begins a nonblocking operation of MPI and polls it. Measured with MPICH, that is as fast as its blocking
calls, and a wait can end with an error after the timeout; a blocking one would also keep a core busy that another rank
needs.
"""

from __future__ import annotations

import atexit
import os
import secrets
import socket
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from datetime import timedelta
from functools import partial
from typing import Any, NoReturn

import ml_dtypes
import numpy

from weft.distributed._authentication import SECRET_VARIABLE
from weft.distributed._errors import DistBackendError, DistError
from weft.distributed._reduce_ops import ReduceOp, combine
from weft.distributed.communicators.base import Communicator
from weft.distributed.stores import HashStore, Store, TCPStore
from weft.plugins import hookimpl

__all__ = ["MpiCommunicator", "world_store"]

POLLS = 100  # at once, before others may have the core: some 20 us, in which small messages come
YIELDING_SECONDS = 0.005  # and 2 ns for each byte: polls move what is sent, so that they may not be rare
LONGEST_PAUSE = 0.001
FORWARDING_SECONDS = 0.3  # which mpiexec gets to forward a traceback: it drops what it has not when it ends all
ASKS_AFTER_SECONDS = 1.0  # of waiting, whether somebody's program has ended
ENDED = "mpi/ended"
ARITHMETIC = (ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX)
BITWISE = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
FIRST_TAG = 16  # tags below are those of composed collectives, which are negative

yield_core: Callable[[], Any] = getattr(os, "sched_yield", partial(time.sleep, 0))


class MpiCommunicator(Communicator):
    """Messages by MPI, among processes of ``MPI.COMM_WORLD``.

    Raises
    ------
    ImportError
        If mpi4py is not installed, or finds no MPI.
    RuntimeError
        If the processes were not started together by MPI.
    """

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(store, rank, size, timeout)
        process = mpi_process()
        store.set(f"mpi/{rank}", str(process.world.Get_rank()))
        store.wait([f"mpi/{each}" for each in range(size)], timeout)
        members = [int(store.get(f"mpi/{each}")) for each in range(size)]  # all are there: what follows cannot hang
        if len(set(members)) < size:
            raise RuntimeError(
                f"backend 'mpi': {size} processes, and MPI knows {process.world.Get_size()}. Start them by MPI: "
                f"mpiexec -n {size} python program.py"
            )
        self._MPI = process.MPI
        self._reductions = process.reductions
        self._lock = process.lock
        self._collectives: Any
        self._messages: Any
        with self._lock:
            group = process.world.Get_group().Incl(members)
            self._collectives = process.world.Create_group(group)
            self._messages = self._collectives.Dup()  # tags of messages meet no others
            group.Free()
        if size == process.world.Get_size():
            unlink_segments()
        self._seconds = timeout.total_seconds()
        self._aborted = False
        process.join(self)

    # Collectives

    def broadcast(self, array: Any, root: int) -> None:
        self._run(array.nbytes, self._collectives.Ibcast, self._bytes(array), root)

    def all_reduce(self, array: Any, op: ReduceOp) -> None:
        reduction = self._reductions[array.dtype]
        self._run(array.nbytes, self._collectives.Iallreduce, self._MPI.IN_PLACE, reduction(array), reduction.ops[op])

    def reduce(self, array: Any, root: int, op: ReduceOp) -> None:
        reduction = self._reductions[array.dtype]
        here = self.rank == root
        sent, received = (self._MPI.IN_PLACE, reduction(array)) if here else (reduction(array), None)
        self._run(array.nbytes, self._collectives.Ireduce, sent, received, reduction.ops[op], root)

    def all_gather(self, output: Any, array: Any) -> None:
        sent = self._MPI.IN_PLACE if numpy.may_share_memory(output, array) else self._bytes(array)
        self._run(output.nbytes, self._collectives.Iallgather, sent, self._bytes(output))

    def gather(self, output: Any | None, array: Any, root: int) -> None:
        received = None if output is None else self._bytes(output)
        self._run(array.nbytes * self.size, self._collectives.Igather, self._bytes(array), received, root)

    def scatter(self, array: Any, input: Any | None, root: int) -> None:
        sent = None if input is None else self._bytes(input)
        self._run(array.nbytes * self.size, self._collectives.Iscatter, sent, self._bytes(array), root)

    def reduce_scatter(self, output: Any, input: Any, op: ReduceOp) -> None:
        reduction = self._reductions[input.dtype]
        received = numpy.empty_like(output) if numpy.may_share_memory(output, input) else output
        begin = self._collectives.Ireduce_scatter_block
        self._run(input.nbytes, begin, reduction(input), reduction(received), reduction.ops[op])
        if received is not output:
            output[...] = received

    def all_to_all(self, output: Any, input: Any, output_counts: Sequence[int], input_counts: Sequence[int]) -> None:
        size = input.itemsize
        sent, received = [
            [array.view(numpy.uint8), [size * count for count in counts], self._MPI.BYTE]
            for array, counts in ((input, input_counts), (output, output_counts))
        ]
        self._run(input.nbytes + output.nbytes, self._collectives.Ialltoallv, sent, received)

    def barrier(self) -> None:
        self._run(0, self._collectives.Ibarrier)

    # Messages

    def send(self, array: Any, dst: int, tag: int) -> None:
        with self._lock:
            request = self._messages.Isend(self._bytes(array), dst, self._tag(tag))
        self._finish(request, request.Test, array.nbytes, f"rank {dst} does not receive, with tag {tag}", dst)

    def recv(self, array: Any, src: int | None, tag: int) -> int:
        MPI = self._MPI
        status = MPI.Status()
        source = MPI.ANY_SOURCE if src is None else src
        with self._lock:
            request = self._messages.Irecv(self._bytes(array), source, self._tag(tag))
        from_whom = "anybody" if src is None else f"rank {src}"
        test = partial(request.Test, status)
        late = f"nothing came from {from_whom} with tag {tag}"
        self._finish(request, test, array.nbytes, late, -1 if src is None else src, is_recv=True)
        count = status.Get_count(MPI.BYTE)
        if count != array.nbytes:
            raise DistBackendError(f"rank {status.source} sent {count} bytes, and {array.nbytes} were to be received")
        return int(status.source)

    def _tag(self, tag: int) -> int:
        most = self._MPI.COMM_WORLD.Get_attr(self._MPI.TAG_UB) - FIRST_TAG
        if tag > most:
            raise ValueError(f"backend 'mpi': a tag may be at most {most} with this MPI, got {tag}")
        return tag + FIRST_TAG

    # Waiting

    def _bytes(self, array: Any) -> list[Any]:
        return [array.view(numpy.uint8), self._MPI.BYTE]

    def _run(self, nbytes: int, begin: Callable[..., Any], *arguments: Any) -> None:
        """Run a collective."""
        with self._lock:
            request = begin(*arguments)
        self._finish(request, request.Test, nbytes, "not all ranks came")

    def _finish(
        self,
        request: Any,
        test: Callable[[], bool],
        nbytes: int,
        late: str,
        peer: int | None = None,
        is_recv: bool = False,
    ) -> None:
        """Return when a request is done.

        Parameters
        ----------
        request : mpi4py.MPI.Request
        test : callable
            Whether it is done.
        nbytes : int
            How much it moves.
        late : str
            What the error says otherwise.
        peer : int, optional
            Of a message: the other rank, or -1 for anybody.
        is_recv : bool
        """
        if self._lock is UNLOCKED:
            for _ in range(POLLS):
                if test():
                    return
        started = time.monotonic()
        yielding_until = started + YIELDING_SECONDS + 2e-9 * nbytes
        asks_at = started + ASKS_AFTER_SECONDS
        has_asked = False
        pause = 2e-5
        while not self._test(test):
            now = time.monotonic()
            if now < yielding_until:
                yield_core()
                continue
            if self._aborted:
                self._give_up(request, is_recv, "the group was ended while the call waited")
            if now - started > self._seconds:
                self._give_up(request, is_recv, f"{late}, within {self._seconds:g} s")
            if now > asks_at:
                ended = self._ended(peer)
                if ended is not None and has_asked:  # the second time: what it sent before may have been under way
                    self._give_up(request, is_recv, f"rank {ended} of the group has ended")
                has_asked = ended is not None
                asks_at = time.monotonic() + ASKS_AFTER_SECONDS + 1e-8 * nbytes
            time.sleep(pause)
            pause = min(1.2 * pause, LONGEST_PAUSE)

    def _test(self, test: Callable[[], bool]) -> bool:
        with self._lock:
            return test()

    def _ended(self, peer: int | None) -> int | None:
        """Which rank that a call waits for has ended its program: for a collective (None) any."""
        key = ENDED if peer is None else f"{ENDED}/{peer}"
        try:
            return int(self.store.get(key)) if self.store.check([key]) else None
        except DistError:  # the store went with the first rank
            return 0 if peer in (None, 0) else None

    def _give_up(self, request: Any, is_recv: bool, reason: str) -> NoReturn:
        mpi_process().abandon(request, is_recv)
        raise DistBackendError(reason)

    # The end

    def abort(self) -> None:
        if not self._aborted:
            self._aborted = True
            with suppress(DistError):
                self.store.set(f"{ENDED}/{self.rank}", str(self.rank))
                self.store.set(ENDED, str(self.rank))

    def close(self) -> None:
        mpi_process().leave(self)


class Reduction:
    """How MPI reduces arrays of a dtype.

    Parameters
    ----------
    datatype : mpi4py.MPI.Datatype
    ops : dict
        MPI's by weft's.
    is_known : bool
        mpi4py knows such arrays; else they are given to it as bytes.
    """

    def __init__(self, datatype: Any, ops: dict[ReduceOp, Any], is_known: bool) -> None:
        self.datatype = datatype
        self.ops = ops
        self._is_known = is_known

    def __call__(self, array: Any) -> list[Any]:
        """The array, as an argument of mpi4py's."""
        return [array if self._is_known else array.view(numpy.uint8), self.datatype]


def reductions(MPI: Any) -> dict[Any, Reduction]:
    """How MPI reduces arrays, by their dtype."""
    arithmetic = {ReduceOp.SUM: MPI.SUM, ReduceOp.PRODUCT: MPI.PROD, ReduceOp.MIN: MPI.MIN, ReduceOp.MAX: MPI.MAX}
    bitwise = {ReduceOp.BAND: MPI.BAND, ReduceOp.BOR: MPI.BOR, ReduceOp.BXOR: MPI.BXOR}
    either, both = (
        dict.fromkeys((ReduceOp.SUM, ReduceOp.MAX, ReduceOp.BOR), MPI.LOR),
        (dict.fromkeys((ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.BAND), MPI.LAND)),
    )
    found = {numpy.dtype(bool): Reduction(MPI.C_BOOL, {**either, **both, ReduceOp.BXOR: MPI.LXOR}, True)}
    for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split():
        found[numpy.dtype(name)] = Reduction(getattr(MPI, f"{name.upper()}_T"), {**arithmetic, **bitwise}, True)
    for name, datatype in (("float32", MPI.FLOAT), ("float64", MPI.DOUBLE)):
        found[numpy.dtype(name)] = Reduction(datatype, arithmetic, True)
    for name, datatype in (("complex64", MPI.C_FLOAT_COMPLEX), ("complex128", MPI.C_DOUBLE_COMPLEX)):
        found[numpy.dtype(name)] = Reduction(datatype, {op: arithmetic[op] for op in list(arithmetic)[:2]}, True)
    saturating = [
        dtype
        for dtype in found
        if dtype.kind in "iu" and dtype.itemsize < 4 and not wraps_around(MPI, dtype, found[dtype].datatype)
    ]
    return {**found, **own_reductions(MPI, saturating)}


def wraps_around(MPI: Any, dtype: Any, datatype: Any) -> bool:
    """Whether sums of small integers are modulo 2^n, as NumPy's: Open MPI's vectorized ones saturate."""
    most = numpy.full(257, numpy.iinfo(dtype).max, dtype)
    total = most.copy()
    MPI.SUM.Reduce_local([most, datatype], [total, datatype])
    return numpy.array_equal(total, most + most)


def own_reductions(MPI: Any, more: Sequence[Any]) -> dict[Any, Reduction]:
    """Those of dtypes that MPI has not, and some more: ops of weft's, which know the dtype by its own datatype."""
    dtypes: dict[int, Any] = {}

    def join(op: ReduceOp, inputs: Any, outputs: Any, datatype: Any) -> None:
        dtype = dtypes[MPI._handleof(datatype)]
        into = numpy.frombuffer(outputs, dtype)
        combine(numpy, op, into, numpy.frombuffer(inputs, dtype))

    ops = {op: MPI.Op.Create(partial(join, op), commute=True) for op in (*ARITHMETIC, *BITWISE)}
    found = {}
    names = "float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz".split()
    for dtype in [*more, *(numpy.dtype(getattr(ml_dtypes, name, name)) for name in names)]:
        datatype = (MPI.UINT16_T if dtype.itemsize == 2 else MPI.UINT8_T).Dup()
        dtypes[MPI._handleof(datatype)] = dtype
        found[dtype] = Reduction(datatype, ops, False)
    return found


UNLOCKED = nullcontext()


class MpiProcess:
    """What the communicators of this process share.

    While there are some, an uncaught exception ends all processes: the others would wait for this one.
    """

    def __init__(self) -> None:
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise ImportError(
                f"backend 'mpi': {error}. Install mpi4py and an MPI: pip install 'weft-distributed[mpi]'"
            ) from error
        self.MPI = MPI
        self.world = MPI.COMM_WORLD
        self.lock: Any = UNLOCKED
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            self.lock = threading.Lock()
            warnings.warn(
                "backend 'mpi': this MPI was started without MPI_THREAD_MULTIPLE, so that its calls take turns; "
                "messages and collectives of several threads are slower",
                stacklevel=4,
            )
        self.reductions = reductions(MPI)
        self._members: weakref.WeakSet[MpiCommunicator] = weakref.WeakSet()
        self._abandoned: list[Any] = []
        self._excepthook: Callable[..., Any] | None = None
        os.register_at_fork(after_in_child=self._forked)

    def join(self, communicator: MpiCommunicator) -> None:
        """Count a communicator among this process's."""
        if self._excepthook is None:
            self._excepthook, sys.excepthook = sys.excepthook, self._end_all
        self._members.add(communicator)

    def leave(self, communicator: MpiCommunicator) -> None:
        """Free what MPI holds of a communicator."""
        self._members.discard(communicator)
        if communicator._aborted:  # in `finally`, say: the others wait for what does not come
            self._end_without_others()
        elif not self._abandoned:
            with self.lock:
                communicator._messages.Free()
                communicator._collectives.Free()
        if not self._members:
            self._restore_excepthook()

    def abandon(self, request: Any, is_recv: bool) -> None:
        """Cancel a request, or keep what MPI may still write; then the end of this process waits for nobody."""
        if is_recv:
            with self.lock:
                request.Cancel()
                if request.Test():
                    return
        self._abandoned.append(request)
        self._end_without_others()

    def _end_without_others(self) -> None:
        """Let the end of this process be that of all, where MPI_Finalize would wait for them."""
        from mpi4py.run import set_abort_status

        set_abort_status(1)
        atexit.unregister(forward_output)
        atexit.register(forward_output)

    def _end_all(self, kind: Any, error: Any, trace: Any) -> None:
        assert self._excepthook is not None
        self._excepthook(kind, error, trace)
        forward_output()
        self.world.Abort(1)

    def _restore_excepthook(self) -> None:
        if self._excepthook is not None and sys.excepthook == self._end_all:
            sys.excepthook = self._excepthook
            self._excepthook = None

    def _forked(self) -> None:
        for communicator in self._members:
            communicator._collectives = communicator._messages = Forked()
        self._members.clear()
        self._restore_excepthook()


def forward_output() -> None:
    """Give ``mpiexec`` the time to forward what was written."""
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(FORWARDING_SECONDS)


class Forked:
    """In place of MPI's communicators in a process that was forked."""

    def __getattr__(self, name: str) -> Any:
        raise DistBackendError(
            "this process was forked from one that uses MPI, and cannot call it: start processes by 'spawn'"
        )


made: list[MpiProcess] = []
making = threading.Lock()


def mpi_process() -> MpiProcess:
    """What the communicators of this process share; made once, with mpi4py's import."""
    with making:
        if not made:
            made.append(MpiProcess())
        return made[0]


def unlink_segments() -> None:
    """Take the names of MPICH's shared memory away, which every process has mapped by now.

    MPICH removes them when a program ends well; where a process is killed, or ends all, they would stay.
    """
    try:
        with open("/proc/self/maps") as maps:
            names = {path for line in maps for path in line.split()[5:6] if path.startswith("/dev/shm/mpich_")}
    except OSError:  # not Linux
        return
    for name in names:
        with suppress(FileNotFoundError):  # another process was first
            os.unlink(name)


def world_store(timeout: timedelta) -> tuple[Store, int, int]:
    """Make a store that all processes of an MPI program share.

    Returns
    -------
    store : Store
    rank, size : int
        Of this process, and their number: MPI's.
    """
    process = mpi_process()
    world, rank, size = process.world, process.world.Get_rank(), process.world.Get_size()
    if size == 1:
        return HashStore(), 0, 1
    here = world.Split_type(process.MPI.COMM_TYPE_SHARED)
    on_one_machine = here.Get_size() == size
    here.Free()
    host = "127.0.0.1" if on_one_machine else socket.gethostbyname(socket.gethostname())
    secret = os.environ.get(SECRET_VARIABLE) or secrets.token_hex(32)
    store: Store | None = None
    if rank == 0:
        os.environ[SECRET_VARIABLE] = secret
        store = TCPStore(host, 0, is_master=True, timeout=timeout, wait_for_workers=False)
        world.bcast((host, store.port, secret))
    else:
        host, port, os.environ[SECRET_VARIABLE] = world.bcast(None)
        store = TCPStore(host, port, timeout=timeout)
    return store, rank, size


@hookimpl
def weft_communicator(backend: str) -> type[Communicator]:
    """Bring this engine."""
    return MpiCommunicator
