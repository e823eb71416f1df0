"""Collectives of tensors in 1 to 4 processes, against NumPy: dtypes, layouts, groups, forms and wrong calls."""

import warnings
from functools import reduce

import numpy
import pytest
from ranks import run_ranks

import weft
import weft.distributed as dist
from weft.distributed import ReduceOp

FLOATS = (weft.float32, weft.float64, weft.float16, weft.bfloat16)
INTEGERS = (weft.uint8, weft.int8, weft.int16, weft.int32, weft.int64, weft.uint16, weft.uint32, weft.uint64)
COMPLEX = (weft.complex64, weft.complex128)
DTYPES = (*FLOATS, *INTEGERS, *COMPLEX, weft.bool)
SHAPES = ((), (0,), (1,), (7,), (2, 3), (1000, 3))
NUMPY = {
    ReduceOp.SUM: numpy.add,
    ReduceOp.PRODUCT: numpy.multiply,
    ReduceOp.MIN: numpy.minimum,
    ReduceOp.MAX: numpy.maximum,
    ReduceOp.BAND: numpy.bitwise_and,
    ReduceOp.BOR: numpy.bitwise_or,
    ReduceOp.BXOR: numpy.bitwise_xor,
}


def values(shape, dtype, rank):
    """Small whole numbers, of which sums and products are exact in every dtype; others in each process."""
    count = int(numpy.prod(shape))
    numbers = (numpy.arange(count) * 7 + rank * 3) % 3 + 1
    return weft.tensor(numbers.reshape(shape), dtype=dtype)


def all_values(shape, dtype):
    return [values(shape, dtype, rank) for rank in range(dist.get_world_size())]


def array(tensor):
    """Its values in a dtype of NumPy's own, in which those are exact."""
    if tensor.dtype == weft.bool:
        return tensor.numpy()
    kind = weft.complex128 if tensor.is_complex() else weft.float64 if tensor.is_floating_point() else weft.int64
    return tensor.to(kind).numpy()


def same(found, expected):
    numpy.testing.assert_array_equal(array(found), expected)


def takes(op, dtype):
    if op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR):
        return not (dtype.is_floating_point or dtype.is_complex)
    return not (dtype.is_complex and op in (ReduceOp.MIN, ReduceOp.MAX))


def in_layout(tensor, layout):
    """The same values: one after the other in memory, or not."""
    if layout == "strided":
        room = tensor.new_zeros((*tensor.shape, 3))
        room[..., 1] = tensor
        return room[..., 1]
    if layout == "transposed" and tensor.ndim == 2:
        return tensor.t().clone(memory_format=weft.contiguous_format).t()
    return tensor.clone()


def reductions():
    """Every op, dtype, shape and layout in all_reduce, reduce and reduce_scatter."""
    rank, size, count = dist.get_rank(), dist.get_world_size(), 0
    for dtype in DTYPES:
        for shape in SHAPES:
            everybody = all_values(shape, dtype)
            for op in NUMPY:
                if not takes(op, dtype):
                    continue
                joined = reduce(NUMPY[op], [array(each) for each in everybody])
                layout = ("plain", "strided", "transposed")[count % 3]
                tensor = in_layout(everybody[rank], layout)
                dist.all_reduce(tensor, op)
                same(tensor, joined)
                tensor = in_layout(everybody[rank], layout)
                root = count % size
                dist.reduce(tensor, root, op)
                same(tensor, joined if rank == root else array(everybody[rank]))
                output = in_layout(weft.zeros(shape, dtype=dtype), layout)
                dist.reduce_scatter(output, [everybody[(rank + k) % size] for k in range(size)], op)
                parts = [array(everybody[(other + rank) % size]) for other in range(size)]
                same(output, reduce(NUMPY[op], parts))
                count += 1
    return count


def copies():
    """Every dtype, shape and layout in what only copies."""
    rank, size, count = dist.get_rank(), dist.get_world_size(), 0
    for dtype in DTYPES:
        for shape in SHAPES:
            everybody, layout = all_values(shape, dtype), ("plain", "strided", "transposed")[count % 3]
            own, root = in_layout(everybody[rank], layout), count % size
            count += 1
            tensor = own.clone() if rank == root else in_layout(weft.zeros(shape, dtype=dtype), layout)
            dist.broadcast(tensor, root)
            same(tensor, array(everybody[root]))

            outputs = [in_layout(weft.zeros(shape, dtype=dtype), layout) for _ in range(size)]
            dist.all_gather(outputs, own)
            for found, expected in zip(outputs, everybody):
                same(found, array(expected))

            outputs = [weft.zeros(shape, dtype=dtype) for _ in range(size)] if rank == root else None
            dist.gather(own, outputs, dst=root)
            for found, expected in zip(outputs or [], everybody):
                same(found, array(expected))

            tensor = in_layout(weft.zeros(shape, dtype=dtype), layout)
            dist.scatter(tensor, everybody if rank == root else None, src=root)
            same(tensor, array(everybody[rank]))

            stacked = weft.zeros((size, *shape), dtype=dtype)
            dist.all_gather_into_tensor(stacked, own)
            same(stacked, numpy.stack([array(each) for each in everybody]))

            outputs = [weft.zeros(shape, dtype=dtype) for _ in range(size)]
            dist.all_to_all(outputs, [everybody[(rank + other) % size] for other in range(size)])
            for other, found in enumerate(outputs):
                same(found, array(everybody[(other + rank) % size]))
    return count


TCP_AND_MPI = [*[("tcp", size) for size in (1, 2, 3, 4)], *[("mpi", size) for size in (1, 2, 3)]]


@pytest.mark.parametrize(("backend", "size"), TCP_AND_MPI)
def test_reductions_are_numpys(backend, size):
    assert run_ranks(reductions, size, backend=backend) == [len(SHAPES) * 83] * size


@pytest.mark.parametrize(("backend", "size"), TCP_AND_MPI)
def test_copies_are_whole(backend, size):
    assert run_ranks(copies, size, backend=backend) == [len(SHAPES) * len(DTYPES)] * size


def forms():
    """Forms that the tables above do not have."""
    rank, size = dist.get_rank(), dist.get_world_size()
    mean = weft.tensor([1.0, 2.0]) * (rank + 1)
    dist.all_reduce(mean, ReduceOp.AVG)
    assert mean.tolist() == [(size + 1) / 2, size + 1.0]
    scaled = weft.tensor([1.0 + rank])
    dist.all_reduce(scaled, dist.distributed_c10d._make_nccl_premul_sum(0.5))
    assert scaled.item() == sum(range(1, size + 1)) / 2

    sizes = [rank + other + 1 for other in range(size)]
    output = weft.zeros(sum(sizes), 2)
    given = weft.cat([weft.full((length, 2), 10.0 * rank + other) for other, length in enumerate(sizes)])
    dist.all_to_all_single(output, given, sizes, sizes)
    expected = [10.0 * other + rank for other, length in enumerate(sizes) for _ in range(length)]
    assert output[:, 0].tolist() == expected

    parts = [weft.zeros(other + 1) for other in range(size)]  # of another length in each process
    dist.all_gather(parts, weft.full((rank + 1,), float(rank)))
    assert [part.tolist() for part in parts] == [[float(other)] * (other + 1) for other in range(size)]
    share = weft.zeros(rank + 1)
    dist.reduce_scatter(share, [weft.ones(other + 1) for other in range(size)])
    assert share.tolist() == [float(size)] * (rank + 1)
    one, two = weft.ones(2), weft.ones(3, 3) * 2
    dist.all_reduce_coalesced([one, two])
    assert (one.tolist(), two[0].tolist()) == ([float(size)] * 2, [2.0 * size] * 3)

    with warnings.catch_warnings(action="error"):
        huge = weft.full((3,), 3e38)
        dist.all_reduce(huge)
    assert huge.tolist() == [float("inf")] * 3

    leaf = weft.nn.Parameter(weft.full((2,), float(rank)))
    before = leaf._version
    dist.broadcast(leaf, 0)
    assert (leaf.tolist(), leaf.requires_grad, leaf._version > before) == ([0.0, 0.0], True, rank != 0)
    conjugate = weft.tensor([1 + 2j, 3 + 4j]).conj()
    dist.all_reduce(conjugate)
    assert conjugate.tolist() == [size * (1 - 2j), size * (3 - 4j)]

    works = [dist.all_reduce(weft.full((1000,), float(k)), async_op=True) for k in range(20)]
    last = weft.ones(3)
    dist.all_reduce(last)  # behind the others
    assert last.tolist() == [float(size)] * 3
    assert all(work.wait() and work.is_success() for work in works)
    assert [work.result()[0][0].item() for work in works] == [float(k * size) for k in range(20)]
    future = dist.all_reduce(weft.ones(2), async_op=True).get_future().then(lambda done: done.value()[0] + 1)
    assert future.wait().tolist() == [size + 1.0] * 2
    return True


def groups():
    """Some of the processes."""
    rank = dist.get_rank()
    first, others, overlapping = dist.new_group([0, 1]), dist.new_group([2, 3]), dist.new_group([3, 1])
    own = first if rank < 2 else others
    assert (others if rank < 2 else first) == dist.GroupMember.NON_GROUP_MEMBER
    x = weft.tensor([float(rank)])
    dist.all_reduce(x, group=own)
    assert x.item() == (1.0 if rank < 2 else 5.0)
    assert dist.all_reduce(x, group=others if rank < 2 else first) is None  # no member: nothing happens
    assert (dist.get_rank(own), dist.get_world_size(own)) == (rank % 2, 2)
    assert dist.get_process_group_ranks(own) == ([0, 1] if rank < 2 else [2, 3])
    if rank in (1, 3):
        y = weft.tensor([float(rank)])
        dist.broadcast(y, src=3, group=overlapping)
        assert y.item() == 3.0
        dist.broadcast(y, group_src=0, group=overlapping)
        assert (dist.get_group_rank(overlapping, 3), dist.get_global_rank(overlapping, 0)) == (1, 1)
        gathered = [None, None]
        dist.all_gather_object(gathered, rank, group=overlapping)
        assert gathered == [1, 3]
    pairs = dist.new_subgroups(2)[0]
    z = weft.ones(1)
    dist.all_reduce(z, group=pairs)
    halves = dist.split_group(split_ranks=[[0, 2], [1, 3]])
    dist.all_reduce(z, group=halves)
    assert z.item() == 4.0
    dist.destroy_process_group(own)
    dist.barrier()
    return True


def messages():
    """What two processes send one another, in any order."""
    rank, size = dist.get_rank(), dist.get_world_size()
    to, source = (rank + 1) % size, (rank - 1) % size
    received = [weft.zeros(50_000), weft.zeros(3, dtype=weft.int64), weft.zeros(2, 2).t()]
    sent = [weft.full((50_000,), float(rank)), weft.tensor([rank] * 3), weft.arange(4.0).reshape(2, 2).t() + rank]
    works = [dist.isend(tensor, to, tag=tag) for tag, tensor in enumerate(sent)]
    works += [dist.irecv(tensor, source, tag=tag) for tag, tensor in reversed(list(enumerate(received)))]
    for work in works:
        work.wait()
    assert received[0].unique().tolist() == [float(source)]
    assert (received[1].tolist(), received[2].tolist()) == ([source] * 3, (sent[2] - rank + source).tolist())
    works = [dist.isend(weft.tensor([tag]), to, tag=tag) for tag in range(200)]
    number = weft.zeros(1, dtype=weft.int64)
    for tag in reversed(range(200)):
        dist.recv(number, source, tag=tag)
        assert number.item() == tag
    assert all(work.wait() for work in works)
    ops = [dist.P2POp(dist.irecv, received[1], source), dist.P2POp(dist.isend, sent[1] * 2, to)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert received[1].tolist() == [2 * source] * 3
    if rank == 0:
        sources = {dist.recv(weft.zeros(2)) for _ in range(size - 1)}  # from anybody
        assert sources == set(range(1, size))
        dist.send_object_list(["a", {"b": 1}], dst=1)
    else:
        dist.send(weft.ones(2), dst=0)
    if rank == 1:
        objects = [None, None]
        assert dist.recv_object_list(objects, src=0) == 0
        assert objects == ["a", {"b": 1}]
    return True


def objects():
    rank, size = dist.get_rank(), dist.get_world_size()
    gathered, own = [None] * size, {"rank": rank, "text": "x" * rank * 1000}
    dist.all_gather_object(gathered, own)
    assert gathered == [{"rank": other, "text": "x" * other * 1000} for other in range(size)]
    gathered = [None] * size if rank == size - 1 else None
    dist.gather_object(own["text"], gathered, dst=size - 1)
    assert gathered is None or [len(each) for each in gathered] == [1000 * other for other in range(size)]
    named = [f"of {rank}", rank, None]
    dist.broadcast_object_list(named, src=size - 1)
    assert named == [f"of {size - 1}", size - 1, None]
    mine = [None]
    dist.scatter_object_list(mine, [f"for {other}" * (other + 1) for other in range(size)] if rank == 0 else None)
    assert mine == [f"for {rank}" * (rank + 1)]
    return True


def methods():
    """Collectives as methods of a group, which libraries call."""
    group, rank = dist.group.WORLD, dist.get_rank()
    x, out = weft.ones(2), [weft.zeros(2), weft.zeros(2)]
    group.allreduce([x]).wait()
    group.broadcast(x, 1).wait()
    group.allgather([out], [x * (rank + 1)]).wait()
    assert (x.tolist(), out[1].tolist()) == ([2.0, 2.0], [4.0, 4.0])
    options = dist.AllreduceOptions(reduceOp=dist.ReduceOp.MAX)
    y = weft.tensor([float(rank)])
    group.allreduce(y, options).wait()
    both = weft.zeros(2)
    group._allgather_base(both, y + rank).wait()
    assert both.tolist() == [1.0, 2.0]
    group.reduce_scatter([y], [[both[:1], both[1:]]]).wait()
    assert y.item() == [2.0, 4.0][rank]
    group.barrier().wait()
    peer = 1 - rank
    works = [group.send([x], peer), group.recv([out[0]], peer)]
    assert all(work.wait() for work in works)
    assert group._get_sequence_number_for_group() == 7
    return True


def gradients():
    """Collectives that gradients flow through: each gradient is what finite differences of the sum of losses say."""
    from weft.distributed.nn import functional as differentiable

    rank, size = dist.get_rank(), dist.get_world_size()

    def leaf(*shape):
        return weft.full(shape, rank + 1.0, dtype=weft.float64, requires_grad=True)

    weight = rank + 2.0  # of this process's loss
    total = sum(other + 2.0 for other in range(size))
    x = leaf(2)
    (differentiable.all_reduce(x) * weight).sum().backward()
    assert x.grad.tolist() == [total] * 2
    x = leaf(2)
    gathered = differentiable.all_gather(x)
    sum((each * (index + 1) * weight).sum() for index, each in enumerate(gathered)).backward()
    assert x.grad.tolist() == [total * (rank + 1)] * 2
    x = leaf(2)
    (differentiable.broadcast(x, 0) * weight).sum().backward()
    assert x.grad.tolist() == [total if rank == 0 else 0.0] * 2
    xs = [leaf(3) for _ in range(size)]
    (differentiable.reduce_scatter(weft.empty(3), xs) * weight).sum().backward()
    assert [each.grad[0].item() for each in xs] == [other + 2.0 for other in range(size)]
    x = leaf(size)
    (differentiable.all_to_all_single(weft.empty(size, dtype=weft.float64), x) * weight).sum().backward()
    assert x.grad.tolist() == [other + 2.0 for other in range(size)]
    x = leaf(2)
    (sum(each.sum() for each in differentiable.gather(x, 0)) * weight).backward()
    assert x.grad.tolist() == [2.0] * 2
    xs = [leaf(2) for _ in range(size)]
    (differentiable.scatter(xs, 0) * weight).sum().backward()
    assert [each.grad[0].item() for each in xs] == [other + 2.0 if rank == 0 else 0.0 for other in range(size)]
    return True


def wrong_calls():
    """Bad input is refused before anything is sent: the next collective works."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = weft.ones(2)
    wrong = [
        (TypeError, "Expected parameter `tensor` of all_reduce", lambda: dist.all_reduce([x])),
        (TypeError, "op must be a ReduceOp", lambda: dist.all_reduce(x, "sum")),
        (ValueError, "BAND needs integers", lambda: dist.all_reduce(x, ReduceOp.BAND)),
        (ValueError, "does not support MAX on complex", lambda: dist.all_reduce(x + 0j, ReduceOp.MAX)),
        (ValueError, "needs its factor", lambda: dist.all_reduce(x, ReduceOp.PREMUL_SUM)),
        (ValueError, "no process of rank 9", lambda: dist.broadcast(x, src=9)),
        (ValueError, "one of src and group_src", lambda: dist.broadcast(x)),
        (TypeError, "List", lambda: dist.all_gather(x, x)),
        (ValueError, f"the group has {size} processes", lambda: dist.all_gather([x], x)),
        (TypeError, "tensor_list has", lambda: dist.all_gather([x.int()] * size, x)),
        (ValueError, "its place in tensor_list", lambda: dist.all_gather([weft.ones(5)] * size, x)),
        (ValueError, "elements for each", lambda: dist.all_gather_into_tensor(weft.ones(3), x)),
        (ValueError, "elements for each", lambda: dist.reduce_scatter_tensor(x, weft.ones(3))),
        (ValueError, "not divisible", lambda: dist.all_to_all_single(weft.ones(size + 1), weft.ones(size))),
        (ValueError, "split_sizes", lambda: dist.all_to_all_single(x, x, [1] * size, [5] * size)),
        (ValueError, "dense tensor", lambda: dist.all_reduce(x.to_sparse())),
        (ValueError, "to or from this process", lambda: dist.send(x, rank)),
        (ValueError, "tag must be", lambda: dist.send(x, (rank + 1) % size, tag=-1)),
        (ValueError, "rank twice", lambda: dist.new_group([0, 0])),
        (ValueError, "no process of rank 77", lambda: dist.new_group([0, 77])),
        (TypeError, "group must be a ProcessGroup", lambda: dist.all_reduce(x, group=3.5)),
        (ValueError, "twice", lambda: dist.init_process_group()),
        (ValueError, "a list of", lambda: dist.all_gather_object([None], 1)),
    ]
    for kind, text, call in wrong:
        with pytest.raises(kind, match=text):
            call()
    dist.all_reduce(x)
    assert x.tolist() == [float(size)] * 2
    return True


@pytest.mark.parametrize("backend", ["tcp", "mpi"])
@pytest.mark.parametrize(
    ("claim", "size"),
    [(forms, 2), (forms, 3), (groups, 4), (messages, 3), (objects, 3), (methods, 2), (gradients, 3), (wrong_calls, 2)],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_in_several_processes(claim, size, backend):
    assert run_ranks(claim, size, backend=backend) == [True] * size


def other_details(kind):
    """A call that differs from the other process's in what its shape does not show."""
    rank, x = dist.get_rank(), weft.ones(3)
    op = ReduceOp.MAX if rank else ReduceOp.SUM
    with pytest.raises(dist.DistBackendError) as caught:
        if kind == "broadcast":
            dist.broadcast(x, src=rank)
        elif kind == "reduce_scatter":
            dist.reduce_scatter(weft.ones(1), [weft.ones(1)] * 2, op)
        else:
            dist.all_reduce(x, op)
    return str(caught.value)


@pytest.mark.parametrize("backend", ["tcp", "mpi"])
@pytest.mark.parametrize(("kind", "first", "second"), [
    ("all_reduce", "SUM", "MAX"), ("reduce_scatter", "SUM", "MAX"), ("broadcast", "from 0", "from 1"),
])  # fmt: skip
def test_under_detail_other_reductions_and_roots_are_told(kind, first, second, backend):
    detail = {"WEFT_DISTRIBUTED_DEBUG": "DETAIL"}
    for said in run_ranks(other_details, 2, kind, backend=backend, environment=detail):
        assert first in said
        assert second in said
