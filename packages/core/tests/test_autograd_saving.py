"""What is saved for backward: hooks on it, and checkpointing, which computes it again."""

import weakref

import pytest

import weft
from weft.autograd import Function, grad
from weft.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from weft.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

both = pytest.mark.parametrize("use_reentrant", [True, False])


def leaf(*values):
    return weft.tensor(values or (1.0, 1.0), requires_grad=True)


def test_hooks_see_each_saved_tensor_and_what_they_return_is_used():
    x, seen = leaf(2.0), []

    def pack(tensor):
        seen.append(("pack", tensor.item()))
        return tensor.detach() * 10

    def unpack(tensor):
        seen.append(("unpack", tensor.item()))
        return tensor / 10

    with saved_tensors_hooks(pack, unpack):
        y = (x * x).sqrt()
    y.backward()
    assert seen == [("pack", 2), ("pack", 2), ("pack", 2), ("unpack", 20), ("unpack", 20), ("unpack", 20)]
    assert x.grad.item() == 1


def test_the_innermost_hooks_are_used():
    seen, x = [], leaf()
    with saved_tensors_hooks(lambda t: seen.append("outer") or t, lambda t: t):
        with saved_tensors_hooks(lambda t: seen.append("inner") or t, lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    assert seen == ["inner", "outer"]


@pytest.mark.parametrize("pack", [lambda t: t, lambda t: t.detach(), lambda t: t.detach().clone()])
@pytest.mark.parametrize("function", [lambda x: x * x * x, lambda x: (x * 2).exp() * x, lambda x: x.tanh() * x])
def test_packed_tensors_keep_their_history_for_second_derivatives(pack, function):
    x = leaf(0.5)
    (first,) = grad(function(x), x, create_graph=True)
    expected = grad(first, x)[0].item()
    with saved_tensors_hooks(pack, lambda t: t):
        y = function(x)
    (first,) = grad(y, x, create_graph=True)
    assert grad(first, x)[0].item() == pytest.approx(expected)


def test_hooks_see_what_a_custom_function_saves():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            x, nothing = ctx.saved_tensors
            assert nothing is None
            return 2 * x * grad

    x, seen = leaf(2.0), []
    with saved_tensors_hooks(lambda t: seen.append(t) or t.detach(), lambda t: t):
        y = Square.apply(x)
    (first,) = grad(y, x, create_graph=True)
    assert len(seen) == 1
    assert (first.item(), grad(first, x)[0].item()) == (4, 2)


def test_what_unpack_returns_must_be_a_tensor():
    x = leaf()
    with saved_tensors_hooks(lambda t: 1, lambda packed: packed):
        y = (x * x).sum()
    with pytest.raises(TypeError, match="int"):
        y.backward()


def test_hooks_can_be_refused():
    hooks = saved_tensors_hooks(lambda t: t, lambda t: t)
    with disable_saved_tensors_hooks("not in here"), pytest.raises(RuntimeError, match="not in here"), hooks:
        pass


def test_what_is_saved_on_the_cpu_comes_back():
    x = leaf(2.0)
    with save_on_cpu():
        y = x * x
    y.backward()
    assert x.grad.item() == 4


@both
def test_a_checkpoint_computes_twice_and_gives_the_same_gradient(use_reentrant):
    x, p, calls = weft.arange(3.0).requires_grad_(), leaf(2.0), []

    def function(a, factor):
        calls.append(1)
        return (a.exp() * factor * p).sin()

    expected = grad(function(x, 3).sum(), (x, p))
    calls.clear()
    checkpoint(function, x, 3, use_reentrant=use_reentrant).sum().backward()
    assert len(calls) == 2
    assert x.grad.tolist() == expected[0].tolist()
    assert p.grad.tolist() == expected[1].tolist()


@both
def test_a_checkpoint_draws_the_same_random_numbers_and_leaves_the_generator_as_it_is(use_reentrant):
    x, drawn = weft.ones(5, requires_grad=True), []

    def function(a):
        mask = weft.rand(5)
        drawn.append(mask.tolist())
        return a * mask * a

    weft.manual_seed(3)
    y = checkpoint(function, x, use_reentrant=use_reentrant)
    after = weft.get_rng_state()
    y.sum().backward()
    assert drawn[0] == drawn[1]
    assert weft.equal(weft.get_rng_state(), after)


@pytest.mark.filterwarnings("ignore:None of the inputs")  # the outer one computes without recording
@both
def test_checkpoints_nest(use_reentrant):
    x = weft.arange(3.0).requires_grad_()

    def outer(a):
        return checkpoint(lambda b: b.exp().sin(), a * 2, use_reentrant=use_reentrant).cos()

    (expected,) = grad((x * 2).exp().sin().cos().sum(), x)
    checkpoint(outer, x, use_reentrant=use_reentrant).sum().backward()
    assert x.grad.tolist() == expected.tolist()


@both
def test_a_checkpoint_may_return_several_values(use_reentrant):
    x = weft.zeros(2, requires_grad=True)
    double, word, power = checkpoint(lambda a: (a * 2, "word", a.exp()), x, use_reentrant=use_reentrant)
    assert word == "word"
    (double + power).sum().backward()
    assert x.grad.tolist() == [3, 3]


@both
def test_checkpoints_in_sequence(use_reentrant):
    x = weft.ones(3, requires_grad=True)
    steps = [weft.exp, weft.sin, weft.cos, lambda a: a * 2]
    checkpoint_sequential(steps, 2, x, use_reentrant=use_reentrant).sum().backward()
    (expected,) = grad((x.exp().sin().cos() * 2).sum(), x)
    assert x.grad.tolist() == expected.tolist()


def test_a_checkpoint_is_computed_again_for_each_pass_over_a_kept_graph():
    x, calls = weft.ones(3, requires_grad=True), []
    y = checkpoint(lambda a: calls.append(1) or a * a * a, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert len(calls) == 3
    assert x.grad.tolist() == [6, 6, 6]


def test_a_checkpoint_can_be_differentiated_twice_and_by_grad():
    x = weft.ones(3, requires_grad=True)
    (first,) = grad(checkpoint(lambda a: a * a * a, x, use_reentrant=False).sum(), x, create_graph=True)
    assert grad(first.sum(), x)[0].tolist() == [6, 6, 6]
    with pytest.raises(RuntimeError, match="use_reentrant=False"):
        grad(checkpoint(lambda a: a * a, x, use_reentrant=True).sum(), x)


def test_a_function_that_does_something_else_the_second_time_is_found_out():
    x, calls = weft.ones(3, requires_grad=True), []

    def changing(a):
        calls.append(1)
        return a.exp() if len(calls) == 1 else a[:2].exp()

    y = checkpoint(changing, x, use_reentrant=False).sum()
    with pytest.raises(CheckpointError, match="Recomputed values"):
        y.backward()


def test_a_reentrant_checkpoint_without_inputs_that_require_grad_warns():
    p = leaf()
    with pytest.warns(UserWarning, match="requires_grad=True"):
        assert not checkpoint(lambda a: a * p, weft.ones(2), use_reentrant=True).requires_grad
    with pytest.raises(ValueError, match="keyword"):
        checkpoint(lambda a, k: a * k, leaf(), k=2, use_reentrant=True)
    assert checkpoint(lambda a, k: a * k, leaf(), k=2, use_reentrant=False).requires_grad


@pytest.mark.parametrize("function", [lambda x: x.max(0), lambda x: x.sort(0), lambda x: x.median(0)])
def test_values_may_be_written_to_where_their_gradient_needs_only_positions(function):
    x = weft.tensor([[3.0, 1.0], [2.0, 5.0]], requires_grad=True)
    function(x)[0].mul_(2).sum().backward()
    assert x.grad.sum().item() in (4, 8)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_checkpoint_computes_again_in_the_precision_of_the_first_time(use_reentrant):
    w, x = weft.full((2, 2), 0.5, requires_grad=True), weft.ones(2, 2, requires_grad=True)
    seen = []

    def function(x):
        seen.append((x @ w).dtype)
        return x @ w

    with weft.autocast("cpu", dtype=weft.bfloat16):
        result = checkpoint(function, x, use_reentrant=use_reentrant)
    result.float().sum().backward()
    assert seen == [weft.bfloat16, weft.bfloat16]
    assert w.grad.dtype is weft.float32
    assert w.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_hooks_on_one_saved_tensor_pack_that_alone():
    x, y = leaf(2.0), leaf(3.0)
    log = []
    z = x * y
    z.grad_fn._raw_saved_other.register_hooks(lambda t: log.append("pack") or t.numpy(force=True), weft.from_numpy)
    assert z.grad_fn._saved_other.tolist() == [3]
    with pytest.raises(RuntimeError, match="have already been set"):
        z.grad_fn._raw_saved_other.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        z.grad_fn._raw_saved_self.register_hooks(1, 2)
    z.backward()
    assert (x.grad.item(), y.grad.item(), log) == (3, 2, ["pack"])
    w = x.exp()
    w.grad_fn._raw_saved_result.register_hooks(lambda t: t * 1, lambda t: t * 10)
    x.grad = None
    w.backward()
    assert x.grad.item() == pytest.approx(10 * w.item())


def test_a_pack_hook_that_writes_to_its_argument_is_refused():
    hooks = saved_tensors_hooks(lambda t: t.detach().mul_(2), lambda t: t)
    with hooks, pytest.raises(RuntimeError, match="modifying its input in place"):
        (leaf().clone() * leaf()).sin()


def test_hooks_that_backward_enters_end_with_it():
    def unpack(tensor):
        weft.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()
        return tensor

    with weft.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = leaf().sin()
    y.sum().backward()
    packed = []
    leaf().sin()
    with weft.autograd.graph.saved_tensors_hooks(packed.append, lambda t: t):
        leaf().sin()
    assert len(packed) == 1
    assert weft._engine.tensor.local.saved_hooks == ()


def test_saved_tensors_may_be_written_to_where_that_is_allowed():
    from weft.autograd.graph import allow_mutation_on_saved_tensors

    with allow_mutation_on_saved_tensors() as context:
        x = leaf(2.0)
        y = x.clone()
        z = (y**2).sum()
        output = y.exp()
        output.mul_(0)
        y.zero_()
        assert len(context.cloned) == 2
        (z + output.sum()).backward()
        assert x.grad.tolist() == [4]
        with pytest.raises(RuntimeError, match="cannot be nested"), allow_mutation_on_saved_tensors():
            pass
        later = (x.clone() ** 2).sum()
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors'"):
        later.backward()


def of_a_function(y, _):
    class Square(Function):
        @staticmethod
        def forward(ctx, value):
            ctx.save_for_backward(value)
            return value * value

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0] * grad

    return Square.apply(y)


@pytest.mark.parametrize(
    "use",
    [
        lambda y, w: y * y,
        lambda y, w: y**3,
        lambda y, w: weft.addcmul(w, y, w),
        lambda y, w: y.sin() * y,
        lambda y, w: weft.where(y > 0, y, w) * y,
    ],
)
@pytest.mark.parametrize("make", [lambda x: x * 2, lambda x: x.sqrt()])
@pytest.mark.parametrize("create_graph", [False, True])
def test_backward_refuses_what_lost_its_history_after_it_was_saved(make, use, create_graph):
    x, w = leaf(), leaf()
    y = make(x)
    z = use(y, w)
    y.detach_()
    assert y._version == 0
    with pytest.raises(RuntimeError, match="has been detached in-place"):
        grad(z.sum(), [x, w], create_graph=create_graph, allow_unused=True)


@pytest.mark.parametrize(
    "use",
    [
        lambda y, w: y.sum(),
        lambda y, w: y.exp(),  # its own result, which is saved with its history
        lambda y, w: y.detach() * w,
        lambda y, w: y.view(2) * w,
        lambda y, w: weft.cat([y, y]),
    ],
)
def test_what_does_not_need_the_history_may_lose_it(use):
    def gradients(lose):
        x, w = leaf(), leaf()
        y = x.sqrt()
        z = use(y, w)
        if lose:
            y.detach_()
        found = grad(z.sum(), [x, w], create_graph=True, allow_unused=True)
        return [None if each is None else each.tolist() for each in found]

    assert gradients(True) == gradients(False)


def test_a_function_may_compute_with_what_lost_its_history_where_nothing_is_recorded():
    for create_graph in (False, True):
        x = leaf()
        y = x * 2
        z = of_a_function(y, None)
        y.detach_()
        if create_graph:
            with pytest.raises(RuntimeError, match="has been detached in-place"):
                grad(z.sum(), x, create_graph=True)
        else:
            assert grad(z.sum(), x)[0].tolist() == [8, 8]


def test_a_tensor_that_lost_its_history_is_saved_as_it_is_then():
    x, w = leaf(), leaf()
    y = (x * 2).detach_()
    (y * w).sum().backward()
    assert w.grad.tolist() == [2, 2] and x.grad is None
    y.requires_grad_()
    assert grad((y * y).sum(), y)[0].tolist() == [4, 4]
    z = y * y
    with weft.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        z.sum().backward()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x / y,
        lambda x, y: weft.true_divide(x, y),
        lambda x, y: weft.erfinv(x / 4),
        lambda x, y: weft.frexp(x)[0],
        lambda x, y: weft.linalg.slogdet(weft.diag(x))[1],
        lambda x, y: weft.linalg.inv_ex(weft.diag(x))[0].clone(),
        lambda x, y: weft.nn.functional.normalize(x * y, dim=0),
    ],
)
def test_results_may_be_written_to_where_the_gradient_needs_other_values(function):
    def gradients(write):
        x, y = weft.tensor([1.0, 3.0], requires_grad=True), weft.tensor([2.0, 5.0], requires_grad=True)
        z = function(x, y)
        if write:
            z.mul_(2)
        found = grad(z.sum() if write else 2 * z.sum(), [x, y], allow_unused=True)
        return [None if each is None else each.tolist() for each in found]

    assert gradients(True) == gradients(False)


def test_hooks_that_are_open_are_refused_where_they_may_not_be():
    with saved_tensors_hooks(lambda x: x, lambda x: x), pytest.raises(RuntimeError, match="not here"):
        disable_saved_tensors_hooks("not here").__enter__()


def test_a_raw_saved_tensor_shows_what_is_kept_and_the_hook_that_gives_it_back():
    def unpack(x):
        return x

    a = weft.tensor(2.0, requires_grad=True)
    with saved_tensors_hooks(lambda x: x, unpack):
        b = a**2
    c = b.exp()
    d = c**2
    packed, output, input = b.grad_fn._raw_saved_self, c.grad_fn._raw_saved_result, d.grad_fn._raw_saved_self
    assert packed.data is a and packed.unpack_hook is unpack
    assert output.data is not c and not output.data.requires_grad and output.unpack_hook is None
    assert input.data is c and input.unpack_hook is None
    with pytest.raises(TypeError, match="incompatible function arguments"):
        input.register_hooks(unpack)


def test_what_was_saved_can_be_given_away_when_it_is_read():
    class Once(Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x, times):
            ctx.save_for_backward(x)
            ctx.times = times
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            for _ in range(ctx.times):
                (kept,) = ctx.saved_tensors
            watched = weakref.ref(kept)
            del kept
            assert watched() is None
            return grad, None

    x = weft.ones(2, requires_grad=True)
    Once.apply(x.clone(), 1).sum().backward()
    assert x.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="only be accessed once"):
        Once.apply(x.clone(), 2).sum().backward()


def test_copies_of_what_was_written_to_live_as_long_as_graphs_hold_them():
    with weft.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = weft.ones(2, requires_grad=True).clone()
        b = a**2
        a.sin_()
        c = a**2
        a.sin_()
        assert len(context.cloned) == 2
        del b
        assert len(context.cloned) == 1
        c.sum().backward()
        assert len(context.cloned) == 0


def test_saved_tensors_are_made_by_nodes_and_can_be_refused_everywhere():
    with pytest.raises(RuntimeError, match="from Python is forbidden"):
        weft.autograd.SavedTensor()
    y = weft.ones(2, requires_grad=True) * 1
    product = y * y
    saved = product.grad_fn._raw_saved_self
    assert isinstance(saved, weft._C._autograd.SavedTensor)
    product.sum().backward()
    with pytest.raises(RuntimeError, match="after it has been freed"):
        saved.register_hooks(lambda x: x, lambda x: x)
    assert weft._C._autograd._saved_tensors_hooks_is_enabled()
    with weft.autograd.graph.disable_saved_tensors_hooks("no"):
        assert not weft._C._autograd._saved_tensors_hooks_is_enabled()


def test_what_is_in_a_graph_is_a_node_though_no_class_derives_from_it():
    Node = weft.autograd.graph.Node
    y = weft.ones(2, requires_grad=True).exp()
    assert isinstance(y.grad_fn, Node)
    assert Node not in type(y.grad_fn).mro()
    assert isinstance(y.grad_fn.next_functions[0][0], Node)
    assert issubclass(weft._C._functions.DelayedError, Node)
    assert not isinstance(y, Node)
    assert not isinstance(Node, Node)
