"""Hooks on tensors and nodes: when they run, what they see, what they may replace."""

import warnings

import pytest

import weft
from weft.autograd import grad
from weft.autograd.graph import get_gradient_edge, register_multi_grad_hook


def leaf(*values):
    return weft.tensor(values or (1.0, 1.0), requires_grad=True)


def test_hooks_of_a_leaf_run_once_a_pass_in_order_and_each_sees_what_the_one_before_returned():
    x, seen = leaf(), []
    x.register_hook(lambda grad: seen.append(("first", grad.tolist())) or grad * 2)
    last = x.register_hook(lambda grad: seen.append(("last", grad.tolist())) or grad + 1)
    (x * 2 + x).sum().backward()
    assert seen == [("first", [3, 3]), ("last", [6, 6])]
    last.remove()
    (x * 3).sum().backward()
    assert len(seen) == 3
    assert x.grad.tolist() == [13, 13]


def test_hooks_of_a_result_change_what_flows_on_and_what_retain_grad_keeps():
    x = leaf()
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda grad: grad * 10)
    y.sum().backward()
    assert y.grad.tolist() == [10, 10]
    assert x.grad.tolist() == [30, 30]
    assert y.retains_grad
    assert not x.retains_grad


def test_a_hook_runs_for_autograd_grad_too():
    x = leaf()
    x.register_hook(lambda grad: grad * 2)
    assert grad((x * 2).sum(), x)[0].tolist() == [4, 4]
    assert x.grad is None


@pytest.mark.parametrize(
    ("returned", "error", "says"),
    [
        (1.0, TypeError, "Tensor"),
        (weft.ones(3), RuntimeError, "size"),
        (weft.ones(2, dtype=weft.float64), RuntimeError, "type"),
    ],
)
def test_a_hook_must_return_a_gradient_of_the_same_kind(returned, error, says):
    x = leaf()
    x.register_hook(lambda grad: returned)
    with pytest.raises(error, match=says):
        x.sum().backward()


def test_hooks_need_a_tensor_that_requires_grad():
    for register in (weft.ones(2).register_hook, weft.ones(2).register_post_accumulate_grad_hook):
        with pytest.raises(RuntimeError, match="doesn't require grad"):
            register(print)
    with pytest.raises(RuntimeError, match="requires_grad=False"):
        weft.ones(2).retain_grad()
    with pytest.raises(RuntimeError, match="non-leaf"):
        (leaf() * 2).register_post_accumulate_grad_hook(print)


def test_a_post_accumulate_hook_sees_the_sum_and_may_take_it_away():
    x, seen = leaf(), []

    def step(tensor):
        seen.append(tensor.grad.tolist())
        tensor.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 2 + x).sum().backward()
    assert seen == [[3, 3]]
    assert x.grad is None
    (x * 2).sum().backward(inputs=[x])
    grad(x.sum(), x)  # accumulates nothing
    assert len(seen) == 2
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_retain_grad_follows_a_tensor_that_is_written_to():
    x = leaf()
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    assert y.grad.tolist() == [1, 1]
    assert x.grad.tolist() == [6, 6]


def test_a_hook_stays_with_the_value_that_it_was_put_on():
    x, seen = leaf(), []
    y = x * 2
    y.register_hook(lambda grad: seen.append(("before", grad.tolist())))
    y.mul_(3)
    y.register_hook(lambda grad: seen.append(("after", grad.tolist())))
    y.sum().backward()
    assert seen == [("after", [1, 1]), ("before", [3, 3])]


def test_hooks_of_a_node_run_around_it_with_a_place_for_each_input():
    x, seen = leaf(), []
    y = x * 3
    y.grad_fn.register_prehook(lambda grads: seen.append(grads[0].tolist()) or (grads[0] * 2,))
    handle = y.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs[1]) or (inputs[0] + 1, None))
    y.sum().backward(retain_graph=True)
    assert seen == [[1, 1], None]
    assert x.grad.tolist() == [7, 7]
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == [13, 13]


def test_the_graph_can_be_walked_by_its_nodes():
    x = leaf()
    y = (x * 3).exp()
    ((mul, index),) = y.grad_fn.next_functions
    assert (y.grad_fn.name(), mul.name(), index) == ("ExpBackward0", "MulBackward0", 0)
    (accumulate, _), constant = mul.next_functions
    assert accumulate.variable is x
    assert accumulate.next_functions == ()
    assert constant == (None, 0)
    assert mul.next_functions[0][0] is accumulate
    assert accumulate.name() == "torch::autograd::AccumulateGrad"


def test_output_number_and_edge_of_one_of_several_results():
    x = leaf(1.0, 2.0)
    first, second = x.unbind(0)
    assert (first.output_nr, second.output_nr) == (0, 1)
    assert (second * 2).grad_fn.next_functions[0] == (second.grad_fn, 1)


def test_hooks_of_the_end_at_a_leaf():
    x, seen = leaf(), []
    end = x.exp().grad_fn.next_functions[0][0]
    end.register_prehook(lambda grads: (grads[0] * 2,))
    end.register_hook(lambda inputs, outputs: seen.append((inputs, outputs[0].tolist(), x.grad.tolist())))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert seen == [((), [4, 4], [4, 4]), ((), [4, 4], [8, 8])]


def test_a_hook_on_several_tensors_waits_for_those_that_the_pass_reaches():
    a, b, c = leaf(1.0), leaf(1.0), leaf(1.0)
    seen = []
    handle = register_multi_grad_hook((a, b, c), lambda grads: seen.append([g and g.item() for g in grads]))
    (a * b).sum().backward()
    (a * b * c).sum().backward()
    assert seen == [[1, 1, None], [1, 1, 1]]
    handle.remove()
    (a * b * c).sum().backward()
    assert len(seen) == 2


def test_a_hook_on_any_of_several_tensors_runs_once_a_pass():
    a, b = leaf(1.0), leaf(1.0)
    seen = []
    register_multi_grad_hook((a, b), seen.append, mode="any")
    (a * b).sum().backward()
    (a * b).sum().backward()
    assert len(seen) == 2
    with pytest.raises(ValueError, match="mode"):
        register_multi_grad_hook((a, b), seen.append, mode="some")


def test_gradients_at_edges_of_the_graph():
    x = leaf()
    y = x * 2
    edge = get_gradient_edge(y)
    assert (edge.node, edge.output_nr) == (y.grad_fn, 0)
    at_y, at_x = grad((y * 3).sum(), (edge, get_gradient_edge(x)))
    assert (at_y.tolist(), at_x.tolist()) == ([3, 3], [6, 6])
    weft.autograd.backward(get_gradient_edge(x * 2), weft.ones(2))
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="require"):
        get_gradient_edge(weft.ones(1))


def test_a_hook_may_run_a_backward_pass_of_its_own():
    x, other = leaf(), leaf()

    @weft.enable_grad()  # backward itself is not recorded
    def again(grad):
        (other * 2).sum().backward()

    x.register_hook(again)
    x.sum().backward()
    assert x.grad.tolist() == [1, 1]
    assert other.grad.tolist() == [2, 2]


def test_hooks_of_the_accumulating_node_run_behind_those_of_the_leaf_and_only_when_it_accumulates():
    x, log = leaf(1.0), []
    node = x.view_as(x).grad_fn.next_functions[0][0]
    node.register_prehook(lambda grads: log.append("pre") or (grads[0] / 5,))
    node.register_hook(lambda inputs, outputs: log.append("post"))
    x.register_hook(lambda grad: log.append("tensor") or grad - 2)
    x.register_post_accumulate_grad_hook(lambda tensor: log.append(tensor.grad.item()))
    x.sum().backward()
    assert log == ["tensor", "pre", pytest.approx(-0.2), "post"]
    log.clear()
    grad(x.sum(), x)
    assert log == ["tensor"]
    x.grad = None
    log.clear()
    x.sum().backward(inputs=x)
    assert log == ["tensor", "pre", pytest.approx(-0.2), "post"]


def test_a_post_accumulate_hook_that_returns_something_is_refused():
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda tensor: tensor.grad)
    with pytest.raises(RuntimeError, match=r"should return None"):
        x.sum().backward()


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        ((weft.ones(2), weft.ones(2), weft.ones(2)), "incorrect number of values"),
        ((weft.ones(3), None), "size"),
        ((weft.ones(2, dtype=weft.float64), None), "type"),
    ],
)
def test_a_hook_of_a_node_must_return_its_gradients(returned, says):
    x = leaf()
    y = x * weft.ones(2)
    y.grad_fn.register_hook(lambda inputs, outputs: returned)
    with pytest.raises(RuntimeError, match=says):
        y.sum().backward()


def test_node_hooks_of_a_target_run_where_backward_accumulates_and_not_where_grad_returns():
    a = leaf(1.0)
    b = a * 2
    log = []
    b.register_hook(lambda grad: log.append("tensor"))
    b.grad_fn.register_prehook(lambda grads: log.append("pre"))
    b.grad_fn.register_hook(lambda inputs, outputs: log.append("post"))
    grad((b * 2).sum(), b, retain_graph=True)
    assert log == ["tensor"]
    log.clear()
    (b * 2).sum().backward(inputs=[a, b])
    assert log == ["tensor", "pre", "post"]


def test_hooks_of_a_view_see_nothing_once_it_was_written_to_and_what_keeps_its_gradient_goes_on():
    base = leaf(1.0).clone()
    view, other = base[:], base[:]
    view.register_hook(lambda grad: pytest.fail("its node is no longer in the graph"))
    view.retain_grad()
    other.retain_grad()
    view.mul_(2)
    (view + other).sum().backward()
    assert view.grad.tolist() == other.grad.tolist() == [1]


def test_hooks_of_a_result_stay_with_it_when_it_is_detached_in_place():
    y = leaf().clone()
    handle = y.register_hook(lambda grad: grad * 10)
    y.detach_().requires_grad_()
    (y * 2).sum().backward()
    assert y.grad.tolist() == [20, 20]
    handle.remove()
    y.grad = None
    (y * 2).sum().backward()
    assert y.grad.tolist() == [2, 2]


def test_callbacks_run_when_a_pass_has_ended_also_those_that_callbacks_queue():
    engine = weft.autograd.Variable._execution_engine
    x = weft.ones(2, requires_grad=True)
    y = x * 2
    seen = []

    def first():
        seen.append(x.grad.tolist())
        engine.queue_callback(lambda: seen.append("second"))

    y.register_hook(lambda grad: engine.queue_callback(first))
    y.sum().backward(retain_graph=True)
    assert seen == [[2.0, 2.0], "second"]
    y.sum().backward()
    assert len(seen) == 4
    with pytest.raises(RuntimeError, match="during backward pass"):
        engine.queue_callback(first)


def test_nodes_have_the_names_that_programs_search_graphs_for():
    x, y = weft.ones(2, 2, requires_grad=True), weft.ones(2, 2, requires_grad=True)
    for out, name in (
        (x + y, "AddBackward0"),
        (x @ y, "MmBackward0"),
        (weft.nn.functional.linear(x, y, y[0]), "AddmmBackward0"),
        (weft.linalg.vector_norm(x), "LinalgVectorNormBackward0"),
        (x.double(), "ToCopyBackward0"),
        (weft.nn.functional.layer_norm(x, (2,)), "NativeLayerNormBackward0"),
    ):
        assert out.grad_fn.name() == type(out.grad_fn).__name__ == name


def test_nodes_have_an_edge_for_each_argument_that_may_have_a_gradient():
    x, y = weft.rand(3, 3, requires_grad=True), weft.rand(3, 3)
    index = weft.zeros(3, 1, dtype=weft.int64)
    for out, edges in (
        (x + y, 2),
        (x.gather(1, index), 1),
        (x.index_select(0, index[:, 0]), 1),
        (weft.where(x > 0, y, x), 2),
        (x.scatter_add(1, index, y), 2),
    ):
        seen = []
        assert len(out.grad_fn.next_functions) == edges
        assert sum(node is not None for node, _ in out.grad_fn.next_functions) == 1
        out.grad_fn.register_hook(lambda given, _, seen=seen: seen.append([each is None for each in given]))
        out.sum().backward()
        assert len(seen[0]) == edges and sum(seen[0]) == edges - 1


def test_hooks_after_accumulation_run_as_soon_as_the_last_gradient_is_there():
    """A weight that two layers share waits for the second; the layer before them is still to come."""
    first, shared = weft.rand(2, 2, requires_grad=True), weft.rand(2, 2, requires_grad=True)
    order = []
    for name, leaf in (("first", first), ("shared", shared)):
        leaf.register_post_accumulate_grad_hook(lambda _, name=name: order.append(name))
    hidden = first.exp()
    hidden.register_hook(lambda _: order.append("hidden"))
    ((weft.ones(2, 2) @ shared) @ shared * hidden + shared).sum().backward()
    assert order == ["shared", "hidden", "first"]


def test_an_optimizer_may_step_in_the_backward_pass():
    """The step changes the weight after the node that saved it has used it, as in PyTorch."""
    layers = weft.nn.Sequential(*[weft.nn.Linear(3, 3) for _ in range(3)])
    x = weft.rand(4, 3)
    layers(x).square().sum().backward()
    expected = [weight.detach() - 0.1 * weight.grad for weight in layers.parameters()]
    layers.zero_grad()

    def step(weight):
        with weft.no_grad():
            weight -= 0.1 * weight.grad
        weight.grad = None

    for weight in layers.parameters():
        weight.register_post_accumulate_grad_hook(step)
    layers(x).square().sum().backward()
    for weight, wanted in zip(layers.parameters(), expected):
        weft.testing.assert_close(weight.detach(), wanted)
        assert weight.grad is None


def test_a_leafs_hook_sees_its_gradient_as_soon_as_it_is_complete():
    order = []
    x, y = weft.ones(2, requires_grad=True), weft.ones(2, requires_grad=True)
    first, second = x.sin(), y.cos()
    for name, each in {"x": x, "y": y, "first": first, "second": second}.items():
        each.register_hook(lambda grad, name=name: order.append(name))
    (first * second).sum().backward()
    assert order == ["second", "y", "first", "x"]


def test_a_hook_of_an_output_without_gradient_sees_none():
    parts = weft.ones(3, requires_grad=True).unbind()
    seen = []
    parts[0].register_hook(seen.append)
    parts[1].backward()
    assert seen == [None]


def test_a_gradient_that_is_differentiable_is_a_recorded_copy():
    x, seed = weft.ones(2, requires_grad=True), weft.ones((), requires_grad=True)
    with warnings.catch_warnings(action="ignore"):
        x.sum().backward(seed, create_graph=True)
    assert x.grad.grad_fn.name() == "CopyBackwards"
    assert weft.autograd.grad(x.grad.sum(), seed)[0].item() == 2
    x.grad = None
