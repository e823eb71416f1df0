"""DTensor: moving between placements, and ops on parts against ops on the whole."""

import copy
import io
import itertools

import pytest
from ranks import run_ranks

import weft
import weft.distributed as dist
from weft.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    init_device_mesh,
    zeros,
)
from weft.distributed.tensor import randn as divided_randn
from weft.distributed.tensor._utils import compute_local_shape_and_global_offset
from weft.distributed.tensor.experimental import implicit_replication, local_map
from weft.distributed.tensor.placement_types import _StridedShard
from weft.nn import functional as F


def full(value):
    return value.full_tensor() if isinstance(value, DTensor) else value


def assert_close(actual, expected, what=""):
    assert actual.shape == expected.shape, (what, actual.shape, expected.shape)
    assert weft.allclose(actual, expected, atol=1e-5, equal_nan=True), (what, actual, expected)


# Moving


def moves():
    size, rank = dist.get_world_size(), dist.get_rank()
    mesh = init_device_mesh("cpu", (size,))
    ways = [Replicate(), Shard(0), Shard(1), Shard(2)]
    for shape in ((5, 6, 2), (1, 4, 3), (4, 4, 4)):
        weft.manual_seed(1)
        x = weft.randn(shape)
        for source, target in itertools.product(ways, ways):
            divided = distribute_tensor(x, mesh, [source]).requires_grad_()
            moved = divided.redistribute(placements=[target])
            assert moved.placements == (target,)
            assert list(moved.to_local().shape) == list(compute_local_shape_and_global_offset(shape, mesh, [target])[0])
            assert weft.equal(moved.full_tensor(), x)
            (moved * moved).sum().backward()
            assert divided.grad.placements == (source,)
            assert_close(divided.grad.full_tensor(), 2 * x)
        for target, (op, joined) in itertools.product(
            ways, {"sum": sum(range(1, size + 1)), "avg": (size + 1) / 2, "max": size, "min": 1}.items()
        ):
            terms = DTensor.from_local(x.abs() * (rank + 1), mesh, [Partial(op)])
            assert_close(terms.redistribute(placements=[target]).full_tensor(), x.abs() * joined)


@pytest.mark.parametrize("size", [2, 3])
def test_every_placement_becomes_every_other_with_gradients(size):
    run_ranks(moves, size)


def moves_on_two_dims():
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    weft.manual_seed(1)
    x = weft.randn(7, 5)
    ways = [Replicate(), Shard(0), Shard(1)]
    pairs = [*itertools.product(ways, ways), (_StridedShard(0, split_factor=2), Shard(0))]
    divided = {pair: distribute_tensor(x, mesh, pair) for pair in pairs}
    for source, target in itertools.product(pairs, pairs):
        moved = divided[source].redistribute(placements=target)
        assert weft.equal(moved.to_local(), divided[target].to_local()), (source, target)
        assert weft.equal(moved.full_tensor(), x)
    # As FSDP over tensor parallel: the rows are divided by the second dim first.
    coordinate = mesh.get_coordinate()
    rows = weft.arange(8.0)
    strided = distribute_tensor(rows, mesh, (_StridedShard(0, split_factor=2), Shard(0)))
    assert strided.to_local().tolist() == [4.0 * coordinate[1] + 2 * coordinate[0] + each for each in range(2)]


def test_every_placement_of_two_dims_becomes_every_other():
    run_ranks(moves_on_two_dims, 4)


# Ops


def samples():
    """Functions of DTensors by name, with the shapes of their arguments (None: integers below 4)."""
    return {
        "add": (lambda a, b: a + b, (4, 6), (4, 6)),
        "broadcast": (lambda a, b: a * b - b, (4, 6), (6,)),
        "scalars": (lambda a: (a * 2 + 1) / 3 - 4, (4, 6)),
        "where": (lambda a, b: weft.where(a > 0, a, b), (4, 6), (4, 6)),
        "gelu": (lambda a: F.silu(F.gelu(a)).tanh(), (5, 6)),
        "matmul": (lambda a, b: a @ b, (4, 6), (6, 3)),
        "batched": (lambda a, b: a @ b.mT, (2, 4, 6), (2, 3, 6)),
        "linear": (lambda a, w, b: F.linear(a, w, b), (2, 4, 6), (4, 6), (4,)),
        "einsum": (lambda a, b: weft.einsum("bij,kj->bik", a, b), (2, 4, 6), (4, 6)),
        "sum": (lambda a: a.sum(0), (5, 6)),
        "mean": (lambda a: a.mean(-1, keepdim=True), (4, 6)),
        "mean of uneven parts": (lambda a: a.mean(), (5, 7)),
        "max": (lambda a: a.amax(1), (5, 6)),
        "norm": (lambda a: weft.linalg.vector_norm(a), (5, 6)),
        "var": (lambda a: a.var(0), (4, 6)),
        "softmax": (lambda a: a.softmax(-1), (5, 6)),
        "log_softmax": (lambda a: a.log_softmax(0), (5, 6)),
        "layer_norm": (lambda a, w, b: F.layer_norm(a, (6,), w, b), (4, 6), (6,), (6,)),
        "rms_norm": (lambda a, w: F.rms_norm(a, (6,), w), (2, 4, 6), (6,)),
        "view": (lambda a: a.view(2, 2, 6).transpose(1, 2).reshape(-1), (4, 6)),
        "heads": (lambda a: a.view(2, 4, 2, 3).transpose(1, 2).contiguous().view(4, 12), (2, 4, 6)),
        "permute": (lambda a: a.permute(2, 0, 1).unsqueeze(0).squeeze(0), (2, 4, 6)),
        "chunk": (lambda a: a.chunk(2, -1)[1] * a.split(3, -1)[0], (4, 6)),
        "index": (lambda a: a[:, 1:4, None] + a[0, 0], (4, 6)),
        "expand": (lambda a: a[None].expand(3, 4, 6), (4, 6)),
        "cat": (lambda a, b: weft.cat([a, b], 0), (4, 6), (2, 6)),
        "stack": (lambda a, b: weft.stack([a, b], 1), (4, 6), (4, 6)),
        "embedding": (lambda w, i: F.embedding(i, w), (4, 6), None),
        "gather": (lambda a, i: a.gather(0, i[:, None].expand(4, 6)), (4, 6), None),
        "index_select": (lambda a, i: a.index_select(0, i), (4, 6), None),
        "rows by index": (lambda a, i: a[i], (4, 6), None),
        "cumsum": (lambda a: a.cumsum(0), (4, 6)),
        "sort": (lambda a: a.sort(-1)[0] + a.topk(6, -1)[0], (4, 6)),
        "tril": (lambda a: a.tril() + weft.zeros_like(a), (4, 6)),
        "pad": (lambda a: F.pad(a, (1, 1)), (4, 6)),
        "cross_entropy": (lambda a, i: F.cross_entropy(a, i), (4, 6), None),
        "cross_entropy sum": (lambda a, i: F.cross_entropy(a, i, reduction="sum", ignore_index=1), (4, 6), None),
        "mse": (lambda a, b: F.mse_loss(a, b), (4, 6), (4, 6)),
        "attention": (
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
            *[(2, 4, 5, 3)] * 3,
        ),
        "conv2d": (lambda a, w: F.conv2d(a, w, padding=1), (4, 3, 5, 5), (2, 3, 3, 3)),
        "max_pool2d": (lambda a: F.max_pool2d(a, 2), (4, 2, 4, 4)),
        "dtype": (lambda a: a.to(weft.float64).float(), (4, 6)),
    }


def ops_on_parts():
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    wrong = []
    for name, (function, *shapes) in samples().items():
        weft.manual_seed(1)
        plain = [weft.randint(0, 4, (4,)) if shape is None else weft.randn(shape) for shape in shapes]
        leaves = [each.clone().requires_grad_(each.is_floating_point()) for each in plain]
        expected = function(*leaves)
        (expected * expected).sum().backward()
        ways = [[Replicate(), *(Shard(dim) for dim in range(min(each.ndim, 3)))] for each in plain]
        for placements in itertools.product(*ways):
            try:
                divided = [
                    distribute_tensor(each, mesh, [way]).requires_grad_(each.is_floating_point())
                    for each, way in zip(plain, placements)
                ]
                actual = function(*divided)
                (actual * actual).sum().backward()
                assert_close(actual.full_tensor(), expected, "result")
                for leaf, each in zip(leaves, divided):
                    if leaf.grad is not None:
                        assert_close(full(each.grad), leaf.grad, "gradient")
            except Exception as error:
                wrong.append(f"{name} {placements}: {type(error).__name__} {error}")
    assert not wrong, "\n".join(wrong)


def test_ops_on_parts_agree_with_ops_on_the_whole():
    run_ranks(ops_on_parts, 2)


def behaviour():
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    rank = dist.get_rank()
    x = weft.arange(12.0).reshape(4, 3)
    divided = distribute_tensor(x, mesh, [Shard(0)])
    # Results are placed as PyTorch places them.
    assert (divided + 1).placements == (Shard(0),)
    assert divided.sum().placements == (Partial("sum"),)
    assert (divided @ distribute_tensor(x.T.clone(), mesh, [Replicate()])).placements == (Shard(0),)
    assert divided.t().placements == (Shard(1),)
    assert divided.sum().item() == 66
    assert weft.equal(divided, distribute_tensor(x, mesh, [Replicate()]))
    assert repr(divided).startswith("DTensor(local_tensor=tensor(")
    assert (divided.shape, divided.stride(), divided.to_local().shape) == ((4, 3), (3, 1), (2, 3))
    # In place
    twice = divided.clone()
    twice.mul_(2).add_(distribute_tensor(x, mesh, [Replicate()]))
    assert weft.equal(twice.full_tensor(), 3 * x)
    with pytest.raises(RuntimeError, match="in-place"):
        divided.sum().exp_()
    # What is refused says what to do.
    with pytest.raises(RuntimeError, match="mixed"):
        divided + x
    with implicit_replication():
        assert weft.equal((divided + x).full_tensor(), 2 * x)
    with pytest.raises(NotImplementedError, match="does not have a sharding strategy"):
        F.batch_norm(divided, None, None, training=True)
    with pytest.raises(RuntimeError, match="internal use only"):
        divided.redistribute(placements=[Partial()])
    with pytest.raises(ValueError, match="same length"):
        distribute_tensor(x, mesh, [Shard(0), Shard(1)])
    with pytest.raises(RuntimeError, match="only accepts"):
        DTensor.from_local(divided, mesh, [Shard(0)])
    with pytest.raises(RuntimeError, match="leaf"):
        distribute_tensor(x.clone().requires_grad_() * 2, mesh, [Shard(0)])
    # Copies
    param = weft.nn.Parameter(divided)
    copied = copy.deepcopy(param)
    assert isinstance(param, weft.nn.Parameter)
    assert isinstance(copied, weft.nn.Parameter)
    assert isinstance(copied, DTensor)
    assert copied.requires_grad
    file = io.BytesIO()
    weft.save({"w": divided}, file)
    file.seek(0)
    loaded = weft.load(file, weights_only=False)["w"]
    assert loaded.device_mesh is mesh
    assert weft.equal(loaded.to_local(), divided.to_local())
    # Gradients of parts
    local = weft.full((2, 3), 1.0 + rank, requires_grad=True)
    whole = DTensor.from_local(local, mesh, [Shard(0)])
    (whole.full_tensor() * x).sum().backward()
    assert weft.equal(local.grad, x[2 * rank : 2 * rank + 2])
    terms = DTensor.from_local(weft.ones(3, requires_grad=True), mesh, [Partial()])
    assert terms.to_local().requires_grad
    uneven = DTensor.from_local(x[: 2 - rank], mesh, [Shard(0)], shape=(3, 3), stride=(3, 1), run_check=False)
    assert uneven.full_tensor().shape == (3, 3)
    # New ones
    assert zeros(5, 2, device_mesh=mesh, placements=[Shard(0)]).to_local().shape == (3 - rank, 2)
    weft.manual_seed(3)
    expected = weft.randn(5, 4)
    weft.manual_seed(3)
    assert weft.equal(divided_randn(5, 4, device_mesh=mesh, placements=[Shard(1)]).full_tensor(), expected)
    weft.manual_seed(3)
    drawn = F.dropout(distribute_tensor(weft.ones(6, 4), mesh, [Shard(0)]), 0.5).full_tensor()
    weft.manual_seed(3)
    assert weft.equal(drawn, F.dropout(weft.ones(6, 4), 0.5))
    with mesh:
        assert distribute_tensor(x, placements=[Shard(0)]).device_mesh is mesh
    module = distribute_module(weft.nn.Linear(3, 2), mesh)
    assert module.weight.placements == (Replicate(),)
    assert module(divided).placements == (Shard(0),)
    assert list(module.state_dict()) == ["weight", "bias"]
    doubled = local_map(lambda t: 2 * t, out_placements=[Shard(0)], in_placements=([Shard(0)],))
    assert weft.equal(doubled(divided).full_tensor(), 2 * x)


def test_a_dtensor_behaves_as_pytorchs():
    run_ranks(behaviour, 2)


def optimizers():
    mesh = init_device_mesh("cpu", (2,))
    wrong = []
    for make in (
        lambda params: weft.optim.SGD(params, 0.1, momentum=0.9, nesterov=True),
        lambda params: weft.optim.AdamW(params, 0.1, amsgrad=True),
        lambda params: weft.optim.Adam(params, 0.1, foreach=True),
        lambda params: weft.optim.RMSprop(params, 0.1),
        lambda params: weft.optim.Adagrad(params, 0.1),
        lambda params: weft.optim.Adamax(params, 0.1),
    ):
        weft.manual_seed(0)
        plain = [weft.nn.Parameter(weft.randn(5, 3)), weft.nn.Parameter(weft.randn(4, 2))]
        divided = [
            weft.nn.Parameter(distribute_tensor(each.detach(), mesh, [way]))
            for each, way in zip(plain, (Shard(0), Replicate()))
        ]
        steps = [make(plain), make(divided)]
        for _ in range(3):
            for each, other in zip(plain, divided):
                each.grad = weft.randn(each.shape)
                other.grad = distribute_tensor(each.grad, mesh, [Shard(1)])
            norms = [full(weft.nn.utils.clip_grad_norm_(params, 1.0)) for params in (plain, divided)]
            assert_close(norms[1], norms[0])
            for step in steps:
                step.step()
        for each, other in zip(plain, divided):
            if not weft.allclose(other.full_tensor(), each, atol=1e-6):
                wrong.append(type(steps[0]).__name__)
    assert not wrong


def test_optimizers_step_divided_parameters_as_whole_ones():
    run_ranks(optimizers, 2)
