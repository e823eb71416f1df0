"""`make_fx`: graphs of operators, forward and backward (torchao, functorch's users, executorch's tools)."""

import pytest

import weft
from weft import nn
from weft.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from weft.nn import functional as F

aten = weft.ops.aten
X = weft.arange(6.0).reshape(2, 3) / 6


def gradient(x):
    x = x.detach().requires_grad_()
    return weft.autograd.grad(x.sigmoid().sum(), x)[0]


def written(x):
    y = x.clone()
    y.add_(1)
    y[0] = 2
    return y * y


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x: F.linear(x, x).relu().sum(), "t mm relu sum"),
        (lambda x: x + weft.ones(3) * 2, "ones mul add"),
        (gradient, "sigmoid expand sigmoid_backward"),
        (written, "clone add_ select fill_ mul"),
        (lambda x: x.max(1)[0], "max getitem"),
        (weft.func.vmap(lambda x: x.sum()), "sum"),
        (weft.func.grad(lambda x: x.exp().sum()), "exp new_ones expand mul"),
        (lambda x: (x * 2, [x + 1]), "mul add"),
    ],
)
def test_a_graph_has_the_operators_that_ran_and_computes_the_same(function, wanted):
    module = make_fx(function)(X)
    targets = [node.target for node in module.graph.nodes if callable(node.target)]
    names = [getattr(each, "overloadpacket", each).__name__ for each in targets]
    positions = [names.index(each) for each in wanted.split()]
    assert positions == sorted(positions)
    other = X * 3 - 1
    weft.testing.assert_close(module(other), function(other))


def test_the_code_calls_overloads_by_their_names():
    code = make_fx(lambda x, w: F.linear(x, w).relu().sum())(X, X + 1).code
    assert code.strip().splitlines() == [
        "def forward(self, x_1, w_1):",
        "    t = weft.ops.aten.t.default(w_1);  w_1 = None",
        "    mm = weft.ops.aten.mm.default(x_1, t);  x_1 = t = None",
        "    relu = weft.ops.aten.relu.default(mm);  mm = None",
        "    sum_1 = weft.ops.aten.sum.default(relu);  relu = None",
        "    return sum_1",
    ]


@pytest.mark.parametrize("tracing_mode", ["real", "fake"])
def test_a_modules_parameters_are_attributes_of_the_graph(tracing_mode):
    layer = nn.Linear(3, 2)
    module = make_fx(layer, tracing_mode=tracing_mode)(X)
    assert [node.target for node in module.graph.nodes if node.op == "get_attr"] == [
        "_param_constant0",
        "_param_constant1",
    ]
    assert module._param_constant0 is layer.weight
    weft.testing.assert_close(module(X), layer(X))


def test_fakes_have_shapes_and_no_values():
    seen = []
    module = make_fx(lambda x: seen.append(x) or x.view(-1) * 2, tracing_mode="fake")(X)
    assert type(seen[0]).__name__ == "FakeTensor"
    assert seen[0].device.type == "cpu"
    assert module(X).tolist() == (X.view(-1) * 2).tolist()
    assert next(iter(reversed(module.graph.find_nodes(op="call_function")))).meta["val"].shape == (6,)


def test_other_tensors_and_numbers_are_constants():
    constant = weft.ones(3)
    module = make_fx(lambda x, n: x * n + constant)(X, 3)
    assert module._tensor_constant0 is constant
    weft.testing.assert_close(module(X, 3), X * 3 + 1)


def test_an_operator_may_be_decomposed():
    table = {aten.silu.default: lambda x: x * weft.sigmoid(x)}
    module = make_fx(F.silu, decomposition_table=table)(X)
    assert [str(node.target) for node in module.graph.find_nodes(op="call_function")] == [
        "aten.sigmoid.default",
        "aten.mul.Tensor",
    ]


def test_the_mode_can_be_asked_for():
    seen = []
    make_fx(lambda x: seen.append(get_proxy_mode()) or x + 1)(X)
    assert seen[0] is not None
    assert get_proxy_mode() is None


@pytest.mark.parametrize(
    ("options", "args", "said"),
    [
        ({"tracing_mode": "symbolic"}, (X,), "no symbolic sizes"),
        ({"pre_dispatch": True}, (X,), "below autograd"),
        ({}, ({"a": X},), "a dict of tensors"),
    ],
)
def test_what_is_not_traced_is_refused(options, args, said):
    with pytest.raises(NotImplementedError, match=said):
        make_fx(lambda x: x, **options)(*args)
