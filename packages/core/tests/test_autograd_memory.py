"""What a step made is freed by reference counts alone: nothing waits for Python's collector."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import weft
from weft._engine.tensor import Node
from weft.autograd import Function
from weft.autograd.graph import save_on_cpu, saved_tensors_hooks
from weft.utils.checkpoint import checkpoint


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


class Exp(Function):
    """Saves its output."""

    @staticmethod
    def forward(ctx, x):
        output = x.exp()
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx, grad):
        (output,) = ctx.saved_tensors
        return grad * output


class Doubled(Function):
    """Writes in place."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def live_nodes():
    return sum(issubclass(type(each), Node) for each in gc.get_objects())


def saved_outputs(x, w):
    return (x @ w).tanh().exp().softmax(-1).sqrt().sum()


def writes(x, w):
    h = x @ w
    h += 1
    h[0] = h[1] * 2
    h[:, 1:].mul_(w[0, 0])
    h.relu_().sigmoid_()
    buffer = weft.zeros(8, 4)
    views = buffer[:4], buffer[4:]
    views[0].copy_(h[:4])
    return (buffer.sum() + views[1].sum() + h.sum()) * 0.1


def views(x, w):
    h = (x @ w).view(-1, 2).t()[1:].unsqueeze(0).expand(3, 1, -1)
    first, second = h.chunk(2, -1)
    return sum(part.sum() for part in (x @ w).unbind(0)) + (first * second).sum()


def functions(x, w):
    return (Cube.apply(Exp.apply(x @ w * 0.01)).sum() + Doubled.apply(x @ w).sum()) * 0.01


def hooks(x, w):
    h = x @ w
    handles = [h.register_hook(lambda grad: grad * 0.5), w.register_hook(lambda grad: grad * 0.5)]
    handles += [h.grad_fn.register_hook(lambda inputs, outputs: None), h.grad_fn.register_prehook(lambda grads: None)]
    h.retain_grad()
    handles.append(w.register_post_accumulate_grad_hook(lambda tensor: None))
    result = h.exp().log().sum()
    handles[1].remove()
    handles[-1].remove()
    return result


def second_derivatives(x, w):
    (grad,) = weft.autograd.grad((x @ w).tanh().exp().sum(), w, create_graph=True)
    return grad.square().sum() * 0.01


def packed(x, w):
    with saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t), save_on_cpu():
        return (x @ w).exp().tanh().sum()


def recomputed(x, w):
    return checkpoint(lambda a: (a @ w).exp().tanh(), x, use_reentrant=False).sum()


def unfinished(x, w):
    (x @ w).exp().tanh().sum()  # a graph that nobody walks
    with pytest.raises(RuntimeError):
        (x @ w).backward()
    return (x @ w).sum()


def kept_graph(x, w):
    y = (x @ w).exp().sum()
    y.backward(retain_graph=True)
    return y


STEPS = [
    saved_outputs,
    writes,
    views,
    functions,
    hooks,
    second_derivatives,
    packed,
    recomputed,
    unfinished,
    kept_graph,
]


def living():
    """How many tensors and nodes there are, how many objects in all, and the bytes in arrays."""
    objects = gc.get_objects()
    arrays = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)])
    return (
        sum(issubclass(type(each), weft.Tensor | Node) for each in objects),  # not of dead proxies
        len(objects),
        sum(each.size for each in arrays.traces),
    )


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("loss", STEPS, ids=lambda each: each.__name__)
def test_training_without_the_collector_keeps_no_tensor_and_no_memory(loss, no_collector):
    weft.manual_seed(0)
    x, w = weft.rand(4, 4), weft.rand(4, 4, requires_grad=True)
    found = []
    tracemalloc.start()
    try:
        for _ in range(3):
            for _ in range(20):
                loss(x, w).backward()
                with weft.no_grad():
                    w -= 0.001 * w.grad
                w.grad = None
            found.append(living())
    finally:
        tracemalloc.stop()
    (_, _, _), (tensors, objects, array_bytes), last = found
    assert last[0] == tensors
    assert last[1] <= objects + 5
    assert last[2] == array_bytes


def test_memory_that_was_saved_is_freed_by_backward_while_the_result_lives(no_collector):
    x = weft.ones(4, requires_grad=True)
    saved = x * 2
    gone = weakref.ref(saved)
    y = (saved * saved).sum()
    del saved
    assert gone() is not None
    y.backward()
    assert gone() is None


def test_a_tensor_does_not_keep_the_views_of_it(no_collector):
    buffer = weft.zeros(8)
    views = [buffer[i] for i in range(8)]
    gone = [weakref.ref(each) for each in views]
    del views
    assert [each() for each in gone] == [None] * 8
    for _ in range(1000):
        buffer[0]
    assert len(buffer._version_counter.views) < 20


@pytest.mark.parametrize("walked", [True, False], ids=["backward", "dropped"])
def test_a_chain_of_100000_nodes_is_walked_and_freed_without_recursion(walked):
    x = weft.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + 1
    if walked:
        y.backward()
        assert x.grad.item() == 1
    recorded = live_nodes()
    del y
    assert live_nodes() <= recorded - 100_000
