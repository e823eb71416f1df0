"""backward and grad: what they take, what they leave, what they refuse."""

import contextlib
import math
import threading

import numpy as np
import pytest

import weft
from weft._engine.tensor import state
from weft.autograd import backward, grad
from weft.autograd.graph import get_gradient_edge


def leaf(*values):
    return weft.tensor(values or (1.0, 1.0), requires_grad=True)


def test_gradients_add_up_in_the_tensor_that_is_there():
    x = leaf()
    (x * 2).sum().backward()
    kept = x.grad
    (x * 3).sum().backward()
    (x * 4).sum().backward(inputs=[x])
    assert x.grad is kept
    assert kept.tolist() == [9, 9]


def test_a_gradient_that_an_op_gives_to_two_inputs_is_not_added_to_in_place():
    mean, std = weft.zeros(2, requires_grad=True), weft.ones(2, requires_grad=True)
    older = (mean * 2).sum()  # it reaches mean after the op whose gradients are one tensor of zeros
    (older + weft.normal(mean, std).sum()).backward()
    assert mean.grad.tolist() == [2, 2]
    assert std.grad.tolist() == [0, 0]


def test_no_gradient_shares_memory_with_another_or_with_what_was_given():
    x, z, given = leaf(), leaf(), weft.ones(2)
    (x + z).backward(given)
    x.view(2).backward(given)
    x.grad.add_(5)
    assert (given.tolist(), z.grad.tolist(), x.grad.tolist()) == ([1, 1], [1, 1], [7, 7])
    y = weft.ones(2, 2, requires_grad=True)
    y.sum().backward()
    y.grad[0, 0] = 5
    assert y.grad.tolist() == [[5, 1], [1, 1]]


def test_a_gradient_has_the_strides_of_its_tensor():
    x = weft.ones(2, 3, requires_grad=True)
    (x.t() * weft.arange(6.0).view(3, 2)).sum().backward()
    assert x.grad.stride() == (3, 1)
    y = weft.ones(3, 2).t().requires_grad_()
    (y * weft.arange(6.0).view(2, 3)).sum().backward()
    assert y.grad.stride() == y.stride() == (1, 2)
    assert y.grad.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_graph_is_freed_by_the_first_pass_unless_it_is_to_be_kept():
    x = leaf()
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()
    assert x.grad.tolist() == [4, 4]


def test_a_graph_that_saved_nothing_can_be_walked_again():
    x = leaf()
    y = (x + 1).view(2, 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x: (x * 2).backward(), RuntimeError, "scalar outputs"),
        (lambda x: (x * 2).backward(weft.ones(3)), RuntimeError, "shape"),
        (lambda x: weft.ones(1).backward(), RuntimeError, "does not require grad"),
        (lambda x: x.sum().backward(1.0), TypeError, "float"),
        (lambda x: x.sum().backward(inputs=[]), RuntimeError, "empty"),
        (lambda x: x.sum().backward(inputs=[weft.ones(2)]), RuntimeError, "does not require grad"),
        (lambda x: grad(x.sum(), leaf()), RuntimeError, "allow_unused"),
        (lambda x: grad(x.sum(), weft.ones(2)), RuntimeError, "does not require grad"),
        (lambda x: grad(x.sum(), x, allow_unused=False, materialize_grads=True), ValueError, "allow_unused"),
        (lambda x: grad(x.sum(), 3), TypeError, "inputs.*int"),
        (lambda x: (x * 1j).sum().backward(), RuntimeError, "real scalar"),
        (lambda x: weft.ones(2, dtype=weft.int64, requires_grad=True), RuntimeError, "floating point"),
        (lambda x: setattr(x, "grad", weft.ones(3)), RuntimeError, "size"),
        (lambda x: setattr(x, "grad", 1), TypeError, "int"),
        (lambda x: setattr(x, "grad", weft.ones(2, dtype=weft.float64)), RuntimeError, "type"),
        (lambda x: setattr(x, "grad", x), RuntimeError, "own grad"),
        (lambda x: (x * 1).requires_grad_(False), RuntimeError, "detach"),
    ],
)
def test_what_cannot_be_differentiated_is_refused(call, error, says):
    x = leaf()
    with pytest.raises(error, match=says):
        call(x)
    assert x.grad is None


def test_only_the_inputs_that_are_asked_for_get_gradients():
    x, z = leaf(), leaf()
    y = x * 2
    u = y * z
    u.sum().backward(inputs=[x], retain_graph=True)
    assert (x.grad.tolist(), z.grad) == ([2, 2], None)
    u.sum().backward(inputs=y, retain_graph=True)
    assert (x.grad.tolist(), y.grad.tolist()) == ([2, 2], [1, 1])
    (z * 2).sum().backward(inputs=[x])
    assert (x.grad.tolist(), z.grad) == ([2, 2], None)


def test_unused_inputs_give_none_or_zeros():
    x, z = leaf(), leaf()
    assert grad(x.sum(), (x, z), allow_unused=True)[1] is None
    found = grad(x.sum(), (x, z), materialize_grads=True)
    assert [each.tolist() for each in found] == [[1, 1], [0, 0]]


def test_a_tensor_is_its_own_gradient_and_that_frees_nothing():
    x = leaf(3.0)
    y = x * x
    assert grad(y, y)[0].item() == 1
    assert [each.item() for each in grad(y, (y, x))] == [1, 6]
    x.backward()
    assert x.grad.item() == 1


def test_gradients_of_several_results_at_once():
    x = leaf()
    backward([(x * 2).sum(), x * 3], [None, weft.ones(2)])
    assert x.grad.tolist() == [5, 5]
    y = x * 2
    assert [each.tolist() for each in grad([y.sum(), (y * 3).sum()], [x, x])] == [[8, 8], [8, 8]]


def test_gradients_at_one_of_several_outputs():
    x = weft.arange(4.0).requires_grad_()
    a, b = x.split(2)
    at_a, at_b, at_x = grad((a * b).sum(), (a, b, x))
    assert (at_a.tolist(), at_b.tolist(), at_x.tolist()) == ([2, 3], [0, 1], [2, 3, 0, 1])


def test_a_batch_of_vectors_gives_the_rows_of_the_jacobian():
    x = weft.ones(3, requires_grad=True)
    y = x * weft.arange(3.0)
    (rows,) = grad(y, x, weft.eye(3), is_grads_batched=True)
    assert rows.tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 2]]


def test_derivatives_of_derivatives():
    x = leaf(2.0)
    y, found = x**4, []
    for _ in range(4):
        (y,) = grad(y, x, create_graph=True)
        found.append(y.item())
    assert found == [32, 48, 48, 24]


@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_recorded_gradient_is_added_out_of_place():
    x = leaf(2.0)
    (x**3).backward(create_graph=True)
    first = x.grad
    (x**3).backward(create_graph=True)
    assert x.grad is not first
    assert (first.item(), x.grad.item()) == (12, 24)
    x.grad, total = None, x.grad
    total.backward()
    assert x.grad.item() == 24


def test_complex_gradients_are_conjugate_wirtinger_derivatives():
    z = weft.tensor([1 + 2j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    assert z.grad.tolist() == [2 + 4j]


def test_gradient_of_a_result_is_asked_for_with_a_warning():
    y = leaf() * 1
    with pytest.warns(UserWarning, match="retain_grad"):
        assert y.grad is None


def test_two_consumers_and_broadcasting_add_up():
    x = weft.ones(3, 1, requires_grad=True)
    b = weft.tensor(2.0, requires_grad=True)
    (x * weft.ones(1, 4) + b * x).sum().backward()
    assert x.grad.tolist() == [[12]] * 3
    assert b.grad.item() == 12


def test_threads_walk_one_graph_and_add_to_one_leaf():
    x = weft.ones(4, requires_grad=True)
    y = (x * 2).exp().sum()
    expected = 2 * np.exp(np.full(4, 2, np.float32))
    found = []

    def work():
        found.extend(grad(y, x, retain_graph=True)[0].numpy() for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 80
    for each in found:
        np.testing.assert_allclose(each, expected, rtol=1e-6)


def test_threads_that_find_no_gradient_at_a_leaf_lose_none(monkeypatch):
    x, meeting, copied = weft.ones(4, requires_grad=True), threading.Barrier(2), state.clone_like

    def clone_like(*args):
        with contextlib.suppress(threading.BrokenBarrierError):
            meeting.wait(0.2)  # for the other thread, which may not be here
        return copied(*args)

    monkeypatch.setattr(state, "clone_like", clone_like)
    threads = [threading.Thread(target=x.sum().backward) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert x.grad.tolist() == [2] * 4


def test_a_backward_pass_may_run_inside_another():
    class Inner(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with weft.enable_grad():
                y = x.detach().requires_grad_()
                (y * y).sum().backward()
            return grad * y.grad

    x = leaf(2.0)
    Inner.apply(Inner.apply(x)).sum().backward()
    assert x.grad.item() == 32


def test_a_recorded_backward_warns_once_of_the_cycle_unless_asked_for_always(monkeypatch):
    monkeypatch.setattr("weft._settings._said", set())
    x = leaf(2.0)
    with pytest.warns(UserWarning, match="create_graph=True"):
        (x * x).backward(create_graph=True)
    (x * x).backward(create_graph=True)
    grad(x * x, x, create_graph=True)
    weft.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="create_graph=True"):
            (x * x).backward(create_graph=True)
    finally:
        weft.set_warn_always(False)
    x.grad = None


def test_backward_accumulates_into_leaves_and_results_that_are_given_as_edges_of_the_graph():
    x = leaf(1.0, 2.0)
    y = x * 3
    weft.autograd.backward((y * y).sum(), inputs=[get_gradient_edge(x), get_gradient_edge(y)])
    assert x.grad.tolist() == [18, 36]
    weft.autograd.backward((y * y).sum(), inputs=y)  # a result keeps its gradient from then on
    assert y.grad.tolist() == [6, 12]
    assert x.grad.tolist() == [18, 36]


def test_an_edge_of_the_graph_is_differentiated_like_the_tensor_there():
    x = leaf(2.0)
    y = (x * x).sum()
    edge = get_gradient_edge(y)
    assert grad(edge, x, retain_graph=True)[0].tolist() == [4]
    assert grad(edge, x, weft.tensor(3.0), retain_graph=True)[0].tolist() == [12]
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        grad(edge, x, weft.ones(3), retain_graph=True)
    with pytest.raises(RuntimeError, match="same dtype"):
        grad(edge, x, weft.ones((), dtype=weft.complex64))
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        grad(get_gradient_edge(leaf() * 2), x)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used"):
        grad(y, get_gradient_edge(x.clone()), allow_unused=True, materialize_grads=True)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        grad(y, [])


@pytest.mark.parametrize("recorded", [False, True])
def test_backward_may_call_backward_two_thousand_deep(recorded):
    class Deep(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with weft.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, grad):
            if ctx.x > 0:
                with weft.enable_grad():
                    Deep.apply(ctx.x).sum().backward(retain_graph=recorded)
            elif recorded:
                raise ArithmeticError("the bottom")
            return grad

    x = weft.tensor(2000.0, requires_grad=True)
    if recorded:
        with pytest.raises(ArithmeticError, match="the bottom"):
            Deep.apply(x).backward()
    else:
        Deep.apply(x).backward()
        assert x.grad == 1
    assert weft.is_grad_enabled()


def test_nodes_are_of_classes_with_their_names_and_show_what_they_saved():
    x, y = leaf(2.0), leaf(3.0)
    product = x * y
    power = x.exp()
    assert type(product.grad_fn).__name__ == "MulBackward0"
    assert product.grad_fn is (product + 1).grad_fn.next_functions[0][0]
    assert type(product.grad_fn) is type((x * 2 * y).grad_fn)
    assert product.grad_fn._saved_self is x
    assert product.grad_fn._saved_other is y
    assert power.grad_fn._saved_result.tolist() == power.tolist()
    assert [each.tolist() for each in product.grad_fn(weft.ones(1))] == [[3], [2]]
    assert product.grad_fn._input_metadata[0].shape == (1,)
    assert product.grad_fn._input_metadata[0].dtype is weft.float32
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
        product.grad_fn(weft.ones(1), weft.ones(1))
    with pytest.raises(AttributeError):
        product.grad_fn._saved_nonsense
    (product + power).sum().backward()
    for node, name in ((product.grad_fn, "_saved_self"), (power.grad_fn, "_saved_result")):
        with pytest.raises(RuntimeError, match="already been freed"):
            getattr(node, name)


def test_a_view_made_where_nothing_is_recorded_collects_no_gradient():
    x = weft.ones(2, requires_grad=True)
    with weft.no_grad():
        view = x[0]
    assert view.requires_grad and view.is_leaf
    (view * 2).backward()
    assert view.grad is None and x.grad is None


def test_grad_dtype_is_the_dtype_of_the_gradients_of_a_leaf():
    class Widened(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad.to(weft.float64)

    for wanted, found in ((weft.float16, weft.float16), (None, weft.float64), (weft.float64, weft.float64)):
        x = weft.ones(2, requires_grad=True)
        x.clone()
        x.grad_dtype = wanted
        assert x.grad_dtype is wanted
        Widened.apply(x).sum().backward()
        assert x.grad.dtype is found and x.grad.tolist() == [1, 1]
        Widened.apply(x).sum().backward()
        assert x.grad.dtype is found and x.grad.tolist() == [2, 2]
    x = weft.ones(2, requires_grad=True)
    assert x.grad_dtype is weft.float32
    x.grad = weft.ones(2)
    with pytest.raises(RuntimeError, match="there is already a gradient"):
        x.grad_dtype = weft.float16
    x.grad = None
    x.grad_dtype = weft.float16
    with pytest.raises(RuntimeError, match="grad_dtype 'Half'"):
        x.grad = weft.ones(2)
    with pytest.raises(RuntimeError, match="only be set on leaf"):
        (x * 2).grad_dtype = None
    with pytest.raises(RuntimeError, match="only be accessed on leaf"):
        (x * 2).grad_dtype


def test_gradients_that_are_given_are_converted_to_the_dtype_of_the_output():
    x = weft.ones(3, requires_grad=True)
    assert weft.autograd.grad(x * 2, x, weft.tensor([1, 2, 3]))[0].dtype is weft.float32
    (batch,) = weft.autograd.grad(x * 2, x, weft.arange(6).view(2, 3), is_grads_batched=True)
    assert batch.dtype is weft.float32 and batch.tolist() == [[0, 2, 4], [6, 8, 10]]


def test_a_dense_gradient_adds_to_a_sparse_one():
    x = weft.ones(2, requires_grad=True)
    x.grad = weft.sparse_coo_tensor([[1, 1]], [1.0, 2.0], (2,))
    kept = x.grad
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 5] and kept.to_dense().tolist() == [0, 3]


@pytest.mark.parametrize(
    ("size", "index_size", "dim"),
    [((4, 5), (2, 5), 0), ((3, 4, 2), (3, 6, 1), 1), ((4,), (), 0), ((), (2,), 0), ((), (), 0)],
)
def test_the_sparse_gradient_of_gather_is_the_dense_one(size, index_size, dim):
    weft.manual_seed(0)
    x = weft.randn(size, requires_grad=True)
    index = weft.randint(x.size(dim) if size else 1, index_size)
    out = x.gather(dim, index, sparse_grad=True)
    grad = weft.rand_like(out)
    (found,) = weft.autograd.grad(out, x, grad)
    (expected,) = weft.autograd.grad(x.gather(dim, index), x, grad)
    assert found.is_sparse
    weft.testing.assert_close(found.to_dense(), expected)


def test_the_dict_of_hooks_can_be_set():
    x = weft.ones(2, requires_grad=True)
    assert x._backward_hooks is None
    x._backward_hooks = {0: lambda grad: grad * 3}
    x.sum().backward()
    assert x.grad.tolist() == [3, 3]
    x._backward_hooks = None
    x.sum().backward()
    assert x.grad.tolist() == [4, 4]


@pytest.mark.parametrize("given", ["float32", "float64", "int64"])
def test_a_gradient_of_another_dtype_takes_that_of_what_it_is_of(given):
    x = weft.ones(3, dtype=weft.bfloat16, requires_grad=True)
    seed = weft.ones(3, dtype=getattr(weft, given))
    (x * 2).backward(seed)
    assert x.grad.dtype is weft.bfloat16
    (grad,) = weft.autograd.grad(x * 2, x, seed)
    assert grad.dtype is weft.bfloat16
    assert grad.tolist() == [2.0, 2.0, 2.0]


PARTS = {  # functions of (1, 2, 3) that have to do with its first element alone
    "index": lambda x: x[0],
    "unbind": lambda x: x.unbind(0)[0],
    "split": lambda x: x.split(1)[0],
    "chunk": lambda x: x.chunk(3)[0],
    "tensor_split": lambda x: x.tensor_split(3)[0],
    "narrow": lambda x: x.narrow(0, 0, 1),
    "positions": lambda x: x[weft.tensor([0])],
    "gather": lambda x: x.gather(0, weft.tensor([0])),
    "index_select": lambda x: x.index_select(0, weft.tensor([0])),
    "take": lambda x: x.take(weft.tensor([0])),
    "masked_select": lambda x: x.masked_select(weft.tensor([True, False, False])),
    "min": lambda x: x.min(),
    "kthvalue": lambda x: x.kthvalue(1)[0],
    "sort": lambda x: x.sort()[0][0],
    "cummax": lambda x: x.cummax(0)[0][0],
    "cumsum": lambda x: x.cumsum(0)[0],
    "cumprod": lambda x: x.cumprod(0)[0],
    "logcumsumexp": lambda x: x.logcumsumexp(0)[0],
    "unfold": lambda x: x.unfold(0, 1, 1)[0],
    "as_strided": lambda x: x.as_strided((1,), (1,)),
    "flip": lambda x: x.flip(0)[2],
    "roll": lambda x: x.roll(1)[1],
    "cat": lambda x: weft.cat([x, x])[0],
    "stack": lambda x: weft.stack([x, x])[0, 0],
    "repeat": lambda x: x.repeat(2)[0],
    "pad": lambda x: weft.nn.functional.pad(x, (0, -2)),
    "embedding": lambda x: weft.nn.functional.embedding(weft.tensor([0]), x[:, None]),
    "renorm": lambda x: weft.renorm(weft.stack([x[:1] * 0, x[1:2] * float("nan"), x[2:] * 1]), 2, 0, 10.0)[0],
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("cotangent", [math.nan, math.inf])
def test_a_gradient_that_is_no_number_stays_with_its_element(part, cotangent):
    x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
    part(x).backward(weft.full(part(x).shape, cotangent))
    assert not math.isfinite(x.grad[0]) and x.grad[2] == 0


def test_a_gradient_is_no_view_and_can_be_detached_in_place():
    a, b = weft.randn(4, 8, requires_grad=True), weft.randn(1, 8, requires_grad=True)
    (a - b).norm(dim=1).sum().backward()
    for leaf in (a, b):
        assert leaf.grad._base is None
        assert leaf.grad.detach_() is leaf.grad
