"""DistributedDataParallel: several processes train as one does on the whole batch."""

import copy
import itertools

import pytest
from ranks import run_ranks

import weft
import weft.distributed as dist
from weft import nn
from weft.nn.parallel import DistributedDataParallel as DDP


class Branches(nn.Module):
    """A module with a shared parameter, buffers, and a branch that few inputs take."""

    def __init__(self):
        super().__init__()
        self.first, self.shared, self.second = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)
        self.rare = nn.Linear(8, 8)

    def forward(self, x, rare=False):
        hidden = self.shared(self.first(x).tanh()).tanh()
        hidden = self.rare(hidden) if rare else hidden
        return {"out": [self.second(self.shared(hidden))]}


def model_of(kind):
    weft.manual_seed(0)
    if kind == "convolution":
        return nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 16, 5))
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 5))


def batch_of(kind, step=0, size=8):
    generator = weft.Generator().manual_seed(step)
    shape = (size, 2, 6, 6) if kind == "convolution" else (size, 6)
    return weft.randn(shape, generator=generator), weft.randint(0, 5, (size,), generator=generator)


def share(tensor):
    """The part of a batch of this process."""
    return tensor.chunk(dist.get_world_size())[dist.get_rank()]


def largest_difference(first, second):
    return max((a.detach() - b.detach()).abs().max().item() for a, b in zip(first, second))


def gradients_of_whole_and_parts():
    found = {}
    for kind in ("convolution", "linear"):
        for options in ({}, {"gradient_as_bucket_view": True}, {"bucket_cap_mb": 0.0001}, {"static_graph": True}):
            alone, divided = model_of(kind), DDP(model_of(kind), **options)
            for step in range(3):
                x, y = batch_of(kind, step)
                alone.zero_grad(), divided.zero_grad(set_to_none=step != 1)
                nn.functional.cross_entropy(alone(x), y).backward()
                nn.functional.cross_entropy(divided(share(x)), share(y)).backward()
                pairs = [each.grad for each in alone.parameters()], [each.grad for each in divided.parameters()]
                found[kind, *options, step] = largest_difference(*pairs)
    return found


@pytest.mark.parametrize(("size", "backend"), [(2, "tcp"), (4, "tcp"), (2, "mpi")])
def test_gradients_are_those_of_the_whole_batch(size, backend):
    if backend == "mpi":
        pytest.importorskip("mpi4py")
    for found in run_ranks(gradients_of_whole_and_parts, size, backend=backend):
        assert len(found) == 24
        assert max(found.values()) < 1e-6, found


def steps_of_whole_and_parts():
    """The largest differences of gradients on the way, and of parameters in the end, after 50 steps of training."""
    found = {}
    optimizers = (("SGD", {"lr": 0.1, "momentum": 0.9}), ("AdamW", {"lr": 0.01}))
    for (name, options), dtype in itertools.product(optimizers, (weft.float32, weft.float64)):
        models = alone, divided = model_of("linear").to(dtype), DDP(model_of("linear").to(dtype))
        steps = [getattr(weft.optim, name)(each.parameters(), **options) for each in models]
        gradients = []
        for number in range(50):
            x, y = batch_of("linear", number)
            x = x.to(dtype)
            for model, optimizer, a, b in ((alone, steps[0], x, y), (divided, steps[1], share(x), share(y))):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(a), b).backward()
            gradients.append(largest_difference(*([each.grad for each in model.parameters()] for model in models)))
            for optimizer in steps:
                optimizer.step()
        found[name, str(dtype)] = max(gradients), largest_difference(alone.parameters(), divided.parameters())
    return found


@pytest.mark.parametrize("size", [2, 4])
def test_fifty_steps_are_those_of_the_whole_batch(size):
    for found in run_ranks(steps_of_whole_and_parts, size):
        for (name, dtype), differences in found.items():
            assert max(differences) < (1e-6 if dtype == "weft.float32" else 1e-14), (name, dtype, differences)


def own(size, tensor):
    """The part of a batch of this process, of another number of processes than the world's."""
    return tensor.chunk(size)[dist.get_rank()]


def loss_of(model, x, y):
    return nn.functional.cross_entropy(model(x), y)


def grads(model):
    return [None if each.grad is None else each.grad.clone() for each in model.parameters()]


def differences():
    """What many ways of a step differ by from one process on the whole batch."""
    found = {}
    x, y = batch_of("linear")
    alone = model_of("linear")
    loss_of(alone, x, y).backward()
    expected = grads(alone)

    model = DDP(model_of("linear"), gradient_as_bucket_view=True)
    for part in range(2):  # accumulated over micro-batches
        a, b = share(x).chunk(2)[part], share(y).chunk(2)[part]
        if part == 0:
            with model.no_sync():
                (loss_of(model, a, b) / 2).backward()
            found["local"] = largest_difference(grads(model), expected) > 1e-6
        else:
            (loss_of(model, a, b) / 2).backward()
    found["no_sync"] = largest_difference(grads(model), expected)

    model = DDP(model_of("linear"))
    (
        loss_of(model, *[share(t).chunk(2)[0] for t in (x, y)])
        + loss_of(model, *[share(t).chunk(2)[1] for t in (x, y)])
    ).div(2).backward()
    found["two forwards"] = largest_difference(grads(model), expected)

    model = DDP(model_of("linear"))
    loss = loss_of(model, share(x), share(y))
    loss.backward(retain_graph=True)
    found["first of two backwards"] = largest_difference(grads(model), expected)

    model = DDP(model_of("linear"))
    restored = copy.deepcopy(model.module)
    loss_of(model, share(x), share(y)).backward()
    found["copied"] = max(each.grad is not None for each in restored.parameters())

    double = DDP(model_of("linear").double())
    nn.functional.cross_entropy(double(share(x).double()), share(y)).backward()
    found["float64"] = largest_difference([each.float() for each in grads(double)], expected)
    for dtype in (weft.float16, weft.bfloat16):
        half = DDP(model_of("linear").to(dtype))
        nn.functional.cross_entropy(half(share(x).to(dtype)).float(), share(y)).backward()
        found[str(dtype)] = largest_difference([each.float() for each in grads(half)], expected)
    mixed = model_of("linear")
    mixed[3].double()
    mixed.append(nn.Identity())
    mixed = DDP(nn.ModuleList(mixed))
    hidden = share(x)
    assert len({bucket.flat.dtype for bucket in mixed.reducer.buckets}) == 2
    mixed.reducer.prepare_for_backward([])
    for layer in list(mixed.module)[:3]:
        hidden = layer(hidden)
    nn.functional.cross_entropy(mixed.module[3](hidden.double()), share(y)).backward()
    found["two dtypes"] = largest_difference([each.float() for each in grads(mixed)], expected)
    low = DDP(model_of("linear"), mixed_precision=nn.parallel.distributed._MixedPrecision(weft.bfloat16, weft.bfloat16))
    output = low(share(x))
    nn.functional.cross_entropy(output.float(), share(y)).backward()
    found["mixed precision"] = largest_difference(grads(low), expected)
    found["output"] = str(output.dtype), str(low.module[0].weight.dtype), str(low.module[0].weight.grad.dtype)
    return found


def test_ways_of_a_step_give_the_gradients_of_the_whole_batch():
    for found in run_ranks(differences, 2):
        assert found.pop("local") is True
        assert found.pop("copied") is False
        assert found.pop("output") == ("weft.bfloat16", "weft.float32", "weft.float32")
        for name in ("weft.float16", "weft.bfloat16", "mixed precision"):
            assert found.pop(name) < 2e-2
        assert max(found.values()) < 1e-6, found


def unused():
    """Gradients of a branch that no process takes, one takes, both take; twice each."""
    found = {}
    weft.manual_seed(0)
    model = DDP(Branches(), find_unused_parameters=True)
    x = weft.randn(4, 6, generator=weft.Generator().manual_seed(dist.get_rank()))
    for takers in (0, 1, 2, 1, 0):
        model.zero_grad()
        model(x, rare=dist.get_rank() < takers)["out"][0].square().sum().backward()
        found.setdefault(takers, []).append([None if each is None else each.sum().item() for each in grads(model)])
    return found


def test_parameters_that_take_no_part_in_some_processes():
    first, second = run_ranks(unused, 2)
    assert first == second
    for takers, (one, *two) in first.items():
        assert all(one == each for each in two)
        assert sum(each is None for each in one) == (2 if takers == 0 else 0)


def refusals():
    found = []

    def told(call):
        try:
            call()
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")

    weft.manual_seed(0)
    model = DDP(Branches())
    x = weft.randn(4, 6)
    model(x)["out"][0].sum().backward()
    told(lambda: model(x))
    rank = dist.get_rank()
    told(lambda: DDP(nn.Linear(2, 2 + rank)))
    told(lambda: DDP(nn.Sequential(nn.Linear(2, 2), *[nn.Linear(2, 2)] * rank)))
    told(lambda: DDP(nn.ReLU()))
    told(lambda: DDP(nn.Linear(2, 2), device_ids=[0]))
    told(lambda: DDP(nn.Linear(2, 2), device_ids=[0, 1]))
    told(lambda: DDP(nn.LazyLinear(2)))
    told(lambda: DDP(nn.Linear(2, 2)).register_comm_hook(None, 3))
    return found


def test_what_cannot_be_trained_is_told():
    for rank, said in enumerate(run_ranks(refusals, 2)):
        assert "Expected to have finished reduction in the prior iteration" in said[0]
        assert f"did not receive grad for rank {rank}: rare.weight, rare.bias" in said[0]
        assert "find_unused_parameters=True" in said[0]
        assert said[1].startswith("RuntimeError: DDP expects same model") and "weight" in said[1]
        assert "Rank 0 has 2 params, while rank 1 has inconsistent 4 params" in said[2]
        assert "doesn't have any parameter that requires a gradient" in said[3]
        assert said[4].startswith("ValueError: DistributedDataParallel device_ids and output_device")
        assert said[5] == "ValueError: device_ids can only be None or contain a single element."
        assert "uninitialized parameters" in said[6]
        assert said[7] == "TypeError: Communication hook must be callable."


def modules():
    """What is equal in all processes: values at the beginning, buffers, gradients of special modules."""
    found = {}
    rank = dist.get_rank()
    weft.manual_seed(rank)  # not the same
    model = DDP(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)))
    found["begin"] = [each.sum().item() for each in model.parameters()]
    for _ in range(2):
        model(weft.randn(5, 3)).sum().backward()
    found["own mean"] = model.module[1].running_mean.tolist()
    model.eval()(weft.randn(5, 3))  # takes those of the first
    found["mean"] = model.module[1].running_mean.tolist()
    found["batches"] = model.module[1].num_batches_tracked.item()

    weft.manual_seed(0)
    for reentrant in (False, True):
        layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

        class Checkpointed(nn.Module):
            def __init__(self, layers, reentrant=reentrant):
                super().__init__()
                self.layers, self.reentrant = layers, reentrant

            def forward(self, x):
                for layer in self.layers:
                    x = weft.utils.checkpoint.checkpoint(layer, x, use_reentrant=self.reentrant)
                return x

        x = weft.randn(4, 4)
        plain = copy.deepcopy(layers)
        plain[2](plain[1](plain[0](x))).square().mean().backward()
        model = DDP(Checkpointed(layers))
        for _ in range(2):
            model.zero_grad()
            model(share(x).requires_grad_()).square().mean().backward()
        found["checkpoint", reentrant] = largest_difference(grads(model), grads(plain))

    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            for _ in range(2):
                x = weft.utils.checkpoint.checkpoint(self.layer, x, use_reentrant=True)
            return x

    model = Shared()
    plain = copy.deepcopy(model)
    plain(x.clone().requires_grad_()).square().mean().backward()
    model = DDP(model, static_graph=True)
    for step in range(3):
        model.zero_grad()
        model(share(x).requires_grad_()).square().mean().backward()
        found["static", step] = largest_difference(grads(model), grads(plain))

    words = weft.tensor([[1, 2], [2, 3], [0, 1], [1, 1]])
    embedding = nn.Sequential(nn.Embedding(5, 3, sparse=True), nn.Linear(3, 2))
    plain = copy.deepcopy(embedding)
    plain(words).square().mean().backward()
    model = DDP(embedding)
    for step in range(2):
        model.zero_grad()
        model(share(words)).square().mean().backward()
        assert model.module[0].weight.grad.is_sparse
        ours = [each.to_dense() if each.is_sparse else each for each in grads(model)]
        theirs = [each.to_dense() if each.is_sparse else each for each in grads(plain)]
        found["sparse", step] = largest_difference(ours, theirs)

    weight = nn.Parameter(weft.randn(3, dtype=weft.complex64))
    holder = nn.ParameterList([weight])
    model = DDP(holder)
    model.reducer.prepare_for_backward([])
    (weight * (rank + 1)).abs().square().sum().backward()
    found["complex"] = largest_difference([weight.grad], [weight.detach() * 2 * (1 + 4) / 2])

    frozen = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    frozen[0].requires_grad_(False)
    model = DDP(frozen)
    model(weft.ones(2, 3) * rank).sum().backward()
    assert frozen[0].weight.grad is None
    found["frozen"] = largest_difference([frozen[1].bias.grad], [weft.full((3,), 2.0)])
    channels_last = DDP(nn.Conv2d(2, 3, 3).to(memory_format=weft.channels_last), gradient_as_bucket_view=True)
    channels_last(weft.ones(1, 2, 4, 4) * rank).sum().backward()
    weight = channels_last.module.weight
    assert weight.grad.stride() == weight.stride()
    found["channels_last"] = largest_difference([weight.grad], [weft.full_like(weight, 2.0)])
    return found


def test_modules_of_all_kinds():
    first, second = run_ranks(modules, 2)
    assert first.pop("begin") == second.pop("begin")
    assert first.pop("own mean") != second.pop("own mean")
    assert first.pop("mean") == second.pop("mean")
    assert first.pop("batches") == second.pop("batches") == 2
    for found in (first, second):
        assert max(found.values()) < 1e-6, found


def hooks():
    from weft.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, default_hooks, register_ddp_comm_hook
    from weft.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as post_local
    from weft.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power

    found = {}
    x, y = batch_of("linear")
    alone = model_of("linear")
    loss_of(alone, x, y).backward()
    expected = grads(alone)
    seen = []

    def looks(state, bucket: dist.GradBucket) -> weft.futures.Future[weft.Tensor]:
        seen.append((bucket.index(), bucket.is_last(), len(bucket.gradients()), len(bucket.parameters())))
        return default_hooks.allreduce_hook(state, bucket)

    ways = {
        "own": (None, looks),
        "allreduce": (None, default_hooks.allreduce_hook),
        "fp16": (None, default_hooks.fp16_compress_hook),
        "bf16": (None, default_hooks.bf16_compress_hook),
        "fp16 of a hook": (None, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)),
        "rank": (power.PowerSGDState(None, 8, 2, min_compression_rate=0.1), power.powerSGD_hook),
        "batched": (power.PowerSGDState(None, 16, 2), power.batched_powerSGD_hook),
        "local": (post_local.PostLocalSGDState(None, None, 1), post_local.post_localSGD_hook),
    }
    for as_view in (False, True):
        for name, (state, hook) in ways.items():
            model = DDP(model_of("linear"), gradient_as_bucket_view=as_view)
            model.register_comm_hook(state, hook)
            for _ in range(4 if state is not None else 1):
                model.zero_grad()
                loss_of(model, share(x), share(y)).backward()
            found[name, as_view] = largest_difference(grads(model), expected)
    assert seen == [(0, True, 6, 6)] * 2, seen
    for kind in DDPCommHookType:
        if kind.name not in ("NOOP", "POST_LOCAL_SGD"):
            model = DDP(model_of("linear"))
            register_ddp_comm_hook(kind, model, state=None)
            loss_of(model, share(x), share(y)).backward()
            found[kind.name] = largest_difference(grads(model), expected)
    model = DDP(model_of("linear"))
    register_ddp_comm_hook(DDPCommHookType.NOOP, model)
    loss_of(model, share(x), share(y)).backward()
    found["noop"] = -largest_difference(grads(model), expected)
    model = DDP(model_of("linear"))
    state = power.PowerSGDState(None, 1, 2)
    model.register_comm_hook(state, power.powerSGD_hook)
    optimizer = weft.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(60):
        optimizer.zero_grad()
        loss = loss_of(model, share(x), share(y))
        loss.backward()
        optimizer.step()
    return found, loss.item(), state.compression_stats()[0], [each.sum().item() for each in model.parameters()]


def test_communication_hooks():
    first, second = run_ranks(hooks, 2)
    assert first[3] == second[3]
    for found, loss, rate, _ in (first, second):
        assert found.pop("noop") < -1e-3
        for name in list(found):
            half = isinstance(name, tuple) and name[0] in ("fp16", "bf16", "fp16 of a hook")
            if half or name in ("FP16_COMPRESS", "BF16_COMPRESS"):
                assert 0 < found.pop(name) < 1e-2
        # a matrix of full rank is exact up to what the orthogonal columns lose
        for name in [each for each in found if isinstance(each, tuple) and each[0] in ("rank", "batched")]:
            assert found.pop(name) < 2e-2
        assert max(found.values()) < 1e-6, found
        assert loss < 0.5
        assert rate > 1


def uneven():
    found = {}
    rank = dist.get_rank()
    for by_all in (True, False):
        weft.manual_seed(0)
        model = DDP(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
        optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
        with model.join(divide_by_initial_world_size=by_all):
            for step in range(3 + 2 * rank):
                optimizer.zero_grad()
                x = weft.randn(4, 2, generator=weft.Generator().manual_seed(step))
                model(x).square().mean().backward()
                optimizer.step()
        found[by_all] = [each.sum().item() for each in model.state_dict().values()]
    model = DDP(nn.Linear(2, 2))
    try:
        with model.join(throw_on_early_termination=True):
            for _ in range(3 + rank):
                model(weft.ones(1, 2)).sum().backward()
    except RuntimeError as error:
        found["told"] = str(error)
    return found


def test_inputs_of_different_number():
    first, second = run_ranks(uneven, 2)
    assert first.pop("told") == "Rank 0 exhausted all inputs."
    assert second.pop("told").startswith("Detected at least one rank that exhausted inputs.")
    assert first == second
    assert first[True] != first[False]


def overlap():
    """Which parameters' gradients are there when the exchange of a bucket begins."""
    weft.manual_seed(0)
    model = DDP(nn.Sequential(*[nn.Linear(4, 4) for _ in range(3)]), bucket_cap_mb=0.00005)
    begun = []

    def looks(state, bucket):
        begun.append([name for name, each in model.module.named_parameters() if each.grad is not None])
        future = weft.futures.Future()
        future.set_result(bucket.buffer())
        return future

    model.register_comm_hook(None, looks)
    model(weft.ones(2, 4)).sum().backward()
    return begun


def test_an_exchange_begins_while_the_backward_pass_goes_on():
    for begun in run_ranks(overlap, 2):
        assert [len(each) for each in begun] == sorted(len(each) for each in begun)
        assert begun[0] == ["2.weight", "2.bias"] or begun[0] == ["2.bias"]
