"""The tcp engine: the same bits everywhere, messages beside collectives, and faults that are told."""

import itertools
import os
import signal
import socket
import threading
import time
from datetime import timedelta

import numpy
import pytest
from ranks import run_ranks

import weft
import weft.distributed as dist
from weft.distributed import _endpoint
from weft.distributed._reduce_ops import ReduceOp
from weft.distributed.communicators import _mailbox, tcp
from weft.distributed.communicators.tcp import TcpCommunicator
from weft.distributed.stores import HashStore
from weft.testing import CommunicatorSuite

SECONDS = 30
SMALL, LARGE = 33, 300_001  # elements: one step, and several pieces that go round


class TestTcp(CommunicatorSuite):
    communicator = TcpCommunicator


class TestTcpWithoutUnixSockets(CommunicatorSuite):
    communicator = TcpCommunicator
    sizes = (2, 3)
    dtypes = ("float32", "bfloat16", "int64", "bool")

    def start(self, size):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_endpoint, "listen_locally", lambda: None)
            return super().start(size)


def run_threads(size, function, timeout=SECONDS):
    """Call a function with the communicator of each of ``size`` threads, and return what each returns or raises."""
    store, results = HashStore(), [None] * size
    communicators = [TcpCommunicator(store, rank, size, timedelta(seconds=timeout)) for rank in range(size)]

    def call(rank):
        try:
            results[rank] = function(communicators[rank])
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=call, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * SECONDS)
        assert not thread.is_alive()
    for communicator in communicators:
        communicator.close()
    return results


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Threads and open files are as many after a test as before."""
    before = threading.active_count(), open_files()
    yield
    end = time.monotonic() + 5
    while (threading.active_count() > before[0] or open_files() > before[1]) and time.monotonic() < end:
        time.sleep(0.02)
    assert threading.active_count() <= before[0]  # what other tests left may go in the meantime
    assert open_files() <= before[1]


def open_files():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


# Results


@pytest.mark.parametrize("count", [SMALL, LARGE])
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
def test_sums_have_the_same_bits_on_all_ranks_and_in_all_runs(count, dtype):
    def total(communicator):
        values = numpy.random.default_rng(communicator.rank).standard_normal(count).astype(dtype)
        communicator.all_reduce(values, ReduceOp.SUM)
        return values.tobytes()

    assert len({*run_threads(4, total), *run_threads(4, total)}) == 1


def test_minimum_and_maximum_have_the_same_zero_on_all_ranks():
    def extremes(communicator):
        low = numpy.array([0.0 if communicator.rank % 2 else -0.0])
        high = low.copy()
        communicator.all_reduce(low, ReduceOp.MIN)
        communicator.all_reduce(high, ReduceOp.MAX)
        return low.tobytes(), high.tobytes()

    assert len(set(run_threads(3, extremes))) == 1


@pytest.mark.parametrize("size", [2, 3, 5])
def test_infinities_are_results_and_no_warnings(size):
    def total(communicator):
        values = numpy.full(SMALL, 3e38, "float32")
        communicator.all_reduce(values, ReduceOp.SUM)
        return values[0]

    assert run_threads(size, total) == [numpy.inf] * size


# Messages


def test_messages_go_beside_collectives_from_several_threads():
    def work(communicator):
        other = 1 - communicator.rank
        received = [numpy.zeros(LARGE), numpy.zeros(SMALL), numpy.zeros(LARGE)]

        def talk(tag):
            array = numpy.full_like(received[tag], 10 * communicator.rank + tag)
            threads = [
                threading.Thread(target=communicator.send, args=(array, other, tag)),
                threading.Thread(target=communicator.recv, args=(received[tag], other, tag)),
            ]
            for thread in threads:
                thread.start()
            return threads

        threads = list(itertools.chain(*map(talk, range(3))))
        totals = numpy.ones(LARGE)
        for _ in range(3):
            communicator.all_reduce(totals, ReduceOp.SUM)
        for thread in threads:
            thread.join(SECONDS)
        return totals[0] == totals[-1] == 8 and all(
            (array == 10 * other + tag).all() for tag, array in enumerate(received)
        )

    assert run_threads(2, work) == [True, True]


def test_from_anybody_also_after_others_have_left():
    store = HashStore()
    pair = [TcpCommunicator(store, rank, 3, timedelta(seconds=SECONDS)) for rank in range(3)]
    for rank in (1, 2):
        pair[rank].send(numpy.full(2, rank), 0, 5)
        pair[rank].close()
    array = numpy.zeros(2, int)
    assert sorted((pair[0].recv(array, None, 5), int(array[0])) for _ in range(2)) == [(1, 1), (2, 2)]
    with pytest.raises(dist.DistBackendError, match="closed its connection"):
        pair[0].recv(array, None, 5)
    pair[0].close()


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        (numpy.zeros(3, "float32"), numpy.zeros(4, "float32")),
        (numpy.zeros(4, "float32"), numpy.zeros(3, "float32")),
        (numpy.zeros(4, "float32"), numpy.zeros(4, "int32")),
    ],
    ids=["shorter", "longer", "another dtype"],
)
def test_a_message_that_does_not_fit_is_an_error_that_names_both_and_the_next_one_comes(sent, received):
    def work(communicator):
        if communicator.rank == 0:
            communicator.send(sent, 1, 0)
            communicator.send(received, 1, 0)
            return None
        with pytest.raises(dist.DistBackendError) as caught:
            communicator.recv(received, 0, 0)
        assert communicator.recv(received, 0, 0) == 0
        return str(caught.value)

    reason = run_threads(2, work)[1]
    assert f"{sent.nbytes} bytes of {sent.dtype}" in reason
    assert f"{received.nbytes} bytes of {received.dtype}" in reason


def test_messages_that_nobody_asks_for_are_bounded(monkeypatch):
    monkeypatch.setattr(_mailbox, "MAX_UNEXPECTED_BYTES", 1000)

    def work(communicator):
        array = numpy.zeros(100)
        if communicator.rank == 0:
            for tag in range(3):
                communicator.send(array, 1, tag)
        else:
            communicator.recv(array, 0, 2)

    assert "that no recv has asked for" in str(run_threads(2, work)[1])


# Faults


def two(first, second):
    """A function of a rank: one thing in rank 0, another in the others."""
    return lambda communicator: (second if communicator.rank else first)(communicator)


MISMATCHES = {
    "size": lambda each: each.all_reduce(numpy.zeros(SMALL + 1), ReduceOp.SUM),
    "large size": lambda each: each.all_reduce(numpy.zeros(LARGE), ReduceOp.SUM),
    "dtype": lambda each: each.all_reduce(numpy.zeros(SMALL, int), ReduceOp.SUM),
    "op": lambda each: each.all_reduce(numpy.zeros(SMALL), ReduceOp.MAX),
    "call": lambda each: each.broadcast(numpy.zeros(SMALL), 0),
}


@pytest.mark.parametrize("other", MISMATCHES)
def test_collectives_that_do_not_fit_are_told_on_both_sides(other):
    def call(communicator):
        communicator.all_reduce(numpy.zeros(SMALL), ReduceOp.SUM)

    results = run_threads(2, two(call, MISMATCHES[other]))
    reasons = " ".join(map(str, results))
    assert any(isinstance(result, dist.DistBackendError) for result in results)
    assert "all_reduce(SUM) #1 of 264 bytes of float64, but rank 1 called" in reasons or "but rank 0 called" in reasons


def test_after_a_failure_each_call_says_what_failed():
    def work(communicator):
        with pytest.raises(dist.DistBackendError):
            communicator.all_reduce(numpy.zeros(3 + communicator.rank), ReduceOp.SUM)
        with pytest.raises(dist.DistBackendError, match=r"all_reduce failed in rank . before"):
            communicator.barrier()
        return True

    assert run_threads(2, work) == [True, True]


def test_a_call_ends_after_the_timeout_and_names_whom_it_waits_for():
    def work(communicator):
        communicator.barrier()
        if communicator.rank == 1:
            time.sleep(1)
            return
        communicator.all_reduce(numpy.zeros(SMALL), ReduceOp.SUM)

    begun = time.monotonic()
    result = run_threads(2, work, timeout=0.3)[0]
    assert isinstance(result, dist.DistBackendError)
    assert "nothing from rank 1 within 0.3 s" in str(result)
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("call", ["all_reduce", "recv", "recv from any"])
def test_abort_ends_those_who_wait(call):
    def work(communicator):
        communicator.barrier()
        if communicator.rank == 1:
            return
        threading.Timer(0.1, communicator.abort).start()
        if call == "all_reduce":
            communicator.all_reduce(numpy.zeros(SMALL), ReduceOp.SUM)
        else:
            communicator.recv(numpy.zeros(SMALL), None if call == "recv from any" else 1, 0)

    begun = time.monotonic()
    assert "aborted" in str(run_threads(2, work)[0])
    assert time.monotonic() - begun < 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_forked_child_is_refused_and_leaves_its_parent_alone():
    def work(communicator):
        communicator.barrier()
        if communicator.rank == 0:
            child = os.fork()
            if not child:
                refused = 1
                try:
                    communicator.barrier()
                except dist.DistBackendError as error:
                    refused = 0 if "forked" in str(error) else 2
                communicator.close()
                os._exit(refused)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        communicator.barrier()
        return True

    assert run_threads(2, work) == [True, True]


def test_connections_for_no_rank_of_the_group_are_closed():
    communicator = TcpCommunicator(HashStore(), 0, 2, timedelta(seconds=SECONDS))
    for rank, channel in [(2, "messages"), (-1, "collectives"), (0, "messages"), (1, "something")]:
        ours, theirs = socket.socketpair()
        communicator.accept(rank, channel, theirs)
        assert ours.recv(1) == b""
        ours.close()
    communicator.close()


# In processes: what a program's errors say


def errors_of_faults(fault):
    """What a rank's collective says when rank 2 does something else."""
    dist.all_reduce(weft.ones(1))  # however long the others take to start
    group = dist.new_group(timeout=timedelta(seconds=2), group_desc="some")
    dist.all_reduce(weft.ones(5), group=group)
    rank = dist.get_rank()
    if rank == 2 and fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == 2 and fault == "sleeps":
        time.sleep(4)
        return ""
    try:
        dist.all_reduce(weft.ones(7) if rank == 2 else weft.ones(5), group=group)
    except dist.DistBackendError as error:
        print(error)
        return str(error)
    return ""


def test_a_rank_that_sleeps_is_named_by_all_who_wait():
    reasons = run_ranks(errors_of_faults, 3, "sleeps")[:2]
    for rank, reason in enumerate(reasons):
        assert f"rank {rank}: all_reduce #2 (float32 [5], SUM) of group 'some'" in reason
        assert "rank 2 has not called #2 (its last: all_reduce #1 (float32 [5], SUM), finished)" in reason


def test_a_rank_that_calls_something_else_is_told_at_once():
    reasons = run_ranks(errors_of_faults, 3, "differs")
    assert all("all_reduce #2 (float32 [" in reason for reason in reasons)
    assert any("of 20 bytes of float32" in reason and "of 28 bytes of float32" in reason for reason in reasons)


def test_a_rank_that_was_killed_is_told_at_once():
    with pytest.raises(AssertionError, match=r"(?s)rank 2 closed its connection .*rank 2 is gone"):
        run_ranks(errors_of_faults, 3, "killed")


def test_the_engine_is_found_by_its_name_alone():
    assert tcp.weft_communicator("tcp") is TcpCommunicator
    assert tcp.weft_communicator("udp") is None
