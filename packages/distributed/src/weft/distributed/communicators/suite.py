"""What an engine of process groups owes to weft, as checks that anybody can run on a `Communicator` of their own.

With pytest, this is a whole test file, for an engine whose ranks may be threads of one process::

    from weft.testing import CommunicatorSuite

    class TestQueues(CommunicatorSuite):
        communicator = QueueCommunicator

The reference is NumPy: integers wrap around as its do, and results are compared byte by byte. Floating-point values are
chosen so that each order of adding gives the same sum; how sums are rounded is a check of its own.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial, reduce
from typing import Any

import ml_dtypes
import numpy

from weft.distributed._reduce_ops import ReduceOp
from weft.distributed.communicators.base import Communicator
from weft.distributed.stores import HashStore, PrefixStore, Store

__all__ = ["CommunicatorSuite", "Member"]

INTEGERS = "uint8 int8 int16 int32 int64 uint16 uint32 uint64".split()
FLOATS = "float16 bfloat16 float32 float64".split()
COMPLEX = "complex64 complex128".split()
FLOAT8 = "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu".split()
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX, *FLOAT8)
COUNTS = (0, 1, 2, 5, 257)  # less than there are ranks, and not divisible by them
LARGE = 400_009
GUARD = 3  # elements on both sides of each array, which no call may write; they also make its address an odd one


class CommunicatorSuite:
    """Base of a test class: name it ``Test...``, set ``communicator``, and pytest makes a test of each check.

    All checks of one size run in one start of its ranks, in the same order in each. By default the ranks are threads;
    for an engine that needs processes, override `start`.

    Attributes
    ----------
    communicator : callable
        ``communicator(store, rank, size, timeout)`` makes the `Communicator` of one rank; often the class itself.
    sizes : tuple of int
        The numbers of ranks to try.
    dtypes : tuple of str
        NumPy's and ml_dtypes' names of the dtypes that the engine moves and, but for float8_e8m0fnu, reduces.
    timeout : datetime.timedelta
        Of the communicators. It ends the checks of an engine that waits for ever.
    skip : frozenset of str
        Names of checks that do not apply, ``all_reduce[bool]``; their reason belongs beside them.

    Examples
    --------
    >>> from weft.distributed.communicators.single import SingleCommunicator
    >>> class OfOne(CommunicatorSuite):
    ...     communicator = SingleCommunicator
    ...     sizes = (1,)
    >>> OfOne().failures(1)
    {}
    """

    communicator: Callable[[Store, int, int, timedelta], Communicator]
    sizes: tuple[int, ...] = (2, 3, 4)
    dtypes: tuple[str, ...] = DTYPES
    timeout: timedelta = timedelta(seconds=60)
    skip: frozenset[str] = frozenset()

    def start(self, size: int) -> list[dict[str, str]]:
        """Start ``size`` ranks that each call `run_rank`, and return what these return, by rank.

        An engine whose ranks are processes overrides this with what starts them.
        """
        store = HashStore()
        reports: list[dict[str, str]] = [{} for _ in range(size)]

        def rank_of_thread(rank: int) -> None:
            reports[rank].update(self.run_rank(store, rank, size))

        in_threads([partial(rank_of_thread, rank) for rank in range(size)])
        return reports

    def asarray(self, values: numpy.ndarray) -> Any:
        """Return a copy of NumPy's array as the engine takes arrays; override it for arrays of a device."""
        return values.copy()

    def asnumpy(self, array: Any) -> numpy.ndarray:
        """Return an array of the engine as NumPy's."""
        return numpy.asarray(array)

    # What pytest and `start` call

    def names(self, size: int) -> list[str]:
        """The names of the checks of ``size`` ranks, in the order in which each rank runs them."""
        return list(self._checks(size))

    def run_rank(self, store: Store, rank: int, size: int) -> dict[str, str]:
        """Run all checks in this process, or thread, as one of the ranks.

        Returns
        -------
        dict
            By the name of a check, why it failed here, or an empty string. After an error other than a wrong result the
            ranks would not be at the same check any more: those that follow are missing.
        """
        report: dict[str, str] = {}
        communicator = type(self).communicator(PrefixStore("suite", store), rank, size, self.timeout)
        member = Member(self, communicator)
        for name, check in self._checks(size).items():
            try:
                check(member)
            except AssertionError as error:
                report[name] = str(error)
            except Exception:
                report[name] = traceback.format_exc()
                communicator.abort()
                return report
            else:
                report[name] = ""
        communicator.barrier()
        communicator.close()
        return report

    def failures(self, size: int) -> dict[str, str]:
        """Run all checks with ``size`` ranks; return those that failed, with the reason of each rank."""
        reports = self.start(size)
        found = {}
        for name in self.names(size):
            reasons = [report.get(name, "did not run: the ranks ended before") for report in reports]
            if any(reasons):
                found[name] = "\n".join(f"rank {rank}: {reason}" for rank, reason in enumerate(reasons) if reason)
        return found

    def _checks(self, size: int) -> dict[str, Callable[[Member], None]]:
        found: dict[str, Callable[[Member], None]] = {}
        for name in self.dtypes:
            dtype = numpy.dtype(getattr(ml_dtypes, name, name))
            for function in BY_DTYPE:
                found[f"{function.__name__}[{name}]"] = partial(function, dtype=dtype)
        found.update({function.__name__: function for function in GENERAL})
        if size > 1:
            found.update({function.__name__: function for function in OF_SEVERAL})
        if size == 2:  # it takes its time
            found[a_late_sender_is_an_error.__name__] = a_late_sender_is_an_error
        return {name: check for name, check in found.items() if name not in self.skip}

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make a test of each check and size; pytest calls this while it collects."""
        if "check" in metafunc.fixturenames:
            pairs = [(size, name) for size in self.sizes for name in self.names(size)]
            metafunc.parametrize(("size", "check"), pairs, ids=[f"{size}-{name}" for size, name in pairs])

    def test_communicator(self, size: int, check: str) -> None:
        """The claim that the check is named for, among so many ranks."""
        known = type(self).__dict__.get("_found") or {}
        if size not in known:
            known = {**known, size: self.failures(size)}
            type(self)._found = known
        expect(check not in known[size], known[size].get(check, ""))

    _found: dict[int, dict[str, str]]


class Member:
    """One rank, as a check sees it: its communicator, and arrays that tell when more than they was written.

    Parameters
    ----------
    suite : CommunicatorSuite
    communicator : Communicator
    """

    def __init__(self, suite: CommunicatorSuite, communicator: Communicator) -> None:
        self.suite = suite
        self.communicator = communicator
        self.rank = communicator.rank
        self.size = communicator.size
        self.groups = 0

    def array(self, values: numpy.ndarray) -> Guarded:
        """An array of the engine with these values."""
        return Guarded(self, values)

    def filled(self, count: int, dtype: Any) -> Guarded:
        """An array whose values tell whether the engine has written them."""
        return Guarded(self, numpy.full(count, 1, dtype))

    @contextmanager
    def group(self, ranks: Sequence[int], timeout: timedelta | None = None) -> Iterator[Member | None]:
        """A group of some ranks, in this order; None in the others. All ranks make the same groups."""
        self.groups += 1
        if self.rank not in ranks:
            yield None
            return
        store = PrefixStore(f"group{self.groups}", self.communicator.store)
        make = type(self.suite).communicator
        made = make(store, list(ranks).index(self.rank), len(ranks), timeout or self.suite.timeout)
        yield Member(self.suite, made)
        made.close()

    def in_threads(self, calls: Sequence[Callable[[], Any]]) -> None:
        """Make calls at the same time."""

        def run(call: Callable[[], Any]) -> None:
            call()
            self.in_order()

        in_threads([partial(run, call) for call in calls])

    def in_order(self) -> None:
        """Let the device's current stream wait for what the engine has queued."""
        if self.communicator.is_stream_ordered:
            self.communicator.wait_for(self.communicator.mark())


class Guarded:
    """An array between elements that no call may write."""

    def __init__(self, member: Member, values: numpy.ndarray) -> None:
        self.member = member
        around = numpy.ones(values.size + 2 * GUARD, values.dtype)
        around[GUARD : GUARD + values.size] = values
        self.whole = member.suite.asarray(around)
        self.array = self.whole[GUARD : GUARD + values.size]

    def read(self) -> numpy.ndarray:
        """The values, as NumPy's."""
        self.member.in_order()
        whole = self.member.suite.asnumpy(self.whole)
        guards = numpy.concatenate([whole[:GUARD], whole[len(whole) - GUARD :]])
        same(guards, numpy.ones_like(guards), "the elements before and behind the array")
        return whole[GUARD : len(whole) - GUARD]

    def expect(self, values: numpy.ndarray, what: str) -> None:
        """The values must be these."""
        same(self.read(), values, what)


# Values: each rank computes those of all others


def bits(dtype: Any, count: int, *key: int) -> numpy.ndarray:
    """Any values, NaN among them: what is only moved."""
    rng = numpy.random.default_rng((count, *key))
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    return rng.integers(0, 256, count * dtype.itemsize, numpy.uint8).view(dtype)


def numbers(dtype: Any, count: int, *key: int) -> numpy.ndarray:
    """Values whose sum and product is the same in each order: of integers all, else 0, 1 and 2."""
    if dtype.kind in "bui":
        return bits(dtype, count, *key)
    return numpy.random.default_rng((count, *key)).integers(0, 3, count).astype(dtype)


def reduced(op: ReduceOp, arrays: Sequence[numpy.ndarray]) -> numpy.ndarray:
    """What a reduction gives, by NumPy."""
    return reduce(FUNCTIONS[op], arrays)


FUNCTIONS: dict[ReduceOp, Any] = {
    ReduceOp.SUM: numpy.add,
    ReduceOp.PRODUCT: numpy.multiply,
    ReduceOp.MIN: numpy.minimum,
    ReduceOp.MAX: numpy.maximum,
    ReduceOp.BAND: numpy.bitwise_and,
    ReduceOp.BOR: numpy.bitwise_or,
    ReduceOp.BXOR: numpy.bitwise_xor,
}


def ops(dtype: Any) -> tuple[ReduceOp, ...]:
    """The reductions that a dtype has."""
    if dtype.name == "float8_e8m0fnu":  # powers of two alone
        return ()
    if dtype.kind == "c":
        return (ReduceOp.SUM,)
    every = tuple(FUNCTIONS)
    return every if dtype.kind in "bui" else every[:4]


# Each collective, by dtype


def broadcast(member: Member, dtype: Any) -> None:
    """From each root."""
    with problems() as found:
        for count in COUNTS:
            for root in range(member.size):
                mine = member.array(bits(dtype, count, member.rank))
                member.communicator.broadcast(mine.array, root)
                found(mine, bits(dtype, count, root), f"broadcast of {count} from {root}")


def all_reduce(member: Member, dtype: Any) -> None:
    """By each reduction."""
    with problems() as found:
        for op in ops(dtype):
            for count in COUNTS:
                every = [numbers(dtype, count, rank) for rank in range(member.size)]
                mine = member.array(every[member.rank])
                member.communicator.all_reduce(mine.array, op)
                found(mine, reduced(op, every), f"all_reduce of {count} by {op.name}")


def reduce_to_root(member: Member, dtype: Any) -> None:
    """To each root; the others keep their values."""
    with problems() as found:
        for op in ops(dtype):
            for root in range(member.size):
                count = COUNTS[(root + op.value) % len(COUNTS)]
                every = [numbers(dtype, count, rank) for rank in range(member.size)]
                mine = member.array(every[member.rank])
                member.communicator.reduce(mine.array, root, op)
                result = reduced(op, every) if member.rank == root else every[member.rank]
                found(mine, result, f"reduce of {count} by {op.name} to {root}")


def all_gather(member: Member, dtype: Any) -> None:
    """By rank, also where the array is this process's part of the output."""
    with problems() as found:
        for count in COUNTS:
            every = [bits(dtype, count, rank) for rank in range(member.size)]
            mine, output = member.array(every[member.rank]), member.filled(count * member.size, dtype)
            member.communicator.all_gather(output.array, mine.array)
            found(output, numpy.concatenate(every), f"all_gather of {count}")
            found(mine, every[member.rank], f"the input of all_gather of {count}")

            output = member.filled(count * member.size, dtype)
            part = member.communicator.parts(output.array)[member.rank]
            part[...] = mine.array
            member.communicator.all_gather(output.array, part)
            found(output, numpy.concatenate(every), f"all_gather of {count} in place")


def gather(member: Member, dtype: Any) -> None:
    """To each root."""
    with problems() as found:
        for root in range(member.size):
            for count in COUNTS:
                every = [bits(dtype, count, rank) for rank in range(member.size)]
                mine, output = member.array(every[member.rank]), member.filled(count * member.size, dtype)
                member.communicator.gather(output.array if member.rank == root else None, mine.array, root)
                found(mine, every[member.rank], f"the input of gather of {count} to {root}")
                if member.rank == root:
                    found(output, numpy.concatenate(every), f"gather of {count} to {root}")


def scatter(member: Member, dtype: Any) -> None:
    """From each root."""
    with problems() as found:
        for root in range(member.size):
            for count in COUNTS:
                every = [bits(dtype, count, rank, root) for rank in range(member.size)]
                mine, whole = member.filled(count, dtype), member.array(numpy.concatenate(every))
                member.communicator.scatter(mine.array, whole.array if member.rank == root else None, root)
                found(mine, every[member.rank], f"scatter of {count} from {root}")
                found(whole, numpy.concatenate(every), f"the input of scatter of {count} from {root}")


def reduce_scatter(member: Member, dtype: Any) -> None:
    """By each reduction, also where the output is this process's part of the input."""
    with problems() as found:
        for op in ops(dtype):
            for count in COUNTS:
                every = [numbers(dtype, count * member.size, rank) for rank in range(member.size)]
                result = reduced(op, every)[member.rank * count : (member.rank + 1) * count]
                mine, output = member.array(every[member.rank]), member.filled(count, dtype)
                member.communicator.reduce_scatter(output.array, mine.array, op)
                found(output, result, f"reduce_scatter of {count} by {op.name}")
                found(mine, every[member.rank], f"the input of reduce_scatter of {count} by {op.name}")

                part = member.communicator.parts(mine.array)[member.rank]
                member.communicator.reduce_scatter(part, mine.array, op)
                member.in_order()
                with found.collecting():
                    same(member.suite.asnumpy(part), result, f"reduce_scatter of {count} by {op.name} in place")


def all_to_all(member: Member, dtype: Any) -> None:
    """Of parts of one size, and of different ones, nothing among them."""
    with problems() as found:
        for counts in (lambda a, b: 5, lambda a, b: (3 * a + b) % 7, lambda a, b: 200 * (a < b), lambda a, b: 0):
            ranks = range(member.size)
            sent = [bits(dtype, counts(member.rank, to), member.rank, to) for to in ranks]
            received = [bits(dtype, counts(source, member.rank), source, member.rank) for source in ranks]
            input_counts, output_counts = [len(part) for part in sent], [len(part) for part in received]
            mine, output = member.array(numpy.concatenate(sent)), member.filled(sum(output_counts), dtype)
            member.communicator.all_to_all(output.array, mine.array, output_counts, input_counts)
            found(output, numpy.concatenate(received), f"all_to_all of {input_counts} to {output_counts}")
            found(mine, numpy.concatenate(sent), f"the input of all_to_all of {input_counts}")


def send_and_recv(member: Member, dtype: Any) -> None:
    """Round the ring, the lower rank of each pair first."""
    with problems() as found:
        for to, source in ring(member):
            for count in COUNTS[::2]:
                mine, theirs = member.array(bits(dtype, count, member.rank)), member.filled(count, dtype)
                both_ways(member, mine, to, theirs, source, tag=count)
                found(theirs, bits(dtype, count, source), f"recv of {count} from {source}")
                found(mine, bits(dtype, count, member.rank), f"what was sent to {to}")


def ring(member: Member) -> list[tuple[int, int]]:
    """The ranks to send to and to receive from, the neighbours first."""
    return [((member.rank + i) % member.size, (member.rank - i) % member.size) for i in range(1, member.size)]


def both_ways(member: Member, mine: Guarded, to: int, theirs: Guarded, source: int, tag: int) -> None:
    """Send and receive at the same time."""
    call = member.communicator
    member.in_threads([partial(call.send, mine.array, to, tag), partial(call.recv, theirs.array, source, tag)])


# What does not depend on the dtype

FLOAT32, INT32 = numpy.dtype("float32"), numpy.dtype("int32")


def large_arrays(member: Member) -> None:
    """Each collective on megabytes."""
    size, rank, call = member.size, member.rank, member.communicator
    every = [bits(INT32, LARGE, each) for each in range(size)]
    with problems() as found:
        mine = member.array(every[rank])
        call.all_reduce(mine.array, ReduceOp.SUM)
        found(mine, reduced(ReduceOp.SUM, every), "all_reduce")
        mine = member.array(every[rank])
        call.broadcast(mine.array, size - 1)
        found(mine, every[-1], "broadcast")
        mine, whole = member.array(every[rank]), member.filled(LARGE * size, INT32)
        call.all_gather(whole.array, mine.array)
        found(whole, numpy.concatenate(every), "all_gather")
        call.reduce_scatter(mine.array, whole.array, ReduceOp.SUM)
        with numpy.errstate(over="ignore"):
            found(mine, (every[rank] * size).astype(INT32), "reduce_scatter")
        mine, output = member.array(every[rank]), member.filled(LARGE * size, INT32)
        call.gather(output.array if rank == 0 else None, mine.array, 0)
        found(output, numpy.concatenate(every) if rank == 0 else numpy.ones(LARGE * size, INT32), "gather")
        mine = member.filled(LARGE, INT32)
        call.scatter(mine.array, whole.array if rank == 0 else None, 0)
        found(mine, every[rank], "scatter")
        call.all_to_all(output.array, whole.array, [LARGE] * size, [LARGE] * size)
        found(output, numpy.tile(every[rank], size), "all_to_all")


def large_messages_both_ways(member: Member) -> None:
    """Two that send to one another, and only then receive, in threads of their own."""
    with problems() as found:
        for to, source in ring(member):
            mine, theirs = member.array(bits(INT32, LARGE, member.rank)), member.filled(LARGE, INT32)
            both_ways(member, mine, to, theirs, source, tag=0)
            found(theirs, bits(INT32, LARGE, source), f"recv from {source}")


def many_calls_in_a_row(member: Member) -> None:
    """None takes what belongs to the next, nor waits for what it does not need."""
    call, ranks = member.communicator, range(member.size)
    with problems() as found:
        for i in range(60):
            count, root = 1 + i * 7 % 50, i % member.size
            every = [numbers(INT32, count, rank, i) for rank in ranks]
            mine, whole = member.array(every[member.rank]), member.filled(count * member.size, INT32)
            call.all_gather(whole.array, mine.array)
            call.broadcast(mine.array, root)
            found(mine, every[root], f"broadcast {i}")
            call.all_reduce(mine.array, ReduceOp.SUM)
            call.reduce(mine.array, root, ReduceOp.MAX)
            found(mine, reduced(ReduceOp.SUM, [every[root]] * member.size), f"all_reduce {i}")
            found(whole, numpy.concatenate(every), f"all_gather {i}")


def sums_are_rounded_alike_in_all_ranks(member: Member) -> None:
    """The same bits in each, close to the exact sum: gradients must not drift apart."""
    with problems() as found:
        for name in [name for name in FLOATS if name in member.suite.dtypes]:
            dtype = numpy.dtype(getattr(ml_dtypes, name, name))
            count = 1031
            every = [numpy.random.default_rng(rank).standard_normal(count).astype(dtype) for rank in range(member.size)]
            mine, whole = member.array(every[member.rank]), member.filled(count * member.size, dtype)
            member.communicator.all_reduce(mine.array, ReduceOp.SUM)
            member.communicator.all_gather(whole.array, mine.array)
            sums = whole.read().reshape(member.size, count)
            exact = sum(each.astype(numpy.float64) for each in every)
            magnitude = sum(numpy.abs(each.astype(numpy.float64)) for each in every)
            bound = member.size * float(ml_dtypes.finfo(dtype).eps) * magnitude
            with found.collecting():
                for rank in range(member.size):
                    same(sums[rank], sums[0], f"the sums of {name} in rank {rank} (expected: those of rank 0)")
                off = numpy.abs(sums[0].astype(numpy.float64) - exact) > bound
                expect(not off.any(), f"{int(off.sum())} of {count} sums of {name} are not close to the exact ones")


def a_barrier_waits_for_all(member: Member) -> None:
    """Nobody passes before the last has come."""
    store = member.communicator.store
    for i in range(3):
        if member.rank == i % member.size:
            time.sleep(0.05)
        store.set(f"barrier{i}/{member.rank}", "here")
        member.communicator.barrier()
        keys = [f"barrier{i}/{rank}" for rank in range(member.size)]
        if not member.communicator.is_stream_ordered:
            missing = [key for key in keys if not store.check([key])]
            expect(not missing, f"barrier {i} was passed before these ranks came to it: {missing}")


def a_group_of_one(member: Member) -> None:
    """It needs no messages."""
    for rank in range(member.size):
        with member.group([rank]) as alone:
            if alone is not None:
                mine = alone.array(numbers(INT32, 3, rank))
                alone.communicator.all_reduce(mine.array, ReduceOp.SUM)
                alone.communicator.barrier()
                mine.expect(numbers(INT32, 3, rank), "all_reduce among one")


# What needs two ranks


def tags_are_received_in_any_order(member: Member) -> None:
    """A message is found by its tag, also when another came first; those of one tag keep their order."""
    call, tags = member.communicator, (30000, 0, 7, 7)
    if member.rank == 0:
        sent = [member.array(bits(INT32, 10 + i, i)) for i in range(len(tags))]
        senders = [threading.Thread(target=call.send, args=(sent[i].array, 1, tags[i])) for i in range(3)]
        for sender in senders:
            sender.start()
        call.recv(member.filled(1, INT32).array, 1, 1)  # by now the second of 7 cannot overtake the first
        call.send(sent[3].array, 1, 7)
        for sender in senders:
            sender.join()
    elif member.rank == 1:
        received = {i: member.filled(10 + i, INT32) for i in (2, 1, 0, 3)}
        for i in (2, 1, 0):
            call.recv(received[i].array, 0, tags[i])
        call.send(member.filled(1, INT32).array, 0, 1)
        call.recv(received[3].array, 0, 7)
        with problems() as found:
            for i, each in received.items():
                found(each, bits(INT32, 10 + i, i), f"recv of tag {tags[i]}")


def messages_from_any_source(member: Member) -> None:
    """``recv`` of None takes the next that comes, and says whose it is."""
    if member.rank != 0:
        member.communicator.send(member.array(bits(INT32, 6, member.rank)).array, 0, 4)
        return
    sources = set()
    with problems() as found:
        for _ in range(1, member.size):
            theirs = member.filled(6, INT32)
            source = member.communicator.recv(theirs.array, None, 4)
            sources.add(source)
            found(theirs, bits(INT32, 6, source), f"what was received from any source, which said to be {source}")
    expect(sources == set(range(1, member.size)), f"messages came from {sorted(sources)}")


def messages_during_collectives(member: Member) -> None:
    """``send`` and ``recv`` of several threads, while another calls collectives."""
    with problems() as found:
        to, source = ring(member)[0]
        sent = [member.array(bits(INT32, 1000 * i, member.rank, i)) for i in range(4)]
        received = [member.filled(1000 * i, INT32) for i in range(4)]
        mine = [member.array(numbers(INT32, 500 * i, member.rank)) for i in range(6)]

        def collectives() -> None:
            for each in mine:
                member.communicator.all_reduce(each.array, ReduceOp.SUM)

        calls: list[Callable[[], Any]] = [collectives]
        for i in range(4):
            calls.append(partial(member.communicator.send, sent[i].array, to, i))
            calls.append(partial(member.communicator.recv, received[i].array, source, i))
        member.in_threads(calls)
        for i in range(4):
            found(received[i], bits(INT32, 1000 * i, source, i), f"recv of tag {i}")
        for i, each in enumerate(mine):
            every = [numbers(INT32, 500 * i, rank) for rank in range(member.size)]
            found(each, reduced(ReduceOp.SUM, every), f"all_reduce {i}")


def groups_of_some_ranks(member: Member) -> None:
    """Two at the same time; in another order; one inside the other."""
    size = member.size
    evens, odds = list(range(0, size, 2)), list(range(1, size, 2))
    with problems() as found, member.group(evens) as first, member.group(odds) as second:
        for ranks, group in ((evens, first), (odds, second), (list(range(size)), member)):
            if group is None:
                continue
            every = [numbers(INT32, 9, rank) for rank in ranks]
            mine = group.array(every[group.rank])
            group.communicator.all_reduce(mine.array, ReduceOp.SUM)
            found(mine, reduced(ReduceOp.SUM, every), f"all_reduce among {ranks}")
        with member.group(list(range(size))[::-1]) as backwards:
            assert backwards is not None
            mine = backwards.array(bits(INT32, 9, member.rank))
            whole = backwards.filled(9 * size, INT32)
            backwards.communicator.all_gather(whole.array, mine.array)
            found(whole, numpy.concatenate([bits(INT32, 9, rank) for rank in range(size)][::-1]), "all_gather")
            backwards.communicator.broadcast(mine.array, 0)
            found(mine, bits(INT32, 9, size - 1), "broadcast from the last rank, which is the group's first")


def tags_of_groups_do_not_meet(member: Member) -> None:
    """A message of one group is not received in another."""
    with problems() as found, member.group(list(range(member.size))) as other:
        assert other is not None
        if member.rank == 0:
            one, two = member.array(bits(INT32, 4, 1)), other.array(bits(INT32, 4, 2))
            in_threads(
                [partial(member.communicator.send, one.array, 1, 3), partial(other.communicator.send, two.array, 1, 3)]
            )
        elif member.rank == 1:
            for group, i in ((other, 2), (member, 1)):
                theirs = group.filled(4, INT32)
                group.communicator.recv(theirs.array, 0, 3)
                found(theirs, bits(INT32, 4, i), f"what was sent in group {i}")


def a_late_sender_is_an_error(member: Member) -> None:
    """``recv`` raises after the group's timeout, and does not wait for ever."""
    with member.group([0, 1], timeout=timedelta(seconds=2)) as pair:
        if pair is not None:
            pair.communicator.barrier()
            if pair.rank == 1:
                started = time.monotonic()
                raised = False
                try:
                    theirs = pair.filled(4, INT32)
                    pair.communicator.recv(theirs.array, 0, 0)
                    theirs.read()
                except RuntimeError:
                    raised = True
                member.communicator.store.set("late", "now")
                expect(raised, "recv returned, and nobody had sent")
                expect(time.monotonic() - started < 10, "recv raised long after its timeout")
            else:
                member.communicator.store.get("late")


BY_DTYPE = (
    broadcast,
    all_reduce,
    reduce_to_root,
    all_gather,
    gather,
    scatter,
    reduce_scatter,
    all_to_all,
    send_and_recv,
)
GENERAL = (
    large_arrays,
    large_messages_both_ways,
    many_calls_in_a_row,
    sums_are_rounded_alike_in_all_ranks,
    a_barrier_waits_for_all,
    a_group_of_one,
)
OF_SEVERAL = (
    tags_are_received_in_any_order,
    messages_from_any_source,
    messages_during_collectives,
    groups_of_some_ranks,
    tags_of_groups_do_not_meet,
)


class problems:
    """Collects what differs while a check goes on, so that all ranks make the same calls; raises it at the end."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def __enter__(self) -> problems:
        return self

    def __call__(self, array: Guarded, expected: numpy.ndarray, what: str) -> None:
        """The array must have these values."""
        with self.collecting():
            array.expect(expected, what)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Keep an AssertionError for the end."""
        try:
            yield
        except AssertionError as error:
            self.messages.append(str(error))

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None and self.messages:
            more = [f"and {len(self.messages) - 5} more"] if len(self.messages) > 5 else []
            raise AssertionError("; ".join(self.messages[:5] + more))


def in_threads(calls: Sequence[Callable[[], Any]]) -> None:
    """Run the calls at the same time; raise the first error."""
    errors: list[BaseException] = []

    def run(call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def same(found: numpy.ndarray, expected: numpy.ndarray, what: str) -> None:
    """Bit by bit."""
    expect(found.dtype == expected.dtype, f"{what}: dtype {found.dtype}, expected {expected.dtype}")
    expect(found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}")
    if found.tobytes() != expected.tobytes():
        itemsize = found.dtype.itemsize
        off = (found.view(numpy.uint8) != expected.view(numpy.uint8)).reshape(-1, itemsize).any(axis=1)
        where = numpy.flatnonzero(off)
        first = int(where[0])
        raise AssertionError(
            f"{what}: {len(where)} of {found.size} elements of {found.dtype} differ, the first at {first}: "
            f"{found[first]}, expected {expected[first]}"
        )


def expect(claim: bool, message: str) -> None:
    """Raise AssertionError with a message unless the claim holds; unlike assert, also under ``python -O``."""
    if not claim:
        raise AssertionError(message)
